//! Stores that were in flight when their wave ended.
//!
//! What must hold here: those of one wave to the same bytes keep their order; the others are performed in any order. At
//! the end of a launch none is left.

use super::Memory;
use crate::rng::Rng;

impl Memory {
    /// Performs one, chosen by `rng`; false if there is none.
    pub(super) fn perform_orphan(&mut self, rng: &mut Rng) -> bool {
        if self.orphans.is_empty() {
            return false;
        }
        let mut chosen = rng.below(self.orphans.len() as u32) as usize;
        for earlier in (0..chosen).rev() {
            let (unit, op) = &self.orphans[earlier];
            let (other, later) = &self.orphans[chosen];
            if unit.actor == other.actor && op.precedes(later) {
                chosen = earlier;
            }
        }
        let (unit, mut op) = self.orphans.remove(chosen);
        self.perform_global(unit, &mut op);
        true
    }

    /// Performs all, or all of one rank.
    pub(crate) fn perform_orphans(&mut self, rank: Option<u32>) {
        if self.orphans.is_empty() {
            return;
        }
        let (mine, others) = std::mem::take(&mut self.orphans)
            .into_iter()
            .partition(|(unit, _)| rank.is_none_or(|rank| unit.rank == rank));
        self.orphans = others;
        let mine: Vec<_> = mine;
        for (unit, mut op) in mine {
            self.perform_global(unit, &mut op);
        }
    }
}

//! Vector clocks: what an actor knows of the others' accesses.
//!
//! What must hold here: a clock only grows; an entry says up to which tick of an actor everything is known, by kind of
//! access. Clocks hold entries only for actors that they know something of, sorted, so that kernels whose workgroups
//! never meet pay nothing for the others.

use std::rc::Rc;

/// Number of an actor: 0 the host, below [`FIRST_WAVE`] engines, from there on waves.
pub(super) type Actor = u32;

/// The host.
pub(super) const HOST: Actor = 0;
/// First number of a wave.
pub(super) const FIRST_WAVE: Actor = 1 << 16;
/// Numbers that fit into a shadow cell.
pub(super) const ACTORS: Actor = 1 << 20;
/// Ticks that fit into a shadow cell; accesses beyond are not recorded.
pub(super) const TICKS: u32 = 1 << 26;

/// What is known of one actor: ticks up to and including these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// Vector memory accesses that are visible in memory once they are retired; everything of engines and the host.
    pub(super) memory: u32,
    /// LDS and scalar accesses.
    pub(super) local: u32,
    /// Plain stores to coarse memory: known within the workgroup.
    pub(super) dirty: u32,
    /// The same, written back to where the rank's other XCDs see them.
    pub(super) agent: u32,
    /// The same, written back to where everybody sees them.
    pub(super) system: u32,
}

impl Known {
    const fn up_to(tick: u32) -> Self {
        Self { memory: tick, local: tick, dirty: tick, agent: tick, system: tick }
    }

    fn join(&mut self, other: &Self) {
        self.memory = self.memory.max(other.memory);
        self.local = self.local.max(other.local);
        self.dirty = self.dirty.max(other.dirty);
        self.agent = self.agent.max(other.agent);
        self.system = self.system.max(other.system);
    }

    fn covers(&self, other: &Self) -> bool {
        self.memory >= other.memory
            && self.local >= other.local
            && self.dirty >= other.dirty
            && self.agent >= other.agent
            && self.system >= other.system
    }
}

/// A vector clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    entries: Vec<(Actor, Known)>,
}

impl Clock {
    /// What is known of `actor`.
    #[inline]
    pub(super) fn known(&self, actor: Actor) -> Known {
        match self.entries.binary_search_by_key(&actor, |e| e.0) {
            Ok(index) => self.entries[index].1,
            Err(_) => Known::default(),
        }
    }

    /// The entry of `actor`, made if it is missing.
    pub(super) fn entry(&mut self, actor: Actor) -> &mut Known {
        let index = match self.entries.binary_search_by_key(&actor, |e| e.0) {
            Ok(index) => index,
            Err(index) => {
                self.entries.insert(index, (actor, Known::default()));
                index
            }
        };
        &mut self.entries[index].1
    }

    /// Everything of `actor` up to `tick`.
    pub(super) fn know_all(&mut self, actor: Actor, tick: u32) {
        self.entry(actor).join(&Known::up_to(tick));
    }

    /// Whether `other` tells nothing new.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let mut mine = self.entries.iter();
        other.entries.iter().all(|(actor, known)| {
            *known == Known::default()
                || mine.by_ref().find(|e| e.0 >= *actor).is_some_and(|e| e.0 == *actor && e.1.covers(known))
        })
    }

    /// Learns what `other` knows. Waves below `floor` have ended long ago and need no entry.
    pub(super) fn join(&mut self, other: &Self, floor: Actor) {
        let wanted = |actor: Actor| actor < FIRST_WAVE || actor >= floor;
        // Mostly both know of the same actors: then nothing moves.
        let (mut at, mut missing) = (0, 0);
        for (actor, known) in other.entries.iter().filter(|e| wanted(e.0)) {
            while self.entries.get(at).is_some_and(|e| e.0 < *actor) {
                at += 1;
            }
            match self.entries.get_mut(at) {
                Some(entry) if entry.0 == *actor => entry.1.join(known),
                _ => missing += 1,
            }
        }
        if missing == 0 {
            return;
        }
        let mut merged = Vec::with_capacity(self.entries.len() + missing);
        let mut mine = self.entries.iter().copied().peekable();
        for entry in other.entries.iter().filter(|e| wanted(e.0)) {
            while let Some(before) = mine.next_if(|e| e.0 < entry.0) {
                merged.push(before);
            }
            // One that is in both has been joined above.
            merged.push(mine.next_if(|e| e.0 == entry.0).unwrap_or(*entry));
        }
        merged.extend(mine);
        self.entries = merged;
    }

    /// Drops engines and the host: what they did so far is known to all.
    pub(super) fn forget_fixed(&mut self) {
        self.entries.retain(|e| e.0 >= FIRST_WAVE);
    }

    /// Drops waves below `floor`.
    pub(super) fn forget(&mut self, floor: Actor) {
        self.entries.retain(|e| e.0 < FIRST_WAVE || e.0 >= floor);
    }

    /// What a release at agent or system scope passes on: all but what only the workgroup sees.
    pub(super) fn released(&self) -> Self {
        let mut clock = self.clone();
        for (_, known) in &mut clock.entries {
            known.dirty = 0;
        }
        clock
    }

    /// Whether a write-back would tell anybody anything new.
    pub(super) fn has_dirty(&self, system: bool) -> bool {
        let reached = |known: &Known| if system { known.system } else { known.agent };
        self.entries.iter().any(|(_, known)| known.dirty > reached(known) || (system && known.agent > known.system))
    }

    /// What a write-back makes of it: plain stores known here are now known to the rank, or to all.
    pub(super) fn write_back(&mut self, system: bool) {
        for (_, known) in &mut self.entries {
            known.agent = known.agent.max(known.dirty);
            if system {
                known.system = known.system.max(known.agent).max(known.dirty);
            }
        }
    }
}

/// Joins into a shared clock; nothing is copied if nothing is new.
pub(super) fn join_shared(into: &mut Rc<Clock>, other: &Rc<Clock>, floor: Actor) {
    if Rc::ptr_eq(into, other) || into.covers(other) {
        return;
    }
    Rc::make_mut(into).join(other, floor);
}

#[cfg(test)]
mod tests {
    use super::{Clock, FIRST_WAVE};

    const A: u32 = FIRST_WAVE + 1;
    const B: u32 = FIRST_WAVE + 2;

    #[test]
    fn joins_take_the_larger_tick_of_each_kind() {
        let (mut left, mut right) = (Clock::default(), Clock::default());
        left.entry(A).memory = 3;
        right.entry(A).memory = 2;
        right.entry(A).local = 9;
        right.entry(B).memory = 1;
        left.join(&right, 0);
        assert_eq!((left.known(A).memory, left.known(A).local, left.known(B).memory), (3, 9, 1));
        assert!(left.covers(&right) && !right.covers(&left));
    }

    #[test]
    fn dirty_stores_do_not_travel_until_they_are_written_back() {
        let mut clock = Clock::default();
        clock.entry(A).dirty = 7;
        assert_eq!(clock.released().known(A).agent, 0);
        let mut agent = clock.clone();
        agent.write_back(false);
        assert_eq!((agent.released().known(A).agent, agent.released().known(A).system), (7, 0));
        clock.write_back(true);
        assert_eq!((clock.released().known(A).agent, clock.released().known(A).system), (7, 7));
    }

    #[test]
    fn waves_below_the_floor_are_forgotten_and_engines_are_not() {
        let mut clock = Clock::default();
        clock.know_all(5, 1);
        clock.know_all(A, 1);
        clock.know_all(B, 1);
        clock.forget(B);
        assert_eq!((clock.known(5).memory, clock.known(A).memory, clock.known(B).memory), (1, 0, 1));
    }
}

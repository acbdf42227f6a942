//! Random copies between ranks.
//!
//! Must hold: most are whole runs of windows, which copy engines carry; the rest needs `carry = any`.

use crate::case::{Begin, Case, Place, Side};
use crate::generate::Gen;

impl Gen {
    /// Where the two sides live; one is a peer's window.
    pub(crate) fn peer_places(&mut self) -> (Place, Place) {
        let mut other = Place::Window;
        if self.rng.one_in(4) {
            other = if self.rng.one_in(3) { Place::Local } else { self.memory_place() };
        }
        if self.rng.one_in(3) { (other, Place::Peer) } else { (Place::Peer, other) }
    }

    /// What belongs to a copy between ranks: who carries it, and a signal.
    pub(crate) fn as_peer(&mut self, case: &mut Case) {
        let windows = [&case.dst, &case.src].iter().all(|s| matches!(s.place, Place::Window | Place::Peer));
        case.ranks = self.pick(&[2u32, 2, 3]);
        case.carry_any = !windows || self.rng.one_in(2);
        if windows && !self.rng.one_in(3) {
            [&mut case.dst, &mut case.src].into_iter().for_each(one_run);
            case.vec = None;
            if !self.rng.one_in(4) {
                case.guard.clear();
            }
            case.notify =
                case.guard.is_empty() && !case.is_async && case.dst.place == Place::Peer && self.rng.one_in(2);
        }
    }
}

/// Makes the region one run of memory: a part of the first dimension that is not one, all of those behind it.
fn one_run(side: &mut Side) {
    side.layout = None;
    let first = side.extents.iter().position(|e| *e > 1).unwrap_or(0);
    for d in first + 1..side.extents.len() {
        if matches!(side.begin[d], Begin::At(_) | Begin::Param(_)) {
            side.shape[d] = side.extents[d];
            side.begin[d] = Begin::At(0);
        }
        side.pitch = side.pitch.filter(|p| *p != d);
    }
}

//! The wires between two ranks, one direction: who may use them when.
//!
//! What must hold here: at no time does a link carry two transfers; a transfer takes the first time that is free, in pieces if need
//! be, whatever the order in which transfers are asked for. So the total does not depend on the schedule.

use std::collections::BTreeMap;

/// Most pieces of occupied time that are kept; then the oldest are taken together.
const MOST_PIECES: usize = 4096;

/// One link.
#[derive(Clone, Debug, Default)]
pub(super) struct Link {
    /// Occupied times, start to end; they do not touch.
    occupied: BTreeMap<u64, u64>,
    /// Bytes carried.
    pub(super) bytes: u64,
    /// Picoseconds occupied.
    pub(super) busy: u64,
    /// Its lane in the trace.
    pub(super) lane: Option<u32>,
}

impl Link {
    /// Occupies `duration` picoseconds from `start` on; when the last of them is over, and the pieces.
    pub(super) fn reserve(&mut self, start: u64, duration: u64) -> (u64, Vec<(u64, u64)>) {
        self.busy = self.busy.saturating_add(duration);
        let (mut at, mut left, mut pieces) = (start, duration, Vec::new());
        // Whatever occupies the start ends first.
        if let Some((_, end)) = self.occupied.range(..=at).next_back() {
            at = at.max(*end);
        }
        while left > 0 {
            let next = self.occupied.range(at..).next().map(|(start, end)| (*start, *end));
            let room = next.map_or(left, |(start, _)| left.min(start - at));
            if room > 0 {
                pieces.push((at, at.saturating_add(room)));
            }
            left -= room;
            at = match next {
                Some((_, end)) if left > 0 => end,
                _ => at.saturating_add(room),
            };
        }
        for (start, end) in &pieces {
            self.occupy(*start, *end);
        }
        (at, pieces)
    }

    /// Adds a piece that is free, together with what it touches.
    fn occupy(&mut self, mut start: u64, mut end: u64) {
        if let Some((before, until)) = self.occupied.range(..start).next_back()
            && *until == start
        {
            start = *before;
        }
        if let Some(until) = self.occupied.remove(&end) {
            end = until;
        }
        self.occupied.insert(start, end);
        while self.occupied.len() > MOST_PIECES {
            let Some((first, _)) = self.occupied.pop_first() else { break };
            let Some((_, until)) = self.occupied.pop_first() else { break };
            self.occupied.insert(first, until);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Link, MOST_PIECES};

    #[test]
    fn transfers_take_the_first_free_time() {
        let mut link = Link::default();
        assert_eq!(link.reserve(10, 5), (15, vec![(10, 15)]));
        // Asked for later, but earlier in time: it gives way to nobody until it meets what is there.
        assert_eq!(link.reserve(0, 4), (4, vec![(0, 4)]));
        assert_eq!(link.reserve(2, 10), (19, vec![(4, 10), (15, 19)]));
        assert_eq!(link.reserve(3, 1), (20, vec![(19, 20)]));
        assert_eq!((link.busy, link.occupied.len()), (20, 1));
        assert_eq!(link.reserve(30, 0), (30, vec![]));
    }

    #[test]
    fn the_order_of_asking_changes_no_total() {
        let ends = |order: [(u64, u64); 3]| {
            let mut link = Link::default();
            order.map(|(start, duration)| link.reserve(start, duration).0).into_iter().max()
        };
        let all = [(0, 10), (3, 5), (4, 7)];
        assert_eq!(ends(all), Some(22));
        assert_eq!(ends([all[2], all[0], all[1]]), Some(22));
        assert_eq!(ends([all[1], all[2], all[0]]), Some(22));
    }

    #[test]
    fn pieces_stay_bounded() {
        let mut link = Link::default();
        for n in 0..3 * MOST_PIECES as u64 {
            link.reserve(10 * n, 1);
        }
        assert!(link.occupied.len() <= MOST_PIECES);
    }
}

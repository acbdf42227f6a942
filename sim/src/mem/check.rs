//! The race check: one access against what the granules remember.
//!
//! What must hold here: an access is reported only if no edge orders it after the remembered one. What is ordered by
//! the hardware within a wave (vector memory on the same bytes, LDS on the same bytes) needs no wait.

use super::clock::{Actor, Clock, FIRST_WAVE, Known};
use super::fault::Verb;
use super::shadow::{Cell, Class, Granule, Shadow};

/// One access that is checked against granules.
pub(super) struct Probe<'a> {
    pub(super) me: Actor,
    pub(super) verb: Verb,
    pub(super) class: Class,
    /// What the access is sure to see.
    pub(super) clock: &'a Clock,
    /// What of its own is retired.
    pub(super) own: Known,
    /// Whether the accessing rank is the one whose memory it is.
    pub(super) near: bool,
    pub(super) floor: Actor,
    /// For the host and engines the ticks up to which all is known.
    pub(super) known: &'a [u32],
    /// What the granules remember of it; `None` when it has more accesses than can be numbered.
    pub(super) record: Option<Cell>,
    /// The last answer of the clock.
    pub(super) recent: (Actor, Known),
    /// The remembered accesses that were last found to be ordered: the write, and either read.
    pub(super) good: [Cell; 3],
    /// Decides which of two unordered reads is forgotten.
    pub(super) coin: u32,
}

/// The remembered access that is not ordered, and whether it is a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    pub(super) cell: Cell,
    pub(super) write: bool,
    /// Offset of the granule in bytes.
    pub(super) offset: usize,
    /// Lane of the access that is checked.
    pub(super) lane: usize,
}

impl Probe<'_> {
    #[inline]
    fn sync(&self) -> bool {
        matches!(self.verb, Verb::SyncRead | Verb::SyncWrite)
    }

    /// Whether the access of `cell` is known to come before this one.
    #[inline]
    pub(super) fn ordered(&mut self, cell: Cell) -> bool {
        let actor = cell.actor();
        if actor == self.me {
            return match (cell.class(), self.class) {
                (Class::Local, Class::Local) => true,
                (Class::Local, _) => self.own.local >= cell.tick(),
                (_, Class::Local) => self.own.memory >= cell.tick(),
                _ => true,
            };
        }
        if actor >= FIRST_WAVE && actor < self.floor {
            return true;
        }
        if self.known.get(actor as usize).is_some_and(|tick| *tick >= cell.tick()) {
            return true;
        }
        if self.recent.0 != actor {
            self.recent = (actor, self.clock.known(actor));
        }
        let known = &self.recent.1;
        match cell.class() {
            Class::Memory => known.memory >= cell.tick(),
            Class::Local => known.local >= cell.tick(),
            Class::Dirty if self.near => known.dirty.max(known.agent) >= cell.tick(),
            Class::Dirty => known.dirty.max(known.system) >= cell.tick(),
        }
    }

    /// Whether the access of `cell` meets this one, which `slot` (0 a write, 1 and 2 reads) remembers if it does not.
    #[inline(always)]
    fn conflicts(&mut self, cell: Cell, mask: u32, slot: usize) -> bool {
        if cell.is_empty() || self.good[slot].same_access(cell) {
            return false;
        }
        self.conflicts_anew(cell, mask, slot)
    }

    #[inline(never)]
    fn conflicts_anew(&mut self, cell: Cell, mask: u32, slot: usize) -> bool {
        if cell.mask() & mask == 0 || (cell.sync() && self.sync()) {
            return false;
        }
        let ordered = self.ordered(cell);
        if ordered {
            self.good[slot] = cell;
        }
        !ordered
    }

    /// Checks and records a read of the bytes of `mask`.
    #[inline(always)]
    fn read(&mut self, granule: &mut Granule, lane: usize, mask: u32) -> Option<(Cell, bool)> {
        if self.conflicts(granule.write, mask, 0) {
            return Some((granule.write, true));
        }
        if self.conflicts(granule.older, mask, 0) {
            return Some((granule.older, true));
        }
        let record = self.record?;
        let cell = record.masked(lane, mask);
        let [first, second] = granule.reads;
        if first.is_empty() || first.same_source(cell) {
            granule.reads[0] = if first.same_access(cell) { first.or_mask(mask) } else { cell };
            return None;
        }
        if second.is_empty() || second.same_source(cell) {
            granule.reads[1] = if second.same_access(cell) { second.or_mask(mask) } else { cell };
            return None;
        }
        let victim = if self.ordered(first) {
            0
        } else if self.ordered(second) || first.actor() < FIRST_WAVE {
            1 // an engine's read is what a reused source is found by
        } else if second.actor() < FIRST_WAVE {
            0
        } else {
            self.coin = self.coin.wrapping_mul(0x2c92_77b5).wrapping_add(0x3c6e_f35f);
            (self.coin >> 31) as usize
        };
        granule.reads[victim] = cell;
        None
    }

    /// Checks and records a write of the bytes of `mask`.
    #[inline(always)]
    fn write(&mut self, granule: &mut Granule, lane: usize, mask: u32) -> Option<(Cell, bool)> {
        if self.conflicts(granule.write, mask, 0) {
            return Some((granule.write, true));
        }
        if self.conflicts(granule.older, mask, 0) {
            return Some((granule.older, true));
        }
        for index in 0..2 {
            let read = granule.reads[index];
            if self.conflicts(read, mask, 1 + index) {
                return Some((read, false));
            }
        }
        let record = self.record?;
        let cell = record.masked(lane, mask);
        let last = granule.write;
        if last.same_access(cell) {
            granule.write = last.or_mask(mask);
        } else {
            if last.mask() & !mask != 0 {
                granule.older = last;
            } else if granule.older.mask() & !mask == 0 {
                granule.older = Cell::EMPTY;
            }
            granule.write = cell;
        }
        if mask == 15 {
            granule.reads = [Cell::EMPTY; 2];
        }
        None
    }

    /// Checks `length` bytes at `offset`, of which each lane from `lane` on has `per_lane`.
    pub(super) fn span(
        &mut self,
        shadow: &mut Shadow,
        offset: usize,
        length: usize,
        lane: usize,
        per_lane: usize,
    ) -> Result<(), Conflict> {
        match self.verb.writes() {
            false => self.walk::<false>(shadow, offset, length, lane, per_lane),
            true => self.walk::<true>(shadow, offset, length, lane, per_lane),
        }
    }

    /// The same for `count` whole granules from `granule` on, of which each lane has `per_lane`.
    fn whole<const WRITES: bool>(
        &mut self,
        shadow: &mut Shadow,
        granule: usize,
        count: usize,
        lane: usize,
        per_lane: usize,
    ) -> Result<(), Conflict> {
        let mut done = 0;
        let (mut lane, mut left) = (lane, per_lane);
        while done < count {
            if left > 1
                && let Some((one, many)) = shadow.uniform(granule + done, (count - done).min(left))
            {
                let found = if WRITES { self.write(one, lane, 15) } else { self.read(one, lane, 15) };
                if let Some((cell, write)) = found {
                    return Err(Conflict { cell, write, offset: (granule + done) * 4, lane });
                }
                (done, left) = (done + many, left - many);
                if left == 0 {
                    (left, lane) = (per_lane, lane + 1);
                }
                continue;
            }
            let cells = shadow.granules(granule + done, count - done);
            if cells.is_empty() {
                return Ok(()); // checks are off
            }
            done += cells.len();
            let behind = granule + done;
            let here = cells.len();
            for (index, cell) in cells.iter_mut().enumerate() {
                let found = match WRITES {
                    false => self.read(cell, lane, 15),
                    true => self.write(cell, lane, 15),
                };
                if let Some((cell, write)) = found {
                    return Err(Conflict { cell, write, offset: (behind - here + index) * 4, lane });
                }
                left -= 1;
                if left == 0 {
                    (left, lane) = (per_lane, lane + 1);
                }
            }
        }
        if WRITES && per_lane >= count {
            shadow.unite(granule, count);
        }
        Ok(())
    }

    #[inline]
    fn walk<const WRITES: bool>(
        &mut self,
        shadow: &mut Shadow,
        offset: usize,
        length: usize,
        mut lane: usize,
        per_lane: usize,
    ) -> Result<(), Conflict> {
        let per_lane = per_lane.max(1);
        if (offset | length | per_lane).is_multiple_of(4) {
            return self.whole::<WRITES>(shadow, offset / 4, length / 4, lane, per_lane / 4);
        }
        let end = offset + length;
        let (mut granule, behind) = (offset / 4, end.div_ceil(4));
        // Bytes of the current lane that were passed.
        let mut passed = 0;
        while granule < behind {
            let cells = shadow.granules(granule, behind - granule);
            let count = cells.len();
            if count == 0 {
                return Ok(()); // checks are off
            }
            for (index, cell) in cells.iter_mut().enumerate() {
                let at = (granule + index) * 4;
                let mut mask = 15;
                let mut bytes = 4;
                if at < offset {
                    mask &= 15 << (offset - at);
                    bytes = at + 4 - offset;
                }
                if at + 4 > end {
                    mask &= 15 >> (at + 4 - end);
                }
                let found = match WRITES {
                    false => self.read(cell, lane, mask),
                    true => self.write(cell, lane, mask),
                };
                if let Some((cell, write)) = found {
                    return Err(Conflict { cell, write, offset: at.max(offset), lane });
                }
                passed += bytes;
                while passed >= per_lane {
                    passed -= per_lane;
                    lane += 1;
                }
            }
            granule += count;
        }
        Ok(())
    }
}

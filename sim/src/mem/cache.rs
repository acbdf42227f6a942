//! Caches that hold copies: an L1 for each compute unit, one for its scalar loads, and an L2 for each XCD.
//!
//! What must hold here: a copy stays as stale as it is until something drops it; dirty bytes are never lost, and only
//! an L2 has any. Invalidating is one counter, not a walk: a line remembers the count at which it was filled.

use super::alloc::Allocations;

/// Bytes of a line (128 on gfx942 and gfx950, L1 and L2 alike).
pub(super) const LINE: usize = 128;
/// Lines of an L1. Small, so that replacement happens in short runs too.
const L1_LINES: usize = 64;
/// Lines of an L2. Small for the same reason.
const L2_LINES: usize = 1024;
/// Tag of a line that holds nothing.
const NONE: u64 = u64::MAX;

#[derive(Clone, Debug)]
pub(super) struct Line {
    tag: u64,
    /// Filled when the cache's count for its kind of memory was this.
    filled: u32,
    /// Coarse memory of the cache's own rank.
    near: bool,
    valid: u128,
    dirty: u128,
    data: [u8; LINE],
}

/// A direct-mapped cache.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    lines: Vec<Line>,
    mask: u64,
    /// How often coarse memory of the own rank, and all other memory, was invalidated.
    counts: [u32; 2],
    /// Lines that may hold dirty bytes.
    dirty: Vec<u32>,
}

impl Cache {
    fn new(lines: usize) -> Self {
        let line = Line { tag: NONE, filled: 0, near: false, valid: 0, dirty: 0, data: [0; LINE] };
        Self { lines: vec![line; lines], mask: lines as u64 - 1, counts: [0; 2], dirty: Vec::new() }
    }

    pub(super) fn first_level() -> Self {
        Self::new(L1_LINES)
    }

    pub(super) fn second_level() -> Self {
        Self::new(L2_LINES)
    }

    #[inline]
    const fn slot(&self, tag: u64) -> usize {
        ((tag ^ (tag >> 10) ^ (tag >> 25)) & self.mask) as usize
    }

    /// Drops clean bytes: of coarse memory of the own rank, and with `all` of every memory.
    pub(super) const fn invalidate(&mut self, all: bool) {
        self.counts[0] = self.counts[0].wrapping_add(1);
        if all {
            self.counts[1] = self.counts[1].wrapping_add(1);
        }
    }

    /// The line of `tag` if it is here, without what was invalidated.
    #[inline]
    fn present(&mut self, tag: u64) -> Option<&mut Line> {
        let slot = self.slot(tag);
        let counts = self.counts;
        let line = &mut self.lines[slot];
        if line.tag != tag {
            return None;
        }
        if line.filled != counts[usize::from(!line.near)] {
            line.valid = line.dirty;
        }
        Some(line)
    }

    /// Bytes in place of what this cache holds of `tag`: a store passes through, or an atomic was done below.
    #[inline]
    pub(super) fn update(&mut self, tag: u64, start: usize, bytes: &[u8]) {
        if let Some(line) = self.present(tag) {
            let mask = bits(start, bytes.len());
            line.data[start..start + bytes.len()].copy_from_slice(bytes);
            // A line whose clean bytes were dropped must not get them back with the new ones.
            line.dirty &= !mask;
            if line.valid != 0 {
                line.valid |= mask;
            }
        }
    }

    /// Lays the dirty bytes of `tag` over `out`, which holds memory's from `start` on.
    #[inline]
    pub(super) fn overlay(&mut self, tag: u64, start: usize, out: &mut [u8]) {
        if let Some(line) = self.present(tag)
            && line.dirty & bits(start, out.len()) != 0
        {
            for (index, byte) in out.iter_mut().enumerate() {
                if line.dirty >> (start + index) & 1 != 0 {
                    *byte = line.data[start + index];
                }
            }
        }
    }

    /// Drops the lines from `start` to `end`, dirty bytes included.
    pub(super) fn forget(&mut self, start: u64, end: u64) {
        for line in &mut self.lines {
            if line.tag != NONE && line.tag * LINE as u64 + LINE as u64 > start && line.tag * (LINE as u64) < end {
                (line.tag, line.valid, line.dirty) = (NONE, 0, 0);
            }
        }
    }

    /// Whether anything is dirty.
    pub(super) const fn any_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }
}

/// What the copies of a line are: coarse memory of the own rank or not, and its bytes that exist.
#[derive(Clone, Copy, Debug)]
pub(super) struct Home {
    pub(super) allocation: usize,
    pub(super) near: bool,
}

/// The bits of `length` bytes from `start` on.
#[inline]
pub(super) const fn bits(start: usize, length: usize) -> u128 {
    if length >= LINE { !0 } else { ((1 << length) - 1) << start }
}

/// The L2 of an XCD over memory.
pub(super) struct Backed<'a> {
    pub(super) cache: &'a mut Cache,
    pub(super) memory: &'a mut Allocations,
    pub(super) version: &'a mut u64,
}

impl Backed<'_> {
    /// The slot of the line of `tag`, taken over if another line was there.
    fn claim(&mut self, tag: u64, home: Home) -> usize {
        let slot = self.cache.slot(tag);
        if self.cache.lines[slot].tag != tag {
            self.write_back(slot);
            let line = &mut self.cache.lines[slot];
            (line.tag, line.valid, line.dirty, line.near) = (tag, 0, 0, home.near);
        }
        slot
    }

    /// The line of `tag` with all bytes that exist.
    #[inline]
    fn fetch(&mut self, tag: u64, home: Home) -> &Line {
        let slot = self.claim(tag, home);
        let count = self.cache.counts[usize::from(!home.near)];
        let line = &mut self.cache.lines[slot];
        let stale = line.filled != count;
        let kept = if stale { line.dirty } else { line.valid };
        let allocation = &self.memory.all[home.allocation];
        let first = tag * LINE as u64;
        let start = allocation.base.saturating_sub(first) as usize;
        let end = (allocation.end() - first).min(LINE as u64) as usize;
        let exists = bits(start, end - start);
        if kept & exists != exists {
            let from = (first + start as u64 - allocation.base) as usize;
            let source = &allocation.data[from..from + end - start];
            if stale && line.valid & exists == exists && line.data[start..end] != *source {
                *self.version += 1;
            }
            match kept & exists {
                0 => line.data[start..end].copy_from_slice(source),
                kept => {
                    for (index, byte) in source.iter().enumerate() {
                        if kept >> (start + index) & 1 == 0 {
                            line.data[start + index] = *byte;
                        }
                    }
                }
            }
        }
        (line.valid, line.filled) = (kept | exists, count);
        line
    }

    /// Loads through `l1`.
    #[inline]
    pub(super) fn load_through(&mut self, l1: &mut Cache, tag: u64, home: Home, start: usize, out: &mut [u8]) {
        let slot = l1.slot(tag);
        let count = l1.counts[usize::from(!home.near)];
        let need = bits(start, out.len());
        let line = &mut l1.lines[slot];
        if line.tag != tag || line.filled != count || line.valid & need != need {
            let known = line.tag == tag && line.valid & need == need;
            let below = self.fetch(tag, home);
            let changed = known && line.data[start..start + out.len()] != below.data[start..start + out.len()];
            (line.tag, line.valid, line.near, line.filled) = (tag, below.valid, home.near, count);
            line.data = below.data;
            *self.version += u64::from(changed);
        }
        out.copy_from_slice(&line.data[start..start + out.len()]);
    }

    /// A plain store to coarse memory: the bytes stay here.
    #[inline]
    pub(super) fn store_dirty(&mut self, tag: u64, home: Home, start: usize, bytes: &[u8]) {
        let slot = self.claim(tag, home);
        let mask = bits(start, bytes.len());
        let count = self.cache.counts[usize::from(!home.near)];
        let line = &mut self.cache.lines[slot];
        if line.filled != count {
            (line.valid, line.filled) = (line.dirty, count);
        }
        let old = &mut line.data[start..start + bytes.len()];
        if line.valid & mask != mask || *old != *bytes {
            *self.version += 1;
            old.copy_from_slice(bytes);
        }
        if line.dirty == 0 {
            self.cache.dirty.push(slot as u32);
        }
        line.valid |= mask;
        line.dirty |= mask;
    }

    /// Writes the dirty bytes of a slot to memory.
    fn write_back(&mut self, slot: usize) {
        let line = &mut self.cache.lines[slot];
        let dirty = std::mem::take(&mut line.dirty);
        let mut at = 0;
        while at < LINE && dirty >> at != 0 {
            at += (dirty >> at).trailing_zeros() as usize;
            let run = ((dirty >> at).trailing_ones() as usize).min(LINE - at);
            let address = line.tag * LINE as u64 + at as u64;
            // Memory that was freed in the meantime has nobody who could miss the bytes.
            if let Some(index) = self.memory.search(address)
                && let Some(offset) = self.memory.all[index].offset(address, run as u64)
            {
                let target = &mut self.memory.all[index].data[offset..offset + run];
                if *target != line.data[at..at + run] {
                    target.copy_from_slice(&line.data[at..at + run]);
                    *self.version += 1;
                }
            }
            at += run;
        }
    }

    /// Writes back everything.
    pub(super) fn write_back_all(&mut self) {
        while let Some(slot) = self.cache.dirty.pop() {
            self.write_back(slot as usize);
        }
    }

    /// Writes back one dirty line, the one that `choice` picks; false if there is none.
    pub(super) fn write_back_one(&mut self, choice: usize) -> bool {
        if self.cache.dirty.is_empty() {
            return false;
        }
        let index = choice % self.cache.dirty.len();
        let slot = self.cache.dirty.swap_remove(index);
        self.write_back(slot as usize);
        true
    }
}

//! What is known about each byte and each 4-byte granule: initialised or not, and who accessed it last.
//!
//! What must hold here: plain arrays by offset, in chunks whose granules come into being when they first differ, so that a
//! check of a wave's coalesced access is a loop over neighbours. A granule remembers its last write, a second one to
//! other bytes, and up to two reads; a forgotten access can hide a race, but nothing here can invent one.

use super::clock::Actor;

/// Granules in a chunk.
const CHUNK: usize = 256;

/// One remembered access in 64 bits: actor 20, tick 26, lane 6, byte mask 4, kind 4 (class 2, sync 1, valid 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell(u64);

/// Which counter of the actor a tick belongs to, and how far the access is visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// In memory once it is retired.
    Memory,
    /// LDS and scalar accesses.
    Local,
    /// A plain store to coarse memory.
    Dirty,
}

impl Cell {
    pub(super) const EMPTY: Self = Self(0);

    /// A cell without a byte mask; see [`Cell::masked`].
    pub(super) fn new(actor: Actor, tick: u32, class: Class, sync: bool) -> Self {
        let class = match class {
            Class::Memory => 0,
            Class::Local => 1,
            Class::Dirty => 2,
        };
        Self(u64::from(actor) << 44 | u64::from(tick) << 18 | class << 2 | u64::from(sync) << 1 | 1)
    }

    /// The same for `lane` and the bytes of `mask`.
    #[inline]
    pub(super) const fn masked(self, lane: usize, mask: u32) -> Self {
        Self(self.0 | (lane as u64 & 63) << 12 | (mask as u64 & 15) << 8)
    }

    #[inline]
    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub(super) const fn actor(self) -> Actor {
        (self.0 >> 44) as u32
    }

    #[inline]
    pub(super) const fn tick(self) -> u32 {
        (self.0 >> 18) as u32 & 0x3ff_ffff
    }

    #[inline]
    pub(super) const fn lane(self) -> u8 {
        (self.0 >> 12) as u8 & 63
    }

    #[inline]
    pub(super) const fn mask(self) -> u32 {
        (self.0 >> 8) as u32 & 15
    }

    #[inline]
    pub(super) const fn class(self) -> Class {
        match self.0 >> 2 & 3 {
            0 => Class::Memory,
            1 => Class::Local,
            _ => Class::Dirty,
        }
    }

    #[inline]
    pub(super) const fn sync(self) -> bool {
        self.0 & 2 != 0
    }

    /// Whether it is the same access (lane and bytes aside).
    #[inline]
    pub(super) const fn same_access(self, other: Self) -> bool {
        (self.0 ^ other.0) & !0x3_ff00 == 0
    }

    /// Whether it is by the same actor, of the same class, sync or not alike.
    #[inline]
    pub(super) const fn same_source(self, other: Self) -> bool {
        (self.0 ^ other.0) & 0xffff_f000_0000_000f == 0
    }

    /// Both accesses' bytes.
    #[inline]
    pub(super) const fn or_mask(self, mask: u32) -> Self {
        Self(self.0 | (mask as u64) << 8)
    }
}

/// What a granule remembers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Granule {
    pub(super) write: Cell,
    /// The write before it, while some of its bytes were not written again.
    pub(super) older: Cell,
    pub(super) reads: [Cell; 2],
}

impl Granule {
    pub(super) const EMPTY: Self = Self { write: Cell::EMPTY, older: Cell::EMPTY, reads: [Cell::EMPTY; 2] };

    const fn is_empty(&self) -> bool {
        self.write.is_empty() && self.older.is_empty() && self.reads[0].is_empty() && self.reads[1].is_empty()
    }
}

/// Initialised bytes and remembered accesses of one range.
#[derive(Clone, Debug, Default)]
pub(super) struct Shadow {
    /// A bit a byte; empty when checks are off.
    init: Vec<u64>,
    /// All bytes are initialised, and there is no bit map.
    written: bool,
    chunks: Vec<Chunk>,
}

/// Neighbouring granules. As long as they all remember the same (nobody has touched them, or an engine has read or written
/// them as a whole) one stands for all.
#[derive(Clone, Debug, Default)]
struct Chunk {
    /// What they remember while there are no `granules`.
    uniform: Granule,
    granules: Option<Box<[Granule; CHUNK]>>,
}

impl Chunk {
    fn each(&mut self) -> &mut [Granule; CHUNK] {
        self.granules.get_or_insert_with(|| Box::new([self.uniform; CHUNK]))
    }
}

/// Empty chunks for `bytes` bytes.
fn chunks(bytes: usize) -> Vec<Chunk> {
    vec![Chunk::default(); bytes.div_ceil(4 * CHUNK)]
}

impl Shadow {
    /// For `bytes` bytes of which none is initialised.
    pub(super) fn new(bytes: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(0);
        Self { init: vec![0; bytes.div_ceil(64)], written: false, chunks: chunks(bytes) }
    }

    /// For `bytes` bytes that are all initialised.
    pub(super) fn written(bytes: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(0);
        Self { init: Vec::new(), written: true, chunks: chunks(bytes) }
    }

    /// Notes `length` bytes from `start` on as written.
    #[inline]
    pub(super) fn set_init(&mut self, start: usize, length: usize) {
        for_words(start, length, |word, bits| {
            if let Some(slot) = self.init.get_mut(word) {
                *slot |= bits;
            }
            true
        });
    }

    /// The first byte of `length` from `start` on that was never written.
    #[inline]
    pub(super) fn first_uninit(&self, start: usize, length: usize) -> Option<usize> {
        if self.written {
            return None;
        }
        let mut found = None;
        for_words(start, length, |word, bits| {
            let missing = bits & !self.init.get(word).copied().unwrap_or(!0);
            if missing != 0 {
                found = Some(word * 64 + missing.trailing_zeros() as usize);
            }
            missing == 0
        });
        found
    }

    /// The granules from `granule` on that lie in its chunk, at most `count` of them.
    #[inline]
    pub(super) fn granules(&mut self, granule: usize, count: usize) -> &mut [Granule] {
        let Some(chunk) = self.chunks.get_mut(granule / CHUNK) else { return &mut [] };
        let start = granule % CHUNK;
        let end = (start + count).min(CHUNK);
        &mut chunk.each()[start..end]
    }

    /// One granule that stands for all of a chunk, if `count` granules from `granule` on begin with a whole one that
    /// remembers the same everywhere; and how many it stands for.
    pub(super) fn uniform(&mut self, granule: usize, count: usize) -> Option<(&mut Granule, usize)> {
        if !granule.is_multiple_of(CHUNK) || count < CHUNK {
            return None;
        }
        let chunk = self.chunks.get_mut(granule / CHUNK)?;
        chunk.granules.is_none().then_some((&mut chunk.uniform, CHUNK))
    }

    /// The chunks that lie within `count` granules from `granule` on were written as a whole: one granule will do for each.
    pub(super) fn unite(&mut self, granule: usize, count: usize) {
        for chunk in granule.div_ceil(CHUNK)..(granule + count) / CHUNK {
            if let Some(chunk) = self.chunks.get_mut(chunk)
                && let Some(granules) = chunk.granules.take()
            {
                chunk.uniform = granules[0];
            }
        }
    }

    /// Forgets all accesses.
    pub(super) fn forget(&mut self) {
        self.chunks.fill(Chunk::default());
    }

    /// Forgets the accesses to `length` bytes from `start` on.
    pub(super) fn forget_range(&mut self, start: usize, length: usize) {
        let (mut granule, end) = (start / 4, (start + length).div_ceil(4));
        while granule < end {
            let in_chunk = (end - granule).min(CHUNK - granule % CHUNK);
            match self.chunks.get_mut(granule / CHUNK) {
                Some(chunk) if in_chunk == CHUNK => *chunk = Chunk::default(),
                Some(chunk) if chunk.granules.is_none() && chunk.uniform.is_empty() => {}
                Some(chunk) => chunk.each()[granule % CHUNK..granule % CHUNK + in_chunk].fill(Granule::EMPTY),
                None => {}
            }
            granule += in_chunk;
        }
    }
}

/// Calls `visit` with each 64-bit word of a bit map and the bits of `start..start + length` in it, until it answers
/// false.
#[inline]
fn for_words(start: usize, length: usize, mut visit: impl FnMut(usize, u64) -> bool) {
    let end = start + length;
    let mut at = start;
    while at < end {
        let (word, low) = (at / 64, at % 64);
        let count = (end - at).min(64 - low);
        let bits = if count == 64 { !0 } else { ((1 << count) - 1) << low };
        if !visit(word, bits) {
            return;
        }
        at += count;
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, Class, Shadow};

    #[test]
    fn a_cell_keeps_its_fields() {
        let cell = Cell::new(0xa_bcde, 0x123_4567, Class::Dirty, true).masked(63, 0b1010);
        assert_eq!((cell.actor(), cell.tick(), cell.lane(), cell.mask()), (0xa_bcde, 0x123_4567, 63, 0b1010));
        assert_eq!((cell.class(), cell.sync(), cell.is_empty()), (Class::Dirty, true, false));
        let other = Cell::new(0xa_bcde, 0x123_4567, Class::Dirty, true).masked(1, 0b0101);
        assert!(cell.same_access(other) && cell.same_source(other));
        let later = Cell::new(0xa_bcde, 0x123_4568, Class::Dirty, true);
        assert!(!cell.same_access(later) && cell.same_source(later));
        assert!(!cell.same_source(Cell::new(0xa_bcdf, 0x123_4567, Class::Dirty, true)));
    }

    #[test]
    fn initialised_bytes_are_counted_one_by_one() {
        let mut shadow = Shadow::new(300);
        assert_eq!(shadow.first_uninit(0, 300), Some(0));
        shadow.set_init(0, 130);
        shadow.set_init(131, 169);
        assert_eq!(shadow.first_uninit(0, 130), None);
        assert_eq!(shadow.first_uninit(100, 100), Some(130));
        assert_eq!(shadow.first_uninit(131, 169), None);
    }

    #[test]
    fn without_checks_everything_counts_as_initialised() {
        assert_eq!(Shadow::default().first_uninit(5, 100), None);
    }

    #[test]
    fn chunks_end_where_they_end() {
        let mut shadow = Shadow::new(8192 + 12);
        assert_eq!(shadow.granules(1020, 10).len(), 4);
        assert_eq!(shadow.granules(2048, 10).len(), 10);
        assert_eq!(shadow.granules(1 << 40, 10).len(), 0);
        shadow.granules(1, 1)[0].write = Cell::new(1, 1, Class::Memory, false);
        shadow.forget_range(4, 4);
        assert!(shadow.granules(1, 1)[0].write.is_empty());
    }
}

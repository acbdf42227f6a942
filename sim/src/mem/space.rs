//! Bytes: the way of loads and stores through the caches to the allocations.
//!
//! What must hold here: values only, no checks; an address that was valid when the operation was issued and is no
//! longer (its memory was freed) reads as [`FILL`](super::FILL) and swallows writes.

use super::cache::{Backed, Cache, Home, LINE};
use super::fault::MemFault;
use super::{Memory, MemoryType, Unit, UnitCaches};
use crate::rng::Rng;
use crate::wave::Generation;

/// How far a load or store must reach: scope bits sc0 (workgroup), sc1 (agent), both (system).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// Plain.
    #[default]
    Wave,
    /// sc0.
    Workgroup,
    /// sc1.
    Agent,
    /// sc0 sc1.
    System,
}

impl Scope {
    /// From the instruction's bits.
    pub(crate) const fn new(sc0: bool, sc1: bool) -> Self {
        match (sc0, sc1) {
            (false, false) => Self::Wave,
            (true, false) => Self::Workgroup,
            (false, true) => Self::Agent,
            (true, true) => Self::System,
        }
    }

    /// Whether it goes past the caches of its compute unit and XCD.
    pub(crate) const fn through(self) -> bool {
        matches!(self, Self::Agent | Self::System)
    }
}

/// Calls `visit(tag, start in the line, range of the bytes)` for each line that `length` bytes at `address` touch.
#[inline]
fn lines(address: u64, length: usize, mut visit: impl FnMut(u64, usize, std::ops::Range<usize>)) {
    let mut done = 0;
    while done < length {
        let at = address + done as u64;
        let start = at as usize % LINE;
        let count = (LINE - start).min(length - done);
        visit(at / LINE as u64, start, done..done + count);
        done += count;
    }
}

impl Memory {
    /// Index and offset of `bytes` bytes at `address`.
    #[inline]
    pub(super) fn locate(&mut self, address: u64, bytes: u64, verb: &'static str) -> Result<(usize, usize), MemFault> {
        if let Some(index) = self.space.find(address)
            && let Some(offset) = self.space.all[index].offset(address, bytes)
        {
            return Ok((index, offset));
        }
        let nearest = self.space.nearest(address, bytes);
        Err(MemFault::OutOfBounds { address, bytes, verb, nearest })
    }

    /// Writes to memory itself.
    #[inline]
    pub(super) fn memory_write(&mut self, index: usize, offset: usize, bytes: &[u8]) {
        let target = &mut self.space.all[index].data[offset..offset + bytes.len()];
        if *target != *bytes {
            target.copy_from_slice(bytes);
            self.version += 1;
        }
    }

    fn second_level_slot(&self, rank: u32, xcd: u32) -> usize {
        (rank.min(4095) * self.config.xcds + xcd % self.config.xcds) as usize
    }

    /// Makes the caches of `unit` exist.
    fn ensure(&mut self, unit: Unit) -> (usize, usize) {
        let (cu, l2) = (unit.cu.min(1 << 16) as usize, self.second_level_slot(unit.rank, unit.xcd));
        if self.units.len() <= cu {
            self.units.resize(cu + 1, None);
        }
        let fresh =
            || Box::new(UnitCaches { rank: unit.rank, vector: Cache::first_level(), scalar: Cache::first_level() });
        self.units[cu].get_or_insert_with(fresh);
        if self.second_level.len() <= l2 {
            self.second_level.resize(l2 + 1, None);
        }
        self.second_level[l2].get_or_insert_with(|| Box::new(Cache::second_level()));
        (cu, l2)
    }

    /// Whether a plain store to memory of `kind` may stay in a cache although it has returned, whatever the kind.
    ///
    /// gfx1250 (inferred): LLVM's memory model wants a `global_wb` of the scope that is to see a store even where caches write
    /// through, since a store returns when it has reached its own scope. gfx942 keeps plain stores to coarse memory only.
    pub(super) fn lingers(&self, kind: MemoryType) -> bool {
        self.config.generation == Generation::Gfx12 && !kind.read_only() && kind != MemoryType::Doorbell
    }

    /// Loads bytes as a wave sees them.
    pub(super) fn load_bytes(&mut self, unit: Unit, address: u64, scope: Scope, scalar: bool, out: &mut [u8]) {
        let found = self.space.find(address);
        let located = found.and_then(|index| Some((index, self.space.all[index].offset(address, out.len() as u64)?)));
        let Some((index, offset)) = located else { return out.fill(super::FILL) };
        let allocation = &self.space.all[index];
        let kind = allocation.kind;
        if !kind.cached() || kind.read_only() || scope.through() {
            out.copy_from_slice(&allocation.data[offset..offset + out.len()]);
            if kind == MemoryType::Coarse && scope.through() || self.lingers(kind) {
                let (_, l2) = self.ensure(unit);
                if let Some(cache) = &mut self.second_level[l2]
                    && cache.any_dirty()
                {
                    lines(address, out.len(), |tag, start, range| cache.overlay(tag, start, &mut out[range]));
                }
            }
            return;
        }
        let home = Home { allocation: index, near: kind == MemoryType::Coarse && allocation.rank == unit.rank };
        let (cu, l2) = self.ensure(unit);
        let (Some(caches), Some(cache)) = (&mut self.units[cu], &mut self.second_level[l2]) else { return };
        let l1 = if scalar { &mut caches.scalar } else { &mut caches.vector };
        let mut backed = Backed { cache, memory: &mut self.space, version: &mut self.version };
        lines(address, out.len(), |tag, start, range| backed.load_through(l1, tag, home, start, &mut out[range]));
    }

    /// Stores bytes of a wave.
    pub(super) fn store_bytes(&mut self, unit: Unit, address: u64, scope: Scope, bytes: &[u8]) {
        let found = self.space.find(address);
        let located = found.and_then(|index| Some((index, self.space.all[index].offset(address, bytes.len() as u64)?)));
        let Some((index, offset)) = located else { return };
        let allocation = &self.space.all[index];
        let kind = allocation.kind;
        let lingers = self.lingers(kind);
        if !kind.cached() && !lingers {
            return self.memory_write(index, offset, bytes);
        }
        let near = kind == MemoryType::Coarse && allocation.rank == unit.rank;
        let (cu, l2) = self.ensure(unit);
        let (Some(caches), Some(cache)) = (&mut self.units[cu], &mut self.second_level[l2]) else { return };
        lines(address, bytes.len(), |tag, start, range| caches.vector.update(tag, start, &bytes[range]));
        if (near || lingers) && !scope.through() {
            let home = Home { allocation: index, near };
            let mut backed = Backed { cache, memory: &mut self.space, version: &mut self.version };
            lines(address, bytes.len(), |tag, start, range| backed.store_dirty(tag, home, start, &bytes[range]));
            return;
        }
        lines(address, bytes.len(), |tag, start, range| cache.update(tag, start, &bytes[range]));
        self.memory_write(index, offset, bytes);
    }

    /// Changes up to 8 bytes at once; the old value. In memory, or in the L2 if the atomic is to reach no further (gfx1250,
    /// below device scope).
    pub(super) fn atomic_bytes(
        &mut self,
        unit: Unit,
        address: u64,
        bytes: usize,
        scope: Scope,
        new: impl FnOnce(u64) -> u64,
    ) -> u64 {
        let mut word = [0; 8];
        self.load_bytes(unit, address, Scope::System, false, &mut word[..bytes]);
        let old = u64::from_le_bytes(word);
        let value = new(old).to_le_bytes();
        let reach = if scope == Scope::Wave { Scope::Wave } else { Scope::System };
        self.store_bytes(unit, address, reach, &value[..bytes]);
        old
    }

    /// `buffer_inv`.
    pub(super) fn invalidate(&mut self, unit: Unit, scope: Scope) {
        if !scope.through() {
            return;
        }
        let (cu, l2) = self.ensure(unit);
        if let Some(caches) = &mut self.units[cu] {
            caches.vector.invalidate(true);
        }
        if let Some(cache) = &mut self.second_level[l2] {
            cache.invalidate(scope == Scope::System);
        }
    }

    /// `s_dcache_inv`.
    pub(super) fn invalidate_scalar(&mut self, unit: Unit) {
        let (cu, _) = self.ensure(unit);
        if let Some(caches) = &mut self.units[cu] {
            caches.scalar.invalidate(true);
        }
    }

    /// `buffer_wbl2`.
    pub(crate) fn write_back(&mut self, unit: Unit) {
        let (_, l2) = self.ensure(unit);
        self.write_back_slot(l2);
    }

    fn write_back_slot(&mut self, slot: usize) {
        if let Some(Some(cache)) = self.second_level.get_mut(slot) {
            Backed { cache, memory: &mut self.space, version: &mut self.version }.write_back_all();
        }
    }

    /// The rank's caches lose all copies.
    pub(super) fn invalidate_rank(&mut self, rank: u32) {
        for caches in self.units.iter_mut().flatten().filter(|caches| caches.rank == rank) {
            caches.vector.invalidate(true);
            caches.scalar.invalidate(true);
        }
        for xcd in 0..self.config.xcds {
            let slot = self.second_level_slot(rank, xcd);
            if let Some(Some(cache)) = self.second_level.get_mut(slot) {
                cache.invalidate(true);
            }
        }
    }

    /// The rank's dirty bytes go to memory.
    pub(super) fn write_back_rank(&mut self, rank: u32) {
        for xcd in 0..self.config.xcds {
            self.write_back_slot(self.second_level_slot(rank, xcd));
        }
    }

    pub(super) fn write_back_everything(&mut self) {
        (0..self.second_level.len()).for_each(|slot| self.write_back_slot(slot));
    }

    /// One dirty line, if there is any, goes to memory.
    pub(super) fn evict(&mut self, rng: &mut Rng) -> bool {
        let count = self.second_level.len();
        if count == 0 {
            return false;
        }
        let first = rng.below(count as u32) as usize;
        for slot in (first..count).chain(0..first) {
            if let Some(cache) = &mut self.second_level[slot] {
                let mut backed = Backed { cache, memory: &mut self.space, version: &mut self.version };
                if backed.write_back_one(rng.next_u32() as usize) {
                    return true;
                }
            }
        }
        false
    }

    /// Copies of addresses from `start` to `end` vanish, dirty or not.
    pub(super) fn forget_copies(&mut self, start: u64, end: u64) {
        for caches in self.units.iter_mut().flatten() {
            caches.vector.forget(start, end);
            caches.scalar.forget(start, end);
        }
        self.second_level.iter_mut().flatten().for_each(|cache| cache.forget(start, end));
    }
}

//! Allocations: where they lie, what they hold, and how an address finds its own.
//!
//! What must hold here: allocations never overlap, and at least [`GUARD`] bytes that belong to nobody lie between two
//! that the allocator placed, so that a pointer that runs over an end hits nothing. Bytes that were never written are
//! [`FILL`], the pattern that every executor of this project uses.

use super::fault::MemFault;
use super::shadow::Shadow;

/// Bytes between two allocations that belong to nobody: far more than the largest offset an instruction can add.
pub const GUARD: u64 = 1 << 20;

/// What memory holds before anyone writes to it.
pub const FILL: u8 = 0xcd;

/// Most bytes of all allocations together: what a laptop can spare.
pub(super) const MAX_BYTES: u64 = 8 << 30;

/// First address that the allocator hands out on rank 0; rank r starts [`RANK_STRIDE`] * r higher.
const FIRST: u64 = 0x7f00_0000_0000;
const RANK_STRIDE: u64 = 1 << 36;

/// How memory is cached and who may write to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryType {
    /// Machine code: read-only.
    Code,
    /// Kernel arguments: read-only.
    Kernarg,
    /// Cached; stores stay dirty in an L2 until they are written back. What hipMalloc gives.
    Coarse,
    /// Cached on reads, written through.
    FineGrained,
    /// Never cached: rings, counters, signals.
    Uncached,
    /// Uncached, and each store to it is handed to the engines.
    Doorbell,
}

impl MemoryType {
    /// Whether kernels may not write to it.
    pub const fn read_only(self) -> bool {
        matches!(self, Self::Code | Self::Kernarg)
    }

    /// Whether caches hold it.
    pub const fn cached(self) -> bool {
        !matches!(self, Self::Uncached | Self::Doorbell)
    }
}

/// A range of addresses that belongs together.
#[derive(Clone, Debug)]
pub struct Allocation {
    /// First address.
    pub base: u64,
    /// Bytes.
    pub bytes: u64,
    /// The rank whose memory it is.
    pub rank: u32,
    /// How it is cached.
    pub kind: MemoryType,
    /// What it is, for messages: `window 0 of rank 2`.
    pub name: String,
    pub(super) data: Vec<u8>,
    pub(super) shadow: Shadow,
}

impl Allocation {
    /// The first address behind it.
    pub fn end(&self) -> u64 {
        self.base + self.bytes
    }

    /// Where `bytes` bytes at `address` lie in it, if they do.
    #[inline]
    pub(super) fn offset(&self, address: u64, bytes: u64) -> Option<usize> {
        let offset = address.wrapping_sub(self.base);
        (offset < self.bytes && bytes <= self.bytes - offset).then_some(offset as usize)
    }

    /// `window 0 of rank 2 +0x40`.
    pub fn place(&self, address: u64) -> String {
        format!("{} +{:#x}", self.name, address.wrapping_sub(self.base))
    }
}

/// All allocations, by address.
#[derive(Clone, Debug, Default)]
pub(super) struct Allocations {
    /// Sorted by base.
    pub(super) all: Vec<Allocation>,
    /// Where the allocator goes on, by rank.
    next: Vec<u64>,
    total: u64,
    last: usize,
}

impl Allocations {
    /// Index of the allocation that holds `address`.
    #[inline]
    pub(super) fn find(&mut self, address: u64) -> Option<usize> {
        if let Some(hit) = self.all.get(self.last)
            && address.wrapping_sub(hit.base) < hit.bytes
        {
            return Some(self.last);
        }
        let found = self.search(address)?;
        self.last = found;
        Some(found)
    }

    /// The same without remembering.
    pub(super) fn search(&self, address: u64) -> Option<usize> {
        let behind = self.all.partition_point(|a| a.base <= address);
        let index = behind.checked_sub(1)?;
        (address - self.all[index].base < self.all[index].bytes).then_some(index)
    }

    /// A free place for `bytes` bytes on `rank`, guards included.
    pub(super) fn place(&mut self, rank: u32, bytes: u64, align: u64) -> Result<u64, MemFault> {
        let refuse = |why: String| MemFault::Allocation(why);
        if !align.is_power_of_two() || align > GUARD {
            return Err(refuse(format!("an alignment of {align} bytes")));
        }
        let slot = rank as usize;
        if slot >= 4096 {
            return Err(refuse(format!("rank {rank} is beyond any node")));
        }
        while self.next.len() <= slot {
            self.next.push(FIRST + RANK_STRIDE * self.next.len() as u64);
        }
        let mut base = self.next[slot];
        let end = FIRST + RANK_STRIDE * (u64::from(rank) + 1);
        loop {
            let fits = base.checked_add(bytes).and_then(|e| e.checked_add(GUARD)).filter(|e| *e <= end);
            let Some(after) = fits else {
                return Err(refuse(format!("{bytes} bytes more than rank {rank} has room for")));
            };
            match self.overlap(base.saturating_sub(GUARD), after) {
                None => {
                    self.next[slot] = (after + GUARD).next_multiple_of(GUARD);
                    return Ok(base);
                }
                Some(index) => base = (self.all[index].end() + GUARD).next_multiple_of(GUARD),
            }
        }
    }

    fn overlap(&self, start: u64, end: u64) -> Option<usize> {
        let behind = self.all.partition_point(|a| a.base < end);
        let index = behind.checked_sub(1)?;
        (self.all[index].end() > start).then_some(index)
    }

    /// Adds an allocation at a fixed address.
    pub(super) fn insert(&mut self, allocation: Allocation) -> Result<(), MemFault> {
        let refuse = |why: String| Err(MemFault::Allocation(why));
        let Some(end) = allocation.base.checked_add(allocation.bytes) else {
            return refuse(format!("{} bytes at {:#x} run over the address space", allocation.bytes, allocation.base));
        };
        if allocation.bytes == 0 || allocation.base == 0 {
            return refuse(format!("{} bytes at {:#x}", allocation.bytes, allocation.base));
        }
        if let Some(index) = self.overlap(allocation.base, end) {
            let other = &self.all[index];
            return refuse(format!(
                "{} at {:#x}..{end:#x} overlaps {} at {:#x}..{:#x}",
                allocation.name,
                allocation.base,
                other.name,
                other.base,
                other.end()
            ));
        }
        self.total += allocation.bytes;
        let at = self.all.partition_point(|a| a.base < allocation.base);
        self.all.insert(at, allocation);
        Ok(())
    }

    /// Whether `bytes` more would be too much.
    pub(super) fn too_much(&self, bytes: u64) -> bool {
        self.total.checked_add(bytes).is_none_or(|total| total > MAX_BYTES)
    }

    /// Removes the allocation that starts at `base`.
    pub(super) fn remove(&mut self, base: u64) -> bool {
        match self.all.binary_search_by_key(&base, |a| a.base) {
            Ok(index) => {
                self.total -= self.all[index].bytes;
                self.all.remove(index);
                true
            }
            Err(_) => false,
        }
    }

    /// Where `address` is, in words, for whoever missed everything.
    pub(super) fn nearest(&self, address: u64, bytes: u64) -> String {
        let behind = self.all.partition_point(|a| a.base <= address);
        let below = behind.checked_sub(1).map(|index| &self.all[index]);
        let above = self.all.get(behind);
        if let Some(hit) = below
            && address < hit.end()
        {
            let over = address.saturating_add(bytes).saturating_sub(hit.end());
            if over == 0 {
                return format!("it is in {} ({} bytes)", hit.name, hit.bytes);
            }
            return format!("the last {over} lie behind the end of {} ({} bytes)", hit.name, hit.bytes);
        }
        let low = below.map(|a| (address - a.end(), a));
        let high = above.map(|a| (a.base - address, a));
        match (low, high) {
            (Some((gap, a)), Some((other, _))) if gap <= other => behind_of(gap, a),
            (Some((gap, a)), None) => behind_of(gap, a),
            (_, Some((gap, a))) => format!("the nearest memory is {} ({} bytes), {gap} bytes above", a.name, a.bytes),
            (None, None) => "there is no memory at all".to_owned(),
        }
    }
}

fn behind_of(gap: u64, a: &Allocation) -> String {
    format!("the nearest memory is {} ({} bytes), which ended {gap} bytes below", a.name, a.bytes)
}

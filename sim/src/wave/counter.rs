//! Counters of memory operations in flight: what a wave waits on.
//!
//! gfx942 and gfx950 have two that matter: vmcnt for vector memory and lgkmcnt for LDS and scalar memory; they are
//! [`Counter::Load`] and [`Counter::Ds`] here. gfx1250 splits them: loads and atomics with a result, stores and the rest, LDS,
//! scalar memory, and translations of addresses.
//!
//! What must hold here: data only; which operation counts where is in `mem/pending.rs`.

use super::Generation;

/// A counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Counter {
    /// gfx9: vmcnt. gfx12: loadcnt.
    Load,
    /// gfx12: storecnt.
    Store,
    /// gfx9: lgkmcnt. gfx12: dscnt.
    Ds,
    /// gfx12: kmcnt.
    Km,
    /// gfx1250: xcnt, memory operations whose addresses are not translated yet.
    X,
}

impl Counter {
    /// Every counter, by its number.
    pub const ALL: [Counter; COUNTERS] = [Counter::Load, Counter::Store, Counter::Ds, Counter::Km, Counter::X];

    /// The wait that is missing where this counter was not waited for.
    pub const fn wait(self, generation: Generation) -> &'static str {
        match (generation, self) {
            (Generation::Gfx9, Counter::Ds) => "s_waitcnt lgkmcnt",
            (Generation::Gfx9, _) => "s_waitcnt vmcnt",
            (Generation::Gfx12, Counter::Load) => "s_wait_loadcnt",
            (Generation::Gfx12, Counter::Store) => "s_wait_storecnt",
            (Generation::Gfx12, Counter::Ds) => "s_wait_dscnt",
            (Generation::Gfx12, Counter::Km) => "s_wait_kmcnt",
            (Generation::Gfx12, Counter::X) => "s_wait_xcnt",
        }
    }
}

/// How many counters there are.
pub const COUNTERS: usize = 5;

/// A set of counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterSet(u8);

impl CounterSet {
    /// With `counter` too.
    #[must_use]
    pub const fn with(self, counter: Counter) -> Self {
        Self(self.0 | 1 << counter as u8)
    }

    /// Whether `counter` is in it.
    #[inline]
    pub const fn has(self, counter: Counter) -> bool {
        self.0 >> counter as u8 & 1 != 0
    }

    /// Without `counter`.
    #[must_use]
    pub const fn without(self, counter: Counter) -> Self {
        Self(self.0 & !(1 << counter as u8))
    }

    /// Whether it has none but [`Counter::X`], which says nothing about the operation itself.
    #[inline]
    pub const fn is_over(self) -> bool {
        self.without(Counter::X).0 == 0
    }

    /// Whether it has none.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// By counter how many operations may stay in flight; `u32::MAX` where a counter does not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits(pub [u32; COUNTERS]);

impl Limits {
    /// No wait at all.
    pub const NONE: Limits = Limits([u32::MAX; COUNTERS]);

    /// One counter of gfx12.
    pub const fn of(counter: Counter, limit: u32) -> Limits {
        Limits::NONE.and(counter, limit)
    }

    /// One counter more.
    #[must_use]
    pub const fn and(mut self, counter: Counter, limit: u32) -> Limits {
        self.0[counter as usize] = limit;
        self
    }

    /// vmcnt and lgkmcnt of gfx9.
    pub const fn gfx9(vm: u32, lgkm: u32) -> Limits {
        Limits::of(Counter::Load, vm).and(Counter::Ds, lgkm)
    }

    /// Whether `counts` operations in flight are too many.
    #[inline]
    pub fn exceeded(&self, counts: &[u32; COUNTERS]) -> bool {
        counts.iter().zip(&self.0).any(|(count, limit)| count > limit)
    }
}

//! Memory of the simulated node: allocations, caches, operations in flight, happens-before, and the checks.
//!
//! # The model
//! One flat address space for all ranks. Each allocation lives on one rank and has a [`MemoryType`]. Below everything
//! is *memory* (the bytes of the allocations), which engines and the host read and write. Compute units see it through
//! a first-level cache each (L1, plus one for scalar loads), XCDs through a second-level cache each (L2).
//!
//! | allocation, seen from a compute unit | plain load | plain store | load, store with sc1 | atomic |
//! |---|---|---|---|---|
//! | uncached, doorbell | memory | memory | memory | memory |
//! | coarse, same rank | L1, then L2, may be stale | dirty bytes in the L2 of the XCD | past L1 and clean L2 bytes; written through | memory |
//! | fine-grained, or on another rank | L1, then L2, may be stale | written through | past L1 and L2; written through | memory |
//! | code, kernel arguments | memory | fault | memory, fault | fault |
//!
//! Dirty bytes reach memory at an eviction (a seeded moment), at `buffer_wbl2`, and when a launch ends.
//! `buffer_inv sc1` drops the L1 and what L2 holds of coarse memory of the own rank, `buffer_inv sc0 sc1` also the
//! rest; dirty bytes always stay.
//!
//! **Late completion.** An instruction only *issues*: bounds, initialisation and races are checked, store data is
//! captured, and the operation waits in the wave's [`Pending`]. It is *performed* later, at a moment that [`step`] or
//! [`wait`] chooses: operations of one wave on the same bytes keep their order, all others may swap; LDS operations
//! keep their order; a `buffer_inv` acts when it issues, and `buffer_wbl2` follows the stores before it. It is *retired* by
//! an `s_waitcnt` (or one of gfx1250's waits) only: vmcnt counts in order of issue, lgkmcnt in order among LDS operations,
//! while scalar loads return in any order.
//!
//! **Happens-before.** Each wave, each engine and the host is an *actor* with a clock ([`Clock`]). What a wave did
//! becomes visible to others with what it later releases: by `s_barrier` to its workgroup, what is retired; by a store
//! with sc1 or an atomic to whoever loads it with a scope that reaches, what is retired and, if it was a plain store to
//! coarse memory, written back by a retired `buffer_wbl2`. Whoever observed such a store may write, or load past the
//! caches, at once; a plain load needs a `buffer_inv` in between. Two accesses to the same bytes without an edge
//! between them, one of them a plain write or a plain read against any write, are a race.
//!
//! **gfx1250** has the same memory, by what LLVM's memory model asks for: `SCOPE_DEV` is sc1 and `SCOPE_SYS` is sc0 sc1;
//! `SCOPE_CU` and `SCOPE_SE` are plain; `global_wb` is `buffer_wbl2`, which storecnt counts, and `global_inv` is `buffer_inv`,
//! which loadcnt counts. A plain store to memory of any kind but doorbells may stay in the L2 until then. vmcnt is two counters, loadcnt and storecnt, each in order of issue; lgkmcnt is dscnt and kmcnt; xcnt
//! counts addresses that are not translated yet (see `pending.rs`). Its barrier has two halves: what is retired when a wave
//! *signals* is what the others know when they leave.
//!
//! # Who calls what
//! The machine: [`Memory::begin_launch`] before the first wave of a kernel on a rank, [`Memory::begin_wave`],
//! [`Memory::name_wave`], [`Memory::arrive`], [`Memory::barrier`], [`Memory::leave`], [`Memory::end_wave`], and
//! [`Memory::end_launch`] after the last one; per instruction `exec::{flat,ds,smem,mubuf}::issue`, then [`step`], [`wait`]
//! and, at `s_endpgm`, [`retire`].
//! Engines: [`Memory::add_engine`] once a queue, then the `engine_*` functions; [`Memory::doorbells`] is theirs to
//! drain.
//!
//! What must hold here: no panic on any address or size; every chance comes from the seed; checks never change a value.

mod actor;
mod alloc;
mod atomic;
mod cache;
mod check;
mod clock;
mod engine;
mod fault;
mod host;
mod issue;
mod lds;
mod operation;
mod orphan;
mod pending;
mod perform;
mod report;
mod shadow;
mod space;
mod sync;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

pub use alloc::{Allocation, FILL, GUARD, MemoryType};
pub use atomic::AtomicOp;
pub use clock::Clock;
pub use fault::{Access, MemFault, Verb};
pub use host::{Arrival, Met};
pub use lds::Lds;
pub use operation::Pins;
pub(crate) use operation::{Convert, Operation, What, for_runs};
pub(crate) use pending::unit;
pub use pending::{Loaded, Pending, Port, retire, step, wait};
pub(crate) use space::Scope;
pub use sync::Doorbell;

use crate::wave::Generation;
use actor::Actors;
use alloc::Allocations;
use cache::Cache;
use sync::SyncPoint;

use crate::time::Timer;

/// What the machine has, as far as memory is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryConfig {
    /// XCDs of each rank: L2 caches.
    pub xcds: u32,
    /// Whether initialisation and races are checked. Bounds always are.
    pub checks: bool,
    /// Whose instructions the messages name.
    pub generation: Generation,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self { xcds: 2, checks: true, generation: Generation::Gfx9 }
    }
}

/// What runs on a rank.
#[derive(Clone, Debug, Default)]
struct Launch {
    /// Between `begin_launch` and `end_launch`.
    active: bool,
    /// Waves that have begun and not ended.
    live: u32,
    /// What waves know when they begin.
    start: Rc<Clock>,
    /// What ended waves did and knew; the host's at the end of the launch.
    ended: Rc<Clock>,
}

/// All memory of a node.
#[derive(Clone, Debug)]
pub struct Memory {
    config: MemoryConfig,
    space: Allocations,
    actors: Actors,
    launches: Vec<Launch>,
    /// By compute unit of the whole machine: its rank, its L1, and its scalar cache.
    units: Vec<Option<Box<UnitCaches>>>,
    /// By rank and XCD.
    second_level: Vec<Option<Box<Cache>>>,
    sync: BTreeMap<u64, SyncPoint>,
    /// Stores to doorbells that were performed and not taken by an engine yet, oldest first.
    pub doorbells: VecDeque<Doorbell>,
    version: u64,
    /// Stores that outlived their waves, oldest first.
    orphans: Vec<(Unit, Box<Operation>)>,
    /// What `s_memtime` counts: instructions that touched memory.
    ticks: u64,
    /// Virtual time, if anybody wants it.
    pub(crate) time: Option<Box<Timer>>,
}

/// The caches of a compute unit.
#[derive(Clone, Debug)]
struct UnitCaches {
    rank: u32,
    vector: Cache,
    scalar: Cache,
}

/// Which wave an access is by, and through which caches it goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) actor: u32,
    pub(crate) rank: u32,
    pub(crate) xcd: u32,
    pub(crate) cu: u32,
}

impl Memory {
    /// A node without memory.
    pub fn new(config: MemoryConfig) -> Self {
        Self {
            config: MemoryConfig { xcds: config.xcds.clamp(1, 64), ..config },
            space: Allocations::default(),
            actors: Actors::default(),
            launches: Vec::new(),
            units: Vec::new(),
            second_level: Vec::new(),
            sync: BTreeMap::new(),
            doorbells: VecDeque::new(),
            version: 0,
            orphans: Vec::new(),
            ticks: 0,
            time: None,
        }
    }

    /// What virtual time has to do, if there is any: it may look at memory meanwhile.
    #[inline]
    pub(crate) fn timed(&mut self, f: impl FnOnce(&mut Timer, &Memory)) {
        // Looked at before it is taken: without it, operations must not pay for a write.
        if self.time.is_some()
            && let Some(mut timer) = self.time.take()
        {
            f(&mut timer, self);
            self.time = Some(timer);
        }
    }

    /// Whether initialisation and races are checked.
    pub const fn checks(&self) -> bool {
        self.config.checks
    }

    /// Rises whenever bytes that anybody could load change to a different value.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// Instructions on memory (global, LDS, scratch) that waves have issued.
    pub const fn instructions(&self) -> u64 {
        self.ticks
    }

    /// The allocation that holds `address`.
    pub fn find(&self, address: u64) -> Option<&Allocation> {
        self.space.search(address).map(|index| &self.space.all[index])
    }

    /// Where `address` is in words, for whoever missed everything.
    pub fn nearest(&self, address: u64) -> String {
        self.space.nearest(address, 1)
    }

    /// The wave that last wrote the word at an address, as far as the checks have kept it.
    pub fn last_writer(&mut self, address: u64) -> Option<crate::fault::Place> {
        let index = self.space.find(address)?;
        let granule = (address - self.space.all[index].base) / 4;
        let cell = self.space.all[index].shadow.granules(granule as usize, 1).first()?.write;
        if cell.is_empty() {
            return None;
        }
        self.actors.access(cell, true).at.map(|place| *place)
    }

    /// All allocations, by address.
    pub fn allocations(&self) -> &[Allocation] {
        &self.space.all
    }
}

//! What the host does: allocations, reads and writes, launches, and the start and end of waves.
//!
//! What must hold here: while nothing runs, the host sees and changes memory as if there were no caches. While
//! something runs it writes and reads memory itself, and a write of at most 8 bytes is a store with system scope that
//! stands for somebody who has waited for all that was done before (a test's event in place of an engine).

use std::rc::Rc;

use super::alloc::Allocation;
use super::check::Probe;
use super::clock::{ACTORS, Clock, HOST, Known, join_shared};
use super::fault::{MemFault, Verb};
use super::shadow::{Cell, Class, Shadow};
use super::sync::NO_RANK;
use super::{Launch, Memory, MemoryType};
use crate::fault::{Exec, Fault, FaultKind};
use crate::rng::Rng;

/// A wave's arrival at a barrier: what was retired and observed then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    actor: u32,
    seen: Rc<Clock>,
    cached: [Rc<Clock>; 2],
    own: Known,
}

/// What the waves that met at a barrier know together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Met {
    seen: Rc<Clock>,
    cached: [Rc<Clock>; 2],
}

fn fault<T>(result: Result<T, MemFault>) -> Exec<T> {
    result.map_err(|kind| Fault::new(FaultKind::Memory(kind)))
}

impl Memory {
    /// `bytes` uninitialised bytes on `rank`, aligned to `align` bytes (a power of two).
    ///
    /// # Errors
    /// [`MemFault::Allocation`].
    pub fn allocate(&mut self, rank: u32, bytes: u64, align: u64, kind: MemoryType) -> Exec<u64> {
        let name = match kind {
            MemoryType::Code => "code",
            MemoryType::Kernarg => "kernel arguments",
            _ => "a buffer",
        };
        self.allocate_named(rank, bytes, align, kind, &format!("{name} of rank {rank}"))
    }

    /// The same with a name for messages.
    ///
    /// # Errors
    /// [`MemFault::Allocation`].
    pub fn allocate_named(&mut self, rank: u32, bytes: u64, align: u64, kind: MemoryType, name: &str) -> Exec<u64> {
        let base = fault(self.space.place(rank, bytes, if align.is_power_of_two() { align.max(256) } else { align }))?;
        self.allocate_at(base, rank, bytes, kind, name)?;
        Ok(base)
    }

    /// The same at a fixed address.
    ///
    /// # Errors
    /// [`MemFault::Allocation`], also if something is there.
    pub fn allocate_at(&mut self, base: u64, rank: u32, bytes: u64, kind: MemoryType, name: &str) -> Exec {
        let size = usize::try_from(bytes).ok().filter(|_| !self.space.too_much(bytes));
        let Some(size) = size else {
            return fault(Err(MemFault::Allocation(format!(
                "{bytes} bytes for {name} are more than there is room for"
            ))));
        };
        let shadow = if self.config.checks { Shadow::new(bytes) } else { Shadow::default() };
        self.insert(Allocation {
            base,
            bytes,
            rank,
            kind,
            name: name.to_owned(),
            data: vec![super::FILL; size],
            shadow,
        })
    }

    /// As [`Memory::allocate_named`], but all bytes are zero and count as written: much cheaper than writing them.
    ///
    /// # Errors
    /// [`MemFault::Allocation`].
    pub fn allocate_zeroed(&mut self, rank: u32, bytes: u64, align: u64, kind: MemoryType, name: &str) -> Exec<u64> {
        let base = fault(self.space.place(rank, bytes, align.max(256)))?;
        let size = usize::try_from(bytes).ok().filter(|_| !self.space.too_much(bytes));
        let Some(size) = size else {
            return fault(Err(MemFault::Allocation(format!(
                "{bytes} bytes for {name} are more than there is room for"
            ))));
        };
        let shadow = if self.config.checks { Shadow::written(bytes) } else { Shadow::default() };
        self.insert(Allocation { base, bytes, rank, kind, name: name.to_owned(), data: vec![0; size], shadow })?;
        Ok(base)
    }

    fn insert(&mut self, allocation: Allocation) -> Exec {
        fault(self.space.insert(allocation))
    }

    /// Gives an allocation back; false if none starts at `base`.
    pub fn free(&mut self, base: u64) -> bool {
        let Some(end) = self.find(base).map(Allocation::end) else { return false };
        if !self.space.remove(base) {
            return false;
        }
        self.forget_copies(base, end);
        self.unpublish(base, end - base);
        true
    }

    /// Writes bytes from outside. Read-only memory can be written this way.
    ///
    /// # Errors
    /// Out of bounds; while waves run, a race of more than 8 bytes.
    pub fn host_write(&mut self, address: u64, bytes: &[u8]) -> Exec {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.at_rest() {
            self.settle_all();
        }
        let (index, offset) = fault(self.locate(address, bytes.len() as u64, "written"))?;
        if self.config.checks {
            if self.at_rest() {
                self.space.all[index].shadow.forget_range(offset, bytes.len());
            } else {
                self.host_access(index, offset, bytes.len(), true)?;
            }
            self.space.all[index].shadow.set_init(offset, bytes.len());
        }
        self.memory_write(index, offset, bytes);
        if self.config.checks && bytes.len() <= 8 {
            let clock = Rc::new(self.actors.everything());
            self.publish(address, bytes.len() as u64, &clock, true, NO_RANK, false);
        } else {
            self.unpublish(address, bytes.len() as u64);
        }
        Ok(())
    }

    /// Writes `bytes` times `value`.
    ///
    /// # Errors
    /// Out of bounds.
    pub fn host_fill(&mut self, address: u64, bytes: u64, value: u8) -> Exec {
        fault(self.locate(address, bytes.max(1), "written"))?;
        self.host_write(address, &vec![value; bytes as usize])
    }

    /// Reads bytes from outside, uninitialised ones too.
    ///
    /// # Errors
    /// Out of bounds.
    pub fn host_read(&mut self, address: u64, out: &mut [u8]) -> Exec {
        if out.is_empty() {
            return Ok(());
        }
        if self.at_rest() {
            self.settle_all();
        }
        let (index, offset) = fault(self.locate(address, out.len() as u64, "read"))?;
        out.copy_from_slice(&self.space.all[index].data[offset..offset + out.len()]);
        Ok(())
    }

    /// Up to 8 bytes of memory as a number, without any effect.
    pub fn peek(&self, address: u64, bytes: u32) -> Option<u64> {
        let index = self.space.search(address)?;
        let offset = self.space.all[index].offset(address, bytes.into())?;
        let mut word = [0; 8];
        let bytes = (bytes as usize).min(8);
        word[..bytes].copy_from_slice(&self.space.all[index].data[offset..offset + bytes]);
        Some(u64::from_le_bytes(word))
    }

    fn host_access(&mut self, index: usize, offset: usize, length: usize, write: bool) -> Exec {
        let tick = self.actors.get_mut(HOST).next_tick(Class::Memory, 0);
        let sync = length <= 8;
        let verb = match (write, sync) {
            (true, true) => Verb::SyncWrite,
            (true, false) => Verb::Write,
            (false, true) => Verb::SyncRead,
            (false, false) => Verb::Read,
        };
        let clock = self.actors.get(HOST).seen.clone();
        let known = self.actors.known.clone();
        let mut probe = Probe {
            me: HOST,
            verb,
            class: Class::Memory,
            clock: &clock,
            own: Known::default(),
            near: false,
            floor: self.actors.floor,
            record: Some(Cell::new(HOST, tick, Class::Memory, sync)),
            known: &known,
            recent: (u32::MAX, Known::default()),
            good: [Cell::EMPTY; 3],
            coin: 0,
        };
        let allocation = &mut self.space.all[index];
        let result = probe.span(&mut allocation.shadow, offset, length, 0, length);
        let now = probe.now(0);
        result.map_err(|conflict| {
            let allocation = &self.space.all[index];
            let address = allocation.base + conflict.offset as u64;
            Fault::new(FaultKind::Memory(self.race(now, conflict, address, allocation.place(address))))
        })
    }

    /// Whether no wave runs.
    pub fn at_rest(&self) -> bool {
        self.launches.iter().all(|launch| launch.live == 0)
    }

    fn launch(&mut self, rank: u32) -> &mut Launch {
        let slot = (rank as usize).min(4096);
        while self.launches.len() <= slot {
            self.launches.push(Launch::default());
        }
        &mut self.launches[slot]
    }

    /// A kernel starts on `rank`: its waves will see all that the host knows now, and the rank's caches are empty.
    pub fn begin_launch(&mut self, rank: u32) {
        self.end_launch(rank);
        if self.launches.iter().all(|launch| !launch.active) && self.actors.rest() {
            self.space.all.iter_mut().for_each(|allocation| allocation.shadow.forget());
            self.sync.values_mut().for_each(|point| point.forget(ACTORS));
        }
        self.invalidate_rank(rank);
        let start = self.actor_clock(HOST);
        let launch = self.launch(rank);
        launch.active = true;
        launch.start = start;
        launch.ended = Rc::default();
    }

    /// All waves of the kernel on `rank` have ended: what they wrote is in memory, and the host knows it.
    pub fn end_launch(&mut self, rank: u32) {
        self.perform_orphans(Some(rank));
        self.write_back_rank(rank);
        let launch = self.launch(rank);
        launch.active = false;
        launch.live = 0;
        let ended = std::mem::take(&mut launch.ended);
        let floor = self.actors.floor;
        join_shared(&mut self.actors.get_mut(HOST).seen, &ended, floor);
    }

    /// A wave starts on `rank`; its number.
    pub fn begin_wave(&mut self, rank: u32) -> u32 {
        if !self.launch(rank).active {
            self.begin_launch(rank);
        }
        let launch = self.launch(rank);
        launch.live += 1;
        let start = launch.start.clone();
        self.actors.add_wave(rank, &start).unwrap_or(ACTORS)
    }

    /// Says which wave `actor` is, for messages.
    pub fn name_wave(&mut self, actor: u32, kernel: &Rc<str>, workgroup: [u32; 3], wave: u32) {
        if actor != HOST {
            let name = &mut self.actors.get_mut(actor).name;
            (name.kernel, name.workgroup, name.wave) = (Some(kernel.clone()), Some(workgroup), wave);
        }
    }

    /// A wave has ended.
    pub fn end_wave(&mut self, actor: u32) {
        let state = self.actors.get(actor);
        let (rank, tick) = (state.rank, state.memory_tick.max(state.local_tick));
        let mut clock = state.seen.clone();
        if self.config.checks {
            Rc::make_mut(&mut clock).know_all(actor, tick);
        }
        let floor = self.actors.floor;
        let launch = self.launch(rank);
        launch.live = launch.live.saturating_sub(1);
        join_shared(&mut launch.ended, &clock, floor);
    }

    /// What a wave hands to the others of its workgroup when it arrives at a barrier.
    pub fn arrive(&self, actor: u32) -> Arrival {
        let state = self.actors.get(actor);
        Arrival { actor, seen: state.seen.clone(), cached: state.cached.clone(), own: state.own }
    }

    /// All waves of a workgroup have arrived at a barrier: what each of them knows when it leaves.
    pub fn barrier(&self, arrivals: &[Arrival]) -> Option<Met> {
        if !self.config.checks || arrivals.len() < 2 {
            return None;
        }
        let floor = self.actors.floor;
        let (mut seen, mut cached) = (Clock::default(), [Clock::default(), Clock::default()]);
        for arrival in arrivals {
            seen.join(&arrival.seen, floor);
            *seen.entry(arrival.actor) = arrival.own;
            for (clock, mine) in cached.iter_mut().zip(&arrival.cached) {
                clock.join(mine, floor);
                // The L1 is the workgroup's own: what its waves stored, plain loads of its waves see.
                *clock.entry(arrival.actor) = arrival.own;
            }
        }
        Some(Met { seen: Rc::new(seen), cached: cached.map(Rc::new) })
    }

    /// A wave leaves a barrier.
    pub fn leave(&mut self, actor: u32, met: &Met, arrival: &Arrival) {
        let floor = self.actors.floor;
        let state = self.actors.get_mut(actor);
        // Nearly always it has learned nothing in between.
        if Rc::ptr_eq(&state.seen, &arrival.seen) {
            return state.met(&met.seen, &met.cached);
        }
        state.observe(&met.seen, floor);
        for (mine, all) in state.cached.iter_mut().zip(&met.cached) {
            join_shared(mine, all, floor);
        }
    }

    /// What the host or an engine hands on: all that it did.
    pub(super) fn actor_clock(&mut self, actor: u32) -> Rc<Clock> {
        let state = self.actors.get_mut(actor);
        let tick = state.memory_tick;
        let mut clock = state.seen.released();
        clock.know_all(actor, tick);
        Rc::new(clock)
    }

    /// Lets memory itself move: an eviction of a dirty line, or a store that outlived its wave. True if something
    /// changed.
    ///
    /// # Errors
    /// None today.
    pub fn idle_step(&mut self, rng: &mut Rng) -> Exec<bool> {
        Ok(self.perform_orphan(rng) || self.evict(rng))
    }

    /// Performs what outlived its wave and writes back every dirty line. True if something changed.
    ///
    /// # Errors
    /// None today.
    pub fn settle(&mut self, _rng: &mut Rng) -> Exec<bool> {
        let before = self.version;
        self.settle_all();
        Ok(self.version != before)
    }

    pub(super) fn settle_all(&mut self) {
        self.perform_orphans(None);
        self.write_back_everything();
    }
}

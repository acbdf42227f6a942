//! What copy engines do: they read and write memory below all caches, in the order of their ring.
//!
//! What must hold here: an engine's clock grows by doorbells and by polls; what it did goes out with its fences,
//! atomics and read pointers, and with nothing else. `packet` is the engine's own number for what it is doing; messages
//! show it.

use std::rc::Rc;

use super::check::Probe;
use super::clock::{FIRST_WAVE, Known, join_shared};
use super::fault::{MemFault, Verb};
use super::shadow::{Cell, Class};
use super::sync::{Doorbell, NO_RANK};
use super::{AtomicOp, Memory, MemoryType};
use crate::fault::{Exec, Fault, FaultKind};

fn fault(kind: MemFault) -> Box<Fault> {
    Fault::new(FaultKind::Memory(kind))
}

/// Whether what was written back at device scope is in memory, for engines: rings and counters are in memory that no cache
/// holds, so there is nothing beyond that scope (inferred for gfx1250, on which mori posts so; gfx942 keeps none of it back).
fn reaches_at_device_scope(kind: MemoryType) -> bool {
    kind == MemoryType::Uncached
}

impl Memory {
    /// A new engine on `rank`, called `words` in messages (`the engine of queue (2,0) of rank 1`); its number.
    ///
    /// # Errors
    /// [`MemFault::Allocation`] when there are more than any node has.
    pub fn add_engine(&mut self, rank: u32, words: &str) -> Exec<u32> {
        let full = || fault(MemFault::Allocation(format!("more than {} engines", FIRST_WAVE - 1)));
        self.actors.add_engine(rank, words.to_owned()).ok_or_else(full)
    }

    /// The engine has seen a doorbell.
    pub fn engine_acquire(&mut self, engine: u32, doorbell: &Doorbell) {
        let floor = self.actors.floor;
        join_shared(&mut self.actors.get_mut(engine).seen, &doorbell.clock, floor);
        if let Some(timer) = &mut self.time {
            timer.ring(engine, doorbell);
        }
    }

    /// Reads `out.len()` bytes.
    ///
    /// # Errors
    /// Out of bounds, uninitialised bytes, a race.
    pub fn engine_read(&mut self, engine: u32, packet: u64, address: u64, out: &mut [u8]) -> Exec {
        if out.is_empty() {
            return Ok(());
        }
        let (index, offset) = self.engine_access(engine, packet, address, out.len(), Verb::Read)?;
        out.copy_from_slice(&self.space.all[index].data[offset..offset + out.len()]);
        Ok(())
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// Out of bounds, read-only memory, a race.
    pub fn engine_write(&mut self, engine: u32, packet: u64, address: u64, bytes: &[u8]) -> Exec {
        if bytes.is_empty() {
            return Ok(());
        }
        let (index, offset) = self.engine_access(engine, packet, address, bytes.len(), Verb::Write)?;
        self.memory_write(index, offset, bytes);
        self.unpublish(address, bytes.len() as u64);
        Ok(())
    }

    /// Loads a flag of 4 or 8 bytes and learns what was released there: polls.
    ///
    /// # Errors
    /// Out of bounds, uninitialised bytes, a race with a plain store.
    pub fn engine_load(&mut self, engine: u32, packet: u64, address: u64, bytes: u32) -> Exec<u64> {
        self.engine_access(engine, packet, address, bytes as usize, Verb::SyncRead)?;
        if self.config.checks
            && let Some(clock) = self.observe(address, bytes.into(), true, NO_RANK)
        {
            let floor = self.actors.floor;
            join_shared(&mut self.actors.get_mut(engine).seen, &clock, floor);
        }
        Ok(self.peek(address, bytes).unwrap_or(0))
    }

    /// Stores a flag of 4 or 8 bytes: fences, read pointers, timestamps.
    ///
    /// # Errors
    /// Out of bounds, read-only memory, a race with a plain access.
    pub fn engine_store(&mut self, engine: u32, packet: u64, address: u64, value: u64, bytes: u32) -> Exec {
        let (index, offset) = self.engine_access(engine, packet, address, bytes as usize, Verb::SyncWrite)?;
        self.memory_write(index, offset, &value.to_le_bytes()[..(bytes as usize).min(8)]);
        if self.config.checks {
            let clock = self.actor_clock(engine);
            self.publish(address, bytes.into(), &clock, true, NO_RANK, false);
        }
        if let Some(timer) = &mut self.time {
            timer.engine_wrote(engine, address, bytes.into(), false);
        }
        Ok(())
    }

    /// An atomic on 4 or 8 bytes; the old value.
    ///
    /// # Errors
    /// Out of bounds, uninitialised bytes, read-only memory, a race with a plain access.
    #[expect(clippy::too_many_arguments, reason = "the fields of the packet, in its order")]
    pub fn engine_atomic(
        &mut self,
        engine: u32,
        packet: u64,
        address: u64,
        op: AtomicOp,
        operand: u64,
        compare: u64,
        bytes: u32,
    ) -> Exec<u64> {
        let old = self.engine_load(engine, packet, address, bytes)?;
        let value = op.apply(old, operand, compare, bytes as usize);
        let (index, offset) = self.engine_access(engine, packet, address, bytes as usize, Verb::SyncWrite)?;
        self.memory_write(index, offset, &value.to_le_bytes()[..(bytes as usize).min(8)]);
        if self.config.checks {
            let clock = self.actor_clock(engine);
            self.publish(address, bytes.into(), &clock, true, NO_RANK, true);
        }
        if let Some(timer) = &mut self.time {
            timer.engine_wrote(engine, address, bytes.into(), true);
        }
        Ok(old)
    }

    /// Whether the engine is sure to see the last writes of a range; true with checks off. Changes nothing.
    pub fn engine_ordered(&mut self, engine: u32, address: u64, bytes: u64) -> bool {
        if !self.config.checks {
            return true;
        }
        let Ok((index, offset)) = self.locate(address, bytes, "read") else { return true };
        let near = reaches_at_device_scope(self.space.all[index].kind);
        let clock: Rc<_> = self.actors.get(engine).seen.clone();
        let known = self.actors.known.clone();
        let mut probe = Probe {
            me: engine,
            verb: Verb::Read,
            class: Class::Memory,
            clock: &clock,
            own: Known::default(),
            near,
            floor: self.actors.floor,
            record: None,
            known: &known,
            recent: (u32::MAX, Known::default()),
            good: [Cell::EMPTY; 3],
            coin: 0,
        };
        probe.span(&mut self.space.all[index].shadow, offset, bytes as usize, 0, bytes as usize).is_ok()
    }

    /// The host learns all that the engine did: the engine is idle and the node is at rest.
    pub fn engine_done(&mut self, engine: u32) {
        // Most engines of a node have done nothing since they were asked last.
        let known = self.actors.known.get(engine as usize).copied().unwrap_or(0);
        if self.actors.get(engine).memory_tick == known {
            return;
        }
        let clock = self.actor_clock(engine);
        let floor = self.actors.floor;
        join_shared(&mut self.actors.get_mut(super::clock::HOST).seen, &clock, floor);
    }

    fn engine_access(
        &mut self,
        engine: u32,
        packet: u64,
        address: u64,
        bytes: usize,
        verb: Verb,
    ) -> Exec<(usize, usize)> {
        let word = if verb.writes() { "written" } else { "read" };
        let (index, offset) = self.locate(address, bytes as u64, word).map_err(fault)?;
        let allocation = &mut self.space.all[index];
        if verb.writes() && allocation.kind.read_only() {
            let name = allocation.name.clone();
            return Err(fault(MemFault::ReadOnly { address, bytes: bytes as u64, name }));
        }
        if !self.config.checks {
            return Ok((index, offset));
        }
        if verb.writes() {
            allocation.shadow.set_init(offset, bytes);
        } else if let Some(first) = allocation.shadow.first_uninit(offset, bytes) {
            let first = allocation.base + first as u64;
            let place = allocation.place(address);
            return Err(fault(MemFault::Uninitialised { address, bytes: bytes as u64, first, place }));
        }
        let sync = matches!(verb, Verb::SyncRead | Verb::SyncWrite);
        let tick = self.actors.get_mut(engine).next_tick(Class::Memory, packet);
        let near = reaches_at_device_scope(allocation.kind);
        let clock: Rc<_> = self.actors.get(engine).seen.clone();
        let known = self.actors.known.clone();
        let mut probe = Probe {
            me: engine,
            verb,
            class: Class::Memory,
            clock: &clock,
            own: Known::default(),
            near,
            floor: self.actors.floor,
            record: Some(Cell::new(engine, tick, Class::Memory, sync)),
            known: &known,
            recent: (u32::MAX, Known::default()),
            good: [Cell::EMPTY; 3],
            coin: tick,
        };
        let result = probe.span(&mut self.space.all[index].shadow, offset, bytes, 0, bytes);
        let now = probe.now(packet);
        result.map_err(|conflict| {
            let allocation = &self.space.all[index];
            let at = allocation.base + conflict.offset as u64;
            fault(self.race(now, conflict, at, allocation.place(at)))
        })?;
        Ok((index, offset))
    }
}

//! All engines of a node, as one thing that moves.
//!
//! What must hold here: every doorbell store that memory saw reaches its engine, in order, before any engine moves; which
//! engine moves is the seed's choice among those that have work; an engine that stands still takes no notice of its doorbell.

use std::collections::BTreeMap;

use super::Node;
use crate::fault::Exec;
use crate::mem::Memory;
use crate::rng::Rng;
use crate::sdma::{Engine, EngineFaultKind, Moved, QueueId, QueueMemory};

/// The engines of a node.
#[derive(Clone, Debug)]
pub struct EngineSet {
    node: Node,
    engines: Vec<Engine>,
    by_doorbell: BTreeMap<u64, usize>,
    /// Engines with work, ascending.
    active: Vec<usize>,
    standing: bool,
    /// Steps so far: the time stamp that engines write.
    steps: u64,
}

impl Node {
    /// The engines of all queues, each where its counters stand: behind its read position, with everything up to the
    /// doorbell still to do.
    ///
    /// # Errors
    /// If a doorbell stands where its ring cannot be.
    pub fn engines(&self, memory: &mut Memory) -> Exec<EngineSet> {
        let mut set = EngineSet {
            node: self.clone(),
            engines: Vec::new(),
            by_doorbell: BTreeMap::new(),
            active: Vec::new(),
            standing: false,
            steps: 0,
        };
        let queues: Vec<_> = self.queues().map(|(id, addresses)| (id, *addresses)).collect();
        for (id, addresses) in queues {
            let counters = self.counters(memory, id)?;
            let queue = QueueMemory {
                ring: addresses.ring,
                ring_bytes: self.facts.ring_bytes,
                rptr: addresses.rptr,
                wptr: addresses.wptr,
                doorbell: addresses.doorbell,
            };
            let actor = memory.add_engine(id.rank, &format!("the engine of queue {id}"))?;
            let mut engine = Engine::new(id, actor, queue, self.facts.packets, counters.rptr);
            if counters.doorbell != counters.rptr {
                engine.ring(counters.doorbell, memory)?;
                set.active.push(set.engines.len());
            }
            set.by_doorbell.insert(addresses.doorbell, set.engines.len());
            set.engines.push(engine);
        }
        Ok(set)
    }
}

impl EngineSet {
    /// All engines stand still: they take no notice of doorbells and consume nothing.
    pub fn stand_still(&mut self) {
        self.standing = true;
    }

    /// The engine of a queue.
    pub fn engine(&self, id: QueueId) -> Option<&Engine> {
        self.engines.iter().find(|engine| engine.id() == id)
    }

    /// All engines.
    pub fn all(&self) -> &[Engine] {
        &self.engines
    }

    /// Hands the doorbell stores to their engines.
    fn drain_doorbells(&mut self, memory: &mut Memory) -> Exec<Moved> {
        let mut moved = Moved::No;
        while let Some(ring) = memory.doorbells.pop_front() {
            if self.standing {
                continue;
            }
            let Some(index) = self.by_doorbell.get(&ring.address).copied() else { continue };
            let engine = &mut self.engines[index];
            memory.engine_acquire(engine.actor(), &ring);
            engine.ring(ring.value, memory)?;
            if !engine.is_idle() && !self.active.contains(&index) {
                self.active.push(index);
                self.active.sort_unstable();
            }
            moved = Moved::Yes;
        }
        Ok(moved)
    }

    /// One engine makes one step: a packet, a piece of one, or its read position.
    ///
    /// # Errors
    /// What an engine finds wrong.
    pub fn step(&mut self, memory: &mut Memory, rng: &mut Rng) -> Exec<Moved> {
        if memory.doorbells.is_empty() && self.active.is_empty() {
            return Ok(Moved::No);
        }
        let moved = self.drain_doorbells(memory)?;
        // The first of them that moves, from a seeded one on.
        let count = self.active.len();
        let start = rng.below(count as u32) as usize;
        for n in 0..count {
            let slot = (start + n) % count;
            let index = self.active[slot];
            self.steps += 1;
            let moved = self.engines[index].step(memory, rng, self.steps)?;
            if self.engines[index].is_idle() {
                self.active.remove(slot);
                return Ok(Moved::Yes);
            }
            if moved == Moved::Yes {
                return Ok(moved);
            }
        }
        Ok(moved)
    }

    /// All kernels on `rank` have ended: no copy that they posted may be left. A signal may be: others wait for it.
    ///
    /// # Errors
    /// A copy in flight, or a batch that was never committed.
    pub fn check_ended(&mut self, memory: &mut Memory, rank: u32) -> Exec {
        if self.standing {
            return Ok(());
        }
        self.drain_doorbells(memory)?;
        for engine in self.engines.iter().filter(|engine| engine.id().rank == rank) {
            if engine.has_copies_left(memory) {
                let left = engine.rung() - engine.position();
                return Err(engine.fault(&[], EngineFaultKind::InFlightAtExit { left }));
            }
            if let Some(queue) = self.node.queue(engine.id()) {
                let at = |address| memory.peek(address, 8).unwrap_or(0);
                let left = at(queue.cached_wptr).saturating_sub(at(queue.committed_wptr));
                if left != 0 {
                    return Err(engine.fault(&[], EngineFaultKind::NeverCommitted { left }));
                }
            }
        }
        Ok(())
    }

    /// All kernels of the node have ended: nothing at all may be left, and the host learns what engines did.
    ///
    /// # Errors
    /// Packets that are not carried out.
    pub fn check_all_ended(&mut self, memory: &mut Memory) -> Exec {
        if self.standing {
            return Ok(());
        }
        self.drain_doorbells(memory)?;
        for engine in &mut self.engines {
            if !engine.is_drained() {
                let left = engine.rung() - engine.position();
                return Err(engine.fault(&[], EngineFaultKind::InFlightAtExit { left }));
            }
            engine.settle(memory)?;
            memory.engine_done(engine.actor());
        }
        Ok(())
    }

    /// A sentence for each engine that has work.
    pub fn waits(&self, memory: &Memory) -> Vec<String> {
        let buffer = |address| {
            let owner = memory.allocations().iter().find(|a| (a.base..a.end()).contains(&address))?;
            Some(format!("{} at {address:#x}", owner.place(address)))
        };
        let describe = |address| self.node.describe(address).or_else(|| buffer(address));
        let peek = |address| memory.peek(address, 4).map(|value| value as u32);
        self.active.iter().filter_map(|index| self.engines[*index].waits(&describe, &peek)).collect()
    }

    /// Where the ring of a queue holds a position.
    pub fn ring_address(&self, queue: crate::sdma::QueueId, position: u64) -> Option<u64> {
        self.node.ring_address(queue, position)
    }

    /// What the node has at an address, in words.
    pub fn describe(&self, address: u64) -> Option<String> {
        self.node.describe(address)
    }
}

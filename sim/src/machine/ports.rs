//! What plugs into the machine from outside: the engines, and events that a test plans.
//!
//! What must hold here: everything that moves is moved by the machine's loop, one thing at a time, by the seed's choice.

use crate::fault::Exec;
use crate::mem::Memory;
use crate::node::EngineSet;
use crate::rng::Rng;
use crate::sdma::Moved;

/// Engines beside the compute units.
pub trait Engines {
    /// Lets one engine make one step.
    ///
    /// # Errors
    /// What an engine finds wrong.
    fn step(&mut self, memory: &mut Memory, rng: &mut Rng) -> Exec<Moved>;

    /// A sentence for each engine that has work, for reports about a node that stands still.
    fn waits(&self, memory: &Memory) -> Vec<String>;

    /// What the memory at an address is, in words: `signal (from rank 1, queue 0) of rank 2`.
    fn describe(&self, address: u64) -> Option<String>;

    /// Where the ring of a queue holds a position.
    fn ring_address(&self, _queue: crate::sdma::QueueId, _position: u64) -> Option<u64> {
        None
    }

    /// Where engines keep their read positions.
    fn read_positions(&self) -> Vec<u64> {
        Vec::new()
    }

    /// All kernels on `rank` have ended.
    ///
    /// # Errors
    /// Copies that are still in flight.
    fn rank_ended(&mut self, memory: &mut Memory, rank: u32) -> Exec;

    /// All kernels on all ranks have ended.
    ///
    /// # Errors
    /// Work that is still in flight.
    fn node_ended(&mut self, memory: &mut Memory) -> Exec;
}

/// No engines: for kernels that copy nothing between ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoEngines;

impl Engines for NoEngines {
    fn step(&mut self, _: &mut Memory, _: &mut Rng) -> Exec<Moved> {
        Ok(Moved::No)
    }

    fn waits(&self, _: &Memory) -> Vec<String> {
        Vec::new()
    }

    fn describe(&self, _: u64) -> Option<String> {
        None
    }

    fn rank_ended(&mut self, _: &mut Memory, _: u32) -> Exec {
        Ok(())
    }

    fn node_ended(&mut self, _: &mut Memory) -> Exec {
        Ok(())
    }
}

impl Engines for EngineSet {
    fn step(&mut self, memory: &mut Memory, rng: &mut Rng) -> Exec<Moved> {
        EngineSet::step(self, memory, rng)
    }

    fn ring_address(&self, queue: crate::sdma::QueueId, position: u64) -> Option<u64> {
        EngineSet::ring_address(self, queue, position)
    }

    fn read_positions(&self) -> Vec<u64> {
        self.all().iter().map(|engine| engine.memory().rptr).collect()
    }

    fn waits(&self, memory: &Memory) -> Vec<String> {
        EngineSet::waits(self, memory)
    }

    fn describe(&self, address: u64) -> Option<String> {
        EngineSet::describe(self, address)
    }

    fn rank_ended(&mut self, memory: &mut Memory, rank: u32) -> Exec {
        self.check_ended(memory, rank)
    }

    fn node_ended(&mut self, memory: &mut Memory) -> Exec {
        self.check_all_ended(memory)
    }
}

/// Something the host does while kernels run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostEvent {
    /// Writes bytes to memory.
    Write {
        /// Where.
        address: u64,
        /// What.
        bytes: Vec<u8>,
    },
}

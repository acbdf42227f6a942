//! The SDMA copy engines: what each queue's engine does with the packets in its ring.
//!
//! What must hold in this room:
//! - An engine acts on its own: it starts when the doorbell is rung, takes packets in ring order, one at a time, and carries
//!   out each over as many steps as the seed likes. Steps of different engines interleave freely.
//! - It reads and writes memory below the L2 caches, with a clock of its own ([`EngineMemory`]): what a wave wrote is there
//!   only after its write-back, and what an engine wrote is seen only by loads that reach memory.
//! - Packet layouts come from the tables of `target::sdma`. Nothing is ignored: reserved bits, unknown operations, fields that
//!   ask for what is not modelled, packets across the ring end or past the doorbell, and doorbells that go back or overtake
//!   what they publish are faults that name the queue, the packet and its dwords.
//! - What is documented to go wrong on hardware goes wrong here in the same way and is reported: a broadcast whose
//!   destinations are not congruent damages memory first.

mod engine;
mod fault;
mod memory;
mod ops;
mod packet;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::fault::Exec;

pub use engine::{Engine, Moved, QueueMemory};
pub use fault::{EngineFault, EngineFaultKind, PacketFault};
pub use packet::{Decoded, Packet, Pitched, SubWindow, decode};

/// A queue: the rank that posts to it, the rank that it leads to, and its number among the queues of that pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId {
    /// The rank that owns the ring.
    pub rank: u32,
    /// The rank that it leads to.
    pub peer: u32,
    /// The queue id.
    pub queue: u32,
}

impl fmt::Display for QueueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{}) of rank {}", self.peer, self.queue, self.rank)
    }
}

/// Who accesses memory: an engine, and the number that it gives what it is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct By {
    /// The engine's number in memory.
    pub actor: u32,
    /// The packet, from 0.
    pub packet: u64,
}

/// Memory as an engine sees it.
pub trait EngineMemory {
    /// The rank in whose memory the range lies; `None` if it is not inside one allocation.
    fn owner(&self, address: u64, bytes: u64) -> Option<u32>;

    /// What lies near an address, for a sentence; empty if nothing does.
    fn near(&self, address: u64) -> String;

    /// Up to 8 bytes as a number, without any effect; `None` if they are not mapped.
    fn peek(&self, address: u64, bytes: u32) -> Option<u64>;

    /// Whether the last writes to the range happened before what the engine knows; `true` with checks off.
    fn is_ordered(&mut self, by: By, address: u64, bytes: u64) -> bool;

    /// Reads data.
    ///
    /// # Errors
    /// What memory finds wrong: bounds, races, uninitialised bytes.
    fn read(&mut self, by: By, address: u64, out: &mut [u8]) -> Exec;

    /// Writes data.
    ///
    /// # Errors
    /// As [`EngineMemory::read`].
    fn write(&mut self, by: By, address: u64, bytes: &[u8]) -> Exec;

    /// Reads a flag of 4 or 8 bytes: synchronisation, never a race. The engine then knows what its writer knew.
    ///
    /// # Errors
    /// As [`EngineMemory::read`].
    fn load(&mut self, by: By, address: u64, bytes: u32) -> Exec<u64>;

    /// Writes a counter or flag of 4 or 8 bytes: whoever reads it knows all that the engine did before.
    ///
    /// # Errors
    /// As [`EngineMemory::read`].
    fn store(&mut self, by: By, address: u64, bytes: u32, value: u64) -> Exec;

    /// Adds to a counter of 8 bytes, as [`EngineMemory::store`]; the value before.
    ///
    /// # Errors
    /// As [`EngineMemory::read`].
    fn add(&mut self, by: By, address: u64, operand: u64) -> Exec<u64>;

    /// The engine of `queue` begins with a packet at `position`; for virtual time.
    fn begins(&mut self, _by: By, _queue: QueueId, _position: u64, _packet: &Packet) {}

    /// A wait on `address` is over; for virtual time.
    fn waited(&mut self, _by: By, _address: u64) {}
}

//! The simulator's memory as engines see it.
//!
//! What must hold here: engines go below all caches; nothing but this file knows how.

use super::{By, EngineMemory, Packet, QueueId};
use crate::fault::Exec;
use crate::mem::{AtomicOp, Memory};

impl EngineMemory for Memory {
    fn owner(&self, address: u64, bytes: u64) -> Option<u32> {
        let found = self.find(address)?;
        let inside = address.checked_add(bytes).is_some_and(|end| end <= found.end());
        inside.then_some(found.rank)
    }

    fn near(&self, address: u64) -> String {
        self.nearest(address)
    }

    fn peek(&self, address: u64, bytes: u32) -> Option<u64> {
        Memory::peek(self, address, bytes)
    }

    fn is_ordered(&mut self, by: By, address: u64, bytes: u64) -> bool {
        self.engine_ordered(by.actor, address, bytes)
    }

    fn read(&mut self, by: By, address: u64, out: &mut [u8]) -> Exec {
        self.engine_read(by.actor, by.packet, address, out)
    }

    fn write(&mut self, by: By, address: u64, bytes: &[u8]) -> Exec {
        self.engine_write(by.actor, by.packet, address, bytes)
    }

    fn load(&mut self, by: By, address: u64, bytes: u32) -> Exec<u64> {
        self.engine_load(by.actor, by.packet, address, bytes)
    }

    fn store(&mut self, by: By, address: u64, bytes: u32, value: u64) -> Exec {
        self.engine_store(by.actor, by.packet, address, value, bytes)
    }

    fn add(&mut self, by: By, address: u64, operand: u64) -> Exec<u64> {
        self.engine_atomic(by.actor, by.packet, address, AtomicOp::Add, operand, 0, 8)
    }

    fn begins(&mut self, by: By, queue: QueueId, position: u64, packet: &Packet) {
        self.timed(|timer, memory| timer.begin_packet((by.actor, queue), position, packet, memory));
    }

    fn waited(&mut self, by: By, address: u64) {
        self.timed(|timer, _| timer.finish_wait(by.actor, address));
    }
}

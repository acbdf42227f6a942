//! One engine: its ring, its doorbell, and where it stands.
//!
//! Positions are byte counters that never wrap; the ring offset is the position modulo the ring size. What must hold here: an
//! engine touches the ring only up to the doorbell; the read position in memory never runs ahead of what is done, and reaches
//! it once the engine is idle.

use tilewright_target::sdma::PacketSet;

use super::fault::{EngineFault, EngineFaultKind, PacketFault};
use super::ops::{Progress, Running};
use super::packet::{Packet, decode};
use super::{By, EngineMemory, QueueId};
use crate::fault::{Exec, Fault, FaultKind};
use crate::rng::Rng;

/// Where a queue's memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueMemory {
    /// Address of the ring.
    pub ring: u64,
    /// Bytes of the ring, a power of two.
    pub ring_bytes: u64,
    /// Address of the read position (u64), which the engine writes.
    pub rptr: u64,
    /// Address of the write position (u64), which the engine checks the doorbell against.
    pub wptr: u64,
    /// Address of the doorbell.
    pub doorbell: u64,
}

/// Whether a step changed anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// It did.
    Yes,
    /// There was nothing to do, or what there is waits for someone else.
    No,
}

/// One engine.
#[derive(Clone, Debug)]
pub struct Engine {
    pub(super) id: QueueId,
    pub(super) actor: u32,
    memory: QueueMemory,
    set: &'static PacketSet,
    /// The doorbell's value.
    rung: u64,
    /// Where the next packet begins, or the one that is being carried out.
    position: u64,
    /// What the read position in memory was last set to.
    written_back: u64,
    /// Packets begun that are no NOPs.
    packets: u64,
    pub(super) running: Option<Running>,
    /// Context numbers of the traps so far.
    traps: Vec<u32>,
    /// The ranks that the last broadcast named beside the queue's peer: their signals may follow.
    pub(super) guests: Vec<u32>,
}

impl Engine {
    /// An engine that starts at `position`, with nothing to do. `actor` is its clock in memory.
    pub fn new(id: QueueId, actor: u32, memory: QueueMemory, set: &'static PacketSet, position: u64) -> Engine {
        Engine {
            id,
            actor,
            memory,
            set,
            rung: position,
            position,
            written_back: position,
            packets: 0,
            running: None,
            traps: Vec::new(),
            guests: Vec::new(),
        }
    }

    /// Its queue.
    pub const fn id(&self) -> QueueId {
        self.id
    }

    /// Its clock in memory.
    pub const fn actor(&self) -> u32 {
        self.actor
    }

    /// Where its memory is.
    pub const fn memory(&self) -> &QueueMemory {
        &self.memory
    }

    /// Context numbers of the traps that it raised.
    pub fn traps(&self) -> &[u32] {
        &self.traps
    }

    /// The doorbell's value.
    pub const fn rung(&self) -> u64 {
        self.rung
    }

    /// The position up to which everything is done.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Whether everything that was rung is done; the read position in memory may still lag.
    pub const fn is_drained(&self) -> bool {
        self.position == self.rung
    }

    /// Whether there is nothing left to do at all.
    pub const fn is_idle(&self) -> bool {
        self.is_drained() && self.written_back == self.position
    }

    /// The doorbell was stored to. The caller has given the engine's clock what the storing wave knew.
    ///
    /// # Errors
    /// A doorbell that goes back, is no multiple of 4, is further ahead than the ring holds, or overtook the write pointer or
    /// the bytes that it publishes.
    pub fn ring(&mut self, now: u64, memory: &mut dyn EngineMemory) -> Exec {
        if now < self.rung {
            return Err(self.fault_at(now, &[], EngineFaultKind::DoorbellDecreased { before: self.rung, now }));
        }
        if !now.is_multiple_of(4) {
            return Err(self.fault_at(now, &[], EngineFaultKind::DoorbellMisaligned { now }));
        }
        let ring = self.memory.ring_bytes;
        if now - self.position > ring {
            return Err(self.fault_at(now, &[], EngineFaultKind::Overrun { now, read: self.position, ring }));
        }
        let ordered = memory.is_ordered(self.by(), self.memory.wptr, 8);
        let wptr = memory.peek(self.memory.wptr, 8).unwrap_or(0);
        if wptr < now || !ordered {
            return Err(self.fault_at(
                now,
                &[],
                EngineFaultKind::OvertookWritePointer { now, wptr, landed: wptr >= now },
            ));
        }
        let mut at = self.rung;
        while at < now {
            // Unit by unit, so that the fault can name the first one.
            let bytes = (now - at).min(32 - at % 32);
            if !memory.is_ordered(self.by(), self.address(at), bytes) {
                return Err(self.fault_at(now, &[], EngineFaultKind::OvertookBytes { now, position: at }));
            }
            at += bytes;
        }
        self.rung = now;
        Ok(())
    }

    /// One step: a packet, a piece of one, or the read position. `now` is the time stamp.
    ///
    /// # Errors
    /// What is wrong with the packet, or what memory finds wrong with its accesses.
    pub fn step(&mut self, memory: &mut dyn EngineMemory, rng: &mut Rng, now: u64) -> Exec<Moved> {
        if self.running.is_none() {
            if self.written_back != self.position && (self.is_drained() || rng.chance(1, 4)) {
                return self.write_back(memory);
            }
            if self.is_drained() {
                return Ok(Moved::No);
            }
            self.begin(memory)?;
        }
        let Some(mut running) = self.running.take() else { return Ok(Moved::No) };
        let progress = self.advance(&mut running, memory, rng, now);
        match progress {
            Ok(Progress::Done) => {
                if let Packet::Poll { addr, .. } = running.packet {
                    memory.waited(self.by(), addr);
                }
                self.finish(&running);
                Ok(Moved::Yes)
            }
            Ok(Progress::Part) => {
                self.running = Some(running);
                Ok(Moved::Yes)
            }
            Ok(Progress::Waits) => {
                self.running = Some(running);
                // What is done before a wait is told, or nobody could wait for it.
                if self.written_back != self.position { self.write_back(memory) } else { Ok(Moved::No) }
            }
            Err(fault) => {
                self.running = Some(running);
                Err(fault)
            }
        }
    }

    /// Brings the read position in memory up to what is done.
    ///
    /// # Errors
    /// What memory finds wrong.
    pub fn settle(&mut self, memory: &mut dyn EngineMemory) -> Exec {
        if self.written_back != self.position { self.write_back(memory).map(drop) } else { Ok(()) }
    }

    fn finish(&mut self, running: &Running) {
        if let Packet::Trap { context } = running.packet {
            self.traps.push(context);
        }
        self.position += u64::from(running.dwords) * 4;
        if running.packet != Packet::Nop {
            self.packets += 1;
        }
    }

    fn write_back(&mut self, memory: &mut dyn EngineMemory) -> Exec<Moved> {
        let stored = memory.store(self.by(), self.memory.rptr, 8, self.position);
        stored.map_err(|e| self.memory_fault(&e))?;
        self.written_back = self.position;
        Ok(Moved::Yes)
    }

    /// Who it is, to memory.
    pub(super) const fn by(&self) -> By {
        By { actor: self.actor, packet: self.packets }
    }

    /// Address of a position's byte in the ring.
    const fn address(&self, position: u64) -> u64 {
        self.memory.ring + position % self.memory.ring_bytes
    }

    /// Reads and decodes the packet at the position.
    fn begin(&mut self, memory: &mut dyn EngineMemory) -> Exec {
        let to_end = self.memory.ring_bytes - self.position % self.memory.ring_bytes;
        let to_doorbell = self.rung - self.position;
        // The header first, then what the packet is known to need: engines do not read what they do not carry out.
        let available = to_end.min(to_doorbell) / 4;
        let mut dwords = Vec::new();
        let mut wanted = available.min(1);
        let decoded = loop {
            self.fetch(memory, &mut dwords, wanted)?;
            match decode(&dwords, self.set) {
                Err(PacketFault::Short { needed, .. }) if needed <= available => wanted = needed,
                Err(PacketFault::Short { name, needed, .. }) => {
                    let over = needed - available;
                    let kind = if to_end < to_doorbell {
                        EngineFaultKind::AcrossRingEnd { name, dwords: needed, over }
                    } else {
                        EngineFaultKind::PastDoorbell { name, dwords: needed, over, doorbell: self.rung }
                    };
                    return Err(self.fault(&dwords, kind));
                }
                Err(other) => return Err(self.fault(&dwords, EngineFaultKind::Packet(other))),
                Ok(decoded) => break decoded,
            }
        };
        memory.begins(self.by(), self.id, self.position, &decoded.packet);
        self.running = Some(Running::new(decoded, dwords));
        Ok(())
    }

    /// Extends `dwords` to `wanted` dwords from the position on.
    fn fetch(&self, memory: &mut dyn EngineMemory, dwords: &mut Vec<u32>, wanted: u64) -> Exec {
        let have = dwords.len() as u64;
        let mut bytes = vec![0; (wanted.saturating_sub(have) * 4) as usize];
        let read = memory.read(self.by(), self.address(self.position + have * 4), &mut bytes);
        read.map_err(|e| self.memory_fault(&e))?;
        dwords.extend(bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])));
        Ok(())
    }

    /// Whether packets up to the doorbell are left that read or write somebody's bytes: copies and fills, or what cannot be
    /// read. Waits, atomics, fences and the like carry nothing. Changes nothing.
    pub fn has_copies_left(&self, memory: &dyn EngineMemory) -> bool {
        let mut at = self.position;
        if let Some(running) = &self.running {
            if running.packet.carries_bytes() {
                return true;
            }
            at += u64::from(running.dwords) * 4;
        }
        while at < self.rung {
            let end = self.rung.min(at + self.memory.ring_bytes - at % self.memory.ring_bytes);
            // The header and what comes behind it, as far as the longest form without data.
            let dwords: Vec<u32> = (at..end.min(at + 64))
                .step_by(4)
                .map_while(|at| memory.peek(self.address(at), 4).map(|dword| dword as u32))
                .collect();
            match decode(&dwords, self.set) {
                Ok(decoded) if !decoded.packet.carries_bytes() => at += u64::from(decoded.dwords) * 4,
                _ => return true,
            }
        }
        false
    }

    /// What it is doing, in words; `None` if it is idle. `describe` names addresses.
    pub fn waits(&self, describe: &dyn Fn(u64) -> Option<String>, peek: &dyn Fn(u64) -> Option<u32>) -> Option<String> {
        if self.is_idle() {
            return None;
        }
        let Some(running) = &self.running else {
            let left = self.rung - self.position;
            return Some(format!("SDMA queue {}: {left} bytes of packets not begun", self.id));
        };
        let at = format!("SDMA queue {} parked at packet {}", self.id, self.packets);
        Some(match &running.packet {
            Packet::Poll { addr, bytes, compare, reference, mask, .. } => {
                let what = describe(*addr).unwrap_or_else(|| format!("memory at {addr:#x}"));
                let high = if *bytes == 8 { peek(addr + 4) } else { Some(0) };
                let value = peek(*addr).zip(high).map(|(low, high)| u64::from(high) << 32 | u64::from(low));
                let value = value.map_or_else(String::new, |value| format!(", value {}", value & mask));
                format!("{at}: waits for {what} {} {reference}{value}", compare.sign())
            }
            _ => format!("{at}: {} in progress", running.name),
        })
    }

    /// A fault of the packet at the position.
    pub(crate) fn fault(&self, dwords: &[u32], kind: EngineFaultKind) -> Box<Fault> {
        self.fault_at(self.position, dwords, kind)
    }

    pub(super) fn fault_at(&self, position: u64, dwords: &[u32], kind: EngineFaultKind) -> Box<Fault> {
        let fault = EngineFault { queue: self.id, position, packet: self.packets, dwords: dwords.to_vec(), kind };
        let mut fault = Fault::new(FaultKind::Engine(Box::new(fault)));
        fault.at.rank = Some(self.id.rank);
        fault
    }

    /// What memory found, as a fault of this engine.
    pub(super) fn memory_fault(&self, found: &Fault) -> Box<Fault> {
        let dwords = self.running.as_ref().map_or(&[][..], |running| &running.dwords_read);
        self.fault(dwords, EngineFaultKind::Memory(Box::new(found.kind.clone())))
    }
}

//! What a packet costs an engine, which links it occupies, and what it is called.
//!
//! What must hold here: figures are the cost table's; a form that nobody has measured is charged as the copy it resembles.

use tilewright_target::cost::SdmaCosts;

use super::record::SliceKind;
use crate::mem::Memory;
use crate::sdma::{Packet, QueueId};

/// A packet as time sees it.
pub(super) struct Shape {
    /// What it is called; `{}` stands for what `address` is.
    pub(super) name: String,
    pub(super) address: Option<u64>,
    pub(super) kind: SliceKind,
    /// Picoseconds before the first byte.
    pub(super) setup: u64,
    /// Picoseconds of the bytes if nothing else is on the wires.
    pub(super) moving: u64,
    /// Links that it occupies: from, to, and for how long.
    pub(super) links: Vec<(u32, u32, u64)>,
    /// Bytes on each link.
    pub(super) bytes: u64,
}

/// Where the packet's addresses lie, for the engine of `queue`.
struct Places<'a> {
    sdma: &'a SdmaCosts,
    queue: QueueId,
    memory: &'a Memory,
}

/// Picoseconds of so many bytes at a rate in bytes per nanosecond.
fn time(bytes: u64, rate: u64) -> u64 {
    (u128::from(bytes) * 1000).div_ceil(rate.max(1).into()).min(u64::MAX.into()) as u64
}

impl Places<'_> {
    /// The rank that an address belongs to; what belongs to nobody is a fault elsewhere.
    fn owner(&self, address: u64) -> u32 {
        self.memory.find(address).map_or(self.queue.rank, |allocation| allocation.rank)
    }

    fn name(&self, address: u64) -> String {
        self.memory.find(address).map_or_else(|| "nothing".to_owned(), |allocation| allocation.name.clone())
    }

    /// Bytes from one rank to another.
    fn transfer(&self, name: String, from: u32, to: u32, bytes: u64) -> Shape {
        let clock = &self.sdma.latency.value;
        let moving = time(bytes, clock.bytes_per_ns);
        let links = if from == to { Vec::new() } else { vec![(from, to, moving)] };
        Shape { name, address: None, kind: SliceKind::Packet, setup: clock.per_packet_ps, moving, links, bytes }
    }

    fn copy(&self, src: u64, dst: u64, bytes: u64) -> Shape {
        let (from, to, me) = (self.owner(src), self.owner(dst), self.queue.rank);
        let name = match (from == me, to == me) {
            (_, false) => format!("put {bytes} B to {}", self.name(dst)),
            (false, true) => format!("get {bytes} B from {}", self.name(src)),
            (true, true) => format!("copy {bytes} B to {}", self.name(dst)),
        };
        self.transfer(name, from, to, bytes)
    }

    fn broadcast(&self, src: u64, dst: &[u64], bytes: u64) -> Shape {
        let from = self.owner(src);
        let to: Vec<u32> = dst.iter().map(|dst| self.owner(*dst)).collect();
        // The table's rates count what arrives at all destinations together (seed: "38 against 61 for two puts").
        let remote = to.iter().filter(|to| **to != from).count();
        let together = match remote {
            0 => self.sdma.broadcast_local_bytes_per_ns,
            n if n == to.len() => self.sdma.broadcast_remote_bytes_per_ns,
            _ => self.sdma.broadcast_mixed_bytes_per_ns,
        };
        let alone = time(bytes, self.sdma.latency.value.bytes_per_ns);
        let places: Vec<String> = dst.iter().map(|dst| self.name(*dst)).collect();
        let name = format!("broadcast {bytes} B to {}", places.join(" and "));
        Shape {
            moving: time(bytes.saturating_mul(to.len() as u64), together.value.into()),
            links: to.into_iter().filter(|to| *to != from).map(|to| (from, to, alone)).collect(),
            ..self.transfer(name, from, from, bytes)
        }
    }

    /// What moves no more than a word.
    fn word(&self, name: &str, address: u64) -> Shape {
        Shape {
            name: name.to_owned(),
            address: Some(address),
            kind: SliceKind::Packet,
            setup: self.sdma.atomic_ps.value,
            moving: 0,
            links: Vec::new(),
            bytes: 0,
        }
    }
}

/// The shape of a packet that the engine of `queue` carries out.
pub(super) fn shape(sdma: &SdmaCosts, queue: QueueId, packet: &Packet, memory: &Memory) -> Shape {
    let places = Places { sdma, queue, memory };
    match packet {
        Packet::Copy { src, dst, bytes } => places.copy(*src, *dst, *bytes),
        Packet::Broadcast { src, dst, bytes } => places.broadcast(*src, dst, *bytes),
        Packet::Multicast { src, dsts, bytes } => places.broadcast(*src, dsts, *bytes),
        Packet::SubWindow(window) => {
            let bytes = window.rect.iter().fold(window.element, |all, extent| all.saturating_mul(*extent));
            let [src, dst] = [&window.src, &window.dst].map(|side| side.row(window.element, 0, 0));
            places.copy(src, dst, bytes)
        }
        Packet::Swap { a, b, bytes } => {
            let mut shape = places.copy(*a, *b, *bytes);
            shape.name = format!("swap {bytes} B of {} and {}", places.name(*a), places.name(*b));
            let back: Vec<_> = shape.links.iter().map(|(from, to, time)| (*to, *from, *time)).collect();
            shape.links.extend(back);
            shape
        }
        Packet::Fill { dst, bytes, .. } => {
            places.transfer(format!("fill {bytes} B of {}", places.name(*dst)), queue.rank, places.owner(*dst), *bytes)
        }
        Packet::Write { dst, data } => {
            let bytes = data.len() as u64 * 4;
            places.transfer(format!("write {bytes} B to {}", places.name(*dst)), queue.rank, places.owner(*dst), bytes)
        }
        Packet::Fence { addr, .. } => places.word("store to {}", *addr),
        Packet::Timestamp { addr } => places.word("write the time to {}", *addr),
        Packet::AtomicAdd { addr, .. } => places.word("add to {}", *addr),
        // What it takes is known only when its condition holds.
        Packet::Poll { addr, .. } => Shape { kind: SliceKind::Wait, setup: 0, ..places.word("wait for {}", *addr) },
        Packet::Trap { .. } | Packet::Nop => Shape { address: None, ..places.word("interrupt", 0) },
    }
}

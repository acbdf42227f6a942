//! An engine's time: doorbells, packets, transfers.
//!
//! What must hold here: an engine's packets lie one behind the other; no packet starts before the doorbell that published it; what
//! a packet writes is stamped with its end.

use std::collections::VecDeque;

use super::packet::{Shape, shape};
use super::record::{Arrow, LaneKind, Point, Slice, SliceKind};
use super::{QueueTime, Stamp, Timer};
use crate::mem::{Doorbell, Memory};
use crate::sdma::{Packet, QueueId};

/// The time of one engine.
#[derive(Clone, Debug, Default)]
pub(super) struct EngineClock {
    /// When the last packet is done.
    free: u64,
    /// When the packet at hand began, if there is one.
    began: Option<u64>,
    /// Doorbells that are still to be taken up: their position, and when they were rung.
    bells: VecDeque<(u64, Stamp)>,
    /// Position up to which doorbells are taken up, and the last one of them.
    taken: u64,
    bell: Stamp,
    queue: Option<QueueId>,
    lane: Option<u32>,
    packets: u64,
    busy: u64,
}

impl EngineClock {
    /// When everything that it did is done.
    pub(super) const fn end(&self) -> u64 {
        self.free
    }

    pub(super) fn report(&self) -> Option<QueueTime> {
        let EngineClock { packets, busy, free: end, .. } = *self;
        (packets > 0).then_some(QueueTime { queue: self.queue?, packets, busy, end })
    }
}

impl Timer {
    /// A doorbell has been rung.
    pub(crate) fn ring(&mut self, engine: u32, doorbell: &Doorbell) {
        self.engines.entry(engine).or_default().bells.push_back((doorbell.value, doorbell.time));
    }

    /// An engine has written a word that others may wait for: at the end of its packet.
    pub(crate) fn engine_wrote(&mut self, engine: u32, address: u64, bytes: u64, atomic: bool) {
        let Some(clock) = self.engines.get(&engine) else { return };
        let at = clock.free;
        // The arrow leaves from inside the slice that ends then.
        let from = clock.lane.map(|lane| Point { lane, at: at.saturating_sub(1) });
        self.stamp(address, bytes, Stamp { at, from, line: clock.bell.line }, atomic);
    }

    /// An engine begins with a packet at `position`.
    pub(crate) fn begin_packet(
        &mut self,
        (engine, queue): (u32, QueueId),
        position: u64,
        packet: &Packet,
        memory: &Memory,
    ) {
        let (idle, doorbell) = (self.costs.idle, self.costs.doorbell);
        let clock = self.engines.entry(engine).or_default();
        clock.queue = Some(queue);
        let mut rung = None;
        while clock.taken <= position {
            let Some((end, stamp)) = clock.bells.pop_front() else { break };
            clock.free = (clock.free + doorbell).max(stamp.at + idle);
            (clock.taken, clock.bell, rung) = (end, stamp, Some(stamp));
        }
        let start = clock.free;
        clock.began = Some(start);
        if *packet == Packet::Nop {
            return;
        }
        let shape = shape(&self.costs.sdma, queue, packet, memory);
        let end = self.carry(&shape, queue, start);
        let Some(clock) = self.engines.get_mut(&engine) else { return };
        (clock.free, clock.packets, clock.busy) = (end, clock.packets + 1, clock.busy + (end - start));
        let Some(trace) = &mut self.trace else { return };
        if clock.lane.is_none() {
            clock.lane = trace.lane(queue.rank, LaneKind::Queue(queue));
        }
        let Some(lane) = clock.lane else { return };
        let Shape { name, address, kind, .. } = shape;
        trace.slice(lane, Slice { start, end, name, kind, address, line: clock.bell.line });
        if let Some(from) = rung.and_then(|stamp| stamp.from) {
            trace.arrow(lane, Arrow { from, at: start, name: "doorbell" });
        }
    }

    /// Occupies the links of a packet; when it is done.
    fn carry(&mut self, shape: &Shape, queue: QueueId, start: u64) -> u64 {
        let first = start + shape.setup;
        let mut end = first + shape.moving;
        for (from, to, duration) in &shape.links {
            let link = self.links.entry((*from, *to)).or_default();
            link.bytes += shape.bytes;
            let (until, pieces) = link.reserve(first, *duration);
            end = end.max(until);
            let Some(trace) = &mut self.trace else { continue };
            if link.lane.is_none() {
                link.lane = trace.lane(*from, LaneKind::Link { to: *to });
            }
            let Some(lane) = link.lane else { continue };
            for (start, end) in pieces {
                let name = format!("{} B of queue {queue}", shape.bytes);
                trace.slice(lane, Slice { start, end, name, kind: SliceKind::Transfer, address: None, line: None });
            }
        }
        end
    }

    /// A wait has found its condition true: it is over a moment after it has become so.
    pub(crate) fn finish_wait(&mut self, engine: u32, address: u64) {
        let stamp = self.stamped(address, 4);
        let satisfied = self.costs.sdma.satisfied_wait_ps.value;
        let Some(clock) = self.engines.get_mut(&engine) else { return };
        let Some(start) = clock.began else { return };
        let from = stamp.unwrap_or_default();
        let end = start.max(from.at) + satisfied;
        clock.busy += end.saturating_sub(clock.free);
        clock.free = end;
        let (Some(lane), Some(trace)) = (clock.lane, &mut self.trace) else { return };
        trace.stretch(lane, end);
        if let Some(point) = from.from.filter(|_| from.at > start) {
            trace.arrow(lane, Arrow { from: point, at: from.at, name: "seen" });
        }
    }
}

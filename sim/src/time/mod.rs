//! Virtual time: when, by the target's cost tables, everything that a run did would have happened.
//!
//! Time is an overlay. Schedules, values and faults do not depend on it; it is there or not, and a run is the same. Each wave and
//! each engine has a time of its own, in picoseconds, which its work moves on, and which what it waits for moves on:
//!
//! - An instruction takes a wave [`tilewright_target::cost::WaveCosts::instruction`]; one on memory occupies the path to it by its
//!   size, and is complete after a latency by the kind of memory. A wave's time reaches that moment where an `s_waitcnt` waits
//!   for it.
//! - What synchronises leaves a [`Stamp`]: atomics, stores past the caches, and what engines write to signals and read positions.
//!   A load of stamped memory is complete no earlier than if it had been issued at the stamp. So a poll takes until what it waits
//!   for has happened, however often the schedule lets it look: looking again costs nothing.
//! - An engine takes packets one after the other: `link` has the wires, `engine` what packets cost. One that was idle starts a
//!   while after the doorbell; a busy one loses a moment at each doorbell. That gives both clocks of the cost table: latency from
//!   idle, and streaming.
//!
//! What must hold here: times never go back along an edge that orders two things; the same run gives the same times; nothing here
//! is read by what decides anything.

mod chrome;
mod engine;
mod link;
mod packet;
mod record;
mod wave;

use std::collections::{BTreeMap, BTreeSet};

use tilewright_target::Target;
use tilewright_target::cost::{CuCosts, SdmaCosts, WaveCosts};

pub use chrome::chrome_json;
pub use record::{Arrow, Lane, LaneKind, MAX_EVENTS, Point, Slice, SliceKind, Trace};

use engine::EngineClock;
use link::Link;
pub(crate) use wave::{OpTime, WaveClock};

use crate::sdma::QueueId;

/// Lines of a first-level cache, and their bytes: 32 KiB (AMD's CDNA 3 white paper).
const NEAR_LINES: usize = 256;
const LINE: u64 = 128;

/// Picoseconds in a microsecond.
const PS_PER_US: u64 = 1_000_000;

/// When something was done that others may wait for, and by whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// When, in picoseconds.
    pub(crate) at: u64,
    /// Where in the trace, if there is one.
    pub(crate) from: Option<Point>,
    /// The source line, as the trace numbers it.
    pub(crate) line: Option<u32>,
}

/// Times of one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankTime {
    /// The rank.
    pub rank: u32,
    /// When its first kernel started, in picoseconds.
    pub start: u64,
    /// When its last wave had ended.
    pub end: u64,
    /// Waves that ended.
    pub waves: u64,
    /// Instructions that they executed.
    pub instructions: u64,
    /// Picoseconds that waves spent in polls, all waves together.
    pub waited: u64,
    /// Its queues that carried out anything, ascending.
    pub queues: Vec<QueueTime>,
    /// The links that lead away from it and carried anything, ascending.
    pub links: Vec<LinkTime>,
}

/// What the engine of one queue did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueTime {
    /// The queue.
    pub queue: QueueId,
    /// Packets, padding not counted.
    pub packets: u64,
    /// Picoseconds that it carried out packets.
    pub busy: u64,
    /// When the last one was done.
    pub end: u64,
}

/// What went over the link from one rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkTime {
    /// Where it leads.
    pub to: u32,
    /// Bytes, carried by engines and by compute units.
    pub bytes: u64,
    /// Picoseconds that engines occupied it.
    pub busy: u64,
}

/// The cost table in picoseconds, and what follows from it.
#[derive(Clone, Copy, Debug)]
struct Costs {
    wave: WaveCosts,
    cu: CuCosts,
    sdma: SdmaCosts,
    /// Picoseconds of a thousand cycles.
    kilocycle: u64,
    /// From a doorbell to the start of the first packet of an idle engine.
    idle: u64,
    /// What a busy engine loses between two doorbells.
    doorbell: u64,
}

impl Costs {
    fn new(target: &Target) -> Option<Costs> {
        let (wave, sdma, cu) = (target.costs.wave?, target.costs.sdma?, target.costs.cu);
        let kilocycle = 1000 * PS_PER_US / u64::from(cu.clock_mhz.value.max(1));
        let latency = sdma.latency.value;
        // The latency clock is what a program sees, from its post to its last poll of the read position; here both of those are
        // simulated, so the engine is left with the rest.
        let seen = (sdma.issue_cycles_same_queue(1) + u64::from(wave.read_position.value)) * kilocycle / 1000;
        Some(Costs {
            wave,
            cu,
            sdma,
            kilocycle,
            idle: latency.base_ps.saturating_sub(seen),
            doorbell: sdma.streaming.value.per_packet_ps.saturating_sub(latency.per_packet_ps),
        })
    }

    /// Picoseconds of so many cycles.
    const fn cycles(&self, cycles: u64) -> u64 {
        cycles.saturating_mul(self.kilocycle) / 1000
    }
}

/// All times of a node.
#[derive(Clone, Debug)]
pub(crate) struct Timer {
    costs: Costs,
    ranks: Vec<RankState>,
    /// By actor.
    engines: BTreeMap<u32, EngineClock>,
    /// By source and destination.
    links: BTreeMap<(u32, u32), Link>,
    /// What was last written to words that synchronise, by address / 4.
    stamps: BTreeMap<u64, Stamp>,
    /// Where engines keep their read positions.
    read_positions: BTreeSet<u64>,
    /// By compute unit: the lines that plain loads brought in last.
    lines: BTreeMap<u32, Box<[u64; NEAR_LINES]>>,
    trace: Option<record::Recorder>,
}

/// A rank's times while it runs.
#[derive(Clone, Debug, Default)]
struct RankState {
    /// When the first launch started, if any did.
    start: Option<u64>,
    /// When the running launch started.
    launch: u64,
    /// When the last wave ended.
    last: u64,
    /// When the next launch may start: not before the whole node was at rest, if it was.
    end: u64,
    /// When a workgroup last left room for another.
    room: u64,
    waves: u64,
    instructions: u64,
    waited: u64,
}

impl Timer {
    /// The times of a node of `target`s, with a trace if that is wanted; `None` if nobody knows what things cost there.
    pub(crate) fn new(target: &Target, trace: bool) -> Option<Timer> {
        Some(Timer {
            costs: Costs::new(target)?,
            ranks: Vec::new(),
            engines: BTreeMap::new(),
            links: BTreeMap::new(),
            stamps: BTreeMap::new(),
            read_positions: BTreeSet::new(),
            lines: BTreeMap::new(),
            trace: trace.then(record::Recorder::default),
        })
    }

    /// Loads of these addresses are of read positions.
    pub(crate) fn read_positions(&mut self, addresses: impl Iterator<Item = u64>) {
        self.read_positions.extend(addresses);
    }

    /// Whether there is a trace.
    pub(crate) const fn traces(&self) -> bool {
        self.trace.is_some()
    }

    fn rank(&mut self, rank: u32) -> &mut RankState {
        // As memory does: no rank beyond those that a node can have is kept apart.
        let slot = (rank as usize).min(4096);
        if self.ranks.len() <= slot {
            self.ranks.resize_with(slot + 1, RankState::default);
        }
        &mut self.ranks[slot]
    }

    /// A kernel starts on a rank: where the one before it has ended.
    pub(crate) fn begin_launch(&mut self, rank: u32) {
        let state = self.rank(rank);
        (state.launch, state.room) = (state.end, state.end);
        state.start.get_or_insert(state.launch);
    }

    /// A workgroup of a rank has ended, so that another one may start.
    pub(crate) fn left_room(&mut self, rank: u32, at: u64) {
        let state = self.rank(rank);
        state.room = state.room.max(at);
    }

    /// Nothing runs any more: whatever comes next comes after all that was.
    pub(crate) fn rest(&mut self) {
        let engines = self.engines.values().map(EngineClock::end);
        let now = self.ranks.iter().map(|rank| rank.end).chain(engines).max().unwrap_or(0);
        for rank in self.ranks.iter_mut().filter(|rank| rank.start.is_some()) {
            rank.end = rank.end.max(now);
        }
    }

    /// Leaves a stamp on the words of a range. One of an atomic keeps what was there if that is later.
    fn stamp(&mut self, address: u64, bytes: u64, stamp: Stamp, atomic: bool) {
        for granule in address / 4..(address.saturating_add(bytes)).div_ceil(4) {
            let known = self.stamps.entry(granule).or_default();
            if !atomic || known.at <= stamp.at {
                *known = stamp;
            }
        }
    }

    /// The latest stamp of a range.
    fn stamped(&self, address: u64, bytes: u64) -> Option<Stamp> {
        let range = address / 4..address.saturating_add(bytes).div_ceil(4);
        self.stamps.range(range).map(|(_, stamp)| *stamp).max_by_key(|stamp| stamp.at)
    }

    /// The times of the ranks that ran anything, ascending.
    pub(crate) fn report(&self) -> Vec<RankTime> {
        let ran = self.ranks.iter().enumerate().filter_map(|(rank, state)| Some((rank as u32, state.start?, state)));
        ran.map(|(rank, start, state)| RankTime {
            rank,
            start,
            end: state.last.max(start),
            waves: state.waves,
            instructions: state.instructions,
            waited: state.waited,
            queues: self.engines.values().filter_map(EngineClock::report).filter(|q| q.queue.rank == rank).collect(),
            links: (self.links.range((rank, 0)..=(rank, u32::MAX)))
                .map(|((_, to), link)| LinkTime { to: *to, bytes: link.bytes, busy: link.busy })
                .collect(),
        })
        .collect()
    }

    /// The trace so far; recording ends.
    pub(crate) fn take_trace(&mut self) -> Option<Trace> {
        self.trace.take().map(record::Recorder::finish)
    }
}

//! A wave's time: its instructions, its operations in flight, and the polls that it goes round in.
//!
//! What must hold here: with no timer nothing of this is reached but a comparison with zero; a look
//! that a poll repeats takes no time and leaves nothing in the trace.

use std::rc::Rc;

use super::record::{Arrow, LaneKind, Point, Slice, SliceKind};
use super::{LINE, NEAR_LINES, Stamp, Timer};
use crate::mem::{Memory, Operation, Scope, Unit, What, for_runs};
use crate::wave::LANES;

/// The time of a wave.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WaveClock {
    /// How far it is, in picoseconds.
    pub(crate) at: u64,
    /// When the path to memory is free for its next operation.
    path: u64,
    /// Instructions that its time includes.
    charged: u64,
    started: u64,
    waited: u64,
    /// Its lane, if there is a trace and room in it.
    lane: Option<u32>,
    line: Option<u32>,
    line_since: u64,
    /// When it arrived at its barrier, and when that opened.
    arrived: u64,
    open: u64,
    /// Loads past the caches since it last did anything else with memory: what it may be polling.
    polls: [Option<Poll>; POLLS],
    /// The latest moment that one of them has shown.
    seen: u64,
}

/// Places that a wave looks at in one loop: two are usual, a queue's committed position and its read position.
const POLLS: usize = 4;

/// A load that may be the first look of a poll.
#[derive(Clone, Copy, Debug)]
struct Poll {
    /// Where, and for which lanes.
    range: (u64, u64),
    lanes: u64,
    /// When.
    at: u64,
}

impl Poll {
    /// Whether `op` looks at the same again, perhaps for fewer lanes.
    const fn holds(&self, op: &Operation) -> bool {
        op.global & !self.lanes == 0 && self.range.0 <= op.range.0 && op.range.1 <= self.range.1
    }
}

/// Times of an operation in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OpTime {
    /// When it left the wave.
    issued: u64,
    /// From there to its completion.
    latency: u64,
    /// When it is complete.
    pub(crate) at: u64,
    /// What it found written later than it was issued.
    found: Option<Stamp>,
    /// The address of that.
    address: u64,
    /// Whose it is.
    by: Stamp,
}

impl WaveClock {
    /// It arrives at its barrier.
    pub(crate) const fn arrive(&mut self) {
        self.arrived = self.at;
    }

    /// When it did.
    pub(crate) const fn arrived(&self) -> u64 {
        self.arrived
    }

    /// The barrier that it arrived at opens.
    pub(crate) const fn open(&mut self, at: u64) {
        self.open = at;
    }

    /// It leaves that barrier.
    pub(crate) fn leave(&mut self) {
        self.at = self.at.max(self.open);
    }
}

impl OpTime {
    /// What those see who wait for what the operation wrote.
    pub(crate) const fn stamp(&self) -> Stamp {
        self.by
    }
}

impl Timer {
    /// A wave of `kernel` starts; its clock.
    pub(crate) fn begin_wave(&mut self, rank: u32, workgroup: [u32; 3], wave: u32) -> WaveClock {
        let state = self.rank(rank);
        let at = state.launch.max(state.room);
        let kind = LaneKind::Wave { workgroup, wave };
        let lane = self.trace.as_mut().and_then(|trace| trace.lane(rank, kind));
        WaveClock { at, path: at, started: at, line_since: at, lane, ..WaveClock::default() }
    }

    /// The wave has executed `instructions` instructions in all.
    pub(crate) fn charge(&mut self, clock: &mut WaveClock, instructions: u64) {
        let new = instructions.saturating_sub(clock.charged);
        clock.at += self.costs.cycles(new * u64::from(self.costs.wave.instruction.value));
        clock.charged = instructions;
    }

    /// It is at this line of the source.
    pub(crate) fn at_line(&mut self, clock: &mut WaveClock, line: Option<(&str, u32)>) {
        let (Some(lane), Some(trace)) = (clock.lane, &mut self.trace) else { return };
        let number = line.map(|(file, line)| trace.number(file, line));
        // What belongs to no line is part of what was before.
        if number.is_none() || number == clock.line {
            return;
        }
        if let Some(before) = clock.line {
            close_line(trace, lane, clock, before);
        }
        (clock.line, clock.line_since) = (number, clock.at);
    }

    /// An operation is put into flight: it takes its place on the path to memory, and will be complete at `op.time.at`.
    pub(crate) fn issue(&mut self, clock: &mut WaveClock, op: &mut Operation, unit: Unit, memory: &Memory) {
        let first = self.look_again(clock, op);
        let near = self.near(op, unit);
        let (occupied, latency) = self.shape(op, unit, memory, near);
        clock.at = clock.at.max(clock.path);
        clock.path = clock.at + self.costs.cycles(occupied);
        let (issued, latency) = (first.unwrap_or(clock.path), self.costs.cycles(latency));
        let from = clock.lane.map(|lane| Point { lane, at: clock.at });
        let by = Stamp { at: issued + latency, from, line: clock.line };
        op.time = OpTime { issued, latency, at: issued + latency, found: None, address: 0, by };
    }

    /// A wave that polls looks all the time, however seldom the schedule lets it, and sees what it waits for when that comes. So
    /// the second look and all further ones are issued when the first one was, which is the answer; the wave itself goes on from
    /// there, or from the latest that it has seen meanwhile.
    fn look_again(&mut self, clock: &mut WaveClock, op: &Operation) -> Option<u64> {
        if op.what != What::Load || !op.scope.through() || op.global == 0 {
            // Scalar loads and lane permutations are part of many a loop; what changes memory or brings data is not.
            if !matches!(op.what, What::ScalarLoad | What::Deliver) {
                (clock.polls, clock.seen) = ([None; POLLS], 0);
            }
            return None;
        }
        if let Some(first) = clock.polls.iter().flatten().find(|poll| poll.holds(op)) {
            clock.at = first.at.max(clock.seen);
            clock.path = clock.at;
            clock.line_since = clock.line_since.min(clock.at);
            if let (Some(lane), Some(trace)) = (clock.lane, &mut self.trace) {
                trace.back(lane, clock.at);
            }
            return Some(first.at);
        }
        clock.polls.rotate_right(1);
        clock.polls[0] = Some(Poll { range: op.range, lanes: op.global, at: clock.at });
        None
    }

    /// Whether a plain load finds all its lines where an earlier one has put them; afterwards they are there.
    fn near(&mut self, op: &Operation, unit: Unit) -> bool {
        if op.what != What::Load || op.global == 0 || op.scope.through() {
            return false;
        }
        let lines = self.lines.entry(unit.cu).or_insert_with(|| Box::new([u64::MAX; NEAR_LINES]));
        let mut near = true;
        let mut touch = |address: u64| {
            let (line, slot) = (address / LINE, (address / LINE) as usize % NEAR_LINES);
            near &= lines[slot] == line;
            lines[slot] = line;
        };
        let _: Result<(), ()> = for_runs(op.global, &op.address, op.bytes as u64, |first, count, same| {
            let bytes = op.bytes as u64 * if same { 1 } else { count as u64 };
            let end = op.address[first].saturating_add(bytes.max(1) - 1);
            (op.address[first]..=end).step_by(LINE as usize).for_each(&mut touch);
            touch(end);
            Ok(())
        });
        near
    }

    /// Cycles for which an operation occupies the path to memory, and from there to its completion.
    fn shape(&self, op: &Operation, unit: Unit, memory: &Memory, near: bool) -> (u64, u64) {
        let (wave, cu) = (&self.costs.wave, &self.costs.cu);
        let lanes = u64::from(op.lanes().count_ones());
        let bytes = lanes * op.bytes as u64;
        let moving = |issue: u32, rate: u32| u64::from(issue) + bytes.div_ceil(u64::from(rate.max(1)));
        match op.what {
            What::ScalarLoad => return (0, wave.scalar_load.value.into()),
            What::Nothing | What::ScalarInvalidate => return (0, 0),
            What::Deliver => return (u64::from(cu.shared_issue_cycles.value), wave.shared.value.into()),
            What::WriteBack => return (u64::from(cu.global_issue_cycles.value), wave.global.value.into()),
            What::Load | What::Store | What::Atomic(_) => {}
        }
        if op.global == 0 {
            let both = 1 + u64::from(op.second.is_some());
            let path = moving(cu.shared_issue_cycles.value, cu.shared_bytes_per_cycle.value) * both;
            return (path, if op.scratch != 0 { wave.global.value } else { wave.shared.value }.into());
        }
        let first = op.address[op.global.trailing_zeros() as usize % LANES];
        let Some(allocation) = memory.find(first) else { return (0, wave.global.value.into()) };
        let atomic = matches!(op.what, What::Atomic(_));
        let scoped = op.scope.through() || atomic;
        let remote = if allocation.rank == unit.rank { 0 } else { u64::from(wave.remote.value) };
        // Queue handles lie in uncached memory here, with counters in them, and in cached memory where mori puts them; their
        // plain loads are charged as there.
        if (allocation.kind.cached() || op.what == What::Load) && !scoped {
            let path = moving(cu.global_issue_cycles.value, cu.global_bytes_per_cycle.value);
            return (path, if near { wave.cached.value.into() } else { u64::from(wave.global.value) + remote });
        }
        let mut runs = 0;
        let _: Result<(), ()> = for_runs(op.global, &op.address, op.bytes as u64, |_, _, _| {
            runs += 1;
            Ok(())
        });
        let each = if scoped { wave.scoped_run.value } else { wave.uncached_run.value };
        let latency = match op.what {
            What::Load if self.read_positions.contains(&first) => wave.read_position,
            What::Load if op.scope == Scope::System => wave.system_load,
            What::Load => wave.uncached_load,
            What::Atomic(_) if op.delivers() => wave.uncached_load,
            _ => wave.uncached_store,
        };
        (u64::from(cu.global_issue_cycles.value) + runs * u64::from(each), u64::from(latency.value) + remote)
    }

    /// An operation on global memory was performed: what it read may be later than it, and what it wrote may be waited for.
    pub(crate) fn performed(&mut self, unit: Unit, op: &mut Operation, memory: &Memory) {
        self.count_remote(unit, op, memory);
        let atomic = matches!(op.what, What::Atomic(_));
        if op.global == 0 || !(atomic || op.scope.through()) {
            return;
        }
        let bytes = op.bytes as u64;
        let mut last = None;
        for lane in (0..LANES).filter(|lane| op.global >> lane & 1 != 0) {
            let address = op.address[lane];
            if last.replace(address) == Some(address) {
                continue;
            }
            if (atomic || op.what == What::Load)
                && let Some(stamp) = self.stamped(address, bytes)
                && op.time.found.is_none_or(|found| found.at < stamp.at)
            {
                (op.time.found, op.time.address) = (Some(stamp), address);
            }
        }
        if let Some(found) = op.time.found {
            op.time.at = op.time.at.max(found.at + op.time.latency);
            op.time.by.at = op.time.by.at.max(op.time.at);
        }
        if op.what != What::Load {
            for lane in (0..LANES).filter(|lane| op.global >> lane & 1 != 0) {
                self.stamp(op.address[lane], bytes, op.time.by, atomic);
            }
        }
    }

    /// Bytes that a compute unit moves to or from a peer.
    fn count_remote(&mut self, unit: Unit, op: &Operation, memory: &Memory) {
        if op.global == 0 {
            return;
        }
        let first = op.address[op.global.trailing_zeros() as usize % LANES];
        let Some(owner) = memory.find(first).map(|allocation| allocation.rank).filter(|rank| *rank != unit.rank) else {
            return;
        };
        let bytes = op.bytes as u64 * u64::from(op.global.count_ones());
        let way = if op.what == What::Load { (owner, unit.rank) } else { (unit.rank, owner) };
        self.links.entry(way).or_default().bytes += bytes;
    }

    /// A wave has waited for an operation.
    pub(crate) fn retired(&mut self, clock: &mut WaveClock, op: &mut Operation) {
        // What was waited for before takes its part of the time.
        let start = clock.at.max(op.time.issued);
        clock.at = clock.at.max(op.time.at);
        let (end, address) = (clock.at, Some(op.time.address));
        let Some(found) = op.time.found.take() else { return };
        clock.seen = clock.seen.max(found.at + op.time.latency);
        if found.at <= start {
            return;
        }
        clock.waited += end - start;
        let (Some(lane), Some(trace)) = (clock.lane, &mut self.trace) else { return };
        let name = "wait for {}".to_owned();
        trace.slice(lane, Slice { start, end, name, kind: SliceKind::Wait, address, line: clock.line });
        if let Some(from) = found.from {
            trace.arrow(lane, Arrow { from, at: end, name: "seen" });
        }
    }

    /// The wave sleeps for so many times 64 cycles.
    pub(crate) fn sleep(&self, clock: &mut WaveClock, units: u64) {
        clock.at += self.costs.cycles(64 * units);
    }

    /// Waves have met at a barrier: when they go on.
    pub(crate) fn barrier(&self, last: u64) -> u64 {
        last + self.costs.cycles(self.costs.wave.barrier.value.into())
    }

    /// A wave ends; `stores` is when the last of its stores in flight is complete.
    pub(crate) fn end_wave(&mut self, rank: u32, clock: &mut WaveClock, kernel: &Rc<str>, stores: u64) {
        clock.at = clock.at.max(stores);
        let WaveClock { at, charged, waited, started, .. } = *clock;
        if let (Some(lane), Some(trace)) = (clock.lane, &mut self.trace) {
            if let Some(line) = clock.line {
                close_line(trace, lane, clock, line);
            }
            let (name, kind) = (kernel.to_string(), SliceKind::Kernel);
            trace.slice(lane, Slice { start: started, end: at, name, kind, address: None, line: None });
        }
        let state = self.rank(rank);
        (state.last, state.end) = (state.last.max(at), state.end.max(at));
        state.waves += 1;
        state.instructions += charged;
        state.waited += waited;
    }
}

/// Records the time that a wave spent at the line it is leaving.
fn close_line(trace: &mut super::record::Recorder, lane: u32, clock: &WaveClock, line: u32) {
    if clock.at <= clock.line_since {
        return;
    }
    let name = trace.line(line).map_or_else(String::new, |(file, number)| {
        let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
        format!("{file}:{number}")
    });
    let (start, end, kind) = (clock.line_since, clock.at, SliceKind::Line);
    trace.slice(lane, Slice { start, end, name, kind, address: None, line: Some(line) });
}

//! The trace in the Trace Event Format that Chrome's and Perfetto's viewers read.
//!
//! One process a rank (of each run), one thread a lane. Slices are complete events (`X`), arrows are flows (`s` and `f`), names
//! are metadata (`M`). Times are microseconds with six decimals, so that no picosecond is lost.
//!
//! What must hold here: the text is JSON whatever the names hold; equal traces give equal text.

use std::fmt::Write as _;

use super::record::{Lane, LaneKind, Slice, SliceKind, Trace};

/// Processes of one run have numbers from a multiple of this on.
const PROCESSES_OF_A_RUN: usize = 1000;

/// The JSON text of some runs, each with its name, and words about all of them.
pub fn chrome_json(runs: &[(String, Trace)], about: &[(&str, String)]) -> String {
    let mut events = Vec::new();
    let mut flows = 0;
    for (run, (name, trace)) in runs.iter().enumerate() {
        let several = runs.len() > 1;
        write_run(&mut events, &mut flows, run * PROCESSES_OF_A_RUN, if several { name } else { "" }, trace);
    }
    let cut: u64 = runs.iter().map(|(_, trace)| trace.cut).sum();
    let mut out = String::from("{\"displayTimeUnit\":\"ns\",\"otherData\":{");
    for (key, value) in about {
        let _ = write!(out, "{}:{},", text(key), text(value));
    }
    let _ = write!(out, "\"events left out\":{},", text(&cut.to_string()));
    out.truncate(out.len() - 1);
    out.push_str("},\"traceEvents\":[\n");
    out.push_str(&events.join(",\n"));
    out.push_str("\n]}\n");
    out
}

fn write_run(events: &mut Vec<String>, flows: &mut u64, first: usize, run: &str, trace: &Trace) {
    let mut ranks: Vec<u32> = trace.lanes.iter().map(|lane| lane.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    for rank in ranks {
        let pid = first + rank as usize;
        let name = if run.is_empty() { format!("rank {rank}") } else { format!("{run}: rank {rank}") };
        events.push(meta("process_name", pid, 0, &format!("\"name\":{}", text(&name))));
        events.push(meta("process_sort_index", pid, 0, &format!("\"sort_index\":{pid}")));
    }
    for (index, lane) in trace.lanes.iter().enumerate() {
        let (pid, tid) = (first + lane.rank as usize, index + 1);
        events.push(meta("thread_name", pid, tid, &format!("\"name\":{}", text(&lane.name()))));
        events.push(meta("thread_sort_index", pid, tid, &format!("\"sort_index\":{}", lane.place(index))));
        let mut slices: Vec<&Slice> = lane.slices.iter().collect();
        // Those that hold others come before them.
        slices.sort_by_key(|slice| (slice.start, std::cmp::Reverse(slice.end)));
        for slice in slices {
            let line = slice.line.and_then(|line| trace.line(line));
            let args = line.map_or_else(String::new, |(file, line)| {
                format!(",\"args\":{{\"line\":{}}}", text(&format!("{file}:{line}")))
            });
            let (ts, dur) = (micros(slice.start), micros(slice.end.saturating_sub(slice.start)));
            let (name, cat) = (text(&slice.name), slice.kind.category());
            events.push(format!(
                "{{\"ph\":\"X\",\"pid\":{pid},\"tid\":{tid},\"ts\":{ts},\"dur\":{dur},\"name\":{name},\"cat\":\"{cat}\"{args}}}"
            ));
        }
    }
    for (index, lane) in trace.lanes.iter().enumerate() {
        for arrow in &lane.arrows {
            let Some(source) = trace.lanes.get(arrow.from.lane as usize) else { continue };
            *flows += 1;
            let mut end = |ph: &str, rank: u32, tid: u32, at: u64, more: &str| {
                events.push(format!(
                    "{{\"ph\":\"{ph}\",\"id\":{flows},\"pid\":{},\"tid\":{tid},\"ts\":{},\"name\":{},\"cat\":\"flow\"{more}}}",
                    first + rank as usize,
                    micros(at),
                    text(arrow.name)
                ));
            };
            end("s", source.rank, arrow.from.lane + 1, arrow.from.at, "");
            end("f", lane.rank, index as u32 + 1, arrow.at, ",\"bp\":\"e\"");
        }
    }
}

fn meta(name: &str, pid: usize, tid: usize, args: &str) -> String {
    format!("{{\"ph\":\"M\",\"pid\":{pid},\"tid\":{tid},\"ts\":0,\"name\":\"{name}\",\"args\":{{{args}}}}}")
}

/// Picoseconds as microseconds.
fn micros(picoseconds: u64) -> String {
    format!("{}.{:06}", picoseconds / 1_000_000, picoseconds % 1_000_000)
}

/// A JSON string.
fn text(words: &str) -> String {
    let mut out = String::from("\"");
    for c in words.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

impl Lane {
    /// What it is called.
    pub fn name(&self) -> String {
        match &self.kind {
            LaneKind::Wave { workgroup: [x, y, z], wave } => format!("workgroup ({x},{y},{z}) wave {wave}"),
            LaneKind::Queue(queue) => format!("queue ({},{})", queue.peer, queue.queue),
            LaneKind::Link { to } => format!("link to rank {to}"),
        }
    }

    /// Its place among the lanes of its rank: waves, then queues, then links.
    fn place(&self, index: usize) -> u64 {
        match &self.kind {
            LaneKind::Wave { .. } => index as u64,
            LaneKind::Queue(queue) => 1_000_000 + u64::from(queue.peer) * 100 + u64::from(queue.queue),
            LaneKind::Link { to } => 2_000_000 + u64::from(*to),
        }
    }
}

impl SliceKind {
    /// A word for viewers, which colour by it.
    pub const fn category(self) -> &'static str {
        match self {
            SliceKind::Kernel => "kernel",
            SliceKind::Line => "line",
            SliceKind::Wait => "wait",
            SliceKind::Packet => "packet",
            SliceKind::Transfer => "transfer",
        }
    }
}

//! The recorder of a trace: lanes with what happened on them, as plain data.
//!
//! What must hold here: a recorder never grows beyond [`MAX_EVENTS`]; what it leaves out it counts. On one lane slices lie
//! one after the other or inside each other, never across.

use crate::sdma::QueueId;

/// Most slices and arrows that a trace keeps.
pub const MAX_EVENTS: u64 = 200_000;

/// Most lanes of waves. A viewer with more of them shows nothing that anybody could read.
const MAX_WAVES: usize = 1024;

/// A moment on a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Index of the lane.
    pub lane: u32,
    /// When, in picoseconds.
    pub at: u64,
}

/// Who does what a lane shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaneKind {
    /// A wave.
    Wave {
        /// Its workgroup's id.
        workgroup: [u32; 3],
        /// Its number in the workgroup.
        wave: u32,
    },
    /// The engine of a queue.
    Queue(QueueId),
    /// The link to a rank.
    Link {
        /// Where it leads.
        to: u32,
    },
}

/// What a slice shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceKind {
    /// A whole wave.
    Kernel,
    /// Instructions of one source line.
    Line,
    /// A wave or an engine that waits for somebody else.
    Wait,
    /// A packet.
    Packet,
    /// Bytes on a link.
    Transfer,
}

/// Something that took time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// When it began, in picoseconds.
    pub start: u64,
    /// When it ended.
    pub end: u64,
    /// What it is, in words; `{}` stands for what `address` is.
    pub name: String,
    /// The kind of thing.
    pub kind: SliceKind,
    /// The memory that it is about.
    pub address: Option<u64>,
    /// The source line that it belongs to, as [`Trace::line`] knows it.
    pub line: Option<u32>,
}

/// An arrow from one lane to a moment on another: what made it possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// Where it begins.
    pub from: Point,
    /// When it ends.
    pub at: u64,
    /// What it stands for.
    pub name: &'static str,
}

/// One row of the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The rank that it belongs to.
    pub rank: u32,
    /// Who does what it shows.
    pub kind: LaneKind,
    /// What happened.
    pub slices: Vec<Slice>,
    /// Arrows that end here.
    pub arrows: Vec<Arrow>,
}

/// What happened when, of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Its lanes, in the order in which something first happened on them.
    pub lanes: Vec<Lane>,
    /// Events that were left out because there were more than [`MAX_EVENTS`].
    pub cut: u64,
    lines: Vec<(String, u32)>,
}

impl Trace {
    /// File and line behind a slice's number.
    pub fn line(&self, number: u32) -> Option<(&str, u32)> {
        self.lines.get(number as usize).map(|(file, line)| (file.as_str(), *line))
    }

    /// Puts words in the place of addresses: `describe` knows what lies there.
    pub fn describe(&mut self, describe: &dyn Fn(u64) -> Option<String>) {
        for slice in self.lanes.iter_mut().flat_map(|lane| &mut lane.slices) {
            if let Some(address) = slice.address {
                let words = describe(address).unwrap_or_else(|| format!("memory at {address:#x}"));
                slice.name = slice.name.replace("{}", &words);
            }
        }
    }
}

/// What collects a trace.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorder {
    trace: Trace,
    events: u64,
    waves: usize,
}

impl Recorder {
    /// A new lane; `None` for a wave too many.
    pub(super) fn lane(&mut self, rank: u32, kind: LaneKind) -> Option<u32> {
        if matches!(kind, LaneKind::Wave { .. }) {
            if self.waves == MAX_WAVES {
                self.trace.cut += 1;
                return None;
            }
            self.waves += 1;
        }
        self.trace.lanes.push(Lane { rank, kind, slices: Vec::new(), arrows: Vec::new() });
        Some(self.trace.lanes.len() as u32 - 1)
    }

    fn room(&mut self) -> bool {
        if self.events < MAX_EVENTS {
            self.events += 1;
            return true;
        }
        self.trace.cut += 1;
        false
    }

    /// Records a slice on a lane.
    pub(super) fn slice(&mut self, lane: u32, slice: Slice) {
        // The frame of a lane is always kept: what lies in it would hang in the air.
        if (slice.kind == SliceKind::Kernel || self.room())
            && let Some(lane) = self.trace.lanes.get_mut(lane as usize)
        {
            lane.slices.push(slice);
        }
    }

    /// The wait that a lane showed last took until `end`.
    pub(super) fn stretch(&mut self, lane: u32, end: u64) {
        let last = self.trace.lanes.get_mut(lane as usize).and_then(|lane| lane.slices.last_mut());
        if let Some(slice) = last.filter(|slice| slice.kind == SliceKind::Wait) {
            slice.end = slice.end.max(end);
        }
    }

    /// Records an arrow to a lane.
    pub(super) fn arrow(&mut self, lane: u32, arrow: Arrow) {
        if self.room()
            && let Some(lane) = self.trace.lanes.get_mut(lane as usize)
        {
            lane.arrows.push(arrow);
        }
    }

    /// Takes back what a lane shows from `at` on.
    pub(super) fn back(&mut self, lane: u32, at: u64) {
        let Some(lane) = self.trace.lanes.get_mut(lane as usize) else { return };
        while lane.slices.pop_if(|slice| slice.start >= at).is_some() {
            self.events = self.events.saturating_sub(1);
        }
        if let Some(slice) = lane.slices.last_mut() {
            slice.end = slice.end.min(at);
        }
    }

    /// The number of a source line.
    pub(super) fn number(&mut self, file: &str, line: u32) -> u32 {
        let known = self.trace.lines.iter().position(|(name, number)| *number == line && name == file);
        let index = known.unwrap_or_else(|| {
            self.trace.lines.push((file.to_owned(), line));
            self.trace.lines.len() - 1
        });
        index as u32
    }

    /// A line by its number.
    pub(super) fn line(&self, number: u32) -> Option<(&str, u32)> {
        self.trace.line(number)
    }

    /// The trace.
    pub(super) fn finish(self) -> Trace {
        self.trace
    }
}

//! The state of one CTA: values of its threads, its shared memory and registers, what its threads know of others.

use std::rc::Rc;

use super::UNINITIALISED;
use super::race::{Cells, Clock, EventId, Meetings};
use super::resolve::RKernel;
use super::typed::Ids;
use super::world::{Spot, Where};
use crate::space::Space;
use crate::span::Span;

/// Memory with the history of its elements.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) bytes: Vec<u8>,
    pub(super) cells: Cells,
}

impl Memory {
    /// `bytes` bytes without contents.
    pub(super) fn blank(bytes: usize) -> Memory {
        Memory { bytes: vec![UNINITIALISED; bytes], cells: Cells::default() }
    }
}

/// One packet of an asynchronous copy.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) packet: usize,
    /// What is known once it has landed and was waited for.
    pub(super) clock: Rc<Clock>,
    /// Destinations in memory that the waiter sees itself.
    pub(super) local: Rc<[(Where, Spot)]>,
}

/// What `wait t` waits for.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) parts: Vec<Part>,
    /// First and last thread that posted.
    pub(super) threads: (u32, u32),
    pub(super) span: Span,
}

/// Registers that an asynchronous copy will still write.
#[derive(Debug)]
pub(super) struct PendingLocal {
    pub(super) packet: usize,
    pub(super) buf: usize,
    /// Thread and position, sorted.
    pub(super) places: Vec<(u32, i64)>,
    pub(super) span: Span,
}

/// One CTA of one rank.
#[derive(Debug)]
pub(super) struct Cta {
    pub(super) rank: usize,
    /// Its number among all CTAs of all ranks: its actor.
    pub(super) actor: u32,
    /// Its time: grows with every meeting and every release.
    pub(super) time: u32,
    pub(super) meetings: Meetings,
    /// What each thread knows of other actors.
    pub(super) clocks: Vec<Rc<Clock>>,
    slots: Vec<u64>,
    slots_per_thread: usize,
    /// Shared memory by buffer number.
    pub(super) shared: Vec<Memory>,
    /// Registers by buffer number, threads one after the other.
    locals: Vec<Vec<u8>>,
    local_bytes: Vec<usize>,
    /// Elements of registers that were written, by buffer number: a bit an element, threads one after the other.
    written: Vec<Vec<u64>>,
    /// Elements of one thread's registers, by buffer number.
    local_elements: Vec<usize>,
    /// Tokens made so far.
    pub(super) tokens: Vec<Token>,
    pub(super) pending: Vec<PendingLocal>,
    /// The last read and write event that begins with each thread, to be used again where the next is the same.
    pub(super) recent: Vec<[EventId; 2]>,
    ids: Ids,
}

impl Cta {
    pub(super) fn new(k: &RKernel<'_>, rank: usize, ranks: usize, index: i64, actor: u32) -> Cta {
        let threads = k.block.iter().product::<i64>() as usize;
        let block = [index % k.grid[0], index / k.grid[0] % k.grid[1], index / (k.grid[0] * k.grid[1])];
        let (mut shared, mut locals, mut local_bytes) = (Vec::new(), Vec::new(), Vec::new());
        let (mut written, mut local_elements) = (Vec::new(), Vec::new());
        for b in &k.buffers {
            shared.push(Memory::blank(if b.space == Space::Shared { b.bytes } else { 0 }));
            let per_thread = if b.space == Space::Local { b.bytes } else { 0 };
            local_bytes.push(per_thread);
            locals.push(vec![UNINITIALISED; per_thread * threads]);
            let elements = if b.space == Space::Local { usize::try_from(b.storage).unwrap_or(0) } else { 0 };
            local_elements.push(elements);
            written.push(vec![0; (elements * threads).div_ceil(64)]);
        }
        let (warp, nothing) = (i64::from(k.warp), Rc::new(Clock::new()));
        Cta {
            rank,
            actor,
            time: 1,
            meetings: Meetings::new(threads as u32, k.warp),
            clocks: vec![nothing; threads],
            slots: vec![0; k.slots.len() * threads],
            slots_per_thread: k.slots.len(),
            shared,
            locals,
            local_bytes,
            written,
            local_elements,
            tokens: Vec::new(),
            pending: Vec::new(),
            recent: vec![[0; 2]; threads],
            ids: Ids { tid: 0, block_dim: k.block, block, grid: k.grid, warp, rank: rank as i64, ranks: ranks as i64 },
        }
    }

    /// Threads.
    pub(super) fn threads(&self) -> u32 {
        self.clocks.len() as u32
    }

    /// Ids of a thread.
    pub(super) fn ids(&self, tid: u32) -> Ids {
        Ids { tid: i64::from(tid), ..self.ids }
    }

    /// Values of a thread.
    pub(super) fn slots(&self, tid: u32) -> &[u64] {
        let start = tid as usize * self.slots_per_thread;
        &self.slots[start..start + self.slots_per_thread]
    }

    /// Sets a value of a thread.
    pub(super) fn set(&mut self, tid: u32, slot: usize, value: u64) {
        self.slots[tid as usize * self.slots_per_thread + slot] = value;
    }

    /// Registers of a thread.
    pub(super) fn local(&self, buf: usize, tid: u32) -> &[u8] {
        let n = self.local_bytes[buf];
        &self.locals[buf][tid as usize * n..(tid as usize + 1) * n]
    }

    /// Registers of a thread, to change.
    pub(super) fn local_mut(&mut self, buf: usize, tid: u32) -> &mut [u8] {
        let n = self.local_bytes[buf];
        &mut self.locals[buf][tid as usize * n..(tid as usize + 1) * n]
    }

    /// Word and bit of an element of a thread's registers.
    fn bit(&self, buf: usize, tid: u32, at: i64) -> Option<(usize, u64)> {
        let at = usize::try_from(at).ok().filter(|at| *at < self.local_elements[buf])?;
        let n = tid as usize * self.local_elements[buf] + at;
        Some((n / 64, 1 << (n % 64)))
    }

    /// An element of a thread's registers was written.
    pub(super) fn note_written(&mut self, buf: usize, tid: u32, at: i64) {
        if let Some((word, bit)) = self.bit(buf, tid, at) {
            self.written[buf][word] |= bit;
        }
    }

    /// Was the element of a thread's registers written?
    pub(super) fn is_written(&self, buf: usize, tid: u32, at: i64) -> bool {
        self.bit(buf, tid, at).is_none_or(|(word, bit)| self.written[buf][word] & bit != 0)
    }
}

//! One warp: statements in lockstep under masks, values of lanes, registers.

use tilewright_ir::interp::RunError;
use tilewright_ir::interp::num::canonical;
use tilewright_ir::interp::resolve::{RKernel, RStmt, RStmtKind};
use tilewright_ir::interp::typed::{Ids, RExpr};
use tilewright_ir::{Code, Diagnostic, Space, Span};

use crate::memory::Allocation;
use crate::sched::{Cta, Machine};

/// Why a warp cannot go on.
#[derive(Clone, Debug)]
pub(crate) enum Wait {
    /// A signal: source rank, queue id, value, value needed.
    Signal { from: i64, queue: usize, has: u64, needs: i64 },
    /// A queue that has not drained: peer, queue id.
    Quiet { peer: usize, queue: usize },
    /// An element that has not the value: name and index.
    Flag { what: String },
    /// A barrier: its scope.
    Barrier { scope: String },
}

impl Wait {
    /// In words.
    pub(crate) fn describe(&self) -> String {
        match self {
            Wait::Signal { from, queue, has, needs } => {
                format!("the signal of queue {queue} from rank {from}: has {has}, needs {needs}")
            }
            Wait::Quiet { peer, queue } => format!("queue {queue} towards rank {peer} to drain"),
            Wait::Flag { what } => format!("the value of {what}"),
            Wait::Barrier { scope } => format!("the other warps at a {scope} barrier"),
        }
    }
}

/// What happens after a statement.
pub(crate) enum Flow {
    /// The next one.
    Next,
    /// The same again, later.
    Wait(Wait),
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// One statement.
    Ran,
    /// Nothing: the warp waits.
    Waits,
    /// The warp has no statement left.
    Ended,
}

/// Lane, current and end value of a loop.
type Trips = Vec<(u32, i64, i64)>;

#[derive(Debug)]
struct Frame<'r, 'k> {
    body: &'r [RStmt<'k>],
    next: usize,
    mask: u64,
    /// Slot of the loop variable; current and end value of each active lane.
    repeat: Option<(usize, Trips)>,
}

/// One warp of a CTA.
#[derive(Debug)]
pub(crate) struct Warp<'r, 'k> {
    /// Number in the CTA.
    pub(crate) number: u32,
    /// First thread.
    pub(crate) first: u32,
    /// Mask of all lanes that exist (the last warp of a CTA may be partial).
    pub(crate) full: u64,
    frames: Vec<Frame<'r, 'k>>,
    slots: Vec<u64>,
    slots_per_lane: usize,
    /// Registers by buffer number: lanes one after the other.
    locals: Vec<Allocation>,
    local_bytes: Vec<usize>,
    ids: Ids,
    /// How far the current statement has come, for those with several steps.
    pub(crate) stage: u32,
    /// What it waits for, and where.
    pub(crate) waiting: Option<(Wait, Span)>,
}

/// Lanes of a mask, ascending.
pub(crate) fn lanes_of(mask: u64) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(mask), |m| Some(m & m.wrapping_sub(1)))
        .take_while(|m| *m != 0)
        .map(|m| m.trailing_zeros())
}

impl<'r, 'k> Warp<'r, 'k> {
    pub(crate) fn new(k: &'r RKernel<'k>, number: u32, rank: usize, ranks: usize, block: [i64; 3]) -> Warp<'r, 'k> {
        let threads = k.block.iter().product::<i64>() as u32;
        let first = number * k.warp;
        let lanes = k.warp.min(threads - first);
        let full = if lanes == 64 { u64::MAX } else { (1 << lanes) - 1 };
        let local_bytes: Vec<usize> =
            k.buffers.iter().map(|b| if b.space == Space::Local { b.bytes } else { 0 }).collect();
        Warp {
            number,
            first,
            full,
            frames: vec![Frame { body: &k.body, next: 0, mask: full, repeat: None }],
            slots: vec![0; k.slots.len() * lanes as usize],
            slots_per_lane: k.slots.len(),
            locals: local_bytes.iter().map(|n| Allocation::blank(n * lanes as usize)).collect(),
            local_bytes,
            ids: Ids {
                tid: i64::from(first),
                block_dim: k.block,
                block,
                grid: k.grid,
                warp: i64::from(k.warp),
                rank: rank as i64,
                ranks: ranks as i64,
            },
            stage: 0,
            waiting: None,
        }
    }

    /// Value of an expression in a lane, in canonical bits.
    pub(crate) fn eval(&self, e: &RExpr, lane: u32) -> u64 {
        let ids = Ids { tid: self.ids.tid + i64::from(lane), ..self.ids };
        let start = lane as usize * self.slots_per_lane;
        e.eval(&ids, &self.slots[start..start + self.slots_per_lane])
    }

    /// What a slot holds in a lane.
    pub(crate) fn slot(&self, lane: u32, slot: usize) -> u64 {
        self.slots[lane as usize * self.slots_per_lane + slot]
    }

    /// Sets a value of a lane.
    pub(crate) fn set(&mut self, lane: u32, slot: usize, value: u64) {
        self.slots[lane as usize * self.slots_per_lane + slot] = value;
    }

    /// Registers of a lane.
    pub(crate) fn local(&self, buf: usize, lane: u32) -> &[u8] {
        let n = self.local_bytes[buf];
        &self.locals[buf].data()[lane as usize * n..(lane as usize + 1) * n]
    }

    /// Registers of a lane, to change.
    pub(crate) fn local_mut(&mut self, buf: usize, lane: u32) -> &mut [u8] {
        let n = self.local_bytes[buf];
        &mut self.locals[buf].data_mut()[lane as usize * n..(lane as usize + 1) * n]
    }

    /// Executes one statement.
    pub(crate) fn step(&mut self, machine: &mut Machine<'r, 'k>, cta: &mut Cta) -> Result<Step, RunError> {
        self.waiting = None;
        loop {
            let Some(frame) = self.frames.last_mut() else { return Ok(Step::Ended) };
            if let Some(stmt) = frame.body.get(frame.next) {
                let mask = frame.mask;
                return self.exec(machine, cta, stmt, mask);
            }
            let Some(mut frame) = self.frames.pop() else { return Ok(Step::Ended) };
            if let Some((slot, mut lanes)) = frame.repeat.take() {
                lanes.iter_mut().for_each(|(_, value, _)| *value += 1);
                lanes.retain(|(_, value, end)| value < end);
                self.iterate(frame.body, slot, lanes);
            }
        }
    }

    /// Starts an iteration of a loop for the lanes that have one left.
    fn iterate(&mut self, body: &'r [RStmt<'k>], slot: usize, lanes: Trips) {
        if lanes.is_empty() {
            return;
        }
        let mut mask = 0u64;
        for (lane, value, _) in &lanes {
            self.set(*lane, slot, *value as u64);
            mask |= 1 << lane;
        }
        self.frames.push(Frame { body, next: 0, mask, repeat: Some((slot, lanes)) });
    }

    fn advance(&mut self) {
        self.stage = 0;
        if let Some(frame) = self.frames.last_mut() {
            frame.next += 1;
        }
    }

    fn exec(
        &mut self,
        machine: &mut Machine<'r, 'k>,
        cta: &mut Cta,
        stmt: &'r RStmt<'k>,
        mask: u64,
    ) -> Result<Step, RunError> {
        match &stmt.kind {
            RStmtKind::For(slot, lo, hi, body) => {
                let (lo, hi) = (self.eval_all(lo, mask), self.eval_all(hi, mask));
                let bounds = |lane| (lane, lo[lane as usize] as i64, hi[lane as usize] as i64);
                let lanes: Vec<_> = lanes_of(mask).map(bounds).filter(|(_, lo, hi)| lo < hi).collect();
                self.advance();
                if !body.is_empty() {
                    self.iterate(body, *slot, lanes);
                }
            }
            RStmtKind::If(cond, then, els) => {
                let yes = self.eval_mask(cond, mask);
                self.advance();
                for (mask, body) in [(mask & !yes, els), (yes, then)] {
                    if mask != 0 && !body.is_empty() {
                        self.frames.push(Frame { body, next: 0, mask, repeat: None });
                    }
                }
            }
            RStmtKind::Prim(op) => match machine.prim(cta, self, op, mask, stmt.span)? {
                Flow::Next => self.advance(),
                Flow::Wait(wait) => {
                    self.waiting = Some((wait, stmt.span));
                    return Ok(Step::Waits);
                }
            },
            simple => {
                self.simple(machine, cta, simple, mask, stmt.span)?;
                self.advance();
            }
        }
        Ok(Step::Ran)
    }

    fn simple(
        &mut self,
        machine: &mut Machine<'r, 'k>,
        cta: &mut Cta,
        stmt: &'r RStmtKind<'k>,
        mask: u64,
        span: Span,
    ) -> Result<(), RunError> {
        match stmt {
            RStmtKind::Let(slot, value) => {
                let values = self.eval_all(value, mask);
                lanes_of(mask).for_each(|lane| self.set(lane, *slot, values[lane as usize]));
            }
            RStmtKind::Load(slot, place) => {
                let dtype = machine.k.buffers[place.buf].dtype;
                let points = machine.points(cta, self, place, mask, span)?;
                for lane in lanes_of(mask) {
                    let at = machine.locate(cta, self, place, points.of(lane), 1, span)?;
                    let bits = machine.get(cta, self, at, dtype, span)?;
                    self.set(lane, *slot, canonical(dtype, bits));
                }
            }
            RStmtKind::Store(place, value) => {
                let dtype = machine.k.buffers[place.buf].dtype;
                let mut stores = Vec::with_capacity(mask.count_ones() as usize);
                let (points, values) = (machine.points(cta, self, place, mask, span)?, self.eval_all(value, mask));
                for lane in lanes_of(mask) {
                    stores.push((machine.locate(cta, self, place, points.of(lane), 1, span)?, values[lane as usize]));
                }
                for (at, bits) in stores {
                    machine.put(cta, self, at, dtype, bits, span)?;
                }
            }
            RStmtKind::Alloc(_) => {}
            RStmtKind::Assume(cond) => {
                let fails = mask & !self.eval_mask(cond, mask);
                if fails != 0 {
                    let thread = self.first + fails.trailing_zeros();
                    let message = format!("assumption does not hold on rank {} in thread {thread}", cta.rank);
                    return Err(Diagnostic::error(Code::BAD_LAUNCH, span, message));
                }
            }
            RStmtKind::Sync(_) | RStmtKind::WaitToken(_) | RStmtKind::WaitSignal(_) | RStmtKind::Tile(_) => {
                return Err(Diagnostic::error(Code::LEVEL, span, "statement of the tile level in a lowered kernel"));
            }
            RStmtKind::For(..) | RStmtKind::If(..) | RStmtKind::Prim(_) => {} // done by `exec`
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_ascend() {
        assert_eq!(lanes_of(0b1011).collect::<Vec<_>>(), [0, 1, 3]);
        assert_eq!(lanes_of(u64::MAX).count(), 64);
        assert_eq!(lanes_of(0).count(), 0);
    }
}

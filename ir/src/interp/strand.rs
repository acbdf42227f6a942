//! Statements, executed by a strand: some threads of one CTA in lockstep.
//!
//! A CTA starts as one strand. Where threads part at an `if`, each side becomes a strand of its own, so that one side may
//! wait for what the other does; they come together again after the `if`.

use std::rc::Rc;

use super::RunError;
use super::cta::Cta;
use super::post::learn;
use super::resolve::{RIndex, RStmt, RStmtKind, RWait};
use super::tile::{groups, uniform};
use super::world::{Who, World};
use crate::diag::{Code, Diagnostic};
use crate::space::Scope;
use crate::span::Span;

/// Why a strand cannot go on.
#[derive(Clone, Debug)]
pub(super) enum Blocked {
    /// Waits for notifies: signal, source rank, count there is, count needed.
    Signal { signal: String, from: i64, has: i64, needs: i64 },
    /// Waits for the token of a copy.
    Token,
    /// Waits for a flag.
    Flag { what: String, has: Option<u64>, needs: u64 },
}

impl Blocked {
    /// What it waits for, in words.
    pub(super) fn describe(&self) -> String {
        match self {
            Blocked::Signal { signal, from, has, needs } => {
                format!("`{signal}` from rank {from}: has {has}, needs {needs}")
            }
            Blocked::Token => "a copy that cannot start".to_owned(),
            Blocked::Flag { what, has: Some(has), needs } => format!("{what} to be {needs}, it is {has}"),
            Blocked::Flag { what, has: None, needs } => format!("{what} to be {needs}"),
        }
    }
}

/// What happens after a statement.
pub(super) enum Flow {
    /// The next statement.
    Next,
    /// The same statement again, later.
    Blocked(Blocked),
}

/// Loop state: current and last value of each active thread.
#[derive(Debug)]
struct Loop {
    slot: usize,
    threads: Vec<(u32, i64, i64)>,
}

/// Statements being executed.
#[derive(Debug)]
struct Frame<'r, 'k> {
    body: &'r [RStmt<'k>],
    next: usize,
    mask: Rc<[u32]>,
    repeat: Option<Loop>,
}

/// Some threads of a CTA in lockstep.
#[derive(Debug)]
pub(super) struct Strand<'r, 'k> {
    pub(super) cta: usize,
    frames: Vec<Frame<'r, 'k>>,
    /// The strand that goes on when this one and its sisters have ended.
    pub(super) parent: Option<usize>,
    /// Sides of an `if` that still run.
    pub(super) children: usize,
    /// The place and reason of the wait, after a step that did not go on.
    pub(super) blocked: Option<(Blocked, Span)>,
}

/// What a step did.
pub(super) enum Step<'r, 'k> {
    /// One statement.
    Ran,
    /// Nothing: it waits.
    Waits,
    /// The threads parted: new strands, whose parent is this one.
    Parted(Vec<Strand<'r, 'k>>),
    /// The strand has no statement left.
    Ended,
}

impl<'r, 'k> Strand<'r, 'k> {
    /// All threads of a CTA at the start of the kernel.
    pub(super) fn start(cta: usize, threads: u32, body: &'r [RStmt<'k>]) -> Strand<'r, 'k> {
        Strand::of(cta, (0..threads).collect(), body)
    }

    fn of(cta: usize, mask: Rc<[u32]>, body: &'r [RStmt<'k>]) -> Strand<'r, 'k> {
        let frames = vec![Frame { body, next: 0, mask, repeat: None }];
        Strand { cta, frames, parent: None, children: 0, blocked: None }
    }

    /// Executes one statement.
    pub(super) fn step(&mut self, world: &mut World<'r, 'k>, cta: &mut Cta) -> Result<Step<'r, 'k>, RunError> {
        self.blocked = None;
        loop {
            let Some(frame) = self.frames.last_mut() else { return Ok(Step::Ended) };
            if let Some(stmt) = frame.body.get(frame.next) {
                let mask = frame.mask.clone();
                world.work += mask.len() as u64;
                return self.exec(world, cta, stmt, &mask);
            }
            if !frame.again(cta) {
                self.frames.pop();
            }
        }
    }

    fn exec(
        &mut self,
        world: &mut World<'r, 'k>,
        cta: &mut Cta,
        stmt: &'r RStmt<'k>,
        mask: &Rc<[u32]>,
    ) -> Result<Step<'r, 'k>, RunError> {
        let span = stmt.span;
        let flow = match &stmt.kind {
            RStmtKind::For(slot, lo, hi, body) => {
                self.advance();
                let mut threads = Vec::with_capacity(mask.len());
                for t in mask.iter() {
                    let (ids, slots) = (cta.ids(*t), cta.slots(*t));
                    let (lo, hi) = (lo.eval_int(&ids, slots), hi.eval_int(&ids, slots));
                    if lo < hi {
                        threads.push((*t, lo, hi));
                    }
                }
                // An empty body does nothing, however often: it would take no step that counts towards the limit.
                if !threads.is_empty() && !body.is_empty() {
                    let mut frame = Frame { body, next: 0, mask: mask.clone(), repeat: None };
                    let state = Loop { slot: *slot, threads };
                    frame.enter(state, cta);
                    self.frames.push(frame);
                }
                return Ok(Step::Ran);
            }
            RStmtKind::If(cond, then, els) => {
                self.advance();
                return Ok(self.branch(cta, mask, |cta, t| cond.eval(&cta.ids(t), cta.slots(t)) != 0, then, els));
            }
            RStmtKind::Tile(op) => world.tile(cta, mask, op, span)?,
            RStmtKind::WaitSignal(w) => world.wait_signal(cta, mask, w, span)?,
            RStmtKind::WaitToken(slot) => world.wait_token(cta, mask, *slot)?,
            simple => {
                world.simple(cta, mask, simple, span)?;
                Flow::Next
            }
        };
        match flow {
            Flow::Next => {
                self.advance();
                Ok(Step::Ran)
            }
            Flow::Blocked(why) => {
                self.blocked = Some((why, span));
                Ok(Step::Waits)
            }
        }
    }

    fn advance(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.next += 1;
        }
    }

    fn branch(
        &mut self,
        cta: &Cta,
        mask: &Rc<[u32]>,
        cond: impl Fn(&Cta, u32) -> bool,
        then: &'r [RStmt<'k>],
        els: &'r [RStmt<'k>],
    ) -> Step<'r, 'k> {
        let (yes, no): (Vec<u32>, Vec<u32>) = mask.iter().partition(|t| cond(cta, **t));
        let sides = [(yes, then), (no, els)].into_iter().filter(|(m, body)| !m.is_empty() && !body.is_empty());
        let mut strands: Vec<Strand<'r, 'k>> = sides.map(|(m, body)| Strand::of(self.cta, m.into(), body)).collect();
        if strands.len() > 1 {
            self.children = strands.len();
            return Step::Parted(strands);
        }
        if let Some(mut only) = strands.pop() {
            self.frames.append(&mut only.frames);
        }
        Step::Ran
    }
}

impl Frame<'_, '_> {
    fn enter(&mut self, state: Loop, cta: &mut Cta) {
        self.next = 0;
        for (t, value, _) in &state.threads {
            cta.set(*t, state.slot, *value as u64);
        }
        if state.threads.len() != self.mask.len() {
            self.mask = state.threads.iter().map(|(t, _, _)| *t).collect();
        }
        self.repeat = Some(state);
    }

    /// Starts the next iteration of a loop; false if there is none.
    fn again(&mut self, cta: &mut Cta) -> bool {
        let Some(mut state) = self.repeat.take() else { return false };
        state.threads.iter_mut().for_each(|(_, value, _)| *value += 1);
        state.threads.retain(|(_, value, hi)| value < hi);
        if state.threads.is_empty() {
            return false;
        }
        self.enter(state, cta);
        true
    }
}

impl World<'_, '_> {
    /// Statements that never wait and do not nest.
    fn simple(&mut self, cta: &mut Cta, mask: &[u32], stmt: &RStmtKind<'_>, span: Span) -> Result<(), RunError> {
        match stmt {
            RStmtKind::Let(slot, value) => {
                if value.uniform {
                    let v = value.eval(&cta.ids(mask[0]), cta.slots(mask[0]));
                    mask.iter().for_each(|t| cta.set(*t, *slot, v));
                } else {
                    for t in mask {
                        let v = value.eval(&cta.ids(*t), cta.slots(*t));
                        cta.set(*t, *slot, v);
                    }
                }
            }
            RStmtKind::Load(slot, place) => {
                for t in mask {
                    let (at, spot) = self.place(cta, place, *t, span)?;
                    let bits = self.read(cta, at, spot, &mut Who::threads(*t, *t, span))?;
                    let value = super::num::canonical(self.buffer(at).dtype, bits);
                    cta.set(*t, *slot, value);
                }
            }
            RStmtKind::Store(place, value) => {
                // All threads read their operands before any of them writes; they are in lockstep.
                let mut stores = Vec::with_capacity(mask.len());
                for t in mask {
                    let (at, spot) = self.place(cta, place, *t, span)?;
                    stores.push((at, spot, value.eval(&cta.ids(*t), cta.slots(*t))));
                }
                // A position names itself; an element all of its replicas.
                let position = matches!(place.index, RIndex::Flat(_));
                for (at, spot, bits) in stores {
                    let mut who = Who::threads(spot.tid, spot.tid, span);
                    if position {
                        self.write(cta, at, spot, bits, &mut who)?;
                        continue;
                    }
                    for place in self.places_of(cta, at, spot)? {
                        self.write(cta, at, place, bits, &mut who)?;
                    }
                }
            }
            RStmtKind::Sync(scope) => self.sync(cta, mask, *scope, span)?,
            RStmtKind::Assume(cond) => {
                for t in mask {
                    if cond.eval(&cta.ids(*t), cta.slots(*t)) == 0 {
                        let message = format!("assumption does not hold on rank {} in thread {t}", cta.rank);
                        return Err(Diagnostic::error(Code::BAD_LAUNCH, span, message));
                    }
                }
            }
            RStmtKind::Prim(op) => {
                let message = format!("`{}` is a lowered op, the reference runs tile-level kernels", op.op.op);
                return Err(Diagnostic::error(Code::LEVEL, span, message).help(
                    "a kernel with primitive ops compiles, but a run has nothing to compare it with; write it with tile ops, or use `run --alone`",
                ));
            }
            // Contents of a buffer are undefined after its declaration: they stay what they are.
            _ => {}
        }
        Ok(())
    }

    fn sync(&mut self, cta: &mut Cta, mask: &[u32], scope: Scope, span: Span) -> Result<(), RunError> {
        cta.time += 1;
        let (time, threads, warp) = (cta.time, cta.threads(), self.k.warp);
        for group in groups(mask, scope, warp) {
            let size = scope.threads(warp, threads).max(1);
            let full = size.min(threads - group[0] / size * size);
            if group.len() as u32 != full {
                let message = format!("`sync {scope}` is reached by {} of {full} threads", group.len());
                return Err(Diagnostic::error(Code::COLLECTIVE_UNDER_GUARD, span, message));
            }
            match scope {
                Scope::Thread => continue,
                Scope::Warp => cta.meetings.meet_warp(group[0], time),
                Scope::Warpgroup => cta.meetings.meet_warpgroup(group[0], time),
                Scope::Cta => cta.meetings.meet_cta(time),
            }
            let mut all = cta.clocks[group[0] as usize].clone();
            for t in group {
                super::race::join(&mut all, &cta.clocks[*t as usize]);
            }
            group.iter().for_each(|t| cta.clocks[*t as usize] = all.clone());
        }
        Ok(())
    }

    /// Rank and count that a group waits for.
    pub(super) fn awaited(&self, cta: &Cta, group: &[u32], w: &RWait, span: Span) -> Result<(usize, i64), RunError> {
        let from = uniform(cta, &w.from, group, "rank", span)? as i64;
        let needs = uniform(cta, &w.expected, group, "count", span)? as i64;
        match usize::try_from(from).ok().filter(|r| *r < self.ranks) {
            Some(src) => Ok((src, needs)),
            None => {
                let message = format!("rank {from} is waited for, there are {} ranks", self.ranks);
                Err(Diagnostic::error(Code::OUT_OF_BOUNDS, span, message))
            }
        }
    }

    pub(super) fn wait_signal(&mut self, cta: &mut Cta, mask: &[u32], w: &RWait, span: Span) -> Result<Flow, RunError> {
        let mut learned = Vec::new();
        for group in groups(mask, w.scope, self.k.warp) {
            let (src, needs) = self.awaited(cta, group, w, span)?;
            self.note_wait(cta.rank, &w.signal, src, needs, span);
            let has = self.comm.count(cta.rank, src, w.queue as usize);
            if has < needs {
                let signal = w.signal.as_str().to_owned();
                return Ok(Flow::Blocked(Blocked::Signal { signal, from: src as i64, has, needs }));
            }
            if let Some(clock) = self.comm.told(cta.rank, src, w.queue as usize, needs) {
                learned.push((group, clock.clone()));
            }
        }
        for (group, clock) in learned {
            learn(cta, group, &clock);
        }
        Ok(Flow::Next)
    }

    fn wait_token(&mut self, cta: &mut Cta, mask: &[u32], slot: usize) -> Result<Flow, RunError> {
        let mut tokens: Vec<usize> =
            mask.iter().filter_map(|t| (cta.slots(*t)[slot] as usize).checked_sub(1)).collect();
        tokens.sort_unstable();
        tokens.dedup();
        for t in &tokens {
            if !cta.tokens[*t].parts.iter().all(|p| self.comm.landed[p.packet]) {
                return Ok(Flow::Blocked(Blocked::Token));
            }
        }
        for t in tokens {
            let token = cta.tokens[t].clone();
            cta.pending.retain(|p| token.parts.iter().all(|part| part.packet != p.packet));
            let mut who = Who::threads(token.threads.0, token.threads.1, token.span);
            for part in &token.parts {
                learn(cta, mask, &part.clock);
                // From now on it is as if the threads that posted the copy had written it.
                for (at, spot) in part.local.iter() {
                    self.note_write(cta, *at, *spot, &mut who, true)?;
                }
            }
        }
        for t in mask {
            cta.set(*t, slot, 0);
        }
        Ok(Flow::Next)
    }

    /// Is the CTA's shared memory or are its registers of use to a packet on its way?
    pub(super) fn is_needed(&self, cta: usize) -> bool {
        self.comm.busy().iter().any(|q| self.comm.uses(*q, cta))
    }
}

//! Tile ops by logical elements: a source element comes from any active owner, every owner and replica at the destination
//! receives it.

use std::rc::Rc;

use super::RunError;
use super::cta::Cta;
use super::num::{self, Class};
use super::post::{is_posted, learn};
use super::race::Clock;
use super::resolve::{RAfter, RPlace, RRegion, RSource, RTile};
use super::strand::{Blocked, Flow};
use super::typed::RExpr;
use super::world::{Spot, Where, Who, World};
use crate::diag::{Code, Diagnostic};
use crate::expr::BinOp;
use crate::space::Scope;
use crate::span::Span;
use crate::stmt::TileKind;

/// Elements that one op may move here: each takes some 60 bytes while it does.
const MAX_ELEMENTS: i64 = 1 << 25;

/// Threads that execute an op together.
pub(super) struct Group<'m> {
    /// The active ones.
    pub(super) threads: &'m [u32],
    /// Which threads of the CTA these are.
    pub(super) member: Vec<bool>,
    /// Threads of a whole group.
    pub(super) size: u32,
}

impl Group<'_> {
    /// Are all threads of the group active, so that they can meet?
    pub(super) fn is_whole(&self) -> bool {
        let first = self.threads.first().map_or(0, |t| *t as usize / self.size as usize * self.size as usize);
        self.threads.len() == self.member.len().saturating_sub(first).min(self.size as usize)
    }

    /// Is the thread one of the group, active or not?
    pub(super) fn covers(&self, tid: u32) -> bool {
        self.threads.first().is_some_and(|first| first / self.size == tid / self.size)
    }
}

/// A region with its numbers.
pub(super) struct Tile {
    pub(super) at: Where,
    pub(super) bounds: Vec<(i64, i64)>,
    /// Was it written with `@`, or is it a window: may it be a peer's?
    pub(super) rank: usize,
}

impl Tile {
    pub(super) fn count(&self) -> i64 {
        self.bounds.iter().map(|(lo, hi)| hi - lo).product()
    }

    fn extents(&self) -> Vec<i64> {
        self.bounds.iter().map(|(lo, hi)| hi - lo).filter(|e| *e != 1).collect()
    }
}

/// Splits a sorted list of threads into the groups of a scope.
pub(super) fn groups(mask: &[u32], scope: Scope, warp: u32) -> Vec<&[u32]> {
    let size = match scope {
        Scope::Cta => return vec![mask],
        scope => scope.threads(warp, 0).max(1),
    };
    mask.chunk_by(|a, b| a / size == b / size).collect()
}

/// A scalar with one value in all threads of a group.
///
/// # Errors
/// `TW0019` if it differs.
pub(super) fn uniform(cta: &Cta, e: &RExpr, threads: &[u32], what: &str, span: Span) -> Result<u64, RunError> {
    let of = |tid: u32| e.eval(&cta.ids(tid), cta.slots(tid));
    let first = of(threads[0]);
    if !e.uniform
        && let Some(t) = threads.iter().find(|t| of(**t) != first)
    {
        let (a, b) = (first as i64, of(*t) as i64);
        let message = format!("{what} is {a} in thread {} and {b} in thread {t} of one group", threads[0]);
        return Err(Diagnostic::error(Code::COLLECTIVE_UNDER_GUARD, span, message)
            .help("a tile op runs once for all threads of its scope; use `by thread` for a region a thread"));
    }
    Ok(first)
}

impl World<'_, '_> {
    /// Executes a tile op for the threads of `mask`.
    pub(super) fn tile(
        &mut self,
        cta: &mut Cta,
        mask: &Rc<[u32]>,
        t: &RTile<'_>,
        span: Span,
    ) -> Result<Flow, RunError> {
        let scope = t.op.scope;
        let mut all: Vec<Group<'_>> = Vec::new();
        for threads in groups(mask, scope, self.k.warp) {
            let mut member = vec![false; cta.threads() as usize];
            threads.iter().for_each(|t| member[*t as usize] = true);
            let size = scope.threads(self.k.warp, cta.threads()).max(1);
            all.push(Group { threads, member, size });
        }
        let asynchronous = t.op.kind == TileKind::CopyAsync;
        if let (Some(RAfter::Signal(w)), false) = (&t.after, asynchronous) {
            match self.wait_signal(cta, mask, w, span)? {
                Flow::Next => {}
                blocked => return Ok(blocked),
            }
        }
        if let (Some(RAfter::Flag(flag, value)), false) = (&t.after, asynchronous) {
            for g in &all {
                let (at, spot, want) = self.flag(cta, flag, value, g, span)?;
                let has = self.peek(cta, at, spot);
                if has != Some(want) {
                    let what = self.element(at, spot.x);
                    return Ok(Flow::Blocked(Blocked::Flag { what, has, needs: want }));
                }
                if let Some((actor, time)) = self.last_writer(cta, at, spot) {
                    learn(cta, g.threads, &Rc::new(Clock::from([(actor, time)])));
                }
            }
        }
        let mut notifies: Vec<(u32, usize)> = Vec::new();
        for g in &all {
            let ranks = self.group_op(cta, g, t, span)?;
            if t.notify.is_some() {
                // By thread: once a wave and destination rank; otherwise once a group.
                let key = if scope == Scope::Thread { g.threads[0] / self.k.warp } else { g.threads[0] };
                for r in ranks {
                    if !notifies.contains(&(key, r)) {
                        notifies.push((key, r));
                    }
                }
            }
        }
        if let Some((_, queue)) = &t.notify {
            for (_, dst) in notifies {
                self.post_notify(cta, dst, *queue);
            }
            cta.time += 1;
        }
        Ok(Flow::Next)
    }

    fn group_op(&mut self, cta: &mut Cta, g: &Group<'_>, t: &RTile<'_>, span: Span) -> Result<Vec<usize>, RunError> {
        let mut dsts = Vec::with_capacity(t.dsts.len());
        for d in &t.dsts {
            dsts.push(self.bounds(cta, d, g)?);
        }
        let mut srcs = Vec::with_capacity(t.srcs.len());
        for s in &t.srcs {
            if let RSource::Region(r) = s {
                srcs.push(self.bounds(cta, r, g)?);
            }
        }
        for other in srcs.iter().chain(&dsts[1..]) {
            if other.extents() != dsts[0].extents() {
                let message = format!("regions of extents {:?} and {:?}", dsts[0].extents(), other.extents());
                return Err(Diagnostic::error(Code::EXTENT_MISMATCH, span, message));
            }
        }
        if srcs.is_empty() && matches!(t.op.kind, TileKind::Copy | TileKind::CopyAsync | TileKind::Cast) {
            return Err(Diagnostic::error(Code::SYNTAX, span, format!("`{}` takes a region", t.op.kind.as_str())));
        }
        let mut ranks = Vec::new();
        for d in &dsts {
            if !ranks.contains(&d.rank) {
                ranks.push(d.rank);
            }
        }
        match t.op.kind {
            TileKind::CopyAsync => self.copy_async(cta, g, t, &dsts, &srcs[0], span)?,
            TileKind::Copy => {
                let posted = is_posted(t) && matches!(srcs[0].at, Where::Device(..));
                let data = match posted {
                    true => self.gather_posted(cta, g, &srcs[0], span)?,
                    false => self.gather(cta, g, &srcs[0], span)?,
                };
                self.deliver_blocking(cta, g, t, &dsts, data, posted, span)?;
            }
            kind => {
                let data = self.compute(cta, g, t, kind, &dsts[0], &srcs, span)?;
                for d in &dsts {
                    self.scatter(cta, g, d, &data, span)?;
                }
            }
        }
        Ok(ranks)
    }

    /// Numbers of a region, in bounds.
    fn bounds(&mut self, cta: &Cta, r: &RRegion, g: &Group<'_>) -> Result<Tile, RunError> {
        let b = &self.k.buffers[r.buf];
        let rank = match &r.rank {
            Some(e) => Some(uniform(cta, e, g.threads, "rank", r.span)? as i64),
            None => None,
        };
        let at = self.locate(cta, r.buf, rank, r.span)?;
        let mut bounds = Vec::with_capacity(r.bounds.len());
        for (d, ((lo, hi), extent)) in r.bounds.iter().zip(&b.shape).enumerate() {
            let lo = uniform(cta, lo, g.threads, "index", r.span)? as i64;
            let hi = uniform(cta, hi, g.threads, "index", r.span)? as i64;
            if lo < 0 || hi > *extent || lo > hi {
                let message = format!("{lo}..{hi} is outside dimension {d} of `{}`, which has extent {extent}", b.name);
                return Err(Diagnostic::error(Code::OUT_OF_BOUNDS, r.span, message));
            }
            bounds.push((lo, hi));
        }
        let count = bounds.iter().try_fold(1i64, |p, (lo, hi)| p.checked_mul(hi - lo));
        if count.is_none_or(|n| n > MAX_ELEMENTS) {
            let have = count.map_or("more than 2^63".to_owned(), |n| n.to_string());
            let message = format!("region of `{}` has {have} elements, at most {MAX_ELEMENTS} can be run here", b.name);
            return Err(Diagnostic::error(Code::TOO_LARGE, r.span, message).help("copy smaller parts in a loop"));
        }
        let rank = match at {
            Where::Device(rank, _) => rank,
            _ => cta.rank,
        };
        Ok(Tile { at, bounds, rank })
    }

    pub(super) fn who(g: &Group<'_>, span: Span) -> Who {
        Who::threads(g.threads[0], g.threads[g.threads.len() - 1], span)
    }

    /// Reads a region: the bits of its elements in order.
    pub(super) fn gather(
        &mut self,
        cta: &mut Cta,
        g: &Group<'_>,
        tile: &Tile,
        span: Span,
    ) -> Result<Vec<u64>, RunError> {
        let mut who = Self::who(g, span);
        let spots = self.sources(cta, g, tile, span)?;
        spots.into_iter().map(|s| self.read(cta, tile.at, s, &mut who)).collect()
    }

    /// Writes a region, all owners and replicas.
    pub(super) fn scatter(
        &mut self,
        cta: &mut Cta,
        g: &Group<'_>,
        tile: &Tile,
        data: &[u64],
        span: Span,
    ) -> Result<(), RunError> {
        let mut who = Self::who(g, span);
        for (k, spot) in self.targets(cta, g, tile, span)? {
            self.write(cta, tile.at, spot, data[k as usize], &mut who)?;
        }
        Ok(())
    }

    /// Results of `fill`, `cast` and the elementwise ops.
    #[expect(clippy::too_many_arguments, reason = "one call; a struct would only rename them")]
    fn compute(
        &mut self,
        cta: &mut Cta,
        g: &Group<'_>,
        t: &RTile<'_>,
        kind: TileKind,
        dst: &Tile,
        tiles: &[Tile],
        span: Span,
    ) -> Result<Vec<u64>, RunError> {
        let mut operands: Vec<Vec<u64>> = Vec::with_capacity(t.srcs.len());
        let mut next = tiles.iter();
        for s in &t.srcs {
            operands.push(match s {
                RSource::Value(e) => {
                    let v = uniform(cta, e, g.threads, "value", span)?;
                    vec![v; dst.count() as usize]
                }
                RSource::Region(_) => {
                    let Some(tile) = next.next() else { continue };
                    let dtype = self.buffer(tile.at).dtype;
                    let raw = self.gather(cta, g, tile, span)?;
                    raw.into_iter().map(|bits| num::canonical(dtype, bits)).collect()
                }
            });
        }
        let class = Class::of_dtype(self.buffer(dst.at).dtype);
        let op = match kind {
            TileKind::Add => BinOp::Add,
            TileKind::Sub => BinOp::Sub,
            TileKind::Mul => BinOp::Mul,
            TileKind::Min => BinOp::Min,
            TileKind::Max => BinOp::Max,
            TileKind::Cast => {
                let from = tiles.first().map_or(class, |tile| Class::of_dtype(self.buffer(tile.at).dtype));
                return Ok(operands.remove(0).into_iter().map(|v| num::cast(from, class, v)).collect());
            }
            TileKind::Fill | TileKind::Copy | TileKind::CopyAsync => return Ok(operands.remove(0)),
        };
        Ok(operands[0].iter().zip(&operands[1]).map(|(a, b)| num::binary(op, class, *a, *b)).collect())
    }

    /// The flag of `after`: its place and the value that is waited for.
    pub(super) fn flag(
        &mut self,
        cta: &mut Cta,
        flag: &RPlace,
        value: &RExpr,
        g: &Group<'_>,
        span: Span,
    ) -> Result<(Where, Spot, u64), RunError> {
        let tid = g.threads[0];
        let (at, spot) = self.place(cta, flag, tid, span)?;
        let value = value.eval(&cta.ids(tid), cta.slots(tid));
        let bits = self.buffer(at).dtype.bits();
        Ok((at, spot, if bits == 64 { value } else { value & ((1 << bits) - 1) }))
    }
}

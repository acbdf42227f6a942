//! Tile ops by logical elements: a source element comes from any active owner, every owner and replica at the destination
//! receives it.

use std::rc::Rc;

use super::RunError;
use super::comm::{Data, Packet, QueueKind, Target};
use super::cta::{Cta, Part, PendingLocal, Token};
use super::num::{self, Class};
use super::race::Clock;
use super::resolve::{RPlace, RRegion, RSource, RTile};
use super::strand::{Blocked, Flow};
use super::typed::RExpr;
use super::world::{Spot, Where, Who, World};
use crate::diag::{Code, Diagnostic};
use crate::expr::BinOp;
use crate::space::{Scope, Space};
use crate::span::Span;
use crate::stmt::TileKind;

/// Threads that execute an op together.
struct Group<'m> {
    threads: &'m [u32],
    /// Which threads of the CTA these are.
    member: Vec<bool>,
}

/// A region with its numbers.
struct Tile {
    at: Where,
    bounds: Vec<(i64, i64)>,
    /// Was it written with `@`, or is it a window: may it be a peer's?
    rank: usize,
}

impl Tile {
    fn count(&self) -> i64 {
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
    if !e.uniform {
        if let Some(t) = threads.iter().find(|t| of(**t) != first) {
            let message = format!(
                "{what} is {} in thread {} and {} in thread {t} of one group",
                first as i64,
                threads[0],
                of(*t) as i64
            );
            return Err(Diagnostic::error(Code::COLLECTIVE_UNDER_GUARD, span, message)
                .help("a tile op runs once for all threads of its scope; use `by thread` for a region a thread"));
        }
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
            all.push(Group { threads, member });
        }
        let asynchronous = t.op.kind == TileKind::CopyAsync;
        if let (Some(after), false) = (&t.after, asynchronous) {
            for g in &all {
                let (at, spot, want) = self.flag(cta, after, g, span)?;
                if self.peek(cta, at, spot) != Some(want) {
                    return Ok(Flow::Blocked(Blocked::Flag { what: self.element(at, spot.x) }));
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
        let mut ranks = Vec::new();
        for d in &dsts {
            if !ranks.contains(&d.rank) {
                ranks.push(d.rank);
            }
        }
        match t.op.kind {
            TileKind::CopyAsync => self.copy_async(cta, g, t, &dsts, &srcs[0], span)?,
            TileKind::Copy => {
                let data = self.gather(cta, g, &srcs[0], span)?;
                self.deliver_blocking(cta, g, t, &dsts, data, span)?;
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
        let rank = match at {
            Where::Device(rank, _) => rank,
            _ => cta.rank,
        };
        Ok(Tile { at, bounds, rank })
    }

    /// Calls `f` with the row-major logical index of every element of the region, in order.
    fn each(&self, tile: &Tile, mut f: impl FnMut(i64)) {
        let shape = &self.buffer(tile.at).shape;
        let count = tile.count();
        let mut index: Vec<i64> = tile.bounds.iter().map(|(lo, _)| *lo).collect();
        for _ in 0..count {
            f(index.iter().zip(shape).fold(0, |x, (i, e)| x * e + i));
            for (i, (lo, hi)) in index.iter_mut().zip(&tile.bounds).rev() {
                *i += 1;
                if *i < *hi {
                    break;
                }
                *i = *lo;
            }
        }
    }

    /// One place of every element of a source.
    fn sources(&mut self, cta: &Cta, g: &Group<'_>, tile: &Tile, span: Span) -> Result<Vec<Spot>, RunError> {
        let b = self.buffer(tile.at);
        let mut out = Vec::with_capacity(tile.count() as usize);
        if let (Where::Local(buf), true) = (tile.at, b.layout.has_threads()) {
            let owners = self.owners(buf, cta.threads())?;
            let mut lost = None;
            self.each(tile, |x| match owners.of(x).iter().find(|(tid, _)| g.member[*tid as usize]) {
                Some((tid, at)) => out.push(Spot { x, tid: *tid, at: *at }),
                None => lost = lost.or(Some(x)),
            });
            return match lost {
                None => Ok(out),
                Some(x) => Err(self.no_owner(tile.at, x, g, span)),
            };
        }
        let tid = g.threads[0];
        self.each(tile, |x| out.push(Spot { x, tid, at: b.layout.position(x) }));
        Ok(out)
    }

    /// Every place of every element of a destination.
    fn targets(&mut self, cta: &Cta, g: &Group<'_>, tile: &Tile, span: Span) -> Result<Vec<Target>, RunError> {
        let b = self.buffer(tile.at);
        let mut out: Vec<Target> = Vec::with_capacity(tile.count() as usize);
        let mut k = 0u32;
        if let Where::Local(buf) = tile.at {
            if b.layout.has_threads() {
                let owners = self.owners(buf, cta.threads())?;
                let mut lost = None;
                self.each(tile, |x| {
                    let before = out.len();
                    let active = owners.of(x).iter().filter(|(tid, _)| g.member[*tid as usize]);
                    out.extend(active.map(|(tid, at)| (k, Spot { x, tid: *tid, at: *at })));
                    if out.len() == before {
                        lost = lost.or(Some(x));
                    }
                    k += 1;
                });
                return match lost {
                    None => Ok(out),
                    Some(x) => Err(self.no_owner(tile.at, x, g, span)),
                };
            }
            self.each(tile, |x| {
                b.layout.places(x, |_, at| out.extend(g.threads.iter().map(|tid| (k, Spot { x, tid: *tid, at }))));
                k += 1;
            });
            return Ok(out);
        }
        let tid = g.threads[0];
        self.each(tile, |x| {
            if b.layout.has_replicas() {
                b.layout.places(x, |_, at| out.push((k, Spot { x, tid, at })));
            } else {
                out.push((k, Spot { x, tid, at: b.layout.position(x) }));
            }
            k += 1;
        });
        Ok(out)
    }

    fn no_owner(&self, at: Where, x: i64, g: &Group<'_>, span: Span) -> RunError {
        let who = match g.threads {
            [t] => format!("thread {t} does not own"),
            _ => "no active thread owns".to_owned(),
        };
        Diagnostic::error(Code::LOCAL_OWNER, span, format!("{who} {}", self.element(at, x)))
            .help("the layout says which thread holds which element; let the owners run the op")
    }

    fn who(g: &Group<'_>, span: Span) -> Who {
        Who::threads(g.threads[0], g.threads[g.threads.len() - 1], span)
    }

    /// Reads a region: the bits of its elements in order.
    fn gather(&mut self, cta: &mut Cta, g: &Group<'_>, tile: &Tile, span: Span) -> Result<Vec<u64>, RunError> {
        let mut who = Self::who(g, span);
        let spots = self.sources(cta, g, tile, span)?;
        spots.into_iter().map(|s| self.read(cta, tile.at, s, &mut who)).collect()
    }

    /// Writes a region, all owners and replicas.
    fn scatter(&mut self, cta: &mut Cta, g: &Group<'_>, tile: &Tile, data: &[u64], span: Span) -> Result<(), RunError> {
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

    /// A blocking copy whose source was read: local destinations are written now, those of peers land later.
    fn deliver_blocking(
        &mut self,
        cta: &mut Cta,
        g: &Group<'_>,
        t: &RTile<'_>,
        dsts: &[Tile],
        data: Vec<u64>,
        span: Span,
    ) -> Result<(), RunError> {
        for d in dsts {
            if d.rank == cta.rank {
                self.scatter(cta, g, d, &data, span)?;
                continue;
            }
            let queue = self.queue_for(cta, t, d.rank);
            let targets = self.announce(cta, g, d, queue, span)?;
            let id = self.comm.packet_id();
            let (data, dsts) = (Data::Taken(data.clone()), vec![(d.at, targets)]);
            let cta = cta.actor as usize;
            self.comm.post(queue, Packet { id, cta, data, dsts, notify: None, after: None });
        }
        Ok(())
    }

    fn queue_for(&mut self, cta: &Cta, t: &RTile<'_>, dst: usize) -> usize {
        let kind = match &t.notify {
            Some((_, q)) => QueueKind::Signal(*q),
            None => self.comm.loose(),
        };
        self.comm.queue(cta.rank, dst, kind)
    }

    /// Checks the destination of a copy that lands later and marks it as being written from now on.
    fn announce(
        &mut self,
        cta: &mut Cta,
        g: &Group<'_>,
        tile: &Tile,
        queue: usize,
        span: Span,
    ) -> Result<Vec<Target>, RunError> {
        let targets = self.targets(cta, g, tile, span)?;
        if !matches!(tile.at, Where::Local(_)) {
            let mut who = Self::who(g, span);
            who.engine = Some(self.comm.next(queue));
            for (_, spot) in &targets {
                self.note_write(cta, tile.at, *spot, &mut who, false)?;
            }
        }
        Ok(targets)
    }

    /// Posts an asynchronous copy: source and destinations belong to the engines until its token is waited for.
    fn copy_async(
        &mut self,
        cta: &mut Cta,
        g: &Group<'_>,
        t: &RTile<'_>,
        dsts: &[Tile],
        src: &Tile,
        span: Span,
    ) -> Result<(), RunError> {
        let spots = self.sources(cta, g, src, span)?;
        let after = match &t.after {
            Some(after) => Some(self.flag(cta, after, g, span)?),
            None => None,
        };
        let mut parts = Vec::with_capacity(dsts.len());
        for d in dsts {
            let queue = self.queue_for(cta, t, d.rank);
            if !matches!(src.at, Where::Local(_)) {
                let mut who = Self::who(g, span);
                who.engine = Some(self.comm.next(queue));
                for s in &spots {
                    self.note_read(cta, src.at, *s, &mut who)?;
                }
            }
            let targets = self.announce(cta, g, d, queue, span)?;
            let id = self.comm.packet_id();
            let (reads, writes, time) = self.comm.next(queue);
            let mut clock = Clock::from([(reads, time)]);
            let mut local: Vec<(Where, Spot)> = Vec::new();
            if d.rank == cta.rank {
                clock.insert(writes, time);
                if !matches!(d.at, Where::Local(_)) {
                    local.extend(targets.iter().map(|(_, spot)| (d.at, *spot)));
                }
            }
            parts.push(Part { packet: id, clock: Rc::new(clock), local: local.into() });
            if let Where::Local(buf) = d.at {
                let mut places: Vec<(u32, i64)> = targets.iter().map(|(_, s)| (s.tid, s.at)).collect();
                places.sort_unstable();
                cta.pending.push(PendingLocal { packet: id, buf, places, span });
            }
            let data = Data::Late(src.at, spots.clone());
            let (dsts, actor) = (vec![(d.at, targets)], cta.actor as usize);
            self.comm.post(queue, Packet { id, cta: actor, data, dsts, notify: None, after });
        }
        if let Some(slot) = t.token {
            cta.tokens.push(Token { parts, threads: (g.threads[0], g.threads[g.threads.len() - 1]), span });
            let token = cta.tokens.len() as u64; // 0 is no token
            g.threads.iter().for_each(|tid| cta.set(*tid, slot, token));
        }
        Ok(())
    }

    /// The flag of `after`: its place and the value that is waited for.
    fn flag(
        &mut self,
        cta: &mut Cta,
        after: &(RPlace, RExpr),
        g: &Group<'_>,
        span: Span,
    ) -> Result<(Where, Spot, u64), RunError> {
        let tid = g.threads[0];
        let (at, spot) = self.place(cta, &after.0, tid, span)?;
        let value = after.1.eval(&cta.ids(tid), cta.slots(tid));
        let bits = self.buffer(at).dtype.bits();
        Ok((at, spot, if bits == 64 { value } else { value & ((1 << bits) - 1) }))
    }

    /// One notify of a signal at `dst`, behind what the copy posted.
    fn post_notify(&mut self, cta: &mut Cta, dst: usize, queue: u32) {
        let id = self.comm.packet_id();
        let slot = self.comm.queue(cta.rank, dst, QueueKind::Signal(queue));
        let (_, writes, time) = self.comm.next(slot);
        let mut clock = cta.clocks[0].clone();
        cta.clocks.iter().for_each(|c| super::race::join(&mut clock, c));
        let told = Rc::make_mut(&mut clock);
        told.insert(cta.actor, cta.time);
        told.insert(writes, time);
        let packet = Packet {
            id,
            cta: cta.actor as usize,
            data: Data::Taken(Vec::new()),
            dsts: Vec::new(),
            notify: Some((dst, queue as usize, clock)),
            after: None,
        };
        self.comm.post(slot, packet);
    }

    /// The element that a place names in one thread. Registers of other threads are an error.
    pub(super) fn place(&mut self, cta: &Cta, p: &RPlace, tid: u32, span: Span) -> Result<(Where, Spot), RunError> {
        let (ids, slots) = (cta.ids(tid), cta.slots(tid));
        let rank = p.rank.as_ref().map(|e| e.eval_int(&ids, slots));
        let at = self.locate(cta, p.buf, rank, span)?;
        let b = self.buffer(at);
        let list = match &p.index {
            super::resolve::RIndex::Flat(e) => {
                let at_flat = e.eval_int(&ids, slots);
                return Ok((at, Spot { x: at_flat, tid, at: at_flat }));
            }
            super::resolve::RIndex::Logical(list) => list,
        };
        let mut x = 0i64;
        for (d, (e, extent)) in list.iter().zip(&b.shape).enumerate() {
            let i = e.eval_int(&ids, slots);
            if i < 0 || i >= *extent {
                let message = format!("index {i} is outside dimension {d} of `{}`, which has extent {extent}", b.name);
                return Err(Diagnostic::error(Code::OUT_OF_BOUNDS, span, message));
            }
            x = x * extent + i;
        }
        if b.space == Space::Local && b.layout.has_threads() {
            let owners = self.owners(p.buf, cta.threads())?;
            let Some((_, position)) = owners.of(x).iter().find(|(t, _)| *t == tid) else {
                let message = format!("thread {tid} does not own {}", self.element(at, x));
                return Err(Diagnostic::error(Code::LOCAL_OWNER, span, message));
            };
            return Ok((at, Spot { x, tid, at: *position }));
        }
        Ok((at, Spot { x, tid, at: b.layout.position(x) }))
    }

    /// Every place in this thread (or memory) of the element at `spot`.
    pub(super) fn places_of(&mut self, cta: &Cta, at: Where, spot: Spot) -> Result<Vec<Spot>, RunError> {
        let b = self.buffer(at);
        if !b.layout.has_replicas() {
            return Ok(vec![spot]);
        }
        let mut out = Vec::new();
        if b.space == Space::Local && b.layout.has_threads() {
            let owners = self.owners(at.buf(), cta.threads())?;
            let mine = owners.of(spot.x).iter().filter(|(t, _)| *t == spot.tid);
            out.extend(mine.map(|(_, position)| Spot { at: *position, ..spot }));
        } else {
            b.layout.places(spot.x, |_, position| out.push(Spot { at: position, ..spot }));
        }
        Ok(out)
    }

    /// Lands the first packet of a queue, if it may. Gives whether it did.
    pub(super) fn land(&mut self, queue: usize) -> bool {
        let Some(front) = self.comm.front(queue) else { return false };
        let Some(mut cta) = self.ctas[front.cta].take() else { return false };
        let ready = front.after.is_none_or(|(at, spot, want)| self.peek(&cta, at, spot) == Some(want));
        if let Some(packet) = ready.then(|| self.comm.take(queue)).flatten() {
            // Places were checked when the packet was posted.
            let data = match packet.data {
                Data::Taken(data) => data,
                Data::Late(at, spots) => spots.iter().map(|s| self.peek(&cta, at, *s).unwrap_or(0)).collect(),
            };
            for (at, targets) in packet.dsts {
                for (k, spot) in targets {
                    let _ = self.store(&mut cta, at, spot, data[k as usize]);
                }
            }
            if let Some((dst, id, clock)) = &packet.notify {
                let src = self.comm.rank_of(queue);
                self.comm.notify(*dst, src, *id, clock);
            }
        }
        let actor = cta.actor as usize;
        self.ctas[actor] = Some(cta);
        ready
    }
}

/// Adds knowledge to threads, sharing the result between those that knew the same.
pub(super) fn learn(cta: &mut Cta, threads: &[u32], clock: &Rc<Clock>) {
    let mut last: Option<(Rc<Clock>, Rc<Clock>)> = None;
    for t in threads {
        let mine = &mut cta.clocks[*t as usize];
        if let Some((before, after)) = &last {
            if Rc::ptr_eq(before, mine) {
                *mine = after.clone();
                continue;
            }
        }
        let before = mine.clone();
        super::race::join(mine, clock);
        last = Some((before, mine.clone()));
    }
}

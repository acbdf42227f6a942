//! Copies that engines carry: posting, landing, and what the group that posted knows afterwards.

use std::rc::Rc;

use super::RunError;
use super::comm::{Data, Gate, Packet, QueueKind, Target};
use super::cta::{Cta, Part, PendingLocal, Token};
use super::race::Clock;
use super::resolve::{RAfter, RSource, RTile};
use super::tile::{Group, Tile};
use super::world::{Kind, Spot, Where, Who, World};
use crate::span::Span;

impl World<'_, '_> {
    /// Reads the source of a blocking copy between ranks that all threads of its scope run: what the group wrote before counts as written (the post waits for
    /// it), and when the copy returns the group may write it again.
    pub(super) fn gather_posted(
        &mut self,
        cta: &mut Cta,
        g: &Group<'_>,
        tile: &Tile,
        span: Span,
    ) -> Result<Vec<u64>, RunError> {
        if !g.is_whole() {
            return self.gather(cta, g, tile, span);
        }
        let mut who = self.completed(cta, g, span);
        let spots = self.sources(cta, g, tile, span)?;
        let data: Result<Vec<u64>, RunError> =
            spots.into_iter().map(|s| self.read(cta, tile.at, s, &mut who)).collect();
        self.returned(cta, g, &who);
        data
    }

    /// An engine of its own for a blocking copy.
    fn completed(&mut self, cta: &Cta, g: &Group<'_>, span: Span) -> Who {
        let kind = self.comm.loose();
        let queue = self.comm.queue(cta.rank, cta.rank, kind);
        let mut who = Self::who(g, span);
        who.engine = Some(self.comm.next(queue));
        who
    }

    /// The group knows that the engine has done its work.
    fn returned(&mut self, cta: &mut Cta, g: &Group<'_>, who: &Who) {
        if let Some((reads, writes, time)) = who.engine {
            learn(cta, g.threads, &Rc::new(Clock::from([(reads, time), (writes, time)])));
        }
    }

    /// A blocking copy whose source was read: local destinations are written now, those of peers land later. What engines
    /// wrote to memory of this rank the group may read when the copy returns; for copies by threads that takes a `sync`.
    #[expect(clippy::too_many_arguments, reason = "one call; a struct would only rename them")]
    pub(super) fn deliver_blocking(
        &mut self,
        cta: &mut Cta,
        g: &Group<'_>,
        t: &RTile<'_>,
        dsts: &[Tile],
        data: Vec<u64>,
        posted: bool,
        span: Span,
    ) -> Result<(), RunError> {
        for d in dsts {
            if d.rank == cta.rank && posted && g.is_whole() && matches!(d.at, Where::Device(..)) {
                let mut who = self.completed(cta, g, span);
                for (k, spot) in self.targets(cta, g, d, span)? {
                    self.write(cta, d.at, spot, data[k as usize], &mut who)?;
                }
                self.returned(cta, g, &who);
                continue;
            }
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
    pub(super) fn copy_async(
        &mut self,
        cta: &mut Cta,
        g: &Group<'_>,
        t: &RTile<'_>,
        dsts: &[Tile],
        src: &Tile,
        span: Span,
    ) -> Result<(), RunError> {
        let spots = self.sources(cta, g, src, span)?;
        let mut parts = Vec::with_capacity(dsts.len());
        for d in dsts {
            let queue = self.queue_for(cta, t, d.rank);
            if !matches!(src.at, Where::Local(_)) {
                let mut who = Self::who(g, span);
                who.engine = Some(self.comm.next(queue));
                for s in &spots {
                    // Behind a signal, what precedes the read is only known when the signal has come.
                    if !matches!(t.after, Some(RAfter::Signal(_))) {
                        self.note_read(cta, src.at, *s, &mut who)?;
                    }
                }
            }
            let targets = self.announce(cta, g, d, queue, span)?;
            let id = self.comm.packet_id();
            let (reads, writes, time) = self.comm.next(queue);
            let mut clock = Clock::from([(reads, time)]);
            let mut local: Vec<(Where, Spot)> = Vec::new();
            if d.rank == cta.rank {
                clock.insert(writes, time);
                // Who waits for a copy between ranks may read what it brought, as after a blocking one; other
                // asynchronous copies are as if the threads had written it.
                let arrived = is_posted(t) && g.is_whole() && matches!(d.at, Where::Device(..));
                if !arrived && !matches!(d.at, Where::Local(_)) {
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
            let after = self.gate(cta, t, g, queue, span)?;
            self.comm.post(queue, Packet { id, cta: actor, data, dsts, notify: None, after });
        }
        if let Some(slot) = t.token {
            cta.tokens.push(Token { parts, threads: (g.threads[0], g.threads[g.threads.len() - 1]), span });
            let token = cta.tokens.len() as u64; // 0 is no token
            g.threads.iter().for_each(|tid| cta.set(*tid, slot, token));
        }
        Ok(())
    }

    /// What holds back the next packet of a queue.
    fn gate(
        &mut self,
        cta: &mut Cta,
        t: &RTile<'_>,
        g: &Group<'_>,
        queue: usize,
        span: Span,
    ) -> Result<Option<Gate>, RunError> {
        Ok(match &t.after {
            None => None,
            Some(RAfter::Flag(flag, value)) => {
                let (at, spot, want) = self.flag(cta, flag, value, g, span)?;
                Some(Gate::Flag(at, spot, want))
            }
            Some(RAfter::Signal(w)) => {
                let (src, needs) = self.awaited(cta, g.threads, w, span)?;
                let mut who = Self::who(g, span);
                who.engine = Some(self.comm.next(queue));
                let (lo, hi) = (g.threads[0] as usize, g.threads[g.threads.len() - 1] as usize);
                let clocks = cta.clocks[lo..=hi].to_vec();
                cta.time += 1;
                Some(Gate::Signal { src, queue: w.queue as usize, needs, who, clocks, time: cta.time })
            }
        })
    }

    /// One notify of a signal at `dst`, behind what the copy posted.
    pub(super) fn post_notify(&mut self, cta: &mut Cta, dst: usize, queue: u32) {
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

    /// May a packet start?
    fn is_ready(&self, cta: &Cta, packet: &Packet) -> bool {
        match &packet.after {
            None => true,
            Some(Gate::Flag(at, spot, want)) => self.peek(cta, *at, *spot) == Some(*want),
            Some(Gate::Signal { src, queue, needs, .. }) => self.comm.count(cta.rank, *src, *queue) >= *needs,
        }
    }

    /// Checks the reads of a packet that a signal held back: it knows what its poster knew and what the signal told.
    fn check_late_reads(&mut self, cta: &mut Cta, packet: &Packet) -> Result<(), RunError> {
        let (Some(Gate::Signal { src, queue, needs, who, clocks, time }), Data::Late(at, spots)) =
            (&packet.after, &packet.data)
        else {
            return Ok(());
        };
        if matches!(at, Where::Local(_)) {
            return Ok(());
        }
        let told = self.comm.told(cta.rank, *src, *queue, *needs).cloned().unwrap_or_default();
        let lo = who.threads.0 as usize;
        let places = lo..lo + clocks.len();
        let before = cta.clocks[places.clone()].to_vec();
        for (slot, clock) in cta.clocks[places.clone()].iter_mut().zip(clocks) {
            *slot = clock.clone();
            super::race::join(slot, &told);
        }
        let mut who = *who;
        let result = spots.iter().try_for_each(|s| match self.written_since(cta, *at, *s, *time) {
            Some(write) => Err(self.race(cta, *at, *s, &who, write, Kind::ReadAfterWrite)),
            None => self.note_read(cta, *at, *s, &mut who),
        });
        cta.clocks[places].clone_from_slice(&before);
        result
    }

    /// Lands the first packet of a queue, if it may. Gives whether it did.
    ///
    /// # Errors
    /// A race of a copy that was held back by a signal.
    pub(super) fn land(&mut self, queue: usize) -> Result<bool, RunError> {
        let Some(front) = self.comm.front(queue) else { return Ok(false) };
        let Some(mut cta) = self.ctas[front.cta].take() else { return Ok(false) };
        let ready = self.is_ready(&cta, front);
        let mut result = Ok(ready);
        if let Some(packet) = ready.then(|| self.comm.take(queue)).flatten() {
            if let Err(race) = self.check_late_reads(&mut cta, &packet) {
                result = Err(race);
            }
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
        result
    }
}

/// Is it a copy between ranks, as the text says it: with `@` on one side?
pub(super) fn is_posted(t: &RTile<'_>) -> bool {
    let from = |s: &RSource| matches!(s, RSource::Region(r) if r.rank.is_some());
    t.dsts.iter().any(|d| d.rank.is_some()) || t.srcs.iter().any(from)
}

/// Adds knowledge to threads, sharing the result between those that knew the same.
pub(super) fn learn(cta: &mut Cta, threads: &[u32], clock: &Rc<Clock>) {
    let mut last: Option<(Rc<Clock>, Rc<Clock>)> = None;
    for t in threads {
        let mine = &mut cta.clocks[*t as usize];
        if let Some((before, after)) = &last
            && Rc::ptr_eq(before, mine)
        {
            *mine = after.clone();
            continue;
        }
        let before = mine.clone();
        super::race::join(mine, clock);
        last = Some((before, mine.clone()));
    }
}

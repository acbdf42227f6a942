//! Posting copies and signals.
//!
//! Must hold: copies of zero bytes post nothing, signals included, and their lanes leave the group; a copy above the
//! packet limit becomes chunks, each with its own reservation and doorbell, of which only the last carries signals; lanes
//! on their last chunk and lanes that are not form separate groups, so each group's posting is uniform.

use inkwell::IntPredicate;

use super::body::{Body, How, Signals};
use super::{Coop, Int, QueueNo, Result, Sdma, ThreadMode};

/// mori's template arguments of `put` and `get`, and what the compiler knows of the size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PostOptions {
    /// Who posts.
    pub coop: Coop,
    /// What lanes promise; only for [`Coop::Thread`].
    pub mode: ThreadMode,
    /// Add one to our own slot for this queue after the copies.
    pub local_signal: bool,
    /// Add one to our slot of the peer's signals after the copies.
    pub remote_signal: bool,
    /// Post without publishing; a later commit rings.
    pub aggregate: bool,
    /// Every copy gets its own signals, instead of one for the group.
    pub signal_per_copy: bool,
    /// Greatest possible size in bytes, if known: at most the packet limit spares the chunk loop.
    pub max_bytes: Option<u64>,
    /// The size is known not to be zero.
    pub never_empty: bool,
}

/// One copy as values: an engine reads `bytes` at `src` and writes them at `dst`.
#[derive(Debug, Clone, Copy)]
pub struct Post<'ctx> {
    /// Rank on this node that the queue leads to, 32-bit.
    pub peer: Int<'ctx>,
    /// Queue towards it.
    pub queue: QueueNo<'ctx>,
    /// Address written, 64-bit.
    pub dst: Int<'ctx>,
    /// Address read, 64-bit.
    pub src: Int<'ctx>,
    /// Size in bytes, 64-bit.
    pub bytes: Int<'ctx>,
}

/// The part of a copy that one packet carries.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'ctx> {
    pub(crate) dst: Int<'ctx>,
    pub(crate) src: Int<'ctx>,
    pub(crate) bytes: Int<'ctx>,
}

impl<'ctx> Sdma<'_, 'ctx> {
    /// Posts a copy (mori's put, get and putPtr, which differ only in whose addresses they are given).
    pub fn post(&self, post: &Post<'ctx>, options: &PostOptions) -> Result<()> {
        let some = match options.never_empty {
            true => None,
            false => Some(self.g.cmp(IntPredicate::NE, post.bytes, self.g.i64(0), "some")?),
        };
        self.if_all(&[self.acts(options.coop)?, post.queue.exists, some], "post", || self.post_active(post, options))
    }

    /// Adds one to our slot of the peer's signals, by a packet of its own: the `notify` of a copy of zero bytes.
    pub fn post_signal(&self, peer: Int<'ctx>, queue: QueueNo<'ctx>, options: &PostOptions) -> Result<()> {
        let post = || match self.needs_grouping(options, peer, queue) {
            true => {
                let signals = self.signals(peer, queue.number, [false, true], None)?;
                let key = self.queue_key(peer, queue, None)?;
                self.post_parallel(&self.queue(peer, queue.number)?, key, None, &signals, How::of(options))
            }
            false => self.signal_group(peer, queue, options),
        };
        self.if_all(&[self.acts(options.coop)?, queue.exists], "signal", post)
    }

    /// Runs `body` where all the conditions hold; those that are absent do.
    pub(crate) fn if_all(
        &self,
        conditions: &[Option<Int<'ctx>>],
        name: &str,
        body: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        self.g.mark_convergent();
        let mut all: Option<Int<'ctx>> = None;
        for condition in conditions.iter().flatten() {
            all = Some(match all {
                Some(all) => self.g.and(all, *condition, name)?,
                None => *condition,
            });
        }
        match all {
            Some(all) => self.g.if_then(all, name, body),
            None => body(),
        }
    }

    fn signal_group(&self, peer: Int<'ctx>, queue: QueueNo<'ctx>, options: &PostOptions) -> Result<()> {
        let (peer, number) = self.uniform_queue(peer, queue)?;
        let group = self.group(options)?;
        let write = || {
            let signals = self.signals(peer, number, [false, true], None)?;
            self.post_group(&self.queue(peer, number)?, &self.one_lane(), None, &signals, How::of(options))
        };
        match group.leads {
            Some(leads) => self.g.if_then(leads, "signal.lead", write),
            None => write(),
        }
    }

    /// Signals on a queue: our own slot, the peer's slot.
    pub(crate) fn signals(
        &self,
        peer: Int<'ctx>,
        queue: Int<'ctx>,
        [local, remote]: [bool; 2],
        when: Option<Int<'ctx>>,
    ) -> Result<Signals<'ctx>> {
        let mut slots = Vec::new();
        if local {
            slots.push((self.local_slot(self.lsa_rank()?, queue)?, None));
        }
        if remote {
            slots.push((self.remote_slot(peer, queue)?, None));
        }
        let when = if slots.is_empty() { None } else { when };
        Ok(Signals { slots, when })
    }

    /// May active lanes have different queues?
    fn needs_grouping(&self, options: &PostOptions, peer: Int<'ctx>, queue: QueueNo<'ctx>) -> bool {
        let known = peer.is_const() && queue.number.is_const();
        options.coop == Coop::Thread && options.mode == ThreadMode::Independent && !known
    }

    fn group(&self, options: &PostOptions) -> Result<super::lanes::Group<'ctx>> {
        match options.coop {
            Coop::Thread => self.active_group(),
            Coop::Warp | Coop::Block => Ok(self.one_lane()),
        }
    }

    /// Posts for the lanes that are active here, all with at least one byte.
    fn post_active(&self, post: &Post<'ctx>, options: &PostOptions) -> Result<()> {
        let piece = Piece { dst: post.dst, src: post.src, bytes: post.bytes };
        match self.is_chunked(options.max_bytes) {
            true => self.post_chunks(post, piece, options),
            false => self.post_piece(post, piece, None, options),
        }
    }

    /// May a copy of up to `max_bytes` take more than one packet?
    pub(crate) fn is_chunked(&self, max_bytes: Option<u64>) -> bool {
        max_bytes.is_none_or(|max| max > u64::from(self.facts.max_copy_bytes))
    }

    /// Repeats until every lane has posted its last chunk. Under one queue each round posts for the lanes that are, like the
    /// first pending one, on their last chunk or not; otherwise for all. As in [`Sdma::for_each_group`], no lane leaves early.
    fn post_chunks(&self, post: &Post<'ctx>, whole: Piece<'ctx>, options: &PostOptions) -> Result<()> {
        let g = &self.g;
        let grouping = self.needs_grouping(options, post.peer, post.queue);
        let i64_ty = g.context.i64_type();
        let before = g.here()?;
        let all = self.ballot(g.int(1, 1), "pending.all")?;
        let [head, done] = g.blocks(["chunks", "chunks.end"])?;
        g.br(head)?;
        g.at(head);
        let pending = g.phi(all.get_type(), &[(&all, before)], "pending")?;
        let phis = [(whole.dst, "dst.at"), (whole.src, "src.at"), (whole.bytes, "left")];
        let [dst, src, left] = phis.map(|(start, name)| g.phi(i64_ty, &[(&start, before)], name));
        let phis = [dst?, src?, left?];
        let [dst, src, left] = phis.map(|phi| phi.as_basic_value().into_int_value());
        let limit = g.i64(self.facts.max_copy_bytes.into());
        let last = g.cmp(IntPredicate::ULE, left, limit, "last")?;
        let last = g.builder.build_int_z_extend(last, g.context.i32_type(), "last.flag")?;
        let joins = match options.coop {
            Coop::Thread => Some(self.joins_round(last, left, pending.as_basic_value().into_int_value(), grouping)?),
            Coop::Warp | Coop::Block => None,
        };
        let [body, latch] = g.blocks(["chunks.group", "chunks.next"])?;
        match joins {
            Some(joins) => g.cond_br(joins, body, latch)?,
            None => g.br(body)?,
        }
        g.at(body);
        let last = if grouping { last } else { self.first_lane(last, "last.u")? };
        let last = g.cmp(IntPredicate::NE, last, g.i32(0), "is_last")?;
        let bytes = g.select(last, left, limit, "chunk")?.into_int_value();
        self.post_piece(post, Piece { dst, src, bytes }, Some(last), options)?;
        let mut next = [
            g.add(dst, bytes, "dst.next")?,
            g.add(src, bytes, "src.next")?,
            g.sub(left, bytes, "left.next")?, // 0 after the last
        ];
        let posted = g.here()?;
        g.br(latch)?;
        g.at(latch);
        if joins.is_some() {
            for (value, kept) in next.iter_mut().zip([dst, src, left]) {
                *value = g.phi(i64_ty, &[(&kept, head), (&*value, posted)], "kept")?.as_basic_value().into_int_value();
            }
        }
        let open = g.cmp(IntPredicate::NE, next[2], g.i64(0), "open")?;
        let rest = self.ballot(open, "pending.rest")?;
        for (phi, value) in phis.into_iter().zip(next) {
            phi.add_incoming(&[(&value, latch)]);
        }
        pending.add_incoming(&[(&rest, latch)]);
        let more = g.cmp(IntPredicate::NE, rest, rest.get_type().const_zero(), "chunks.more")?;
        g.cond_br(more, head, done)?;
        g.at(done);
        Ok(())
    }

    /// Does this lane post in this round, given its last flag (32-bit) and what it has left?
    fn joins_round(&self, last: Int<'ctx>, left: Int<'ctx>, pending: Int<'ctx>, grouping: bool) -> Result<Int<'ctx>> {
        let g = &self.g;
        let open = g.cmp(IntPredicate::NE, left, g.i64(0), "open")?;
        if grouping {
            return Ok(open);
        }
        let first = self.lane_value(last, pending, "last.first")?;
        let same = g.cmp(IntPredicate::EQ, last, first, "same")?;
        g.and(same, open, "joins")
    }

    /// Posts one packet a lane for the active lanes; those that share one queue by promise share the last flag.
    fn post_piece(
        &self,
        post: &Post<'ctx>,
        piece: Piece<'ctx>,
        last: Option<Int<'ctx>>,
        options: &PostOptions,
    ) -> Result<()> {
        let g = &self.g;
        let wanted = [options.local_signal, options.remote_signal];
        let write = |ring, at| self.write_unit(ring, at, self.copy_dwords(piece)?);
        let body = Some(Body { bytes: g.i32(self.facts.unit_bytes as u32), write: &write });
        if self.needs_grouping(options, post.peer, post.queue) {
            let queue = self.queue(post.peer, post.queue.number)?;
            let signals = self.signals(post.peer, post.queue.number, wanted, last)?;
            let key = self.queue_key(post.peer, post.queue, last)?;
            return self.post_parallel(&queue, key, body, &signals, How::of(options));
        }
        let (peer, number) = self.uniform_queue(post.peer, post.queue)?;
        let group = self.group(options)?;
        let queue = self.queue(peer, number)?;
        let signals = self.signals(peer, number, wanted, last)?;
        self.post_group(&queue, &group, body, &signals, How::of(options))
    }
}

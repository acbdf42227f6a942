//! Posting copies and signals.
//!
//! Must hold: copies of zero bytes post nothing, signals included, and their lanes leave the group; a copy above the
//! packet limit becomes chunks, each with its own reservation and doorbell, of which only the last carries signals; lanes
//! on their last chunk and lanes that are not form separate groups, so each group's posting is uniform.

use inkwell::IntPredicate;
use inkwell::values::PointerValue;
use tilewright_target::mori_abi::sdma_queue_device_handle as handle;

use super::lanes::Group;
use super::queue::Queue;
use super::{Coop, Int, Result, Sdma, ThreadMode};

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
    /// Queue number towards it.
    pub queue: u32,
    /// Address written, 64-bit.
    pub dst: Int<'ctx>,
    /// Address read, 64-bit.
    pub src: Int<'ctx>,
    /// Size in bytes, 64-bit.
    pub bytes: Int<'ctx>,
}

/// Signals of a group.
pub(crate) struct Signals<'ctx> {
    /// Addresses of the slots to add one to: local before remote.
    slots: Vec<Int<'ctx>>,
    /// Posted at all? `None`: yes. The same for all lanes of the group.
    when: Option<Int<'ctx>>,
}

/// Where the packets of a group lie in what it reserves; all 32-bit byte counts but `total`.
#[derive(Clone, Copy)]
pub(crate) struct Packets<'ctx> {
    /// From one lane's packets to the next.
    stride: Int<'ctx>,
    /// All lanes' packets.
    lanes: Int<'ctx>,
    /// Everything, the group's signals included; 64-bit.
    pub(crate) total: Int<'ctx>,
}

/// The part of a copy that one packet carries.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'ctx> {
    pub(crate) dst: Int<'ctx>,
    pub(crate) src: Int<'ctx>,
    pub(crate) bytes: Int<'ctx>,
}

impl<'ctx> Sdma<'_, 'ctx> {
    /// Posts a copy (mori's put and get, which differ only in whose addresses they are given).
    pub fn post(&self, post: &Post<'ctx>, options: &PostOptions) -> Result<()> {
        self.g.mark_convergent();
        let acts = self.acts(options.coop)?;
        let wanted = match (options.never_empty, acts) {
            (true, acts) => acts,
            (false, acts) => {
                let some = self.g.cmp(IntPredicate::NE, post.bytes, self.g.i64(0), "some")?;
                Some(match acts {
                    Some(acts) => self.g.and(acts, some, "posts")?,
                    None => some,
                })
            }
        };
        match wanted {
            Some(wanted) => self.g.if_then(wanted, "post", || self.post_active(post, options)),
            None => self.post_active(post, options),
        }
    }

    /// Adds one to our slot of the peer's signals, by a packet of its own: the `notify` of a copy of zero bytes.
    pub fn post_signal(&self, peer: Int<'ctx>, queue: u32, options: &PostOptions) -> Result<()> {
        self.g.mark_convergent();
        match self.acts(options.coop)? {
            Some(acts) => self.g.if_then(acts, "signal", || self.signal_active(peer, queue, options)),
            None => self.signal_active(peer, queue, options),
        }
    }

    fn signal_active(&self, peer: Int<'ctx>, queue: u32, options: &PostOptions) -> Result<()> {
        if self.needs_grouping(options) {
            let signals = Signals { slots: vec![self.remote_slot(peer, queue)?], when: None };
            return self.post_parallel(&self.queue(peer, queue)?, peer, None, &signals, options);
        }
        self.signal_group(peer, queue, options)
    }

    /// Runs `body` once for each distinct peer among the active lanes, with exactly the lanes of that peer active.
    ///
    /// All lanes stay in the loop until none is left: were each to leave it after its turn, LLVM could move the body behind
    /// the loop, where the lanes of all peers meet again.
    pub(crate) fn for_each_peer(&self, peer: Int<'ctx>, body: impl FnOnce() -> Result<()>) -> Result<()> {
        let g = &self.g;
        let before = g.here()?;
        let all = self.ballot(g.int(1, 1), "pending.all")?;
        let [head, done] = g.blocks(["peers", "peers.end"])?;
        g.br(head)?;
        g.at(head);
        let phi = g.phi(all.get_type(), &[(&all, before)], "pending")?;
        let pending = phi.as_basic_value().into_int_value();
        let first = self.lane_value(peer, pending, "peer.first")?;
        let mine = g.cmp(IntPredicate::EQ, peer, first, "peer.mine")?;
        let served = self.ballot(mine, "served")?;
        let rest = g.and(pending, g.builder.build_not(served, "")?, "pending.rest")?;
        g.if_then(mine, "peers.group", body)?;
        phi.add_incoming(&[(&rest, g.here()?)]);
        let more = g.cmp(IntPredicate::NE, rest, rest.get_type().const_zero(), "peers.more")?;
        g.cond_br(more, head, done)?;
        g.at(done);
        Ok(())
    }

    fn signal_group(&self, peer: Int<'ctx>, queue: u32, options: &PostOptions) -> Result<()> {
        let peer = self.first_lane(peer, "peer.u")?;
        let group = self.group(options)?;
        let write = || {
            let signals = Signals { slots: vec![self.remote_slot(peer, queue)?], when: None };
            self.post_group(&self.queue(peer, queue)?, &self.one_lane(), None, &signals, options)
        };
        match group.leads {
            Some(leads) => self.g.if_then(leads, "signal.lead", write),
            None => write(),
        }
    }

    fn needs_grouping(&self, options: &PostOptions) -> bool {
        options.coop == Coop::Thread && options.mode == ThreadMode::Independent
    }

    fn group(&self, options: &PostOptions) -> Result<Group<'ctx>> {
        match options.coop {
            Coop::Thread => self.active_group(),
            Coop::Warp | Coop::Block => Ok(self.one_lane()),
        }
    }

    /// Posts for the lanes that are active here, all with at least one byte.
    fn post_active(&self, post: &Post<'ctx>, options: &PostOptions) -> Result<()> {
        let limit = u64::from(self.facts.max_copy_bytes);
        let chunked = options.max_bytes.is_none_or(|max| max > limit);
        let piece = Piece { dst: post.dst, src: post.src, bytes: post.bytes };
        match (chunked, self.needs_grouping(options)) {
            (true, _) => self.post_chunks(post, piece, options),
            (false, _) => self.post_piece(post, piece, None, options),
        }
    }

    /// Repeats until every lane has posted its last chunk. Under one queue each round posts for the lanes that are, like the
    /// first pending one, on their last chunk or not; otherwise for all. As in [`Sdma::for_each_peer`], no lane leaves early.
    fn post_chunks(&self, post: &Post<'ctx>, whole: Piece<'ctx>, options: &PostOptions) -> Result<()> {
        let g = &self.g;
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
        let joins = self.joins_round(last, left, pending.as_basic_value().into_int_value(), options)?;
        let [body, latch] = g.blocks(["chunks.group", "chunks.next"])?;
        match joins {
            Some(joins) => g.cond_br(joins, body, latch)?,
            None => g.br(body)?,
        }
        g.at(body);
        let last = if self.needs_grouping(options) { last } else { self.first_lane(last, "last.u")? };
        let last = g.cmp(IntPredicate::NE, last, g.i32(0), "is_last")?;
        let bytes = g.select(last, left, limit, "chunk")?.into_int_value();
        self.post_piece(post, Piece { dst, src, bytes }, Some(last), options)?;
        let moved = [
            g.add(dst, bytes, "dst.next")?,
            g.add(src, bytes, "src.next")?,
            g.sub(left, bytes, "left.next")?, // 0 after the last
        ];
        let posted = g.here()?;
        g.br(latch)?;
        g.at(latch);
        let mut next = moved;
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

    /// Does this lane post in this round, given its last flag (32-bit) and what it has left? `None`: there is one lane.
    fn joins_round(
        &self,
        last: Int<'ctx>,
        left: Int<'ctx>,
        pending: Int<'ctx>,
        options: &PostOptions,
    ) -> Result<Option<Int<'ctx>>> {
        if options.coop != Coop::Thread {
            return Ok(None);
        }
        let g = &self.g;
        let open = g.cmp(IntPredicate::NE, left, g.i64(0), "open")?;
        if options.mode == ThreadMode::Independent {
            return Ok(Some(open));
        }
        let first = self.lane_value(last, pending, "last.first")?;
        let same = g.cmp(IntPredicate::EQ, last, first, "same")?;
        Ok(Some(g.and(same, open, "joins")?))
    }

    /// Posts one packet a lane for the active lanes; under [`ThreadMode::SameQueue`] they share the last flag.
    fn post_piece(
        &self,
        post: &Post<'ctx>,
        piece: Piece<'ctx>,
        last: Option<Int<'ctx>>,
        options: &PostOptions,
    ) -> Result<()> {
        let g = &self.g;
        let grouping = self.needs_grouping(options);
        let peer = if grouping { post.peer } else { self.first_lane(post.peer, "peer.u")? };
        let group = if grouping { None } else { Some(self.group(options)?) };
        let queue = self.queue(peer, post.queue)?;
        let mut slots = Vec::new();
        if options.local_signal {
            slots.push(self.local_slot(self.lsa_rank()?, post.queue)?);
        }
        if options.remote_signal {
            slots.push(self.remote_slot(peer, post.queue)?);
        }
        let when = if slots.is_empty() { None } else { last };
        let signals = Signals { slots, when };
        match group {
            Some(group) => self.post_group(&queue, &group, Some(piece), &signals, options),
            None => {
                // Peer and last flag in one word: ranks of a node fit 31 bits.
                let key = match last {
                    Some(last) => {
                        let flag = g.builder.build_int_z_extend(last, g.context.i32_type(), "")?;
                        g.or(g.shl(peer, 1, "")?, flag, "key")?
                    }
                    None => peer,
                };
                self.post_parallel(&queue, key, Some(piece), &signals, options)
            }
        }
    }

    /// Reserves, writes and (unless aggregating) publishes one group's packets.
    fn post_group(
        &self,
        queue: &Queue<'ctx>,
        group: &Group<'ctx>,
        piece: Option<Piece<'ctx>>,
        signals: &Signals<'ctx>,
        options: &PostOptions,
    ) -> Result<()> {
        let g = &self.g;
        let packets = self.packets(group, piece.is_some(), signals, options)?;
        let base = self.reserve(queue, group, packets.total)?;
        let ring = self.queue_ptr(queue, handle::QUEUE_BUF, "ring")?;
        self.write_packets(ring, base, group, &packets, piece, signals, options)?;
        self.stores_done()?;
        if options.aggregate {
            return Ok(());
        }
        let end = g.add(base, packets.total, "end")?;
        match group.leads {
            Some(leads) => g.if_then(leads, "publish", || self.publish(queue, base, end)),
            None => self.publish(queue, base, end),
        }
    }

    /// How the packets of a group lie. Per copy: every lane's stride holds its signals. Otherwise the copies lie side by
    /// side, with the signals behind them.
    pub(crate) fn packets(
        &self,
        group: &Group<'ctx>,
        copies: bool,
        signals: &Signals<'ctx>,
        options: &PostOptions,
    ) -> Result<Packets<'ctx>> {
        let g = &self.g;
        let unit = self.facts.unit_bytes as u32;
        let mut signal_bytes = g.i32(unit * signals.slots.len() as u32);
        if let Some(when) = signals.when {
            signal_bytes = g.select(when, signal_bytes, g.i32(0), "signal_bytes")?.into_int_value();
        }
        let copy_bytes = g.i32(if copies { unit } else { 0 });
        let (stride, tail) = match options.signal_per_copy && copies {
            true => (g.add(copy_bytes, signal_bytes, "stride")?, g.i32(0)),
            false => (copy_bytes, signal_bytes),
        };
        let lanes = g.mul(group.count, stride, "lanes.bytes")?;
        let total = g.zext64(g.add(lanes, tail, "total")?, "total.wide")?;
        Ok(Packets { stride, lanes, total })
    }

    /// Writes this lane's packets, and the first lane of the group its signals, from `base` on.
    #[expect(clippy::too_many_arguments, reason = "all of them vary, and both ways of posting write the same")]
    pub(crate) fn write_packets(
        &self,
        ring: PointerValue<'ctx>,
        base: Int<'ctx>,
        group: &Group<'ctx>,
        packets: &Packets<'ctx>,
        piece: Option<Piece<'ctx>>,
        signals: &Signals<'ctx>,
        options: &PostOptions,
    ) -> Result<()> {
        let g = &self.g;
        let own = g.zext64(g.mul(group.index, packets.stride, "own")?, "")?;
        let mut at = g.add(base, own, "position")?;
        if let Some(piece) = piece {
            self.write_unit(ring, at, self.copy_dwords(piece)?)?;
        }
        if signals.slots.is_empty() {
            return Ok(());
        }
        let per_copy = options.signal_per_copy && piece.is_some();
        let leads = if per_copy { None } else { group.leads };
        at = match per_copy {
            true => g.add(at, g.i64(self.facts.unit_bytes), "signal.position")?,
            false => g.add(base, g.zext64(packets.lanes, "")?, "signal.position")?,
        };
        let write = || self.write_signals(ring, at, &signals.slots);
        match (leads, signals.when) {
            (Some(leads), Some(when)) => g.if_then(g.and(leads, when, "signals")?, "signals", write),
            (Some(one), None) | (None, Some(one)) => g.if_then(one, "signals", write),
            (None, None) => write(),
        }
    }

    fn write_signals(&self, ring: PointerValue<'ctx>, at: Int<'ctx>, slots: &[Int<'ctx>]) -> Result<()> {
        for (number, slot) in slots.iter().enumerate() {
            let skip = self.g.i64(self.facts.unit_bytes * number as u64);
            self.write_unit(ring, self.g.add(at, skip, "")?, self.atomic_dwords(*slot)?)?;
        }
        Ok(())
    }
}

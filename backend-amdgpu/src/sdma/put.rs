//! Posting copies and signals.
//!
//! Must hold: copies of zero bytes post nothing, signals included, and their lanes leave the group; a copy above the
//! packet limit becomes chunks, each with its own reservation and doorbell, of which only the last carries signals; lanes
//! on their last chunk and lanes that are not form separate groups, so each group's posting is uniform.

use inkwell::IntPredicate;
use inkwell::values::PointerValue;
use tilewright_target::mori_abi::{SIGNAL_BYTES, in_dev_comm, sdma_context, sdma_queue_device_handle as handle};

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
struct Signals<'ctx> {
    /// Addresses of the slots to add one to: local before remote.
    slots: Vec<Int<'ctx>>,
    /// Posted at all? `None`: yes. Uniform.
    when: Option<Int<'ctx>>,
}

/// The part of a copy that one packet carries.
#[derive(Clone, Copy)]
struct Piece<'ctx> {
    dst: Int<'ctx>,
    src: Int<'ctx>,
    bytes: Int<'ctx>,
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
            return self.for_each_peer(peer, || self.signal_group(peer, queue, options));
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
            (false, true) => self.for_each_peer(post.peer, || self.post_piece(post, piece, None, options)),
            (false, false) => self.post_piece(post, piece, None, options),
        }
    }

    /// Repeats until every lane has posted its last chunk; each round posts for the lanes that have the first pending
    /// lane's queue and are, like it, on their last chunk or not. As in [`Sdma::for_each_peer`], no lane leaves early.
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
        let joins = self.joins_first(post.peer, last, left, pending.as_basic_value().into_int_value(), options)?;
        let [body, latch] = g.blocks(["chunks.group", "chunks.next"])?;
        match joins {
            Some(joins) => g.cond_br(joins, body, latch)?,
            None => g.br(body)?,
        }
        g.at(body);
        let last = g.cmp(IntPredicate::NE, self.first_lane(last, "last.u")?, g.i32(0), "is_last")?;
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

    /// Does this lane post together with the first pending one, given its last flag (32-bit) and what it has left? `None`:
    /// there is one lane.
    fn joins_first(
        &self,
        peer: Int<'ctx>,
        last: Int<'ctx>,
        left: Int<'ctx>,
        pending: Int<'ctx>,
        options: &PostOptions,
    ) -> Result<Option<Int<'ctx>>> {
        let g = &self.g;
        let key = match (options.coop, options.mode) {
            (Coop::Warp | Coop::Block, _) => return Ok(None),
            (Coop::Thread, ThreadMode::SameQueue) => last,
            // Peer and last flag in one word: ranks of a node fit 31 bits.
            (Coop::Thread, ThreadMode::Independent) => g.or(g.shl(peer, 1, "")?, last, "key")?,
        };
        let first = self.lane_value(key, pending, "key.first")?;
        let same = g.cmp(IntPredicate::EQ, key, first, "same")?;
        let open = g.cmp(IntPredicate::NE, left, g.i64(0), "open")?;
        Ok(Some(g.and(same, open, "joins")?))
    }

    /// Posts one packet a lane for the active lanes, which share a queue and the last flag.
    fn post_piece(
        &self,
        post: &Post<'ctx>,
        piece: Piece<'ctx>,
        last: Option<Int<'ctx>>,
        options: &PostOptions,
    ) -> Result<()> {
        let peer = self.first_lane(post.peer, "peer.u")?;
        let group = self.group(options)?;
        let queue = self.queue(peer, post.queue)?;
        let mut slots = Vec::new();
        if options.local_signal {
            slots.push(self.local_slot(self.lsa_rank()?, post.queue)?);
        }
        if options.remote_signal {
            slots.push(self.remote_slot(peer, post.queue)?);
        }
        let when = if slots.is_empty() { None } else { last };
        self.post_group(&queue, &group, Some(piece), &Signals { slots, when }, options)
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
        let unit = self.facts.unit_bytes as u32;
        let mut signal_bytes = g.i32(unit * signals.slots.len() as u32);
        if let Some(when) = signals.when {
            signal_bytes = g.select(when, signal_bytes, g.i32(0), "signal_bytes")?.into_int_value();
        }
        let copy_bytes = g.i32(if piece.is_some() { unit } else { 0 });
        // Per copy: every lane's stride holds its signals. Otherwise the copies lie side by side, signals behind them.
        let (stride, tail) = match options.signal_per_copy && piece.is_some() {
            true => (g.add(copy_bytes, signal_bytes, "stride")?, g.i32(0)),
            false => (copy_bytes, signal_bytes),
        };
        let lanes_bytes = g.mul(group.count, stride, "lanes.bytes")?;
        let total = g.zext64(g.add(lanes_bytes, tail, "total")?, "total.wide")?;
        let base = self.reserve(queue, group, total)?;
        let ring = self.queue_ptr(queue, handle::QUEUE_BUF, "ring")?;
        let own = g.zext64(g.mul(group.index, stride, "own")?, "")?;
        let mut at = g.add(base, own, "position")?;
        if let Some(piece) = piece {
            self.write_unit(ring, at, self.copy_dwords(piece)?)?;
        }
        let per_copy = options.signal_per_copy && piece.is_some();
        if !signals.slots.is_empty() {
            let leads = if per_copy { None } else { group.leads };
            at = match per_copy {
                true => g.add(at, g.i64(unit.into()), "signal.position")?,
                false => g.add(base, g.zext64(lanes_bytes, "")?, "signal.position")?,
            };
            let write = || self.write_signals(ring, at, &signals.slots);
            match (leads, signals.when) {
                (Some(leads), Some(when)) => g.if_then(g.and(leads, when, "signals")?, "signals", write)?,
                (Some(one), None) | (None, Some(one)) => g.if_then(one, "signals", write)?,
                (None, None) => write()?,
            }
        }
        self.stores_done()?;
        if options.aggregate {
            return Ok(());
        }
        let end = g.add(base, total, "end")?;
        match group.leads {
            Some(leads) => g.if_then(leads, "publish", || self.publish(queue, base, end)),
            None => self.publish(queue, base, end),
        }
    }

    fn write_signals(&self, ring: PointerValue<'ctx>, at: Int<'ctx>, slots: &[Int<'ctx>]) -> Result<()> {
        for (number, slot) in slots.iter().enumerate() {
            let skip = self.g.i64(self.facts.unit_bytes * number as u64);
            self.write_unit(ring, self.g.add(at, skip, "")?, self.atomic_dwords(*slot)?)?;
        }
        Ok(())
    }

    /// A linear copy packet of seven dwords and one zero dword, which is a NOP.
    fn copy_dwords(&self, piece: Piece<'ctx>) -> Result<[Int<'ctx>; 8]> {
        let g = &self.g;
        let posted = &self.facts.posted;
        let size = g.sub(g.trunc32(piece.bytes, "")?, g.i32(1), "bytes_minus_1")?;
        let (src_lo, src_hi) = self.halves(piece.src, "src")?;
        let (dst_lo, dst_hi) = self.halves(piece.dst, "dst")?;
        Ok([g.i32(posted.copy_header), size, g.i32(posted.copy_parameter), src_lo, src_hi, dst_lo, dst_hi, g.i32(0)])
    }

    /// A 64-bit atomic add of one.
    fn atomic_dwords(&self, slot: Int<'ctx>) -> Result<[Int<'ctx>; 8]> {
        let zero = self.g.i32(0);
        let (lo, hi) = self.halves(slot, "slot")?;
        Ok([self.g.i32(self.facts.posted.atomic_add64_header), lo, hi, self.g.i32(1), zero, zero, zero, zero])
    }

    fn halves(&self, value: Int<'ctx>, name: &str) -> Result<(Int<'ctx>, Int<'ctx>)> {
        let low = self.g.trunc32(value, &format!("{name}.lo"))?;
        let high = self.g.trunc32(self.g.lshr(value, 32, "")?, &format!("{name}.hi"))?;
        Ok((low, high))
    }

    /// Address of the slot in our own pool that counts signals of `sender` on a queue.
    pub(crate) fn local_slot(&self, sender: Int<'ctx>, queue: u32) -> Result<Int<'ctx>> {
        let pool = self.comm_ptr(in_dev_comm(sdma_context::SIGNAL_BUF), "signals")?;
        let at = self.slot_in(pool, sender, queue)?;
        Ok(self.g.builder.build_ptr_to_int(at, self.g.context.i64_type(), "slot")?)
    }

    /// Address of our slot in the pool of `peer`.
    fn remote_slot(&self, peer: Int<'ctx>, queue: u32) -> Result<Int<'ctx>> {
        let g = &self.g;
        let table = self.comm_ptr(in_dev_comm(sdma_context::PEER_SIGNAL_PTRS), "peer_signals")?;
        let at = g.offset(table, g.shl(g.zext64(peer, "")?, 3, "")?, "peer_signals.at")?;
        let pool = self.ptr_field(at, 0, "peer_pool")?;
        let at = self.slot_in(pool, self.lsa_rank()?, queue)?;
        Ok(g.builder.build_ptr_to_int(at, g.context.i64_type(), "slot")?)
    }

    pub(crate) fn slot_in(
        &self,
        pool: PointerValue<'ctx>,
        sender: Int<'ctx>,
        queue: u32,
    ) -> Result<PointerValue<'ctx>> {
        let g = &self.g;
        let row = g.mul(sender, self.num_queues()?, "row")?;
        let index = g.zext64(g.add(row, g.i32(queue), "slot.index")?, "")?;
        g.offset(pool, g.mul(index, g.i64(SIGNAL_BYTES.into()), "")?, "slot.at")
    }
}

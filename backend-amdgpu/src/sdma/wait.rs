//! Waits that the engine does: parking a queue until memory of this rank holds a value, alone or with the copy behind it.
//!
//! Must hold: a wait is followed only by what is meant to wait for it, so lanes of one wave post their waits one after the
//! other, and under the fused call each lane's copy lies right behind its wait; waits compare 32 bits, unsigned.

use inkwell::IntPredicate;
use tilewright_target::sdma::Compare;

use super::body::{Body, How, Signals};
use super::put::Piece;
use super::{Coop, Int, Post, PostOptions, QueueNo, Result, Sdma};

/// A condition on memory.
#[derive(Debug, Clone, Copy)]
pub struct WaitFor<'ctx> {
    /// Address of the word, 64-bit.
    pub at: Int<'ctx>,
    /// How `word & mask` is compared with the value.
    pub compare: Compare,
    /// The value, 32-bit.
    pub value: Int<'ctx>,
    /// The mask.
    pub mask: u32,
}

impl<'ctx> Sdma<'_, 'ctx> {
    /// Parks a queue until a condition holds. With thread scope each active lane posts, one after the other.
    pub fn post_wait(
        &self,
        wait: &WaitFor<'ctx>,
        peer: Int<'ctx>,
        queue: QueueNo<'ctx>,
        coop: Coop,
        aggregate: bool,
    ) -> Result<()> {
        self.if_all(&[self.acts(coop)?, queue.exists], "wait", || {
            self.for_each_lane(coop, || self.post_one_wait(wait, peer, queue, aggregate))
        })
    }

    /// Parks a queue until our slot for signals of `source` on queue `signal_queue` holds at least `expected` (32-bit).
    #[expect(clippy::too_many_arguments, reason = "mori's call has as many")]
    pub fn post_wait_signal(
        &self,
        source: Int<'ctx>,
        signal_queue: QueueNo<'ctx>,
        expected: Int<'ctx>,
        peer: Int<'ctx>,
        queue: QueueNo<'ctx>,
        coop: Coop,
        aggregate: bool,
    ) -> Result<()> {
        self.if_all(&[signal_queue.exists], "wait_signal", || {
            let at = self.local_slot(source, signal_queue.number)?;
            let wait = WaitFor { at, compare: Compare::Ge, value: expected, mask: u32::MAX };
            self.post_wait(&wait, peer, queue, coop, aggregate)
        })
    }

    /// The wait of the only active lane.
    fn post_one_wait(
        &self,
        wait: &WaitFor<'ctx>,
        peer: Int<'ctx>,
        queue: QueueNo<'ctx>,
        aggregate: bool,
    ) -> Result<()> {
        let (peer, number) = self.uniform_queue(peer, queue)?;
        let write = |ring, at| self.write_unit(ring, at, self.poll_dwords(wait)?);
        let body = Body { bytes: self.g.i32(self.facts.unit_bytes as u32), write: &write };
        let how = How { aggregate, per_lane: false };
        self.post_group(&self.queue(peer, number)?, &self.one_lane(), Some(body), &Signals::NONE, how)
    }

    /// Posts for each active lane a wait and the copy behind it, in one reservation; what a copy of zero bytes leaves is the
    /// wait and the signals. Of the options, coop, mode, aggregate and signal_per_copy are not looked at.
    ///
    /// Lanes with distinct queues post in parallel. A copy above the packet limit goes in pieces, one lane after the other, so
    /// that it waits for its own flag and those of lanes posted before it only.
    pub fn post_wait_put(&self, wait: &WaitFor<'ctx>, post: &Post<'ctx>, options: &PostOptions) -> Result<()> {
        let g = &self.g;
        let has_signal = options.local_signal || options.remote_signal;
        let limit = g.i64(self.facts.max_copy_bytes.into());
        let chunked = self.is_chunked(options.max_bytes);
        let fits = match chunked {
            true => Some(g.cmp(IntPredicate::ULE, post.bytes, limit, "fits")?),
            false => None,
        };
        let some = match options.never_empty || has_signal {
            true => None,
            false => Some(g.cmp(IntPredicate::NE, post.bytes, g.i64(0), "some")?),
        };
        self.if_all(&[post.queue.exists, fits, some], "wait_put", || self.post_fused(wait, post, options))?;
        if !chunked {
            return Ok(());
        }
        let long = g.cmp(IntPredicate::UGT, post.bytes, limit, "long")?;
        self.if_all(&[post.queue.exists, Some(long)], "wait_put.long", || {
            self.for_each_lane(Coop::Thread, || {
                self.post_one_wait(wait, post.peer, post.queue, false)?;
                self.post_one_long(post, options)
            })
        })
    }

    /// The fused post of all active lanes, none of which has more than a packet's bytes.
    fn post_fused(&self, wait: &WaitFor<'ctx>, post: &Post<'ctx>, options: &PostOptions) -> Result<()> {
        let g = &self.g;
        let unit = self.facts.unit_bytes as u32;
        // Lanes without a copy have fewer packets: their groups are apart.
        let may_be_empty = !options.never_empty && (options.local_signal || options.remote_signal);
        let copies = match may_be_empty {
            true => Some(g.cmp(IntPredicate::NE, post.bytes, g.i64(0), "copies")?),
            false => None,
        };
        let bytes = match copies {
            Some(copies) => g.select(copies, g.i32(2 * unit), g.i32(unit), "lane_bytes")?.into_int_value(),
            None => g.i32(2 * unit),
        };
        let piece = Piece { dst: post.dst, src: post.src, bytes: post.bytes };
        let write = |ring, at| {
            self.write_unit(ring, at, self.poll_dwords(wait)?)?;
            let at = g.add(at, g.i64(unit.into()), "copy.position")?;
            let copy = || self.write_unit(ring, at, self.copy_dwords(piece)?);
            match copies {
                Some(copies) => g.if_then(copies, "copy", copy),
                None => copy(),
            }
        };
        let body = Some(Body { bytes, write: &write });
        let how = How { aggregate: false, per_lane: true };
        let wanted = [options.local_signal, options.remote_signal];
        if copies.is_none() && post.peer.is_const() && post.queue.number.is_const() {
            let signals = self.signals(post.peer, post.queue.number, wanted, None)?;
            let queue = self.queue(post.peer, post.queue.number)?;
            return self.post_group(&queue, &self.active_group()?, body, &signals, how);
        }
        let signals = self.signals(post.peer, post.queue.number, wanted, None)?;
        let key = self.queue_key(post.peer, post.queue, copies)?;
        self.post_parallel(&self.queue(post.peer, post.queue.number)?, key, body, &signals, how)
    }

    /// The copy of the only active lane, in pieces of which the last carries the signals.
    fn post_one_long(&self, post: &Post<'ctx>, options: &PostOptions) -> Result<()> {
        let (peer, number) = self.uniform_queue(post.peer, post.queue)?;
        let queue = self.queue(peer, number)?;
        self.in_pieces([post.dst, post.src], post.bytes, |[dst, src], bytes, last| {
            let piece = Piece { dst, src, bytes };
            let write = |ring, at| self.write_unit(ring, at, self.copy_dwords(piece)?);
            let body = Body { bytes: self.g.i32(self.facts.unit_bytes as u32), write: &write };
            let wanted = [options.local_signal, options.remote_signal];
            let signals = self.signals(peer, number, wanted, Some(last))?;
            let how = How { aggregate: false, per_lane: false };
            self.post_group(&queue, &self.one_lane(), Some(body), &signals, how)
        })
    }

    /// Calls `post` for each piece of the only active lane's copy, in order: its addresses, its bytes (64-bit, not zero) and
    /// whether it is the last, all uniform.
    pub(crate) fn in_pieces<const N: usize>(
        &self,
        addresses: [Int<'ctx>; N],
        bytes: Int<'ctx>,
        post: impl FnOnce([Int<'ctx>; N], Int<'ctx>, Int<'ctx>) -> Result<()>,
    ) -> Result<()> {
        let g = &self.g;
        let ty = g.context.i64_type();
        let mut starts = addresses;
        for start in &mut starts {
            *start = self.first_lane(*start, "address.u")?;
        }
        let total = self.first_lane(bytes, "bytes.u")?;
        let before = g.here()?;
        let [head, done] = g.blocks(["pieces", "pieces.end"])?;
        g.br(head)?;
        g.at(head);
        let left_phi = g.phi(ty, &[(&total, before)], "left")?;
        let mut phis = Vec::with_capacity(N);
        for start in &starts {
            phis.push(g.phi(ty, &[(start, before)], "address")?);
        }
        let left = left_phi.as_basic_value().into_int_value();
        let limit = g.i64(self.facts.max_copy_bytes.into());
        let last = g.cmp(IntPredicate::ULE, left, limit, "last")?;
        let piece = g.select(last, left, limit, "piece")?.into_int_value();
        for (start, phi) in starts.iter_mut().zip(&phis) {
            *start = phi.as_basic_value().into_int_value();
        }
        post(starts, piece, last)?;
        let rest = g.sub(left, piece, "left.next")?;
        let here = g.here()?;
        for (phi, start) in phis.iter().zip(starts) {
            phi.add_incoming(&[(&g.add(start, piece, "address.next")?, here)]);
        }
        left_phi.add_incoming(&[(&rest, here)]);
        let more = g.cmp(IntPredicate::NE, rest, g.i64(0), "pieces.more")?;
        g.cond_br(more, head, done)?;
        g.at(done);
        Ok(())
    }
}

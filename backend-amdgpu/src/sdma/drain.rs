//! Committing what was posted without publishing, draining queues, and waiting for signals.
//!
//! Must hold: draining targets the committed pointer, not the write pointer (an uncommitted batch is not waited for);
//! polls sleep as mori's do; nothing here fences: whoever reads what arrived adds the acquire.

use inkwell::IntPredicate;
use inkwell::values::PointerValue;
use tilewright_target::mori_abi::{in_dev_comm, sdma_context, sdma_queue_device_handle as handle};

use super::queue::Queue;
use super::{Coop, Int, Result, Sdma};
use crate::hooks::{wave_barrier, workgroup_barrier};

impl<'ctx> Sdma<'_, 'ctx> {
    /// Rings the doorbell of one queue for everything posted to it, by the scope's first thread; with thread scope once for
    /// each distinct peer of the active lanes.
    ///
    /// Two waves must not commit one queue at the same time: mori's hangs then, and the handle has no lock.
    pub fn commit(&self, peer: Int<'ctx>, queue: u32, coop: Coop) -> Result<()> {
        self.g.mark_convergent();
        match self.acts(coop)? {
            Some(acts) => self.g.if_then(acts, "commit", || self.commit_queue(&self.queue(peer, queue)?)),
            None => self.for_each_peer(peer, || {
                let peer = self.first_lane(peer, "peer.u")?;
                let commit = || self.commit_queue(&self.queue(peer, queue)?);
                match self.active_group()?.leads {
                    Some(leads) => self.g.if_then(leads, "commit", commit),
                    None => commit(),
                }
            }),
        }
    }

    fn commit_queue(&self, queue: &Queue<'ctx>) -> Result<()> {
        let g = &self.g;
        let posted_at = self.queue_ptr(queue, handle::CACHED_WPTR, "cached_wptr")?;
        let committed_at = self.queue_ptr(queue, handle::COMMITTED_WPTR, "committed")?;
        let posted = self.load_agent(posted_at, "posted")?;
        let committed = self.load_agent(committed_at, "committed.now")?;
        let open = g.cmp(IntPredicate::NE, posted, committed, "open")?;
        g.if_then(open, "commit.ring", || self.ring(queue, posted))
    }

    /// Waits until one queue has drained to its last rung packet. With warp and block scope the first thread polls and the
    /// scope meets afterwards.
    pub fn quiet_queue(&self, peer: Int<'ctx>, queue: u32, coop: Coop) -> Result<()> {
        match self.acts(coop)? {
            Some(acts) => {
                self.g.if_then(acts, "quiet", || self.drain(&self.queue(peer, queue)?))?;
                self.meet(coop)
            }
            None => self.drain(&self.queue(peer, queue)?),
        }
    }

    /// Waits until every queue towards `peer` has drained, one after the other.
    pub fn quiet(&self, peer: Int<'ctx>, coop: Coop) -> Result<()> {
        match self.acts(coop)? {
            Some(acts) => {
                self.g.if_then(acts, "quiet", || self.drain_all(peer))?;
                self.meet(coop)
            }
            None => self.drain_all(peer),
        }
    }

    fn drain_all(&self, peer: Int<'ctx>) -> Result<()> {
        let g = &self.g;
        let from = g.here()?;
        let queues = self.num_queues()?;
        let [head, body, done] = g.blocks(["quiet.queues", "quiet.queue", "quiet.done"])?;
        g.br(head)?;
        g.at(head);
        let number = g.phi(g.context.i32_type(), &[(&g.i32(0), from)], "queue")?;
        let value = number.as_basic_value().into_int_value();
        let more = g.cmp(IntPredicate::ULT, value, queues, "more")?;
        g.cond_br(more, body, done)?;
        g.at(body);
        self.drain(&self.queue_at(peer, value)?)?;
        let next = g.add(value, g.i32(1), "queue.next")?;
        number.add_incoming(&[(&next, g.here()?)]);
        g.br(head)?;
        g.at(done);
        Ok(())
    }

    fn drain(&self, queue: &Queue<'ctx>) -> Result<()> {
        let committed = self.queue_ptr(queue, handle::COMMITTED_WPTR, "committed")?;
        let rptr = self.queue_ptr(queue, handle::RPTR, "rptr")?;
        let target = self.load_agent(committed, "target")?;
        self.poll_at_least(rptr, target, 1)
    }

    /// Each active lane polls its slot for signals of `sender` on a queue until the count is at least `expected` (64-bit).
    pub fn wait_signal(&self, sender: Int<'ctx>, queue: u32, expected: Int<'ctx>) -> Result<()> {
        let pool = self.comm_ptr(in_dev_comm(sdma_context::SIGNAL_BUF), "signals")?;
        let slot = self.slot_in(pool, sender, queue)?;
        self.poll_at_least(slot, expected, 2)
    }

    fn poll_at_least(&self, at: PointerValue<'ctx>, target: Int<'ctx>, sleep: u32) -> Result<()> {
        let g = &self.g;
        let [poll, wait, done] = g.blocks(["poll", "poll.wait", "poll.done"])?;
        g.br(poll)?;
        g.at(poll);
        let now = self.load_system(at, "now")?;
        let reached = g.cmp(IntPredicate::UGE, now, target, "reached")?;
        g.cond_br(reached, done, wait)?;
        g.at(wait);
        self.sleep(sleep)?;
        g.br(poll)?;
        g.at(done);
        Ok(())
    }

    /// All threads of the scope meet.
    fn meet(&self, coop: Coop) -> Result<()> {
        self.g.mark_convergent();
        match coop {
            Coop::Thread => Ok(()),
            Coop::Warp => wave_barrier(&self.g),
            Coop::Block => workgroup_barrier(&self.g),
        }
    }
}

//! Committing what was posted without publishing, draining queues, and waiting for signals.
//!
//! Must hold: draining targets the committed pointer, not the write pointer (an uncommitted batch is not waited for);
//! polls sleep as mori's do; nothing here fences: whoever reads what arrived adds the acquire.

use inkwell::IntPredicate;
use inkwell::values::PointerValue;
use tilewright_target::mori_abi::{in_dev_comm, sdma_context, sdma_queue_device_handle as handle};

use super::queue::Queue;
use super::{Coop, Int, QueueNo, Result, Sdma};
use crate::hooks::{wave_barrier, workgroup_barrier};

impl<'ctx> Sdma<'_, 'ctx> {
    /// Rings the doorbell of one queue for everything posted to it, by the scope's first thread; with thread scope once for
    /// each distinct queue of the active lanes.
    ///
    /// Two waves must not commit one queue at the same time: mori's hangs then, and the handle has no lock.
    pub fn commit(&self, peer: Int<'ctx>, queue: QueueNo<'ctx>, coop: Coop) -> Result<()> {
        self.if_all(&[self.acts(coop)?, queue.exists], "commit", || {
            if coop != Coop::Thread {
                return self.commit_queue(&self.queue(peer, queue.number)?);
            }
            self.for_each_group(self.queue_key(peer, queue, None)?, || {
                let (peer, number) = self.uniform_queue(peer, queue)?;
                let commit = || self.commit_queue(&self.queue(peer, number)?);
                match self.active_group()?.leads {
                    Some(leads) => self.g.if_then(leads, "commit.lead", commit),
                    None => commit(),
                }
            })
        })
    }

    /// What mori's commit does at warp and block scope: thread n of the scope rings queue n towards its peer.
    pub fn commit_all(&self, peer: Int<'ctx>, coop: Coop) -> Result<()> {
        let g = &self.g;
        let (number, others) = match coop {
            Coop::Thread | Coop::Warp => (self.lane_id()?, None),
            Coop::Block => (self.thread_x()?, self.beside_x()?),
        };
        let there = g.cmp(IntPredicate::ULT, number, self.num_queues()?, "there")?;
        let first = match others {
            Some(others) => Some(g.cmp(IntPredicate::EQ, others, g.i32(0), "first.row")?),
            None => None,
        };
        self.if_all(&[Some(there), first], "commit", || self.commit_queue(&self.queue(peer, number)?))
    }

    fn commit_queue(&self, queue: &Queue<'ctx>) -> Result<()> {
        let g = &self.g;
        let posted_at = self.queue_ptr(queue, handle::CACHED_WPTR, "cached_wptr")?;
        let committed_at = self.queue_ptr(queue, handle::COMMITTED_WPTR, "committed")?;
        let posted = self.load_agent(posted_at, "posted")?;
        let committed = self.load_agent(committed_at, "committed.now")?;
        let open = g.cmp(IntPredicate::NE, posted, committed, "open")?;
        g.if_then(open, "commit.ring", || match self.debug {
            true => self.ring_once(queue, committed, posted),
            false => self.ring(queue, posted),
        })
    }

    /// Waits until one queue has drained to its last rung packet. With warp and block scope the first thread polls and the
    /// scope meets afterwards.
    pub fn quiet_queue(&self, peer: Int<'ctx>, queue: QueueNo<'ctx>, coop: Coop) -> Result<()> {
        self.if_all(&[self.acts(coop)?, queue.exists], "quiet", || self.drain(&self.queue(peer, queue.number)?))?;
        self.meet(coop)
    }

    /// Waits until every queue towards `peer` has drained: with thread scope each lane waits for one after the other, with
    /// warp and block scope the active lanes of the first wave have one each (or several, if they are fewer), and the scope
    /// meets afterwards.
    pub fn quiet(&self, peer: Int<'ctx>, coop: Coop) -> Result<()> {
        let g = &self.g;
        if coop == Coop::Thread {
            return self.drain_every(peer, g.i32(0), g.i32(1));
        }
        let polls = match coop {
            Coop::Block => Some(g.cmp(IntPredicate::ULT, self.thread_number()?, g.i32(self.wave), "polls")?),
            Coop::Thread | Coop::Warp => None,
        };
        self.if_all(&[polls], "quiet", || {
            let group = self.active_group()?;
            self.drain_every(peer, group.index, group.count)
        })?;
        self.meet(coop)
    }

    /// Drains the queues `first`, `first + step` and so on (32-bit).
    fn drain_every(&self, peer: Int<'ctx>, first: Int<'ctx>, step: Int<'ctx>) -> Result<()> {
        let g = &self.g;
        let from = g.here()?;
        let queues = self.num_queues()?;
        let [head, body, done] = g.blocks(["quiet.queues", "quiet.queue", "quiet.done"])?;
        g.br(head)?;
        g.at(head);
        let number = g.phi(g.context.i32_type(), &[(&first, from)], "queue")?;
        let value = number.as_basic_value().into_int_value();
        let more = g.cmp(IntPredicate::ULT, value, queues, "more")?;
        g.cond_br(more, body, done)?;
        g.at(body);
        self.drain(&self.queue(peer, value)?)?;
        let next = g.add(value, step, "queue.next")?;
        number.add_incoming(&[(&next, g.here()?)]);
        g.br(head)?;
        g.at(done);
        Ok(())
    }

    fn drain(&self, queue: &Queue<'ctx>) -> Result<()> {
        self.check_committed(queue)?;
        let committed = self.queue_ptr(queue, handle::COMMITTED_WPTR, "committed")?;
        let rptr = self.queue_ptr(queue, handle::RPTR, "rptr")?;
        let target = self.load_agent(committed, "target")?;
        self.poll_at_least(rptr, target, 1)
    }

    /// Each active lane polls its slot for signals of `sender` on a queue until the count is at least `expected` (64-bit).
    pub fn wait_signal(&self, sender: Int<'ctx>, queue: QueueNo<'ctx>, expected: Int<'ctx>) -> Result<()> {
        self.check_source(sender)?;
        self.if_all(&[queue.exists], "wait", || {
            let pool = self.comm_ptr(in_dev_comm(sdma_context::SIGNAL_BUF), "signals")?;
            let slot = self.slot_in(pool, sender, queue.number)?;
            self.poll_at_least(slot, expected, 2)
        })
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

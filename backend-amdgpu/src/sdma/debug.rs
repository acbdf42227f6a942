//! Checks of the debug build: a call that would hang or corrupt memory traps where it stands, with a code.
//!
//! Must hold: without the debug build nothing here emits an instruction; a trap is reached by the lanes at fault only; a
//! correct kernel does not trap, whatever the schedule. What another wave might still mend (a commit that is on its way) is
//! given [`PATIENCE`] polls in which the engine has nothing to do.

use inkwell::IntPredicate;
use tilewright_target::mori_abi::{dev_comm, sdma_queue_device_handle as handle};
use tilewright_target::sdma::Misuse;

use super::lanes::Group;
use super::queue::Queue;
use super::{Int, Post, PostOptions, QueueNo, Result, Sdma, ThreadMode};
use crate::sdma::Coop;

/// Polls of an idle queue after which nobody is coming any more. A wave that has reserved publishes within a few hundred
/// instructions.
const PATIENCE: u64 = 4096;

impl<'ctx> Sdma<'_, 'ctx> {
    /// Traps where the condition holds; it is only built in the debug build.
    pub(crate) fn forbid(&self, misuse: Misuse, when: impl FnOnce() -> Result<Int<'ctx>>) -> Result<()> {
        if !self.debug {
            return Ok(());
        }
        let when = when()?;
        self.g.if_then(when, "misuse", || self.trap(misuse))
    }

    fn trap(&self, misuse: Misuse) -> Result<()> {
        let g = &self.g;
        let function = g.context.void_type().fn_type(&[], false);
        let text = format!("s_trap {}", misuse.code());
        let asm = g.context.create_inline_asm(function, text, String::new(), true, false, None, false);
        g.builder.build_indirect_call(function, asm, &[], "")?;
        Ok(())
    }

    /// A put of no bytes posts nothing, so it must not be asked for a signal.
    pub(crate) fn check_empty(&self, options: &PostOptions, queue: QueueNo<'ctx>, bytes: Int<'ctx>) -> Result<()> {
        if !self.debug || !(options.local_signal || options.remote_signal) {
            return Ok(());
        }
        let g = &self.g;
        let acts = self.acts(options.coop)?.unwrap_or(g.int(1, 1));
        let acts = g.and(acts, queue.exists.unwrap_or(g.int(1, 1)), "")?;
        self.forbid(Misuse::EmptyPutSignals, || g.and(acts, g.cmp(IntPredicate::EQ, bytes, g.i64(0), "")?, "empty"))
    }

    /// What a put must not be: of zero bytes with a signal, or with lanes apart that promised one queue.
    pub(crate) fn check_post(&self, post: &Post<'ctx>, options: &PostOptions) -> Result<()> {
        self.check_empty(options, post.queue, post.bytes)?;
        if options.coop != Coop::Thread || options.mode != ThreadMode::SameQueue {
            return Ok(());
        }
        let g = &self.g;
        self.forbid(Misuse::SameQueueBroken, || {
            let (peer, number) = self.uniform_queue(post.peer, post.queue)?;
            let other = g.cmp(IntPredicate::NE, post.peer, peer, "")?;
            g.or(other, g.cmp(IntPredicate::NE, post.queue.number, number, "")?, "apart")
        })
    }

    /// A source rank must be one of the node's.
    pub(crate) fn check_source(&self, source: Int<'ctx>) -> Result<()> {
        self.check_rank(Misuse::SourceRank, source)
    }

    /// A rank (32-bit) must be one of the node's.
    pub(crate) fn check_rank(&self, misuse: Misuse, rank: Int<'ctx>) -> Result<()> {
        self.forbid(misuse, || {
            let ranks = self.comm_u32(dev_comm::LSA_SIZE, "lsa_size")?;
            self.g.cmp(IntPredicate::UGE, rank, ranks, "no_rank")
        })
    }

    /// A count (64-bit) that an engine compares has 32 bits.
    pub(crate) fn check_expected(&self, expected: Int<'ctx>) -> Result<()> {
        self.forbid(Misuse::ExpectedTooLarge, || {
            self.g.cmp(IntPredicate::UGT, expected, self.g.i64(u32::MAX.into()), "too_large")
        })
    }

    /// An aggregate batch up to `end` (64-bit) must fit the ring: only a commit lets the engine make room. Looked at by
    /// the lanes that lead, before they wait for that room.
    pub(crate) fn check_batch(&self, queue: &Queue<'ctx>, end: Int<'ctx>, leads: Option<Int<'ctx>>) -> Result<()> {
        self.forbid(Misuse::BatchOverRing, || {
            let committed = self.load_agent(self.queue_ptr(queue, handle::COMMITTED_WPTR, "")?, "committed.now")?;
            let over = self.is_short(end, committed)?;
            match leads {
                Some(leads) => self.g.and(leads, over, "over"),
                None => Ok(over),
            }
        })
    }

    /// Before a drain: waits until everything that was posted is committed.
    pub(crate) fn check_committed(&self, queue: &Queue<'ctx>) -> Result<()> {
        if !self.debug {
            return Ok(());
        }
        let posted = self.queue_ptr(queue, handle::CACHED_WPTR, "")?;
        let committed = self.queue_ptr(queue, handle::COMMITTED_WPTR, "")?;
        self.patiently(Misuse::UncommittedAtQuiet, queue, || {
            let posted = self.load_agent(posted, "posted.now")?;
            self.g.cmp(IntPredicate::NE, posted, self.load_agent(committed, "committed.now")?, "open")
        })
    }

    /// Before a single group waits for its turn: waits until what lies before `base` (64-bit) is published.
    pub(crate) fn check_turn(&self, queue: &Queue<'ctx>, base: Int<'ctx>, group: &Group<'ctx>) -> Result<()> {
        if !self.debug {
            return Ok(());
        }
        let committed = self.queue_ptr(queue, handle::COMMITTED_WPTR, "")?;
        let leads = group.leads.unwrap_or(self.g.int(1, 1));
        self.g.if_then(leads, "turn.check", || {
            self.patiently(Misuse::RingingBehindAggregate, queue, || {
                self.g.cmp(IntPredicate::NE, self.load_agent(committed, "committed.now")?, base, "waits")
            })
        })
    }

    /// One round of a loop in which groups ask for their turn: the patience that is left, fewer by one if the group was
    /// refused and the engine has nothing to do. Traps when none is left.
    pub(crate) fn lose_patience(&self, queue: &Queue<'ctx>, left: Int<'ctx>, refused: Int<'ctx>) -> Result<Int<'ctx>> {
        let g = &self.g;
        let none = g.int(1, 0);
        let stuck = self.flag_if(refused, none, "patience", || self.idle(queue))?;
        self.forbid(Misuse::RingingBehindAggregate, || {
            g.and(stuck, g.cmp(IntPredicate::EQ, left, g.i64(0), "")?, "patience.over")
        })?;
        let fewer = g.sub(left, g.i64(1), "")?;
        Ok(g.select(stuck, fewer, left, "patience.next")?.into_int_value())
    }

    /// The patience to begin with.
    pub(crate) fn patience(&self) -> Int<'ctx> {
        self.g.i64(PATIENCE)
    }

    /// Has the engine read everything that was committed?
    fn idle(&self, queue: &Queue<'ctx>) -> Result<Int<'ctx>> {
        let read = self.load_system(self.queue_ptr(queue, handle::RPTR, "")?, "read")?;
        let now = self.load_agent(self.queue_ptr(queue, handle::COMMITTED_WPTR, "")?, "committed.idle")?;
        self.g.cmp(IntPredicate::EQ, read, now, "idle")
    }

    /// Polls while the condition holds; traps if the engine has long had nothing to do.
    fn patiently(&self, misuse: Misuse, queue: &Queue<'ctx>, waits: impl FnOnce() -> Result<Int<'ctx>>) -> Result<()> {
        let g = &self.g;
        let before = g.here()?;
        let [head, again, done] = g.blocks(["patience", "patience.again", "patience.done"])?;
        g.br(head)?;
        g.at(head);
        let left_phi = g.phi(g.context.i64_type(), &[(&self.patience(), before)], "patience.left")?;
        let left = left_phi.as_basic_value().into_int_value();
        let waits = waits()?;
        g.cond_br(waits, again, done)?;
        g.at(again);
        let idle = self.idle(queue)?;
        self.forbid(misuse, || g.and(idle, g.cmp(IntPredicate::EQ, left, g.i64(0), "")?, "patience.over"))?;
        self.sleep(1)?;
        let fewer = g.sub(left, g.i64(1), "")?;
        let next = g.select(idle, fewer, left, "patience.next")?.into_int_value();
        left_phi.add_incoming(&[(&next, g.here()?)]);
        g.br(head)?;
        g.at(done);
        Ok(())
    }
}

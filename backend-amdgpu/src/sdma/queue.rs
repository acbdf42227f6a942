//! One queue: its handle, reserving ring space, writing units, publishing.
//!
//! Positions are byte counters that never wrap; the ring offset is the position modulo the ring size. Must hold: space is
//! reserved before it is checked (so producers are ordered by their reservation), a producer publishes only when
//! everything before its reservation is published, and the pointers are published in the order write pointer, doorbell,
//! committed pointer, each complete before the next.

use inkwell::IntPredicate;
use inkwell::values::PointerValue;
use tilewright_backend_llvm::{Ordering, Scope};
use tilewright_target::mori_abi::{in_dev_comm, sdma_context, sdma_queue_device_handle as handle};

use tilewright_target::sdma::Misuse;

use super::lanes::Group;
use super::{Int, QueueNo, Result, Sdma};

/// Pointers of a queue's handle; loaded where they are used.
#[derive(Clone, Copy)]
pub(crate) struct Queue<'ctx> {
    /// The handle itself.
    at: PointerValue<'ctx>,
}

impl<'ctx> Sdma<'_, 'ctx> {
    /// Queue number `queue` (32-bit) towards `peer`. Whether there is one was checked before.
    pub(crate) fn queue(&self, peer: Int<'ctx>, queue: Int<'ctx>) -> Result<Queue<'ctx>> {
        let g = &self.g;
        self.check_rank(Misuse::PeerOutOfRange, peer)?;
        let table = self.comm_ptr(in_dev_comm(sdma_context::DEVICE_HANDLES), "handles")?;
        let index = self.queue_index(peer, queue)?;
        // A table of pointers: entries of ranks without SDMA are null.
        // The offset has 32 bits, so that a uniform one is an operand of the load.
        let offset = g.zext64(g.shl(index, 3, "handle.offset")?, "")?;
        let entry = g.offset(table, offset, "handle.at")?;
        Ok(Queue { at: self.ptr_field(entry, 0, "handle")? })
    }

    /// Number of a queue among all of this rank.
    fn queue_index(&self, peer: Int<'ctx>, queue: Int<'ctx>) -> Result<Int<'ctx>> {
        let row = self.g.mul(peer, self.num_queues()?, "row")?;
        self.g.add(row, queue, "queue.index")
    }

    /// A number (32-bit) that tells a lane's queue from other lanes', with a flag as its lowest bit if there is one.
    pub(crate) fn queue_key(
        &self,
        peer: Int<'ctx>,
        queue: QueueNo<'ctx>,
        flag: Option<Int<'ctx>>,
    ) -> Result<Int<'ctx>> {
        let g = &self.g;
        let key = if queue.number.is_const() { peer } else { self.queue_index(peer, queue.number)? };
        // Ranks of a node and their queues fit 31 bits.
        let Some(flag) = flag else { return Ok(key) };
        let flag = g.builder.build_int_z_extend(flag, g.context.i32_type(), "")?;
        g.or(g.shl(key, 1, "")?, flag, "key")
    }

    /// Peer and queue number of the first active lane, uniform.
    pub(crate) fn uniform_queue(&self, peer: Int<'ctx>, queue: QueueNo<'ctx>) -> Result<(Int<'ctx>, Int<'ctx>)> {
        Ok((self.first_lane(peer, "peer.u")?, self.first_lane(queue.number, "queue.u")?))
    }

    /// A queue number that is written down. The number is checked at launch (`min_queues`), never here.
    pub fn fixed_queue(&self, number: u32) -> QueueNo<'ctx> {
        QueueNo { number: self.g.i32(number), exists: None }
    }

    /// A queue number that is computed (64-bit): one that the communicator does not have makes the op do nothing. Compared
    /// unsigned, as in mori.
    pub fn computed_queue(&self, number: Int<'ctx>) -> Result<QueueNo<'ctx>> {
        let g = &self.g;
        let queues = g.zext64(self.num_queues()?, "")?;
        let exists = g.cmp(IntPredicate::ULT, number, queues, "queue.exists")?;
        self.forbid(Misuse::QueueOutOfRange, || Ok(g.builder.build_not(exists, "no_queue")?))?;
        Ok(QueueNo { number: g.trunc32(number, "queue")?, exists: Some(exists) })
    }

    /// The pointer that `offset` names in the handle.
    pub(crate) fn queue_ptr(&self, queue: &Queue<'ctx>, offset: u32, name: &str) -> Result<PointerValue<'ctx>> {
        self.ptr_field(queue.at, offset, name)
    }

    /// Where the last read position that a producer saw is kept, in the handle itself.
    pub(crate) fn read_index(&self, queue: &Queue<'ctx>) -> Result<PointerValue<'ctx>> {
        self.g.field(queue.at, handle::CACHED_HW_READ_INDEX.into(), "read_index")
    }

    /// Reserves `bytes` (64-bit, uniform) for the group and waits until the ring has room. Yields the start position,
    /// uniform.
    pub(crate) fn reserve(
        &self,
        queue: &Queue<'ctx>,
        group: &Group<'ctx>,
        bytes: Int<'ctx>,
        aggregate: bool,
    ) -> Result<Int<'ctx>> {
        let g = &self.g;
        let cached = self.queue_ptr(queue, handle::CACHED_WPTR, "cached_wptr")?;
        let hint_at = self.read_index(queue)?;
        let add = || g.atomic_add(cached, bytes, Ordering::Monotonic, Scope::AGENT, "reserved");
        let base = match group.leads {
            Some(leads) => g.if_value(leads, "reserve", add)?,
            None => add()?,
        };
        let base = self.first_lane(base, "base")?;
        let hint = self.load_agent(hint_at, "hint")?;
        let hint = self.first_lane(hint, "hint.u")?;
        let end = g.add(base, bytes, "end")?;
        if aggregate {
            self.check_batch(queue, end, group.leads)?;
        }
        let short = self.is_short(end, hint)?;
        g.if_then(short, "refresh", || {
            let rptr = self.queue_ptr(queue, handle::RPTR, "rptr")?;
            let [again, room] = g.blocks(["refresh.poll", "refresh.room"])?;
            g.br(again)?;
            g.at(again);
            let read = self.load_system(rptr, "read")?;
            let read = self.first_lane(read, "read.u")?;
            let short = self.is_short(end, read)?;
            g.cond_br(short, again, room)?;
            g.at(room);
            self.store_agent(read, hint_at) // spares the next producer this uncached read
        })?;
        Ok(base)
    }

    /// Would bytes up to `end` leave less than one unit free if the engine has read up to `read`?
    pub(crate) fn is_short(&self, end: Int<'ctx>, read: Int<'ctx>) -> Result<Int<'ctx>> {
        let in_flight = self.g.sub(end, read, "in_flight")?;
        self.g.cmp(IntPredicate::UGT, in_flight, self.g.i64(self.facts.max_in_flight_bytes), "short")
    }

    /// Writes one ring unit of eight dwords at `position` (64-bit).
    pub(crate) fn write_unit(
        &self,
        ring: PointerValue<'ctx>,
        position: Int<'ctx>,
        dwords: [Int<'ctx>; 8],
    ) -> Result<()> {
        let g = &self.g;
        // The offset fits 32 bits, so the store can use the ring's address as its uniform base.
        let low = g.trunc32(position, "position.lo")?;
        let offset = g.and(low, g.i32((self.facts.ring_bytes - 1) as u32), "ring.offset")?;
        let unit = g.offset(ring, g.zext64(offset, "")?, "unit")?;
        let align = self.facts.unit_align_bytes as u32;
        for (half, four) in dwords.chunks_exact(4).enumerate() {
            let mut vector = g.context.i32_type().vec_type(4).get_poison();
            for (lane, dword) in four.iter().enumerate() {
                vector = g.builder.build_insert_element(vector, *dword, g.i32(lane as u32), "dwords")?;
            }
            let at = g.field(unit, half as u64 * 16, "unit.half")?;
            g.store(vector, at, align)?;
        }
        Ok(())
    }

    /// Waits until everything before `base` (64-bit, uniform) is published. All active lanes poll: the branch is uniform then,
    /// and they read one address.
    pub(crate) fn await_turn(&self, queue: &Queue<'ctx>, base: Int<'ctx>) -> Result<()> {
        let g = &self.g;
        let committed = self.queue_ptr(queue, handle::COMMITTED_WPTR, "committed")?;
        let [poll, wait, turn] = g.blocks(["turn.poll", "turn.wait", "turn"])?;
        g.br(poll)?;
        g.at(poll);
        let now = self.load_agent(committed, "committed.now")?;
        let now = self.first_lane(now, "committed.u")?;
        let mine = g.cmp(IntPredicate::EQ, now, base, "my_turn")?;
        g.cond_br(mine, turn, wait)?;
        g.at(wait);
        self.sleep(1)?;
        g.br(poll)?;
        g.at(turn);
        Ok(())
    }

    /// Publishes everything from `base` to `end` (64-bit positions) if everything before is published; whether it was.
    pub(crate) fn try_publish(&self, queue: &Queue<'ctx>, base: Int<'ctx>, end: Int<'ctx>) -> Result<Int<'ctx>> {
        let committed = self.queue_ptr(queue, handle::COMMITTED_WPTR, "committed")?;
        let now = self.load_agent(committed, "committed.now")?;
        let mine = self.g.cmp(IntPredicate::EQ, now, base, "my_turn")?;
        self.g.if_then(mine, "turn.ring", || self.ring(queue, end))?;
        Ok(mine)
    }

    /// Write pointer, doorbell, committed pointer, each complete before the next. mori has no wait between them.
    pub(crate) fn ring(&self, queue: &Queue<'ctx>, end: Int<'ctx>) -> Result<()> {
        let committed = self.queue_ptr(queue, handle::COMMITTED_WPTR, "committed")?;
        self.ring_doorbell(queue, end)?;
        self.store_agent(end, committed)
    }

    /// The same in the debug build, for a commit: nobody else may have published since `from` was read.
    pub(crate) fn ring_once(&self, queue: &Queue<'ctx>, from: Int<'ctx>, end: Int<'ctx>) -> Result<()> {
        let g = &self.g;
        let committed = self.queue_ptr(queue, handle::COMMITTED_WPTR, "committed")?;
        self.ring_doorbell(queue, end)?;
        let more = g.sub(end, from, "more")?;
        let before = g.atomic_add(committed, more, Ordering::Monotonic, Scope::AGENT, "before")?;
        self.forbid(Misuse::CommittedTwice, || g.cmp(IntPredicate::NE, before, from, "moved"))
    }

    /// Write pointer and doorbell, with everything before them complete, and they, too.
    fn ring_doorbell(&self, queue: &Queue<'ctx>, end: Int<'ctx>) -> Result<()> {
        let wptr = self.queue_ptr(queue, handle::WPTR, "wptr")?;
        let doorbell = self.queue_ptr(queue, handle::DOORBELL, "doorbell")?;
        self.stores_done()?;
        self.store_agent(end, wptr)?;
        self.pointer_done()?;
        self.store_system(end, doorbell)?;
        self.pointer_done()
    }
}

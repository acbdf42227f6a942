//! The dwords of packets, and the addresses of signal slots.
//!
//! Must hold: constant dwords come from the target's table; a packet fills whole ring units, and what is left of the last
//! is zero, which the engine takes as NOPs.

use inkwell::values::PointerValue;
use tilewright_target::mori_abi::{SIGNAL_BYTES, in_dev_comm, sdma_context};

use super::put::Piece;
use super::{Int, Result, Sdma, WaitFor};

impl<'ctx> Sdma<'_, 'ctx> {
    /// A linear copy packet of seven dwords and one zero dword, which is a NOP.
    pub(crate) fn copy_dwords(&self, piece: Piece<'ctx>) -> Result<[Int<'ctx>; 8]> {
        let g = &self.g;
        let posted = &self.facts.posted;
        let size = g.sub(g.trunc32(piece.bytes, "")?, g.i32(1), "bytes_minus_1")?;
        let (src_lo, src_hi) = self.halves(piece.src, "src")?;
        let (dst_lo, dst_hi) = self.halves(piece.dst, "dst")?;
        Ok([g.i32(posted.copy_header), size, g.i32(posted.copy_parameter), src_lo, src_hi, dst_lo, dst_hi, g.i32(0)])
    }

    /// A copy packet with two destinations: first and second destination, source. Two units, of which the packet has nine
    /// dwords.
    pub(crate) fn broadcast_dwords(
        &self,
        [first, second, src]: [Int<'ctx>; 3],
        bytes: Int<'ctx>,
    ) -> Result<[[Int<'ctx>; 8]; 2]> {
        let g = &self.g;
        let posted = &self.facts.posted;
        let size = g.sub(g.trunc32(bytes, "")?, g.i32(1), "bytes_minus_1")?;
        let (src_lo, src_hi) = self.halves(src, "src")?;
        let (first_lo, first_hi) = self.halves(first, "first")?;
        let (second_lo, second_hi) = self.halves(second, "second")?;
        let (header, parameter) = (g.i32(posted.broadcast_header), g.i32(posted.broadcast_parameter));
        let head = [header, size, parameter, src_lo, src_hi, first_lo, first_hi, second_lo];
        let mut tail = [g.i32(0); 8];
        tail[0] = second_hi;
        Ok([head, tail])
    }

    /// A NOP that fills a unit.
    pub(crate) fn padding_dwords(&self) -> [Int<'ctx>; 8] {
        let mut dwords = [self.g.i32(0); 8];
        dwords[0] = self.g.i32(self.facts.posted.padding_unit);
        dwords
    }

    /// A wait on memory: six dwords.
    pub(crate) fn poll_dwords(&self, wait: &WaitFor<'ctx>) -> Result<[Int<'ctx>; 8]> {
        let g = &self.g;
        let posted = &self.facts.posted;
        let header = g.i32(posted.poll_memory_header | wait.compare.code() << 28);
        let (lo, hi) = self.halves(wait.at, "flag")?;
        let zero = g.i32(0);
        Ok([header, lo, hi, wait.value, g.i32(wait.mask), g.i32(posted.poll_control), zero, zero])
    }

    /// A 64-bit atomic add of one.
    pub(crate) fn atomic_dwords(&self, slot: Int<'ctx>) -> Result<[Int<'ctx>; 8]> {
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
    pub(crate) fn local_slot(&self, sender: Int<'ctx>, queue: Int<'ctx>) -> Result<Int<'ctx>> {
        let pool = self.comm_ptr(in_dev_comm(sdma_context::SIGNAL_BUF), "signals")?;
        let at = self.slot_in(pool, sender, queue)?;
        Ok(self.g.builder.build_ptr_to_int(at, self.g.context.i64_type(), "slot")?)
    }

    /// Address of our slot in the pool of `peer`.
    pub(crate) fn remote_slot(&self, peer: Int<'ctx>, queue: Int<'ctx>) -> Result<Int<'ctx>> {
        let g = &self.g;
        let table = self.comm_ptr(in_dev_comm(sdma_context::PEER_SIGNAL_PTRS), "peer_signals")?;
        let at = g.offset(table, g.zext64(g.shl(peer, 3, "")?, "")?, "peer_signals.at")?;
        let pool = self.ptr_field(at, 0, "peer_pool")?;
        let at = self.slot_in(pool, self.lsa_rank()?, queue)?;
        Ok(g.builder.build_ptr_to_int(at, g.context.i64_type(), "slot")?)
    }

    pub(crate) fn slot_in(
        &self,
        pool: PointerValue<'ctx>,
        sender: Int<'ctx>,
        queue: Int<'ctx>,
    ) -> Result<PointerValue<'ctx>> {
        let g = &self.g;
        let row = g.mul(sender, self.num_queues()?, "row")?;
        let index = g.add(row, queue, "slot.index")?;
        g.offset(pool, g.zext64(g.mul(index, g.i32(SIGNAL_BYTES), "")?, "")?, "slot.at")
    }
}

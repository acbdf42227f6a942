//! Ordered memory accesses of the queue protocol, and addresses in mori's structures.
//!
//! Must hold: scopes are those of mori's instructions (write pointer, committed pointer and the shared read index at
//! agent scope, doorbell, engine read pointer and signals at system scope).

use inkwell::values::{BasicValue, BasicValueEnum, PointerValue};
use tilewright_backend_llvm::emit::RANK_LIMIT;
use tilewright_backend_llvm::{AddressSpace, Error, Ordering, Scope};
use tilewright_target::mori_abi::{dev_comm, in_dev_comm, sdma_context};

use super::{Int, Result, Sdma};
use crate::waits::{stores_complete, stores_visible};

impl<'ctx> Sdma<'_, 'ctx> {
    /// Agent-scope relaxed load of 64 bits.
    pub(crate) fn load_agent(&self, at: PointerValue<'ctx>, name: &str) -> Result<Int<'ctx>> {
        self.g.atomic_load(64, at, Ordering::Monotonic, Scope::AGENT, name)
    }

    /// System-scope relaxed load of 64 bits.
    pub(crate) fn load_system(&self, at: PointerValue<'ctx>, name: &str) -> Result<Int<'ctx>> {
        self.g.atomic_load(64, at, Ordering::Monotonic, Scope::SYSTEM, name)
    }

    /// Agent-scope relaxed store.
    pub(crate) fn store_agent(&self, value: Int<'ctx>, at: PointerValue<'ctx>) -> Result<()> {
        self.g.atomic_store(value, at, Ordering::Monotonic, Scope::AGENT)
    }

    /// System-scope relaxed store.
    pub(crate) fn store_system(&self, value: Int<'ctx>, at: PointerValue<'ctx>) -> Result<()> {
        self.g.atomic_store(value, at, Ordering::Monotonic, Scope::SYSTEM)
    }

    /// Everything this wave stored before is where the engine sees it before anything after.
    pub(crate) fn stores_done(&self) -> Result<()> {
        stores_visible(&self.g, self.counters)
    }

    /// A pointer that was just stored, with its own scope, is complete before anything after.
    pub(crate) fn pointer_done(&self) -> Result<()> {
        stores_complete(&self.g, self.counters)
    }

    /// `s_sleep`: gives the poll loop's issue slots to other waves for about 64 * `amount` cycles.
    pub(crate) fn sleep(&self, amount: u32) -> Result<()> {
        self.g.intrinsic("llvm.amdgcn.s.sleep", &[], &[self.g.i32(amount).into()], "")?;
        Ok(())
    }

    /// A 32-bit field of `ccoDevComm`.
    pub(crate) fn comm_u32(&self, offset: u32, name: &str) -> Result<Int<'ctx>> {
        let at = self.g.field(self.comm, offset.into(), &format!("{name}.addr"))?;
        let value = self.g.load_invariant(self.g.context.i32_type(), at, 4, name)?;
        if let Some(load) = value.as_instruction_value() {
            // Ranks and counts. Every load of a field must say the same: LLVM merges equal loads and keeps what all say.
            self.g.set_range(load, 0, RANK_LIMIT)?;
        }
        int(value)
    }

    /// A pointer field of `ccoDevComm`, to device memory.
    pub(crate) fn comm_ptr(&self, offset: u32, name: &str) -> Result<PointerValue<'ctx>> {
        let at = self.g.field(self.comm, offset.into(), &format!("{name}.addr"))?;
        pointer(self.g.load_invariant(self.g.ptr(AddressSpace::Global), at, 8, name)?)
    }

    /// A pointer field of a structure in device memory that no one changes during the kernel.
    pub(crate) fn ptr_field(&self, base: PointerValue<'ctx>, offset: u32, name: &str) -> Result<PointerValue<'ctx>> {
        let at = self.g.field(base, offset.into(), &format!("{name}.addr"))?;
        pointer(self.g.load_invariant(self.g.ptr(AddressSpace::Global), at, 8, name)?)
    }

    /// Queues to each peer.
    pub fn num_queues(&self) -> Result<Int<'ctx>> {
        self.comm_u32(in_dev_comm(sdma_context::SDMA_NUM_QUEUE), "num_queues")
    }

    /// This rank among those of the node.
    pub fn lsa_rank(&self) -> Result<Int<'ctx>> {
        self.comm_u32(dev_comm::LSA_RANK, "lsa_rank")
    }
}

pub(crate) fn int<'ctx>(value: BasicValueEnum<'ctx>) -> Result<Int<'ctx>> {
    match value {
        BasicValueEnum::IntValue(value) => Ok(value),
        other => Err(Error::Build(format!("expected an integer, found {other}"))),
    }
}

pub(crate) fn pointer<'ctx>(value: BasicValueEnum<'ctx>) -> Result<PointerValue<'ctx>> {
    match value {
        BasicValueEnum::PointerValue(value) => Ok(value),
        other => Err(Error::Build(format!("expected a pointer, found {other}"))),
    }
}

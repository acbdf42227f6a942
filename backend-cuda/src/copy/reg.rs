//! `reg`: copies between registers and memory (or registers and registers) by the threads that own the elements.
//!
//! # Accepts
//! A local operand on one side or both; the other is global, shared or this rank's window. Any scope, dtype, guard and
//! swizzle. Every element must be held by a thread that runs the copy; between two local operands, by the same thread.
//!
//! # Emits
//! For each thread the loop over the elements that it holds, as `vec.copy` of the widest access that is contiguous and
//! aligned on both sides; conditions on the thread's coordinates where not all threads hold something. Elements of less
//! than a byte that have no whole byte are loaded and stored one by one, if one thread does it.
//!
//! # Completes
//! When its statements have run (`Done`).
//!
//! # Cost
//! Accesses of each warp by the target's table, with 32-byte sectors of global memory and bank conflicts of shared memory.
//!
//! # Targets
//! All of NVIDIA's.

use tilewright_passes::select::partition::{gate, plan_vectors};
use tilewright_passes::select::{Candidate, CopyGroup, CopyVariant, Reject, VariantInfo};
use tilewright_target::Target;

/// The variant.
pub struct Reg;

impl CopyVariant for Reg {
    fn info(&self) -> VariantInfo {
        VariantInfo { name: "reg", op: "copy", priority: 10 }
    }

    fn plan(&self, group: &CopyGroup, target: &Target) -> Result<Candidate, Reject> {
        let view = gate::single(group)?;
        gate::registers(view)?;
        plan_vectors(view, target)
    }
}

//! `gmem_smem`: copies between memories, dealt out to the threads of the scope.
//!
//! # Accepts
//! Global, shared or this rank's window memory on both sides, in any combination. Any scope, dtype, swizzle and number of
//! elements. Where groups of the scope have different numbers of active threads, as many work as the smallest has.
//!
//! # Emits
//! Neighbouring threads take neighbouring accesses (in the order of the side in device memory): `vec.copy` of the widest
//! access that leaves every thread the same number of them, or else of the widest there is, with the last round guarded.
//!
//! # Completes
//! When its statements have run (`Done`). It is no barrier: other threads see the data after a `sync`.
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
pub struct GmemSmem;

impl CopyVariant for GmemSmem {
    fn info(&self) -> VariantInfo {
        VariantInfo { name: "gmem_smem", op: "copy", priority: 10 }
    }

    fn plan(&self, group: &CopyGroup, target: &Target) -> Result<Candidate, Reject> {
        let view = gate::single(group)?;
        gate::memories(view)?;
        plan_vectors(view, target)
    }
}

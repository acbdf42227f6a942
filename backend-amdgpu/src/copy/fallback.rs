//! `fallback`: one element at a time. Right for every legal copy, fast for none.
//!
//! # Accepts
//! Any copy between memories of this rank and registers, whatever the layouts. Elements of a local operand must be held by
//! threads that run the copy, and no byte may be written by two threads.
//!
//! # Emits
//! The loop over all elements: by the first active thread of each group between memories, by all threads with a
//! condition on ownership for a local operand.
//!
//! # Completes
//! When its statements have run (`Done`).
//!
//! # Cost
//! One access an element.
//!
//! # Targets
//! All of AMD's.

use tilewright_passes::select::partition::{gate, plan_elements};
use tilewright_passes::select::{Candidate, CopyGroup, CopyVariant, Reject, VariantInfo};
use tilewright_target::Target;

/// The variant.
pub struct Fallback;

impl CopyVariant for Fallback {
    fn info(&self) -> VariantInfo {
        VariantInfo { name: "fallback", op: "copy", priority: 0 }
    }

    fn plan(&self, group: &CopyGroup, target: &Target) -> Result<Candidate, Reject> {
        let view = gate::single(group)?;
        gate::own_sides(view)?;
        plan_elements(view, target)
    }
}

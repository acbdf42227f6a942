//! `peer_ldst`: copies to or from a peer's window by loads and stores through its mapped address.
//!
//! # Accepts
//! A peer's window on one side (or both). No `notify`: there is no queue that could send the signal.
//!
//! # Emits
//! The vector loop of `gmem_smem` or `reg` with places of the peer's rank, between two barriers of the scope where memory
//! of this rank is on one side: what the scope wrote before is read, and what it reads afterwards has arrived.
//!
//! # Completes
//! When its statements have run (`Done`): the source is reusable. The peer may read it only after a signal.
//!
//! # Cost
//! As for device memory of this rank; the link is not modelled.
//!
//! # Targets
//! All of NVIDIA's, once windows exist there.

use tilewright_passes::select::partition::{gate, plan_vectors};
use tilewright_passes::select::{Candidate, CopyGroup, CopyVariant, Reject, VariantInfo, together};
use tilewright_target::Target;

/// The variant.
pub struct PeerLdst;

impl CopyVariant for PeerLdst {
    fn info(&self) -> VariantInfo {
        VariantInfo { name: "peer_ldst", op: "copy", priority: 5 }
    }

    fn plan(&self, group: &CopyGroup, target: &Target) -> Result<Candidate, Reject> {
        let view = gate::single(group)?;
        gate::peer(view)?;
        if view.attrs.notify.is_some() {
            let why = "`notify` needs a queue that sends the signal; stores have none".to_owned();
            return Err(Reject::Attribute { why });
        }
        Ok(together(plan_vectors(view, target)?, view))
    }
}

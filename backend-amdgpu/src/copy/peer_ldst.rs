//! `peer_ldst`: copies to or from a peer's window by loads and stores through its mapped address.
//!
//! # Accepts
//! A peer's window on one side (or both). Only with `carry = any` or `variant = "peer_ldst"`: a peer copy belongs to the
//! SDMA engines. No `notify`: the signal is sent by a queue.
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
//! All of AMD's.

use tilewright_passes::select::partition::{gate, plan_vectors};
use tilewright_passes::select::{Candidate, CopyGroup, CopyVariant, Reject, VariantInfo, time, together};
use tilewright_target::Target;

/// The variant.
pub struct PeerLdst;

const NAME: &str = "peer_ldst";

impl CopyVariant for PeerLdst {
    fn info(&self) -> VariantInfo {
        VariantInfo { name: NAME, op: "copy", priority: 5 }
    }

    fn plan(&self, group: &CopyGroup, target: &Target) -> Result<Candidate, Reject> {
        let view = gate::single(group)?;
        gate::peer(view)?;
        let forced = view.attrs.variant.as_deref() == Some(NAME);
        if !view.attrs.carry_any && !forced {
            // What it would take is said all the same, so that nobody has to try.
            let cost = match plan_vectors(view, target) {
                Ok(candidate) => format!("predicted {}", time(candidate.cost.picoseconds)),
                Err(reject) => format!("which would decline, too: {reject}"),
            };
            let why = "a peer copy on AMD goes to the SDMA engines";
            return Err(Reject::Attribute { why: format!("{why}; `carry = any` allows CU stores, {cost}") });
        }
        if view.attrs.notify.is_some() {
            let why = "`notify` belongs to the queue of an SDMA engine; CU stores have none".to_owned();
            return Err(Reject::Attribute { why });
        }
        Ok(together(plan_vectors(view, target)?, view))
    }
}

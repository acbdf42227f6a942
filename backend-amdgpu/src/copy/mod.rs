//! Copy variants of the AMD backend, one file each.
//!
//! Must hold: the list is in the order in which equal candidates win; every name in it is unique.

mod fallback;
mod gmem_smem;
mod peer_ldst;
mod reg;
mod sdma_broadcast;
mod sdma_put;

use tilewright_passes::select::CopyVariant;

pub use fallback::Fallback;
pub use gmem_smem::GmemSmem;
pub use peer_ldst::PeerLdst;
pub use reg::Reg;
pub use sdma_broadcast::SdmaBroadcast;
pub use sdma_put::SdmaPut;

/// The variants, in the order of the report.
pub static VARIANTS: &[&dyn CopyVariant] = &[&SdmaPut, &Reg, &GmemSmem, &Fallback, &PeerLdst, &SdmaBroadcast];

//! Copy variants of the NVIDIA backend, one file each.
//!
//! Must hold: the list is in the order in which equal candidates win; every name in it is unique.

mod fallback;
mod gmem_smem;
mod ldstmatrix;
mod peer_ldst;
mod reg;
#[cfg(test)]
mod tests;

use tilewright_passes::select::CopyVariant;

pub use fallback::Fallback;
pub use gmem_smem::GmemSmem;
pub use ldstmatrix::LdStMatrix;
pub use peer_ldst::PeerLdst;
pub use reg::Reg;

/// The variants, in the order of the report.
pub static VARIANTS: &[&dyn CopyVariant] = &[&LdStMatrix, &Reg, &GmemSmem, &Fallback, &PeerLdst];

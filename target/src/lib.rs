//! Facts about chips: one record per target, SDMA packet field tables, the mori memory layout and cost tables.
//!
//! What must hold in this crate:
//! - It depends on no other crate of the workspace and reads no file, clock or environment.
//! - Every record writes out every field (no `..Default`), and every number carries its source in a comment.
//!   Sources are short names: `hw N` is section N of the hardware reference the project was built from (SDMA headers, LLVM
//!   22.1 and ptxas experiments), `seed` is mori's guide to its SDMA device API (measured on MI355X, two ranks over xGMI),
//!   `golden` is the read-out of mori's own device code, `PTX` is NVIDIA's PTX ISA, `CUDA` the CUDA programming guide's
//!   table of compute capabilities, `[K]` general knowledge that nobody has checked here.
//! - A question about a chip is a method that says what is asked ([`Target::has_stmatrix`]), never which chip it is.
//! - Nothing falls through to a default: an unknown name is an error that names the near ones.
//! - Layout and figures only: what to do with them is decided in `passes`, the backends and `sim`.

mod amdgpu;
pub mod comm_provider;
pub mod cost;
mod feature;
mod lookup;
pub mod mori_abi;
mod nvidia;
mod record;
pub mod sdma;

pub use amdgpu::gfx942::GFX942;
pub use amdgpu::gfx950::GFX950;
pub use amdgpu::gfx1250::GFX1250;
pub use cost::{Basis, Cost, CostTable, CuCosts, Fact, SdmaCosts};
pub use feature::Features;
pub use lookup::{TARGETS, UnknownTarget, lookup};
pub use nvidia::sm_80::SM_80;
pub use nvidia::sm_90a::SM_90A;
pub use nvidia::sm_100a::SM_100A;
pub use record::{AmdFacts, ElfFacts, PtxFacts, Target, VectorSpace, Vendor, WaitCounters};
pub use sdma::SdmaFacts;

//! The AMD backend: copy variants, the SDMA device code, the kernel ABI, and code objects.
//!
//! Must hold: kernels are ABI-compatible with mori (`ccoDevComm` by value, `ccoWindow_t` pointers); intrinsics are gated
//! by the target's table before LLVM sees them; only `link` touches files.

mod compile;
pub mod copy;
mod hooks;
pub mod link;
mod ops;
pub mod sdma;
#[cfg(test)]
mod tests;
mod waits;

pub use compile::{CompileError, Compiled, Options, compile, describe_arguments};

//! The NVIDIA backend: copy variants, PTX intrinsics, and PTX text.
//!
//! Must hold: an instruction is gated by the target's table before LLVM sees it (LLVM aborts on what it cannot select);
//! nothing here touches files: turning PTX into a cubin is the command line's business.

mod compile;
pub mod copy;
mod hooks;
mod ops;
#[cfg(test)]
mod tests;

pub use compile::{Options, compile, describe_arguments};

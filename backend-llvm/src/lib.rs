//! What both GPU backends would otherwise write twice: LLVM target machines, the edge to LLVM's C API, and a small
//! instruction builder with the things that inkwell lacks (sync scopes, raw byte offsets, metadata).
//!
//! Must hold: LLVM aborts the process on an unknown processor or an intrinsic that the processor lacks, so nothing
//! reaches LLVM that has not passed a table of ours first; all `unsafe` of the workspace's compiler half is in `raw.rs`;
//! nothing here reads files, environment or clock (the build script finds LLVM).
//!
//! ```
//! use tilewright_backend_llvm::{Machine, MachineSpec};
//! let machine = Machine::new(&MachineSpec::amdgpu("gfx950")).expect("gfx950 is in LLVM 22.1");
//! assert_eq!(machine.cpu(), "gfx950");
//! ```

pub mod emit;
mod error;
mod generator;
mod machine;
mod raw;
mod vocabulary;

pub use error::Error;
pub use generator::{Gen, Int};
pub use machine::{Emitted, Machine, MachineSpec, OptLevel, Output};
pub use raw::Disassembler;
pub use vocabulary::{AddressSpace, Ordering, Scope};

/// The folder of the LLVM library this build was linked against.
pub const LLVM_LIBRARY_FOLDER: &str = env!("TILEWRIGHT_LLVM_LIBDIR");

/// Where the toolchain that compiled this crate keeps `rust-lld`; empty if its place could not be told.
pub const TOOLCHAIN_LLD: &str = env!("TILEWRIGHT_RUST_LLD");

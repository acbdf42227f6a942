//! Simulator of AMD machine code: it loads the linked code object that the compiler emits and, later, executes it.
//!
//! **What is here now** is the [`loader`]: ELF checks against a target, kernel descriptors and metadata, and the bytes of the
//! segments with their addresses. **What is not here yet** is the machine: waves, LDS, caches, SDMA engines, ranks and the
//! scheduler come with the simulator issue, and this comment will then hold the machine model. Nothing in this crate runs a
//! kernel today.
//!
//! What must hold in this crate:
//! - It sees bytes only: no IR, no LLVM, no compiler crate. It depends on `target` and `artifact` alone.
//! - No file, clock, environment or thread; the same input and seed give the same result.
//! - No input panics or allocates more than a small multiple of its own size. An object that contradicts itself is refused
//!   with a sentence that names both sides.

pub mod exec;
pub mod fault;
pub mod isa;
pub mod loader;
pub mod machine;
pub mod mem;
pub mod node;
pub mod rng;
pub mod sdma;
pub mod wave;

pub use loader::{CodeObject, LoadError};

//! Simulator of AMD machine code: it loads the linked code object that the compiler emits and executes its instructions and its
//! SDMA packets, strictly.
//!
//! | room | what it holds |
//! |---|---|
//! | [`loader`] | from the bytes of a `.hsaco` to segments and kernels |
//! | [`isa`] | instructions of gfx942 and gfx950: tables, decoder, text |
//! | [`wave`], [`exec`] | the registers of a wave, and what instructions do to them |
//! | [`machine`] | GPUs, dispatch, schedules, barriers, deadlocks: the loop, and the model of time |
//! | [`mem`] | memory, caches, late completion, happens-before, the checks |
//! | [`sdma`], [`node`] | engines and their rings; ranks, windows, communicators |
//! | [`time`] | virtual time by the cost tables, and traces of it |
//! | [`fault`] | what can go wrong, and where |
//!
//! Strictly: operations complete late and in any order that the hardware allows, so that a missing wait, fence, barrier or
//! signal shows; what is undefined, out of bounds, a race or unknown is a [`fault::Fault`], never a guess.
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
pub mod time;
pub mod wave;

pub use loader::{CodeObject, LoadError};

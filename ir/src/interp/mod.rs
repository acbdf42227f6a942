//! The reference interpreter: what a tile-level kernel means, with no target and no GPU. The first oracle.
//!
//! What must hold in this room:
//! - It follows the logical semantics (elements, owners, signals), never a lowering: nothing here knows how a copy is carried.
//! - Everything is deterministic in the seed: scheduling, late landing of peer copies and completion of asynchronous ones.
//! - Outside input (a kernel that the verifier accepted, any launch input) never panics; what cannot run is a `Diagnostic`.
//! - It reports what no executor may hide: cross-rank reads without a signal, shared-memory reads without a `sync`, sources
//!   overwritten in flight, deadlocks, indices outside their buffer.
//!
//! The types of this file are used by every device of the command line, not only by the interpreter.

mod addr;
mod comm;
mod cta;
mod expect;
mod fill;
mod npy;
pub mod num;
mod places;
mod post;
mod race;
pub mod resolve;
mod resolver;
mod rng;
mod scalar;
mod sched;
mod strand;
#[cfg(test)]
mod tests;
mod tile;
pub mod typed;
mod world;

use indexmap::IndexMap;

use crate::diag::Diagnostic;
use crate::module::Kernel;
use crate::name::Name;

pub use addr::{FlatLayout, eval_dim, get_bits, put_bits, storage_bytes, storage_elements};
pub use expect::check_expects;
pub use fill::{NpyReader, prepare, to_npy};
pub use rng::SplitMix64;
pub use sched::{run, scalar_values};

/// Most bytes of buffers that one launch may have over all ranks; more is refused with `TW0039`. Our choice: it fits a laptop.
pub const MAX_LAUNCH_BYTES: u64 = 4 << 30;

/// Byte that memory without contents holds on every executor, so that outputs compare bit by bit.
pub const UNINITIALISED: u8 = 0xCD;

/// Most ranks of a launch: the extent of a signal-base parameter.
pub const MAX_RANKS: u32 = 64;

/// Why a launch did not finish: the first fault found, with its place in the kernel.
pub type RunError = Diagnostic;

/// Everything that a launch of a kernel on all ranks needs. Made by `prepare`, or by hand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchInput {
    /// Number of ranks, all on one node: 1 to `MAX_RANKS`.
    pub ranks: u32,
    /// Per rank: scalar arguments by parameter name, as the bits of the value in the parameter's storage dtype
    /// (`ScalarTy::storage`), in the low bits.
    pub scalars: Vec<IndexMap<Name, u64>>,
    /// Values of the `where` parameters, the same on every rank.
    pub wheres: IndexMap<Name, i64>,
    /// Per rank: contents of the buffer arguments by parameter name, `storage_bytes` each; for a window the rank's own part.
    pub buffers: Vec<IndexMap<Name, Vec<u8>>>,
    /// Seed of scheduling and of completion times.
    pub seed: u64,
    /// Statements that may be executed over all ranks, CTAs (and warps) before the launch is given up.
    pub max_steps: u64,
}

/// What a launch leaves behind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchOutput {
    /// Per rank: contents of the author's buffer arguments after the run.
    pub buffers: Vec<IndexMap<Name, Vec<u8>>>,
    /// Things that are worth knowing but did not stop the run.
    pub warnings: Vec<Diagnostic>,
    /// Statements executed.
    pub steps: u64,
}

/// Steps that `prepare` allows a launch.
pub const DEFAULT_MAX_STEPS: u64 = 50_000_000;

/// Values of the `where` parameters of `kernel` as a lookup for `eval_dim`.
pub fn where_lookup<'a>(input: &'a LaunchInput) -> impl Fn(&Name) -> Option<i64> + 'a {
    |name: &Name| input.wheres.get(name).copied()
}

/// Checks that `input` fits the kernel: ranks in range, every argument given for every rank, buffers of the right size, and
/// the whole within `MAX_LAUNCH_BYTES`. Hidden parameters are the executor's own and are not asked for.
///
/// # Errors
/// `TW0023` with the argument that does not fit, `TW0039` if the launch is too large.
pub fn check_input(kernel: &Kernel, input: &LaunchInput) -> Result<(), Diagnostic> {
    fill::check_input(kernel, input)
}

//! Executes lowered kernels lane by lane, for any target, without a GPU: the second oracle.
//!
//! Warps run in lockstep under masks; warps, CTAs and ranks take turns in an order given by the seed; copy engines are agents
//! of their own that take one packet at a time from in-order queues. What must hold in this room:
//! - every access is checked: bounds of the buffer, alignment of each vector access, 16-byte rows of matrix instructions;
//! - collective ops need all lanes of the warp, barriers all warps of their scope; what hangs on hardware is an error here;
//! - nothing is knowledge of a backend: out-of-tree ops come with closures ([`Intrinsics`]);
//! - memory is sequentially consistent. Fences do nothing here; that one is missing is for the simulator to find.

mod engine;
mod engine_run;
mod intrinsic;
mod matrix;
mod memory;
mod ops;
mod sched;
mod sdma;
#[cfg(test)]
mod tests;
mod trace;
mod values;
mod warp;

use tilewright_ir::interp::{LaunchInput, LaunchOutput, RunError, check_input, resolve::resolve};
use tilewright_ir::{Code, Diagnostic, Kernel, Name};
use tilewright_target::Target;

pub use intrinsic::{Intrinsic, Intrinsics, LaneCtx};
pub use trace::{Access, Move};

/// How to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Seed of scheduling; `None` takes the launch input's.
    pub seed: Option<u64>,
    /// Ops beyond the neutral ones.
    pub intrinsics: Intrinsics,
}

/// Runs a lowered kernel on all ranks as `target` would, and gives the contents of the author's buffers. Hidden buffers (the
/// signal bases) start at zero, as on a first launch.
///
/// # Errors
/// The first fault, at the statement that caused it: an access outside its buffer or misaligned, a collective op under a
/// mask, an assumption that does not hold, a deadlock, a statement that is not of the lowered level, damaged guard bytes.
pub fn run(kernel: &Kernel, target: &Target, input: &LaunchInput, options: &Options) -> Result<LaunchOutput, RunError> {
    Ok(launch(kernel, target, input, options, false)?.0)
}

/// Runs a kernel like [`run`], and tells what the first warp of the first CTA of rank 0 accessed, in order.
///
/// # Errors
/// As [`run`].
pub fn accesses(
    kernel: &Kernel,
    target: &Target,
    input: &LaunchInput,
    options: &Options,
) -> Result<Vec<Access>, RunError> {
    Ok(launch(kernel, target, input, options, true)?.1)
}

fn launch(
    kernel: &Kernel,
    target: &Target,
    input: &LaunchInput,
    options: &Options,
    traced: bool,
) -> Result<(LaunchOutput, Vec<Access>), RunError> {
    check_input(kernel, input)?;
    let warp = kernel.launch.warp.lanes(target.warp_size);
    if !(1..=64).contains(&warp) {
        let message = format!("warps of {warp} lanes cannot be run");
        return Err(Diagnostic::error(Code::BAD_LAUNCH, kernel.launch.span, message));
    }
    let lookup = |n: &Name| input.wheres.get(n).copied();
    let tile_level = |_: usize| Err(Diagnostic::error(Code::LEVEL, kernel.span, "`wait … from` is not lowered"));
    let k = resolve(kernel, warp, &lookup, &tile_level)?;
    sched::run(&k, target, input, options, traced)
}

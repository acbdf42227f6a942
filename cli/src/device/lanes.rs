//! The lane executor: the lowered program, lane by lane, for any target, without a GPU.

use tilewright_ir::interp::{self, LaunchInput, LaunchOutput, NpyReader};
use tilewright_ir::{Diagnostic, Name, Run};
use tilewright_lanes::Access;

use super::{Device, missing};
use crate::Compiled;

/// The device `lanes`.
#[derive(Debug)]
pub struct Lanes;

impl Device for Lanes {
    fn name(&self) -> &'static str {
        "lanes"
    }

    fn summary(&self) -> &'static str {
        "lane-by-lane executor of the lowered program"
    }

    fn launch(&self, compiled: &Compiled, kernel: &Name, input: &LaunchInput) -> Result<LaunchOutput, Diagnostic> {
        let kernel = compiled.lowered.kernel(kernel.as_str()).ok_or_else(|| missing(kernel))?;
        let intrinsics = crate::extension::intrinsics(&compiled.extensions);
        tilewright_lanes::run(kernel, compiled.target, input, &tilewright_lanes::Options { seed: None, intrinsics })
    }
}

/// What the lanes of the first warp of rank 0 access when a run block of the module is executed, in order.
///
/// # Errors
/// What is wrong with the run block; the first fault of the launch.
pub fn accesses(compiled: &Compiled, run: &Run, npy: NpyReader<'_>) -> Result<Vec<Access>, Vec<Diagnostic>> {
    let none = || vec![missing(&run.kernel)];
    let written = compiled.tile.kernel(run.kernel.as_str()).ok_or_else(none)?;
    let kernel = compiled.lowered.kernel(run.kernel.as_str()).ok_or_else(none)?;
    let input = interp::prepare(run, written, npy)?;
    let intrinsics = crate::extension::intrinsics(&compiled.extensions);
    let options = tilewright_lanes::Options { seed: None, intrinsics };
    tilewright_lanes::accesses(kernel, compiled.target, &input, &options).map_err(|d| vec![d])
}

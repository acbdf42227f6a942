//! The lane executor: the lowered program, lane by lane, for any target, without a GPU.

use tilewright_ir::interp::{LaunchInput, LaunchOutput};
use tilewright_ir::{Diagnostic, Name};

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

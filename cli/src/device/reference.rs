//! The reference interpreter: the tile module as it was written, no target.

use tilewright_ir::interp::{self, LaunchInput, LaunchOutput};
use tilewright_ir::{Diagnostic, Name};

use super::{Device, missing};
use crate::Compiled;

/// The device `reference`.
#[derive(Debug)]
pub struct Reference;

impl Device for Reference {
    fn name(&self) -> &'static str {
        "reference"
    }

    fn summary(&self) -> &'static str {
        "reference interpreter of the tile program"
    }

    fn launch(&self, compiled: &Compiled, kernel: &Name, input: &LaunchInput) -> Result<LaunchOutput, Diagnostic> {
        let kernel = compiled.tile.kernel(kernel.as_str()).ok_or_else(|| missing(kernel))?;
        interp::run(kernel, compiled.target.warp_size, input)
    }
}

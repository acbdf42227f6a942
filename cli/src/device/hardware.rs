//! What the devices that are hardware have in common: one launch, from the compile to the buffers that it leaves.

use tilewright_artifact::{CodeBytes, KernelInfo};
use tilewright_ir::interp::{LaunchInput, LaunchOutput, where_lookup};
use tilewright_ir::{Diagnostic, Name};
use tilewright_runtime::device::{Launch, RankArgs, RankBuffers};
use tilewright_runtime::{Comm, Device, Error};

use super::missing;
use super::sim::{diagnostic, named, rank_args};
use crate::{Compiled, bundle};

/// Runs a kernel of a compile on GPUs; `refuse` makes a diagnostic of a sentence.
///
/// # Errors
/// What refuses the launch, or what went wrong in it.
pub(super) fn launch_on(
    gpus: &dyn Device,
    compiled: &Compiled,
    kernel: &Name,
    input: &LaunchInput,
    refuse: &dyn Fn(String) -> Diagnostic,
) -> Result<LaunchOutput, Diagnostic> {
    let lowered = compiled.lowered.kernel(kernel.as_str()).ok_or_else(|| missing(kernel))?;
    let code = compiled.made.as_ref().and_then(|made| made.code());
    let code = code.ok_or_else(|| refuse(format!("no code was made for {}", compiled.target.name)))?;
    let info = bundle::describe(lowered, compiled, &where_lookup(input)).map_err(refuse)?;
    let ranks: Vec<RankArgs> = (0..input.ranks as usize).map(|rank| rank_args(input, rank)).collect();
    if let Some(why) = gpus.refuses(compiled.target.name, &code) {
        return Err(refuse(why));
    }
    let left = run(gpus, &code, &info, &ranks).map_err(|error| diagnostic(compiled, lowered.span, error))?;
    let buffers = left.into_iter().map(named).collect();
    Ok(LaunchOutput { buffers, warnings: Vec::new(), steps: 0 })
}

/// One launch, from loading the code to reading the buffers back.
fn run(
    gpus: &dyn Device,
    code: &CodeBytes,
    kernel: &KernelInfo,
    ranks: &[RankArgs],
) -> Result<Vec<RankBuffers>, Error> {
    let comm = Comm::new(gpus, ranks.len() as u32, kernel.min_queues)?;
    let prepared = comm.prepare(code, &Launch { kernel, ranks })?;
    prepared.run()?;
    prepared.buffers()
}

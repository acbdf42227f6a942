//! Running a run block and checking it: the device against the reference interpreter, bit by bit, and what the author
//! expects.
//!
//! Must hold: every byte of every buffer argument on every rank is compared, those that no element occupies included.

use tilewright_ir::interp::{self, LaunchInput, LaunchOutput, check_expects};
use tilewright_ir::{Code, Diagnostic, Kernel, Name, ParamTy, Run};
use tilewright_runtime::compare::difference;

use crate::Compiled;
use crate::device::{Device, Reference};

/// Reads the bytes of an `.npy` file that a run block names; the error is a phrase.
pub type NpyReader<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// What a run block is run with.
pub struct Trial<'a> {
    /// The block.
    pub run: &'a Run,
    /// How many ranks, if not what the block says.
    pub ranks: Option<u32>,
    /// Seed of scheduling and of completion times.
    pub seed: u64,
    /// Statements after which a launch is given up, over all ranks and CTAs.
    pub max_steps: u64,
    /// Where files come from.
    pub npy: NpyReader<'a>,
    /// Run the device without the reference interpreter, and compare with what the run block expects only.
    pub alone: bool,
}

/// What was found to be right.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// Bytes that were compared, over all ranks and buffers.
    pub bytes: u64,
    /// Ranks that ran.
    pub ranks: u32,
    /// Remarks of the executors.
    pub warnings: Vec<Diagnostic>,
    /// What the run was given.
    pub input: LaunchInput,
    /// What it left behind.
    pub output: LaunchOutput,
}

impl Checked {
    fn new(bytes: u64, input: LaunchInput, output: LaunchOutput) -> Checked {
        Checked { bytes, ranks: input.ranks, warnings: output.warnings.clone(), input, output }
    }
}

/// Runs `trial` on `device` and compares.
///
/// # Errors
/// What stopped a run, an expectation that does not hold, or the first byte that differs from the reference.
pub fn check(compiled: &Compiled, device: &dyn Device, trial: &Trial) -> Result<Checked, Vec<Diagnostic>> {
    let kernel = kernel_of(compiled, trial)?;
    let run = Run { ranks: trial.ranks.or(trial.run.ranks), ..trial.run.clone() };
    let mut input = interp::prepare(&run, kernel, trial.npy)?;
    input.seed = trial.seed;
    input.max_steps = trial.max_steps;
    let expects = |output: &LaunchOutput| check_expects(&run, kernel, &input, output).map_err(|d| vec![d]);
    if trial.alone {
        let output = device.launch(compiled, &kernel.name, &input).map_err(|d| vec![d])?;
        return Ok(Checked::new(expects(&output)?, input, output));
    }
    let expected = Reference.launch(compiled, &kernel.name, &input).map_err(|d| vec![d])?;
    let checked = Checked::new(expects(&expected)?, input, expected);
    if device.name() == Reference.name() {
        return Ok(checked);
    }
    beside(compiled, device, &run, checked)
}

/// The same for `seeds` seeds from the trial's on; the reference interpreter, whose results do not depend on it, runs with the
/// first one only. What fails comes with its seed.
///
/// # Errors
/// As [`check`].
pub fn check_seeds(
    compiled: &Compiled,
    device: &dyn Device,
    trial: &Trial,
    seeds: u64,
) -> Result<Checked, (u64, Vec<Diagnostic>)> {
    let first = |all| (trial.seed, all);
    let kernel = kernel_of(compiled, trial).map_err(first)?;
    let run = Run { ranks: trial.ranks.or(trial.run.ranks), ..trial.run.clone() };
    let mut input = interp::prepare(&run, kernel, trial.npy).map_err(first)?;
    (input.seed, input.max_steps) = (trial.seed, trial.max_steps);
    let expected = Reference.launch(compiled, &kernel.name, &input).map_err(|d| first(vec![d]))?;
    let bytes = check_expects(&run, kernel, &input, &expected).map_err(|d| first(vec![d]))?;
    let mut checked = Checked::new(bytes, input, expected);
    for seed in (0..seeds).map(|n| trial.seed.wrapping_add(n)) {
        checked.input.seed = seed;
        checked = beside(compiled, device, &run, checked).map_err(|all| (seed, all))?;
    }
    Ok(checked)
}

/// The kernel that a trial runs.
fn kernel_of<'a>(compiled: &'a Compiled, trial: &Trial) -> Result<&'a Kernel, Vec<Diagnostic>> {
    compiled.tile.kernel(trial.run.kernel.as_str()).ok_or_else(|| {
        let message = format!("unknown kernel `{}`", trial.run.kernel);
        vec![Diagnostic::error(Code::UNKNOWN_NAME, trial.run.span, message)]
    })
}

/// Runs on `device` what is known to leave the output of `checked`, and compares.
fn beside(
    compiled: &Compiled,
    device: &dyn Device,
    run: &Run,
    mut checked: Checked,
) -> Result<Checked, Vec<Diagnostic>> {
    let kernel = compiled.tile.kernel(run.kernel.as_str()).ok_or_else(Vec::new)?;
    let (input, expected) = (&checked.input, &checked.output);
    let output = device.launch(compiled, &kernel.name, input).map_err(|d| vec![d])?;
    let compared = compare(run, compiled, input, expected, &output, device.name());
    let bytes = compared.map_err(|d| vec![d])?;
    // Equal bytes meet the same expectations; asked again because it costs little and the comparison might be at fault.
    check_expects(run, kernel, input, &output).map_err(|d| vec![d])?;
    checked.bytes = bytes;
    for warning in output.warnings {
        if !checked.warnings.contains(&warning) {
            checked.warnings.push(warning);
        }
    }
    Ok(checked)
}

/// Compares every buffer of every rank; the number of bytes.
fn compare(
    run: &Run,
    compiled: &Compiled,
    input: &LaunchInput,
    expected: &LaunchOutput,
    output: &LaunchOutput,
    device: &str,
) -> Result<u64, Diagnostic> {
    let mut bytes = 0u64;
    for rank in 0..input.ranks as usize {
        let (Some(want), Some(have)) = (expected.buffers.get(rank), output.buffers.get(rank)) else {
            return Err(fault(run, format!("{device} left no buffers for rank {rank}")));
        };
        for (name, want) in want {
            let Some(have) = have.get(name) else {
                return Err(fault(run, format!("{device} left no buffer `{name}` for rank {rank}")));
            };
            if let Some(words) = difference(want, have, element_bytes(compiled, run, name)) {
                return Err(fault(run, format!("`{name}` on rank {rank} differs: {words}"))
                    .label(format!("{device} and reference disagree about this run"))
                    .help(
                        "this is a fault of the compiler or of an executor, unless the kernel races: please report it",
                    ));
            }
            bytes += want.len() as u64;
        }
    }
    Ok(bytes)
}

/// Bytes of one element of a buffer argument, at least 1.
fn element_bytes(compiled: &Compiled, run: &Run, name: &Name) -> usize {
    let kernel = compiled.tile.kernel(run.kernel.as_str());
    let param = kernel.and_then(|kernel| kernel.params.iter().find(|param| param.name == *name));
    match param.map(|param| &param.ty) {
        Some(ParamTy::Buffer(ty)) => (ty.dtype.bits() as usize / 8).max(1),
        _ => 1,
    }
}

fn fault(run: &Run, message: String) -> Diagnostic {
    Diagnostic::error(Code::RUN_MISMATCH, run.span, message)
}

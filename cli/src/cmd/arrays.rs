//! `run --in name=file.npy --out name=file.npy`: contents of buffers from files and into files.
//!
//! Must hold: an input replaces the setting of the run block, whatever it was; names that no run block's kernel has are the
//! user's fault, never ignored; files are relative to the folder in which the program was started.

use std::path::{Path, PathBuf};

use tilewright_ir::interp::to_npy;
use tilewright_ir::module::{RunValue, Setting};
use tilewright_ir::{Module, Name, ParamTy, Run};

use super::Stop;
use super::run::Named;
use crate::Compiled;
use crate::checked::Checked;

/// `name=file.npy` on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Array {
    /// The buffer.
    name: String,
    /// The file.
    file: PathBuf,
}

/// Reads `name=file.npy`.
pub(super) fn parse(text: &str) -> Result<Array, String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => {
            Ok(Array { name: name.to_owned(), file: PathBuf::from(file) })
        }
        _ => Err("it is written name=file.npy".to_owned()),
    }
}

/// Whether the kernel of the run block has a buffer of that name.
fn has_buffer(module: &Module, run: &Run, name: &str) -> bool {
    let kernel = module.kernel(run.kernel.as_str());
    let mut params = kernel.into_iter().flat_map(|kernel| &kernel.params);
    params.any(|param| param.name.as_str() == name && matches!(param.ty, ParamTy::Buffer(_)))
}

/// The run blocks, with the inputs in place of their own settings.
pub(super) fn with_inputs(module: &Module, inputs: &[Array]) -> Result<Vec<Run>, Stop> {
    let mut runs: Vec<Run> = module.runs().cloned().collect();
    for (at, input) in inputs.iter().enumerate() {
        if inputs[..at].iter().any(|other| other.name == input.name) {
            return Err(Stop::Usage(format!("--in gives `{}` twice", input.name)));
        }
        let file = std::path::absolute(&input.file).map_err(|e| Stop::Input(format!("--in {}: {e}", input.name)))?;
        let Some(file) = file.to_str() else {
            return Err(Stop::Input(format!("--in {}: the file's name is not UTF-8", input.name)));
        };
        let mut found = false;
        for run in runs.iter_mut().filter(|run| has_buffer(module, run, &input.name)) {
            found = true;
            run.settings.retain(|setting| setting.is_let || setting.name.as_str() != input.name);
            run.settings.push(Setting {
                is_let: false,
                name: Name::new(&input.name),
                value: RunValue::Npy(file.to_owned()),
                span: run.span,
            });
        }
        if !found {
            return Err(Stop::Input(format!("--in {0}: no kernel that is run has a buffer `{0}`", input.name)));
        }
    }
    Ok(runs)
}

/// Checks that each output is of exactly one run block.
pub(super) fn check_outputs(module: &Module, outputs: &[Array]) -> Result<(), Stop> {
    for Array { name, .. } in outputs {
        match module.runs().filter(|run| has_buffer(module, run, name)).count() {
            0 => return Err(Stop::Input(format!("--out {name}: no kernel that is run has a buffer `{name}`"))),
            1 => {}
            n => {
                let message = format!("--out {name}: {n} run blocks have a buffer `{name}`, which one is meant?");
                return Err(Stop::Input(format!("{message} give each a name of its own, or a file of its own")));
            }
        }
    }
    Ok(())
}

/// The files of the outputs.
pub(super) fn places(outputs: &[Array]) -> impl Iterator<Item = Named> {
    outputs.iter().map(|output| (format!("--out {}", output.name), output.file.clone()))
}

/// The files that are read: by `--in`, and by all run blocks, whichever of them are run.
pub(super) fn read_files(module: &Module, folder: &Path, inputs: &[Array]) -> Vec<Named> {
    let given = inputs.iter().map(|input| (format!("the input of `{}`", input.name), input.file.clone()));
    let named = module.runs().flat_map(|run| &run.settings).filter_map(|setting| match &setting.value {
        RunValue::Npy(file) => Some((format!("what a run block gives `{}`", setting.name), folder.join(file))),
        _ => None,
    });
    given.chain(named).collect()
}

/// What a run left behind, as files: every output that its kernel has.
pub(super) fn made<'a>(
    outputs: &'a [Array],
    compiled: &Compiled,
    run: &Run,
    checked: &Checked,
) -> Result<Vec<(&'a Path, Vec<u8>)>, Stop> {
    let Some(kernel) = compiled.tile.kernel(run.kernel.as_str()) else { return Ok(Vec::new()) };
    let of_run = outputs.iter().filter(|output| has_buffer(&compiled.tile, run, &output.name));
    let made = of_run.map(|output| {
        let (input, buffers) = (&checked.input, &checked.output.buffers);
        let bytes = to_npy(kernel, &output.name, input, buffers)
            .map_err(|why| Stop::Input(format!("--out {}: {why}", output.name)))?;
        Ok((output.file.as_path(), bytes))
    });
    made.collect()
}

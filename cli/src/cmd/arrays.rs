//! `run --in name=file.npy --out name=file.npy`: contents of buffers from files and into files.
//!
//! Must hold: an input replaces the setting of the run block, whatever it was; names that no run block's kernel has are the
//! user's fault, never ignored; files are relative to the folder in which the program was started.

use std::path::PathBuf;

use tilewright_ir::interp::to_npy;
use tilewright_ir::module::{RunValue, Setting};
use tilewright_ir::{Module, Name, ParamTy, Run};

use super::Stop;
use crate::checked::Checked;
use crate::{Compiled, files};

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

/// Checks that each output is of exactly one run block, and no file is written twice or is one of the inputs.
pub(super) fn check_outputs(module: &Module, inputs: &[Array], outputs: &[Array]) -> Result<(), Stop> {
    for (at, output) in outputs.iter().enumerate() {
        let name = &output.name;
        match module.runs().filter(|run| has_buffer(module, run, name)).count() {
            0 => return Err(Stop::Input(format!("--out {name}: no kernel that is run has a buffer `{name}`"))),
            1 => {}
            n => {
                let message = format!("--out {name}: {n} run blocks have a buffer `{name}`, which one is meant?");
                return Err(Stop::Input(format!("{message} give each a name of its own, or a file of its own")));
            }
        }
        if outputs[..at].iter().any(|other| other.file == output.file) {
            return Err(Stop::Usage(format!("--out writes `{}` twice", output.file.display())));
        }
        if let Some(input) = inputs.iter().find(|input| files::are_same(&input.file, &output.file)) {
            let (file, other) = (output.file.display(), &input.name);
            return Err(Stop::Input(format!(
                "--out {name}: `{file}` is the input of `{other}` and would be overwritten"
            )));
        }
    }
    Ok(())
}

/// Writes what a run left behind: every output that its kernel has.
pub(super) fn write(outputs: &[Array], compiled: &Compiled, run: &Run, checked: &Checked) -> Result<(), Stop> {
    let Some(kernel) = compiled.tile.kernel(run.kernel.as_str()) else { return Ok(()) };
    for output in outputs.iter().filter(|output| has_buffer(&compiled.tile, run, &output.name)) {
        let (input, buffers) = (&checked.input, &checked.output.buffers);
        let bytes = to_npy(kernel, &output.name, input, buffers)
            .map_err(|why| Stop::Input(format!("--out {}: {why}", output.name)))?;
        files::write_atomic(&output.file, &bytes).map_err(Stop::Input)?;
    }
    Ok(())
}

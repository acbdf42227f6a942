//! From text to lowered IR and machine code, in memory: what every command and test goes through.
//!
//! Must hold: nothing here reads a file, the environment or the clock; whatever is wrong with the text comes back as
//! diagnostics with places in it.

use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexMap;
use tilewright_artifact::Report;
use tilewright_ir::text::parse;
use tilewright_ir::verify::{Level, verify};
use tilewright_ir::{Code, Diagnostic, Module, Name, Span};
use tilewright_passes::pipeline::{self, CopyDecision, KernelFacts, Observer, Pass};
use tilewright_target::Target;

use crate::backend::{self, Made, Want};
use crate::extension::{Extension, Known};

/// How far to compile, and with what.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What the backend is to make; nothing by default: the compile ends with the lowered module.
    pub want: Want,
    /// Write LLVM IR, too, whatever else is wanted?
    pub llvm_ir: bool,
    /// Name of the file, for the line tables of AMD code objects; without a name they have none.
    pub file: Option<String>,
    /// The linker for AMD code objects, if it is not the toolchain's.
    pub lld: Option<PathBuf>,
    /// Variants and ops beside the backends'.
    pub extensions: Vec<Arc<Extension>>,
    /// Look for layouts that would make copies better, for the report. This compiles kernels with copies that could be
    /// better several times over.
    pub suggest: bool,
    /// Check calls of the copy engines in the kernel, which traps at the first misuse (AMD; costs instructions).
    pub sdma_debug: bool,
}

/// What a compile yields.
#[derive(Debug)]
pub struct Compiled {
    /// The chip.
    pub target: &'static Target,
    /// The text that the places are in; empty for a module that was built.
    pub text: String,
    /// The module as it was written, verified.
    pub tile: Module,
    /// The module after all passes.
    pub lowered: Module,
    /// What was decided for each copy, in program order.
    pub decisions: Vec<CopyDecision>,
    /// The same as plain data.
    pub report: Report,
    /// Warnings of all passes.
    pub warnings: Vec<Diagnostic>,
    /// What the runtime must know of each kernel's signals and queues.
    pub facts: IndexMap<Name, KernelFacts>,
    /// What the backend made, if it was asked.
    pub made: Option<Made>,
    /// The extensions it was compiled with: a device asks them what their ops do.
    pub extensions: Vec<Arc<Extension>>,
}

/// Parses and verifies a file that may be meant for any target; the module and the warnings.
///
/// # Errors
/// All errors that were found; warnings are among them.
pub fn parse_and_verify(text: &str) -> Result<(Module, Vec<Diagnostic>), Vec<Diagnostic>> {
    let module = parse(text).into_result()?;
    whole_file(&module, text)?;
    let found = verify(&module, Level::Tile, &backend::ops());
    if found.iter().any(Diagnostic::is_error) { Err(found) } else { Ok((module, found)) }
}

/// What the verifier cannot see: a file without a kernel is one cut off too early, and a run block names targets that exist.
fn whole_file(module: &Module, text: &str) -> Result<(), Vec<Diagnostic>> {
    if module.kernels().next().is_some() {
        let unknown = module.runs().flat_map(|run| {
            let names = run.targets.iter().flatten();
            let unknown = names.filter_map(|name| tilewright_target::lookup(name).err());
            unknown.map(|unknown| Diagnostic::error(Code::UNKNOWN_TARGET, run.span, unknown.to_string()))
        });
        let unknown: Vec<Diagnostic> = unknown.collect();
        return if unknown.is_empty() { Ok(()) } else { Err(unknown) };
    }
    let end = Span::new(text.len().saturating_sub(1), text.len());
    let error = Diagnostic::error(Code::SYNTAX, end, "there is no kernel in this file");
    Err(vec![error.help("a kernel begins `kernel name(parameters) launch(grid = [1], block = [64]) {`")])
}

/// Compiles a source text for a target.
///
/// # Errors
/// The diagnostics of the first stage that finds errors.
pub fn compile_text(text: &str, target: &'static Target, options: &Options) -> Result<Compiled, Vec<Diagnostic>> {
    let module = parse(text).into_result()?;
    whole_file(&module, text)?;
    compile_module(module, text, target, options, &mut ())
}

/// Compiles a module, whose places are in `text` (empty for a module that was built). `observer` sees the module before
/// and after each pass.
///
/// # Errors
/// The diagnostics of the first stage that finds errors.
pub fn compile_module(
    tile: Module,
    text: &str,
    target: &'static Target,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Compiled, Vec<Diagnostic>> {
    let known = Known::new(target, &options.extensions)?;
    let state = pipeline::run(tile.clone(), &known.cx(), observer)?;
    let mut report = crate::report::report(target.name, &state.decisions, text);
    if options.suggest {
        let all = tilewright_passes::select::suggest(&tile, &known.cx(), &state.decisions);
        report.copies.iter_mut().zip(all).for_each(|(copy, suggest)| copy.suggest = suggest);
    }
    let made = backend::make(&state.module, text, target, options)?;
    Ok(Compiled {
        target,
        text: text.to_string(),
        tile,
        report,
        lowered: state.module,
        decisions: state.decisions,
        warnings: state.warnings,
        facts: state.kernels,
        made,
        extensions: options.extensions.clone(),
    })
}

/// Runs these passes in this order on a file of any level; the module and the warnings.
///
/// # Errors
/// The diagnostics of the first stage that finds errors.
pub fn run_passes(
    text: &str,
    passes: &[&Pass],
    target: &'static Target,
    observer: &mut dyn Observer,
) -> Result<(Module, Vec<Diagnostic>), Vec<Diagnostic>> {
    let module = parse(text).into_result()?;
    whole_file(&module, text)?;
    let state = pipeline::run_passes(module, passes, &backend::pass_cx(target), observer)?;
    Ok((state.module, state.warnings))
}

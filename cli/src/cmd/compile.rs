//! `tilewright compile`: one stage of the compiler as a file.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use tilewright_ir::text::print;
use tilewright_passes::pipeline::Pass;
use tilewright_target::{Target, Vendor};

use super::opt::parse_pass;
use super::{Input, Stop, parse_target, put};
use crate::backend::Want;
use crate::observe::Watcher;
use crate::session::{Clock, Session};
use crate::{Compiled, bundle, files, ptxas};

/// Compiles a file for a target and writes one stage of it
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file; `-` is standard input
    file: PathBuf,
    /// Compile for this target
    #[arg(long, value_name = "TARGET", value_parser = parse_target, default_value = super::DEFAULT_TARGET.name)]
    target: &'static Target,
    /// What to write
    #[arg(long, value_enum, default_value_t = Emit::Obj)]
    emit: Emit,
    /// Where to write it; text goes to standard output otherwise
    #[arg(short, long = "output", visible_alias = "out", value_name = "OUT")]
    output: Option<PathBuf>,
    /// Also print the module after this pass
    #[arg(long, value_name = "PASS", value_parser = parse_pass)]
    print_after: Vec<&'static Pass>,
    /// Print how long each pass took, on standard error
    #[arg(long)]
    time: bool,
    /// The ptxas that makes objects for CUDA targets [default: the one on PATH]
    #[arg(long, value_name = "PATH")]
    ptxas: Option<PathBuf>,
    /// Check every call of the copy engines in the kernel, which traps at the first misuse; AMD targets
    #[arg(long)]
    sdma_debug: bool,
    /// Say as JSON on standard output what was written, or what went wrong; needs -o
    #[arg(long, requires = "output", conflicts_with = "print_after")]
    pub(super) json: bool,
}

/// Stages that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Emit {
    /// The module as written, printed
    Tile,
    /// The module after all passes, printed
    Lowered,
    /// Optimised LLVM IR
    Llvm,
    /// Assembly; PTX on CUDA targets
    Asm,
    /// Machine code: an AMD code object (.hsaco), or a cubin made by ptxas
    Obj,
    /// A .twb bundle: code, kernel descriptions and copy report
    Bundle,
}

impl Emit {
    /// What the backend must make for it.
    fn want(self, target: &Target) -> Want {
        match (self, target.vendor) {
            (Emit::Tile | Emit::Lowered, _) => Want::Nothing,
            (Emit::Llvm, _) => Want::Llvm,
            (Emit::Asm, _) => Want::Asm,
            (Emit::Obj | Emit::Bundle, _) => Want::finished(target),
        }
    }
}

pub(super) fn main(args: &Args, session: &mut Session) -> Result<(), Stop> {
    let input = Input::read(&args.file)?;
    if let Some(out) = &args.output
        && files::are_same(&args.file, out)
    {
        return Err(Stop::Input(format!("`{}` is the source itself: -o would overwrite it", out.display())));
    }
    if args.json && args.output.as_deref() == Some(Path::new("-")) {
        return Err(Stop::Usage("--json and the output cannot both go to standard output".to_owned()));
    }
    // Found before the work, so that a missing tool is known at once.
    let needs_ptxas = args.emit == Emit::Obj && args.target.vendor == Vendor::Nvidia;
    let ptxas =
        if needs_ptxas { Some(ptxas::find(args.ptxas.as_deref(), &session.env).map_err(Stop::Input)?) } else { None };
    let mut watcher = Watcher::new(&args.print_after);
    let clock = Clock::start();
    let result =
        input.compile_watched(session, args.target, (args.emit.want(args.target), args.sdma_debug), &mut watcher);
    session.print(&watcher.take_printed());
    if args.time {
        watcher.add("parse and machine code", clock.nanoseconds().saturating_sub(watcher.total()));
        session.say(&watcher.times());
    }
    let compiled = result?;
    let bytes = output(args.emit, &compiled, ptxas.as_deref()).map_err(Stop::Input)?;
    put(session, args.output.as_ref(), &bytes, &format!("--emit {}", name(args.emit)))?;
    if args.json {
        let output = args.output.as_ref().map(|out| out.display().to_string());
        let (emit, target, bytes) = (name(args.emit), args.target.name, bytes.len());
        let all = serde_json::json!({
            "ok": true, "file": input.name, "target": target, "emit": emit, "output": output, "bytes": bytes,
            "diagnostics": session.told,
        });
        session.print(&format!("{all:#}\n"));
    }
    Ok(())
}

fn name(emit: Emit) -> String {
    emit.to_possible_value().map_or(String::new(), |value| value.get_name().to_string())
}

/// The bytes of the stage.
fn output(emit: Emit, compiled: &Compiled, ptxas: Option<&Path>) -> Result<Vec<u8>, String> {
    let made = || compiled.made.as_ref().ok_or_else(|| "the backend made nothing".to_string());
    let asm = || made().and_then(|made| made.asm.clone().ok_or_else(|| "the backend made no assembly".to_string()));
    match (emit, ptxas) {
        (Emit::Tile, _) => Ok(print(&compiled.tile).into_bytes()),
        (Emit::Lowered, _) => Ok(print(&compiled.lowered).into_bytes()),
        (Emit::Llvm, _) => Ok(made()?.llvm_ir.clone().into_bytes()),
        (Emit::Asm, _) => Ok(asm()?.into_bytes()),
        (Emit::Bundle, _) => bundle::bundle(compiled),
        (Emit::Obj, Some(ptxas)) => ptxas::assemble(ptxas, compiled.target, &asm()?),
        (Emit::Obj, None) => made()?.object.clone().ok_or_else(|| "the backend made no object".to_string()),
    }
}

//! `tilewright compile`: one stage of the compiler as a file.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use tilewright_ir::Module;
use tilewright_ir::text::print;
use tilewright_passes::pipeline::Pass;
use tilewright_target::{Target, Vendor};

use super::opt::parse_pass;
use super::{Input, Stop, parse_target, put, runs};
use crate::backend::Want;
use crate::bundle::BundleError;
use crate::observe::Watcher;
use crate::session::{Clock, Session};
use crate::{Compiled, bundle, files, ptxas};

/// Compiles a file for a target and writes one stage of it
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file; `-` is standard input
    file: PathBuf,
    /// Compile for this target; a bundle may hold several: `--target gfx942,gfx950`
    #[arg(long, value_name = "TARGET", value_parser = parse_target, default_value = super::DEFAULT_TARGET.name,
        value_delimiter = ',')]
    target: Vec<&'static Target>,
    /// What to write
    #[arg(long, value_enum, default_value_t = Emit::Obj)]
    emit: Emit,
    /// Where to write it; text goes to standard output otherwise
    #[arg(short, long = "output", visible_alias = "out", value_name = "OUT")]
    output: Option<PathBuf>,
    /// The run blocks of a bundle are for this many ranks, whatever they say themselves
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    ranks: Option<u32>,
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
    /// A .twb bundle for `tilewright-run`: code for each target, kernel descriptions, copy report, run blocks
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
    check_targets(args)?;
    // Found before the work, so that a missing tool is known at once.
    let needs_ptxas = args.emit == Emit::Obj && args.target.iter().any(|target| target.vendor == Vendor::Nvidia);
    let ptxas =
        if needs_ptxas { Some(ptxas::find(args.ptxas.as_deref(), &session.env).map_err(Stop::Input)?) } else { None };
    // Its warnings come again with those of the compile.
    let (module, _) = crate::parse_and_verify(&input.text).map_err(|all| input.tell_all(session, &all))?;
    let mut all = Vec::new();
    for target in &args.target {
        all.push(compile(args, &input, &module, target, session)?);
    }
    let bytes = match (args.emit, all.as_slice()) {
        (Emit::Bundle, _) => bundled(args, &input, &module, &all, session)?,
        (_, [compiled]) => output(args.emit, compiled, ptxas.as_deref()).map_err(Stop::Input)?,
        _ => return Err(Stop::Usage(format!("--emit {} is for one target", name(args.emit)))),
    };
    put(session, args.output.as_ref(), &bytes, &format!("--emit {}", name(args.emit)))?;
    if args.json {
        let output = args.output.as_ref().map(|out| out.display().to_string());
        let targets: Vec<&str> = args.target.iter().map(|target| target.name).collect();
        let (emit, target, bytes) = (name(args.emit), targets.join(","), bytes.len());
        let all = serde_json::json!({
            "ok": true, "file": input.name, "target": target, "emit": emit, "output": output, "bytes": bytes,
            "diagnostics": session.told,
        });
        session.print(&format!("{all:#}\n"));
    }
    Ok(())
}

/// Several targets are for bundles, and so is a number of ranks; no target twice.
fn check_targets(args: &Args) -> Result<(), Stop> {
    if let Some(at) = (1..args.target.len()).find(|at| args.target[..*at].contains(&args.target[*at])) {
        return Err(Stop::Usage(format!("--target names {} twice", args.target[at].name)));
    }
    if args.emit != Emit::Bundle && args.target.len() > 1 {
        let emit = name(args.emit);
        return Err(Stop::Usage(format!(
            "--emit {emit} is for one target; several go into one file with --emit bundle"
        )));
    }
    if args.emit != Emit::Bundle && args.ranks.is_some() {
        return Err(Stop::Usage("--ranks is for the run blocks of a bundle: add --emit bundle".to_owned()));
    }
    Ok(())
}

/// Compiles for one target; for a bundle, what the run blocks mean for that target.
fn compile(
    args: &Args,
    input: &Input,
    module: &Module,
    target: &'static Target,
    session: &mut Session,
) -> Result<Compiled, Stop> {
    let part = if args.emit == Emit::Bundle { runs::meant(module, target) } else { module.clone() };
    if part.kernels().next().is_none() {
        let (file, target) = (&input.name, target.name);
        return Err(Stop::Input(format!(
            "no run block of `{file}` allows {target}, so there is nothing to bundle for it"
        )));
    }
    let mut watcher = Watcher::new(&args.print_after);
    let clock = Clock::start();
    // The report of a bundle is what `run` prints, suggestions included.
    let want = (args.emit.want(target), args.emit == Emit::Bundle, args.sdma_debug);
    let result = input.compile_part(session, part, target, want, &mut watcher);
    session.print(&watcher.take_printed());
    if args.time {
        watcher.add("machine code", clock.nanoseconds().saturating_sub(watcher.total()));
        session.say(&watcher.times());
    }
    result
}

/// The bytes of the bundle.
fn bundled(
    args: &Args,
    input: &Input,
    module: &Module,
    all: &[Compiled],
    session: &mut Session,
) -> Result<Vec<u8>, Stop> {
    let folder = args.file.parent().unwrap_or(Path::new("")).to_path_buf();
    let npy = |name: &str| files::read_bytes(&folder.join(name));
    let made = bundle::bundle(&input.name, module, all, args.ranks, &npy).map_err(|e| match e {
        BundleError::Told(all) => input.tell_all(session, &all),
        BundleError::Words(words) => Stop::Input(words),
    })?;
    made.to_twb().map_err(|e| Stop::Input(e.to_string()))
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
        (Emit::Bundle, _) => Err("a bundle is made of several compiles".to_string()),
        (Emit::Obj, Some(ptxas)) => ptxas::assemble(ptxas, compiled.target, &asm()?),
        (Emit::Obj, None) => made()?.object.clone().ok_or_else(|| "the backend made no object".to_string()),
    }
}

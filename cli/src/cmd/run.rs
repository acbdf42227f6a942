//! `tilewright run`: compiles, runs the run blocks, compares with the reference interpreter, and says how each copy went.

mod outputs;
mod times;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tilewright_artifact::checked_line;
use tilewright_ir::interp::DEFAULT_MAX_STEPS;
use tilewright_ir::{Kernel, Module, ParamTy, Run, Space};
use tilewright_runtime::times::summary;
use tilewright_target::Target;

pub(super) use self::outputs::Named;
use super::arrays::{self, Array};
use super::runs::{self, allows};
use super::{DEFAULT_TARGET, Input, Stop, parse_target};
use crate::backend::Want;
use crate::checked::{Checked, Trial, check};
use crate::device::{DEVICES, Device, Timed, Times, default_device, device, unchecked};
use crate::session::Session;
use crate::{Compiled, files, report};

/// Compiles a file for a target, runs its run blocks on several ranks, and checks the result
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file; `-` is standard input
    file: PathBuf,
    /// Compile for this target [default: gfx950, or the first that the run blocks allow]
    #[arg(long, value_name = "TARGET", value_parser = parse_target)]
    target: Option<&'static Target>,
    /// Run on this many ranks, whatever the run blocks say
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    ranks: Option<u32>,
    /// What runs the kernel: sim, lanes, reference or cuda [default: sim on AMD targets; on others cuda where there is a GPU
    /// that fits, else lanes]
    #[arg(long, value_name = "DEVICE", value_parser = parse_device)]
    device: Option<DeviceArg>,
    /// Seed of scheduling and of completion times
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Run with this many seeds, one after the other, from --seed on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Simulate without the checks for races, initialisation and copies in flight: faster, and what is wrong may pass
    #[arg(long)]
    unchecked: bool,
    /// Check every call of the copy engines in the kernel, which traps at the first misuse; AMD targets, on sim
    #[arg(long)]
    sdma_debug: bool,
    /// Run the device alone: no reference interpreter, no comparison; what the run block expects is still checked
    #[arg(long)]
    alone: bool,
    /// Give a launch up after this many statements or instructions, over all ranks and blocks
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_STEPS)]
    max_steps: u64,
    /// Write what happened when, in virtual time, as a trace for ui.perfetto.dev; of the first seed, on sim
    #[arg(long, value_name = "OUT")]
    trace: Option<PathBuf>,
    /// Fill a buffer from a file, in place of what the run blocks say: its shape, or with one more axis of ranks in front
    #[arg(long = "in", value_name = "NAME=FILE.npy", value_parser = arrays::parse)]
    inputs: Vec<Array>,
    /// Write what a buffer holds after the run to a file; with several ranks an axis of ranks comes in front
    #[arg(long = "out", value_name = "NAME=FILE.npy", value_parser = arrays::parse)]
    outputs: Vec<Array>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(super) json: bool,
}

impl Args {
    /// The folder of the source, to which the files that run blocks name are relative.
    fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new(""))
    }
}

/// A device that was found by its name.
#[derive(Clone, Copy)]
struct DeviceArg(&'static dyn Device);

impl std::fmt::Debug for DeviceArg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

fn parse_device(name: &str) -> Result<DeviceArg, String> {
    device(name).map(DeviceArg).ok_or_else(|| {
        let all: Vec<String> = DEVICES.iter().map(|d| format!("{} ({})", d.name(), d.summary())).collect();
        format!("unknown device; there are {}", all.join(" and "))
    })
}

/// Runs; what is known is left in `about`, for the answer if it fails.
pub(super) fn main(args: &Args, about: &mut Map<String, Value>, session: &mut Session) -> Result<(), Stop> {
    about.insert("file".to_owned(), json!(super::name_of(&args.file)));
    let input = Input::read(&args.file)?;
    let module = input.module(session)?;
    let target = choose_target(args.target, &module, &input.name)?;
    about.insert("target".to_owned(), json!(target.name));
    for run in module.runs().filter(|run| !allows(run, target)) {
        let targets = run.targets.as_deref().unwrap_or_default().join(", ");
        session.say(&format!("note: run block `{}` is for {targets} and not run on {}\n", run.kernel, target.name));
    }
    super::check_sdma_debug(args.sdma_debug, target)?;
    let device = choose_device(args, &module, target, session)?;
    about.insert("device".to_owned(), json!(device.name()));
    about.insert("seed".to_owned(), json!(args.seed));
    if args.sdma_debug && device.name() != "sim" {
        return Err(Stop::Usage(format!("--sdma-debug is in the machine code, which {} does not run", device.name())));
    }
    if args.seed.checked_add(args.seeds - 1).is_none() {
        let (seed, seeds) = (args.seed, args.seeds);
        return Err(Stop::Usage(format!("--seed {seed} with --seeds {seeds} goes beyond the last seed, {}", u64::MAX)));
    }
    if args.trace.is_some() && device.name() != "sim" {
        return Err(Stop::Usage(format!(
            "--trace is of the simulator's virtual time, which {} has none of",
            device.name()
        )));
    }
    let part = runs::runnable(&module, target);
    let runs = arrays::with_inputs(&part, &args.inputs)?;
    arrays::check_outputs(&part, &args.outputs)?;
    let trace = args.trace.iter().map(|path| ("--trace".to_owned(), path.clone()));
    let places: Vec<Named> = arrays::places(&args.outputs).chain(trace).collect();
    outputs::check(&args.file, &arrays::read_files(&module, args.folder(), &args.inputs), &places)?;
    let compiled =
        input.compile_part(session, part, target, (Want::finished(target), true, args.sdma_debug), &mut ())?;
    let mut outcomes = run_all((args, device), &input, (&compiled, &runs), about, session)?;
    let mut made = Vec::new();
    for outcome in &outcomes {
        made.extend(arrays::made(&args.outputs, &compiled, outcome.run, &outcome.checked)?);
    }
    if let Some(path) = &args.trace {
        made.push((path, times::trace((&input.name, args.seed), &compiled, &mut outcomes, session)));
    }
    let made: Vec<(&Path, &[u8])> = made.iter().map(|(path, bytes)| (*path, bytes.as_slice())).collect();
    files::write_all_atomic(&made).map_err(Stop::Input)?;
    let text = if args.json {
        as_json((args, device), &input, &compiled, &outcomes)
    } else {
        as_text((args, device), &input, &compiled, &outcomes)
    };
    session.print(&text);
    Ok(())
}

/// The target to run on: what was asked for, the default, or the first that a run block allows.
fn choose_target(asked: Option<&'static Target>, module: &Module, file: &str) -> Result<&'static Target, Stop> {
    let runs: Vec<&Run> = module.runs().collect();
    if runs.is_empty() {
        return Err(Stop::Input(format!("`{file}` has no run block, so there is nothing to run")));
    }
    let allowed: Vec<&str> = runs.iter().filter_map(|run| run.targets.as_ref()).flatten().map(String::as_str).collect();
    if let Some(target) = asked {
        return if runs.iter().any(|run| allows(run, target)) {
            Ok(target)
        } else {
            let allowed = allowed.join(", ");
            Err(Stop::Input(format!("no run block of `{file}` allows {}; they allow {allowed}", target.name)))
        };
    }
    let candidates = std::iter::once(DEFAULT_TARGET.name).chain(allowed);
    let known = candidates.filter_map(|name| tilewright_target::lookup(name).ok());
    known
        .into_iter()
        .find(|target| runs.iter().any(|run| allows(run, target)))
        .ok_or_else(|| Stop::Input(format!("the run blocks of `{file}` allow no target")))
}

/// The device that was asked for, or that of the target; without its checks if that was asked for.
fn choose_device(
    args: &Args,
    module: &Module,
    target: &Target,
    session: &mut Session,
) -> Result<&'static dyn Device, Stop> {
    let device = match args.device {
        Some(arg) => arg.0,
        None => {
            let (device, why) = default_device(target, runs::runnable(module, target).kernels().any(takes_peers));
            if let Some(why) = why {
                session.say(&format!("note: run on {}: {why}\n", device.name()));
            }
            device
        }
    };
    if !args.unchecked {
        return Ok(device);
    }
    let without =
        || Stop::Usage(format!("--unchecked is for the simulator; {} has no checks to leave out", device.name()));
    unchecked(device).ok_or_else(without)
}

/// Does the kernel take a communicator or windows?
fn takes_peers(kernel: &Kernel) -> bool {
    kernel.params.iter().any(|param| match &param.ty {
        ParamTy::DevComm => true,
        ParamTy::Buffer(ty) => ty.space == Space::Window,
        ParamTy::Scalar(_) => false,
    })
}

/// What came of one run block: over all seeds.
struct Outcome<'a> {
    run: &'a Run,
    checked: Checked,
    /// Of the first seed.
    times: Times,
}

fn run_all<'a>(
    (args, device): (&Args, &dyn Device),
    input: &Input,
    (compiled, runs): (&Compiled, &'a [Run]),
    about: &mut Map<String, Value>,
    session: &mut Session,
) -> Result<Vec<Outcome<'a>>, Stop> {
    let npy = |name: &str| files::read_bytes(&args.folder().join(name));
    let mut outcomes = Vec::new();
    let mut failed = false;
    let mut progress = session.progress(args.seeds.saturating_mul(runs.len() as u64), "seeds");
    for run in runs {
        let (mut last, mut times) = (None, Times::default());
        for seed in args.seed..=args.seed.saturating_add(args.seeds - 1) {
            let (ranks, max_steps) = (args.ranks, args.max_steps);
            let trial = Trial { run, ranks, seed, max_steps, npy: &npy, alone: args.alone };
            // What one seed takes stands for all: nothing of it is chance but who comes first.
            let timed = (device.name() == "sim" && seed == args.seed)
                .then(|| Timed::new(!args.unchecked, args.trace.is_some()));
            let checked = check(compiled, timed.as_ref().map_or(device, |timed| timed), &trial);
            times = timed.map_or(times, |timed| timed.take());
            progress.step();
            match checked {
                Ok(checked) => {
                    // What one seed has told needs no second telling.
                    if last.is_none() {
                        input.tell(session, &checked.warnings);
                    }
                    last = Some(checked);
                }
                Err(all) => {
                    progress.hide();
                    input.tell(session, &all);
                    session.say(&format!("note: `{}` on {}, seed {seed}\n", run.kernel, compiled.target.name));
                    if !failed {
                        about.insert("seed".to_owned(), json!(seed));
                    }
                    failed = true;
                    break;
                }
            }
        }
        outcomes.extend(last.map(|checked| Outcome { run, checked, times }));
    }
    if failed { Err(Stop::Told) } else { Ok(outcomes) }
}

/// The copy report, then a line for each run block.
fn as_text((args, device): (&Args, &dyn Device), input: &Input, compiled: &Compiled, outcomes: &[Outcome]) -> String {
    let mut out = report::table(compiled, &input.name);
    for Outcome { run, checked, times } in outcomes {
        let against = match (device.name(), args.alone) {
            ("reference", _) => "by the reference",
            (_, true) => "alone",
            (_, false) => "against the reference",
        };
        let seeds = if args.seeds == 1 { format!("seed {}", args.seed) } else { format!("{} seeds", args.seeds) };
        let how = format!("{} {against}, {seeds}", device.name());
        let (bytes, ranks) = (checked.bytes, u64::from(checked.ranks));
        out.push_str(&checked_line(bytes, ranks, run.kernel.as_str(), compiled.target.name, &how));
        out.push_str(&summary(compiled.target, &times.ranks));
    }
    out
}

fn as_json((args, device): (&Args, &dyn Device), input: &Input, compiled: &Compiled, outcomes: &[Outcome]) -> String {
    let runs: Vec<_> = outcomes
        .iter()
        .map(|Outcome { run, checked, times }| {
            let mut about =
                json!({ "kernel": run.kernel.as_str(), "ranks": checked.ranks, "bytes": checked.bytes, "ok": true });
            if !times.ranks.is_empty() {
                about["virtual_time"] = times::json(&times.ranks);
            }
            about
        })
        .collect();
    let all = json!({
        "ok": true,
        "file": input.name,
        "target": compiled.target.name,
        "device": device.name(),
        "seed": args.seed,
        "seeds": args.seeds,
        "runs": runs,
        "copies": compiled.report.copies,
    });
    format!("{all:#}\n")
}

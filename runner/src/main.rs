//! `tilewright-run`: executes the run blocks of a `.twb` bundle on a machine that has no Rust, no compiler and no LLVM.
//!
//! What must hold here:
//! - Exit 0: every run block that was to be run left the bytes that the bundle expects. Exit 1: one did not, or could not be
//!   run at all. Exit 2: the command line is wrong.
//! - The report is the one that `tilewright run` prints, for each target of the bundle that ran. Data goes to standard output,
//!   words to standard error; a closed pipe is no panic.

mod args;
mod devices;
mod report;
mod trial;

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use tilewright_artifact::table::printable;
use tilewright_artifact::{Bundle, RunCase};

use crate::args::Args;
use crate::devices::Found;
use crate::report::{Answer, PartAnswer};

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(e) => {
            // Help and version are no fault; nobody is left to be told if this cannot be printed.
            let _ = e.print();
            return ExitCode::from(if e.use_stderr() { 2 } else { 0 });
        }
    };
    match run(&args) {
        Ok(answer) => {
            let text = if args.json { answer.json() } else { printable(&answer.text()) };
            if let Err(why) = print(&text) {
                say("error", &format!("cannot write to standard output: {why}"));
                return ExitCode::FAILURE;
            }
            answer.notes().for_each(|note| say("note", &note));
            answer.faults().for_each(|fault| say("error", fault));
            if answer.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(Stop::Input(why)) => {
            say("error", &why);
            if args.json {
                // What the other programs answer a script, too.
                let _ = print(&format!("{:#}\n", serde_json::json!({ "ok": false, "error": why })));
            }
            ExitCode::FAILURE
        }
        Err(Stop::Usage(why)) => {
            say("error", &why);
            ExitCode::from(2)
        }
    }
}

/// Standard output; nobody reading it any more is no fault.
fn print(text: &str) -> Result<(), std::io::Error> {
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Words to standard error; nobody can be told if that fails.
fn say(kind: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "{kind}: {}", printable(why));
}

/// Why nothing was run.
enum Stop {
    /// The bundle is no good: exit 1.
    Input(String),
    /// The command line is wrong: exit 2.
    Usage(String),
}

impl From<String> for Stop {
    fn from(why: String) -> Stop {
        Stop::Input(why)
    }
}

/// Longest bundle in bytes: contents of buffers make them large, but not without end.
const MAX_BUNDLE_BYTES: u64 = 4 << 30;

/// The bytes of a file, not more than a bundle may have.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let about = std::fs::metadata(path).map_err(|e| e.to_string())?;
    if !about.is_file() {
        return Err("it is no regular file".to_owned());
    }
    if about.len() > MAX_BUNDLE_BYTES {
        return Err(format!("it is longer than {MAX_BUNDLE_BYTES} bytes"));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|e| e.to_string())?;
    file.take(MAX_BUNDLE_BYTES).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    Ok(bytes)
}

/// Runs what fits.
fn run(args: &Args) -> Result<Answer, Stop> {
    let name = args.bundle.display();
    if args.seed.checked_add(args.seeds - 1).is_none() {
        let (seed, seeds) = (args.seed, args.seeds);
        return Err(Stop::Usage(format!("--seed {seed} with --seeds {seeds} goes beyond the last seed, {}", u64::MAX)));
    }
    let bytes = read(&args.bundle).map_err(|e| format!("cannot read `{name}`: {e}"))?;
    let bundle = Bundle::from_twb(&bytes).map_err(|e| format!("`{name}`: {e}"))?;
    if bundle.cases.is_empty() {
        return Err(Stop::Input(format!("`{name}` has no run blocks, so there is nothing to run")));
    }
    if let Some(target) = &args.target
        && bundle.part(target).is_none()
    {
        let targets: Vec<&str> = bundle.parts.iter().map(|part| part.artifact.target.as_str()).collect();
        let targets = targets.join(", ");
        return Err(Stop::Input(format!("`{name}` holds no code for `{target}`; it holds code for {targets}")));
    }
    let found = Found::look(args);
    let mut answer = Answer::new(&bundle, args);
    let mut ran = vec![false; bundle.cases.len()];
    for part in bundle.parts.iter().filter(|part| args.target.as_ref().is_none_or(|t| *t == part.artifact.target)) {
        let device = match found.for_part(part) {
            Ok(device) => device,
            Err(why) => {
                answer.refused(&part.artifact.target, why);
                continue;
            }
        };
        let mut of_part = PartAnswer::new(part, device.name());
        for (case, launch) in part.launches.iter().enumerate().filter_map(|(at, l)| Some((at, l.as_ref()?))) {
            ran[case] = true;
            of_part.add(trial::run(&bundle, part, case, launch, device, args));
        }
        answer.add(of_part);
    }
    // What the chosen target is not allowed to run is not missed.
    let meant = |case: &RunCase| args.target.as_ref().is_none_or(|target| case.allows(target));
    for (case, _) in bundle.cases.iter().zip(ran).filter(|(case, ran)| !ran && meant(case)) {
        answer.not_run(&case.kernel);
    }
    Ok(answer)
}

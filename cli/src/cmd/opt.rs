//! `tilewright opt`: runs chosen passes on a file and prints the module.

use std::path::PathBuf;

use tilewright_ir::text::print;
use tilewright_passes::pipeline::{PASSES, Pass};
use tilewright_target::Target;

use super::{Input, Stop, parse_target};
use crate::observe::Watcher;
use crate::run_passes;
use crate::session::Session;

/// Runs some passes on a file and prints the module that comes out
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file; `-` is standard input
    file: PathBuf,
    /// The passes in order, separated by commas
    #[arg(long, value_name = "PASS,…", value_delimiter = ',', required = true, value_parser = parse_pass)]
    passes: Vec<&'static Pass>,
    /// Also print the module after this pass
    #[arg(long, value_name = "PASS", value_parser = parse_pass)]
    print_after: Vec<&'static Pass>,
    /// Run them for this target
    #[arg(long, value_name = "TARGET", value_parser = parse_target, default_value = super::DEFAULT_TARGET.name)]
    target: &'static Target,
    /// Print how long each pass took
    #[arg(long)]
    time: bool,
}

/// Reads a pass's name on the command line.
pub(super) fn parse_pass(name: &str) -> Result<&'static Pass, String> {
    PASSES.iter().find(|pass| pass.name == name).ok_or_else(|| {
        let names: Vec<&str> = PASSES.iter().map(|pass| pass.name).collect();
        format!("unknown pass; the passes are {}", names.join(", "))
    })
}

pub(super) fn main(args: &Args, session: &mut Session) -> Result<(), Stop> {
    let input = Input::read(&args.file)?;
    let mut watcher = Watcher::new(&args.print_after);
    let result = run_passes(&input.text, &args.passes, args.target, &mut watcher);
    session.print(&watcher.take_printed());
    if args.time {
        session.say(&watcher.times());
    }
    let (module, warnings) = result.map_err(|all| input.tell_all(session, &all))?;
    input.tell(session, &warnings);
    session.print(&print(&module));
    Ok(())
}

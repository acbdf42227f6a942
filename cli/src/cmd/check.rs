//! `tilewright check`: is the file right?

use std::path::PathBuf;

use tilewright_target::Target;

use super::{Input, Stop, parse_target};
use crate::session::Session;

/// Checks a file without writing anything
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file; `-` is standard input
    file: PathBuf,
    /// Also check that it compiles for this target
    #[arg(long, value_name = "TARGET", value_parser = parse_target)]
    target: Option<&'static Target>,
    /// Print what was found as JSON
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn main(args: &Args, session: &mut Session) -> Result<(), Stop> {
    let input = Input::read(&args.file)?;
    let module = match args.target {
        None => input.module(session)?,
        Some(target) => input.compile_watched(session, target, (crate::backend::Want::Nothing, false), &mut ())?.tile,
    };
    let count = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    let (kernels, runs) = (module.kernels().count(), module.runs().count());
    if args.json {
        let (file, told) = (&input.name, &session.told);
        let all =
            serde_json::json!({ "ok": true, "file": file, "kernels": kernels, "runs": runs, "diagnostics": told });
        session.print(&format!("{all:#}\n"));
    }
    let on = args.target.map_or(String::new(), |target| format!(" for {}", target.name));
    session.say(&format!("{}: ok{on}, {}, {}\n", input.name, count(kernels, "kernel"), count(runs, "run block")));
    Ok(())
}

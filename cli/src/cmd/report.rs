//! `tilewright report`: how each copy is carried, and why.

use std::path::{Path, PathBuf};

use tilewright_ir::Run;
use tilewright_target::Target;

use super::{Input, Stop, parse_target};
use crate::device::accesses;
use crate::session::Session;
use crate::{files, report};

/// Says of each copy how it is carried, and of each candidate why it won, lost or declined
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file; `-` is standard input
    file: PathBuf,
    /// Compile for this target
    #[arg(long, value_name = "TARGET", value_parser = parse_target, default_value = super::DEFAULT_TARGET.name)]
    target: &'static Target,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(super) json: bool,
    /// Also run the first run block and show what each lane of the first warp accesses
    #[arg(long, conflicts_with = "json")]
    lanes: bool,
}

pub(super) fn main(args: &Args, session: &mut Session) -> Result<(), Stop> {
    let input = Input::read(&args.file)?;
    let compiled = input.compile(session, args.target)?;
    let text = if args.json { report::json(&compiled.report) } else { report::table(&compiled, &input.name) };
    session.print(&text);
    if args.lanes {
        let allows = |run: &&Run| run.targets.as_ref().is_none_or(|names| names.iter().any(|n| n == args.target.name));
        let Some(run) = compiled.tile.runs().find(allows) else {
            return Err(Stop::Input(format!("`{}` has no run block for {}", input.name, args.target.name)));
        };
        let folder = args.file.parent().unwrap_or(Path::new("")).to_path_buf();
        let npy = |name: &str| files::read_bytes(&folder.join(name));
        let all = accesses(&compiled, run, &npy).map_err(|all| input.tell_all(session, &all))?;
        all.iter().for_each(|access| session.print(&format!("\n{}", access.table())));
    }
    Ok(())
}

//! `tilewright report`: how each copy is carried, and why.

use std::path::PathBuf;

use tilewright_target::Target;

use super::{Input, Stop, parse_target};
use crate::report;
use crate::session::Session;

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
}

pub(super) fn main(args: &Args, session: &mut Session) -> Result<(), Stop> {
    let input = Input::read(&args.file)?;
    let compiled = input.compile(session, args.target)?;
    let text = if args.json { report::json(&compiled.report) } else { report::table(&compiled, &input.name) };
    session.print(&text);
    Ok(())
}

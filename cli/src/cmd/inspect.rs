//! `tilewright inspect`: what is in an object, and why a chip would refuse it.

use std::path::PathBuf;

use tilewright_artifact::table::printable;
use tilewright_runtime::inspect::inspect;
use tilewright_target::Target;

use super::{Stop, parse_target};
use crate::files;
use crate::session::Session;

/// Tells what is in a code object (.hsaco, .cubin, .ptx) or a .twb bundle, and which chips run it
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file; `-` is standard input
    file: PathBuf,
    /// Fail with the reason if this target would refuse it
    #[arg(long, value_name = "TARGET", value_parser = parse_target)]
    target: Option<&'static Target>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn main(args: &Args, session: &mut Session) -> Result<(), Stop> {
    let name = args.file.display();
    let bytes = files::read_bytes(&args.file).map_err(|why| Stop::Input(format!("cannot read `{name}`: {why}")))?;
    let found = inspect(&bytes).map_err(|why| Stop::Input(format!("`{name}`: {why}")))?;
    let refusal = args.target.and_then(|target| Some((target.name, found.refusal(target.name)?)));
    if args.json {
        let mut value = serde_json::to_value(&found).unwrap_or_default();
        if let Some(target) = args.target {
            value["target"] = target.name.into();
            value["refusal"] = refusal.as_ref().map(|(_, why)| why.as_str()).into();
        }
        session.print(&format!("{value:#}\n"));
    } else {
        session.print(&printable(&found.text()));
    }
    match refusal {
        None => Ok(()),
        Some((target, why)) => {
            session.say(&format!("error: {target} refuses `{name}`: {why}\n"));
            Err(Stop::Said)
        }
    }
}

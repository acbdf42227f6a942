//! `tilewright fmt`: writes files in the one style.

use std::path::{Path, PathBuf};

use super::{Input, Stop};
use crate::files;
use crate::session::Session;

/// Formats files in place
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Files to format; `-` formats standard input to standard output
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Change nothing; name the files that are not formatted and exit 1 if there are any
    #[arg(long)]
    check: bool,
}

pub(super) fn main(args: &Args, session: &mut Session) -> Result<(), Stop> {
    let mut stop = Ok(());
    for path in &args.files {
        match one(path, args.check, session) {
            Ok(()) => {}
            // Every file is looked at, so that one call names all that is wrong.
            Err(Stop::Input(why)) => {
                session.say(&format!("error: {why}\n"));
                stop = Err(Stop::Told);
            }
            Err(other) => stop = Err(other),
        }
    }
    stop
}

fn one(path: &Path, check: bool, session: &mut Session) -> Result<(), Stop> {
    let input = Input::read(path)?;
    let formatted = tilewright_ir::text::format(&input.text).map_err(|all| input.tell_all(session, &all))?;
    if check {
        if formatted != input.text {
            session.print(&format!("{}\n", input.name));
            return Err(Stop::Told);
        }
    } else if path == Path::new("-") {
        session.print(&formatted);
    } else if formatted != input.text {
        files::write_atomic(path, formatted.as_bytes()).map_err(Stop::Input)?;
    }
    Ok(())
}

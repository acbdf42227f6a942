//! Where the outputs of one `run` go.
//!
//! Must hold: before anything runs it is known that no output is the source, a file that is read, or another output, by
//! where the paths really lead; all outputs are written, or none.

use std::path::{Path, PathBuf};

use crate::cmd::Stop;
use crate::files;

/// A file on the command line, and what it is: `--out recv`, `--trace`; of an input `the input of `a``.
pub(in crate::cmd) type Named = (String, PathBuf);

/// Checks all outputs against the source, the inputs and one another.
pub(super) fn check(source: &Path, inputs: &[Named], outputs: &[Named]) -> Result<(), Stop> {
    let mut places: Vec<(PathBuf, &str)> = Vec::new();
    for (option, path) in outputs {
        if path == Path::new("-") {
            return Err(Stop::Usage(format!("{option}: `-` is no file; standard output has the report")));
        }
        let file = path.display();
        let Some(place) = files::destination(path).map_err(|why| Stop::Input(format!("{option}: {why}")))? else {
            continue;
        };
        if source != Path::new("-") && leads_to(source, &place) {
            return Err(Stop::Input(format!("{option}: `{file}` is the source itself and would be overwritten")));
        }
        if let Some((what, _)) = inputs.iter().find(|(_, input)| leads_to(input, &place)) {
            return Err(Stop::Input(format!("{option}: `{file}` is {what} and would be overwritten")));
        }
        if let Some((_, other)) = places.iter().find(|(other, _)| *other == place) {
            return Err(Stop::Usage(format!("{option}: `{file}` is written twice, by {other} before")));
        }
        places.push((place, option));
    }
    Ok(())
}

fn leads_to(path: &Path, place: &Path) -> bool {
    std::fs::canonicalize(path).is_ok_and(|there| there == place)
}

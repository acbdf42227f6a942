//! Draws a trace of `tilewright run --trace` as an SVG picture: `xtask trace-picture IN.json OUT.svg`.
//!
//! Must hold: nothing is written if the trace cannot be drawn.

use std::fs;
use std::path::Path;

/// Draws; what went wrong.
pub(crate) fn faults(from: &Path, to: &Path) -> Vec<String> {
    let drawn = fs::read_to_string(from)
        .map_err(|e| e.to_string())
        .and_then(|json| tilewright_tests::trace_picture::draw(&json))
        .map_err(|why| format!("{}: {why}", from.display()))
        .and_then(|svg| fs::write(to, svg).map_err(|e| format!("{}: {e}", to.display())));
    drawn.err().into_iter().collect()
}

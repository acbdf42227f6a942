//! Chores of the house, one file each: `cargo run -p tilewright-xtask -- tidy | snapshots FILE | readme | fuzz-copies | trace-picture IN OUT | validate`.
//!
//! Must hold: a chore prints what it found, one fault a line, and exits 1 if there is any; 2 is usage.

mod fuzz_copies;
mod readme;
mod snapshots;
mod tidy;
mod trace_picture;
mod tree;
mod validate;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: xtask COMMAND
  tidy            head comments, lengths, chip names: the rules that no lint knows
  snapshots FILE  snapshots that the last test run did not refer to (FILE from INSTA_SNAPSHOT_REFERENCES_FILE)
  readme          runs the commands of README.md
  fuzz-copies [--cases N] [--seed S] [--first K] [--verbose]
                  random copies, executed for every target and variant and compared with the reference
  trace-picture IN OUT
                  draws a trace of `tilewright run --trace` as SVG
  validate        hands all emitted PTX to ptxas (skips with a reason where there is none)
";

fn main() -> ExitCode {
    // The manifest's folder is xtask/ in the checkout that this was built from.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    if let ["fuzz-copies", rest @ ..] = &words[..] {
        return fuzz_copies::main(root, rest).unwrap_or_else(|| {
            eprintln!("usage: xtask {}", fuzz_copies::USAGE);
            ExitCode::from(2)
        });
    }
    let faults = match words[..] {
        ["tidy"] => tidy::faults(root),
        ["snapshots", file] => snapshots::faults(root, Path::new(file)),
        ["readme"] => readme::faults(root),
        ["trace-picture", from, to] => trace_picture::faults(Path::new(from), Path::new(to)),
        ["validate"] => validate::faults(root),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    for fault in &faults {
        println!("{fault}");
    }
    println!("{}: {} fault{}", words[0], faults.len(), if faults.len() == 1 { "" } else { "s" });
    if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

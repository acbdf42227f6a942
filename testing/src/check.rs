//! Compiling in tests, and the check against the reference interpreter.
//!
//! Must hold: what is wrong is drawn with its place, as the program draws it, so that a failing test says where.

use tilewright::checked::{Trial, check};
use tilewright::device::Lanes;
use tilewright::ir::Diagnostic;
use tilewright::ir::interp::DEFAULT_MAX_STEPS;
use tilewright::render::{Source, render};
use tilewright::{Compiled, Options, compile_text};

/// Schedules to try: the seed decides which warp goes next and when copy engines complete.
const SEEDS: u64 = 4;

/// Compiles a text for the target of that name.
///
/// # Panics
/// With the errors drawn if it does not compile, or the near names if there is no such target.
#[track_caller]
pub fn compile(text: &str, target: &str, options: &Options) -> Compiled {
    let target = tilewright::target(target).unwrap_or_else(|e| panic!("{e}"));
    compile_text(text, target, options).unwrap_or_else(|all| panic!("for {}:\n{}", target.name, drawn(text, &all)))
}

/// Compiles a text for the target of that name, runs each of its run blocks that allows the target on the lane executor
/// with several schedules, and compares every byte of every buffer with what the reference interpreter makes of the
/// source. The compile is returned for further questions.
///
/// # Panics
/// As [`compile`]; if there is nothing to run; with the difference, drawn, if there is one.
#[track_caller]
pub fn check_copy_matches_reference(text: &str, target: &str, options: &Options) -> Compiled {
    let compiled = compile(text, target, options);
    let mut bytes = 0;
    for run in compiled.tile.runs() {
        if run.targets.as_ref().is_some_and(|names| !names.iter().any(|name| name == compiled.target.name)) {
            continue;
        }
        for seed in 0..SEEDS {
            let npy = |_: &str| Err("tests read no files".to_string());
            let trial = Trial { run, ranks: None, seed, max_steps: DEFAULT_MAX_STEPS, npy: &npy, alone: false };
            match check(&compiled, &Lanes, &trial) {
                Ok(checked) => bytes += checked.bytes,
                Err(all) => panic!("`{}` on {target}, seed {seed}:\n{}", run.kernel, drawn(text, &all)),
            }
        }
    }
    assert!(bytes > 0, "no run block allows {target}: nothing was compared");
    compiled
}

/// The variants that carry the copies, in program order.
pub fn chosen(compiled: &Compiled) -> Vec<&'static str> {
    compiled.decisions.iter().map(|decision| decision.chosen).collect()
}

fn drawn(text: &str, all: &[Diagnostic]) -> String {
    render(all, Source { name: "test.tile", text }, false)
}

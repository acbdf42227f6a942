//! Kernels that go wrong, on the simulator: each file of `tests/faults/` is reported with its code, its words and its line,
//! on every seed. docs/debugging.md shows these reports.

use tilewright::backend::Want;
use tilewright::checked::{Trial, check};
use tilewright::device::Sim;
use tilewright::{Options, compile_text};
use tilewright_ir::interp::DEFAULT_MAX_STEPS;
use tilewright_ir::{Code, Diagnostic};
use tilewright_target::GFX950;

use crate::common::root;

fn report(file: &str, seed: u64) -> (String, Diagnostic) {
    let text = std::fs::read_to_string(root().join("tests/faults").join(file)).expect("UTF-8");
    let options = Options { want: Want::finished(&GFX950), file: Some(file.to_string()), ..Options::default() };
    let compiled = compile_text(&text, &GFX950, &options).unwrap_or_else(|all| panic!("{file}: {all:#?}"));
    let run = compiled.tile.runs().next().expect("a run block");
    let npy = |_: &str| Err("no files here".to_string());
    let trial = Trial { run, ranks: None, seed, max_steps: DEFAULT_MAX_STEPS, npy: &npy, alone: true };
    let found = check(&compiled, &Sim { checks: true }, &trial).expect_err(file).remove(0);
    (text, found)
}

#[test]
fn each_fault_is_reported_on_every_seed() {
    let all: [(&str, Code, &str, usize); 5] = [
        ("wild_pointer.tile", Code::OUT_OF_BOUNDS, "out of bounds", 4),
        ("missing_barrier.tile", Code::RACE, "data race", 0),
        ("source_reused.tile", Code::RACE, "`send` of rank", 0),
        ("no_signal.tile", Code::RACE, "`recv` of rank", 0),
        ("never_notified.tile", Code::DEADLOCK, "deadlock", 0),
    ];
    for (file, code, words, line) in all {
        for seed in 0..8 {
            let (text, found) = report(file, seed);
            assert_eq!(found.code, code, "{file}, seed {seed}: {found:#?}");
            assert!(found.message.contains(words), "{file}, seed {seed}: {}", found.message);
            assert!(line == 0 || found.span.line_in(&text) == line, "{file}, seed {seed}: {found:#?}");
        }
    }
    let (_, stuck) = report("never_notified.tile", 0);
    assert!(stuck.help.iter().any(|line| line.contains("polls the signal of rank")), "{stuck:#?}");
}

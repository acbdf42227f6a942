//! Every example on every target that fits, on several numbers of ranks and with several seeds: the lane executor and the
//! reference interpreter agree in every byte, and what the file expects holds.

use tilewright::backend::Want;
use tilewright::checked::{Trial, check, check_seeds};
use tilewright::device::{Lanes, Reference, Sim};
use tilewright::{Options, compile_text};
use tilewright_ir::interp::DEFAULT_MAX_STEPS;
use tilewright_target::{TARGETS, Vendor};

use crate::common::{Example, examples};

/// Ranks to try: one (its own neighbour), two (both neighbours are the same), and what a node has.
const RANKS: [u32; 4] = [1, 2, 4, 8];

/// Schedules to try for each.
const SEEDS: u64 = 4;

/// Schedules to try for each on the simulator.
const SIM_SEEDS: u64 = 20;

fn run_everywhere(example: &Example) {
    for target in example.targets() {
        let place = format!("{} on {}", example.name, target.name);
        let compiled = compile_text(&example.text, target, &Options::default()).expect(&place);
        for run in compiled.tile.runs() {
            for ranks in RANKS {
                for seed in 0..SEEDS {
                    let npy = |_: &str| Err("no files here".to_string());
                    let trial =
                        Trial { run, ranks: Some(ranks), seed, max_steps: DEFAULT_MAX_STEPS, npy: &npy, alone: false };
                    let checked = check(&compiled, &Lanes, &trial);
                    let checked = checked.unwrap_or_else(|all| panic!("{place}, {ranks} ranks, seed {seed}: {all:#?}"));
                    assert!(checked.bytes > 0 && checked.ranks == ranks, "{place}: {checked:?}");
                }
            }
        }
    }
}

/// The machine code of an AMD target on the simulator, with the reference beside it.
fn simulate_everywhere(example: &Example) {
    for target in example.targets().into_iter().filter(|target| target.vendor == Vendor::Amd) {
        let place = format!("{} on {}", example.name, target.name);
        let options = Options { want: Want::finished(target), ..Options::default() };
        let compiled = compile_text(&example.text, target, &options).expect(&place);
        for run in compiled.tile.runs() {
            for ranks in RANKS {
                let npy = |_: &str| Err("no files here".to_string());
                let max_steps = DEFAULT_MAX_STEPS;
                let trial = Trial { run, ranks: Some(ranks), seed: 0, max_steps, npy: &npy, alone: false };
                let checked = check_seeds(&compiled, &Sim { checks: true }, &trial, SIM_SEEDS);
                let checked =
                    checked.unwrap_or_else(|(seed, all)| panic!("{place}, {ranks} ranks, seed {seed}: {all:#?}"));
                assert!(checked.bytes > 0 && checked.ranks == ranks, "{place}: {checked:?}");
            }
        }
    }
}

/// Two tests an example, so that they run side by side and a failure names its file.
macro_rules! examples {
    ($($name:ident)*) => {
        $(#[test] fn $name() {
            let file = concat!(stringify!($name), ".tile");
            let all = examples();
            let found = all.iter().find(|example| example.name == file);
            run_everywhere(found.expect(file));
        })*

        /// The same with machine code on the simulator.
        mod machine_code_agrees_with_the_reference {
            use super::{examples, simulate_everywhere};

            $(#[test] fn $name() {
                let file = concat!(stringify!($name), ".tile");
                let all = examples();
                let found = all.iter().find(|example| example.name == file);
                simulate_everywhere(found.expect(file));
            })*
        }

        #[test]
        fn every_example_has_a_test() {
            let tested = [$(concat!(stringify!($name), ".tile")),*];
            for example in examples() {
                assert!(tested.contains(&example.name.as_str()), "{} is not tested", example.name);
            }
        }
    };
}

examples! {
    alltoall broadcast epoch_alltoall fallback_4x6 gmem_smem ldmatrix_trans_swizzle ldmatrix_x2 reg_roundtrip relay
    ring_shift ship stmatrix_x4
}

#[test]
fn the_reference_alone_meets_the_expectations() {
    for example in examples() {
        let target = example.targets()[0];
        let compiled = compile_text(&example.text, target, &Options::default()).expect(&example.name);
        for run in compiled.tile.runs() {
            let npy = |_: &str| Err("no files here".to_string());
            let trial = Trial { run, ranks: None, seed: 0, max_steps: DEFAULT_MAX_STEPS, npy: &npy, alone: false };
            let checked = check(&compiled, &Reference, &trial);
            assert!(checked.is_ok_and(|c| c.bytes > 0), "{}", example.name);
        }
    }
}

#[test]
fn targets_that_an_example_does_not_name_refuse_it_or_compile_it() {
    for example in examples() {
        for target in TARGETS {
            let result = compile_text(&example.text, target, &Options { want: Want::Asm, ..Options::default() });
            match result {
                Ok(compiled) => assert!(compiled.made.is_some()),
                Err(all) => {
                    // Windows on CUDA come later; everything else compiles everywhere.
                    let named = example.targets().iter().any(|t| t.name == target.name);
                    assert!(target.vendor == Vendor::Nvidia && !named, "{} on {}: {all:#?}", example.name, target.name);
                    assert!(all.iter().any(|d| d.is_error() && !d.message.is_empty()));
                }
            }
        }
    }
}

#[test]
fn variants_are_those_that_the_examples_are_about() {
    let chosen = |file: &str, target: &str| {
        let all = examples();
        let example = all.iter().find(|example| example.name == file).expect(file);
        let target = tilewright_target::lookup(target).expect(target);
        let compiled = compile_text(&example.text, target, &Options::default()).expect(file);
        compiled.decisions.iter().map(|decision| decision.chosen).collect::<Vec<_>>()
    };
    assert!(chosen("ring_shift.tile", "gfx950").contains(&"sdma_put"));
    assert!(chosen("ship.tile", "gfx942").contains(&"sdma_put"));
    assert!(chosen("ship.tile", "gfx1250").contains(&"sdma_put"));
    assert!(chosen("alltoall.tile", "gfx950").contains(&"sdma_put"));
    assert!(chosen("ldmatrix_x2.tile", "sm_80").contains(&"ldstmatrix"));
    assert!(chosen("ldmatrix_trans_swizzle.tile", "sm_90a").contains(&"ldstmatrix"));
    assert!(chosen("stmatrix_x4.tile", "sm_90a").contains(&"ldstmatrix"));
    assert!(!chosen("stmatrix_x4.tile", "sm_80").contains(&"ldstmatrix"));
    assert!(chosen("reg_roundtrip.tile", "sm_90a").iter().all(|variant| *variant == "reg"));
    assert!(chosen("gmem_smem.tile", "gfx950").iter().all(|variant| *variant == "gmem_smem"));
    assert!(chosen("fallback_4x6.tile", "gfx950").contains(&"fallback"));
}

//! `--sdma-debug`: each misuse of the copy engines traps at its call, on the simulator, with a sentence, kernel, line and lane;
//! without it the code has no check.

use tilewright::backend::Want;
use tilewright::checked::{Trial, check};
use tilewright::device::Sim;
use tilewright::{Compiled, Options, compile_text};
use tilewright_ir::interp::DEFAULT_MAX_STEPS;
use tilewright_ir::{Code, Diagnostic};
use tilewright_target::sdma::Misuse;
use tilewright_target::{GFX942, GFX950, GFX1250, Target};

use crate::common::examples;

fn compiled(text: &str, target: &'static Target, want: Want, sdma_debug: bool) -> Compiled {
    let options = Options { want, file: Some("k.tile".to_owned()), sdma_debug, ..Options::default() };
    compile_text(text, target, &options).unwrap_or_else(|all| panic!("{all:#?}\n{text}"))
}

/// Line of the marked statement, and the kernel in which it stands.
fn kernel(block: u32, body: &str) -> String {
    format!(
        "kernel bad(comm: devcomm, a: window<u8>[1048576], b: window<u8>[1048576], flag: window<u32>[64], n: u64)
    launch(grid = [1], block = [{block}])
{{
    let next = (me + 1) % comm.lsa_size;
    {body}
}}
run bad {{ ranks = 2; a = iota; n = 0; flag = 0; }}"
    )
}

fn run(text: &str, target: &'static Target, seed: u64) -> Result<(), Diagnostic> {
    let compiled = compiled(text, target, Want::finished(target), true);
    let run = compiled.tile.runs().next().expect("a run block");
    let npy = |_: &str| Err("no files here".to_string());
    let trial = Trial { run, ranks: None, seed, max_steps: DEFAULT_MAX_STEPS, npy: &npy, alone: true };
    check(&compiled, &Sim { checks: true }, &trial).map(drop).map_err(|mut all| all.remove(0))
}

/// What is wrong, threads of the block, the kernel's body, the line (of the body, one-based) and the first lane at fault.
const CASES: [(Misuse, u32, &str, usize, u32); 13] = [
    (
        Misuse::EmptyPutSignals,
        64,
        "sdma.put(b@next![0], a![0], next, 0, queue = 0, coop = block, remote_signal = true);",
        1,
        0,
    ),
    (Misuse::PeerOutOfRange, 64, "sdma.put(b@lsa(5)![0], a![0], lsa(5), 64, queue = 0, coop = block);", 1, 0),
    (
        Misuse::SameQueueBroken,
        64,
        "sdma.put(b@lsa(thread.x % 2)![0], a![0], lsa(thread.x % 2), 64, queue = 0, mode = same_queue);",
        1,
        1,
    ),
    (
        Misuse::UncommittedAtQuiet,
        64,
        "sdma.put(b@next![0], a![0], next, 64, queue = 0, coop = block, aggregate = true);
    sdma.quiet_queue(next, queue = 0, coop = block);",
        2,
        0,
    ),
    (
        Misuse::BatchOverRing,
        64,
        "for i in 0..200 {
        sdma.put(b@next![0], a![0], next, 64, queue = 0, mode = same_queue, aggregate = true);
    }",
        2,
        0,
    ),
    (
        Misuse::BroadcastMisaligned,
        64,
        "sdma.put_broadcast(b@next![4], a@me![1000], a![0], next, me, 64, queue = 0, coop = block);",
        1,
        0,
    ),
    (Misuse::SourceRank, 64, "sdma.wait_signal(lsa(7), 0, queue = 0);", 1, 0),
    (
        Misuse::SourceRank,
        64,
        "sdma.post_wait_signal(lsa(2), 1, next, queue = 0, signal_queue = 1, coop = block);",
        1,
        0,
    ),
    (
        Misuse::ExpectedTooLarge,
        64,
        "let big = index(n) + 4294967301;
    sdma.post_wait_signal(me, big, next, queue = 0, signal_queue = 1, coop = block);",
        2,
        0,
    ),
    (
        Misuse::RingingBehindAggregate,
        64,
        "sdma.put(b@next![0], a![0], next, 64, queue = 0, coop = block, aggregate = true);
    sdma.put(b@next![64], a![64], next, 64, queue = 0, coop = block);",
        2,
        0,
    ),
    (
        Misuse::RingingBehindAggregate,
        64,
        "if thread.x < 3 {
        sdma.put(b@next![0], a![0], next, 64, queue = 1, aggregate = true);
        sdma.put(b@next![64], a![64], next, 64, index(n) + 1);
    }",
        3,
        0,
    ),
    (
        Misuse::EmptyPutSignals,
        64,
        "if thread.x == 5 { sdma.put(b@next![0], a![0], next, index(n), queue = 0, remote_signal = true); }",
        1,
        5,
    ),
    (Misuse::QueueOutOfRange, 64, "if thread.x > 8 { sdma.put(b@next![0], a![0], next, 64, index(n) + 99); }", 1, 9),
];

#[test]
fn each_misuse_traps_where_it_stands() {
    for target in [&GFX950, &GFX942, &GFX1250] {
        for (misuse, block, body, line, lane) in CASES {
            let text = kernel(block, body);
            for seed in 0..4 {
                let found = run(&text, target, seed).expect_err(misuse.sentence());
                assert_eq!(found.code, Code::MACHINE, "{found:#?}");
                assert!(found.message.contains(misuse.sentence()), "{misuse:?}, seed {seed}: {found:#?}\n{text}");
                assert_eq!(found.span.line_in(&text), 4 + line, "{misuse:?}: {found:#?}\n{text}");
                let place = &found.label;
                assert!(
                    place.contains("kernel bad") && place.contains(&format!("lane {lane},")),
                    "{misuse:?}: {place}"
                );
            }
        }
    }
}

#[test]
fn two_waves_that_commit_one_queue_are_found() {
    let text = kernel(
        128,
        "sdma.put(b@next![thread.x * 64], a![thread.x * 64], next, 64, queue = 0, mode = same_queue, aggregate = true);
    barrier(scope = cta);
    if thread.lane == 0 { sdma.commit(next, queue = 0); }
    sdma.quiet_queue(next, queue = 0, coop = block);",
    );
    let found = (0..60).filter_map(|seed| run(&text, &GFX950, seed).err());
    let said: Vec<String> = found.map(|d| d.message).collect();
    assert!(said.iter().any(|m| m.contains(Misuse::CommittedTwice.sentence())), "{said:#?}");
}

#[test]
fn right_kernels_do_not_trap() {
    for example in examples() {
        for target in [&GFX950, &GFX942, &GFX1250] {
            if !example.targets().iter().any(|t| t.name == target.name) {
                continue;
            }
            let compiled = compiled(&example.text, target, Want::finished(target), true);
            for run in compiled.tile.runs() {
                for (ranks, seed) in [(None, 0), (Some(2), 1), (Some(8), 2), (Some(3), 3)] {
                    let npy = |_: &str| Err("no files here".to_string());
                    let ranks = run.ranks.is_some().then_some(ranks).flatten();
                    let trial = Trial { run, ranks, seed, max_steps: DEFAULT_MAX_STEPS, npy: &npy, alone: false };
                    let checked = check(&compiled, &Sim { checks: true }, &trial);
                    assert!(checked.is_ok_and(|c| c.bytes > 0), "{} on {}, seed {seed}", example.name, target.name);
                }
            }
        }
    }
}

#[test]
fn without_it_there_is_no_check() {
    for example in examples() {
        let made = |debug| compiled(&example.text, &GFX950, Want::Asm, debug).made.and_then(|made| made.asm);
        if !example.targets().iter().any(|t| t.name == GFX950.name) {
            continue;
        }
        assert!(!made(false).expect("assembly").contains("s_trap"), "{}", example.name);
        let peers = ["ring_shift.tile", "alltoall.tile", "relay.tile"].contains(&example.name.as_str());
        assert!(!peers || made(true).expect("assembly").contains("s_trap"), "{}", example.name);
    }
}

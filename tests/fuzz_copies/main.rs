//! Random copies from a fixed seed: whatever accepts them moves the right bytes.
//!
//! 20 000 in a release build (`cargo test --release -p tilewright-tests --test fuzz_copies`, which `.ci/run` calls), at some
//! 8 ms a case. An unoptimised compiler takes twice that, so a plain `cargo test` runs the first [`CASES`] of the same.

use std::path::Path;

use tilewright_target::TARGETS;
use tilewright_tests::{Counts, Outcome, check, check_text, generate, shrink};

/// The seed of CI.
const SEED: u64 = 1;
/// How many: in a debug build what two cores do in a quarter of a minute.
const CASES: u64 = if cfg!(debug_assertions) { 1_500 } else { 20_000 };

/// The cases `first`, `first + step`, …; the count, and the first that fails.
fn part(first: u64, step: u64) -> (Counts, Option<String>) {
    let mut counts = Counts::default();
    for number in (first..CASES).step_by(step as usize) {
        let case = generate(SEED, number);
        let outcome = check(&case);
        counts.add(&outcome);
        if matches!(outcome, Outcome::Mismatch { .. }) {
            let (small, how) = shrink(&case, &outcome);
            return (
                counts,
                Some(format!("case {number} of seed {SEED}: {outcome:?}\nsmaller: {how:?}\n{}", small.text())),
            );
        }
    }
    (counts, None)
}

#[test]
fn fuzz_copies() {
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get().min(8)) as u64;
    let parts: Vec<_> = (0..threads).map(|t| std::thread::spawn(move || part(t, threads))).collect();
    let mut counts = Counts::default();
    let mut failed = None;
    for p in parts {
        let (part, fail) = p.join().expect("no panic");
        counts.merge(&part);
        failed = failed.or(fail);
    }
    println!("{} of {CASES} cases ran, {} runs\n{}", counts.cases, counts.runs, counts.summary());
    if let Some(words) = failed {
        panic!("{words}");
    }
    assert!(counts.cases * 10 >= CASES * 7, "only {} of {CASES} cases ran\n{}", counts.cases, counts.summary());
}

/// What random copies found once, made smaller: for every target the bytes are right now.
#[test]
fn found_cases_stay_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz_copies/found");
    let entries = std::fs::read_dir(&folder).expect("the folder");
    let mut paths: Vec<_> = entries.map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    assert!(paths.len() >= 4, "{} cases", paths.len());
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("UTF-8");
        let outcomes: Vec<_> = TARGETS.iter().map(|target| (target.name, check_text(&text, [*target]))).collect();
        let wrong = outcomes.iter().find(|(_, outcome)| matches!(outcome, Outcome::Mismatch { .. }));
        assert!(wrong.is_none(), "{}: {wrong:?}", path.display());
        // A case may be one that nobody carries, but it must still be a program.
        let broken = outcomes.iter().find(|(_, o)| matches!(o, Outcome::Refused(why) if !why.starts_with("TW0032")));
        assert!(broken.is_none(), "{}: {broken:?}", path.display());
    }
}

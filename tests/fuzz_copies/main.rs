//! 20 000 random copies from a fixed seed: whatever accepts them moves the right bytes.

use tilewright_tests::{Counts, Outcome, check, generate, shrink};

/// The seed of CI.
const SEED: u64 = 1;
/// How many.
const CASES: u64 = 20_000;

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

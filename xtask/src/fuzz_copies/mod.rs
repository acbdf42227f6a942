//! `fuzz-copies --cases N --seed S [--first K]`: random copies, executed and compared, on all cores, with a progress bar.
//!
//! Must hold: a case depends on its number and the seed only, not on the number of cores; the first case that fails is made
//! smaller and written as a `.tile` file; the last line is `N cases, M mismatches`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::{ProgressBar, ProgressStyle};
use tilewright_tests::{Counts, Outcome, check, generate, shrink};

/// How it is called.
pub(crate) const USAGE: &str = "fuzz-copies [--cases N] [--seed S] [--first K] [--verbose]";

/// Most failing cases that are made smaller and written; more are counted only.
const MOST_WRITTEN: u64 = 5;

struct Args {
    cases: u64,
    seed: u64,
    first: u64,
    verbose: bool,
}

fn read(words: &[&str]) -> Option<Args> {
    let mut args = Args { cases: 20_000, seed: 1, first: 0, verbose: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if *word == "--verbose" {
            args.verbose = true;
            continue;
        }
        let number = words.next()?.parse().ok()?;
        match *word {
            "--cases" => args.cases = number,
            "--seed" => args.seed = number,
            "--first" => args.first = number,
            _ => return None,
        }
    }
    Some(args)
}

/// Runs the command; `None` for a wrong command line.
pub(crate) fn main(root: &Path, words: &[&str]) -> Option<ExitCode> {
    let args = read(words)?;
    let bar = ProgressBar::new(args.cases);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} cases, {msg}, {eta} left") {
        bar.set_style(style);
    }
    bar.set_message("0 mismatches");
    let work = Work {
        next: AtomicU64::new(args.first),
        end: args.first.saturating_add(args.cases),
        seed: args.seed,
        mismatches: AtomicU64::new(0),
        counts: Mutex::new(Counts::default()),
        folder: root.join("build").join("fuzz-copies"),
        bar,
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| work.run());
        }
    });
    work.bar.finish_and_clear();
    let mismatches = work.mismatches.load(Ordering::Relaxed);
    if let Ok(counts) = work.counts.lock() {
        println!("{} of {} cases ran, {} runs compared", counts.cases, args.cases, counts.runs);
        if args.verbose {
            print!("{}", counts.summary());
        }
    }
    println!("{} cases, {mismatches} mismatches", args.cases);
    Some(if mismatches == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the workers share.
struct Work {
    next: AtomicU64,
    end: u64,
    seed: u64,
    mismatches: AtomicU64,
    counts: Mutex<Counts>,
    folder: PathBuf,
    bar: ProgressBar,
}

impl Work {
    fn run(&self) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.end {
                return;
            }
            let case = generate(self.seed, number);
            let outcome = check(&case);
            if let Ok(mut counts) = self.counts.lock() {
                counts.add(&outcome);
            }
            if matches!(outcome, Outcome::Mismatch { .. }) {
                let nth = self.mismatches.fetch_add(1, Ordering::Relaxed) + 1;
                self.bar.set_message(format!("{nth} mismatches"));
                if nth <= MOST_WRITTEN {
                    let (small, how) = shrink(&case, &outcome);
                    self.bar.suspend(|| println!("{}", self.write(number, &small.text(), &how, &outcome)));
                }
            }
            self.bar.inc(1);
        }
    }

    /// Writes a failing case; what to say of it.
    fn write(&self, number: u64, text: &str, how: &Outcome, first: &Outcome) -> String {
        let Outcome::Mismatch { target, variant, why } = how else { return String::new() };
        let forced = if variant.is_empty() { String::new() } else { format!(" with variant = \"{variant}\"") };
        let words = format!("on {target}{forced}: {why}");
        let path = self.folder.join(format!("seed{}_case{number}.tile", self.seed));
        let file = format!("// Case {number} of seed {}, made smaller; {words}\n{text}", self.seed);
        let written = std::fs::create_dir_all(&self.folder).and_then(|()| std::fs::write(&path, file));
        let place = match written {
            Ok(()) => format!("written to {}", path.display()),
            Err(e) => format!("cannot write {}: {e}\n{text}", path.display()),
        };
        let same = if how == first { String::new() } else { format!("\n  before it was made smaller: {first:?}") };
        format!("case {number} of seed {} {words}\n  {place}{same}", self.seed)
    }
}

//! Test `golden_sdma`: every launch of `tests/golden/sdma_golden.jsonl`, or of the file that `TILEWRIGHT_SDMA_GOLDEN`
//! names, executed from emitted code for its chip on the simulator and compared with what mori's own device code posted.
//!
//! No row is skipped: one of a chip that we do not know is wrong. One kernel for each kind of call serves all rows, with everything a lane says read from memory. The rows of the families
//! `form` and `addr` run once more with all of it written down, which takes other ways through the compiler.

mod judge;
mod kernels;
mod order;
mod packets;
mod rows;
mod world;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use kernels::{Kernels, foldable};
use rows::Row;
use tilewright_target::{GFX950, GFX1250, Target};

/// Rows are judged by this many threads.
const WORKERS: usize = 2;

/// The chips that the file has rows of.
const CHIPS: [&Target; 2] = [&GFX950, &GFX1250];

fn file() -> PathBuf {
    let handed = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/sdma_golden.jsonl");
    std::env::var_os("TILEWRIGHT_SDMA_GOLDEN").map_or(handed, PathBuf::from)
}

/// The rows of the file, and what cannot be read of it.
fn rows() -> (Vec<Row>, Vec<String>) {
    let path = file();
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (mut rows, mut wrong) = (Vec::new(), Vec::new());
    for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match Row::read(line) {
            Ok(row) => rows.push(row),
            Err(why) => wrong.push(format!("line {}: {why}", n + 1)),
        }
    }
    (rows, wrong)
}

/// What is wrong with the rows of one chip, a line each.
fn judge_all(target: &'static Target, rows: &[&Row], folded: bool) -> Vec<String> {
    let kernels = Kernels::new(target, rows, folded).unwrap_or_else(|why| panic!("the kernels do not compile: {why}"));
    println!("{}: {} kernels", target.name, kernels.count());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut wrong = Vec::new();
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let Some(row) = rows.get(n) else { return wrong };
            let judged = std::panic::catch_unwind(|| judge::judge(row, &kernels, folded, n as u64));
            match judged.unwrap_or_else(|_| Err("panicked".to_owned())) {
                Ok(()) => {}
                Err(why) => wrong.push((n, format!("{}: {why}", row.name))),
            }
        }
    };
    let mut all: Vec<(usize, String)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|w| w.join().expect("verdicts do not panic")).collect()
    });
    all.sort();
    all.into_iter().map(|(_, why)| why).collect()
}

#[test]
fn golden_sdma() {
    let (rows, mut failed) = rows();
    let mut compared = 0;
    for chip in CHIPS {
        let ours: Vec<&Row> = rows.iter().filter(|row| row.target.name == chip.name).collect();
        assert!(!ours.is_empty(), "{} has no row of {}", file().display(), chip.name);
        failed.extend(judge_all(chip, &ours, false));
        println!("{}: compared {}", chip.name, ours.len());
        compared += ours.len();
    }
    println!("compared {compared}, skipped {}, failed {}", rows.len() - compared, failed.len());
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
    assert_eq!(compared, rows.len(), "rows of a chip that is not compared");
}

#[test]
fn golden_sdma_written_down() {
    let (rows, _) = rows();
    let simple = |row: &&Row| matches!(row.family.as_str(), "form" | "addr") && foldable(row);
    let mut failed = Vec::new();
    for chip in CHIPS {
        let ours: Vec<&Row> = rows.iter().filter(|row| row.target.name == chip.name).filter(simple).collect();
        failed.extend(judge_all(chip, &ours, true));
        println!("{}: compared {} with constants", chip.name, ours.len());
    }
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

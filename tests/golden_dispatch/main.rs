//! Test `golden_dispatch`: every copy of `tests/golden/dispatch_handed.jsonl`, or of the file that
//! `TILEWRIGHT_DISPATCH_GOLDEN` names, against what TVM TIRx does with it.
//!
//! Each row becomes a kernel, is compiled for sm_90a and executed lane by lane. All bytes must be those of the reference
//! interpreter. Where TVM is right our choice is the same, or better as counted in the lowered IR: no worse in
//! instructions a thread, width of accesses and active threads, and better in one. Where TVM is wrong, has an error or
//! leaves the work to one thread, ours is right. A copy may be refused only where TVM has an error, too, or where it is
//! wrong and nobody could carry the copy (`judge::legal`).

mod count;
mod judge;
mod model;
mod text;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use judge::{Verdict, judge};
use serde_json::Value;

/// Rows are judged by this many threads.
const WORKERS: usize = 2;

fn file() -> PathBuf {
    let handed = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/dispatch_handed.jsonl");
    std::env::var_os("TILEWRIGHT_DISPATCH_GOLDEN").map_or(handed, PathBuf::from)
}

/// The verdict on a row; a panic is one, too.
fn verdict(row: &Value, seed: u64) -> Verdict {
    std::panic::catch_unwind(|| judge(row, seed)).unwrap_or_else(|e| {
        let text = e.downcast_ref::<String>().cloned().or_else(|| e.downcast_ref::<&str>().map(ToString::to_string));
        Verdict::Failed(format!("panic: {}", text.unwrap_or_default()))
    })
}

fn verdicts(rows: &[Value]) -> Vec<Verdict> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            let Some(row) = rows.get(k) else { return done };
            done.push((k, verdict(row, k as u64)));
        }
    };
    let mut all: Vec<(usize, Verdict)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|w| w.join().expect("verdicts do not panic")).collect()
    });
    all.sort_by_key(|(k, _)| *k);
    all.into_iter().map(|(_, v)| v).collect()
}

#[test]
fn golden_dispatch() {
    let path = file();
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let rows: Vec<Value> =
        text.lines().filter(|l| !l.trim().is_empty()).map(|l| serde_json::from_str(l).expect("JSON")).collect();
    assert!(!rows.is_empty(), "{} has no rows", path.display());
    let verdicts = verdicts(&rows);
    let mut better: BTreeMap<&str, usize> = BTreeMap::new();
    let mut failed: Vec<String> = Vec::new();
    for (row, verdict) in rows.iter().zip(&verdicts) {
        match verdict {
            Verdict::Agrees => {}
            Verdict::Better(_) => *better.entry(row["case"]["family"].as_str().unwrap_or("?")).or_insert(0) += 1,
            Verdict::Failed(why) => failed.push(format!("{}: {why}", row["id"].as_str().unwrap_or("?"))),
        }
    }
    let count: usize = better.values().sum();
    println!("compared {}, better {count}, failed {}", rows.len(), failed.len());
    for (family, count) in &better {
        println!("  better in {family}: {count}");
    }
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

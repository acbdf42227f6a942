//! Whatever the text, the answer is a value or diagnostics: no panic, no overflow, no hang.
//!
//! In process, because there are many; the same through the program, with fewer, is in tests/cli/malformed.rs.

use std::fmt::Write;
use std::time::{Duration, Instant};

use tilewright::backend::Want;
use tilewright::{Options, compile_text, parse_and_verify};
use tilewright_ir::interp::SplitMix64;
use tilewright_target::TARGETS;

use crate::common::examples;

/// Runs `work` on a stack as large as the program's, and checks that it comes back soon.
fn soon(work: impl FnOnce() + Send + 'static) {
    let started = Instant::now();
    std::thread::Builder::new().stack_size(64 << 20).spawn(work).expect("thread").join().expect("no panic");
    // Far above what it takes, so that a slow machine does not fail; a hang would.
    assert!(started.elapsed() < Duration::from_secs(120), "took {:?}", started.elapsed());
}

/// Diagnostics of a text that must be wrong; each must point into it.
fn must_fail(text: &str) {
    let diagnostics = parse_and_verify(text).expect_err("must be wrong");
    assert!(diagnostics.iter().any(tilewright_ir::Diagnostic::is_error));
    for diagnostic in &diagnostics {
        assert!(diagnostic.span.hi as usize <= text.len() + 1, "{diagnostic:?}");
    }
}

/// As far as it gets on every target.
fn anything(text: &str) {
    if parse_and_verify(text).is_ok() {
        for target in TARGETS {
            let _ = compile_text(text, target, &Options::default());
        }
    }
}

/// Machine code for a GPU of each vendor.
fn must_compile(text: &str) {
    for name in ["sm_90a", "gfx950"] {
        let options = Options { want: Want::Asm, ..Options::default() };
        let target = tilewright::target(name).expect("known");
        compile_text(text, target, &options).unwrap_or_else(|all| panic!("{all:?}\n{text}"));
    }
}

#[test]
fn examples_cut_at_every_byte() {
    soon(|| {
        for example in examples() {
            for cut in 0..example.text.len() {
                if let Some(text) = example.text.get(..cut) {
                    // A cut between items, or in a comment, leaves a file that is right: then it must also compile.
                    let _ = parse_and_verify(text);
                }
            }
        }
    });
}

/// What a slip of the finger puts into a file.
const BYTES: &[u8] = b" (){}[];:,.@+-*/<=!&|0159azAZ_\"\n~\xff";

#[test]
fn examples_with_one_byte_changed() {
    soon(|| {
        let mut random = SplitMix64::new(7);
        for example in examples() {
            for _ in 0..100 {
                let mut bytes = example.text.clone().into_bytes();
                let at = random.below(bytes.len());
                bytes[at] = BYTES[random.below(BYTES.len())];
                anything(&String::from_utf8_lossy(&bytes));
            }
        }
    });
}

#[test]
fn noise() {
    soon(|| {
        let mut random = SplitMix64::new(1);
        for length in [1, 10, 100, 1000, 10_000, 100_000] {
            for _ in 0..20 {
                let bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
                must_fail(&format!("\u{1}{}", String::from_utf8_lossy(&bytes)));
            }
        }
    });
}

/// A kernel with this body.
fn kernel(body: &str) -> String {
    format!("kernel k(a: global<f32>[64]) launch(grid = [1], block = [64]) {{ {body} }}\n")
}

#[test]
fn nesting_without_end() {
    soon(|| {
        const N: usize = 100_000;
        must_fail(&"{".repeat(N));
        must_fail(&"}".repeat(N));
        must_fail(&"(".repeat(N));
        must_fail(&"kernel k(".repeat(N));
        must_fail(&kernel(&"{".repeat(N)));
        must_fail(&kernel(&"if true { ".repeat(N)));
        must_fail(&kernel(&format!("{}{}", "if true { ".repeat(N), "} ".repeat(N))));
        must_fail(&kernel(&"for i in 0..2 { ".repeat(N)));
        must_fail(&kernel(&format!("let x = {}1{};", "(".repeat(N), ")".repeat(N))));
        must_fail(&kernel(&format!("let x = {}1;", "-".repeat(N))));
        must_fail(&kernel(&format!("let x = {}true;", "!".repeat(N))));
        must_fail(&kernel(&format!("let x = {}1{};", "min(1, ".repeat(N), ")".repeat(N))));
        must_fail(&kernel(&format!("local b: f32[4] layout S[({}:(1)];", "1,".repeat(N))));
        must_fail(&kernel(&format!("copy a <- a{}", "[0".repeat(N))));
        anything(&kernel(&format!("let x = 1{};", " + 1".repeat(N))));
        anything(&kernel(&"sync cta;".repeat(N)));
        anything(&kernel(&"if true { } else ".repeat(N)));
        anything(&format!("kernel k({}) launch(grid = [1], block = [1]) {{ }}", "a: f32,".repeat(N)));
    });
}

#[test]
fn numbers_without_end() {
    soon(|| {
        let huge = [1u64 << 40, u64::MAX, 1 << 63, (1 << 63) - 1, 1 << 32, (1 << 32) - 1, 0];
        for n in huge {
            for shape in [format!("[{n}]"), format!("[{n}, {n}]"), format!("[{n}, 0]"), format!("[-{n}]")] {
                for buffer in ["shared b: f32", "local b: f32", "shared b: i4", "local b: u8"] {
                    anything(&kernel(&format!("{buffer}{shape}; copy b <- a by cta; copy a <- b by cta;")));
                }
                anything(&format!(
                    "kernel k(a: global<f64>{shape}, b: global<f64>{shape}) launch(grid = {shape}, block = [64]) \
                     {{ copy a <- b by cta; }} run k {{ ranks = 1; b = iota; expect a == b; }}"
                ));
                anything(&format!(
                    "kernel k(comm: devcomm, a: window<u8>{shape}) launch(grid = [1], block = {shape}) \
                     {{ copy a@me <- a by cta; }}"
                ));
            }
            anything(&kernel(&format!("for i in 0..{n} {{ a[i % 64] = 1.0; }}")));
            anything(&kernel(&format!("unroll for i in 0..{n} {{ a[i % 64] = 1.0; }}")));
            let nested = |depth: usize| {
                (0..depth).fold("a[0] = 1.0;".to_owned(), |body, d| format!("unroll for n{d} in 0..{n} {{ {body} }}"))
            };
            anything(&kernel(&nested(2)));
            anything(&kernel(&nested(4)));
            anything(&kernel(&format!("local b: f32[64] layout S[(64):({n})]; copy b <- a by thread;")));
            anything(&kernel(&format!("shared b: f32[64] layout S[(64):({n})]; copy b <- a by cta;")));
            anything(&kernel(&format!("shared b: f32[64] layout S[(64):(1)] + {n}; copy b <- a by cta;")));
            anything(&kernel(&format!(
                "shared b: f32[64] layout S[(64):(1)] swizzle({n},{n},{n}); copy b <- a by cta;"
            )));
            anything(&kernel(&format!("let x = a[{n}]; a[-{n}] = x;")));
            anything(&kernel(&format!("shared b: f32[64] align {n}; copy b <- a[{n}..] by cta;")));
            anything(&kernel(&format!("signal s queue {n};")));
        }
        // Each loop is small enough to be repeated, all together are not.
        for (trips, depth) in [(24, 3), (2, 16)] {
            let body = (0..depth)
                .fold("a[0] = 1.0;".to_owned(), |body, d| format!("unroll for n{d} in 0..{trips} {{ {body} }}"));
            must_compile(&kernel(&body));
        }
        must_fail(&kernel(&format!("let x = {};", "9".repeat(100_000))));
    });
}

#[test]
fn many_of_everything() {
    soon(|| {
        let mut body = String::new();
        for i in 0..2_000 {
            let _ = write!(body, "let x{i} = {i}; ");
        }
        anything(&kernel(&body));
        anything(&kernel(&"copy a[0..32] <- a[32..64] by cta; sync cta; ".repeat(500)));
        anything(&kernel("").repeat(1_000));
        anything(&kernel(&"unknown thing here; ".repeat(10_000)));
    });
}

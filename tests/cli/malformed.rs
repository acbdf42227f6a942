//! Malformed files through the program: an error with exit status 1, never a panic, a signal or a hang.

use std::time::{Duration, Instant};

use crate::program::{Folder, Outcome, tilewright};

/// Puts a file through every command that reads one.
fn every_command(name: &str, bytes: &[u8]) {
    let folder = Folder::new(name);
    let file = folder.write("bad.tile", bytes);
    let started = Instant::now();
    for command in ["run", "compile", "report", "check"] {
        let outcome = tilewright(&[command, &file]).ends(1);
        assert!(outcome.out.is_empty(), "{command} printed {}", outcome.out);
        assert!(outcome.err.contains("error"), "{command} said {}", outcome.err);
    }
    tilewright(&["opt", &file, "--passes", "verify"]);
    tilewright(&["fmt", &file, "--check"]);
    assert!(started.elapsed() < Duration::from_secs(60), "{name} took {:?}", started.elapsed());
}

#[test]
fn empty() {
    every_command("empty", b"");
    every_command("blank", b" \n\n// nothing here\n");
}

#[test]
fn truncated() {
    let text = std::fs::read(crate::program::root().join("examples/ring_shift.tile")).expect("example");
    let begin = text.windows(6).position(|w| w == b"kernel").expect("kernel");
    // Every byte is tried in process (tests/all/malformed.rs); through the program a few inside the kernel.
    for part in 1..6 {
        let cut = begin + (text.len() - begin) / 2 * part / 6;
        every_command(&format!("cut{part}"), &text[..cut]);
    }
}

#[test]
fn binary_noise() {
    let mut state = 1u64;
    let mut byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    let noise: Vec<u8> = (0..100_000).map(|_| byte()).collect();
    every_command("noise", &noise);
    let ascii: Vec<u8> = noise.iter().map(|b| 32 + b % 95).collect();
    every_command("ascii", &ascii);
    every_command("nul", &[0; 1000]);
}

#[test]
fn not_utf8_names_the_byte() {
    let folder = Folder::new("utf8");
    let file = folder.write("latin1.tile", b"// caf\xe9\n");
    tilewright(&["check", &file]).ends(1).says(&["not UTF-8", "0xe9 at offset 6"]);
}

#[test]
fn nested_braces() {
    const N: usize = 100_000;
    every_command("open", "{".repeat(N).as_bytes());
    let head = "kernel k(a: global<f32>[4]) launch(grid = [1], block = [64]) {";
    every_command("braces", format!("{head}{}", "{".repeat(N)).as_bytes());
    every_command("ifs", format!("{head}{}{}}}", "if true {".repeat(N), "}".repeat(N)).as_bytes());
    every_command("parens", format!("{head} let x = {}1{}; }}", "(".repeat(N), ")".repeat(N)).as_bytes());
}

#[test]
fn huge_extents() {
    let n = 1u64 << 40;
    let outcome = |name: &str, text: String| -> Outcome {
        let folder = Folder::new(name);
        let file = folder.write("huge.tile", text);
        // The default limit takes seconds in a release build and minutes in a debug one.
        tilewright(&["run", &file, "--max-steps", "100000"]).ends(1)
    };
    // Legal as types: nobody can run it here, and that is said in bytes.
    outcome(
        "huge-global",
        format!(
            "kernel k(a: global<f32>[{n}], b: global<f32>[{n}]) launch(grid = [1], block = [64]) {{ copy b <- a by cta; }}\n\
             run k {{ a = iota; expect b == a; }}\n"
        ),
    );
    outcome(
        "huge-shared",
        format!(
            "kernel k(a: global<f32>[64]) launch(grid = [1], block = [64]) {{ shared s: f32[{n}]; copy s[0..64] <- a by cta; }}\n\
             run k {{ a = iota; expect a == a; }}\n"
        ),
    );
    outcome(
        "huge-grid",
        format!(
            "kernel k(a: global<f32>[64]) launch(grid = [{n}], block = [{n}]) {{ sync cta; }}\nrun k {{ expect a == a; }}\n"
        ),
    );
    outcome(
        "huge-loop",
        format!(
            "kernel k(a: global<f32>[64]) launch(grid = [1], block = [64]) {{ for i in 0..{n} {{ a[0] = 1.0; }} }}\n\
             run k {{ a = iota; expect a[0] == 1.0; }}\n"
        ),
    );
    outcome(
        "huge-unroll",
        format!(
            "kernel k(a: global<f32>[64]) launch(grid = [1], block = [64]) {{ unroll for i in 0..{n} {{ a[0] = 1.0; }} }}\n\
             run k {{ a = iota; expect a[0] == 1.0; }}\n"
        ),
    );
}

#[test]
fn files_that_cannot_be_read() {
    tilewright(&["check", "no/such/file.tile"]).ends(1).says(&["cannot read `no/such/file.tile`"]);
    tilewright(&["check", "examples"]).ends(1).says(&["`examples`", "folder"]);
}

#[test]
fn loops_that_do_nothing_are_bounded_too() {
    let n = 1u64 << 40;
    let said = |name: &str, body: &str, expect: &str| {
        let folder = Folder::new(name);
        let text = format!(
            "kernel k(a: global<f32>[64]) launch(grid = [1], block = [64]) {{ {body} }}\nrun k {{ a = iota; {expect} }}\n"
        );
        let file = folder.write("loops.tile", text);
        tilewright(&["run", &file, "--max-steps", "100000", "--target", "sm_90a"])
    };
    said("loop-empty", &format!("for i in 0..{n} {{ }}"), "expect a == a;").ends(0);
    said("loop-nested", &format!("for i in 0..{n} {{ for j in 0..{n} {{ }} }}"), "expect a == a;").ends(1);
    let expect = format!("expect a[0] == 0.0 for s in 0..{n};");
    said("loop-expect", "sync cta;", &expect).ends(1).says(&[
        "error[TW0039]",
        "this compares more than",
        "--max-steps",
    ]);
    let expect = format!("expect a[0] == 1.0 for s in 0..{n} if s == {n};");
    said("loop-expect-if", "sync cta;", &expect).ends(1).says(&["error[TW0039]"]);
}

//! What the folder folds, and what it must leave.

mod common;

use common::body;

fn simplified(stmts: &str) -> String {
    let head = "kernel k(g: global<i64>[64], n: i64, m: u8) launch(grid = [1], block = [64])\n{\n";
    body(&format!("{head}{stmts}\n}}\n"), &["simplify"])
}

#[track_caller]
fn folds(from: &str, to: &str) {
    let text = simplified(&format!("g[0] = {from};"));
    assert_eq!(text.trim(), format!("g[0] = {to};"), "from {from}");
}

#[test]
fn constants_fold_as_the_language_says() {
    folds("2 + 3 * 4", "14");
    folds("7 / 0", "0");
    folds("7 % 0", "0");
    folds("-7 / 2", "-3");
    folds("-7 % 2", "-1");
    folds("9223372036854775807 + 1", "-9223372036854775808");
    folds("1 << 65", "2");
    folds("-8 >> 1", "-4");
}

#[test]
fn identities_fold() {
    folds("n + 0", "n");
    folds("n * 1 - 0", "n");
    folds("n * 0", "0");
    folds("n ^ 0", "n");
    folds("select(true, n, 1)", "n");
}

#[test]
fn ranges_decide_remainders_and_quotients() {
    folds("thread.linear % 64", "thread.linear");
    folds("thread.linear / 64", "0");
    folds("thread.linear % 32", "thread.linear % 32");
    folds("n % 64", "n % 64");
}

#[test]
fn unsigned_bytes_wrap_so_their_ranges_decide_nothing() {
    // m is a u8: m + 250 may wrap, so nothing is known of its remainder.
    let text = simplified("let x = m + m; if x < 3 { g[0] = 1; }");
    assert!(text.contains("if"), "{text}");
}

#[test]
fn known_branches_are_taken() {
    let text = simplified("if thread.linear < 64 { g[0] = 1; } else { g[0] = 2; }");
    assert_eq!(text.trim(), "g[0] = 1;");
    let text = simplified("if thread.linear >= 64 { g[0] = 1; } else { g[1] = 2; }");
    assert_eq!(text.trim(), "g[1] = 2;");
}

#[test]
fn unread_lets_go_and_loads_stay() {
    let text = simplified("let a = n * 2; let b = a + 1; let c = g[3]; g[0] = 5;");
    assert!(!text.contains("let a") && !text.contains("let b"), "{text}");
    assert!(text.contains("let c"), "{text}");
}

#[test]
fn a_name_used_in_two_blocks_keeps_its_two_values() {
    let text = simplified("if n > 0 { let a = 1; g[a] = a; } if n > 1 { let a = 2; g[a] = a; }");
    assert!(text.contains("g[1] = 1;") && text.contains("g[2] = 2;"), "{text}");
}

#[test]
fn empty_loops_go() {
    let text = simplified("for i in 0..0 { g[i] = 1; } for j in 3..5 { g[j] = 1; }");
    assert!(!text.contains("for i") && text.contains("for j"), "{text}");
}

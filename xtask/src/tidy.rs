//! The rules of the house that no lint knows.
//!
//! Each rule is one function and one row in [`RULES`]; an exception is a row in that rule's list, with its reason.

use std::fs;
use std::path::Path;

use crate::tree;

/// A rule: given a file (its path from the root, `/` between folders, and its text), what is wrong with it.
type Rule = fn(&str, &str) -> Option<String>;

/// The rules for Rust files.
const RULES: &[Rule] = &[head_comment, length, function_length, chip_names, hash_collections, outside_world];

/// Longest file in lines, tests included.
const MOST_LINES: usize = 800;

/// Longest function in lines.
const MOST_FUNCTION_LINES: usize = 100;

/// One line for each fault.
pub(crate) fn faults(root: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    for path in tree::files(root, "rs") {
        let name = path.to_string_lossy().replace('\\', "/");
        match fs::read_to_string(root.join(&path)) {
            Ok(text) => {
                faults.extend(RULES.iter().filter_map(|rule| rule(&name, &text)).map(|f| format!("{name}: {f}")))
            }
            Err(e) => faults.push(format!("{name}: {e}")),
        }
    }
    faults
}

/// Every file begins by saying what it is for.
fn head_comment(_: &str, text: &str) -> Option<String> {
    (!text.starts_with("//! ")).then(|| "does not begin with a `//!` comment".to_string())
}

/// Files stay readable.
fn length(_: &str, text: &str) -> Option<String> {
    let lines = text.lines().count();
    (lines > MOST_LINES).then(|| format!("has {lines} lines, more than {MOST_LINES}"))
}

/// Functions stay readable: from the line with `fn` to the closing brace at the same depth.
fn function_length(_: &str, text: &str) -> Option<String> {
    let mut open: Option<(usize, usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        let indent = line.len() - line.trim_start().len();
        match &open {
            Some((start, depth, name)) if line.trim_end() == format!("{}}}", " ".repeat(*depth)) => {
                let lines = number - start + 1;
                if lines > MOST_FUNCTION_LINES {
                    return Some(format!("`{name}` has {lines} lines, more than {MOST_FUNCTION_LINES}"));
                }
                open = None;
            }
            Some(_) => {}
            None => {
                let code = line.trim_start();
                let is_fn = code.starts_with("fn ") || (code.starts_with("pub") && code.contains(" fn "));
                if is_fn && line.trim_end().ends_with(['{', '(']) {
                    let name = code.split("fn ").nth(1).and_then(|rest| rest.split(['(', '<']).next());
                    open = Some((number, indent, name.unwrap_or_default().to_string()));
                }
            }
        }
    }
    None
}

/// Chips are asked for features, never for their name: only facts, the tables of processors that LLVM knows, and tests
/// name them.
fn chip_names(path: &str, text: &str) -> Option<String> {
    const ALLOWED: &[&str] =
        &["target/", "testing/", "tests/", "benches/", "fuzz/", "xtask/", "sim/", "backend-llvm/src/machine.rs"];
    if ALLOWED.iter().any(|start| path.starts_with(start)) || path.contains("/tests") {
        return None;
    }
    for (number, line) in code_lines(text) {
        for (at, _) in line.match_indices("gfx").chain(line.match_indices("sm_")) {
            let rest = &line[at..];
            let digits = rest.trim_start_matches("gfx").trim_start_matches("sm_");
            let before = line[..at].chars().next_back();
            if digits.starts_with(|c: char| c.is_ascii_digit()) && before == Some('"') {
                return Some(format!("names a chip in line {number}: `{}`", line.trim()));
            }
        }
    }
    None
}

/// The order of a hash map differs between runs; output must not.
fn hash_collections(path: &str, text: &str) -> Option<String> {
    if path.starts_with("xtask/") {
        return None;
    }
    let line = code_lines(text).find(|(_, line)| line.contains("HashMap") || line.contains("HashSet"));
    line.map(|(number, line)| format!("uses a hash collection in line {number}: `{}`", line.trim()))
}

/// Only the command line reads files, environment and clock.
fn outside_world(path: &str, text: &str) -> Option<String> {
    const WORLD: &[&str] = &["std::fs", "std::env::", "std::time::", "Instant::now", "SystemTime"];
    const ALLOWED: &[&str] = &[
        "cli/",
        "tests/",
        "benches/",
        "fuzz/",
        "xtask/",
        "runtime/",                   // devices are the outside world
        "runner/src/",                // a program: its bundle, and TILEWRIGHT_COMM
        "testing/fake-hip/",          // a library that the environment configures, as AMD's
        "capi/tests/",                // reads and writes the header
        "backend-amdgpu/src/link.rs", // runs the linker in a folder of its own
    ];
    if ALLOWED.iter().any(|start| path.starts_with(start)) || path.ends_with("build.rs") || path.contains("/tests") {
        return None;
    }
    let line = code_lines(text).find(|(_, line)| WORLD.iter().any(|word| line.contains(word)));
    line.map(|(number, line)| format!("touches the outside world in line {number}: `{}`", line.trim()))
}

/// Lines of code with their numbers: no comments, and nothing behind the file's unit tests.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let code = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    code.take_while(|(_, line)| !line.starts_with("#[cfg(test)]"))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

//! Each file under `tests/errors/` gives exactly the errors that it marks.
//!
//! A line that ends in `// error: TW0005` has one error of that code (several codes: separated by spaces); no other line
//! has any. Each code that parsing or verifying can give has a file, and the example in the list of codes gives its code.

use std::collections::BTreeSet;
use std::path::PathBuf;

use tilewright_ir::diag::CODES;
use tilewright_ir::verify::{Level, verify};
use tilewright_ir::{Code, Diagnostic, OpSet, text};

/// Codes that later stages give: selection, targets, execution.
const LATER: [Code; 15] = [
    Code::LOCAL_OWNER,
    Code::VARIANT_DECLINED,
    Code::NO_VARIANT,
    Code::SCALAR_FALLBACK,
    Code::TARGET_REFUSES,
    Code::RACE,
    Code::DEADLOCK,
    Code::RUN_MISMATCH,
    Code::UNKNOWN_TARGET,
    Code::TOO_LARGE,
    Code::INTERNAL,
    Code::OVERLAP,
    Code::UNDEFINED_READ,
    Code::REGISTERS,
    Code::MACHINE,
];

fn errors_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/errors")
}

fn diagnostics(source: &str) -> Vec<Diagnostic> {
    let parsed = text::parse(source);
    if parsed.diagnostics.iter().any(Diagnostic::is_error) {
        return parsed.diagnostics;
    }
    verify(&parsed.module, Level::Tile, &OpSet::default())
}

/// `(line, code)` of each marked error.
fn marked(source: &str) -> Vec<(usize, Code)> {
    let mut out = Vec::new();
    for (i, line) in source.lines().enumerate() {
        let Some((_, codes)) = line.split_once("// error:") else { continue };
        for word in codes.split_whitespace() {
            out.push((i + 1, Code::parse(word).unwrap_or_else(|| panic!("{word} is no code"))));
        }
    }
    out.sort();
    out
}

fn files() -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = std::fs::read_dir(errors_dir())
        .expect("tests/errors exists")
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "tile"))
        .map(|path| {
            let name = path.file_stem().expect("name").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).expect("readable"))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn files_give_exactly_the_marked_errors() {
    let mut wrong = Vec::new();
    for (name, source) in files() {
        let found = diagnostics(&source);
        let mut got: Vec<(usize, Code)> = found.iter().map(|d| (d.span.line_in(&source), d.code)).collect();
        got.sort();
        let want = marked(&source);
        if got != want {
            let list: Vec<String> = found
                .iter()
                .map(|d| format!("  line {} {}: {} {:?}", d.span.line_in(&source), d.code, d.message, d.help))
                .collect();
            wrong.push(format!("{name}: marked {want:?}, found\n{}", list.join("\n")));
        }
        assert!(!want.is_empty(), "{name} marks no error");
        let code = name.split('_').next().and_then(Code::parse).unwrap_or_else(|| panic!("{name} names no code"));
        assert!(want.iter().any(|(_, c)| *c == code), "{name} does not mark the code in its name");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn messages_are_phrases() {
    for (name, source) in files() {
        for d in diagnostics(&source) {
            assert!(!d.message.ends_with('.') && !d.message.is_empty(), "{name}: {:?}", d.message);
            assert!(!d.span.is_none(), "{name}: {:?} has no place", d.message);
        }
    }
}

#[test]
fn every_code_of_this_crate_has_a_file() {
    let have: BTreeSet<Code> = files().iter().filter_map(|(n, _)| n.split('_').next().and_then(Code::parse)).collect();
    let missing: Vec<String> = CODES
        .iter()
        .filter(|c| !have.contains(&c.code) && !LATER.contains(&c.code))
        .map(|c| c.code.to_string())
        .collect();
    assert!(missing.is_empty(), "no file under tests/errors for {missing:?}");
}

#[test]
fn every_code_is_explained() {
    for info in CODES {
        assert!(info.explanation.len() > 40, "{} has no explanation", info.code);
        assert!(info.explanation.ends_with('.'), "the explanation of {} is no sentence", info.code);
    }
    assert!(CODES.windows(2).all(|w| w[0].code < w[1].code), "codes are sorted");
}

#[test]
fn examples_give_their_codes() {
    let mut wrong = Vec::new();
    for info in CODES.iter().filter(|c| !LATER.contains(&c.code)) {
        let found: Vec<Code> = diagnostics(info.example).iter().map(|d| d.code).collect();
        if found.is_empty() || found.iter().any(|c| *c != info.code) {
            wrong.push(format!("{}: {found:?}", info.code));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

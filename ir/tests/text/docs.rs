//! Every example in the language's documents is parsed and verified.

use tilewright_ir::OpSet;
use tilewright_ir::text::{format, parse, parse_layout};
use tilewright_ir::verify::{Level, verify};

/// Fenced blocks of a document: language and text.
fn fences(document: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```").filter(|l| l.starts_with("tile")) {
            let body: Vec<&str> = lines.by_ref().take_while(|l| !l.starts_with("```")).collect();
            found.push((language.to_owned(), body.join("\n")));
        }
    }
    found
}

/// What the bodies in the documents take for granted.
const HEAD: &str = "\
kernel k(
    comm: devcomm, data: global<f32>[1024, 64], flag: global<u32>[4],
    send: window<f32>[8, 64], recv: window<f32>[8, 64], keep: window<f32>[8, 64]
)
    where(n: u64)
    launch(grid = [16], block = [64])
{
    signal ready;
    let next = (me + 1) % comm.lsa_size;
    shared tile: f32[8, 64];
    local acc: f32[4];
    local half: f16[4];
";

/// A module that may lack the kernel of its run blocks: that was in an example before.
fn verified(text: &str, kernels_before: &mut String) {
    let parsed = parse(text);
    assert_eq!(parsed.diagnostics, [], "{text}");
    let only_runs = parsed.module.kernels().next().is_none();
    let whole = if only_runs { format!("{kernels_before}\n{text}") } else { text.to_owned() };
    assert_eq!(verify(&parse(&whole).module, Level::Tile, &OpSet::default()), [], "{text}");
    if !only_runs {
        text.clone_into(kernels_before);
    }
}

fn check(document: &str, least: usize) {
    let fences = fences(document);
    assert!(fences.len() >= least, "found {} examples", fences.len());
    let mut kernels_before = String::new();
    for (language, text) in fences {
        match language.as_str() {
            "tile" => {
                verified(&text, &mut kernels_before);
                format(&text).unwrap();
            }
            "tile-body" => verified(&format!("{HEAD}{text}\n}}\n"), &mut String::new()),
            // What passes write: allowed only at lower levels.
            "tile-lowered" => assert_eq!(parse(&format!("{HEAD}{text}\n}}\n")).diagnostics, [], "{text}"),
            "tile-layout" => {
                for line in text.lines() {
                    parse_layout(line).unwrap_or_else(|e| panic!("{line}: {e:?}"));
                }
            }
            other => panic!("unknown kind of example: {other}"),
        }
    }
}

#[test]
fn specification() {
    let head: Vec<&str> = include_str!("../../src/lib.rs")
        .lines()
        .map_while(|l| l.strip_prefix("//!"))
        .map(|l| l.strip_prefix(' ').unwrap_or(l))
        .collect();
    check(&head.join("\n"), 8);
}

#[test]
fn guide() {
    check(include_str!("../../../docs/language.md"), 7);
}

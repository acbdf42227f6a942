//! Every example in the language's documents is parsed.

use tilewright_ir::text::{format, parse, parse_layout};

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

fn check(document: &str, least: usize) {
    let fences = fences(document);
    assert!(fences.len() >= least, "found {} examples", fences.len());
    for (language, text) in fences {
        match language.as_str() {
            "tile" => {
                assert_eq!(parse(&text).diagnostics, [], "{text}");
                format(&text).unwrap();
            }
            "tile-body" => {
                let source = format!("kernel k() launch(grid = [1], block = [64]) {{\n{text}\n}}\n");
                assert_eq!(parse(&source).diagnostics, [], "{text}");
            }
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

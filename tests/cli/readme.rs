//! What README.md and the other pages show is what the program does.

use crate::program::{root, tilewright};

/// Fenced blocks of a page: the word behind the fence, and the text.
fn blocks(page: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(root().join(page)).expect(page);
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in text.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(word)) => open = Some((word.to_string(), String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some((_, text)), None) => *text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{page} has a block that does not end");
    blocks
}

/// Arguments of a line `cargo run --release -- ARGS`; those in single quotes hold together, as in a shell.
fn arguments(line: &str) -> Option<Vec<&str>> {
    let line = line.split(" #").next()?.trim().strip_prefix("cargo run --release -- ")?;
    let pieces = line.split('\'').enumerate();
    Some(
        pieces
            .flat_map(|(n, piece)| if n % 2 == 1 { vec![piece] } else { piece.split_whitespace().collect() })
            .collect(),
    )
}

#[test]
fn commands_of_the_pages_work() {
    let mut count = 0;
    for page in ["README.md", "docs/testing.md"] {
        for (_, text) in blocks(page).iter().filter(|(word, _)| word == "sh") {
            for args in text.lines().filter_map(arguments) {
                tilewright(&args).ends(0);
                count += 1;
            }
        }
    }
    assert!(count >= 3, "only {count} commands found");
}

#[test]
fn the_report_shown_is_the_report() {
    let blocks = blocks("README.md");
    let shown = blocks.windows(2).filter(|pair| pair[0].0 == "sh" && pair[1].0 == "text");
    let mut count = 0;
    for pair in shown {
        let Some(args) = pair[0].1.lines().find_map(arguments) else { continue };
        let outcome = tilewright(&args).ends(0);
        assert_eq!(outcome.out.trim_end(), pair[1].1.trim_end(), "README.md shows something else for {args:?}");
        count += 1;
    }
    assert!(count >= 1, "README.md shows no report");
}

#[test]
fn kernels_of_the_pages_are_right() {
    for page in ["README.md", "docs/language.md"] {
        for (_, text) in blocks(page).iter().filter(|(word, _)| word == "tile") {
            crate::program::with_input(&["check", "-"], text.as_bytes()).ends(0);
        }
    }
}

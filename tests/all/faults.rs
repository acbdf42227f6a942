//! Kernels that go wrong, on the simulator: each file of `tests/faults/` is reported with its code, its words and its line,
//! on every seed. docs/debugging.md shows these reports.

use tilewright::backend::Want;
use tilewright::checked::{Trial, check};
use tilewright::device::Sim;
use tilewright::{Options, compile_text};
use tilewright_ir::interp::DEFAULT_MAX_STEPS;
use tilewright_ir::{Code, Diagnostic};
use tilewright_target::GFX950;

use crate::common::root;

fn report(file: &str, seed: u64) -> (String, Diagnostic) {
    let text = std::fs::read_to_string(root().join("tests/faults").join(file)).expect("UTF-8");
    let path = format!("tests/faults/{file}");
    let options = Options { want: Want::finished(&GFX950), file: Some(path), ..Options::default() };
    let compiled = compile_text(&text, &GFX950, &options).unwrap_or_else(|all| panic!("{file}: {all:#?}"));
    let run = compiled.tile.runs().next().expect("a run block");
    let npy = |_: &str| Err("no files here".to_string());
    let trial = Trial { run, ranks: None, seed, max_steps: DEFAULT_MAX_STEPS, npy: &npy, alone: true };
    let found = check(&compiled, &Sim { checks: true }, &trial).expect_err(file).remove(0);
    (text, found)
}

/// File, code, words of the message, kernel, and the line that is to blame.
const ALL: [(&str, Code, &str, &str, usize); 5] = [
    ("wild_pointer.tile", Code::OUT_OF_BOUNDS, "out of bounds", "wild", 4),
    ("missing_barrier.tile", Code::RACE, "data race", "unsynced", 0),
    ("source_reused.tile", Code::RACE, "`send` of rank", "reused", 4),
    ("no_signal.tile", Code::RACE, "`recv` of rank", "hasty", 7),
    ("never_notified.tile", Code::DEADLOCK, "deadlock", "forgotten", 6),
];

/// The number behind the first `word` of `text`.
fn number_behind(text: &str, word: &str) -> Option<u64> {
    let rest = &text[text.find(word)? + word.len()..];
    match rest.strip_prefix("0x") {
        Some(hex) => {
            let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
            u64::from_str_radix(&hex[..end], 16).ok()
        }
        None => rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())].parse().ok(),
    }
}

#[test]
fn each_fault_is_reported_on_every_seed() {
    for (file, code, words, _, line) in ALL {
        for seed in 0..8 {
            let (text, found) = report(file, seed);
            assert_eq!(found.code, code, "{file}, seed {seed}: {found:#?}");
            assert!(found.message.contains(words), "{file}, seed {seed}: {}", found.message);
            assert!(line == 0 || found.span.line_in(&text) == line, "{file}, seed {seed}: {found:#?}");
        }
    }
    let (_, stuck) = report("never_notified.tile", 0);
    let waits = stuck.help.iter().filter(|line| line.contains("polls the signal of rank"));
    assert_eq!(waits.count(), 2, "both ranks wait: {stuck:#?}");
}

/// What every report names: kernel, line of the `.tile` file, pc, wave, lane and address.
#[test]
fn each_fault_names_its_place() {
    for (file, _, _, kernel, line) in ALL {
        for seed in 0..8 {
            let (text, found) = report(file, seed);
            let place = &found.label;
            let named = found.span.line_in(&text);
            assert!(named > 1 && (line == 0 || named == line), "{file}, seed {seed}: {found:#?}");
            assert!(place.contains(&format!("{file}:{named}, kernel {kernel}, rank ")), "{file}, seed {seed}: {place}");
            assert!(number_behind(place, "wave ").is_some_and(|wave| wave < 4), "{file}, seed {seed}: {place}");
            assert!(number_behind(place, "lane ").is_some_and(|lane| lane < 64), "{file}, seed {seed}: {place}");
            let pc = number_behind(place, "pc ").expect("a pc");
            assert!(pc > 0x7f00_0000_0000 && pc.is_multiple_of(4), "{file}, seed {seed}: {place}");
            // The deadlock's addresses stand beside those who poll them.
            let said = format!("{} {}", found.message, found.help.join(" "));
            assert!(said.contains(" at 0x"), "{file}, seed {seed}: {said}");
        }
    }
}

/// A text without its numbers: addresses move with every change of the backend.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    let mut number = false;
    for c in text.chars() {
        // The digits of a hexadecimal number, too: what follows a digit without a gap.
        let more = c.is_ascii_digit() || (number && (c.is_ascii_hexdigit() || c == 'x'));
        if more && !number {
            out.push('#');
        } else if !more {
            out.push(c);
        }
        number = more;
    }
    out
}

#[test]
fn the_page_shows_these_files_and_reports() {
    let page = std::fs::read_to_string(root().join("docs/debugging.md")).expect("UTF-8");
    let bare = without_numbers(&page);
    for (file, ..) in ALL {
        let (text, found) = report(file, 0);
        assert!(page.contains(text.trim()), "docs/debugging.md does not show {file} as it is");
        for words in [&found.message, &found.label].into_iter().chain(&found.help) {
            assert!(bare.contains(&without_numbers(words)), "docs/debugging.md does not show, for {file}: {words}");
        }
    }
}

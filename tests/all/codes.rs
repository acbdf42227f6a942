//! Codes that are found after the verifier: by the passes, by an executor, by the comparison. Each file of
//! `tests/errors/late/` marks the offending line; a diagnostic that is missing fails like one that is not marked.
//!
//! The verifier's own are in `tests/errors/` and are tested in `ir`.

use std::collections::BTreeSet;

use tilewright::backend::Want;
use tilewright::checked::{Trial, check};
use tilewright::device::device as device_named;
use tilewright::{Options, compile_text, parse_and_verify};
use tilewright_ir::interp::DEFAULT_MAX_STEPS;
use tilewright_ir::{Diagnostic, Severity};

use crate::common::root;

/// Everything that is said about a text on a target, `gfx950` or `gfx950 on sim`, in the order of the stages; stops at the
/// first with errors.
fn said(text: &str, target: &str) -> Vec<Diagnostic> {
    let (target, device) = target.split_once(" on ").unwrap_or((target, "lanes"));
    let target = tilewright::target(target).expect("a target of the table");
    let device = device_named(device).expect("a device of the table");
    // The simulator runs lowered kernels, too, which the reference does not.
    let alone = device.name() == "sim";
    let want = if alone { Want::finished(target) } else { Want::Nothing };
    if let Err(all) = parse_and_verify(text) {
        return all;
    }
    let compiled = match compile_text(text, target, &Options { want, ..Options::default() }) {
        Ok(compiled) => compiled,
        Err(all) => return all,
    };
    let mut all = compiled.warnings.clone();
    for run in compiled.tile.runs() {
        let npy = |_: &str| Err("no files here".to_string());
        let trial = Trial { run, ranks: None, seed: 0, max_steps: DEFAULT_MAX_STEPS, npy: &npy, alone };
        match check(&compiled, device, &trial) {
            Ok(checked) => all.extend(checked.warnings),
            Err(errors) => all.extend(errors),
        }
    }
    all
}

/// The marks of a text: `line: error TW0035`.
fn marks(text: &str) -> BTreeSet<String> {
    let mark = |(index, line): (usize, &str)| {
        let severity = ["error", "warning"].into_iter().find(|word| line.contains(&format!("// {word}: ")))?;
        let code = line.split(&format!("// {severity}: ")).nth(1)?.trim();
        Some(format!("{}: {severity} {code}", index + 1))
    };
    text.lines().enumerate().filter_map(mark).collect()
}

#[test]
fn late_codes_mark_their_lines() {
    let mut codes = BTreeSet::new();
    for entry in std::fs::read_dir(root().join("tests/errors/late")).expect("files").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(entry.path()).expect("UTF-8");
        let target = text.lines().next().and_then(|line| line.strip_prefix("// target: ")).expect("names its target");
        let found = said(&text, target);
        let shown = found.iter().map(|d| {
            let severity = if d.severity == Severity::Error { "error" } else { "warning" };
            format!("{}: {severity} {}", d.span.line_in(&text), d.code)
        });
        assert_eq!(marks(&text), shown.collect::<BTreeSet<_>>(), "{name}: {found:#?}");
        codes.insert(name.trim_end_matches(".tile").to_string());
    }
    // TW0040 is a fault of the compiler: there is no file that gives it.
    for number in 30..40 {
        assert!(codes.contains(&format!("TW{number:04}")), "no file for TW{number:04}");
    }
}

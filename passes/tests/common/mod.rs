//! Runs single passes over text and prints the result.

use tilewright_ir::{Diagnostic, OpSet, text};
use tilewright_passes::pipeline::{PASSES, PassCx, State, run_passes};

/// Runs the named passes for gfx950 without copy variants.
pub(crate) fn run(source: &str, names: &[&str]) -> Result<State, Vec<Diagnostic>> {
    let parsed = text::parse(source);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let cx = PassCx { target: &tilewright_target::GFX950, variants: &[], ops: OpSet::default() };
    let passes: Vec<_> =
        names.iter().map(|n| PASSES.iter().find(|p| p.name == *n).unwrap_or_else(|| panic!("no pass {n}"))).collect();
    run_passes(parsed.module, &passes, &cx, &mut ())
}

/// The body of the only kernel after the named passes, one statement a line, without the kernel's own braces.
#[allow(dead_code, reason = "not every test file prints")]
pub(crate) fn body(source: &str, names: &[&str]) -> String {
    let state = run(source, names).unwrap_or_else(|e| panic!("{e:?}"));
    let text = text::print(&state.module);
    let start = text.find("\n{\n").map_or_else(|| text.find("{\n").unwrap() + 2, |i| i + 3);
    let end = text.rfind('}').unwrap();
    text[start..end].lines().map(|l| l.strip_prefix("    ").unwrap_or(l)).collect::<Vec<_>>().join("\n")
}

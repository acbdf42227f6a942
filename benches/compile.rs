//! How long a compile takes: text to lowered IR, and text to PTX or a code object, warm and in process.
//!
//! `cargo bench -p tilewright-benches`. Figures are ratios to be compared side by side in one run; they are no tests.

use tilewright::backend::Want;
use tilewright::{Options, compile_text, parse_and_verify};
use tilewright_target::{Target, Vendor};

/// File, text and target of each case.
const CASES: &[(&str, &str, &str)] = &[
    ("ship", include_str!("../examples/ship.tile"), "gfx950"),
    ("ring_shift", include_str!("../examples/ring_shift.tile"), "gfx950"),
    ("gmem_smem", include_str!("../examples/gmem_smem.tile"), "gfx950"),
    ("gmem_smem", include_str!("../examples/gmem_smem.tile"), "sm_90a"),
    ("ldmatrix_x2", include_str!("../examples/ldmatrix_x2.tile"), "sm_90a"),
    ("ldmatrix_trans_swizzle", include_str!("../examples/ldmatrix_trans_swizzle.tile"), "sm_90a"),
    ("stmatrix_x4", include_str!("../examples/stmatrix_x4.tile"), "sm_90a"),
];

/// A case with its target looked up; printed as `file/target`.
struct Case {
    name: String,
    text: &'static str,
    target: &'static Target,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

fn cases() -> Vec<Case> {
    let case = |(file, text, target): &(&str, &'static str, &str)| Case {
        name: format!("{file}/{target}"),
        text,
        target: tilewright::target(target).expect("a target of the table"),
    };
    CASES.iter().map(case).collect()
}

fn ptx_cases() -> Vec<Case> {
    cases().into_iter().filter(|case| case.target.vendor == Vendor::Nvidia).collect()
}

fn compile(case: &Case, want: Want) -> usize {
    let compiled =
        compile_text(case.text, case.target, &Options { want, ..Options::default() }).expect("an example compiles");
    compiled.decisions.len()
}

#[divan::bench(args = cases())]
fn text_to_verified(case: &Case) -> usize {
    parse_and_verify(case.text).expect("an example is right").0.items.len()
}

#[divan::bench(args = cases())]
fn text_to_lowered(case: &Case) -> usize {
    compile(case, Want::Nothing)
}

#[divan::bench(args = ptx_cases())]
fn text_to_ptx(case: &Case) -> usize {
    compile(case, Want::Asm)
}

fn main() {
    divan::main();
}

//! What broke for people who do this job (shared/reference/field-reports.md, sections 0 to 3 and 5): the whole kind of each
//! report, from source text to bytes. A test is named after its item.
//!
//! Faults of a single function have their tests beside it, too; here the question is what a user sees.

mod fragments;
mod loops;
mod measured;

use tilewright::backend::Want;
use tilewright::{Compiled, Options, compile_text};
use tilewright_testing::{check_copy_matches_reference, compile};

pub(super) const BOTH: [&str; 2] = ["gfx950", "sm_90a"];

pub(super) fn run(text: &str, target: &str) -> Compiled {
    check_copy_matches_reference(text, target, &Options::default())
}

pub(super) fn made(text: &str, target: &str) -> Compiled {
    compile(text, target, &Options { want: Want::Asm, llvm_ir: true, ..Options::default() })
}

/// What the report says of a variant for a copy.
pub(super) fn reason(compiled: &Compiled, copy: usize, variant: &str) -> String {
    let candidates = &compiled.report.copies[copy].candidates;
    candidates.iter().find(|c| c.variant == variant).map_or(String::new(), |c| c.reason.clone())
}

/// The errors of a text that must not compile.
pub(super) fn errors(text: &str, target: &str) -> Vec<tilewright::ir::Diagnostic> {
    let target = tilewright::target(target).expect("known");
    compile_text(text, target, &Options::default()).expect_err("it is wrong")
}

/// A kernel of one warp that reads a fragment of 8x16 from `region` of `tile`.
pub(super) fn fragment(dtype: &str, tile: &str, region: &str, around: [&str; 2]) -> String {
    format!(
        "kernel k(a: global<{dtype}>[16, 160], b: global<{dtype}>[8, 16]) launch(grid = [1], block = [32], warp = 32) {{
            shared tile: {dtype}[16, 160]{tile};
            local frag: {dtype}[8, 16] layout S[(8,2,4,2):(4@laneid,2,1@laneid,1)];
            copy tile <- a by warp;
            sync cta;
            {}
            copy frag <- tile[{region}] by warp;
            copy b <- frag by warp;
            {}
        }}
        run k {{ a = random(seed = 1); }}",
        around[0], around[1]
    )
}

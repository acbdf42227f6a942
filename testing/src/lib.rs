//! What tests of kernels and of copy variants are written with: our own use the same.
//!
//! ```
//! use tilewright::Options;
//! use tilewright_testing::{chosen, check_copy_matches_reference};
//!
//! let text = "
//! kernel k(a: global<f32>[64], b: global<f32>[64]) launch(grid = [1], block = [32]) { copy b <- a by cta; }
//! run k { a = random(seed = 1); expect b == a; }";
//! let compiled = check_copy_matches_reference(text, "gfx950", &Options::default());
//! assert_eq!(chosen(&compiled), ["gmem_smem"]);
//! ```
//!
//! | to see | write |
//! |---|---|
//! | which variant carries each copy | [`chosen`] |
//! | that the bytes are right | [`check_copy_matches_reference`] |
//! | the lowered program | [`assert_ir_snapshot!`] |
//! | the report | [`assert_report_snapshot!`] |
//! | the instructions | [`assert_asm_snapshot!`] |
//!
//! Snapshots are [insta](https://insta.rs)'s: `INSTA_UPDATE=always cargo test` writes them, a review reads them, and with
//! `CI` set a difference fails. Must hold: a snapshot depends on the program only, not on numbers that LLVM gives to
//! attributes and metadata, not on paths.

mod check;
pub mod show;

pub use check::{check_copy_matches_reference, chosen, compile};
pub use insta;

/// Compares the lowered kernels with a snapshot: `assert_ir_snapshot!(compiled)`, or with a name before it.
///
/// ```no_run
/// let text = "kernel k(a: global<f32>[64], b: global<f32>[64]) launch(grid = [1], block = [32]) { copy b <- a by cta; }";
/// let compiled = tilewright_testing::compile(text, "sm_90a", &Default::default());
/// tilewright_testing::assert_ir_snapshot!("plain_copy", compiled);
/// ```
#[macro_export]
macro_rules! assert_ir_snapshot {
    ($compiled:expr $(,)?) => {
        $crate::assert_text_snapshot!($crate::show::lowered(&$compiled))
    };
    ($name:expr, $compiled:expr $(,)?) => {
        $crate::assert_text_snapshot!($name, $crate::show::lowered(&$compiled))
    };
}

/// Compares the report of all copies with a snapshot: `assert_report_snapshot!(compiled)`, or with a name before it.
#[macro_export]
macro_rules! assert_report_snapshot {
    ($compiled:expr $(,)?) => {
        $crate::assert_text_snapshot!($crate::show::report(&$compiled))
    };
    ($name:expr, $compiled:expr $(,)?) => {
        $crate::assert_text_snapshot!($name, $crate::show::report(&$compiled))
    };
}

/// Compares the kernels' assembly (PTX on CUDA targets) with a snapshot: `assert_asm_snapshot!(compiled)`, or with a name
/// before it. The compile must have been asked for assembly (`Options { want: Want::Asm, .. }`).
#[macro_export]
macro_rules! assert_asm_snapshot {
    ($compiled:expr $(,)?) => {
        $crate::assert_text_snapshot!($crate::show::asm(&$compiled))
    };
    ($name:expr, $compiled:expr $(,)?) => {
        $crate::assert_text_snapshot!($name, $crate::show::asm(&$compiled))
    };
}

/// Compares a text with a snapshot, without the expression that made it in the file's head.
#[macro_export]
macro_rules! assert_text_snapshot {
    ($text:expr $(,)?) => {
        $crate::quietly(|| $crate::insta::assert_snapshot!($text))
    };
    ($name:expr, $text:expr $(,)?) => {
        $crate::quietly(|| $crate::insta::assert_snapshot!($name, $text))
    };
}

/// Runs `f` with insta's settings as they are, but for the expression in the head.
pub fn quietly<R>(f: impl FnOnce() -> R) -> R {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.bind(f)
}

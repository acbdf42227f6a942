//! The facade of Tilewright: from a text to a checked compile, in memory; and everything behind the `tilewright` program.
//!
//! ```
//! use tilewright::{Options, compile_text};
//!
//! let text = "kernel k(a: global<f32>[32], b: global<f32>[32]) launch(grid = [1], block = [32]) { copy b <- a by cta; }";
//! let target = tilewright::target("sm_90a").expect("known");
//! let compiled = compile_text(text, target, &Options::default()).expect("right");
//! assert_eq!(compiled.report.copies.len(), 1);
//! ```
//!
//! Must hold: this is the only crate that reads files ([`files`]), the environment or the clock ([`session`]).

pub mod backend;
pub mod bundle;
pub mod checked;
pub mod cmd;
mod compile;
pub mod device;
pub mod extension;
pub mod files;
pub mod layout;
mod observe;
pub mod ptxas;
pub mod render;
pub mod report;
pub mod session;
mod totals;

pub use compile::{Compiled, Options, compile_module, compile_text, parse_and_verify, run_passes};
pub use tilewright_artifact as artifact;
pub use tilewright_artifact::table;
pub use tilewright_ir as ir;
pub use tilewright_target::lookup as target;

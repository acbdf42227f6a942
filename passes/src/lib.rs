//! Passes: from a verified tile module to lowered IR.
//!
//! The pipeline is a flat list, read as prose in [`pipeline`]. This crate names no backend: copy variants and target
//! intrinsics are handed in as lists. It reads no clock, file or environment; the same input gives the same output.

pub mod check;
mod count_signals;
pub mod effects;
pub mod graph;
pub mod index;
pub mod lower;
pub mod pipeline;
pub mod place_waits;
pub mod pointwise;
mod registers;
pub mod select;
pub mod simplify;

//! Passes: from a verified tile module to lowered IR.
//!
//! The pipeline is a flat list, read as prose in `pipeline.rs`. This crate names no backend: copy variants are handed in
//! as a list.

pub mod select;

//! The mutants of gfx1250 that may live, by the reason why.
//!
//! What must hold: see [`survivors`](super::survivors).

use super::survivors::{Reason, Row};

/// See the head of this file.
pub(crate) const REASONS: &[Reason] = &[];

/// Kernel, instructions of the kinds that are mutated which no seed reaches, and why.
pub(crate) const UNREACHED: &[(&str, usize, &str)] = &[];

const _: Option<Row> = None;

//! Copies are planned, written down and run by a model of a CTA; see `model`.

use crate::select::variant::{CopyView, Operand};

mod cases;
mod model;
mod random;

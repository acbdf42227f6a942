//! Copies are planned, written down and run by a model of a CTA; see `model`.

use crate::select::variant::{CopyView, Operand, Queues};

mod cases;
mod model;
mod random;

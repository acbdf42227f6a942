//! Copies are planned, written down and run by a model of a CTA; see `model`.

mod cases;
mod model;
mod random;

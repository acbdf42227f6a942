//! Tests of the `tilewright` program, through its binary.

mod commands;
mod errors;
mod layout;
mod malformed;
mod program;
mod readme;

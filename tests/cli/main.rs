//! Tests of the `tilewright` program, through its binary.

mod commands;
mod errors;
mod malformed;
mod program;
mod readme;

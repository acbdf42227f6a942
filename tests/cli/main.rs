//! Tests of the `tilewright` program, through its binary.

mod arrays;
mod commands;
mod errors;
mod layout;
mod malformed;
mod objects;
mod program;
mod readme;

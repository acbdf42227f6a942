//! Chores of the house: `cargo run -p tilewright-xtask -- tidy`.
fn main() {}

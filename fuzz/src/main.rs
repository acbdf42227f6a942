//! Seeded fuzzing of the front door.
fn main() {}

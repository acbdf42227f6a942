//! How long a compile takes: text to lowered IR, and text to PTX or object, warm and in process.
//!
//! `cargo bench -p tilewright-benches`. Figures are ratios to be compared side by side in one run; they are no tests.
fn main() {
    divan::main();
}

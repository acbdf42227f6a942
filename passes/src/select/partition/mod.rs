//! The maths of copies that threads carry out themselves: who moves which elements, with which accesses, to where.
//!
//! A copy has the same extents on all its sides (one destination, one or more sources). `digits` cuts the layouts of
//! all sides at their common boundaries, so that one digit of the index adds one stride on every side. Digits on a thread
//! axis of a local operand are settled by `owners`: the thread's own coordinates say which elements it holds. Digits that
//! are contiguous on every side become one access of `n` elements (`vector`); what remains is dealt out to workers or
//! looped over (`work`). `emit` writes it down, `copy` puts it together for the variants of both backends.
//!
//! What must hold here: every element of the destination (and every replica of it) is written, by threads that hold the
//! source element; nothing else is written; no byte is shared between two threads that write; every access is aligned to
//! its own width. What is proved is proved from the layouts and from `Facts`, and ownership is checked by evaluating the
//! emitted conditions for every thread of the CTA. Units are elements unless a name says bytes or bits.

mod build;
mod bytes;
mod copy;
mod digits;
mod elements;
mod elementwise;
mod emit;
pub mod gate;
mod owners;
mod price;
mod vector;
mod walk;
mod work;

#[cfg(test)]
mod tests;

pub use copy::{plan_vectors, plan_vectors_as};
pub use digits::{Chunk, refine};
pub use elements::plan_elements;
pub use elementwise::{Elementwise, plan_elementwise};
pub use emit::swizzle_expr;
pub use owners::coordinate;
pub use price::conflict_ways;

//! The runtime for programs in C and C++: load a bundle, take mori's communicator and windows, launch, check what went wrong.
//!
//! `include/tilewright.h` is made from this crate by cbindgen; the test `header` fails when the two differ.
//! `examples/mori-host` is a program that uses it.
//!
//! What must hold here: a function that gives a pointer gives null on failure, one that gives a status gives 0 on success and
//! 1 on failure; the sentence of a failure is kept for the thread. Null where an object is needed is a failure, not a crash;
//! other pointers are believed, as C has it. Objects may be freed in any order. Objects of one communicator are used by one
//! thread at a time; different communicators are independent.

#![expect(unsafe_code, reason = "this is a C library: its functions take and give pointers")]

pub mod comm;
pub mod error;
pub mod launch;
pub mod memory;
pub mod module;
#[cfg(test)]
mod tests;

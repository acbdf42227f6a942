//! The C interface of a *communicator provider*: a shared library that makes mori's communicators for a runtime that does not
//! link mori.
//!
//! A provider exports one symbol, [`SYMBOL`], of type [`Entry`]: a function without arguments that gives a [`CommProvider`],
//! a table of functions that lives as long as the library. `include/tilewright.h` has the same for C.
//!
//! What must hold here: types and their layout only; a change of either raises [`VERSION`]. Statuses are 0 for success and 1
//! for failure, whose sentence `error` then gives. With one process for each rank, `open`, `window_open`, `window_close`,
//! `barrier` and `close` are collective: all processes call them in the same order.

use std::ffi::{c_char, c_void};

/// Version of the interface of communicator providers.
pub const VERSION: u32 = 1;

/// Name of the symbol that a provider exports.
pub const SYMBOL: &str = "tw_comm_provider";

/// Type of the symbol.
pub type Entry = unsafe extern "C" fn() -> *const CommProvider;

/// A rank of the communicator that lives in this process.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalRank {
    /// Its rank on this node.
    pub lsa_rank: u32,
    /// The HIP device that it runs on.
    pub device: i32,
}

/// A rank's view of a window.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowPart {
    /// mori's `ccoWindow_t`: what a kernel on this rank takes.
    pub window: u64,
    /// Device address of the rank's own bytes.
    pub address: u64,
}

/// What a provider exports. `comm` is always what `open` gave; functions may be called from one thread at a time.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CommProvider {
    /// Version of the interface that the provider was written for; look at nothing else before it is known.
    pub version: u32,
    /// Makes the communicator of a node of `ranks` ranks with at least `queues` SDMA queues to each peer. Null on failure.
    pub open: unsafe extern "C" fn(ranks: u32, queues: u32) -> *mut c_void,
    /// How many ranks live in this process.
    pub local_ranks: unsafe extern "C" fn(comm: *mut c_void) -> u32,
    /// Which rank the local rank number `index` is.
    pub local_rank: unsafe extern "C" fn(comm: *mut c_void, index: u32, out: *mut LocalRank) -> u32,
    /// Writes the `ccoDevComm` of local rank number `index`, all `bytes` bytes of it.
    pub dev_comm: unsafe extern "C" fn(comm: *mut c_void, index: u32, out: *mut c_void, bytes: u64) -> u32,
    /// Makes memory of `bytes` bytes on every rank and registers it as a window; writes one part for each local rank, in
    /// their order. `name` is a C string for messages.
    pub window_open:
        unsafe extern "C" fn(comm: *mut c_void, name: *const c_char, bytes: u64, out: *mut WindowPart) -> u32,
    /// Gives a window and its memory back; `window` is that of local rank number 0.
    pub window_close: unsafe extern "C" fn(comm: *mut c_void, window: u64) -> u32,
    /// Returns when every rank of the communicator has called it.
    pub barrier: unsafe extern "C" fn(comm: *mut c_void) -> u32,
    /// Gives everything back.
    pub close: unsafe extern "C" fn(comm: *mut c_void) -> u32,
    /// The sentence of the last failure, a C string that lives until the next call.
    pub error: unsafe extern "C" fn() -> *const c_char,
}

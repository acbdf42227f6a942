//! A stand-in for AMD's `libamdhip64.so`: the calls that a host of Tilewright's kernels makes, with simulated devices behind.
//!
//! A program that was linked with AMD's library runs with this one when the folder that holds it, as `libamdhip64.so.5` or
//! whatever name the program asks for, comes first in `LD_LIBRARY_PATH`. Which devices it finds there:
//!
//! | variable | meaning | otherwise |
//! |---|---|---|
//! | `TW_FAKE_HIP_ARCH` | chip of all devices, a name of the target table | `gfx950` |
//! | `TW_FAKE_HIP_DEVICES` | how many | 8 |
//! | `TW_FAKE_HIP_SEED` | seed of schedules and of completion order | 0 |
//! | `TW_FAKE_HIP_CHECKS` | `0`: races and uninitialised bytes are not looked for | 1 |
//!
//! They are read at the first call. `tw_fake_hip_configure` starts over with others, for tests that try many.
//!
//! Work is queued; devices begin to move when the host waits for something, all of them together. So kernels that wait for
//! one another must all be launched before the first synchronisation, as on real devices. Device pointers are addresses of
//! the simulated node: the host cannot dereference them. Between events a nanosecond passes for each instruction, which says
//! nothing about the speed of any device.
//!
//! The library is also a provider of communicators (`tilewright_target::comm_provider`), in place of mori's host library.
//!
//! What must hold here: a call that fails changes nothing and returns the code that HIP documents for it; after a fault in a
//! kernel, whose report goes to standard error, every call returns that fault's code, as on a device that has hung; no
//! argument panics, though pointers are believed, as C has it.

#![expect(unsafe_code, reason = "this is a C library: its functions take and give pointers")]

mod codes;
mod device;
mod memory;
mod module;
mod provider;
mod queue;
mod state;
mod stream;
#[cfg(test)]
mod tests;

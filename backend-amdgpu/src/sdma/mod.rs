//! The device side of mori's `ccoSdma`, written as LLVM IR: posting copies to the SDMA engines of the node, committing,
//! draining, and signals.
//!
//! Must hold: what is posted equals mori's, dword for dword and counter for counter (memory layout and packet dwords come
//! from `tilewright-target`), with two intended differences. One ring unit stays free (mori's newer document), and every
//! publishing store (write pointer, doorbell, committed pointer) is followed by a wait, because completion is out of order
//! and a later producer could otherwise make the doorbell go backwards. No alias metadata and no `readonly` on anything
//! the engine or a peer touches. Nothing is emitted for what is known at compile time.
//!
//! The generator knows nothing of the tile IR: it takes LLVM values and addresses.

mod body;
mod broadcast;
mod debug;
mod drain;
mod lanes;
mod memory;
mod packets;
mod parallel;
mod put;
mod queue;
#[cfg(test)]
mod tests;
mod wait;

use inkwell::values::{IntValue, PointerValue};
use tilewright_backend_llvm::{Error, Gen};
use tilewright_target::{SdmaFacts, WaitCounters};

pub use broadcast::Broadcast;
pub use put::{Post, PostOptions};
pub use wait::WaitFor;

pub(crate) type Int<'ctx> = IntValue<'ctx>;
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Who posts or waits: mori's coop scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Coop {
    /// Every active lane for itself.
    #[default]
    Thread,
    /// The first lane of each wave for its wave.
    Warp,
    /// The first thread of the workgroup.
    Block,
}

/// What several lanes of a wave that post at once promise: mori's thread modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ThreadMode {
    /// Nothing: lanes are grouped by queue at run time.
    #[default]
    Independent,
    /// All active lanes have the same peer (and queue): one reservation for all.
    SameQueue,
}

/// Number of a queue to a peer; [`Sdma::fixed_queue`] and [`Sdma::computed_queue`] make one.
#[derive(Debug, Clone, Copy)]
pub struct QueueNo<'ctx> {
    /// The number, 32-bit.
    pub(crate) number: Int<'ctx>,
    /// Does the communicator have it? `None`: it was checked at launch.
    pub(crate) exists: Option<Int<'ctx>>,
}

/// Generates SDMA code into one kernel.
#[derive(Clone, Copy)]
pub struct Sdma<'a, 'ctx> {
    /// Where instructions go.
    pub(crate) g: Gen<'a, 'ctx>,
    /// Pointer to the kernel's `ccoDevComm` (constant address space).
    pub(crate) comm: PointerValue<'ctx>,
    /// Packets, ring size and limits of the chip.
    pub(crate) facts: &'a SdmaFacts,
    /// Lanes of a wave: 32 or 64.
    pub(crate) wave: u32,
    /// How stores are waited for before a pointer to them is published.
    pub(crate) counters: WaitCounters,
    /// Whether the workgroup's extents along y and z are known to be one.
    pub(crate) flat_block: [bool; 2],
    /// Are calls checked, with a trap at the first misuse?
    pub(crate) debug: bool,
}

impl<'a, 'ctx> Sdma<'a, 'ctx> {
    /// A generator for a kernel whose `ccoDevComm` argument is at `comm`, on a chip with the engines of `facts` and waves
    /// of `wave` lanes whose accesses are counted as `counters` says.
    pub fn new(
        g: Gen<'a, 'ctx>,
        comm: PointerValue<'ctx>,
        facts: &'a SdmaFacts,
        wave: u32,
        counters: WaitCounters,
    ) -> Self {
        Sdma { g, comm, facts, wave, counters, flat_block: [false; 2], debug: false }
    }

    /// Checks calls and traps at the first misuse, with a code of [`tilewright_target::sdma::Misuse`].
    pub fn with_debug(mut self, debug: bool) -> Self {
        self.debug = debug;
        self
    }

    /// Says what is known of the workgroup's extents: those of one need no id to find the first thread.
    pub fn with_block(mut self, extents: [u32; 3]) -> Self {
        self.flat_block = [extents[1] == 1, extents[2] == 1];
        self
    }
}

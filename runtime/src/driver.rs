//! What a device must be able to do: the two traits below the whole crate.
//!
//! A [`Device`] is what a machine has; it says which code it runs and opens a [`Driver`]: the GPUs of one communicator and
//! their memory. Everything else (argument blocks, running totals of signals, guards, checks before a launch) is written once
//! above these traits, so that sim, cuda and hip cannot differ in it.
//!
//! What must hold of every driver:
//! - A call returns what went wrong as a [`DriverError`] that keeps the driver's code and text; no panic, whatever the driver
//!   says.
//! - [`Driver::launch`] only enqueues. It must not wait for anything that another rank's kernel does: the caller enqueues on
//!   all ranks before it calls [`Driver::synchronise`], and a kernel of rank 0 may wait for one of rank 1.
//! - Launches on one rank run in the order in which they were enqueued, each when the one before it has ended.
//! - [`Driver::write`] and [`Driver::read`] need no order with enqueued launches. The caller touches only memory that no
//!   enqueued launch uses, or synchronises first. They must not wait for a kernel that was enqueued, if that can be had.
//! - [`Driver::allocate`] and [`Driver::window`] may find launches enqueued and must not disturb them; [`Driver::free`] is
//!   called between launches only.

use std::any::Any;
use std::fmt;

use tilewright_artifact::{CodeBytes, KernelInfo};
use tilewright_target::Target;

use crate::error::DriverError;
use crate::rank::LsaRank;

/// The kinds of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// The simulator of AMD machine code.
    Sim,
    /// NVIDIA GPUs through the CUDA driver API.
    Cuda,
    /// AMD GPUs through HIP.
    Hip,
}

impl DeviceKind {
    /// Its name on command lines and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            DeviceKind::Sim => "sim",
            DeviceKind::Cuda => "cuda",
            DeviceKind::Hip => "hip",
        }
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An address of a device, which a kernel can be given. What a host can do with it only the driver knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u64);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// A module of one driver: an index that only this driver can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModuleId(pub usize);

/// A kernel of one driver, on all its ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KernelId(pub usize);

/// A point in the queue of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventId(pub usize);

/// One rank's part of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowPart {
    /// Where the bytes of this rank are, as the host copies them in and out.
    pub data: Address,
    /// The `ccoWindowDevice` in this rank's memory: what a kernel is given.
    pub handle: Address,
}

/// What a launch must fit into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// What the device is called in messages: the name of its target, or what the driver calls it.
    pub name: String,
    /// Most threads of a block.
    pub threads_per_block: u32,
    /// Most bytes of LDS or shared memory of a block, with whatever must be asked for first.
    pub shared_bytes: u32,
}

impl Limits {
    /// What the target table says.
    pub fn of(target: &Target) -> Limits {
        Limits {
            name: target.name.to_owned(),
            threads_per_block: target.max_threads_per_block,
            shared_bytes: target.lds_bytes,
        }
    }
}

/// One kernel on one rank, ready to be enqueued.
#[derive(Clone, Copy, Debug)]
pub struct RankLaunch<'a> {
    /// The rank, one of [`Driver::ranks`].
    pub rank: LsaRank,
    /// What [`Driver::kernel`] returned.
    pub kernel: KernelId,
    /// Thread blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// The argument block: exactly [`KernelInfo::args_bytes`] bytes, each argument at its offset, little endian. What a
    /// platform adds behind it (AMD's implicit arguments) is the driver's business. The bytes are valid during the call only.
    pub args: &'a [u8],
}

/// What a machine has: one simulated node, or the GPUs that one driver library finds.
pub trait Device: fmt::Debug {
    /// Its kind.
    fn kind(&self) -> DeviceKind;

    /// The hardware for people, e.g. `2 x NVIDIA H200 (sm_90)`.
    fn describe(&self) -> String;

    /// Why it cannot run this code for the target of that name; `None` if it can. One sentence that says what the code is
    /// for and what is here. The code itself is not read: a broken object is an error of [`Driver::load`].
    fn refuses(&self, target: &str, code: &CodeBytes) -> Option<String>;

    /// GPUs for a communicator of `ranks` ranks, rank numbers from 0, all driven by this process, with `queues` SDMA queues
    /// from each rank to each peer. A device that makes no communicators ignores `queues` and answers 0 to
    /// [`Driver::queues`].
    ///
    /// # Errors
    /// If there are not so many GPUs and ranks cannot share one.
    fn open(&self, ranks: u32, queues: u32) -> Result<Box<dyn Driver>, DriverError>;
}

/// The GPUs of one communicator as this process drives them. See the head of this file for what must hold.
pub trait Driver: fmt::Debug {
    /// The kind of device.
    fn kind(&self) -> DeviceKind;

    /// What a launch must fit into: the smallest of all ranks.
    fn limits(&self) -> &Limits;

    /// The ranks that this process drives, ascending: all of the node, or one (where each process has its own GPU).
    fn ranks(&self) -> &[LsaRank];

    /// Ranks of the node, whoever drives them.
    fn lsa_size(&self) -> u32;

    /// SDMA queues from a rank to each peer; 0 without a communicator, or if SDMA is off.
    fn queues(&self) -> u32;

    /// The bytes of mori's `ccoDevComm` of a rank, which a kernel takes by value; `None` on a device without communicators,
    /// where a kernel that takes one is refused.
    fn dev_comm(&self, rank: LsaRank) -> Option<Vec<u8>>;

    /// Whether an access outside an allocation is a fault. Where it is not, buffers are placed between guard bytes.
    fn checks_bounds(&self) -> bool;

    /// Memory of a rank, aligned to at least 256 bytes; `bytes` may be 0, the address is one of its own all the same. What it
    /// holds is not defined. `name` is what the buffer is called in reports of faults; only the simulator has these.
    ///
    /// # Errors
    /// If there is no more memory.
    fn allocate(&mut self, rank: LsaRank, bytes: u64, name: &str) -> Result<Address, DriverError>;

    /// Gives back what [`Driver::allocate`] returned.
    ///
    /// # Errors
    /// If it is none.
    fn free(&mut self, rank: LsaRank, address: Address) -> Result<(), DriverError>;

    /// Copies bytes of the host to memory of a rank; done when it returns.
    ///
    /// # Errors
    /// If it is not memory of the device.
    fn write(&mut self, rank: LsaRank, address: Address, bytes: &[u8]) -> Result<(), DriverError>;

    /// Copies memory of a rank to the host; done when it returns.
    ///
    /// # Errors
    /// If it is not memory of the device.
    fn read(&mut self, rank: LsaRank, address: Address, bytes: &mut [u8]) -> Result<(), DriverError>;

    /// Makes a window of `bytes` bytes a rank; one part for each of [`Driver::ranks`], in its order.
    ///
    /// # Errors
    /// [`DriverError::Refused`] on a device that makes none: windows of mori's host library are adopted instead.
    fn window(&mut self, bytes: u64, name: &str) -> Result<Vec<WindowPart>, DriverError>;

    /// Gives back what [`Driver::window`] returned.
    ///
    /// # Errors
    /// If it is none.
    fn free_window(&mut self, parts: &[WindowPart]) -> Result<(), DriverError>;

    /// Loads code on the GPUs of all ranks, eagerly: nothing is left to be loaded by the first launch, which might then wait
    /// for a kernel that waits for it.
    ///
    /// # Errors
    /// What the driver says, with the log of its compiler for PTX.
    fn load(&mut self, code: &CodeBytes) -> Result<ModuleId, DriverError>;

    /// Finds a kernel of a module, compares what the module says of it with `info` as far as the driver tells, and prepares
    /// it (more shared memory than the default is asked for here).
    ///
    /// # Errors
    /// If the module has no such kernel, or one that differs.
    fn kernel(&mut self, module: ModuleId, info: &KernelInfo) -> Result<KernelId, DriverError>;

    /// Enqueues a kernel on one rank and returns.
    ///
    /// # Errors
    /// If the driver refuses it. The caller has checked shapes, shared memory and queues before.
    fn launch(&mut self, launch: &RankLaunch<'_>) -> Result<(), DriverError>;

    /// Waits until everything that was enqueued has ended on all ranks, and all that it wrote can be read.
    ///
    /// # Errors
    /// What went wrong in a kernel.
    fn synchronise(&mut self) -> Result<(), DriverError>;

    /// A point in the queue of a rank: when everything enqueued before has ended.
    ///
    /// # Errors
    /// What the driver says.
    fn record(&mut self, rank: LsaRank) -> Result<EventId, DriverError>;

    /// Time between two points of one rank, in microseconds; both have been passed (synchronise first).
    ///
    /// # Errors
    /// If one has not been passed, or the device has no clock.
    fn elapsed(&mut self, from: EventId, to: EventId) -> Result<f64, DriverError>;

    /// The driver itself, for what only its kind can do.
    fn as_any(&mut self) -> &mut dyn Any;
}

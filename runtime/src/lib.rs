//! Devices, memory and launches.
//!
//! Three layers. At the bottom a [`Driver`]: the GPUs of one communicator as sim, cuda or hip drives them ([`device`]). Above
//! it, written once for all of them: [`Comm`] (ranks, memory, running totals of signals), [`Module`] and [`Kernel`],
//! [`Buffer`] and [`Window`], [`Stream`] and [`Event`]. On top of that [`host`], launches whose buffers come from the host and
//! go back to it, as run blocks want it. [`inspect`] tells what is in an object without any device.
//!
//! How a program uses it is shown at the head of the crate `tilewright`, which has the compiler, too.
//!
//! What must hold in this crate:
//! - No IR, no LLVM, no compiler crate: a runner built from it travels to a GPU machine as one small file.
//! - No file, clock or environment.
//! - A launch that cannot be right is refused with one sentence before anything runs; refusing changes no state.

pub mod comm;
pub mod compare;
pub mod device;
pub mod driver;
pub mod error;
pub mod host;
pub mod inspect;
pub mod launch;
pub mod memory;
pub mod module;
pub mod object;
pub mod rank;
pub mod signals;
pub mod stream;
pub mod times;

#[cfg(test)]
mod tests;

pub use comm::Comm;
pub use driver::{Address, Device, DeviceKind, Driver};
pub use error::{CallError, DriverError, Error};
pub use host::Prepared;
pub use launch::{LaunchError, check_launch, check_queues};
pub use memory::{GuardDamage, GuardedBuffer, MemoryImage};
pub use module::{Args, Kernel, Module};
pub use object::{Buffer, Window};
pub use rank::{LsaRank, Node, RankError, WorldRank};
pub use signals::{SignalAdd, SignalError, SignalTotals};
pub use stream::{Event, Stream};

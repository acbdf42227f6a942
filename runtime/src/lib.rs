//! Devices, memory and launches.
//!
//! **What is here now** is what every device needs and none of it is device code: ranks that cannot be mixed up
//! ([`rank`]), the running totals of signals across launches ([`signals`]), host images of buffers between guard bytes
//! ([`memory`]), and the checks before a launch ([`launch`]). Devices are in [`device`]: the
//! simulator today; cuda and hip come with their issues.
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

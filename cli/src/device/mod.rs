//! Devices: what can run a compiled kernel on all ranks. One file each, one row in [`DEVICES`].
//!
//! Must hold: every device takes the same launch input and leaves the same kind of output, so that any two can be
//! compared bit by bit; memory without contents holds the same bytes on all.

mod cuda;
mod hardware;
mod hip;
mod lanes;
mod reference;
mod sim;

use tilewright_ir::interp::{LaunchInput, LaunchOutput};
use tilewright_ir::{Diagnostic, Name};
use tilewright_target::{Target, Vendor};

use crate::Compiled;

pub use cuda::Cuda;
pub use hip::Hip;
pub use lanes::{Lanes, accesses};
pub use reference::Reference;
pub use sim::{Sim, Timed, Times};

/// Something that runs kernels.
pub trait Device: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What it is, for people: a noun phrase.
    fn summary(&self) -> &'static str;

    /// Runs one kernel of a compile on all ranks of `input`.
    ///
    /// # Errors
    /// The first fault that was found, with its place in the source.
    fn launch(&self, compiled: &Compiled, kernel: &Name, input: &LaunchInput) -> Result<LaunchOutput, Diagnostic>;
}

/// Every device.
pub static DEVICES: &[&dyn Device] = &[&Sim { checks: true }, &Lanes, &Reference, &Cuda, &Hip];

/// The simulator without the checks that take time.
static UNCHECKED: Sim = Sim { checks: false };

/// The device of a target where none is named: what is nearest to its hardware; and, where that is not the hardware itself
/// though it could be, one sentence why. `peers`: the kernels copy between ranks, which no CUDA device can.
pub fn default_device(target: &Target, peers: bool) -> (&'static dyn Device, Option<String>) {
    match target.vendor {
        Vendor::Amd => (&Sim { checks: true }, None),
        Vendor::Nvidia if peers => (&Lanes, Some("kernels that copy between ranks run on no CUDA device".to_string())),
        Vendor::Nvidia => match cuda::refusal(target) {
            Some(why) => (&Lanes, Some(why)),
            None => (&Cuda, None),
        },
    }
}

/// The same device without its checks, if it has any.
pub fn unchecked(device: &'static dyn Device) -> Option<&'static dyn Device> {
    (device.name() == UNCHECKED.name()).then_some(&UNCHECKED)
}

/// The device of that name.
pub fn device(name: &str) -> Option<&'static dyn Device> {
    DEVICES.iter().find(|device| device.name() == name).copied()
}

/// The fault of a kernel that the compile does not have: the caller's, not the user's.
fn missing(kernel: &Name) -> Diagnostic {
    let message = format!("kernel `{kernel}` is not part of this compile");
    Diagnostic::error(tilewright_ir::Code::INTERNAL, tilewright_ir::Span::NONE, message)
}

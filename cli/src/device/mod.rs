//! Devices: what can run a compiled kernel on all ranks. One file each, one row in [`DEVICES`].
//!
//! Must hold: every device takes the same launch input and leaves the same kind of output, so that any two can be
//! compared bit by bit; memory without contents holds the same bytes on all.

mod lanes;
mod reference;

use tilewright_ir::interp::{LaunchInput, LaunchOutput};
use tilewright_ir::{Diagnostic, Name};

use crate::Compiled;

pub use lanes::{Lanes, accesses};
pub use reference::Reference;

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

/// Every device; the first is the default.
pub static DEVICES: &[&dyn Device] = &[&Lanes, &Reference];

/// The device of that name.
pub fn device(name: &str) -> Option<&'static dyn Device> {
    DEVICES.iter().find(|device| device.name() == name).copied()
}

/// The fault of a kernel that the compile does not have: the caller's, not the user's.
fn missing(kernel: &Name) -> Diagnostic {
    let message = format!("kernel `{kernel}` is not part of this compile");
    Diagnostic::error(tilewright_ir::Code::INTERNAL, tilewright_ir::Span::NONE, message)
}

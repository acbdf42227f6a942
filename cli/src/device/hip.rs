//! AMD GPUs: the code object of an AMD target through HIP. Kernels that copy between ranks need a library that makes
//! communicators; the variable `TILEWRIGHT_COMM` names it.

use tilewright_ir::interp::{LaunchInput, LaunchOutput};
use tilewright_ir::{Code, Diagnostic, Name};
use tilewright_target::Vendor;

use super::{Device, missing};
use crate::Compiled;

/// The device `hip`.
#[derive(Debug)]
pub struct Hip;

impl Device for Hip {
    fn name(&self) -> &'static str {
        "hip"
    }

    fn summary(&self) -> &'static str {
        "AMD GPUs of this machine, for AMD targets"
    }

    fn launch(&self, compiled: &Compiled, kernel: &Name, input: &LaunchInput) -> Result<LaunchOutput, Diagnostic> {
        let span = compiled.lowered.kernel(kernel.as_str()).ok_or_else(|| missing(kernel))?.span;
        let instead = if compiled.target.vendor == Vendor::Amd { "sim" } else { "lanes" };
        let refuse = |message: String| {
            Diagnostic::error(Code::TARGET_REFUSES, span, message).help(format!("run it with `--device {instead}`"))
        };
        with_gpus::launch(compiled, kernel, input, &refuse)
    }
}

/// With HIP.
#[cfg(feature = "hip")]
mod with_gpus {
    use std::path::Path;

    use tilewright_runtime::DriverError;
    use tilewright_runtime::device::hip::{HipDevice, Provider};

    use super::super::hardware::launch_on;
    use super::{Compiled, Diagnostic, LaunchInput, LaunchOutput, Name};

    fn find() -> Result<HipDevice, DriverError> {
        let device = HipDevice::find()?;
        match std::env::var_os("TILEWRIGHT_COMM").filter(|path| !path.is_empty()) {
            Some(path) => Ok(device.with_provider(Provider::named_by_user(Path::new(&path))?)),
            None => Ok(device),
        }
    }

    pub(super) fn launch(
        compiled: &Compiled,
        kernel: &Name,
        input: &LaunchInput,
        refuse: &dyn Fn(String) -> Diagnostic,
    ) -> Result<LaunchOutput, Diagnostic> {
        thread_local! {
            // Looked for once a thread.
            static FOUND: Result<HipDevice, DriverError> = find();
        }
        FOUND.with(|found| match found {
            Ok(device) => launch_on(device, compiled, kernel, input, refuse),
            Err(error) => Err(refuse(error.to_string())),
        })
    }
}

/// Without it.
#[cfg(not(feature = "hip"))]
mod with_gpus {
    use super::{Compiled, Diagnostic, LaunchInput, LaunchOutput, Name};

    pub(super) fn launch(
        _: &Compiled,
        _: &Name,
        _: &LaunchInput,
        refuse: &dyn Fn(String) -> Diagnostic,
    ) -> Result<LaunchOutput, Diagnostic> {
        Err(refuse("no hip device: this program was built without HIP (cargo feature `hip`)".to_owned()))
    }
}

//! NVIDIA GPUs: the PTX of a CUDA target, which the driver compiles and runs.

use tilewright_artifact::{CodeBytes, CodeKind};
use tilewright_ir::interp::{LaunchInput, LaunchOutput};
use tilewright_ir::{Code, Diagnostic, Name};
use tilewright_runtime::device::cuda::CudaDevice;
use tilewright_runtime::{Device as _, DriverError};
use tilewright_target::Target;

use super::hardware::launch_on;
use super::{Device, missing};
use crate::Compiled;

/// The device `cuda`.
#[derive(Debug)]
pub struct Cuda;

/// Lets `use_it` use the GPUs of this machine, which are looked for once a thread.
fn with_gpus<R>(use_it: impl FnOnce(Result<&CudaDevice, &DriverError>) -> R) -> R {
    thread_local! {
        static FOUND: Result<CudaDevice, DriverError> = CudaDevice::new();
    }
    FOUND.with(|found| use_it(found.as_ref()))
}

/// Why this machine does not run PTX for a target: one sentence; `None` if it does.
pub(super) fn refusal(target: &Target) -> Option<String> {
    let code = CodeBytes { kind: CodeKind::Ptx, bytes: Vec::new() };
    with_gpus(|gpus| match gpus {
        Ok(gpus) => gpus.refuses(target.name, &code),
        Err(error) => Some(error.to_string()),
    })
}

impl Device for Cuda {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn summary(&self) -> &'static str {
        "NVIDIA GPUs of this machine, for CUDA targets"
    }

    fn launch(&self, compiled: &Compiled, kernel: &Name, input: &LaunchInput) -> Result<LaunchOutput, Diagnostic> {
        let span = compiled.lowered.kernel(kernel.as_str()).ok_or_else(|| missing(kernel))?.span;
        let refuse = |message: String| {
            Diagnostic::error(Code::TARGET_REFUSES, span, message).help("run it with `--device lanes`")
        };
        with_gpus(|gpus| match gpus {
            Ok(gpus) => launch_on(gpus, compiled, kernel, input, &refuse),
            Err(error) => Err(refuse(error.to_string())),
        })
    }
}

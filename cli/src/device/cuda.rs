//! NVIDIA GPUs: the PTX of a CUDA target, which the driver compiles and runs.

use tilewright_artifact::{CodeBytes, CodeKind, KernelInfo};
use tilewright_ir::interp::{LaunchInput, LaunchOutput, where_lookup};
use tilewright_ir::{Code, Diagnostic, Name};
use tilewright_runtime::device::cuda::CudaDevice;
use tilewright_runtime::device::{Launch, RankArgs, RankBuffers};
use tilewright_runtime::{Comm, Device as _, DriverError, Error};
use tilewright_target::Target;

use super::sim::{diagnostic, named, rank_args};
use super::{Device, missing};
use crate::{Compiled, bundle};

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
        let lowered = compiled.lowered.kernel(kernel.as_str()).ok_or_else(|| missing(kernel))?;
        let span = lowered.span;
        let refuse = |message: String| {
            Diagnostic::error(Code::TARGET_REFUSES, span, message).help("run it with `--device lanes`")
        };
        let code = compiled.made.as_ref().and_then(|made| made.code());
        let code = code.ok_or_else(|| refuse(format!("no code was made for {}", compiled.target.name)))?;
        let info = bundle::describe(lowered, compiled, &where_lookup(input)).map_err(refuse)?;
        let ranks: Vec<RankArgs> = (0..input.ranks as usize).map(|rank| rank_args(input, rank)).collect();
        let buffers = with_gpus(|gpus| {
            let gpus = gpus.map_err(|error| refuse(error.to_string()))?;
            if let Some(why) = gpus.refuses(compiled.target.name, &code) {
                return Err(refuse(why));
            }
            run(gpus, &code, &info, &ranks).map_err(|error| diagnostic(compiled, span, error))
        })?;
        let buffers = buffers.into_iter().map(named).collect();
        Ok(LaunchOutput { buffers, warnings: Vec::new(), steps: 0 })
    }
}

/// One launch, from loading the code to reading the buffers back.
fn run(
    gpus: &CudaDevice,
    code: &CodeBytes,
    kernel: &KernelInfo,
    ranks: &[RankArgs],
) -> Result<Vec<RankBuffers>, Error> {
    let comm = Comm::new(gpus, ranks.len() as u32, 0)?;
    let prepared = comm.prepare(code, &Launch { kernel, ranks })?;
    prepared.run()?;
    prepared.buffers()
}

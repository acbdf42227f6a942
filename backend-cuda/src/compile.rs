//! From a lowered module to PTX, and the description of its arguments.
//!
//! Must hold: the arguments described are those of the parameter list, in order, at their natural alignment.

use inkwell::context::Context;
use tilewright_artifact::{ArgInfo, ArgKind};
use tilewright_backend_llvm::emit::{ArgumentKind, Emission, Lowerings, arguments, emit_module};
use tilewright_backend_llvm::{Emitted, Error, Machine, MachineSpec, OptLevel, Output};
use tilewright_ir::{Kernel, Module, Span};
use tilewright_target::{Target, Vendor};

use crate::hooks::CudaHooks;

/// What to make.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How hard LLVM optimises.
    pub opt: OptLevel,
    /// Write LLVM IR?
    pub ir: bool,
    /// Lowerings of ops that an extension brings along.
    pub extra: Lowerings,
}

/// Compiles every kernel of a lowered module for an NVIDIA target; [`Emitted::asm`] is the PTX text.
///
/// Shared memory above the static limit lies in one dynamic symbol, so the launch must ask for the kernel's
/// shared bytes less what the loaded function states as static.
///
/// # Errors
/// What the target lacks, with the place; LLVM's reports.
pub fn compile(module: &Module, target: &Target, options: &Options) -> Result<Emitted, Error> {
    if target.vendor != Vendor::Nvidia {
        return Err(Error::unsupported(Span::NONE, format!("{} is no NVIDIA GPU", target.name)));
    }
    let machine = Machine::shared(&MachineSpec { opt: options.opt, ..MachineSpec::of(target) })?;
    let context = Context::create();
    let emission =
        Emission { target, hooks: &CudaHooks { target }, extra: &options.extra, source: None, sdma_debug: false };
    let llvm = emit_module(&context, &machine, module, emission)?;
    machine.emit(llvm, Output { ir: options.ir, asm: true, object: false })
}

/// The arguments of a kernel in the order of its parameter list.
pub fn describe_arguments(kernel: &Kernel) -> Vec<ArgInfo> {
    let kind = |kind, hidden| match (hidden, kind) {
        (true, _) => ArgKind::Hidden,
        (_, ArgumentKind::DevComm) => ArgKind::DevComm,
        (_, ArgumentKind::Window) => ArgKind::Window,
        (_, ArgumentKind::Global) => ArgKind::Global,
        (_, ArgumentKind::Scalar) => ArgKind::Scalar,
        (_, ArgumentKind::Where) => ArgKind::Where,
    };
    arguments(kernel)
        .into_iter()
        .map(|argument| ArgInfo {
            name: argument.name.as_str().to_string(),
            kind: kind(argument.kind, argument.hidden),
            dtype: argument.dtype.map_or(String::new(), |dtype| dtype.as_str().to_string()),
            bytes: argument.bytes,
            offset: argument.offset,
            hidden: argument.hidden,
        })
        .collect()
}

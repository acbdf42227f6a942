//! The backends behind one door, chosen by who makes the chip.
//!
//! Must hold: this is the only file that knows which backends there are.

use tilewright_artifact::{ArgInfo, CodeBytes, CodeKind};
use tilewright_backend_amdgpu as amdgpu;
use tilewright_backend_cuda as cuda;
use tilewright_backend_llvm as llvm;
use tilewright_ir::{Code, Diagnostic, Kernel, Module, OpSet, Span};
use tilewright_passes::pipeline::PassCx;
use tilewright_passes::select::CopyVariant;
use tilewright_target::{Target, Vendor};

use crate::Options;

/// What the backend is to make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Want {
    /// Nothing: the compile ends with the lowered module.
    #[default]
    Nothing,
    /// LLVM IR.
    Llvm,
    /// Assembly; PTX on CUDA targets.
    Asm,
    /// The linked code object; AMD only.
    Object,
}

impl Want {
    /// As far as the compiler itself goes for a target: a linked code object, or PTX.
    pub fn finished(target: &Target) -> Want {
        match target.vendor {
            Vendor::Amd => Want::Object,
            Vendor::Nvidia => Want::Asm,
        }
    }
}

/// What a backend made.
#[derive(Clone, Debug, Default)]
pub struct Made {
    /// LLVM IR after the optimiser, if it was wanted; else empty.
    pub llvm_ir: String,
    /// Assembly, if it was wanted; PTX on CUDA targets.
    pub asm: Option<String>,
    /// The linked code object, if it was wanted.
    pub object: Option<Vec<u8>>,
}

impl Made {
    /// The code that goes into a bundle: the object where there is one, else the PTX.
    pub fn code(&self) -> Option<CodeBytes> {
        match (&self.object, &self.asm) {
            (Some(object), _) => Some(CodeBytes { kind: CodeKind::Hsaco, bytes: object.clone() }),
            (None, Some(ptx)) => Some(CodeBytes { kind: CodeKind::Ptx, bytes: ptx.clone().into_bytes() }),
            (None, None) => None,
        }
    }
}

/// The copy variants of the target's backend, in the order of the report.
pub fn variants(target: &Target) -> &'static [&'static dyn CopyVariant] {
    match target.vendor {
        Vendor::Amd => amdgpu::copy::VARIANTS,
        Vendor::Nvidia => cuda::copy::VARIANTS,
    }
}

/// The ops that are known on every target: both backends use the neutral ones only, so there is nothing to add.
pub fn ops() -> OpSet<'static> {
    OpSet::default()
}

/// What the passes are given for a target.
pub fn pass_cx(target: &'static Target) -> PassCx<'static> {
    PassCx { target, variants: variants(target), ops: ops() }
}

/// The arguments of a kernel in the order of its argument block.
pub fn arguments(kernel: &Kernel, target: &Target) -> Vec<ArgInfo> {
    match target.vendor {
        Vendor::Amd => amdgpu::describe_arguments(kernel),
        Vendor::Nvidia => cuda::describe_arguments(kernel),
    }
}

/// Makes what `options` want of a lowered module whose places are in `text`.
///
/// # Errors
/// What the target refuses, or a fault of ours, as a diagnostic.
pub(crate) fn make(
    module: &Module,
    text: &str,
    target: &Target,
    options: &Options,
) -> Result<Option<Made>, Vec<Diagnostic>> {
    if options.want == Want::Nothing {
        return Ok(None);
    }
    let made = match target.vendor {
        Vendor::Amd => make_amdgpu(module, text, target, options),
        Vendor::Nvidia => make_cuda(module, target, options),
    };
    made.map(Some).map_err(|diagnostic| vec![diagnostic])
}

fn make_amdgpu(module: &Module, text: &str, target: &Target, options: &Options) -> Result<Made, Diagnostic> {
    // Line tables go into objects only: in assembly they would stand between the instructions.
    let file = options.file.as_ref().filter(|_| options.want == Want::Object && !text.is_empty());
    let wanted = amdgpu::Options {
        ir: options.llvm_ir || options.want == Want::Llvm,
        asm: options.want == Want::Asm,
        link: options.want == Want::Object,
        linker: amdgpu::link::LinkerChoice::new(options.lld.clone()),
        source: file.map(|file| (file.clone(), text.to_owned())),
        extra: crate::extension::lowerings(&options.extensions),
        sdma_debug: options.sdma_debug,
        ..amdgpu::Options::default()
    };
    match amdgpu::compile(module, target, &wanted) {
        Ok(made) => Ok(Made { llvm_ir: made.emitted.optimized_ir, asm: made.emitted.asm, object: made.hsaco }),
        Err(amdgpu::CompileError::Code(e)) => Err(diagnostic(&e)),
        // The linker is a tool of the user's machine, so its absence is no fault of the compiler.
        Err(e) => Err(Diagnostic::error(Code::TARGET_REFUSES, e.span().unwrap_or(Span::NONE), e.to_string())),
    }
}

fn make_cuda(module: &Module, target: &Target, options: &Options) -> Result<Made, Diagnostic> {
    let wanted = cuda::Options {
        ir: options.llvm_ir || options.want == Want::Llvm,
        extra: crate::extension::lowerings(&options.extensions),
        ..cuda::Options::default()
    };
    let made = cuda::compile(module, target, &wanted).map_err(|e| diagnostic(&e))?;
    Ok(Made { llvm_ir: made.optimized_ir, asm: made.asm, object: None })
}

/// What a backend says, with its place: what the target lacks is told to the user, anything else is our fault.
fn diagnostic(e: &llvm::Error) -> Diagnostic {
    let span = e.span().unwrap_or(Span::NONE);
    match e {
        llvm::Error::Unsupported { .. } | llvm::Error::Diagnostics(_) => {
            Diagnostic::error(Code::TARGET_REFUSES, span, e.to_string())
        }
        _ => Diagnostic::error(Code::INTERNAL, span, e.to_string()),
    }
}

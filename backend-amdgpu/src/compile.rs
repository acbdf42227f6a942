//! From a lowered module to a code object, and the description of its arguments.
//!
//! Must hold: the arguments described are those of the argument block, in order, as LLVM lays them out.

use inkwell::context::Context;
use thiserror::Error as ThisError;
use tilewright_artifact::{ArgInfo, ArgKind};
use tilewright_backend_llvm::emit::{ArgumentKind, Emission, Lowerings, Source, arguments, emit_module};
use tilewright_backend_llvm::{Emitted, Error, Machine, MachineSpec, OptLevel, Output};
use tilewright_ir::{Kernel, Module, Span};
use tilewright_target::{Target, WaitCounters};

use crate::hooks::AmdHooks;
use crate::link::{LinkError, LinkerChoice, link};

/// What to make.
#[derive(Debug, Clone)]
pub struct Options {
    /// How hard LLVM optimises.
    pub opt: OptLevel,
    /// Write LLVM IR?
    pub ir: bool,
    /// Write assembly?
    pub asm: bool,
    /// Write and link a code object?
    pub link: bool,
    /// Where the linker is looked for.
    pub linker: LinkerChoice,
    /// Lowerings of ops that an extension brings along.
    pub extra: Lowerings,
    /// Name and text of the source that the module's places are in: the code object then has line tables.
    pub source: Option<(String, String)>,
    /// Check calls of copy engines, with a trap at the first misuse?
    pub sdma_debug: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            opt: OptLevel::O3,
            ir: false,
            asm: false,
            link: true,
            linker: LinkerChoice::default(),
            extra: Lowerings::default(),
            source: None,
            sdma_debug: false,
        }
    }
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// LLVM IR, assembly and the relocatable object, as far as asked for.
    pub emitted: Emitted,
    /// The linked code object, if asked for.
    pub hsaco: Option<Vec<u8>>,
}

/// Why nothing came out.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum CompileError {
    /// No machine code was made.
    #[error(transparent)]
    Code(#[from] Error),
    /// It could not be linked.
    #[error(transparent)]
    Link(#[from] LinkError),
}

impl CompileError {
    /// The place in the source, where there is one.
    pub fn span(&self) -> Option<Span> {
        match self {
            CompileError::Code(error) => error.span(),
            CompileError::Link(_) => None,
        }
    }
}

/// Compiles every kernel of a lowered module for an AMD target into one code object.
///
/// # Errors
/// [`CompileError`]: what the target lacks, with the place; LLVM's reports; the linker's.
pub fn compile(module: &Module, target: &Target, options: &Options) -> Result<Compiled, CompileError> {
    let hooks = AmdHooks { counters: wait_counters(target)? };
    let machine = Machine::shared(&MachineSpec { opt: options.opt, ..MachineSpec::of(target) })?;
    let context = Context::create();
    let source = options.source.as_ref().map(|(file, text)| Source { file, text });
    let emission = Emission { target, hooks: &hooks, extra: &options.extra, source, sdma_debug: options.sdma_debug };
    let llvm = emit_module(&context, &machine, module, emission)?;
    let emitted = machine.emit(llvm, Output { ir: options.ir, asm: options.asm, object: options.link })?;
    let hsaco = match (&emitted.object, options.link) {
        (Some(object), true) => Some(link(object, &options.linker)?),
        _ => None,
    };
    Ok(Compiled { emitted, hsaco })
}

/// How the target counts memory accesses.
///
/// # Errors
/// A target without AMD's facts.
pub(crate) fn wait_counters(target: &Target) -> Result<WaitCounters, Error> {
    let missing = || Error::unsupported(Span::NONE, format!("{} is no AMD GPU", target.name));
    Ok(target.amd.ok_or_else(missing)?.wait_counters)
}

/// The arguments of a kernel in the order of its argument block.
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

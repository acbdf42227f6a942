//! From lowered kernels to LLVM IR: the part that is the same on every GPU.
//!
//! The room holds, one file each: the argument block (`abi`), names (`scope`), scalar types (`scalar`), expressions
//! (`expr`, `arith`, `convert`, `small_float`), memory (`memory`), statements (`stmt`) and the ops that both targets have
//! (`ops`), ops that others bring along (`extra`), and line tables (`lines`). What differs is behind [`TargetHooks`].
//! Must hold: values are those of the reference interpreter (division by zero is 0, shift counts wrap, floats round once, conversions saturate); nothing gets `noalias` or `readonly`, since
//! another GPU or a copy engine may write it; a statement that is no lowered one is an error, never skipped.

mod abi;
mod arith;
mod convert;
mod expr;
mod extra;
mod lines;
mod memory;
mod ops;
mod scalar;
mod scope;
mod small_float;
mod stmt;

use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::values::{FloatValue, FunctionValue, PointerValue};
use tilewright_ir::{Kernel, PrimOp, Scope as Threads, Span};
use tilewright_target::Target;

pub use abi::{Argument, ArgumentKind, arguments};
pub use expr::RANK_LIMIT;
pub use extra::{Bits, Hint, Lower, Lowerings, OpBuilder};
pub use lines::Source;
pub use memory::{shared_bytes, window_pointer};
pub use ops::{arg, arg_expr, arg_place};
pub use scalar::Value;

use crate::error::Error;
use crate::generator::Gen;
use crate::machine::Machine;
use crate::vocabulary::Ordering;
use scope::Names;

type Result<T> = std::result::Result<T, Error>;

/// The threads of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Extents of the block along x, y, z.
    pub block: [u32; 3],
    /// Their product.
    pub threads: u32,
    /// Lanes of a warp as the kernel sees it (`warp = …`), not of the hardware.
    pub warp: u32,
}

/// Who a fence speaks to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FenceScope {
    /// Every agent.
    System,
    /// This GPU.
    Agent,
    /// The thread block.
    Cta,
    /// The warp.
    Warp,
}

/// What differs between targets.
pub trait TargetHooks {
    /// Is memory of a thread block addressed dynamically from one symbol when it exceeds what can be declared? On NVIDIA
    /// more than the static limit needs an opt-in at launch, which only dynamic shared memory has.
    fn dynamic_shared_above(&self) -> Option<u64>;

    /// The type of a `devcomm` parameter's pointer: an address space, and `byref` or `byval`.
    fn devcomm_passing(&self) -> (crate::AddressSpace, &'static str);

    /// Sets calling convention and attributes of a kernel.
    fn begin_kernel<'ctx>(&self, g: &Gen<'_, 'ctx>, shape: &Shape) -> Result<()>;

    /// Index of the thread in its block along x (0), y (1) or z (2), 32-bit.
    fn thread_id<'ctx>(&self, g: &Gen<'_, 'ctx>, dimension: u8) -> Result<inkwell::values::IntValue<'ctx>>;

    /// Index of the block in the grid, 32-bit.
    fn block_id<'ctx>(&self, g: &Gen<'_, 'ctx>, dimension: u8) -> Result<inkwell::values::IntValue<'ctx>>;

    /// All threads of the scope meet, and see what the others wrote before.
    fn barrier<'ctx>(&self, e: &mut Emitter<'_, '_, 'ctx>, scope: Threads, span: Span) -> Result<()>;

    /// A fence.
    fn fence<'ctx>(&self, g: &Gen<'_, 'ctx>, ordering: Ordering, scope: FenceScope) -> Result<()>;

    /// Gives issue slots to others inside a poll loop.
    fn pause<'ctx>(&self, g: &Gen<'_, 'ctx>) -> Result<()>;

    /// All lanes of a wave that are here come together before any goes on; emits no instruction where lanes run in lockstep.
    fn converge<'ctx>(&self, _: &Gen<'_, 'ctx>) -> Result<()> {
        Ok(())
    }

    /// A float that is about to be rounded to f16, kept apart from what made it where the target's instruction selection would
    /// fuse the two into something else; emits no instruction.
    fn before_f16<'ctx>(&self, _: &Gen<'_, 'ctx>, value: FloatValue<'ctx>) -> Result<FloatValue<'ctx>> {
        Ok(value)
    }

    /// Divides a long stretch of code for what takes more than linear time there; emits no instruction.
    fn divide<'ctx>(&self, _: &Gen<'_, 'ctx>) -> Result<()> {
        Ok(())
    }

    /// Any op that is not of this crate's own; refuses what the target does not have.
    fn op<'ctx>(&self, e: &mut Emitter<'_, '_, 'ctx>, op: &PrimOp, span: Span) -> Result<()>;
}

/// Writes one kernel. Hooks get it to evaluate operands and to build instructions.
pub struct Emitter<'k, 'a, 'ctx> {
    /// Where instructions go.
    pub g: Gen<'a, 'ctx>,
    /// The chip.
    pub target: &'k Target,
    /// The kernel's threads.
    pub shape: Shape,
    /// The kernel.
    pub kernel: &'k Kernel,
    /// Are calls of copy engines checked, with a trap at the first misuse?
    pub sdma_debug: bool,
    hooks: &'k dyn TargetHooks,
    extra: &'k Lowerings,
    names: Names<'ctx>,
    devcomm: Option<PointerValue<'ctx>>,
    memory: memory::Allocator<'ctx>,
    lines: Option<&'k lines::Lines<'ctx>>,
    /// Statements emitted so far, repeated bodies included.
    written: u64,
}

impl<'ctx> Emitter<'_, '_, 'ctx> {
    /// Pointer to the kernel's communicator.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the kernel has none.
    pub fn devcomm(&self, span: Span) -> Result<PointerValue<'ctx>> {
        self.devcomm.ok_or_else(|| Error::malformed(span, "the kernel has no communicator"))
    }
}

/// What [`emit_module`] is given beside the module.
#[derive(Clone, Copy)]
pub struct Emission<'a> {
    /// The chip.
    pub target: &'a Target,
    /// What the chip's backend adds.
    pub hooks: &'a dyn TargetHooks,
    /// Lowerings of ops that are neither neutral nor the target's.
    pub extra: &'a Lowerings,
    /// With the text, the module gets line tables.
    pub source: Option<Source<'a>>,
    /// Check calls of copy engines, with a trap at the first misuse.
    pub sdma_debug: bool,
}

/// Emits every kernel of a lowered module into one LLVM module, ready for [`Machine::emit`].
///
/// # Errors
/// [`Error::Unsupported`] with the place for what the target lacks; [`Error::Malformed`] for what is not lowered IR.
pub fn emit_module<'ctx>(
    context: &'ctx Context,
    machine: &Machine,
    module: &tilewright_ir::Module,
    cx: Emission<'_>,
) -> Result<Module<'ctx>> {
    let out = context.create_module("tilewright");
    machine.prepare(&out);
    let mut lines = cx.source.map(|source| lines::Lines::new(context, &out, source));
    for kernel in module.kernels() {
        emit_kernel(&out, kernel, cx, lines.as_mut())?;
    }
    if let Some(lines) = lines {
        lines.finish();
    }
    Ok(out)
}

fn emit_kernel<'ctx>(
    module: &Module<'ctx>,
    kernel: &Kernel,
    cx: Emission<'_>,
    mut lines: Option<&mut lines::Lines<'ctx>>,
) -> Result<()> {
    let Emission { target, hooks, extra, .. } = cx;
    let shape = shape_of(kernel, target)?;
    let context = module.get_context();
    let builder = context.create_builder();
    let function = abi::declare(module, kernel, hooks)?;
    let entry = context.append_basic_block(function, "entry");
    builder.position_at_end(entry);
    let g = Gen::new(module, &builder, function);
    if let Some(lines) = &mut lines {
        lines.begin(&g, function, kernel.name.as_str(), kernel.span);
    }
    hooks.begin_kernel(&g, &shape)?;
    let memory = memory::Allocator::new(&g, kernel, hooks)?;
    let (names, lines) = (Names::default(), lines.map(|lines| &*lines));
    let mut emitter = Emitter {
        g,
        target,
        shape,
        kernel,
        sdma_debug: cx.sdma_debug,
        hooks,
        extra,
        names,
        devcomm: None,
        memory,
        lines,
        written: 0,
    };
    abi::bind_parameters(&mut emitter, function)?;
    emitter.block(&kernel.body)?;
    builder.build_return(None)?;
    Ok(())
}

fn shape_of(kernel: &Kernel, target: &Target) -> Result<Shape> {
    let span = kernel.launch.span;
    let mut block = [1; 3];
    for (extent, dim) in block.iter_mut().zip(&kernel.launch.block) {
        let value = dim.as_const().and_then(|v| u32::try_from(v).ok()).filter(|v| *v > 0);
        *extent = value.ok_or_else(|| Error::malformed(span, "block extents are positive constants"))?;
    }
    let threads = block.iter().try_fold(1u32, |n, e| n.checked_mul(*e)).filter(|n| *n <= target.max_threads_per_block);
    let Some(threads) = threads else {
        return Err(Error::unsupported(
            span,
            format!("{} runs at most {} threads in a block", target.name, target.max_threads_per_block),
        ));
    };
    Ok(Shape { block, threads, warp: kernel.launch.warp.lanes(target.warp_size) })
}

/// The function that is being written, for attributes.
pub(crate) fn add_string_attribute(function: FunctionValue<'_>, g: &Gen<'_, '_>, key: &str, value: &str) {
    let attribute = g.context.create_string_attribute(key, value);
    function.add_attribute(inkwell::attributes::AttributeLoc::Function, attribute);
}

impl Gen<'_, '_> {
    /// Adds a string attribute to the function.
    pub fn attribute(&self, key: &str, value: &str) {
        add_string_attribute(self.function, self, key, value);
    }

    /// Adds an attribute without a value, such as `nounwind`.
    pub fn flag(&self, name: &str) {
        let kind = inkwell::attributes::Attribute::get_named_enum_kind_id(name);
        let attribute = self.context.create_enum_attribute(kind, 0);
        self.function.add_attribute(inkwell::attributes::AttributeLoc::Function, attribute);
    }
}

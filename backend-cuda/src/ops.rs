//! Primitive ops of NVIDIA targets: `ldmatrix` and `stmatrix`.
//!
//! Must hold: an op that this target lacks is refused in one sentence; LLVM never sees an instruction that the target's
//! table does not list. The registers of matrix `i` are two elements of 16 bits at the `i`-th register operand.

use inkwell::values::BasicValueEnum;
use tilewright_backend_llvm::Error;
use tilewright_backend_llvm::emit::{Emitter, arg_place};
use tilewright_ir::{PrimOp, Space, Span};
use tilewright_target::Target;

type Result<T> = std::result::Result<T, Error>;

/// Emits one op.
pub(crate) fn emit(e: &mut Emitter<'_, '_, '_>, op: &PrimOp, span: Span) -> Result<()> {
    match op.op.as_str() {
        "nv.ldmatrix" => load_matrix(e, op, span),
        "nv.stmatrix" => store_matrix(e, op, span),
        other if other.starts_with("sdma.") => Err(Error::unsupported(
            span,
            format!("`{other}` drives an AMD copy engine; {} has none that a kernel can drive", e.target.name),
        )),
        other => Err(Error::unsupported(span, format!("{} has no op `{other}`", e.target.name))),
    }
}

/// Number of matrices, and the middle of the intrinsic's name.
fn form(op: &PrimOp, span: Span) -> Result<(usize, String)> {
    let number = op.attr_int("num").unwrap_or(0);
    if !matches!(number, 1 | 2 | 4) || op.args.len() != number as usize + 1 {
        let message = format!("`{}` wants num = 1, 2 or 4 and as many register operands", op.op.as_str());
        return Err(Error::malformed(span, message));
    }
    let transposed = if op.attr_bool("trans") { ".trans" } else { "" };
    Ok((number as usize, format!("sync.aligned.m8n8.x{number}{transposed}.b16")))
}

fn load_matrix(e: &mut Emitter<'_, '_, '_>, op: &PrimOp, span: Span) -> Result<()> {
    if !e.target.has_ldmatrix() {
        return Err(lacks(e.target, "ldmatrix", Target::min_arch_for_ldmatrix(), span));
    }
    let (number, middle) = form(op, span)?;
    let row = row(e, op, span)?;
    let result =
        e.g.intrinsic(&format!("llvm.nvvm.ldmatrix.{middle}"), &[row.get_type().into()], &[row.into()], "matrix")?;
    for i in 0..number {
        let register = match result {
            Some(BasicValueEnum::IntValue(value)) => value,
            Some(BasicValueEnum::StructValue(value)) => {
                e.g.builder.build_extract_value(value, i as u32, "register")?.into_int_value()
            }
            _ => return Err(Error::Build("ldmatrix yields no registers".into())),
        };
        e.store_bits(registers(e, op, i + 1, span)?, register)?;
    }
    Ok(())
}

fn store_matrix(e: &mut Emitter<'_, '_, '_>, op: &PrimOp, span: Span) -> Result<()> {
    if !e.target.has_stmatrix() {
        return Err(lacks(e.target, "stmatrix", Target::min_arch_for_stmatrix(), span));
    }
    let (number, middle) = form(op, span)?;
    let row = row(e, op, span)?;
    let mut arguments = vec![row.into()];
    for i in 0..number {
        let place = registers(e, op, i + 1, span)?;
        arguments.push(e.load_bits(place, 32)?.into());
    }
    e.g.intrinsic(&format!("llvm.nvvm.stmatrix.{middle}"), &[row.get_type().into()], &arguments, "")?;
    Ok(())
}

fn lacks(target: &Target, instruction: &str, least: &str, span: Span) -> Error {
    Error::unsupported(span, format!("{} has no {instruction}: it came with {least}", target.name))
}

/// The address of this lane's row in shared memory.
fn row<'ctx>(e: &mut Emitter<'_, '_, 'ctx>, op: &PrimOp, span: Span) -> Result<inkwell::values::PointerValue<'ctx>> {
    let (buffer, pointer) = e.place_pointer(arg_place(op, 0, span)?)?;
    if buffer.space != Space::Shared || buffer.dtype.bits() != 16 {
        return Err(Error::malformed(span, format!("`{}` wants 16-bit elements in shared memory", op.op.as_str())));
    }
    Ok(pointer)
}

/// Register operand `n`.
fn registers<'o>(e: &Emitter<'_, '_, '_>, op: &'o PrimOp, n: usize, span: Span) -> Result<&'o tilewright_ir::Place> {
    let place = arg_place(op, n, span)?;
    match e.buffer_type(&place.buf, span)? {
        ty if ty.space == Space::Local && ty.dtype.bits() == 16 => Ok(place),
        _ => Err(Error::malformed(span, format!("`{}` wants 16-bit elements in registers", op.op.as_str()))),
    }
}

//! The argument block: which arguments a kernel takes, in which order and where.
//!
//! Author's parameters, then `where` parameters, then hidden parameters; each at its natural alignment. Must hold: LLVM's
//! own layout of the parameters (AMD's kernarg segment, PTX's `.param` space) is the same, which a test checks through the
//! metadata of the code object.

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::module::Module;
use inkwell::types::{AnyType, BasicMetadataTypeEnum};
use inkwell::values::{BasicValueEnum, FunctionValue};
use tilewright_ir::{DType, Kernel, Name, ParamTy, ScalarTy, Space};
use tilewright_target::mori_abi::dev_comm;

use super::scope::{Buffer, Meaning};
use super::{Emitter, Error, Result, TargetHooks};
use crate::vocabulary::AddressSpace;

/// What an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentKind {
    /// `ccoDevComm` by value.
    DevComm,
    /// Pointer to a `ccoWindowDevice`.
    Window,
    /// Pointer to device memory.
    Global,
    /// A scalar of the author's.
    Scalar,
    /// A `where` parameter.
    Where,
}

/// One argument of the block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// The parameter's name.
    pub name: Name,
    /// What it is.
    pub kind: ArgumentKind,
    /// Dtype of a scalar, or of a buffer's elements; `None` for the communicator.
    pub dtype: Option<DType>,
    /// Offset in the block, in bytes.
    pub offset: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Added by the compiler?
    pub hidden: bool,
}

/// The arguments of a kernel in the order of the argument block.
pub fn arguments(kernel: &Kernel) -> Vec<Argument> {
    let visible = kernel.params.iter().filter(|p| !p.hidden);
    let hidden = kernel.params.iter().filter(|p| p.hidden);
    let of_param = |p: &tilewright_ir::Param| {
        let (kind, dtype, bytes) = match &p.ty {
            ParamTy::DevComm => (ArgumentKind::DevComm, None, dev_comm::SIZE),
            ParamTy::Scalar(ty) => (ArgumentKind::Scalar, Some(ty.storage()), scalar_bytes(ty.storage())),
            ParamTy::Buffer(ty) if ty.space == Space::Window => (ArgumentKind::Window, Some(ty.dtype), 8),
            ParamTy::Buffer(ty) => (ArgumentKind::Global, Some(ty.dtype), 8),
        };
        Argument { name: p.name.clone(), kind, dtype, offset: 0, bytes, hidden: p.hidden }
    };
    let of_where = |w: &tilewright_ir::WhereParam| {
        let bytes = scalar_bytes(w.dtype);
        Argument {
            name: w.name.clone(),
            kind: ArgumentKind::Where,
            dtype: Some(w.dtype),
            offset: 0,
            bytes,
            hidden: false,
        }
    };
    let mut all: Vec<Argument> =
        visible.map(of_param).chain(kernel.wheres.iter().map(of_where)).chain(hidden.map(of_param)).collect();
    let mut end: u32 = 0;
    for argument in &mut all {
        let align = if argument.kind == ArgumentKind::DevComm { dev_comm::ALIGN } else { argument.bytes };
        argument.offset = end.next_multiple_of(align);
        end = argument.offset + argument.bytes;
    }
    all
}

/// Bytes of a scalar argument: its own, at least one.
fn scalar_bytes(dtype: DType) -> u32 {
    dtype.bits().div_ceil(8)
}

/// Declares the kernel's function.
pub(crate) fn declare<'ctx>(
    module: &Module<'ctx>,
    kernel: &Kernel,
    hooks: &dyn TargetHooks,
) -> Result<FunctionValue<'ctx>> {
    let context = module.get_context();
    let pointer = |space: AddressSpace| context.ptr_type(inkwell::AddressSpace::from(space as u16));
    let arguments = arguments(kernel);
    let mut types: Vec<BasicMetadataTypeEnum<'ctx>> = Vec::new();
    for argument in &arguments {
        types.push(match (argument.kind, argument.dtype) {
            (ArgumentKind::DevComm, _) => pointer(hooks.devcomm_passing().0).into(),
            (ArgumentKind::Window | ArgumentKind::Global, _) => pointer(AddressSpace::Global).into(),
            (_, Some(DType::F64)) => context.f64_type().into(),
            (_, Some(DType::F32)) => context.f32_type().into(),
            (_, Some(DType::F16)) => context.f16_type().into(),
            (_, Some(DType::BF16)) => context.bf16_type().into(),
            _ => match argument.bytes {
                1 => context.i8_type().into(),
                2 => context.i16_type().into(),
                4 => context.i32_type().into(),
                _ => context.i64_type().into(),
            },
        });
    }
    let name = kernel.name.as_str();
    if module.get_function(name).is_some() {
        return Err(Error::malformed(kernel.span, format!("two kernels are called `{name}`")));
    }
    let function = module.add_function(name, context.void_type().fn_type(&types, false), None);
    for (number, argument) in arguments.iter().enumerate() {
        let location = AttributeLoc::Param(number as u32);
        let enumerated = |name: &str, value| {
            function
                .add_attribute(location, context.create_enum_attribute(Attribute::get_named_enum_kind_id(name), value));
        };
        match argument.kind {
            ArgumentKind::DevComm => {
                let bytes = context.i8_type().array_type(dev_comm::SIZE).as_any_type_enum();
                let kind = Attribute::get_named_enum_kind_id(hooks.devcomm_passing().1);
                function.add_attribute(location, context.create_type_attribute(kind, bytes));
                enumerated("align", dev_comm::ALIGN.into());
            }
            ArgumentKind::Window => enumerated("align", 8),
            ArgumentKind::Global => {
                let buffer = kernel.params.iter().find_map(|p| match &p.ty {
                    ParamTy::Buffer(ty) if p.name == argument.name => Some(ty.align_bytes()),
                    _ => None,
                });
                enumerated("align", buffer.unwrap_or(1).into());
            }
            ArgumentKind::Scalar | ArgumentKind::Where => {}
        }
    }
    for (number, argument) in arguments.iter().enumerate() {
        if let Some(value) = function.get_nth_param(number as u32) {
            value.set_name(argument.name.as_str());
        }
    }
    Ok(function)
}

/// Binds the parameters' names; the builder stands in the entry block.
pub(crate) fn bind_parameters<'ctx>(e: &mut Emitter<'_, '_, 'ctx>, function: FunctionValue<'ctx>) -> Result<()> {
    let kernel = e.kernel;
    for (number, argument) in arguments(kernel).into_iter().enumerate() {
        let missing = || Error::Build(format!("parameter {number} is missing"));
        let value = function.get_nth_param(number as u32).ok_or_else(missing)?;
        let declared = kernel.params.iter().find(|p| p.name == argument.name).map(|p| &p.ty);
        let meaning = match (declared, value) {
            (Some(ParamTy::DevComm), BasicValueEnum::PointerValue(pointer)) => {
                e.devcomm = Some(pointer);
                continue;
            }
            (Some(ParamTy::Buffer(ty)), BasicValueEnum::PointerValue(pointer)) => {
                Meaning::Buffer(Buffer { ty: ty.clone(), pointer })
            }
            (Some(ParamTy::Scalar(ty)), value) => Meaning::Value(e.loaded(value, *ty)?),
            (None, value) => {
                let dtype = argument.dtype.unwrap_or(DType::I64);
                let passed = e.loaded(value, ScalarTy::Num(dtype))?;
                Meaning::Value(e.convert(passed, ScalarTy::Index, tilewright_ir::Span::NONE)?)
            }
            _ => return Err(Error::Build(format!("parameter {number} has another type"))),
        };
        e.names.bind(&argument.name, meaning);
    }
    Ok(())
}

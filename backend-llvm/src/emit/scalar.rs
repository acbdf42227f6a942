//! Scalar values and their LLVM types.
//!
//! In registers: `index` and ranks are i64, integers have their own width, bool is i1, f64 to bf16 are LLVM's floats,
//! f8 and f4 are their raw bits. In memory: bool is a byte, types below a byte are packed two to a byte.

use inkwell::types::{BasicType, BasicTypeEnum};
use inkwell::values::{BasicValueEnum, FloatValue, IntValue};
use tilewright_ir::{DType, DTypeClass, ScalarTy};

use super::{Error, Result};
use crate::generator::Gen;

/// A scalar with its type.
#[derive(Clone, Copy, Debug)]
pub struct Value<'ctx> {
    /// Its type in the language.
    pub ty: ScalarTy,
    /// The value.
    pub llvm: BasicValueEnum<'ctx>,
}

/// How a type computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Int {
        bits: u32,
        signed: bool,
    },
    /// f64, f32, f16, bf16: LLVM computes.
    Float(DType),
    /// f8, f4: raw bits, computed in f64.
    Small(DType),
    Bool,
}

impl Class {
    pub(crate) const INDEX: Class = Class::Int { bits: 64, signed: true };

    pub(crate) fn of(ty: ScalarTy) -> Class {
        let ScalarTy::Num(d) = ty else { return Class::INDEX };
        match (d.class(), d) {
            (DTypeClass::Bool, _) => Class::Bool,
            (DTypeClass::Signed, _) => Class::Int { bits: d.bits(), signed: true },
            (DTypeClass::Unsigned, _) => Class::Int { bits: d.bits(), signed: false },
            (DTypeClass::Float, DType::F64 | DType::F32 | DType::F16 | DType::BF16) => Class::Float(d),
            (DTypeClass::Float, _) => Class::Small(d),
        }
    }
}

impl<'ctx> Value<'ctx> {
    pub(crate) fn new(ty: ScalarTy, llvm: impl Into<BasicValueEnum<'ctx>>) -> Self {
        Value { ty, llvm: llvm.into() }
    }

    pub(crate) fn class(&self) -> Class {
        Class::of(self.ty)
    }

    pub(crate) fn int(&self) -> Result<IntValue<'ctx>> {
        match self.llvm {
            BasicValueEnum::IntValue(value) => Ok(value),
            other => Err(Error::Build(format!("{other} is no integer"))),
        }
    }

    pub(crate) fn float(&self) -> Result<FloatValue<'ctx>> {
        match self.llvm {
            BasicValueEnum::FloatValue(value) => Ok(value),
            other => Err(Error::Build(format!("{other} is no float"))),
        }
    }
}

impl<'ctx> Gen<'_, 'ctx> {
    /// An integer type of any width up to 64.
    pub(crate) fn int_type(&self, bits: u32) -> inkwell::types::IntType<'ctx> {
        match bits {
            4 => std::num::NonZeroU32::new(4)
                .and_then(|n| self.context.custom_width_int_type(n).ok())
                .unwrap_or_else(|| self.context.i8_type()),
            _ => self.int(bits, 0).get_type(),
        }
    }

    /// A float type that LLVM has.
    pub(crate) fn float_type(&self, dtype: DType) -> inkwell::types::FloatType<'ctx> {
        match dtype {
            DType::F64 => self.context.f64_type(),
            DType::F16 => self.context.f16_type(),
            DType::BF16 => self.context.bf16_type(),
            _ => self.context.f32_type(),
        }
    }

    /// The type of an element in memory; one byte for what is smaller.
    pub(crate) fn memory_type(&self, dtype: DType) -> BasicTypeEnum<'ctx> {
        match Class::of(ScalarTy::Num(dtype)) {
            Class::Float(dtype) => self.float_type(dtype).as_basic_type_enum(),
            _ => self.int_type(dtype.bits().max(8)).as_basic_type_enum(),
        }
    }
}

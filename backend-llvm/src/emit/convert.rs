//! Conversions between scalar types, and between registers and memory.
//!
//! Must hold: integers wrap; integers to floats and floats to floats round to nearest even, once; floats to integers cut
//! towards zero and saturate, NaN gives 0; anything but zero is true.

use inkwell::values::{BasicValue, BasicValueEnum, FloatValue, IntValue};
use inkwell::{FloatPredicate, IntPredicate};
use tilewright_ir::{DType, ScalarTy, Span};

use super::scalar::{Class, Value};
use super::{Emitter, Error, Result};

type Int<'ctx> = IntValue<'ctx>;

impl<'ctx> Emitter<'_, '_, 'ctx> {
    /// `to(value)`.
    pub(crate) fn convert(&mut self, value: Value<'ctx>, to: ScalarTy, span: Span) -> Result<Value<'ctx>> {
        let (from, target) = (value.class(), Class::of(to));
        let llvm: BasicValueEnum<'ctx> = match (from, target) {
            _ if from == target => value.llvm,
            (Class::Float(_) | Class::Small(_), Class::Float(d) | Class::Small(d)) => {
                return self.float_to_float(value, d).map(|v| Value { ty: to, ..v });
            }
            (Class::Float(_), Class::Bool) => {
                let x = value.float()?;
                let zero = x.get_type().const_zero();
                self.g.builder.build_float_compare(FloatPredicate::UNE, x, zero, "nonzero")?.as_basic_value_enum()
            }
            (Class::Small(_), Class::Bool) => {
                let wide = self.widened(value)?;
                return self.convert(wide, to, span);
            }
            (Class::Float(_) | Class::Small(_), Class::Int { bits, signed }) => {
                self.float_to_int(value, bits, signed)?.as_basic_value_enum()
            }
            (Class::Int { signed, .. }, Class::Float(_) | Class::Small(_)) => {
                let ScalarTy::Num(dtype) = to else { return Err(Error::malformed(span, format!("{to} is no float"))) };
                return self.int_to_float(value, signed, dtype).map(|v| Value { ty: to, ..v });
            }
            (Class::Bool, Class::Float(_) | Class::Small(_)) => {
                let wide = self.g.zext64(value.int()?, "")?;
                return self.convert(Value::new(ScalarTy::Index, wide), to, span);
            }
            (Class::Int { .. }, Class::Bool) => {
                let x = value.int()?;
                self.g.cmp(IntPredicate::NE, x, x.get_type().const_zero(), "nonzero")?.as_basic_value_enum()
            }
            (Class::Bool, Class::Int { bits, .. }) => {
                let ty = self.g.int_type(bits);
                self.g.builder.build_int_z_extend(value.int()?, ty, "wide")?.as_basic_value_enum()
            }
            (Class::Int { bits, signed }, Class::Int { bits: width, .. }) => {
                self.resize(value.int()?, bits, signed, width)?.as_basic_value_enum()
            }
            (Class::Bool, Class::Bool) => value.llvm,
        };
        Ok(Value { ty: to, llvm })
    }

    fn resize(&mut self, value: Int<'ctx>, bits: u32, signed: bool, width: u32) -> Result<Int<'ctx>> {
        let ty = self.g.int_type(width);
        Ok(match width.cmp(&bits) {
            std::cmp::Ordering::Less => self.g.builder.build_int_truncate(value, ty, "cut")?,
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Greater if signed => self.g.builder.build_int_s_extend(value, ty, "wide")?,
            std::cmp::Ordering::Greater => self.g.builder.build_int_z_extend(value, ty, "wide")?,
        })
    }

    /// The value as an f64, which holds every float exactly.
    pub(crate) fn widened(&mut self, value: Value<'ctx>) -> Result<Value<'ctx>> {
        self.float_to_float(value, DType::F64)
    }

    /// Rounds a float to another float type.
    pub(crate) fn float_to_float(&mut self, value: Value<'ctx>, to: DType) -> Result<Value<'ctx>> {
        let ty = ScalarTy::Num(to);
        match (value.class(), Class::of(ty)) {
            (from, target) if from == target => Ok(Value { ty, ..value }),
            (Class::Small(d), _) => {
                let wide = Value::new(ScalarTy::Num(DType::F64), self.decode_small(d, value.int()?)?);
                self.float_to_float(wide, to)
            }
            (Class::Float(_), Class::Small(d)) => {
                let wide = self.widened(value)?.float()?;
                Ok(Value::new(ty, self.encode_small(d, wide)?))
            }
            (Class::Float(from), _) => Ok(Value::new(ty, self.resize_float(value.float()?, from, to)?)),
            _ => Err(Error::Build(format!("{} is no float", value.ty))),
        }
    }

    fn resize_float(&mut self, value: FloatValue<'ctx>, from: DType, to: DType) -> Result<FloatValue<'ctx>> {
        let ty = self.g.float_type(to);
        let builder = self.g.builder;
        Ok(match (from.bits(), to.bits()) {
            (16, 16) => {
                // f16 <-> bf16: through f32, which holds both exactly.
                let wide = builder.build_float_ext(value, self.g.context.f32_type(), "")?;
                builder.build_float_trunc(wide, ty, "rounded")?
            }
            (a, b) if a < b => builder.build_float_ext(value, ty, "wide")?,
            _ => {
                let apart = if to == DType::F16 { self.hooks.before_f16(&self.g, value)? } else { value };
                builder.build_float_trunc(apart, ty, "rounded")?
            }
        })
    }

    fn int_to_float(&mut self, value: Value<'ctx>, signed: bool, to: DType) -> Result<Value<'ctx>> {
        // Straight to f32 and f64; narrower types round from f64, as the reference does.
        let direct = if to == DType::F32 { DType::F32 } else { DType::F64 };
        let ty = self.g.float_type(direct);
        let x = value.int()?;
        let float = match signed {
            true => self.g.builder.build_signed_int_to_float(x, ty, "float")?,
            false => self.g.builder.build_unsigned_int_to_float(x, ty, "float")?,
        };
        self.float_to_float(Value::new(ScalarTy::Num(direct), float), to)
    }

    fn float_to_int(&mut self, value: Value<'ctx>, bits: u32, signed: bool) -> Result<Int<'ctx>> {
        // From f32 or f64, which hold all narrower floats exactly, to 32 or 64 bits, saturating; then into the range.
        let value = match value.class() {
            Class::Float(DType::F64 | DType::F32) => value,
            Class::Float(_) => self.float_to_float(value, DType::F32)?,
            _ => self.widened(value)?,
        };
        let x = value.float()?;
        let wide = if bits > 32 { 64 } else { 32 };
        let name = if signed { "llvm.fptosi.sat" } else { "llvm.fptoui.sat" };
        let wide_ty = self.g.int_type(wide);
        let g = &self.g;
        let cut = g.int_intrinsic(name, &[wide_ty.into(), x.get_type().into()], &[x.into()], "cut")?;
        if bits == wide {
            return Ok(cut);
        }
        let (least, most) = match signed {
            true => (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1),
            false => (0, (1i64 << bits) - 1),
        };
        let limit = |v: i64| wide_ty.const_int(v as u64 & 0xffff_ffff, false);
        let (under, over) =
            if signed { (IntPredicate::SLT, IntPredicate::SGT) } else { (IntPredicate::ULT, IntPredicate::UGT) };
        let mut clamped = cut;
        if signed {
            let below = g.cmp(under, clamped, limit(least), "")?;
            clamped = g.select(below, limit(least), clamped, "")?.into_int_value();
        }
        let above = g.cmp(over, clamped, limit(most), "")?;
        clamped = g.select(above, limit(most), clamped, "clamped")?.into_int_value();
        Ok(g.builder.build_int_truncate(clamped, g.int_type(bits), "narrow")?)
    }

    /// A value as it is passed or loaded (whole bytes) as a value in registers.
    pub(crate) fn loaded(&mut self, value: BasicValueEnum<'ctx>, ty: ScalarTy) -> Result<Value<'ctx>> {
        match (Class::of(ty), value) {
            (Class::Bool, BasicValueEnum::IntValue(byte)) => {
                let truth = self.g.cmp(IntPredicate::NE, byte, byte.get_type().const_zero(), "truth")?;
                Ok(Value::new(ty, truth))
            }
            // Ranks are held as i64 and passed as i32.
            (Class::Int { bits, signed }, BasicValueEnum::IntValue(int)) => {
                let width = int.get_type().get_bit_width();
                Ok(Value::new(ty, self.resize(int, width, signed, bits)?))
            }
            (Class::Small(d), BasicValueEnum::IntValue(int)) => {
                Ok(Value::new(ty, self.resize(int, int.get_type().get_bit_width(), false, d.bits())?))
            }
            (_, value) => Ok(Value::new(ty, value)),
        }
    }

    /// A value in registers as whole bytes of memory.
    pub(crate) fn stored_form(&mut self, value: Value<'ctx>, dtype: DType) -> Result<BasicValueEnum<'ctx>> {
        match value.llvm {
            BasicValueEnum::IntValue(int) => {
                let width = int.get_type().get_bit_width();
                Ok(self.resize(int, width, false, dtype.bits().max(8))?.as_basic_value_enum())
            }
            other => Ok(other),
        }
    }
}

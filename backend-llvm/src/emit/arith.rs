//! Operators.
//!
//! Must hold: results equal the reference interpreter's. Division and remainder by zero give 0 and never reach LLVM's
//! undefined cases (divisor 0, least value by -1); shift counts are taken modulo the width; floats of 16 bits and more use
//! LLVM's operations without fast-math, smaller ones compute in f64 and round once.

use inkwell::values::{BasicValue, BasicValueEnum, IntValue};
use inkwell::{FloatPredicate, IntPredicate};
use tilewright_ir::{BinOp, DType, ScalarTy, Span};

use super::scalar::{Class, Value};
use super::{Emitter, Error, Result};

type Int<'ctx> = IntValue<'ctx>;
const BOOL: ScalarTy = ScalarTy::Num(DType::Bool);

impl<'ctx> Emitter<'_, '_, 'ctx> {
    /// `x op y`, both of type `ty`.
    pub(crate) fn arithmetic(
        &mut self,
        op: BinOp,
        ty: ScalarTy,
        x: Value<'ctx>,
        y: Value<'ctx>,
        span: Span,
    ) -> Result<Value<'ctx>> {
        match Class::of(ty) {
            Class::Int { signed, .. } => self.int_op(op, ty, signed, x.int()?, y.int()?),
            Class::Bool => self.bool_op(op, x.int()?, y.int()?, span),
            Class::Float(_) => self.float_op(op, ty, x, y, span),
            Class::Small(dtype) if matches!(op, BinOp::Min | BinOp::Max) => {
                let (a, b) = (self.widened(x)?, self.widened(y)?);
                let second = self.second_wins(op, a, b)?;
                let _ = dtype;
                Ok(Value { ty, llvm: self.g.select(second, y.llvm, x.llvm, op.as_str())? })
            }
            Class::Small(dtype) => {
                let f64_ty = ScalarTy::Num(DType::F64);
                let (a, b) = (self.widened(x)?, self.widened(y)?);
                let result = self.float_op(op, f64_ty, a, b, span)?;
                if op.is_comparison() { Ok(result) } else { self.float_to_float(result, dtype) }
            }
        }
    }

    fn int_op(&mut self, op: BinOp, ty: ScalarTy, signed: bool, x: Int<'ctx>, y: Int<'ctx>) -> Result<Value<'ctx>> {
        let g = &self.g;
        let result = match op {
            BinOp::Add => g.add(x, y, "add")?,
            BinOp::Sub => g.sub(x, y, "sub")?,
            BinOp::Mul => g.mul(x, y, "mul")?,
            BinOp::And => g.and(x, y, "and")?,
            BinOp::Or => g.or(x, y, "or")?,
            BinOp::Xor => g.builder.build_xor(x, y, "xor")?,
            BinOp::Div | BinOp::Rem => self.divide(op, signed, x, y)?,
            BinOp::Min | BinOp::Max => {
                let predicate = match (op, signed) {
                    (BinOp::Min, true) => IntPredicate::SLE,
                    (BinOp::Min, false) => IntPredicate::ULE,
                    (_, true) => IntPredicate::SGE,
                    (_, false) => IntPredicate::UGE,
                };
                let first = g.cmp(predicate, x, y, "")?;
                g.select(first, x, y, op.as_str())?.into_int_value()
            }
            _ => {
                let predicate = int_predicate(op, signed)?;
                return Ok(Value::new(BOOL, g.cmp(predicate, x, y, "cmp")?));
            }
        };
        Ok(Value::new(ty, result))
    }

    fn divide(&mut self, op: BinOp, signed: bool, x: Int<'ctx>, y: Int<'ctx>) -> Result<Int<'ctx>> {
        let g = &self.g;
        let ty = y.get_type();
        let zero = ty.const_zero();
        let plain = |divisor| {
            Ok::<_, Error>(match (op, signed) {
                (BinOp::Div, true) => g.builder.build_int_signed_div(x, divisor, "div")?,
                (BinOp::Div, false) => g.builder.build_int_unsigned_div(x, divisor, "div")?,
                (_, true) => g.builder.build_int_signed_rem(x, divisor, "rem")?,
                (_, false) => g.builder.build_int_unsigned_rem(x, divisor, "rem")?,
            })
        };
        match (y.get_sign_extended_constant(), signed) {
            (Some(0), _) => return Ok(zero),
            (Some(-1), true) if op == BinOp::Div => return Ok(g.builder.build_int_neg(x, "div")?),
            (Some(-1), true) => return Ok(zero),
            (Some(_), _) => return plain(y),
            (None, _) => {}
        }
        let by_zero = g.cmp(IntPredicate::EQ, y, zero, "by_zero")?;
        let one = ty.const_int(1, false);
        if !signed {
            let quotient = plain(g.select(by_zero, one, y, "divisor")?.into_int_value())?;
            return Ok(g.select(by_zero, zero, quotient, op.as_str())?.into_int_value());
        }
        let minus_one = g.cmp(IntPredicate::EQ, y, ty.const_all_ones(), "by_minus_one")?;
        let special = g.or(by_zero, minus_one, "")?;
        let quotient = plain(g.select(special, one, y, "divisor")?.into_int_value())?;
        let negated = if op == BinOp::Div { g.builder.build_int_neg(x, "")? } else { zero };
        let rest = g.select(minus_one, negated, quotient, "")?.into_int_value();
        Ok(g.select(by_zero, zero, rest, "quotient")?.into_int_value())
    }

    /// `value << count` or `>>`; the count is an i64 of any size.
    pub(crate) fn shift_by(
        &mut self,
        op: BinOp,
        class: Class,
        value: Int<'ctx>,
        count: Int<'ctx>,
    ) -> Result<Int<'ctx>> {
        let Class::Int { bits, signed } = class else { return Err(Error::Build("a shift of no integer".into())) };
        let g = &self.g;
        let count = g.and(count, g.i64(u64::from(bits) - 1), "")?;
        let count = g.builder.build_int_truncate_or_bit_cast(count, value.get_type(), "count")?;
        Ok(match op {
            BinOp::Shl => g.builder.build_left_shift(value, count, "shl")?,
            _ => g.builder.build_right_shift(value, count, signed, "shr")?,
        })
    }

    fn bool_op(&mut self, op: BinOp, x: Int<'ctx>, y: Int<'ctx>, span: Span) -> Result<Value<'ctx>> {
        let g = &self.g;
        let result = match op {
            BinOp::And => g.and(x, y, "and")?,
            BinOp::Or => g.or(x, y, "or")?,
            BinOp::Xor | BinOp::Ne => g.builder.build_xor(x, y, "xor")?,
            BinOp::Eq => g.cmp(IntPredicate::EQ, x, y, "eq")?,
            _ => return Err(Error::malformed(span, format!("`{}` on bool", op.as_str()))),
        };
        Ok(Value::new(BOOL, result))
    }

    fn float_op(&mut self, op: BinOp, ty: ScalarTy, x: Value<'ctx>, y: Value<'ctx>, span: Span) -> Result<Value<'ctx>> {
        let (a, b) = (x.float()?, y.float()?);
        let builder = self.g.builder;
        let result: BasicValueEnum<'ctx> = match op {
            BinOp::Add => builder.build_float_add(a, b, "add")?.as_basic_value_enum(),
            BinOp::Sub => builder.build_float_sub(a, b, "sub")?.as_basic_value_enum(),
            BinOp::Mul => builder.build_float_mul(a, b, "mul")?.as_basic_value_enum(),
            BinOp::Div => builder.build_float_div(a, b, "div")?.as_basic_value_enum(),
            BinOp::Rem => {
                return Err(Error::unsupported(span, "no GPU divides floats with remainder: `%` wants integers"));
            }
            BinOp::Min | BinOp::Max => {
                let second = self.second_wins(op, x, y)?;
                self.g.select(second, y.llvm, x.llvm, op.as_str())?
            }
            _ => {
                let predicate = float_predicate(op)?;
                return Ok(Value::new(BOOL, builder.build_float_compare(predicate, a, b, "cmp")?));
            }
        };
        Ok(Value { ty, llvm: result })
    }

    /// For `min` and `max`: is the second operand the result? A NaN loses against a number.
    fn second_wins(&mut self, op: BinOp, x: Value<'ctx>, y: Value<'ctx>) -> Result<Int<'ctx>> {
        let (a, b) = (x.float()?, y.float()?);
        let beats = if op == BinOp::Min { FloatPredicate::OLT } else { FloatPredicate::OGT };
        let beats = self.g.builder.build_float_compare(beats, b, a, "")?;
        let first_nan = self.g.builder.build_float_compare(FloatPredicate::UNO, a, a, "")?;
        self.g.or(beats, first_nan, "")
    }
}

fn int_predicate(op: BinOp, signed: bool) -> Result<IntPredicate> {
    Ok(match (op, signed) {
        (BinOp::Eq, _) => IntPredicate::EQ,
        (BinOp::Ne, _) => IntPredicate::NE,
        (BinOp::Lt, true) => IntPredicate::SLT,
        (BinOp::Lt, false) => IntPredicate::ULT,
        (BinOp::Le, true) => IntPredicate::SLE,
        (BinOp::Le, false) => IntPredicate::ULE,
        (BinOp::Gt, true) => IntPredicate::SGT,
        (BinOp::Gt, false) => IntPredicate::UGT,
        (BinOp::Ge, true) => IntPredicate::SGE,
        (BinOp::Ge, false) => IntPredicate::UGE,
        _ => return Err(Error::Build(format!("`{}` is no comparison", op.as_str()))),
    })
}

fn float_predicate(op: BinOp) -> Result<FloatPredicate> {
    Ok(match op {
        BinOp::Eq => FloatPredicate::OEQ,
        BinOp::Ne => FloatPredicate::UNE,
        BinOp::Lt => FloatPredicate::OLT,
        BinOp::Le => FloatPredicate::OLE,
        BinOp::Gt => FloatPredicate::OGT,
        BinOp::Ge => FloatPredicate::OGE,
        _ => return Err(Error::Build(format!("`{}` is no comparison", op.as_str()))),
    })
}

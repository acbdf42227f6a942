//! Arithmetic on raw 64-bit values, by class: what the operators of the language do.
//!
//! A value is canonical: integers are extended to 64 bits by their own sign, floats are the bits of their dtype, bools are 0
//! or 1. Integer arithmetic wraps at the width of its type; `/` and `%` by zero give 0; shift counts are taken modulo the
//! width. Floats and conversions are those of `crate::eval` and `crate::cast`; integers are done here, without types, because
//! executors do little else.

use crate::cast;
use crate::dtype::{DType, DTypeClass, ScalarTy};
use crate::eval::{self, Value};
use crate::expr::BinOp;

/// How a type computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Integer of this many bits.
    Int {
        /// Width.
        bits: u32,
        /// Two's complement?
        signed: bool,
    },
    /// Floating point.
    Float(DType),
    /// Bool.
    Bool,
}

impl Class {
    /// The class of `index` and of ranks.
    pub const INDEX: Class = Class::Int { bits: 64, signed: true };

    /// The class of a scalar type.
    pub fn of(ty: ScalarTy) -> Class {
        match ty {
            ScalarTy::Num(d) => Class::of_dtype(d),
            _ => Class::INDEX,
        }
    }

    /// The class of a dtype.
    pub fn of_dtype(d: DType) -> Class {
        match d.class() {
            DTypeClass::Float => Class::Float(d),
            DTypeClass::Signed => Class::Int { bits: d.bits(), signed: true },
            DTypeClass::Unsigned => Class::Int { bits: d.bits(), signed: false },
            DTypeClass::Bool => Class::Bool,
        }
    }

    /// A dtype that computes like this class.
    pub fn dtype(self) -> DType {
        match self {
            Class::Float(d) => d,
            Class::Bool => DType::Bool,
            Class::Int { bits, signed } => {
                let fits = |d: &&DType| d.bits() == bits && (d.class() == DTypeClass::Signed) == signed && d.is_int();
                DType::ALL.iter().find(fits).copied().unwrap_or(DType::I64)
            }
        }
    }

    /// An integer class?
    pub fn is_int(self) -> bool {
        matches!(self, Class::Int { .. })
    }

    /// A float class?
    pub fn is_float(self) -> bool {
        matches!(self, Class::Float(_))
    }
}

/// Brings an integer to the canonical form of a class: cut to its width and extended by its sign.
pub fn wrap(class: Class, v: i64) -> u64 {
    match class {
        Class::Int { bits: 64, .. } | Class::Float(_) => v as u64,
        Class::Int { bits, signed: true } => ((v << (64 - bits)) >> (64 - bits)) as u64,
        Class::Int { bits, signed: false } => (v as u64) & ((1 << bits) - 1),
        Class::Bool => u64::from(v & 0xFF != 0),
    }
}

/// Canonical form of raw storage bits of a dtype. A bool byte that is neither 0 nor 1 counts as true.
pub fn canonical(dtype: DType, bits: u64) -> u64 {
    wrap(Class::of_dtype(dtype), bits as i64)
}

/// `a op b` on canonical operands of one class (for shifts: `b` is any integer). Comparisons give 0 or 1.
pub fn binary(op: BinOp, class: Class, a: u64, b: u64) -> u64 {
    match class {
        Class::Int { bits, signed } => int_binary(op, bits, signed, a, b),
        Class::Float(d) => float_binary(op, d, a, b),
        Class::Bool => match op {
            BinOp::LAnd | BinOp::And => a & b,
            BinOp::LOr | BinOp::Or => a | b,
            BinOp::Eq => u64::from(a == b),
            BinOp::Ne | BinOp::Xor => a ^ b,
            _ => compare(op, a.cmp(&b)).unwrap_or(0),
        },
    }
}

/// Result of a comparison operator.
fn compare(op: BinOp, order: std::cmp::Ordering) -> Option<u64> {
    Some(u64::from(match op {
        BinOp::Eq => order.is_eq(),
        BinOp::Ne => order.is_ne(),
        BinOp::Lt => order.is_lt(),
        BinOp::Le => order.is_le(),
        BinOp::Gt => order.is_gt(),
        BinOp::Ge => order.is_ge(),
        _ => return None,
    }))
}

fn int_binary(op: BinOp, bits: u32, signed: bool, a: u64, b: u64) -> u64 {
    let (x, y) = (a as i64, b as i64);
    let order = if signed { x.cmp(&y) } else { a.cmp(&b) };
    let result = match op {
        BinOp::Add => x.wrapping_add(y),
        BinOp::Sub => x.wrapping_sub(y),
        BinOp::Mul => x.wrapping_mul(y),
        BinOp::Div | BinOp::Rem if y == 0 => 0,
        BinOp::Div if signed => x.wrapping_div(y),
        BinOp::Div => (a / b) as i64,
        BinOp::Rem if signed => x.wrapping_rem(y),
        BinOp::Rem => (a % b) as i64,
        BinOp::Min => {
            if order.is_le() {
                x
            } else {
                y
            }
        }
        BinOp::Max => {
            if order.is_ge() {
                x
            } else {
                y
            }
        }
        BinOp::And => x & y,
        BinOp::Or => x | y,
        BinOp::Xor => x ^ y,
        BinOp::Shl => x << y.rem_euclid(i64::from(bits)),
        BinOp::Shr if signed => x >> y.rem_euclid(i64::from(bits)),
        BinOp::Shr => (a >> y.rem_euclid(i64::from(bits))) as i64,
        _ => return compare(op, order).unwrap_or(0),
    };
    wrap(Class::Int { bits, signed }, result)
}

fn float_binary(op: BinOp, d: DType, a: u64, b: u64) -> u64 {
    let value = |bits| Value { ty: ScalarTy::Num(d), bits };
    // Every operator that types as one of floats has a value.
    eval::binary(op, value(a), value(b)).map_or(0, |v| v.bits)
}

/// `-a`.
pub fn neg(class: Class, a: u64) -> u64 {
    match class {
        Class::Float(d) => a ^ (1 << (d.bits() - 1)),
        _ => wrap(class, (a as i64).wrapping_neg()),
    }
}

/// Converts a canonical value between classes; `crate::cast` says how.
pub fn cast(from: Class, to: Class, a: u64) -> u64 {
    match (from, to) {
        (Class::Int { .. }, Class::Int { .. }) => wrap(to, a as i64),
        _ => cast::convert(from.dtype(), to.dtype(), a),
    }
}

/// Value of float bits; exact for every dtype.
pub fn to_f64(d: DType, bits: u64) -> f64 {
    cast::to_f64(d, bits)
}

/// Nearest float of the dtype, ties to even.
pub fn from_f64(d: DType, v: f64) -> u64 {
    cast::from_f64(d, v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_at_their_width() {
        let u8c = Class::of_dtype(DType::U8);
        assert_eq!(binary(BinOp::Add, u8c, 255, 1), 0);
        let i8c = Class::of_dtype(DType::I8);
        assert_eq!(binary(BinOp::Add, i8c, 127, 1) as i64, -128);
        assert_eq!(binary(BinOp::Div, Class::INDEX, 5, 0), 0);
        assert_eq!(binary(BinOp::Div, Class::INDEX, i64::MIN as u64, -1i64 as u64) as i64, i64::MIN);
        assert_eq!(binary(BinOp::Shl, u8c, 1, 9), 2);
        assert_eq!(binary(BinOp::Lt, Class::of_dtype(DType::U64), 1, u64::MAX), 1);
    }

    #[test]
    fn floats_round_once() {
        let f = |v: f32| u64::from(v.to_bits());
        let c = Class::Float(DType::F32);
        assert_eq!(binary(BinOp::Div, c, f(1.0), f(3.0)), f(1.0 / 3.0));
        assert_eq!(cast(c, Class::of_dtype(DType::I8), f(-1000.0)) as i64, -128);
        assert_eq!(cast(c, Class::of_dtype(DType::U32), f(f32::NAN)), 0);
        assert_eq!(cast(Class::INDEX, c, (1u64 << 24) + 1), f(16_777_216.0));
    }
}

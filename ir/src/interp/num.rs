//! Arithmetic on raw 64-bit values, by class: what the operators of the language do.
//!
//! A value is canonical: integers are extended to 64 bits by their own sign, floats are the bits of their dtype, bools are 0
//! or 1. Integer arithmetic wraps at the width of its type; `/` and `%` by zero give 0; shift counts are taken modulo the
//! width. Floats are computed in f64 and rounded once to their dtype, which for `+ - * /` equals arithmetic in the dtype
//! itself (53 bits are enough for twice 24 and two more).

use half::{bf16, f16};

use crate::dtype::{DType, DTypeClass, ScalarTy};
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
    let (x, y) = (to_f64(d, a), to_f64(d, b));
    let result = match op {
        BinOp::Add => x + y,
        BinOp::Sub => x - y,
        BinOp::Mul => x * y,
        BinOp::Div => x / y,
        BinOp::Rem => x % y,
        BinOp::Min => return if y < x || x.is_nan() { b } else { a },
        BinOp::Max => return if y > x || x.is_nan() { b } else { a },
        BinOp::Ne => return u64::from(x != y),
        _ => return x.partial_cmp(&y).and_then(|o| compare(op, o)).unwrap_or(0),
    };
    from_f64(d, result)
}

/// `-a`.
pub fn neg(class: Class, a: u64) -> u64 {
    match class {
        Class::Float(d) => a ^ (1 << (d.bits() - 1)),
        _ => wrap(class, (a as i64).wrapping_neg()),
    }
}

/// Converts a canonical value between classes: integers wrap, floats round to nearest even, floats to integers cut
/// towards zero and saturate (NaN gives 0), anything but zero is true.
pub fn cast(from: Class, to: Class, a: u64) -> u64 {
    match (from, to) {
        (Class::Float(f), Class::Float(t)) => from_f64(t, to_f64(f, a)),
        (Class::Float(f), Class::Bool) => u64::from(to_f64(f, a) != 0.0),
        (Class::Float(f), Class::Int { bits, signed }) => float_to_int(to_f64(f, a), bits, signed),
        (Class::Int { signed: false, .. }, Class::Float(DType::F32)) => u64::from((a as f32).to_bits()),
        (_, Class::Float(DType::F32)) => u64::from((a as i64 as f32).to_bits()),
        (Class::Int { signed: false, .. }, Class::Float(t)) => from_f64(t, a as f64),
        (_, Class::Float(t)) => from_f64(t, a as i64 as f64),
        (_, Class::Bool) => u64::from(a != 0),
        (_, class) => wrap(class, a as i64),
    }
}

fn float_to_int(v: f64, bits: u32, signed: bool) -> u64 {
    if signed {
        let (lo, hi) = (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits));
        (v as i64).clamp(lo, hi) as u64
    } else {
        (v as u64).min(u64::MAX >> (64 - bits))
    }
}

/// Value of float bits; exact for every dtype.
pub fn to_f64(d: DType, bits: u64) -> f64 {
    match d {
        DType::F64 => f64::from_bits(bits),
        DType::F32 => f64::from(f32::from_bits(bits as u32)),
        DType::F16 => f16::from_bits(bits as u16).to_f64(),
        DType::BF16 => bf16::from_bits(bits as u16).to_f64(),
        _ => small(d).map_or(bits as f64, |s| s.decode(bits)),
    }
}

/// Nearest float of the dtype, ties to even.
pub fn from_f64(d: DType, v: f64) -> u64 {
    match d {
        DType::F64 => v.to_bits(),
        DType::F32 => u64::from((v as f32).to_bits()),
        DType::F16 => u64::from(f16::from_f64(v).to_bits()),
        DType::BF16 => u64::from(bf16::from_f64(v).to_bits()),
        _ => small(d).map_or(v as i64 as u64, |s| s.encode(v)),
    }
}

/// A float format of at most 8 bits.
struct Small {
    mantissa: u32,
    bias: i32,
    /// Largest finite value.
    max: f64,
    sign: u32,
    /// Bits of infinity (without sign), if there is one; above it are NaNs.
    infinity: Option<u64>,
    /// Bits of a NaN, if there is one.
    nan: Option<u64>,
}

/// The OCP formats (8-bit: OFP8 1.0; 4-bit: MX 1.0). Values beyond the largest finite one become it, as `cvt.satfinite`
/// does; infinities of e5m2 too.
fn small(d: DType) -> Option<Small> {
    Some(match d {
        DType::F8E4M3 => Small { mantissa: 3, bias: 7, max: 448.0, sign: 7, infinity: None, nan: Some(0x7F) },
        DType::F8E5M2 => Small { mantissa: 2, bias: 15, max: 57344.0, sign: 7, infinity: Some(0x7C), nan: Some(0x7F) },
        DType::F4 => Small { mantissa: 1, bias: 1, max: 6.0, sign: 3, infinity: None, nan: None },
        _ => return None,
    })
}

impl Small {
    fn decode(&self, bits: u64) -> f64 {
        let magnitude = bits & ((1 << self.sign) - 1);
        let sign = if bits >> self.sign & 1 == 1 { -1.0 } else { 1.0 };
        match self.infinity {
            Some(inf) if magnitude == inf => return sign * f64::INFINITY,
            Some(inf) if magnitude > inf => return f64::NAN,
            None if Some(magnitude) == self.nan => return f64::NAN,
            _ => {}
        }
        let exponent = (magnitude >> self.mantissa) as i32;
        let fraction = (magnitude & ((1 << self.mantissa) - 1)) as f64 / f64::from(1u32 << self.mantissa);
        if exponent == 0 {
            sign * fraction * 2f64.powi(1 - self.bias)
        } else {
            sign * (1.0 + fraction) * 2f64.powi(exponent - self.bias)
        }
    }

    fn encode(&self, v: f64) -> u64 {
        let sign = u64::from(v.is_sign_negative()) << self.sign;
        if v.is_nan() {
            return self.nan.unwrap_or(0) | sign;
        }
        // In units of the last place of v's binade (of the subnormals at least); `round_ties_even` is exact here.
        let a = v.abs().min(self.max);
        let exponent = if a == 0.0 { 0 } else { ((a.to_bits() >> 52) as i32 - 1023).max(1 - self.bias) };
        let exponent = exponent.max(1 - self.bias);
        let units = (a / 2f64.powi(exponent - self.mantissa as i32)).round_ties_even() as u64;
        // A subnormal has no implicit one; a carry out of the fraction moves into the exponent by itself.
        let implicit = 1u64 << self.mantissa;
        let biased = (exponent + self.bias) as u64;
        sign | if units < implicit { units } else { (biased << self.mantissa) + (units - implicit) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_floats_round_trip() {
        for d in [DType::F8E4M3, DType::F8E5M2, DType::F4] {
            for bits in 0..1u64 << d.bits() {
                let v = to_f64(d, bits);
                if v.is_finite() {
                    assert_eq!(from_f64(d, v), bits, "{d} {bits:#x} {v}");
                }
            }
        }
        assert_eq!(from_f64(DType::F8E4M3, 1e9), 0x7E);
        assert_eq!(from_f64(DType::F4, 2.5), from_f64(DType::F4, 2.0)); // a tie goes to the even mantissa
        assert_eq!(to_f64(DType::F4, 7), 6.0);
    }

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

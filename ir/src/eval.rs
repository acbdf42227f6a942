//! Values of pure expressions.
//!
//! Types follow the rules in `types.rs`; the numbers behave as `cast.rs` says. Integer arithmetic wraps at the width of its
//! type; `/` and `%` by zero give 0, and round towards zero; shift counts are taken modulo the width; `>>` is arithmetic
//! for signed types. Floats compute in their own precision, rounded once to nearest even (f16, bf16, f8 and f4 through
//! f64, which is exact enough); `%` is the exact remainder with the sign of the dividend. `min` and `max` give the number
//! if one operand is NaN, and the first operand if both are equal. Comparisons with NaN are false, `!=` is true. `-x` of
//! a float flips the sign, of a NaN too.

use thiserror::Error;

use crate::cast;
use crate::dtype::{DType, DTypeClass, ScalarTy};
use crate::expr::{BinOp, CommField, Expr, ExprKind, Special, UnOp};
use crate::name::Name;

/// A typed scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// Its type.
    pub ty: ScalarTy,
    /// Canonical bits: integers extended by their own sign to 64 bits, floats as the bits of their dtype, bools 0 or 1.
    pub bits: u64,
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EvalError {
    /// Nobody knows the name.
    #[error("`{0}` has no value")]
    UnknownName(Name),
    /// The id is not known here.
    #[error("`{0}` has no value here")]
    UnknownId(&'static str),
    /// Operands that do not go together.
    #[error("`{op}` cannot combine {a} and {b}")]
    Operands {
        /// The operator.
        op: &'static str,
        /// Type on the left.
        a: ScalarTy,
        /// Type on the right.
        b: ScalarTy,
    },
    /// An operand of the wrong type.
    #[error("expected {want}, found {found}")]
    Type {
        /// What is wanted.
        want: &'static str,
        /// What it is.
        found: ScalarTy,
    },
}

/// Where the leaves of expressions get their values.
pub trait Values {
    /// Value of a variable.
    fn var(&self, name: &Name) -> Option<Value>;
    /// Value of a built-in id.
    fn special(&self, special: Special) -> Option<i64>;
    /// Value of a field of the communicator.
    fn comm(&self, field: CommField) -> Option<i64>;
}

/// Knows nothing: for constant expressions.
pub struct NoValues;

impl Values for NoValues {
    fn var(&self, _: &Name) -> Option<Value> {
        None
    }
    fn special(&self, _: Special) -> Option<i64> {
        None
    }
    fn comm(&self, _: CommField) -> Option<i64> {
        None
    }
}

/// The dtype that a type computes in.
fn dtype_of(ty: ScalarTy) -> DType {
    match ty {
        ScalarTy::Num(d) => d,
        _ => DType::I64,
    }
}

impl Value {
    /// An index.
    pub fn index(v: i64) -> Value {
        Value { ty: ScalarTy::Index, bits: v as u64 }
    }

    /// A bool.
    pub fn bool(v: bool) -> Value {
        Value { ty: ScalarTy::Num(DType::Bool), bits: u64::from(v) }
    }

    /// An integer literal of a type; wraps, or rounds for floats.
    pub fn int(ty: ScalarTy, v: i64) -> Value {
        Value { ty, bits: cast::convert(DType::I64, dtype_of(ty), v as u64) }
    }

    /// The nearest float of a float dtype; for integer dtypes cut and saturated.
    pub fn float(dtype: DType, v: f64) -> Value {
        Value { ty: ScalarTy::Num(dtype), bits: cast::from_f64(dtype, v) }
    }

    /// From the bits as they lie in memory.
    pub fn from_bits(dtype: DType, raw: u64) -> Value {
        Value { ty: ScalarTy::Num(dtype), bits: cast::from_bits(dtype, raw) }
    }

    /// The bits as they lie in memory: the width of `ty.storage()`, zeros above.
    pub fn to_bits(self) -> u64 {
        cast::to_bits(self.ty.storage(), self.bits)
    }

    /// The integer (also of bools); `None` for floats. A `u64` above `i64::MAX` wraps.
    pub fn as_i64(self) -> Option<i64> {
        (!dtype_of(self.ty).is_float()).then_some(self.bits as i64)
    }

    /// The bool.
    pub fn as_bool(self) -> Option<bool> {
        (self.ty == ScalarTy::Num(DType::Bool)).then_some(self.bits != 0)
    }

    /// The number, rounded to f64 if it is a large integer.
    pub fn as_f64(self) -> f64 {
        cast::to_f64(dtype_of(self.ty), self.bits)
    }

    /// Converted to another type, as an explicit cast does.
    pub fn cast(self, to: ScalarTy) -> Value {
        let (from, dtype) = (dtype_of(self.ty), dtype_of(to));
        // Ranks are held as i32 but compute as i64.
        Value { ty: to, bits: cast::convert(from, dtype, self.bits) }
    }

    /// `-self`; bools stay.
    pub fn negated(self) -> Value {
        let d = dtype_of(self.ty);
        let bits = match d.class() {
            DTypeClass::Float => self.bits ^ 1 << (d.bits() - 1),
            DTypeClass::Bool => self.bits,
            _ => cast::from_bits(d, (self.bits as i64).wrapping_neg() as u64),
        };
        Value { ty: decay(self.ty), bits }
    }
}

/// Ranks become plain integers.
fn decay(ty: ScalarTy) -> ScalarTy {
    match ty {
        ScalarTy::Num(_) => ty,
        _ => ScalarTy::Index,
    }
}

/// Is it a literal that takes the type of the other operand?
fn literal(e: &Expr) -> Option<&Expr> {
    match &e.kind {
        ExprKind::Int(_) | ExprKind::Float(_) => Some(e),
        ExprKind::Unary(UnOp::Neg, a) => matches!(a.kind, ExprKind::Int(_) | ExprKind::Float(_)).then_some(e),
        _ => None,
    }
}

/// The value of a literal in a type; `None` if it is none or cannot take it (a float literal as an integer).
fn literal_as(e: &Expr, ty: ScalarTy) -> Option<Value> {
    let (inner, negative) = match &literal(e)?.kind {
        ExprKind::Unary(_, a) => (&a.kind, true),
        kind => (kind, false),
    };
    let d = dtype_of(ty);
    match inner {
        ExprKind::Int(v) if d != DType::Bool => Some(Value::int(ty, if negative { v.wrapping_neg() } else { *v })),
        ExprKind::Float(bits) if d.is_float() => {
            let v = f64::from_bits(*bits);
            Some(Value { ty, bits: cast::from_f64(d, if negative { -v } else { v }) })
        }
        _ => None,
    }
}

/// Value of an expression.
pub fn eval(expr: &Expr, values: &dyn Values) -> Result<Value, EvalError> {
    match &expr.kind {
        ExprKind::Int(v) => Ok(Value::index(*v)),
        ExprKind::Float(bits) => Ok(Value::float(DType::F32, f64::from_bits(*bits))),
        ExprKind::Bool(b) => Ok(Value::bool(*b)),
        ExprKind::Var(n) => values.var(n).ok_or_else(|| EvalError::UnknownName(n.clone())),
        ExprKind::Special(s) => {
            let ty = if *s == Special::Me { ScalarTy::LsaRank } else { ScalarTy::Index };
            let v = values.special(*s).ok_or(EvalError::UnknownId(s.as_str()))?;
            Ok(Value { ty, bits: v as u64 })
        }
        ExprKind::Comm(_, field) => {
            let ty = match field {
                CommField::LsaRank => ScalarTy::LsaRank,
                CommField::Rank => ScalarTy::WorldRank,
                CommField::LsaSize | CommField::WorldSize => ScalarTy::Index,
            };
            let v = values.comm(*field).ok_or(EvalError::UnknownId(field.as_str()))?;
            Ok(Value { ty, bits: v as u64 })
        }
        ExprKind::Unary(UnOp::Neg, a) => match literal_as(expr, ScalarTy::Index) {
            Some(v) => Ok(v),
            None => Ok(eval(a, values)?.negated()),
        },
        ExprKind::Unary(UnOp::Not, a) => Ok(Value::bool(!want_bool(eval(a, values)?)?)),
        ExprKind::Binary(op, a, b) => binary_expr(*op, a, b, values),
        ExprKind::Select(c, a, b) => {
            let c = want_bool(eval(c, values)?)?;
            let (x, y) = (eval(a, values)?, eval(b, values)?);
            if x.ty == y.ty {
                return Ok(if c { x } else { y });
            }
            let (x, y) = unify(a, x, b, y).ok_or(EvalError::Operands { op: "select", a: x.ty, b: y.ty })?;
            Ok(if c { x } else { y })
        }
        ExprKind::Cast(ty, a) => match (ty, literal_as(a, *ty)) {
            (ScalarTy::Num(d), Some(v)) if d.is_float() => Ok(v), // `f64(0.1)` is not rounded to f32 first
            _ => Ok(eval(a, values)?.cast(*ty)),
        },
    }
}

/// Value of an integer expression.
pub fn eval_int(expr: &Expr, values: &dyn Values) -> Result<i64, EvalError> {
    let v = eval(expr, values)?;
    v.as_i64().ok_or(EvalError::Type { want: "an integer", found: v.ty })
}

fn want_bool(v: Value) -> Result<bool, EvalError> {
    v.as_bool().ok_or(EvalError::Type { want: "bool", found: v.ty })
}

/// Brings two operands to their common type.
fn unify(a: &Expr, x: Value, b: &Expr, y: Value) -> Option<(Value, Value)> {
    let (s, t) = (decay(x.ty), decay(y.ty));
    if s == t {
        return Some((Value { ty: s, ..x }, Value { ty: t, ..y }));
    }
    if let (ScalarTy::Num(_), Some(v)) = (t, literal_as(a, t)) {
        return Some((v, y));
    }
    if let (ScalarTy::Num(_), Some(v)) = (s, literal_as(b, s)) {
        return Some((x, v));
    }
    (s.is_integral() && t.is_integral()).then(|| (x.cast(ScalarTy::Index), y.cast(ScalarTy::Index)))
}

fn binary_expr(op: BinOp, a: &Expr, b: &Expr, values: &dyn Values) -> Result<Value, EvalError> {
    let (x, y) = (eval(a, values)?, eval(b, values)?);
    let mismatch = EvalError::Operands { op: op.as_str(), a: x.ty, b: y.ty };
    if matches!(op, BinOp::Shl | BinOp::Shr) {
        // The width is that of the left operand; a literal takes the type of the other.
        let x = if literal(a).is_some() { literal_as(a, decay(y.ty)).ok_or(mismatch.clone())? } else { x };
        let count = y.as_i64().ok_or(mismatch.clone())?;
        return shift(op, x, count).ok_or(mismatch);
    }
    let lsa = |v: Value| matches!(v.ty, ScalarTy::LsaRank | ScalarTy::LsaSum);
    let result = match op {
        BinOp::Add | BinOp::Sub if lsa(x) != lsa(y) && (op == BinOp::Add || lsa(x)) => Some(ScalarTy::LsaSum),
        BinOp::Rem if lsa(x) && matches!(b.kind, ExprKind::Comm(_, CommField::LsaSize)) => Some(ScalarTy::LsaRank),
        _ => None,
    };
    let (x, y) = unify(a, x, b, y).ok_or(mismatch.clone())?;
    let v = binary(op, x, y).ok_or(mismatch)?;
    Ok(match result {
        Some(ty) if v.ty == ScalarTy::Index => Value { ty, ..v },
        _ => v,
    })
}

fn shift(op: BinOp, x: Value, count: i64) -> Option<Value> {
    let d = dtype_of(x.ty);
    if !d.is_int() {
        return None;
    }
    let n = count.rem_euclid(i64::from(d.bits()));
    let bits = match (op, d.class()) {
        (BinOp::Shl, _) => x.bits << n,
        (_, DTypeClass::Signed) => (x.bits as i64 >> n) as u64,
        _ => x.bits >> n,
    };
    Some(Value { ty: decay(x.ty), bits: cast::from_bits(d, bits) })
}

/// `x op y` of values of one type; `None` if the type has no such operator (or the types differ). Shifts take any integer
/// on the right.
pub fn binary(op: BinOp, x: Value, y: Value) -> Option<Value> {
    if matches!(op, BinOp::Shl | BinOp::Shr) {
        return shift(op, x, y.as_i64()?);
    }
    let (ty, d) = (decay(x.ty), dtype_of(x.ty));
    if ty != decay(y.ty) {
        return None;
    }
    if op.is_comparison() {
        return Some(Value::bool(compare(op, d, x.bits, y.bits)));
    }
    let bits = match d.class() {
        DTypeClass::Float => float_binary(op, d, x.bits, y.bits)?,
        DTypeClass::Bool => match op {
            BinOp::And | BinOp::LAnd => x.bits & y.bits,
            BinOp::Or | BinOp::LOr => x.bits | y.bits,
            BinOp::Xor => x.bits ^ y.bits,
            _ => return None,
        },
        class => cast::from_bits(d, int_binary(op, class == DTypeClass::Signed, x.bits, y.bits)?),
    };
    Some(Value { ty, bits })
}

fn compare(op: BinOp, d: DType, a: u64, b: u64) -> bool {
    let order = match d.class() {
        DTypeClass::Float => cast::to_f64(d, a).partial_cmp(&cast::to_f64(d, b)),
        DTypeClass::Signed => Some((a as i64).cmp(&(b as i64))),
        _ => Some(a.cmp(&b)),
    };
    match (op, order) {
        (BinOp::Ne, None) => true,
        (_, None) => false,
        (BinOp::Eq, Some(o)) => o.is_eq(),
        (BinOp::Ne, Some(o)) => o.is_ne(),
        (BinOp::Lt, Some(o)) => o.is_lt(),
        (BinOp::Le, Some(o)) => o.is_le(),
        (BinOp::Gt, Some(o)) => o.is_gt(),
        (_, Some(o)) => o.is_ge(),
    }
}

/// On canonical bits; the caller cuts to the width.
fn int_binary(op: BinOp, signed: bool, a: u64, b: u64) -> Option<u64> {
    let (x, y) = (a as i64, b as i64);
    let less = if signed { y < x } else { b < a };
    Some(match op {
        BinOp::Add => a.wrapping_add(b),
        BinOp::Sub => a.wrapping_sub(b),
        BinOp::Mul => a.wrapping_mul(b),
        BinOp::Div | BinOp::Rem if b == 0 => 0,
        BinOp::Div if signed => x.wrapping_div(y) as u64,
        BinOp::Div => a / b,
        BinOp::Rem if signed => x.wrapping_rem(y) as u64,
        BinOp::Rem => a % b,
        BinOp::Min => {
            if less {
                b
            } else {
                a
            }
        }
        BinOp::Max => {
            if less {
                a
            } else {
                b
            }
        }
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor => a ^ b,
        _ => return None,
    })
}

fn float_binary(op: BinOp, d: DType, a: u64, b: u64) -> Option<u64> {
    if d == DType::F32 {
        let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
        let r = match op {
            BinOp::Add => x + y,
            BinOp::Sub => x - y,
            BinOp::Mul => x * y,
            BinOp::Div => x / y,
            BinOp::Rem => x % y,
            _ => return float_pick(op, f64::from(x), f64::from(y), a, b),
        };
        return Some(cast::from_f64(d, f64::from(r)));
    }
    let (x, y) = (cast::to_f64(d, a), cast::to_f64(d, b));
    let r = match op {
        BinOp::Add => x + y,
        BinOp::Sub => x - y,
        BinOp::Mul => x * y,
        BinOp::Div => x / y,
        BinOp::Rem => x % y,
        _ => return float_pick(op, x, y, a, b),
    };
    Some(cast::from_f64(d, r))
}

/// `min` and `max`: one of the operands, bits unchanged.
fn float_pick(op: BinOp, x: f64, y: f64, a: u64, b: u64) -> Option<u64> {
    match op {
        BinOp::Min => Some(if y < x || x.is_nan() { b } else { a }),
        BinOp::Max => Some(if y > x || x.is_nan() { b } else { a }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Vars(Vec<(&'static str, Value)>);

    impl Values for Vars {
        fn var(&self, name: &Name) -> Option<Value> {
            self.0.iter().find(|(n, _)| *name == **n).map(|(_, v)| *v)
        }
        fn special(&self, special: Special) -> Option<i64> {
            (special == Special::Me).then_some(3)
        }
        fn comm(&self, field: CommField) -> Option<i64> {
            (field == CommField::LsaSize).then_some(4)
        }
    }

    fn num(d: DType, v: i64) -> Value {
        Value::int(ScalarTy::Num(d), v)
    }

    fn bin(op: BinOp, x: Value, y: Value) -> i64 {
        binary(op, x, y).unwrap().as_i64().unwrap()
    }

    #[test]
    fn small_integers_wrap_at_their_width() {
        let wrap = |v: i64, d: DType| cast::from_bits(d, v as u64) as i64;
        for d in [DType::I4, DType::U4, DType::I8, DType::U8] {
            let n = 1i64 << d.bits();
            for i in 0..n {
                for j in 0..n {
                    let (x, y) = (num(d, i), num(d, j));
                    let (a, b) = (wrap(i, d), wrap(j, d));
                    assert_eq!(bin(BinOp::Add, x, y), wrap(a + b, d));
                    assert_eq!(bin(BinOp::Mul, x, y), wrap(a * b, d));
                    assert_eq!(bin(BinOp::Div, x, y), if b == 0 { 0 } else { wrap(a / b, d) }, "{d} {a} / {b}");
                    assert_eq!(bin(BinOp::Rem, x, y), if b == 0 { 0 } else { a % b });
                    assert_eq!(bin(BinOp::Min, x, y), a.min(b));
                    assert_eq!(bin(BinOp::Lt, x, y), i64::from(a < b));
                    let k = b.rem_euclid(i64::from(d.bits()));
                    assert_eq!(bin(BinOp::Shl, x, y), wrap(a << k, d));
                    assert_eq!(bin(BinOp::Shr, x, y), a >> k);
                }
            }
        }
    }

    #[test]
    fn small_floats_round_to_the_nearest_value() {
        // The nearest among all values, ties to even bits, found by search.
        for d in [DType::F4, DType::F8E4M3, DType::F8E5M2] {
            let all: Vec<u64> = (0..1u64 << d.bits()).filter(|b| cast::to_f64(d, *b).is_finite()).collect();
            let nearest = |v: f64| {
                let key = |b: &&u64| ((cast::to_f64(d, **b) - v).abs(), **b & 1);
                *all.iter().min_by(|a, b| key(a).partial_cmp(&key(b)).unwrap()).unwrap()
            };
            for &a in &all {
                for &b in &all {
                    let (x, y) = (cast::to_f64(d, a), cast::to_f64(d, b));
                    let v = |bits| Value { ty: ScalarTy::Num(d), bits };
                    for (op, exact) in [(BinOp::Add, x + y), (BinOp::Mul, x * y)] {
                        let got = binary(op, v(a), v(b)).unwrap().as_f64();
                        assert_eq!(got, cast::to_f64(d, nearest(exact)), "{d}: {x} {op:?} {y}");
                    }
                }
            }
        }
    }

    #[test]
    fn literals_take_the_type_of_the_other_operand() {
        let vars =
            Vars(vec![("x", num(DType::U8, 250)), ("h", Value::float(DType::F16, 0.5)), ("i", num(DType::I32, -1))]);
        let e = |op, a, b| eval(&Expr::binary(op, a, b), &vars);
        let x = || Expr::var(&Name::new("x"));
        assert_eq!(e(BinOp::Add, x(), Expr::int(10)), Ok(num(DType::U8, 4)));
        assert_eq!(e(BinOp::Add, x(), Expr::var(&Name::new("i"))), Ok(Value::index(249)));
        let h = Expr::var(&Name::new("h"));
        assert_eq!(e(BinOp::Mul, h.clone(), Expr::int(3)), Ok(Value::float(DType::F16, 1.5)));
        assert!(e(BinOp::Add, h, x()).is_err());
        assert_eq!(e(BinOp::Div, x(), Expr::int(0)), Ok(num(DType::U8, 0)));
        let tenth = Expr::new(ExprKind::Float(0.1f64.to_bits()));
        let wide = Expr::new(ExprKind::Cast(ScalarTy::Num(DType::F64), Box::new(tenth)));
        assert_eq!(eval(&wide, &NoValues).map(Value::as_f64), Ok(0.1));
        assert!(matches!(eval(&Expr::var(&Name::new("q")), &vars), Err(EvalError::UnknownName(_))));
    }

    #[test]
    fn rank_arithmetic_returns_to_a_rank() {
        let vars = Vars(Vec::new());
        let size = Expr::new(ExprKind::Comm(Name::new("comm"), CommField::LsaSize));
        let sum = Expr::binary(BinOp::Add, Expr::special(Special::Me), Expr::int(1));
        assert_eq!(eval(&sum, &vars).unwrap().ty, ScalarTy::LsaSum);
        let next = eval(&Expr::binary(BinOp::Rem, sum, size), &vars).unwrap();
        assert_eq!((next.ty, next.as_i64()), (ScalarTy::LsaRank, Some(0)));
    }

    #[test]
    fn nan_compares_false_and_loses_to_numbers() {
        let (nan, one) = (Value::float(DType::F32, f64::NAN), Value::float(DType::F32, 1.0));
        assert_eq!(bin(BinOp::Eq, nan, nan), 0);
        assert_eq!(bin(BinOp::Ne, nan, nan), 1);
        assert_eq!(binary(BinOp::Min, nan, one), Some(one));
        assert_eq!(binary(BinOp::Max, one, nan), Some(one));
        let zero = Value::float(DType::F32, 0.0);
        assert_eq!(binary(BinOp::Div, zero, zero).unwrap().to_bits(), 0x7FC0_0000);
        assert_eq!(binary(BinOp::Div, one, zero).unwrap().as_f64(), f64::INFINITY);
    }
}

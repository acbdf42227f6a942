//! Typed expressions over numbered slots, and their value in one thread.
//!
//! The typing rules are those of `crate::types`; written again here because the executors want values, not messages.

use super::num::{self, Class};
use crate::diag::{Code, Diagnostic};
use crate::dtype::{DType, ScalarTy};
use crate::expr::{BinOp, CommField, Expr, ExprKind, Special, UnOp};
use crate::name::Name;
use crate::span::Span;

/// A typed expression over slots.
#[derive(Clone, Debug)]
pub struct RExpr {
    /// What it is.
    pub kind: RKind,
    /// Type of the value.
    pub ty: ScalarTy,
    /// The same in all threads that evaluate it together? (Names are lexical: whoever reads a slot has set it together.)
    pub uniform: bool,
}

/// The kinds of typed expressions.
#[derive(Clone, Debug)]
pub enum RKind {
    /// A known value.
    Const(u64),
    /// A let, loop variable or parameter.
    Slot(usize),
    /// A built-in id.
    Special(Special),
    /// A field of the communicator.
    Comm(CommField),
    /// `-x`, in the class of `ty`.
    Neg(Box<RExpr>),
    /// `!b`
    Not(Box<RExpr>),
    /// Both operands have this class (for shifts: the left one).
    Binary(BinOp, Class, Box<RExpr>, Box<RExpr>),
    /// Condition, then, else.
    Select(Box<RExpr>, Box<RExpr>, Box<RExpr>),
    /// Conversion from the class to that of `ty`.
    Cast(Class, Box<RExpr>),
}

/// Where names are looked up.
pub trait Names {
    /// Slot, type and uniformity of a value.
    fn slot(&self, name: &Name) -> Option<(usize, ScalarTy, bool)>;

    /// Are there ids of threads and ranks (in kernels), or not (in run blocks)?
    fn has_ids(&self) -> bool {
        true
    }
}

/// What an expression may ask about the thread that evaluates it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ids {
    /// Flattened thread number in the CTA.
    pub tid: i64,
    /// Threads in x, y, z.
    pub block_dim: [i64; 3],
    /// CTA in x, y, z.
    pub block: [i64; 3],
    /// CTAs in x, y, z.
    pub grid: [i64; 3],
    /// Lanes of a warp.
    pub warp: i64,
    /// This rank.
    pub rank: i64,
    /// Number of ranks.
    pub ranks: i64,
}

impl Ids {
    fn special(&self, s: Special) -> i64 {
        let d = &self.block_dim;
        match s {
            Special::Thread(0) => self.tid % d[0],
            Special::Thread(1) => self.tid / d[0] % d[1],
            Special::Thread(_) => self.tid / (d[0] * d[1]),
            Special::ThreadLinear => self.tid,
            Special::Lane => self.tid % self.warp,
            Special::Warp => self.tid / self.warp,
            Special::Block(n) => self.block[usize::from(n).min(2)],
            Special::Grid(n) => self.grid[usize::from(n).min(2)],
            Special::Me => self.rank,
        }
    }
}

impl RExpr {
    /// An `index` that is known.
    pub fn int(v: i64) -> RExpr {
        RExpr { kind: RKind::Const(v as u64), ty: ScalarTy::Index, uniform: true }
    }

    /// Value in a thread with these ids and slots.
    pub fn eval(&self, ids: &Ids, slots: &[u64]) -> u64 {
        match &self.kind {
            RKind::Const(v) => *v,
            RKind::Slot(s) => slots[*s],
            RKind::Special(s) => ids.special(*s) as u64,
            RKind::Comm(CommField::LsaRank | CommField::Rank) => ids.rank as u64,
            RKind::Comm(CommField::LsaSize | CommField::WorldSize) => ids.ranks as u64,
            RKind::Neg(a) => num::neg(Class::of(self.ty), a.eval(ids, slots)),
            RKind::Not(a) => a.eval(ids, slots) ^ 1,
            RKind::Binary(op, class, a, b) => num::binary(*op, *class, a.eval(ids, slots), b.eval(ids, slots)),
            RKind::Select(c, a, b) => {
                if c.eval(ids, slots) != 0 {
                    a.eval(ids, slots)
                } else {
                    b.eval(ids, slots)
                }
            }
            RKind::Cast(from, a) => num::cast(*from, Class::of(self.ty), a.eval(ids, slots)),
        }
    }

    /// Value of an integer.
    pub fn eval_int(&self, ids: &Ids, slots: &[u64]) -> i64 {
        self.eval(ids, slots) as i64
    }
}

type Res<T> = Result<T, Diagnostic>;

fn err<T>(code: Code, span: Span, message: impl Into<String>) -> Res<T> {
    Err(Diagnostic::error(code, span, message))
}

/// An expression as a value of type `ty`: literals take the type, integers are converted.
///
/// # Errors
/// Unknown names, types that do not fit.
pub fn expr_as(names: &dyn Names, expr: &Expr, ty: ScalarTy) -> Res<RExpr> {
    let e = infer(names, expr, Some(ty))?.0;
    if e.ty == ty {
        return Ok(e);
    }
    let (from, to) = (Class::of(e.ty), Class::of(ty));
    if from.is_int() && to.is_int() {
        return Ok(convert(e, ty));
    }
    err(Code::TYPE_MISMATCH, expr.span, format!("value of type {} where {ty} is needed", e.ty))
}

/// An expression with its own type.
///
/// # Errors
/// Unknown names, types that do not fit.
pub fn expr(names: &dyn Names, expr: &Expr) -> Res<RExpr> {
    Ok(infer(names, expr, None)?.0)
}

/// Types an expression. `want` is the type that literals take; the second result says that it is made of literals only.
fn infer(names: &dyn Names, expr: &Expr, want: Option<ScalarTy>) -> Res<(RExpr, bool)> {
    let leaf = |kind, ty, uniform| Ok((RExpr { kind, ty, uniform }, false));
    match &expr.kind {
        ExprKind::Int(v) => Ok((int_literal(*v, want), true)),
        ExprKind::Float(bits) => Ok((float_literal(f64::from_bits(*bits), want), true)),
        ExprKind::Bool(b) => leaf(RKind::Const(u64::from(*b)), ScalarTy::Num(DType::Bool), true),
        ExprKind::Var(name) => match names.slot(name) {
            Some((slot, ty, uniform)) => leaf(RKind::Slot(slot), ty, uniform),
            None => err(Code::UNKNOWN_NAME, expr.span, format!("`{name}` is no value")),
        },
        ExprKind::Special(s) if !names.has_ids() => {
            err(Code::UNKNOWN_NAME, expr.span, format!("`{}` has no value in a run block", s.as_str()))
        }
        ExprKind::Comm(name, _) if !names.has_ids() => {
            err(Code::UNKNOWN_NAME, expr.span, format!("`{name}` has no value in a run block"))
        }
        ExprKind::Special(s) => {
            let ty = if *s == Special::Me { ScalarTy::LsaRank } else { ScalarTy::Index };
            leaf(RKind::Special(*s), ty, !s.is_thread_dependent())
        }
        ExprKind::Comm(_, field) => {
            let ty = match field {
                CommField::LsaRank => ScalarTy::LsaRank,
                CommField::Rank => ScalarTy::WorldRank,
                CommField::LsaSize | CommField::WorldSize => ScalarTy::Index,
            };
            leaf(RKind::Comm(*field), ty, true)
        }
        ExprKind::Unary(UnOp::Not, a) => {
            let a = expr_as(names, a, ScalarTy::Num(DType::Bool))?;
            let (ty, uniform) = (a.ty, a.uniform);
            Ok((RExpr { kind: RKind::Not(Box::new(a)), ty, uniform }, false))
        }
        ExprKind::Unary(UnOp::Neg, a) => {
            let (a, literal) = infer(names, a, want)?;
            let (ty, uniform) = (a.ty, a.uniform);
            Ok((RExpr { kind: RKind::Neg(Box::new(a)), ty, uniform }, literal))
        }
        ExprKind::Binary(op, a, b) => binary(names, *op, a, b, want, expr.span),
        ExprKind::Select(c, a, b) => {
            let c = expr_as(names, c, ScalarTy::Num(DType::Bool))?;
            let (a, b, literal) = pair(names, a, b, want, expr.span)?;
            let (ty, uniform) = (a.ty, c.uniform && a.uniform && b.uniform);
            let kind = RKind::Select(Box::new(c), Box::new(a), Box::new(b));
            Ok((RExpr { kind, ty, uniform }, literal))
        }
        ExprKind::Cast(ty, a) => {
            let a = infer(names, a, None)?.0;
            Ok((convert(a, *ty), false))
        }
    }
}

fn binary(names: &dyn Names, op: BinOp, a: &Expr, b: &Expr, want: Option<ScalarTy>, span: Span) -> Res<(RExpr, bool)> {
    let bool_ty = ScalarTy::Num(DType::Bool);
    if matches!(op, BinOp::LAnd | BinOp::LOr) {
        let (a, b) = (expr_as(names, a, bool_ty)?, expr_as(names, b, bool_ty)?);
        let uniform = a.uniform && b.uniform;
        let kind = RKind::Binary(op, Class::Bool, Box::new(a), Box::new(b));
        return Ok((RExpr { kind, ty: bool_ty, uniform }, false));
    }
    if matches!(op, BinOp::Shl | BinOp::Shr) {
        let ((a, x), (b, y)) = (infer(names, a, want)?, infer(names, b, None)?);
        let (ty, uniform) = (a.ty, a.uniform && b.uniform);
        let kind = RKind::Binary(op, Class::of(ty), Box::new(a), Box::new(b));
        return Ok((RExpr { kind, ty, uniform }, x && y));
    }
    let want = if op.is_comparison() { None } else { want };
    let (a, b, literal) = pair(names, a, b, want, span)?;
    let class = Class::of(a.ty);
    let ty = if op.is_comparison() { bool_ty } else { a.ty };
    let uniform = a.uniform && b.uniform;
    let kind = RKind::Binary(op, class, Box::new(a), Box::new(b));
    Ok((RExpr { kind, ty, uniform }, literal && !op.is_comparison()))
}

/// Two operands brought to one type: a literal takes the other's type, mixed integers become `index`.
fn pair(names: &dyn Names, a: &Expr, b: &Expr, want: Option<ScalarTy>, span: Span) -> Res<(RExpr, RExpr, bool)> {
    let ((mut x, lit_x), (mut y, lit_y)) = (infer(names, a, want)?, infer(names, b, want)?);
    let both = lit_x && lit_y;
    if x.ty == y.ty {
        return Ok((x, y, both)); // also keeps the work linear: nothing is typed again without need
    }
    if lit_x && (!lit_y || Class::of(y.ty).is_float()) {
        x = infer(names, a, Some(y.ty))?.0;
    } else if lit_y {
        y = infer(names, b, Some(x.ty))?.0;
    }
    if x.ty == y.ty {
        return Ok((x, y, both));
    }
    if Class::of(x.ty).is_int() && Class::of(y.ty).is_int() {
        return Ok((convert(x, ScalarTy::Index), convert(y, ScalarTy::Index), both));
    }
    err(Code::TYPE_MISMATCH, span, format!("operands of types {} and {}", x.ty, y.ty))
}

fn convert(e: RExpr, ty: ScalarTy) -> RExpr {
    let (from, to) = (Class::of(e.ty), Class::of(ty));
    let uniform = e.uniform;
    if from == to {
        return RExpr { ty, ..e };
    }
    RExpr { kind: RKind::Cast(from, Box::new(e)), ty, uniform }
}

fn int_literal(v: i64, want: Option<ScalarTy>) -> RExpr {
    let ty = want.filter(|t| Class::of(*t) != Class::Bool).unwrap_or(ScalarTy::Index);
    let bits = match Class::of(ty) {
        Class::Float(d) => num::from_f64(d, v as f64),
        class => num::wrap(class, v),
    };
    RExpr { kind: RKind::Const(bits), ty, uniform: true }
}

fn float_literal(v: f64, want: Option<ScalarTy>) -> RExpr {
    let dtype = match want.map(Class::of) {
        Some(Class::Float(d)) => d,
        _ => DType::F32,
    };
    RExpr { kind: RKind::Const(num::from_f64(dtype, v)), ty: ScalarTy::Num(dtype), uniform: true }
}

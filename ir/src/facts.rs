//! What is known about integers at a point of a kernel: ranges, divisibility, the values of lets, uniformity.
//!
//! A pass walks the statements and tells `Facts` what it meets (`define`, `loop_var`, `assume`, …); at any point it may
//! ask. Lexical scope is the walker's business: clone before a block, or define a name again, which forgets everything
//! said about the old one. Must hold: an answer is never stronger than what follows from what was told. Bounds are those
//! of mathematical integers: they assume that the arithmetic of indices and extents does not wrap around `i64`, which
//! executors check for the sizes of buffers at launch.

mod bounds;
mod interval;
#[cfg(test)]
mod tests;

use interval::intersect;

use crate::dim::Dim;
use crate::dtype::{DType, DTypeClass, ScalarTy};
use crate::expr::{BinOp, CommField, Expr, ExprKind, Special, UnOp};
use crate::module::{Kernel, Launch, ParamTy};
use crate::name::Name;
use crate::shared::SharedMap;

/// Largest value (in nodes, see `Dim::weight`) that stands in place of its let. Without a limit a chain such as
/// `let b = a % 7 + a; let c = b % 7 + b; …` doubles at each step.
const MAX_VALUE_WEIGHT: usize = 128;

/// Inclusive bounds; `None` is unbounded.
pub type Range = (Option<i64>, Option<i64>);

/// Most ranks on one node that the language supports (slots of `s_base`; signal tables have this many entries).
pub const MAX_LSA_SIZE: i64 = 64;

/// Facts at a point of a kernel. See the head of this file.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Values of lets, with lets inside already replaced.
    defs: SharedMap<Name, Dim>,
    /// Bounds of atoms.
    bounds: SharedMap<Expr, Range>,
    /// `dim >= 0` holds.
    nonneg: Vec<Dim>,
    /// `dim` is a multiple of the number.
    multiples: Vec<(Dim, i64)>,
    /// Names that were declared; whether their value may differ between threads of a CTA.
    known: SharedMap<Name, bool>,
    /// Other names that what was told mentions.
    spoken: SharedMap<Name, ()>,
    /// Integer types narrower than 64 bits: arithmetic in them wraps earlier than that of indices.
    narrow: SharedMap<Name, DType>,
    /// Launch shape: block extents, warp width.
    launch: Option<([i64; 3], i64)>,
    /// The communicator's name: `me` is its `lsa_rank`.
    comm: Option<Name>,
}

impl Facts {
    /// Nothing is known.
    pub fn new() -> Facts {
        Facts::default()
    }

    /// Facts that follow from a launch shape, for warps of `warp` lanes.
    pub fn with_launch(launch: &Launch, warp: u32) -> Facts {
        let mut facts = Facts::new();
        facts.launch = Some(([0, 1, 2].map(|d| launch.block_dim(d).max(1)), i64::from(warp.max(1))));
        for d in 0..3u8 {
            let grid = launch.grid.get(usize::from(d)).cloned().unwrap_or(Dim::ONE);
            let id = Dim::atom(Expr::special(Special::Block(d)));
            let extent = Expr::special(Special::Grid(d));
            facts.nonneg(grid.sub(&id).sub(&Dim::ONE));
            if let Some(g) = grid.as_const() {
                facts.bounds.insert(extent, (Some(g), Some(g)));
                facts.bounds.insert(Expr::special(Special::Block(d)), (Some(0), Some(g.saturating_sub(1))));
            } else {
                facts.nonneg(Dim::atom(extent).sub(&id).sub(&Dim::ONE));
            }
        }
        facts
    }

    /// Facts at the start of a kernel's body: launch shape, parameters, `where` parameters.
    pub fn with_kernel(kernel: &Kernel, warp: u32) -> Facts {
        let mut facts = Facts::with_launch(&kernel.launch, warp);
        for p in &kernel.params {
            match p.ty {
                ParamTy::Scalar(ty) => facts.declare(&p.name, ty, true),
                ParamTy::DevComm => {
                    facts.comm = Some(p.name.clone());
                    let field = |f| Dim::atom(Expr::new(ExprKind::Comm(p.name.clone(), f)));
                    facts.nonneg(field(CommField::LsaSize).sub(&field(CommField::LsaRank)).sub(&Dim::ONE));
                    facts.nonneg(field(CommField::WorldSize).sub(&field(CommField::Rank)).sub(&Dim::ONE));
                }
                ParamTy::Buffer(_) => {}
            }
        }
        for w in &kernel.wheres {
            // Extents compute as indices, whatever type they are passed in.
            facts.declare(&w.name, ScalarTy::Index, true);
            let (_, hi) = type_range(ScalarTy::Num(w.dtype));
            facts.tighten(&Expr::var(&w.name), (Some(0), hi));
        }
        facts
    }

    /// Forgets everything that mentions `name`.
    pub fn forget(&mut self, name: &Name) {
        if !self.known.contains(name) && !self.spoken.contains(name) {
            return;
        }
        let mentions = |e: &Expr| {
            let mut hit = false;
            e.walk(&mut |x| hit |= matches!(&x.kind, ExprKind::Var(n) if n == name));
            hit
        };
        let in_dim = |d: &Dim| d.as_const().is_none() && d.atoms().iter().any(mentions);
        self.defs.retain(|n, d| n != name && !in_dim(d));
        self.bounds.retain(|e, _| !mentions(e));
        self.nonneg.retain(|d| !in_dim(d));
        self.multiples.retain(|(d, _)| !in_dim(d));
        self.narrow.retain(|n, _| n != name);
        self.known.retain(|n, _| n != name);
        self.spoken.retain(|n, _| n != name);
    }

    /// Takes note of the names that a fact mentions, so that `forget` need not look for others.
    fn speak_of(&mut self, e: &Expr) {
        e.walk(&mut |e| {
            if let ExprKind::Var(n) = &e.kind
                && !self.known.contains(n)
                && !self.spoken.contains(n)
            {
                self.spoken.insert(n.clone(), ());
            }
        });
    }

    /// A name whose value is not an expression: a parameter, or the result of a load or of an op. `uniform`: the same in
    /// all threads of the CTA. Integer types bound it.
    pub fn declare(&mut self, name: &Name, ty: ScalarTy, uniform: bool) {
        self.forget(name);
        self.known.insert(name.clone(), !uniform);
        if let ScalarTy::Num(d) = ty
            && d.is_int()
            && d.bits() < 64
        {
            self.narrow.insert(name.clone(), d);
        }
        self.tighten(&Expr::var(name), type_range(ty));
    }

    /// `let name = value`.
    pub fn define(&mut self, name: &Name, value: &Expr) {
        self.speak_of(value);
        let uniform = self.is_uniform(value);
        let (dim, narrow) = (self.resolve(value), self.narrow_type(value));
        self.forget(name);
        if let Some(d) = narrow {
            self.narrow.insert(name.clone(), d);
        }
        self.known.insert(name.clone(), !uniform);
        if dim.weight() <= MAX_VALUE_WEIGHT {
            self.defs.insert(name.clone(), dim);
        } else if narrow.is_none() {
            // The name stands for itself; what is known of its value is kept.
            let (range, multiple) = (self.range(&dim), self.multiple_of(&dim));
            self.tighten(&Expr::var(name), range);
            if multiple > 1 {
                self.multiples.push((Dim::from(name), multiple));
            }
        }
    }

    /// `for name in lo..hi`, seen from inside the body.
    pub fn loop_var(&mut self, name: &Name, lo: &Expr, hi: &Expr) {
        self.speak_of(lo);
        self.speak_of(hi);
        let uniform = self.is_uniform(lo) && self.is_uniform(hi);
        let (lo, hi) = (self.resolve(lo), self.resolve(hi));
        self.forget(name);
        self.known.insert(name.clone(), !uniform);
        let var = Dim::from(name);
        let bounds = (self.range(&lo).0, self.range(&hi).1.and_then(|h| h.checked_sub(1)));
        self.tighten(&Expr::var(name), bounds);
        self.nonneg(var.sub(&lo));
        self.nonneg(hi.sub(&var).sub(&Dim::ONE));
    }

    /// `cond` holds from here on. Understands `&&` and comparisons of integers, `e % c == 0` among them; what is not
    /// understood is dropped.
    pub fn assume(&mut self, cond: &Expr) {
        self.speak_of(cond);
        let ExprKind::Binary(op, a, b) = &cond.kind else {
            if let ExprKind::Unary(UnOp::Not, e) = &cond.kind {
                self.assume_not(e);
            }
            return;
        };
        if *op == BinOp::LAnd {
            self.assume(a);
            self.assume(b);
            return;
        }
        if !op.is_comparison() || !is_integer_like(a) || !is_integer_like(b) {
            return;
        }
        if *op == BinOp::Eq {
            self.assume_multiple(a, b);
            self.assume_multiple(b, a);
        }
        let diff = self.resolve(a).sub(&self.resolve(b)); // a - b
        match op {
            BinOp::Lt => self.nonneg(diff.mul(&Dim::Const(-1)).sub(&Dim::ONE)),
            BinOp::Le => self.nonneg(diff.mul(&Dim::Const(-1))),
            BinOp::Gt => self.nonneg(diff.sub(&Dim::ONE)),
            BinOp::Ge => self.nonneg(diff),
            BinOp::Eq => {
                self.nonneg(diff.clone());
                self.nonneg(diff.mul(&Dim::Const(-1)));
            }
            _ => {}
        }
    }

    /// `cond` does not hold from here on (the `else` of an `if`).
    pub fn assume_not(&mut self, cond: &Expr) {
        match &cond.kind {
            ExprKind::Unary(UnOp::Not, e) => self.assume(e),
            ExprKind::Binary(BinOp::LOr, a, b) => {
                self.assume_not(a);
                self.assume_not(b);
            }
            ExprKind::Binary(op, a, b) => {
                let flipped = match op {
                    BinOp::Lt => BinOp::Ge,
                    BinOp::Le => BinOp::Gt,
                    BinOp::Gt => BinOp::Le,
                    BinOp::Ge => BinOp::Lt,
                    BinOp::Ne => BinOp::Eq,
                    _ => return,
                };
                self.assume(&Expr::binary(flipped, (**a).clone(), (**b).clone()));
            }
            _ => {}
        }
    }

    /// Notes `a == b` where `a` is `e % c` and `b` the constant `r`: then `e - r` is a multiple of `c`.
    fn assume_multiple(&mut self, a: &Expr, b: &Expr) {
        let ExprKind::Binary(BinOp::Rem, e, c) = &a.kind else { return };
        let (Some(c), Some(r)) = (self.resolve(c).as_const(), self.resolve(b).as_const()) else { return };
        let dim = self.resolve(e).sub(&Dim::Const(r));
        if c != 0 && c != i64::MIN && dim.as_const().is_none() {
            self.multiples.push((dim, c.abs()));
        }
    }

    /// Notes that `dim >= 0`.
    fn nonneg(&mut self, dim: Dim) {
        let terms = dim.monomials();
        // `atom + k >= 0` and `k - atom >= 0` are bounds of the atom.
        let constant = terms.iter().find(|(m, _)| m.is_empty()).map_or(0, |(_, c)| *c);
        let rest: Vec<_> = terms.iter().filter(|(m, _)| !m.is_empty()).collect();
        if let [(m, 1 | -1)] = rest.as_slice()
            && let [atom] = m.as_slice()
        {
            let below = rest[0].1 == -1;
            self.tighten(atom, if below { (None, Some(constant)) } else { (constant.checked_neg(), None) });
        } else if !rest.is_empty() && !self.nonneg.contains(&dim) {
            self.nonneg.push(dim);
        }
    }

    fn tighten(&mut self, atom: &Expr, range: Range) {
        let slot = self.bounds.entry(atom.clone(), || (None, None));
        *slot = intersect(*slot, range);
    }

    /// The value with lets replaced, and `/`, `%`, shifts and masks simplified by what is known.
    pub fn resolve(&self, expr: &Expr) -> Dim {
        match &expr.kind {
            ExprKind::Int(v) => Dim::Const(*v),
            ExprKind::Var(n) => self.defs.get(n).cloned().unwrap_or_else(|| Dim::atom(expr.clone())),
            ExprKind::Special(Special::Me) => match &self.comm {
                Some(comm) => Dim::atom(Expr::new(ExprKind::Comm(comm.clone(), CommField::LsaRank))),
                None => Dim::atom(expr.clone()),
            },
            ExprKind::Unary(UnOp::Neg, a) => self.wrapped(expr, self.resolve(a).mul(&Dim::Const(-1))),
            ExprKind::Binary(op, a, b) => self.wrapped(expr, self.resolve_binary(*op, a, b, expr)),
            ExprKind::Cast(ty, a) if ty.is_integral() && is_integer_like(a) => {
                let inner = self.resolve(a);
                let (lo, hi) = self.range(&inner);
                let (tlo, thi) = type_range(*ty);
                let fits =
                    tlo.is_none_or(|t| lo.is_some_and(|v| v >= t)) && thi.is_none_or(|t| hi.is_some_and(|v| v <= t));
                if fits { inner } else { Dim::atom(Expr::new(ExprKind::Cast(*ty, Box::new(inner.to_expr())))) }
            }
            _ => Dim::atom(self.replace_lets(expr)),
        }
    }

    /// `dim`, the value of `expr` as a mathematical integer, if that is known to fit the type of `expr`; otherwise a
    /// conversion to this type.
    fn wrapped(&self, expr: &Expr, dim: Dim) -> Dim {
        let Some(d) = self.narrow_type(expr) else { return dim };
        let (lo, hi) = self.range(&dim);
        let (tlo, thi) = type_range(ScalarTy::Num(d));
        if lo.zip(tlo).is_some_and(|(v, t)| v >= t) && hi.zip(thi).is_some_and(|(v, t)| v <= t) {
            return dim;
        }
        Dim::atom(Expr::new(ExprKind::Cast(ScalarTy::Num(d), Box::new(dim.to_expr()))))
    }

    /// The integer type of less than 64 bits in which an expression computes, if it does: literals take the type of the
    /// other operand, mixed types compute as index.
    fn narrow_type(&self, expr: &Expr) -> Option<DType> {
        match &expr.kind {
            ExprKind::Var(n) => self.narrow.get(n).copied(),
            ExprKind::Cast(ScalarTy::Num(d), _) => Some(*d).filter(|d| d.is_int() && d.bits() < 64),
            ExprKind::Unary(UnOp::Neg, a) => self.narrow_type(a),
            ExprKind::Binary(BinOp::Shl | BinOp::Shr, a, _) => self.narrow_type(a),
            ExprKind::Binary(op, ..) if op.is_comparison() => None,
            ExprKind::Binary(_, a, b) | ExprKind::Select(_, a, b) => {
                let literal = |e: &Expr| crate::types::literal_int(e).is_some();
                match (self.narrow_type(a), self.narrow_type(b)) {
                    (Some(x), Some(y)) => Some(x).filter(|_| x == y),
                    (Some(x), None) => Some(x).filter(|_| literal(b)),
                    (None, Some(y)) => Some(y).filter(|_| literal(a)),
                    (None, None) => None,
                }
            }
            _ => None,
        }
    }

    fn resolve_binary(&self, op: BinOp, a: &Expr, b: &Expr, whole: &Expr) -> Dim {
        if !is_integer_like(a) || !is_integer_like(b) || op.is_comparison() {
            return Dim::atom(self.replace_lets(whole));
        }
        let (x, y) = (self.resolve(a), self.resolve(b));
        let narrow = self.narrow_type(whole).filter(|_| matches!(op, BinOp::Shl | BinOp::Shr));
        let count = match (narrow, y.as_const()) {
            (Some(d), Some(k)) => Some(k.rem_euclid(i64::from(d.bits()))),
            // The count is taken modulo the width, which the dim would not show: left as it was written.
            (Some(d), None) => return Dim::atom(Expr::new(ExprKind::Cast(ScalarTy::Num(d), Box::new(whole.clone())))),
            (None, k) => k,
        };
        let shift = count.filter(|k| (0..62).contains(k)).map(|k| Dim::Const(1 << k));
        match (op, shift) {
            (BinOp::Add, _) => x.add(&y),
            (BinOp::Sub, _) => x.sub(&y),
            (BinOp::Mul, _) => x.mul(&y),
            (BinOp::Div, _) if self.is_nonneg(&x) && self.is_le(&Dim::ONE, &y) => self.div(&x, &y),
            (BinOp::Rem, _) if self.is_nonneg(&x) && self.is_le(&Dim::ONE, &y) => self.rem(&x, &y),
            (BinOp::Div, _) => x.div(&y),
            (BinOp::Rem, _) => x.rem(&y),
            (BinOp::Shl, Some(m)) => x.mul(&m),
            (BinOp::Shr, Some(m)) if self.is_nonneg(&x) => self.div(&x, &m),
            (BinOp::And, _) if self.is_nonneg(&x) && y.as_const().is_some_and(is_mask) => {
                self.rem(&x, &y.add(&Dim::ONE))
            }
            _ => match (x.as_const(), y.as_const(), op) {
                (Some(p), Some(q), BinOp::Min) => Dim::Const(p.min(q)),
                (Some(p), Some(q), BinOp::Max) => Dim::Const(p.max(q)),
                _ => Dim::atom(Expr::binary(op, x.to_expr(), y.to_expr())),
            },
        }
    }

    fn replace_lets(&self, expr: &Expr) -> Expr {
        expr.rewrite(&mut |e| match &e.kind {
            ExprKind::Var(n) => self.defs.get(n).map_or(e.clone(), Dim::to_expr),
            _ => e,
        })
    }

    /// Known to be at least 0?
    pub fn is_nonneg(&self, dim: &Dim) -> bool {
        self.range(dim).0.is_some_and(|lo| lo >= 0)
    }

    /// Known that `a <= b`?
    pub fn is_le(&self, a: &Dim, b: &Dim) -> bool {
        self.is_nonneg(&b.sub(a))
    }

    /// Known that `a < b`?
    pub fn is_lt(&self, a: &Dim, b: &Dim) -> bool {
        self.is_nonneg(&b.sub(a).sub(&Dim::ONE))
    }

    /// Quotient of `dim >= 0` by `by > 0`; the caller knows the signs. Terms that `by` divides leave the quotient.
    pub fn div(&self, dim: &Dim, by: &Dim) -> Dim {
        if by.is(1) {
            return dim.clone();
        }
        if dim.as_const().is_some() && by.as_const().is_some() {
            return dim.div(by);
        }
        let (q, rest) = self.split(dim, by);
        if rest.is(0) || (self.is_nonneg(&rest) && self.is_lt(&rest, by)) {
            return q;
        }
        if self.is_nonneg(&rest) {
            return q.add(&opaque_div(&rest, by));
        }
        opaque_div(dim, by)
    }

    /// Remainder of `dim >= 0` by `by > 0`; the caller knows the signs.
    pub fn rem(&self, dim: &Dim, by: &Dim) -> Dim {
        if by.is(1) {
            return Dim::ZERO;
        }
        if dim.as_const().is_some() && by.as_const().is_some() {
            return dim.rem(by);
        }
        let (_, rest) = self.split(dim, by);
        if rest.is(0) || (self.is_nonneg(&rest) && self.is_lt(&rest, by)) {
            return rest;
        }
        let of = if self.is_nonneg(&rest) { &rest } else { dim };
        if let Some(c) = by.as_const()
            && self.multiple_of(of) % c == 0
        {
            return Dim::ZERO;
        }
        opaque_rem(of, by)
    }

    /// `dim == q * by + rest`, term by term: what `by` divides goes to `q`; of a constant term the part below `by` stays.
    fn split(&self, dim: &Dim, by: &Dim) -> (Dim, Dim) {
        let (mut q, mut rest) = (Dim::ZERO, Dim::ZERO);
        for (m, c) in dim.monomials() {
            let term = m.iter().fold(Dim::Const(c), |p, a| p.mul(&Dim::atom(a.clone())));
            match (term.div_exact(by), m.is_empty(), by.as_const()) {
                (Some(part), _, _) => q = q.add(&part),
                (None, true, Some(b)) if b > 0 => {
                    q = q.add(&Dim::Const(c.div_euclid(b)));
                    rest = rest.add(&Dim::Const(c.rem_euclid(b)));
                }
                _ => rest = rest.add(&term),
            }
        }
        (q, rest)
    }

    /// The same value in all threads of a CTA? Names nobody told about count as differing.
    pub fn is_uniform(&self, expr: &Expr) -> bool {
        !expr.is_thread_dependent(&|n| self.known.get(n).is_none_or(|varying| *varying))
    }
}

/// Is it an integer, judged by its form alone? Floats and bools keep out of `Dim`s.
fn is_integer_like(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::Unary(UnOp::Not, _) => false,
        ExprKind::Int(_) | ExprKind::Var(_) | ExprKind::Special(_) | ExprKind::Comm(..) => true,
        ExprKind::Unary(UnOp::Neg, a) => is_integer_like(a),
        ExprKind::Binary(op, a, b) => {
            !op.is_comparison() && !matches!(op, BinOp::LAnd | BinOp::LOr) && is_integer_like(a) && is_integer_like(b)
        }
        ExprKind::Select(_, a, b) => is_integer_like(a) && is_integer_like(b),
        ExprKind::Cast(ty, _) => ty.is_integral(),
    }
}

/// Values that a type can hold.
fn type_range(ty: ScalarTy) -> Range {
    match ty {
        ScalarTy::Num(d) => match (d.class(), d.bits()) {
            (DTypeClass::Bool, _) => (Some(0), Some(1)),
            (DTypeClass::Signed, b) if b < 64 => (Some(-(1 << (b - 1))), Some((1 << (b - 1)) - 1)),
            (DTypeClass::Unsigned, b) if b < 64 => (Some(0), Some((1 << b) - 1)),
            // u64 computes as index: its upper half would be negative, so nothing is known.
            _ => (None, None),
        },
        ScalarTy::LsaRank => (Some(0), Some(MAX_LSA_SIZE - 1)),
        ScalarTy::WorldRank => (Some(0), Some(i64::from(i32::MAX) - 1)),
        ScalarTy::Index | ScalarTy::LsaSum => (None, None),
    }
}

fn bits_of(ty: ScalarTy) -> u32 {
    match ty {
        ScalarTy::Num(DType::Bool) => 1,
        other => other.storage().bits(),
    }
}

fn is_mask(v: i64) -> bool {
    (0..i64::MAX).contains(&v) && (v & (v + 1)) == 0
}

/// Greatest common divisor of non-negative numbers; `gcd(0, x) == x`.
pub fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.saturating_abs(), b.saturating_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Least common multiple of positive numbers, or the larger of the two where it does not fit (still a true divisor of
/// anything both divide).
fn lcm(a: i64, b: i64) -> i64 {
    if a == 0 || b == 0 {
        return 0;
    }
    (a / gcd(a, b)).checked_mul(b).unwrap_or(a.max(b))
}

/// `dim / by` as an atom; nested divisions by constants become one.
fn opaque_div(dim: &Dim, by: &Dim) -> Dim {
    if let (Some(b), Some((BinOp::Div, inner, a))) = (by.as_const(), as_const_op(dim))
        && a > 0
        && b > 0
        && let Some(ab) = a.checked_mul(b)
    {
        return Dim::atom(Expr::binary(BinOp::Div, inner, Expr::int(ab)));
    }
    Dim::atom(Expr::binary(BinOp::Div, dim.to_expr(), by.to_expr()))
}

/// `dim % by` as an atom; `(x % ab) % b` is `x % b`.
fn opaque_rem(dim: &Dim, by: &Dim) -> Dim {
    if let (Some(b), Some((BinOp::Rem, inner, a))) = (by.as_const(), as_const_op(dim))
        && b > 0
        && a % b == 0
    {
        return Dim::atom(Expr::binary(BinOp::Rem, inner, Expr::int(b)));
    }
    Dim::atom(Expr::binary(BinOp::Rem, dim.to_expr(), by.to_expr()))
}

/// `dim` read as one atom `inner op constant`.
fn as_const_op(dim: &Dim) -> Option<(BinOp, Expr, i64)> {
    let terms = dim.monomials();
    let [(m, 1)] = terms.as_slice() else { return None };
    let [atom] = m.as_slice() else { return None };
    match &atom.kind {
        ExprKind::Binary(op, a, b) => Some((*op, (**a).clone(), b.as_int()?)),
        _ => None,
    }
}

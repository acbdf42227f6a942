//! What is known about integers at a point of a kernel: ranges, divisibility, the values of lets, uniformity.
//!
//! A pass walks the statements and tells `Facts` what it meets (`define`, `loop_var`, `assume`, …); at any point it may
//! ask. Lexical scope is the walker's business: clone before a block, or define a name again, which forgets everything
//! said about the old one. Must hold: an answer is never stronger than what follows from what was told. Bounds are those
//! of mathematical integers: they assume that the arithmetic of indices and extents does not wrap around `i64`, which
//! executors check for the sizes of buffers at launch.

use std::collections::{BTreeMap, BTreeSet};

use crate::dim::Dim;
use crate::dtype::{DType, DTypeClass, ScalarTy};
use crate::expr::{BinOp, CommField, Expr, ExprKind, Special, UnOp};
use crate::module::{Kernel, Launch, ParamTy};
use crate::name::Name;

/// Inclusive bounds; `None` is unbounded.
pub type Range = (Option<i64>, Option<i64>);

/// Most ranks on one node that the language supports (slots of `s_base`; signal tables have this many entries).
pub const MAX_LSA_SIZE: i64 = 64;

/// Largest number of threads in a CTA, on every target we have.
const MAX_THREADS: i64 = 1024;

/// How deep `range` may chain inequalities.
const CHAIN: u32 = 2;

/// Facts at a point of a kernel. See the head of this file.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Values of lets, with lets inside already replaced.
    defs: BTreeMap<Name, Dim>,
    /// Bounds of atoms.
    bounds: BTreeMap<Expr, Range>,
    /// `dim >= 0` holds.
    nonneg: Vec<Dim>,
    /// `dim` is a multiple of the number.
    multiples: Vec<(Dim, i64)>,
    /// Names whose value may differ between threads of a CTA.
    varying: BTreeSet<Name>,
    /// Names that were declared.
    known: BTreeSet<Name>,
    /// Launch shape: block extents, warp width.
    launch: Option<([i64; 3], i64)>,
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
                    let field = |f| Dim::atom(Expr::new(ExprKind::Comm(p.name.clone(), f)));
                    facts.nonneg(field(CommField::LsaSize).sub(&field(CommField::LsaRank)).sub(&Dim::ONE));
                    facts.nonneg(field(CommField::WorldSize).sub(&field(CommField::Rank)).sub(&Dim::ONE));
                }
                ParamTy::Buffer(_) => {}
            }
        }
        for w in &kernel.wheres {
            facts.declare(&w.name, ScalarTy::Num(w.dtype), true);
            facts.tighten(&Expr::var(&w.name), (Some(0), None));
        }
        facts
    }

    /// Forgets everything that mentions `name`.
    pub fn forget(&mut self, name: &Name) {
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
        self.varying.remove(name);
        self.known.remove(name);
    }

    /// A name whose value is not an expression: a parameter, or the result of a load or of an op. `uniform`: the same in
    /// all threads of the CTA. Integer types bound it.
    pub fn declare(&mut self, name: &Name, ty: ScalarTy, uniform: bool) {
        self.forget(name);
        self.known.insert(name.clone());
        if !uniform {
            self.varying.insert(name.clone());
        }
        self.tighten(&Expr::var(name), type_range(ty));
    }

    /// `let name = value`.
    pub fn define(&mut self, name: &Name, value: &Expr) {
        let uniform = self.is_uniform(value);
        let dim = self.resolve(value);
        self.forget(name);
        self.known.insert(name.clone());
        if !uniform {
            self.varying.insert(name.clone());
        }
        self.defs.insert(name.clone(), dim);
    }

    /// `for name in lo..hi`, seen from inside the body.
    pub fn loop_var(&mut self, name: &Name, lo: &Expr, hi: &Expr) {
        let uniform = self.is_uniform(lo) && self.is_uniform(hi);
        let (lo, hi) = (self.resolve(lo), self.resolve(hi));
        self.forget(name);
        self.known.insert(name.clone());
        if !uniform {
            self.varying.insert(name.clone());
        }
        let var = Dim::from(name);
        let bounds = (self.range(&lo).0, self.range(&hi).1.and_then(|h| h.checked_sub(1)));
        self.tighten(&Expr::var(name), bounds);
        self.nonneg(var.sub(&lo));
        self.nonneg(hi.sub(&var).sub(&Dim::ONE));
    }

    /// `cond` holds from here on. Understands `&&` and comparisons of integers, `e % c == 0` among them; what is not
    /// understood is dropped.
    pub fn assume(&mut self, cond: &Expr) {
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
        if let [(m, c)] = rest.as_slice()
            && let [atom] = m.as_slice()
        {
            match c {
                1 => self.tighten(atom, (constant.checked_neg(), None)),
                -1 => self.tighten(atom, (None, Some(constant))),
                _ => {}
            }
        }
        if !rest.is_empty() && !self.nonneg.contains(&dim) {
            self.nonneg.push(dim);
        }
    }

    fn tighten(&mut self, atom: &Expr, range: Range) {
        let slot = self.bounds.entry(atom.clone()).or_insert((None, None));
        *slot = intersect(*slot, range);
    }

    /// The value with lets replaced, and `/`, `%`, shifts and masks simplified by what is known.
    pub fn resolve(&self, expr: &Expr) -> Dim {
        match &expr.kind {
            ExprKind::Int(v) => Dim::Const(*v),
            ExprKind::Var(n) => self.defs.get(n).cloned().unwrap_or_else(|| Dim::atom(expr.clone())),
            ExprKind::Unary(UnOp::Neg, a) => self.resolve(a).mul(&Dim::Const(-1)),
            ExprKind::Binary(op, a, b) => self.resolve_binary(*op, a, b, expr),
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

    fn resolve_binary(&self, op: BinOp, a: &Expr, b: &Expr, whole: &Expr) -> Dim {
        if !is_integer_like(a) || !is_integer_like(b) || op.is_comparison() {
            return Dim::atom(self.replace_lets(whole));
        }
        let (x, y) = (self.resolve(a), self.resolve(b));
        let shift = y.as_const().filter(|k| (0..62).contains(k)).map(|k| Dim::Const(1 << k));
        match (op, shift) {
            (BinOp::Add, _) => x.add(&y),
            (BinOp::Sub, _) => x.sub(&y),
            (BinOp::Mul, _) => x.mul(&y),
            (BinOp::Div, _) if self.is_nonneg(&x) => self.div(&x, &y),
            (BinOp::Rem, _) if self.is_nonneg(&x) => self.rem(&x, &y),
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

    /// Largest number known to divide `dim`; 0 for the constant 0, at least 1 otherwise.
    pub fn multiple_of(&self, dim: &Dim) -> i64 {
        let mut best = self.multiple_of_terms(dim);
        if dim.as_const().is_some() {
            return best;
        }
        for (fact, c) in &self.multiples {
            // dim = k * fact + rest: gcd(k * c, rest) divides it.
            let lead = fact.monomials().into_iter().rfind(|(m, _)| !m.is_empty());
            let Some((lead, lc)) = lead else { continue };
            let Some((_, dc)) = dim.monomials().into_iter().find(|(m, _)| *m == lead) else { continue };
            if dc % lc != 0 {
                continue;
            }
            let k = dc / lc;
            let rest = self.multiple_of_terms(&dim.sub(&fact.mul(&Dim::Const(k))));
            best = best.max(gcd(k.saturating_mul(*c), rest));
        }
        best
    }

    fn multiple_of_terms(&self, dim: &Dim) -> i64 {
        let mut all = 0;
        for (m, c) in dim.monomials() {
            // The part of a product that overflows is dropped: a divisor of a divisor is one, too.
            let term = m.iter().fold(c.checked_abs().unwrap_or(1 << 62), |p, atom| {
                p.checked_mul(self.atom_multiple(atom)).unwrap_or(p)
            });
            all = gcd(all, term);
        }
        all
    }

    fn atom_multiple(&self, atom: &Expr) -> i64 {
        let mut known = 1;
        for (fact, c) in &self.multiples {
            if *fact == Dim::atom(atom.clone()) {
                known = lcm(known, *c);
            }
        }
        let of = |e: &Expr| self.multiple_of(&Dim::from_expr(e));
        let own = match &atom.kind {
            ExprKind::Var(n) => self.defs.get(n).map_or(1, |d| self.multiple_of(d)),
            ExprKind::Cast(ty, a) if ty.is_integral() && is_integer_like(a) => {
                let m = of(a); // wrapping to a narrower type keeps powers of two only
                if m == 0 { 0 } else { 1 << m.trailing_zeros().min(bits_of(*ty) - 1).min(62) }
            }
            ExprKind::Select(_, a, b) => gcd(of(a), of(b)),
            ExprKind::Binary(op, a, b) => match (op, b.as_int()) {
                (BinOp::Div, Some(c)) if c != 0 && of(a) % c == 0 => (of(a) / c).saturating_abs(),
                (BinOp::Rem, Some(c)) if c != 0 => gcd(of(a), c.saturating_abs()),
                (BinOp::Shl, Some(k)) if (0..62).contains(&k) => of(a).checked_mul(1 << k).unwrap_or(1 << k),
                (BinOp::And, Some(c)) if c != 0 => {
                    1 << (c.trailing_zeros().max(of(a).trailing_zeros().min(62))).min(62)
                }
                (BinOp::Min | BinOp::Max, _) => gcd(of(a), of(b)),
                (BinOp::Or | BinOp::Xor, _) => 1 << of(a).trailing_zeros().min(of(b).trailing_zeros()).min(62),
                _ => 1,
            },
            _ => 1,
        };
        if own == 0 { 0 } else { lcm(own, known) }
    }

    /// Known to be a multiple of `n` (`n > 0`)?
    pub fn is_multiple(&self, dim: &Dim, n: i64) -> bool {
        n != 0 && n != i64::MIN && self.multiple_of(dim) % n == 0
    }

    /// Inclusive bounds of the value.
    pub fn range(&self, dim: &Dim) -> Range {
        self.range_chained(dim, CHAIN)
    }

    fn range_chained(&self, dim: &Dim, chain: u32) -> Range {
        if let Some(v) = dim.as_const() {
            return (Some(v), Some(v));
        }
        let mut best = self.range_of_terms(dim);
        if chain == 0 {
            return best;
        }
        for fact in &self.nonneg {
            // dim = (dim - k*fact) + k*fact, and fact >= 0: worth trying where a term cancels.
            for (m, fc) in fact.monomials() {
                let Some((_, dc)) = dim.monomials().into_iter().find(|(n, _)| *n == m && !m.is_empty()) else {
                    continue;
                };
                if dc.checked_rem(fc) != Some(0) {
                    continue;
                }
                let k = dc / fc;
                let (lo, hi) = self.range_chained(&dim.sub(&fact.mul(&Dim::Const(k))), chain - 1);
                best = intersect(best, if k > 0 { (lo, None) } else { (None, hi) });
            }
        }
        best
    }

    fn range_of_terms(&self, dim: &Dim) -> Range {
        let (mut lo, mut hi) = (Some(0i128), Some(0i128));
        for (m, c) in dim.monomials() {
            let mut term = (Some(i128::from(c)), Some(i128::from(c)));
            for atom in &m {
                let (a, b) = self.atom_range(atom);
                term = mul_range(term, (a.map(i128::from), b.map(i128::from)));
            }
            lo = lo.zip(term.0).and_then(|(a, b)| a.checked_add(b));
            hi = hi.zip(term.1).and_then(|(a, b)| a.checked_add(b));
        }
        (lo.and_then(|v| i64::try_from(v).ok()), hi.and_then(|v| i64::try_from(v).ok()))
    }

    fn atom_range(&self, atom: &Expr) -> Range {
        let told = self.bounds.get(atom).copied().unwrap_or((None, None));
        let of = |e: &Expr| self.range_of_terms(&Dim::from_expr(e));
        let own = match &atom.kind {
            ExprKind::Var(n) => self.defs.get(n).map_or((None, None), |d| self.range_of_terms(d)),
            ExprKind::Special(s) => self.special_range(*s),
            ExprKind::Comm(_, f) => match f {
                CommField::LsaRank => (Some(0), Some(MAX_LSA_SIZE - 1)),
                CommField::LsaSize => (Some(1), Some(MAX_LSA_SIZE)),
                CommField::Rank => (Some(0), Some(i64::from(i32::MAX) - 1)),
                CommField::WorldSize => (Some(1), Some(i64::from(i32::MAX))),
            },
            ExprKind::Cast(ty, _) => type_range(*ty),
            ExprKind::Select(_, a, b) => union(of(a), of(b)),
            ExprKind::Binary(op, a, b) => binary_range(*op, of(a), of(b)),
            _ => (None, None),
        };
        intersect(told, own)
    }

    fn special_range(&self, s: Special) -> Range {
        let below = |n: i64| (Some(0), Some(n - 1));
        let (block, warp) = match self.launch {
            Some((b, w)) => (b.map(Some), Some(w)),
            None => ([None; 3], None),
        };
        let threads = block.iter().try_fold(1i64, |p, b| b.and_then(|b| p.checked_mul(b))).unwrap_or(MAX_THREADS);
        match s {
            Special::Thread(d) => below(block.get(usize::from(d)).copied().flatten().unwrap_or(MAX_THREADS)),
            Special::ThreadLinear => below(threads),
            Special::Lane => below(warp.unwrap_or(64).min(threads)),
            Special::Warp => {
                below(warp.map_or(threads, |w| threads.div_euclid(w) + i64::from(threads % w != 0)).max(1))
            }
            Special::Block(_) => (Some(0), Some(i64::from(i32::MAX) - 1)),
            Special::Grid(_) => (Some(1), Some(i64::from(i32::MAX))),
            Special::Me => (Some(0), Some(MAX_LSA_SIZE - 1)),
        }
    }

    /// The same value in all threads of a CTA? Names nobody told about count as differing.
    pub fn is_uniform(&self, expr: &Expr) -> bool {
        !expr.is_thread_dependent(&|n| self.varying.contains(n) || !self.known.contains(n))
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

fn intersect(a: Range, b: Range) -> Range {
    let lo = a.0.into_iter().chain(b.0).max();
    let hi = a.1.into_iter().chain(b.1).min();
    (lo, hi)
}

fn union(a: Range, b: Range) -> Range {
    (a.0.zip(b.0).map(|(x, y)| x.min(y)), a.1.zip(b.1).map(|(x, y)| x.max(y)))
}

type Wide = (Option<i128>, Option<i128>);

/// Product of two intervals, unbounded ends included.
fn mul_range(a: Wide, b: Wide) -> Wide {
    // A bound at infinity times zero is zero; so the four corner products decide, each as None where infinite.
    let corner = |x: Option<i128>, y: Option<i128>, xs: i32, ys: i32| -> Result<i128, i32> {
        let sign = |v: Option<i128>, inf: i32| v.map_or(inf, |v| v.signum() as i32);
        match (x, y) {
            (Some(p), Some(q)) => p.checked_mul(q).ok_or((p.signum() * q.signum()) as i32),
            _ => match sign(x, xs) * sign(y, ys) {
                0 => Ok(0),
                s => Err(s),
            },
        }
    };
    let corners = [corner(a.0, b.0, -1, -1), corner(a.0, b.1, -1, 1), corner(a.1, b.0, 1, -1), corner(a.1, b.1, 1, 1)];
    let lo = if corners.contains(&Err(-1)) { None } else { corners.iter().filter_map(|c| c.ok()).min() };
    let hi = if corners.contains(&Err(1)) { None } else { corners.iter().filter_map(|c| c.ok()).max() };
    (lo, hi)
}

fn binary_range(op: BinOp, a: Range, b: Range) -> Range {
    let both = |r: Range| r.0.zip(r.1);
    let nonneg = |r: Range| r.0.is_some_and(|v| v >= 0);
    match op {
        BinOp::Min => (a.0.zip(b.0).map(|(x, y)| x.min(y)), a.1.into_iter().chain(b.1).min()),
        BinOp::Max => (a.0.into_iter().chain(b.0).max(), a.1.zip(b.1).map(|(x, y)| x.max(y))),
        BinOp::Div => match b.0 {
            Some(d) if d >= 1 => {
                // Towards zero: the largest magnitude is at the smallest divisor, the smallest at the largest.
                let far = b.1;
                let lo = a.0.map(|v| if v < 0 { v / d } else { far.map_or(0, |f| v / f) });
                let hi = a.1.map(|v| if v > 0 { v / d } else { far.map_or(0, |f| v / f) });
                (lo, hi)
            }
            _ if nonneg(a) && nonneg(b) => (Some(0), a.1),
            _ => (None, None),
        },
        BinOp::Rem => match both(b) {
            Some((l, h)) if l > i64::MIN => {
                let m = l.abs().max(h.abs()).max(1) - 1;
                let lo = if nonneg(a) { 0 } else { -m };
                (Some(lo), Some(a.1.map_or(m, |v| v.max(0).min(m))))
            }
            _ if nonneg(a) => (Some(0), a.1),
            _ => (None, None),
        },
        BinOp::And if nonneg(a) && nonneg(b) => (Some(0), a.1.into_iter().chain(b.1).min()),
        BinOp::And if nonneg(a) => (Some(0), a.1),
        BinOp::And if nonneg(b) => (Some(0), b.1),
        BinOp::Or | BinOp::Xor if nonneg(a) && nonneg(b) => {
            let hi = a.1.zip(b.1).map(|(x, y)| low_ones(x.max(y)));
            (Some(0), hi)
        }
        BinOp::Shl => match both(b) {
            Some((l, h)) if l >= 0 && h < 63 && nonneg(a) => {
                (a.0.and_then(|v| v.checked_mul(1 << l)), a.1.and_then(|v| v.checked_mul(1 << h)))
            }
            _ => (None, None),
        },
        BinOp::Shr => match both(b) {
            Some((l, h)) if l >= 0 && h < 64 && nonneg(a) => (a.0.map(|v| v >> h), a.1.map(|v| v >> l)),
            _ => (None, None),
        },
        op if op.is_comparison() || matches!(op, BinOp::LAnd | BinOp::LOr) => (Some(0), Some(1)),
        _ => (None, None),
    }
}

/// Smallest `2^k - 1` that is at least `v`, for `v >= 0`.
fn low_ones(v: i64) -> i64 {
    if v <= 0 { 0 } else { (u64::MAX >> v.leading_zeros()) as i64 }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::WarpWidth;
    use crate::span::Span;

    fn var(n: &str) -> Expr {
        Expr::var(&Name::new(n))
    }

    fn bin(op: BinOp, a: Expr, b: impl Into<Expr>) -> Expr {
        Expr::binary(op, a, b.into())
    }

    fn launch(grid: i64, block: i64) -> Launch {
        Launch { grid: vec![grid.into()], block: vec![block.into()], warp: WarpWidth::Target, span: Span::NONE }
    }

    #[test]
    fn thread_ids_are_bounded_by_the_launch() {
        let f = Facts::with_launch(&launch(4, 96), 64);
        let range = |s| f.range(&Dim::atom(Expr::special(s)));
        assert_eq!(range(Special::Thread(0)), (Some(0), Some(95)));
        assert_eq!(range(Special::Thread(1)), (Some(0), Some(0)));
        assert_eq!(range(Special::Lane), (Some(0), Some(63)));
        assert_eq!(range(Special::Warp), (Some(0), Some(1)));
        assert_eq!(range(Special::Block(0)), (Some(0), Some(3)));
    }

    #[test]
    fn lets_are_seen_through() {
        let mut f = Facts::with_launch(&launch(1, 128), 32);
        f.define(&"t".into(), &bin(BinOp::Mul, Expr::special(Special::Thread(0)), 8));
        f.define(&"u".into(), &bin(BinOp::Add, var("t"), 4));
        assert_eq!(f.multiple_of(&f.resolve(&var("t"))), 8);
        assert_eq!(f.multiple_of(&f.resolve(&var("u"))), 4);
        assert_eq!(f.range(&f.resolve(&var("u"))), (Some(4), Some(127 * 8 + 4)));
        assert_eq!(f.resolve(&bin(BinOp::Div, var("u"), 8)), Dim::atom(Expr::special(Special::Thread(0))));
        assert_eq!(f.resolve(&bin(BinOp::Rem, var("u"), 8)), Dim::Const(4));
        assert_eq!(f.resolve(&bin(BinOp::And, var("u"), 7)), Dim::Const(4));
        assert!(!f.is_uniform(&var("u")));
        f.define(&"t".into(), &Expr::int(3)); // a new `t` in another block
        assert_eq!(f.resolve(&var("t")), Dim::Const(3));
        assert!(f.is_uniform(&var("t")) && !f.is_uniform(&var("nobody")));
    }

    #[test]
    fn assumptions_give_divisibility() {
        let mut f = Facts::new();
        f.declare(&"n".into(), ScalarTy::Index, true);
        f.declare(&"k".into(), ScalarTy::Num(DType::U32), true);
        f.assume(&bin(BinOp::LAnd, bin(BinOp::Eq, bin(BinOp::Rem, var("n"), 16), 0), bin(BinOp::Lt, var("k"), 10)));
        f.assume(&bin(BinOp::Eq, bin(BinOp::Rem, var("k"), 8), 4));
        let d = |e: &Expr| f.resolve(e);
        assert_eq!(f.multiple_of(&d(&bin(BinOp::Mul, var("n"), 3))), 48);
        assert_eq!(f.multiple_of(&d(&bin(BinOp::Add, var("n"), 24))), 8);
        assert!(f.is_multiple(&d(&bin(BinOp::Add, var("k"), 4)), 8));
        assert!(!f.is_multiple(&d(&var("k")), 8) && f.is_multiple(&d(&var("k")), 4));
        assert_eq!(f.range(&d(&var("k"))), (Some(0), Some(9)));
        assert_eq!(f.multiple_of(&Dim::ZERO), 0);
        // n is a multiple of 16, but nobody knows its sign: the remainder is 0 all the same.
        assert_eq!(f.rem(&d(&var("n")), &Dim::Const(8)), Dim::ZERO);
    }

    #[test]
    fn symbolic_loops_stay_in_bounds() {
        let mut f = Facts::new();
        f.declare(&"n".into(), ScalarTy::Num(DType::U32), true);
        f.loop_var(&"i".into(), &Expr::int(0), &var("n"));
        let (i, n) = (Dim::from(&Name::new("i")), Dim::from(&Name::new("n")));
        assert!(f.is_lt(&i, &n) && f.is_nonneg(&i) && !f.is_lt(&i.add(&Dim::ONE), &n));
        // (i * n + i) / n == i, and the remainder is i.
        let flat = i.mul(&n).add(&i);
        assert_eq!(f.div(&flat, &n), i);
        assert_eq!(f.rem(&flat, &n), i);
        f.assume_not(&bin(BinOp::Ge, var("i"), 8));
        assert_eq!(f.range(&i).1, Some(7));
    }

    #[test]
    fn ranges_of_operators() {
        let mut f = Facts::new();
        f.loop_var(&"i".into(), &Expr::int(-5), &Expr::int(20));
        f.loop_var(&"j".into(), &Expr::int(0), &Expr::int(20));
        let r = |e: Expr| f.range(&f.resolve(&e));
        assert_eq!(r(bin(BinOp::Div, var("i"), 4)), (Some(-1), Some(4)));
        assert_eq!(r(bin(BinOp::Rem, var("i"), 4)), (Some(-3), Some(3)));
        assert_eq!(r(bin(BinOp::Rem, var("j"), 4)), (Some(0), Some(3)));
        assert_eq!(r(bin(BinOp::Shr, var("j"), 2)), (Some(0), Some(4)));
        assert_eq!(r(bin(BinOp::Xor, var("j"), 5)), (Some(0), Some(31)));
        assert_eq!(r(bin(BinOp::Mul, var("i"), var("j"))), (Some(-95), Some(361)));
        assert_eq!(r(bin(BinOp::Min, var("i"), 7)), (Some(-5), Some(7)));
        assert_eq!(r(bin(BinOp::Lt, var("i"), 7)), (Some(0), Some(1)));
        assert_eq!(r(bin(BinOp::Mul, var("i"), i64::MAX)), (None, None));
    }

    #[test]
    fn nothing_is_claimed_without_proof() {
        let f = Facts::new();
        let x = f.resolve(&var("x"));
        assert_eq!(f.range(&x), (None, None));
        assert_eq!(f.multiple_of(&x), 1);
        // The sign is unknown: `(4 x + 1) / 4` is not `x` for negative x.
        let e = bin(BinOp::Div, bin(BinOp::Add, bin(BinOp::Mul, var("x"), 4), 1), 4);
        assert_ne!(f.resolve(&e), x);
    }
}

//! Divisibility and ranges: what `Facts` answers from what it was told.

use super::interval::{binary_range, intersect, mul_range, union};
use super::{Facts, MAX_LSA_SIZE, Range, bits_of, gcd, is_integer_like, lcm, type_range};
use crate::dim::Dim;
use crate::expr::{BinOp, CommField, Expr, ExprKind, Special};

/// Largest number of threads in a CTA, on every target we have.
const MAX_THREADS: i64 = 1024;

/// How deep `range` may chain inequalities.
const CHAIN: u32 = 2;

impl Facts {
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
        let implied = self.implied(dim);
        for fact in self.nonneg.iter().chain(&implied) {
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

    /// What holds of the atoms of `dim` by themselves, as dims that are not negative: `a % b < b`, `min(a, b) <= a`, …
    fn implied(&self, dim: &Dim) -> Vec<Dim> {
        let mut facts = Vec::new();
        for atom in dim.atoms() {
            let ExprKind::Binary(op, a, b) = &atom.kind else { continue };
            if !is_integer_like(&atom) {
                continue;
            }
            let (x, a, b) = (Dim::atom(atom.clone()), Dim::from_expr(a), Dim::from_expr(b));
            match op {
                BinOp::Rem if self.range_of_terms(&b).0.is_some_and(|lo| lo >= 1) => {
                    facts.push(b.sub(&x).sub(&Dim::ONE))
                }
                BinOp::Min => facts.extend([a.sub(&x), b.sub(&x)]),
                BinOp::Max => facts.extend([x.sub(&a), x.sub(&b)]),
                _ => {}
            }
        }
        facts
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
}

//! Symbolic integers: extents, strides and offsets of layouts.
//!
//! A `Dim` is a 64-bit integer that is either known or a polynomial over atoms (parameters, loop variables, or opaque
//! expressions such as `i / 8`). It is kept in one canonical form, so equality of values that are equal as polynomials
//! is plain `==`. A result that would leave `i64` in a coefficient is kept as an opaque atom instead: never a panic,
//! never a wrong number.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::expr::{BinOp, Expr, ExprKind, UnOp};
use crate::name::Name;

/// Nodes, over all terms, up to which a product is multiplied out; a product of many sums would grow without bound.
const MAX_PRODUCT_NODES: usize = 2048;

/// Nodes of all atoms, and one for each term.
fn weight(terms: &BTreeMap<Monomial, i64>) -> usize {
    let mut nodes = terms.len();
    for atom in terms.keys().flatten() {
        atom.walk(&mut |_| nodes += 1);
    }
    nodes
}

/// A product of atoms, sorted; the empty product is 1.
pub type Monomial = Vec<Expr>;

/// A symbolic integer.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dim {
    /// A known integer.
    Const(i64),
    /// A polynomial: coefficient of each monomial; never constant, no zero coefficients.
    Sym(Arc<BTreeMap<Monomial, i64>>),
}

impl From<i64> for Dim {
    fn from(value: i64) -> Dim {
        Dim::Const(value)
    }
}

impl From<&Name> for Dim {
    fn from(name: &Name) -> Dim {
        Dim::atom(Expr::var(name))
    }
}

impl Dim {
    /// Zero.
    pub const ZERO: Dim = Dim::Const(0);
    /// One.
    pub const ONE: Dim = Dim::Const(1);

    /// The dim with the value of `expr` taken as one opaque atom (a literal stays a constant).
    pub fn atom(expr: Expr) -> Dim {
        match expr.as_int() {
            Some(v) => Dim::Const(v),
            None => Dim::Sym(Arc::new(BTreeMap::from([(vec![expr], 1)]))),
        }
    }

    /// Reads sums, differences and products apart; everything else becomes an atom.
    pub fn from_expr(expr: &Expr) -> Dim {
        match &expr.kind {
            ExprKind::Int(v) => Dim::Const(*v),
            ExprKind::Unary(UnOp::Neg, a) => Dim::from_expr(a).mul(&Dim::Const(-1)),
            ExprKind::Binary(op, a, b) => {
                let (x, y) = (Dim::from_expr(a), Dim::from_expr(b));
                match op {
                    BinOp::Add => x.add(&y),
                    BinOp::Sub => x.sub(&y),
                    BinOp::Mul => x.mul(&y),
                    BinOp::Div => x.div(&y),
                    BinOp::Rem => x.rem(&y),
                    _ => Dim::atom(expr.clone()),
                }
            }
            _ => Dim::atom(expr.clone()),
        }
    }

    /// The value, if it is known.
    pub fn as_const(&self) -> Option<i64> {
        match self {
            Dim::Const(v) => Some(*v),
            Dim::Sym(_) => None,
        }
    }

    /// Known to be exactly `value`?
    pub fn is(&self, value: i64) -> bool {
        self.as_const() == Some(value)
    }

    fn terms(&self) -> BTreeMap<Monomial, i64> {
        match self {
            Dim::Const(0) => BTreeMap::new(),
            Dim::Const(v) => BTreeMap::from([(Vec::new(), *v)]),
            Dim::Sym(t) => (**t).clone(),
        }
    }

    fn from_terms(mut terms: BTreeMap<Monomial, i64>) -> Dim {
        terms.retain(|_, c| *c != 0);
        match terms.len() {
            0 => Dim::Const(0),
            1 if terms.contains_key(&Vec::new()) => Dim::Const(terms[&Vec::new()]),
            _ => Dim::Sym(Arc::new(terms)),
        }
    }

    /// An opaque atom for `a op b`, used where the polynomial form cannot hold the result.
    fn opaque(op: BinOp, a: &Dim, b: &Dim) -> Dim {
        Dim::atom(Expr::binary(op, a.to_expr(), b.to_expr()))
    }

    /// Sum.
    pub fn add(&self, other: &Dim) -> Dim {
        if let (Dim::Const(a), Dim::Const(b)) = (self, other) {
            return a.checked_add(*b).map_or_else(|| Dim::opaque(BinOp::Add, self, other), Dim::Const);
        }
        let mut terms = self.terms();
        for (m, c) in other.terms() {
            let slot = terms.entry(m).or_insert(0);
            match slot.checked_add(c) {
                Some(sum) => *slot = sum,
                None => return Dim::opaque(BinOp::Add, self, other),
            }
        }
        Dim::from_terms(terms)
    }

    /// Difference.
    pub fn sub(&self, other: &Dim) -> Dim {
        if let (Dim::Const(a), Dim::Const(b)) = (self, other) {
            return a.checked_sub(*b).map_or_else(|| Dim::opaque(BinOp::Sub, self, other), Dim::Const);
        }
        self.add(&other.mul(&Dim::Const(-1)))
    }

    /// Product.
    pub fn mul(&self, other: &Dim) -> Dim {
        if let (Dim::Const(a), Dim::Const(b)) = (self, other) {
            return a.checked_mul(*b).map_or_else(|| Dim::opaque(BinOp::Mul, self, other), Dim::Const);
        }
        let (left, right) = (self.terms(), other.terms());
        let nodes = weight(&left).saturating_mul(right.len()) + weight(&right).saturating_mul(left.len());
        if nodes > MAX_PRODUCT_NODES && left.len().max(right.len()) > 1 {
            return Dim::opaque(BinOp::Mul, self, other);
        }
        let mut terms: BTreeMap<Monomial, i64> = BTreeMap::new();
        for (m, c) in &left {
            for (n, d) in &right {
                let mut product: Monomial = m.iter().chain(n).cloned().collect();
                product.sort();
                let slot = terms.entry(product).or_insert(0);
                match c.checked_mul(*d).and_then(|p| slot.checked_add(p)) {
                    Some(v) => *slot = v,
                    None => return Dim::opaque(BinOp::Mul, self, other),
                }
            }
        }
        Dim::from_terms(terms)
    }

    /// Exact quotient, when it is known that `other` divides `self` as a polynomial.
    pub fn div_exact(&self, other: &Dim) -> Option<Dim> {
        if self == other && !self.is(0) {
            return Some(Dim::ONE);
        }
        if let (Dim::Const(a), Dim::Const(b)) = (self, other) {
            return (a.checked_rem(*b)? == 0).then(|| Dim::Const(a / b));
        }
        let divisor = other.terms();
        if divisor.len() != 1 {
            return None; // a sum only divides itself here
        }
        let (dm, dc) = divisor.into_iter().next()?;
        let mut out = BTreeMap::new();
        for (m, c) in self.terms() {
            if c.checked_rem(dc)? != 0 {
                return None;
            }
            let mut rest = m;
            for atom in &dm {
                let at = rest.iter().position(|x| x == atom)?;
                rest.remove(at);
            }
            out.insert(rest, c / dc);
        }
        Some(Dim::from_terms(out))
    }

    /// `self / other` as the language divides (towards zero; by zero gives 0): exact where it is known to be.
    pub fn div(&self, other: &Dim) -> Dim {
        match (self, other) {
            (Dim::Const(_), Dim::Const(0)) => Dim::ZERO,
            (Dim::Const(a), Dim::Const(b)) => Dim::Const(a.wrapping_div(*b)),
            _ => match other.as_const().and_then(|_| self.div_exact(other)) {
                Some(q) => q,
                None => Dim::opaque(BinOp::Div, self, other),
            },
        }
    }

    /// `self % other` as the language does it (sign of `self`; by zero gives 0).
    pub fn rem(&self, other: &Dim) -> Dim {
        match (self, other) {
            (Dim::Const(_), Dim::Const(0)) => Dim::ZERO,
            (Dim::Const(a), Dim::Const(b)) => Dim::Const(a.wrapping_rem(*b)),
            (_, Dim::Const(b)) if *b != 0 && self.div_exact(other).is_some() => Dim::ZERO,
            _ => Dim::opaque(BinOp::Rem, self, other),
        }
    }

    /// The dim as an expression: constants first folded, terms in canonical order, largest monomials first.
    pub fn to_expr(&self) -> Expr {
        let terms = match self {
            Dim::Const(v) => return Expr::int(*v),
            Dim::Sym(t) => t,
        };
        let mut sum: Option<Expr> = None;
        for (m, c) in terms.iter().rev() {
            let mut factor: Option<Expr> = None;
            for atom in m {
                factor = Some(match factor {
                    None => atom.clone(),
                    Some(f) => Expr::binary(BinOp::Mul, f, atom.clone()),
                });
            }
            let negative = *c < 0 && *c != i64::MIN; // i64::MIN has no magnitude: it stays a factor
            let magnitude = if negative { -*c } else { *c };
            let term = match factor {
                None => Expr::int(magnitude),
                Some(f) if magnitude == 1 => f,
                Some(f) => Expr::binary(BinOp::Mul, f, Expr::int(magnitude)),
            };
            sum = Some(match sum {
                None if negative => match term.as_int() {
                    Some(v) => Expr::int(v.wrapping_neg()),
                    None => Expr::new(ExprKind::Unary(UnOp::Neg, Box::new(term))),
                },
                None => term,
                Some(s) if negative => Expr::binary(BinOp::Sub, s, term),
                Some(s) => Expr::binary(BinOp::Add, s, term),
            });
        }
        sum.unwrap_or_else(|| Expr::int(0))
    }

    /// The terms: `(atoms multiplied, coefficient)`. A constant has one term without atoms; zero has none.
    pub fn monomials(&self) -> Vec<(Monomial, i64)> {
        self.terms().into_iter().collect()
    }

    /// How large it is: nodes of all atoms, and one for each term.
    pub fn weight(&self) -> usize {
        match self {
            Dim::Const(_) => 1,
            Dim::Sym(terms) => weight(terms),
        }
    }

    /// Every atom, each once, in order.
    pub fn atoms(&self) -> Vec<Expr> {
        let mut atoms: Vec<Expr> = self.terms().into_keys().flatten().collect();
        atoms.sort();
        atoms.dedup();
        atoms
    }

    /// Replaces atoms: `f` gives the value of an atom, or `None` to keep it.
    pub fn substitute(&self, f: &dyn Fn(&Expr) -> Option<Dim>) -> Dim {
        let mut sum = Dim::ZERO;
        for (m, c) in self.terms() {
            let mut term = Dim::Const(c);
            for atom in m {
                term = term.mul(&f(&atom).unwrap_or_else(|| Dim::atom(atom.clone())));
            }
            sum = sum.add(&term);
        }
        sum
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::text::print_expr(&self.to_expr()).fmt(f)
    }
}

impl fmt::Debug for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n() -> Dim {
        Dim::from(&Name::new("n"))
    }

    #[test]
    fn polynomials_are_canonical() {
        let a = n().add(&Dim::Const(1)).mul(&n());
        let b = n().mul(&n()).add(&n());
        assert_eq!(a, b);
        assert_eq!(a.sub(&b), Dim::ZERO);
    }

    #[test]
    fn exact_division() {
        assert_eq!(n().mul(&Dim::Const(8)).div_exact(&Dim::Const(4)), Some(n().mul(&Dim::Const(2))));
        assert_eq!(n().mul(&Dim::Const(8)).div_exact(&n()), Some(Dim::Const(8)));
        assert_eq!(n().div_exact(&Dim::Const(2)), None);
        assert_eq!(Dim::Const(7).div_exact(&Dim::Const(0)), None);
    }

    #[test]
    fn overflow_is_opaque_not_wrong() {
        let big = Dim::Const(i64::MAX);
        assert_eq!(big.add(&Dim::ONE).as_const(), None);
        assert_eq!(Dim::Const(1 << 40).mul(&Dim::Const(1 << 40)).as_const(), None);
    }

    #[test]
    fn products_of_many_sums_stay_small() {
        let sum = |i: usize| Dim::from(&Name::from(format!("a{i}"))).add(&Dim::from(&Name::from(format!("b{i}"))));
        let product = (0..60).fold(Dim::ONE, |p, i| p.mul(&sum(i)));
        assert!(weight(&product.terms()) <= 3 * MAX_PRODUCT_NODES);
    }

    #[test]
    fn substitution_folds() {
        let e = n().mul(&Dim::Const(4)).add(&Dim::Const(2));
        assert_eq!(e.substitute(&|_| Some(Dim::Const(3))), Dim::Const(14));
    }
}

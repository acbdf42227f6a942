//! Sums of notifies: counts the points of a box of loops at which conditions hold and the destination is this rank.
//!
//! Variables (loops, warps, threads, CTAs) are eliminated one at a time, innermost first. A condition that is linear in
//! the variable with coefficient 1 or -1 bounds it or gives its only value; a destination `(v + …) % lsa_size` gives its
//! value modulo the number of ranks. Anything else is refused with the reason.
//!
//! Ranks are taken to be valid (0 <= rank < lsa_size): every executor refuses a copy to a rank that is not.

use indexmap::IndexMap;

use super::Who;
use super::collect::Site;
use super::linear::{
    Bound, bound, describe, factor_mentions, is_lsa_size, linear, mentions, mod_ranks, negate, replace, split_and,
    unequal,
};
use crate::dim::Dim;
use crate::expr::{BinOp, CommField, Expr, ExprKind, Special, UnOp};
use crate::name::Name;

/// Values of a variable: `lo..hi`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Range {
    /// The variable, a leaf.
    pub(super) var: Expr,
    /// First value.
    pub(super) lo: Expr,
    /// One past the last value.
    pub(super) hi: Expr,
    /// Why other ranks do not know `lo`, if so.
    pub(super) lo_unknown: Option<String>,
    /// Why other ranks do not know `hi`, if so.
    pub(super) hi_unknown: Option<String>,
}

impl Range {
    fn new(var: Expr, lo: Expr, hi: Expr) -> Range {
        Range { var, lo, hi, lo_unknown: None, hi_unknown: None }
    }
}

/// Something that must hold for a point to count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Cond {
    /// The bool is true.
    Test(Expr),
    /// The rank is this rank.
    IsMe(Expr),
}

impl Cond {
    /// `cond` holds, or does not.
    pub(super) fn test(cond: Expr, wanted: bool) -> Cond {
        Cond::Test(if wanted { cond } else { negate(&cond) })
    }

    fn expr(&self) -> &Expr {
        match self {
            Cond::Test(e) | Cond::IsMe(e) => e,
        }
    }

    fn map(&self, f: &dyn Fn(&Expr) -> Expr) -> Cond {
        match self {
            Cond::Test(e) => Cond::Test(f(e)),
            Cond::IsMe(e) => Cond::IsMe(f(e)),
        }
    }
}

/// `coef * factor` where all conditions hold.
#[derive(Clone, Debug)]
pub(super) struct Term {
    coef: i64,
    factor: Dim,
    conds: Vec<Cond>,
}

/// Terms that one count may grow to; each `!=` on a variable adds one.
const MAX_TERMS: usize = 64;

/// Variables of a kind that a proof tries to replace by their bounds.
const MAX_TRIES: usize = 4;

/// The receiving side: who waits, for whom, and what is known there.
pub(super) struct Problem {
    /// This rank.
    me: Expr,
    /// The sending rank.
    sender: Expr,
    /// Loops around the wait.
    loops: Vec<Range>,
}

type Refused = String;

impl Problem {
    pub(super) fn new<'a>(me: &Expr, sender: &Expr, loops: impl Iterator<Item = &'a Range>) -> Problem {
        Problem { me: me.clone(), sender: sender.clone(), loops: loops.cloned().collect() }
    }

    /// The notifies of `times` sites of this class.
    pub(super) fn count(&self, site: &Site, times: i64) -> Result<Vec<Term>, Refused> {
        let as_sender = |e: &Expr| replace(e, &self.me, &self.sender);
        // A loop that ends at its own variable ends at the wait's trip: the sum runs over a variable of its own then.
        let partial = site.loops.first().filter(|l| l.range.hi == l.range.var).map(|l| l.range.var.clone());
        let fresh = Expr::var(&Name::new("#trip"));
        let convert = |e: &Expr| match &partial {
            Some(var) => as_sender(&replace(e, var, &fresh)),
            None => as_sender(e),
        };
        let mut terms = self.start(site, times, &convert);
        let mut ranges = self.group_ranges(site, &mut terms)?;
        for (i, l) in site.loops.iter().enumerate() {
            let r = &l.range;
            if let Some(why) = r.lo_unknown.as_ref().or(r.hi_unknown.as_ref()) {
                return Err(why.clone());
            }
            let range = match &partial {
                Some(var) if i == 0 => Range::new(fresh.clone(), as_sender(&r.lo), var.clone()),
                _ => Range::new(r.var.clone(), convert(&r.lo), convert(&r.hi)),
            };
            ranges.push(range);
        }
        for range in ranges.iter().rev() {
            let mut next = Vec::new();
            for term in terms {
                next.extend(self.eliminate(term, range)?);
                if next.len() > MAX_TERMS {
                    return Err("the conditions around the copy are too many".to_owned());
                }
            }
            terms = next;
        }
        Ok(terms)
    }

    /// One term for each destination, the later ones where no earlier one is the same rank.
    fn start(&self, site: &Site, times: i64, as_sender: &dyn Fn(&Expr) -> Expr) -> Vec<Term> {
        let base: Vec<Cond> = site.conds.iter().map(|c| c.map(as_sender)).collect();
        let dsts: Vec<Expr> = site.dsts.iter().map(as_sender).collect();
        let groups = match site.who {
            Who::Groups(n) => i64::from(n),
            _ => 1,
        };
        let mut terms = Vec::new();
        for (i, dst) in dsts.iter().enumerate() {
            let mut conds = base.clone();
            conds.push(Cond::IsMe(dst.clone()));
            for earlier in &dsts[..i] {
                let apart = Expr::binary(BinOp::Ne, earlier.clone(), self.me.clone());
                conds.push(Cond::Test(apart));
            }
            terms.push(Term { coef: times.saturating_mul(groups), factor: Dim::ONE, conds });
        }
        terms
    }

    /// Variables that are no loops: CTAs of the grid (outermost), then warps or threads.
    fn group_ranges(&self, site: &Site, terms: &mut [Term]) -> Result<Vec<Range>, Refused> {
        let mut ranges = Vec::new();
        for (d, extent) in site.grid.iter().enumerate().filter(|(_, e)| e.as_int() != Some(1)) {
            ranges.push(Range::new(Expr::special(Special::Block(d as u8)), Expr::int(0), extent.clone()));
        }
        match &site.who {
            Who::Groups(_) => {}
            Who::Warps(lo, hi) => {
                let var = Expr::special(Special::Warp);
                ranges.push(Range::new(var, Expr::int((*lo).into()), Expr::int((*hi).into())));
            }
            Who::Threads(lo, hi) => {
                // Lanes of one wave with the same destination notify once, so each destination must be met by one thread.
                let var = Expr::special(Special::ThreadLinear);
                for t in terms.iter_mut() {
                    let one = t.conds.iter().any(|c| matches!(c, Cond::IsMe(e) if self.only_value(e, &var).is_some()));
                    if !one {
                        return Err("several threads may have the same destination rank".to_owned());
                    }
                }
                ranges.push(Range::new(var, Expr::int((*lo).into()), Expr::int((*hi).into())));
            }
            Who::Unknown(why) => return Err(why.clone()),
        }
        Ok(ranges)
    }

    /// The value of `var` at which the rank `dst` is this rank, if it is linear in it.
    fn only_value(&self, dst: &Expr, var: &Expr) -> Option<Dim> {
        let (coef, rest) = linear(&Dim::from_expr(dst), var)?;
        match coef {
            1 => Some(Dim::from_expr(&self.me).sub(&rest)),
            -1 => Some(rest.sub(&Dim::from_expr(&self.me))),
            _ => None,
        }
    }

    /// The same modulo the number of ranks.
    fn value_mod_ranks(&self, dst: &Expr, var: &Expr) -> Option<Dim> {
        if !matches!(&dst.kind, ExprKind::Binary(BinOp::Rem, _, s) if is_lsa_size(s)) {
            return None;
        }
        let (coef, rest) = linear(&mod_ranks(dst), var)?;
        let me = mod_ranks(&self.me);
        match coef {
            1 => Some(me.sub(&rest)),
            -1 => Some(rest.sub(&me)),
            _ => None,
        }
    }

    /// Sums a term over a variable.
    fn eliminate(&self, term: Term, range: &Range) -> Result<Vec<Term>, Refused> {
        let var = &range.var;
        let (mut about, mut others): (Vec<Cond>, Vec<Cond>) = (Vec::new(), Vec::new());
        for c in term.conds.iter().flat_map(split_and) {
            if mentions(c.expr(), var) { about.push(c) } else { others.push(c) }
        }
        // `v != e`: all, less those where it is equal. Where the value is given anyway, the condition is one on it.
        let given = about.iter().any(|c| match c {
            Cond::IsMe(e) => self.only_value(e, var).is_some(),
            Cond::Test(e) => matches!(bound(e, var), Some(Bound::Equal(_))),
        });
        if !given
            && let Some(i) = about.iter().position(|c| unequal(c).is_some())
            && let Some((a, b)) = unequal(&about.remove(i))
        {
            let rest: Vec<Cond> = others.iter().chain(&about).cloned().collect();
            let mut equal = rest.clone();
            equal.push(Cond::Test(Expr::binary(BinOp::Eq, a, b)));
            let mut out = self.eliminate(Term { conds: rest, ..term.clone() }, range)?;
            let less = Term { conds: equal, coef: term.coef.wrapping_neg(), ..term };
            out.extend(self.eliminate(less, range)?);
            return Ok(out);
        }
        let (mut lo, mut hi) = (Dim::from_expr(&range.lo), Dim::from_expr(&range.hi));
        let mut point: Option<Dim> = None;
        let mut modulo: Option<(Dim, Cond)> = None;
        let mut kept = Vec::new();
        for c in about {
            match &c {
                Cond::IsMe(e) if point.is_none() && self.only_value(e, var).is_some() => {
                    point = self.only_value(e, var)
                }
                Cond::IsMe(e) if modulo.is_none() && self.value_mod_ranks(e, var).is_some() => {
                    modulo = self.value_mod_ranks(e, var).map(|m| (m, c.clone()));
                }
                Cond::Test(e) => match bound(e, var) {
                    Some(Bound::Equal(p)) if point.is_none() => point = Some(p),
                    Some(Bound::AtLeast(b)) => lo = self.larger(&lo, &b),
                    Some(Bound::Below(b)) => hi = self.smaller(&hi, &b),
                    _ => kept.push(c),
                },
                Cond::IsMe(_) => kept.push(c),
            }
        }
        let whole = Dim::from_expr(&range.hi).sub(&Dim::from_expr(&range.lo));
        self.sum_over(Sum { term, others, kept, lo, hi, point, modulo, whole }, var)
    }

    fn sum_over(&self, s: Sum, var: &Expr) -> Result<Vec<Term>, Refused> {
        let Sum { term, mut others, mut kept, lo, hi, point, modulo, whole } = s;
        let length = hi.sub(&lo);
        let at = match (point, modulo) {
            (Some(p), m) => {
                others.push(Cond::Test(Expr::binary(BinOp::Le, lo.to_expr(), p.to_expr())));
                others.push(Cond::Test(Expr::binary(BinOp::Lt, p.to_expr(), hi.to_expr())));
                kept.extend(m.map(|(_, cond)| cond));
                Some(p)
            }
            (None, Some((m, _))) => {
                let steps = self.steps_mod_ranks(&m.sub(&lo));
                if self.at_most_ranks(&whole) || self.at_most_ranks(&length) {
                    others.push(Cond::Test(Expr::binary(BinOp::Lt, steps.to_expr(), length.to_expr())));
                    Some(lo.add(&steps))
                } else if kept.is_empty() && !factor_mentions(&term.factor, var) {
                    let n = self.at_least_zero(&length);
                    let size = Dim::atom(self.lsa_size()?);
                    let count = n.add(&size).sub(&Dim::ONE).sub(&steps).div(&size);
                    return Ok(vec![Term { factor: term.factor.mul(&count), conds: others, ..term }]);
                } else {
                    return Err("a loop meets the same destination rank more than once, under conditions".to_owned());
                }
            }
            (None, None) => None,
        };
        match at {
            Some(p) => {
                let value = p.to_expr();
                others.extend(kept.iter().map(|c| c.map(&|e| replace(e, var, &value))));
                let factor =
                    term.factor.substitute(&|a| mentions(a, var).then(|| Dim::from_expr(&replace(a, var, &value))));
                Ok(vec![Term { factor, conds: others, ..term }])
            }
            None if !kept.is_empty() => Err(format!("a condition on {} is not understood", describe(var))),
            None if factor_mentions(&term.factor, var) => {
                Err(format!("the number of trips of an inner loop depends on {}", describe(var)))
            }
            None => {
                let n = self.at_least_zero(&length);
                Ok(vec![Term { factor: term.factor.mul(&n), conds: others, ..term }])
            }
        }
    }

    /// Steps from the start of a range to the first value that is `distance` modulo the ranks: in `0..lsa_size`.
    fn steps_mod_ranks(&self, distance: &Dim) -> Dim {
        let d = mod_ranks(&distance.to_expr());
        let Ok(size) = self.lsa_size() else { return d };
        let below = Dim::atom(size.clone()).sub(&d).sub(&Dim::ONE);
        if self.not_negative(&d) && self.not_negative(&below) {
            return d;
        }
        let once = Expr::binary(BinOp::Rem, d.to_expr(), size.clone());
        Dim::atom(Expr::binary(BinOp::Rem, Expr::binary(BinOp::Add, once, size.clone()), size))
    }

    /// Proved to be no more than the number of ranks?
    fn at_most_ranks(&self, length: &Dim) -> bool {
        self.lsa_size().is_ok_and(|s| self.not_negative(&Dim::atom(s).sub(length)))
    }

    fn lsa_size(&self) -> Result<Expr, Refused> {
        match &self.me.kind {
            ExprKind::Comm(c, _) => Ok(Expr::new(ExprKind::Comm(c.clone(), CommField::LsaSize))),
            _ => Err("there is no communicator".to_owned()),
        }
    }

    fn at_least_zero(&self, d: &Dim) -> Dim {
        match d.as_const() {
            Some(v) => Dim::Const(v.max(0)),
            None if self.not_negative(d) => d.clone(),
            None => Dim::atom(Expr::binary(BinOp::Max, d.to_expr(), Expr::int(0))),
        }
    }

    fn larger(&self, a: &Dim, b: &Dim) -> Dim {
        if self.not_negative(&a.sub(b)) {
            a.clone()
        } else if self.not_negative(&b.sub(a)) {
            b.clone()
        } else {
            Dim::atom(Expr::binary(BinOp::Max, a.to_expr(), b.to_expr()))
        }
    }

    fn smaller(&self, a: &Dim, b: &Dim) -> Dim {
        if self.not_negative(&a.sub(b)) {
            b.clone()
        } else if self.not_negative(&b.sub(a)) {
            a.clone()
        } else {
            Dim::atom(Expr::binary(BinOp::Min, a.to_expr(), b.to_expr()))
        }
    }

    /// Proved to be zero or more? Knows that ranks lie in `0..lsa_size`, that extents are not negative, and the bounds of
    /// the loops around the wait.
    fn not_negative(&self, d: &Dim) -> bool {
        self.prove(d, 0)
    }

    fn prove(&self, d: &Dim, depth: usize) -> bool {
        if d.monomials().iter().all(|(m, c)| *c >= 0 && m.iter().all(|a| self.is_natural(a))) {
            return true;
        }
        if depth == 3 {
            return false;
        }
        let slack = Dim::atom(Expr::var(&Name::from(format!("#slack{depth}"))));
        let try_with = |from: &Expr, to: Dim| {
            let next = d.substitute(&|a| (a == from).then(|| to.clone()));
            next != *d && self.prove(&next, depth + 1)
        };
        let atoms = d.atoms();
        for l in self.loops.iter().filter(|l| atoms.contains(&l.var)).take(MAX_TRIES) {
            let (lo, hi) = (Dim::from_expr(&l.lo), Dim::from_expr(&l.hi));
            if try_with(&l.var, lo.add(&slack)) || try_with(&l.var, hi.sub(&Dim::ONE).sub(&slack)) {
                return true;
            }
        }
        let Ok(size) = self.lsa_size() else { return false };
        let ranks = atoms.into_iter().filter(|a| self.is_rank(a)).take(MAX_TRIES);
        let above = |rank: Dim| rank.add(&Dim::ONE).add(&slack);
        ranks.into_iter().any(|r| try_with(&size, above(Dim::atom(r)))) || try_with(&size, Dim::ONE.add(&slack))
    }

    fn is_rank(&self, atom: &Expr) -> bool {
        *atom == self.me
            || *atom == self.sender
            || matches!(&atom.kind, ExprKind::Binary(BinOp::Rem, _, s) if is_lsa_size(s))
    }

    fn is_natural(&self, atom: &Expr) -> bool {
        self.is_rank(atom)
            || match &atom.kind {
                ExprKind::Comm(..) | ExprKind::Special(_) => true,
                // `where` parameters are not negative; `#slack` is made so. A loop variable may be.
                ExprKind::Var(n) => n.as_str().starts_with("#slack") || !n.as_str().contains('#'),
                ExprKind::Binary(BinOp::Max, _, b) => b.as_int() == Some(0),
                _ => false,
            }
    }

    /// Adds terms up: like terms are merged, conditions that are settled are dropped.
    pub(super) fn sum(&self, terms: Vec<Term>) -> Expr {
        let mut merged: IndexMap<(Vec<Expr>, Dim), i64> = IndexMap::new();
        for t in terms {
            let Some(conds) = self.settle(&t.conds) else { continue };
            let slot = merged.entry((conds, t.factor)).or_insert(0);
            *slot = slot.wrapping_add(t.coef);
        }
        // Terms under the same conditions become one value.
        let mut by_conds: IndexMap<Vec<Expr>, Dim> = IndexMap::new();
        for ((conds, factor), coef) in merged {
            let slot = by_conds.entry(conds).or_insert(Dim::ZERO);
            *slot = slot.add(&factor.mul(&Dim::Const(coef)));
        }
        let mut out = Expr::int(0);
        for (conds, value) in by_conds {
            if value.is(0) {
                continue;
            }
            let all = conds.into_iter().reduce(|a, b| Expr::binary(BinOp::LAnd, a, b));
            let value = value.to_expr();
            let one = match all {
                Some(c) => Expr::new(ExprKind::Select(Box::new(c), Box::new(value), Box::new(Expr::int(0)))),
                None => value,
            };
            out = out.add(one);
        }
        out
    }

    /// The conditions that are not known to hold, sorted; `None` if one is known not to.
    fn settle(&self, conds: &[Cond]) -> Option<Vec<Expr>> {
        let mut out = Vec::new();
        for c in conds.iter().flat_map(split_and) {
            let test = match c {
                Cond::IsMe(d) if mod_ranks(&d).sub(&mod_ranks(&self.me)).is(0) => continue,
                Cond::IsMe(d) => Expr::binary(BinOp::Eq, d, self.me.clone()),
                Cond::Test(e) => e,
            };
            match self.decide(&test) {
                Some(true) => {}
                Some(false) => return None,
                None if out.contains(&test) => {}
                None => out.push(test),
            }
        }
        out.sort();
        Some(out)
    }

    fn decide(&self, test: &Expr) -> Option<bool> {
        match &test.kind {
            ExprKind::Bool(b) => Some(*b),
            ExprKind::Unary(UnOp::Not, a) => self.decide(a).map(|b| !b),
            ExprKind::Binary(BinOp::LOr, a, b) => match (self.decide(a), self.decide(b)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            ExprKind::Binary(op, a, b) if op.is_comparison() => {
                let d = Dim::from_expr(a).sub(&Dim::from_expr(b));
                let positive = |d: &Dim| self.not_negative(&d.sub(&Dim::ONE));
                let negated = Dim::ZERO.sub(&d);
                match op {
                    BinOp::Eq if d.is(0) => Some(true),
                    BinOp::Eq if positive(&d) || positive(&negated) => Some(false),
                    BinOp::Ne if d.is(0) => Some(false),
                    BinOp::Ne if positive(&d) || positive(&negated) => Some(true),
                    BinOp::Lt if positive(&negated) => Some(true),
                    BinOp::Lt if self.not_negative(&d) => Some(false),
                    BinOp::Le if self.not_negative(&negated) => Some(true),
                    BinOp::Le if positive(&d) => Some(false),
                    BinOp::Gt if positive(&d) => Some(true),
                    BinOp::Gt if self.not_negative(&negated) => Some(false),
                    BinOp::Ge if self.not_negative(&d) => Some(true),
                    BinOp::Ge if positive(&negated) => Some(false),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// A term taken apart with respect to one variable.
struct Sum {
    term: Term,
    /// Conditions that do not mention it.
    others: Vec<Cond>,
    /// Conditions on it that are neither a bound nor its value.
    kept: Vec<Cond>,
    lo: Dim,
    hi: Dim,
    /// Its only value.
    point: Option<Dim>,
    /// Its value modulo the number of ranks, and the condition that says so.
    modulo: Option<(Dim, Cond)>,
    /// Length of the range before conditions narrowed it.
    whole: Dim,
}

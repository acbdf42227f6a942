//! Writing a walk down as statements.
//!
//! What does not change in the loops is named once before them. Short loops are written to be repeated (`unroll for`), so
//! that register positions are constants.

use tilewright_ir::{BinOp, Dim, Expr, Place, Swizzle};

use super::walk::{Side, Term, Value, Walk};
use super::work::Dealing;
use crate::select::rewriter::Rewriter;

/// Trips up to which loops over memory are repeated.
const UNROLL_MEMORY: i64 = 16;
/// Trips up to which loops over registers are repeated: a register has no run-time number.
const UNROLL_REGISTERS: i64 = 256;

/// Writes one access: the addresses of all sides, in elements, before `j` more elements.
pub(super) type Access<'a> = &'a dyn Fn(&mut Rewriter, &[Place]);

/// A walk with its work dealt out.
#[derive(Clone, Debug)]
pub(super) struct Script {
    /// Digits and addresses.
    pub walk: Walk,
    /// Number of the worker, if the dealing needs one.
    pub worker: Option<Expr>,
    /// How the work is dealt out.
    pub dealing: Dealing,
    /// Is a side in registers?
    pub registers: bool,
}

/// `a && b && …`; `None` for no condition.
pub(super) fn all_of(conditions: Vec<Expr>) -> Option<Expr> {
    conditions.into_iter().reduce(|a, b| Expr::binary(BinOp::LAnd, a, b))
}

/// Loops, outermost first, and whether each is repeated.
type Loops = Vec<(usize, bool)>;

impl Script {
    /// Writes everything.
    pub(super) fn write(&self, rw: &mut Rewriter, access: Access<'_>) {
        let needs_worker = self.dealing != Dealing::Loops;
        let t = match &self.worker {
            Some(number) if needs_worker => rw.let_("t", number.clone()),
            _ => Expr::int(0),
        };
        let mut conditions = self.walk.guards.clone();
        if let Dealing::Carved(Some(limit)) = self.dealing {
            conditions.push(Expr::binary(BinOp::Lt, t.clone(), Expr::int(limit)));
        }
        match all_of(conditions) {
            Some(cond) => rw.if_(cond, |rw| self.inside(rw, &t, access)),
            None => self.inside(rw, &t, access),
        }
    }

    /// The values that digits have before any loop, from thread ids and the worker's number `t`.
    pub(super) fn fixed(&self, t: &Expr) -> Vec<Option<Expr>> {
        let value = |v: &Value| match v {
            Value::Thread(e) => Some(e.clone()),
            Value::Worker { div, modulus } => {
                let q = t.clone().div_by(*div);
                Some(modulus.map_or(q.clone(), |m| q.rem_by(m)))
            }
            Value::Loop | Value::Item { .. } => None,
        };
        self.walk.vars.iter().map(|v| value(&v.value)).collect()
    }

    fn inside(&self, rw: &mut Rewriter, t: &Expr, access: Access<'_>) {
        let mut values = self.fixed(t);
        let hoisted: Vec<Expr> = self
            .walk
            .sides
            .iter()
            .enumerate()
            .map(|(k, side)| {
                let known = sum(side.base.to_expr(), side, &|v| values[v].clone(), true);
                let known = if self.swizzles_early(side) { swizzled(rw, k, side, known) } else { known };
                rw.let_(name_of(k), known)
            })
            .collect();
        match &self.dealing {
            Dealing::Items { total, workers } => self.items(rw, t, total, *workers, &mut values, &hoisted, access),
            Dealing::Loops | Dealing::Carved(_) => {
                let loops = self.loops();
                self.nest(rw, &loops, &mut values, &hoisted, access);
            }
        }
    }

    /// The loop digits, and which are short enough to repeat, counted from the inside.
    fn loops(&self) -> Loops {
        let limit = if self.registers { UNROLL_REGISTERS } else { UNROLL_MEMORY };
        let mut trips = Some(1i64);
        let mut out: Loops = Vec::new();
        for &var in self.walk.order.iter().rev() {
            if self.walk.vars[var].value == Value::Loop {
                let extent = self.walk.vars[var].extent.as_const();
                trips = trips.zip(extent).and_then(|(a, b)| a.checked_mul(b)).filter(|p| *p <= limit);
                out.push((var, trips.is_some()));
            }
        }
        out.reverse();
        out
    }

    fn nest(
        &self,
        rw: &mut Rewriter,
        loops: &[(usize, bool)],
        values: &mut Vec<Option<Expr>>,
        hoisted: &[Expr],
        access: Access<'_>,
    ) {
        let Some(((var, unroll), inner)) = loops.split_first() else {
            return self.access(rw, values, hoisted, access);
        };
        let extent = self.walk.vars[*var].extent.to_expr();
        rw.for_("i", Expr::int(0), extent, *unroll, |rw, index| {
            values[*var] = Some(index);
            self.nest(rw, inner, values, hoisted, access);
        });
    }

    #[expect(clippy::too_many_arguments, reason = "the state of one emission, passed down a recursion")]
    fn items(
        &self,
        rw: &mut Rewriter,
        t: &Expr,
        total: &Dim,
        workers: i64,
        values: &mut Vec<Option<Expr>>,
        hoisted: &[Expr],
        access: Access<'_>,
    ) {
        let at = |k: Expr| k.mul(Expr::int(workers)).add(t.clone());
        let below = |w: Expr, limit: Expr| Expr::binary(BinOp::Lt, w, limit);
        let Some(known) = total.as_const() else {
            let trips = total.add(&Dim::Const(workers - 1)).to_expr().div_by(workers);
            rw.for_("k", Expr::int(0), trips, false, |rw, k| {
                let w = rw.let_("w", at(k));
                rw.if_(below(w.clone(), total.to_expr()), |rw| self.item(rw, &w, values, hoisted, access));
            });
            return;
        };
        let (full, rest) = (known / workers, known % workers);
        rw.for_("k", Expr::int(0), Expr::int(full), full <= UNROLL_MEMORY, |rw, k| {
            let w = rw.let_("w", at(k));
            self.item(rw, &w, values, hoisted, access);
        });
        if rest > 0 {
            rw.if_(below(t.clone(), Expr::int(rest)), |rw| {
                let w = rw.let_("w", at(Expr::int(full)));
                self.item(rw, &w, values, hoisted, access);
            });
        }
    }

    /// Item number `w`.
    fn item(&self, rw: &mut Rewriter, w: &Expr, values: &mut Vec<Option<Expr>>, hoisted: &[Expr], access: Access<'_>) {
        for (k, var) in self.walk.vars.iter().enumerate() {
            if let Value::Item { div, modulus } = &var.value {
                let q = over(BinOp::Div, w.clone(), div);
                values[k] = Some(modulus.as_ref().map_or(q.clone(), |m| over(BinOp::Rem, q, m)));
            }
        }
        let loops = self.loops();
        self.nest(rw, &loops, values, hoisted, access);
    }

    fn access(&self, rw: &mut Rewriter, values: &[Option<Expr>], hoisted: &[Expr], access: Access<'_>) {
        let fixed = self.fixed(&Expr::int(0));
        let mut places = Vec::with_capacity(hoisted.len());
        for (k, side) in self.walk.sides.iter().enumerate() {
            let late = |v: usize| if fixed[v].is_some() { None } else { values[v].clone() };
            let all = |v: usize| values[v].clone();
            let mut flat = sum(hoisted[k].clone(), side, &late, false);
            flat = mixed_late(flat, side, &|v| fixed[v].is_some(), &all);
            if !self.swizzles_early(side) {
                flat = swizzled(rw, k, side, flat);
            }
            places.push(rw.place(&side.buf, side.rank.as_ref(), flat));
        }
        access(rw, &places);
    }

    /// May the swizzle be applied before the loops? Yes if all that they add are whole windows of it.
    fn swizzles_early(&self, side: &Side) -> bool {
        let Some(s) = side.swizzle else { return true };
        let fixed = self.fixed(&Expr::int(0));
        side.terms.iter().all(|term| match term {
            Term::Digit { var, stride } => {
                fixed[*var].is_some() || stride.as_const().is_some_and(|v| v % s.period() == 0)
            }
            Term::Mixed { q, .. } => q.iter().all(|(v, _)| fixed[*v].is_some()),
        })
    }
}

fn name_of(side: usize) -> &'static str {
    if side == 0 { "d" } else { "s" }
}

fn over(op: BinOp, a: Expr, b: &Dim) -> Expr {
    match (op, b.as_const()) {
        (BinOp::Div, Some(v)) => a.div_by(v),
        (BinOp::Rem, Some(v)) => a.rem_by(v),
        _ => Expr::binary(op, a, b.to_expr()),
    }
}

/// `start` plus the digit terms whose value is known; with `mixed`, also the mixed terms all of whose digits are.
fn sum(start: Expr, side: &Side, value: &dyn Fn(usize) -> Option<Expr>, mixed: bool) -> Expr {
    let mut total = start;
    for term in &side.terms {
        match term {
            Term::Digit { var, stride } => {
                if let Some(v) = value(*var) {
                    total = total.add(v.mul(stride.to_expr()));
                }
            }
            Term::Mixed { q, .. } if mixed && q.iter().all(|(v, _)| value(*v).is_some()) => {
                total = total.add(mixed_value(term, value));
            }
            Term::Mixed { .. } => {}
        }
    }
    total
}

/// Adds the mixed terms that were not all known before the loops.
fn mixed_late(start: Expr, side: &Side, early: &dyn Fn(usize) -> bool, value: &dyn Fn(usize) -> Option<Expr>) -> Expr {
    let mut total = start;
    for term in &side.terms {
        if let Term::Mixed { q, .. } = term
            && !q.iter().all(|(v, _)| early(*v))
        {
            total = total.add(mixed_value(term, value));
        }
    }
    total
}

/// `Σ (q / div % modulus) * stride`.
fn mixed_value(term: &Term, value: &dyn Fn(usize) -> Option<Expr>) -> Expr {
    let Term::Mixed { base, q, parts } = term else { return Expr::int(0) };
    let flat = q
        .iter()
        .fold(base.to_expr(), |sum, (v, weight)| sum.add(value(*v).unwrap_or(Expr::int(0)).mul(weight.to_expr())));
    let mut total = Expr::int(0);
    for part in parts.iter().filter(|p| super::digits::is_memory(&p.axis)) {
        let digit = over(BinOp::Div, flat.clone(), &part.div);
        let digit = part.modulus.as_ref().map_or(digit.clone(), |m| over(BinOp::Rem, digit, m));
        total = total.add(digit.mul(part.stride.to_expr()));
    }
    total
}

/// The swizzled address: `m ^ phase(m)`.
fn swizzled(rw: &mut Rewriter, k: usize, side: &Side, m: Expr) -> Expr {
    let Some(s) = side.swizzle else { return m };
    if let Some(v) = m.as_int() {
        return Expr::int(s.apply(v));
    }
    let m = rw.let_(name_of(k), m);
    swizzle_expr(&s, m)
}

/// The swizzle of an address as an expression; `m` is used twice.
pub fn swizzle_expr(s: &Swizzle, m: Expr) -> Expr {
    let mask = (1i64 << s.swizzle_len.min(62)) - 1;
    let low = s.per_element.min(62);
    let (field, op) = if s.inner { (low + s.atom_len, BinOp::Shr) } else { (low, BinOp::Shl) };
    let bits = Expr::binary(BinOp::And, m.clone(), Expr::int(mask.wrapping_shl(field)));
    let phase = match s.atom_len {
        0 => bits,
        a => Expr::binary(op, bits, Expr::int(i64::from(a))),
    };
    Expr::binary(BinOp::Xor, m, phase)
}

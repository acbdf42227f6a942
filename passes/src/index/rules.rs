//! The rewrite rules.
//!
//! A rule looks at one node of the e-graph and names terms that are equal to it. Each holds under wrapping arithmetic:
//! where the textbook form needs that nothing overflows, or that a value is not negative, the rule asks the analysis.
//! Must hold: whatever a rule names equals its node for every value of the leaves that fits what is known of them; the
//! tests beside this file check each rule alone on random values, the ends of i64 included.

use egg::Id;
use tilewright_ir::BinOp;

use super::lang::{Graph, Known};
use super::sums::{Sum, Term};

/// One rule.
pub(super) struct Rule {
    /// Its name, kebab-case.
    #[cfg_attr(not(test), expect(dead_code, reason = "for messages of tests; the pass needs no names"))]
    pub(super) name: &'static str,
    /// Pushes terms equal to `a op b`, a node of class `class`.
    pub(super) apply: fn(&Graph, At, &mut Vec<Term>),
}

/// A node, by operator and operands, and its class.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) class: Id,
    pub(super) op: BinOp,
    pub(super) a: Id,
    pub(super) b: Id,
}

/// Every rule, in the order in which they are tried.
pub(super) const RULES: &[Rule] = &[
    Rule { name: "shift-as-product", apply: shift_as_product },
    Rule { name: "shift-as-quotient", apply: shift_as_quotient },
    Rule { name: "mask-as-remainder", apply: mask_as_remainder },
    Rule { name: "quotient-as-shift", apply: quotient_as_shift },
    Rule { name: "remainder-as-mask", apply: remainder_as_mask },
    Rule { name: "collect", apply: collect },
    Rule { name: "quotient-of-sum", apply: quotient_of_sum },
    Rule { name: "remainder-of-sum", apply: remainder_of_sum },
    Rule { name: "quotient-of-quotient", apply: quotient_of_quotient },
    Rule { name: "remainder-of-remainder", apply: remainder_of_remainder },
    Rule { name: "digits-together", apply: digits_together },
    Rule { name: "quotient-and-remainder", apply: quotient_and_remainder },
    Rule { name: "without-remainder", apply: without_remainder },
    Rule { name: "round-down", apply: round_down },
    Rule { name: "idle-mask", apply: idle_mask },
    Rule { name: "mask-of-mask", apply: mask_of_mask },
    Rule { name: "mask-of-parts", apply: mask_of_parts },
    Rule { name: "shift-of-parts", apply: shift_of_parts },
    Rule { name: "disjoint-as-sum", apply: disjoint_as_sum },
    Rule { name: "xor-twice", apply: xor_twice },
];

fn known(g: &Graph, id: Id) -> Known {
    g[id].data
}

fn int(g: &Graph, id: Id) -> Option<i64> {
    known(g, id).value()
}

/// Operands of the nodes of a class that have the operator.
fn nodes(g: &Graph, id: Id, op: BinOp) -> impl Iterator<Item = [Id; 2]> {
    let parts = g[id].nodes.iter().filter_map(|node| node.parts());
    parts.filter(move |(o, _)| *o == op).map(|(_, [a, b])| [g.find(a), g.find(b)])
}

/// Exponent of a power of two from 2 to 2^61.
fn exponent(v: i64) -> Option<i64> {
    (v > 1 && v <= 1 << 61 && v & (v - 1) == 0).then(|| i64::from(v.trailing_zeros()))
}

/// The operand that is a literal and the other one, for an operator whose operands may be swapped.
fn literal(g: &Graph, at: At) -> Option<(Id, i64)> {
    int(g, at.b).map(|v| (at.a, v)).or_else(|| int(g, at.a).map(|v| (at.b, v)))
}

/// `x << k` is `x * 2^k`; always.
fn shift_as_product(g: &Graph, at: At, out: &mut Vec<Term>) {
    if let (BinOp::Shl, Some(k @ 1..=61)) = (at.op, int(g, at.b)) {
        out.push(Term::with_int(BinOp::Mul, at.a, 1 << k));
    }
}

/// `x >> k` is `x / 2^k` where `x >= 0`.
fn shift_as_quotient(g: &Graph, at: At, out: &mut Vec<Term>) {
    if let (BinOp::Shr, Some(k @ 1..=61)) = (at.op, int(g, at.b))
        && known(g, at.a).nonneg()
    {
        out.push(Term::with_int(BinOp::Div, at.a, 1 << k));
    }
}

/// `x & (2^k - 1)` is `x % 2^k` where `x >= 0`.
fn mask_as_remainder(g: &Graph, at: At, out: &mut Vec<Term>) {
    if at.op == BinOp::And
        && let Some((x, mask)) = literal(g, at)
        && let Some(n) = mask.checked_add(1)
        && exponent(n).is_some()
        && known(g, x).nonneg()
    {
        out.push(Term::with_int(BinOp::Rem, x, n));
    }
}

/// `x / 2^k` is `x >> k` where `x >= 0`, or where `2^k` divides `x`.
fn quotient_as_shift(g: &Graph, at: At, out: &mut Vec<Term>) {
    if let (BinOp::Div, Some(c)) = (at.op, int(g, at.b))
        && let Some(k) = exponent(c)
        && (known(g, at.a).nonneg() || known(g, at.a).step % c == 0)
    {
        out.push(Term::with_int(BinOp::Shr, at.a, k));
    }
}

/// `x % 2^k` is `x & (2^k - 1)` where `x >= 0`.
fn remainder_as_mask(g: &Graph, at: At, out: &mut Vec<Term>) {
    if let (BinOp::Rem, Some(c)) = (at.op, int(g, at.b))
        && exponent(c).is_some()
        && known(g, at.a).nonneg()
    {
        out.push(Term::with_int(BinOp::And, at.a, c - 1));
    }
}

/// Sums and products by literals with like summands put together: `(x + y) - x`, `x * 4 * 2`; always.
fn collect(g: &Graph, at: At, out: &mut Vec<Term>) {
    if !matches!(at.op, BinOp::Add | BinOp::Sub | BinOp::Mul) {
        return;
    }
    let sum = Sum::of(g, at.class);
    let nested = at.op == BinOp::Mul && sum.terms.len() == 1 && ![at.a, at.b].contains(&sum.terms[0].0);
    if sum.len() < sum.met || nested || sum.terms.as_slice() == [(at.a, 1)] || sum.terms.as_slice() == [(at.b, 1)] {
        out.push(sum.to_term());
    }
}

/// `(q*c + r) / c` is `q + r / c` where the sum does not wrap and neither it nor `r` is negative (or `r` is 0); the last
/// part goes where `r < c`.
fn quotient_of_sum(g: &Graph, at: At, out: &mut Vec<Term>) {
    let (BinOp::Div, Some(c @ 1..)) = (at.op, int(g, at.b)) else { return };
    let sum = Sum::of(g, at.a);
    let Some((lo, _)) = sum.exact_bounds(g) else { return };
    let (mut q, mut rest) = (Sum::default(), Sum::default());
    for (id, k) in &sum.terms {
        if k % c == 0 { q.push(*id, k / c) } else { rest.push(*id, *k) }
    }
    q.constant = sum.constant.div_euclid(c);
    rest.constant = sum.constant.rem_euclid(c);
    if rest.is_zero() {
        return out.push(q.to_term());
    }
    let Some((rest_lo, rest_hi)) = rest.exact_bounds(g) else { return };
    if lo < 0 || rest_lo < 0 {
        return;
    }
    if rest_hi < c {
        out.push(q.to_term());
    } else if !q.is_zero() {
        out.push(Term::op(BinOp::Add, q.to_term(), Term::op(BinOp::Div, rest.to_term(), Term::Int(c))));
    }
}

/// `(q*c + r) % c` is `r % c` where the sum does not wrap and neither it nor `r` is negative (or `r` is 0); `r` where
/// `r < c`. A summand also goes when what divides it is a multiple of `c`.
fn remainder_of_sum(g: &Graph, at: At, out: &mut Vec<Term>) {
    let (BinOp::Rem, Some(c @ 1..)) = (at.op, int(g, at.b)) else { return };
    let sum = Sum::of(g, at.a);
    let Some((lo, _)) = sum.exact_bounds(g) else { return };
    let goes = |id: Id, k: i64| (i128::from(known(g, id).step) * i128::from(k)) % i128::from(c) == 0;
    let mut rest = Sum { constant: sum.constant.rem_euclid(c), ..Sum::default() };
    sum.terms.iter().filter(|(id, k)| !goes(*id, *k)).for_each(|(id, k)| rest.push(*id, *k));
    if rest.is_zero() {
        return out.push(Term::Int(0));
    }
    let Some((rest_lo, rest_hi)) = rest.exact_bounds(g) else { return };
    if lo < 0 || rest_lo < 0 {
        return;
    }
    if rest_hi < c {
        out.push(rest.to_term());
    } else if rest.terms.len() < sum.terms.len() || rest.constant != sum.constant {
        out.push(Term::op(BinOp::Rem, rest.to_term(), Term::Int(c)));
    }
}

/// `x / a / b` is `x / (a*b)` for `a, b >= 1` whose product fits.
fn quotient_of_quotient(g: &Graph, at: At, out: &mut Vec<Term>) {
    let (BinOp::Div, Some(b @ 1..)) = (at.op, int(g, at.b)) else { return };
    for [x, a] in nodes(g, at.a, BinOp::Div) {
        if let Some(a @ 1..) = int(g, a)
            && let Some(ab) = a.checked_mul(b)
        {
            out.push(Term::with_int(BinOp::Div, x, ab));
        }
    }
}

/// `x % a % b` is `x % b` where `b >= 1` divides `a`.
fn remainder_of_remainder(g: &Graph, at: At, out: &mut Vec<Term>) {
    let (BinOp::Rem, Some(b @ 1..)) = (at.op, int(g, at.b)) else { return };
    for [x, a] in nodes(g, at.a, BinOp::Rem) {
        if int(g, a).is_some_and(|a| a >= 1 && a % b == 0) {
            out.push(Term::with_int(BinOp::Rem, x, b));
        }
    }
}

/// In a sum, `k * (x % c) + k*c * (x / c)` is `k * x`, and `k * (x % c) + k*c * (x / c % m)` is `k * (x % (c*m))`, for
/// `c, m >= 1` whose product fits: digits of one number that stand where they stood.
fn digits_together(g: &Graph, at: At, out: &mut Vec<Term>) {
    if at.op != BinOp::Add {
        return;
    }
    let sum = Sum::of(g, at.class);
    let low_digits = |id: Id| nodes(g, id, BinOp::Rem).filter_map(|[x, c]| Some((x, int(g, c).filter(|c| *c >= 1)?)));
    for (low, k) in &sum.terms {
        for (x, c) in low_digits(*low) {
            let is_quotient = |id: Id| nodes(g, id, BinOp::Div).any(|[y, d]| y == x && int(g, d) == Some(c));
            for (high, _) in sum.terms.iter().filter(|(id, l)| id != low && *l == k.wrapping_mul(c)) {
                let without = |term: Term| {
                    let mut rest = sum.clone();
                    rest.terms.retain(|(id, _)| id != low && id != high);
                    let scaled = if *k == 1 { term } else { Term::op(BinOp::Mul, term, Term::Int(*k)) };
                    if rest.is_zero() { scaled } else { Term::op(BinOp::Add, scaled, rest.to_term()) }
                };
                if is_quotient(*high) {
                    out.push(without(Term::Class(x)));
                }
                for (_, m) in low_digits(*high).filter(|(y, _)| is_quotient(*y)) {
                    if let Some(cm) = c.checked_mul(m) {
                        out.push(without(Term::with_int(BinOp::Rem, x, cm)));
                    }
                }
            }
        }
    }
}

/// `x / n * n + x % n` is `x` for any `n` that is not 0.
fn quotient_and_remainder(g: &Graph, at: At, out: &mut Vec<Term>) {
    if at.op != BinOp::Add {
        return;
    }
    for (product, rest) in [(at.a, at.b), (at.b, at.a)] {
        for [x, n] in nodes(g, rest, BinOp::Rem).filter(|[_, n]| known(g, *n).lo >= 1) {
            let is_quotient = |id: Id| nodes(g, id, BinOp::Div).any(|p| p == [x, n]);
            let found = |[p, q]: [Id; 2]| (q == n && is_quotient(p)) || (p == n && is_quotient(q));
            if nodes(g, product, BinOp::Mul).any(found) {
                out.push(Term::Class(x));
            }
        }
    }
}

/// `x - x % n` is `x / n * n` for any `n` that is not 0.
fn without_remainder(g: &Graph, at: At, out: &mut Vec<Term>) {
    if at.op != BinOp::Sub {
        return;
    }
    for [x, n] in nodes(g, at.b, BinOp::Rem) {
        if x == at.a && known(g, n).lo >= 1 {
            let quotient = Term::op(BinOp::Div, Term::Class(x), Term::Class(n));
            out.push(Term::op(BinOp::Mul, quotient, Term::Class(n)));
        }
    }
}

/// `x / 2^k * 2^k` is `x & -2^k` where `x >= 0`, and `(x >> k) * 2^k` always.
fn round_down(g: &Graph, at: At, out: &mut Vec<Term>) {
    if at.op != BinOp::Mul {
        return;
    }
    let Some((quotient, c)) = literal(g, at) else { return };
    let Some(k) = exponent(c) else { return };
    let divided = nodes(g, quotient, BinOp::Div).filter(|[x, d]| int(g, *d) == Some(c) && known(g, *x).nonneg());
    let shifted = nodes(g, quotient, BinOp::Shr).filter(|[_, n]| int(g, *n) == Some(k));
    for [x, _] in divided.chain(shifted) {
        out.push(Term::with_int(BinOp::And, x, -c));
    }
}

/// `x & m` is `x` where no other bit of `x` can be set, and 0 where none of these can.
fn idle_mask(g: &Graph, at: At, out: &mut Vec<Term>) {
    if at.op != BinOp::And {
        return;
    }
    let Some((x, mask)) = literal(g, at) else { return };
    let bits = known(g, x).bits();
    if bits & !(mask as u64) == 0 {
        out.push(Term::Class(x));
    } else if bits & mask as u64 == 0 {
        out.push(Term::Int(0));
    }
}

/// `x & m & n` with literal masks is `x & (m & n)`; always.
fn mask_of_mask(g: &Graph, at: At, out: &mut Vec<Term>) {
    if at.op != BinOp::And {
        return;
    }
    let Some((inner, mask)) = literal(g, at) else { return };
    for [x, m] in nodes(g, inner, BinOp::And) {
        for (x, m) in [(x, m), (m, x)] {
            if let Some(m) = int(g, m) {
                out.push(Term::with_int(BinOp::And, x, m & mask));
            }
        }
    }
}

/// Parts `p` of `p ^ q`, `p | q`, and of `p + q` without common bits, so that the other part has no bit in `outside`.
fn parts_without(g: &Graph, id: Id, outside: u64) -> Vec<Id> {
    let bits = |id: Id| known(g, id).bits();
    let apart = |[p, q]: &[Id; 2]| bits(*p) & bits(*q) == 0;
    let sums = nodes(g, id, BinOp::Add).filter(apart);
    let pairs = nodes(g, id, BinOp::Xor).chain(nodes(g, id, BinOp::Or)).chain(sums);
    let both = pairs.flat_map(|[p, q]| [(p, q), (q, p)]);
    both.filter(|(_, q)| bits(*q) & outside == 0).map(|(p, _)| p).collect()
}

/// `(p ^ q) & m` is `p & m` where `q` has no bit in `m`; the same for `|`, and for `+` without common bits.
fn mask_of_parts(g: &Graph, at: At, out: &mut Vec<Term>) {
    if at.op != BinOp::And {
        return;
    }
    let Some((x, mask)) = literal(g, at) else { return };
    for part in parts_without(g, x, mask as u64) {
        out.push(Term::with_int(BinOp::And, part, mask));
    }
}

/// `(p ^ q) >> k` is `p >> k` where `q` has no bit from `k` upwards; the same for `|`, and for `+` without common bits.
fn shift_of_parts(g: &Graph, at: At, out: &mut Vec<Term>) {
    if let (BinOp::Shr, Some(k @ 1..=61)) = (at.op, int(g, at.b)) {
        for part in parts_without(g, at.a, u64::MAX << k) {
            out.push(Term::with_int(BinOp::Shr, part, k));
        }
    }
}

/// `p ^ q` and `p | q` are `p + q` where no bit can be set in both.
fn disjoint_as_sum(g: &Graph, at: At, out: &mut Vec<Term>) {
    if matches!(at.op, BinOp::Xor | BinOp::Or) && known(g, at.a).bits() & known(g, at.b).bits() == 0 {
        out.push(Term::op(BinOp::Add, Term::Class(at.a), Term::Class(at.b)));
    }
}

/// `p ^ q ^ q` is `p`, `p ^ p` is 0, and literals in a chain of `^` become one; always.
fn xor_twice(g: &Graph, at: At, out: &mut Vec<Term>) {
    if at.op != BinOp::Xor {
        return;
    }
    if at.a == at.b {
        return out.push(Term::Int(0));
    }
    for (inner, other) in [(at.a, at.b), (at.b, at.a)] {
        for [p, q] in nodes(g, inner, BinOp::Xor).flat_map(|[p, q]| [[p, q], [q, p]]) {
            if q == other {
                out.push(Term::Class(p));
            } else if let (Some(v), Some(w)) = (int(g, q), int(g, other)) {
                out.push(Term::with_int(BinOp::Xor, p, v ^ w));
            }
        }
    }
}

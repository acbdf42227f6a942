//! The language of the e-graph: 64-bit wrapping integer arithmetic over leaves, and what is known of each class.
//!
//! Semantics are those of the IR: `+ - *` wrap, `/` and `%` round towards zero and give 0 for a divisor 0, shift counts
//! are taken modulo 64, `>>` keeps the sign. Must hold: a class's `Known` is true of the *machine's* value, wrapping
//! included, whenever it is true of the leaves. So a rule that asks `Known` needs no second proof about overflow.

use egg::{Analysis, DidMerge, EGraph, Id, define_language};

use tilewright_ir::BinOp;
use tilewright_ir::facts::gcd;

/// An e-graph of index expressions.
pub(super) type Graph = EGraph<Node, Leaves>;

define_language! {
    /// An operation, a literal, or a leaf by its number in the table of `Leaves`.
    pub(super) enum Node {
        Int(i64),
        Leaf(LeafId),
        "+" = Add([Id; 2]),
        "-" = Sub([Id; 2]),
        "*" = Mul([Id; 2]),
        "/" = Div([Id; 2]),
        "%" = Rem([Id; 2]),
        "&" = And([Id; 2]),
        "|" = Or([Id; 2]),
        "^" = Xor([Id; 2]),
        "<<" = Shl([Id; 2]),
        ">>" = Shr([Id; 2]),
    }
}

/// Number of a leaf: `x0`, `x1`, … in text, so that it is never taken for a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct LeafId(pub(super) u32);

impl std::fmt::Display for LeafId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "x{}", self.0)
    }
}

impl std::str::FromStr for LeafId {
    type Err = std::num::ParseIntError;

    fn from_str(s: &str) -> Result<LeafId, Self::Err> {
        s.strip_prefix('x').unwrap_or("").parse().map(LeafId)
    }
}

impl Node {
    /// The node of an operator; `None` for those that the language leaves to others (comparisons, `min`, `max`).
    pub(super) fn binary(op: BinOp, args: [Id; 2]) -> Option<Node> {
        Some(match op {
            BinOp::Add => Node::Add(args),
            BinOp::Sub => Node::Sub(args),
            BinOp::Mul => Node::Mul(args),
            BinOp::Div => Node::Div(args),
            BinOp::Rem => Node::Rem(args),
            BinOp::And => Node::And(args),
            BinOp::Or => Node::Or(args),
            BinOp::Xor => Node::Xor(args),
            BinOp::Shl => Node::Shl(args),
            BinOp::Shr => Node::Shr(args),
            _ => return None,
        })
    }

    /// Operator and operands of a node that has them.
    pub(super) fn parts(&self) -> Option<(BinOp, [Id; 2])> {
        Some(match self {
            Node::Int(_) | Node::Leaf(_) => return None,
            Node::Add(a) => (BinOp::Add, *a),
            Node::Sub(a) => (BinOp::Sub, *a),
            Node::Mul(a) => (BinOp::Mul, *a),
            Node::Div(a) => (BinOp::Div, *a),
            Node::Rem(a) => (BinOp::Rem, *a),
            Node::And(a) => (BinOp::And, *a),
            Node::Or(a) => (BinOp::Or, *a),
            Node::Xor(a) => (BinOp::Xor, *a),
            Node::Shl(a) => (BinOp::Shl, *a),
            Node::Shr(a) => (BinOp::Shr, *a),
        })
    }
}

/// What is known of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Known {
    /// Least value.
    pub(super) lo: i64,
    /// Greatest value.
    pub(super) hi: i64,
    /// A number that divides it; 0 for the value 0.
    pub(super) step: i64,
}

impl Known {
    /// Nothing.
    pub(super) const ANY: Known = Known { lo: i64::MIN, hi: i64::MAX, step: 1 };

    /// A literal.
    pub(super) fn of_int(v: i64) -> Known {
        // The magnitude of i64::MIN is no i64; half of it divides it, too.
        Known { lo: v, hi: v, step: v.checked_abs().unwrap_or(1 << 62) }
    }

    /// The value, if there is only one.
    pub(super) fn value(self) -> Option<i64> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// Not negative?
    pub(super) fn nonneg(self) -> bool {
        self.lo >= 0
    }

    /// Bits that may be set.
    pub(super) fn bits(self) -> u64 {
        if self.lo < 0 {
            return u64::MAX << self.zeros();
        }
        low_ones(self.hi) & (u64::MAX << self.zeros())
    }

    /// Number of low bits known to be zero, at most 62.
    pub(super) fn zeros(self) -> u32 {
        if self.step == 0 { 62 } else { self.step.trailing_zeros().min(62) }
    }

    /// From bounds without wrapping and a divisor of the unwrapped value; where it may wrap, powers of two stay divisors.
    fn exact((lo, hi): (i128, i128), step: i64) -> Known {
        match (i64::try_from(lo), i64::try_from(hi)) {
            (Ok(lo), Ok(hi)) => Known { lo, hi, step },
            _ => Known { step: pow2_part(step), ..Known::ANY },
        }
    }

    /// What follows for `a op b`.
    fn binary(op: BinOp, a: Known, b: Known) -> Known {
        let wide = |v: i64| i128::from(v);
        let nonneg = a.nonneg() && b.nonneg();
        match op {
            BinOp::Add => Known::exact((wide(a.lo) + wide(b.lo), wide(a.hi) + wide(b.hi)), gcd(a.step, b.step)),
            BinOp::Sub => Known::exact((wide(a.lo) - wide(b.hi), wide(a.hi) - wide(b.lo)), gcd(a.step, b.step)),
            BinOp::Mul => product(a, b),
            BinOp::Shl => match b.value() {
                Some(k) if (0..=61).contains(&k) => product(a, Known::of_int(1 << k)),
                _ => Known::ANY,
            },
            BinOp::Div => quotient(a, b),
            BinOp::Rem => remainder(a, b),
            BinOp::Shr => match b.value() {
                Some(k) if (0..=62).contains(&k) => {
                    let step = if a.step % (1 << k) == 0 { a.step >> k } else { 1 };
                    Known { lo: a.lo >> k, hi: a.hi >> k, step }
                }
                _ => Known::ANY,
            },
            BinOp::And => {
                let hi = match (a.nonneg(), b.nonneg()) {
                    (true, true) => a.hi.min(b.hi),
                    (true, false) => a.hi,
                    (false, true) => b.hi,
                    (false, false) => return Known { step: 1 << a.zeros().max(b.zeros()), ..Known::ANY },
                };
                let step = if a.value() == Some(0) || b.value() == Some(0) { 0 } else { 1 << a.zeros().max(b.zeros()) };
                Known { lo: 0, hi, step }
            }
            BinOp::Or | BinOp::Xor => {
                let step = 1 << a.zeros().min(b.zeros());
                let hi = if nonneg { low_ones(a.hi.max(b.hi)) as i64 } else { i64::MAX };
                Known { lo: if nonneg { 0 } else { i64::MIN }, hi, step }
            }
            _ => Known::ANY,
        }
    }

    /// Both hold. Bounds that exclude each other belong to code that never runs; the first are kept.
    fn meet(self, other: Known) -> Known {
        let (lo, hi) = (self.lo.max(other.lo), self.hi.min(other.hi));
        let (lo, hi) = if lo <= hi { (lo, hi) } else { (self.lo, self.hi) };
        let step = match (self.step, other.step) {
            (0, _) | (_, 0) => 0,
            (a, b) => (a / gcd(a, b)).checked_mul(b).unwrap_or(a.max(b)),
        };
        Known { lo, hi, step }
    }
}

fn product(a: Known, b: Known) -> Known {
    let corners = [(a.lo, b.lo), (a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)].map(|(x, y)| i128::from(x) * i128::from(y));
    let bounds = corners.iter().fold((i128::MAX, i128::MIN), |(lo, hi), v| (lo.min(*v), hi.max(*v)));
    // A product of divisors that does not fit: its power of two still divides whatever the product wraps to.
    let twos = || 1i64 << (a.step.trailing_zeros() + b.step.trailing_zeros()).min(62);
    Known::exact(bounds, a.step.checked_mul(b.step).unwrap_or_else(twos))
}

fn quotient(a: Known, b: Known) -> Known {
    if b.lo < 1 {
        return Known::ANY;
    }
    // Towards zero: magnitudes are largest at the smallest divisor.
    let lo = a.lo / if a.lo < 0 { b.lo } else { b.hi };
    let hi = a.hi / if a.hi > 0 { b.lo } else { b.hi };
    let step = match b.value() {
        Some(c) if a.step % c == 0 => a.step / c,
        _ => 1,
    };
    Known { lo, hi, step }
}

fn remainder(a: Known, b: Known) -> Known {
    if b.lo < 1 {
        return Known::ANY;
    }
    if a.nonneg() && a.hi < b.lo {
        return a;
    }
    if b.value().is_some_and(|c| a.step % c == 0) {
        return Known::of_int(0);
    }
    let most = b.hi - 1;
    Known { lo: a.lo.clamp(-most, 0), hi: a.hi.clamp(0, most), step: gcd(a.step, b.step) }
}

/// Largest power of two that divides; 0 of 0.
pub(super) fn pow2_part(step: i64) -> i64 {
    if step == 0 { 0 } else { 1 << step.trailing_zeros().min(62) }
}

/// Smallest `2^k - 1` that is at least `v >= 0`.
fn low_ones(v: i64) -> u64 {
    if v <= 0 { 0 } else { u64::MAX >> v.leading_zeros() }
}

/// The analysis: what the caller knows of the leaves, and what follows.
#[derive(Clone, Debug, Default)]
pub(super) struct Leaves(pub(super) Vec<Known>);

impl Analysis<Node> for Leaves {
    type Data = Known;

    fn make(graph: &mut Graph, node: &Node, _id: Id) -> Known {
        match node {
            Node::Int(v) => Known::of_int(*v),
            Node::Leaf(LeafId(n)) => graph.analysis.0.get(*n as usize).copied().unwrap_or(Known::ANY),
            node => match node.parts() {
                Some((op, [a, b])) => Known::binary(op, graph[a].data, graph[b].data),
                None => Known::ANY,
            },
        }
    }

    fn merge(&mut self, to: &mut Known, from: Known) -> DidMerge {
        let both = to.meet(from);
        let merged = DidMerge(both != *to, both != from);
        *to = both;
        merged
    }

    fn modify(graph: &mut Graph, id: Id) {
        if let Some(v) = graph[id].data.value() {
            let int = graph.add(Node::Int(v));
            graph.union(id, int);
        }
    }
}

/// The value of an operator on two integers, as the language defines it.
#[cfg(test)]
pub(super) fn evaluate(op: BinOp, x: i64, y: i64) -> i64 {
    match op {
        BinOp::Add => x.wrapping_add(y),
        BinOp::Sub => x.wrapping_sub(y),
        BinOp::Mul => x.wrapping_mul(y),
        BinOp::Div => x.checked_div(y).unwrap_or(if y == 0 { 0 } else { x }),
        BinOp::Rem => x.checked_rem(y).unwrap_or(0),
        BinOp::And => x & y,
        BinOp::Or => x | y,
        BinOp::Xor => x ^ y,
        BinOp::Shl => x.wrapping_shl((y & 63) as u32),
        _ => x.wrapping_shr((y & 63) as u32),
    }
}

//! Sums: a class read as `constant + Σ coefficient · class`.
//!
//! Rules about divisions of sums would need every order and bracketing of their terms in the e-graph; reading a class
//! apart instead keeps graphs small. Must hold: a `Sum` equals its class modulo 2^64; where `exact_bounds` gives
//! bounds it equals it as a mathematical integer.

use egg::Id;
use tilewright_ir::BinOp;

use super::lang::{Graph, Node};

/// Terms up to which a class is read apart; further ones stay whole.
const MAX_TERMS: usize = 12;

/// How deep a class is read apart.
const MAX_DEPTH: u32 = 8;

/// A term to be added to a graph.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Term {
    /// A class that is there.
    Class(Id),
    /// A literal.
    Int(i64),
    /// An operation.
    Op(BinOp, Box<Term>, Box<Term>),
}

impl Term {
    /// `a op b`.
    pub(super) fn op(op: BinOp, a: Term, b: Term) -> Term {
        Term::Op(op, Box::new(a), Box::new(b))
    }

    /// `class op literal`.
    pub(super) fn with_int(op: BinOp, a: Id, b: i64) -> Term {
        Term::op(op, Term::Class(a), Term::Int(b))
    }

    /// Adds the term to the graph.
    pub(super) fn add_to(&self, graph: &mut Graph) -> Option<Id> {
        match self {
            Term::Class(id) => Some(*id),
            Term::Int(v) => Some(graph.add(Node::Int(*v))),
            Term::Op(op, a, b) => {
                let (a, b) = (a.add_to(graph)?, b.add_to(graph)?);
                Node::binary(*op, [a, b]).map(|node| graph.add(node))
            }
        }
    }
}

/// See the head of this file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sum {
    /// Classes, each once, with coefficients other than 0, in the order in which they were found.
    pub(super) terms: Vec<(Id, i64)>,
    /// The rest.
    pub(super) constant: i64,
    /// Summands that were met, before equal ones became one.
    pub(super) met: usize,
}

impl Sum {
    /// Reads a class apart.
    pub(super) fn of(graph: &Graph, class: Id) -> Sum {
        let mut sum = Sum::default();
        sum.read(graph, graph.find(class), 1, MAX_DEPTH);
        sum.terms.retain(|(_, k)| *k != 0);
        sum
    }

    fn read(&mut self, graph: &Graph, class: Id, factor: i64, depth: u32) {
        if let Some(v) = graph[class].data.value() {
            self.met += 1;
            self.constant = self.constant.wrapping_add(v.wrapping_mul(factor));
            return;
        }
        let parts = graph[class].nodes.iter().filter_map(Node::parts);
        let inner = parts.map(|(op, [a, b])| (op, graph.find(a), graph.find(b)));
        for (op, a, b) in inner.filter(|(_, a, b)| *a != class && *b != class) {
            if depth == 0 || self.terms.len() >= MAX_TERMS {
                break;
            }
            let value = |id: Id| graph[id].data.value();
            match (op, value(a), value(b)) {
                (BinOp::Add | BinOp::Sub, _, _) => {
                    let sign = if op == BinOp::Add { factor } else { factor.wrapping_neg() };
                    self.read(graph, a, factor, depth - 1);
                    return self.read(graph, b, sign, depth - 1);
                }
                (BinOp::Mul, _, Some(c)) => return self.read(graph, a, factor.wrapping_mul(c), depth - 1),
                (BinOp::Mul, Some(c), _) => return self.read(graph, b, factor.wrapping_mul(c), depth - 1),
                _ => {}
            }
        }
        self.met += 1;
        self.push(class, factor);
    }

    /// Adds `factor · class`.
    pub(super) fn push(&mut self, class: Id, factor: i64) {
        match self.terms.iter_mut().find(|(id, _)| *id == class) {
            Some((_, k)) => *k = k.wrapping_add(factor),
            None => self.terms.push((class, factor)),
        }
    }

    /// Bounds of the sum as a mathematical integer, where they lie within i64: then nothing wraps.
    pub(super) fn exact_bounds(&self, graph: &Graph) -> Option<(i64, i64)> {
        let start = i128::from(self.constant);
        let (lo, hi) = self.terms.iter().try_fold((start, start), |(lo, hi), (id, k)| {
            let known = graph[*id].data;
            let ends = [known.lo, known.hi].map(|v| i128::from(v) * i128::from(*k));
            Some((lo.checked_add(ends[0].min(ends[1]))?, hi.checked_add(ends[0].max(ends[1]))?))
        })?;
        Some((i64::try_from(lo).ok()?, i64::try_from(hi).ok()?))
    }

    /// No term, and constant 0?
    pub(super) fn is_zero(&self) -> bool {
        self.terms.is_empty() && self.constant == 0
    }

    /// Number of summands.
    pub(super) fn len(&self) -> usize {
        self.terms.len() + usize::from(self.constant != 0)
    }

    /// The sum as a term: positive summands first, the constant last.
    pub(super) fn to_term(&self) -> Term {
        // i64::MIN has no magnitude: it stays a factor.
        let negative = |k: i64| k < 0 && k != i64::MIN;
        let product = |id: Id, k: i64| if k == 1 { Term::Class(id) } else { Term::with_int(BinOp::Mul, id, k) };
        let positives = self.terms.iter().filter(|(_, k)| !negative(*k)).map(|(id, k)| product(*id, *k));
        let mut sum = positives.reduce(|a, b| Term::op(BinOp::Add, a, b));
        for (id, k) in self.terms.iter().filter(|(_, k)| negative(*k)) {
            let from = sum.unwrap_or(Term::Int(0));
            sum = Some(Term::op(BinOp::Sub, from, product(*id, -k)));
        }
        match sum {
            None => Term::Int(self.constant),
            Some(sum) if self.constant == 0 => sum,
            Some(sum) if negative(self.constant) => Term::op(BinOp::Sub, sum, Term::Int(-self.constant)),
            Some(sum) => Term::op(BinOp::Add, sum, Term::Int(self.constant)),
        }
    }
}

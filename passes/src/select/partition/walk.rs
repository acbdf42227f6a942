//! A walk: the digits that are enumerated, and what each adds to the address on each side.
//!
//! Digits may be split, fused and reordered; the addresses stay what they were. This file only does that bookkeeping.

use tilewright_ir::facts::Facts;
use tilewright_ir::{Axis, Dim, Expr, Name, Swizzle};

use super::digits::{Chunk, is_memory};
use crate::select::variant::Operand;

/// How the value of a digit comes about.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A loop counts it.
    Loop,
    /// The thread's coordinates say it: an expression over thread ids.
    Thread(Expr),
    /// `worker / div % modulus` (no `%` if `None`), the worker's number among those of its group.
    Worker {
        /// Divisor.
        div: i64,
        /// Extent, where higher digits follow.
        modulus: Option<i64>,
    },
    /// `w / div % modulus`, where `w` counts the work items of all workers.
    Item {
        /// Divisor.
        div: Dim,
        /// Extent, where higher digits follow.
        modulus: Option<Dim>,
    },
}

/// A digit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Var {
    /// Number of values.
    pub extent: Dim,
    /// Where the value comes from.
    pub value: Value,
}

/// What digits add to an address.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Term {
    /// `var * stride`.
    Digit {
        /// Index of the digit.
        var: usize,
        /// In elements.
        stride: Dim,
    },
    /// With `q = base + Σ var * weight`: `Σ (q / div % modulus) * stride`.
    Mixed {
        /// Constant part of `q`.
        base: Dim,
        /// Digits and weights.
        q: Vec<(usize, Dim)>,
        /// The parts.
        parts: Vec<Part>,
    },
}

/// A digit of `q`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    /// Divisor.
    pub div: Dim,
    /// Extent; `None` for the outermost part, which is not reduced.
    pub modulus: Option<Dim>,
    /// In elements.
    pub stride: Dim,
    /// Where it goes.
    pub axis: Axis,
}

/// One side of a walk.
#[derive(Clone, Debug)]
pub(super) struct Side {
    /// The buffer.
    pub buf: Name,
    /// Whose part of a window.
    pub rank: Option<Expr>,
    /// Address with all digits zero, in elements.
    pub base: Dim,
    /// What the digits add.
    pub terms: Vec<Term>,
    /// Applied to the sum.
    pub swizzle: Option<Swizzle>,
}

/// Digits and addresses of a copy or elementwise op; side 0 is the destination.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    /// The digits.
    pub vars: Vec<Var>,
    /// Digits that are enumerated, outermost first.
    pub order: Vec<usize>,
    /// The sides.
    pub sides: Vec<Side>,
    /// Conditions over thread ids under which a thread takes part at all.
    pub guards: Vec<Expr>,
    /// Elements that one access moves.
    pub n: i64,
}

impl Side {
    /// A side at the begin of an operand's slice, without digits.
    pub(super) fn new(op: &Operand, base: Dim, swizzle: Option<Swizzle>) -> Side {
        let swizzle = swizzle.filter(|s| s.swizzle_len > 0);
        Side { buf: op.buf.clone(), rank: op.rank.clone(), base, terms: Vec::new(), swizzle }
    }

    /// What the digit adds per step: zero if nothing, `None` if it is inside a mixed term.
    pub(super) fn stride(&self, var: usize) -> Option<Dim> {
        let mut sum = Dim::ZERO;
        for term in &self.terms {
            match term {
                Term::Digit { var: v, stride } if *v == var => sum = sum.add(stride),
                Term::Mixed { q, .. } if q.iter().any(|(v, _)| *v == var) => return None,
                _ => {}
            }
        }
        Some(sum)
    }
}

impl Walk {
    /// A walk over the chunks. Chunks that are digits on all sides become one digit each. A mixed chunk becomes the
    /// digits of side `driver`, from which the other sides divide; without a driver it is one digit from which all divide.
    /// Iters on other axes than `m` add nothing here. Returns for each chunk the digits made.
    pub(super) fn new(chunks: &[Chunk], sides: Vec<Side>, driver: Option<usize>) -> (Walk, Vec<Vec<usize>>) {
        let mut walk = Walk { vars: Vec::new(), order: Vec::new(), sides, guards: Vec::new(), n: 1 };
        let made = chunks.iter().map(|c| walk.add_chunk(c, driver)).collect();
        (walk, made)
    }

    fn add_chunk(&mut self, chunk: &Chunk, driver: Option<usize>) -> Vec<usize> {
        if chunk.is_digit() {
            let var = self.add_var(chunk.extent.clone());
            for (side, iters) in self.sides.iter_mut().zip(&chunk.sides) {
                if is_memory(&iters[0].axis) && !iters[0].stride.is(0) {
                    side.terms.push(Term::Digit { var, stride: iters[0].stride.clone() });
                }
            }
            return vec![var];
        }
        let (mut vars, mut q) = (Vec::new(), Vec::new());
        let whole = vec![tilewright_ir::Iter { extent: chunk.extent.clone(), stride: Dim::ONE, axis: Axis::M }];
        let own = driver.map_or(&whole, |d| &chunk.sides[d]);
        let mut weight = Dim::ONE;
        for it in own.iter().rev() {
            let var = self.add_var(it.extent.clone());
            q.push((var, weight.clone()));
            weight = weight.mul(&it.extent);
            vars.push(var);
        }
        vars.reverse();
        q.reverse();
        let count = vars.len();
        let from = self.order.len() - count;
        self.order[from..].reverse(); // they were made innermost first
        for (k, (side, iters)) in self.sides.iter_mut().zip(&chunk.sides).enumerate() {
            if Some(k) == driver {
                let memory = iters.iter().zip(&vars).filter(|(it, _)| is_memory(&it.axis));
                side.terms.extend(memory.map(|(it, v)| Term::Digit { var: *v, stride: it.stride.clone() }));
            } else {
                side.terms.push(Term::Mixed { base: Dim::ZERO, q: q.clone(), parts: parts_of(iters) });
            }
        }
        vars
    }

    /// Appends a loop digit of `extent`, innermost.
    pub(super) fn add_var(&mut self, extent: Dim) -> usize {
        self.vars.push(Var { extent, value: Value::Loop });
        self.order.push(self.vars.len() - 1);
        self.vars.len() - 1
    }

    /// Splits digit `var` in two: it keeps the upper part, the new one (returned, placed right inside) has extent
    /// `inner`, which must divide its extent.
    pub(super) fn split(&mut self, var: usize, inner: &Dim, facts: &Facts) -> usize {
        let extent = &self.vars[var].extent;
        let outer = extent.div_exact(inner).unwrap_or_else(|| facts.div(extent, inner));
        self.vars.push(Var { extent: inner.clone(), value: Value::Loop });
        let new = self.vars.len() - 1;
        self.vars[var].extent = outer;
        if let Some(at) = self.order.iter().position(|v| *v == var) {
            self.order.insert(at + 1, new);
        }
        for side in &mut self.sides {
            let mut added = Vec::new();
            for term in &mut side.terms {
                match term {
                    Term::Digit { var: v, stride } if *v == var => {
                        added.push(Term::Digit { var: new, stride: stride.clone() });
                        *stride = stride.mul(inner);
                    }
                    Term::Digit { .. } => {}
                    Term::Mixed { q, .. } => {
                        if let Some(at) = q.iter().position(|(v, _)| *v == var) {
                            let weight = q[at].1.clone();
                            q[at].1 = weight.mul(inner);
                            q.insert(at + 1, (new, weight));
                        }
                    }
                }
            }
            side.terms.extend(added);
        }
        new
    }

    /// Fuses loop digits that are neighbours in `order` and of which the outer one goes on where the inner one ends, on
    /// every side.
    pub(super) fn fuse(&mut self) {
        let mut at = 1;
        while at < self.order.len() {
            let (outer, inner) = (self.order[at - 1], self.order[at]);
            let loops = self.vars[outer].value == Value::Loop && self.vars[inner].value == Value::Loop;
            let extent = self.vars[inner].extent.clone();
            let joined = loops
                && self.sides.iter().all(|s| match (s.stride(outer), s.stride(inner)) {
                    (Some(o), Some(i)) => o == i.mul(&extent),
                    _ => false,
                });
            if joined {
                self.vars[inner].extent = self.vars[outer].extent.mul(&extent);
                for side in &mut self.sides {
                    side.terms.retain(|t| !matches!(t, Term::Digit { var, .. } if *var == outer));
                }
                self.order.remove(at - 1);
                at = at.max(2) - 1;
            } else {
                at += 1;
            }
        }
    }

    /// Drops a digit from the enumeration: it stays 0 (its elements are moved by the access itself).
    pub(super) fn drop_var(&mut self, var: usize) {
        self.order.retain(|v| *v != var);
        for side in &mut self.sides {
            side.terms.retain(|t| !matches!(t, Term::Digit { var: v, .. } if *v == var));
        }
    }

    /// Orders the digits by descending stride on side `lead`: the digit whose neighbours are nearest comes last. Symbolic
    /// strides count as larger than known ones; digits of mixed terms by their smallest part.
    pub(super) fn sort_by(&mut self, lead: usize) {
        let side = &self.sides[lead];
        let key = |var: usize| match side.stride(var) {
            Some(d) => d.as_const().map_or(i64::MAX, i64::saturating_abs),
            None => smallest_part(side, var),
        };
        let mut keyed: Vec<(i64, usize)> = self.order.iter().map(|v| (key(*v), *v)).collect();
        keyed.sort_by_key(|(k, _)| std::cmp::Reverse(*k)); // stable: equal ones keep the order of the index
        self.order = keyed.into_iter().map(|(_, v)| v).collect();
    }

    /// Product of the extents of the digits in `order`.
    pub(super) fn items(&self) -> Dim {
        self.order.iter().fold(Dim::ONE, |p, v| p.mul(&self.vars[*v].extent))
    }
}

fn smallest_part(side: &Side, var: usize) -> i64 {
    let mut least = i64::MAX;
    for term in &side.terms {
        if let Term::Mixed { q, parts, .. } = term
            && q.iter().any(|(v, _)| *v == var)
        {
            let strides = parts.iter().filter_map(|p| p.stride.as_const()).filter(|s| *s != 0);
            least = strides.map(i64::saturating_abs).fold(least, i64::min);
        }
    }
    least
}

/// The digits of a flat index over the iters, outermost first.
pub(super) fn parts_of(iters: &[tilewright_ir::Iter]) -> Vec<Part> {
    let mut div = Dim::ONE;
    let mut parts = Vec::with_capacity(iters.len());
    for (k, it) in iters.iter().enumerate().rev() {
        let modulus = (k > 0).then(|| it.extent.clone());
        parts.push(Part { div: div.clone(), modulus, stride: it.stride.clone(), axis: it.axis.clone() });
        div = div.mul(&it.extent);
    }
    parts.reverse();
    parts
}

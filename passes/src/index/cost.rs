//! What an index expression costs on a target.
//!
//! Counts of machine instructions on 32-bit ALUs for 64-bit operands, read off what LLVM 22 makes of one such operation
//! (`sm_90a`, `gfx950`). Where LLVM can narrow an operation to 32 bits it does so for either form, so the order of the
//! forms stays. Must hold: a node costs more than its operands together, or extraction could go round in circles.

use egg::{CostFunction, Id, Language};
use tilewright_ir::BinOp;
use tilewright_target::Vendor;

use super::lang::{Graph, Known, Node};

/// Instructions of one 64-bit operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// `+`, `-`.
    add: u64,
    /// `&`, `|`, `^`.
    logic: u64,
    /// `<<`, `>>` by a literal; also `*` by a power of two, which the backends write so.
    shift: u64,
    /// `*` by another literal.
    scale: u64,
    /// `*`.
    mul: u64,
    /// `/` by a power of two: the sign is corrected first.
    div_pow2: u64,
    /// `/` by another literal: the upper half of a product, shifted and corrected.
    div_literal: u64,
    /// `/`: a loop or a call.
    div: u64,
}

/// NVIDIA: carry chains of two, funnel shifts, 64-bit products of four wide multiply-adds; division is a called routine.
const NVIDIA: Costs = Costs { add: 2, logic: 2, shift: 2, scale: 4, mul: 5, div_pow2: 7, div_literal: 20, div: 110 };

/// AMD: carry chains of two, one 64-bit shift, products from `v_mul_hi` and `v_mad_u64`; division is inline.
const AMD: Costs = Costs { add: 2, logic: 2, shift: 1, scale: 4, mul: 6, div_pow2: 6, div_literal: 26, div: 130 };

impl Costs {
    /// The costs on a vendor's GPUs.
    pub(super) fn of(vendor: Vendor) -> &'static Costs {
        match vendor {
            Vendor::Nvidia => &NVIDIA,
            Vendor::Amd => &AMD,
        }
    }

    /// Cost of `a op b` without its operands, given `b` (or `a`, for `*`) where it is a literal, and whether `a` may be
    /// negative. Where it may not, LLVM writes a shift or a mask for a power of two by itself, and better than from the
    /// shift: of `/` and `%` it knows more when it orders the sums of an address.
    fn binary(&self, op: BinOp, literal: Option<i64>, signed: bool) -> u64 {
        let pow2 = literal.is_some_and(|v| v > 0 && v & (v - 1) == 0);
        match (op, literal) {
            (BinOp::Add | BinOp::Sub, _) => self.add,
            (BinOp::And | BinOp::Or | BinOp::Xor, _) => self.logic,
            (BinOp::Shl | BinOp::Shr, Some(_)) => self.shift,
            // One more to clamp the count.
            (BinOp::Shl | BinOp::Shr, None) => self.shift + 1,
            (BinOp::Mul, Some(_)) if pow2 => self.shift,
            (BinOp::Mul, Some(_)) => self.scale,
            (BinOp::Mul, None) => self.mul,
            (BinOp::Div, Some(_)) if pow2 && !signed => self.shift,
            (BinOp::Rem, Some(_)) if pow2 && !signed => self.logic,
            (BinOp::Div, Some(_)) if pow2 => self.div_pow2,
            (BinOp::Div, Some(_)) => self.div_literal,
            // A remainder by a literal is a quotient, a product and a difference.
            (BinOp::Rem, Some(_)) if pow2 => self.div_pow2 + self.logic,
            (BinOp::Rem, Some(_)) => self.div_literal + self.scale + self.add,
            _ => self.div,
        }
    }
}

/// Extraction: least instructions, then fewest nodes.
pub(super) struct IndexCost<'a> {
    pub(super) costs: &'static Costs,
    pub(super) graph: &'a Graph,
}

/// Weight of an instruction against a node of the expression.
pub(super) const INSTRUCTION: u64 = 64;

impl IndexCost<'_> {
    /// Cost of a node without its operands, given what is known of these.
    pub(super) fn own(&self, op: BinOp, a: Known, b: Known) -> u64 {
        let literal = b.value().or_else(|| a.value().filter(|_| op == BinOp::Mul));
        // Among equals the form that later passes read ranges from.
        let node = if matches!(op, BinOp::Shr | BinOp::And) { 2 } else { 1 };
        self.costs.binary(op, literal, !a.nonneg()) * INSTRUCTION + node
    }
}

impl CostFunction<Node> for IndexCost<'_> {
    type Cost = u64;

    fn cost<C: FnMut(Id) -> u64>(&mut self, node: &Node, costs: C) -> u64 {
        let known = |id: Id| self.graph[id].data;
        let own = node.parts().map_or(1, |(op, [a, b])| self.own(op, known(a), known(b)));
        // Shared operands are counted once for each use: sums saturate rather than wrap.
        node.children().iter().copied().map(costs).fold(own, u64::saturating_add)
    }
}

//! The XOR swizzle of memory addresses.
//!
//! It permutes groups of `2^per_element` elements inside windows of `2^(per_element + atom_len + swizzle_len)`; the low
//! `per_element` bits of an address never change, so a vector of at most that many elements that is aligned to its own
//! size stays one vector. It is its own inverse.

use crate::dim::Dim;
use crate::expr::{BinOp, Expr};
use crate::facts::Facts;
use crate::layout::{LayoutError, Swizzle};

impl Swizzle {
    /// Checks the parameters: `swizzle_len <= atom_len`, and all bits within the 62 low ones.
    pub fn verify(&self) -> Result<(), LayoutError> {
        let bad = |why| LayoutError::BadSwizzle {
            per_element: self.per_element,
            swizzle_len: self.swizzle_len,
            atom_len: self.atom_len,
            why,
        };
        if self.atom_len < self.swizzle_len {
            return Err(bad("the distance (third) is less than the number of bits (second)"));
        }
        let bits = u64::from(self.per_element) + u64::from(self.swizzle_len) + u64::from(self.atom_len);
        if bits > 62 { Err(bad("more than 62 address bits")) } else { Ok(()) }
    }

    fn mask(&self) -> i64 {
        (1i64 << self.swizzle_len.min(62)) - 1
    }

    /// The swizzled address of element address `m`. Parameters must pass `verify`; others give some address.
    pub fn apply(&self, m: i64) -> i64 {
        let low_mask = (1i64 << self.per_element.min(62)) - 1;
        let atom = self.atom_len.min(62);
        let q = m >> self.per_element.min(63);
        let flipped = if self.inner {
            q ^ ((q & self.mask().wrapping_shl(atom)) >> atom)
        } else {
            q ^ (q & self.mask()).wrapping_shl(atom)
        };
        flipped.wrapping_shl(self.per_element.min(63)) | (m & low_mask)
    }

    /// Elements in the window that the swizzle permutes: addresses apart by a multiple of it are swizzled alike.
    pub fn period(&self) -> i64 {
        1i64 << self.per_element.saturating_add(self.atom_len).saturating_add(self.swizzle_len).min(62)
    }

    /// Elements that stay together: an aligned vector of up to this many elements is contiguous after the swizzle.
    pub fn vector_elems(&self) -> i64 {
        1i64 << self.per_element.min(62)
    }

    /// The swizzled address of a symbolic address `m >= 0`: `m` when the swizzle changes nothing, otherwise
    /// `period part + (low ^ phase)` in shifts and masks, as one atom of the dim. The part of `m` that is a known multiple
    /// of the period stays outside, so that its divisibility is kept.
    pub fn apply_dim(&self, m: &Dim, facts: &Facts) -> Dim {
        if let Some(v) = m.as_const() {
            return Dim::Const(self.apply(v));
        }
        if self.swizzle_len == 0 {
            return m.clone();
        }
        let (mut base, mut low) = (Dim::ZERO, Dim::ZERO);
        for (mono, c) in m.monomials() {
            let term = mono.iter().fold(Dim::Const(c), |p, a| p.mul(&Dim::atom(a.clone())));
            if facts.is_multiple(&term, self.period()) {
                base = base.add(&term);
            } else {
                low = low.add(&term);
            }
        }
        if let Some(v) = low.as_const()
            && v >= 0
        {
            return base.add(&Dim::Const(self.apply(v)));
        }
        if !facts.is_nonneg(&low) {
            (base, low) = (Dim::ZERO, m.clone());
        }
        // What lies below one vector does not move.
        let mut inside = Dim::ZERO;
        let mut moving = Dim::ZERO;
        for (mono, c) in low.monomials() {
            let term = mono.iter().fold(Dim::Const(c), |p, a| p.mul(&Dim::atom(a.clone())));
            if facts.is_multiple(&term, self.vector_elems()) {
                moving = moving.add(&term);
            } else {
                inside = inside.add(&term);
            }
        }
        let stays = facts.is_nonneg(&inside) && facts.is_lt(&inside, &Dim::Const(self.vector_elems()));
        if stays && facts.is_nonneg(&moving) {
            if let Some(v) = moving.as_const() {
                return base.add(&Dim::Const(self.apply(v))).add(&inside);
            }
            return base.add(&inside).add(&Dim::atom(self.flip(moving.to_expr())));
        }
        base.add(&Dim::atom(self.flip(low.to_expr())))
    }

    /// `e ^ phase(e)` with the phase moved to its place in the address.
    fn flip(&self, e: Expr) -> Expr {
        let low = if self.inner { self.per_element.saturating_add(self.atom_len) } else { self.per_element };
        let field = self.mask().checked_shl(low).unwrap_or(0);
        let bits = Expr::binary(BinOp::And, e.clone(), Expr::int(field));
        let op = if self.inner { BinOp::Shr } else { BinOp::Shl };
        let phase = if self.atom_len == 0 { bits } else { Expr::binary(op, bits, Expr::int(i64::from(self.atom_len))) };
        Expr::binary(BinOp::Xor, e, phase)
    }
}

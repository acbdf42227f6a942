//! Expressions over all active lanes of a warp at once.
//!
//! The tree is walked once a warp, not once a lane, and what is the same in all lanes is computed once. Must hold: an active
//! lane gets what `RExpr::eval` gives for it; what the others get means nothing, and nothing in an expression can fail.

use tilewright_ir::expr::Special;
use tilewright_ir::interp::num::{self, Class};
use tilewright_ir::interp::typed::{RExpr, RKind};

use crate::warp::{Warp, lanes_of};

/// Values by lane.
pub(crate) type Lanes = [u64; 64];

/// Levels of a tree that are walked for all lanes at once; what lies deeper is evaluated lane by lane, which needs less of
/// the stack.
const MOST_DEPTH: u32 = 48;

impl Warp<'_, '_> {
    /// Values of an expression in the active lanes.
    pub(crate) fn eval_all(&self, e: &RExpr, mask: u64) -> Lanes {
        let mut out = [0; 64];
        if mask != 0 {
            self.each(e, mask, 0, &mut out);
        }
        out
    }

    /// Active lanes in which a condition holds.
    pub(crate) fn eval_mask(&self, e: &RExpr, mask: u64) -> u64 {
        if mask == 0 {
            return 0;
        }
        if e.uniform {
            return if self.eval(e, mask.trailing_zeros()) != 0 { mask } else { 0 };
        }
        let values = self.eval_all(e, mask);
        lanes_of(mask).filter(|l| values[*l as usize] != 0).fold(0, |m, l| m | 1 << l)
    }

    fn each(&self, e: &RExpr, mask: u64, depth: u32, out: &mut Lanes) {
        let first = mask.trailing_zeros();
        let end = 64 - mask.leading_zeros() as usize;
        let range = first as usize..end;
        if e.uniform {
            out[range].fill(self.eval(e, first));
            return;
        }
        if depth >= MOST_DEPTH || mask.count_ones() == 1 {
            lanes_of(mask).for_each(|lane| out[lane as usize] = self.eval(e, lane));
            return;
        }
        match &e.kind {
            RKind::Slot(slot) => range.for_each(|lane| out[lane] = self.slot(lane as u32, *slot)),
            RKind::Special(Special::ThreadLinear) => {
                range.for_each(|lane| out[lane] = u64::from(self.first) + lane as u64);
            }
            RKind::Special(Special::Lane) => range.for_each(|lane| out[lane] = lane as u64),
            RKind::Const(_) | RKind::Special(_) | RKind::Comm(_) => {
                range.for_each(|lane| out[lane] = self.eval(e, lane as u32));
            }
            RKind::Neg(a) => {
                self.each(a, mask, depth + 1, out);
                let class = Class::of(e.ty);
                out[range].iter_mut().for_each(|v| *v = num::neg(class, *v));
            }
            RKind::Not(a) => {
                self.each(a, mask, depth + 1, out);
                out[range].iter_mut().for_each(|v| *v ^= 1);
            }
            RKind::Cast(from, a) => {
                self.each(a, mask, depth + 1, out);
                let to = Class::of(e.ty);
                out[range].iter_mut().for_each(|v| *v = num::cast(*from, to, *v));
            }
            RKind::Binary(op, class, a, b) => {
                self.each(a, mask, depth + 1, out);
                if b.uniform {
                    let b = self.eval(b, first);
                    out[range].iter_mut().for_each(|v| *v = num::binary(*op, *class, *v, b));
                } else {
                    let mut right = [0; 64];
                    self.each(b, mask, depth + 1, &mut right);
                    let pairs = out[range.clone()].iter_mut().zip(&right[range]);
                    pairs.for_each(|(v, b)| *v = num::binary(*op, *class, *v, *b));
                }
            }
            RKind::Select(c, a, b) => {
                let yes = self.eval_mask(c, mask);
                for (mask, side) in [(yes, a), (mask & !yes, b)] {
                    if mask != 0 {
                        let mut values = [0; 64];
                        self.each(side, mask, depth + 1, &mut values);
                        lanes_of(mask).for_each(|l| out[l as usize] = values[l as usize]);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tilewright_ir::ScalarTy;
    use tilewright_ir::expr::BinOp;
    use tilewright_ir::interp::resolve::resolve;
    use tilewright_ir::text::parse;

    use super::*;

    fn node(kind: RKind, uniform: bool) -> RExpr {
        RExpr { kind, ty: ScalarTy::Index, uniform }
    }

    fn binary(op: BinOp, a: RExpr, b: RExpr) -> RExpr {
        let uniform = a.uniform && b.uniform;
        node(RKind::Binary(op, Class::INDEX, Box::new(a), Box::new(b)), uniform)
    }

    /// Some expression of this size with an operator of each kind.
    fn tree(seed: u64, size: u32) -> RExpr {
        let leaf = [
            || RExpr::int(7),
            || node(RKind::Special(Special::Lane), false),
            || node(RKind::Special(Special::ThreadLinear), false),
            || RExpr::int(-3),
        ];
        if size == 0 {
            return leaf[(seed % 4) as usize]();
        }
        let (a, b) = (tree(seed / 3, size - 1), tree(seed / 5 + 1, size - 1));
        let ops = [BinOp::Add, BinOp::Mul, BinOp::Div, BinOp::Rem, BinOp::Xor, BinOp::Shl, BinOp::Min, BinOp::Lt];
        match seed % 11 {
            8 => node(RKind::Neg(Box::new(a)), false),
            9 => {
                node(RKind::Select(Box::new(binary(BinOp::Lt, a.clone(), b.clone())), Box::new(a), Box::new(b)), false)
            }
            10 => node(RKind::Cast(Class::INDEX, Box::new(a)), false),
            k => binary(ops[k as usize], a, b),
        }
    }

    #[test]
    fn all_lanes_at_once_are_as_each_by_itself() {
        let module = parse("kernel k() launch(grid = [1], block = [100], warp = 64) {}").into_result().expect("parses");
        let kernel = module.kernel("k").expect("k");
        let none = |_: usize| unreachable!("there is no wait");
        let resolved = resolve(kernel, 64, &|_| None, &none).expect("resolves");
        for number in 0..2 {
            let warp = Warp::new(&resolved, number, 0, 1, [0; 3]);
            for seed in 0..600 {
                let e = tree(seed * 7919, (seed % 5) as u32);
                for mask in [warp.full, warp.full & 0x0F0F_0F0F_0000_0F00, warp.full & 0x10] {
                    let all = warp.eval_all(&e, mask);
                    for lane in lanes_of(mask) {
                        assert_eq!(all[lane as usize], warp.eval(&e, lane), "seed {seed}, lane {lane}");
                    }
                }
            }
        }
    }
}

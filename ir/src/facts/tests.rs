//! What may be concluded, and what may not.

use super::*;
use crate::module::WarpWidth;
use crate::span::Span;

fn var(n: &str) -> Expr {
    Expr::var(&Name::new(n))
}

fn bin(op: BinOp, a: Expr, b: impl Into<Expr>) -> Expr {
    Expr::binary(op, a, b.into())
}

fn launch(grid: i64, block: i64) -> Launch {
    Launch { grid: vec![grid.into()], block: vec![block.into()], warp: WarpWidth::Target, span: Span::NONE }
}

#[test]
fn thread_ids_are_bounded_by_the_launch() {
    let f = Facts::with_launch(&launch(4, 96), 64);
    let range = |s| f.range(&Dim::atom(Expr::special(s)));
    assert_eq!(range(Special::Thread(0)), (Some(0), Some(95)));
    assert_eq!(range(Special::Thread(1)), (Some(0), Some(0)));
    assert_eq!(range(Special::Lane), (Some(0), Some(63)));
    assert_eq!(range(Special::Warp), (Some(0), Some(1)));
    assert_eq!(range(Special::Block(0)), (Some(0), Some(3)));
}

#[test]
fn lets_are_seen_through() {
    let mut f = Facts::with_launch(&launch(1, 128), 32);
    f.define(&"t".into(), &bin(BinOp::Mul, Expr::special(Special::Thread(0)), 8));
    f.define(&"u".into(), &bin(BinOp::Add, var("t"), 4));
    assert_eq!(f.multiple_of(&f.resolve(&var("t"))), 8);
    assert_eq!(f.multiple_of(&f.resolve(&var("u"))), 4);
    assert_eq!(f.range(&f.resolve(&var("u"))), (Some(4), Some(127 * 8 + 4)));
    assert_eq!(f.resolve(&bin(BinOp::Div, var("u"), 8)), Dim::atom(Expr::special(Special::Thread(0))));
    assert_eq!(f.resolve(&bin(BinOp::Rem, var("u"), 8)), Dim::Const(4));
    assert_eq!(f.resolve(&bin(BinOp::And, var("u"), 7)), Dim::Const(4));
    assert!(!f.is_uniform(&var("u")));
    f.define(&"t".into(), &Expr::int(3)); // a new `t` in another block
    assert_eq!(f.resolve(&var("t")), Dim::Const(3));
    assert!(f.is_uniform(&var("t")) && !f.is_uniform(&var("nobody")));
}

#[test]
fn assumptions_give_divisibility() {
    let mut f = Facts::new();
    f.declare(&"n".into(), ScalarTy::Index, true);
    f.declare(&"k".into(), ScalarTy::Num(DType::U32), true);
    f.assume(&bin(BinOp::LAnd, bin(BinOp::Eq, bin(BinOp::Rem, var("n"), 16), 0), bin(BinOp::Lt, var("k"), 10)));
    f.assume(&bin(BinOp::Eq, bin(BinOp::Rem, var("k"), 8), 4));
    let d = |e: &Expr| f.resolve(e);
    assert_eq!(f.multiple_of(&d(&bin(BinOp::Mul, var("n"), 3))), 48);
    assert_eq!(f.multiple_of(&d(&bin(BinOp::Add, var("n"), 24))), 8);
    assert!(f.is_multiple(&d(&bin(BinOp::Add, var("k"), 4)), 8));
    assert!(!f.is_multiple(&d(&var("k")), 8) && f.is_multiple(&d(&var("k")), 4));
    assert_eq!(f.range(&d(&var("k"))), (Some(0), Some(9)));
    assert_eq!(f.multiple_of(&Dim::ZERO), 0);
    // n is a multiple of 16, but nobody knows its sign: the remainder is 0 all the same.
    assert_eq!(f.rem(&d(&var("n")), &Dim::Const(8)), Dim::ZERO);
}

#[test]
fn symbolic_loops_stay_in_bounds() {
    let mut f = Facts::new();
    f.declare(&"n".into(), ScalarTy::Num(DType::U32), true);
    f.loop_var(&"i".into(), &Expr::int(0), &var("n"));
    let (i, n) = (Dim::from(&Name::new("i")), Dim::from(&Name::new("n")));
    assert!(f.is_lt(&i, &n) && f.is_nonneg(&i) && !f.is_lt(&i.add(&Dim::ONE), &n));
    // (i * n + i) / n == i, and the remainder is i.
    let flat = i.mul(&n).add(&i);
    assert_eq!(f.div(&flat, &n), i);
    assert_eq!(f.rem(&flat, &n), i);
    f.assume_not(&bin(BinOp::Ge, var("i"), 8));
    assert_eq!(f.range(&i).1, Some(7));
}

#[test]
fn ranges_of_operators() {
    let mut f = Facts::new();
    f.loop_var(&"i".into(), &Expr::int(-5), &Expr::int(20));
    f.loop_var(&"j".into(), &Expr::int(0), &Expr::int(20));
    let r = |e: Expr| f.range(&f.resolve(&e));
    assert_eq!(r(bin(BinOp::Div, var("i"), 4)), (Some(-1), Some(4)));
    assert_eq!(r(bin(BinOp::Rem, var("i"), 4)), (Some(-3), Some(3)));
    assert_eq!(r(bin(BinOp::Rem, var("j"), 4)), (Some(0), Some(3)));
    assert_eq!(r(bin(BinOp::Shr, var("j"), 2)), (Some(0), Some(4)));
    assert_eq!(r(bin(BinOp::Xor, var("j"), 5)), (Some(0), Some(31)));
    assert_eq!(r(bin(BinOp::Mul, var("i"), var("j"))), (Some(-95), Some(361)));
    assert_eq!(r(bin(BinOp::Min, var("i"), 7)), (Some(-5), Some(7)));
    assert_eq!(r(bin(BinOp::Lt, var("i"), 7)), (Some(0), Some(1)));
    assert_eq!(r(bin(BinOp::Mul, var("i"), i64::MAX)), (None, None));
}

#[test]
fn nothing_is_claimed_without_proof() {
    let f = Facts::new();
    let x = f.resolve(&var("x"));
    assert_eq!(f.range(&x), (None, None));
    assert_eq!(f.multiple_of(&x), 1);
    // The sign is unknown: `(4 x + 1) / 4` is not `x` for negative x.
    let e = bin(BinOp::Div, bin(BinOp::Add, bin(BinOp::Mul, var("x"), 4), 1), 4);
    assert_ne!(f.resolve(&e), x);
}

#[test]
fn a_neighbour_is_a_rank() {
    let comm = |f| Expr::new(ExprKind::Comm(Name::new("comm"), f));
    let mut f = Facts::new();
    let next = bin(BinOp::Rem, bin(BinOp::Add, comm(CommField::LsaRank), 1), comm(CommField::LsaSize));
    f.define(&"next".into(), &next);
    let (next, size) = (f.resolve(&var("next")), f.resolve(&comm(CommField::LsaSize)));
    assert!(f.is_nonneg(&next) && f.is_lt(&next, &size));
    assert!(f.is_uniform(&var("next")));
}

#[test]
fn the_last_tile_ends_at_the_end() {
    let mut f = Facts::new();
    f.declare(&"n".into(), ScalarTy::Num(DType::U32), true);
    f.loop_var(&"i".into(), &Expr::int(0), &Expr::int(1000));
    let base = bin(BinOp::Mul, var("i"), 64);
    f.define(&"len".into(), &bin(BinOp::Min, Expr::int(64), bin(BinOp::Sub, var("n"), base.clone())));
    let end = f.resolve(&bin(BinOp::Add, base, var("len")));
    assert!(f.is_le(&end, &Dim::from(&Name::new("n"))));
    assert!(f.is_le(&f.resolve(&var("len")), &Dim::Const(64)));
}

#[test]
fn narrow_types_wrap() {
    let mut f = Facts::new();
    f.declare(&"x".into(), ScalarTy::Num(DType::U8), true);
    f.define(&"y".into(), &bin(BinOp::Add, var("x"), 255));
    assert_eq!(f.range(&f.resolve(&var("y"))), (Some(0), Some(255)));
    f.define(&"z".into(), &bin(BinOp::Mul, var("y"), 12));
    assert_eq!(f.multiple_of(&f.resolve(&var("z"))), 4, "wrapping keeps powers of two only");
    f.assume(&bin(BinOp::Lt, var("x"), 10));
    assert_eq!(f.range(&f.resolve(&bin(BinOp::Mul, var("x"), 2))), (Some(0), Some(18)));
    assert_eq!(f.resolve(&bin(BinOp::Shl, var("x"), 9)), f.resolve(&bin(BinOp::Mul, var("x"), 2)));
    // With an index it computes as an index.
    assert_eq!(
        f.range(&f.resolve(&bin(BinOp::Mul, var("x"), Expr::special(Special::Grid(0))))).1,
        Some(9 * i64::from(i32::MAX))
    );
    let sum = f.resolve(&bin(BinOp::Sub, var("x"), 1));
    assert_eq!(f.range(&sum), (Some(0), Some(255)), "0 - 1 is 255");
}

//! What `Facts` claims, checked by trying every value: ranges, divisors and resolved forms of random expressions over two
//! loop variables, a let, and an assumption.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tilewright_ir::eval::{Value, Values, eval_int};
use tilewright_ir::facts::Facts;
use tilewright_ir::{BinOp, CommField, Dim, Expr, Name, Special};

/// Values of `i` and `j`; `k` is the let `4 * i + j`.
struct At(i64, i64);

impl Values for At {
    fn var(&self, name: &Name) -> Option<Value> {
        Some(Value::index(match name.as_str() {
            "i" => self.0,
            "j" => self.1,
            _ => 4 * self.0 + self.1,
        }))
    }
    fn special(&self, _: Special) -> Option<i64> {
        None
    }
    fn comm(&self, _: CommField) -> Option<i64> {
        None
    }
}

fn var(n: &str) -> Expr {
    Expr::var(&Name::new(n))
}

fn let_value() -> Expr {
    Expr::binary(BinOp::Add, Expr::binary(BinOp::Mul, Expr::int(4), var("i")), var("j"))
}

fn expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        Just(var("i")),
        Just(var("j")),
        Just(var("k")),
        (-9i64..20).prop_map(Expr::int),
        prop_oneof![Just(1i64), Just(2), Just(3), Just(4), Just(8), Just(7), Just(15)].prop_map(Expr::int),
    ];
    let op = prop::sample::select(vec![
        BinOp::Add,
        BinOp::Add,
        BinOp::Sub,
        BinOp::Mul,
        BinOp::Div,
        BinOp::Rem,
        BinOp::Min,
        BinOp::Max,
        BinOp::And,
        BinOp::Or,
        BinOp::Xor,
        BinOp::Shl,
        BinOp::Shr,
    ]);
    leaf.prop_recursive(4, 16, 2, move |inner| {
        (op.clone(), inner.clone(), inner).prop_map(|(op, a, b)| match op {
            // Large shifts leave what facts are about: numbers that do not wrap.
            BinOp::Shl => Expr::binary(op, a, Expr::binary(BinOp::And, b, Expr::int(3))),
            _ => Expr::binary(op, a, b),
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, rng_seed: RngSeed::Fixed(3), ..ProptestConfig::default() })]

    #[test]
    fn claims_hold_for_every_value(e in expr(), lo in -6i64..4, even in any::<bool>(), less in any::<bool>()) {
        let mut facts = Facts::new();
        facts.loop_var(&"i".into(), &Expr::int(lo), &Expr::int(7));
        facts.loop_var(&"j".into(), &Expr::int(0), &Expr::int(9));
        if even {
            facts.assume(&Expr::binary(BinOp::Eq, Expr::binary(BinOp::Rem, let_value(), Expr::int(2)), Expr::int(0)));
        }
        if less {
            facts.assume(&Expr::binary(BinOp::Lt, var("i"), var("j")));
        }
        facts.define(&"k".into(), &let_value());
        let dim = facts.resolve(&e);
        let (range, multiple) = (facts.range(&dim), facts.multiple_of(&dim));
        for i in lo..7 {
            for j in 0..9 {
                if (even && (4 * i + j) % 2 != 0) || (less && i >= j) {
                    continue;
                }
                let v = eval_int(&e, &At(i, j)).expect("an integer");
                prop_assert_eq!(eval_int(&dim.to_expr(), &At(i, j)), Ok(v), "resolved {} at {} {}", dim, i, j);
                prop_assert!(range.0.is_none_or(|l| l <= v) && range.1.is_none_or(|h| v <= h), "{:?} {} at {} {}", range, v, i, j);
                prop_assert!(if multiple == 0 { v == 0 } else { v % multiple == 0 }, "{} of {} at {} {}", multiple, v, i, j);
            }
        }
    }

    #[test]
    fn quotients_and_remainders_of_what_is_not_negative(a in 0i64..20, b in 0i64..20, c in 0i64..40, by in 1i64..20) {
        let mut facts = Facts::new();
        facts.loop_var(&"i".into(), &Expr::int(0), &Expr::int(7));
        facts.loop_var(&"j".into(), &Expr::int(0), &Expr::int(9));
        let (i, j, n) = (Dim::from(&Name::new("i")), Dim::from(&Name::new("j")), Dim::Const(by));
        let dim = i.mul(&Dim::Const(a)).add(&j.mul(&Dim::Const(b))).add(&Dim::Const(c));
        let (q, r) = (facts.div(&dim, &n), facts.rem(&dim, &n));
        for x in 0..7 {
            for y in 0..9 {
                let v = a * x + b * y + c;
                prop_assert_eq!(eval_int(&q.to_expr(), &At(x, y)), Ok(v / by), "{}", q);
                prop_assert_eq!(eval_int(&r.to_expr(), &At(x, y)), Ok(v % by), "{}", r);
            }
        }
    }
}

//! Each rule alone on random values that fit what is known, the ends of i64 included; and the whole pass on expressions.

use std::collections::BTreeMap;

use egg::{Id, RecExpr};
use tilewright_ir::env::Env;
use tilewright_ir::facts::Facts;
use tilewright_ir::text::print_expr;
use tilewright_ir::{BinOp, Expr, Name, ScalarTy, Span};
use tilewright_target::Vendor;

use super::lang::{Graph, Known, LeafId, Leaves, Node, evaluate};
use super::rules::{RULES, Rule};
use super::{best_form, saturate, simplify};

/// splitmix64: the tests' only source of chance.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// A divisor: most often small, a power of two half of the time.
    fn divisor(&mut self) -> i64 {
        self.pick(&[1, 2, 2, 4, 8, 8, 16, 64, 3, 6, 7, 12, 48, 1 << 40, 1 << 61])
    }

    fn literal(&mut self) -> i64 {
        let special = [0, 1, -1, 2, 5, 63, 64, 448, -8, i64::MIN, i64::MAX, 1 << 62];
        if self.below(3) == 0 { self.pick(&special) } else { self.divisor() }
    }

    /// What may be known of a leaf: bounds from tight to none, at either end of i64 or around 0.
    fn known(&mut self) -> Known {
        let step = self.pick(&[1, 1, 2, 4, 8, 64, 6, 12]);
        let spread = self.pick(&[0, 1, 5, 7, 63, 255, 1000, 1 << 40]);
        let (lo, hi) = match self.below(8) {
            0 => (i64::MIN, i64::MAX),
            1 => (i64::MAX - spread, i64::MAX),
            2 => (i64::MIN, i64::MIN + spread),
            3 => (-spread, spread),
            4 => (0, i64::MAX),
            _ => (0, spread),
        };
        // Bounds that hold a multiple of the step.
        if (i128::from(hi) - i128::from(lo)) < i128::from(step) {
            Known { lo, hi, step: 1 }
        } else {
            Known { lo, hi, step }
        }
    }

    /// A value that fits; the ends more often than others.
    fn value(&mut self, known: Known) -> i64 {
        let width = (i128::from(known.hi) - i128::from(known.lo)) as u128 + 1;
        let at = match self.below(4) {
            0 => 0,
            1 => width - 1,
            2 => u128::from(self.below(16)) % width,
            _ => u128::from(self.next()) % width,
        };
        let v = i128::from(known.lo) + at as i128;
        let down = v - v.rem_euclid(i128::from(known.step));
        let fit = if down >= i128::from(known.lo) { down } else { down + i128::from(known.step) };
        fit as i64
    }

    /// A random expression over three leaves.
    fn tree(&mut self, nodes: &mut RecExpr<Node>, depth: u32) -> Id {
        use BinOp::{Add, And, Div, Mul, Or, Rem, Shl, Shr, Sub, Xor};
        if depth == 0 || self.below(6) == 0 {
            return match self.below(3) {
                0 => nodes.add(Node::Int(self.literal())),
                _ => nodes.add(Node::Leaf(LeafId(self.below(3) as u32))),
            };
        }
        let op = self.pick(&[Add, Add, Add, Sub, Mul, Mul, Div, Div, Rem, Rem, And, Or, Xor, Shl, Shr]);
        let a = self.tree(nodes, depth - 1);
        let b = if matches!(op, Mul | Div | Rem | And | Shl | Shr) && self.below(5) != 0 {
            let literal = if matches!(op, Shl | Shr) { self.below(8) as i64 } else { self.literal() };
            nodes.add(Node::Int(literal))
        } else {
            self.tree(nodes, depth - 1)
        };
        Node::binary(op, [a, b]).map(|node| nodes.add(node)).expect("an operator of the language")
    }
}

/// The value of every class for the given leaves; panics where two nodes of a class differ, or where the value is not
/// among those that the analysis allows.
fn check_classes(graph: &Graph, leaves: &[i64], what: &str) {
    let mut values: BTreeMap<Id, i64> = BTreeMap::new();
    let value = |node: &Node, values: &BTreeMap<Id, i64>| match node {
        Node::Int(v) => Some(*v),
        Node::Leaf(LeafId(n)) => Some(leaves[*n as usize]),
        node => {
            let (op, [a, b]) = node.parts()?;
            Some(evaluate(op, *values.get(&graph.find(a))?, *values.get(&graph.find(b))?))
        }
    };
    loop {
        let known = values.len();
        for class in graph.classes() {
            if let Some(v) = class.nodes.iter().find_map(|node| value(node, &values)) {
                values.entry(class.id).or_insert(v);
            }
        }
        if values.len() == known {
            break;
        }
    }
    for class in graph.classes() {
        let expected = values[&class.id];
        for node in &class.nodes {
            assert_eq!(
                value(node, &values),
                Some(expected),
                "{what}: leaves {leaves:?}, node {node:?} of {:?}",
                class.nodes
            );
        }
        let Known { lo, hi, step } = class.data;
        let divides = if step == 0 { expected == 0 } else { expected % step == 0 };
        assert!(lo <= expected && expected <= hi && divides, "{what}: {expected} against {:?}", class.data);
    }
}

/// Saturates with the rules and checks every class on random leaves. Did a rule find anything?
fn check(expr: &RecExpr<Node>, known: &[Known], rules: &[Rule], rng: &mut Rng) -> bool {
    let mut graph = Graph::new(Leaves(known.to_vec()));
    graph.add_expr(expr);
    graph.rebuild();
    let before = (graph.total_size(), graph.number_of_classes());
    saturate(&mut graph, rules);
    for _ in 0..6 {
        let leaves: Vec<i64> = known.iter().map(|k| rng.value(*k)).collect();
        check_classes(&graph, &leaves, &format!("{expr} with {known:?}"));
    }
    before != (graph.total_size(), graph.number_of_classes())
}

/// An expression of the form that a rule looks for.
fn template(rule: &str, rng: &mut Rng) -> String {
    let (c, m, k) = (rng.divisor(), rng.divisor(), rng.pick(&[1, 2, 3, 6]));
    let p = rng.pick(&[2i64, 4, 8, 64]);
    let mask = rng.literal();
    let bits = rng.pick(&["^", "|", "+"]);
    match rule {
        "shift-as-product" => format!("(<< x0 {k})"),
        "shift-as-quotient" => format!("(>> x0 {k})"),
        "mask-as-remainder" => format!("(& x0 {})", p - 1),
        "quotient-as-shift" => format!("(/ x0 {p})"),
        "remainder-as-mask" => format!("(% x0 {p})"),
        "collect" => format!("(- (+ (* (* x0 {c}) {m}) x1) (+ x1 {k}))"),
        "quotient-of-sum" => format!("(/ (+ (* x0 {}) (+ x1 {k})) {c})", c.wrapping_mul(m)),
        "remainder-of-sum" => format!("(% (+ (* x0 {}) (+ x1 {k})) {c})", c.wrapping_mul(m)),
        "quotient-of-quotient" => format!("(/ (/ x0 {c}) {m})"),
        "remainder-of-remainder" => format!("(% (% x0 {}) {c})", c.wrapping_mul(m)),
        "digits-together" => match rng.below(2) {
            0 => format!("(+ (* (/ x0 {c}) {}) (+ x1 (* (% x0 {c}) {k})))", c.wrapping_mul(k)),
            _ => format!("(+ (* (% (/ x0 {c}) {m}) {}) (* (% x0 {c}) {k}))", c.wrapping_mul(k)),
        },
        "quotient-and-remainder" => "(+ (* x1 (/ x0 x1)) (% x0 x1))".to_owned(),
        "without-remainder" => "(- x0 (% x0 x1))".to_owned(),
        "round-down" => match rng.below(2) {
            0 => format!("(* (/ x0 {p}) {p})"),
            _ => format!("(* (>> x0 {k}) {})", 1 << k),
        },
        "idle-mask" => format!("(& x0 {mask})"),
        "mask-of-mask" => format!("(& {mask} (& x0 {c}))"),
        "mask-of-parts" => format!("(& ({bits} x0 x1) {mask})"),
        "shift-of-parts" => format!("(>> ({bits} x0 x1) {k})"),
        "disjoint-as-sum" => format!("({} x0 x1)", rng.pick(&["^", "|"])),
        "xor-twice" => match rng.below(3) {
            0 => "(^ x1 (^ x0 x1))".to_owned(),
            1 => format!("(^ (^ x0 {c}) {m})"),
            _ => "(^ x0 x0)".to_owned(),
        },
        other => panic!("rule `{other}` has no template: add one"),
    }
}

#[test]
fn each_rule_holds_where_it_fires() {
    for rule in RULES.chunks(1) {
        let name = rule[0].name;
        let mut rng = Rng(7);
        let mut fired = 0;
        for _ in 0..150 {
            let expr: RecExpr<Node> = template(name, &mut rng).parse().expect("a template is right");
            let known = [rng.known(), rng.known()];
            fired += u32::from(check(&expr, &known, rule, &mut rng));
        }
        assert!(fired >= 5, "{name} fired {fired} times");
    }
}

#[test]
fn rules_hold_on_random_expressions() {
    let mut rng = Rng(11);
    for round in 0..600 {
        let mut expr = RecExpr::default();
        rng.tree(&mut expr, 4);
        let known = [rng.known(), rng.known(), rng.known()];
        let rules = if round % 2 == 0 { RULES } else { RULES.chunks(1).nth(round % RULES.len()).expect("a rule") };
        check(&expr, &known, rules, &mut rng);
    }
}

#[test]
fn the_same_input_gives_the_same_form() {
    let mut rng = Rng(3);
    for _ in 0..60 {
        let mut expr = RecExpr::default();
        rng.tree(&mut expr, 4);
        let known = [rng.known(), rng.known(), rng.known()];
        let once = best_form(&expr, &known, Vendor::Nvidia, RULES);
        assert_eq!(once, best_form(&expr, &known, Vendor::Nvidia, RULES), "{expr}");
    }
}

/// Simplifies an expression over `t` in 0..128, `i` and `j` in 0..4, and `n`, of which nothing is known.
fn simplified(text: &str) -> String {
    let mut facts = Facts::new();
    let mut env = Env::for_run();
    for (name, hi) in [("t", Some(128)), ("i", Some(4)), ("j", Some(4)), ("n", None)] {
        let name = Name::new(name);
        env.bind_loop(&name, &Expr::int(0), &Expr::int(1), Span::NONE);
        match hi {
            Some(hi) => facts.loop_var(&name, &Expr::int(0), &Expr::int(hi)),
            None => facts.declare(&name, ScalarTy::Index, true),
        }
    }
    let e = tilewright_ir::text::parse_expr(text).expect("an expression");
    print_expr(&simplify(&e, &env, &facts, Vendor::Nvidia).unwrap_or(e))
}

#[test]
fn addresses_become_what_they_need() {
    let cases = [
        ("(i * 6 + j) / 6 * 6 + (i * 6 + j) % 6", "i * 6 + j"),
        ("(i * 64 + t) / 64", "i + t / 64"),
        ("(t * 8 + j) / 8", "t"),
        ("(t * 8 + j) % 8", "j"),
        ("t / 8 % 2 * 8 + t % 8", "t % 16"),
        ("t / 32 * 32 + t % 32", "t"),
        ("(t * 12 + i) / 4 / 3", "t"),
        ("t * 8 & 1016", "t * 8"),
        ("(t * 8 ^ i) & 7", "i"),
        ("(t * 8 ^ i) >> 3", "t"),
        ("t - t % 16", "t & -16"),
        ("t % 24 % 12", "t % 12"),
        // Of `n` nothing is known: neither a sign, nor that a product fits.
        ("n / 8", "n / 8"),
        ("n * 6 / 6", "n * 6 / 6"),
        ("(n * 8 + j) % 8", "(n * 8 + j) % 8"),
        ("n / 6 * 6 + n % 6", "n"),
        ("n / 2 / 3", "n / 6"),
        ("(n << 3) >> 3", "n << 3 >> 3"),
        ("n / 0 + n % 0", "n / 0 + n % 0"),
    ];
    for (from, to) in cases {
        assert_eq!(simplified(from), to, "{from}");
    }
}

#[test]
fn what_stands_around_an_address_stays() {
    assert_eq!(
        simplified("select(t / 8 == 0, t / 4 / 2, min(t % 16, i))"),
        "select(t / 8 == 0, t / 8, min(t % 16, i))"
    );
    // In `u8` the literal would take its neighbour's type; an index beside it does not.
    assert_eq!(simplified("u8(t) / u8(8)"), "u8(t) / u8(8)");
    assert_eq!(simplified("u8(t / 8)"), "u8(t / 8)");
}

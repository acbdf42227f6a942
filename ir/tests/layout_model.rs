//! The layout algebra against a numeric model written apart from it: every operation is compared, element by element, with
//! what the definition of a layout says.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tilewright_ir::facts::Facts;
use tilewright_ir::layout::{Interval, contiguous_runs, flatten_threads};
use tilewright_ir::{Axis, Dim, Expr, Iter, Layout, Name, Swizzle, TileLayout};

/// A layout in plain numbers.
#[derive(Clone, Debug)]
struct Model {
    shard: Vec<(i64, i64, Axis)>,
    offset: Vec<(Axis, i64)>,
}

impl Model {
    fn layout(&self) -> TileLayout {
        TileLayout {
            shard: self.shard.iter().map(|(e, s, a)| Iter::new(*e, *s, a.clone())).collect(),
            replica: Vec::new(),
            offset: self.offset.iter().map(|(a, d)| (a.clone(), Dim::Const(*d))).collect(),
        }
    }

    fn size(&self) -> i64 {
        self.shard.iter().map(|(e, _, _)| e).product()
    }

    /// The definition: digits by nested counting, threads flattened, zeros dropped.
    fn place(&self, flat: i64, warp: i64) -> BTreeMap<String, i64> {
        let mut out: BTreeMap<String, i64> = BTreeMap::new();
        let mut add = |a: &Axis, v: i64| {
            let (key, unit) = match a {
                Axis::LaneId => ("t", 1),
                Axis::WarpId => ("t", warp),
                other => (other.as_str(), 1),
            };
            *out.entry(key.to_string()).or_insert(0) += v * unit;
        };
        let mut weight = self.size();
        let mut rest = flat;
        for (e, s, a) in &self.shard {
            weight /= e;
            add(a, rest / weight * s);
            rest %= weight;
        }
        for (a, d) in &self.offset {
            add(a, *d);
        }
        out.retain(|_, v| *v != 0);
        out
    }
}

/// A place as the algebra gives it, in the model's form.
fn plain(layout: &TileLayout, flat: i64, warp: u32) -> BTreeMap<String, i64> {
    let point = layout.apply_flat(flat).expect("a place");
    let name = |a: Axis| if a == Axis::Tx { "t".to_string() } else { a.to_string() };
    flatten_threads(&point, warp).into_iter().filter(|(_, v)| *v != 0).map(|(a, v)| (name(a), v)).collect()
}

fn axis() -> impl Strategy<Value = Axis> {
    prop_oneof![4 => Just(Axis::M), 1 => Just(Axis::LaneId), 1 => Just(Axis::WarpId)]
}

fn model() -> impl Strategy<Value = Model> {
    let it = (1i64..6, -8i64..40, axis());
    (prop::collection::vec(it, 1..5), prop::collection::vec((axis(), 0i64..9), 0..2)).prop_map(|(shard, offset)| {
        Model { shard, offset: offset.into_iter().collect::<BTreeMap<_, _>>().into_iter().collect() }
    })
}

/// A shape with as many elements as the model, made by splitting and merging its extents.
fn shape_of(m: &Model, merge: &[bool]) -> Vec<i64> {
    let mut shape: Vec<i64> = Vec::new();
    for (i, (e, _, _)) in m.shard.iter().enumerate() {
        match shape.last_mut() {
            Some(last) if merge.get(i).copied().unwrap_or(false) => *last *= e,
            _ => shape.push(*e),
        }
    }
    shape
}

fn dims(v: &[i64]) -> Vec<Dim> {
    v.iter().copied().map(Dim::Const).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn canonical_form_keeps_the_map(m in model(), warp in prop_oneof![Just(32u32), Just(64)]) {
        for join in [None, Some(warp)] {
            let c = m.layout().canonicalize(join).expect("one scope");
            for i in 0..m.size() {
                prop_assert_eq!(plain(&c, i, warp), m.place(i, i64::from(warp)));
            }
            prop_assert_eq!(c.canonicalize(join).expect("again"), c.clone());
        }
    }

    #[test]
    fn grouping_keeps_the_map(m in model(), merge in prop::collection::vec(any::<bool>(), 4)) {
        let shape = shape_of(&m, &merge);
        let g = m.layout().group(&dims(&shape)).expect("the shape follows the iters");
        for i in 0..m.size() {
            prop_assert_eq!(plain(&g.layout, i, 32), m.place(i, 32));
        }
        for (k, extent) in shape.iter().enumerate() {
            let product: i64 = g.group(k).iter().map(|it| it.extent.as_const().expect("constant")).product();
            prop_assert_eq!(product, *extent);
        }
    }

    #[test]
    fn slices_are_right_or_refused(
        m in model(),
        merge in prop::collection::vec(any::<bool>(), 4),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 4),
    ) {
        let shape = shape_of(&m, &merge);
        let region: Vec<(i64, i64)> = shape.iter().zip(&cuts).map(|(n, (b, e))| {
            let begin = b.index(*n as usize) as i64;
            (begin, begin + 1 + e.index((n - begin) as usize) as i64)
        }).collect();
        let spans: Vec<Interval> = region.iter().map(|(b, e)| Interval::new(*b, e - b)).collect();
        let Ok(s) = m.layout().slice(&dims(&shape), &spans, None, &Facts::new()) else { return Ok(()) };
        let count: i64 = region.iter().map(|(b, e)| e - b).product();
        prop_assert_eq!(s.size(), Dim::Const(count));
        for i in 0..count {
            let mut rest = i;
            let mut flat = 0;
            let mut weight = 1;
            for (n, (b, e)) in shape.iter().zip(&region).rev() {
                flat += (b + rest % (e - b)) * weight;
                rest /= e - b;
                weight *= n;
            }
            prop_assert_eq!(plain(&s, i, 32), m.place(flat, 32), "element {}", i);
        }
    }

    #[test]
    fn symbolic_begins_agree_with_constant_ones(m in model(), merge in prop::collection::vec(any::<bool>(), 4), scale in 1i64..5) {
        let shape = shape_of(&m, &merge);
        let steps = (shape[0] - 1) / scale + 1;
        let mut facts = Facts::new();
        facts.loop_var(&Name::new("i"), &Expr::int(0), &Expr::int(steps));
        let begin = Dim::from(&Name::new("i")).mul(&Dim::Const(scale));
        let mut spans = Interval::whole(&dims(&shape));
        spans[0] = Interval::new(begin, 1);
        let Ok(symbolic) = m.layout().slice(&dims(&shape), &spans, None, &facts) else {
            panic!("one element always can be sliced");
        };
        for i in 0..steps {
            let value = |d: &Dim| d.substitute(&|a| evaluate(a, i).map(Dim::Const));
            spans[0] = Interval::new(i * scale, 1);
            let constant = m.layout().slice(&dims(&shape), &spans, None, &Facts::new()).expect("as above");
            for a in [Axis::M, Axis::LaneId, Axis::WarpId] {
                prop_assert_eq!(value(&symbolic.offset_on(&a)), constant.offset_on(&a));
            }
        }
    }

    #[test]
    fn swizzles_permute_and_keep_vectors(p in 0u32..4, len in 0u32..4, extra in 0u32..3, inner in any::<bool>()) {
        let s = Swizzle { per_element: p, swizzle_len: len, atom_len: len + extra, inner };
        s.verify().expect("sane");
        let n = s.period();
        let mut seen = vec![false; n as usize];
        for m in 0..n {
            let to = s.apply(m);
            prop_assert!((0..n).contains(&to) && !seen[to as usize]);
            seen[to as usize] = true;
            prop_assert_eq!(s.apply(to), m, "its own inverse");
            prop_assert_eq!(to % s.vector_elems(), m % s.vector_elems());
            prop_assert_eq!(s.apply(m + n), to + n);
            // The bits as the definition says.
            let q = m >> p;
            let mask = (1i64 << len) - 1;
            let by_hand = if inner { q ^ ((q & (mask << s.atom_len)) >> s.atom_len) } else { q ^ ((q & mask) << s.atom_len) };
            prop_assert_eq!(to, by_hand << p | m & ((1 << p) - 1));
        }
    }

    #[test]
    fn symbolic_swizzle_agrees(p in 0u32..4, len in 0u32..4, inner in any::<bool>(), row in prop_oneof![Just(8i64), Just(24), Just(64), Just(512)], col in 0i64..3) {
        let s = Swizzle { per_element: p, swizzle_len: len, atom_len: len, inner };
        let mut facts = Facts::new();
        facts.loop_var(&Name::new("i"), &Expr::int(0), &Expr::int(16));
        facts.loop_var(&Name::new("j"), &Expr::int(0), &Expr::int(8));
        let (i, j) = (Dim::from(&Name::new("i")), Dim::from(&Name::new("j")));
        let m = i.mul(&Dim::Const(row)).add(&j).add(&Dim::Const(8 * col));
        let e = s.apply_dim(&m, &facts);
        for x in 0..16 {
            for y in 0..8 {
                let at = |d: &Dim| evaluate2(&d.to_expr(), x, y);
                prop_assert_eq!(at(&e), s.apply(at(&m)), "{}", e);
            }
        }
    }

    #[test]
    fn runs_cover_the_region_in_order(extents in prop::collection::vec(1i64..5, 1..4), pad in 0i64..2, cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 3)) {
        let mut layout = TileLayout::row_major(&dims(&extents));
        if let Some(first) = layout.shard.first_mut() {
            first.stride = first.stride.add(&Dim::Const(pad));
        }
        let region: Vec<Interval> = extents.iter().zip(&cuts).map(|(n, (b, e))| {
            let begin = b.index(*n as usize) as i64;
            Interval::new(begin, 1 + e.index((n - begin) as usize) as i64)
        }).collect();
        let layout: Layout = layout.into();
        let runs = contiguous_runs(&layout, &dims(&extents), &region, &Facts::new()).expect("row-major");
        let slice = layout.slice(&dims(&extents), &region, None, &Facts::new()).expect("row-major");
        let num = |d: &Dim| d.as_const().expect("constant");
        let mut got = Vec::new();
        for r in 0..num(&runs.count()) {
            let (mut at, mut rest) = (num(&runs.start), r);
            for (n, s) in runs.outer.iter().rev() {
                at += rest % num(n) * num(s);
                rest /= num(n);
            }
            got.extend(at..at + num(&runs.run_elems));
        }
        let want: Vec<i64> = (0..num(&slice.tile.size())).map(|i| slice.apply_flat(i).expect("a place")[&Axis::M]).collect();
        prop_assert_eq!(got, want);
    }
}

/// Value of an expression with `i` set.
fn evaluate(e: &Expr, i: i64) -> Option<i64> {
    Some(evaluate2(e, i, 0))
}

fn evaluate2(e: &Expr, i: i64, j: i64) -> i64 {
    struct Two(i64, i64);
    impl tilewright_ir::eval::Values for Two {
        fn var(&self, name: &Name) -> Option<tilewright_ir::eval::Value> {
            Some(tilewright_ir::eval::Value::index(if *name == *"i" { self.0 } else { self.1 }))
        }
        fn special(&self, _: tilewright_ir::Special) -> Option<i64> {
            None
        }
        fn comm(&self, _: tilewright_ir::CommField) -> Option<i64> {
            None
        }
    }
    tilewright_ir::eval::eval_int(e, &Two(i, j)).expect("an integer")
}

#[test]
fn a_row_of_a_symbolic_buffer_is_one_run() {
    let mut facts = Facts::new();
    let (lane, chunk) = (Name::new("lane"), Name::new("chunk"));
    facts.declare(&chunk, tilewright_ir::ScalarTy::Num(tilewright_ir::DType::U32), true);
    facts.loop_var(&lane, &Expr::int(0), &Expr::int(64));
    let shape = [Dim::Const(64), Dim::from(&chunk)];
    let layout: Layout = TileLayout::row_major(&shape).into();
    let region = [Interval::new(Dim::from(&lane), 1), Interval::new(0, Dim::from(&chunk))];
    let runs = contiguous_runs(&layout, &shape, &region, &facts).expect("row-major");
    assert!(runs.is_single());
    assert_eq!(runs.start, Dim::from(&lane).mul(&Dim::from(&chunk)));
    assert_eq!(runs.run_elems, Dim::from(&chunk));
    let whole = contiguous_runs(&layout, &shape, &Interval::whole(&shape), &facts).expect("row-major");
    assert_eq!((whole.count(), whole.elems()), (Dim::ONE, Dim::from(&chunk).mul(&Dim::Const(64))));
    let columns = [Interval::new(0, 64), Interval::new(0, 8)];
    let runs = contiguous_runs(&layout, &shape, &columns, &facts).expect("row-major");
    assert_eq!((runs.run_elems, runs.outer), (Dim::Const(8), vec![(Dim::Const(64), Dim::from(&chunk))]));
    // Known to leave the buffer: refused.
    let outside = [Interval::new(64, 1), Interval::new(0, Dim::from(&chunk))];
    assert!(contiguous_runs(&layout, &shape, &outside, &facts).is_err());
}

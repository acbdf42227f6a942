//! The layout algebra against what TVM TIRx answers (`tests/golden/layout_handed.jsonl`, see its README in the shared
//! material): 320 layouts and the operations on them.
//!
//! Our answer must equal TVM's. Exceptions, counted as "better": rows whose own check says that TVM is wrong, and rows
//! where TVM gives up and we answer; in both, brute force over the layout must confirm our answer. `TILEWRIGHT_LAYOUT_GOLDEN`
//! names another file of the same form.

use std::collections::BTreeMap;

use serde_json::Value;
use tilewright_ir::facts::Facts;
use tilewright_ir::layout::{Interval, flatten_threads};
use tilewright_ir::{Axis, Dim, Iter, Layout, LayoutError, Swizzle, TileLayout};

/// Warp width of the golden file.
const WARP: u32 = 32;

/// The place of an element, from its coordinates in JSON.
type PlaceOf<'a> = dyn Fn(&Value) -> Result<BTreeMap<Axis, i64>, LayoutError> + 'a;

/// Verdict on one row.
enum Verdict {
    Same,
    Better,
    Failed(String),
}

fn int(v: &Value) -> i64 {
    v.as_i64().expect("an integer")
}

fn ints(v: &Value) -> Vec<i64> {
    v.as_array().expect("a list").iter().map(int).collect()
}

fn dims(v: &Value) -> Vec<Dim> {
    ints(v).into_iter().map(Dim::Const).collect()
}

fn iters(v: &Value) -> Vec<Iter> {
    let one = |it: &Value| Iter::new(int(&it[0]), int(&it[1]), Axis::parse(it[2].as_str().expect("an axis")));
    v.as_array().expect("a list of iters").iter().map(one).collect()
}

fn tile(v: &Value) -> TileLayout {
    let offset = v["offset"].as_object().expect("offsets");
    TileLayout {
        shard: iters(&v["shard"]),
        replica: iters(&v["replica"]),
        offset: offset.iter().map(|(a, d)| (Axis::parse(a), Dim::Const(int(d)))).collect(),
    }
}

fn layout(v: &Value) -> Layout {
    if v["kind"] == "tile" {
        return tile(v).into();
    }
    let s = &v["swizzle"];
    let num = |k: &str| u32::try_from(int(&s[k])).expect("a small number");
    let swizzle = Swizzle {
        per_element: num("per_element"),
        swizzle_len: num("swizzle_len"),
        atom_len: num("atom_len"),
        inner: s["swizzle_inner"].as_bool().expect("a bool"),
    };
    Layout { tile: tile(&v["tile"]), swizzle: Some(swizzle) }
}

/// A form to compare: replicas as a multiset, offsets without zeros and sorted.
fn normal(l: &Layout) -> (Vec<Iter>, Vec<String>, BTreeMap<String, Dim>, Option<Swizzle>) {
    let mut replica: Vec<String> = l.tile.replica.iter().map(|it| format!("{it:?}")).collect();
    replica.sort();
    let offset = l.tile.offset.iter().filter(|(_, d)| !d.is(0)).map(|(a, d)| (a.to_string(), d.clone())).collect();
    (l.tile.shard.clone(), replica, offset, l.swizzle)
}

fn same(a: &Layout, b: &Layout) -> bool {
    normal(a) == normal(b)
}

/// The place of every element of `of`, thread coordinates flattened and zeros dropped; `None` where it is too large.
fn places(of: &Layout) -> Option<Vec<BTreeMap<Axis, i64>>> {
    let n = of.tile.size().as_const().filter(|n| *n <= 1 << 20)?;
    (0..n).map(|i| of.apply_flat(i).ok().map(|p| nonzero(&p))).collect()
}

fn nonzero(p: &tilewright_ir::layout::Point<i64>) -> BTreeMap<Axis, i64> {
    flatten_threads(p, WARP).into_iter().filter(|(_, v)| *v != 0).collect()
}

/// Does `slice` hold the places of the region's elements, in row-major order?
fn slice_is_right(whole: &Layout, shape: &[i64], region: &[(i64, i64)], slice: &Layout) -> bool {
    let Some(got) = places(slice) else { return true };
    let mut want = Vec::new();
    let count: i64 = region.iter().map(|(b, e)| e - b).product();
    for i in 0..count {
        let mut rest = i;
        let mut coords = vec![0; shape.len()];
        for (k, (b, e)) in region.iter().enumerate().rev() {
            coords[k] = b + rest % (e - b);
            rest /= e - b;
        }
        want.push(nonzero(&whole.apply_coords(&coords, shape).expect("a place")));
    }
    got == want
}

fn check(ours: Result<Layout, LayoutError>, op: &Value, right: &dyn Fn(&Layout) -> bool) -> Verdict {
    let trusted = op.get("agrees_with_layout") != Some(&Value::Bool(false));
    match (op.get("ok"), ours) {
        (Some(Value::Null), Err(_)) | (None, Err(_)) => Verdict::Same,
        (Some(want), Ok(got)) if trusted && !want.is_null() => {
            let want = layout(want);
            if same(&got, &want) { Verdict::Same } else { Verdict::Failed(format!("got {got:?}, want {want:?}")) }
        }
        (Some(want), Err(e)) if trusted => Verdict::Failed(format!("got error {e}, want {want}")),
        (Some(_), Err(_)) => Verdict::Better, // TVM answers wrongly, we refuse
        (_, Ok(got)) if right(&got) => Verdict::Better,
        (_, Ok(got)) => Verdict::Failed(format!("wrong: {got:?}")),
    }
}

fn check_value<T: PartialEq + std::fmt::Debug>(ours: Result<T, LayoutError>, want: Option<T>) -> Verdict {
    match (ours, want) {
        (Err(_), None) => Verdict::Same,
        (Ok(got), Some(want)) if got == want => Verdict::Same,
        (got, want) => Verdict::Failed(format!("got {got:?}, want {want:?}")),
    }
}

fn check_places(op: &Value, of: &PlaceOf<'_>) -> Verdict {
    let coords = op["coords"].as_array().expect("coordinates");
    let want = op["ok"].as_object().expect("values per axis");
    for (i, c) in coords.iter().enumerate() {
        let want: BTreeMap<Axis, i64> = want.iter().map(|(a, v)| (Axis::parse(a), int(&v[i]))).collect();
        // TVM leaves out axes on which only unit iters lie when it groups first; such a coordinate is 0 anyway.
        let ours = of(c).map(|mut got| {
            got.retain(|a, v| *v != 0 || want.contains_key(a));
            got
        });
        match ours {
            Ok(got) if got == want => {}
            other => return Verdict::Failed(format!("at {c}: got {other:?}, want {want:?}")),
        }
    }
    Verdict::Same
}

/// The symbolic path with constant coordinates must agree with the numeric one.
fn check_symbolic(l: &Layout, op: &Value) -> Verdict {
    let (shape, facts) = (dims(&op["shape"]), Facts::new());
    let numeric = ints(&op["shape"]);
    for c in op["coords"].as_array().expect("coordinates") {
        let got = l.tile.apply(&dims(c), &shape, &facts).expect("a place");
        let want = l.tile.apply_coords(&ints(c), &numeric).expect("a place");
        let got: BTreeMap<Axis, Option<i64>> = got.into_iter().map(|(a, d)| (a, d.as_const())).collect();
        let want: BTreeMap<Axis, Option<i64>> = want.into_iter().map(|(a, v)| (a, Some(v))).collect();
        let zero = |v: Option<&Option<i64>>| v.copied().unwrap_or(Some(0));
        if got.keys().chain(want.keys()).any(|a| zero(got.get(a)) != zero(want.get(a))) {
            return Verdict::Failed(format!("symbolic at {c}: got {got:?}, want {want:?}"));
        }
    }
    Verdict::Same
}

fn run(l: &Layout, op: &Value) -> Verdict {
    let warp = (op.get("target").and_then(Value::as_str) == Some("cuda")).then_some(WARP);
    let axis = op.get("axis").and_then(Value::as_str).map(Axis::parse);
    let want_dim = op.get("ok").and_then(Value::as_i64).map(Dim::Const);
    match op["op"].as_str().expect("an op") {
        "size" => check_value(l.size(axis.as_ref()), want_dim),
        "span" => check_value(l.span(axis.as_ref()), want_dim),
        "verify_well_formed" => check_value(l.tile.verify().map(|()| true), op.get("ok").and_then(Value::as_bool)),
        "is_trivial" => check_value(l.is_trivial(), op.get("ok").and_then(Value::as_bool)),
        "is_swizzle" => check_value(Ok(l.is_swizzle()), op.get("ok").and_then(Value::as_bool)),
        "get_scope" => {
            let ours = l.tile.thread_scope().map(|s| s.map(|s| vec![s.subscope.to_string(), s.scope.to_string()]));
            let text = |v: &Value| v.as_str().expect("a scope").to_string();
            check_value(ours, op.get("ok").map(|v| v.as_array().map(|a| a.iter().map(text).collect())))
        }
        "canonicalize" => {
            let whole = places(l);
            check(l.canonicalize(warp), op, &|got| whole == places(got))
        }
        "apply_linear" => check_places(op, &|c| Ok(l.apply_flat(int(c))?.into_iter().collect())),
        "apply_shape" => {
            let shape = ints(&op["shape"]);
            let verdict = check_places(op, &|c| Ok(l.apply_coords(&ints(c), &shape)?.into_iter().collect()));
            if matches!(verdict, Verdict::Same) { check_symbolic(l, op) } else { verdict }
        }
        "group" => {
            let ours = l.tile.group(&dims(&op["shape"]));
            let want = op.get("ok").map(|v| (layout(&v["layout"]), ints(&v["separators"])));
            let seps = |s: &[usize]| s.iter().map(|&x| x as i64).collect::<Vec<_>>();
            match (ours, want) {
                (Err(_), None) => Verdict::Same,
                (Ok(g), Some((w, s))) if same(&g.layout.clone().into(), &w) && seps(&g.separators) == s => {
                    Verdict::Same
                }
                (got, want) => Verdict::Failed(format!("got {got:?}, want {want:?}")),
            }
        }
        "slice" => {
            let shape = ints(&op["shape"]);
            let region: Vec<(i64, i64)> =
                op["region"].as_array().expect("a region").iter().map(|r| (int(&r[0]), int(&r[1]))).collect();
            let spans: Vec<Interval> = region.iter().map(|(b, e)| Interval::new(*b, e - b)).collect();
            let ours = l.slice(&dims(&op["shape"]), &spans, warp, &Facts::new());
            check(ours, op, &|got| slice_is_right(l, &shape, &region, got))
        }
        name => build(name, l, op),
    }
}

/// The operations that build layouts from layouts.
fn build(name: &str, l: &Layout, op: &Value) -> Verdict {
    let shape = |key: &str| dims(&op[key]);
    let never = |_: &Layout| false;
    match name {
        "storage" => check(Ok(Layout { tile: l.tile.storage(), swizzle: l.swizzle }), op, &never),
        "tile" => {
            let ours = l.tile(&shape("inner_shape"), &layout(&op["outer"]).tile, &shape("outer_shape"));
            check(ours, op, &never)
        }
        "tile_to" => check(l.tile_to(&shape("current_shape"), &shape("to_shape")), op, &never),
        "direct_sum" => {
            let (left, right) = (layout(&op["left"]).tile, l.over(&shape("right_shape")));
            let tile = left.direct_sum(&shape("left_shape"), &right.tile, &shape("right_shape"));
            check(tile.map(|tile| Layout { tile, swizzle: right.swizzle }), op, &never)
        }
        "is_tile_inner" => {
            let inner = l.over(&shape("inner_shape"));
            let ours = inner.tile.outer_of(&shape("inner_shape"), &layout(&op["tiled"]).tile, &shape("tiled_shape"));
            check_option(ours.map(Layout::from), op)
        }
        "is_tile_outer" => {
            let outer = layout(&op["outer"]).tile;
            let tiled = layout(&op["tiled"]);
            let ours = outer.inner_of(&shape("outer_shape"), &tiled.tile, &shape("tiled_shape"));
            check_option(ours.map(|tile| Layout { tile, swizzle: tiled.swizzle }), op)
        }
        "pack" => check_pack(l, op),
        "unpack" => check_unpack(l, op),
        other => panic!("unknown operation {other}"),
    }
}

fn check_option(ours: Option<Layout>, op: &Value) -> Verdict {
    let want = (!op["ok"].is_null()).then(|| layout(&op["ok"]));
    match (ours, want) {
        (None, None) => Verdict::Same,
        (Some(a), Some(b)) if same(&a, &b) => Verdict::Same,
        (a, b) => Verdict::Failed(format!("got {a:?}, want {b:?}")),
    }
}

/// TVM rounds strides down, leaves offsets as they are and scales thread coordinates; we do none of it.
fn check_pack(l: &Layout, op: &Value) -> Verdict {
    let n = int(&op["num"]);
    match (l.tile.pack(n), op.get("ok")) {
        (Err(_), None) => Verdict::Same,
        (Err(_), Some(_)) => Verdict::Better,
        (Ok(ours), Some(want)) if same(&ours.clone().into(), &Layout { swizzle: None, ..layout(want) }) => {
            Verdict::Same
        }
        (Ok(ours), _) if places(&ours.unpack(n).into()) == places(&l.tile.clone().into()) => Verdict::Better,
        (Ok(ours), want) => Verdict::Failed(format!("got {ours:?}, want {want:?}")),
    }
}

fn check_unpack(l: &Layout, op: &Value) -> Verdict {
    let n = int(&op["num"]);
    let ours = l.tile.unpack(n);
    if same(&ours.clone().into(), &Layout { swizzle: None, ..layout(&op["ok"]) }) {
        return Verdict::Same;
    }
    // Element `n * i + k` lies at unit `i`'s address times `n` plus `k`, by the same thread.
    let size = ours.size().as_const().expect("constant");
    let place = |t: &TileLayout, x: i64| nonzero(&t.apply_flat(x).expect("a place"));
    let right = (0..size).step_by(size as usize / 4096 + 1).all(|x| {
        let mut want = place(&l.tile, x / n);
        for (axis, v) in &mut want {
            *v *= if axis.is_thread() { 1 } else { n };
        }
        *want.entry(Axis::M).or_insert(0) += x % n;
        want.retain(|_, v| *v != 0);
        want == place(&ours, x)
    });
    if right { Verdict::Better } else { Verdict::Failed(format!("got {ours:?}")) }
}

#[test]
fn golden_layout() {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/layout_handed.jsonl");
    let path = std::env::var("TILEWRIGHT_LAYOUT_GOLDEN").unwrap_or_else(|_| default.to_string());
    let text = std::fs::read_to_string(&path).expect("the golden file");
    let (mut compared, mut better) = (0, 0);
    let mut failed = Vec::new();
    for line in text.lines().filter(|l| !l.trim().is_empty()) {
        let row: Value = serde_json::from_str(line).expect("a JSON row");
        let l = layout(&row["layout"]);
        for op in row["ops"].as_array().expect("ops") {
            match run(&l, op) {
                Verdict::Same => compared += 1,
                Verdict::Better => {
                    compared += 1;
                    better += 1;
                }
                Verdict::Failed(why) => failed.push(format!("{} {}: {why}\n    {op}", row["id"], row["layout"])),
            }
        }
    }
    println!("compared {}, better {better}, failed {}", compared + failed.len(), failed.len());
    assert!(failed.is_empty(), "{}", failed[..failed.len().min(12)].join("\n"));
}

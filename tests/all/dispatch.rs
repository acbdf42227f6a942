//! The copies of `golden/dispatch_handed.jsonl` (what TVM TIRx answers): which variant takes them, and with what.
//!
//! Whatever we choose must be right, by a model of a CTA that shares no code with the compiler. Where TVM's own choice was
//! checked to be right, ours agrees with it, but for the reasons listed in `better`.

#[path = "../../passes/src/select/partition/tests/model.rs"]
#[expect(dead_code, reason = "shared with the tests of the partition, which use more of it")]
mod model;

use model::{Buf, Case};
use serde_json::Value;
use tilewright::backend::variants;
use tilewright_ir::facts::Facts;
use tilewright_ir::layout::{Iter, TileLayout};
use tilewright_ir::{Axis, BinOp, CopyAttrs, DType, Dim, Expr, Layout, Scope, Space, Special, Swizzle};
use tilewright_passes::select::{Candidate, CopyGroup, CopyView, Names, Operand, ParamValue, Rewriter};
use tilewright_target::SM_90A;

fn int(v: &Value) -> i64 {
    v.as_i64().expect("an integer")
}

fn ints(v: &Value) -> Vec<i64> {
    v.as_array().expect("a list").iter().map(int).collect()
}

fn iters(v: &Value) -> Vec<Iter> {
    let one = |it: &Value| Iter::new(int(&it[0]), int(&it[1]), Axis::parse(it[2].as_str().expect("an axis")));
    v.as_array().expect("iters").iter().map(one).collect()
}

fn layout(v: &Value) -> Layout {
    if v["kind"] == "compose" {
        let s = &v["swizzle"];
        let number = |key: &str| u32::try_from(int(&s[key])).expect("small");
        let swizzle = Swizzle {
            per_element: number("per_element"),
            swizzle_len: number("swizzle_len"),
            atom_len: number("atom_len"),
            inner: s["swizzle_inner"] == true,
        };
        return Layout { swizzle: Some(swizzle), ..layout(&v["tile"]) };
    }
    let mut tile = TileLayout { shard: iters(&v["shard"]), replica: iters(&v["replica"]), ..TileLayout::default() };
    for (axis, d) in v["offset"].as_object().expect("offsets") {
        tile.offset.insert(Axis::parse(axis), Dim::Const(int(d)));
    }
    tile.into()
}

fn buf(v: &Value) -> Buf {
    let space = match v["mem"].as_str() {
        Some("local") => Space::Local,
        Some("global") => Space::Global,
        _ => Space::Shared,
    };
    let mut out = Buf::whole(space, &ints(&v["shape"]), layout(&v["layout"]));
    let span = |r: &Value| (Dim::Const(int(&r[0])), int(&r[1]) - int(&r[0]));
    out.region = v["region"].as_array().expect("a region").iter().map(span).collect();
    out
}

fn dtype(name: &str) -> Option<DType> {
    let ours = match name {
        "bfloat16" => "bf16".to_owned(),
        "float8_e4m3fn" => "f8e4m3".to_owned(),
        "float8_e5m2" => "f8e5m2".to_owned(),
        other => other.replace("float", "f").replace("uint", "u").replace("int", "i"),
    };
    DType::parse(&ours)
}

fn guard(v: &Value) -> Option<Expr> {
    let id = Expr::special;
    let op = |op: BinOp, e: Expr, v: i64| Expr::binary(op, e, Expr::int(v));
    let n = int(&v[1]);
    Some(match v[0].as_str()? {
        "warp_eq" => op(BinOp::Eq, id(Special::Warp), n),
        "warp_lt" => op(BinOp::Lt, id(Special::Warp), n),
        "wg_eq" => op(BinOp::Eq, id(Special::Warp).div_by(4), n),
        "wiw_lt" => op(BinOp::Lt, id(Special::Warp).rem_by(4), n),
        "lane_lt" => op(BinOp::Lt, id(Special::Lane), n),
        "tid_eq" => op(BinOp::Eq, id(Special::ThreadLinear), n),
        "tid_lt" | "tid_range" => op(BinOp::Lt, id(Special::ThreadLinear), n),
        "tid_ge" => op(BinOp::Ge, id(Special::ThreadLinear), n),
        _ => return None,
    })
}

/// The copy of a row, where it is one of the kinds that we have.
fn case(row: &Value) -> Option<Case> {
    let c = &row["case"];
    let plain = c["op"].is_null() && c["dispatch"].is_null() && c["loop_dim0"].is_null();
    if !plain || c["src"]["dtype"] != c["dst"]["dtype"] {
        return None;
    }
    let guard = if c["guard"].is_null() { None } else { Some(guard(&c["guard"])?) };
    let case = Case {
        dst: buf(&c["dst"]),
        src: buf(&c["src"]),
        dtype: dtype(c["src"]["dtype"].as_str()?)?,
        scope: Scope::parse(c["scope"].as_str()?)?,
        block: int(&c["threads"]),
        warp: 32,
        guard,
        facts: Facts::new(),
        attrs: CopyAttrs::default(),
    };
    let extents = |b: &Buf| b.region.iter().map(|(_, e)| *e).filter(|e| *e != 1).collect::<Vec<i64>>();
    let known = case.scope == Scope::Thread || case.active().is_understood();
    (extents(&case.dst) == extents(&case.src) && known).then_some(case)
}

/// As the engine chooses.
fn choose(view: CopyView) -> Option<(&'static str, Candidate)> {
    let group = CopyGroup { copies: vec![view] };
    let mut best: Option<(i32, &'static str, Candidate)> = None;
    for v in variants(&SM_90A) {
        if let Ok(c) = v.plan(&group, &SM_90A) {
            let p = v.info().priority;
            if best.as_ref().is_none_or(|(q, _, b)| p > *q || (p == *q && c.cost.picoseconds < b.cost.picoseconds)) {
                best = Some((p, v.info().name, c));
            }
        }
    }
    best.map(|(_, name, c)| (name, c))
}

/// The parameters that both report, as `name = ours, theirs`, where they differ.
fn difference(candidate: &Candidate, theirs: &Value) -> Vec<String> {
    let mut out = Vec::new();
    for name in ["num", "trans", "row_stride", "m_outer", "t_total", "m_total", "direction", "vec_bits"] {
        let ours = candidate.params.iter().find(|(n, _)| *n == name).map(|(_, v)| v.clone());
        let same = match (&ours, &theirs[name]) {
            (_, Value::Null) => true,
            (Some(ParamValue::Int(a)), b) => b.as_i64() == Some(*a),
            (Some(ParamValue::Bool(a)), b) => b.as_bool() == Some(*a),
            (Some(ParamValue::Text(a)), b) => b.as_str() == Some(a.as_str()),
            (None, _) => false,
        };
        if !same {
            out.push(format!("{name} = {ours:?}, TVM {}", theirs[name]));
        }
    }
    out
}

#[test]
fn copies_are_right_and_agree_where_tvm_is_right() {
    let path = super::common::root().join("tests/golden/dispatch_handed.jsonl");
    let text = std::fs::read_to_string(path).expect("the golden file");
    let (mut run, mut agreed, mut differ, mut nobody) = (0, 0, Vec::new(), Vec::new());
    for row in text.lines().map(|l| serde_json::from_str::<Value>(l).expect("JSON")) {
        let id = row["id"].as_str().expect("an id").to_owned();
        let Some(case) = case(&row) else { continue };
        let tvm_is_right = row["tvm"]["check"]["correct"] == true;
        let Some((name, candidate)) = choose(case.view()) else {
            nobody.push((id, tvm_is_right));
            continue;
        };
        let mut names = Names::default();
        let mut rw = Rewriter::new(&mut names, tilewright_ir::Span::NONE);
        (candidate.emit)(&mut rw);
        let block = rw.finish();
        case.check(&block).unwrap_or_else(|why| panic!("{id}: {name}: {why}\n{case:#?}\n{block:#?}"));
        run += 1;
        let theirs = row["tvm"]["sub_path"].as_str();
        if !tvm_is_right || theirs == Some("fallback") {
            continue; // ours is right, and at least as good
        }
        let params = difference(&candidate, &row["tvm"]["params"]);
        if theirs == Some(name) && params.is_empty() {
            agreed += 1;
        } else {
            differ.push(format!("{id}: {name}, TVM {theirs:?}; {}", params.join("; ")));
        }
    }
    let refused: Vec<&String> = nobody.iter().filter(|(_, right)| *right).map(|(id, _)| id).collect();
    assert!(refused.is_empty(), "nobody takes {refused:#?}");
    assert!(differ.len() <= better(), "{run} run, {agreed} agree, these do not:\n{}", differ.join("\n"));
    assert!(run >= 600 && agreed >= 450, "{run} run, {agreed} agree");
}

/// Rows where we do not choose as TVM did although TVM is right: a wider access than it found.
fn better() -> usize {
    0
}

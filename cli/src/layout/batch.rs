//! `layout --batch`: one JSON request a line, one JSON answer a line, in the form of the golden file.
//!
//! A request is `{"id": …, "layout": {…}, "ops": [{"op": "slice", …}, …]}`. The answer carries the `id` and, for each op
//! in order, the op's name with `ok` or with `error: {type, reason}`. A line that is no request gets an answer with an
//! `error` of its own.
//!
//! Must hold: every line gets one answer, whatever is in it, and no line stops the others.

use serde_json::{Map, Value, json};
use tilewright_ir::facts::Facts;
use tilewright_ir::layout::{Interval, Point, TileLayout};
use tilewright_ir::{Axis, Dim, Layout, LayoutError};

use super::json::{from_dim, from_layout, from_tile, int, ints, list, to_layout, to_tile};

/// Most coordinates of one op.
const MOST_COORDS: usize = 1 << 20;

/// Why an op has no result.
enum Fault {
    /// The layout refuses.
    Layout(LayoutError),
    /// The request is wrong.
    Request(String),
}

impl From<LayoutError> for Fault {
    fn from(e: LayoutError) -> Fault {
        Fault::Layout(e)
    }
}

impl From<String> for Fault {
    fn from(why: String) -> Fault {
        Fault::Request(why)
    }
}

/// The answer to a line; `number` is its one-based number, `warp` the width of a warp on targets that join thread axes.
pub fn answer(line: &str, number: u64, warp: u32) -> String {
    let answer = match serde_json::from_str::<Value>(line) {
        Err(e) => wrong(&Value::Null, format!("line {number} is no JSON: {e}")),
        Ok(request) => respond(&request, number, warp),
    };
    format!("{answer}\n")
}

/// The answer to a line that is no text.
pub fn not_text(number: u64) -> String {
    format!("{}\n", wrong(&Value::Null, format!("line {number} is not UTF-8, or too long")))
}

fn wrong(id: &Value, reason: String) -> Value {
    json!({ "id": id, "error": { "type": "request", "reason": reason } })
}

fn respond(request: &Value, number: u64, warp: u32) -> Value {
    let id = &request["id"];
    let read = || -> Result<(Layout, &Vec<Value>), String> {
        if !request.is_object() {
            return Err("a request is an object with \"layout\" and \"ops\"".to_owned());
        }
        Ok((to_layout(&request["layout"])?, list(&request["ops"], "ops")?))
    };
    let (layout, ops) = match read() {
        Ok(both) => both,
        Err(why) => return wrong(id, format!("line {number}: {why}")),
    };
    let answers: Vec<Value> = ops
        .iter()
        .map(|op| {
            let mut out = Map::new();
            out.insert("op".to_owned(), op["op"].clone());
            match run(&layout, op, warp) {
                Ok(ok) => out.insert("ok".to_owned(), ok),
                Err(Fault::Layout(e)) => {
                    out.insert("error".to_owned(), json!({ "type": "layout", "reason": e.to_string() }))
                }
                Err(Fault::Request(why)) => out.insert("error".to_owned(), json!({ "type": "request", "reason": why })),
            };
            Value::Object(out)
        })
        .collect();
    json!({ "id": id, "ops": answers })
}

fn shape(op: &Value, key: &str) -> Result<Vec<Dim>, Fault> {
    let all = ints(&op[key], key)?;
    match all.iter().find(|n| **n < 1) {
        Some(n) => Err(Fault::Request(format!("an extent of {key} must be at least 1, it is {n}"))),
        None => Ok(all.into_iter().map(Dim::Const).collect()),
    }
}

fn run(l: &Layout, op: &Value, warp: u32) -> Result<Value, Fault> {
    let joined = op["target"].is_string().then_some(warp);
    let axis = match &op["axis"] {
        Value::Null => None,
        v => Some(Axis::parse(v.as_str().ok_or_else(|| "axis must be a name".to_owned())?)),
    };
    let name = op["op"].as_str().ok_or_else(|| "an op needs its name in \"op\"".to_owned())?;
    Ok(match name {
        "size" => from_dim(&l.size(axis.as_ref())?),
        "span" => from_dim(&l.span(axis.as_ref())?),
        "verify_well_formed" => {
            l.tile.verify()?;
            json!(true)
        }
        "is_trivial" => json!(l.is_trivial()?),
        "is_swizzle" => json!(l.is_swizzle()),
        "get_scope" => l.tile.thread_scope()?.map_or(Value::Null, |s| json!([s.subscope, s.scope])),
        "canonicalize" => from_layout(&l.canonicalize(joined)?),
        "apply_linear" => {
            let coords = ints(coords(op)?, "coords")?;
            per_axis(coords.iter().map(|c| l.apply_flat(*c)))?
        }
        "apply_shape" => {
            let shape = ints(&op["shape"], "shape")?;
            let coords: Vec<Vec<i64>> =
                list(coords(op)?, "coords")?.iter().map(|c| ints(c, "coords")).collect::<Result<_, _>>()?;
            per_axis(coords.iter().map(|c| l.apply_coords(c, &shape)))?
        }
        "group" => {
            let g = l.tile.group(&shape(op, "shape")?)?;
            json!({ "layout": from_tile(&g.layout), "separators": g.separators })
        }
        "slice" => slice(l, op, joined)?,
        _ => build(name, l, op)?,
    })
}

fn coords(op: &Value) -> Result<&Value, Fault> {
    let all = list(&op["coords"], "coords")?;
    if all.len() > MOST_COORDS {
        return Err(Fault::Request(format!("{} coordinates are more than {MOST_COORDS}", all.len())));
    }
    Ok(&op["coords"])
}

fn slice(l: &Layout, op: &Value, joined: Option<u32>) -> Result<Value, Fault> {
    let region = list(&op["region"], "region")?
        .iter()
        .map(|r| match ints(r, "region")?.as_slice() {
            [begin, end] => end
                .checked_sub(*begin)
                .map(|n| Interval::new(*begin, n))
                .ok_or_else(|| "a range of region is too large".to_owned()),
            _ => Err("an entry of region is [begin, end]".to_owned()),
        })
        .collect::<Result<Vec<_>, String>>()?;
    Ok(from_layout(&l.slice(&shape(op, "shape")?, &region, joined, &Facts::new())?))
}

/// The operations that build layouts from layouts.
fn build(name: &str, l: &Layout, op: &Value) -> Result<Value, Fault> {
    let swizzled = |tile: TileLayout, of: &Layout| from_layout(&Layout { tile, swizzle: of.swizzle });
    let number = || match int(&op["num"], "num")? {
        n if n >= 1 => Ok(n),
        n => Err(Fault::Request(format!("num must be at least 1, it is {n}"))),
    };
    Ok(match name {
        "storage" => swizzled(l.tile.storage(), l),
        "tile" => {
            let outer = to_layout(&op["outer"])?.tile;
            from_layout(&l.tile(&shape(op, "inner_shape")?, &outer, &shape(op, "outer_shape")?)?)
        }
        "tile_to" => from_layout(&l.tile_to(&shape(op, "current_shape")?, &shape(op, "to_shape")?)?),
        "direct_sum" => {
            let (left, right) = (to_layout(&op["left"])?.tile, l.over(&shape(op, "right_shape")?));
            let sum = left.direct_sum(&shape(op, "left_shape")?, &right.tile, &shape(op, "right_shape")?)?;
            swizzled(sum, &right)
        }
        "is_tile_inner" => {
            let inner_shape = shape(op, "inner_shape")?;
            let tiled = to_layout(&op["tiled"])?.tile;
            let outer = l.over(&inner_shape).tile.outer_of(&inner_shape, &tiled, &shape(op, "tiled_shape")?);
            outer.map_or(Value::Null, |tile| from_tile(&tile))
        }
        "is_tile_outer" => {
            let outer = to_tile(&op["outer"])?;
            let tiled = to_layout(&op["tiled"])?;
            let inner = outer.inner_of(&shape(op, "outer_shape")?, &tiled.tile, &shape(op, "tiled_shape")?);
            inner.map_or(Value::Null, |tile| swizzled(tile, &tiled))
        }
        "pack" => from_tile(&l.tile.pack(number()?)?),
        "unpack" => from_tile(&l.tile.unpack(number()?)),
        other => return Err(Fault::Request(format!("unknown op `{other}`"))),
    })
}

/// For every axis the coordinates of all points; an axis that a point lacks is 0 there.
fn per_axis(points: impl Iterator<Item = Result<Point<i64>, LayoutError>>) -> Result<Value, Fault> {
    let points: Vec<Point<i64>> = points.collect::<Result<_, _>>()?;
    let mut axes: Vec<&Axis> = Vec::new();
    for axis in points.iter().flat_map(Point::keys) {
        if !axes.contains(&axis) {
            axes.push(axis);
        }
    }
    let column = |axis: &Axis| points.iter().map(|p| p.get(axis).copied().unwrap_or(0)).collect::<Vec<i64>>();
    let all: Map<String, Value> = axes.into_iter().map(|a| (a.to_string(), json!(column(a)))).collect();
    Ok(Value::Object(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(line: &str) -> Value {
        serde_json::from_str(&answer(line, 7, 32)).expect("JSON")
    }

    #[test]
    fn lines_that_are_no_request_are_answered() {
        for line in ["", "nonsense", "3", "[]", "{}", r#"{"id":1,"layout":{"kind":"tile","shard":[[1,1,"m"]]}}"#] {
            let reason = ask(line)["error"]["reason"].as_str().expect("a reason").to_owned();
            assert!(reason.contains("line 7"), "{line}: {reason}");
        }
        let deep = "[".repeat(100_000);
        assert!(ask(&deep)["error"]["reason"].is_string());
    }

    #[test]
    fn ops_stand_alone() {
        let layout = r#"{"kind":"tile","shard":[[4,9223372036854775807,"m"],[2,1,"m"]]}"#;
        let ops = r#"[{"op":"size"},{"op":"apply_linear","coords":[7]},{"op":"nope"},{"op":"pack","num":0},{"op":3},
            {"op":"slice","shape":[8],"region":[[-9223372036854775807,9223372036854775807]]},
            {"op":"group","shape":[0]},{"op":"size","axis":"m"}]"#;
        let got = ask(&format!("{{\"id\":\"a\",\"layout\":{layout},\"ops\":{}}}", ops.replace('\n', " ")));
        assert_eq!(got["id"], "a");
        let ops = got["ops"].as_array().expect("answers");
        assert_eq!(ops.len(), 8);
        assert_eq!(ops[0], json!({ "op": "size", "ok": 8 }));
        assert_eq!(ops[1]["error"]["type"], "layout");
        for op in &ops[2..7] {
            assert_eq!(op["error"]["type"], "request", "{op}");
        }
        assert_eq!(ops[7]["ok"], 8);
    }
}

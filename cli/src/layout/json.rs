//! Layouts as JSON, in the form of the golden files: `{"kind":"tile","shard":[[extent,stride,axis]…],"replica":[…],
//! "offset":{axis:number}}`, or `{"kind":"compose","swizzle":{…},"tile":…}`.
//!
//! Must hold: whatever the JSON, the answer is a layout or a sentence; reading what was written gives the same layout.

use serde_json::{Map, Value, json};
use tilewright_ir::layout::{Iter, TileLayout};
use tilewright_ir::{Axis, Dim, Layout, Swizzle};

/// An integer.
pub(super) fn int(v: &Value, what: &str) -> Result<i64, String> {
    v.as_i64().ok_or_else(|| format!("{what} must be an integer, it is {}", short(v)))
}

/// A list of integers.
pub(super) fn ints(v: &Value, what: &str) -> Result<Vec<i64>, String> {
    list(v, what)?.iter().map(|v| int(v, what)).collect()
}

pub(super) fn list<'a>(v: &'a Value, what: &str) -> Result<&'a Vec<Value>, String> {
    v.as_array().ok_or_else(|| format!("{what} must be a list, it is {}", short(v)))
}

/// The beginning of a value, for messages.
fn short(v: &Value) -> String {
    let text = v.to_string();
    let cut: String = text.chars().take(40).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}

/// Reads a layout.
///
/// # Errors
/// What is wrong with it, as a phrase.
pub fn to_layout(v: &Value) -> Result<Layout, String> {
    match v["kind"].as_str() {
        Some("tile") => Ok(to_tile(v)?.into()),
        Some("compose") => {
            let s = &v["swizzle"];
            let number = |key: &str| {
                let n = int(&s[key], key)?;
                u32::try_from(n).ok().filter(|n| *n <= 62).ok_or_else(|| format!("{key} must be 0 to 62, it is {n}"))
            };
            let inner = s["swizzle_inner"].as_bool().ok_or("swizzle_inner must be true or false")?;
            let swizzle = Swizzle {
                per_element: number("per_element")?,
                swizzle_len: number("swizzle_len")?,
                atom_len: number("atom_len")?,
                inner,
            };
            swizzle.verify().map_err(|e| e.to_string())?;
            Ok(Layout { tile: to_tile(&v["tile"])?, swizzle: Some(swizzle) })
        }
        _ => Err(format!("a layout needs \"kind\": \"tile\" or \"compose\", here it is {}", short(&v["kind"]))),
    }
}

/// Reads a tile layout.
///
/// # Errors
/// What is wrong with it, as a phrase.
pub(super) fn to_tile(v: &Value) -> Result<TileLayout, String> {
    let mut tile = TileLayout { shard: iters(&v["shard"], "shard")?, ..TileLayout::default() };
    if !v["replica"].is_null() {
        tile.replica = iters(&v["replica"], "replica")?;
    }
    match &v["offset"] {
        Value::Null => {}
        Value::Object(all) => {
            for (axis, d) in all {
                tile.offset.insert(Axis::parse(axis), Dim::Const(int(d, "an offset")?));
            }
        }
        other => return Err(format!("offset must be an object, it is {}", short(other))),
    }
    Ok(tile)
}

fn iters(v: &Value, what: &str) -> Result<Vec<Iter>, String> {
    let one = |it: &Value| match it.as_array().map(Vec::as_slice) {
        Some([e, s, a]) => {
            let axis = a.as_str().ok_or_else(|| format!("the axis of an iter must be a name, it is {}", short(a)))?;
            let extent = int(e, "an extent")?;
            if extent < 1 {
                return Err(format!("an extent must be at least 1, it is {extent}"));
            }
            Ok(Iter::new(extent, int(s, "a stride")?, Axis::parse(axis)))
        }
        _ => Err(format!("an iter is [extent, stride, axis], here it is {}", short(it))),
    };
    list(v, what)?.iter().map(one).collect()
}

/// Writes a layout; numbers that are not constant as text.
pub fn from_layout(l: &Layout) -> Value {
    let tile = from_tile(&l.tile);
    match l.swizzle {
        None => tile,
        Some(s) => json!({
            "kind": "compose",
            "swizzle": {
                "per_element": s.per_element,
                "swizzle_len": s.swizzle_len,
                "atom_len": s.atom_len,
                "swizzle_inner": s.inner,
            },
            "tile": tile,
        }),
    }
}

/// Writes a number, or its text.
pub(super) fn from_dim(d: &Dim) -> Value {
    d.as_const().map_or_else(|| json!(d.to_string()), |n| json!(n))
}

pub(super) fn from_tile(t: &TileLayout) -> Value {
    let iters = |all: &[Iter]| -> Vec<Value> {
        all.iter().map(|it| json!([from_dim(&it.extent), from_dim(&it.stride), it.axis.as_str()])).collect()
    };
    let offset: Map<String, Value> = t.offset.iter().map(|(a, d)| (a.to_string(), from_dim(d))).collect();
    json!({ "kind": "tile", "shard": iters(&t.shard), "replica": iters(&t.replica), "offset": offset })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_ir::text::parse_layout;

    #[test]
    fn layouts_go_there_and_back() {
        for text in [
            "S[(8,4,2,2):(4@laneid,1@laneid,2,1)]",
            "S[(32,8):(1@laneid,1)] + R[2:4@warpid] + 5@warpid",
            "S[(64,16):(1,64)] swizzle(3,3,3)",
            "S[8:1] + 3 swizzle_outer(1,2,3)",
        ] {
            let l = parse_layout(text).expect("a layout");
            assert_eq!(to_layout(&from_layout(&l)), Ok(l), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let wrong = |v: Value| to_layout(&v).expect_err("wrong");
        assert!(wrong(json!(3)).contains("kind"));
        assert!(wrong(json!({ "kind": "tile" })).contains("shard must be a list"));
        assert!(wrong(json!({ "kind": "tile", "shard": [[0, 1, "m"]] })).contains("at least 1"));
        assert!(wrong(json!({ "kind": "tile", "shard": [[1, 1.5, "m"]] })).contains("1.5"));
        assert!(wrong(json!({ "kind": "tile", "shard": [[1, 1]] })).contains("[extent, stride, axis]"));
        let swizzle = json!({ "per_element": 60, "swizzle_len": 3, "atom_len": 3, "swizzle_inner": true });
        let tile = json!({ "kind": "tile", "shard": [[8, 1, "m"]] });
        assert!(wrong(json!({ "kind": "compose", "swizzle": swizzle, "tile": tile })).contains("62"));
    }
}

//! Facts about a layout: sizes, forms, injectivity, coverage; as data and as text.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tilewright_ir::text::print_layout;
use tilewright_ir::{Axis, Layout, LayoutError};

use super::{Access, Question, accesses};
use crate::table::table;

/// One axis: name, number of values, span, least and largest coordinate.
pub(super) type AxisFacts = (Axis, String, String, Option<(i64, i64)>);

/// Everything that is said about a layout beside the pictures.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Canonical text of the layout.
    pub layout: String,
    /// Shape.
    pub shape: Vec<i64>,
    /// Per axis: name, number of values, span, least and largest coordinate.
    pub axes: Vec<AxisFacts>,
    /// Elements that storage must have (per thread for registers), if it can be said.
    pub storage: Result<String, LayoutError>,
    /// Span over the memory axes.
    pub span: String,
    /// Canonical form, thread axes kept.
    pub canonical: Result<Layout, LayoutError>,
    /// Canonical form with thread axes joined.
    pub joined: Result<Layout, LayoutError>,
    /// The thread axes together.
    pub scope: Result<Option<String>, LayoutError>,
    /// Do all elements have places of their own? `None`: not looked at.
    pub injective: Option<Result<(), LayoutError>>,
    /// Coverage in words; `None`: not looked at.
    pub coverage: Option<Coverage>,
    /// Bank conflicts of shared memory with this layout; none for registers.
    pub accesses: Vec<Access>,
    /// Replicas and a swizzle at a time, or coordinates that no thread has.
    pub remarks: Vec<String>,
}

/// What of the places is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// Threads (or lanes of each warp) that hold something.
    pub holders: usize,
    /// Places that a holder has at most, or addresses that are used.
    pub used: usize,
    /// Addresses or registers from 0 to the largest.
    pub reach: i64,
}

/// Looks at a layout.
pub fn facts(q: &Question) -> Facts {
    let tile = &q.layout.tile;
    let mut axes: Vec<Axis> = Vec::new();
    let used = tile.shard.iter().chain(&tile.replica).map(|it| &it.axis).chain(tile.offset.keys());
    for axis in used {
        if !axes.contains(axis) {
            axes.push(axis.clone());
        }
    }
    let about = |a: Axis| {
        let (size, span) = (tile.size_on(&a).to_string(), tile.span(Some(&a)).to_string());
        let bounds = tile.bounds_on(&a).ok();
        (a, size, span, bounds)
    };
    let dims: Vec<tilewright_ir::Dim> = q.shape.iter().map(|n| tilewright_ir::Dim::Const(*n)).collect();
    let scope = tile.thread_scope().map(|s| s.map(|s| format!("{} in {}", s.subscope, s.scope)));
    let enumerable = q.enumerable();
    let mut remarks = Vec::new();
    if let Err(e) = q.layout.verify(&dims, q.warp, q.threads)
        && !matches!(e, LayoutError::NotInjective { .. })
    {
        remarks.push(format!("no buffer in a CTA of {} threads with warps of {} may have it: {e}", q.threads, q.warp));
    }
    Facts {
        layout: print_layout(&q.layout),
        shape: q.shape.clone(),
        axes: axes.into_iter().map(about).collect(),
        storage: q.layout.storage_elems(&dims).map(|d| d.to_string()),
        span: tile.span(None).to_string(),
        canonical: q.layout.canonicalize(None),
        joined: q.layout.canonicalize(Some(q.warp)),
        scope,
        injective: enumerable.then(|| tile.verify_injective(q.warp)),
        coverage: enumerable.then(|| coverage(q)),
        accesses: if q.is_memory() && enumerable { accesses(q) } else { Vec::new() },
        remarks,
    }
}

fn coverage(q: &Question) -> Coverage {
    let mut places: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
    let mut reach = 0i64;
    for flat in 0..q.size() {
        for spot in q.spots(flat) {
            reach = reach.max(spot.m.saturating_add(1));
            places.entry(spot.thread).or_default().insert(spot.m);
        }
    }
    Coverage { holders: places.len(), used: places.values().map(BTreeSet::len).max().unwrap_or(0), reach }
}

fn shown<T: std::fmt::Display>(r: &Result<T, LayoutError>) -> String {
    match r {
        Ok(v) => v.to_string(),
        Err(e) => format!("none: {e}"),
    }
}

fn layout_text(r: &Result<Layout, LayoutError>) -> String {
    shown(&r.as_ref().map(print_layout).map_err(Clone::clone))
}

impl Facts {
    /// A table for people.
    pub fn text(&self, q: &Question) -> String {
        let mut rows: Vec<[String; 2]> = Vec::new();
        let mut row = |name: &str, value: String| rows.push([name.to_owned(), value]);
        row("layout", self.layout.clone());
        row("shape", format!("{:?} of {}", self.shape, q.dtype));
        row("size", q.size().to_string());
        for (axis, size, span, bounds) in &self.axes {
            let reach = match bounds {
                Some((lo, hi)) => format!("{lo}..{}, cosize {}", hi.saturating_add(1), hi.saturating_add(1)),
                None => "symbolic".to_owned(),
            };
            row(&format!("axis {axis}"), format!("{reach}, size {size}, span {span}"));
        }
        row("span", self.span.clone());
        row("storage", self.storage_text(q));
        row("canonical", layout_text(&self.canonical));
        if layout_text(&self.joined) != layout_text(&self.canonical) {
            row("joined", layout_text(&self.joined));
        }
        match &self.scope {
            Ok(None) => {}
            Ok(Some(s)) => row("scope", s.clone()),
            Err(e) => row("scope", format!("none: {e}")),
        }
        row(
            "injective",
            match &self.injective {
                None => "not looked at: symbolic, or too many places".to_owned(),
                Some(Ok(())) => "yes".to_owned(),
                Some(Err(e)) => format!("no: {e}"),
            },
        );
        row("coverage", self.coverage_text(q));
        for a in &self.accesses {
            row("banks", a.text());
        }
        for r in &self.remarks {
            row("remark", r.clone());
        }
        table(&rows.into_iter().map(Vec::from).collect::<Vec<_>>(), 0)
    }

    fn storage_text(&self, q: &Question) -> String {
        let per = if q.is_memory() { "" } else { " in each thread" };
        let bytes = self.storage.as_ref().ok().and_then(|s| s.parse::<i64>().ok());
        match bytes.and_then(|n| n.checked_mul(i64::from(q.dtype.bits()))) {
            Some(bits) => format!("{} elements, {} bytes{per}", shown(&self.storage), bits.div_ceil_bytes()),
            None => format!("{}{per}", shown(&self.storage)),
        }
    }

    fn coverage_text(&self, q: &Question) -> String {
        let Some(c) = &self.coverage else { return "not looked at: symbolic, or too many places".to_owned() };
        if q.is_memory() {
            let gaps = c.reach.saturating_sub(c.used as i64);
            let rest = if gaps > 0 { format!(", {gaps} unused") } else { String::new() };
            return format!("{} of addresses 0..{}{rest}", c.used, c.reach);
        }
        let (what, of) =
            if q.lanes_only() { ("lanes of each warp", i64::from(q.warp)) } else { ("threads", i64::from(q.threads)) };
        format!("{} of {of} {what} hold elements, each at most {} of registers 0..{}", c.holders, c.used, c.reach)
    }

    /// The same as JSON.
    pub fn json(&self, q: &Question) -> Value {
        let axes: serde_json::Map<String, Value> = self
            .axes
            .iter()
            .map(|(a, size, span, bounds)| {
                let number = |s: &String| s.parse::<i64>().map_or_else(|_| json!(s), |n| json!(n));
                let cosize = bounds.map(|(_, hi)| hi.saturating_add(1));
                (
                    a.to_string(),
                    json!({ "size": number(size), "span": number(span), "cosize": cosize, "bounds": bounds }),
                )
            })
            .collect();
        let text = |r: &Result<Layout, LayoutError>| r.as_ref().map(print_layout).ok();
        let collision = match &self.injective {
            Some(Err(LayoutError::NotInjective { first, second })) => json!([first, second]),
            _ => Value::Null,
        };
        json!({
            "layout": self.layout,
            "form": super::json::from_layout(&q.layout),
            "shape": self.shape,
            "dtype": q.dtype.to_string(),
            "warp": q.warp,
            "threads": q.threads,
            "size": q.size(),
            "span": self.span.parse::<i64>().map_or_else(|_| json!(self.span), |n| json!(n)),
            "storage": self.storage.as_ref().ok().and_then(|s| s.parse::<i64>().ok()),
            "axes": axes,
            "canonical": text(&self.canonical),
            "joined": text(&self.joined),
            "scope": self.scope.as_ref().ok().cloned().flatten(),
            "injective": self.injective.as_ref().map(Result::is_ok),
            "collision": collision,
            "coverage": self.coverage.as_ref().map(|c| json!({
                "holders": if q.is_memory() { Value::Null } else { json!(c.holders) },
                "used": c.used,
                "reach": c.reach,
            })),
            "banks": self.accesses.iter().map(Access::json).collect::<Vec<_>>(),
            "remarks": self.remarks,
        })
    }
}

/// Bits to whole bytes.
trait Bytes {
    fn div_ceil_bytes(self) -> i64;
}

impl Bytes for i64 {
    fn div_ceil_bytes(self) -> i64 {
        self / 8 + i64::from(self % 8 != 0)
    }
}

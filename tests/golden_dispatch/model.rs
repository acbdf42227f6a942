//! What a row of the golden file means, by a model of our own: places of elements, threads that hold them, who runs the copy.
//!
//! Must hold: nothing here uses the layout algebra, the interpreter or the compiler, so that it can judge all of them.

use std::collections::BTreeMap;

use serde_json::Value;

/// Lanes of a warp on the target of the file.
pub(crate) const WARP: i64 = 32;

/// A digit of an index: extent, stride, axis.
#[derive(Clone, Debug)]
pub(crate) struct Iter {
    pub(crate) extent: i64,
    pub(crate) stride: i64,
    pub(crate) axis: String,
}

/// A swizzle as in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Swizzle {
    pub(crate) per_element: u32,
    pub(crate) len: u32,
    pub(crate) atom: u32,
    pub(crate) inner: bool,
}

/// A layout as in the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    pub(crate) shard: Vec<Iter>,
    pub(crate) replica: Vec<Iter>,
    pub(crate) offset: BTreeMap<String, i64>,
    pub(crate) swizzle: Option<Swizzle>,
}

/// One side of a copy.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub(crate) mem: String,
    pub(crate) shape: Vec<i64>,
    pub(crate) dtype: String,
    pub(crate) layout: Layout,
    pub(crate) region: Vec<(i64, i64)>,
}

/// A copy.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) scope: String,
    pub(crate) threads: i64,
    pub(crate) src: Side,
    pub(crate) dst: Side,
    pub(crate) guard: Option<(String, i64)>,
    pub(crate) dispatch: Option<String>,
    pub(crate) is_async: bool,
    pub(crate) loop_dim0: Option<i64>,
}

/// Where a copy of an element is: the thread (0 in memory) and the position in elements.
pub(crate) type Cell = (i64, i64);

fn int(v: &Value) -> Result<i64, String> {
    v.as_i64().ok_or_else(|| format!("{v} is not an integer"))
}

fn list(v: &Value) -> Result<&Vec<Value>, String> {
    v.as_array().ok_or_else(|| format!("{v} is not a list"))
}

fn word(v: &Value) -> Result<String, String> {
    v.as_str().map(str::to_owned).ok_or_else(|| format!("{v} is not a string"))
}

fn iters(v: &Value) -> Result<Vec<Iter>, String> {
    let one = |it: &Value| Ok(Iter { extent: int(&it[0])?, stride: int(&it[1])?, axis: word(&it[2])? });
    list(v)?.iter().map(one).collect()
}

fn layout(v: &Value) -> Result<Layout, String> {
    if v["kind"] == "compose" {
        let s = &v["swizzle"];
        let number = |key: &str| u32::try_from(int(&s[key])?).map_err(|e| e.to_string());
        let swizzle = Swizzle {
            per_element: number("per_element")?,
            len: number("swizzle_len")?,
            atom: number("atom_len")?,
            inner: s["swizzle_inner"] == true,
        };
        return Ok(Layout { swizzle: Some(swizzle), ..layout(&v["tile"])? });
    }
    let mut offset = BTreeMap::new();
    for (axis, d) in v["offset"].as_object().into_iter().flatten() {
        offset.insert(axis.clone(), int(d)?);
    }
    Ok(Layout { shard: iters(&v["shard"])?, replica: iters(&v["replica"])?, offset, swizzle: None })
}

fn side(v: &Value) -> Result<Side, String> {
    let shape: Vec<i64> = list(&v["shape"])?.iter().map(int).collect::<Result<_, _>>()?;
    let mut layout = layout(&v["layout"])?;
    // A swizzle over a trivial tile is one over the row-major tile of the shape.
    if layout.swizzle.is_some() && layout.shard.iter().all(|it| it.extent == 1) {
        layout.shard = row_major(&shape);
    }
    let span = |r: &Value| Ok((int(&r[0])?, int(&r[1])?));
    let region = list(&v["region"])?.iter().map(span).collect::<Result<_, String>>()?;
    Ok(Side { mem: word(&v["mem"])?, shape, dtype: word(&v["dtype"])?, layout, region })
}

fn row_major(shape: &[i64]) -> Vec<Iter> {
    let mut stride = 1;
    let mut out: Vec<Iter> = Vec::new();
    for extent in shape.iter().rev() {
        out.push(Iter { extent: *extent, stride, axis: "m".to_owned() });
        stride *= extent;
    }
    out.reverse();
    out
}

impl Case {
    /// Reads `case` of a row.
    ///
    /// # Errors
    /// A sentence about what is not of the form.
    pub(crate) fn parse(v: &Value) -> Result<Case, String> {
        let guard = match v.get("guard") {
            None | Some(Value::Null) => None,
            Some(g) => Some((word(&g[0])?, int(&g[1])?)),
        };
        Ok(Case {
            scope: word(&v["scope"])?,
            threads: int(&v["threads"])?,
            src: side(&v["src"])?,
            dst: side(&v["dst"])?,
            guard,
            dispatch: v["dispatch"].as_str().map(str::to_owned),
            is_async: v["op"] == "copy_async",
            loop_dim0: v["loop_dim0"].as_i64(),
        })
    }

    /// Does thread `t` reach the copy?
    pub(crate) fn reaches(&self, t: i64) -> bool {
        let Some((kind, n)) = &self.guard else { return true };
        let (lane, warp) = (t % WARP, t / WARP);
        match kind.as_str() {
            "warp_eq" => warp == *n,
            "warp_lt" => warp < *n,
            "wg_eq" => warp / 4 == *n,
            "wiw_lt" => warp % 4 < *n,
            "lane_lt" => lane < *n,
            "lane_or" => lane < *n || lane >= WARP - n,
            "lane_scaled" => lane * 2 < *n,
            "tid_eq" => t == *n,
            "tid_lt" | "tid_range" => t < *n,
            "tid_ge" => t >= *n,
            "tid_even" => t % 2 == 0,
            _ => true,
        }
    }

    /// The guard as a condition of ours; the same as `reaches`.
    pub(crate) fn guard_text(&self) -> Result<Option<String>, String> {
        let Some((kind, n)) = &self.guard else { return Ok(None) };
        Ok(Some(match kind.as_str() {
            "warp_eq" => format!("thread.warp == {n}"),
            "warp_lt" => format!("thread.warp < {n}"),
            "wg_eq" => format!("thread.warp / 4 == {n}"),
            "wiw_lt" => format!("thread.warp % 4 < {n}"),
            "lane_lt" => format!("thread.lane < {n}"),
            "lane_or" => format!("thread.lane < {n} || thread.lane >= {}", WARP - n),
            "lane_scaled" => format!("thread.lane * 2 < {n}"),
            "tid_eq" => format!("thread.linear == {n}"),
            "tid_lt" => format!("thread.linear < {n}"),
            "tid_range" => format!("thread.linear >= 0 && thread.linear < {n}"),
            "tid_ge" => format!("thread.linear >= {n}"),
            "tid_even" => "thread.linear % 2 == 0".to_owned(),
            other => return Err(format!("unknown guard {other}")),
        }))
    }

    /// Threads of one group of the scope.
    fn group_size(&self) -> i64 {
        match self.scope.as_str() {
            "thread" => 1,
            "warp" => WARP,
            "warpgroup" => 4 * WARP,
            _ => self.threads,
        }
    }

    /// The groups of the scope that reach the copy: all threads of each, ascending.
    pub(crate) fn groups(&self) -> Vec<Vec<i64>> {
        let size = self.group_size().max(1);
        let all: Vec<i64> = (0..self.threads).collect();
        let reached = |g: &&[i64]| g.iter().any(|t| self.reaches(*t));
        all.chunks(usize::try_from(size).unwrap_or(1)).filter(reached).map(<[i64]>::to_vec).collect()
    }

    /// Threads that reach the copy.
    pub(crate) fn active(&self) -> i64 {
        (0..self.threads).filter(|t| self.reaches(*t)).count() as i64
    }
}

impl Side {
    /// Do elements have threads that hold them?
    pub(crate) fn is_local(&self) -> bool {
        self.mem == "local"
    }

    /// Flat indices of the elements of the region, in order.
    pub(crate) fn elements(&self) -> Vec<i64> {
        let mut out = vec![0i64];
        for ((lo, hi), extent) in self.region.iter().zip(&self.shape) {
            out = out.iter().flat_map(|x| (*lo..*hi).map(move |i| x * extent + i)).collect();
        }
        out
    }

    /// Extents of the region other than one.
    pub(crate) fn extents(&self) -> Vec<i64> {
        self.region.iter().map(|(lo, hi)| hi - lo).filter(|e| *e != 1).collect()
    }

    /// Every place of the element with flat index `x`, in the `threads` threads of the CTA.
    pub(crate) fn cells(&self, x: i64, threads: i64) -> Vec<Cell> {
        let mut out = Vec::new();
        for (at, m) in self.layout.places(x) {
            if self.is_local() {
                let owns = |t: &i64| at.iter().all(|(axis, c)| coordinate(axis, *t) == Some(*c));
                out.extend((0..threads).filter(owns).map(|t| (t, m)));
            } else {
                out.push((0, m));
            }
        }
        out
    }
}

/// The coordinate of a thread on a thread axis.
fn coordinate(axis: &str, t: i64) -> Option<i64> {
    Some(match axis {
        "laneid" => t % WARP,
        "warpid" => t / WARP,
        "wid_in_wg" => t / WARP % 4,
        "wgid" => t / WARP / 4,
        "tid_in_wg" => t % (4 * WARP),
        "tx" => t,
        _ => return None,
    })
}

impl Layout {
    /// Coordinates on the axes other than `m`, and the position on `m`, of each replica of element `x`.
    fn places(&self, x: i64) -> Vec<(BTreeMap<String, i64>, i64)> {
        let mut at = self.offset.clone();
        let mut rest = x;
        for (k, it) in self.shard.iter().enumerate().rev() {
            let digit = if k == 0 { rest } else { rest % it.extent };
            rest /= it.extent;
            *at.entry(it.axis.clone()).or_insert(0) += digit * it.stride;
        }
        let mut all = vec![at];
        for it in &self.replica {
            let step = |a: &BTreeMap<String, i64>, k: i64| {
                let mut a = a.clone();
                *a.entry(it.axis.clone()).or_insert(0) += k * it.stride;
                a
            };
            all = all.iter().flat_map(|a| (0..it.extent).map(|k| step(a, k)).collect::<Vec<_>>()).collect();
        }
        let finish = |mut a: BTreeMap<String, i64>| {
            let m = a.remove("m").unwrap_or(0);
            (a, self.swizzle.map_or(m, |s| s.apply(m)))
        };
        all.into_iter().map(finish).collect()
    }
}

impl Swizzle {
    fn apply(self, m: i64) -> i64 {
        let (q, low) = (m >> self.per_element, m & ((1 << self.per_element) - 1));
        let mask = (1i64 << self.len) - 1;
        let phase = if self.inner { (q >> self.atom) & mask } else { (q & mask) << self.atom };
        ((q ^ phase) << self.per_element) | low
    }
}

/// Sets of cells that must hold the same value.
#[derive(Debug, Default)]
pub(crate) struct Same(BTreeMap<Cell, Cell>);

impl Same {
    /// The cell that stands for the set of `c`.
    pub(crate) fn root(&self, mut c: Cell) -> Cell {
        while let Some(up) = self.0.get(&c) {
            c = *up;
        }
        c
    }

    /// Joins two sets.
    pub(crate) fn join(&mut self, a: Cell, b: Cell) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.0.insert(a.max(b), a.min(b));
        }
    }
}

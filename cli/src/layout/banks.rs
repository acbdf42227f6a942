//! Bank conflicts of shared memory with a layout, for the usual ways to go over a tile.
//!
//! A layout alone has no conflicts, an access has; each answer says which access it is about.

use serde_json::{Value, json};
use tilewright_passes::select::partition::conflict_ways;

use super::Question;

/// Most accesses of each kind that are looked at.
const MOST_ACCESSES: i64 = 4096;

/// The worst that one way to go over the tile meets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The way, in words.
    pub what: String,
    /// Passes of the worst access where one would do; 1 is free of conflicts. `None`: not possible, see `why`.
    pub ways: Option<u64>,
    /// Why it is not possible.
    pub why: String,
    /// Banks of 4 bytes that were assumed.
    pub banks: u32,
}

impl Access {
    /// One line.
    pub fn text(&self) -> String {
        match self.ways {
            Some(1) => format!("no conflict, {}", self.what),
            Some(n) => format!("{n}-way conflict, {}", self.what),
            None => format!("not possible, {}: {}", self.what, self.why),
        }
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        json!({ "access": self.what, "ways": self.ways, "banks": self.banks, "why": self.why })
    }
}

/// The usual accesses to a tile of rank 2 or more by one warp: along a row, down a column, 16 bytes a lane, and the eight
/// rows of a matrix instruction.
pub fn accesses(q: &Question) -> Vec<Access> {
    let (warp, bits) = (i64::from(q.warp), i64::from(q.dtype.bits()));
    let column = q.shape.last().copied().unwrap_or(1).max(1);
    let rows = q.size() / column;
    let vector = 128 / bits;
    let at = |flat: i64| q.spots(flat).first().map_or(0, |s| s.m);
    let mut out = Vec::new();
    let size = q.size();
    let mut add = |what: String, count: i64, lanes: i64, step: i64, element: &dyn Fn(i64, i64) -> Option<i64>| {
        out.push(one(q, &at, what, count, lanes, step, element));
    };
    let inside = |flat: i64| (flat < size).then_some(flat);
    add(
        format!("{warp} lanes of a warp, one element each, in logical order"),
        size / warp + i64::from(size % warp != 0),
        warp,
        1,
        &|access, lane| inside(access * warp + lane),
    );
    if rows > 1 && column > 1 {
        add(format!("{warp} lanes, one element each, down a column"), column, warp, 1, &|access, lane| {
            (lane < rows).then_some(lane * column + access)
        });
    }
    if vector > 1 && column % vector == 0 {
        add(
            format!("{warp} lanes, 16 bytes each, in logical order"),
            (size / vector + warp - 1) / warp,
            warp,
            vector,
            &|access, lane| inside((access * warp + lane) * vector),
        );
        if rows >= 8 {
            let across = column / vector;
            add(
                "8 rows of 16 bytes below each other (ldmatrix)".to_owned(),
                rows / 8 * across,
                8,
                vector,
                &|access, lane| Some((access / across * 8 + lane) * column + access % across * vector),
            );
        }
    }
    out
}

/// One way: `element(access, lane)` is the first of the `step` elements that the lane takes.
fn one(
    q: &Question,
    at: &dyn Fn(i64) -> i64,
    what: String,
    count: i64,
    lanes: i64,
    step: i64,
    element: &dyn Fn(i64, i64) -> Option<i64>,
) -> Access {
    let bits = i64::from(q.dtype.bits());
    let mut worst = 1;
    for access in 0..count.min(MOST_ACCESSES / step.max(1)) {
        let mut addresses = Vec::new();
        for lane in 0..lanes {
            let Some(flat) = element(access, lane) else { continue };
            let first = at(flat);
            if let Some(k) = (1..step).find(|k| at(flat + k) != first + k) {
                let why = format!("element {} does not follow element {} in memory", flat + k, flat + k - 1);
                return Access { what, ways: None, why, banks: q.banks };
            }
            if step > 1 && first.wrapping_mul(bits) % 128 != 0 {
                let why = format!("element {flat} at address {first} is not aligned to 16 bytes");
                return Access { what, ways: None, why, banks: q.banks };
            }
            addresses.push(first.wrapping_mul(bits).div_euclid(8));
        }
        worst = worst.max(conflict_ways(&addresses, (step * bits / 8).max(1), q.banks));
    }
    Access { what, ways: Some(worst), why: String::new(), banks: q.banks }
}

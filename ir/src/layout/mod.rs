//! Layouts: where each element of a tile lives.
//!
//! A tile layout is an ordered list of shard iters (extent, stride, axis), replica iters and an offset per axis. The
//! value at flat index `x`: split `x` row-major over the shard extents (last iter fastest), add `digit * stride` into
//! each digit's axis, add the offsets. Replica iters say that the same element also lives at these extra places. A
//! swizzle may be composed over the memory axis `m`. The rules are those of TVM TIRx (design section 3); where TVM is
//! wrong we are right.
//!
//! This file holds the data; the algebra is one file an operation beside it. Units are elements, never bytes.

mod apply;
mod canonicalize;
mod error;
mod extent;
mod group;
mod runs;
mod slice;
mod swizzle;
#[cfg(test)]
mod tests;
mod tile;
mod verify;

pub use apply::{Point, flatten, split_digits};
pub use canonicalize::ThreadScope;
pub use error::LayoutError;
pub use group::Grouped;
pub use runs::{Runs, contiguous_runs};
pub use slice::Interval;
pub use verify::{BRUTE_FORCE_LIMIT, flatten_threads};

use std::fmt;

use indexmap::IndexMap;

use crate::dim::Dim;
use crate::name::Name;

/// An axis that a layout maps into.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Axis {
    /// Linear memory, in elements.
    M,
    /// Lane in the warp.
    LaneId,
    /// Warp in the CTA.
    WarpId,
    /// Warp in its warpgroup.
    WidInWg,
    /// Warpgroup in the CTA.
    WgId,
    /// Thread in its warpgroup.
    TidInWg,
    /// Thread in the CTA, flattened over all block dimensions.
    Tx,
    /// Rank on the node.
    Lsa,
    /// Any other axis by name: a memory axis, or one of the grid axes (`bx`, `cbx`, …).
    Other(Name),
}

impl Axis {
    /// Axes with a name of their own.
    pub const NAMED: [(Axis, &'static str); 8] = [
        (Axis::M, "m"),
        (Axis::LaneId, "laneid"),
        (Axis::WarpId, "warpid"),
        (Axis::WidInWg, "wid_in_wg"),
        (Axis::WgId, "wgid"),
        (Axis::TidInWg, "tid_in_wg"),
        (Axis::Tx, "tx"),
        (Axis::Lsa, "lsa"),
    ];

    /// The axis with this text form.
    pub fn parse(text: &str) -> Axis {
        Axis::NAMED.iter().find(|(_, t)| *t == text).map_or_else(|| Axis::Other(Name::new(text)), |(a, _)| a.clone())
    }

    /// Text form.
    pub fn as_str(&self) -> &str {
        match self {
            Axis::Other(n) => n.as_str(),
            a => Axis::NAMED.iter().find(|(b, _)| b == a).map_or("?", |(_, t)| t),
        }
    }

    /// Does a coordinate on this axis name a thread (or a group of threads) of the CTA?
    pub fn is_thread(&self) -> bool {
        matches!(self, Axis::LaneId | Axis::WarpId | Axis::WidInWg | Axis::WgId | Axis::TidInWg | Axis::Tx)
    }

    /// How many threads one step on this thread axis is, in flattened thread numbers of the CTA, for a warp of `warp`
    /// lanes. `None` for axes that are not thread axes.
    pub fn thread_stride(&self, warp: u32) -> Option<i64> {
        let w = i64::from(warp);
        Some(match self {
            Axis::LaneId | Axis::TidInWg | Axis::Tx => 1,
            Axis::WarpId | Axis::WidInWg => w,
            Axis::WgId => 4 * w,
            _ => return None,
        })
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One digit of the index: `extent` values, each `stride` further on `axis`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Iter {
    /// Number of values of the digit.
    pub extent: Dim,
    /// Distance between neighbours, in elements on memory axes, in threads (or groups) on thread axes.
    pub stride: Dim,
    /// Where the digit goes.
    pub axis: Axis,
}

impl Iter {
    /// An iter from plain numbers or dims.
    pub fn new(extent: impl Into<Dim>, stride: impl Into<Dim>, axis: Axis) -> Iter {
        Iter { extent: extent.into(), stride: stride.into(), axis }
    }
}

/// Shard, replica and offset. Offsets that are zero may be present or absent; order carries no meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TileLayout {
    /// Digits of the index, outermost first.
    pub shard: Vec<Iter>,
    /// Extra places of each element.
    pub replica: Vec<Iter>,
    /// Constant added per axis.
    pub offset: IndexMap<Axis, Dim>,
}

/// XOR swizzle of memory addresses, in units of `2^per_element` elements: with `q = m >> per_element`, inner:
/// `q ^= (q & (mask << atom_len)) >> atom_len`; otherwise `q ^= (q & mask) << atom_len`, where `mask = 2^swizzle_len - 1`.
/// The low `per_element` bits stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Swizzle {
    /// log2 of the elements that move as one.
    pub per_element: u32,
    /// Number of address bits that are XORed.
    pub swizzle_len: u32,
    /// Distance between the bits read and the bits written; at least `swizzle_len`.
    pub atom_len: u32,
    /// Which way: true, high bits are XORed into low ones (the usual kind).
    pub inner: bool,
}

/// A tile layout, possibly with a swizzle over its `m` axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The tile.
    pub tile: TileLayout,
    /// The swizzle over the tile's memory address, if any.
    pub swizzle: Option<Swizzle>,
}

impl From<TileLayout> for Layout {
    fn from(tile: TileLayout) -> Layout {
        Layout { tile, swizzle: None }
    }
}

impl TileLayout {
    /// A layout of shard iters only.
    pub fn from_shard(shard: Vec<Iter>) -> TileLayout {
        TileLayout { shard, ..TileLayout::default() }
    }

    /// Row-major over `shape`, on the memory axis. A shape of rank 0 has one element: one iter of extent 1.
    pub fn row_major(shape: &[Dim]) -> TileLayout {
        let mut shard = Vec::with_capacity(shape.len());
        let mut stride = Dim::ONE;
        for extent in shape.iter().rev() {
            shard.push(Iter { extent: extent.clone(), stride: stride.clone(), axis: Axis::M });
            stride = stride.mul(extent);
        }
        shard.reverse();
        if shard.is_empty() {
            shard.push(Iter::new(1, 1, Axis::M));
        }
        TileLayout::from_shard(shard)
    }

    /// Offset on `axis`, zero if none was given.
    pub fn offset_on(&self, axis: &Axis) -> Dim {
        self.offset.get(axis).cloned().unwrap_or(Dim::ZERO)
    }

    /// Product of the shard extents: the number of elements.
    pub fn size(&self) -> Dim {
        self.shard.iter().fold(Dim::ONE, |p, it| p.mul(&it.extent))
    }

    /// Thread axes that shard, replica or offset use, each once, in order of appearance.
    pub fn thread_axes(&self) -> Vec<Axis> {
        let mut axes: Vec<Axis> = Vec::new();
        let all = self.shard.iter().chain(&self.replica).map(|it| &it.axis).chain(self.offset.keys());
        for axis in all {
            if axis.is_thread() && !axes.contains(axis) {
                axes.push(axis.clone());
            }
        }
        axes
    }
}

//! What `tilewright layout` knows of a layout: facts, bank conflicts, pictures, and the JSON requests of `--batch`.
//!
//! Must hold: nothing here reads a file or writes one; whatever the layout, the work is bounded ([`MOST_PLACES`], and
//! [`MOST_CELLS`] for pictures), and what is not looked at for that reason is said to be so.

mod banks;
pub mod batch;
mod facts;
pub mod json;
mod picture;
mod svg;
mod terminal;

pub use banks::{Access, accesses};
pub use facts::{Facts, facts};
pub use picture::{Cell, Grid, grids};
pub use svg::svg;
pub use terminal::terminal;

use tilewright_ir::layout::Point;
use tilewright_ir::{Axis, DType, Layout};

/// Most places (elements times replicas) that are enumerated.
pub const MOST_PLACES: i64 = 1 << 20;

/// Most cells of a picture: what a person may still read.
pub const MOST_CELLS: i64 = 4096;

/// A layout and what it is looked at with.
#[derive(Clone, Debug)]
pub struct Question {
    /// The layout; a bare swizzle has been put over the shape.
    pub layout: Layout,
    /// The shape that coordinates refer to; its product is the layout's size.
    pub shape: Vec<i64>,
    /// Lanes of a warp.
    pub warp: u32,
    /// Banks of 4 bytes of shared memory.
    pub banks: u32,
    /// Threads of the CTA.
    pub threads: u32,
    /// Elements.
    pub dtype: DType,
}

/// One place of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// Thread of the CTA, or lane of each warp where only lanes are named; 0 without thread axes.
    pub thread: i64,
    /// Address or register, in elements.
    pub m: i64,
}

impl Question {
    /// Is it memory only, without thread axes?
    pub fn is_memory(&self) -> bool {
        self.layout.tile.thread_axes().is_empty()
    }

    /// Are lanes all that it names, so that each warp has a copy?
    pub fn lanes_only(&self) -> bool {
        self.layout.tile.thread_axes() == [Axis::LaneId]
    }

    /// Elements.
    pub fn size(&self) -> i64 {
        self.shape.iter().product()
    }

    /// Places of one element, all replicas.
    pub fn replicas(&self) -> i64 {
        let extent = |e: &tilewright_ir::Dim| e.as_const().unwrap_or(1).max(1);
        self.layout.tile.replica.iter().fold(1i64, |p, it| p.saturating_mul(extent(&it.extent)))
    }

    /// Are all numbers known, and few enough to look at every place?
    pub fn enumerable(&self) -> bool {
        let tile = &self.layout.tile;
        let known = tile.shard.iter().chain(&tile.replica).all(|it| it.stride.as_const().is_some())
            && tile.replica.iter().all(|it| it.extent.as_const().is_some_and(|e| e > 0))
            && tile.offset.values().all(|d| d.as_const().is_some());
        known && self.size().saturating_mul(self.replicas()) <= MOST_PLACES
    }

    /// The places of the element with this row-major number; empty where a number overflows.
    pub fn spots(&self, flat: i64) -> Vec<Spot> {
        let Ok(base) = self.layout.tile.apply_flat(flat) else { return Vec::new() };
        let mut out = Vec::new();
        for copy in 0..self.replicas() {
            let mut point = base.clone();
            let mut rest = copy;
            for it in self.layout.tile.replica.iter().rev() {
                let (e, s) = (it.extent.as_const().unwrap_or(1).max(1), it.stride.as_const().unwrap_or(0));
                let slot = point.entry(it.axis.clone()).or_insert(0);
                *slot = slot.wrapping_add((rest % e).wrapping_mul(s));
                rest /= e;
            }
            let spot = self.spot(&point);
            if !out.contains(&spot) {
                out.push(spot);
            }
        }
        out
    }

    fn spot(&self, point: &Point<i64>) -> Spot {
        let mut spot = Spot { thread: 0, m: 0 };
        for (axis, v) in point {
            match axis.thread_stride(self.warp) {
                Some(s) => spot.thread = spot.thread.wrapping_add(v.wrapping_mul(s)),
                None if *axis == Axis::M => spot.m = spot.m.wrapping_add(*v),
                None => {}
            }
        }
        if let Some(s) = self.layout.swizzle {
            spot.m = s.apply(spot.m);
        }
        spot
    }
}

//! Contiguous runs: what a copy engine asks of a region.
//!
//! A region of plain memory, walked in logical order, is a number of runs of neighbouring elements. One run can be moved
//! by one transfer; runs a constant distance apart by one transfer each.

use crate::dim::Dim;
use crate::facts::Facts;
use crate::layout::{Axis, Interval, Iter, Layout, LayoutError};

/// The runs of a region, in elements of the buffer's own memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runs {
    /// Address of the first element of the first run.
    pub start: Dim,
    /// Elements of each run, neighbours in memory and in logical order.
    pub run_elems: Dim,
    /// How the runs lie: `(count, stride)` outermost first; empty for one run. No count is known to be 1.
    pub outer: Vec<(Dim, Dim)>,
}

impl Runs {
    /// Number of runs.
    pub fn count(&self) -> Dim {
        self.outer.iter().fold(Dim::ONE, |p, (n, _)| p.mul(n))
    }

    /// Is it one run?
    pub fn is_single(&self) -> bool {
        self.outer.is_empty()
    }

    /// Number of elements.
    pub fn elems(&self) -> Dim {
        self.count().mul(&self.run_elems)
    }

    /// The same region as shorter runs of `elems` each, if that divides the run; for pairing two sides of a copy.
    pub fn split(&self, elems: &Dim) -> Option<Runs> {
        let parts = self.run_elems.div_exact(elems)?;
        let mut outer = self.outer.clone();
        if !parts.is(1) {
            outer.push((parts, elems.clone()));
        }
        Some(Runs { start: self.start.clone(), run_elems: elems.clone(), outer })
    }
}

/// The runs of `region` of a buffer of `shape`. Errors if the layout has thread axes or a swizzle, or if the region cannot
/// be sliced.
pub fn contiguous_runs(
    layout: &Layout,
    shape: &[Dim],
    region: &[Interval],
    facts: &Facts,
) -> Result<Runs, LayoutError> {
    if layout.swizzle.is_some() {
        return Err(LayoutError::Swizzled);
    }
    let used = layout.tile.shard.iter().chain(&layout.tile.replica).map(|it| &it.axis).chain(layout.tile.offset.keys());
    if let Some(axis) = used.into_iter().find(|a| **a != Axis::M) {
        return Err(LayoutError::NotMemory(axis.clone()));
    }
    let tile = layout.tile.slice(shape, region, None, facts)?;
    let mut iters: Vec<&Iter> = tile.shard.iter().filter(|it| !it.extent.is(1)).collect();
    let mut run = Dim::ONE;
    while let Some(last) = iters.last()
        && last.stride == run
    {
        run = run.mul(&last.extent);
        iters.pop();
    }
    let mut outer: Vec<(Dim, Dim)> = Vec::new();
    for it in iters {
        match outer.last_mut() {
            Some((n, s)) if *s == it.extent.mul(&it.stride) => {
                *n = n.mul(&it.extent);
                *s = it.stride.clone();
            }
            _ => outer.push((it.extent.clone(), it.stride.clone())),
        }
    }
    Ok(Runs { start: tile.offset_on(&Axis::M), run_elems: run, outer })
}

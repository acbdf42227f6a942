//! Grouping: cutting the digits of a layout at the boundaries of a shape.
//!
//! One greedy pass from the outermost iter. Afterwards each dimension of the shape owns a run of iters whose extents
//! multiply to the dimension's extent, so that a coordinate can be split inside its own group.

use crate::dim::Dim;
use crate::layout::{Iter, LayoutError, TileLayout};

/// A layout whose iters are cut at the dimensions of a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grouped {
    /// The layout; same map as before.
    pub layout: TileLayout,
    /// `shard[separators[k]..separators[k + 1]]` belongs to dimension `k`; one more entry than dimensions.
    pub separators: Vec<usize>,
}

impl Grouped {
    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.separators.len() - 1
    }

    /// The iters of dimension `k`, outermost first. Panics if `k >= rank()`.
    pub fn group(&self, k: usize) -> &[Iter] {
        &self.layout.shard[self.separators[k]..self.separators[k + 1]]
    }
}

/// Exact quotient of positive extents, if there is one.
fn quotient(a: &Dim, b: &Dim) -> Option<Dim> {
    if b.is(0) { None } else { a.div_exact(b) }
}

impl TileLayout {
    /// Cuts the iters at the boundaries of `shape`. Dimensions of extent 1 get a unit iter each, unit iters of the layout
    /// vanish. Replica and offset are kept. Errors if an iter would straddle a boundary without dividing, or if the sizes
    /// differ.
    pub fn group(&self, shape: &[Dim]) -> Result<Grouped, LayoutError> {
        let mismatch = || LayoutError::SizeMismatch { size: self.size(), shape: shape.to_vec() };
        let mut shard = Vec::new();
        let mut separators = vec![0];
        let mut dim = 0;
        let mut prod = Dim::ONE; // elements of the open group so far
        for (i, it) in self.shard.iter().enumerate() {
            let mut extent = it.extent.clone();
            prod = prod.mul(&extent);
            while let Some(want) = shape.get(dim) {
                let Some(c) = quotient(&prod, want) else { break };
                let straddles = || LayoutError::Straddles { iter: i, extent: extent.clone(), dim, want: want.clone() };
                let outer = quotient(&extent, &c).ok_or_else(straddles)?;
                shard.push(Iter { extent: outer, stride: it.stride.mul(&c), axis: it.axis.clone() });
                separators.push(shard.len());
                dim += 1;
                extent = c.clone();
                prod = c;
            }
            if !extent.is(1) {
                shard.push(Iter { extent, stride: it.stride.clone(), axis: it.axis.clone() });
            }
        }
        if dim != shape.len() || separators.last() != Some(&shard.len()) {
            return Err(mismatch());
        }
        let layout = TileLayout { shard, replica: self.replica.clone(), offset: self.offset.clone() };
        Ok(Grouped { layout, separators })
    }

    /// The layout with its dimensions in another order: dimension `k` of the result is dimension `order[k]` of `shape`.
    /// Errors as `group` does, or if `order` is no permutation.
    pub fn permute_dims(&self, shape: &[Dim], order: &[usize]) -> Result<TileLayout, LayoutError> {
        let grouped = self.group(shape)?;
        check_permutation(order, shape.len())?;
        let shard = order.iter().flat_map(|&k| grouped.group(k).to_vec()).collect();
        Ok(TileLayout { shard, ..grouped.layout })
    }

    /// The layout with its shard iters in another order: iter `k` of the result is iter `order[k]`. Errors if `order` is
    /// no permutation.
    pub fn permute_iters(&self, order: &[usize]) -> Result<TileLayout, LayoutError> {
        check_permutation(order, self.shard.len())?;
        let shard = order.iter().map(|&k| self.shard[k].clone()).collect();
        Ok(TileLayout { shard, replica: self.replica.clone(), offset: self.offset.clone() })
    }
}

fn check_permutation(order: &[usize], n: usize) -> Result<(), LayoutError> {
    let mut seen = vec![false; n];
    for &k in order {
        match seen.get_mut(k) {
            Some(s) if !*s => *s = true,
            _ => return Err(LayoutError::RankMismatch { got: order.len(), want: n }),
        }
    }
    if order.len() == n { Ok(()) } else { Err(LayoutError::RankMismatch { got: order.len(), want: n }) }
}

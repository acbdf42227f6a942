//! How much a layout covers: sizes and spans.

use crate::dim::Dim;
use crate::layout::apply::constant;
use crate::layout::{Axis, Iter, Layout, LayoutError, TileLayout};

impl TileLayout {
    /// Product of the extents of the shard iters on `axis`: how many values that coordinate takes, if its iters do not
    /// overlap.
    pub fn size_on(&self, axis: &Axis) -> Dim {
        self.shard.iter().filter(|it| it.axis == *axis).fold(Dim::ONE, |p, it| p.mul(&it.extent))
    }

    /// `1 + sum((extent - 1) * stride) + offset` over shard and replica iters, on `axis`, or on all axes that are no
    /// thread axes. With strides that are not negative and one memory axis: one past the largest address.
    pub fn span(&self, axis: Option<&Axis>) -> Dim {
        let here = |a: &Axis| axis.map_or(!a.is_thread(), |want| a == want);
        let mut span = Dim::ONE;
        for it in self.shard.iter().chain(&self.replica).filter(|it| here(&it.axis)) {
            span = span.add(&it.extent.sub(&Dim::ONE).mul(&it.stride));
        }
        self.offset.iter().filter(|(a, _)| here(a)).fold(span, |s, (_, d)| s.add(d))
    }

    /// Least and largest coordinate on `axis`, replicas included, also with negative strides. Errors if a number is
    /// symbolic, or on overflow. An axis that is not used has only the coordinate 0.
    pub fn bounds_on(&self, axis: &Axis) -> Result<(i64, i64), LayoutError> {
        let offset = constant("an offset", &self.offset_on(axis))?;
        let (mut lo, mut hi) = (i128::from(offset), i128::from(offset));
        for it in self.shard.iter().chain(&self.replica).filter(|it| it.axis == *axis) {
            let far = reach(it)?;
            if far < 0 { lo += far } else { hi += far }
        }
        let narrow = |v: i128| i64::try_from(v).map_err(|_| LayoutError::Overflow);
        Ok((narrow(lo)?, narrow(hi)?))
    }

    /// One past the largest address on `axis`: elements that storage for the layout must have. Errors as `bounds_on`.
    pub fn cosize(&self, axis: &Axis) -> Result<i64, LayoutError> {
        self.bounds_on(axis)?.1.checked_add(1).ok_or(LayoutError::Overflow)
    }
}

/// Address of the last value of an iter, relative to its first.
fn reach(it: &Iter) -> Result<i128, LayoutError> {
    let (extent, stride) = (constant("an extent", &it.extent)?, constant("a stride", &it.stride)?);
    if extent <= 0 {
        return Err(LayoutError::BadExtent(it.extent.clone()));
    }
    Ok(i128::from(extent - 1) * i128::from(stride))
}

impl Layout {
    /// Elements of the layout, or on one axis. A swizzled layout has no size per axis.
    pub fn size(&self, axis: Option<&Axis>) -> Result<Dim, LayoutError> {
        match (axis, self.swizzle) {
            (None, _) => Ok(self.tile.size()),
            (Some(_), Some(_)) => Err(LayoutError::Swizzled),
            (Some(a), None) => Ok(self.tile.size_on(a)),
        }
    }

    /// See [`TileLayout::span`]. A swizzled layout has no span per axis.
    pub fn span(&self, axis: Option<&Axis>) -> Result<Dim, LayoutError> {
        if axis.is_some() && self.swizzle.is_some() {
            return Err(LayoutError::Swizzled);
        }
        Ok(self.tile.span(axis))
    }

    /// Elements that storage for a buffer with this layout and `shape` must have: one past the largest address on `m`. A
    /// swizzle may use all of the last window it reaches, so the size is rounded up to whole windows. Symbolic numbers
    /// are allowed without a swizzle; strides are then taken as not negative.
    pub fn storage_elems(&self, shape: &[Dim]) -> Result<Dim, LayoutError> {
        let layout = self.over(shape);
        match (layout.tile.cosize(&Axis::M), layout.swizzle) {
            (Ok(n), None) => Ok(Dim::Const(n)),
            (Ok(n), Some(s)) => {
                s.verify()?;
                let windows = n.div_euclid(s.period()) + i64::from(n % s.period() != 0);
                windows.checked_mul(s.period()).map(Dim::Const).ok_or(LayoutError::Overflow)
            }
            (Err(LayoutError::Symbolic { .. }), None) => Ok(layout.tile.span(Some(&Axis::M))),
            (Err(e), _) => Err(e),
        }
    }
}

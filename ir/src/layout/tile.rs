//! Building layouts from layouts: tiling, direct sums and their inverses, packing, and the memory part alone.
//!
//! Tiling repeats an inner layout along an outer one: the outer strides count whole inner layouts (their span). A direct
//! sum does not scale. In both, dimension `k` of the result has extent `outer[k] * inner[k]`, outer digits first.

use crate::dim::Dim;
use crate::layout::{Axis, Grouped, Iter, Layout, LayoutError, TileLayout};

impl TileLayout {
    /// This layout, with `shape`, repeated along `outer` with `outer_shape`. Errors if either cannot be grouped by its
    /// shape or the thread axes do not fit.
    pub fn tile(&self, shape: &[Dim], outer: &TileLayout, outer_shape: &[Dim]) -> Result<TileLayout, LayoutError> {
        let mut scaled = outer.canonicalize(None)?;
        let inner = self.canonicalize(None)?;
        for it in &mut scaled.shard {
            it.stride = it.stride.mul(&inner.span(Some(&it.axis)));
        }
        scaled.direct_sum(outer_shape, &inner, shape)
    }

    /// The direct sum of this layout (outer digits) and `inner`: places add up. Errors as `tile` does.
    pub fn direct_sum(
        &self,
        shape: &[Dim],
        inner: &TileLayout,
        inner_shape: &[Dim],
    ) -> Result<TileLayout, LayoutError> {
        if shape.len() != inner_shape.len() {
            return Err(LayoutError::RankMismatch { got: inner_shape.len(), want: shape.len() });
        }
        let outer = self.canonicalize(None)?.group(shape)?;
        let inner = inner.canonicalize(None)?.group(inner_shape)?;
        let mut out = outer.layout.clone();
        out.shard = (0..outer.rank()).flat_map(|k| [outer.group(k), inner.group(k)].concat()).collect();
        out.replica.extend(inner.layout.replica.iter().cloned());
        for (axis, d) in &inner.layout.offset {
            let slot = out.offset.entry(axis.clone()).or_insert(Dim::ZERO);
            *slot = slot.add(d);
        }
        out.canonicalize(None)
    }

    /// This layout, with `shape`, repeated row-major until it has `to` elements in each dimension. Errors if a dimension
    /// of `to` is no multiple.
    pub fn tile_to(&self, shape: &[Dim], to: &[Dim]) -> Result<TileLayout, LayoutError> {
        let outer = ratio(to, shape)?;
        self.tile(shape, &TileLayout::row_major(&outer), &outer)
    }

    /// If `tiled`, with shape `tiled_shape`, is this layout (with `shape`) repeated along some outer layout: that one.
    pub fn outer_of(&self, shape: &[Dim], tiled: &TileLayout, tiled_shape: &[Dim]) -> Option<TileLayout> {
        let outer_shape = ratio(tiled_shape, shape).ok()?;
        let inner = self.canonicalize(None).ok()?.group(shape).ok()?;
        let (cut, _) = interleaved(tiled, &outer_shape, shape)?;
        let mut shard = Vec::new();
        for k in 0..shape.len() {
            if !same_iters(cut.group(2 * k + 1), inner.group(k)) {
                return None;
            }
            for it in cut.group(2 * k) {
                let span = inner.layout.span(Some(&it.axis));
                let stride = if it.extent.is(1) { it.stride.clone() } else { it.stride.div_exact(&span)? };
                shard.push(Iter { stride, ..it.clone() });
            }
        }
        let replica = without(&cut.layout.replica, &inner.layout.replica)?;
        let mut outer = TileLayout { shard, replica, offset: cut.layout.offset.clone() };
        subtract_offsets(&mut outer, &inner.layout);
        Some(outer)
    }

    /// If `tiled`, with shape `tiled_shape`, is some layout repeated along this one (with `shape`): that inner layout.
    pub fn inner_of(&self, shape: &[Dim], tiled: &TileLayout, tiled_shape: &[Dim]) -> Option<TileLayout> {
        let inner_shape = ratio(tiled_shape, shape).ok()?;
        let outer = self.canonicalize(None).ok()?.group(shape).ok()?;
        let (cut, _) = interleaved(tiled, shape, &inner_shape)?;
        let shard: Vec<Iter> = (0..shape.len()).flat_map(|k| cut.group(2 * k + 1).to_vec()).collect();
        let replica = without(&cut.layout.replica, &outer.layout.replica)?;
        let mut inner = TileLayout { shard, replica, offset: cut.layout.offset.clone() };
        subtract_offsets(&mut inner, &outer.layout);
        for k in 0..shape.len() {
            let scale = |it: &Iter| Iter { stride: it.stride.mul(&inner.span(Some(&it.axis))), ..it.clone() };
            let want: Vec<Iter> = outer.group(k).iter().map(scale).collect();
            if !same_iters(cut.group(2 * k), &want) {
                return None;
            }
        }
        Some(inner)
    }

    /// The memory part alone: shard iters and offsets on axes that are no thread axes, no replicas on them either.
    pub fn storage(&self) -> TileLayout {
        let memory = |its: &[Iter]| its.iter().filter(|it| !it.axis.is_thread()).cloned().collect();
        let offset = self.offset.iter().filter(|(a, _)| !a.is_thread()).map(|(a, d)| (a.clone(), d.clone()));
        TileLayout { shard: memory(&self.shard), replica: memory(&self.replica), offset: offset.collect() }
    }

    /// The layout of units of `n` neighbouring elements: addresses on memory axes count units, thread coordinates stay.
    /// Errors if the innermost iter does not hold whole units, or if a stride or an offset is no multiple of `n`.
    pub fn pack(&self, n: i64) -> Result<TileLayout, LayoutError> {
        let refuse = || LayoutError::NotPackable(n);
        let unit = Dim::Const(n);
        let (last, rest) = self.shard.split_last().ok_or_else(refuse)?;
        if n < 1 || last.axis.is_thread() || !last.stride.is(1) {
            return Err(refuse());
        }
        let extent = last.extent.div_exact(&unit).ok_or_else(refuse)?;
        let scale = |it: &Iter| -> Result<Iter, LayoutError> {
            if it.axis.is_thread() {
                return Ok(it.clone());
            }
            Ok(Iter { stride: it.stride.div_exact(&unit).ok_or_else(refuse)?, ..it.clone() })
        };
        let mut out = TileLayout::from_shard(rest.iter().map(scale).collect::<Result<_, _>>()?);
        out.shard.push(Iter { extent, ..last.clone() });
        out.replica = self.replica.iter().map(scale).collect::<Result<_, _>>()?;
        for (axis, d) in &self.offset {
            let d = if axis.is_thread() { d.clone() } else { d.div_exact(&unit).ok_or_else(refuse)? };
            out.offset.insert(axis.clone(), d);
        }
        Ok(out)
    }

    /// The layout of the elements, where this is a layout of units of `n` elements: the inverse of `pack`.
    pub fn unpack(&self, n: i64) -> TileLayout {
        let factor = |axis: &Axis| Dim::Const(if axis.is_thread() { 1 } else { n });
        let scale = |it: &Iter| Iter { stride: it.stride.mul(&factor(&it.axis)), ..it.clone() };
        let mut out = TileLayout::from_shard(self.shard.iter().map(scale).collect());
        out.shard.push(Iter::new(n, 1, Axis::M));
        out.replica = self.replica.iter().map(scale).collect();
        out.offset = self.offset.iter().map(|(a, d)| (a.clone(), d.mul(&factor(a)))).collect();
        out
    }
}

impl Layout {
    /// See [`TileLayout::tile`]; the swizzle is kept. A swizzle without a tile is over the row-major layout of `shape`.
    pub fn tile(&self, shape: &[Dim], outer: &TileLayout, outer_shape: &[Dim]) -> Result<Layout, LayoutError> {
        let inner = self.over(shape);
        Ok(Layout { tile: inner.tile.tile(shape, outer, outer_shape)?, swizzle: inner.swizzle })
    }

    /// See [`TileLayout::tile_to`].
    pub fn tile_to(&self, shape: &[Dim], to: &[Dim]) -> Result<Layout, LayoutError> {
        let inner = self.over(shape);
        Ok(Layout { tile: inner.tile.tile_to(shape, to)?, swizzle: inner.swizzle })
    }
}

/// `a[k] / b[k]`.
fn ratio(a: &[Dim], b: &[Dim]) -> Result<Vec<Dim>, LayoutError> {
    if a.len() != b.len() {
        return Err(LayoutError::RankMismatch { got: a.len(), want: b.len() });
    }
    let one = |(x, y): (&Dim, &Dim)| {
        x.div_exact(y).ok_or_else(|| LayoutError::SizeMismatch { size: x.clone(), shape: b.to_vec() })
    };
    a.iter().zip(b).map(one).collect()
}

/// `tiled` cut at `outer[0], inner[0], outer[1], inner[1], …`.
fn interleaved(tiled: &TileLayout, outer: &[Dim], inner: &[Dim]) -> Option<(Grouped, Vec<Dim>)> {
    let shape: Vec<Dim> = outer.iter().zip(inner).flat_map(|(o, i)| [o.clone(), i.clone()]).collect();
    Some((tiled.canonicalize(None).ok()?.group(&shape).ok()?, shape))
}

/// The same digits, unit iters and fusion aside?
fn same_iters(a: &[Iter], b: &[Iter]) -> bool {
    let form = |its: &[Iter]| {
        let mut t = TileLayout::from_shard(its.to_vec());
        t.shard.retain(|it| !it.extent.is(1));
        t.fuse();
        t.shard
    };
    form(a) == form(b)
}

/// `all` without the iters of `part`, each once; `None` if one is missing.
fn without(all: &[Iter], part: &[Iter]) -> Option<Vec<Iter>> {
    let mut rest = all.to_vec();
    for it in part {
        let at = rest.iter().position(|r| r == it)?;
        rest.remove(at);
    }
    Some(rest)
}

fn subtract_offsets(from: &mut TileLayout, part: &TileLayout) {
    for (axis, d) in &part.offset {
        let slot = from.offset.entry(axis.clone()).or_insert(Dim::ZERO);
        *slot = slot.sub(d);
    }
    from.offset.retain(|_, d| !d.is(0));
}

//! Applying a layout: from an index to a place.
//!
//! On constants (`apply_flat`), and on symbolic coordinates (`apply`, `offset_expr`). A place is a value per axis; an
//! axis that neither shard nor offset uses is absent. Replicas are ignored: they are further places of the same element.

use indexmap::IndexMap;

use crate::dim::Dim;
use crate::expr::Expr;
use crate::facts::Facts;
use crate::layout::{Axis, Iter, Layout, LayoutError, TileLayout};

/// Where an element lives: a value per axis.
pub type Point<T> = IndexMap<Axis, T>;

impl TileLayout {
    /// The place of flat index `flat` (row-major over the shard extents; the first digit is not reduced, so that indices
    /// past the end run on). Errors if a number of the layout is symbolic, an extent is not positive, or on overflow.
    pub fn apply_flat(&self, flat: i64) -> Result<Point<i64>, LayoutError> {
        let mut point: Point<i64> = Point::new();
        let mut rest = flat;
        let mut digits = vec![0i64; self.shard.len()];
        for (k, it) in self.shard.iter().enumerate().rev() {
            let extent = constant("an extent", &it.extent)?;
            if extent <= 0 {
                return Err(LayoutError::BadExtent(it.extent.clone()));
            }
            digits[k] = if k == 0 { rest } else { rest.rem_euclid(extent) };
            rest = rest.div_euclid(extent);
        }
        for (it, digit) in self.shard.iter().zip(digits) {
            let stride = constant("a stride", &it.stride)?;
            add_to(&mut point, &it.axis, digit.checked_mul(stride))?;
        }
        for (axis, d) in &self.offset {
            add_to(&mut point, axis, Some(constant("an offset", d)?))?;
        }
        Ok(point)
    }

    /// The place of the element with coordinates `coords` in `shape`, by flattening row-major.
    pub fn apply_coords(&self, coords: &[i64], shape: &[i64]) -> Result<Point<i64>, LayoutError> {
        self.apply_flat(flatten(coords, shape)?)
    }

    /// The place of the element with symbolic coordinates `coords` (each `0 <= coord < shape[k]`) in `shape`. Each
    /// coordinate is split inside its own dimension where the layout can be grouped by `shape`, otherwise the flattened
    /// index is split. `facts` simplify the digits.
    pub fn apply(&self, coords: &[Dim], shape: &[Dim], facts: &Facts) -> Result<Point<Dim>, LayoutError> {
        if coords.len() != shape.len() {
            return Err(LayoutError::RankMismatch { got: coords.len(), want: shape.len() });
        }
        let mut point: Point<Dim> = Point::new();
        match self.group(shape) {
            Ok(grouped) => {
                for (k, coord) in coords.iter().enumerate() {
                    add_digits(&mut point, grouped.group(k), coord, facts);
                }
            }
            Err(_) => {
                let mut flat = Dim::ZERO;
                for (coord, extent) in coords.iter().zip(shape) {
                    flat = flat.mul(extent).add(coord);
                }
                add_digits(&mut point, &self.shard, &flat, facts);
            }
        }
        for (axis, d) in &self.offset {
            let slot = point.entry(axis.clone()).or_insert(Dim::ZERO);
            *slot = slot.add(d);
        }
        Ok(point)
    }

    /// The place of given digits: `digits[k]` is the value of shard iter `k`. Errors if the numbers differ.
    pub fn apply_digits(&self, digits: &[Dim]) -> Result<Point<Dim>, LayoutError> {
        if digits.len() != self.shard.len() {
            return Err(LayoutError::RankMismatch { got: digits.len(), want: self.shard.len() });
        }
        let mut point: Point<Dim> = self.offset.clone();
        for (it, digit) in self.shard.iter().zip(digits) {
            let slot = point.entry(it.axis.clone()).or_insert(Dim::ZERO);
            *slot = slot.add(&digit.mul(&it.stride));
        }
        Ok(point)
    }
}

impl Layout {
    /// The place of flat index `flat`, swizzle applied on `m`. Errors as [`TileLayout::apply_flat`] does.
    pub fn apply_flat(&self, flat: i64) -> Result<Point<i64>, LayoutError> {
        let mut point = self.tile.apply_flat(flat)?;
        if let Some(s) = self.swizzle {
            let slot = point.entry(Axis::M).or_insert(0);
            *slot = s.apply(*slot);
        }
        Ok(point)
    }

    /// The place of the element with coordinates `coords` in `shape`, swizzle applied on `m`.
    pub fn apply_coords(&self, coords: &[i64], shape: &[i64]) -> Result<Point<i64>, LayoutError> {
        self.apply_flat(flatten(coords, shape)?)
    }

    /// Address on `m` of the element with logical coordinates `coords` in `shape`, in elements, swizzle included. A
    /// swizzle without a tile is over the row-major layout of `shape`. Other axes are left out: ask `apply` for the owner.
    pub fn offset_expr(&self, coords: &[Expr], shape: &[Dim], facts: &Facts) -> Result<Expr, LayoutError> {
        let coords: Vec<Dim> = coords.iter().map(|e| facts.resolve(e)).collect();
        self.offset_dim(&coords, shape, facts).map(|d| d.to_expr())
    }

    /// As `offset_expr`, from dims to a dim.
    pub fn offset_dim(&self, coords: &[Dim], shape: &[Dim], facts: &Facts) -> Result<Dim, LayoutError> {
        let layout = self.over(shape);
        let m = layout.tile.apply(coords, shape, facts)?.shift_remove(&Axis::M).unwrap_or(Dim::ZERO);
        Ok(match layout.swizzle {
            Some(s) => s.apply_dim(&m, facts),
            None => m,
        })
    }

    /// Value on every axis of the element with coordinates `coords` in `shape`, swizzle applied on `m`.
    pub fn apply(&self, coords: &[Dim], shape: &[Dim], facts: &Facts) -> Result<Point<Dim>, LayoutError> {
        let layout = self.over(shape);
        let mut point = layout.tile.apply(coords, shape, facts)?;
        if let (Some(s), Some(m)) = (layout.swizzle, point.get_mut(&Axis::M)) {
            *m = s.apply_dim(m, facts);
        }
        Ok(point)
    }
}

/// Splits `coord` over `iters` (its digits, innermost fastest) by division and remainder; the outermost digit is not
/// reduced. `coord` must be non-negative.
pub fn split_digits(iters: &[Iter], coord: &Dim, facts: &Facts) -> Vec<Dim> {
    let mut inner = Dim::ONE; // product of the extents inside
    let mut digits = Vec::with_capacity(iters.len());
    for (k, it) in iters.iter().enumerate().rev() {
        let q = facts.div(coord, &inner);
        digits.push(if k == 0 { q } else { facts.rem(&q, &it.extent) });
        inner = inner.mul(&it.extent);
    }
    digits.reverse();
    digits
}

fn add_digits(point: &mut Point<Dim>, iters: &[Iter], coord: &Dim, facts: &Facts) {
    for (it, digit) in iters.iter().zip(split_digits(iters, coord, facts)) {
        let slot = point.entry(it.axis.clone()).or_insert(Dim::ZERO);
        *slot = slot.add(&digit.mul(&it.stride));
    }
}

/// Row-major flat index. Errors on a wrong number of coordinates or overflow.
pub fn flatten(coords: &[i64], shape: &[i64]) -> Result<i64, LayoutError> {
    if coords.len() != shape.len() {
        return Err(LayoutError::RankMismatch { got: coords.len(), want: shape.len() });
    }
    coords.iter().zip(shape).try_fold(0i64, |flat, (c, n)| {
        flat.checked_mul(*n).and_then(|f| f.checked_add(*c)).ok_or(LayoutError::Overflow)
    })
}

fn add_to(point: &mut Point<i64>, axis: &Axis, value: Option<i64>) -> Result<(), LayoutError> {
    let slot = point.entry(axis.clone()).or_insert(0);
    *slot = value.and_then(|v| slot.checked_add(v)).ok_or(LayoutError::Overflow)?;
    Ok(())
}

/// The constant value of a dim, or an error that names it.
pub(super) fn constant(what: &'static str, dim: &Dim) -> Result<i64, LayoutError> {
    dim.as_const().ok_or_else(|| LayoutError::Symbolic { what, value: dim.clone() })
}

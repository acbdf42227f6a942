//! Well-formedness of layouts: what must hold before any other operation is asked.

use std::collections::BTreeMap;

use crate::dim::Dim;
use crate::layout::apply::constant;
use crate::layout::{Axis, Iter, Layout, LayoutError, Point, TileLayout};

/// Layouts of more elements (replicas counted) than this are not checked for two elements in one place.
pub const BRUTE_FORCE_LIMIT: i64 = 1 << 20;

impl TileLayout {
    /// Extents positive where constant, thread axes that form one scope.
    pub fn verify(&self) -> Result<(), LayoutError> {
        for it in self.shard.iter().chain(&self.replica) {
            if it.extent.as_const().is_some_and(|e| e <= 0) {
                return Err(LayoutError::BadExtent(it.extent.clone()));
            }
        }
        self.thread_scope().map(|_| ())
    }

    /// No two different elements share a place (thread coordinates as flattened thread numbers, `warp` lanes a warp).
    /// Replicas of one element may coincide. Layouts that are symbolic or larger than `BRUTE_FORCE_LIMIT` pass.
    pub fn verify_injective(&self, warp: u32) -> Result<(), LayoutError> {
        let mut total: i64 = 1;
        for it in self.shard.iter().chain(&self.replica) {
            let (Some(e), Some(_)) = (it.extent.as_const(), it.stride.as_const()) else { return Ok(()) };
            total = total.saturating_mul(e.max(0));
        }
        if total > BRUTE_FORCE_LIMIT || self.is_obviously_injective(warp) {
            return Ok(());
        }
        let copies: i64 = self.replica.iter().filter_map(|it| it.extent.as_const()).product();
        let mut seen: BTreeMap<Vec<(Axis, i64)>, i64> = BTreeMap::new();
        for flat in 0..total / copies.max(1) {
            let base = flatten_threads(&self.apply_flat(flat)?, warp);
            for copy in 0..copies {
                let mut place = base.clone();
                add_replica(&self.replica, copy, warp, &mut place)?;
                match seen.insert(place.into_iter().collect(), flat) {
                    Some(first) if first != flat => return Err(LayoutError::NotInjective { first, second: flat }),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// On each axis (thread axes as one), each stride is more than the reach of the smaller ones: the digits can be read
    /// off the place, so no two elements share one and there is no need to enumerate. True of almost every layout that
    /// people write; false says nothing.
    fn is_obviously_injective(&self, warp: u32) -> bool {
        let mut iters: Vec<(&Axis, u64, u64)> = Vec::with_capacity(self.shard.len() + self.replica.len());
        for it in self.shard.iter().chain(&self.replica) {
            let (Some(e), Some(s)) = (it.extent.as_const(), it.stride.as_const()) else { return false };
            if e <= 1 {
                continue;
            }
            let (axis, unit) = match it.axis.thread_stride(warp) {
                Some(unit) => (&Axis::Tx, unit),
                None => (&it.axis, 1),
            };
            iters.push((axis, s.unsigned_abs().saturating_mul(unit.unsigned_abs()), e.unsigned_abs()));
        }
        iters.sort_unstable();
        let mut reach: u64 = 0;
        let mut axis = None;
        iters.iter().all(|&(on, s, e)| {
            if axis.replace(on) != Some(on) {
                reach = 0;
            }
            let fine = s > reach;
            reach = reach.saturating_add((e - 1).saturating_mul(s));
            fine && reach < i64::MAX as u64
        })
    }

    /// Every coordinate on a thread axis is one that a CTA of `threads` threads with `warp` lanes has, and no address on
    /// `m` is negative. Symbolic layouts pass.
    pub fn verify_coordinates(&self, warp: u32, threads: u32) -> Result<(), LayoutError> {
        let warp = i64::from(warp.max(1));
        let threads = i64::from(threads);
        let groups = |n: i64| threads.div_euclid(n) + i64::from(threads % n != 0);
        for axis in self.thread_axes().into_iter().chain([Axis::M]) {
            let (lo, hi) = match self.bounds_on(&axis) {
                Ok(b) => b,
                Err(LayoutError::Symbolic { .. }) => continue,
                Err(e) => return Err(e),
            };
            let limit = match axis {
                Axis::LaneId => warp,
                Axis::WarpId => groups(warp),
                Axis::WidInWg => 4,
                Axis::WgId => groups(4 * warp),
                Axis::TidInWg => 4 * warp,
                Axis::Tx => threads,
                _ => i64::MAX,
            };
            if lo < 0 || hi >= limit {
                let at = if lo < 0 { lo } else { hi };
                return Err(LayoutError::CoordinateRange { axis, at, limit });
            }
        }
        Ok(())
    }
}

impl Layout {
    /// May a buffer of `shape` in a CTA of `threads` threads with `warp` lanes have this layout? Checks extents, thread
    /// axes, swizzle parameters, that the sizes agree (constant or as polynomials), that the layout can tell the
    /// elements apart, and that coordinates exist.
    pub fn verify(&self, shape: &[Dim], warp: u32, threads: u32) -> Result<(), LayoutError> {
        let want = shape.iter().fold(Dim::ONE, |p, n| p.mul(n));
        // A tile that was written is meant, also where it is the identity: only a swizzle alone takes the buffer's shape.
        if !self.tile.shard.is_empty() && self.tile.size() != want {
            return Err(LayoutError::SizeMismatch { size: self.tile.size(), shape: shape.to_vec() });
        }
        let layout = self.over(shape);
        layout.tile.verify()?;
        if let Some(s) = layout.swizzle {
            s.verify()?;
        }
        layout.tile.verify_coordinates(warp, threads)?;
        layout.tile.verify_injective(warp)
    }
}

/// Replaces thread coordinates by the flattened thread number, kept under `tx`.
pub fn flatten_threads(point: &Point<i64>, warp: u32) -> BTreeMap<Axis, i64> {
    let mut out = BTreeMap::new();
    for (axis, v) in point {
        let (axis, v) = match axis.thread_stride(warp) {
            Some(s) => (Axis::Tx, v.wrapping_mul(s)),
            None => (axis.clone(), *v),
        };
        let slot = out.entry(axis).or_insert(0i64);
        *slot = slot.wrapping_add(v);
    }
    out
}

fn add_replica(replica: &[Iter], copy: i64, warp: u32, place: &mut BTreeMap<Axis, i64>) -> Result<(), LayoutError> {
    let mut rest = copy;
    for it in replica.iter().rev() {
        let (e, s) = (constant("an extent", &it.extent)?, constant("a stride", &it.stride)?);
        let digit = rest % e.max(1);
        rest /= e.max(1);
        let (axis, unit) = match it.axis.thread_stride(warp) {
            Some(u) => (Axis::Tx, u),
            None => (it.axis.clone(), 1),
        };
        let slot = place.entry(axis).or_insert(0);
        *slot = slot.wrapping_add(digit.wrapping_mul(s).wrapping_mul(unit));
    }
    Ok(())
}

//! Canonical form: no unit iters, no zero offsets, thread axes brought to one axis, neighbours that form a chain fused.
//!
//! Iters are never reordered, so the map from flat index to place stays the same (with thread coordinates read as
//! flattened thread numbers). Replica iters are kept as they are, apart from the renaming of thread axes.

use indexmap::IndexMap;

use crate::dim::Dim;
use crate::layout::{Axis, Iter, Layout, LayoutError, TileLayout};

/// Levels of the thread hierarchy, narrowest first; a thread axis goes from a level to a wider one.
const LEVELS: [&str; 4] = ["thread", "warp", "warpgroup", "cta"];

impl Axis {
    /// `(subscope, scope)` of a thread axis as numbers of `LEVELS`: a coordinate counts subscopes in a scope.
    fn levels(&self) -> Option<(usize, usize)> {
        Some(match self {
            Axis::LaneId => (0, 1),
            Axis::TidInWg => (0, 2),
            Axis::Tx => (0, 3),
            Axis::WidInWg => (1, 2),
            Axis::WarpId => (1, 3),
            Axis::WgId => (2, 3),
            _ => return None,
        })
    }
}

/// The scope that the thread axes of a layout span together: `subscope`s within one `scope`, each one of
/// `thread`, `warp`, `warpgroup`, `cta`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadScope {
    /// What is counted.
    pub subscope: &'static str,
    /// Within what.
    pub scope: &'static str,
}

impl TileLayout {
    /// The scope of the thread axes of shard, replica and offset together; `None` if no shard iter lies on one. Errors if two axes overlap (`tx` with `laneid`) or if a
    /// level between them is missing (`wgid` with `laneid`).
    pub fn thread_scope(&self) -> Result<Option<ThreadScope>, LayoutError> {
        if !self.shard.iter().any(|it| it.axis.is_thread()) {
            return Ok(None);
        }
        let axes = self.thread_axes();
        let mut up: [Option<(usize, &Axis)>; 4] = [None; 4];
        for axis in &axes {
            let Some((sub, scope)) = axis.levels() else { continue };
            match up[sub] {
                Some((s, other)) if s != scope => return Err(LayoutError::ScopeConflict(other.clone(), axis.clone())),
                _ => up[sub] = Some((scope, axis)),
            }
        }
        let Some(first) = up.iter().position(Option::is_some) else { return Ok(None) };
        let (mut at, mut used) = (first, 0);
        while let Some((scope, _)) = up.get(at).copied().flatten() {
            at = scope;
            used += 1;
        }
        if used != up.iter().flatten().count() {
            let next = up.iter().enumerate().skip(at).find(|(_, u)| u.is_some()).map_or(3, |(i, _)| i);
            return match up.iter().enumerate().find(|(i, u)| u.is_some() && *i > first && *i < at) {
                Some((_, Some((_, axis)))) => Err(LayoutError::ScopeConflict(axes[0].clone(), (*axis).clone())),
                _ => Err(LayoutError::ScopeGap(LEVELS[at], LEVELS[next])),
            };
        }
        Ok(Some(ThreadScope { subscope: LEVELS[first], scope: LEVELS[at] }))
    }

    /// Canonical form. With `warp` lanes given, the thread axes of the layout become one axis (`laneid` and `wid_in_wg`
    /// together become `tid_in_wg`, and so on up to `tx`); without, they stay. Errors as `thread_scope` does.
    pub fn canonicalize(&self, warp: Option<u32>) -> Result<TileLayout, LayoutError> {
        let mut out = self.clone();
        out.shard.retain(|it| !it.extent.is(1));
        if out.shard.is_empty()
            && let Some(first) = self.shard.first()
        {
            out.shard.push(Iter::new(1, 1, first.axis.clone()));
        }
        out.offset.retain(|_, d| !d.is(0));
        let scope = out.thread_scope()?;
        if let (Some(warp), Some(scope)) = (warp, scope) {
            out.join_thread_axes(scope, i64::from(warp));
        }
        out.fuse();
        Ok(out)
    }

    /// Renames the thread axes to the axis of the joint scope and scales their strides and offsets.
    fn join_thread_axes(&mut self, scope: ThreadScope, warp: i64) {
        let (target, unit) = match (scope.subscope, scope.scope) {
            ("thread", "warpgroup") => (Axis::TidInWg, 1),
            ("thread", "cta") => (Axis::Tx, 1),
            ("warp", "cta") => (Axis::WarpId, warp),
            _ => return,
        };
        let factor = |axis: &Axis| axis.thread_stride(u32::try_from(warp).unwrap_or(1)).map(|s| Dim::Const(s / unit));
        for it in self.shard.iter_mut().chain(&mut self.replica) {
            if let Some(f) = factor(&it.axis) {
                if !it.extent.is(1) {
                    it.stride = it.stride.mul(&f); // a unit iter steps nowhere; it keeps its stride of 1
                }
                it.axis = target.clone();
            }
        }
        let mut offset: IndexMap<Axis, Dim> = IndexMap::new();
        for (axis, d) in &self.offset {
            let (axis, d) = match factor(axis) {
                Some(f) => (target.clone(), d.mul(&f)),
                None => (axis.clone(), d.clone()),
            };
            let slot = offset.entry(axis).or_insert(Dim::ZERO);
            *slot = slot.add(&d);
        }
        self.offset = offset;
    }

    /// Fuses neighbouring shard iters that form one chain on one axis.
    pub(super) fn fuse(&mut self) {
        let mut fused: Vec<Iter> = Vec::with_capacity(self.shard.len());
        for it in self.shard.drain(..) {
            match fused.last_mut() {
                Some(last) if last.axis == it.axis && last.stride == it.extent.mul(&it.stride) => {
                    last.extent = last.extent.mul(&it.extent);
                    last.stride = it.stride;
                }
                _ => fused.push(it),
            }
        }
        self.shard = fused;
    }

    /// Does the layout map each flat index to itself: canonical form `S[n:1]`, no replica, no offset?
    pub fn is_trivial(&self) -> Result<bool, LayoutError> {
        let c = self.canonicalize(None)?;
        let plain = c.replica.is_empty() && c.offset.is_empty();
        Ok(plain
            && match c.shard.as_slice() {
                [] => true,
                [it] => it.extent.is(1) || (it.stride.is(1) && !it.axis.is_thread()),
                _ => false,
            })
    }
}

impl Layout {
    /// Canonical form; see [`TileLayout::canonicalize`]. The swizzle is kept.
    pub fn canonicalize(&self, warp: Option<u32>) -> Result<Layout, LayoutError> {
        Ok(Layout { tile: self.tile.canonicalize(warp)?, swizzle: self.swizzle })
    }

    /// Trivial tile and no swizzle?
    pub fn is_trivial(&self) -> Result<bool, LayoutError> {
        Ok(self.swizzle.is_none() && self.tile.is_trivial()?)
    }

    /// A swizzle over nothing, or over the identity?
    pub fn is_swizzle(&self) -> bool {
        self.swizzle.is_some() && self.tile.is_trivial() == Ok(true)
    }

    /// A swizzle over nothing (or over the identity) is a swizzle over the row-major layout of whatever shape it is used
    /// with; every other layout stays.
    pub fn over(&self, shape: &[Dim]) -> Layout {
        match self.swizzle {
            Some(_) if self.is_swizzle() => Layout { tile: TileLayout::row_major(shape), swizzle: self.swizzle },
            _ => self.clone(),
        }
    }
}

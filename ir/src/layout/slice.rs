//! Slicing: the layout of a box of a buffer.
//!
//! The result maps the box's own indices, counted from its first element, to the places the elements have in the whole
//! buffer. Begins may be symbolic: their digits become offsets. Extents of the region must be such that every digit range
//! is a box; otherwise the answer is an error, never a wrong layout.

use crate::dim::Dim;
use crate::facts::{Facts, gcd};
use crate::layout::apply::split_digits;
use crate::layout::{Iter, Layout, LayoutError, TileLayout};

/// One dimension of a region, as `begin` and `extent`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// First index.
    pub begin: Dim,
    /// Number of indices.
    pub extent: Dim,
}

impl Interval {
    /// An interval from plain numbers or dims.
    pub fn new(begin: impl Into<Dim>, extent: impl Into<Dim>) -> Interval {
        Interval { begin: begin.into(), extent: extent.into() }
    }

    /// Whole dimensions of `shape`.
    pub fn whole(shape: &[Dim]) -> Vec<Interval> {
        shape.iter().map(|n| Interval { begin: Dim::ZERO, extent: n.clone() }).collect()
    }

    /// One past the last index.
    pub fn end(&self) -> Dim {
        self.begin.add(&self.extent)
    }
}

impl TileLayout {
    /// The layout of `region` of a buffer of `shape`. The layout is canonicalized first (thread axes joined if `warp` is
    /// given). Each dimension of the region keeps at least one iter, in order; the begin goes into the offset.
    ///
    /// Errors: thread axes that do not fit, a layout that cannot be grouped by `shape`, a region that is known to leave
    /// the shape (`facts` decide for symbolic ones), a range that is no box of digits.
    pub fn slice(
        &self,
        shape: &[Dim],
        region: &[Interval],
        warp: Option<u32>,
        facts: &Facts,
    ) -> Result<TileLayout, LayoutError> {
        if region.len() != shape.len() {
            return Err(LayoutError::RankMismatch { got: region.len(), want: shape.len() });
        }
        let grouped = self.canonicalize(warp)?.group(shape)?;
        let mut out = TileLayout { shard: Vec::new(), ..grouped.layout.clone() };
        for (k, (span, extent)) in region.iter().zip(shape).enumerate() {
            check_bounds(k, span, extent, facts)?;
            let iters = grouped.group(k);
            let digits = split_digits(iters, &span.begin, facts);
            for (it, digit) in iters.iter().zip(&digits) {
                let slot = out.offset.entry(it.axis.clone()).or_insert(Dim::ZERO);
                *slot = slot.add(&digit.mul(&it.stride));
            }
            let no_box = || LayoutError::NoBox { dim: k, begin: span.begin.clone(), end: span.end() };
            match iters.first() {
                // A dimension of extent 1 has nothing to step over: its stride is 1 by convention.
                Some(first) if extent.is(1) => out.shard.push(Iter::new(1, 1, first.axis.clone())),
                _ => out.shard.extend(box_of(iters, &digits, span, facts).ok_or_else(no_box)?),
            }
        }
        Ok(out)
    }
}

impl Layout {
    /// As [`TileLayout::slice`]; the swizzle is kept and the offset stays inside its argument, so the slice is exact. A
    /// swizzle without a tile is over the row-major layout of `shape`.
    pub fn slice(
        &self,
        shape: &[Dim],
        region: &[Interval],
        warp: Option<u32>,
        facts: &Facts,
    ) -> Result<Layout, LayoutError> {
        let layout = self.over(shape);
        Ok(Layout { tile: layout.tile.slice(shape, region, warp, facts)?, swizzle: layout.swizzle })
    }
}

fn check_bounds(dim: usize, span: &Interval, extent: &Dim, facts: &Facts) -> Result<(), LayoutError> {
    let negative = |d: &Dim| facts.range(d).1.is_some_and(|hi| hi < 0);
    let bad = negative(&span.begin) || negative(&span.extent) || negative(&extent.sub(&span.end()));
    if bad {
        let (begin, end, extent) = (span.begin.clone(), span.end(), extent.clone());
        return Err(LayoutError::OutOfBounds { dim, begin, end, extent });
    }
    Ok(())
}

/// The iters that run over the box, outermost first; `None` if it is none.
fn box_of(iters: &[Iter], digits: &[Dim], span: &Interval, facts: &Facts) -> Option<Vec<Iter>> {
    let mut rest = span.extent.clone();
    let mut out = Vec::new(); // innermost first
    let mut inner = Dim::ONE;
    for (k, it) in iters.iter().enumerate().rev() {
        if k == 0 {
            // The outermost digit is not reduced: what the bounds allow is a box.
            out.push(Iter { extent: rest, stride: it.stride.clone(), axis: it.axis.clone() });
            out.reverse();
            return Some(out);
        }
        // Whole turns of this digit: go on outside.
        if digits[k].is(0)
            && let Some(turns) = rest.div_exact(&it.extent)
        {
            out.push(it.clone());
            inner = inner.mul(&it.extent);
            rest = turns;
            continue;
        }
        if fits(it, &digits[k], &inner, &rest, span, facts) {
            out.push(Iter { extent: rest, stride: it.stride.clone(), axis: it.axis.clone() });
            out.reverse();
            return Some(out);
        }
        let (wrapped, digit) = wrap(it, &digits[k], iters.get(k.checked_sub(1)?)?, digits.get(k - 1)?, &rest, k == 1)?;
        out.push(digit);
        out.push(wrapped);
        out.reverse();
        return Some(out);
    }
    // No iters: the dimension has extent 1 and the layout none for it.
    span.extent.is(1).then_some(out)
}

/// Does `digit + rest <= extent` hold wherever the region may begin?
fn fits(it: &Iter, digit: &Dim, inner: &Dim, rest: &Dim, span: &Interval, facts: &Facts) -> bool {
    if facts.is_le(&digit.add(rest), &it.extent) {
        return true;
    }
    // A begin that is a multiple of `step` digits meets windows of `step` digits only.
    let (Some(inner), Some(extent), Some(rest)) = (inner.as_const(), it.extent.as_const(), rest.as_const()) else {
        return false;
    };
    let multiple = facts.multiple_of(&span.begin);
    if inner <= 0 || multiple % inner != 0 {
        return false;
    }
    rest <= gcd(multiple / inner, extent)
}

/// A range that runs half in the last and half in the first part of a digit, over one step of the next digit outside:
/// two halves. `outermost`: the digit outside is the last one, so bounds already keep it from running over.
fn wrap(it: &Iter, digit: &Dim, up: &Iter, up_digit: &Dim, rest: &Dim, outermost: bool) -> Option<(Iter, Iter)> {
    let (d, e, n) = (digit.as_const()?, it.extent.as_const()?, rest.as_const()?);
    let half = n / 2;
    if n % 2 != 0 || half == 0 || d + half != e || it.axis != up.axis {
        return None;
    }
    let steps_inside = outermost || up_digit.as_const()? + 1 < up.extent.as_const()?;
    if !steps_inside || half > e {
        return None;
    }
    let back = it.stride.mul(&Dim::Const(e - half));
    let outer = Iter { extent: Dim::Const(2), stride: up.stride.sub(&back), axis: it.axis.clone() };
    Some((outer, Iter { extent: Dim::Const(half), stride: it.stride.clone(), axis: it.axis.clone() }))
}

//! Elements and regions of buffers. Rules:
//! - the name is a buffer;
//! - there is one index a dimension, each an integer; a region without brackets is the whole buffer;
//! - an index or bound that is known lies inside the buffer, also where `where` parameters cancel; ranges are not empty;
//! - only windows have an owner (`@rank`), an `lsa_rank`.

use std::sync::Arc;

use super::Checker;
use crate::diag::{Code, Diagnostic};
use crate::dim::Dim;
use crate::env::Entity;
use crate::expr::Expr;
use crate::module::BufferTy;
use crate::name::Name;
use crate::space::Space;
use crate::span::Span;
use crate::stmt::{Index, Place, PlaceIndex, Region};
use crate::types::{expect_integral, expect_lsa_rank};

/// A region that was looked at.
pub(super) struct RegionInfo {
    /// Its buffer.
    pub(super) ty: Arc<BufferTy>,
    /// Extent in each dimension; `None` where a bound has no type.
    pub(super) extents: Option<Vec<Dim>>,
}

impl RegionInfo {
    /// Extents that are not 1, in order.
    pub(super) fn long_extents(&self) -> Option<Vec<Dim>> {
        Some(self.extents.as_ref()?.iter().filter(|d| !d.is(1)).cloned().collect())
    }
}

impl Checker<'_> {
    /// The buffer with this name; anything else is reported.
    fn buffer_named(&mut self, name: &Name, span: Span) -> Option<Arc<BufferTy>> {
        match self.entity(name, span)? {
            Entity::Buffer(ty) => Some(ty),
            other => {
                let message = format!("`{name}` is {}, not a buffer", other.describe());
                self.report(Diagnostic::error(Code::WRONG_KIND, span, message));
                None
            }
        }
    }

    fn owner(&mut self, name: &Name, ty: &BufferTy, rank: &Option<Expr>) {
        let Some(rank) = rank else { return };
        if ty.space != Space::Window {
            let message = format!("`{name}` is in {} memory and has no copies on other ranks", ty.space);
            self.report(
                Diagnostic::error(Code::SPACE_NOT_ALLOWED, rank.span, message)
                    .help(format!("make it a window: `{name}: window<{}>[…]`", ty.dtype)),
            );
        }
        self.check(rank, expect_lsa_rank);
    }

    /// Checks an element; gives its buffer's type if the name is a buffer.
    pub(super) fn place(&mut self, place: &Place) -> Option<Arc<BufferTy>> {
        let ty = self.buffer_named(&place.buf, place.span)?;
        self.owner(&place.buf, &ty, &place.rank);
        match &place.index {
            PlaceIndex::Flat(e) => {
                self.check(e, expect_integral);
                self.flat_bounds(place, &ty, e);
            }
            PlaceIndex::Logical(list) => {
                if self.index_count(&place.buf, &ty, list.len(), place.span) {
                    for (e, extent) in list.iter().zip(&ty.shape) {
                        self.check(e, expect_integral);
                        let at = self.value(e);
                        self.bounds(&place.buf, extent, at.as_ref(), None, e.span);
                    }
                }
            }
        }
        Some(ty)
    }

    /// A constant flat index lies inside the storage, where its size is known.
    fn flat_bounds(&mut self, place: &Place, ty: &BufferTy, e: &Expr) {
        let Some(at) = self.value(e).and_then(|d| d.as_const()) else { return };
        let size = ty.layout().storage_elems(&ty.shape).ok().and_then(|n| n.as_const());
        if at < 0 || size.is_some_and(|n| at >= n) {
            let message = match size {
                Some(n) => format!("flat index {at} is outside the {n} elements of `{}`", place.buf),
                None => format!("flat index {at} of `{}` is negative", place.buf),
            };
            self.report(Diagnostic::error(Code::OUT_OF_BOUNDS, e.span, message));
        }
    }

    /// Checks a region; gives what is known of it if the name is a buffer.
    pub(super) fn region(&mut self, region: &Region) -> Option<RegionInfo> {
        let ty = self.buffer_named(&region.buf, region.span)?;
        self.owner(&region.buf, &ty, &region.rank);
        let Some(index) = &region.index else {
            let extents = Some(ty.shape.clone());
            return Some(RegionInfo { ty, extents });
        };
        let mut extents = Some(Vec::new());
        if !self.index_count(&region.buf, &ty, index.len(), region.span) {
            return Some(RegionInfo { ty, extents: None });
        }
        for (i, extent) in index.iter().zip(&ty.shape) {
            let found = self.index(&region.buf, i, extent, region.span);
            extents = match (extents, found) {
                (Some(mut list), Some(d)) => {
                    list.push(d);
                    Some(list)
                }
                _ => None,
            };
        }
        Some(RegionInfo { ty, extents })
    }

    /// One dimension; its extent in the region.
    fn index(&mut self, buf: &Name, index: &Index, extent: &Dim, span: Span) -> Option<Dim> {
        match index {
            Index::At(e) => {
                self.check(e, expect_integral)?;
                let at = self.value(e);
                self.bounds(buf, extent, at.as_ref(), None, e.span);
                Some(Dim::ONE)
            }
            Index::Range(lo, hi) => {
                let mut known = true;
                for e in [lo, hi].into_iter().flatten() {
                    known &= self.check(e, expect_integral).is_some();
                }
                if !known {
                    return None;
                }
                let value = |e: &Option<Expr>, default: Dim| match e {
                    Some(e) => self.value(e),
                    None => Some(default),
                };
                let (first, end) = (value(lo, Dim::ZERO)?, value(hi, extent.clone())?);
                let at = [lo, hi].into_iter().flatten().fold(Span::NONE, |s, e| s.to(e.span));
                let at = if at.is_none() { span } else { at };
                self.bounds(buf, extent, Some(&first), Some(&end), at);
                Some(end.sub(&first))
            }
        }
    }

    fn index_count(&mut self, buf: &Name, ty: &BufferTy, got: usize, span: Span) -> bool {
        if got == ty.shape.len() {
            return true;
        }
        let (want, s) = (ty.shape.len(), if ty.shape.len() == 1 { "" } else { "s" });
        let message = format!("{got} indices for `{buf}`, which has {want} dimension{s}");
        let d = Diagnostic::error(Code::INDEX_COUNT, span, message);
        let d = match ty.space {
            Space::Window if got == want + 1 => d.help(format!("the rank is not an index: write `{buf}@rank[…]`")),
            _ if got < want => d.help("write `..` for a whole dimension"),
            _ => d,
        };
        self.report(d);
        false
    }

    /// The value of an index over parameters, loop variables and ids.
    pub(super) fn value(&self, e: &Expr) -> Option<Dim> {
        if self.is_poisoned(e) {
            return None;
        }
        self.env.resolve(e).map(|r| Dim::from_expr(&r))
    }

    /// Reports an index `first` (or a range `first..end`) that is known to be outside `0..extent`, or empty.
    fn bounds(&mut self, buf: &Name, extent: &Dim, first: Option<&Dim>, end: Option<&Dim>, span: Span) {
        let Some(first) = first else { return };
        let negative = first.as_const().is_some_and(|v| v < 0);
        let beyond = match end {
            Some(end) => end.sub(extent).as_const().is_some_and(|v| v > 0),
            None => first.sub(extent).as_const().is_some_and(|v| v >= 0),
        };
        let empty = end.is_some_and(|end| end.sub(first).as_const().is_some_and(|v| v <= 0));
        let what = match end {
            Some(end) => format!("range {first}..{end}"),
            None => format!("index {first}"),
        };
        if negative || beyond {
            let message = format!("{what} is outside 0..{extent} of `{buf}`");
            self.report(Diagnostic::error(Code::OUT_OF_BOUNDS, span, message));
        } else if empty {
            let message = format!("{what} of `{buf}` is empty");
            self.report(
                Diagnostic::error(Code::OUT_OF_BOUNDS, span, message).help("a region has at least one element"),
            );
        }
    }
}

//! Tile ops. Rules:
//! - destinations and sources are regions of buffers that exist; extents that are not 1 are equal, in order;
//! - `copy` and `copy_async` do not convert: dtypes are equal, for one element as for a tile; `cast` converts;
//! - elementwise ops work on one dtype, no bool; the value of `fill` has the dtype of the destination;
//! - only copies reach other ranks; one end of a copy is on this rank;
//! - several destinations are for copies into windows and global memory;
//! - `copy_async` makes a token, nothing else does;
//! - `notify` names a signal and needs a window destination, one of them with `@rank`;
//! - `vec` is 8 to 128 bits and a power of two, `after` compares a 32- or 64-bit integer in device memory of this rank;
//!   attributes are for copies;
//! - ranks and bounds have one value in the group that executes the op.

use super::Checker;
use super::regions::RegionInfo;
use crate::diag::{Code, Diagnostic};
use crate::dim::Dim;
use crate::dtype::DType;
use crate::env::Entity;
use crate::space::Space;
use crate::span::Span;
use crate::stmt::{After, CopyAttrs, Index, Place, Region, Source, TileKind, TileOp};
use crate::types::expect_value;

/// Widths of an access in bits.
const VEC_BITS: [u32; 5] = [8, 16, 32, 64, 128];

impl Checker<'_> {
    pub(super) fn tile(&mut self, op: &TileOp, span: Span) {
        let name = op.kind.as_str();
        self.understood(&format!("`{name}`"), op.scope, span);
        let dsts: Vec<Option<RegionInfo>> = op.dsts.iter().map(|r| self.operand(r, op)).collect();
        let mut srcs: Vec<(&Region, Option<RegionInfo>)> = Vec::new();
        for source in &op.srcs {
            match source {
                Source::Region(r) => srcs.push((r, self.operand(r, op))),
                Source::Value(e) => match dsts.first() {
                    Some(Some(dst)) => {
                        let dtype = dst.ty.dtype;
                        self.check(e, |e, env| expect_value(e, dtype, env));
                        self.one_value(e, "value", op.scope);
                    }
                    _ => {
                        self.ty(e);
                    }
                },
            }
        }
        self.counts_of_operands(op, span);
        for (dst_region, dst) in op.dsts.iter().zip(&dsts) {
            for (src_region, src) in &srcs {
                if let (Some(d), Some(s)) = (dst, src) {
                    self.extents(op.kind, (dst_region, d), (src_region, s), span);
                    self.dtypes(op.kind, (dst_region, d), (src_region, s), span);
                }
            }
        }
        self.spaces(op, &dsts, &srcs, span);
        self.token(op, span);
        self.attrs(op, &dsts, span);
    }

    /// A region as an operand: its rank and bounds have one value in the group.
    fn operand(&mut self, region: &Region, op: &TileOp) -> Option<RegionInfo> {
        let info = self.region(region);
        if let Some(rank) = &region.rank {
            self.one_value(rank, "rank", op.scope);
        }
        for index in region.index.iter().flatten() {
            match index {
                Index::At(e) => self.one_value(e, "index", op.scope),
                Index::Range(lo, hi) => {
                    for e in [lo, hi].into_iter().flatten() {
                        self.one_value(e, "bound", op.scope);
                    }
                }
            }
        }
        info
    }

    fn counts_of_operands(&mut self, op: &TileOp, span: Span) {
        let name = op.kind.as_str();
        let is_copy = matches!(op.kind, TileKind::Copy | TileKind::CopyAsync);
        if op.srcs.len() != op.kind.arity() {
            let message = format!("`{name}` takes {} sources, found {}", op.kind.arity(), op.srcs.len());
            self.report(Diagnostic::error(Code::OP_OPERANDS, span, message));
        }
        if op.srcs.iter().any(|s| matches!(s, Source::Value(_)) != (op.kind == TileKind::Fill)) {
            let message = format!("`{name}` takes {}", if op.kind == TileKind::Fill { "a value" } else { "a region" });
            self.report(Diagnostic::error(Code::OP_OPERANDS, span, message));
        }
        if op.dsts.is_empty() || (op.dsts.len() > 1 && !is_copy) {
            let message = format!("`{name}` takes one destination, found {}", op.dsts.len());
            self.report(Diagnostic::error(Code::OP_OPERANDS, span, message));
        }
    }

    fn extents(&mut self, kind: TileKind, dst: (&Region, &RegionInfo), src: (&Region, &RegionInfo), span: Span) {
        let (Some(d), Some(s)) = (dst.1.long_extents(), src.1.long_extents()) else { return };
        if d == s {
            return;
        }
        let show = |list: &[Dim]| {
            let parts: Vec<String> = list.iter().map(Dim::to_string).collect();
            if parts.is_empty() { "one element".to_owned() } else { format!("[{}]", parts.join(", ")) }
        };
        let message =
            format!("`{}` is {} and `{}` is {} in this `{}`", dst.0.buf, show(&d), src.0.buf, show(&s), kind.as_str());
        let help = if d.is_empty() || s.is_empty() {
            "to set every element to one value use `fill`"
        } else {
            "extents other than 1 must be equal, in order; cut both to the same region"
        };
        self.report(Diagnostic::error(Code::EXTENT_MISMATCH, span, message).help(help));
    }

    fn dtypes(&mut self, kind: TileKind, dst: (&Region, &RegionInfo), src: (&Region, &RegionInfo), span: Span) {
        let (to, from) = (dst.1.ty.dtype, src.1.ty.dtype);
        let (d, s) = (&dst.0.buf, &src.0.buf);
        match kind {
            TileKind::Copy | TileKind::CopyAsync if to != from => {
                let message = format!("`{}` from `{s}` of {from} to `{d}` of {to}", kind.as_str());
                self.report(Diagnostic::error(Code::DTYPE_MISMATCH, span, message).help(format!(
                    "a copy moves bits; convert through registers: `cast {d} <- {s}`, or make both {from}"
                )));
            }
            TileKind::Add | TileKind::Sub | TileKind::Mul | TileKind::Min | TileKind::Max => {
                if to != from {
                    let message = format!("`{}` of `{d}` of {to} and `{s}` of {from}", kind.as_str());
                    let d = Diagnostic::error(Code::DTYPE_MISMATCH, span, message);
                    self.report(d.help(format!("convert `{s}` with `cast` first")));
                } else if to == DType::Bool {
                    let message = format!("`{}` of bool", kind.as_str());
                    self.report(Diagnostic::error(Code::TYPE_MISMATCH, span, message));
                }
            }
            _ => {}
        }
    }

    fn spaces(&mut self, op: &TileOp, dsts: &[Option<RegionInfo>], srcs: &[(&Region, Option<RegionInfo>)], span: Span) {
        let name = op.kind.as_str();
        let is_copy = matches!(op.kind, TileKind::Copy | TileKind::CopyAsync);
        let remote = |r: &Region| {
            r.rank.as_ref().is_some_and(|e| self.value(e) != self.value(&crate::Expr::special(crate::Special::Me)))
        };
        let remote_dst = op.dsts.iter().find(|r| remote(r)).map(|r| (r.buf.clone(), r.span));
        let remote_src = srcs.iter().find(|(r, _)| remote(r)).map(|(r, _)| (r.buf.clone(), r.span));
        match (is_copy, remote_dst, remote_src) {
            (false, Some((buf, at)), _) | (false, None, Some((buf, at))) => {
                let message = format!("`{name}` reaches `{buf}` on another rank");
                let d = Diagnostic::error(Code::SPACE_NOT_ALLOWED, at, message);
                self.report(d.help("only copies reach other ranks; copy the tile first"));
            }
            (true, Some((dst, _)), Some((src, at))) => {
                let message = format!("`{name}` from `{src}` on another rank to `{dst}` on another rank");
                let d = Diagnostic::error(Code::SPACE_NOT_ALLOWED, at, message);
                self.report(d.help("one end of a copy is on this rank; let the owner send, or copy through this rank"));
            }
            _ => {}
        }
        if op.dsts.len() > 1 {
            for (r, info) in op.dsts.iter().zip(dsts) {
                let Some(space) = info.as_ref().map(|i| i.ty.space) else { continue };
                if !space.is_device_memory() {
                    let message = format!("`{}` in {space} memory is one of several destinations", r.buf);
                    let d = Diagnostic::error(Code::SPACE_NOT_ALLOWED, span, message);
                    self.report(d.help("several destinations are windows or global buffers; write one copy for each"));
                }
            }
        }
    }

    fn token(&mut self, op: &TileOp, span: Span) {
        match (&op.token, op.kind) {
            (None, TileKind::CopyAsync) => {
                let d = Diagnostic::error(Code::TOKEN_USE, span, "`copy_async` without a token cannot be waited for");
                self.report(d.help("name it: `t = copy_async …; wait t;`"));
            }
            (Some(token), TileKind::CopyAsync) => self.make_token(token, op.scope, span),
            (Some(_), kind) => {
                let message = format!("`{}` makes no token", kind.as_str());
                self.report(Diagnostic::error(Code::TOKEN_USE, span, message).help("use `copy_async`"));
            }
            (None, _) => {}
        }
    }

    fn attrs(&mut self, op: &TileOp, dsts: &[Option<RegionInfo>], span: Span) {
        let attrs = &op.attrs;
        if !matches!(op.kind, TileKind::Copy | TileKind::CopyAsync) {
            if *attrs != CopyAttrs::default() {
                let message = format!("`{}` takes no attributes", op.kind.as_str());
                self.report(Diagnostic::error(Code::BAD_ATTR, span, message).help("attributes are for copies"));
            }
            return;
        }
        if let Some(bits) = attrs.vec
            && !VEC_BITS.contains(&bits)
        {
            let message = format!("`vec = {bits}` is no width of an access");
            self.report(Diagnostic::error(Code::BAD_ATTR, span, message).help("widths are 8, 16, 32, 64, 128 bits"));
        }
        match &attrs.after {
            None => {}
            Some(After::Flag(place, value)) => self.after(place, value),
            Some(After::Signal { signal, from, expected }) => {
                self.wait_signal(signal, from, op.scope, expected.as_ref(), span);
            }
        }
        if let Some(signal) = &attrs.notify {
            match self.entity(signal, span) {
                Some(Entity::Signal { .. }) | None => {}
                Some(other) => {
                    let message = format!("`{signal}` is {}, not a signal", other.describe());
                    self.report(Diagnostic::error(Code::WRONG_KIND, span, message));
                }
            }
            self.notify(op, dsts, span);
        }
    }

    fn notify(&mut self, op: &TileOp, dsts: &[Option<RegionInfo>], span: Span) {
        if dsts.iter().any(Option::is_none) {
            return;
        }
        let is_window = |info: &Option<RegionInfo>| info.as_ref().is_some_and(|i| i.ty.space == Space::Window);
        if !op.dsts.iter().zip(dsts).any(|(r, i)| is_window(i) && r.rank.is_some()) {
            let d = Diagnostic::error(Code::SIGNAL_USE, span, "`notify` on a copy that goes to no rank");
            self.report(d.help("the destination's owner is notified: write it as `window@rank`, `@me` for this rank"));
        }
    }

    fn after(&mut self, place: &Place, value: &crate::Expr) {
        let Some(ty) = self.place(place) else {
            self.ty(value);
            return;
        };
        if !ty.space.is_device_memory() || place.rank.is_some() {
            let message = match &place.rank {
                Some(_) => format!("`after` waits for `{}` on another rank", place.buf),
                None => format!("`after` waits for `{}` in {} memory", place.buf, ty.space),
            };
            let d = Diagnostic::error(Code::BAD_ATTR, place.span, message);
            self.report(d.help("the flag lies in global memory or in this rank's window"));
        } else if !ty.dtype.is_int() || ty.dtype.bits() < 32 {
            let message = format!("`after` compares `{}` of {}", place.buf, ty.dtype);
            let d = Diagnostic::error(Code::BAD_ATTR, place.span, message);
            self.report(d.help("a flag is a 32- or 64-bit integer"));
        }
        self.check(value, |e, env| expect_value(e, ty.dtype, env));
    }
}

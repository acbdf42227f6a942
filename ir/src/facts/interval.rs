//! Arithmetic of intervals of integers; `None` is an infinite end.

use super::Range;
use crate::expr::BinOp;

pub(super) fn intersect(a: Range, b: Range) -> Range {
    let lo = a.0.into_iter().chain(b.0).max();
    let hi = a.1.into_iter().chain(b.1).min();
    (lo, hi)
}

pub(super) fn union(a: Range, b: Range) -> Range {
    (a.0.zip(b.0).map(|(x, y)| x.min(y)), a.1.zip(b.1).map(|(x, y)| x.max(y)))
}

pub(super) type Wide = (Option<i128>, Option<i128>);

/// Product of two intervals, unbounded ends included.
pub(super) fn mul_range(a: Wide, b: Wide) -> Wide {
    // A bound at infinity times zero is zero; so the four corner products decide, each as None where infinite.
    let corner = |x: Option<i128>, y: Option<i128>, xs: i32, ys: i32| -> Result<i128, i32> {
        let sign = |v: Option<i128>, inf: i32| v.map_or(inf, |v| v.signum() as i32);
        match (x, y) {
            (Some(p), Some(q)) => p.checked_mul(q).ok_or((p.signum() * q.signum()) as i32),
            _ => match sign(x, xs) * sign(y, ys) {
                0 => Ok(0),
                s => Err(s),
            },
        }
    };
    let corners = [corner(a.0, b.0, -1, -1), corner(a.0, b.1, -1, 1), corner(a.1, b.0, 1, -1), corner(a.1, b.1, 1, 1)];
    let lo = if corners.contains(&Err(-1)) { None } else { corners.iter().filter_map(|c| c.ok()).min() };
    let hi = if corners.contains(&Err(1)) { None } else { corners.iter().filter_map(|c| c.ok()).max() };
    (lo, hi)
}

pub(super) fn binary_range(op: BinOp, a: Range, b: Range) -> Range {
    let both = |r: Range| r.0.zip(r.1);
    let nonneg = |r: Range| r.0.is_some_and(|v| v >= 0);
    match op {
        BinOp::Min => (a.0.zip(b.0).map(|(x, y)| x.min(y)), a.1.into_iter().chain(b.1).min()),
        BinOp::Max => (a.0.into_iter().chain(b.0).max(), a.1.zip(b.1).map(|(x, y)| x.max(y))),
        BinOp::Div => match b.0 {
            Some(d) if d >= 1 => {
                // Towards zero: the largest magnitude is at the smallest divisor, the smallest at the largest.
                let far = b.1;
                let lo = a.0.map(|v| if v < 0 { v / d } else { far.map_or(0, |f| v / f) });
                let hi = a.1.map(|v| if v > 0 { v / d } else { far.map_or(0, |f| v / f) });
                (lo, hi)
            }
            _ if nonneg(a) && nonneg(b) => (Some(0), a.1),
            _ => (None, None),
        },
        BinOp::Rem => match both(b) {
            Some((l, h)) if l > i64::MIN => {
                let m = l.abs().max(h.abs()).max(1) - 1;
                let lo = if nonneg(a) { 0 } else { -m };
                (Some(lo), Some(a.1.map_or(m, |v| v.max(0).min(m))))
            }
            _ if nonneg(a) => (Some(0), a.1),
            _ => (None, None),
        },
        BinOp::And if nonneg(a) && nonneg(b) => (Some(0), a.1.into_iter().chain(b.1).min()),
        BinOp::And if nonneg(a) => (Some(0), a.1),
        BinOp::And if nonneg(b) => (Some(0), b.1),
        BinOp::Or | BinOp::Xor if nonneg(a) && nonneg(b) => {
            let hi = a.1.zip(b.1).map(|(x, y)| low_ones(x.max(y)));
            (Some(0), hi)
        }
        BinOp::Shl => match both(b) {
            Some((l, h)) if l >= 0 && h < 63 && nonneg(a) => {
                (a.0.and_then(|v| v.checked_mul(1 << l)), a.1.and_then(|v| v.checked_mul(1 << h)))
            }
            _ => (None, None),
        },
        BinOp::Shr => match both(b) {
            Some((l, h)) if l >= 0 && h < 64 && nonneg(a) => (a.0.map(|v| v >> h), a.1.map(|v| v >> l)),
            _ => (None, None),
        },
        op if op.is_comparison() || matches!(op, BinOp::LAnd | BinOp::LOr) => (Some(0), Some(1)),
        _ => (None, None),
    }
}

/// Smallest `2^k - 1` that is at least `v`, for `v >= 0`.
fn low_ones(v: i64) -> i64 {
    if v <= 0 { 0 } else { (u64::MAX >> v.leading_zeros()) as i64 }
}

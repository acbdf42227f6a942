//! Which threads hold which elements of a local operand.
//!
//! The layout's iters on a thread axis are read backwards: a thread's coordinate on the axis gives the digits. Threads
//! whose coordinate no element has are kept out by conditions. Everything is then checked by evaluating the very
//! expressions for every thread of the CTA that runs the copy.

use std::collections::BTreeSet;

use tilewright_ir::threads::ActiveSet;
use tilewright_ir::{Axis, BinOp, Dim, Expr, Iter, Scope, Special, TileLayout};

use crate::select::variant::Reject;

/// The coordinate of a thread on a thread axis, for warps of `warp` lanes; `None` for other axes.
pub fn coordinate(axis: &Axis, warp: u32) -> Option<Expr> {
    let id = Expr::special;
    Some(match axis {
        Axis::LaneId => id(Special::Lane),
        Axis::WarpId => id(Special::Warp),
        Axis::WidInWg => id(Special::Warp).rem_by(4),
        Axis::WgId => id(Special::Warp).div_by(4),
        Axis::TidInWg => id(Special::ThreadLinear).rem_by(4 * i64::from(warp)),
        Axis::Tx => id(Special::ThreadLinear),
        Axis::M | Axis::Lsa | Axis::Other(_) => return None,
    })
}

/// The value of [`coordinate`] for flattened thread `t`.
pub(super) fn coordinate_of(axis: &Axis, t: u32, warp: u32) -> Option<i64> {
    let (t, warp) = (i64::from(t), i64::from(warp.max(1)));
    Some(match axis {
        Axis::LaneId => t % warp,
        Axis::WarpId => t / warp,
        Axis::WidInWg => t / warp % 4,
        Axis::WgId => t / warp / 4,
        Axis::TidInWg => t % (4 * warp),
        Axis::Tx => t,
        Axis::M | Axis::Lsa | Axis::Other(_) => return None,
    })
}

/// The thread's side of a local operand.
#[derive(Clone, Debug)]
pub(super) struct Owners {
    /// For each thread iter that was asked about: the value of its digit.
    pub digits: Vec<Expr>,
    /// A thread that does not meet all of these holds nothing.
    pub guards: Vec<Expr>,
    /// Met by one owner of each element: replicas and implicit copies in other threads are left out.
    pub single: Vec<Expr>,
}

/// What is on one axis.
struct Item {
    extent: i64,
    stride: i64,
    /// Position among the thread iters, or `None` for a replica.
    digit: Option<usize>,
}

fn reject(operand: &str, why: String) -> Reject {
    Reject::Layout { operand: operand.to_owned(), why }
}

/// Reads the thread iters (`iters`, in the caller's order) and replicas and offsets of `tile` backwards.
///
/// # Errors
/// Thread iters that are symbolic, run backwards, or overlap.
pub(super) fn locate(
    operand: &str,
    tile: &TileLayout,
    iters: &[Iter],
    active: &ActiveSet,
    scope: Scope,
) -> Result<Owners, Reject> {
    let mut owners = Owners { digits: vec![Expr::int(0); iters.len()], guards: Vec::new(), single: Vec::new() };
    for axis in tile.thread_axes() {
        let offset = tile.offset_on(&axis);
        let offset = offset.as_const().ok_or_else(|| {
            reject(operand, format!("begins at {offset} on thread axis {axis}, which is not a constant"))
        })?;
        let items = items_on(operand, tile, iters, &axis)?;
        let Some(coord) = coordinate(&axis, active.warp()) else { continue };
        let c = coord.clone().add(Expr::int(-offset));
        if offset > 0 {
            owners.guards.push(Expr::binary(BinOp::Ge, coord, Expr::int(offset)));
        }
        invert(&mut owners, &items, &c);
    }
    owners.single.extend(free_levels(tile, active, scope));
    Ok(owners)
}

/// Iters and replicas on the axis by ascending stride, checked to be digits of one number.
fn items_on(operand: &str, tile: &TileLayout, iters: &[Iter], axis: &Axis) -> Result<Vec<Item>, Reject> {
    let shard = iters.iter().enumerate().map(|(k, it)| (it, Some(k)));
    let all = shard.chain(tile.replica.iter().map(|it| (it, None))).filter(|(it, _)| it.axis == *axis);
    let mut items = Vec::new();
    for (it, digit) in all {
        let (Some(extent), Some(stride)) = (it.extent.as_const(), it.stride.as_const()) else {
            return Err(reject(
                operand,
                format!("has {}:{} on thread axis {axis}, which is not constant", it.extent, it.stride),
            ));
        };
        if extent != 1 {
            items.push(Item { extent, stride, digit });
        }
    }
    items.sort_by_key(|i| i.stride);
    if let Some(bad) = items.iter().find(|i| i.stride < 1) {
        return Err(reject(operand, format!("has stride {} on thread axis {axis}, needs at least 1", bad.stride)));
    }
    for pair in items.windows(2) {
        let reach = pair[0].stride.saturating_mul(pair[0].extent);
        if pair[1].stride % reach != 0 {
            let (a, b) = (&pair[0], &pair[1]);
            let why = format!(
                "has iters {}:{} and {}:{} on thread axis {axis}, which overlap: {} is not a multiple of {reach}",
                b.extent, b.stride, a.extent, a.stride, b.stride
            );
            return Err(reject(operand, why));
        }
    }
    Ok(items)
}

/// Digits of the coordinate `c`, and the conditions under which it is one that the items reach.
fn invert(owners: &mut Owners, items: &[Item], c: &Expr) {
    let equal = |e: Expr, v: i64| Expr::binary(BinOp::Eq, e, Expr::int(v));
    let Some(last) = items.last() else {
        owners.guards.push(equal(c.clone(), 0));
        return;
    };
    let mut reach = 1; // what the items below reach
    for item in items {
        if item.stride > reach {
            owners.guards.push(equal(c.clone().div_by(reach).rem_by(item.stride / reach), 0));
        }
        reach = item.stride.saturating_mul(item.extent);
        let value = c.clone().div_by(item.stride).rem_by(item.extent);
        match item.digit {
            Some(k) => owners.digits[k] = value,
            None => owners.single.push(equal(value, 0)),
        }
    }
    owners.guards.push(Expr::binary(BinOp::Lt, c.clone(), Expr::int(last.stride.saturating_mul(last.extent))));
}

/// Conditions that pick one thread among those that differ only in coordinates which the layout does not mention.
fn free_levels(tile: &TileLayout, active: &ActiveSet, scope: Scope) -> Vec<Expr> {
    let axes = tile.thread_axes();
    let has = |list: &[Axis]| axes.iter().any(|a| list.contains(a));
    let lane = has(&[Axis::LaneId, Axis::TidInWg, Axis::Tx]);
    let wid = has(&[Axis::WidInWg, Axis::WarpId, Axis::TidInWg, Axis::Tx]);
    let wg = has(&[Axis::WgId, Axis::WarpId, Axis::Tx]);
    let Some(first) = active.iter().next() else { return Vec::new() };
    let pick = |axis: Axis| {
        let coord = coordinate(&axis, active.warp())?;
        let value = active.eval_at(&coord, first)?;
        Some(Expr::binary(BinOp::Eq, coord, Expr::int(value)))
    };
    let mut picked = Vec::new();
    match scope {
        Scope::Thread => {}
        Scope::Warp => picked.extend((!lane).then(|| pick(Axis::LaneId))),
        Scope::Warpgroup => match (lane, wid) {
            (false, false) => picked.push(pick(Axis::TidInWg)),
            (false, true) => picked.push(pick(Axis::LaneId)),
            (true, false) => picked.push(pick(Axis::WidInWg)),
            (true, true) => {}
        },
        Scope::Cta if !lane && !wid && !wg => picked.push(pick(Axis::Tx)),
        Scope::Cta => {
            picked.extend((!lane).then(|| pick(Axis::LaneId)));
            match (wid, wg) {
                (false, false) => picked.push(pick(Axis::WarpId)),
                (false, true) => picked.push(pick(Axis::WidInWg)),
                (true, false) => picked.push(pick(Axis::WgId)),
                (true, true) => {}
            }
        }
    }
    picked.into_iter().flatten().collect()
}

/// Groups of the scope with an active thread, as lists of their active threads.
pub(super) fn groups(active: &ActiveSet, scope: Scope) -> Vec<Vec<u32>> {
    let size = scope.threads(active.warp(), active.threads()).max(1);
    let mut out: Vec<(u32, Vec<u32>)> = Vec::new();
    for t in active.iter() {
        match out.last_mut() {
            Some((g, list)) if *g == t / size => list.push(t),
            _ => out.push((t / size, vec![t])),
        }
    }
    out.into_iter().map(|(_, list)| list).collect()
}

/// The same groups, with their threads that are not active.
pub(super) fn whole_groups(active: &ActiveSet, scope: Scope) -> Vec<Vec<u32>> {
    let size = scope.threads(active.warp(), active.threads()).max(1);
    let number = groups(active, scope).into_iter().filter_map(|g| g.first().map(|t| t / size));
    number.map(|g| (g * size..((g + 1) * size).min(active.threads())).collect()).collect()
}

/// Does each of the groups have, among its threads that meet `guards`, one for every combination of digits? If not: how
/// many combinations the worst group has, of how many.
pub(super) fn covers(
    digits: &[(Expr, i64)],
    guards: &[Expr],
    active: &ActiveSet,
    groups: Vec<Vec<u32>>,
) -> Result<(), (usize, i64)> {
    let wanted = digits.iter().fold(1i64, |p, (_, e)| p.saturating_mul(*e));
    for group in groups {
        let meets = |t: &u32| guards.iter().all(|g| active.eval_at(g, *t) == Some(1));
        let mut seen = BTreeSet::new();
        for t in group.into_iter().filter(meets) {
            let point: Option<Vec<i64>> = digits.iter().map(|(e, _)| active.eval_at(e, t)).collect();
            seen.extend(point.filter(|p| p.iter().zip(digits).all(|(v, (_, e))| (0..*e).contains(v))));
        }
        if i64::try_from(seen.len()) != Ok(wanted) {
            return Err((seen.len(), wanted));
        }
    }
    Ok(())
}

/// Is a thread with these coordinates an owner, for every thread that meets `guards`? `wanted` lists, for each thread
/// axis of the operand, the coordinate that the element has there (replicas may add to it).
pub(super) fn holds(
    tile: &TileLayout,
    wanted: &[(Axis, Expr)],
    guards: &[Expr],
    active: &ActiveSet,
) -> Result<(), u32> {
    let replicas: Option<Vec<(Axis, i64, i64)>> = tile
        .replica
        .iter()
        .filter(|it| it.axis.is_thread())
        .map(|it| Some((it.axis.clone(), it.extent.as_const()?, it.stride.as_const()?)))
        .collect();
    let Some(replicas) = replicas else { return Err(active.iter().next().unwrap_or(0)) };
    for t in active.iter().filter(|t| guards.iter().all(|g| active.eval_at(g, *t) == Some(1))) {
        let reaches = wanted.iter().all(|(axis, place)| {
            let coord = coordinate_of(axis, t, active.warp());
            let (Some(have), Some(base)) = (coord, active.eval_at(place, t)) else { return false };
            let mut places = BTreeSet::from([base]);
            for (_, extent, stride) in replicas.iter().filter(|(a, ..)| a == axis) {
                places = places.iter().flat_map(|p| (0..*extent).map(move |k| p + k * stride)).collect();
            }
            places.contains(&have)
        });
        if !reaches {
            return Err(t);
        }
    }
    Ok(())
}

/// `Σ digit * stride + offset` on a thread axis.
pub(super) fn place_on(tile: &TileLayout, axis: &Axis, digits: &[(Expr, Dim)]) -> Expr {
    let offset = tile.offset_on(axis).to_expr();
    digits.iter().fold(offset, |sum, (d, stride)| sum.add(d.clone().mul(stride.to_expr())))
}

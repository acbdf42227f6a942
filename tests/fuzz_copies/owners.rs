//! Who holds what of a local layout, as far as the frame must know to read every replica by itself.

use tilewright_ir::layout::TileLayout;
use tilewright_ir::{Axis, Scope};

use crate::case::{Compare, Guard};

fn uses(tile: &TileLayout, axis: &Axis) -> bool {
    tile.shard.iter().chain(&tile.replica).any(|it| it.axis == *axis) || tile.offset.contains_key(axis)
}

/// The smallest groups each of which holds the whole tile.
pub(crate) fn scope(tile: &TileLayout) -> Scope {
    let any = |axes: &[Axis]| axes.iter().any(|a| uses(tile, a));
    if any(&[Axis::Tx, Axis::WarpId, Axis::WgId]) {
        Scope::Cta
    } else if any(&[Axis::TidInWg, Axis::WidInWg]) {
        Scope::Warpgroup
    } else if any(&[Axis::LaneId]) {
        Scope::Warp
    } else {
        Scope::Thread
    }
}

/// Number that `thread.…` gives for an axis, and how many of it make one step; the generator makes replicas only on these.
pub(crate) fn id_of(axis: &Axis) -> Option<(&'static str, i64)> {
    Some(match axis {
        Axis::LaneId => ("lane", 1),
        Axis::WarpId | Axis::WidInWg => ("warp", 1),
        Axis::WgId => ("warp", 4),
        Axis::Tx | Axis::TidInWg => ("linear", 1),
        _ => return None,
    })
}

/// Conditions that each leave one holder of every element: one a replica; first and last lanes where the layout leaves the
/// lane open.
pub(crate) fn classes(tile: &TileLayout, warp: u32) -> Vec<Vec<Guard>> {
    let mut out: Vec<Vec<Guard>> = vec![Vec::new()];
    for it in &tile.replica {
        let (Some(n), Some(stride), Some((id, unit))) = (it.extent.as_const(), it.stride.as_const(), id_of(&it.axis))
        else {
            continue; // on memory: the bytes themselves are compared, or any place will do
        };
        let first = tile.offset_on(&it.axis).as_const().unwrap_or(0);
        let mut picks = vec![0, n / 2, n - 1];
        picks.dedup();
        let narrowed = |base: &Vec<Guard>, k: i64| {
            let mut guard = base.clone();
            let lo = unit * (first + k * stride);
            guard.push(Guard { id, op: Compare::Ge, value: lo });
            guard.push(Guard { id, op: Compare::Lt, value: lo + unit * stride });
            guard
        };
        out = out.iter().flat_map(|base| picks.iter().map(move |k| narrowed(base, *k))).collect();
    }
    let lanes_open = !uses(tile, &Axis::LaneId) && !uses(tile, &Axis::Tx) && !uses(tile, &Axis::TidInWg);
    if lanes_open && scope(tile) != Scope::Thread {
        let lane = |value: i64| Guard { id: "lane", op: Compare::Eq, value };
        let add = |base: &Vec<Guard>, v: i64| base.iter().copied().chain([lane(v)]).collect::<Vec<_>>();
        out = out.iter().flat_map(|base| [0, i64::from(warp) - 1].map(|v| add(base, v))).collect();
    }
    out
}

//! Corners of the layout algebra, with the numbers of the field reports where there are some.

use super::*;
use crate::facts::Facts;

fn m(extent: i64, stride: i64) -> Iter {
    Iter::new(extent, stride, Axis::M)
}

fn on(extent: i64, stride: i64, axis: Axis) -> Iter {
    Iter::new(extent, stride, axis)
}

fn dims(v: &[i64]) -> Vec<Dim> {
    v.iter().copied().map(Dim::Const).collect()
}

fn addresses(t: &TileLayout) -> Vec<i64> {
    let n = t.size().as_const().expect("constant");
    (0..n).map(|i| t.apply_flat(i).expect("a place").get(&Axis::M).copied().unwrap_or(0)).collect()
}

#[test]
fn offsets_on_joined_thread_axes_add_up() {
    let mut t = TileLayout::from_shard(vec![on(8, 4, Axis::LaneId)]);
    t.offset.insert(Axis::LaneId, Dim::Const(1));
    t.offset.insert(Axis::WarpId, Dim::Const(2));
    for (warp, at) in [(32, 65), (64, 129)] {
        let c = t.canonicalize(Some(warp)).expect("one scope");
        assert_eq!((c.offset_on(&Axis::Tx), &c.shard[0].axis), (Dim::Const(at), &Axis::Tx));
    }
}

#[test]
fn a_warpgroup_is_four_warps() {
    let t = TileLayout::from_shard(vec![on(2, 1, Axis::WgId), on(4, 1, Axis::WidInWg), m(8, 1)]);
    let c = t.canonicalize(Some(64)).expect("one scope");
    assert_eq!(c.shard, vec![on(8, 1, Axis::WarpId), m(8, 1)]);
    let t = TileLayout::from_shard(vec![on(2, 1, Axis::WgId), on(4, 1, Axis::WidInWg), on(64, 1, Axis::LaneId)]);
    assert_eq!(t.canonicalize(Some(64)).expect("one scope").shard, vec![on(512, 1, Axis::Tx)]);
}

#[test]
fn thread_axes_must_fit() {
    let scope =
        |axes: &[Axis]| TileLayout::from_shard(axes.iter().map(|a| on(2, 1, a.clone())).collect()).thread_scope();
    assert!(matches!(scope(&[Axis::Tx, Axis::LaneId]), Err(LayoutError::ScopeConflict(..))));
    assert_eq!(scope(&[Axis::WgId, Axis::LaneId]), Err(LayoutError::ScopeGap("warp", "warpgroup")));
    assert!(scope(&[Axis::Tx, Axis::WarpId]).is_err());
    assert_eq!(scope(&[Axis::M]), Ok(None));
}

#[test]
fn a_slice_never_runs_past_the_next_digit() {
    let t = TileLayout::from_shard(vec![m(2, 100), m(2, 10), m(4, 1)]);
    let slice = |b: i64, n: i64| t.slice(&dims(&[16]), &[Interval::new(b, n)], None, &Facts::new());
    assert_eq!(addresses(&slice(2, 4).expect("wraps inside")), vec![2, 3, 10, 11]);
    assert!(matches!(slice(6, 4), Err(LayoutError::NoBox { .. })));
    assert!(matches!(slice(14, 4), Err(LayoutError::OutOfBounds { .. })));
    // A single iter is checked, too.
    let one = TileLayout::from_shard(vec![m(16, 3)]);
    assert!(one.slice(&dims(&[16]), &[Interval::new(14, 4)], None, &Facts::new()).is_err());
}

#[test]
fn a_begin_known_to_be_aligned_is_a_box() {
    let mut facts = Facts::new();
    facts.loop_var(&"i".into(), &0.into(), &4.into());
    let i = Dim::from(&Name::new("i"));
    let t = TileLayout::from_shard(vec![m(4, 100), m(8, 1)]);
    let slice = |scale: i64, n: i64| {
        let begin = i.mul(&Dim::Const(scale));
        t.slice(&dims(&[32]), &[Interval { begin, extent: Dim::Const(n) }], None, &facts)
    };
    let s = slice(4, 4).expect("aligned");
    assert_eq!(s.shard, vec![m(4, 1)]);
    assert_eq!(slice(8, 8).expect("a whole row").offset_on(&Axis::M), i.mul(&Dim::Const(100)));
    assert!(slice(2, 4).is_err(), "may wrap");
}

#[test]
fn swizzled_addresses_stay_inside_their_storage() {
    // 8 rows of 64 with swizzle(3, 3, 3): the size is a whole number of windows of 512.
    let l = Layout {
        tile: TileLayout::default(),
        swizzle: Some(Swizzle { per_element: 3, swizzle_len: 3, atom_len: 3, inner: true }),
    };
    let shape = dims(&[9, 64]);
    assert_eq!(l.storage_elems(&shape), Ok(Dim::Const(1024)));
    assert_eq!(l.over(&shape).apply_coords(&[1, 0], &[9, 64]).map(|p| p[&Axis::M]), Ok(64 + 8));
    let coords = [Dim::Const(1), Dim::Const(8)];
    assert_eq!(l.offset_dim(&coords, &shape, &Facts::new()), Ok(Dim::Const(64)));
}

#[test]
fn what_is_not_well_formed_is_refused() {
    let verify = |t: TileLayout, shape: &[i64]| Layout::from(t).verify(&dims(shape), 32, 64);
    let row = || TileLayout::row_major(&dims(&[4, 8]));
    assert_eq!(verify(row(), &[4, 8]), Ok(()));
    assert!(matches!(verify(row(), &[4, 9]), Err(LayoutError::SizeMismatch { .. })));
    let overlap = TileLayout::from_shard(vec![m(4, 4), m(8, 1)]);
    assert_eq!(verify(overlap, &[4, 8]), Err(LayoutError::NotInjective { first: 4, second: 8 }));
    // A stride that is just what the smaller iters reach.
    let touching = TileLayout::from_shard(vec![m(3, 1), m(2, 2)]);
    assert_eq!(verify(touching, &[3, 2]), Err(LayoutError::NotInjective { first: 1, second: 4 }));
    assert_eq!(verify(TileLayout::from_shard(vec![m(3, 1), m(2, 3)]), &[3, 2]), Ok(()));
    let lanes = TileLayout::from_shard(vec![on(64, 1, Axis::LaneId)]);
    assert!(matches!(verify(lanes, &[64]), Err(LayoutError::CoordinateRange { at: 63, limit: 32, .. })));
    let mut twice = TileLayout::from_shard(vec![on(32, 1, Axis::LaneId)]);
    twice.replica.push(on(2, 1, Axis::WarpId));
    assert_eq!(verify(twice, &[32]), Ok(()));
    let mut clash = TileLayout::from_shard(vec![on(32, 1, Axis::LaneId)]);
    clash.replica.push(on(2, 1, Axis::LaneId));
    assert!(verify(clash, &[32]).is_err());
    let swizzle = Swizzle { per_element: 3, swizzle_len: 3, atom_len: 2, inner: true };
    assert!(matches!(
        Layout { tile: row(), swizzle: Some(swizzle) }.verify(&dims(&[4, 8]), 32, 64),
        Err(LayoutError::BadSwizzle { .. })
    ));
    assert!(verify(TileLayout::from_shard(vec![m(0, 1)]), &[0]).is_err());
}

#[test]
fn symbolic_row_major_addresses() {
    let (rows, n) = (Name::new("rows"), Name::new("n"));
    let shape = [Dim::from(&rows), Dim::from(&n)];
    let l: Layout = TileLayout::row_major(&shape).into();
    let (i, j) = (Dim::from(&Name::new("i")), Dim::from(&Name::new("j")));
    let at = l.offset_dim(&[i.clone(), j.clone()], &shape, &Facts::new()).expect("row-major");
    assert_eq!(at, i.mul(&Dim::from(&n)).add(&j));
    assert_eq!(l.verify(&shape, 32, 64), Ok(()));
    assert_eq!(l.storage_elems(&shape), Ok(Dim::from(&rows).mul(&Dim::from(&n))));
}

#[test]
fn huge_numbers_are_errors_not_panics() {
    let t = TileLayout::from_shard(vec![m(i64::MAX, i64::MAX), m(3, i64::MAX)]);
    assert_eq!(t.apply_flat(i64::MAX), Err(LayoutError::Overflow));
    assert_eq!(t.cosize(&Axis::M), Err(LayoutError::Overflow));
    assert!(t.group(&dims(&[2, 3])).is_err());
    assert!(Layout::from(t).verify(&dims(&[i64::MAX, 3]), 32, 64).is_err());
    let n = Dim::from(&Name::new("n"));
    for bits in [60, 64, u32::MAX] {
        for inner in [true, false] {
            let s = Swizzle { per_element: bits, swizzle_len: bits, atom_len: bits, inner };
            s.apply(i64::MAX);
            s.apply_dim(&n, &Facts::new());
            assert!(s.verify().is_err() && s.period() > 0);
        }
    }
}

#[test]
fn dimensions_change_places() {
    let t = TileLayout::row_major(&dims(&[2, 3, 4]));
    let p = t.permute_dims(&dims(&[2, 3, 4]), &[2, 0, 1]).expect("a permutation");
    assert_eq!(p.shard, vec![m(4, 1), m(2, 12), m(3, 4)]);
    assert!(t.permute_dims(&dims(&[2, 3, 4]), &[0, 0, 1]).is_err());
    assert!(t.permute_iters(&[1, 0]).is_err());
}

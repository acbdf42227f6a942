//! Random cases.
//!
//! Must hold: most cases are right and accepted by somebody; whatever the language allows about a copy comes up: layouts
//! with strides, swizzles, replicas and offsets, regions with constant, given and counted begins, guards, all scopes,
//! element types and widths of warps, fragments of matrix instructions among them.

use tilewright_ir::interp::SplitMix64;
use tilewright_ir::layout::{Iter, TileLayout};
use tilewright_ir::{Axis, DType, Dim, Expr, Layout, Name, Scope, Swizzle};

use crate::case::{Begin, Case, Compare, Guard, Place, Side, groups};

/// Most elements of the copy's region, so that a case takes milliseconds; fragments of matrices have up to 2048.
const MOST_ELEMENTS: i64 = 256;
/// Most elements of a buffer.
const MOST_BUFFER: i64 = 2048;
/// Some cases have as many times more, so that all threads of a large CTA have several vectors to move.
const LARGE: i64 = 8;

pub(crate) struct Gen {
    pub(crate) rng: SplitMix64,
    warp: i64,
    threads: i64,
    pub(crate) scope: Scope,
    groups: i64,
}

/// The case of this number.
pub fn generate(seed: u64, number: u64) -> Case {
    let mut rng = SplitMix64::stream(seed, number);
    let warp = pick(&mut rng, &[32i64, 32, 64]);
    let mut threads = warp * pick(&mut rng, &[1i64, 1, 1, 2, 2, 3, 4]);
    let mut scope =
        pick(&mut rng, &[Scope::Thread, Scope::Warp, Scope::Warp, Scope::Warpgroup, Scope::Cta, Scope::Cta]);
    if scope == Scope::Warpgroup {
        threads = warp * pick(&mut rng, &[4i64, 4, 4, 8]);
    }
    if matches!(scope, Scope::Cta | Scope::Thread) && rng.one_in(8) {
        threads -= pick(&mut rng, &[1, 5, 16]);
    }
    let fragment = rng.one_in(6);
    if fragment && scope == Scope::Thread {
        scope = Scope::Warp;
    }
    let count = groups(scope, threads as u32, warp as u32);
    let mut g = Gen { rng, warp, threads, scope, groups: count };
    if fragment { g.fragment() } else { g.copy() }
}

fn pick<T: Clone>(rng: &mut SplitMix64, list: &[T]) -> T {
    list[rng.below(list.len())].clone()
}

/// Factors of `n` in random portions.
fn factors(rng: &mut SplitMix64, mut n: i64) -> Vec<i64> {
    let mut out = Vec::new();
    while n > 1 {
        let divisors: Vec<i64> = (2..=n).filter(|d| n % d == 0).collect();
        let d = if rng.one_in(2) { n } else { pick(rng, &divisors) };
        out.push(d);
        n /= d;
    }
    out
}

/// Injective strides for the iters, in a random order where `shuffle`, with random padding; and the reach of all.
fn strides(rng: &mut SplitMix64, extents: &[i64], shuffle: bool) -> (Vec<i64>, i64) {
    let mut order: Vec<usize> = (0..extents.len()).collect();
    if shuffle {
        for k in (1..order.len()).rev() {
            order.swap(k, rng.below(k + 1));
        }
    }
    let mut out = vec![0; extents.len()];
    let mut stride = 1;
    for k in order.into_iter().rev() {
        if rng.one_in(5) {
            stride = pick(rng, &[stride + 1, stride * 2, (stride + 8) / 8 * 8]);
        }
        out[k] = stride;
        stride *= extents[k];
    }
    (out, stride)
}

impl Gen {
    pub(crate) fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        pick(&mut self.rng, list)
    }

    fn dtype(&mut self) -> DType {
        // Every type, those that people move most and those below a byte more often.
        use DType::{BF16, F4, F16, F32, I4, U4, U8};
        if self.rng.one_in(3) { self.pick(&[F16, F16, BF16, F32, F32, U8, I4, U4, F4]) } else { self.pick(DType::ALL) }
    }

    /// A layout of memory over `shape`; `None` is row-major.
    fn memory(&mut self, shape: &[i64]) -> Option<Layout> {
        let rng = &mut self.rng;
        if rng.one_in(4) {
            return None;
        }
        let shuffle = rng.one_in(3);
        let extents: Vec<i64> =
            shape.iter().flat_map(|n| if rng.one_in(2) { vec![*n] } else { factors(rng, *n) }).collect();
        let (strides, reach) = strides(rng, &extents, shuffle);
        let iters = extents.iter().zip(strides).map(|(e, s)| Iter::new(*e, s, Axis::M)).collect::<Vec<_>>();
        let mut tile = TileLayout::from_shard(iters);
        if tile.shard.is_empty() {
            tile.shard.push(Iter::new(1, 1, Axis::M));
        }
        if rng.one_in(6) {
            tile.offset.insert(Axis::M, Dim::Const(pick(rng, &[1, 4, 8, 16])));
        }
        let swizzle = rng.one_in(4).then(|| Swizzle {
            per_element: rng.below(4) as u32 + 1,
            swizzle_len: rng.below(3) as u32 + 1,
            atom_len: 3,
            inner: !rng.one_in(4),
        });
        if swizzle.is_none() && rng.one_in(16) {
            tile.replica.push(Iter::new(2, reach + pick(rng, &[0, 3]), Axis::M));
        }
        Some(Layout { tile, swizzle })
    }

    /// A layout of registers over `shape`: some digits on thread axes, the rest in each thread.
    fn registers(&mut self, shape: &[i64]) -> Option<Layout> {
        let (warp, threads) = (self.warp, self.threads);
        let rng = &mut self.rng;
        let extents: Vec<i64> = shape.iter().flat_map(|n| factors(rng, *n)).collect();
        let warps = (threads / warp).max(1);
        let axes = match self.scope {
            Scope::Thread => vec![],
            Scope::Warp => vec![(Axis::LaneId, warp)],
            Scope::Warpgroup if rng.one_in(3) => vec![(Axis::LaneId, warp), (Axis::WidInWg, 4)],
            Scope::Warpgroup => vec![(Axis::TidInWg, 4 * warp)],
            Scope::Cta if rng.one_in(2) => vec![(Axis::Tx, threads)],
            Scope::Cta if rng.one_in(6) => vec![(Axis::WarpId, warps)],
            Scope::Cta if threads % (4 * warp) == 0 && rng.one_in(2) => {
                vec![(Axis::TidInWg, 4 * warp), (Axis::WgId, threads / (4 * warp))]
            }
            Scope::Cta => vec![(Axis::LaneId, warp.min(threads)), (Axis::WarpId, warps)],
        };
        let mut room: Vec<(Axis, i64, i64)> = axes.into_iter().map(|(a, n)| (a, n, 1)).collect();
        let (mut shard, mut memory) = (Vec::new(), Vec::new());
        for e in extents {
            let k = rng.below(room.len());
            let fits = room.get(k).is_some_and(|(_, n, s)| e * s <= *n) && !rng.one_in(3);
            if fits {
                let (axis, _, stride) = &mut room[k];
                shard.push(Iter::new(e, *stride, axis.clone()));
                *stride *= e;
            } else {
                memory.push((shard.len(), e));
                shard.push(Iter::new(e, 0, Axis::M));
            }
        }
        let shuffle = rng.one_in(3);
        let sizes: Vec<i64> = memory.iter().map(|(_, e)| *e).collect();
        for ((at, _), s) in memory.iter().zip(strides(rng, &sizes, shuffle).0) {
            shard[*at].stride = Dim::Const(s);
        }
        if shard.is_empty() {
            shard.push(Iter::new(1, 1, Axis::M));
        }
        let mut tile = TileLayout::from_shard(shard);
        let one_group = self.groups == 1;
        for (axis, n, stride) in &room {
            let named = one_group || *axis == Axis::LaneId; // else no comparison with a constant names a replica
            if *stride > 1 && n / stride > 1 && named && rng.one_in(3) {
                let most = n / stride;
                tile.replica.push(Iter::new(2 + rng.below(most as usize - 1) as i64, *stride, axis.clone()));
            } else if *stride > 1 && *stride < *n && rng.one_in(5) {
                tile.offset.insert(axis.clone(), Dim::Const(1 + rng.below((n - stride) as usize) as i64));
            }
        }
        if rng.one_in(8) {
            tile.offset.insert(Axis::M, Dim::Const(pick(rng, &[1, 2, 4])));
        }
        (!tile.thread_axes().is_empty() || rng.one_in(2)).then(|| tile.into())
    }

    fn guard(&mut self) -> Vec<Guard> {
        if !self.rng.one_in(4) {
            return Vec::new();
        }
        let (warp, threads) = (self.warp, self.threads);
        let warps = (threads / warp).max(1);
        let g = |id, op, value| Guard { id, op, value };
        match self.rng.below(6) {
            0 => vec![g("lane", Compare::Lt, self.pick(&[1, 8, warp / 2, warp - 1]))],
            1 => vec![g("warp", Compare::Eq, self.rng.below(warps as usize) as i64)],
            2 => vec![g("linear", Compare::Lt, self.pick(&[1, 5, threads / 2, threads - 1]).max(1))],
            3 => vec![g("warp", Compare::Ge, 1.min(warps - 1))],
            4 => vec![g("linear", Compare::Ge, self.pick(&[1, warp / 2, threads - 7]))],
            _ => vec![g("warp", Compare::Lt, 2), g("lane", Compare::Ge, warp / 2)],
        }
    }

    /// One side for a region of `extents`: dimensions of its own, a part of them, and a layout.
    fn side(&mut self, place: Place, extents: &[i64], grouped: bool, trips: i64) -> Side {
        let (mut shape, mut ext, mut begin) = (Vec::new(), Vec::new(), Vec::new());
        let local = place == Place::Local;
        if grouped {
            shape.push(self.groups);
            ext.push(1);
            begin.push(Begin::Group);
        }
        let looped = if trips > 1 && !local { self.rng.below(extents.len()) } else { usize::MAX };
        for (k, e) in extents.iter().enumerate() {
            if self.rng.one_in(10) {
                let n = self.pick(&[1i64, 2, 3]);
                shape.push(n);
                ext.push(1);
                begin.push(Begin::At(self.rng.below(n as usize) as i64));
            }
            let spare = if self.rng.one_in(3) { self.pick(&[*e, 3, 1, 8]) } else { 0 };
            let b = if spare > 0 { self.pick(&[0, spare, spare / 2, 1]) } else { 0 };
            ext.push(*e);
            if k == looped {
                shape.push(e * trips + spare);
                begin.push(Begin::Loop { step: *e, base: b });
            } else {
                shape.push(e + spare);
                begin.push(if !local && spare > 0 && self.rng.one_in(3) { Begin::Param(b) } else { Begin::At(b) });
            }
        }
        let layout = if local { self.registers(&shape) } else { self.memory(&shape) };
        let align = (!local && self.rng.one_in(5)).then(|| self.pick(&[1u32, 2, 4, 8, 32, 128]));
        let device = matches!(place, Place::Global | Place::Window | Place::Peer);
        let pitch = (device && layout.is_none() && self.rng.one_in(5)).then(|| self.rng.below(shape.len()));
        Side { place, shape, extents: ext, begin, layout, align, symbolic: None, pitch }
    }

    pub(crate) fn memory_place(&mut self) -> Place {
        self.pick(&[Place::Global, Place::Global, Place::Shared, Place::Shared, Place::Window])
    }

    fn copy(&mut self) -> Case {
        let dtype = self.dtype();
        let rank = 1 + self.rng.below(3);
        let mut extents: Vec<i64> =
            (0..rank).map(|_| pick(&mut self.rng, &[1, 2, 3, 4, 6, 8, 8, 16, 5, 32, 64])).collect();
        let large = if self.rng.one_in(8) { LARGE } else { 1 };
        let most = (large * MOST_BUFFER / self.groups / 4).clamp(1, large * MOST_ELEMENTS);
        while extents.iter().product::<i64>() > most {
            let k = self.rng.below(extents.len());
            extents[k] = (extents[k] / 2).max(1);
        }
        let trips = if self.rng.one_in(8) { self.pick(&[2i64, 3]) } else { 1 };
        let is_peer = self.rng.one_in(10);
        let (to, mut from) = if is_peer { self.peer_places() } else { self.places() };
        if to == Place::Local && from == Place::Local && trips > 1 {
            from = Place::Global;
        }
        let grouped = self.groups > 1;
        let mut dst = self.side(to, &extents, grouped && to != Place::Local, trips);
        let by_group = grouped && from != Place::Local && !self.rng.one_in(3);
        let src_trips = if self.rng.one_in(3) { 1 } else { trips };
        let mut src = self.side(from, &extents, by_group, src_trips);
        for side in [&mut dst, &mut src] {
            side.align = side.align.map(|a| a.max(dtype.bits() / 8)); // less than an element is refused
        }
        let mut case = self.around(dtype, dst, src);
        case.trips = trips;
        case.guard = self.guard();
        case.vec = self.rng.one_in(16).then(|| self.pick(&[16u32, 32, 64, 128]));
        case.is_async = self.rng.one_in(12);
        if is_peer {
            self.as_peer(&mut case);
        }
        if self.rng.one_in(6) {
            self.symbolic(&mut case);
        }
        case
    }

    /// Where the two sides live: registers on one side more often than not.
    fn places(&mut self) -> (Place, Place) {
        let kind = self.rng.below(8);
        let mut place = |local: bool| if local { Place::Local } else { self.memory_place() };
        (place(kind < 3), place((2..5).contains(&kind)))
    }

    /// A copy with nothing around it.
    fn around(&self, dtype: DType, dst: Side, src: Side) -> Case {
        Case {
            warp: self.warp as u32,
            threads: self.threads as u32,
            dtype,
            scope: self.scope,
            dst,
            src,
            guard: Vec::new(),
            trips: 1,
            vec: None,
            ranks: 2,
            carry_any: false,
            notify: false,
            is_async: false,
            divides: 1,
        }
    }

    /// A row fragment of the 8x8 matrix instructions on one side, padded or swizzled shared memory on the other.
    fn fragment(&mut self) -> Case {
        let (m, num) = (self.pick(&[1i64, 1, 1, 2, 4]), self.pick(&[1i64, 2, 4, 3, 8]));
        let turned = self.rng.one_in(3);
        let (rows, columns) = (8 * m, 8 * num);
        let lane = |e: i64, s: i64| Iter::new(e, s, Axis::LaneId);
        let reg = |e: i64, s: i64| Iter::new(e, s, Axis::M);
        let mut shard = vec![reg(m, 2 * num), lane(8, 4), reg(num, 2), lane(4, 1), reg(2, 1)];
        if self.rng.one_in(4) {
            (shard[0], shard[2]) = (reg(m, 2), reg(num, 2 * m));
        }
        let mut shape = vec![rows, columns];
        if turned {
            shape.swap(0, 1);
            shard.rotate_left(2);
            shard.rotate_right(5); // rows of the fragment run along the second dimension
        }
        shard.retain(|it| !it.extent.is(1));
        let mut tile = TileLayout::from_shard(shard);
        if self.warp == 64 && self.rng.one_in(2) {
            tile.replica.push(lane(2, 32));
        }
        let flat = |place, layout| Side {
            place,
            shape: shape.clone(),
            extents: shape.clone(),
            begin: vec![Begin::At(0), Begin::At(0)],
            layout,
            align: None,
            symbolic: None,
            pitch: None,
        };
        let frag = flat(Place::Local, Some(tile.into()));
        let pitch = shape[1] + self.pick(&[0i64, 8, 8, 16, 4]);
        let mut rows_of = TileLayout::from_shard(vec![reg(shape[0], pitch), reg(shape[1], 1)]);
        if self.rng.one_in(3) {
            rows_of = TileLayout::from_shard(vec![reg(shape[0], 1), reg(shape[1], shape[0] + self.pick(&[0i64, 8]))]);
        }
        let swizzle = self.rng.one_in(2).then(|| Swizzle {
            per_element: self.pick(&[3, 3, 3, 2]),
            swizzle_len: self.pick(&[1, 2, 3]),
            atom_len: 3,
            inner: true,
        });
        let place = self.pick(&[Place::Shared, Place::Shared, Place::Shared, Place::Global]);
        let mut mem = flat(place, Some(Layout { tile: rows_of, swizzle }));
        mem.align = self.rng.one_in(2).then_some(128);
        let to_registers = self.rng.one_in(2);
        if self.groups > 1 && !to_registers {
            self.each_group(&mut mem);
        }
        let dtype = if self.rng.one_in(6) { self.dtype() } else { self.pick(&[DType::F16, DType::BF16, DType::U16]) };
        let (dst, src) = if to_registers { (frag, mem) } else { (mem, frag) };
        let mut case = self.around(dtype, dst, src);
        if self.rng.one_in(3) {
            case.guard = self.guard();
        }
        case
    }

    /// A part of its own for every group.
    fn each_group(&mut self, side: &mut Side) {
        side.shape.insert(0, self.groups);
        side.extents.insert(0, 1);
        side.begin.insert(0, Begin::Group);
        if let Some(l) = &mut side.layout {
            let Ok(reach) = l.tile.cosize(&Axis::M) else { return };
            let pitch = if l.swizzle.is_some() { (reach + 511) / 512 * 512 } else { (reach + 7) / 8 * 8 };
            l.tile.shard.insert(0, Iter::new(self.groups, pitch, Axis::M));
        }
    }

    /// Makes one extent of both sides the parameter `n`, where both are device memory; where there are layouts, it is their
    /// outermost digit.
    fn symbolic(&mut self, case: &mut Case) {
        let device = |s: &Side| matches!(s.place, Place::Global | Place::Window | Place::Peer);
        if !device(&case.dst) || !device(&case.src) {
            return;
        }
        // The same of the dimensions that are not one, so that extents stay equal.
        let many = case.dst.extents.iter().filter(|e| **e > 1).count();
        let nth = if self.rng.one_in(3) && many > 0 { self.rng.below(many) } else { 0 };
        let dim = |s: &Side| {
            let d = (0..s.extents.len()).filter(|d| s.extents[*d] > 1).nth(nth)?;
            matches!(s.begin[d], Begin::At(_) | Begin::Param(_)).then_some(d)
        };
        let (Some(d), Some(s)) = (dim(&case.dst), dim(&case.src)) else { return };
        for (side, dim) in [(&mut case.dst, d), (&mut case.src, s)] {
            side.shape[dim] = side.extents[dim];
            side.begin[dim] = Begin::At(0);
            side.symbolic = Some(dim);
            side.pitch = side.pitch.filter(|p| *p != dim);
            let free = side.pitch.is_none() && self.rng.one_in(3);
            side.layout = free.then(|| outermost(&mut self.rng, &side.shape, dim));
        }
        let n = case.dst.extents[d];
        case.divides = self.pick(&[1i64, 1, 2, 4, 8]);
        if n % case.divides != 0 {
            case.divides = 1;
        }
    }
}

/// A layout with padded rows over `shape` whose outermost digit is dimension `dim`, of the extent `n`.
fn outermost(rng: &mut SplitMix64, shape: &[i64], dim: usize) -> Layout {
    let rest: Vec<i64> = (0..shape.len()).filter(|d| *d != dim).map(|d| shape[d]).collect();
    let (mut inner, reach) = strides(rng, &rest, false);
    inner.insert(dim, reach + pick(rng, &[0, 0, 1, 8]));
    let n = Dim::atom(Expr::var(&Name::new("n")));
    let extent = |d: usize| if d == dim { n.clone() } else { Dim::Const(shape[d]) };
    TileLayout::from_shard((0..shape.len()).map(|d| Iter::new(extent(d), inner[d], Axis::M)).collect()).into()
}

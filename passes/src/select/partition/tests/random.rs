//! Random copies: whatever a plan accepts must be right.

use tilewright_ir::facts::Facts;
use tilewright_ir::layout::{Iter, TileLayout};
use tilewright_ir::{Axis, BinOp, CopyAttrs, DType, Dim, Expr, Layout, Scope, Space, Special, Swizzle};
use tilewright_target::{GFX950, SM_90A};

use super::model::{Buf, Case};
use crate::select::partition::{plan_elements, plan_vectors};
use crate::select::rewriter::{Names, Rewriter};
use crate::select::variant::{Candidate, Reject};

/// A fixed generator (xorshift64*).
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }

    /// A number in `0..n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }
}

/// Factors of `n` in random portions.
fn factors(rng: &mut Rng, mut n: i64) -> Vec<i64> {
    let mut out = Vec::new();
    while n > 1 {
        let divisors: Vec<i64> = (2..=n).filter(|d| n % d == 0).collect();
        let d = if rng.chance(2) { n } else { rng.pick(&divisors) };
        out.push(d);
        n /= d;
    }
    out
}

/// Injective strides on `m` for the iters, in a random order, with random padding.
fn strides(rng: &mut Rng, extents: &[i64], shuffle: bool) -> Vec<i64> {
    let mut order: Vec<usize> = (0..extents.len()).collect();
    if shuffle {
        for k in (1..order.len()).rev() {
            order.swap(k, rng.below(k + 1));
        }
    }
    let mut out = vec![0; extents.len()];
    let mut stride = 1;
    for k in order.into_iter().rev() {
        if rng.chance(5) {
            stride = rng.pick(&[stride + 1, stride * 2, (stride + 8) / 8 * 8]);
        }
        out[k] = stride;
        stride *= extents[k];
    }
    out
}

fn memory(rng: &mut Rng, space: Space, shape: &[i64]) -> Buf {
    let mut shard = Vec::new();
    let shuffle = rng.chance(3);
    let extents: Vec<i64> =
        shape.iter().flat_map(|n| if rng.chance(2) { vec![*n] } else { factors(rng, *n) }).collect();
    for (e, s) in extents.iter().zip(strides(rng, &extents, shuffle)) {
        shard.push(Iter::new(*e, s, Axis::M));
    }
    let mut tile = TileLayout::from_shard(shard);
    if rng.chance(6) {
        tile.offset.insert(Axis::M, Dim::Const(rng.pick(&[1, 4, 8, 16])));
    }
    let swizzle = rng.chance(5).then(|| Swizzle {
        per_element: rng.below(4) as u32 + 1,
        swizzle_len: rng.below(3) as u32 + 1,
        atom_len: 3,
        inner: !rng.chance(4),
    });
    Buf::whole(space, shape, Layout { tile, swizzle })
}

/// A local layout over `shape`: some digits on thread axes, the rest in registers.
fn registers(rng: &mut Rng, shape: &[i64], scope: Scope, block: i64, warp: i64) -> Buf {
    let extents: Vec<i64> = shape.iter().flat_map(|n| factors(rng, *n)).collect();
    let limit = i64::from(scope.threads(warp as u32, block as u32));
    let (mut shard, mut memory) = (Vec::new(), Vec::new());
    let axes = match scope {
        Scope::Thread => vec![],
        Scope::Warp => vec![(Axis::LaneId, warp)],
        Scope::Warpgroup => vec![(Axis::TidInWg, 4 * warp), (Axis::LaneId, warp)],
        Scope::Cta => vec![(Axis::Tx, block), (Axis::LaneId, warp), (Axis::WarpId, (block / warp).max(1))],
    };
    let mut room: Vec<(Axis, i64, i64)> = axes.into_iter().map(|(a, n)| (a, n.min(limit), 1)).collect();
    if room.len() == 3 && rng.chance(2) {
        room.remove(0);
    }
    for e in extents {
        let k = if room.is_empty() { 0 } else { rng.below(room.len()) };
        let fits = room.get(k).is_some_and(|(_, n, s)| e * s <= *n) && !rng.chance(3);
        if fits {
            let (axis, _, stride) = &mut room[k];
            shard.push(Iter::new(e, *stride, axis.clone()));
            *stride *= e;
        } else {
            memory.push((shard.len(), e));
            shard.push(Iter::new(e, 0, Axis::M));
        }
    }
    let shuffle = rng.chance(3);
    let sizes: Vec<i64> = memory.iter().map(|(_, e)| *e).collect();
    for ((at, _), s) in memory.iter().zip(strides(rng, &sizes, shuffle)) {
        shard[*at].stride = Dim::Const(s);
    }
    let mut tile = TileLayout::from_shard(shard);
    for (axis, n, stride) in &room {
        if *stride > 1 && *n % stride == 0 && n / stride > 1 && rng.chance(4) {
            tile.replica.push(Iter::new(n / stride, *stride, axis.clone()));
        } else if *stride > 1 && *stride < *n && rng.chance(6) {
            tile.offset.insert(axis.clone(), Dim::Const(n - stride));
        }
    }
    Buf::whole(Space::Local, shape, tile.into())
}

fn region(rng: &mut Rng, buf: Buf, extents: &[i64]) -> Buf {
    let part: Vec<(i64, i64)> = buf
        .shape
        .iter()
        .zip(extents)
        .map(|(n, e)| (if n > e { rng.below((n - e) as usize + 1) as i64 } else { 0 }, *e))
        .collect();
    buf.part(&part)
}

fn guard(rng: &mut Rng, block: i64, warp: i64) -> Option<Expr> {
    if !rng.chance(4) {
        return None;
    }
    let lt = |s: Special, v: i64| Expr::binary(BinOp::Lt, Expr::special(s), Expr::int(v));
    let eq = |s: Special, v: i64| Expr::binary(BinOp::Eq, Expr::special(s), Expr::int(v));
    let from = |s: Special, v: i64| Expr::binary(BinOp::Ge, Expr::special(s), Expr::int(v));
    Some(match rng.below(5) {
        0 => lt(Special::Lane, rng.pick(&[1, 8, warp / 2])),
        1 => eq(Special::Warp, rng.below((block / warp).max(1) as usize) as i64),
        2 => lt(Special::ThreadLinear, rng.pick(&[1, 5, block / 2, block - 1]).max(1)),
        3 => from(Special::Warp, 1.min(block / warp - 1)),
        _ => Expr::binary(BinOp::LAnd, lt(Special::Warp, 2), from(Special::Lane, warp / 2)),
    })
}

fn case(rng: &mut Rng) -> Case {
    let warp = rng.pick(&[32i64, 64]);
    let block = warp * rng.pick(&[1i64, 2, 4]) - if rng.chance(12) { 16 } else { 0 };
    let scope = rng.pick(&[Scope::Thread, Scope::Warp, Scope::Warp, Scope::Warpgroup, Scope::Cta, Scope::Cta]);
    let dtype = rng.pick(&[DType::F16, DType::F16, DType::F32, DType::U8, DType::F64, DType::I4, DType::F4]);
    let rank = 1 + rng.below(3);
    let mut extents: Vec<i64> = (0..rank).map(|_| rng.pick(&[1, 2, 3, 4, 6, 8, 8, 16, 5, 32])).collect();
    while extents.iter().product::<i64>() > 256 {
        extents.pop(); // the model is slow
    }
    let shape: Vec<i64> = extents.iter().map(|e| if rng.chance(4) { e * 2 } else { *e }).collect();
    let pad = |rng: &mut Rng| -> Vec<i64> { shape.iter().map(|n| if rng.chance(6) { n + 3 } else { *n }).collect() };
    let spaces = [Space::Global, Space::Shared, Space::Window];
    let side = |rng: &mut Rng, local: bool| {
        let shape = if local { shape.clone() } else { pad(rng) };
        let space = rng.pick(&spaces);
        let buf = if local { registers(rng, &shape, scope, block, warp) } else { memory(rng, space, &shape) };
        region(rng, buf, &extents)
    };
    let kind = rng.below(8);
    let dst = side(rng, kind < 2 || kind == 7);
    let src = side(rng, (2..4).contains(&kind) || kind == 7);
    let attrs = CopyAttrs::default();
    let guard = guard(rng, block, warp);
    Case { dst, src, dtype, scope, block, warp: warp as u32, guard, facts: Facts::new(), attrs }
}

fn try_one(case: &Case, plan: Result<Candidate, Reject>, which: &str, seed: u64) -> Result<bool, String> {
    let Ok(candidate) = plan else { return Ok(false) };
    let mut names = Names::default();
    let mut rw = Rewriter::new(&mut names, tilewright_ir::Span::NONE);
    (candidate.emit)(&mut rw);
    let block = rw.finish();
    match case.check(&block) {
        Ok(_) => Ok(true),
        Err(why) => Err(format!("{which}, seed {seed}: {why}\n{case:#?}\n{block:#?}")),
    }
}

/// Number of random copies: few, since this runs unoptimised in every test run.
fn cases() -> u64 {
    if cfg!(debug_assertions) { 300 } else { 20_000 }
}

#[test]
fn whatever_is_accepted_is_right() {
    let (mut vectors, mut elements, mut neither, mut counted) = (0, 0, 0, 0);
    for seed in 0..cases() {
        let mut rng = Rng::new(seed + 1);
        let case = case(&mut rng);
        let view = case.view();
        if view.active.is_empty() {
            continue;
        }
        counted += 1;
        // By warp or thread with the same destination for every group, the groups write the same: harmless here.
        let target = if case.warp == 32 { &SM_90A } else { &GFX950 };
        let a = try_one(&case, plan_vectors(&view, target), "vectors", seed).unwrap_or_else(|e| panic!("{e}"));
        let b = try_one(&case, plan_elements(&view, target), "elements", seed).unwrap_or_else(|e| panic!("{e}"));
        vectors += usize::from(a);
        elements += usize::from(b);
        neither += usize::from(!a && !b);
    }
    eprintln!("{counted} copies: vectors {vectors}, elements {elements}, neither {neither}");
    assert!(vectors * 10 > counted * 6, "only {vectors} of {counted} accepted");
    assert!(elements * 10 > counted * 6, "only {elements} of {counted} accepted");
}

//! `ldstmatrix`: copies between shared memory and fragments in registers by `ldmatrix` and `stmatrix`.
//!
//! # Accepts
//! Registers on one side, shared memory on the other; 16-bit elements; scope warp, warpgroup or cta with whole warps of 32
//! active. The register side is made of 8x8 fragments (lane `l` holds elements `2*(l%4)`, `2*(l%4)+1` of row `l/4`) on one
//! thread axis from 0, without replicas. Each row of a fragment is 8 contiguous elements of shared memory that begin on 16
//! bytes wherever they are: the base offset, the row stride, and the stride of every warp and fragment are multiples of 8
//! elements. A swizzle must keep 8 elements together.
//!
//! # Emits
//! `nv.ldmatrix` or `nv.stmatrix` of 4, 2 or 1 fragments (`num`, the most that the layouts allow), `m_outer` times. Lanes
//! `8i..8i+8` give the addresses of the rows of fragment `i`. With `trans`, shared memory holds the columns.
//!
//! # Completes
//! When its statements have run (`Done`).
//!
//! # Cost
//! `m_outer` matrix accesses a warp with the bank conflicts of the eight rows of a fragment.
//!
//! # Targets
//! `ldmatrix` from sm_75, `stmatrix` from sm_90.

use tilewright_ir::facts::Facts;
use tilewright_ir::layout::Iter;
use tilewright_ir::{
    AttrValue, Axis, BinOp, Completion, Dim, Expr, Name, PrimArg, Scope, Space, Special, Swizzle, TileLayout,
};
use tilewright_passes::select::partition::{conflict_ways, coordinate, gate, refine};
use tilewright_passes::select::{
    Candidate, Conflict, CopyGroup, CopyVariant, CopyView, Operand, ParamValue, Reject, Rewriter, VariantInfo,
};
use tilewright_target::Target;

/// Elements in a row of a fragment.
const ROW: i64 = 8;
/// Bytes in a row of a fragment, and the alignment of its address (PTX: ldmatrix).
const ROW_BYTES: u32 = 16;
/// Lanes in a warp.
const LANES: i64 = 32;

/// The variant.
pub struct LdStMatrix;

impl CopyVariant for LdStMatrix {
    fn info(&self) -> VariantInfo {
        // Above `reg`: where fragments fit, no other way needs as few instructions, whatever the banks cost.
        VariantInfo { name: "ldstmatrix", op: "copy", priority: 20 }
    }

    fn plan(&self, group: &CopyGroup, target: &Target) -> Result<Candidate, Reject> {
        let view = gate::single(group)?;
        let (load, regs, shared) = sides(view)?;
        check_op(view, load, target)?;
        let fit = fit(view, regs, shared)?;
        Ok(candidate(view, load, regs, shared, fit, target))
    }
}

/// Direction, register operand, shared operand.
fn sides(view: &CopyView) -> Result<(bool, &Operand, &Operand), Reject> {
    match (view.dst.space(), view.src.space()) {
        (Space::Local, Space::Shared) => Ok((true, &view.dst, &view.src)),
        (Space::Shared, Space::Local) => Ok((false, &view.src, &view.dst)),
        (dst, src) => Err(Reject::Spaces {
            src: src.to_string(),
            dst: dst.to_string(),
            need: "registers on one side and shared memory on the other",
        }),
    }
}

/// Everything but the layouts.
fn check_op(view: &CopyView, load: bool, target: &Target) -> Result<(), Reject> {
    if view.scope == Scope::Thread {
        return Err(Reject::Scope { have: view.scope, need: "warp, warpgroup or cta" });
    }
    if view.src.dtype().bits() != 16 {
        return Err(Reject::Dtype { have: view.src.dtype(), need: "exactly 16 bits" });
    }
    if view.dst.dtype() != view.src.dtype() {
        return Err(Reject::Dtype { have: view.src.dtype(), need: "the dtype of the destination" });
    }
    if load && !target.has_ldmatrix() {
        return Err(Reject::Target { why: format!("ldmatrix needs {}", Target::min_arch_for_ldmatrix()) });
    }
    if !load && !target.has_stmatrix() {
        return Err(Reject::Target { why: format!("stmatrix needs {}", Target::min_arch_for_stmatrix()) });
    }
    if view.attrs.notify.is_some() || view.attrs.plan.is_some() {
        let why = "`notify` and `plan` are for copies by copy engines".to_owned();
        return Err(Reject::Attribute { why });
    }
    if let Some(vec) = view.attrs.vec {
        return Err(Reject::Attribute { why: format!("vec = {vec}: matrix instructions have no access width") });
    }
    if i64::from(view.warp) != LANES {
        return Err(Reject::Threads { why: format!("the kernel's warps have {} lanes, needs {LANES}", view.warp) });
    }
    if !view.active.whole_warps() {
        let why =
            format!("only some lanes of a warp run the copy ({} of {} threads)", view.active.count(), view.cta_threads);
        return Err(Reject::Threads { why });
    }
    if !view.active.full_groups(view.scope)
        || !view.cta_threads.is_multiple_of(view.scope.threads(view.warp, view.cta_threads))
    {
        let why = format!(
            "not all threads of the {} run the copy ({} of {})",
            view.scope,
            view.active.count(),
            view.cta_threads
        );
        return Err(Reject::Threads { why });
    }
    Ok(())
}

/// A digit on both sides.
#[derive(Clone, Debug)]
struct Digit {
    extent: i64,
    /// Stride in registers, or in threads.
    regs: i64,
    /// Stride in shared memory, in elements.
    shared: Dim,
}

/// What was found out.
#[derive(Clone, Debug)]
struct Fit {
    num: i64,
    trans: bool,
    /// Elements from one row of a fragment to the next in shared memory.
    row: Dim,
    /// Digits over warps (stride in threads, outermost first).
    warps: Vec<Digit>,
    /// Digits over the fragments of one instruction, by descending register stride.
    tiles: Vec<Digit>,
    /// Digits over instructions.
    outer: Vec<Digit>,
    /// Threads that hold the registers.
    threads: i64,
    /// Registers (elements) a thread.
    held: i64,
    /// The thread axis; `None` for a single warp position.
    axis: Axis,
    /// First register, in elements; may depend on a loop.
    reg_base: Dim,
    base: Dim,
    swizzle: Option<Swizzle>,
}

fn not_fragment(op: &Operand, why: impl Into<String>) -> Reject {
    Reject::Layout { operand: op.buf.to_string(), why: why.into() }
}

/// Elements of 16 bits in bytes, or the expression.
fn bytes(elements: &Dim) -> String {
    match elements.as_const().and_then(|v| v.checked_mul(2)) {
        Some(b) => format!("{b} B"),
        None => format!("{elements} elements"),
    }
}

fn misaligned(what: &str, elements: &Dim) -> Reject {
    Reject::Misaligned { what: what.to_owned(), value: bytes(elements), need: ROW_BYTES }
}

/// Adds how far apart they should be, where the stride is known.
fn padded(reject: Reject, make: &str, stride: &Dim) -> Reject {
    match stride.as_const() {
        Some(v) => reject.with_fix(format!("{make} {} elements apart", (v + ROW - 1).div_euclid(ROW) * ROW)),
        None => reject,
    }
}

/// Fits the layouts to the geometry of fragments.
fn fit(view: &CopyView, regs: &Operand, shared: &Operand) -> Result<Fit, Reject> {
    let facts = &view.facts;
    let r = regs
        .slice
        .as_ref()
        .map_err(|e| not_fragment(regs, format!("has no layout of its own for this region: {e}")))?;
    let s = shared
        .slice
        .as_ref()
        .map_err(|e| not_fragment(shared, format!("has no layout of its own for this region: {e}")))?;
    for (op, tile) in [(regs, &r.tile), (shared, &s.tile)] {
        if tile.replica.iter().any(|it| !it.extent.is(1)) {
            return Err(not_fragment(op, "has replicas, which a fragment has not"));
        }
    }
    if r.swizzle.is_some_and(|s| s.swizzle_len > 0) {
        return Err(not_fragment(regs, "has a swizzle on registers"));
    }
    let swizzle = s.swizzle.filter(|s| s.swizzle_len > 0);
    if let Some(sw) = swizzle.filter(|sw| sw.vector_elems() < ROW) {
        let why =
            format!("has a swizzle that keeps {} elements together, a row of a fragment has {ROW}", sw.vector_elems());
        return Err(not_fragment(shared, why));
    }
    let axis = thread_axis(view, regs, &r.tile)?;
    let (threads, memory) = digits(view, regs, shared)?;
    let geometry = geometry(regs, shared, threads, memory, facts)?;
    let base = s.tile.offset_on(&Axis::M);
    if !facts.is_multiple(&base, ROW) {
        return Err(misaligned("base offset", &base));
    }
    let reg_base = r.tile.offset_on(&Axis::M);
    if !facts.is_multiple(&reg_base, 2) {
        return Err(not_fragment(
            regs,
            format!(
                "begins at register element {reg_base}; pairs of 16-bit elements share a 32-bit register, so it must be even"
            ),
        ));
    }
    let threads = geometry.warps.iter().fold(LANES, |p, d| p * d.extent);
    let held = 2 * geometry.tiles.iter().chain(&geometry.outer).fold(1, |p, d| p * d.extent);
    let num = geometry.tiles.iter().fold(1, |p, d| p * d.extent);
    let Geometry { trans, row, warps, tiles, outer } = geometry;
    Ok(Fit { num, trans, row, warps, tiles, outer, threads, held, axis, reg_base, base, swizzle })
}

/// The one axis of the register side, whose numbering begins at the group of the scope.
fn thread_axis(view: &CopyView, regs: &Operand, tile: &TileLayout) -> Result<Axis, Reject> {
    let used = |a: &Axis| {
        let on = |it: &Iter| it.axis == *a && !it.extent.is(1);
        tile.shard.iter().any(on) || !tile.offset_on(a).is(0)
    };
    let axes: Vec<Axis> = tile.thread_axes().into_iter().filter(used).collect();
    let names: Vec<&str> = axes.iter().map(Axis::as_str).collect();
    let [axis] = axes.as_slice() else {
        let found =
            if names.is_empty() { "no thread axis".to_owned() } else { format!("thread axes {}", names.join(", ")) };
        return Err(not_fragment(regs, format!("has {found}, a fragment has one of laneid, tid_in_wg, tx")));
    };
    let reach = match axis {
        Axis::LaneId => Scope::Warp,
        Axis::TidInWg => Scope::Warpgroup,
        Axis::Tx => Scope::Cta,
        _ => {
            return Err(not_fragment(
                regs,
                format!("has thread axis {axis}, a fragment has one of laneid, tid_in_wg, tx"),
            ));
        }
    };
    let offset = tile.offset_on(axis);
    if !offset.is(0) {
        return Err(not_fragment(regs, format!("begins at {axis} {offset}, needs 0")));
    }
    let narrow = view.scope.threads(view.warp, view.cta_threads) < reach.threads(view.warp, view.cta_threads);
    if narrow {
        return Err(Reject::Threads {
            why: format!("`{}` is spread over axis {axis}, more threads than one {} has", regs.buf, view.scope),
        });
    }
    Ok(axis.clone())
}

/// Common digits: those over threads, those over registers.
fn digits(view: &CopyView, regs: &Operand, shared: &Operand) -> Result<(Vec<Digit>, Vec<Digit>), Reject> {
    let shard = |op: &Operand| op.slice.as_ref().map_or_else(|_| Vec::new(), |l| l.tile.shard.clone());
    let chunks = refine(&[shard(regs), shard(shared)], &view.facts).map_err(|why| not_fragment(regs, why))?;
    let (mut threads, mut memory) = (Vec::new(), Vec::new());
    for chunk in &chunks {
        let (Some(r), Some(s), true) = (chunk.iter(0), chunk.iter(1), chunk.is_digit()) else {
            return Err(not_fragment(shared, "cannot be cut where the fragments are"));
        };
        let (Some(extent), Some(stride)) = (chunk.extent.as_const(), r.stride.as_const()) else {
            return Err(not_fragment(regs, format!("has {}:{}, which is not constant", r.extent, r.stride)));
        };
        if s.axis != Axis::M {
            return Err(not_fragment(shared, format!("is spread over axis {}", s.axis)));
        }
        let digit = Digit { extent, regs: stride, shared: s.stride.clone() };
        if r.axis.is_thread() { threads.push(digit) } else { memory.push(digit) }
    }
    threads.sort_by_key(|d| std::cmp::Reverse(d.regs));
    Ok((threads, memory))
}

/// Digits sorted into the geometry.
struct Geometry {
    trans: bool,
    row: Dim,
    warps: Vec<Digit>,
    tiles: Vec<Digit>,
    outer: Vec<Digit>,
}

fn geometry(
    regs: &Operand,
    shared: &Operand,
    threads: Vec<Digit>,
    memory: Vec<Digit>,
    facts: &Facts,
) -> Result<Geometry, Reject> {
    let (warps, eight, four) = lanes(regs, threads)?;
    let (two, rest) = pair(regs, memory)?;
    let (trans, row) = row(shared, &eight, &four, &two, facts)?;
    if !facts.is_multiple(&row, ROW) {
        let reject = misaligned("row stride", &row);
        let padded = row.as_const().map(|p| (p + ROW - 1) / ROW * ROW);
        return Err(match padded {
            Some(p) => reject.with_fix(format!("pad the row to {p} elements")),
            None => reject.with_fix(format!("add `assume({row} % {ROW} == 0);`")),
        });
    }
    for d in &warps {
        if !facts.is_multiple(&d.shared, ROW) {
            return Err(padded(misaligned("warp stride", &d.shared), "make the warps", &d.shared));
        }
    }
    for d in &rest {
        if d.regs % 2 != 0 || d.regs == 0 {
            let why = format!(
                "has register stride {} between fragments; pairs of elements share a 32-bit register, so it must be even",
                d.regs
            );
            return Err(not_fragment(regs, why));
        }
        if !facts.is_multiple(&d.shared, ROW) {
            return Err(padded(misaligned("fragment stride", &d.shared), "make the fragments", &d.shared));
        }
    }
    for num in [4, 2, 1] {
        for by_shared in [true, false] {
            if let Some((tiles, outer)) = cut(&rest, num, by_shared) {
                return Ok(Geometry { trans, row, warps, tiles, outer });
            }
        }
    }
    Err(not_fragment(regs, "has no fragments")) // not reached: one fragment an instruction always fits
}

/// Digits over warps, over the 8 rows, over the 4 pairs of columns.
type Lanes = (Vec<Digit>, Vec<Digit>, Vec<Digit>);

/// Splits the thread digits into warps, the 8 rows and the 4 pairs of columns.
fn lanes(regs: &Operand, threads: Vec<Digit>) -> Result<Lanes, Reject> {
    let list = || {
        let all: Vec<String> = threads.iter().map(|d| format!("{}:{}", d.extent, d.regs)).collect();
        all.join(", ")
    };
    let total = threads.iter().fold(1i64, |p, d| p.saturating_mul(d.extent));
    let mut dense = total;
    for d in &threads {
        dense /= d.extent.max(1);
        if d.regs != dense {
            let why = format!("has thread strides {}; a fragment has lane strides 8:4, 4:1 without gaps", list());
            return Err(not_fragment(regs, why));
        }
    }
    if total % LANES != 0 || total == 0 {
        let why = format!("`{}` is held by {total} threads, which is not a multiple of {LANES}", regs.buf);
        return Err(Reject::Threads { why });
    }
    let error =
        || not_fragment(regs, format!("has thread strides {}, which have no boundary at 4 and 32 lanes", list()));
    let (upper, four) = split_at(&threads, 4).ok_or_else(error)?;
    let (warps, eight) = split_at(&upper, 8).ok_or_else(error)?;
    Ok((warps, eight, four))
}

/// Splits digits (outermost first) so that the second part has exactly `size` values.
fn split_at(digits: &[Digit], size: i64) -> Option<(Vec<Digit>, Vec<Digit>)> {
    let (mut outer, mut inner, mut rest) = (digits.to_vec(), Vec::new(), size);
    while rest > 1 {
        let d = outer.pop()?;
        if rest % d.extent == 0 {
            rest /= d.extent;
            inner.push(d);
        } else if d.extent % rest == 0 {
            let up = d.shared.mul(&Dim::Const(rest));
            outer.push(Digit { extent: d.extent / rest, regs: d.regs.checked_mul(rest)?, shared: up });
            inner.push(Digit { extent: rest, ..d });
            rest = 1;
        } else {
            return None;
        }
    }
    inner.reverse();
    Some((outer, inner))
}

/// Takes the pair of neighbouring register elements.
fn pair(regs: &Operand, mut memory: Vec<Digit>) -> Result<(Digit, Vec<Digit>), Reject> {
    let at = memory.iter().position(|d| d.regs == 1 && d.extent % 2 == 0);
    let Some(at) = at else {
        let all: Vec<String> = memory.iter().map(|d| format!("{}:{}", d.extent, d.regs)).collect();
        let why = format!(
            "has register strides {}; a fragment has pairs of stride 1",
            if all.is_empty() { "none".to_owned() } else { all.join(", ") }
        );
        return Err(not_fragment(regs, why));
    };
    let d = memory.remove(at);
    let two = Digit { extent: 2, ..d.clone() };
    if d.extent > 2 {
        let up = Digit { extent: d.extent / 2, regs: 2, shared: d.shared.mul(&Dim::Const(2)) };
        memory.insert(at, up);
    }
    Ok((two, memory))
}

/// Is a fragment stored by rows or by columns, and how far apart are they?
fn row(shared: &Operand, eight: &[Digit], four: &[Digit], two: &Digit, facts: &Facts) -> Result<(bool, Dim), Reject> {
    let (s8, s4) = (stride_of(eight), stride_of(four));
    let (Some(s8), Some(s4)) = (s8, s4) else {
        return Err(not_fragment(shared, "has no single stride between the rows and the columns of a fragment"));
    };
    let s2 = &two.shared;
    let positive = |d: &Dim| d.as_const().map_or_else(|| facts.is_nonneg(d), |v| v > 0);
    if s4.is(2) && s2.is(1) && positive(&s8) {
        return Ok((false, s8));
    }
    if s8.is(1) && s4 == s2.mul(&Dim::Const(2)) && positive(s2) {
        return Ok((true, s2.clone()));
    }
    let why = format!(
        "has strides {s8}, {s4}, {s2} over the rows, pairs and elements of a fragment, needs p, 2, 1 or (transposed) 1, 2p, p"
    );
    Err(Reject::NotContiguous { operand: shared.buf.to_string(), why })
}

/// The one stride of digits that continue each other.
fn stride_of(digits: &[Digit]) -> Option<Dim> {
    let last = digits.last()?;
    let (mut reach, mut ok) = (last.shared.mul(&Dim::Const(last.extent)), true);
    for d in digits.iter().rev().skip(1) {
        ok &= d.shared == reach;
        reach = reach.mul(&Dim::Const(d.extent));
    }
    ok.then(|| last.shared.clone())
}

/// Chooses `num` fragments for an instruction: the nearest in shared memory (`by_shared`) or in the registers. Returns
/// them by descending register stride, and the digits that are left.
fn cut(rest: &[Digit], num: i64, by_shared: bool) -> Option<(Vec<Digit>, Vec<Digit>)> {
    let mut sorted = rest.to_vec();
    let far = |d: &Digit| d.shared.as_const().unwrap_or(i64::MAX);
    if by_shared {
        sorted.sort_by_key(|d| std::cmp::Reverse(far(d)));
    } else {
        sorted.sort_by_key(|d| std::cmp::Reverse(d.regs));
    }
    let (mut outer, mut tiles) = split_at(&sorted, num)?;
    if num > 1 && tiles.iter().any(|d| d.shared.as_const().is_some_and(|v| v <= 0)) {
        return None;
    }
    tiles.sort_by_key(|d| std::cmp::Reverse(d.regs));
    tiles.retain(|d| d.extent > 1);
    outer.retain(|d| d.extent > 1);
    outer.sort_by_key(|d| std::cmp::Reverse(d.regs));
    Some((tiles, outer))
}

fn candidate(view: &CopyView, load: bool, regs: &Operand, shared: &Operand, fit: Fit, target: &Target) -> Candidate {
    let m_outer = fit.outer.iter().fold(1i64, |p, d| p * d.extent);
    let row = fit.row.as_const();
    let mut params = vec![
        ("direction", ParamValue::Text(if load { "ld" } else { "st" }.to_owned())),
        ("num", ParamValue::Int(fit.num)),
        ("trans", ParamValue::Bool(fit.trans)),
        ("row_stride", row.map_or_else(|| ParamValue::Text(fit.row.to_string()), ParamValue::Int)),
        ("m_outer", ParamValue::Int(m_outer)),
        ("t_total", ParamValue::Int(fit.threads)),
        ("m_total", ParamValue::Int(fit.held)),
    ];
    params.push(("lane_axis", ParamValue::Text(fit.axis.as_str().to_owned())));
    let ways = row.map_or(1, |p| conflicts_of(&fit, p, target.lds_banks));
    let mut notes = Vec::new();
    if ways > 1 {
        notes.push(format!("`{}`: {ways}-way bank conflicts", shared.buf));
    }
    let guard = guard(view, &fit, load);
    let runs = |t: &u32| guard.as_ref().is_none_or(|g| view.active.eval_at(g, *t) != Some(0));
    let warps = view.active.iter().filter(runs).count() as u64 / u64::from(view.warp.max(1));
    let one = target.costs.cu.matrix_access(u64::try_from(fit.num).unwrap_or(1), ways);
    let cost = one.times(u64::try_from(m_outer).unwrap_or(1)).times(warps);
    let writer = Writer { load, regs: regs.buf.clone(), shared: shared.buf.clone(), guard, fit };
    let emit = Box::new(move |rw: &mut Rewriter| {
        writer.write(rw);
        Completion::Done
    });
    let conflicts = vec![Conflict { operand: shared.buf.clone(), ways }];
    Candidate { params, cost, notes, conflicts, gated: false, emit }
}

/// The worst of the phases of one instruction: the eight rows of each fragment, `pitch` elements apart, are one phase.
fn conflicts_of(fit: &Fit, pitch: i64, banks: u32) -> u64 {
    let base = fit.base.as_const().unwrap_or(0);
    let phase = |i: i64| {
        let start = base + fragment_of(i, &fit.tiles);
        let at = |r: i64| {
            let m = start + r * pitch;
            fit.swizzle.map_or(m, |s| s.apply(m)) * 2
        };
        conflict_ways(&(0..ROW).map(at).collect::<Vec<i64>>(), i64::from(ROW_BYTES), banks)
    };
    (0..fit.num).map(phase).max().unwrap_or(1)
}

/// Where fragment `i` of an instruction begins in shared memory; symbolic strides count as 0.
fn fragment_of(mut i: i64, tiles: &[Digit]) -> i64 {
    let mut at = 0;
    for d in tiles.iter().rev() {
        at += i % d.extent * d.shared.as_const().unwrap_or(0);
        i /= d.extent;
    }
    at
}

/// Whole warps that hold nothing stay out; of warps that hold the same, one stores.
fn guard(view: &CopyView, fit: &Fit, load: bool) -> Option<Expr> {
    let number = coordinate(&fit.axis, view.warp)?;
    let beyond = view.active.iter().any(|t| view.active.eval_at(&number, t).is_none_or(|v| v >= fit.threads));
    let mut conditions = Vec::new();
    if beyond {
        let warp = warp_number(&fit.axis);
        conditions.push(Expr::binary(BinOp::Lt, warp, Expr::int(fit.threads / LANES)));
    }
    let copies = match (view.scope, &fit.axis) {
        _ if load => None,
        (Scope::Cta, Axis::LaneId) => Some(Expr::special(Special::Warp)),
        (Scope::Warpgroup, Axis::LaneId) => Some(Expr::special(Special::Warp).rem_by(4)),
        (Scope::Cta, Axis::TidInWg) => Some(Expr::special(Special::Warp).div_by(4)),
        _ => None,
    };
    if let Some(which) = copies {
        let differ = view.active.iter().any(|t| view.active.eval_at(&which, t) != Some(0));
        conditions.extend(differ.then(|| Expr::binary(BinOp::Eq, which, Expr::int(0))));
    }
    conditions.into_iter().reduce(|a, b| Expr::binary(BinOp::LAnd, a, b))
}

/// Number of the warp among those that the axis counts.
fn warp_number(axis: &Axis) -> Expr {
    match axis {
        Axis::Tx => Expr::special(Special::Warp),
        Axis::TidInWg => Expr::special(Special::Warp).rem_by(4),
        _ => Expr::int(0),
    }
}

/// Writes the instructions.
struct Writer {
    load: bool,
    regs: Name,
    shared: Name,
    guard: Option<Expr>,
    fit: Fit,
}

impl Writer {
    fn write(&self, rw: &mut Rewriter) {
        match self.guard.clone() {
            Some(cond) => rw.if_(cond, |rw| self.inside(rw)),
            None => self.inside(rw),
        }
    }

    fn inside(&self, rw: &mut Rewriter) {
        let fit = &self.fit;
        let lane = Expr::special(Special::Lane);
        let mut m = fit.base.to_expr();
        m = add_digits(m, &warp_number(&fit.axis), &fit.warps);
        m = add_digits(m, &lane.clone().div_by(ROW), &fit.tiles);
        m = m.add(lane.rem_by(ROW).mul(fit.row.to_expr()));
        let start = rw.let_("s", m);
        self.nest(rw, &fit.outer, start, fit.reg_base.to_expr());
    }

    /// Loops over instructions; `m` is the row's address, `r` the first register, both in elements.
    fn nest(&self, rw: &mut Rewriter, outer: &[Digit], m: Expr, r: Expr) {
        let Some((digit, inner)) = outer.split_first() else { return self.one(rw, m, &r) };
        rw.for_("i", Expr::int(0), Expr::int(digit.extent), true, |rw, i| {
            let m = m.add(i.clone().mul(digit.shared.to_expr()));
            let r = r.add(i.mul(Expr::int(digit.regs)));
            self.nest(rw, inner, m, r);
        });
    }

    fn one(&self, rw: &mut Rewriter, m: Expr, r: &Expr) {
        let address = match self.fit.swizzle {
            None => m,
            Some(s) => {
                let m = rw.let_("s", m);
                tilewright_passes::select::partition::swizzle_expr(&s, m)
            }
        };
        let mut args = vec![PrimArg::Place(rw.place(&self.shared, None, address))];
        for i in 0..self.fit.num {
            let flat = r.clone().add(Expr::int(register_of(i, &self.fit.tiles)));
            args.push(PrimArg::Place(rw.place(&self.regs, None, flat)));
        }
        let op = if self.load { "nv.ldmatrix" } else { "nv.stmatrix" };
        rw.prim(op, args, vec![("num", AttrValue::Int(self.fit.num)), ("trans", AttrValue::Bool(self.fit.trans))]);
    }
}

/// `start + Σ digit * stride`, the digits (outermost first) of `number`.
fn add_digits(start: Expr, number: &Expr, digits: &[Digit]) -> Expr {
    let (mut total, mut div) = (start, 1);
    for d in digits.iter().rev() {
        // Reduced always: lanes whose addresses are not used must name valid rows, too.
        let value = number.clone().div_by(div).rem_by(d.extent);
        total = total.add(value.mul(d.shared.to_expr()));
        div *= d.extent;
    }
    total
}

/// Register offset of fragment `i` of an instruction.
fn register_of(mut i: i64, tiles: &[Digit]) -> i64 {
    let mut at = 0;
    for d in tiles.iter().rev() {
        at += i % d.extent * d.regs;
        i /= d.extent;
    }
    at
}

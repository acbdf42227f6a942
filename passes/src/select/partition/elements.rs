//! The loop over single elements: right for every layout, fast for none.
//!
//! Digits are those of the copy's own index. The address on each side is what the layout says, by division and remainder.
//! Between memories one thread of each group does everything; for a local operand every thread runs the loop and acts
//! where the element is its own.

use std::collections::{BTreeMap, BTreeSet};

use tilewright_ir::{Axis, BinOp, Completion, Dim, Expr, Iter, Layout, Scope, Space, Special};
use tilewright_target::Target;

use super::build::Crew;
use super::bytes;
use super::copy::{Move, check_attrs, flat_of};
use super::digits::is_memory;
use super::emit::{Script, all_of};
use super::owners::{coordinate, coordinate_of, groups, whole_groups};
use super::price::{Priced, price};
use super::vector::Limit;
use super::walk::{Side, Term, Walk, parts_of};
use super::work::Dealing;
use crate::select::rewriter::Rewriter;
use crate::select::variant::{Candidate, CopyView, Operand, ParamValue, Reject};

/// Most elements whose ownership is checked one by one at compile time.
pub(super) const CHECK_LIMIT: i64 = 1 << 16;

/// The layout that addresses an operand, and the flat index into it of the copy's first element and per digit.
pub(super) struct Reach {
    /// Of the operand's slice, or of its whole buffer.
    pub layout: Layout,
    /// Flat index of the first element.
    pub base: Dim,
    /// What one step of each of the copy's dimensions adds to the flat index.
    pub weights: Vec<Dim>,
}

fn layout_error(op: &Operand, why: String) -> Reject {
    Reject::Layout { operand: op.buf.to_string(), why }
}

/// By the slice where there is one, else by the layout of the whole buffer.
fn reach(op: &Operand, extents: &[Dim]) -> Result<Reach, Reject> {
    if let Ok(slice) = &op.slice {
        return Ok(Reach { layout: slice.clone(), base: Dim::ZERO, weights: row_major(extents) });
    }
    let shape = &op.ty.shape;
    let strides = row_major(shape);
    let mut base = Dim::ZERO;
    let mut weights = Vec::new();
    for (span, stride) in op.region.iter().zip(&strides) {
        base = base.add(&span.begin.mul(stride));
        if !span.extent.is(1) {
            weights.push(stride.clone());
        }
    }
    if weights.len() != extents.len() {
        return Err(layout_error(
            op,
            format!("has {} dimensions that are not 1, the copy {}", weights.len(), extents.len()),
        ));
    }
    Ok(Reach { layout: op.ty.layout().over(shape), base, weights })
}

fn row_major(extents: &[Dim]) -> Vec<Dim> {
    let mut weight = Dim::ONE;
    let mut out: Vec<Dim> = extents
        .iter()
        .rev()
        .map(|e| {
            let w = weight.clone();
            weight = weight.mul(e);
            w
        })
        .collect();
    out.reverse();
    out
}

/// The part of `reach` on one axis, as a side of the walk.
fn side_on(op: &Operand, reach: &Reach, axis: &Axis) -> Side {
    let tile = &reach.layout.tile;
    let on_m = *axis == Axis::M;
    let mut side = Side::new(op, tile.offset_on(axis), reach.layout.swizzle.filter(|_| on_m));
    let iters: Vec<Iter> = tile.shard.iter().filter(|it| !it.extent.is(1) || !reach.base.is(0)).cloned().collect();
    let mut parts = parts_of(&iters);
    parts.retain(|p| p.axis == *axis && !p.stride.is(0));
    for p in &mut parts {
        p.axis = Axis::M;
    }
    let q = reach.weights.iter().enumerate().map(|(v, w)| (v, w.clone())).collect();
    if !parts.is_empty() {
        side.terms.push(Term::Mixed { base: reach.base.clone(), q, parts });
    }
    side
}

/// Adds the replicas of `op` on `axis` to side `k` as further loops.
fn add_replicas(walk: &mut Walk, k: usize, reach: &Reach, axis: &Axis) {
    for it in reach.layout.tile.replica.iter().filter(|it| it.axis == *axis && !it.extent.is(1)) {
        let var = walk.add_var(it.extent.clone());
        walk.sides[k].terms.push(Term::Digit { var, stride: it.stride.clone() });
    }
}

/// One element at a time.
///
/// # Errors
/// Owners of a local operand that do not run the copy, or bytes that two threads would write.
pub fn plan_elements(view: &CopyView, target: &Target) -> Result<Candidate, Reject> {
    check_attrs(view)?;
    let crew = Crew::of(view)?;
    let bits = view.dst.dtype().bits();
    if let Some(forced) = view.attrs.vec.filter(|v| *v != bits) {
        return Err(Reject::Attribute { why: format!("vec = {forced}: this moves single elements of {bits} bits") });
    }
    let reaches = [reach(&view.dst, &view.extents)?, reach(&view.src, &view.extents)?];
    let ops = [&view.dst, &view.src];
    let mut walk = Walk { vars: Vec::new(), order: Vec::new(), sides: Vec::new(), guards: Vec::new(), n: 1 };
    for extent in &view.extents {
        walk.add_var(extent.clone());
    }
    for (op, r) in ops.iter().zip(&reaches) {
        check_axes(op, &r.layout)?;
        walk.sides.push(side_on(op, r, &Axis::M));
    }
    add_replicas(&mut walk, 0, &reaches[0], &Axis::M);
    let own = ops.iter().position(|op| op.space() == Space::Local);
    if bits < 8 && view.dst.space() != Space::Local {
        bytes::apart(view, &reaches, own.is_some())?;
    }
    let mut axes = Vec::new();
    match own {
        None => walk.guards.extend(first_of_each(&crew)),
        Some(k) => {
            owned(&ops, &reaches, k, view, &crew)?;
            for axis in reaches[k].layout.tile.thread_axes() {
                walk.sides.push(side_on(ops[k], &reaches[k], &axis));
                // Of a source, too: the first owner may be one that does not run the copy.
                let side = walk.sides.len() - 1;
                add_replicas(&mut walk, side, &reaches[k], &axis);
                axes.push(axis);
            }
        }
    }
    Ok(candidate(view, walk, axes, own, target))
}

fn check_axes(op: &Operand, layout: &Layout) -> Result<(), Reject> {
    let iters = layout.tile.shard.iter().chain(&layout.tile.replica).filter(|it| !it.extent.is(1));
    for axis in iters.map(|it| &it.axis).chain(layout.tile.offset.keys()) {
        if !(is_memory(axis) || op.space() == Space::Local && axis.is_thread()) {
            return Err(layout_error(
                op,
                format!("is spread over axis {axis}, which {} memory does not have", op.space()),
            ));
        }
    }
    Ok(())
}

/// Condition that holds for the first active thread of each group only.
fn first_of_each(crew: &Crew<'_>) -> Option<Expr> {
    if crew.scope == Scope::Thread {
        return None;
    }
    let firsts = groups(crew.active, crew.scope).into_iter().filter_map(|g| g.first().copied());
    let is = |t: u32| Expr::binary(BinOp::Eq, Expr::special(Special::ThreadLinear), Expr::int(i64::from(t)));
    firsts.map(is).reduce(|a, b| Expr::binary(BinOp::LOr, a, b)).filter(|_| crew.active.count() > 1)
}

/// Checks that the elements of local operands are held by threads that run the copy, and no byte is written by two.
fn owned(ops: &[&Operand; 2], reaches: &[Reach; 2], k: usize, view: &CopyView, crew: &Crew<'_>) -> Result<(), Reject> {
    let unknown = |op: &Operand| layout_error(op, "has owners that are not known at compile time".to_owned());
    let spread = |r: &Reach| !r.layout.tile.thread_axes().is_empty();
    let count = view.extents.iter().fold(Dim::ONE, |p, e| p.mul(e)).as_const();
    let both = ops.iter().all(|op| op.space() == Space::Local);
    let needs_check = spread(&reaches[k]) || both && spread(&reaches[1]);
    if !needs_check {
        return Ok(());
    }
    // Whoever holds an element of the one holds it of the other.
    let same_owners = !both || same_threads(&reaches[0], &reaches[1]);
    let count = count.filter(|n| *n <= CHECK_LIMIT);
    let Some(count) = count else { return Err(unknown(ops[k])) };
    let all = groups(crew.active, crew.scope).into_iter().zip(whole_groups(crew.active, crew.scope));
    for (group, whole) in all {
        let at = |r: &Reach, list: &[u32]| by_coordinates(r, list, crew.active.warp());
        let have = at(&reaches[k], &group);
        if same_owners && fills_bounds(&reaches[k], &have) {
            continue;
        }
        let from = at(&reaches[1], &group);
        // A destination may have elements of threads that are not active: nobody gets them.
        let known = if k == 0 { at(&reaches[k], &whole) } else { have.clone() };
        for element in 0..count {
            let held = holders(&reaches[k], view, element, &have).ok_or_else(|| unknown(ops[k]))?;
            let lost = held.is_empty() && holders(&reaches[k], view, element, &known).is_none_or(|h| h.is_empty());
            if lost {
                let why = format!(
                    "element {element} of `{}` is in a thread that does not run the copy by {}",
                    ops[k].buf, crew.scope
                );
                return Err(Reject::Threads { why });
            }
            if both {
                let other = holders(&reaches[1], view, element, &from).ok_or_else(|| unknown(ops[1]))?;
                if let Some(t) = held.difference(&other).next() {
                    let why = format!(
                        "has element {element} in another thread than `{}`: thread {t} does not hold it (stage through shared memory)",
                        ops[0].buf
                    );
                    return Err(layout_error(ops[1], why));
                }
            }
        }
    }
    Ok(())
}

/// Threads by their coordinates on the thread axes of a layout.
pub(super) type ByCoordinates = BTreeMap<Vec<i64>, BTreeSet<u32>>;

/// Threads of `group` by their coordinates on the layout's thread axes.
pub(super) fn by_coordinates(reach: &Reach, group: &[u32], warp: u32) -> ByCoordinates {
    let axes = reach.layout.tile.thread_axes();
    let mut out = ByCoordinates::new();
    for &t in group {
        if let Some(point) = axes.iter().map(|a| coordinate_of(a, t, warp)).collect::<Option<Vec<i64>>>() {
            out.entry(point).or_default().insert(t);
        }
    }
    out
}

/// Has every place between the least and the largest coordinates that the layout reaches a thread? Then every element
/// has one, and the elements need not be asked one by one.
fn fills_bounds(reach: &Reach, threads: &ByCoordinates) -> bool {
    let tile = &reach.layout.tile;
    let bounds: Result<Vec<(i64, i64)>, _> = tile.thread_axes().iter().map(|a| tile.bounds_on(a)).collect();
    let Ok(bounds) = bounds else { return false };
    let places = bounds.iter().fold(1i64, |n, (lo, hi)| n.saturating_mul(hi.saturating_sub(*lo).saturating_add(1)));
    let inside = |point: &&Vec<i64>| point.iter().zip(&bounds).all(|(v, (lo, hi))| lo <= v && v <= hi);
    i64::try_from(threads.keys().filter(inside).count()) == Ok(places)
}

/// Are the threads of an element the same by both layouts? Only the plain case is seen: the same digits, each with the
/// same effect on thread coordinates. False says nothing.
fn same_threads(a: &Reach, b: &Reach) -> bool {
    let on_threads = |it: &Iter| it.axis.is_thread().then(|| (it.axis.clone(), it.stride.clone()));
    let digits =
        |r: &Reach| -> Vec<_> { r.layout.tile.shard.iter().map(|it| (it.extent.clone(), on_threads(it))).collect() };
    let copies =
        |r: &Reach| -> Vec<Iter> { r.layout.tile.replica.iter().filter(|it| it.axis.is_thread()).cloned().collect() };
    let axes = a.layout.tile.thread_axes();
    a.base == b.base
        && a.weights == b.weights
        && axes == b.layout.tile.thread_axes()
        && axes.iter().all(|axis| a.layout.tile.offset_on(axis) == b.layout.tile.offset_on(axis))
        && digits(a) == digits(b)
        && copies(a) == copies(b)
}

/// The threads that hold an element; `None` if the layout is not constant.
pub(super) fn holders(reach: &Reach, view: &CopyView, element: i64, threads: &ByCoordinates) -> Option<BTreeSet<u32>> {
    let mut flat = reach.base.as_const()?;
    let mut rest = element;
    for (extent, weight) in view.extents.iter().zip(&reach.weights).rev() {
        let e = extent.as_const()?;
        flat += rest % e * weight.as_const()?;
        rest /= e;
    }
    let tile = &reach.layout.tile;
    let axes = tile.thread_axes();
    let point = tile.apply_flat(flat).ok()?;
    let mut places = vec![axes.iter().map(|a| point.get(a).copied().unwrap_or(0)).collect::<Vec<i64>>()];
    for it in &tile.replica {
        let Some(k) = axes.iter().position(|a| *a == it.axis) else { continue };
        let (extent, stride) = (it.extent.as_const()?, it.stride.as_const()?);
        let mut more = Vec::new();
        for r in 1..extent {
            more.extend(places.iter().map(|p| {
                let mut p = p.clone();
                p[k] += r * stride;
                p
            }));
        }
        places.extend(more);
    }
    Some(places.iter().filter_map(|p| threads.get(p)).flatten().copied().collect())
}

fn candidate(view: &CopyView, walk: Walk, axes: Vec<Axis>, own: Option<usize>, target: &Target) -> Candidate {
    let bits = view.dst.dtype().bits();
    let warp = view.warp;
    let script = Script { walk, worker: None, dealing: Dealing::Loops, registers: own.is_some() };
    let priced = [&view.dst, &view.src].map(|op| Priced { space: op.space(), bits });
    let price = price(&script, &priced, &view.active, target);
    let align = [&view.dst, &view.src].map(|op| i64::from(Limit::of(op, target).align)).into_iter().min();
    let align = align.filter(|a| a * 8 < i64::from(bits));
    let step = if bits < 8 { Move::Element } else { Move::Vector { op: "vec.copy", n: 1, align } };
    let mut notes = price.notes;
    notes.insert(
        0,
        match own {
            None if view.scope != Scope::Thread => format!("element by element by one thread of the {}", view.scope),
            _ => "element by element".to_owned(),
        },
    );
    let emit = Box::new(move |rw: &mut Rewriter| {
        script.write(rw, &|rw, places| {
            let mine = axes.iter().zip(&places[2..]).filter_map(|(axis, place)| {
                let coord = coordinate(axis, warp)?;
                Some(Expr::binary(BinOp::Eq, coord, flat_of(place)))
            });
            match all_of(mine.collect()) {
                Some(cond) => rw.if_(cond, |rw| step.write(rw, places)),
                None => step.write(rw, places),
            }
        });
        Completion::Done
    });
    Candidate {
        params: vec![("vec_bits", ParamValue::Int(i64::from(bits)))],
        cost: price.cost,
        notes,
        conflicts: price.conflicts,
        gated: false,
        emit,
    }
}

//! From operands to a walk: digits of all sides, with the thread digits of local operands settled.

use tilewright_ir::facts::Facts;
use tilewright_ir::threads::ActiveSet;
use tilewright_ir::{Axis, Dim, Expr, Iter, Layout, Scope, Space};

use super::digits::{Chunk, is_memory, refine};
use super::owners::{Owners, covers, groups, holds, locate, place_on, whole_groups};
use super::walk::{Side, Term, Value, Walk};
use crate::select::variant::{CopyView, Operand, Reject};

/// Who runs the op and what is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crew<'a> {
    /// Threads that reach it.
    pub active: &'a ActiveSet,
    /// Scope.
    pub scope: Scope,
    /// What is known about values.
    pub facts: &'a Facts,
}

impl<'a> Crew<'a> {
    /// The crew of a view. Errors if the threads are not known exactly and the op is not by thread.
    pub(super) fn of(view: &'a CopyView) -> Result<Crew<'a>, Reject> {
        if view.active.opaque().is_some() && view.scope != Scope::Thread {
            let why = format!("the threads that reach a copy by {} are not known at compile time", view.scope);
            return Err(Reject::Threads { why });
        }
        if view.active.is_empty() {
            return Err(Reject::Threads { why: "no thread reaches it".to_owned() });
        }
        Ok(Crew { active: &view.active, scope: view.scope, facts: &view.facts })
    }
}

/// A walk and the sides that are in registers.
#[derive(Clone, Debug)]
pub(super) struct Built {
    /// The walk: thread digits settled, guards set.
    pub walk: Walk,
    /// A side in registers, if there is one; its threads do the work.
    pub driver: Option<usize>,
}

/// The slice of an operand, with axes checked.
fn slice_of(op: &Operand) -> Result<&Layout, Reject> {
    let layout = |why: String| Reject::Layout { operand: op.buf.to_string(), why };
    let slice = op.slice.as_ref().map_err(|e| layout(format!("has no layout of its own for this region: {e}")))?;
    let iters = slice.tile.shard.iter().chain(&slice.tile.replica);
    for axis in iters.filter(|it| !it.extent.is(1)).map(|it| &it.axis).chain(nonzero_offsets(slice)) {
        let local = op.space() == Space::Local;
        if !(is_memory(axis) || local && axis.is_thread()) {
            return Err(layout(format!("is spread over axis {axis}, which {} memory does not have", op.space())));
        }
    }
    Ok(slice)
}

fn nonzero_offsets(slice: &Layout) -> impl Iterator<Item = &Axis> {
    slice.tile.offset.iter().filter(|(_, d)| !d.is(0)).map(|(a, _)| a)
}

/// Builds the walk of `ops` (destination first).
///
/// # Errors
/// An operand without a slice, on axes that its space lacks, or whose owners do not run the op.
pub(super) fn build(ops: &[&Operand], crew: Crew<'_>) -> Result<Built, Reject> {
    let slices = ops.iter().map(|op| slice_of(op)).collect::<Result<Vec<_>, _>>()?;
    let shards: Vec<Vec<Iter>> = slices.iter().map(|s| s.tile.shard.clone()).collect();
    let chunks = refine(&shards, crew.facts)
        .map_err(|why| Reject::Layout { operand: ops[0].buf.to_string(), why: format!("does not match: {why}") })?;
    let driver = ops.iter().position(|op| op.space() == Space::Local);
    let sides = ops.iter().zip(&slices).map(|(op, s)| Side::new(op, s.tile.offset_on(&Axis::M), s.swizzle)).collect();
    let (mut walk, made) = Walk::new(&chunks, sides, driver);
    if let Some(d) = driver {
        settle(&mut walk, ops, &slices, &chunks, &made, d, crew)?;
    }
    for it in slices[0].tile.replica.iter().filter(|it| is_memory(&it.axis) && !it.extent.is(1)) {
        let var = walk.add_var(it.extent.clone());
        walk.sides[0].terms.push(Term::Digit { var, stride: it.stride.clone() });
    }
    Ok(Built { walk, driver })
}

/// Gives the thread digits of the driver their values and checks who holds what.
fn settle(
    walk: &mut Walk,
    ops: &[&Operand],
    slices: &[&Layout],
    chunks: &[Chunk],
    made: &[Vec<usize>],
    driver: usize,
    crew: Crew<'_>,
) -> Result<(), Reject> {
    let name = ops[driver].buf.as_str();
    let (mut iters, mut vars) = (Vec::new(), Vec::new());
    for (chunk, made) in chunks.iter().zip(made) {
        for (it, var) in chunk.sides[driver].iter().zip(made) {
            if it.axis.is_thread() && !it.stride.is(0) {
                iters.push(it.clone());
                vars.push(*var);
            }
        }
    }
    let tile = &slices[driver].tile;
    let owners = locate(name, tile, &iters, crew.active, crew.scope)?;
    let digits: Vec<(Expr, i64)> =
        owners.digits.iter().cloned().zip(iters.iter().map(|it| it.extent.as_const().unwrap_or(0))).collect();
    walk.guards = guards(&owners, &digits, ops[0].space() == Space::Local, crew).map_err(|(have, want)| {
        let axes: Vec<String> = tile.thread_axes().iter().map(ToString::to_string).collect();
        let why = format!(
            "`{name}` is spread over {want} places of axis {}, of which {have} are threads that run the copy in one {}",
            axes.join(", "),
            crew.scope
        );
        Reject::Threads { why }
    })?;
    for (var, (value, _)) in vars.iter().zip(&digits) {
        walk.vars[*var].value = Value::Thread(value.clone());
    }
    for k in (0..ops.len()).filter(|k| *k != driver && ops[*k].space() == Space::Local) {
        same_threads(walk, ops[k].buf.as_str(), &slices[k].tile, k, chunks, made, crew)?;
    }
    Ok(())
}

/// Conditions of the threads that take part: all active owners of a local destination, one owner of each element of a
/// local source where that can be said. An element of a destination may belong to a thread of the group that is not
/// active: nobody gets it then.
fn guards(
    owners: &Owners,
    digits: &[(Expr, i64)],
    all_owners: bool,
    crew: Crew<'_>,
) -> Result<Vec<Expr>, (usize, i64)> {
    let active = crew.active;
    let needed = |list: Vec<Expr>| -> Vec<Expr> {
        list.into_iter().filter(|g| active.iter().any(|t| active.eval_at(g, t) != Some(1))).collect()
    };
    if all_owners {
        covers(digits, &owners.guards, active, whole_groups(active, crew.scope))?;
        return Ok(needed(owners.guards.clone()));
    }
    let single: Vec<Expr> = owners.guards.iter().chain(&owners.single).cloned().collect();
    if covers(digits, &single, active, groups(active, crew.scope)).is_ok() {
        return Ok(needed(single));
    }
    covers(digits, &owners.guards, active, groups(active, crew.scope))?;
    Ok(needed(owners.guards.clone()))
}

/// Checks that the threads that work hold the elements of local side `k`, too.
fn same_threads(
    walk: &Walk,
    name: &str,
    tile: &tilewright_ir::TileLayout,
    k: usize,
    chunks: &[Chunk],
    made: &[Vec<usize>],
    crew: Crew<'_>,
) -> Result<(), Reject> {
    let elsewhere = |why: String| Reject::Layout { operand: name.to_owned(), why };
    let mut on_axis: Vec<(Axis, Vec<(Expr, Dim)>)> = tile.thread_axes().into_iter().map(|a| (a, Vec::new())).collect();
    for (chunk, made) in chunks.iter().zip(made) {
        for it in chunk.sides[k].iter().filter(|it| it.axis.is_thread() && !it.extent.is(1) && !it.stride.is(0)) {
            let value = match (chunk.is_digit(), made.first().map(|v| &walk.vars[*v].value)) {
                (true, Some(Value::Thread(e))) => e.clone(),
                _ => {
                    let why = format!(
                        "has {}:{}@{} where the other side is not spread alike; its elements would have to move between threads (stage through shared memory)",
                        it.extent, it.stride, it.axis
                    );
                    return Err(elsewhere(why));
                }
            };
            if let Some((_, digits)) = on_axis.iter_mut().find(|(a, _)| *a == it.axis) {
                digits.push((value, it.stride.clone()));
            }
        }
    }
    let wanted: Vec<(Axis, Expr)> = on_axis
        .into_iter()
        .map(|(a, d)| {
            let place = place_on(tile, &a, &d);
            (a, place)
        })
        .collect();
    holds(tile, &wanted, &walk.guards, crew.active).map_err(|t| {
        elsewhere(format!("is held by other threads: thread {t} has none of the elements that it would copy (stage through shared memory)"))
    })
}

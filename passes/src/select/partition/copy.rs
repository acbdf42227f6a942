//! Plans of copies: the vector loop, and the loop over single elements.

use tilewright_ir::facts::Facts;
use tilewright_ir::{AttrValue, Completion, Dim, Expr, Place, PlaceIndex, PrimArg, Space, StmtKind};
use tilewright_target::{Cost, Target};

use super::build::{Built, Crew, build};
use super::emit::Script;
use super::price::{Priced, price};
use super::vector::{Limit, carve, widths};
use super::walk::Walk;
use super::work::{Dealing, Workers, deal, deals_evenly, teams};
use crate::select::rewriter::Rewriter;
use crate::select::variant::{Candidate, Conflict, CopyView, Operand, ParamValue, Reject};

/// What a thread does at one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// `vec.copy`, or an op of its kind, of `n` elements; with an alignment if it is less than the width.
    Vector {
        /// The op.
        op: &'static str,
        /// Elements.
        n: i64,
        /// Bytes.
        align: Option<i64>,
    },
    /// Load and store of one element of less than a byte.
    Element,
}

impl Move {
    /// Writes it: `places[0] = places[1]`.
    pub(super) fn write(self, rw: &mut Rewriter, places: &[Place]) {
        match self {
            Move::Vector { op, n, align } => {
                let args = vec![PrimArg::Place(places[0].clone()), PrimArg::Place(places[1].clone())];
                let mut attrs = vec![("n", AttrValue::Int(n))];
                attrs.extend(align.map(|bytes| ("align", AttrValue::Int(bytes))));
                rw.prim(op, args, attrs);
            }
            Move::Element => {
                let value = load(rw, places[1].clone());
                rw.stmt(StmtKind::Store { to: places[0].clone(), value });
            }
        }
    }
}

/// `let v = place;` and the variable.
pub(super) fn load(rw: &mut Rewriter, from: Place) -> Expr {
    let name = rw.fresh("v");
    let value = Expr::var(&name);
    rw.stmt(StmtKind::Load { name, from });
    value
}

/// Rejects what no copy by threads can honour, whatever the layouts.
pub(super) fn check_attrs(view: &CopyView) -> Result<(), Reject> {
    let attribute = |why: &str| Err(Reject::Attribute { why: why.to_owned() });
    if view.attrs.notify.is_some() {
        return attribute("`notify` is sent by the queue of a copy engine; a copy by threads has none");
    }
    if view.attrs.plan.is_some() {
        return attribute("`plan` names a plan for the copy engines; a copy by threads has none");
    }
    if view.dst.dtype() != view.src.dtype() {
        return Err(Reject::Dtype { have: view.src.dtype(), need: "the dtype of the destination (use `cast`)" });
    }
    Ok(())
}

/// The vector loop: the widest accesses that the layouts, the alignment and the facts allow, by the owners of a local
/// operand or dealt out to the threads of the scope.
///
/// Parameters of the candidate: `vec_bits`, `vec_len` (elements), `outer_count` (accesses a thread makes; absent if
/// symbolic), and between memories `thread_cnt`.
///
/// # Errors
/// The rule that the copy does not meet.
pub fn plan_vectors(view: &CopyView, target: &Target) -> Result<Candidate, Reject> {
    plan_vectors_as("vec.copy", view, target)
}

/// [`plan_vectors`] with another op for the accesses: one with the operands and attributes of `vec.copy` (destination,
/// source; `n`, `align`), such as an extension brings along. Elements of less than a byte that fill no whole byte are
/// declined, since only loads and stores reach them.
///
/// # Errors
/// The rule that the copy does not meet.
pub fn plan_vectors_as(op: &'static str, view: &CopyView, target: &Target) -> Result<Candidate, Reject> {
    let mut plan = plan_of(view, target)?;
    if op != "vec.copy" {
        for (_, step) in &mut plan.scripts {
            match step {
                Move::Vector { op: written, .. } => *written = op,
                Move::Element => {
                    return Err(Reject::Dtype { have: view.dst.dtype(), need: "whole bytes at each step" });
                }
            }
        }
    }
    Ok(candidate(view, plan, target))
}

fn plan_of(view: &CopyView, target: &Target) -> Result<Plan, Reject> {
    check_attrs(view)?;
    let crew = Crew::of(view)?;
    let ops = [&view.dst, &view.src];
    let mut built = build(&ops, crew)?;
    let limits: Vec<Limit> = ops.iter().map(|op| Limit::of(op, target)).collect();
    built.walk.sort_by(lead_side(view));
    built.walk.fuse();
    match built.driver {
        Some(_) => by_owners(view, &built, &limits, crew),
        None => by_workers(view, &built, &limits, crew),
    }
}

/// What was decided.
struct Plan {
    /// Scripts in order: the accesses, then what is left of rows of elements of less than a byte.
    scripts: Vec<(Script, Move)>,
    /// How many of them the first groups run: those of `outer_count`.
    counted: usize,
    /// Threads a group, between memories; of the largest groups where they differ.
    workers: Option<i64>,
    /// Remarks.
    notes: Vec<String>,
}

/// An access, and why nothing wider was taken.
struct Width {
    walk: Walk,
    why: Option<String>,
}

/// Says which of several walks to take, by position.
type Choose<'a> = &'a dyn Fn(&[Walk]) -> usize;

/// Of the widths that fit, widest first, the one whose position `choose` says; the widest if it is not asked.
fn widest(
    view: &CopyView,
    walk: &Walk,
    limits: &[Limit],
    facts: &Facts,
    finish: &dyn Fn(&mut Walk),
    choose: Option<Choose<'_>>,
) -> Result<Width, Option<Reject>> {
    let bits = limits[0].bits;
    let all = widths(limits);
    if let Some(forced) = view.attrs.vec {
        return forced_width(view, forced, walk, limits, facts, &all).map_err(Some).map(|mut walk| {
            finish(&mut walk);
            Width { walk, why: None }
        });
    }
    let (mut fit, mut why, mut reject): (Vec<Walk>, Option<String>, Option<Reject>) = (Vec::new(), None, None);
    for width in all {
        match carve(walk, i64::from(width / bits), limits, facts) {
            Ok(mut fits) => {
                finish(&mut fits);
                fit.push(fits);
                if choose.is_none() {
                    break;
                }
            }
            Err(r) => {
                why.get_or_insert_with(|| format!("not {width} bits: {r}"));
                reject.get_or_insert(r);
            }
        }
    }
    if fit.is_empty() {
        return Err(reject);
    }
    let at = choose.map_or(0, |choose| choose(&fit));
    let walk = fit.swap_remove(at.min(fit.len() - 1));
    // What only narrower accesses do not fit is no reason.
    let taken = walk.n * i64::from(bits);
    Ok(Width { why: why.filter(|_| taken < i64::from(all_max(limits))), walk })
}

/// The widest access that all sides allow, in bits.
fn all_max(limits: &[Limit]) -> u32 {
    widths(limits).first().copied().unwrap_or(0)
}

/// Which of the widths, widest first, is dealt to `workers` workers: the widest that gives all of them the same number of
/// accesses, unless the widest that gives all of them something (else the widest of all) needs less than half the rounds.
fn balanced(fit: &[Walk], workers: i64, facts: &Facts) -> usize {
    let rounds = |w: &Walk| w.items().as_const().map(|n| (n + workers - 1) / workers);
    let busy = |w: &Walk| w.items().as_const().is_none_or(|n| n >= workers);
    let wide = fit.iter().position(busy).unwrap_or(0);
    let even = fit.iter().position(|w| deals_evenly(w, workers, facts));
    match even {
        Some(even) => match (rounds(&fit[even]), rounds(&fit[wide])) {
            (Some(e), Some(w)) if e > 2 * w => wide,
            _ => even,
        },
        None => wide,
    }
}

/// The width that the author asks for.
fn forced_width(
    view: &CopyView,
    forced: u32,
    walk: &Walk,
    limits: &[Limit],
    facts: &Facts,
    all: &[u32],
) -> Result<Walk, Reject> {
    let dtype = view.dst.dtype();
    if !all.contains(&forced) {
        let list: Vec<String> = all.iter().map(ToString::to_string).collect();
        let why = format!("vec = {forced}: accesses of {dtype} here have {} bits", list.join(", "));
        return Err(Reject::Attribute { why });
    }
    carve(walk, i64::from(forced / limits[0].bits), limits, facts)
        .map_err(|r| Reject::Attribute { why: format!("vec = {forced}: {r}") })
}

/// A copy with a side in registers: the owners do it.
fn by_owners(view: &CopyView, built: &Built, limits: &[Limit], crew: Crew<'_>) -> Result<Plan, Reject> {
    let lead = lead_side(view);
    let finish = |walk: &mut Walk| {
        walk.sort_by(lead);
        walk.fuse();
    };
    let found = widest(view, &built.walk, limits, crew.facts, &finish, None);
    let (walk, why, step) = match found {
        Ok(Width { walk, why }) => {
            let step = vector(&walk, limits);
            (walk, why, step)
        }
        Err(reject) => {
            // Only elements of less than a byte have no width at all. Registers may take them one by one.
            if let (Some(reject), true) = (reject, view.attrs.vec.is_some()) {
                return Err(reject);
            }
            if view.dst.space() != Space::Local && writers(&built.walk, crew) > 1 {
                return Err(shared_byte(view));
            }
            let mut walk = built.walk.clone();
            finish(&mut walk);
            (walk, Some("element by element: no whole bytes are contiguous".to_owned()), Move::Element)
        }
    };
    let script = Script { walk, worker: None, dealing: Dealing::Loops, registers: true };
    Ok(Plan { scripts: vec![(script, step)], counted: 1, workers: None, notes: why.into_iter().collect() })
}

/// Threads that pass the guards.
fn writers(walk: &Walk, crew: Crew<'_>) -> usize {
    let meets = |t: &u32| walk.guards.iter().all(|g| crew.active.eval_at(g, *t) != Some(0));
    crew.active.iter().filter(meets).count()
}

fn shared_byte(view: &CopyView) -> Reject {
    shared_byte_of(&view.dst)
}

/// The destination has elements of less than a byte, and two threads would write the same byte.
pub(super) fn shared_byte_of(dst: &Operand) -> Reject {
    let (buf, dtype) = (&dst.buf, dst.dtype());
    let bits = dtype.bits();
    let why = format!(
        "bytes of `{buf}` would be written by two threads: {dtype} has {bits} bits, and no {} neighbours fill a whole byte on both sides",
        8 / bits
    );
    Reject::Threads { why }
}

fn vector(walk: &Walk, limits: &[Limit]) -> Move {
    let bytes = |l: &Limit| (walk.n * i64::from(l.bits) + 7) / 8;
    let least = limits.iter().filter(|l| i64::from(l.align) < bytes(l)).map(|l| i64::from(l.align)).min();
    Move::Vector { op: "vec.copy", n: walk.n, align: least }
}

/// A copy between memories: dealt out to the threads of the scope.
fn by_workers(view: &CopyView, built: &Built, limits: &[Limit], crew: Crew<'_>) -> Result<Plan, Reject> {
    let unnumbered = || {
        let why = format!("no simple formula numbers the active threads of a {}", crew.scope);
        Reject::Threads { why }
    };
    let teams = teams(crew.active, crew.scope).ok_or_else(unnumbered)?;
    let mut plan: Option<Plan> = None;
    for team in &teams {
        let next = by_team(view, built, limits, crew, team)?;
        match &mut plan {
            None => plan = Some(next),
            Some(plan) => plan.scripts.extend(next.scripts),
        }
    }
    plan.ok_or_else(unnumbered)
}

/// The work of the groups of one size.
fn by_team(view: &CopyView, built: &Built, limits: &[Limit], crew: Crew<'_>, team: &Workers) -> Result<Plan, Reject> {
    let lead = lead_side(view);
    let finish = |walk: &mut Walk| {
        walk.sort_by(lead);
        walk.fuse();
    };
    let choose = |fit: &[Walk]| balanced(fit, team.count, crew.facts);
    match widest(view, &built.walk, limits, crew.facts, &finish, Some(&choose)) {
        Ok(Width { walk, why }) => {
            let step = vector(&walk, limits);
            let script = dealt(walk, team, crew.facts);
            let notes = why.into_iter().collect();
            Ok(Plan { scripts: vec![(script, step)], counted: 1, workers: Some(team.count), notes })
        }
        Err(Some(reject)) if view.attrs.vec.is_some() => Err(reject),
        Err(_) => odd_rows(view, built, limits, crew, team, &finish),
    }
}

/// The side whose order the accesses follow: the one in device memory, where neighbouring threads should be neighbours in
/// memory; else the one in shared memory; the destination if both are alike.
fn lead_side(view: &CopyView) -> usize {
    let far = |op: &Operand| match op.space() {
        Space::Global | Space::Window => 2,
        Space::Shared => 1,
        Space::Local => 0,
    };
    usize::from(far(&view.src) > far(&view.dst))
}

fn dealt(mut walk: Walk, team: &Workers, facts: &Facts) -> Script {
    walk.guards.extend(team.guard.clone());
    let dealing = deal(&mut walk, team.count, facts);
    Script { walk, worker: Some(team.number.clone()), dealing, registers: false }
}

/// Rows of elements of less than a byte whose length is odd: whole bytes as accesses, the rest of each row by one thread,
/// element by element.
fn odd_rows(
    view: &CopyView,
    built: &Built,
    limits: &[Limit],
    crew: Crew<'_>,
    team: &Workers,
    finish: &dyn Fn(&mut Walk),
) -> Result<Plan, Reject> {
    if team.count == 1 && team.groups == 1 {
        let mut walk = built.walk.clone();
        finish(&mut walk);
        let script = dealt(walk, team, crew.facts);
        let notes = vec!["element by element: no whole bytes are contiguous".to_owned()];
        return Ok(Plan { scripts: vec![(script, Move::Element)], counted: 1, workers: Some(1), notes });
    }
    let bits = limits[0].bits;
    let run =
        built.walk.order.iter().copied().find(|v| built.walk.sides.iter().all(|s| s.stride(*v) == Some(Dim::ONE)));
    let row = run.and_then(|v| Some((v, built.walk.vars[v].extent.as_const()?)));
    let (Some((var, length)), true) = (row, team.groups == 1) else { return Err(shared_byte(view)) };
    let rows = |from: i64, extent: i64| {
        let mut walk = built.walk.clone();
        walk.vars[var].extent = Dim::Const(extent);
        for side in &mut walk.sides {
            side.base = side.base.add(&Dim::Const(from));
        }
        walk
    };
    // The width that leaves the fewest steps: accesses a thread, plus the rest element by element (two accesses each).
    let mut best: Option<(i64, Vec<(Script, Move)>)> = None;
    for width in widths(limits) {
        let n = i64::from(width / bits);
        let (whole, rest) = (length / n * n, length % n);
        let Ok(mut main) = carve(&rows(0, whole), n, limits, crew.facts) else { continue };
        finish(&mut main);
        let step = vector(&main, limits);
        let mut scripts = Vec::new();
        let accesses = main.items().as_const().unwrap_or(i64::MAX / 4);
        let steps = accesses.div_euclid(team.count).saturating_add(2 * rest);
        if whole > 0 {
            scripts.push((dealt(main, team, crew.facts), step));
        }
        let mut tail = rows(whole, rest);
        tail.order.retain(|v| *v != var);
        finish(&mut tail);
        let mut tail = dealt(tail, team, crew.facts);
        tail.walk.order.push(var); // a row's rest stays with one thread
        scripts.push((tail, Move::Element));
        if best.as_ref().is_none_or(|(s, _)| steps < *s) {
            best = Some((steps, scripts));
        }
    }
    let Some((_, scripts)) = best else { return Err(shared_byte(view)) };
    let notes = vec![format!("rows of {length} elements: the rest of each is moved element by element")];
    Ok(Plan { counted: scripts.len(), scripts, workers: Some(team.count), notes })
}

fn candidate(view: &CopyView, plan: Plan, target: &Target) -> Candidate {
    let bits = view.dst.dtype().bits();
    let priced = [&view.dst, &view.src].map(|op| Priced { space: op.space(), bits });
    let (mut cost, mut notes, mut count) = (Cost::ZERO, plan.notes, Some(0u64));
    let mut conflicts: Vec<Conflict> = Vec::new();
    for (k, (script, _)) in plan.scripts.iter().enumerate() {
        let price = price(script, &priced, &view.active, target);
        cost = cost.plus(price.cost);
        notes.extend(price.notes);
        for c in price.conflicts {
            match conflicts.iter_mut().find(|known| known.operand == c.operand) {
                Some(known) => known.ways = known.ways.max(c.ways),
                None => conflicts.push(c),
            }
        }
        let known = script.walk.order.iter().all(|v| script.walk.vars[*v].extent.as_const().is_some());
        if k >= plan.counted {
            continue;
        }
        count = count.filter(|_| known).map(|c| c.saturating_add(price.trips));
    }
    let first = &plan.scripts[0].0;
    let int = |v: i64| ParamValue::Int(v);
    let mut params = vec![("vec_bits", int(first.walk.n * i64::from(bits))), ("vec_len", int(first.walk.n))];
    params.extend(count.and_then(|c| i64::try_from(c).ok()).map(|c| ("outer_count", int(c))));
    params.extend(plan.workers.map(|w| ("thread_cnt", int(w))));
    let scripts = plan.scripts;
    let emit = Box::new(move |rw: &mut Rewriter| {
        for (script, step) in &scripts {
            script.write(rw, &|rw, places| step.write(rw, places));
        }
        Completion::Done
    });
    Candidate { params, cost, notes, conflicts, gated: false, emit }
}

/// `Expr` of a place that threads compare with their own coordinate.
pub(super) fn flat_of(place: &Place) -> Expr {
    match &place.index {
        PlaceIndex::Flat(e) => e.clone(),
        PlaceIndex::Logical(_) => Expr::int(0),
    }
}

//! Dealing out the digits of a copy between memories to the threads that run it.
//!
//! Neighbouring workers take neighbouring accesses. Where the innermost digits make up exactly the number of workers, the
//! worker's number gives those digits and plain loops the others; otherwise the items are numbered and worker `t` takes
//! every T-th, starting with `t`.

use tilewright_ir::facts::Facts;
use tilewright_ir::threads::ActiveSet;
use tilewright_ir::{Axis, BinOp, Dim, Expr, ExprKind, Scope, Special, UnOp};

use super::owners::{coordinate, groups};
use super::walk::{Value, Walk};

/// The threads of a group, numbered.
#[derive(Clone, Debug)]
pub(super) struct Workers {
    /// Number of a thread in its group, from 0.
    pub number: Expr,
    /// Threads that work in each group.
    pub count: i64,
    /// Holds for the threads that work; `None` if all do.
    pub guard: Option<Expr>,
    /// Groups with active threads.
    pub groups: usize,
}

/// Runs of neighbouring threads that a number may be put together from.
const MAX_RUNS: usize = 8;
/// Sizes of groups that get a plan of their own: an interval of threads has at most three.
const MAX_TEAMS: usize = 3;

/// Numbers the active threads of each group of the scope, from 0; `None` if no simple formula does it. Where groups
/// differ in size, as many work as the smallest has.
pub(super) fn workers(active: &ActiveSet, scope: Scope) -> Option<Workers> {
    let groups = groups(active, scope);
    let number = number_of(&groups, active, scope)?;
    let count = groups.iter().map(Vec::len).min()? as i64;
    let partial = groups.iter().any(|g| g.len() as i64 != count);
    let guard = partial.then(|| Expr::binary(BinOp::Lt, number.clone(), Expr::int(count)));
    Some(Workers { number, count, guard, groups: groups.len() })
}

/// As [`workers`], but with all threads at work: groups of different sizes make teams, the largest first. The guard of
/// each holds for the threads of its groups.
pub(super) fn teams(active: &ActiveSet, scope: Scope) -> Option<Vec<Workers>> {
    let all = groups(active, scope);
    let mut sizes: Vec<usize> = all.iter().map(Vec::len).collect();
    sizes.sort_unstable_by_key(|n| std::cmp::Reverse(*n));
    sizes.dedup();
    if sizes.len() == 1 || sizes.len() > MAX_TEAMS {
        return workers(active, scope).map(|w| vec![w]);
    }
    let size = scope.threads(active.warp(), active.threads()).max(1);
    let which = Expr::special(Special::ThreadLinear).div_by(i64::from(size));
    let team = |count: usize| {
        let mine: Vec<Vec<u32>> = all.iter().filter(|g| g.len() == count).cloned().collect();
        let is = |g: &Vec<u32>| Expr::binary(BinOp::Eq, which.clone(), Expr::int(i64::from(g[0] / size)));
        let others = || all.iter().filter(|g| g.len() != count).map(is);
        // The shorter of "one of these" and "none of those".
        let guard = if mine.len() <= all.len() - mine.len() {
            mine.iter().map(is).reduce(|a, b| Expr::binary(BinOp::LOr, a, b))
        } else {
            let any = others().reduce(|a, b| Expr::binary(BinOp::LOr, a, b));
            any.map(|e| Expr::new(ExprKind::Unary(UnOp::Not, Box::new(e))))
        };
        Some(Workers { number: number_of(&mine, active, scope)?, count: count as i64, guard, groups: all.len() })
    };
    sizes.into_iter().map(team).collect()
}

/// Number of a thread among the threads of its group, for these groups.
fn number_of(groups: &[Vec<u32>], active: &ActiveSet, scope: Scope) -> Option<Expr> {
    let first = *groups.first()?.first()?;
    let checked = |number: Expr| {
        let numbered = |g: &Vec<u32>| g.iter().enumerate().all(|(k, t)| active.eval_at(&number, *t) == Some(k as i64));
        groups.iter().all(numbered).then_some(number)
    };
    let from_first = |e: Expr| active.eval_at(&e, first).map(|v| e.add(Expr::int(-v)));
    let place = match scope {
        Scope::Thread => return checked(Expr::int(0)),
        Scope::Warp => Expr::special(Special::Lane),
        Scope::Warpgroup => coordinate(&Axis::TidInWg, active.warp())?,
        Scope::Cta => Expr::special(Special::ThreadLinear),
    };
    let boxed = || {
        let (_, lanes) = active.as_box()?;
        let width = i64::from(lanes.end - lanes.start);
        let lane = from_first(Expr::special(Special::Lane))?;
        let warp = match scope {
            Scope::Thread | Scope::Warp => return None,
            Scope::Warpgroup => from_first(coordinate(&Axis::WidInWg, active.warp())?)?,
            Scope::Cta => from_first(Expr::special(Special::Warp))?,
        };
        checked(warp.mul(Expr::int(width)).add(lane))
    };
    let longest = groups.iter().max_by_key(|g| g.len())?;
    let at: Vec<i64> = longest.iter().filter_map(|t| active.eval_at(&place, *t)).collect();
    let steps = || {
        let step = at.get(1)? - at[0];
        (step > 1).then(|| place.clone().add(Expr::int(-at[0])).div_by(step)).and_then(checked)
    };
    from_first(place.clone()).and_then(checked).or_else(boxed).or_else(steps).or_else(|| checked(runs(&place, &at)?))
}

/// Number of `place` in the ascending list `at`, put together from its runs of neighbours.
fn runs(place: &Expr, at: &[i64]) -> Option<Expr> {
    let mut number: Option<Expr> = None;
    let mut count = 0;
    for (k, here) in at.iter().enumerate() {
        if k > 0 && at[k - 1] + 1 == *here {
            continue;
        }
        count += 1;
        let own = place.clone().add(Expr::int(k as i64 - here));
        number = Some(match number {
            None => own,
            Some(before) => {
                let reached = Expr::binary(BinOp::Ge, place.clone(), Expr::int(*here));
                Expr::new(ExprKind::Select(Box::new(reached), Box::new(own), Box::new(before)))
            }
        });
    }
    number.filter(|_| count <= MAX_RUNS)
}

/// How the work is dealt out.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Dealing {
    /// Every thread runs all loops of its own digits.
    Loops,
    /// The worker's number gives the innermost digits; only workers below the limit, if there is one, have any.
    Carved(Option<i64>),
    /// Worker `t` of `workers` takes items `t`, `t + workers`, … below `total`.
    Items {
        /// Number of items.
        total: Dim,
        /// Number of workers.
        workers: i64,
    },
}

/// Would every worker get the same number of accesses?
pub(super) fn deals_evenly(walk: &Walk, workers: i64, facts: &Facts) -> bool {
    workers == 1 || cut(walk, workers, facts).is_some() || facts.is_multiple(&walk.items(), workers)
}

/// Deals the digits of `walk.order` (all loops, innermost last) to `workers` workers.
pub(super) fn deal(walk: &mut Walk, workers: i64, facts: &Facts) -> Dealing {
    if workers == 1 {
        return Dealing::Loops;
    }
    if let Some(cut) = cut(walk, workers, facts) {
        let mut mine = cut.whole;
        if let Some((var, inner)) = cut.split {
            let new = walk.split(var, &Dim::Const(inner), facts);
            mine.push(new);
        }
        number(walk, &mine);
        return Dealing::Carved(None);
    }
    let total = walk.items();
    if let Some(w) = total.as_const().filter(|w| *w <= workers) {
        let mine: Vec<usize> = walk.order.iter().rev().copied().collect();
        number(walk, &mine);
        return Dealing::Carved((w < workers).then_some(w));
    }
    let mut div = Dim::ONE;
    for (k, var) in walk.order.clone().into_iter().enumerate().rev() {
        let extent = walk.vars[var].extent.clone();
        let modulus = (k > 0).then(|| extent.clone());
        walk.vars[var].value = Value::Item { div: div.clone(), modulus };
        div = div.mul(&extent);
    }
    Dealing::Items { total, workers }
}

/// Digits (innermost first) that make up the workers, and the digit to split for the rest.
struct Cut {
    whole: Vec<usize>,
    split: Option<(usize, i64)>,
}

fn cut(walk: &Walk, workers: i64, facts: &Facts) -> Option<Cut> {
    let mut out = Cut { whole: Vec::new(), split: None };
    let mut rest = workers;
    for &var in walk.order.iter().rev() {
        if rest == 1 {
            break;
        }
        let extent = &walk.vars[var].extent;
        match extent.as_const() {
            Some(e) if e > 0 && rest % e == 0 => {
                out.whole.push(var);
                rest /= e;
            }
            _ if facts.is_multiple(extent, rest) && !extent.is(0) => {
                out.split = Some((var, rest));
                rest = 1;
            }
            _ => return None,
        }
    }
    (rest == 1).then_some(out)
}

/// Gives the digits (innermost first) their values from the worker's number.
fn number(walk: &mut Walk, vars: &[usize]) {
    let mut div = 1i64;
    for (k, &var) in vars.iter().enumerate() {
        let extent = walk.vars[var].extent.as_const().unwrap_or(1);
        let modulus = (k + 1 < vars.len()).then_some(extent);
        walk.vars[var].value = Value::Worker { div, modulus };
        div = div.saturating_mul(extent);
    }
}

//! Smaller cases that fail, too.
//!
//! Greedy: the first simpler case that still fails is taken, until none does. Each step is simpler in one way, so this
//! ends.

use tilewright_ir::{DType, Layout};

use crate::case::{Begin, Case, Place, Side};
use crate::run::{Outcome, check};

/// Most cases that are tried.
const MOST_TRIES: usize = 2000;

/// The smallest case found that fails, and how. `case` must fail.
pub fn shrink(case: &Case, outcome: &Outcome) -> (Case, Outcome) {
    let (mut best, mut how) = (case.clone(), outcome.clone());
    let mut tries = 0;
    'again: while tries < MOST_TRIES {
        for simpler in steps(&best) {
            tries += 1;
            let outcome = check(&simpler);
            if matches!(outcome, Outcome::Mismatch { .. }) {
                (best, how) = (simpler, outcome);
                continue 'again;
            }
        }
        break;
    }
    (best, how)
}

/// Cases that are simpler than `case` in one way.
fn steps(case: &Case) -> Vec<Case> {
    let mut out = Vec::new();
    let mut with = |change: &dyn Fn(&mut Case)| {
        let mut c = case.clone();
        change(&mut c);
        if c != *case {
            out.push(c);
        }
    };
    with(&|c| c.guard.clear());
    for k in 0..case.guard.len() {
        with(&|c| {
            c.guard.remove(k);
        });
    }
    with(&|c| c.vec = None);
    with(&|c| c.is_async = false);
    with(&|c| c.notify = false);
    with(&|c| c.carry_any = false);
    with(&|c| c.ranks = 2);
    with(&|c| c.divides = 1);
    with(&|c| {
        c.trips = 1;
        sides(c).into_iter().for_each(unloop);
    });
    with(&|c| {
        c.divides = 1;
        sides(c).into_iter().for_each(|s| {
            if s.symbolic.take().is_some() {
                s.layout = None;
            }
        });
    });
    for dtype in [DType::F32, DType::U8] {
        with(&|c| {
            if case.dtype != DType::F32 {
                c.dtype = dtype;
            }
        });
    }
    let unit = c_unit(case);
    with(&|c| {
        if c.threads > unit && !sides(c).iter().any(|s| s.begin.contains(&Begin::Group)) {
            c.threads =
                if c.threads % unit == 0 { c.threads / 2 / unit * unit } else { c.threads / unit * unit }.max(unit);
        }
    });
    for k in 0..2 {
        side_steps(case, k, &mut out);
    }
    for k in 0..case.dst.extents.iter().filter(|e| **e > 1).count() {
        halve(case, k, &mut out);
    }
    out
}

/// Threads of the smallest group that the scope needs.
fn c_unit(case: &Case) -> u32 {
    if case.scope == tilewright_ir::Scope::Warpgroup { 4 * case.warp } else { case.warp }
}

fn sides(c: &mut Case) -> [&mut Side; 2] {
    [&mut c.dst, &mut c.src]
}

fn unloop(side: &mut Side) {
    for b in &mut side.begin {
        if let Begin::Loop { base, .. } = b {
            *b = Begin::At(*base);
        }
    }
}

fn side_steps(case: &Case, k: usize, out: &mut Vec<Case>) {
    let mut with = |change: &dyn Fn(&mut Side)| {
        let mut c = case.clone();
        let [dst, src] = sides(&mut c);
        change(if k == 0 { dst } else { src });
        if c != *case {
            out.push(c);
        }
    };
    let memory = |s: &Side| s.place != Place::Local;
    with(&|s| s.align = None);
    with(&|s| s.pitch = None);
    with(&|s| {
        if memory(s) {
            s.layout = None;
        }
    });
    with(&|s| {
        if memory(s) {
            s.place = Place::Global;
        }
    });
    let layout = |s: &mut Side, change: &dyn Fn(&mut Layout)| {
        if let Some(l) = &mut s.layout {
            change(l);
        }
    };
    with(&|s| layout(s, &|l| l.swizzle = None));
    with(&|s| layout(s, &|l| l.tile.offset.clear()));
    with(&|s| layout(s, &|l| l.tile.replica.clear()));
    for d in 0..case_side(case, k).shape.len() {
        with(&|s| {
            if let Begin::Param(v) = s.begin[d] {
                s.begin[d] = Begin::At(v);
            }
        });
        // A dimension of one index goes; only where the layout does not name it.
        with(&|s| {
            let one =
                s.extents[d] == 1 && matches!(s.begin[d], Begin::At(_)) && s.symbolic.is_none() && s.pitch.is_none();
            if one && s.layout.is_none() && s.shape.len() > 1 {
                s.shape.remove(d);
                s.extents.remove(d);
                s.begin.remove(d);
            }
        });
        with(&|s| {
            if s.layout.is_none() && matches!(s.begin[d], Begin::At(_) | Begin::Param(_)) {
                s.shape[d] = s.extents[d];
                s.begin[d] = Begin::At(0);
            }
        });
    }
}

fn case_side(case: &Case, k: usize) -> &Side {
    if k == 0 { &case.dst } else { &case.src }
}

/// Halves the `k`-th extent that is not one, on both sides: less of the same buffers.
fn halve(case: &Case, k: usize, out: &mut Vec<Case>) {
    let mut c = case.clone();
    for side in sides(&mut c) {
        let Some(d) = (0..side.extents.len()).filter(|d| side.extents[*d] > 1).nth(k) else { return };
        if side.symbolic == Some(d) || side.pitch == Some(d) {
            return;
        }
        side.extents[d] /= 2;
        if side.layout.is_none() && side.begin[d] == Begin::At(0) {
            side.shape[d] = side.extents[d];
        }
    }
    out.push(c);
}

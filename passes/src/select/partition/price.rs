//! What a walk costs by the target's cost table: accesses of a warp, times how often they are made.
//!
//! The figures order CU variants among themselves; nobody has measured them. Names in extents count as
//! `UNKNOWN_EXTENT`.

use std::collections::{BTreeMap, BTreeSet};

use tilewright_ir::threads::ActiveSet;
use tilewright_ir::{BinOp, Dim, Expr, ExprKind, Space, UnOp};
use tilewright_target::{Cost, Target};

use super::emit::Script;
use super::walk::{Term, Value};
use super::work::Dealing;
use crate::select::variant::Conflict;

/// What a name in a symbolic extent is assumed to be, so that twice the width is half the trips.
const UNKNOWN_EXTENT: i64 = 256;
/// Bytes of a sector, the least that global memory moves.
const SECTOR: i64 = 32;

/// One side for the price.
pub(super) struct Priced {
    /// Where it lives.
    pub space: Space,
    /// Bits of an element.
    pub bits: u32,
}

/// The price and remarks.
pub(super) struct Price {
    /// Predicted time on one CU or SM.
    pub cost: Cost,
    /// Remarks.
    pub notes: Vec<String>,
    /// Bank conflicts of each side in shared memory.
    pub conflicts: Vec<Conflict>,
    /// Accesses that one thread makes on each side (names in extents counted as `UNKNOWN_EXTENT`).
    pub trips: u64,
}

fn trips_of(extent: &Dim) -> u64 {
    let assumed = assume(&extent.to_expr()).max(i64::from(!extent.is(0)));
    extent.as_const().map_or(u64::try_from(assumed).unwrap_or(0), |v| u64::try_from(v).unwrap_or(0))
}

/// The value of an extent with `UNKNOWN_EXTENT` for what is not known.
fn assume(extent: &Expr) -> i64 {
    match &extent.kind {
        ExprKind::Int(v) => *v,
        ExprKind::Cast(_, a) => assume(a),
        ExprKind::Unary(UnOp::Neg, a) => assume(a).saturating_neg(),
        ExprKind::Binary(op, a, b) => {
            let (a, b) = (assume(a), assume(b));
            match op {
                BinOp::Add => a.saturating_add(b),
                BinOp::Sub => a.saturating_sub(b),
                BinOp::Mul => a.saturating_mul(b),
                BinOp::Div => a.checked_div_euclid(b).unwrap_or(0),
                BinOp::Rem => a.checked_rem_euclid(b).unwrap_or(0),
                BinOp::Min => a.min(b),
                BinOp::Max => a.max(b),
                _ => UNKNOWN_EXTENT,
            }
        }
        _ => UNKNOWN_EXTENT,
    }
}

/// Times that a thread runs the access.
fn trips(script: &Script) -> u64 {
    let loops = script.walk.order.iter().filter(|v| script.walk.vars[**v].value == Value::Loop);
    let looped = loops.fold(1u64, |p, v| p.saturating_mul(trips_of(&script.walk.vars[*v].extent)));
    match &script.dealing {
        Dealing::Items { total, workers } => trips_of(total).div_ceil(u64::try_from(*workers).unwrap_or(1).max(1)),
        Dealing::Loops | Dealing::Carved(_) => looped,
    }
}

/// Prices the script for the threads of `active`.
pub(super) fn price(script: &Script, sides: &[Priced], active: &ActiveSet, target: &Target) -> Price {
    let warp = active.warp();
    let busy: Vec<u32> = busy_threads(script, active);
    let warps: BTreeSet<u32> = busy.iter().map(|t| t / warp).collect();
    let first: Vec<u32> = busy.iter().copied().filter(|t| Some(t / warp) == busy.first().map(|f| f / warp)).collect();
    let trips = trips(script);
    let times = trips.saturating_mul(warps.len().max(1) as u64);
    let cu = &target.costs.cu;
    let number = script.worker.clone().unwrap_or(Expr::int(0));
    let fixed = script.fixed(&number);
    let (mut cost, mut notes, mut conflicts) = (Cost::ZERO, Vec::new(), Vec::new());
    for (k, side) in sides.iter().enumerate() {
        let width = (script.walk.n * i64::from(side.bits) + 7) / 8;
        let bytes = width.saturating_mul(first.len() as i64);
        // Only these two spaces care who asks for what.
        let address_of = |t: &u32| address(script, k, (&number, &fixed), active, *t, side.bits);
        let addresses = || -> Vec<i64> { first.iter().map(address_of).collect() };
        let one = match side.space {
            Space::Local => Cost::ZERO,
            Space::Shared => {
                let ways = conflict_ways(&addresses(), width, target.lds_banks);
                let operand = script.walk.sides[k].buf.clone();
                if ways > 1 {
                    notes.push(format!("`{operand}`: {ways}-way bank conflicts"));
                }
                conflicts.push(Conflict { operand, ways });
                // Each pass takes a cycle of all banks, however few bytes it moves.
                cu.shared_access(to_u64(bytes.max(row_bytes(target))), ways)
            }
            Space::Global | Space::Window => {
                let sectors: BTreeSet<i64> =
                    addresses().iter().flat_map(|a| (a / SECTOR)..=((a + width - 1) / SECTOR)).collect();
                cu.global_access(to_u64((sectors.len() as i64 * SECTOR).max(bytes)))
            }
        };
        cost = cost.plus(one.times(times));
    }
    Price { cost, notes, conflicts, trips }
}

/// Bytes that all banks deliver together.
fn row_bytes(target: &Target) -> i64 {
    i64::from(target.lds_banks * Target::LDS_BANK_BYTES)
}

fn to_u64(v: i64) -> u64 {
    u64::try_from(v).unwrap_or(0)
}

/// Threads that make accesses in the first trip.
fn busy_threads(script: &Script, active: &ActiveSet) -> Vec<u32> {
    let limit = match script.dealing {
        Dealing::Carved(limit) => limit,
        Dealing::Items { .. } | Dealing::Loops => None,
    };
    let works = |t: &u32| {
        let meets = script.walk.guards.iter().all(|g| active.eval_at(g, *t) != Some(0));
        let below = match (limit, &script.worker) {
            (Some(l), Some(n)) => active.eval_at(n, *t).is_none_or(|v| v < l),
            _ => true,
        };
        meets && below
    };
    active.iter().filter(works).collect()
}

/// Byte address of thread `t` in the first trip, relative to the region's begin. `number` is the worker's, `fixed` the
/// digits that are the same in every trip.
fn address(
    script: &Script,
    side: usize,
    (number, fixed): (&Expr, &[Option<Expr>]),
    active: &ActiveSet,
    t: u32,
    bits: u32,
) -> i64 {
    let side = &script.walk.sides[side];
    let mut m = side.base.as_const().unwrap_or(0);
    for term in &side.terms {
        if let Term::Digit { var, stride } = term {
            let item = match (&script.walk.vars[*var].value, active.eval_at(number, t)) {
                (Value::Item { div, modulus }, Some(n)) => {
                    let q = n / div.as_const().unwrap_or(i64::MAX).max(1);
                    Some(modulus.as_ref().and_then(Dim::as_const).map_or(q, |m| q % m.max(1)))
                }
                _ => fixed[*var].as_ref().and_then(|e| active.eval_at(e, t)),
            };
            // A symbolic stride counts as a large one: each step is somewhere else.
            let stride = stride.as_const().unwrap_or(1 << 20);
            m = m.wrapping_add(item.unwrap_or(0).wrapping_mul(stride));
        }
    }
    let m = side.swizzle.map_or(m, |s| s.apply(m));
    m.wrapping_mul(i64::from(bits)) / 8
}

/// Passes that a shared access takes because several words of one bank are asked for; 1 without conflicts. `addresses` in
/// bytes, one a lane; each lane accesses `width` bytes. Lanes go in groups that together ask for one row of all banks
/// (all lanes for up to 4 bytes, half for 8, a quarter for 16); lanes with the same word share it.
pub fn conflict_ways(addresses: &[i64], width: i64, banks: u32) -> u64 {
    let banks = i64::from(banks.max(1));
    let words = (width / 4).max(1);
    let lanes = usize::try_from(banks / words).unwrap_or(1).max(1);
    let mut worst = 1;
    for group in addresses.chunks(lanes) {
        let mut per_bank: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
        for a in group {
            for w in 0..words {
                let word = a.div_euclid(4) + w;
                per_bank.entry(word.rem_euclid(banks)).or_default().insert(word);
            }
        }
        worst = worst.max(per_bank.values().map(BTreeSet::len).max().unwrap_or(1));
    }
    worst as u64
}

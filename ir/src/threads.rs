//! Which threads of a CTA reach an operation.
//!
//! The conditions of the enclosing `if`s are evaluated for every thread (a CTA has at most 1024), so any condition over
//! thread ids and constants is understood exactly; what remains is a set, and its shape (an interval of flattened
//! threads, or the same lanes of consecutive warps) is asked of it. Must hold: the set is never too small. A condition that
//! also depends on something else makes it `opaque`: then it is an upper bound only.
//!
//! Conditions that are the same for all threads of a CTA (ranks, block ids, parameters) do not narrow the set: the
//! operation is reached by all of these threads or by none.

use std::ops::Range;

use crate::dtype::{DType, DTypeClass, ScalarTy};
use crate::env::Env;
use crate::expr::{BinOp, Expr, ExprKind, Special, UnOp};
use crate::module::Launch;
use crate::space::Scope;
use crate::span::Span;

/// Threads a CTA may have: the limit of CUDA (compute capability 2.0 and later) and of HIP.
pub const MAX_THREADS: u32 = 1024;

const WORDS: usize = MAX_THREADS as usize / 64;

/// Threads in one group of the scope that a launch with `threads` threads a CTA has at least one of; a CTA smaller than
/// a warp still is one warp.
fn group_size(scope: Scope, warp: u32, threads: u32) -> u32 {
    scope.threads(warp, threads).max(1)
}

/// A set of flattened threads of a CTA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveSet {
    /// Threads of the CTA.
    threads: u32,
    /// Lanes of a warp.
    warp: u32,
    /// Block extents in x, y, z.
    dims: [u32; 3],
    /// One bit a thread.
    bits: [u64; WORDS],
    /// The condition that could not be evaluated, if there was one.
    opaque: Option<Span>,
}

impl ActiveSet {
    /// All threads of a launch with `warp` lanes a warp. A launch that the verifier refuses (no constant block, more than
    /// 1024 threads) counts as 1024 threads.
    pub fn all(launch: &Launch, warp: u32) -> ActiveSet {
        let valid = launch.threads().filter(|n| (1..=MAX_THREADS).contains(n));
        let dims = match valid {
            Some(_) => [0, 1, 2].map(|d| u32::try_from(launch.block_dim(d)).unwrap_or(1)),
            None => [MAX_THREADS, 1, 1],
        };
        let threads = valid.unwrap_or(MAX_THREADS);
        let mut set = ActiveSet { threads, warp: warp.max(1), dims, bits: [0; WORDS], opaque: None };
        for t in 0..threads {
            set.insert(t);
        }
        set
    }

    fn insert(&mut self, t: u32) {
        self.bits[t as usize / 64] |= 1 << (t % 64);
    }

    /// Threads of the CTA, active or not.
    pub fn threads(&self) -> u32 {
        self.threads
    }

    /// Lanes of a warp.
    pub fn warp(&self) -> u32 {
        self.warp
    }

    /// Is flattened thread `t` in the set?
    pub fn contains(&self, t: u32) -> bool {
        t < self.threads && self.bits[t as usize / 64] >> (t % 64) & 1 == 1
    }

    /// The active threads, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.threads).filter(|t| self.contains(*t))
    }

    /// Number of active threads (an upper bound if opaque).
    pub fn count(&self) -> u32 {
        self.bits.iter().map(|w| w.count_ones()).sum()
    }

    /// Every thread of the CTA, known exactly?
    pub fn is_all(&self) -> bool {
        self.opaque.is_none() && self.count() == self.threads
    }

    /// No thread at all?
    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|w| *w == 0)
    }

    /// The first condition that could not be evaluated: the set is then only an upper bound.
    pub fn opaque(&self) -> Option<Span> {
        self.opaque
    }

    /// Understood: known exactly, whatever its shape. Only then may an op of a scope wider than a thread run in it.
    pub fn is_understood(&self) -> bool {
        self.opaque.is_none()
    }

    /// The set as a half-open interval of `thread.linear`, if it is one and not empty.
    pub fn linear_range(&self) -> Option<Range<u32>> {
        let lo = self.iter().next()?;
        let hi = lo + self.count();
        (lo..hi).all(|t| self.contains(t)).then_some(lo..hi)
    }

    /// The set as the same lanes (second) of consecutive warps (first), both half-open, if it is such a box.
    pub fn as_box(&self) -> Option<(Range<u32>, Range<u32>)> {
        let first = self.iter().next()?;
        let last = self.iter().last()?;
        let warps = first / self.warp..last / self.warp + 1;
        let lanes_of_first = self.iter().take_while(|t| t / self.warp == warps.start).count() as u32;
        let lanes = first % self.warp..first % self.warp + lanes_of_first;
        let all_there = warps.clone().all(|w| lanes.clone().all(|l| self.contains(w * self.warp + l)));
        let size = (warps.end - warps.start) * (lanes.end - lanes.start);
        (all_there && size == self.count()).then_some((warps, lanes))
    }

    /// The active lanes, where they are an interval and the same in every warp with an active lane.
    pub fn lane_range(&self) -> Option<Range<u32>> {
        self.as_box().map(|(_, lanes)| lanes)
    }

    /// The warps with an active lane, where they are consecutive.
    pub fn warp_range(&self) -> Option<Range<u32>> {
        self.group_range(Scope::Warp)
    }

    /// The groups of a scope with an active thread, where they are consecutive.
    pub fn group_range(&self, scope: Scope) -> Option<Range<u32>> {
        let groups = self.groups(scope);
        let (first, last) = (*groups.first()?, *groups.last()?);
        (groups.len() as u32 == last - first + 1).then_some(first..last + 1)
    }

    /// Indices of the groups of a scope that have an active thread, ascending.
    pub fn groups(&self, scope: Scope) -> Vec<u32> {
        let size = group_size(scope, self.warp, self.threads);
        let mut out: Vec<u32> = self.iter().map(|t| t / size).collect();
        out.dedup();
        out
    }

    /// Does every warp with an active lane have all `warp` lanes active? False for a CTA whose last warp is partial.
    pub fn whole_warps(&self) -> bool {
        self.opaque.is_none() && self.groups_have(Scope::Warp, |_| self.warp)
    }

    /// Does every group of the scope that has an active thread have all its threads active, as far as the launch has them
    /// (the last warp of a launch may be partial)?
    pub fn full_groups(&self, scope: Scope) -> bool {
        let size = group_size(scope, self.warp, self.threads);
        self.opaque.is_none() && self.groups_have(scope, |g| size.min(self.threads - g * size))
    }

    fn groups_have(&self, scope: Scope, wanted: impl Fn(u32) -> u32) -> bool {
        let size = group_size(scope, self.warp, self.threads);
        self.groups(scope).into_iter().all(|g| {
            let have = (g * size..(g + 1) * size).filter(|t| self.contains(*t)).count() as u32;
            have == wanted(g)
        })
    }

    /// The threads for which `cond` also holds. Lets are resolved through `env`.
    #[must_use]
    pub fn narrow(&self, cond: &Expr, env: &Env) -> ActiveSet {
        self.narrow_to(cond, env, true)
    }

    /// The threads for which `cond` does not hold: the `else` branch.
    #[must_use]
    pub fn narrow_not(&self, cond: &Expr, env: &Env) -> ActiveSet {
        self.narrow_to(cond, env, false)
    }

    fn narrow_to(&self, cond: &Expr, env: &Env, wanted: bool) -> ActiveSet {
        let mut out = self.clone();
        match env.resolve(cond) {
            Some(resolved) => out.narrow_resolved(&resolved, env, wanted),
            None if env.is_varying(cond) => out.set_opaque(cond.span),
            None => {}
        }
        out
    }

    /// The set inside a loop: the same, but opaque if the threads of a CTA may run different numbers of trips.
    #[must_use]
    pub fn in_loop(&self, lo: &Expr, hi: &Expr, env: &Env) -> ActiveSet {
        let mut out = self.clone();
        if env.is_varying(lo) || env.is_varying(hi) {
            out.set_opaque(lo.span.to(hi.span));
        }
        out
    }

    fn set_opaque(&mut self, span: Span) {
        self.opaque.get_or_insert(span);
    }

    fn narrow_resolved(&mut self, cond: &Expr, env: &Env, wanted: bool) {
        match &cond.kind {
            ExprKind::Unary(UnOp::Not, a) => return self.narrow_resolved(a, env, !wanted),
            ExprKind::Binary(BinOp::LAnd, a, b) if wanted => {
                self.narrow_resolved(a, env, true);
                return self.narrow_resolved(b, env, true);
            }
            ExprKind::Binary(BinOp::LOr, a, b) if !wanted => {
                self.narrow_resolved(a, env, false);
                return self.narrow_resolved(b, env, false);
            }
            _ => {}
        }
        if !env.is_varying(cond) {
            if eval(cond, &|_| None).is_some_and(|v| (v.value != 0) != wanted) {
                self.bits = [0; WORDS];
            }
            return;
        }
        let mut bits = [0u64; WORDS];
        for t in (0..self.threads).filter(|t| self.contains(*t)) {
            match self.eval_at(cond, t) {
                Some(v) if (v != 0) == wanted => bits[t as usize / 64] |= 1 << (t % 64),
                Some(_) => {}
                None => {
                    self.opaque.get_or_insert(cond.span);
                    return;
                }
            }
        }
        self.bits = bits;
    }

    /// The value of an expression over thread ids and constants for flattened thread `t`; `None` if it depends on
    /// anything else. Bool is 0 or 1.
    pub fn eval_at(&self, expr: &Expr, t: u32) -> Option<i64> {
        let id = |s: Special| -> Option<i64> { thread_id(s, t, self.dims, self.warp) };
        eval(expr, &id).map(|v| v.value)
    }
}

/// The value of a thread id for flattened thread `t` of a block with extents `dims`; `None` for other ids.
pub fn thread_id(s: Special, t: u32, dims: [u32; 3], warp: u32) -> Option<i64> {
    let [x, y, _] = dims.map(|d| d.max(1));
    Some(i64::from(match s {
        Special::Thread(0) => t % x,
        Special::Thread(1) => t / x % y,
        Special::Thread(_) => t / x / y,
        Special::ThreadLinear => t,
        Special::Lane => t % warp.max(1),
        Special::Warp => t / warp.max(1),
        Special::Block(_) | Special::Grid(_) | Special::Me => return None,
    }))
}

/// An integer with the dtype it computes in; `None` is `index`.
#[derive(Clone, Copy)]
struct Value {
    value: i64,
    ty: Option<DType>,
    literal: bool,
}

/// Wraps to the width of the dtype.
fn wrap(value: i64, ty: Option<DType>) -> i64 {
    let Some(d) = ty else { return value };
    let spare = 64 - d.bits().clamp(1, 64);
    match d.class() {
        DTypeClass::Signed => value << spare >> spare,
        DTypeClass::Unsigned => ((value as u64) << spare >> spare) as i64,
        DTypeClass::Bool | DTypeClass::Float => value,
    }
}

/// Evaluates integers and bools; `None` for floats, variables, and ids that `id` does not know.
fn eval(expr: &Expr, id: &dyn Fn(Special) -> Option<i64>) -> Option<Value> {
    let index = |value: i64| Some(Value { value, ty: None, literal: false });
    match &expr.kind {
        ExprKind::Int(v) => Some(Value { value: *v, ty: None, literal: true }),
        ExprKind::Bool(b) => index(i64::from(*b)),
        ExprKind::Special(s) => index(id(*s)?),
        ExprKind::Unary(UnOp::Neg, a) => {
            let a = eval(a, id)?;
            Some(Value { value: wrap(a.value.wrapping_neg(), a.ty), ..a })
        }
        ExprKind::Unary(UnOp::Not, a) => index(i64::from(eval(a, id)?.value == 0)),
        ExprKind::Cast(ScalarTy::Num(DType::Bool), a) => index(i64::from(eval(a, id)?.value != 0)),
        ExprKind::Cast(ScalarTy::Num(d), a) if d.is_int() => {
            Some(Value { value: wrap(eval(a, id)?.value, Some(*d)), ty: Some(*d), literal: false })
        }
        ExprKind::Cast(ScalarTy::Num(_), _) => None,
        ExprKind::Cast(_, a) => index(eval(a, id)?.value),
        ExprKind::Select(c, a, b) => eval(if eval(c, id)?.value != 0 { a } else { b }, id),
        // A side that settles the result makes the other one irrelevant.
        ExprKind::Binary(op @ (BinOp::LAnd | BinOp::LOr), a, b) => {
            let settles = i64::from(*op == BinOp::LOr);
            let truth = |v: Option<Value>| v.map(|v| i64::from(v.value != 0));
            match (truth(eval(a, id)), truth(eval(b, id))) {
                (Some(x), _) | (_, Some(x)) if x == settles => index(settles),
                (Some(_), Some(_)) => index(1 - settles),
                _ => None,
            }
        }
        ExprKind::Binary(op, a, b) => eval_binary(*op, eval(a, id)?, eval(b, id)?),
        ExprKind::Float(_) | ExprKind::Var(_) | ExprKind::Comm(..) => None,
    }
}

fn eval_binary(op: BinOp, a: Value, b: Value) -> Option<Value> {
    let ty = match (a, b) {
        (Value { literal: true, .. }, Value { ty, .. }) | (Value { ty, .. }, Value { literal: true, .. }) => ty,
        _ if a.ty == b.ty => a.ty,
        _ => None,
    };
    let unsigned = ty.is_some_and(|d| d.class() == DTypeClass::Unsigned);
    let (x, y) = (a.value, b.value);
    let order = if unsigned { (x as u64).cmp(&(y as u64)) } else { x.cmp(&y) };
    let truth = |b: bool| Some(Value { value: i64::from(b), ty: None, literal: false });
    let value = match op {
        BinOp::Add => x.wrapping_add(y),
        BinOp::Sub => x.wrapping_sub(y),
        BinOp::Mul => x.wrapping_mul(y),
        BinOp::Div | BinOp::Rem if y == 0 => 0,
        BinOp::Div if unsigned => ((x as u64) / (y as u64)) as i64,
        BinOp::Div => x.wrapping_div(y),
        BinOp::Rem if unsigned => ((x as u64) % (y as u64)) as i64,
        BinOp::Rem => x.wrapping_rem(y),
        BinOp::Min => {
            if order.is_le() {
                x
            } else {
                y
            }
        }
        BinOp::Max => {
            if order.is_ge() {
                x
            } else {
                y
            }
        }
        BinOp::And => x & y,
        BinOp::Or => x | y,
        BinOp::Xor => x ^ y,
        BinOp::Shl | BinOp::Shr => return eval_shift(op, a, y),
        BinOp::Eq => return truth(x == y),
        BinOp::Ne => return truth(x != y),
        BinOp::Lt => return truth(order.is_lt()),
        BinOp::Le => return truth(order.is_le()),
        BinOp::Gt => return truth(order.is_gt()),
        BinOp::Ge => return truth(order.is_ge()),
        BinOp::LAnd | BinOp::LOr => return None, // handled by `eval`
    };
    Some(Value { value: wrap(value, ty), ty, literal: a.literal && b.literal })
}

/// Shifts in the type of the left operand, the count modulo its width.
fn eval_shift(op: BinOp, a: Value, count: i64) -> Option<Value> {
    let width = a.ty.map_or(64, DType::bits);
    let n = count.rem_euclid(i64::from(width)) as u32;
    let unsigned = a.ty.is_some_and(|d| d.class() == DTypeClass::Unsigned);
    let value = match op {
        BinOp::Shl => a.value.wrapping_shl(n),
        _ if unsigned => (a.value as u64).wrapping_shr(n) as i64,
        _ => a.value.wrapping_shr(n),
    };
    Some(Value { value: wrap(value, a.ty), ..a })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::WarpWidth;

    fn launch(block: &[i64]) -> Launch {
        let block = block.iter().map(|d| (*d).into()).collect();
        Launch { grid: vec![1.into()], block, warp: WarpWidth::Target, span: Span::NONE }
    }

    fn id(s: Special) -> Expr {
        Expr::special(s)
    }

    fn cmp(op: BinOp, s: Special, v: i64) -> Expr {
        Expr::binary(op, id(s), Expr::int(v))
    }

    fn narrowed(block: &[i64], warp: u32, cond: &Expr) -> ActiveSet {
        ActiveSet::all(&launch(block), warp).narrow(cond, &Env::default())
    }

    #[test]
    fn everything() {
        let all = ActiveSet::all(&launch(&[48, 2]), 32);
        assert!(all.is_all() && all.is_understood() && all.whole_warps());
        assert_eq!(all.linear_range(), Some(0..96));
        assert_eq!(all.group_range(Scope::Warp), Some(0..3));
        let partial = ActiveSet::all(&launch(&[48]), 32);
        assert!(partial.full_groups(Scope::Warp) && !partial.whole_warps());
    }

    #[test]
    fn intervals_and_boxes() {
        let s = narrowed(&[128], 32, &cmp(BinOp::Lt, Special::Thread(0), 64));
        assert_eq!(s.linear_range(), Some(0..64));
        assert_eq!(s.as_box(), Some((0..2, 0..32)));
        assert!(s.whole_warps() && !s.full_groups(Scope::Cta) && !s.full_groups(Scope::Warpgroup));
        let s = narrowed(&[128], 32, &cmp(BinOp::Eq, Special::Lane, 0));
        assert_eq!(s.as_box(), Some((0..4, 0..1)));
        assert!(s.is_understood() && s.linear_range().is_none() && !s.full_groups(Scope::Warp));
        let both = Expr::binary(BinOp::LAnd, cmp(BinOp::Ge, Special::Warp, 1), cmp(BinOp::Lt, Special::Lane, 8));
        assert_eq!(narrowed(&[128], 32, &both).as_box(), Some((1..4, 0..8)));
        assert_eq!(narrowed(&[128], 64, &cmp(BinOp::Eq, Special::Warp, 1)).linear_range(), Some(64..128));
    }

    #[test]
    fn odd_shapes_are_understood() {
        let even = Expr::binary(BinOp::Eq, id(Special::Thread(0)).rem_by(2), Expr::int(0));
        let s = narrowed(&[64], 32, &even);
        assert_eq!(s.count(), 32);
        assert!(s.is_understood() && s.linear_range().is_none() && s.as_box().is_none());
        assert!(s.iter().all(|t| t % 2 == 0));
    }

    #[test]
    fn two_dimensions_flatten() {
        // y == 1 of a 16 x 4 block: threads 16..32.
        let s = narrowed(&[16, 4], 32, &cmp(BinOp::Eq, Special::Thread(1), 1));
        assert_eq!(s.linear_range(), Some(16..32));
        // x < 8: eight threads of every sixteen.
        let s = narrowed(&[16, 4], 32, &cmp(BinOp::Lt, Special::Thread(0), 8));
        assert!(s.is_understood() && s.as_box().is_none() && s.iter().all(|t| t % 16 < 8));
    }

    #[test]
    fn else_branches_negate() {
        let c = cmp(BinOp::Lt, Special::Thread(0), 32);
        let all = ActiveSet::all(&launch(&[128]), 32);
        assert_eq!(all.narrow_not(&c, &Env::default()).linear_range(), Some(32..128));
        let or = Expr::binary(BinOp::LOr, c, cmp(BinOp::Ge, Special::Thread(0), 96));
        assert_eq!(all.narrow_not(&or, &Env::default()).linear_range(), Some(32..96));
    }

    #[test]
    fn uniform_conditions_do_not_narrow_and_mixed_ones_are_opaque() {
        let uniform = cmp(BinOp::Eq, Special::Block(0), 0);
        assert!(narrowed(&[64], 32, &uniform).is_all());
        let thread = cmp(BinOp::Lt, Special::Thread(0), 32);
        let both = Expr::binary(BinOp::LAnd, uniform.clone(), thread);
        let s = narrowed(&[64], 32, &both);
        assert_eq!((s.linear_range(), s.opaque().is_some()), (Some(0..32), false));
        let mixed = Expr::binary(BinOp::Lt, id(Special::Thread(0)), id(Special::Block(0)));
        assert!(narrowed(&[64], 32, &mixed).opaque().is_some());
        let all = ActiveSet::all(&launch(&[64]), 32);
        assert!(all.narrow_not(&both, &Env::default()).opaque().is_some());
        assert!(all.narrow(&Expr::new(ExprKind::Bool(false)), &Env::default()).is_empty());
    }
}

//! `simplify`: a plain folder.
//!
//! Folds constants, drops what a known range makes idle (`thread.linear / 64` in a block of 64), puts literals and plain
//! names in place of the lets that name them, removes lets that nobody reads, and takes branches and single-trip loops
//! whose outcome is known. Expressions are pure, so each of these is safe anywhere.
//!
//! Must hold: running it twice changes nothing more.

use std::collections::BTreeMap;

use tilewright_ir::diag::Diagnostic;
use tilewright_ir::{
    BinOp, Block, Dim, Expr, ExprKind, Name, Place, PlaceIndex, PrimArg, ScalarTy, Stmt, StmtKind, UnOp,
};

use crate::effects::written_in;
use crate::pipeline::{PassCx, State};
use crate::select::engine::learn;
use crate::select::view::Context;

/// Runs the pass.
pub(crate) fn run(state: &mut State, cx: &PassCx) -> Result<(), Vec<Diagnostic>> {
    for kernel in state.module.kernels_mut() {
        let warp = kernel.launch.warp.lanes(cx.target.warp_size);
        // Twice: the first round makes lets idle that the second takes away.
        for _ in 0..2 {
            let context = Context::for_kernel(kernel, warp, written_in(&kernel.body, &cx.ops));
            let body = std::mem::take(&mut kernel.body);
            let mut folder = Folder { values: BTreeMap::new() };
            let mut body = folder.block(body, context);
            remove_unused(&mut body);
            kernel.body = body;
        }
    }
    Ok(())
}

struct Folder {
    /// Lets whose value is a literal or another name.
    values: BTreeMap<Name, Expr>,
}

impl Folder {
    fn block(&mut self, block: Block, mut at: Context) -> Block {
        at.env.enter();
        let mut out = Block::with_capacity(block.len());
        let mut bound = Vec::new();
        for stmt in block {
            self.stmt(stmt, &mut at, &mut out, &mut bound);
        }
        // Names may be used again in another block.
        for name in bound {
            self.values.remove(&name);
        }
        out
    }

    fn stmt(&mut self, stmt: Stmt, at: &mut Context, out: &mut Block, bound: &mut Vec<Name>) {
        let span = stmt.span;
        let kind = match stmt.kind {
            StmtKind::Let { name, ty, value } => {
                let value = self.expr(&value, at);
                // A literal takes its type from where it stands, so only an untyped let of an index may be replaced.
                let plain = match &value.kind {
                    ExprKind::Int(_) => ty.is_none() || ty == Some(ScalarTy::Index),
                    ExprKind::Var(_) => ty.is_none(),
                    _ => false,
                };
                if plain {
                    self.values.insert(name.clone(), value.clone());
                    bound.push(name.clone());
                }
                StmtKind::Let { name, ty, value }
            }
            StmtKind::For { var, lo, hi, unroll, body } => {
                let (lo, hi) = (self.expr(&lo, at), self.expr(&hi, at));
                match trips(&lo, &hi) {
                    Some(n) if n <= 0 => return,
                    _ => {}
                }
                let mut inner = at.clone();
                inner.env.enter();
                inner.env.bind_loop(&var, &lo, &hi, span);
                inner.facts.loop_var(&var, &lo, &hi);
                let body = self.block(body, inner);
                if body.is_empty() {
                    return;
                }
                StmtKind::For { var, lo, hi, unroll, body }
            }
            StmtKind::If { cond, then, els } => return self.branch(cond, then, els, span, at, out),
            StmtKind::Load { name, from } => StmtKind::Load { name, from: self.place(&from, at) },
            StmtKind::Store { to, value } => StmtKind::Store { to: self.place(&to, at), value: self.expr(&value, at) },
            StmtKind::Assume(e) => match self.expr(&e, at) {
                e if e.kind == ExprKind::Bool(true) => return,
                e => StmtKind::Assume(e),
            },
            StmtKind::Prim(mut op) => {
                for arg in &mut op.args {
                    *arg = match arg {
                        PrimArg::Expr(e) => PrimArg::Expr(self.expr(e, at)),
                        PrimArg::Place(p) => PrimArg::Place(self.place(p, at)),
                    };
                }
                StmtKind::Prim(op)
            }
            kind => kind,
        };
        let stmt = Stmt::new(kind, span);
        learn(&stmt, at);
        out.push(stmt);
    }

    fn branch(
        &mut self,
        cond: Expr,
        then: Block,
        els: Option<Block>,
        span: tilewright_ir::Span,
        at: &Context,
        out: &mut Block,
    ) {
        let cond = self.expr(&cond, at);
        let mut inner = at.clone();
        inner.facts.assume(&cond);
        let then = self.block(then, inner);
        let els = els.map(|els| {
            let mut inner = at.clone();
            inner.facts.assume_not(&cond);
            self.block(els, inner)
        });
        let els = els.filter(|b| !b.is_empty());
        match cond.kind {
            // The block stays a block when it defines names, so that they end where they ended.
            ExprKind::Bool(true) if !defines_names(&then) => out.extend(then),
            ExprKind::Bool(false) => match els {
                Some(els) if !defines_names(&els) => out.extend(els),
                Some(els) => {
                    out.push(Stmt::new(StmtKind::If { cond: bool_expr(true), then: els, els: None }, span));
                }
                None => {}
            },
            _ if then.is_empty() && els.is_none() => {}
            _ => out.push(Stmt::new(StmtKind::If { cond, then, els }, span)),
        }
    }

    fn place(&self, place: &Place, at: &Context) -> Place {
        let index = match &place.index {
            PlaceIndex::Flat(e) => PlaceIndex::Flat(self.expr(e, at)),
            PlaceIndex::Logical(es) => PlaceIndex::Logical(es.iter().map(|e| self.expr(e, at)).collect()),
        };
        Place { buf: place.buf.clone(), rank: place.rank.as_ref().map(|r| self.expr(r, at)), index, span: place.span }
    }

    fn expr(&self, e: &Expr, at: &Context) -> Expr {
        e.rewrite(&mut |e| {
            let e = match &e.kind {
                ExprKind::Var(n) => match self.values.get(n) {
                    Some(v) => Expr { kind: v.kind.clone(), span: e.span },
                    None => e,
                },
                _ => e,
            };
            let span = e.span;
            Expr { span, ..fold(e, at) }
        })
    }
}

fn bool_expr(b: bool) -> Expr {
    Expr::new(ExprKind::Bool(b))
}

/// Number of trips of a loop with constant bounds.
fn trips(lo: &Expr, hi: &Expr) -> Option<i64> {
    hi.as_int()?.checked_sub(lo.as_int()?)
}

fn defines_names(block: &Block) -> bool {
    block.iter().any(|s| match &s.kind {
        StmtKind::Let { .. } | StmtKind::Load { .. } | StmtKind::Alloc(_) | StmtKind::Signal { .. } => true,
        StmtKind::Prim(op) => op.result.is_some(),
        _ => false,
    })
}

/// Folds one node whose operands are folded.
fn fold(e: Expr, at: &Context) -> Expr {
    match &e.kind {
        ExprKind::Unary(UnOp::Not, a) => match a.kind {
            ExprKind::Bool(b) => bool_expr(!b),
            _ => e,
        },
        ExprKind::Unary(UnOp::Neg, a) => match a.as_int() {
            Some(v) => Expr::int(v.wrapping_neg()),
            None => e,
        },
        ExprKind::Binary(op, a, b) => fold_binary(*op, a, b, at).unwrap_or(e),
        ExprKind::Select(c, a, b) => match c.kind {
            ExprKind::Bool(true) => (**a).clone(),
            ExprKind::Bool(false) => (**b).clone(),
            _ if a == b => (**a).clone(),
            _ => e,
        },
        ExprKind::Cast(ScalarTy::Index, a) if a.as_int().is_some() => (**a).clone(),
        _ => e,
    }
}

fn fold_binary(op: BinOp, a: &Expr, b: &Expr, at: &Context) -> Option<Expr> {
    if let (Some(x), Some(y)) = (a.as_int(), b.as_int()) {
        return Some(fold_ints(op, x, y));
    }
    let keep_a = || Some(a.clone());
    let keep_b = || Some(b.clone());
    match (op, a.as_int(), b.as_int()) {
        (BinOp::Add | BinOp::Or | BinOp::Xor, Some(0), _) => return keep_b(),
        (BinOp::Add | BinOp::Sub | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::Shr, _, Some(0)) => return keep_a(),
        (BinOp::Mul, Some(1), _) => return keep_b(),
        (BinOp::Mul | BinOp::Div, _, Some(1)) => return keep_a(),
        (BinOp::Mul | BinOp::And, Some(0), _) | (BinOp::Mul | BinOp::And, _, Some(0)) => return Some(Expr::int(0)),
        (BinOp::Rem, _, Some(1 | -1)) => return Some(Expr::int(0)),
        _ => {}
    }
    match (op, &a.kind, &b.kind) {
        (BinOp::LAnd, ExprKind::Bool(true), _) | (BinOp::LOr, ExprKind::Bool(false), _) => return keep_b(),
        (BinOp::LAnd, _, ExprKind::Bool(true)) | (BinOp::LOr, _, ExprKind::Bool(false)) => return keep_a(),
        (BinOp::LAnd, ExprKind::Bool(false), _) | (BinOp::LAnd, _, ExprKind::Bool(false)) => {
            return Some(bool_expr(false));
        }
        (BinOp::LOr, ExprKind::Bool(true), _) | (BinOp::LOr, _, ExprKind::Bool(true)) => return Some(bool_expr(true)),
        _ => {}
    }
    by_range(op, a, b, at)
}

/// What known ranges decide: idle remainders, divisions and comparisons of index expressions.
fn by_range(op: BinOp, a: &Expr, b: &Expr, at: &Context) -> Option<Expr> {
    if !is_index(a, at) || !is_index(b, at) {
        return None;
    }
    let range = |e: &Expr| at.facts.range(&Dim::from_expr(e));
    match (op, b.as_int()) {
        (BinOp::Rem | BinOp::Div, Some(n)) if n > 0 => {
            let (lo, hi) = range(a);
            if lo? >= 0 && hi? < n {
                return Some(if op == BinOp::Rem { a.clone() } else { Expr::int(0) });
            }
            None
        }
        (BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge, _) => {
            let ((alo, ahi), (blo, bhi)) = (range(a), range(b));
            let below = |x: Option<i64>, y: Option<i64>, equal: bool| match (x, y) {
                (Some(x), Some(y)) => x < y || (equal && x == y),
                _ => false,
            };
            let (always, never) = match op {
                BinOp::Lt => (below(ahi, blo, false), below(bhi, alo, true)),
                BinOp::Le => (below(ahi, blo, true), below(bhi, alo, false)),
                BinOp::Gt => (below(bhi, alo, false), below(ahi, blo, true)),
                _ => (below(bhi, alo, true), below(ahi, blo, false)),
            };
            if always {
                Some(bool_expr(true))
            } else if never {
                Some(bool_expr(false))
            } else {
                None
            }
        }
        _ => None,
    }
}

/// Signed 64-bit arithmetic? Only there do ranges of `Dim`s speak of the value.
fn is_index(e: &Expr, at: &Context) -> bool {
    e.as_int().is_some() || matches!(tilewright_ir::types::type_of(e, &at.env), Ok(ScalarTy::Index))
}

/// Integer operators on two literals, as the language defines them.
fn fold_ints(op: BinOp, x: i64, y: i64) -> Expr {
    let int = Expr::int;
    match op {
        BinOp::Add => int(x.wrapping_add(y)),
        BinOp::Sub => int(x.wrapping_sub(y)),
        BinOp::Mul => int(x.wrapping_mul(y)),
        BinOp::Div => int(if y == 0 { 0 } else { x.wrapping_div(y) }),
        BinOp::Rem => int(if y == 0 { 0 } else { x.wrapping_rem(y) }),
        BinOp::Min => int(x.min(y)),
        BinOp::Max => int(x.max(y)),
        BinOp::And => int(x & y),
        BinOp::Or => int(x | y),
        BinOp::Xor => int(x ^ y),
        BinOp::Shl => int(x.wrapping_shl((y & 63) as u32)),
        BinOp::Shr => int(x.wrapping_shr((y & 63) as u32)),
        BinOp::Eq => bool_expr(x == y),
        BinOp::Ne => bool_expr(x != y),
        BinOp::Lt => bool_expr(x < y),
        BinOp::Le => bool_expr(x <= y),
        BinOp::Gt => bool_expr(x > y),
        BinOp::Ge => bool_expr(x >= y),
        // On two literals these are type errors, which the verifier has refused.
        BinOp::LAnd | BinOp::LOr => Expr::binary(op, int(x), int(y)),
    }
}

/// Removes lets that nobody reads, innermost uses first; loads stay (they touch memory).
fn remove_unused(block: &mut Block) {
    let mut used: BTreeMap<Name, usize> = BTreeMap::new();
    count_block(block, &mut used, 1);
    prune(block, &mut used);
}

fn prune(block: &mut Block, used: &mut BTreeMap<Name, usize>) {
    // From the end, so that a let whose only reader goes is seen after that reader.
    let mut kept = Block::with_capacity(block.len());
    for mut stmt in std::mem::take(block).into_iter().rev() {
        match &mut stmt.kind {
            StmtKind::Let { name, value, .. } if used.get(name).copied().unwrap_or(0) == 0 => {
                count_expr(value, used, -1);
                continue;
            }
            StmtKind::For { body, .. } => prune(body, used),
            StmtKind::If { then, els, .. } => {
                if let Some(els) = els {
                    prune(els, used);
                }
                prune(then, used);
            }
            _ => {}
        }
        kept.push(stmt);
    }
    kept.reverse();
    *block = kept;
}

fn count_expr(e: &Expr, used: &mut BTreeMap<Name, usize>, by: isize) {
    e.walk(&mut |e| {
        if let ExprKind::Var(n) = &e.kind {
            let slot = used.entry(n.clone()).or_insert(0);
            *slot = slot.saturating_add_signed(by);
        }
    });
}

fn count_block(block: &Block, used: &mut BTreeMap<Name, usize>, by: isize) {
    for stmt in block {
        crate::effects::for_each_expr(stmt, &mut |e| count_expr(e, used, by));
        for inner in stmt.blocks() {
            count_block(inner, used, by);
        }
    }
}

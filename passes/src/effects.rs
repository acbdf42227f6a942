//! What a statement touches: the one place where passes learn of effects.
//!
//! Effects of primitive ops come from their row in the op table; an op without a row touches everything. So a new op
//! breaks no pass.

use tilewright_ir::op::{ArgKind, Order};
use tilewright_ir::stmt::walk_block;
use tilewright_ir::{
    After, Block, CommField, Expr, ExprKind, Name, OpSet, Place, PrimArg, PrimOp, Region, Source, Special, Stmt,
    StmtKind, TileKind,
};

/// One access to a buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The buffer.
    pub buf: Name,
    /// Whose part of a window; `None` is this rank's.
    pub rank: Option<Expr>,
    /// Written (else read)?
    pub write: bool,
}

/// The effects of a statement, blocks inside included.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// Buffers touched.
    pub accesses: Vec<Access>,
    /// Threads meet, or the statement waits for another agent, or it is not known what it does.
    pub order: bool,
    /// Something is posted to a copy engine.
    pub posts: bool,
}

impl Effects {
    fn add(&mut self, buf: &Name, rank: &Option<Expr>, write: bool) {
        self.accesses.push(Access { buf: buf.clone(), rank: rank.clone(), write });
    }

    fn place(&mut self, p: &Place, write: bool) {
        self.add(&p.buf, &p.rank, write);
    }

    fn region(&mut self, r: &Region, write: bool) {
        self.add(&r.buf, &r.rank, write);
    }
}

/// Effects of one statement.
pub fn effects_of(stmt: &Stmt, ops: &OpSet) -> Effects {
    let mut e = Effects::default();
    collect(stmt, ops, &mut e);
    e
}

/// Memory of this rank: no rank, or `me`.
pub(crate) fn is_own(rank: Option<&Expr>) -> bool {
    match rank.map(|r| &r.kind) {
        None => true,
        Some(ExprKind::Special(Special::Me) | ExprKind::Comm(_, CommField::LsaRank)) => true,
        Some(_) => false,
    }
}

/// Buffers that a block writes, by name, other than by copies that an engine certainly carries to another rank's part.
pub fn written_in(block: &Block, ops: &OpSet) -> Vec<Name> {
    let mut e = Effects::default();
    walk_block(block, &mut |stmt| match &stmt.kind {
        StmtKind::For { .. } | StmtKind::If { .. } => {}
        StmtKind::Tile(op)
            if matches!(op.kind, TileKind::Copy | TileKind::CopyAsync)
                && !op.attrs.carry_any
                && op.attrs.variant.is_none() =>
        {
            op.dsts.iter().filter(|d| is_own(d.rank.as_ref())).for_each(|d| e.region(d, true));
        }
        _ => collect(stmt, ops, &mut e),
    });
    let mut names: Vec<Name> = e.accesses.into_iter().filter(|a| a.write).map(|a| a.buf).collect();
    names.sort();
    names.dedup();
    names
}

fn collect(stmt: &Stmt, ops: &OpSet, e: &mut Effects) {
    match &stmt.kind {
        StmtKind::Load { from, .. } => e.place(from, false),
        StmtKind::Store { to, .. } => e.place(to, true),
        StmtKind::Tile(op) => {
            op.dsts.iter().for_each(|d| e.region(d, true));
            for src in &op.srcs {
                if let Source::Region(r) = src {
                    e.region(r, false);
                }
            }
            if let Some(After::Flag(flag, _)) = &op.attrs.after {
                e.place(flag, false);
            }
            e.order |= op.attrs.after.is_some();
        }
        StmtKind::Prim(op) => collect_prim(op, ops, e),
        StmtKind::Sync(_) | StmtKind::WaitToken(_) | StmtKind::WaitSignal { .. } => e.order = true,
        StmtKind::For { .. } | StmtKind::If { .. } => {
            for block in stmt.blocks() {
                block.iter().for_each(|s| collect(s, ops, e));
            }
        }
        StmtKind::Let { .. }
        | StmtKind::Alloc(_)
        | StmtKind::Assume(_)
        | StmtKind::Signal { .. }
        | StmtKind::Posted { .. } => {}
    }
}

fn collect_prim(op: &PrimOp, ops: &OpSet, e: &mut Effects) {
    let Some(row) = ops.find(op.op.as_str()) else {
        e.order = true;
        return;
    };
    match row.order {
        Order::None => {}
        Order::Post => e.posts = true,
        Order::Barrier | Order::Fence | Order::Wait => e.order = true,
    }
    for (i, arg) in op.args.iter().enumerate() {
        let kind = row.args.get(i).copied().or(row.rest.map(|(k, _)| k));
        if let PrimArg::Place(p) = arg {
            e.place(p, !kind.is_some_and(ArgKind::only_reads));
        }
    }
}

/// Calls `f` on every expression of a statement itself, not on those of the blocks inside.
pub fn for_each_expr(stmt: &Stmt, f: &mut dyn FnMut(&Expr)) {
    use tilewright_ir::{Completion, Index, PlaceIndex};
    fn place(p: &Place, f: &mut dyn FnMut(&Expr)) {
        p.rank.iter().for_each(&mut *f);
        match &p.index {
            PlaceIndex::Flat(e) => f(e),
            PlaceIndex::Logical(es) => es.iter().for_each(f),
        }
    }
    fn region(r: &Region, f: &mut dyn FnMut(&Expr)) {
        r.rank.iter().for_each(&mut *f);
        for index in r.index.iter().flatten() {
            match index {
                Index::At(e) => f(e),
                Index::Range(lo, hi) => lo.iter().chain(hi).for_each(&mut *f),
            }
        }
    }
    match &stmt.kind {
        StmtKind::Let { value, .. } => f(value),
        StmtKind::Load { from, .. } => place(from, f),
        StmtKind::Store { to, value } => {
            place(to, f);
            f(value);
        }
        StmtKind::For { lo, hi, .. } => {
            f(lo);
            f(hi);
        }
        StmtKind::If { cond, .. } | StmtKind::Assume(cond) => f(cond),
        StmtKind::WaitSignal { from, expected, .. } => {
            f(from);
            expected.iter().for_each(f);
        }
        StmtKind::Tile(op) => {
            op.dsts.iter().for_each(|r| region(r, f));
            for src in &op.srcs {
                match src {
                    Source::Region(r) => region(r, f),
                    Source::Value(e) => f(e),
                }
            }
            match &op.attrs.after {
                None => {}
                Some(After::Flag(flag, value)) => {
                    place(flag, f);
                    f(value);
                }
                Some(After::Signal { from, expected, .. }) => {
                    f(from);
                    expected.iter().for_each(f);
                }
            }
        }
        StmtKind::Prim(op) => {
            for arg in &op.args {
                match arg {
                    PrimArg::Expr(e) => f(e),
                    PrimArg::Place(p) => place(p, f),
                }
            }
        }
        StmtKind::Posted { completion: Completion::Queue { peer, .. }, .. } => f(peer),
        StmtKind::Alloc(_)
        | StmtKind::Sync(_)
        | StmtKind::Signal { .. }
        | StmtKind::WaitToken(_)
        | StmtKind::Posted { .. } => {}
    }
}

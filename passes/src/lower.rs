//! `lower`: what is left of the language above the machine.
//!
//! Barriers become `barrier`; a signal wait becomes the poll of a leader, a system acquire and the scope's barrier;
//! logical element accesses become flat places; `me` becomes the communicator's rank. Signals whose value is awaited get
//! a hidden parameter with their running totals.
//!
//! Must hold afterwards: the module is at the lowered level (the verifier's `Level::Lowered`).

use tilewright_ir::diag::Diagnostic;
use tilewright_ir::{
    AttrValue, Block, BufferTy, Code, CommField, DType, Dim, Expr, ExprKind, Kernel, Name, Param, ParamTy, Place,
    PlaceIndex, PrimArg, PrimOp, Scope, Space, Span, Special, Stmt, StmtKind,
};

use crate::effects::written_in;
use crate::pipeline::{PassCx, State};
use crate::select::engine::learn;
use crate::select::view::Context;
use crate::select::{Names, Rewriter};

/// Entries of a signal's hidden table of totals: the most ranks that a node may have (eight chips, each in up to eight
/// partitions).
pub const MAX_LSA_RANKS: i64 = 64;

/// Runs the pass.
pub(crate) fn run(state: &mut State, cx: &PassCx) -> Result<(), Vec<Diagnostic>> {
    let mut errors = Vec::new();
    for kernel in state.module.kernels_mut() {
        let warp = kernel.launch.warp.lanes(cx.target.warp_size);
        let context = Context::for_kernel(kernel, warp, written_in(&kernel.body, &cx.ops));
        let comm = context.env.devcomm().cloned();
        // Tables that `select-copies` has made are there already.
        let made = state.kernels.get(&kernel.name).map(|facts| facts.bases.clone()).unwrap_or_default();
        let old = made.len();
        let mut lowerer = Lowerer { names: Names::of_kernel(kernel), comm, bases: made, errors: &mut errors, warp };
        let body = std::mem::take(&mut kernel.body);
        kernel.body = lowerer.block(body, context);
        let bases = lowerer.bases;
        add_hidden(kernel, &bases[old..]);
        state.kernels.entry(kernel.name.clone()).or_default().bases = bases;
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Appends the hidden tables of totals.
pub(crate) fn add_hidden(kernel: &mut Kernel, bases: &[(Name, Name)]) {
    for (_, table) in bases {
        let ty = BufferTy {
            space: Space::Global,
            dtype: DType::U64,
            shape: vec![Dim::Const(MAX_LSA_RANKS)],
            layout: None,
            align: None,
        };
        kernel.params.push(Param { name: table.clone(), ty: ParamTy::Buffer(ty), hidden: true, span: Span::NONE });
    }
}

/// The hidden table of a signal's totals.
pub(crate) fn base_of(bases: &mut Vec<(Name, Name)>, names: &mut Names, signal: &Name) -> Name {
    if let Some((_, table)) = bases.iter().find(|(s, _)| s == signal) {
        return table.clone();
    }
    let table = names.fresh(&format!("{signal}_base"));
    bases.push((signal.clone(), table.clone()));
    table
}

struct Lowerer<'a> {
    names: Names,
    comm: Option<Name>,
    /// Signals that are waited for, each with its hidden table.
    bases: Vec<(Name, Name)>,
    errors: &'a mut Vec<Diagnostic>,
    warp: u32,
}

impl Lowerer<'_> {
    fn block(&mut self, block: Block, mut at: Context) -> Block {
        at.env.enter();
        let mut out = Block::with_capacity(block.len());
        for stmt in block {
            self.stmt(stmt, &mut at, &mut out);
        }
        out
    }

    fn stmt(&mut self, stmt: Stmt, at: &mut Context, out: &mut Block) {
        let span = stmt.span;
        let kind = match stmt.kind {
            StmtKind::For { var, lo, hi, unroll, body } => {
                let mut inner = at.clone();
                inner.env.enter();
                inner.env.bind_loop(&var, &lo, &hi, span);
                inner.facts.loop_var(&var, &lo, &hi);
                let body = self.block(body, inner);
                StmtKind::For { var, lo: self.expr(&lo), hi: self.expr(&hi), unroll, body }
            }
            StmtKind::If { cond, then, els } => {
                let mut inner = at.clone();
                inner.facts.assume(&cond);
                let then = self.block(then, inner);
                let els = els.map(|els| {
                    let mut inner = at.clone();
                    inner.facts.assume_not(&cond);
                    self.block(els, inner)
                });
                StmtKind::If { cond: self.expr(&cond), then, els }
            }
            StmtKind::Sync(scope) => match barrier_scope(scope) {
                Some(word) => StmtKind::Prim(PrimOp::new("barrier", vec![], vec![("scope", word)])),
                None => return,
            },
            StmtKind::Signal { name, queue } => {
                learn(&Stmt::new(StmtKind::Signal { name, queue }, span), at);
                return;
            }
            StmtKind::WaitSignal { signal, from, scope, expected } => {
                let Some(expected) = expected else {
                    self.errors.push(unknown_count(&signal, span));
                    return;
                };
                out.extend(self.wait_signal(&signal, self.expr(&from), scope, self.expr(&expected), span, at));
                return;
            }
            StmtKind::Load { name, from } => {
                let from = self.place(&from, at);
                StmtKind::Load { name, from }
            }
            StmtKind::Store { to, value } => {
                let to = self.place(&to, at);
                StmtKind::Store { to, value: self.expr(&value) }
            }
            StmtKind::Let { name, ty, value } => StmtKind::Let { name, ty, value: self.expr(&value) },
            StmtKind::Assume(e) => StmtKind::Assume(self.expr(&e)),
            StmtKind::Prim(op) => StmtKind::Prim(self.prim(op, at)),
            kind @ (StmtKind::Alloc(_) | StmtKind::WaitToken(_) | StmtKind::Posted { .. } | StmtKind::Tile(_)) => kind,
        };
        let stmt = Stmt::new(kind, span);
        learn(&stmt, at);
        out.push(stmt);
    }

    /// `me` in terms of the communicator.
    fn expr(&self, e: &Expr) -> Expr {
        let Some(comm) = &self.comm else { return e.clone() };
        e.rewrite(&mut |e| match e.kind {
            ExprKind::Special(Special::Me) => {
                Expr { kind: ExprKind::Comm(comm.clone(), CommField::LsaRank), span: e.span }
            }
            _ => e,
        })
    }

    fn place(&mut self, place: &Place, at: &Context) -> Place {
        match flat_place(place, at) {
            Ok(mut flat) => {
                flat.rank = flat.rank.map(|r| self.expr(&r));
                if let PlaceIndex::Flat(e) = &flat.index {
                    flat.index = PlaceIndex::Flat(self.expr(e));
                }
                flat
            }
            Err(e) => {
                self.errors.push(e);
                place.clone()
            }
        }
    }

    fn prim(&mut self, mut op: PrimOp, at: &Context) -> PrimOp {
        for arg in &mut op.args {
            *arg = match arg {
                PrimArg::Expr(e) => PrimArg::Expr(self.expr(e)),
                PrimArg::Place(p) => PrimArg::Place(self.place(p, at)),
            };
        }
        op
    }

    fn wait_signal(
        &mut self,
        signal: &Name,
        from: Expr,
        scope: Scope,
        expected: Expr,
        span: Span,
        at: &Context,
    ) -> Block {
        let queue = match at.env.lookup(signal) {
            Some(tilewright_ir::env::Entity::Signal { queue }) => i64::from(*queue),
            _ => 0,
        };
        let table = base_of(&mut self.bases, &mut self.names, signal);
        let warp = i64::from(self.warp);
        let mut rw = Rewriter::new(&mut self.names, span);
        let poll = |rw: &mut Rewriter| {
            let base = rw.fresh("base");
            let entry = rw.place(
                &table,
                None,
                Expr::new(ExprKind::Cast(tilewright_ir::ScalarTy::Index, Box::new(from.clone()))),
            );
            rw.stmt(StmtKind::Load { name: base.clone(), from: entry });
            let want = Expr::var(&base).add(expected.clone());
            rw.prim(
                "sdma.wait_signal",
                vec![PrimArg::Expr(from.clone()), PrimArg::Expr(want)],
                vec![("queue", AttrValue::Int(queue))],
            );
            rw.prim("fence.acquire", vec![], vec![("scope", word("system"))]);
        };
        let leader = match scope {
            Scope::Thread => None,
            Scope::Warp => Some(Expr::special(Special::Lane)),
            Scope::Warpgroup => Some(Expr::special(Special::ThreadLinear).rem_by(4 * warp)),
            Scope::Cta => Some(Expr::special(Special::ThreadLinear)),
        };
        match leader {
            None => poll(&mut rw),
            Some(id) => rw.if_(Expr::binary(tilewright_ir::BinOp::Eq, id, Expr::int(0)), poll),
        }
        if let Some(scope) = barrier_scope(scope) {
            rw.prim("barrier", vec![], vec![("scope", scope)]);
        }
        rw.finish()
    }
}

fn word(text: &str) -> AttrValue {
    AttrValue::Sym(Name::new(text))
}

/// The word of a barrier's scope; a thread needs none.
pub(crate) fn barrier_scope(scope: Scope) -> Option<AttrValue> {
    (scope != Scope::Thread).then(|| word(scope.as_str()))
}

pub(crate) fn unknown_count(signal: &Name, span: Span) -> Diagnostic {
    Diagnostic::error(
        Code::EXPECTED_NOT_AFFINE,
        span,
        format!("the number of notifies of `{signal}` is not known here"),
    )
    .help("write it: `wait s from r, expected = n;`")
}

/// A place by position in the buffer's own memory.
///
/// # Errors
/// If the buffer's layout spreads elements over threads (whose register is it?), or cannot be indexed so.
pub(crate) fn flat_place(place: &Place, at: &Context) -> Result<Place, Diagnostic> {
    let PlaceIndex::Logical(index) = &place.index else { return Ok(place.clone()) };
    let ty = at
        .env
        .buffer(&place.buf)
        .ok_or_else(|| Diagnostic::error(Code::UNKNOWN_NAME, place.span, format!("`{}` is not a buffer", place.buf)))?;
    let layout = ty.layout();
    if let Some(axis) = layout.tile.thread_axes().first() {
        let message =
            format!("`{}` is spread over threads ({axis}), so an element of it has no one owner here", place.buf);
        return Err(Diagnostic::error(Code::LOCAL_OWNER, place.span, message).help(
            "copy the tile to shared or global memory, or use a `local` without a layout, which each thread has whole",
        ));
    }
    let flat = layout.offset_expr(index, &ty.shape, &at.facts).map_err(|e| {
        Diagnostic::error(Code::BAD_LAYOUT, place.span, format!("`{}` cannot be indexed: {e}", place.buf))
    })?;
    Ok(Place { index: PlaceIndex::Flat(flat), ..place.clone() })
}

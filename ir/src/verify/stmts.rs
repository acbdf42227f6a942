//! Statements. Rules:
//! - each level allows its kinds of statements (see `Level`); at the lowered level loads and stores are flat;
//! - a name is defined before it is used, and never while another of the same name is visible;
//! - a written type of a `let` is the value's type, or both are integers;
//! - a stored value has the dtype of the buffer or is a literal that fits;
//! - loop bounds are integers; an `unroll for` has a constant number of trips, 4096 at most;
//! - conditions and assumptions are bool;
//! - `shared` buffers are made where all threads of the CTA pass.

use std::sync::Arc;

use super::{Checker, Level};
use crate::diag::{Code, Diagnostic};
use crate::dim::Dim;
use crate::dtype::ScalarTy;
use crate::env::Entity;
use crate::expr::Expr;
use crate::module::BufferTy;
use crate::name::Name;
use crate::space::Space;
use crate::span::Span;
use crate::stmt::{Alloc, Block, Place, PlaceIndex, Stmt, StmtKind};
use crate::types::{expect_bool, expect_integral, expect_value, let_converts, literal_fits, literal_int};

/// Trips that an `unroll for` may have; each is a copy of the body.
const MAX_UNROLL: i64 = 4096;

impl Checker<'_> {
    pub(super) fn block(&mut self, block: &Block) {
        self.depth += 1;
        self.tokens.open();
        if self.depth > 1 {
            self.env.enter();
        }
        for stmt in block {
            self.stmt(stmt);
        }
        if self.depth > 1 {
            self.env.leave();
        }
        let unwaited = self.tokens.close();
        for d in unwaited {
            self.report(d);
        }
        self.depth -= 1;
    }

    fn stmt(&mut self, stmt: &Stmt) {
        if !self.level_allows(stmt) {
            let message = format!("{} at the {} level", describe(&stmt.kind), self.level.as_str());
            self.report(Diagnostic::error(Code::LEVEL, stmt.span, message));
        }
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Let { name, ty, value } => return self.let_stmt(stmt, name, *ty, value),
            StmtKind::Load { name, from } => return self.load(stmt, name, from),
            StmtKind::Store { to, value } => self.store(to, value),
            StmtKind::Alloc(alloc) => return self.alloc(stmt, alloc),
            StmtKind::For { var, lo, hi, unroll, body } => self.for_stmt(var, lo, hi, *unroll, body, span),
            StmtKind::If { cond, then, els } => self.if_stmt(cond, then, els.as_ref()),
            StmtKind::Sync(scope) => self.sync(*scope, span),
            StmtKind::Assume(cond) => {
                self.check(cond, expect_bool);
            }
            StmtKind::Signal { name, .. } => self.signal(name, span),
            StmtKind::WaitToken(name) => self.wait_token(name, span),
            StmtKind::WaitSignal { signal, from, scope, expected } => {
                self.wait_signal(signal, from, *scope, expected.as_ref(), span);
            }
            StmtKind::Tile(op) => self.tile(op, span),
            StmtKind::Prim(op) => self.prim(op, span),
            StmtKind::Posted { token, completion } => self.posted(token, completion, span),
        }
        self.define(stmt);
    }

    /// Binds what the statement defines, after the check that the name is free.
    fn define(&mut self, stmt: &Stmt) {
        let name = match &stmt.kind {
            StmtKind::Let { name, .. } | StmtKind::Load { name, .. } | StmtKind::Signal { name, .. } => Some(name),
            StmtKind::Alloc(alloc) => Some(&alloc.name),
            StmtKind::Tile(op) => op.token.as_ref(),
            StmtKind::Posted { token, .. } => Some(token),
            StmtKind::Prim(op) => op.result.as_ref(),
            _ => None,
        };
        if let Some(name) = name {
            self.check_new(name, stmt.span);
        }
        match &stmt.kind {
            StmtKind::Prim(op) if op.result.is_some() => {
                let row = self.ops.find(op.op.as_str()).copied();
                if let Some(result) = &op.result {
                    self.env.bind_result(result, row.as_ref(), stmt.span);
                }
            }
            _ => self.env.bind_stmt(stmt),
        }
    }

    fn level_allows(&self, stmt: &Stmt) -> bool {
        let flat = |p: &Place| matches!(p.index, PlaceIndex::Flat(_));
        match (self.level, &stmt.kind) {
            (Level::Tile, StmtKind::Posted { .. }) | (Level::Selected, StmtKind::Tile(_)) => false,
            (Level::Tile | Level::Selected, _) => true,
            (Level::Lowered, StmtKind::Load { from: p, .. } | StmtKind::Store { to: p, .. }) => flat(p),
            (
                Level::Lowered,
                StmtKind::Let { .. }
                | StmtKind::Alloc(_)
                | StmtKind::For { .. }
                | StmtKind::If { .. }
                | StmtKind::Assume(_)
                | StmtKind::Prim(_),
            ) => true,
            (Level::Lowered, _) => false,
        }
    }

    fn let_stmt(&mut self, stmt: &Stmt, name: &Name, ty: Option<ScalarTy>, value: &Expr) {
        let poisoned = self.is_poisoned(value);
        let own = self.ty(value);
        let mut good = own.is_some();
        if let (Some(own), Some(want)) = (own, ty) {
            if !let_converts(value, own, want) {
                let message = format!("`{name}` is declared {want}, its value is {own}");
                let code = match want {
                    ScalarTy::LsaRank | ScalarTy::WorldRank => Code::RANK_TYPE,
                    _ => Code::TYPE_MISMATCH,
                };
                let convert = match want {
                    ScalarTy::LsaRank => "lsa(…)".to_owned(),
                    ScalarTy::WorldRank => "world(…)".to_owned(),
                    other => format!("{other}(…)"),
                };
                self.report(Diagnostic::error(code, value.span, message).help(format!("convert it: `{convert}`")));
            } else if let (Some(v), ScalarTy::Num(d)) = (literal_int(value), want) {
                let fits = literal_fits(v, d, value.span);
                self.ok(fits);
            }
            good = true; // the written type holds
        }
        self.define(stmt);
        if (poisoned || !good) && ty.is_none() {
            self.poisoned.insert(name.clone());
        }
    }

    fn load(&mut self, stmt: &Stmt, name: &Name, from: &Place) {
        let good = self.place(from).is_some();
        self.define(stmt);
        if !good {
            self.poisoned.insert(name.clone());
        }
    }

    fn store(&mut self, to: &Place, value: &Expr) {
        match self.place(to) {
            Some(ty) => {
                self.check(value, |e, env| expect_value(e, ty.dtype, env));
            }
            None => {
                self.ty(value);
            }
        }
    }

    fn alloc(&mut self, stmt: &Stmt, alloc: &Alloc) {
        let ty = Arc::new(BufferTy::from(alloc));
        let before = self.out.len();
        if !matches!(alloc.space, Space::Shared | Space::Local) {
            let message = format!("`{}` cannot be made in {} memory", alloc.name, alloc.space);
            let d = Diagnostic::error(Code::SPACE_NOT_ALLOWED, stmt.span, message);
            self.report(d.help("device memory is passed as a parameter; make `shared` or `local` buffers"));
        }
        self.buffer(&alloc.name, &ty, stmt.span);
        if alloc.space == Space::Shared && !self.guards.is_empty() && self.level == Level::Tile {
            let d = Diagnostic::error(
                Code::COLLECTIVE_UNDER_GUARD,
                stmt.span,
                format!("shared buffer `{}` is made where only some threads of the CTA pass", alloc.name),
            );
            let guard = self.guards.last().copied().unwrap_or(Span::NONE);
            self.report(d.also(guard, "this condition").help("make it before the `if`"));
        }
        let good = self.out.len() == before;
        self.define(stmt);
        if !good {
            self.poisoned.insert(alloc.name.clone());
        }
    }

    fn for_stmt(&mut self, var: &Name, lo: &Expr, hi: &Expr, unroll: bool, body: &Block, span: Span) {
        self.check(lo, expect_integral);
        self.check(hi, expect_integral);
        if unroll && !self.is_poisoned(lo) && !self.is_poisoned(hi) {
            self.unroll(lo, hi, span);
        }
        let inside = self.active_here().iter().map(|a| a.in_loop(lo, hi, &self.env)).collect();
        self.active.push(inside);
        let varying = self.env.is_varying(lo) || self.env.is_varying(hi);
        if varying {
            self.guards.push(lo.span.to(hi.span));
        }
        self.check_new(var, span);
        self.env.enter();
        self.env.bind_loop(var, lo, hi, span);
        self.tokens.enter_loop();
        self.block(body);
        self.tokens.leave_loop();
        self.env.leave();
        if varying {
            self.guards.pop();
        }
        self.active.pop();
    }

    fn unroll(&mut self, lo: &Expr, hi: &Expr, span: Span) {
        let value = |e: &Expr| self.env.resolve(e).map(|r| Dim::from_expr(&r));
        let trips = match (value(lo), value(hi)) {
            (Some(lo), Some(hi)) => hi.sub(&lo).as_const(),
            _ => None,
        };
        match trips {
            Some(n) if n <= MAX_UNROLL => {}
            Some(n) => {
                let message = format!("`unroll for` of {n} trips");
                self.report(
                    Diagnostic::error(Code::UNROLL, span, message).help(format!("at most {MAX_UNROLL}; use `for`")),
                );
            }
            None => {
                let message = "number of trips of `unroll for` is no constant";
                self.report(Diagnostic::error(Code::UNROLL, span, message).help("use `for`, or constant bounds"));
            }
        }
    }

    fn if_stmt(&mut self, cond: &Expr, then: &Block, els: Option<&Block>) {
        self.check(cond, expect_bool);
        let varying = self.env.is_varying(cond);
        if varying {
            self.guards.push(cond.span);
        }
        let narrowed = self.active_here().iter().map(|a| a.narrow(cond, &self.env)).collect();
        self.active.push(narrowed);
        self.tokens.start_if();
        self.block(then);
        self.active.pop();
        self.tokens.start_else();
        if let Some(els) = els {
            let narrowed = self.active_here().iter().map(|a| a.narrow_not(cond, &self.env)).collect();
            self.active.push(narrowed);
            self.block(els);
            self.active.pop();
        }
        for d in self.tokens.end_if() {
            self.report(d);
        }
        if varying {
            self.guards.pop();
        }
    }

    /// Looks a name up that must be of some kind; `None` if it was reported, or its definition was wrong.
    pub(super) fn entity(&mut self, name: &Name, span: Span) -> Option<Entity> {
        if self.poisoned.contains(name) {
            return None;
        }
        match self.env.lookup(name) {
            Some(e) => Some(e.clone()),
            None => {
                let d = crate::types::unknown_name(name, span, &self.env);
                self.report(d);
                None
            }
        }
    }
}

/// A statement in a message.
fn describe(kind: &StmtKind) -> String {
    match kind {
        StmtKind::Load { .. } | StmtKind::Store { .. } => "element named by its logical index".to_owned(),
        StmtKind::Sync(_) => "`sync`".to_owned(),
        StmtKind::Signal { .. } => "`signal`".to_owned(),
        StmtKind::WaitToken(_) | StmtKind::WaitSignal { .. } => "`wait`".to_owned(),
        StmtKind::Tile(op) => format!("tile op `{}`", op.kind.as_str()),
        StmtKind::Posted { .. } => "`posted`".to_owned(),
        _ => "statement".to_owned(),
    }
}

//! Which threads reach what a group executes together. Rules:
//! - a tile op of a scope wider than a thread runs under conditions on thread ids that are understood: they depend on
//!   nothing but thread ids and constants, so that the threads are known (TW0018);
//! - where a whole group must come (barriers, collective primitive ops, waits of a group), all its threads do (TW0019);
//! - ranks and bounds of a group's op have one value in the group (TW0041);
//! - a warpgroup is four whole warps: the launch has a multiple of that many threads.
//!
//! With `warp = target` a rule is broken only if it is for 32 and for 64 lanes.

use super::Checker;
use crate::diag::{Code, Diagnostic};
use crate::expr::{Expr, ExprKind};
use crate::space::Scope;
use crate::span::Span;
use crate::threads::ActiveSet;

impl Checker<'_> {
    fn guard(&self) -> Span {
        let opaque = self.active_here().iter().find_map(ActiveSet::opaque);
        opaque.or_else(|| self.guards.last().copied()).unwrap_or(Span::NONE)
    }

    /// May the scope be used in this launch at all?
    pub(super) fn scope_fits(&mut self, scope: Scope, span: Span) {
        if scope != Scope::Warpgroup {
            return;
        }
        let fits = |a: &ActiveSet| a.threads().is_multiple_of(4 * a.warp());
        if self.kernel.launch.threads().is_some() && !self.active_here().iter().any(fits) {
            let threads = self.active_here().first().map_or(0, ActiveSet::threads);
            let warp = self.active_here().first().map_or(32, ActiveSet::warp);
            let message = format!("{threads} threads are no whole warpgroups");
            self.report(
                Diagnostic::error(Code::SCOPE_NEEDS_THREADS, span, message)
                    .help(format!("a warpgroup is four warps: use a multiple of {} threads", 4 * warp)),
            );
        }
    }

    /// A tile op of this scope stands here.
    pub(super) fn understood(&mut self, what: &str, scope: Scope, span: Span) {
        self.scope_fits(scope, span);
        if scope == Scope::Thread || self.active_here().iter().any(ActiveSet::is_understood) {
            return;
        }
        let d = Diagnostic::error(
            Code::GUARD_NOT_UNDERSTOOD,
            span,
            format!("which threads execute this {what} by {scope} is not known"),
        );
        let guard = self.guard();
        self.report(
            d.also(guard, "decided here")
                .help("use thread ids and constants only in conditions on threads, or `by thread`"),
        );
    }

    /// All threads of each group that comes here must come.
    pub(super) fn whole_groups(&mut self, what: &str, scope: Scope, span: Span) {
        self.scope_fits(scope, span);
        if scope == Scope::Thread || self.active_here().iter().any(|a| a.is_empty() || a.full_groups(scope)) {
            return;
        }
        let d = Diagnostic::error(
            Code::COLLECTIVE_UNDER_GUARD,
            span,
            format!("only some threads of the {scope} reach this {what}; the others would be waited for for ever"),
        );
        let guard = self.guard();
        self.report(d.also(guard, "decided here").help("move it out of the `if`, or let whole groups through"));
    }

    /// The expression has one value in each group of the scope.
    pub(super) fn one_value(&mut self, expr: &Expr, what: &str, scope: Scope) {
        if scope == Scope::Thread || self.is_poisoned(expr) || !self.env.is_varying(expr) {
            return;
        }
        let uniform = self.env.resolve(expr).is_some_and(|e| {
            self.active_here().iter().any(|a| is_one_value(&e, scope, a, &|e| !self.env.is_varying(e)))
        });
        if !uniform {
            let message = format!("{what} differs between the threads of the {scope}");
            self.report(
                Diagnostic::error(Code::NOT_UNIFORM, expr.span, message)
                    .help(format!("the threads of a {scope} execute the op together; use `by thread` for one each")),
            );
        }
    }
}

/// Is the value the same for all active threads of each group?
fn is_one_value(e: &Expr, scope: Scope, active: &ActiveSet, same: &dyn Fn(&Expr) -> bool) -> bool {
    if same(e) {
        return true;
    }
    let size = scope.threads(active.warp(), active.threads()).max(1);
    let mut last: Option<(u32, i64)> = None;
    let mut known = true;
    let mut uniform = true;
    for t in active.iter() {
        let Some(v) = active.eval_at(e, t) else {
            known = false;
            break;
        };
        uniform &= last.is_none_or(|(group, first)| group != t / size || first == v);
        last = Some((t / size, v));
    }
    if known {
        return uniform;
    }
    let below = |e: &Expr| is_one_value(e, scope, active, same);
    match &e.kind {
        ExprKind::Unary(_, a) | ExprKind::Cast(_, a) => below(a),
        ExprKind::Binary(_, a, b) => below(a) && below(b),
        ExprKind::Select(c, a, b) => below(c) && below(a) && below(b),
        _ => false,
    }
}

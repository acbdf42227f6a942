//! `place-waits`: the only pass that writes completion waits.
//!
//! `select-copies` leaves `t = posted …;` behind each copy and, for a blocking copy, `wait t;` right after it. A blocking
//! copy promises that its source is reusable and its local destinations are readable when it returns; nobody can tell
//! whether that wait stands there or just before the first statement that depends on it. So the wait of a blocking copy
//! sinks to that statement (the dependence graph says which), at the latest to the end of its block: several posts then
//! run side by side. An author's `wait t` stays where it was written. Waits for one queue that come to stand together
//! become one. A copy is blocking exactly if `wait t;` follows its `posted` at once; an author who writes
//! `t = copy_async …; wait t;` says the same.
//!
//! Must hold afterwards: no `posted` and no `wait t` is left.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use tilewright_ir::diag::Diagnostic;
use tilewright_ir::{
    AttrValue, Block, Code, Completion, Expr, ExprKind, Name, OpSet, PrimArg, PrimOp, Scope, Span, Stmt, StmtKind,
};

use crate::effects::{Access, effects_of, is_own};
use crate::graph::{DependenceGraph, Position};
use crate::pipeline::{PassCx, State};

/// Runs the pass.
pub(crate) fn run(state: &mut State, cx: &PassCx) -> Result<(), Vec<Diagnostic>> {
    let mut errors = Vec::new();
    for kernel in state.module.kernels_mut() {
        let mut placer = Placer { ops: &cx.ops, tokens: IndexMap::new(), errors: &mut errors };
        let body = std::mem::take(&mut kernel.body);
        kernel.body = placer.block(body);
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Waits by the position of the statement that they stand before.
type Due = BTreeMap<Position, Vec<(Name, Span)>>;

/// How a token completes, and what completing means for memory.
#[derive(Clone)]
struct Pending {
    completion: Completion,
    /// The engine wrote memory of this rank, which may stand stale in caches.
    writes_here: bool,
}

struct Placer<'a> {
    ops: &'a OpSet<'a>,
    tokens: IndexMap<Name, Pending>,
    errors: &'a mut Vec<Diagnostic>,
}

impl Placer<'_> {
    fn block(&mut self, block: Block) -> Block {
        let posts = self.posts_of(&block);
        for (at, touched) in &posts {
            if let StmtKind::Posted { token, completion } = &block[*at].kind {
                let writes_here = touched.iter().any(|a| a.write);
                self.tokens.insert(token.clone(), Pending { completion: completion.clone(), writes_here });
            }
        }
        let due = self.due_positions(&block, &posts);
        let end = block.len();
        let mut out = Block::with_capacity(end);
        let own_waits: Vec<bool> = (0..end).map(|at| at > 0 && is_blocking(&block, at - 1)).collect();
        for (at, stmt) in block.into_iter().enumerate() {
            self.emit_due(&due, at, &mut out);
            if !own_waits[at] {
                self.stmt(stmt, &mut out);
            }
        }
        self.emit_due(&due, end, &mut out);
        out
    }

    /// The `posted` statements of a block with the memory of this rank that their ops touch.
    fn posts_of(&self, block: &Block) -> Vec<(Position, Vec<Access>)> {
        let mut posts = Vec::new();
        let mut touched: Vec<Access> = Vec::new();
        for (at, stmt) in block.iter().enumerate() {
            if let StmtKind::Posted { .. } = stmt.kind {
                posts.push((at, std::mem::take(&mut touched)));
                continue;
            }
            let effects = effects_of(stmt, self.ops);
            if effects.posts {
                // Memory of a peer is not this rank's to wait for: a peer learns of it by a signal.
                touched.extend(effects.accesses.into_iter().filter(|a| is_own(a.rank.as_ref())));
            }
        }
        posts
    }

    /// Where the wait of each blocking copy goes: position of the statement to stand before, and the token.
    fn due_positions(&self, block: &Block, posts: &[(Position, Vec<Access>)]) -> Due {
        // What was complete when its ops returned needs no wait: most copies of most kernels.
        let is_late = |(at, _): &&(Position, Vec<Access>)| {
            !matches!(&block[*at].kind, StmtKind::Posted { completion: Completion::Done, .. })
        };
        let posts: Vec<_> = posts.iter().filter(is_late).cloned().collect();
        if posts.is_empty() {
            return BTreeMap::new();
        }
        // Without the compiler's own waits: they are what is being placed.
        let graph = DependenceGraph::build(&without_blocking_waits(block), self.ops, &posts);
        let mut due: Due = BTreeMap::new();
        for (at, _) in &posts {
            if let StmtKind::Posted { token, .. } = &block[*at].kind
                && is_blocking(block, *at)
            {
                let position = graph.first_dependent(*at).map_or(block.len(), |(p, _)| p);
                due.entry(position).or_default().push((token.clone(), block[*at].span));
            }
        }
        due
    }

    /// Writes the waits that are due before position `at`, one a queue.
    fn emit_due(&mut self, due: &Due, at: Position, out: &mut Block) {
        let mut done: Vec<Completion> = Vec::new();
        for (token, span) in due.get(&at).into_iter().flatten() {
            let pending = self.tokens[token].clone();
            if done.contains(&pending.completion) {
                continue;
            }
            done.push(pending.completion.clone());
            wait_for(&pending, *span, out);
        }
    }

    fn stmt(&mut self, stmt: Stmt, out: &mut Block) {
        let span = stmt.span;
        match stmt.kind {
            StmtKind::Posted { .. } => {}
            StmtKind::WaitToken(token) => match self.tokens.get(&token).cloned() {
                Some(pending) => wait_for(&pending, span, out),
                None => self.errors.push(
                    Diagnostic::error(
                        Code::TOKEN_USE,
                        span,
                        format!("no copy made the token `{token}` before this wait"),
                    )
                    .help("make it with `t = copy_async …;` in this block or one around it"),
                ),
            },
            StmtKind::For { var, lo, hi, unroll, body } => {
                let body = self.block(body);
                out.push(Stmt::new(StmtKind::For { var, lo, hi, unroll, body }, span));
            }
            StmtKind::If { cond, then, els } => {
                let then = self.block(then);
                let els = els.map(|b| self.block(b));
                out.push(Stmt::new(StmtKind::If { cond, then, els }, span));
            }
            kind => out.push(Stmt::new(kind, span)),
        }
    }
}

/// Is the `posted` at this position followed at once by the wait of its token?
fn is_blocking(block: &Block, at: Position) -> bool {
    let StmtKind::Posted { token, .. } = &block[at].kind else { return false };
    matches!(block.get(at + 1).map(|s| &s.kind), Some(StmtKind::WaitToken(t)) if t == token)
}

/// The block with the waits of blocking copies replaced by nothing that depends (positions stay).
fn without_blocking_waits(block: &Block) -> Block {
    let mut out = block.clone();
    for at in 0..block.len() {
        if is_blocking(block, at) {
            out[at + 1].kind = StmtKind::Assume(Expr::new(ExprKind::Bool(true)));
        }
    }
    out
}

/// Writes the wait for one completion.
fn wait_for(pending: &Pending, span: Span, out: &mut Block) {
    match &pending.completion {
        Completion::Done => {}
        Completion::Queue { peer, queue, scope } => {
            let attrs = vec![("queue", AttrValue::Int(i64::from(*queue))), ("coop", AttrValue::Sym(coop_of(*scope)))];
            let op = PrimOp::new("sdma.quiet_queue", vec![PrimArg::Expr(peer.clone())], attrs);
            out.push(Stmt::new(StmtKind::Prim(op), span));
            if pending.writes_here {
                // What the engine wrote may stand stale in this CU's caches.
                let acquire =
                    PrimOp::new("fence.acquire", vec![], vec![("scope", AttrValue::Sym(Name::new("system")))]);
                out.push(Stmt::new(StmtKind::Prim(acquire), span));
            }
        }
    }
}

/// mori's coop word for a scope. mori has none for a warpgroup, and `sdma_put` declines that scope.
pub fn coop_of(scope: Scope) -> Name {
    Name::new(match scope {
        Scope::Thread => "thread",
        Scope::Warp | Scope::Warpgroup => "warp",
        Scope::Cta => "block",
    })
}

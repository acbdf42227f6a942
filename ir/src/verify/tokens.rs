//! Tokens of asynchronous copies. Rules:
//! - each token is waited for exactly once on every path, in the same trip of the same loop that made it, after it was
//!   made;
//! - the threads that wait are those that copied (for a copy by thread: any).

use indexmap::IndexMap;

use super::Checker;
use crate::diag::{Code, Diagnostic};
use crate::env::Entity;
use crate::expr::Expr;
use crate::name::Name;
use crate::space::Scope;
use crate::span::Span;
use crate::stmt::{Completion, StmtKind, walk_block};
use crate::threads::ActiveSet;
use crate::types::expect_lsa_rank;

/// A token in scope.
#[derive(Clone, Debug)]
struct State {
    made: Span,
    scope: Scope,
    active: Vec<ActiveSet>,
    /// Loops open where it was made.
    loops: usize,
    /// Conditions open where it was made.
    ifs: usize,
    waited: Option<Span>,
}

/// Waits around and in an `if` whose branches are being walked.
#[derive(Debug, Default)]
struct Branches {
    /// Tokens that were waited for before it.
    before: IndexMap<Name, Span>,
    /// Those that its first branch waited for.
    first: IndexMap<Name, Span>,
}

/// Tokens in scope, and which of them were waited for on the path so far.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    /// Those that some path has not waited for.
    states: IndexMap<Name, State>,
    /// Those that every path has waited for, and where; kept apart so that an `if` costs nothing for them.
    done: IndexMap<Name, Span>,
    /// Tokens made in each open block.
    blocks: Vec<Vec<Name>>,
    loops: usize,
    /// Open conditions.
    ifs: Vec<Branches>,
}

impl Tokens {
    pub(super) fn open(&mut self) {
        self.blocks.push(Vec::new());
    }

    /// Ends a block: tokens made in it must have been waited for.
    pub(super) fn close(&mut self) -> Vec<Diagnostic> {
        let mut out = Vec::new();
        for name in self.blocks.pop().unwrap_or_default() {
            self.done.swap_remove(&name);
            let Some(state) = self.states.swap_remove(&name) else { continue };
            if state.waited.is_none() {
                let message = format!("nothing waits for `{name}`");
                let d = Diagnostic::error(Code::TOKEN_USE, state.made, message);
                out.push(d.help(format!("write `wait {name};` in this block, before the data is used")));
            }
        }
        out
    }

    pub(super) fn enter_loop(&mut self) {
        self.loops += 1;
    }

    pub(super) fn leave_loop(&mut self) {
        self.loops = self.loops.saturating_sub(1);
    }

    /// Tokens that were made under as many conditions as are open now, and waited for since.
    fn settle(&mut self) {
        let depth = self.ifs.len();
        let settled = |s: &State| s.ifs == depth && s.waited.is_some();
        let done = self.states.iter().filter(|(_, s)| settled(s)).filter_map(|(n, s)| Some((n.clone(), s.waited?)));
        self.done.extend(done);
        self.states.retain(|_, s| !settled(s));
    }

    fn waited(&self) -> IndexMap<Name, Span> {
        self.states.iter().filter_map(|(n, s)| Some((n.clone(), s.waited?))).collect()
    }

    /// Called before the first branch; the tokens that were waited for already do not take part.
    pub(super) fn start_if(&mut self) {
        let before = self.waited();
        self.ifs.push(Branches { before, ..Branches::default() });
    }

    /// Between the branches: what the first one waited for is open again.
    pub(super) fn start_else(&mut self) {
        let now = self.waited();
        let Some(branches) = self.ifs.last_mut() else { return };
        let new: IndexMap<Name, Span> = now.into_iter().filter(|(n, _)| !branches.before.contains_key(n)).collect();
        for name in new.keys() {
            if let Some(s) = self.states.get_mut(name) {
                s.waited = None;
            }
        }
        branches.first = new;
    }

    /// After both branches: a token that only one of them waited for is an error.
    pub(super) fn end_if(&mut self) -> Vec<Diagnostic> {
        let now = self.waited();
        let Some(Branches { before, first }) = self.ifs.pop() else { return Vec::new() };
        let mut out = Vec::new();
        for (name, span) in &first {
            if !now.contains_key(name) {
                out.push(one_path(name, *span));
                if let Some(s) = self.states.get_mut(name) {
                    s.waited = Some(*span);
                }
            }
        }
        for (name, span) in &now {
            if !before.contains_key(name) && !first.contains_key(name) {
                out.push(one_path(name, *span));
            }
        }
        self.settle();
        out
    }
}

fn one_path(name: &Name, span: Span) -> Diagnostic {
    Diagnostic::error(Code::TOKEN_USE, span, format!("`{name}` is waited for on one path only"))
        .help("wait in both branches, or after the `if`")
}

impl Checker<'_> {
    pub(super) fn make_token(&mut self, name: &Name, scope: Scope, span: Span) {
        let active = self.active_here().to_vec();
        let state =
            State { made: span, scope, active, loops: self.tokens.loops, ifs: self.tokens.ifs.len(), waited: None };
        self.tokens.done.swap_remove(name);
        self.tokens.states.insert(name.clone(), state);
        if let Some(block) = self.tokens.blocks.last_mut() {
            block.push(name.clone());
        }
    }

    pub(super) fn posted(&mut self, token: &Name, completion: &Completion, span: Span) {
        let scope = match completion {
            Completion::Done => Scope::Thread,
            Completion::Queue { peer, queue, scope } => {
                self.check(peer, expect_lsa_rank);
                if *queue >= crate::env::MAX_QUEUES {
                    let message = format!("queue {queue} does not exist");
                    self.report(Diagnostic::error(Code::BAD_ATTR, span, message).help("queues are 0 to 7"));
                }
                *scope
            }
        };
        self.make_token(token, scope, span);
    }

    pub(super) fn wait_token(&mut self, name: &Name, span: Span) {
        match self.env.lookup(name) {
            Some(Entity::Token) => {}
            Some(Entity::Signal { .. }) => {
                let message = format!("`{name}` is a signal; say which rank is waited for");
                let d = Diagnostic::error(Code::WRONG_KIND, span, message);
                return self.report(d.help(format!("write `wait {name} from rank;`")));
            }
            Some(other) => {
                let message = format!("`{name}` is {}, not a token", other.describe());
                return self.report(Diagnostic::error(Code::WRONG_KIND, span, message));
            }
            None => return self.not_made(name, span),
        }
        let loops = self.tokens.loops;
        if let Some(first) = self.tokens.done.get(name).copied() {
            let d = Diagnostic::error(Code::TOKEN_USE, span, format!("`{name}` is waited for twice"));
            return self.report(d.also(first, "the first time").help("a copy completes once"));
        }
        let Some(state) = self.tokens.states.get_mut(name) else { return };
        let (made, scope) = (state.made, state.scope);
        if let Some(first) = state.waited {
            let d = Diagnostic::error(Code::TOKEN_USE, span, format!("`{name}` is waited for twice"));
            return self.report(d.also(first, "the first time").help("a copy completes once"));
        }
        state.waited = Some(span);
        let state = state.clone();
        self.tokens.settle();
        if loops != state.loops {
            let d = Diagnostic::error(
                Code::TOKEN_USE,
                span,
                format!("`{name}` is waited for in a loop that did not make it"),
            );
            return self.report(d.also(made, "made here").help("wait before or after the loop"));
        }
        let pairs = state.active.iter().zip(self.active_here());
        if scope != Scope::Thread && !pairs.into_iter().any(|(a, b)| a == b) {
            let message = format!("`{name}` is waited for by other threads than those that copied");
            let d = Diagnostic::error(Code::COLLECTIVE_UNDER_GUARD, span, message);
            self.report(d.also(made, "made here").help("wait under the same conditions"));
        }
    }

    fn not_made(&mut self, name: &Name, span: Span) {
        let mut later: Option<Span> = None;
        walk_block(&self.kernel.body, &mut |s| match &s.kind {
            StmtKind::Tile(op) if op.token.as_ref() == Some(name) => later = later.or(Some(s.span)),
            StmtKind::Posted { token, .. } if token == name => later = later.or(Some(s.span)),
            _ => {}
        });
        match later {
            Some(made) => {
                let d = Diagnostic::error(
                    Code::TOKEN_USE,
                    span,
                    format!("`{name}` is waited for where no copy has made it"),
                );
                self.report(d.also(made, "made here").help("wait after the copy, in the same block"));
            }
            None => {
                let e = Expr::var(name);
                if !self.is_poisoned(&e) {
                    let d = crate::types::unknown_name(name, span, &self.env);
                    self.report(d);
                }
            }
        }
    }
}

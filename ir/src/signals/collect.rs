//! Finds notify sites and waits, with everything that encloses them.
//!
//! Expressions are kept resolved (no lets) and with loop variables renamed to `name#loop`, so that two loops that use the
//! same name are told apart. Sites that differ only in where they stand form one class, so that a long straight-line
//! kernel has few of them.

use indexmap::IndexMap;

use super::Who;
use super::solve::{Cond, Range};
use crate::env::{Entity, Env};
use crate::expr::{BinOp, CommField, Expr, ExprKind, Special, UnOp};
use crate::module::Kernel;
use crate::name::Name;
use crate::space::{Scope, Space};
use crate::span::Span;
use crate::stmt::{After, Block, Stmt, StmtKind, TileOp};
use crate::threads::ActiveSet;

/// A loop around a site or a wait.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Loop {
    /// Position of the `for` statement: its identity.
    pub(super) id: usize,
    /// Its variable, renamed, and its bounds.
    pub(super) range: Range,
}

/// Copies that notify, all alike.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Site {
    /// The signal.
    pub(super) signal: Name,
    /// Enclosing loops, outermost first.
    pub(super) loops: Vec<Loop>,
    /// Destination ranks, each once, as the sender evaluates them.
    pub(super) dsts: Vec<Expr>,
    /// Enclosing conditions that must hold.
    pub(super) conds: Vec<Cond>,
    /// Who executes it.
    pub(super) who: Who,
    /// Extents of the grid: `block.d` runs over `0..grid[d]`.
    pub(super) grid: [Expr; 3],
}

/// Where a member of a class stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    /// Number of the statement in program order.
    pub(super) at: usize,
    /// Its place in the text.
    pub(super) span: Span,
}

/// A `wait … from`.
#[derive(Clone, Debug)]
pub(super) struct WaitSite {
    pub(super) signal: Name,
    pub(super) from_written: Expr,
    /// Resolved, loop variables renamed.
    pub(super) from: Expr,
    pub(super) scope: Scope,
    pub(super) explicit: Option<Expr>,
    pub(super) loops: Vec<Loop>,
    pub(super) at: usize,
    pub(super) span: Span,
}

/// All of a kernel.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) classes: IndexMap<Site, Vec<Position>>,
    pub(super) waits: Vec<WaitSite>,
}

impl Site {
    /// The site as counted by a wait at the current trip of the `k` outermost loops, over the earlier trips of the next.
    pub(super) fn with_partial_loop(&self, k: usize) -> Site {
        let mut out = self.inside(k);
        if let Some(first) = out.loops.first_mut() {
            first.range.hi = first.range.var.clone();
            first.range.hi_unknown = None;
        }
        out
    }

    /// The site as counted by a wait at the current trip of the `k` outermost loops: their variables are given.
    pub(super) fn inside(&self, k: usize) -> Site {
        Site { loops: self.loops[k..].to_vec(), ..self.clone() }
    }
}

/// Loop variables get their own names back.
pub(super) fn plain_names(expr: &Expr) -> Expr {
    expr.rewrite(&mut |e| match &e.kind {
        ExprKind::Var(n) => match n.as_str().split_once('#') {
            Some((plain, _)) => Expr { kind: ExprKind::Var(Name::new(plain)), span: e.span },
            None => e,
        },
        _ => e,
    })
}

/// Walks the kernel.
pub(super) fn collect(kernel: &Kernel, warp: u32) -> Collected {
    let grid = [0, 1, 2].map(|d| kernel.launch.grid.get(d).map_or_else(|| Expr::int(1), crate::dim::Dim::to_expr));
    let mut walk = Walk {
        kernel,
        warp,
        env: Env::for_kernel(kernel),
        loops: Vec::new(),
        guards: Vec::new(),
        active: vec![ActiveSet::all(&kernel.launch, warp)],
        grid,
        at: 0,
        out: Collected::default(),
    };
    walk.block(&kernel.body);
    walk.out
}

struct Walk<'k> {
    kernel: &'k Kernel,
    warp: u32,
    env: Env,
    loops: Vec<Loop>,
    /// Enclosing conditions, each with the branch taken; `None`: too large to look at.
    guards: Vec<(Option<Expr>, bool)>,
    active: Vec<ActiveSet>,
    grid: [Expr; 3],
    at: usize,
    out: Collected,
}

impl Walk<'_> {
    fn block(&mut self, block: &Block) {
        for stmt in block {
            self.at += 1;
            self.stmt(stmt);
            self.env.bind_stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::For { var, lo, hi, body, .. } => self.for_loop(var, lo, hi, body, stmt.span),
            StmtKind::If { cond, then, els } => {
                let resolved = self.resolve(cond);
                for (block, wanted) in std::iter::once((then, true)).chain(els.as_ref().map(|e| (e, false))) {
                    let outer = self.active.last();
                    let narrowed =
                        outer.map(|a| if wanted { a.narrow(cond, &self.env) } else { a.narrow_not(cond, &self.env) });
                    self.active.extend(narrowed);
                    self.guards.push((resolved.clone(), wanted));
                    self.env.enter();
                    self.block(block);
                    self.env.leave();
                    self.guards.pop();
                    self.active.pop();
                }
            }
            StmtKind::Tile(op) => {
                // A copy does not wait for its own notify.
                if let Some(After::Signal { signal, from, expected }) = &op.attrs.after {
                    self.wait(signal, from, op.scope, expected.as_ref(), stmt.span);
                }
                if let Some(signal) = &op.attrs.notify {
                    self.site(op, signal, stmt.span);
                }
            }
            StmtKind::WaitSignal { signal, from, scope, expected } => {
                self.wait(signal, from, *scope, expected.as_ref(), stmt.span);
            }
            _ => {}
        }
    }

    fn wait(&mut self, signal: &Name, from: &Expr, scope: Scope, expected: Option<&Expr>, span: Span) {
        self.out.waits.push(WaitSite {
            signal: signal.clone(),
            from_written: from.clone(),
            from: self.resolve(from).unwrap_or_else(|| self.rename(from)),
            scope,
            explicit: expected.cloned(),
            loops: self.loops.clone(),
            at: self.at,
            span,
        });
    }

    fn for_loop(&mut self, var: &Name, lo: &Expr, hi: &Expr, body: &Block, span: Span) {
        let unknown = || Expr::var(&Name::new("?"));
        let (lo_here, hi_here) = (self.resolve(lo).unwrap_or_else(unknown), self.resolve(hi).unwrap_or_else(unknown));
        let range = Range {
            var: Expr::var(&Name::from(format!("{var}#{}", self.at))),
            lo_unknown: self.known_everywhere(&lo_here, "a loop bound").err(),
            hi_unknown: self.known_everywhere(&hi_here, "a loop bound").err(),
            lo: lo_here,
            hi: hi_here,
        };
        let inside = self.active.last().map(|a| a.in_loop(lo, hi, &self.env));
        self.active.extend(inside);
        self.env.enter();
        self.env.bind_loop(var, lo, hi, span);
        self.loops.push(Loop { id: self.at, range });
        self.block(body);
        self.loops.pop();
        self.env.leave();
        self.active.pop();
    }

    /// Lets replaced, `grid.d` and trivial `block.d` known, loop variables renamed.
    fn resolve(&self, expr: &Expr) -> Option<Expr> {
        Some(self.rename(&self.env.resolve(expr)?))
    }

    fn rename(&self, expr: &Expr) -> Expr {
        expr.rewrite(&mut |e| match &e.kind {
            ExprKind::Var(n) => match self.loops.iter().rev().find(|l| is_renamed(&l.range.var, n)) {
                Some(l) => l.range.var.clone(),
                None => e,
            },
            ExprKind::Special(Special::Grid(d)) => self.grid.get(usize::from(*d)).cloned().unwrap_or(e),
            ExprKind::Special(Special::Block(d)) => match self.grid.get(usize::from(*d)).and_then(Expr::as_int) {
                Some(1) => Expr::int(0),
                _ => e,
            },
            _ => e,
        })
    }

    fn site(&mut self, op: &TileOp, signal: &Name, span: Span) {
        let Some(active) = self.active.last().cloned() else { return };
        if active.is_empty() {
            return;
        }
        let counted = self.describe(op, signal, &active);
        let site = counted.unwrap_or_else(|why| Site {
            signal: signal.clone(),
            loops: self.loops.clone(),
            dsts: Vec::new(),
            conds: Vec::new(),
            who: Who::Unknown(why),
            grid: self.grid.clone(),
        });
        self.out.classes.entry(site).or_default().push(Position { at: self.at, span });
    }

    /// The site with everything checked to be known on other ranks, or why it is not.
    fn describe(&self, op: &TileOp, signal: &Name, active: &ActiveSet) -> Result<Site, String> {
        let mut dsts: Vec<Expr> = Vec::new();
        // Owners of windows are notified; other destinations of the list are not.
        let is_window = |name: &Name| self.env.buffer(name).is_some_and(|b| b.space == Space::Window);
        for dst in op.dsts.iter().filter(|d| is_window(&d.buf)) {
            let rank = match &dst.rank {
                Some(r) => self.resolve(r).ok_or("the destination rank is too long an expression")?,
                None => self.resolve(&Expr::special(Special::Me)).unwrap_or_else(|| Expr::int(0)),
            };
            let rank = self.flatten_threads(&rank, op.scope, active);
            self.known_everywhere(&rank, "the destination rank")?;
            if !dsts.contains(&rank) {
                dsts.push(rank);
            }
        }
        let per_thread = op.scope == Scope::Thread;
        let who = who(op.scope, active, &dsts)?;
        let each_thread = matches!(who, Who::Threads(..));
        let mut conds = Vec::new();
        for (guard, wanted) in &self.guards {
            let guard = guard.as_ref().ok_or("a condition around the copy is too long an expression")?;
            self.split(guard, *wanted, each_thread, active, &mut conds)?;
        }
        if !per_thread && active.opaque().is_some() {
            return Err("a condition on thread ids around the copy is not understood".to_owned());
        }
        let mut loops = self.loops.clone();
        for l in loops.iter_mut().filter(|_| each_thread) {
            l.range.lo = self.flatten_threads(&l.range.lo, op.scope, active);
            l.range.hi = self.flatten_threads(&l.range.hi, op.scope, active);
        }
        Ok(Site { signal: signal.clone(), loops, dsts, conds, who, grid: self.grid.clone() })
    }

    /// Takes a guard apart into conditions; those on thread ids are in the active set already, unless each thread has a
    /// destination of its own.
    fn split(
        &self,
        cond: &Expr,
        wanted: bool,
        each_thread: bool,
        active: &ActiveSet,
        out: &mut Vec<Cond>,
    ) -> Result<(), String> {
        match &cond.kind {
            ExprKind::Unary(UnOp::Not, a) => return self.split(a, !wanted, each_thread, active, out),
            ExprKind::Binary(BinOp::LAnd, a, b) if wanted => {
                self.split(a, true, each_thread, active, out)?;
                return self.split(b, true, each_thread, active, out);
            }
            ExprKind::Binary(BinOp::LOr, a, b) if !wanted => {
                self.split(a, false, each_thread, active, out)?;
                return self.split(b, false, each_thread, active, out);
            }
            _ => {}
        }
        let on_threads = cond.is_thread_dependent(&|_| false);
        let settled = active.opaque().is_none() && active.linear_range().is_some();
        if on_threads && (!each_thread || settled) {
            return Ok(());
        }
        let cond = if each_thread { self.flatten_threads(cond, Scope::Thread, active) } else { cond.clone() };
        self.known_everywhere(&cond, "a condition around the copy")?;
        out.push(Cond::test(cond, wanted));
        Ok(())
    }

    /// Thread ids in one form. For warps: `thread.warp` where it can be seen. For threads: all through `thread.linear`.
    fn flatten_threads(&self, expr: &Expr, scope: Scope, active: &ActiveSet) -> Expr {
        let dims = [0, 1, 2].map(|d| self.kernel.launch.block_dim(d).max(1));
        let one_dimensional = dims[1] == 1 && dims[2] == 1;
        let linear = || Expr::special(Special::ThreadLinear);
        let only_warp = active.warp_range().filter(|w| w.len() == 1).map(|w| i64::from(w.start));
        let lanes = i64::from(self.warp);
        expr.rewrite(&mut |e| match &e.kind {
            ExprKind::Special(Special::Thread(0)) if one_dimensional => linear(),
            ExprKind::Special(Special::Thread(d)) if dims.get(usize::from(*d)) == Some(&1) => Expr::int(0),
            ExprKind::Special(Special::Thread(d)) if scope == Scope::Thread => match d {
                0 => linear().rem_by(dims[0]),
                1 => linear().div_by(dims[0]).rem_by(dims[1]),
                _ => linear().div_by(dims[0].wrapping_mul(dims[1])),
            },
            ExprKind::Special(Special::Warp) if only_warp.is_some() => Expr::int(only_warp.unwrap_or(0)),
            ExprKind::Special(Special::Warp) if scope == Scope::Thread => linear().div_by(lanes),
            ExprKind::Special(Special::Lane) if scope == Scope::Thread => match only_warp {
                Some(w) => Expr::binary(BinOp::Sub, linear(), Expr::int(w * lanes)),
                None => linear().rem_by(lanes),
            },
            ExprKind::Binary(BinOp::Div, a, b)
                if scope == Scope::Warp
                    && a.kind == ExprKind::Special(Special::ThreadLinear)
                    && b.as_int() == Some(lanes) =>
            {
                only_warp.map_or_else(|| Expr::special(Special::Warp), Expr::int)
            }
            _ => e,
        })
    }

    /// Refuses what another rank cannot know.
    fn known_everywhere(&self, expr: &Expr, what: &str) -> Result<(), String> {
        known_everywhere(expr, what, &|n| match self.env.lookup(n) {
            Some(Entity::Where(_)) => None,
            Some(Entity::Scalar(_)) => Some(format!("parameter `{n}`, which may differ between ranks")),
            Some(Entity::Let { .. }) => Some(format!("`{n}`, which is read from memory or too long an expression")),
            _ => Some(format!("`{n}`")),
        })
    }
}

/// Refuses what another rank cannot know: `why` gives the reason for a variable that is no loop variable.
pub(super) fn known_everywhere(expr: &Expr, what: &str, why: &dyn Fn(&Name) -> Option<String>) -> Result<(), String> {
    let mut reason = None;
    expr.walk(&mut |e| {
        let found = match &e.kind {
            ExprKind::Var(n) if n.as_str().contains('#') => None,
            ExprKind::Var(n) if n == "?" => Some("too long an expression".to_owned()),
            ExprKind::Var(n) => why(n),
            ExprKind::Comm(_, CommField::Rank) => Some("the sender's rank among all ranks of the job".to_owned()),
            _ => None,
        };
        if reason.is_none() {
            reason = found;
        }
    });
    match reason {
        Some(r) => Err(format!("{what} depends on {r}")),
        None => Ok(()),
    }
}

fn is_renamed(var: &Expr, name: &Name) -> bool {
    match &var.kind {
        ExprKind::Var(v) => v.as_str().split_once('#').is_some_and(|(plain, _)| *name == *plain),
        _ => false,
    }
}

fn who(scope: Scope, active: &ActiveSet, dsts: &[Expr]) -> Result<Who, String> {
    let mentions = |s: Special| dsts.iter().any(|d| super::linear::mentions(d, &Expr::special(s)));
    let on_threads = dsts.iter().any(|d| d.is_thread_dependent(&|_| false));
    match scope {
        Scope::Thread if on_threads => {
            let range = match active.opaque() {
                None => active.linear_range(),
                Some(_) => None,
            };
            let range = range.unwrap_or(0..active.threads());
            Ok(Who::Threads(range.start, range.end))
        }
        Scope::Thread if active.opaque().is_some() => {
            Err("the number of waves that reach the copy is not known".to_owned())
        }
        Scope::Thread => Ok(Who::Groups(active.groups(Scope::Warp).len() as u32)),
        Scope::Warp if mentions(Special::Warp) => {
            let others =
                [Special::ThreadLinear, Special::Lane, Special::Thread(0), Special::Thread(1), Special::Thread(2)];
            match active.warp_range() {
                Some(w) if !others.into_iter().any(mentions) => Ok(Who::Warps(w.start, w.end)),
                _ => Err("the destination rank depends on thread ids".to_owned()),
            }
        }
        _ if on_threads => Err("the destination rank differs between the threads of a group".to_owned()),
        scope => Ok(Who::Groups(active.groups(scope).len() as u32)),
    }
}

//! The verifier: what every module must satisfy before a pass or an executor sees it.
//!
//! One file per concern; the head of each lists its rules.
//! - names (here and `stmts`): defined before use, unique, never shadowing a visible name;
//! - `kernel`: parameters, `where` list, launch shape;
//! - `buffers`: shapes, sizes, alignment, layouts;
//! - `stmts`: statements and what each level allows;
//! - `regions`: elements and regions of buffers;
//! - `tile`: tile ops;
//! - `groups`: which threads reach what must be executed together;
//! - `sync`: barriers, signals and waits;
//! - `tokens`: asynchronous copies are waited for exactly once;
//! - `prims`: primitive ops against their rows;
//! - `runs`: run blocks.
//!
//! Must hold: any module gives an answer, in time linear in its size, without a panic; one mistake gives one diagnostic (a
//! name whose definition is wrong is not complained about again); numbers that overflow give an error.

mod buffers;
mod engines;
mod groups;
mod kernel;
mod prims;
mod regions;
mod runs;
mod stmts;
mod sync;
#[cfg(test)]
mod tests;
mod tile;
mod tokens;

use indexmap::{IndexMap, IndexSet};

use crate::diag::{Code, Diagnostic};
use crate::dtype::ScalarTy;
use crate::env::Env;
use crate::expr::{Expr, ExprKind};
use crate::module::{Item, Kernel, Module, WarpWidth};
use crate::name::Name;
use crate::op::OpSet;
use crate::span::Span;
use crate::threads::ActiveSet;
use crate::types::type_of;

/// How far a module has been lowered; says which statements are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As authors write it: everything but `posted` statements and hidden parameters.
    Tile,
    /// After copy selection: no tile ops; `posted` statements, tokens and waits are there.
    Selected,
    /// After lowering: lets, flat loads and stores, allocations, loops, conditions, assumptions and primitive ops.
    Lowered,
}

impl Level {
    /// Its name in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Tile => "tile",
            Level::Selected => "selected",
            Level::Lowered => "lowered",
        }
    }
}

/// Diagnostics after which checking stops; the rest would hardly be read.
const MAX_DIAGNOSTICS: usize = 100;

/// Wave widths that a kernel with `warp = target` may meet.
const WARPS: [u32; 2] = [32, 64];

/// Checks a module. A kernel with `warp = target` is accepted if it is right for warps of 32 or of 64 lanes; what holds for
/// one target is checked by `verify_for`. Diagnostics come in the order of the text, kernels before their run blocks where
/// spans are equal.
pub fn verify(module: &Module, level: Level, ops: &OpSet<'_>) -> Vec<Diagnostic> {
    verify_with(module, level, ops, &WARPS)
}

/// Checks a module for a target with `target_warp` lanes a wave.
pub fn verify_for(module: &Module, level: Level, ops: &OpSet<'_>, target_warp: u32) -> Vec<Diagnostic> {
    verify_with(module, level, ops, &[target_warp])
}

fn verify_with(module: &Module, level: Level, ops: &OpSet<'_>, warps: &[u32]) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    let mut kernels: IndexMap<&Name, &Kernel> = IndexMap::new();
    for kernel in module.kernels() {
        match kernels.get(&kernel.name) {
            Some(first) => out.push(duplicate(&kernel.name, kernel.span, first.span)),
            None => {
                kernels.insert(&kernel.name, kernel);
            }
        }
    }
    for item in &module.items {
        match item {
            Item::Kernel(kernel) => out.extend(kernel::check(kernel, level, ops, warps)),
            Item::Run(run) => out.extend(runs::check(run, &kernels)),
        }
        if out.len() > MAX_DIAGNOSTICS {
            break;
        }
    }
    out.sort_by_key(|d| d.span.lo);
    out.truncate(MAX_DIAGNOSTICS);
    out
}

fn duplicate(name: &Name, span: Span, first: Span) -> Diagnostic {
    Diagnostic::error(Code::DUPLICATE_NAME, span, format!("`{name}` is already defined"))
        .also(first, "first defined here")
        .help("a name that is visible cannot be defined again; take another name")
}

/// State of the walk over one kernel.
struct Checker<'a> {
    kernel: &'a Kernel,
    level: Level,
    ops: OpSet<'a>,
    env: Env,
    /// Names whose definition is wrong: what they are used for is not reported.
    poisoned: IndexSet<Name>,
    /// For each warp width under consideration, the threads that get here; innermost last.
    active: Vec<Vec<ActiveSet>>,
    /// Where the innermost condition on thread ids stands.
    guards: Vec<Span>,
    tokens: tokens::Tokens,
    /// Open blocks; 1 is the kernel's body.
    depth: usize,
    out: Vec<Diagnostic>,
}

impl<'a> Checker<'a> {
    fn new(kernel: &'a Kernel, level: Level, ops: &OpSet<'a>, warps: &[u32]) -> Checker<'a> {
        let widths = match kernel.launch.warp {
            WarpWidth::Lanes(n) => vec![n.max(1)],
            WarpWidth::Target => warps.to_vec(),
        };
        let active = widths.iter().map(|w| ActiveSet::all(&kernel.launch, *w)).collect();
        Checker {
            kernel,
            level,
            ops: *ops,
            env: Env::for_kernel(kernel),
            poisoned: IndexSet::new(),
            active: vec![active],
            guards: Vec::new(),
            tokens: tokens::Tokens::default(),
            depth: 0,
            out: Vec::new(),
        }
    }

    fn report(&mut self, d: Diagnostic) {
        // An operand that stands twice in one op would be complained about twice.
        let known = self.out.last().is_some_and(|l| {
            l.code == d.code && (l.span.lo, l.span.hi) == (d.span.lo, d.span.hi) && l.message == d.message
        });
        if !known && self.out.len() <= MAX_DIAGNOSTICS {
            self.out.push(d);
        }
    }

    /// Keeps the value, reports the error.
    fn ok<T>(&mut self, result: Result<T, Diagnostic>) -> Option<T> {
        match result {
            Ok(v) => Some(v),
            Err(d) => {
                self.report(d);
                None
            }
        }
    }

    /// Does the expression use a name whose definition was wrong?
    fn is_poisoned(&self, expr: &Expr) -> bool {
        let mut found = false;
        if !self.poisoned.is_empty() {
            expr.walk(&mut |e| {
                if let ExprKind::Var(n) = &e.kind {
                    found |= self.poisoned.contains(n);
                }
            });
        }
        found
    }

    /// Runs a check of an expression unless the expression is poisoned.
    fn check<T>(&mut self, expr: &Expr, f: impl FnOnce(&Expr, &Env) -> Result<T, Diagnostic>) -> Option<T> {
        if self.is_poisoned(expr) {
            return None;
        }
        let result = f(expr, &self.env);
        self.ok(result)
    }

    /// The type of an expression; errors are reported.
    fn ty(&mut self, expr: &Expr) -> Option<ScalarTy> {
        self.check(expr, type_of)
    }

    /// Reports a definition of a name that is visible. The name then is bound anew all the same.
    fn check_new(&mut self, name: &Name, span: Span) {
        if let Some(first) = self.env.defined_at(name) {
            self.report(duplicate(name, span, first));
        }
        self.poisoned.swap_remove(name);
    }

    /// The sets of threads that get here, one for each warp width under consideration.
    fn active_here(&self) -> &[ActiveSet] {
        self.active.last().map_or(&[], Vec::as_slice)
    }
}

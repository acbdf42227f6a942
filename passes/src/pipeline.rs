//! The pipeline: one flat list of passes, in order.
//!
//! Each pass is a value with a plain function; nothing is kept between runs. An `Observer` sees the module before and
//! after each pass: that is where the command line prints and takes times, so that no pass needs a clock.

use indexmap::IndexMap;
use tilewright_ir::diag::Diagnostic;
use tilewright_ir::verify::{Level, verify_for};
use tilewright_ir::{Expr, Module, Name, OpSet, Span};
use tilewright_target::{Cost, Target};

use crate::select::{Conflict, CopyVariant, ParamValue};

/// What the passes are given beside the module.
#[derive(Clone, Copy)]
pub struct PassCx<'a> {
    /// The chip.
    pub target: &'a Target,
    /// The backend's copy variants, in the order of the report.
    pub variants: &'a [&'a dyn CopyVariant],
    /// The ops that are known: the neutral ones and the backend's.
    pub ops: OpSet<'a>,
}

/// What the passes work on and collect.
#[derive(Debug, Default)]
pub struct State {
    /// The module, changed by each pass.
    pub module: Module,
    /// What `select-copies` decided, in program order.
    pub decisions: Vec<CopyDecision>,
    /// Warnings so far.
    pub warnings: Vec<Diagnostic>,
    /// For each kernel what the runtime must know of its signals and queues.
    pub kernels: IndexMap<Name, KernelFacts>,
}

/// What the runtime must know to launch a kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelFacts {
    /// Queues a peer that the kernel uses: the largest queue id plus one; 0 if it uses none.
    pub min_queues: u32,
    /// Its signals: name, queue id, and the notifies a launch sends from one rank to another, as text.
    pub signals: Vec<SignalFacts>,
    /// Signals whose running totals the kernel reads, each with the hidden parameter that holds them.
    pub bases: Vec<(Name, Name)>,
}

/// One signal of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct SignalFacts {
    /// Its name.
    pub name: Name,
    /// Its queue id.
    pub queue: u32,
    /// Notifies a launch sends from rank `r` ([`SENDER`](tilewright_ir::signals::SENDER)) to this rank; `None` where it is not
    /// known.
    pub total: Option<Expr>,
}

/// Whether a variant was taken.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It carries the copy.
    Chosen,
    /// It fits, but another one is better; the reason says why.
    Lost(String),
    /// It does not fit; the reason and, where known, the fix.
    Rejected(String, Option<String>),
}

/// One variant's answer to one copy.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateDecision {
    /// The variant.
    pub variant: &'static str,
    /// The verdict.
    pub verdict: Verdict,
    /// Rejected for a reason that another layout of a buffer might remove?
    pub about_layout: bool,
    /// The predicted cost, for those that fit.
    pub cost: Option<Cost>,
    /// Remarks.
    pub notes: Vec<String>,
}

/// What was decided for one copy.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyDecision {
    /// The kernel.
    pub kernel: Name,
    /// Where the copy was written.
    pub span: Span,
    /// The copy in words: `recv@next <- send by cta`.
    pub copy: String,
    /// The variant that carries it.
    pub chosen: &'static str,
    /// What it found.
    pub params: Vec<(&'static str, ParamValue)>,
    /// Bank conflicts of what it accesses in shared memory, one entry a shared side.
    pub conflicts: Vec<Conflict>,
    /// Every variant's answer, in the order of the backend's list.
    pub candidates: Vec<CandidateDecision>,
    /// Was the variant named by the author?
    pub forced: bool,
}

/// A pass.
pub struct Pass {
    /// Its name, kebab-case.
    pub name: &'static str,
    /// What it does: a noun phrase.
    pub summary: &'static str,
    run: fn(&mut State, &PassCx) -> Result<(), Vec<Diagnostic>>,
}

impl std::fmt::Debug for Pass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pass").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Every pass, in the order in which a compile runs them.
pub static PASSES: &[Pass] = &[
    // First of all the rules of the language, so that every later pass may rely on names, types, shapes and scopes.
    Pass { name: "verify", summary: "Check of the language's rules at tile level", run: run_verify },
    // How many notifies each wait is for can be read off only while the copies that notify are still there.
    Pass {
        name: "count-signals",
        summary: "Derivation of the counts that signal waits are for",
        run: crate::count_signals::run,
    },
    // Copies become primitive ops while regions, layouts and guards are still as the author wrote them; elementwise tile
    // ops go the same way. Afterwards no tile op remains, and each posted copy says how it completes.
    Pass { name: "select-copies", summary: "Choice of a variant for each copy", run: crate::select::engine::run },
    // Now that it is known which copies complete later, their waits are put where the first dependent statement stands.
    Pass { name: "place-waits", summary: "Placement of completion waits", run: crate::place_waits::run },
    // What is left of the language above the machine: barriers, signal waits, logical element accesses.
    Pass { name: "lower", summary: "Lowering to flat places and primitive ops", run: crate::lower::run },
    // Constants are folded last, because the passes above write addresses in their general form.
    Pass { name: "simplify", summary: "Constant folding and removal of unused lets", run: crate::simplify::run },
    // Addresses last of all, when folding has left of them what they need: what remains of divisions and shifts is
    // judged by the ranges and divisors of their leaves.
    Pass { name: "simplify-index", summary: "Cheapest equal form of index expressions", run: crate::index::run },
    // The result must be lowered IR that the target knows; a fault found here is ours.
    Pass { name: "check", summary: "Check of the lowered module against the target", run: crate::check::run },
];

fn run_verify(state: &mut State, cx: &PassCx) -> Result<(), Vec<Diagnostic>> {
    let (errors, warnings): (Vec<_>, Vec<_>) = verify_for(&state.module, Level::Tile, &cx.ops, cx.target.warp_size)
        .into_iter()
        .partition(Diagnostic::is_error);
    state.warnings.extend(warnings);
    let refused = state.module.kernels().filter_map(|k| crate::check::refuse_early(k, cx.target));
    let errors: Vec<Diagnostic> = errors.into_iter().chain(refused).collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Sees the module before and after each pass.
pub trait Observer {
    /// Called before a pass runs.
    fn before(&mut self, _pass: &Pass, _module: &Module) {}
    /// Called after a pass has run without error.
    fn after(&mut self, _pass: &Pass, _module: &Module) {}
}

impl Observer for () {}

/// Runs the whole pipeline.
///
/// # Errors
/// The diagnostics of the first pass that finds errors.
pub fn run(module: Module, cx: &PassCx, observer: &mut dyn Observer) -> Result<State, Vec<Diagnostic>> {
    run_passes(module, &PASSES.iter().collect::<Vec<_>>(), cx, observer)
}

/// Runs the given passes in the given order.
///
/// # Errors
/// The diagnostics of the first pass that finds errors.
pub fn run_passes(
    module: Module,
    passes: &[&Pass],
    cx: &PassCx,
    observer: &mut dyn Observer,
) -> Result<State, Vec<Diagnostic>> {
    let mut state = State { module, ..State::default() };
    for pass in passes {
        observer.before(pass, &state.module);
        (pass.run)(&mut state, cx)?;
        observer.after(pass, &state.module);
    }
    Ok(state)
}

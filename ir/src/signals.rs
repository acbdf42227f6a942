//! How many notifies a wait is for: the count formulas of signals.
//!
//! `wait s from r` waits for every notify of `s` by rank `r` towards this rank that precedes the wait in program order,
//! with `r` imagined at the same point of the same program. The number is a sum over the notify sites before the wait:
//! trips of complete loops, earlier trips of loops that the wait is in, CTAs of the grid, groups of the scope, each under
//! the site's guards and the condition that the destination is this rank; all as the *sender* evaluates it, so with `r`
//! in place of `comm.lsa_rank`.
//!
//! What must hold: a formula is exact or it is refused (TW0022), never a guess. Only what is known to be the same on
//! every rank takes part: literals, ranks, extents of the grid, `comm.lsa_size`, `where` parameters and loop variables
//! over such bounds. A scalar parameter may differ between ranks and a loaded value does, so a count that depends on them
//! must be written: `expected = …`.
//!
//! `collect.rs` finds the sites, `solve.rs` does the sums, `linear.rs` takes expressions apart.

mod collect;
mod linear;
mod solve;
#[cfg(test)]
mod tests;

use indexmap::IndexMap;

use crate::diag::{Code, Diagnostic};
use crate::env::{Env, signal_queues};
use crate::expr::{CommField, Expr, ExprKind};
use crate::module::Kernel;
use crate::name::Name;
use crate::space::Scope;
use crate::span::Span;
use crate::text::print_expr;

use collect::{Collected, WaitSite};
use solve::{Problem, Term};

pub use crate::env::MAX_QUEUES;

/// Site classes times waits that are worked through before a kernel is refused (TW0039); the work grows with the product.
const MAX_PAIRS: usize = 1 << 18;

/// What one `wait … from` waits for.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitCount {
    /// The signal.
    pub signal: Name,
    /// Its queue id.
    pub queue: u32,
    /// The notifying rank, as written.
    pub from: Expr,
    /// Who waits.
    pub scope: Scope,
    /// Notifies since the launch; over names in scope at the wait, lets replaced by their values where it was derived.
    pub expected: Expr,
    /// `expected` as text, for the artifact and the report.
    pub formula: String,
    /// Was it written by the author?
    pub explicit: bool,
    /// The wait statement.
    pub span: Span,
}

/// Notifies of one signal over a whole launch.
#[derive(Clone, Debug, PartialEq)]
pub struct SignalTotal {
    /// The signal.
    pub signal: Name,
    /// Its queue id.
    pub queue: u32,
    /// Notifies by rank `r` towards this rank in one launch: over the variable `r` (see `SENDER`), the communicator's
    /// fields and `where` parameters. An error where it cannot be derived.
    pub count: Result<Expr, Diagnostic>,
}

/// The variable that stands for the sending rank in `SignalTotal::count`.
pub const SENDER: &str = "r";

/// Every count of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct SignalCounts {
    /// One entry a `WaitSignal` statement or copy that is held back by a signal, in the order of `walk_block`.
    pub waits: Vec<Result<WaitCount, Diagnostic>>,
    /// One entry a signal, in order of declaration.
    pub totals: Vec<SignalTotal>,
}

/// Derives every count of a kernel for a warp of `warp` lanes. Expects a kernel that the verifier accepts; for others the
/// counts mean nothing, but nothing panics.
pub fn counts(kernel: &Kernel, warp: u32) -> SignalCounts {
    let queues = signal_queues(kernel).unwrap_or_default();
    let collected = collect::collect(kernel, warp);
    let too_many = collected.classes.len().saturating_mul(collected.waits.len()) > MAX_PAIRS;
    let waits = collected
        .waits
        .iter()
        .map(|wait| match too_many {
            true => Err(too_large(&collected, wait)),
            false => wait_count(kernel, &collected, wait, &queues),
        })
        .collect();
    let totals = queues
        .iter()
        .map(|(signal, queue)| SignalTotal {
            signal: signal.clone(),
            queue: *queue,
            count: total(kernel, &collected, signal),
        })
        .collect();
    SignalCounts { waits, totals }
}

/// The number of notifies that the `nth` wait of the kernel (`WaitSignal` statements and copies that are held back by a
/// signal, in the order of `walk_block`) is for, since the launch.
///
/// # Errors
/// TW0022 where the count is not known and not written; TW0021 where nothing notifies before the wait.
pub fn expected(kernel: &Kernel, nth: usize, warp: u32) -> Result<Expr, Diagnostic> {
    match counts(kernel, warp).waits.into_iter().nth(nth) {
        Some(count) => count.map(|c| c.expected),
        None => Err(Diagnostic::error(Code::INTERNAL, kernel.span, format!("kernel has no wait number {nth}"))),
    }
}

fn too_large(collected: &Collected, wait: &WaitSite) -> Diagnostic {
    let (sites, waits) = (collected.classes.len(), collected.waits.len());
    Diagnostic::error(
        Code::TOO_LARGE,
        wait.span,
        format!("{sites} kinds of notifying copies for {waits} waits are too many to count"),
    )
    .help("use loops instead of repeated statements, or split the kernel")
}

fn wait_count(
    kernel: &Kernel,
    collected: &Collected,
    wait: &WaitSite,
    queues: &IndexMap<Name, u32>,
) -> Result<WaitCount, Diagnostic> {
    let expected = match &wait.explicit {
        Some(e) => e.clone(),
        None => derive(kernel, collected, wait)?,
    };
    Ok(WaitCount {
        signal: wait.signal.clone(),
        queue: queues.get(&wait.signal).copied().unwrap_or(0),
        from: wait.from_written.clone(),
        scope: wait.scope,
        formula: print_expr(&expected),
        expected,
        explicit: wait.explicit.is_some(),
        span: wait.span,
    })
}

/// The sum over all sites that precede the wait.
fn derive(kernel: &Kernel, collected: &Collected, wait: &WaitSite) -> Result<Expr, Diagnostic> {
    let me = this_rank(kernel);
    let problem = Problem::new(&me, &wait.from, wait.loops.iter().map(|l| &l.range));
    let mut terms = Vec::new();
    let mut any = false;
    for (site, positions) in collected.classes.iter().filter(|(s, _)| s.signal == wait.signal) {
        let shared = site.loops.iter().zip(&wait.loops).take_while(|(a, b)| a.id == b.id).count();
        let before = positions.partition_point(|p| p.at < wait.at) as i64; // they are in program order
        if shared == 0 && before == 0 {
            continue;
        }
        any = true;
        let refuse = |why: String| not_affine(wait, positions.first().map_or(Span::NONE, |p| p.span), &why);
        // Earlier trips of each loop that both are in: all sites of the class, outer loops at the wait's own trip.
        for k in 0..shared {
            let part = site.with_partial_loop(k);
            terms.extend(problem.count(&part, positions.len() as i64).map_err(refuse)?);
        }
        if before > 0 {
            terms.extend(problem.count(&site.inside(shared), before).map_err(refuse)?);
        }
    }
    if !any {
        let message = format!("no copy before this wait notifies `{}`", wait.signal);
        return Err(Diagnostic::error(Code::SIGNAL_USE, wait.span, message).help(
            "a wait counts the notifies that precede it in the text; put a copy with `notify` before it, also where \
             another rank runs that copy; or write the number: `expected = n`",
        ));
    }
    Ok(collect::plain_names(&problem.sum(terms)))
}

fn total(kernel: &Kernel, collected: &Collected, signal: &Name) -> Result<Expr, Diagnostic> {
    let me = this_rank(kernel);
    let sender = Expr::var(&Name::new(SENDER));
    let problem = Problem::new(&me, &sender, std::iter::empty());
    let mut terms: Vec<Term> = Vec::new();
    for (site, positions) in collected.classes.iter().filter(|(s, _)| s.signal == *signal) {
        let span = positions.first().map_or(Span::NONE, |p| p.span);
        let counted = problem.count(&site.inside(0), positions.len() as i64);
        terms.extend(counted.map_err(|why| {
            let message = format!("the number of notifies of `{signal}` in one launch is not known: {why}");
            Diagnostic::error(Code::EXPECTED_NOT_AFFINE, span, message)
        })?);
    }
    Ok(problem.sum(terms))
}

/// `comm.lsa_rank` of the kernel's communicator.
fn this_rank(kernel: &Kernel) -> Expr {
    match Env::for_kernel(kernel).devcomm() {
        Some(comm) => Expr::new(ExprKind::Comm(comm.clone(), CommField::LsaRank)),
        None => Expr::int(0), // no communicator: the verifier has refused the signal
    }
}

fn not_affine(wait: &WaitSite, site: Span, why: &str) -> Diagnostic {
    Diagnostic::error(
        Code::EXPECTED_NOT_AFFINE,
        wait.span,
        format!("the number of notifies of `{}` before this wait is not known: {why}", wait.signal),
    )
    .also(site, "notified here")
    .help(format!("write the number since the launch: `wait {} from …, expected = …;`", wait.signal))
}

/// What a site is counted over, besides its loops.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Who {
    /// This many groups, each executing the copy with the same destination.
    Groups(u32),
    /// The warps `lo..hi`; the destination depends on `thread.warp`.
    Warps(u32, u32),
    /// The threads `lo..hi`; each destination is met by one thread at most.
    Threads(u32, u32),
    /// It cannot be counted, and why.
    Unknown(String),
}

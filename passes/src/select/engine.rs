//! `select-copies`: asks every variant, takes the best, writes the copy.
//!
//! Order: higher priority first; among equal priority the cheaper, then the one listed first. A forced variant is the
//! only one that may carry the copy; if it declines, that is an error with its reason. Every answer is kept for the
//! report.
//!
//! Must hold afterwards: no tile op is left; after each copy stands `t = posted …;`.

use tilewright_ir::diag::Diagnostic;
use tilewright_ir::facts::Facts;
use tilewright_ir::layout::Interval;
use tilewright_ir::text::print_region;
use tilewright_ir::{Block, Code, Completion, Kernel, Name, Source, Space, Span, Stmt, StmtKind, TileKind, TileOp};

use super::held::Held;
use super::rewriter::{Names, Rewriter};
use super::variant::{Candidate, CopyGroup, CopyVariant, CopyView, Operand, Reject};
use super::view::{Context, build_pointwise_view, build_views};
use crate::effects::{is_own, written_in};
use crate::lower::add_hidden;
use crate::pipeline::{CandidateDecision, CopyDecision, PassCx, State, Verdict};
use crate::pointwise;

/// Runs the pass.
pub(crate) fn run(state: &mut State, cx: &PassCx) -> Result<(), Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let State { module, decisions, warnings, kernels, .. } = state;
    for kernel in module.kernels_mut() {
        let warp = kernel.launch.warp.lanes(cx.target.warp_size);
        let context = Context::for_kernel(kernel, warp, written_in(&kernel.body, &cx.ops));
        let mut selector = Selector {
            cx,
            singles: cx.variants.iter().copied().filter(|v| v.copies() == 1).collect(),
            kernel: kernel.name.clone(),
            names: Names::of_kernel(kernel),
            bases: Vec::new(),
            decisions,
            warnings,
            errors: &mut errors,
        };
        let body = std::mem::take(&mut kernel.body);
        kernel.body = selector.block(body, context);
        let bases = selector.bases;
        add_hidden(kernel, &bases);
        kernels.entry(kernel.name.clone()).or_default().bases = bases;
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

pub(super) struct Selector<'a> {
    pub(super) cx: &'a PassCx<'a>,
    /// The variants that carry one copy.
    singles: Vec<&'a dyn CopyVariant>,
    pub(super) kernel: Name,
    pub(super) names: Names,
    /// Signals whose total at launch a copy is held back by, each with its hidden table.
    bases: Vec<(Name, Name)>,
    pub(super) decisions: &'a mut Vec<CopyDecision>,
    pub(super) warnings: &'a mut Vec<Diagnostic>,
    pub(super) errors: &'a mut Vec<Diagnostic>,
}

/// A variant that was chosen, and what it wrote.
pub(super) struct Chosen {
    variant: &'static str,
    /// Predicted picoseconds.
    pub(super) cost: u64,
    gated: bool,
    notes: Vec<String>,
    block: Block,
    completion: Completion,
}

impl Chosen {
    pub(super) fn new(
        variant: &dyn CopyVariant,
        candidate: &Candidate,
        block: Block,
        completion: Completion,
    ) -> Chosen {
        Chosen {
            variant: variant.info().name,
            cost: candidate.cost.picoseconds,
            gated: candidate.gated,
            notes: candidate.notes.clone(),
            block,
            completion,
        }
    }
}

impl Selector<'_> {
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
        match stmt.kind {
            StmtKind::Tile(op) if matches!(op.kind, TileKind::Copy | TileKind::CopyAsync) => {
                self.copy(&op, span, at, out);
            }
            StmtKind::Tile(op) => self.pointwise(&op, span, at, out),
            StmtKind::For { var, lo, hi, unroll, body } => {
                let mut inner = at.clone();
                inner.env.enter();
                inner.env.bind_loop(&var, &lo, &hi, span);
                inner.facts.loop_var(&var, &lo, &hi);
                let body = self.block(body, inner);
                out.push(Stmt::new(StmtKind::For { var, lo, hi, unroll, body }, span));
            }
            StmtKind::If { cond, then, els } => {
                let mut inner = at.clone();
                inner.active = at.active.narrow(&cond, &at.env);
                inner.facts.assume(&cond);
                let then = self.block(then, inner);
                let els = els.map(|els| {
                    let mut inner = at.clone();
                    inner.active = at.active.narrow_not(&cond, &at.env);
                    inner.facts.assume_not(&cond);
                    self.block(els, inner)
                });
                out.push(Stmt::new(StmtKind::If { cond, then, els }, span));
            }
            kind => {
                let stmt = Stmt::new(kind, span);
                learn(&stmt, at);
                out.push(stmt);
            }
        }
    }

    fn copy(&mut self, op: &TileOp, span: Span, at: &Context, out: &mut Block) {
        if at.active.is_empty() {
            // No thread comes here, whatever happens: nothing is copied, and a token is done.
            let done = op.token.iter().map(|_| Completion::Done).collect();
            return self.post(op, done, span, Block::new(), out);
        }
        let mut views = match build_views(op, span, at) {
            Ok(views) => views,
            Err(e) => return self.errors.push(e),
        };
        if let Some(plan) = &op.attrs.plan {
            let message = format!("there is no plan `{plan}` for peer copies");
            let d = Diagnostic::error(Code::BAD_ATTR, span, message);
            return self.errors.push(d.help("no plans can be named yet: leave `plan` out"));
        }
        let clash = |v: &CopyView| overlaps(&v.dst, &v.src, &v.facts).then(|| v.dst.buf.clone());
        if let Some(buf) = views.iter().find_map(clash) {
            return self.errors.push(overlap(&buf, "read and written", span));
        }
        for (i, v) in views.iter().enumerate() {
            if views[i + 1..].iter().any(|w| overlaps(&v.dst, &w.dst, &v.facts)) {
                return self.errors.push(overlap(&v.dst.buf, "written twice", span));
            }
        }
        let held = match &op.attrs.after {
            None => None,
            Some(after) => match Held::of(after, op, span, at, &mut self.names, &mut self.bases) {
                Ok(held) => Some(held),
                Err(e) => return self.errors.push(e),
            },
        };
        views.iter_mut().for_each(|v| v.gate = held.as_ref().map(|h| h.gate.clone()));
        let Some(chosen) = self.choose_all(views, op) else { return };
        let mut suffix = Block::new();
        let posts = chosen.iter().any(|c| matches!(c.completion, Completion::Queue { .. }));
        if let (None, Some(signal), true) = (&op.attrs.after, &op.attrs.notify, posts)
            && at.posts.held.contains(signal)
        {
            let message =
                format!("this copy is stuck behind a held one: `{signal}` is notified by a copy with `after`, too");
            self.warnings.push(
                Diagnostic::warning(Code::SIGNAL_USE, span, message)
                    .help("all notifies of a signal share a queue, which is parked until the held copy may start: give that copy a signal of its own"),
            );
        }
        if let Some(held) = held {
            match chosen.iter().find(|c| !c.gated) {
                None => {
                    out.extend(held.prepare);
                    suffix = held.arrived;
                }
                Some(c) if op.kind == TileKind::CopyAsync => {
                    let message = format!("`{}` carries this copy, which no copy engine can hold back", c.variant);
                    let d = Diagnostic::error(Code::BAD_ATTR, span, message);
                    let d = c.notes.iter().fold(d, |d, note| d.help(note.clone()));
                    return self.errors.push(d.help("a blocking `copy … , after …` is held back by its threads"));
                }
                Some(_) => out.extend(held.wait),
            }
        }
        let mut completions = Vec::new();
        for c in chosen {
            out.extend(c.block);
            completions.push(c.completion);
        }
        self.post(op, completions, span, suffix, out);
    }

    /// The posts of a copy: one a destination. A blocking copy waits for each; the author's token stands for all, so
    /// the earlier ones are waited for right away (each goes to a queue of its own). `suffix` follows a blocking copy.
    fn post(&mut self, op: &TileOp, completions: Vec<Completion>, span: Span, suffix: Block, out: &mut Block) {
        let last = completions.len().saturating_sub(1);
        for (i, completion) in completions.into_iter().enumerate() {
            let token = match &op.token {
                Some(token) if i == last => token.clone(),
                _ => self.names.fresh("t"),
            };
            let blocking = op.token.is_none() || i != last;
            out.push(Stmt::new(StmtKind::Posted { token: token.clone(), completion }, span));
            if blocking {
                out.push(Stmt::new(StmtKind::WaitToken(token), span));
            }
        }
        if op.token.is_none() {
            out.extend(suffix);
        }
    }

    /// Asks every variant and writes the best.
    pub(super) fn choose(&mut self, view: CopyView, text: &str) -> Option<Chosen> {
        let span = view.span;
        let forced = view.attrs.variant.clone();
        let group = CopyGroup { copies: vec![view] };
        let answers: Vec<Result<Candidate, Reject>> =
            self.singles.iter().map(|v| v.plan(&group, self.cx.target)).collect();
        if let Some(name) = &forced
            && !self.cx.variants.iter().any(|v| v.info().name == name)
        {
            self.errors.push(unknown_variant(name, self.cx, span));
            return None;
        }
        if let Some(pair) =
            self.cx.variants.iter().find(|v| v.copies() != 1 && forced.as_deref() == Some(v.info().name))
        {
            let reject = Reject::Attribute { why: format!("it carries {} destinations at once", pair.copies()) };
            self.errors.push(declined(pair.info().name, &reject, span, text));
            return None;
        }
        let winner = self.best(&answers, forced.as_deref());
        let Some(winner) = winner else {
            self.errors.push(self.nobody(&answers, forced.as_deref(), span, text));
            return None;
        };
        let chosen = answers[winner].as_ref().ok()?;
        let info = self.singles[winner].info();
        if info.name == "fallback" && forced.is_none() {
            self.warnings.push(slow(&answers, &self.singles, span, text));
        }
        let mut rw = Rewriter::new(&mut self.names, span);
        let completion = (chosen.emit)(&mut rw);
        let block = rw.finish();
        self.decisions.push(CopyDecision {
            kernel: self.kernel.clone(),
            span,
            copy: text.to_owned(),
            chosen: info.name,
            params: chosen.params.clone(),
            conflicts: chosen.conflicts.clone(),
            candidates: self.verdicts(&answers, winner, forced.as_deref()),
            forced: forced.is_some(),
        });
        Some(Chosen::new(self.singles[winner], chosen, block, completion))
    }

    /// Position of the variant that carries the copy.
    fn best(&self, answers: &[Result<Candidate, Reject>], forced: Option<&str>) -> Option<usize> {
        let mut best: Option<(usize, i32, u64)> = None;
        for (i, answer) in answers.iter().enumerate() {
            let info = self.singles[i].info();
            if forced.is_some_and(|f| f != info.name) {
                continue;
            }
            let Ok(candidate) = answer else { continue };
            let cost = candidate.cost.picoseconds;
            if best.is_none_or(|(_, p, c)| info.priority > p || (info.priority == p && cost < c)) {
                best = Some((i, info.priority, cost));
            }
        }
        best.map(|(i, ..)| i)
    }

    fn verdicts(
        &self,
        answers: &[Result<Candidate, Reject>],
        winner: usize,
        forced: Option<&str>,
    ) -> Vec<CandidateDecision> {
        let best = self.singles[winner].info();
        let best_cost = answers[winner].as_ref().map(|c| c.cost.picoseconds).unwrap_or(0);
        let decide = |(i, answer): (usize, &Result<Candidate, Reject>)| {
            let info = self.singles[i].info();
            let (verdict, cost, notes) = match answer {
                Err(r) => (Verdict::Rejected(r.to_string(), r.fix().map(str::to_owned)), None, Vec::new()),
                Ok(c) if i == winner => (Verdict::Chosen, Some(c.cost), c.notes.clone()),
                Ok(c) => {
                    let why = if forced.is_some() {
                        format!("`{}` is forced", best.name)
                    } else if info.priority < best.priority {
                        format!("priority {} is below {}", info.priority, best.priority)
                    } else if c.cost.picoseconds > best_cost {
                        format!("predicted {}, `{}` {}", time(c.cost.picoseconds), best.name, time(best_cost))
                    } else {
                        format!("`{}` is listed first and no dearer", best.name)
                    };
                    (Verdict::Lost(why), Some(c.cost), c.notes.clone())
                }
            };
            let about_layout = answer.as_ref().is_err_and(Reject::is_about_layout);
            CandidateDecision { variant: info.name, verdict, about_layout, cost, notes }
        };
        answers.iter().enumerate().map(decide).collect()
    }

    /// The error when no variant may carry the copy.
    fn nobody(
        &self,
        answers: &[Result<Candidate, Reject>],
        forced: Option<&str>,
        span: Span,
        text: &str,
    ) -> Diagnostic {
        let rejects = || {
            answers.iter().enumerate().filter_map(|(i, a)| a.as_ref().err().map(|r| (self.singles[i].info().name, r)))
        };
        if let Some(name) = forced
            && let Some((_, reject)) = rejects().find(|(n, _)| *n == name)
        {
            return declined(name, reject, span, text);
        }
        let target = self.cx.target.name;
        let mut d = Diagnostic::error(Code::NO_VARIANT, span, format!("no variant on {target} accepts this copy"))
            .label(text.to_owned());
        // Whoever serves other memories or other chips has nothing to say here, unless nobody else has.
        let elsewhere = |r: &Reject| matches!(r, Reject::Spaces { .. } | Reject::Target { .. });
        let all_elsewhere = rejects().all(|(_, r)| elsewhere(r));
        for (name, reject) in rejects().filter(|(_, r)| all_elsewhere || !elsewhere(r)) {
            d = d.help(match reject.fix() {
                Some(fix) => format!("{name}: {reject}; {fix}"),
                None => format!("{name}: {reject}"),
            });
        }
        d
    }

    fn pointwise(&mut self, op: &TileOp, span: Span, at: &Context, out: &mut Block) {
        if at.active.is_empty() {
            return; // no thread comes here
        }
        let (view, sources) = match build_pointwise_view(op, span, at) {
            Ok(v) => v,
            Err(e) => return self.errors.push(e),
        };
        // In place is fine: each thread reads an element before it writes the same one.
        let shifted = |s: &&Operand| s.region != view.dst.region && overlaps(&view.dst, s, &view.facts);
        if let Some(source) = sources.iter().find(shifted) {
            return self.errors.push(overlap(&source.buf, "read and written", span));
        }
        let mut rw = Rewriter::new(&mut self.names, span);
        match pointwise::lower(op, &view, &sources, &mut rw) {
            Ok(()) => out.extend(rw.finish()),
            Err(reject) => self.errors.push(
                Diagnostic::error(
                    Code::NO_VARIANT,
                    span,
                    format!("`{}` cannot be lowered: {reject}", op.kind.as_str()),
                )
                .help(reject.fix().unwrap_or("use regions that the same threads own, or stage through shared memory")),
            ),
        }
    }
}

/// Have two regions an element in common, known for certain? The same registers may be named twice: each thread then
/// moves its own onto themselves.
fn overlaps(a: &Operand, b: &Operand, facts: &Facts) -> bool {
    let meet = |(x, y): (&Interval, &Interval)| facts.is_lt(&x.begin, &y.end()) && facts.is_lt(&y.begin, &x.end());
    let same_rank = a.rank == b.rank || is_own(a.rank.as_ref()) && is_own(b.rank.as_ref());
    a.buf == b.buf && same_rank && a.space() != Space::Local && a.region.iter().zip(&b.region).all(meet)
}

fn overlap(buf: &Name, what: &str, span: Span) -> Diagnostic {
    Diagnostic::error(Code::OVERLAP, span, format!("the regions of `{buf}` that are {what} overlap"))
        .help("go through another buffer, with a `sync` between, or use regions that are apart")
}

/// A copy in words: `recv@next <- send by cta`.
pub(super) fn describe(op: &TileOp, dst: usize) -> String {
    let src = match op.srcs.first() {
        Some(Source::Region(r)) => print_region(r),
        Some(Source::Value(e)) => tilewright_ir::text::print_expr(e),
        None => String::new(),
    };
    format!("{} <- {src} by {}", op.dsts.get(dst).map(print_region).unwrap_or_default(), op.scope)
}

/// Takes note of what a statement defines.
pub(crate) fn learn(stmt: &Stmt, at: &mut Context) {
    at.env.bind_stmt(stmt);
    match &stmt.kind {
        StmtKind::Let { name, value, .. } => at.facts.define(name, value),
        StmtKind::Load { name, .. } => {
            if let Some(ty) = at.env.lookup(name).and_then(|e| e.scalar_ty()) {
                at.facts.declare(name, ty, false);
            }
        }
        StmtKind::Assume(cond) => at.facts.assume(cond),
        _ => {}
    }
}

pub(super) fn declined(name: &str, reject: &Reject, span: Span, text: &str) -> Diagnostic {
    let d = Diagnostic::error(Code::VARIANT_DECLINED, span, format!("variant `{name}` declines: {reject}"))
        .label(text.to_owned());
    match reject.fix() {
        Some(fix) => d.help(fix),
        None => d.help(format!("without `variant = \"{name}\"` the compiler picks one that fits")),
    }
}

fn unknown_variant(name: &str, cx: &PassCx, span: Span) -> Diagnostic {
    let known: Vec<String> = cx.variants.iter().map(|v| format!("`{}`", v.info().name)).collect();
    Diagnostic::error(Code::VARIANT_DECLINED, span, format!("{} has no variant `{name}`", cx.target.name))
        .help(format!("variants for {}: {}", cx.target.name, known.join(", ")))
}

/// The warning of the scalar fallback, with the reason of each faster variant.
fn slow(answers: &[Result<Candidate, Reject>], variants: &[&dyn CopyVariant], span: Span, text: &str) -> Diagnostic {
    let mut d = Diagnostic::warning(Code::SCALAR_FALLBACK, span, "this copy is carried element by element")
        .label(text.to_owned());
    for (i, answer) in answers.iter().enumerate() {
        if let Err(reject) = answer {
            d = d.help(format!("{}: {reject}", variants[i].info().name));
        }
    }
    d
}

/// Picoseconds for people.
pub fn time(ps: u64) -> String {
    if ps >= 1_000_000 {
        format!("{}.{} us", ps / 1_000_000, ps % 1_000_000 / 100_000)
    } else {
        format!("{}.{} ns", ps / 1000, ps % 1000 / 100)
    }
}

impl Names {
    /// The names that a kernel uses anywhere.
    pub fn of_kernel(kernel: &Kernel) -> Names {
        let mut names = Names::default();
        names.take(&kernel.name);
        kernel.params.iter().for_each(|p| names.take(&p.name));
        kernel.wheres.iter().for_each(|w| names.take(&w.name));
        tilewright_ir::stmt::walk_block(&kernel.body, &mut |stmt| match &stmt.kind {
            StmtKind::Let { name, .. } | StmtKind::Load { name, .. } | StmtKind::Signal { name, .. } => {
                names.take(name)
            }
            StmtKind::Alloc(a) => names.take(&a.name),
            StmtKind::For { var, .. } => names.take(var),
            StmtKind::Tile(op) => op.token.iter().for_each(|t| names.take(t)),
            StmtKind::Prim(op) => op.result.iter().for_each(|t| names.take(t)),
            StmtKind::Posted { token, .. } => names.take(token),
            _ => {}
        });
        names
    }
}

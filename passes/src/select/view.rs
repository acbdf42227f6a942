//! Views of copies: a tile op with everything that a variant may ask about it.
//!
//! The engine walks a kernel with a `Context`; `build_view` looks a copy's operands up in it.

use tilewright_ir::diag::Diagnostic;
use tilewright_ir::env::{Env, MAX_QUEUES, signal_queues};
use tilewright_ir::facts::Facts;
use tilewright_ir::layout::Interval;
use tilewright_ir::stmt::walk_block;
use tilewright_ir::threads::ActiveSet;
use tilewright_ir::{Code, Dim, Index, Kernel, Name, Region, Source, Span, StmtKind, TileKind, TileOp};

use super::variant::{CopyView, Operand, Queues};

/// What is known at one point of a kernel.
#[derive(Clone, Debug)]
pub struct Context {
    /// Names in scope.
    pub env: Env,
    /// What is known about their values.
    pub facts: Facts,
    /// Threads that reach this point.
    pub active: ActiveSet,
    /// Threads in a CTA.
    pub cta_threads: u32,
    /// Extents of the CTA in x, y, z.
    pub block: [i64; 3],
    /// Lanes in a warp.
    pub warp: u32,
    /// Buffers that the kernel writes anywhere, other than by copy engines of other ranks.
    pub written: Vec<Name>,
    /// What the copies of the whole kernel ask of queues.
    pub posts: Posts,
}

/// What the copies of a kernel ask of queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posts {
    /// Queue ids for copies that notify nobody.
    pub queues: Queues,
    /// Signals that more than one copy notifies.
    pub shared: Vec<Name>,
    /// Signals that a copy notifies which `after` holds back.
    pub held: Vec<Name>,
    /// Buffers of this rank that threads store to.
    pub stored: Vec<Name>,
}

impl Posts {
    /// Looks at all copies of a kernel.
    pub fn of_kernel(kernel: &Kernel) -> Posts {
        let signals = signal_queues(kernel).unwrap_or_default();
        let (mut held, mut notified, mut stored) = (Vec::<Name>::new(), Vec::new(), Vec::new());
        walk_block(&kernel.body, &mut |stmt| match &stmt.kind {
            StmtKind::Tile(op) => {
                notified.extend(op.attrs.notify.iter().cloned());
                if op.attrs.after.is_some() {
                    held.extend(op.attrs.notify.iter().cloned());
                }
                // By threads, for all that is known here.
                let by_threads = op.attrs.carry_any || op.attrs.variant.is_some();
                let mine = op.dsts.iter().filter(|d| by_threads || d.rank.is_none());
                stored.extend(mine.map(|d| d.buf.clone()));
            }
            StmtKind::Store { to, .. } => stored.push(to.buf.clone()),
            _ => {}
        });
        let free = |taken: &dyn Fn(u32) -> bool| (0..MAX_QUEUES).find(|q| !taken(*q));
        let parked = |q: u32| held.iter().any(|s| signals.get(s) == Some(&q));
        let plain = free(&parked).unwrap_or(0);
        let queues = Queues { plain, held: free(&|q| q == plain || signals.values().any(|s| *s == q)) };
        let twice = |s: &&Name| notified.iter().filter(|n| n == s).count() > 1;
        Posts { queues, shared: notified.iter().filter(twice).cloned().collect(), held, stored }
    }
}

impl Context {
    /// The context at the start of a kernel's body; `warp` is the kernel's warp width on the target.
    pub fn for_kernel(kernel: &Kernel, warp: u32, written: Vec<Name>) -> Context {
        let cta_threads = kernel.launch.threads().unwrap_or(1);
        Context {
            env: Env::for_kernel(kernel),
            facts: Facts::with_kernel(kernel, warp),
            active: ActiveSet::all(&kernel.launch, warp),
            cta_threads,
            block: [kernel.launch.block_dim(0), kernel.launch.block_dim(1), kernel.launch.block_dim(2)],
            warp,
            written,
            posts: Posts::of_kernel(kernel),
        }
    }
}

/// Looks up a region.
///
/// # Errors
/// If the name is no buffer (the verifier has said so before).
pub fn build_operand(region: &Region, cx: &Context) -> Result<Operand, Diagnostic> {
    let ty = cx.env.buffer(&region.buf).ok_or_else(|| {
        Diagnostic::error(Code::UNKNOWN_NAME, region.span, format!("`{}` is not a buffer in scope", region.buf))
    })?;
    let bounds = region_bounds(region, &ty.shape, &cx.facts);
    let slice = ty.layout().slice(&ty.shape, &bounds, Some(cx.warp), &cx.facts).map_err(|e| e.to_string());
    Ok(Operand { buf: region.buf.clone(), ty: (**ty).clone(), rank: region.rank.clone(), region: bounds, slice })
}

/// Begin and extent in each dimension of the buffer.
pub fn region_bounds(region: &Region, shape: &[Dim], facts: &Facts) -> Vec<Interval> {
    let whole = |d: usize| Interval::new(Dim::ZERO, shape[d].clone());
    let Some(index) = &region.index else {
        return (0..shape.len()).map(whole).collect();
    };
    (0..shape.len())
        .map(|d| match index.get(d) {
            None => whole(d),
            Some(Index::At(e)) => Interval::new(facts.resolve(e), Dim::ONE),
            Some(Index::Range(lo, hi)) => {
                let lo = lo.as_ref().map_or(Dim::ZERO, |e| facts.resolve(e));
                let hi = hi.as_ref().map_or_else(|| shape[d].clone(), |e| facts.resolve(e));
                Interval { extent: hi.sub(&lo), begin: lo }
            }
        })
        .collect()
}

/// The extents of a region without the unit dimensions.
pub fn copy_extents(bounds: &[Interval]) -> Vec<Dim> {
    bounds.iter().map(|i| i.extent.clone()).filter(|e| !e.is(1)).collect()
}

/// The views of a `copy` or `copy_async`: one a destination.
///
/// # Errors
/// If an operand is not what the verifier promised.
pub fn build_views(op: &TileOp, span: Span, cx: &Context) -> Result<Vec<CopyView>, Diagnostic> {
    let Some(Source::Region(src)) = op.srcs.first() else {
        return Err(Diagnostic::error(Code::SYNTAX, span, "a copy needs a region as its source"));
    };
    let src = build_operand(src, cx)?;
    let notify_queue = op.attrs.notify.as_ref().and_then(|n| match cx.env.lookup(n) {
        Some(tilewright_ir::env::Entity::Signal { queue }) => Some(*queue),
        _ => None,
    });
    let mut views = Vec::with_capacity(op.dsts.len());
    for (i, dst) in op.dsts.iter().enumerate() {
        let dst = build_operand(dst, cx)?;
        let later_ranks = op.dsts[i + 1..].iter().filter_map(|d| d.rank.clone()).collect();
        views.push(CopyView {
            extents: copy_extents(&dst.region),
            dst,
            src: src.clone(),
            scope: op.scope,
            is_async: op.kind == TileKind::CopyAsync,
            attrs: op.attrs.clone(),
            notify_queue,
            notify_shared: op.attrs.notify.as_ref().is_some_and(|n| cx.posts.shared.contains(n)),
            gate: None,
            queues: cx.posts.queues,
            later_ranks,
            active: cx.active.clone(),
            cta_threads: cx.cta_threads,
            block: cx.block,
            warp: cx.warp,
            facts: cx.facts.clone(),
            src_written: cx.written.contains(&src.buf),
            span,
        });
    }
    Ok(views)
}

/// The view of a pointwise op, for the partition: destination and first region source (the destination itself for
/// `fill`).
///
/// # Errors
/// If an operand is not what the verifier promised.
pub fn build_pointwise_view(op: &TileOp, span: Span, cx: &Context) -> Result<(CopyView, Vec<Operand>), Diagnostic> {
    let dst = build_operand(&op.dsts[0], cx)?;
    let mut sources = Vec::new();
    for src in &op.srcs {
        if let Source::Region(r) = src {
            sources.push(build_operand(r, cx)?);
        }
    }
    let as_copy = TileOp { srcs: vec![Source::Region(op.dsts[0].clone())], ..op.clone() };
    let mut view = build_views(&as_copy, span, cx)?.remove(0);
    view.src = sources.first().cloned().unwrap_or(dst);
    Ok((view, sources))
}

//! Kernels as a whole. Rules:
//! - parameters and `where` parameters have different names, and none that is no name;
//! - there is at most one `devcomm`;
//! - hidden parameters exist only after the tile level; they follow the author's;
//! - scalar parameters take whole bytes; `where` parameters are integers;
//! - the grid has one to three extents of at least 1: constants within what launches allow, or over `where` parameters;
//! - the block has one to three constant extents of at least 1, at most 1024 threads together;
//! - the warp width is 32, 64 or the target's.

use super::{Checker, Level, duplicate};
use crate::diag::{Code, Diagnostic};
use crate::dim::Dim;
use crate::dtype::ScalarTy;
use crate::env::{Entity, signal_queues};
use crate::expr::ExprKind;
use crate::module::{Kernel, ParamTy, WarpWidth};
use crate::op::OpSet;
use crate::signals;
use crate::span::Span;
use crate::stmt::{After, Stmt, StmtKind, walk_block};
use crate::threads::MAX_THREADS;
use crate::types::unknown_name;

/// Most CTAs in x, and in y and z: limits of CUDA (compute capability 3.0 and later); HIP allows more in y and z.
const MAX_GRID: [i64; 3] = [(1 << 31) - 1, 65_535, 65_535];

pub(super) fn check(kernel: &Kernel, level: Level, ops: &OpSet<'_>, warps: &[u32]) -> Vec<Diagnostic> {
    let mut c = Checker::new(kernel, level, ops, warps);
    c.signature();
    c.launch();
    for param in &kernel.params {
        if let ParamTy::Buffer(ty) = &param.ty {
            c.buffer(&param.name, ty, param.span);
        }
    }
    if let Err(d) = signal_queues(kernel) {
        c.report(d);
    }
    c.block(&kernel.body);
    if !c.out.iter().any(Diagnostic::is_error) && level == Level::Tile {
        c.counts(warps);
    }
    c.out
}

impl Checker<'_> {
    fn signature(&mut self) {
        let params = self.kernel.params.iter().map(|p| (&p.name, p.span));
        let all: Vec<_> = params.chain(self.kernel.wheres.iter().map(|w| (&w.name, w.span))).collect();
        let mut seen = indexmap::IndexMap::new();
        for (name, span) in all {
            match seen.get(name) {
                Some(first) => self.report(duplicate(name, span, *first)),
                None => {
                    seen.insert(name.clone(), span);
                }
            }
        }
        let mut comm: Option<Span> = None;
        let mut hidden = false;
        for p in &self.kernel.params {
            self.param(p, hidden);
            hidden |= p.hidden;
            if p.ty == ParamTy::DevComm {
                if let Some(first) = comm {
                    let d = Diagnostic::error(Code::WRONG_KIND, p.span, "a kernel has one communicator at most");
                    self.report(d.also(first, "the first one"));
                }
                comm.get_or_insert(p.span);
            }
        }
        for w in &self.kernel.wheres {
            if !w.dtype.is_int() || w.dtype.bits() < 8 {
                let message = format!("`where` parameter `{}` is {}, no integer of whole bytes", w.name, w.dtype);
                self.report(Diagnostic::error(Code::TYPE_MISMATCH, w.span, message).help("extents are u32 or u64"));
            }
        }
    }

    fn param(&mut self, p: &crate::module::Param, after_hidden: bool) {
        if p.hidden && self.level == Level::Tile {
            let message = format!("parameter `{}` is hidden", p.name);
            let d = Diagnostic::error(Code::LEVEL, p.span, message);
            self.report(d.help("hidden parameters are added by the compiler; leave the word out"));
        } else if after_hidden && !p.hidden {
            let message = format!("parameter `{}` follows a hidden one", p.name);
            self.report(Diagnostic::error(Code::LEVEL, p.span, message).help("hidden parameters come last"));
        }
        if let ParamTy::Scalar(ScalarTy::Num(d)) = p.ty
            && d.bits() < 8
        {
            let message = format!("scalar parameter `{}` of {d} takes less than a byte", p.name);
            self.report(Diagnostic::error(Code::TYPE_MISMATCH, p.span, message).help("pass a wider integer"));
        }
    }

    fn launch(&mut self) {
        let launch = &self.kernel.launch;
        let span = launch.span;
        for (what, dims) in [("grid", &launch.grid), ("block", &launch.block)] {
            if dims.is_empty() || dims.len() > 3 {
                let message = format!("{what} has {} extents", dims.len());
                self.bad_launch(span, message, "write one to three: x, y, z");
            }
        }
        for (d, extent) in launch.grid.iter().take(3).enumerate() {
            let limit = MAX_GRID[d];
            match extent.as_const() {
                Some(n) if n < 1 || n > limit => {
                    self.bad_launch(span, format!("grid extent {n} is outside 1..={limit}"), "");
                }
                Some(_) => {}
                None => self.grid_extent(extent),
            }
        }
        let mut whole = !launch.block.is_empty();
        for extent in &launch.block {
            match extent.as_const() {
                Some(n) if n >= 1 => {}
                Some(n) => {
                    whole = false;
                    self.bad_launch(span, format!("block extent {n} is less than 1"), "");
                }
                None => {
                    whole = false;
                    self.bad_launch(
                        span,
                        format!("block extent `{extent}` is no constant"),
                        "block extents are constants",
                    );
                }
            }
        }
        let threads = launch.threads();
        if whole && threads.is_none_or(|n| n > MAX_THREADS) {
            let product: i128 =
                launch.block.iter().filter_map(Dim::as_const).map(i128::from).fold(1, i128::saturating_mul);
            self.bad_launch(span, format!("block of {product} threads"), "a CTA has at most 1024 threads");
        }
        if let WarpWidth::Lanes(n) = launch.warp
            && n != 32
            && n != 64
        {
            self.bad_launch(span, format!("warp of {n} lanes"), "a warp has 32 or 64 lanes, or `target`");
        }
    }

    fn bad_launch(&mut self, span: Span, message: String, help: &str) {
        let d = Diagnostic::error(Code::BAD_LAUNCH, span, message);
        self.report(if help.is_empty() { d } else { d.help(help) });
    }

    fn grid_extent(&mut self, extent: &Dim) {
        let mut bad: Vec<Diagnostic> = Vec::new();
        for atom in extent.atoms() {
            atom.walk(&mut |e| {
                let span = if e.span.is_none() { self.kernel.launch.span } else { e.span };
                match &e.kind {
                    ExprKind::Var(n) => match self.env.lookup(n) {
                        Some(Entity::Where(_)) => {}
                        Some(other) => {
                            let message = format!("grid depends on `{n}`, {}", other.describe());
                            bad.push(
                                Diagnostic::error(Code::BAD_LAUNCH, span, message)
                                    .help(format!("the launch knows `where` parameters only: `where({n}: u64)`")),
                            );
                        }
                        None => bad.push(unknown_name(n, span, &self.env)),
                    },
                    ExprKind::Special(_) | ExprKind::Comm(..) | ExprKind::Float(_) => {
                        bad.push(Diagnostic::error(
                            Code::BAD_LAUNCH,
                            span,
                            "grid depends on more than `where` parameters",
                        ));
                    }
                    _ => {}
                }
            });
        }
        self.out.extend(bad);
    }

    /// Every wait must know its count, for one of the warp widths at least.
    fn counts(&mut self, warps: &[u32]) {
        let mut waits = false;
        let is_wait = |s: &Stmt| match &s.kind {
            StmtKind::WaitSignal { .. } => true,
            StmtKind::Tile(op) => matches!(op.attrs.after, Some(After::Signal { .. })),
            _ => false,
        };
        walk_block(&self.kernel.body, &mut |s| waits |= is_wait(s));
        if !waits {
            return;
        }
        let mut best: Option<Vec<Diagnostic>> = None;
        for w in warps {
            let warp = self.kernel.launch.warp.lanes(*w);
            let errors: Vec<Diagnostic> =
                signals::counts(self.kernel, warp).waits.into_iter().filter_map(Result::err).collect();
            if best.as_ref().is_none_or(|b| errors.len() < b.len()) {
                best = Some(errors);
            }
        }
        self.out.extend(best.unwrap_or_default());
    }
}

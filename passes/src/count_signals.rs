//! `count-signals`: writes down how many notifies each signal wait is for.
//!
//! The counts are part of the language (`tilewright_ir::signals`); this pass puts them into the waits as `expected = …`
//! while the copies that notify are still there, and keeps what the runtime needs to know of each signal.
//!
//! Must hold afterwards: every `wait … from` and `after … from` has its `expected`.

use tilewright_ir::diag::Diagnostic;
use tilewright_ir::signals::{WaitCount, counts};
use tilewright_ir::{After, Block, Expr, StmtKind};

use crate::pipeline::{PassCx, SignalFacts, State};

/// Runs the pass.
pub(crate) fn run(state: &mut State, cx: &PassCx) -> Result<(), Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let State { module, kernels, .. } = state;
    for kernel in module.kernels_mut() {
        let warp = kernel.launch.warp.lanes(cx.target.warp_size);
        let counts = counts(kernel, warp);
        let mut expected = Vec::with_capacity(counts.waits.len());
        for wait in counts.waits {
            match wait {
                Ok(WaitCount { expected: e, .. }) => expected.push(e),
                Err(e) => errors.push(e),
            }
        }
        if !errors.is_empty() {
            continue;
        }
        fill(&mut kernel.body, &mut expected.into_iter());
        let facts = kernels.entry(kernel.name.clone()).or_default();
        facts.signals = counts
            .totals
            .into_iter()
            .map(|t| SignalFacts { name: t.signal, queue: t.queue, total: t.count.ok() })
            .collect();
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Gives each wait its count, in the order of the text.
fn fill(block: &mut Block, counts: &mut impl Iterator<Item = Expr>) {
    for stmt in block {
        match &mut stmt.kind {
            StmtKind::WaitSignal { expected, .. } => {
                if let Some(count) = counts.next() {
                    *expected = Some(count);
                }
            }
            StmtKind::Tile(op) => {
                if let Some(After::Signal { expected, .. }) = &mut op.attrs.after
                    && let Some(count) = counts.next()
                {
                    *expected = Some(count);
                }
            }
            StmtKind::For { body, .. } => fill(body, counts),
            StmtKind::If { then, els, .. } => {
                fill(then, counts);
                if let Some(els) = els {
                    fill(els, counts);
                }
            }
            _ => {}
        }
    }
}

//! A finished compile as a `.twb` bundle.
//!
//! Must hold: a bundle describes every kernel as a launch needs it; what a launch cannot know yet is an error here.

use tilewright_artifact::{Artifact, KernelInfo, SignalFormula};
use tilewright_backend_llvm::emit::shared_bytes;
use tilewright_ir::interp::eval_dim;
use tilewright_ir::stmt::walk_block;
use tilewright_ir::text::print_expr;
use tilewright_ir::{Block, Dim, Kernel, Name, StmtKind};

use crate::{Compiled, backend, totals};

/// The bytes of the bundle.
///
/// # Errors
/// One sentence: the compile did not go far enough, or a kernel's launch shape is not constant.
pub fn bundle(compiled: &Compiled) -> Result<Vec<u8>, String> {
    let code = compiled.made.as_ref().and_then(backend::Made::code).ok_or("the backend made no code")?;
    let kernels = compiled.lowered.kernels().map(|kernel| describe(kernel, compiled, &|_| None));
    let artifact = Artifact {
        target: compiled.target.name.to_string(),
        kernels: kernels.collect::<Result<_, _>>()?,
        code,
        report: compiled.report.copies.clone(),
    };
    artifact.to_twb().map_err(|e| e.to_string())
}

/// One kernel as a launch needs it, with the values of `where` parameters that are known.
///
/// # Errors
/// One sentence: an extent of its launch has no value.
pub(crate) fn describe(
    kernel: &Kernel,
    compiled: &Compiled,
    wheres: &dyn Fn(&Name) -> Option<i64>,
) -> Result<KernelInfo, String> {
    let facts = compiled.facts.get(&kernel.name).cloned().unwrap_or_default();
    let table =
        |signal: &Name| facts.bases.iter().find(|(known, _)| known == signal).map(|(_, table)| table.to_string());
    let signals = facts.signals.iter().map(|signal| SignalFormula {
        name: signal.name.to_string(),
        queue: signal.queue,
        text: signal.total.as_ref().map(print_expr).unwrap_or_default(),
        count: signal.total.as_ref().and_then(|total| totals::formula(total, kernel)),
        totals: table(&signal.name),
    });
    let by_hand = compiled.tile.kernel(kernel.name.as_str()).is_none_or(|written| raises_by_hand(&written.body));
    let lds = shared_bytes(kernel).map_err(|e| e.to_string())?;
    Ok(KernelInfo {
        name: kernel.name.to_string(),
        args: backend::arguments(kernel, compiled.target),
        grid: extents(&kernel.launch.grid, "grid", kernel, wheres)?,
        block: extents(&kernel.launch.block, "block", kernel, wheres)?,
        lds_bytes: u32::try_from(lds)
            .map_err(|_| format!("kernel `{}` uses {lds} bytes of shared memory", kernel.name))?,
        min_queues: facts.min_queues,
        signals: signals.collect(),
        signals_by_hand: by_hand,
    })
}

/// Does the author post packets that raise signals?
fn raises_by_hand(body: &Block) -> bool {
    let mut found = false;
    walk_block(body, &mut |stmt| {
        if let StmtKind::Prim(op) = &stmt.kind {
            found |= op.op == *"sdma.signal" || op.attr_bool("remote_signal") || op.attr_bool("local_signal");
        }
    });
    found
}

/// One to three extents, the others 1.
fn extents(
    dims: &[Dim],
    what: &str,
    kernel: &Kernel,
    wheres: &dyn Fn(&Name) -> Option<i64>,
) -> Result<[u32; 3], String> {
    let mut out = [1; 3];
    for (slot, dim) in out.iter_mut().zip(dims) {
        let value = eval_dim(dim, wheres).and_then(|value| u32::try_from(value).ok());
        *slot = value.ok_or_else(|| {
            format!("the {what} of kernel `{}` is {dim}, and a bundle holds constant launch shapes only", kernel.name)
        })?;
    }
    Ok(out)
}

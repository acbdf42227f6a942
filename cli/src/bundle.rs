//! Finished compiles as a `.twb` bundle, with the run blocks and what they must leave behind.
//!
//! Must hold: a bundle describes every kernel as a launch needs it; what a launch cannot know yet is an error here; a run block
//! that does not hold on the reference interpreter makes no bundle.

use tilewright_artifact::{
    Artifact, Bundle, CaseBuffer, CaseLaunch, CaseRank, KernelInfo, Part, RunCase, SignalFormula, Size, Sizes,
};
use tilewright_backend_llvm::emit::shared_bytes;
use tilewright_ir::interp::{self, LaunchInput, check_expects, eval_dim, storage_bytes, where_lookup};
use tilewright_ir::stmt::walk_block;
use tilewright_ir::text::print_expr;
use tilewright_ir::{Block, Diagnostic, Dim, Kernel, Module, Name, ParamTy, Run, StmtKind};

use crate::checked::NpyReader;
use crate::device::{Device, Reference};
use crate::{Compiled, backend, totals};

/// The compile as an artifact: its code and its kernels.
///
/// # Errors
/// One sentence: the compile did not go far enough, or a kernel is too large.
pub fn artifact(compiled: &Compiled) -> Result<Artifact, String> {
    let code = compiled.made.as_ref().and_then(backend::Made::code).ok_or("the backend made no code")?;
    let kernels = compiled.lowered.kernels().map(|kernel| describe(kernel, compiled, &|_| None));
    let kernels = kernels.collect::<Result<_, _>>()?;
    let report = compiled.report.copies.clone();
    Ok(Artifact { target: compiled.target.name.to_string(), kernels, code, report })
}

/// A source compiled for one or several targets, with the run blocks of `module`, which must name kernels of the compiles that
/// they allow. What each run must leave behind comes from the reference interpreter.
///
/// # Errors
/// Diagnostics of run blocks that cannot be prepared or do not hold; a sentence for what a bundle cannot hold.
pub fn bundle(
    source: &str,
    module: &Module,
    compiled: &[Compiled],
    ranks: Option<u32>,
    npy: NpyReader,
) -> Result<Bundle, BundleError> {
    let mut bundle = Bundle { source: source.to_string(), parts: Vec::new(), cases: Vec::new(), contents: Vec::new() };
    for one in compiled {
        bundle.parts.push(Part { artifact: artifact(one)?, launches: Vec::new() });
    }
    for run in module.runs() {
        let run = Run { ranks: ranks.or(run.ranks), ..run.clone() };
        add_case(&mut bundle, &run, compiled, npy)?;
    }
    bundle.check().map_err(|e| e.to_string())?;
    Ok(bundle)
}

/// Why there is no bundle.
#[derive(Clone, Debug, PartialEq)]
pub enum BundleError {
    /// A run block is wrong.
    Told(Vec<Diagnostic>),
    /// Anything else, in one sentence.
    Words(String),
}

impl From<String> for BundleError {
    fn from(words: String) -> Self {
        BundleError::Words(words)
    }
}

impl From<Diagnostic> for BundleError {
    fn from(diagnostic: Diagnostic) -> Self {
        BundleError::Told(vec![diagnostic])
    }
}

/// Adds a run block and its launches; one that none of the compiles allows is left out.
fn add_case(bundle: &mut Bundle, run: &Run, compiled: &[Compiled], npy: NpyReader) -> Result<(), BundleError> {
    let allowed = |one: &Compiled| run.targets.as_ref().is_none_or(|all| all.iter().any(|t| t == one.target.name));
    let Some(first) = compiled.iter().find(|one| allowed(one)) else { return Ok(()) };
    let missing = || format!("the run block of `{}` names no kernel of the compile", run.kernel);
    let kernel = first.tile.kernel(run.kernel.as_str()).ok_or_else(missing)?;
    let input = interp::prepare(run, kernel, npy).map_err(BundleError::Told)?;
    let mut case = RunCase { kernel: run.kernel.to_string(), targets: run.targets.clone(), ranks: Vec::new() };
    for rank in 0..input.ranks as usize {
        let mut buffers = Vec::new();
        for (name, bytes) in input.buffers.get(rank).into_iter().flatten() {
            let before = bundle.keep(bytes);
            buffers.push(CaseBuffer { name: name.to_string(), element_bytes: element_bytes(kernel, name), before });
        }
        case.ranks.push(CaseRank { buffers, scalars: scalars(&input, rank) });
    }
    for (index, one) in compiled.iter().enumerate() {
        let launch = if allowed(one) { Some(launch(bundle, run, one, &input)?) } else { None };
        if let Some(part) = bundle.parts.get_mut(index) {
            part.launches.push(launch);
        }
    }
    bundle.cases.push(case);
    Ok(())
}

/// The launch of a run block on one target: the kernel's shape there, and what the reference leaves.
fn launch(bundle: &mut Bundle, run: &Run, compiled: &Compiled, input: &LaunchInput) -> Result<CaseLaunch, BundleError> {
    let missing = || format!("the run block of `{}` names no kernel of the compile", run.kernel);
    let written = compiled.tile.kernel(run.kernel.as_str()).ok_or_else(missing)?;
    let lowered = compiled.lowered.kernel(run.kernel.as_str()).ok_or_else(missing)?;
    let expected = Reference.launch(compiled, &run.kernel, input)?;
    check_expects(run, written, input, &expected)?;
    let mut after = Vec::new();
    for (before, buffers) in input.buffers.iter().zip(&expected.buffers) {
        let kept: Vec<u32> =
            before.keys().map(|name| bundle.keep(buffers.get(name).map_or(&[][..], Vec::as_slice))).collect();
        after.push(kept);
    }
    Ok(CaseLaunch { kernel: describe(lowered, compiled, &where_lookup(input))?, after })
}

/// Scalars and symbolic extents of one rank, by name.
pub(crate) fn scalars(input: &LaunchInput, rank: usize) -> Vec<(String, u64)> {
    let scalars = input.scalars.get(rank).into_iter().flatten().map(|(name, bits)| (name.to_string(), *bits));
    let wheres = input.wheres.iter().map(|(name, value)| (name.to_string(), *value as u64));
    scalars.chain(wheres).collect()
}

/// Bytes of one element of a buffer argument, at least 1.
fn element_bytes(kernel: &Kernel, name: &Name) -> u32 {
    match kernel.params.iter().find(|param| param.name == *name).map(|param| &param.ty) {
        Some(ParamTy::Buffer(ty)) => (ty.dtype.bits() / 8).max(1),
        _ => 1,
    }
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
        sizes: sizes(kernel),
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

/// One to three extents, the others 1; those that have no value yet are 1, too, and follow from their formula.
fn extents(
    dims: &[Dim],
    what: &str,
    kernel: &Kernel,
    wheres: &dyn Fn(&Name) -> Option<i64>,
) -> Result<[u32; 3], String> {
    let mut out = [1; 3];
    for (slot, dim) in out.iter_mut().zip(dims) {
        let Some(value) = eval_dim(dim, wheres) else {
            size(dim, kernel)
                .ok_or_else(|| format!("the {what} of kernel `{}` is {dim}, which has no value", kernel.name))?;
            continue;
        };
        let fits = u32::try_from(value).ok();
        *slot = fits.ok_or_else(|| format!("the {what} of kernel `{}` is {dim} = {value}", kernel.name))?;
    }
    Ok(out)
}

/// A dim of `where` parameters as a formula.
fn size(dim: &Dim, kernel: &Kernel) -> Option<Size> {
    let count = totals::formula(&dim.to_expr(), kernel)?;
    Some(Size { text: dim.to_string(), count })
}

/// What of the kernel follows from its `where` parameters, and the bytes that each argument needs as far as they can be said.
fn sizes(kernel: &Kernel) -> Sizes {
    let shape = |dims: &[Dim]| -> Vec<Size> {
        if dims.iter().all(|dim| dim.as_const().is_some()) {
            return Vec::new();
        }
        let all = (0..3).map(|at| size(dims.get(at).unwrap_or(&Dim::ONE), kernel));
        all.collect::<Option<_>>().unwrap_or_default()
    };
    let bytes = kernel.params.iter().filter_map(|param| {
        let ParamTy::Buffer(ty) = &param.ty else { return None };
        let dim = match storage_bytes(ty, &|_| None) {
            Ok(bytes) => Dim::Const(bytes),
            // Rows one behind the other: what else a symbolic layout occupies is known at launch only.
            Err(_) if ty.layout.is_none() => {
                let elements = ty.shape.iter().fold(Dim::ONE, |all, dim| all.mul(dim));
                elements.mul(&Dim::Const(i64::from(ty.dtype.bits()))).div_exact(&Dim::Const(8))?
            }
            Err(_) => return None,
        };
        Some((param.name.to_string(), size(&dim, kernel)?))
    });
    Sizes { grid: shape(&kernel.launch.grid), block: shape(&kernel.launch.block), bytes: bytes.collect() }
}

//! `check`: the last look at the lowered module.
//!
//! Whatever is found here is either beyond the target (an error with a reason) or a fault of a pass. LLVM aborts on what
//! it cannot select, so this is where our own tables decide first.

use tilewright_ir::diag::Diagnostic;
use tilewright_ir::op::{QueueArg, queue_of, signal_queue_of};
use tilewright_ir::stmt::walk_block;
use tilewright_ir::verify::{Level, verify_for};
use tilewright_ir::{Alloc, Code, Kernel, ParamTy, PrimOp, Space, Span, StmtKind};
use tilewright_target::{Target, Vendor};

use crate::pipeline::{KernelFacts, PassCx, State};

/// Runs the pass.
pub(crate) fn run(state: &mut State, cx: &PassCx) -> Result<(), Vec<Diagnostic>> {
    let mut errors: Vec<Diagnostic> = verify_for(&state.module, Level::Lowered, &cx.ops, cx.target.warp_size)
        .into_iter()
        .filter(Diagnostic::is_error)
        .collect();
    for kernel in state.module.kernels() {
        let facts = state.kernels.entry(kernel.name.clone()).or_default();
        check_kernel(kernel, cx.target, facts, &mut errors);
        state.warnings.extend(crate::registers::warn(kernel, cx.target));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn check_kernel(kernel: &Kernel, target: &Target, facts: &mut KernelFacts, errors: &mut Vec<Diagnostic>) {
    let mut shared: i64 = 0;
    let mut refuse = |span: Span, why: String, help: &str| {
        errors.push(Diagnostic::error(Code::TARGET_REFUSES, span, why).help(help));
    };
    let threads = kernel.launch.threads().unwrap_or(u32::MAX);
    if threads > target.max_threads_per_block {
        let why = format!("{threads} threads in a CTA; {} takes {}", target.name, target.max_threads_per_block);
        refuse(kernel.launch.span, why, "use fewer threads a CTA and more CTAs");
    }
    let mut has_comm = kernel.params.iter().any(|p| p.ty == ParamTy::DevComm);
    walk_block(&kernel.body, &mut |stmt| match &stmt.kind {
        StmtKind::Prim(op) => {
            if op.op.as_str().starts_with("sdma.") && !has_comm {
                let why = format!("kernel `{}` posts to copy engines but has no communicator", kernel.name);
                refuse(stmt.span, why, "add `comm: devcomm` to its parameters");
                has_comm = true; // once is enough
            }
            if let Some((why, help)) = refused_op(op, kernel, target) {
                refuse(stmt.span, why, help);
            }
            for queue in [queue_of(op), signal_queue_of(op)] {
                if let Some(QueueArg::Fixed(queue)) = queue {
                    facts.min_queues = facts.min_queues.max(u32::try_from(queue + 1).unwrap_or(u32::MAX));
                }
            }
        }
        StmtKind::Alloc(alloc) if alloc.space == Space::Shared => {
            shared = shared.saturating_add(shared_bytes(alloc));
            // More than can be declared is asked for at launch: the backend says so in the kernel's description.
            if shared > i64::from(target.lds_bytes) {
                let why = format!(
                    "shared buffers take {shared} B up to here; {} has {} B for a CTA",
                    target.name, target.lds_bytes
                );
                refuse(stmt.span, why, "use smaller tiles");
            }
        }
        _ => {}
    });
}

/// What of the language the target cannot run at all, said before any pass looks at the kernel: signals belong to the
/// queues of copy engines.
pub(crate) fn refuse_early(kernel: &Kernel, target: &Target) -> Option<Diagnostic> {
    if target.has_sdma() {
        return None;
    }
    let mut signal = None;
    walk_block(&kernel.body, &mut |s| match &s.kind {
        StmtKind::Signal { .. } => signal = signal.or(Some(s.span)),
        StmtKind::Prim(op) if op.op.as_str().starts_with("sdma.") => signal = signal.or(Some(s.span)),
        _ => {}
    });
    let why = format!("kernel `{}` uses signals between ranks, which {} does not have yet", kernel.name, target.name);
    Some(
        Diagnostic::error(Code::TARGET_REFUSES, signal?, why)
            .help("compile it for an AMD target with copy engines (gfx942, gfx950, gfx1250); windows without signals compile for every target"),
    )
}

/// Bytes of a shared buffer, rounded up to 16 so that each begins aligned.
fn shared_bytes(alloc: &Alloc) -> i64 {
    let ty = tilewright_ir::BufferTy::from(alloc);
    let span = ty.layout().storage_elems(&ty.shape).ok().and_then(|s| s.as_const()).unwrap_or(i64::MAX);
    alloc.dtype.bytes_for(span).map_or(i64::MAX, |b| b.saturating_add(15) / 16 * 16)
}

/// Ops that the target does not have.
fn refused_op(op: &PrimOp, kernel: &Kernel, target: &Target) -> Option<(String, &'static str)> {
    match op.op.as_str() {
        "nv.ldmatrix" if !target.has_ldmatrix() => Some((
            format!("{} has no ldmatrix; it needs {}", target.name, Target::min_arch_for_ldmatrix()),
            "use `copy`",
        )),
        "nv.stmatrix" if !target.has_stmatrix() => Some((
            format!("{} has no stmatrix; it needs {}", target.name, Target::min_arch_for_stmatrix()),
            "use `copy`",
        )),
        name if name.starts_with("sdma.") && !target.has_sdma() => {
            Some((format!("{} has no SDMA engines that a kernel can drive", target.name), "use `carry = any`"))
        }
        "barrier" if op.attr_sym("scope") == Some("warpgroup") && target.vendor == Vendor::Amd => {
            let warp = kernel.launch.warp.lanes(target.warp_size);
            (kernel.launch.threads() != Some(4 * warp)).then(|| {
                let why = format!("{} has no barrier among a warpgroup of a larger CTA", target.name);
                (why, "use `sync cta`")
            })
        }
        _ => None,
    }
}

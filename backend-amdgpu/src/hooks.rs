//! What an AMD GPU does differently: ids, barriers, fences, the kernel's convention.
//!
//! Must hold: a kernel asks for no hidden argument and no register that it does not use (the `amdgpu-no-*` attributes), so
//! that its argument block is the author's; a barrier is a release, the barrier, an acquire at workgroup scope. In a kernel that hands memory
//! to others than its workgroup, a barrier also waits for what each wave has in flight: one wave then speaks for all.

use inkwell::values::{BasicValueEnum, FloatValue, IntValue};
use tilewright_backend_llvm::emit::{Emitter, FenceScope, Shape, TargetHooks};
use tilewright_backend_llvm::{AddressSpace, Error, Gen, Ordering, Scope};
use tilewright_ir::stmt::walk_block;
use tilewright_ir::{AttrValue, Kernel, PrimOp, Scope as Threads, Span, StmtKind};

use tilewright_target::WaitCounters;

use crate::waits::memory_retired;

type Result<T> = std::result::Result<T, Error>;

/// LLVM's number of the `amdgpu_kernel` calling convention.
const AMDGPU_KERNEL: u32 = 91;

/// What our kernels never use; without these LLVM reserves registers and 256 bytes of hidden arguments for it.
const UNUSED: [&str; 10] = [
    "amdgpu-no-completion-action",
    "amdgpu-no-default-queue",
    "amdgpu-no-dispatch-id",
    "amdgpu-no-dispatch-ptr",
    "amdgpu-no-heap-ptr",
    "amdgpu-no-hostcall-ptr",
    "amdgpu-no-implicitarg-ptr",
    "amdgpu-no-lds-kernel-id",
    "amdgpu-no-multigrid-sync-arg",
    "amdgpu-no-queue-ptr",
];

/// The hooks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AmdHooks {
    /// How the target counts memory accesses.
    pub(crate) counters: WaitCounters,
}

const AXES: [&str; 3] = ["x", "y", "z"];

fn axis(dimension: u8) -> &'static str {
    AXES.get(usize::from(dimension)).copied().unwrap_or("x")
}

impl TargetHooks for AmdHooks {
    fn converge<'ctx>(&self, g: &Gen<'_, 'ctx>) -> Result<()> {
        g.mark_convergent();
        g.intrinsic("llvm.amdgcn.wave.barrier", &[], &[], "").map(drop)
    }

    fn dynamic_shared_above(&self) -> Option<u64> {
        None
    }

    fn devcomm_passing(&self) -> (AddressSpace, &'static str) {
        (AddressSpace::Constant, "byref")
    }

    fn begin_kernel<'ctx>(&self, g: &Gen<'_, 'ctx>, shape: &Shape) -> Result<()> {
        g.function.set_call_conventions(AMDGPU_KERNEL);
        g.flag("nounwind");
        g.flag("convergent");
        for attribute in UNUSED {
            g.attribute(attribute, "");
        }
        g.attribute("amdgpu-flat-work-group-size", &format!("{0},{0}", shape.threads));
        g.attribute("uniform-work-group-size", "true");
        Ok(())
    }

    fn thread_id<'ctx>(&self, g: &Gen<'_, 'ctx>, dimension: u8) -> Result<IntValue<'ctx>> {
        let axis = axis(dimension);
        g.int_intrinsic(&format!("llvm.amdgcn.workitem.id.{axis}"), &[], &[], &format!("tid_{axis}"))
    }

    fn block_id<'ctx>(&self, g: &Gen<'_, 'ctx>, dimension: u8) -> Result<IntValue<'ctx>> {
        let axis = axis(dimension);
        g.int_intrinsic(&format!("llvm.amdgcn.workgroup.id.{axis}"), &[], &[], &format!("bid_{axis}"))
    }

    fn barrier<'ctx>(&self, e: &mut Emitter<'_, '_, 'ctx>, scope: Threads, span: Span) -> Result<()> {
        match scope {
            Threads::Thread => Ok(()),
            // All lanes of a wave are at one instruction; only the compiler must not move accesses across.
            Threads::Warp if e.shape.warp <= e.target.warp_size => wave_barrier(&e.g),
            // Of several waves only the block can meet.
            Threads::Warp if e.shape.warp < e.shape.threads => Err(Error::unsupported(
                span,
                format!(
                    "{} has waves of {} lanes and no barrier of a warp of {} that is only part of its block: use `sync cta`",
                    e.target.name, e.target.warp_size, e.shape.warp
                ),
            )),
            Threads::Warpgroup if 4 * e.shape.warp < e.shape.threads => Err(Error::unsupported(
                span,
                format!(
                    "{} has no barrier of a warpgroup that is only part of its block: use `sync cta`",
                    e.target.name
                ),
            )),
            Threads::Warp | Threads::Warpgroup | Threads::Cta
                if e.shape.threads > e.target.warp_size && hands_over(e.kernel) =>
            {
                retiring_barrier(&e.g, self.counters)
            }
            Threads::Warp | Threads::Warpgroup | Threads::Cta => workgroup_barrier(&e.g),
        }
    }

    fn fence<'ctx>(&self, g: &Gen<'_, 'ctx>, ordering: Ordering, scope: FenceScope) -> Result<()> {
        let scope = match scope {
            FenceScope::System => Scope::SYSTEM,
            FenceScope::Agent => Scope::AGENT,
            FenceScope::Cta => Scope::WORKGROUP,
            FenceScope::Warp => Scope::WAVEFRONT,
        };
        g.fence(ordering, scope)?;
        if ordering == Ordering::Release && matches!(scope, Scope::SYSTEM | Scope::AGENT) {
            // LLVM 22 does not count `buffer_wbl2` among what vmcnt waits for, and drops its own wait behind it if it believes
            // that no access is in flight. The hardware counts it. (`global_wb` it counts; the wait is the same one then.)
            memory_retired(g, self.counters)?;
            g.fence(Ordering::AcquireRelease, Scope::WAVEFRONT)?;
        }
        Ok(())
    }

    fn pause<'ctx>(&self, g: &Gen<'_, 'ctx>) -> Result<()> {
        g.intrinsic("llvm.amdgcn.s.sleep", &[], &[g.i32(2).into()], "").map(|_| ())
    }

    fn before_f16<'ctx>(&self, g: &Gen<'_, 'ctx>, value: FloatValue<'ctx>) -> Result<FloatValue<'ctx>> {
        // LLVM 22.1 selects `v_fma_mixlo_f16 a, b, 0` for `f16(a * b)`, which turns a product of -0 into +0. gfx9 does without
        // the instruction (its `llvm_features`); on gfx12 that would take the generation's other features away as well.
        if self.counters == WaitCounters::Shared {
            return Ok(value);
        }
        match g.intrinsic("llvm.arithmetic.fence", &[value.get_type().into()], &[value.into()], "product")? {
            Some(BasicValueEnum::FloatValue(kept)) => Ok(kept),
            _ => Err(Error::Build("an arithmetic fence does not yield a float".to_owned())),
        }
    }

    fn divide<'ctx>(&self, g: &Gen<'_, 'ctx>) -> Result<()> {
        // Nothing is scheduled across it (mask 0), and it is no instruction.
        g.intrinsic("llvm.amdgcn.sched.barrier", &[], &[g.i32(0).into()], "").map(|_| ())
    }

    fn op<'ctx>(&self, e: &mut Emitter<'_, '_, 'ctx>, op: &PrimOp, span: Span) -> Result<()> {
        crate::ops::emit(e, op, span)
    }
}

/// Whether engines or other workgroups may use what the kernel's waves wrote or read before a barrier.
fn hands_over(kernel: &Kernel) -> bool {
    let mut found = false;
    walk_block(&kernel.body, &mut |stmt| {
        let StmtKind::Prim(op) = &stmt.kind else { return };
        let wide =
            |scope: &AttrValue| matches!(scope, AttrValue::Sym(name) if matches!(name.as_str(), "agent" | "system"));
        let releases = op.op.as_str() == "fence.release" && op.attr("scope").is_some_and(wide);
        found |= releases || op.op.as_str().starts_with("sdma.");
    });
    found
}

/// As [`workgroup_barrier`], with every wave's memory accesses retired. LLVM's release at workgroup scope leaves stores in
/// flight, because the waves share the first-level cache; a release of one of them afterwards waits for its own only, and an
/// engine that it starts could overtake the stores, or the loads, of the others. (A workgroup of one wave needs no such thing.)
fn retiring_barrier(g: &Gen<'_, '_>, counters: WaitCounters) -> Result<()> {
    g.fence(Ordering::Release, Scope::WORKGROUP)?;
    memory_retired(g, counters)?;
    g.intrinsic("llvm.amdgcn.s.barrier", &[], &[], "")?;
    g.fence(Ordering::Acquire, Scope::WORKGROUP)?;
    Ok(())
}

/// All threads of the workgroup meet and see each other's writes.
pub(crate) fn workgroup_barrier(g: &Gen<'_, '_>) -> Result<()> {
    g.fence(Ordering::Release, Scope::WORKGROUP)?;
    g.intrinsic("llvm.amdgcn.s.barrier", &[], &[], "")?;
    g.fence(Ordering::Acquire, Scope::WORKGROUP)?;
    Ok(())
}

/// Keeps the accesses of a wave's lanes on their side.
pub(crate) fn wave_barrier(g: &Gen<'_, '_>) -> Result<()> {
    g.fence(Ordering::Release, Scope::WAVEFRONT)?;
    g.intrinsic("llvm.amdgcn.wave.barrier", &[], &[], "")?;
    g.fence(Ordering::Acquire, Scope::WAVEFRONT)?;
    Ok(())
}

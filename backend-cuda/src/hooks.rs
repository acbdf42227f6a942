//! What an NVIDIA GPU does differently: ids, barriers, fences, the kernel's convention.
//!
//! Must hold: the block's extents are stated once, as `reqntid` (ptxas refuses it beside `maxntid`); barriers of fewer
//! threads than a block are named barriers 1 to 15, one a group.

use inkwell::values::IntValue;
use tilewright_backend_llvm::emit::{Emitter, FenceScope, Shape, TargetHooks};
use tilewright_backend_llvm::{AddressSpace, Error, Gen, Ordering, Scope};
use tilewright_ir::{PrimOp, Scope as Threads, Span};
use tilewright_target::Target;

type Result<T> = std::result::Result<T, Error>;

/// LLVM's number of the `ptx_kernel` calling convention.
const PTX_KERNEL: u32 = 71;

/// Named barriers of a block beside barrier 0.
const NAMED_BARRIERS: u32 = 15;

const AXES: [&str; 3] = ["x", "y", "z"];

fn axis(dimension: u8) -> &'static str {
    AXES.get(usize::from(dimension)).copied().unwrap_or("x")
}

/// The hooks of one target.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CudaHooks<'t> {
    pub(crate) target: &'t Target,
}

impl TargetHooks for CudaHooks<'_> {
    fn dynamic_shared_above(&self) -> Option<u64> {
        Some(self.target.lds_static_bytes.into())
    }

    fn devcomm_passing(&self) -> (AddressSpace, &'static str) {
        (AddressSpace::Flat, "byval")
    }

    fn begin_kernel<'ctx>(&self, g: &Gen<'_, 'ctx>, shape: &Shape) -> Result<()> {
        g.function.set_call_conventions(PTX_KERNEL);
        g.flag("nounwind");
        g.flag("convergent");
        let [x, y, z] = shape.block;
        g.attribute("nvvm.reqntid", &format!("{x},{y},{z}"));
        Ok(())
    }

    fn thread_id<'ctx>(&self, g: &Gen<'_, 'ctx>, dimension: u8) -> Result<IntValue<'ctx>> {
        let axis = axis(dimension);
        g.int_intrinsic(&format!("llvm.nvvm.read.ptx.sreg.tid.{axis}"), &[], &[], &format!("tid_{axis}"))
    }

    fn block_id<'ctx>(&self, g: &Gen<'_, 'ctx>, dimension: u8) -> Result<IntValue<'ctx>> {
        let axis = axis(dimension);
        g.int_intrinsic(&format!("llvm.nvvm.read.ptx.sreg.ctaid.{axis}"), &[], &[], &format!("bid_{axis}"))
    }

    fn barrier<'ctx>(&self, e: &mut Emitter<'_, '_, 'ctx>, scope: Threads, span: Span) -> Result<()> {
        let group = scope.threads(e.shape.warp, e.shape.threads);
        match scope {
            Threads::Thread => Ok(()),
            Threads::Warp if group == e.target.warp_size => {
                let all = e.g.i32(u32::MAX);
                e.g.intrinsic("llvm.nvvm.bar.warp.sync", &[], &[all.into()], "").map(|_| ())
            }
            _ if group >= e.shape.threads => {
                e.g.intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", &[], &[e.g.i32(0).into()], "").map(|_| ())
            }
            _ => named_barrier(e, group, scope, span),
        }
    }

    fn fence<'ctx>(&self, g: &Gen<'_, 'ctx>, ordering: Ordering, scope: FenceScope) -> Result<()> {
        let scope = match scope {
            FenceScope::System => Scope::SYSTEM,
            FenceScope::Agent => Scope::DEVICE,
            FenceScope::Cta | FenceScope::Warp => Scope::BLOCK,
        };
        g.fence(ordering, scope).map(|_| ())
    }

    fn pause<'ctx>(&self, g: &Gen<'_, 'ctx>) -> Result<()> {
        g.intrinsic("llvm.nvvm.nanosleep", &[], &[g.i32(64).into()], "").map(|_| ())
    }

    fn op<'ctx>(&self, e: &mut Emitter<'_, '_, 'ctx>, op: &PrimOp, span: Span) -> Result<()> {
        crate::ops::emit(e, op, span)
    }
}

/// A barrier of `group` consecutive threads: barrier 1 + the group's number, which is the same for all threads of a warp.
fn named_barrier(e: &mut Emitter<'_, '_, '_>, group: u32, scope: Threads, span: Span) -> Result<()> {
    let groups = e.shape.threads.div_ceil(group);
    let partial = !e.shape.threads.is_multiple_of(group) || !group.is_multiple_of(e.target.warp_size);
    if groups > NAMED_BARRIERS || partial {
        let message = format!(
            "{} has {NAMED_BARRIERS} named barriers of whole warps; {} threads in groups of {group} do not fit: use `sync cta`",
            e.target.name, e.shape.threads
        );
        return Err(Error::unsupported(span, format!("no barrier of a {scope}: {message}")));
    }
    let thread = e.thread_linear()?;
    let g = e.g;
    let number = g.builder.build_int_unsigned_div(thread, g.i32(group), "group")?;
    let barrier = g.add(number, g.i32(1), "barrier")?;
    let arguments = [barrier.into(), g.i32(group).into()];
    g.intrinsic("llvm.nvvm.barrier.cta.sync.aligned.count", &[], &arguments, "").map(|_| ())
}

//! Primitive ops of AMD targets: the SDMA ops.
//!
//! Must hold: an op of the neutral table that this target lacks is refused in one sentence that names it and what to do.

use tilewright_backend_llvm::Error;
use tilewright_backend_llvm::emit::{Emitter, arg_expr, arg_place};
use tilewright_ir::types::literal_int;
use tilewright_ir::{PrimOp, Span};

use crate::sdma::{Coop, Post, PostOptions, Sdma, StoreWait, ThreadMode};

type Result<T> = std::result::Result<T, Error>;

/// Emits one op.
pub(crate) fn emit(e: &mut Emitter<'_, '_, '_>, op: &PrimOp, span: Span) -> Result<()> {
    match op.op.as_str() {
        "sdma.put" | "sdma.get" => post(e, op, span),
        "sdma.signal" => {
            let options = options(e, op, span)?;
            let peer = e.rank(arg_expr(op, 0, span)?)?;
            sdma(e, span)?.post_signal(peer, queue(op, span)?, &options)
        }
        "sdma.commit" => {
            let peer = e.rank(arg_expr(op, 0, span)?)?;
            sdma(e, span)?.commit(peer, queue(op, span)?, coop(e, op, span)?)
        }
        "sdma.quiet_queue" => {
            let peer = e.rank(arg_expr(op, 0, span)?)?;
            sdma(e, span)?.quiet_queue(peer, queue(op, span)?, coop(e, op, span)?)
        }
        "sdma.wait_signal" => {
            let source = e.rank(arg_expr(op, 0, span)?)?;
            let expected = e.index(arg_expr(op, 1, span)?)?;
            sdma(e, span)?.wait_signal(source, queue(op, span)?, expected)
        }
        other if other.starts_with("nv.") => Err(Error::unsupported(
            span,
            format!("`{other}` is an instruction of NVIDIA GPUs; {} has none like it", e.target.name),
        )),
        other => Err(Error::unsupported(span, format!("{} has no op `{other}`", e.target.name))),
    }
}

/// The SDMA generator at the place where the emitter stands.
fn sdma<'e, 'ctx>(e: &'e Emitter<'_, '_, 'ctx>, span: Span) -> Result<Sdma<'e, 'ctx>> {
    let missing = || Error::unsupported(span, format!("{} has no copy engines that a kernel can drive", e.target.name));
    let facts = e.target.sdma.as_ref().ok_or_else(missing)?;
    let comm = e.devcomm(span)?;
    Ok(Sdma::new(e.g, comm, facts, e.target.warp_size, StoreWait::Waitcnt).with_block(e.shape.block))
}

/// `sdma.put(dst, src, peer, bytes)` and `sdma.get`, which differ only in whose window is where.
fn post(e: &mut Emitter<'_, '_, '_>, op: &PrimOp, span: Span) -> Result<()> {
    let mut options = options(e, op, span)?;
    let dst = e.place_address(arg_place(op, 0, span)?)?;
    let src = e.place_address(arg_place(op, 1, span)?)?;
    let peer = e.rank(arg_expr(op, 2, span)?)?;
    let size = arg_expr(op, 3, span)?;
    if let Some(size) = literal_int(size) {
        if size == 0 {
            return Ok(()); // nothing is posted, signals included
        }
        options.max_bytes = Some(size as u64);
        options.never_empty = true;
    }
    let bytes = e.index(size)?;
    if let Some(known) = bytes.get_zero_extended_constant() {
        options.max_bytes = Some(known);
        options.never_empty = known != 0;
    }
    let post = Post { peer, queue: queue(op, span)?, dst, src, bytes };
    sdma(e, span)?.post(&post, &options)
}

fn options(e: &Emitter<'_, '_, '_>, op: &PrimOp, span: Span) -> Result<PostOptions> {
    let mode = match op.attr_sym("mode") {
        None | Some("independent") => ThreadMode::Independent,
        Some("same_queue") => ThreadMode::SameQueue,
        Some(other) => return Err(Error::malformed(span, format!("`{other}` is no thread mode"))),
    };
    Ok(PostOptions {
        coop: coop(e, op, span)?,
        mode,
        local_signal: op.attr_bool("local_signal"),
        remote_signal: op.attr_bool("remote_signal"),
        aggregate: op.attr_bool("aggregate"),
        signal_per_copy: op.attr_bool("signal_per_copy"),
        max_bytes: None,
        never_empty: false,
    })
}

fn coop(e: &Emitter<'_, '_, '_>, op: &PrimOp, span: Span) -> Result<Coop> {
    match op.attr_sym("coop") {
        None | Some("thread") => Ok(Coop::Thread),
        Some("warp") if e.shape.warp == e.target.warp_size => Ok(Coop::Warp),
        Some("warp") => Err(Error::unsupported(
            span,
            format!("`coop = warp` on {} wants warps of {} lanes", e.target.name, e.target.warp_size),
        )),
        Some("block") => Ok(Coop::Block),
        Some(other) => Err(Error::malformed(span, format!("`{other}` is no coop scope"))),
    }
}

fn queue(op: &PrimOp, span: Span) -> Result<u32> {
    op.attr_int("queue")
        .and_then(|queue| u32::try_from(queue).ok())
        .ok_or_else(|| Error::malformed(span, format!("`{}` needs a queue id", op.op.as_str())))
}

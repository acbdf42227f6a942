//! Primitive ops of AMD targets: the SDMA ops.
//!
//! Must hold: an op of the neutral table that this target lacks is refused in one sentence that names it and what to do.

use tilewright_backend_llvm::Error;
use tilewright_backend_llvm::emit::{Emitter, arg_expr, arg_place};
use tilewright_ir::op::{QueueArg, queue_of, signal_queue_of};
use tilewright_ir::{PrimOp, Span};
use tilewright_target::sdma::Compare;

use crate::compile::wait_counters;
use crate::sdma::{Broadcast, Coop, Int, Post, PostOptions, QueueNo, Sdma, ThreadMode, WaitFor};

type Result<T> = std::result::Result<T, Error>;

/// Emits one op.
pub(crate) fn emit(e: &mut Emitter<'_, '_, '_>, op: &PrimOp, span: Span) -> Result<()> {
    match op.op.as_str() {
        "sdma.put" | "sdma.get" | "sdma.put_ptr" => post(e, op, span),
        "sdma.put_broadcast" => broadcast(e, op, span),
        "sdma.post_wait_mem" => {
            let (wait, peer) = (wait_for(e, op, span)?, rank(e, op, 2, span)?);
            let (queue, coop) = (queue(e, op, span)?, coop(e, op, span)?);
            sdma(e, span)?.post_wait(&wait, peer, queue, coop, op.attr_bool("aggregate"))
        }
        "sdma.post_wait_signal" => {
            let count = e.index(arg_expr(op, 1, span)?)?;
            sdma(e, span)?.check_expected(count)?;
            let (source, expected, peer) = (rank(e, op, 0, span)?, word(e, op, 1, span)?, rank(e, op, 2, span)?);
            let signal_queue = queue_no(e, signal_queue_of(op), op, span)?;
            let (queue, coop) = (queue(e, op, span)?, coop(e, op, span)?);
            let aggregate = op.attr_bool("aggregate");
            sdma(e, span)?.post_wait_signal(source, signal_queue, expected, peer, queue, coop, aggregate)
        }
        "sdma.post_wait_mem_put_ptr" => wait_put(e, op, span),
        "sdma.signal" => {
            let options = options(e, op, span)?;
            let (peer, queue) = (rank(e, op, 0, span)?, queue(e, op, span)?);
            sdma(e, span)?.post_signal(peer, queue, &options)
        }
        "sdma.commit" => {
            let (peer, queue, coop) = (rank(e, op, 0, span)?, queue(e, op, span)?, coop(e, op, span)?);
            sdma(e, span)?.commit(peer, queue, coop)
        }
        "sdma.commit_all" => {
            let (peer, coop) = (rank(e, op, 0, span)?, coop(e, op, span)?);
            sdma(e, span)?.commit_all(peer, coop)
        }
        "sdma.quiet_queue" => {
            let (peer, queue, coop) = (rank(e, op, 0, span)?, queue(e, op, span)?, coop(e, op, span)?);
            sdma(e, span)?.quiet_queue(peer, queue, coop)
        }
        "sdma.quiet" => {
            let (peer, coop) = (rank(e, op, 0, span)?, coop(e, op, span)?);
            sdma(e, span)?.quiet(peer, coop)
        }
        "sdma.wait_signal" => {
            let (source, queue) = (rank(e, op, 0, span)?, queue(e, op, span)?);
            let expected = e.index(arg_expr(op, 1, span)?)?;
            sdma(e, span)?.wait_signal(source, queue, expected)
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
    let counters = wait_counters(e.target)?;
    Ok(Sdma::new(e.g, comm, facts, e.target.warp_size, counters).with_block(e.shape.block).with_debug(e.sdma_debug))
}

/// `sdma.put(dst, src, peer, bytes)`, `sdma.get` and `sdma.put_ptr`, which differ only in whose memory is where.
fn post(e: &mut Emitter<'_, '_, '_>, op: &PrimOp, span: Span) -> Result<()> {
    let (dst, src, peer) = (address(e, op, 0, span)?, address(e, op, 1, span)?, rank(e, op, 2, span)?);
    let mut options = options(e, op, span)?;
    let bytes = size(e, op, 3, &mut options, span)?;
    let post = Post { peer, queue: queue(e, op, span)?, dst, src, bytes };
    if options.max_bytes == Some(0) {
        return sdma(e, span)?.check_post(&post, &options); // nothing is posted, signals included
    }
    sdma(e, span)?.post(&post, &options)
}

/// `sdma.put_broadcast(dst, dst2, src, peer, peer2, bytes)`.
fn broadcast(e: &mut Emitter<'_, '_, '_>, op: &PrimOp, span: Span) -> Result<()> {
    let (first, second, src) = (address(e, op, 0, span)?, address(e, op, 1, span)?, address(e, op, 2, span)?);
    let peers = [rank(e, op, 3, span)?, rank(e, op, 4, span)?];
    let mut options = options(e, op, span)?;
    let bytes = size(e, op, 5, &mut options, span)?;
    if options.max_bytes == Some(0) {
        return Ok(());
    }
    let post = Broadcast { peers, queue: queue(e, op, span)?, dst: [first, second], src, bytes };
    sdma(e, span)?.post_broadcast(&post, &options)
}

/// `sdma.post_wait_mem_put_ptr(flag, value, dst, src, peer, bytes)`.
fn wait_put(e: &mut Emitter<'_, '_, '_>, op: &PrimOp, span: Span) -> Result<()> {
    let wait = wait_for(e, op, span)?;
    let (dst, src, peer) = (address(e, op, 2, span)?, address(e, op, 3, span)?, rank(e, op, 4, span)?);
    let mut options = options(e, op, span)?;
    let bytes = size(e, op, 5, &mut options, span)?;
    let post = Post { peer, queue: queue(e, op, span)?, dst, src, bytes };
    sdma(e, span)?.post_wait_put(&wait, &post, &options)
}

/// The condition `flag & mask cmp value` of the first two operands.
fn wait_for<'ctx>(e: &mut Emitter<'_, '_, 'ctx>, op: &PrimOp, span: Span) -> Result<WaitFor<'ctx>> {
    let cmp = op.attr_sym("cmp").unwrap_or("eq");
    let compare = Compare::parse(cmp).ok_or_else(|| Error::malformed(span, format!("`{cmp}` is no comparison")))?;
    let mask = match op.attr_int("mask") {
        None => u32::MAX,
        Some(mask) => u32::try_from(mask).map_err(|_| Error::malformed(span, "the mask has 32 bits"))?,
    };
    Ok(WaitFor { at: address(e, op, 0, span)?, compare, value: word(e, op, 1, span)?, mask })
}

fn address<'ctx>(e: &mut Emitter<'_, '_, 'ctx>, op: &PrimOp, n: usize, span: Span) -> Result<Int<'ctx>> {
    e.place_address(arg_place(op, n, span)?)
}

fn rank<'ctx>(e: &mut Emitter<'_, '_, 'ctx>, op: &PrimOp, n: usize, span: Span) -> Result<Int<'ctx>> {
    e.rank(arg_expr(op, n, span)?)
}

/// The low 32 bits of an operand.
fn word<'ctx>(e: &mut Emitter<'_, '_, 'ctx>, op: &PrimOp, n: usize, span: Span) -> Result<Int<'ctx>> {
    let value = e.index(arg_expr(op, n, span)?)?;
    e.g.trunc32(value, "word")
}

/// The size of a copy in bytes; what is known of it goes into the options.
fn size<'ctx>(
    e: &mut Emitter<'_, '_, 'ctx>,
    op: &PrimOp,
    n: usize,
    options: &mut PostOptions,
    span: Span,
) -> Result<Int<'ctx>> {
    let bytes = e.index(arg_expr(op, n, span)?)?;
    if let Some(known) = bytes.get_zero_extended_constant() {
        options.max_bytes = Some(known);
        options.never_empty = known != 0;
    }
    Ok(bytes)
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

fn queue<'ctx>(e: &mut Emitter<'_, '_, 'ctx>, op: &PrimOp, span: Span) -> Result<QueueNo<'ctx>> {
    queue_no(e, queue_of(op), op, span)
}

fn queue_no<'ctx>(
    e: &mut Emitter<'_, '_, 'ctx>,
    queue: Option<QueueArg<'_>>,
    op: &PrimOp,
    span: Span,
) -> Result<QueueNo<'ctx>> {
    let lacks = || Error::malformed(span, format!("`{}` needs a queue id", op.op.as_str()));
    match queue.ok_or_else(lacks)? {
        QueueArg::Fixed(number) => {
            let number = u32::try_from(number).map_err(|_| lacks())?;
            Ok(sdma(e, span)?.fixed_queue(number))
        }
        QueueArg::Computed(number, _) => {
            let number = e.index(number)?;
            sdma(e, span)?.computed_queue(number)
        }
    }
}

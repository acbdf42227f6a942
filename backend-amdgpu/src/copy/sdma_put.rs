//! Window to window by the SDMA engines, from inside the kernel.
//!
//! **Accepts**: a contiguous region of this rank's window -> a contiguous region of a peer's window (put), or a peer's ->
//! this rank's (get); same dtype, any size, whole bytes; no replicas at the destination; scope thread, warp or cta.
//!
//! **Emits**: `sdma.put` / `sdma.get`, one a copy. The source written in this kernel: scope barrier and the leader's
//! system-scope release first. `notify` is the trailing atomic of the same post; a copy of zero bytes posts the bare
//! atomic. By thread with a uniform peer the lanes of a wave share one reservation (`same_queue`).
//!
//! **Completes**: when the queue towards the peer has drained.
//!
//! **Cost**: the latency clock of the target's table (measured): base + packets + bytes at link speed.
//!
//! **Targets**: those with SDMA engines that a kernel can drive.

use tilewright_ir::layout::{Runs, contiguous_runs};
use tilewright_ir::{AttrValue, BinOp, Completion, Dim, Expr, ExprKind, Name, PrimArg, Scope, Space, Special};
use tilewright_passes::place_waits::coop_of;
use tilewright_passes::select::{
    Candidate, CopyGroup, CopyVariant, CopyView, Operand, ParamValue, Reject, Rewriter, VariantInfo,
};
use tilewright_target::{Basis, Cost, Target};

/// See the head of this file.
#[derive(Debug)]
pub struct SdmaPut;

/// Queue of copies that notify nobody.
const PLAIN_QUEUE: u32 = 0;

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    /// From this rank to a peer.
    Put,
    /// From a peer to this rank.
    Get,
}

/// What `plan` finds out and `emit` writes.
#[derive(Clone, Debug)]
struct Post {
    direction: Direction,
    peer: Expr,
    dst: (Name, Option<Expr>, Expr),
    src: (Name, Option<Expr>, Expr),
    bytes: Dim,
    /// May `bytes` be zero at run time?
    may_be_empty: bool,
    queue: u32,
    scope: Scope,
    /// All active lanes of a wave post to one peer.
    same_queue: bool,
    notify: bool,
    later_ranks: Vec<Expr>,
    release_first: bool,
}

impl CopyVariant for SdmaPut {
    fn info(&self) -> VariantInfo {
        VariantInfo { name: "sdma_put", op: "copy", priority: 30 }
    }

    fn plan(&self, group: &CopyGroup, target: &Target) -> Result<Candidate, Reject> {
        let view = &group.copies[0];
        let Some(costs) = &target.costs.sdma else {
            return Err(Reject::Target { why: format!("{} has no SDMA engines that a kernel can drive", target.name) });
        };
        let post = plan_post(view)?;
        let lanes = if view.scope == Scope::Thread { u64::from(view.active.count()) } else { 1 };
        // An atomic costs the engine about what a copy does (seed 001, "optFlags").
        let signals = if post.notify { u64::from(view.active.count().div_ceil(view.warp)).min(lanes) } else { 0 };
        let (bytes, exact) = match post.bytes.as_const() {
            Some(b) => (u64::try_from(b).unwrap_or(0), true),
            // A symbolic size is priced as one page a lane: an estimate, so not measured.
            None => (4096, false),
        };
        let mut cost = costs.latency(lanes + signals, bytes.saturating_mul(lanes));
        if !exact {
            cost = Cost { basis: Basis::Unmeasured, ..cost };
        }
        let params = vec![
            ("direction", ParamValue::Text(if post.direction == Direction::Put { "put" } else { "get" }.to_owned())),
            ("bytes", post.bytes.as_const().map_or_else(|| ParamValue::Text(post.bytes.to_string()), ParamValue::Int)),
            ("queue", ParamValue::Int(i64::from(post.queue))),
            ("coop", ParamValue::Text(coop_of(post.scope).to_string())),
            ("mode", ParamValue::Text(mode_of(&post).to_owned())),
            ("signal", ParamValue::Bool(post.notify)),
        ];
        Ok(Candidate {
            params,
            cost,
            notes: Vec::new(),
            conflicts: Vec::new(),
            emit: Box::new(move |rw| emit(&post, rw)),
        })
    }
}

fn plan_post(view: &CopyView) -> Result<Post, Reject> {
    let direction = direction_of(view)?;
    if view.scope == Scope::Warpgroup {
        return Err(Reject::Scope { have: view.scope, need: "thread, warp or cta (mori has no warpgroup scope)" });
    }
    if view.scope != Scope::Thread && !view.active.full_groups(view.scope) {
        return Err(Reject::Threads { why: format!("the posting {} must have all its threads active", view.scope) });
    }
    if let Some(bits) = view.attrs.vec {
        return Err(Reject::Attribute { why: format!("`vec = {bits}` asks for a vector loop, not an engine") });
    }
    let src = single_run(&view.src, view)?;
    let dst = single_run(&view.dst, view)?;
    if view.dst.ty.layout().tile.replica.iter().any(|it| !it.extent.is(1)) {
        // A run is one replica; the source may be read at any of them.
        let why = "has several replicas in memory, a run reaches one of them".to_owned();
        return Err(Reject::Layout { operand: view.dst.buf.to_string(), why });
    }
    let bytes = byte_size(view, [&src, &dst])?;
    let uniform = |e: &Expr| view.facts.is_uniform(e);
    let (peer, same_queue) = {
        let peer = match direction {
            Direction::Put => &view.dst.rank,
            Direction::Get => &view.src.rank,
        };
        let peer = peer.clone().unwrap_or_else(|| Expr::special(Special::Me));
        let same = uniform(&peer);
        (peer, same)
    };
    let lowest = view.facts.range(&bytes).0;
    let may_be_empty = bytes.as_const().is_none() && lowest.is_none_or(|lo| lo <= 0);
    if view.notify_queue.is_some() && may_be_empty && !uniform(&bytes.to_expr()) {
        let why =
            format!("with `notify`, the size ({bytes} B) must be the same in all threads or known to be positive");
        return Err(Reject::Attribute { why }.with_fix("state it with `assume(… > 0)`"));
    }
    Ok(Post {
        direction,
        peer,
        dst: (view.dst.buf.clone(), view.dst.rank.clone(), dst.start.to_expr()),
        src: (view.src.buf.clone(), view.src.rank.clone(), src.start.to_expr()),
        bytes,
        may_be_empty,
        queue: view.notify_queue.unwrap_or(PLAIN_QUEUE),
        scope: view.scope,
        same_queue,
        notify: view.notify_queue.is_some(),
        later_ranks: view.later_ranks.clone(),
        release_first: view.src_written && direction == Direction::Put,
    })
}

/// Which side is the peer's. Two windows and at least one `@rank`; the other side must be this rank's.
fn direction_of(view: &CopyView) -> Result<Direction, Reject> {
    let side = |o: &Operand| if o.is_peer() { format!("{}@peer", o.space()) } else { o.space().to_string() };
    let refuse = |need| Err(Reject::Spaces { src: side(&view.src), dst: side(&view.dst), need });
    if view.src.space() != Space::Window || view.dst.space() != Space::Window {
        return refuse("two windows, one of them a peer's");
    }
    match (view.src.is_peer(), view.dst.is_peer()) {
        (false, true) => Ok(Direction::Put),
        (true, false) => Ok(Direction::Get),
        // A destination list may name this rank's own part without a rank.
        (false, false) if !view.later_ranks.is_empty() || view.notify_queue.is_some() => Ok(Direction::Put),
        (false, false) => refuse("one side a peer's window (`@rank`)"),
        (true, true) => refuse("one side this rank's own window"),
    }
}

/// The region as one contiguous run.
fn single_run(o: &Operand, view: &CopyView) -> Result<Runs, Reject> {
    let runs = contiguous_runs(&o.ty.layout(), &o.ty.shape, &o.region, &view.facts)
        .map_err(|e| Reject::Layout { operand: o.buf.to_string(), why: e.to_string() })?;
    if runs.is_single() {
        return Ok(runs);
    }
    let why = format!("is not one contiguous run: {} runs of {} elements", runs.count(), runs.run_elems);
    Err(Reject::NotContiguous { operand: o.buf.to_string(), why }
        .with_fix("copy one contiguous run at a time, or allow the CUs to carry it with `carry = any`"))
}

/// Bytes of the copy; elements below a byte must begin and end on whole bytes.
fn byte_size(view: &CopyView, runs: [&Runs; 2]) -> Result<Dim, Reject> {
    let elems = view.extents.iter().fold(Dim::ONE, |p, e| p.mul(e));
    let bits = i64::from(view.src.dtype().bits());
    if bits >= 8 {
        return Ok(elems.mul(&Dim::Const(bits / 8)));
    }
    let per_byte = 8 / bits;
    let dtype = view.src.dtype();
    if !view.facts.is_multiple(&elems, per_byte) {
        let why = format!("element count {elems} of {dtype} is not known to fill whole bytes");
        return Err(Reject::Attribute { why });
    }
    for (operand, run) in [&view.src, &view.dst].into_iter().zip(runs) {
        if !view.facts.is_multiple(&run.start, per_byte) {
            let why = format!("begins at element {} of {dtype}, which is not known to be a whole byte", run.start);
            return Err(Reject::Layout { operand: operand.buf.to_string(), why });
        }
    }
    Ok(view.facts.div(&elems, &Dim::Const(per_byte)))
}

fn mode_of(post: &Post) -> &'static str {
    if post.same_queue { "same_queue" } else { "independent" }
}

fn word(text: &str) -> AttrValue {
    AttrValue::Sym(Name::new(text))
}

fn emit(post: &Post, rw: &mut Rewriter) -> Completion {
    if post.release_first {
        release(post.scope, rw);
    }
    if post.notify {
        // Each destination rank is notified once: by the last destination that has this rank.
        let mine = post.dst.1.clone().unwrap_or_else(|| Expr::special(Special::Me));
        let differs = post.later_ranks.iter().map(|r| Expr::binary(BinOp::Ne, mine.clone(), r.clone()));
        match differs.reduce(|a, b| Expr::binary(BinOp::LAnd, a, b)) {
            None => post_or_signal(post, true, rw),
            Some(last) => {
                let again = Expr::new(ExprKind::Unary(tilewright_ir::UnOp::Not, Box::new(last.clone())));
                rw.if_(last, |rw| post_or_signal(post, true, rw));
                rw.if_(again, |rw| post_or_signal(post, false, rw));
            }
        }
    } else {
        post_or_signal(post, false, rw);
    }
    Completion::Queue { peer: post.peer.clone(), queue: post.queue, scope: post.scope }
}

/// What the kernel wrote to the source must be in memory before the engine reads it: all threads of the scope meet, then
/// the one that posts releases to the system.
fn release(scope: Scope, rw: &mut Rewriter) {
    let leader = match scope {
        Scope::Thread => None,
        Scope::Warp | Scope::Warpgroup => Some(Expr::special(Special::Lane)),
        Scope::Cta => Some(Expr::special(Special::ThreadLinear)),
    };
    let fence = |rw: &mut Rewriter| rw.prim("fence.release", vec![], vec![("scope", word("system"))]);
    match leader {
        None => fence(rw),
        Some(id) => {
            rw.prim("barrier", vec![], vec![("scope", word(scope.as_str()))]);
            rw.if_(Expr::binary(BinOp::Eq, id, Expr::int(0)), fence);
        }
    }
}

/// The post; where the size may be zero, the bare atomic instead (mori's put of zero bytes posts nothing).
fn post_or_signal(post: &Post, signal: bool, rw: &mut Rewriter) {
    if !(signal && post.may_be_empty) {
        return write_post(post, signal, rw);
    }
    let bytes = rw.let_("bytes", post.bytes.to_expr());
    let zero = |op| Expr::binary(op, bytes.clone(), Expr::int(0));
    rw.if_(zero(BinOp::Gt), |rw| write_post(post, signal, rw));
    rw.if_(zero(BinOp::Eq), |rw| {
        rw.prim("sdma.signal", vec![PrimArg::Expr(notified(post))], post_attrs(post));
    });
}

/// Queue and scope of a post; what lanes promise where lanes post.
fn post_attrs(post: &Post) -> Vec<(&'static str, AttrValue)> {
    let mut attrs =
        vec![("queue", AttrValue::Int(i64::from(post.queue))), ("coop", AttrValue::Sym(coop_of(post.scope)))];
    if post.scope == Scope::Thread {
        attrs.push(("mode", word(mode_of(post))));
    }
    attrs
}

/// The rank that a notify of this copy reaches: the destination's.
fn notified(post: &Post) -> Expr {
    match post.direction {
        Direction::Put => post.peer.clone(),
        Direction::Get => Expr::special(Special::Me),
    }
}

fn write_post(post: &Post, signal: bool, rw: &mut Rewriter) {
    let dst = rw.place(&post.dst.0, post.dst.1.as_ref(), post.dst.2.clone());
    let src = rw.place(&post.src.0, post.src.1.as_ref(), post.src.2.clone());
    let args = vec![
        PrimArg::Place(dst),
        PrimArg::Place(src),
        PrimArg::Expr(post.peer.clone()),
        PrimArg::Expr(post.bytes.to_expr()),
    ];
    let mut attrs = post_attrs(post);
    if signal {
        // A get ends here, so its notify is this rank's own slot.
        let which = if post.direction == Direction::Put { "remote_signal" } else { "local_signal" };
        attrs.push((which, AttrValue::Bool(true)));
    }
    let op = if post.direction == Direction::Put { "sdma.put" } else { "sdma.get" };
    rw.prim(op, args, attrs);
}

//! Window to window by the SDMA engines, from inside the kernel.
//!
//! **Accepts**: a contiguous region of this rank's window -> a contiguous region of a peer's window (put), or a peer's ->
//! this rank's (get); same dtype, any size, whole bytes; no replicas at the destination; scope thread, warp or cta.
//!
//! **Emits**: `sdma.put` / `sdma.get`, one a copy. The source written in this kernel: scope barrier and the leader's
//! system-scope release first. `notify` is the trailing atomic of the same post; a copy of zero bytes posts the bare
//! atomic. By thread with a uniform peer the lanes of a wave share one reservation (`same_queue`). `after flag == value`
//! on a 32-bit flag becomes `sdma.post_wait_mem_put_ptr`, the wait and the copy in one reservation, posted by one thread of
//! the scope or by every lane; where lanes may share a rank and notify it, `sdma.post_wait_mem` stands before the copy.
//! `after signal` becomes `sdma.post_wait_signal` before the copy. Held copies without `notify` have a queue of their own.
//!
//! **Completes**: when the queue towards the peer has drained.
//!
//! **Cost**: the latency clock of the target's table (measured): base + packets + bytes at link speed.
//!
//! **Targets**: those with SDMA engines that a kernel can drive.

use std::collections::BTreeSet;

use tilewright_ir::layout::{Runs, contiguous_runs};
use tilewright_ir::types::literal_int;
use tilewright_ir::{AttrValue, BinOp, Completion, Dim, Expr, ExprKind, Name, Place, PrimArg, Scope, Space, Special};
use tilewright_passes::place_waits::coop_of;
use tilewright_passes::select::{
    Candidate, CopyGroup, CopyVariant, CopyView, Gate, Operand, ParamValue, Reject, Rewriter, VariantInfo,
};
use tilewright_target::{Basis, Cost, Target};

/// See the head of this file.
#[derive(Debug)]
pub struct SdmaPut;

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// From this rank to a peer.
    Put,
    /// From a peer to this rank.
    Get,
}

/// What `plan` finds out and `emit` writes.
#[derive(Clone, Debug)]
pub(super) struct Post {
    pub(super) direction: Direction,
    pub(super) peer: Expr,
    pub(super) dst: (Name, Option<Expr>, Expr),
    pub(super) src: (Name, Option<Expr>, Expr),
    pub(super) bytes: Dim,
    /// May `bytes` be zero at run time?
    pub(super) may_be_empty: bool,
    pub(super) queue: u32,
    scope: Scope,
    /// All active lanes of a wave post to one peer.
    same_queue: bool,
    pub(super) notify: bool,
    later_ranks: Vec<Expr>,
    pub(super) release_first: bool,
    hold: Option<Hold>,
}

/// How the engine holds the copy back.
#[derive(Clone, Debug)]
enum Hold {
    /// One post for the wait and the copy.
    Fused(Place, Expr),
    /// A post for the wait, one for the copy.
    Flag(Place, Expr),
    /// The same, on a signal: its rank, the count, its queue.
    Signal(Expr, Expr, u32),
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
        let mut post = plan_post(view)?;
        let mut notes = Vec::new();
        match view.gate.as_ref().map(|gate| hold(gate, view, &post)) {
            None => {}
            Some(Ok((hold, queue))) => {
                post.queue = queue;
                post.hold = Some(hold);
            }
            Some(Err(why)) => notes.push(format!("its threads wait, not the engine: {why}")),
        }
        let lanes = if view.scope == Scope::Thread { u64::from(view.active.count()) } else { 1 };
        // An atomic costs the engine about what a copy does (seed 001, "optFlags").
        let signals = if post.notify { u64::from(view.active.count().div_ceil(view.warp)).min(lanes) } else { 0 };
        let (bytes, exact) = match post.bytes.as_const() {
            Some(b) => (u64::try_from(b).unwrap_or(0), true),
            // A symbolic size is priced as one page a lane: an estimate, so not measured.
            None => (4096, false),
        };
        let mut cost = costs.latency(lanes + signals, bytes.saturating_mul(lanes));
        if post.hold.is_some() {
            cost.picoseconds = cost.picoseconds.saturating_add(costs.satisfied_wait_ps.value);
        }
        if !exact {
            cost = Cost { basis: Basis::Unmeasured, ..cost };
        }
        let mut params = vec![
            ("direction", ParamValue::Text(if post.direction == Direction::Put { "put" } else { "get" }.to_owned())),
            ("bytes", post.bytes.as_const().map_or_else(|| ParamValue::Text(post.bytes.to_string()), ParamValue::Int)),
            ("queue", ParamValue::Int(i64::from(post.queue))),
            ("coop", ParamValue::Text(coop_of(post.scope).to_string())),
            ("mode", ParamValue::Text(mode_of(&post).to_owned())),
            ("signal", ParamValue::Bool(post.notify)),
        ];
        if let Some(hold) = &post.hold {
            let how = match hold {
                Hold::Fused(..) => "wait_mem_put",
                Hold::Flag(..) => "wait_mem",
                Hold::Signal(..) => "wait_signal",
            };
            params.push(("held", ParamValue::Text(how.to_owned())));
        }
        let gated = post.hold.is_some();
        Ok(Candidate { params, notes, gated, ..Candidate::new(cost, Box::new(move |rw| emit(&post, rw))) })
    }
}

pub(super) fn plan_post(view: &CopyView) -> Result<Post, Reject> {
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
        queue: view.notify_queue.unwrap_or(view.queues.plain),
        scope: view.scope,
        same_queue,
        notify: view.notify_queue.is_some(),
        later_ranks: view.later_ranks.clone(),
        release_first: view.src_written && direction == Direction::Put,
        hold: None,
    })
}

/// Can an engine hold this copy back, how, and on which queue? If not: why.
fn hold(gate: &Gate, view: &CopyView, post: &Post) -> Result<(Hold, u32), String> {
    let free = "all queues of the peer belong to signals, and a queue that waits must be its own";
    let queue = view.notify_queue.or(view.queues.held).ok_or(free)?;
    let hold = match gate {
        Gate::Signal { from, want, queue } => Hold::Signal(from.clone(), want.clone(), *queue),
        Gate::Flag { flag, dtype, .. } if dtype.bits() != 32 => {
            return Err(format!("`{}` is {dtype}, an engine compares 32 bits", flag.buf));
        }
        // A store of this GPU may stay in its cache, where the engine does not look.
        Gate::Flag { flag, written: true, .. } => return Err(format!("this kernel stores to `{}`", flag.buf)),
        Gate::Flag { flag, value, .. } => {
            // The fused call signals for each lane; a copy by thread notifies once a wave and rank.
            let one_each = view.scope != Scope::Thread || !post.notify || are_distinct(&post.peer, view);
            let hold = if one_each { Hold::Fused } else { Hold::Flag };
            // The bits of the flag's type: an engine compares unsigned.
            let value = literal_int(value).map_or_else(|| value.clone(), |v| Expr::int(i64::from(v as u32)));
            hold(flag.clone(), value)
        }
    };
    Ok((hold, queue))
}

/// Do the active threads name a rank each, all different?
fn are_distinct(peer: &Expr, view: &CopyView) -> bool {
    let peer = view.facts.resolve(peer).to_expr();
    let mut seen = BTreeSet::new();
    view.active.iter().all(|t| view.active.eval_at(&peer, t).is_some_and(|rank| seen.insert(rank)))
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
pub(super) fn single_run(o: &Operand, view: &CopyView) -> Result<Runs, Reject> {
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
pub(super) fn byte_size(view: &CopyView, runs: [&Runs; 2]) -> Result<Dim, Reject> {
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
    wait_first(post, rw);
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

/// The wait that is a post of its own.
fn wait_first(post: &Post, rw: &mut Rewriter) {
    let mut attrs =
        vec![("queue", AttrValue::Int(i64::from(post.queue))), ("coop", AttrValue::Sym(coop_of(post.scope)))];
    let peer = PrimArg::Expr(post.peer.clone());
    match &post.hold {
        Some(Hold::Flag(flag, value)) => {
            let args = vec![PrimArg::Place(flag.clone()), PrimArg::Expr(value.clone()), peer];
            rw.prim("sdma.post_wait_mem", args, attrs);
        }
        Some(Hold::Signal(from, want, queue)) => {
            attrs.push(("signal_queue", AttrValue::Int(i64::from(*queue))));
            let args = vec![PrimArg::Expr(from.clone()), PrimArg::Expr(want.clone()), peer];
            rw.prim("sdma.post_wait_signal", args, attrs);
        }
        Some(Hold::Fused(..)) | None => {}
    }
}

/// What the kernel wrote to the source must be in memory before the engine reads it: all threads of the scope meet, then
/// the one that posts releases to the system.
pub(super) fn release(scope: Scope, rw: &mut Rewriter) {
    let leader = leader_id(scope);
    let fence = |rw: &mut Rewriter| rw.prim("fence.release", vec![], vec![("scope", word("system"))]);
    match leader {
        None => fence(rw),
        Some(id) => {
            rw.prim("barrier", vec![], vec![("scope", word(scope.as_str()))]);
            rw.if_(Expr::binary(BinOp::Eq, id, Expr::int(0)), fence);
        }
    }
}

/// What is zero in the thread that posts; `None` where every thread does.
fn leader_id(scope: Scope) -> Option<Expr> {
    match scope {
        Scope::Thread => None,
        Scope::Warp | Scope::Warpgroup => Some(Expr::special(Special::Lane)),
        Scope::Cta => Some(Expr::special(Special::ThreadLinear)),
    }
}

/// The post; where the size may be zero, the bare atomic instead (mori's put of zero bytes posts nothing).
fn post_or_signal(post: &Post, signal: bool, rw: &mut Rewriter) {
    if let Some(Hold::Fused(flag, value)) = &post.hold {
        return write_fused(post, (flag, value), signal, rw);
    }
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
    attrs.extend(signal.then(|| signal_of(post)));
    let op = if post.direction == Direction::Put { "sdma.put" } else { "sdma.get" };
    rw.prim(op, args, attrs);
}

/// A get ends here, so its notify is this rank's own slot.
fn signal_of(post: &Post) -> (&'static str, AttrValue) {
    let which = if post.direction == Direction::Put { "remote_signal" } else { "local_signal" };
    (which, AttrValue::Bool(true))
}

/// Wait and copy in one reservation, which one thread of the scope posts; a copy of zero bytes leaves the wait and the
/// signal.
fn write_fused(post: &Post, (flag, value): (&Place, &Expr), signal: bool, rw: &mut Rewriter) {
    let write = |rw: &mut Rewriter| {
        let dst = rw.place(&post.dst.0, post.dst.1.as_ref(), post.dst.2.clone());
        let src = rw.place(&post.src.0, post.src.1.as_ref(), post.src.2.clone());
        let args = vec![
            PrimArg::Place(flag.clone()),
            PrimArg::Expr(value.clone()),
            PrimArg::Place(dst),
            PrimArg::Place(src),
            PrimArg::Expr(post.peer.clone()),
            PrimArg::Expr(post.bytes.to_expr()),
        ];
        let mut attrs = vec![("queue", AttrValue::Int(i64::from(post.queue)))];
        attrs.extend(signal.then(|| signal_of(post)));
        rw.prim("sdma.post_wait_mem_put_ptr", args, attrs);
    };
    match leader_id(post.scope) {
        None => write(rw),
        Some(id) => rw.if_(Expr::binary(BinOp::Eq, id, Expr::int(0)), write),
    }
}

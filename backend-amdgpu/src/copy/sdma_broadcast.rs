//! Window to two windows by one broadcast packet of the SDMA engines.
//!
//! **Accepts**: a `copy` with two destinations, each a contiguous region of a window, of any ranks, from a contiguous region
//! of this rank's window. The two addresses must agree in their low five bits, as the packet's second destination is else
//! written shifted (seed 001, "putBroadcast"); that must be provable. Scope warp or cta, by thread without `notify`. With
//! `notify` no other copy may notify the same signal: its atomics would overtake copies on the queue of the second rank.
//!
//! **Emits**: `sdma.put_broadcast` on the queue towards the first rank. `notify`: one atomic at each rank that is not this
//! one, and one here if this rank is a destination.
//!
//! **Completes**: when the queue towards the first rank has drained.
//!
//! **Cost**: one packet, bytes at the measured rate of broadcasts: slower than two puts but where both destinations are here.
//!
//! **Targets**: those with SDMA engines that a kernel can drive.

use tilewright_ir::{AttrValue, BinOp, Completion, Dim, Expr, Name, PrimArg, Scope, Special};
use tilewright_passes::place_waits::coop_of;
use tilewright_passes::select::{
    Candidate, CopyGroup, CopyVariant, CopyView, ParamValue, Reject, Rewriter, VariantInfo,
};
use tilewright_target::{Basis, Cost, Target};

use super::sdma_put::{Direction, Post, plan_post, release};

/// See the head of this file.
#[derive(Debug)]
pub struct SdmaBroadcast;

/// Both destinations agree modulo so many bytes.
const CONGRUENT: i64 = 32;

impl CopyVariant for SdmaBroadcast {
    fn info(&self) -> VariantInfo {
        VariantInfo { name: "sdma_broadcast", op: "copy", priority: 30 }
    }

    fn copies(&self) -> usize {
        2
    }

    fn plan(&self, group: &CopyGroup, target: &Target) -> Result<Candidate, Reject> {
        let [first, second] = group.copies.as_slice() else {
            return Err(Reject::Attribute { why: "a broadcast has two destinations".to_owned() });
        };
        let Some(costs) = &target.costs.sdma else {
            return Err(Reject::Target { why: format!("{} has no SDMA engines that a kernel can drive", target.name) });
        };
        let posts = [plan_post(first)?, plan_post(second)?];
        check(&posts, first)?;
        congruent(&posts, first, second)?;
        let here = |post: &Post| is_here(post, first);
        let rate = match posts.iter().filter(|p| here(p) == Some(true)).count() {
            0 => costs.broadcast_remote_bytes_per_ns,
            1 => costs.broadcast_mixed_bytes_per_ns,
            _ => costs.broadcast_local_bytes_per_ns,
        };
        let [post, other] = posts;
        let bytes = post.bytes.as_const().and_then(|b| u64::try_from(b).ok());
        let lanes = if first.scope == Scope::Thread { u64::from(first.active.count()) } else { 1 };
        let signals = if post.notify { 2 } else { 0 };
        let moved = bytes.unwrap_or(4096).saturating_mul(lanes);
        let idle = costs.latency(lanes + signals, 0);
        let transfer = moved.saturating_mul(2000).checked_div(u64::from(rate.value)).unwrap_or(0);
        let basis = if bytes.is_some() && rate.basis == idle.basis { idle.basis } else { Basis::Unmeasured };
        let cost = Cost { picoseconds: idle.picoseconds.saturating_add(transfer), basis };
        let params = vec![
            ("bytes", bytes.map_or_else(|| ParamValue::Text(post.bytes.to_string()), |b| ParamValue::Int(b as i64))),
            ("queue", ParamValue::Int(i64::from(post.queue))),
            ("coop", ParamValue::Text(coop_of(first.scope).to_string())),
            ("signal", ParamValue::Bool(post.notify)),
        ];
        let local = match (here(&post), here(&other)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        };
        let (scope, release_first) = (first.scope, post.release_first);
        let emit = Box::new(move |rw: &mut Rewriter| {
            if release_first {
                release(scope, rw);
            }
            write(&post, &other, scope, local, rw);
            Completion::Queue { peer: post.peer.clone(), queue: post.queue, scope }
        });
        Ok(Candidate { params, ..Candidate::new(cost, emit) })
    }
}

fn check(posts: &[Post; 2], view: &CopyView) -> Result<(), Reject> {
    let refuse = |why: &str| Err(Reject::Attribute { why: why.to_owned() });
    if posts.iter().any(|p| p.direction == Direction::Get) {
        return refuse("a broadcast goes from this rank's window to two others");
    }
    if view.gate.is_some() {
        return refuse("a broadcast that is held back by `after` has no single post");
    }
    if !posts[0].notify {
        return Ok(());
    }
    if view.scope == Scope::Thread {
        return refuse("by thread each lane's broadcast would notify, `notify` is once a wave");
    }
    if posts[0].may_be_empty {
        return refuse("with `notify`, the size must be known to be positive");
    }
    if view.notify_shared {
        return refuse("its signal is notified by another copy, too, which the broadcast's atomics may overtake");
    }
    Ok(())
}

/// Is the destination this rank's? `None` if only run time knows.
fn is_here(post: &Post, view: &CopyView) -> Option<bool> {
    let me = view.facts.resolve(&Expr::special(Special::Me));
    match &post.dst.1 {
        None => Some(true),
        Some(rank) => (view.facts.resolve(rank) == me).then_some(true),
    }
}

/// Addresses agree modulo 32 if their windows begin at such (or at the same) addresses and their offsets agree.
fn congruent(posts: &[Post; 2], first: &CopyView, second: &CopyView) -> Result<(), Reject> {
    let bits = i64::from(first.dst.dtype().bits());
    let per = (8 * CONGRUENT / bits).max(1);
    let aligned = |v: &CopyView| i64::from(v.dst.ty.align_bytes()) >= CONGRUENT;
    if first.dst.buf != second.dst.buf
        && let Some(v) = [first, second].into_iter().find(|v| !aligned(v))
    {
        let value = format!("{} B", v.dst.ty.align_bytes());
        let what = format!("base of `{}`", v.dst.buf);
        return Err(Reject::Misaligned { what, value, need: CONGRUENT as u32 }
            .with_fix(format!("say `align {CONGRUENT}` for both windows")));
    }
    let apart: Dim = view_offset(&posts[0]).sub(&view_offset(&posts[1]));
    let apart = first.facts.resolve(&apart.to_expr());
    if first.facts.is_multiple(&apart, per) {
        return Ok(());
    }
    let what = format!("distance of `{}` and `{}`", first.dst.buf, second.dst.buf);
    Err(Reject::Misaligned { what, value: format!("{apart} elements"), need: CONGRUENT as u32 })
}

fn view_offset(post: &Post) -> Dim {
    Dim::from_expr(&post.dst.2)
}

fn write(post: &Post, other: &Post, scope: Scope, local: Option<bool>, rw: &mut Rewriter) {
    let me = || Expr::special(Special::Me);
    match (post.notify, local) {
        (false, _) => packet(post, other, scope, [false, false], rw),
        (true, Some(local)) => packet(post, other, scope, [local, true], rw),
        (true, None) => {
            // The remote signal leaves this rank out, which a destination may be at run time.
            let is = |op, rank: &Expr| Expr::binary(op, rank.clone(), me());
            let both = |op, join| Expr::binary(join, is(op, &post.peer), is(op, &other.peer));
            rw.if_(both(BinOp::Eq, BinOp::LOr), |rw| packet(post, other, scope, [true, true], rw));
            rw.if_(both(BinOp::Ne, BinOp::LAnd), |rw| packet(post, other, scope, [false, true], rw));
        }
    }
}

/// The packet; `signals`: local and remote.
fn packet(post: &Post, other: &Post, scope: Scope, signals: [bool; 2], rw: &mut Rewriter) {
    let place = |(buf, rank, at): &(Name, Option<Expr>, Expr)| PrimArg::Place(rw.place(buf, rank.as_ref(), at.clone()));
    let args = vec![
        place(&post.dst),
        place(&other.dst),
        place(&post.src),
        PrimArg::Expr(post.peer.clone()),
        PrimArg::Expr(other.peer.clone()),
        PrimArg::Expr(post.bytes.to_expr()),
    ];
    let mut attrs = vec![("queue", AttrValue::Int(i64::from(post.queue))), ("coop", AttrValue::Sym(coop_of(scope)))];
    for (name, on) in ["local_signal", "remote_signal"].into_iter().zip(signals) {
        if on {
            attrs.push((name, AttrValue::Bool(true)));
        }
    }
    rw.prim("sdma.put_broadcast", args, attrs);
}

//! The ops of copy engines on the lanes of a warp.
//!
//! Must hold: packets are posted in the order in which device code posts them; a queue that is computed and is not there
//! makes the op do nothing.

use tilewright_ir::interp::resolve::{RPlace, RPrim};
use tilewright_ir::op::{QueueArg, queue_of, signal_queue_of};
use tilewright_ir::{Code, Span};
use tilewright_target::sdma::Compare;

use crate::engine::{Address, Packet, Poll, QUEUES, Word};
use crate::ops::{Res, expr_arg, fault, place_arg};
use crate::sched::{Cta, Machine, Mem};
use crate::warp::{Flow, Wait, Warp, lanes_of};

/// Bytes in which the destinations of a broadcast must agree (seed 001, "putBroadcast").
const CONGRUENT: usize = 32;

/// Bytes of a flag that an engine compares.
const FLAG_BYTES: usize = 4;

/// Who posts or waits, as in mori's coop scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coop {
    Thread,
    Warp,
    Block,
}

impl Coop {
    fn of(op: &RPrim<'_>) -> Coop {
        match op.op.attr_sym("coop") {
            Some("warp") => Coop::Warp,
            Some("block") => Coop::Block,
            _ => Coop::Thread,
        }
    }

    /// Active lanes that take part: all, or the first thread of the scope if it is here.
    fn lanes(self, warp: &Warp<'_, '_>, mask: u64) -> u64 {
        match self {
            Coop::Thread => mask,
            Coop::Warp => mask & 1,
            Coop::Block if warp.number == 0 => mask & 1,
            Coop::Block => 0,
        }
    }
}

/// A lane's queue; `None` if it is computed and is not there.
fn queue_in(
    warp: &Warp<'_, '_>,
    op: &RPrim<'_>,
    queue: Option<QueueArg<'_>>,
    lane: u32,
    span: Span,
) -> Res<Option<usize>> {
    let there = |n: i64| usize::try_from(n).ok().filter(|n| *n < QUEUES);
    match queue {
        Some(QueueArg::Computed(_, operand)) => Ok(there(warp.eval(expr_arg(op, operand, span)?, lane) as i64)),
        Some(QueueArg::Fixed(n)) if there(n).is_some() => Ok(there(n)),
        Some(QueueArg::Fixed(n)) => fault(Code::BAD_ATTR, span, format!("queue {n}, there are {QUEUES}")),
        None => fault(Code::OP_OPERANDS, span, format!("`{}` names no queue", op.op.op)),
    }
}

/// Bytes of a copy.
fn size(warp: &Warp<'_, '_>, op: &RPrim<'_>, operand: usize, lane: u32, span: Span) -> Res<usize> {
    let bytes = warp.eval(expr_arg(op, operand, span)?, lane) as i64;
    usize::try_from(bytes).or_else(|_| fault(Code::OP_OPERANDS, span, format!("copy of {bytes} bytes")))
}

/// The signals that an op asks for: at this rank, then at the others.
fn signals(op: &RPrim<'_>, own: usize, others: &[usize], queue: usize) -> Vec<Packet> {
    let signal = |at: usize| Packet::Signal { at, source: own, queue };
    let local = op.op.attr_bool("local_signal").then(|| signal(own));
    let remote = others.iter().filter(|_| op.op.attr_bool("remote_signal")).map(|at| signal(*at));
    local.into_iter().chain(remote).collect()
}

/// The ranks at which a broadcast raises its remote signal: each destination's once, never this one.
fn broadcast_ranks(own: usize, [first, second]: [usize; 2]) -> Vec<usize> {
    let mut ranks = vec![first];
    if second != first {
        ranks.push(second);
    }
    ranks.retain(|rank| *rank != own);
    ranks
}

impl<'r, 'k> Machine<'r, 'k> {
    /// Executes an op of copy engines.
    pub(crate) fn engine_op(
        &mut self,
        cta: &mut Cta,
        warp: &mut Warp<'r, 'k>,
        op: &'r RPrim<'k>,
        mask: u64,
        span: Span,
    ) -> Res<Flow> {
        match op.op.op.as_str() {
            "sdma.put" | "sdma.get" | "sdma.put_ptr" => self.post(cta, warp, op, mask, span)?,
            "sdma.put_broadcast" => self.broadcast(cta, warp, op, mask, span)?,
            "sdma.post_wait_mem" | "sdma.post_wait_signal" | "sdma.post_wait_mem_put_ptr" => {
                self.post_wait(cta, warp, op, mask, span)?;
            }
            "sdma.signal" => self.post_signal(cta, warp, op, mask, span)?,
            "sdma.commit" | "sdma.commit_all" => self.commit(cta, warp, op, mask, span)?,
            "sdma.quiet" | "sdma.quiet_queue" => return self.quiet(cta, warp, op, mask, span),
            "sdma.wait_signal" => return self.wait_signal(cta, warp, op, mask, span),
            name => return fault(Code::UNKNOWN_OP, span, format!("nobody says what `{name}` does on lanes")),
        }
        Ok(Flow::Next)
    }

    fn wait_signal(&mut self, cta: &Cta, warp: &Warp<'r, 'k>, op: &RPrim<'k>, mask: u64, span: Span) -> Res<Flow> {
        for lane in lanes_of(mask) {
            let Some(queue) = queue_in(warp, op, queue_of(op.op), lane, span)? else { continue };
            let from = warp.eval(expr_arg(op, 0, span)?, lane) as i64;
            let needs = warp.eval(expr_arg(op, 1, span)?, lane) as i64;
            let has = self.engines.signal(cta.rank, self.rank(from, span)?, queue);
            if has < needs as u64 {
                return Ok(Flow::Wait(Wait::Signal { from, queue, has, needs }));
            }
        }
        Ok(Flow::Next)
    }

    fn quiet(&mut self, cta: &mut Cta, warp: &mut Warp<'r, 'k>, op: &RPrim<'k>, mask: u64, span: Span) -> Res<Flow> {
        let coop = Coop::of(op);
        if warp.stage == 0 {
            for lane in lanes_of(coop.lanes(warp, mask)) {
                let peer = self.rank(warp.eval(expr_arg(op, 0, span)?, lane) as i64, span)?;
                let queues = match op.op.op == "sdma.quiet" {
                    true => 0..QUEUES,
                    false => queue_in(warp, op, queue_of(op.op), lane, span)?.map_or(0..0, |queue| queue..queue + 1),
                };
                for queue in queues {
                    if !self.engines.is_quiet(cta.rank, peer, queue) {
                        return Ok(Flow::Wait(Wait::Quiet { peer, queue }));
                    }
                }
            }
        }
        match coop {
            Coop::Thread => Ok(Flow::Next),
            Coop::Warp => self.barrier(cta, warp, "warp", mask, span),
            Coop::Block => self.barrier(cta, warp, "cta", mask, span),
        }
    }

    /// `sdma.put`, `sdma.get` and `sdma.put_ptr`: one group for each wave and queue, its copies lane by lane, then its
    /// signals.
    fn post(&mut self, cta: &Cta, warp: &Warp<'r, 'k>, op: &RPrim<'k>, mask: u64, span: Span) -> Res<()> {
        let mut groups: Vec<((usize, usize), Vec<Packet>)> = Vec::new();
        for lane in lanes_of(Coop::of(op).lanes(warp, mask)) {
            let Some(queue) = queue_in(warp, op, queue_of(op.op), lane, span)? else { continue };
            let Some((peer, packet)) = self.copy(cta, warp, op, [0, 1, 2, 3], lane, span)? else { continue };
            match groups.iter_mut().find(|(key, _)| *key == (peer, queue)) {
                Some((_, packets)) => packets.push(packet),
                None => groups.push(((peer, queue), vec![packet])),
            }
        }
        self.check_mode(op, groups.len(), span)?;
        for ((peer, queue), copies) in groups {
            let signals = signals(op, cta.rank, &[peer], queue);
            let packets = if op.op.attr_bool("signal_per_copy") {
                copies.into_iter().flat_map(|c| std::iter::once(c).chain(signals.iter().copied())).collect()
            } else {
                copies.into_iter().chain(signals).collect()
            };
            self.enqueue((cta.rank, peer, queue), packets, op.op.attr_bool("aggregate"), span)?;
        }
        Ok(())
    }

    /// A lane's copy, with the peer of its queue: the operands are destination, source, peer and bytes. `None`: zero bytes,
    /// which post nothing.
    fn copy(
        &self,
        cta: &Cta,
        warp: &Warp<'r, 'k>,
        op: &RPrim<'k>,
        operands: [usize; 4],
        lane: u32,
        span: Span,
    ) -> Res<Option<(usize, Packet)>> {
        let peer = self.rank(warp.eval(expr_arg(op, operands[2], span)?, lane) as i64, span)?;
        let bytes = size(warp, op, operands[3], lane, span)?;
        if bytes == 0 {
            return Ok(None);
        }
        let dst = self.address(cta, warp, place_arg(op, operands[0], span)?, lane, bytes, span)?;
        let src = self.address(cta, warp, place_arg(op, operands[1], span)?, lane, bytes, span)?;
        let (here, there) = if op.op.op == "sdma.get" { (dst, src) } else { (src, dst) };
        // A pointer may be to any memory that this rank or the peer has, from either to either; one side is this rank's.
        let known = |rank: usize| rank == cta.rank || rank == peer;
        let mapped = op.op.op.as_str().ends_with("put_ptr")
            && known(here.rank)
            && known(there.rank)
            && (here.rank == cta.rank || there.rank == cta.rank);
        if !mapped && (here.rank != cta.rank || there.rank != peer) {
            let message = format!(
                "queue of rank {} towards rank {peer} is asked to copy between ranks {} and {}",
                cta.rank, here.rank, there.rank
            );
            return fault(Code::INTERNAL, span, message);
        }
        Ok(Some((peer, Packet::Copy { dst, src, bytes, span })))
    }

    /// `sdma.put_broadcast`: a packet for each lane.
    fn broadcast(&mut self, cta: &Cta, warp: &Warp<'r, 'k>, op: &RPrim<'k>, mask: u64, span: Span) -> Res<()> {
        for lane in lanes_of(Coop::of(op).lanes(warp, mask)) {
            let Some(queue) = queue_in(warp, op, queue_of(op.op), lane, span)? else { continue };
            let rank = |n| self.rank(warp.eval(expr_arg(op, n, span)?, lane) as i64, span);
            let peers = [rank(3)?, rank(4)?];
            let bytes = size(warp, op, 5, lane, span)?;
            if bytes == 0 {
                continue;
            }
            let address = |n| self.address(cta, warp, place_arg(op, n, span)?, lane, bytes, span);
            let (dst, src) = ([address(0)?, address(1)?], address(2)?);
            if src.rank != cta.rank || dst[0].rank != peers[0] || dst[1].rank != peers[1] {
                let message = format!(
                    "a broadcast of rank {} to ranks {} and {} is asked to copy from rank {} to ranks {} and {}",
                    cta.rank, peers[0], peers[1], src.rank, dst[0].rank, dst[1].rank
                );
                return fault(Code::INTERNAL, span, message);
            }
            // Windows begin at multiples of 2 MiB.
            if (dst[0].byte ^ dst[1].byte) % CONGRUENT != 0 {
                let message = format!(
                    "the destinations of a broadcast, bytes {} and {}, differ in their low five bits",
                    dst[0].byte, dst[1].byte
                );
                return fault(Code::OP_OPERANDS, span, message);
            }
            let mut packets = vec![Packet::Broadcast { dst, src, bytes, span }];
            packets.extend(signals(op, cta.rank, &broadcast_ranks(cta.rank, peers), queue));
            self.enqueue((cta.rank, peers[0], queue), packets, op.op.attr_bool("aggregate"), span)?;
        }
        Ok(())
    }

    /// `sdma.post_wait_mem`, `sdma.post_wait_signal` and `sdma.post_wait_mem_put_ptr`: each lane for itself.
    fn post_wait(&mut self, cta: &Cta, warp: &Warp<'r, 'k>, op: &RPrim<'k>, mask: u64, span: Span) -> Res<()> {
        let (fused, signal) = (op.op.op == "sdma.post_wait_mem_put_ptr", op.op.op == "sdma.post_wait_signal");
        for lane in lanes_of(Coop::of(op).lanes(warp, mask)) {
            let Some(queue) = queue_in(warp, op, queue_of(op.op), lane, span)? else { continue };
            let peer = expr_arg(op, if fused { 4 } else { 2 }, span)?;
            let peer = self.rank(warp.eval(peer, lane) as i64, span)?;
            let word = match signal {
                true => self.signal_word(cta, warp, op, lane, span)?,
                false => Some(self.flag_word(cta, warp, op, lane, span)?),
            };
            let Some(word) = word else { continue };
            let value = warp.eval(expr_arg(op, 1, span)?, lane) as u32;
            let mask = op.op.attr_int("mask").map_or(u32::MAX, |mask| mask as u32);
            let compare = if signal {
                Compare::Ge
            } else {
                op.op.attr_sym("cmp").and_then(Compare::parse).unwrap_or(Compare::Eq)
            };
            let mut packets = vec![Packet::Wait(Poll { word, compare, mask, value, span })];
            if fused {
                packets.extend(self.copy(cta, warp, op, [2, 3, 4, 5], lane, span)?.map(|(_, copy)| copy));
                packets.extend(signals(op, cta.rank, &[peer], queue));
                if packets.len() == 1 {
                    continue; // no bytes and no signal
                }
            }
            self.enqueue((cta.rank, peer, queue), packets, op.op.attr_bool("aggregate"), span)?;
        }
        Ok(())
    }

    /// The slot that `sdma.post_wait_signal` waits for.
    fn signal_word(&self, cta: &Cta, warp: &Warp<'r, 'k>, op: &RPrim<'k>, lane: u32, span: Span) -> Res<Option<Word>> {
        let source = self.rank(warp.eval(expr_arg(op, 0, span)?, lane) as i64, span)?;
        let queue = queue_in(warp, op, signal_queue_of(op.op), lane, span)?;
        Ok(queue.map(|queue| Word::Signal { at: cta.rank, source, queue }))
    }

    /// The element that an engine polls.
    fn flag_word(&self, cta: &Cta, warp: &Warp<'r, 'k>, op: &RPrim<'k>, lane: u32, span: Span) -> Res<Word> {
        let at = self.address(cta, warp, place_arg(op, 0, span)?, lane, FLAG_BYTES, span)?;
        match at.rank == cta.rank {
            true => Ok(Word::Memory(at)),
            false => fault(Code::OP_OPERANDS, span, format!("a wait for memory of rank {}", at.rank)),
        }
    }

    fn commit(&mut self, cta: &Cta, warp: &Warp<'r, 'k>, op: &RPrim<'k>, mask: u64, span: Span) -> Res<()> {
        let all = op.op.op == "sdma.commit_all";
        let first = if Coop::of(op) == Coop::Block { warp.first } else { 0 };
        for lane in lanes_of(if all { mask } else { Coop::of(op).lanes(warp, mask) }) {
            let queue = match all {
                true => Some((first + lane) as usize).filter(|queue| *queue < QUEUES),
                false => queue_in(warp, op, queue_of(op.op), lane, span)?,
            };
            let Some(queue) = queue else { continue };
            let peer = self.rank(warp.eval(expr_arg(op, 0, span)?, lane) as i64, span)?;
            self.engines.commit(cta.rank, peer, queue);
        }
        Ok(())
    }

    fn post_signal(&mut self, cta: &Cta, warp: &Warp<'r, 'k>, op: &RPrim<'k>, mask: u64, span: Span) -> Res<()> {
        let mut groups: Vec<(usize, usize)> = Vec::new();
        for lane in lanes_of(Coop::of(op).lanes(warp, mask)) {
            let Some(queue) = queue_in(warp, op, queue_of(op.op), lane, span)? else { continue };
            let peer = self.rank(warp.eval(expr_arg(op, 0, span)?, lane) as i64, span)?;
            if !groups.contains(&(peer, queue)) {
                groups.push((peer, queue));
            }
        }
        self.check_mode(op, groups.len(), span)?;
        for (peer, queue) in groups {
            let packet = Packet::Signal { at: peer, source: cta.rank, queue };
            self.enqueue((cta.rank, peer, queue), vec![packet], false, span)?;
        }
        Ok(())
    }

    /// The promise of `mode = same_queue`: all lanes of the wave have one peer.
    fn check_mode(&self, op: &RPrim<'_>, groups: usize, span: Span) -> Res<()> {
        if op.op.attr_sym("mode") == Some("same_queue") && groups > 1 {
            let message = format!("`same_queue` is promised, but lanes of one wave have {groups} queues");
            return fault(Code::OP_OPERANDS, span, message);
        }
        Ok(())
    }

    fn enqueue(&mut self, key: (usize, usize, usize), packets: Vec<Packet>, aggregate: bool, span: Span) -> Res<()> {
        let (rank, peer, queue) = key;
        self.engines.post(key, packets, aggregate, span).or_else(|why| {
            let message = format!("{why} (queue {queue} of rank {rank} towards rank {peer})");
            fault(Code::DEADLOCK, span, message)
        })
    }

    /// Start of a range that an engine copies, checked to lie inside the window.
    fn address(
        &self,
        cta: &Cta,
        warp: &Warp<'_, '_>,
        place: &RPlace,
        lane: u32,
        bytes: usize,
        span: Span,
    ) -> Res<Address> {
        let b = &self.k.buffers[place.buf];
        // The bytes are counted apart, so only the first element is located here.
        let at = self.locate(cta, warp, place, self.points(cta, warp, place, 1 << lane, span)?.of(lane), 1, span)?;
        let Mem::Device(rank, buf) = at.mem else {
            return fault(Code::OP_OPERANDS, span, format!("`{}` is no memory that an engine reaches", b.name));
        };
        let bit = at.element * i64::from(b.dtype.bits());
        if bit % 8 != 0 {
            return fault(Code::OP_OPERANDS, span, format!("copy starts inside a byte of `{}`", b.name));
        }
        let address = Address { rank, buf, byte: (bit / 8) as usize };
        if self.holds(address, bytes) { Ok(address) } else { Err(self.beyond(address, bytes, span)) }
    }
}

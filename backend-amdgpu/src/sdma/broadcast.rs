//! One copy packet with two destinations.
//!
//! Must hold: the packet takes two ring units, so three are reserved: if the first of them is the last of the ring, it is
//! padded and the packet begins behind it, otherwise the third is padded; the packet never lies across the ring's end.

use inkwell::IntPredicate;
use inkwell::values::PointerValue;
use tilewright_target::sdma::Misuse;

use super::body::{Body, How, Signals};
use super::{Int, PostOptions, QueueNo, Result, Sdma};

/// A copy to two destinations.
#[derive(Debug, Clone, Copy)]
pub struct Broadcast<'ctx> {
    /// Ranks on this node of the destinations, 32-bit; the first selects the queue.
    pub peers: [Int<'ctx>; 2],
    /// Queue towards the first.
    pub queue: QueueNo<'ctx>,
    /// Addresses written, 64-bit; their low five bits are equal.
    pub dst: [Int<'ctx>; 2],
    /// Address read, 64-bit.
    pub src: Int<'ctx>,
    /// Size in bytes, 64-bit.
    pub bytes: Int<'ctx>,
}

impl<'ctx> Sdma<'_, 'ctx> {
    /// Posts a copy to two destinations, mori's putBroadcast. With thread scope each active lane posts, one after the other.
    /// Of the options, mode and signal_per_copy are not looked at.
    pub fn post_broadcast(&self, post: &Broadcast<'ctx>, options: &PostOptions) -> Result<()> {
        let g = &self.g;
        let some = match options.never_empty {
            true => None,
            false => Some(g.cmp(IntPredicate::NE, post.bytes, g.i64(0), "some")?),
        };
        self.check_empty(options, post.queue, post.bytes)?;
        let chunked = self.is_chunked(options.max_bytes);
        self.if_all(&[self.acts(options.coop)?, post.queue.exists, some], "broadcast", || {
            self.forbid(Misuse::BroadcastMisaligned, || {
                let apart = g.builder.build_xor(post.dst[0], post.dst[1], "")?;
                let low = g.and(apart, g.i64(self.facts.broadcast_congruence_mask), "low")?;
                g.cmp(IntPredicate::NE, low, g.i64(0), "shifted")
            })?;
            self.for_each_lane(options.coop, || {
                let [first, second] = post.dst;
                if !chunked {
                    return self.post_one_broadcast(post, [first, second, post.src], post.bytes, None, options);
                }
                self.in_pieces([first, second, post.src], post.bytes, |at, bytes, last| {
                    self.post_one_broadcast(post, at, bytes, Some(last), options)
                })
            })
        })
    }

    /// One packet of the only active lane: first and second destination, source.
    fn post_one_broadcast(
        &self,
        post: &Broadcast<'ctx>,
        at: [Int<'ctx>; 3],
        bytes: Int<'ctx>,
        last: Option<Int<'ctx>>,
        options: &PostOptions,
    ) -> Result<()> {
        let (peer, number) = self.uniform_queue(post.peers[0], post.queue)?;
        let second = self.first_lane(post.peers[1], "peer2.u")?;
        let signals = self.broadcast_signals([peer, second], number, last, options)?;
        let write = |ring, position| self.write_broadcast(ring, position, at, bytes);
        let body = Body { bytes: self.g.i32(3 * self.facts.unit_bytes as u32), write: &write };
        let how = How { aggregate: options.aggregate, per_lane: false };
        self.post_group(&self.queue(peer, number)?, &self.one_lane(), Some(body), &signals, how)
    }

    /// Our own slot once, and our slot at each distinct destination rank other than this one.
    fn broadcast_signals(
        &self,
        [first, second]: [Int<'ctx>; 2],
        queue: Int<'ctx>,
        last: Option<Int<'ctx>>,
        options: &PostOptions,
    ) -> Result<Signals<'ctx>> {
        let g = &self.g;
        let mut slots = Vec::new();
        if options.local_signal {
            slots.push((self.local_slot(self.lsa_rank()?, queue)?, None));
        }
        if options.remote_signal {
            let me = self.lsa_rank()?;
            let differ = |a, b, name| g.cmp(IntPredicate::NE, a, b, name);
            slots.push((self.remote_slot(first, queue)?, Some(differ(first, me, "first.away")?)));
            let away =
                g.and(differ(second, me, "second.away")?, differ(second, first, "second.other")?, "second.new")?;
            slots.push((self.remote_slot(second, queue)?, Some(away)));
        }
        let when = if slots.is_empty() { None } else { last };
        Ok(Signals { slots, when })
    }

    /// Writes the packet and the padding into three units from `position` on.
    fn write_broadcast(
        &self,
        ring: PointerValue<'ctx>,
        position: Int<'ctx>,
        at: [Int<'ctx>; 3],
        bytes: Int<'ctx>,
    ) -> Result<()> {
        let g = &self.g;
        let unit = self.facts.unit_bytes;
        let offset = g.and(position, g.i64(self.facts.ring_bytes - 1), "ring.offset")?;
        let ends = g.cmp(IntPredicate::EQ, offset, g.i64(self.facts.ring_bytes - unit), "ends")?;
        let skip = |yes: u64, no: u64| -> Result<Int<'ctx>> {
            let bytes = g.select(ends, g.i64(yes), g.i64(no), "skip")?.into_int_value();
            g.add(position, bytes, "position")
        };
        let [head, tail] = self.broadcast_dwords(at, bytes)?;
        let start = skip(unit, 0)?;
        self.write_unit(ring, start, head)?;
        self.write_unit(ring, g.add(start, g.i64(unit), "position.tail")?, tail)?;
        self.write_unit(ring, skip(0, 2 * unit)?, self.padding_dwords())
    }
}

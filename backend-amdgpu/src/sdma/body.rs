//! What a group of lanes posts in one reservation: each lane's packets side by side, then the group's signals.
//!
//! Must hold: everything that decides how many bytes a group takes is the same for all its lanes; a group reserves once and
//! publishes once.

use inkwell::values::PointerValue;
use tilewright_target::mori_abi::sdma_queue_device_handle as handle;

use super::lanes::Group;
use super::queue::Queue;
use super::{Int, PostOptions, Result, Sdma};

/// A signal: the address of the slot to add one to, and whether it is raised at all (`None`: yes).
pub(crate) type Slot<'ctx> = (Int<'ctx>, Option<Int<'ctx>>);

/// Signals of a group, or of each lane.
pub(crate) struct Signals<'ctx> {
    /// In the order in which they are posted: local before remote.
    pub(crate) slots: Vec<Slot<'ctx>>,
    /// Posted at all? `None`: yes. The same for all lanes of the group.
    pub(crate) when: Option<Int<'ctx>>,
}

impl Signals<'_> {
    /// No signals.
    pub(crate) const NONE: Self = Signals { slots: Vec::new(), when: None };
}

/// A lane's packets, without its signals.
#[derive(Clone, Copy)]
pub(crate) struct Body<'b, 'ctx> {
    /// Ring bytes that they take (32-bit), whole units.
    pub(crate) bytes: Int<'ctx>,
    /// Writes them into a ring, from a position (64-bit) on.
    pub(crate) write: &'b dyn Fn(PointerValue<'ctx>, Int<'ctx>) -> Result<()>,
}

/// How a group is posted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    /// Without publishing.
    pub(crate) aggregate: bool,
    /// Each lane's signals behind its packets, instead of the group's behind all.
    pub(crate) per_lane: bool,
}

impl How {
    pub(crate) const fn of(options: &PostOptions) -> How {
        How { aggregate: options.aggregate, per_lane: options.signal_per_copy }
    }
}

/// Where the packets of a group lie in what it reserves; all 32-bit byte counts but `total`.
#[derive(Clone, Copy)]
pub(crate) struct Packets<'ctx> {
    /// From one lane's packets to the next.
    stride: Int<'ctx>,
    /// All lanes' packets.
    lanes: Int<'ctx>,
    /// Everything, the group's signals included; 64-bit.
    pub(crate) total: Int<'ctx>,
}

impl<'ctx> Sdma<'_, 'ctx> {
    /// Reserves, writes and (unless aggregating) publishes one group's packets.
    pub(crate) fn post_group(
        &self,
        queue: &Queue<'ctx>,
        group: &Group<'ctx>,
        body: Option<Body<'_, 'ctx>>,
        signals: &Signals<'ctx>,
        how: How,
    ) -> Result<()> {
        let g = &self.g;
        let packets = self.packets(group, body, signals, how)?;
        let base = self.reserve(queue, group, packets.total)?;
        let ring = self.queue_ptr(queue, handle::QUEUE_BUF, "ring")?;
        self.write_packets(ring, base, group, &packets, body, signals, how)?;
        self.stores_done()?;
        if how.aggregate {
            return Ok(());
        }
        let end = g.add(base, packets.total, "end")?;
        self.await_turn(queue, base)?;
        match group.leads {
            Some(leads) => g.if_then(leads, "publish", || self.ring(queue, end)),
            None => self.ring(queue, end),
        }
    }

    /// How the packets of a group lie. Per lane: every lane's stride holds its signals. Otherwise the lanes' packets lie side
    /// by side, with the signals behind them.
    pub(crate) fn packets(
        &self,
        group: &Group<'ctx>,
        body: Option<Body<'_, 'ctx>>,
        signals: &Signals<'ctx>,
        how: How,
    ) -> Result<Packets<'ctx>> {
        let g = &self.g;
        let mut signal_bytes = g.i32(0);
        for (_, raised) in &signals.slots {
            signal_bytes = g.add(signal_bytes, self.unit_if(*raised)?, "signal_bytes")?;
        }
        if let Some(when) = signals.when {
            signal_bytes = g.select(when, signal_bytes, g.i32(0), "signal_bytes")?.into_int_value();
        }
        let body_bytes = body.map_or(g.i32(0), |body| body.bytes);
        let (stride, tail) = match how.per_lane && body.is_some() {
            true => (g.add(body_bytes, signal_bytes, "stride")?, g.i32(0)),
            false => (body_bytes, signal_bytes),
        };
        let lanes = g.mul(group.count, stride, "lanes.bytes")?;
        let total = g.zext64(g.add(lanes, tail, "total")?, "total.wide")?;
        Ok(Packets { stride, lanes, total })
    }

    /// Ring bytes of one unit if it is there.
    fn unit_if(&self, there: Option<Int<'ctx>>) -> Result<Int<'ctx>> {
        let g = &self.g;
        let unit = g.i32(self.facts.unit_bytes as u32);
        match there {
            None => Ok(unit),
            Some(there) => Ok(g.select(there, unit, g.i32(0), "unit")?.into_int_value()),
        }
    }

    /// Writes this lane's packets, and the first lane of the group its signals, from `base` on.
    #[expect(clippy::too_many_arguments, reason = "all of them vary, and both ways of posting write the same")]
    pub(crate) fn write_packets(
        &self,
        ring: PointerValue<'ctx>,
        base: Int<'ctx>,
        group: &Group<'ctx>,
        packets: &Packets<'ctx>,
        body: Option<Body<'_, 'ctx>>,
        signals: &Signals<'ctx>,
        how: How,
    ) -> Result<()> {
        let g = &self.g;
        let own = g.zext64(g.mul(group.index, packets.stride, "own")?, "")?;
        let mut at = g.add(base, own, "position")?;
        if let Some(body) = body {
            (body.write)(ring, at)?;
        }
        if signals.slots.is_empty() {
            return Ok(());
        }
        let per_lane = how.per_lane && body.is_some();
        let leads = if per_lane { None } else { group.leads };
        at = match body.filter(|_| per_lane) {
            Some(body) => g.add(at, g.zext64(body.bytes, "")?, "signal.position")?,
            None => g.add(base, g.zext64(packets.lanes, "")?, "signal.position")?,
        };
        let write = || self.write_signals(ring, at, &signals.slots);
        match (leads, signals.when) {
            (Some(leads), Some(when)) => g.if_then(g.and(leads, when, "signals")?, "signals", write),
            (Some(one), None) | (None, Some(one)) => g.if_then(one, "signals", write),
            (None, None) => write(),
        }
    }

    fn write_signals(&self, ring: PointerValue<'ctx>, mut at: Int<'ctx>, slots: &[Slot<'ctx>]) -> Result<()> {
        let g = &self.g;
        for (slot, raised) in slots {
            let write = || self.write_unit(ring, at, self.atomic_dwords(*slot)?);
            match raised {
                None => write()?,
                Some(raised) => g.if_then(*raised, "signal", write)?,
            }
            at = g.add(at, g.zext64(self.unit_if(*raised)?, "")?, "signal.next")?;
        }
        Ok(())
    }
}

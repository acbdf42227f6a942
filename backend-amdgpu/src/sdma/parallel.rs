//! Posting to several queues at once: lanes are grouped by queue at run time, and the groups go side by side.
//!
//! Each group is posted as if alone: its first lane reserves, all write, its first lane publishes. Must hold: no group
//! waits for another. The wave runs one loop in which each group does what it can (see that there is room, write, take its
//! turn) until all are done; were room waited for first and turns afterwards, two waves with two queues could each hold
//! what the other waits for. What the first lane of a group sees decides for the whole group. All lanes stay in the loop
//! until none is left, see [`Sdma::for_each_group`].

use inkwell::IntPredicate;
use tilewright_backend_llvm::{Ordering, Scope};
use tilewright_target::mori_abi::sdma_queue_device_handle as handle;

use super::body::{Body, How, Signals};
use super::lanes::Group;
use super::queue::Queue;
use super::{Int, Result, Sdma};

impl<'ctx> Sdma<'_, 'ctx> {
    /// Posts for the active lanes, grouped by `key` (32-bit), each group on its own queue.
    pub(crate) fn post_parallel(
        &self,
        queue: &Queue<'ctx>,
        key: Int<'ctx>,
        body: Option<Body<'_, 'ctx>>,
        signals: &Signals<'ctx>,
        how: How,
    ) -> Result<()> {
        let g = &self.g;
        let (group, leader) = self.grouped_by(key)?;
        let leads = group.leads.unwrap_or(g.int(1, 1));
        let packets = self.packets(&group, body, signals, how)?;
        let cached = self.queue_ptr(queue, handle::CACHED_WPTR, "cached_wptr")?;
        let base = g.if_value(leads, "reserve", || {
            g.atomic_add(cached, packets.total, Ordering::Monotonic, Scope::AGENT, "reserved")
        })?;
        let base = self.of_lane(base, leader, "base")?;
        let end = g.add(base, packets.total, "end")?;
        let hint_at = self.read_index(queue)?;
        let hint = self.load_agent(hint_at, "hint")?;
        let full = self.is_short(end, hint)?;
        let full = self.flag_of(full, leader, "full.first")?;

        let before = g.here()?;
        let [head, sleep, done] = g.blocks(["groups", "groups.sleep", "groups.end"])?;
        g.br(head)?;
        g.at(head);
        let bool_ty = g.context.bool_type();
        let (yes, no) = (g.int(1, 1), g.int(1, 0));
        let full_phi = g.phi(bool_ty, &[(&full, before)], "full")?;
        let unwritten_phi = g.phi(bool_ty, &[(&yes, before)], "unwritten")?;
        let open_phi = g.phi(bool_ty, &[(&yes, before)], "open")?;
        let [full, unwritten, open] =
            [full_phi, unwritten_phi, open_phi].map(|phi| phi.as_basic_value().into_int_value());

        // Room: the first lane looks again where there was none.
        let looks = g.and(full, leads, "looks")?;
        let still = self.flag_if(looks, full, "refresh", || {
            let read = self.load_system(self.queue_ptr(queue, handle::RPTR, "rptr")?, "read")?;
            let short = self.is_short(end, read)?;
            g.if_then(g.builder.build_not(short, "room")?, "refresh.room", || self.store_agent(read, hint_at))?;
            Ok(short)
        })?;
        let full = self.flag_of(still, leader, "full.now")?;
        let writes = g.and(unwritten, g.builder.build_not(full, "")?, "writes")?;
        g.if_then(writes, "write", || {
            let ring = self.queue_ptr(queue, handle::QUEUE_BUF, "ring")?;
            self.write_packets(ring, base, &group, &packets, body, signals, how)
        })?;
        let unwritten = g.and(unwritten, full, "unwritten.now")?;
        self.stores_done()?;

        // Turn: only the first lane of a group publishes; the others are done when they have written.
        let published = if how.aggregate {
            g.builder.build_not(unwritten, "posted")?
        } else {
            let written = g.builder.build_not(unwritten, "written")?;
            let asks = g.and(g.and(open, leads, "")?, written, "asks")?;
            let rung = self.flag_if(asks, no, "turn", || self.try_publish(queue, base, end))?;
            let follows = g.and(g.builder.build_not(leads, "")?, written, "follows")?;
            g.or(rung, follows, "posted")?
        };
        let open = g.and(open, g.builder.build_not(published, "")?, "open.now")?;
        let rest = self.ballot(open, "rest")?;
        let more = g.cmp(IntPredicate::NE, rest, rest.get_type().const_zero(), "more")?;
        g.cond_br(more, sleep, done)?;
        g.at(sleep);
        self.sleep(1)?;
        for (phi, value) in [(full_phi, full), (unwritten_phi, unwritten), (open_phi, open)] {
            phi.add_incoming(&[(&value, sleep)]);
        }
        g.br(head)?;
        g.at(done);
        Ok(())
    }

    /// The lanes with this lane's key among the active ones, and the number of their first lane (32-bit).
    fn grouped_by(&self, key: Int<'ctx>) -> Result<(Group<'ctx>, Int<'ctx>)> {
        let g = &self.g;
        let before = g.here()?;
        let all = self.ballot(g.int(1, 1), "pending.all")?;
        let mask_ty = all.get_type();
        let [head, done] = g.blocks(["keys", "keys.end"])?;
        g.br(head)?;
        g.at(head);
        let pending_phi = g.phi(mask_ty, &[(&all, before)], "pending")?;
        let mask_phi = g.phi(mask_ty, &[(&mask_ty.const_zero(), before)], "group.so_far")?;
        let pending = pending_phi.as_basic_value().into_int_value();
        let first = self.lane_value(key, pending, "key.first")?;
        let same = g.cmp(IntPredicate::EQ, key, first, "same")?;
        let members = self.ballot(same, "members")?;
        let mask = g.select(same, members, mask_phi.as_basic_value().into_int_value(), "group")?.into_int_value();
        let rest = g.and(pending, g.builder.build_not(members, "")?, "pending.rest")?;
        pending_phi.add_incoming(&[(&rest, head)]);
        mask_phi.add_incoming(&[(&mask, head)]);
        let more = g.cmp(IntPredicate::NE, rest, mask_ty.const_zero(), "keys.more")?;
        g.cond_br(more, head, done)?;
        g.at(done);
        let lowest = g.int_intrinsic("llvm.cttz", &[mask_ty.into()], &[mask.into(), g.int(1, 1).into()], "leader")?;
        Ok((self.group_of(mask)?, g.trunc32(lowest, "leader.lane")?))
    }

    /// A condition evaluated where `asks` holds, and `otherwise` elsewhere.
    fn flag_if(
        &self,
        asks: Int<'ctx>,
        otherwise: Int<'ctx>,
        name: &str,
        body: impl FnOnce() -> Result<Int<'ctx>>,
    ) -> Result<Int<'ctx>> {
        let g = &self.g;
        let from = g.here()?;
        let [then, done] = g.blocks([name, &format!("{name}.end")])?;
        g.cond_br(asks, then, done)?;
        g.at(then);
        let value = body()?;
        let last = g.here()?;
        g.br(done)?;
        g.at(done);
        let phi = g.phi(g.context.bool_type(), &[(&value, last), (&otherwise, from)], &format!("{name}.value"))?;
        Ok(phi.as_basic_value().into_int_value())
    }
}

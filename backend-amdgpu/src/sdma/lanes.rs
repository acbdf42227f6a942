//! Lanes of a wave: who is active, who leads, and values that are the same for all.
//!
//! Must hold: all of these see the lanes that are active where they stand, so their results are only meaningful inside
//! the block they were made in (or blocks with the same active lanes).

use super::{Coop, Int, Result, Sdma};

/// The lanes that post together.
#[derive(Clone, Copy)]
pub(crate) struct Group<'ctx> {
    /// Number of lanes (32-bit, uniform).
    pub(crate) count: Int<'ctx>,
    /// Number of group lanes below this one (32-bit).
    pub(crate) index: Int<'ctx>,
    /// Is this the group's first lane? `None`: there is only one lane, so yes.
    pub(crate) leads: Option<Int<'ctx>>,
}

impl<'ctx> Sdma<'_, 'ctx> {
    /// The value of the first active lane, as a uniform value. Constants stay constants.
    pub(crate) fn first_lane(&self, value: Int<'ctx>, name: &str) -> Result<Int<'ctx>> {
        if value.is_const() {
            return Ok(value);
        }
        self.g.int_intrinsic("llvm.amdgcn.readfirstlane", &[value.get_type().into()], &[value.into()], name)
    }

    /// This lane's number in its wave.
    pub(crate) fn lane_id(&self) -> Result<Int<'ctx>> {
        let all = self.g.i32(u32::MAX);
        self.lanes_below(all, all, "lane")
    }

    fn lanes_below(&self, low: Int<'ctx>, high: Int<'ctx>, name: &str) -> Result<Int<'ctx>> {
        let none = self.g.i32(0);
        let below = self.g.int_intrinsic("llvm.amdgcn.mbcnt.lo", &[], &[low.into(), none.into()], name)?;
        if self.wave == 32 {
            return Ok(below);
        }
        self.g.int_intrinsic("llvm.amdgcn.mbcnt.hi", &[], &[high.into(), below.into()], name)
    }

    /// The active lanes for which `condition` holds, as a mask of the wave's width; uniform.
    pub(crate) fn ballot(&self, condition: Int<'ctx>, name: &str) -> Result<Int<'ctx>> {
        let mask_ty = self.g.int(self.wave, 0).get_type();
        self.g.int_intrinsic("llvm.amdgcn.ballot", &[mask_ty.into()], &[condition.into()], name)
    }

    /// The value of the lowest lane in a mask that is not empty (32-bit); uniform.
    pub(crate) fn lane_value(&self, value: Int<'ctx>, mask: Int<'ctx>, name: &str) -> Result<Int<'ctx>> {
        let g = &self.g;
        let ty = mask.get_type();
        let lowest = g.int_intrinsic("llvm.cttz", &[ty.into()], &[mask.into(), g.int(1, 1).into()], "lowest")?;
        let lane = g.trunc32(lowest, "lowest.lane")?;
        g.int_intrinsic("llvm.amdgcn.readlane", &[value.get_type().into()], &[value.into(), lane.into()], name)
    }

    /// The value of another active lane (32-bit number).
    pub(crate) fn of_lane(&self, value: Int<'ctx>, lane: Int<'ctx>, name: &str) -> Result<Int<'ctx>> {
        let g = &self.g;
        if value.get_type().get_bit_width() == 64 {
            let high = g.trunc32(g.lshr(value, 32, "")?, "")?;
            let low = self.of_lane(g.trunc32(value, "")?, lane, &format!("{name}.lo"))?;
            let high = self.of_lane(high, lane, &format!("{name}.hi"))?;
            return g.or(g.shl(g.zext64(high, "")?, 32, "")?, g.zext64(low, "")?, name);
        }
        let byte = g.shl(lane, 2, "lane.byte")?;
        g.int_intrinsic("llvm.amdgcn.ds.bpermute", &[], &[byte.into(), value.into()], name)
    }

    /// A condition of another active lane.
    pub(crate) fn flag_of(&self, flag: Int<'ctx>, lane: Int<'ctx>, name: &str) -> Result<Int<'ctx>> {
        let g = &self.g;
        let wide = g.builder.build_int_z_extend(flag, g.context.i32_type(), "")?;
        let there = self.of_lane(wide, lane, "")?;
        g.cmp(inkwell::IntPredicate::NE, there, g.i32(0), name)
    }

    /// All lanes that are active here.
    pub(crate) fn active_group(&self) -> Result<Group<'ctx>> {
        self.group_of(self.ballot(self.g.int(1, 1), "active")?)
    }

    /// The group of the lanes in a mask, which holds this lane.
    pub(crate) fn group_of(&self, mask: Int<'ctx>) -> Result<Group<'ctx>> {
        let g = &self.g;
        let count = g.int_intrinsic("llvm.ctpop", &[mask.get_type().into()], &[mask.into()], "active.count")?;
        let count = g.trunc32(count, "lanes")?;
        let low = g.trunc32(mask, "active.lo")?;
        let high = match self.wave {
            32 => g.i32(0),
            _ => g.trunc32(g.lshr(mask, 32, "")?, "active.hi")?,
        };
        let index = self.lanes_below(low, high, "index")?;
        let leads = g.cmp(inkwell::IntPredicate::EQ, index, g.i32(0), "leads")?;
        Ok(Group { count, index, leads: Some(leads) })
    }

    /// The group of a single lane.
    pub(crate) fn one_lane(&self) -> Group<'ctx> {
        Group { count: self.g.i32(1), index: self.g.i32(0), leads: None }
    }

    /// Runs `body` once for each distinct key (32-bit) among the active lanes, with exactly the lanes of that key active.
    ///
    /// All lanes stay in the loop until none is left: were each to leave it after its turn, LLVM could move the body behind
    /// the loop, where the lanes of all keys meet again.
    pub(crate) fn for_each_group(&self, key: Int<'ctx>, body: impl FnOnce() -> Result<()>) -> Result<()> {
        let g = &self.g;
        let before = g.here()?;
        let all = self.ballot(g.int(1, 1), "pending.all")?;
        let [head, done] = g.blocks(["peers", "peers.end"])?;
        g.br(head)?;
        g.at(head);
        let phi = g.phi(all.get_type(), &[(&all, before)], "pending")?;
        let pending = phi.as_basic_value().into_int_value();
        let first = self.lane_value(key, pending, "key.first")?;
        let mine = g.cmp(inkwell::IntPredicate::EQ, key, first, "key.mine")?;
        let served = self.ballot(mine, "served")?;
        let rest = g.and(pending, g.builder.build_not(served, "")?, "pending.rest")?;
        g.if_then(mine, "peers.group", body)?;
        phi.add_incoming(&[(&rest, g.here()?)]);
        let more = g.cmp(inkwell::IntPredicate::NE, rest, rest.get_type().const_zero(), "peers.more")?;
        g.cond_br(more, head, done)?;
        g.at(done);
        Ok(())
    }

    /// Runs `body` for each active lane alone, in order; with warp and block scope one lane is active already.
    pub(crate) fn for_each_lane(&self, coop: Coop, body: impl FnOnce() -> Result<()>) -> Result<()> {
        match coop {
            Coop::Thread => self.for_each_group(self.lane_id()?, body),
            Coop::Warp | Coop::Block => body(),
        }
    }

    /// Is this the thread that acts for its coop scope? `None` for [`Coop::Thread`]: every thread does.
    pub(crate) fn acts(&self, coop: Coop) -> Result<Option<Int<'ctx>>> {
        let number = match coop {
            Coop::Thread => return Ok(None),
            Coop::Warp => self.lane_id()?,
            Coop::Block => self.thread_number()?,
        };
        Ok(Some(self.g.cmp(inkwell::IntPredicate::EQ, number, self.g.i32(0), "acts")?))
    }

    /// Zero for the first thread of the workgroup and for no other.
    pub(crate) fn thread_number(&self) -> Result<Int<'ctx>> {
        let x = self.thread_x()?;
        match self.beside_x()? {
            Some(others) => self.g.or(x, others, "tid.any"),
            None => Ok(x),
        }
    }

    /// The thread's index along x.
    pub(crate) fn thread_x(&self) -> Result<Int<'ctx>> {
        self.g.int_intrinsic("llvm.amdgcn.workitem.id.x", &[], &[], "tid.x")
    }

    /// Zero for the threads whose other indices are; `None` if all are.
    pub(crate) fn beside_x(&self) -> Result<Option<Int<'ctx>>> {
        let mut all = None;
        for (axis, known_one) in ["y", "z"].iter().zip(self.flat_block) {
            if !known_one {
                let name = format!("llvm.amdgcn.workitem.id.{axis}");
                let id = self.g.int_intrinsic(&name, &[], &[], &format!("tid.{axis}"))?;
                all = Some(match all {
                    Some(other) => self.g.or(other, id, "tid.others")?,
                    None => id,
                });
            }
        }
        Ok(all)
    }
}

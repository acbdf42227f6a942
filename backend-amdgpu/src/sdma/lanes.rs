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
    fn thread_number(&self) -> Result<Int<'ctx>> {
        let mut all = self.g.int_intrinsic("llvm.amdgcn.workitem.id.x", &[], &[], "tid.x")?;
        for (axis, known_one) in ["y", "z"].iter().zip(self.flat_block) {
            if !known_one {
                let name = format!("llvm.amdgcn.workitem.id.{axis}");
                let id = self.g.int_intrinsic(&name, &[], &[], &format!("tid.{axis}"))?;
                all = self.g.or(all, id, "tid.any")?;
            }
        }
        Ok(all)
    }
}

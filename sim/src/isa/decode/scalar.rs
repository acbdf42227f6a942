//! SOP1, SOP2, SOPC, SOPK, SOPP.
//!
//! Must hold: see [`super`].

use super::operand::{Literals, scalar_register};
use super::{Code, Why, bits, blank};
use crate::isa::inst::{Format, Inst};
use crate::isa::operand::Operand;
use crate::isa::table::{self, DST_READ, GPR_IDX, IMM, LITERAL, REGISTER_ONLY, SOP1, SOP2, SOPC, SOPK, SOPP, TIED, Ty};

static SOP2_INDEX: [u16; 96] = table::index(SOP2);
static SOPK_INDEX: [u16; 32] = table::index(SOPK);
static SOP1_INDEX: [u16; 256] = table::index(SOP1);
static SOPC_INDEX: [u16; 128] = table::index(SOPC);
static SOPP_INDEX: [u16; 128] = table::index(SOPP);

impl Code {
    pub(super) fn scalar(&mut self, w: u32) -> Result<Inst, Why> {
        match w >> 23 {
            0x17d => self.sop1(w),
            0x17e => self.sopc(w),
            0x17f => self.sopp(w),
            0x160.. => self.sopk(w),
            _ => self.sop2(w),
        }
    }

    fn scalar_sources(&mut self, inst: &mut Inst, codes: &[u32]) -> Result<(), Why> {
        for (i, &code) in codes.iter().enumerate() {
            let ty = inst.row.src[i];
            if ty != Ty::None {
                let operand = self.scalar_source(code, ty.dwords(), Literals::Allowed)?;
                inst.set_src(i, operand, ty.dwords());
            }
        }
        Ok(())
    }

    fn scalar_destination(&mut self, inst: &mut Inst, code: u32) -> Result<(), Why> {
        if inst.row.dst != Ty::None {
            let dwords = inst.row.dst.dwords();
            inst.set_dst(scalar_register(code, dwords)?, dwords);
        }
        Ok(())
    }

    fn sop2(&mut self, w: u32) -> Result<Inst, Why> {
        let mut inst = blank(self.row(SOP2, &SOP2_INDEX, bits(w, 23, 7))?, Format::Sop2);
        self.scalar_destination(&mut inst, bits(w, 16, 7))?;
        self.scalar_sources(&mut inst, &[bits(w, 0, 8), bits(w, 8, 8)])?;
        Ok(inst)
    }

    fn sop1(&mut self, w: u32) -> Result<Inst, Why> {
        let row = self.row(SOP1, &SOP1_INDEX, bits(w, 8, 8))?;
        let mut inst = blank(row, Format::Sop1);
        self.scalar_destination(&mut inst, bits(w, 16, 7))?;
        if row.has(REGISTER_ONLY) && bits(w, 0, 8) > 127 {
            return Err(Why::Operand);
        }
        self.scalar_sources(&mut inst, &[bits(w, 0, 8)])?;
        if row.has(TIED) {
            inst.set_src(1, inst.dst, inst.dst_dwords);
        }
        Ok(inst)
    }

    fn sopc(&mut self, w: u32) -> Result<Inst, Why> {
        let row = self.row(SOPC, &SOPC_INDEX, bits(w, 16, 7))?;
        let mut inst = blank(row, Format::Sopc);
        self.scalar_sources(&mut inst, &[bits(w, 0, 8), bits(w, 8, 8)])?;
        if row.has(GPR_IDX) {
            inst.set_src(1, Operand::Simm16(bits(w, 8, 8) as i16), 1);
        }
        Ok(inst)
    }

    fn sopp(&mut self, w: u32) -> Result<Inst, Why> {
        let row = self.row(SOPP, &SOPP_INDEX, bits(w, 16, 7))?;
        let mut inst = blank(row, Format::Sopp);
        if row.has(IMM) {
            inst.set_src(0, Operand::Simm16(w as i16), 1);
        } else if bits(w, 0, 16) != 0 {
            return Err(Why::Reserved);
        }
        Ok(inst)
    }

    fn sopk(&mut self, w: u32) -> Result<Inst, Why> {
        let row = self.row(SOPK, &SOPK_INDEX, bits(w, 23, 5))?;
        let mut inst = blank(row, Format::Sopk);
        self.scalar_destination(&mut inst, bits(w, 16, 7))?;
        let mut next = 0;
        if row.has(DST_READ) || row.has(TIED) {
            let dwords = row.src[0].dwords();
            inst.set_src(0, scalar_register(bits(w, 16, 7), dwords)?, dwords);
            next = 1;
        }
        if row.has(IMM) {
            inst.set_src(next, Operand::Simm16(w as i16), 1);
            next += 1;
        }
        if row.has(LITERAL) {
            let literal = self.literal()?;
            inst.set_src(next, Operand::Literal(literal), 1);
        }
        Ok(inst)
    }
}

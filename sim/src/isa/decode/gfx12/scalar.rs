//! SOP1, SOP2, SOPC, SOPK, SOPP.
//!
//! Must hold: see [`super`].

use super::operand::{LITERAL32, scalar_register};
use crate::isa::decode::{Code, Why, bits, blank};
use crate::isa::inst::{Format, Inst};
use crate::isa::op::Op;
use crate::isa::operand::Operand;
use crate::isa::print::is_delay;
use crate::isa::table::gfx12::{SOP1, SOP2, SOPC, SOPK, SOPP};
use crate::isa::table::{self, DELAY, DST_READ, IMM, LITERAL, NO_LITERAL, REGISTER_ONLY, TIED, Ty};

static SOP2_INDEX: [u16; 96] = table::index(SOP2);
static SOPK_INDEX: [u16; 32] = table::index(SOPK);
static SOP1_INDEX: [u16; 256] = table::index(SOP1);
static SOPC_INDEX: [u16; 128] = table::index(SOPC);
static SOPP_INDEX: [u16; 128] = table::index(SOPP);

impl Code {
    pub(super) fn scalar12(&mut self, w: u32) -> Result<Inst, Why> {
        match w >> 23 {
            0x17d => self.sop1_12(w),
            0x17e => self.sopc_12(w),
            0x17f => self.sopp_12(w),
            0x160.. => self.sopk_12(w),
            _ => self.sop2_12(w),
        }
    }

    fn source12(&mut self, inst: &mut Inst, i: usize, at: usize, code: u32) -> Result<(), Why> {
        let dwords = inst.row.src[i].dwords();
        if dwords > 0 {
            let operand = self.scalar_source12(code, dwords)?;
            inst.set_src(at, operand, dwords);
        }
        Ok(())
    }

    fn destination12(&mut self, inst: &mut Inst, code: u32) -> Result<(), Why> {
        let dwords = inst.row.dst.dwords();
        if dwords > 0 {
            inst.set_dst(scalar_register(code, dwords)?, dwords);
        }
        Ok(())
    }

    fn sop2_12(&mut self, w: u32) -> Result<Inst, Why> {
        let row = self.row(SOP2, &SOP2_INDEX, bits(w, 23, 7))?;
        let mut inst = blank(row, Format::Sop2);
        self.destination12(&mut inst, bits(w, 16, 7))?;
        self.source12(&mut inst, 0, 0, bits(w, 0, 8))?;
        // The literal of `s_fmamk` stands between the sources.
        let second = if row.op == Op::SFmamkF32 { 2 } else { 1 };
        self.source12(&mut inst, second, second, bits(w, 8, 8))?;
        if row.has(LITERAL) {
            let literal = self.behind()?;
            inst.set_src(3 - second, Operand::Literal(literal), 1);
        }
        if row.has(TIED) {
            inst.set_src(2, inst.dst, inst.dst_dwords);
        }
        Ok(inst)
    }

    fn sop1_12(&mut self, w: u32) -> Result<Inst, Why> {
        let row = self.row(SOP1, &SOP1_INDEX, bits(w, 8, 8))?;
        let mut inst = blank(row, Format::Sop1);
        self.destination12(&mut inst, bits(w, 16, 7))?;
        let code = bits(w, 0, 8);
        if row.has(IMM) {
            inst.set_src(0, Operand::Simm16(code as i16), 1);
            return Ok(inst);
        }
        if row.has(REGISTER_ONLY) && code > 127 {
            return Err(Why::Operand);
        }
        if row.has(NO_LITERAL) && code == LITERAL32 {
            return Err(Why::Literal);
        }
        self.source12(&mut inst, 0, 0, code)?;
        if row.has(TIED) {
            inst.set_src(1, inst.dst, inst.dst_dwords);
        }
        Ok(inst)
    }

    fn sopc_12(&mut self, w: u32) -> Result<Inst, Why> {
        let mut inst = blank(self.row(SOPC, &SOPC_INDEX, bits(w, 16, 7))?, Format::Sopc);
        self.source12(&mut inst, 0, 0, bits(w, 0, 8))?;
        self.source12(&mut inst, 1, 1, bits(w, 8, 8))?;
        Ok(inst)
    }

    fn sopp_12(&mut self, w: u32) -> Result<Inst, Why> {
        let row = self.row(SOPP, &SOPP_INDEX, bits(w, 16, 7))?;
        let mut inst = blank(row, Format::Sopp);
        if row.has(DELAY) && !is_delay(w as u16) {
            return Err(Why::Reserved);
        }
        if row.has(IMM) {
            inst.set_src(0, Operand::Simm16(w as i16), 1);
        } else if bits(w, 0, 16) != 0 {
            return Err(Why::Reserved);
        }
        Ok(inst)
    }

    fn sopk_12(&mut self, w: u32) -> Result<Inst, Why> {
        let row = self.row(SOPK, &SOPK_INDEX, bits(w, 23, 5))?;
        let mut inst = blank(row, Format::Sopk);
        self.destination12(&mut inst, bits(w, 16, 7))?;
        let mut next = 0;
        if row.has(DST_READ) || row.has(TIED) {
            let dwords = row.src[0].dwords();
            inst.set_src(0, scalar_register(bits(w, 16, 7), dwords)?, dwords);
            next = 1;
        }
        inst.set_src(next, Operand::Simm16(w as i16), 1);
        if row.has(LITERAL) {
            let literal = self.behind()?;
            inst.set_src(next + 1, Operand::Literal(literal), 1);
        }
        debug_assert!(row.src[1] == Ty::None, "one register at most");
        Ok(inst)
    }
}

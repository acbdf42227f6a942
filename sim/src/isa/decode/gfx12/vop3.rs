//! The 64-bit vector encodings with three sources.
//!
//! Must hold: see [`super`]. A literal or a dword of lanes may follow; both together may not.

use super::operand::{LITERAL32, LITERAL64, scalar_register};
use super::short::{VOP1_INDEX, VOP2_INDEX, VOPC_INDEX, says_lanes};
use crate::isa::decode::operand::vector_register;
use crate::isa::decode::vector::append_destination;
use crate::isa::decode::{Code, Why, bit, bits, blank};
use crate::isa::inst::{Format, Inst};
use crate::isa::op::Op;
use crate::isa::table::gfx12::{VOP1, VOP2, VOP3, VOP3P, VOPC};
use crate::isa::table::{self, E64, MATRIX, Row, TIED, Ty};

static VOP3_INDEX: [u16; 1024] = table::index(VOP3);
static VOP3P_INDEX: [u16; 256] = table::index(VOP3P);

impl Code {
    /// The row of a 64-bit encoding.
    fn long_row12(&self, code: u32) -> Result<&'static Row, Why> {
        let row = match code {
            0..0x100 => self.row(VOPC, &VOPC_INDEX, code)?,
            0x100..0x140 => self.row(VOP2, &VOP2_INDEX, code - 0x100)?,
            0x180..0x200 => self.row(VOP1, &VOP1_INDEX, code - 0x180)?,
            _ => return self.row(VOP3, &VOP3_INDEX, code),
        };
        if row.has(E64) { Ok(row) } else { Err(Why::Opcode) }
    }

    pub(super) fn vop3_12(&mut self, w: u32) -> Result<Inst, Why> {
        const EXEC: u32 = 126;
        let code = bits(w, 16, 10);
        let row = self.long_row12(code)?;
        let compare = code < 0x100;
        let two = row.sdst != Ty::None && !compare;
        let mut inst = blank(row, if two { Format::Vop3b } else { Format::Vop3 });
        inst.code = code as u16;
        let hi = self.second()?;
        let dst = bits(w, 0, 8);
        match (compare, row.sdst) {
            (true, Ty::None) if dst == EXEC => {}
            (true, Ty::None) => return Err(Why::Operand),
            (true, _) if dst > 127 => return Err(Why::Operand),
            (true, _) => inst.set_sdst(scalar_register(dst, 1)?, 1),
            _ => self.vector_destination12(&mut inst, dst)?,
        }
        if two {
            inst.set_sdst(scalar_register(bits(w, 8, 7), 1)?, 1);
        }
        self.modifiers(&mut inst, w, hi, two)?;
        self.long_sources12(&mut inst, hi)?;
        if row.has(TIED) {
            append_destination(&mut inst);
        }
        Ok(inst)
    }

    fn long_sources12(&mut self, inst: &mut Inst, hi: u32) -> Result<(), Why> {
        let row = inst.row;
        let lanes = row.src[0] != Ty::None && says_lanes(bits(hi, 0, 9));
        if lanes {
            self.lanes12(inst, bits(hi, 0, 9))?;
            // The 32-bit encodings' negation: this one has its own.
            if matches!(inst.mods.lanes, crate::isa::Lanes::Dpp(_)) && bits(self.words[2], 20, 4) != 0 {
                return Err(Why::Reserved);
            }
        }
        for i in usize::from(lanes)..3 {
            let ty = row.src[i];
            let code = bits(hi, 9 * i as u32, 9);
            if ty == Ty::None {
                continue;
            }
            if lanes && code == LITERAL32 {
                return Err(Why::Literal);
            }
            if lanes && i == 1 && mixes(inst.op) && code < 256 {
                return Err(Why::Operand);
            }
            let operand = self.vector_source12(code, row, i)?;
            inst.set_src(i, operand, ty.dwords());
        }
        Ok(())
    }

    pub(super) fn vop3p12(&mut self, w: u32) -> Result<Inst, Why> {
        let row = self.row(VOP3P, &VOP3P_INDEX, bits(w, 16, 8))?;
        let mut inst = blank(row, Format::Vop3p);
        let hi = self.second()?;
        let selected = bits(w, 11, 3);
        let high = bits(hi, 27, 2) | u32::from(bit(w, 14)) << 2;
        let all = bits(hi, 29, 3) | bits(w, 8, 3) << 3 | u32::from(bit(w, 15)) << 6 | selected << 7 | high << 10;
        if all as u16 & row.bits.zero != 0 {
            return Err(Why::Reserved);
        }
        let kept = all as u16 & row.bits.used;
        inst.mods.neg = (kept & 7) as u8;
        inst.mods.neg_hi = (kept >> 3 & 7) as u8;
        inst.mods.clamp = kept >> 6 & 1 != 0;
        inst.mods.op_sel = (kept >> 7 & 7) as u8;
        inst.mods.op_sel_hi = (kept >> 10 & 7) as u8;
        if mixes(inst.op) {
            inst.mods.abs = inst.mods.neg_hi;
        }
        let dwords = row.dst.dwords();
        inst.set_dst(vector_register(bits(w, 0, 8), dwords)?, dwords);
        if row.has(MATRIX) {
            self.matrix12(&mut inst, hi)?;
        } else {
            self.long_sources12(&mut inst, hi)?;
        }
        Ok(inst)
    }

    /// Sources of a matrix instruction: vector registers, or one constant for all that is added.
    fn matrix12(&mut self, inst: &mut Inst, hi: u32) -> Result<(), Why> {
        let row = inst.row;
        // Both bits of `op_sel_hi` that are not a hint are set.
        if bits(hi, 27, 2) != 3 {
            return Err(Why::Reserved);
        }
        for i in 0..3 {
            let (code, dwords) = (bits(hi, 9 * i as u32, 9), row.src[i].dwords());
            let operand = match code {
                256.. => vector_register(code - 256, dwords)?,
                LITERAL32 | LITERAL64 => return Err(Why::Literal),
                128..=208 | 240..=248 if i == 2 && !row.has(TIED) => self.scalar_source12(code, 1)?,
                _ => return Err(Why::Operand),
            };
            inst.set_src(i, operand, dwords);
        }
        if row.has(TIED) {
            append_destination(inst);
        }
        Ok(())
    }
}

/// Whether the sources are 16 or 32 bits wide each, as `op_sel_hi` says.
pub(in crate::isa) fn mixes(op: Op) -> bool {
    matches!(
        op,
        Op::VFmaMixF32
            | Op::VFmaMixloF16
            | Op::VFmaMixhiF16
            | Op::VFmaMixF32Bf16
            | Op::VFmaMixloBf16
            | Op::VFmaMixhiBf16
    )
}

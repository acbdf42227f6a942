//! VOP1, VOP2, VOPC with their DPP and SDWA forms; VOP3A, VOP3B, VOP3P.
//!
//! Must hold: see [`super`]. A modifier bit is looked at only if the row says that the opcode has it.

use super::operand::{Literals, data_register, scalar_register, vector_register};
use super::{Code, Why, bit, bits, blank};
use crate::isa::inst::{Format, Inst};
use crate::isa::op::Op;
use crate::isa::operand::{Dpp, Lanes, Operand, Sdwa, Sel, Unused};
use crate::isa::table::{
    self, E64, FORMATS, LITERAL, MATRIX, NO_DPP, NO_SDWA, REGISTER_ONLY, Row, TIED, Ty, VOP1, VOP2, VOP3, VOP3P, VOPC,
    WHOLE,
};

static VOP2_INDEX: [u16; 64] = table::index(VOP2);
static VOP1_INDEX: [u16; 256] = table::index(VOP1);
static VOPC_INDEX: [u16; 256] = table::index(VOPC);
static VOP3_INDEX: [u16; 1024] = table::index(VOP3);
static VOP3P_INDEX: [u16; 128] = table::index(VOP3P);

/// Source-0 code that says: an SDWA dword follows.
const SDWA: u32 = 249;
/// Source-0 code that says: a DPP dword follows.
const DPP: u32 = 250;

/// The fields of a short vector encoding.
struct Short {
    format: Format,
    dst: u32,
    src0: u32,
    src1: u32,
}

impl Code {
    pub(super) fn short_vector(&mut self, w: u32) -> Result<Inst, Why> {
        let (row, format) = match w >> 25 {
            0x3e => (self.row(VOPC, &VOPC_INDEX, bits(w, 17, 8))?, Format::Vopc),
            0x3f => (self.row(VOP1, &VOP1_INDEX, bits(w, 9, 8))?, Format::Vop1),
            _ => (self.row(VOP2, &VOP2_INDEX, bits(w, 25, 6))?, Format::Vop2),
        };
        let fields = Short { format, dst: bits(w, 17, 8), src0: bits(w, 0, 9), src1: bits(w, 9, 8) };
        let mut inst = blank(row, format);
        match fields.src0 {
            SDWA if row.has(NO_SDWA) => return Err(Why::Opcode),
            DPP if row.has(NO_DPP) => return Err(Why::Opcode),
            SDWA => {
                self.destinations(&mut inst, &fields)?;
                self.sdwa(&mut inst, &fields)?;
            }
            DPP => {
                self.destinations(&mut inst, &fields)?;
                self.dpp(&mut inst, &fields)?;
            }
            _ => {
                self.destinations(&mut inst, &fields)?;
                self.plain(&mut inst, &fields)?;
            }
        }
        implicit_sources(&mut inst);
        Ok(inst)
    }

    fn destinations(&mut self, inst: &mut Inst, fields: &Short) -> Result<(), Why> {
        let row = inst.row;
        match row.dst {
            Ty::None => {
                if fields.format != Format::Vopc && fields.dst != 0 {
                    return Err(Why::Reserved);
                }
            }
            // M0 takes no lane.
            Ty::S32 if fields.dst == 124 => return Err(Why::Operand),
            Ty::S32 if fields.dst < 128 => inst.set_dst(scalar_register(fields.dst, 1)?, 1),
            Ty::S32 => return Err(Why::Operand),
            ty => {
                let acc = row.op == Op::VAccvgprMovB32;
                inst.set_dst(data_register(fields.dst, ty.dwords(), acc)?, ty.dwords());
            }
        }
        if row.sdst != Ty::None {
            inst.set_sdst(Operand::VccLo, 2);
        }
        Ok(())
    }

    fn plain(&mut self, inst: &mut Inst, fields: &Short) -> Result<(), Why> {
        let row = inst.row;
        if row.src[0] == Ty::None {
            return Ok(());
        }
        let literal = if row.has(LITERAL) { Some(self.literal()?) } else { None };
        let first = self.vector_source(fields.src0, row.src[0], Literals::Allowed)?;
        inst.set_src(0, first, row.src[0].dwords());
        if row.has(REGISTER_ONLY) {
            let acc = row.op == Op::VAccvgprMovB32;
            if fields.src0 < 256 {
                return Err(Why::Operand);
            }
            inst.set_src(0, data_register(fields.src0 - 256, row.src[0].dwords(), acc)?, row.src[0].dwords());
        }
        let mut next = 1;
        if row.op == Op::VFmamkF32 || row.op == Op::VMadmkF16 {
            inst.set_src(1, Operand::Literal(literal.unwrap_or(0)), 1);
            next = 2;
        }
        if fields.format != Format::Vop1 {
            let dwords = row.src[1].dwords();
            inst.set_src(next, vector_register(fields.src1, dwords)?, dwords);
            next += 1;
        }
        if row.has(LITERAL) && next == 2 {
            inst.set_src(2, Operand::Literal(literal.unwrap_or(0)), 1);
        }
        Ok(())
    }

    fn sdwa(&mut self, inst: &mut Inst, fields: &Short) -> Result<(), Why> {
        let x = self.second()?;
        let row = inst.row;
        let used = |at: usize| row.bits.used >> at & 1 != 0;
        let mut sdwa = Sdwa { dst_sel: None, dst_unused: Unused::Pad, src_sel: [Sel::Dword; 2], sext: 0 };
        if fields.format == Format::Vopc {
            if bit(x, 15) {
                inst.set_sdst(scalar_register(bits(x, 8, 7), 2)?, 2);
            }
        } else {
            let selected = selection(bits(x, 8, 3))?;
            if row.has(WHOLE) {
                if selected != Sel::Dword {
                    return Err(Why::Lanes);
                }
            } else {
                sdwa.dst_sel = Some(selected);
            }
            sdwa.dst_unused = match bits(x, 11, 2) {
                _ if row.has(WHOLE) => Unused::Pad,
                0 => Unused::Pad,
                1 => Unused::Sext,
                2 => Unused::Preserve,
                _ => return Err(Why::Lanes),
            };
            inst.mods.clamp = bit(x, 13);
            inst.mods.omod = bits(x, 14, 2) as u8;
            if inst.mods.omod != 0 && !(used(7) && row.dst.is_float()) {
                return Err(Why::Reserved);
            }
        }
        let sources = if fields.format == Format::Vop1 { 1 } else { 2 };
        let numbers = [bits(x, 0, 8), fields.src1];
        for (i, &number) in numbers.iter().enumerate().take(sources) {
            let at = 16 + 8 * i as u32;
            sdwa.src_sel[i] = selection(bits(x, at, 3))?;
            let (sext, neg, abs) = (bit(x, at + 3), bit(x, at + 4), bit(x, at + 5));
            // Floats are negated, everything else is sign-extended.
            if if used(i) { sext } else { neg || abs } {
                return Err(Why::Reserved);
            }
            sdwa.sext |= u8::from(sext) << i;
            // Packed halves are neither negated nor extended.
            let negated = !matches!(row.src[i], Ty::Pf16 | Ty::Pbf16);
            inst.mods.neg |= u8::from(neg && negated) << i;
            inst.mods.abs |= u8::from(abs && negated) << i;
            let scalar = bit(x, at + 7);
            let code = if scalar { number } else { number + 256 };
            let operand = self.vector_source(code, row.src[i], Literals::Refused)?;
            inst.set_src(i, operand, row.src[i].dwords());
        }
        if sources == 1 && x >> 24 & 0xbf != 0 {
            return Err(Why::Reserved);
        }
        inst.mods.lanes = Lanes::Sdwa(sdwa);
        Ok(())
    }

    fn dpp(&mut self, inst: &mut Inst, fields: &Short) -> Result<(), Why> {
        let x = self.second()?;
        let row = inst.row;
        let ctrl = bits(x, 8, 9) as u16;
        let wide = inst.dst_dwords > 1 || row.src.iter().any(|ty| ty.dwords() > 1 && *ty != Ty::S64);
        let known = match ctrl {
            0x150..=0x15f => true,
            _ if wide => false,
            0..=0xff | 0x101..=0x10f | 0x111..=0x11f | 0x121..=0x12f => true,
            0x130 | 0x134 | 0x138 | 0x13c | 0x140..=0x143 => true,
            _ => false,
        };
        if !known {
            return Err(Why::Lanes);
        }
        let sources = if fields.format == Format::Vop1 { 1 } else { 2 };
        let numbers = [bits(x, 0, 8), fields.src1];
        for (i, &number) in numbers.iter().enumerate().take(sources) {
            let (neg, abs) = (bit(x, 20 + 2 * i as u32), bit(x, 21 + 2 * i as u32));
            if (neg || abs) && row.bits.zero >> i & 1 != 0 {
                return Err(Why::Reserved);
            }
            let used = row.bits.used >> i & 1 != 0;
            inst.mods.neg |= u8::from(neg && used) << i;
            inst.mods.abs |= u8::from(abs && used) << i;
            let dwords = row.src[i].dwords();
            inst.set_src(i, vector_register(number, dwords)?, dwords);
        }
        if sources == 1 && bits(x, 22, 2) != 0 {
            return Err(Why::Reserved);
        }
        inst.mods.lanes = Lanes::Dpp(Dpp {
            ctrl,
            row_mask: bits(x, 28, 4) as u8,
            bank_mask: bits(x, 24, 4) as u8,
            bound_ctrl: bit(x, 19),
            fetch_inactive: false,
        });
        Ok(())
    }

    /// The row of a 64-bit encoding.
    fn long_row(&self, code: u32) -> Result<&'static Row, Why> {
        let row = match code {
            0..0x100 => self.row(VOPC, &VOPC_INDEX, code)?,
            0x100..0x140 => self.row(VOP2, &VOP2_INDEX, code - 0x100)?,
            0x140..0x1c0 => self.row(VOP1, &VOP1_INDEX, code - 0x140)?,
            _ => return self.row(VOP3, &VOP3_INDEX, code),
        };
        if row.has(E64) { Ok(row) } else { Err(Why::Opcode) }
    }

    pub(super) fn vop3(&mut self, w: u32) -> Result<Inst, Why> {
        if w >> 23 == 0x1a7 {
            return self.vop3p(w);
        }
        let code = bits(w, 16, 10);
        let row = self.long_row(code)?;
        let compare = code < 0x100;
        let two = row.sdst != Ty::None && !compare;
        let mut inst = blank(row, if two { Format::Vop3b } else { Format::Vop3 });
        inst.code = code as u16;
        let hi = self.second()?;
        if compare {
            if bits(w, 0, 8) > 127 {
                return Err(Why::Operand);
            }
            inst.set_sdst(scalar_register(bits(w, 0, 7), 2)?, 2);
        } else {
            self.destinations(&mut inst, &Short { format: Format::Vop3, dst: bits(w, 0, 8), src0: 0, src1: 0 })?;
        }
        if two {
            inst.set_sdst(scalar_register(bits(w, 8, 7), 2)?, 2);
        }
        self.modifiers(&mut inst, w, hi, two)?;
        self.long_sources(&mut inst, hi)?;
        if row.has(TIED) {
            append_destination(&mut inst);
        }
        Ok(inst)
    }

    pub(super) fn modifiers(&mut self, inst: &mut Inst, w: u32, hi: u32, two: bool) -> Result<(), Why> {
        let low = if two { 0 } else { bits(w, 8, 3) << 3 | bits(w, 11, 4) << 9 };
        let all = (bits(hi, 29, 3) | u32::from(bit(w, 15)) << 6 | bits(hi, 27, 2) << 7 | low) as u16;
        let bits = inst.row.bits;
        if all & bits.zero != 0 {
            return Err(Why::Reserved);
        }
        let kept = all & bits.used;
        let mods = &mut inst.mods;
        if matches!(inst.op, Op::VBitop3B16 | Op::VBitop3B32) {
            mods.bitop3 = (kept & 7 | kept & 0x38 | (kept >> 7 & 3) << 6) as u8;
        } else {
            mods.neg = (kept & 7) as u8;
            mods.abs = (kept >> 3 & 7) as u8;
            mods.omod = (kept >> 7 & 3) as u8;
        }
        mods.clamp = kept >> 6 & 1 != 0;
        mods.op_sel = (kept >> 9 & 15) as u8;
        Ok(())
    }

    fn long_sources(&mut self, inst: &mut Inst, hi: u32) -> Result<(), Why> {
        for i in 0..3 {
            let ty = inst.row.src[i];
            let code = bits(hi, 9 * i as u32, 9);
            if ty != Ty::None {
                if i == 0 && inst.row.has(REGISTER_ONLY) && code < 256 {
                    return Err(Why::Operand);
                }
                let operand = self.vector_source(code, ty, Literals::Refused)?;
                inst.set_src(i, operand, ty.dwords());
            }
        }
        Ok(())
    }

    fn vop3p(&mut self, w: u32) -> Result<Inst, Why> {
        let row = self.row(VOP3P, &VOP3P_INDEX, bits(w, 16, 7))?;
        let mut inst = blank(row, Format::Vop3p);
        let hi = self.second()?;
        let selected = bits(w, 11, 3);
        let high = bits(hi, 27, 2) | u32::from(bit(w, 14)) << 2;
        let all = bits(hi, 29, 3) | bits(w, 8, 3) << 3 | u32::from(bit(w, 15)) << 6 | selected << 7 | high << 10;
        if all as u16 & row.bits.zero != 0 {
            return Err(Why::Reserved);
        }
        if row.has(MATRIX) {
            self.matrix(&mut inst, w, hi)?;
            return Ok(inst);
        }
        let kept = all as u16 & row.bits.used;
        inst.mods.neg = (kept & 7) as u8;
        inst.mods.neg_hi = (kept >> 3 & 7) as u8;
        inst.mods.clamp = kept >> 6 & 1 != 0;
        inst.mods.op_sel = (kept >> 7 & 7) as u8;
        inst.mods.op_sel_hi = (kept >> 10 & 7) as u8;
        if matches!(inst.op, Op::VFmaMixF32 | Op::VFmaMixloF16 | Op::VFmaMixhiF16) {
            inst.mods.abs = inst.mods.neg_hi;
        }
        let dwords = row.dst.dwords();
        inst.set_dst(data_register(bits(w, 0, 8), dwords, inst.op == Op::VAccvgprWriteB32)?, dwords);
        self.long_sources(&mut inst, hi)?;
        if inst.op == Op::VAccvgprReadB32 {
            inst.set_src(0, data_register(bits(hi, 0, 8), 1, true)?, 1);
        }
        Ok(inst)
    }

    fn matrix(&mut self, inst: &mut Inst, w: u32, hi: u32) -> Result<(), Why> {
        let row = inst.row;
        let acc_cd = bit(w, 15);
        inst.mods.cbsz = bits(w, 8, 3) as u8;
        inst.mods.abid = bits(w, 11, 4) as u8;
        inst.mods.blgp = bits(hi, 29, 3) as u8;
        let dwords = row.dst.dwords();
        inst.set_dst(data_register(bits(w, 0, 8), dwords, acc_cd)?, dwords);
        for i in 0..2 {
            let code = bits(hi, 9 * i as u32, 9);
            let dwords = match [inst.mods.cbsz, inst.mods.blgp][i] {
                _ if !row.has(FORMATS) => row.src[i].dwords(),
                // 8-bit, 6-bit and 4-bit floats.
                0 | 1 => 8,
                2 | 3 => 6,
                4 => 4,
                _ => return Err(Why::Reserved),
            };
            if code < 256 {
                return Err(Why::Operand);
            }
            inst.set_src(i, data_register(code - 256, dwords, bit(hi, 27 + i as u32))?, dwords);
        }
        let (code, ty) = (bits(hi, 18, 9), row.src[2]);
        let operand = match code {
            256.. => data_register(code - 256, ty.dwords(), acc_cd && !row.has(TIED))?,
            // An inline constant fills the whole tuple.
            128..=248 if !row.has(TIED) => self.vector_source(code, Ty::B32, Literals::Refused)?,
            _ => return Err(Why::Operand),
        };
        inst.set_src(2, operand, ty.dwords());
        if row.has(TIED) {
            append_destination(inst);
        }
        Ok(())
    }
}

fn selection(code: u32) -> Result<Sel, Why> {
    [Sel::Byte0, Sel::Byte1, Sel::Byte2, Sel::Byte3, Sel::Word0, Sel::Word1, Sel::Dword]
        .get(code as usize)
        .copied()
        .ok_or(Why::Lanes)
}

/// What the short encodings read without naming it.
fn implicit_sources(inst: &mut Inst) {
    if inst.row.src[2] == Ty::S64 {
        inst.set_src(2, Operand::VccLo, 2);
    }
    if inst.row.has(TIED) {
        append_destination(inst);
    }
}

/// Makes the destination the last source.
pub(super) fn append_destination(inst: &mut Inst) {
    if let Some(at) = inst.src.iter().position(|source| *source == Operand::None) {
        let (operand, dwords) = (inst.dst, inst.dst_dwords);
        inst.set_src(at, operand, dwords);
    }
}

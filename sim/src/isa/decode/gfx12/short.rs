//! VOP1, VOP2, VOPC and what lanes they read.
//!
//! Must hold: see [`super`].

use super::operand::scalar_register;
use crate::isa::decode::operand::vector_register;
use crate::isa::decode::vector::append_destination;
use crate::isa::decode::{Code, Why, bit, bits, blank};
use crate::isa::inst::{Format, Inst};
use crate::isa::op::Op;
use crate::isa::operand::{Dpp, Dpp8, Lanes, Operand};
use crate::isa::table::gfx12::{VOP1, VOP2, VOPC};
use crate::isa::table::{self, LITERAL, NO_DPP, TIED, Ty};

pub(super) static VOP2_INDEX: [u16; 64] = table::index(VOP2);
pub(super) static VOP1_INDEX: [u16; 128] = table::index(VOP1);
pub(super) static VOPC_INDEX: [u16; 256] = table::index(VOPC);

/// Source-0 codes that say what dword of lanes follows.
pub(super) const DPP16: u32 = 250;
pub(super) const DPP8: u32 = 233;
pub(super) const DPP8_FETCH: u32 = 234;

/// Whether a source-0 code says that a dword of lanes follows.
pub(super) fn says_lanes(code: u32) -> bool {
    matches!(code, DPP16 | DPP8 | DPP8_FETCH)
}

impl Code {
    pub(super) fn short12(&mut self, w: u32) -> Result<Inst, Why> {
        let (row, format) = match w >> 25 {
            0x3e => (self.row(VOPC, &VOPC_INDEX, bits(w, 17, 8))?, Format::Vopc),
            0x3f => (self.row(VOP1, &VOP1_INDEX, bits(w, 9, 8))?, Format::Vop1),
            _ => (self.row(VOP2, &VOP2_INDEX, bits(w, 25, 6))?, Format::Vop2),
        };
        let mut inst = blank(row, format);
        let (dst, first, second) = (bits(w, 17, 8), bits(w, 0, 9), bits(w, 9, 8));
        if format == Format::Vopc {
            if row.sdst != Ty::None {
                inst.set_sdst(Operand::VccLo, 1);
            }
        } else {
            self.vector_destination12(&mut inst, dst)?;
            if row.sdst != Ty::None {
                inst.set_sdst(Operand::VccLo, 1);
            }
        }
        if row.src[0] == Ty::None {
            return if first == 0 { Ok(inst) } else { Err(Why::Reserved) };
        }
        if says_lanes(first) {
            self.short_lanes(&mut inst, first)?;
        } else {
            let operand = self.vector_source12(first, row, 0)?;
            inst.set_src(0, operand, row.src[0].dwords());
        }
        if format != Format::Vop1 {
            let constant_second = row.has(LITERAL) && multiplies_by_literal(row.op);
            let at = if constant_second { 2 } else { 1 };
            let dwords = row.src[at].dwords();
            inst.set_src(at, vector_register(second, dwords)?, dwords);
            if row.has(LITERAL) {
                let (operand, dwords) = self.fused_literal(row.src[2])?;
                inst.set_src(3 - at, operand, dwords);
            } else if row.src[2] == Ty::M32 {
                inst.set_src(2, Operand::VccLo, 1);
            }
        }
        if row.has(TIED) {
            append_destination(&mut inst);
        }
        if lower_halves(&inst) { Ok(inst) } else { Err(Why::Operand) }
    }

    /// The literal that belongs to the instruction.
    fn fused_literal(&mut self, ty: Ty) -> Result<(Operand, u8), Why> {
        if ty.dwords() == 2 {
            // Two sources may not both be literals of different widths.
            if self.used == 2 {
                return Err(Why::Literal);
            }
            return self.literal64().map(|operand| (operand, 2));
        }
        if self.wide_literal { Err(Why::Literal) } else { self.behind().map(|value| (Operand::Literal(value), 1)) }
    }

    pub(super) fn vector_destination12(&mut self, inst: &mut Inst, code: u32) -> Result<(), Why> {
        match inst.row.dst {
            Ty::None if code == 0 => Ok(()),
            Ty::None => Err(Why::Reserved),
            // What comes from one lane is not written to M0, what a scalar source gives not to EXEC.
            Ty::S32 => {
                let lane = matches!(inst.op, Op::VReadfirstlaneB32 | Op::VReadlaneB32);
                if code > 127 || lane && code == 125 || !lane && code > 125 {
                    return Err(Why::Operand);
                }
                inst.set_dst(scalar_register(code, 1)?, 1);
                Ok(())
            }
            ty => {
                inst.set_dst(vector_register(code, ty.dwords())?, ty.dwords());
                Ok(())
            }
        }
    }

    /// Source 0 of a 32-bit encoding from other lanes, with negation of both sources.
    fn short_lanes(&mut self, inst: &mut Inst, code: u32) -> Result<(), Why> {
        let row = inst.row;
        let x = self.lanes12(inst, code)?;
        if code != DPP16 {
            return Ok(());
        }
        for i in 0..2 {
            let (neg, abs) = (bit(x, 20 + 2 * i), bit(x, 21 + 2 * i));
            let used = row.bits.used >> i & 1 != 0;
            if (neg || abs) && !used {
                return Err(Why::Reserved);
            }
            inst.mods.neg |= u8::from(neg) << i;
            inst.mods.abs |= u8::from(abs) << i;
        }
        Ok(())
    }

    /// The dword of lanes: source 0 and where it comes from.
    pub(super) fn lanes12(&mut self, inst: &mut Inst, code: u32) -> Result<u32, Why> {
        let row = inst.row;
        if row.has(NO_DPP) {
            return Err(Why::Opcode);
        }
        let x = self.behind()?;
        let dwords = row.src[0].dwords();
        inst.set_src(0, vector_register(bits(x, 0, 8), dwords)?, dwords);
        if code != DPP16 {
            inst.mods.lanes = Lanes::Dpp8(Dpp8 { lanes: x >> 8, fetch_inactive: code == DPP8_FETCH });
            return Ok(x);
        }
        let ctrl = bits(x, 8, 9) as u16;
        match ctrl {
            0..=0xff | 0x101..=0x10f | 0x111..=0x11f | 0x121..=0x12f | 0x140 | 0x141 | 0x150..=0x16f => {}
            _ => return Err(Why::Lanes),
        }
        if bit(x, 17) {
            return Err(Why::Reserved);
        }
        inst.mods.lanes = Lanes::Dpp(Dpp {
            ctrl,
            row_mask: bits(x, 28, 4) as u8,
            bank_mask: bits(x, 24, 4) as u8,
            bound_ctrl: bit(x, 19),
            fetch_inactive: bit(x, 18),
        });
        Ok(x)
    }
}

/// Whether all 16-bit operands of a 32-bit encoding are in the lower half of the registers. A number from 128 on would mean the
/// upper half of a register, which LLVM 22.1 neither makes nor reads on this chip.
fn lower_halves(inst: &Inst) -> bool {
    let low = |operand: Operand, ty: Ty| !ty.is_half() || !matches!(operand, Operand::Vgpr(128..));
    low(inst.dst, inst.row.dst) && (0..3).all(|i| low(inst.src[i], inst.row.src[i]))
}

/// Whether the literal of the instruction is the factor and not the summand.
pub(super) fn multiplies_by_literal(op: Op) -> bool {
    matches!(op, Op::VFmamkF16 | Op::VFmamkF32 | Op::VFmamkF64)
}

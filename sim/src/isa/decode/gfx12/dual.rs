//! Instructions of two operations: VOPD (64 bits) and VOPD3 (96 bits).
//!
//! Must hold: see [`super`]; [`second`] never fails on what [`Code::dual12`] or [`Code::long_dual12`] took. Which registers the two
//! operations may name together (banks) is the compiler's business: the hardware's rule on the destinations alone is part
//! of the encoding.

use super::operand::{LITERAL64, scalar_register};
use super::short::{multiplies_by_literal, says_lanes};
use crate::isa::Chip;
use crate::isa::decode::operand::vector_register;
use crate::isa::decode::vector::append_destination;
use crate::isa::decode::{Code, Why, bit, bits, blank};
use crate::isa::inst::{Format, Inst};
use crate::isa::op::Op;
use crate::isa::operand::Operand;
use crate::isa::table::gfx12::VOPD;
use crate::isa::table::{self, DUAL_X, DUAL_Y, LITERAL, LONG_ONLY, Row, TIED, Ty};

static INDEX: [u16; 64] = table::index(VOPD);

/// The second operation of an instruction of two.
pub(in crate::isa::decode) fn second(first: &Inst) -> Option<Inst> {
    let have = usize::from(first.len);
    let mut code = Code::new(&first.raw[..have], Chip::Gfx1250);
    let both = match first.format {
        Format::Vopd if !first.is_second => code.dual_halves(first.raw[0]),
        Format::Vopd3 if !first.is_second => code.long_halves(first.raw[0]),
        _ => return None,
    };
    let mut second = both.ok()?.1;
    (second.len, second.raw, second.chip) = (first.len, first.raw, first.chip);
    Some(second)
}

/// The fields of one of the two.
struct Half {
    format: Format,
    second: bool,
    opcode: u32,
    dst: u32,
    sources: [u32; 3],
    negated: u32,
}

impl Code {
    pub(super) fn dual12(&mut self, w: u32) -> Result<Inst, Why> {
        self.dual_halves(w).map(|halves| halves.0)
    }

    pub(super) fn long_dual12(&mut self, w: u32) -> Result<Inst, Why> {
        self.long_halves(w).map(|halves| halves.0)
    }

    fn dual_halves(&mut self, w: u32) -> Result<(Inst, Inst), Why> {
        let hi = self.second()?;
        let dst = bits(hi, 24, 8);
        let x = Half {
            format: Format::Vopd,
            second: false,
            opcode: bits(w, 22, 4),
            dst,
            sources: [bits(w, 0, 9), bits(w, 9, 8), 0],
            negated: 0,
        };
        // One destination is even, the other odd.
        let other = bits(hi, 17, 7) << 1 | (!dst & 1);
        let y = Half {
            format: Format::Vopd,
            second: true,
            opcode: bits(w, 17, 5),
            dst: other,
            sources: [bits(hi, 0, 9), bits(hi, 9, 8), 0],
            negated: 0,
        };
        Ok((self.half(&x)?, self.half(&y)?))
    }

    fn long_halves(&mut self, w: u32) -> Result<(Inst, Inst), Why> {
        (self.used, self.encoded) = (3, 3);
        let (mid, hi) = (self.word(1)?, self.word(2)?);
        if bit(mid, 15) {
            return Err(Why::Reserved);
        }
        let x = Half {
            format: Format::Vopd3,
            second: false,
            opcode: bits(w, 18, 6),
            dst: bits(hi, 0, 8),
            sources: [bits(w, 0, 9), bits(mid, 16, 8), bits(mid, 24, 8)],
            negated: bits(mid, 9, 3),
        };
        let y = Half {
            format: Format::Vopd3,
            second: true,
            opcode: bits(w, 12, 6),
            dst: bits(hi, 24, 8),
            sources: [bits(mid, 0, 9), bits(hi, 8, 8), bits(hi, 16, 8)],
            negated: bits(mid, 12, 3),
        };
        if bits(w, 9, 3) != 0 {
            return Err(Why::Reserved);
        }
        Ok((self.half(&x)?, self.half(&y)?))
    }

    fn half(&mut self, half: &Half) -> Result<Inst, Why> {
        let row = self.row(VOPD, &INDEX, half.opcode)?;
        let long = half.format == Format::Vopd3;
        let place = if half.second { DUAL_Y } else { DUAL_X };
        if !row.has(place) || row.has(LONG_ONLY) && !long || row.has(LITERAL) && long {
            return Err(Why::Opcode);
        }
        let mut inst = blank(row, half.format);
        inst.is_second = half.second;
        inst.set_dst(vector_register(half.dst, row.dst.dwords())?, row.dst.dwords());
        let first = half.sources[0];
        if says_lanes(first) || first == LITERAL64 {
            return Err(Why::Literal);
        }
        if long && first == super::operand::LITERAL32 {
            return Err(Why::Literal);
        }
        let operand = self.vector_source12(first, row, 0)?;
        inst.set_src(0, operand, row.src[0].dwords());
        self.half_sources(&mut inst, half)?;
        if row.has(TIED) {
            append_destination(&mut inst);
        }
        inst.mods.neg = negation(row, half.negated)?;
        Ok(inst)
    }

    /// All sources but the first.
    fn half_sources(&mut self, inst: &mut Inst, half: &Half) -> Result<(), Why> {
        let (row, [_, second, third]) = (inst.row, half.sources);
        if row.src[1] == Ty::None {
            return if (second, third) == (0, 0) { Ok(()) } else { Err(Why::Reserved) };
        }
        let at = if row.has(LITERAL) && multiplies_by_literal(row.op) { 2 } else { 1 };
        inst.set_src(at, vector_register(second, row.src[at].dwords())?, row.src[at].dwords());
        match row.src[2] {
            _ if row.has(LITERAL) => {
                let literal = self.behind()?;
                inst.set_src(3 - at, Operand::Literal(literal), 1);
            }
            Ty::M32 if half.format == Format::Vopd => inst.set_src(2, Operand::VccLo, 1),
            Ty::M32 if third > 127 => return Err(Why::Operand),
            Ty::M32 => inst.set_src(2, scalar_register(third, 1)?, 1),
            Ty::None if row.op == Op::VBitop2B32 => inst.mods.bitop3 = third as u8,
            Ty::None if third != 0 => return Err(Why::Reserved),
            Ty::None => {}
            ty => inst.set_src(2, vector_register(third, ty.dwords())?, ty.dwords()),
        }
        Ok(())
    }
}

/// Negated sources: floats, and what `v_cndmask_b32` chooses from.
fn negation(row: &Row, bits: u32) -> Result<u8, Why> {
    let floats = row.src.iter().take(3).enumerate().filter(|(_, ty)| matches!(ty, Ty::F32 | Ty::F64));
    let floats = floats.fold(0, |mask, (i, _)| mask | 1 << i);
    let allowed = if row.op == Op::VCndmaskB32 { 3 } else { floats };
    if bits & !allowed == 0 { Ok(bits as u8) } else { Err(Why::Reserved) }
}

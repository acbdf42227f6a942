//! Vector instructions.
//!
//! Must hold: see [`super`].

use std::fmt::{self, Formatter};

use super::{List, operand};
use crate::isa::decode::mixes;
use crate::isa::inst::{Format, Inst};
use crate::isa::op::Op;
use crate::isa::operand::{Dpp, Lanes, Operand, Sdwa, Sel, Unused};
use crate::isa::table::{BYTE_SEL, LITERAL, MATRIX, SCALE_SEL, TIED, Ty};

impl Inst {
    /// How many sources are printed: those that the row names.
    pub(super) fn printed_sources(&self) -> usize {
        self.row.src.iter().take_while(|ty| **ty != Ty::None).count()
    }

    fn list_destinations(&self, list: &mut List<'_, '_>) -> fmt::Result {
        if self.dst != Operand::None {
            list.operand(self.dst, self.row.dst, self.dst_dwords)?;
        }
        if self.sdst != Operand::None {
            list.operand(self.sdst, Ty::S64, self.sdst_dwords)?;
        }
        Ok(())
    }

    pub(super) fn print_vector(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut list = List::new(f);
        self.list_destinations(&mut list)?;
        for i in 0..self.printed_sources() {
            let f = list.next()?;
            self.source(f, i)?;
        }
        match self.mods.lanes {
            Lanes::Sdwa(sdwa) => {
                self.result_modifiers(f)?;
                self.print_sdwa(f, sdwa)
            }
            Lanes::Dpp(dpp) if !self.newer() => print_dpp(f, dpp, false),
            _ => {
                self.print_op_sel(f)?;
                self.result_modifiers(f)?;
                self.print_lanes(f)
            }
        }
    }

    /// Other lanes of gfx1250.
    fn print_lanes(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.mods.lanes {
            Lanes::Dpp(dpp) => print_dpp(f, dpp, true),
            Lanes::Dpp8(dpp) => {
                f.write_str(" dpp8:[")?;
                for i in 0..8 {
                    write!(f, "{}{}", if i > 0 { "," } else { "" }, dpp.lanes >> (3 * i) & 7)?;
                }
                f.write_str(if dpp.fetch_inactive { "] fi:1" } else { "]" })
            }
            Lanes::Plain | Lanes::Sdwa(_) => Ok(()),
        }
    }

    /// Whether source `i` is the literal that belongs to the instruction, so that no operand code could say it shorter.
    pub(super) fn is_constant(&self, i: usize) -> bool {
        let first = matches!(self.op, Op::VFmamkF32 | Op::VMadmkF16 | Op::VFmamkF16 | Op::VFmamkF64 | Op::SFmamkF32);
        self.row.has(LITERAL) && i == if first { 1 } else { 2 }
    }

    /// A source with its modifiers.
    pub(super) fn source(&self, f: &mut Formatter<'_>, i: usize) -> fmt::Result {
        let (source, ty, dwords) = (self.src[i], self.row.src[i], self.src_dwords[i]);
        // LLVM shows literals of mixed precision as halves.
        let ty = match (source, self.op) {
            (Operand::Literal(_), Op::VFmaMixF32 | Op::VFmaMixloF16 | Op::VFmaMixhiF16) => Ty::F16,
            (Operand::Literal(_), Op::VFmaMixF32Bf16 | Op::VFmaMixloBf16 | Op::VFmaMixhiBf16) => Ty::Bf16,
            _ => ty,
        };
        let on = |mask: u8| mask >> i & 1 != 0;
        let (neg, abs) = (on(self.mods.neg), on(self.mods.abs));
        let sext = matches!(self.mods.lanes, Lanes::Sdwa(sdwa) if on(sdwa.sext));
        if let (Operand::Literal(value), true) = (source, self.is_constant(i)) {
            return write!(f, "{value:#x}");
        }
        if source == Operand::Literal64 && !neg && !abs {
            return operand::literal64(f, self.literal64(), ty, self.is_constant(i));
        }
        let constant = match source {
            Operand::InlineInt(_) | Operand::InlineFloat(_) => true,
            // What is written as `lit(...)` needs no other brackets.
            Operand::Literal(value) => ty == Ty::F64 || !operand::inlinable(value, ty),
            _ => false,
        };
        let (open, close) = match (neg, abs) {
            (false, false) => ("", ""),
            (false, true) => ("|", "|"),
            (true, false) if constant => ("neg(", ")"),
            (true, false) => ("-", ""),
            (true, true) => ("-|", "|"),
        };
        f.write_str(if sext { "sext(" } else { open })?;
        operand::write(f, source, ty, dwords)?;
        f.write_str(if sext { ")" } else { close })
    }

    fn result_modifiers(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.mods.clamp {
            f.write_str(" clamp")?;
        }
        f.write_str(["", " mul:2", " mul:4", " div:2"][usize::from(self.mods.omod & 3)])
    }

    /// Halves of VOP3.
    fn print_op_sel(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mods = &self.mods;
        truth_table(f, mods.bitop3)?;
        if matches!(self.op, Op::VPermlane16SwapB32 | Op::VPermlane32SwapB32) {
            return f.write_str(["", " fi:1", " bound_ctrl:1", " bound_ctrl:1 fi:1"][usize::from(mods.op_sel & 3)]);
        }
        if self.row.has(SCALE_SEL) {
            return if mods.op_sel == 0 { Ok(()) } else { write!(f, " scale_sel:{}", mods.op_sel) };
        }
        let used = |at: usize| self.row.bits.used >> (9 + at) & 1 != 0;
        let mut halves = mods.op_sel;
        let (mut byte, mut sources) = (0, [used(0), used(1), used(2)]);
        let mut result = used(3) || !self.newer();
        if self.row.has(BYTE_SEL) {
            // The source's byte in bits 1:0, high bit last; the result's in 3:2.
            (byte, halves) = if used(1) && !used(2) {
                ((halves & 1) << 1 | halves >> 1 & 1, halves & 12)
            } else {
                (halves >> 2, halves & 3)
            };
            sources = [0, 1, 2].map(|i| self.row.src[i] != Ty::None);
            result = true;
        }
        if halves != 0 {
            let chosen = (0..4).filter(|i| if *i < 3 { sources[*i] } else { result });
            let text: Vec<&str> = chosen.map(|i| if halves >> i & 1 != 0 { "1" } else { "0" }).collect();
            write!(f, " op_sel:[{}]", text.join(","))?;
        }
        if byte != 0 { write!(f, " byte_sel:{byte}") } else { Ok(()) }
    }

    fn print_sdwa(&self, f: &mut Formatter<'_>, sdwa: Sdwa) -> fmt::Result {
        let selection = |sel: Sel| ["BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"][sel as usize];
        if let Some(sel) = sdwa.dst_sel {
            let unused = match sdwa.dst_unused {
                Unused::Pad => "PAD",
                Unused::Sext => "SEXT",
                Unused::Preserve => "PRESERVE",
            };
            write!(f, " dst_sel:{} dst_unused:UNUSED_{unused}", selection(sel))?;
        }
        write!(f, " src0_sel:{}", selection(sdwa.src_sel[0]))?;
        if self.format != Format::Vop1 {
            write!(f, " src1_sel:{}", selection(sdwa.src_sel[1]))?;
        }
        Ok(())
    }

    pub(super) fn print_packed(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let matrix = self.row.has(MATRIX);
        let mixed = mixes(self.op);
        let mut list = List::new(f);
        self.list_destinations(&mut list)?;
        let sources = self.printed_sources();
        for i in 0..sources {
            let f = list.next()?;
            let ty = self.row.src[i];
            if mixed { self.source(f, i)? } else { operand::write(f, self.src[i], ty, self.src_dwords[i])? }
        }
        if matrix {
            return if self.newer() { self.print_matrix12(f, sources) } else { self.print_matrix(f) };
        }
        let used = |at: usize| self.row.bits.used >> at & 1 != 0;
        let all = (1u8 << sources) - 1;
        if used(7) && self.mods.op_sel & all != 0 {
            mask(f, "op_sel", self.mods.op_sel, sources)?;
        }
        let usual = if mixed { 0 } else { all };
        if used(10) && used(7) && self.mods.op_sel_hi & all != usual {
            mask(f, "op_sel_hi", self.mods.op_sel_hi, sources)?;
        }
        if !mixed {
            if self.mods.neg & all != 0 {
                mask(f, "neg_lo", self.mods.neg, sources)?;
            }
            if self.mods.neg_hi & all != 0 {
                mask(f, "neg_hi", self.mods.neg_hi, sources)?;
            }
        }
        self.result_modifiers(f)?;
        self.print_lanes(f)
    }

    fn print_matrix(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mods = &self.mods;
        if mods.cbsz != 0 {
            write!(f, " cbsz:{}", mods.cbsz)?;
        }
        if mods.abid != 0 {
            write!(f, " abid:{}", mods.abid)?;
        }
        let double = matches!(self.row.dst, Ty::W8 | Ty::B64) && !self.row.has(TIED);
        match mods.blgp {
            0 => Ok(()),
            blgp if double => mask(f, "neg", blgp, 3),
            blgp => write!(f, " blgp:{blgp}"),
        }
    }
}

/// The truth table of bit operations.
pub(super) fn truth_table(f: &mut Formatter<'_>, table: u8) -> fmt::Result {
    match table {
        0 => Ok(()),
        1..=10 => write!(f, " bitop3:{table}"),
        _ => write!(f, " bitop3:{table:#x}"),
    }
}

pub(super) fn mask(f: &mut Formatter<'_>, name: &str, bits: u8, count: usize) -> fmt::Result {
    write!(f, " {name}:[")?;
    for i in 0..count {
        write!(f, "{}{}", if i > 0 { "," } else { "" }, bits >> i & 1)?;
    }
    f.write_str("]")
}

fn print_dpp(f: &mut Formatter<'_>, dpp: Dpp, newer: bool) -> fmt::Result {
    let ctrl = dpp.ctrl;
    match ctrl {
        0..=0xff => {
            let lane = |i: u16| ctrl >> (2 * i) & 3;
            write!(f, " quad_perm:[{},{},{},{}]", lane(0), lane(1), lane(2), lane(3))?;
        }
        0x100..=0x10f => write!(f, " row_shl:{}", ctrl & 15)?,
        0x110..=0x11f => write!(f, " row_shr:{}", ctrl & 15)?,
        0x120..=0x12f => write!(f, " row_ror:{}", ctrl & 15)?,
        0x130 => f.write_str(" wave_shl:1")?,
        0x134 => f.write_str(" wave_rol:1")?,
        0x138 => f.write_str(" wave_shr:1")?,
        0x13c => f.write_str(" wave_ror:1")?,
        0x140 => f.write_str(" row_mirror")?,
        0x141 => f.write_str(" row_half_mirror")?,
        0x142 => f.write_str(" row_bcast:15")?,
        0x143 => f.write_str(" row_bcast:31")?,
        0x160..=0x16f => write!(f, " row_xmask:{}", ctrl & 15)?,
        _ => write!(f, " row_{}:{}", if newer { "share" } else { "newbcast" }, ctrl & 15)?,
    }
    write!(f, " row_mask:{:#x} bank_mask:{:#x}", dpp.row_mask, dpp.bank_mask)?;
    f.write_str(if dpp.bound_ctrl { " bound_ctrl:1" } else { "" })?;
    f.write_str(if dpp.fetch_inactive { " fi:1" } else { "" })
}

//! Text of an instruction, equal to what LLVM 22.1's disassembler prints: `impl Display for Inst`.
//!
//! Must hold: the text depends on the [`Inst`] alone; branch targets are distances, as LLVM prints them without symbols.

mod immediate;
mod immediate12;
mod memory;
mod memory12;
mod operand;
mod vector;
mod vector12;

pub(super) use immediate12::is_delay;

use std::fmt::{self, Formatter};

use super::Chip;
use super::inst::{Format, Inst};
use super::op::Op;
use super::operand::{Lanes, Operand};
use super::table::{
    COUNTERS, DELAY, DEPCTR, DST_READ, E64, GPR_IDX, HEX, HWREG, LABEL, LITERAL, MESSAGE, OPTIONAL, Ty,
};

impl fmt::Display for Inst {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.mnemonic())?;
        f.write_str(self.suffix())?;
        match self.format {
            Format::Sop1 | Format::Sop2 | Format::Sopc => self.print_scalar(f),
            Format::Sopk => self.print_sopk(f),
            Format::Sopp => self.print_sopp(f),
            Format::Flat | Format::Scratch | Format::Global | Format::Mubuf if self.newer() => self.print_wide(f),
            Format::Smem if self.newer() => self.print_smem12(f),
            Format::Smem => self.print_smem(f),
            Format::Ds => self.print_ds(f),
            Format::Flat | Format::Scratch | Format::Global => self.print_flat(f),
            Format::Mubuf | Format::Mtbuf => self.print_buffer(f),
            Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3 | Format::Vop3b => self.print_vector(f),
            Format::Vop3p => self.print_packed(f),
            Format::Vopd | Format::Vopd3 => self.print_dual(f),
        }
    }
}

/// Writes ` first` and then `, next`.
struct List<'a, 'b> {
    f: &'a mut Formatter<'b>,
    first: bool,
}

impl<'a, 'b> List<'a, 'b> {
    fn new(f: &'a mut Formatter<'b>) -> Self {
        List { f, first: true }
    }

    /// The place of the next item.
    fn next(&mut self) -> Result<&mut Formatter<'b>, fmt::Error> {
        self.f.write_str(if self.first { " " } else { ", " })?;
        self.first = false;
        Ok(self.f)
    }

    fn operand(&mut self, operand: Operand, ty: Ty, dwords: u8) -> fmt::Result {
        let f = self.next()?;
        operand::write(f, operand, ty, dwords)
    }
}

impl Inst {
    /// Whether it is of gfx1250.
    fn newer(&self) -> bool {
        self.chip == Chip::Gfx1250
    }

    /// Which encoding it is, where the mnemonic alone does not say so.
    fn suffix(&self) -> &'static str {
        let both = self.row.has(E64) && self.row.src[0] != Ty::None;
        // LLVM does not tell these two apart.
        let both = both && !(self.newer() && matches!(self.op, Op::VCvtPkF16Fp8 | Op::VCvtPkF16Bf8));
        let compare = self.format == Format::Vopc && self.newer();
        match (self.format, self.mods.lanes) {
            (_, Lanes::Dpp(_) | Lanes::Dpp8(_)) if compare => "",
            (Format::Vop3 | Format::Vop3b | Format::Vop3p, Lanes::Dpp(_) | Lanes::Dpp8(_)) => "_e64_dpp",
            (_, Lanes::Sdwa(_)) => "_sdwa",
            (_, Lanes::Dpp(_) | Lanes::Dpp8(_)) => "_dpp",
            (Format::Vop1 | Format::Vop2 | Format::Vopc, _) if both => "_e32",
            (Format::Vop3 | Format::Vop3b, _) if both => "_e64",
            _ => "",
        }
    }

    fn print_scalar(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut list = List::new(f);
        if self.dst != Operand::None {
            list.operand(self.dst, self.row.dst, self.dst_dwords)?;
        }
        let sources = if self.row.has(LITERAL) { 3 } else { 2 };
        for i in 0..sources {
            match self.src[i] {
                Operand::Simm16(value) if self.newer() => immediate12::message(list.next()?, value as u16)?,
                Operand::Literal(value) if self.is_constant(i) => write!(list.next()?, "{value:#x}")?,
                Operand::Literal64 => operand::literal64(list.next()?, self.literal64(), self.row.src[i], false)?,
                Operand::Simm16(value) => immediate::gpr_idx(list.next()?, value as u16, 0xff)?,
                // LLVM shows the literals of these as 32 bits.
                source @ Operand::Literal(_) if self.format == Format::Sop1 && self.row.src[i] == Ty::F16 => {
                    list.operand(source, Ty::F32, 1)?;
                }
                source if self.row.src[i] != Ty::None => list.operand(source, self.row.src[i], self.src_dwords[i])?,
                _ => {}
            }
        }
        Ok(())
    }

    fn print_sopk(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let row = self.row;
        let value = self.src.iter().find_map(|source| match source {
            Operand::Simm16(value) => Some(*value as u16),
            _ => None,
        });
        let value = value.unwrap_or(0);
        let mut list = List::new(f);
        if row.has(HWREG) {
            if self.dst != Operand::None {
                list.operand(self.dst, row.dst, self.dst_dwords)?;
            }
            immediate::hwreg(list.next()?, value, self.newer())?;
            if row.has(DST_READ) {
                list.operand(self.src[0], row.src[0], self.src_dwords[0])?;
            }
            if let Operand::Literal(value) = self.src[1] {
                immediate::wide(list.next()?, value)?;
            }
            return Ok(());
        }
        if row.has(DST_READ) {
            list.operand(self.src[0], row.src[0], self.src_dwords[0])?;
        } else if self.dst != Operand::None {
            list.operand(self.dst, row.dst, self.dst_dwords)?;
        }
        let f = list.next()?;
        if self.op == Op::SVersion {
            return immediate12::version(f, value);
        }
        if row.has(LABEL) { write!(f, "{value}") } else { write!(f, "{value:#x}") }
    }

    fn print_sopp(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Operand::Simm16(value) = self.src[0] else { return Ok(()) };
        let (row, value) = (self.row, value as u16);
        if row.has(OPTIONAL) && value == 0 {
            return Ok(());
        }
        f.write_str(" ")?;
        match () {
            _ if row.has(HEX) => write!(f, "{value:#x}"),
            _ if row.has(DELAY) => immediate12::delay(f, value),
            _ if row.has(DEPCTR) => immediate12::alu_counters(f, value),
            _ if row.has(MESSAGE) && self.newer() => immediate12::message(f, value),
            _ if row.has(COUNTERS) => immediate::counters(f, value),
            _ if row.has(MESSAGE) => immediate::message(f, value),
            _ if row.has(GPR_IDX) => immediate::gpr_idx(f, value, 0xffff),
            _ if row.has(LABEL) || row.has(OPTIONAL) => write!(f, "{value}"),
            _ => immediate::number(f, value),
        }
    }
}

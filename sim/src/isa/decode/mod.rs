//! From code bytes to [`Inst`].
//!
//! Must hold: pure; constant work per instruction (one table look-up, no allocation), so that a code object is decoded once up
//! front; at most three dwords are looked at; every bit is either understood, known to be ignored by the hardware's decoder
//! (as LLVM's disassembler, with which it is compared, ignores it) or refused. Where LLVM is laxer than the instruction set
//! documents (registers that do not exist on these chips, register tuples that are not aligned, literals in 64-bit vector
//! encodings), this decoder refuses: [`Why`] lists the cases.

mod gfx12;
mod memory;
mod operand;
mod scalar;
mod vector;

pub(super) use gfx12::mixes;

use std::fmt;

use super::Chip;
use super::inst::{Format, Inst};
use super::operand::{MemMods, Mods, Operand};
use super::table::{self, Row};

/// Why a word is no instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The code ends inside the instruction.
    Truncated,
    /// No instruction of this chip has this opcode, or it lacks the form asked for.
    Opcode,
    /// A bit is set that must be zero for this opcode.
    Reserved,
    /// No such register or constant at this place.
    Operand,
    /// The register tuple does not begin at an aligned number, or runs past the last register.
    Tuple,
    /// A literal where the encoding has none.
    Literal,
    /// A sub-dword selection or a lane pattern that does not exist.
    Lanes,
}

impl Why {
    fn text(self) -> &'static str {
        match self {
            Why::Truncated => "the code ends inside this instruction",
            Why::Opcode => "no instruction of this chip has this opcode and form",
            Why::Reserved => "a bit is set that must be zero",
            Why::Operand => "an operand names a register or constant that does not exist there",
            Why::Tuple => "a register tuple is not aligned or runs past the last register",
            Why::Literal => "this encoding takes no literal",
            Why::Lanes => "a sub-dword selection or lane pattern does not exist",
        }
    }
}

/// What could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeError {
    /// The dwords looked at; those behind `have` are 0.
    pub dwords: [u32; 3],
    /// How many of them the code had, 0..=3.
    pub have: u8,
    /// Which chip was decoded for.
    pub chip: Chip,
    /// Why.
    pub why: Why,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown encoding on {}:", self.chip.name())?;
        for dword in &self.dwords[..usize::from(self.have.min(2))] {
            write!(f, " {dword:#010x}")?;
        }
        write!(f, " ({})", self.why.text())
    }
}

impl std::error::Error for DecodeError {}

/// Decodes the instruction at the start of `words`, which may go on behind it.
///
/// # Errors
/// If the words begin no instruction of the chip; see [`Why`].
pub fn decode(words: &[u32], chip: Chip) -> Result<Inst, DecodeError> {
    let mut code = Code::new(words, chip);
    code.instruction().map_err(|why| DecodeError { dwords: code.words, have: code.have as u8, chip, why })
}

/// The second operation of an instruction of two.
pub(super) fn second(first: &Inst) -> Option<Inst> {
    gfx12::second(first)
}

/// The words at hand, and how many belong to the instruction so far.
struct Code {
    words: [u32; 3],
    have: usize,
    used: usize,
    chip: Chip,
    /// gfx1250: dwords of the encoding, without a literal or a dword of lanes.
    encoded: usize,
    /// gfx1250: the literal has 64 bits.
    wide_literal: bool,
}

impl Code {
    fn new(words: &[u32], chip: Chip) -> Code {
        let have = words.len().min(3);
        let mut code = Code { words: [0; 3], have, used: 1, chip, encoded: 1, wide_literal: false };
        code.words[..have].copy_from_slice(&words[..have]);
        code
    }

    fn instruction(&mut self) -> Result<Inst, Why> {
        let w = self.word(0)?;
        let mut inst = match w >> 26 {
            _ if self.chip == Chip::Gfx1250 => self.instruction12(w),
            0x20..=0x2f => self.scalar(w),
            0x30 => self.smem(w),
            0x34 => self.vop3(w),
            0x36 => self.ds(w),
            0x37 => self.flat(w),
            0x38 => self.mubuf(w),
            0x3a => self.mtbuf(w),
            0x00..=0x1f => self.short_vector(w),
            _ => Err(Why::Opcode),
        }?;
        (inst.len, inst.chip) = (self.used as u8, self.chip);
        inst.raw[..self.used].copy_from_slice(&self.words[..self.used]);
        Ok(inst)
    }

    fn word(&self, i: usize) -> Result<u32, Why> {
        if i < self.have { Ok(self.words[i]) } else { Err(Why::Truncated) }
    }

    /// The second dword of a 64-bit encoding.
    fn second(&mut self) -> Result<u32, Why> {
        (self.used, self.encoded) = (2, 2);
        self.word(1)
    }

    /// The literal behind a 32-bit encoding; the same one if two operands name it.
    fn literal(&mut self) -> Result<u32, Why> {
        self.used = 2;
        self.word(1)
    }

    /// The row of an opcode, if this chip has it.
    fn row<const N: usize>(&self, rows: &'static [Row], index: &[u16; N], code: u32) -> Result<&'static Row, Why> {
        let at = *index.get(code as usize).ok_or(Why::Opcode)?;
        if at == table::ABSENT {
            return Err(Why::Opcode);
        }
        let row = &rows[usize::from(at)];
        let other = match self.chip {
            Chip::Gfx942 => table::GFX950,
            Chip::Gfx950 => table::GFX942,
            Chip::Gfx1250 => 0,
        };
        if row.flags & other != 0 { Err(Why::Opcode) } else { Ok(row) }
    }
}

/// An instruction without operands.
fn blank(row: &'static Row, format: Format) -> Inst {
    Inst {
        op: row.op,
        chip: Chip::Gfx942,
        format,
        len: 1,
        code: row.code,
        raw: [0; 3],
        dst: Operand::None,
        sdst: Operand::None,
        src: [Operand::None; 4],
        src_dwords: [0; 4],
        dst_dwords: 0,
        sdst_dwords: 0,
        mods: Mods::default(),
        mem: MemMods::default(),
        is_second: false,
        row,
    }
}

impl Inst {
    fn set_dst(&mut self, operand: Operand, dwords: u8) {
        self.dst = operand;
        self.dst_dwords = dwords;
    }

    fn set_sdst(&mut self, operand: Operand, dwords: u8) {
        self.sdst = operand;
        self.sdst_dwords = dwords;
    }

    fn set_src(&mut self, i: usize, operand: Operand, dwords: u8) {
        self.src[i] = operand;
        self.src_dwords[i] = dwords;
    }
}

/// `count` bits of `word` from bit `at` on.
fn bits(word: u32, at: u32, count: u32) -> u32 {
    (word >> at) & ((1 << count) - 1)
}

/// A bit of `word`.
fn bit(word: u32, at: u32) -> bool {
    word >> at & 1 != 0
}

//! A decoded instruction.
//!
//! **Order of operands.** Sources stand in the order in which the instruction is printed, except where a family has fixed
//! places:
//!
//! | family | `src[0]` | `src[1]` | `src[2]` | `src[3]` |
//! |---|---|---|---|---|
//! | SOPK | `Simm16`, or the register that is also read | `Simm16` or literal | | |
//! | SMEM | base | offset register | stored or atomic data | |
//! | DS | address | data 0 | data 1 | |
//! | FLAT, GLOBAL, SCRATCH | vector address | data | scalar address | |
//! | MUBUF, MTBUF, VBUFFER | vector address | stored or atomic data | resource (4 SGPRs) | scalar offset |
//!
//! An absent operand is [`Operand::None`]: a GLOBAL access with `src[2] == None` has a 64-bit address in `src[0]`, one with a
//! scalar address a 32-bit offset there. An atomic's `dst` is `None` unless it returns the old value.
//!
//! **Registers read without being printed** are sources, too: `fmac`-like instructions read their destination as the last
//! source, `v_cndmask_b32` and the carry-in of `v_addc_co_u32` read `vcc` in the short encoding as source 2, D16 loads and
//! 16-bit results that keep the other half are marked by [`Inst::keeps_dst`]. `sdst` is the carry-out, the second
//! destination or the mask of a compare (`VccLo` in the short encodings). EXEC, SCC, M0 and the implicit VCC of
//! `v_div_fmas` are never operands unless they are encoded as such.
//!
//! **gfx1250.** An instruction of two operations (VOPD) is two `Inst`s: [`decode`](fn@super::decode) gives the first, X, and
//! [`Inst::second`] the other; both read their sources before either writes, and both have the length and the dwords of the
//! whole. Lane masks (`sdst`, carry-in, the mask of `v_cndmask_b32`) are one dword wide, since waves have 32 lanes. A
//! 64-bit literal is [`Operand::Literal64`] with its value in [`Inst::literal64`]. 16-bit results keep the other half of the
//! register ([`Inst::keeps_dst`]); which half is read or written is [`Mods::op_sel`], as in gfx9's VOP3.
//!
//! Must hold: everything the executor and the printer need is here, so that neither reads the tables or the raw bits.

use super::Chip;
use super::op::Op;
use super::operand::{MemMods, Mods, Operand};
use super::table::Row;

/// The encodings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Format {
    /// Scalar, two sources.
    Sop2,
    /// Scalar with a 16-bit immediate.
    Sopk,
    /// Scalar, one source.
    Sop1,
    /// Scalar compare.
    Sopc,
    /// Program control.
    Sopp,
    /// Scalar memory.
    Smem,
    /// Vector, one source.
    Vop1,
    /// Vector, two sources.
    Vop2,
    /// Vector compare.
    Vopc,
    /// Vector, 64-bit encoding with three sources and modifiers (VOP3A).
    Vop3,
    /// The same with a scalar destination (VOP3B).
    Vop3b,
    /// Packed math and matrix instructions.
    Vop3p,
    /// LDS.
    Ds,
    /// Flat addresses.
    Flat,
    /// Scratch addresses.
    Scratch,
    /// Global addresses.
    Global,
    /// Buffers.
    Mubuf,
    /// Typed buffers.
    Mtbuf,
    /// gfx1250: two operations in 64 bits. gfx1250's VGLOBAL, VFLAT, VSCRATCH, VDS and VBUFFER are
    /// [`Global`](Format::Global), [`Flat`](Format::Flat), [`Scratch`](Format::Scratch), [`Ds`](Format::Ds) and
    /// [`Mubuf`](Format::Mubuf).
    Vopd,
    /// gfx1250: two operations in 96 bits, with negation and a third source.
    Vopd3,
}

/// A decoded instruction. About a hundred bytes; decoded once per program counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// The chip that it was decoded for.
    pub chip: Chip,
    /// How it is encoded.
    pub format: Format,
    /// Length in dwords, literal included: 1..=3.
    pub len: u8,
    /// The opcode number within its own encoding.
    pub code: u16,
    /// The encoded dwords; those behind `len` are 0.
    pub raw: [u32; 3],
    /// Destination.
    pub dst: Operand,
    /// Carry-out, second destination or mask of a compare.
    pub sdst: Operand,
    /// Sources.
    pub src: [Operand; 4],
    /// Widths of `src` in dwords; 0 where absent.
    pub src_dwords: [u8; 4],
    /// Width of `dst` in dwords; 0 where absent.
    pub dst_dwords: u8,
    /// Width of `sdst` in dwords; 0 where absent.
    pub sdst_dwords: u8,
    /// Modifiers of vector ALU instructions.
    pub mods: Mods,
    /// Modifiers of memory instructions.
    pub mem: MemMods,
    /// gfx1250: the second operation of an instruction of two.
    pub is_second: bool,
    /// The table row it was decoded by: types of the operands, flags.
    pub row: &'static Row,
}

impl Inst {
    /// Width of source `i` in dwords; a 16-bit or smaller operand counts as one, an absent one as none.
    ///
    /// # Panics
    /// If `i > 3`.
    pub fn src_width(&self, i: usize) -> usize {
        usize::from(self.src_dwords[i])
    }

    /// Width of the destination in dwords; 0 where there is none.
    pub fn dst_width(&self) -> usize {
        usize::from(self.dst_dwords)
    }

    /// Width of the second destination in dwords; 0 where there is none.
    pub fn sdst_width(&self) -> usize {
        usize::from(self.sdst_dwords)
    }

    /// Whether a part of each written destination register keeps its old bits (D16 loads, 16-bit results of some instructions
    /// with op_sel, SDWA with `UNUSED_PRESERVE`).
    pub fn keeps_dst(&self) -> bool {
        use super::operand::{Lanes, Sdwa, Sel, Unused};
        match self.mods.lanes {
            Lanes::Sdwa(Sdwa { dst_sel: Some(sel), dst_unused: Unused::Preserve, .. }) if sel != Sel::Dword => true,
            _ => self.row.has(super::table::KEEPS),
        }
    }

    /// The value of [`Operand::Literal64`]: the two dwords behind a 32-bit encoding. 0 where there is no such literal.
    pub fn literal64(&self) -> u64 {
        if self.len < 3 { 0 } else { u64::from(self.raw[1]) | u64::from(self.raw[2]) << 32 }
    }

    /// The second operation, Y, of an instruction of two ([`Format::Vopd`], [`Format::Vopd3`]); `None` for all others, and
    /// for a second operation itself. It is decoded at each call: keep it.
    pub fn second(&self) -> Option<Inst> {
        super::decode::second(self)
    }

    /// What this chip calls the operation, without an encoding suffix.
    pub fn mnemonic(&self) -> &'static str {
        if self.row.name.is_empty() { self.op.mnemonic() } else { self.row.name }
    }

    /// Bytes of the encoding.
    pub fn bytes(&self) -> u64 {
        u64::from(self.len) * 4
    }
}

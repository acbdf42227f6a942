//! Opcode tables: one file per family of encodings, one row per opcode.
//!
//! A row reads `CODE Name DST SDST? <- SOURCES | FLAGS "BITS";`: the opcode number within the family, the operation, the types
//! of its operands in the order that [`Inst`](super::Inst) documents, flags, and for the 64-bit vector encodings which modifier
//! bits it has. The rows of the short vector encodings describe their 64-bit forms, too: VOPC `n` is VOP3 opcode `n`, VOP2 is
//! `0x100 + n`, VOP1 is `0x140 + n`.
//!
//! **Where the numbers come from.** The opcode enumerations of the published instruction set documents, in the form in which
//! `hardware.md` section 7 names them; each row was compared with LLVM 22.1's disassembler, and `tests/sim_isa` compares
//! every row on every run.
//!
//! Must hold: rows are sorted by opcode, and an operation has one row in each family it occurs in. Nothing here runs code.

mod ds;
mod flat;
pub mod gfx12;
mod mubuf;
mod smem;
mod sop;
mod vop1;
mod vop2;
mod vop3;
mod vop3p;
mod vopc;

use super::op::Op;

pub use ds::DS;
pub use flat::{FLAT, GLOBAL, SCRATCH};
pub use mubuf::{MTBUF, MUBUF};
pub use smem::SMEM;
pub use sop::{SOP1, SOP2, SOPC, SOPK, SOPP};
pub use vop1::VOP1;
pub use vop2::VOP2;
pub use vop3::VOP3;
pub use vop3p::VOP3P;
pub use vopc::VOPC;

/// Type of an operand: its width, and what an inline constant or a literal means there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ty {
    /// No operand.
    None,
    /// 16-bit integer or bits in a dword.
    B16,
    /// Half-precision float in a dword.
    F16,
    /// Brain float in a dword.
    Bf16,
    /// 32-bit integer or bits.
    B32,
    /// Single-precision float.
    F32,
    /// Two 16-bit integers in a dword.
    Pb16,
    /// Two half-precision floats in a dword.
    Pf16,
    /// Two brain floats in a dword.
    Pbf16,
    /// 64-bit integer or bits.
    B64,
    /// Double-precision float.
    F64,
    /// Two 32-bit integers.
    Pb32,
    /// Two single-precision floats.
    Pf32,
    /// A scalar register, 32 bits.
    S32,
    /// gfx1250: a lane mask: a scalar register, 32 bits.
    M32,
    /// A pair of scalar registers: a lane mask or an address.
    S64,
    /// Four scalar registers: a buffer resource.
    S128,
    /// Three dwords.
    W3,
    /// Four dwords.
    W4,
    /// Six dwords.
    W6,
    /// Eight dwords.
    W8,
    /// Sixteen dwords.
    W16,
    /// Thirty-two dwords.
    W32,
}

impl Ty {
    /// Width in dwords; 0 for [`Ty::None`].
    pub const fn dwords(self) -> u8 {
        match self {
            Ty::None => 0,
            Ty::B16 | Ty::F16 | Ty::Bf16 | Ty::B32 | Ty::F32 | Ty::Pb16 | Ty::Pf16 | Ty::Pbf16 | Ty::S32 | Ty::M32 => 1,
            Ty::B64 | Ty::F64 | Ty::Pb32 | Ty::Pf32 | Ty::S64 => 2,
            Ty::W3 => 3,
            Ty::W4 | Ty::S128 => 4,
            Ty::W6 => 6,
            Ty::W8 => 8,
            Ty::W16 => 16,
            Ty::W32 => 32,
        }
    }

    /// Whether it holds floats: negation and absolute value apply, and a 32-bit literal of a 64-bit operand is its high half.
    pub const fn is_float(self) -> bool {
        matches!(self, Ty::F16 | Ty::Bf16 | Ty::F32 | Ty::F64 | Ty::Pf16 | Ty::Pbf16 | Ty::Pf32)
    }

    /// Whether it is 16 bits wide (not packed).
    pub const fn is_half(self) -> bool {
        matches!(self, Ty::B16 | Ty::F16 | Ty::Bf16)
    }

    /// Whether only scalar registers can stand here.
    pub const fn is_scalar(self) -> bool {
        matches!(self, Ty::S32 | Ty::M32 | Ty::S64 | Ty::S128)
    }
}

/// Only gfx942 has it.
pub const GFX942: u64 = 1 << 0;
/// Only gfx950 has it.
pub const GFX950: u64 = 1 << 1;
/// A short vector instruction that also exists in the 64-bit encoding.
pub const E64: u64 = 1 << 2;
/// It has no SDWA form.
pub const NO_SDWA: u64 = 1 << 3;
/// It has no DPP form.
pub const NO_DPP: u64 = 1 << 4;
/// The destination is also the last source.
pub const TIED: u64 = 1 << 5;
/// A part of the destination keeps its old bits.
pub const KEEPS: u64 = 1 << 6;
/// Memory: it reads into registers (or LDS).
pub const LOAD: u64 = 1 << 7;
/// Memory: it writes memory.
pub const STORE: u64 = 1 << 8;
/// Memory: it reads, changes and writes.
pub const ATOMIC: u64 = 1 << 9;
/// Memory: the loaded data goes to LDS (MUBUF: with the bit `lds`).
pub const TO_LDS: u64 = 1 << 10;
/// DS: two offsets of 8 bits.
pub const TWO: u64 = 1 << 11;
/// DS: the second offset counts 64 elements.
pub const ST64: u64 = 1 << 12;
/// DS: with the bit `gds`; all others without it, since these chips have no global data share.
pub const GDS: u64 = 1 << 13;
/// SDWA always writes the whole destination.
pub const WHOLE: u64 = 1 << 14;
/// A matrix instruction.
pub const MATRIX: u64 = 1 << 15;
/// A matrix instruction whose sources have the format that `cbsz` and `blgp` say, and so its width.
pub const FORMATS: u64 = 1 << 21;
/// SOPP, SOPK: the immediate is a branch distance in dwords.
pub const LABEL: u64 = 1 << 16;
/// The immediate is a hardware register and a bit range.
pub const HWREG: u64 = 1 << 17;
/// The immediate is counters to wait for.
pub const COUNTERS: u64 = 1 << 18;
/// The immediate is a message.
pub const MESSAGE: u64 = 1 << 19;
/// The immediate is register-index modes.
pub const GPR_IDX: u64 = 1 << 20;
/// The immediate is printed only if it is not 0.
pub const OPTIONAL: u64 = 1 << 22;
/// A 32-bit literal follows as part of the instruction.
pub const LITERAL: u64 = 1 << 23;
/// The instruction has a 16-bit immediate.
pub const IMM: u64 = 1 << 24;
/// The destination register is only read.
pub const DST_READ: u64 = 1 << 25;
/// MUBUF: only gfx950 has the form with the bit `lds`.
pub const LDS950: u64 = 1 << 27;
/// The first source is a register: no constant, and no scalar register in a vector instruction.
pub const REGISTER_ONLY: u64 = 1 << 26;

/// gfx1250: the bits of `op_sel` pick a byte: of the source in bits 1:0 (the high bit first), or of the destination in 3:2.
pub const BYTE_SEL: u64 = 1 << 28;
/// gfx1250: the source is a scalar register or a constant.
pub const NO_VGPR: u64 = 1 << 29;
/// gfx1250: the source is no literal.
pub const NO_LITERAL: u64 = 1 << 30;
/// gfx1250: the immediate is printed in hexadecimal.
pub const HEX: u64 = 1 << 31;
/// gfx1250: the immediate is the instructions that results are awaited of.
pub const DELAY: u64 = 1 << 32;
/// gfx1250: the immediate is counters of the ALUs.
pub const DEPCTR: u64 = 1 << 33;
/// gfx1250: scalar memory without data: where others have the data register is a length, added to the offset register.
pub const PREFETCH: u64 = 1 << 34;
/// gfx1250: it can be the first of two operations.
pub const DUAL_X: u64 = 1 << 35;
/// gfx1250: it can be the second of two operations.
pub const DUAL_Y: u64 = 1 << 36;
/// gfx1250: one of two operations only in the 96-bit encoding.
pub const LONG_ONLY: u64 = 1 << 37;

/// gfx1250: the four bits of `op_sel` pick a scale.
pub const SCALE_SEL: u64 = 1 << 38;

/// Modifier bits of a 64-bit vector encoding, in the order of the row's pattern: three of `neg`, three of `abs` (`neg_hi`), then
/// `clamp`. VOP3 goes on with two of `omod` and four of `op_sel`; VOP3P with three of `op_sel` and three of `op_sel_hi`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bits {
    /// Bits that mean something (`+`).
    pub used: u16,
    /// Bits that must be zero (`X`); bits in neither set are ignored (`-`).
    pub zero: u16,
}

impl Bits {
    /// Reads a pattern of `+`, `X`, `-`; blanks are skipped.
    const fn of(pattern: &str) -> Bits {
        let bytes = pattern.as_bytes();
        let mut bits = Bits { used: 0, zero: 0 };
        let (mut i, mut at) = (0, 0);
        while i < bytes.len() {
            match bytes[i] {
                b'+' => bits.used |= 1 << at,
                b'X' => bits.zero |= 1 << at,
                _ => {}
            }
            if bytes[i] != b' ' {
                at += 1;
            }
            i += 1;
        }
        bits
    }
}

/// An opcode of one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Opcode number within the family.
    pub code: u16,
    /// What it does.
    pub op: Op,
    /// Destination.
    pub dst: Ty,
    /// Second destination.
    pub sdst: Ty,
    /// Sources, where [`Inst`](super::Inst) has them.
    pub src: [Ty; 4],
    /// Flags of this module, or-ed.
    pub flags: u64,
    /// Modifier bits in the 64-bit vector encoding.
    pub bits: Bits,
    /// The mnemonic where this chip has another one than [`Op::mnemonic`]; else empty.
    pub name: &'static str,
}

impl Row {
    /// Whether it has all these flags.
    pub const fn has(&self, flags: u64) -> bool {
        self.flags & flags == flags
    }

    const fn new(code: u16, op: Op, dst: &[Ty], src: &[Ty], flags: u64, text: [&'static str; 2]) -> Row {
        let mut row = Row {
            code,
            op,
            dst: Ty::None,
            sdst: Ty::None,
            src: [Ty::None; 4],
            flags,
            bits: Bits::of(text[0]),
            name: text[1],
        };
        if !dst.is_empty() {
            row.dst = dst[0];
        }
        if dst.len() > 1 {
            row.sdst = dst[1];
        }
        let mut i = 0;
        while i < src.len() {
            row.src[i] = src[i];
            i += 1;
        }
        row
    }
}

/// A table from rows.
macro_rules! rows {
    ($(#[$meta:meta])* $table:ident:
     $($code:literal $op:ident $($dst:ident)* <- $($src:ident)* $(| $($flag:ident)* $($bits:literal)?)?
        $(= $name:literal)? ;)*) => {
        $(#[$meta])*
        pub static $table: &[Row] = &[$(Row::new(
            $code, Op::$op, &[$(Ty::$dst),*], &[$(Ty::$src),*], 0 $($(| $flag)*)?,
            [concat!("" $($(, $bits)?)?), concat!("" $(, $name)?)],
        )),*];
    };
}
use rows;

/// No row at this opcode.
pub(super) const ABSENT: u16 = u16::MAX;

/// Index of the rows by opcode; `N` is above every opcode of the family.
pub(super) const fn index<const N: usize>(rows: &[Row]) -> [u16; N] {
    let mut by_code = [ABSENT; N];
    let mut i = 0;
    while i < rows.len() {
        by_code[rows[i].code as usize] = i as u16;
        i += 1;
    }
    by_code
}

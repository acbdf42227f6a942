//! Operand codes.
//!
//! Must hold: tuples that are not aligned are refused, as on gfx9; a 32-bit and a 64-bit literal never stand in one
//! instruction.

use crate::isa::decode::operand::vector_register;
use crate::isa::decode::{Code, Why};
use crate::isa::operand::{InlineFloat, Operand};
use crate::isa::table::{NO_LITERAL, NO_VGPR, REGISTER_ONLY, Row, TIED, Ty};

/// What a code says that a literal follows.
pub(super) const LITERAL32: u32 = 255;
pub(super) const LITERAL64: u32 = 254;
/// The register that is none.
pub(super) const NULL: u32 = 124;

/// A scalar register (codes 0..=127) of `dwords` dwords.
pub(super) fn scalar_register(code: u32, dwords: u8) -> Result<Operand, Why> {
    let align = match dwords {
        0 | 1 => 1,
        2 => 2,
        _ => 4,
    };
    let aligned = |number: u32, count: u32| {
        let fits = number.is_multiple_of(align) && number + u32::from(dwords) <= count;
        if fits { Ok(number as u8) } else { Err(Why::Tuple) }
    };
    let narrow = |most: u8, operand: Operand| if dwords > most { Err(Why::Tuple) } else { Ok(operand) };
    match code {
        0..=105 => aligned(code, 106).map(Operand::Sgpr),
        106 => narrow(2, Operand::VccLo),
        107 => narrow(1, Operand::VccHi),
        108..=123 => aligned(code - 108, 16).map(Operand::Ttmp),
        NULL => Ok(Operand::Null),
        125 => narrow(1, Operand::M0),
        126 => narrow(2, Operand::ExecLo),
        127 => narrow(1, Operand::ExecHi),
        _ => Err(Why::Operand),
    }
}

impl Code {
    /// A scalar source (codes 0..=255).
    pub(super) fn scalar_source12(&mut self, code: u32, dwords: u8) -> Result<Operand, Why> {
        match code {
            0..=127 => scalar_register(code, dwords),
            LITERAL32 if !self.wide_literal => self.behind().map(Operand::Literal),
            LITERAL64 if dwords == 2 && self.encoded == 1 => self.literal64(),
            LITERAL32 | LITERAL64 => Err(Why::Literal),
            _ if dwords > 2 => Err(Why::Operand),
            128..=192 => Ok(Operand::InlineInt(code as i32 - 128)),
            193..=208 => Ok(Operand::InlineInt(192 - code as i32)),
            230 => Ok(Operand::ScratchBaseLo),
            231 if dwords == 1 => Ok(Operand::ScratchBaseHi),
            235 => Ok(Operand::SharedBase),
            236 => Ok(Operand::SharedLimit),
            237 => Ok(Operand::PrivateBase),
            238 => Ok(Operand::PrivateLimit),
            239 => Ok(Operand::PopsExitingWaveId),
            240..=248 => Ok(Operand::InlineFloat(InlineFloat::ALL[code as usize - 240])),
            251 => Ok(Operand::Vccz),
            252 => Ok(Operand::Execz),
            253 => Ok(Operand::Scc),
            _ => Err(Why::Operand),
        }
    }

    /// The 64-bit literal behind a 32-bit encoding.
    pub(super) fn literal64(&mut self) -> Result<Operand, Why> {
        if self.used == 2 {
            return Err(Why::Literal);
        }
        (self.used, self.wide_literal) = (3, true);
        self.word(2).map(|_| Operand::Literal64)
    }

    /// Source `i` of a vector instruction (codes 0..=511).
    pub(super) fn vector_source12(&mut self, code: u32, row: &Row, i: usize) -> Result<Operand, Why> {
        let ty = row.src[i];
        let register = code > 255;
        match code {
            // A mask or a lane number is a scalar register; a lane number may be a constant, too.
            _ if (ty.is_scalar() || row.has(NO_VGPR)) && register || ty == Ty::M32 && code > 127 => Err(Why::Operand),
            _ if row.has(REGISTER_ONLY) && !register && (i == 0 || row.has(TIED) && !ty.is_scalar()) => {
                Err(Why::Operand)
            }
            LITERAL32 | LITERAL64 if row.has(NO_LITERAL) => Err(Why::Literal),
            // Wide tuples are vector registers.
            0..256 if ty.dwords() > 2 => Err(Why::Operand),
            256.. => vector_register(code - 256, ty.dwords()),
            _ => self.scalar_source12(code, ty.dwords()),
        }
    }
}

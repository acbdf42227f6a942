//! Operand codes.
//!
//! Must hold: registers that these chips do not have (the `null` of later ones, scalar registers above 101) and tuples that are
//! not aligned are refused: even numbers for pairs, multiples of four for larger scalar tuples, even numbers for all vector
//! tuples.

use super::{Code, Why};
use crate::isa::operand::{InlineFloat, Operand};
use crate::isa::table::Ty;

/// Whether a literal may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Literals {
    Allowed,
    Refused,
}

/// A scalar register (codes 0..=127) of `dwords` dwords.
pub(super) fn scalar_register(code: u32, dwords: u8) -> Result<Operand, Why> {
    let wide = dwords > 1;
    let align = match dwords {
        0 | 1 => 1,
        2 => 2,
        _ => 4,
    };
    let aligned = |number: u32, count: u32| {
        if number.is_multiple_of(align) && number + u32::from(dwords) <= count {
            Ok(number as u8)
        } else {
            Err(Why::Tuple)
        }
    };
    let single = |operand: Operand| if wide { Err(Why::Tuple) } else { Ok(operand) };
    let pair = |operand: Operand| if dwords > 2 { Err(Why::Tuple) } else { Ok(operand) };
    match code {
        0..=101 => aligned(code, 102).map(Operand::Sgpr),
        102 => pair(Operand::FlatScratchLo),
        103 => single(Operand::FlatScratchHi),
        104 => pair(Operand::XnackMaskLo),
        105 => single(Operand::XnackMaskHi),
        106 => pair(Operand::VccLo),
        107 => single(Operand::VccHi),
        108..=123 => aligned(code - 108, 16).map(Operand::Ttmp),
        124 => single(Operand::M0),
        126 => pair(Operand::ExecLo),
        127 => single(Operand::ExecHi),
        _ => Err(Why::Operand),
    }
}

/// A vector register of `dwords` dwords.
pub(super) fn vector_register(number: u32, dwords: u8) -> Result<Operand, Why> {
    vector_tuple(number, dwords).map(Operand::Vgpr)
}

/// The same, from the accumulation half if `acc`.
pub(super) fn data_register(number: u32, dwords: u8, acc: bool) -> Result<Operand, Why> {
    vector_tuple(number, dwords).map(if acc { Operand::Agpr } else { Operand::Vgpr })
}

fn vector_tuple(number: u32, dwords: u8) -> Result<u8, Why> {
    let aligned = dwords <= 1 || number.is_multiple_of(2);
    if aligned && number + u32::from(dwords) <= 256 { Ok(number as u8) } else { Err(Why::Tuple) }
}

impl Code {
    /// A scalar source (codes 0..=255).
    pub(super) fn scalar_source(&mut self, code: u32, dwords: u8, literals: Literals) -> Result<Operand, Why> {
        match code {
            0..=127 => scalar_register(code, dwords),
            255 if literals == Literals::Allowed => self.literal().map(Operand::Literal),
            255 => Err(Why::Literal),
            _ if dwords > 2 => Err(Why::Operand),
            128..=192 => Ok(Operand::InlineInt(code as i32 - 128)),
            193..=208 => Ok(Operand::InlineInt(192 - code as i32)),
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

    /// A source of a vector instruction (codes 0..=511).
    pub(super) fn vector_source(&mut self, code: u32, ty: Ty, literals: Literals) -> Result<Operand, Why> {
        match code {
            // A mask or a lane number is a scalar register; a lane number may be a constant, too.
            _ if ty.is_scalar() && code > 255 || ty == Ty::S64 && code > 127 => Err(Why::Operand),
            // Wide tuples are vector registers.
            0..256 if ty.dwords() > 2 => Err(Why::Operand),
            256.. => vector_register(code - 256, ty.dwords()),
            254 if ty.dwords() == 1 && !ty.is_scalar() => Ok(Operand::LdsDirect),
            _ => self.scalar_source(code, ty.dwords(), literals),
        }
    }
}

//! Instructions of gfx942 and gfx950 (CDNA3 and CDNA4, waves of 64 lanes) and of gfx1250 (waves of 32 lanes): what they are
//! called, how they are encoded and printed. Nothing here executes one.
//!
//! Use: [`decode()`] takes the dwords at a program counter and gives an [`Inst`], which names its operands and widths and prints as
//! LLVM's disassembler does (`Display`). [`inst`] says where each operand stands; [`Ty`] of a row says what a constant means there.
//! Not listed: the 128-bit encodings of scaled matrix instructions, gfx1250's `v_wmma_*_f8f6f4` and tensor instructions, and
//! graphics (export, interpolation, images), which these chips lack.
//!
//! To add an instruction: its name in [`op`], its row in the file of its family in [`table`], and, if it prints or encodes
//! something that no other does, a line in `decode` and in `print`. `tests/sim_isa` then compares it with LLVM unasked.
//!
//! Must hold: pure functions of the code bytes and the chip; no input panics; an encoding that is not in the tables, or that sets
//! a bit that must be zero, is an error and never a guess.

pub mod decode;
pub mod inst;
pub mod op;
pub mod operand;
mod print;
pub mod table;
#[cfg(test)]
mod tests;

pub use decode::{DecodeError, Why, decode};
pub use inst::{Format, Inst};
pub use op::Op;
pub use operand::{Dpp, Dpp8, InlineFloat, Lanes, MemMods, Mods, Operand, Scope, Sdwa, Sel, Unused};
pub use table::{Row, Ty};

/// Which instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Chip {
    /// gfx942: MI300.
    Gfx942,
    /// gfx950: MI350.
    Gfx950,
    /// gfx1250: of the gfx12 family.
    Gfx1250,
}

impl Chip {
    /// By LLVM's processor name.
    pub fn named(name: &str) -> Option<Chip> {
        match name {
            "gfx942" => Some(Chip::Gfx942),
            "gfx950" => Some(Chip::Gfx950),
            "gfx1250" => Some(Chip::Gfx1250),
            _ => None,
        }
    }

    /// LLVM's processor name.
    pub fn name(self) -> &'static str {
        match self {
            Chip::Gfx942 => "gfx942",
            Chip::Gfx950 => "gfx950",
            Chip::Gfx1250 => "gfx1250",
        }
    }

    /// Lanes of a wave.
    pub fn lanes(self) -> usize {
        if self == Chip::Gfx1250 { 32 } else { 64 }
    }
}

//! gfx1250's encodings.
//!
//! Must hold: see [`super`]. The prefixes differ from gfx9's, and so do register codes, literals (64 bits wide at operands of
//! 64 bits behind a 32-bit encoding, 32 bits wide behind any vector encoding) and memory encodings (96 bits).

mod dual;
mod memory;
mod operand;
mod scalar;
mod short;
mod vop3;

pub(super) use dual::second;
pub(in crate::isa) use vop3::mixes;

use super::{Code, Why};
use crate::isa::inst::Inst;

impl Code {
    pub(super) fn instruction12(&mut self, w: u32) -> Result<Inst, Why> {
        match w >> 24 {
            0x00..=0x7f => self.short12(w),
            0x80..=0xbf => self.scalar12(w),
            0xc4..=0xc7 => self.buffer12(w),
            0xc8..=0xcb => self.dual12(w),
            0xcc => self.vop3p12(w),
            0xcf => self.long_dual12(w),
            0xd4..=0xd7 => self.vop3_12(w),
            0xd8..=0xdb => self.ds12(w),
            0xec..=0xee => self.flat12(w),
            0xf4..=0xf7 => self.smem12(w),
            _ => Err(Why::Opcode),
        }
    }

    /// The next dword behind the encoding: a literal, the same one if two operands name it, or lanes.
    fn behind(&mut self) -> Result<u32, Why> {
        self.used = self.encoded + 1;
        self.word(self.encoded)
    }
}

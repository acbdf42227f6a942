//! Vector instructions that only gfx1250 has: two operations in one, and matrices.
//!
//! Must hold: see [`super`].

use std::fmt::{self, Formatter};

use super::List;
use super::vector::{mask, truth_table};
use crate::isa::inst::{Format, Inst};
use crate::isa::op::Op;

impl Inst {
    /// The first of two operations with the second, or the second alone.
    pub(super) fn print_dual(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut list = List::new(f);
        list.operand(self.dst, self.row.dst, self.dst_dwords)?;
        // In the short form the mask is VCC without a word.
        let masked = self.format == Format::Vopd && self.op == Op::VCndmaskB32;
        let sources = if masked { 2 } else { self.printed_sources() };
        for i in 0..sources {
            let f = list.next()?;
            self.source(f, i)?;
        }
        truth_table(f, self.mods.bitop3)?;
        match self.second() {
            Some(second) => write!(f, " :: {second}"),
            None => Ok(()),
        }
    }

    /// Key, hints and signs of a matrix instruction with `sources` sources.
    pub(super) fn print_matrix12(&self, f: &mut Formatter<'_>, sources: usize) -> fmt::Result {
        let mods = &self.mods;
        let hint = |set: bool, text: &'static str| if set { text } else { "" };
        f.write_str(hint(mods.op_sel & 1 != 0, " index_key:1"))?;
        f.write_str(hint(mods.op_sel & 4 != 0, " matrix_a_reuse"))?;
        f.write_str(hint(mods.op_sel_hi & 4 != 0, " matrix_b_reuse"))?;
        if mods.neg != 0 {
            mask(f, "neg_lo", mods.neg, sources)?;
        }
        if mods.neg_hi != 0 {
            mask(f, "neg_hi", mods.neg_hi, sources)?;
        }
        f.write_str(hint(mods.clamp, " clamp"))
    }
}

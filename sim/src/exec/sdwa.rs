//! Sub-dword addressing: parts of dwords as sources and destination.
//!
//! What must hold here: a selected source part stands in the low bits, zero- or sign-extended; the destination keeps, zeroes or
//! sign-fills what it does not select.

use super::operand::Lanes32;
use crate::isa::{Sdwa, Sel, Unused};

/// First bit and width of a part.
const fn part(sel: Sel) -> (u32, u32) {
    match sel {
        Sel::Byte0 => (0, 8),
        Sel::Byte1 => (8, 8),
        Sel::Byte2 => (16, 8),
        Sel::Byte3 => (24, 8),
        Sel::Word0 => (0, 16),
        Sel::Word1 => (16, 16),
        Sel::Dword => (0, 32),
    }
}

/// Source `index` (0 or 1) with its part selected.
pub(super) fn select(sdwa: Sdwa, index: usize, lanes: &Lanes32) -> Lanes32 {
    let (first, width) = part(sdwa.src_sel[index]);
    let above = 32 - width;
    let signed = sdwa.sext >> index & 1 != 0;
    lanes.map(|value| {
        let top = value << (above - first);
        if signed { (top as i32 >> above) as u32 } else { top >> above }
    })
}

/// The destination after a result was put into the selected part.
pub(super) fn merge(sdwa: Sdwa, old: &Lanes32, new: &Lanes32) -> Lanes32 {
    let (first, width) = part(sdwa.dst_sel.unwrap_or(Sel::Dword));
    let mask = (u32::MAX >> (32 - width)) << first;
    let mut out = [0; crate::wave::LANES];
    for lane in 0..out.len() {
        let placed = new[lane] << first & mask;
        out[lane] = match sdwa.dst_unused {
            Unused::Pad => placed,
            Unused::Preserve => placed | (old[lane] & !mask),
            Unused::Sext => ((placed << (32 - width - first)) as i32 >> (32 - width - first)) as u32,
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{merge, select};
    use crate::isa::{Sdwa, Sel, Unused};

    fn sdwa(dst: Sel, unused: Unused, src: Sel, sext: u8) -> Sdwa {
        Sdwa { dst_sel: Some(dst), dst_unused: unused, src_sel: [src, Sel::Dword], sext }
    }

    #[test]
    fn sources() {
        let lanes = [0x80ff_7f01; 64];
        let pick = |sel, sext| select(sdwa(Sel::Dword, Unused::Pad, sel, sext), 0, &lanes)[0];
        assert_eq!(
            (pick(Sel::Byte0, 0), pick(Sel::Byte1, 0), pick(Sel::Byte2, 0), pick(Sel::Byte3, 0)),
            (1, 0x7f, 0xff, 0x80)
        );
        assert_eq!((pick(Sel::Word0, 0), pick(Sel::Word1, 0), pick(Sel::Dword, 0)), (0x7f01, 0x80ff, 0x80ff_7f01));
        assert_eq!((pick(Sel::Byte3, 1), pick(Sel::Word1, 1), pick(Sel::Byte1, 1)), (0xffff_ff80, 0xffff_80ff, 0x7f));
    }

    #[test]
    fn destinations() {
        let (old, new) = ([0x1122_3344; 64], [0x0000_00f5; 64]);
        let put = |sel, unused| merge(sdwa(sel, unused, Sel::Dword, 0), &old, &new)[63];
        assert_eq!(put(Sel::Byte1, Unused::Pad), 0xf500);
        assert_eq!(put(Sel::Byte1, Unused::Preserve), 0x1122_f544);
        assert_eq!(put(Sel::Byte1, Unused::Sext), 0xffff_f500);
        assert_eq!(put(Sel::Word1, Unused::Preserve), 0x00f5_3344);
        assert_eq!(put(Sel::Dword, Unused::Preserve), 0xf5);
    }
}

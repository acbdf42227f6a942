//! Data-parallel primitives: source 0 taken from another lane.
//!
//! What must hold here: rows are 16 lanes, banks 4. A source lane that does not exist or is inactive gives 0 if `bound_ctrl` is
//! set, else the destination lane is not written; with `fetch_inactive` only one that does not exist does.

use super::operand::Lanes32;
use crate::isa::{Dpp, Dpp8};
use crate::wave::LANES;

/// The lane that `lane` reads, `None` where the pattern leaves the row or the wave.
const fn source(ctrl: u16, lane: usize) -> Option<usize> {
    let row = lane & !15;
    let within = lane & 15;
    let count = (ctrl & 15) as usize;
    match ctrl {
        0x000..=0x0ff => Some((lane & !3) + (ctrl as usize >> (2 * (lane & 3)) & 3)),
        0x101..=0x10f if within + count < 16 => Some(lane + count),
        0x111..=0x11f if within >= count => Some(lane - count),
        0x121..=0x12f => Some(row + ((within + 16 - count) & 15)),
        0x130 if lane < LANES - 1 => Some(lane + 1),
        0x134 => Some((lane + 1) % LANES),
        0x138 if lane > 0 => Some(lane - 1),
        0x13c => Some((lane + LANES - 1) % LANES),
        0x140 => Some(row + 15 - within),
        0x141 => Some((lane & !7) + 7 - (lane & 7)),
        // The last lane of each row goes to the whole next row; row 0 has no such row before it.
        0x142 if lane >= 16 => Some(row - 1),
        0x143 if lane >= 32 => Some(31),
        0x150..=0x15f => Some(row + count),
        0x160..=0x16f => Some(row + (within ^ count)),
        _ => None,
    }
}

/// The permuted source; zero where there is none.
pub(super) fn permute(dpp: Dpp, exec: u64, lanes: &Lanes32) -> Lanes32 {
    let exec = if dpp.fetch_inactive { !0 } else { exec };
    let mut out = [0; LANES];
    for (lane, value) in out.iter_mut().enumerate() {
        if let Some(from) = source(dpp.ctrl, lane).filter(|from| exec >> from & 1 != 0) {
            *value = lanes[from];
        }
    }
    out
}

/// Source 0 where each lane of eight reads any of the eight; an inactive one gives 0.
pub(super) fn permute8(dpp: Dpp8, exec: u64, lanes: &Lanes32) -> Lanes32 {
    let exec = if dpp.fetch_inactive { !0 } else { exec };
    std::array::from_fn(|lane| {
        let from = lane & !7 | (dpp.lanes >> (3 * (lane & 7)) & 7) as usize;
        if exec >> from & 1 != 0 { lanes[from] } else { 0 }
    })
}

/// Lanes that may be written: their row and bank are enabled, and they have a source or read zero.
pub(super) fn written(dpp: Dpp, exec: u64) -> u64 {
    let exec = if dpp.fetch_inactive { !0 } else { exec };
    let mut mask = 0;
    for lane in 0..LANES {
        let enabled = dpp.row_mask >> (lane / 16) & 1 != 0 && dpp.bank_mask >> (lane / 4 % 4) & 1 != 0;
        let sourced = dpp.bound_ctrl || source(dpp.ctrl, lane).is_some_and(|from| exec >> from & 1 != 0);
        mask |= u64::from(enabled && sourced) << lane;
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::{permute, permute8, source, written};
    use crate::isa::{Dpp, Dpp8};

    const ALL: Dpp = Dpp { ctrl: 0, row_mask: 15, bank_mask: 15, bound_ctrl: false, fetch_inactive: false };

    #[test]
    fn patterns() {
        assert_eq!(source(0b00_01_10_11, 4), Some(7), "quad_perm [3,2,1,0]");
        assert_eq!(source(0b00_01_10_11, 7), Some(4));
        assert_eq!((source(0x101, 0), source(0x101, 15)), (Some(1), None), "row_shl:1 reads the lane above");
        assert_eq!((source(0x111, 0), source(0x111, 17)), (None, Some(16)), "row_shr:1 reads the lane below");
        assert_eq!(source(0x121, 16), Some(31), "row_ror:1");
        assert_eq!((source(0x130, 63), source(0x130, 0)), (None, Some(1)), "wave_shl:1");
        assert_eq!((source(0x134, 63), source(0x13c, 0)), (Some(0), Some(63)), "wave_rol:1, wave_ror:1");
        assert_eq!((source(0x138, 0), source(0x138, 16)), (None, Some(15)), "wave_shr:1");
        assert_eq!((source(0x140, 17), source(0x141, 17)), (Some(30), Some(22)), "row_mirror, row_half_mirror");
        assert_eq!((source(0x142, 20), source(0x142, 3)), (Some(15), None), "row_bcast:15");
        assert_eq!((source(0x143, 40), source(0x143, 20)), (Some(31), None), "row_bcast:31");
        assert_eq!(source(0x153, 37), Some(35), "row_newbcast:3, gfx12's row_share:3");
        assert_eq!(source(0x161, 37), Some(36), "row_xmask:1");
    }

    #[test]
    fn eight_lanes_read_each_other() {
        // Lane i reads lane 7 - i of its eight.
        let reversed = (0..8).fold(0, |all, lane| all | (7 - lane) << (3 * lane));
        let lanes = std::array::from_fn(|lane| lane as u32 + 100);
        let dpp = Dpp8 { lanes: reversed, fetch_inactive: false };
        let out = permute8(dpp, !(1 << 15), &lanes);
        assert_eq!((out[0], out[7], out[8], out[9]), (107, 100, 0, 114), "lane 15 is inactive");
        assert_eq!(permute8(Dpp8 { fetch_inactive: true, ..dpp }, 0, &lanes)[8], 115);
    }

    #[test]
    fn inactive_sources_disable_or_give_zero() {
        let shift = Dpp { ctrl: 0x111, ..ALL };
        let exec = !(1 << 4);
        let lanes = std::array::from_fn(|lane| lane as u32 + 100);
        assert_eq!(written(shift, exec) & 0x3f, 0b01_1110, "lane 0 has no source, lane 5 an inactive one");
        let out = permute(shift, exec, &lanes);
        assert_eq!((out[1], out[5]), (100, 0));
        assert_eq!(written(Dpp { bound_ctrl: true, ..shift }, exec), !0);
        let fetching = Dpp { fetch_inactive: true, ..shift };
        assert_eq!(written(fetching, exec) & 0x3f, 0b11_1110);
        assert_eq!(permute(fetching, exec, &lanes)[5], 104);
        assert_eq!(written(Dpp { row_mask: 2, bank_mask: 1, ..ALL }, !0), 0xf_0000);
    }
}

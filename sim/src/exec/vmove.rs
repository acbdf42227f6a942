//! Moves: within a lane, between lanes, and between vector and scalar registers.
//!
//! What must hold here: `v_readlane`, `v_readfirstlane` and `v_writelane` ignore EXEC; the lane swaps exchange whole rows of
//! lanes, active or not, as gfx950 does.

use super::AluFn;
use super::lane::{each, int1};
use super::operand::{float32, int32, int64, mask, put32, put64, scalar32, set_scalar32, vector_index};
use crate::fault::Exec;
use crate::isa::{Inst, Op};
use crate::wave::{LANES, WaveState};

/// The function of a move.
pub(super) fn lookup(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VMovB32 | Op::VAccvgprMovB32 | Op::VAccvgprReadB32 | Op::VAccvgprWriteB32 => |w, i| {
            // A move may carry absolute value and negation in its long encoding.
            let a = float32(w, i, 0);
            put32(w, i, &a);
            Ok(())
        },
        Op::VMovB64 => |w, i| {
            let a = int64(w, i, 0);
            put64(w, i, &a);
            Ok(())
        },
        Op::VCndmaskB32 => |w, i| {
            let (a, b) = (float32(w, i, 0), float32(w, i, 1));
            let choose = mask(w, i.src[2]);
            let mut out = a;
            // Two halves of 32 lanes with a constant bit each, so that the loop compiles to blends.
            for half in 0..2 {
                let bits = (choose >> (32 * half)) as u32;
                for bit in 0..32 {
                    if bits & 1 << bit != 0 {
                        out[half * 32 + bit] = b[half * 32 + bit];
                    }
                }
            }
            put32(w, i, &out);
            Ok(())
        },
        Op::VReadfirstlaneB32 => |w, i| {
            let lane = if w.exec() == 0 { 0 } else { w.exec().trailing_zeros() as usize };
            read_lane(w, i, lane)
        },
        Op::VReadlaneB32 => |w, i| {
            let lane = scalar32(w, i.src[1]) as usize % w.generation.lanes();
            read_lane(w, i, lane)
        },
        Op::VWritelaneB32 => |w, i| {
            let (value, lane) = (scalar32(w, i.src[0]), scalar32(w, i.src[1]) as usize % w.generation.lanes());
            if let Some(index) = vector_index(w, i.dst) {
                w.set_lane(index, lane, value);
            }
            Ok(())
        },
        Op::VMbcntLoU32B32 => |w, i| count_below(w, i, 0),
        Op::VMbcntHiU32B32 => |w, i| count_below(w, i, 32),
        Op::VSwapB32 => swap,
        Op::VPermlane16SwapB32 => |w, i| swap_rows(w, i, 16),
        Op::VPermlane32SwapB32 => |w, i| swap_rows(w, i, 32),
        Op::VPrngB32 => |w, i| int1(w, i, |a| a << 1 ^ if a >> 31 != 0 { 197 } else { 0 }),
        _ => return None,
    })
}

fn read_lane(wave: &mut WaveState, inst: &Inst, lane: usize) -> Exec {
    let value = match vector_index(wave, inst.src[0]) {
        Some(index) => wave.vgprs[index][lane],
        None => scalar32(wave, inst.src[0]),
    };
    set_scalar32(wave, inst.dst, value);
    Ok(())
}

/// Adds the set bits of source 0 that belong to lanes below this one; source 0 stands for the 32 lanes from `first` on.
fn count_below(wave: &mut WaveState, inst: &Inst, first: usize) -> Exec {
    let (a, b) = (int32(wave, inst, 0), int32(wave, inst, 1));
    let below = |lane: usize| match lane.saturating_sub(first) {
        count @ 0..=31 => (1u32 << count) - 1,
        _ => u32::MAX,
    };
    put32(wave, inst, &each(|l| (a[l] & below(l)).count_ones().wrapping_add(b[l])));
    Ok(())
}

fn swap(wave: &mut WaveState, inst: &Inst) -> Exec {
    if let (Some(a), Some(b)) = (vector_index(wave, inst.dst), vector_index(wave, inst.src[0])) {
        let (exec, left, right) = (wave.exec(), wave.vgprs[a], wave.vgprs[b]);
        super::operand::store_lanes(wave, a, exec, &right);
        super::operand::store_lanes(wave, b, exec, &left);
    }
    Ok(())
}

/// Exchanges the odd rows of `size` lanes of the destination with the even rows of the source.
fn swap_rows(wave: &mut WaveState, inst: &Inst, size: usize) -> Exec {
    if let (Some(to), Some(from)) = (vector_index(wave, inst.dst), vector_index(wave, inst.src[0])) {
        let (mut left, mut right) = (wave.vgprs[to], wave.vgprs[from]);
        for lane in (0..LANES).filter(|lane| lane & size == 0) {
            std::mem::swap(&mut right[lane], &mut left[lane + size]);
        }
        super::operand::store_lanes(wave, to, !0, &left);
        super::operand::store_lanes(wave, from, !0, &right);
    }
    Ok(())
}

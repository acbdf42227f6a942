//! Moves between lanes and registers, DPP and SDWA.

use super::{S0, S2, V0, V1, V2, V4, f, inst, run, wave};
use crate::isa::{Dpp, Format, Lanes, Op, Operand, Sdwa, Sel, Unused};
use crate::wave::{EXEC, VCC};

#[test]
fn reading_and_writing_lanes_ignores_exec() {
    let mut wave = wave();
    wave.vgprs[0] = std::array::from_fn(|lane| lane as u32 + 100);
    wave.set_sgpr64(EXEC, 0xf0);
    run(&mut wave, &inst(Op::VReadfirstlaneB32, Format::Vop1, S0, &[V0]));
    assert_eq!(wave.sgprs[0], 104);
    wave.set_sgpr(2, 67);
    run(&mut wave, &inst(Op::VReadlaneB32, Format::Vop3, S0, &[V0, S2]));
    assert_eq!(wave.sgprs[0], 103, "the lane is taken modulo 64");
    run(&mut wave, &inst(Op::VWritelaneB32, Format::Vop3, V1, &[Operand::InlineInt(5), Operand::InlineInt(63)]));
    assert_eq!((wave.vgprs[1][63], wave.vgprs[1][62]), (5, 0));
    wave.set_sgpr64(EXEC, 0);
    run(&mut wave, &inst(Op::VReadfirstlaneB32, Format::Vop1, S0, &[V0]));
    assert_eq!(wave.sgprs[0], 100, "lane 0 if none is active");
}

#[test]
fn choosing_by_a_mask() {
    let mut wave = wave();
    wave.vgprs[0] = [1; 64];
    wave.vgprs[1] = [2; 64];
    wave.set_sgpr64(VCC, 0x8000_0000_0000_0001);
    run(&mut wave, &inst(Op::VCndmaskB32, Format::Vop2, V4, &[V0, V1, Operand::VccLo]));
    assert_eq!((wave.vgprs[4][0], wave.vgprs[4][1], wave.vgprs[4][63]), (2, 1, 2));
    wave.set_sgpr64(0, 2);
    let mut long = inst(Op::VCndmaskB32, Format::Vop3, V4, &[Operand::InlineInt(0), V1, S0]);
    long.mods.neg = 2;
    run(&mut wave, &long);
    assert_eq!((wave.vgprs[4][0], wave.vgprs[4][1]), (0, 0x8000_0002), "modifiers act on the sign bit");
}

#[test]
fn lane_counts() {
    let mut wave = wave();
    let ones = Operand::InlineInt(-1);
    run(&mut wave, &inst(Op::VMbcntLoU32B32, Format::Vop3, V0, &[ones, Operand::InlineInt(0)]));
    run(&mut wave, &inst(Op::VMbcntHiU32B32, Format::Vop3, V1, &[ones, V0]));
    assert_eq!(wave.vgprs[1], std::array::from_fn(|lane| lane as u32));
    assert_eq!((wave.vgprs[0][31], wave.vgprs[0][40]), (31, 32));
}

#[test]
fn swaps() {
    let mut wave = wave();
    wave.vgprs[0] = [1; 64];
    wave.vgprs[1] = [2; 64];
    wave.set_sgpr64(EXEC, 1);
    run(&mut wave, &inst(Op::VSwapB32, Format::Vop1, V0, &[V1]));
    assert_eq!((wave.vgprs[0][0], wave.vgprs[1][0], wave.vgprs[0][1]), (2, 1, 1));
    wave.vgprs[0] = std::array::from_fn(|lane| lane as u32);
    wave.vgprs[1] = std::array::from_fn(|lane| lane as u32 + 100);
    run(&mut wave, &inst(Op::VPermlane32SwapB32, Format::Vop1, V0, &[V1]));
    assert_eq!((wave.vgprs[0][0], wave.vgprs[0][32], wave.vgprs[1][0], wave.vgprs[1][32]), (0, 100, 32, 132));
    wave.vgprs[0] = std::array::from_fn(|lane| lane as u32);
    wave.vgprs[1] = std::array::from_fn(|lane| lane as u32 + 100);
    run(&mut wave, &inst(Op::VPermlane16SwapB32, Format::Vop1, V0, &[V1]));
    assert_eq!((wave.vgprs[0][16], wave.vgprs[0][33], wave.vgprs[1][0], wave.vgprs[1][47]), (100, 33, 16, 63));
}

#[test]
fn dpp_takes_source_zero_from_another_lane() {
    let mut wave = wave();
    wave.vgprs[0] = std::array::from_fn(|lane| lane as u32);
    wave.vgprs[1] = [100; 64];
    wave.vgprs[4] = [7; 64];
    let mut add = inst(Op::VAddU32, Format::Vop2, V4, &[V0, V1]);
    add.mods.lanes =
        Lanes::Dpp(Dpp { ctrl: 0x111, row_mask: 15, bank_mask: 15, bound_ctrl: false, fetch_inactive: false });
    run(&mut wave, &add);
    assert_eq!((wave.vgprs[4][0], wave.vgprs[4][1], wave.vgprs[4][16], wave.vgprs[4][17]), (7, 100, 7, 116));
    add.mods.lanes =
        Lanes::Dpp(Dpp { ctrl: 0x111, row_mask: 15, bank_mask: 15, bound_ctrl: true, fetch_inactive: false });
    run(&mut wave, &add);
    assert_eq!(wave.vgprs[4][16], 100, "bound_ctrl reads zero");
}

#[test]
fn sdwa_reads_and_writes_parts() {
    let mut wave = wave();
    wave.vgprs[0] = [0x8180_8382; 64];
    wave.vgprs[1] = [1; 64];
    wave.vgprs[4] = [0x1111_1111; 64];
    let mut add = inst(Op::VAddU32, Format::Vop2, V4, &[V0, V1]);
    add.mods.lanes = Lanes::Sdwa(Sdwa {
        dst_sel: Some(Sel::Byte2),
        dst_unused: Unused::Preserve,
        src_sel: [Sel::Byte1, Sel::Dword],
        sext: 1,
    });
    run(&mut wave, &add);
    assert_eq!(wave.vgprs[4][3], 0x1184_1111);
    wave.vgprs[2] = [0x4000_3c00; 64];
    let mut half = inst(Op::VAddF16, Format::Vop2, V4, &[V2, V2]);
    half.mods.lanes = Lanes::Sdwa(Sdwa {
        dst_sel: Some(Sel::Word1),
        dst_unused: Unused::Pad,
        src_sel: [Sel::Word1, Sel::Word0],
        sext: 0,
    });
    run(&mut wave, &half);
    assert_eq!(wave.vgprs[4][0], 0x4200_0000, "2 + 1 = 3");
    let _ = f(0.0);
}

#[test]
fn accumulation_registers_lie_behind_the_others() {
    let mut wave = wave();
    wave.vgprs[0] = [9; 64];
    run(&mut wave, &inst(Op::VAccvgprWriteB32, Format::Vop3p, Operand::Agpr(1), &[V0]));
    assert_eq!(wave.vgprs[13], [9; 64]);
    run(&mut wave, &inst(Op::VAccvgprReadB32, Format::Vop3p, V1, &[Operand::Agpr(1)]));
    assert_eq!(wave.vgprs[1], [9; 64]);
}

//! Vector integers.

use super::{S0, V0, V1, V2, V4, inst, run, vector, vector_with, vector64, wave};
use crate::isa::{Format, Op, Operand};
use crate::wave::{EXEC, VCC};

fn v2(op: Op, a: u32, b: u32) -> u32 {
    vector(op, Format::Vop2, &[a, b])
}

fn v3(op: Op, a: u32, b: u32, c: u32) -> u32 {
    vector(op, Format::Vop3, &[a, b, c])
}

#[test]
fn sums_wrap_and_saturate_with_clamp() {
    assert_eq!(v2(Op::VAddU32, u32::MAX, 2), 1);
    assert_eq!(v2(Op::VSubU32, 1, 2), u32::MAX);
    assert_eq!(v2(Op::VSubrevU32, 1, 2), 1);
    let clamped = |op: Op, a, b| vector_with(op, Format::Vop3, &[a, b], |_, i| i.mods.clamp = true);
    assert_eq!(clamped(Op::VAddU32, u32::MAX, 2), u32::MAX);
    assert_eq!(clamped(Op::VSubU32, 1, 2), 0);
    assert_eq!(clamped(Op::VAddI32, 0x7fff_ffff, 1), 0x7fff_ffff);
    assert_eq!(clamped(Op::VSubI32, 0x8000_0000, 1), 0x8000_0000);
}

#[test]
fn carries_are_one_bit_per_active_lane() {
    let mut wave = wave();
    wave.vgprs[0] = std::array::from_fn(|lane| if lane % 2 == 0 { u32::MAX } else { 1 });
    wave.vgprs[1] = [1; 64];
    wave.set_sgpr64(EXEC, 0xffff);
    wave.set_sgpr64(VCC, !0);
    run(&mut wave, &inst(Op::VAddCoU32, Format::Vop2, V4, &[V0, V1]));
    assert_eq!(wave.vcc(), 0x5555, "inactive lanes have no carry");
    assert_eq!((wave.vgprs[4][0], wave.vgprs[4][1]), (0, 2));
    run(&mut wave, &inst(Op::VAddcCoU32, Format::Vop2, V4, &[V1, V1, Operand::VccLo]));
    assert_eq!((wave.vgprs[4][0], wave.vgprs[4][1], wave.vcc()), (3, 2, 0));
    wave.set_sgpr64(VCC, 1);
    run(&mut wave, &inst(Op::VSubbCoU32, Format::Vop2, V4, &[V1, V1, Operand::VccLo]));
    assert_eq!((wave.vgprs[4][0], wave.vgprs[4][1], wave.vcc()), (u32::MAX, 0, 1), "the borrow goes on");
}

#[test]
fn products() {
    assert_eq!(v2(Op::VMulU32U24, 0xff00_0003, 0x0100_0005), 15, "24 bits of each");
    assert_eq!(v2(Op::VMulI32I24, 0x00ff_ffff, 3), 0xffff_fffd, "-1 in 24 bits");
    assert_eq!(v2(Op::VMulHiU32U24, 0x00ff_ffff, 0x00ff_ffff), 0xffff);
    assert_eq!(vector(Op::VMulHiU32, Format::Vop3, &[0xffff_ffff, 0xffff_ffff]), 0xffff_fffe);
    assert_eq!(vector(Op::VMulHiI32, Format::Vop3, &[0xffff_ffff, 2]), 0xffff_ffff);
    assert_eq!(vector(Op::VMulLoU32, Format::Vop3, &[0x10001, 0x10001]), 0x20001);
    assert_eq!(v3(Op::VMadU32U24, 3, 4, u32::MAX), 11);
    assert_eq!(v3(Op::VMadI32I24, 0x00ff_ffff, 3, 1), 0xffff_fffe);
}

#[test]
fn wide_multiply_add_has_a_carry() {
    let mut wave = wave();
    wave.vgprs[0] = [u32::MAX; 64];
    wave.vgprs[2] = [u32::MAX; 64];
    wave.vgprs[3] = [u32::MAX; 64];
    run(&mut wave, &inst(Op::VMadU64U32, Format::Vop3b, V4, &[V0, V0, V2]));
    assert_eq!((wave.vgprs[4][0], wave.vgprs[5][0], wave.vcc()), (0, 0xffff_fffe, !0));
    run(&mut wave, &inst(Op::VMadU64U32, Format::Vop3b, V4, &[Operand::InlineInt(2), V0, Operand::InlineInt(-1)]));
    assert_eq!((wave.vgprs[4][0], wave.vgprs[5][0], wave.vcc()), (0xffff_fffd, 1, !0), "2 * (2^32-1) + 2^64-1");
}

#[test]
fn shifts_take_the_count_modulo_the_width() {
    assert_eq!(v2(Op::VLshlrevB32, 33, 1), 2);
    assert_eq!(v2(Op::VLshrrevB32, 32, 0x8000_0000), 0x8000_0000);
    assert_eq!(v2(Op::VAshrrevI32, 63, 0x8000_0000), u32::MAX);
    assert_eq!(v2(Op::VLshlrevB16, 17, 0x8001), 2);
    assert_eq!(v2(Op::VAshrrevI16, 15, 0x8000), 0xffff, "the high half is zero");
    assert_eq!(vector64(Op::VLshlAddU64, &[u64::MAX, 1, 5]), 3);
    let mut wave = wave();
    wave.vgprs[0] = [65; 64];
    wave.vgprs[2] = [1; 64];
    run(&mut wave, &inst(Op::VLshlrevB64, Format::Vop3, V4, &[V0, V2]));
    assert_eq!((wave.vgprs[4][5], wave.vgprs[5][5]), (2, 0));
    run(&mut wave, &inst(Op::VAshrrevI64, Format::Vop3, V4, &[Operand::InlineInt(63), Operand::InlineInt(-1)]));
    assert_eq!((wave.vgprs[4][5], wave.vgprs[5][5]), (u32::MAX, u32::MAX));
}

#[test]
fn bit_operations() {
    assert_eq!(vector(Op::VFfbhU32, Format::Vop1, &[0]), u32::MAX);
    assert_eq!(vector(Op::VFfbhU32, Format::Vop1, &[1]), 31);
    assert_eq!(vector(Op::VFfblB32, Format::Vop1, &[0x10]), 4);
    assert_eq!(vector(Op::VFfbhI32, Format::Vop1, &[0xff00_0000]), 8);
    assert_eq!(vector(Op::VFfbhI32, Format::Vop1, &[0xffff_ffff]), u32::MAX);
    assert_eq!(vector(Op::VBfrevB32, Format::Vop1, &[2]), 0x4000_0000);
    assert_eq!(vector(Op::VBcntU32B32, Format::Vop3, &[0xff, 100]), 108);
    assert_eq!(vector(Op::VBfmB32, Format::Vop3, &[3, 4]), 0x70);
    assert_eq!(v3(Op::VBfeU32, 0xabcd_ef12, 8, 8), 0xef);
    assert_eq!(v3(Op::VBfeI32, 0xabcd_ef12, 8, 8), 0xffff_ffef);
    assert_eq!(v3(Op::VBfeI32, u32::MAX, 0, 32), 0, "the width has five bits");
    assert_eq!(v3(Op::VBfiB32, 0xff00, 0x1234, 0xabcd), 0x12cd);
    assert_eq!(v3(Op::VAlignbitB32, 0x1, 0x8000_0000, 31), 3);
    assert_eq!(v3(Op::VAlignbyteB32, 0x1122_3344, 0x5566_7788, 1), 0x4455_6677);
    assert_eq!(v3(Op::VPermB32, 0x1122_3344, 0x5566_7788, 0x0c_07_00_0d), 0x0011_88ff);
    assert_eq!(v3(Op::VPermB32, 0x8000_0000, 0x0000_8000, 0x0b_0a_09_08), 0xff00_00ff, "signs of bytes 7, 5, 3, 1");
    assert_eq!(v3(Op::VAndOrB32, 0xf0, 0x3c, 1), 0x31);
    assert_eq!(v3(Op::VLshlOrB32, 1, 36, 1), 0x11);
    assert_eq!(v3(Op::VLshlAddU32, 3, 2, 5), 17);
    assert_eq!(v3(Op::VAddLshlU32, 1, 2, 4), 48);
    assert_eq!(v3(Op::VXadU32, 5, 3, 10), 16);
    assert_eq!(v3(Op::VMed3I32, 0xffff_ffff, 7, 3), 3);
    assert_eq!(v3(Op::VMed3U32, 0xffff_ffff, 7, 3), 7);
    assert_eq!(v3(Op::VSadU8, 0x01_05_00_ff, 0x02_03_00_00, 1), 1 + 2 + 255 + 1);
}

#[test]
fn bitop3_is_a_truth_table() {
    let bitop = |table: u8| {
        vector_with(Op::VBitop3B32, Format::Vop3, &[0xf0f0_f0f0, 0xcccc_cccc, 0xaaaa_aaaa], |_, i| {
            i.mods.bitop3 = table
        })
    };
    for table in [0x00, 0x96, 0xc8, 0x36, 0xff] {
        let byte = u32::from(table);
        assert_eq!(bitop(table), byte * 0x0101_0101, "sources that count give the table itself");
    }
}

#[test]
fn sixteen_bits() {
    assert_eq!(v2(Op::VAddU16, 0xdead_ffff, 2), 1, "the high half becomes zero");
    assert_eq!(v2(Op::VSubrevU16, 3, 1), 0xfffe);
    assert_eq!(v2(Op::VMulLoU16, 0x101, 0x101), 0x0201);
    assert_eq!(v2(Op::VMaxI16, 0xffff, 1), 1);
    assert_eq!(v2(Op::VMaxU16, 0xffff, 1), 0xffff);
    let clamped = vector_with(Op::VAddU16, Format::Vop3, &[0xffff, 2], |_, i| i.mods.clamp = true);
    assert_eq!(clamped, 0xffff);
    let halves = vector_with(Op::VMadU16, Format::Vop3, &[0x0002_0003, 0x0005_0007, 1], |w, i| {
        w.vgprs[4] = [0xaaaa_bbbb; 64];
        i.mods.op_sel = 0b1011;
    });
    assert_eq!(halves, 0x000b_bbbb, "high halves of two sources into the high half: 2 * 5 + 1");
}

#[test]
fn scalar_sources_are_the_same_in_all_lanes() {
    let mut wave = wave();
    wave.set_sgpr(0, 40);
    wave.vgprs[1] = std::array::from_fn(|lane| lane as u32);
    run(&mut wave, &inst(Op::VAddU32, Format::Vop2, V4, &[S0, V1]));
    assert_eq!((wave.vgprs[4][0], wave.vgprs[4][63]), (40, 103));
}

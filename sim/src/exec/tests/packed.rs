//! Packed math, mixed precision, dot products.

use super::{V0, V4, V6, f, inst, run, vector, vector_with, wave};
use crate::isa::{Format, InlineFloat, Op, Operand};

fn p(op: Op, sources: &[u32]) -> u32 {
    vector(op, Format::Vop3p, sources)
}

#[test]
fn integers() {
    assert_eq!(p(Op::VPkAddU16, &[0xffff_0001, 0x0002_0003]), 0x0001_0004);
    assert_eq!(p(Op::VPkMulLoU16, &[0x0100_0002, 0x0100_0003]), 0x0000_0006);
    assert_eq!(p(Op::VPkLshlrevB16, &[0x0011_0001, 0x0001_8001]), 0x0002_0002, "counts modulo 16");
    assert_eq!(p(Op::VPkMadI16, &[0xffff_0002, 0x0003_0003, 0x0001_0001]), 0xfffe_0007);
    let saturated = vector_with(Op::VPkAddI16, Format::Vop3p, &[0x7fff_8000, 0x0001_ffff], |_, i| i.mods.clamp = true);
    assert_eq!(saturated, 0x7fff_8000);
    let swapped = vector_with(Op::VPkAddU16, Format::Vop3p, &[0x0001_0002, 0x0010_0020], |_, i| {
        i.mods.op_sel = 1;
        i.mods.op_sel_hi = 2;
    });
    assert_eq!(swapped, 0x0012_0021, "halves of source 0 exchanged");
}

#[test]
fn halves() {
    assert_eq!(p(Op::VPkAddF16, &[0x3c00_4000, 0x3c00_3c00]), 0x4000_4200);
    assert_eq!(p(Op::VPkFmaF16, &[0x4000_4000, 0x4000_4200, 0x3c00_3c00]), 0x4500_4700);
    let negated = vector_with(Op::VPkMulF16, Format::Vop3p, &[0x3c00_3c00, 0x4000_4000], |_, i| {
        i.mods.neg = 1;
        i.mods.neg_hi = 2;
    });
    assert_eq!(negated, 0xc000_c000);
    let mut wave = wave();
    wave.vgprs[0] = [0x4000_4000; 64];
    let one = Operand::InlineFloat(InlineFloat::One);
    let mut add = inst(Op::VPkAddF16, Format::Vop3p, V4, &[V0, one]);
    run(&mut wave, &add);
    assert_eq!(wave.vgprs[4][0], 0x4000_4200, "a constant stands in the low half only");
    add.mods.op_sel_hi = 1;
    run(&mut wave, &add);
    assert_eq!(wave.vgprs[4][0], 0x4200_4200);
}

#[test]
fn singles() {
    let mut wave = wave();
    for (register, value) in [(0, 1.0f32), (1, 2.0), (6, 10.0), (7, 20.0)] {
        wave.vgprs[register] = [value.to_bits(); 64];
    }
    let mut add = inst(Op::VPkAddF32, Format::Vop3p, V4, &[V0, V6]);
    run(&mut wave, &add);
    assert_eq!((wave.vgprs[4][0], wave.vgprs[5][0]), (f(11.0), f(22.0)));
    add.mods.op_sel = 1;
    add.mods.op_sel_hi = 2;
    run(&mut wave, &add);
    assert_eq!((wave.vgprs[4][0], wave.vgprs[5][0]), (f(12.0), f(21.0)));
    let mut mov = inst(Op::VPkMovB32, Format::Vop3p, V4, &[V0, V6]);
    mov.mods.op_sel = 0b01;
    run(&mut wave, &mov);
    assert_eq!((wave.vgprs[4][0], wave.vgprs[5][0]), (f(2.0), f(10.0)));
}

#[test]
fn mixed_precision() {
    let mixed = |op: Op, op_sel: u8, op_sel_hi: u8| {
        vector_with(op, Format::Vop3p, &[0x4000_3c00, f(3.0), f(0.5)], |w, i| {
            w.vgprs[4] = [0xaaaa_bbbb; 64];
            i.mods.op_sel = op_sel;
            i.mods.op_sel_hi = op_sel_hi;
        })
    };
    assert_eq!(mixed(Op::VFmaMixF32, 0, 1), f(3.5));
    assert_eq!(mixed(Op::VFmaMixF32, 1, 1), f(6.5));
    assert_eq!(mixed(Op::VFmaMixloF16, 0, 1), 0xaaaa_4300);
    assert_eq!(mixed(Op::VFmaMixhiF16, 0, 1), 0x4300_bbbb);
}

#[test]
fn dot_products() {
    assert_eq!(p(Op::VDot4I32I8, &[0xff01_0203, 0x0101_0101, 10]), 15);
    assert_eq!(p(Op::VDot4U32U8, &[0xff01_0203, 0x0101_0101, 10]), 271);
    assert_eq!(p(Op::VDot2I32I16, &[0xffff_0002, 0x0003_0003, 0]), 3);
    assert_eq!(p(Op::VDot8I32I4, &[0xf000_0002, 0x3000_0003, 1]), 4);
    assert_eq!(p(Op::VDot2F32F16, &[0x3c00_4000, 0x4000_4000, f(1.0)]), f(7.0));
    assert_eq!(p(Op::VDot2F32Bf16, &[0x3f80_4000, 0x4000_4000, f(1.0)]), f(7.0));
}

/// What LLVM assembles `1.0` to at an operand is its inline code where its pattern fits the operand's type.
#[test]
fn an_inline_float_is_a_brain_float_where_one_is_taken() {
    let one = Operand::InlineFloat(InlineFloat::One);
    let mut wave = wave();
    run(&mut wave, &inst(Op::VCvtF32Bf16, Format::Vop1, V4, &[one]));
    assert_eq!(wave.vgprs[4][0], f(1.0));
    // 3.0 in the low half, 5.0 in the high one, times 1.0 in the low half; 0.5 is added.
    wave.vgprs[0] = [0x40a0_4040; 64];
    wave.vgprs[1] = [f(0.5); 64];
    let mut dot = inst(Op::VDot2F32Bf16, Format::Vop3p, V4, &[V0, one, Operand::Vgpr(1)]);
    run(&mut wave, &dot);
    assert_eq!(wave.vgprs[4][0], f(3.5));
    dot.mods.op_sel_hi &= !2;
    run(&mut wave, &dot);
    assert_eq!(wave.vgprs[4][0], f(8.5), "both products take the constant's low half");
}

/// The 16-bit instructions that keep the other half of their destination on gfx9, and one that does not.
#[test]
fn some_half_precision_results_keep_the_other_half() {
    for (op, format, keeps) in [
        (Op::VMacF16, Format::Vop2, true),
        (Op::VMadF16, Format::Vop3, true),
        (Op::VFmaF16, Format::Vop3, true),
        (Op::VMulF16, Format::Vop2, false),
        (Op::VMulF16, Format::Vop3, false),
    ] {
        let mut wave = wave();
        wave.vgprs[0] = [0x3c00; 64];
        wave.vgprs[4] = [0xabcd_0000; 64];
        let sources = match op {
            Op::VMulF16 => vec![V0, V0],
            // The accumulator of v_mac is its destination.
            Op::VMacF16 => vec![V0, V0, V4],
            _ => vec![V0, V0, V0],
        };
        run(&mut wave, &inst(op, format, V4, &sources));
        let high = wave.vgprs[4][0] >> 16;
        assert_eq!(high, if keeps { 0xabcd } else { 0 }, "{op:?} {format:?}");
    }
}

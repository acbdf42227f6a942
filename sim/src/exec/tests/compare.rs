//! Compares and classes.

use super::{S0, V0, V1, V2, f, inst, run, wave};
use crate::isa::{Format, Op, Operand};
use crate::wave::EXEC;

fn compare(op: Op, a: u32, b: u32) -> bool {
    let mut wave = wave();
    wave.vgprs[0] = [a; 64];
    wave.vgprs[1] = [b; 64];
    run(&mut wave, &inst(op, Format::Vopc, Operand::None, &[V0, V1]));
    assert!(wave.vcc() == 0 || wave.vcc() == !0);
    wave.vcc() != 0
}

#[test]
fn integers() {
    assert!(compare(Op::VCmpLtI32, 0xffff_ffff, 0) && !compare(Op::VCmpLtU32, 0xffff_ffff, 0));
    assert!(compare(Op::VCmpLeU32, 3, 3) && compare(Op::VCmpNeU32, 3, 4) && compare(Op::VCmpGeI32, 3, 3));
    assert!(compare(Op::VCmpTU32, 1, 2) && !compare(Op::VCmpFI32, 1, 1));
    assert!(compare(Op::VCmpLtI16, 0xffff, 1), "the low halves, signed");
    assert!(compare(Op::VCmpEqU16, 0x1_0005, 0x2_0005));
}

#[test]
fn wide_integers() {
    let mut wave = wave();
    wave.vgprs[0] = [0; 64];
    wave.vgprs[1] = [1; 64];
    wave.vgprs[2] = [u32::MAX; 64];
    wave.vgprs[3] = [0; 64];
    run(&mut wave, &inst(Op::VCmpGtU64, Format::Vopc, Operand::None, &[V0, V2]));
    assert_eq!(wave.vcc(), !0);
    run(&mut wave, &inst(Op::VCmpLtI64, Format::Vopc, Operand::None, &[Operand::Literal(0xffff_ff00), V2]));
    assert_eq!(wave.vcc(), !0, "a signed literal is sign-extended");
}

#[test]
fn ordered_and_unordered() {
    let nan = 0x7fc0_0000;
    assert!(compare(Op::VCmpLtF32, f(1.0), f(2.0)) && !compare(Op::VCmpLtF32, f(1.0), nan));
    assert!(compare(Op::VCmpNltF32, f(1.0), nan) && compare(Op::VCmpNltF32, f(2.0), f(1.0)));
    assert!(compare(Op::VCmpUF32, nan, f(1.0)) && compare(Op::VCmpOF32, f(1.0), f(1.0)));
    assert!(compare(Op::VCmpLgF32, f(1.0), f(2.0)) && !compare(Op::VCmpLgF32, nan, f(2.0)));
    assert!(compare(Op::VCmpNeqF32, nan, f(2.0)) && !compare(Op::VCmpNlgF32, f(1.0), f(2.0)));
    assert!(compare(Op::VCmpEqF32, 0, 0x8000_0000), "zeros are equal");
    assert!(compare(Op::VCmpGeF16, 0x3c00, 0x3c00) && compare(Op::VCmpTruF32, nan, nan));
}

#[test]
fn classes() {
    let of = |bits: u32| (0..10).filter(|bit| compare(Op::VCmpClassF32, bits, 1 << bit)).collect::<Vec<_>>();
    assert_eq!(of(0x7f80_0001), [0], "signalling NaN");
    assert_eq!(of(0xffc0_0000), [1], "quiet NaN");
    assert_eq!(of(0xff80_0000), [2]);
    assert_eq!(of(f(-1.0)), [3]);
    assert_eq!(of(0x8000_0001), [4]);
    assert_eq!(of(0x8000_0000), [5]);
    assert_eq!(of(0), [6]);
    assert_eq!(of(1), [7]);
    assert_eq!(of(f(1.0)), [8]);
    assert_eq!(of(0x7f80_0000), [9]);
    assert!(compare(Op::VCmpClassF16, 0x7c01, 1) && compare(Op::VCmpClassF16, 0x0001, 1 << 7));
}

#[test]
fn the_exec_writing_forms() {
    let mut wave = wave();
    wave.vgprs[0] = std::array::from_fn(|lane| lane as u32);
    wave.set_sgpr64(EXEC, 0xff);
    run(&mut wave, &inst(Op::VCmpxLtU32, Format::Vopc, Operand::None, &[V0, Operand::InlineInt(4)]));
    assert_eq!((wave.vcc(), wave.exec()), (0xf, 0xf));
}

#[test]
fn the_long_form_names_its_mask() {
    let mut wave = wave();
    wave.vgprs[0] = std::array::from_fn(|lane| lane as u32);
    let mut compare = inst(Op::VCmpLtU32, Format::Vop3, Operand::None, &[V0, Operand::InlineInt(2)]);
    compare.sdst = S0;
    run(&mut wave, &compare);
    assert_eq!((wave.sgpr64(0), wave.vcc()), (3, 0));
    let _ = V2;
}

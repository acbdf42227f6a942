//! Scalar ALU.

use super::{S0, S2, S4, inst, run, wave};
use crate::isa::{Format, Op, Operand};
use crate::wave::{EXEC, WaveState};

/// `s4 = op(s0, s2)` and SCC.
fn two(op: Op, a: u32, b: u32) -> (u32, bool) {
    two_after(op, a, b, false)
}

fn two_after(op: Op, a: u32, b: u32, scc: bool) -> (u32, bool) {
    let mut wave = wave();
    wave.scc = scc;
    wave.set_sgpr(0, a);
    wave.set_sgpr(2, b);
    run(&mut wave, &inst(op, Format::Sop2, S4, &[S0, S2]));
    (wave.sgprs[4], wave.scc)
}

fn two64(op: Op, a: u64, b: u64) -> (u64, bool) {
    let mut wave = wave();
    wave.set_sgpr64(0, a);
    wave.set_sgpr64(2, b);
    run(&mut wave, &inst(op, Format::Sop2, S4, &[S0, S2]));
    (wave.sgpr64(4), wave.scc)
}

fn one(op: Op, a: u64) -> (WaveState, u64) {
    let mut wave = wave();
    wave.set_sgpr64(0, a);
    run(&mut wave, &inst(op, Format::Sop1, S4, &[S0]));
    let value = wave.sgpr64(4);
    (wave, value)
}

#[test]
fn sums_set_scc_from_carry_or_overflow() {
    assert_eq!(two(Op::SAddU32, u32::MAX, 1), (0, true));
    assert_eq!(two(Op::SAddU32, 0x7fff_ffff, 1), (0x8000_0000, false), "no carry");
    assert_eq!(two(Op::SAddI32, 0x7fff_ffff, 1), (0x8000_0000, true), "signed overflow");
    assert_eq!(two(Op::SAddI32, u32::MAX, 1), (0, false));
    assert_eq!(two(Op::SSubU32, 0, 1), (u32::MAX, true));
    assert_eq!(two(Op::SSubI32, 0x8000_0000, 1), (0x7fff_ffff, true));
    assert_eq!(two_after(Op::SAddcU32, u32::MAX, 0, true), (0, true));
    assert_eq!(two_after(Op::SAddcU32, u32::MAX, u32::MAX, true), (u32::MAX, true));
    assert_eq!(two_after(Op::SSubbU32, 0, u32::MAX, true), (0, true));
    assert_eq!(two_after(Op::SSubbU32, 5, 4, true), (0, false));
    assert_eq!(two(Op::SLshl4AddU32, 0x1000_0001, 5), (21, true));
}

#[test]
fn products_keep_scc() {
    assert_eq!(two_after(Op::SMulI32, 0xffff_ffff, 3, true), (0xffff_fffd, true));
    assert_eq!(two(Op::SMulHiU32, 0xffff_ffff, 0xffff_ffff), (0xffff_fffe, false));
    assert_eq!(two(Op::SMulHiI32, 0xffff_ffff, 2), (0xffff_ffff, false));
}

#[test]
fn shifts_take_the_count_modulo_the_width() {
    assert_eq!(two(Op::SLshlB32, 1, 33), (2, true));
    assert_eq!(two(Op::SLshrB32, 0x8000_0000, 32), (0x8000_0000, true));
    assert_eq!(two(Op::SAshrI32, 0x8000_0000, 63), (0xffff_ffff, true));
    assert_eq!(two(Op::SLshlB32, 0x8000_0000, 1), (0, false));
    assert_eq!(two64(Op::SLshlB64, 3, 65), (6, true));
    assert_eq!(two64(Op::SAshrI64, 1 << 63, 127), (!0, true));
    assert_eq!(two64(Op::SLshrB64, 1 << 63, 63), (1, true));
}

#[test]
fn fields() {
    assert_eq!(two(Op::SBfeU32, 0xabcd_ef12, 8 | 8 << 16), (0xef, true));
    assert_eq!(two(Op::SBfeI32, 0xabcd_ef12, 8 | 8 << 16), (0xffff_ffef, true));
    assert_eq!(two(Op::SBfeU32, 0xffff_ffff, 4), (0, false), "width zero");
    assert_eq!(two(Op::SBfeU32, 0xffff_ffff, 4 | 32 << 16), (0x0fff_ffff, true), "a field that runs over the top");
    assert_eq!(two(Op::SBfeI32, 0x8000_0000, 28 | 40 << 16), (0xffff_fff8, true));
    assert_eq!(two64(Op::SBfeU64, 0x1234_5678_9abc_def0, 60 | 4 << 16), (1, true));
    assert_eq!(two64(Op::SBfeI64, 0x8000_0000_0000_0000, 63 | 1 << 16), (!0, true));
    assert_eq!(two(Op::SBfmB32, 4, 8), (0xf00, false));
    assert_eq!(two64(Op::SBfmB64, 40, 4).0, 0xfff_ffff_fff0);
}

#[test]
fn logic_sets_scc_if_not_zero() {
    assert_eq!(two(Op::SAndB32, 0xf0, 0x0f), (0, false));
    assert_eq!(two(Op::SAndn2B32, 0xff, 0x0f), (0xf0, true));
    assert_eq!(two(Op::SXnorB32, 5, 5), (!0, true));
    assert_eq!(two64(Op::SOrn2B64, 0, !0), (0, false));
    assert_eq!(two64(Op::SNandB64, !0, !0), (0, false));
    assert_eq!(two64(Op::SNorB64, 0, 0), (!0, true));
}

#[test]
fn minimum_and_choice() {
    assert_eq!(two(Op::SMinI32, 0xffff_ffff, 1), (0xffff_ffff, true), "SCC: the first operand was taken");
    assert_eq!(two(Op::SMinU32, 0xffff_ffff, 1), (1, false));
    assert_eq!(two(Op::SMaxI32, 5, 5), (5, false));
    assert_eq!(two_after(Op::SCselectB32, 1, 2, true), (1, true));
    assert_eq!(two_after(Op::SCselectB32, 1, 2, false), (2, false));
    assert_eq!(two(Op::SAbsdiffI32, 3, 10), (7, true));
    assert_eq!(two(Op::SPackLhB32B16, 0x1111_2222, 0x3333_4444), (0x3333_2222, false));
}

#[test]
fn counting_and_searching() {
    assert_eq!(one(Op::SFf1I32B32, 0).1 as u32, u32::MAX);
    assert_eq!(one(Op::SFf1I32B64, 1 << 40).1, 40);
    assert_eq!(one(Op::SFf0I32B32, 0b0111).1 as u32, 3);
    assert_eq!(one(Op::SFlbitI32B32, 0x0080_0000).1 as u32, 8);
    assert_eq!(one(Op::SFlbitI32B64, 1).1, 63);
    assert_eq!(one(Op::SFlbitI32, 0xffff_0000).1 as u32, 16, "sign bits");
    assert_eq!(one(Op::SFlbitI32, 0xffff_ffff).1 as u32, u32::MAX, "all bits equal the sign");
    assert_eq!(one(Op::SFlbitI32I64, u64::MAX << 8).1 as u32, 56);
    let (wave, value) = one(Op::SBcnt1I32B64, 0xf0f0);
    assert_eq!((value, wave.scc), (8, true));
    let (wave, value) = one(Op::SBcnt0I32B32, 0xffff_ffff);
    assert_eq!((value, wave.scc), (0, false));
    assert_eq!(one(Op::SBrevB32, 1).1 as u32, 0x8000_0000);
    assert_eq!(one(Op::SSextI32I8, 0x80).1 as u32, 0xffff_ff80);
    assert_eq!(one(Op::SWqmB64, 0x0100_0000_0000_0021).1, 0x0f00_0000_0000_00ff);
    assert_eq!(one(Op::SQuadmaskB32, 0x1000_0300).1 as u32, 0b1000_0100);
    assert_eq!(one(Op::SBitreplicateB64B32, 0x8000_0005).1, 0xc000_0000_0000_0033);
    assert_eq!(one(Op::SAbsI32, 0xffff_fffe).1 as u32, 2);
}

#[test]
fn bits_are_set_in_the_old_destination() {
    let mut wave = wave();
    wave.set_sgpr(0, 35);
    wave.set_sgpr(4, 1);
    run(&mut wave, &inst(Op::SBitset1B32, Format::Sop1, S4, &[S0]));
    assert_eq!(wave.sgprs[4], 9, "bit 35 modulo 32");
    wave.set_sgpr(0, 0);
    run(&mut wave, &inst(Op::SBitset0B32, Format::Sop1, S4, &[S0]));
    assert_eq!(wave.sgprs[4], 8);
}

#[test]
fn saving_exec() {
    let mut wave = wave();
    wave.set_sgpr64(EXEC, 0xff);
    wave.set_sgpr64(0, 0x0f0f);
    run(&mut wave, &inst(Op::SAndSaveexecB64, Format::Sop1, S4, &[S0]));
    assert_eq!((wave.sgpr64(4), wave.exec(), wave.scc), (0xff, 0x0f, true));
    wave.set_sgpr64(0, 0);
    run(&mut wave, &inst(Op::SAndSaveexecB64, Format::Sop1, S4, &[S0]));
    assert_eq!((wave.sgpr64(4), wave.exec(), wave.scc), (0x0f, 0, false));
    run(&mut wave, &inst(Op::SOrn2SaveexecB64, Format::Sop1, S4, &[S0]));
    assert_eq!(wave.exec(), !0);
    wave.set_sgpr64(0, 0xf0);
    run(&mut wave, &inst(Op::SAndn2WrexecB64, Format::Sop1, S4, &[S0]));
    assert_eq!((wave.sgpr64(4), wave.exec()), (0, 0), "0xf0 & ~!0");
}

#[test]
fn compares() {
    let compare = |op: Op, a: u32, b: u32| {
        let mut wave = wave();
        wave.set_sgpr(0, a);
        wave.set_sgpr(2, b);
        run(&mut wave, &inst(op, Format::Sopc, Operand::None, &[S0, S2]));
        wave.scc
    };
    assert!(compare(Op::SCmpLtI32, 0xffff_ffff, 0) && !compare(Op::SCmpLtU32, 0xffff_ffff, 0));
    assert!(compare(Op::SCmpGeU32, 5, 5) && compare(Op::SCmpLgU32, 5, 6) && compare(Op::SCmpEqI32, 5, 5));
    assert!(compare(Op::SBitcmp1B32, 1 << 3, 35) && compare(Op::SBitcmp0B32, 0, 7));
    let immediate = |op: Op, a: u32, b: i16| {
        let mut wave = wave();
        wave.set_sgpr(0, a);
        run(&mut wave, &inst(op, Format::Sopk, Operand::None, &[S0, Operand::Simm16(b)]));
        wave.scc
    };
    assert!(immediate(Op::SCmpkEqI32, 0xffff_ffff, -1), "signed immediates are sign-extended");
    assert!(immediate(Op::SCmpkEqU32, 0xffff, -1), "unsigned ones zero-extended");
}

#[test]
fn immediates_and_special_registers() {
    let mut wave = wave();
    run(&mut wave, &inst(Op::SMovkI32, Format::Sopk, S0, &[Operand::Simm16(-2)]));
    assert_eq!(wave.sgprs[0], 0xffff_fffe);
    run(&mut wave, &inst(Op::SMovB64, Format::Sop1, Operand::ExecLo, &[Operand::InlineInt(-1)]));
    assert_eq!(wave.exec(), !0);
    run(&mut wave, &inst(Op::SMovB64, Format::Sop1, Operand::VccLo, &[Operand::Literal(0x8000_0000)]));
    assert_eq!(wave.vcc(), 0x8000_0000, "a literal of 64 untyped bits is zero-extended");
    wave.scc = true;
    run(&mut wave, &inst(Op::SCmovB32, Format::Sop1, S0, &[Operand::InlineInt(7)]));
    assert_eq!(wave.sgprs[0], 7);
    wave.scc = false;
    run(&mut wave, &inst(Op::SCmovB32, Format::Sop1, S0, &[Operand::InlineInt(9)]));
    assert_eq!(wave.sgprs[0], 7);
    run(&mut wave, &inst(Op::SAddkI32, Format::Sopk, S0, &[S0, Operand::Simm16(-8)]));
    assert_eq!((wave.sgprs[0], wave.scc), (0xffff_ffff, false));
}

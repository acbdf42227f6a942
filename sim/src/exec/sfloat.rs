//! Scalar instructions that gfx1250 adds: 64-bit sums and products, floats, and EXEC as a mask of 32 lanes.
//!
//! What must hold here: no float operation and no 64-bit sum touches SCC; compares do. Arithmetic is that of the vector
//! instructions of the same name, MODE included.

use super::AluFn;
use super::float::{self, Bits, Fp};
use super::operand::{scalar32, set_scalar32, set_scalar64, source64};
use super::vcmp::{EQUAL, GREATER, LESS, UNORDERED, relation};
use super::vfloat::nan_wins;
use crate::fault::Exec;
use crate::isa::{Inst, Op, Operand};
use crate::wave::{EXEC, WaveState};

/// The function of a scalar operation that gfx9 lacks.
pub(super) fn lookup(op: Op) -> Option<AluFn> {
    wide(op)
        .or_else(|| masks(op))
        .or_else(|| singles(op))
        .or_else(|| halves(op))
        .or_else(|| conversions(op))
        .or_else(|| compare32(op))
        .or_else(|| compare16(op))
}

/// 64 bits from two sources, SCC kept.
#[inline(always)]
fn two64(wave: &mut WaveState, inst: &Inst, f: impl Fn(u64, u64) -> u64) -> Exec {
    let value = f(source64(wave, inst, 0), source64(wave, inst, 1));
    set_scalar64(wave, inst.dst, value);
    Ok(())
}

fn wide(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::SAddNcU64 => |w, i| two64(w, i, u64::wrapping_add),
        Op::SSubNcU64 => |w, i| two64(w, i, u64::wrapping_sub),
        Op::SMulU64 => |w, i| two64(w, i, u64::wrapping_mul),
        Op::SPackHlB32B16 => |w, i| {
            let value = scalar32(w, i.src[0]) >> 16 | scalar32(w, i.src[1]) << 16;
            set_scalar32(w, i.dst, value);
            Ok(())
        },
        _ => return None,
    })
}

/// `dst = EXEC; EXEC = f(source, EXEC)`, SCC = the new EXEC is not zero.
#[inline(always)]
fn save_exec(wave: &mut WaveState, inst: &Inst, f: impl Fn(u32, u32) -> u32) -> Exec {
    let old = wave.exec() as u32;
    let new = f(scalar32(wave, inst.src[0]), old);
    set_scalar32(wave, inst.dst, old);
    wave.set_mask(EXEC, u64::from(new));
    wave.scc = new != 0;
    Ok(())
}

/// `EXEC = dst = f(source, EXEC)`, SCC = it is not zero.
#[inline(always)]
fn write_exec(wave: &mut WaveState, inst: &Inst, f: impl Fn(u32, u32) -> u32) -> Exec {
    let new = f(scalar32(wave, inst.src[0]), wave.exec() as u32);
    set_scalar32(wave, inst.dst, new);
    wave.set_mask(EXEC, u64::from(new));
    wave.scc = new != 0;
    Ok(())
}

fn masks(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::SAndSaveexecB32 => |w, i| save_exec(w, i, |s, e| s & e),
        Op::SOrSaveexecB32 => |w, i| save_exec(w, i, |s, e| s | e),
        Op::SXorSaveexecB32 => |w, i| save_exec(w, i, |s, e| s ^ e),
        Op::SNandSaveexecB32 => |w, i| save_exec(w, i, |s, e| !(s & e)),
        Op::SNorSaveexecB32 => |w, i| save_exec(w, i, |s, e| !(s | e)),
        Op::SXnorSaveexecB32 => |w, i| save_exec(w, i, |s, e| !(s ^ e)),
        Op::SAndNot0SaveexecB32 => |w, i| save_exec(w, i, |s, e| !s & e),
        Op::SOrNot0SaveexecB32 => |w, i| save_exec(w, i, |s, e| !s | e),
        Op::SAndNot1SaveexecB32 => |w, i| save_exec(w, i, |s, e| s & !e),
        Op::SOrNot1SaveexecB32 => |w, i| save_exec(w, i, |s, e| s | !e),
        Op::SAndNot0WrexecB32 => |w, i| write_exec(w, i, |s, e| !s & e),
        Op::SAndNot1WrexecB32 => |w, i| write_exec(w, i, |s, e| s & !e),
        _ => return None,
    })
}

/// Single precision, one source.
#[inline(always)]
fn single1(wave: &mut WaveState, inst: &Inst, f: impl Fn(f32) -> f32) -> Exec {
    let value = float::unary(Fp::of(wave.mode), scalar32(wave, inst.src[0]), |x| f(f32::from_bits(x)).to_bits());
    set_scalar32(wave, inst.dst, value);
    Ok(())
}

/// Single precision, two sources.
#[inline(always)]
fn single2(wave: &mut WaveState, inst: &Inst, f: impl Fn(Fp, u32, u32) -> u32) -> Exec {
    let value = f(Fp::of(wave.mode), scalar32(wave, inst.src[0]), scalar32(wave, inst.src[1]));
    set_scalar32(wave, inst.dst, value);
    Ok(())
}

fn fma32(wave: &mut WaveState, inst: &Inst) -> Exec {
    let [a, b, c] = [0, 1, 2].map(|source| scalar32(wave, inst.src[source]));
    set_scalar32(wave, inst.dst, float::fma32(Fp::of(wave.mode), a, b, c));
    Ok(())
}

fn singles(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::SAddF32 => |w, i| single2(w, i, float::add32),
        Op::SSubF32 => |w, i| single2(w, i, |fp, a, b| float::add32(fp, a, b ^ 0x8000_0000)),
        Op::SMulF32 => |w, i| single2(w, i, float::mul32),
        Op::SMinNumF32 => |w, i| single2(w, i, float::minimum),
        Op::SMaxNumF32 => |w, i| single2(w, i, float::maximum),
        Op::SMinimumF32 => |w, i| single2(w, i, |fp, a, b| nan_wins(fp, a, b, b, float::minimum)),
        Op::SMaximumF32 => |w, i| single2(w, i, |fp, a, b| nan_wins(fp, a, b, b, float::maximum)),
        // In the order in which their operands stand: factor, factor, addend.
        Op::SFmacF32 | Op::SFmaakF32 | Op::SFmamkF32 => fma32,
        Op::SCeilF32 => |w, i| single1(w, i, f32::ceil),
        Op::SFloorF32 => |w, i| single1(w, i, f32::floor),
        Op::STruncF32 => |w, i| single1(w, i, f32::trunc),
        Op::SRndneF32 => |w, i| single1(w, i, float::round_even32),
        _ => return None,
    })
}

/// The low 16 bits of a source, an inline float as a half.
#[inline(always)]
fn half(wave: &WaveState, inst: &Inst, index: usize) -> u16 {
    match inst.src[index] {
        Operand::InlineFloat(value) => value.bits16(),
        operand => scalar32(wave, operand) as u16,
    }
}

/// Half precision, one source; the upper half of the result is zero.
#[inline(always)]
fn half1(wave: &mut WaveState, inst: &Inst, f: impl Fn(f64) -> f64) -> Exec {
    let compute = |x| float::f64_to_half(f(float::half_to_f64(x)));
    let value = float::unary(Fp::of(wave.mode), half(wave, inst, 0), compute);
    set_scalar32(wave, inst.dst, u32::from(value));
    Ok(())
}

/// Half precision, two sources.
#[inline(always)]
fn half2(wave: &mut WaveState, inst: &Inst, f: impl Fn(Fp, u16, u16) -> u16) -> Exec {
    let value = f(Fp::of(wave.mode), half(wave, inst, 0), half(wave, inst, 1));
    set_scalar32(wave, inst.dst, u32::from(value));
    Ok(())
}

fn halves(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::SAddF16 => |w, i| half2(w, i, float::add16),
        Op::SSubF16 => |w, i| half2(w, i, |fp, a, b| float::add16(fp, a, b ^ 0x8000)),
        Op::SMulF16 => |w, i| half2(w, i, float::mul16),
        Op::SMinNumF16 => |w, i| half2(w, i, float::minimum),
        Op::SMaxNumF16 => |w, i| half2(w, i, float::maximum),
        Op::SMinimumF16 => |w, i| half2(w, i, |fp, a, b| nan_wins(fp, a, b, b, float::minimum)),
        Op::SMaximumF16 => |w, i| half2(w, i, |fp, a, b| nan_wins(fp, a, b, b, float::maximum)),
        Op::SFmacF16 => |w, i| {
            let [a, b, c] = [0, 1, 2].map(|source| half(w, i, source));
            let value = float::fma16(Fp::of(w.mode), a, b, c);
            set_scalar32(w, i.dst, u32::from(value));
            Ok(())
        },
        Op::SCeilF16 => |w, i| half1(w, i, f64::ceil),
        Op::SFloorF16 => |w, i| half1(w, i, f64::floor),
        Op::STruncF16 => |w, i| half1(w, i, f64::trunc),
        Op::SRndneF16 => |w, i| half1(w, i, f64::round_ties_even),
        _ => return None,
    })
}

/// Any function of one dword.
#[inline(always)]
fn convert(wave: &mut WaveState, inst: &Inst, f: impl Fn(Fp, u32) -> u32) -> Exec {
    let value = f(Fp::of(wave.mode), scalar32(wave, inst.src[0]));
    set_scalar32(wave, inst.dst, value);
    Ok(())
}

fn conversions(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::SCvtF32I32 => |w, i| convert(w, i, |_, a| (a as i32 as f32).to_bits()),
        Op::SCvtF32U32 => |w, i| convert(w, i, |_, a| (a as f32).to_bits()),
        Op::SCvtI32F32 => |w, i| convert(w, i, |fp, a| float::to_i32(f64::from(f32::from_bits(a.input(fp))))),
        Op::SCvtU32F32 => |w, i| convert(w, i, |fp, a| float::to_u32(f64::from(f32::from_bits(a.input(fp))))),
        Op::SCvtF16F32 => |w, i| convert(w, i, super::convert::narrow16),
        Op::SCvtF32F16 => |w, i| {
            let value = super::convert::widen32(Fp::of(w.mode), half(w, i, 0));
            set_scalar32(w, i.dst, value);
            Ok(())
        },
        Op::SCvtHiF32F16 => |w, i| convert(w, i, |fp, a| super::convert::widen32(fp, (a >> 16) as u16)),
        Op::SCvtPkRtzF16F32 => |w, i| {
            let fp = Fp::of(w.mode);
            let [low, high] = [0, 1].map(|source| float::f32_to_half_rtz(scalar32(w, i.src[source]).input(fp)));
            set_scalar32(w, i.dst, u32::from(low) | u32::from(high) << 16);
            Ok(())
        },
        _ => return None,
    })
}

/// SCC = the relation of two numbers is in the set.
#[inline(always)]
fn test32<const SET: u8>(wave: &mut WaveState, inst: &Inst) -> Exec {
    let fp = Fp::of(wave.mode);
    let [a, b] = [0, 1].map(|source| scalar32(wave, inst.src[source]).input(fp));
    wave.scc = relation(a, b) & SET != 0;
    Ok(())
}

#[inline(always)]
fn test16<const SET: u8>(wave: &mut WaveState, inst: &Inst) -> Exec {
    let fp = Fp::of(wave.mode);
    let [a, b] = [0, 1].map(|source| half(wave, inst, source).input(fp));
    wave.scc = relation(a, b) & SET != 0;
    Ok(())
}

/// The compares of one width.
macro_rules! compares {
    ($name:ident, $test:ident: $($op:ident $set:expr;)*) => {
        fn $name(op: Op) -> Option<AluFn> {
            Some(match op {
                $(Op::$op => $test::<{ $set }>,)*
                _ => return None,
            })
        }
    };
}

compares! {
    compare32, test32:
    SCmpLtF32 LESS;
    SCmpEqF32 EQUAL;
    SCmpLeF32 LESS | EQUAL;
    SCmpGtF32 GREATER;
    SCmpLgF32 LESS | GREATER;
    SCmpGeF32 GREATER | EQUAL;
    SCmpOF32 LESS | EQUAL | GREATER;
    SCmpUF32 UNORDERED;
    SCmpNgeF32 LESS | UNORDERED;
    SCmpNlgF32 EQUAL | UNORDERED;
    SCmpNgtF32 LESS | EQUAL | UNORDERED;
    SCmpNleF32 GREATER | UNORDERED;
    SCmpNeqF32 LESS | GREATER | UNORDERED;
    SCmpNltF32 EQUAL | GREATER | UNORDERED;
}

compares! {
    compare16, test16:
    SCmpLtF16 LESS;
    SCmpEqF16 EQUAL;
    SCmpLeF16 LESS | EQUAL;
    SCmpGtF16 GREATER;
    SCmpLgF16 LESS | GREATER;
    SCmpGeF16 GREATER | EQUAL;
    SCmpOF16 LESS | EQUAL | GREATER;
    SCmpUF16 UNORDERED;
    SCmpNgeF16 LESS | UNORDERED;
    SCmpNlgF16 EQUAL | UNORDERED;
    SCmpNgtF16 LESS | EQUAL | UNORDERED;
    SCmpNleF16 GREATER | UNORDERED;
    SCmpNeqF16 LESS | GREATER | UNORDERED;
    SCmpNltF16 EQUAL | GREATER | UNORDERED;
}

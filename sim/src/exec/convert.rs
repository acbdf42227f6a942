//! Conversions between number formats.
//!
//! What must hold here: float to integer goes towards zero, saturates, and gives zero for NaN; float to float rounds once, to
//! nearest even unless the instruction names another way.

use super::AluFn;
use super::float::{self, Bits, Fp, NAN32};
use super::lane::{each, each64, finish16, finish32, finish64};
use super::operand::{Lanes32, float16, float32, float64, int16, int32, put16, put32};
use crate::fault::Exec;
use crate::isa::{Inst, Op};
use crate::wave::WaveState;

/// The function of a conversion.
pub(super) fn lookup(op: Op) -> Option<AluFn> {
    to_integer(op).or_else(|| from_integer(op)).or_else(|| between(op)).or_else(|| packed(op))
}

/// 32-bit float to integer bits.
#[inline(always)]
fn integer(wave: &mut WaveState, inst: &Inst, f: impl Fn(f64) -> u32) -> Exec {
    let fp = Fp::of(wave.mode);
    let a = float32(wave, inst, 0);
    put32(wave, inst, &each(|l| f(f64::from(f32::from_bits(a[l].input(fp))))));
    Ok(())
}

/// Double to integer bits.
#[inline(always)]
fn integer64(wave: &mut WaveState, inst: &Inst, f: impl Fn(f64) -> u32) -> Exec {
    let a = float64(wave, inst, 0);
    put32(wave, inst, &each(|l| f(f64::from_bits(a[l]))));
    Ok(())
}

/// Half to 16-bit integer bits.
#[inline(always)]
fn integer16(wave: &mut WaveState, inst: &Inst, f: impl Fn(f64) -> u16) -> Exec {
    let a = float16(wave, inst, 0);
    put16(wave, inst, &each(|l| u32::from(f(float::half_to_f64(a[l] as u16)))));
    Ok(())
}

/// A value in -1..=1 as a signed 16-bit fraction.
fn snorm(x: f64) -> u16 {
    if x.is_nan() { 0 } else { (x.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i16 as u16 }
}

/// A value in 0..=1 as an unsigned 16-bit fraction.
fn unorm(x: f64) -> u16 {
    if x.is_nan() { 0 } else { (x.clamp(0.0, 1.0) * 65535.0).round_ties_even() as u16 }
}

fn to_integer(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VCvtU32F32 => |w, i| integer(w, i, float::to_u32),
        Op::VCvtI32F32 => |w, i| integer(w, i, float::to_i32),
        // The sum with a half is rounded to single precision, as the ISA writes it.
        Op::VCvtRpiI32F32 => |w, i| integer(w, i, |x| float::to_i32(f64::from((x + 0.5) as f32).floor())),
        Op::VCvtFlrI32F32 => |w, i| integer(w, i, |x| float::to_i32(x.floor())),
        Op::VCvtU32F64 => |w, i| integer64(w, i, float::to_u32),
        Op::VCvtI32F64 => |w, i| integer64(w, i, float::to_i32),
        Op::VCvtU16F16 => |w, i| integer16(w, i, |x| x as u16),
        Op::VCvtI16F16 => |w, i| integer16(w, i, |x| x as i16 as u16),
        Op::VCvtNormI16F16 => |w, i| integer16(w, i, snorm),
        Op::VCvtNormU16F16 => |w, i| integer16(w, i, unorm),
        _ => return None,
    })
}

/// Integer bits to a 32-bit float.
#[inline(always)]
fn single(wave: &mut WaveState, inst: &Inst, f: impl Fn(u32) -> f32) -> Exec {
    let fp = Fp::of(wave.mode);
    let a = int32(wave, inst, 0);
    finish32(wave, inst, fp, each(|l| f(a[l]).to_bits()))
}

fn from_integer(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VCvtF32I32 => |w, i| single(w, i, |a| a as i32 as f32),
        Op::VCvtF32U32 => |w, i| single(w, i, |a| a as f32),
        Op::VCvtF32Ubyte0 => |w, i| single(w, i, |a| (a & 0xff) as f32),
        Op::VCvtF32Ubyte1 => |w, i| single(w, i, |a| (a >> 8 & 0xff) as f32),
        Op::VCvtF32Ubyte2 => |w, i| single(w, i, |a| (a >> 16 & 0xff) as f32),
        Op::VCvtF32Ubyte3 => |w, i| single(w, i, |a| (a >> 24) as f32),
        // A signed nibble in sixteenths.
        Op::VCvtOffF32I4 => |w, i| single(w, i, |a| ((a << 28) as i32 >> 28) as f32 / 16.0),
        Op::VCvtF64I32 => |w, i| {
            let fp = Fp::of(w.mode);
            let a = int32(w, i, 0);
            finish64(w, i, fp, each64(|l| f64::from(a[l] as i32).to_bits()))
        },
        Op::VCvtF64U32 => |w, i| {
            let fp = Fp::of(w.mode);
            let a = int32(w, i, 0);
            finish64(w, i, fp, each64(|l| f64::from(a[l]).to_bits()))
        },
        Op::VCvtF16U16 => |w, i| half(w, i, |a| f64::from(a as u16)),
        Op::VCvtF16I16 => |w, i| half(w, i, |a| f64::from(a as u16 as i16)),
        _ => return None,
    })
}

fn half(wave: &mut WaveState, inst: &Inst, f: impl Fn(u32) -> f64) -> Exec {
    let fp = Fp::of(wave.mode);
    let a = int16(wave, inst, 0);
    finish16(wave, inst, fp, each(|l| u32::from(float::f64_to_half(f(a[l])))))
}

/// A 32-bit float to a half: NaNs keep the top of their payload.
#[inline(always)]
pub(super) fn narrow16(fp: Fp, bits: u32) -> u32 {
    let rounded = float::f32_to_half(bits.input(fp));
    u32::from(if rounded.is_nan() { rounded } else { rounded.output(fp) })
}

/// A half as a 32-bit float.
#[inline(always)]
pub(super) fn widen32(fp: Fp, half: u16) -> u32 {
    let bits = float::half_to_f32(half.input(fp));
    if bits.is_nan() { bits.quiet() } else { bits }
}

fn between(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VCvtF16F32 => |w, i| {
            let fp = Fp::of(w.mode);
            let a = float32(w, i, 0);
            finish16(w, i, fp, each(|l| narrow16(fp, a[l])))
        },
        Op::VCvtF32F16 => |w, i| {
            let fp = Fp::of(w.mode);
            let a = float16(w, i, 0);
            finish32(w, i, fp, each(|l| widen32(fp, a[l] as u16)))
        },
        Op::VCvtF32F64 => |w, i| {
            let fp = Fp::of(w.mode);
            let a = float64(w, i, 0);
            finish32(w, i, fp, each(|l| narrow32(fp, a[l])))
        },
        Op::VCvtF64F32 => |w, i| {
            let fp = Fp::of(w.mode);
            let a = float32(w, i, 0);
            finish64(w, i, fp, each64(|l| widen64(fp, a[l])))
        },
        Op::VCvtF32Bf16 => |w, i| {
            let fp = Fp::of(w.mode);
            let a = int16(w, i, 0);
            finish32(w, i, fp, each(|l| a[l] << 16))
        },
        Op::VCvtSrBf16F32 => |w, i| {
            stochastic(w, i, |bits, noise| {
                if bits.is_nan() || bits & 0x7f80_0000 == 0x7f80_0000 {
                    u32::from(float::f32_to_bf16(bits))
                } else {
                    bits.wrapping_add(noise >> 16) >> 16
                }
            })
        },
        _ => return None,
    })
}

fn narrow32(fp: Fp, bits: u64) -> u32 {
    if bits.is_nan() {
        let sign = (bits >> 32) as u32 & 0x8000_0000;
        return sign | NAN32 | (bits >> 29) as u32 & 0x003f_ffff;
    }
    ((f64::from_bits(bits.input(fp)) as f32).to_bits()).output(fp)
}

fn widen64(fp: Fp, bits: u32) -> u64 {
    if bits.is_nan() {
        let quiet = u64::from(bits.quiet());
        return (quiet & 0x8000_0000) << 32 | 0x7ff0 << 48 | (quiet & 0x007f_ffff) << 29;
    }
    f64::from(f32::from_bits(bits.input(fp))).to_bits()
}

/// A 16-bit result rounded with noise from the second source, into the half that `op_sel` picks, the other half kept.
fn stochastic(wave: &mut WaveState, inst: &Inst, f: impl Fn(u32, u32) -> u32) -> Exec {
    let (a, b) = (float32(wave, inst, 0), int32(wave, inst, 1));
    let out = each(|l| f(a[l], b[l]));
    super::operand::put_half(wave, inst, &out, inst.mods.op_sel & 8 != 0);
    Ok(())
}

/// Two results of 16 bits side by side.
#[inline(always)]
fn pair(wave: &mut WaveState, inst: &Inst, f: impl Fn(Fp, u32) -> u32) -> Exec {
    let fp = Fp::of(wave.mode);
    let (a, b) = (float32(wave, inst, 0), float32(wave, inst, 1));
    put32(wave, inst, &each(|l| f(fp, a[l]) & 0xffff | f(fp, b[l]) << 16));
    Ok(())
}

fn pair16(wave: &mut WaveState, inst: &Inst, f: impl Fn(f64) -> u16) -> Exec {
    let (a, b): (Lanes32, Lanes32) = (float16(wave, inst, 0), float16(wave, inst, 1));
    let value = |bits: u32| u32::from(f(float::half_to_f64(bits as u16)));
    put32(wave, inst, &each(|l| value(a[l]) | value(b[l]) << 16));
    Ok(())
}

fn number(bits: u32) -> f64 {
    f64::from(f32::from_bits(bits))
}

fn packed(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VCvtPkrtzF16F32 => |w, i| pair(w, i, |fp, a| u32::from(float::f32_to_half_rtz(a.input(fp)))),
        Op::VCvtPkF16F32 => |w, i| pair(w, i, narrow16),
        Op::VCvtPkBf16F32 => |w, i| pair(w, i, |_, a| u32::from(float::f32_to_bf16(a))),
        Op::VCvtPknormI16F32 => |w, i| pair(w, i, |_, a| u32::from(snorm(number(a)))),
        Op::VCvtPknormU16F32 => |w, i| pair(w, i, |_, a| u32::from(unorm(number(a)))),
        Op::VCvtPknormI16F16 => |w, i| pair16(w, i, snorm),
        Op::VCvtPknormU16F16 => |w, i| pair16(w, i, unorm),
        Op::VCvtPkU8F32 => |w, i| {
            let (a, b, c) = (float32(w, i, 0), int32(w, i, 1), int32(w, i, 2));
            let insert = |l: usize| {
                let shift = 8 * (b[l] & 3);
                let byte = u32::from(number(a[l]).round_ties_even() as u8);
                c[l] & !(0xff << shift) | byte << shift
            };
            put32(w, i, &each(insert));
            Ok(())
        },
        Op::VSatPkU8I16 => |w, i| {
            let a = int32(w, i, 0);
            let byte = |bits: u32| u32::from((bits as u16 as i16).clamp(0, 255) as u16);
            put16(w, i, &each(|l| byte(a[l]) | byte(a[l] >> 16) << 8));
            Ok(())
        },
        _ => return None,
    })
}

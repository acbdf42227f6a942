//! Vector instructions on single 16-bit values, float and integer.
//!
//! What must hold here: the result stands in the low half and the high half becomes zero, except where the long encoding's
//! `op_sel` picks the high half or the instruction keeps the other half; see `put16`.

use super::AluFn;
use super::float::{self, Bits, Fp};
use super::lane::{each, finish16, half1, half2, half3, short2, short3};
use super::operand::{float16, int16, put16};
use super::vfloat::median;
use crate::fault::Exec;
use crate::isa::{Inst, Op};
use crate::wave::WaveState;

/// The function of a 16-bit operation.
pub(super) fn lookup(op: Op) -> Option<AluFn> {
    arithmetic(op).or_else(|| functions(op)).or_else(|| integers(op)).or_else(|| triples(op))
}

fn minus(bits: u16) -> u16 {
    bits ^ 0x8000
}

fn arithmetic(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VAddF16 => |w, i| half2(w, i, float::add16),
        Op::VSubF16 => |w, i| half2(w, i, |fp, a, b| float::add16(fp, a, minus(b))),
        Op::VSubrevF16 => |w, i| half2(w, i, |fp, a, b| float::add16(fp, minus(a), b)),
        Op::VMulF16 => |w, i| half2(w, i, float::mul16),
        Op::VMinF16 => |w, i| half2(w, i, float::minimum),
        Op::VMaxF16 => |w, i| half2(w, i, float::maximum),
        Op::VFmaF16 | Op::VFmaLegacyF16 => |w, i| half3(w, i, float::fma16),
        // Multiplied and added with a rounding in between, denormals flushed.
        Op::VMacF16 | Op::VMadakF16 | Op::VMadmkF16 | Op::VMadF16 | Op::VMadLegacyF16 => |w, i| half3(w, i, mad16),
        Op::VMin3F16 => |w, i| half3(w, i, |fp, a, b, c| float::minimum(fp, float::minimum(fp, a, b), c)),
        Op::VMax3F16 => |w, i| half3(w, i, |fp, a, b, c| float::maximum(fp, float::maximum(fp, a, b), c)),
        Op::VMed3F16 => |w, i| half3(w, i, median),
        Op::VDivFixupF16 | Op::VDivFixupLegacyF16 => |w, i| half3(w, i, |_, a, b, c| div_fixup16(a, b, c)),
        Op::VLdexpF16 => |w, i| {
            let fp = Fp::of(w.mode);
            let (a, b) = (float16(w, i, 0), int16(w, i, 1));
            let scaled = |l: usize| {
                float::unary(fp, a[l] as u16, |x| {
                    let exponent = i32::from(b[l] as u16 as i16).clamp(-60, 60);
                    float::f64_to_half(float::half_to_f64(x) * f64::from_bits(((exponent + 1023) as u64) << 52))
                })
            };
            finish16(w, i, fp, each(|l| u32::from(scaled(l))))
        },
        Op::VPackB32F16 => |w, i| {
            let (a, b) = (float16(w, i, 0), float16(w, i, 1));
            super::operand::put32(w, i, &each(|l| a[l] | b[l] << 16));
            Ok(())
        },
        _ => return None,
    })
}

fn mad16(fp: Fp, a: u16, b: u16, c: u16) -> u16 {
    let flushing = Fp { flush_in64: true, flush_out64: true, ..fp };
    float::add16(flushing, float::mul16(flushing, a, b), c)
}

fn div_fixup16(quotient: u16, denominator: u16, numerator: u16) -> u16 {
    let sign = (denominator ^ numerator) & 0x8000;
    let (d, n) = (denominator & 0x7fff, numerator & 0x7fff);
    if numerator.is_nan() {
        numerator.quiet()
    } else if denominator.is_nan() {
        denominator.quiet()
    } else if (d == 0 && n == 0) || (d == 0x7c00 && n == 0x7c00) {
        0xfe00
    } else if d == 0 || n == 0x7c00 {
        sign | 0x7c00
    } else if d == 0x7c00 || n == 0 {
        sign
    } else {
        sign | (quotient & 0x7fff)
    }
}

/// A half-precision function computed in double precision and rounded once.
#[inline(always)]
fn function(wave: &mut WaveState, inst: &Inst, f: impl Fn(f64) -> f64) -> Exec {
    half1(wave, inst, |fp, a| float::unary(fp, a, |x| float::f64_to_half(f(float::half_to_f64(x)))))
}

/// Sine and cosine take turns.
fn turns(x: f64, f: impl Fn(f64) -> f64) -> f64 {
    if x.is_infinite() { f64::NAN } else { f(if x.abs() > 256.0 { 0.0 } else { x.fract() * std::f64::consts::TAU }) }
}

fn functions(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VRcpF16 => |w, i| function(w, i, |x| 1.0 / x),
        Op::VSqrtF16 => |w, i| function(w, i, f64::sqrt),
        Op::VRsqF16 => |w, i| function(w, i, |x| 1.0 / x.sqrt()),
        Op::VLogF16 => |w, i| function(w, i, f64::log2),
        Op::VExpF16 => |w, i| function(w, i, f64::exp2),
        Op::VFloorF16 => |w, i| function(w, i, f64::floor),
        Op::VCeilF16 => |w, i| function(w, i, f64::ceil),
        Op::VTruncF16 => |w, i| function(w, i, f64::trunc),
        Op::VRndneF16 => |w, i| function(w, i, f64::round_ties_even),
        // 0x3bff is the largest half below one.
        Op::VFractF16 => |w, i| function(w, i, |x| (x - x.floor()).min(float::half_to_f64(0x3bff))),
        Op::VSinF16 => |w, i| function(w, i, |x| turns(x, f64::sin)),
        Op::VCosF16 => |w, i| function(w, i, |x| turns(x, f64::cos)),
        Op::VFrexpMantF16 => |w, i| {
            half1(w, i, |fp, a| {
                float::unary(fp, a, |x| {
                    if x & 0x7c00 == 0x7c00 {
                        return x;
                    }
                    let scale = f64::from_bits(((1023 - exponent16(x)) as u64) << 52);
                    float::f64_to_half(float::half_to_f64(x) * scale)
                })
            })
        },
        Op::VFrexpExpI16F16 => |w, i| {
            let a = float16(w, i, 0);
            put16(w, i, &each(|l| (exponent16(a[l] as u16) as u32) & 0xffff));
            Ok(())
        },
        _ => return None,
    })
}

/// The exponent for a fraction between a half and one; zero for zero, infinity and NaN.
fn exponent16(bits: u16) -> i32 {
    let magnitude = bits & 0x7fff;
    if magnitude == 0 || magnitude >= 0x7c00 {
        return 0;
    }
    (float::half_to_f64(magnitude).to_bits() >> 52) as i32 - 1022
}

fn saturate(value: i32, low: i32, high: i32, clamp: bool) -> u16 {
    (if clamp { value.clamp(low, high) } else { value }) as u16
}

/// Unsigned arithmetic that saturates with the clamp bit.
#[inline(always)]
fn unsigned2(wave: &mut WaveState, inst: &Inst, f: impl Fn(i32, i32) -> i32) -> Exec {
    let clamp = inst.mods.clamp;
    short2(wave, inst, |a, b| saturate(f(i32::from(a), i32::from(b)), 0, 0xffff, clamp))
}

/// Signed arithmetic that saturates with the clamp bit.
#[inline(always)]
fn signed2(wave: &mut WaveState, inst: &Inst, f: impl Fn(i32, i32) -> i32) -> Exec {
    let clamp = inst.mods.clamp;
    short2(wave, inst, |a, b| saturate(f(i32::from(a as i16), i32::from(b as i16)), -32768, 32767, clamp))
}

fn integers(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VAddU16 => |w, i| unsigned2(w, i, |a, b| a + b),
        Op::VSubU16 => |w, i| unsigned2(w, i, |a, b| a - b),
        Op::VSubrevU16 => |w, i| unsigned2(w, i, |a, b| b - a),
        Op::VAddI16 => |w, i| signed2(w, i, |a, b| a + b),
        Op::VSubI16 => |w, i| signed2(w, i, |a, b| a - b),
        Op::VMulLoU16 => |w, i| short2(w, i, u16::wrapping_mul),
        Op::VLshlrevB16 => |w, i| short2(w, i, |a, b| b << (a & 15)),
        Op::VLshrrevB16 => |w, i| short2(w, i, |a, b| b >> (a & 15)),
        Op::VAshrrevI16 => |w, i| short2(w, i, |a, b| (b as i16 >> (a & 15)) as u16),
        Op::VMaxU16 => |w, i| short2(w, i, u16::max),
        Op::VMinU16 => |w, i| short2(w, i, u16::min),
        Op::VMaxI16 => |w, i| short2(w, i, |a, b| (a as i16).max(b as i16) as u16),
        Op::VMinI16 => |w, i| short2(w, i, |a, b| (a as i16).min(b as i16) as u16),
        _ => return None,
    })
}

fn triples(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VMadU16 | Op::VMadLegacyU16 => |w, i| {
            let clamp = i.mods.clamp;
            short3(w, i, |a, b, c| {
                let wide = u64::from(a) * u64::from(b) + u64::from(c);
                if clamp { wide.min(0xffff) as u16 } else { wide as u16 }
            })
        },
        Op::VMadI16 | Op::VMadLegacyI16 => |w, i| {
            let clamp = i.mods.clamp;
            short3(w, i, |a, b, c| {
                let wide = i64::from(a as i16) * i64::from(b as i16) + i64::from(c as i16);
                if clamp { wide.clamp(-32768, 32767) as u16 } else { wide as u16 }
            })
        },
        Op::VMin3U16 => |w, i| short3(w, i, |a, b, c| a.min(b).min(c)),
        Op::VMax3U16 => |w, i| short3(w, i, |a, b, c| a.max(b).max(c)),
        Op::VMed3U16 => |w, i| short3(w, i, |a, b, c| a.min(b).max(a.max(b).min(c))),
        Op::VMin3I16 => |w, i| short3(w, i, |a, b, c| (a as i16).min(b as i16).min(c as i16) as u16),
        Op::VMax3I16 => |w, i| short3(w, i, |a, b, c| (a as i16).max(b as i16).max(c as i16) as u16),
        Op::VMed3I16 => |w, i| {
            short3(w, i, |a, b, c| {
                let (a, b, c) = (a as i16, b as i16, c as i16);
                a.min(b).max(a.max(b).min(c)) as u16
            })
        },
        _ => return None,
    })
}

//! Packed instructions (VOP3P): two values per register, mixed precision, dot products.
//!
//! What must hold here: `op_sel` picks the half of each source that the low result uses, `op_sel_hi` that of the high result;
//! `neg` belongs to the low, `neg_hi` to the high one. A constant stands in the low half only for 16-bit pairs, and in both
//! halves for pairs of 32 bits.

use super::AluFn;
use super::float::{self, Bits, Fp};
use super::lane::{each, each64, finish32};
use super::operand::{Lanes32, int32, put_half, put32, put64, raw16, raw32, scalar64, vector_index};
use crate::fault::Exec;
use crate::isa::{Inst, Op, Operand};
use crate::wave::{LANES, WaveState};

/// The function of a packed operation.
pub(super) fn lookup(op: Op) -> Option<AluFn> {
    integers(op).or_else(|| halves(op)).or_else(|| singles(op)).or_else(|| mixed(op)).or_else(|| dots(op))
}

/// Source `index` of 16-bit pairs; inline floats are 16-bit patterns for float pairs.
#[inline(always)]
fn pair_source(wave: &WaveState, inst: &Inst, index: usize, float: bool) -> Lanes32 {
    if float { raw16(wave, inst, index) } else { raw32(wave, inst.src[index]) }
}

/// The 16-bit operand that source `index` gives to the low or the high result.
#[inline(always)]
fn pick(inst: &Inst, index: usize, high: bool, dword: u32) -> u16 {
    let select = if high { inst.mods.op_sel_hi } else { inst.mods.op_sel };
    (if select >> index & 1 != 0 { dword >> 16 } else { dword }) as u16
}

/// Both halves of a packed integer operation with up to three sources.
#[inline(always)]
fn pack_int(wave: &mut WaveState, inst: &Inst, f: impl Fn(u16, u16, u16) -> u16) -> Exec {
    let (a, b, c) =
        (pair_source(wave, inst, 0, false), pair_source(wave, inst, 1, false), pair_source(wave, inst, 2, false));
    let half = |l: usize, high: bool| {
        u32::from(f(pick(inst, 0, high, a[l]), pick(inst, 1, high, b[l]), pick(inst, 2, high, c[l])))
    };
    put32(wave, inst, &each(|l| half(l, false) | half(l, true) << 16));
    Ok(())
}

/// The same with wide intermediate results that the clamp bit saturates to `low..=high`.
#[inline(always)]
fn pack_saturating<const SIGNED: bool>(wave: &mut WaveState, inst: &Inst, f: impl Fn(i64, i64, i64) -> i64) -> Exec {
    let clamp = inst.mods.clamp;
    let widen = |x: u16| if SIGNED { i64::from(x as i16) } else { i64::from(x) };
    let (low, high) = if SIGNED { (-32768, 32767) } else { (0, 65535) };
    pack_int(wave, inst, |a, b, c| {
        let value = f(widen(a), widen(b), widen(c));
        (if clamp { value.clamp(low, high) } else { value }) as u16
    })
}

fn integers(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VPkMadI16 => |w, i| pack_saturating::<true>(w, i, |a, b, c| a * b + c),
        Op::VPkMadU16 => |w, i| pack_saturating::<false>(w, i, |a, b, c| a * b + c),
        Op::VPkMulLoU16 => |w, i| pack_int(w, i, |a, b, _| a.wrapping_mul(b)),
        Op::VPkAddI16 => |w, i| pack_saturating::<true>(w, i, |a, b, _| a + b),
        Op::VPkSubI16 => |w, i| pack_saturating::<true>(w, i, |a, b, _| a - b),
        Op::VPkAddU16 => |w, i| pack_saturating::<false>(w, i, |a, b, _| a + b),
        Op::VPkSubU16 => |w, i| pack_saturating::<false>(w, i, |a, b, _| a - b),
        Op::VPkLshlrevB16 => |w, i| pack_int(w, i, |a, b, _| b << (a & 15)),
        Op::VPkLshrrevB16 => |w, i| pack_int(w, i, |a, b, _| b >> (a & 15)),
        Op::VPkAshrrevI16 => |w, i| pack_int(w, i, |a, b, _| (b as i16 >> (a & 15)) as u16),
        Op::VPkMaxI16 => |w, i| pack_int(w, i, |a, b, _| (a as i16).max(b as i16) as u16),
        Op::VPkMinI16 => |w, i| pack_int(w, i, |a, b, _| (a as i16).min(b as i16) as u16),
        Op::VPkMaxU16 => |w, i| pack_int(w, i, |a, b, _| a.max(b)),
        Op::VPkMinU16 => |w, i| pack_int(w, i, |a, b, _| a.min(b)),
        Op::VPkMax3I16 => |w, i| pack_int(w, i, |a, b, c| (a as i16).max(b as i16).max(c as i16) as u16),
        Op::VPkMin3I16 => |w, i| pack_int(w, i, |a, b, c| (a as i16).min(b as i16).min(c as i16) as u16),
        Op::VPkMax3U16 => |w, i| pack_int(w, i, |a, b, c| a.max(b).max(c)),
        Op::VPkMin3U16 => |w, i| pack_int(w, i, |a, b, c| a.min(b).min(c)),
        _ => return None,
    })
}

/// The sign flip of source `index` for the low or the high result.
#[inline(always)]
fn sign(inst: &Inst, index: usize, high: bool) -> u16 {
    let mask = if high { inst.mods.neg_hi } else { inst.mods.neg };
    u16::from(mask >> index & 1) << 15
}

/// Both halves of a packed half-precision operation.
#[inline(always)]
fn pack_half(wave: &mut WaveState, inst: &Inst, f: impl Fn(Fp, u16, u16, u16) -> u16) -> Exec {
    let fp = Fp::of(wave.mode);
    let clamp = inst.mods.clamp;
    let (a, b, c) =
        (pair_source(wave, inst, 0, true), pair_source(wave, inst, 1, true), pair_source(wave, inst, 2, true));
    let half = |l: usize, high: bool| {
        let source = |index: usize, dword: u32| pick(inst, index, high, dword) ^ sign(inst, index, high);
        let value = f(fp, source(0, a[l]), source(1, b[l]), source(2, c[l]));
        u32::from(if clamp { float::clamp16(fp, value) } else { value })
    };
    put32(wave, inst, &each(|l| half(l, false) | half(l, true) << 16));
    Ok(())
}

fn halves(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VPkFmaF16 => |w, i| pack_half(w, i, float::fma16),
        Op::VPkFmacF16 => |w, i| {
            // The short encoding has no selection: both halves stay where they are.
            let fp = Fp::of(w.mode);
            let (a, b, c) = (pair_source(w, i, 0, true), pair_source(w, i, 1, true), int32(w, i, 2));
            let half = |l: usize, shift: u32| {
                let cut = |x: u32| (x >> shift) as u16;
                u32::from(float::fma16(fp, cut(a[l]), cut(b[l]), cut(c[l]))) << shift
            };
            put32(w, i, &each(|l| half(l, 0) | half(l, 16)));
            Ok(())
        },
        Op::VPkAddF16 => |w, i| pack_half(w, i, |fp, a, b, _| float::add16(fp, a, b)),
        Op::VPkMulF16 => |w, i| pack_half(w, i, |fp, a, b, _| float::mul16(fp, a, b)),
        Op::VPkMinF16 => |w, i| pack_half(w, i, |fp, a, b, _| float::minimum(fp, a, b)),
        Op::VPkMaxF16 => |w, i| pack_half(w, i, |fp, a, b, _| float::maximum(fp, a, b)),
        Op::VPkMinimumF16 => |w, i| pack_half(w, i, |fp, a, b, _| super::vfloat::nan_wins(fp, a, b, b, float::minimum)),
        Op::VPkMaximumF16 => |w, i| pack_half(w, i, |fp, a, b, _| super::vfloat::nan_wins(fp, a, b, b, float::maximum)),
        Op::VPkMin3NumF16 => |w, i| pack_half(w, i, |fp, a, b, c| float::minimum(fp, float::minimum(fp, a, b), c)),
        Op::VPkMax3NumF16 => |w, i| pack_half(w, i, |fp, a, b, c| float::maximum(fp, float::maximum(fp, a, b), c)),
        Op::VPkMinimum3F16 => {
            |w, i| pack_half(w, i, |fp, a, b, c| super::vfloat::nan_wins(fp, a, b, c, float::minimum))
        }
        Op::VPkMaximum3F16 => {
            |w, i| pack_half(w, i, |fp, a, b, c| super::vfloat::nan_wins(fp, a, b, c, float::maximum))
        }
        _ => return None,
    })
}

/// Both dwords of source `index` of a pair of 32-bit values.
#[inline(always)]
fn dwords(wave: &WaveState, operand: Operand) -> [Lanes32; 2] {
    if let Some(first) = vector_index(wave, operand) {
        return [wave.vgprs[first], wave.vgprs[first + 1]];
    }
    match operand {
        Operand::InlineInt(_) | Operand::InlineFloat(_) | Operand::Literal(_) => [raw32(wave, operand); 2],
        _ => {
            let pair = scalar64(wave, operand, false);
            [[pair as u32; LANES], [(pair >> 32) as u32; LANES]]
        }
    }
}

/// Both results of a packed single-precision operation.
#[inline(always)]
fn pack_single(wave: &mut WaveState, inst: &Inst, f: impl Fn(Fp, u32, u32, u32) -> u32) -> Exec {
    let fp = Fp::of(wave.mode);
    let sources = [dwords(wave, inst.src[0]), dwords(wave, inst.src[1]), dwords(wave, inst.src[2])];
    let operand = |index: usize, high: bool, lane: usize| {
        let select = if high { inst.mods.op_sel_hi } else { inst.mods.op_sel };
        sources[index][usize::from(select >> index & 1)][lane] ^ u32::from(sign(inst, index, high)) << 16
    };
    let result = |lane: usize, high: bool| {
        let value = f(fp, operand(0, high, lane), operand(1, high, lane), operand(2, high, lane));
        u64::from(if inst.mods.clamp { float::clamp32(fp, value) } else { value })
    };
    put64(wave, inst, &each64(|lane| result(lane, false) | result(lane, true) << 32));
    Ok(())
}

fn singles(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VPkFmaF32 => |w, i| pack_single(w, i, float::fma32),
        Op::VPkMulF32 => |w, i| pack_single(w, i, |fp, a, b, _| float::mul32(fp, a, b)),
        Op::VPkAddF32 => |w, i| pack_single(w, i, |fp, a, b, _| float::add32(fp, a, b)),
        // The low result comes from source 0, the high one from source 1, each picked by its `op_sel` bit.
        Op::VPkMovB32 => |w, i| {
            let (a, b) = (dwords(w, i.src[0]), dwords(w, i.src[1]));
            let low = a[usize::from(i.mods.op_sel & 1)];
            let high = b[usize::from(i.mods.op_sel >> 1 & 1)];
            put64(w, i, &super::operand::join(&low, &high));
            Ok(())
        },
        _ => return None,
    })
}

/// Source `index` of a mixed-precision instruction as single precision: `op_sel_hi` says that it is a half, `op_sel` which.
fn mixed_source(wave: &WaveState, inst: &Inst, index: usize, fp: Fp) -> Lanes32 {
    let half = inst.mods.op_sel_hi >> index & 1 != 0;
    let raw = pair_source(wave, inst, index, half);
    let high = inst.mods.op_sel >> index & 1 != 0;
    // `neg_hi` is the absolute value in these instructions.
    let keep = if inst.mods.neg_hi >> index & 1 != 0 { 0x7fff_ffff } else { u32::MAX };
    let flip = u32::from(inst.mods.neg >> index & 1) << 31;
    each(|l| {
        let value = if half {
            float::half_to_f32(((if high { raw[l] >> 16 } else { raw[l] }) as u16).input(fp))
        } else {
            raw[l]
        };
        (value & keep) ^ flip
    })
}

fn mix(wave: &WaveState, inst: &Inst, fp: Fp) -> Lanes32 {
    let (a, b, c) = (mixed_source(wave, inst, 0, fp), mixed_source(wave, inst, 1, fp), mixed_source(wave, inst, 2, fp));
    each(|l| float::fma32(fp, a[l], b[l], c[l]))
}

fn mix_half(wave: &mut WaveState, inst: &Inst, high: bool) -> Exec {
    let fp = Fp::of(wave.mode);
    let sum = mix(wave, inst, fp);
    let out = each(|l| {
        let value = float::f32_to_half(sum[l]);
        let value = if value.is_nan() { value } else { value.output(fp) };
        u32::from(if inst.mods.clamp { float::clamp16(fp, value) } else { value })
    });
    put_half(wave, inst, &out, high);
    Ok(())
}

fn mixed(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VFmaMixF32 => |w, i| {
            let fp = Fp::of(w.mode);
            let sum = mix(w, i, fp);
            finish32(w, i, fp, sum)
        },
        Op::VFmaMixloF16 => |w, i| mix_half(w, i, false),
        Op::VFmaMixhiF16 => |w, i| mix_half(w, i, true),
        _ => return None,
    })
}

/// A sum of products of the parts of two dwords, and an addend, with 64-bit intermediate results.
#[inline(always)]
fn dot_int(wave: &mut WaveState, inst: &Inst, bits: u32, signed: bool) -> Exec {
    let (a, b, c) = (int32(wave, inst, 0), int32(wave, inst, 1), int32(wave, inst, 2));
    let part = |value: u32, index: u32| {
        let top = value << (32 - bits * (index + 1));
        if signed { i64::from(top as i32 >> (32 - bits)) } else { i64::from(top >> (32 - bits)) }
    };
    let clamp = inst.mods.clamp;
    let out = each(|l| {
        let addend = if signed { i64::from(c[l] as i32) } else { i64::from(c[l]) };
        let sum = (0..32 / bits).map(|n| part(a[l], n) * part(b[l], n)).sum::<i64>() + addend;
        match (clamp, signed) {
            (false, _) => sum as u32,
            (true, true) => sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32,
            (true, false) => sum.clamp(0, i64::from(u32::MAX)) as u32,
        }
    });
    put32(wave, inst, &out);
    Ok(())
}

/// Two products of halves (or bfloats) and a single-precision addend. The products are exact in double precision, and the sum
/// is rounded to single precision after each addition; the order of the ISA's text.
fn dot_float(wave: &mut WaveState, inst: &Inst, widen: impl Fn(u16) -> u32, addend_last: bool) -> Exec {
    let fp = Fp::of(wave.mode);
    let (a, b) = (pair_source(wave, inst, 0, true), pair_source(wave, inst, 1, true));
    let c = super::operand::float32(wave, inst, 2);
    let packed = inst.format == crate::isa::Format::Vop3p;
    let operand = |index: usize, high: bool, dword: u32| {
        let half = if packed {
            pick(inst, index, high, dword) ^ sign(inst, index, high)
        } else {
            (if high { dword >> 16 } else { dword }) as u16
        };
        widen(half)
    };
    let product = |l: usize, high: bool| (operand(0, high, a[l]), operand(1, high, b[l]));
    let out = each(|l| {
        let (low, high) = (product(l, false), product(l, true));
        if addend_last {
            let sum = float::fma32(fp, high.0, high.1, float::mul32(fp, low.0, low.1));
            float::add32(fp, sum, c[l])
        } else {
            float::fma32(fp, high.0, high.1, float::fma32(fp, low.0, low.1, c[l]))
        }
    });
    finish32(wave, inst, fp, out)
}

fn dots(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VDot2F32F16 | Op::VDot2cF32F16 => |w, i| dot_float(w, i, float::half_to_f32, false),
        Op::VDot2cF32Bf16 => |w, i| dot_float(w, i, |x| u32::from(x) << 16, false),
        Op::VDot2F32Bf16 => |w, i| dot_float(w, i, |x| u32::from(x) << 16, true),
        Op::VDot2I32I16 | Op::VDot2cI32I16 => |w, i| dot_int(w, i, 16, true),
        Op::VDot2U32U16 => |w, i| dot_int(w, i, 16, false),
        Op::VDot4I32I8 | Op::VDot4cI32I8 => |w, i| dot_int(w, i, 8, true),
        Op::VDot4U32U8 => |w, i| dot_int(w, i, 8, false),
        Op::VDot8I32I4 | Op::VDot8cI32I4 => |w, i| dot_int(w, i, 4, true),
        Op::VDot8U32U4 => |w, i| dot_int(w, i, 4, false),
        _ => return None,
    })
}

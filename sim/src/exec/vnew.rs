//! Vector instructions that gfx1250 adds, integers and moves.
//!
//! What must hold here: only what a public document describes (the RDNA4 ISA for what gfx12 has in common), or what the name
//! leaves no doubt about. `v_permlane_bcast_b32` and its like are left out: their operands are in no public document.

use super::AluFn;
use super::float::{self, Bits, Fp};
use super::lane::{double2, each, each64, finish16, half2, half3, int2, int3, short2, single2, single3};
use super::operand::{
    Lanes32, float16, float32, int16, int32, int64, mask, put16, put32, put64, scalar32, set_scalar32, vector_index,
};
use super::vfloat::nan_wins;
use crate::fault::Exec;
use crate::isa::{Inst, Op};
use crate::wave::{LANES, WaveState};

/// The function of a vector operation that gfx9 lacks.
pub(super) fn lookup(op: Op) -> Option<AluFn> {
    wide(op)
        .or_else(|| integers(op))
        .or_else(|| shorts(op))
        .or_else(|| singles(op))
        .or_else(|| halves(op))
        .or_else(|| moves(op))
        .or_else(|| approximate(op))
}

/// 64-bit integers, two sources.
#[inline(always)]
fn wide2(wave: &mut WaveState, inst: &Inst, f: impl Fn(u64, u64) -> u64) -> Exec {
    let (a, b) = (int64(wave, inst, 0), int64(wave, inst, 1));
    put64(wave, inst, &each64(|l| f(a[l], b[l])));
    Ok(())
}

/// 32-bit factors and a 64-bit addend.
#[inline(always)]
fn mad64(wave: &mut WaveState, inst: &Inst, product: impl Fn(u32, u32) -> u64) -> Exec {
    let (a, b, c) = (int32(wave, inst, 0), int32(wave, inst, 1), int64(wave, inst, 2));
    put64(wave, inst, &each64(|l| product(a[l], b[l]).wrapping_add(c[l])));
    Ok(())
}

fn wide(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VAddNcU64 => |w, i| wide2(w, i, u64::wrapping_add),
        Op::VSubNcU64 => |w, i| wide2(w, i, u64::wrapping_sub),
        Op::VMulU64 => |w, i| wide2(w, i, u64::wrapping_mul),
        Op::VMinU64 => |w, i| wide2(w, i, u64::min),
        Op::VMaxU64 => |w, i| wide2(w, i, u64::max),
        Op::VMinI64 => |w, i| wide2(w, i, |a, b| (a as i64).min(b as i64) as u64),
        Op::VMaxI64 => |w, i| wide2(w, i, |a, b| (a as i64).max(b as i64) as u64),
        Op::VMadNcU64U32 => |w, i| mad64(w, i, |a, b| u64::from(a) * u64::from(b)),
        Op::VMadNcI64I32 => |w, i| mad64(w, i, |a, b| (i64::from(a as i32) * i64::from(b as i32)) as u64),
        Op::VMinimumF64 => |w, i| double2(w, i, |fp, a, b| nan_wins(fp, a, b, b, float::minimum)),
        Op::VMaximumF64 => |w, i| double2(w, i, |fp, a, b| nan_wins(fp, a, b, b, float::maximum)),
        Op::VFmamkF64 | Op::VFmaakF64 => |w, i| super::lane::double3(w, i, float::fma64),
        _ => return None,
    })
}

const fn signed(a: u32, b: u32, smaller: bool) -> u32 {
    if ((a as i32) < b as i32) == smaller { a } else { b }
}

fn integers(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VMadU32 => |w, i| int3(w, i, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        Op::VXor3B32 => |w, i| int3(w, i, |a, b, c| a ^ b ^ c),
        Op::VMaxminU32 => |w, i| int3(w, i, |a, b, c| a.max(b).min(c)),
        Op::VMinmaxU32 => |w, i| int3(w, i, |a, b, c| a.min(b).max(c)),
        Op::VMaxminI32 => |w, i| int3(w, i, |a, b, c| signed(signed(a, b, false), c, true)),
        Op::VMinmaxI32 => |w, i| int3(w, i, |a, b, c| signed(signed(a, b, true), c, false)),
        // The third operand of the truth table is zero.
        Op::VBitop2B32 => |w, i| {
            let table = i.mods.bitop3;
            int2(w, i, |a, b| super::vint::bitop3(table, a, b, 0))
        },
        Op::VCvtPkI16F32 => |w, i| pack_integers(w, i, |x| x as i16 as u16),
        Op::VCvtPkU16F32 => |w, i| pack_integers(w, i, |x| x as u16),
        _ => return None,
    })
}

/// Two floats as integers of 16 bits, towards zero, saturating.
fn pack_integers(wave: &mut WaveState, inst: &Inst, f: impl Fn(f32) -> u16) -> Exec {
    let fp = Fp::of(wave.mode);
    let (a, b) = (float32(wave, inst, 0), float32(wave, inst, 1));
    let integer = |bits: u32| u32::from(f(f32::from_bits(bits.input(fp))));
    put32(wave, inst, &each(|l| integer(a[l]) | integer(b[l]) << 16));
    Ok(())
}

fn shorts(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VAndB16 => |w, i| short2(w, i, |a, b| a & b),
        Op::VOrB16 => |w, i| short2(w, i, |a, b| a | b),
        Op::VXorB16 => |w, i| short2(w, i, |a, b| a ^ b),
        Op::VNotB16 => |w, i| {
            let a = int16(w, i, 0);
            put16(w, i, &each(|l| !a[l] & 0xffff));
            Ok(())
        },
        Op::VCvtI32I16 => |w, i| {
            let a = int16(w, i, 0);
            put32(w, i, &each(|l| a[l] as u16 as i16 as u32));
            Ok(())
        },
        Op::VCvtU32U16 => |w, i| {
            let a = int16(w, i, 0);
            put32(w, i, &a);
            Ok(())
        },
        Op::VCndmaskB16 => |w, i| {
            let (a, b, choose) = (float16(w, i, 0), float16(w, i, 1), mask(w, i.src[2]));
            put16(w, i, &each(|l| if choose >> l & 1 != 0 { b[l] } else { a[l] }));
            Ok(())
        },
        _ => return None,
    })
}

fn singles(op: Op) -> Option<AluFn> {
    Some(match op {
        // Zero times anything is zero.
        Op::VFmaDx9ZeroF32 => |w, i| {
            single3(w, i, |fp, a, b, c| {
                let zero = |bits: u32| bits.input(fp) & 0x7fff_ffff == 0;
                if zero(a) || zero(b) { float::add32(fp, 0, c) } else { float::fma32(fp, a, b, c) }
            })
        },
        Op::VMinimumF32 => |w, i| single2(w, i, |fp, a, b| nan_wins(fp, a, b, b, float::minimum)),
        Op::VMaximumF32 => |w, i| single2(w, i, |fp, a, b| nan_wins(fp, a, b, b, float::maximum)),
        Op::VMinmaxNumF32 => |w, i| single3(w, i, |fp, a, b, c| float::maximum(fp, float::minimum(fp, a, b), c)),
        Op::VMaxminNumF32 => |w, i| single3(w, i, |fp, a, b, c| float::minimum(fp, float::maximum(fp, a, b), c)),
        Op::VMinimummaximumF32 => |w, i| single3(w, i, |fp, a, b, c| both(fp, a, b, c, float::minimum, float::maximum)),
        Op::VMaximumminimumF32 => |w, i| single3(w, i, |fp, a, b, c| both(fp, a, b, c, float::maximum, float::minimum)),
        _ => return None,
    })
}

/// `second(first(a, b), c)` where any NaN is the result.
fn both<B: Bits>(fp: Fp, a: B, b: B, c: B, first: impl Fn(Fp, B, B) -> B, second: impl Fn(Fp, B, B) -> B) -> B {
    let inner = nan_wins(fp, a, b, b, first);
    nan_wins(fp, inner, c, c, second)
}

fn halves(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VFmacF16 | Op::VFmamkF16 | Op::VFmaakF16 => |w, i| half3(w, i, float::fma16),
        Op::VMinimumF16 => |w, i| half2(w, i, |fp, a, b| nan_wins(fp, a, b, b, float::minimum)),
        Op::VMaximumF16 => |w, i| half2(w, i, |fp, a, b| nan_wins(fp, a, b, b, float::maximum)),
        Op::VMinimum3F16 => |w, i| half3(w, i, |fp, a, b, c| nan_wins(fp, a, b, c, float::minimum)),
        Op::VMaximum3F16 => |w, i| half3(w, i, |fp, a, b, c| nan_wins(fp, a, b, c, float::maximum)),
        Op::VMinmaxNumF16 => |w, i| half3(w, i, |fp, a, b, c| float::maximum(fp, float::minimum(fp, a, b), c)),
        Op::VMaxminNumF16 => |w, i| half3(w, i, |fp, a, b, c| float::minimum(fp, float::maximum(fp, a, b), c)),
        Op::VMinimummaximumF16 => |w, i| half3(w, i, |fp, a, b, c| both(fp, a, b, c, float::minimum, float::maximum)),
        Op::VMaximumminimumF16 => |w, i| half3(w, i, |fp, a, b, c| both(fp, a, b, c, float::maximum, float::minimum)),
        _ => return None,
    })
}

/// The whole source register, active lanes or not.
fn register(wave: &WaveState, inst: &Inst, index: usize) -> Lanes32 {
    match vector_index(wave, inst.src[index]) {
        Some(register) => wave.vgprs[register],
        None => [scalar32(wave, inst.src[index]); LANES],
    }
}

/// Lane i of each row of 16 takes the lane that four bits of `select` name, of its own row or of the other one of the pair.
fn permute(wave: &mut WaveState, inst: &Inst, other_row: usize, select: impl Fn(usize) -> u32) -> Exec {
    let from = register(wave, inst, 0);
    put32(wave, inst, &each(|lane| from[(lane & !15 ^ other_row) + (select(lane) & 15) as usize]));
    Ok(())
}

/// `v_permlane16_b32`: the sixteen selections stand in two scalar sources, alike for all rows.
fn permute_alike(wave: &mut WaveState, inst: &Inst, other_row: usize) -> Exec {
    let (low, high) = (scalar32(wave, inst.src[1]), scalar32(wave, inst.src[2]));
    let all = u64::from(low) | u64::from(high) << 32;
    permute(wave, inst, other_row, |lane| (all >> (4 * (lane & 15))) as u32)
}

/// `v_permlane16_var_b32`: each lane has its own selection.
fn permute_each(wave: &mut WaveState, inst: &Inst, other_row: usize) -> Exec {
    let select = register(wave, inst, 1);
    permute(wave, inst, other_row, |lane| select[lane])
}

fn moves(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VPermlane16B32 => |w, i| permute_alike(w, i, 0),
        Op::VPermlanex16B32 => |w, i| permute_alike(w, i, 16),
        Op::VPermlane16VarB32 => |w, i| permute_each(w, i, 0),
        Op::VPermlanex16VarB32 => |w, i| permute_each(w, i, 16),
        _ => return None,
    })
}

/// A function of one scalar single-precision value.
fn scalar(wave: &mut WaveState, inst: &Inst, f: impl Fn(f64) -> f64) -> Exec {
    let fp = Fp::of(wave.mode);
    let value = float::unary(fp, scalar32(wave, inst.src[0]), |x| (f(f64::from(f32::from_bits(x))) as f32).to_bits());
    set_scalar32(wave, inst.dst, value);
    Ok(())
}

/// The same for the half in the low bits.
fn scalar16(wave: &mut WaveState, inst: &Inst, f: impl Fn(f64) -> f64) -> Exec {
    let fp = Fp::of(wave.mode);
    let a = float16(wave, inst, 0)[0] as u16;
    let value = float::unary(fp, a, |x| float::f64_to_half(f(float::half_to_f64(x))));
    set_scalar32(wave, inst.dst, u32::from(value));
    Ok(())
}

/// Functions that hardware approximates, on scalar registers.
fn approximate(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VSExpF32 => |w, i| scalar(w, i, f64::exp2),
        Op::VSLogF32 => |w, i| scalar(w, i, f64::log2),
        Op::VSRcpF32 => |w, i| scalar(w, i, |x| 1.0 / x),
        Op::VSRsqF32 => |w, i| scalar(w, i, |x| 1.0 / x.sqrt()),
        Op::VSSqrtF32 => |w, i| scalar(w, i, f64::sqrt),
        Op::VSExpF16 => |w, i| scalar16(w, i, f64::exp2),
        Op::VSLogF16 => |w, i| scalar16(w, i, f64::log2),
        Op::VSRcpF16 => |w, i| scalar16(w, i, |x| 1.0 / x),
        Op::VSRsqF16 => |w, i| scalar16(w, i, |x| 1.0 / x.sqrt()),
        Op::VSSqrtF16 => |w, i| scalar16(w, i, f64::sqrt),
        Op::VTanhF32 => |w, i| {
            super::lane::single1(w, i, |fp, a| {
                float::unary(fp, a, |x| (f64::from(f32::from_bits(x)).tanh() as f32).to_bits())
            })
        },
        Op::VTanhF16 => |w, i| {
            let fp = Fp::of(w.mode);
            let a = float16(w, i, 0);
            let tanh = |x: u16| float::unary(fp, x, |x| float::f64_to_half(float::half_to_f64(x).tanh()));
            finish16(w, i, fp, each(|l| u32::from(tanh(a[l] as u16))))
        },
        _ => return None,
    })
}

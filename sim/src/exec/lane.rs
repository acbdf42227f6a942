//! The shapes of vector ALU instructions: how many sources of which type, and what becomes of the result.
//!
//! What must hold here: each helper reads all its sources before it writes, so a destination may also be a source.

use super::float::{self, Fp};
use super::operand::{Lanes32, collect, float16, float32, float64, int16, int32, int64, put16, put32, put64, set_mask};
use crate::fault::Exec;
use crate::isa::Inst;
use crate::wave::{LANES, WaveState};

/// `f` of each lane.
#[inline(always)]
pub(super) fn each(f: impl Fn(usize) -> u32) -> Lanes32 {
    let mut out = [0; LANES];
    for (lane, value) in out.iter_mut().enumerate() {
        *value = f(lane);
    }
    out
}

/// `f` of each lane, 64 bits.
#[inline(always)]
pub(super) fn each64(f: impl Fn(usize) -> u64) -> [u64; LANES] {
    let mut out = [0; LANES];
    for (lane, value) in out.iter_mut().enumerate() {
        *value = f(lane);
    }
    out
}

/// Integer, one source.
#[inline(always)]
pub(super) fn int1(wave: &mut WaveState, inst: &Inst, f: impl Fn(u32) -> u32) -> Exec {
    let a = int32(wave, inst, 0);
    put32(wave, inst, &each(|l| f(a[l])));
    Ok(())
}

/// Integer, two sources.
#[inline(always)]
pub(super) fn int2(wave: &mut WaveState, inst: &Inst, f: impl Fn(u32, u32) -> u32) -> Exec {
    let (a, b) = (int32(wave, inst, 0), int32(wave, inst, 1));
    put32(wave, inst, &each(|l| f(a[l], b[l])));
    Ok(())
}

/// Integer, three sources.
#[inline(always)]
pub(super) fn int3(wave: &mut WaveState, inst: &Inst, f: impl Fn(u32, u32, u32) -> u32) -> Exec {
    let (a, b, c) = (int32(wave, inst, 0), int32(wave, inst, 1), int32(wave, inst, 2));
    put32(wave, inst, &each(|l| f(a[l], b[l], c[l])));
    Ok(())
}

/// 16-bit integer, two sources; the upper half of what `f` returns is cut off.
#[inline(always)]
pub(super) fn short2(wave: &mut WaveState, inst: &Inst, f: impl Fn(u16, u16) -> u16) -> Exec {
    let (a, b) = (int16(wave, inst, 0), int16(wave, inst, 1));
    put16(wave, inst, &each(|l| u32::from(f(a[l] as u16, b[l] as u16))));
    Ok(())
}

/// 16-bit integer, three sources.
#[inline(always)]
pub(super) fn short3(wave: &mut WaveState, inst: &Inst, f: impl Fn(u16, u16, u16) -> u16) -> Exec {
    let (a, b, c) = (int16(wave, inst, 0), int16(wave, inst, 1), int16(wave, inst, 2));
    put16(wave, inst, &each(|l| u32::from(f(a[l] as u16, b[l] as u16, c[l] as u16))));
    Ok(())
}

/// Writes a 32-bit float result after output modifier and clamp.
#[inline(always)]
pub(super) fn finish32(wave: &mut WaveState, inst: &Inst, fp: Fp, mut out: Lanes32) -> Exec {
    if inst.mods.omod != 0 {
        for lane in &mut out {
            *lane = float::output_modifier32(fp, inst.mods.omod, *lane);
        }
    }
    if inst.mods.clamp {
        for lane in &mut out {
            *lane = float::clamp32(fp, *lane);
        }
    }
    put32(wave, inst, &out);
    Ok(())
}

/// Single precision, one source.
#[inline(always)]
pub(super) fn single1(wave: &mut WaveState, inst: &Inst, f: impl Fn(Fp, u32) -> u32) -> Exec {
    let fp = Fp::of(wave.mode);
    let a = float32(wave, inst, 0);
    finish32(wave, inst, fp, each(|l| f(fp, a[l])))
}

/// Single precision, two sources.
#[inline(always)]
pub(super) fn single2(wave: &mut WaveState, inst: &Inst, f: impl Fn(Fp, u32, u32) -> u32) -> Exec {
    let fp = Fp::of(wave.mode);
    let (a, b) = (float32(wave, inst, 0), float32(wave, inst, 1));
    finish32(wave, inst, fp, each(|l| f(fp, a[l], b[l])))
}

/// Single precision, three sources.
#[inline(always)]
pub(super) fn single3(wave: &mut WaveState, inst: &Inst, f: impl Fn(Fp, u32, u32, u32) -> u32) -> Exec {
    let fp = Fp::of(wave.mode);
    let (a, b, c) = (float32(wave, inst, 0), float32(wave, inst, 1), float32(wave, inst, 2));
    finish32(wave, inst, fp, each(|l| f(fp, a[l], b[l], c[l])))
}

/// Writes a double result after output modifier and clamp.
#[inline(always)]
pub(super) fn finish64(wave: &mut WaveState, inst: &Inst, fp: Fp, mut out: [u64; LANES]) -> Exec {
    if inst.mods.omod != 0 && !fp.ieee && fp.flush_out64 {
        let factor = [1.0f64, 2.0, 4.0, 0.5][usize::from(inst.mods.omod & 3)];
        for lane in &mut out {
            *lane = float::mul64(fp, *lane, factor.to_bits());
        }
    }
    if inst.mods.clamp {
        for lane in &mut out {
            *lane = float::clamp64(fp, *lane);
        }
    }
    put64(wave, inst, &out);
    Ok(())
}

/// Double precision, one source.
#[inline(always)]
pub(super) fn double1(wave: &mut WaveState, inst: &Inst, f: impl Fn(Fp, u64) -> u64) -> Exec {
    let fp = Fp::of(wave.mode);
    let a = float64(wave, inst, 0);
    finish64(wave, inst, fp, each64(|l| f(fp, a[l])))
}

/// Double precision, two sources.
#[inline(always)]
pub(super) fn double2(wave: &mut WaveState, inst: &Inst, f: impl Fn(Fp, u64, u64) -> u64) -> Exec {
    let fp = Fp::of(wave.mode);
    let (a, b) = (float64(wave, inst, 0), float64(wave, inst, 1));
    finish64(wave, inst, fp, each64(|l| f(fp, a[l], b[l])))
}

/// Double precision, three sources.
#[inline(always)]
pub(super) fn double3(wave: &mut WaveState, inst: &Inst, f: impl Fn(Fp, u64, u64, u64) -> u64) -> Exec {
    let fp = Fp::of(wave.mode);
    let (a, b, c) = (float64(wave, inst, 0), float64(wave, inst, 1), float64(wave, inst, 2));
    finish64(wave, inst, fp, each64(|l| f(fp, a[l], b[l], c[l])))
}

/// Writes a half result after output modifier and clamp.
#[inline(always)]
pub(super) fn finish16(wave: &mut WaveState, inst: &Inst, fp: Fp, mut out: Lanes32) -> Exec {
    if inst.mods.omod != 0 && !fp.ieee && fp.flush_out64 {
        let factor = [0x3c00u16, 0x4000, 0x4400, 0x3800][usize::from(inst.mods.omod & 3)];
        for lane in &mut out {
            *lane = u32::from(float::mul16(fp, *lane as u16, factor));
        }
    }
    if inst.mods.clamp {
        for lane in &mut out {
            *lane = u32::from(float::clamp16(fp, *lane as u16));
        }
    }
    put16(wave, inst, &out);
    Ok(())
}

/// Half precision, one source.
#[inline(always)]
pub(super) fn half1(wave: &mut WaveState, inst: &Inst, f: impl Fn(Fp, u16) -> u16) -> Exec {
    let fp = Fp::of(wave.mode);
    let a = float16(wave, inst, 0);
    finish16(wave, inst, fp, each(|l| u32::from(f(fp, a[l] as u16))))
}

/// Half precision, two sources.
#[inline(always)]
pub(super) fn half2(wave: &mut WaveState, inst: &Inst, f: impl Fn(Fp, u16, u16) -> u16) -> Exec {
    let fp = Fp::of(wave.mode);
    let (a, b) = (float16(wave, inst, 0), float16(wave, inst, 1));
    finish16(wave, inst, fp, each(|l| u32::from(f(fp, a[l] as u16, b[l] as u16))))
}

/// Half precision, three sources.
#[inline(always)]
pub(super) fn half3(wave: &mut WaveState, inst: &Inst, f: impl Fn(Fp, u16, u16, u16) -> u16) -> Exec {
    let fp = Fp::of(wave.mode);
    let (a, b, c) = (float16(wave, inst, 0), float16(wave, inst, 1), float16(wave, inst, 2));
    finish16(wave, inst, fp, each(|l| u32::from(f(fp, a[l] as u16, b[l] as u16, c[l] as u16))))
}

/// 64-bit integer with a 32-bit first source: the "reversed" shifts.
#[inline(always)]
pub(super) fn shift64(wave: &mut WaveState, inst: &Inst, f: impl Fn(u32, u64) -> u64) -> Exec {
    let (a, b) = (int32(wave, inst, 0), int64(wave, inst, 1));
    put64(wave, inst, &each64(|l| f(a[l], b[l])));
    Ok(())
}

/// Writes a 32-bit result and a mask (carry, condition) whose bits of inactive lanes are zero.
#[inline(always)]
pub(super) fn put_with_mask(wave: &mut WaveState, inst: &Inst, out: &Lanes32, bits: u64) -> Exec {
    let active = wave.exec();
    put32(wave, inst, out);
    set_mask(wave, inst.sdst, bits & active);
    Ok(())
}

/// Addition-like with a carry-out.
#[inline(always)]
pub(super) fn carry2(wave: &mut WaveState, inst: &Inst, f: impl Fn(u32, u32) -> (u32, bool)) -> Exec {
    let (a, b) = (int32(wave, inst, 0), int32(wave, inst, 1));
    let bits = collect(|l| f(a[l], b[l]).1);
    put_with_mask(wave, inst, &each(|l| f(a[l], b[l]).0), bits)
}

//! Vector integer instructions of 32 and 64 bits, and bit operations.
//!
//! What must hold here: shift counts are taken modulo the width; with the clamp bit, sums and products saturate, without it
//! they wrap; carry masks have zeros in inactive lanes.

use super::AluFn;
use super::lane::{carry2, each, each64, int1, int2, int3, put_with_mask, shift64};
use super::operand::{collect, int32, int64, mask, put64, set_mask};
use crate::fault::Exec;
use crate::isa::{Inst, Op};
use crate::wave::WaveState;

/// The function of a vector integer operation.
pub(super) fn lookup(op: Op) -> Option<AluFn> {
    sums(op).or_else(|| products(op)).or_else(|| bits(op)).or_else(|| triples(op)).or_else(|| wide(op))
}

/// `f` with 64-bit intermediate results, saturated to u32 if the clamp bit is set.
#[inline(always)]
fn unsigned2(wave: &mut WaveState, inst: &Inst, f: impl Fn(i64, i64) -> i64) -> Exec {
    if inst.mods.clamp {
        return int2(wave, inst, |a, b| f(i64::from(a), i64::from(b)).clamp(0, i64::from(u32::MAX)) as u32);
    }
    int2(wave, inst, |a, b| f(i64::from(a), i64::from(b)) as u32)
}

/// The same for i32.
#[inline(always)]
fn signed2(wave: &mut WaveState, inst: &Inst, f: impl Fn(i64, i64) -> i64) -> Exec {
    let (low, high) = (i64::from(i32::MIN), i64::from(i32::MAX));
    if inst.mods.clamp {
        return int2(wave, inst, |a, b| f(i64::from(a as i32), i64::from(b as i32)).clamp(low, high) as u32);
    }
    int2(wave, inst, |a, b| f(i64::from(a as i32), i64::from(b as i32)) as u32)
}

/// Sums with carry-in from the third source and carry-out; the clamp bit saturates.
#[inline(always)]
fn with_carry(wave: &mut WaveState, inst: &Inst, f: impl Fn(i64, i64, i64) -> i64) -> Exec {
    let (a, b) = (int32(wave, inst, 0), int32(wave, inst, 1));
    let carry = mask(wave, inst.src[2]);
    let wide = |l: usize| f(i64::from(a[l]), i64::from(b[l]), (carry >> l & 1) as i64);
    let bits = collect(|l| wide(l) >> 32 != 0);
    let clamp = inst.mods.clamp;
    let out = each(|l| if clamp { wide(l).clamp(0, i64::from(u32::MAX)) as u32 } else { wide(l) as u32 });
    put_with_mask(wave, inst, &out, bits)
}

fn sums(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VAddU32 => |w, i| if i.mods.clamp { unsigned2(w, i, |a, b| a + b) } else { int2(w, i, u32::wrapping_add) },
        Op::VSubU32 => |w, i| if i.mods.clamp { unsigned2(w, i, |a, b| a - b) } else { int2(w, i, u32::wrapping_sub) },
        Op::VSubrevU32 => |w, i| unsigned2(w, i, |a, b| b - a),
        Op::VAddI32 => |w, i| signed2(w, i, |a, b| a + b),
        Op::VSubI32 => |w, i| signed2(w, i, |a, b| a - b),
        Op::VAddCoU32 => |w, i| with_no_carry(w, i, |a, b| a + b),
        Op::VSubCoU32 => |w, i| with_no_carry(w, i, |a, b| a - b),
        Op::VSubrevCoU32 => |w, i| with_no_carry(w, i, |a, b| b - a),
        Op::VAddcCoU32 => |w, i| with_carry(w, i, |a, b, c| a + b + c),
        Op::VSubbCoU32 => |w, i| with_carry(w, i, |a, b, c| a - b - c),
        Op::VSubbrevCoU32 => |w, i| with_carry(w, i, |a, b, c| b - a - c),
        Op::VMinI32 => |w, i| int2(w, i, |a, b| (a as i32).min(b as i32) as u32),
        Op::VMaxI32 => |w, i| int2(w, i, |a, b| (a as i32).max(b as i32) as u32),
        Op::VMinU32 => |w, i| int2(w, i, u32::min),
        Op::VMaxU32 => |w, i| int2(w, i, u32::max),
        _ => return None,
    })
}

/// Sums with carry-out only.
#[inline(always)]
fn with_no_carry(wave: &mut WaveState, inst: &Inst, f: impl Fn(i64, i64) -> i64) -> Exec {
    let clamp = inst.mods.clamp;
    carry2(wave, inst, |a, b| {
        let wide = f(i64::from(a), i64::from(b));
        (if clamp { wide.clamp(0, i64::from(u32::MAX)) as u32 } else { wide as u32 }, wide >> 32 != 0)
    })
}

/// The low 24 bits as a signed number.
#[inline(always)]
const fn i24(value: u32) -> i64 {
    ((value << 8) as i32 >> 8) as i64
}

/// The low 24 bits as an unsigned number.
#[inline(always)]
const fn u24(value: u32) -> u64 {
    (value & 0xff_ffff) as u64
}

fn saturate_i32(value: i64, clamp: bool) -> u32 {
    if clamp { value.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32 } else { value as u32 }
}

fn saturate_u32(value: u64, clamp: bool) -> u32 {
    if clamp { value.min(u64::from(u32::MAX)) as u32 } else { value as u32 }
}

fn products(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VMulLoU32 => |w, i| int2(w, i, u32::wrapping_mul),
        Op::VMulHiU32 => |w, i| int2(w, i, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32),
        Op::VMulHiI32 => |w, i| int2(w, i, |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32),
        Op::VMulI32I24 => |w, i| {
            let clamp = i.mods.clamp;
            int2(w, i, |a, b| saturate_i32(i24(a) * i24(b), clamp))
        },
        Op::VMulHiI32I24 => |w, i| int2(w, i, |a, b| ((i24(a) * i24(b)) >> 32) as u32),
        Op::VMulU32U24 => |w, i| {
            let clamp = i.mods.clamp;
            int2(w, i, |a, b| saturate_u32(u24(a) * u24(b), clamp))
        },
        Op::VMulHiU32U24 => |w, i| int2(w, i, |a, b| ((u24(a) * u24(b)) >> 32) as u32),
        Op::VMadI32I24 => |w, i| {
            let clamp = i.mods.clamp;
            int3(w, i, |a, b, c| saturate_i32(i24(a) * i24(b) + i64::from(c as i32), clamp))
        },
        Op::VMadU32U24 => |w, i| {
            let clamp = i.mods.clamp;
            int3(w, i, |a, b, c| saturate_u32(u24(a) * u24(b) + u64::from(c), clamp))
        },
        Op::VMadU32U16 => |w, i| {
            mad_short(w, i, |a, b, c, clamp| {
                saturate_u32(u64::from(a & 0xffff) * u64::from(b & 0xffff) + u64::from(c), clamp)
            })
        },
        Op::VMadI32I16 => |w, i| {
            mad_short(w, i, |a, b, c, clamp| {
                saturate_i32(i64::from(a as i16) * i64::from(b as i16) + i64::from(c as i32), clamp)
            })
        },
        _ => return None,
    })
}

/// 16-bit factors (halves picked by `op_sel`) and a 32-bit addend.
fn mad_short(wave: &mut WaveState, inst: &Inst, f: impl Fn(u32, u32, u32, bool) -> u32) -> Exec {
    let (a, b) = (super::operand::int16(wave, inst, 0), super::operand::int16(wave, inst, 1));
    let c = int32(wave, inst, 2);
    let clamp = inst.mods.clamp;
    super::operand::put32(wave, inst, &each(|l| f(a[l], b[l], c[l], clamp)));
    Ok(())
}

fn bits(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VAndB32 => |w, i| int2(w, i, |a, b| a & b),
        Op::VOrB32 => |w, i| int2(w, i, |a, b| a | b),
        Op::VXorB32 => |w, i| int2(w, i, |a, b| a ^ b),
        Op::VXnorB32 => |w, i| int2(w, i, |a, b| !(a ^ b)),
        Op::VNotB32 => |w, i| int1(w, i, |a| !a),
        Op::VLshlrevB32 => |w, i| int2(w, i, |a, b| b << (a & 31)),
        Op::VLshrrevB32 => |w, i| int2(w, i, |a, b| b >> (a & 31)),
        Op::VAshrrevI32 => |w, i| int2(w, i, |a, b| (b as i32 >> (a & 31)) as u32),
        Op::VBfrevB32 => |w, i| int1(w, i, u32::reverse_bits),
        Op::VFfbhU32 => |w, i| int1(w, i, |a| if a == 0 { u32::MAX } else { a.leading_zeros() }),
        Op::VFfblB32 => |w, i| int1(w, i, |a| if a == 0 { u32::MAX } else { a.trailing_zeros() }),
        Op::VFfbhI32 => |w, i| {
            int1(w, i, |a| {
                let differs = a ^ (a as i32 >> 31) as u32;
                if differs == 0 { u32::MAX } else { differs.leading_zeros() }
            })
        },
        Op::VBfmB32 => |w, i| int2(w, i, |a, b| ((1u32 << (a & 31)) - 1) << (b & 31)),
        Op::VBcntU32B32 => |w, i| int2(w, i, |a, b| a.count_ones().wrapping_add(b)),
        Op::VCvtPkU16U32 => |w, i| int2(w, i, |a, b| a.min(0xffff) | b.min(0xffff) << 16),
        Op::VCvtPkI16I32 => |w, i| {
            int2(w, i, |a, b| {
                let cut = |value: u32| (value as i32).clamp(-32768, 32767) as u16;
                u32::from(cut(a)) | u32::from(cut(b)) << 16
            })
        },
        Op::VBitop3B32 => |w, i| {
            let table = i.mods.bitop3;
            int3(w, i, |a, b, c| bitop3(table, a, b, c))
        },
        Op::VBitop3B16 => |w, i| {
            let table = i.mods.bitop3;
            super::lane::short3(w, i, |a, b, c| bitop3(table, u32::from(a), u32::from(b), u32::from(c)) as u16)
        },
        Op::VAshrPkI8I32 => |w, i| int3(w, i, |a, b, c| pack_bytes(a, b, c, -128, 127)),
        Op::VAshrPkU8I32 => |w, i| int3(w, i, |a, b, c| pack_bytes(a, b, c, 0, 255)),
        _ => return None,
    })
}

/// Both values shifted right arithmetically, clamped and packed into the low 16 bits.
fn pack_bytes(a: u32, b: u32, shift: u32, low: i32, high: i32) -> u32 {
    let byte = |value: u32| ((value as i32 >> (shift & 31)).clamp(low, high) as u32) & 0xff;
    byte(a) | byte(b) << 8
}

/// Bit n of `table` is the result where the three bits read, first source highest, as n.
#[inline(always)]
pub(super) fn bitop3(table: u8, a: u32, b: u32, c: u32) -> u32 {
    let mut out = 0;
    for row in 0..8u32 {
        if table >> row & 1 != 0 {
            let pick = |value: u32, bit: u32| if row >> bit & 1 != 0 { value } else { !value };
            out |= pick(a, 2) & pick(b, 1) & pick(c, 0);
        }
    }
    out
}

fn triples(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VBfeU32 => |w, i| int3(w, i, |a, b, c| (a >> (b & 31)) & ((1u32 << (c & 31)) - 1)),
        Op::VBfeI32 => |w, i| int3(w, i, bfe_signed),
        Op::VBfiB32 => |w, i| int3(w, i, |a, b, c| (a & b) | (!a & c)),
        Op::VAlignbitB32 => |w, i| int3(w, i, |a, b, c| ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32),
        Op::VAlignbyteB32 => |w, i| int3(w, i, |a, b, c| ((u64::from(a) << 32 | u64::from(b)) >> (8 * (c & 3))) as u32),
        Op::VMin3I32 => |w, i| int3(w, i, |a, b, c| (a as i32).min(b as i32).min(c as i32) as u32),
        Op::VMin3U32 => |w, i| int3(w, i, |a, b, c| a.min(b).min(c)),
        Op::VMax3I32 => |w, i| int3(w, i, |a, b, c| (a as i32).max(b as i32).max(c as i32) as u32),
        Op::VMax3U32 => |w, i| int3(w, i, |a, b, c| a.max(b).max(c)),
        Op::VMed3I32 => |w, i| {
            int3(w, i, |a, b, c| {
                let (a, b, c) = (a as i32, b as i32, c as i32);
                a.min(b).max(a.max(b).min(c)) as u32
            })
        },
        Op::VMed3U32 => |w, i| int3(w, i, |a, b, c| a.min(b).max(a.max(b).min(c))),
        Op::VXadU32 => |w, i| int3(w, i, |a, b, c| (a ^ b).wrapping_add(c)),
        Op::VLshlAddU32 => |w, i| int3(w, i, |a, b, c| (a << (b & 31)).wrapping_add(c)),
        Op::VAddLshlU32 => |w, i| int3(w, i, |a, b, c| a.wrapping_add(b) << (c & 31)),
        Op::VAdd3U32 => |w, i| int3(w, i, |a, b, c| a.wrapping_add(b).wrapping_add(c)),
        Op::VLshlOrB32 => |w, i| int3(w, i, |a, b, c| (a << (b & 31)) | c),
        Op::VAndOrB32 => |w, i| int3(w, i, |a, b, c| (a & b) | c),
        Op::VOr3B32 => |w, i| int3(w, i, |a, b, c| a | b | c),
        Op::VPermB32 => |w, i| int3(w, i, permute_bytes),
        Op::VLerpU8 => |w, i| int3(w, i, |a, b, c| per_byte(|n| (byte(a, n) + byte(b, n) + (byte(c, n) & 1)) >> 1)),
        Op::VSadU8 => |w, i| int3(w, i, |a, b, c| sad(a, b).wrapping_add(c)),
        Op::VSadHiU8 => |w, i| int3(w, i, |a, b, c| (sad(a, b) << 16).wrapping_add(c)),
        Op::VSadU16 => |w, i| {
            int3(w, i, |a, b, c| {
                c.wrapping_add((a & 0xffff).abs_diff(b & 0xffff)).wrapping_add((a >> 16).abs_diff(b >> 16))
            })
        },
        Op::VSadU32 => |w, i| int3(w, i, |a, b, c| a.abs_diff(b).wrapping_add(c)),
        Op::VMsadU8 => |w, i| {
            int3(w, i, |a, b, c| {
                let masked = (0..4).filter(|n| byte(b, *n) != 0).map(|n| byte(a, n).abs_diff(byte(b, n))).sum::<u32>();
                masked.wrapping_add(c)
            })
        },
        _ => return None,
    })
}

#[inline(always)]
fn bfe_signed(a: u32, b: u32, c: u32) -> u32 {
    let count = c & 31;
    if count == 0 {
        return 0;
    }
    let field = (a as i32 >> (b & 31)) as u32;
    ((field << (32 - count)) as i32 >> (32 - count)) as u32
}

const fn byte(value: u32, index: u32) -> u32 {
    value >> (8 * index) & 0xff
}

fn per_byte(f: impl Fn(u32) -> u32) -> u32 {
    (0..4).fold(0, |out, index| out | (f(index) & 0xff) << (8 * index))
}

fn sad(a: u32, b: u32) -> u32 {
    (0..4).map(|index| byte(a, index).abs_diff(byte(b, index))).sum()
}

/// Each byte of the selector picks: 0..7 a byte of `{a, b}` (b is the low half), 8..11 the sign of byte 1, 3, 5, 7 spread,
/// 12 zero, above that all ones.
#[inline(always)]
fn permute_bytes(a: u32, b: u32, selector: u32) -> u32 {
    let data = u64::from(a) << 32 | u64::from(b);
    let mut out = 0;
    for index in 0..4 {
        let pick = selector >> (8 * index) & 0xff;
        let value = match pick {
            0..=7 => (data >> (8 * pick)) as u32 & 0xff,
            8..=11 => 0xff * (data >> (16 * (pick - 8) + 15) & 1) as u32,
            12 => 0,
            _ => 0xff,
        };
        out |= value << (8 * index);
    }
    out
}

fn wide(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VLshlrevB64 => |w, i| shift64(w, i, |a, b| b << (a & 63)),
        Op::VLshrrevB64 => |w, i| shift64(w, i, |a, b| b >> (a & 63)),
        Op::VAshrrevI64 => |w, i| shift64(w, i, |a, b| (b as i64 >> (a & 63)) as u64),
        Op::VLshlAddU64 => |w, i| {
            let (a, b, c) = (int64(w, i, 0), int32(w, i, 1), int64(w, i, 2));
            // The ISA gives three bits to the count; LLVM only emits 0 to 4.
            put64(w, i, &each64(|l| (a[l] << (b[l] & 7)).wrapping_add(c[l])));
            Ok(())
        },
        Op::VMadU64U32 => |w, i| mad64(w, i, |a, b| u128::from(a) * u128::from(b), u128::from),
        Op::VMadI64I32 => |w, i| {
            mad64(w, i, |a, b| (i128::from(a as i32) * i128::from(b as i32)) as u128, |c| i128::from(c as i64) as u128)
        },
        _ => return None,
    })
}

/// 32-bit factors, 64-bit addend; the mask is the carry out of bit 63.
#[inline(always)]
fn mad64(wave: &mut WaveState, inst: &Inst, product: impl Fn(u32, u32) -> u128, extend: impl Fn(u64) -> u128) -> Exec {
    let (a, b, c) = (int32(wave, inst, 0), int32(wave, inst, 1), int64(wave, inst, 2));
    let sum = |l: usize| product(a[l], b[l]).wrapping_add(extend(c[l]));
    let carries = collect(|l| sum(l) >> 64 & 1 != 0) & wave.exec();
    put64(wave, inst, &each64(|l| sum(l) as u64));
    set_mask(wave, inst.sdst, carries);
    Ok(())
}

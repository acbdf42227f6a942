//! Vector compares: one bit per lane.
//!
//! What must hold here: bits of inactive lanes are zero in the result; the `v_cmpx` forms also write EXEC; floating-point
//! compares see denormal inputs as MODE says, classes see the bits as they are.

use super::AluFn;
use super::float::{self, Bits, Fp};
use super::operand::{collect, float16, float32, float64, int16, int32, int64, set_mask};
use crate::fault::Exec;
use crate::isa::{Inst, Op, Operand};
use crate::wave::{EXEC, LANES, WaveState};

/// How two numbers may stand to one another, as bits: a condition is the set of relations for which it holds.
pub(super) const LESS: u8 = 1;
pub(super) const EQUAL: u8 = 2;
pub(super) const GREATER: u8 = 4;
pub(super) const UNORDERED: u8 = 8;

/// Writes the mask of a compare, and EXEC for the `v_cmpx` forms.
#[inline(always)]
fn finish(wave: &mut WaveState, inst: &Inst, bits: u64, write_exec: bool) -> Exec {
    let bits = bits & wave.exec();
    set_mask(wave, inst.sdst, bits);
    if write_exec {
        wave.set_mask(EXEC, bits);
    }
    Ok(())
}

/// The relation between two floats.
#[inline(always)]
pub(super) fn relation<B: Bits>(a: B, b: B) -> u8 {
    if a.is_nan() || b.is_nan() {
        UNORDERED
    } else if a.less(b) {
        LESS
    } else if b.less(a) {
        GREATER
    } else {
        EQUAL
    }
}

#[inline(always)]
fn singles<const SET: u8, const WRITE_EXEC: bool>(wave: &mut WaveState, inst: &Inst) -> Exec {
    let fp = Fp::of(wave.mode);
    let (a, b) = (float32(wave, inst, 0), float32(wave, inst, 1));
    finish(wave, inst, collect(|l| relation(a[l].input(fp), b[l].input(fp)) & SET != 0), WRITE_EXEC)
}

#[inline(always)]
fn doubles<const SET: u8, const WRITE_EXEC: bool>(wave: &mut WaveState, inst: &Inst) -> Exec {
    let fp = Fp::of(wave.mode);
    let (a, b) = (float64(wave, inst, 0), float64(wave, inst, 1));
    finish(wave, inst, collect(|l| relation(a[l].input(fp), b[l].input(fp)) & SET != 0), WRITE_EXEC)
}

#[inline(always)]
fn halves<const SET: u8, const WRITE_EXEC: bool>(wave: &mut WaveState, inst: &Inst) -> Exec {
    let fp = Fp::of(wave.mode);
    let (a, b) = (float16(wave, inst, 0), float16(wave, inst, 1));
    let bits = collect(|l| relation((a[l] as u16).input(fp), (b[l] as u16).input(fp)) & SET != 0);
    finish(wave, inst, bits, WRITE_EXEC)
}

/// Whether the relation of two integers is in the set.
#[inline(always)]
fn holds<T: Ord, const SET: u8>(a: T, b: T) -> bool {
    (SET & LESS != 0 && a < b) || (SET & EQUAL != 0 && a == b) || (SET & GREATER != 0 && a > b)
}

macro_rules! integers {
    ($name:ident, $source:ident, $($type:ty),+) => {
        #[inline(always)]
        fn $name<const SET: u8, const WRITE_EXEC: bool>(wave: &mut WaveState, inst: &Inst) -> Exec {
            let (a, b) = ($source(wave, inst, 0), $source(wave, inst, 1));
            finish(wave, inst, collect(|l| holds::<_, SET>(a[l] $(as $type)+, b[l] $(as $type)+)), WRITE_EXEC)
        }
    };
}

integers!(unsigned16, int16, u16);
integers!(signed16, int16, u16, i16);
integers!(unsigned32, int32, u32);
integers!(signed32, int32, i32);
integers!(unsigned64, int64, u64);

/// Signed 64-bit operands extend a literal by its sign.
#[inline(always)]
fn signed64<const SET: u8, const WRITE_EXEC: bool>(wave: &mut WaveState, inst: &Inst) -> Exec {
    let source = |index: usize| match inst.src[index] {
        Operand::Literal(value) => [i64::from(value as i32) as u64; LANES],
        _ => int64(wave, inst, index),
    };
    let (a, b) = (source(0), source(1));
    finish(wave, inst, collect(|l| holds::<_, SET>(a[l] as i64, b[l] as i64)), WRITE_EXEC)
}

/// `v_cmp_class_f32`: whether the class of source 0 is in the mask of source 1.
fn class32<const WRITE_EXEC: bool>(wave: &mut WaveState, inst: &Inst) -> Exec {
    let (a, b) = (float32(wave, inst, 0), int32(wave, inst, 1));
    let class = |x: u32| float::class(x >> 31 != 0, x >> 23 & 0xff, 0xff, u64::from(x & 0x7f_ffff), 1 << 22);
    finish(wave, inst, collect(|l| class(a[l]) & b[l] != 0), WRITE_EXEC)
}

/// The same for doubles.
fn class64<const WRITE_EXEC: bool>(wave: &mut WaveState, inst: &Inst) -> Exec {
    let (a, b) = (float64(wave, inst, 0), int32(wave, inst, 1));
    let class = |x: u64| float::class(x >> 63 != 0, (x >> 52) as u32 & 0x7ff, 0x7ff, x & 0xf_ffff_ffff_ffff, 1 << 51);
    finish(wave, inst, collect(|l| class(a[l]) & b[l] != 0), WRITE_EXEC)
}

/// The same for halves.
fn class16<const WRITE_EXEC: bool>(wave: &mut WaveState, inst: &Inst) -> Exec {
    let (a, b) = (float16(wave, inst, 0), int32(wave, inst, 1));
    let class = |x: u32| float::class(x >> 15 & 1 != 0, x >> 10 & 0x1f, 0x1f, u64::from(x & 0x3ff), 1 << 9);
    finish(wave, inst, collect(|l| class(a[l]) & b[l] != 0), WRITE_EXEC)
}

/// The function of a compare.
pub(super) fn lookup(op: Op) -> Option<AluFn> {
    classes(op)
        .or_else(|| floats16(op))
        .or_else(|| floats32(op))
        .or_else(|| floats64(op))
        .or_else(|| signed_16(op))
        .or_else(|| unsigned_16(op))
        .or_else(|| signed_32(op))
        .or_else(|| unsigned_32(op))
        .or_else(|| signed_64(op))
        .or_else(|| unsigned_64(op))
}

/// One arm per condition, for the plain and the EXEC-writing form.
macro_rules! arms {
    ($name:ident, $doc:literal, $function:ident: $($plain:ident $exec:ident $set:expr;)*) => {
        #[doc = $doc]
        fn $name(op: Op) -> Option<AluFn> {
            Some(match op {
                $(Op::$plain => $function::<{ $set }, false>, Op::$exec => $function::<{ $set }, true>,)*
                _ => return None,
            })
        }
    };
}

fn classes(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VCmpClassF32 => class32::<false>,
        Op::VCmpxClassF32 => class32::<true>,
        Op::VCmpClassF64 => class64::<false>,
        Op::VCmpxClassF64 => class64::<true>,
        Op::VCmpClassF16 => class16::<false>,
        Op::VCmpxClassF16 => class16::<true>,
        _ => return None,
    })
}

arms! {
    floats16, "Half precision.", halves:
    VCmpFF16 VCmpxFF16 0;
    VCmpLtF16 VCmpxLtF16 LESS;
    VCmpEqF16 VCmpxEqF16 EQUAL;
    VCmpLeF16 VCmpxLeF16 LESS | EQUAL;
    VCmpGtF16 VCmpxGtF16 GREATER;
    VCmpLgF16 VCmpxLgF16 LESS | GREATER;
    VCmpGeF16 VCmpxGeF16 GREATER | EQUAL;
    VCmpOF16 VCmpxOF16 LESS | EQUAL | GREATER;
    VCmpUF16 VCmpxUF16 UNORDERED;
    VCmpNgeF16 VCmpxNgeF16 LESS | UNORDERED;
    VCmpNlgF16 VCmpxNlgF16 EQUAL | UNORDERED;
    VCmpNgtF16 VCmpxNgtF16 LESS | EQUAL | UNORDERED;
    VCmpNleF16 VCmpxNleF16 GREATER | UNORDERED;
    VCmpNeqF16 VCmpxNeqF16 LESS | GREATER | UNORDERED;
    VCmpNltF16 VCmpxNltF16 EQUAL | GREATER | UNORDERED;
    VCmpTruF16 VCmpxTruF16 LESS | EQUAL | GREATER | UNORDERED;
}

arms! {
    floats32, "Single precision.", singles:
    VCmpFF32 VCmpxFF32 0;
    VCmpLtF32 VCmpxLtF32 LESS;
    VCmpEqF32 VCmpxEqF32 EQUAL;
    VCmpLeF32 VCmpxLeF32 LESS | EQUAL;
    VCmpGtF32 VCmpxGtF32 GREATER;
    VCmpLgF32 VCmpxLgF32 LESS | GREATER;
    VCmpGeF32 VCmpxGeF32 GREATER | EQUAL;
    VCmpOF32 VCmpxOF32 LESS | EQUAL | GREATER;
    VCmpUF32 VCmpxUF32 UNORDERED;
    VCmpNgeF32 VCmpxNgeF32 LESS | UNORDERED;
    VCmpNlgF32 VCmpxNlgF32 EQUAL | UNORDERED;
    VCmpNgtF32 VCmpxNgtF32 LESS | EQUAL | UNORDERED;
    VCmpNleF32 VCmpxNleF32 GREATER | UNORDERED;
    VCmpNeqF32 VCmpxNeqF32 LESS | GREATER | UNORDERED;
    VCmpNltF32 VCmpxNltF32 EQUAL | GREATER | UNORDERED;
    VCmpTruF32 VCmpxTruF32 LESS | EQUAL | GREATER | UNORDERED;
}

arms! {
    floats64, "Double precision.", doubles:
    VCmpFF64 VCmpxFF64 0;
    VCmpLtF64 VCmpxLtF64 LESS;
    VCmpEqF64 VCmpxEqF64 EQUAL;
    VCmpLeF64 VCmpxLeF64 LESS | EQUAL;
    VCmpGtF64 VCmpxGtF64 GREATER;
    VCmpLgF64 VCmpxLgF64 LESS | GREATER;
    VCmpGeF64 VCmpxGeF64 GREATER | EQUAL;
    VCmpOF64 VCmpxOF64 LESS | EQUAL | GREATER;
    VCmpUF64 VCmpxUF64 UNORDERED;
    VCmpNgeF64 VCmpxNgeF64 LESS | UNORDERED;
    VCmpNlgF64 VCmpxNlgF64 EQUAL | UNORDERED;
    VCmpNgtF64 VCmpxNgtF64 LESS | EQUAL | UNORDERED;
    VCmpNleF64 VCmpxNleF64 GREATER | UNORDERED;
    VCmpNeqF64 VCmpxNeqF64 LESS | GREATER | UNORDERED;
    VCmpNltF64 VCmpxNltF64 EQUAL | GREATER | UNORDERED;
    VCmpTruF64 VCmpxTruF64 LESS | EQUAL | GREATER | UNORDERED;
}

arms! {
    signed_16, "Signed integers of 16 bits.", signed16:
    VCmpFI16 VCmpxFI16 0;
    VCmpLtI16 VCmpxLtI16 LESS;
    VCmpEqI16 VCmpxEqI16 EQUAL;
    VCmpLeI16 VCmpxLeI16 LESS | EQUAL;
    VCmpGtI16 VCmpxGtI16 GREATER;
    VCmpNeI16 VCmpxNeI16 LESS | GREATER;
    VCmpGeI16 VCmpxGeI16 GREATER | EQUAL;
    VCmpTI16 VCmpxTI16 LESS | EQUAL | GREATER;
}

arms! {
    unsigned_16, "Unsigned integers of 16 bits.", unsigned16:
    VCmpFU16 VCmpxFU16 0;
    VCmpLtU16 VCmpxLtU16 LESS;
    VCmpEqU16 VCmpxEqU16 EQUAL;
    VCmpLeU16 VCmpxLeU16 LESS | EQUAL;
    VCmpGtU16 VCmpxGtU16 GREATER;
    VCmpNeU16 VCmpxNeU16 LESS | GREATER;
    VCmpGeU16 VCmpxGeU16 GREATER | EQUAL;
    VCmpTU16 VCmpxTU16 LESS | EQUAL | GREATER;
}

arms! {
    signed_32, "Signed integers of 32 bits.", signed32:
    VCmpFI32 VCmpxFI32 0;
    VCmpLtI32 VCmpxLtI32 LESS;
    VCmpEqI32 VCmpxEqI32 EQUAL;
    VCmpLeI32 VCmpxLeI32 LESS | EQUAL;
    VCmpGtI32 VCmpxGtI32 GREATER;
    VCmpNeI32 VCmpxNeI32 LESS | GREATER;
    VCmpGeI32 VCmpxGeI32 GREATER | EQUAL;
    VCmpTI32 VCmpxTI32 LESS | EQUAL | GREATER;
}

arms! {
    unsigned_32, "Unsigned integers of 32 bits.", unsigned32:
    VCmpFU32 VCmpxFU32 0;
    VCmpLtU32 VCmpxLtU32 LESS;
    VCmpEqU32 VCmpxEqU32 EQUAL;
    VCmpLeU32 VCmpxLeU32 LESS | EQUAL;
    VCmpGtU32 VCmpxGtU32 GREATER;
    VCmpNeU32 VCmpxNeU32 LESS | GREATER;
    VCmpGeU32 VCmpxGeU32 GREATER | EQUAL;
    VCmpTU32 VCmpxTU32 LESS | EQUAL | GREATER;
}

arms! {
    signed_64, "Signed integers of 64 bits.", signed64:
    VCmpFI64 VCmpxFI64 0;
    VCmpLtI64 VCmpxLtI64 LESS;
    VCmpEqI64 VCmpxEqI64 EQUAL;
    VCmpLeI64 VCmpxLeI64 LESS | EQUAL;
    VCmpGtI64 VCmpxGtI64 GREATER;
    VCmpNeI64 VCmpxNeI64 LESS | GREATER;
    VCmpGeI64 VCmpxGeI64 GREATER | EQUAL;
    VCmpTI64 VCmpxTI64 LESS | EQUAL | GREATER;
}

arms! {
    unsigned_64, "Unsigned integers of 64 bits.", unsigned64:
    VCmpFU64 VCmpxFU64 0;
    VCmpLtU64 VCmpxLtU64 LESS;
    VCmpEqU64 VCmpxEqU64 EQUAL;
    VCmpLeU64 VCmpxLeU64 LESS | EQUAL;
    VCmpGtU64 VCmpxGtU64 GREATER;
    VCmpNeU64 VCmpxNeU64 LESS | GREATER;
    VCmpGeU64 VCmpxGeU64 GREATER | EQUAL;
    VCmpTU64 VCmpxTU64 LESS | EQUAL | GREATER;
}

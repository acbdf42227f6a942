//! Scalar ALU: SOP1, SOP2, SOPK and SOPC without the instructions that move the program counter (see [`control`](super::control)).
//!
//! What must hold here: SCC is written by exactly the instructions that the ISA lists, from the unwrapped result where it is a
//! carry or an overflow; shift counts are taken modulo the width.

use super::AluFn;
use super::operand::{scalar32, scalar64, set_scalar32, set_scalar64, source64};
use crate::fault::Exec;
use crate::isa::{Inst, Op};
use crate::wave::{EXEC, WaveState};

/// The function of a scalar ALU operation.
pub(super) fn lookup(op: Op) -> Option<AluFn> {
    arithmetic(op)
        .or_else(|| logic(op))
        .or_else(|| shifts(op))
        .or_else(|| single(op))
        .or_else(|| moves(op))
        .or_else(|| compare(op))
}

/// `dst = f(a, b)`, SCC from the function.
#[inline(always)]
fn two(wave: &mut WaveState, inst: &Inst, f: impl Fn(u32, u32) -> (u32, bool)) -> Exec {
    let (value, scc) = f(scalar32(wave, inst.src[0]), scalar32(wave, inst.src[1]));
    set_scalar32(wave, inst.dst, value);
    wave.scc = scc;
    Ok(())
}

/// `dst = f(a, b)`, SCC = the result is not zero.
#[inline(always)]
fn two_nonzero(wave: &mut WaveState, inst: &Inst, f: impl Fn(u32, u32) -> u32) -> Exec {
    two(wave, inst, |a, b| {
        let value = f(a, b);
        (value, value != 0)
    })
}

/// The same for 64 bits.
#[inline(always)]
fn two_nonzero64(wave: &mut WaveState, inst: &Inst, f: impl Fn(u64, u64) -> u64) -> Exec {
    let value = f(source64(wave, inst, 0), source64(wave, inst, 1));
    set_scalar64(wave, inst.dst, value);
    wave.scc = value != 0;
    Ok(())
}

/// `dst = f(a, b)`, SCC kept.
#[inline(always)]
fn two_plain(wave: &mut WaveState, inst: &Inst, f: impl Fn(u32, u32) -> u32) -> Exec {
    let value = f(scalar32(wave, inst.src[0]), scalar32(wave, inst.src[1]));
    set_scalar32(wave, inst.dst, value);
    Ok(())
}

/// `dst = a + b + carry` as unsigned numbers, SCC = carry out.
#[inline(always)]
fn add_carry(a: u32, b: u32, carry: u32) -> (u32, bool) {
    let sum = u64::from(a) + u64::from(b) + u64::from(carry);
    (sum as u32, sum >> 32 != 0)
}

/// `dst = a - b - borrow` as unsigned numbers, SCC = borrow out.
#[inline(always)]
fn sub_borrow(a: u32, b: u32, borrow: u32) -> (u32, bool) {
    let difference = u64::from(a).wrapping_sub(u64::from(b)).wrapping_sub(u64::from(borrow));
    (difference as u32, difference >> 63 != 0)
}

fn arithmetic(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::SAddU32 => |w, i| two(w, i, |a, b| a.overflowing_add(b)),
        Op::SSubU32 => |w, i| two(w, i, |a, b| a.overflowing_sub(b)),
        Op::SAddI32 => |w, i| {
            two(w, i, |a, b| {
                let (value, overflow) = (a as i32).overflowing_add(b as i32);
                (value as u32, overflow)
            })
        },
        Op::SSubI32 => |w, i| {
            two(w, i, |a, b| {
                let (value, overflow) = (a as i32).overflowing_sub(b as i32);
                (value as u32, overflow)
            })
        },
        Op::SAddcU32 => |w, i| {
            let carry = u32::from(w.scc);
            two(w, i, |a, b| add_carry(a, b, carry))
        },
        Op::SSubbU32 => |w, i| {
            let borrow = u32::from(w.scc);
            two(w, i, |a, b| sub_borrow(a, b, borrow))
        },
        Op::SMinI32 => |w, i| two(w, i, |a, b| if (a as i32) < b as i32 { (a, true) } else { (b, false) }),
        Op::SMinU32 => |w, i| two(w, i, |a, b| if a < b { (a, true) } else { (b, false) }),
        Op::SMaxI32 => |w, i| two(w, i, |a, b| if (a as i32) > b as i32 { (a, true) } else { (b, false) }),
        Op::SMaxU32 => |w, i| two(w, i, |a, b| if a > b { (a, true) } else { (b, false) }),
        Op::SMulI32 => |w, i| two_plain(w, i, u32::wrapping_mul),
        Op::SMulHiU32 => |w, i| two_plain(w, i, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32),
        Op::SMulHiI32 => |w, i| two_plain(w, i, |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32),
        Op::SAbsdiffI32 => |w, i| two_nonzero(w, i, |a, b| (a as i32).wrapping_sub(b as i32).wrapping_abs() as u32),
        Op::SLshl1AddU32 => |w, i| shift_add(w, i, 1),
        Op::SLshl2AddU32 => |w, i| shift_add(w, i, 2),
        Op::SLshl3AddU32 => |w, i| shift_add(w, i, 3),
        Op::SLshl4AddU32 => |w, i| shift_add(w, i, 4),
        Op::SAddkI32 => |w, i| {
            two(w, i, |a, b| {
                let (value, overflow) = (a as i32).overflowing_add(b as i32);
                (value as u32, overflow)
            })
        },
        Op::SMulkI32 => |w, i| two_plain(w, i, u32::wrapping_mul),
        Op::SAbsI32 => |w, i| one_nonzero(w, i, |a| (a as i32).wrapping_abs() as u32),
        _ => return None,
    })
}

fn shift_add(wave: &mut WaveState, inst: &Inst, shift: u32) -> Exec {
    two(wave, inst, |a, b| {
        let sum = (u64::from(a) << shift) + u64::from(b);
        (sum as u32, sum >> 32 != 0)
    })
}

fn logic(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::SAndB32 => |w, i| two_nonzero(w, i, |a, b| a & b),
        Op::SAndB64 => |w, i| two_nonzero64(w, i, |a, b| a & b),
        Op::SOrB32 => |w, i| two_nonzero(w, i, |a, b| a | b),
        Op::SOrB64 => |w, i| two_nonzero64(w, i, |a, b| a | b),
        Op::SXorB32 => |w, i| two_nonzero(w, i, |a, b| a ^ b),
        Op::SXorB64 => |w, i| two_nonzero64(w, i, |a, b| a ^ b),
        Op::SAndn2B32 => |w, i| two_nonzero(w, i, |a, b| a & !b),
        Op::SAndn2B64 => |w, i| two_nonzero64(w, i, |a, b| a & !b),
        Op::SOrn2B32 => |w, i| two_nonzero(w, i, |a, b| a | !b),
        Op::SOrn2B64 => |w, i| two_nonzero64(w, i, |a, b| a | !b),
        Op::SNandB32 => |w, i| two_nonzero(w, i, |a, b| !(a & b)),
        Op::SNandB64 => |w, i| two_nonzero64(w, i, |a, b| !(a & b)),
        Op::SNorB32 => |w, i| two_nonzero(w, i, |a, b| !(a | b)),
        Op::SNorB64 => |w, i| two_nonzero64(w, i, |a, b| !(a | b)),
        Op::SXnorB32 => |w, i| two_nonzero(w, i, |a, b| !(a ^ b)),
        Op::SXnorB64 => |w, i| two_nonzero64(w, i, |a, b| !(a ^ b)),
        Op::SCselectB32 => |w, i| {
            let chosen = scalar32(w, i.src[usize::from(!w.scc)]);
            set_scalar32(w, i.dst, chosen);
            Ok(())
        },
        Op::SCselectB64 => |w, i| {
            let chosen = source64(w, i, usize::from(!w.scc));
            set_scalar64(w, i.dst, chosen);
            Ok(())
        },
        Op::SPackLlB32B16 => |w, i| two_plain(w, i, |a, b| (a & 0xffff) | b << 16),
        Op::SPackLhB32B16 => |w, i| two_plain(w, i, |a, b| (a & 0xffff) | (b & 0xffff_0000)),
        Op::SPackHhB32B16 => |w, i| two_plain(w, i, |a, b| a >> 16 | (b & 0xffff_0000)),
        _ => return None,
    })
}

/// `count` bits from bit 0 on, all ones; a count of the width or more gives every bit.
const fn ones(count: u32) -> u64 {
    if count >= 64 { !0 } else { (1 << count) - 1 }
}

/// The field that operand 1 of `s_bfe` names, zero- or sign-extended. `width` is that of the operand in bits.
const fn extract(value: u64, field: u32, width: u32, signed: bool) -> u64 {
    let offset = field & (width - 1);
    let count = field >> 16 & 0x7f;
    if count == 0 {
        return 0;
    }
    // Above the operand there are copies of its sign (signed) or zeros.
    let wide = if width == 32 && signed { value as u32 as i32 as i64 as u64 } else { value };
    let shifted = if signed { (wide as i64 >> offset) as u64 } else { wide >> offset };
    if count >= width {
        return shifted;
    }
    let kept = shifted & ones(count);
    if signed && kept >> (count - 1) & 1 != 0 { kept | !ones(count) } else { kept }
}

fn shifts(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::SLshlB32 => |w, i| two_nonzero(w, i, |a, b| a << (b & 31)),
        Op::SLshrB32 => |w, i| two_nonzero(w, i, |a, b| a >> (b & 31)),
        Op::SAshrI32 => |w, i| two_nonzero(w, i, |a, b| (a as i32 >> (b & 31)) as u32),
        Op::SLshlB64 => |w, i| wide_shift(w, i, |a, b| a << b),
        Op::SLshrB64 => |w, i| wide_shift(w, i, |a, b| a >> b),
        Op::SAshrI64 => |w, i| wide_shift(w, i, |a, b| (a as i64 >> b) as u64),
        Op::SBfmB32 => |w, i| two_plain(w, i, |a, b| (ones(a & 31) as u32) << (b & 31)),
        Op::SBfmB64 => |w, i| {
            let (a, b) = (scalar32(w, i.src[0]), scalar32(w, i.src[1]));
            set_scalar64(w, i.dst, ones(a & 63) << (b & 63));
            Ok(())
        },
        Op::SBfeU32 => |w, i| two_nonzero(w, i, |a, b| extract(u64::from(a), b, 32, false) as u32),
        Op::SBfeI32 => |w, i| two_nonzero(w, i, |a, b| extract(u64::from(a), b, 32, true) as u32),
        Op::SBfeU64 => |w, i| wide_field(w, i, false),
        Op::SBfeI64 => |w, i| wide_field(w, i, true),
        _ => return None,
    })
}

#[inline(always)]
fn wide_shift(wave: &mut WaveState, inst: &Inst, f: impl Fn(u64, u32) -> u64) -> Exec {
    let value = f(source64(wave, inst, 0), scalar32(wave, inst.src[1]) & 63);
    set_scalar64(wave, inst.dst, value);
    wave.scc = value != 0;
    Ok(())
}

fn wide_field(wave: &mut WaveState, inst: &Inst, signed: bool) -> Exec {
    let value = extract(source64(wave, inst, 0), scalar32(wave, inst.src[1]), 64, signed);
    set_scalar64(wave, inst.dst, value);
    wave.scc = value != 0;
    Ok(())
}

/// `dst = f(a)`, SCC = the result is not zero.
#[inline(always)]
fn one_nonzero(wave: &mut WaveState, inst: &Inst, f: impl Fn(u32) -> u32) -> Exec {
    let value = f(scalar32(wave, inst.src[0]));
    set_scalar32(wave, inst.dst, value);
    wave.scc = value != 0;
    Ok(())
}

/// `dst = f(a)` with a 32-bit source, SCC kept.
#[inline(always)]
fn one(wave: &mut WaveState, inst: &Inst, f: impl Fn(u32) -> u32) -> Exec {
    let value = f(scalar32(wave, inst.src[0]));
    set_scalar32(wave, inst.dst, value);
    Ok(())
}

/// A 32-bit `dst = f(a)` with a 64-bit source, SCC kept.
#[inline(always)]
fn narrow(wave: &mut WaveState, inst: &Inst, f: impl Fn(u64) -> u32) -> Exec {
    let value = f(source64(wave, inst, 0));
    set_scalar32(wave, inst.dst, value);
    Ok(())
}

/// A 64-bit `dst = f(a)`, SCC = the result is not zero.
#[inline(always)]
fn one_nonzero64(wave: &mut WaveState, inst: &Inst, f: impl Fn(u64) -> u64) -> Exec {
    let value = f(source64(wave, inst, 0));
    set_scalar64(wave, inst.dst, value);
    wave.scc = value != 0;
    Ok(())
}

/// Position of the lowest set bit, -1 if there is none.
const fn lowest(value: u64) -> u32 {
    if value == 0 { u32::MAX } else { value.trailing_zeros() }
}

/// Zeros above the highest set bit of a number of `width` bits, -1 if there is none.
const fn leading(value: u64, width: u32) -> u32 {
    if value == 0 { u32::MAX } else { value.leading_zeros() - (64 - width) }
}

/// Bits below the sign that equal it, counted with it; -1 if all do.
const fn leading_sign(value: i64, width: u32) -> u32 {
    leading((value ^ (value >> 63)) as u64, width)
}

/// Each group of `size` bits becomes all ones if one of its bits is set.
fn whole_groups(value: u64) -> u64 {
    let any = value | value >> 1;
    let any = (any | any >> 2) & 0x1111_1111_1111_1111;
    any * 15
}

/// One bit for each group of four that has a bit set.
fn quads(value: u64) -> u64 {
    (0..16).fold(0, |out, quad| out | u64::from(value >> (4 * quad) & 15 != 0) << quad)
}

fn single(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::SNotB32 => |w, i| one_nonzero(w, i, |a| !a),
        Op::SNotB64 => |w, i| one_nonzero64(w, i, |a| !a),
        Op::SWqmB32 => |w, i| one_nonzero(w, i, |a| whole_groups(u64::from(a)) as u32),
        Op::SWqmB64 => |w, i| one_nonzero64(w, i, whole_groups),
        Op::SQuadmaskB32 => |w, i| one_nonzero(w, i, |a| quads(u64::from(a)) as u32),
        Op::SQuadmaskB64 => |w, i| one_nonzero64(w, i, quads),
        Op::SBrevB32 => |w, i| one(w, i, u32::reverse_bits),
        Op::SBrevB64 => |w, i| {
            let value = source64(w, i, 0).reverse_bits();
            set_scalar64(w, i.dst, value);
            Ok(())
        },
        Op::SBcnt0I32B32 => |w, i| one_nonzero(w, i, u32::count_zeros),
        Op::SBcnt1I32B32 => |w, i| one_nonzero(w, i, u32::count_ones),
        Op::SBcnt0I32B64 => |w, i| count(w, i, u64::count_zeros),
        Op::SBcnt1I32B64 => |w, i| count(w, i, u64::count_ones),
        Op::SFf0I32B32 => |w, i| one(w, i, |a| lowest(u64::from(!a))),
        Op::SFf0I32B64 => |w, i| narrow(w, i, |a| lowest(!a)),
        Op::SFf1I32B32 => |w, i| one(w, i, |a| lowest(u64::from(a))),
        Op::SFf1I32B64 => |w, i| narrow(w, i, lowest),
        Op::SFlbitI32B32 => |w, i| one(w, i, |a| leading(u64::from(a), 32)),
        Op::SFlbitI32B64 => |w, i| narrow(w, i, |a| leading(a, 64)),
        Op::SFlbitI32 => |w, i| one(w, i, |a| leading_sign(i64::from(a as i32), 32)),
        Op::SFlbitI32I64 => |w, i| narrow(w, i, |a| leading_sign(a as i64, 64)),
        Op::SSextI32I8 => |w, i| one(w, i, |a| a as i8 as u32),
        Op::SSextI32I16 => |w, i| one(w, i, |a| a as i16 as u32),
        Op::SBitset0B32 => |w, i| set_bit(w, i, false),
        Op::SBitset1B32 => |w, i| set_bit(w, i, true),
        Op::SBitset0B64 => |w, i| set_bit64(w, i, false),
        Op::SBitset1B64 => |w, i| set_bit64(w, i, true),
        Op::SBitreplicateB64B32 => |w, i| {
            let value = scalar32(w, i.src[0]);
            let doubled = (0..32).fold(0, |out, bit| out | (u64::from(value >> bit & 1) * 3) << (2 * bit));
            set_scalar64(w, i.dst, doubled);
            Ok(())
        },
        _ => return None,
    })
}

fn count(wave: &mut WaveState, inst: &Inst, f: impl Fn(u64) -> u32) -> Exec {
    let value = f(source64(wave, inst, 0));
    set_scalar32(wave, inst.dst, value);
    wave.scc = value != 0;
    Ok(())
}

fn set_bit(wave: &mut WaveState, inst: &Inst, one: bool) -> Exec {
    let bit = 1 << (scalar32(wave, inst.src[0]) & 31);
    let old = scalar32(wave, inst.dst);
    set_scalar32(wave, inst.dst, if one { old | bit } else { old & !bit });
    Ok(())
}

fn set_bit64(wave: &mut WaveState, inst: &Inst, one: bool) -> Exec {
    let bit = 1 << (scalar32(wave, inst.src[0]) & 63);
    let old = scalar64(wave, inst.dst, false);
    set_scalar64(wave, inst.dst, if one { old | bit } else { old & !bit });
    Ok(())
}

/// `dst = EXEC; EXEC = f(source, EXEC)`, SCC = the new EXEC is not zero.
#[inline(always)]
fn save_exec(wave: &mut WaveState, inst: &Inst, f: impl Fn(u64, u64) -> u64) -> Exec {
    let (source, old) = (source64(wave, inst, 0), wave.exec());
    let new = f(source, old);
    set_scalar64(wave, inst.dst, old);
    wave.set_sgpr64(EXEC, new);
    wave.scc = new != 0;
    Ok(())
}

/// `EXEC = dst = f(source, EXEC)`, SCC = it is not zero.
fn write_exec(wave: &mut WaveState, inst: &Inst, f: impl Fn(u64, u64) -> u64) -> Exec {
    let new = f(source64(wave, inst, 0), wave.exec());
    set_scalar64(wave, inst.dst, new);
    wave.set_sgpr64(EXEC, new);
    wave.scc = new != 0;
    Ok(())
}

fn moves(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::SMovB32 | Op::SMovkI32 => |w, i| one(w, i, |a| a),
        Op::SMovB64 => |w, i| {
            let value = source64(w, i, 0);
            set_scalar64(w, i.dst, value);
            Ok(())
        },
        Op::SCmovB32 | Op::SCmovkI32 => |w, i| if w.scc { one(w, i, |a| a) } else { Ok(()) },
        Op::SCmovB64 => |w, i| {
            if w.scc {
                let value = source64(w, i, 0);
                set_scalar64(w, i.dst, value);
            }
            Ok(())
        },
        Op::SAndSaveexecB64 => |w, i| save_exec(w, i, |s, e| s & e),
        Op::SOrSaveexecB64 => |w, i| save_exec(w, i, |s, e| s | e),
        Op::SXorSaveexecB64 => |w, i| save_exec(w, i, |s, e| s ^ e),
        Op::SAndn2SaveexecB64 => |w, i| save_exec(w, i, |s, e| s & !e),
        Op::SOrn2SaveexecB64 => |w, i| save_exec(w, i, |s, e| s | !e),
        Op::SNandSaveexecB64 => |w, i| save_exec(w, i, |s, e| !(s & e)),
        Op::SNorSaveexecB64 => |w, i| save_exec(w, i, |s, e| !(s | e)),
        Op::SXnorSaveexecB64 => |w, i| save_exec(w, i, |s, e| !(s ^ e)),
        Op::SAndn1SaveexecB64 => |w, i| save_exec(w, i, |s, e| !s & e),
        Op::SOrn1SaveexecB64 => |w, i| save_exec(w, i, |s, e| !s | e),
        Op::SAndn1WrexecB64 => |w, i| write_exec(w, i, |s, e| !s & e),
        Op::SAndn2WrexecB64 => |w, i| write_exec(w, i, |s, e| s & !e),
        _ => return None,
    })
}

#[inline(always)]
fn test(wave: &mut WaveState, inst: &Inst, f: impl Fn(u32, u32) -> bool) -> Exec {
    wave.scc = f(scalar32(wave, inst.src[0]), scalar32(wave, inst.src[1]));
    Ok(())
}

/// The immediate of the unsigned `s_cmpk` forms is zero-extended.
#[inline(always)]
fn test_unsigned_immediate(wave: &mut WaveState, inst: &Inst, f: impl Fn(u32, u32) -> bool) -> Exec {
    wave.scc = f(scalar32(wave, inst.src[0]), scalar32(wave, inst.src[1]) & 0xffff);
    Ok(())
}

#[inline(always)]
fn test64(wave: &mut WaveState, inst: &Inst, f: impl Fn(u64, u64) -> bool) -> Exec {
    wave.scc = f(source64(wave, inst, 0), source64(wave, inst, 1));
    Ok(())
}

fn compare(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::SCmpEqI32 | Op::SCmpEqU32 | Op::SCmpkEqI32 => |w, i| test(w, i, |a, b| a == b),
        Op::SCmpLgI32 | Op::SCmpLgU32 | Op::SCmpkLgI32 => |w, i| test(w, i, |a, b| a != b),
        Op::SCmpGtI32 | Op::SCmpkGtI32 => |w, i| test(w, i, |a, b| a as i32 > b as i32),
        Op::SCmpGeI32 | Op::SCmpkGeI32 => |w, i| test(w, i, |a, b| a as i32 >= b as i32),
        Op::SCmpLtI32 | Op::SCmpkLtI32 => |w, i| test(w, i, |a, b| (a as i32) < b as i32),
        Op::SCmpLeI32 | Op::SCmpkLeI32 => |w, i| test(w, i, |a, b| a as i32 <= b as i32),
        Op::SCmpGtU32 => |w, i| test(w, i, |a, b| a > b),
        Op::SCmpGeU32 => |w, i| test(w, i, |a, b| a >= b),
        Op::SCmpLtU32 => |w, i| test(w, i, |a, b| a < b),
        Op::SCmpLeU32 => |w, i| test(w, i, |a, b| a <= b),
        Op::SCmpkEqU32 => |w, i| test_unsigned_immediate(w, i, |a, b| a == b),
        Op::SCmpkLgU32 => |w, i| test_unsigned_immediate(w, i, |a, b| a != b),
        Op::SCmpkGtU32 => |w, i| test_unsigned_immediate(w, i, |a, b| a > b),
        Op::SCmpkGeU32 => |w, i| test_unsigned_immediate(w, i, |a, b| a >= b),
        Op::SCmpkLtU32 => |w, i| test_unsigned_immediate(w, i, |a, b| a < b),
        Op::SCmpkLeU32 => |w, i| test_unsigned_immediate(w, i, |a, b| a <= b),
        Op::SBitcmp0B32 => |w, i| test(w, i, |a, b| a >> (b & 31) & 1 == 0),
        Op::SBitcmp1B32 => |w, i| test(w, i, |a, b| a >> (b & 31) & 1 != 0),
        Op::SBitcmp0B64 => |w, i| test_bit64(w, i, false),
        Op::SBitcmp1B64 => |w, i| test_bit64(w, i, true),
        Op::SCmpEqU64 => |w, i| test64(w, i, |a, b| a == b),
        Op::SCmpLgU64 => |w, i| test64(w, i, |a, b| a != b),
        _ => return None,
    })
}

fn test_bit64(wave: &mut WaveState, inst: &Inst, one: bool) -> Exec {
    let bit = scalar32(wave, inst.src[1]) & 63;
    wave.scc = (source64(wave, inst, 0) >> bit & 1 != 0) == one;
    Ok(())
}

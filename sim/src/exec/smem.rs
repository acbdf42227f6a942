//! Scalar memory instructions: loads, cache control and clocks.
//!
//! What must hold here: a scalar load returns in any order with respect to everything else; its address is rounded down
//! to a multiple of four; it goes through the scalar cache, which only `s_dcache_inv` and the start of a kernel empty.

use super::access::{need, unsupported};
use super::operand::set_scalar64;
use super::{scalar_number, scalar32, source64};
use crate::fault::Exec;
use crate::isa::{Inst, Op, Operand};
use crate::mem::{Convert, Operation, Port, What, unit};

/// Issues a scalar memory instruction at `pc`.
///
/// # Errors
/// A defect of the access, undefined operands, or a form that is not simulated (stores, atomics).
pub(crate) fn issue(port: &mut Port<'_>, inst: &Inst, pc: u64) -> Exec {
    use Op as O;
    match inst.op {
        O::SLoadDword
        | O::SLoadDwordx2
        | O::SLoadB96
        | O::SLoadDwordx4
        | O::SLoadDwordx8
        | O::SLoadDwordx16
        | O::SLoadU8
        | O::SLoadI8
        | O::SLoadU16
        | O::SLoadI16 => load(port, inst, pc),
        O::SBufferLoadDword
        | O::SBufferLoadB96
        | O::SBufferLoadDwordx2
        | O::SBufferLoadDwordx4
        | O::SBufferLoadDwordx8
        | O::SBufferLoadDwordx16 => buffer_load(port, inst, pc),
        O::SMemtime | O::SMemrealtime => time(port, inst, pc),
        O::SGetShaderCyclesU64 => cycles(port, inst),
        O::SSendmsgRtnB32 | O::SSendmsgRtnB64 => message(port, inst, pc),
        O::SDcacheInv | O::SDcacheInvVol => {
            port.memory.acquire_scalar(unit(port.wave));
            let op = port.pending.take(What::ScalarInvalidate, pc);
            port.launch(op, false, false)
        }
        // Nothing here writes through the scalar cache, and what is prefetched changes no value.
        O::SDcacheWb
        | O::SDcacheWbVol
        | O::SPrefetchInst
        | O::SPrefetchInstPcRel
        | O::SPrefetchData
        | O::SBufferPrefetchData
        | O::SPrefetchDataPcRel => Ok(()),
        _ => Err(unsupported(inst)),
    }
}

/// The offset register, in elements of `bytes` bytes on gfx1250 if the instruction says so, and the immediate offset.
fn offset(port: &Port<'_>, inst: &Inst, bytes: usize) -> u64 {
    let register = match inst.src[1] {
        Operand::None => 0,
        operand => u64::from(scalar32(port.wave, operand)) * if inst.mem.scale_offset { bytes as u64 } else { 1 },
    };
    register.wrapping_add_signed(i64::from(inst.mem.offset))
}

fn destination(op: &mut Operation, inst: &Inst) {
    op.scalar = true;
    op.dst = scalar_number(inst.dst).unwrap_or(0) as u16;
    op.dst_dwords = inst.dst_width() as u8;
}

fn load(port: &mut Port<'_>, inst: &Inst, pc: u64) -> Exec {
    need(port, inst, 0, 0)?;
    need(port, inst, 1, 0)?;
    let base = source64(port.wave, inst, 0);
    let mut op = port.pending.take(What::ScalarLoad, pc);
    let (bytes, convert) = match inst.op {
        Op::SLoadU8 => (1, Convert::Zero),
        Op::SLoadI8 => (1, Convert::Sign),
        Op::SLoadU16 => (2, Convert::Zero),
        Op::SLoadI16 => (2, Convert::Sign),
        _ => (inst.dst_width() * 4, Convert::Dwords),
    };
    (op.bytes, op.convert) = (bytes, convert);
    op.address[0] = base.wrapping_add(offset(port, inst, bytes)) & !(bytes.min(4) as u64 - 1);
    destination(&mut op, inst);
    port.memory.check_scalar(unit(port.wave), &mut op)?;
    port.launch(op, false, true)
}

/// A load through a resource: what lies behind its end reads as zero.
fn buffer_load(port: &mut Port<'_>, inst: &Inst, pc: u64) -> Exec {
    need(port, inst, 0, 0)?;
    need(port, inst, 1, 0)?;
    let Some(first) = scalar_number(inst.src[0]) else { return Err(unsupported(inst)) };
    let word = |index: usize| port.wave.sgprs[(first + index) & 127];
    let base = u64::from(word(0)) | u64::from(word(1) & 0xffff) << 32;
    let stride = u64::from(word(1) >> 16 & 0x3fff);
    let limit = u64::from(word(2)) * stride.max(1);
    let at = offset(port, inst, inst.dst_width() * 4) & !3;
    let inside = limit.saturating_sub(at).min(inst.dst_width() as u64 * 4) & !3;
    let what = if inside == 0 { What::Deliver } else { What::ScalarLoad };
    let mut op = port.pending.take(what, pc);
    op.address[0] = base.wrapping_add(at) & !3;
    op.bytes = inside as usize;
    op.data[0][..16].fill(0);
    destination(&mut op, inst);
    if inside != 0 {
        port.memory.check_scalar(unit(port.wave), &mut op)?;
    }
    port.launch(op, false, true)
}

/// Whether an instruction that is none of scalar memory belongs here, because it tells the time.
pub(crate) const fn tells_time(op: Op) -> bool {
    matches!(op, Op::SGetShaderCyclesU64 | Op::SSendmsgRtnB32 | Op::SSendmsgRtnB64)
}

/// gfx1250: `s_memtime` without a wait.
fn cycles(port: &mut Port<'_>, inst: &Inst) -> Exec {
    port.memory.advance();
    set_scalar64(port.wave, inst.dst, port.memory.time());
    Ok(())
}

/// The message whose answer is the real time.
const GET_REALTIME: i32 = 0x83;

/// gfx1250: a message with an answer, for which kmcnt counts; only the one that asks for the real time.
fn message(port: &mut Port<'_>, inst: &Inst, pc: u64) -> Exec {
    let number = match inst.src[0] {
        Operand::InlineInt(number) => number,
        Operand::Simm16(number) => i32::from(number),
        Operand::Literal(number) => number as i32,
        _ => return Err(unsupported(inst)),
    };
    if number & 0xff != GET_REALTIME {
        return Err(unsupported(inst));
    }
    time(port, inst, pc)
}

/// `s_memtime` counts memory instructions, `s_memrealtime` a twentieth of them: times that only grow.
fn time(port: &mut Port<'_>, inst: &Inst, pc: u64) -> Exec {
    port.memory.advance();
    let time = port.memory.time();
    let time = if inst.op == Op::SMemtime { time } else { time / 20 };
    let mut op = port.pending.take(What::Deliver, pc);
    (op.data[0][0], op.data[0][1]) = (time as u32, (time >> 32) as u32);
    destination(&mut op, inst);
    port.launch(op, false, true)
}

//! Scalar memory instructions: loads, cache control and clocks.
//!
//! What must hold here: a scalar load returns in any order with respect to everything else; its address is rounded down
//! to a multiple of four; it goes through the scalar cache, which only `s_dcache_inv` and the start of a kernel empty.

use super::access::{need, unsupported};
use super::{scalar_number, scalar32, scalar64};
use crate::fault::Exec;
use crate::isa::{Inst, Op, Operand};
use crate::mem::{Operation, Port, What, unit};

/// Issues a scalar memory instruction at `pc`.
///
/// # Errors
/// A defect of the access, undefined operands, or a form that is not simulated (stores, atomics).
pub(crate) fn issue(port: &mut Port<'_>, inst: &Inst, pc: u64) -> Exec {
    use Op as O;
    match inst.op {
        O::SLoadDword | O::SLoadDwordx2 | O::SLoadDwordx4 | O::SLoadDwordx8 | O::SLoadDwordx16 => load(port, inst, pc),
        O::SBufferLoadDword
        | O::SBufferLoadDwordx2
        | O::SBufferLoadDwordx4
        | O::SBufferLoadDwordx8
        | O::SBufferLoadDwordx16 => buffer_load(port, inst, pc),
        O::SMemtime | O::SMemrealtime => time(port, inst, pc),
        O::SDcacheInv | O::SDcacheInvVol => {
            port.memory.acquire_scalar(unit(port.wave));
            let op = port.pending.take(What::ScalarInvalidate, pc);
            port.launch(op, false, false)
        }
        // Nothing here writes through the scalar cache.
        O::SDcacheWb | O::SDcacheWbVol => Ok(()),
        _ => Err(unsupported(inst)),
    }
}

/// The offset register and the immediate offset.
fn offset(port: &Port<'_>, inst: &Inst) -> u64 {
    let register = match inst.src[1] {
        Operand::None => 0,
        operand => u64::from(scalar32(port.wave, operand)),
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
    let base = scalar64(port.wave, inst.src[0], false);
    let mut op = port.pending.take(What::ScalarLoad, pc);
    op.address[0] = base.wrapping_add(offset(port, inst)) & !3;
    op.bytes = inst.dst_width() * 4;
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
    let at = offset(port, inst) & !3;
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

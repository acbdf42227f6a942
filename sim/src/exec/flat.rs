//! FLAT, GLOBAL and SCRATCH instructions.
//!
//! What must hold here: a FLAT address without a scalar one is 64 bits of vector registers plus an unsigned offset, and
//! its top half tells whether it means LDS, scratch or global memory, lane by lane. A GLOBAL address is 64 bits of
//! vector registers, or a scalar pair plus an unsigned 32-bit vector offset, plus a signed offset. A SCRATCH address is
//! an offset into the lane's own scratch: scalar plus vector plus signed offset. FLAT counts in vmcnt and lgkmcnt, the
//! others in vmcnt. On gfx1250 the vector offset beside a scalar address is signed and may count elements instead of bytes.

use super::access::{
    Shape, capture, narrow_addresses, need, need_dwords, set_destination, shape, shape12, unsupported, wide_addresses,
};
use super::{PRIVATE_BASE_HI, SHARED_BASE_HI, scalar32, source64};
use crate::fault::Exec;
use crate::isa::{self, Format, Inst, Op, Operand};
use crate::mem::{Operation, Port, Scope, What, unit};
use crate::wave::{Generation, M0};

/// Issues a FLAT, GLOBAL or SCRATCH instruction at `pc`.
///
/// # Errors
/// A defect of the access, undefined operands, or a form that is not simulated.
pub(crate) fn issue(port: &mut Port<'_>, inst: &Inst, pc: u64) -> Exec {
    let gfx12 = port.wave.generation == Generation::Gfx12;
    if gfx12 && is_cache_control(inst.op) {
        return cache_control(port, inst, pc);
    }
    let shape = if gfx12 { shape12(inst.code) } else { shape(inst.code) }.ok_or_else(|| unsupported(inst))?;
    let lanes = port.wave.exec();
    check_operands(port, inst, &shape, lanes)?;
    let mut op = port.pending.take(shape.what, pc);
    op.bytes = shape.bytes;
    op.convert = shape.convert;
    match inst.format {
        Format::Flat => flat(port, inst, &mut op, lanes),
        Format::Scratch => scratch(port, inst, &mut op, lanes),
        _ => global(port, inst, &mut op, lanes),
    }
    let returns = matches!(shape.what, What::Atomic(_)) && inst.dst != Operand::None;
    op.scope = match shape.what {
        _ if gfx12 => named_scope(inst.mem.scope, shape.what),
        // The bit sc0 of an atomic asks for the old value; its scope is agent, or system with sc1.
        What::Atomic(_) if inst.mem.sc1 => Scope::System,
        What::Atomic(_) => Scope::Workgroup,
        _ => Scope::new(inst.mem.sc0, inst.mem.sc1),
    };
    match shape.what {
        What::Load if shape.to_lds => to_lds(port.wave.sgprs[M0], &mut op, inst.mem.offset),
        What::Load => set_destination(port, &mut op, inst.dst, shape.bytes.div_ceil(4)),
        _ => {
            let dwords = inst.src_width(1);
            capture(port, &mut op, inst.src[1], dwords, 0);
            if shape.high {
                op.data[0].iter_mut().for_each(|value| *value >>= 16);
            }
            if returns {
                set_destination(port, &mut op, inst.dst, shape.bytes.div_ceil(4));
            }
        }
    }
    port.issue(op, true, inst.format == Format::Flat)
}

const fn is_cache_control(op: Op) -> bool {
    matches!(op, Op::GlobalWb | Op::GlobalInv | Op::GlobalWbinv | Op::GlobalPrefetchB8 | Op::FlatPrefetchB8)
}

/// gfx1250's `global_wb`, `global_inv` and prefetches, which change no value.
///
/// A write-back counts as a store and follows the stores before it; an invalidate counts as a load (LLVM 22,
/// `SIInsertWaitcnts`) but acts when it issues, because the memory model has no wait behind it.
fn cache_control(port: &mut Port<'_>, inst: &Inst, pc: u64) -> Exec {
    let scope = named_scope(inst.mem.scope, What::WriteBack);
    if matches!(inst.op, Op::GlobalWb | Op::GlobalWbinv) {
        let mut op = port.pending.take(What::WriteBack, pc);
        op.scope = scope;
        port.memory.begin_write_back(unit(port.wave), &mut op);
        port.launch(op, true, false)?;
    }
    if matches!(inst.op, Op::GlobalInv | Op::GlobalWbinv) {
        port.memory.acquire(unit(port.wave), scope);
        if inst.op == Op::GlobalInv {
            let op = port.pending.take(What::Deliver, pc);
            port.launch(op, true, false)?;
        }
    }
    Ok(())
}

/// gfx1250's scopes as those of gfx9, whose memory this is: what reaches a device goes past the caches of compute unit and XCD.
/// An atomic below device scope is performed in the L2 of its XCD, and orders nothing.
const fn named_scope(scope: isa::Scope, what: What) -> Scope {
    match (scope, what) {
        (isa::Scope::Sys, _) => Scope::System,
        (isa::Scope::Dev, What::Atomic(_)) => Scope::Workgroup,
        (isa::Scope::Dev, _) => Scope::Agent,
        (isa::Scope::Se, What::Atomic(_)) | (isa::Scope::Cu, _) => Scope::Wave,
        (isa::Scope::Se, _) => Scope::Workgroup,
    }
}

fn check_operands(port: &Port<'_>, inst: &Inst, shape: &Shape, lanes: u64) -> Exec {
    need(port, inst, 0, lanes)?;
    need(port, inst, 2, lanes)?;
    if shape.what != What::Load {
        need(port, inst, 1, lanes)?;
    }
    if shape.to_lds {
        need_dwords(port, inst, Operand::M0, 1, lanes)?;
    }
    Ok(())
}

fn global(port: &Port<'_>, inst: &Inst, op: &mut Operation, lanes: u64) {
    let offset = i64::from(inst.mem.offset);
    if inst.src[2] == Operand::None {
        wide_addresses(port, inst.src[0], op);
        if offset != 0 {
            op.address.iter_mut().for_each(|address| *address = address.wrapping_add_signed(offset));
        }
    } else {
        beside_scalar(port, inst, op);
        let base = source64(port.wave, inst, 2).wrapping_add_signed(offset);
        op.address.iter_mut().for_each(|address| *address = address.wrapping_add(base));
    }
    op.global = lanes;
}

/// The vector offsets beside a scalar address: unsigned bytes on gfx9. On gfx1250 signed (inferred: LLVM 22 uses this form for
/// sign-extended offsets), and with `scale_offset` in elements of the size of the access.
fn beside_scalar(port: &Port<'_>, inst: &Inst, op: &mut Operation) {
    narrow_addresses(port, inst.src[0], op);
    if port.wave.generation == Generation::Gfx12 {
        let scale = if inst.mem.scale_offset { op.bytes as i64 } else { 1 };
        op.address.iter_mut().for_each(|offset| *offset = (i64::from(*offset as i32).wrapping_mul(scale)) as u64);
    }
}

fn flat(port: &Port<'_>, inst: &Inst, op: &mut Operation, lanes: u64) {
    let mut offset = i64::from(inst.mem.offset);
    if inst.src[2] == Operand::None {
        wide_addresses(port, inst.src[0], op);
    } else {
        beside_scalar(port, inst, op);
        offset = offset.wrapping_add(source64(port.wave, inst, 2) as i64);
    }
    for (lane, address) in op.address.iter_mut().enumerate() {
        *address = address.wrapping_add_signed(offset);
        let bit = 1 << lane & lanes;
        match (*address >> 32) as u32 {
            SHARED_BASE_HI => {
                op.lds |= bit;
                *address &= 0xffff_ffff;
            }
            PRIVATE_BASE_HI => {
                op.scratch |= bit;
                *address &= 0xffff_ffff;
            }
            _ => op.global |= bit,
        }
    }
}

fn scratch(port: &Port<'_>, inst: &Inst, op: &mut Operation, lanes: u64) {
    narrow_addresses(port, inst.src[0], op);
    if inst.mem.scale_offset {
        let scale = op.bytes as u64;
        op.address.iter_mut().for_each(|offset| *offset = offset.wrapping_mul(scale));
    }
    let scalar = scalar32(port.wave, inst.src[2]);
    let base = scalar.wrapping_add(inst.mem.offset as u32);
    op.address.iter_mut().for_each(|address| *address = u64::from((*address as u32).wrapping_add(base)));
    op.scratch = lanes;
}

/// The data of lane i goes to M0 plus the instruction's offset plus i times the size of what it loads, a dword at
/// least.
pub(super) fn to_lds(m0: u32, op: &mut Operation, offset: i32) {
    let stride = (op.dwords() * 4) as u32;
    op.to_lds = Some((m0.wrapping_add(offset as u32), stride));
}

//! MUBUF instructions: accesses through a buffer resource, `buffer_wbl2` and `buffer_inv`.
//!
//! What must hold here: an address is the resource's base, plus the scalar offset, the immediate offset, the offset
//! register and the index register times the stride. What is out of the resource's range loads as zero and is not
//! stored, as on the hardware; what is in its range but in no allocation is a fault. Formats and swizzled buffers are
//! not simulated.

use super::access::{Shape, capture, need, need_dwords, set_destination, shape, unsupported};
use super::flat::to_lds;
use super::{scalar_number, scalar32, vector_index};
use crate::fault::Exec;
use crate::isa::{Format, Inst, Op, Operand};
use crate::mem::{Operation, Port, Scope, What, unit};
use crate::wave::{LANES, M0};

/// Issues a MUBUF instruction at `pc`.
///
/// # Errors
/// A defect of the access, undefined operands, or a form that is not simulated.
pub(crate) fn issue(port: &mut Port<'_>, inst: &Inst, pc: u64) -> Exec {
    let scope = Scope::new(inst.mem.sc0, inst.mem.sc1);
    match inst.op {
        Op::BufferWbl2 => {
            let mut op = port.pending.take(What::WriteBack, pc);
            op.scope = scope;
            port.memory.begin_write_back(unit(port.wave), &mut op);
            port.launch(op, true, false)
        }
        Op::BufferInv => {
            port.memory.acquire(unit(port.wave), scope);
            Ok(())
        }
        _ if inst.format == Format::Mubuf => access(port, inst, pc, scope),
        _ => Err(unsupported(inst)),
    }
}

/// A resource: what its four dwords say.
struct Resource {
    base: u64,
    stride: u32,
    /// Bytes of a raw buffer, elements of a structured one.
    records: u32,
    swizzled: bool,
}

fn resource(port: &Port<'_>, inst: &Inst) -> Option<Resource> {
    let first = scalar_number(inst.src[2])?;
    let word = |index: usize| port.wave.sgprs[(first + index) & 127];
    Some(Resource {
        base: u64::from(word(0)) | u64::from(word(1) & 0xffff) << 32,
        stride: word(1) >> 16 & 0x3fff,
        records: word(2),
        swizzled: word(1) >> 31 != 0,
    })
}

fn access(port: &mut Port<'_>, inst: &Inst, pc: u64, scope: Scope) -> Exec {
    let mut shape = shape(inst.code).filter(|_| inst.code >= 16).ok_or_else(|| unsupported(inst))?;
    shape.to_lds = inst.mem.lds;
    let lanes = port.wave.exec();
    check_operands(port, inst, &shape, lanes)?;
    let resource = resource(port, inst).filter(|resource| !resource.swizzled).ok_or_else(|| unsupported(inst))?;
    let mut op = port.pending.take(shape.what, pc);
    (op.bytes, op.convert) = (shape.bytes, shape.convert);
    op.scope = match shape.what {
        What::Atomic(_) if inst.mem.sc1 => Scope::System,
        What::Atomic(_) => Scope::Workgroup,
        _ => scope,
    };
    let outside = addresses(port, inst, &resource, &mut op, lanes);
    match shape.what {
        What::Load if shape.to_lds => to_lds(port.wave.sgprs[M0], &mut op, inst.mem.offset),
        What::Load => {
            op.data.iter_mut().for_each(|row| row.fill(0));
            set_destination(port, &mut op, inst.dst, inst.dst_width());
        }
        _ => {
            capture(port, &mut op, inst.src[1], inst.src_width(1), 0);
            if shape.high {
                op.data[0].iter_mut().for_each(|value| *value >>= 16);
            }
            set_destination(port, &mut op, inst.dst, inst.dst_width());
        }
    }
    if outside != 0 && (op.delivers() || shape.to_lds) {
        return Err(unsupported(inst)); // zeroes for lanes out of range: nothing that we emit relies on it
    }
    port.issue(op, true, false)
}

/// Fills in the addresses; the lanes that are out of the resource's range, which access nothing.
fn addresses(port: &Port<'_>, inst: &Inst, resource: &Resource, op: &mut Operation, lanes: u64) -> u64 {
    let scalar = scalar32(port.wave, inst.src[3]);
    let first = vector_index(port.wave, inst.src[0]);
    let register = |index: usize| first.and_then(|first| port.wave.vgprs.get(first + index));
    let index = if inst.mem.idxen { register(0) } else { None };
    let offset = if inst.mem.offen { register(usize::from(inst.mem.idxen)) } else { None };
    let mut outside = 0;
    for lane in 0..LANES {
        let index = index.map_or(0, |register| register[lane]);
        let offset = u64::from(offset.map_or(0, |register| register[lane])) + inst.mem.offset as u64;
        op.address[lane] = resource
            .base
            .wrapping_add(u64::from(scalar))
            .wrapping_add(offset)
            .wrapping_add(u64::from(index) * u64::from(resource.stride));
        let inside = match resource.stride {
            0 => offset + op.bytes as u64 <= u64::from(resource.records),
            stride => index < resource.records && offset + op.bytes as u64 <= u64::from(stride),
        };
        if !inside {
            outside |= 1 << lane;
        }
    }
    op.global = lanes & !outside;
    lanes & outside
}

fn check_operands(port: &Port<'_>, inst: &Inst, shape: &Shape, lanes: u64) -> Exec {
    let address = usize::from(inst.mem.idxen) + usize::from(inst.mem.offen);
    need_dwords(port, inst, inst.src[0], address, lanes)?;
    need(port, inst, 2, lanes)?;
    need(port, inst, 3, lanes)?;
    if shape.what != What::Load {
        need(port, inst, 1, lanes)?;
    }
    if shape.to_lds {
        need_dwords(port, inst, Operand::M0, 1, lanes)?;
    }
    Ok(())
}

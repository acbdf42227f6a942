//! DS instructions: LDS loads, stores and atomics, and permutations of lanes.
//!
//! What must hold here: an LDS address is a 32-bit vector register plus an unsigned offset; the two-address forms have
//! two offsets in elements, or in 64 elements. LDS operations of a wave keep their order. Permutations touch no memory:
//! they read their registers when they issue and deliver like a load. GDS does not exist on these chips.

use super::access::{capture, narrow_addresses, need, set_destination, unsupported};
use super::vector_index;
use crate::fault::Exec;
use crate::isa::table::{ATOMIC, LOAD, ST64, STORE, TWO};
use crate::isa::{Inst, Op, Operand};
use crate::mem::{AtomicOp, Convert, Operation, Port, What};
use crate::wave::{LANES, M0, WaveState};

/// Issues a DS instruction at `pc`.
///
/// # Errors
/// A defect of the access, undefined operands, or a form that is not simulated (GDS, `ds_append` and the like).
pub(crate) fn issue(port: &mut Port<'_>, inst: &Inst, pc: u64) -> Exec {
    if inst.mem.gds {
        return Err(unsupported(inst));
    }
    match inst.op {
        Op::DsNop => Ok(()),
        Op::DsSwizzleB32 => permute(port, inst, pc, swizzle),
        Op::DsBpermuteB32 => permute(port, inst, pc, backward),
        Op::DsBpermuteFiB32 => permute(port, inst, pc, backward_any),
        Op::DsPermuteB32 => permute(port, inst, pc, forward),
        _ if inst.row.has(LOAD) => load(port, inst, pc),
        _ if inst.row.has(STORE) => store(port, inst, pc),
        _ if inst.row.has(ATOMIC) => atomic(port, inst, pc),
        _ => Err(unsupported(inst)),
    }
}

/// Fills in the addresses; `bytes` is the size of an element.
fn address(port: &Port<'_>, inst: &Inst, op: &mut Operation, bytes: usize) -> Exec {
    let lanes = port.wave.exec();
    need(port, inst, 0, lanes)?;
    op.bytes = bytes;
    op.lds = lanes;
    op.in_order = true;
    narrow_addresses(port, inst.src[0], op);
    let (mut first, unit) = (inst.mem.offset as u32, if inst.row.has(ST64) { 64 * bytes } else { bytes } as u32);
    if inst.row.has(TWO) {
        first *= unit;
        op.second = Some(i64::from(u32::from(inst.mem.offset1) * unit) - i64::from(first));
    }
    if first != 0 {
        op.address.iter_mut().for_each(|address| *address = u64::from((*address as u32).wrapping_add(first)));
    }
    Ok(())
}

fn load(port: &mut Port<'_>, inst: &Inst, pc: u64) -> Exec {
    use Convert::{Dwords, High, Low, Sign, Transpose, Zero};
    let (bytes, convert) = match inst.op {
        Op::DsReadI8 => (1, Sign),
        Op::DsReadU8 => (1, Zero),
        Op::DsReadI16 => (2, Sign),
        Op::DsReadU16 => (2, Zero),
        Op::DsReadU8D16 => (1, Low(false)),
        Op::DsReadU8D16Hi => (1, High(false)),
        Op::DsReadI8D16 => (1, Low(true)),
        Op::DsReadI8D16Hi => (1, High(true)),
        Op::DsReadU16D16 => (2, Low(false)),
        Op::DsReadU16D16Hi => (2, High(false)),
        Op::DsReadB64TrB16 => (8, Transpose(2)),
        Op::DsReadB64TrB8 => (8, Transpose(1)),
        Op::DsReadB64TrB4 | Op::DsReadB96TrB6 => return Err(unsupported(inst)),
        // gfx1250's own transposes: which lane gets what is in no public document.
        Op::DsLoadTr4B64 | Op::DsLoadTr6B96 | Op::DsLoadTr8B64 | Op::DsLoadTr16B128 => return Err(unsupported(inst)),
        Op::DsReadAddtidB32 => return by_thread(port, inst, pc, What::Load),
        _ if inst.row.has(TWO) => (inst.dst_width() * 2, Dwords),
        _ => (inst.dst_width() * 4, Dwords),
    };
    let mut op = port.pending.take(What::Load, pc);
    address(port, inst, &mut op, bytes)?;
    op.convert = convert;
    set_destination(port, &mut op, inst.dst, inst.dst_width());
    port.issue(op, false, true)
}

fn store(port: &mut Port<'_>, inst: &Inst, pc: u64) -> Exec {
    let (bytes, high) = match inst.op {
        Op::DsWriteB8 => (1, false),
        Op::DsWriteB16 => (2, false),
        Op::DsWriteB8D16Hi => (1, true),
        Op::DsWriteB16D16Hi => (2, true),
        Op::DsWriteAddtidB32 => return by_thread(port, inst, pc, What::Store),
        _ => (inst.src_width(1) * 4, false),
    };
    let lanes = port.wave.exec();
    let mut op = port.pending.take(What::Store, pc);
    address(port, inst, &mut op, bytes)?;
    data(port, inst, &mut op, lanes)?;
    if high {
        op.data[0].iter_mut().for_each(|value| *value >>= 16);
    }
    port.issue(op, false, true)
}

/// Captures one or two data operands, one behind the other.
fn data(port: &Port<'_>, inst: &Inst, op: &mut Operation, lanes: u64) -> Exec {
    let mut row = 0;
    for source in 1..3 {
        let dwords = inst.src_width(source);
        if inst.src[source] != Operand::None && row + dwords <= 4 {
            need(port, inst, source, lanes)?;
            capture(port, op, inst.src[source], dwords, row);
            row += dwords;
        }
    }
    Ok(())
}

/// `ds_*_addtid_b32`: the address is M0 plus the offset plus four times the lane.
fn by_thread(port: &mut Port<'_>, inst: &Inst, pc: u64, what: What) -> Exec {
    let lanes = port.wave.exec();
    super::access::need_dwords(port, inst, Operand::M0, 1, lanes)?;
    let mut op = port.pending.take(what, pc);
    (op.bytes, op.lds, op.in_order) = (4, lanes, true);
    let base = (port.wave.sgprs[M0] & 0xffff).wrapping_add(inst.mem.offset as u32);
    for (lane, address) in op.address.iter_mut().enumerate() {
        *address = u64::from(base) + 4 * lane as u64;
    }
    match what {
        What::Load => set_destination(port, &mut op, inst.dst, 1),
        _ => data(port, inst, &mut op, lanes)?,
    }
    port.issue(op, false, true)
}

fn atomic(port: &mut Port<'_>, inst: &Inst, pc: u64) -> Exec {
    let (kind, compare_first) = atomic_op(inst.op).ok_or_else(|| unsupported(inst))?;
    let bytes = inst.src_width(1) * 4;
    let lanes = port.wave.exec();
    let mut op = port.pending.take(What::Atomic(kind), pc);
    address(port, inst, &mut op, bytes)?;
    data(port, inst, &mut op, lanes)?;
    if compare_first {
        // The comparand is the first operand, the new value the second.
        let dwords = op.dwords();
        for row in 0..dwords {
            op.data.swap(row, row + dwords);
        }
    }
    set_destination(port, &mut op, inst.dst, inst.dst_width());
    port.issue(op, false, true)
}

/// What an LDS atomic does, and whether its operands stand the other way round than elsewhere.
fn atomic_op(op: Op) -> Option<(AtomicOp, bool)> {
    use AtomicOp as A;
    use Op as O;
    let kind = match op {
        O::DsAddU32 | O::DsAddRtnU32 | O::DsAddU64 | O::DsAddRtnU64 => A::Add,
        O::DsSubU32 | O::DsSubRtnU32 | O::DsSubU64 | O::DsSubRtnU64 => A::Sub,
        O::DsRsubU32 | O::DsRsubRtnU32 | O::DsRsubU64 | O::DsRsubRtnU64 => A::RevSub,
        O::DsIncU32 | O::DsIncRtnU32 | O::DsIncU64 | O::DsIncRtnU64 => A::Inc,
        O::DsDecU32 | O::DsDecRtnU32 | O::DsDecU64 | O::DsDecRtnU64 => A::Dec,
        O::DsMinI32 | O::DsMinRtnI32 | O::DsMinI64 | O::DsMinRtnI64 => A::SMin,
        O::DsMaxI32 | O::DsMaxRtnI32 | O::DsMaxI64 | O::DsMaxRtnI64 => A::SMax,
        O::DsMinU32 | O::DsMinRtnU32 | O::DsMinU64 | O::DsMinRtnU64 => A::UMin,
        O::DsMaxU32 | O::DsMaxRtnU32 | O::DsMaxU64 | O::DsMaxRtnU64 => A::UMax,
        O::DsAndB32 | O::DsAndRtnB32 | O::DsAndB64 | O::DsAndRtnB64 => A::And,
        O::DsOrB32 | O::DsOrRtnB32 | O::DsOrB64 | O::DsOrRtnB64 => A::Or,
        O::DsXorB32 | O::DsXorRtnB32 | O::DsXorB64 | O::DsXorRtnB64 => A::Xor,
        O::DsMskorB32 | O::DsMskorRtnB32 | O::DsMskorB64 | O::DsMskorRtnB64 => A::MaskOr,
        O::DsWrapRtnB32 => A::Wrap,
        O::DsCondSubU32 | O::DsCondSubRtnU32 => A::CondSub,
        O::DsSubClampU32 | O::DsSubClampRtnU32 => A::SubClamp,
        // Unlike gfx9's ds_cmpst, the new value comes first.
        O::DsCmpstoreB32 | O::DsCmpstoreRtnB32 | O::DsCmpstoreB64 | O::DsCmpstoreRtnB64 => A::CmpSwap,
        O::DsWrxchgRtnB32
        | O::DsWrxchg2RtnB32
        | O::DsWrxchg2st64RtnB32
        | O::DsWrxchgRtnB64
        | O::DsWrxchg2RtnB64
        | O::DsWrxchg2st64RtnB64 => A::Swap,
        O::DsAddF32 | O::DsAddRtnF32 | O::DsAddF64 | O::DsAddRtnF64 => A::FAdd,
        O::DsMinF32 | O::DsMinRtnF32 | O::DsMinF64 | O::DsMinRtnF64 => A::FMin,
        O::DsMaxF32 | O::DsMaxRtnF32 | O::DsMaxF64 | O::DsMaxRtnF64 => A::FMax,
        O::DsPkAddF16 | O::DsPkAddRtnF16 => A::PkAddF16,
        O::DsPkAddBf16 | O::DsPkAddRtnBf16 => A::PkAddBf16,
        O::DsCmpstB32 | O::DsCmpstRtnB32 | O::DsCmpstB64 | O::DsCmpstRtnB64 => return Some((A::CmpSwap, true)),
        O::DsCmpstF32 | O::DsCmpstRtnF32 | O::DsCmpstF64 | O::DsCmpstRtnF64 => return Some((A::FCmpSwap, true)),
        _ => return None,
    };
    Some((kind, false))
}

/// For each lane, the lane it takes its value from, if any.
type Sources = [Option<u8>; LANES];

/// A permutation: `sources` computes it from the addresses, EXEC and the instruction.
fn permute(
    port: &mut Port<'_>,
    inst: &Inst,
    pc: u64,
    sources: fn(&[u64; LANES], &WaveState, &Inst) -> Option<Sources>,
) -> Exec {
    let exec = port.wave.exec();
    let value = if inst.op == Op::DsSwizzleB32 { inst.src[0] } else { inst.src[1] };
    if inst.op != Op::DsSwizzleB32 {
        need(port, inst, 0, exec)?;
    }
    let mut op = port.pending.take(What::Deliver, pc);
    narrow_addresses(port, inst.src[0], &mut op);
    let Some(from) = sources(&op.address, port.wave, inst) else {
        port.pending.put_back(op);
        return Err(unsupported(inst));
    };
    let Some(register) = vector_index(port.wave, value) else { return Err(unsupported(inst)) };
    let (Some(values), Some(init)) = (port.wave.vgprs.get(register), port.wave.vgpr_init.get(register)) else {
        return Err(unsupported(inst));
    };
    for (lane, source) in from.iter().enumerate() {
        let source = source.map(usize::from);
        op.data[0][lane] = source.map_or(0, |source| values[source & 63]);
        if source.is_some_and(|source| init >> source & 1 == 0) {
            op.undefined[0] |= 1 << lane;
        }
    }
    (op.bytes, op.lds, op.in_order) = (4, exec, true);
    set_destination(port, &mut op, inst.dst, 1);
    port.launch(op, false, true)
}

/// `ds_bpermute_b32`: each lane names the lane it reads; inactive lanes give zero.
fn backward(address: &[u64; LANES], wave: &WaveState, inst: &Inst) -> Option<Sources> {
    let lane = |address: u64| named_lane(address, wave, inst) as u8;
    Some(address.map(|address| Some(lane(address)).filter(|lane| wave.exec() >> lane & 1 != 0)))
}

/// `ds_bpermute_fi_b32`: the same, and inactive lanes give what they hold.
fn backward_any(address: &[u64; LANES], wave: &WaveState, inst: &Inst) -> Option<Sources> {
    Some(address.map(|address| Some(named_lane(address, wave, inst) as u8)))
}

/// `ds_permute_b32`: each active lane names the lane it writes; of several the highest wins, and lanes that nobody
/// names get zero.
fn forward(address: &[u64; LANES], wave: &WaveState, inst: &Inst) -> Option<Sources> {
    let mut sources = [None; LANES];
    for lane in (0..LANES).filter(|lane| wave.exec() >> lane & 1 != 0) {
        sources[named_lane(address[lane], wave, inst)] = Some(lane as u8);
    }
    Some(sources)
}

/// The lane that an address of a permutation names: in dwords, modulo the lanes of the wave.
fn named_lane(address: u64, wave: &WaveState, inst: &Inst) -> usize {
    (address as u32).wrapping_add(inst.mem.offset as u32) as usize / 4 % wave.generation.lanes()
}

/// `ds_swizzle_b32`: the offset says how lanes move within groups of four or 32; inactive lanes give zero.
fn swizzle(_: &[u64; LANES], wave: &WaveState, inst: &Inst) -> Option<Sources> {
    let exec = wave.exec();
    let offset = inst.mem.offset as u32;
    if offset >= 0xe000 {
        return None; // the FFT patterns
    }
    Some(std::array::from_fn(|lane| {
        let lane = lane as u32;
        let source = if offset >= 0xc000 {
            // Rotation by bits 9:5, the other way round with bit 10, of the lane bits that the mask does not hold.
            let (mask, amount) = (offset & 31, offset >> 5 & 31);
            let moved = if offset >> 10 & 1 != 0 { lane.wrapping_sub(amount) } else { lane + amount };
            lane & mask | moved & !mask & 31 | lane & 32
        } else if offset & 0x8000 != 0 {
            lane & !3 | offset >> (2 * (lane & 3)) & 3
        } else {
            let (and, or, xor) = (offset & 31, offset >> 5 & 31, offset >> 10 & 31);
            ((lane & and) | or) ^ xor | lane & 32
        };
        Some(source as u8).filter(|source| exec >> source & 1 != 0)
    }))
}

#[cfg(test)]
mod tests {
    use super::{AtomicOp, Op, atomic_op};

    #[test]
    fn comparands_come_first_in_lds_only() {
        assert_eq!(atomic_op(Op::DsCmpstRtnB32), Some((AtomicOp::CmpSwap, true)));
        assert_eq!(atomic_op(Op::DsAddU32), Some((AtomicOp::Add, false)));
        assert_eq!(atomic_op(Op::DsReadB32), None);
    }
}

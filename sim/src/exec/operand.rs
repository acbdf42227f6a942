//! Reading and writing operands: scalar values, lanes with their modifiers, and results under the lane mask.
//!
//! What must hold here: no index can leave an array, whatever the instruction says (the machine has refused instructions whose
//! registers the wave does not have; scalar numbers are masked). Every write notes what it initialises.

use super::dpp;
use super::sdwa;
use crate::isa::table::Ty;
use crate::isa::{Format, InlineFloat, Inst, Lanes as Extension, Operand};
use crate::wave::{EXEC, FLAT_SCRATCH, Generation, LANES, M0, TTMP0, VCC, WaveState, XNACK_MASK};

/// A 32-bit value of each lane.
pub(super) type Lanes32 = [u32; LANES];
/// A 64-bit value of each lane.
pub(super) type Lanes64 = [u64; LANES];

/// High halves of the addresses at which LDS and scratch appear in the flat address space; what the Linux driver sets on gfx9
/// (bases 2^48 and 2^49).
pub(crate) const SHARED_BASE_HI: u32 = 0x0001_0000;
/// The same for scratch.
pub(crate) const PRIVATE_BASE_HI: u32 = 0x0002_0000;

/// The number of a scalar register, `None` for operands that are none.
#[inline(always)]
pub(crate) const fn scalar_number(operand: Operand) -> Option<usize> {
    Some(match operand {
        Operand::Sgpr(number) => number as usize & 127,
        Operand::Ttmp(number) => TTMP0 + (number as usize & 15),
        Operand::FlatScratchLo => FLAT_SCRATCH,
        Operand::FlatScratchHi => FLAT_SCRATCH + 1,
        Operand::XnackMaskLo => XNACK_MASK,
        Operand::XnackMaskHi => XNACK_MASK + 1,
        Operand::VccLo => VCC,
        Operand::VccHi => VCC + 1,
        Operand::M0 => M0,
        Operand::ExecLo => EXEC,
        Operand::ExecHi => EXEC + 1,
        _ => return None,
    })
}

/// The index of a vector or accumulation register in [`WaveState::vgprs`], `None` for operands that are neither.
#[inline(always)]
pub(crate) const fn vector_index(wave: &WaveState, operand: Operand) -> Option<usize> {
    match operand {
        Operand::Vgpr(number) => Some(number as usize),
        Operand::Agpr(number) => Some(wave.accum_offset as usize + number as usize),
        _ => None,
    }
}

/// A 32-bit scalar value: a scalar register, a constant or a condition. Zero for an absent operand.
#[inline(always)]
pub(crate) fn scalar32(wave: &WaveState, operand: Operand) -> u32 {
    match operand {
        Operand::Sgpr(number) => wave.sgprs[number as usize & 127],
        Operand::InlineInt(value) => value as u32,
        Operand::Literal(value) => value,
        Operand::InlineFloat(value) => value.bits32(),
        Operand::Simm16(value) => i32::from(value) as u32,
        _ => scalar_rare(wave, operand),
    }
}

/// The operands that are rarely met.
#[cold]
fn scalar_rare(wave: &WaveState, operand: Operand) -> u32 {
    if let Some(number) = scalar_number(operand) {
        return wave.sgprs[number];
    }
    match operand {
        Operand::Scc => u32::from(wave.scc),
        Operand::Vccz => u32::from(wave.vcc() == 0),
        Operand::Execz => u32::from(wave.exec() == 0),
        Operand::SharedBase => SHARED_BASE_HI,
        Operand::SharedLimit => SHARED_BASE_HI | 0xffff,
        Operand::PrivateBase => PRIVATE_BASE_HI,
        Operand::PrivateLimit => PRIVATE_BASE_HI | 0xffff,
        _ => 0,
    }
}

/// A 64-bit scalar value; `float` tells how constants widen.
#[inline(always)]
pub(crate) fn scalar64(wave: &WaveState, operand: Operand, float: bool) -> u64 {
    match operand {
        Operand::InlineInt(value) => i64::from(value) as u64,
        Operand::InlineFloat(value) => value.bits64(),
        Operand::Literal(value) if float => u64::from(value) << 32,
        // Zero-extended; the few instructions whose operands are signed extend it themselves.
        Operand::Literal(value) => u64::from(value),
        Operand::SharedBase | Operand::SharedLimit | Operand::PrivateBase | Operand::PrivateLimit => {
            u64::from(scalar_rare(wave, operand)) << 32
        }
        _ => match scalar_number(operand) {
            Some(number) => u64::from(wave.sgprs[number]) | u64::from(wave.sgprs[(number + 1) & 127]) << 32,
            None => u64::from(scalar_rare(wave, operand)),
        },
    }
}

/// A 64-bit scalar integer source.
#[inline(always)]
pub(crate) fn source64(wave: &WaveState, inst: &Inst, index: usize) -> u64 {
    match inst.src[index] {
        Operand::Literal64 => inst.literal64(),
        operand => scalar64(wave, operand, false),
    }
}

/// Writes a scalar destination. Writes to constants and absent operands vanish.
#[inline(always)]
pub(crate) fn set_scalar32(wave: &mut WaveState, operand: Operand, value: u32) {
    if let Some(number) = scalar_number(operand) {
        wave.set_sgpr(number, value);
    }
}

/// Writes a scalar pair.
#[inline(always)]
pub(crate) fn set_scalar64(wave: &mut WaveState, operand: Operand, value: u64) {
    if let Some(number) = scalar_number(operand) {
        wave.set_sgpr64(number.min(126), value);
    }
}

/// The bits of a 32-bit source in every lane, without modifiers; inline floats are those of `bits32`.
#[inline(always)]
pub(super) fn raw32(wave: &WaveState, operand: Operand) -> Lanes32 {
    match operand {
        Operand::Vgpr(number) => wave.vgprs[number as usize],
        Operand::Agpr(number) => wave.vgprs[wave.accum_offset as usize + number as usize],
        _ => [scalar32(wave, operand); LANES],
    }
}

/// The bits of a 16-bit source: as above, with the patterns of inline floats at 16 bits.
#[inline(always)]
pub(super) fn raw16(wave: &WaveState, inst: &Inst, index: usize) -> Lanes32 {
    match inst.src[index] {
        Operand::InlineFloat(value) => [u32::from(inline16(inst, index, value)); LANES],
        operand => raw32(wave, operand),
    }
}

/// An inline float at a 16-bit operand: a brain float where the instruction takes one (LLVM's `getInlineEncodingV2BF16` gives
/// the code of 1.0 to 0x3f80 there), half precision elsewhere.
#[cold]
fn inline16(inst: &Inst, index: usize, value: InlineFloat) -> u16 {
    match inst.row.src.get(index) {
        Some(Ty::Bf16 | Ty::Pbf16) => value.bits_bf16(),
        _ => value.bits16(),
    }
}

/// An integer source: DPP and SDWA applied.
#[inline(always)]
pub(super) fn int32(wave: &WaveState, inst: &Inst, index: usize) -> Lanes32 {
    let raw = raw32(wave, inst.src[index]);
    match inst.mods.lanes {
        Extension::Plain => raw,
        extension => extended(wave, extension, index, raw),
    }
}

#[cold]
fn extended(wave: &WaveState, extension: Extension, index: usize, raw: Lanes32) -> Lanes32 {
    match extension {
        Extension::Dpp(dpp) if index == 0 => dpp::permute(dpp, wave.exec(), &raw),
        Extension::Dpp8(dpp) if index == 0 => dpp::permute8(dpp, wave.exec(), &raw),
        Extension::Sdwa(sdwa) if index < 2 => sdwa::select(sdwa, index, &raw),
        _ => raw,
    }
}

/// A 32-bit floating-point source: as [`int32`], then absolute value and negation.
#[inline(always)]
pub(super) fn float32(wave: &WaveState, inst: &Inst, index: usize) -> Lanes32 {
    let mut lanes = int32(wave, inst, index);
    modify(&mut lanes, inst, index, 0x8000_0000);
    lanes
}

/// A 16-bit integer source in the low half; the half is picked by `op_sel` in the long encoding and by SDWA in the short one.
#[inline(always)]
pub(super) fn int16(wave: &WaveState, inst: &Inst, index: usize) -> Lanes32 {
    let mut lanes = raw16(wave, inst, index);
    match inst.mods.lanes {
        Extension::Plain => {}
        extension => lanes = extended(wave, extension, index, lanes),
    }
    let high = inst.mods.op_sel >> index & 1 != 0 && matches!(inst.format, Format::Vop3 | Format::Vop3b);
    for lane in &mut lanes {
        *lane = if high { *lane >> 16 } else { *lane & 0xffff };
    }
    lanes
}

/// A 16-bit floating-point source in the low half, modifiers applied.
#[inline(always)]
pub(super) fn float16(wave: &WaveState, inst: &Inst, index: usize) -> Lanes32 {
    let mut lanes = int16(wave, inst, index);
    modify(&mut lanes, inst, index, 0x8000);
    lanes
}

#[inline(always)]
fn modify(lanes: &mut Lanes32, inst: &Inst, index: usize, sign: u32) {
    if inst.mods.abs | inst.mods.neg != 0 {
        let keep = if inst.mods.abs >> index & 1 != 0 { !sign } else { !0 };
        let flip = if inst.mods.neg >> index & 1 != 0 { sign } else { 0 };
        for lane in lanes {
            *lane = (*lane & keep) ^ flip;
        }
    }
}

/// A 64-bit integer source (register pair or widened constant).
#[inline(always)]
pub(super) fn int64(wave: &WaveState, inst: &Inst, index: usize) -> Lanes64 {
    wide(wave, inst, index, false)
}

/// A 64-bit floating-point source, modifiers applied.
#[inline(always)]
pub(super) fn float64(wave: &WaveState, inst: &Inst, index: usize) -> Lanes64 {
    let mut lanes = wide(wave, inst, index, true);
    if inst.mods.abs | inst.mods.neg != 0 {
        let keep = if inst.mods.abs >> index & 1 != 0 { !(1 << 63) } else { !0 };
        let flip = if inst.mods.neg >> index & 1 != 0 { 1 << 63 } else { 0 };
        for lane in &mut lanes {
            *lane = (*lane & keep) ^ flip;
        }
    }
    lanes
}

#[inline(always)]
fn wide(wave: &WaveState, inst: &Inst, index: usize, float: bool) -> Lanes64 {
    let Some(first) = vector_index(wave, inst.src[index]) else {
        let value = match inst.src[index] {
            Operand::Literal64 => inst.literal64(),
            operand => scalar64(wave, operand, float),
        };
        return [value; LANES];
    };
    match inst.mods.lanes {
        Extension::Dpp(dpp) if index == 0 => {
            let exec = wave.exec();
            let (low, high) =
                (dpp::permute(dpp, exec, &wave.vgprs[first]), dpp::permute(dpp, exec, &wave.vgprs[first + 1]));
            join(&low, &high)
        }
        _ => join(&wave.vgprs[first], &wave.vgprs[first + 1]),
    }
}

/// Pairs of dwords as 64-bit lanes.
#[inline(always)]
pub(super) fn join(low: &Lanes32, high: &Lanes32) -> Lanes64 {
    let mut lanes = [0; LANES];
    for lane in 0..LANES {
        lanes[lane] = u64::from(low[lane]) | u64::from(high[lane]) << 32;
    }
    lanes
}

/// A mask source: carry-in or the choice of `v_cndmask`, one bit per lane. Two scalar registers, or one in a wave of 32 lanes.
#[inline(always)]
pub(crate) fn mask(wave: &WaveState, operand: Operand) -> u64 {
    match wave.generation {
        Generation::Gfx9 => scalar64(wave, operand, false),
        Generation::Gfx12 => u64::from(scalar32(wave, operand)),
    }
}

/// Writes a mask result: one bit per lane.
#[inline(always)]
pub(super) fn set_mask(wave: &mut WaveState, operand: Operand, lanes: u64) {
    if let Some(number) = scalar_number(operand) {
        wave.set_mask(number.min(126), lanes);
    }
}

/// Lanes that a vector instruction writes: the active ones without those that DPP switches off.
#[inline(always)]
pub(super) fn written(wave: &WaveState, inst: &Inst) -> u64 {
    match inst.mods.lanes {
        Extension::Dpp(dpp) => wave.exec() & dpp::written(dpp, wave.exec()),
        _ => wave.exec(),
    }
}

/// Stores `lanes` into register `index` for the lanes of `mask`.
#[inline(always)]
pub(super) fn store_lanes(wave: &mut WaveState, index: usize, mask: u64, lanes: &Lanes32) {
    let all = wave.all;
    let register = &mut wave.vgprs[index];
    if mask == all {
        *register = *lanes;
    } else {
        // Two halves of 32 lanes with a constant bit each: the loop compiles to compares and blends.
        for half in 0..2 {
            let bits = (mask >> (32 * half)) as u32;
            for bit in 0..32 {
                let lane = half * 32 + bit;
                if bits & 1 << bit != 0 {
                    register[lane] = lanes[lane];
                }
            }
        }
    }
    wave.vgpr_init[index] |= mask;
}

/// Writes a 32-bit vector result.
#[inline(always)]
pub(super) fn put32(wave: &mut WaveState, inst: &Inst, lanes: &Lanes32) {
    let Some(index) = vector_index(wave, inst.dst) else { return };
    let mask = written(wave, inst);
    match inst.mods.lanes {
        Extension::Sdwa(sdwa) => {
            let merged = sdwa::merge(sdwa, &wave.vgprs[index], lanes);
            store_lanes(wave, index, mask, &merged);
        }
        _ => store_lanes(wave, index, mask, lanes),
    }
}

/// Writes a 16-bit vector result that stands in the low half of each lane: into the half that `op_sel` picks, the other half
/// kept or zeroed as the instruction has it.
#[inline(always)]
pub(super) fn put16(wave: &mut WaveState, inst: &Inst, lanes: &Lanes32) {
    let long = matches!(inst.format, Format::Vop3 | Format::Vop3b);
    let high = long && inst.mods.op_sel & 8 != 0;
    // Which instructions keep the other half without being asked is in the table: those that LLVM's
    // `GCNSubtarget::zeroesHigh16BitsOfDest` does not list for gfx9. Of the multiply-adds it lists what gfx8 had and gfx9 calls
    // `legacy`; v_mac, v_madmk and v_madak keep it in the short encoding, too. SDWA says itself what becomes of it.
    if high || (!matches!(inst.mods.lanes, Extension::Sdwa(_)) && inst.keeps_dst()) {
        return put_half(wave, inst, lanes, high);
    }
    put32(wave, inst, lanes);
}

/// Writes one half of the destination and keeps the other.
pub(super) fn put_half(wave: &mut WaveState, inst: &Inst, lanes: &Lanes32, high: bool) {
    let Some(index) = vector_index(wave, inst.dst) else { return };
    let mut merged = wave.vgprs[index];
    for (old, new) in merged.iter_mut().zip(lanes) {
        *old = if high { (*old & 0xffff) | new << 16 } else { (*old & 0xffff_0000) | (new & 0xffff) };
    }
    let mask = written(wave, inst);
    store_lanes(wave, index, mask, &merged);
}

/// Writes a 64-bit vector result.
#[inline(always)]
pub(super) fn put64(wave: &mut WaveState, inst: &Inst, lanes: &Lanes64) {
    let Some(index) = vector_index(wave, inst.dst) else { return };
    let mask = written(wave, inst);
    let (mut low, mut high) = ([0; LANES], [0; LANES]);
    for lane in 0..LANES {
        low[lane] = lanes[lane] as u32;
        high[lane] = (lanes[lane] >> 32) as u32;
    }
    store_lanes(wave, index, mask, &low);
    store_lanes(wave, index + 1, mask, &high);
}

/// One bit per lane for which `test` holds.
#[inline(always)]
pub(super) fn collect(test: impl Fn(usize) -> bool) -> u64 {
    let mut bits = 0;
    for lane in 0..LANES {
        bits |= u64::from(test(lane)) << lane;
    }
    bits
}

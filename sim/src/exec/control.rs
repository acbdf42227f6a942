//! Instructions that the machine must see: branches, waits, barriers, the end, and the hardware registers.
//!
//! What must hold here: the program counter of the wave already points behind the instruction; a branch is relative to that.

use super::operand::{scalar32, set_scalar32, set_scalar64, source64};
use crate::fault::{Exec, Fault, FaultKind};
use crate::isa::{Inst, Op, Operand};
use crate::mem::{Port, wait};
use crate::wave::{COUNTERS, Counter, Generation, Limits, VCC, WaveState};

/// What the machine has to do after a control instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    Next,
    /// The program counter was set; `back` tells that it went backwards.
    Jumped {
        /// Whether it went backwards: a loop may have gone round.
        back: bool,
    },
    /// Wait until at most so many operations are in flight.
    Wait(Limits),
    /// Arrive at the workgroup's barrier.
    Arrive,
    /// Wait for the workgroup at its barrier.
    Meet,
    /// Both.
    Barrier,
    /// Let others run.
    Yield,
    /// The wave has ended.
    End,
}

/// Whether `op` belongs here.
pub(crate) const fn is_control(op: Op) -> bool {
    matches!(
        op,
        Op::SNop
            | Op::SEndpgm
            | Op::SBranch
            | Op::SCbranchScc0
            | Op::SCbranchScc1
            | Op::SCbranchVccz
            | Op::SCbranchVccnz
            | Op::SCbranchExecz
            | Op::SCbranchExecnz
            | Op::SBarrier
            | Op::SWaitcnt
            | Op::SSleep
            | Op::SSetprio
            | Op::SSethalt
            | Op::STrap
            | Op::SIcacheInv
            | Op::SWakeup
            | Op::SIncperflevel
            | Op::SDecperflevel
            | Op::STtracedata
            | Op::SGetpcB64
            | Op::SSetpcB64
            | Op::SSwappcB64
            | Op::SCallB64
            | Op::SGetregB32
            | Op::SSetregB32
            | Op::SSetregImm32B32
            | Op::VNop
            | Op::VClrexcp
    ) || is_new(op)
}

/// Those that gfx1250 adds.
const fn is_new(op: Op) -> bool {
    matches!(
        op,
        Op::SWaitLoadcnt
            | Op::SWaitStorecnt
            | Op::SWaitXcnt
            | Op::SWaitDscnt
            | Op::SWaitKmcnt
            | Op::SWaitLoadcntDscnt
            | Op::SWaitStorecntDscnt
            | Op::SWaitAsynccnt
            | Op::SWaitTensorcnt
            | Op::VPipeflush
            | Op::SWaitIdle
            | Op::SWaitAlu
            | Op::SDelayAlu
            | Op::SClause
            | Op::SBarrierSignal
            | Op::SBarrierWait
            | Op::SMonitorSleep
            | Op::SSleepVar
            | Op::SSetprioIncWg
            | Op::STtracedataImm
            | Op::SSendmsg
            | Op::SSetVgprMsb
            | Op::SRoundMode
            | Op::SDenormMode
            | Op::SVersion
            | Op::SAddPcI64
    )
}

/// Before an instruction at which gfx1250 itself waits until all addresses are translated: it does.
///
/// # Errors
/// None today.
#[inline]
pub(crate) fn translate_all(port: &mut Port<'_>, op: Op) -> Exec {
    match port.wave.any_pinned() && drains_translations(op) {
        true => wait(port, &Limits::of(Counter::X, 0)),
        false => Ok(()),
    }
}

/// Barriers, messages, and whatever may change the program counter (LLVM pull request 198823, which leaves out the waits behind
/// them).
const fn drains_translations(op: Op) -> bool {
    matches!(
        op,
        Op::SBranch
            | Op::SCbranchScc0
            | Op::SCbranchScc1
            | Op::SCbranchVccz
            | Op::SCbranchVccnz
            | Op::SCbranchExecz
            | Op::SCbranchExecnz
            | Op::SSetpcB64
            | Op::SSwappcB64
            | Op::SCallB64
            | Op::SAddPcI64
            | Op::SBarrierSignal
            | Op::SBarrierWait
            | Op::SSendmsg
    )
}

/// Executes a control instruction.
///
/// # Errors
/// A trap, a branch on an undefined condition, or a hardware register that is not simulated.
pub(crate) fn execute(wave: &mut WaveState, inst: &Inst, checks: bool) -> Exec<Effect> {
    match inst.op {
        Op::SEndpgm => Ok(Effect::End),
        Op::SBarrier => Ok(Effect::Barrier),
        Op::SSleep => Ok(Effect::Yield),
        Op::SWaitcnt => Ok(wait_counters(immediate(inst))),
        Op::STrap => {
            let fault = Fault::new(FaultKind::Trap { code: u32::from(immediate(inst) & 0xff) });
            // The first lane that came here.
            let lane = wave.exec().trailing_zeros() as usize;
            Err(if wave.exec() != 0 { fault.lane(lane) } else { fault })
        }
        Op::SBranch => Ok(branch(wave, inst, true)),
        Op::SCbranchScc0 | Op::SCbranchScc1 => {
            if checks && !wave.scc_init {
                return Err(undefined(inst, "scc"));
            }
            let taken = wave.scc == (inst.op == Op::SCbranchScc1);
            Ok(branch(wave, inst, taken))
        }
        Op::SCbranchVccz | Op::SCbranchVccnz => {
            if checks && wave.mask_registers(VCC) & !wave.sgpr_init != 0 {
                return Err(undefined(inst, "vcc"));
            }
            let taken = (wave.vcc() == 0) == (inst.op == Op::SCbranchVccz);
            Ok(branch(wave, inst, taken))
        }
        Op::SCbranchExecz | Op::SCbranchExecnz => {
            let taken = (wave.exec() == 0) == (inst.op == Op::SCbranchExecz);
            Ok(branch(wave, inst, taken))
        }
        Op::SGetpcB64 => {
            let pc = wave.pc;
            set_scalar64(wave, inst.dst, pc);
            Ok(Effect::Next)
        }
        Op::SSetpcB64 | Op::SSwappcB64 => {
            let (target, next) = (source64(wave, inst, 0), wave.pc);
            if inst.op == Op::SSwappcB64 {
                set_scalar64(wave, inst.dst, next);
            }
            Ok(jump(wave, target & !3))
        }
        Op::SCallB64 => {
            let next = wave.pc;
            set_scalar64(wave, inst.dst, next);
            Ok(branch(wave, inst, true))
        }
        Op::SGetregB32 | Op::SSetregB32 | Op::SSetregImm32B32 => hardware_register(wave, inst),
        op if is_new(op) => execute_new(wave, inst),
        _ => Ok(Effect::Next),
    }
}

/// The instructions that gfx1250 adds. What is left of them changes nothing: `s_delay_alu`, `s_wait_alu` and `s_clause` tell the
/// hardware about timing, and results do not hang on it (inferred: the hardware interlocks what `s_wait_alu` waits for).
fn execute_new(wave: &mut WaveState, inst: &Inst) -> Exec<Effect> {
    use Counter::{Ds, Km, Load, Store, X};
    let imm = u32::from(immediate(inst));
    let one = |counter| Ok(Effect::Wait(Limits::of(counter, imm)));
    // dscnt in bits 5:0, the other counter in 13:8.
    let two = |counter| Ok(Effect::Wait(Limits::of(counter, imm >> 8 & 63).and(Ds, imm & 63)));
    let refuse = || Err(Fault::new(FaultKind::NotSimulated { text: inst.to_string() }));
    match inst.op {
        Op::SWaitLoadcnt => one(Load),
        Op::SWaitStorecnt => one(Store),
        Op::SWaitXcnt => one(X),
        Op::SWaitDscnt => one(Ds),
        Op::SWaitKmcnt => one(Km),
        Op::SWaitLoadcntDscnt => two(Load),
        Op::SWaitStorecntDscnt => two(Store),
        Op::SWaitIdle => Ok(Effect::Wait(Limits([0; COUNTERS]))),
        // The workgroup's own barrier; others are those of clusters, of traps, and named ones.
        Op::SBarrierSignal if inst.src[0] == Operand::InlineInt(-1) => Ok(Effect::Arrive),
        Op::SBarrierWait if imm == 0xffff => Ok(Effect::Meet),
        Op::SBarrierSignal | Op::SBarrierWait => refuse(),
        Op::SMonitorSleep | Op::SSleepVar => Ok(Effect::Yield),
        // Giving registers back before the end.
        Op::SSendmsg if imm == 3 => Ok(Effect::Next),
        Op::SSendmsg => refuse(),
        // The upper bits of register numbers: waves here have at most 256 registers.
        Op::SSetVgprMsb | Op::SRoundMode if imm != 0 => refuse(),
        Op::SDenormMode => {
            wave.mode = wave.mode & !0xf0 | (imm & 15) << 4;
            Ok(Effect::Next)
        }
        Op::SAddPcI64 => {
            let target = wave.pc.wrapping_add(source64(wave, inst, 0));
            Ok(jump(wave, target & !3))
        }
        _ => Ok(Effect::Next),
    }
}

/// The 16-bit immediate; zero if there is none.
fn immediate(inst: &Inst) -> u16 {
    let found = inst.src.iter().find_map(|operand| match operand {
        Operand::Simm16(value) => Some(*value as u16),
        _ => None,
    });
    found.unwrap_or(0)
}

/// The counters of `s_waitcnt` on gfx9: vmcnt in bits 3:0 and 15:14, expcnt in 6:4, lgkmcnt in 11:8. A field of all ones is no
/// wait.
const fn wait_counters(immediate: u16) -> Effect {
    let vm = (immediate & 15 | immediate >> 14 << 4) as u32;
    let lgkm = (immediate >> 8 & 15) as u32;
    let (vm, lgkm) = (if vm == 63 { u32::MAX } else { vm }, if lgkm == 15 { u32::MAX } else { lgkm });
    Effect::Wait(Limits::gfx9(vm, lgkm))
}

fn jump(wave: &mut WaveState, target: u64) -> Effect {
    let back = target < wave.pc;
    wave.pc = target;
    Effect::Jumped { back }
}

/// A branch by the immediate, in dwords from the next instruction.
fn branch(wave: &mut WaveState, inst: &Inst, taken: bool) -> Effect {
    if !taken {
        return Effect::Next;
    }
    let distance = i64::from(immediate(inst) as i16) * 4;
    let target = wave.pc.wrapping_add_signed(distance);
    jump(wave, target)
}

fn undefined(inst: &Inst, register: &str) -> Box<Fault> {
    Fault::new(FaultKind::UninitialisedRegister { text: inst.to_string(), register: register.to_owned() })
}

/// MODE by number.
const MODE: u32 = 1;
/// The identity of the wave's place.
const HW_ID: u32 = 4;
/// The XCC it runs on.
const XCC_ID: u32 = 20;
/// gfx1250: the identity of the wave's place.
const HW_ID1: u32 = 23;
/// gfx1250: state of the instruction buffer; bits 9:6 say whether the workgroup belongs to a cluster. Ours never do.
const IB_STS2: u32 = 28;
/// Bits of our MODE that gfx1250's has for something else; see [`KernelDescriptor::mode`](crate::loader::KernelDescriptor::mode).
const MODE_OF_GFX9: u32 = 0x300;

/// `s_getreg`, `s_setreg`: a field of a hardware register. Number in bits 5:0, offset in 10:6, width - 1 in 15:11.
fn hardware_register(wave: &mut WaveState, inst: &Inst) -> Exec<Effect> {
    let field = u32::from(immediate(inst));
    let (register, offset, width) = (field & 63, field >> 6 & 31, (field >> 11 & 31) + 1);
    let mask = (u32::MAX >> (32 - width)) << offset;
    let refuse =
        |what: &str| Err(Fault::new(FaultKind::NotSimulated { text: format!("{} of {what}", inst.op.mnemonic()) }));
    if inst.op == Op::SGetregB32 {
        let value = match (register, wave.generation) {
            (MODE, Generation::Gfx9) => wave.mode,
            (MODE, Generation::Gfx12) => wave.mode & !MODE_OF_GFX9,
            (HW_ID, Generation::Gfx9) | (HW_ID1, Generation::Gfx12) => wave.id.wave & 15,
            (XCC_ID, Generation::Gfx9) => wave.id.xcd & 15,
            (IB_STS2, Generation::Gfx12) => 0,
            (other, _) => return refuse(&format!("hardware register {other}")),
        };
        set_scalar32(wave, inst.dst, (value & mask) >> offset);
        return Ok(Effect::Next);
    }
    if register != MODE {
        return refuse(&format!("hardware register {register}"));
    }
    let value = if inst.op == Op::SSetregB32 {
        scalar32(wave, inst.src[0])
    } else {
        let literal = inst.src.iter().find_map(|operand| match operand {
            Operand::Literal(value) => Some(*value),
            _ => None,
        });
        literal.unwrap_or(0)
    };
    let mask = if wave.generation == Generation::Gfx12 { mask & !MODE_OF_GFX9 } else { mask };
    let mode = wave.mode & !mask | value << offset & mask;
    if mode & 15 != 0 {
        return refuse("a rounding mode other than to nearest even");
    }
    wave.mode = mode;
    Ok(Effect::Next)
}

#[cfg(test)]
mod tests {
    use super::{Effect, Limits, wait_counters};

    #[test]
    fn counters_of_a_wait() {
        let (all, none) = (u32::MAX, 0);
        assert_eq!(wait_counters(0xcf7f), Effect::Wait(Limits::gfx9(all, all)));
        assert_eq!(wait_counters(0xc07f), Effect::Wait(Limits::gfx9(all, none)), "lgkmcnt(0)");
        assert_eq!(wait_counters(0x0f70), Effect::Wait(Limits::gfx9(none, all)), "vmcnt(0)");
        assert_eq!(wait_counters(0x4f71), Effect::Wait(Limits::gfx9(17, all)), "the upper bits of vmcnt");
    }
}

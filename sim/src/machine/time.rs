//! Where the machine tells virtual time what waves do, and who asks for it.
//!
//! What must hold here: nothing that the machine decides depends on it.

use std::rc::Rc;

use super::Sim;
use super::group::{AtBarrier, Status, Wave};
use super::ports::Engines;
use crate::exec::control::Effect;
use crate::isa::{Inst, Operand};
use crate::mem::{Memory, Port};
use crate::time::{RankTime, Timer, Trace};

impl Sim {
    /// Keeps virtual time from now on, with a trace if that is wanted; false if nobody knows what things cost on this chip.
    ///
    /// Between launches only: what runs already has no beginning.
    pub fn keep_time(&mut self, engines: &dyn Engines, trace: bool) -> bool {
        self.memory.time = Timer::new(self.target, trace).map(Box::new);
        let Some(timer) = &mut self.memory.time else { return false };
        timer.read_positions(engines.read_positions().into_iter());
        true
    }

    /// Virtual times of the ranks that ran anything; empty if they are not kept.
    pub fn times(&self) -> Vec<RankTime> {
        self.memory.time.as_ref().map(|timer| timer.report()).unwrap_or_default()
    }

    /// The trace so far, if there is one; recording ends.
    pub fn take_trace(&mut self, engines: &dyn Engines) -> Option<Trace> {
        let mut trace = self.memory.time.as_mut()?.take_trace()?;
        let place = |address| self.memory.find(address).map(|allocation| allocation.name.clone());
        trace.describe(&|address| engines.describe(address).or_else(|| place(address)));
        Some(trace)
    }
}

/// Before an instruction that is more than arithmetic: the wave's time gets all that it has executed.
pub(super) fn charge(memory: &mut Memory, wave: &mut Wave, line: impl FnOnce() -> Option<(String, u32)>) {
    let Some(timer) = &mut memory.time else { return };
    timer.charge(&mut wave.pending.clock, wave.instructions);
    if timer.traces() {
        let line = line();
        timer.at_line(&mut wave.pending.clock, line.as_ref().map(|(file, line)| (file.as_str(), *line)));
    }
}

/// A control instruction was executed: a sleep takes its time, and at its end a wave waits for its stores.
pub(super) fn effect(port: &mut Port<'_>, effect: Effect, inst: &Inst, kernel: &Rc<str>) {
    let Some(timer) = &mut port.memory.time else { return };
    match (effect, inst.src[0]) {
        (Effect::Yield, Operand::Simm16(units)) => {
            timer.sleep(&mut port.pending.clock, u64::from(units as u16 & 0x7f));
        }
        (Effect::End, _) => {
            let stores = port.pending.last_store();
            timer.end_wave(port.wave.id.rank, &mut port.pending.clock, kernel, stores);
        }
        _ => {}
    }
}

/// All waves have arrived at their barrier: those that wait there go on together, the others find it open when they come.
pub(super) fn barrier(timer: &Timer, waves: &mut [Wave]) {
    let clocks = |waves: &[Wave]| {
        let arrived = waves.iter().filter(|wave| matches!(wave.at_barrier, AtBarrier::Arrived(_)));
        arrived.map(|wave| wave.pending.clock.arrived()).max()
    };
    let Some(last) = clocks(waves) else { return };
    let open = timer.barrier(last);
    for wave in waves.iter_mut().filter(|wave| matches!(wave.at_barrier, AtBarrier::Arrived(_))) {
        wave.pending.clock.open(open);
        if wave.status == Status::Barrier {
            wave.pending.clock.leave();
        }
    }
}

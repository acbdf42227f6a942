//! Finding out that nothing can move any more, and saying who waits for what.
//!
//! What must hold here: a node is declared dead only if every wave that can run goes round a loop whose registers repeat while
//! no byte of memory changes, no operation is in flight, no dirty line is left, and no engine moves. A loop that counts, or
//! reads a clock, is not dead; the step limit is for those.

use super::Sim;
use super::group::Status;
use super::ports::Engines;
use super::run::TurnEnd;
use crate::fault::{Exec, Fault, FaultKind, Place};
use crate::mem::Loaded;
use crate::sdma::Moved;
use crate::wave::WaveState;

/// Instructions without any movement, for each wave that can run, before it is worth looking.
const PATIENCE_PER_WAVE: u64 = 400;

/// The same in all.
const PATIENCE: u64 = 4000;

/// Instructions in which a wave must come round to a state that it was in before.
const LOOP: u32 = 2000;

/// How often the time between two looks doubles: up to about a million instructions.
const MOST_FALSE_ALARMS: u32 = 8;

/// Steps for which engines must stand still.
const ENGINE_STEPS: u32 = 64;

impl Sim {
    /// Reports a node that stands still.
    ///
    /// # Errors
    /// [`FaultKind::Deadlock`] if it does; what the waves find wrong while they are watched.
    pub(crate) fn look_for_deadlock(&mut self, engines: &mut dyn Engines) -> Exec {
        let patience = (PATIENCE + PATIENCE_PER_WAVE * self.ready.len() as u64) << self.false_alarms;
        if self.steps - self.moved_at < patience {
            return Ok(());
        }
        if self.note_movement() || self.steps - self.moved_at < patience {
            return Ok(());
        }
        // Whatever the verdict, the next look is a while away.
        self.moved_at = self.steps;
        if self.moves_at_all(engines)? {
            // Looking costs time, so a node that turned out to be alive is looked at less and less often.
            self.false_alarms = (self.false_alarms + 1).min(MOST_FALSE_ALARMS);
            return Ok(());
        }
        let waits = self.describe_waits(engines);
        let mut fault = Fault::new(FaultKind::Deadlock { steps: self.steps, waits });
        // Of all that wait, the first that polls stands for the fault.
        if let Some(place) = self.ready.first().and_then(|(_, slot, wave)| self.waiting_place(*slot, *wave)) {
            fault.at = place;
        }
        Err(fault)
    }

    /// Gives everything the chance to move; false if nothing does.
    fn moves_at_all(&mut self, engines: &mut dyn Engines) -> Exec<bool> {
        for slot in 0..self.groups.len() {
            let waves = self.groups[slot].as_ref().map_or(0, |group| group.waves.len());
            for wave in 0..waves {
                while self.perform(slot, wave)? {}
            }
        }
        self.memory.settle(&mut self.rng)?;
        for _ in 0..ENGINE_STEPS {
            if self.step_engines(engines)? == Moved::Yes {
                return Ok(true);
            }
        }
        if self.note_movement() {
            return Ok(true);
        }
        for (_, slot, wave) in self.ready.clone() {
            if !self.goes_round(slot, wave)? {
                return Ok(true);
            }
        }
        Ok(self.note_movement())
    }

    /// Whether a wave comes back to a state that it was in before without changing memory.
    fn goes_round(&mut self, slot: usize, wave: usize) -> Exec<bool> {
        let (mut scalars, mut whole): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
        for _ in 0..LOOP {
            let before = self.counter(slot, wave);
            let end = self.turn(slot, wave, 1)?;
            if matches!(end, TurnEnd::Stopped | TurnEnd::Arrived) || self.note_movement() {
                return Ok(false);
            }
            // A wait that is executed again has not jumped anywhere.
            if end == TurnEnd::Yielded {
                continue;
            }
            let Some(state) = self.groups[slot].as_ref().map(|group| &group.waves[wave].state) else {
                return Ok(false);
            };
            if state.pc > before {
                continue;
            }
            let hash = scalar_hash(state);
            if !scalars.contains(&hash) {
                scalars.push(hash);
                continue;
            }
            let hash = whole_hash(state);
            if whole.contains(&hash) {
                return Ok(true);
            }
            whole.push(hash);
        }
        Ok(false)
    }

    fn counter(&self, slot: usize, wave: usize) -> u64 {
        self.groups[slot].as_ref().map_or(0, |group| group.waves[wave].state.pc)
    }

    /// Who has not ended and what it does, a sentence each; then the engines that have work.
    pub(crate) fn describe_waits(&self, engines: &dyn Engines) -> Vec<String> {
        let mut waits = Vec::new();
        for (slot, group) in self.groups.iter().enumerate() {
            let Some(group) = group else { continue };
            for (index, wave) in group.waves.iter().enumerate() {
                let doing = match wave.status {
                    Status::Ended => continue,
                    Status::Barrier => {
                        let missing: Vec<String> = (group.waves.iter())
                            .filter(|other| other.status == Status::Ready)
                            .map(|other| other.state.id.wave.to_string())
                            .collect();
                        format!("waits at a barrier for wave {} of its workgroup", missing.join(", "))
                    }
                    Status::Ready => self.describe_loop(slot, index, engines),
                };
                if let Some(place) = self.waiting_place(slot, index) {
                    waits.push(format!("{place}: {doing}"));
                }
            }
        }
        waits.extend(engines.waits(&self.memory));
        waits
    }

    /// Where a wave stands; with the lane that polls, if it does.
    fn waiting_place(&self, slot: usize, index: usize) -> Option<Place> {
        let mut place = self.place(slot, index, None)?;
        let wave = &self.groups.get(slot)?.as_ref()?.waves[index];
        if wave.status == Status::Ready {
            place.lane = wave.pending.last_load().map(|load| load.lane);
        }
        Some(place)
    }

    /// What a wave that can run does: what it loads again and again, with its value.
    fn describe_loop(&self, slot: usize, wave: usize, engines: &dyn Engines) -> String {
        let found = self.groups[slot].as_ref().and_then(|group| group.waves[wave].pending.last_load());
        let Some(Loaded { address, bytes, .. }) = found else { return "runs".to_owned() };
        let what = engines
            .describe(address)
            .or_else(|| self.memory.find(address).map(|allocation| allocation.place(address)))
            .unwrap_or_else(|| "memory".to_owned());
        match self.memory.peek(address, bytes) {
            Some(value) => format!("polls {what} at {address:#x}, which is {value}"),
            None => format!("polls {what} at {address:#x}"),
        }
    }
}

/// One more dword of a state in its number.
const fn fold(hash: u64, word: u32) -> u64 {
    (hash ^ word as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

/// The scalar state of a wave as a number: what changes if anything does in most loops.
fn scalar_hash(state: &WaveState) -> u64 {
    let start = state.pc ^ u64::from(state.scc) << 63 ^ u64::from(state.mode) << 32;
    state.sgprs.iter().fold(start, |hash, word| fold(hash, *word))
}

/// All that decides what a wave does next, but for memory, as a number.
fn whole_hash(state: &WaveState) -> u64 {
    state.vgprs.iter().flatten().fold(scalar_hash(state), |hash, word| fold(hash, *word))
}

//! Finding out that nothing can move any more, and saying who waits for what.
//!
//! What must hold here: a node is declared dead only if every wave that can run goes round a loop whose registers repeat while
//! no byte of memory changes, no operation is in flight, no dirty line is left, and no engine moves. A loop that counts, or
//! reads a clock, is not dead; the step limit is for those.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::Sim;
use super::group::Status;
use super::ports::Engines;
use super::run::TurnEnd;
use crate::fault::{Exec, Fault, FaultKind};
use crate::sdma::Moved;
use crate::wave::WaveState;

/// Instructions without any movement, for each wave that can run, before it is worth looking.
const PATIENCE_PER_WAVE: u64 = 400;

/// The same in all.
const PATIENCE: u64 = 4000;

/// Instructions in which a wave must come round to a state that it was in before.
const LOOP: u32 = 2000;

/// Steps for which engines must stand still.
const ENGINE_STEPS: u32 = 64;

impl Sim {
    /// Reports a node that stands still.
    ///
    /// # Errors
    /// [`FaultKind::Deadlock`] if it does; what the waves find wrong while they are watched.
    pub(crate) fn look_for_deadlock(&mut self, engines: &mut dyn Engines) -> Exec {
        let patience = PATIENCE + PATIENCE_PER_WAVE * self.ready.len() as u64;
        if self.steps - self.moved_at < patience {
            return Ok(());
        }
        if self.note_movement() || self.steps - self.moved_at < patience {
            return Ok(());
        }
        // Whatever the verdict, the next look is a while away.
        self.moved_at = self.steps;
        if self.moves_at_all(engines)? {
            return Ok(());
        }
        let waits = self.describe_waits(engines);
        Err(Fault::new(FaultKind::Deadlock { steps: self.steps, waits }))
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
            if engines.step(&mut self.memory, &mut self.rng)? == Moved::Yes {
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
        let mut seen: Vec<u64> = Vec::new();
        for _ in 0..LOOP {
            let before = self.counter(slot, wave);
            if self.turn(slot, wave, 1)? == TurnEnd::Stopped || self.note_movement() {
                return Ok(false);
            }
            let Some(hash) = self.state_hash(slot, wave, before) else { continue };
            if seen.contains(&hash) {
                return Ok(true);
            }
            seen.push(hash);
        }
        Ok(false)
    }

    fn counter(&self, slot: usize, wave: usize) -> u64 {
        self.groups[slot].as_ref().map_or(0, |group| group.waves[wave].state.pc)
    }

    /// The state after a jump backwards, as a number; `None` if the wave did not jump from `before`.
    fn state_hash(&self, slot: usize, wave: usize, before: u64) -> Option<u64> {
        let state = &self.groups[slot].as_ref()?.waves[wave].state;
        (state.pc <= before).then(|| hash(state))
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
                if let Some(place) = self.place(slot, index, None) {
                    waits.push(format!("{place}: {doing}"));
                }
            }
        }
        waits.extend(engines.waits(&self.memory));
        waits
    }

    /// What a wave that can run does: what it loads again and again, with its value.
    fn describe_loop(&self, slot: usize, wave: usize, engines: &dyn Engines) -> String {
        let found = self.groups[slot].as_ref().and_then(|group| group.waves[wave].pending.last_load());
        let Some((address, bytes)) = found else { return "runs".to_owned() };
        let what = engines
            .describe(address)
            .or_else(|| self.memory.find(address).map(|allocation| allocation.place(address)))
            .unwrap_or_else(|| format!("{address:#x}"));
        match self.memory.peek(address, bytes) {
            Some(value) => format!("polls {what}, which is {value}"),
            None => format!("polls {what}"),
        }
    }
}

/// All that decides what a wave does next, but for memory.
fn hash(state: &WaveState) -> u64 {
    // `DefaultHasher::new` has fixed keys: the same state gives the same number in every run.
    let mut hasher = DefaultHasher::new();
    state.pc.hash(&mut hasher);
    state.scc.hash(&mut hasher);
    state.mode.hash(&mut hasher);
    state.sgprs.hash(&mut hasher);
    state.vgprs.hash(&mut hasher);
    hasher.finish()
}

//! Actors: the host, engines and waves, with their clocks, their names, and where each of their accesses came from.
//!
//! What must hold here: a number is given out once between two moments at which nothing runs. Waves that had ended at such a
//! moment are below [`Actors::floor`], and all that they did counts as known to everybody.

use std::rc::Rc;

use super::clock::{ACTORS, Actor, Clock, FIRST_WAVE, HOST, TICKS, join_shared};
use super::fault::{Access, Verb};
use super::shadow::{Cell, Class};

/// Who an actor is, for messages.
#[derive(Clone, Debug, Default)]
pub(super) struct Name {
    pub(super) kernel: Option<Rc<str>>,
    pub(super) workgroup: Option<[u32; 3]>,
    pub(super) wave: u32,
    pub(super) words: Option<String>,
}

/// One actor.
#[derive(Clone, Debug, Default)]
pub(super) struct ActorState {
    pub(super) rank: u32,
    pub(super) name: Name,
    /// What it has observed.
    pub(super) seen: Rc<Clock>,
    /// What its cached loads of coarse memory of its rank, and of all other memory, are sure to see.
    pub(super) cached: [Rc<Clock>; 2],
    /// Its last access, and its last LDS or scalar access.
    pub(super) memory_tick: u32,
    pub(super) local_tick: u32,
    /// Where each tick came from.
    memory_pcs: Vec<u64>,
    local_pcs: Vec<u64>,
}

impl ActorState {
    /// The next tick of `class`, for an access at `pc`.
    pub(super) fn next_tick(&mut self, class: Class, pc: u64) -> u32 {
        let (tick, pcs) = match class {
            Class::Local => (&mut self.local_tick, &mut self.local_pcs),
            Class::Memory | Class::Dirty => (&mut self.memory_tick, &mut self.memory_pcs),
        };
        if *tick < TICKS {
            *tick += 1;
            pcs.push(pc);
        }
        *tick
    }

    fn pc(&self, cell: Cell) -> u64 {
        let pcs = match cell.class() {
            Class::Local => &self.local_pcs,
            Class::Memory | Class::Dirty => &self.memory_pcs,
        };
        let index = (cell.tick() as usize).checked_sub(1);
        index.and_then(|index| pcs.get(index)).copied().unwrap_or(0)
    }

    /// Everything that the three clocks of a wave know becomes at least `clock`.
    pub(super) fn learn(&mut self, clock: &Rc<Clock>, floor: Actor) {
        join_shared(&mut self.seen, clock, floor);
        join_shared(&mut self.cached[0], clock, floor);
        join_shared(&mut self.cached[1], clock, floor);
    }

    pub(super) fn words(&self) -> String {
        if let Some(words) = &self.name.words {
            return words.clone();
        }
        let mut words = match &self.name.kernel {
            Some(kernel) => format!("kernel {kernel}, rank {}", self.rank),
            None => format!("rank {}", self.rank),
        };
        if let Some([x, y, z]) = self.name.workgroup {
            words += &format!(", workgroup ({x},{y},{z}), wave {}", self.name.wave);
        }
        words
    }
}

/// All actors.
#[derive(Clone, Debug)]
pub(super) struct Actors {
    /// The host, then engines.
    fixed: Vec<ActorState>,
    /// Waves from number `base` on.
    waves: Vec<ActorState>,
    base: Actor,
    /// Waves below have ended and everybody knows all that they did.
    pub(super) floor: Actor,
}

impl Default for Actors {
    fn default() -> Self {
        let name = Name { words: Some("the host".to_owned()), ..Name::default() };
        let host = ActorState { name, ..ActorState::default() };
        Self { fixed: vec![host], waves: Vec::new(), base: FIRST_WAVE, floor: FIRST_WAVE }
    }
}

impl Actors {
    #[inline]
    pub(super) fn get(&self, actor: Actor) -> &ActorState {
        let found = match actor.checked_sub(self.base) {
            Some(index) => self.waves.get(index as usize),
            None => self.fixed.get(actor as usize),
        };
        found.unwrap_or(&self.fixed[0])
    }

    #[inline]
    pub(super) fn get_mut(&mut self, actor: Actor) -> &mut ActorState {
        match actor.checked_sub(self.base) {
            Some(index) if (index as usize) < self.waves.len() => &mut self.waves[index as usize],
            None if (actor as usize) < self.fixed.len() => &mut self.fixed[actor as usize],
            _ => &mut self.fixed[HOST as usize],
        }
    }

    /// A new engine; `None` when there are more than any node has.
    pub(super) fn add_engine(&mut self, rank: u32, words: String) -> Option<Actor> {
        let number = self.fixed.len() as Actor;
        if number >= FIRST_WAVE {
            return None;
        }
        let name = Name { words: Some(words), ..Name::default() };
        self.fixed.push(ActorState { rank, name, ..ActorState::default() });
        Some(number)
    }

    /// A new wave that knows `clock`; `None` when cells cannot number any more of them.
    pub(super) fn add_wave(&mut self, rank: u32, clock: &Rc<Clock>) -> Option<Actor> {
        let number = self.base + self.waves.len() as Actor;
        if number >= ACTORS {
            return None;
        }
        let cached = [clock.clone(), clock.clone()];
        self.waves.push(ActorState { rank, seen: clock.clone(), cached, ..ActorState::default() });
        Some(number)
    }

    /// Nothing runs: everybody knows all that any wave did. True if numbers start anew, so that cells must be forgotten.
    pub(super) fn rest(&mut self) -> bool {
        let next = self.base + self.waves.len() as Actor;
        let anew = next > ACTORS / 2;
        self.waves.clear();
        self.base = if anew { FIRST_WAVE } else { next };
        self.floor = self.base;
        for state in &mut self.fixed {
            let floor = if anew { ACTORS } else { self.floor };
            Rc::make_mut(&mut state.seen).forget(floor);
        }
        anew
    }

    /// The access of `cell`, in words.
    pub(super) fn access(&self, cell: Cell, write: bool) -> Access {
        let state = self.get(cell.actor());
        let verb = match (write, cell.sync()) {
            (false, false) => Verb::Read,
            (false, true) => Verb::SyncRead,
            (true, false) => Verb::Write,
            (true, true) => Verb::SyncWrite,
        };
        let wave = cell.actor() >= FIRST_WAVE;
        Access {
            verb,
            who: state.words(),
            lane: wave.then(|| cell.lane()),
            pc: state.pc(cell),
            engine: !wave && cell.actor() != HOST,
        }
    }
}

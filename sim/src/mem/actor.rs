//! Actors: the host, engines and waves, with their clocks, their names, and where each of their accesses came from.
//!
//! What must hold here: a number is given out once between two moments at which nothing runs. Waves that had ended at
//! such a moment are below [`Actors::floor`], and all that they did counts as known to everybody.

use std::rc::Rc;

use super::clock::{ACTORS, Actor, Clock, FIRST_WAVE, HOST, Known, TICKS, join_shared};
use super::fault::{Access, Verb};
use super::shadow::{Cell, Class};
use crate::fault::Place;

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
    /// What its scalar loads are sure to see.
    pub(super) scalar: Rc<Clock>,
    /// What of its own it has waited for; not in `seen`, so that waiting changes no shared clock.
    pub(super) own: Known,
    /// What it would release now, if that is known.
    released: Option<Rc<Clock>>,
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

    /// It has observed `clock`.
    pub(super) fn observe(&mut self, clock: &Rc<Clock>, floor: Actor) {
        self.released = None;
        join_shared(&mut self.seen, clock, floor);
    }

    /// It has waited for its own accesses up to these ticks.
    pub(super) fn retired(&mut self, memory: u32, local: u32) {
        if self.own.memory < memory || self.own.local < local {
            self.released = None;
            self.own.memory = self.own.memory.max(memory);
            self.own.dirty = self.own.memory;
            self.own.local = self.own.local.max(local);
        }
    }

    /// A write-back has returned that was issued when it had seen `clock` and its own accesses had reached `tick`.
    pub(super) fn wrote_back(&mut self, clock: &Clock, tick: u32, system: bool) {
        self.released = None;
        self.own.agent = self.own.agent.max(tick);
        if system {
            self.own.system = self.own.system.max(tick);
        }
        if clock.has_dirty(system) {
            let mut clock = clock.clone();
            clock.write_back(system);
            Rc::make_mut(&mut self.seen).join(&clock, 0);
        }
    }

    /// What it hands on when it releases at agent or system scope.
    pub(super) fn release(&mut self, me: Actor) -> Rc<Clock> {
        if let Some(clock) = &self.released {
            return clock.clone();
        }
        let mut clock = self.seen.released();
        let own = clock.entry(me);
        *own = Known { dirty: 0, ..self.own };
        let clock = Rc::new(clock);
        self.released = Some(clock.clone());
        clock
    }

    /// All waves of its workgroup have met; `seen` and `cached` are theirs together.
    pub(super) fn met(&mut self, seen: &Rc<Clock>, cached: &[Rc<Clock>; 2]) {
        self.released = None;
        self.seen = seen.clone();
        self.cached = cached.clone();
    }

    /// Where a wave's `lane` is at `pc`.
    pub(super) fn place(&self, lane: u8, pc: u64) -> Place {
        Place {
            kernel: self.name.kernel.as_deref().map(str::to_owned),
            rank: Some(self.rank),
            workgroup: self.name.workgroup,
            wave: self.name.workgroup.map(|_| self.name.wave),
            lane: Some(lane),
            pc: (pc != 0).then_some(pc),
            ..Place::default()
        }
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
    /// For the host and each engine the tick up to which everybody knows all that it did.
    pub(super) known: Rc<Vec<u32>>,
}

impl Default for Actors {
    fn default() -> Self {
        let name = Name { words: Some("the host".to_owned()), ..Name::default() };
        let host = ActorState { name, ..ActorState::default() };
        Self { fixed: vec![host], waves: Vec::new(), base: FIRST_WAVE, floor: FIRST_WAVE, known: Rc::default() }
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
        let (seen, scalar, cached) = (clock.clone(), clock.clone(), [clock.clone(), clock.clone()]);
        self.waves.push(ActorState { rank, seen, scalar, cached, ..ActorState::default() });
        Some(number)
    }

    /// Nothing runs: everybody knows all that any wave did. True if numbers start anew, so that cells must be
    /// forgotten.
    pub(super) fn rest(&mut self) -> bool {
        let next = self.base + self.waves.len() as Actor;
        let anew = next > ACTORS / 2;
        self.waves.clear();
        self.base = if anew { FIRST_WAVE } else { next };
        self.floor = self.base;
        // Whatever runs next begins with what the host knows now, so clocks need not carry it.
        let host = &self.fixed[HOST as usize];
        let mut known = vec![0; self.fixed.len()];
        for (actor, tick) in known.iter_mut().enumerate() {
            let before = self.known.get(actor).copied().unwrap_or(0);
            *tick = host.seen.known(actor as Actor).memory.max(before);
        }
        known[HOST as usize] = host.memory_tick;
        self.known = Rc::new(known);
        for state in &mut self.fixed {
            let floor = if anew { ACTORS } else { self.floor };
            let seen = Rc::make_mut(&mut state.seen);
            seen.forget(floor);
            seen.forget_fixed();
            state.released = None;
        }
        anew
    }

    /// All that anybody has done.
    pub(super) fn everything(&self) -> Clock {
        let mut clock = self.fixed[0].seen.as_ref().clone();
        let fixed = self.fixed.iter().enumerate().map(|(index, state)| (index as Actor, state));
        let waves = self.waves.iter().enumerate().map(|(index, state)| (self.base + index as Actor, state));
        for (actor, state) in fixed.chain(waves) {
            clock.know_all(actor, state.memory_tick.max(state.local_tick));
        }
        clock
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
        let pc = state.pc(cell);
        Access {
            verb,
            who: state.words(),
            lane: wave.then(|| cell.lane()),
            pc,
            engine: !wave && cell.actor() != HOST,
            at: wave.then(|| Box::new(state.place(cell.lane(), pc))),
        }
    }
}

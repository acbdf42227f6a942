//! The loop: one turn of one wave, and what moves in between.
//!
//! What must hold here: every choice comes from the machine's generator; what a fault lacks of its place is added here.

use super::group::{AtBarrier, Group, Status};
use super::ports::{Engines, HostEvent};
use super::step::{Run, Step};
use super::{Outcome, Schedule, Sim, WaveReport, time};
use crate::exec::control::{self, Effect};
use crate::exec::{AluFn, ds, dual, flat, mubuf, smem};
use crate::fault::{Exec, Fault, FaultKind, Place};
use crate::mem::{self, Port};
use crate::sdma::Moved;
use crate::wave::WaveState;

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnEnd {
    /// Its instructions are used up.
    Used,
    /// The wave gave up the rest: it sleeps or waits for memory.
    Yielded,
    /// It waits at a barrier or has ended.
    Stopped,
    /// It has arrived at a barrier and goes on.
    Arrived,
}

/// One turn in so many lets memory move by itself (an eviction).
const IDLE_ONE_IN: u32 = 16;

/// A fault of the instruction at `pc`, unless it says itself where it belongs.
fn at(fault: Box<Fault>, pc: u64) -> Box<Fault> {
    if fault.at.pc.is_none() { fault.pc(pc) } else { fault }
}

/// Executes both halves of an instruction that is two.
///
/// # Errors
/// What they find wrong, and EXEC that became undefined.
fn execute_two(
    wave: &mut WaveState,
    (first, step): (AluFn, &Step),
    (second, other): (AluFn, &Step),
    checks: bool,
) -> Exec {
    let undefined = if checks { [step.undefined(wave), other.undefined(wave)] } else { [0; 2] };
    dual::execute(wave, (first, &step.inst), (second, &other.inst))?;
    for (step, lanes) in [(step, undefined[0]), (other, undefined[1])] {
        if lanes != 0 {
            step.mark_undefined(wave, lanes)?;
        }
    }
    Ok(())
}

impl Sim {
    /// Runs until all waves have ended.
    ///
    /// # Errors
    /// Whatever a wave, memory or an engine finds wrong; a node that stands still; the step limit.
    pub fn run(&mut self, engines: &mut dyn Engines) -> Exec {
        let limit = self.config.limit;
        match self.run_for(engines, limit)? {
            Outcome::Ended => Ok(()),
            Outcome::OutOfSteps => {
                let waits = self.describe_waits(engines);
                Err(Fault::new(FaultKind::StepLimit { limit, waits }))
            }
        }
    }

    /// Runs until all waves have ended or `steps` more instructions were executed.
    ///
    /// # Errors
    /// As [`Sim::run`], without the limit.
    pub fn run_for(&mut self, engines: &mut dyn Engines, steps: u64) -> Exec<Outcome> {
        let end = self.steps.saturating_add(steps);
        self.note_movement();
        (self.moved_at, self.false_alarms) = (self.steps, 0);
        loop {
            if self.room {
                self.start_groups()?;
                self.finish_launches(engines)?;
            }
            if self.launches.is_empty() {
                return Ok(Outcome::Ended);
            }
            if self.steps >= end {
                return Ok(Outcome::OutOfSteps);
            }
            self.fire_events()?;
            if self.ready.is_empty() {
                // Every wave waits at a barrier that cannot fill: `release` would have let them go otherwise.
                return Err(self.never_filling_barrier());
            }
            let (pick, count) = self.turns.pick(self.config.schedule, self.ready.len(), &mut self.rng);
            let left = (end - self.steps).min(u64::from(count)) as u32;
            let (_, slot, wave) = self.ready[pick];
            if matches!(self.turn(slot, wave, left)?, TurnEnd::Used | TurnEnd::Yielded) {
                self.turns.pass();
            }
            self.between_turns(engines)?;
            if self.config.detect_deadlock {
                self.look_for_deadlock(engines)?;
            }
        }
    }

    /// Lets one wave execute up to `count` instructions.
    ///
    /// # Errors
    /// What it finds wrong, placed.
    pub(crate) fn turn(&mut self, slot: usize, wave: usize, count: u32) -> Exec<TurnEnd> {
        match self.execute(slot, wave, count) {
            Ok(TurnEnd::Stopped) => {
                self.stopped(slot, wave)?;
                Ok(TurnEnd::Stopped)
            }
            Ok(TurnEnd::Arrived) => {
                self.moved_at = self.steps;
                self.meet(slot);
                Ok(TurnEnd::Arrived)
            }
            Ok(end) => Ok(end),
            Err(fault) => Err(self.placed(fault, slot, wave)),
        }
    }

    fn execute(&mut self, slot: usize, wave: usize, count: u32) -> Exec<TurnEnd> {
        let Some(group) = self.groups[slot].as_mut() else { return Ok(TurnEnd::Used) };
        let running = &self.launches[group.launch];
        let module = &self.modules[running.module];
        let code = &mut self.codes[running.code];
        let checks = self.config.checks;
        // The orderly schedules do not let chance end a turn, and one wave to its end sleeps through its own turn.
        let by_chance = matches!(self.config.schedule, Schedule::Random { .. });
        let timed = self.memory.time.is_some();
        let sleeps = !matches!(self.config.schedule, Schedule::Sequential { .. });
        let Group { waves, lds, .. } = group;
        let wave = &mut waves[wave];
        for _ in 0..count {
            let pc = wave.state.pc;
            let step = code.at(module, pc.wrapping_sub(running.base), running.registers, pc).map_err(|f| f.pc(pc))?;
            self.steps += 1;
            wave.instructions += 1;
            if checks {
                step.check_in_flight(&wave.state).map_err(|f| f.pc(pc))?;
            }
            wave.state.pc = pc + step.bytes;
            if let Run::Alu(function) = step.run {
                if checks {
                    let undefined = step.undefined(&wave.state);
                    function(&mut wave.state, &step.inst).map_err(|f| f.pc(pc))?;
                    if undefined == 0 {
                        step.mark_defined(&mut wave.state);
                    } else {
                        step.mark_undefined(&mut wave.state, undefined).map_err(|f| f.pc(pc))?;
                    }
                } else {
                    function(&mut wave.state, &step.inst).map_err(|f| f.pc(pc))?;
                }
                continue;
            }
            if let (Run::Dual(first, second), Some(other)) = (step.run, &step.second) {
                execute_two(&mut wave.state, (first, step), (second, other), checks).map_err(|f| f.pc(pc))?;
                continue;
            }
            if timed {
                time::charge(&mut self.memory, wave, || module.line(pc.wrapping_sub(running.base)));
            }
            let mut port = Port {
                wave: &mut wave.state,
                pending: &mut wave.pending,
                lds,
                memory: &mut self.memory,
                rng: &mut self.rng,
                pins: step.pins,
            };
            match step.run {
                Run::Flat => flat::issue(&mut port, &step.inst, pc).map_err(|f| at(f, pc))?,
                Run::Ds => ds::issue(&mut port, &step.inst, pc).map_err(|f| at(f, pc))?,
                Run::Smem => smem::issue(&mut port, &step.inst, pc).map_err(|f| at(f, pc))?,
                Run::Mubuf => mubuf::issue(&mut port, &step.inst, pc).map_err(|f| at(f, pc))?,
                Run::Alu(_) | Run::Dual(..) | Run::Control => {
                    let effect = control::execute(port.wave, &step.inst, checks).map_err(|f| f.pc(pc))?;
                    if timed {
                        time::effect(&mut port, effect, &step.inst, &running.name);
                    }
                    control::translate_all(&mut port, step.inst.op)?;
                    match effect {
                        Effect::Next | Effect::Jumped { .. } => {}
                        Effect::Wait(limits) => {
                            let waits = limits.exceeded(&port.wave.counts);
                            // Sometimes others run before the operations complete; the wait is then executed again.
                            if waits && by_chance && port.rng.chance(1, 4) {
                                port.wave.pc = pc;
                                return Ok(TurnEnd::Yielded);
                            }
                            mem::wait(&mut port, &limits)?;
                        }
                        Effect::Yield if sleeps => return Ok(TurnEnd::Yielded),
                        Effect::Yield => {}
                        Effect::Arrive | Effect::Barrier => {
                            let arrival = self.memory.arrive(wave.state.id.actor);
                            wave.arrive(arrival, &step.inst).map_err(|f| f.pc(pc))?;
                            if effect == Effect::Arrive {
                                return Ok(TurnEnd::Arrived);
                            }
                            wave.status = Status::Barrier;
                            return Ok(TurnEnd::Stopped);
                        }
                        Effect::Meet => {
                            if !wave.leave(&mut self.memory, &step.inst).map_err(|f| f.pc(pc))? {
                                wave.status = Status::Barrier;
                                return Ok(TurnEnd::Stopped);
                            }
                        }
                        Effect::End => {
                            mem::retire(&mut port)?;
                            wave.status = Status::Ended;
                            return Ok(TurnEnd::Stopped);
                        }
                    }
                }
            }
        }
        Ok(TurnEnd::Used)
    }

    /// A wave stopped: it leaves the list, and its workgroup may go on or be over.
    fn stopped(&mut self, slot: usize, wave: usize) -> Exec {
        self.moved_at = self.steps;
        self.ready.retain(|(_, s, w)| (*s, *w) != (slot, wave));
        let Some(group) = self.groups[slot].as_mut() else { return Ok(()) };
        if group.waves[wave].status == Status::Ended {
            self.memory.end_wave(group.waves[wave].state.id.actor);
            // One wave after the other: what it stored is there before the next one runs.
            if matches!(self.config.schedule, Schedule::Sequential { .. }) {
                self.memory.perform_orphans(Some(group.waves[wave].state.id.rank));
            }
        }
        if group.alive() == 0 {
            if let Some(group) = self.groups[slot].take() {
                let running = &mut self.launches[group.launch];
                running.live -= 1;
                let (rank, lds) = (running.launch.rank, running.lds_bytes);
                self.load_unit(rank, group.cu, group.waves.len() as u32, lds, false);
                if let Some(timer) = &mut self.memory.time {
                    timer.left_room(rank, group.waves.iter().map(|wave| wave.pending.clock.at).max().unwrap_or(0));
                }
                self.spare_waves.extend(group.waves);
                self.free_slots.push(slot);
                self.room = true;
            }
            return Ok(());
        }
        self.meet(slot);
        Ok(())
    }

    /// If all waves of a workgroup have arrived at its barrier, those that wait there go on.
    fn meet(&mut self, slot: usize) {
        let Some(group) = self.groups[slot].as_mut() else { return };
        let Some(arrivals) = group.arrivals() else { return };
        let met = self.memory.barrier(&arrivals);
        if let Some(timer) = &self.memory.time {
            time::barrier(timer, &mut group.waves);
        }
        for (index, wave) in group.waves.iter_mut().enumerate() {
            let AtBarrier::Arrived(arrival) = std::mem::take(&mut wave.at_barrier) else { continue };
            if wave.status == Status::Barrier {
                if let Some(met) = &met {
                    self.memory.leave(wave.state.id.actor, met, &arrival);
                }
                wave.status = Status::Ready;
                self.ready.push((wave.order, slot, index));
            } else {
                wave.at_barrier = AtBarrier::Released(arrival, met.clone());
            }
        }
        self.ready.sort_unstable();
    }

    /// Between two turns: some operation in flight is performed, memory may evict, an engine may move.
    fn between_turns(&mut self, engines: &mut dyn Engines) -> Exec {
        if !self.groups.is_empty() {
            let slot = self.rng.below(self.groups.len() as u32) as usize;
            self.perform_one(slot)?;
        }
        if self.rng.chance(1, IDLE_ONE_IN) {
            self.memory.idle_step(&mut self.rng)?;
        }
        if self.step_engines(engines)? == Moved::Yes {
            self.moved_at = self.steps;
        }
        Ok(())
    }

    /// Lets an engine move.
    ///
    /// # Errors
    /// What it finds wrong, at the wave that has a part in it.
    pub(crate) fn step_engines(&mut self, engines: &mut dyn Engines) -> Exec<Moved> {
        engines.step(&mut self.memory, &mut self.rng).map_err(|fault| self.at_post(fault, engines))
    }

    /// A fault of an engine gets the place of the wave that has a part in it: else of the one that posted the packet.
    #[cold]
    fn at_post(&mut self, fault: Box<Fault>, engines: &dyn Engines) -> Box<Fault> {
        let posted = match &fault.kind {
            FaultKind::Engine(found) if fault.kind.wave().is_none() => {
                engines.ring_address(found.queue, found.position).and_then(|address| self.memory.last_writer(address))
            }
            _ => None,
        };
        match posted {
            Some(place) => self.placed_at(fault, place),
            None => self.at_wave(fault),
        }
    }

    #[cold]
    fn at_wave(&self, fault: Box<Fault>) -> Box<Fault> {
        match fault.kind.wave().cloned() {
            Some(place) => self.placed_at(fault, place),
            None => fault,
        }
    }

    fn placed_at(&self, mut fault: Box<Fault>, mut place: Place) -> Box<Fault> {
        let of = |running: &&super::dispatch::Running| {
            place.rank == Some(running.launch.rank) && place.kernel.as_deref() == Some(&*running.name)
        };
        if let (Some(running), Some(pc)) = (self.launches.iter().find(of), place.pc) {
            let module = &self.modules[running.module];
            let offset = pc.wrapping_sub(running.base);
            let start = module.kernel_at(offset).map_or(0, |kernel| kernel.entry);
            (place.offset, place.line) = (Some(offset.wrapping_sub(start)), module.line(offset));
        }
        fault.at = place;
        fault
    }

    /// Performs at most one operation in flight of a random wave of a workgroup.
    fn perform_one(&mut self, slot: usize) -> Exec {
        let Some(group) = self.groups[slot].as_mut() else { return Ok(()) };
        let index = self.rng.below(group.waves.len() as u32) as usize;
        self.perform(slot, index).map(|_| ())
    }

    /// Performs at most one operation in flight of a wave; true if there was one.
    pub(crate) fn perform(&mut self, slot: usize, index: usize) -> Exec<bool> {
        let Some(group) = self.groups[slot].as_mut() else { return Ok(false) };
        let wave = &mut group.waves[index];
        let mut port = Port {
            wave: &mut wave.state,
            pending: &mut wave.pending,
            lds: &mut group.lds,
            memory: &mut self.memory,
            rng: &mut self.rng,
            pins: mem::Pins::default(),
        };
        mem::step(&mut port).map_err(|fault| self.placed(fault, slot, index))
    }

    /// Launches whose workgroups have all ended leave; a rank without any is told to memory and the engines.
    fn finish_launches(&mut self, engines: &mut dyn Engines) -> Exec {
        let mut last = None;
        for index in 0..self.launches.len() {
            let rank = self.launches[index].launch.rank;
            let mut others = self.launches.iter().filter(|other| other.launch.rank == rank);
            if self.launches[index].told || !others.all(super::dispatch::Running::ended) {
                continue;
            }
            self.launches[index].told = true;
            if last != Some(rank) {
                self.memory.end_launch(rank);
                engines.rank_ended(&mut self.memory, rank).map_err(|fault| {
                    let mut fault = self.at_post(fault, engines);
                    fault.at.kernel.get_or_insert_with(|| self.launches[index].name.to_string());
                    fault
                })?;
            }
            last = Some(rank);
        }
        // Workgroups refer to launches by index, so the list only shrinks when nothing runs any more.
        if !self.launches.iter().all(super::dispatch::Running::ended) {
            return Ok(());
        }
        engines.node_ended(&mut self.memory)?;
        if let Some(timer) = &mut self.memory.time {
            timer.rest();
        }
        self.launches.clear();
        self.groups.clear();
        self.free_slots.clear();
        self.argument_blocks.iter_mut().for_each(|block| block.used = false);
        Ok(())
    }

    fn fire_events(&mut self) -> Exec {
        while let Some(entry) = self.events.first_entry() {
            if *entry.key() > self.steps {
                break;
            }
            for event in entry.remove() {
                match event {
                    HostEvent::Write { address, bytes } => self.memory.host_write(address, &bytes)?,
                }
            }
            self.moved_at = self.steps;
        }
        Ok(())
    }

    /// Notes whether memory changed since the last look.
    pub(crate) fn note_movement(&mut self) -> bool {
        let version = self.memory.version();
        let moved = version != self.moved_version;
        if moved {
            self.moved_version = version;
            self.moved_at = self.steps;
        }
        moved
    }

    #[cold]
    fn never_filling_barrier(&mut self) -> Box<Fault> {
        let found = self.groups.iter().enumerate().find_map(|(slot, group)| {
            let group = group.as_ref()?;
            Some((slot, group.waves.iter().position(|wave| wave.status == Status::Barrier)?))
        });
        let steps = self.steps;
        let waits = self.waves().into_iter().map(|report| format!("{}: {}", report.at, report.doing)).collect();
        let fault = Fault::new(FaultKind::Deadlock { steps, waits });
        match found {
            Some((slot, wave)) => self.placed(fault, slot, wave),
            None => fault,
        }
    }

    /// Adds what a fault lacks of its place.
    #[cold]
    pub(crate) fn placed(&self, fault: Box<Fault>, slot: usize, wave: usize) -> Box<Fault> {
        let pc = fault.at.pc;
        let Some(known) = self.place(slot, wave, pc) else { return fault };
        fault.placed(&known)
    }

    /// Where a wave stands, or where it was at `pc`.
    pub(crate) fn place(&self, slot: usize, wave: usize, pc: Option<u64>) -> Option<Place> {
        let group = self.groups.get(slot)?.as_ref()?;
        let running = &self.launches[group.launch];
        let state = &group.waves.get(wave)?.state;
        let module = &self.modules[running.module];
        let pc = pc.unwrap_or(state.pc);
        let offset = pc.wrapping_sub(running.base);
        let start = module.kernel_at(offset).map_or(0, |kernel| kernel.entry);
        Some(Place {
            kernel: Some(running.name.to_string()),
            rank: Some(state.id.rank),
            workgroup: Some(group.id),
            wave: Some(state.id.wave),
            lane: None,
            pc: Some(pc),
            offset: Some(offset.wrapping_sub(start)),
            line: module.line(offset),
        })
    }

    /// The waves that have not ended.
    pub fn waves(&self) -> Vec<WaveReport> {
        let mut reports = Vec::new();
        for (slot, group) in self.groups.iter().enumerate() {
            let Some(group) = group else { continue };
            for (index, wave) in group.waves.iter().enumerate() {
                let doing = match wave.status {
                    Status::Ready => "runs",
                    Status::Barrier => "waits at a barrier",
                    Status::Ended => continue,
                };
                let Some(at) = self.place(slot, index, None) else { continue };
                reports.push(WaveReport { at, doing: doing.to_owned(), instructions: wave.instructions });
            }
        }
        reports
    }
}

//! What is checked when an instruction issues: bounds, alignment, initialisation and races, and what it releases.
//!
//! What must hold here: an access takes its place in the order of all accesses when it issues, whenever it is
//! performed, so what is reported does not hang on when memory happens to be looked at. Loaded bytes that nobody wrote
//! make the register undefined, and an atomic on such bytes is a fault.

use std::rc::Rc;

use super::check::{Conflict, Probe};
use super::clock::{Clock, Known, TICKS};
use super::fault::{MemFault, Verb};
use super::lds::Lds;
use super::operation::{Operation, What, for_runs};
use super::pending::{Port, unit};
use super::shadow::{Cell, Class, Shadow};
use super::space::Scope;
use super::{Memory, MemoryType, Unit};
use crate::fault::{Exec, Fault, FaultKind};
use crate::wave::LANES;

fn fault(kind: MemFault, lane: usize, pc: u64) -> Box<Fault> {
    Fault::new(FaultKind::Memory(kind)).lane(lane).pc(pc)
}

fn scalar_fault(kind: MemFault, pc: u64) -> Box<Fault> {
    Fault::new(FaultKind::Memory(kind)).pc(pc)
}

/// What an operation's accesses have in common.
struct Common<'a> {
    unit: Unit,
    pc: u64,
    verb: Verb,
    /// What cached loads of the rank's coarse memory, cached loads of other memory, and all other accesses are ordered
    /// by.
    clocks: [&'a Clock; 3],
    known: &'a [u32],
    own: Known,
    tick: u32,
}

impl Common<'_> {
    fn probe(&self, memory: &Memory, verb: Verb, class: Class, clock: usize, near: bool) -> Probe<'_> {
        let sync = matches!(verb, Verb::SyncRead | Verb::SyncWrite);
        let me = self.unit.actor;
        Probe {
            me,
            verb,
            class,
            clock: self.clocks[clock],
            own: self.own,
            near,
            floor: memory.actors.floor,
            record: (self.tick < TICKS).then(|| Cell::new(me, self.tick, class, sync)),
            known: self.known,
            recent: (u32::MAX, Known::default()),
            good: [Cell::EMPTY; 3],
            coin: self.tick ^ me,
        }
    }
}

/// The clocks of a wave, held while its accesses are checked.
struct Clocks {
    all: [Rc<Clock>; 3],
    /// See [`super::actor::Actors::known`].
    known: Rc<Vec<u32>>,
    own: Known,
}

impl Port<'_> {
    /// Checks an operation and puts it into flight.
    ///
    /// # Errors
    /// Any defect of the access.
    pub(crate) fn issue(&mut self, mut op: Box<Operation>, vm: bool, lgkm: bool) -> Exec {
        self.memory.ticks += 1;
        match self.check(&mut op) {
            Ok(()) => self.launch(op, vm, lgkm),
            Err(fault) => {
                self.pending.put_back(op);
                Err(fault)
            }
        }
    }

    fn check(&mut self, op: &mut Operation) -> Exec {
        let unit = unit(self.wave);
        if op.global != 0 {
            self.memory.check_global(unit, op)?;
        }
        if op.lds != 0 {
            self.check_lds(unit, op)?;
        }
        if op.scratch != 0 {
            self.check_scratch(op)?;
        }
        if op.to_lds.is_some() {
            self.check_to_lds(unit, op)?;
        }
        Ok(())
    }

    /// LDS of a load, store or atomic.
    fn check_lds(&mut self, unit: Unit, op: &mut Operation) -> Exec {
        let verb = verb(op, true);
        let clocks = self.memory.clocks(unit, false);
        let tick = self.memory.tick(unit, Class::Local, op.pc);
        op.local_tick = tick;
        let common = clocks.common(unit, op.pc, verb, tick);
        let mut range = (u64::MAX, 0);
        for second in [None, op.second] {
            let delta = second.unwrap_or(0);
            let row = if second.is_some() { op.dwords() } else { 0 };
            let address = std::array::from_fn(|lane| op.address[lane].wrapping_add_signed(delta));
            let (bytes, undefined) = (op.bytes, &mut op.undefined);
            for_runs(op.lds, &address, bytes as u64, |first, count, same| {
                let total = if same { bytes } else { bytes * count };
                let at = address[first];
                range = (range.0.min(at), range.1.max(at.saturating_add(total as u64)));
                let access = LdsAccess { at, bytes, total, first, count, row };
                common.lds(self.memory, self.lds, &access, undefined, op.what)
            })?;
            if op.second.is_none() {
                break;
            }
        }
        op.lds_range = range;
        Ok(())
    }

    /// The LDS that loaded data goes to.
    fn check_to_lds(&mut self, unit: Unit, op: &mut Operation) -> Exec {
        let Some((base, stride)) = op.to_lds else { return Ok(()) };
        let clocks = self.memory.clocks(unit, false);
        let common = clocks.common(unit, op.pc, Verb::Write, op.memory_tick);
        let bytes = op.dwords() * 4;
        let address = std::array::from_fn(|lane| u64::from(base) + u64::from(stride) * lane as u64);
        let lanes = op.lanes();
        for_runs(lanes, &address, bytes as u64, |first, count, _| -> Exec {
            let total = bytes * count;
            let access = LdsAccess { at: address[first], bytes, total, first, count, row: 0 };
            common.lds_bounds(self.lds, &access)?;
            if !self.memory.config.checks {
                return Ok(());
            }
            common.lds_race(self.memory, self.lds, &access, Class::Memory)?;
            let undefined = op.undefined.iter().fold(0, |all, lanes| all | lanes);
            for (lane, at) in address.iter().enumerate().skip(first).take(count) {
                if undefined >> lane & 1 == 0 {
                    self.lds.shadow.set_init(*at as usize, bytes);
                }
            }
            Ok(())
        })?;
        op.lds_range = (address[0], address[LANES - 1] + bytes as u64);
        Ok(())
    }

    fn check_scratch(&mut self, op: &mut Operation) -> Exec {
        let bytes = op.bytes;
        let scratch = &mut self.pending.scratch;
        for lane in (0..LANES).filter(|lane| op.scratch >> lane & 1 != 0) {
            let address = op.address[lane];
            let end = address.checked_add(bytes as u64);
            if end.is_none_or(|end| end > scratch.per_lane()) {
                let verb = if op.what == What::Load { "read" } else { "written" };
                let limit = scratch.per_lane();
                let kind = MemFault::ScratchOutOfBounds { address, bytes: bytes as u64, verb, limit };
                return Err(fault(kind, lane, op.pc));
            }
            match op.what {
                What::Store => scratch.set_init(lane, address, bytes),
                _ => {
                    for dword in 0..op.dwords() {
                        let piece = (bytes - dword * 4).min(4);
                        if !scratch.is_init(lane, address + dword as u64 * 4, piece) {
                            op.undefined[dword % 4] |= 1 << lane;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// An access to LDS by neighbouring lanes.
struct LdsAccess {
    at: u64,
    /// Bytes of a lane, and of all.
    bytes: usize,
    total: usize,
    first: usize,
    count: usize,
    /// The dword of the result that the first one becomes.
    row: usize,
}

impl Common<'_> {
    fn lds_bounds(&self, lds: &Lds, access: &LdsAccess) -> Exec {
        let limit = lds.data.len() as u64;
        if access.at.checked_add(access.total as u64).is_some_and(|end| end <= limit) {
            return Ok(());
        }
        let inside = limit.saturating_sub(access.at) as usize / access.bytes.max(1);
        let lane = (access.first + inside).min(access.first + access.count - 1);
        let step = if access.total == access.bytes { 0 } else { access.bytes };
        let address = access.at.wrapping_add(((lane - access.first) * step) as u64);
        let verb = if self.verb.writes() { "written" } else { "read" };
        let kind = MemFault::LdsOutOfBounds { address, bytes: access.bytes as u64, verb, limit };
        Err(fault(kind, lane, self.pc))
    }

    fn lds_race(&self, memory: &Memory, lds: &mut Lds, access: &LdsAccess, class: Class) -> Exec {
        let mut probe = self.probe(memory, self.verb, class, 2, true);
        let at = access.at as usize;
        let per_lane = if access.total == access.bytes { access.total.max(1) } else { access.bytes };
        let result = probe.span(&mut lds.shadow, at, access.total, access.first, per_lane);
        let now = probe.now(self.pc);
        result.map_err(|conflict: Conflict| {
            let place = "LDS".to_owned();
            fault(memory.race(now, conflict, conflict.offset as u64, place), conflict.lane, self.pc)
        })
    }

    fn lds(&self, memory: &Memory, lds: &mut Lds, access: &LdsAccess, undefined: &mut [u64; 4], what: What) -> Exec {
        self.lds_bounds(lds, access)?;
        if !memory.config.checks {
            return Ok(());
        }
        let at = access.at as usize;
        match what {
            What::Store => lds.shadow.set_init(at, access.total),
            _ => {
                if lds.shadow.first_uninit(at, access.total).is_some() {
                    undefined_lanes(&lds.shadow, at, access, undefined);
                    if what != What::Load {
                        let first = lds.shadow.first_uninit(at, access.total).unwrap_or(at) as u64;
                        let (address, bytes, place) = (access.at, access.total as u64, "LDS".to_owned());
                        let kind = MemFault::Uninitialised { address, bytes, first, place };
                        return Err(fault(kind, access.first, self.pc));
                    }
                }
            }
        }
        self.lds_race(memory, lds, access, Class::Local)
    }
}

/// Notes which lanes' dwords hold bytes that nobody wrote.
#[cold]
fn undefined_lanes(shadow: &Shadow, at: usize, access: &LdsAccess, undefined: &mut [u64; 4]) {
    let step = if access.total == access.bytes && access.count > 1 { 0 } else { access.bytes };
    for index in 0..access.count {
        for dword in 0..access.bytes.div_ceil(4) {
            let start = at + index * step + dword * 4;
            if shadow.first_uninit(start, (access.bytes - dword * 4).min(4)).is_some() {
                undefined[(access.row + dword) % 4] |= 1 << (access.first + index);
            }
        }
    }
}

/// What an operation is to the race check.
fn verb(op: &Operation, lds: bool) -> Verb {
    let scoped = !lds && op.scope.through() && op.bytes <= 8;
    match (op.what, scoped) {
        (What::Atomic(_), _) | (What::Store, true) => Verb::SyncWrite,
        (What::Store, false) => Verb::Write,
        (_, true) => Verb::SyncRead,
        (_, false) => Verb::Read,
    }
}

impl Clocks {
    fn common(&self, unit: Unit, pc: u64, verb: Verb, tick: u32) -> Common<'_> {
        let [near, far, seen] = &self.all;
        Common { unit, pc, verb, clocks: [near, far, seen], known: &self.known, own: self.own, tick }
    }
}

impl Memory {
    fn clocks(&self, unit: Unit, scalar: bool) -> Clocks {
        let state = self.actors.get(unit.actor);
        let [near, far] = if scalar { [&state.scalar, &state.scalar] } else { [&state.cached[0], &state.cached[1]] };
        let all = [near.clone(), far.clone(), state.seen.clone()];
        Clocks { all, known: self.actors.known.clone(), own: state.own }
    }

    fn tick(&mut self, unit: Unit, class: Class, pc: u64) -> u32 {
        match self.config.checks {
            true => self.actors.get_mut(unit.actor).next_tick(class, pc),
            false => 0,
        }
    }

    /// Global memory of a load, store or atomic.
    fn check_global(&mut self, unit: Unit, op: &mut Operation) -> Exec {
        let verb = verb(op, false);
        let clocks = self.clocks(unit, false);
        let tick = self.tick(unit, Class::Memory, op.pc);
        op.memory_tick = tick;
        // An atomic that reaches nobody but its own compute unit (gfx1250, below device scope) releases nothing.
        let reaches = !matches!(op.what, What::Atomic(_)) || op.scope != Scope::Wave;
        if self.config.checks && verb == Verb::SyncWrite && reaches {
            op.clock = Some(self.actors.get_mut(unit.actor).release(unit.actor));
        }
        let common = clocks.common(unit, op.pc, verb, tick);
        let mut range = (u64::MAX, 0);
        let Operation { address, bytes, global, undefined, what, scope, .. } = op;
        let (bytes, atomic) = (*bytes, matches!(what, What::Atomic(_)));
        for_runs(*global, address, bytes as u64, |first, count, same| {
            let total = if same { bytes } else { bytes * count };
            let at = address[first];
            range = (range.0.min(at), range.1.max(at.saturating_add(total as u64)));
            let run = Run { at, bytes, total, first, count, aligned: atomic, through: scope.through() || atomic };
            self.check_run(&common, &run, undefined)
        })?;
        op.range = range;
        Ok(())
    }

    /// The memory of a scalar load of `op.bytes` bytes.
    ///
    /// # Errors
    /// Out of bounds, a race.
    pub(crate) fn check_scalar(&mut self, unit: Unit, op: &mut Operation) -> Exec {
        let clocks = self.clocks(unit, true);
        let tick = self.tick(unit, Class::Local, op.pc);
        op.local_tick = tick;
        let common = clocks.common(unit, op.pc, Verb::Read, tick);
        let (at, total) = (op.address[0], op.bytes);
        let (index, offset) = self.locate(at, total as u64, "read").map_err(|kind| scalar_fault(kind, op.pc))?;
        if !self.config.checks {
            return Ok(());
        }
        let allocation = &self.space.all[index];
        for dword in 0..total.div_ceil(4) {
            if allocation.shadow.first_uninit(offset + dword * 4, (total - dword * 4).min(4)).is_some() {
                op.undefined[0] |= 1 << dword;
            }
        }
        let kind = allocation.kind;
        if kind.read_only() {
            return Ok(());
        }
        let near = allocation.rank == unit.rank;
        let clock = if kind.cached() { 0 } else { 2 };
        let mut probe = common.probe(self, Verb::Read, Class::Local, clock, near);
        let result = probe.span(&mut self.space.all[index].shadow, offset, total, 0, total);
        let now = probe.now(op.pc);
        result.map_err(|conflict| {
            let mut fault = self.conflict(index, now, conflict).pc(op.pc);
            fault.at.lane = None;
            fault
        })
    }

    fn conflict(&self, index: usize, now: super::report::Now, conflict: Conflict) -> Box<Fault> {
        let allocation = &self.space.all[index];
        let address = allocation.base + conflict.offset as u64;
        fault(self.race(now, conflict, address, allocation.place(address)), conflict.lane, 0)
    }

    fn check_run(&mut self, common: &Common<'_>, run: &Run, undefined: &mut [u64; 4]) -> Exec {
        let writes = common.verb.writes();
        if run.aligned && !run.at.is_multiple_of(run.bytes as u64) {
            let kind = MemFault::Misaligned { what: "an atomic", address: run.at, align: run.bytes as u64 };
            return Err(fault(kind, run.first, common.pc));
        }
        let word = if writes { "written" } else { "read" };
        let located = self.locate(run.at, run.total as u64, word);
        let (index, offset) = located.map_err(|kind| self.out_of_bounds(kind, common, run, word))?;
        let allocation = &mut self.space.all[index];
        let kind = allocation.kind;
        if kind.read_only() {
            if writes {
                let (name, bytes) = (allocation.name.clone(), run.bytes as u64);
                return Err(fault(MemFault::ReadOnly { address: run.at, bytes, name }, run.first, common.pc));
            }
            if !self.config.checks || allocation.shadow.first_uninit(offset, run.total).is_none() {
                return Ok(());
            }
        }
        if !self.config.checks {
            return Ok(());
        }
        let atomic = run.aligned;
        if writes && !atomic {
            allocation.shadow.set_init(offset, run.total);
        } else if let Some(first) = allocation.shadow.first_uninit(offset, run.total) {
            if atomic {
                let first = allocation.base + first as u64;
                let place = allocation.place(run.at);
                let kind = MemFault::Uninitialised { address: run.at, bytes: run.total as u64, first, place };
                return Err(fault(kind, run.first, common.pc));
            }
            let access = LdsAccess {
                at: offset as u64,
                bytes: run.bytes,
                total: run.total,
                first: run.first,
                count: run.count,
                row: 0,
            };
            undefined_lanes(&allocation.shadow, offset, &access, undefined);
        }
        if kind.read_only() {
            return Ok(());
        }
        let near = allocation.rank == common.unit.rank;
        let coarse = kind == MemoryType::Coarse && near;
        let lingers = coarse || self.lingers(kind);
        let class = if writes && lingers && !run.through { Class::Dirty } else { Class::Memory };
        let clock = if writes || run.through || !kind.cached() { 2 } else { usize::from(!coarse) };
        let mut probe = common.probe(self, common.verb, class, clock, near);
        let per_lane = if run.total == run.bytes { run.total } else { run.bytes };
        let result = probe.span(&mut self.space.all[index].shadow, offset, run.total, run.first, per_lane);
        let now = probe.now(common.pc);
        result.map_err(|conflict| self.conflict(index, now, conflict).pc(common.pc))
    }

    /// The fault of the first lane of a run that is out of bounds.
    #[cold]
    fn out_of_bounds(&mut self, whole: MemFault, common: &Common<'_>, run: &Run, word: &'static str) -> Box<Fault> {
        let step = if run.total == run.bytes { 0 } else { run.bytes as u64 };
        for index in 0..run.count {
            let address = run.at.wrapping_add(step * index as u64);
            if let Err(kind) = self.locate(address, run.bytes as u64, word) {
                return fault(kind, run.first + index, common.pc);
            }
        }
        // Each lane is in an allocation of its own; allocations do not touch, so this does not happen.
        fault(whole, run.first, common.pc)
    }

    /// What a `buffer_wbl2` must remember.
    pub(crate) fn begin_write_back(&mut self, unit: Unit, op: &mut Operation) {
        if self.config.checks {
            let state = self.actors.get(unit.actor);
            (op.clock, op.memory_tick) = (Some(state.seen.clone()), state.memory_tick);
        }
    }

    /// A `buffer_inv`: the copies are dropped, and plain loads from now on see what has been observed.
    ///
    /// At once, not at some later step: no counter counts it (LLVM 22, `SIInsertWaitcnts`, leaves `buffer_inv` out), and the
    /// memory model of gfx942 (AMDGPUUsage) ends an acquire with it: load, `s_waitcnt vmcnt(0)`, `buffer_inv`. So what comes
    /// behind it, in this wave or behind a barrier in its workgroup, which has the same L1, must find it done. What was issued
    /// before and is still in flight may be performed behind it and see newer bytes, which is allowed.
    pub(crate) fn acquire(&mut self, unit: Unit, scope: Scope) {
        self.invalidate(unit, scope);
        if !self.config.checks || !scope.through() {
            return;
        }
        let state = self.actors.get_mut(unit.actor);
        state.cached[0] = state.seen.clone();
        if scope == Scope::System {
            state.cached[1] = state.seen.clone();
        }
    }

    /// An `s_dcache_inv` was issued: the same for scalar loads.
    pub(crate) fn acquire_scalar(&mut self, unit: Unit) {
        let state = self.actors.get_mut(unit.actor);
        state.scalar = state.seen.clone();
    }

    /// Time passes.
    pub(crate) const fn advance(&mut self) {
        self.ticks += 1;
    }

    /// What `s_memtime` reads.
    pub(crate) const fn time(&self) -> u64 {
        self.ticks
    }
}

/// Lanes with neighbouring addresses, or at one address.
struct Run {
    at: u64,
    /// Bytes of a lane, and of all.
    bytes: usize,
    total: usize,
    first: usize,
    count: usize,
    /// An atomic, which must be aligned.
    aligned: bool,
    /// Whether it goes past the caches.
    through: bool,
}

//! Operations in flight: when they are performed, and when a wave knows it.
//!
//! What must hold here: [`step`] performs any operation that the hardware's order allows; [`wait`] retires in the order
//! in which the counters count. Registers of a load stay busy until it is retired, although they may hold its result
//! long before.

use super::lds::{Lds, Scratch};
use super::operation::{Convert, Operation, Pins, What};
use super::perform::extend;
use super::{Memory, Unit};
use crate::fault::Exec;
use crate::rng::Rng;
use crate::time::WaveClock;
use crate::wave::{Counter, CounterSet, Generation, LANES, Limits, WaveState};

/// What an instruction that touches memory may use.
#[derive(Debug)]
pub struct Port<'a> {
    /// The wave.
    pub wave: &'a mut WaveState,
    /// Its operations in flight.
    pub pending: &'a mut Pending,
    /// The LDS of its workgroup.
    pub lds: &'a mut Lds,
    /// Global memory.
    pub memory: &'a mut Memory,
    /// Chance.
    pub rng: &'a mut Rng,
    /// The registers that the instruction reads.
    pub pins: Pins,
}

/// What a load of global memory asked for, by its first lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Address.
    pub address: u64,
    /// Bytes.
    pub bytes: u32,
    /// The lane.
    pub lane: u8,
}

/// A wave's operations in flight, oldest first, and its scratch.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    #[expect(clippy::vec_box, reason = "operations are large; they move between here, the free list and memory")]
    queue: Vec<Box<Operation>>,
    #[expect(clippy::vec_box, reason = "see above")]
    free: Vec<Box<Operation>>,
    /// Operations that are not performed yet.
    waiting: u32,
    /// Last ticks that were retired.
    memory_tick: u32,
    local_tick: u32,
    pub(super) scratch: Scratch,
    /// The last load of global memory.
    last_load: Option<Loaded>,
    /// The wave's virtual time.
    pub(crate) clock: WaveClock,
}

impl Pending {
    /// For a wave whose lanes have `scratch` bytes each.
    pub fn new(scratch: u32, checks: bool) -> Self {
        Self { scratch: Scratch::new(scratch, checks), ..Self::default() }
    }

    /// Makes one that an ended wave left that of a new wave: only the memory of its operations stays.
    pub fn renew(&mut self, scratch: u32, checks: bool) {
        let mut free = std::mem::take(&mut self.free);
        free.append(&mut self.queue);
        *self = Self { free, ..Self::new(scratch, checks) };
    }

    /// Operations that were issued and have not been performed.
    pub const fn in_flight(&self) -> u32 {
        self.waiting
    }

    /// Loads into registers that no `s_waitcnt` has waited for.
    pub fn loads(&self) -> u32 {
        self.queue.iter().filter(|op| op.delivers()).count() as u32
    }

    /// Where the oldest operation was issued that no `s_waitcnt` has waited for.
    pub fn oldest(&self) -> Option<u64> {
        self.queue.first().map(|op| op.pc)
    }

    /// The last load of global memory: what a wave that goes round in a loop polls.
    pub const fn last_load(&self) -> Option<Loaded> {
        self.last_load
    }

    /// When the last operation in flight that changes memory is complete, in virtual time.
    pub(crate) fn last_store(&self) -> u64 {
        let stores = self.queue.iter().filter(|op| op.writes_global() || op.what == What::WriteBack);
        stores.map(|op| op.time.at).max().unwrap_or(0)
    }

    /// An operation to fill in.
    pub(crate) fn take(&mut self, what: What, pc: u64) -> Box<Operation> {
        let mut op = self.free.pop().unwrap_or_default();
        op.renew(what, pc);
        op
    }

    /// An operation that is not needed after all.
    pub(crate) fn put_back(&mut self, op: Box<Operation>) {
        self.free.push(op);
    }

    /// The operation that must be performed first if the one at `index` is to be.
    fn first_before(&self, mut index: usize) -> usize {
        let mut at = index;
        while at > 0 {
            at -= 1;
            if !self.queue[at].done && self.queue[at].precedes(&self.queue[index]) {
                index = at;
            }
        }
        index
    }
}

pub(crate) const fn unit(wave: &WaveState) -> Unit {
    Unit { actor: wave.id.actor, rank: wave.id.rank, xcd: wave.id.xcd, cu: wave.id.cu }
}

impl Port<'_> {
    /// Puts a checked operation into flight; `vm` and `lgkm` tell whether it is one of vector memory, and one of LDS or scalar
    /// memory (a FLAT one is both). It counts accordingly.
    pub(crate) fn launch(&mut self, mut op: Box<Operation>, vm: bool, lgkm: bool) -> Exec {
        op.counted = counters(self.wave.generation, &op, vm, lgkm);
        let most = self.wave.generation.most();
        for counter in Counter::ALL {
            if op.counted.has(counter) {
                if self.wave.count(counter) >= most[counter as usize] {
                    wait(self, &Limits::of(counter, most[counter as usize] - 1))?;
                }
                self.wave.counts[counter as usize] += 1;
            }
        }
        if op.counted.has(Counter::X) {
            self.translate_others(op.scalar);
            op.pins = self.pins;
            pin(self.wave, &op.pins);
        }
        let unit = unit(self.wave);
        let clock = &mut self.pending.clock;
        self.memory.timed(|timer, memory| timer.issue(clock, &mut op, unit, memory));
        if op.delivers() {
            let (first, count) = (usize::from(op.dst), usize::from(op.dst_dwords));
            match op.scalar {
                true => self.wave.sgpr_busy |= scalar_mask(first, count),
                false => self.wave.set_vgpr_busy(first, count),
            }
        }
        if op.what == What::Load && op.global != 0 {
            let lane = op.global.trailing_zeros() as usize % LANES;
            let (address, bytes) = (op.address[lane], op.bytes as u32);
            self.pending.last_load = Some(Loaded { address, bytes, lane: lane as u8 });
        }
        self.pending.waiting += 1;
        self.pending.queue.push(op);
        Ok(())
    }

    /// Between vector and scalar memory the hardware waits by itself until all is translated (inferred: LLVM 22 emits no wait
    /// there, whichever registers are overwritten next).
    fn translate_others(&mut self, scalar: bool) {
        let other = |op: &Operation| op.counted.has(Counter::X) && op.scalar != scalar;
        if self.wave.any_pinned() && self.pending.queue.iter().any(|op| other(op)) {
            for index in 0..self.pending.queue.len() {
                if other(&self.pending.queue[index]) {
                    self.uncount(index, Counter::X);
                }
            }
            self.unpin();
        }
    }

    fn perform(&mut self, index: usize) {
        let unit = unit(self.wave);
        let op = &mut self.pending.queue[index];
        self.memory.perform_global(unit, op);
        self.memory.perform_local(op, self.lds, &mut self.pending.scratch);
        op.done = true;
        self.pending.waiting -= 1;
        if op.delivers() {
            deliver(self.wave, op);
        }
    }

    /// Performs the operation at `index` and, before it, all that must come first.
    fn force(&mut self, index: usize) {
        while !self.pending.queue[index].done {
            let first = self.pending.first_before(index);
            self.perform(first);
        }
    }

    /// The wave has waited for the operation at `index` in `counter`.
    fn retire(&mut self, index: usize, counter: Counter) {
        if counter == Counter::X {
            self.uncount(index, counter);
            return self.unpin();
        }
        self.force(index);
        if let Some(timer) = &mut self.memory.time {
            timer.retired(&mut self.pending.clock, &mut self.pending.queue[index]);
        }
        self.uncount(index, counter);
        if !self.pending.queue[index].counted.is_over() {
            return;
        }
        // What has returned was translated, and of vector memory all that came before it.
        let op = &self.pending.queue[index];
        if op.counted.has(Counter::X) {
            let first = if op.scalar { index } else { 0 };
            for earlier in first..=index {
                let op = &self.pending.queue[earlier];
                if op.counted.has(Counter::X) && (earlier == index || !op.scalar) {
                    self.uncount(earlier, Counter::X);
                }
            }
            self.unpin();
        }
        self.close(index);
    }

    /// `counter` counts the operation at `index` no more.
    fn uncount(&mut self, index: usize, counter: Counter) {
        let op = &mut self.pending.queue[index];
        op.counted = op.counted.without(counter);
        self.wave.counts[counter as usize] -= 1;
    }

    /// Some operation needs its sources no more: the others still do.
    fn unpin(&mut self) {
        self.wave.sgpr_pinned = 0;
        self.wave.vgpr_pinned.fill(0);
        for op in self.pending.queue.iter().filter(|op| op.counted.has(Counter::X)) {
            pin(self.wave, &op.pins);
        }
    }

    /// Nothing waits for the operation any more.
    fn close(&mut self, index: usize) {
        let op = self.pending.queue.remove(index);
        if op.delivers() {
            let (first, count) = (usize::from(op.dst), usize::from(op.dst_dwords));
            match op.scalar {
                true => self.wave.sgpr_busy &= !scalar_mask(first, count),
                false => self.wave.clear_vgpr_busy(first, count),
            }
        }
        if self.memory.config.checks {
            self.pending.memory_tick = self.pending.memory_tick.max(op.memory_tick);
            self.pending.local_tick = self.pending.local_tick.max(op.local_tick);
            let floor = self.memory.actors.floor;
            let state = self.memory.actors.get_mut(self.wave.id.actor);
            if let Some(clock) = &op.learned {
                state.observe(clock, floor);
            }
            if op.what == What::WriteBack
                && op.scope.through()
                && let Some(clock) = &op.clock
            {
                state.wrote_back(clock, op.memory_tick, op.scope == super::space::Scope::System);
            }
        }
        self.pending.free.push(op);
    }

    /// After waiting: up to which ticks the wave knows its own accesses to be complete.
    fn note_retired(&mut self) {
        if !self.memory.config.checks {
            return;
        }
        let (mut memory, mut local) = (self.pending.memory_tick, self.pending.local_tick);
        for op in &self.pending.queue {
            if op.memory_tick != 0 && op.what != What::WriteBack {
                memory = memory.min(op.memory_tick - 1);
            }
            if op.local_tick != 0 {
                local = local.min(op.local_tick - 1);
            }
        }
        self.memory.actors.get_mut(self.wave.id.actor).retired(memory, local);
    }
}

const fn scalar_mask(first: usize, count: usize) -> u128 {
    ((1 << count) - 1) << first
}

/// Performs at most one operation that the hardware's order allows, chosen by the port's `rng`; true if one was.
///
/// # Errors
/// None today.
pub fn step(port: &mut Port<'_>) -> Exec<bool> {
    let waiting = port.pending.waiting;
    if waiting == 0 {
        return Ok(false);
    }
    let mut skip = port.rng.below(waiting);
    let chosen = port.pending.queue.iter().position(|op| {
        if op.done {
            return false;
        }
        skip = skip.wrapping_sub(1);
        skip == u32::MAX
    });
    let Some(chosen) = chosen else { return Ok(false) };
    let first = port.pending.first_before(chosen);
    port.perform(first);
    // An operation that no counter counts is over when it is performed.
    if port.pending.queue[first].counted.is_empty() {
        port.close(first);
    }
    Ok(true)
}

/// A wait: performs operations until no counter counts more than `limits` allow.
///
/// # Errors
/// None today.
pub fn wait(port: &mut Port<'_>, limits: &Limits) -> Exec {
    if !limits.exceeded(&port.wave.counts) {
        return Ok(());
    }
    for counter in Counter::ALL {
        let limit = limits.0[counter as usize];
        while port.wave.count(counter) > limit {
            let Some(index) = next(port, counter, limit) else { break };
            port.retire(index, counter);
        }
    }
    let mut index = 0;
    while index < port.pending.queue.len() {
        let op = &port.pending.queue[index];
        match op.done && op.counted.is_empty() {
            true => port.close(index),
            false => index += 1,
        }
    }
    port.note_retired();
    Ok(())
}

/// Which operation `counter` counts down for: the oldest, but scalar loads return when they like.
fn next(port: &mut Port<'_>, counter: Counter, limit: u32) -> Option<usize> {
    let queue = &port.pending.queue;
    let oldest = queue.iter().position(|op| op.counted.has(counter))?;
    if limit == 0 || matches!(counter, Counter::Load | Counter::Store) {
        return Some(oldest);
    }
    let scalars = queue.iter().filter(|op| op.counted.has(counter) && op.scalar).count() as u32;
    if scalars == 0 {
        return Some(oldest);
    }
    let ordered = queue.iter().position(|op| op.counted.has(counter) && !op.scalar);
    let choice = port.rng.below(scalars + u32::from(ordered.is_some())) as usize;
    let mut scalar = queue.iter().enumerate().filter(|(_, op)| op.counted.has(counter) && op.scalar);
    scalar.nth(choice).map(|(index, _)| index).or(ordered)
}

/// Where an operation counts.
///
/// gfx1250: as `SIInsertWaitcnts` of LLVM 22 has it. Loads and atomics that return something in loadcnt, all other vector
/// memory in storecnt, also `global_wb`; LDS in dscnt, FLAT there too; scalar loads and messages in kmcnt. Whatever has an
/// address to translate, so not LDS and not messages, counts in xcnt as well.
fn counters(generation: Generation, op: &Operation, vm: bool, lgkm: bool) -> CounterSet {
    let mut set = CounterSet::default();
    if generation == Generation::Gfx9 {
        set = if vm { set.with(Counter::Load) } else { set };
        return if lgkm { set.with(Counter::Ds) } else { set };
    }
    if vm {
        let stores = match op.what {
            What::Store | What::WriteBack => true,
            What::Atomic(_) => !op.delivers(),
            _ => false,
        };
        set = set.with(if stores { Counter::Store } else { Counter::Load });
    }
    if lgkm {
        set = set.with(if op.scalar { Counter::Km } else { Counter::Ds });
    }
    let translates = vm && op.lanes() != 0 || op.what == What::ScalarLoad;
    if translates { set.with(Counter::X) } else { set }
}

fn pin(wave: &mut WaveState, pins: &Pins) {
    wave.sgpr_pinned |= pins.scalars;
    for (first, count) in pins.vectors {
        for register in usize::from(first)..usize::from(first) + usize::from(count) {
            let words = wave.vgpr_pinned.len();
            wave.vgpr_pinned[register / 64 % words] |= 1 << (register % 64);
        }
    }
}

/// After `s_endpgm`: what is still in flight and changes memory outlives the wave, and memory performs it later.
///
/// # Errors
/// None today.
pub fn retire(port: &mut Port<'_>) -> Exec {
    let unit = unit(port.wave);
    for op in port.pending.queue.drain(..) {
        if !op.done && (op.writes_global() || op.what == What::WriteBack) {
            port.memory.orphans.push((unit, op));
        }
    }
    port.pending.waiting = 0;
    port.wave.counts = Default::default();
    (port.wave.sgpr_busy, port.wave.vgpr_busy) = (0, Default::default());
    (port.wave.sgpr_pinned, port.wave.vgpr_pinned) = (0, Default::default());
    Ok(())
}

/// Writes a result into the registers.
fn deliver(wave: &mut WaveState, op: &mut Operation) {
    let first = usize::from(op.dst);
    if op.scalar {
        for index in 0..usize::from(op.dst_dwords) {
            let number = (first + index) & 127;
            wave.set_sgpr(number, op.data[0][index]);
            if op.undefined[0] >> index & 1 != 0 {
                wave.sgpr_init &= !(1 << number);
            }
        }
        return;
    }
    if op.convert != Convert::Dwords {
        convert(wave, op);
    }
    let lanes = op.lanes();
    for index in 0..usize::from(op.dst_dwords) {
        let (Some(register), Some(init)) = (wave.vgprs.get_mut(first + index), wave.vgpr_init.get_mut(first + index))
        else {
            return;
        };
        let row = &op.data[index % 4];
        if lanes == wave.all {
            *register = *row;
        } else {
            for lane in 0..LANES {
                if lanes >> lane & 1 != 0 {
                    register[lane] = row[lane];
                }
            }
        }
        *init = (*init | lanes) & !(op.undefined[index % 4] & lanes);
    }
}

fn convert(wave: &WaveState, op: &mut Operation) {
    let bytes = op.bytes;
    match op.convert {
        Convert::Dwords => {}
        Convert::Zero | Convert::Sign => {
            let signed = op.convert == Convert::Sign;
            op.data[0].iter_mut().for_each(|value| *value = extend(*value, bytes, signed));
        }
        Convert::Low(signed) | Convert::High(signed) => {
            let high = matches!(op.convert, Convert::High(_));
            let Some(old) = wave.vgprs.get(usize::from(op.dst)) else { return };
            for (value, old) in op.data[0].iter_mut().zip(old) {
                let half = extend(*value, bytes, signed) & 0xffff;
                *value = if high { old & 0xffff | half << 16 } else { old & 0xffff_0000 | half };
            }
            op.undefined[0] |= !wave.vgpr_init[usize::from(op.dst)];
        }
        Convert::Transpose(element) => transpose(op, usize::from(element)),
    }
}

/// Sixteen lanes read a block together: with E elements of a lane, element e of lane j is element j % E of what lane
/// `16 / E * e + j / E` read (hardware.md, section 4).
fn transpose(op: &mut Operation, element: usize) {
    let mut read = [[0u8; 8]; LANES];
    for (lane, bytes) in read.iter_mut().enumerate() {
        bytes[..4].copy_from_slice(&op.data[0][lane].to_le_bytes());
        bytes[4..].copy_from_slice(&op.data[1][lane].to_le_bytes());
    }
    let elements = 8 / element;
    let undefined = op.undefined[0] | op.undefined[1];
    for block in (0..LANES).step_by(16) {
        for lane in 0..16 {
            let mut bytes = [0u8; 8];
            for index in 0..elements {
                let source = block + 16 / elements * index + lane / elements;
                let from = lane % elements * element;
                bytes[index * element..][..element].copy_from_slice(&read[source][from..from + element]);
            }
            op.data[0][block + lane] = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            op.data[1][block + lane] = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        }
        if undefined >> block & 0xffff != 0 {
            op.undefined[0] |= 0xffff << block;
            op.undefined[1] |= 0xffff << block;
        }
    }
}

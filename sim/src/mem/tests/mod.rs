//! The rules of the memory model, each with a case that must be reported and one that must not.
//!
//! What must hold here: accesses are made as instructions make them (issued, then performed by steps and waits), so
//! that a rule that holds here holds for kernels. Loops over seeds try what a race of operations could give.

mod caches;
mod checks;
mod engines;
mod happens;
mod order;

use std::rc::Rc;

use super::{
    AtomicOp, Lds, MemFault, Memory, MemoryConfig, MemoryType, Pending, Pins, Port, Scope, What, retire, step, unit,
    wait,
};
use crate::fault::{Exec, Fault, FaultKind};
use crate::rng::Rng;
use crate::wave::{Counter, Limits, WaveId, WaveState};

/// A node with waves that a test drives by hand.
pub(super) struct Rig {
    pub(super) memory: Memory,
    pub(super) rng: Rng,
    waves: Vec<(WaveState, Pending)>,
    groups: Vec<Lds>,
}

/// A wave of a rig.
pub(super) type W = usize;

pub(super) const PC: u64 = 0x1000;

impl Rig {
    pub(super) fn new(checks: bool, seed: u64) -> Self {
        let memory = Memory::new(MemoryConfig { xcds: 2, checks, ..MemoryConfig::default() });
        Self { memory, rng: Rng::new(seed), waves: Vec::new(), groups: Vec::new() }
    }

    /// A buffer of `bytes` zeroes.
    pub(super) fn zeroes(&mut self, rank: u32, bytes: u64, kind: MemoryType) -> u64 {
        let at = self.memory.allocate_named(rank, bytes, 256, kind, &format!("{kind:?}")).expect("room");
        self.memory.host_fill(at, bytes, 0).expect("mapped");
        at
    }

    /// A wave in a workgroup of its own, on its own compute unit of an XCD.
    pub(super) fn wave(&mut self, rank: u32, xcd: u32) -> W {
        self.groups.push(Lds::new(1024, self.memory.checks()));
        let group = self.groups.len() as u32 - 1;
        self.wave_in(rank, xcd, group, 0)
    }

    /// A further wave of the workgroup of `of`.
    pub(super) fn mate(&mut self, of: W) -> W {
        let id = self.waves[of].0.id;
        self.wave_in(id.rank, id.xcd, id.group, id.wave + 1)
    }

    fn wave_in(&mut self, rank: u32, xcd: u32, group: u32, wave: u32) -> W {
        let actor = self.memory.begin_wave(rank);
        let kernel: Rc<str> = "k".into();
        self.memory.name_wave(actor, &kernel, [group, 0, 0], wave);
        let id = WaveId { actor, rank, xcd, cu: group, group, workgroup: [group, 0, 0], wave };
        let mut state = WaveState::new(id, 16, 16, 0, 0);
        state.vgpr_init.fill(!0);
        self.waves.push((state, Pending::new(16, self.memory.checks())));
        self.waves.len() - 1
    }

    pub(super) fn port(&mut self, w: W) -> Port<'_> {
        let (wave, pending) = &mut self.waves[w];
        let lds = &mut self.groups[wave.id.group as usize];
        Port { wave, pending, lds, memory: &mut self.memory, rng: &mut self.rng, pins: Pins::default() }
    }

    /// Lane 0 stores a dword.
    pub(super) fn store(&mut self, w: W, at: u64, value: u32, scope: Scope) -> Exec {
        let mut port = self.port(w);
        let mut op = port.pending.take(What::Store, PC + 4);
        (op.global, op.bytes, op.scope, op.address[0], op.data[0][0]) = (1, 4, scope, at, value);
        port.issue(op, true, false)
    }

    /// Lane 0 loads a dword into v0.
    pub(super) fn load(&mut self, w: W, at: u64, scope: Scope) -> Exec {
        self.load_to(w, at, scope, 0)
    }

    pub(super) fn load_to(&mut self, w: W, at: u64, scope: Scope, register: u16) -> Exec {
        let mut port = self.port(w);
        let mut op = port.pending.take(What::Load, PC + 8);
        (op.global, op.bytes, op.scope, op.address[0], op.dst, op.dst_dwords) = (1, 4, scope, at, register, 1);
        port.issue(op, true, false)
    }

    /// Loads and waits for it.
    pub(super) fn get(&mut self, w: W, at: u64, scope: Scope) -> Exec<u32> {
        self.load(w, at, scope)?;
        self.wait(w);
        Ok(self.register(w, 0))
    }

    pub(super) fn register(&self, w: W, register: usize) -> u32 {
        self.waves[w].0.vgprs[register][0]
    }

    pub(super) fn state(&self, w: W) -> &WaveState {
        &self.waves[w].0
    }

    pub(super) fn count(&self, w: W, counter: Counter) -> u32 {
        self.state(w).count(counter)
    }

    /// Lane 0 adds to 8 bytes.
    pub(super) fn add(&mut self, w: W, at: u64, value: u32, system: bool) -> Exec {
        let mut port = self.port(w);
        let mut op = port.pending.take(What::Atomic(AtomicOp::Add), PC + 12);
        op.scope = if system { Scope::System } else { Scope::Workgroup };
        (op.global, op.bytes, op.address[0], op.data[0][0], op.data[1][0]) = (1, 8, at, value, 0);
        port.issue(op, true, false)
    }

    pub(super) fn lds_store(&mut self, w: W, at: u64, value: u32) -> Exec {
        let mut port = self.port(w);
        let mut op = port.pending.take(What::Store, PC + 16);
        (op.lds, op.bytes, op.in_order, op.address[0], op.data[0][0]) = (1, 4, true, at, value);
        port.issue(op, false, true)
    }

    pub(super) fn lds_load(&mut self, w: W, at: u64) -> Exec {
        let mut port = self.port(w);
        let mut op = port.pending.take(What::Load, PC + 20);
        (op.lds, op.bytes, op.in_order, op.address[0], op.dst_dwords) = (1, 4, true, at, 1);
        port.issue(op, false, true)
    }

    /// Lane 0 loads a dword from global memory to LDS.
    pub(super) fn load_lds(&mut self, w: W, from: u64, to: u32) -> Exec {
        let mut port = self.port(w);
        let mut op = port.pending.take(What::Load, PC + 24);
        (op.global, op.bytes, op.address[0], op.to_lds) = (1, 4, from, Some((to, 4)));
        port.issue(op, true, false)
    }

    pub(super) fn scalar_load(&mut self, w: W, at: u64, register: u16) -> Exec {
        let mut port = self.port(w);
        let mut op = port.pending.take(What::ScalarLoad, PC + 28);
        (op.bytes, op.address[0], op.scalar, op.dst, op.dst_dwords) = (4, at, true, register, 1);
        port.memory.check_scalar(unit(port.wave), &mut op)?;
        port.launch(op, false, true)
    }

    pub(super) fn write_back(&mut self, w: W, scope: Scope) {
        let mut port = self.port(w);
        let mut op = port.pending.take(What::WriteBack, PC + 32);
        op.scope = scope;
        port.memory.begin_write_back(unit(port.wave), &mut op);
        port.launch(op, true, false).expect("no fault");
    }

    pub(super) fn invalidate(&mut self, w: W, scope: Scope) {
        let port = self.port(w);
        port.memory.acquire(unit(port.wave), scope);
    }

    /// `s_waitcnt 0`.
    pub(super) fn wait(&mut self, w: W) {
        self.wait_for(w, 0, 0);
    }

    pub(super) fn wait_for(&mut self, w: W, vm: u32, lgkm: u32) {
        wait(&mut self.port(w), &Limits::gfx9(vm, lgkm)).expect("no fault");
    }

    pub(super) fn step(&mut self, w: W) -> bool {
        step(&mut self.port(w)).expect("no fault")
    }

    pub(super) fn barrier(&mut self, waves: &[W]) {
        let actors: Vec<u32> = waves.iter().map(|w| self.waves[*w].0.id.actor).collect();
        let arrivals: Vec<_> = actors.iter().map(|actor| self.memory.arrive(*actor)).collect();
        if let Some(met) = self.memory.barrier(&arrivals) {
            actors.iter().zip(&arrivals).for_each(|(actor, arrival)| self.memory.leave(*actor, &met, arrival));
        }
    }

    pub(super) fn end(&mut self, w: W) {
        retire(&mut self.port(w)).expect("no fault");
        let actor = self.waves[w].0.id.actor;
        self.memory.end_wave(actor);
    }

    pub(super) fn peek(&self, at: u64) -> u32 {
        self.memory.peek(at, 4).expect("mapped") as u32
    }
}

/// The memory fault in a result.
pub(super) fn memory_fault<T: std::fmt::Debug>(result: Exec<T>) -> MemFault {
    match result.map_err(|fault| *fault) {
        Err(Fault { kind: FaultKind::Memory(fault), .. }) => fault,
        other => panic!("expected a memory fault, found {other:?}"),
    }
}

/// The sentence of a result that must be a fault.
pub(super) fn words<T: std::fmt::Debug>(result: Exec<T>) -> String {
    result.expect_err("a fault").to_string()
}

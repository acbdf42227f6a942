//! The machine: GPUs with compute units, workgroups and waves, and the loop that lets one thing at a time move.
//!
//! # The model
//! A GPU (rank) has `cus` compute units, spread over `xcds` XCDs. A launch's workgroups are given out in order of their linear
//! id, in turn over the XCDs, each to a compute unit with room for its waves, vector registers and LDS; what does not fit waits
//! until others have ended. A [`Schedule`] says which wave runs and for how many instructions. Between turns, memory
//! operations in flight are performed, cache lines evicted and engines moved, by the seed's choice. Time is the number of
//! executed instructions.
//!
//! # How faults are placed
//! `exec` and `mem` return a fault with at most lane and the pc of the issue; this room adds kernel, rank, workgroup, wave, the
//! offset in the kernel and the source line.
//!
//! What must hold here: no panic on any object, launch or code; the same seed, config and calls give the same run; a run ends
//! with all waves ended, with a fault, or at a limit in steps.

mod code;
mod deadlock;
mod dispatch;
#[cfg(test)]
mod fuzz;
mod group;
mod kernarg;
mod lines;
mod ports;
mod run;
mod schedule;
mod step;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests12;
mod time;

use std::collections::BTreeMap;

use tilewright_target::Target;

pub use code::ModuleId;
pub use ports::{Engines, HostEvent, NoEngines};
pub use schedule::Schedule;

use code::{Decoded, Module};
use dispatch::{ArgumentBlock, Running, UnitLoad};
use group::{Group, Wave};
use schedule::Turns;

use crate::fault::{Exec, Fault, FaultKind, Place};
use crate::loader::CodeObject;
use crate::mem::{Memory, MemoryConfig};
use crate::rng::Rng;
use crate::wave::Generation;

/// How a machine is built and run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimConfig {
    /// Seed of every choice.
    pub seed: u64,
    /// Compute units of a GPU. A real one has 304 (gfx942) or 256 (gfx950); fewer keep the model small, and enough for the
    /// workgroups of a test to be resident together.
    pub cus: u32,
    /// XCDs of a GPU: L2 caches. A real one has 8; two are enough to see what one L2 hides from another.
    pub xcds: u32,
    /// Whether undefined values, registers in flight and races are checked. Bounds always are.
    pub checks: bool,
    /// Which wave runs next.
    pub schedule: Schedule,
    /// Most instructions of all [`Sim::run`] calls together until the next launch; a run that needs more is a fault.
    pub limit: u64,
    /// Whether a node that stands still is looked for and reported before the limit.
    pub detect_deadlock: bool,
}

impl Default for SimConfig {
    fn default() -> Self {
        Self {
            seed: 0,
            cus: 16,
            xcds: 2,
            checks: true,
            schedule: Schedule::default(),
            limit: 1_000_000_000,
            detect_deadlock: true,
        }
    }
}

/// A kernel's launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The GPU.
    pub rank: u32,
    /// Workgroups in x, y, z.
    pub grid: [u32; 3],
    /// Work items of a workgroup in x, y, z.
    pub block: [u32; 3],
    /// The bytes of the explicit arguments as the kernel's metadata lays them out; hidden ones are added.
    pub args: Vec<u8>,
    /// LDS bytes beyond those that the kernel declares.
    pub dynamic_lds: u32,
}

/// How far a run came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All waves have ended.
    Ended,
    /// The steps were used up.
    OutOfSteps,
}

/// A wave that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaveReport {
    /// Where it stands.
    pub at: Place,
    /// What it does, in words.
    pub doing: String,
    /// Instructions that it has executed.
    pub instructions: u64,
}

/// A node of simulated GPUs.
#[derive(Debug)]
pub struct Sim {
    /// All memory of the node.
    pub memory: Memory,
    config: SimConfig,
    target: &'static Target,
    rng: Rng,
    modules: Vec<Module>,
    /// Decoded instructions by module and kernel.
    codes: Vec<Decoded>,
    code_index: BTreeMap<(usize, usize), usize>,
    launches: Vec<Running>,
    /// Slots of workgroups; empty ones are reused.
    groups: Vec<Option<Group>>,
    free_slots: Vec<usize>,
    spare_waves: Vec<Wave>,
    argument_blocks: Vec<ArgumentBlock>,
    /// By rank and compute unit.
    loads: Vec<Vec<UnitLoad>>,
    /// Whether a launch came or a workgroup ended since workgroups were started last.
    room: bool,
    /// (order of start, slot, wave) of the waves that can run, ascending.
    ready: Vec<(u64, usize, usize)>,
    started: u64,
    turns: Turns,
    events: BTreeMap<u64, Vec<HostEvent>>,
    steps: u64,
    /// When the node last changed in a way that others can see, and memory's version then.
    moved_at: u64,
    moved_version: u64,
    /// How often it was taken for dead and was not.
    false_alarms: u32,
}

/// The family of chips that a target belongs to: only gfx12's have waves of 32 lanes.
pub(crate) const fn generation_of(target: &Target) -> Generation {
    if target.warp_size == 32 { Generation::Gfx12 } else { Generation::Gfx9 }
}

impl Sim {
    /// A node without memory and kernels.
    pub fn new(target: &'static Target, config: SimConfig) -> Sim {
        let memory =
            Memory::new(MemoryConfig { xcds: config.xcds, checks: config.checks, generation: generation_of(target) });
        Sim {
            memory,
            target,
            rng: Rng::new(config.seed),
            config,
            modules: Vec::new(),
            codes: Vec::new(),
            code_index: BTreeMap::new(),
            launches: Vec::new(),
            groups: Vec::new(),
            free_slots: Vec::new(),
            spare_waves: Vec::new(),
            argument_blocks: Vec::new(),
            loads: Vec::new(),
            room: false,
            ready: Vec::new(),
            started: 0,
            turns: Turns::default(),
            events: BTreeMap::new(),
            steps: 0,
            moved_at: 0,
            moved_version: 0,
            false_alarms: 0,
        }
    }

    /// Its configuration.
    pub const fn config(&self) -> &SimConfig {
        &self.config
    }

    /// The chip.
    pub const fn target(&self) -> &'static Target {
        self.target
    }

    /// Instructions executed so far.
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// Loads a linked code object.
    ///
    /// # Errors
    /// [`FaultKind::Launch`] with the loader's sentence.
    pub fn load(&mut self, file: &[u8]) -> Exec<ModuleId> {
        let object = CodeObject::load(file, self.target)
            .map_err(|error| Fault::new(FaultKind::Launch { reason: error.to_string() }))?;
        self.add_object(object, file)
    }

    /// Takes a code object as it is; `file` is where its line tables are, and may be empty.
    ///
    /// # Errors
    /// [`FaultKind::Launch`] if this machine has no such chip.
    pub fn add_object(&mut self, object: CodeObject, file: &[u8]) -> Exec<ModuleId> {
        self.modules.push(Module::new(object, file, self.target)?);
        Ok(ModuleId(self.modules.len() - 1))
    }

    /// The object behind a module.
    ///
    /// # Panics
    /// If the id came from another machine.
    pub fn object(&self, module: ModuleId) -> &CodeObject {
        &self.modules[module.0].object
    }

    /// Plans something for when `step` instructions have been executed.
    pub fn at(&mut self, step: u64, event: HostEvent) {
        self.events.entry(step).or_default().push(event);
    }
}

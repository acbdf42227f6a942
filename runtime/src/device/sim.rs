//! The simulator as a device: it loads the linked code object of an artifact and executes its instructions and packets.
//!
//! What must hold here: kernels meet what mori's host library would give them; all ranks start together; nothing the launch
//! leaves in caches or queues is lost before buffers are read back. Buffers lie alone, with nothing near them, so that an
//! access outside one is a fault.
//!
//! A launch is only queued; the machine runs when somebody waits for it.

use std::any::Any;
use std::fmt;

use tilewright_artifact::{CodeBytes, CodeKind, KernelInfo};
use tilewright_sim::loader::CodeObject;
use tilewright_sim::machine::{Launch as Start, ModuleId as SimModule, Sim, SimConfig};
use tilewright_sim::mem::MemoryType;
use tilewright_sim::node::{Counters, EngineSet, Node};
use tilewright_sim::time::{RankTime, Trace};
use tilewright_target::Target;

use super::{Launch, Outcome, RankBuffers};
use crate::comm::Comm;
use crate::driver::{Address, Device, DeviceKind, Driver, EventId, KernelId, Limits, ModuleId, RankLaunch, WindowPart};
use crate::error::{DriverError, Error};
use crate::host::Prepared;
use crate::launch::needs_communicator;
use crate::rank::LsaRank;

/// How to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimOptions {
    /// Seed of schedules, completion order and evictions.
    pub seed: u64,
    /// Check initialisation, races and copies in flight. Bounds and waits always are.
    pub checks: bool,
    /// Steps after which a launch is given up.
    pub max_steps: u64,
    /// Queues to each peer; `None`: what the kernel needs, at least the default of the chip, and none without a communicator.
    pub queues: Option<u32>,
    /// What windows are. Coarse-grained is the weaker promise and the default: what runs on it mostly runs on fine-grained
    /// windows, too, but those need other bits of a fence.
    pub windows: MemoryType,
}

impl Default for SimOptions {
    fn default() -> Self {
        SimOptions { seed: 0, checks: true, max_steps: 1 << 30, queues: None, windows: MemoryType::Coarse }
    }
}

/// A simulated node of chips of one kind, as many as are asked for.
#[derive(Clone, Copy, Debug)]
pub struct SimDevice {
    target: &'static Target,
    options: SimOptions,
}

impl SimDevice {
    /// Chips of that target.
    pub const fn new(target: &'static Target, options: SimOptions) -> SimDevice {
        SimDevice { target, options }
    }
}

impl Device for SimDevice {
    fn kind(&self) -> DeviceKind {
        DeviceKind::Sim
    }

    fn describe(&self) -> String {
        format!("a simulated node of {}", self.target.name)
    }

    fn refuses(&self, target: &str, code: &CodeBytes) -> Option<String> {
        if self.target.sdma.is_none() || code.kind != CodeKind::Hsaco {
            return Some(format!("the simulator executes AMD code objects, and this is code for {target}"));
        }
        (self.target.name != target)
            .then(|| format!("the code is for {target}, and the simulated chip is {}", self.target.name))
    }

    fn open(&self, ranks: u32, queues: u32) -> Result<Box<dyn Driver>, DriverError> {
        Ok(Box::new(SimDriver::new(self.target, self.options, ranks, queues)?))
    }
}

/// The simulated node behind a communicator.
pub struct SimDriver {
    options: SimOptions,
    sim: Sim,
    node: Node,
    engines: EngineSet,
    limits: Limits,
    ranks: Vec<LsaRank>,
    /// Code objects that were loaded, each once.
    modules: Vec<(Vec<u8>, SimModule)>,
    /// Module and name of the kernels that were asked for.
    kernels: Vec<(SimModule, String)>,
    queued: bool,
    /// Whether virtual time is kept.
    timed: bool,
    /// Ranks and their virtual times, in picoseconds.
    points: Vec<(LsaRank, u64)>,
}

impl SimDriver {
    fn new(target: &'static Target, options: SimOptions, ranks: u32, queues: u32) -> Result<SimDriver, DriverError> {
        let facts = target.sdma.as_ref().ok_or_else(|| no_engines(target))?;
        let config =
            SimConfig { seed: options.seed, checks: options.checks, limit: options.max_steps, ..SimConfig::default() };
        let mut sim = Sim::new(target, config);
        let node = Node::new(&mut sim.memory, facts, ranks, queues)?;
        let engines = node.engines(&mut sim.memory)?;
        Ok(SimDriver {
            options,
            sim,
            node,
            engines,
            limits: Limits::of(target),
            ranks: (0..ranks).map(LsaRank::new).collect(),
            modules: Vec::new(),
            kernels: Vec::new(),
            queued: false,
            timed: false,
            points: Vec::new(),
        })
    }

    /// The machine: memory, steps, what runs.
    pub const fn machine(&self) -> &Sim {
        &self.sim
    }

    /// Keeps virtual time from now on, with a trace if that is wanted; false if nobody knows what things cost on this chip.
    /// Between launches only.
    pub fn keep_time(&mut self, trace: bool) -> bool {
        self.timed = self.sim.keep_time(&self.engines, trace);
        self.timed
    }

    /// Virtual times of the ranks, over all launches since they are kept.
    pub fn times(&self) -> Vec<RankTime> {
        self.sim.times()
    }

    /// The trace of all launches since times are kept, if one was wanted; recording ends.
    pub fn take_trace(&mut self) -> Option<Trace> {
        self.sim.take_trace(&self.engines)
    }

    /// Where the node's structures are.
    pub const fn node(&self) -> &Node {
        &self.node
    }

    /// The value of rank `at`'s slot for what `source` raised on queue id `queue`, as memory has it.
    ///
    /// # Errors
    /// If there is no such rank or slot.
    pub fn signal(&mut self, at: u32, source: u32, queue: u32) -> Result<u64, DriverError> {
        Ok(self.node.signal(&mut self.sim.memory, at, source, queue)?)
    }

    /// Every queue stands at `counters` with its ring full of the dword `fill`, as if launches had gone before. Engines
    /// go on from there: between launches only.
    ///
    /// # Errors
    /// If the doorbell stands where no ring can be.
    pub fn start_queues(&mut self, counters: Counters, fill: u32) -> Result<(), DriverError> {
        let ids: Vec<_> = self.node.queues().map(|(id, _)| id).collect();
        for id in ids {
            self.node.set_counters(&mut self.sim.memory, id, counters)?;
            self.node.fill_ring(&mut self.sim.memory, id, fill)?;
        }
        self.engines = self.node.engines(&mut self.sim.memory)?;
        Ok(())
    }
}

fn no_engines(target: &Target) -> DriverError {
    let why = format!("{} cannot be simulated: it is no AMD GPU whose engines are known", target.name);
    DriverError::Unavailable { device: DeviceKind::Sim, why }
}

fn refused(why: &str) -> DriverError {
    DriverError::Refused { device: DeviceKind::Sim, why: why.to_owned() }
}

impl Driver for SimDriver {
    fn kind(&self) -> DeviceKind {
        DeviceKind::Sim
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn ranks(&self) -> &[LsaRank] {
        &self.ranks
    }

    fn lsa_size(&self) -> u32 {
        self.ranks.len() as u32
    }

    fn queues(&self) -> u32 {
        self.node.ranks().first().map_or(0, |rank| rank.config().queues)
    }

    fn dev_comm(&self, rank: LsaRank) -> Option<Vec<u8>> {
        self.node.rank(rank.index()).map(|rank| rank.comm().bytes())
    }

    fn checks_bounds(&self) -> bool {
        true
    }

    fn allocate(&mut self, rank: LsaRank, bytes: u64, name: &str) -> Result<Address, DriverError> {
        // Empty ones get an address of their own, too.
        let address = self.sim.memory.allocate_named(rank.index(), bytes.max(1), 256, MemoryType::Coarse, name)?;
        Ok(Address(address))
    }

    fn free(&mut self, _: LsaRank, address: Address) -> Result<(), DriverError> {
        self.sim.memory.free(address.0).then_some(()).ok_or_else(|| refused("is asked to free what it never allocated"))
    }

    fn write(&mut self, _: LsaRank, address: Address, bytes: &[u8]) -> Result<(), DriverError> {
        Ok(self.sim.memory.host_write(address.0, bytes)?)
    }

    fn read(&mut self, _: LsaRank, address: Address, bytes: &mut [u8]) -> Result<(), DriverError> {
        Ok(self.sim.memory.host_read(address.0, bytes)?)
    }

    fn window(&mut self, bytes: u64, name: &str) -> Result<Vec<WindowPart>, DriverError> {
        let window = self.node.add_window(&mut self.sim.memory, name, bytes, self.options.windows)?;
        let part = |(rank, handle): (&LsaRank, &u64)| WindowPart {
            data: Address(window.part(rank.index())),
            handle: Address(*handle),
        };
        Ok(self.ranks.iter().zip(&window.devices).map(part).collect())
    }

    fn free_window(&mut self, parts: &[WindowPart]) -> Result<(), DriverError> {
        for part in parts {
            // A window of no bytes has no memory; its place in the flat address space stays taken in any case.
            self.sim.memory.free(part.data.0);
            self.sim.memory.free(part.handle.0);
        }
        Ok(())
    }

    fn load(&mut self, code: &CodeBytes) -> Result<ModuleId, DriverError> {
        if code.kind != CodeKind::Hsaco {
            return Err(refused("executes AMD code objects only"));
        }
        if let Some(known) = self.modules.iter().position(|(known, _)| *known == code.bytes) {
            return Ok(ModuleId(known));
        }
        let object = CodeObject::load(&code.bytes, self.sim.target())?;
        let module = self.sim.add_object(object, &code.bytes)?;
        self.modules.push((code.bytes.clone(), module));
        Ok(ModuleId(self.modules.len() - 1))
    }

    fn kernel(&mut self, module: ModuleId, info: &KernelInfo) -> Result<KernelId, DriverError> {
        let Some((_, module)) = self.modules.get(module.0) else { return Err(refused("never loaded this module")) };
        self.sim.object(*module).kernel(&info.name)?.check_against(info)?;
        self.kernels.push((*module, info.name.clone()));
        Ok(KernelId(self.kernels.len() - 1))
    }

    fn launch(&mut self, launch: &RankLaunch<'_>) -> Result<(), DriverError> {
        let Some((module, name)) = self.kernels.get(launch.kernel.0) else {
            return Err(refused("never prepared this kernel"));
        };
        let (grid, block) = (launch.grid, launch.block);
        let start = Start { rank: launch.rank.index(), grid, block, args: launch.args.to_vec(), dynamic_lds: 0 };
        self.sim.launch(*module, name, start)?;
        self.queued = true;
        Ok(())
    }

    fn synchronise(&mut self) -> Result<(), DriverError> {
        if std::mem::take(&mut self.queued) {
            self.sim.run(&mut self.engines)?;
        }
        Ok(())
    }

    /// Virtual time, which begins with the first point. The machine runs up to here: a point lies behind what was enqueued
    /// before, and when that is nobody knows before it has run.
    fn record(&mut self, rank: LsaRank) -> Result<EventId, DriverError> {
        self.synchronise()?;
        if !self.timed && !self.keep_time(false) {
            return Err(refused("keeps no virtual time for this chip: nobody knows what things cost on it"));
        }
        let times = self.sim.times();
        let now = times.iter().find(|time| time.rank == rank.index()).map_or(0, |time| time.end);
        self.points.push((rank, now));
        Ok(EventId(self.points.len() - 1))
    }

    fn elapsed(&mut self, from: EventId, to: EventId) -> Result<f64, DriverError> {
        match (self.points.get(from.0), self.points.get(to.0)) {
            (Some((rank, from)), Some((other, to))) if rank == other => Ok((*to as f64 - *from as f64) / 1e6),
            _ => Err(refused("measures between two events of one rank")),
        }
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

impl fmt::Debug for SimDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimDriver")
            .field("target", &self.limits.name)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// A simulated node with a communicator, which lives over several launches: [`Comm`] with what only the simulator has.
#[derive(Debug)]
pub struct SimNode {
    comm: Comm,
}

impl SimNode {
    /// A node of `ranks` chips, each with `queues` queues to each peer.
    ///
    /// # Errors
    /// If the chip's engines are not known, or what the node refuses.
    pub fn new(target: &'static Target, ranks: u32, queues: u32, options: SimOptions) -> Result<SimNode, Error> {
        Ok(SimNode { comm: Comm::new(&SimDevice::new(target, options), ranks, queues)? })
    }

    /// Its communicator.
    pub const fn comm(&self) -> &Comm {
        &self.comm
    }

    /// What `use_it` finds in the simulator.
    ///
    /// # Errors
    /// What `use_it` says.
    pub fn with<R>(&self, use_it: impl FnOnce(&mut SimDriver) -> Result<R, DriverError>) -> Result<R, Error> {
        let found = self.comm.with(|driver| driver.as_any().downcast_mut::<SimDriver>().map(use_it));
        found.unwrap_or_else(|| Err(refused("is another"))).map_err(Error::from)
    }

    /// Instructions on memory that waves have issued so far, over all launches.
    pub fn memory_instructions(&self) -> u64 {
        self.with(|driver| Ok(driver.machine().memory.instructions())).unwrap_or_default()
    }

    /// Instructions that waves have executed so far, over all launches.
    pub fn steps(&self) -> u64 {
        self.with(|driver| Ok(driver.machine().steps())).unwrap_or_default()
    }

    /// See [`SimDriver::signal`].
    ///
    /// # Errors
    /// If there is no such rank or slot.
    pub fn signal(&self, at: u32, source: u32, queue: u32) -> Result<u64, Error> {
        self.with(|driver| driver.signal(at, source, queue))
    }

    /// See [`SimDriver::start_queues`].
    ///
    /// # Errors
    /// If the doorbell stands where no ring can be.
    pub fn start_queues(&self, counters: Counters, fill: u32) -> Result<(), Error> {
        self.with(|driver| driver.start_queues(counters, fill))
    }

    /// Loads a code object and runs one launch of a kernel of it to its end. Its buffers are memory of this launch only.
    ///
    /// # Errors
    /// What refuses the launch, or the first fault.
    pub fn launch(&self, code: &CodeBytes, launch: &Launch<'_>) -> Result<Outcome, Error> {
        let prepared = self.prepare(code, launch)?;
        let instructions = self.run(&prepared)?;
        Ok(Outcome { instructions, buffers: prepared.buffers()? })
    }

    /// Loads a code object and puts the buffers of a launch into memory, where they stay.
    ///
    /// # Errors
    /// What refuses the launch.
    pub fn prepare(&self, code: &CodeBytes, launch: &Launch<'_>) -> Result<Prepared, Error> {
        self.comm.prepare(code, launch)
    }

    /// Runs a launch to its end, on the buffers as the last one left them; the instructions that waves executed.
    ///
    /// # Errors
    /// The first fault.
    pub fn run(&self, prepared: &Prepared) -> Result<u64, Error> {
        let before = self.steps();
        prepared.run()?;
        Ok(self.steps() - before)
    }

    /// See [`Prepared::buffers`].
    ///
    /// # Errors
    /// What the memory says.
    pub fn buffers(&self, prepared: &Prepared) -> Result<Vec<RankBuffers>, Error> {
        prepared.buffers()
    }
}

/// Runs one launch on a fresh node, and checks that the signals stand where the formulas say.
///
/// # Errors
/// As [`SimNode::new`] and [`SimNode::launch`]; a signal that was raised more or less often.
pub fn run(
    target: &'static Target,
    code: &CodeBytes,
    launch: &Launch<'_>,
    options: SimOptions,
) -> Result<Outcome, Error> {
    let (node, outcome) = launched(target, code, launch, options, None)?;
    node.comm.check_totals()?;
    Ok(outcome)
}

/// The same, with virtual times and, if it is wanted, a trace.
///
/// # Errors
/// As [`run`].
pub fn run_timed(
    target: &'static Target,
    code: &CodeBytes,
    launch: &Launch<'_>,
    options: SimOptions,
    trace: bool,
) -> Result<(Outcome, Vec<RankTime>, Option<Trace>), Error> {
    let (node, outcome) = launched(target, code, launch, options, Some(trace))?;
    node.comm.check_totals()?;
    let (times, trace) = node.with(|driver| Ok((driver.times(), driver.take_trace())))?;
    Ok((outcome, times, trace))
}

/// One launch on a fresh node, which keeps virtual time if `trace` says so.
fn launched(
    target: &'static Target,
    code: &CodeBytes,
    launch: &Launch<'_>,
    options: SimOptions,
    trace: Option<bool>,
) -> Result<(SimNode, Outcome), Error> {
    launch.check()?;
    let facts = target.sdma.as_ref().ok_or_else(|| no_engines(target))?;
    let queues = options.queues.unwrap_or_else(|| match needs_communicator(launch.kernel) {
        true => launch.kernel.min_queues.max(facts.default_queues),
        false => 0,
    });
    let node = SimNode::new(target, launch.ranks.len() as u32, queues, options)?;
    if let Some(trace) = trace {
        node.with(|driver| Ok(driver.keep_time(trace)))?;
    }
    let outcome = node.launch(code, launch)?;
    Ok((node, outcome))
}

//! The simulator as a device: it loads the linked code object of an artifact and executes its instructions and packets.
//!
//! What must hold here: kernels meet what mori's host library would give them; all ranks start together; nothing the launch
//! leaves in caches or queues is lost before buffers are read back. Buffers lie alone, with nothing near them, so that an
//! access outside one is a fault even where guard bytes would miss it.

use tilewright_artifact::{ArgInfo, ArgKind, KernelInfo};
use tilewright_sim::fault::Fault;
use tilewright_sim::loader::{CodeObject, LoadError};
use tilewright_sim::machine::{Launch as Start, ModuleId, Sim, SimConfig};
use tilewright_sim::mem::MemoryType;
use tilewright_sim::node::{Counters, EngineSet, Node};
use tilewright_sim::time::{RankTime, Trace};
use tilewright_target::{Target, mori_abi};

use super::{ArgError, Launch, Outcome, RankBuffers};
use crate::launch::{LaunchError, check_launch};

/// Entries of a table of signal totals: the largest number of ranks.
const TOTALS: usize = tilewright_sim::node::MAX_RANKS as usize;

/// How to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimOptions {
    /// Seed of schedules, completion order and evictions.
    pub seed: u64,
    /// Check initialisation, races and copies in flight. Bounds and waits always are.
    pub checks: bool,
    /// Steps after which a launch is given up.
    pub max_steps: u64,
    /// Queues to each peer; `None`: what the kernel needs, at least the default of the chip.
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

/// A launch that did not end well.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SimError {
    /// The code object is not for this device, or broken.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The kernel does not fit the device or the communicator.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The arguments do not fit the kernel.
    #[error(transparent)]
    Args(#[from] ArgError),
    /// The chip has no description of its engines.
    #[error("{0} cannot be simulated: it is no AMD GPU whose engines are known")]
    Target(&'static str),
    /// Something went wrong while it ran.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
}

/// A simulated node with a communicator, which lives over several launches.
pub struct SimNode {
    target: &'static Target,
    options: SimOptions,
    sim: Sim,
    node: Node,
    engines: EngineSet,
    /// Code objects that were loaded.
    modules: Vec<(Vec<u8>, ModuleId)>,
}

/// A launch whose code and buffers are in a node's memory: it may run many times, as a program would run it.
#[derive(Debug)]
pub struct Prepared {
    module: ModuleId,
    kernel: KernelInfo,
    placed: Placed,
}

impl SimNode {
    /// A node of `ranks` chips, each with `queues` queues to each peer.
    ///
    /// # Errors
    /// [`SimError::Target`], or what the node refuses.
    pub fn new(target: &'static Target, ranks: u32, queues: u32, options: SimOptions) -> Result<SimNode, SimError> {
        let facts = target.sdma.as_ref().ok_or(SimError::Target(target.name))?;
        let config =
            SimConfig { seed: options.seed, checks: options.checks, limit: options.max_steps, ..SimConfig::default() };
        let mut sim = Sim::new(target, config);
        let node = Node::new(&mut sim.memory, facts, ranks, queues)?;
        let engines = node.engines(&mut sim.memory)?;
        Ok(SimNode { target, options, sim, node, engines, modules: Vec::new() })
    }

    /// Queues to each peer.
    pub fn queues(&self) -> u32 {
        self.node.ranks().first().map_or(0, |rank| rank.config().queues)
    }

    /// Instructions on memory that waves have issued so far, over all launches.
    pub const fn memory_instructions(&self) -> u64 {
        self.sim.memory.instructions()
    }

    /// Keeps virtual time from now on, with a trace if that is wanted; false if nobody knows what things cost on this chip.
    /// Between launches only.
    pub fn keep_time(&mut self, trace: bool) -> bool {
        self.sim.keep_time(&self.engines, trace)
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

    /// The value of rank `at`'s slot for what `source` raised on queue id `queue`.
    ///
    /// # Errors
    /// If there is no such rank or slot.
    pub fn signal(&mut self, at: u32, source: u32, queue: u32) -> Result<u64, SimError> {
        Ok(self.node.signal(&mut self.sim.memory, at, source, queue)?)
    }

    /// Every queue stands at `counters` with its ring full of the dword `fill`, as if launches had gone before. Engines
    /// go on from there: between launches only.
    ///
    /// # Errors
    /// If the doorbell stands where no ring can be.
    pub fn start_queues(&mut self, counters: Counters, fill: u32) -> Result<(), SimError> {
        let ids: Vec<_> = self.node.queues().map(|(id, _)| id).collect();
        for id in ids {
            self.node.set_counters(&mut self.sim.memory, id, counters)?;
            self.node.fill_ring(&mut self.sim.memory, id, fill)?;
        }
        self.engines = self.node.engines(&mut self.sim.memory)?;
        Ok(())
    }

    /// Loads a code object and runs one launch of a kernel of it to its end. Its buffers are memory of this launch only.
    ///
    /// # Errors
    /// What refuses the launch, or the first fault.
    pub fn launch(&mut self, code: &[u8], launch: &Launch<'_>) -> Result<Outcome, SimError> {
        let prepared = self.prepare(code, launch)?;
        let instructions = self.run(&prepared)?;
        let buffers = self.buffers(&prepared)?;
        for (_, address, _) in prepared.placed.buffers.iter().flatten() {
            self.sim.memory.free(*address);
        }
        Ok(Outcome { instructions, buffers })
    }

    /// Loads a code object and puts the buffers of a launch into memory, where they stay.
    ///
    /// # Errors
    /// What refuses the launch.
    pub fn prepare(&mut self, code: &[u8], launch: &Launch<'_>) -> Result<Prepared, SimError> {
        launch.check()?;
        check_launch(launch.kernel, self.target, self.queues())?;
        let object = CodeObject::load(code, self.target)?;
        object.kernel(&launch.kernel.name)?.check_against(launch.kernel)?;
        let ranks = self.node.ranks().len();
        if launch.ranks.len() != ranks {
            return Err(ArgError::Ranks { given: launch.ranks.len(), ranks }.into());
        }
        let module = match self.modules.iter().find(|(known, _)| known == code) {
            Some((_, module)) => *module,
            None => {
                let module = self.sim.load(code)?;
                self.modules.push((code.to_vec(), module));
                module
            }
        };
        Ok(Prepared { module, kernel: launch.kernel.clone(), placed: self.place(launch)? })
    }

    /// Runs a launch to its end, on the buffers as the last one left them; the instructions that waves executed.
    ///
    /// # Errors
    /// The first fault.
    pub fn run(&mut self, prepared: &Prepared) -> Result<u64, SimError> {
        let Prepared { module, kernel, placed } = prepared;
        for (name, rank, address) in &placed.totals {
            let totals = self.totals(kernel, name, *rank)?;
            self.sim.memory.host_write(*address, &totals)?;
        }
        for (rank, args) in placed.args.iter().enumerate() {
            let (grid, block) = (kernel.grid, kernel.block);
            let start = Start { rank: rank as u32, grid, block, args: args.clone(), dynamic_lds: 0 };
            self.sim.launch(*module, &kernel.name, start)?;
        }
        let before = self.sim.steps();
        self.sim.run(&mut self.engines)?;
        Ok(self.sim.steps() - before)
    }

    /// For each rank the contents of the buffers of a launch, in the order of its arguments.
    ///
    /// # Errors
    /// If they are another node's.
    pub fn buffers(&mut self, prepared: &Prepared) -> Result<Vec<RankBuffers>, SimError> {
        let mut all = Vec::new();
        for buffers in &prepared.placed.buffers {
            let mut read = Vec::new();
            for (name, address, bytes) in buffers {
                let mut content = vec![0; *bytes];
                self.sim.memory.host_read(*address, &mut content)?;
                read.push((name.clone(), content));
            }
            all.push(read);
        }
        Ok(all)
    }

    /// Puts every buffer into memory and makes the argument block of every rank.
    fn place(&mut self, launch: &Launch<'_>) -> Result<Placed, SimError> {
        let kernel = launch.kernel;
        let mut placed = Placed::new(kernel, launch.ranks.len());
        for arg in &kernel.args {
            match arg.kind {
                ArgKind::DevComm => {
                    for (rank, block) in placed.args.iter_mut().enumerate() {
                        put(kernel, arg, block, &self.node.ranks()[rank].comm().bytes())?;
                    }
                }
                ArgKind::Window => self.place_window(launch, arg, &mut placed)?,
                ArgKind::Global => {
                    for (rank, args) in launch.ranks.iter().enumerate() {
                        let content = args.buffer(&arg.name).unwrap_or_default();
                        let name = format!("`{}` of rank {rank}", arg.name);
                        let address = self.buffer(rank as u32, content, &name)?;
                        placed.buffers[rank].push((arg.name.clone(), address, content.len()));
                        put(kernel, arg, &mut placed.args[rank], &address.to_le_bytes())?;
                    }
                }
                ArgKind::Scalar | ArgKind::Where => {
                    for (args, block) in launch.ranks.iter().zip(&mut placed.args) {
                        let value = args.scalar(&arg.name).unwrap_or_default().to_le_bytes();
                        put(kernel, arg, block, &value[..(arg.bytes as usize).min(8)])?;
                    }
                }
                ArgKind::Hidden => {
                    for (rank, block) in placed.args.iter_mut().enumerate() {
                        let totals = self.totals(kernel, &arg.name, rank as u32)?;
                        let name = format!("`{}` of rank {rank}", arg.name);
                        let address = self.buffer(rank as u32, &totals, &name)?;
                        placed.totals.push((arg.name.clone(), rank as u32, address));
                        put(kernel, arg, block, &address.to_le_bytes())?;
                    }
                }
            }
        }
        Ok(placed)
    }

    fn place_window(&mut self, launch: &Launch<'_>, arg: &ArgInfo, placed: &mut Placed) -> Result<(), SimError> {
        let bytes = launch.ranks.first().and_then(|args| args.buffer(&arg.name)).map_or(0, <[u8]>::len);
        let window = self.node.add_window(&mut self.sim.memory, &arg.name, bytes as u64, self.options.windows)?;
        for (rank, args) in launch.ranks.iter().enumerate() {
            let part = window.part(rank as u32);
            self.sim.memory.host_write(part, args.buffer(&arg.name).unwrap_or_default())?;
            placed.buffers[rank].push((arg.name.clone(), part, bytes));
            put(launch.kernel, arg, &mut placed.args[rank], &window.devices[rank].to_le_bytes())?;
        }
        Ok(())
    }

    /// A buffer with content; empty ones get an address of their own, too.
    fn buffer(&mut self, rank: u32, content: &[u8], name: &str) -> Result<u64, SimError> {
        let bytes = (content.len() as u64).max(1);
        let address = self.sim.memory.allocate_named(rank, bytes, 256, MemoryType::Coarse, name)?;
        self.sim.memory.host_write(address, content)?;
        Ok(address)
    }

    /// What earlier launches raised: for each source rank the value of the slot that the signal of this table counts in.
    fn totals(&mut self, kernel: &KernelInfo, table: &str, rank: u32) -> Result<Vec<u8>, SimError> {
        // The compiler calls the table of signal `s` `s_base`, made unique by more letters.
        let signals = kernel.signals.iter().filter(|signal| table.starts_with(&format!("{}_base", signal.name)));
        let signal = signals.max_by_key(|signal| signal.name.len());
        let mut totals = vec![0; TOTALS * mori_abi::SIGNAL_BYTES as usize];
        let Some(signal) = signal else { return Ok(totals) };
        for (source, slot) in
            totals.chunks_exact_mut(mori_abi::SIGNAL_BYTES as usize).take(self.node.ranks().len()).enumerate()
        {
            let value = self.node.signal(&mut self.sim.memory, rank, source as u32, signal.queue)?;
            slot.copy_from_slice(&value.to_le_bytes());
        }
        Ok(totals)
    }
}

impl std::fmt::Debug for SimNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimNode")
            .field("target", &self.target.name)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// A launch in memory.
#[derive(Debug)]
struct Placed {
    /// For each rank the argument block.
    args: Vec<Vec<u8>>,
    /// For each rank the buffers: name, address, bytes.
    buffers: Vec<Vec<(String, u64, usize)>>,
    /// Tables of signal totals: name, rank, address. They are filled when the launch starts.
    totals: Vec<(String, u32, u64)>,
}

impl Placed {
    fn new(kernel: &KernelInfo, ranks: usize) -> Placed {
        // An argument block is at most some KiB; a description that says more is refused where it is used.
        let bytes = kernel.args_bytes().min(1 << 16) as usize;
        Placed { args: vec![vec![0; bytes]; ranks], buffers: vec![Vec::new(); ranks], totals: Vec::new() }
    }
}

/// Puts an argument into its place in the block.
fn put(kernel: &KernelInfo, arg: &ArgInfo, block: &mut [u8], value: &[u8]) -> Result<(), ArgError> {
    let wrong = || ArgError::Size {
        kernel: kernel.name.clone(),
        name: arg.name.clone(),
        bytes: arg.bytes,
        expected: value.len() as u32,
    };
    if arg.bytes as usize != value.len() {
        return Err(wrong());
    }
    let at = arg.offset as usize;
    block.get_mut(at..at + value.len()).ok_or_else(wrong)?.copy_from_slice(value);
    Ok(())
}

/// Runs one launch on a fresh node.
///
/// # Errors
/// As [`SimNode::new`] and [`SimNode::launch`].
pub fn run(
    target: &'static Target,
    code: &[u8],
    launch: &Launch<'_>,
    options: SimOptions,
) -> Result<Outcome, SimError> {
    fresh(target, launch, options)?.launch(code, launch)
}

/// The same, with virtual times and, if it is wanted, a trace.
///
/// # Errors
/// As [`run`].
pub fn run_timed(
    target: &'static Target,
    code: &[u8],
    launch: &Launch<'_>,
    options: SimOptions,
    trace: bool,
) -> Result<(Outcome, Vec<RankTime>, Option<Trace>), SimError> {
    let mut node = fresh(target, launch, options)?;
    node.keep_time(trace);
    let outcome = node.launch(code, launch)?;
    Ok((outcome, node.times(), node.take_trace()))
}

/// A node for one launch.
fn fresh(target: &'static Target, launch: &Launch<'_>, options: SimOptions) -> Result<SimNode, SimError> {
    launch.check()?;
    let facts = target.sdma.as_ref().ok_or(SimError::Target(target.name))?;
    let queues = options.queues.unwrap_or_else(|| launch.kernel.min_queues.max(facts.default_queues));
    SimNode::new(target, launch.ranks.len() as u32, queues, options)
}

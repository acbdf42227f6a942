//! One rank with its queues on the simulator, and one launch at a time. There are no engines: the file's events say what
//! they would have done.

use std::collections::BTreeMap;

use tilewright_sim::fault::Fault;
use tilewright_sim::machine::{Launch, ModuleId, NoEngines, Outcome, Schedule, Sim, SimConfig};
use tilewright_sim::mem::MemoryType;
use tilewright_sim::node::{Counters, Node, RankConfig, window_device};
use tilewright_sim::sdma::QueueId;
use tilewright_target::{SdmaFacts, Target};

use crate::kernels::COLUMNS;
use crate::rows::{Config, Event, Res, Row, Step};

/// What rings hold before the first launch.
pub(crate) const PATTERN: u32 = 0xdead_beef;

/// Instructions between two events.
const EVENT_DISTANCE: u64 = 400;

/// Instructions after which a launch that has not ended hangs: the golden file's own limit.
const HANGS_AFTER: u64 = 20_000;

/// Instructions after which a launch that should end is given up.
const ENDS_WITHIN: u64 = 4_000_000;

/// Counters and ring of a queue.
#[derive(Clone, PartialEq)]
pub(crate) struct State {
    pub(crate) counters: Counters,
    pub(crate) ring: Vec<u8>,
}

/// How a launch went.
pub(crate) struct Ran {
    pub(crate) ended: bool,
    /// It was still running when the last event fired.
    pub(crate) waited: bool,
    /// What changed, in order: see [`World::watch`].
    pub(crate) order: Vec<&'static str>,
}

pub(crate) struct World {
    sim: Sim,
    node: Node,
    module: ModuleId,
    /// Communicator and windows, as a kernel takes them.
    args: Vec<u8>,
    signals: u64,
    rank: u32,
    target: &'static Target,
    facts: &'static SdmaFacts,
    /// Where the threads of the last launch say that they came back, and how many they are.
    done: (u64, u32),
}

fn schedule(row: &Row) -> Res<Schedule> {
    match row.schedule.as_str() {
        "sequential" => Ok(Schedule::Sequential { turn: u32::MAX }),
        "roundrobin" => Ok(Schedule::RoundRobin),
        "random" => Ok(Schedule::Random { slice: 3 }),
        other => Err(format!("schedule `{other}`")),
    }
}

fn told<T>(result: Result<T, Box<Fault>>) -> Res<T> {
    result.map_err(|fault| fault.to_string())
}

impl World {
    /// A node as the row has it, its queues in the given states, its signals too.
    pub(crate) fn new(row: &Row, object: &[u8], states: &BTreeMap<QueueId, State>, seed: u64) -> Res<World> {
        let cfg = &row.cfg;
        let config = SimConfig { seed, schedule: schedule(row)?, detect_deadlock: false, ..SimConfig::default() };
        let mut sim = Sim::new(row.target, config);
        let rank = cfg.lsa_rank;
        let pool = pool_bytes(cfg);
        told(sim.memory.allocate_at(cfg.signals, rank, pool as u64, MemoryType::Uncached, "signals"))?;
        told(sim.memory.host_write(cfg.signals, &vec![0; pool]))?;
        let node = told(Node::with_ranks(&mut sim.memory, row.facts, &[rank_config(cfg)]))?;
        let mut args = node.rank(rank).ok_or("no rank")?.comm().bytes();
        for (base, stride, window_rank) in cfg.windows {
            let device = told(window_device(&mut sim.memory, rank, base, stride, window_rank))?;
            args.extend(device.to_le_bytes());
        }
        for (id, queue) in node.queues() {
            match states.get(&id) {
                None => told(node.fill_ring(&mut sim.memory, id, PATTERN))?,
                Some(state) => {
                    told(node.set_counters(&mut sim.memory, id, state.counters))?;
                    told(sim.memory.host_write(queue.ring, &state.ring))?;
                }
            }
        }
        let module = told(sim.load(object))?;
        let (target, facts) = (row.target, row.facts);
        Ok(World { sim, node, module, args, signals: cfg.signals, rank, target, facts, done: (0, 0) })
    }

    /// Another node with the queues in the given states and this one's signals, for what comes after a hang.
    pub(crate) fn again(
        &mut self,
        row: &Row,
        object: &[u8],
        states: &BTreeMap<QueueId, State>,
        seed: u64,
    ) -> Res<World> {
        let mut new = World::new(row, object, states, seed)?;
        let mut pool = vec![0; pool_bytes(&row.cfg)];
        told(self.sim.memory.host_read(self.signals, &mut pool))?;
        told(new.sim.memory.host_write(new.signals, &pool))?;
        Ok(new)
    }

    /// All queues.
    pub(crate) fn queues(&self) -> Vec<QueueId> {
        self.node.queues().map(|(id, _)| id).collect()
    }

    /// The state of a queue.
    pub(crate) fn state(&mut self, id: QueueId) -> Res<State> {
        let counters = told(self.node.counters(&mut self.sim.memory, id))?;
        Ok(State { counters, ring: told(self.node.ring(&mut self.sim.memory, id))? })
    }

    /// Runs a step, for long if it may not hang. `watched` are queues whose changes are put down in order.
    pub(crate) fn run(&mut self, kernel: &str, step: &Step, may_hang: bool, watched: &[(QueueId, State)]) -> Res<Ran> {
        for (slot, value) in &step.signals {
            self.fire(Event::Signal { slot: *slot, value: *value })?;
        }
        self.launch(kernel, step)?;
        let mut ran = Ran { ended: false, waited: false, order: Vec::new() };
        for event in &step.events {
            ran.ended = ran.ended || told(self.sim.run_for(&mut NoEngines, EVENT_DISTANCE))? == Outcome::Ended;
            ran.waited = !ran.ended;
            self.fire(*event)?;
        }
        if !ran.ended {
            ran.ended = match watched.is_empty() {
                true => self.finish(may_hang)?,
                false => self.watch(watched, &mut ran.order)?,
            };
        }
        Ok(ran)
    }

    /// Lets the launch end; whether it does. Where it may hang, each wave gets as many instructions as the file gave one.
    pub(crate) fn finish(&mut self, may_hang: bool) -> Res<bool> {
        let waves = u64::from(self.done.1 / self.target.warp_size).max(1);
        let limit = if may_hang { HANGS_AFTER * waves } else { ENDS_WITHIN };
        Ok(told(self.sim.run_for(&mut NoEngines, limit))? == Outcome::Ended)
    }

    /// The threads that came back from their call in the last launch.
    pub(crate) fn returned(&mut self) -> Res<Vec<i64>> {
        let (at, threads) = self.done;
        let mut flags = vec![0; threads as usize * 4];
        told(self.sim.memory.host_read(at, &mut flags))?;
        Ok((0..i64::from(threads)).filter(|t| flags[*t as usize * 4] == 1).collect())
    }

    fn launch(&mut self, kernel: &str, step: &Step) -> Res<()> {
        let threads = step.block * step.grid;
        let mut lines = vec![0i64; (threads * COLUMNS) as usize];
        for lane in &step.lanes {
            let line = usize::try_from(lane[0]).map_err(|_| "a thread below zero")? * COLUMNS as usize;
            let line = lines.get_mut(line..line + COLUMNS as usize).ok_or("a thread that is not there")?;
            line.copy_from_slice(lane);
            line[0] = 1;
        }
        let bytes: Vec<u8> = lines.iter().flat_map(|number| number.to_le_bytes()).collect();
        let memory = &mut self.sim.memory;
        let lanes = told(memory.allocate(self.rank, bytes.len() as u64, 256, MemoryType::Coarse))?;
        let done = told(memory.allocate(self.rank, u64::from(threads) * 4, 256, MemoryType::Uncached))?;
        told(memory.host_write(lanes, &bytes))?;
        told(memory.host_write(done, &vec![0; threads as usize * 4]))?;
        self.done = (done, threads);
        let mut args = self.args.clone();
        args.extend(lanes.to_le_bytes());
        args.extend(done.to_le_bytes());
        let launch =
            Launch { rank: self.rank, grid: [step.grid, 1, 1], block: [step.block, 1, 1], args, dynamic_lds: 0 };
        told(self.sim.launch(self.module, kernel, launch))
    }

    /// Writes what an engine would have written.
    pub(crate) fn fire(&mut self, event: Event) -> Res<()> {
        let (address, value) = match event {
            Event::Signal { slot, value } => (self.signals + slot * 8, value),
            Event::Rptr { peer, queue, value } => {
                let id = QueueId { rank: self.rank, peer, queue };
                (self.node.queue(id).ok_or("an event of a queue that is not there")?.rptr, value)
            }
        };
        told(self.sim.memory.host_write(address, &value.to_le_bytes()))
    }

    /// Runs one instruction at a time and puts down what of the queues changed since: counters by name, `ring` for bytes.
    fn watch(&mut self, watched: &[(QueueId, State)], order: &mut Vec<&'static str>) -> Res<bool> {
        let places: Vec<(&str, u64)> = watched.iter().flat_map(|(id, before)| self.places(*id, before)).collect();
        let read = |world: &World| -> Vec<Option<u64>> {
            places.iter().map(|(_, at)| world.sim.memory.peek(*at, 8)).collect()
        };
        let mut seen = read(self);
        for _ in 0..HANGS_AFTER {
            let ended = told(self.sim.run_for(&mut NoEngines, 1))? == Outcome::Ended;
            let now = read(self);
            let changed = places.iter().zip(seen.iter().zip(&now)).filter(|(_, (before, now))| before != now);
            order.extend(changed.map(|((name, _), _)| *name));
            seen = now;
            if ended {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What is watched of a queue: its counters, and the ring where the next reservation will be.
    fn places(&self, id: QueueId, before: &State) -> Vec<(&'static str, u64)> {
        let Some(queue) = self.node.queue(id) else { return Vec::new() };
        let mut places = vec![
            ("cachedWptr", queue.cached_wptr),
            ("cachedHwReadIndex", queue.read_index()),
            ("wptr", queue.wptr),
            ("doorbell", queue.doorbell),
            ("committedWptr", queue.committed_wptr),
        ];
        let at = |n: u64| queue.ring + (before.counters.cached_wptr + n * 8) % self.facts.ring_bytes;
        places.extend((0..1024).map(|n| ("ring", at(n))));
        places
    }
}

/// Bytes of the own signals: a slot of 8 for each rank and queue.
fn pool_bytes(cfg: &Config) -> usize {
    (cfg.lsa_size * cfg.queues.max(1)) as usize * 8
}

fn rank_config(cfg: &Config) -> RankConfig {
    RankConfig {
        lsa_rank: cfg.lsa_rank,
        lsa_size: cfg.lsa_size,
        world_rank: cfg.rank,
        world_size: cfg.world_size,
        node_start: cfg.node_start,
        queues: cfg.queues,
        without_sdma: Vec::new(),
        signals: Some(cfg.signals),
        peer_signals: Some(cfg.peer_signals.clone()),
    }
}

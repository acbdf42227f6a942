//! A node: ranks with their communicators, windows at mori's flat addresses, signal pools, queues and engines.
//!
//! What must hold in this room:
//! - Kernels meet exactly what mori's host library would have laid out: `ccoDevComm` by value, `ccoWindowDevice` by pointer, a
//!   table of pointers to queue handles (null where a rank has no SDMA), signal pools of u64 slots. Rank p's bytes of a window
//!   begin at `base + p * stride * 2^32`.
//! - One engine for each queue, (peer, queue id), of each rank; a rank's own number is a peer like any other.
//! - Any start is possible: counters may stand anywhere, rings may hold anything, entries of the handle table may be null,
//!   engines may stand still.
//!
//! A [`Node`] is where things are; an [`EngineSet`] is what moves. Tests keep the first and give the second to the machine.

mod engines;
mod layout;
#[cfg(test)]
mod tests;

use tilewright_target::SdmaFacts;
use tilewright_target::mori_abi::{SIGNAL_BYTES, STRIDE_UNIT_BYTES};

pub use engines::EngineSet;
pub use layout::{DevComm, QueueAddresses, window_bytes};

use crate::fault::{Exec, Fault, FaultKind};
use crate::mem::{Memory, MemoryType};
use crate::sdma::QueueId;

/// Where the flat address space of the windows begins: far from everything that [`Memory::allocate`] places.
pub const FLAT_BASE: u64 = 0x1000_0000_0000;

/// Distance between the ranks' parts of the flat address space, in units of 2^32 bytes.
pub const STRIDE_4G: u32 = 4;

/// Where windows are placed in a rank's part: the granularity of mori's mappings.
const WINDOW_ALIGN: u64 = 2 << 20;

/// Most ranks of a node.
pub const MAX_RANKS: u32 = 64;

/// How one rank sees the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankConfig {
    /// Its rank on this node, which is also its number in memory.
    pub lsa_rank: u32,
    /// Ranks on this node.
    pub lsa_size: u32,
    /// Its rank in the world.
    pub world_rank: u32,
    /// Ranks in the world.
    pub world_size: u32,
    /// World rank of this node's first rank.
    pub node_start: u32,
    /// Queues to each peer; 0 where SDMA is not available.
    pub queues: u32,
    /// Peers without SDMA: their entries of the handle table are null.
    pub without_sdma: Vec<u32>,
    /// Address of the own signal pool, if it is given; otherwise one is allocated.
    pub signals: Option<u64>,
    /// Addresses of all ranks' signal pools as this rank has them, if they are given; otherwise those of the node.
    pub peer_signals: Option<Vec<u64>>,
}

impl RankConfig {
    /// Rank `lsa_rank` of a world that is one node of `ranks` ranks, all with `queues` queues to each peer.
    pub fn simple(lsa_rank: u32, ranks: u32, queues: u32) -> RankConfig {
        RankConfig {
            lsa_rank,
            lsa_size: ranks,
            world_rank: lsa_rank,
            world_size: ranks,
            node_start: 0,
            queues,
            without_sdma: Vec::new(),
            signals: None,
            peer_signals: None,
        }
    }
}

/// The six counters of a queue, all in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Read position.
    pub rptr: u64,
    /// Write position.
    pub wptr: u64,
    /// Doorbell.
    pub doorbell: u64,
    /// Position up to which ring space is reserved.
    pub cached_wptr: u64,
    /// Position up to which packets are published.
    pub committed_wptr: u64,
    /// Last read position that a producer saw.
    pub cached_hw_read_index: u64,
}

impl Counters {
    /// A queue that has drained at `position`.
    pub const fn at(position: u64) -> Counters {
        Counters {
            rptr: position,
            wptr: position,
            doorbell: position,
            cached_wptr: position,
            committed_wptr: position,
            cached_hw_read_index: position,
        }
    }
}

/// One rank of a node.
#[derive(Clone, Debug)]
pub struct NodeRank {
    config: RankConfig,
    signals: u64,
    comm: DevComm,
    /// Index `peer * queues + queue`.
    queues: Vec<Option<QueueAddresses>>,
}

impl NodeRank {
    /// Its communicator.
    pub const fn comm(&self) -> &DevComm {
        &self.comm
    }

    /// How it was set up.
    pub const fn config(&self) -> &RankConfig {
        &self.config
    }

    /// Address of its signal slot for what `source` raises on queue id `queue`.
    pub fn signal_slot(&self, source: u32, queue: u32) -> u64 {
        let index = u64::from(source) * u64::from(self.config.queues) + u64::from(queue);
        self.signals + index * u64::from(SIGNAL_BYTES)
    }
}

/// A window: symmetric memory of all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Address of rank 0's bytes.
    pub base: u64,
    /// Distance between ranks in units of 2^32 bytes.
    pub stride_4g: u32,
    /// Bytes of each rank.
    pub bytes: u64,
    /// For each rank of the node, in its order: the address of its `ccoWindowDevice`.
    pub devices: Vec<u64>,
}

impl Window {
    /// Where the bytes of a rank begin.
    pub const fn part(&self, lsa_rank: u32) -> u64 {
        self.base.wrapping_add(lsa_rank as u64 * self.stride_4g as u64 * STRIDE_UNIT_BYTES)
    }
}

/// Where everything of a node is.
#[derive(Clone, Debug)]
pub struct Node {
    facts: &'static SdmaFacts,
    ranks: Vec<NodeRank>,
    /// Where the next window goes in each rank's part.
    next_window: u64,
}

fn refuse<T>(reason: String) -> Exec<T> {
    Err(Fault::new(FaultKind::Launch { reason }))
}

impl Node {
    /// A node of `ranks` ranks with `queues` queues to each peer.
    ///
    /// # Errors
    /// A launch that cannot be: more than [`MAX_RANKS`] ranks or more queues than the engines have, or memory that runs out.
    pub fn new(memory: &mut Memory, facts: &'static SdmaFacts, ranks: u32, queues: u32) -> Exec<Node> {
        let configs: Vec<RankConfig> = (0..ranks).map(|rank| RankConfig::simple(rank, ranks, queues)).collect();
        Node::with_ranks(memory, facts, &configs)
    }

    /// A node whose ranks see it as their configurations say. Ranks may be missing: their memory then does not exist.
    ///
    /// # Errors
    /// As [`Node::new`].
    pub fn with_ranks(memory: &mut Memory, facts: &'static SdmaFacts, configs: &[RankConfig]) -> Exec<Node> {
        for config in configs {
            if config.lsa_size == 0 || config.lsa_size > MAX_RANKS || config.lsa_rank >= config.lsa_size {
                return refuse(format!(
                    "rank {} of {} ranks: a node has 1 to {MAX_RANKS}",
                    config.lsa_rank, config.lsa_size
                ));
            }
            if config.queues > facts.max_queues {
                return refuse(format!("{} queues to each peer, the engines have {}", config.queues, facts.max_queues));
            }
        }
        let mut node = Node { facts, ranks: Vec::new(), next_window: 0 };
        let mut pools = Vec::new();
        for config in configs {
            pools.push(match config.signals {
                Some(address) => address,
                None => node.allocate_pool(memory, config)?,
            });
        }
        for (config, signals) in configs.iter().zip(&pools) {
            let known = |rank: u32| configs.iter().position(|other| other.lsa_rank == rank).map(|index| pools[index]);
            let peers = match &config.peer_signals {
                Some(given) => given.clone(),
                // A rank that does not exist has no pool.
                None => (0..config.lsa_size).map(|rank| known(rank).unwrap_or(0)).collect(),
            };
            let rank = node.add_rank(memory, config, *signals, &peers)?;
            node.ranks.push(rank);
        }
        Ok(node)
    }

    fn allocate_pool(&self, memory: &mut Memory, config: &RankConfig) -> Exec<u64> {
        let slots = u64::from(config.lsa_size) * u64::from(config.queues.max(1));
        let name = format!("signals of rank {}", config.lsa_rank);
        let bytes = slots * u64::from(SIGNAL_BYTES);
        memory.allocate_zeroed(config.lsa_rank, bytes, 256, MemoryType::Uncached, &name)
    }

    fn add_rank(&self, memory: &mut Memory, config: &RankConfig, signals: u64, peers: &[u64]) -> Exec<NodeRank> {
        let rank = config.lsa_rank;
        let mut queues = Vec::new();
        for peer in 0..config.lsa_size {
            for queue in 0..config.queues {
                queues.push(match config.without_sdma.contains(&peer) {
                    true => None,
                    false => Some(self.add_queue(memory, QueueId { rank, peer, queue })?),
                });
            }
        }
        let handles = queues.iter().map(|queue| queue.map_or(0, |queue: QueueAddresses| queue.handle));
        let handles = table(memory, rank, handles, "queue handles")?;
        let peer_signals = table(memory, rank, peers.iter().copied(), "signal pools")?;
        let comm = DevComm {
            rank: config.world_rank as i32,
            world_size: config.world_size as i32,
            lsa_size: config.lsa_size as i32,
            lsa_rank: rank as i32,
            node_start: config.node_start as i32,
            flat_base: FLAT_BASE,
            per_rank_bytes: u64::from(STRIDE_4G) * STRIDE_UNIT_BYTES,
            queues: config.queues,
            handles,
            signals,
            peer_signals,
        };
        Ok(NodeRank { config: config.clone(), signals, comm, queues })
    }

    /// One queue: ring, counters and handle, all counters zero.
    fn add_queue(&self, memory: &mut Memory, id: QueueId) -> Exec<QueueAddresses> {
        let rank = id.rank;
        let mut one = |what: &str, bytes: u64, kind: MemoryType| -> Exec<u64> {
            let name = format!("{what} of queue {id}");
            // Rings are zeroed when they are made (hw 2), counters start at zero.
            memory.allocate_zeroed(rank, bytes, 4096, kind, &name)
        };
        let queue = QueueAddresses {
            ring: one("ring", self.facts.ring_bytes, MemoryType::Uncached)?,
            rptr: one("read position", 8, MemoryType::Uncached)?,
            wptr: one("write position", 8, MemoryType::Uncached)?,
            doorbell: one("doorbell", 8, MemoryType::Doorbell)?,
            cached_wptr: one("reserved position", 8, MemoryType::Uncached)?,
            committed_wptr: one("committed position", 8, MemoryType::Uncached)?,
            handle: one(
                "handle",
                tilewright_target::mori_abi::sdma_queue_device_handle::SIZE.into(),
                MemoryType::Uncached,
            )?,
        };
        memory.host_write(queue.handle, &queue.handle_bytes(0))?;
        Ok(queue)
    }

    /// The ranks that exist, in the order in which they were given.
    pub fn ranks(&self) -> &[NodeRank] {
        &self.ranks
    }

    /// The rank with that number.
    pub fn rank(&self, lsa_rank: u32) -> Option<&NodeRank> {
        self.ranks.iter().find(|rank| rank.config.lsa_rank == lsa_rank)
    }

    /// Facts about the engines.
    pub const fn facts(&self) -> &'static SdmaFacts {
        self.facts
    }

    /// Where a queue's memory is; `None` if there is no such queue.
    pub fn queue(&self, id: QueueId) -> Option<&QueueAddresses> {
        let rank = self.rank(id.rank)?;
        if id.queue >= rank.config.queues {
            return None;
        }
        let index = id.peer as usize * rank.config.queues as usize + id.queue as usize;
        rank.queues.get(index)?.as_ref()
    }

    /// All queues that exist, by rank, peer and queue id.
    pub fn queues(&self) -> impl Iterator<Item = (QueueId, &QueueAddresses)> {
        self.ranks.iter().flat_map(|rank| {
            let queues = rank.config.queues.max(1);
            rank.queues.iter().enumerate().filter_map(move |(index, addresses)| {
                let (peer, queue) = (index as u32 / queues, index as u32 % queues);
                let id = QueueId { rank: rank.config.lsa_rank, peer, queue };
                addresses.as_ref().map(|addresses| (id, addresses))
            })
        })
    }

    /// The six counters of a queue as memory has them.
    ///
    /// # Errors
    /// If there is no such queue.
    pub fn counters(&self, memory: &mut Memory, id: QueueId) -> Exec<Counters> {
        let queue = *self.existing(id)?;
        let mut read = |address| -> Exec<u64> {
            let mut bytes = [0; 8];
            memory.host_read(address, &mut bytes)?;
            Ok(u64::from_le_bytes(bytes))
        };
        Ok(Counters {
            rptr: read(queue.rptr)?,
            wptr: read(queue.wptr)?,
            doorbell: read(queue.doorbell)?,
            cached_wptr: read(queue.cached_wptr)?,
            committed_wptr: read(queue.committed_wptr)?,
            cached_hw_read_index: read(queue.read_index())?,
        })
    }

    /// Sets the six counters of a queue. Before [`Node::engines`]: engines start where the counters stand.
    ///
    /// # Errors
    /// If there is no such queue.
    pub fn set_counters(&self, memory: &mut Memory, id: QueueId, counters: Counters) -> Exec {
        let queue = *self.existing(id)?;
        let values = [
            (queue.rptr, counters.rptr),
            (queue.wptr, counters.wptr),
            (queue.doorbell, counters.doorbell),
            (queue.cached_wptr, counters.cached_wptr),
            (queue.committed_wptr, counters.committed_wptr),
            (queue.read_index(), counters.cached_hw_read_index),
        ];
        for (address, value) in values {
            memory.host_write(address, &value.to_le_bytes())?;
        }
        Ok(())
    }

    /// Fills the ring of a queue with one dword over and over.
    ///
    /// # Errors
    /// If there is no such queue.
    pub fn fill_ring(&self, memory: &mut Memory, id: QueueId, dword: u32) -> Exec {
        let ring = self.existing(id)?.ring;
        memory.host_write(ring, &dword.to_le_bytes().repeat(self.facts.ring_bytes as usize / 4))
    }

    /// The ring's bytes.
    ///
    /// # Errors
    /// If there is no such queue.
    pub fn ring(&self, memory: &mut Memory, id: QueueId) -> Exec<Vec<u8>> {
        let mut bytes = vec![0; self.facts.ring_bytes as usize];
        memory.host_read(self.existing(id)?.ring, &mut bytes)?;
        Ok(bytes)
    }

    /// Where the ring of a queue holds a position.
    pub fn ring_address(&self, id: QueueId, position: u64) -> Option<u64> {
        Some(self.queue(id)?.ring + position % self.facts.ring_bytes)
    }

    fn existing(&self, id: QueueId) -> Exec<&QueueAddresses> {
        match self.queue(id) {
            Some(queue) => Ok(queue),
            None => refuse(format!("there is no queue {id}")),
        }
    }

    /// The value of a signal slot of `at`: what `source` raised on queue id `queue`.
    ///
    /// # Errors
    /// If there is no such rank or slot.
    pub fn signal(&self, memory: &mut Memory, at: u32, source: u32, queue: u32) -> Exec<u64> {
        let slot = match self.rank(at) {
            Some(rank) if source < rank.config.lsa_size && queue < rank.config.queues => {
                rank.signal_slot(source, queue)
            }
            _ => return refuse(format!("rank {at} has no signal slot for rank {source} and queue {queue}")),
        };
        let mut bytes = [0; 8];
        memory.host_read(slot, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Adds a window of `bytes` bytes a rank, with memory of type `kind` on every rank that exists.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn add_window(&mut self, memory: &mut Memory, name: &str, bytes: u64, kind: MemoryType) -> Exec<Window> {
        let offset = self.next_window;
        let room = u64::from(STRIDE_4G) * STRIDE_UNIT_BYTES;
        let end = offset.checked_add(bytes).and_then(|end| end.checked_next_multiple_of(WINDOW_ALIGN));
        let Some(end) = end.filter(|end| *end + WINDOW_ALIGN <= room) else {
            return refuse(format!("window `{name}` of {bytes} bytes does not fit the {room} bytes of a rank"));
        };
        let mut window = Window { base: FLAT_BASE + offset, stride_4g: STRIDE_4G, bytes, devices: Vec::new() };
        for rank in &self.ranks {
            let lsa_rank = rank.config.lsa_rank;
            if bytes > 0 {
                let name = format!("`{name}` of rank {lsa_rank}");
                memory.allocate_at(window.part(lsa_rank), lsa_rank, bytes, kind, &name)?;
            }
            window.devices.push(window_device(memory, lsa_rank, window.base, STRIDE_4G, lsa_rank as i32)?);
        }
        // A hole behind each window, so that what runs over its end hits nothing.
        self.next_window = end + WINDOW_ALIGN;
        Ok(window)
    }

    /// What lies at an address, in words; `None` if it is nothing of the node's own.
    pub fn describe(&self, address: u64) -> Option<String> {
        for rank in &self.ranks {
            let queues = u64::from(rank.config.queues.max(1));
            let slots = u64::from(rank.config.lsa_size) * queues;
            if let Some(slot) = address.checked_sub(rank.signals).map(|at| at / 8).filter(|slot| *slot < slots) {
                let (at, source, queue) = (rank.config.lsa_rank, slot / queues, slot % queues);
                return Some(format!("the signal of rank {source} on queue {queue} at rank {at}"));
            }
        }
        self.queues().find_map(|(id, queue)| {
            let what = [
                (queue.rptr, "read position"),
                (queue.wptr, "write position"),
                (queue.doorbell, "doorbell"),
                (queue.cached_wptr, "reserved position"),
                (queue.committed_wptr, "committed position"),
                (queue.read_index(), "last read position seen"),
            ];
            let found = what.iter().find(|(at, _)| (*at..at + 8).contains(&address));
            found.map(|(_, what)| format!("the {what} of queue {id}"))
        })
    }
}

/// A `ccoWindowDevice` in the memory of a rank; its address.
///
/// # Errors
/// If memory runs out.
pub fn window_device(memory: &mut Memory, rank: u32, base: u64, stride_4g: u32, lsa_rank: i32) -> Exec<u64> {
    let bytes = window_bytes(base, stride_4g, lsa_rank);
    let name = format!("window description of rank {rank}");
    let at = memory.allocate_named(rank, bytes.len() as u64, 256, MemoryType::Coarse, &name)?;
    memory.host_write(at, &bytes)?;
    Ok(at)
}

/// A table of u64 in the memory of a rank; its address.
fn table(memory: &mut Memory, rank: u32, values: impl Iterator<Item = u64>, what: &str) -> Exec<u64> {
    let bytes: Vec<u8> = values.flat_map(u64::to_le_bytes).collect();
    let name = format!("table of {what} of rank {rank}");
    let at = memory.allocate_named(rank, (bytes.len() as u64).max(8), 256, MemoryType::Coarse, &name)?;
    memory.host_write(at, &bytes)?;
    Ok(at)
}

//! What is on its way: queues of copies between ranks, tokens, signals.
//!
//! A queue is named by (rank, peer, queue id) and works in order; between queues the order is the scheduler's choice. Copies
//! without `notify` and asynchronous local copies have queues of their own, as nothing promises an order for them.

use std::collections::VecDeque;
use std::rc::Rc;

use indexmap::IndexMap;

use super::race::{Clock, join};
use super::world::{Spot, Where, Who};

/// What a packet moves.
#[derive(Debug)]
pub(super) enum Data {
    /// Bits taken when it was posted.
    Taken(Vec<u64>),
    /// Read when it lands.
    Late(Where, Vec<Spot>),
}

/// One element's destination: number of the element and place.
pub(super) type Target = (u32, Spot);

/// A copy or a notify on its way.
#[derive(Debug)]
pub(super) struct Packet {
    pub(super) id: usize,
    /// The CTA that posted it, for shared memory and registers.
    pub(super) cta: usize,
    pub(super) data: Data,
    pub(super) dsts: Vec<(Where, Vec<Target>)>,
    /// Rank and queue id of the slot that is incremented, and what the poster knew.
    pub(super) notify: Option<(usize, usize, Rc<Clock>)>,
    /// What it starts after.
    pub(super) after: Option<Gate>,
}

/// What holds a packet, and those behind it, back.
#[derive(Debug)]
pub(super) enum Gate {
    /// Until this element has these bits.
    Flag(Where, Spot, u64),
    /// Until a slot of this rank counts so many: source rank, queue id, count. With it: who reads the source, and what the
    /// threads that posted it knew, and the time of their CTA from which on they must not write the source.
    Signal {
        /// The notifying rank.
        src: usize,
        /// Queue id of the signal.
        queue: usize,
        /// Notifies that it takes.
        needs: i64,
        /// The reader.
        who: Who,
        /// What the poster knew, for each of its threads.
        clocks: Vec<Rc<Clock>>,
        /// The time.
        time: u32,
    },
}

/// A queue of one rank towards a peer.
#[derive(Debug)]
pub(super) struct Queue {
    /// Rank and peer.
    ends: (usize, usize),
    pub(super) packets: VecDeque<Packet>,
    /// Packets posted so far: the time of its actors.
    posted: u32,
    /// Number of the reading engine's actor; the writing one follows.
    actor: u32,
}

/// Kind of queue within (rank, peer).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum QueueKind {
    /// Copies that notify a signal with this queue id.
    Signal(u32),
    /// Copies without notify; every packet is on its own.
    Loose(usize),
}

/// All queues and signals.
#[derive(Debug)]
pub(super) struct Comm {
    queues: Vec<Queue>,
    named: IndexMap<(usize, usize, u32), usize>,
    /// Queues that have packets.
    busy: Vec<usize>,
    /// Which packets have landed.
    pub(super) landed: Vec<bool>,
    /// Slots [destination][source][queue id]: what each notify told, all earlier ones included.
    slots: Vec<Vec<[Vec<Rc<Clock>>; 8]>>,
    first_actor: u32,
    loose: usize,
}

impl Comm {
    /// No queues yet; actors below `first_actor` are CTAs.
    pub(super) fn new(ranks: usize, first_actor: u32) -> Comm {
        let row = || (0..ranks).map(|_| Default::default()).collect();
        Comm {
            queues: Vec::new(),
            named: IndexMap::new(),
            busy: Vec::new(),
            landed: Vec::new(),
            slots: (0..ranks).map(|_| row()).collect(),
            first_actor,
            loose: 0,
        }
    }

    /// A queue kind that no other packet has.
    pub(super) fn loose(&mut self) -> QueueKind {
        self.loose += 1;
        QueueKind::Loose(self.loose)
    }

    /// The queue, made if needed.
    pub(super) fn queue(&mut self, rank: usize, peer: usize, kind: QueueKind) -> usize {
        let fresh = self.queues.len();
        if let QueueKind::Signal(q) = kind {
            if let Some(id) = self.named.get(&(rank, peer, q)) {
                return *id;
            }
            self.named.insert((rank, peer, q), fresh);
        }
        let actor = self.first_actor + 2 * fresh as u32;
        self.queues.push(Queue { ends: (rank, peer), packets: VecDeque::new(), posted: 0, actor });
        fresh
    }

    /// Reading actor, writing actor and number of the packet that will be posted next.
    pub(super) fn next(&self, queue: usize) -> (u32, u32, u32) {
        let q = &self.queues[queue];
        (q.actor, q.actor + 1, q.posted + 1)
    }

    /// A number for a new packet.
    pub(super) fn packet_id(&mut self) -> usize {
        self.landed.push(false);
        self.landed.len() - 1
    }

    /// Puts a packet on a queue.
    pub(super) fn post(&mut self, queue: usize, packet: Packet) {
        let q = &mut self.queues[queue];
        q.posted += 1;
        if q.packets.is_empty() {
            self.busy.push(queue);
        }
        q.packets.push_back(packet);
    }

    /// Queues that have packets.
    pub(super) fn busy(&self) -> &[usize] {
        &self.busy
    }

    /// The first packet of a queue.
    pub(super) fn front(&self, queue: usize) -> Option<&Packet> {
        self.queues[queue].packets.front()
    }

    /// Is a packet of this CTA on the queue?
    pub(super) fn uses(&self, queue: usize, cta: usize) -> bool {
        self.queues[queue].packets.iter().any(|p| p.cta == cta)
    }

    /// Takes the first packet of a queue.
    pub(super) fn take(&mut self, queue: usize) -> Option<Packet> {
        let packet = self.queues[queue].packets.pop_front()?;
        if self.queues[queue].packets.is_empty() {
            self.busy.retain(|q| *q != queue);
        }
        self.landed[packet.id] = true;
        Some(packet)
    }

    /// Adds one to a slot, with what the notifier knew.
    pub(super) fn notify(&mut self, dst: usize, src: usize, queue: usize, clock: &Rc<Clock>) {
        let slot = &mut self.slots[dst][src][queue];
        let mut all = slot.last().cloned().unwrap_or_default();
        join(&mut all, clock);
        slot.push(all);
    }

    /// Value of a slot.
    pub(super) fn count(&self, dst: usize, src: usize, queue: usize) -> i64 {
        self.slots[dst][src][queue].len() as i64
    }

    /// What the first `n` notifies of a slot told; `n` at least 1 and at most the count.
    pub(super) fn told(&self, dst: usize, src: usize, queue: usize, n: i64) -> Option<&Rc<Clock>> {
        self.slots[dst][src][queue].get(usize::try_from(n - 1).ok()?)
    }

    /// Rank of a queue.
    pub(super) fn rank_of(&self, queue: usize) -> usize {
        self.queues[queue].ends.0
    }

    /// The actor in words, if it is an engine.
    pub(super) fn describe(&self, actor: u32) -> Option<String> {
        let n = actor.checked_sub(self.first_actor)? / 2;
        let (rank, peer) = self.queues.get(n as usize)?.ends;
        Some(match rank == peer {
            true => format!("an unfinished copy of rank {rank}"),
            false => format!("a copy of rank {rank} to rank {peer}"),
        })
    }
}

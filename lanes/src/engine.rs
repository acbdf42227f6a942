//! Copy engines: in-order queues of packets towards each peer, and the signals that they add to.
//!
//! A queue is named by (rank, peer, queue id). A post puts packets behind those already posted; they run once the doorbell
//! was rung (at once, or by `sdma.commit` for `aggregate`). A copy reads its source when the engine gets to it.

use std::collections::VecDeque;

use tilewright_ir::Span;
use tilewright_target::sdma::Compare;

/// Queues a peer: hardware cap, seed 001, "Turning it on".
pub(crate) const QUEUES: usize = 8;

/// Ring units that a batch may use before its commit: 256 KiB of 32-byte units, one stays free (seed 001, "optFlags").
const MAX_BATCH: usize = 8191;

/// A byte range's start: rank, buffer number, byte offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub(crate) rank: usize,
    pub(crate) buf: usize,
    pub(crate) byte: usize,
}

/// A word that an engine polls, of which it compares 32 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Word {
    /// The low 32 bits at an address.
    Memory(Address),
    /// The signal slot of `source` and a queue id at a rank.
    Signal { at: usize, source: usize, queue: usize },
}

/// What an engine waits for: `word & mask` compared with a value, unsigned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Poll {
    pub(crate) word: Word,
    pub(crate) compare: Compare,
    pub(crate) mask: u32,
    pub(crate) value: u32,
    pub(crate) span: Span,
}

/// What an engine does in one go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Packet {
    /// Copies bytes.
    Copy { dst: Address, src: Address, bytes: usize, span: Span },
    /// Copies bytes to two destinations.
    Broadcast { dst: [Address; 2], src: Address, bytes: usize, span: Span },
    /// Waits, and all behind it.
    Wait(Poll),
    /// Adds one to the slot of `source` in the signals of `at`.
    Signal { at: usize, source: usize, queue: usize },
}

impl Packet {
    /// Units of the ring that it takes.
    const fn units(&self) -> usize {
        match self {
            // Two, and one of slack (seed 001, "putBroadcast").
            Packet::Broadcast { .. } => 3,
            Packet::Copy { .. } | Packet::Wait(_) | Packet::Signal { .. } => 1,
        }
    }
}

/// One queue.
#[derive(Debug, Default)]
struct Queue {
    /// Packets that may run.
    rung: VecDeque<Packet>,
    /// Packets posted after the last doorbell.
    batch: Vec<Packet>,
    /// Where the first packet of the batch was posted.
    batch_span: Span,
    /// Packets ever rung, and ever done.
    rung_total: u64,
    done_total: u64,
}

/// All queues and signals of all ranks.
#[derive(Debug)]
pub(crate) struct Engines {
    ranks: usize,
    /// Index `(rank * ranks + peer) * QUEUES + queue id`.
    queues: Vec<Queue>,
    /// Queues with packets that may run.
    busy: Vec<usize>,
    /// Index `(rank * ranks + source) * QUEUES + queue id`.
    signals: Vec<u64>,
}

impl Engines {
    pub(crate) fn new(ranks: usize) -> Engines {
        let n = ranks * ranks * QUEUES;
        Engines { ranks, queues: (0..n).map(|_| Queue::default()).collect(), busy: Vec::new(), signals: vec![0; n] }
    }

    fn index(&self, rank: usize, other: usize, queue: usize) -> usize {
        (rank * self.ranks + other) * QUEUES + queue
    }

    /// Posts the packets of one group.
    ///
    /// # Errors
    /// A phrase, for what would hang: ringing behind a batch that was not committed, a batch that fills the ring.
    pub(crate) fn post(
        &mut self,
        (rank, peer, queue): (usize, usize, usize),
        packets: Vec<Packet>,
        aggregate: bool,
        span: Span,
    ) -> Result<(), String> {
        let id = self.index(rank, peer, queue);
        let q = &mut self.queues[id];
        if aggregate {
            if q.batch.is_empty() {
                q.batch_span = span;
            }
            q.batch.extend(packets);
            if q.batch.iter().map(Packet::units).sum::<usize>() > MAX_BATCH {
                return Err(format!("{} packets without a commit fill the ring", q.batch.len()));
            }
            return Ok(());
        }
        if !q.batch.is_empty() {
            return Err(format!(
                "post behind a batch of {} packets that was not committed never returns",
                q.batch.len()
            ));
        }
        q.batch = packets;
        self.ring(id);
        Ok(())
    }

    /// Rings the doorbell of a queue.
    pub(crate) fn commit(&mut self, rank: usize, peer: usize, queue: usize) {
        self.ring(self.index(rank, peer, queue));
    }

    fn ring(&mut self, id: usize) {
        let q = &mut self.queues[id];
        q.rung_total += q.batch.len() as u64;
        if q.rung.is_empty() && !q.batch.is_empty() {
            self.busy.push(id);
        }
        q.rung.extend(q.batch.drain(..));
    }

    /// Has the queue drained to its last rung packet?
    pub(crate) fn is_quiet(&self, rank: usize, peer: usize, queue: usize) -> bool {
        let q = &self.queues[self.index(rank, peer, queue)];
        q.done_total == q.rung_total
    }

    /// Value of the signal of `source` and a queue id at `rank`.
    pub(crate) fn signal(&self, rank: usize, source: usize, queue: usize) -> u64 {
        self.signals[self.index(rank, source, queue)]
    }

    /// Adds one to a signal.
    pub(crate) fn add(&mut self, at: usize, source: usize, queue: usize) {
        let id = self.index(at, source, queue);
        self.signals[id] = self.signals[id].wrapping_add(1);
    }

    /// Queues with packets that may run.
    pub(crate) fn busy(&self) -> &[usize] {
        &self.busy
    }

    /// What the `n`-th busy queue waits for, if its next packet is a wait.
    pub(crate) fn parked(&self, n: usize) -> Option<Poll> {
        match self.queues[*self.busy.get(n)?].rung.front()? {
            Packet::Wait(poll) => Some(*poll),
            _ => None,
        }
    }

    /// Rank, peer and queue id of the `n`-th busy queue.
    pub(crate) fn name(&self, n: usize) -> Option<(usize, usize, usize)> {
        let id = *self.busy.get(n)?;
        let pair = id / QUEUES;
        Some((pair / self.ranks, pair % self.ranks, id % QUEUES))
    }

    /// Takes the next packet of the `n`-th busy queue; the caller does it at once.
    pub(crate) fn take(&mut self, n: usize) -> Option<Packet> {
        let id = *self.busy.get(n)?;
        let q = &mut self.queues[id];
        let packet = q.rung.pop_front();
        q.done_total += 1;
        if q.rung.is_empty() {
            self.busy.swap_remove(n);
        }
        packet
    }

    /// Batches that were never committed: where they were posted, and rank, peer and queue id.
    pub(crate) fn uncommitted(&self) -> Vec<(Span, usize, usize, usize)> {
        let left = self.queues.iter().enumerate().filter(|(_, q)| !q.batch.is_empty());
        left.map(|(id, q)| {
            let pair = id / QUEUES;
            (q.batch_span, pair / self.ranks, pair % self.ranks, id % QUEUES)
        })
        .collect()
    }
}

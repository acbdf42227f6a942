//! Synchronisation through memory: what a store with scope hands to the load that reads it, and doorbells.
//!
//! What must hold here: an edge exists only if the scopes of both sides reach each other: system scope reaches
//! everybody, agent scope (sc1) the waves of the same rank. A plain store gives no edge, and a plain load takes none.

use std::rc::Rc;

use super::Memory;
use super::clock::{Clock, join_shared};
use crate::time::Stamp;

/// A rank that no wave is on: engines and the host are outside every agent.
pub(super) const NO_RANK: u32 = u32::MAX;

/// What was released at one 4-byte granule.
#[derive(Clone, Debug, Default)]
pub(super) struct SyncPoint {
    /// To everybody.
    system: Rc<Clock>,
    /// To waves of `rank`.
    agent: Rc<Clock>,
    rank: u32,
}

impl SyncPoint {
    /// Forgets waves below `floor`.
    pub(super) fn forget(&mut self, floor: u32) {
        Rc::make_mut(&mut self.system).forget(floor);
        Rc::make_mut(&mut self.agent).forget(floor);
    }
}

/// A store to a doorbell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doorbell {
    /// Where.
    pub address: u64,
    /// What.
    pub value: u64,
    /// How many bytes.
    pub bytes: u32,
    /// Actor that rang.
    pub actor: u32,
    /// What the engine may rely on: empty if the store had less than system scope.
    pub clock: Rc<Clock>,
    /// When, in virtual time.
    pub time: Stamp,
}

impl Memory {
    /// A store with scope (or an atomic, `joins`) was performed.
    pub(super) fn publish(
        &mut self,
        address: u64,
        bytes: u64,
        clock: &Rc<Clock>,
        system: bool,
        rank: u32,
        joins: bool,
    ) {
        let floor = self.actors.floor;
        for granule in address / 4..(address + bytes).div_ceil(4) {
            let point = self.sync.entry(granule).or_default();
            if joins {
                join_shared(&mut point.agent, clock, floor);
                if system {
                    join_shared(&mut point.system, clock, floor);
                }
            } else {
                point.agent = clock.clone();
                point.system = if system { clock.clone() } else { Rc::default() };
            }
            point.rank = rank;
        }
    }

    /// A plain store was performed: what was released there is gone.
    pub(super) fn unpublish(&mut self, address: u64, bytes: u64) {
        if self.sync.is_empty() {
            return;
        }
        let (first, end) = (address / 4, (address + bytes).div_ceil(4));
        while let Some((&granule, _)) = self.sync.range(first..end).next() {
            self.sync.remove(&granule);
        }
    }

    /// What a load with scope by a wave of `rank` learns.
    pub(super) fn observe(&self, address: u64, bytes: u64, system: bool, rank: u32) -> Option<Rc<Clock>> {
        let mut learned: Option<Rc<Clock>> = None;
        for (_, point) in self.sync.range(address / 4..(address + bytes).div_ceil(4)) {
            let clock = if point.rank == rank && rank != NO_RANK {
                &point.agent
            } else if system {
                &point.system
            } else {
                continue;
            };
            match &mut learned {
                None => learned = Some(clock.clone()),
                Some(known) => join_shared(known, clock, self.actors.floor),
            }
        }
        learned
    }
}

//! From a conflict to the fault that names both sides and what is missing.
//!
//! What must hold here: a race with an engine's copy is told in the words of copies; every other race says which edge
//! is missing as far as the clocks tell.

use super::Memory;
use super::check::{Conflict, Probe};
use super::clock::{Actor, FIRST_WAVE, HOST};
use super::fault::{Access, MemFault, Verb};
use super::shadow::Class;
use crate::wave::Generation;

const fn is_engine(actor: Actor) -> bool {
    actor != HOST && actor < FIRST_WAVE
}

/// The access that is being checked, for messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    pub(super) me: Actor,
    pub(super) verb: Verb,
    pub(super) pc: u64,
}

impl Memory {
    /// The fault of a conflict at `address` in `place`.
    pub(super) fn race(&self, now: Now, conflict: Conflict, address: u64, place: String) -> MemFault {
        let first = Box::new(self.actors.access(conflict.cell, conflict.write));
        let second = Box::new(self.now(now, conflict.lane));
        let (then, me) = (conflict.cell.actor(), now.me);
        if is_engine(then) && !is_engine(me) {
            return match conflict.write {
                true => MemFault::NotArrived { address, place, copy: first, other: second },
                false => MemFault::SourceReused { address, place, copy: first, write: second },
            };
        }
        if is_engine(me) && !is_engine(then) && !conflict.write {
            return MemFault::NotArrived { address, place, copy: second, other: first };
        }
        let why = self.missing(now, conflict);
        MemFault::Race { address, place, first, second, why }
    }

    fn now(&self, now: Now, lane: usize) -> Access {
        let wave = now.me >= FIRST_WAVE;
        let me = self.actors.get(now.me);
        Access {
            verb: now.verb,
            who: me.words(),
            lane: wave.then_some(lane as u8),
            pc: now.pc,
            engine: is_engine(now.me),
            at: wave.then(|| Box::new(me.place(lane as u8, now.pc))),
        }
    }

    /// What the chip calls a wait, a write-back and its widest scope, an invalidate and a barrier.
    const fn names(&self) -> [&'static str; 5] {
        match self.config.generation {
            Generation::Gfx9 => ["s_waitcnt", "buffer_wbl2", "sc0 sc1", "buffer_inv", "s_barrier"],
            Generation::Gfx12 => {
                ["s_wait_loadcnt or s_wait_storecnt", "global_wb", "SCOPE_SYS", "global_inv", "s_barrier_signal"]
            }
        }
    }

    /// What is missing between the two, in words.
    fn missing(&self, now: Now, conflict: Conflict) -> String {
        let cell = conflict.cell;
        let me = self.actors.get(now.me);
        let seen = me.seen.known(cell.actor());
        let they = self.actors.get(cell.actor());
        let same_group =
            they.rank == me.rank && me.name.workgroup.is_some() && they.name.workgroup == me.name.workgroup;
        let [wait, write_back, at_system_scope, invalidate, barrier] = self.names();
        let text = if cell.actor() == now.me {
            format!("the wave has not waited ({wait}) for its own earlier access")
        } else if cell.class() == Class::Dirty && seen.memory >= cell.tick() && seen.system < cell.tick() {
            match seen.agent >= cell.tick() {
                false => {
                    format!(
                        "the store was not written back from the L2 before it was released; {write_back} is missing"
                    )
                }
                true if is_engine(now.me) || they.rank != me.rank => {
                    format!("the store was written back at agent scope only; {write_back} needs {at_system_scope}")
                }
                true => format!("what was observed has not been made visible to plain loads; {invalidate} is missing"),
            }
        } else if seen.memory >= cell.tick() && cell.class() != Class::Local {
            format!(
                "what was observed has not been made visible to plain loads; {invalidate} is missing, or its scope too small"
            )
        } else if is_engine(now.me) {
            format!("the write was not retired ({wait}), or not released, when the doorbell was rung at system scope")
        } else if same_group {
            format!("an {wait} and then an {barrier} are missing between them")
        } else {
            "no signal or flag was released after the one and observed before the other".to_owned()
        };
        // A store behind a copy's post may well have been made before the engine looked.
        let reuse = if is_engine(now.me) && conflict.write && !is_engine(cell.actor()) && !now.verb.writes() {
            "; or the source of the copy is overwritten: wait for the copy (quiet, or its local signal) before that store"
        } else {
            ""
        };
        format!("{text}{reuse}")
    }
}

impl Probe<'_> {
    /// This access, for messages.
    pub(super) const fn now(&self, pc: u64) -> Now {
        Now { me: self.me, verb: self.verb, pc }
    }
}

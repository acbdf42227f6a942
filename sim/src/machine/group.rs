//! Workgroups and their waves.
//!
//! What must hold here: a wave is in the machine's list of ready waves exactly while its status is [`Status::Ready`].

use crate::fault::{Exec, Fault, FaultKind};
use crate::isa::Inst;
use crate::mem::{Arrival, Lds, Memory, Met, Pending};
use crate::wave::WaveState;

/// What a wave is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// It can execute.
    Ready,
    /// It waits at a barrier.
    Barrier,
    /// It has ended.
    Ended,
}

/// Where a wave stands with the barrier of its workgroup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum AtBarrier {
    /// It has not come to it.
    #[default]
    Away,
    /// It has arrived, and others have not.
    Arrived(Arrival),
    /// All have, and it has not left yet; with what it learns when it does.
    Released(Arrival, Option<Met>),
}

/// A wave with what belongs to it alone.
#[derive(Debug)]
pub(crate) struct Wave {
    pub(crate) state: WaveState,
    pub(crate) pending: Pending,
    pub(crate) status: Status,
    pub(crate) at_barrier: AtBarrier,
    /// Its place in the order of starts.
    pub(crate) order: u64,
    /// Instructions it has executed.
    pub(crate) instructions: u64,
}

impl Wave {
    /// It arrives at the barrier.
    ///
    /// # Errors
    /// [`FaultKind::Barrier`] if it has arrived and not left.
    pub(crate) fn arrive(&mut self, arrival: Arrival, inst: &Inst) -> Exec {
        if self.at_barrier != AtBarrier::Away {
            let what =
                "arrives at the barrier again without having waited there; an s_barrier_wait is missing before it";
            return Err(Fault::new(FaultKind::Barrier { text: inst.to_string(), what }));
        }
        self.at_barrier = AtBarrier::Arrived(arrival);
        self.pending.clock.arrive();
        Ok(())
    }

    /// It leaves the barrier if all have arrived; false if it must wait.
    ///
    /// # Errors
    /// [`FaultKind::Barrier`] if it has not arrived itself.
    pub(crate) fn leave(&mut self, memory: &mut Memory, inst: &Inst) -> Exec<bool> {
        match std::mem::take(&mut self.at_barrier) {
            AtBarrier::Away => {
                let what = "waits at a barrier that it has not arrived at; an s_barrier_signal is missing before it";
                Err(Fault::new(FaultKind::Barrier { text: inst.to_string(), what }))
            }
            arrived @ AtBarrier::Arrived(_) => {
                self.at_barrier = arrived;
                Ok(false)
            }
            AtBarrier::Released(arrival, met) => {
                if let Some(met) = met {
                    memory.leave(self.state.id.actor, &met, &arrival);
                }
                self.pending.clock.leave();
                Ok(true)
            }
        }
    }
}

/// A workgroup on a compute unit.
#[derive(Debug)]
pub(crate) struct Group {
    /// Index of its launch.
    pub(crate) launch: usize,
    /// Its id in x, y, z.
    pub(crate) id: [u32; 3],
    pub(crate) waves: Vec<Wave>,
    pub(crate) lds: Lds,
    /// Compute unit within its GPU.
    pub(crate) cu: u32,
}

impl Group {
    /// Waves that have not ended.
    pub(crate) fn alive(&self) -> usize {
        self.waves.iter().filter(|wave| wave.status != Status::Ended).count()
    }

    /// What the waves of a complete barrier brought along: all that have not ended have arrived. `None` if it is not complete.
    pub(crate) fn arrivals(&self) -> Option<Vec<Arrival>> {
        let alive = self.waves.iter().filter(|wave| wave.status != Status::Ended);
        let arrivals: Option<Vec<Arrival>> = alive
            .map(|wave| match &wave.at_barrier {
                AtBarrier::Arrived(arrival) => Some(arrival.clone()),
                _ => None,
            })
            .collect();
        arrivals.filter(|arrivals| !arrivals.is_empty())
    }
}

//! Workgroups and their waves.
//!
//! What must hold here: a wave is in the machine's list of ready waves exactly while its status is [`Status::Ready`].

use crate::mem::{Lds, Pending};
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

/// A wave with what belongs to it alone.
#[derive(Debug)]
pub(crate) struct Wave {
    pub(crate) state: WaveState,
    pub(crate) pending: Pending,
    pub(crate) status: Status,
    /// Its place in the order of starts.
    pub(crate) order: u64,
    /// Instructions it has executed.
    pub(crate) instructions: u64,
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

    /// Whether a barrier is complete: some wave waits, and no other can still run.
    pub(crate) fn barrier_complete(&self) -> bool {
        let mut waiting = false;
        for wave in &self.waves {
            match wave.status {
                Status::Ready => return false,
                Status::Barrier => waiting = true,
                Status::Ended => {}
            }
        }
        waiting
    }
}

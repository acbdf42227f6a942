//! One wave: its registers and what is known about them.
//!
//! What must hold here: the state of a wave is data only. Who changes it: `exec` (instructions), `mem` (results of loads) and
//! `machine` (start and scheduling).

mod counter;
mod state;

pub use counter::{COUNTERS, Counter, CounterSet, Limits};
pub use state::{EXEC, FLAT_SCRATCH, Generation, LANES, M0, TTMP0, VCC, WaveId, WaveState, XNACK_MASK};

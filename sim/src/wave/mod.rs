//! One wave: its registers and what is known about them.
//!
//! What must hold here: the state of a wave is data only. Who changes it: `exec` (instructions), `mem` (results of loads) and
//! `machine` (start and scheduling).

mod state;

pub use state::{EXEC, FLAT_SCRATCH, LANES, M0, TTMP0, VCC, WaveId, WaveState, XNACK_MASK};

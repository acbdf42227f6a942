//! Two vector operations in one instruction (VOPD).
//!
//! What must hold here: both read their sources before either writes, so each may overwrite what the other reads.

use super::AluFn;
use super::vector_index;
use crate::fault::Exec;
use crate::isa::Inst;
use crate::wave::{LANES, WaveState};

/// Executes both operations. They have different destinations, and neither writes a scalar register.
///
/// # Errors
/// Those of the operations.
pub(crate) fn execute(wave: &mut WaveState, first: (AluFn, &Inst), second: (AluFn, &Inst)) -> Exec {
    let (written, dwords) = (vector_index(wave, first.1.dst), first.1.dst_width());
    let (Some(at), true) = (written, reads(wave, second.1, written, dwords)) else {
        first.0(wave, first.1)?;
        return second.0(wave, second.1);
    };
    // The second one sees the registers as they were; then the result of the first one is put in its place.
    let before: Vec<[u32; LANES]> = wave.vgprs[at..at + dwords].to_vec();
    first.0(wave, first.1)?;
    let after: Vec<[u32; LANES]> = wave.vgprs[at..at + dwords].to_vec();
    wave.vgprs[at..at + dwords].copy_from_slice(&before);
    second.0(wave, second.1)?;
    wave.vgprs[at..at + dwords].copy_from_slice(&after);
    Ok(())
}

/// Whether an operation reads one of the `dwords` registers from `at` on.
fn reads(wave: &WaveState, inst: &Inst, at: Option<usize>, dwords: usize) -> bool {
    let Some(at) = at else { return false };
    (0..4).any(|source| {
        vector_index(wave, inst.src[source])
            .is_some_and(|from| from < at + dwords && at < from + inst.src_width(source).max(1))
    })
}

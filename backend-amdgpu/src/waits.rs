//! Waiting for a wave's own memory accesses, on chips with one counter for loads and stores and on chips with one each.
//!
//! Must hold: only the intrinsics of the chip's counters are emitted (LLVM aborts on the others). A wait is no barrier to the
//! compiler: where order matters it lies between two wavefront fences, because a fence on one side only lets the accesses of
//! the other side cross the wait.

use tilewright_backend_llvm::{Error, Gen, Ordering, Scope};
use tilewright_target::WaitCounters;

type Result<T> = std::result::Result<T, Error>;

/// `s_waitcnt vmcnt(0)` on gfx9, the other counters left alone.
const SHARED_MEMORY: u32 = 0x0f70;

/// Waits until the wave's loads from memory have returned and its stores are complete. No fence comes with it.
pub(crate) fn memory_retired(g: &Gen<'_, '_>, counters: WaitCounters) -> Result<()> {
    match counters {
        WaitCounters::Shared => g.intrinsic("llvm.amdgcn.s.waitcnt", &[], &[g.i32(SHARED_MEMORY).into()], "").map(drop),
        WaitCounters::Split => {
            split(g, "loadcnt")?;
            split(g, "storecnt")
        }
    }
}

/// Waits until every store of the wave so far is where other agents of the device see it; nothing moves across.
///
/// gfx9 has write-through caches, so that a wait for completion is enough (mori: `s_waitcnt 0`). gfx12 writes back first (mori:
/// an agent-scope release, which is `global_wb scope:SCOPE_DEV` and `s_wait_storecnt 0`).
pub(crate) fn stores_visible(g: &Gen<'_, '_>, counters: WaitCounters) -> Result<()> {
    match counters {
        WaitCounters::Shared => fenced(g, || all(g)),
        WaitCounters::Split => fenced(g, || g.fence(Ordering::Release, Scope::AGENT).map(drop)),
    }
}

/// Waits until the wave's stores so far are complete at the scopes that they name themselves; nothing moves across.
pub(crate) fn stores_complete(g: &Gen<'_, '_>, counters: WaitCounters) -> Result<()> {
    match counters {
        WaitCounters::Shared => fenced(g, || all(g)),
        WaitCounters::Split => fenced(g, || split(g, "storecnt")),
    }
}

/// `s_waitcnt 0`: every counter there is.
fn all(g: &Gen<'_, '_>) -> Result<()> {
    g.intrinsic("llvm.amdgcn.s.waitcnt", &[], &[g.i32(0).into()], "").map(drop)
}

/// `s_wait_<counter> 0`.
fn split(g: &Gen<'_, '_>, counter: &str) -> Result<()> {
    let none = g.context.i16_type().const_zero();
    g.intrinsic(&format!("llvm.amdgcn.s.wait.{counter}"), &[], &[none.into()], "").map(drop)
}

/// Between two fences that only the compiler sees.
fn fenced(g: &Gen<'_, '_>, wait: impl FnOnce() -> Result<()>) -> Result<()> {
    g.fence(Ordering::AcquireRelease, Scope::WAVEFRONT)?;
    wait()?;
    g.fence(Ordering::AcquireRelease, Scope::WAVEFRONT).map(drop)
}

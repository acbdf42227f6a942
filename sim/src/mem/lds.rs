//! LDS of a workgroup, and scratch of a wave.
//!
//! What must hold here: offsets are checked when an instruction issues; reads beyond the end give [`FILL`](super::FILL)
//! and writes vanish, so that nothing here can fail. Lanes have scratch of their own, one after the other.

use super::alloc::FILL;
use super::shadow::Shadow;

/// Most bytes of LDS a workgroup has on any chip we know (gfx950: 160 KiB), rounded up.
const MAX_LDS: u32 = 1 << 20;

/// Bytes that a workgroup's waves share.
#[derive(Clone, Debug, Default)]
pub struct Lds {
    pub(super) data: Vec<u8>,
    pub(super) shadow: Shadow,
}

impl Lds {
    /// `bytes` uninitialised bytes.
    pub fn new(bytes: u32, checks: bool) -> Self {
        let bytes = bytes.min(MAX_LDS);
        let shadow = if checks { Shadow::new(bytes.into()) } else { Shadow::default() };
        Self { data: vec![FILL; bytes as usize], shadow }
    }

    /// Bytes.
    pub fn bytes(&self) -> u32 {
        self.data.len() as u32
    }

    /// Its content.
    pub fn data(&self) -> &[u8] {
        &self.data
    }
}

/// Bytes that each lane of a wave has to itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    per_lane: usize,
    data: Vec<u8>,
    init: Shadow,
}

/// Most bytes of scratch of a lane: what the hardware's largest setting gives.
const MAX_SCRATCH: u32 = 1 << 20;

impl Scratch {
    pub(super) fn new(per_lane: u32, checks: bool) -> Self {
        let per_lane = per_lane.min(MAX_SCRATCH) as usize;
        let bytes = per_lane * 64;
        let init = if checks { Shadow::new(bytes as u64) } else { Shadow::default() };
        Self { per_lane, data: vec![FILL; bytes], init }
    }

    pub(super) const fn per_lane(&self) -> u64 {
        self.per_lane as u64
    }

    /// Where a lane's bytes lie.
    fn index(&self, lane: usize, offset: u64, bytes: usize) -> Option<usize> {
        let offset = usize::try_from(offset).ok()?;
        (offset.checked_add(bytes)? <= self.per_lane).then(|| lane * self.per_lane + offset)
    }

    pub(super) fn is_init(&self, lane: usize, offset: u64, bytes: usize) -> bool {
        self.index(lane, offset, bytes).is_none_or(|at| self.init.first_uninit(at, bytes).is_none())
    }

    pub(super) fn set_init(&mut self, lane: usize, offset: u64, bytes: usize) {
        if let Some(at) = self.index(lane, offset, bytes) {
            self.init.set_init(at, bytes);
        }
    }

    pub(super) fn bytes(&mut self, lane: usize, offset: u64, bytes: usize) -> Option<&mut [u8]> {
        let at = self.index(lane, offset, bytes)?;
        Some(&mut self.data[at..at + bytes])
    }
}

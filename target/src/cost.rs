//! What things cost, in integer picoseconds so that every prediction is the same on every machine.
//!
//! Two clocks describe the copy engines, both from the seed: **latency** from idle (from the post of the first packet to the
//! last byte, queue empty before) and **streaming** (time per operation when many follow each other). Each prediction names
//! its own. Compute-unit costs are coarse: they only order CU variants among themselves.
//!
//! What must hold here: a figure says whether somebody measured it and where it comes from; rates are integers (bytes per
//! nanosecond is GB/s); sums saturate instead of wrapping.

/// Picoseconds in a microsecond.
const PS_PER_US: u64 = 1_000_000;

/// Whether a figure was measured on the chip that it is given for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Basis {
    /// Somebody measured it on this chip; the source says who.
    Measured,
    /// Taken from a neighbour chip, a data sheet or a rule of thumb.
    Unmeasured,
}

impl Basis {
    /// The basis of a sum or product: measured only if both parts are.
    pub const fn and(self, other: Basis) -> Basis {
        match (self, other) {
            (Basis::Measured, Basis::Measured) => Basis::Measured,
            _ => Basis::Unmeasured,
        }
    }
}

/// A predicted time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost {
    /// Picoseconds; saturates at `u64::MAX`.
    pub picoseconds: u64,
    /// Whether every figure in it was measured.
    pub basis: Basis,
}

impl Cost {
    /// No time at all, known for certain.
    pub const ZERO: Cost = Cost { picoseconds: 0, basis: Basis::Measured };

    /// One after the other.
    pub const fn plus(self, other: Cost) -> Cost {
        Cost { picoseconds: self.picoseconds.saturating_add(other.picoseconds), basis: self.basis.and(other.basis) }
    }

    /// `count` times in a row.
    pub const fn times(self, count: u64) -> Cost {
        Cost { picoseconds: self.picoseconds.saturating_mul(count), basis: self.basis }
    }
}

/// A figure with its basis and source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fact<T> {
    /// The figure, in the unit of the field that holds it.
    pub value: T,
    /// Whether it was measured on this chip.
    pub basis: Basis,
    /// Where it comes from, in words.
    pub source: &'static str,
}

impl<T> Fact<T> {
    /// A figure measured on this chip.
    pub const fn measured(value: T, source: &'static str) -> Self {
        Fact { value, basis: Basis::Measured, source }
    }

    /// A figure that nobody has measured on this chip.
    pub const fn unmeasured(value: T, source: &'static str) -> Self {
        Fact { value, basis: Basis::Unmeasured, source }
    }
}

/// A linear clock of a copy engine: `base + packets * per_packet + bytes / rate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SdmaClock {
    /// Picoseconds once.
    pub base_ps: u64,
    /// Picoseconds for each packet (latency) or operation (streaming).
    pub per_packet_ps: u64,
    /// Bytes per nanosecond, which is GB/s.
    pub bytes_per_ns: u64,
}

impl SdmaClock {
    /// Picoseconds for `packets` packets that move `bytes` bytes together, rounded up; saturating.
    pub const fn picoseconds(&self, packets: u64, bytes: u64) -> u64 {
        // In 128 bits so that no byte count a kernel can name loses its product.
        let moving = (bytes as u128 * 1000).div_ceil(self.bytes_per_ns as u128);
        let moving = if moving > u64::MAX as u128 { u64::MAX } else { moving as u64 };
        self.base_ps.saturating_add(self.per_packet_ps.saturating_mul(packets)).saturating_add(moving)
    }
}

/// One row of the measured bandwidth curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BandwidthPoint {
    /// Bytes of one operation.
    pub bytes_per_op: u64,
    /// Bytes per nanosecond (GB/s) when such operations follow each other.
    pub bytes_per_ns: u32,
}

/// One row of the issue cost table: what posting costs the compute unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssuePoint {
    /// Active lanes of the wave, one packet each.
    pub lanes: u32,
    /// CU cycles until the post returns.
    pub cycles: u32,
}

/// What the copy engines cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SdmaCosts {
    /// From idle to the last byte.
    pub latency: Fact<SdmaClock>,
    /// Per operation in a stream of them; `base_ps` is zero.
    pub streaming: Fact<SdmaClock>,
    /// The measured curve that `streaming` approximates, ascending.
    pub bandwidth: Fact<&'static [BandwidthPoint]>,
    /// Issue cycles of one wave whose lanes share one queue (SameQueue), ascending by lanes.
    pub issue_same_queue: Fact<&'static [IssuePoint]>,
    /// Issue cycles of one wave whose lanes spread over as many queues (at most 8), ascending by lanes.
    pub issue_spread: Fact<&'static [IssuePoint]>,
    /// Bytes per nanosecond of one broadcast packet to two remote ranks.
    pub broadcast_remote_bytes_per_ns: Fact<u32>,
    /// Bytes per nanosecond of one broadcast packet to one local and one remote destination.
    pub broadcast_mixed_bytes_per_ns: Fact<u32>,
    /// Bytes per nanosecond of one broadcast packet to two local destinations.
    pub broadcast_local_bytes_per_ns: Fact<u32>,
    /// Bytes per nanosecond of two puts on two queues to two peers, together.
    pub two_puts_two_queues_bytes_per_ns: Fact<u32>,
    /// Picoseconds that a wait packet adds to the put behind it when its condition already holds.
    pub satisfied_wait_ps: Fact<u64>,
    /// Picoseconds of one atomic: what a signalled copy adds to the copy before it.
    pub atomic_ps: Fact<u64>,
    /// Posts per doorbell at which batching pays best: (least, most).
    pub batch_sweet_spot: Fact<(u32, u32)>,
    /// Bytes per nanosecond of a gather by CUs in local memory.
    pub local_gather_bytes_per_ns: Fact<u32>,
}

impl SdmaCosts {
    /// Latency clock: `packets` packets that move `bytes` bytes together, posted at once to an idle queue.
    pub const fn latency(&self, packets: u64, bytes: u64) -> Cost {
        Cost { picoseconds: self.latency.value.picoseconds(packets, bytes), basis: self.latency.basis }
    }

    /// Streaming clock: `ops` operations that move `bytes` bytes together, in a stream that keeps the queue busy.
    pub const fn streaming(&self, ops: u64, bytes: u64) -> Cost {
        Cost { picoseconds: self.streaming.value.picoseconds(ops, bytes), basis: self.streaming.basis }
    }

    /// Issue cycles of one wave with `lanes` active lanes on one queue: the next row at or above `lanes`.
    ///
    /// More lanes than the table has are charged as whole waves of the last row.
    pub fn issue_cycles_same_queue(&self, lanes: u32) -> u64 {
        let rows = self.issue_same_queue.value;
        let row = rows.iter().find(|row| row.lanes >= lanes);
        match (row, rows.last()) {
            (Some(row), _) => u64::from(row.cycles),
            (None, Some(last)) => u64::from(last.cycles) * u64::from(lanes.div_ceil(last.lanes)),
            (None, None) => 0,
        }
    }
}

/// What copies by compute units (streaming multiprocessors) cost: figures of one CU or SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CuCosts {
    /// Clock in MHz.
    pub clock_mhz: Fact<u32>,
    /// Cycles to issue one warp-wide global load or store, whatever its width.
    pub global_issue_cycles: Fact<u32>,
    /// Bytes per cycle between registers and the global memory path (L1).
    pub global_bytes_per_cycle: Fact<u32>,
    /// Cycles to issue one warp-wide shared (LDS) load or store, whatever its width.
    pub shared_issue_cycles: Fact<u32>,
    /// Bytes per cycle of shared memory without bank conflicts.
    pub shared_bytes_per_cycle: Fact<u32>,
    /// Cycles to issue one `ldmatrix` or `stmatrix`; each 8x8 16-bit matrix then moves 128 bytes.
    pub matrix_issue_cycles: Fact<u32>,
}

impl CuCosts {
    /// One warp-wide global load or store of `bytes` bytes over all lanes.
    pub fn global_access(&self, bytes: u64) -> Cost {
        self.access(self.global_issue_cycles, self.global_bytes_per_cycle, bytes, 1)
    }

    /// One warp-wide shared load or store of `bytes` bytes over all lanes; `conflict_ways` is 1 without bank conflicts.
    pub fn shared_access(&self, bytes: u64, conflict_ways: u64) -> Cost {
        self.access(self.shared_issue_cycles, self.shared_bytes_per_cycle, bytes, conflict_ways)
    }

    /// One `ldmatrix` or `stmatrix` of `matrices` (1, 2 or 4) 8x8 16-bit matrices; `conflict_ways` is 1 without bank
    /// conflicts.
    pub fn matrix_access(&self, matrices: u64, conflict_ways: u64) -> Cost {
        self.access(self.matrix_issue_cycles, self.shared_bytes_per_cycle, matrices.saturating_mul(128), conflict_ways)
    }

    /// `issue + bytes * ways / rate` cycles, rounded up, in picoseconds.
    fn access(&self, issue: Fact<u32>, rate: Fact<u32>, bytes: u64, ways: u64) -> Cost {
        let moving = bytes.saturating_mul(ways.max(1)).div_ceil(u64::from(rate.value.max(1)));
        let cycles = moving.saturating_add(u64::from(issue.value));
        let picoseconds = cycles.saturating_mul(PS_PER_US) / u64::from(self.clock_mhz.value.max(1));
        Cost { picoseconds, basis: issue.basis.and(rate.basis).and(self.clock_mhz.basis) }
    }
}

/// What the instructions of one wave cost in the simulator's virtual time, in cycles of [`CuCosts::clock_mhz`].
///
/// Coarse on purpose: waves do not slow each other down, and what memory takes depends on its kind only. The figures of
/// uncached memory are such that a post costs what [`SdmaCosts::issue_same_queue`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaveCosts {
    /// From one instruction of a wave to its next one.
    pub instruction: Fact<u32>,
    /// From the last wave's arrival at a barrier until all go on.
    pub barrier: Fact<u32>,
    /// From a scalar load to its result.
    pub scalar_load: Fact<u32>,
    /// From an LDS access to its result.
    pub shared: Fact<u32>,
    /// From a plain load of lines that its compute unit loaded lately to its result.
    pub cached: Fact<u32>,
    /// From any other plain access of the rank's own memory to its result.
    pub global: Fact<u32>,
    /// What a peer's memory adds to any access.
    pub remote: Fact<u32>,
    /// From a load, or an atomic that returns, to its result: uncached memory, or past the caches at agent scope.
    pub uncached_load: Fact<u32>,
    /// From a load at system scope to its result: what polls of signals take.
    pub system_load: Fact<u32>,
    /// From a load of a queue's read position, which an engine writes, to its result.
    pub read_position: Fact<u32>,
    /// From a store of uncached memory, or past the caches, until it is acknowledged.
    pub uncached_store: Fact<u32>,
    /// What each run of lanes with neighbouring addresses takes of the path to uncached memory.
    pub uncached_run: Fact<u32>,
    /// The same at a scope that goes past the caches, and for atomics.
    pub scoped_run: Fact<u32>,
}

/// All cost figures of a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostTable {
    /// Copy engines; `None` where kernels cannot drive any.
    pub sdma: Option<SdmaCosts>,
    /// Compute units.
    pub cu: CuCosts,
    /// Instructions of a wave; `None` where no simulator executes them.
    pub wave: Option<WaveCosts>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sdma() -> SdmaCosts {
        crate::GFX950.costs.sdma.unwrap()
    }

    #[test]
    fn latency_gives_the_seeds_figures() {
        // "the same 256 KB in one copy costs about 11 us"
        let one = sdma().latency(1, 256 * 1024);
        assert_eq!(one, Cost { picoseconds: 10_897_443, basis: Basis::Measured });
        // "64 x 4 KB costs 138 us": the clock is within 4 % of it.
        let many = sdma().latency(64, 64 * 4096).picoseconds;
        assert!((138_000_000..=144_000_000).contains(&many), "{many}");
        // An ATOMIC costs what a COPY does: 64 signalled copies take 248 us, here within 11 %.
        let signalled = sdma().latency(128, 64 * 4096).picoseconds;
        assert!((248_000_000..=278_000_000).contains(&signalled), "{signalled}");
    }

    #[test]
    fn streaming_follows_the_measured_curve() {
        for point in sdma().bandwidth.value {
            let time = sdma().streaming(1, point.bytes_per_op).picoseconds;
            let predicted = point.bytes_per_op * 1000 / time;
            let measured = u64::from(point.bytes_per_ns);
            assert!(
                predicted.abs_diff(measured) <= 2,
                "{} bytes: {predicted} GB/s, seed {measured}",
                point.bytes_per_op
            );
        }
    }

    #[test]
    fn issue_cycles_round_up_to_the_next_row() {
        assert_eq!(sdma().issue_cycles_same_queue(1), 2244);
        assert_eq!(sdma().issue_cycles_same_queue(3), 2624);
        assert_eq!(sdma().issue_cycles_same_queue(64), 3220);
        assert_eq!(sdma().issue_cycles_same_queue(65), 6440);
    }

    #[test]
    fn costs_saturate() {
        let huge = sdma().latency(u64::MAX, u64::MAX);
        assert_eq!(huge.picoseconds, u64::MAX);
        assert_eq!(huge.plus(huge).picoseconds, u64::MAX);
        assert_eq!(huge.times(2).picoseconds, u64::MAX);
        assert_eq!(crate::SM_90A.costs.cu.shared_access(u64::MAX, u64::MAX).basis, Basis::Unmeasured);
    }

    #[test]
    fn wide_accesses_beat_narrow_ones_and_conflicts_cost() {
        let cu = crate::SM_90A.costs.cu;
        // 32 lanes move 16 bytes each: once 128 bits wide, or four times 32 bits wide.
        assert!(cu.shared_access(512, 1) < cu.shared_access(128, 1).times(4));
        assert!(cu.global_access(512) < cu.global_access(128).times(4));
        assert!(cu.shared_access(512, 8) > cu.shared_access(512, 1));
        // ldmatrix.x4 moves the same 512 bytes.
        assert_eq!(cu.matrix_access(4, 1), cu.shared_access(512, 1));
    }
}

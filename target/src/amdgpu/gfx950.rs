//! gfx950: CDNA 4, MI350X and MI355X.
//!
//! What must hold here: one record, every field with its source. All SDMA figures of the seed were measured on this chip.

use super::{CDNA, CDNA_FEATURES, ELF_ABI_VERSION, ELF_MACHINE, ELF_OS_ABI};
use crate::cost::{BandwidthPoint, CostTable, CuCosts, Fact, IssuePoint, SdmaClock, SdmaCosts, WaveCosts};
use crate::feature::Features;
use crate::record::{ElfFacts, Target, Vendor};
use crate::sdma::{self, CopyLimit, PostedDwords, SdmaFacts};

const SEED: &str = "mori's SDMA guide: MI355X, two ranks over xGMI";
const MODEL: &str = "linear fit of the tables in mori's SDMA guide: MI355X, two ranks over xGMI";
const FITTED: &str = "fitted so that our posts cost what the issue table of mori's SDMA guide says";
const UNKNOWN: &str = "general knowledge of CDNA, not measured";

/// The record of gfx950.
pub static GFX950: Target = Target {
    name: "gfx950",
    products: "MI350X, MI355X",
    vendor: Vendor::Amd,
    triple: "amdgcn-amd-amdhsa", // hw 3
    llvm_cpu: "gfx950",
    llvm_features: CDNA_FEATURES,
    warp_size: 64,                // hw 3
    lds_bytes: 160 * 1024,        // hw 4
    lds_static_bytes: 160 * 1024, // hw 4; AMD has no opt-in
    lds_banks: 64,                // hw 6 [K]
    max_threads_per_block: 1024,  // [K] HSA's limit on every gfx9
    max_vector_bits_global: 128,  // hw 3: global_load_dwordx4
    max_vector_bits_shared: 128,  // hw 3: ds_read_b128
    features: Features {
        ldmatrix_b16: false, // NVIDIA instruction
        ldmatrix_b8: false,
        stmatrix_b16: false,
        stmatrix_b8: false,
        cp_async_bytes: &[],
        bulk_copy: false,
        tensor_copy: false,
        mbarrier_tx: false,
        elect_sync: false,
        clusters: false,
        // hw 4: 4, 12 and 16 compiled; 1 and 2 exist as ubyte and ushort, 1 was not compiled.
        direct_to_lds_bytes: &[1, 2, 4, 12, 16],
        lds_transpose_read_bits: &[4, 6, 8, 16], // hw 4; only the 16-bit mapping is confirmed by several sources
        permlane_swap: true,                     // hw 4
    },
    sdma: Some(SDMA),
    costs: CostTable { sdma: Some(SDMA_COSTS), cu: CU_COSTS, wave: Some(WAVE_COSTS) },
    elf: Some(ElfFacts {
        machine: ELF_MACHINE,
        os_abi: ELF_OS_ABI,
        abi_version: ELF_ABI_VERSION,
        e_flags: 0x54f, // hw 3
    }),
    amd: Some(CDNA),
    ptx: None,
};

/// gfx942 has the same engines and mori treats both alike.
pub(super) const SDMA: SdmaFacts = SdmaFacts {
    max_copy_bytes: 0x3fff_ffe0, // golden: mori's chunk size, 30-bit count less a ring unit
    other_copy_limits: &[
        CopyLimit { bytes: 0x003f_ffe0, source: "ROCr's safe size for engines with a 22-bit count (hw 1)" },
        CopyLimit {
            bytes: 0x0040_0000,
            source: "largest 22-bit count; tinygrad's limit for SDMA before version 5 (hw 1)",
        },
        CopyLimit { bytes: 0x4000_0000, source: "largest 30-bit count of the register (hw 1)" },
    ],
    ring_bytes: 262_144,           // golden, hw 2: 256 KiB
    unit_bytes: 32,                // golden
    unit_align_bytes: 16,          // golden: "Ring unit 32, align 16"
    max_in_flight_bytes: 262_112,  // seed: 256 KB - 32 B
    max_queues: 8,                 // seed: hardware cap 8
    default_queues: 2,             // seed
    broadcast_congruence_mask: 31, // seed, hw 1
    wait_compare_bits: 32,         // seed, hw 1
    posted: PostedDwords {
        copy_header: 0x0000_0001,         // golden
        broadcast_header: 0x0800_0001,    // hw 1
        copy_parameter: 0,                // golden
        broadcast_parameter: 0,           // hw 1
        atomic_add64_header: 0x5e00_000a, // golden: operation 47
        poll_memory_header: 0x8000_0008,  // hw 1: mem_poll is bit 31
        poll_control: 0x0fff_0004,        // hw 1: retry 0xfff is for ever, interval 4 as ROCr
        padding_unit: 0x0007_0000,        // hw 1: count of the dwords that follow
    },
    packets: &sdma::gfx9::PACKETS,
};

/// Bandwidth by bytes of one operation (seed, "Transfer size").
pub(super) const BANDWIDTH: &[BandwidthPoint] = &[
    BandwidthPoint { bytes_per_op: 64 << 10, bytes_per_ns: 17 },
    BandwidthPoint { bytes_per_op: 128 << 10, bytes_per_ns: 26 },
    BandwidthPoint { bytes_per_op: 256 << 10, bytes_per_ns: 36 },
    BandwidthPoint { bytes_per_op: 512 << 10, bytes_per_ns: 46 },
    BandwidthPoint { bytes_per_op: 1 << 20, bytes_per_ns: 52 },
    BandwidthPoint { bytes_per_op: 2 << 20, bytes_per_ns: 56 },
    BandwidthPoint { bytes_per_op: 4 << 20, bytes_per_ns: 59 },
    BandwidthPoint { bytes_per_op: 8 << 20, bytes_per_ns: 60 },
];

/// Trigger cycles of one wave, one packet a lane, one queue (seed, "ccoSdmaThreadMode").
pub(super) const ISSUE_SAME_QUEUE: &[IssuePoint] = &[
    IssuePoint { lanes: 1, cycles: 2244 },
    IssuePoint { lanes: 2, cycles: 2508 },
    IssuePoint { lanes: 4, cycles: 2624 },
    IssuePoint { lanes: 8, cycles: 2652 },
    IssuePoint { lanes: 16, cycles: 2796 },
    IssuePoint { lanes: 32, cycles: 2916 },
    IssuePoint { lanes: 64, cycles: 3220 },
];

/// The same with the lanes spread over 8 queues (seed); the seed has no figure above 8 lanes.
pub(super) const ISSUE_SPREAD: &[IssuePoint] = &[
    IssuePoint { lanes: 1, cycles: 2330 },
    IssuePoint { lanes: 2, cycles: 3009 },
    IssuePoint { lanes: 4, cycles: 3379 },
    IssuePoint { lanes: 8, cycles: 3377 },
];

/// From idle: 4.5 us + 2.1 us a packet + bytes / 61 GB/s. Gives the seed's 11 us for 256 KiB and about 140 us for 64 x 4 KiB.
pub(super) const LATENCY: SdmaClock = SdmaClock { base_ps: 4_500_000, per_packet_ps: 2_100_000, bytes_per_ns: 61 };

/// In a stream: 2.7 us an operation + bytes / 61 GB/s. Gives the bandwidth table.
pub(super) const STREAMING: SdmaClock = SdmaClock { base_ps: 0, per_packet_ps: 2_700_000, bytes_per_ns: 61 };

const SDMA_COSTS: SdmaCosts = SdmaCosts {
    latency: Fact::measured(LATENCY, MODEL),
    streaming: Fact::measured(STREAMING, MODEL),
    bandwidth: Fact::measured(BANDWIDTH, SEED),
    issue_same_queue: Fact::measured(ISSUE_SAME_QUEUE, SEED),
    issue_spread: Fact::measured(ISSUE_SPREAD, SEED),
    broadcast_remote_bytes_per_ns: Fact::measured(38, SEED),
    broadcast_mixed_bytes_per_ns: Fact::measured(43, SEED),
    broadcast_local_bytes_per_ns: Fact::measured(68, SEED),
    two_puts_two_queues_bytes_per_ns: Fact::measured(122, SEED),
    satisfied_wait_ps: Fact::measured(1_600_000, SEED), // "still costs ~1.6 us over a plain put"
    // "64 signalled copies take 248 us instead of 132 us": 116 us for 64 atomics.
    atomic_ps: Fact::measured(1_810_000, SEED),
    batch_sweet_spot: Fact::measured((8, 16), SEED),
    local_gather_bytes_per_ns: Fact::measured(7_000, SEED), // "a local gather runs at ~7 TB/s"
};

const CU_COSTS: CuCosts = CuCosts {
    clock_mhz: Fact::unmeasured(2400, "AMD's data sheet: peak engine clock of MI355X"),
    // A wave of 64 lanes issues over 4 cycles on a 16-lane SIMD.
    global_issue_cycles: Fact::unmeasured(4, UNKNOWN),
    global_bytes_per_cycle: Fact::unmeasured(64, UNKNOWN),
    shared_issue_cycles: Fact::unmeasured(4, UNKNOWN),
    shared_bytes_per_cycle: Fact::unmeasured(128, "hw 6 [K]: ds_read_b128 at 128 B a clock and CU"),
    matrix_issue_cycles: Fact::unmeasured(4, "no such instruction on this chip"),
};

/// gfx942 has the same instructions; its clock differs.
pub(super) const WAVE_COSTS: WaveCosts = WaveCosts {
    instruction: Fact::unmeasured(4, "a wave of 64 lanes issues over 4 cycles on a 16-lane SIMD"),
    barrier: Fact::unmeasured(32, UNKNOWN),
    scalar_load: Fact::unmeasured(160, UNKNOWN),
    shared: Fact::unmeasured(64, UNKNOWN),
    cached: Fact::unmeasured(120, UNKNOWN),
    global: Fact::unmeasured(500, UNKNOWN),
    remote: Fact::unmeasured(1200, UNKNOWN),
    uncached_load: Fact::unmeasured(400, FITTED),
    system_load: Fact::unmeasured(2000, "the read position's less the 0.24 us that waitSignal is faster than quiet"),
    read_position: Fact::unmeasured(2600, "mori's device code: a read of rptr takes about 2600 cycles (hw 2)"),
    uncached_store: Fact::unmeasured(170, FITTED),
    uncached_run: Fact::unmeasured(6, FITTED),
    scoped_run: Fact::unmeasured(30, FITTED),
};

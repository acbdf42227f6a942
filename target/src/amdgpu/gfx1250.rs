//! gfx1250: the first AMD chip of this table with waves of 32 lanes and split wait counters.
//!
//! What must hold here: one record, every field with its source. mori ran its SDMA code on this chip, so packets and limits
//! are facts; of its figures hw 6 has the peak and the small-copy ones only, and everything else says what stands in.

use super::gfx950::{ISSUE_SAME_QUEUE, ISSUE_SPREAD};
use super::{ELF_ABI_VERSION, ELF_MACHINE, ELF_OS_ABI};
use crate::cost::{BandwidthPoint, CostTable, CuCosts, Fact, SdmaClock, SdmaCosts, WaveCosts};
use crate::feature::Features;
use crate::record::{AmdFacts, ElfFacts, Target, Vendor, WaitCounters};
use crate::sdma::{self, CopyLimit, PostedDwords, SdmaFacts};

const MORI: &str = "mori's benchmarks of this chip (hw 6): 1 KB every 4 us, peak 1600 GB/s";
const MODEL: &str = "8 us for 1 KB and 1600 GB/s are mori's of this chip (hw 6), 2 us a packet are gfx950's";
const STAND_IN: &str = "measured on gfx950 (mori's SDMA guide), not on this chip";
const SCALED: &str = "gfx950's figure scaled by the peaks, 60 to 1600 GB/s";
const UNKNOWN: &str = "general knowledge of this line of chips, not measured";

/// The record of gfx1250.
pub static GFX1250: Target = Target {
    name: "gfx1250",
    products: "MI450 series", // [K]
    vendor: Vendor::Amd,
    triple: "amdgcn-amd-amdhsa", // hw 3
    llvm_cpu: "gfx1250",
    // LLVM 22.1 selects `v_fma_mixlo_bf16 a, b, 0` for `bf16(a * b)`, which turns a product of -0 into +0. The same for f16 is
    // part of the generation and cannot be taken away: the backend keeps the product apart there.
    llvm_features: "-fma-mix-bf16-insts",
    warp_size: 32,                // hw 3
    lds_bytes: 320 * 1024,        // hw 4, in partitions of 64 KiB
    lds_static_bytes: 320 * 1024, // hw 4; AMD has no opt-in
    lds_banks: 64,                // [K] as gfx950; nobody in our sources says
    max_threads_per_block: 1024,  // [K] HSA's limit
    max_vector_bits_global: 128,  // hw 3: global_load_b128
    max_vector_bits_shared: 128,  // hw 3: ds_load_b128
    features: Features {
        ldmatrix_b16: false, // NVIDIA instruction
        ldmatrix_b8: false,
        stmatrix_b16: false,
        stmatrix_b8: false,
        cp_async_bytes: &[], // NVIDIA's; this chip's own (global_load_async_to_lds, hw 4) has no variant yet
        bulk_copy: false,
        tensor_copy: false, // NVIDIA's; tensor_load_to_lds (hw 4) has no variant yet
        mbarrier_tx: false,
        elect_sync: false,
        clusters: false,              // exist (hw 3: s.cluster.barrier), nothing here launches them
        direct_to_lds_bytes: &[],     // hw 4: "gfx1250 has none of this family"; LLVM aborts
        lds_transpose_read_bits: &[], // hw 4: ds_load_tr is another family; ds_read_tr aborts
        permlane_swap: false,         // hw 4: gfx950
    },
    sdma: Some(SDMA),
    costs: CostTable { sdma: Some(SDMA_COSTS), cu: CU_COSTS, wave: Some(WAVE_COSTS) },
    elf: Some(ElfFacts {
        machine: ELF_MACHINE,
        os_abi: ELF_OS_ABI,
        abi_version: ELF_ABI_VERSION,
        e_flags: 0x549, // hw 3
    }),
    amd: Some(AmdFacts {
        wait_counters: WaitCounters::Split, // hw 3: s.wait.{loadcnt,storecnt,dscnt,...}; s.waitcnt is gfx9's
        // LLVM 22.1: 1024 addressable, and as many for all waves of a SIMD (hw 3: more than 4 waves fit up to 192 each).
        simd_registers: 1024,
        simds: 4, // LLVM 22.1: a block of 1024 threads gets 128 registers a lane
    }),
    ptx: None,
};

/// Packets of SDMA 7.1; rings and queues as mori makes them on every chip.
const SDMA: SdmaFacts = SdmaFacts {
    max_copy_bytes: 0x3fff_ffe0, // golden: mori's chunk size on both chips
    other_copy_limits: &[
        CopyLimit { bytes: 0x3fff_ffe0, source: "ROCr's safe size for engines with a 30-bit count (hw 1)" },
        CopyLimit { bytes: 0x4000_0000, source: "largest 30-bit count of the register (hw 1)" },
    ],
    ring_bytes: 262_144,           // golden, hw 2: 256 KiB
    unit_bytes: 32,                // golden
    unit_align_bytes: 16,          // golden: "Ring unit 32, align 16"
    max_in_flight_bytes: 262_112,  // seed: 256 KB - 32 B
    max_queues: 8,                 // seed; hw 2: anvil.hpp caps at 4 queues x 2 engines to a peer
    default_queues: 2,             // seed
    broadcast_congruence_mask: 31, // seed, hw 1
    wait_compare_bits: 32,         // seed: mori waits with POLL_REGMEM on both chips
    posted: PostedDwords {
        copy_header: 0x1000_0001,         // golden: npd is bit 28
        broadcast_header: 0x0800_0001,    // seed: "with the gfx9 layouts", validated on gfx1250
        copy_parameter: 0x0c0c_0000,      // golden: both scopes 3 (system), temporal hints 0
        broadcast_parameter: 0,           // as the header: this form has no scopes, ROCr leaves its cache bits zero
        atomic_add64_header: 0x5e30_000a, // golden: operation 47, scope 3
        poll_memory_header: 0x8000_0008,  // hw 1: mem_poll is bit 31
        // hw 1: retry 0xfff is for ever, interval 4 and scope 3 as ROCr; the seed's gfx9 layout has these bits reserved.
        poll_control: 0x3fff_0004,
        padding_unit: 0x0007_0000, // hw 1: count of the dwords that follow
    },
    packets: &sdma::gfx1250::PACKETS,
};

/// Only the peak is known, not the curve to it: this is the streaming clock's point near it.
const BANDWIDTH: &[BandwidthPoint] = &[BandwidthPoint { bytes_per_op: 128 << 20, bytes_per_ns: 1_527 }];

const SDMA_COSTS: SdmaCosts = SdmaCosts {
    latency: Fact::unmeasured(SdmaClock { base_ps: 6_000_000, per_packet_ps: 2_000_000, bytes_per_ns: 1_600 }, MODEL),
    streaming: Fact::measured(SdmaClock { base_ps: 0, per_packet_ps: 4_000_000, bytes_per_ns: 1_600 }, MORI),
    bandwidth: Fact::unmeasured(BANDWIDTH, "the streaming clock"),
    issue_same_queue: Fact::unmeasured(ISSUE_SAME_QUEUE, STAND_IN),
    issue_spread: Fact::unmeasured(ISSUE_SPREAD, STAND_IN),
    broadcast_remote_bytes_per_ns: Fact::unmeasured(1_010, SCALED),
    broadcast_mixed_bytes_per_ns: Fact::unmeasured(1_150, SCALED),
    broadcast_local_bytes_per_ns: Fact::unmeasured(1_810, SCALED),
    two_puts_two_queues_bytes_per_ns: Fact::unmeasured(3_250, SCALED),
    satisfied_wait_ps: Fact::unmeasured(1_600_000, STAND_IN),
    atomic_ps: Fact::unmeasured(1_810_000, STAND_IN),
    batch_sweet_spot: Fact::unmeasured((8, 16), STAND_IN),
    local_gather_bytes_per_ns: Fact::unmeasured(7_000, STAND_IN),
};

const CU_COSTS: CuCosts = CuCosts {
    clock_mhz: Fact::unmeasured(2400, "gfx950's, AMD's data sheet"),
    // A wave of 32 lanes issues in one cycle on a 32-lane SIMD.
    global_issue_cycles: Fact::unmeasured(1, UNKNOWN),
    global_bytes_per_cycle: Fact::unmeasured(64, UNKNOWN),
    shared_issue_cycles: Fact::unmeasured(1, UNKNOWN),
    shared_bytes_per_cycle: Fact::unmeasured(128, UNKNOWN),
    matrix_issue_cycles: Fact::unmeasured(1, "no such instruction on this chip"),
};

const WAVE_COSTS: WaveCosts = WaveCosts {
    instruction: Fact::unmeasured(1, "a wave of 32 lanes issues in one cycle on a 32-lane SIMD"),
    barrier: Fact::unmeasured(32, UNKNOWN),
    scalar_load: Fact::unmeasured(160, UNKNOWN),
    shared: Fact::unmeasured(64, UNKNOWN),
    cached: Fact::unmeasured(120, UNKNOWN),
    global: Fact::unmeasured(500, UNKNOWN),
    remote: Fact::unmeasured(1200, UNKNOWN),
    uncached_load: Fact::unmeasured(400, STAND_IN),
    system_load: Fact::unmeasured(2000, STAND_IN),
    read_position: Fact::unmeasured(2600, STAND_IN),
    uncached_store: Fact::unmeasured(170, STAND_IN),
    uncached_run: Fact::unmeasured(6, STAND_IN),
    scoped_run: Fact::unmeasured(30, STAND_IN),
};

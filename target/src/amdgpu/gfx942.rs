//! gfx942: CDNA 3, MI300A, MI300X and MI325X.
//!
//! What must hold here: one record, every field with its source. The SDMA engines take the packets of gfx950; nobody in our
//! sources measured this chip's, so gfx950's figures stand in and say so.

use super::gfx950::{BANDWIDTH, ISSUE_SAME_QUEUE, ISSUE_SPREAD, LATENCY, SDMA, STREAMING, WAVE_COSTS};
use super::{CDNA, CDNA_FEATURES, ELF_ABI_VERSION, ELF_MACHINE, ELF_OS_ABI};
use crate::cost::{CostTable, CuCosts, Fact, SdmaCosts};
use crate::feature::Features;
use crate::record::{ElfFacts, Target, Vendor};

const STAND_IN: &str = "measured on gfx950 (mori's SDMA guide), not on this chip";
const UNKNOWN: &str = "general knowledge of CDNA, not measured";

/// The record of gfx942.
pub static GFX942: Target = Target {
    name: "gfx942",
    products: "MI300A, MI300X, MI325X",
    vendor: Vendor::Amd,
    triple: "amdgcn-amd-amdhsa", // hw 3
    llvm_cpu: "gfx942",
    llvm_features: CDNA_FEATURES,
    warp_size: 64,               // hw 3
    lds_bytes: 64 * 1024,        // hw 4
    lds_static_bytes: 64 * 1024, // hw 4; AMD has no opt-in
    lds_banks: 32,               // hw 6 [K]: 128 B a clock and CU
    max_threads_per_block: 1024, // [K] HSA's limit on every gfx9
    max_vector_bits_global: 128, // hw 3: global_load_dwordx4
    max_vector_bits_shared: 128, // hw 3: ds_read_b128
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
        // hw 4: 12 and 16 are gfx950 only, LLVM aborts on them here; 1 exists as ubyte and was not compiled.
        direct_to_lds_bytes: &[1, 2, 4],
        lds_transpose_read_bits: &[], // hw 4: aborts here
        permlane_swap: false,         // hw 4: gfx950
    },
    sdma: Some(SDMA), // hw 1: one table for both chips; mori sends 0x3fffffe0 bytes on both
    costs: CostTable { sdma: Some(SDMA_COSTS), cu: CU_COSTS, wave: Some(WAVE_COSTS) },
    elf: Some(ElfFacts {
        machine: ELF_MACHINE,
        os_abi: ELF_OS_ABI,
        abi_version: ELF_ABI_VERSION,
        e_flags: 0x54c, // hw 3
    }),
    amd: Some(CDNA),
    ptx: None,
};

const SDMA_COSTS: SdmaCosts = SdmaCosts {
    latency: Fact::unmeasured(LATENCY, STAND_IN),
    streaming: Fact::unmeasured(STREAMING, STAND_IN),
    bandwidth: Fact::unmeasured(BANDWIDTH, STAND_IN),
    issue_same_queue: Fact::unmeasured(ISSUE_SAME_QUEUE, STAND_IN),
    issue_spread: Fact::unmeasured(ISSUE_SPREAD, STAND_IN),
    broadcast_remote_bytes_per_ns: Fact::unmeasured(38, STAND_IN),
    broadcast_mixed_bytes_per_ns: Fact::unmeasured(43, STAND_IN),
    broadcast_local_bytes_per_ns: Fact::unmeasured(68, STAND_IN),
    two_puts_two_queues_bytes_per_ns: Fact::unmeasured(122, STAND_IN),
    satisfied_wait_ps: Fact::unmeasured(1_600_000, STAND_IN),
    atomic_ps: Fact::unmeasured(1_810_000, STAND_IN),
    batch_sweet_spot: Fact::unmeasured((8, 16), STAND_IN),
    // gfx950's 7 TB/s scaled by HBM bandwidth, 5.3 to 8 TB/s (hw 6).
    local_gather_bytes_per_ns: Fact::unmeasured(4_600, "gfx950's figure scaled by HBM bandwidth"),
};

const CU_COSTS: CuCosts = CuCosts {
    clock_mhz: Fact::unmeasured(2100, "AMD's data sheet: peak engine clock of MI300X"),
    // A wave of 64 lanes issues over 4 cycles on a 16-lane SIMD.
    global_issue_cycles: Fact::unmeasured(4, UNKNOWN),
    global_bytes_per_cycle: Fact::unmeasured(64, UNKNOWN),
    shared_issue_cycles: Fact::unmeasured(4, UNKNOWN),
    shared_bytes_per_cycle: Fact::unmeasured(128, "hw 6 [K]: LDS 128 B a clock and CU"),
    matrix_issue_cycles: Fact::unmeasured(4, "no such instruction on this chip"),
};

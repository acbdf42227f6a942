//! sm_80: Ampere, A100.
//!
//! What must hold here: one record, every field with its source.

use crate::cost::{CostTable, CuCosts, Fact};
use crate::feature::Features;
use crate::record::{PtxFacts, Target, Vendor};

const UNKNOWN: &str = "rule of thumb, not measured";

/// The record of sm_80.
pub static SM_80: Target = Target {
    name: "sm_80",
    products: "A100",
    vendor: Vendor::Nvidia,
    triple: "nvptx64-nvidia-cuda", // hw 5: the triple of the samples
    llvm_cpu: "sm_80",
    llvm_features: "",           // hw 5: the default PTX version of the CPU suffices
    warp_size: 32,               // PTX: WARP_SZ
    lds_bytes: 163 * 1024,       // CUDA: shared memory per block with opt-in
    lds_static_bytes: 48 * 1024, // CUDA: static shared memory per block
    lds_banks: 32,               // hw 6
    max_threads_per_block: 1024, // CUDA
    max_vector_bits_global: 128, // hw 5: ld/st.global.v4.b32
    max_vector_bits_shared: 128, // hw 5: ld/st.shared.v4.b32
    features: Features {
        ldmatrix_b16: true,          // hw 5: sm_75 and later
        ldmatrix_b8: false,          // hw 5: sm_100a
        stmatrix_b16: false,         // hw 5: sm_90 and later
        stmatrix_b8: false,          // hw 5: sm_100a
        cp_async_bytes: &[4, 8, 16], // hw 5: ca 4, 8, 16; cg 16
        bulk_copy: false,            // hw 5: sm_90 and later
        tensor_copy: false,          // hw 5: sm_90 and later
        mbarrier_tx: false,          // PTX: sm_90 and later
        elect_sync: false,           // PTX: sm_90 and later
        clusters: false,             // PTX: sm_90 and later
        direct_to_lds_bytes: &[],    // AMD instruction
        lds_transpose_read_bits: &[],
        permlane_swap: false,
    },
    sdma: None, // copy engines cannot be driven from a kernel
    costs: CostTable { sdma: None, cu: CU_COSTS, wave: None },
    elf: None,
    amd: None,
    ptx: Some(PtxFacts {
        version: (7, 0), // hw 5
        target: "sm_80",
        compute_capability: (8, 0),
        exact: false,
    }),
};

const CU_COSTS: CuCosts = CuCosts {
    clock_mhz: Fact::unmeasured(1410, "NVIDIA's data sheet: boost clock of A100"),
    global_issue_cycles: Fact::unmeasured(1, UNKNOWN),
    global_bytes_per_cycle: Fact::unmeasured(64, "rule of thumb: L1 to registers 64 B a clock and SM"),
    shared_issue_cycles: Fact::unmeasured(1, UNKNOWN),
    shared_bytes_per_cycle: Fact::unmeasured(128, "CUDA: 32 banks of 4 bytes"),
    matrix_issue_cycles: Fact::unmeasured(1, UNKNOWN),
};

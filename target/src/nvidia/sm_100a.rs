//! sm_100a: Blackwell with its architecture-specific instructions, B200.
//!
//! What must hold here: one record, every field with its source.

use crate::cost::{CostTable, CuCosts, Fact};
use crate::feature::Features;
use crate::record::{PtxFacts, Target, Vendor};

const UNKNOWN: &str = "rule of thumb, not measured";

/// The record of sm_100a.
pub static SM_100A: Target = Target {
    name: "sm_100a",
    products: "B200",
    vendor: Vendor::Nvidia,
    triple: "nvptx64-nvidia-cuda", // hw 5: the triple of the samples
    llvm_cpu: "sm_100a",
    llvm_features: "+ptx88", // hw 5: raises PTX 8.6 to 8.8, without which 256-bit accesses are split
    warp_size: 32,           // PTX: WARP_SZ
    lds_bytes: 227 * 1024,   // CUDA: shared memory per block with opt-in
    lds_static_bytes: 48 * 1024, // CUDA: static shared memory per block
    lds_banks: 32,           // hw 6
    max_threads_per_block: 1024, // CUDA
    max_vector_bits_global: 256, // hw 5: ld.global.v4.b64 with +ptx88, 32-byte aligned
    max_vector_bits_shared: 128, // hw 5: ld/st.shared.v4.b32
    features: Features {
        ldmatrix_b16: true,          // hw 5: sm_75 and later
        ldmatrix_b8: true,           // hw 5: sm_100a
        stmatrix_b16: true,          // hw 5: sm_90 and later
        stmatrix_b8: true,           // hw 5: sm_100a
        cp_async_bytes: &[4, 8, 16], // hw 5: ca 4, 8, 16; cg 16
        bulk_copy: true,             // hw 5: sm_90 and later
        tensor_copy: true,           // hw 5: sm_90 and later
        mbarrier_tx: true,           // PTX: sm_90 and later
        elect_sync: true,            // PTX: sm_90 and later
        clusters: true,              // PTX: sm_90 and later
        direct_to_lds_bytes: &[],    // AMD instruction
        lds_transpose_read_bits: &[],
        permlane_swap: false,
    },
    sdma: None, // copy engines cannot be driven from a kernel
    costs: CostTable { sdma: None, cu: CU_COSTS, wave: None },
    elf: None,
    amd: None,
    ptx: Some(PtxFacts {
        version: (8, 8), // hw 5
        target: "sm_100a",
        compute_capability: (10, 0),
        exact: true,
    }),
};

const CU_COSTS: CuCosts = CuCosts {
    clock_mhz: Fact::unmeasured(1965, "boost clock of B200 as reported in public, not a data sheet"),
    global_issue_cycles: Fact::unmeasured(1, UNKNOWN),
    global_bytes_per_cycle: Fact::unmeasured(64, "rule of thumb: L1 to registers 64 B a clock and SM"),
    shared_issue_cycles: Fact::unmeasured(1, UNKNOWN),
    shared_bytes_per_cycle: Fact::unmeasured(128, "hw 6: Blackwell about 128 B a clock and SM"),
    matrix_issue_cycles: Fact::unmeasured(1, UNKNOWN),
};

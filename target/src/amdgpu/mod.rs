//! Records of AMD chips, one file each.
//!
//! What must hold here: each file holds one record with every field written out and sourced; what two chips share by
//! construction (packet tables, ELF constants) is named, not copied.

pub(crate) mod gfx1250;
pub(crate) mod gfx942;
pub(crate) mod gfx950;

use crate::record::{AmdFacts, WaitCounters};

/// CDNA 3 and 4: one counter for loads and stores (hw 3), 512 registers a lane with the accumulation registers for all waves of
/// a SIMD, four SIMDs to a CU (CDNA3 ISA, section on VGPRs).
const CDNA: AmdFacts = AmdFacts { wait_counters: WaitCounters::Shared, simd_registers: 512, simds: 4 };

/// Instructions that LLVM 22.1 must not use: it selects `v_fma_mixlo_f16 a, b, 0` for `f16(a * b)`, which turns a product of
/// -0 into +0.
const CDNA_FEATURES: &str = "-fma-mix-insts";

/// ELF machine number of AMDGPU objects (hw 3).
const ELF_MACHINE: u16 = 224;
/// ELF OSABI of HSA objects (hw 3).
const ELF_OS_ABI: u8 = 64;
/// ELF ABI version of code object version 6, LLVM 22.1's default (hw 3).
const ELF_ABI_VERSION: u8 = 4;

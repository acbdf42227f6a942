//! The target record: the fields every chip fills in, and the questions that passes may ask of it.
//!
//! What must hold here: a field is a fact of the chip or of the toolchain for it, with its unit in the doc comment; methods
//! only read fields, they decide nothing.

use crate::cost::CostTable;
use crate::feature::Features;
use crate::sdma::SdmaFacts;

/// Who makes the chip, and with it which backend emits code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vendor {
    /// AMD: ELF code objects for the AMDGPU ISA.
    Amd,
    /// NVIDIA: PTX text.
    Nvidia,
}

/// Which kind of memory a vector access goes to, see [`Target::max_vector_bytes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VectorSpace {
    /// Device memory, peer windows included.
    Global,
    /// LDS (AMD) or shared memory (NVIDIA).
    Shared,
}

/// What the ELF header of a code object for the chip holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElfFacts {
    /// `e_machine`.
    pub machine: u16,
    /// `e_ident[EI_OSABI]`.
    pub os_abi: u8,
    /// `e_ident[EI_ABIVERSION]`: 4 stands for code object version 6.
    pub abi_version: u8,
    /// `e_flags`, the whole word as LLVM 22.1 writes it: chip number and the "any" settings of xnack and sramecc.
    pub e_flags: u32,
}

impl ElfFacts {
    /// The low eight bits of `e_flags`: the number of the chip alone.
    pub const fn mach(&self) -> u32 {
        self.e_flags & 0xff
    }
}

/// How a wave of an AMD chip waits for its memory accesses, and with it which instructions and intrinsics a wait is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitCounters {
    /// `s_waitcnt`: loads and stores are counted together (gfx9).
    Shared,
    /// `s_wait_loadcnt`, `s_wait_storecnt`, `s_wait_dscnt` and so on: one counter each (gfx12).
    Split,
}

/// What only AMD chips have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmdFacts {
    /// How accesses are waited for.
    pub wait_counters: WaitCounters,
    /// Vector registers of 32 bits to a lane, for all waves that share a SIMD.
    pub simd_registers: u32,
    /// SIMDs that the waves of a block share.
    pub simds: u32,
}

/// What the PTX emitted for the chip states about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PtxFacts {
    /// PTX ISA version as (major, minor): the `.version` directive that `llvm_cpu` with `llvm_features` gives.
    pub version: (u8, u8),
    /// The `.target` directive.
    pub target: &'static str,
    /// Compute capability as (major, minor) of the devices that can run it.
    pub compute_capability: (u8, u8),
    /// True if the code runs on exactly that compute capability (`a` suffix), false if on later ones as well.
    pub exact: bool,
}

/// One chip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// The name that users write: `gfx950`, `sm_90a`.
    pub name: &'static str,
    /// Products with this chip, for people.
    pub products: &'static str,
    /// Who makes it.
    pub vendor: Vendor,
    /// LLVM target triple.
    pub triple: &'static str,
    /// LLVM `-mcpu`.
    pub llvm_cpu: &'static str,
    /// LLVM `-mattr`, empty if none is needed.
    pub llvm_features: &'static str,
    /// Lanes in a warp (NVIDIA) or wave (AMD).
    pub warp_size: u32,
    /// Most bytes of LDS or shared memory that one thread block can use, by any means of asking for it.
    pub lds_bytes: u32,
    /// Most bytes of LDS or shared memory that a block can declare statically, without an opt-in at launch.
    pub lds_static_bytes: u32,
    /// Banks of LDS or shared memory, each 4 bytes wide.
    pub lds_banks: u32,
    /// Most threads in one thread block.
    pub max_threads_per_block: u32,
    /// Widest access of one lane to global memory in bits; the address must be aligned to that width.
    pub max_vector_bits_global: u32,
    /// Widest access of one lane to LDS or shared memory in bits; the address must be aligned to that width.
    pub max_vector_bits_shared: u32,
    /// Copy instructions that exist.
    pub features: Features,
    /// Copy engines that a kernel can drive; `None` where there are none.
    pub sdma: Option<SdmaFacts>,
    /// What things cost.
    pub costs: CostTable,
    /// ELF header of code objects; `None` on NVIDIA.
    pub elf: Option<ElfFacts>,
    /// Registers and counters of an AMD chip; `None` on NVIDIA.
    pub amd: Option<AmdFacts>,
    /// PTX version; `None` on AMD.
    pub ptx: Option<PtxFacts>,
}

impl Target {
    /// Bytes of one bank of LDS or shared memory. All records agree: hw 6, CUDA.
    pub const LDS_BANK_BYTES: u32 = 4;

    /// Widest access of one lane in bytes.
    pub const fn max_vector_bytes(&self, space: VectorSpace) -> u32 {
        match space {
            VectorSpace::Global => self.max_vector_bits_global / 8,
            VectorSpace::Shared => self.max_vector_bits_shared / 8,
        }
    }

    /// Registers of 32 bits that a thread of a block of `threads` threads can have.
    ///
    /// NVIDIA: 255 a thread, 65 536 an SM (CUDA C++ programming guide, technical specifications by compute capability; the
    /// same since 3.5). AMD: the waves of the block share the registers of their SIMDs.
    pub const fn registers_per_thread(&self, threads: u32) -> u32 {
        match &self.amd {
            None => {
                let share = 65_536 / if threads == 0 { 1 } else { threads };
                if share < 255 { share } else { 255 }
            }
            Some(amd) => {
                let waves = threads.div_ceil(self.warp_size).div_ceil(amd.simds);
                amd.simd_registers / if waves == 0 { 1 } else { waves }
            }
        }
    }

    /// Most warps (waves) in one thread block.
    pub const fn max_warps_per_block(&self) -> u32 {
        self.max_threads_per_block / self.warp_size
    }

    /// Whether `ldmatrix` with 16-bit elements (`.m8n8.b16`) exists.
    pub const fn has_ldmatrix(&self) -> bool {
        self.features.ldmatrix_b16
    }

    /// Whether `ldmatrix` with 8-bit elements (`.m16n16.trans.b8`) exists.
    pub const fn has_ldmatrix_b8(&self) -> bool {
        self.features.ldmatrix_b8
    }

    /// Whether `stmatrix` with 16-bit elements (`.m8n8.b16`) exists.
    pub const fn has_stmatrix(&self) -> bool {
        self.features.stmatrix_b16
    }

    /// Whether `stmatrix` with 8-bit elements (`.m16n8.trans.b8`) exists.
    pub const fn has_stmatrix_b8(&self) -> bool {
        self.features.stmatrix_b8
    }

    /// The least NVIDIA architecture with `ldmatrix`, for sentences (PTX 6.5).
    pub const fn min_arch_for_ldmatrix() -> &'static str {
        "sm_75"
    }

    /// The least NVIDIA architecture with `ldmatrix` on 8-bit elements, for sentences (PTX 8.6, architecture-specific).
    pub const fn min_arch_for_ldmatrix_b8() -> &'static str {
        "sm_100a"
    }

    /// The least NVIDIA architecture with `stmatrix`, for sentences (PTX 7.8).
    pub const fn min_arch_for_stmatrix() -> &'static str {
        "sm_90"
    }

    /// The least NVIDIA architecture with `stmatrix` on 8-bit elements, for sentences (PTX 8.6, architecture-specific).
    pub const fn min_arch_for_stmatrix_b8() -> &'static str {
        "sm_100a"
    }

    /// Whether an asynchronous copy global -> shared of `bytes` per lane (`cp.async`) exists.
    pub fn has_cp_async(&self, bytes: u32) -> bool {
        self.features.cp_async_bytes.contains(&bytes)
    }

    /// Widths of `cp.async` in bytes per lane, ascending; empty where there is none.
    pub const fn cp_async_widths(&self) -> &'static [u32] {
        self.features.cp_async_bytes
    }

    /// Whether a load global -> LDS of `bytes` per lane (`global_load_lds`) exists.
    pub fn has_direct_to_lds(&self, bytes: u32) -> bool {
        self.features.direct_to_lds_bytes.contains(&bytes)
    }

    /// Widths of `global_load_lds` in bytes per lane, ascending; empty where there is none.
    pub const fn direct_to_lds_widths(&self) -> &'static [u32] {
        self.features.direct_to_lds_bytes
    }

    /// Whether a transposing LDS read for elements of `bits` bits (`ds_read_*_tr_*`) exists.
    pub fn has_lds_transpose_read(&self, bits: u32) -> bool {
        self.features.lds_transpose_read_bits.contains(&bits)
    }

    /// Whether one thread can copy a contiguous block asynchronously (`cp.async.bulk`).
    pub const fn has_bulk_copy(&self) -> bool {
        self.features.bulk_copy
    }

    /// Whether one thread can copy a box of a tensor map asynchronously (`cp.async.bulk.tensor`).
    pub const fn has_tensor_copy(&self) -> bool {
        self.features.tensor_copy
    }

    /// Whether kernels can drive copy engines of their own (SDMA).
    pub const fn has_sdma(&self) -> bool {
        self.sdma.is_some()
    }

    /// Whether warps of `lanes` lanes can use wave-collective instructions (ballot, shuffle, ldmatrix) on this target.
    ///
    /// A kernel may be written for another warp width than the chip has; then only lane-wise variants accept it.
    pub const fn has_collectives_for_warp(&self, lanes: u32) -> bool {
        self.warp_size == lanes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TARGETS;

    #[test]
    fn records_are_consistent() {
        for target in TARGETS {
            let name = target.name;
            let amd = target.vendor == Vendor::Amd;
            assert_eq!(target.elf.is_some(), amd, "{name}");
            assert_eq!(target.ptx.is_some(), !amd, "{name}");
            assert_eq!(target.amd.is_some(), amd, "{name}");
            assert_eq!(
                target.sdma.is_some(),
                target.costs.sdma.is_some(),
                "{name}: engines and their costs go together"
            );
            assert!(
                target.warp_size.is_power_of_two() && target.max_threads_per_block % target.warp_size == 0,
                "{name}"
            );
            assert!(target.lds_static_bytes <= target.lds_bytes, "{name}");
            for widths in [target.cp_async_widths(), target.direct_to_lds_widths()] {
                assert!(widths.is_sorted(), "{name}");
            }
            if let Some(sdma) = target.sdma {
                assert!(sdma.ring_bytes.is_power_of_two(), "{name}");
                assert_eq!(sdma.max_copy_bytes % 32, 0, "{name}: chunks keep the alignment of what follows");
            }
        }
    }

    #[test]
    fn chip_numbers_of_the_code_objects() {
        let flags = |target: &Target| target.elf.map(|elf| (elf.machine, elf.os_abi, elf.abi_version, elf.e_flags));
        assert_eq!(flags(&crate::GFX942), Some((224, 64, 4, 0x54c)));
        assert_eq!(flags(&crate::GFX950), Some((224, 64, 4, 0x54f)));
        assert_eq!(flags(&crate::GFX1250), Some((224, 64, 4, 0x549)));
        assert_eq!(crate::GFX950.elf.map(|elf| elf.mach()), Some(0x4f));
    }

    #[test]
    fn matrix_instructions_appear_with_their_architecture() {
        let flags = |target: &Target| {
            (target.has_ldmatrix(), target.has_ldmatrix_b8(), target.has_stmatrix(), target.has_stmatrix_b8())
        };
        assert_eq!(flags(&crate::SM_80), (true, false, false, false));
        assert_eq!(flags(&crate::SM_90A), (true, false, true, false));
        assert_eq!(flags(&crate::SM_100A), (true, true, true, true));
        assert_eq!(flags(&crate::GFX950), (false, false, false, false));
    }

    #[test]
    fn wide_loads_to_lds_are_gfx950_only() {
        assert!(crate::GFX950.has_direct_to_lds(16) && !crate::GFX942.has_direct_to_lds(16));
        assert!(crate::GFX942.has_direct_to_lds(4) && !crate::SM_90A.has_direct_to_lds(4));
        assert!(crate::GFX950.has_lds_transpose_read(16) && !crate::GFX942.has_lds_transpose_read(16));
    }

    #[test]
    fn registers_are_shared_by_the_waves_of_a_simd() {
        // 1024 threads: 16 waves of 64 lanes, or 32 of 32 lanes, over four SIMDs.
        assert_eq!(crate::GFX950.registers_per_thread(1024), 128);
        assert_eq!(crate::GFX1250.registers_per_thread(1024), 128);
        assert_eq!(crate::GFX950.registers_per_thread(256), 512);
        assert_eq!(crate::GFX1250.registers_per_thread(256), 512);
        assert_eq!(crate::GFX1250.registers_per_thread(128), 1024);
        assert_eq!(crate::SM_90A.registers_per_thread(1024), 64);
    }

    #[test]
    fn widths_follow_the_space() {
        assert_eq!(crate::SM_100A.max_vector_bytes(VectorSpace::Global), 32);
        assert_eq!(crate::SM_100A.max_vector_bytes(VectorSpace::Shared), 16);
        assert_eq!(crate::GFX950.max_warps_per_block(), 16);
        assert!(crate::SM_80.has_collectives_for_warp(32) && !crate::GFX950.has_collectives_for_warp(32));
    }
}

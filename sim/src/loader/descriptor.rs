//! The 64-byte kernel descriptor (`<kernel>.kd`): what the hardware's dispatcher reads at a launch.
//!
//! What must hold here: the layout is that of the AMDGPU ABI for code object versions 3 to 6 on gfx9 and gfx1250; reserved bytes
//! must be zero, so that a field we do not know is a fault and not ignored. What differs between the two was read off objects
//! that LLVM 22 assembled.

use super::LoadError;
use crate::wave::Generation;

/// Bytes of a descriptor.
pub const DESCRIPTOR_BYTES: u64 = 64;

/// A kernel descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelDescriptor {
    /// Bytes of LDS that are allocated statically.
    pub group_segment_bytes: u32,
    /// Bytes of scratch memory of one lane.
    pub private_segment_bytes: u32,
    /// Bytes of the argument block.
    pub kernarg_bytes: u32,
    /// From the descriptor's address to the first instruction, in bytes.
    pub entry_offset: i64,
    /// COMPUTE_PGM_RSRC1, raw.
    pub rsrc1: u32,
    /// COMPUTE_PGM_RSRC2, raw.
    pub rsrc2: u32,
    /// COMPUTE_PGM_RSRC3, raw.
    pub rsrc3: u32,
    /// Kernel code properties, raw.
    pub properties: u16,
    /// Argument preload, raw.
    pub kernarg_preload: u16,
}

impl KernelDescriptor {
    /// Reads a descriptor from its 64 bytes.
    pub(super) fn read(bytes: &[u8], kernel: &str) -> Result<KernelDescriptor, LoadError> {
        let short = || LoadError::Malformed(format!("kernel `{kernel}`: the descriptor is shorter than 64 bytes"));
        let bytes: &[u8; DESCRIPTOR_BYTES as usize] = bytes.try_into().map_err(|_| short())?;
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let u32_at = |at: usize| u32::from(u16_at(at)) | u32::from(u16_at(at + 2)) << 16;
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        for reserved in [12..16, 24..44, 60..64] {
            if bytes[reserved.clone()].iter().any(|byte| *byte != 0) {
                return Err(LoadError::Malformed(format!(
                    "kernel `{kernel}`: reserved bytes {} to {} of the descriptor are not zero",
                    reserved.start,
                    reserved.end - 1
                )));
            }
        }
        Ok(KernelDescriptor {
            group_segment_bytes: u32_at(0),
            private_segment_bytes: u32_at(4),
            kernarg_bytes: u32_at(8),
            entry_offset: u64_at(16) as i64,
            rsrc3: u32_at(44),
            rsrc1: u32_at(48),
            rsrc2: u32_at(52),
            properties: u16_at(56),
            kernarg_preload: u16_at(58),
        })
    }

    /// Scalar registers that the dispatcher fills from user data before the first instruction.
    pub const fn user_sgprs(&self, generation: Generation) -> u32 {
        match generation {
            Generation::Gfx9 => self.rsrc2 >> 1 & 0x1f,
            Generation::Gfx12 => self.rsrc2 >> 1 & 0x3f,
        }
    }

    /// Whether the address of the argument block is among them.
    pub const fn has_kernarg_pointer(&self) -> bool {
        self.properties & 1 << 3 != 0
    }

    /// Which workgroup ids (x, y, z) follow the user registers; gfx1250 has all of them in trap registers, whatever these bits
    /// say.
    pub const fn workgroup_ids(&self) -> [bool; 3] {
        [self.rsrc2 & 1 << 7 != 0, self.rsrc2 & 1 << 8 != 0, self.rsrc2 & 1 << 9 != 0]
    }

    /// Whether waves have 32 lanes instead of 64.
    pub const fn is_wave32(&self) -> bool {
        self.properties & 1 << 10 != 0
    }

    /// Vector registers that a wave is given: on gfx90a and later gfx9 chips VGPRs and AGPRs together, in steps of 8; on gfx1250
    /// in steps of 16.
    pub const fn vector_registers(&self, generation: Generation) -> u32 {
        ((self.rsrc1 & 0x3f) + 1) * if matches!(generation, Generation::Gfx9) { 8 } else { 16 }
    }

    /// Where AGPRs begin among them; gfx1250 has none.
    pub const fn accum_offset(&self, generation: Generation) -> u32 {
        match generation {
            Generation::Gfx9 => ((self.rsrc3 & 0x3f) + 1) * 4,
            Generation::Gfx12 => self.vector_registers(generation),
        }
    }

    /// MODE at the first instruction: rounding and denormals in bits 19:12 of the descriptor, on gfx9 DX10 clamp in 21 and IEEE in
    /// 23. gfx1250 lacks these two bits: a clamp makes NaN zero, and minimum and maximum prefer a number to any NaN (the RDNA4
    /// ISA, section on floating-point modes; inferred for gfx1250).
    pub const fn mode(&self, generation: Generation) -> u32 {
        let rounding_and_denormals = self.rsrc1 >> 12 & 0xff;
        match generation {
            Generation::Gfx9 => rounding_and_denormals | (self.rsrc1 >> 21 & 1) << 8 | (self.rsrc1 >> 23 & 1) << 9,
            Generation::Gfx12 => rounding_and_denormals | 1 << 8,
        }
    }
}

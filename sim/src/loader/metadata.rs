//! The metadata note of a code object: MessagePack, read into types.
//!
//! What must hold here: a missing or mistyped field is an error; unknown fields are skipped, as the ABI adds some in minor
//! versions. The major version and the target must be ours.

use serde::Deserialize;
use tilewright_target::Target;

use super::LoadError;

/// Version of the metadata that this loader reads: code object version 5 and 6 write it.
const VERSION: [u32; 2] = [1, 2];

/// Lists and maps inside one another; ours have four. The reader recurses, so deeper ones are an error, not an overflow.
const MAX_DEPTH: usize = 64;

/// The whole note.
#[derive(Debug, Deserialize)]
pub(super) struct Metadata {
    #[serde(rename = "amdhsa.kernels", default)]
    pub(super) kernels: Vec<KernelMetadata>,
    #[serde(rename = "amdhsa.target")]
    target: String,
    #[serde(rename = "amdhsa.version")]
    version: Vec<u32>,
}

/// What the metadata says about a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct KernelMetadata {
    /// Its name, also the symbol of its code.
    #[serde(rename = ".name")]
    pub name: String,
    /// The symbol of its descriptor.
    #[serde(rename = ".symbol")]
    pub symbol: String,
    /// Its arguments, hidden ones included.
    #[serde(rename = ".args", default)]
    pub args: Vec<ArgMetadata>,
    /// Bytes of the argument block.
    #[serde(rename = ".kernarg_segment_size")]
    pub kernarg_bytes: u64,
    /// Alignment of the argument block in bytes.
    #[serde(rename = ".kernarg_segment_align")]
    pub kernarg_align: u64,
    /// Bytes of LDS that are allocated statically.
    #[serde(rename = ".group_segment_fixed_size")]
    pub group_segment_bytes: u64,
    /// Bytes of scratch memory of one lane.
    #[serde(rename = ".private_segment_fixed_size")]
    pub private_segment_bytes: u64,
    /// Lanes of a wave.
    #[serde(rename = ".wavefront_size")]
    pub wavefront_lanes: u64,
    /// Most threads of a block that it was compiled for.
    #[serde(rename = ".max_flat_workgroup_size")]
    pub max_threads_per_block: u64,
    /// Scalar registers, those that the hardware reserves included.
    #[serde(rename = ".sgpr_count")]
    pub sgprs: u64,
    /// Vector registers.
    #[serde(rename = ".vgpr_count")]
    pub vgprs: u64,
    /// Accumulation registers; absent on chips without them.
    #[serde(rename = ".agpr_count", default)]
    pub agprs: u64,
    /// Scalar registers that were spilled.
    #[serde(rename = ".sgpr_spill_count", default)]
    pub sgpr_spills: u64,
    /// Vector registers that were spilled.
    #[serde(rename = ".vgpr_spill_count", default)]
    pub vgpr_spills: u64,
    /// Whether its stack has no known bound.
    #[serde(rename = ".uses_dynamic_stack", default)]
    pub uses_dynamic_stack: bool,
}

/// What the metadata says about an argument.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ArgMetadata {
    /// Its name; hidden arguments have none.
    #[serde(rename = ".name", default)]
    pub name: String,
    /// Offset in the argument block in bytes.
    #[serde(rename = ".offset")]
    pub offset: u64,
    /// Size in bytes.
    #[serde(rename = ".size")]
    pub bytes: u64,
    /// `by_value`, `global_buffer`, `hidden_…`.
    #[serde(rename = ".value_kind")]
    pub kind: String,
}

/// Reads the note's content.
pub(super) fn read(note: &[u8]) -> Result<Metadata, LoadError> {
    let mut reader = rmp_serde::Deserializer::from_read_ref(note);
    reader.set_max_depth(MAX_DEPTH);
    let metadata = Metadata::deserialize(&mut reader).map_err(|error| LoadError::Metadata(error.to_string()))?;
    if metadata.version != VERSION {
        return Err(LoadError::Metadata(format!(
            "its version is {:?}, this loader reads {VERSION:?}",
            metadata.version
        )));
    }
    for kernel in &metadata.kernels {
        for arg in &kernel.args {
            if arg.offset.checked_add(arg.bytes).is_none_or(|end| end > kernel.kernarg_bytes) {
                return Err(LoadError::Metadata(format!(
                    "kernel `{}`: argument `{}` ends outside the argument block of {} bytes",
                    kernel.name, arg.name, kernel.kernarg_bytes
                )));
            }
        }
    }
    Ok(metadata)
}

impl Metadata {
    /// The chip in `amdgcn-amd-amdhsa--gfx950:xnack+` must be the device's.
    pub(super) fn check_target(&self, target: &Target) -> Result<(), LoadError> {
        let chip = self.target.strip_prefix(target.triple).and_then(|rest| rest.strip_prefix("--"));
        let chip = chip.map(|rest| rest.split_once(':').map_or(rest, |(chip, _)| chip));
        match chip {
            Some(chip) if chip == target.llvm_cpu => Ok(()),
            Some(chip) => Err(LoadError::Target { object: chip.to_owned(), device: target.name }),
            None => Err(LoadError::Target { object: self.target.clone(), device: target.name }),
        }
    }
}

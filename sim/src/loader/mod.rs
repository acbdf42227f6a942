//! From the bytes of a linked code object (`.hsaco`) to segments and kernels.
//!
//! What must hold here: an object is taken only if its ELF header, its metadata, its descriptors and its symbols agree with
//! each other and with the target; whatever the simulator later reads (an entry address, a size) was checked here once.

mod descriptor;
mod elf;
mod error;
mod metadata;
#[cfg(test)]
mod tests;

pub use descriptor::{DESCRIPTOR_BYTES, KernelDescriptor};
pub use error::LoadError;
pub use metadata::{ArgMetadata, KernelMetadata};

use std::collections::BTreeSet;

use tilewright_artifact::KernelInfo;
use tilewright_target::Target;

/// Most bytes of memory that one code object may ask for: far above any kernel, far below what would exhaust a laptop.
pub const MAX_IMAGE_BYTES: u64 = 1 << 30;

/// Alignment of a kernel's entry point in bytes (AMDGPU code object ABI).
const ENTRY_ALIGN: u64 = 256;

/// A piece of the object that is mapped at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First address, relative to where the object is loaded.
    pub address: u64,
    /// Bytes in memory; what goes beyond `bytes` is zero.
    pub memory_bytes: u64,
    /// Its content.
    pub bytes: Vec<u8>,
    /// Whether it holds code.
    pub executable: bool,
    /// Whether it may be written.
    pub writable: bool,
}

impl Segment {
    /// The first address behind the segment.
    pub fn end(&self) -> u64 {
        self.address.saturating_add(self.memory_bytes)
    }
}

/// A kernel that can be launched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Address of its descriptor, relative to where the object is loaded.
    pub descriptor_address: u64,
    /// Its descriptor.
    pub descriptor: KernelDescriptor,
    /// Address of its first instruction, relative to where the object is loaded; in an executable segment.
    pub entry: u64,
    /// Bytes of its code as the symbol table has them.
    pub code_bytes: u64,
    /// What its metadata says.
    pub metadata: KernelMetadata,
}

impl Kernel {
    /// Checks that the artifact's description fits this kernel.
    ///
    /// # Errors
    /// [`LoadError::Mismatch`] with both figures.
    pub fn check_against(&self, info: &KernelInfo) -> Result<(), LoadError> {
        let sides = |what, artifact, object| match artifact == object {
            true => Ok(()),
            false => Err(LoadError::Mismatch {
                kernel: self.name.clone(),
                what,
                first: "artifact",
                first_value: artifact,
                second: "metadata",
                second_value: object,
            }),
        };
        sides("LDS bytes", u64::from(info.lds_bytes), self.metadata.group_segment_bytes)?;
        sides("argument bytes", info.args_bytes(), self.metadata.kernarg_bytes)
    }
}

/// A code object that was found sound for a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeObject {
    /// Name of the target.
    pub target: &'static str,
    /// Its mapped pieces, ascending, without overlap.
    pub segments: Vec<Segment>,
    /// Its kernels in the order of the metadata.
    pub kernels: Vec<Kernel>,
}

impl CodeObject {
    /// Reads a linked code object for `target`.
    ///
    /// # Errors
    /// A [`LoadError`] that names what disagrees with what.
    pub fn load(file: &[u8], target: &'static Target) -> Result<CodeObject, LoadError> {
        let elf = elf::read(file, target)?;
        let metadata = metadata::read(&elf.metadata)?;
        metadata.check_target(target)?;
        let mut descriptors = BTreeSet::new();
        let mut kernels = Vec::new();
        for kernel in metadata.kernels {
            if !descriptors.insert(kernel.symbol.clone()) {
                return Err(LoadError::Malformed(format!("the metadata has the descriptor `{}` twice", kernel.symbol)));
            }
            kernels.push(load_kernel(&elf, kernel, target)?);
        }
        if let Some(orphan) = elf.symbols.keys().find(|name| name.ends_with(".kd") && !descriptors.contains(*name)) {
            return Err(LoadError::NoMetadata { symbol: orphan.clone() });
        }
        Ok(CodeObject { target: target.name, segments: elf.segments, kernels })
    }

    /// The kernel of that name.
    ///
    /// # Errors
    /// [`LoadError::NoKernel`] with the names that exist.
    pub fn kernel(&self, name: &str) -> Result<&Kernel, LoadError> {
        self.kernels.iter().find(|kernel| kernel.name == name).ok_or_else(|| LoadError::NoKernel {
            name: name.to_owned(),
            known: self.kernels.iter().map(|kernel| kernel.name.clone()).collect(),
        })
    }

    /// The content at `address`, `None` unless all `bytes` bytes lie in the content of one segment.
    pub fn bytes_at(&self, address: u64, bytes: u64) -> Option<&[u8]> {
        elf::bytes_at(&self.segments, address, bytes)
    }

    /// Bytes of memory from address zero to the end of the last segment.
    pub fn image_bytes(&self) -> u64 {
        self.segments.last().map_or(0, Segment::end)
    }
}

/// One kernel: its symbols, its descriptor, and all of them against the metadata and the target.
fn load_kernel(elf: &elf::Elf, metadata: KernelMetadata, target: &Target) -> Result<Kernel, LoadError> {
    let name = metadata.name.clone();
    let symbol = |symbol: &str| {
        elf.symbols
            .get(symbol)
            .copied()
            .ok_or_else(|| LoadError::MissingSymbol { kernel: name.clone(), symbol: symbol.to_owned() })
    };
    let descriptor_symbol = symbol(&metadata.symbol)?;
    let code_symbol = symbol(&name)?;
    let outside = |what: &str, address| {
        LoadError::Malformed(format!("kernel `{name}`: {what} at {address:#x} is outside the object"))
    };
    let bytes = elf::bytes_at(&elf.segments, descriptor_symbol.address, DESCRIPTOR_BYTES)
        .ok_or_else(|| outside("the descriptor", descriptor_symbol.address))?;
    let descriptor = KernelDescriptor::read(bytes, &name)?;

    let entry = descriptor_symbol.address.wrapping_add_signed(descriptor.entry_offset);
    if entry != code_symbol.address {
        return Err(mismatch(&name, "the entry address", ("descriptor", entry), ("symbol", code_symbol.address)));
    }
    let code = elf.segments.iter().find(|segment| {
        segment.executable && elf::bytes_at(std::slice::from_ref(segment), entry, code_symbol.bytes.max(4)).is_some()
    });
    if code.is_none() {
        return Err(outside("the code", entry));
    }
    if entry % ENTRY_ALIGN != 0 {
        return Err(LoadError::Malformed(format!(
            "kernel `{name}`: entry {entry:#x} is not a multiple of {ENTRY_ALIGN}"
        )));
    }
    check_sizes(&name, &metadata, &descriptor)?;
    check_limits(&name, &metadata, &descriptor, target)?;
    Ok(Kernel {
        descriptor_address: descriptor_symbol.address,
        descriptor,
        entry,
        code_bytes: code_symbol.bytes,
        name,
        metadata,
    })
}

/// Metadata and descriptor must tell the same sizes.
fn check_sizes(name: &str, metadata: &KernelMetadata, descriptor: &KernelDescriptor) -> Result<(), LoadError> {
    let pairs = [
        ("LDS bytes", metadata.group_segment_bytes, descriptor.group_segment_bytes),
        ("scratch bytes", metadata.private_segment_bytes, descriptor.private_segment_bytes),
        ("argument bytes", metadata.kernarg_bytes, descriptor.kernarg_bytes),
    ];
    for (what, said, found) in pairs {
        if said != u64::from(found) {
            return Err(mismatch(name, what, ("metadata", said), ("descriptor", u64::from(found))));
        }
    }
    Ok(())
}

/// What the kernel asks for must exist on the target.
fn check_limits(
    name: &str,
    metadata: &KernelMetadata,
    descriptor: &KernelDescriptor,
    target: &Target,
) -> Result<(), LoadError> {
    let lanes = if descriptor.is_wave32() { 32 } else { 64 };
    if metadata.wavefront_lanes != lanes {
        return Err(mismatch(name, "the wave width", ("metadata", metadata.wavefront_lanes), ("descriptor", lanes)));
    }
    if lanes != u64::from(target.warp_size) {
        return Err(mismatch(name, "the wave width", ("object", lanes), ("device", u64::from(target.warp_size))));
    }
    let limits = [
        ("LDS bytes", metadata.group_segment_bytes, target.lds_bytes),
        ("threads per block", metadata.max_threads_per_block, target.max_threads_per_block),
    ];
    for (what, wanted, limit) in limits {
        if wanted > u64::from(limit) {
            return Err(LoadError::Limit {
                kernel: name.to_owned(),
                what,
                wanted,
                limit: u64::from(limit),
                device: target.name,
            });
        }
    }
    Ok(())
}

fn mismatch(kernel: &str, what: &'static str, first: (&'static str, u64), second: (&'static str, u64)) -> LoadError {
    LoadError::Mismatch {
        kernel: kernel.to_owned(),
        what,
        first: first.0,
        first_value: first.1,
        second: second.0,
        second_value: second.1,
    }
}

//! Address spaces, orderings and scopes: the words that memory operations are built with.
//!
//! Must hold: the numbers and names are LLVM's; each scope says on which target it is known.

use llvm_sys::LLVMAtomicOrdering;

/// LLVM's address spaces, equal on both GPU targets for these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressSpace {
    /// Flat on AMD, generic on NVIDIA.
    Flat = 0,
    /// Device memory.
    Global = 1,
    /// LDS on AMD, shared memory on NVIDIA.
    Shared = 3,
    /// Constant memory: kernel arguments on AMD.
    Constant = 4,
    /// Stack of one thread.
    Private = 5,
}

/// Memory orderings of LLVM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as in LLVM's language reference")]
pub enum Ordering {
    Monotonic,
    Acquire,
    Release,
    AcquireRelease,
    SequentiallyConsistent,
}

impl Ordering {
    pub(crate) fn inkwell(self) -> inkwell::AtomicOrdering {
        match self {
            Ordering::Monotonic => inkwell::AtomicOrdering::Monotonic,
            Ordering::Acquire => inkwell::AtomicOrdering::Acquire,
            Ordering::Release => inkwell::AtomicOrdering::Release,
            Ordering::AcquireRelease => inkwell::AtomicOrdering::AcquireRelease,
            Ordering::SequentiallyConsistent => inkwell::AtomicOrdering::SequentiallyConsistent,
        }
    }

    pub(crate) fn llvm(self) -> LLVMAtomicOrdering {
        match self {
            Ordering::Monotonic => LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic,
            Ordering::Acquire => LLVMAtomicOrdering::LLVMAtomicOrderingAcquire,
            Ordering::Release => LLVMAtomicOrdering::LLVMAtomicOrderingRelease,
            Ordering::AcquireRelease => LLVMAtomicOrdering::LLVMAtomicOrderingAcquireRelease,
            Ordering::SequentiallyConsistent => LLVMAtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent,
        }
    }
}

/// A sync scope by LLVM's name for it. The names differ between the targets; each constant says where it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope(pub &'static str);

impl Scope {
    /// Every agent in the system, on both targets.
    pub const SYSTEM: Scope = Scope("");
    /// One GPU, on AMD.
    pub const AGENT: Scope = Scope("agent");
    /// One workgroup, on AMD.
    pub const WORKGROUP: Scope = Scope("workgroup");
    /// One wave, on AMD; costs no instruction and keeps LLVM from moving memory operations.
    pub const WAVEFRONT: Scope = Scope("wavefront");
    /// One GPU, on NVIDIA.
    pub const DEVICE: Scope = Scope("device");
    /// One thread block, on NVIDIA.
    pub const BLOCK: Scope = Scope("block");
}

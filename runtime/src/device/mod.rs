//! Devices: what runs a kernel of an artifact on all ranks of a node.
//!
//! What must hold here: every device takes the same [`Launch`] and leaves the same [`Outcome`], byte for byte where the kernel
//! does not race; a launch that cannot be right is refused before anything runs.

pub mod cuda;
#[cfg(feature = "hip")]
pub mod hip;
pub mod sim;

use tilewright_artifact::{ArgKind, KernelInfo};

use crate::rank::LsaRank;

/// What one rank gives to a kernel, by argument name. Arguments that the compiler added are the device's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankArgs {
    /// Contents of windows (this rank's part) and global buffers.
    pub buffers: Vec<(String, Vec<u8>)>,
    /// Scalars and symbolic extents, in the low bits.
    pub scalars: Vec<(String, u64)>,
}

impl RankArgs {
    pub(crate) fn buffer(&self, name: &str) -> Option<&[u8]> {
        self.buffers.iter().find(|(key, _)| key == name).map(|(_, bytes)| bytes.as_slice())
    }

    pub(crate) fn scalar(&self, name: &str) -> Option<u64> {
        self.scalars.iter().find(|(key, _)| key == name).map(|(_, value)| *value)
    }
}

/// One launch of one kernel, on every rank at once.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The kernel, its grid and block constant.
    pub kernel: &'a KernelInfo,
    /// What each rank gives: as many as there are ranks.
    pub ranks: &'a [RankArgs],
}

/// Names and contents of one rank's buffers.
pub type RankBuffers = Vec<(String, Vec<u8>)>;

/// What a launch left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// For each rank the contents of its buffers, in the order of the arguments.
    pub buffers: Vec<RankBuffers>,
    /// Instructions that waves executed.
    pub instructions: u64,
}

/// Arguments that do not fit the kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgError {
    /// No ranks.
    #[error("a launch needs at least one rank")]
    NoRanks,
    /// Another number of ranks than the node has.
    #[error("the launch gives arguments for {given} ranks, the node has {ranks}")]
    Ranks {
        /// Ranks of the launch.
        given: usize,
        /// Ranks of the node.
        ranks: usize,
    },
    /// A rank gives too little.
    #[error("rank {rank} gives no value for the argument `{name}` of kernel `{kernel}`")]
    Missing {
        /// The rank.
        rank: usize,
        /// The kernel.
        kernel: String,
        /// The argument.
        name: String,
    },
    /// A window has another size on another rank.
    #[error(
        "window `{name}` has {bytes} bytes on rank {rank} and {first} on rank 0; windows have one size on all ranks"
    )]
    WindowSizes {
        /// The argument.
        name: String,
        /// The rank.
        rank: usize,
        /// Its bytes.
        bytes: usize,
        /// Bytes on rank 0.
        first: usize,
    },
    /// An argument has a size that no argument of its kind has.
    #[error(
        "argument `{name}` of kernel `{kernel}` has {bytes} bytes in the argument block, {expected} are what it needs"
    )]
    Size {
        /// The kernel.
        kernel: String,
        /// The argument.
        name: String,
        /// Its bytes.
        bytes: u32,
        /// What it needs.
        expected: u32,
    },
    /// A value is of another kind than the parameter.
    #[error("the argument `{name}` of kernel `{kernel}` must be {kind}")]
    Kind {
        /// The kernel.
        kernel: String,
        /// The argument.
        name: String,
        /// What it must be.
        kind: &'static str,
    },
    /// A value for a parameter that the kernel does not have.
    #[error("kernel `{kernel}` takes no argument `{name}`")]
    Unknown {
        /// The kernel.
        kernel: String,
        /// The name.
        name: String,
    },
    /// Something of another communicator.
    #[error("`{name}` belongs to another communicator")]
    Foreign {
        /// What.
        name: String,
    },
    /// A buffer of another rank.
    #[error("{rank} is given a buffer of {buffer} for the argument `{name}`")]
    OtherRank {
        /// The argument.
        name: String,
        /// Whose argument it is.
        rank: LsaRank,
        /// Whose memory it is.
        buffer: LsaRank,
    },
    /// A window or an extent that differs between ranks.
    #[error("the argument `{name}` of kernel `{kernel}` must be the same on all ranks, and is another on {rank}")]
    NotUniform {
        /// The kernel.
        kernel: String,
        /// The argument.
        name: String,
        /// The rank that differs from the first.
        rank: LsaRank,
    },
    /// Two values for one parameter.
    #[error("the argument `{name}` of kernel `{kernel}` is given twice")]
    Twice {
        /// The kernel.
        kernel: String,
        /// The argument.
        name: String,
    },
    /// Less memory than the kernel may reach.
    #[error("the argument `{name}` of kernel `{kernel}` is given {bytes} bytes on {rank}, the kernel reaches {needed}")]
    Small {
        /// The kernel.
        kernel: String,
        /// The argument.
        name: String,
        /// Whose argument it is.
        rank: LsaRank,
        /// Bytes that are there.
        bytes: u64,
        /// Bytes that are needed.
        needed: u64,
    },
    /// A number that the parameter's type does not hold.
    #[error("the argument `{name}` of kernel `{kernel}` has {bytes} bytes, and {bits:#x} does not fit them")]
    Wide {
        /// The kernel.
        kernel: String,
        /// The argument.
        name: String,
        /// The bits that were given.
        bits: u64,
        /// Bytes of its type.
        bytes: u32,
    },
    /// A copy that reaches outside.
    #[error("a copy of {len} bytes at offset {offset} leaves the buffer, which has {bytes} bytes")]
    Outside {
        /// Bytes from the start of the buffer.
        offset: u64,
        /// Bytes of the copy.
        len: usize,
        /// Bytes of the buffer.
        bytes: u64,
    },
}

impl Launch<'_> {
    /// Checks that every rank gives every argument, and that windows have one size.
    ///
    /// # Errors
    /// The first [`ArgError`].
    pub fn check(&self) -> Result<(), ArgError> {
        let Some(first) = self.ranks.first() else { return Err(ArgError::NoRanks) };
        for arg in &self.kernel.args {
            for (rank, args) in self.ranks.iter().enumerate() {
                let missing = || ArgError::Missing { rank, kernel: self.kernel.name.clone(), name: arg.name.clone() };
                match arg.kind {
                    ArgKind::DevComm | ArgKind::Hidden => {}
                    ArgKind::Global => drop(args.buffer(&arg.name).ok_or_else(missing)?),
                    ArgKind::Scalar | ArgKind::Where => drop(args.scalar(&arg.name).ok_or_else(missing)?),
                    ArgKind::Window => {
                        let bytes = args.buffer(&arg.name).ok_or_else(missing)?.len();
                        let first = first.buffer(&arg.name).map_or(bytes, <[u8]>::len);
                        if bytes != first {
                            return Err(ArgError::WindowSizes { name: arg.name.clone(), rank, bytes, first });
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

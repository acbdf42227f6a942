//! Kernels, their arguments and their code, as the runtime needs them for a launch.
//!
//! What must hold here: sizes and offsets are in bytes; arguments stand in the order of the argument block, the author's
//! first, then those that the compiler added.

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{ArtifactError, Count, Sizes};

/// One kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelInfo {
    /// Its name, also its symbol in the code.
    pub name: String,
    /// Its arguments in the order of the argument block.
    pub args: Vec<ArgInfo>,
    /// Thread blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of LDS or shared memory that a block uses.
    pub lds_bytes: u32,
    /// Fewest SDMA queues to each peer that the communicator must have: one more than the largest queue id, 0 if none.
    pub min_queues: u32,
    /// The signals that the kernel declares.
    pub signals: Vec<SignalFormula>,
    /// Whether it raises signals beside those that it declares: it posts to the copy engines itself. What the slots hold
    /// afterwards nobody knows without reading them.
    pub signals_by_hand: bool,
    /// What follows from the values of `where` parameters.
    pub sizes: Sizes,
}

impl KernelInfo {
    /// Bytes of the argument block: the end of its last argument.
    pub fn args_bytes(&self) -> u64 {
        self.args.iter().map(ArgInfo::end).max().unwrap_or(0)
    }

    /// Threads in one block.
    pub fn threads_per_block(&self) -> u64 {
        // Three 32-bit factors need 96 bits; more threads than 64 bits hold are as wrong as u64::MAX of them.
        self.block.iter().fold(1u64, |product, extent| product.saturating_mul(u64::from(*extent)))
    }

    /// Checks one kernel, see [`Artifact::check`](crate::Artifact::check).
    pub(crate) fn check(&self) -> Result<(), ArtifactError> {
        let fault = |what: String| Err(ArtifactError::Invalid(format!("kernel `{}`: {what}", self.name)));
        if self.name.is_empty() {
            return fault("it has no name".to_owned());
        }
        if let Some(name) = self.args.iter().map(|arg| &arg.name).chain([&self.name]).find(|name| !is_name(name)) {
            return fault(format!("{name:?} is no name"));
        }
        if self.grid.contains(&0) || self.block.contains(&0) {
            return fault(format!("its launch {:?} x {:?} has no threads", self.grid, self.block));
        }
        let mut end = 0;
        for arg in &self.args {
            if u64::from(arg.offset) < end {
                return fault(format!("argument `{}` at byte {} begins before byte {end}", arg.name, arg.offset));
            }
            end = arg.end();
        }
        if let Some(what) = self.sizes.check(self) {
            return fault(what);
        }
        self.signals.iter().try_for_each(|signal| match signal.check(self) {
            Some(what) => fault(format!("signal `{}`: {what}", signal.name)),
            None => Ok(()),
        })
    }
}

/// Whether a name is one that can be printed in a line: no spaces, no control characters.
pub(crate) fn is_name(name: &str) -> bool {
    !name.chars().any(|c| c.is_control() || c.is_whitespace())
}

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArgKind {
    /// mori's `ccoDevComm`, by value.
    DevComm,
    /// Pointer to a `ccoWindowDevice`.
    Window,
    /// Pointer to global memory.
    Global,
    /// A scalar of the author's.
    Scalar,
    /// A symbolic extent of the author's `where` list.
    Where,
    /// A value that only the runtime knows how to fill in, told apart by its name.
    Hidden,
}

/// One argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgInfo {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: ArgKind,
    /// Type of its elements or, for scalars, of itself, as the source writes it; empty for a communicator.
    pub dtype: String,
    /// Size in the argument block, in bytes.
    pub bytes: u32,
    /// Offset in the argument block, in bytes.
    pub offset: u32,
    /// Whether the compiler added it (signal bases, staging and debug buffers).
    pub hidden: bool,
}

impl ArgInfo {
    /// The first byte behind it.
    pub fn end(&self) -> u64 {
        u64::from(self.offset) + u64::from(self.bytes)
    }
}

/// How often one signal is raised by a launch, for the totals that the runtime keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalFormula {
    /// The signal's name in the source.
    pub name: String,
    /// The queue id of all its notifies.
    pub queue: u32,
    /// How many notifies a launch sends from rank `r` to this rank, as text for people; empty if nobody knows.
    pub text: String,
    /// The same to be evaluated. `None` where the compiler could not count: the author's `expected = …` says then what a wait
    /// is for, and a total is known only by reading the slot when the launch has ended on all ranks.
    pub count: Option<Count>,
    /// The hidden argument that takes the totals of this signal before the launch, one u64 for each source rank; `None` if
    /// the kernel waits for no signal of this name.
    pub totals: Option<String>,
}

impl SignalFormula {
    /// What contradicts the kernel; `None` if nothing does.
    fn check(&self, kernel: &KernelInfo) -> Option<String> {
        if let Some(totals) = &self.totals
            && !kernel.args.iter().any(|arg| arg.kind == ArgKind::Hidden && arg.name == *totals)
        {
            return Some(format!("its totals go into `{totals}`, which is no hidden argument"));
        }
        self.count.as_ref().and_then(|count| count.check(&kernel.args))
    }
}

/// What the code bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CodeKind {
    /// PTX text, UTF-8 without a closing zero byte.
    Ptx,
    /// CUDA object made by ptxas.
    Cubin,
    /// Linked AMD code object.
    Hsaco,
}

/// Code for one target.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeBytes {
    /// What the bytes are.
    pub kind: CodeKind,
    /// The bytes.
    #[serde(serialize_with = "write_bytes", deserialize_with = "read_bytes")]
    pub bytes: Vec<u8>,
}

impl std::fmt::Debug for CodeBytes {
    /// The kind and the length; the bytes themselves would drown every message.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CodeBytes({:?}, {} bytes)", self.kind, self.bytes.len())
    }
}

/// Bytes that are written as one byte string.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blob(
    /// The bytes.
    #[serde(serialize_with = "write_bytes", deserialize_with = "read_bytes")]
    pub Vec<u8>,
);

impl std::fmt::Debug for Blob {
    /// The length alone.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Blob({} bytes)", self.0.len())
    }
}

/// As one byte string: serde's default for `Vec<u8>` is a list of numbers.
fn write_bytes<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

fn read_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    struct Bytes;
    impl Visitor<'_> for Bytes {
        type Value = Vec<u8>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a byte string")
        }
        fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
            Ok(bytes.to_vec())
        }
    }
    deserializer.deserialize_bytes(Bytes)
}

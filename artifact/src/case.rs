//! Run blocks as data: what each rank gives to a kernel, and what must be in its buffers afterwards.
//!
//! What must hold here: contents are kept once in the bundle's list and named by their index, as many ranks and buffers hold
//! the same bytes; the expected contents are those of the reference interpreter, guard bytes not included.

use serde::{Deserialize, Serialize};

use crate::KernelInfo;

/// One run block, ready to be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCase {
    /// The kernel that it runs.
    pub kernel: String,
    /// Where it may run; `None`: everywhere.
    pub targets: Option<Vec<String>>,
    /// What each rank gives and must find; as many as there are ranks, at least one.
    pub ranks: Vec<CaseRank>,
}

impl RunCase {
    /// Whether the run block allows the target.
    pub fn allows(&self, target: &str) -> bool {
        self.targets.as_ref().is_none_or(|targets| targets.iter().any(|name| name == target))
    }

    /// What contradicts itself; `None` if nothing does.
    pub(crate) fn check(&self) -> Option<String> {
        for (index, rank) in self.ranks.iter().enumerate() {
            let buffers = rank.buffers.iter().map(|buffer| buffer.name.as_str());
            let names: Vec<&str> = buffers.chain(rank.scalars.iter().map(|(name, _)| name.as_str())).collect();
            if let Some(at) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
                return Some(format!("gives `{}` twice on rank {index}", names[at]));
            }
            if let Some(buffer) = rank.buffers.iter().find(|buffer| buffer.element_bytes == 0) {
                return Some(format!("says that elements of `{}` have no bytes", buffer.name));
            }
        }
        None
    }

    /// Whether a content that it names is missing from a list of `contents`; the name of the buffer.
    pub(crate) fn dangling(&self, contents: usize) -> Option<&str> {
        let mut buffers = self.ranks.iter().flat_map(|rank| &rank.buffers);
        buffers.find(|buffer| buffer.before as usize >= contents).map(|buffer| buffer.name.as_str())
    }
}

/// One rank of a run block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseRank {
    /// Windows (this rank's part) and global buffers, in the order of the author's parameters.
    pub buffers: Vec<CaseBuffer>,
    /// Scalars and symbolic extents by name, in the low bits.
    pub scalars: Vec<(String, u64)>,
}

/// A buffer of one rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseBuffer {
    /// The parameter.
    pub name: String,
    /// Bytes of one element, at least 1: differences are told by the element.
    pub element_bytes: u32,
    /// Index of its content before the launch; what it holds afterwards is with the launch.
    pub before: u32,
}

/// A run block on one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseLaunch {
    /// The kernel with the launch shape that the run block gives it.
    pub kernel: KernelInfo,
    /// For each rank, for each of its buffers in their order: index of its content after the launch. It may depend on the
    /// target by the warp width.
    pub after: Vec<Vec<u32>>,
}

//! What a compile yields, as plain data: code bytes, kernel and argument descriptions, signal formulas and the copy report.
//!
//! What must hold in this crate:
//! - Plain data only: nothing here compiles, loads or launches, and nothing here knows LLVM or the IR.
//! - A `.twb` file written by [`Bundle::to_twb`] is read back equal by [`Bundle::from_twb`]. Any other bytes are an
//!   [`ArtifactError`]: no panic, no allocation larger than a small multiple of the file.
//! - [`Report`] serialises to the JSON that `tilewright report --json` promises, field for field and in this order.

mod bundle;
mod case;
mod count;
mod kernel;
mod report;
mod sizes;
pub mod table;
mod text;
mod twb;

pub use bundle::{Bundle, Part};
pub use case::{CaseBuffer, CaseLaunch, CaseRank, RunCase};
pub use count::{Count, CountOp, CountStep, CountValues, IntType};
pub use kernel::{ArgInfo, ArgKind, Blob, CodeBytes, CodeKind, KernelInfo, SignalFormula};
pub use report::{CandidateReport, ConflictReport, CopyReport, CostReport, ParamValue, Params, Report, Verdict};
pub use sizes::{Size, Sizes};
pub use text::{checked_line, report_text};
pub use twb::{ArtifactError, FORMAT_VERSION};

use serde::{Deserialize, Serialize};

/// Everything that one compile of one file for one target yields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Name of the target, as in the target table.
    pub target: String,
    /// The kernels in the order of the source.
    pub kernels: Vec<KernelInfo>,
    /// The code, one object for all kernels.
    pub code: CodeBytes,
    /// How each copy was carried and why, in the order of the source.
    pub report: Vec<CopyReport>,
}

impl Artifact {
    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Option<&KernelInfo> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// The report with its target, ready to be serialised.
    pub fn to_report(&self) -> Report {
        Report { target: self.target.clone(), copies: self.report.clone() }
    }

    /// Checks what the types do not say: names are unique, launches are not empty, arguments lie in order without
    /// overlap, signals fit their kernel.
    ///
    /// # Errors
    /// [`ArtifactError::Invalid`] with one sentence about the first fault.
    pub fn check(&self) -> Result<(), ArtifactError> {
        for (index, kernel) in self.kernels.iter().enumerate() {
            if self.kernels[..index].iter().any(|other| other.name == kernel.name) {
                return Err(ArtifactError::Invalid(format!("two kernels are called `{}`", kernel.name)));
            }
            kernel.check()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! The bundle: one source compiled for one or several targets, with its run blocks and what they must leave behind.
//!
//! What must hold here: the parts are of different targets; every run block names a kernel, and for each part that it allows
//! there is a launch of that kernel; contents that run blocks name exist.

use serde::{Deserialize, Serialize};

use crate::kernel::{Blob, is_name};
use crate::{Artifact, ArtifactError, CaseLaunch, CaseRank, KernelInfo, RunCase};

/// Everything that travels to the machine that runs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundle {
    /// Name of the source, for people.
    pub source: String,
    /// One compile for each target, in the order in which the targets were asked for.
    pub parts: Vec<Part>,
    /// The run blocks in the order of the source.
    pub cases: Vec<RunCase>,
    /// Contents of buffers, each once.
    pub contents: Vec<Blob>,
}

/// The source, compiled for one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Code, kernels whose launch shape is constant, and the report.
    pub artifact: Artifact,
    /// For each run block its launch; `None` where the block does not allow the target.
    pub launches: Vec<Option<CaseLaunch>>,
}

impl Bundle {
    /// A bundle of one compile, without run blocks.
    pub fn of(source: impl Into<String>, artifact: Artifact) -> Bundle {
        Bundle {
            source: source.into(),
            parts: vec![Part { artifact, launches: Vec::new() }],
            cases: Vec::new(),
            contents: Vec::new(),
        }
    }

    /// The part for that target.
    pub fn part(&self, target: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.artifact.target == target)
    }

    /// A content by its index; empty if there is none, which [`Bundle::check`] excludes.
    pub fn content(&self, index: u32) -> &[u8] {
        self.contents.get(index as usize).map_or(&[], |blob| blob.0.as_slice())
    }

    /// Puts a content into the list, if it is not there yet; its index.
    pub fn keep(&mut self, content: &[u8]) -> u32 {
        let known = self.contents.iter().position(|blob| blob.0 == content);
        let index = known.unwrap_or_else(|| {
            self.contents.push(Blob(content.to_vec()));
            self.contents.len() - 1
        });
        u32::try_from(index).unwrap_or(u32::MAX)
    }

    /// Checks what the types do not say.
    ///
    /// # Errors
    /// [`ArtifactError::Invalid`] with one sentence about the first fault.
    pub fn check(&self) -> Result<(), ArtifactError> {
        let fault = |what: String| Err(ArtifactError::Invalid(what));
        if self.source.chars().any(char::is_control) {
            return fault(format!("{:?} is no name of a source", self.source));
        }
        if self.parts.is_empty() {
            return fault("it has code for no target".to_owned());
        }
        for (index, part) in self.parts.iter().enumerate() {
            let target = &part.artifact.target;
            if !is_name(target) {
                return fault(format!("{target:?} is no name of a target"));
            }
            if self.parts[..index].iter().any(|other| other.artifact.target == *target) {
                return fault(format!("it has code for {target} twice"));
            }
            part.artifact.check()?;
            if part.launches.len() != self.cases.len() {
                let (launches, cases) = (part.launches.len(), self.cases.len());
                return fault(format!("it has {launches} launches for {target} and {cases} run blocks"));
            }
            for (case, launch) in self.cases.iter().zip(&part.launches) {
                check_launch(case, launch.as_ref(), target, self.contents.len())?;
                if let Some(launch) = launch {
                    check_kernel(&part.artifact, launch)?;
                }
            }
        }
        for case in &self.cases {
            if case.ranks.is_empty() {
                return fault(format!("a run block of `{}` has no ranks", case.kernel));
            }
            if let Some(what) = case.check() {
                return fault(format!("a run block of `{}` {what}", case.kernel));
            }
            if let Some(buffer) = case.dangling(self.contents.len()) {
                return fault(format!(
                    "a run block of `{}` names a content of `{buffer}` that is not there",
                    case.kernel
                ));
            }
        }
        Ok(())
    }
}

/// A launch must be of a kernel of its part, and differ from it in its shape only.
fn check_kernel(artifact: &Artifact, launch: &CaseLaunch) -> Result<(), ArtifactError> {
    let launched = &launch.kernel;
    let same = |kernel: &&KernelInfo| {
        let shaped = KernelInfo { grid: launched.grid, block: launched.block, ..(*kernel).clone() };
        shaped == *launched
    };
    match artifact.kernel(&launched.name).filter(same) {
        Some(_) => Ok(()),
        None => Err(ArtifactError::Invalid(format!(
            "a run block launches a `{}` on {} that differs from the kernel of that name",
            launched.name, artifact.target
        ))),
    }
}

/// A run block and its launch on one target.
fn check_launch(
    case: &RunCase,
    launch: Option<&CaseLaunch>,
    target: &str,
    contents: usize,
) -> Result<(), ArtifactError> {
    let fault = |what: &str| Err(ArtifactError::Invalid(format!("the run block of `{}` {what}", case.kernel)));
    let Some(launch) = launch else {
        return if case.allows(target) { fault(&format!("has no launch for {target}")) } else { Ok(()) };
    };
    if !case.allows(target) {
        return fault(&format!("has a launch for {target}, which it does not allow"));
    }
    if launch.kernel.name != case.kernel {
        return fault(&format!("launches `{}` on {target}", launch.kernel.name));
    }
    let fits = |(after, rank): (&Vec<u32>, &CaseRank)| {
        after.len() == rank.buffers.len() && after.iter().all(|index| (*index as usize) < contents)
    };
    if launch.after.len() != case.ranks.len() || !launch.after.iter().zip(&case.ranks).all(fits) {
        return fault(&format!("does not say what each buffer holds after its launch on {target}"));
    }
    launch.kernel.check()
}

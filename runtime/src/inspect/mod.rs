//! What is in an object, and why a chip would refuse it: AMD code objects, CUDA objects, PTX texts, bundles.
//!
//! What must hold here: any bytes give an answer or an [`InspectError`], never a panic; a refusal is the sentence that a loader
//! would give; nothing is loaded and no driver is asked, so the answer is the same on every machine.

mod amd;
mod nvidia;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use serde::Serialize;
use tilewright_artifact::table::table;
use tilewright_artifact::{ArtifactError, Bundle, CodeBytes, CodeKind};
use tilewright_target::{TARGETS, Target};

/// What was found in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Inspection {
    /// The kind of file, a noun phrase.
    pub kind: String,
    /// What else is known of the whole: name and value.
    pub facts: Vec<(String, String)>,
    /// Each piece of code.
    pub objects: Vec<Object>,
}

/// A piece of code for one chip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Object {
    /// What it is, a noun phrase.
    pub kind: String,
    /// The chip that it says it is for.
    pub target: String,
    /// Its bytes.
    pub bytes: u64,
    /// What else is known of it: name and value.
    pub facts: Vec<(String, String)>,
    /// Its kernels.
    pub kernels: Vec<KernelFacts>,
    /// For each chip that we know, whether it takes this code.
    pub chips: Vec<ChipAnswer>,
}

/// A kernel in an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelFacts {
    /// Its name.
    pub name: String,
    /// What is known of it: name and value.
    pub facts: Vec<(String, String)>,
    /// Its arguments: offset, bytes, name, what it is.
    pub args: Vec<ArgFacts>,
}

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArgFacts {
    /// Bytes from the start of the argument block.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// Its name; empty where the file has none.
    pub name: String,
    /// What it is.
    pub kind: String,
}

/// What a chip says to the code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChipAnswer {
    /// The chip.
    pub target: &'static str,
    /// Why it refuses the code; `None` if it takes it.
    pub refusal: Option<String>,
}

/// Bytes that cannot be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InspectError {
    /// A bundle that cannot be read.
    #[error(transparent)]
    Bundle(#[from] ArtifactError),
    /// An object of a kind that we know, but broken.
    #[error("{0}")]
    Broken(String),
    /// Something else.
    #[error(
        "this is no AMD code object, no CUDA object, no PTX and no .twb bundle: it begins with {}",
        if .0.is_empty() { "nothing, the file is empty".to_owned() } else { format!("the bytes {:02x?}", .0) }
    )]
    Unknown(Vec<u8>),
}

/// Tells what is in `file`.
///
/// # Errors
/// [`InspectError`] with one sentence.
pub fn inspect(file: &[u8]) -> Result<Inspection, InspectError> {
    if file.starts_with(b"TWBUNDLE") {
        return bundle(&Bundle::from_twb(file)?);
    }
    let object = if let Some(object) = amd::object(file) {
        object?
    } else if let Some(object) = nvidia::cubin(file) {
        object?
    } else if let Some(object) = nvidia::ptx(file) {
        object
    } else {
        return Err(InspectError::Unknown(file.iter().take(8).copied().collect()));
    };
    Ok(Inspection { kind: object.kind.clone(), facts: Vec::new(), objects: vec![object] })
}

/// A bundle: its run blocks, then each part's code with what the bundle says of its kernels.
fn bundle(bundle: &Bundle) -> Result<Inspection, InspectError> {
    let contents: usize = bundle.contents.iter().map(|blob| blob.0.len()).sum();
    let mut facts = vec![("source".to_owned(), bundle.source.clone())];
    for case in &bundle.cases {
        let targets = case.targets.as_ref().map_or("any target".to_owned(), |targets| targets.join(", "));
        facts.push(("run block".to_owned(), format!("`{}` on {} ranks, for {targets}", case.kernel, case.ranks.len())));
    }
    facts.push(("contents".to_owned(), format!("{} with {contents} bytes", bundle.contents.len())));
    let mut objects = Vec::new();
    for part in &bundle.parts {
        let artifact = &part.artifact;
        let mut object = code(&artifact.code)?;
        object.facts.push(("copies".to_owned(), artifact.report.len().to_string()));
        let launches = part.launches.iter().flatten().map(|launch| &launch.kernel);
        for info in artifact.kernels.iter().chain(launches) {
            let Some(kernel) = object.kernels.iter_mut().find(|kernel| kernel.name == info.name) else { continue };
            amd::describe(kernel, info);
        }
        objects.push(object);
    }
    Ok(Inspection { kind: "bundle (.twb)".to_owned(), facts, objects })
}

/// The code of a bundle.
fn code(code: &CodeBytes) -> Result<Object, InspectError> {
    let (found, kind) = match code.kind {
        CodeKind::Hsaco => (amd::object(&code.bytes), "AMD code object"),
        CodeKind::Cubin => (nvidia::cubin(&code.bytes), "CUDA object"),
        CodeKind::Ptx => (nvidia::ptx(&code.bytes).map(Ok), "PTX"),
    };
    found.unwrap_or_else(|| Err(InspectError::Broken(format!("the bundle's code is said to be {kind}, and is not"))))
}

/// Asks every chip that we know.
fn ask_all(refuses: impl Fn(&'static Target) -> Option<String>) -> Vec<ChipAnswer> {
    TARGETS.iter().map(|target| ChipAnswer { target: target.name, refusal: refuses(target) }).collect()
}

impl Inspection {
    /// For people.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let rows = |facts: &[(String, String)]| -> Vec<Vec<String>> {
            facts.iter().map(|(name, value)| vec![name.clone(), value.clone()]).collect()
        };
        if self.objects.len() != 1 || !self.facts.is_empty() {
            let _ = writeln!(out, "{}", self.kind);
            out.push_str(&table(&rows(&self.facts), 2));
        }
        for object in &self.objects {
            let _ = writeln!(out, "{} for {}, {} bytes", object.kind, object.target, object.bytes);
            out.push_str(&table(&rows(&object.facts), 2));
            for kernel in &object.kernels {
                let _ = writeln!(out, "  kernel `{}`", kernel.name);
                out.push_str(&table(&rows(&kernel.facts), 4));
                let args: Vec<Vec<String>> = kernel.args.iter().map(arg_row).collect();
                if !args.is_empty() {
                    out.push_str("    arguments: offset, bytes, name, kind\n");
                    out.push_str(&table(&args, 6));
                }
            }
            let answer = |chip: &ChipAnswer| {
                vec![chip.target.to_owned(), chip.refusal.clone().unwrap_or_else(|| "runs it".to_owned())]
            };
            out.push_str("  chips\n");
            out.push_str(&table(&object.chips.iter().map(answer).collect::<Vec<_>>(), 4));
        }
        out
    }

    /// Why `target` runs none of the objects: each refusal once; `None` if it runs one.
    pub fn refusal(&self, target: &str) -> Option<String> {
        let mut reasons: Vec<&str> = Vec::new();
        for chip in self.objects.iter().flat_map(|object| &object.chips).filter(|chip| chip.target == target) {
            let reason = chip.refusal.as_deref()?;
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        Some(if reasons.is_empty() { "there is no code in it".to_owned() } else { reasons.join("; ") })
    }
}

fn arg_row(arg: &ArgFacts) -> Vec<String> {
    let name = if arg.name.is_empty() { "-".to_owned() } else { arg.name.clone() };
    vec![arg.offset.to_string(), arg.bytes.to_string(), name, arg.kind.clone()]
}

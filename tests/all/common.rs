//! What several tests need: the example files.

use std::path::{Path, PathBuf};

use tilewright_target::{TARGETS, Target};

/// An example file.
pub(crate) struct Example {
    /// File name, such as `ship.tile`.
    pub(crate) name: String,
    /// Its text.
    pub(crate) text: String,
}

/// The root of the checkout.
pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Every example, sorted by name.
pub(crate) fn examples() -> Vec<Example> {
    let folder = root().join("examples");
    let entries = std::fs::read_dir(&folder).expect("examples/");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "tile"));
    paths.sort();
    assert!(paths.len() >= 9, "{} examples", paths.len());
    let read = |path: PathBuf| Example {
        name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        text: std::fs::read_to_string(&path).expect("UTF-8"),
    };
    paths.into_iter().map(read).collect()
}

impl Example {
    /// The targets that its first run block allows.
    pub(crate) fn targets(&self) -> Vec<&'static Target> {
        let (module, _) = tilewright::parse_and_verify(&self.text).expect("an example is right");
        let run = module.runs().next().expect("an example checks itself");
        let allows = |target: &&&'static Target| {
            run.targets.as_ref().is_none_or(|names| names.iter().any(|name| name == target.name))
        };
        TARGETS.iter().filter(allows).copied().collect()
    }
}

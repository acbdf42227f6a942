//! Snapshots that no test refers to any more.
//!
//! insta appends to the file named by `INSTA_SNAPSHOT_REFERENCES_FILE` the path of every snapshot that a test looked at.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::tree;

/// One line for each snapshot of the tree that is not among the `references`, and for each that was never accepted.
pub(crate) fn faults(root: &Path, references: &Path) -> Vec<String> {
    let text = match fs::read_to_string(references) {
        Ok(text) => text,
        Err(e) => return vec![format!("cannot read {}: {e}", references.display())],
    };
    let used: BTreeSet<PathBuf> = text.lines().filter_map(|line| fs::canonicalize(line).ok()).collect();
    let snapshots = tree::files(root, "snap");
    if snapshots.is_empty() || used.is_empty() {
        return vec![format!("{} snapshots, {} references: did the tests run?", snapshots.len(), used.len())];
    }
    let unused = snapshots.iter().filter(|path| fs::canonicalize(root.join(path)).is_ok_and(|p| !used.contains(&p)));
    let pending = tree::files(root, "new");
    unused
        .map(|path| format!("{}: no test refers to this snapshot", path.display()))
        .chain(pending.iter().map(|path| format!("{}: a snapshot that nobody has accepted", path.display())))
        .collect()
}

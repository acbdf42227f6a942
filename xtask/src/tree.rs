//! The files of the checkout.
//!
//! Must hold: build outputs and hidden folders are not part of it; the order is the order of names.

use std::fs;
use std::path::{Path, PathBuf};

/// Files under `root` whose name ends in `.extension`, as paths from `root`, sorted.
pub(crate) fn files(root: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    visit(root, &mut |path| {
        if path.extension().is_some_and(|e| e == extension) {
            found.push(path.strip_prefix(root).unwrap_or(path).to_path_buf());
        }
    });
    found.sort();
    found
}

fn visit(folder: &Path, see: &mut dyn FnMut(&Path)) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && !name.to_string_lossy().starts_with('.') && !is_build_output(&path) {
            visit(&path, see);
        } else if !is_folder {
            see(&path);
        }
    }
}

/// Cargo marks the folders it builds into.
fn is_build_output(folder: &Path) -> bool {
    folder.join("CACHEDIR.TAG").exists() || folder.ends_with("debug") || folder.ends_with("release")
}

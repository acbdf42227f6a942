//! Linking a relocatable object into an AMD code object (`.hsaco`), which is an ELF shared object.
//!
//! Must hold: this is the only place of the backend that touches files or starts a process; it works in a fresh
//! folder of its own under the system's temporary folder and removes it again, on success and on failure; the
//! environment is not read here (the command line passes what it found there).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use thiserror::Error as ThisError;

/// Where the linker may be, in the order in which it is tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkerChoice {
    /// From `TILEWRIGHT_LLD`; if it is given, no other is tried.
    pub named: Option<PathBuf>,
    /// The Rust toolchain's `rust-lld`.
    pub toolchain: PathBuf,
    /// The name looked up on `PATH` last.
    pub on_path: &'static str,
}

impl LinkerChoice {
    /// The choice of a build: `named` first if given, then the toolchain's, then `ld.lld`.
    pub fn new(named: Option<PathBuf>) -> Self {
        LinkerChoice { named, toolchain: PathBuf::from(tilewright_backend_llvm::TOOLCHAIN_LLD), on_path: "ld.lld" }
    }

    fn candidates(&self) -> Vec<&Path> {
        match &self.named {
            Some(named) => vec![named],
            None => vec![&self.toolchain, Path::new(self.on_path)],
        }
    }
}

impl Default for LinkerChoice {
    fn default() -> Self {
        LinkerChoice::new(None)
    }
}

/// Why no code object came out.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum LinkError {
    /// None of the three places holds a linker.
    #[error(
        "no linker for AMD code objects: tried TILEWRIGHT_LLD ({named}), the Rust toolchain's rust-lld ({toolchain}) \
         and {on_path} on PATH"
    )]
    NoLinker {
        /// What TILEWRIGHT_LLD named, or that it was not set.
        named: String,
        /// The toolchain's path.
        toolchain: String,
        /// The name looked up on PATH.
        on_path: String,
    },
    /// The linker ran and failed.
    #[error("{linker} failed ({status}): {message}")]
    Failed {
        /// Which linker.
        linker: String,
        /// Its exit status in words.
        status: String,
        /// What it wrote to its standard error.
        message: String,
    },
    /// The temporary folder could not be used.
    #[error("cannot {what} in the temporary folder: {source}")]
    Folder {
        /// What was tried.
        what: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
}

/// Links one object into a code object.
///
/// # Errors
/// See [`LinkError`].
pub fn link(object: &[u8], choice: &LinkerChoice) -> Result<Vec<u8>, LinkError> {
    let folder = Folder::new()?;
    let input = folder.path.join("kernel.o");
    let output = folder.path.join("kernel.hsaco");
    std::fs::write(&input, object).map_err(|source| LinkError::Folder { what: "write the object", source })?;
    for linker in choice.candidates() {
        let started = Command::new(linker)
            .args(["-flavor", "gnu", "-shared", "--no-undefined", "-o"])
            .args([&output, &input])
            .output();
        let finished = match started {
            Ok(finished) => finished,
            Err(_) => continue, // not there or not executable: the next place
        };
        if !finished.status.success() {
            return Err(LinkError::Failed {
                linker: linker.display().to_string(),
                status: finished.status.to_string(),
                message: String::from_utf8_lossy(&finished.stderr).trim().to_string(),
            });
        }
        return std::fs::read(&output).map_err(|source| LinkError::Folder { what: "read the code object", source });
    }
    Err(LinkError::NoLinker {
        named: choice.named.as_ref().map_or("not set".to_string(), |p| p.display().to_string()),
        toolchain: choice.toolchain.display().to_string(),
        on_path: choice.on_path.to_string(),
    })
}

/// A folder that is removed when dropped.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn new() -> Result<Self, LinkError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let base = std::env::temp_dir();
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("tilewright-link-{}-{number}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Folder { path }),
                // Left behind by a process of the same id that was killed: take the next number.
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => continue,
                Err(source) => return Err(LinkError::Folder { what: "make a folder", source }),
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed is left to the system; there is nobody to tell.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_linker_names_all_three_places() {
        let choice = LinkerChoice {
            named: None,
            toolchain: PathBuf::from("/nonexistent/rust-lld"),
            on_path: "tilewright-no-such-linker",
        };
        let text = link(b"", &choice).expect_err("no linker").to_string();
        for part in ["TILEWRIGHT_LLD (not set)", "/nonexistent/rust-lld", "tilewright-no-such-linker on PATH"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_named_linker_is_the_only_one_tried() {
        let choice = LinkerChoice::new(Some(PathBuf::from("/nonexistent/lld")));
        assert!(matches!(link(b"", &choice), Err(LinkError::NoLinker { .. })));
    }

    #[test]
    fn what_the_linker_says_is_kept_and_the_folder_is_removed() {
        let error = link(b"no object at all", &LinkerChoice::default()).expect_err("not an object");
        assert!(matches!(&error, LinkError::Failed { message, .. } if message.contains("kernel.o")), "{error}");
        let left = std::fs::read_dir(std::env::temp_dir())
            .expect("the temporary folder")
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| name.starts_with(&format!("tilewright-link-{}-", std::process::id())))
            .count();
        assert!(left <= 2, "only the folders of tests that run at the same time may be there: {left}");
    }
}

//! NVIDIA's assembler: from PTX to a cubin. It is not ours and not needed to build; where there is none we say so.

use std::path::{Path, PathBuf};
use std::process::Command;

use tilewright_target::Target;

use crate::session::Env;

/// The assembler: `named` if given, else the first `ptxas` on `PATH`.
///
/// # Errors
/// One sentence that says where it was looked for.
pub fn find(named: Option<&Path>, env: &Env) -> Result<PathBuf, String> {
    match named {
        Some(path) if path.is_file() => Ok(path.to_path_buf()),
        Some(path) => Err(format!("there is no ptxas at `{}` (--ptxas)", path.display())),
        None => env.path.iter().map(|folder| folder.join("ptxas")).find(|path| path.is_file()).ok_or_else(|| {
            "objects for CUDA targets need NVIDIA's ptxas: name it with --ptxas PATH or put it on PATH, or take the PTX \
             itself with --emit asm"
                .to_string()
        }),
    }
}

/// The cubin of a PTX text.
///
/// # Errors
/// What ptxas says, or why it could not be run.
pub fn assemble(ptxas: &Path, target: &Target, ptx: &str) -> Result<Vec<u8>, String> {
    let folder = Folder::new().map_err(|e| format!("cannot make a temporary folder: {e}"))?;
    let (input, output) = (folder.0.join("kernel.ptx"), folder.0.join("kernel.cubin"));
    std::fs::write(&input, ptx).map_err(|e| format!("cannot write `{}`: {e}", input.display()))?;
    let arch = target.ptx.map_or(target.name, |ptx| ptx.target);
    let run = Command::new(ptxas).arg("-arch").arg(arch).arg("-o").arg(&output).arg(&input).output();
    let run = run.map_err(|e| format!("cannot run `{}`: {e}", ptxas.display()))?;
    if !run.status.success() {
        let words = String::from_utf8_lossy(&run.stderr);
        return Err(format!("ptxas refuses the PTX for {} ({}): {}", target.name, run.status, words.trim()));
    }
    std::fs::read(&output).map_err(|e| format!("ptxas left no cubin: {e}"))
}

/// A temporary folder, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> std::io::Result<Folder> {
        use std::sync::atomic::{AtomicU32, Ordering};
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tilewright-ptxas-{}-{number}", std::process::id()));
        std::fs::create_dir(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If it cannot be removed there is nobody to tell.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

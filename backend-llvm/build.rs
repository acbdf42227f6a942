//! Finds the LLVM 22.1 that every build of this workspace links against, without an installed LLVM.
//!
//! The pinned Rust toolchain ships the LLVM it was built with, so by default that library is used; with the feature
//! `system-llvm` it is the one under `LLVM_SYS_221_PREFIX`. Must hold: exactly one `cargo::error=` sentence when
//! no fitting library is found (never a panic), and any other LLVM version is refused. The symlinks go into `OUT_DIR`
//! because cargo puts link-search folders under `target/` on the loader path of every dependent's run, test and doctest.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What to link: the shared object, the name passed to the linker, and the folder that goes into the run path.
struct Found {
    file: PathBuf,
    link_name: String,
    run_path: PathBuf,
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC");
    println!("cargo::rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    match find().and_then(|found| link(&found)) {
        Ok(()) => {}
        Err(sentence) => println!("cargo::error={sentence}"),
    }
}

fn find() -> Result<Found, String> {
    if std::env::var_os("CARGO_FEATURE_SYSTEM_LLVM").is_some() { find_system() } else { find_in_toolchain() }
}

/// The file name that LLVM 22.1 has everywhere: `libLLVM.so.22.1`, in a toolchain followed by `-rust-<version>`.
const SONAME: &str = "libLLVM.so.22.1";

fn find_system() -> Result<Found, String> {
    let prefix = std::env::var_os("LLVM_SYS_221_PREFIX")
        .ok_or("the feature system-llvm needs LLVM_SYS_221_PREFIX to name the prefix of an LLVM 22.1 installation")?;
    let lib = Path::new(&prefix).join("lib");
    let file = lib.join(SONAME);
    if !file.is_file() {
        return Err(format!(
            "LLVM_SYS_221_PREFIX is {}, but {} is not there: Tilewright needs exactly LLVM 22.1",
            Path::new(&prefix).display(),
            file.display()
        ));
    }
    Ok(Found { file, link_name: "LLVM-22".into(), run_path: lib })
}

fn sysroot() -> Result<PathBuf, String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(&rustc)
        .args(["--print", "sysroot"])
        .output()
        .map_err(|e| format!("cannot run {} --print sysroot: {e}", Path::new(&rustc).display()))?;
    let text = String::from_utf8(output.stdout).map_err(|_| "the sysroot of rustc is not UTF-8".to_string())?;
    Ok(PathBuf::from(text.trim()))
}

/// The toolchain's linker, for AMD code objects; its absence is no error here, since another may be named at run time.
fn rust_lld() -> Option<PathBuf> {
    let host = std::env::var("HOST").ok()?;
    Some(sysroot().ok()?.join("lib/rustlib").join(host).join("bin/rust-lld"))
}

fn find_in_toolchain() -> Result<Found, String> {
    let lib = sysroot()?.join("lib");
    let wanted = format!("{SONAME}-rust-");
    let mut names: Vec<String> = std::fs::read_dir(&lib)
        .map_err(|e| format!("cannot read {}: {e}", lib.display()))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with(&wanted))
        .collect();
    names.sort();
    let Some(name) = names.pop() else {
        return Err(format!(
            "{} holds no {wanted}*: use the toolchain pinned in rust-toolchain.toml, or the feature system-llvm with \
             LLVM_SYS_221_PREFIX naming an LLVM 22.1",
            lib.display()
        ));
    };
    let version = &name[wanted.len()..];
    Ok(Found { file: lib.join(&name), link_name: format!("LLVM-22-rust-{version}"), run_path: lib })
}

fn link(found: &Found) -> Result<(), String> {
    let out = std::env::var_os("OUT_DIR").ok_or("cargo did not set OUT_DIR")?;
    let out = Path::new(&out);
    let own_name = found.file.file_name().ok_or("the LLVM library has no file name")?;
    symlink(&found.file, &out.join(own_name))?;
    symlink(&found.file, &out.join(format!("lib{}.so", found.link_name)))?;
    println!("cargo::rustc-link-search=native={}", out.display());
    println!("cargo::rustc-link-lib=dylib={}", found.link_name);
    println!("cargo::rustc-link-arg=-Wl,-rpath,{}", found.run_path.display());
    println!("cargo::metadata=LIBDIR={}", found.run_path.display());
    println!("cargo::rustc-env=TILEWRIGHT_LLVM_LIBDIR={}", found.run_path.display());
    println!("cargo::rustc-env=TILEWRIGHT_RUST_LLD={}", rust_lld().map_or(String::new(), |p| p.display().to_string()));
    Ok(())
}

fn symlink(from: &Path, to: &Path) -> Result<(), String> {
    if to.is_symlink() || to.exists() {
        std::fs::remove_file(to).map_err(|e| format!("cannot replace {}: {e}", to.display()))?;
    }
    #[cfg(unix)]
    let made = std::os::unix::fs::symlink(from, to);
    #[cfg(not(unix))]
    let made = std::fs::copy(from, to).map(|_| ());
    made.map_err(|e| format!("cannot link {} to {}: {e}", to.display(), from.display()))
}

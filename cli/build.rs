//! Puts the folder of the LLVM library into the run path of the `tilewright` binary, so that it runs outside cargo.
//!
//! `backend-llvm` found the library (its `links` key hands the folder on); nothing else is decided here.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    match std::env::var("DEP_TILEWRIGHT_LLVM_LIBDIR") {
        Ok(folder) => println!("cargo::rustc-link-arg=-Wl,-rpath,{folder}"),
        Err(_) => println!("cargo::error=tilewright must depend directly on tilewright-backend-llvm to find its LLVM"),
    }
}

//! Lets the vendor's own tool judge the output: every PTX that the examples give goes through ptxas.
//!
//! ptxas comes with the CUDA toolkit (or `pip install nvidia-cuda-nvcc`). What is skipped is printed with the reason.

use std::fs;
use std::path::Path;

use tilewright::backend::Want;
use tilewright::session::Env;
use tilewright::{Options, compile_text, ptxas};
use tilewright_target::{TARGETS, Vendor};

use crate::tree;

/// One line for each PTX that ptxas refuses.
pub(crate) fn faults(root: &Path) -> Vec<String> {
    let assembler = match ptxas::find(None, &Env::read()) {
        Ok(path) => path,
        Err(_) => {
            println!("skipped: there is no ptxas on PATH");
            return Vec::new();
        }
    };
    let (mut faults, mut accepted) = (Vec::new(), 0);
    for path in tree::files(&root.join("examples"), "tile") {
        let Ok(text) = fs::read_to_string(root.join("examples").join(&path)) else {
            faults.push(format!("{}: cannot be read", path.display()));
            continue;
        };
        for target in TARGETS.iter().filter(|target| target.vendor == Vendor::Nvidia) {
            let place = format!("{} for {}", path.display(), target.name);
            let compiled = compile_text(&text, target, &Options { want: Want::Asm, ..Options::default() });
            let ptx = match compiled {
                Ok(compiled) => compiled.made.and_then(|made| made.asm).unwrap_or_default(),
                Err(all) => {
                    let why = all.first().map_or("", |diagnostic| diagnostic.message.as_str());
                    println!("skipped: {place}: {why}");
                    continue;
                }
            };
            match ptxas::assemble(&assembler, target, &ptx) {
                Ok(_) => accepted += 1,
                Err(why) => faults.push(format!("{place}: {why}")),
            }
        }
    }
    println!("accepted: {accepted}");
    if accepted == 0 && faults.is_empty() {
        faults.push("no PTX was made".to_string());
    }
    faults
}

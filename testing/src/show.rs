//! A compile as texts for snapshots: the report, and kernel bodies at each stage.
//!
//! Must hold: only kernel bodies; long LLVM IR and assembly are cut to the memory, synchronisation and control
//! instructions (post, waits, accesses), which is what a reviewer looks at.

use std::fmt::Write;

use tilewright::Compiled;
use tilewright::ir::Item;
use tilewright::ir::text::print_kernel;

/// Lines of assembly or LLVM IR above which only the window is kept.
const LONG: usize = 90;

/// The report as `tilewright report` prints it.
pub fn report(compiled: &Compiled) -> String {
    tilewright::report::table(compiled, "test.tile")
}

/// The lowered kernels.
pub fn lowered(compiled: &Compiled) -> String {
    let kernels = compiled.lowered.items.iter().filter_map(|item| match item {
        Item::Kernel(kernel) => Some(print_kernel(kernel)),
        Item::Run(_) => None,
    });
    kernels.collect::<Vec<_>>().join("\n")
}

/// LLVM IR of the kernels, after the optimiser.
///
/// # Panics
/// If the compile was not asked for it.
pub fn llvm(compiled: &Compiled) -> String {
    let made = compiled.made.as_ref().expect("a compile with `want: Want::Llvm` or `llvm_ir: true`");
    each_kernel(compiled, |kernel| window(&llvm_body(&made.llvm_ir, kernel), is_llvm_of_interest))
}

/// Assembly of the kernels; PTX on CUDA targets.
///
/// # Panics
/// If the compile was not asked for it.
pub fn asm(compiled: &Compiled) -> String {
    let asm = compiled.made.as_ref().and_then(|made| made.asm.as_deref()).expect("a compile with `want: Want::Asm`");
    each_kernel(compiled, |kernel| window(&asm_body(asm, kernel), is_asm_of_interest))
}

fn each_kernel(compiled: &Compiled, body: impl Fn(&str) -> String) -> String {
    compiled.lowered.kernels().map(|kernel| body(kernel.name.as_str())).collect::<Vec<_>>().join("\n")
}

/// From `define … @kernel(` to its closing brace, without attribute and metadata numbers.
fn llvm_body(ir: &str, kernel: &str) -> Vec<String> {
    let head = format!("@{kernel}(");
    let lines = ir.lines().skip_while(|line| !(line.starts_with("define") && line.contains(&head)));
    let mut body: Vec<String> = lines.take_while(|line| *line != "}").map(|line| strip(line).to_string()).collect();
    assert!(!body.is_empty(), "no `{kernel}` in the LLVM IR");
    body.push("}".to_string());
    body
}

/// The line up to `, !metadata` and attribute groups (` #0`), whose numbers depend on what else the module holds.
fn strip(line: &str) -> &str {
    let line = line.split(", !").next().unwrap_or(line);
    let end = line.find(" #").unwrap_or(line.len());
    line[..end].trim_end()
}

/// From the kernel's label to the end of its function.
fn asm_body(asm: &str, kernel: &str) -> Vec<String> {
    let is_label = |line: &&str| {
        let line = line.trim_start();
        line.starts_with(&format!("{kernel}:")) || line.contains(&format!(".entry {kernel}("))
    };
    let body = asm.lines().skip_while(|line| !is_label(line));
    let is_end =
        |line: &str| line.starts_with(".Lfunc_end") || line == "}" || line.trim_start().starts_with(".section");
    let body = body.take_while(|line| !is_end(line)).map(str::trim_end).filter(|line| !line.is_empty());
    let body: Vec<String> = body.filter(|line| !line.trim_start().starts_with(';')).map(str::to_string).collect();
    assert!(!body.is_empty(), "no `{kernel}` in the assembly");
    body
}

/// The whole body if it is short, else only the lines of interest, with a mark where others were left out. The mark has no
/// number: what happens between two accesses is not what is looked at.
fn window(body: &[String], is_of_interest: fn(&str) -> bool) -> String {
    let mut out = String::new();
    let mut left_out = false;
    for line in body {
        if body.len() <= LONG || is_of_interest(line) {
            if std::mem::take(&mut left_out) {
                out.push_str("        …\n");
            }
            let _ = writeln!(out, "{line}");
        } else {
            left_out = true;
        }
    }
    out
}

/// The head, memory accesses and synchronisation, on both kinds of GPU.
fn is_asm_of_interest(line: &str) -> bool {
    const STARTS: &[&str] = &[
        "global_",
        "flat_",
        "buffer_",
        "scratch_",
        "ds_",
        "s_waitcnt vm",
        "s_wait_loadcnt",
        "s_wait_storecnt",
        "s_barrier",
        "s_endpgm",
        "ld.global",
        "ld.shared",
        "st.",
        "ldmatrix",
        "stmatrix",
        "bar.",
        "membar",
        "fence",
        "atom",
        "red.",
    ];
    let code = line.trim_start();
    let code = code.strip_prefix('@').and_then(|rest| rest.split_once(' ')).map_or(code, |(_, rest)| rest);
    let is_head = !line.starts_with(char::is_whitespace) && !line.starts_with(['.', '$']);
    is_head || STARTS.iter().any(|start| code.starts_with(start))
}

/// The head, memory that others see, and synchronisation.
fn is_llvm_of_interest(line: &str) -> bool {
    const WORDS: &[&str] =
        &["store ", "load atomic", "fence ", "waitcnt", "s.wait.", "barrier", "atomicrmw", "cmpxchg", "define", "ret "];
    WORDS.iter().any(|word| line.contains(word))
}

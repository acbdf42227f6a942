//! Every instruction that examples and bench kernels compile to.

use std::path::Path;

use tilewright::backend::Want;
use tilewright::{Options, compile_text};
use tilewright_sim::CodeObject;
use tilewright_target::lookup;

use crate::judge::Tally;

/// The `.tile` files of a folder of the checkout, by name.
fn sources(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "tile"));
    paths.sort();
    let read = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name, std::fs::read_to_string(path).expect("UTF-8"))
    };
    paths.iter().map(|path| read(path)).collect()
}

#[test]
fn emitted_code() {
    let mut objects = 0;
    for (chip, mut llvm) in crate::chips().into_iter().chain([crate::gfx1250()]) {
        let target = lookup(chip.name()).expect("a target");
        let mut tally = Tally::default();
        for (name, text) in sources("examples").into_iter().chain(sources("benches/kernels")) {
            let options = Options { want: Want::finished(target), ..Options::default() };
            // Kernels that only other chips can run are refused.
            let Ok(compiled) = compile_text(&text, target, &options) else { continue };
            let object = compiled.made.and_then(|made| made.object).expect("machine code");
            let object = CodeObject::load(&object, target).unwrap_or_else(|e| panic!("{name}: {e}"));
            objects += 1;
            for kernel in &object.kernels {
                let bytes = object.bytes_at(kernel.entry, kernel.code_bytes).expect("the kernel's code");
                let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|chunk| u32::from_le_bytes(*chunk)).collect();
                let mut at = 0;
                while at < words.len() {
                    let word = |i: usize| words.get(at + i).copied().unwrap_or(0);
                    let alike = tally.compare(chip, &mut llvm, [word(0), word(1), word(2), 0]);
                    assert!(
                        alike,
                        "{name}, kernel {}: {:#010x} {:#010x} at {:#x}",
                        kernel.name,
                        word(0),
                        word(1),
                        at * 4
                    );
                    let inst = tilewright_sim::isa::decode(&words[at..], chip).expect("it was decoded just now");
                    at += usize::from(inst.len);
                }
            }
        }
        tally.report(&format!("emitted for {}", chip.name()));
        assert!(tally.same > 1000, "only {} instructions", tally.same);
    }
    assert!(objects >= 40, "only {objects} objects");
}

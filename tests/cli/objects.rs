//! `inspect`, and bundles as `compile` makes them.

use crate::program::{Folder, tilewright};

#[test]
fn an_object_is_told_with_its_kernels_and_who_refuses_it() {
    let folder = Folder::new("inspect-object");
    let object = folder.path("r.hsaco");
    tilewright(&["compile", "examples/ring_shift.tile", "--target", "gfx942", "-o", &object]).ends(0);
    let outcome = tilewright(&["inspect", &object]).ends(0).prints(&[
        "AMD code object for gfx942",
        "kernel `ring_shift`",
        "argument block  232 bytes",
        "200  8    send        global_buffer",
        "gfx942   runs it",
        "gfx950   object is for gfx942, device is gfx950",
        "sm_90a   sm_90a is an NVIDIA chip and runs no AMD code objects",
    ]);
    assert!(outcome.err.is_empty(), "{}", outcome.err);
    tilewright(&["inspect", &object, "--target", "gfx942"]).ends(0);
    tilewright(&["inspect", &object, "--target", "gfx950"])
        .ends(1)
        .says(&["error: gfx950 refuses", "object is for gfx942, device is gfx950"]);
    let outcome = tilewright(&["inspect", &object, "--target", "gfx950", "--json"]).ends(1);
    let json: serde_json::Value = serde_json::from_str(&outcome.out).expect("one JSON value");
    assert_eq!(json["refusal"], "object is for gfx942, device is gfx950");
    assert_eq!(json["objects"][0]["kernels"][0]["name"], "ring_shift");
}

#[test]
fn what_is_broken_in_an_object_is_named() {
    let folder = Folder::new("inspect-broken");
    let object = folder.path("k.hsaco");
    tilewright(&["compile", "examples/gmem_smem.tile", "-o", &object]).ends(0);
    let bytes = std::fs::read(&object).expect("written");
    let broken = |name: &str, change: &dyn Fn(&mut Vec<u8>), words: &str| {
        let mut bytes = bytes.clone();
        change(&mut bytes);
        let file = folder.path(name);
        std::fs::write(&file, bytes).expect("written");
        tilewright(&["inspect", &file]).ends(0).prints(&[words]);
    };
    // e_flags: a chip that nobody knows; e_ident: another ABI version; the file: cut off.
    broken("chip", &|b| b[48] = 0x01, "a chip with the number 0x1");
    broken("abi", &|b| b[8] = 2, "object has ELF ABI version 2, device gfx950 needs 4");
    broken("cut", &|b| b.truncate(b.len() / 2), "this is not a linked AMD code object");
    let empty = folder.path("empty");
    std::fs::write(&empty, b"").expect("written");
    tilewright(&["inspect", &empty]).ends(1).says(&["the file is empty"]);
    tilewright(&["inspect", "examples/ring_shift.tile"]).ends(1).says(&["this is no AMD code object"]);
    tilewright(&["inspect", "nowhere"]).ends(1).says(&["cannot read `nowhere`"]);
}

#[test]
fn bundles_hold_several_targets_and_are_told() {
    let folder = Folder::new("bundles");
    let file = folder.path("g.twb");
    let targets = "gfx942,gfx1250,sm_90a";
    tilewright(&["compile", "examples/gmem_smem.tile", "--emit", "bundle", "--target", targets, "-o", &file]).ends(0);
    tilewright(&["inspect", &file]).ends(0).prints(&[
        "run block  `gmem_smem` on 1 ranks",
        "AMD code object for gfx942",
        "AMD code object for gfx1250",
        "PTX for sm_90a",
        "launch          1 x 1 x 1 blocks of 128 x 1 x 1 threads",
        "a  global memory of f32",
    ]);
    tilewright(&["inspect", &file, "--target", "sm_90a"]).ends(0);
    tilewright(&["inspect", &file, "--target", "gfx950"]).ends(1).says(&["object is for gfx942, device is gfx950"]);
}

#[test]
fn what_a_bundle_cannot_be_is_refused() {
    let folder = Folder::new("bundle-errors");
    let file = folder.path("b.twb");
    let compile = |source: &str, args: &[&str]| {
        let outcome = tilewright(&[&["compile", source, "-o", &file], args].concat());
        assert!(!std::path::Path::new(&file).exists(), "nothing is written");
        outcome
    };
    let example = "examples/ring_shift.tile";
    compile(example, &["--target", "gfx942,gfx950"]).ends(2).says(&["several go into one file with --emit bundle"]);
    compile(example, &["--emit", "bundle", "--target", "gfx950,gfx950"]).ends(2).says(&["names gfx950 twice"]);
    compile(example, &["--ranks", "2"]).ends(2).says(&["add --emit bundle"]);
    compile(example, &["--emit", "bundle", "--target", "gfx950,sm_90a"])
        .ends(1)
        .says(&["no run block of `examples/ring_shift.tile` allows sm_90a"]);
    compile(example, &["--emit", "bundle", "--target", "gfx950,gfx9"]).ends(2).says(&["gfx9"]);
    // An expectation that does not hold makes no bundle.
    let source = folder.path("k.tile");
    let text =
        "kernel k(a: global<u32>[64], b: global<u32>[64]) launch(grid = [1], block = [64]) { copy b <- a by cta; }
run k { a = 1; expect b == 2; }";
    std::fs::write(&source, text).expect("written");
    compile(&source, &["--emit", "bundle"]).ends(1).says(&["error[TW0037]", "k.tile:2"]);
}

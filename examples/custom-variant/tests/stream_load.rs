//! The variant wins by cost where it should, by force anywhere, declines with its reason elsewhere; its bytes are the
//! reference's on both kinds of GPU; and its instructions are the streaming ones.

use std::sync::Arc;

use tilewright::backend::Want;
use tilewright::extension::Extension;
use tilewright::{Compiled, Options, compile_text};
use tilewright_testing::{
    assert_asm_snapshot, assert_ir_snapshot, assert_report_snapshot, check_copy_matches_reference, chosen,
};

const TARGETS: [&str; 2] = ["gfx950", "sm_90a"];

/// A CTA of 64 threads takes `columns` elements a thread through registers.
fn kernel(dtype: &str, columns: u32, attributes: &str) -> String {
    format!(
        "kernel stream(a: global<{dtype}>[64, {columns}], b: global<{dtype}>[64, {columns}])
            launch(grid = [1], block = [64])
        {{
            local r: {dtype}[64, {columns}] layout S[(64,{columns}):(1@tx,1)];
            copy r <- a by cta{attributes};
            copy b <- r by cta;
        }}
        run stream {{ a = random(seed = 5); expect b == a; }}"
    )
}

fn options() -> Options {
    Options { want: Want::Asm, extensions: vec![Arc::new(custom_variant::extension())], ..Options::default() }
}

fn run(text: &str, target: &str) -> Compiled {
    check_copy_matches_reference(text, target, &options())
}

#[test]
fn wins_by_cost_when_it_streams() {
    for target in TARGETS {
        let compiled = run(&kernel("f32", 16, ""), target);
        assert_eq!(chosen(&compiled), ["stream_load", "reg"], "{target}");
        assert_ir_snapshot!(format!("stream.lowered.{target}"), compiled);
        assert_report_snapshot!(format!("stream.report.{target}"), compiled);
        assert_asm_snapshot!(format!("stream.asm.{target}"), compiled);
    }
}

#[test]
fn loses_when_little_is_copied_but_can_be_forced() {
    for target in TARGETS {
        assert_eq!(chosen(&run(&kernel("f32", 4, ""), target)), ["reg", "reg"], "{target}");
        let forced = run(&kernel("f32", 4, ", variant = \"stream_load\""), target);
        assert_eq!(chosen(&forced), ["stream_load", "reg"], "{target}");
    }
}

#[test]
fn every_width_is_right_and_streams() {
    let sizes =
        [("u8", 1), ("u8", 2), ("f16", 1), ("f16", 2), ("f16", 3), ("bf16", 8), ("i32", 3), ("f64", 2), ("f32", 6)];
    for (dtype, columns) in sizes {
        let text = kernel(dtype, columns, ", variant = \"stream_load\"");
        for target in TARGETS {
            let compiled = run(&text, target);
            let asm = compiled.made.as_ref().and_then(|made| made.asm.as_deref()).expect("asked for");
            let streams = asm.contains("ld.global.cs") || asm.contains(" nt");
            // PTX has no streaming load of one byte into a register that we could name.
            let single_byte = dtype == "u8" && columns == 1 && target == "sm_90a";
            assert!(streams || single_byte, "{columns} x {dtype} on {target}: {asm}");
        }
    }
}

/// The reason why the variant declines the first copy.
fn reason(text: &str) -> String {
    let target = tilewright::target("gfx950").expect("known");
    let options = Options { want: Want::Nothing, ..options() };
    let compiled = compile_text(text, target, &options).expect("another variant takes it");
    let candidate = compiled.report.copies[0].candidates.iter().find(|c| c.variant == "stream_load");
    candidate.expect("it was asked").reason.clone()
}

#[test]
fn declines_with_the_reason() {
    let shared =
        "kernel k(a: global<f32>[64]) launch(grid = [1], block = [64]) { shared s: f32[64]; copy s <- a by cta; }";
    assert_eq!(reason(shared), "global -> shared, needs global memory to registers");
    let nibbles = "kernel k(a: global<i4>[64, 8]) launch(grid = [1], block = [64]) {
        local r: i4[64, 8] layout S[(64,8):(1@tx,1)];
        copy r <- a by cta;
    }";
    assert!(reason(nibbles).contains("needs whole bytes"), "{}", reason(nibbles));
    let written = "kernel k(a: global<f32>[64]) launch(grid = [1], block = [64]) {
        local r: f32[64] layout S[(64):(1@tx)];
        copy r <- a by cta;
        a[thread.x] = 1.0;
    }";
    assert!(reason(written).contains("`a` is written in this kernel"), "{}", reason(written));
}

#[test]
fn a_name_that_is_taken_is_an_error() {
    let twice = vec![Arc::new(custom_variant::extension()), Arc::new(custom_variant::extension())];
    let options = Options { extensions: twice, ..Options::default() };
    let target = tilewright::target("gfx950").expect("known");
    let errors = compile_text(&kernel("f32", 4, ""), target, &options).expect_err("named twice");
    assert!(errors[0].message.contains("its copy variant `stream_load` is taken"), "{errors:?}");
    let neutral = tilewright::extension::OpRow { name: "vec.copy", ..custom_variant::STREAM_LOAD };
    let extension = Extension::new("bad").op(neutral, |_| Ok(()), |_| Ok(()));
    let options = Options { extensions: vec![Arc::new(extension)], ..Options::default() };
    let errors = compile_text(&kernel("f32", 4, ""), target, &options).expect_err("a neutral op");
    assert!(errors[0].message.contains("its op `vec.copy` is taken"), "{errors:?}");
}

#[test]
fn two_compiles_are_the_same() {
    for target in TARGETS {
        let asm = || run(&kernel("f16", 64, ""), target).made.and_then(|made| made.asm);
        assert_eq!(asm(), asm());
    }
}

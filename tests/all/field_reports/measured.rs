//! Section 0: what was measured here.

use tilewright::{Options, compile_text};
use tilewright_target::{TARGETS, Vendor};
use tilewright_testing::chosen;

use super::{BOTH, errors, fragment, made, reason, run};

#[test]
fn report_0_1_base_offsets_are_checked() {
    for (begin, fits) in [(0, true), (4, false), (8, true), (132, false), (136, true)] {
        let compiled = run(&fragment("f16", "", &format!("0..8, {begin}..{begin} + 16"), ["", ""]), "sm_90a");
        assert_eq!(chosen(&compiled)[1] == "ldstmatrix", fits, "begin {begin}");
        if !fits {
            let why = reason(&compiled, 1, "ldstmatrix");
            assert!(why.contains(&format!("base offset {} B is not a multiple of 16 B", 2 * begin)), "{why}");
        }
    }
    for (step, fits) in [(4, false), (8, true)] {
        let begin = format!("0..8, {step} * i..{step} * i + 16");
        let compiled = run(&fragment("f16", "", &begin, ["for i in 0..8 {", "}"]), "sm_90a");
        assert_eq!(chosen(&compiled)[1] == "ldstmatrix", fits, "begin {step} * i");
    }
}

#[test]
fn report_0_2_strides_of_warps_are_checked() {
    for (stride, fits) in [(128, true), (132, false), (136, true)] {
        let text = format!(
            "kernel k(a: global<f16>[4, 8, 16], b: global<f16>[4, 8, 16]) launch(grid = [1], block = [128], warp = 32) {{
                shared tile: f16[4, 8, 16] layout S[(4,8,16):({stride},16,1)];
                local frag: f16[4, 8, 16] layout S[(4,8,2,4,2):(32@tid_in_wg,4@tid_in_wg,2,1@tid_in_wg,1)];
                copy tile <- a by warpgroup;
                sync cta;
                copy frag <- tile by warpgroup;
                copy b <- frag by warpgroup;
            }}
            run k {{ a = random(seed = 1); expect b == a; }}"
        );
        let compiled = run(&text, "sm_90a");
        assert_eq!(chosen(&compiled)[1] == "ldstmatrix", fits, "stride {stride}");
        if !fits {
            let why = reason(&compiled, 1, "ldstmatrix");
            assert!(why.contains("warp stride 264 B is not a multiple of 16 B"), "{why}");
        }
    }
}

#[test]
fn report_0_3_and_1_1_only_16_bit_types_are_matrices() {
    for dtype in
        ["i4", "u4", "f4", "i8", "u8", "f8e4m3", "f8e5m2", "i16", "u16", "f16", "bf16", "i32", "f32", "i64", "f64"]
    {
        let compiled = run(&fragment(dtype, "", "0..8, 0..16", ["", ""]), "sm_90a");
        let fits = ["i16", "u16", "f16", "bf16"].contains(&dtype);
        assert_eq!(chosen(&compiled)[1] == "ldstmatrix", fits, "{dtype}");
        if !fits {
            let why = reason(&compiled, 1, "ldstmatrix");
            assert!(why.contains(dtype) && why.contains("needs exactly 16 bits"), "{why}");
        }
    }
}

#[test]
fn report_0_4_and_1_5_stmatrix_says_what_it_needs() {
    let text = "kernel k(a: global<f16>[8, 32], b: global<f16>[8, 32]) launch(grid = [1], block = [32], warp = 32) {
        local frag: f16[8, 32] layout S[(8,4,4,2):(4@laneid,2,1@laneid,1)];
        shared tile: f16[8, 32];
        copy frag <- a by warp;
        copy tile <- frag by warp;
        sync cta;
        copy b <- tile by warp;
    }
    run k { a = random(seed = 1); expect b == a; }";
    for target in TARGETS.iter().filter(|t| t.vendor == Vendor::Nvidia) {
        let compiled = run(text, target.name);
        let asm = made(text, target.name).made.and_then(|made| made.asm).expect("asked for");
        assert_eq!(chosen(&compiled)[1] == "ldstmatrix", target.has_stmatrix(), "{}", target.name);
        assert_eq!(asm.contains("stmatrix"), target.has_stmatrix(), "{}", target.name);
        if !target.has_stmatrix() {
            assert!(reason(&compiled, 1, "ldstmatrix").contains("stmatrix needs sm_90"));
        }
    }
}

#[test]
fn report_0_6_and_2_2_every_access_and_shared_array_has_its_alignment() {
    let text = "kernel k(a: global<f64>[3], b: global<f64>[10], o: global<f64>[10]) launch(grid = [1], block = [32]) {
        shared first: f64[3];
        shared second: f64[10];
        copy first <- a by cta;
        copy second <- b by cta;
        sync cta;
        copy o <- second by cta;
        copy a <- first by cta;
    }
    run k { a = random(seed = 1); b = random(seed = 2); expect o == b; }";
    for target in BOTH {
        run(text, target);
        let compiled = made(text, target);
        let ir = &compiled.made.as_ref().expect("made").llvm_ir;
        let shared: Vec<&str> = ir.lines().filter(|l| l.starts_with('@') && l.contains("addrspace(3)")).collect();
        assert!(shared.len() == 2 && shared.iter().all(|l| l.contains("align 16")), "{target}: {shared:#?}");
        let accesses: Vec<&str> = ir.lines().filter(|l| l.contains(" load ") || l.contains(" store ")).collect();
        assert!(accesses.len() >= 4 && accesses.iter().all(|l| l.contains(", align ")), "{target}: {accesses:#?}");
    }
}

#[test]
fn report_0_7_unknown_targets_are_errors_with_the_known_ones() {
    for name in ["gfx9999", "gfx90", "sm_70", "sm_9", "", "generic", "SM_90A "] {
        let error = tilewright::target(name).expect_err(name).to_string();
        assert!(error.contains("sm_90a") || error.contains("gfx"), "{name}: {error}");
    }
}

#[test]
fn report_0_8_the_first_line_names_operand_values_and_fix() {
    let kernel = |params: &str, body: &str| {
        format!("kernel k({params}) launch(grid = [1], block = [32], warp = 32) {{ {body} }}")
    };
    let cases = [
        (kernel("a: global<f32>[64], b: global<f16>[64]", "copy b <- a by cta;"), ["f32", "f16", "cast"]),
        (kernel("a: global<f32>[64], b: global<f32>[48]", "copy b <- a by cta;"), ["64", "48", "b"]),
    ];
    for (text, words) in cases {
        let all = errors(&text, "sm_90a");
        let said = format!("{} {}", all[0].message, all[0].help.join(" "));
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    }
    // Registers without thread axes are private, so each thread may take all of it; 24 elements over 32 threads are dealt
    // out with a guard.
    for (text, target) in BOTH.iter().flat_map(|target| {
        let private = kernel(
            "a: global<f32>[24], b: global<f32>[24]",
            "local r: f32[24]; copy r <- a by cta; copy b <- r by thread;",
        );
        let odd = kernel(
            "a: global<f32>[24], b: global<f32>[24]",
            "shared s: f32[24]; copy s <- a by cta; sync cta; copy b <- s by cta;",
        );
        [(private, *target), (odd, *target)]
    }) {
        match compile_text(&text, tilewright::target(target).expect("known"), &Options::default()) {
            Ok(compiled) => assert!(!chosen(&compiled).contains(&"fallback"), "{text}"),
            Err(all) => assert!(!all[0].message.is_empty() && !all[0].help.is_empty(), "{all:#?}"),
        }
    }
}

#[test]
fn report_0_5_matrix_instructions_stay_outside_branches() {
    let text = "kernel k(a: global<f16>[8, 16], b: global<f16>[8, 16], times: u32)
        launch(grid = [1], block = [32], warp = 32)
    {
        shared tile: f16[8, 16];
        local frag: f16[8, 16] layout S[(8,2,4,2):(4@laneid,2,1@laneid,1)];
        copy tile <- a by warp;
        sync cta;
        copy frag <- tile by warp;
        for i in 0..times { copy b <- frag by warp; }
    }";
    let compiled = made(text, "sm_90a");
    assert_eq!(chosen(&compiled)[1], "ldstmatrix");
    let ir = &compiled.made.as_ref().expect("made").llvm_ir;
    let body = ir.split("define ").nth(1).expect("a kernel");
    let call = body.find("@llvm.nvvm.ldmatrix").expect("an ldmatrix");
    assert!(body.find("br i1").is_none_or(|branch| call < branch), "{ir}");
    let declared = ir.lines().find(|l| l.starts_with("declare") && l.contains("llvm.nvvm.ldmatrix")).expect("declared");
    let group = declared.split_whitespace().rfind(|word| word.starts_with('#')).expect("attributes");
    let attributes = ir.lines().find(|l| l.starts_with(&format!("attributes {group} ="))).expect("a group");
    assert!(attributes.contains("convergent"), "{attributes}");
}

/// Pass times are measured in benches/; a cache needs that equal text gives equal bytes, which is held here.
#[test]
fn report_5_2_equal_text_gives_equal_bytes() {
    let folder = crate::common::root().join("benches/kernels");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("benches/kernels") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("UTF-8");
        let twice = [(); 2].map(|()| {
            let compiled = made(&text, "sm_90a");
            (tilewright_testing::show::lowered(&compiled), compiled.made.and_then(|made| made.asm).expect("PTX"))
        });
        assert!(twice[0] == twice[1], "{text}");
        count += 1;
    }
    assert!(count >= 16, "{count} kernels");
}

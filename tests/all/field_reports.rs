//! What broke for people who do this job (shared/reference/field-reports.md, sections 0 to 3 and 5): the whole kind of each
//! report, from source text to bytes. A test is named after its item.
//!
//! Faults of a single function have their tests beside it, too; here the question is what a user sees.

use tilewright::backend::Want;
use tilewright::{Compiled, Options, compile_text};
use tilewright_target::{TARGETS, Target, Vendor};
use tilewright_testing::{check_copy_matches_reference, chosen, compile, show};

const BOTH: [&str; 2] = ["gfx950", "sm_90a"];

fn run(text: &str, target: &str) -> Compiled {
    check_copy_matches_reference(text, target, &Options::default())
}

fn made(text: &str, target: &str) -> Compiled {
    compile(text, target, &Options { want: Want::Asm, ..Options::default() })
}

/// What the report says of a variant for a copy.
fn reason(compiled: &Compiled, copy: usize, variant: &str) -> String {
    let candidates = &compiled.report.copies[copy].candidates;
    candidates.iter().find(|c| c.variant == variant).map_or(String::new(), |c| c.reason.clone())
}

/// The errors of a text that must not compile.
fn errors(text: &str, target: &str) -> Vec<tilewright::ir::Diagnostic> {
    let target = tilewright::target(target).expect("known");
    compile_text(text, target, &Options::default()).expect_err("it is wrong")
}

/// A kernel of one warp that reads a fragment of 8x16 from `region` of `tile`.
fn fragment(dtype: &str, tile: &str, region: &str, around: [&str; 2]) -> String {
    format!(
        "kernel k(a: global<{dtype}>[16, 160], b: global<{dtype}>[8, 16]) launch(grid = [1], block = [32], warp = 32) {{
            shared tile: {dtype}[16, 160]{tile};
            local frag: {dtype}[8, 16] layout S[(8,2,4,2):(4@laneid,2,1@laneid,1)];
            copy tile <- a by warp;
            sync cta;
            {}
            copy frag <- tile[{region}] by warp;
            copy b <- frag by warp;
            {}
        }}
        run k {{ a = random(seed = 1); }}",
        around[0], around[1]
    )
}

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
fn report_1_1_bytes_in_columns_are_not_transposed_in_pairs() {
    // `.trans` moves units of 16 bits: of 8-bit elements pairs would come out swapped.
    for dtype in ["i8", "f8e4m3"] {
        let compiled = run(&fragment(dtype, " layout S[(16,160):(1,16)]", "0..8, 0..16", ["", ""]), "sm_90a");
        assert_eq!(chosen(&compiled)[1], "reg", "{dtype}");
    }
    let halves = run(&fragment("f16", " layout S[(16,160):(1,16)]", "0..8, 0..16", ["", ""]), "sm_90a");
    assert!(chosen(&halves)[1] == "ldstmatrix" && format!("{:?}", halves.decisions[1].params).contains("Bool(true)"));
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
fn report_1_7_the_alignment_of_shared_buffers_is_ours() {
    for align in [2, 4, 8, 16, 128] {
        let text = fragment("f16", &format!(" align {align}"), "0..8, 0..16", ["", ""]);
        assert_eq!(chosen(&run(&text, "sm_90a"))[1], "ldstmatrix", "align {align}");
        let compiled = made(&text, "sm_90a");
        let ir = &compiled.made.as_ref().expect("made").llvm_ir;
        let least = format!("align {}", align.max(16));
        assert!(ir.lines().any(|l| l.starts_with('@') && l.contains("addrspace(3)") && l.contains(&least)), "{ir}");
    }
}

#[test]
fn report_1_8_a_swizzle_counts_from_its_own_buffer() {
    // The swizzle is ours and counts from the buffer's begin, wherever that lies: no other buffer moves it.
    for bytes in [2, 128, 130, 1024] {
        let text = format!(
            "kernel k(a: global<f16>[16, 64], b: global<f16>[16, 64]) launch(grid = [1], block = [32], warp = 32) {{
                shared before: u8[{bytes}];
                shared tile: f16[16, 64] layout S[(16,64):(64,1)] swizzle(3,3,3);
                local frag: f16[16, 64] layout S[(2,8,8,4,2):(16,4@laneid,2,1@laneid,1)];
                fill before <- 1 by warp;
                copy tile <- a by warp;
                sync cta;
                copy frag <- tile by warp;
                copy b <- frag by warp;
            }}
            run k {{ a = random(seed = 1); expect b == a; }}"
        );
        let compiled = run(&text, "sm_90a");
        assert_eq!(chosen(&compiled)[1], "ldstmatrix");
        assert!(compiled.report.copies[1].conflicts.iter().all(|c| c.ways == 1));
    }
}

#[test]
fn report_1_10_types_of_one_width_have_one_program() {
    for swizzle in ["", " layout S[(16,160):(160,1)] swizzle(3,1,2)", " layout S[(16,160):(168,1)]"] {
        let lowered = |dtype: &str| show::lowered(&run(&fragment(dtype, swizzle, "0..8, 0..16", ["", ""]), "sm_90a"));
        let halves = lowered("f16");
        for dtype in ["bf16", "i16", "u16"] {
            assert_eq!(lowered(dtype).replace(dtype, "f16"), halves, "{dtype}{swizzle}");
        }
    }
}

#[test]
fn report_1_11_all_lanes_give_addresses_for_one_two_and_four_matrices() {
    for (pairs, num) in [(1, 1), (2, 2), (4, 4), (3, 1), (6, 2), (8, 4)] {
        let columns = 8 * pairs;
        let text = format!(
            "kernel k(a: global<f16>[8, {columns}], b: global<f16>[8, {columns}])
                launch(grid = [1], block = [32], warp = 32)
            {{
                shared tile: f16[8, {columns}] layout S[(8,{columns}):({},1)];
                local frag: f16[8, {columns}] layout S[(8,{pairs},4,2):(4@laneid,2,1@laneid,1)];
                copy tile <- a by warp;
                sync cta;
                copy frag <- tile by warp;
                sync cta;
                fill tile <- 0.0 by warp;
                sync cta;
                copy tile <- frag by warp;
                sync cta;
                copy b <- tile by warp;
            }}
            run k {{ a = random(seed = 1); expect b == a; }}",
            columns + 8
        );
        let lowered = show::lowered(&run(&text, "sm_90a"));
        for op in ["nv.ldmatrix", "nv.stmatrix"] {
            let line = lowered.lines().find(|l| l.contains(op)).expect(op);
            assert!(line.contains(&format!("num = {num}")), "{line}");
        }
    }
}

#[test]
fn report_1_13_swizzled_addresses_stay_inside() {
    // Every executor checks bounds, so a swizzle in bytes used as one in elements would be found.
    for dtype in ["u8", "f16", "f32", "f64"] {
        for swizzle in ["swizzle(3,1,1)", "swizzle(2,2,2)", "swizzle(3,3,3)", "swizzle(0,2,4)", "swizzle_outer(1,2,3)"]
        {
            let text = format!(
                "kernel k(a: global<{dtype}>[32, 16], b: global<{dtype}>[32, 16]) launch(grid = [1], block = [64]) {{
                    shared tile: {dtype}[32, 16] layout S[(32,16):(16,1)] {swizzle};
                    copy tile <- a by cta;
                    sync cta;
                    copy b <- tile by cta;
                }}
                run k {{ a = random(seed = 1); expect b == a; }}"
            );
            BOTH.iter().for_each(|target| {
                run(&text, target);
            });
        }
    }
}

#[test]
fn report_1_15_removing_a_swizzle_shows() {
    let text = |swizzle: &str| {
        format!(
            "kernel k(a: global<f16>[8, 64], b: global<f16>[8, 64]) launch(grid = [1], block = [32], warp = 32) {{
                shared tile: f16[8, 64] layout S[(8,64):(64,1)]{swizzle};
                local frag: f16[8, 64] layout S[(8,8,4,2):(4@laneid,2,1@laneid,1)];
                copy tile <- a by warp;
                sync cta;
                copy frag <- tile by warp;
                copy b <- frag by warp;
            }}
            run k {{ a = random(seed = 1); expect b == a; }}"
        )
    };
    let (with, without) = (run(&text(" swizzle(3,3,3)"), "sm_90a"), run(&text(""), "sm_90a"));
    assert_ne!(show::report(&with), show::report(&without));
    assert_ne!(show::lowered(&with), show::lowered(&without));
    assert!(show::report(&without).contains("8-way bank conflicts") && !show::report(&with).contains("-way"));
}

/// Bits of an access of the first copy.
fn vec_bits(compiled: &Compiled) -> String {
    let params = &compiled.report.copies[0].params;
    params.get("vec_bits").map_or(String::new(), |bits| bits.to_string())
}

#[test]
fn report_2_3_and_2_12_widths_follow_what_is_known_of_the_leading_dimension() {
    let text = |assume: &str| {
        format!(
            "kernel k(a: global<f16>[4, n], b: global<f16>[4, n]) where(n: u64) launch(grid = [1], block = [32]) {{
                {assume}
                copy b <- a by cta;
            }}
            run k {{ n = 48; a = random(seed = 1); expect b == a; }}"
        )
    };
    for target in BOTH {
        let rows = |assume: &str| {
            text(assume).replace("copy b <- a", "copy b[1..3, 0..n] <- a[0..2, 0..n]").replace("expect b == a;", "")
        };
        assert_eq!(vec_bits(&run(&rows(""), target)), "16", "{target}: nothing is known");
        assert_eq!(vec_bits(&run(&rows("assume(n % 2 == 0);"), target)), "32", "{target}");
        assert_eq!(vec_bits(&run(&rows("assume(n % 8 == 0);"), target)), "128", "{target}");
        run(&text(""), target);
        let small = "kernel k(a: global<f16>[2, 3], b: global<f16>[2, 3]) launch(grid = [1], block = [32]) { copy b <- a by cta; }
            run k { a = random(seed = 1); expect b == a; }";
        run(small, target);
    }
}

#[test]
fn report_2_4_a_width_that_does_not_fit_is_an_error_with_the_width_that_does() {
    let text = |vec: u32| {
        format!(
            "kernel k(a: global<f16>[33], b: global<f16>[33]) launch(grid = [1], block = [32]) {{
                copy b <- a by cta, vec = {vec};
            }}"
        )
    };
    for vec in [0, 3, 8, 24, 32, 64, 128, 256, 1 << 30] {
        let all = errors(&text(vec), "sm_90a");
        let said = format!("{} {}", all[0].message, all[0].help.join(" "));
        assert!(said.contains(&format!("vec = {vec}")) || said.contains("`vec`"), "{vec}: {said}");
    }
    assert_eq!(vec_bits(&compile(&text(16), "sm_90a", &Options::default())), "16");
}

#[test]
fn report_2_5_no_byte_is_shared_by_two_threads() {
    for target in BOTH {
        for elements in [1, 2, 127, 128, 129, 255] {
            for dtype in ["i4", "u4", "f4"] {
                let text = format!(
                    "kernel k(a: global<{dtype}>[{elements}], b: global<{dtype}>[{elements}]) launch(grid = [1], block = [128]) {{
                        copy b <- a by cta;
                    }}
                    run k {{ a = random(seed = 1); expect b == a; }}"
                );
                run(&text, target);
            }
        }
    }
}

#[test]
fn report_2_7_a_copy_does_not_convert_whatever_its_size() {
    let text = |n: u32| {
        format!(
            "kernel k(a: global<i64>[{n}], b: global<i32>[{n}]) launch(grid = [1], block = [32]) {{ copy b <- a by cta; }}"
        )
    };
    let said = |n: u32| {
        let all = errors(&text(n), "sm_90a");
        (all[0].message.clone(), all[0].help.clone())
    };
    assert_eq!(said(1), said(64));
    assert!(format!("{:?}", said(1)).contains("cast"), "{:?}", said(1));
}

#[test]
fn report_3_3_regions_may_begin_anywhere() {
    for target in BOTH {
        for begin in [1, 2, 3, 4, 5, 33] {
            let text = format!(
                "kernel k(a: global<i32>[8, 128], b: global<i32>[8, 64]) launch(grid = [1], block = [64]) {{
                    shared s: i32[8, 64];
                    local r: i32[8, 64] layout S[(8,64):(1,1@tx)];
                    copy s <- a[0..8, {begin}..{begin} + 64] by cta;
                    sync cta;
                    copy r <- s by cta;
                    copy b <- r by cta;
                    sync cta;
                    copy b[0..7, 1..33] <- a[1..8, {begin}..{begin} + 32] by cta;
                }}
                run k {{ a = random(seed = 1); }}"
            );
            run(&text, target);
        }
    }
}

#[test]
fn report_3_4_the_padding_value_arrives() {
    let text = "kernel k(a: global<f32>[60, 60], b: global<f32>[64, 64]) launch(grid = [1], block = [64]) {
        shared s: f32[64, 64];
        fill s <- -99.0 by cta;
        sync cta;
        copy s[0..60, 0..60] <- a by cta;
        sync cta;
        copy b <- s by cta;
    }
    run k { a = 7.0; expect b[0..60, 0..60] == 7.0; expect b[60..64, ..] == -99.0; expect b[.., 60..64] == -99.0; }";
    BOTH.iter().for_each(|target| {
        run(text, target);
    });
}

#[test]
fn report_3_5_lanes_that_are_masked_off_touch_nothing() {
    // Memory that nothing sets holds a pattern, so what a masked lane writes would be seen.
    for guard in ["thread.x < 16", "thread.x >= 5", "thread.lane % 2 == 0"] {
        let by_thread = format!(
            "kernel k(a: global<f32>[64, 4], b: global<f32>[64, 4]) launch(grid = [1], block = [64]) {{
                shared s: f32[64, 4];
                fill s[thread.x, ..] <- 3.0 by thread;
                if {guard} {{ copy s[thread.x, ..] <- a[thread.x, ..] by thread; }}
                sync cta;
                if {guard} {{ copy b[63 - thread.x, ..] <- s[63 - thread.x, ..] by thread; }}
            }}
            run k {{ a = random(seed = 1); }}"
        );
        BOTH.iter().for_each(|target| {
            run(&by_thread, target);
        });
    }
    let by_cta = "kernel k(a: global<f32>[64], b: global<f32>[64]) launch(grid = [1], block = [64]) {
        local r: f32[64] layout S[(64):(1@tx)];
        fill r <- 5.0 by cta;
        if thread.x < 24 { copy r <- a by cta; }
        copy b <- r by cta;
    }
    run k { a = random(seed = 1); expect b[24..64] == 5.0; }";
    BOTH.iter().for_each(|target| {
        run(by_cta, target);
    });
}

#[test]
fn report_3_8_offsets_beyond_32_bits_are_computed_in_64() {
    // Row 40000 of 65536 x 65536 halves begins at byte 5 242 880 000; the last of 64 rows of 2^26 floats at element
    // 4 227 858 432. Nothing so large is run here: the constants must stand in the instructions.
    let rows = "kernel k(a: global<f16>[65536, 65536], b: global<f16>[64]) launch(grid = [1], block = [32]) {
        copy b <- a[40000, 0..64] by cta;
    }";
    let far = "kernel k(a: global<f32>[64, 67108864], b: global<f32>[64]) launch(grid = [1], block = [32]) {
        for i in 0..64 { copy b[0..32] <- a[i, 0..32] by cta; }
    }";
    for target in TARGETS {
        let ir = made(rows, target.name).made.expect("made").llvm_ir;
        assert!(ir.contains("5242880000") || ir.contains("2621440000"), "{}: {ir}", target.name);
        assert!(wide_addresses(&ir, target), "{}: {ir}", target.name);
        let ir = made(far, target.name).made.expect("made").llvm_ir;
        assert!(wide_addresses(&ir, target), "{}: {ir}", target.name);
    }
}

/// No product or shift in an address of device memory is computed in 32 bits.
fn wide_addresses(ir: &str, _: &Target) -> bool {
    let narrow = |l: &str| l.contains("getelementptr") && l.contains("addrspace(1)") && l.contains(", i32 ");
    !ir.lines().any(narrow)
}

#[test]
fn report_3_9_extents_need_not_be_powers_of_two() {
    for target in BOTH {
        for n in [1, 3, 33, 96, 192, 257] {
            let text = format!(
                "kernel k(a: global<f16>[{n}, 33], b: global<f16>[{n}, 33]) launch(grid = [1], block = [96]) {{
                    shared s: f16[{n}, 33];
                    copy s <- a by cta;
                    sync cta;
                    copy b <- s by cta;
                }}
                run k {{ a = random(seed = 1); expect b == a; }}"
            );
            let compiled = run(&text, target);
            assert!(!chosen(&compiled).contains(&"fallback"), "{n} on {target}");
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

#[test]
fn report_1_16_1_17_and_2_11_what_has_no_instruction_of_its_own_is_right() {
    // Padded rows, columns of 16-bit elements, one element of 2 bytes a lane: nothing that is narrower or laid out
    // otherwise than an instruction wants may take it.
    for target in ["gfx942", "gfx950", "sm_80", "sm_90a"] {
        for layout in ["", " layout S[(64,64):(72,1)]", " layout S[(64,64):(1,64)]", " layout S[(64,64):(1,66)]"] {
            let text = format!(
                "kernel k(a: global<f16>[64, 64], b: global<f16>[64, 64]) launch(grid = [1], block = [128]) {{
                    shared tile: f16[64, 64]{layout};
                    local r: f16[64, 64] layout S[(64,64):(1@tx,1)];
                    t = copy_async tile <- a by cta;
                    wait t;
                    sync cta;
                    if thread.x < 64 {{ copy r <- tile by cta; copy b <- r by cta; }}
                }}
                run k {{ a = random(seed = 1); expect b == a; }}"
            );
            run(&text, target);
        }
        let narrow = "kernel k(a: global<f16>[64], b: global<f16>[64]) launch(grid = [1], block = [64]) {
            shared s: f16[64];
            t = copy_async s <- a by cta, vec = 16;
            wait t;
            sync cta;
            copy b <- s by cta;
        }
        run k { a = random(seed = 1); expect b == a; }";
        run(narrow, target);
    }
}

#[test]
fn report_5_3_examples_spill_nothing() {
    for example in crate::common::examples() {
        for target in example.targets() {
            let asm = made(&example.text, target.name).made.and_then(|made| made.asm).expect("asked for");
            let place = format!("{} on {}", example.name, target.name);
            match target.vendor {
                Vendor::Amd => {
                    let counts: Vec<&str> =
                        asm.lines().map(str::trim).filter(|l| l.contains("_spill_count:")).collect();
                    assert!(counts.len() >= 2 && counts.iter().all(|l| l.ends_with(" 0")), "{place}: {counts:?}");
                    assert!(!asm.contains("scratch_"), "{place}");
                }
                Vendor::Nvidia => assert!(!asm.contains("__local_depot"), "{place}: registers in local memory"),
            }
        }
    }
}

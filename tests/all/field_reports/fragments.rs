//! Section 1: fragments, `.trans`, swizzles, strides.

use tilewright::device::accesses;
use tilewright_testing::{assert_text_snapshot, chosen, show};

use super::{BOTH, fragment, made, run};
use crate::common::root;

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

#[test]
fn report_1_16_1_17_and_2_11_what_has_no_instruction_of_its_own_is_right() {
    // Padded rows, columns of 16-bit elements, one element of 2 bytes a lane: nothing that is narrower or laid out
    // otherwise than an instruction wants may take it.
    for target in ["gfx1250", "gfx942", "gfx950", "sm_80", "sm_90a"] {
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

/// The accesses of the kernel `text`, those of `op` only, as tables.
fn tables(text: &str, target: &str, op: &str) -> String {
    let compiled = run(text, target);
    let module_run = compiled.tile.runs().next().expect("a run block");
    let all = accesses(&compiled, module_run, &|_: &str| Err("no files".to_owned())).expect("runs");
    let mine: Vec<String> = all.iter().filter(|a| a.op == op).map(tilewright_lanes::Access::table).collect();
    assert!(!mine.is_empty(), "{op} on {target}");
    mine.join("\n")
}

#[test]
fn report_1_4_lanes_and_registers_of_each_matrix_variant_are_shown() {
    let through = |pairs: i64, tile: &str| {
        let columns = 8 * pairs;
        format!(
            "kernel k(a: global<f16>[8, {columns}], b: global<f16>[8, {columns}])
                launch(grid = [1], block = [32], warp = 32)
            {{
                shared tile: f16[8, {columns}] layout {tile};
                local frag: f16[8, {columns}] layout S[(8,{pairs},4,2):(4@laneid,2,1@laneid,1)];
                copy tile <- a by warp;
                sync cta;
                copy frag <- tile by warp;
                sync cta;
                copy tile <- frag by warp;
                sync cta;
                copy b <- tile by warp;
            }}
            run k {{ a = random(seed = 1); expect b == a; }}"
        )
    };
    let rows = |pairs: i64| through(pairs, &format!("S[(8,{0}):({0},1)]", 8 * pairs));
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("tests/snapshots/lanes"));
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| {
        for pairs in [1, 2, 4] {
            for op in ["nv.ldmatrix", "nv.stmatrix"] {
                assert_text_snapshot!(format!("{op}.x{pairs}"), &tables(&rows(pairs), "sm_90a", op));
            }
        }
        let turned = through(2, "S[(8,16):(1,8)]");
        assert_text_snapshot!("nv.ldmatrix.x2.trans", &tables(&turned, "sm_90a", "nv.ldmatrix"));
        let swizzled = through(4, "S[(8,32):(32,1)] swizzle(3,1,2)");
        assert_text_snapshot!("nv.ldmatrix.x4.swizzled", &tables(&swizzled, "sm_90a", "nv.ldmatrix"));
        // The same tile by the vector loop, where there is no such instruction.
        assert_text_snapshot!("reg.x2.gfx950", &tables(&rows(2), "gfx950", "vec.copy"));
    });
}

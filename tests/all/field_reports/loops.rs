//! Sections 2, 3 and 5: vector loops, elements below a byte, tails, masks, sizes; registers.

use tilewright::{Compiled, Options};
use tilewright_target::{TARGETS, Vendor};
use tilewright_testing::{chosen, compile};

use super::{BOTH, errors, made, run};

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
fn report_2_5_threads_with_whole_bytes_of_their_own_copy_odd_rows() {
    let text = |pitch: u32, by: &str, region: &str| {
        format!(
            "kernel k(a: global<i4>[32, 3] layout S[(32,3):({pitch},1)], b: global<i4>[32, 3] layout S[(32,3):({pitch},1)])
                 launch(grid = [1], block = [32], warp = 32) {{
                local r: i4[32, 3] layout S[(32,3):(1@laneid,1)];
                copy r <- a by warp;
                sync cta;
                copy b[{region}] <- {} by {by};
            }}
            run k {{ a = random(seed = 1); expect b == a; }}",
            if by == "warp" { "r" } else { "a[thread.x, 0..3]" }
        )
    };
    for target in BOTH {
        for (by, region) in [("warp", "0..32, 0..3"), ("thread", "thread.x, 0..3")] {
            run(&text(4, by, region), target);
            let said = errors(&text(3, by, region), target);
            let said = format!("{} {}", said[0].message, said[0].help.join(" "));
            assert!(said.contains("would be written by two threads: 0 and 1 at element"), "{by}: {said}");
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
fn report_3_7_tails_are_guarded_not_sent_out_of_range() {
    // A buffer access that relies on its range check loses it when an offset wraps. None is emitted: lanes beyond the end
    // are masked off, and their addresses are whole 64-bit ones.
    let text = "kernel k(a: global<f32>[m, 7], b: global<f32>[m, 7]) where(m: u64) launch(grid = [1], block = [64]) {
        shared s: f32[61];
        copy b <- a by cta;
        copy s <- a[0..61, 3] by cta;
        sync cta;
        copy b[0..61, 2] <- s by cta;
    }
    run k { m = 100; a = random(seed = 1); }";
    for target in ["gfx1250", "gfx942", "gfx950"] {
        run(text, target);
        let asm = made(text, target).made.and_then(|made| made.asm).expect("asked for");
        assert!(!asm.contains("buffer_load") && !asm.contains("buffer_store"), "{target}: {asm}");
        assert!(asm.contains("exec"), "{target}: no lane is masked off");
    }
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
        assert!(wide_addresses(&ir), "{}: {ir}", target.name);
        let ir = made(far, target.name).made.expect("made").llvm_ir;
        assert!(wide_addresses(&ir), "{}: {ir}", target.name);
    }
}

/// No product or shift in an address of device memory is computed in 32 bits.
fn wide_addresses(ir: &str) -> bool {
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

#[test]
fn report_5_3_more_registers_than_there_are_is_told() {
    let text = |rows: u32, columns: u32| {
        format!(
            "kernel k(a: global<f32>[{rows}, {columns}], b: global<f32>[{rows}, {columns}])
                launch(grid = [1], block = [{rows}])
            {{
                local r: f32[{rows}, {columns}] layout S[({rows},{columns}):(1@tx,1)];
                copy r <- a by cta;
                copy b <- r by cta;
            }}
            run k {{ a = random(seed = 1); expect b == a; }}"
        )
    };
    let told = |text: &str, target: &str| {
        let warnings = run(text, target).warnings;
        warnings.iter().find(|d| d.code.to_string() == "TW0045").map(|d| d.message.clone())
    };
    // 255 registers a thread on NVIDIA, and 65 536 for all; 512 a lane on AMD, for all waves of a SIMD.
    for (rows, columns, target, fits) in [
        (32, 255, "sm_90a", true),
        (32, 256, "sm_90a", false),
        (512, 128, "sm_80", true),
        (512, 129, "sm_80", false),
        (256, 512, "gfx950", true),
        (256, 516, "gfx950", false),
        (512, 260, "gfx942", false),
    ] {
        let said = told(&text(rows, columns), target);
        assert_eq!(said.is_none(), fits, "{rows} x {columns} on {target}: {said:?}");
        assert!(said.is_none_or(|s| s.contains(&format!("{columns} registers"))));
    }
}

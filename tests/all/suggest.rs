//! Suggested layouts hold when they are pasted: conflicts are gone or fewer, the promised variant carries the copy, lanes
//! and reference still agree, and no other copy got dearer. Where there is nothing to gain nothing is suggested.

use tilewright::artifact::CopyReport;
use tilewright::{Compiled, Options};
use tilewright_testing::{check_copy_matches_reference, chosen};

fn run(text: &str, target: &str) -> Compiled {
    check_copy_matches_reference(text, target, &Options { suggest: true, ..Options::default() })
}

/// A fragment of 8 rows is read from a tile of `columns` columns with this layout.
fn fragment(columns: u32, layout: &str) -> String {
    let pairs = columns / 8;
    format!(
        "kernel k(a: global<f16>[8, {columns}], b: global<f16>[8, {columns}])
            launch(grid = [1], block = [32], warp = 32)
        {{
            shared tile: f16[8, {columns}]{layout};
            local frag: f16[8, {columns}] layout S[(8,{pairs},4,2):(4@laneid,2,1@laneid,1)];
            copy tile <- a by warp;
            sync cta;
            copy frag <- tile by warp;
            copy b <- frag by warp;
        }}
        run k {{ a = random(seed = 1); expect b == a; }}"
    )
}

/// Each lane reads a row of 32 elements.
const ROWS: &str =
    "kernel k(a: global<f32>[32, 32], b: global<f32>[32, 32]) launch(grid = [1], block = [32], warp = 32) {
    shared tile: f32[32, 32];
    local r: f32[32, 32] layout S[(32,32):(1@laneid,1)];
    copy tile <- a by warp;
    sync cta;
    copy r <- tile by warp;
    copy b <- r by warp;
}
run k { a = random(seed = 1); expect b == a; }";

/// What is suggested for a copy.
fn suggested(compiled: &Compiled, copy: usize) -> &[String] {
    &compiled.report.copies[copy].suggest
}

/// The text with the suggested layout in the place of what `tile` has.
fn pasted(text: &str, suggestion: &str) -> String {
    let layout = suggestion.strip_prefix("`tile`: `").and_then(|rest| rest.split('`').next()).expect("a layout");
    assert!(layout.starts_with("layout S["), "{suggestion}");
    let begin = text.find("shared tile").expect("declared");
    let close = begin + text[begin..].find(']').expect("a shape") + 1;
    let end = begin + text[begin..].find(';').expect("an end");
    format!("{} {layout}{}", &text[..close], &text[end..])
}

fn ways(compiled: &Compiled, copy: usize) -> u64 {
    compiled.report.copies[copy].conflicts.iter().map(|c| c.ways).max().unwrap_or(1)
}

/// Predicted picoseconds of the chosen variant of each copy.
fn costs(compiled: &Compiled) -> Vec<u64> {
    let chosen = |copy: &CopyReport| {
        let by = copy.candidates.iter().find(|c| Some(&c.variant) == copy.chosen.as_ref());
        by.and_then(|c| c.cost).map_or(0, |cost| cost.picoseconds)
    };
    compiled.report.copies.iter().map(chosen).collect()
}

/// Pastes each suggestion for a copy and checks that it holds; the variants that then carry the copies.
fn holds(text: &str, target: &str, copy: usize) -> Vec<Vec<&'static str>> {
    let before = run(text, target);
    let all = suggested(&before, copy);
    assert!(!all.is_empty(), "nothing is suggested on {target}: {:#?}", before.report.copies[copy]);
    let mut carried = Vec::new();
    for suggestion in all {
        let after = run(&pasted(text, suggestion), target);
        for (i, (old, new)) in costs(&before).into_iter().zip(costs(&after)).enumerate() {
            assert!(new <= old, "copy {i}: {new} ps after {old} ps with {suggestion}");
        }
        if let Some(old) = suggestion.split("removes ").nth(1).and_then(|rest| rest.split("-way").next()) {
            assert_eq!((ways(&before, copy).to_string().as_str(), ways(&after, copy)), (old, 1), "{suggestion}");
        }
        if let Some(variant) = suggestion.split("lets `").nth(1).and_then(|rest| rest.split('`').next()) {
            assert_eq!(chosen(&after)[copy], variant, "{suggestion}");
        }
        let said = ["removes ", "lets `", "makes "].iter().any(|word| suggestion.contains(word));
        assert!(said && (ways(&after, copy) < ways(&before, copy) || costs(&after)[copy] < costs(&before)[copy]));
        carried.push(chosen(&after));
    }
    carried
}

#[test]
fn rows_of_fragments_in_one_bank() {
    // 128-byte rows: all eight rows of a fragment begin in bank 0.
    let text = fragment(64, "");
    let before = run(&text, "sm_90a");
    assert_eq!((ways(&before, 1), chosen(&before)[1]), (8, "ldstmatrix"));
    let carried = holds(&text, "sm_90a", 1);
    assert!(carried.len() == 2 && carried.iter().all(|all| all[1] == "ldstmatrix"), "{carried:?}");
    let all = suggested(&before, 1);
    assert!(all[0].starts_with("`tile`: `layout S[(8,64):(72,1)]` removes 8-way bank conflicts"), "{all:#?}");
    assert!(all[1].starts_with("`tile`: `layout S[(8,64):(64,1)] swizzle(3,3,3)` removes 8-way"), "{all:#?}");
    let table = tilewright::report::table(&before, "k.tile");
    assert!(table.contains("shared memory: `tile` with 8-way bank conflicts\n"), "{table}");
    assert!(table.contains("    suggest: `tile`: `layout S[(8,64):(72,1)]` removes"), "{table}");
}

#[test]
fn shorter_rows_have_a_shorter_swizzle() {
    let text = fragment(32, "");
    assert_eq!(ways(&run(&text, "sm_90a"), 1), 4);
    holds(&text, "sm_90a", 1);
    // Padded rows would do, too, but the copy that fills the tile would then have conflicts.
    let compiled = run(&text, "sm_90a");
    let all = suggested(&compiled, 1);
    assert!(all.len() == 1 && all[0].contains("`layout S[(8,32):(32,1)] swizzle(3,2,3)` removes 4-way"), "{all:#?}");
}

#[test]
fn rows_that_are_not_aligned_keep_the_matrix_instruction_away() {
    let text = fragment(64, " layout S[(8,64):(68,1)]");
    let before = run(&text, "sm_90a");
    assert_eq!(chosen(&before)[1], "reg");
    let carried = holds(&text, "sm_90a", 1);
    assert!(carried.iter().all(|all| all[1] == "ldstmatrix"), "{carried:?}");
    assert!(suggested(&before, 1)[0].contains("lets `ldstmatrix` carry it"), "{:?}", suggested(&before, 1));
}

#[test]
fn a_swizzle_of_small_atoms_keeps_the_matrix_instruction_away() {
    let text = fragment(64, " layout S[(8,64):(64,1)] swizzle(2,3,3)");
    assert_eq!(chosen(&run(&text, "sm_90a"))[1], "reg");
    let carried = holds(&text, "sm_90a", 1);
    assert!(carried.iter().all(|all| all[1] == "ldstmatrix"), "{carried:?}");
}

#[test]
fn rows_read_by_neighbouring_lanes() {
    for target in ["gfx1250", "gfx942", "gfx950", "sm_80", "sm_90a"] {
        assert!(ways(&run(ROWS, target), 1) > 1, "{target}");
        holds(ROWS, target, 1);
    }
}

#[test]
fn what_is_good_stays() {
    for layout in [" layout S[(8,64):(72,1)]", " layout S[(8,64):(64,1)] swizzle(3,3,3)"] {
        let compiled = run(&fragment(64, layout), "sm_90a");
        assert!(compiled.report.copies.iter().all(|copy| copy.suggest.is_empty()), "{:#?}", compiled.report.copies);
        assert!(compiled.report.copies.iter().flat_map(|copy| &copy.conflicts).all(|c| c.ways == 1));
    }
}

#[test]
fn nothing_is_tried_unless_it_is_asked_for() {
    let compiled = check_copy_matches_reference(ROWS, "sm_90a", &Options::default());
    assert!(compiled.report.copies.iter().all(|copy| copy.suggest.is_empty()));
}

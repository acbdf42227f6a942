//! How large the posts of copy engines are, beside mori's compiled by clang.
//!
//! mori's figures are the table "Code size" of the golden file's README: its kernels are like the document's example, the
//! size and the queue known at run time only. Ours are compiled twice: for the same, and with a constant size and queue,
//! where half of mori's instructions is the limit (and 110 for a put of lanes with one queue). The table is of gfx950; for
//! gfx1250 the README has the registers of four kernels; instructions are held to the same limits with a tenth more for
//! `s_delay_alu` and `s_wait_xcnt`, which that chip has besides. Its waves have 106 SGPRs whatever a kernel uses.

use tilewright::backend::Want;
use tilewright::{Options, compile_text};
use tilewright_target::{GFX950, GFX1250, Target};
use tilewright_testing::{assert_text_snapshot, show};

use crate::common::root;

/// mori's instructions, SGPRs and VGPRs of a kernel.
struct Theirs(&'static str, usize, usize, usize);

/// The rows of the README's table, `empty_kernel` left out.
const THEIRS: &[Theirs] = &[
    Theirs("put_thread_Independent_s00", 853, 37, 46),
    Theirs("put_thread_Independent_s10", 959, 43, 46),
    Theirs("put_thread_Independent_s01", 969, 43, 46),
    Theirs("put_thread_Independent_s11", 1080, 46, 46),
    Theirs("put_thread_Independent_s00_agg", 665, 41, 40),
    Theirs("put_thread_Independent_s11_percopy", 1072, 46, 46),
    Theirs("put_thread_SameQueue_s00", 524, 28, 42),
    Theirs("put_thread_SameQueue_s10", 595, 31, 42),
    Theirs("put_thread_SameQueue_s01", 606, 32, 42),
    Theirs("put_thread_SameQueue_s11", 683, 34, 42),
    Theirs("put_thread_SameQueue_s00_agg", 385, 26, 36),
    Theirs("put_thread_SameQueue_s11_percopy", 675, 34, 42),
    Theirs("put_warp_s00", 869, 42, 46),
    Theirs("put_warp_s10", 976, 47, 48),
    Theirs("put_warp_s01", 986, 47, 48),
    Theirs("put_warp_s11", 1097, 49, 48),
    Theirs("put_warp_s00_agg", 685, 43, 40),
    Theirs("put_warp_s11_percopy", 1089, 49, 48),
    Theirs("put_block_s00", 865, 42, 48),
    Theirs("put_block_s10", 971, 48, 48),
    Theirs("put_block_s01", 981, 49, 48),
    Theirs("put_block_s11", 1092, 51, 46),
    Theirs("put_block_s00_agg", 681, 43, 42),
    Theirs("put_block_s11_percopy", 1084, 51, 46),
    Theirs("get_thread_SameQueue_s00", 524, 28, 42),
    Theirs("get_thread_SameQueue_s10", 596, 31, 42),
    Theirs("get_thread_SameQueue_s01", 607, 32, 42),
    Theirs("get_thread_SameQueue_s11", 684, 34, 42),
    Theirs("get_thread_SameQueue_s00_agg", 386, 26, 36),
    Theirs("get_thread_SameQueue_s11_percopy", 676, 34, 42),
    Theirs("commit_thread", 42, 16, 8),
    Theirs("quietQueue_thread", 38, 16, 6),
    Theirs("quietQueue_block", 42, 16, 6),
    Theirs("quiet_warp", 46, 17, 10),
    Theirs("waitSignal_thread", 30, 16, 4),
];

/// SGPRs and VGPRs on gfx1250 (README, below the table).
const THEIRS_GFX1250: &[(&str, usize, usize)] = &[
    ("put_thread_SameQueue_s00", 25, 40),
    ("put_thread_SameQueue_s11", 33, 40),
    ("put_thread_Independent_s00", 23, 44),
    ("put_thread_Independent_s11", 32, 49),
];

/// Most instructions of a put of lanes with one queue, of a constant size, without signals.
const SAME_QUEUE_PUT: usize = 110;

/// The op that the name of a row stands for, with what is known at compile time, or not.
fn op(name: &str, constant: bool) -> String {
    let mut words = name.split('_');
    let (call, scope) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (size, queue) = if constant { ("4096", "queue = 1") } else { ("size", "q") };
    match call {
        "commit" => return format!("sdma.commit(peer, {queue}, coop = {scope});"),
        "quietQueue" => return format!("sdma.quiet_queue(peer, {queue}, coop = {scope});"),
        "quiet" => return format!("sdma.quiet(peer, coop = {scope});"),
        "waitSignal" => return format!("sdma.wait_signal(peer, size, {queue});"),
        _ => {}
    }
    let has = |word: &str| name.split('_').any(|w| w == word);
    let mode = if has("SameQueue") { "same_queue" } else { "independent" };
    let (local, remote) = (has("s10") || has("s11"), has("s01") || has("s11"));
    let (to, from) = if call == "put" { ("@peer", "") } else { ("", "@peer") };
    format!(
        "sdma.{call}(recv{to}![thread.x * {size}], send{from}![thread.x * {size}], peer, {size}, {queue}, coop = {scope}, \
         mode = {mode}, local_signal = {local}, remote_signal = {remote}, aggregate = {}, signal_per_copy = {});",
        has("agg"),
        has("percopy")
    )
}

fn kernel(name: &str, op: &str) -> String {
    format!(
        "kernel {name}(comm: devcomm, recv: window<u8>[1099511627776], send: window<u8>[1099511627776], size: i64, q: i32, \
         peer: lsa_rank) launch(grid = [1], block = [256]) {{ {op} }}\n"
    )
}

/// Instructions, SGPRs and VGPRs of a kernel; spills and scratch are refused.
fn measure(asm: &str, name: &str) -> [usize; 3] {
    let start = asm.find(&format!("\n{name}:")).unwrap_or_else(|| panic!("no {name}"));
    let body = asm[start + 1..].split("\t.section").next().unwrap_or_default();
    let lines = body.lines().map(|line| line.split(';').next().unwrap_or_default().trim());
    let count = lines.filter(|line| !line.is_empty() && !line.starts_with('.') && !line.ends_with(':')).count();
    let about = asm.lines().skip_while(|line| {
        let mut words = line.split_whitespace();
        !(line.starts_with("    .name:") && words.nth(1) == Some(name))
    });
    let about: Vec<&str> = about.collect();
    let number = |key: &str| -> usize {
        let line = about.iter().find(|line| line.trim_start().starts_with(key)).unwrap_or_else(|| panic!("{key}"));
        line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{line}"))
    };
    for key in [".sgpr_spill_count:", ".vgpr_spill_count:", ".private_segment_fixed_size:"] {
        assert_eq!(number(key), 0, "{name}: {key}");
    }
    [count, number(".sgpr_count:"), number(".vgpr_count:")]
}

fn assembly(target: &'static Target, constant: bool) -> String {
    let text: String = THEIRS.iter().map(|row| kernel(row.0, &op(row.0, constant))).collect();
    let options = Options { want: Want::Asm, ..Options::default() };
    let compiled = compile_text(&text, target, &options).unwrap_or_else(|all| panic!("{all:#?}"));
    compiled.made.and_then(|made| made.asm).expect("assembly")
}

#[test]
fn posts_are_smaller_than_moris() {
    let (constant, dynamic) = (assembly(&GFX950, true), assembly(&GFX950, false));
    println!("{:36} {:>18} {:>18} {:>18}", "instructions/SGPRs/VGPRs", "mori", "constant", "dynamic");
    let mut wrong = Vec::new();
    for Theirs(name, count, sgprs, vgprs) in THEIRS {
        let (fixed, open) = (measure(&constant, name), measure(&dynamic, name));
        let show = |[count, sgprs, vgprs]: [usize; 3]| format!("{count}/{sgprs}/{vgprs}");
        println!("{name:36} {:>18} {:>18} {:>18}", show([*count, *sgprs, *vgprs]), show(fixed), show(open));
        let is_copy = name.starts_with("put") || name.starts_with("get");
        let mut most = if is_copy { count / 2 } else { *count };
        if name.starts_with("put_thread_SameQueue_s00") {
            most = SAME_QUEUE_PUT;
        }
        for (how, ours, most) in [("constant", fixed, most), ("dynamic", open, *count)] {
            if ours[0] > most || ours[1] >= 102 || ours[2] > *vgprs {
                wrong.push(format!("{name}, {how}: {ours:?}, at most {most} instructions, 101 SGPRs, {vgprs} VGPRs"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn posts_are_no_larger_on_gfx1250() {
    let (constant, dynamic) = (assembly(&GFX1250, true), assembly(&GFX1250, false));
    println!("{:36} {:>18} {:>18} {:>18}", "instructions/SGPRs/VGPRs", "mori", "constant", "dynamic");
    let mut wrong = Vec::new();
    for Theirs(name, count, ..) in THEIRS {
        let (fixed, open) = (measure(&constant, name), measure(&dynamic, name));
        let show = |[count, sgprs, vgprs]: [usize; 3]| format!("{count}/{sgprs}/{vgprs}");
        let theirs = THEIRS_GFX1250.iter().find(|row| row.0 == *name);
        let moris = theirs.map_or(String::new(), |(_, sgprs, vgprs)| format!("-/{sgprs}/{vgprs}"));
        println!("{name:36} {moris:>18} {:>18} {:>18}", show(fixed), show(open));
        let vgprs = theirs.map_or(49, |row| row.2);
        let is_copy = name.starts_with("put") || name.starts_with("get");
        let mut most = if is_copy { count / 2 } else { *count };
        if name.starts_with("put_thread_SameQueue_s00") {
            most = SAME_QUEUE_PUT;
        }
        for (how, ours, most) in [("constant", fixed, most), ("dynamic", open, *count)] {
            // A handful of instructions has more of these in proportion.
            let most = most + (most / 10).max(8);
            if ours[0] > most || ours[1] > 106 || ours[2] > vgprs {
                wrong.push(format!("{name}, {how}: {ours:?}, at most {most} instructions, 106 SGPRs, {vgprs} VGPRs"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The posts whose assembly is held by snapshots, with constant sizes.
const SHOWN: &[(&str, &str)] = &[
    (
        "put_same_queue",
        "sdma.put(recv@peer![thread.x * 4096], send![thread.x * 4096], peer, 4096, queue = 1, mode = same_queue);",
    ),
    (
        "put_independent",
        "let p = lsa(thread.x % 8); sdma.put(recv@p![thread.x * 4096], send![thread.x * 4096], p, 4096, queue = 1);",
    ),
    (
        "post_wait_mem_put_ptr",
        "if thread.x < 8 { let p = lsa(thread.x); sdma.post_wait_mem_put_ptr(ready![thread.x], epoch, \
         recv@p![index(me) * 4096], send![thread.x * 4096], p, 4096, queue = 1, remote_signal = true); }",
    ),
    (
        "put_broadcast",
        "sdma.put_broadcast(recv@peer![0], recv![8192], send![0], peer, me, 4096, queue = 1, coop = warp, \
         remote_signal = true);",
    ),
];

#[test]
fn assembly_of_posts() {
    for ((name, op), target) in SHOWN.iter().flat_map(|shown| [(shown, &GFX950), (shown, &GFX1250)]) {
        let text = format!(
            "kernel {name}(comm: devcomm, recv: window<u8>[1048576], send: window<u8>[1048576], ready: window<u32>[8], \
             epoch: u32, peer: lsa_rank) launch(grid = [1], block = [64]) {{ {op} }}"
        );
        let options = Options { want: Want::Asm, ..Options::default() };
        let compiled = compile_text(&text, target, &options).unwrap_or_else(|all| panic!("{name}: {all:#?}"));
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(root().join("tests/snapshots/sdma"));
        settings.set_prepend_module_to_snapshot(false);
        settings.bind(|| assert_text_snapshot!(format!("{name}.asm.{}", target.name), show::asm(&compiled)));
    }
}

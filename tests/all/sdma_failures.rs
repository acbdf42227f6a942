//! docs/sdma-failure-modes.md: the rows that no other test is about, and that every test the page names is there.

use std::path::Path;

use tilewright::backend::Want;
use tilewright::checked::{Trial, check};
use tilewright::device::{Device, Reference, Sim};
use tilewright::{Options, compile_text};
use tilewright_ir::interp::DEFAULT_MAX_STEPS;
use tilewright_ir::{Code, Diagnostic};
use tilewright_target::GFX950;

use crate::common::root;

fn run(text: &str, device: &dyn Device, seed: u64, alone: bool) -> Result<u64, Diagnostic> {
    let options = Options { want: Want::finished(&GFX950), file: Some("k.tile".to_owned()), ..Options::default() };
    let compiled = compile_text(text, &GFX950, &options).unwrap_or_else(|all| panic!("{all:#?}\n{text}"));
    let run = compiled.tile.runs().next().expect("a run block");
    let npy = |_: &str| Err("no files here".to_string());
    let trial = Trial { run, ranks: None, seed, max_steps: DEFAULT_MAX_STEPS, npy: &npy, alone };
    check(&compiled, device, &trial).map(|checked| checked.bytes).map_err(|mut all| all.remove(0))
}

const SIM: Sim = Sim { checks: true };

#[test]
fn a_signal_on_another_queue_than_its_data_is_a_race() {
    let text = |queue: u32| {
        format!(
            "kernel k(comm: devcomm, a: window<u32>[64], b: window<u32>[64], o: global<u32>[64])
                launch(grid = [1], block = [64])
            {{
                let next = (me + 1) % comm.lsa_size;
                let prev = (me + comm.lsa_size - 1) % comm.lsa_size;
                sdma.put(b@next![0], a![0], next, 256, queue = 0, coop = block);
                sdma.signal(next, queue = {queue}, coop = block);
                sdma.wait_signal(prev, 1, queue = {queue});
                fence.acquire(scope = system);
                let x = b![thread.x];
                o![thread.x] = x;
                sdma.quiet(next, coop = block);
            }}
            run k {{ ranks = 2; a = iota; b = 0; let prev = (rank + ranks - 1) % ranks; expect o == a@prev; }}"
        )
    };
    for seed in 0..10 {
        run(&text(0), &SIM, seed, true).expect("one queue works in order");
    }
    let found: Vec<Diagnostic> = (0..10).filter_map(|seed| run(&text(1), &SIM, seed, true).err()).collect();
    assert!(found.iter().any(|d| d.code == Code::RACE && d.message.contains("`b` of rank")), "{found:#?}");
}

/// A fault that an engine finds names the line, wave and lane that posted the packet.
#[test]
fn a_fault_of_an_engine_is_at_its_post() {
    for (post, words) in [
        ("sdma.put(b@next![60], a![0], next, 256, queue = 0, coop = block);", "`b` of rank"),
        ("sdma.put(b@next![0], a![0], me, 256, queue = 0, coop = block);", "it may only be"),
        ("if thread.x == 7 { sdma.put(b@next![0], a![0], next, 65536, queue = 0); }", "`a` of rank"),
    ] {
        let text = format!(
            "kernel k(comm: devcomm, a: window<u32>[64], b: window<u32>[64]) launch(grid = [1], block = [64]) {{
                let next = (me + 1) % comm.lsa_size;
                {post}
                sdma.quiet(next, coop = block);
            }}
            run k {{ ranks = 3; a = iota; b = 0; }}"
        );
        for seed in 0..4 {
            let found = run(&text, &SIM, seed, true).expect_err(post);
            assert!(found.message.contains(words), "{found:#?}");
            assert_eq!(found.span.line_in(&text), 3, "{found:#?}");
            let lane = if post.starts_with("if") { "lane 7," } else { "lane 0," };
            assert!(found.label.contains("kernel k") && found.label.contains(lane), "{found:#?}");
        }
    }
}

#[test]
fn a_flag_that_never_comes_is_a_deadlock_in_words() {
    let text = "kernel k(comm: devcomm, a: window<u32>[64], b: window<u32>[64], flag: window<u32>[1])
            launch(grid = [1], block = [64])
        {
            let next = (me + 1) % comm.lsa_size;
            copy b@next <- a by cta, after flag[0] == 3;
        }
        run k { ranks = 2; a = iota; flag = 2; }";
    let found = run(text, &Reference, 0, false).expect_err("nobody sets it");
    assert_eq!(found.code, Code::DEADLOCK);
    assert!(found.message.contains("`flag[0]`"), "{found:#?}");
    let found = run(text, &SIM, 0, true).expect_err("nobody sets it");
    assert_eq!(found.code, Code::DEADLOCK);
    let said = format!("{} {}", found.message, found.help.join(" "));
    assert!(said.contains("`flag` of rank"), "the parked queue and what it polls: {said}");
}

#[test]
fn copies_of_zero_bytes_notify_whatever_carries_them() {
    let text = |copy: &str, n: u32| {
        format!(
            "kernel k(comm: devcomm, a: window<u32>[64], b: window<u32>[64], flag: window<u32>[1]) where(n: u64)
                launch(grid = [1], block = [64])
            {{
                signal s;
                let next = (me + 1) % comm.lsa_size;
                let prev = (me + comm.lsa_size - 1) % comm.lsa_size;
                {copy}
                wait s from prev;
            }}
            run k {{ ranks = 3; n = {n}; a = iota; b = 0; flag = 3; let prev = (rank + ranks - 1) % ranks;
                     expect b[i] == a@prev[i] for i in 0..n; }}"
        )
    };
    for copy in [
        "copy b@next[0..n] <- a[0..n] by cta, notify s;",
        "copy b@next[0..n] <- a[0..n] by cta, notify s, after flag[0] == 3;",
        "t = copy_async b@next[0..n] <- a[0..n] by cta, notify s, after flag[0] == 3; wait t;",
    ] {
        for n in [0, 1, 64] {
            for seed in 0..4 {
                let done = run(&text(copy, n), &SIM, seed, false);
                assert!(done.is_ok(), "{copy}, n = {n}, seed {seed}: {done:#?}");
            }
        }
    }
}

#[test]
fn branches_of_one_wave_run_in_the_order_of_the_text() {
    let text = |body: &str| {
        format!(
            "kernel k(comm: devcomm, a: window<u32>[64], b: window<u32>[64], flag: window<u32>[1]) launch(grid = [1], block = [64]) {{
                signal s;
                let next = (me + 1) % comm.lsa_size;
                let prev = (me + comm.lsa_size - 1) % comm.lsa_size;
                {body}
            }}
            run k {{ ranks = 2; a = 9; flag = 0; }}"
        )
    };
    for body in [
        "if thread.x == 26 { copy b@next <- a by thread, notify s; } if thread.x == 28 { wait s from prev by thread; }",
        "if thread.x == 3 { copy b@next <- a by thread, notify s; } else { wait s from prev by thread; }",
        "if thread.x == 9 { copy flag@next[0] <- a[9] by thread; }
         if thread.x == 3 { copy b@next <- a by thread, after flag[0] == 9; }",
    ] {
        for seed in 0..6 {
            let done = run(&text(body), &SIM, seed, false);
            assert!(done.is_ok(), "{body}, seed {seed}: {done:#?}");
        }
    }
}

/// Every `fn name` of the tests in a folder, in its text.
fn all_tests(folder: &Path, out: &mut String) {
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        let name = entry.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if entry.is_dir() && !["build", "target", "snapshots"].contains(&name.as_str()) && !name.starts_with('.') {
            all_tests(&entry, out);
        } else if name.ends_with(".rs") {
            out.push_str(&std::fs::read_to_string(&entry).expect("UTF-8"));
        }
    }
}

#[test]
fn every_test_that_the_page_names_is_there() {
    let page = std::fs::read_to_string(root().join("docs/sdma-failure-modes.md")).expect("UTF-8");
    let mut code = String::new();
    for folder in ["tests", "ir", "runtime/src"] {
        all_tests(&root().join(folder), &mut code);
    }
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| symptom"));
    let mut count = 0;
    for row in rows {
        let tests = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        let names: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "no test: {row}");
        for name in names {
            assert!(code.contains(&format!("fn {name}()")), "there is no test `{name}`: {row}");
            count += 1;
        }
    }
    assert!(count >= 20, "{count}");
}

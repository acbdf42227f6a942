//! Kernels as text, run on several seeds: results, and every fault that the interpreter reports.

use super::*;
use crate::diag::Code;

/// Runs every run block of a source with one seed.
fn run_seed(source: &str, seed: u64) -> Result<u64, Diagnostic> {
    let module = crate::text::parse(source).into_result().expect("parses");
    let mut bytes = 0;
    for r in module.runs() {
        let kernel = module.kernel(r.kernel.as_str()).expect("kernel");
        let mut input = prepare(r, kernel, &|_| Err("no file".to_owned())).map_err(|mut d| d.remove(0))?;
        input.seed = seed;
        input.max_steps = 100_000;
        let output = run(kernel, 32, &input)?;
        bytes += check_expects(r, kernel, &input, &output)?;
    }
    Ok(bytes)
}

#[track_caller]
fn passes(source: &str, bytes: u64) {
    for seed in 0..20 {
        assert_eq!(run_seed(source, seed).expect("runs"), bytes, "seed {seed}");
    }
}

/// Fails on every seed with this code; the message of the first holds `text`, the span starts at the first `marked` text.
#[track_caller]
fn fails(source: &str, code: Code, text: &str, marked: &str) {
    for seed in 0..20 {
        let d = run_seed(source, seed).expect_err("must fail");
        assert_eq!(d.code, code, "{d:?}");
        assert!(d.message.contains(text), "{}", d.message);
        let at = &source[d.span.lo as usize..];
        assert!(at.starts_with(marked), "{} at {:?}", d.message, at.lines().next());
    }
}

const LDMATRIX: &str = "
kernel k(a: global<f16>[8, 4, 2, 2] layout S[(8,4,2,2):(16,2,8,1)], b: global<f16>[8, 4, 2, 2] layout S[(8,4,2,2):(16,2,8,1)])
    launch(grid = [1], block = [32])
{
    shared tile: f16[8, 4, 2, 2] layout S[(8,4,2,2):(16,2,8,1)];
    local frag: f16[8, 4, 2, 2] layout S[(8,4,2,2):(4@laneid,1@laneid,2,1)];
    copy tile <- a by warp;
    sync cta;
    copy frag <- tile by warp;
    copy b <- frag by warp;
}
run k { a = random(seed = 1); expect b == a; }
";

#[test]
fn tile_through_registers() {
    passes(LDMATRIX, 256);
    fails(&LDMATRIX.replace("sync cta;", ""), Code::RACE, "no `sync`", "copy frag");
}

const RING: &str = "
kernel ring(comm: devcomm, send: window<f16>[8, 16], recv: window<f16>[8, 16], out: global<f16>[8, 16])
    launch(grid = [1], block = [64])
{
    signal ready;
    let next = (comm.lsa_rank + 1) % comm.lsa_size;
    let prev = (comm.lsa_rank + comm.lsa_size - 1) % comm.lsa_size;
    local row: f16[8, 16] layout S[(8,8,2):(8@tx,1@tx,1)];
    copy recv@next <- send by cta, notify ready;
    wait ready from prev;
    copy row <- recv by cta;
    copy out <- row by cta;
}
run ring { ranks = 4; send = iota; let prev = (rank + ranks - 1) % ranks; expect recv == send@prev; expect out == send@prev; }
";

#[test]
fn ring() {
    passes(RING, 4 * 2 * 256);
    passes(&RING.replace("ranks = 4", "ranks = 1"), 2 * 256);
    fails(&RING.replace("wait ready from prev;", ""), Code::RACE, "reads `recv[0, 0]`", "copy row");
}

#[test]
fn unsatisfied_wait_is_a_deadlock() {
    let source = RING.replace("wait ready from prev;", "wait ready from prev, expected = 2;");
    let source = if crate::text::parse(&source).into_result().is_ok() {
        source
    } else {
        RING.replace("wait ready from prev;", "wait ready from prev expected = 2;")
    };
    fails(&source, Code::DEADLOCK, "waits for `ready` from rank", "wait ready");
}

#[test]
fn all_to_all_by_thread() {
    let source = "
kernel k(comm: devcomm, send: window<u8>[n, 16], recv: window<u8>[n, 16]) where(n: u64) launch(grid = [1], block = [64])
{
    signal ready;
    let p = thread.x;
    if p < comm.lsa_size && p != comm.lsa_rank {
        copy recv@lsa(p)[me, ..] <- send[p, ..] by thread, notify ready;
        wait ready from lsa(p) by thread;
    }
}
run k { ranks = 4; n = ranks; send = iota; expect recv[s, ..] == send@s[rank, ..] for s in 0..ranks if s != rank; expect recv[rank, ..] == 0xCD; }
";
    passes(source, 4 * 64);
}

#[test]
fn loops_with_acknowledgement() {
    // Two buffers would race without the second signal: the receiver may still read the last tile.
    let source = "
kernel k(comm: devcomm, send: window<i32>[4, 8], recv: window<i32>[8], out: global<i32>[4, 8]) launch(grid = [1], block = [32])
{
    signal ready;
    signal free;
    let next = (comm.lsa_rank + 1) % comm.lsa_size;
    let prev = (comm.lsa_rank + comm.lsa_size - 1) % comm.lsa_size;
    for i in 0..4 {
        copy recv@next <- send[i, ..] by cta, notify ready;
        wait ready from prev;
        copy out[i, ..] <- recv by cta;
        copy recv@prev[0..0] <- send[0, 0..0] by cta, notify free;
        wait free from next;
    }
}
run k { ranks = 3; send = iota; let prev = (rank + ranks - 1) % ranks; expect out == send@prev; }
";
    passes(source, 3 * 4 * 32);
    let cut: String = source.lines().filter(|l| !l.contains("wait free")).collect::<Vec<_>>().join("\n");
    let d = (0..40).find_map(|seed| run_seed(&cut, seed).err()).expect("some seed overtakes the reader");
    assert_eq!(d.code, Code::RACE, "{}", d.message);
}

#[test]
fn asynchronous_copies() {
    let source = "
kernel k(a: global<i32>[64], b: global<i32>[64]) launch(grid = [2], block = [32])
{
    shared tile: i32[32];
    let base = block.x * 32;
    t = copy_async tile <- a[base..base + 32] by cta;
    wait t;
    sync cta;
    copy b[base..base + 32] <- tile by cta;
}
run k { a = iota; expect b == a; }
";
    passes(source, 256);
    fails(&source.replace("wait t;", ""), Code::RACE, "reads `tile[0]`", "copy b");
    fails(&source.replace("sync cta;", ""), Code::RACE, "no `sync`", "copy b");
}

#[test]
fn source_overwritten_in_flight() {
    let source = "
kernel k(comm: devcomm, send: window<i32>[32], recv: window<i32>[32]) launch(grid = [1], block = [32])
{
    signal ready;
    let next = (comm.lsa_rank + 1) % comm.lsa_size;
    let prev = (comm.lsa_rank + comm.lsa_size - 1) % comm.lsa_size;
    t = copy_async recv@next <- send by cta, notify ready;
    wait t;
    fill send <- 0 by cta;
    wait ready from prev;
}
run k { ranks = 2; send = iota; expect send == 0; expect recv[3] == ((rank + 1) % 2) * 32 + 3; }
";
    passes(source, 2 * (128 + 4));
    fails(&source.replace("wait t;", ""), Code::RACE, "writes `send[0]`", "fill send");
}

#[test]
fn a_blocking_copy_between_ranks_returns_its_buffers() {
    // Written by the group before and after, and a destination of this rank read at once: no `sync` is needed.
    let source = "
kernel k(comm: devcomm, send: window<i32>[32], recv: window<i32>[32], keep: window<i32>[32], out: global<i32>[32])
    launch(grid = [1], block = [32])
{
    signal ready;
    let next = (comm.lsa_rank + 1) % comm.lsa_size;
    let prev = (comm.lsa_rank + comm.lsa_size - 1) % comm.lsa_size;
    fill send <- 5 by cta;
    copy recv@next, keep@me <- send by cta, notify ready;
    fill send <- 6 by cta;
    copy out <- keep by cta;
    wait ready from prev;
}
run k { ranks = 3; expect recv == 5; expect keep == 5; expect out == 5; expect send == 6; }
";
    passes(source, 3 * 4 * 128);
    passes(&source.replace("ranks = 3", "ranks = 1"), 4 * 128);
}

#[test]
fn thread_code_and_guards() {
    let source = "
kernel k(a: global<f32>[4, 6], b: global<f32>[4, 6], c: global<i8>[24]) launch(grid = [1], block = [32])
{
    let t = thread.x;
    if t < 24 {
        let x = a[t / 6, t % 6];
        b[t / 6, t % 6] = x * 2.0 + 1;
        c[t] = i8(x) - 100;
    } else {
        assume(t >= 24);
    }
}
run k { a = iota; expect b[0, 3] == 7; expect c[3] == -97; expect c[23] == -77; }
";
    passes(source, 6);
}

#[test]
fn casts_and_elementwise() {
    let source = "
kernel k(a: global<f16>[4, 8], b: global<f32>[4, 8], c: global<f16>[4, 8]) launch(grid = [1], block = [32])
{
    local x: f16[4, 8] layout S[(4,8):(8@laneid,1@laneid)];
    local y: f32[4, 8] layout S[(4,8):(8@laneid,1@laneid)];
    copy x <- a by warp;
    cast y <- x by warp;
    copy b <- y by warp;
    add x <- x, x by warp;
    copy c <- x by warp;
}
run k { a = iota; expect b[1, 2] == 10; expect c[3, 7] == 62; }
";
    passes(source, 6);
}

#[test]
fn an_op_may_work_in_place() {
    let source = "
kernel k(a: global<i32>[64], b: global<i32>[64]) launch(grid = [1], block = [64])
{
    shared tile: i32[64];
    copy tile <- a by cta;
    sync cta;
    add tile <- tile, tile by cta;
    sync cta;
    copy b <- tile by cta;
}
run k { a = iota; expect b[9] == 18; }
";
    passes(source, 4);
    fails(&source.replacen("sync cta;", "", 1), Code::RACE, "no `sync`", "add");
}

#[test]
fn faults_have_a_place() {
    let kernel = |body: &str| {
        format!("kernel k(a: global<i32>[8]) launch(grid = [1], block = [32])\n{{\n{body}\n}}\nrun k {{ }}\n")
    };
    let fails = |body: &str, code, text, marked| fails(&kernel(body), code, text, marked);
    fails("let i = thread.x; a[i] = 1;", Code::OUT_OF_BOUNDS, "index 8", "a[i]");
    fails("for i in 0..3 { fill a[i * 4..i * 4 + 4] <- 0 by cta; }", Code::OUT_OF_BOUNDS, "8..12", "a[i");
    fails("assume(grid.x == 2);", Code::BAD_LAUNCH, "does not hold", "assume");
    fails(
        "local r: i32[32] layout S[(32):(1@tx)]; if thread.x < 4 { copy a <- r[0..8] by cta; }",
        Code::LOCAL_OWNER,
        "`r[4]`",
        "copy a",
    );
    fails("if thread.x < 4 { sync cta; }", Code::COLLECTIVE_UNDER_GUARD, "4 of 32", "sync");
    fails("for i in 0..1000000000 { let x = i; }", Code::DEADLOCK, "no end", "k(");
}

#[test]
fn only_active_owners_get_their_elements() {
    // Lanes 0, 2, 4, … receive their rows; the others keep what they had. Positions of replicas are written one by one.
    let source = "
kernel k(a: global<i32>[32], b: global<i32>[32], c: global<i32>[2]) launch(grid = [1], block = [32]) {
    local r: i32[32] layout S[(32):(1@laneid)];
    r![0] = -1;
    if thread.lane % 2 == 0 { copy r <- a by warp; }
    copy b <- r by warp;
    local pair: i32[1] layout S[(1):(1)] + R[2:1];
    pair![0] = 3;
    pair![1] = 4;
    if thread.x == 0 {
        let x = pair![0];
        let y = pair![1];
        c[0] = x;
        c[1] = y;
    }
}
run k { a = iota; expect b[6] == 6; expect b[7] == -1; expect c[0] == 3; expect c[1] == 4; }
";
    passes(source, 16);
}

#[test]
fn mismatches_name_the_element() {
    let source = "kernel k(a: global<i32>[2, 4]) launch(grid = [1], block = [32]) { }\nrun k { ranks = 2; a = iota; expect a == rank * 8; }";
    let d = run_seed(source, 0).expect_err("differs");
    assert_eq!(d.code, Code::RUN_MISMATCH);
    assert_eq!(d.message, "`a[0, 1]` on rank 0 is 1, expected 0");
}

#[test]
fn launches_that_are_too_large_are_refused() {
    let source =
        "kernel k(a: global<i32>[n]) where(n: u64) launch(grid = [1], block = [32]) { }\nrun k { n = 2000000000; }";
    assert_eq!(run_seed(source, 0).expect_err("too large").code, Code::TOO_LARGE);
}

#[test]
fn examples_hold() {
    let sources = [
        include_str!("../../../examples/alltoall.tile"),
        include_str!("../../../examples/fallback_4x6.tile"),
        include_str!("../../../examples/gmem_smem.tile"),
        include_str!("../../../examples/ldmatrix_trans_swizzle.tile"),
        include_str!("../../../examples/ldmatrix_x2.tile"),
        include_str!("../../../examples/reg_roundtrip.tile"),
        include_str!("../../../examples/ring_shift.tile"),
        include_str!("../../../examples/ship.tile"),
        include_str!("../../../examples/stmatrix_x4.tile"),
    ];
    for source in sources {
        for seed in 0..3 {
            let checked = run_seed(source, seed).unwrap_or_else(|d| panic!("{}\n{source}", d.message));
            assert!(checked > 0, "{source}");
        }
    }
}

#[test]
fn ids_have_no_value_in_run_blocks() {
    // The verifier refuses it first; the interpreter must not divide by a block of no threads.
    let source = "kernel k(a: global<i32>[4]) launch(grid = [1], block = [32]) { }\nrun k { let x = thread.x; a = x; }";
    if let Ok(module) = crate::text::parse(source).into_result() {
        let (r, kernel) = (module.runs().next().expect("run"), module.kernels().next().expect("kernel"));
        let faults = prepare(r, kernel, &|_| Err(String::new())).expect_err("no ids");
        assert_eq!(faults[0].code, Code::UNKNOWN_NAME);
    }
}

#[test]
fn memory_of_ctas_is_bounded() {
    let source = "kernel k(a: global<i32>[4]) launch(grid = [1], block = [1024]) { local x: f32[2000000]; fill a <- 0 by cta; }\nrun k { }";
    assert_eq!(run_seed(source, 0).expect_err("too large").code, Code::TOO_LARGE);
}

/// A copy from a peer into memory of this rank, read back by the CTA that ran it.
fn fetched(copy: &str, block: u32) -> String {
    format!(
        "kernel k(comm: devcomm, a: window<f32>[64], b: window<f32>[64], o: global<f32>[64])
            launch(grid = [1], block = [{block}])
        {{
            let n = (me + 1) % comm.lsa_size;
            {copy}
            copy o[0..63] <- b[1..64] by cta;
        }}
        run k {{ ranks = 2; a = iota; let n = (rank + 1) % ranks; expect o[0..63] == a@n[1..64]; }}"
    )
}

#[test]
fn what_a_waited_copy_brought_is_there_as_after_a_blocking_one() {
    passes(&fetched("copy b <- a@n by cta;", 64), 504);
    passes(&fetched("t = copy_async b <- a@n by cta; wait t;", 64), 504);
    fails(&fetched("copy b <- a@n by warp;", 32).replace("block = [32]", "block = [64]"), Code::RACE, "", "copy");
    // Threads that are missing cannot meet.
    let some = "if thread.x < 48 { copy b <- a@n by cta; }";
    fails(&fetched(some, 64), Code::RACE, "no `sync`", "copy o");
}

#[test]
fn layouts_that_fold_elements_are_refused_when_their_numbers_are_known() {
    let text = |pitch: i64| {
        format!(
            "kernel k(a: global<f32>[8, 8] layout S[(8,8):(p,1)], b: global<f32>[8, 8]) where(p: u64)
                launch(grid = [1], block = [32])
            {{ copy b <- a by cta; }}
            run k {{ p = {pitch}; a = iota; }}"
        )
    };
    for pitch in [1, 4, 7] {
        fails(&text(pitch), Code::BAD_LAYOUT, "two elements of `a`", "a: global");
    }
    for pitch in [8, 9, 1024] {
        assert!(run_seed(&text(pitch), 0).is_ok(), "{pitch}");
    }
}

#[test]
fn reads_of_what_nobody_wrote_are_told_once_a_buffer() {
    let text = "kernel k(a: global<f32>[8], b: global<f32>[64]) launch(grid = [2], block = [64]) {
            shared s: f32[64];
            local r: f32[64] layout S[(64):(1@tx)];
            local mine: f32[2];
            copy s[0..8] <- a by cta;
            sync cta;
            copy r[0..8] <- s[0..8] by cta;
            copy r <- s by cta;
            fill mine[0..1] <- 1.0 by thread;
            let x = mine[0];
            let y = mine[1];
        }
        run k { a = iota; }";
    let module = crate::text::parse(text).into_result().expect("parses");
    let (r, kernel) = (module.runs().next().expect("run"), module.kernel("k").expect("k"));
    let input = prepare(r, kernel, &|_| Err(String::new())).expect("prepared");
    let output = run(kernel, 32, &input).expect("runs");
    let said: Vec<&str> = output.warnings.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(said.len(), 2, "{said:#?}");
    assert!(output.warnings.iter().all(|d| d.code == Code::UNDEFINED_READ));
    assert!(said.iter().any(|m| m.contains("`s[8]`")) && said.iter().any(|m| m.contains("`mine[1]`")), "{said:#?}");
}

/// Each rank passes on what its left-hand neighbour brought; `second` is the second hop.
fn relay(second: &str) -> String {
    format!(
        "kernel relay(comm: devcomm, send: window<f32>[64], recv: window<f32>[64], fwd: window<f32>[64], out: global<f32>[64])
            launch(grid = [1], block = [64])
        {{
            signal hop;
            signal done;
            let next = (comm.lsa_rank + 1) % comm.lsa_size;
            let prev = (comm.lsa_rank + comm.lsa_size - 1) % comm.lsa_size;
            copy recv@next <- send by cta, notify hop;
            {second}
            wait done from prev;
            copy out <- fwd by cta;
        }}
        run relay {{
            ranks = 4;
            send = random(seed = 3);
            let two = (rank + ranks - 2) % ranks;
            expect out == send@two;
        }}"
    )
}

#[test]
fn a_copy_is_held_back_by_a_signal() {
    let held = "t = copy_async fwd@next <- recv by cta, notify done, after hop from prev; wait t;";
    passes(&relay(held), 4 * 256);
    passes(&relay("copy fwd@next <- recv by cta, notify done, after hop from prev;"), 4 * 256);
    passes(&relay("copy fwd@next <- recv by cta, notify done, after hop from prev, expected = 1;"), 4 * 256);
    // By the wrong rank: what this rank's left-hand neighbour brought is not known to be there.
    let wrong = "t = copy_async fwd@next <- recv by cta, notify done, after hop from next, expected = 0; wait t;";
    fails(&relay(wrong), Code::RACE, "`recv[0]`", "");
    fails(&relay("copy fwd@next <- recv by cta, notify done;"), Code::RACE, "`recv[0]`", "");
    let never = "t = copy_async fwd@next <- recv by cta, notify done, after hop from prev, expected = 2; wait t;";
    fails(&relay(never), Code::DEADLOCK, "waits for", "");
}

#[test]
fn the_source_of_a_held_copy_belongs_to_the_engine() {
    let overwritten = "t = copy_async fwd@next <- recv by cta, notify done, after hop from prev;
            wait hop from prev;
            fill recv <- 0.0 by cta;
            wait t;";
    fails(&relay(overwritten), Code::RACE, "recv[0]", "");
    let in_time = "t = copy_async fwd@next <- recv by cta, notify done, after hop from prev;
            wait t;
            wait hop from prev;
            fill recv <- 0.0 by cta;";
    passes(&relay(in_time), 4 * 256);
}

fn warnings(source: &str, seed: u64) -> Vec<String> {
    let module = crate::text::parse(source).into_result().expect("parses");
    let r = module.runs().next().expect("run");
    let kernel = module.kernel(r.kernel.as_str()).expect("kernel");
    let mut input = prepare(r, kernel, &|_| Err(String::new())).expect("prepared");
    input.seed = seed;
    run(kernel, 32, &input).expect("runs").warnings.into_iter().map(|d| d.message).collect()
}

#[test]
fn a_wait_for_nobody_is_warned_of() {
    let text = |from: &str| {
        format!(
            "kernel k(comm: devcomm, a: window<f32>[64], b: window<f32>[64]) launch(grid = [1], block = [64]) {{
                signal s;
                let next = (me + 1) % comm.lsa_size;
                let prev = (me + comm.lsa_size - 1) % comm.lsa_size;
                copy b@next <- a by cta, notify s;
                for k in 0..2 {{ wait s from {from}; }}
            }}
            run k {{ ranks = 4; a = iota; }}"
        )
    };
    assert_eq!(warnings(&text("prev"), 0), Vec::<String>::new());
    let said = warnings(&text("next"), 0);
    assert_eq!(said, ["rank 0 waits for no notify of `s`: rank 1 sends none to it before this wait"]);
}

#[test]
fn a_flag_that_never_comes_is_told_with_its_values() {
    let text = "kernel k(a: global<f32>[8], b: global<f32>[8], f: global<u32>[1]) launch(grid = [1], block = [8]) {
            copy b <- a by cta, after f[0] == 5;
        }
        run k { a = iota; f = 4; }";
    fails(text, Code::DEADLOCK, "`f[0]` to be 5, it is 4", "copy b");
}

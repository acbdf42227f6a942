//! Modules that must be accepted, and properties of the verifier as a whole.

use super::{Level, verify, verify_for};
use crate::diag::{Code, Diagnostic};
use crate::op::OpSet;
use crate::text::parse;

fn check(source: &str, level: Level) -> Vec<Diagnostic> {
    let parsed = parse(source);
    assert_eq!(parsed.diagnostics, [], "the source parses");
    verify(&parsed.module, level, &OpSet::default())
}

fn codes(source: &str, level: Level) -> Vec<Code> {
    check(source, level).into_iter().map(|d| d.code).collect()
}

#[track_caller]
fn accepts(source: &str) {
    assert_eq!(check(source, Level::Tile), []);
}

#[test]
fn accepts_fragment_copies() {
    accepts(
        "kernel k(a: global<f16>[8, 4, 2, 2] layout S[(8,4,2,2):(16,2,8,1)], b: global<f16>[8, 4, 2, 2])
           launch(grid = [1], block = [32])
         {
           shared tile: f16[8, 4, 2, 2] layout S[(8,4,2,2):(16,2,8,1)];
           local frag: f16[8, 4, 2, 2] layout S[(8,4,2,2):(4@laneid,1@laneid,2,1)];
           copy tile <- a by warp;
           sync cta;
           copy frag <- tile by warp;
           copy b <- frag by warp;
         }
         run k { a = random(seed = 1); expect b == a; }",
    );
}

#[test]
fn accepts_ring_shift() {
    accepts(
        "kernel ring_shift(comm: devcomm, send: window<f16>[8, 16], recv: window<f16>[8, 16], out: global<f16>[8, 16])
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
         run ring_shift {
           ranks = 4; send = iota; let prev = (rank + ranks - 1) % ranks;
           expect recv == send@prev; expect out == send@prev;
         }",
    );
}

#[test]
fn accepts_copies_by_thread_and_where() {
    accepts(
        "kernel ship(comm: devcomm, send: window<u8>[64, chunk], recv: window<u8>[64, chunk], peer: lsa_rank)
           where(chunk: u64) launch(grid = [1], block = [64])
         {
           let lane = thread.x;
           copy recv@peer[lane, ..] <- send[lane, ..] by thread;
         }
         run ship { ranks = 4; chunk = 4096; peer = (rank + 1) % ranks; send = iota; expect recv@peer == send; }",
    );
}

#[test]
fn accepts_all_to_all_with_tokens_and_guards() {
    accepts(
        "kernel a2a(comm: devcomm, send: window<i32>[8, 128], recv: window<i32>[8, 128], flag: global<u32>[1], e: u32)
           launch(grid = [1], block = [256], warp = 64)
         {
           signal ready queue 2;
           for p in 0..comm.lsa_size {
             if p != comm.lsa_rank {
               copy recv@lsa(p)[comm.lsa_rank, ..] <- send[p, ..] by cta, notify ready, after flag[0] == e;
             }
           }
           for p in 0..comm.lsa_size { wait ready from lsa(p); }
           local x: i32[2] layout S[(2):(1)];
           if thread.warp == 1 {
             t = copy_async x <- recv[0, 0..2] by warp;
             wait t;
             sync warp;
             add x <- x, x by warp;
             let v = x[0];
             recv[0, thread.lane] = v + 1;
           } else { if thread.x < 64 { fill x <- 3 by warp; } }
           assume(e < 7);
         }",
    );
}

#[test]
fn a_base_is_aligned_to_whole_elements() {
    let with = |dtype: &str, align: u32| {
        let text = format!(
            "kernel k(a: global<{dtype}>[8] align {align}) launch(grid = [1], block = [32]) {{ shared s: {dtype}[8] align {align}; }}"
        );
        codes(&text, Level::Tile)
    };
    assert_eq!(with("f32", 2), [Code::BAD_ATTR, Code::BAD_ATTR]);
    assert_eq!(with("f64", 4), [Code::BAD_ATTR, Code::BAD_ATTR]);
    for (dtype, align) in [("f32", 4), ("f16", 2), ("u8", 1), ("i4", 1), ("f64", 16)] {
        assert!(with(dtype, align).is_empty(), "{dtype} align {align}");
    }
}

#[test]
fn levels_allow_their_statements() {
    let tile = "kernel k(a: global<f16>[8], b: global<f16>[8]) launch(grid = [1], block = [8]) { copy b <- a by cta; }";
    assert_eq!(codes(tile, Level::Tile), []);
    assert_eq!(codes(tile, Level::Selected), [Code::LEVEL]);
    assert_eq!(codes(tile, Level::Lowered), [Code::LEVEL]);
    let lowered = "kernel k(a: global<f16>[8], b: global<f16>[8], hidden s_base: global<u64>[64])
       launch(grid = [1], block = [8]) {
         let x = a![thread.x];
         b![thread.x] = x;
         vec.copy(b![0], a![0], n = 8);
         barrier(scope = cta);
       }";
    assert_eq!(codes(lowered, Level::Tile), [Code::LEVEL]);
    assert_eq!(codes(lowered, Level::Lowered), []);
    let selected = "kernel k(c: devcomm, w: window<u8>[64]) launch(grid = [1], block = [64]) {
         sdma.put(w@me![0], w![0], me, 64, queue = 0);
         t = posted queue(me, 0) by cta;
         wait t;
       }";
    assert_eq!(codes(selected, Level::Selected), []);
    assert_eq!(codes(selected, Level::Tile), [Code::LEVEL]);
}

#[test]
fn warp_width_of_the_target_decides() {
    // A whole warp of 32 threads, but half of one of 64.
    let text = "kernel k(a: global<f32>[4]) launch(grid = [1], block = [128]) {
         if thread.x < 32 { sync warp; }
       }";
    let module = parse(text).module;
    assert_eq!(verify(&module, Level::Tile, &OpSet::default()), []);
    assert_eq!(verify_for(&module, Level::Tile, &OpSet::default(), 32), []);
    let errors = verify_for(&module, Level::Tile, &OpSet::default(), 64);
    assert_eq!(errors.iter().map(|d| d.code).collect::<Vec<_>>(), [Code::COLLECTIVE_UNDER_GUARD]);
}

#[test]
fn a_wrong_definition_is_reported_once() {
    let text = "kernel k(a: global<f32>[4]) launch(grid = [1], block = [1]) {
         let x = y + 1;
         let z = x * 2;
         a[z] = 1.0;
         a[x] = 2.0;
       }";
    assert_eq!(codes(text, Level::Tile), [Code::UNKNOWN_NAME]);
}

#[test]
fn long_kernels_take_linear_time() {
    let mut text = String::from(
        "kernel k(c: devcomm, w: window<f32>[64], g: global<f32>[64]) launch(grid = [1], block = [64]) {\nsignal s;\n
         let next = (me + 1) % c.lsa_size;\nlet prev = (me + c.lsa_size - 1) % c.lsa_size;\n",
    );
    for i in 0..10_000 {
        match i % 4 {
            0 => text.push_str("copy w@next <- g by cta, notify s;\nwait s from prev;\n"),
            1 => text.push_str("if thread.x < 32 { copy g[0..32] <- w[0..32] by cta; }\n"),
            2 => text.push_str(&format!("let x{i} = thread.x + {i};\n")),
            _ => text.push_str("for i in 0..64 { g[i] = 1.0; }\n"),
        }
    }
    text.push('}');
    accepts(&text);
}

#[test]
fn long_expressions_do_not_overflow_the_stack() {
    let chain = vec!["n"; 990].join(" + ");
    accepts(&format!(
        "kernel k(a: global<u32>[8], n: u32) launch(grid = [1], block = [8]) {{
           let x = {chain};
           if {chain} > 3 {{ fill a <- x by cta; }}
           fill a[0..1 + index({chain})] <- 0 by cta;
         }}"
    ));
}

#[test]
fn many_tokens_and_conditions_take_linear_time() {
    let mut text =
        String::from("kernel k(a: global<f32>[64], b: global<f32>[64], n: u32) launch(grid = [1], block = [64]) {\n");
    for i in 0..5_000 {
        text.push_str(&format!(
            "t{i} = copy_async a <- b by cta;\nif n > {i} {{ wait t{i}; }} else {{ wait t{i}; }}\n"
        ));
    }
    text.push('}');
    accepts(&text);
}

#[test]
fn overflowing_extents_are_errors() {
    let big = i64::MAX;
    let text = format!(
        "kernel k(a: global<f32>[{big}, n, {big}]) where(n: u64) launch(grid = [1], block = [8]) {{
           copy a <- a by cta;
         }}"
    );
    assert_eq!(codes(&text, Level::Tile), [Code::BAD_SHAPE]);
    let text = format!(
        "kernel k(a: global<f32>[8, 8] layout S[(8,8):({big},1)] + {big}@m) launch(grid = [1], block = [8]) {{ }}"
    );
    assert!(!codes(&text, Level::Tile).is_empty());
}

#[test]
fn products_of_sums_are_not_multiplied_out() {
    let lets: String = (0..40).map(|i| format!("let a{i} = thread.x + {i} * n;\n")).collect();
    let product = (0..40).map(|i| format!("(a{i} + n)")).collect::<Vec<_>>().join(" * ");
    accepts(&format!(
        "kernel k(g: global<f32>[8]) where(n: u64) launch(grid = [1], block = [8]) {{
           {lets} g[{product} % 8] = 1.0;
         }}"
    ));
}

#[test]
fn ops_of_copy_engines() {
    let with = |op: &str| {
        let text = format!(
            "kernel k(c: devcomm, w: window<u8>[64], f: window<u32>[64], g: global<u32>[64], q: i32, n: u64) \
             launch(grid = [1], block = [64]) {{ {op} }}"
        );
        codes(&text, Level::Lowered)
    };
    let right = [
        "sdma.put(w@me![0], w![0], me, n, queue = 7);",
        "sdma.put(w@me![0], w![0], me, n, q, coop = warp);",
        "sdma.put(w@me![0], w![0], me, 64, 3, mode = same_queue, aggregate = true, signal_per_copy = true);",
        "sdma.get(w![0], w@me![0], me, n, q);",
        "sdma.put_ptr(g![0], f![0], me, n, q);",
        "sdma.put_broadcast(w@me![0], w@me![32], w![0], me, me, n, q, local_signal = true, remote_signal = true);",
        "sdma.post_wait_mem(f![0], 1, me, q);",
        "sdma.post_wait_mem(g![0], q, me, queue = 0, cmp = ge, mask = 4294967295, aggregate = true, coop = block);",
        "sdma.post_wait_signal(me, n, me, q, q);",
        "sdma.post_wait_signal(me, n, me, q, queue = 1);",
        "sdma.post_wait_signal(me, n, me, queue = 1, signal_queue = 2);",
        "sdma.post_wait_mem_put_ptr(f![0], 1, w@me![0], w![0], me, n, q, cmp = ne, remote_signal = true);",
        "sdma.commit(me, q);",
        "sdma.commit_all(me, coop = warp);",
        "sdma.quiet(me, coop = block);",
        "sdma.quiet_queue(me, q);",
        "sdma.wait_signal(me, n, q);",
    ];
    for op in right {
        assert_eq!(with(op), [], "{op}");
    }
    let wrong = [
        ("sdma.put(w@me![0], w![0], me, n);", Code::OP_OPERANDS),
        ("sdma.put(w@me![0], w![0], me, n, q, queue = 1);", Code::OP_OPERANDS),
        ("sdma.put(w@me![0], w![0], me, n, 8);", Code::BAD_ATTR),
        ("sdma.put(w@me![0], w![0], me, n, -1);", Code::BAD_ATTR),
        ("sdma.put(w@me![0], w![0], me, n, q, coop = warp, mode = same_queue);", Code::BAD_ATTR),
        ("sdma.get(w![0], w@me![0], me, n, q, coop = block, mode = same_queue);", Code::BAD_ATTR),
        ("sdma.put(w@me![0], w![0], me, n, q, ordered = true);", Code::BAD_ATTR),
        ("sdma.put(g![0], w![0], me, n, q);", Code::OP_OPERANDS),
        ("sdma.post_wait_mem(f![0], 1, me, q, signal_per_copy = true);", Code::BAD_ATTR),
        ("sdma.put_broadcast(w@me![0], w![0], w![0], me, me, n, q, signal_per_copy = true);", Code::BAD_ATTR),
        ("sdma.put_broadcast(w@me![0], w![0], w![0], me, me, n, q, mode = same_queue);", Code::BAD_ATTR),
        ("sdma.post_wait_mem(f@me![0], 1, me, q);", Code::OP_OPERANDS),
        ("sdma.post_wait_mem(w![0], 1, me, q);", Code::OP_OPERANDS),
        ("sdma.post_wait_mem(f![0], 4294967296, me, q);", Code::OP_OPERANDS),
        ("sdma.post_wait_mem(f![0], 1, me, q, cmp = less);", Code::BAD_ATTR),
        ("sdma.post_wait_mem(f![0], 1, me, q, mask = -1);", Code::BAD_ATTR),
        ("sdma.post_wait_signal(me, 4294967296, me, q, q);", Code::OP_OPERANDS),
        ("sdma.post_wait_signal(me, 1, me, q);", Code::OP_OPERANDS),
        ("sdma.post_wait_signal(me, 1, me, q, q, queue = 1);", Code::OP_OPERANDS),
        ("sdma.post_wait_mem_put_ptr(f![0], 1, w@me![0], w![0], me, n, q, aggregate = true);", Code::BAD_ATTR),
        ("sdma.commit_all(me);", Code::BAD_ATTR),
        ("sdma.commit_all(me, coop = thread);", Code::BAD_ATTR),
        ("sdma.quiet(me, q);", Code::OP_OPERANDS),
    ];
    for (op, code) in wrong {
        assert_eq!(with(op), [code], "{op}");
    }
}

//! Lowered kernels as text, on several seeds: results, and every fault that the executor reports.

use tilewright_ir::interp::{check_expects, prepare};
use tilewright_ir::text::parse;
use tilewright_target::{GFX950, SM_90A};

use super::*;

fn run_seed(source: &str, target: &Target, seed: u64, intrinsics: &Intrinsics) -> Result<(u64, usize), Diagnostic> {
    let module = parse(source).into_result().expect("parses");
    let (mut bytes, mut warnings) = (0, 0);
    for r in module.runs() {
        let kernel = module.kernel(r.kernel.as_str()).expect("kernel");
        let mut input = prepare(r, kernel, &|_| Err("no file".to_owned())).map_err(|mut d| d.remove(0))?;
        input.max_steps = 100_000;
        let options = Options { seed: Some(seed), intrinsics: intrinsics.clone() };
        let output = run(kernel, target, &input, &options)?;
        bytes += check_expects(r, kernel, &input, &output)?;
        warnings += output.warnings.len();
    }
    Ok((bytes, warnings))
}

#[track_caller]
fn passes(source: &str, target: &Target, bytes: u64) {
    for seed in 0..20 {
        assert_eq!(run_seed(source, target, seed, &Intrinsics::new()).expect("runs"), (bytes, 0), "seed {seed}");
    }
}

#[track_caller]
fn fails(source: &str, target: &Target, code: Code, text: &str, marked: &str) {
    for seed in 0..10 {
        let d = run_seed(source, target, seed, &Intrinsics::new()).expect_err("must fail");
        assert_eq!(d.code, code, "{d:?}");
        assert!(d.message.contains(text), "{}", d.message);
        let at = &source[d.span.lo as usize..];
        assert!(at.starts_with(marked), "{} at {:?}", d.message, at.lines().next());
    }
}

/// A kernel of `block` threads over three buffers of 16-bit elements.
fn kernel(block: u32, body: &str, run: &str) -> String {
    format!(
        "kernel k(a: global<u16>[512], b: global<u16>[512], f: global<u32>[8]) launch(grid = [1], block = [{block}])\n\
         {{\n{body}\n}}\nrun k {{ a = iota; f = 0; {run} }}\n"
    )
}

#[test]
fn vectors_through_shared_memory() {
    let body = "shared t: u16[512];
        let i = thread.x * 8;
        vec.copy(t![i], a![i], n = 8);
        barrier(scope = cta);
        vec.copy(b![i], t![504 - i], n = 8);";
    let source = kernel(64, body, "expect b[8] == 496; expect b[504..512] == a[0..8];");
    passes(&source, &SM_90A, 18);
    passes(&source, &GFX950, 18);
    // Two warps on the one target, one wave on the other: without the barrier only the first can go wrong.
    let cut = source.replace("barrier(scope = cta);", "");
    passes(&cut, &GFX950, 18);
    assert!((0..40).any(|seed| run_seed(&cut, &SM_90A, seed, &Intrinsics::new()).is_err()));
}

#[test]
fn accesses_are_checked() {
    let fails = |body: &str, code, text, marked| fails(&kernel(64, body, ""), &SM_90A, code, text, marked);
    fails(
        "vec.copy(b![thread.x * 8 + 8], a![thread.x * 8], n = 8);",
        Code::OUT_OF_BOUNDS,
        "elements 512..=519",
        "vec.copy",
    );
    fails("vec.copy(b![thread.x * 4], a![thread.x * 4], n = 8);", Code::OP_OPERANDS, "aligned to 16", "vec.copy");
    fails("vec.copy(b![thread.x * 8], a![thread.x * 8], n = 3);", Code::OP_OPERANDS, "3 elements", "vec.copy");
    fails("local r: u16[4]; vec.copy(r![1], a![0], n = 4);", Code::OUT_OF_BOUNDS, "elements 1..=4", "vec.copy");
    fails("b![thread.x - 1] = 0;", Code::OUT_OF_BOUNDS, "element -1", "b![");
    fails("if thread.x < 40 { barrier(scope = cta); }", Code::COLLECTIVE_UNDER_GUARD, "8 of 32 lanes", "barrier");
    fails(
        "if thread.warp == 0 { barrier(scope = cta); }",
        Code::DEADLOCK,
        "warp 0 waits for the other warps",
        "barrier",
    );
    fails("assume(thread.x < 63);", Code::BAD_LAUNCH, "thread 63", "assume");
    fails("mem.wait_eq(f![0], 7);", Code::DEADLOCK, "the value of `f![0]`", "mem.wait_eq");
    fails("for i in 0..1000000000 { let x = i; }", Code::DEADLOCK, "no end", "k(");
}

#[test]
fn flags_between_warps() {
    let body = "if thread.x == 32 { f![0] = 7; }
        if thread.warp == 0 { mem.wait_eq(f![0], 7); b![thread.x] = 1; }";
    passes(&kernel(64, body, "expect b[0..32] == 1;"), &SM_90A, 64);
}

#[test]
fn divergent_loops_and_branches() {
    let body = "let t = thread.x;
        for i in 0..t % 3 { b![t] = u16(i); }
        if t % 3 == 0 { b![t] = 100; } else { let x = b![t]; b![t] = x + 10; }";
    passes(&kernel(64, body, "expect b[3] == 100; expect b[4] == 10; expect b[5] == 11;"), &SM_90A, 6);
}

/// One warp, one op of `num` matrices.
fn matrices(op: &str, num: usize, trans: bool) -> String {
    let registers: Vec<String> = (0..num).map(|i| format!("r![{}]", 2 * i)).collect();
    let (load, store) = match op {
        "nv.ldmatrix" => ("vec.copy(t![l * 8], a![l * 8], n = 8);", "vec.copy(b![l * 8], r![0], n = 8);"),
        _ => ("vec.copy(r![0], a![l * 8], n = 8);", "vec.copy(b![l * 8], t![l * 8], n = 8);"),
    };
    let body = format!(
        "shared t: u16[256]; local r: u16[8]; let l = thread.x;
        {load}
        barrier(scope = warp);
        {op}(t![l * 8], {}, num = {num}, trans = {trans});
        barrier(scope = warp);
        {store}",
        registers.join(", ")
    );
    kernel(32, &body, "")
}

/// Output `b` of a kernel.
fn output(source: &str) -> Vec<u16> {
    let module = parse(source).into_result().expect("parses");
    let run_block = module.runs().next().expect("run");
    let kernel = module.kernels().next().expect("kernel");
    let input = prepare(run_block, kernel, &|_| Err(String::new())).expect("input");
    let out = run(kernel, &SM_90A, &input, &Options::default()).expect("runs");
    out.buffers[0]["b"].chunks(2).map(|c| u16::from_le_bytes([c[0], c[1]])).collect()
}

#[test]
fn ldmatrix_follows_ptx() {
    for num in [1usize, 2, 4] {
        for trans in [false, true] {
            let b = output(&matrices("nv.ldmatrix", num, trans));
            for lane in 0..32 {
                for i in 0..num {
                    for e in 0..2 {
                        let (row, column) = (lane / 4, 2 * (lane % 4) + e);
                        let (row, column) = if trans { (column, row) } else { (row, column) };
                        let element = 64 * i + 8 * row + column; // row r of matrix i is lane 8i + r's eight elements
                        assert_eq!(usize::from(b[8 * lane + 2 * i + e]), element, "x{num} {trans} lane {lane}");
                    }
                }
            }
        }
    }
}

#[test]
fn stmatrix_is_the_inverse() {
    for trans in [false, true] {
        let b = output(&matrices("nv.stmatrix", 4, trans));
        for lane in 0..32 {
            for i in 0..4 {
                for e in 0..2 {
                    let (row, column) = (lane / 4, 2 * (lane % 4) + e);
                    let (row, column) = if trans { (column, row) } else { (row, column) };
                    assert_eq!(usize::from(b[64 * i + 8 * row + column]), 8 * lane + 2 * i + e);
                }
            }
        }
    }
}

#[test]
fn matrices_are_checked() {
    let source = matrices("nv.ldmatrix", 4, false);
    fails(
        &source.replace("nv.ldmatrix(t![l * 8]", "nv.ldmatrix(t![l * 4]"),
        &SM_90A,
        Code::OP_OPERANDS,
        "lane 1 is byte 8",
        "nv.",
    );
    fails(&source.replace("block = [32]", "block = [16]"), &SM_90A, Code::COLLECTIVE_UNDER_GUARD, "16 of 32", "nv.");
    fails(&source, &GFX950, Code::COLLECTIVE_UNDER_GUARD, "32 lanes", "nv.");
}

/// Ranks put to the right and wait for the left, as the lowering writes it.
const PUT: &str = "
kernel k(comm: devcomm, send: window<u16>[64, 32], recv: window<u16>[64, 32], hidden s_base: global<u64>[64])
    launch(grid = [1], block = [64])
{
    let t = thread.linear;
    let next = (me + 1) % comm.lsa_size;
    let prev = (me + comm.lsa_size - 1) % comm.lsa_size;
    sdma.put(recv@next![t * 32], send![t * 32], next, 64, queue = 1, coop = thread, mode = same_queue, remote_signal = true);
    if t == 0 {
        let base = s_base![index(prev)];
        sdma.wait_signal(prev, base + 1, queue = 1);
        fence.acquire(scope = system);
    }
    barrier(scope = cta);
    let x = recv![t * 32 + 31];
    recv![t * 32 + 31] = x;
    sdma.quiet_queue(next, queue = 1, coop = block);
    send![t] = 7;
}
run k { ranks = 3; send = iota; let prev = (rank + ranks - 1) % ranks; expect recv[2, 5] == u16(prev * 2048 + 69); expect send[0, ..] == 7; }
";

#[test]
fn puts_signals_and_quiet() {
    passes(PUT, &GFX950, 3 * (2 + 64));
    passes(&PUT.replace("ranks = 3", "ranks = 1"), &GFX950, 66);
    // A wait for one signal a lane never ends: the group signals once.
    fails(&PUT.replace("base + 1", "base + 2"), &GFX950, Code::DEADLOCK, "has 1, needs 2", "sdma.wait_signal");
    passes(
        &PUT.replace("base + 1", "base + 64")
            .replace("remote_signal = true", "remote_signal = true, signal_per_copy = true"),
        &GFX950,
        198,
    );
    // Without the wait for the queue the source may be overwritten before it is read.
    let cut = PUT.replace("sdma.quiet_queue(next, queue = 1, coop = block);", "").replace("base + 1", "base + 0");
    let cut = cut.replace("expect recv[2, 5]", "expect recv[0, 5]").replace("+ 69", "+ 5");
    assert!((0..40).any(|seed| run_seed(&cut, &GFX950, seed, &Intrinsics::new()).is_err()));
}

#[test]
fn misuse_of_queues() {
    let fails = |from: &str, to: &str, code, text, marked| fails(&PUT.replace(from, to), &GFX950, code, text, marked);
    fails("next, 64, queue", "next, 4096 * 64, queue", Code::OUT_OF_BOUNDS, "262144 bytes", "sdma.put");
    fails("recv@next![t", "recv@prev![t", Code::INTERNAL, "asked to copy between ranks", "sdma.put");
    fails(
        "send![t * 32], next, 64, queue = 1",
        "send![t * 32], lsa((me + t) % 3), 64, queue = 1",
        Code::INTERNAL,
        "asked",
        "sdma.put",
    );
    // Zero bytes post nothing, the signal included.
    fails("next, 64, queue", "next, 0, queue", Code::DEADLOCK, "has 0, needs 1", "sdma.wait_signal");
    fails(
        "remote_signal = true",
        "remote_signal = true, aggregate = true",
        Code::DEADLOCK,
        "has 0, needs 1",
        "sdma.wait_signal",
    );
}

#[test]
fn batches() {
    let put = "sdma.put(recv@next![t * 32], send![t * 32], next, 64, queue = 1, coop = thread, mode = same_queue, remote_signal = true";
    let source = PUT.replace(&format!("{put});"), &format!("{put}, aggregate = true); sdma.commit(next, queue = 1);"));
    assert_ne!(source, PUT);
    passes(&source, &GFX950, 198);
    let twice = PUT.replace(&format!("{put});"), &format!("{put}, aggregate = true); {put});"));
    fails(&twice, &GFX950, Code::DEADLOCK, "was not committed", "sdma.put");
    // A batch that nobody commits is worth a warning.
    let body = "let next = (me + 1) % comm.lsa_size; sdma.put(w@next![0], w![8], next, 8, queue = 0, coop = block, aggregate = true);";
    let lost = format!(
        "kernel k(comm: devcomm, w: window<u8>[64]) launch(grid = [1], block = [64]) {{ {body} }} run k {{ ranks = 2; }}"
    );
    assert_eq!(run_seed(&lost, &GFX950, 0, &Intrinsics::new()).expect("runs").1, 2);
}

#[test]
fn bare_signals_and_gets() {
    let source = "
kernel k(comm: devcomm, w: window<u8>[64], v: window<u8>[64]) launch(grid = [1], block = [64])
{
    let next = (me + 1) % comm.lsa_size;
    let prev = (me + comm.lsa_size - 1) % comm.lsa_size;
    sdma.get(v![0], w@next![0], next, 64, queue = 0, coop = block);
    sdma.quiet_queue(next, queue = 0, coop = block);
    sdma.signal(next, queue = 3, coop = thread);
    sdma.wait_signal(prev, 1, queue = 3);
    let x = v![thread.x];
    v![thread.x] = x + 1;
}
run k { ranks = 3; w = iota; expect v[5] == u8((rank + 1) % ranks * 64 + 6); }
";
    passes(source, &GFX950, 3);
}

#[test]
fn large_grids_run_in_turns() {
    let source = "kernel k(a: global<i32>[1000]) launch(grid = [1000], block = [64]) { if thread.x == 0 { a![block.x] = i32(block.x); } }
        run k { expect a[999] == 999; expect a[17] == 17; }";
    passes(source, &GFX950, 8);
}

#[test]
fn intrinsics_of_others() {
    let source = kernel(
        64,
        "let r = acme.reverse(b![thread.x], a![thread.x], 3); b![thread.x + 64] = u16(r);",
        "expect b[0..2] == 31; expect b[65] == 4;",
    );
    let source = source.replace("expect b[0..2] == 31;", "expect b[0] == 31; expect b[1] == 30;");
    assert!(run_seed(&source, &SM_90A, 0, &Intrinsics::new()).is_err());
    let mut ops = Intrinsics::new();
    ops.add("acme.reverse", |ctx| {
        if !ctx.is_whole_warp() {
            return Err(ctx.error(Code::COLLECTIVE_UNDER_GUARD, "needs the whole warp"));
        }
        let last = ctx.warp_size() - 1;
        for lane in ctx.lanes() {
            let bits = ctx.read(1, last - lane, 0)?;
            ctx.write(0, lane, 0, bits)?;
            let value = ctx.value(2, lane)?;
            ctx.set_result(lane, value + u64::from(lane % 32 % 2));
        }
        Ok(())
    });
    assert_eq!(run_seed(&source, &SM_90A, 0, &ops).expect("runs").0, 6);
}

/// The engine forwards: rank r puts to the next rank; that rank's engine waits for the signal and forwards one further.
const RELAY: &str = "
kernel k(comm: devcomm, a: window<u8>[64], b: window<u8>[64], c: window<u8>[64]) launch(grid = [1], block = [64])
{
    let n = comm.lsa_size;
    let next = (me + 1) % n;
    let prev = (me + n - 1) % n;
    sdma.post_wait_signal(prev, 1, next, queue = 1, signal_queue = 0, coop = block);
    sdma.put(c@next![0], b![0], next, 64, queue = 1, coop = block, remote_signal = true);
    sdma.put(b@next![0], a![0], next, 64, queue = 0, coop = block, remote_signal = true);
    sdma.wait_signal(prev, 1, queue = 1);
    sdma.quiet(next, coop = block);
}
run k { ranks = 3; a = iota; expect c[7] == u8((rank + 1) % ranks * 64 + 7); }
";

#[test]
fn engines_wait_for_signals() {
    passes(RELAY, &GFX950, 3);
    // Without the wait, the second hop may run before the first.
    let wait = "sdma.post_wait_signal(prev, 1, next, queue = 1, signal_queue = 0, coop = block);";
    let cut = RELAY.replace(wait, "");
    assert!((0..40).any(|seed| run_seed(&cut, &GFX950, seed, &Intrinsics::new()).is_err()));
    let two = RELAY.replace("post_wait_signal(prev, 1,", "post_wait_signal(prev, 2,");
    fails(&two, &GFX950, Code::DEADLOCK, "has 0, needs 1", "sdma.wait_signal");
    let left = two.replace("sdma.wait_signal(prev, 1, queue = 1);", "").replace("sdma.quiet(next, coop = block);", "");
    fails(&left, &GFX950, Code::DEADLOCK, "is parked: the signal of queue 0 from rank", "sdma.post_wait_signal");
    let batch = format!(
        "{}, aggregate = true); sdma.put(c@next![0], b![0], next, 64, queue = 1, coop = block, aggregate = true, \
         remote_signal = true); sdma.commit(next, queue = 1, coop = block);",
        wait.trim_end_matches(");")
    );
    let put = "sdma.put(c@next![0], b![0], next, 64, queue = 1, coop = block, remote_signal = true);";
    passes(&RELAY.replace(put, "").replace(wait, &batch), &GFX950, 3);
}

/// Each rank gates the copies to it: a peer's engine waits until this rank's flag has come.
const GATED: &str = "
kernel k(comm: devcomm, ready: window<u32>[8], one: window<u32>[8], a: window<u8>[8, 64], b: window<u8>[8, 64])
    launch(grid = [1], block = [64])
{
    let t = thread.linear;
    let n = comm.lsa_size;
    if t < n {
        let peer = lsa(t);
        sdma.post_wait_mem_put_ptr(ready![t], 7, b@peer![me * 64], a![t * 64], peer, 64, queue = 1, remote_signal = true);
        sdma.put(ready@peer![me], one![0], peer, 4, queue = 0);
        sdma.wait_signal(peer, 1, queue = 1);
        sdma.quiet(peer);
    }
}
run k { ranks = 3; a = iota; one = 7; expect b[1, 5] == u8(rank * 64 + 5); }
";

#[test]
fn engines_wait_for_memory() {
    let source = GATED;
    passes(source, &GFX950, 3);
    let cut = source.replace("sdma.put(ready@peer![me], one![0], peer, 4, queue = 0);", "");
    fails(&cut, &GFX950, Code::DEADLOCK, "has 0, needs 1", "sdma.wait_signal");
    let left = cut.replace("sdma.wait_signal(peer, 1, queue = 1);", "").replace("sdma.quiet(peer);", "");
    fails(&left, &GFX950, Code::DEADLOCK, "is parked: byte 0 of `ready` is", "sdma.post_wait_mem_put_ptr");
    // A queue that is computed and is not there: nothing is posted, and nobody signals.
    let none = source.replace("peer, 64, queue = 1,", "peer, 64, t + 8,");
    fails(&none, &GFX950, Code::DEADLOCK, "has 0, needs 1", "sdma.wait_signal");
    let ge =
        source.replace("remote_signal", "cmp = ge, mask = 6, remote_signal").replace("ready![t], 7", "ready![t], 6");
    passes(&ge, &GFX950, 3);
    // No bytes: the wait and the signal.
    let empty = source.replace("peer, 64, queue", "peer, 0, queue").replace("expect b[1, 5] == u8(rank * 64 + 5);", "");
    passes(&empty, &GFX950, 0);
    let nothing = empty.replace(", remote_signal = true", "");
    fails(&nothing, &GFX950, Code::DEADLOCK, "has 0, needs 1", "sdma.wait_signal");
}

#[test]
fn broadcasts() {
    let source = "
kernel k(comm: devcomm, a: window<u8>[64], b: window<u8>[64], c: window<u8>[64]) launch(grid = [1], block = [64])
{
    let n = comm.lsa_size;
    let next = (me + 1) % n;
    let prev = (me + n - 1) % n;
    sdma.put_broadcast(b@next![0], c@me![32], a![0], next, me, 32, queue = 2, coop = warp, local_signal = true, remote_signal = true);
    sdma.wait_signal(prev, 1, queue = 2);
    sdma.wait_signal(me, 1, queue = 2);
}
run k { ranks = 3; a = iota; expect b[7] == u8((rank + ranks - 1) % ranks * 64 + 7); expect c[40] == u8(rank * 64 + 8); }
";
    passes(source, &GFX950, 6);
    fails(&source.replace("![32], a", "![16], a"), &GFX950, Code::OP_OPERANDS, "low five bits", "sdma.put_broadcast");
    // Each destination's signal is raised once, this rank's never.
    let twice = source.replace("wait_signal(me, 1", "wait_signal(me, 2");
    fails(&twice, &GFX950, Code::DEADLOCK, "has 1, needs 2", "sdma.wait_signal");
}

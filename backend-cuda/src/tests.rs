//! Lowered kernels, written as text, to PTX.

use tilewright_backend_llvm::{Emitted, Error};
use tilewright_ir::Module;
use tilewright_target::{SM_80, SM_90A, SM_100A, Target};

use crate::{Options, compile};

fn lowered(source: &str) -> Module {
    tilewright_ir::text::parse(source).into_result().unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn try_ptx(source: &str, target: &Target) -> Result<Emitted, Error> {
    compile(&lowered(source), target, &Options { ir: true, ..Options::default() })
}

fn ptx(source: &str, target: &Target) -> String {
    let emitted = try_ptx(source, target).unwrap_or_else(|e| panic!("{e}\n{source}"));
    emitted.asm.expect("asked for")
}

/// Everything of the language that a lowered kernel may hold here, in one kernel.
const ALL: &str = "
kernel all(a: global<f16>[1024], b: global<f16>[1024], s: f32, flag: bool, e: global<f8e4m3>[64], q: global<i4>[64], t: global<u32>[16],
           h: global<bf16>[64])
    where(n: u64) launch(grid = [2], block = [32, 4])
{
    shared tile: f16[1024] align 128;
    local row: f16[8];
    let tid = thread.linear;
    let lane = thread.lane;
    vec.copy(row![0], a![tid * 8], n = 8, align = 16);
    vec.copy(tile![tid * 8], row![0], n = 8);
    barrier(scope = cta);
    let x = tile![(tid + 1) % 128 * 8];
    let y = f16(f32(x) * s);
    b![tid] = y;
    for i in 0..index(n) { b![i] = x; }
    unroll for i in 0..2 { row![i] = x; }
    if lane == 0 && flag { let r = row![0]; b![1] = r; } else { let r = row![1]; b![1] = r; }
    vec.copy(b![tid * 8], row![0], n = 8, align = 16);
    e![tid % 64] = f8e4m3(s);
    let f = e![0];
    b![2] = f16(f);
    q![tid % 64] = i4(tid);
    let g = q![1];
    t![0] = u32(g);
    let u = h![0];
    h![1] = u + u * bf16(s);
    mem.wait_eq(t![1], 7);
    fence.release(scope = system);
    barrier(scope = warp);
    nv.ldmatrix(tile![lane % 8 * 8 + lane / 8 * 64], row![0], row![2], row![4], row![6], num = 4, trans = false);
    vec.copy(b![tid * 8 + 512], row![0], n = 8, align = 16);
    fence.acquire(scope = agent);
}
";

/// The lines of a PTX text that contain a word.
fn lines_with<'p>(ptx: &'p str, word: &str) -> Vec<&'p str> {
    ptx.lines().map(str::trim).filter(|line| line.contains(word)).collect()
}

#[test]
fn the_whole_language_compiles_for_every_target() {
    for target in [&SM_80, &SM_90A, &SM_100A] {
        let ptx = ptx(ALL, target);
        assert!(ptx.contains(&format!(".target {}", target.name)), "{ptx}");
        assert_eq!(lines_with(&ptx, "ntid"), [".reqntid 32, 4, 1"]);
        // Registers are registers: nothing was left on a stack.
        assert!(!ptx.contains(".local"), "{ptx}");
        for word in ["ld.global.v4.b32", "st.shared.v4.b32", "bar.sync", "bar.warp.sync", "ld.relaxed.sys"] {
            assert!(ptx.contains(word), "{word} is missing in {ptx}");
        }
        // Acquire, release, acquire; newer targets have fences of one direction.
        assert_eq!(lines_with(&ptx, "fence.").len(), 3, "{ptx}");
    }
}

/// One warp moves matrices between shared memory and registers.
fn matrices(op: &str, num: usize, trans: bool) -> String {
    let registers: Vec<String> = (0..num).map(|i| format!("row![{}]", 2 * i)).collect();
    let registers = registers.join(", ");
    format!(
        "kernel m(a: global<f16>[512], b: global<f16>[512]) launch(grid = [1], block = [32]) {{
            shared tile: f16[512];
            local row: f16[8];
            let tid = thread.x;
            vec.copy(tile![tid * 8], a![tid * 8], n = 8);
            vec.copy(row![0], a![tid * 8], n = 8);
            barrier(scope = cta);
            {op}(tile![tid * 8], {registers}, num = {num}, trans = {trans});
            barrier(scope = cta);
            vec.copy(b![tid * 8], row![0], n = 8);
            vec.copy(b![tid * 8 + 256], tile![tid * 8], n = 8);
        }}"
    )
}

#[test]
fn matrix_instructions() {
    for num in [1, 2, 4] {
        for (trans, word) in [(false, ""), (true, ".trans")] {
            let loads = ptx(&matrices("nv.ldmatrix", num, trans), &SM_80);
            let wanted = format!("ldmatrix.sync.aligned.m8n8.x{num}{word}.shared.b16");
            assert_eq!(lines_with(&loads, "ldmatrix").len(), 1, "{loads}");
            assert!(loads.contains(&wanted), "{wanted} is missing in {loads}");
            let stores = ptx(&matrices("nv.stmatrix", num, trans), &SM_90A);
            let wanted = format!("stmatrix.sync.aligned.m8n8.x{num}{word}.shared.b16");
            assert!(stores.contains(&wanted), "{wanted} is missing in {stores}");
        }
    }
}

#[test]
fn what_the_target_lacks_is_refused_before_llvm_sees_it() {
    let refused = |source: &str, target: &Target| match try_ptx(source, target) {
        Err(error @ Error::Unsupported { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let text = refused(&matrices("nv.stmatrix", 2, false), &SM_80);
    assert_eq!(text, "sm_80 has no stmatrix: it came with sm_90");
    let put = "kernel k(comm: devcomm, w: window<u8>[64], to: lsa_rank) launch(grid = [1], block = [32]) {
        sdma.put(w@to![0], w![0], to, 64, queue = 0);
    }";
    assert!(refused(put, &SM_90A).contains("drives an AMD copy engine"));
    let remainder = "kernel k(o: global<f32>[1], x: f32) launch(grid = [1], block = [1]) { o![0] = x % 2.0; }";
    assert!(refused(remainder, &SM_90A).contains('%'));
}

#[test]
fn a_module_that_is_not_lowered_is_refused() {
    let logical = "kernel k(o: global<f32>[4]) launch(grid = [1], block = [1]) { o[1] = 1.0; }";
    assert!(matches!(try_ptx(logical, &SM_90A), Err(Error::Malformed { .. })));
    let tile = "kernel k(o: global<f32>[4], i: global<f32>[4]) launch(grid = [1], block = [1]) { copy o <- i by cta; }";
    assert!(matches!(try_ptx(tile, &SM_90A), Err(Error::Malformed { .. })));
}

#[test]
fn barriers_of_part_of_a_block_are_named() {
    let kernel = |scope: &str, threads: u32| {
        format!(
            "kernel k(o: global<f32>[4096]) launch(grid = [1], block = [{threads}]) {{
                shared x: f32[4096];
                x![thread.x] = 1.0;
                barrier(scope = {scope});
                let y = x![thread.x / 2];
                o![thread.x] = y;
            }}"
        )
    };
    let all = ptx(&kernel("warpgroup", 128), &SM_90A);
    assert_eq!(
        lines_with(&all, "bar").into_iter().filter(|l| l.starts_with("bar")).collect::<Vec<_>>(),
        ["bar.sync \t0;"]
    );
    let some = ptx(&kernel("warpgroup", 512), &SM_90A);
    assert!(
        lines_with(&some, "barrier").iter().chain(&lines_with(&some, "bar.sync")).any(|l| l.ends_with(", 128;")),
        "{some}"
    );
    assert!(matches!(try_ptx(&kernel("warpgroup", 192), &SM_90A), Err(Error::Unsupported { .. })));
}

#[test]
fn shared_memory_above_the_static_limit_is_dynamic() {
    let kernel = |elements: u32| {
        format!(
            "kernel k(o: global<f32>[64]) launch(grid = [1], block = [64]) {{
                shared a: f32[16];
                shared b: f32[{elements}];
                a![thread.x % 16] = 1.0;
                b![thread.x] = 2.0;
                barrier(scope = cta);
                let x = a![0];
                let y = b![63 - thread.x];
                o![thread.x] = x + y;
            }}"
        )
    };
    let small = ptx(&kernel(64), &SM_90A);
    assert!(!small.contains(".extern .shared"), "{small}");
    let large = ptx(&kernel(16384), &SM_90A);
    assert!(large.contains(".extern .shared .align 128 .b8 tw_shared_k[]"), "{large}");
    // The second buffer follows the first at its alignment.
    assert_eq!(
        tilewright_backend_llvm::emit::shared_bytes(lowered(&kernel(16384)).kernel("k").expect("k")),
        Ok(64 + 65536)
    );
}

#[test]
fn windows_are_the_flat_mapped_bases_of_the_communicator() {
    let source = "kernel k(comm: devcomm, w: window<u32>[64]) launch(grid = [1], block = [32]) {
        let next = (comm.lsa_rank + 1) % comm.lsa_size;
        let x = w![thread.x];
        w@next![thread.x + 32] = x;
    }";
    let ptx = ptx(source, &SM_90A);
    assert!(ptx.contains(".param .align 8 .b8 k_param_0[200]"), "{ptx}");
    assert!(!ptx.contains("st.local") && !ptx.contains("ld.local"), "{ptx}");
    // Only the window's own description is constant: a peer may write what is read through it.
    let constant = lines_with(&ptx, "ld.global.nc");
    assert!(constant.iter().all(|line| line.contains("[%rd1]") || line.contains("[%rd1+8]")), "{ptx}");
    assert_eq!(lines_with(&ptx, "ld.global.b32").len(), 1, "{ptx}");
}

#[test]
fn a_buffer_of_a_repeated_body_is_one_buffer() {
    let source = "kernel k(o: global<f32>[64]) launch(grid = [1], block = [32]) {
        unroll for i in 0..4 {
            shared x: f32[32];
            x![thread.x] = f32(i);
            barrier(scope = cta);
            let y = x![31 - thread.x];
            o![thread.x] = y;
            barrier(scope = cta);
        }
    }";
    let ptx = ptx(source, &SM_90A);
    assert_eq!(lines_with(&ptx, ".shared .align").len(), 1, "{ptx}");
}

#[test]
fn the_longest_expressions_that_parse_compile() {
    let sum = vec!["thread.x * 3"; 900].join(" + ");
    let nested = format!("{}thread.x{}", "(1 + ".repeat(100), ")".repeat(100));
    let source = format!(
        "kernel k(o: global<i64>[64]) launch(grid = [1], block = [32]) {{ let a = {sum}; let b = {nested}; o![0] = i64(a + b); }}"
    );
    assert!(ptx(&source, &SM_90A).contains("st.global"));
}

#[test]
fn many_statements_take_time_in_proportion() {
    let body: String = (0..3000).map(|i| format!("let x{i} = o![{i}]; o![{} + thread.x] = x{i};\n", i + 1)).collect();
    let source = format!("kernel k(o: global<i32>[4096]) launch(grid = [1], block = [32]) {{ {body} }}");
    assert!(try_ptx(&source, &SM_90A).is_ok());
}

/// Whether LLVM, folding constants, finds a boolean expression over typed lets to be true.
fn holds(lets: &str, condition: &str) -> bool {
    let source =
        format!("kernel k(o: global<bool>[1]) launch(grid = [1], block = [1]) {{ {lets} o![0] = {condition}; }}");
    let emitted = try_ptx(&source, &SM_90A).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let stores: Vec<&str> = emitted.optimized_ir.lines().filter(|line| line.contains("store i8")).collect();
    assert_eq!(stores.len(), 1, "{source}\n{}", emitted.optimized_ir);
    match stores[0].trim().split(',').next() {
        Some("store i8 1") => true,
        Some("store i8 0") => false,
        _ => panic!("not folded: {}\n{source}", stores[0]),
    }
}

#[test]
fn integers_compute_as_the_language_says() {
    for condition in [
        "u8(255) + u8(1) == u8(0)",
        "i8(127) + i8(1) == i8(-128)",
        "index(7) / 0 == 0",
        "index(7) % 0 == 0",
        "index(-7) / 2 == -3",
        "index(-7) % 2 == -1",
        "index(-9223372036854775807 - 1) / -1 == -9223372036854775807 - 1",
        "index(-9223372036854775807 - 1) % -1 == 0",
        "u8(1) << 9 == u8(2)",
        "i32(-8) >> 33 == i32(-4)",
        "u32(4294967288) >> 1 == u32(2147483644)",
        "u64(-1) > u64(1)",
        "u64(-1) / u64(2) == u64(9223372036854775807)",
        "min(i8(-1), i8(1)) == i8(-1)",
        "max(u8(255), u8(1)) == u8(255)",
        "i4(15) == i4(-1)",
        "index(u4(15)) == 15",
        "index(i4(8)) == -8",
        "u8(1) + i32(-2) == -1",
        "i32(index(4294967297)) == i32(1)",
        "bool(i32(2)) && !bool(u8(0))",
        "select(u8(3) < u8(4), i32(5), i32(6)) == i32(5)",
    ] {
        assert!(holds("", condition), "{condition}");
    }
}

#[test]
fn floats_compute_and_convert_as_the_language_says() {
    for condition in [
        "f32(1.0) / f32(3.0) == f32(0.3333333432674408)",
        "i8(f32(-1000.0)) == i8(-128)",
        "u8(f32(-1.0)) == u8(0)",
        "u32(f32(nan)) == u32(0)",
        "i32(f64(2147483648.0)) == i32(2147483647)",
        "index(f32(-2.9)) == -2",
        "u64(f16(65504.0)) == u64(65504)",
        "u4(f32(99.0)) == u4(15)",
        "f32(index(16777217)) == f32(16777216.0)",
        "f16(f32(65520.0)) > f16(65504.0)",
        "f32(bf16(f32(1.005859375))) == f32(1.0078125)",
        "f32(bf16(f32(1.00390625))) == f32(1.0)",
        "min(f32(nan), f32(1.0)) == f32(1.0)",
        "max(f32(1.0), f32(nan)) == f32(1.0)",
        "f32(nan) != f32(nan)",
        "!(f32(nan) < f32(1.0))",
        "bool(f32(nan))",
        "-f32(0.0) == f32(0.0)",
        // Small floats: the largest value, ties to even, subnormals, sums, infinities become the largest.
        "f32(f8e4m3(f32(1000.0))) == f32(448.0)",
        "f32(f8e4m3(f32(-1000.0))) == f32(-448.0)",
        "f32(f8e4m3(f32(17.0))) == f32(16.0)",
        "f32(f8e4m3(f32(19.0))) == f32(20.0)",
        "f32(f8e4m3(f32(0.001953125))) == f32(0.001953125)",
        "f32(f8e4m3(f32(0.0009765625))) == f32(0.0)",
        "f32(f8e4m3(f32(0.0029296875))) == f32(0.00390625)",
        "f32(f8e4m3(f32(nan))) != f32(0.0)",
        "f32(f8e5m2(f32(inf))) == f32(57344.0)",
        "f32(f8e5m2(f32(0.0000152587890625))) == f32(0.0000152587890625)",
        "f32(f4(f32(2.5))) == f32(2.0)",
        "f32(f4(f32(3.5))) == f32(4.0)",
        "f32(f4(f32(-100.0))) == f32(-6.0)",
        "f32(f4(f32(nan))) == f32(0.0)",
        "f8e4m3(1.5) + f8e4m3(2.25) == f8e4m3(3.75)",
        "f8e4m3(1.5) * f8e4m3(-2.0) < f8e4m3(0.0)",
        "max(f4(0.5), f4(6.0)) == f4(6.0)",
    ] {
        assert!(holds("", condition), "{condition}");
    }
}

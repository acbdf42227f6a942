//! Lowered kernels, written as text, to assembly and code objects.

use object::{Object, ObjectSection, ObjectSymbol};
use tilewright_backend_llvm::{Error, OptLevel};
use tilewright_ir::Module;
use tilewright_target::{GFX942, GFX950, GFX1250, Target};

use crate::{CompileError, Compiled, Options, compile, describe_arguments};

fn lowered(source: &str) -> Module {
    tilewright_ir::text::parse(source).into_result().unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn compiled(source: &str, target: &Target) -> Compiled {
    let options = Options { asm: true, ..Options::default() };
    compile(&lowered(source), target, &options).unwrap_or_else(|e| panic!("{e}\n{source}"))
}

fn asm_for(source: &str, target: &Target) -> String {
    compiled(source, target).emitted.asm.expect("asked for")
}

fn asm(source: &str) -> String {
    asm_for(source, &GFX950)
}

/// Everything of the language that a lowered kernel may hold, in one kernel.
const ALL: &str = "
kernel all(comm: devcomm, a: global<f16>[1024], w: window<f16>[1024], b: global<f16>[1024], s: f32, flag: bool, e: global<f8e4m3>[64],
           q: global<i4>[64], t: global<u32>[16], to: lsa_rank)
    where(n: u64) launch(grid = [2], block = [32, 4])
{
    shared tile: f16[1024] align 128;
    local row: f16[8];
    let tid = thread.linear;
    let lane = thread.lane;
    let next = (comm.lsa_rank + 1) % comm.lsa_size;
    vec.copy(row![0], a![tid * 8], n = 8, align = 16);
    vec.copy(tile![tid * 8], row![0], n = 8);
    barrier(scope = cta);
    let x = tile![(tid + 1) % 128 * 8];
    let y = f16(f32(x) * s);
    b![tid] = y;
    for i in 0..index(n) { b![i] = x; }
    unroll for i in 0..2 { row![i] = x; }
    if lane == 0 && flag { let r = row![0]; b![1] = r; } else { let r = row![1]; b![1] = r; }
    vec.copy(w@next![tid * 8], row![0], n = 8, align = 16);
    e![tid % 64] = f8e4m3(s);
    let f = e![0];
    b![2] = f16(f);
    q![tid % 64] = i4(tid);
    let h = q![1];
    t![0] = u32(h);
    mem.wait_eq(t![1], 7);
    fence.release(scope = system);
    barrier(scope = warp);
    if tid == 0 {
        sdma.put(w@to![0], w![512], to, 1024, queue = 1, coop = block, remote_signal = true);
        sdma.quiet_queue(to, queue = 1);
        sdma.wait_signal(next, 3, queue = 1);
        sdma.signal(next, queue = 1);
        sdma.commit(next, queue = 1);
    }
    fence.acquire(scope = system);
}
";

/// The instructions of one kernel.
fn instructions<'a>(asm: &'a str, kernel: &str) -> Vec<&'a str> {
    let start = format!("\n{kernel}:");
    let body = asm.split(&start).nth(1).expect("the kernel").split("\t.section").next().expect("its end");
    body.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with([';', '.']) && !l.ends_with(':')).collect()
}

/// Instructions by name, those that matter to a test.
fn named<'a>(asm: &'a str, prefixes: &[&str]) -> Vec<&'a str> {
    let names = instructions(asm, "k").into_iter().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| prefixes.iter().any(|prefix| name.starts_with(prefix))).collect()
}

fn owned(names: Vec<&str>) -> Vec<String> {
    names.into_iter().map(str::to_string).collect()
}

#[test]
fn the_whole_language_compiles_and_links() {
    for target in [&GFX950, &GFX942, &GFX1250] {
        let out = compiled(ALL, target);
        let asm = out.emitted.asm.as_deref().expect("asked for");
        assert!(asm.contains(".private_segment_fixed_size: 0"), "registers are registers: {asm}");
        assert!(asm.contains(".group_segment_fixed_size: 2048"));
        assert!(asm.contains(".max_flat_workgroup_size: 128"));
        let code = out.hsaco.expect("linked");
        let file = object::File::parse(&*code).expect("an ELF");
        let object::FileFlags::Elf { e_flags, .. } = file.flags() else { panic!("no ELF") };
        assert_eq!(e_flags, target.elf.expect("AMD").e_flags);
        assert!(file.section_by_name(".note").is_some_and(|note| note.size() > 0));
        let symbols: Vec<&str> = file.dynamic_symbols().filter_map(|symbol| symbol.name().ok()).collect();
        assert_eq!(symbols, ["all", "all.kd"]);
    }
}

#[test]
fn the_argument_block_is_described_as_llvm_lays_it_out() {
    let module = lowered(ALL);
    let described = describe_arguments(module.kernel("all").expect("it is there"));
    let asm = asm(ALL);
    let numbers = |key: &str| -> Vec<u32> {
        let values = asm.lines().filter_map(|line| line.trim().trim_start_matches("- ").strip_prefix(key));
        values.filter_map(|value| value.trim().parse().ok()).collect()
    };
    assert_eq!(described.iter().map(|argument| argument.offset).collect::<Vec<_>>(), numbers(".offset:"));
    assert_eq!(described.iter().map(|argument| argument.bytes).collect::<Vec<_>>(), numbers(".size:"));
    let names: Vec<&str> = described.iter().map(|argument| argument.name.as_str()).collect();
    assert_eq!(names, ["comm", "a", "w", "b", "s", "flag", "e", "q", "t", "to", "n"]);
    assert!(asm.contains(".kernarg_segment_size: 272"), "no hidden arguments: {asm}");
}

#[test]
fn hidden_parameters_follow_the_symbolic_extents() {
    let source = "kernel k(a: global<u8>[n], hidden base: global<u64>[8], c: f32) where(n: u32) launch(grid = [1], block = [1]) { }";
    let described = describe_arguments(lowered(source).kernel("k").expect("it is there"));
    let order: Vec<(&str, u32, bool)> = described.iter().map(|a| (a.name.as_str(), a.offset, a.hidden)).collect();
    assert_eq!(order, [("a", 0, false), ("c", 8, false), ("n", 12, false), ("base", 16, true)]);
}

/// A kernel of `threads` threads with one statement between a store to shared memory and a load from it.
fn between(statement: &str, threads: u32) -> String {
    format!(
        "kernel k(o: global<u32>[4096]) launch(grid = [1], block = [{threads}]) {{
            shared x: u32[4096];
            x![thread.x] = 7;
            {statement};
            let y = x![thread.x / 2];
            o![thread.x] = y;
        }}"
    )
}

#[test]
fn barriers() {
    let barriers = |source: &str| owned(named(&asm(source), &["s_barrier", "ds_"]));
    assert_eq!(barriers(&between("barrier(scope = cta)", 256)), ["ds_write_b32", "s_barrier", "ds_read_b32"]);
    // One wave needs no barrier instruction, whatever the scope.
    assert_eq!(barriers(&between("barrier(scope = warp)", 256)), ["ds_write_b32", "ds_read_b32"]);
    assert_eq!(barriers(&between("barrier(scope = warpgroup)", 256)), ["ds_write_b32", "s_barrier", "ds_read_b32"]);
    let refused = compile(&lowered(&between("barrier(scope = warpgroup)", 512)), &GFX950, &Options::default());
    assert!(matches!(refused, Err(CompileError::Code(Error::Unsupported { .. }))));
}

#[test]
fn gfx1250_has_barriers_of_two_parts_and_waves_of_32_lanes() {
    let barriers = |source: &str| owned(named(&asm_for(source, &GFX1250), &["s_barrier", "ds_"]));
    let met = ["ds_store_b32", "s_barrier_signal", "s_barrier_wait", "ds_load_b32"];
    // 64 threads are two waves.
    assert_eq!(barriers(&between("barrier(scope = cta)", 64)), met);
    assert_eq!(barriers(&between("barrier(scope = cta)", 32)), ["ds_store_b32", "ds_load_b32"]);
    assert_eq!(barriers(&between("barrier(scope = warp)", 64)), ["ds_store_b32", "ds_load_b32"]);
    // A warp of 64 lanes is two waves, which cannot meet without the rest of their block.
    let wide = |threads: u32| between("barrier(scope = warp)", threads).replace(") {", ", warp = 64) {");
    assert_eq!(barriers(&wide(64)), met);
    let refused = compile(&lowered(&wide(128)), &GFX1250, &Options::default()).expect_err("refused").to_string();
    assert!(refused.contains("waves of 32 lanes") && refused.contains("sync cta"), "{refused}");
}

#[test]
fn gfx1250_retires_with_its_own_counters() {
    let asm = asm_for(
        "kernel k(o: global<u32>[4096]) launch(grid = [1], block = [256]) {
            o![thread.x] = 7;
            barrier(scope = cta);
            fence.release(scope = system);
            o![4095] = 8;
        }",
        &GFX1250,
    );
    let all = named(&asm, &["global_", "s_barrier", "s_wait_storecnt", "s_waitcnt"]);
    let wanted = [
        "global_store_b32",
        "s_wait_storecnt",
        "s_barrier_signal",
        "s_barrier_wait",
        "global_wb",
        "s_wait_storecnt",
        "global_store_b32",
    ];
    assert!(all.ends_with(&wanted), "{all:?}");
}

#[test]
fn a_barrier_before_memory_is_handed_on_retires_it() {
    // A store of each wave, a barrier, and what the first thread does for all.
    let retires = |leader: &str, threads: u32| {
        let source = format!(
            "kernel k(o: global<u32>[4096]) launch(grid = [1], block = [{threads}]) {{
                o![thread.x] = 7;
                barrier(scope = cta);
                if thread.x == 0 {{ {leader} }}
            }}"
        );
        let asm = asm(&source);
        let all = instructions(&asm, "k");
        let store = all.iter().position(|line| line.starts_with("global_store")).expect("a store");
        let barrier = all.iter().position(|line| line.starts_with("s_barrier"));
        barrier.is_some_and(|barrier| all[store..barrier].iter().any(|line| line.starts_with("s_waitcnt vmcnt(0)")))
    };
    assert!(retires("fence.release(scope = system);", 256) && retires("fence.release(scope = agent);", 256));
    // The write-back is waited for, too, although the wait before the barrier leaves nothing else in flight.
    let asm = asm("kernel k(o: global<u32>[4096]) launch(grid = [1], block = [256]) {
            o![thread.x] = 7;
            barrier(scope = cta);
            fence.release(scope = system);
            o![4095] = 8;
        }");
    let all = named(&asm, &["buffer_", "s_barrier", "s_waitcnt", "global_"]);
    let wanted = ["global_store_dword", "s_waitcnt", "s_barrier", "buffer_wbl2", "s_waitcnt", "global_store_dword"];
    assert!(all.ends_with(&wanted), "{all:?}");
    // Nobody else looks, or there is one wave and no barrier.
    assert!(!retires("fence.release(scope = cta);", 256) && !retires("fence.release(scope = system);", 64));
}

#[test]
fn fences_reach_their_scope() {
    let fences = |statement: &str| {
        let asm = asm(&between(statement, 64));
        let lines = instructions(&asm, "k").into_iter();
        lines.filter(|line| line.starts_with("buffer_")).map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(fences("fence.release(scope = system)"), ["buffer_wbl2 sc0 sc1"]);
    assert_eq!(fences("fence.acquire(scope = system)"), ["buffer_inv sc0 sc1"]);
    assert_eq!(fences("fence.release(scope = agent)"), ["buffer_wbl2 sc1"]);
    assert_eq!(fences("fence.acquire(scope = agent)"), ["buffer_inv sc1"]);
    assert!(fences("fence.release(scope = cta)").is_empty());
    let fences = |statement: &str| {
        let asm = asm_for(&between(statement, 64), &GFX1250);
        let lines = instructions(&asm, "k").into_iter();
        let ours = ["global_wb", "global_inv"];
        lines.filter(|line| ours.iter().any(|name| line.starts_with(name))).map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(fences("fence.release(scope = system)"), ["global_wb scope:SCOPE_SYS"]);
    assert_eq!(fences("fence.acquire(scope = system)"), ["global_inv scope:SCOPE_SYS"]);
    assert_eq!(fences("fence.release(scope = agent)"), ["global_wb scope:SCOPE_DEV"]);
    assert_eq!(fences("fence.acquire(scope = agent)"), ["global_inv scope:SCOPE_DEV"]);
    assert!(fences("fence.release(scope = cta)").is_empty());
}

#[test]
fn accesses_have_the_width_and_alignment_they_say() {
    let copy = |target: &Target, n: u32, align: u32, first: u32| {
        let source = format!(
            "kernel k(a: global<f16>[4096], o: global<f16>[4096]) launch(grid = [1], block = [64]) {{
                shared x: f16[4096];
                vec.copy(x![thread.x * {n} + {first}], a![thread.x * {n}], n = {n}, align = {align});
                barrier(scope = cta);
                vec.copy(o![thread.x * {n}], x![thread.x * {n} + {first}], n = {n}, align = {align});
            }}"
        );
        owned(named(&asm_for(&source, target), &["global_", "ds_"]))
    };
    assert_eq!(
        copy(&GFX950, 8, 16, 0),
        ["global_load_dwordx4", "ds_write_b128", "ds_read_b128", "global_store_dwordx4"]
    );
    assert_eq!(copy(&GFX950, 4, 8, 0), ["global_load_dwordx2", "ds_write_b64", "ds_read_b64", "global_store_dwordx2"]);
    assert_eq!(copy(&GFX950, 1, 2, 0), ["global_load_ushort", "ds_write_b16", "ds_read_u16", "global_store_short"]);
    // A shared access of 16 bytes at 8-byte alignment is two of 8.
    assert_eq!(copy(&GFX950, 8, 8, 4)[1], "ds_write2_b64");
    assert_eq!(copy(&GFX1250, 8, 16, 0), ["global_load_b128", "ds_store_b128", "ds_load_b128", "global_store_b128"]);
    assert_eq!(copy(&GFX1250, 8, 8, 4)[1], "ds_store_2addr_b64");
}

#[test]
fn a_product_rounded_to_16_bits_keeps_its_zero_s_sign() {
    let source = |dtype: &str, product: &str| {
        format!(
            "kernel k(o: global<{dtype}>[64], a: global<{dtype}>[64], s: f32) launch(grid = [1], block = [64]) {{
                let x = a![thread.x];
                o![thread.x] = {dtype}({product});
            }}"
        )
    };
    for target in [&GFX950, &GFX1250] {
        for dtype in ["f16", "bf16"] {
            for product in ["f32(x) * s", "f64(f32(x) * s)", "x * x"] {
                let asm = asm_for(&source(dtype, product), target);
                assert!(!asm.contains("v_fma_mix"), "LLVM would add +0 to the product: {asm}");
                assert!(asm.contains("_mul_f32") || asm.contains("_mul_f16") || asm.contains("mul_bf16"), "{asm}");
            }
        }
    }
}

#[test]
fn ranks_are_reduced_in_few_instructions() {
    let source = "kernel k(comm: devcomm, o: global<u32>[64]) launch(grid = [1], block = [64]) {
        let next = (comm.lsa_rank + 1) % comm.lsa_size;
        o![thread.x] = u32(next);
    }";
    let asm = asm(source);
    // 64-bit division would take more than a hundred.
    assert!(instructions(&asm, "k").len() < 40, "{asm}");
}

#[test]
fn what_the_target_lacks_is_refused() {
    let refused_on = |source: &str, target| match compile(&lowered(source), target, &Options::default()) {
        Err(CompileError::Code(error @ Error::Unsupported { .. })) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let refused = |source: &str| refused_on(source, &GFX950);
    let matrix = "kernel k(a: global<f16>[64]) launch(grid = [1], block = [64]) {
        shared x: f16[64];
        local r: f16[2];
        nv.ldmatrix(x![0], r![0], num = 1, trans = false);
    }";
    assert!(refused(matrix).contains("NVIDIA"));
    let coop = "kernel k(comm: devcomm, w: window<u8>[64], to: lsa_rank) launch(grid = [1], block = [64], warp = 32) {
        sdma.put(w@to![0], w![0], to, 64, queue = 0, coop = warp);
    }";
    assert!(refused(coop).contains("64 lanes"));
    assert!(refused_on(&coop.replace("warp = 32", "warp = 64"), &GFX1250).contains("32 lanes"));
    let lds = "kernel k(o: global<u8>[64]) launch(grid = [1], block = [64]) {
        shared x: u8[200000];
        x![thread.x] = 1;
        let y = x![63 - thread.x];
        o![thread.x] = y;
    }";
    assert!(refused(lds).contains("163840"));
    assert!(refused_on(&lds.replace("200000", "327681"), &GFX1250).contains("327680"));
    assert!(compiled(lds, &GFX1250).hsaco.is_some());
    let nvidia = compile(&lowered(matrix), &tilewright_target::SM_90A, &Options::default());
    assert!(matches!(nvidia, Err(CompileError::Code(Error::Unsupported { .. }))));
}

#[test]
fn a_put_of_nothing_posts_nothing() {
    let put = |bytes: u32| {
        let source = format!(
            "kernel k(comm: devcomm, w: window<u8>[64], to: lsa_rank) launch(grid = [1], block = [64]) {{
                sdma.put(w@to![0], w![0], to, {bytes}, queue = 0, coop = block, remote_signal = true);
            }}"
        );
        asm(&source)
    };
    assert_eq!(instructions(&put(0), "k"), ["s_endpgm"]);
    assert!(put(1).contains("global_atomic_add_x2"));
}

#[test]
fn without_the_optimiser_the_module_still_compiles() {
    let with_ir = Options { ir: true, ..Options::default() };
    let options = Options { opt: OptLevel::None, ..with_ir.clone() };
    let out = compile(&lowered(ALL), &GFX950, &options).expect("it compiles");
    assert!(out.hsaco.is_some());
    assert_eq!(out.emitted.llvm_ir, compile(&lowered(ALL), &GFX950, &with_ir).expect("it compiles").emitted.llvm_ir);
}

#[test]
fn line_tables_name_the_lines_and_change_no_instruction() {
    let compiled = |source: Option<(String, String)>| {
        let options = Options { asm: true, source, ..Options::default() };
        compile(&lowered(ALL), &GFX950, &options).expect("it compiles")
    };
    let (with, without) = (compiled(Some(("all.tile".to_string(), ALL.to_string()))), compiled(None));
    // A line such as `store_it![0] = 7;` is where its store stems from; the first lines are empty and the head.
    let asm = with.emitted.asm.expect("asked for");
    // The head of the kernel is on line 2, its statements from line 6 on.
    let located = |line: usize| asm.contains(&format!(".loc\t1 {line} "));
    assert!(asm.contains("\"all.tile\"") && (6..40).any(located), "{asm}");
    let instructions = |asm: &str| -> Vec<String> {
        let code = asm.lines().filter(|line| line.starts_with('\t') && !line.starts_with("\t."));
        code.map(str::to_string).collect()
    };
    assert_eq!(instructions(&asm), instructions(&without.emitted.asm.expect("asked for")));
    let has_table = |object: Option<Vec<u8>>| object.expect("linked").windows(11).any(|w| w == b".debug_line");
    assert!(has_table(with.hsaco) && !has_table(without.hsaco));
}

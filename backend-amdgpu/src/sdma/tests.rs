//! The generator on small kernels, without the tile IR: what is in the assembly, how much of it, and that it links.

use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::types::AnyType;
use inkwell::values::FunctionValue;
use tilewright_backend_llvm::{AddressSpace, Emitted, Gen, Machine, MachineSpec, Output};
use tilewright_target::sdma::Compare;
use tilewright_target::{GFX942, GFX950, GFX1250, Target, mori_abi};

use super::{Broadcast, Coop, Post, PostOptions, Sdma, ThreadMode, WaitFor};
use crate::link::{LinkerChoice, link};

/// Parameters: the communicator by value, then dst, src, bytes (u64), peer (i32).
fn kernel<'ctx>(module: &Module<'ctx>) -> FunctionValue<'ctx> {
    let context = module.get_context();
    let constant = context.ptr_type(inkwell::AddressSpace::from(AddressSpace::Constant as u16));
    let (i64_ty, i32_ty) = (context.i64_type(), context.i32_type());
    let parameters = [constant.into(), i64_ty.into(), i64_ty.into(), i64_ty.into(), i32_ty.into()];
    let function = module.add_function("post", context.void_type().fn_type(&parameters, false), None);
    function.set_call_conventions(91);
    let bytes = context.i8_type().array_type(mori_abi::dev_comm::SIZE);
    let byref = inkwell::attributes::Attribute::get_named_enum_kind_id("byref");
    let parameter = inkwell::attributes::AttributeLoc::Param(0);
    function.add_attribute(parameter, context.create_type_attribute(byref, bytes.as_any_type_enum()));
    let align = inkwell::attributes::Attribute::get_named_enum_kind_id("align");
    function.add_attribute(parameter, context.create_enum_attribute(align, 8));
    for (key, value) in [("amdgpu-flat-work-group-size", "64,64"), ("uniform-work-group-size", "true")] {
        let attribute = context.create_string_attribute(key, value);
        function.add_attribute(inkwell::attributes::AttributeLoc::Function, attribute);
    }
    function
}

/// What a test kernel does.
enum Body {
    Put(PostOptions, Option<u64>),
    Signal(PostOptions),
    Wait(Coop),
    PostWaitSignal(Coop),
    WaitPut(PostOptions),
    Broadcast(PostOptions),
    Commit(Coop),
    CommitAll(Coop),
    QuietQueue(Coop),
    Quiet(Coop),
    WaitSignal,
}

fn compile(target: &Target, body: &Body) -> (Emitted, String) {
    let machine = Machine::new(&MachineSpec::of(target)).expect("in the table");
    let context = Context::create();
    let module = context.create_module("sdma");
    machine.prepare(&module);
    let function = kernel(&module);
    let builder = context.create_builder();
    builder.position_at_end(context.append_basic_block(function, "entry"));
    let g = Gen::new(&module, &builder, function);
    let parameter = |n| function.get_nth_param(n).expect("a parameter");
    let comm = parameter(0).into_pointer_value();
    let (facts, amd) = (target.sdma.as_ref().expect("AMD"), target.amd.expect("AMD"));
    let sdma = Sdma::new(g, comm, facts, target.warp_size, amd.wait_counters).with_block([64, 1, 1]);
    let lane = g.int_intrinsic("llvm.amdgcn.workitem.id.x", &[], &[], "tid").expect("id");
    // Independent lanes each have their own peer.
    let independent = matches!(body, Body::Put(o, _) | Body::Signal(o) | Body::WaitPut(o) | Body::Broadcast(o) if o.mode == ThreadMode::Independent)
        || matches!(body, Body::Commit(Coop::Thread) | Body::Wait(Coop::Thread));
    let peer = if independent { g.and(lane, g.i32(7), "peer").expect("peer") } else { parameter(4).into_int_value() };
    let queue = sdma.fixed_queue(1);
    match body {
        Body::Put(options, size) => {
            let shift = |n| {
                let skip = g.shl(g.zext64(lane, "")?, 12, "skip")?;
                g.add(parameter(n).into_int_value(), skip, "address")
            };
            let bytes = size.map_or(parameter(3).into_int_value(), |size| g.i64(size));
            let post = Post { peer, queue, dst: shift(1).expect("dst"), src: shift(2).expect("src"), bytes };
            sdma.post(&post, options).expect("a put");
        }
        Body::Wait(..) | Body::PostWaitSignal(..) | Body::WaitPut(..) | Body::Broadcast(..) => {
            let address = |n| parameter(n).into_int_value();
            let post = Post { peer, queue, dst: address(1), src: address(2), bytes: address(3) };
            waits_and_broadcasts(&sdma, body, &post);
        }
        Body::Signal(options) => sdma.post_signal(peer, queue, options).expect("a signal"),
        Body::CommitAll(coop) => sdma.commit_all(peer, *coop).expect("a commit"),
        Body::Commit(coop) => sdma.commit(peer, queue, *coop).expect("a commit"),
        Body::QuietQueue(coop) => sdma.quiet_queue(peer, queue, *coop).expect("a drain"),
        Body::Quiet(coop) => sdma.quiet(peer, *coop).expect("a drain"),
        Body::WaitSignal => sdma.wait_signal(peer, queue, parameter(3).into_int_value()).expect("a wait"),
    }
    builder.build_return(None).expect("a return");
    let emitted = machine.emit(module, Output { ir: true, asm: true, object: true }).expect("it compiles");
    let asm = emitted.asm.clone().expect("asked for");
    (emitted, asm)
}

fn waits_and_broadcasts<'ctx>(sdma: &Sdma<'_, 'ctx>, body: &Body, post: &Post<'ctx>) {
    let value = sdma.g.i32(7);
    let wait = WaitFor { at: post.dst, compare: Compare::Eq, value, mask: u32::MAX };
    match body {
        Body::Wait(coop) => sdma.post_wait(&wait, post.peer, post.queue, *coop, false),
        Body::PostWaitSignal(coop) => {
            sdma.post_wait_signal(post.peer, post.queue, value, post.peer, post.queue, *coop, true)
        }
        Body::WaitPut(options) => sdma.post_wait_put(&wait, post, options),
        Body::Broadcast(options) => {
            let peers = [post.peer, sdma.g.i32(3)];
            let dst = [post.dst, post.src];
            let two = Broadcast { peers, queue: post.queue, dst, src: post.src, bytes: post.bytes };
            sdma.post_broadcast(&two, options)
        }
        _ => Ok(()),
    }
    .expect("a post");
}

/// The instructions of the kernel.
fn instructions(asm: &str) -> Vec<&str> {
    let body = asm.split("\npost:").nth(1).expect("the kernel").split("\t.section").next().expect("its end");
    body.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with([';', '.']) && !line.ends_with(':'))
        .map(|line| line.split(';').next().unwrap_or(line).trim())
        .filter(|line| !line.is_empty())
        .collect()
}

/// A number from the code object's metadata as the assembly shows it.
fn metadata(asm: &str, key: &str) -> u32 {
    let line = asm.lines().find(|line| line.trim_start().starts_with(key)).expect(key);
    line.rsplit(' ').next().and_then(|number| number.parse().ok()).expect("a number")
}

/// A number that the assembly sets a symbol of the kernel to.
fn symbol(asm: &str, suffix: &str) -> Option<u32> {
    let names = |line: &&str| line.contains(&format!("{suffix}, ")) && !line.contains("amdgpu.");
    asm.lines().find(names)?.rsplit(' ').next()?.parse().ok()
}

const CONSTANT: PostOptions = PostOptions {
    coop: Coop::Thread,
    mode: ThreadMode::SameQueue,
    local_signal: false,
    remote_signal: false,
    aggregate: false,
    signal_per_copy: false,
    max_bytes: Some(4096),
    never_empty: true,
};

fn all_bodies() -> Vec<(&'static str, Body)> {
    let both = PostOptions { local_signal: true, remote_signal: true, ..CONSTANT };
    let independent = PostOptions { mode: ThreadMode::Independent, ..CONSTANT };
    let unknown = PostOptions { max_bytes: None, never_empty: false, ..CONSTANT };
    let unknown_both = PostOptions { max_bytes: None, never_empty: false, ..both };
    let at = |coop, options| PostOptions { coop, mode: ThreadMode::Independent, ..options };
    vec![
        ("same queue, constant", Body::Put(CONSTANT, Some(4096))),
        ("same queue, constant, both signals", Body::Put(both, Some(4096))),
        ("same queue, constant, signal per copy", Body::Put(PostOptions { signal_per_copy: true, ..both }, Some(4096))),
        ("same queue, constant, aggregate", Body::Put(PostOptions { aggregate: true, ..CONSTANT }, Some(4096))),
        ("same queue, any size", Body::Put(unknown, None)),
        ("same queue, any size, both signals", Body::Put(unknown_both, None)),
        ("independent, constant", Body::Put(independent, Some(4096))),
        ("independent, any size, both signals", Body::Put(at(Coop::Thread, unknown_both), None)),
        ("warp, constant", Body::Put(at(Coop::Warp, CONSTANT), Some(4096))),
        ("block, constant", Body::Put(at(Coop::Block, CONSTANT), Some(4096))),
        ("warp, any size, both signals", Body::Put(at(Coop::Warp, unknown_both), None)),
        ("signal, same queue", Body::Signal(CONSTANT)),
        ("signal, independent", Body::Signal(independent)),
        ("signal, block", Body::Signal(at(Coop::Block, CONSTANT))),
        ("wait, thread", Body::Wait(Coop::Thread)),
        ("wait, warp", Body::Wait(Coop::Warp)),
        ("post_wait_signal, block", Body::PostWaitSignal(Coop::Block)),
        ("independent wait and put, constant", Body::WaitPut(independent)),
        ("independent wait and put, any size, both signals", Body::WaitPut(at(Coop::Thread, unknown_both))),
        ("broadcast, thread, constant", Body::Broadcast(independent)),
        ("broadcast, warp, any size, both signals", Body::Broadcast(at(Coop::Warp, unknown_both))),
        ("commit_all, block", Body::CommitAll(Coop::Block)),
        ("commit, thread", Body::Commit(Coop::Thread)),
        ("commit, block", Body::Commit(Coop::Block)),
        ("quiet_queue, thread", Body::QuietQueue(Coop::Thread)),
        ("quiet_queue, block", Body::QuietQueue(Coop::Block)),
        ("quiet, warp", Body::Quiet(Coop::Warp)),
        ("wait_signal", Body::WaitSignal),
    ]
}

#[test]
fn everything_compiles_links_and_stays_small() {
    for (name, body) in all_bodies() {
        for target in [&GFX950, &GFX942, &GFX1250] {
            let (emitted, asm) = compile(target, &body);
            let code = link(&emitted.object.expect("asked for"), &LinkerChoice::default()).expect("it links");
            assert_eq!(&code[..4], b"\x7fELF");
            // The metadata's count of gfx1250 is padded to what leaves as many waves as a workgroup's barriers allow.
            let vgprs = symbol(&asm, ".num_vgpr").unwrap_or_else(|| metadata(&asm, ".vgpr_count"));
            let (count, sgprs) = (instructions(&asm).len(), metadata(&asm, ".sgpr_count"));
            println!("{:40} {}: {count} instructions, {vgprs} VGPRs, {sgprs} SGPRs", name, target.name);
            // mori's need 36 (aggregated, one queue) to 46; a spill would show as scratch.
            // There are no figures of mori's for a wait with a copy and for broadcasts, which are two packets a lane and more.
            let most = match name.split(',').next() {
                Some("independent" | "signal") => 46,
                Some("independent wait and put" | "broadcast") => 64,
                _ => 36,
            };
            assert!(vgprs <= most && sgprs < 102, "{name}: {vgprs} VGPRs, {sgprs} SGPRs");
            assert_eq!(metadata(&asm, ".private_segment_fixed_size"), 0, "{name}");
            assert_eq!(metadata(&asm, ".kernarg_segment_size"), 228, "{name}: no hidden arguments");
        }
    }
}

#[test]
fn a_constant_size_same_queue_put_is_at_most_110_instructions() {
    let (_, asm) = compile(&GFX950, &Body::Put(CONSTANT, Some(4096)));
    let count = instructions(&asm).len();
    assert!(count <= 110, "{count} instructions (mori's, compiled by clang: 524)\n{asm}");
}

/// The stores and waits of an assembly, in order and without their registers.
fn stores_and_waits(asm: &str) -> Vec<String> {
    let kept = |line: &&str| {
        let starts = ["global_store", "global_atomic", "global_wb", "s_wait_storecnt 0x0"];
        starts.iter().any(|start| line.starts_with(start)) || line.contains("vmcnt(0) expcnt(0)")
    };
    let short = |line: &str| {
        let is_scope =
            |word: &&str| ["sc0", "sc1"].contains(word) || word.starts_with("scope:") || word.starts_with("th:");
        let bits: Vec<&str> = line.split_whitespace().filter(is_scope).collect();
        let name = line.split_whitespace().next().unwrap_or_default();
        if bits.is_empty() { name.to_string() } else { format!("{name} {}", bits.join(" ")) }
    };
    instructions(asm).into_iter().filter(kept).map(short).collect()
}

#[test]
fn stores_are_published_in_order_and_each_is_waited_for() {
    let (_, asm) = compile(&GFX950, &Body::Put(CONSTANT, Some(4096)));
    assert_eq!(
        stores_and_waits(&asm),
        [
            "global_atomic_add_x2 sc0", // reservation, agent scope
            "global_store_dwordx2 sc1", // refreshed read index
            "global_store_dwordx4",     // the packet
            "global_store_dwordx4",
            "s_waitcnt",
            "s_waitcnt",
            "global_store_dwordx2 sc1", // write pointer
            "s_waitcnt",
            "global_store_dwordx2 sc0 sc1", // doorbell
            "s_waitcnt",
            "global_store_dwordx2 sc1", // committed pointer
        ]
    );
}

#[test]
fn gfx1250_writes_packets_back_and_waits_for_each_pointer() {
    let (_, asm) = compile(&GFX1250, &Body::Put(CONSTANT, Some(4096)));
    assert!(!asm.contains("s_waitcnt"), "an instruction of gfx9");
    assert_eq!(
        stores_and_waits(&asm),
        [
            "global_atomic_add_u64 th:TH_ATOMIC_RETURN scope:SCOPE_DEV",
            "global_store_b64 scope:SCOPE_DEV", // refreshed read index
            "global_store_b128",                // the packet
            "global_store_b128",
            "global_wb scope:SCOPE_DEV",
            "s_wait_storecnt",
            "global_wb scope:SCOPE_DEV",
            "s_wait_storecnt",
            "global_store_b64 scope:SCOPE_DEV", // write pointer
            "s_wait_storecnt",
            "global_store_b64 scope:SCOPE_SYS", // doorbell
            "s_wait_storecnt",
            "global_store_b64 scope:SCOPE_DEV", // committed pointer
        ]
    );
}

#[test]
fn an_aggregated_put_does_not_ring() {
    let (_, asm) = compile(&GFX1250, &Body::Put(PostOptions { aggregate: true, ..CONSTANT }, Some(4096)));
    let stores = stores_and_waits(&asm);
    assert!(!stores.iter().any(|store| store.contains("SCOPE_SYS")), "{stores:?}");
    assert_eq!(stores[stores.len() - 2..], ["global_wb scope:SCOPE_DEV", "s_wait_storecnt"]);
    let (_, asm) = compile(&GFX950, &Body::Put(PostOptions { aggregate: true, ..CONSTANT }, Some(4096)));
    let stores = stores_and_waits(&asm);
    assert!(!stores.iter().any(|store| store.contains("sc0 sc1")), "{stores:?}");
    assert_eq!(stores.last().map(String::as_str), Some("s_waitcnt"));
}

#[test]
fn the_chunk_loop_costs_nothing_where_the_size_is_known_to_fit() {
    let limit = format!("{:#x}", GFX950.sdma.expect("AMD").max_copy_bytes);
    let (known, known_asm) =
        compile(&GFX950, &Body::Put(PostOptions { max_bytes: Some(0x3fff_ffe0), ..CONSTANT }, None));
    assert!(!known.llvm_ir.contains("chunks") && !known_asm.contains(&limit));
    let (unknown, unknown_asm) =
        compile(&GFX950, &Body::Put(PostOptions { max_bytes: Some(0x3fff_ffe1), ..CONSTANT }, None));
    assert!(unknown.llvm_ir.contains("chunks") && unknown_asm.contains(&limit));
}

#[test]
fn independent_lanes_are_grouped_by_peer_at_run_time() {
    let independent = PostOptions { mode: ThreadMode::Independent, ..CONSTANT };
    let (emitted, _) = compile(&GFX950, &Body::Put(independent, Some(4096)));
    assert!(emitted.optimized_ir.contains("keys.more"));
    let (emitted, _) = compile(&GFX950, &Body::Put(CONSTANT, Some(4096)));
    assert!(!emitted.optimized_ir.contains("keys.more"));
}

/// Whether the block of the optimised IR that holds `word` can reach itself.
fn is_in_a_loop(ir: &str, word: &str) -> bool {
    let body = ir.split("define amdgpu_kernel").nth(1).and_then(|rest| rest.split("\n}").next()).expect("the kernel");
    let mut blocks: Vec<(&str, Vec<&str>, bool)> = Vec::new();
    for line in body.lines() {
        if let Some((label, _)) = line.split_once(':').filter(|(label, _)| !label.contains(' ')) {
            blocks.push((label, Vec::new(), false));
        } else if let Some((_, next, found)) = blocks.last_mut() {
            *found |= line.contains(word);
            let targets = line.split("label %").skip(1).filter_map(|rest| rest.split([',', ' ']).next());
            next.extend(targets);
        }
    }
    let successors = |label: &str| blocks.iter().find(|b| b.0 == label).map_or(&[][..], |b| &b.1);
    let start = blocks.iter().find(|b| b.2).expect("the word is somewhere").0;
    let (mut seen, mut open) = (Vec::new(), vec![start]);
    while let Some(label) = open.pop() {
        for next in successors(label) {
            if *next == start {
                return true;
            }
            if !seen.contains(next) {
                seen.push(next);
                open.push(next);
            }
        }
    }
    false
}

#[test]
fn what_a_loop_does_for_one_group_stays_inside_it() {
    // Were it moved behind the loop, the lanes of all groups would meet there and share one queue.
    let independent = PostOptions { mode: ThreadMode::Independent, ..CONSTANT };
    let unknown = PostOptions { max_bytes: None, ..CONSTANT };
    let reserve = "atomicrmw";
    let ring = "store atomic i64";
    for (body, word, looped) in [
        (Body::Put(unknown, None), reserve, true),
        (Body::Put(PostOptions { max_bytes: None, ..independent }, None), reserve, true),
        (Body::Put(CONSTANT, Some(4096)), reserve, false),
        // All groups reserve at once, then each rings when its turn comes.
        (Body::Put(independent, Some(4096)), reserve, false),
        (Body::Put(independent, Some(4096)), ring, true),
        (Body::Signal(independent), ring, true),
        (Body::Commit(Coop::Thread), ring, true),
        (Body::Wait(Coop::Thread), reserve, true),
        (Body::Wait(Coop::Warp), reserve, false),
        (Body::Broadcast(independent), ring, true),
        (Body::WaitPut(independent), reserve, false),
        (Body::WaitPut(independent), ring, true),
    ] {
        let (emitted, _) = compile(&GFX950, &body);
        assert_eq!(is_in_a_loop(&emitted.optimized_ir, word), looped, "{word}: {}", emitted.optimized_ir);
    }
}

/// The assembly of `store 1; wait; store 2` to one address of a `noalias` argument, with the compiler's fences of the wait or
/// without: the wait for everything, or for a pointer.
fn two_stores(target: &Target, pointer: bool, fenced: bool) -> Vec<String> {
    let machine = Machine::new(&MachineSpec::of(target)).expect("in the table");
    let context = Context::create();
    let module = context.create_module("wait");
    machine.prepare(&module);
    let global = context.ptr_type(inkwell::AddressSpace::from(AddressSpace::Global as u16));
    let constant = context.ptr_type(inkwell::AddressSpace::from(AddressSpace::Constant as u16));
    let ty = context.void_type().fn_type(&[constant.into(), global.into()], false);
    let function = module.add_function("post", ty, None);
    function.set_call_conventions(91);
    let noalias = inkwell::attributes::Attribute::get_named_enum_kind_id("noalias");
    function.add_attribute(inkwell::attributes::AttributeLoc::Param(1), context.create_enum_attribute(noalias, 0));
    let builder = context.create_builder();
    builder.position_at_end(context.append_basic_block(function, "entry"));
    let g = Gen::new(&module, &builder, function);
    let parameter = |n| function.get_nth_param(n).expect("a parameter").into_pointer_value();
    let facts = target.sdma.as_ref().expect("AMD");
    let counters = target.amd.expect("AMD").wait_counters;
    let sdma = Sdma::new(g, parameter(0), facts, target.warp_size, counters);
    g.store(g.i32(1), parameter(1), 4).expect("a store");
    if pointer { sdma.pointer_done() } else { sdma.stores_done() }.expect("a wait");
    g.store(g.i32(2), parameter(1), 4).expect("a store");
    builder.build_return(None).expect("a return");
    let text = module.print_to_string().to_string();
    let kept: Vec<&str> =
        text.lines().filter(|line| fenced || !line.contains("fence syncscope(\"wavefront\")")).collect();
    let buffer = inkwell::memory_buffer::MemoryBuffer::create_from_memory_range_copy(kept.join("\n").as_bytes(), "ir");
    let module = context.create_module_from_ir(buffer).expect("it parses");
    let asm = machine
        .emit(module, Output { ir: true, asm: true, object: false })
        .expect("it compiles")
        .asm
        .expect("asked for");
    stores_and_waits(&asm)
}

#[test]
fn without_its_fences_a_wait_does_not_hold_stores() {
    for pointer in [false, true] {
        let fenced = two_stores(&GFX950, pointer, true);
        assert_eq!(fenced, ["global_store_dword", "s_waitcnt", "global_store_dword"]);
        // If LLVM ever learns to keep these by itself, the fences may go.
        assert_ne!(two_stores(&GFX950, pointer, false), fenced);
    }
    let fenced = two_stores(&GFX1250, true, true);
    assert_eq!(fenced, ["global_store_b32", "s_wait_storecnt", "global_store_b32"]);
    assert_ne!(two_stores(&GFX1250, true, false), fenced);
    // A release of the device holds what is before it by itself.
    let visible = ["global_store_b32", "global_wb scope:SCOPE_DEV", "s_wait_storecnt", "global_store_b32"];
    assert_eq!(two_stores(&GFX1250, false, true), visible);
}

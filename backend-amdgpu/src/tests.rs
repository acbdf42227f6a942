//! Lowered kernels, written as text, to assembly and code objects.

use object::{Object, ObjectSection};
use tilewright_backend_llvm::{Error, OptLevel};
use tilewright_ir::Module;
use tilewright_target::{GFX942, GFX950, Target};

use crate::{CompileError, Compiled, Options, compile, describe_arguments};

fn lowered(source: &str) -> Module {
    tilewright_ir::text::parse(source).into_result().unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn compiled(source: &str, target: &Target) -> Compiled {
    let options = Options { asm: true, ..Options::default() };
    compile(&lowered(source), target, &options).unwrap_or_else(|e| panic!("{e}\n{source}"))
}

fn asm(source: &str) -> String {
    compiled(source, &GFX950).emitted.asm.expect("asked for")
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

#[test]
fn show() {
    let out = compiled(ALL, &GFX950);
    println!("{}\n{}", out.emitted.optimized_ir, out.emitted.asm.expect("asm"));
}

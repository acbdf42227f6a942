//! Lowered kernels, written as text, to PTX.

use tilewright_backend_llvm::{Emitted, Error};
use tilewright_ir::Module;
use tilewright_target::{SM_80, SM_90A, SM_100A, Target};

use crate::{Options, compile};

fn lowered(source: &str) -> Module {
    tilewright_ir::text::parse(source).into_result().unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn try_ptx(source: &str, target: &Target) -> Result<Emitted, Error> {
    compile(&lowered(source), target, &Options::default())
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

#[test]
fn show() {
    println!("{}", ptx(ALL, &SM_90A));
}

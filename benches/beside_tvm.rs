//! Compile times of the kernels in benches/kernels, to be put beside TVM's: one JSON line a kernel.
//!
//! `cargo bench -p tilewright-benches --bench beside_tvm -- [ROUNDS] [PART OF A NAME] [lowered|ptx]`; README.md says how TVM is
//! run beside it. The last word measures that half alone, for a profiler. Warm and in process; medians, in microseconds:
//! - `lowered`: text to lowered IR, parse and verification included;
//! - `ptx`: text to PTX text;
//! - `passes`: within `ptx`, what the passes took together, and `simplify_index` of these;
//! - for `copies_N`, a kernel of N copies: `lowered` alone, which must grow like N.

use std::fmt::Write;
use std::time::{Duration, Instant};

use tilewright::backend::Want;
use tilewright::{Options, compile_module};
use tilewright_ir::Module;
use tilewright_passes::pipeline::{Observer, Pass};
use tilewright_target::Target;

macro_rules! kernels {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("kernels/", $name, ".tile")))),*] };
}

/// Name and text of each kernel, in the order of TVM's table.
const KERNELS: &[(&str, &str)] = kernels![
    "reg_rows_f32",
    "gmem_smem_warp_f32",
    "gmem_smem_cta_f16",
    "gmem_smem_swizzle128b",
    "fallback_4x6",
    "ldmatrix_x1",
    "ldmatrix_x2",
    "ldmatrix_x4",
    "ldmatrix_x4_trans",
    "stmatrix_x4",
    "ldmatrix_16x64_swizzle128b",
    "stmatrix_wgmma_acc_64x64_swizzle128b",
    "ldgsts_cp_async",
    "forced_vec_256b",
    "f32_accumulator",
    "padded_pitch65",
];

/// Copies in one kernel, to see how the time grows.
const MANY: &[usize] = &[100, 1000, 10_000];

/// Takes the time of each pass.
struct Stopwatch {
    started: Instant,
    passes: Duration,
    simplify_index: Duration,
}

impl Stopwatch {
    fn new() -> Stopwatch {
        Stopwatch { started: Instant::now(), passes: Duration::ZERO, simplify_index: Duration::ZERO }
    }
}

impl Observer for Stopwatch {
    fn before(&mut self, _: &Pass, _: &Module) {
        self.started = Instant::now();
    }

    fn after(&mut self, pass: &Pass, _: &Module) {
        let time = self.started.elapsed();
        self.passes += time;
        if pass.name == "simplify-index" {
            self.simplify_index += time;
        }
    }
}

fn compile(text: &str, target: &'static Target, want: Want) -> Stopwatch {
    let mut watch = Stopwatch::new();
    let options = Options { want, ..Options::default() };
    let module = tilewright::ir::text::parse(text).into_result().expect("a kernel of ours parses");
    let compiled = compile_module(module, text, target, &options, &mut watch).expect("a kernel of ours compiles");
    std::hint::black_box(compiled);
    watch
}

/// Medians in microseconds of what `f` returns, over `rounds` calls after three to warm up.
fn medians<const N: usize>(rounds: usize, mut f: impl FnMut() -> [Duration; N]) -> [f64; N] {
    for _ in 0..3 {
        f();
    }
    let all: Vec<[Duration; N]> = (0..rounds).map(|_| f()).collect();
    std::array::from_fn(|i| {
        let mut times: Vec<Duration> = all.iter().map(|times| times[i]).collect();
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1e6
    })
}

/// A kernel of `n` copies between global and shared memory, no two alike in a row.
fn many_copies(n: usize) -> String {
    let mut text = String::from(
        "kernel many(a: global<f16>[64, 64], b: global<f16>[64, 64])\n    launch(grid = [1], block = [128])\n{\n    \
         shared tile: f16[64, 64] layout S[(64,64):(64,1)] swizzle(3,3,3) align 128;\n",
    );
    for i in 0..n / 2 {
        let rows = 16 << (i % 3);
        let _ = writeln!(text, "    copy tile[0..{rows}, ..] <- a[0..{rows}, ..] by cta;\n    sync cta;");
        let _ = writeln!(text, "    copy b[0..{rows}, ..] <- tile[0..{rows}, ..] by cta;\n    sync cta;");
    }
    text.push_str("}\n");
    text
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let rounds = args.iter().find_map(|arg| arg.parse().ok()).unwrap_or(50);
    let half = args.iter().find(|arg| ["lowered", "ptx"].contains(&arg.as_str()));
    let part = args.iter().find(|arg| arg.parse::<usize>().is_err() && Some(*arg) != half);
    let wanted = |name: &str| part.is_none_or(|part| name.contains(part.as_str()));
    let [lowered_rounds, ptx_rounds] = match half.map(String::as_str) {
        Some("lowered") => [rounds * 4, 1],
        Some(_) => [1, rounds],
        None => [rounds * 4, rounds],
    };
    for (name, text) in KERNELS.iter().filter(|(name, _)| wanted(name)) {
        let arch = if *name == "forced_vec_256b" { "sm_100a" } else { "sm_90a" };
        let target = tilewright::target(arch).expect("a target of the table");
        let [lowered] = medians(lowered_rounds, || {
            let start = Instant::now();
            compile(text, target, Want::Nothing);
            [start.elapsed()]
        });
        let [ptx, passes, index] = medians(ptx_rounds, || {
            let start = Instant::now();
            let watch = compile(text, target, Want::Asm);
            [start.elapsed(), watch.passes, watch.simplify_index]
        });
        println!(
            r#"{{"case": "{name}", "lowered": {lowered:.1}, "ptx": {ptx:.1}, "passes": {passes:.1}, "simplify_index": {index:.1}}}"#
        );
    }
    for n in MANY.iter().filter(|n| wanted(&format!("copies_{n}"))) {
        let text = many_copies(*n);
        let target = tilewright::target("sm_90a").expect("a target of the table");
        let [lowered, passes] = medians(3, || {
            let start = Instant::now();
            let watch = compile(&text, target, Want::Nothing);
            [start.elapsed(), watch.passes]
        });
        println!(r#"{{"case": "copies_{n}", "lowered": {lowered:.1}, "passes": {passes:.1}}}"#);
        // Ten times as many would take at least ten times as long: minutes are not awaited.
        if lowered > 5e6 {
            break;
        }
    }
}

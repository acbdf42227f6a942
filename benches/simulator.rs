//! How fast the simulator executes what the AMDGPU backend emits, and how long each example takes on 8 ranks.
//!
//! `cargo bench -p tilewright-benches --bench simulator -- [SECONDS] [PART OF A NAME] [checked|unchecked]`. One core, one
//! thread. Each kernel is compiled for gfx950 and loaded once; its launch is then repeated on the same buffers until SECONDS
//! (default 0.5) have passed, as a program would repeat it. What is timed is launch and run: neither compile nor set-up of the
//! node, which the second table holds. Kernels: the examples, `kernels/`, and those of `sim/`, which are long.
//!
//! Columns: ranks, wave-instructions of a launch, how many of these touch memory, and millions of wave-instructions a second
//! without and with checks. Seconds are
//! processor time, and of five parts of a measurement the fastest counts.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tilewright::backend::Want;
use tilewright::bundle::artifact;
use tilewright::checked::{Trial, check};
use tilewright::device::Sim;
use tilewright::{Options, compile_text};
use tilewright_ir::Run;
use tilewright_ir::interp::{DEFAULT_MAX_STEPS, prepare};
use tilewright_runtime::Prepared;
use tilewright_runtime::device::sim::{SimNode, SimOptions};
use tilewright_runtime::device::{Launch, RankArgs};
use tilewright_target::GFX950;

macro_rules! texts {
    ($($folder:literal: $($name:literal)*;)*) => {
        &[$($((concat!($name, ".tile"), $folder, include_str!(concat!($folder, $name, ".tile"))),)*)*]
    };
}

/// Name, folder and text of each kernel.
const TEXTS: &[(&str, &str, &str)] = texts! {
    "../examples/": "alltoall" "fallback_4x6" "gmem_smem" "ldmatrix_trans_swizzle" "ldmatrix_x2" "reg_roundtrip" "ring_shift"
        "ship" "stmatrix_x4";
    "kernels/": "f32_accumulator" "forced_vec_256b" "gmem_smem_cta_f16" "gmem_smem_swizzle128b" "gmem_smem_warp_f32"
        "ldgsts_cp_async" "ldmatrix_16x64_swizzle128b" "ldmatrix_x4" "padded_pitch65" "reg_rows_f32"
        "stmatrix_wgmma_acc_64x64_swizzle128b";
    "sim/": "alltoall_rounds" "gather_put" "lds_transpose";
};

/// Parts of a measurement, of which the fastest counts: what else runs on the machine only ever slows one down.
const PARTS: u32 = 5;

/// A kernel in a simulated node.
struct Case {
    node: SimNode,
    prepared: Prepared,
}

impl Case {
    fn new(text: &str, checks: bool) -> Option<Case> {
        let options = Options { want: Want::finished(&GFX950), ..Options::default() };
        let compiled = compile_text(text, &GFX950, &options).ok()?;
        let run = compiled.tile.runs().next()?.clone();
        let kernel = compiled.tile.kernel(run.kernel.as_str())?.clone();
        let windows = text.contains("devcomm");
        let run = Run { ranks: Some(if windows { 8 } else { 1 }), ..run };
        let input = prepare(&run, &kernel, &|_| Err("no files here".to_string())).expect("inputs");
        let mut artifact = artifact(&compiled).expect("an artifact");
        let (code, info) = (artifact.code, artifact.kernels.swap_remove(0));
        let wheres: Vec<_> = input.wheres.iter().map(|(name, value)| (name.to_string(), *value as u64)).collect();
        let ranks: Vec<RankArgs> = (0..input.ranks as usize)
            .map(|rank| RankArgs {
                buffers: input.buffers[rank].iter().map(|(name, bytes)| (name.to_string(), bytes.clone())).collect(),
                scalars: input.scalars[rank]
                    .iter()
                    .map(|(name, bits)| (name.to_string(), *bits))
                    .chain(wheres.clone())
                    .collect(),
            })
            .collect();
        let options = SimOptions { checks, ..SimOptions::default() };
        let queues = info.min_queues.max(2);
        let node = SimNode::new(&GFX950, input.ranks, queues, options).expect("a node");
        let prepared = node.prepare(&code, &Launch { kernel: &info, ranks: &ranks }).expect("a launch");
        Some(Case { node, prepared })
    }

    /// Repeats the launch for `time`: wave-instructions a launch, of these on memory, and millions a second at best.
    fn measure(&mut self, time: Duration) -> (u64, u64, f64) {
        self.node.run(&self.prepared).expect("a run");
        let memory = self.node.memory_instructions();
        let (mut launches, mut instructions, mut best) = (0, 0, 0.0);
        for _ in 0..PARTS {
            let (begin, start, mut executed) = (Instant::now(), processor_time(), 0);
            while begin.elapsed() < time / PARTS || executed == 0 {
                executed += self.node.run(&self.prepared).expect("a run");
                launches += 1;
            }
            instructions += executed;
            best = f64::max(best, executed as f64 / (processor_time() - start).as_secs_f64() / 1e6);
        }
        let memory = (self.node.memory_instructions() - memory) / launches;
        (instructions / launches, memory, best)
    }
}

/// The processor time of this thread, which others on the machine do not change much; where the system does not tell it, the
/// time since the first call.
fn processor_time() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    let start = START.get_or_init(Instant::now);
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split(' ').next().and_then(|word| word.parse().ok()));
    nanoseconds.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// The share of instructions that touch memory, in percent.
fn share(memory: u64, all: u64) -> u64 {
    (100 * memory).checked_div(all).unwrap_or_default()
}

fn speed(time: Duration, part: &str, only: &str) {
    println!("| kernel | instructions a launch | on memory | unchecked M/s | checked M/s |");
    println!("|---|---|---|---|---|");
    // Sum of logarithms, for the geometric mean, and of seconds for a million instructions each.
    let (mut count, mut logs, mut seconds) = (0, [0.0; 2], [0.0; 2]);
    for (name, _, text) in TEXTS.iter().filter(|(name, ..)| name.contains(part)) {
        let mut rates = [f64::NAN; 2];
        let mut counted = (0, 0);
        for (index, checks) in [false, true].into_iter().enumerate() {
            if only == if checks { "unchecked" } else { "checked" } {
                continue;
            }
            let Some(mut case) = Case::new(text, checks) else { continue };
            let (all, memory, rate) = case.measure(time);
            (counted, rates[index]) = ((all, memory), rate);
        }
        if counted.0 == 0 {
            println!("| {name} | not for gfx950 | | | |");
            continue;
        }
        count += 1;
        for index in 0..2 {
            logs[index] += rates[index].ln();
            seconds[index] += rates[index].recip();
        }
        let share = share(counted.1, counted.0);
        println!("| {name} | {} | {share} % | {:.2} | {:.2} |", counted.0, rates[0], rates[1]);
    }
    let mean = logs.map(|sum| (sum / f64::from(count)).exp());
    println!("| geometric mean | | | {:.2} | {:.2} |", mean[0], mean[1]);
    let total = seconds.map(|sum| f64::from(count) / sum);
    println!("| equal instructions of each | | | {:.2} | {:.2} |", total[0], total[1]);
}

/// What `tilewright run --ranks 8` does, the reference interpreter beside the simulator, each example in seconds.
fn examples(part: &str) {
    println!("\n| example on 8 ranks | compile, s | simulator, s | with the reference, s |");
    println!("|---|---|---|---|");
    for (name, folder, text) in TEXTS.iter().filter(|(name, ..)| name.contains(part)) {
        if *folder != "../examples/" {
            continue;
        }
        let start = processor_time();
        let options = Options { want: Want::finished(&GFX950), ..Options::default() };
        let Ok(compiled) = compile_text(text, &GFX950, &options) else { continue };
        let compile = (processor_time() - start).as_secs_f64();
        let mut times = [0.0; 2];
        for (alone, time) in [true, false].into_iter().zip(&mut times) {
            for run in compiled.tile.runs() {
                let (start, npy) = (processor_time(), |_: &str| Err("no files here".to_string()));
                let trial = Trial { run, ranks: Some(8), seed: 0, max_steps: DEFAULT_MAX_STEPS, npy: &npy, alone };
                check(&compiled, &Sim { checks: true }, &trial).unwrap_or_else(|all| panic!("{name}: {all:#?}"));
                *time += (processor_time() - start).as_secs_f64();
            }
        }
        println!("| {name} | {compile:.3} | {:.3} | {:.3} |", times[0], times[1]);
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let seconds = words.first().and_then(|word| word.parse().ok()).unwrap_or(0.5);
    let part = words.get(1).map_or("", String::as_str);
    speed(Duration::from_secs_f64(seconds), part, words.get(2).map_or("", String::as_str));
    examples(part);
}

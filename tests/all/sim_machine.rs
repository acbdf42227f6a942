//! Emitted machine code on the simulated machine itself, without the runtime: copies through registers and LDS come out
//! as they went in, under every schedule and many seeds.

use tilewright::backend::Want;
use tilewright::{Options, compile_text};
use tilewright_sim::machine::{Launch, NoEngines, Schedule, Sim, SimConfig};
use tilewright_sim::mem::MemoryType;
use tilewright_target::lookup;

use crate::common::examples;

const SCHEDULES: [Schedule; 4] = [
    Schedule::Sequential { turn: 20_000 },
    Schedule::RoundRobin,
    Schedule::Random { slice: 3 },
    Schedule::Random { slice: 32 },
];

/// Runs the kernel of `example` with `bytes` bytes of input, and gives what is in its second buffer.
fn copied(object: &[u8], target: &str, input: &[u8], config: SimConfig) -> Vec<u8> {
    let mut sim = Sim::new(lookup(target).expect("a target"), config);
    let module = sim.load(object).expect("the object is taken");
    let kernel = &sim.object(module).kernels[0];
    let (name, threads) = (kernel.name.clone(), kernel.metadata.max_threads_per_block as u32);
    let bytes = input.len() as u64;
    let a = sim.memory.allocate_named(0, bytes, 256, MemoryType::Coarse, "a").expect("memory");
    let b = sim.memory.allocate_named(0, bytes, 256, MemoryType::Coarse, "b").expect("memory");
    sim.memory.host_write(a, input).expect("in bounds");
    let args = [a.to_le_bytes(), b.to_le_bytes()].concat();
    let launch = Launch { rank: 0, grid: [1; 3], block: [threads, 1, 1], args, dynamic_lds: 0 };
    sim.launch(module, &name, launch).expect("the launch is taken");
    sim.run(&mut NoEngines).unwrap_or_else(|fault| panic!("{name} on {target}: {fault}"));
    let mut out = vec![0; input.len()];
    sim.memory.host_read(b, &mut out).expect("in bounds");
    out
}

#[test]
fn copies_come_out_as_they_went_in() {
    for (name, bytes) in [("gmem_smem.tile", 4096), ("fallback_4x6.tile", 96)] {
        let example = examples().into_iter().find(|example| example.name == name).expect(name);
        let input: Vec<u8> = (0..bytes).map(|index: u32| (index * 7 + index / 256) as u8).collect();
        for target in ["gfx1250", "gfx942", "gfx950"] {
            let target = lookup(target).expect("a target");
            let options = Options { want: Want::finished(target), ..Options::default() };
            let compiled = compile_text(&example.text, target, &options).expect(name);
            let object = compiled.made.and_then(|made| made.object).expect("machine code");
            for schedule in SCHEDULES {
                for seed in 0..5 {
                    let config = SimConfig { seed, schedule, ..SimConfig::default() };
                    let out = copied(&object, target.name, &input, config);
                    assert!(out == input, "{name} on {}, {schedule:?}, seed {seed}", target.name);
                }
            }
        }
    }
}

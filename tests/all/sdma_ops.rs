//! Kernels written with the ops of copy engines: lane executor and machine code on the simulator both meet what they expect,
//! with every buffer of one equal to the other's, on several numbers of ranks and seeds.

use tilewright::backend::Want;
use tilewright::checked::{Trial, check};
use tilewright::device::{Device, Lanes, Sim};
use tilewright::{Compiled, Options, compile_text};
use tilewright_ir::interp::DEFAULT_MAX_STEPS;
use tilewright_target::{GFX942, GFX950, GFX1250};

/// The engine forwards what another engine delivered, with no thread in between.
const RELAY: &str = "
kernel k(comm: devcomm, a: window<u32>[64], b: window<u32>[64], c: window<u32>[64]) launch(grid = [1], block = [128])
{
    let n = comm.lsa_size;
    let next = (me + 1) % n;
    let prev = (me + n - 1) % n;
    sdma.post_wait_signal(prev, 1, next, queue = 1, signal_queue = 0, coop = block);
    sdma.put(c@next![0], b![0], next, 256, queue = 1, coop = block, remote_signal = true);
    sdma.put(b@next![0], a![0], next, 256, queue = 0, coop = block, remote_signal = true);
    if thread.linear == 0 {
        sdma.wait_signal(prev, 1, queue = 1);
        fence.acquire(scope = system);
    }
    barrier(scope = cta);
    sdma.quiet(next, coop = block);
}
run k { a = iota; expect c[7] == u32((rank + ranks - 2 + ranks) % ranks * 64 + 7); }
";

/// An all-to-all in which each rank says when it may be written to; engines wait for that, one lane for each peer.
const GATED: &str = "
kernel k(comm: devcomm, ready: window<u32>[8], epoch: window<u32>[8], a: window<u32>[8, 64], b: window<u32>[8, 64])
    launch(grid = [1], block = [64])
{
    let t = thread.linear;
    if t < comm.lsa_size {
        let peer = lsa(t);
        sdma.post_wait_mem_put_ptr(ready![t], 7, b@peer![index(me) * 64], a![t * 64], peer, 256, t % 2, remote_signal = true);
        sdma.put(ready@peer![index(me)], epoch![0], peer, 4, queue = 2);
        sdma.wait_signal(peer, 1, index(me) % 2);
        fence.acquire(scope = system);
        sdma.quiet(peer);
    }
}
run k { a = iota; epoch = 7; expect b[0, 5] == u32(rank * 64 + 5); }
";

/// A batch of a wait and copies of lanes of a block of one wave (`WAVE` threads), rung once; a broadcast to the next rank and to this one.
const BATCH: &str = "
kernel k(comm: devcomm, flag: window<u64>[8], a: window<u32>[64], b: window<u32>[64], c: window<u32>[64])
    launch(grid = [1], block = [WAVE])
{
    let n = comm.lsa_size;
    let next = (me + 1) % n;
    let prev = (me + n - 1) % n;
    let t = thread.linear;
    sdma.post_wait_mem(flag![0], 3, next, queue = 0, cmp = ge, mask = 255, coop = warp, aggregate = true);
    if t < 32 {
        sdma.put(b@next![t * 2], a![t * 2], next, 8, queue = 0, mode = same_queue, aggregate = true, remote_signal = true);
    }
    sdma.commit(next, queue = 0, coop = warp);
    sdma.put_broadcast(c@next![0], c![32], a![0], next, me, 128, queue = 1, coop = warp, local_signal = true, remote_signal = true);
    if t == 0 {
        sdma.wait_signal(prev, 1, queue = 0);
        sdma.wait_signal(prev, 1, queue = 1);
        sdma.wait_signal(me, 1, queue = 1);
        fence.acquire(scope = system);
    }
    sdma.quiet(next, coop = warp);
}
run k {
    a = iota; flag = 771;
    expect b[9] == u32((rank + ranks - 1) % ranks * 64 + 9);
    expect c[9] == u32((rank + ranks - 1) % ranks * 64 + 9);
    expect c[41] == u32(rank * 64 + 9);
}
";

fn compiled(text: &str, target: &'static tilewright_target::Target) -> Compiled {
    let options = Options { want: Want::finished(target), ..Options::default() };
    compile_text(text, target, &options).unwrap_or_else(|all| panic!("{all:#?}"))
}

fn runs(name: &str, compiled: &Compiled, device: &dyn Device, ranks: u32, seed: u64) {
    let run = compiled.tile.runs().next().expect("a run block");
    let npy = |_: &str| Err("no files here".to_string());
    let trial = Trial { run, ranks: Some(ranks), seed, max_steps: DEFAULT_MAX_STEPS, npy: &npy, alone: true };
    let checked = check(compiled, device, &trial);
    if let Err(all) = checked {
        panic!("{name} on {}, {ranks} ranks, seed {seed}: {all:#?}", device.name());
    }
}

fn everywhere(name: &str, text: &str, least: u32) {
    for target in [&GFX950, &GFX942, &GFX1250] {
        let text = text.replace("WAVE", &target.warp_size.to_string());
        let compiled = compiled(&text, target);
        for ranks in [1, 2, 4, 8].into_iter().filter(|ranks| *ranks >= least) {
            for seed in 0..6 {
                runs(name, &compiled, &Lanes, ranks, seed);
                runs(name, &compiled, &Sim { checks: true }, ranks, seed);
            }
        }
    }
}

#[test]
fn a_relay_of_engines() {
    everywhere("relay", RELAY, 2);
}

#[test]
fn an_all_to_all_behind_flags() {
    everywhere("gated", GATED, 1);
}

#[test]
fn a_batch_behind_a_wait_and_a_broadcast() {
    everywhere("batch", BATCH, 2);
}

#[test]
fn queues_that_are_written_down_are_asked_for_at_launch() {
    let asked = |text: &str| {
        let compiled = compile_text(text, &GFX950, &Options::default()).unwrap_or_else(|all| panic!("{all:#?}"));
        compiled.facts.values().next().map(|facts| facts.min_queues)
    };
    assert_eq!(asked(RELAY), Some(2));
    assert_eq!(asked(GATED), Some(3), "`t % 2` is computed");
    assert_eq!(asked(&RELAY.replace("256, queue = 0,", "256, 5,")), Some(6));
    assert_eq!(asked(&RELAY.replace("signal_queue = 0", "signal_queue = 7")), Some(8));
}

//! Launches on one simulated node and their ends: what the first one leaves (signals, queues, memory) is what the next one
//! meets; a rank ends by itself.

use tilewright::artifact::{CodeBytes, KernelInfo};
use tilewright::backend::Want;
use tilewright::bundle::artifact;
use tilewright::{Options, compile_text};
use tilewright_runtime::device::sim::{SimNode, SimOptions};
use tilewright_runtime::device::{Launch, RankArgs};
use tilewright_target::{GFX950, Target};

/// Ranks of the node.
const RANKS: usize = 3;

/// Each rank ships its row to the next one, twice, and counts the arrivals on one signal.
const SHIFT: &str =
    "kernel shift(comm: devcomm, send: window<u32>[64], recv: window<u32>[2, 64], out: global<u32>[2, 64])
    launch(grid = [1], block = [64])
{
    signal ready;
    let next = (comm.lsa_rank + 1) % comm.lsa_size;
    let prev = (comm.lsa_rank + comm.lsa_size - 1) % comm.lsa_size;
    for k in 0..2 {
        copy recv@next[k, ..] <- send by cta, notify ready;
    }
    wait ready from prev;
    local tile: u32[2, 64] layout S[(2,64):(1,1@tx)];
    copy tile <- recv by cta;
    copy out <- tile by cta;
}
";

fn compiled(target: &'static Target) -> (CodeBytes, KernelInfo) {
    let options = Options { want: Want::finished(target), ..Options::default() };
    let compiled = compile_text(SHIFT, target, &options).unwrap_or_else(|all| panic!("{all:#?}"));
    let mut artifact = artifact(&compiled).expect("an artifact");
    (artifact.code, artifact.kernels.swap_remove(0))
}

/// What rank `rank` sends in round `round`.
fn row(rank: usize, round: u32) -> Vec<u8> {
    (0..64u32).flat_map(|lane| (lane + 1000 * rank as u32 + 100_000 * round).to_le_bytes()).collect()
}

fn arguments(round: u32) -> Vec<RankArgs> {
    let of = |rank| RankArgs {
        buffers: vec![
            ("send".to_string(), row(rank, round)),
            ("recv".to_string(), vec![0; 512]),
            ("out".to_string(), vec![0; 512]),
        ],
        scalars: Vec::new(),
    };
    (0..RANKS).map(of).collect()
}

#[test]
fn signals_go_on_counting_from_launch_to_launch() {
    let (object, info) = compiled(&GFX950);
    let queue = info.signals[0].queue;
    for checks in [true, false] {
        for seed in 0..10 {
            let options = SimOptions { seed, checks, ..SimOptions::default() };
            let node = SimNode::new(&GFX950, RANKS as u32, info.min_queues.max(2), options).expect("a node");
            for round in 0..4 {
                let ranks = arguments(round);
                let outcome = node.launch(&object, &Launch { kernel: &info, ranks: &ranks });
                let outcome = outcome.unwrap_or_else(|fault| panic!("seed {seed}, launch {round}: {fault}"));
                for (rank, buffers) in outcome.buffers.iter().enumerate() {
                    let out = &buffers.iter().find(|(name, _)| name == "out").expect("a buffer").1;
                    let expected = row((rank + RANKS - 1) % RANKS, round).repeat(2);
                    assert!(*out == expected, "seed {seed}, launch {round}, rank {rank}");
                    let prev = (rank + RANKS - 1) % RANKS;
                    let total = node.signal(rank as u32, prev as u32, queue).expect("a slot");
                    assert_eq!(total, 2 * (u64::from(round) + 1), "seed {seed}, launch {round}, rank {rank}");
                }
            }
        }
    }
}

#[test]
fn a_launch_may_run_again_on_what_it_left() {
    let (object, info) = compiled(&GFX950);
    let node = SimNode::new(&GFX950, RANKS as u32, info.min_queues.max(2), SimOptions::default()).expect("a node");
    let ranks = arguments(7);
    let prepared = node.prepare(&object, &Launch { kernel: &info, ranks: &ranks }).expect("a launch");
    let mut outputs = Vec::new();
    for _ in 0..3 {
        assert!(node.run(&prepared).unwrap_or_else(|fault| panic!("{fault}")) > 0);
        outputs.push(node.buffers(&prepared).expect("buffers"));
    }
    assert!(outputs.iter().all(|output| *output == outputs[0]));
    assert_eq!(node.signal(0, 2, info.signals[0].queue).expect("a slot"), 6);
}

/// Each rank's put is finished for its receiver, who waits for the signal; the sender waits for nothing.
const FORGETFUL: &str = "kernel forgetful(comm: devcomm, send: window<u8>[65536], recv: window<u8>[65536])
    launch(grid = [1], block = [64])
{
    let next = (comm.lsa_rank + 1) % comm.lsa_size;
    let prev = (comm.lsa_rank + comm.lsa_size - 1) % comm.lsa_size;
    sdma.put(recv@next![0], send![0], next, 65536, queue = 0, coop = block, remote_signal = true);
    if thread.x == 0 {
        sdma.wait_signal(prev, 1, queue = 0);
    }
}
";

#[test]
fn a_rank_that_ends_with_a_copy_in_flight_is_a_fault_then() {
    let options = Options { want: Want::finished(&GFX950), ..Options::default() };
    let compiled = compile_text(FORGETFUL, &GFX950, &options).unwrap_or_else(|all| panic!("{all:#?}"));
    let mut artifact = artifact(&compiled).expect("an artifact");
    let (object, info) = (artifact.code, artifact.kernels.swap_remove(0));
    let buffer = |name: &str| (name.to_string(), vec![1; 65536]);
    let args = RankArgs { buffers: vec![buffer("send"), buffer("recv")], scalars: Vec::new() };
    let ranks = vec![args; RANKS];
    let mut found = 0;
    for seed in 0..20 {
        let options = SimOptions { seed, ..SimOptions::default() };
        let node = SimNode::new(&GFX950, RANKS as u32, 2, options).expect("a node");
        // By chance a rank's own put may be over when its predecessor's is.
        if let Err(fault) = node.launch(&object, &Launch { kernel: &info, ranks: &ranks }) {
            let words = fault.to_string();
            assert!(words.contains("the kernel has ended while"), "seed {seed}: {words}");
            assert!(
                words.contains("SDMA queue (") && words.contains("kernel forgetful, rank "),
                "seed {seed}: {words}"
            );
            found += 1;
        }
    }
    assert!(found > 0, "no seed saw it");
}

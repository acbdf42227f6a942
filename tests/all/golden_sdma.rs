//! What emitted gfx950 code posts, beside what mori's own device code posted: dwords and counters of the `form` and `addr`
//! cases of the golden file, executed on the simulator with engines that stand still.

use serde_json::Value;
use tilewright::backend::Want;
use tilewright::{Options, compile_text};
use tilewright_sim::machine::{Launch, Sim, SimConfig};
use tilewright_sim::node::{Counters, Node, RankConfig, window_device};
use tilewright_sim::sdma::QueueId;
use tilewright_target::GFX950;

use crate::common::root;

/// What rings hold before a launch.
const PATTERN: u32 = 0xdead_beef;

fn cases() -> Vec<Value> {
    let text = std::fs::read_to_string(root().join("tests/golden/sdma_form_addr.jsonl")).expect("the golden file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// The kernel of a case, called `k<index>`.
fn kernel(index: usize, case: &Value) -> String {
    let step = &case["steps"][0];
    let lane = &step["lanes"][0];
    let [thread, peer, queue, dst, src, bytes] = [0, 1, 2, 3, 4, 5].map(|n| number(&lane[n]));
    let flags = number(&step["optFlags"]);
    let op = step["op"].as_str().expect("an op");
    let coop = step["coop"].as_str().expect("a scope");
    let mode = if step["threadMode"] == "SameQueue" { "same_queue" } else { "independent" };
    let (to, from) = if op == "put" { ("@peer", "") } else { ("", "@peer") };
    let post = format!(
        "sdma.{op}(dst{to}![{dst}], src{from}![{src}], peer, {bytes}, queue = {queue}, coop = {coop}, mode = {mode}, \
         local_signal = {}, remote_signal = {}, aggregate = {}, signal_per_copy = {});",
        step["localSignal"],
        step["remoteSignal"],
        flags & 1 != 0,
        flags & 2 != 0
    );
    let post = if coop == "thread" { format!("if thread.x == {thread} {{ {post} }}") } else { post };
    format!(
        "kernel k{index}(comm: devcomm, dst: window<u8>[17179869184], src: window<u8>[17179869184]) \
         launch(grid = [1], block = [64]) {{ let peer = lsa({peer}); {post} }}\n"
    )
}

/// A node of one rank as the case has it, and the kernel's arguments.
fn set_up(sim: &mut Sim, case: &Value) -> (Node, Vec<u8>) {
    let cfg = &case["cfg"];
    let int = |name: &str| number(&cfg[name]) as u32;
    let rank = int("lsaRank");
    let peers = cfg["peerSignalPtrs"].as_array().expect("a list");
    let config = RankConfig {
        lsa_rank: rank,
        lsa_size: int("lsaSize"),
        world_rank: int("rank"),
        world_size: int("worldSize"),
        node_start: int("myNodeStart"),
        queues: int("sdmaNumQueue"),
        without_sdma: Vec::new(),
        signals: Some(number(&cfg["signalBuf"])),
        peer_signals: Some(peers.iter().map(number).collect()),
    };
    let facts = GFX950.sdma.as_ref().expect("engines");
    let node = Node::with_ranks(&mut sim.memory, facts, &[config]).expect("a node");
    let mut args = node.rank(rank).expect("exists").comm().bytes();
    for window in ["dstWin", "srcWin"] {
        let window = &cfg[window];
        let (base, stride) = (number(&window["winBase"]), number(&window["stride4G"]) as u32);
        let device = window_device(&mut sim.memory, rank, base, stride, number(&window["lsaRank"]) as i32);
        args.extend(device.expect("memory").to_le_bytes());
    }
    (node, args)
}

/// The counters and the ring that the golden file has for a queue; those of a queue that nobody touched otherwise.
fn expected(case: &Value, id: QueueId, ring_bytes: usize) -> (Counters, Vec<u8>) {
    let mut ring: Vec<u8> = PATTERN.to_le_bytes().into_iter().cycle().take(ring_bytes).collect();
    let after = case["steps"][0]["after"].as_array().expect("a list");
    let touched = |entry: &&Value| {
        number(&entry["peer"]) == u64::from(id.peer) && number(&entry["queueId"]) == u64::from(id.queue)
    };
    let Some(entry) = after.iter().find(touched) else { return (Counters::default(), ring) };
    for write in entry["writes"].as_array().expect("a list") {
        let (at, hex) = (number(&write[0]) as usize, write[1].as_str().expect("hex"));
        for (n, pair) in hex.as_bytes().chunks(2).enumerate() {
            let pair = std::str::from_utf8(pair).expect("ASCII");
            ring[at + n] = u8::from_str_radix(pair, 16).expect("hex");
        }
    }
    let counters = Counters {
        rptr: number(&entry["rptr"]),
        wptr: number(&entry["wptr"]),
        doorbell: number(&entry["doorbell"]),
        cached_wptr: number(&entry["cachedWptr"]),
        committed_wptr: number(&entry["committedWptr"]),
        cached_hw_read_index: number(&entry["cachedHwReadIndex"]),
    };
    (counters, ring)
}

#[test]
fn emitted_posts_equal_moris() {
    let cases = cases();
    assert_eq!(cases.len(), 71);
    let text: String = cases.iter().enumerate().map(|(index, case)| kernel(index, case)).collect();
    let options = Options { want: Want::finished(&GFX950), ..Options::default() };
    let compiled = compile_text(&text, &GFX950, &options).unwrap_or_else(|all| panic!("{all:#?}"));
    let object = compiled.made.and_then(|made| made.object).expect("machine code");
    for (index, case) in cases.iter().enumerate() {
        let mut sim = Sim::new(&GFX950, SimConfig { seed: index as u64, ..SimConfig::default() });
        let (node, args) = set_up(&mut sim, case);
        let ids: Vec<QueueId> = node.queues().map(|(id, _)| id).collect();
        for id in &ids {
            node.fill_ring(&mut sim.memory, *id, PATTERN).expect("a ring");
        }
        let mut engines = node.engines(&mut sim.memory).expect("engines");
        engines.stand_still();
        let module = sim.load(&object).expect("loads");
        let rank = node.ranks()[0].config().lsa_rank;
        let launch = Launch { rank, grid: [1; 3], block: [64, 1, 1], args, dynamic_lds: 0 };
        sim.launch(module, &format!("k{index}"), launch).expect("launches");
        sim.run(&mut engines).unwrap_or_else(|fault| panic!("{}: {fault}", case["name"]));
        for id in ids {
            let ring = node.ring(&mut sim.memory, id).expect("a ring");
            let (counters, bytes) = expected(case, id, ring.len());
            assert_eq!(node.counters(&mut sim.memory, id).expect("counters"), counters, "{} {id}", case["name"]);
            assert!(ring == bytes, "{} {id}: {:02x?}", case["name"], &ring[..96]);
        }
    }
}

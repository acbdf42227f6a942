//! Virtual time of real kernels on the simulator: the figures that the seeds measured come out of executing the kernels, and
//! hardly depend on the seed; traces hold together.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tilewright::artifact::{CodeBytes, KernelInfo};
use tilewright::backend::Want;
use tilewright::bundle::artifact;
use tilewright::checked::{Trial, check};
use tilewright::device::Timed;
use tilewright::{Options, compile_text};
use tilewright_ir::interp::DEFAULT_MAX_STEPS;
use tilewright_runtime::device::sim::{SimOptions, run_timed};
use tilewright_runtime::device::{Launch, RankArgs};
use tilewright_sim::sdma::QueueId;
use tilewright_sim::time::{Lane, LaneKind, RankTime, SliceKind, Trace, chrome_json};
use tilewright_target::GFX950;
use tilewright_tests::trace_picture::draw;

use crate::common;

/// A compiled kernel.
struct Kernel {
    code: CodeBytes,
    info: KernelInfo,
}

impl Kernel {
    fn new(text: &str) -> Kernel {
        let options = Options { want: Want::finished(&GFX950), ..Options::default() };
        let compiled = compile_text(text, &GFX950, &options).unwrap_or_else(|all| panic!("{all:#?}\n{text}"));
        let mut artifact = artifact(&compiled).expect("an artifact");
        Kernel { code: artifact.code, info: artifact.kernels.swap_remove(0) }
    }

    /// Runs it on `ranks` ranks with buffers of these sizes; times and trace.
    fn run(&self, ranks: usize, buffers: &[(&str, usize)], seed: u64) -> (Vec<RankTime>, Trace) {
        let args = RankArgs {
            buffers: buffers.iter().map(|(name, bytes)| (name.to_string(), vec![1; *bytes])).collect(),
            scalars: Vec::new(),
        };
        let ranks = vec![args; ranks];
        // Times do not depend on the checks, which cost most where much is moved.
        let options = SimOptions { seed, checks: false, ..SimOptions::default() };
        let launch = Launch { kernel: &self.info, ranks: &ranks };
        let (_, times, trace) =
            run_timed(&GFX950, &self.code, &launch, options, true).unwrap_or_else(|fault| panic!("{fault}"));
        (times, trace.expect("a trace"))
    }

    /// Microseconds of rank 0.
    fn microseconds(&self, buffers: &[(&str, usize)], seed: u64) -> f64 {
        let (times, _) = self.run(2, buffers, seed);
        (times[0].end - times[0].start) as f64 / 1e6
    }
}

/// Rank 0 executes `body` with lane `t` and rank 1 as `next`.
fn sender(bytes: usize, body: &str) -> Kernel {
    Kernel::new(&format!(
        "kernel k(comm: devcomm, flag: window<u32>[1], send: window<u8>[{bytes}], recv: window<u8>[{bytes}]) launch(grid = [1], block = [64]) {{
    let t = thread.linear;
    let next = (me + 1) % comm.lsa_size;
    if me == lsa(0) {{
        {body}
    }}
}}"
    ))
}

fn near(what: &str, measured: f64, expected: f64, percent: f64) {
    let off = (measured - expected) / expected * 100.0;
    println!("{what}: {measured:.2}, expected {expected:.2} ({off:+.1} %)");
    assert!(off.abs() <= percent, "{what}: {measured:.2}, expected {expected:.2} within {percent} %, {off:+.1} % off");
}

#[test]
fn latencies_are_the_seeds() {
    let (chunk, all) = (4096, 64 * 4096);
    let buffers = [("flag", 4), ("send", all), ("recv", all)];
    let scattered = format!(
        "sdma.put(recv@next![t * {chunk}], send![t * {chunk}], next, {chunk}, queue = 0, mode = same_queue);
        sdma.quiet_queue(next, queue = 0);"
    );
    let signalled = scattered.replace("same_queue)", "same_queue, signal_per_copy = true, remote_signal = true)");
    let whole = format!(
        "sdma.put(recv@next![0], send![0], next, {all}, queue = 0, coop = warp); sdma.quiet_queue(next, queue = 0);"
    );
    let small =
        "sdma.put(recv@next![0], send![0], next, 1024, queue = 0, coop = warp); sdma.quiet_queue(next, queue = 0);";
    // "64 x 4 KB costs 138 us, where the same 256 KB in one copy costs about 11 us"; design: about 140.
    near("64 x 4 KiB", sender(all, &scattered).microseconds(&buffers, 0), 140.0, 5.0);
    near("256 KiB", sender(all, &whole).microseconds(&buffers, 0), 11.0, 5.0);
    // "64 signalled copies take 248 us instead of 132 us".
    near("64 signalled copies", sender(all, &signalled).microseconds(&buffers, 0), 248.0, 10.0);
    // The latency clock itself, far from where bytes count; hw 6 says "~6 us".
    let clock = GFX950.costs.sdma.expect("engines").latency(1, 1024).picoseconds as f64 / 1e6;
    near("1 KiB", sender(all, small).microseconds(&buffers, 0), clock, 10.0);
}

#[test]
fn posts_cost_what_the_issue_table_says() {
    let table = GFX950.costs.sdma.expect("engines").issue_same_queue.value;
    for point in table {
        let lanes = point.lanes;
        let body = format!(
            "if t < {lanes} {{
            for k in 0..8 {{ sdma.put(recv@next![t * 64], send![t * 64], next, 64, queue = 0, mode = same_queue); }}
        }}
        sdma.quiet_queue(next, queue = 0);"
        );
        let (_, trace) = sender(4096, &body).run(2, &[("flag", 4), ("send", 4096), ("recv", 4096)], 0);
        let lane = trace.lanes.iter().find(|lane| lane.kind == LaneKind::Queue(QueueId { rank: 0, peer: 1, queue: 0 }));
        let bells: Vec<u64> = lane.expect("a queue").arrows.iter().map(|arrow| arrow.from.at).collect();
        assert_eq!(bells.len(), 8, "one doorbell each");
        let apart = (bells[7] - bells[0]) as f64 / 7.0;
        let cycles = apart * f64::from(GFX950.costs.cu.clock_mhz.value) / 1e6;
        near(&format!("{lanes} lanes"), cycles, f64::from(point.cycles), 10.0);
    }
}

#[test]
fn streams_follow_the_bandwidth_table() {
    for point in GFX950.costs.sdma.expect("engines").bandwidth.value {
        let (bytes, ops) = (point.bytes_per_op as usize, 4);
        // All copies between the same bytes: what is measured is when they are done.
        let body = format!(
            "for k in 0..{ops} {{ sdma.put(recv@next![0], send![0], next, {bytes}, queue = 0, coop = warp); }}
        sdma.quiet_queue(next, queue = 0);"
        );
        let (_, trace) = sender(bytes, &body).run(2, &[("flag", 4), ("send", bytes), ("recv", bytes)], 0);
        let lane = trace.lanes.iter().find(|lane| matches!(lane.kind, LaneKind::Queue(_))).expect("a queue");
        let ends: Vec<u64> = lane.slices.iter().map(|slice| slice.end).collect();
        assert_eq!(ends.len(), ops);
        // From the end of the first one on the queue is busy.
        let each = (ends[ops - 1] - ends[0]) as f64 / (ops - 1) as f64;
        near(&format!("{bytes} bytes an op"), bytes as f64 * 1000.0 / each, f64::from(point.bytes_per_ns), 10.0);
    }
}

#[test]
fn queues_to_one_peer_share_its_link() {
    let buffers = |bytes: usize| [("flag", 4), ("send", 2 * bytes), ("recv", 2 * bytes)];
    let two = |bytes: usize, second: usize, peer: &str| {
        sender(
            2 * bytes,
            &format!(
                "if t == 0 {{
            sdma.put(recv@next![0], send![0], next, {bytes}, queue = 0);
            sdma.put(recv@{peer}![{bytes}], send![{bytes}], {peer}, {bytes}, queue = {second});
            sdma.quiet(next);
            sdma.quiet({peer});
        }}"
            ),
        )
    };
    let rate = |bytes: usize, microseconds: f64| 2.0 * bytes as f64 / 1000.0 / microseconds;
    let (four, large) = (4 << 20, 24 << 20);
    // "Two ops of 4 MB reach 57 GB/s where one op of 8 MB reaches 60, even on separate queues".
    near("one queue", rate(four, two(four, 0, "next").microseconds(&buffers(four), 0)), 57.0, 5.0);
    near("two queues, one peer", rate(four, two(four, 1, "next").microseconds(&buffers(four), 0)), 57.0, 5.0);
    // "122 GB/s for two puts on two queues", to two peers.
    let (times, _) = two(large, 0, "lsa(2)").run(3, &buffers(large), 0);
    near("two peers", rate(large, times[0].end as f64 / 1e6), 122.0, 10.0);
}

#[test]
fn broadcasts_have_their_own_rates() {
    let bytes = 8 << 20;
    let costs = GFX950.costs.sdma.expect("engines");
    let cases = [
        ("recv@next![0], recv@lsa(2)![0]", "next, lsa(2)", costs.broadcast_remote_bytes_per_ns),
        ("recv@next![0], recv@me![0]", "next, me", costs.broadcast_mixed_bytes_per_ns),
        ("recv@me![0], send@me![8388608]", "me, me", costs.broadcast_local_bytes_per_ns),
    ];
    for (places, ranks, expected) in cases {
        let peer = ranks.split(',').next().unwrap_or_default();
        let body = format!(
            "sdma.put_broadcast({places}, send![0], {ranks}, {bytes}, queue = 0, coop = warp);
        sdma.quiet({peer});"
        );
        let kernel = sender(2 * bytes, &body);
        let (times, _) = kernel.run(3, &[("flag", 4), ("send", 2 * bytes), ("recv", 2 * bytes)], 0);
        near(ranks, 2.0 * bytes as f64 / 1000.0 / (times[0].end as f64 / 1e6), f64::from(expected.value), 5.0);
    }
}

#[test]
fn waits_that_hold_cost_their_figure() {
    let bytes = 4096;
    let put = "sdma.put(recv@next![0], send![0], next, 4096, queue = 0";
    let plain = format!("if t == 0 {{ {put}); sdma.quiet_queue(next, queue = 0); }}");
    let gated = "if t == 0 { sdma.post_wait_mem_put_ptr(flag![0], 3, recv@next![0], send![0], next, 4096, 0, cmp = ne);
        sdma.quiet_queue(next, queue = 0); }";
    let buffers = [("flag", 4), ("send", bytes), ("recv", bytes)];
    let (plain, gated) = (sender(bytes, &plain), sender(bytes, gated));
    let of = |kernel: &Kernel| {
        let (times, _) = kernel.run(2, &buffers, 0);
        times[0].queues[0].busy as f64 / 1e6
    };
    near("a satisfied wait", of(&gated) - of(&plain), 1.6, 1.0);
}

/// An all-to-all with a signal, as in `examples/alltoall.tile`.
fn alltoall() -> Kernel {
    Kernel::new(
        "kernel alltoall(comm: devcomm, send: window<u8>[4, 4096], recv: window<u8>[4, 4096]) launch(grid = [1], block = [64]) {
    assume(comm.lsa_size == 4);
    signal ready;
    let p = thread.x;
    if p < comm.lsa_size && p != comm.lsa_rank {
        copy recv@lsa(p)[me, ..] <- send[p, ..] by thread, notify ready;
        wait ready from lsa(p) by thread;
    }
}",
    )
}

const ALLTOALL: [(&str, usize); 2] = [("send", 4 * 4096), ("recv", 4 * 4096)];

#[test]
fn times_hardly_depend_on_the_seed() {
    let kernel = alltoall();
    let ends: Vec<u64> =
        (0..10).flat_map(|seed| kernel.run(4, &ALLTOALL, seed).0).map(|rank| rank.end - rank.start).collect();
    let (least, most) = (ends.iter().min().copied().unwrap_or(0), ends.iter().max().copied().unwrap_or(0));
    assert_eq!(ends.len(), 40);
    assert!(least > 8_000_000 && most - least <= least / 50, "{least} to {most} ps");
    let [first, again] = [0, 0].map(|seed| kernel.run(4, &ALLTOALL, seed));
    assert_eq!(first, again, "the same seed, the same times");
}

/// Two slices of a lane lie one behind the other, or one in the other.
fn nested(lane: &Lane) -> bool {
    let crosses = |a: (u64, u64), b: (u64, u64)| a.0 < b.0 && b.0 < a.1 && a.1 < b.1;
    let spans: Vec<(u64, u64)> = lane.slices.iter().map(|slice| (slice.start, slice.end)).collect();
    spans.iter().all(|a| spans.iter().all(|b| !crosses(*a, *b)))
}

#[test]
fn traces_hold_together() {
    for seed in 0..5 {
        let (times, trace) = alltoall().run(4, &ALLTOALL, seed);
        let count = |is: fn(&LaneKind) -> bool| trace.lanes.iter().filter(|lane| is(&lane.kind)).count();
        let waves = count(|kind| matches!(kind, LaneKind::Wave { .. }));
        let queues = count(|kind| matches!(kind, LaneKind::Queue(_)));
        let links = count(|kind| matches!(kind, LaneKind::Link { .. }));
        assert_eq!((waves, queues, links, trace.cut), (4, 12, 12, 0));
        let (mut waits, mut seen) = (0, 0);
        for lane in &trace.lanes {
            assert!(nested(lane), "{lane:#?}");
            let end = lane.slices.iter().map(|slice| slice.end).max().unwrap_or(0);
            for arrow in &lane.arrows {
                let source = &trace.lanes[arrow.from.lane as usize];
                let inside = |lane: &Lane, at: u64| lane.slices.iter().any(|s| s.start <= at && at <= s.end);
                assert!(arrow.from.at <= arrow.at && arrow.at <= end, "{arrow:?}");
                assert!(inside(source, arrow.from.at) && inside(lane, arrow.at), "{arrow:?}");
                seen += usize::from(matches!(lane.kind, LaneKind::Wave { .. }));
            }
            waits += lane.slices.iter().filter(|slice| slice.kind == SliceKind::Wait).count();
            if let LaneKind::Queue(queue) = lane.kind {
                // Every rank waits for what comes from every other one, so no wave ends before the copy to it has.
                let put = lane.slices.iter().find(|slice| slice.name.starts_with("put 4096 B")).expect("a put");
                assert!(times[queue.peer as usize].end > put.end, "{queue}");
                assert_eq!(lane.arrows.iter().filter(|arrow| arrow.name == "doorbell").count(), 1, "{queue}");
            }
        }
        assert!(waits >= 4 && seen >= 4, "{waits} waits, {seen} arrows to waves");
        let of_link = |rank: &RankTime| rank.links.iter().map(|link| link.bytes).sum::<u64>();
        assert!(times.iter().all(|rank| of_link(rank) == 3 * 4096 && rank.queues.len() == 3));
    }
}

#[test]
fn traces_are_what_viewers_read() {
    let (_, trace) = alltoall().run(4, &ALLTOALL, 1);
    let runs = [("a \"b\"".to_string(), trace.clone()), ("c".to_string(), trace)];
    let text = chrome_json(&runs, &[("seed", "1".to_string())]);
    let json: Value = serde_json::from_str(&text).expect("JSON");
    let events = json["traceEvents"].as_array().expect("events");
    let whole = |event: &Value, key: &str| event[key].as_u64().unwrap_or_else(|| panic!("{key} of {event}"));
    let (mut named, mut used) = (BTreeSet::new(), BTreeSet::new());
    let (mut processes, mut flows) = (BTreeSet::new(), BTreeMap::<u64, Vec<&str>>::new());
    for event in events {
        let lane = (whole(event, "pid"), whole(event, "tid"));
        assert!(event["ts"].as_f64().is_some_and(|ts| ts >= 0.0), "{event}");
        assert!(event["name"].as_str().is_some_and(|name| !name.is_empty() && !name.contains("{}")), "{event}");
        match event["ph"].as_str() {
            Some("M") if event["name"] == "process_name" => assert!(processes.insert(lane.0)),
            Some("M") if event["name"] == "thread_name" => assert!(named.insert(lane)),
            Some("M") => {}
            Some("X") => {
                assert!(event["dur"].as_f64().is_some_and(|dur| dur >= 0.0), "{event}");
                used.insert(lane);
            }
            Some(end @ ("s" | "f")) => flows.entry(whole(event, "id")).or_default().push(end),
            other => panic!("{other:?}: {event}"),
        }
    }
    assert_eq!(processes.len(), 8, "a process for each rank of each run");
    assert!(used.is_subset(&named) && used.iter().all(|(pid, _)| processes.contains(pid)));
    assert!(!flows.is_empty() && flows.values().all(|ends| ends[..] == ["s", "f"]));
    for words in
        ["wait for the read position of queue (", "put 4096 B to `recv` of rank 3", "add to the signal of rank 2"]
    {
        assert!(text.contains(words), "{words}");
    }
}

#[test]
fn the_picture_of_the_docs_is_todays() {
    let text = std::fs::read_to_string(common::root().join("examples/alltoall.tile")).expect("the example");
    let file = Some("examples/alltoall.tile".to_string());
    let options = Options { want: Want::finished(&GFX950), file, ..Options::default() };
    let compiled = compile_text(&text, &GFX950, &options).unwrap_or_else(|all| panic!("{all:#?}"));
    let run = compiled.tile.runs().next().expect("a run block");
    let npy = |_: &str| Err("no files here".to_string());
    let trial = Trial { run, ranks: None, seed: 0, max_steps: DEFAULT_MAX_STEPS, npy: &npy, alone: true };
    let device = Timed::new(true, true);
    check(&compiled, &device, &trial).unwrap_or_else(|all| panic!("{all:#?}"));
    let trace = device.take().trace.expect("a trace");
    let picture = draw(&chrome_json(&[(String::new(), trace)], &[])).expect("a picture");
    let there = std::fs::read_to_string(common::root().join("docs/pictures/alltoall.svg")).unwrap_or_default();
    let how = "tilewright run examples/alltoall.tile --trace t.json; cargo run -p tilewright-xtask -- trace-picture t.json \
               docs/pictures/alltoall.svg";
    assert!(picture == there, "docs/pictures/alltoall.svg is out of date; look at what this draws:\n{how}");
}

#[test]
fn what_is_no_trace_is_not_drawn() {
    for (text, words) in [("{", "no JSON"), ("{}", "traceEvents"), ("{\"traceEvents\": [{\"ph\": \"X\"}]}", "no event")]
    {
        let why = draw(text).expect_err("no trace");
        assert!(why.contains(words), "{why}");
    }
    assert!(draw("{\"traceEvents\": []}").is_ok_and(|svg| svg.ends_with("</svg>\n")));
}

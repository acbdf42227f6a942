//! Packets that the golden file has no vectors for: waits, broadcasts and the fused wait and copy, as literal dwords.
//!
//! Sources of the dwords, written by hand: hw is reference/hardware.md, section 1; seed is seeds/001, by its headings.
//! - POLL_REGMEM (hw "gfx9", 6 dwords): op 8, func in bits 30..28 (0 always, 1 <, 2 <=, 3 ==, 4 !=, 5 >=, 6 >; hw "POLL func"),
//!   bit 31 for memory; address, reference, mask; interval 4 (hw "usual interval") in bits 15..0 and retry 0xfff, for ever, in
//!   bits 27..16.
//! - COPY_LINEAR broadcast (hw "gfx9", 9 dwords): 0x08000001, bytes - 1, 0, source, first and second destination.
//! - NOP (hw "gfx9"): bits 29..16 count the dwords that follow.
//! - Signals as in the golden file: 0x5e00000a, address, 1, 0, 0, 0, 0.
//! - gfx1250 (hw "gfx1250 differences", golden README "Packets as seen"): copies 0x10000001 with parameter 0x0c0c0000, signals
//!   0x5e30000a, waits with the system's scope (3) in bits 29..28 of their last dword as ROCr posts them. The broadcast has the
//!   gfx9 layout (seed, "Engine-side wait and broadcast": "with the gfx9 layouts. Validated on gfx950 and gfx1250").
//! - A broadcast takes two units and one of slack, padded with a NOP, and never lies across the ring's end (seed,
//!   "putBroadcast"). The fused call is the wait, the copy and the signals in one reservation (seed, "postWaitMemPutPtr").
//!
//! The rank is 3 of 8 with 4 queues to each peer; its bytes of the source window begin at 0x200f_0000_0000, the destination's
//! at 0x100f_0000_0000, those of peer 1 at 0x1005_0000_0000, of peer 2 at 0x100a_0000_0000. Signals: 0x5000_0000_0000 here,
//! 0x3000_0000_0000 + peer * 0x1000_0000 there; this rank's slots there are 12 to 15.

use std::collections::BTreeMap;

use tilewright::backend::Want;
use tilewright::{Options, compile_text};
use tilewright_sim::node::Counters;
use tilewright_sim::sdma::QueueId;

use crate::rows::{Call, Config, Row, Step, chip};
use crate::world::{PATTERN, State, World};

const RANK: u32 = 3;
const QUEUE: QueueId = QueueId { rank: RANK, peer: 1, queue: 2 };

/// The dwords in which the chips differ.
#[derive(Clone, Copy)]
struct Chip {
    name: &'static str,
    /// Header and parameter of a copy.
    copy: [u32; 2],
    /// Header of a signal.
    signal: u32,
    /// Last dword of a wait.
    control: u32,
}

const CHIPS: [Chip; 2] = [
    Chip { name: "gfx950", copy: [0x0000_0001, 0], signal: 0x5e00_000a, control: 0x0fff_0004 },
    Chip { name: "gfx1250", copy: [0x1000_0001, 0x0c0c_0000], signal: 0x5e30_000a, control: 0x3fff_0004 },
];

/// Bytes of a ring, and of what a wave of either chip can post to it.
const RING: u64 = 262_144;

fn row(name: &str) -> Row {
    let (target, facts) = chip(name).expect("a chip");
    Row {
        name: String::new(),
        target,
        facts,
        family: String::new(),
        cfg: Config {
            rank: 11,
            world_size: 16,
            lsa_size: 8,
            lsa_rank: RANK,
            node_start: 8,
            queues: 4,
            windows: [(0x1000_0000_0000, 5, 3), (0x2000_0000_0000, 5, 3)],
            signals: 0x5000_0000_0000,
            peer_signals: (0..8).map(|peer| 0x3000_0000_0000 + peer * 0x1000_0000).collect(),
        },
        init: Vec::new(),
        schedule: "sequential".to_owned(),
        any_order: false,
        doc_conflict: false,
        steps: Vec::new(),
    }
}

fn step(lanes: Vec<[i64; 6]>) -> Step {
    let call =
        Call { op: String::new(), coop: String::new(), local: false, remote: false, flags: 0, same_queue: false };
    Step {
        call,
        block: 64,
        grid: 1,
        lanes,
        signals: Vec::new(),
        events: Vec::new(),
        waited: false,
        returned: None,
        hangs: false,
        store_order: None,
        after: Vec::new(),
    }
}

impl Chip {
    /// What a kernel posts to queue (1, 2), which stands at `start`, and to no other: its units, and how far they are published.
    /// `post` sees p, q, d, s, n of its line in the table, `peer`, and the windows `dst` of u8 and `src` of u32.
    fn posted_from(&self, start: u64, post: &str, lanes: Vec<[i64; 6]>) -> (Vec<[u32; 8]>, u64) {
        let text = format!(
            "kernel k(comm: devcomm, dst: window<u8>[1099511627776], src: window<u32>[1099511627776], lanes: global<i64>[384], \
             done: global<i32>[64]) launch(grid = [1], block = [64]) {{ let t = thread.x; let calls = lanes![t * 6]; \
             if calls == 1 {{ let p = lanes![t * 6 + 1]; let q = lanes![t * 6 + 2]; let d = lanes![t * 6 + 3]; \
             let s = lanes![t * 6 + 4]; let n = lanes![t * 6 + 5]; let peer = lsa(p); {post} done![t] = 1; }} }}"
        );
        let row = row(self.name);
        let options = Options { want: Want::finished(row.target), ..Options::default() };
        let compiled = compile_text(&text, row.target, &options).unwrap_or_else(|all| panic!("{post}: {all:#?}"));
        let object = compiled.made.and_then(|made| made.object).expect("machine code");
        let ring = PATTERN.to_le_bytes().repeat(RING as usize / 4);
        let states = BTreeMap::from([(QUEUE, State { counters: Counters::at(start), ring: ring.clone() })]);
        let mut world = World::new(&row, &object, &states, 1).expect(post);
        let ran = world.run("k", &step(lanes.clone()), false, &[]).unwrap_or_else(|why| panic!("{post}: {why}"));
        assert!(ran.ended, "{post} does not end");
        assert_eq!(world.returned().expect(post).len(), lanes.len(), "{post}: lanes that came back");
        for id in world.queues() {
            let state = world.state(id).expect(post);
            assert!(
                id == QUEUE || state.counters == Counters::default() && state.ring == ring,
                "{post}: posted to {id}"
            );
        }
        let State { counters, ring } = world.state(QUEUE).expect(post);
        let Counters { wptr, doorbell, cached_wptr, committed_wptr, .. } = counters;
        assert!(wptr == doorbell && wptr == committed_wptr, "{post}: {counters:?}");
        let unit = |position: u64| -> [u32; 8] {
            let at = (position % RING) as usize;
            std::array::from_fn(|n| {
                let bytes = &ring[at + 4 * n..at + 4 * n + 4];
                u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
            })
        };
        let units = (start..cached_wptr).step_by(32).map(unit).collect();
        // Nothing else of the ring was touched.
        for position in (cached_wptr..start + RING).step_by(32) {
            assert_eq!(unit(position), [PATTERN; 8], "{post}: {position:#x}");
        }
        (units, committed_wptr - start)
    }

    /// The same from position 0; everything is published.
    fn posted(&self, post: &str, lanes: Vec<[i64; 6]>) -> Vec<[u32; 8]> {
        let (units, published) = self.posted_from(0, post, lanes);
        assert_eq!(published, units.len() as u64 * 32, "{post}");
        units
    }

    fn signal(&self, low: u32, high: u32) -> [u32; 8] {
        [self.signal, low, high, 1, 0, 0, 0, 0]
    }

    /// This rank's slot for queue 2 at itself: slot 3 * 4 + 2, of 8 bytes.
    fn here(&self) -> [u32; 8] {
        self.signal(0x70, 0x5000)
    }

    /// The same at a peer.
    fn there(&self, peer: u32) -> [u32; 8] {
        self.signal(0x1000_0000 * peer + 0x70, 0x3000)
    }

    /// The wait for element `flag` of the source window to be `value`.
    fn gate(&self, flag: u32, value: u32) -> [u32; 8] {
        [0xb000_0008, 4 * flag, 0x200f, value, 0xffff_ffff, self.control, 0, 0]
    }

    /// A copy of `bytes` from byte `from` of the source window to byte `to` of peer 1.
    fn copy_from(&self, from: u32, to: u32, bytes: u32) -> [u32; 8] {
        [self.copy[0], bytes - 1, self.copy[1], from, 0x200f, to, 0x1005, 0]
    }

    /// The same from element 64.
    fn copy(&self, to: u32, bytes: u32) -> [u32; 8] {
        self.copy_from(0x100, to, bytes)
    }
}

/// A lane for queue (1, 2): offsets of destination and source, bytes.
fn lane(thread: i64, dst: i64, src: i64, bytes: i64) -> [i64; 6] {
    [thread, 1, 2, dst, src, bytes]
}

const NOP: [u32; 8] = [0x0007_0000, 0, 0, 0, 0, 0, 0, 0];

/// Every test once for each chip.
macro_rules! on_each_chip {
    ($($name:ident)*) => {
        mod gfx950 {
            $(#[test] fn $name() { super::$name(&super::CHIPS[0]); })*
        }
        mod gfx1250 {
            $(#[test] fn $name() { super::$name(&super::CHIPS[1]); })*
        }
    };
}

on_each_chip! {
    waits_for_memory
    waits_for_signals
    broadcasts
    a_long_broadcast_goes_in_pieces
    waits_and_copies_in_one_reservation
    long_copies_behind_a_wait_go_lane_by_lane
    copies_by_pointer
}

fn waits_for_memory(chip: &Chip) {
    // seed "postWaitMem": cmp defaults to Eq, the mask to all ones; hw POLL_REGMEM.
    let flag = [0xb000_0008, 0x40, 0x200f, 7, 0xffff_ffff, chip.control, 0, 0];
    let one = || vec![lane(5, 0, 16, 7)];
    assert_eq!(chip.posted("sdma.post_wait_mem(src![s], n, peer, q);", one()), [flag]);
    assert_eq!(chip.posted("sdma.post_wait_mem(src![16], 7, lsa(1), queue = 2);", one()), [flag]);
    let codes = [("always", 0), ("lt", 1), ("le", 2), ("eq", 3), ("ne", 4), ("ge", 5), ("gt", 6)];
    for (word, code) in codes {
        let post = format!("sdma.post_wait_mem(src![s], n, peer, q, cmp = {word}, mask = 65280);");
        assert_eq!(
            chip.posted(&post, one()),
            [[0x8000_0008 | code << 28, 0x40, 0x200f, 7, 0xff00, chip.control, 0, 0]]
        );
    }
    // A 64-bit flag: its low dword. A value's low 32 bits.
    let long = vec![lane(5, 0, 16, 0x9_0000_0007)];
    assert_eq!(chip.posted("sdma.post_wait_mem(src![s], n, peer, q);", long), [flag]);
    // seed "Engine-side wait": lanes are serialised; warp and block scope let the leader post.
    let lanes = || (0..4).map(|t| lane(t * 7, 0, 16 + t, t)).collect::<Vec<_>>();
    let word = |t: u32| [0xb000_0008, 0x40 + 4 * t, 0x200f, t, 0xffff_ffff, chip.control, 0, 0];
    assert_eq!(chip.posted("sdma.post_wait_mem(src![s], n, peer, q);", lanes()), [word(0), word(1), word(2), word(3)]);
    for coop in ["warp", "block"] {
        let post = format!("sdma.post_wait_mem(src![s], n, peer, q, coop = {coop});");
        assert_eq!(chip.posted(&post, lanes()), [word(0)]);
    }
    let aggregate = "sdma.post_wait_mem(src![s], n, peer, q, aggregate = true);";
    assert_eq!(chip.posted_from(96, aggregate, one()), (vec![flag], 0));
    // A queue that is not there.
    for queue in [4, -1, i64::from(i32::MAX), 1 << 32] {
        assert_eq!(chip.posted("sdma.post_wait_mem(src![s], n, peer, q);", vec![[5, 1, queue, 0, 16, 7]]).len(), 0);
    }
}

fn waits_for_signals(chip: &Chip) {
    // seed "postWaitSignal": postWaitMem on a signal slot, `>=`. The slot of rank 6 on queue 3: 6 * 4 + 3, of 8 bytes.
    let wait = [0xd000_0008, 0xd8, 0x5000, 9, 0xffff_ffff, chip.control, 0, 0];
    let one = || vec![lane(0, 6, 3, 9)];
    assert_eq!(chip.posted("sdma.post_wait_signal(lsa(d), n, peer, q, s);", one()), [wait]);
    assert_eq!(chip.posted("sdma.post_wait_signal(lsa(6), 9, lsa(1), queue = 2, signal_queue = 3);", one()), [wait]);
    assert_eq!(chip.posted("sdma.post_wait_signal(lsa(d), n, peer, s, queue = 2, coop = block);", one()), [wait]);
    assert_eq!(chip.posted("sdma.post_wait_signal(lsa(d), n, peer, q, s);", vec![lane(0, 6, 4, 9)]).len(), 0);
}

/// A broadcast of `bytes` from source element 64 to byte 0x100 of peer 1 and byte 0x220 of this rank.
fn broadcast(bytes: u32) -> [[u32; 8]; 2] {
    let head = [0x0800_0001, bytes - 1, 0, 0x100, 0x200f, 0x100, 0x1005, 0x220];
    [head, [0x100f, 0, 0, 0, 0, 0, 0, 0]]
}

fn broadcasts(chip: &Chip) {
    let one = || vec![lane(9, 0x100, 64, 4096)];
    let [head, tail] = broadcast(4096);
    let post = |rest: &str| format!("sdma.put_broadcast(dst@peer![d], dst![544], src![s], peer, me, n, q{rest});");
    assert_eq!(chip.posted(&post(""), one()), [head, tail, NOP]);
    let fixed = "sdma.put_broadcast(dst@lsa(1)![256], dst![544], src![64], lsa(1), me, 4096, queue = 2);";
    assert_eq!(chip.posted(fixed, one()), [head, tail, NOP]);
    // The packet begins anew where it would lie across the ring's end; otherwise the slack is behind it.
    assert_eq!(chip.posted_from(RING - 32, &post(""), one()), (vec![NOP, head, tail], 96));
    for start in [RING - 64, RING - 96, 3 * RING - 64] {
        assert_eq!(chip.posted_from(start, &post(""), one()), (vec![head, tail, NOP], 96));
    }
    // seed "putBroadcast": a signal at each distinct destination other than this rank, one local for the call.
    assert_eq!(chip.posted(&post(", local_signal = true"), one()), [head, tail, NOP, chip.here()]);
    assert_eq!(chip.posted(&post(", remote_signal = true"), one()), [head, tail, NOP, chip.there(1)]);
    let both = ", local_signal = true, remote_signal = true";
    assert_eq!(chip.posted(&post(both), one()), [head, tail, NOP, chip.here(), chip.there(1)]);
    let two = format!("sdma.put_broadcast(dst@peer![d], dst@lsa(2)![544], src![s], peer, lsa(2), n, q{both});");
    let tail2 = [0x100a, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(chip.posted(&two, one()), [head, tail2, NOP, chip.here(), chip.there(1), chip.there(2)]);
    let same = format!("sdma.put_broadcast(dst@peer![d], dst@lsa(1)![544], src![s], peer, lsa(1), n, q{both});");
    assert_eq!(chip.posted(&same, one()), [head, [0x1005, 0, 0, 0, 0, 0, 0, 0], NOP, chip.here(), chip.there(1)]);
    assert_eq!(
        chip.posted_from(RING - 32, &two, one()).0,
        [NOP, head, tail2, chip.here(), chip.there(1), chip.there(2)]
    );
    // One active lane at a time; no bytes, nothing.
    let lanes = vec![lane(1, 0x100, 64, 4096), lane(2, 0x100, 64, 0), lane(3, 0x100, 64, 512)];
    let [short, _] = broadcast(512);
    assert_eq!(
        chip.posted(&post(", remote_signal = true"), lanes),
        [head, tail, NOP, chip.there(1), short, tail, NOP, chip.there(1)]
    );
    assert_eq!(chip.posted_from(64, &post(", aggregate = true"), one()), (vec![head, tail, NOP], 0));
}

fn a_long_broadcast_goes_in_pieces(chip: &Chip) {
    // golden README, "Packets as seen": pieces of 0x3fffffe0 bytes, signals on the last.
    let post =
        "sdma.put_broadcast(dst@peer![d], dst![544], src![s], peer, me, n, q, remote_signal = true, coop = warp);";
    let first = [0x0800_0001, 0x3fff_ffdf, 0, 0x100, 0x200f, 0x100, 0x1005, 0x220];
    let second = [0x0800_0001, 0, 0, 0x4000_00e0, 0x200f, 0x4000_00e0, 0x1005, 0x4000_0200];
    let tail = [0x100f, 0, 0, 0, 0, 0, 0, 0];
    let long = vec![lane(0, 0x100, 64, 0x3fff_ffe1)];
    assert_eq!(chip.posted(post, long), [first, tail, NOP, second, tail, NOP, chip.there(1)]);
}

fn waits_and_copies_in_one_reservation(chip: &Chip) {
    // seed "postWaitMemPutPtr".
    let post =
        |rest: &str| format!("sdma.post_wait_mem_put_ptr(src![s], 5, dst@peer![d], src![64], peer, n, q{rest});");
    let one = || vec![lane(3, 0x300, 8, 4096)];
    assert_eq!(chip.posted(&post(""), one()), [chip.gate(8, 5), chip.copy(0x300, 4096)]);
    let fixed = "sdma.post_wait_mem_put_ptr(src![8], 5, dst@lsa(1)![768], src![64], lsa(1), 4096, queue = 2);";
    assert_eq!(chip.posted(fixed, one()), [chip.gate(8, 5), chip.copy(0x300, 4096)]);
    let both = ", local_signal = true, remote_signal = true";
    assert_eq!(chip.posted(&post(both), one()), [chip.gate(8, 5), chip.copy(0x300, 4096), chip.here(), chip.there(1)]);
    // Zero bytes: wait and signals, and nothing without a signal.
    let empty = || vec![lane(3, 0x300, 8, 0)];
    assert_eq!(chip.posted(&post(", remote_signal = true"), empty()), [chip.gate(8, 5), chip.there(1)]);
    assert_eq!(chip.posted(&post(""), empty()).len(), 0);
    let none =
        "sdma.post_wait_mem_put_ptr(src![8], 5, dst@peer![d], src![64], peer, 0, queue = 2, remote_signal = true);";
    assert_eq!(chip.posted(none, empty()), [chip.gate(8, 5), chip.there(1)]);
    // Each lane's copy lies behind its own wait, with its own signals.
    let lanes = || vec![lane(0, 0x300, 8, 64), lane(1, 0x400, 9, 128)];
    let first = [chip.gate(8, 5), chip.copy(0x300, 64), chip.there(1)];
    let second = [chip.gate(9, 5), chip.copy(0x400, 128), chip.there(1)];
    assert_eq!(chip.posted(&post(", remote_signal = true"), lanes()), [first, second].concat());
    let fixed = fixed.replace("src![8], 5, dst@lsa(1)![768]", "src![s], 5, dst@lsa(1)![d]").replace("4096", "64");
    let fixed = fixed.replace("queue = 2", "queue = 2, remote_signal = true");
    let second = [chip.gate(9, 5), chip.copy(0x400, 64), chip.there(1)];
    assert_eq!(chip.posted(&fixed, lanes()), [first, second].concat());
    let masked = chip.posted(&post(", cmp = ge, mask = 15"), one());
    assert_eq!(masked[0], [0xd000_0008, 32, 0x200f, 5, 15, chip.control, 0, 0]);
    assert_eq!(chip.posted(&post(both), vec![[3, 1, 4, 0x300, 8, 64]]).len(), 0);
}

fn long_copies_behind_a_wait_go_lane_by_lane(chip: &Chip) {
    // seed "postWaitMemPutPtr": over the limit, one lane at a time, so that each waits for its own flag and those before it.
    let post = "sdma.post_wait_mem_put_ptr(src![s], 5, dst@peer![d], src![64], peer, n, q, remote_signal = true);";
    let lanes = vec![lane(0, 0x300, 8, 0x3fff_ffe1), lane(1, 0x400, 9, 64), lane(2, 0x500, 10, 0x4000_0000)];
    let rest = |to: u32, bytes: u32| chip.copy_from(0x4000_00e0, to + 0x3fff_ffe0, bytes);
    let short = vec![chip.gate(9, 5), chip.copy(0x400, 64), chip.there(1)];
    let long = |flag, to, bytes| vec![chip.gate(flag, 5), chip.copy(to, 0x3fff_ffe0), rest(to, bytes), chip.there(1)];
    assert_eq!(chip.posted(post, lanes), [short, long(8, 0x300, 1), long(10, 0x500, 32)].concat());
}

fn copies_by_pointer(chip: &Chip) {
    let post = "sdma.put_ptr(dst@peer![d], src![s], peer, n, q, remote_signal = true);";
    assert_eq!(chip.posted(post, vec![lane(0, 0x300, 64, 64)]), [chip.copy(0x300, 64), chip.there(1)]);
    let global = "sdma.put_ptr(dst@peer![d], done![0], peer, n, q);";
    let [header, size, parameter, .., to, to_high, zero] = chip.posted(global, vec![lane(0, 0x300, 64, 64)])[0];
    assert_eq!([header, size, parameter, to, to_high, zero], [chip.copy[0], 63, chip.copy[1], 0x300, 0x1005, 0]);
}

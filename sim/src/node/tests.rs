//! Nodes without waves: layout in memory, and engines that the host feeds.

use super::*;
use crate::mem::MemoryConfig;
use crate::rng::Rng;
use crate::sdma::Moved;
use tilewright_target::GFX950;

fn facts() -> &'static SdmaFacts {
    GFX950.sdma.as_ref().expect("gfx950 has engines")
}

fn read64(memory: &mut Memory, address: u64) -> u64 {
    let mut bytes = [0; 8];
    memory.host_read(address, &mut bytes).expect("mapped");
    u64::from_le_bytes(bytes)
}

fn word(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight"))
}

#[test]
fn kernels_find_every_queue_and_slot_by_moris_rules() {
    let mut memory = Memory::new(MemoryConfig::default());
    let node = Node::new(&mut memory, facts(), 4, 3).expect("a node");
    for rank in node.ranks() {
        let me = rank.config().lsa_rank;
        let comm = rank.comm().bytes();
        assert_eq!(comm[8..16], [4, 0, 0, 0, me as u8, 0, 0, 0]);
        let (handles, signals, peers) = (word(&comm, 176), word(&comm, 184), word(&comm, 192));
        for peer in 0..4 {
            for queue in 0..3 {
                let id = QueueId { rank: me, peer, queue };
                let handle = read64(&mut memory, handles + 8 * u64::from(peer * 3 + queue));
                assert_eq!(handle, node.queue(id).expect("exists").handle);
                assert_eq!(read64(&mut memory, handle), node.queue(id).expect("exists").ring);
                assert_eq!(node.counters(&mut memory, id).expect("exists"), Counters::default());
                // The slot that this rank raises at the peer.
                let pool = read64(&mut memory, peers + 8 * u64::from(peer));
                let slot = pool + 8 * u64::from(me * 3 + queue);
                assert_eq!(node.rank(peer).expect("exists").signal_slot(me, queue), slot);
                assert_eq!(
                    node.describe(slot + 4).as_deref(),
                    Some(format!("the signal of rank {me} on queue {queue} at rank {peer}").as_str())
                );
            }
        }
        assert_eq!(signals, node.rank(me).expect("exists").signal_slot(0, 0));
    }
    assert_eq!(node.queue(QueueId { rank: 0, peer: 4, queue: 0 }), None);
    assert_eq!(node.queue(QueueId { rank: 0, peer: 0, queue: 3 }), None);
}

#[test]
fn memory_numbers_the_engines_of_the_largest_node() {
    let mut memory = Memory::new(MemoryConfig::default());
    for engine in 0..MAX_RANKS * MAX_RANKS * facts().max_queues {
        memory.add_engine(engine % MAX_RANKS, "an engine").expect("a number is left");
    }
}

#[test]
fn windows_lie_at_flat_addresses() {
    let mut memory = Memory::new(MemoryConfig::default());
    let mut node = Node::new(&mut memory, facts(), 3, 1).expect("a node");
    let send = node.add_window(&mut memory, "send", 4096, MemoryType::Coarse).expect("fits");
    let recv = node.add_window(&mut memory, "recv", 4096, MemoryType::Coarse).expect("fits");
    assert_eq!(send.part(2), 0x1000_0000_0000 + 2 * 4 * (1 << 32));
    assert!(recv.base >= send.base + 4096 + (1 << 20), "a hole lies between");
    for (rank, device) in recv.devices.iter().enumerate() {
        assert_eq!(read64(&mut memory, *device), recv.base);
        assert_eq!(read64(&mut memory, *device + 8), 4 | (rank as u64) << 32);
        let found = memory.find(recv.part(rank as u32) + 4095).expect("mapped");
        assert_eq!((found.rank, found.name.as_str()), (rank as u32, format!("`recv` of rank {rank}").as_str()));
    }
    let error = node.add_window(&mut memory, "huge", 1 << 34, MemoryType::Coarse).expect_err("too big");
    assert!(error.to_string().contains("does not fit"), "{error}");
}

#[test]
fn any_start_is_possible() {
    let mut memory = Memory::new(MemoryConfig::default());
    let config = RankConfig {
        lsa_rank: 3,
        lsa_size: 8,
        world_rank: 11,
        world_size: 16,
        node_start: 8,
        queues: 4,
        without_sdma: vec![5],
        signals: Some(0x5000_0000_0000),
        peer_signals: Some((0..8).map(|n| 0x3000_0000_0000 + n * 0x1000).collect()),
    };
    let node = Node::with_ranks(&mut memory, facts(), &[config]).expect("a node of one rank");
    let comm = node.rank(3).expect("exists").comm().bytes();
    assert_eq!(word(&comm, 0), 11 | 16 << 32);
    assert_eq!(word(&comm, 184), 0x5000_0000_0000);
    let peers = word(&comm, 192);
    assert_eq!(read64(&mut memory, peers + 16), 0x3000_0000_2000);
    let handles = word(&comm, 176);
    assert_eq!(read64(&mut memory, handles + 8 * (5 * 4 + 1)), 0);
    assert_ne!(read64(&mut memory, handles + 8 * (6 * 4 + 1)), 0);
    assert_eq!(node.queues().count(), 7 * 4);
    let id = QueueId { rank: 3, peer: 1, queue: 2 };
    let counters =
        Counters { rptr: 64, wptr: 96, doorbell: 96, cached_wptr: 128, committed_wptr: 96, cached_hw_read_index: 32 };
    node.set_counters(&mut memory, id, counters).expect("set");
    assert_eq!(node.counters(&mut memory, id).expect("read"), counters);
    node.fill_ring(&mut memory, id, 0xdead_beef).expect("filled");
    let ring = node.ring(&mut memory, id).expect("read");
    assert_eq!((ring.len(), &ring[..5]), (262_144, &[0xef, 0xbe, 0xad, 0xde, 0xef][..]));
    let bad = RankConfig::simple(3, 3, 1);
    assert!(Node::with_ranks(&mut memory, facts(), &[bad]).is_err());
    assert!(Node::new(&mut memory, facts(), 2, 9).is_err());
}

#[test]
fn an_engine_carries_what_the_host_posted() {
    for seed in 0..20 {
        let mut memory = Memory::new(MemoryConfig::default());
        let mut node = Node::new(&mut memory, facts(), 2, 1).expect("a node");
        let window = node.add_window(&mut memory, "w", 8192, MemoryType::Coarse).expect("fits");
        let data: Vec<u8> = (0..8192u32).map(|n| (n * 3) as u8).collect();
        memory.host_write(window.part(0), &data).expect("written");
        memory.host_write(window.part(1), &[0; 8192]).expect("written");
        let id = QueueId { rank: 0, peer: 1, queue: 0 };
        let queue = *node.queue(id).expect("exists");
        let (src, dst, slot) = (window.part(0), window.part(1) + 4096, node.ranks()[1].signal_slot(0, 0));
        let halves = |address: u64| [address as u32, (address >> 32) as u32];
        let [[s0, s1], [d0, d1], [t0, t1]] = [src, dst, slot].map(halves);
        let dwords = [1, 4095, 0, s0, s1, d0, d1, 0, 0x5e00_000a, t0, t1, 1, 0, 0, 0, 0];
        let bytes: Vec<u8> = dwords.iter().flat_map(|dword: &u32| dword.to_le_bytes()).collect();
        memory.host_write(queue.ring, &bytes).expect("posted");
        node.set_counters(&mut memory, id, Counters { rptr: 0, ..Counters::at(64) }).expect("rung");
        let mut engines = node.engines(&mut memory).expect("engines");
        let mut rng = Rng::new(seed);
        while engines.step(&mut memory, &mut rng).expect("no fault") == Moved::Yes {}
        assert!(engines.engine(id).expect("exists").is_idle());
        let mut arrived = vec![0; 4096];
        memory.host_read(dst, &mut arrived).expect("read");
        assert_eq!(arrived, data[..4096]);
        assert_eq!(node.signal(&mut memory, 1, 0, 0).expect("a slot"), 1);
        assert_eq!(node.counters(&mut memory, id).expect("read").rptr, 64);
    }
}

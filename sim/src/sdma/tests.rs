//! Packets and engines on literal dwords, over flat memory without caches.
//!
//! What must hold here: packets are written out by hand (from hw 1 and the golden file), never packed through the tables.

mod gfx1250;

use super::*;
use crate::fault::{Exec, Fault, FaultKind};
use crate::rng::Rng;
use tilewright_target::sdma::{Compare, PacketSet, gfx9};

/// Memory of `RANKS` ranks, `SIZE` bytes each, rank r from (r + 1) * 2^32 on.
struct Flat {
    ranks: Vec<Vec<u8>>,
    /// Ranges whose last write nobody waited for.
    unordered: Vec<(u64, u64)>,
}

const SIZE: u64 = 1 << 16;

const fn base(rank: u32) -> u64 {
    (rank as u64 + 1) << 32
}

impl Flat {
    fn new() -> Flat {
        let fill = |rank: u32| (0..SIZE).map(|at| (at * 7 + u64::from(rank) * 31) as u8).collect();
        Flat { ranks: (0..3).map(fill).collect(), unordered: Vec::new() }
    }

    fn place(&self, address: u64, bytes: u64) -> Option<(usize, usize)> {
        let rank = (address >> 32).checked_sub(1).filter(|rank| *rank < 3)?;
        let at = address & 0xffff_ffff;
        (at + bytes <= SIZE).then_some((rank as usize, at as usize))
    }

    fn at(&self, address: u64, bytes: u64) -> &[u8] {
        let (rank, at) = self.place(address, bytes).expect("mapped");
        &self.ranks[rank][at..at + bytes as usize]
    }

    fn put(&mut self, address: u64, bytes: &[u8]) {
        let (rank, at) = self.place(address, bytes.len() as u64).expect("mapped");
        self.ranks[rank][at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn u64(&self, address: u64) -> u64 {
        u64::from_le_bytes(self.at(address, 8).try_into().expect("eight"))
    }
}

fn outside(address: u64) -> Box<Fault> {
    Fault::new(FaultKind::Launch { reason: format!("{address:#x} is outside") })
}

impl EngineMemory for Flat {
    fn owner(&self, address: u64, bytes: u64) -> Option<u32> {
        self.place(address, bytes).map(|(rank, _)| rank as u32)
    }

    fn near(&self, _: u64) -> String {
        String::new()
    }

    fn peek(&self, address: u64, bytes: u32) -> Option<u64> {
        let (rank, at) = self.place(address, bytes.into())?;
        let mut out = [0; 8];
        out[..bytes as usize].copy_from_slice(&self.ranks[rank][at..at + bytes as usize]);
        Some(u64::from_le_bytes(out))
    }

    fn is_ordered(&mut self, _: By, address: u64, bytes: u64) -> bool {
        self.unordered.iter().all(|(at, n)| address + bytes <= *at || at + n <= address)
    }

    fn read(&mut self, _: By, address: u64, out: &mut [u8]) -> Exec {
        let (rank, at) = self.place(address, out.len() as u64).ok_or_else(|| outside(address))?;
        out.copy_from_slice(&self.ranks[rank][at..at + out.len()]);
        Ok(())
    }

    fn write(&mut self, _: By, address: u64, bytes: &[u8]) -> Exec {
        self.place(address, bytes.len() as u64).ok_or_else(|| outside(address))?;
        self.put(address, bytes);
        Ok(())
    }

    fn load(&mut self, by: By, address: u64, bytes: u32) -> Exec<u64> {
        let mut out = [0; 8];
        self.read(by, address, &mut out[..bytes as usize])?;
        Ok(u64::from_le_bytes(out))
    }

    fn store(&mut self, by: By, address: u64, bytes: u32, value: u64) -> Exec {
        self.write(by, address, &value.to_le_bytes()[..bytes as usize])
    }

    fn add(&mut self, by: By, address: u64, operand: u64) -> Exec<u64> {
        let before = self.load(by, address, 8)?;
        self.store(by, address, 8, before.wrapping_add(operand))?;
        Ok(before)
    }
}

const RING: u64 = base(0) + 0x8000;
const RING_BYTES: u64 = 0x1000;
const RPTR: u64 = base(0) + 0x7000;
const WPTR: u64 = base(0) + 0x7008;

const QUEUE: QueueMemory =
    QueueMemory { ring: RING, ring_bytes: RING_BYTES, rptr: RPTR, wptr: WPTR, doorbell: base(0) + 0x7010 };

/// The engine of queue (1, 0) of rank 0, standing at `position`.
fn engine(position: u64, memory: &mut Flat) -> Engine {
    engine_of(&gfx9::PACKETS, position, memory)
}

fn engine_of(set: &'static PacketSet, position: u64, memory: &mut Flat) -> Engine {
    memory.put(RPTR, &position.to_le_bytes());
    memory.put(WPTR, &position.to_le_bytes());
    let id = QueueId { rank: 0, peer: 1, queue: 0 };
    Engine::new(id, 0, QUEUE, set, position)
}

/// Writes packets at the engine's doorbell position and rings.
fn post(engine: &mut Engine, memory: &mut Flat, dwords: &[u32]) -> Exec {
    let end = engine.rung() + dwords.len() as u64 * 4;
    for (n, dword) in dwords.iter().enumerate() {
        memory.put(RING + (engine.rung() + n as u64 * 4) % RING_BYTES, &dword.to_le_bytes());
    }
    memory.put(WPTR, &end.to_le_bytes());
    engine.ring(end, memory)
}

/// Steps until nothing moves.
fn run(engine: &mut Engine, memory: &mut Flat, seed: u64) -> Exec {
    let mut rng = Rng::new(seed);
    while engine.step(memory, &mut rng, 77)? == Moved::Yes {}
    Ok(())
}

/// Posts and runs on a fresh engine; memory afterwards.
fn done(dwords: &[u32]) -> Flat {
    let mut memory = Flat::new();
    let mut engine = engine(0, &mut memory);
    post(&mut engine, &mut memory, dwords).expect("rings");
    run(&mut engine, &mut memory, 5).expect("runs");
    assert!(engine.is_idle());
    assert_eq!(memory.u64(RPTR), dwords.len() as u64 * 4);
    memory
}

/// Posts and runs; the fault, which must come.
fn fails(dwords: &[u32]) -> EngineFault {
    let mut memory = Flat::new();
    let mut engine = engine(0, &mut memory);
    let result = post(&mut engine, &mut memory, dwords).and_then(|()| run(&mut engine, &mut memory, 5));
    kind_of(result.expect_err("a fault"))
}

fn kind_of(fault: Box<Fault>) -> EngineFault {
    match fault.kind {
        FaultKind::Engine(fault) => *fault,
        other => panic!("{other}"),
    }
}

/// 256 bytes from 0x1000 of rank 0 to 0x2000 of rank 1, as mori posts it: seven dwords and a zero.
const COPY: [u32; 8] = [0x0000_0001, 255, 0, 0x1000, 1, 0x2000, 2, 0];

/// Add 1 to the slot at 0x3000 of rank 1, as mori posts it.
const ATOMIC: [u32; 8] = [0x5e00_000a, 0x3000, 2, 1, 0, 0, 0, 0];

#[test]
fn literal_packets_decode() {
    let packet = |dwords: &[u32]| decode(dwords, &gfx9::PACKETS).map(|d| (d.packet, d.dwords));
    let copy = Packet::Copy { src: 0x1_0000_1000, dst: 0x2_0000_2000, bytes: 256 };
    assert_eq!(packet(&COPY), Ok((copy, 7)));
    assert_eq!(packet(&ATOMIC), Ok((Packet::AtomicAdd { addr: 0x2_0000_3000, operand: 1 }, 8)));
    assert_eq!(packet(&[0]), Ok((Packet::Nop, 1)));
    assert_eq!(packet(&[0x0003_0000, 1, 2, 3, 4]), Ok((Packet::Nop, 4)));
    assert_eq!(
        packet(&[0x0800_0001, 0x1f, 0, 0x100, 1, 0x200, 2, 0x220, 3]),
        Ok((Packet::Broadcast { src: 0x1_0000_0100, dst: [0x2_0000_0200, 0x3_0000_0220], bytes: 32 }, 9))
    );
    assert_eq!(
        packet(&[0x0000_0901, 63, 0, 0x40, 1, 0x80, 2]),
        Ok((Packet::Swap { a: 0x1_0000_0040, b: 0x2_0000_0080, bytes: 64 }, 7))
    );
    assert_eq!(
        packet(&[2, 0x10, 1, 1, 0xaa, 0xbb]),
        Ok((Packet::Write { dst: 0x1_0000_0010, data: vec![0xaa, 0xbb] }, 6))
    );
    assert_eq!(packet(&[5, 0x10, 1, 9]), Ok((Packet::Fence { addr: 0x1_0000_0010, data: 9, bytes: 4 }, 4)));
    assert_eq!(packet(&[6, 3]), Ok((Packet::Trap { context: 3 }, 2)));
    // Greater or equal (5), memory, for ever, interval 4.
    let mask = u64::from(u32::MAX);
    let poll = Packet::Poll { addr: 0x1_0000_0010, bytes: 4, compare: Compare::Ge, reference: 7, mask, retries: None };
    assert_eq!(packet(&[0xd000_0008, 0x10, 1, 7, !0, 0x0fff_0004]), Ok((poll, 6)));
    // ROCr's fill of three dwords: (3 - 1) * 4.
    assert_eq!(
        packet(&[0x8000_000b, 0x10, 1, 0x1122_3344, 8]),
        Ok((Packet::Fill { dst: 0x1_0000_0010, value: 0x1122_3344, element: 4, bytes: 12 }, 5))
    );
    assert_eq!(packet(&[0x0000_020d, 0x18, 1]), Ok((Packet::Timestamp { addr: 0x1_0000_0018 }, 3)));
    // ROCr's flush of the host data path: a register poll that always holds.
    assert_eq!(packet(&[8, 0, 0x8000_0000, 0, 0, 0]), Ok((Packet::Nop, 6)));
}

#[test]
fn a_sub_window_decodes_from_its_thirteen_dwords() {
    // Elements of 4 bytes; from (2, 3, 1) to (0, 1, 0); pitches 64 and 32, slices 1024 and 512; 8 x 4 x 2 elements.
    let dwords = [
        0x4000_0401,
        0x1000,
        1,
        0x0003_0002,
        1 | 63 << 13,
        1023,
        0x2000,
        2,
        0x0001_0000,
        31 << 13,
        511,
        0x0003_0007,
        1,
    ];
    let window = SubWindow {
        element: 4,
        src: Pitched { base: 0x1_0000_1000, offset: [2, 3, 1], pitch: 64, slice: 1024 },
        dst: Pitched { base: 0x2_0000_2000, offset: [0, 1, 0], pitch: 32, slice: 512 },
        rect: [8, 4, 2],
    };
    let decoded = decode(&dwords, &gfx9::PACKETS).expect("decodes");
    assert_eq!(decoded, Decoded { name: "copy_sub_window", packet: Packet::SubWindow(Box::new(window)), dwords: 13 });
    assert_eq!(window.src.row(4, 1, 1), 0x1_0000_1000 + 4 * (2 + (3 + 1) * 64 + 2 * 1024));
    let before = Flat::new();
    let after = done(&dwords);
    for z in 0..2 {
        for y in 0..4 {
            let (from, to) = (window.src.row(4, y, z), window.dst.row(4, y, z));
            assert_eq!(after.at(to, 32), before.at(from, 32), "row {y} of slice {z}");
            assert_eq!(after.at(to + 32, 4), before.at(to + 32, 4), "nothing beside the row");
        }
    }
}

#[test]
fn everything_reserved_or_not_modelled_is_refused() {
    let fault = |dwords: &[u32]| decode(dwords, &gfx9::PACKETS).expect_err("refused");
    assert_eq!(fault(&[0xdead_beef]), PacketFault::Unknown { header: 0xdead_beef });
    assert_eq!(
        fault(&[0xdead_beef]).to_string(),
        "header 0xdeadbeef starts no packet of this engine (operation 239, sub-operation 190)"
    );
    let mut copy = COPY;
    copy[1] |= 0x4000_0000;
    assert_eq!(fault(&copy), PacketFault::Reserved { name: "copy_linear", dword: 1, bits: 0x4000_0000 });
    let mut swapped = COPY;
    swapped[2] = 0x0001_0000;
    assert_eq!(fault(&swapped), PacketFault::NotModelled { name: "copy_linear", field: "dst_swap", value: 1 });
    let mut subtract = ATOMIC;
    subtract[0] = 0x6000_000a;
    assert_eq!(fault(&subtract), PacketFault::NotModelled { name: "atomic", field: "operation", value: 48 });
    let mut crooked = ATOMIC;
    crooked[1] += 4;
    assert!(matches!(fault(&crooked), PacketFault::Misaligned { align: 8, .. }));
    // Comparison 7 is reserved.
    assert!(matches!(fault(&[0xf000_0008, 0, 1, 0, 0, 0]), PacketFault::BadField { field: "func", value: 7, .. }));
    assert_eq!(fault(&COPY[..6]), PacketFault::Short { name: "copy_linear", needed: 7, available: 6 });
    assert_eq!(fault(&[2, 0, 1, 4, 0]), PacketFault::Short { name: "write_linear", needed: 9, available: 5 });
}

#[test]
fn a_put_with_a_signal() {
    let before = Flat::new();
    let after = done(&[COPY, ATOMIC].concat());
    assert_eq!(after.at(0x2_0000_2000, 256), before.at(0x1_0000_1000, 256));
    assert_eq!(after.at(0x2_0000_1fff, 1), before.at(0x2_0000_1fff, 1));
    assert_eq!(after.at(0x2_0000_2100, 1), before.at(0x2_0000_2100, 1));
    assert_eq!(after.u64(0x2_0000_3000), before.u64(0x2_0000_3000).wrapping_add(1));
}

#[test]
fn the_other_packets_do_what_they_say() {
    let before = Flat::new();
    let after = done(&[2, 0x10, 1, 1, 0xaa, 0xbb]);
    assert_eq!(after.u64(0x1_0000_0010), 0xbb_0000_00aa);
    assert_eq!(done(&[5, 0x10, 1, 9]).at(0x1_0000_0010, 4), [9, 0, 0, 0]);
    assert_eq!(done(&[0x8000_000b, 0x10, 1, 0x1122_3344, 4]).u64(0x1_0000_0010), 0x1122_3344_1122_3344);
    assert_eq!(done(&[0x0000_020d, 0x18, 1]).u64(0x1_0000_0018), 77);
    let after = done(&[0x0000_0901, 63, 0, 0x40, 1, 0x80, 2]);
    assert_eq!(after.at(0x1_0000_0040, 64), before.at(0x2_0000_0080, 64));
    assert_eq!(after.at(0x2_0000_0080, 64), before.at(0x1_0000_0040, 64));
    let after = done(&[0x0800_0001, 0x1f, 0, 0x100, 1, 0x200, 2, 0x220, 3]);
    assert_eq!(after.at(0x2_0000_0200, 32), before.at(0x1_0000_0100, 32));
    assert_eq!(after.at(0x3_0000_0220, 32), before.at(0x1_0000_0100, 32));
    let mut memory = Flat::new();
    let mut engine = engine(0, &mut memory);
    post(&mut engine, &mut memory, &[6, 3]).expect("rings");
    run(&mut engine, &mut memory, 0).expect("runs");
    assert_eq!(engine.traps(), [3]);
}

#[test]
fn a_wait_parks_the_queue_until_the_flag_comes() {
    let mut memory = Flat::new();
    let mut engine = engine(0, &mut memory);
    memory.put(0x1_0000_0010, &6u32.to_le_bytes());
    let wait = [0xd000_0008, 0x10, 1, 7, !0, 0x0fff_0004, 0, 0];
    post(&mut engine, &mut memory, &[wait, COPY].concat()).expect("rings");
    run(&mut engine, &mut memory, 0).expect("runs");
    assert!(!engine.is_drained());
    assert_eq!(engine.position(), 0);
    let words = engine.waits(&|_| None, &|_| Some(6)).expect("it waits");
    assert_eq!(words, "SDMA queue (1,0) of rank 0 parked at packet 0: waits for memory at 0x100000010 >= 7, value 6");
    memory.put(0x1_0000_0010, &7u32.to_le_bytes());
    run(&mut engine, &mut memory, 0).expect("runs");
    assert!(engine.is_idle());
    assert_eq!(engine.waits(&|_| None, &|_| None), None);
}

#[test]
fn a_wait_with_few_retries_gives_up() {
    let fault = fails(&[0x3000_0008 | 1 << 31, 0x10, 1, 7, !0, 0x0003_0004]);
    assert_eq!(fault.kind, EngineFaultKind::PollGaveUp { address: 0x1_0000_0010, retries: 3 });
}

#[test]
fn packets_lie_inside_ring_and_doorbell() {
    // Standing four dwords before the ring end, a copy runs three dwords across it.
    let mut memory = Flat::new();
    let mut late = engine(RING_BYTES - 16, &mut memory);
    post(&mut late, &mut memory, &COPY).expect("rings");
    let fault = kind_of(run(&mut late, &mut memory, 0).expect_err("across"));
    assert_eq!(fault.kind, EngineFaultKind::AcrossRingEnd { name: "copy_linear", dwords: 7, over: 3 });
    assert_eq!(
        fault.to_string(),
        "SDMA queue (1,0) of rank 0 at packet 0 (byte 4080): copy_linear of 7 dwords runs 3 dwords across the ring end; pad \
         the rest of the ring with NOPs [00000001]"
    );
    let fault = fails(&COPY[..6]);
    let short = EngineFaultKind::PastDoorbell { name: "copy_linear", dwords: 7, over: 1, doorbell: 24 };
    assert_eq!((fault.kind, fault.packet), (short, 0));
    // The ring goes round: padding to the end, then the packet at its start.
    let mut memory = Flat::new();
    let mut round = engine(7 * RING_BYTES - 16, &mut memory);
    post(&mut round, &mut memory, &[&[0; 4][..], &COPY].concat()).expect("rings");
    run(&mut round, &mut memory, 3).expect("runs");
    assert_eq!(memory.u64(RPTR), 7 * RING_BYTES + 32);
    assert_eq!(memory.at(0x2_0000_2000, 256), Flat::new().at(0x1_0000_1000, 256));
}

#[test]
fn doorbells_go_forward_and_not_ahead() {
    let mut memory = Flat::new();
    let mut one = engine(64, &mut memory);
    let ring = |engine: &mut Engine, memory: &mut Flat, now| kind_of(engine.ring(now, memory).expect_err("fault")).kind;
    assert_eq!(ring(&mut one, &mut memory, 32), EngineFaultKind::DoorbellDecreased { before: 64, now: 32 });
    assert_eq!(ring(&mut one, &mut memory, 66), EngineFaultKind::DoorbellMisaligned { now: 66 });
    let over = 64 + RING_BYTES + 4;
    assert_eq!(ring(&mut one, &mut memory, over), EngineFaultKind::Overrun { now: over, read: 64, ring: RING_BYTES });
    let overtook = EngineFaultKind::OvertookWritePointer { now: 96, wptr: 64, landed: false };
    assert_eq!(ring(&mut one, &mut memory, 96), overtook);
    // The same store twice is no fault.
    one.ring(64, &mut memory).expect("nothing new");
    memory.put(WPTR, &96u64.to_le_bytes());
    memory.unordered.push((WPTR, 8));
    assert_eq!(
        ring(&mut one, &mut memory, 96),
        EngineFaultKind::OvertookWritePointer { now: 96, wptr: 96, landed: true }
    );
    memory.unordered = vec![(RING + 80, 4)];
    assert_eq!(ring(&mut one, &mut memory, 96), EngineFaultKind::OvertookBytes { now: 96, position: 64 });
    memory.unordered.clear();
    one.ring(96, &mut memory).expect("all there");
}

#[test]
fn addresses_are_mapped_and_of_the_right_rank() {
    let to = |dst_hi| [1, 255, 0, 0x1000, 1, 0x2000, dst_hi, 0];
    assert!(matches!(fails(&to(3)).kind, EngineFaultKind::WrongRank { rank: 2, access: "writes", .. }));
    assert!(matches!(fails(&to(9)).kind, EngineFaultKind::Unmapped { access: "writes", .. }));
    // The last byte lies outside.
    let edge = [1, 255, 0, 0x1000, 1, 0xff01, 2, 0];
    assert!(matches!(fails(&edge).kind, EngineFaultKind::Unmapped { address: 0x2_0000_ff01, bytes: 256, .. }));
    // From the peer to the peer.
    let peer = [1, 255, 0, 0x1000, 2, 0x2000, 2, 0];
    let fault = fails(&peer);
    assert!(matches!(fault.kind, EngineFaultKind::WrongRank { rank: 1, .. }), "{fault}");
    // A get.
    done(&[1, 255, 0, 0x1000, 2, 0x2000, 1, 0]);
    // A wait must be on local memory.
    let wait = [0xd000_0008, 0x10, 2, 7, !0, 0x0fff_0004];
    assert!(matches!(fails(&wait).kind, EngineFaultKind::WrongRank { rank: 1, access: "reads", .. }));
    // A signal to a third rank only behind a broadcast that names it.
    let signal = [0x5e00_000a, 0x3000, 3, 1, 0, 0, 0, 0];
    assert!(matches!(fails(&signal).kind, EngineFaultKind::WrongRank { rank: 2, .. }));
    let broadcast = [0x0800_0001, 0x1f, 0, 0x100, 1, 0x200, 2, 0x220, 3, 0];
    done(&[&broadcast[..], &signal].concat());
}

#[test]
fn a_crooked_broadcast_does_its_damage_and_is_reported() {
    let before = Flat::new();
    let mut memory = Flat::new();
    let mut engine = engine(0, &mut memory);
    // 64 bytes from 0x100; first to 0x200, second to 0x408 of rank 2: it gets the data 8 bytes early.
    post(&mut engine, &mut memory, &[0x0800_0001, 63, 0, 0x100, 1, 0x200, 2, 0x408, 3]).expect("rings");
    let fault = kind_of(run(&mut engine, &mut memory, 0).expect_err("reported"));
    let dst = [0x2_0000_0200, 0x3_0000_0408];
    assert_eq!(fault.kind, EngineFaultKind::BroadcastMisaligned { dst, shift: -8 });
    assert_eq!(memory.at(0x2_0000_0200, 64), before.at(0x1_0000_0100, 64));
    assert_eq!(memory.at(0x3_0000_0400, 64), before.at(0x1_0000_0100, 64), "shifted by the offset difference");
    assert_eq!(memory.at(0x3_0000_0440, 8), before.at(0x3_0000_0440, 8), "the end keeps what it had");
}

#[test]
fn every_seed_copies_the_same_and_some_tear() {
    let mut steps = std::collections::BTreeSet::new();
    for seed in 0..50 {
        let mut memory = Flat::new();
        let mut engine = engine(0, &mut memory);
        let long = [1, 0x2fff, 0, 0x1000, 1, 0x2000, 2, 0];
        post(&mut engine, &mut memory, &long).expect("rings");
        let mut rng = Rng::new(seed);
        let mut count = 0;
        while engine.step(&mut memory, &mut rng, 0).expect("runs") == Moved::Yes {
            count += 1;
        }
        steps.insert(count);
        assert_eq!(memory.at(0x2_0000_2000, 0x3000), Flat::new().at(0x1_0000_1000, 0x3000));
        assert_eq!(memory.u64(RPTR), 32);
    }
    assert!(steps.len() > 3, "{steps:?}");
}

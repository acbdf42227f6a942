//! Packets of gfx1250 on literal dwords.
//!
//! What must hold here: as in the tests of gfx9, dwords are written out by hand; everything that hw 1 lists as different is
//! here.

use super::*;
use tilewright_target::sdma::gfx1250::PACKETS;

/// 256 bytes from 0x1000 of rank 0 to 0x2000 of rank 1, as mori posts it: npd, and both scopes the system's.
const COPY: [u32; 8] = [0x1000_0001, 255, 0x0c0c_0000, 0x1000, 1, 0x2000, 2, 0];

/// Add 1 to the slot at 0x3000 of rank 1, as mori posts it.
const ATOMIC: [u32; 8] = [0x5e30_000a, 0x3000, 2, 1, 0, 0, 0, 0];

fn packet(dwords: &[u32]) -> Result<(Packet, u32), PacketFault> {
    decode(dwords, &PACKETS).map(|d| (d.packet, d.dwords))
}

/// Posts and runs on a fresh engine; memory afterwards and how it went.
fn ran(dwords: &[u32]) -> (Flat, Exec) {
    let mut memory = Flat::new();
    let mut engine = engine_of(&PACKETS, 0, &mut memory);
    post(&mut engine, &mut memory, dwords).expect("rings");
    let result = run(&mut engine, &mut memory, 5);
    (memory, result)
}

fn done(dwords: &[u32]) -> Flat {
    let (memory, result) = ran(dwords);
    result.expect("runs");
    assert_eq!(memory.u64(RPTR), dwords.len() as u64 * 4);
    memory
}

#[test]
fn literal_packets_decode() {
    let copy = Packet::Copy { src: 0x1_0000_1000, dst: 0x2_0000_2000, bytes: 256 };
    assert_eq!(packet(&COPY), Ok((copy, 7)));
    assert_eq!(packet(&ATOMIC), Ok((Packet::AtomicAdd { addr: 0x2_0000_3000, operand: 1 }, 8)));
    // The broadcast has the layout of gfx9.
    assert_eq!(
        packet(&[0x0800_0001, 0x1f, 0, 0x100, 1, 0x200, 2, 0x220, 3]),
        Ok((Packet::Broadcast { src: 0x1_0000_0100, dst: [0x2_0000_0200, 0x3_0000_0220], bytes: 32 }, 9))
    );
    // Three destinations: five dwords and three pairs.
    let dsts = vec![0x2_0000_0200, 0x3_0000_0221, 0x1_0000_0300];
    assert_eq!(
        packet(&[0x0000_0a01, 0x1f, 0x0c0c_0002, 0x100, 1, 0x200, 2, 0x221, 3, 0x300, 1]),
        Ok((Packet::Multicast { src: 0x1_0000_0100, dsts, bytes: 32 }, 11))
    );
    // ROCr's fences: memory type 3, system; and the system's scope.
    let fence = Packet::Fence { addr: 0x1_0000_0010, data: 9, bytes: 4 };
    assert_eq!(packet(&[0x0313_0005, 0x10, 1, 9]), Ok((fence, 4)));
    let fence = Packet::Fence { addr: 0x1_0000_0018, data: 0x7_0000_0009, bytes: 8 };
    assert_eq!(packet(&[0x0313_0205, 0x18, 1, 9, 7]), Ok((fence, 5)));
    // Greater or equal (5), memory, for ever, interval 4, the system's scope; and the same with the bits of gfx9.
    let poll =
        Packet::Poll { addr: 0x1_0000_0010, bytes: 4, compare: Compare::Ge, reference: 7, mask: 0xff, retries: None };
    assert_eq!(packet(&[0xd000_0008, 0x10, 1, 7, 0xff, 0x3fff_0004]), Ok((poll.clone(), 6)));
    assert_eq!(packet(&[0xd000_0008, 0x10, 1, 7, 0xff, 0x0fff_0004]), Ok((poll, 6)));
    // The 64-bit wait, for ever (0 retries) and five times.
    let wide = |retries| Packet::Poll {
        addr: 0x1_0000_0018,
        bytes: 8,
        compare: Compare::Eq,
        reference: 0x2_0000_0001,
        mask: !0,
        retries,
    };
    assert_eq!(packet(&[0x3010_0508, 0x18, 1, 1, 2, !0, !0, 0x3000_0000]), Ok((wide(None), 8)));
    assert_eq!(packet(&[0x3010_0508, 0x18, 1, 1, 2, !0, !0, 0x3005_0000]), Ok((wide(Some(5)), 8)));
    let fill = Packet::Fill { dst: 0x1_0000_0010, value: 0x1122_3344, element: 4, bytes: 12 };
    assert_eq!(packet(&[0x8300_000b, 0x10, 1, 0x1122_3344, 8]), Ok((fill, 5)));
    assert_eq!(packet(&[0x0300_020d, 0x18, 1]), Ok((Packet::Timestamp { addr: 0x1_0000_0018 }, 3)));
    // Exchanges are aligned to 32 bytes here.
    let swap = [0x0000_0901, 31, 0, 0x20, 1, 0x60, 2];
    assert_eq!(packet(&swap), Ok((Packet::Swap { a: 0x1_0000_0020, b: 0x2_0000_0060, bytes: 32 }, 7)));
    assert!(matches!(decode(&swap, &gfx9::PACKETS), Err(PacketFault::Misaligned { align: 64, .. })));
}

#[test]
fn a_sub_window_has_wider_fields() {
    // Elements of 16 bytes; from (2, 3, 1) to (0, 1, 0); pitches 65536 and 32, slices 2^32 and 512; 8 x 4 x 2 elements.
    let dwords = [
        0x9000_0401,
        0x1000,
        1,
        0x0003_0002,
        0xffff_0001,
        0xffff_ffff,
        0x2000,
        2,
        0x0001_0000,
        0x001f_0000,
        511,
        0x0003_0007,
        0x0c0c_0001,
    ];
    let window = SubWindow {
        element: 16,
        src: Pitched { base: 0x1_0000_1000, offset: [2, 3, 1], pitch: 1 << 16, slice: 1 << 32 },
        dst: Pitched { base: 0x2_0000_2000, offset: [0, 1, 0], pitch: 32, slice: 512 },
        rect: [8, 4, 2],
    };
    assert_eq!(packet(&dwords), Ok((Packet::SubWindow(Box::new(window)), 13)));
}

#[test]
fn scopes_are_the_system_s_and_what_is_not_modelled_is_refused() {
    let fault = |dwords: &[u32]| decode(dwords, &PACKETS).expect_err("refused");
    let not = |name, field, value| PacketFault::NotModelled { name, field, value };
    // What gfx9 posts has no scope.
    let gfx9_copy = [0x0000_0001, 255, 0, 0x1000, 1, 0x2000, 2, 0];
    assert_eq!(fault(&gfx9_copy), not("copy_linear", "dst_scope", 0));
    let mut device = COPY;
    device[2] = 0x080c_0000;
    assert_eq!(fault(&device), not("copy_linear", "src_scope", 2));
    assert_eq!(fault(&[0x5e20_000a, 0x3000, 2, 1, 0, 0, 0, 0]), not("atomic", "scope", 2));
    assert_eq!(fault(&[0x0013_0005, 0x10, 1, 9]), not("fence", "scope", 0));
    let mut hinted = COPY;
    hinted[2] |= 0x0010_0000;
    assert_eq!(fault(&hinted), not("copy_linear", "dst_temporal", 1));
    assert_eq!(fault(&[0x3110_0508, 0x18, 1, 1, 2, !0, !0, 0]), not("poll_mem_64b", "cache_policy", 1));
    // Inline wait and signal blocks are in no table.
    assert_eq!(fault(&[0x4000_0001; 19]), PacketFault::Unknown { header: 0x4000_0001 });
    assert_eq!(fault(&[0x8000_0a01; 19]), PacketFault::Unknown { header: 0x8000_0a01 });
    // No scope bits in the broadcast's form, and none of these forms on gfx9.
    let broadcast = [0x0800_0001, 0x1f, 0x000c_0000, 0x100, 1, 0x200, 2, 0x220, 3];
    assert_eq!(fault(&broadcast), PacketFault::Reserved { name: "copy_broadcast", dword: 2, bits: 0x000c_0000 });
    for header in [0x0000_0a01, 0x0000_0205, 0x0000_0508] {
        assert_eq!(decode(&[header; 16], &gfx9::PACKETS), Err(PacketFault::Unknown { header }));
    }
    let mut npd = COPY;
    npd[2] = 0;
    let reserved = PacketFault::Reserved { name: "copy_linear", dword: 0, bits: 0x1000_0000 };
    assert_eq!(decode(&npd, &gfx9::PACKETS), Err(reserved));
}

#[test]
fn the_fields_looked_at_exist() {
    let forms = || gfx9::PACKETS.forms().into_iter().chain(PACKETS.forms());
    for name in super::super::packet::OFF.iter().chain(&super::super::packet::SYSTEM) {
        assert!(forms().any(|form| form.field(name).is_ok()), "no form has a field `{name}`");
    }
}

#[test]
fn a_put_with_a_signal_and_copies_to_many() {
    let before = Flat::new();
    let after = done(&[COPY, ATOMIC].concat());
    assert_eq!(after.at(0x2_0000_2000, 256), before.at(0x1_0000_1000, 256));
    assert_eq!(after.u64(0x2_0000_3000), before.u64(0x2_0000_3000).wrapping_add(1));
    // Signals to the ranks of a multicast may follow it; no congruence is asked for.
    let multicast = [0x0000_0a01, 0x1f, 0x0c0c_0002, 0x100, 1, 0x200, 2, 0x221, 3, 0x300, 1, 0];
    let third = [0x5e30_000a, 0x3000, 3, 1, 0, 0, 0, 0];
    let after = done(&[&multicast[..], &ATOMIC, &third].concat());
    for dst in [0x2_0000_0200, 0x3_0000_0221, 0x1_0000_0300] {
        assert_eq!(after.at(dst, 32), before.at(0x1_0000_0100, 32), "{dst:#x}");
        assert_eq!(after.at(dst + 32, 1), before.at(dst + 32, 1), "{dst:#x}");
    }
    assert_eq!(after.u64(0x3_0000_3000), before.u64(0x3_0000_3000).wrapping_add(1));
    let fault = kind_of(ran(&third).1.expect_err("nobody named rank 2"));
    assert!(matches!(fault.kind, EngineFaultKind::WrongRank { rank: 2, .. }), "{fault}");
    let outside = [0x0000_0a01, 0x1f, 0x0c0c_0001, 0x100, 1, 0x200, 2, 0x200, 9];
    let fault = kind_of(ran(&outside).1.expect_err("there is no rank 8"));
    assert!(matches!(fault.kind, EngineFaultKind::Unmapped { address: 0x9_0000_0200, .. }), "{fault}");
}

#[test]
fn fences_and_waits_of_eight_bytes() {
    assert_eq!(done(&[0x0313_0205, 0x18, 1, 9, 7]).u64(0x1_0000_0018), 0x7_0000_0009);
    let mut memory = Flat::new();
    let mut engine = engine_of(&PACKETS, 0, &mut memory);
    // Only the high half differs from what is waited for.
    memory.put(0x1_0000_0018, &0x1_0000_0001u64.to_le_bytes());
    let wait = [0x3010_0508, 0x18, 1, 1, 2, !0, !0, 0x3000_0000];
    post(&mut engine, &mut memory, &[wait, COPY].concat()).expect("rings");
    run(&mut engine, &mut memory, 0).expect("runs");
    assert_eq!(engine.position(), 0);
    let words = engine.waits(&|_| None, &|_| Some(1)).expect("it waits");
    assert!(words.ends_with("memory at 0x100000018 == 8589934593, value 4294967297"), "{words}");
    memory.put(0x1_0000_0018, &0x2_0000_0001u64.to_le_bytes());
    run(&mut engine, &mut memory, 0).expect("runs");
    assert!(engine.is_idle());
    let few = [0x3010_0508, 0x18, 1, 1, 2, !0, !0, 0x3005_0000];
    let fault = kind_of(ran(&few).1.expect_err("gives up"));
    assert_eq!(fault.kind, EngineFaultKind::PollGaveUp { address: 0x1_0000_0018, retries: 5 });
}

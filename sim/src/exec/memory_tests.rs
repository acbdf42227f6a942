//! Literal instructions of the memory families: addresses, widths, conversions, what comes back.
//!
//! What must hold here: the words were assembled by LLVM for gfx90a (`llvm-mc`), in forms whose encoding gfx942 shares.

use super::{ds, flat, mubuf, smem};
use crate::fault::Exec;
use crate::isa::{Chip, Format, decode};
use crate::mem::{Lds, Memory, MemoryConfig, MemoryType, Pending, Pins, Port, wait};
use crate::rng::Rng;
use crate::wave::{COUNTERS, Counter, EXEC, Generation, Limits, M0, WaveId, WaveState};

pub(super) struct Bench {
    pub(super) memory: Memory,
    pub(super) wave: WaveState,
    pending: Pending,
    lds: Lds,
    rng: Rng,
    /// A buffer of 4096 bytes: byte i is `i * 7`.
    pub(super) buffer: u64,
    chip: Chip,
}

fn bench() -> Bench {
    bench_on(Chip::Gfx942)
}

pub(super) fn bench_on(chip: Chip) -> Bench {
    bench_with(chip, true)
}

/// With or without checks.
pub(super) fn bench_with(chip: Chip, checks: bool) -> Bench {
    let generation = if chip == Chip::Gfx1250 { Generation::Gfx12 } else { Generation::Gfx9 };
    let mut memory = Memory::new(MemoryConfig { checks, generation, ..MemoryConfig::default() });
    let buffer = memory.allocate(0, 4096, 256, MemoryType::Coarse).expect("room");
    memory.host_write(buffer, &(0..4096u32).map(|i| (i * 7) as u8).collect::<Vec<_>>()).expect("mapped");
    let actor = memory.begin_wave(0);
    let id = WaveId { actor, rank: 0, xcd: 0, cu: 0, group: 0, workgroup: [0; 3], wave: 0 };
    let mut wave = WaveState::new(id, 16, 16, 0, 0).with_generation(generation);
    wave.vgpr_init.fill(!0);
    wave.sgpr_init = !0;
    Bench { memory, wave, pending: Pending::new(64, true), lds: Lds::new(1024, true), rng: Rng::new(1), buffer, chip }
}

impl Bench {
    pub(super) fn port(&mut self) -> Port<'_> {
        let Self { memory, wave, pending, lds, rng, .. } = self;
        Port { wave, pending, lds, memory, rng, pins: Pins::default() }
    }

    pub(super) fn issue(&mut self, words: impl AsRef<[u32]>) -> Exec {
        let inst = decode(words.as_ref(), self.chip).expect("decodes");
        let mut port = self.port();
        match inst.format {
            Format::Ds => ds::issue(&mut port, &inst, 0x40),
            Format::Smem | Format::Sop1 => smem::issue(&mut port, &inst, 0x40),
            Format::Mubuf => mubuf::issue(&mut port, &inst, 0x40),
            _ => flat::issue(&mut port, &inst, 0x40),
        }
    }

    /// Issues and waits.
    pub(super) fn run(&mut self, words: impl AsRef<[u32]>) {
        self.issue(words).expect("no fault");
        wait(&mut self.port(), &Limits([0; COUNTERS])).expect("no fault");
        assert!(!self.wave.any_busy());
    }

    pub(super) fn set(&mut self, register: usize, value: impl Fn(u32) -> u32) {
        self.wave.vgprs[register] = std::array::from_fn(|lane| value(lane as u32));
    }

    /// v2 and v3: the address of byte `offset(lane)`.
    pub(super) fn addresses(&mut self, offset: impl Fn(u32) -> u32) {
        let buffer = self.buffer;
        self.set(2, |lane| (buffer + u64::from(offset(lane))) as u32);
        self.set(3, |_| (buffer >> 32) as u32);
    }

    /// A scalar pair: the address of byte `offset`.
    pub(super) fn base(&mut self, pair: usize, offset: u64) {
        let at = self.buffer + offset;
        self.wave.set_sgpr64(pair, at);
    }

    pub(super) fn expected(&self, at: u32, bytes: u32) -> u32 {
        (0..bytes).fold(0, |value, i| value | u32::from(((at + i) * 7) as u8) << (8 * i))
    }

    pub(super) fn byte_at(&mut self, offset: u64) -> u8 {
        let mut port_wave = self.wave.clone();
        port_wave.id.actor = self.wave.id.actor;
        self.memory.write_back(crate::mem::unit(&port_wave));
        self.memory.peek(self.buffer + offset, 1).expect("mapped") as u8
    }
}

#[test]
fn global_with_a_vector_address_and_a_negative_offset() {
    let mut b = bench();
    b.addresses(|lane| 16 + 4 * lane);
    b.wave.set_sgpr64(EXEC, 1 << 63 | 1);
    b.set(1, |_| 9);
    b.run([0xdc50_9ff0, 0x017f_0002]); // global_load_dword v1, v[2:3], off offset:-16
    let v1 = b.wave.vgprs[1];
    assert_eq!((v1[0], v1[1], v1[63]), (b.expected(0, 4), 9, b.expected(252, 4)), "inactive lanes keep their value");
}

#[test]
fn global_with_a_scalar_address_adds_an_unsigned_offset() {
    let mut b = bench();
    b.wave.set_sgpr64(4, b.buffer);
    b.set(2, |lane| lane * 20);
    b.run([0xdc5c_8020, 0x0404_0002]); // global_load_dwordx4 v[4:7], v2, s[4:5] offset:32
    for lane in [0, 1, 63] {
        for dword in 0..4 {
            let at = 32 + 20 * lane as u32 + 4 * dword as u32;
            assert_eq!(b.wave.vgprs[4 + dword][lane], b.expected(at, 4), "lane {lane} dword {dword}");
        }
    }
    b.set(2, |_| u32::MAX);
    assert!(b.issue([0xdc5c_8020, 0x0404_0002]).is_err(), "4 GiB higher, not one byte lower");
}

#[test]
fn flat_offsets_are_unsigned_and_scalars_are_not_added() {
    let mut b = bench();
    b.wave.set_sgpr64(0, 0x1234_5678);
    b.addresses(|lane| 8 * lane);
    b.run([0xdc50_0004, 0x0100_0002]); // flat_load_dword v1, v[2:3] offset:4
    assert_eq!((b.wave.vgprs[1][0], b.wave.vgprs[1][5]), (b.expected(4, 4), b.expected(44, 4)));
}

#[test]
fn flat_reaches_lds_and_scratch_lane_by_lane() {
    let mut b = bench();
    b.addresses(|lane| 4 * lane);
    for lane in 0..64 {
        match lane % 3 {
            1 => (b.wave.vgprs[2][lane], b.wave.vgprs[3][lane]) = (4 * lane as u32, super::SHARED_BASE_HI),
            2 => (b.wave.vgprs[2][lane], b.wave.vgprs[3][lane]) = (8, super::PRIVATE_BASE_HI),
            _ => {}
        }
    }
    b.set(4, |lane| 1000 + lane);
    b.issue([0xdc70_0000, 0x0000_0402]).expect("no fault"); // flat_store_dword v[2:3], v4
    assert_eq!((b.wave.count(Counter::Load), b.wave.count(Counter::Ds)), (1, 1), "FLAT counts in both");
    b.run([0xdc50_0000, 0x0100_0002]); // flat_load_dword v1, v[2:3]
    assert_eq!(b.wave.vgprs[1], b.wave.vgprs[4]);
    assert_eq!(b.lds.data()[4..8], 1001u32.to_le_bytes());
    assert_eq!(b.byte_at(12), 1003u32 as u8);
}

#[test]
fn bytes_and_halves_extend_or_keep_the_other_half() {
    let mut b = bench();
    b.wave.set_sgpr64(4, b.buffer);
    b.set(2, |lane| 30 + lane); // 30 * 7 = 0xd2
    b.run([0xdc44_8000, 0x0104_0002]); // global_load_sbyte v1, v2, s[4:5]
    assert_eq!(b.wave.vgprs[1][0], 0xffff_ffd2);
    b.set(1, |_| 0x1111_2222);
    b.run([0xdc94_8000, 0x0104_0002]); // global_load_short_d16_hi v1, v2, s[4:5]
    assert_eq!(b.wave.vgprs[1][0], b.expected(30, 2) << 16 | 0x2222);
    b.set(2, |lane| 2 * lane);
    b.set(4, |lane| (0x4000 + lane) << 16 | 0xffff);
    b.run([0xdc6c_8000, 0x0004_0402]); // global_store_short_d16_hi v2, v4, s[4:5]
    assert_eq!((b.byte_at(2), b.byte_at(3), b.byte_at(127)), (1, 0x40, 0x40));
}

#[test]
fn the_return_bit_decides_whether_an_atomic_writes_its_register() {
    let mut b = bench();
    b.wave.set_sgpr64(4, b.buffer);
    b.memory.host_write(b.buffer, &5u32.to_le_bytes()).expect("mapped");
    b.wave.set_sgpr64(EXEC, 1);
    b.set(1, |_| 77);
    b.set(2, |_| 0);
    b.set(3, |_| 2);
    b.run([0xdd08_8000, 0x0004_0302]); // global_atomic_add v2, v3, s[4:5]
    assert_eq!(b.wave.vgprs[1][0], 77);
    b.run([0xdd09_8000, 0x0104_0302]); // global_atomic_add v1, v2, v3, s[4:5] sc0
    assert_eq!(b.wave.vgprs[1][0], 7);
    assert_eq!(b.memory.peek(b.buffer, 4), Some(9));
    // global_atomic_cmpswap_x2 v[0:1], v2, v[4:7], s[4:5] sc0: v[4:5] is the new value, v[6:7] the comparand.
    b.memory.host_write(b.buffer, &0x5_0000_0009u64.to_le_bytes()).expect("mapped");
    for (register, value) in [(4, 1), (5, 2), (6, 9), (7, 5)] {
        b.set(register, |_| value);
    }
    b.run([0xdd85_8000, 0x0004_0402]);
    assert_eq!((b.wave.vgprs[0][0], b.wave.vgprs[1][0]), (9, 5));
    assert_eq!(b.memory.peek(b.buffer, 8), Some(0x2_0000_0001));
}

#[test]
fn two_address_forms_count_in_elements() {
    let mut b = bench();
    b.set(2, |lane| 16 * (lane % 16));
    for (register, value) in [(4, 0x10), (5, 0x11), (6, 0x20), (7, 0x21)] {
        b.set(register, |lane| value + 0x100 * (lane % 16));
    }
    b.wave.set_sgpr64(EXEC, 0xffff);
    b.run([0xd89c_0201, 0x0006_0402]); // ds_write2_b64 v2, v[4:5], v[6:7] offset0:1 offset1:2
    let word = |b: &Bench, at: usize| u32::from_le_bytes(b.lds.data()[at..at + 4].try_into().expect("four"));
    assert_eq!((word(&b, 8), word(&b, 12), word(&b, 16 * 15 + 16), word(&b, 16 * 15 + 20)), (0x10, 0x11, 0xf20, 0xf21));
    b.run([0xd86e_0301, 0x0400_0002]); // ds_read2_b32 v[4:5], v2 offset0:1 offset1:3
    assert_eq!(b.wave.vgprs[5][15], word(&b, 16 * 15 + 12));
    b.lds = Lds::new(1024, false);
    b.run([0xd870_0100, 0x0400_0002]); // ds_read2st64_b32 v[4:5], v2 offset1:1
    assert_eq!(b.wave.vgprs[5][0], 0xcdcd_cdcd, "256 bytes on");
    b.set(2, |lane| 768 + 4 * lane);
    assert!(b.issue([0xd870_0100, 0x0400_0002]).is_err(), "the second address is out of bounds");
}

#[test]
fn wide_lds_accesses_and_bytes() {
    let mut b = bench();
    b.set(2, |lane| 16 * (lane % 32));
    b.wave.set_sgpr64(EXEC, 0xffff_ffff);
    for register in 4..8 {
        b.set(register, |lane| 0x8000_0000 + 16 * lane + register as u32);
    }
    b.run([0xd9be_0010, 0x0000_0402]); // ds_write_b128 v2, v[4:7] offset:16
    b.run([0xd9fe_0010, 0x0800_0002]); // ds_read_b128 v[8:11], v2 offset:16
    for register in 4..8 {
        assert_eq!(b.wave.vgprs[register][..32], b.wave.vgprs[register + 4][..32]);
    }
    b.run([0xd83c_0003, 0x0000_0402]); // ds_write_b8 v2, v4 offset:3
    b.run([0xd874_0003, 0x0100_0002]); // ds_read_u8 v1, v2 offset:3
    assert_eq!(b.wave.vgprs[1][31], (16 * 31 + 4) & 0xff);
    b.run([0xd872_0003, 0x0100_0002]); // ds_read_i8 v1, v2 offset:3
    assert_eq!(b.wave.vgprs[1][31], 0xffff_fff4);
}

#[test]
fn lds_atomics() {
    let mut b = bench();
    b.set(2, |_| 0);
    b.set(4, |_| 3);
    b.wave.set_sgpr64(EXEC, 1);
    b.run([0xd83c_0000, 0x0000_0402]);
    assert!(b.issue([0xd840_0000, 0x0100_0402]).is_err(), "three of the four bytes were never written");
    let mut b = bench();
    b.set(2, |_| 0);
    b.set(4, |_| 0);
    b.run([0xd9be_0010, 0x0000_0402]);
    b.set(2, |_| 16);
    b.set(4, |_| 3);
    b.run([0xd840_0000, 0x0100_0402]); // ds_add_rtn_u32 v1, v2, v4
    assert_eq!((b.wave.vgprs[1][0], b.wave.vgprs[1][63]), (0, 189));
    b.set(4, |lane| if lane == 0 { 192 } else { 7 });
    b.set(5, |_| 1);
    b.run([0xd860_0000, 0x0105_0402]); // ds_cmpst_rtn_b32 v1, v2, v4, v5
    assert_eq!((b.wave.vgprs[1][0], b.wave.vgprs[1][1]), (192, 1), "the first data operand is the comparand");
}

#[test]
fn permutations_of_lanes() {
    let mut b = bench();
    b.set(4, |lane| 100 + lane);
    b.set(2, |lane| 4 * (63 - lane));
    b.run([0xd87e_0000, 0x0100_0402]); // ds_bpermute_b32 v1, v2, v4
    assert_eq!((b.wave.vgprs[1][0], b.wave.vgprs[1][63]), (163, 100));
    b.wave.set_sgpr64(EXEC, 0xf);
    b.set(1, |_| 1);
    b.run([0xd87e_0000, 0x0100_0402]);
    assert_eq!((b.wave.vgprs[1][0], b.wave.vgprs[1][4]), (0, 1), "an inactive source gives zero");
    b.set(2, |lane| 4 * (lane / 2));
    b.run([0xd87c_0000, 0x0100_0402]); // ds_permute_b32 v1, v2, v4
    assert_eq!(b.wave.vgprs[1][..5], [101, 103, 0, 0, 1], "the highest writer wins; nobody's lanes get zero");
    b.wave.set_sgpr64(EXEC, !0);
    b.run([0xd87a_80b1, 0x0100_0004]); // ds_swizzle_b32 quad_perm 1,0,3,2
    assert_eq!(b.wave.vgprs[1][..4], [101, 100, 103, 102]);
    b.run([0xd87a_0064, 0x0100_0004]); // ds_swizzle_b32 bitmask "00p11"
    assert_eq!((b.wave.vgprs[1][0], b.wave.vgprs[1][36], b.wave.vgprs[1][63]), (103, 139, 139));
    b.wave.vgpr_init[4] = !(1 << 3);
    b.run([0xd87a_0064, 0x0100_0004]);
    assert_eq!(b.wave.vgpr_init[1] & 0xff, 0xf0, "undefined goes where the value goes");
}

#[test]
fn scalar_loads_and_clocks() {
    let mut b = bench();
    b.wave.set_sgpr64(4, b.buffer + 2);
    b.run([0xc006_0202, 8]); // s_load_dwordx2 s[8:9], s[4:5], 0x8
    assert_eq!((b.wave.sgprs[8], b.wave.sgprs[9]), (b.expected(8, 4), b.expected(12, 4)), "rounded down to a dword");
    b.wave.set_sgpr64(4, b.buffer);
    b.wave.set_sgpr(6, 40);
    b.run([0xc000_0202, 6]); // s_load_dword s8, s[4:5], s6
    assert_eq!(b.wave.sgprs[8], b.expected(40, 4));
    for (register, value) in [(12, b.buffer as u32), (13, (b.buffer >> 32) as u32), (14, 8), (15, 0)] {
        b.wave.set_sgpr(register, value);
    }
    b.run([0xc026_0206, 4]); // s_buffer_load_dwordx2 s[8:9], s[12:15], 0x4
    assert_eq!((b.wave.sgprs[8], b.wave.sgprs[9]), (b.expected(4, 4), 0), "behind the end reads as zero");
    b.run([0xc090_0200, 0]); // s_memtime s[8:9]
    let first = b.wave.sgpr64(8);
    b.run([0xc090_0200, 0]);
    assert!(b.wave.sgpr64(8) > first);
    b.run([0xc080_0000, 0]); // s_dcache_inv
}

#[test]
fn buffers_have_bases_strides_and_offsets() {
    let mut b = bench();
    for (register, value) in [(12, b.buffer as u32), (13, (b.buffer >> 32) as u32), (14, 4096), (15, 0), (6, 16)] {
        b.wave.set_sgpr(register, value);
    }
    b.set(2, |lane| 8 * lane);
    b.run([0xe050_1004, 0x0603_0102]); // buffer_load_dword v1, v2, s[12:15], s6 offen offset:4
    assert_eq!((b.wave.vgprs[1][0], b.wave.vgprs[1][3]), (b.expected(20, 4), b.expected(44, 4)));
    b.run([0xe050_0000, 0x8003_0100]); // buffer_load_dword v1, off, s[12:15], 0
    assert_eq!(b.wave.vgprs[1][63], b.expected(0, 4));
    b.wave.set_sgpr(13, (b.buffer >> 32) as u32 | 8 << 16);
    b.wave.set_sgpr(14, 4);
    b.set(2, |lane| lane);
    b.set(4, |lane| 0xaa00 + lane);
    b.set(5, |_| 0xbb);
    b.run([0xe074_2000, 0x8003_0402]); // buffer_store_dwordx2 v[4:5], v2, s[12:15], 0 idxen
    assert_eq!(
        (b.byte_at(25), b.byte_at(28), b.byte_at(32)),
        (0xaa, 0xbb, (32 * 7) as u8),
        "element 4 is out of range"
    );
}

#[test]
fn loads_to_lds_go_to_m0_plus_the_lanes() {
    let mut b = bench();
    b.wave.set_sgpr64(4, b.buffer);
    b.wave.set_sgpr(M0, 64);
    b.set(2, |lane| 8 * lane);
    b.wave.set_sgpr64(EXEC, 0b1011);
    b.run([0xdca8_8000, 0x0004_0002]); // global_load_lds_dword v2, s[4:5]
    let word = |at: usize| u32::from_le_bytes(b.lds.data()[at..at + 4].try_into().expect("four"));
    assert_eq!((word(64), word(68), word(76)), (b.expected(0, 4), b.expected(8, 4), b.expected(24, 4)));
    assert_eq!(word(72), 0xcdcd_cdcd, "an inactive lane leaves its place alone");
}

#[test]
fn undefined_addresses_and_stored_values_are_faults() {
    let mut b = bench();
    b.wave.set_sgpr64(4, b.buffer);
    b.set(2, |lane| 4 * lane);
    b.wave.vgpr_init[4] = !(1 << 9);
    let fault = b.issue([0xdc6c_8000, 0x0004_0402]).expect_err("v4 of lane 9");
    assert_eq!(fault.at.lane, Some(9));
    assert!(fault.to_string().contains("reads v4"), "{fault}");
    b.wave.set_sgpr64(EXEC, !(1 << 9));
    b.issue([0xdc6c_8000, 0x0004_0402]).expect("lane 9 is inactive");
    b.wave.sgpr_init &= !(1 << 5);
    let fault = b.issue([0xdc44_8000, 0x0104_0002]).expect_err("s5");
    assert!(fault.to_string().contains("reads s5"), "{fault}");
}

#[test]
fn nothing_happens_with_exec_zero() {
    let mut b = bench();
    b.wave.set_sgpr64(EXEC, 0);
    b.set(2, |_| 0);
    b.set(3, |_| 0);
    b.set(1, |_| 5);
    b.run([0xdc50_9ff0, 0x017f_0002]);
    b.run([0xdc70_0000, 0x0000_0402]);
    b.run([0xd9be_0010, 0x0000_0402]);
    assert_eq!(b.wave.vgprs[1][0], 5);
}

#[test]
fn transposing_reads_exchange_elements_within_sixteen_lanes() {
    let mut b = bench();
    // Lane i writes and reads eight bytes at 8 * i: halves 4 * i .. 4 * i + 3, numbered by their place.
    b.set(2, |lane| 8 * lane);
    b.set(4, |lane| (4 * lane) | ((4 * lane + 1) << 16));
    b.set(5, |lane| (4 * lane + 2) | ((4 * lane + 3) << 16));
    b.run([0xd89a_0000, 0x0000_0402]); // ds_write_b64 v2, v[4:5]
    b.chip = Chip::Gfx950;
    b.run([0xd9c6_0000, 0x0600_0002]); // ds_read_b64_tr_b16 v[6:7], v2
    for lane in 0..64u32 {
        let block = lane / 16 * 16;
        let in_block = lane % 16;
        let half = |e: u32| 4 * (block + 4 * e + in_block / 4) + in_block % 4;
        let got = [b.wave.vgprs[6][lane as usize], b.wave.vgprs[7][lane as usize]];
        assert_eq!(got, [half(0) | half(1) << 16, half(2) | half(3) << 16], "lane {lane}");
    }
}

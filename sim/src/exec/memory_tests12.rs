//! Literal memory instructions of gfx1250: addresses, widths, scopes, and where they count.
//!
//! What must hold here: the words are what LLVM 22 assembles for gfx1250, with their text beside them.

use super::memory_tests::{Bench, bench_on, bench_with};
use crate::isa::Chip;
use crate::mem::{MemoryType, wait};
use crate::wave::{COUNTERS, Counter, EXEC, Limits};

fn bench() -> Bench {
    bench_on(Chip::Gfx1250)
}

/// By counter: loads, stores, LDS, scalar memory, translations.
fn counts(b: &Bench) -> [u32; COUNTERS] {
    b.wave.counts
}

#[test]
fn each_kind_of_operation_counts_where_llvm_waits_for_it() {
    let expect = |words: &[u32], expected: [u32; COUNTERS]| {
        let mut b = bench();
        b.addresses(|lane| 8 * lane);
        b.base(0, 0);
        b.set(1, |lane| 4 * lane);
        b.issue(words).expect("no fault");
        assert_eq!(counts(&b), expected, "{words:x?}");
    };
    expect(&[0xee05_407c, 0x0008_0000, 0x0000_0002], [1, 0, 0, 0, 1]); // global_load_b64 v[0:1], v[2:3], off scope:SCOPE_DEV
    expect(&[0xee06_807c, 0x0080_0000, 0x0000_0002], [0, 1, 0, 0, 1]); // global_store_b32 v[2:3], v1, off
    expect(&[0xee10_c07c, 0x000c_0000, 0x0000_0002], [0, 1, 0, 0, 1]); // global_atomic_add_u64 v[2:3], v[0:1], off scope:SCOPE_SYS
    // global_atomic_add_u64 v[4:5], v[2:3], v[0:1], off th:TH_ATOMIC_RETURN scope:SCOPE_DEV
    expect(&[0xee10_c07c, 0x0018_0004, 0x0000_0002], [1, 0, 0, 0, 1]);
    expect(&[0xec05_007c, 0x0000_0004, 0x0000_0002], [1, 0, 1, 0, 1]); // flat_load_b32 v4, v[2:3]
    expect(&[0xec06_807c, 0x0080_0000, 0x0000_0002], [0, 1, 1, 0, 1]); // flat_store_b32 v[2:3], v1
    expect(&[0xee0b_007c, 0x000c_0000, 0x0000_0000], [0, 1, 0, 0, 0]); // global_wb scope:SCOPE_SYS
    expect(&[0xee0a_c07c, 0x000c_0000, 0x0000_0000], [1, 0, 0, 0, 0]); // global_inv scope:SCOPE_SYS
    expect(&[0xd834_0000, 0x0000_0101], [0, 0, 1, 0, 0]); // ds_store_b32 v1, v1
    expect(&[0xdacc_0000, 0x0400_0201], [0, 0, 1, 0, 0]); // ds_bpermute_b32 v4, v1, v2
    expect(&[0xf400_a100, 0xf800_0010], [0, 0, 0, 1, 1]); // s_load_b96 s[4:6], s[0:1], 0x10
    expect(&[0xbe84_4d83], [0, 0, 0, 1, 0]); // s_sendmsg_rtn_b64 s[4:5], sendmsg(MSG_RTN_GET_REALTIME)
    expect(&[0xbe84_0600], [0; COUNTERS]); // s_get_shader_cycles_u64 s[4:5]
}

#[test]
fn offsets_beside_a_scalar_address_are_signed_and_may_count_elements() {
    let mut b = bench();
    b.base(0, 64);
    b.set(1, |lane| lane.wrapping_sub(8));
    b.run([0xee05_0000, 0x0000_0004, 0x0000_0001]); // global_load_b32 v4, v1, s[0:1]
    for lane in 0..32 {
        assert_eq!(b.wave.vgprs[4][lane], b.expected(56 + lane as u32, 4), "lane {lane}");
    }
    b.run([0xee05_0000, 0x0001_0004, 0xffff_f001]); // global_load_b32 v4, v1, s[0:1] offset:-16 scale_offset
    for lane in 0..32 {
        assert_eq!(b.wave.vgprs[4][lane], b.expected(64 - 16 - 32 + 4 * lane as u32, 4), "lane {lane}");
    }
}

#[test]
fn scalar_loads_have_every_width_and_may_scale_their_offset() {
    let mut b = bench();
    b.base(0, 0);
    b.wave.set_sgpr(7, 99);
    b.run([0xf400_a100, 0xf800_0010]); // s_load_b96 s[4:6], s[0:1], 0x10
    assert_eq!(b.wave.sgprs[4..8], [b.expected(16, 4), b.expected(20, 4), b.expected(24, 4), 99]);
    b.wave.set_sgpr(3, 5);
    b.run([0xf400_0100, 0x0700_0004]); // s_load_b32 s4, s[0:1], s3 offset:0x4 scale_offset
    assert_eq!(b.wave.sgprs[4], b.expected(24, 4));
    b.run([0xf401_2100, 0xf800_0001]); // s_load_u8 s4, s[0:1], 0x1
    assert_eq!(b.wave.sgprs[4], 7);
    b.base(0, 18);
    b.run([0xf401_4100, 0xf800_0002]); // s_load_i16 s4, s[0:1], 0x2: bytes 140 and 147
    assert_eq!(b.wave.sgprs[4], 0xffff_938c);
}

#[test]
fn lanes_beyond_the_wave_do_nothing() {
    let mut b = bench();
    b.wave.sgprs[EXEC + 1] = !0;
    b.addresses(|lane| 4 * lane);
    b.set(4, |_| 1);
    b.run([0xee05_007c, 0x0000_0004, 0x0000_0002]); // global_load_b32 v4, v[2:3], off
    assert_eq!(b.wave.vgprs[4][31], b.expected(124, 4));
    assert_eq!(b.wave.exec(), 0xffff_ffff);
    // Lane 32 is lane 0: ds_bpermute_b32 v4, v1, v2
    b.set(1, |_| 4 * 33);
    b.set(2, |lane| lane + 100);
    b.run([0xdacc_0000, 0x0400_0201]);
    assert_eq!(b.wave.vgprs[4][..32], [101; 32]);
}

#[test]
fn halves_and_bytes_come_and_go() {
    let mut b = bench();
    b.addresses(|lane| 2 * lane);
    b.set(4, |_| 0x1111_2222);
    b.run([0xee08_c07c, 0x0000_0004, 0x0000_0002]); // global_load_d16_hi_b16 v4, v[2:3], off
    assert_eq!(b.wave.vgprs[4][3], 0x2222 | b.expected(6, 2) << 16);
    b.addresses(|lane| 20 + lane);
    b.run([0xee04_407c, 0x0000_0004, 0x0000_0002]); // global_load_i8 v4, v[2:3], off: byte 20 is 140
    assert_eq!(b.wave.vgprs[4][0], 140u8 as i8 as i32 as u32);
    b.set(1, |lane| (lane + 7) << 16 | 0xdead);
    b.addresses(|lane| 256 + 2 * lane);
    b.run([0xee09_407c, 0x0080_0000, 0x0000_0002]); // global_store_d16_hi_b16 v[2:3], v1, off
    assert_eq!((b.byte_at(256 + 6), b.byte_at(256 + 7)), (10, 0));
}

#[test]
fn two_addresses_and_a_compare_in_lds() {
    let mut b = bench();
    b.set(1, |lane| 16 * lane);
    b.set(2, |lane| lane + 1);
    b.set(3, |lane| lane + 100);
    b.run([0xd838_0201, 0x0003_0201]); // ds_store_2addr_b32 v1, v2, v3 offset0:1 offset1:2
    b.run([0xd8dc_0201, 0x0400_0001]); // ds_load_2addr_b32 v[4:5], v1 offset0:1 offset1:2
    assert_eq!((b.wave.vgprs[4][31], b.wave.vgprs[5][31]), (32, 131));
    // ds_cmpstore_rtn_b32 v4, v1, v2, v3: the new value comes before the one that is compared.
    b.set(1, |lane| 16 * lane + 4);
    b.set(2, |_| 77);
    b.set(3, |lane| if lane == 0 { 1 } else { 0 });
    b.run([0xd8c0_0000, 0x0403_0201]);
    assert_eq!((b.wave.vgprs[4][0], b.wave.vgprs[4][1]), (1, 2));
    b.run([0xd8d8_0000, 0x0400_0001]); // ds_load_b32 v4, v1
    assert_eq!((b.wave.vgprs[4][0], b.wave.vgprs[4][1]), (77, 2));
}

/// Whether memory of `kind` has what lane 0 stored, after `fence` and a wait for what it waits for.
fn reaches(kind: MemoryType, store: [u32; 3], fence: &[[u32; 3]]) -> bool {
    let mut b = bench();
    b.buffer = b.memory.allocate(0, 4096, 256, kind).expect("room");
    b.memory.host_fill(b.buffer, 4096, 0).expect("mapped");
    b.memory.begin_launch(0);
    b.wave.id.actor = b.memory.begin_wave(0);
    b.wave.set_mask(EXEC, 1);
    b.addresses(|_| 512);
    b.set(1, |_| 0x5a);
    b.issue(store).expect("no fault");
    for words in fence {
        b.issue(words).expect("no fault");
    }
    let (buffer, limits) = (b.buffer, Limits::of(Counter::Store, 0));
    wait(&mut b.port(), &limits).expect("no fault");
    b.memory.peek(buffer + 512, 4) == Some(0x5a)
}

#[test]
fn a_store_leaves_its_caches_by_its_scope_or_by_a_write_back() {
    let plain = [0xee06_807c, 0x0080_0000, 0x0000_0002]; // global_store_b32 v[2:3], v1, off
    let scoped = |scope: u32| [0xee06_807c, 0x0080_0000 | scope << 18, 0x0000_0002];
    let wb = |scope: u32| [0xee0b_007c, scope << 18, 0];
    for kind in [MemoryType::Coarse, MemoryType::FineGrained, MemoryType::Uncached] {
        let reaches = |store, fence: &[[u32; 3]]| reaches(kind, store, fence);
        assert!(!reaches(plain, &[]), "{kind:?}: storecnt alone says nothing about memory");
        assert!(!reaches(scoped(1), &[]), "{kind:?}: a shader engine is less than the device");
        assert!(reaches(scoped(2), &[]) && reaches(scoped(3), &[]), "{kind:?}");
        assert!(!reaches(plain, &[wb(0)]) && !reaches(plain, &[wb(1)]), "{kind:?}");
        assert!(reaches(plain, &[wb(2)]) && reaches(plain, &[wb(3)]), "{kind:?}");
    }
}

#[test]
fn an_atomic_below_device_scope_stays_in_the_l2() {
    // global_atomic_add_u64 v[2:3], v[0:1], off
    let add = |scope: u32| [0xee10_c07c, scope << 18, 0x0000_0002];
    for (scope, there) in [(0, false), (1, false), (2, true), (3, true)] {
        let mut b = bench_with(Chip::Gfx1250, false);
        b.memory.host_fill(b.buffer, 4096, 0).expect("mapped");
        b.wave.set_mask(EXEC, 1);
        b.addresses(|_| 512);
        (b.wave.vgprs[0][0], b.wave.vgprs[1][0]) = (3, 0);
        b.run(add(scope));
        b.run(add(scope));
        assert_eq!(b.memory.peek(b.buffer + 512, 8), Some(if there { 6 } else { 0 }), "scope {scope}");
        assert_eq!(b.byte_at(512), 6, "scope {scope}: its own L2 has both");
    }
}

#[test]
fn a_load_is_as_stale_as_its_scope_allows() {
    let load = |scope: u32| [0xee05_007c, scope << 18 | 4, 0x0000_0002]; // global_load_b32 v4, v[2:3], off
    let inv = |scope: u32| [0xee0a_c07c, scope << 18, 0];
    for kind in [MemoryType::Coarse, MemoryType::FineGrained] {
        let mut b = bench_with(Chip::Gfx1250, false);
        let at = b.memory.allocate(0, 256, 256, kind).expect("room");
        b.memory.host_fill(at, 256, 0).expect("mapped");
        b.buffer = at;
        b.wave.set_mask(EXEC, 1);
        b.addresses(|_| 0);
        b.run(load(0));
        b.memory.host_write(at, &[9, 0, 0, 0]).expect("mapped");
        b.run(load(0));
        assert_eq!(b.wave.vgprs[4][0], 0, "{kind:?}: a stale line");
        b.run(load(1));
        assert_eq!(b.wave.vgprs[4][0], 0, "{kind:?}: the same line");
        b.run(load(2));
        assert_eq!(b.wave.vgprs[4][0], 9, "{kind:?}: past the caches");
        b.run(inv(0));
        b.run(load(0));
        assert_eq!(b.wave.vgprs[4][0], 0, "{kind:?}: nothing was dropped");
        b.run(inv(3));
        b.run(load(0));
        assert_eq!(b.wave.vgprs[4][0], 9, "{kind:?}");
    }
}

//! Packet tables against literal dwords.
//!
//! What must hold here: the expected dwords are written out by hand from the driver headers' description (hw 1) and from what
//! mori's device code was seen to post (golden), never computed through the tables under test.

use super::{Compare, PacketError, PacketForm, PacketSet, SdmaFacts, gfx9, gfx1250};

/// Two addresses whose four dwords all differ.
const SRC: u64 = 0x0000_1000_0420_0f00;
const DST: u64 = 0x0000_1005_1000_2000;

fn pack(form: &PacketForm, values: &[(&str, u64)]) -> Vec<u32> {
    let packet = form.pack(values).unwrap();
    for (name, value) in values {
        assert_eq!(u64::from(form.get(&packet, name).unwrap()), *value, "{name} does not read back");
    }
    packet
}

fn lo(address: u64) -> u64 {
    address & 0xffff_ffff
}

fn hi(address: u64) -> u64 {
    address >> 32
}

#[test]
fn no_field_overlaps_another_or_the_header() {
    for set in [&gfx9::PACKETS, &gfx1250::PACKETS] {
        for form in set.forms() {
            let mut taken = vec![0u32; form.dwords as usize];
            taken[0] = form.header_mask;
            assert_eq!(form.header & !form.header_mask, 0, "{} {}", set.name, form.name);
            for field in form.fields {
                let dword = &mut taken[field.dword as usize];
                assert_eq!(*dword & field.mask(), 0, "{} {}.{} overlaps", set.name, form.name, field.name);
                *dword |= field.mask();
            }
            let names: std::collections::BTreeSet<&str> = form.fields.iter().map(|field| field.name).collect();
            assert_eq!(names.len(), form.fields.len(), "{} {} has a name twice", set.name, form.name);
        }
    }
}

/// Every bit that a form names, dword by dword, written out by hand.
#[test]
fn fields_have_their_width_and_place() {
    const F: u32 = u32::MAX;
    let gfx9: [(&PacketForm, &[u32]); 12] = [
        (&gfx9::NOP, &[0x3fff_ffff]),
        (&gfx9::COPY_LINEAR, &[0x0805_ffff, 0x3fff_ffff, 0x0303_0000, F, F, F, F]),
        (&gfx9::COPY_BROADCAST, &[0x0805_ffff, 0x3fff_ffff, 0x0303_0300, F, F, F, F, F, F]),
        (
            &gfx9::COPY_SUB_WINDOW,
            &[
                0xe000_ffff,
                F,
                F,
                0x3fff_3fff,
                0xffff_e7ff,
                0x0fff_ffff,
                F,
                F,
                0x3fff_3fff,
                0xffff_e7ff,
                0x0fff_ffff,
                0x3fff_3fff,
                0x0303_07ff,
            ],
        ),
        (&gfx9::COPY_SWAP, &[0x0000_ffff, 0x3fff_ffff, 0, F, F, F, F]),
        (&gfx9::WRITE_LINEAR, &[0x0000_ffff, F, F, 0x030f_ffff]),
        (&gfx9::FENCE, &[0x0000_ffff, F, F, F]),
        (&gfx9::TRAP, &[0x0000_ffff, 0x0fff_ffff]),
        (&gfx9::POLL_REGMEM, &[0xf400_ffff, F, F, F, F, 0x0fff_ffff]),
        (&gfx9::ATOMIC, &[0xfe05_ffff, F, F, F, F, F, F, 0x0000_1fff]),
        (&gfx9::CONST_FILL, &[0xc003_ffff, F, F, F, 0x003f_ffff]),
        (&gfx9::TIMESTAMP, &[0x0000_ffff, F, F]),
    ];
    let gfx1250: [(&PacketForm, &[u32]); 10] = [
        (&gfx1250::COPY_LINEAR, &[0xd804_ffff, 0x3fff_ffff, 0x7c7c_0000, F, F, F, F]),
        (&gfx1250::COPY_MULTICAST, &[0xd004_ffff, 0x3fff_ffff, 0x7c7c_03ff, F, F]),
        (&gfx1250::COPY_SUB_WINDOW, &[0xf000_ffff, F, F, F, 0xffff_3fff, F, F, F, F, 0xffff_3fff, F, F, 0x7c7c_3fff]),
        (&gfx1250::FENCE, &[0x1fd3_ffff, F, F, F]),
        (&gfx1250::FENCE_64B, &[0x1fd3_ffff, F, F, F, F]),
        (&gfx1250::POLL_REGMEM, &[0xf000_ffff, F, F, F, F, 0x3fff_ffff]),
        (&gfx1250::POLL_MEM_64B, &[0x77d3_ffff, F, F, F, F, F, F, 0x30ff_0000]),
        (&gfx1250::ATOMIC, &[0xfff5_ffff, F, F, F, F, F, F, 0x0000_1fff]),
        (&gfx1250::CONST_FILL, &[0xffd3_ffff, F, F, F, 0x003f_ffff]),
        (&gfx1250::TIMESTAMP, &[0x1f00_ffff, F, F]),
    ];
    for (form, expected) in gfx9.into_iter().chain(gfx1250) {
        let mut named = vec![0u32; form.dwords as usize];
        named[0] = form.header_mask;
        for field in form.fields {
            named[field.dword as usize] |= field.mask();
        }
        assert_eq!(named, expected, "{}", form.name);
    }
}

#[test]
fn each_header_has_one_form() {
    for set in [&gfx9::PACKETS, &gfx1250::PACKETS] {
        for form in set.forms() {
            let matching: Vec<&str> = set.forms().iter().filter(|f| f.matches(form.header)).map(|f| f.name).collect();
            assert_eq!(matching, [form.name], "{}", set.name);
        }
    }
    let name = |set: &PacketSet, header| set.form_of(header).map(|form| form.name);
    assert_eq!(name(&gfx9::PACKETS, 0x0000_0001), Some("copy_linear"));
    assert_eq!(name(&gfx9::PACKETS, 0x0800_0001), Some("copy_broadcast"));
    assert_eq!(name(&gfx9::PACKETS, 0x5e00_000a), Some("atomic"));
    assert_eq!(name(&gfx9::PACKETS, 0xb000_0008), Some("poll_regmem"));
    assert_eq!(name(&gfx9::PACKETS, 0x0003_0000), Some("nop"));
    assert_eq!(name(&gfx9::PACKETS, 0x0000_0011), None, "GCR_REQ does not exist on gfx9");
    assert_eq!(name(&gfx9::PACKETS, 0x0000_0301), None, "a copy sub-operation that is not in the table");
    assert_eq!(name(&gfx1250::PACKETS, 0x1000_0001), Some("copy_linear"));
    assert_eq!(name(&gfx1250::PACKETS, 0x0800_0001), Some("copy_broadcast"));
    assert_eq!(name(&gfx1250::PACKETS, 0x0000_0a01), Some("copy_multicast"));
    assert_eq!(name(&gfx1250::PACKETS, 0x4000_0001), None, "a copy with an inline wait block");
}

#[test]
fn gfx9_copy_linear_is_what_mori_posts() {
    // golden, case form/put/thread/s00/o2: 4096 bytes, read off the ring as bytes 01000000 ff0f0000 00000000 00000004 0f200000 ...
    let packet = pack(
        &gfx9::COPY_LINEAR,
        &[
            ("bytes_minus_1", 4095),
            ("src_lo", 0x0400_0000),
            ("src_hi", 0x200f),
            ("dst_lo", 0x0001_0000),
            ("dst_hi", 0x1005),
        ],
    );
    assert_eq!(packet, [0x0000_0001, 0x0000_0fff, 0, 0x0400_0000, 0x0000_200f, 0x0001_0000, 0x0000_1005]);
    let packet = pack(
        &gfx9::COPY_LINEAR,
        &[
            ("bytes_minus_1", 0x3fff_ffdf),
            ("src_lo", lo(SRC)),
            ("src_hi", hi(SRC)),
            ("dst_lo", lo(DST)),
            ("dst_hi", hi(DST)),
        ],
    );
    assert_eq!(packet, [0x0000_0001, 0x3fff_ffdf, 0, 0x0420_0f00, 0x0000_1000, 0x1000_2000, 0x0000_1005]);
}

#[test]
fn gfx9_broadcast() {
    let packet = pack(
        &gfx9::COPY_BROADCAST,
        &[
            ("bytes_minus_1", 63),
            ("src_lo", 0x11),
            ("src_hi", 0x22),
            ("dst1_lo", 0x33),
            ("dst1_hi", 0x44),
            ("dst2_lo", 0x55),
            ("dst2_hi", 0x66),
        ],
    );
    assert_eq!(packet, [0x0800_0001, 63, 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66]);
}

#[test]
fn gfx9_sub_window() {
    // 16 rows of 64 elements of 4 bytes, pitch 256 on one side and 64 on the other, slices of one plane.
    let packet = pack(
        &gfx9::COPY_SUB_WINDOW,
        &[
            ("element_log2_bytes", 2),
            ("src_lo", lo(SRC)),
            ("src_hi", hi(SRC)),
            ("src_x", 3),
            ("src_y", 5),
            ("src_z", 1),
            ("src_pitch_minus_1", 255),
            ("src_slice_minus_1", 4095),
            ("dst_lo", lo(DST)),
            ("dst_hi", hi(DST)),
            ("dst_x", 1),
            ("dst_y", 2),
            ("dst_z", 0),
            ("dst_pitch_minus_1", 63),
            ("dst_slice_minus_1", 1023),
            ("rect_x_minus_1", 63),
            ("rect_y_minus_1", 15),
            ("rect_z_minus_1", 0),
        ],
    );
    assert_eq!(
        packet,
        [
            0x4000_0401, // element 2 in bits 31..29, sub-operation 4, operation 1
            0x0420_0f00,
            0x0000_1000,
            0x0005_0003, // y 5, x 3
            0x001f_e001, // pitch 255 << 13, z 1
            0x0000_0fff,
            0x1000_2000,
            0x0000_1005,
            0x0002_0001,
            0x0007_e000, // pitch 63 << 13
            0x0000_03ff,
            0x000f_003f, // 16 rows, 64 elements
            0x0000_0000,
        ]
    );
}

#[test]
fn gfx9_small_packets() {
    assert_eq!(pack(&gfx9::NOP, &[("count", 3)]), [0x0003_0000]);
    assert_eq!(
        pack(&gfx9::WRITE_LINEAR, &[("dst_lo", 0x40), ("dst_hi", 0x7f), ("dwords_minus_1", 1)]),
        [0x0000_0002, 0x40, 0x7f, 1]
    );
    assert_eq!(pack(&gfx9::FENCE, &[("addr_lo", 0x40), ("addr_hi", 0x7f), ("data", 9)]), [5, 0x40, 0x7f, 9]);
    assert_eq!(pack(&gfx9::TRAP, &[("context", 0x0abc_def0)]), [6, 0x0abc_def0]);
    assert_eq!(pack(&gfx9::TIMESTAMP, &[("addr_lo", 0x48), ("addr_hi", 0x7f)]), [0x0000_020d, 0x48, 0x7f]);
    assert_eq!(
        pack(
            &gfx9::CONST_FILL,
            &[("fill_log2_bytes", 2), ("dst_lo", 0x40), ("dst_hi", 0x7f), ("value", 0xdead_beef), ("count", 28)]
        ),
        [0x8000_000b, 0x40, 0x7f, 0xdead_beef, 28]
    );
    assert_eq!(
        pack(&gfx9::COPY_SWAP, &[("bytes_minus_1", 127), ("a_lo", 0x40), ("a_hi", 1), ("b_lo", 0x80), ("b_hi", 2)]),
        [0x0000_0901, 127, 0, 0x40, 1, 0x80, 2]
    );
}

#[test]
fn gfx9_wait_and_atomic() {
    // Memory, equal (3), for ever, interval 4.
    let packet = pack(
        &gfx9::POLL_REGMEM,
        &[
            ("mem_poll", 1),
            ("func", 3),
            ("addr_lo", 0x40),
            ("addr_hi", 0x7f),
            ("reference", 1),
            ("mask", 0xffff_ffff),
            ("interval", 4),
            ("retry_count", 0xfff),
        ],
    );
    assert_eq!(packet, [0xb000_0008, 0x40, 0x7f, 1, 0xffff_ffff, 0x0fff_0004]);
    // ROCr's flush packet differs from a wait in nothing but its zero addresses.
    assert_eq!(gfx9::POLL_REGMEM.header, 0x8);
    // golden: the signal that mori posts.
    let packet =
        pack(&gfx9::ATOMIC, &[("operation", 47), ("addr_lo", 0x5010_0070), ("addr_hi", 0x5000), ("data_lo", 1)]);
    assert_eq!(packet, [0x5e00_000a, 0x5010_0070, 0x5000, 1, 0, 0, 0, 0]);
}

#[test]
fn gfx1250_copy_and_atomic_are_what_mori_posts() {
    let packet = pack(
        &gfx1250::COPY_LINEAR,
        &[
            ("npd", 1),
            ("bytes_minus_1", 4095),
            ("dst_scope", 3),
            ("src_scope", 3),
            ("src_lo", 0x11),
            ("src_hi", 0x22),
            ("dst_lo", 0x33),
            ("dst_hi", 0x44),
        ],
    );
    assert_eq!(packet, [0x1000_0001, 4095, 0x0c0c_0000, 0x11, 0x22, 0x33, 0x44]);
    let packet = pack(&gfx1250::ATOMIC, &[("operation", 47), ("scope", 3), ("addr_lo", 0x40), ("data_lo", 1)]);
    assert_eq!(packet, [0x5e30_000a, 0x40, 0, 1, 0, 0, 0, 0]);
}

#[test]
fn gfx1250_others() {
    let packet = pack(
        &gfx1250::COPY_MULTICAST,
        &[("bytes_minus_1", 7), ("destinations_minus_1", 2), ("dst_scope", 3), ("src_scope", 3), ("src_lo", 0x40)],
    );
    assert_eq!(packet, [0x0000_0a01, 7, 0x0c0c_0002, 0x40, 0]);
    assert_eq!(gfx1250::COPY_MULTICAST.total_dwords(&packet), Ok(11));
    let packet = pack(&gfx1250::FENCE_64B, &[("mtype", 3), ("sys", 1), ("addr_lo", 0x48), ("data_hi", 5)]);
    assert_eq!(packet, [0x0013_0205, 0x48, 0, 0, 5]);
    let packet = pack(&gfx1250::POLL_MEM_64B, &[("func", 5), ("addr_lo", 0x48), ("scope", 3)]);
    assert_eq!(packet, [0x5000_0508, 0x48, 0, 0, 0, 0, 0, 0x3000_0000]);
    let packet = pack(&gfx1250::POLL_REGMEM, &[("mem_poll", 1), ("func", 5), ("retry_count", 0xfff), ("scope", 3)]);
    assert_eq!(packet, [0xd000_0008, 0, 0, 0, 0, 0x3fff_0000]);
    let packet =
        pack(&gfx1250::COPY_SUB_WINDOW, &[("npd", 1), ("element_log2_bytes", 4), ("src_pitch_minus_1", 0xffff)]);
    assert_eq!((packet[0], packet[4]), (0x9000_0401, 0xffff_0000));
}

#[test]
fn posted_dwords_agree_with_the_tables() {
    let posted = crate::GFX950.sdma.unwrap().posted;
    assert_eq!(gfx9::COPY_LINEAR.header, posted.copy_header);
    assert_eq!(gfx9::COPY_BROADCAST.header, posted.broadcast_header);
    assert_eq!(pack(&gfx9::ATOMIC, &[("operation", 47)])[0], posted.atomic_add64_header);
    assert_eq!(pack(&gfx9::POLL_REGMEM, &[("mem_poll", 1)])[0], posted.poll_memory_header);
    assert_eq!(pack(&gfx9::POLL_REGMEM, &[("interval", 4), ("retry_count", 0xfff)])[5], posted.poll_control);
    assert_eq!(pack(&gfx9::NOP, &[("count", 7)])[0], posted.padding_unit);
    assert_eq!((posted.copy_parameter, posted.broadcast_parameter), (0, 0));
}

#[test]
fn what_gfx1250_posts_agrees_with_its_tables() {
    let posted = crate::GFX1250.sdma.unwrap().posted;
    let copy = pack(&gfx1250::COPY_LINEAR, &[("npd", 1), ("dst_scope", 3), ("src_scope", 3)]);
    assert_eq!((copy[0], copy[2]), (posted.copy_header, posted.copy_parameter));
    let set = crate::GFX1250.sdma.unwrap().packets;
    assert_eq!((set.copy_broadcast.header, 0), (posted.broadcast_header, posted.broadcast_parameter));
    assert_eq!(pack(&gfx1250::ATOMIC, &[("operation", 47), ("scope", 3)])[0], posted.atomic_add64_header);
    assert_eq!(pack(&gfx1250::POLL_REGMEM, &[("mem_poll", 1)])[0], posted.poll_memory_header);
    let control = pack(&gfx1250::POLL_REGMEM, &[("interval", 4), ("retry_count", 0xfff), ("scope", 3)])[5];
    assert_eq!(control, posted.poll_control);
    assert_eq!(pack(set.nop, &[("count", 7)])[0], posted.padding_unit);
}

#[test]
fn lengths_count_their_tails() {
    assert_eq!(gfx9::NOP.total_dwords(&[0]), Ok(1));
    assert_eq!(gfx9::NOP.total_dwords(&[0x3fff_0000]), Ok(0x4000));
    assert_eq!(gfx9::WRITE_LINEAR.total_dwords(&[2, 0, 0, 0]), Ok(5));
    assert_eq!(gfx9::COPY_LINEAR.total_dwords(&[1]), Ok(7));
    assert_eq!(
        gfx9::WRITE_LINEAR.total_dwords(&[2, 0, 0]),
        Err(PacketError::Short { form: "write_linear", dwords: 3, needed: 4 })
    );
}

#[test]
fn mistakes_are_errors() {
    let error = gfx9::COPY_LINEAR.pack(&[("bytes_minus_1", 1 << 30)]).unwrap_err();
    assert_eq!(error.to_string(), "value 0x40000000 does not fit the 30-bit packet field `bytes_minus_1`");
    let error = gfx9::COPY_SUB_WINDOW.pack(&[("src_x", 1 << 14)]).unwrap_err();
    assert_eq!(error, PacketError::Overflow { field: "src_x", bits: 14, value: 1 << 14 });
    let error = gfx9::FENCE.get(&[5, 0, 0, 0], "dat").unwrap_err();
    assert_eq!(error.to_string(), "packet `fence` has no field `dat`");
    let error = gfx9::FENCE.get64(&[5, 0], "addr").unwrap_err();
    assert_eq!(error.to_string(), "packet `fence` needs 3 dwords, but only 2 are there");
    assert_eq!(gfx9::FENCE.get64(&[5, 0x40, 0x7f], "addr"), Ok(0x7f_0000_0040));
}

fn facts() -> SdmaFacts {
    crate::GFX950.sdma.unwrap()
}

#[test]
fn copies_are_cut_at_moris_limit() {
    let max = u64::from(facts().max_copy_bytes);
    assert_eq!(max, 0x3fff_ffe0);
    assert_eq!(facts().copy_packets(0), 0);
    assert_eq!(facts().copy_packets(1), 1);
    assert_eq!(facts().copy_packets(max), 1);
    assert_eq!(facts().copy_packets(max + 1), 2);
    assert_eq!(facts().copy_packets(u64::MAX), u64::MAX.div_ceil(max));
}

#[test]
fn the_ring_takes_8191_puts_and_keeps_a_unit_free() {
    let facts = facts();
    assert_eq!(facts.max_in_flight_bytes, facts.ring_bytes - facts.unit_bytes);
    assert_eq!(facts.max_in_flight_bytes / facts.ring_bytes_for_dwords(7), 8191);
    // A broadcast packet is 36 bytes: two units.
    assert_eq!(facts.ring_bytes_for_dwords(9), 64);
}

#[test]
fn broadcast_destinations_agree_modulo_32() {
    assert!(facts().broadcast_is_congruent(0x1000_0020, 0x2000_0040));
    assert!(facts().broadcast_is_congruent(0x1000_0007, 0x2000_0027));
    assert!(!facts().broadcast_is_congruent(0x1000_0000, 0x2000_0010));
}

#[test]
fn compare_codes_go_both_ways() {
    for code in 0..7 {
        assert_eq!(Compare::from_code(code).map(Compare::code), Some(code));
    }
    assert_eq!(Compare::from_code(7), None);
    assert!(Compare::Ge.holds(3, 3) && !Compare::Gt.holds(3, 3) && Compare::Ne.holds(1, 2));
}

//! Packet forms of gfx1250 (SDMA 7.1).
//!
//! What must hold here: every layout is that of hw 1 ("gfx1250 differences"). What hw 1 does not name is as on gfx9, the
//! broadcast among it: mori posts it with the gfx9 layout on this chip, too (seed), and ROCr leaves its cache bits zero. Scope
//! fields take the codes CU 0, SE 1, DEV 2, SYS 3. Copies with an inline wait or signal block (header bits 30 and 31) are not
//! in these tables.

use super::packet::{Field, PacketForm, PacketSet, Tail};

const OP_SUB: u32 = 0xffff;
/// Header bit of a copy to two destinations.
const BROADCAST: u32 = 1 << 27;
/// Header bits that announce an inline wait (30) or signal (31) block: zero in the forms here.
const INLINE: u32 = 0b11 << 30;

/// COPY_LINEAR.
pub static COPY_LINEAR: PacketForm = PacketForm {
    name: "copy_linear",
    dwords: 7,
    tail: Tail::None,
    header: 0x0000_0001,
    header_mask: OP_SUB | BROADCAST | INLINE,
    fields: &[
        Field::new("tmz", 0, 18, 1),
        Field::new("npd", 0, 28, 1),
        Field::new("bytes_minus_1", 1, 0, 30),
        Field::new("dst_scope", 2, 18, 2),
        Field::new("dst_temporal", 2, 20, 3),
        Field::new("src_scope", 2, 26, 2),
        Field::new("src_temporal", 2, 28, 3),
        Field::whole("src_lo", 3),
        Field::whole("src_hi", 4),
        Field::whole("dst_lo", 5),
        Field::whole("dst_hi", 6),
    ],
};

/// COPY MULTICAST: source, then `destinations_minus_1 + 1` address pairs.
pub static COPY_MULTICAST: PacketForm = PacketForm {
    name: "copy_multicast",
    dwords: 5,
    tail: Tail::PairsPlus1("destinations_minus_1"),
    header: 0x0000_0a01,
    header_mask: OP_SUB | INLINE,
    fields: &[
        Field::new("tmz", 0, 18, 1),
        Field::new("npd", 0, 28, 1),
        Field::new("bytes_minus_1", 1, 0, 30),
        Field::new("destinations_minus_1", 2, 0, 10),
        Field::new("dst_scope", 2, 18, 2),
        Field::new("dst_temporal", 2, 20, 3),
        Field::new("src_scope", 2, 26, 2),
        Field::new("src_temporal", 2, 28, 3),
        Field::whole("src_lo", 3),
        Field::whole("src_hi", 4),
    ],
};

/// COPY SUB_WINDOW with the wider offsets of this generation.
pub static COPY_SUB_WINDOW: PacketForm = PacketForm {
    name: "copy_sub_window",
    dwords: 13,
    tail: Tail::None,
    header: 0x0000_0401,
    header_mask: OP_SUB,
    fields: &[
        Field::new("npd", 0, 28, 1),
        Field::new("element_log2_bytes", 0, 29, 3),
        Field::whole("src_lo", 1),
        Field::whole("src_hi", 2),
        Field::new("src_x", 3, 0, 16),
        Field::new("src_y", 3, 16, 16),
        Field::new("src_z", 4, 0, 14),
        Field::new("src_pitch_minus_1", 4, 16, 16),
        Field::whole("src_slice_minus_1", 5),
        Field::whole("dst_lo", 6),
        Field::whole("dst_hi", 7),
        Field::new("dst_x", 8, 0, 16),
        Field::new("dst_y", 8, 16, 16),
        Field::new("dst_z", 9, 0, 14),
        Field::new("dst_pitch_minus_1", 9, 16, 16),
        Field::whole("dst_slice_minus_1", 10),
        Field::new("rect_x_minus_1", 11, 0, 16),
        Field::new("rect_y_minus_1", 11, 16, 16),
        Field::new("rect_z_minus_1", 12, 0, 14),
        Field::new("dst_scope", 12, 18, 2),
        Field::new("dst_temporal", 12, 20, 3),
        Field::new("src_scope", 12, 26, 2),
        Field::new("src_temporal", 12, 28, 3),
    ],
};

/// FENCE.
pub static FENCE: PacketForm = PacketForm {
    name: "fence",
    dwords: 4,
    tail: Tail::None,
    header: 0x0000_0005,
    header_mask: OP_SUB,
    fields: &[
        Field::new("mtype", 0, 16, 2),
        Field::new("sys", 0, 20, 1),
        Field::new("snp", 0, 22, 1),
        Field::new("gpa", 0, 23, 1),
        Field::new("scope", 0, 24, 2),
        Field::new("temporal", 0, 26, 3),
        Field::whole("addr_lo", 1),
        Field::whole("addr_hi", 2),
        Field::whole("data", 3),
    ],
};

/// FENCE_64B: 64 bits to an address aligned to 8 bytes.
pub static FENCE_64B: PacketForm = PacketForm {
    name: "fence_64b",
    dwords: 5,
    tail: Tail::None,
    header: 0x0000_0205,
    header_mask: OP_SUB,
    fields: &[
        Field::new("mtype", 0, 16, 2),
        Field::new("sys", 0, 20, 1),
        Field::new("snp", 0, 22, 1),
        Field::new("gpa", 0, 23, 1),
        Field::new("scope", 0, 24, 2),
        Field::new("temporal", 0, 26, 3),
        Field::whole("addr_lo", 1),
        Field::whole("addr_hi", 2),
        Field::whole("data_lo", 3),
        Field::whole("data_hi", 4),
    ],
};

/// POLL_REGMEM.
pub static POLL_REGMEM: PacketForm = PacketForm {
    name: "poll_regmem",
    dwords: 6,
    tail: Tail::None,
    header: 0x0000_0008,
    header_mask: OP_SUB,
    fields: &[
        Field::new("func", 0, 28, 3),
        Field::new("mem_poll", 0, 31, 1),
        Field::whole("addr_lo", 1),
        Field::whole("addr_hi", 2),
        Field::whole("reference", 3),
        Field::whole("mask", 4),
        Field::new("interval", 5, 0, 16),
        Field::new("retry_count", 5, 16, 12),
        Field::new("scope", 5, 28, 2),
    ],
};

/// POLL_MEM_64B: a retry count of zero means for ever here. The header's bits 16 to 23 are ROCr's, as on FENCE_64B.
pub static POLL_MEM_64B: PacketForm = PacketForm {
    name: "poll_mem_64b",
    dwords: 8,
    tail: Tail::None,
    header: 0x0000_0508,
    header_mask: OP_SUB,
    fields: &[
        Field::new("mtype", 0, 16, 2),
        Field::new("sys", 0, 20, 1),
        Field::new("snp", 0, 22, 1),
        Field::new("gpa", 0, 23, 1),
        Field::new("cache_policy", 0, 24, 3),
        Field::new("func", 0, 28, 3),
        Field::whole("addr_lo", 1),
        Field::whole("addr_hi", 2),
        Field::whole("reference_lo", 3),
        Field::whole("reference_hi", 4),
        Field::whole("mask_lo", 5),
        Field::whole("mask_hi", 6),
        Field::new("retry_count", 7, 16, 8),
        Field::new("scope", 7, 28, 2),
    ],
};

/// ATOMIC.
pub static ATOMIC: PacketForm = PacketForm {
    name: "atomic",
    dwords: 8,
    tail: Tail::None,
    header: 0x0000_000a,
    header_mask: OP_SUB,
    fields: &[
        Field::new("loop", 0, 16, 1),
        Field::new("tmz", 0, 18, 1),
        Field::new("scope", 0, 20, 2),
        Field::new("temporal", 0, 22, 3),
        Field::new("operation", 0, 25, 7),
        Field::whole("addr_lo", 1),
        Field::whole("addr_hi", 2),
        Field::whole("data_lo", 3),
        Field::whole("data_hi", 4),
        Field::whole("compare_lo", 5),
        Field::whole("compare_hi", 6),
        Field::new("loop_interval", 7, 0, 13),
    ],
};

/// CONST_FILL; ROCr still uses a 22-bit count.
pub static CONST_FILL: PacketForm = PacketForm {
    name: "const_fill",
    dwords: 5,
    tail: Tail::None,
    header: 0x0000_000b,
    header_mask: OP_SUB,
    fields: &[
        Field::new("mtype", 0, 16, 2),
        Field::new("sys", 0, 20, 1),
        Field::new("snp", 0, 22, 1),
        Field::new("gpa", 0, 23, 1),
        Field::new("scope", 0, 24, 2),
        Field::new("temporal", 0, 26, 3),
        Field::new("npd", 0, 29, 1),
        Field::new("fill_log2_bytes", 0, 30, 2),
        Field::whole("dst_lo", 1),
        Field::whole("dst_hi", 2),
        Field::whole("value", 3),
        Field::new("count", 4, 0, 22),
    ],
};

/// TIMESTAMP, get-global.
pub static TIMESTAMP: PacketForm = PacketForm {
    name: "timestamp",
    dwords: 3,
    tail: Tail::None,
    header: 0x0000_020d,
    header_mask: OP_SUB,
    fields: &[
        Field::new("scope", 0, 24, 2),
        Field::new("temporal", 0, 26, 3),
        Field::whole("addr_lo", 1),
        Field::whole("addr_hi", 2),
    ],
};

/// All forms of this generation.
pub static PACKETS: PacketSet = PacketSet {
    name: "gfx1250",
    nop: &super::gfx9::NOP,
    copy_linear: &COPY_LINEAR,
    copy_broadcast: &super::gfx9::COPY_BROADCAST,
    copy_sub_window: &COPY_SUB_WINDOW,
    copy_swap: &super::gfx9::COPY_SWAP,
    write_linear: &super::gfx9::WRITE_LINEAR,
    fence: &FENCE,
    trap: &super::gfx9::TRAP,
    poll_regmem: &POLL_REGMEM,
    atomic: &ATOMIC,
    const_fill: &CONST_FILL,
    timestamp: &TIMESTAMP,
    copy_multicast: Some(&COPY_MULTICAST),
    fence_64b: Some(&FENCE_64B),
    poll_mem_64b: Some(&POLL_MEM_64B),
    swap_align_bytes: 32, // hw 1
};

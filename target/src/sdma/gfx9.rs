//! Packet forms of gfx942 and gfx950 (SDMA 4.4).
//!
//! What must hold here: every layout is that of hw 1 ("gfx9"), which comes from the Linux driver's and ROCr's headers. Byte
//! counts are stored minus 1. Pitch, slice and extent of a sub-window are in elements, minus 1; its offsets are in elements.

use super::packet::{Field, PacketForm, PacketSet, Tail};

const OP_SUB: u32 = 0xffff;
const BROADCAST: u32 = 1 << 27;

/// NOP: `count` dwords after the header are skipped.
pub static NOP: PacketForm = PacketForm {
    name: "nop",
    dwords: 1,
    tail: Tail::Count("count"),
    header: 0,
    header_mask: OP_SUB,
    fields: &[Field::new("count", 0, 16, 14)],
};

/// COPY_LINEAR. The 30-bit count is what mori uses on these chips; the older vega10 header shows only 22 bits.
pub static COPY_LINEAR: PacketForm = PacketForm {
    name: "copy_linear",
    dwords: 7,
    tail: Tail::None,
    header: 0x0000_0001,
    header_mask: OP_SUB | BROADCAST,
    fields: &[
        Field::new("encrypt", 0, 16, 1),
        Field::new("tmz", 0, 18, 1),
        Field::new("bytes_minus_1", 1, 0, 30),
        Field::new("dst_swap", 2, 16, 2),
        Field::new("src_swap", 2, 24, 2),
        Field::whole("src_lo", 3),
        Field::whole("src_hi", 4),
        Field::whole("dst_lo", 5),
        Field::whole("dst_hi", 6),
    ],
};

/// COPY_LINEAR with the broadcast bit: the second destination follows the first.
pub static COPY_BROADCAST: PacketForm = PacketForm {
    name: "copy_broadcast",
    dwords: 9,
    tail: Tail::None,
    header: 0x0800_0001,
    header_mask: OP_SUB | BROADCAST,
    fields: &[
        Field::new("encrypt", 0, 16, 1),
        Field::new("tmz", 0, 18, 1),
        Field::new("bytes_minus_1", 1, 0, 30),
        Field::new("dst2_swap", 2, 8, 2),
        Field::new("dst1_swap", 2, 16, 2),
        Field::new("src_swap", 2, 24, 2),
        Field::whole("src_lo", 3),
        Field::whole("src_hi", 4),
        Field::whole("dst1_lo", 5),
        Field::whole("dst1_hi", 6),
        Field::whole("dst2_lo", 7),
        Field::whole("dst2_hi", 8),
    ],
};

/// COPY SUB_WINDOW: a rectangle out of one pitched space into another.
pub static COPY_SUB_WINDOW: PacketForm = PacketForm {
    name: "copy_sub_window",
    dwords: 13,
    tail: Tail::None,
    header: 0x0000_0401,
    header_mask: OP_SUB,
    fields: &[
        Field::new("element_log2_bytes", 0, 29, 3),
        Field::whole("src_lo", 1),
        Field::whole("src_hi", 2),
        Field::new("src_x", 3, 0, 14),
        Field::new("src_y", 3, 16, 14),
        Field::new("src_z", 4, 0, 11),
        Field::new("src_pitch_minus_1", 4, 13, 19),
        Field::new("src_slice_minus_1", 5, 0, 28),
        Field::whole("dst_lo", 6),
        Field::whole("dst_hi", 7),
        Field::new("dst_x", 8, 0, 14),
        Field::new("dst_y", 8, 16, 14),
        Field::new("dst_z", 9, 0, 11),
        Field::new("dst_pitch_minus_1", 9, 13, 19),
        Field::new("dst_slice_minus_1", 10, 0, 28),
        Field::new("rect_x_minus_1", 11, 0, 14),
        Field::new("rect_y_minus_1", 11, 16, 14),
        Field::new("rect_z_minus_1", 12, 0, 11),
        Field::new("dst_swap", 12, 16, 2),
        Field::new("src_swap", 12, 24, 2),
    ],
};

/// COPY SWAP: both addresses aligned to 64 bytes.
pub static COPY_SWAP: PacketForm = PacketForm {
    name: "copy_swap",
    dwords: 7,
    tail: Tail::None,
    header: 0x0000_0901,
    header_mask: OP_SUB,
    fields: &[
        Field::new("bytes_minus_1", 1, 0, 30),
        Field::whole("a_lo", 3),
        Field::whole("a_hi", 4),
        Field::whole("b_lo", 5),
        Field::whole("b_hi", 6),
    ],
};

/// WRITE linear: the data dwords follow.
pub static WRITE_LINEAR: PacketForm = PacketForm {
    name: "write_linear",
    dwords: 4,
    tail: Tail::CountPlus1("dwords_minus_1"),
    header: 0x0000_0002,
    header_mask: OP_SUB,
    fields: &[
        Field::whole("dst_lo", 1),
        Field::whole("dst_hi", 2),
        Field::new("dwords_minus_1", 3, 0, 20),
        Field::new("swap", 3, 24, 2),
    ],
};

/// FENCE: 32 bits to an address aligned to 4 bytes.
pub static FENCE: PacketForm = PacketForm {
    name: "fence",
    dwords: 4,
    tail: Tail::None,
    header: 0x0000_0005,
    header_mask: OP_SUB,
    fields: &[Field::whole("addr_lo", 1), Field::whole("addr_hi", 2), Field::whole("data", 3)],
};

/// TRAP: interrupt with a context number.
pub static TRAP: PacketForm = PacketForm {
    name: "trap",
    dwords: 2,
    tail: Tail::None,
    header: 0x0000_0006,
    header_mask: OP_SUB,
    fields: &[Field::new("context", 1, 0, 28)],
};

/// POLL_REGMEM: 32-bit wait on memory (`mem_poll` 1) or on a register.
pub static POLL_REGMEM: PacketForm = PacketForm {
    name: "poll_regmem",
    dwords: 6,
    tail: Tail::None,
    header: 0x0000_0008,
    header_mask: OP_SUB,
    fields: &[
        Field::new("hdp_flush", 0, 26, 1),
        Field::new("func", 0, 28, 3),
        Field::new("mem_poll", 0, 31, 1),
        Field::whole("addr_lo", 1),
        Field::whole("addr_hi", 2),
        Field::whole("reference", 3),
        Field::whole("mask", 4),
        Field::new("interval", 5, 0, 16),
        Field::new("retry_count", 5, 16, 12),
    ],
};

/// ATOMIC on memory.
pub static ATOMIC: PacketForm = PacketForm {
    name: "atomic",
    dwords: 8,
    tail: Tail::None,
    header: 0x0000_000a,
    header_mask: OP_SUB,
    fields: &[
        Field::new("loop", 0, 16, 1),
        Field::new("tmz", 0, 18, 1),
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

/// CONST_FILL. `count` is what ROCr stores for dword fills (`fill_log2_bytes` 2): (dwords - 1) * 4.
pub static CONST_FILL: PacketForm = PacketForm {
    name: "const_fill",
    dwords: 5,
    tail: Tail::None,
    header: 0x0000_000b,
    header_mask: OP_SUB,
    fields: &[
        Field::new("swap", 0, 16, 2),
        Field::new("fill_log2_bytes", 0, 30, 2),
        Field::whole("dst_lo", 1),
        Field::whole("dst_hi", 2),
        Field::whole("value", 3),
        Field::new("count", 4, 0, 22),
    ],
};

/// TIMESTAMP, get-global: 64 bits to an address aligned to 8 bytes.
pub static TIMESTAMP: PacketForm = PacketForm {
    name: "timestamp",
    dwords: 3,
    tail: Tail::None,
    header: 0x0000_020d,
    header_mask: OP_SUB,
    fields: &[Field::whole("addr_lo", 1), Field::whole("addr_hi", 2)],
};

/// All forms of this generation.
pub static PACKETS: PacketSet = PacketSet {
    name: "gfx9",
    nop: &NOP,
    copy_linear: &COPY_LINEAR,
    copy_broadcast: &COPY_BROADCAST,
    copy_sub_window: &COPY_SUB_WINDOW,
    copy_swap: &COPY_SWAP,
    write_linear: &WRITE_LINEAR,
    fence: &FENCE,
    trap: &TRAP,
    poll_regmem: &POLL_REGMEM,
    atomic: &ATOMIC,
    const_fill: &CONST_FILL,
    timestamp: &TIMESTAMP,
    copy_multicast: None,
    fence_64b: None,
    poll_mem_64b: None,
    swap_align_bytes: 64, // hw 1
};

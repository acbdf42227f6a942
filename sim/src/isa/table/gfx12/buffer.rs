//! Buffers: VBUFFER.
//!
//! Must hold: see [`super`].

use crate::isa::op::Op;
use crate::isa::table::{ATOMIC, KEEPS, LOAD, Row, STORE, Ty, rows};

rows! {
    /// Buffers.
    BUFFER:
    16 BufferLoadUbyte B32 <- B32 None S128 S32 | LOAD = "buffer_load_u8";
    17 BufferLoadSbyte B32 <- B32 None S128 S32 | LOAD = "buffer_load_i8";
    18 BufferLoadUshort B32 <- B32 None S128 S32 | LOAD = "buffer_load_u16";
    19 BufferLoadSshort B32 <- B32 None S128 S32 | LOAD = "buffer_load_i16";
    20 BufferLoadDword B32 <- B32 None S128 S32 | LOAD = "buffer_load_b32";
    21 BufferLoadDwordx2 B64 <- B32 None S128 S32 | LOAD = "buffer_load_b64";
    22 BufferLoadDwordx3 W3 <- B32 None S128 S32 | LOAD = "buffer_load_b96";
    23 BufferLoadDwordx4 W4 <- B32 None S128 S32 | LOAD = "buffer_load_b128";
    24 BufferStoreByte <- B32 B32 S128 S32 | STORE = "buffer_store_b8";
    25 BufferStoreShort <- B32 B32 S128 S32 | STORE = "buffer_store_b16";
    26 BufferStoreDword <- B32 B32 S128 S32 | STORE = "buffer_store_b32";
    27 BufferStoreDwordx2 <- B32 B64 S128 S32 | STORE = "buffer_store_b64";
    28 BufferStoreDwordx3 <- B32 W3 S128 S32 | STORE = "buffer_store_b96";
    29 BufferStoreDwordx4 <- B32 W4 S128 S32 | STORE = "buffer_store_b128";
    30 BufferLoadUbyteD16 B32 <- B32 None S128 S32 | LOAD KEEPS = "buffer_load_d16_u8";
    31 BufferLoadSbyteD16 B32 <- B32 None S128 S32 | LOAD KEEPS = "buffer_load_d16_i8";
    32 BufferLoadShortD16 B32 <- B32 None S128 S32 | LOAD KEEPS = "buffer_load_d16_b16";
    33 BufferLoadUbyteD16Hi B32 <- B32 None S128 S32 | LOAD KEEPS = "buffer_load_d16_hi_u8";
    34 BufferLoadSbyteD16Hi B32 <- B32 None S128 S32 | LOAD KEEPS = "buffer_load_d16_hi_i8";
    35 BufferLoadShortD16Hi B32 <- B32 None S128 S32 | LOAD KEEPS = "buffer_load_d16_hi_b16";
    36 BufferStoreByteD16Hi <- B32 B32 S128 S32 | STORE = "buffer_store_d16_hi_b8";
    37 BufferStoreShortD16Hi <- B32 B32 S128 S32 | STORE = "buffer_store_d16_hi_b16";
    51 BufferAtomicSwap B32 <- B32 B32 S128 S32 | ATOMIC = "buffer_atomic_swap_b32";
    52 BufferAtomicCmpswap B32 <- B32 B64 S128 S32 | ATOMIC = "buffer_atomic_cmpswap_b32";
    53 BufferAtomicAdd B32 <- B32 B32 S128 S32 | ATOMIC = "buffer_atomic_add_u32";
    54 BufferAtomicSub B32 <- B32 B32 S128 S32 | ATOMIC = "buffer_atomic_sub_u32";
    55 BufferAtomicSubClampU32 B32 <- B32 B32 S128 S32 | ATOMIC;
    56 BufferAtomicSmin B32 <- B32 B32 S128 S32 | ATOMIC = "buffer_atomic_min_i32";
    57 BufferAtomicUmin B32 <- B32 B32 S128 S32 | ATOMIC = "buffer_atomic_min_u32";
    58 BufferAtomicSmax B32 <- B32 B32 S128 S32 | ATOMIC = "buffer_atomic_max_i32";
    59 BufferAtomicUmax B32 <- B32 B32 S128 S32 | ATOMIC = "buffer_atomic_max_u32";
    60 BufferAtomicAnd B32 <- B32 B32 S128 S32 | ATOMIC = "buffer_atomic_and_b32";
    61 BufferAtomicOr B32 <- B32 B32 S128 S32 | ATOMIC = "buffer_atomic_or_b32";
    62 BufferAtomicXor B32 <- B32 B32 S128 S32 | ATOMIC = "buffer_atomic_xor_b32";
    63 BufferAtomicInc B32 <- B32 B32 S128 S32 | ATOMIC = "buffer_atomic_inc_u32";
    64 BufferAtomicDec B32 <- B32 B32 S128 S32 | ATOMIC = "buffer_atomic_dec_u32";
    65 BufferAtomicSwapX2 B64 <- B32 B64 S128 S32 | ATOMIC = "buffer_atomic_swap_b64";
    66 BufferAtomicCmpswapX2 B64 <- B32 W4 S128 S32 | ATOMIC = "buffer_atomic_cmpswap_b64";
    67 BufferAtomicAddX2 B64 <- B32 B64 S128 S32 | ATOMIC = "buffer_atomic_add_u64";
    68 BufferAtomicSubX2 B64 <- B32 B64 S128 S32 | ATOMIC = "buffer_atomic_sub_u64";
    69 BufferAtomicSminX2 B64 <- B32 B64 S128 S32 | ATOMIC = "buffer_atomic_min_i64";
    70 BufferAtomicUminX2 B64 <- B32 B64 S128 S32 | ATOMIC = "buffer_atomic_min_u64";
    71 BufferAtomicSmaxX2 B64 <- B32 B64 S128 S32 | ATOMIC = "buffer_atomic_max_i64";
    72 BufferAtomicUmaxX2 B64 <- B32 B64 S128 S32 | ATOMIC = "buffer_atomic_max_u64";
    73 BufferAtomicAndX2 B64 <- B32 B64 S128 S32 | ATOMIC = "buffer_atomic_and_b64";
    74 BufferAtomicOrX2 B64 <- B32 B64 S128 S32 | ATOMIC = "buffer_atomic_or_b64";
    75 BufferAtomicXorX2 B64 <- B32 B64 S128 S32 | ATOMIC = "buffer_atomic_xor_b64";
    76 BufferAtomicIncX2 B64 <- B32 B64 S128 S32 | ATOMIC = "buffer_atomic_inc_u64";
    77 BufferAtomicDecX2 B64 <- B32 B64 S128 S32 | ATOMIC = "buffer_atomic_dec_u64";
    80 BufferAtomicCondSubU32 B32 <- B32 B32 S128 S32 | ATOMIC;
    81 BufferAtomicMinNumF32 B32 <- B32 B32 S128 S32 | ATOMIC;
    82 BufferAtomicMaxNumF32 B32 <- B32 B32 S128 S32 | ATOMIC;
    85 BufferAtomicAddF64 B64 <- B32 B64 S128 S32 | ATOMIC;
    86 BufferAtomicAddF32 B32 <- B32 B32 S128 S32 | ATOMIC;
    89 BufferAtomicPkAddF16 B32 <- B32 B32 S128 S32 | ATOMIC;
    90 BufferAtomicPkAddBf16 B32 <- B32 B32 S128 S32 | ATOMIC;
    91 BufferAtomicMinF64 B64 <- B32 B64 S128 S32 | ATOMIC = "buffer_atomic_min_num_f64";
    92 BufferAtomicMaxF64 B64 <- B32 B64 S128 S32 | ATOMIC = "buffer_atomic_max_num_f64";
}

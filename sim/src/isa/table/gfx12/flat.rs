//! Flat, scratch and global memory: VFLAT, VSCRATCH, VGLOBAL. TO_LDS: the data register is an address in LDS.
//!
//! Must hold: see [`super`].

use crate::isa::op::Op;
use crate::isa::table::{ATOMIC, KEEPS, LOAD, Row, STORE, TO_LDS, Ty, rows};

rows! {
    /// Flat addresses.
    FLAT:
    16 FlatLoadUbyte B32 <- B64 | LOAD = "flat_load_u8";
    17 FlatLoadSbyte B32 <- B64 | LOAD = "flat_load_i8";
    18 FlatLoadUshort B32 <- B64 | LOAD = "flat_load_u16";
    19 FlatLoadSshort B32 <- B64 | LOAD = "flat_load_i16";
    20 FlatLoadDword B32 <- B64 | LOAD = "flat_load_b32";
    21 FlatLoadDwordx2 B64 <- B64 | LOAD = "flat_load_b64";
    22 FlatLoadDwordx3 W3 <- B64 | LOAD = "flat_load_b96";
    23 FlatLoadDwordx4 W4 <- B64 | LOAD = "flat_load_b128";
    24 FlatStoreByte <- B64 B32 | STORE = "flat_store_b8";
    25 FlatStoreShort <- B64 B32 | STORE = "flat_store_b16";
    26 FlatStoreDword <- B64 B32 | STORE = "flat_store_b32";
    27 FlatStoreDwordx2 <- B64 B64 | STORE = "flat_store_b64";
    28 FlatStoreDwordx3 <- B64 W3 | STORE = "flat_store_b96";
    29 FlatStoreDwordx4 <- B64 W4 | STORE = "flat_store_b128";
    30 FlatLoadUbyteD16 B32 <- B64 | LOAD KEEPS = "flat_load_d16_u8";
    31 FlatLoadSbyteD16 B32 <- B64 | LOAD KEEPS = "flat_load_d16_i8";
    32 FlatLoadShortD16 B32 <- B64 | LOAD KEEPS = "flat_load_d16_b16";
    33 FlatLoadUbyteD16Hi B32 <- B64 | LOAD KEEPS = "flat_load_d16_hi_u8";
    34 FlatLoadSbyteD16Hi B32 <- B64 | LOAD KEEPS = "flat_load_d16_hi_i8";
    35 FlatLoadShortD16Hi B32 <- B64 | LOAD KEEPS = "flat_load_d16_hi_b16";
    36 FlatStoreByteD16Hi <- B64 B32 | STORE = "flat_store_d16_hi_b8";
    37 FlatStoreShortD16Hi <- B64 B32 | STORE = "flat_store_d16_hi_b16";
    51 FlatAtomicSwap B32 <- B64 B32 | ATOMIC = "flat_atomic_swap_b32";
    52 FlatAtomicCmpswap B32 <- B64 B64 | ATOMIC = "flat_atomic_cmpswap_b32";
    53 FlatAtomicAdd B32 <- B64 B32 | ATOMIC = "flat_atomic_add_u32";
    54 FlatAtomicSub B32 <- B64 B32 | ATOMIC = "flat_atomic_sub_u32";
    55 FlatAtomicSubClampU32 B32 <- B64 B32 | ATOMIC;
    56 FlatAtomicSmin B32 <- B64 B32 | ATOMIC = "flat_atomic_min_i32";
    57 FlatAtomicUmin B32 <- B64 B32 | ATOMIC = "flat_atomic_min_u32";
    58 FlatAtomicSmax B32 <- B64 B32 | ATOMIC = "flat_atomic_max_i32";
    59 FlatAtomicUmax B32 <- B64 B32 | ATOMIC = "flat_atomic_max_u32";
    60 FlatAtomicAnd B32 <- B64 B32 | ATOMIC = "flat_atomic_and_b32";
    61 FlatAtomicOr B32 <- B64 B32 | ATOMIC = "flat_atomic_or_b32";
    62 FlatAtomicXor B32 <- B64 B32 | ATOMIC = "flat_atomic_xor_b32";
    63 FlatAtomicInc B32 <- B64 B32 | ATOMIC = "flat_atomic_inc_u32";
    64 FlatAtomicDec B32 <- B64 B32 | ATOMIC = "flat_atomic_dec_u32";
    65 FlatAtomicSwapX2 B64 <- B64 B64 | ATOMIC = "flat_atomic_swap_b64";
    66 FlatAtomicCmpswapX2 B64 <- B64 W4 | ATOMIC = "flat_atomic_cmpswap_b64";
    67 FlatAtomicAddX2 B64 <- B64 B64 | ATOMIC = "flat_atomic_add_u64";
    68 FlatAtomicSubX2 B64 <- B64 B64 | ATOMIC = "flat_atomic_sub_u64";
    69 FlatAtomicSminX2 B64 <- B64 B64 | ATOMIC = "flat_atomic_min_i64";
    70 FlatAtomicUminX2 B64 <- B64 B64 | ATOMIC = "flat_atomic_min_u64";
    71 FlatAtomicSmaxX2 B64 <- B64 B64 | ATOMIC = "flat_atomic_max_i64";
    72 FlatAtomicUmaxX2 B64 <- B64 B64 | ATOMIC = "flat_atomic_max_u64";
    73 FlatAtomicAndX2 B64 <- B64 B64 | ATOMIC = "flat_atomic_and_b64";
    74 FlatAtomicOrX2 B64 <- B64 B64 | ATOMIC = "flat_atomic_or_b64";
    75 FlatAtomicXorX2 B64 <- B64 B64 | ATOMIC = "flat_atomic_xor_b64";
    76 FlatAtomicIncX2 B64 <- B64 B64 | ATOMIC = "flat_atomic_inc_u64";
    77 FlatAtomicDecX2 B64 <- B64 B64 | ATOMIC = "flat_atomic_dec_u64";
    80 FlatAtomicCondSubU32 B32 <- B64 B32 | ATOMIC;
    81 FlatAtomicMinNumF32 B32 <- B64 B32 | ATOMIC;
    82 FlatAtomicMaxNumF32 B32 <- B64 B32 | ATOMIC;
    85 FlatAtomicAddF64 B64 <- B64 B64 | ATOMIC;
    86 FlatAtomicAddF32 B32 <- B64 B32 | ATOMIC;
    89 FlatAtomicPkAddF16 B32 <- B64 B32 | ATOMIC;
    90 FlatAtomicPkAddBf16 B32 <- B64 B32 | ATOMIC;
    91 FlatAtomicMinF64 B64 <- B64 B64 | ATOMIC = "flat_atomic_min_num_f64";
    92 FlatAtomicMaxF64 B64 <- B64 B64 | ATOMIC = "flat_atomic_max_num_f64";
    93 FlatPrefetchB8 <- B64;
    112 FlatLoadMonitorB32 B32 <- B64 | LOAD;
    113 FlatLoadMonitorB64 B64 <- B64 | LOAD;
    114 FlatLoadMonitorB128 W4 <- B64 | LOAD;
}

rows! {
    /// Scratch addresses.
    SCRATCH:
    16 ScratchLoadUbyte B32 <- B32 None S32 | LOAD = "scratch_load_u8";
    17 ScratchLoadSbyte B32 <- B32 None S32 | LOAD = "scratch_load_i8";
    18 ScratchLoadUshort B32 <- B32 None S32 | LOAD = "scratch_load_u16";
    19 ScratchLoadSshort B32 <- B32 None S32 | LOAD = "scratch_load_i16";
    20 ScratchLoadDword B32 <- B32 None S32 | LOAD = "scratch_load_b32";
    21 ScratchLoadDwordx2 B64 <- B32 None S32 | LOAD = "scratch_load_b64";
    22 ScratchLoadDwordx3 W3 <- B32 None S32 | LOAD = "scratch_load_b96";
    23 ScratchLoadDwordx4 W4 <- B32 None S32 | LOAD = "scratch_load_b128";
    24 ScratchStoreByte <- B32 B32 S32 | STORE = "scratch_store_b8";
    25 ScratchStoreShort <- B32 B32 S32 | STORE = "scratch_store_b16";
    26 ScratchStoreDword <- B32 B32 S32 | STORE = "scratch_store_b32";
    27 ScratchStoreDwordx2 <- B32 B64 S32 | STORE = "scratch_store_b64";
    28 ScratchStoreDwordx3 <- B32 W3 S32 | STORE = "scratch_store_b96";
    29 ScratchStoreDwordx4 <- B32 W4 S32 | STORE = "scratch_store_b128";
    30 ScratchLoadUbyteD16 B32 <- B32 None S32 | LOAD KEEPS = "scratch_load_d16_u8";
    31 ScratchLoadSbyteD16 B32 <- B32 None S32 | LOAD KEEPS = "scratch_load_d16_i8";
    32 ScratchLoadShortD16 B32 <- B32 None S32 | LOAD KEEPS = "scratch_load_d16_b16";
    33 ScratchLoadUbyteD16Hi B32 <- B32 None S32 | LOAD KEEPS = "scratch_load_d16_hi_u8";
    34 ScratchLoadSbyteD16Hi B32 <- B32 None S32 | LOAD KEEPS = "scratch_load_d16_hi_i8";
    35 ScratchLoadShortD16Hi B32 <- B32 None S32 | LOAD KEEPS = "scratch_load_d16_hi_b16";
    36 ScratchStoreByteD16Hi <- B32 B32 S32 | STORE = "scratch_store_d16_hi_b8";
    37 ScratchStoreShortD16Hi <- B32 B32 S32 | STORE = "scratch_store_d16_hi_b16";
    83 ScratchLoadBlock W32 <- B32 | LOAD;
    84 ScratchStoreBlock <- B32 W32 | STORE;
}

rows! {
    /// Global addresses.
    GLOBAL:
    16 GlobalLoadUbyte B32 <- B64 None S64 | LOAD = "global_load_u8";
    17 GlobalLoadSbyte B32 <- B64 None S64 | LOAD = "global_load_i8";
    18 GlobalLoadUshort B32 <- B64 None S64 | LOAD = "global_load_u16";
    19 GlobalLoadSshort B32 <- B64 None S64 | LOAD = "global_load_i16";
    20 GlobalLoadDword B32 <- B64 None S64 | LOAD = "global_load_b32";
    21 GlobalLoadDwordx2 B64 <- B64 None S64 | LOAD = "global_load_b64";
    22 GlobalLoadDwordx3 W3 <- B64 None S64 | LOAD = "global_load_b96";
    23 GlobalLoadDwordx4 W4 <- B64 None S64 | LOAD = "global_load_b128";
    24 GlobalStoreByte <- B64 B32 S64 | STORE = "global_store_b8";
    25 GlobalStoreShort <- B64 B32 S64 | STORE = "global_store_b16";
    26 GlobalStoreDword <- B64 B32 S64 | STORE = "global_store_b32";
    27 GlobalStoreDwordx2 <- B64 B64 S64 | STORE = "global_store_b64";
    28 GlobalStoreDwordx3 <- B64 W3 S64 | STORE = "global_store_b96";
    29 GlobalStoreDwordx4 <- B64 W4 S64 | STORE = "global_store_b128";
    30 GlobalLoadUbyteD16 B32 <- B64 None S64 | LOAD KEEPS = "global_load_d16_u8";
    31 GlobalLoadSbyteD16 B32 <- B64 None S64 | LOAD KEEPS = "global_load_d16_i8";
    32 GlobalLoadShortD16 B32 <- B64 None S64 | LOAD KEEPS = "global_load_d16_b16";
    33 GlobalLoadUbyteD16Hi B32 <- B64 None S64 | LOAD KEEPS = "global_load_d16_hi_u8";
    34 GlobalLoadSbyteD16Hi B32 <- B64 None S64 | LOAD KEEPS = "global_load_d16_hi_i8";
    35 GlobalLoadShortD16Hi B32 <- B64 None S64 | LOAD KEEPS = "global_load_d16_hi_b16";
    36 GlobalStoreByteD16Hi <- B64 B32 S64 | STORE = "global_store_d16_hi_b8";
    37 GlobalStoreShortD16Hi <- B64 B32 S64 | STORE = "global_store_d16_hi_b16";
    40 GlobalLoadAddtidB32 B32 <- None | LOAD;
    41 GlobalStoreAddtidB32 <- None B32 | STORE;
    43 GlobalInv <-;
    44 GlobalWb <-;
    51 GlobalAtomicSwap B32 <- B64 B32 S64 | ATOMIC = "global_atomic_swap_b32";
    52 GlobalAtomicCmpswap B32 <- B64 B64 S64 | ATOMIC = "global_atomic_cmpswap_b32";
    53 GlobalAtomicAdd B32 <- B64 B32 S64 | ATOMIC = "global_atomic_add_u32";
    54 GlobalAtomicSub B32 <- B64 B32 S64 | ATOMIC = "global_atomic_sub_u32";
    55 GlobalAtomicSubClampU32 B32 <- B64 B32 | ATOMIC;
    56 GlobalAtomicSmin B32 <- B64 B32 S64 | ATOMIC = "global_atomic_min_i32";
    57 GlobalAtomicUmin B32 <- B64 B32 S64 | ATOMIC = "global_atomic_min_u32";
    58 GlobalAtomicSmax B32 <- B64 B32 S64 | ATOMIC = "global_atomic_max_i32";
    59 GlobalAtomicUmax B32 <- B64 B32 S64 | ATOMIC = "global_atomic_max_u32";
    60 GlobalAtomicAnd B32 <- B64 B32 S64 | ATOMIC = "global_atomic_and_b32";
    61 GlobalAtomicOr B32 <- B64 B32 S64 | ATOMIC = "global_atomic_or_b32";
    62 GlobalAtomicXor B32 <- B64 B32 S64 | ATOMIC = "global_atomic_xor_b32";
    63 GlobalAtomicInc B32 <- B64 B32 S64 | ATOMIC = "global_atomic_inc_u32";
    64 GlobalAtomicDec B32 <- B64 B32 S64 | ATOMIC = "global_atomic_dec_u32";
    65 GlobalAtomicSwapX2 B64 <- B64 B64 S64 | ATOMIC = "global_atomic_swap_b64";
    66 GlobalAtomicCmpswapX2 B64 <- B64 W4 S64 | ATOMIC = "global_atomic_cmpswap_b64";
    67 GlobalAtomicAddX2 B64 <- B64 B64 S64 | ATOMIC = "global_atomic_add_u64";
    68 GlobalAtomicSubX2 B64 <- B64 B64 S64 | ATOMIC = "global_atomic_sub_u64";
    69 GlobalAtomicSminX2 B64 <- B64 B64 S64 | ATOMIC = "global_atomic_min_i64";
    70 GlobalAtomicUminX2 B64 <- B64 B64 S64 | ATOMIC = "global_atomic_min_u64";
    71 GlobalAtomicSmaxX2 B64 <- B64 B64 S64 | ATOMIC = "global_atomic_max_i64";
    72 GlobalAtomicUmaxX2 B64 <- B64 B64 S64 | ATOMIC = "global_atomic_max_u64";
    73 GlobalAtomicAndX2 B64 <- B64 B64 S64 | ATOMIC = "global_atomic_and_b64";
    74 GlobalAtomicOrX2 B64 <- B64 B64 S64 | ATOMIC = "global_atomic_or_b64";
    75 GlobalAtomicXorX2 B64 <- B64 B64 S64 | ATOMIC = "global_atomic_xor_b64";
    76 GlobalAtomicIncX2 B64 <- B64 B64 S64 | ATOMIC = "global_atomic_inc_u64";
    77 GlobalAtomicDecX2 B64 <- B64 B64 S64 | ATOMIC = "global_atomic_dec_u64";
    79 GlobalWbinv <-;
    80 GlobalAtomicCondSubU32 B32 <- B64 B32 | ATOMIC;
    81 GlobalAtomicMinNumF32 B32 <- B64 B32 | ATOMIC;
    82 GlobalAtomicMaxNumF32 B32 <- B64 B32 | ATOMIC;
    83 GlobalLoadBlock W32 <- B64 | LOAD;
    84 GlobalStoreBlock <- B64 W32 | STORE;
    85 GlobalAtomicAddF64 B64 <- B64 B64 S64 | ATOMIC;
    86 GlobalAtomicAddF32 B32 <- B64 B32 S64 | ATOMIC;
    87 GlobalLoadTr16B128 W4 <- B64 | LOAD;
    88 GlobalLoadTr8B64 B64 <- B64 | LOAD;
    89 GlobalAtomicPkAddF16 B32 <- B64 B32 S64 | ATOMIC;
    90 GlobalAtomicPkAddBf16 B32 <- B64 B32 S64 | ATOMIC;
    91 GlobalAtomicMinF64 B64 <- B64 B64 S64 | ATOMIC = "global_atomic_min_num_f64";
    92 GlobalAtomicMaxF64 B64 <- B64 B64 S64 | ATOMIC = "global_atomic_max_num_f64";
    93 GlobalPrefetchB8 <- B64;
    95 GlobalLoadAsyncToLdsB8 <- B64 B32 | LOAD TO_LDS;
    96 GlobalLoadAsyncToLdsB32 <- B64 B32 | LOAD TO_LDS;
    97 GlobalLoadAsyncToLdsB64 <- B64 B32 | LOAD TO_LDS;
    98 GlobalLoadAsyncToLdsB128 <- B64 B32 | LOAD TO_LDS;
    99 GlobalStoreAsyncFromLdsB8 <- B64 B32 | STORE TO_LDS;
    100 GlobalStoreAsyncFromLdsB32 <- B64 B32 | STORE TO_LDS;
    101 GlobalStoreAsyncFromLdsB64 <- B64 B32 | STORE TO_LDS;
    102 GlobalStoreAsyncFromLdsB128 <- B64 B32 | STORE TO_LDS;
    103 ClusterLoadB32 B32 <- B64 | LOAD;
    104 ClusterLoadB64 B64 <- B64 | LOAD;
    105 ClusterLoadB128 W4 <- B64 | LOAD;
    106 ClusterLoadAsyncToLdsB8 <- B64 B32 | LOAD TO_LDS;
    107 ClusterLoadAsyncToLdsB32 <- B64 B32 | LOAD TO_LDS;
    108 ClusterLoadAsyncToLdsB64 <- B64 B32 | LOAD TO_LDS;
    109 ClusterLoadAsyncToLdsB128 <- B64 B32 | LOAD TO_LDS;
    112 GlobalLoadMonitorB32 B32 <- B64 | LOAD;
    113 GlobalLoadMonitorB64 B64 <- B64 | LOAD;
    114 GlobalLoadMonitorB128 W4 <- B64 | LOAD;
    115 GlobalLoadTr4B64 B64 <- B64 | LOAD;
    116 GlobalLoadTr6B96 W3 <- B64 | LOAD;
}

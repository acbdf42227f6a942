//! FLAT, GLOBAL and SCRATCH.
//!
//! Must hold: see [`super`]. The destination of an atomic is written only with the bit `sc0`. The 64-bit vector address of a
//! GLOBAL access becomes a 32-bit offset where a scalar address is given.

use super::{ATOMIC, GFX950, KEEPS, LOAD, Row, STORE, TO_LDS, Ty, rows};
use crate::isa::op::Op;

rows! {
    /// Flat addresses.
    FLAT:
    16 FlatLoadUbyte B32 <- B64 | LOAD;
    17 FlatLoadSbyte B32 <- B64 | LOAD;
    18 FlatLoadUshort B32 <- B64 | LOAD;
    19 FlatLoadSshort B32 <- B64 | LOAD;
    20 FlatLoadDword B32 <- B64 | LOAD;
    21 FlatLoadDwordx2 B64 <- B64 | LOAD;
    22 FlatLoadDwordx3 W3 <- B64 | LOAD;
    23 FlatLoadDwordx4 W4 <- B64 | LOAD;
    24 FlatStoreByte <- B64 B32 | STORE;
    25 FlatStoreByteD16Hi <- B64 B32 | STORE;
    26 FlatStoreShort <- B64 B32 | STORE;
    27 FlatStoreShortD16Hi <- B64 B32 | STORE;
    28 FlatStoreDword <- B64 B32 | STORE;
    29 FlatStoreDwordx2 <- B64 B64 | STORE;
    30 FlatStoreDwordx3 <- B64 W3 | STORE;
    31 FlatStoreDwordx4 <- B64 W4 | STORE;
    32 FlatLoadUbyteD16 B32 <- B64 | LOAD KEEPS;
    33 FlatLoadUbyteD16Hi B32 <- B64 | LOAD KEEPS;
    34 FlatLoadSbyteD16 B32 <- B64 | LOAD KEEPS;
    35 FlatLoadSbyteD16Hi B32 <- B64 | LOAD KEEPS;
    36 FlatLoadShortD16 B32 <- B64 | LOAD KEEPS;
    37 FlatLoadShortD16Hi B32 <- B64 | LOAD KEEPS;
    64 FlatAtomicSwap B32 <- B64 B32 | ATOMIC;
    65 FlatAtomicCmpswap B32 <- B64 B64 | ATOMIC;
    66 FlatAtomicAdd B32 <- B64 B32 | ATOMIC;
    67 FlatAtomicSub B32 <- B64 B32 | ATOMIC;
    68 FlatAtomicSmin B32 <- B64 B32 | ATOMIC;
    69 FlatAtomicUmin B32 <- B64 B32 | ATOMIC;
    70 FlatAtomicSmax B32 <- B64 B32 | ATOMIC;
    71 FlatAtomicUmax B32 <- B64 B32 | ATOMIC;
    72 FlatAtomicAnd B32 <- B64 B32 | ATOMIC;
    73 FlatAtomicOr B32 <- B64 B32 | ATOMIC;
    74 FlatAtomicXor B32 <- B64 B32 | ATOMIC;
    75 FlatAtomicInc B32 <- B64 B32 | ATOMIC;
    76 FlatAtomicDec B32 <- B64 B32 | ATOMIC;
    77 FlatAtomicAddF32 B32 <- B64 B32 | ATOMIC;
    78 FlatAtomicPkAddF16 B32 <- B64 B32 | ATOMIC;
    79 FlatAtomicAddF64 B64 <- B64 B64 | ATOMIC;
    80 FlatAtomicMinF64 B64 <- B64 B64 | ATOMIC;
    81 FlatAtomicMaxF64 B64 <- B64 B64 | ATOMIC;
    82 FlatAtomicPkAddBf16 B32 <- B64 B32 | ATOMIC;
    96 FlatAtomicSwapX2 B64 <- B64 B64 | ATOMIC;
    97 FlatAtomicCmpswapX2 B64 <- B64 W4 | ATOMIC;
    98 FlatAtomicAddX2 B64 <- B64 B64 | ATOMIC;
    99 FlatAtomicSubX2 B64 <- B64 B64 | ATOMIC;
    100 FlatAtomicSminX2 B64 <- B64 B64 | ATOMIC;
    101 FlatAtomicUminX2 B64 <- B64 B64 | ATOMIC;
    102 FlatAtomicSmaxX2 B64 <- B64 B64 | ATOMIC;
    103 FlatAtomicUmaxX2 B64 <- B64 B64 | ATOMIC;
    104 FlatAtomicAndX2 B64 <- B64 B64 | ATOMIC;
    105 FlatAtomicOrX2 B64 <- B64 B64 | ATOMIC;
    106 FlatAtomicXorX2 B64 <- B64 B64 | ATOMIC;
    107 FlatAtomicIncX2 B64 <- B64 B64 | ATOMIC;
    108 FlatAtomicDecX2 B64 <- B64 B64 | ATOMIC;
}

rows! {
    /// Global addresses.
    GLOBAL:
    16 GlobalLoadUbyte B32 <- B64 None S64 | LOAD;
    17 GlobalLoadSbyte B32 <- B64 None S64 | LOAD;
    18 GlobalLoadUshort B32 <- B64 None S64 | LOAD;
    19 GlobalLoadSshort B32 <- B64 None S64 | LOAD;
    20 GlobalLoadDword B32 <- B64 None S64 | LOAD;
    21 GlobalLoadDwordx2 B64 <- B64 None S64 | LOAD;
    22 GlobalLoadDwordx3 W3 <- B64 None S64 | LOAD;
    23 GlobalLoadDwordx4 W4 <- B64 None S64 | LOAD;
    24 GlobalStoreByte <- B64 B32 S64 | STORE;
    25 GlobalStoreByteD16Hi <- B64 B32 S64 | STORE;
    26 GlobalStoreShort <- B64 B32 S64 | STORE;
    27 GlobalStoreShortD16Hi <- B64 B32 S64 | STORE;
    28 GlobalStoreDword <- B64 B32 S64 | STORE;
    29 GlobalStoreDwordx2 <- B64 B64 S64 | STORE;
    30 GlobalStoreDwordx3 <- B64 W3 S64 | STORE;
    31 GlobalStoreDwordx4 <- B64 W4 S64 | STORE;
    32 GlobalLoadUbyteD16 B32 <- B64 None S64 | LOAD KEEPS;
    33 GlobalLoadUbyteD16Hi B32 <- B64 None S64 | LOAD KEEPS;
    34 GlobalLoadSbyteD16 B32 <- B64 None S64 | LOAD KEEPS;
    35 GlobalLoadSbyteD16Hi B32 <- B64 None S64 | LOAD KEEPS;
    36 GlobalLoadShortD16 B32 <- B64 None S64 | LOAD KEEPS;
    37 GlobalLoadShortD16Hi B32 <- B64 None S64 | LOAD KEEPS;
    38 GlobalLoadLdsUbyte <- B64 None S64 | LOAD TO_LDS;
    39 GlobalLoadLdsSbyte <- B64 None S64 | LOAD TO_LDS;
    40 GlobalLoadLdsUshort <- B64 None S64 | LOAD TO_LDS;
    41 GlobalLoadLdsSshort <- B64 None S64 | LOAD TO_LDS;
    42 GlobalLoadLdsDword <- B64 None S64 | LOAD TO_LDS;
    64 GlobalAtomicSwap B32 <- B64 B32 S64 | ATOMIC;
    65 GlobalAtomicCmpswap B32 <- B64 B64 S64 | ATOMIC;
    66 GlobalAtomicAdd B32 <- B64 B32 S64 | ATOMIC;
    67 GlobalAtomicSub B32 <- B64 B32 S64 | ATOMIC;
    68 GlobalAtomicSmin B32 <- B64 B32 S64 | ATOMIC;
    69 GlobalAtomicUmin B32 <- B64 B32 S64 | ATOMIC;
    70 GlobalAtomicSmax B32 <- B64 B32 S64 | ATOMIC;
    71 GlobalAtomicUmax B32 <- B64 B32 S64 | ATOMIC;
    72 GlobalAtomicAnd B32 <- B64 B32 S64 | ATOMIC;
    73 GlobalAtomicOr B32 <- B64 B32 S64 | ATOMIC;
    74 GlobalAtomicXor B32 <- B64 B32 S64 | ATOMIC;
    75 GlobalAtomicInc B32 <- B64 B32 S64 | ATOMIC;
    76 GlobalAtomicDec B32 <- B64 B32 S64 | ATOMIC;
    77 GlobalAtomicAddF32 B32 <- B64 B32 S64 | ATOMIC;
    78 GlobalAtomicPkAddF16 B32 <- B64 B32 S64 | ATOMIC;
    79 GlobalAtomicAddF64 B64 <- B64 B64 S64 | ATOMIC;
    80 GlobalAtomicMinF64 B64 <- B64 B64 S64 | ATOMIC;
    81 GlobalAtomicMaxF64 B64 <- B64 B64 S64 | ATOMIC;
    82 GlobalAtomicPkAddBf16 B32 <- B64 B32 S64 | ATOMIC;
    96 GlobalAtomicSwapX2 B64 <- B64 B64 S64 | ATOMIC;
    97 GlobalAtomicCmpswapX2 B64 <- B64 W4 S64 | ATOMIC;
    98 GlobalAtomicAddX2 B64 <- B64 B64 S64 | ATOMIC;
    99 GlobalAtomicSubX2 B64 <- B64 B64 S64 | ATOMIC;
    100 GlobalAtomicSminX2 B64 <- B64 B64 S64 | ATOMIC;
    101 GlobalAtomicUminX2 B64 <- B64 B64 S64 | ATOMIC;
    102 GlobalAtomicSmaxX2 B64 <- B64 B64 S64 | ATOMIC;
    103 GlobalAtomicUmaxX2 B64 <- B64 B64 S64 | ATOMIC;
    104 GlobalAtomicAndX2 B64 <- B64 B64 S64 | ATOMIC;
    105 GlobalAtomicOrX2 B64 <- B64 B64 S64 | ATOMIC;
    106 GlobalAtomicXorX2 B64 <- B64 B64 S64 | ATOMIC;
    107 GlobalAtomicIncX2 B64 <- B64 B64 S64 | ATOMIC;
    108 GlobalAtomicDecX2 B64 <- B64 B64 S64 | ATOMIC;
    125 GlobalLoadLdsDwordx4 <- B64 None S64 | GFX950 LOAD TO_LDS;
    126 GlobalLoadLdsDwordx3 <- B64 None S64 | GFX950 LOAD TO_LDS;
}

rows! {
    /// Scratch addresses.
    SCRATCH:
    16 ScratchLoadUbyte B32 <- B32 None S32 | LOAD;
    17 ScratchLoadSbyte B32 <- B32 None S32 | LOAD;
    18 ScratchLoadUshort B32 <- B32 None S32 | LOAD;
    19 ScratchLoadSshort B32 <- B32 None S32 | LOAD;
    20 ScratchLoadDword B32 <- B32 None S32 | LOAD;
    21 ScratchLoadDwordx2 B64 <- B32 None S32 | LOAD;
    22 ScratchLoadDwordx3 W3 <- B32 None S32 | LOAD;
    23 ScratchLoadDwordx4 W4 <- B32 None S32 | LOAD;
    24 ScratchStoreByte <- B32 B32 S32 | STORE;
    25 ScratchStoreByteD16Hi <- B32 B32 S32 | STORE;
    26 ScratchStoreShort <- B32 B32 S32 | STORE;
    27 ScratchStoreShortD16Hi <- B32 B32 S32 | STORE;
    28 ScratchStoreDword <- B32 B32 S32 | STORE;
    29 ScratchStoreDwordx2 <- B32 B64 S32 | STORE;
    30 ScratchStoreDwordx3 <- B32 W3 S32 | STORE;
    31 ScratchStoreDwordx4 <- B32 W4 S32 | STORE;
    32 ScratchLoadUbyteD16 B32 <- B32 None S32 | LOAD KEEPS;
    33 ScratchLoadUbyteD16Hi B32 <- B32 None S32 | LOAD KEEPS;
    34 ScratchLoadSbyteD16 B32 <- B32 None S32 | LOAD KEEPS;
    35 ScratchLoadSbyteD16Hi B32 <- B32 None S32 | LOAD KEEPS;
    36 ScratchLoadShortD16 B32 <- B32 None S32 | LOAD KEEPS;
    37 ScratchLoadShortD16Hi B32 <- B32 None S32 | LOAD KEEPS;
    38 ScratchLoadLdsUbyte <- B32 None S32 | LOAD TO_LDS;
    39 ScratchLoadLdsSbyte <- B32 None S32 | LOAD TO_LDS;
    40 ScratchLoadLdsUshort <- B32 None S32 | LOAD TO_LDS;
    41 ScratchLoadLdsSshort <- B32 None S32 | LOAD TO_LDS;
    42 ScratchLoadLdsDword <- B32 None S32 | LOAD TO_LDS;
}

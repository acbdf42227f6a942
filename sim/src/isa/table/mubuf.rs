//! MUBUF and MTBUF.
//!
//! Must hold: see [`super`]. The vector address is 0, 1 or 2 dwords by `offen` and `idxen`; the destination of an atomic is
//! written only with the bit `sc0`.

use super::{ATOMIC, GFX950, KEEPS, LDS950, LOAD, Row, STORE, TO_LDS, Ty, rows};
use crate::isa::op::Op;

rows! {
    /// Buffers.
    MUBUF:
    0 BufferLoadFormatX B32 <- B32 None S128 S32 | LOAD TO_LDS;
    1 BufferLoadFormatXy B64 <- B32 None S128 S32 | LOAD;
    2 BufferLoadFormatXyz W3 <- B32 None S128 S32 | LOAD;
    3 BufferLoadFormatXyzw W4 <- B32 None S128 S32 | LOAD;
    4 BufferStoreFormatX <- B32 B32 S128 S32 | STORE;
    5 BufferStoreFormatXy <- B32 B64 S128 S32 | STORE;
    6 BufferStoreFormatXyz <- B32 W3 S128 S32 | STORE;
    7 BufferStoreFormatXyzw <- B32 W4 S128 S32 | STORE;
    8 BufferLoadFormatD16X B32 <- B32 None S128 S32 | LOAD KEEPS;
    9 BufferLoadFormatD16Xy B32 <- B32 None S128 S32 | LOAD;
    10 BufferLoadFormatD16Xyz B64 <- B32 None S128 S32 | LOAD;
    11 BufferLoadFormatD16Xyzw B64 <- B32 None S128 S32 | LOAD;
    12 BufferStoreFormatD16X <- B32 B32 S128 S32 | STORE;
    13 BufferStoreFormatD16Xy <- B32 B32 S128 S32 | STORE;
    14 BufferStoreFormatD16Xyz <- B32 B64 S128 S32 | STORE;
    15 BufferStoreFormatD16Xyzw <- B32 B64 S128 S32 | STORE;
    16 BufferLoadUbyte B32 <- B32 None S128 S32 | LOAD TO_LDS;
    17 BufferLoadSbyte B32 <- B32 None S128 S32 | LOAD TO_LDS;
    18 BufferLoadUshort B32 <- B32 None S128 S32 | LOAD TO_LDS;
    19 BufferLoadSshort B32 <- B32 None S128 S32 | LOAD TO_LDS;
    20 BufferLoadDword B32 <- B32 None S128 S32 | LOAD TO_LDS;
    21 BufferLoadDwordx2 B64 <- B32 None S128 S32 | LOAD;
    22 BufferLoadDwordx3 W3 <- B32 None S128 S32 | LOAD TO_LDS LDS950;
    23 BufferLoadDwordx4 W4 <- B32 None S128 S32 | LOAD TO_LDS LDS950;
    24 BufferStoreByte <- B32 B32 S128 S32 | STORE;
    25 BufferStoreByteD16Hi <- B32 B32 S128 S32 | STORE;
    26 BufferStoreShort <- B32 B32 S128 S32 | STORE;
    27 BufferStoreShortD16Hi <- B32 B32 S128 S32 | STORE;
    28 BufferStoreDword <- B32 B32 S128 S32 | STORE;
    29 BufferStoreDwordx2 <- B32 B64 S128 S32 | STORE;
    30 BufferStoreDwordx3 <- B32 W3 S128 S32 | STORE;
    31 BufferStoreDwordx4 <- B32 W4 S128 S32 | STORE;
    32 BufferLoadUbyteD16 B32 <- B32 None S128 S32 | LOAD KEEPS;
    33 BufferLoadUbyteD16Hi B32 <- B32 None S128 S32 | LOAD KEEPS;
    34 BufferLoadSbyteD16 B32 <- B32 None S128 S32 | LOAD KEEPS;
    35 BufferLoadSbyteD16Hi B32 <- B32 None S128 S32 | LOAD KEEPS;
    36 BufferLoadShortD16 B32 <- B32 None S128 S32 | LOAD KEEPS;
    37 BufferLoadShortD16Hi B32 <- B32 None S128 S32 | LOAD KEEPS;
    38 BufferLoadFormatD16HiX B32 <- B32 None S128 S32 | LOAD KEEPS;
    39 BufferStoreFormatD16HiX <- B32 B32 S128 S32 | STORE;
    40 BufferWbl2 <-;
    41 BufferInv <-;
    64 BufferAtomicSwap B32 <- B32 B32 S128 S32 | ATOMIC;
    65 BufferAtomicCmpswap B32 <- B32 B64 S128 S32 | ATOMIC;
    66 BufferAtomicAdd B32 <- B32 B32 S128 S32 | ATOMIC;
    67 BufferAtomicSub B32 <- B32 B32 S128 S32 | ATOMIC;
    68 BufferAtomicSmin B32 <- B32 B32 S128 S32 | ATOMIC;
    69 BufferAtomicUmin B32 <- B32 B32 S128 S32 | ATOMIC;
    70 BufferAtomicSmax B32 <- B32 B32 S128 S32 | ATOMIC;
    71 BufferAtomicUmax B32 <- B32 B32 S128 S32 | ATOMIC;
    72 BufferAtomicAnd B32 <- B32 B32 S128 S32 | ATOMIC;
    73 BufferAtomicOr B32 <- B32 B32 S128 S32 | ATOMIC;
    74 BufferAtomicXor B32 <- B32 B32 S128 S32 | ATOMIC;
    75 BufferAtomicInc B32 <- B32 B32 S128 S32 | ATOMIC;
    76 BufferAtomicDec B32 <- B32 B32 S128 S32 | ATOMIC;
    77 BufferAtomicAddF32 B32 <- B32 B32 S128 S32 | ATOMIC;
    78 BufferAtomicPkAddF16 B32 <- B32 B32 S128 S32 | ATOMIC;
    79 BufferAtomicAddF64 B64 <- B32 B64 S128 S32 | ATOMIC;
    80 BufferAtomicMinF64 B64 <- B32 B64 S128 S32 | ATOMIC;
    81 BufferAtomicMaxF64 B64 <- B32 B64 S128 S32 | ATOMIC;
    82 BufferAtomicPkAddBf16 B32 <- B32 B32 S128 S32 | GFX950 ATOMIC;
    96 BufferAtomicSwapX2 B64 <- B32 B64 S128 S32 | ATOMIC;
    97 BufferAtomicCmpswapX2 B64 <- B32 W4 S128 S32 | ATOMIC;
    98 BufferAtomicAddX2 B64 <- B32 B64 S128 S32 | ATOMIC;
    99 BufferAtomicSubX2 B64 <- B32 B64 S128 S32 | ATOMIC;
    100 BufferAtomicSminX2 B64 <- B32 B64 S128 S32 | ATOMIC;
    101 BufferAtomicUminX2 B64 <- B32 B64 S128 S32 | ATOMIC;
    102 BufferAtomicSmaxX2 B64 <- B32 B64 S128 S32 | ATOMIC;
    103 BufferAtomicUmaxX2 B64 <- B32 B64 S128 S32 | ATOMIC;
    104 BufferAtomicAndX2 B64 <- B32 B64 S128 S32 | ATOMIC;
    105 BufferAtomicOrX2 B64 <- B32 B64 S128 S32 | ATOMIC;
    106 BufferAtomicXorX2 B64 <- B32 B64 S128 S32 | ATOMIC;
    107 BufferAtomicIncX2 B64 <- B32 B64 S128 S32 | ATOMIC;
    108 BufferAtomicDecX2 B64 <- B32 B64 S128 S32 | ATOMIC;
}

rows! {
    /// Typed buffers.
    MTBUF:
    0 TbufferLoadFormatX B32 <- B32 None S128 S32 | LOAD;
    1 TbufferLoadFormatXy B64 <- B32 None S128 S32 | LOAD;
    2 TbufferLoadFormatXyz W3 <- B32 None S128 S32 | LOAD;
    3 TbufferLoadFormatXyzw W4 <- B32 None S128 S32 | LOAD;
    4 TbufferStoreFormatX <- B32 B32 S128 S32 | STORE;
    5 TbufferStoreFormatXy <- B32 B64 S128 S32 | STORE;
    6 TbufferStoreFormatXyz <- B32 W3 S128 S32 | STORE;
    7 TbufferStoreFormatXyzw <- B32 W4 S128 S32 | STORE;
    8 TbufferLoadFormatD16X B32 <- B32 None S128 S32 | LOAD KEEPS;
    9 TbufferLoadFormatD16Xy B32 <- B32 None S128 S32 | LOAD;
    10 TbufferLoadFormatD16Xyz B64 <- B32 None S128 S32 | LOAD;
    11 TbufferLoadFormatD16Xyzw B64 <- B32 None S128 S32 | LOAD;
    12 TbufferStoreFormatD16X <- B32 B32 S128 S32 | STORE;
    13 TbufferStoreFormatD16Xy <- B32 B32 S128 S32 | STORE;
    14 TbufferStoreFormatD16Xyz <- B32 B64 S128 S32 | STORE;
    15 TbufferStoreFormatD16Xyzw <- B32 B64 S128 S32 | STORE;
}

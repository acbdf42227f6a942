//! Scalar memory.
//!
//! Must hold: see [`super`]. The destination of an atomic is written only with the bit `glc`.

use super::{ATOMIC, IMM, LOAD, Row, STORE, Ty, rows};
use crate::isa::op::Op;

rows! {
    /// Scalar memory.
    SMEM:
    0 SLoadDword B32 <- S64 B32 | LOAD;
    1 SLoadDwordx2 B64 <- S64 B32 | LOAD;
    2 SLoadDwordx4 W4 <- S64 B32 | LOAD;
    3 SLoadDwordx8 W8 <- S64 B32 | LOAD;
    4 SLoadDwordx16 W16 <- S64 B32 | LOAD;
    5 SScratchLoadDword B32 <- S64 B32 | LOAD;
    6 SScratchLoadDwordx2 B64 <- S64 B32 | LOAD;
    7 SScratchLoadDwordx4 W4 <- S64 B32 | LOAD;
    8 SBufferLoadDword B32 <- S128 B32 | LOAD;
    9 SBufferLoadDwordx2 B64 <- S128 B32 | LOAD;
    10 SBufferLoadDwordx4 W4 <- S128 B32 | LOAD;
    11 SBufferLoadDwordx8 W8 <- S128 B32 | LOAD;
    12 SBufferLoadDwordx16 W16 <- S128 B32 | LOAD;
    16 SStoreDword <- S64 B32 B32 | STORE;
    17 SStoreDwordx2 <- S64 B32 B64 | STORE;
    18 SStoreDwordx4 <- S64 B32 W4 | STORE;
    21 SScratchStoreDword <- S64 B32 B32 | STORE;
    22 SScratchStoreDwordx2 <- S64 B32 B64 | STORE;
    23 SScratchStoreDwordx4 <- S64 B32 W4 | STORE;
    24 SBufferStoreDword <- S128 B32 B32 | STORE;
    25 SBufferStoreDwordx2 <- S128 B32 B64 | STORE;
    26 SBufferStoreDwordx4 <- S128 B32 W4 | STORE;
    32 SDcacheInv <-;
    33 SDcacheWb <-;
    34 SDcacheInvVol <-;
    35 SDcacheWbVol <-;
    36 SMemtime B64 <- | LOAD;
    37 SMemrealtime B64 <- | LOAD;
    38 SAtcProbe <- S64 B32 | IMM;
    39 SAtcProbeBuffer <- S128 B32 | IMM;
    40 SDcacheDiscard <- S64 B32;
    41 SDcacheDiscardX2 <- S64 B32;
    64 SBufferAtomicSwap B32 <- S128 B32 B32 | ATOMIC;
    65 SBufferAtomicCmpswap B32 <- S128 B32 B64 | ATOMIC;
    66 SBufferAtomicAdd B32 <- S128 B32 B32 | ATOMIC;
    67 SBufferAtomicSub B32 <- S128 B32 B32 | ATOMIC;
    68 SBufferAtomicSmin B32 <- S128 B32 B32 | ATOMIC;
    69 SBufferAtomicUmin B32 <- S128 B32 B32 | ATOMIC;
    70 SBufferAtomicSmax B32 <- S128 B32 B32 | ATOMIC;
    71 SBufferAtomicUmax B32 <- S128 B32 B32 | ATOMIC;
    72 SBufferAtomicAnd B32 <- S128 B32 B32 | ATOMIC;
    73 SBufferAtomicOr B32 <- S128 B32 B32 | ATOMIC;
    74 SBufferAtomicXor B32 <- S128 B32 B32 | ATOMIC;
    75 SBufferAtomicInc B32 <- S128 B32 B32 | ATOMIC;
    76 SBufferAtomicDec B32 <- S128 B32 B32 | ATOMIC;
    96 SBufferAtomicSwapX2 B64 <- S128 B32 B64 | ATOMIC;
    97 SBufferAtomicCmpswapX2 B64 <- S128 B32 W4 | ATOMIC;
    98 SBufferAtomicAddX2 B64 <- S128 B32 B64 | ATOMIC;
    99 SBufferAtomicSubX2 B64 <- S128 B32 B64 | ATOMIC;
    100 SBufferAtomicSminX2 B64 <- S128 B32 B64 | ATOMIC;
    101 SBufferAtomicUminX2 B64 <- S128 B32 B64 | ATOMIC;
    102 SBufferAtomicSmaxX2 B64 <- S128 B32 B64 | ATOMIC;
    103 SBufferAtomicUmaxX2 B64 <- S128 B32 B64 | ATOMIC;
    104 SBufferAtomicAndX2 B64 <- S128 B32 B64 | ATOMIC;
    105 SBufferAtomicOrX2 B64 <- S128 B32 B64 | ATOMIC;
    106 SBufferAtomicXorX2 B64 <- S128 B32 B64 | ATOMIC;
    107 SBufferAtomicIncX2 B64 <- S128 B32 B64 | ATOMIC;
    108 SBufferAtomicDecX2 B64 <- S128 B32 B64 | ATOMIC;
    128 SAtomicSwap B32 <- S64 B32 B32 | ATOMIC;
    129 SAtomicCmpswap B32 <- S64 B32 B64 | ATOMIC;
    130 SAtomicAdd B32 <- S64 B32 B32 | ATOMIC;
    131 SAtomicSub B32 <- S64 B32 B32 | ATOMIC;
    132 SAtomicSmin B32 <- S64 B32 B32 | ATOMIC;
    133 SAtomicUmin B32 <- S64 B32 B32 | ATOMIC;
    134 SAtomicSmax B32 <- S64 B32 B32 | ATOMIC;
    135 SAtomicUmax B32 <- S64 B32 B32 | ATOMIC;
    136 SAtomicAnd B32 <- S64 B32 B32 | ATOMIC;
    137 SAtomicOr B32 <- S64 B32 B32 | ATOMIC;
    138 SAtomicXor B32 <- S64 B32 B32 | ATOMIC;
    139 SAtomicInc B32 <- S64 B32 B32 | ATOMIC;
    140 SAtomicDec B32 <- S64 B32 B32 | ATOMIC;
    160 SAtomicSwapX2 B64 <- S64 B32 B64 | ATOMIC;
    161 SAtomicCmpswapX2 B64 <- S64 B32 W4 | ATOMIC;
    162 SAtomicAddX2 B64 <- S64 B32 B64 | ATOMIC;
    163 SAtomicSubX2 B64 <- S64 B32 B64 | ATOMIC;
    164 SAtomicSminX2 B64 <- S64 B32 B64 | ATOMIC;
    165 SAtomicUminX2 B64 <- S64 B32 B64 | ATOMIC;
    166 SAtomicSmaxX2 B64 <- S64 B32 B64 | ATOMIC;
    167 SAtomicUmaxX2 B64 <- S64 B32 B64 | ATOMIC;
    168 SAtomicAndX2 B64 <- S64 B32 B64 | ATOMIC;
    169 SAtomicOrX2 B64 <- S64 B32 B64 | ATOMIC;
    170 SAtomicXorX2 B64 <- S64 B32 B64 | ATOMIC;
    171 SAtomicIncX2 B64 <- S64 B32 B64 | ATOMIC;
    172 SAtomicDecX2 B64 <- S64 B32 B64 | ATOMIC;
}

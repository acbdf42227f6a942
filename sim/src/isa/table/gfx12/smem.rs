//! Scalar memory.
//!
//! Must hold: see [`super`].

use crate::isa::op::Op;
use crate::isa::table::{LOAD, PREFETCH, Row, Ty, rows};

rows! {
    /// Scalar memory.
    SMEM:
    0 SLoadDword B32 <- S64 B32 | LOAD = "s_load_b32";
    1 SLoadDwordx2 B64 <- S64 B32 | LOAD = "s_load_b64";
    2 SLoadDwordx4 W4 <- S64 B32 | LOAD = "s_load_b128";
    3 SLoadDwordx8 W8 <- S64 B32 | LOAD = "s_load_b256";
    4 SLoadDwordx16 W16 <- S64 B32 | LOAD = "s_load_b512";
    5 SLoadB96 W3 <- S64 B32 | LOAD;
    8 SLoadI8 B32 <- S64 B32 | LOAD;
    9 SLoadU8 B32 <- S64 B32 | LOAD;
    10 SLoadI16 B32 <- S64 B32 | LOAD;
    11 SLoadU16 B32 <- S64 B32 | LOAD;
    16 SBufferLoadDword B32 <- S128 B32 | LOAD = "s_buffer_load_b32";
    17 SBufferLoadDwordx2 B64 <- S128 B32 | LOAD = "s_buffer_load_b64";
    18 SBufferLoadDwordx4 W4 <- S128 B32 | LOAD = "s_buffer_load_b128";
    19 SBufferLoadDwordx8 W8 <- S128 B32 | LOAD = "s_buffer_load_b256";
    20 SBufferLoadDwordx16 W16 <- S128 B32 | LOAD = "s_buffer_load_b512";
    21 SBufferLoadB96 W3 <- S128 B32 | LOAD;
    24 SBufferLoadI8 B32 <- S128 B32 | LOAD;
    25 SBufferLoadU8 B32 <- S128 B32 | LOAD;
    26 SBufferLoadI16 B32 <- S128 B32 | LOAD;
    27 SBufferLoadU16 B32 <- S128 B32 | LOAD;
    33 SDcacheInv <-;
    36 SPrefetchInst <- S64 B32 B32 | PREFETCH;
    37 SPrefetchInstPcRel <- None B32 B32 | PREFETCH;
    38 SPrefetchData <- S64 B32 B32 | PREFETCH;
    39 SBufferPrefetchData <- S128 B32 B32 | PREFETCH;
    40 SPrefetchDataPcRel <- None B32 B32 | PREFETCH;
}

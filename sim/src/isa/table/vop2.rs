//! Vector ALU with two sources.
//!
//! Must hold: see [`super`]. The mask of `v_cndmask_b32` and carries are `vcc` in the short encoding.

use super::{E64, GFX950, KEEPS, LITERAL, NO_DPP, NO_SDWA, Row, TIED, Ty, rows};
use crate::isa::op::Op;

rows! {
    /// Two sources.
    VOP2:
    0 VCndmaskB32 B32 <- B32 B32 S64 | E64 "++X ++X X XX ----";
    1 VAddF32 F32 <- F32 F32 | E64 "++X ++X + ++ ----";
    2 VSubF32 F32 <- F32 F32 | E64 "++X ++X + ++ ----";
    3 VSubrevF32 F32 <- F32 F32 | E64 "++X ++X + ++ ----";
    4 VFmacF64 F64 <- F64 F64 | E64 NO_SDWA TIED "++X ++X + ++ ----";
    5 VMulF32 F32 <- F32 F32 | E64 "++X ++X + ++ ----";
    6 VMulI32I24 B32 <- B32 B32 | E64 "XXX XXX + XX ----";
    7 VMulHiI32I24 B32 <- B32 B32 | E64 "XXX XXX X XX ----";
    8 VMulU32U24 B32 <- B32 B32 | E64 "XXX XXX + XX ----";
    9 VMulHiU32U24 B32 <- B32 B32 | E64 "XXX XXX X XX ----";
    10 VMinF32 F32 <- F32 F32 | E64 "++X ++X + ++ ----";
    11 VMaxF32 F32 <- F32 F32 | E64 "++X ++X + ++ ----";
    12 VMinI32 B32 <- B32 B32 | E64 "XXX XXX X XX ----";
    13 VMaxI32 B32 <- B32 B32 | E64 "XXX XXX X XX ----";
    14 VMinU32 B32 <- B32 B32 | E64 "XXX XXX X XX ----";
    15 VMaxU32 B32 <- B32 B32 | E64 "XXX XXX X XX ----";
    16 VLshrrevB32 B32 <- B32 B32 | E64 "XXX XXX X XX ----";
    17 VAshrrevI32 B32 <- B32 B32 | E64 "XXX XXX X XX ----";
    18 VLshlrevB32 B32 <- B32 B32 | E64 "XXX XXX X XX ----";
    19 VAndB32 B32 <- B32 B32 | E64 "XXX XXX X XX ----";
    20 VOrB32 B32 <- B32 B32 | E64 "XXX XXX X XX ----";
    21 VXorB32 B32 <- B32 B32 | E64 "XXX XXX X XX ----";
    22 VDot2cF32Bf16 F32 <- Pbf16 Pbf16 | GFX950 E64 NO_SDWA TIED "++X ++X + ++ ----";
    23 VFmamkF32 F32 <- F32 F32 F32 | LITERAL NO_SDWA NO_DPP;
    24 VFmaakF32 F32 <- F32 F32 F32 | LITERAL NO_SDWA NO_DPP;
    25 VAddCoU32 B32 S64 <- B32 B32 | E64 "XXX +++ + XX ++++";
    26 VSubCoU32 B32 S64 <- B32 B32 | E64 "XXX +++ + XX ++++";
    27 VSubrevCoU32 B32 S64 <- B32 B32 | E64 "XXX +++ + XX ++++";
    28 VAddcCoU32 B32 S64 <- B32 B32 S64 | E64 "XXX +++ + XX ++++";
    29 VSubbCoU32 B32 S64 <- B32 B32 S64 | E64 "XXX +++ + XX ++++";
    30 VSubbrevCoU32 B32 S64 <- B32 B32 S64 | E64 "XXX +++ + XX ++++";
    31 VAddF16 F16 <- F16 F16 | E64 "++X ++X + ++ ----";
    32 VSubF16 F16 <- F16 F16 | E64 "++X ++X + ++ ----";
    33 VSubrevF16 F16 <- F16 F16 | E64 "++X ++X + ++ ----";
    34 VMulF16 F16 <- F16 F16 | E64 "++X ++X + ++ ----";
    35 VMacF16 F16 <- F16 F16 | E64 NO_SDWA TIED KEEPS "++X ++X + ++ ----";
    36 VMadmkF16 F16 <- F16 F16 F16 | LITERAL NO_SDWA NO_DPP KEEPS;
    37 VMadakF16 F16 <- F16 F16 F16 | LITERAL NO_SDWA NO_DPP KEEPS;
    38 VAddU16 B16 <- B16 B16 | E64 "XXX XXX + XX ----";
    39 VSubU16 B16 <- B16 B16 | E64 "XXX XXX + XX ----";
    40 VSubrevU16 B16 <- B16 B16 | E64 "XXX XXX + XX ----";
    41 VMulLoU16 B16 <- B16 B16 | E64 "XXX XXX X XX ----";
    42 VLshlrevB16 B16 <- B16 B16 | E64 "XXX XXX X XX ----";
    43 VLshrrevB16 B16 <- B16 B16 | E64 "XXX XXX X XX ----";
    44 VAshrrevI16 B16 <- B16 B16 | E64 "XXX XXX X XX ----";
    45 VMaxF16 F16 <- F16 F16 | E64 "++X ++X + ++ ----";
    46 VMinF16 F16 <- F16 F16 | E64 "++X ++X + ++ ----";
    47 VMaxU16 B16 <- B16 B16 | E64 "XXX XXX X XX ----";
    48 VMaxI16 B16 <- B16 B16 | E64 "XXX XXX X XX ----";
    49 VMinU16 B16 <- B16 B16 | E64 "XXX XXX X XX ----";
    50 VMinI16 B16 <- B16 B16 | E64 "XXX XXX X XX ----";
    51 VLdexpF16 F16 <- F16 F16 | E64 "+-X +-X + ++ ----";
    52 VAddU32 B32 <- B32 B32 | E64 "XXX XXX + XX ----";
    53 VSubU32 B32 <- B32 B32 | E64 "XXX XXX + XX ----";
    54 VSubrevU32 B32 <- B32 B32 | E64 "XXX XXX + XX ----";
    55 VDot2cF32F16 F32 <- Pf16 Pf16 | E64 NO_SDWA TIED "++X ++X + ++ ----";
    56 VDot2cI32I16 B32 <- Pb16 Pb16 | E64 NO_SDWA TIED "--X --X + XX ----";
    57 VDot4cI32I8 B32 <- B32 B32 | E64 NO_SDWA TIED "--X --X + XX ----";
    58 VDot8cI32I4 B32 <- B32 B32 | E64 NO_SDWA TIED "--X --X + XX ----";
    59 VFmacF32 F32 <- F32 F32 | E64 NO_SDWA TIED "++X ++X + ++ ----";
    60 VPkFmacF16 Pf16 <- Pf16 Pf16 | E64 TIED "++X ++X + ++ ----";
    61 VXnorB32 B32 <- B32 B32 | E64 "XXX XXX X XX ----";
}

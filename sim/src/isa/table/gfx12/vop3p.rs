//! Packed math, without matrices.
//!
//! Must hold: see [`super`].

use crate::isa::op::Op;
use crate::isa::table::{KEEPS, NO_DPP, Row, Ty, rows};

rows! {
    /// Packed math.
    VOP3P:
    0 VPkMadI16 Pb16 <- Pb16 Pb16 Pb16 | NO_DPP "+++ +++ + +++ +++";
    1 VPkMulLoU16 Pb16 <- Pb16 Pb16 | NO_DPP "++X ++X + ++X ++-";
    2 VPkAddI16 Pb16 <- Pb16 Pb16 | NO_DPP "++X ++X + ++X ++-";
    3 VPkSubI16 Pb16 <- Pb16 Pb16 | NO_DPP "++X ++X + ++X ++-";
    4 VPkLshlrevB16 Pb16 <- Pb16 Pb16 | NO_DPP "++X ++X + ++X ++-";
    5 VPkLshrrevB16 Pb16 <- Pb16 Pb16 | NO_DPP "++X ++X + ++X ++-";
    6 VPkAshrrevI16 Pb16 <- Pb16 Pb16 | NO_DPP "++X ++X + ++X ++-";
    7 VPkMaxI16 Pb16 <- Pb16 Pb16 | NO_DPP "++X ++X + ++X ++-";
    8 VPkMinI16 Pb16 <- Pb16 Pb16 | NO_DPP "++X ++X + ++X ++-";
    9 VPkMadU16 Pb16 <- Pb16 Pb16 Pb16 | NO_DPP "+++ +++ + +++ +++";
    10 VPkAddU16 Pb16 <- Pb16 Pb16 | NO_DPP "++X ++X + ++X ++-";
    11 VPkSubU16 Pb16 <- Pb16 Pb16 | NO_DPP "++X ++X + ++X ++-";
    12 VPkMaxU16 Pb16 <- Pb16 Pb16 | NO_DPP "++X ++X + ++X ++-";
    13 VPkMinU16 Pb16 <- Pb16 Pb16 | NO_DPP "++X ++X + ++X ++-";
    14 VPkFmaF16 Pf16 <- Pf16 Pf16 Pf16 | NO_DPP "+++ +++ + +++ +++";
    15 VPkAddF16 Pf16 <- Pf16 Pf16 | NO_DPP "++X ++X + ++X ++-";
    16 VPkMulF16 Pf16 <- Pf16 Pf16 | NO_DPP "++X ++X + ++X ++-";
    17 VPkFmaBf16 Pbf16 <- Pbf16 Pbf16 Pbf16 | NO_DPP "+++ +++ + +++ +++";
    20 VPkAddMaxI16 Pb16 <- Pb16 Pb16 Pb16 | NO_DPP "--- --- + +++ +++";
    21 VPkAddMaxU16 Pb16 <- Pb16 Pb16 Pb16 | NO_DPP "--- --- + +++ +++";
    22 VDot4I32Iu8 B32 <- B32 B32 B32 | NO_DPP "+++ +++ + XXX ---";
    23 VDot4U32U8 B32 <- B32 B32 B32 | NO_DPP "+++ +++ + XXX ---";
    24 VDot8I32Iu4 B32 <- B32 B32 B32 | NO_DPP "+++ +++ + XXX ---";
    25 VDot8U32U4 B32 <- B32 B32 B32 | NO_DPP "+++ +++ + XXX ---";
    27 VPkMinF16 Pf16 <- Pf16 Pf16 | NO_DPP "++X ++X + ++X ++-" = "v_pk_min_num_f16";
    28 VPkMaxF16 Pf16 <- Pf16 Pf16 | NO_DPP "++X ++X + ++X ++-" = "v_pk_max_num_f16";
    29 VPkMinimumF16 Pf16 <- Pf16 Pf16 | NO_DPP "++X ++X + ++X ++-";
    30 VPkMaximumF16 Pf16 <- Pf16 Pf16 | NO_DPP "++X ++X + ++X ++-";
    31 VPkFmaF32 Pf32 <- Pf32 Pf32 Pf32 | NO_DPP "+++ +++ + +++ +++";
    32 VFmaMixF32 F32 <- F32 F32 F32 | "+++ +++ + +++ +++";
    33 VFmaMixloF16 F16 <- F32 F32 F32 | KEEPS "+++ +++ + +++ +++";
    34 VFmaMixhiF16 F16 <- F32 F32 F32 | KEEPS "+++ +++ + +++ +++";
    35 VPkAddBf16 Pbf16 <- Pbf16 Pbf16 | NO_DPP "++X ++X + ++X ++-";
    40 VPkMulF32 Pf32 <- Pf32 Pf32 | NO_DPP "++X ++X + ++X ++-";
    41 VPkAddF32 Pf32 <- Pf32 Pf32 | NO_DPP "++X ++X + ++X ++-";
    42 VPkMulBf16 Pbf16 <- Pbf16 Pbf16 | NO_DPP "++X ++X + ++X ++-";
    43 VPkMinNumBf16 Pbf16 <- Pbf16 Pbf16 | NO_DPP "++X ++X + ++X ++-";
    44 VPkMaxNumBf16 Pbf16 <- Pbf16 Pbf16 | NO_DPP "++X ++X + ++X ++-";
    45 VPkAddMinI16 Pb16 <- Pb16 Pb16 Pb16 | NO_DPP "--- --- + +++ +++";
    46 VPkAddMinU16 Pb16 <- Pb16 Pb16 Pb16 | NO_DPP "--- --- + +++ +++";
    47 VPkMax3I16 Pb16 <- Pb16 Pb16 Pb16 | NO_DPP "--- --- + +++ +++";
    48 VPkMax3U16 Pb16 <- Pb16 Pb16 Pb16 | NO_DPP "--- --- + +++ +++";
    49 VPkMin3I16 Pb16 <- Pb16 Pb16 Pb16 | NO_DPP "--- --- + +++ +++";
    50 VPkMin3U16 Pb16 <- Pb16 Pb16 Pb16 | NO_DPP "--- --- + +++ +++";
    54 VPkMinimum3F16 Pf16 <- Pf16 Pf16 Pf16 | NO_DPP "+++ +++ + +++ +++";
    55 VPkMaximum3F16 Pf16 <- Pf16 Pf16 Pf16 | NO_DPP "+++ +++ + +++ +++";
    56 VPkMin3NumF16 Pf16 <- Pf16 Pf16 Pf16 | NO_DPP "+++ +++ + +++ +++";
    57 VPkMax3NumF16 Pf16 <- Pf16 Pf16 Pf16 | NO_DPP "+++ +++ + +++ +++";
    61 VFmaMixF32Bf16 F32 <- F32 F32 F32 | "+++ +++ + +++ +++";
    62 VFmaMixloBf16 Bf16 <- F32 F32 F32 | KEEPS "+++ +++ + +++ +++";
    63 VFmaMixhiBf16 Bf16 <- F32 F32 F32 | KEEPS "+++ +++ + +++ +++";
}

//! Packed math and matrices.
//!
//! Must hold: see [`super`].

use crate::isa::op::Op;
use crate::isa::table::{KEEPS, MATRIX, NO_DPP, Row, TIED, Ty, rows};

rows! {
    /// Packed math and matrices.
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
    93 VWmmaF32_16x16x4F32 W8 <- B64 B64 W8 | MATRIX NO_DPP "+++ XX+ X XX+ --+";
    96 VWmmaF32_16x16x32F16 W8 <- W8 W8 W8 | MATRIX NO_DPP "+++ +++ X XX+ --+";
    97 VWmmaF16_16x16x32F16 W4 <- W8 W8 W4 | MATRIX NO_DPP "+++ +++ X XX+ --+";
    98 VWmmaF32_16x16x32Bf16 W8 <- W8 W8 W8 | MATRIX NO_DPP "+++ +++ X XX+ --+";
    99 VWmmaBf16_16x16x32Bf16 W4 <- W8 W8 W4 | MATRIX NO_DPP "+++ +++ X XX+ --+";
    100 VWmmaBf16f32_16x16x32Bf16 W4 <- W8 W8 W8 | MATRIX NO_DPP "+++ +++ X XX+ --+";
    101 VSwmmacF32_16x16x64F16 W8 <- W8 W16 B32 | MATRIX TIED NO_DPP "++X ++X X +X+ --+";
    102 VSwmmacF32_16x16x64Bf16 W8 <- W8 W16 B32 | MATRIX TIED NO_DPP "++X ++X X +X+ --+";
    103 VSwmmacF16_16x16x64F16 W4 <- W8 W16 B32 | MATRIX TIED NO_DPP "++X ++X X +X+ --+";
    104 VSwmmacBf16_16x16x64Bf16 W4 <- W8 W16 B32 | MATRIX TIED NO_DPP "++X ++X X +X+ --+";
    105 VSwmmacBf16f32_16x16x64Bf16 W8 <- W8 W16 B32 | MATRIX TIED NO_DPP "++X ++X X +X+ --+";
    106 VWmmaF32_16x16x64Fp8Fp8 W8 <- W8 W8 W8 | MATRIX NO_DPP "XX+ XX+ X XX+ --+";
    107 VWmmaF32_16x16x64Fp8Bf8 W8 <- W8 W8 W8 | MATRIX NO_DPP "XX+ XX+ X XX+ --+";
    108 VWmmaF32_16x16x64Bf8Fp8 W8 <- W8 W8 W8 | MATRIX NO_DPP "XX+ XX+ X XX+ --+";
    109 VWmmaF32_16x16x64Bf8Bf8 W8 <- W8 W8 W8 | MATRIX NO_DPP "XX+ XX+ X XX+ --+";
    110 VWmmaF16_16x16x64Fp8Fp8 W4 <- W8 W8 W4 | MATRIX NO_DPP "XX+ XX+ X XX+ --+";
    111 VWmmaF16_16x16x64Fp8Bf8 W4 <- W8 W8 W4 | MATRIX NO_DPP "XX+ XX+ X XX+ --+";
    112 VWmmaF16_16x16x64Bf8Fp8 W4 <- W8 W8 W4 | MATRIX NO_DPP "XX+ XX+ X XX+ --+";
    113 VWmmaF16_16x16x64Bf8Bf8 W4 <- W8 W8 W4 | MATRIX NO_DPP "XX+ XX+ X XX+ --+";
    114 VWmmaI32_16x16x64Iu8 W8 <- W8 W8 W8 | MATRIX NO_DPP "++X XXX + XX+ --+";
    115 VSwmmacF32_16x16x128Fp8Fp8 W8 <- W8 W16 B64 | MATRIX TIED NO_DPP "XXX XXX X +X+ --+";
    116 VSwmmacF32_16x16x128Fp8Bf8 W8 <- W8 W16 B64 | MATRIX TIED NO_DPP "XXX XXX X +X+ --+";
    117 VSwmmacF32_16x16x128Bf8Fp8 W8 <- W8 W16 B64 | MATRIX TIED NO_DPP "XXX XXX X +X+ --+";
    118 VSwmmacF32_16x16x128Bf8Bf8 W8 <- W8 W16 B64 | MATRIX TIED NO_DPP "XXX XXX X +X+ --+";
    119 VSwmmacF16_16x16x128Fp8Fp8 W4 <- W8 W16 B64 | MATRIX TIED NO_DPP "XXX XXX X +X+ --+";
    120 VSwmmacF16_16x16x128Fp8Bf8 W4 <- W8 W16 B64 | MATRIX TIED NO_DPP "XXX XXX X +X+ --+";
    121 VSwmmacF16_16x16x128Bf8Fp8 W4 <- W8 W16 B64 | MATRIX TIED NO_DPP "XXX XXX X +X+ --+";
    122 VSwmmacF16_16x16x128Bf8Bf8 W4 <- W8 W16 B64 | MATRIX TIED NO_DPP "XXX XXX X +X+ --+";
    123 VSwmmacI32_16x16x128Iu8 W8 <- W8 W16 B64 | MATRIX TIED NO_DPP "++X XXX + +X+ --+";
    128 VWmmaF32_16x16x128Fp8Fp8 W8 <- W16 W16 W8 | MATRIX NO_DPP "XX+ XX+ X XX+ --+";
    129 VWmmaF32_16x16x128Fp8Bf8 W8 <- W16 W16 W8 | MATRIX NO_DPP "XX+ XX+ X XX+ --+";
    130 VWmmaF32_16x16x128Bf8Fp8 W8 <- W16 W16 W8 | MATRIX NO_DPP "XX+ XX+ X XX+ --+";
    131 VWmmaF32_16x16x128Bf8Bf8 W8 <- W16 W16 W8 | MATRIX NO_DPP "XX+ XX+ X XX+ --+";
    132 VWmmaF16_16x16x128Fp8Fp8 W4 <- W16 W16 W4 | MATRIX NO_DPP "XX+ XX+ X XX+ --+";
    133 VWmmaF16_16x16x128Fp8Bf8 W4 <- W16 W16 W4 | MATRIX NO_DPP "XX+ XX+ X XX+ --+";
    134 VWmmaF16_16x16x128Bf8Fp8 W4 <- W16 W16 W4 | MATRIX NO_DPP "XX+ XX+ X XX+ --+";
    135 VWmmaF16_16x16x128Bf8Bf8 W4 <- W16 W16 W4 | MATRIX NO_DPP "XX+ XX+ X XX+ --+";
}

//! Vector ALU with one source.
//!
//! Must hold: see [`super`].

use super::{E64, GFX950, NO_DPP, NO_SDWA, REGISTER_ONLY, Row, TIED, Ty, WHOLE, rows};
use crate::isa::op::Op;

rows! {
    /// One source.
    VOP1:
    0 VNop <- | E64 NO_DPP NO_SDWA "XXX XXX X XX ----";
    1 VMovB32 B32 <- B32 | E64 "XXX XXX X XX ----";
    2 VReadfirstlaneB32 S32 <- B32 | NO_SDWA NO_DPP REGISTER_ONLY;
    3 VCvtI32F64 B32 <- F64 | E64 NO_SDWA "+XX +XX + ++ ----";
    4 VCvtF64I32 F64 <- B32 | E64 NO_SDWA "XXX XXX + ++ ----";
    5 VCvtF32I32 F32 <- B32 | E64 "XXX XXX + ++ ----";
    6 VCvtF32U32 F32 <- B32 | E64 "XXX XXX + ++ ----";
    7 VCvtU32F32 B32 <- F32 | E64 "+XX +XX + ++ ----";
    8 VCvtI32F32 B32 <- F32 | E64 "+XX +XX + ++ ----";
    10 VCvtF16F32 F16 <- F32 | E64 "+XX +XX + ++ ----";
    11 VCvtF32F16 F32 <- F16 | E64 "+XX +XX + ++ ----";
    12 VCvtRpiI32F32 B32 <- F32 | E64 "+XX +XX + XX ----";
    13 VCvtFlrI32F32 B32 <- F32 | E64 "+XX +XX + XX ----";
    14 VCvtOffF32I4 F32 <- B32 | E64 "XXX XXX + ++ ----";
    15 VCvtF32F64 F32 <- F64 | E64 NO_SDWA "+XX +XX + ++ ----";
    16 VCvtF64F32 F64 <- F32 | E64 NO_SDWA "+XX +XX + ++ ----";
    17 VCvtF32Ubyte0 F32 <- F32 | E64 "XXX XXX + ++ ----";
    18 VCvtF32Ubyte1 F32 <- F32 | E64 "XXX XXX + ++ ----";
    19 VCvtF32Ubyte2 F32 <- F32 | E64 "XXX XXX + ++ ----";
    20 VCvtF32Ubyte3 F32 <- F32 | E64 "XXX XXX + ++ ----";
    21 VCvtU32F64 B32 <- F64 | E64 NO_SDWA "+XX +XX + ++ ----";
    22 VCvtF64U32 F64 <- B32 | E64 NO_SDWA "XXX XXX + ++ ----";
    23 VTruncF64 F64 <- F64 | E64 NO_SDWA "+XX +XX + ++ ----";
    24 VCeilF64 F64 <- F64 | E64 NO_SDWA "+XX +XX + ++ ----";
    25 VRndneF64 F64 <- F64 | E64 NO_SDWA "+XX +XX + ++ ----";
    26 VFloorF64 F64 <- F64 | E64 NO_SDWA "+XX +XX + ++ ----";
    27 VFractF32 F32 <- F32 | E64 "+XX +XX + ++ ----";
    28 VTruncF32 F32 <- F32 | E64 "+XX +XX + ++ ----";
    29 VCeilF32 F32 <- F32 | E64 "+XX +XX + ++ ----";
    30 VRndneF32 F32 <- F32 | E64 "+XX +XX + ++ ----";
    31 VFloorF32 F32 <- F32 | E64 "+XX +XX + ++ ----";
    32 VExpF32 F32 <- F32 | E64 "+XX +XX + ++ ----";
    33 VLogF32 F32 <- F32 | E64 "+XX +XX + ++ ----";
    34 VRcpF32 F32 <- F32 | E64 "+XX +XX + ++ ----";
    35 VRcpIflagF32 F32 <- F32 | E64 "+XX +XX + ++ ----";
    36 VRsqF32 F32 <- F32 | E64 "+XX +XX + ++ ----";
    37 VRcpF64 F64 <- F64 | E64 NO_SDWA "+XX +XX + ++ ----";
    38 VRsqF64 F64 <- F64 | E64 NO_SDWA "+XX +XX + ++ ----";
    39 VSqrtF32 F32 <- F32 | E64 "+XX +XX + ++ ----";
    40 VSqrtF64 F64 <- F64 | E64 NO_SDWA "+XX +XX + ++ ----";
    41 VSinF32 F32 <- F32 | E64 "+XX +XX + ++ ----";
    42 VCosF32 F32 <- F32 | E64 "+XX +XX + ++ ----";
    43 VNotB32 B32 <- B32 | E64 "XXX XXX X XX ----";
    44 VBfrevB32 B32 <- B32 | E64 "XXX XXX X XX ----";
    45 VFfbhU32 B32 <- B32 | E64 "XXX XXX X XX ----";
    46 VFfblB32 B32 <- B32 | E64 "XXX XXX X XX ----";
    47 VFfbhI32 B32 <- B32 | E64 "XXX XXX X XX ----";
    48 VFrexpExpI32F64 B32 <- F64 | E64 NO_SDWA "+XX +XX + ++ ----";
    49 VFrexpMantF64 F64 <- F64 | E64 NO_SDWA "+XX +XX + ++ ----";
    50 VFractF64 F64 <- F64 | E64 NO_SDWA "+XX +XX + ++ ----";
    51 VFrexpExpI32F32 B32 <- F32 | E64 "+XX +XX + XX ----";
    52 VFrexpMantF32 F32 <- F32 | E64 "+XX +XX + ++ ----";
    53 VClrexcp <- | E64 NO_DPP NO_SDWA "XXX XXX X XX ----";
    55 VScreenPartition4seB32 B32 <- B32 | E64 "XXX XXX X XX ----";
    56 VMovB64 B64 <- B64 | E64 NO_SDWA "XXX XXX X XX ----";
    57 VCvtF16U16 F16 <- B16 | E64 "XXX XXX + ++ ----";
    58 VCvtF16I16 F16 <- B16 | E64 "XXX XXX + ++ ----";
    59 VCvtU16F16 B16 <- F16 | E64 "+XX +XX + ++ ----";
    60 VCvtI16F16 B16 <- F16 | E64 "+XX +XX + ++ ----";
    61 VRcpF16 F16 <- F16 | E64 "+XX +XX + ++ ----";
    62 VSqrtF16 F16 <- F16 | E64 "+XX +XX + ++ ----";
    63 VRsqF16 F16 <- F16 | E64 "+XX +XX + ++ ----";
    64 VLogF16 F16 <- F16 | E64 "+XX +XX + ++ ----";
    65 VExpF16 F16 <- F16 | E64 "+XX +XX + ++ ----";
    66 VFrexpMantF16 F16 <- F16 | E64 "+XX +XX + ++ ----";
    67 VFrexpExpI16F16 B16 <- F16 | E64 "+XX +XX + ++ ----";
    68 VFloorF16 F16 <- F16 | E64 "+XX +XX + ++ ----";
    69 VCeilF16 F16 <- F16 | E64 "+XX +XX + ++ ----";
    70 VTruncF16 F16 <- F16 | E64 "+XX +XX + ++ ----";
    71 VRndneF16 F16 <- F16 | E64 "+XX +XX + ++ ----";
    72 VFractF16 F16 <- F16 | E64 "+XX +XX + ++ ----";
    73 VSinF16 F16 <- F16 | E64 "+XX +XX + ++ ----";
    74 VCosF16 F16 <- F16 | E64 "+XX +XX + ++ ----";
    75 VExpLegacyF32 F32 <- F32 | E64 "+XX +XX + ++ ----";
    76 VLogLegacyF32 F32 <- F32 | E64 "+XX +XX + ++ ----";
    77 VCvtNormI16F16 B16 <- F16 | E64 "+XX +XX + ++ ----";
    78 VCvtNormU16F16 B16 <- F16 | E64 "+XX +XX + ++ ----";
    79 VSatPkU8I16 B32 <- Pb16 | E64 "XXX XXX X XX ----";
    81 VSwapB32 B32 <- B32 | NO_SDWA NO_DPP TIED REGISTER_ONLY;
    82 VAccvgprMovB32 B32 <- B32 | NO_SDWA NO_DPP REGISTER_ONLY;
    84 VCvtF32Fp8 F32 <- B32 | E64 WHOLE "XXX XXX + ++ ----";
    85 VCvtF32Bf8 F32 <- B32 | E64 WHOLE "XXX XXX + ++ ----";
    86 VCvtPkF32Fp8 Pf32 <- B32 | E64 WHOLE "XXX XXX + ++ ----";
    87 VCvtPkF32Bf8 Pf32 <- B32 | E64 WHOLE "XXX XXX + ++ ----";
    88 VPrngB32 B32 <- B32 | GFX950 E64 "XXX XXX X XX ----";
    89 VPermlane16SwapB32 B32 <- B32 | GFX950 E64 NO_SDWA NO_DPP TIED REGISTER_ONLY "XXX XXX X XX ++--";
    90 VPermlane32SwapB32 B32 <- B32 | GFX950 E64 NO_SDWA NO_DPP TIED REGISTER_ONLY "XXX XXX X XX ++--";
    91 VCvtF32Bf16 F32 <- Bf16 | GFX950 E64 "+XX +XX + ++ ----";
}

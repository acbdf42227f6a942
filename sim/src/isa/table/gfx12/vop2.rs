//! Vector ALU with two sources.
//!
//! Must hold: see [`super`].

use crate::isa::op::Op;
use crate::isa::table::{E64, KEEPS, LITERAL, NO_DPP, Row, TIED, Ty, rows};

rows! {
    /// Two sources.
    VOP2:
    1 VCndmaskB32 B32 <- B32 B32 M32 | E64 "++X ++X X XX XXXX";
    2 VAddF64 F64 <- F64 F64 | E64 NO_DPP "++X ++X + ++ XXXX";
    3 VAddF32 F32 <- F32 F32 | E64 "++X ++X + ++ XXXX";
    4 VSubF32 F32 <- F32 F32 | E64 "++X ++X + ++ XXXX";
    5 VSubrevF32 F32 <- F32 F32 | E64 "++X ++X + ++ XXXX";
    6 VMulF64 F64 <- F64 F64 | E64 NO_DPP "++X ++X + ++ XXXX";
    7 VMulLegacyF32 F32 <- F32 F32 | E64 "++X ++X + ++ XXXX" = "v_mul_dx9_zero_f32";
    8 VMulF32 F32 <- F32 F32 | E64 "++X ++X + ++ XXXX";
    9 VMulI32I24 B32 <- B32 B32 | E64 "XXX XXX + XX XXXX";
    10 VMulHiI32I24 B32 <- B32 B32 | E64 "XXX XXX X XX XXXX";
    11 VMulU32U24 B32 <- B32 B32 | E64 "XXX XXX + XX XXXX";
    12 VMulHiU32U24 B32 <- B32 B32 | E64 "XXX XXX X XX XXXX";
    13 VMinF64 F64 <- F64 F64 | E64 NO_DPP "++X ++X + ++ XXXX" = "v_min_num_f64";
    14 VMaxF64 F64 <- F64 F64 | E64 NO_DPP "++X ++X + ++ XXXX" = "v_max_num_f64";
    17 VMinI32 B32 <- B32 B32 | E64 "XXX XXX X XX XXXX";
    18 VMaxI32 B32 <- B32 B32 | E64 "XXX XXX X XX XXXX";
    19 VMinU32 B32 <- B32 B32 | E64 "XXX XXX X XX XXXX";
    20 VMaxU32 B32 <- B32 B32 | E64 "XXX XXX X XX XXXX";
    21 VMinF32 F32 <- F32 F32 | E64 "++X ++X + ++ XXXX" = "v_min_num_f32";
    22 VMaxF32 F32 <- F32 F32 | E64 "++X ++X + ++ XXXX" = "v_max_num_f32";
    23 VFmacF64 F64 <- F64 F64 | E64 TIED NO_DPP "++X ++X + ++ XXXX";
    24 VLshlrevB32 B32 <- B32 B32 | E64 "XXX XXX X XX XXXX";
    25 VLshrrevB32 B32 <- B32 B32 | E64 "XXX XXX X XX XXXX";
    26 VAshrrevI32 B32 <- B32 B32 | E64 "XXX XXX X XX XXXX";
    27 VAndB32 B32 <- B32 B32 | E64 "XXX XXX X XX XXXX";
    28 VOrB32 B32 <- B32 B32 | E64 "XXX XXX X XX XXXX";
    29 VXorB32 B32 <- B32 B32 | E64 "XXX XXX X XX XXXX";
    30 VXnorB32 B32 <- B32 B32 | E64 "XXX XXX X XX XXXX";
    31 VLshlrevB64 B64 <- B32 B64 | E64 NO_DPP "XXX XXX X XX XXXX";
    32 VAddcCoU32 B32 M32 <- B32 B32 M32 | E64 "XXX XXX + XX XXXX" = "v_add_co_ci_u32";
    33 VSubbCoU32 B32 M32 <- B32 B32 M32 | E64 "XXX XXX + XX XXXX" = "v_sub_co_ci_u32";
    34 VSubbrevCoU32 B32 M32 <- B32 B32 M32 | E64 "XXX XXX + XX XXXX" = "v_subrev_co_ci_u32";
    35 VFmamkF64 F64 <- F64 F64 F64 | LITERAL NO_DPP;
    36 VFmaakF64 F64 <- F64 F64 F64 | LITERAL NO_DPP;
    37 VAddU32 B32 <- B32 B32 | E64 "XXX XXX + XX XXXX" = "v_add_nc_u32";
    38 VSubU32 B32 <- B32 B32 | E64 "XXX XXX + XX XXXX" = "v_sub_nc_u32";
    39 VSubrevU32 B32 <- B32 B32 | E64 "XXX XXX + XX XXXX" = "v_subrev_nc_u32";
    40 VAddNcU64 B64 <- B64 B64 | E64 NO_DPP "XXX XXX + XX XXXX";
    41 VSubNcU64 B64 <- B64 B64 | E64 NO_DPP "XXX XXX + XX XXXX";
    42 VMulU64 B64 <- B64 B64 | E64 NO_DPP "XXX XXX X XX XXXX";
    43 VFmacF32 F32 <- F32 F32 | E64 TIED "++X ++X + ++ XXXX";
    44 VFmamkF32 F32 <- F32 F32 F32 | LITERAL NO_DPP;
    45 VFmaakF32 F32 <- F32 F32 F32 | LITERAL NO_DPP;
    47 VCvtPkrtzF16F32 Pf16 <- F32 F32 | E64 "++X ++X + ++ XXXX" = "v_cvt_pk_rtz_f16_f32";
    48 VMinF16 F16 <- F16 F16 | E64 KEEPS "++X ++X + ++ XXXX" = "v_min_num_f16";
    49 VMaxF16 F16 <- F16 F16 | E64 KEEPS "++X ++X + ++ XXXX" = "v_max_num_f16";
    50 VAddF16 F16 <- F16 F16 | E64 KEEPS "++X ++X + ++ XXXX";
    51 VSubF16 F16 <- F16 F16 | E64 KEEPS "++X ++X + ++ XXXX";
    52 VSubrevF16 F16 <- F16 F16 | E64 KEEPS "++X ++X + ++ XXXX";
    53 VMulF16 F16 <- F16 F16 | E64 KEEPS "++X ++X + ++ XXXX";
    54 VFmacF16 F16 <- F16 F16 | E64 TIED KEEPS "++X ++X + ++ XXXX";
    55 VFmamkF16 F16 <- F16 F16 F16 | LITERAL NO_DPP KEEPS;
    56 VFmaakF16 F16 <- F16 F16 F16 | LITERAL NO_DPP KEEPS;
    59 VLdexpF16 F16 <- F16 F16 | E64 KEEPS "+XX +XX + ++ XXXX";
    60 VPkFmacF16 Pf16 <- Pf16 Pf16 | TIED NO_DPP;
}

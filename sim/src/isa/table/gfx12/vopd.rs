//! Operations that can be one of two in an instruction. The rows serve both encodings and both halves.
//!
//! Must hold: see [`super`].

use crate::isa::op::Op;
use crate::isa::table::{DUAL_X, DUAL_Y, LITERAL, LONG_ONLY, Row, TIED, Ty, rows};

rows! {
    /// One of two operations.
    VOPD:
    0 VFmacF32 F32 <- F32 F32 | TIED DUAL_X DUAL_Y = "v_dual_fmac_f32";
    1 VFmaakF32 F32 <- F32 F32 F32 | LITERAL DUAL_X DUAL_Y = "v_dual_fmaak_f32";
    2 VFmamkF32 F32 <- F32 F32 F32 | LITERAL DUAL_X DUAL_Y = "v_dual_fmamk_f32";
    3 VMulF32 F32 <- F32 F32 | DUAL_X DUAL_Y = "v_dual_mul_f32";
    4 VAddF32 F32 <- F32 F32 | DUAL_X DUAL_Y = "v_dual_add_f32";
    5 VSubF32 F32 <- F32 F32 | DUAL_X DUAL_Y = "v_dual_sub_f32";
    6 VSubrevF32 F32 <- F32 F32 | DUAL_X DUAL_Y = "v_dual_subrev_f32";
    7 VMulLegacyF32 F32 <- F32 F32 | DUAL_X DUAL_Y = "v_dual_mul_dx9_zero_f32";
    8 VMovB32 B32 <- B32 | DUAL_X DUAL_Y = "v_dual_mov_b32";
    9 VCndmaskB32 B32 <- B32 B32 M32 | DUAL_X DUAL_Y = "v_dual_cndmask_b32";
    10 VMaxF32 F32 <- F32 F32 | DUAL_X DUAL_Y = "v_dual_max_num_f32";
    11 VMinF32 F32 <- F32 F32 | DUAL_X DUAL_Y = "v_dual_min_num_f32";
    12 VDot2cF32F16 F32 <- Pf16 Pf16 | TIED DUAL_X DUAL_Y = "v_dual_dot2acc_f32_f16";
    13 VDot2cF32Bf16 F32 <- Pbf16 Pbf16 | TIED DUAL_X DUAL_Y = "v_dual_dot2acc_f32_bf16";
    16 VAddU32 B32 <- B32 B32 | DUAL_X DUAL_Y = "v_dual_add_nc_u32";
    17 VLshlrevB32 B32 <- B32 B32 | DUAL_X DUAL_Y = "v_dual_lshlrev_b32";
    18 VBitop2B32 B32 <- B32 B32 | DUAL_Y LONG_ONLY = "v_dual_bitop2_b32";
    19 VFmaF32 F32 <- F32 F32 F32 | DUAL_X DUAL_Y LONG_ONLY = "v_dual_fma_f32";
    20 VSubU32 B32 <- B32 B32 | DUAL_X DUAL_Y = "v_dual_sub_nc_u32";
    21 VLshrrevB32 B32 <- B32 B32 | DUAL_X DUAL_Y = "v_dual_lshrrev_b32";
    22 VAshrrevI32 B32 <- B32 B32 | DUAL_X DUAL_Y = "v_dual_ashrrev_i32";
    23 VMaxI32 B32 <- B32 B32 | DUAL_Y = "v_dual_max_i32";
    24 VMinI32 B32 <- B32 B32 | DUAL_Y = "v_dual_min_i32";
    32 VFmaF64 F64 <- F64 F64 F64 | DUAL_X LONG_ONLY = "v_dual_fma_f64";
    33 VAddF64 F64 <- F64 F64 | DUAL_X LONG_ONLY = "v_dual_add_f64";
    34 VMulF64 F64 <- F64 F64 | DUAL_X LONG_ONLY = "v_dual_mul_f64";
    35 VMaxF64 F64 <- F64 F64 | DUAL_X LONG_ONLY = "v_dual_max_num_f64";
    36 VMinF64 F64 <- F64 F64 | DUAL_X LONG_ONLY = "v_dual_min_num_f64";
}

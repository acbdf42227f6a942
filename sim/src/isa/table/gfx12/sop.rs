//! Scalar ALU and program control: SOP1, SOP2, SOPC, SOPK, SOPP.
//!
//! Must hold: see [`super`].

use crate::isa::op::Op;
use crate::isa::table::{
    DELAY, DEPCTR, DST_READ, HEX, HWREG, IMM, LABEL, LITERAL, MESSAGE, NO_LITERAL, OPTIONAL, REGISTER_ONLY, Row, TIED,
    Ty, rows,
};

rows! {
    /// Two sources.
    SOP2:
    0 SAddU32 B32 <- B32 B32 = "s_add_co_u32";
    1 SSubU32 B32 <- B32 B32 = "s_sub_co_u32";
    2 SAddI32 B32 <- B32 B32 = "s_add_co_i32";
    3 SSubI32 B32 <- B32 B32 = "s_sub_co_i32";
    4 SAddcU32 B32 <- B32 B32 = "s_add_co_ci_u32";
    5 SSubbU32 B32 <- B32 B32 = "s_sub_co_ci_u32";
    6 SAbsdiffI32 B32 <- B32 B32;
    8 SLshlB32 B32 <- B32 B32;
    9 SLshlB64 B64 <- B64 B32;
    10 SLshrB32 B32 <- B32 B32;
    11 SLshrB64 B64 <- B64 B32;
    12 SAshrI32 B32 <- B32 B32;
    13 SAshrI64 B64 <- B64 B32;
    14 SLshl1AddU32 B32 <- B32 B32;
    15 SLshl2AddU32 B32 <- B32 B32;
    16 SLshl3AddU32 B32 <- B32 B32;
    17 SLshl4AddU32 B32 <- B32 B32;
    18 SMinI32 B32 <- B32 B32;
    19 SMinU32 B32 <- B32 B32;
    20 SMaxI32 B32 <- B32 B32;
    21 SMaxU32 B32 <- B32 B32;
    22 SAndB32 B32 <- B32 B32;
    23 SAndB64 B64 <- B64 B64;
    24 SOrB32 B32 <- B32 B32;
    25 SOrB64 B64 <- B64 B64;
    26 SXorB32 B32 <- B32 B32;
    27 SXorB64 B64 <- B64 B64;
    28 SNandB32 B32 <- B32 B32;
    29 SNandB64 B64 <- B64 B64;
    30 SNorB32 B32 <- B32 B32;
    31 SNorB64 B64 <- B64 B64;
    32 SXnorB32 B32 <- B32 B32;
    33 SXnorB64 B64 <- B64 B64;
    34 SAndn2B32 B32 <- B32 B32 = "s_and_not1_b32";
    35 SAndn2B64 B64 <- B64 B64 = "s_and_not1_b64";
    36 SOrn2B32 B32 <- B32 B32 = "s_or_not1_b32";
    37 SOrn2B64 B64 <- B64 B64 = "s_or_not1_b64";
    38 SBfeU32 B32 <- B32 B32;
    39 SBfeI32 B32 <- B32 B32;
    40 SBfeU64 B64 <- B64 B32;
    41 SBfeI64 B64 <- B64 B32;
    42 SBfmB32 B32 <- B32 B32;
    43 SBfmB64 B64 <- B32 B32;
    44 SMulI32 B32 <- B32 B32;
    45 SMulHiU32 B32 <- B32 B32;
    46 SMulHiI32 B32 <- B32 B32;
    48 SCselectB32 B32 <- B32 B32;
    49 SCselectB64 B64 <- B64 B64;
    50 SPackLlB32B16 B32 <- B32 B32;
    51 SPackLhB32B16 B32 <- B32 B32;
    52 SPackHhB32B16 B32 <- B32 B32;
    53 SPackHlB32B16 B32 <- B32 B32;
    64 SAddF32 F32 <- F32 F32;
    65 SSubF32 F32 <- F32 F32;
    66 SMinNumF32 F32 <- F32 F32;
    67 SMaxNumF32 F32 <- F32 F32;
    68 SMulF32 F32 <- F32 F32;
    69 SFmaakF32 F32 <- F32 F32 F32 | LITERAL;
    70 SFmamkF32 F32 <- F32 F32 F32 | LITERAL;
    71 SFmacF32 F32 <- F32 F32 | TIED;
    72 SCvtPkRtzF16F32 Pf16 <- F32 F32;
    73 SAddF16 F16 <- F16 F16;
    74 SSubF16 F16 <- F16 F16;
    75 SMinNumF16 F16 <- F16 F16;
    76 SMaxNumF16 F16 <- F16 F16;
    77 SMulF16 F16 <- F16 F16;
    78 SFmacF16 F16 <- F16 F16 | TIED;
    79 SMinimumF32 F32 <- F32 F32;
    80 SMaximumF32 F32 <- F32 F32;
    81 SMinimumF16 F16 <- F16 F16;
    82 SMaximumF16 F16 <- F16 F16;
    83 SAddNcU64 B64 <- B64 B64;
    84 SSubNcU64 B64 <- B64 B64;
    85 SMulU64 B64 <- B64 B64;
}

rows! {
    /// A 16-bit immediate.
    SOPK:
    0 SMovkI32 B32 <- | IMM;
    1 SVersion <- | IMM;
    2 SCmovkI32 B32 <- | IMM;
    15 SAddkI32 B32 <- B32 | IMM TIED = "s_addk_co_i32";
    16 SMulkI32 B32 <- B32 | IMM TIED;
    17 SGetregB32 B32 <- | IMM HWREG;
    18 SSetregB32 <- B32 | IMM HWREG DST_READ;
    19 SSetregImm32B32 <- | IMM HWREG LITERAL;
    20 SCallB64 B64 <- | IMM LABEL = "s_call_i64";
}

rows! {
    /// One source.
    SOP1:
    0 SMovB32 B32 <- B32;
    1 SMovB64 B64 <- B64;
    2 SCmovB32 B32 <- B32;
    3 SCmovB64 B64 <- B64;
    4 SBrevB32 B32 <- B32;
    5 SBrevB64 B64 <- B64;
    6 SGetShaderCyclesU64 B64 <-;
    8 SFf1I32B32 B32 <- B32 = "s_ctz_i32_b32";
    9 SFf1I32B64 B32 <- B64 = "s_ctz_i32_b64";
    10 SFlbitI32B32 B32 <- B32 = "s_clz_i32_u32";
    11 SFlbitI32B64 B32 <- B64 = "s_clz_i32_u64";
    12 SFlbitI32 B32 <- B32 = "s_cls_i32";
    13 SFlbitI32I64 B32 <- B64 = "s_cls_i32_i64";
    14 SSextI32I8 B32 <- B32;
    15 SSextI32I16 B32 <- B32;
    16 SBitset0B32 B32 <- B32 | TIED;
    17 SBitset0B64 B64 <- B32 | TIED;
    18 SBitset1B32 B32 <- B32 | TIED;
    19 SBitset1B64 B64 <- B32 | TIED;
    20 SBitreplicateB64B32 B64 <- B32;
    21 SAbsI32 B32 <- B32;
    22 SBcnt0I32B32 B32 <- B32;
    23 SBcnt0I32B64 B32 <- B64;
    24 SBcnt1I32B32 B32 <- B32;
    25 SBcnt1I32B64 B32 <- B64;
    26 SQuadmaskB32 B32 <- B32;
    27 SQuadmaskB64 B64 <- B64;
    28 SWqmB32 B32 <- B32;
    29 SWqmB64 B64 <- B64;
    30 SNotB32 B32 <- B32;
    31 SNotB64 B64 <- B64;
    32 SAndSaveexecB32 B32 <- B32;
    33 SAndSaveexecB64 B64 <- B64;
    34 SOrSaveexecB32 B32 <- B32;
    35 SOrSaveexecB64 B64 <- B64;
    36 SXorSaveexecB32 B32 <- B32;
    37 SXorSaveexecB64 B64 <- B64;
    38 SNandSaveexecB32 B32 <- B32;
    39 SNandSaveexecB64 B64 <- B64;
    40 SNorSaveexecB32 B32 <- B32;
    41 SNorSaveexecB64 B64 <- B64;
    42 SXnorSaveexecB32 B32 <- B32;
    43 SXnorSaveexecB64 B64 <- B64;
    44 SAndNot0SaveexecB32 B32 <- B32;
    45 SAndn1SaveexecB64 B64 <- B64 = "s_and_not0_saveexec_b64";
    46 SOrNot0SaveexecB32 B32 <- B32;
    47 SOrn1SaveexecB64 B64 <- B64 = "s_or_not0_saveexec_b64";
    48 SAndNot1SaveexecB32 B32 <- B32;
    49 SAndn2SaveexecB64 B64 <- B64 = "s_and_not1_saveexec_b64";
    50 SOrNot1SaveexecB32 B32 <- B32;
    51 SOrn2SaveexecB64 B64 <- B64 = "s_or_not1_saveexec_b64";
    52 SAndNot0WrexecB32 B32 <- B32;
    53 SAndn1WrexecB64 B64 <- B64 = "s_and_not0_wrexec_b64";
    54 SAndNot1WrexecB32 B32 <- B32;
    55 SAndn2WrexecB64 B64 <- B64 = "s_and_not1_wrexec_b64";
    64 SMovrelsB32 B32 <- B32 | REGISTER_ONLY;
    65 SMovrelsB64 B64 <- B64 | REGISTER_ONLY;
    66 SMovreldB32 B32 <- B32;
    67 SMovreldB64 B64 <- B64;
    68 SMovrelsd2B32 B32 <- B32;
    71 SGetpcB64 B64 <- = "s_get_pc_i64";
    72 SSetpcB64 <- B64 | REGISTER_ONLY = "s_set_pc_i64";
    73 SSwappcB64 B64 <- B64 | REGISTER_ONLY = "s_swap_pc_i64";
    74 SRfeB64 <- B64 | REGISTER_ONLY = "s_rfe_i64";
    75 SAddPcI64 <- B64;
    76 SSendmsgRtnB32 B32 <- B32 | IMM MESSAGE;
    77 SSendmsgRtnB64 B64 <- B32 | IMM MESSAGE;
    78 SBarrierSignal <- B32 | NO_LITERAL;
    79 SBarrierSignalIsfirst <- B32 | NO_LITERAL;
    80 SGetBarrierState B32 <- B32 | NO_LITERAL;
    81 SBarrierInit <- B32 | NO_LITERAL;
    82 SBarrierJoin <- B32 | NO_LITERAL;
    83 SAllocVgpr <- B32;
    87 SWakeupBarrier <- B32 | NO_LITERAL;
    88 SSleepVar <- B32;
    96 SCeilF32 F32 <- F32;
    97 SFloorF32 F32 <- F32;
    98 STruncF32 F32 <- F32;
    99 SRndneF32 F32 <- F32;
    100 SCvtF32I32 F32 <- B32;
    101 SCvtF32U32 F32 <- B32;
    102 SCvtI32F32 B32 <- F32;
    103 SCvtU32F32 B32 <- F32;
    104 SCvtF16F32 F16 <- F32;
    105 SCvtF32F16 F32 <- F16;
    106 SCvtHiF32F16 F32 <- F16;
    107 SCeilF16 F16 <- F16;
    108 SFloorF16 F16 <- F16;
    109 STruncF16 F16 <- F16;
    110 SRndneF16 F16 <- F16;
}

rows! {
    /// Compares.
    SOPC:
    0 SCmpEqI32 <- B32 B32;
    1 SCmpLgI32 <- B32 B32;
    2 SCmpGtI32 <- B32 B32;
    3 SCmpGeI32 <- B32 B32;
    4 SCmpLtI32 <- B32 B32;
    5 SCmpLeI32 <- B32 B32;
    6 SCmpEqU32 <- B32 B32;
    7 SCmpLgU32 <- B32 B32;
    8 SCmpGtU32 <- B32 B32;
    9 SCmpGeU32 <- B32 B32;
    10 SCmpLtU32 <- B32 B32;
    11 SCmpLeU32 <- B32 B32;
    12 SBitcmp0B32 <- B32 B32;
    13 SBitcmp1B32 <- B32 B32;
    14 SBitcmp0B64 <- B64 B32;
    15 SBitcmp1B64 <- B64 B32;
    16 SCmpEqU64 <- B64 B64;
    17 SCmpLgU64 <- B64 B64;
    65 SCmpLtF32 <- F32 F32;
    66 SCmpEqF32 <- F32 F32;
    67 SCmpLeF32 <- F32 F32;
    68 SCmpGtF32 <- F32 F32;
    69 SCmpLgF32 <- F32 F32;
    70 SCmpGeF32 <- F32 F32;
    71 SCmpOF32 <- F32 F32;
    72 SCmpUF32 <- F32 F32;
    73 SCmpNgeF32 <- F32 F32;
    74 SCmpNlgF32 <- F32 F32;
    75 SCmpNgtF32 <- F32 F32;
    76 SCmpNleF32 <- F32 F32;
    77 SCmpNeqF32 <- F32 F32;
    78 SCmpNltF32 <- F32 F32;
    81 SCmpLtF16 <- B16 B16;
    82 SCmpEqF16 <- B16 B16;
    83 SCmpLeF16 <- B16 B16;
    84 SCmpGtF16 <- B16 B16;
    85 SCmpLgF16 <- B16 B16;
    86 SCmpGeF16 <- B16 B16;
    87 SCmpOF16 <- B16 B16;
    88 SCmpUF16 <- B16 B16;
    89 SCmpNgeF16 <- B16 B16;
    90 SCmpNlgF16 <- B16 B16;
    91 SCmpNgtF16 <- B16 B16;
    92 SCmpNleF16 <- B16 B16;
    93 SCmpNeqF16 <- B16 B16;
    94 SCmpNltF16 <- B16 B16;
}

rows! {
    /// Program control.
    SOPP:
    0 SNop <- | IMM;
    2 SSethalt <- | IMM;
    3 SSleep <- | IMM;
    4 SMonitorSleep <- | IMM;
    5 SClause <- | IMM HEX;
    6 SSetVgprMsb <- | IMM;
    7 SDelayAlu <- | IMM DELAY;
    8 SWaitAlu <- | IMM DEPCTR;
    10 SWaitIdle <-;
    16 STrap <- | IMM;
    17 SRoundMode <- | IMM HEX;
    18 SDenormMode <- | IMM;
    20 SBarrierWait <- | IMM;
    21 SBarrierLeave <-;
    31 SCodeEnd <-;
    32 SBranch <- | IMM LABEL;
    33 SCbranchScc0 <- | IMM LABEL;
    34 SCbranchScc1 <- | IMM LABEL;
    35 SCbranchVccz <- | IMM LABEL;
    36 SCbranchVccnz <- | IMM LABEL;
    37 SCbranchExecz <- | IMM LABEL;
    38 SCbranchExecnz <- | IMM LABEL;
    48 SEndpgm <- | IMM OPTIONAL;
    49 SEndpgmSaved <-;
    52 SWakeup <-;
    53 SSetprio <- | IMM;
    54 SSendmsg <- | IMM MESSAGE;
    55 SSendmsghalt <- | IMM MESSAGE;
    56 SIncperflevel <- | IMM;
    57 SDecperflevel <- | IMM;
    58 STtracedata <-;
    59 STtracedataImm <- | IMM HEX;
    60 SIcacheInv <-;
    62 SSetprioIncWg <- | IMM;
    64 SWaitLoadcnt <- | IMM HEX;
    65 SWaitStorecnt <- | IMM HEX;
    69 SWaitXcnt <- | IMM HEX;
    70 SWaitDscnt <- | IMM HEX;
    71 SWaitKmcnt <- | IMM HEX;
    72 SWaitLoadcntDscnt <- | IMM HEX;
    73 SWaitStorecntDscnt <- | IMM HEX;
    74 SWaitAsynccnt <- | IMM HEX;
    75 SWaitTensorcnt <- | IMM HEX;
}

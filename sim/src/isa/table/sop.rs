//! Scalar ALU and program control: SOP1, SOP2, SOPC, SOPK, SOPP.
//!
//! Must hold: see [`super`]. A tied source stands once in the row and is read and written.

use super::{
    COUNTERS, DST_READ, GPR_IDX, HWREG, IMM, LABEL, LITERAL, MESSAGE, OPTIONAL, REGISTER_ONLY, Row, TIED, Ty, rows,
};
use crate::isa::op::Op;

rows! {
    /// Two sources.
    SOP2:
    0 SAddU32 B32 <- B32 B32;
    1 SSubU32 B32 <- B32 B32;
    2 SAddI32 B32 <- B32 B32;
    3 SSubI32 B32 <- B32 B32;
    4 SAddcU32 B32 <- B32 B32;
    5 SSubbU32 B32 <- B32 B32;
    6 SMinI32 B32 <- B32 B32;
    7 SMinU32 B32 <- B32 B32;
    8 SMaxI32 B32 <- B32 B32;
    9 SMaxU32 B32 <- B32 B32;
    10 SCselectB32 B32 <- B32 B32;
    11 SCselectB64 B64 <- B64 B64;
    12 SAndB32 B32 <- B32 B32;
    13 SAndB64 B64 <- B64 B64;
    14 SOrB32 B32 <- B32 B32;
    15 SOrB64 B64 <- B64 B64;
    16 SXorB32 B32 <- B32 B32;
    17 SXorB64 B64 <- B64 B64;
    18 SAndn2B32 B32 <- B32 B32;
    19 SAndn2B64 B64 <- B64 B64;
    20 SOrn2B32 B32 <- B32 B32;
    21 SOrn2B64 B64 <- B64 B64;
    22 SNandB32 B32 <- B32 B32;
    23 SNandB64 B64 <- B64 B64;
    24 SNorB32 B32 <- B32 B32;
    25 SNorB64 B64 <- B64 B64;
    26 SXnorB32 B32 <- B32 B32;
    27 SXnorB64 B64 <- B64 B64;
    28 SLshlB32 B32 <- B32 B32;
    29 SLshlB64 B64 <- B64 B32;
    30 SLshrB32 B32 <- B32 B32;
    31 SLshrB64 B64 <- B64 B32;
    32 SAshrI32 B32 <- B32 B32;
    33 SAshrI64 B64 <- B64 B32;
    34 SBfmB32 B32 <- B32 B32;
    35 SBfmB64 B64 <- B32 B32;
    36 SMulI32 B32 <- B32 B32;
    37 SBfeU32 B32 <- B32 B32;
    38 SBfeI32 B32 <- B32 B32;
    39 SBfeU64 B64 <- B64 B32;
    40 SBfeI64 B64 <- B64 B32;
    41 SCbranchGFork <- B64 B64;
    42 SAbsdiffI32 B32 <- B32 B32;
    43 SRfeRestoreB64 <- B64 B32;
    44 SMulHiU32 B32 <- B32 B32;
    45 SMulHiI32 B32 <- B32 B32;
    46 SLshl1AddU32 B32 <- B32 B32;
    47 SLshl2AddU32 B32 <- B32 B32;
    48 SLshl3AddU32 B32 <- B32 B32;
    49 SLshl4AddU32 B32 <- B32 B32;
    50 SPackLlB32B16 B32 <- B32 B32;
    51 SPackLhB32B16 B32 <- B32 B32;
    52 SPackHhB32B16 B32 <- B32 B32;
}

rows! {
    /// A 16-bit immediate.
    SOPK:
    0 SMovkI32 B32 <- | IMM;
    1 SCmovkI32 B32 <- | IMM;
    2 SCmpkEqI32 <- B32 | IMM DST_READ;
    3 SCmpkLgI32 <- B32 | IMM DST_READ;
    4 SCmpkGtI32 <- B32 | IMM DST_READ;
    5 SCmpkGeI32 <- B32 | IMM DST_READ;
    6 SCmpkLtI32 <- B32 | IMM DST_READ;
    7 SCmpkLeI32 <- B32 | IMM DST_READ;
    8 SCmpkEqU32 <- B32 | IMM DST_READ;
    9 SCmpkLgU32 <- B32 | IMM DST_READ;
    10 SCmpkGtU32 <- B32 | IMM DST_READ;
    11 SCmpkGeU32 <- B32 | IMM DST_READ;
    12 SCmpkLtU32 <- B32 | IMM DST_READ;
    13 SCmpkLeU32 <- B32 | IMM DST_READ;
    14 SAddkI32 B32 <- B32 | IMM TIED;
    15 SMulkI32 B32 <- B32 | IMM TIED;
    16 SCbranchIFork <- B64 | IMM LABEL DST_READ;
    17 SGetregB32 B32 <- | IMM HWREG;
    18 SSetregB32 <- B32 | IMM HWREG DST_READ;
    20 SSetregImm32B32 <- | IMM HWREG LITERAL;
    21 SCallB64 B64 <- | IMM LABEL;
}

rows! {
    /// One source.
    SOP1:
    0 SMovB32 B32 <- B32;
    1 SMovB64 B64 <- B64;
    2 SCmovB32 B32 <- B32;
    3 SCmovB64 B64 <- B64;
    4 SNotB32 B32 <- B32;
    5 SNotB64 B64 <- B64;
    6 SWqmB32 B32 <- B32;
    7 SWqmB64 B64 <- B64;
    8 SBrevB32 B32 <- B32;
    9 SBrevB64 B64 <- B64;
    10 SBcnt0I32B32 B32 <- B32;
    11 SBcnt0I32B64 B32 <- B64;
    12 SBcnt1I32B32 B32 <- B32;
    13 SBcnt1I32B64 B32 <- B64;
    14 SFf0I32B32 B32 <- B32;
    15 SFf0I32B64 B32 <- B64;
    16 SFf1I32B32 B32 <- B32;
    17 SFf1I32B64 B32 <- B64;
    18 SFlbitI32B32 B32 <- B32;
    19 SFlbitI32B64 B32 <- B64;
    20 SFlbitI32 B32 <- B32;
    21 SFlbitI32I64 B32 <- B64;
    22 SSextI32I8 B32 <- B32;
    23 SSextI32I16 B32 <- B32;
    24 SBitset0B32 B32 <- B32 | TIED;
    25 SBitset0B64 B64 <- B32 | TIED;
    26 SBitset1B32 B32 <- B32 | TIED;
    27 SBitset1B64 B64 <- B32 | TIED;
    28 SGetpcB64 B64 <-;
    29 SSetpcB64 <- B64 | REGISTER_ONLY;
    30 SSwappcB64 B64 <- B64 | REGISTER_ONLY;
    31 SRfeB64 <- B64 | REGISTER_ONLY;
    32 SAndSaveexecB64 B64 <- B64;
    33 SOrSaveexecB64 B64 <- B64;
    34 SXorSaveexecB64 B64 <- B64;
    35 SAndn2SaveexecB64 B64 <- B64;
    36 SOrn2SaveexecB64 B64 <- B64;
    37 SNandSaveexecB64 B64 <- B64;
    38 SNorSaveexecB64 B64 <- B64;
    39 SXnorSaveexecB64 B64 <- B64;
    40 SQuadmaskB32 B32 <- B32;
    41 SQuadmaskB64 B64 <- B64;
    42 SMovrelsB32 B32 <- B32 | REGISTER_ONLY;
    43 SMovrelsB64 B64 <- B64 | REGISTER_ONLY;
    44 SMovreldB32 B32 <- B32;
    45 SMovreldB64 B64 <- B64;
    46 SCbranchJoin <- B32 | REGISTER_ONLY;
    48 SAbsI32 B32 <- B32;
    50 SSetGprIdxIdx <- B32;
    51 SAndn1SaveexecB64 B64 <- B64;
    52 SOrn1SaveexecB64 B64 <- B64;
    53 SAndn1WrexecB64 B64 <- B64;
    54 SAndn2WrexecB64 B64 <- B64;
    55 SBitreplicateB64B32 B64 <- B32;
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
    16 SSetvskip <- B32 B32;
    17 SSetGprIdxOn <- B32 | GPR_IDX;
    18 SCmpEqU64 <- B64 B64;
    19 SCmpLgU64 <- B64 B64;
}

rows! {
    /// Program control.
    SOPP:
    0 SNop <- | IMM;
    1 SEndpgm <- | IMM OPTIONAL;
    2 SBranch <- | IMM LABEL;
    3 SWakeup <-;
    4 SCbranchScc0 <- | IMM LABEL;
    5 SCbranchScc1 <- | IMM LABEL;
    6 SCbranchVccz <- | IMM LABEL;
    7 SCbranchVccnz <- | IMM LABEL;
    8 SCbranchExecz <- | IMM LABEL;
    9 SCbranchExecnz <- | IMM LABEL;
    10 SBarrier <-;
    11 SSetkill <- | IMM;
    12 SWaitcnt <- | IMM COUNTERS;
    13 SSethalt <- | IMM;
    14 SSleep <- | IMM;
    15 SSetprio <- | IMM;
    16 SSendmsg <- | IMM MESSAGE;
    17 SSendmsghalt <- | IMM MESSAGE;
    18 STrap <- | IMM;
    19 SIcacheInv <-;
    20 SIncperflevel <- | IMM;
    21 SDecperflevel <- | IMM;
    22 STtracedata <-;
    23 SCbranchCdbgsys <- | IMM LABEL;
    24 SCbranchCdbguser <- | IMM LABEL;
    25 SCbranchCdbgsysOrUser <- | IMM LABEL;
    26 SCbranchCdbgsysAndUser <- | IMM LABEL;
    27 SEndpgmSaved <-;
    28 SSetGprIdxOff <-;
    29 SSetGprIdxMode <- | IMM GPR_IDX;
    30 SEndpgmOrderedPsDone <-;
}

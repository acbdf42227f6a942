//! The list of diagnostic codes: one row each, explanation and example included.
//!
//! Must hold: codes are unique and sorted, no code is ever given a new meaning, and each has a test under
//! `tests/errors/` that marks the offending line.

use std::fmt;

/// A diagnostic code; printed `TW0001`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub u16);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TW{:04}", self.0)
    }
}

impl Code {
    /// Reads `TW0007` (case does not matter).
    pub fn parse(text: &str) -> Option<Code> {
        let digits = text.strip_prefix("TW").or_else(|| text.strip_prefix("tw"))?;
        (digits.len() == 4).then(|| digits.parse().ok().map(Code))?
    }
}

/// What a code means.
#[derive(Clone, Copy, Debug)]
pub struct CodeInfo {
    /// The code.
    pub code: Code,
    /// Short title, a noun phrase.
    pub title: &'static str,
    /// What it means and the way out, in sentences.
    pub explanation: &'static str,
    /// A `.tile` example that gives this code.
    pub example: &'static str,
}

macro_rules! codes {
    ($($num:literal $name:ident $title:literal $explanation:literal $example:literal;)*) => {
        impl Code {
            $(#[doc = $title] pub const $name: Code = Code($num);)*
        }

        /// Every code, in order.
        pub const CODES: &[CodeInfo] = &[
            $(CodeInfo { code: Code($num), title: $title, explanation: $explanation, example: $example },)*
        ];
    };
}

codes! {
    1 UNKNOWN_TOKEN "character that starts no token" "" "";
    2 SYNTAX "syntax error" "" "";
    3 TOO_DEEP "nesting deeper than the limit" "" "";
    4 LITERAL_RANGE "literal out of range" "" "";
    5 UNKNOWN_NAME "unknown name" "" "";
    6 DUPLICATE_NAME "name defined twice" "" "";
    7 TYPE_MISMATCH "types do not fit" "" "";
    8 WRONG_KIND "name used as something it is not" "" "";
    9 BAD_SHAPE "shape that no buffer can have" "" "";
    10 LAYOUT_SHAPE "layout does not admit the shape" "" "";
    11 BAD_LAYOUT "layout that is not well formed" "" "";
    12 INDEX_COUNT "wrong number of indices" "" "";
    13 OUT_OF_BOUNDS "index or region outside the buffer" "" "";
    14 EXTENT_MISMATCH "copy between regions of different extents" "" "";
    15 DTYPE_MISMATCH "copy between different dtypes" "" "";
    16 SPACE_NOT_ALLOWED "memory space not allowed here" "" "";
    17 SCOPE_NEEDS_THREADS "scope does not fit the launch" "" "";
    18 GUARD_NOT_UNDERSTOOD "guard on thread ids that cannot be understood" "" "";
    19 COLLECTIVE_UNDER_GUARD "collective op where only some of its threads run" "" "";
    20 RANK_TYPE "rank of the wrong kind" "" "";
    21 SIGNAL_USE "signal used wrongly" "" "";
    22 EXPECTED_NOT_AFFINE "number of notifies is not known" "" "";
    23 BAD_LAUNCH "launch that cannot be" "" "";
    24 LEVEL "op that is not allowed at this level" "" "";
    25 UNKNOWN_OP "unknown primitive op" "" "";
    26 OP_OPERANDS "wrong operands of a primitive op" "" "";
    27 TOKEN_USE "token used wrongly" "" "";
    28 BAD_RUN "run block that cannot be run" "" "";
    29 BAD_ATTR "attribute that does not fit" "" "";
    30 LOCAL_OWNER "register element that the thread does not own" "" "";
    31 VARIANT_DECLINED "forced variant declines" "" "";
    32 NO_VARIANT "no variant accepts the copy" "" "";
    33 SCALAR_FALLBACK "copy carried element by element" "" "";
    34 TARGET_REFUSES "target cannot run this" "" "";
    35 RACE "read of memory that another rank or thread may be writing" "" "";
    36 DEADLOCK "wait that nobody satisfies" "" "";
    37 RUN_MISMATCH "result differs" "" "";
    38 UNKNOWN_TARGET "unknown target" "" "";
    39 TOO_LARGE "program too large" "" "";
    40 INTERNAL "fault of the compiler" "" "";
    41 NOT_UNIFORM "operand that differs between the threads of one op" "" "";
    42 UNROLL "loop that cannot be unrolled" "" "";
}

/// The row of a code.
pub fn explain(code: Code) -> Option<&'static CodeInfo> {
    CODES.iter().find(|row| row.code == code)
}

//! Element types, and the types of scalars in expressions.
//!
//! Sizes are given in bits because three of the types are smaller than a byte. Elements of sub-byte types are packed,
//! the first in the low bits of the byte.

use std::fmt;

macro_rules! dtypes {
    ($($variant:ident $text:literal $bits:literal $class:ident $doc:literal;)*) => {
        /// Type of the elements of a buffer.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum DType { $(#[doc = $doc] $variant,)* }

        impl DType {
            /// Every dtype, in the order of the language reference.
            pub const ALL: &'static [DType] = &[$(DType::$variant,)*];

            /// Text form, as written in a `.tile` file.
            pub fn as_str(self) -> &'static str {
                match self { $(DType::$variant => $text,)* }
            }

            /// Size of one element in bits.
            pub fn bits(self) -> u32 {
                match self { $(DType::$variant => $bits,)* }
            }

            /// What kind of number it is.
            pub fn class(self) -> DTypeClass {
                match self { $(DType::$variant => DTypeClass::$class,)* }
            }
        }
    };
}

/// What kind of number a dtype holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DTypeClass {
    /// IEEE or OCP floating point.
    Float,
    /// Two's complement integer.
    Signed,
    /// Unsigned integer.
    Unsigned,
    /// One byte, 0 or 1.
    Bool,
}

dtypes! {
    F64 "f64" 64 Float "IEEE binary64";
    F32 "f32" 32 Float "IEEE binary32";
    F16 "f16" 16 Float "IEEE binary16";
    BF16 "bf16" 16 Float "bfloat16: the upper half of a binary32";
    F8E4M3 "f8e4m3" 8 Float "OCP FP8 E4M3 (no infinities, one NaN pattern per sign)";
    F8E5M2 "f8e5m2" 8 Float "OCP FP8 E5M2";
    F4 "f4" 4 Float "OCP FP4 E2M1";
    I64 "i64" 64 Signed "64-bit signed integer";
    I32 "i32" 32 Signed "32-bit signed integer";
    I16 "i16" 16 Signed "16-bit signed integer";
    I8 "i8" 8 Signed "8-bit signed integer";
    I4 "i4" 4 Signed "4-bit signed integer";
    U64 "u64" 64 Unsigned "64-bit unsigned integer";
    U32 "u32" 32 Unsigned "32-bit unsigned integer";
    U16 "u16" 16 Unsigned "16-bit unsigned integer";
    U8 "u8" 8 Unsigned "8-bit unsigned integer";
    U4 "u4" 4 Unsigned "4-bit unsigned integer";
    Bool "bool" 8 Bool "a byte that is 0 or 1";
}

impl DType {
    /// The dtype with this text form.
    pub fn parse(text: &str) -> Option<DType> {
        DType::ALL.iter().copied().find(|d| d.as_str() == text)
    }

    /// Floating point?
    pub fn is_float(self) -> bool {
        self.class() == DTypeClass::Float
    }

    /// Integer, signed or not?
    pub fn is_int(self) -> bool {
        matches!(self.class(), DTypeClass::Signed | DTypeClass::Unsigned)
    }

    /// Bytes that `count` elements take, rounded up to whole bytes. `None` on overflow of `i64`.
    pub fn bytes_for(self, count: i64) -> Option<i64> {
        let bits = i128::from(count) * i128::from(self.bits());
        i64::try_from((bits + 7).div_euclid(8)).ok()
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Type of a scalar expression.
///
/// `Index` is the type of literals, `thread.x` and other ids, loop variables and `comm.lsa_size`: a 64-bit signed
/// integer that also combines with every other integer type (the result of mixed integer arithmetic is `Index`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScalarTy {
    /// A number of this dtype.
    Num(DType),
    /// 64-bit signed integer used for indices; written `index`.
    Index,
    /// Rank among the ranks of this node (mori: LSA rank).
    LsaRank,
    /// Rank among all ranks of the job.
    WorldRank,
    /// An `LsaRank` plus or minus integers, not yet reduced by `% lsa_size`. Decays to `Index` elsewhere.
    LsaSum,
}

impl ScalarTy {
    /// Integer, index or a rank that decays to one?
    pub fn is_integral(self) -> bool {
        match self {
            ScalarTy::Num(d) => d.is_int(),
            ScalarTy::Index | ScalarTy::LsaRank | ScalarTy::LsaSum | ScalarTy::WorldRank => true,
        }
    }

    /// The dtype that holds a value of this type when it is stored or passed to a kernel.
    pub fn storage(self) -> DType {
        match self {
            ScalarTy::Num(d) => d,
            ScalarTy::Index | ScalarTy::LsaSum => DType::I64,
            ScalarTy::LsaRank | ScalarTy::WorldRank => DType::I32,
        }
    }
}

impl fmt::Display for ScalarTy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScalarTy::Num(d) => d.fmt(f),
            ScalarTy::Index => f.write_str("index"),
            ScalarTy::LsaRank => f.write_str("lsa_rank"),
            ScalarTy::WorldRank => f.write_str("world_rank"),
            ScalarTy::LsaSum => f.write_str("lsa_rank + integer"),
        }
    }
}

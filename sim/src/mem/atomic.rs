//! Arithmetic of atomics, on global memory and on LDS, by waves and by engines.
//!
//! What must hold here: pure functions of the old value and the operands; unused high bits of 32-bit operations are
//! zero.

/// What an atomic does to memory. The width is given apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicOp {
    /// The operand replaces the value.
    Swap,
    /// The operand replaces the value if it equals the comparand.
    CmpSwap,
    /// Wrapping sum.
    Add,
    /// Wrapping difference, memory minus operand.
    Sub,
    /// Wrapping difference, operand minus memory.
    RevSub,
    /// Smaller, signed.
    SMin,
    /// Smaller, unsigned.
    UMin,
    /// Larger, signed.
    SMax,
    /// Larger, unsigned.
    UMax,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Plus one, zero when the value has reached the operand (unsigned).
    Inc,
    /// Minus one, the operand when the value is zero or above the operand (unsigned).
    Dec,
    /// Floating-point sum (32 or 64 bits).
    FAdd,
    /// Smaller float.
    FMin,
    /// Larger float.
    FMax,
    /// Two sums of half-precision floats.
    PkAddF16,
    /// Two sums of brain floats.
    PkAddBf16,
    /// As `CmpSwap`, comparing as floats.
    FCmpSwap,
    /// Memory minus operand where memory is at least the operand, else memory plus comparand (ds_wrap).
    Wrap,
    /// Difference, memory minus operand, not below zero (gfx1250).
    SubClamp,
    /// Memory minus operand where memory is at least the operand, else memory (gfx1250).
    CondSub,
    /// `(memory & ~operand) | comparand`: masked write (ds_mskor).
    MaskOr,
}

impl AtomicOp {
    /// The new value. `bytes` is 4 or 8.
    pub fn apply(self, old: u64, operand: u64, compare: u64, bytes: usize) -> u64 {
        if bytes == 8 {
            return self.apply64(old, operand, compare);
        }
        u64::from(self.apply32(old as u32, operand as u32, compare as u32))
    }

    fn apply32(self, old: u32, operand: u32, compare: u32) -> u32 {
        let (f_old, f_operand) = (f32::from_bits(old), f32::from_bits(operand));
        match self {
            Self::SMin => (old as i32).min(operand as i32) as u32,
            Self::SMax => (old as i32).max(operand as i32) as u32,
            Self::Add => old.wrapping_add(operand),
            Self::Sub => old.wrapping_sub(operand),
            Self::RevSub => operand.wrapping_sub(old),
            Self::FAdd => (f_old + f_operand).to_bits(),
            Self::FMin => f_old.min(f_operand).to_bits(),
            Self::FMax => f_old.max(f_operand).to_bits(),
            Self::FCmpSwap if f_old == f32::from_bits(compare) => operand,
            Self::FCmpSwap => old,
            Self::Wrap if old >= operand => old - operand,
            Self::Wrap => old.wrapping_add(compare),
            Self::PkAddF16 => per_half(old, operand, |a, b| f16_from(f16_to(a) + f16_to(b))),
            Self::PkAddBf16 => per_half(old, operand, |a, b| bf16_from(bf16_to(a) + bf16_to(b))),
            _ => self.unsigned(old.into(), operand.into(), compare.into()) as u32,
        }
    }

    fn apply64(self, old: u64, operand: u64, compare: u64) -> u64 {
        let (f_old, f_operand) = (f64::from_bits(old), f64::from_bits(operand));
        match self {
            Self::SMin => (old as i64).min(operand as i64) as u64,
            Self::SMax => (old as i64).max(operand as i64) as u64,
            Self::Add => old.wrapping_add(operand),
            Self::Sub => old.wrapping_sub(operand),
            Self::RevSub => operand.wrapping_sub(old),
            Self::FAdd => (f_old + f_operand).to_bits(),
            Self::FMin => f_old.min(f_operand).to_bits(),
            Self::FMax => f_old.max(f_operand).to_bits(),
            Self::FCmpSwap if f_old == f64::from_bits(compare) => operand,
            Self::FCmpSwap => old,
            _ => self.unsigned(old, operand, compare),
        }
    }

    /// What is alike for both widths.
    const fn unsigned(self, old: u64, operand: u64, compare: u64) -> u64 {
        match self {
            Self::CmpSwap => {
                if old == compare {
                    operand
                } else {
                    old
                }
            }
            Self::UMin => {
                if operand < old {
                    operand
                } else {
                    old
                }
            }
            Self::UMax => {
                if operand > old {
                    operand
                } else {
                    old
                }
            }
            Self::And => old & operand,
            Self::Or => old | operand,
            Self::Xor => old ^ operand,
            Self::Inc => {
                if old >= operand {
                    0
                } else {
                    old + 1
                }
            }
            Self::Dec => {
                if old == 0 || old > operand {
                    operand
                } else {
                    old - 1
                }
            }
            Self::MaskOr => (old & !operand) | compare,
            Self::SubClamp => old.saturating_sub(operand),
            Self::CondSub => {
                if old >= operand {
                    old - operand
                } else {
                    old
                }
            }
            _ => operand,
        }
    }
}

fn per_half(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

fn bf16_to(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Rounds to the nearest, ties to even; a NaN stays one.
fn bf16_from(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

/// The value of a half-precision float.
pub(crate) fn f16_to(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let (exponent, fraction) = (u32::from(bits >> 10 & 31), u32::from(bits & 0x3ff));
    match exponent {
        0 => {
            let magnitude = fraction as f32 * f32::from_bits(0x3380_0000); // 2^-24
            f32::from_bits(magnitude.to_bits() | sign)
        }
        31 => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

/// Rounds to the nearest half-precision float, ties to even.
pub(crate) fn f16_from(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return sign | 0x7e00 | (magnitude >> 13 & 0x3ff) as u16;
    }
    if magnitude >= 0x4780_0000 {
        return sign | 0x7c00; // 65536 and above
    }
    if magnitude < 0x3880_0000 {
        // Below 2^-14: adding 0.5 moves the last kept bit to the end of the fraction, rounding included.
        let shifted = f32::from_bits(magnitude) + 0.5;
        return sign | (shifted.to_bits() - 0x3f00_0000) as u16;
    }
    let rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    sign | ((rounded - 0x3800_0000) >> 13) as u16
}

#[cfg(test)]
mod tests {
    use super::{AtomicOp, f16_from, f16_to};

    #[test]
    fn integers_of_both_widths() {
        use AtomicOp::*;
        assert_eq!(Add.apply(u64::from(u32::MAX), 2, 0, 4), 1);
        assert_eq!(Add.apply(u64::from(u32::MAX), 2, 0, 8), 0x1_0000_0001);
        assert_eq!(Sub.apply(1, 2, 0, 4), u64::from(u32::MAX));
        assert_eq!(SMin.apply(u64::from(u32::MAX), 1, 0, 4), u64::from(u32::MAX));
        assert_eq!(UMin.apply(u64::from(u32::MAX), 1, 0, 4), 1);
        assert_eq!(SMax.apply(u64::MAX, 1, 0, 8), 1);
        assert_eq!(CmpSwap.apply(5, 9, 5, 4), 9);
        assert_eq!(CmpSwap.apply(5, 9, 6, 4), 5);
        assert_eq!((Inc.apply(3, 3, 0, 4), Inc.apply(2, 3, 0, 4)), (0, 3));
        assert_eq!((Dec.apply(0, 3, 0, 4), Dec.apply(4, 3, 0, 4), Dec.apply(2, 3, 0, 4)), (3, 3, 1));
        assert_eq!(MaskOr.apply(0xff, 0x0f, 0x05, 4), 0xf5);
        assert_eq!(RevSub.apply(3, 10, 0, 8), 7);
    }

    #[test]
    fn floats_of_both_widths() {
        let one = u64::from(1f32.to_bits());
        assert_eq!(AtomicOp::FAdd.apply(one, one, 0, 4), u64::from(2f32.to_bits()));
        assert_eq!(AtomicOp::FAdd.apply(1f64.to_bits(), 2f64.to_bits(), 0, 8), 3f64.to_bits());
        assert_eq!(AtomicOp::PkAddF16.apply(0x3c00_4000, 0x3c00_3c00, 0, 4), 0x4000_4200);
        assert_eq!(AtomicOp::PkAddBf16.apply(0x3f80_4000, 0x3f80_3f80, 0, 4), 0x4000_4040);
    }

    #[test]
    fn halves_round_to_even_and_come_back() {
        for bits in 0..=u16::MAX {
            let value = f16_to(bits);
            match value.is_nan() {
                true => assert!(f16_to(f16_from(value)).is_nan()),
                false => assert_eq!(f16_from(value), bits, "{bits:#x}"),
            }
        }
        assert_eq!(f16_from(65519.0), 0x7bff);
        assert_eq!(f16_from(65520.0), 0x7c00);
        assert_eq!(f16_from(1.0 + 1.0 / 2048.0), 0x3c00, "a tie goes to even");
        assert_eq!(f16_from(2f32.powi(-25)), 0);
        assert_eq!(f16_from(2f32.powi(-25) * 1.001), 1);
    }
}

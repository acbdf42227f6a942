//! Numbers as bits: every dtype's values, conversions between them, elements in packed memory.
//!
//! What is decided here holds for every executor:
//! - A value is carried as 64 *canonical* bits: integers extended by their own sign, floats as the bits of their dtype in
//!   the low end, bools 0 or 1.
//! - Conversion to a float rounds to nearest, ties to even, once, also from 64-bit integers. f64, f32, f16 and bf16
//!   overflow to infinity; f8e4m3, f8e5m2 and f4 saturate to the largest finite value (infinities, too), as the `satfinite`
//!   conversions of the hardware do.
//! - A NaN that a conversion or arithmetic gives is the canonical one: positive, quiet, no payload; `0x7F` in both 8-bit
//!   formats. f4 has none and gives its largest value, +6.
//! - Float to integer cuts towards zero and saturates; NaN gives 0. Integer to integer keeps the low bits. To bool:
//!   anything but zero is true (NaN is true).
//! - Sub-byte elements are packed, the first in the low bits.

use crate::dtype::{DType, DTypeClass};

/// A binary float format of at most 64 bits: sign, exponent, fraction.
#[derive(Clone, Copy, Debug)]
struct Format {
    /// Bits of the fraction.
    fraction: u32,
    /// Exponent bias.
    bias: i32,
    /// Bit number of the sign.
    sign: u32,
    /// Magnitude bits of the largest finite value.
    max: u64,
    /// Magnitude bits of infinity, where values that are too large become it.
    infinity: Option<u64>,
    /// Magnitude bits of the canonical NaN (for f4: of what a NaN becomes).
    nan: u64,
    /// Least magnitude bits that are a NaN (one past the largest magnitude if there is none).
    first_nan: u64,
}

/// IEEE 754 for 16 to 64 bits; OCP OFP8 1.0 for f8; OCP MX 1.0 for f4. `None` for dtypes that are no floats.
fn format(dtype: DType) -> Option<Format> {
    let ieee = |fraction: u32, exponent: u32| {
        let infinity = ((1u64 << exponent) - 1) << fraction;
        Format {
            fraction,
            bias: (1 << (exponent - 1)) - 1,
            sign: fraction + exponent,
            max: infinity - 1,
            infinity: Some(infinity),
            nan: infinity | 1 << (fraction - 1),
            first_nan: infinity + 1,
        }
    };
    Some(match dtype {
        DType::F64 => ieee(52, 11),
        DType::F32 => ieee(23, 8),
        DType::F16 => ieee(10, 5),
        DType::BF16 => ieee(7, 8),
        DType::F8E5M2 => Format { infinity: None, nan: 0x7F, ..ieee(2, 5) },
        DType::F8E4M3 => {
            Format { fraction: 3, bias: 7, sign: 7, max: 0x7E, infinity: None, nan: 0x7F, first_nan: 0x7F }
        }
        DType::F4 => Format { fraction: 1, bias: 1, sign: 3, max: 0x7, infinity: None, nan: 0x7, first_nan: 0x8 },
        _ => return None,
    })
}

impl Format {
    /// Bits of `(-1)^negative * m * 2^e`, rounded to nearest even.
    fn encode(&self, negative: bool, m: u128, e: i32) -> u64 {
        let sign = u64::from(negative) << self.sign;
        if m == 0 {
            return sign;
        }
        let top = 127 - m.leading_zeros() as i32 + e; // exponent of the leading one
        let least = 1 - self.bias; // smallest normal exponent
        let quantum = top.max(least) - self.fraction as i32;
        let units = round_shift(m, quantum - e);
        // Subnormals have no implicit one; where rounding carries, the carry moves into the exponent by itself.
        let magnitude = match u64::try_from((top - least).max(-1) + 1) {
            Ok(0) | Err(_) => units,
            Ok(biased) => {
                if biased > 1 << 12 {
                    return sign | self.infinity.unwrap_or(self.max);
                }
                ((biased - 1) << self.fraction) + units
            }
        };
        if magnitude > self.max { sign | self.infinity.unwrap_or(self.max) } else { sign | magnitude }
    }

    /// The value; exact.
    fn decode(&self, bits: u64) -> f64 {
        let magnitude = bits & ((1 << self.sign) - 1);
        let sign = if bits >> self.sign & 1 == 1 { -1.0 } else { 1.0 };
        if magnitude >= self.first_nan {
            return f64::NAN;
        }
        if magnitude > self.max {
            return sign * f64::INFINITY;
        }
        let exponent = (magnitude >> self.fraction) as i32;
        let fraction = magnitude & ((1 << self.fraction) - 1);
        let (units, exponent) = if exponent == 0 { (fraction, 1) } else { (fraction | 1 << self.fraction, exponent) };
        sign * units as f64 * 2f64.powi(exponent - self.bias - self.fraction as i32)
    }
}

/// `m / 2^shift` rounded to nearest even; a negative shift multiplies.
fn round_shift(m: u128, shift: i32) -> u64 {
    if shift <= 0 {
        return (m << shift.unsigned_abs().min(127)) as u64;
    }
    if shift > 127 {
        return 0; // below half of the smallest unit
    }
    let units = (m >> shift) as u64;
    let rest = m & ((1u128 << shift) - 1);
    let half = 1u128 << (shift - 1);
    units + u64::from(rest > half || (rest == half && units & 1 == 1))
}

/// Value of the bits of a float dtype; exact. NaNs lose sign and payload. Other dtypes: the integer value, rounded.
pub fn to_f64(dtype: DType, bits: u64) -> f64 {
    match (dtype, format(dtype)) {
        (DType::F64, _) => f64::from_bits(bits),
        (DType::F32, _) => f64::from(f32::from_bits(bits as u32)),
        (_, Some(f)) => f.decode(bits),
        (d, None) if d.class() == DTypeClass::Signed => bits as i64 as f64,
        (_, None) => bits as f64,
    }
}

/// Bits of the nearest value of a dtype; see the head of the file for ties, overflow and NaN.
pub fn from_f64(dtype: DType, v: f64) -> u64 {
    let Some(f) = format(dtype) else { return f64_to_int(dtype, v) };
    if v.is_nan() {
        return f.nan;
    }
    let negative = v.is_sign_negative();
    if v.is_infinite() {
        return u64::from(negative) << f.sign | f.infinity.unwrap_or(f.max);
    }
    let bits = v.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7FF) as i32, bits & ((1 << 52) - 1));
    let (m, exponent) = if exponent == 0 { (fraction, 1) } else { (fraction | 1 << 52, exponent) };
    f.encode(negative, u128::from(m), exponent - 1075)
}

/// Cut towards zero, saturating; NaN gives 0; bool: not zero.
fn f64_to_int(dtype: DType, v: f64) -> u64 {
    let bits = dtype.bits();
    match dtype.class() {
        DTypeClass::Bool => u64::from(v != 0.0),
        DTypeClass::Signed => (v as i64).clamp(i64::MIN >> (64 - bits), i64::MAX >> (64 - bits)) as u64,
        _ => (v as u64).min(u64::MAX >> (64 - bits)),
    }
}

/// Canonical bits of what lies in memory (or of any number): cut to the dtype's width, signed types extended. A bool byte
/// that is neither 0 nor 1 counts as true.
pub fn from_bits(dtype: DType, raw: u64) -> u64 {
    let unused = 64 - dtype.bits();
    match dtype.class() {
        DTypeClass::Bool => u64::from(raw & 0xFF != 0),
        DTypeClass::Signed => ((raw << unused) as i64 >> unused) as u64,
        _ => raw << unused >> unused,
    }
}

/// What lies in memory for canonical bits: the dtype's width, zeros above.
pub fn to_bits(dtype: DType, canonical: u64) -> u64 {
    let unused = 64 - dtype.bits();
    canonical << unused >> unused
}

/// Converts canonical bits of `from` to canonical bits of `to`.
pub fn convert(from: DType, to: DType, bits: u64) -> u64 {
    if from == to {
        return bits;
    }
    match (format(from), format(to)) {
        (Some(_), _) => from_f64(to, to_f64(from, bits)),
        (None, Some(f)) => {
            let signed = from.class() == DTypeClass::Signed;
            let negative = signed && (bits as i64) < 0;
            let m = if signed { (bits as i64).unsigned_abs() } else { bits };
            f.encode(negative, u128::from(m), 0)
        }
        (None, None) if to == DType::Bool => u64::from(bits != 0),
        (None, None) => from_bits(to, bits),
    }
}

/// Is it a NaN of this float dtype?
pub fn is_nan(dtype: DType, bits: u64) -> bool {
    format(dtype).is_some_and(|f| bits & ((1 << f.sign) - 1) >= f.first_nan)
}

/// The canonical NaN of a dtype that has one.
pub fn canonical_nan(dtype: DType) -> Option<u64> {
    format(dtype).filter(|f| f.nan >= f.first_nan).map(|f| f.nan)
}

/// Bits of element `index` of packed memory that begins with element 0; `None` outside.
pub fn read_elem(bytes: &[u8], dtype: DType, index: usize) -> Option<u64> {
    let width = dtype.bits();
    if width < 8 {
        let per_byte = (8 / width) as usize;
        let byte = *bytes.get(index / per_byte)?;
        let shift = (index % per_byte) as u32 * width;
        return Some(u64::from(byte) >> shift & ((1 << width) - 1));
    }
    let size = (width / 8) as usize;
    let start = index.checked_mul(size)?;
    let part = bytes.get(start..start.checked_add(size)?)?;
    let mut word = [0u8; 8];
    word[..size].copy_from_slice(part);
    Some(u64::from_le_bytes(word))
}

/// Writes the low bits of `bits` to element `index`; the neighbours in a shared byte stay. `None` outside.
pub fn write_elem(bytes: &mut [u8], dtype: DType, index: usize, bits: u64) -> Option<()> {
    let width = dtype.bits();
    if width < 8 {
        let per_byte = (8 / width) as usize;
        let byte = bytes.get_mut(index / per_byte)?;
        let shift = (index % per_byte) as u32 * width;
        let mask = ((1u8 << width) - 1) << shift;
        *byte = *byte & !mask | ((bits << shift) as u8 & mask);
        return Some(());
    }
    let size = (width / 8) as usize;
    let start = index.checked_mul(size)?;
    bytes.get_mut(start..start.checked_add(size)?)?.copy_from_slice(&bits.to_le_bytes()[..size]);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of a small format written out from its definition in the standard, magnitude by magnitude.
    fn table(dtype: DType) -> Vec<f64> {
        match dtype {
            DType::F4 => vec![0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0],
            DType::F8E4M3 => small_table(3, 7, 0x7F),
            DType::F8E5M2 => small_table(2, 15, 0x7C),
            _ => Vec::new(),
        }
    }

    fn small_table(fraction: u32, bias: i32, end: u32) -> Vec<f64> {
        let steps = 1u32 << fraction;
        let value = |i: u32| {
            let (exponent, step) = (i / steps, i % steps);
            let unit = 2f64.powi(exponent.max(1) as i32 - bias - fraction as i32);
            f64::from(if exponent == 0 { step } else { steps + step }) * unit
        };
        (0..end).map(value).collect()
    }

    #[test]
    fn small_formats_decode_to_their_tables() {
        assert_eq!(table(DType::F8E4M3).last(), Some(&448.0));
        assert_eq!(table(DType::F8E5M2).last(), Some(&57344.0));
        for d in [DType::F4, DType::F8E4M3, DType::F8E5M2] {
            let values = table(d);
            let sign = 1u64 << (d.bits() - 1);
            for (i, v) in values.iter().enumerate() {
                assert_eq!(to_f64(d, i as u64), *v, "{d} {i:#x}");
                assert_eq!(to_f64(d, i as u64 | sign), -*v, "{d} -{i:#x}");
                assert_eq!(from_f64(d, *v), i as u64, "{d} {v}");
                assert_eq!(from_f64(d, -*v), i as u64 | sign, "{d} -{v}");
            }
        }
        assert!(to_f64(DType::F8E4M3, 0x7F).is_nan() && to_f64(DType::F8E4M3, 0xFF).is_nan());
        assert_eq!(to_f64(DType::F8E5M2, 0x7C), f64::INFINITY);
        assert_eq!(to_f64(DType::F8E5M2, 0xFC), f64::NEG_INFINITY);
        assert!((0x7D..=0x7F).all(|b| to_f64(DType::F8E5M2, b).is_nan()));
    }

    #[test]
    fn small_formats_round_to_the_nearest_even() {
        for d in [DType::F4, DType::F8E4M3, DType::F8E5M2] {
            let values = table(d);
            for (i, pair) in values.windows(2).enumerate() {
                let middle = (pair[0] + pair[1]) / 2.0;
                let even = (i + i % 2) as u64;
                assert_eq!(from_f64(d, middle), even, "{d}: tie {middle}");
                assert_eq!(from_f64(d, middle.next_down()), i as u64, "{d}: below {middle}");
                assert_eq!(from_f64(d, middle.next_up()), i as u64 + 1, "{d}: above {middle}");
            }
            let last = values.len() as u64 - 1;
            for large in [values[values.len() - 1] * 1.5, 1e300, f64::INFINITY] {
                assert_eq!(from_f64(d, large), last, "{d} saturates");
            }
        }
        assert_eq!(from_f64(DType::F8E4M3, f64::NAN), 0x7F);
        assert_eq!(from_f64(DType::F8E5M2, -f64::NAN), 0x7F);
        assert_eq!(to_f64(DType::F4, from_f64(DType::F4, f64::NAN)), 6.0);
    }

    #[test]
    fn sixteen_bit_formats_agree_with_half() {
        for bits in 0..=u16::MAX {
            let (h, b) = (half::f16::from_bits(bits), half::bf16::from_bits(bits));
            for (d, v, nan) in [(DType::F16, h.to_f64(), h.is_nan()), (DType::BF16, b.to_f64(), b.is_nan())] {
                let ours = to_f64(d, u64::from(bits));
                assert!(ours == v || (nan && ours.is_nan()), "{d} {bits:#x}");
                assert_eq!(is_nan(d, u64::from(bits)), nan);
                if !nan {
                    assert_eq!(from_f64(d, ours), u64::from(bits), "{d} {bits:#x}");
                }
            }
        }
        // A tie with something far below it goes up: the low half of the f64 counts.
        let above_tie = 1.0 + 2f64.powi(-11) + 2f64.powi(-45);
        assert_eq!(from_f64(DType::F16, above_tie), 0x3C01);
        assert_eq!(from_f64(DType::F16, 65520.0), 0x7C00);
        assert_eq!(from_f64(DType::F16, 65519.0), 0x7BFF);
    }

    #[test]
    fn f32_and_f64_agree_with_the_machine() {
        let mut x: u64 = 1;
        for _ in 0..20_000 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let v = f64::from_bits(x);
            if v.is_nan() {
                continue;
            }
            assert_eq!(from_f64(DType::F32, v), u64::from((v as f32).to_bits()), "{v}");
            assert_eq!(from_f64(DType::F64, v), x);
            let small = v * 1e-40 / v.abs().max(1e-300); // also around the subnormals of f32
            assert_eq!(from_f64(DType::F32, small), u64::from((small as f32).to_bits()), "{small}");
        }
    }

    #[test]
    fn integers_to_floats_round_once() {
        // 2^62 + 2^54 is a tie in bf16; the one far below decides.
        let v = (1i64 << 62) + (1 << 54) + 1;
        assert_eq!(to_f64(DType::BF16, convert(DType::I64, DType::BF16, v as u64)), 2f64.powi(62) + 2f64.powi(55));
        for v in [0, 1, -1, i64::MIN, i64::MAX, 0x7FFF_FF7F_FFFF_FFFF, (1 << 24) + 1, -((1 << 24) + 3)] {
            assert_eq!(convert(DType::I64, DType::F32, v as u64), u64::from((v as f32).to_bits()));
            assert_eq!(convert(DType::I64, DType::F64, v as u64), (v as f64).to_bits());
            assert_eq!(convert(DType::U64, DType::F32, v as u64), u64::from((v as u64 as f32).to_bits()));
        }
        assert_eq!(to_f64(DType::F4, convert(DType::I8, DType::F4, -128i64 as u64)), -6.0);
    }

    #[test]
    fn floats_to_integers_cut_and_saturate() {
        let to = |d, v: f64| convert(DType::F64, d, v.to_bits()) as i64;
        assert_eq!((to(DType::I4, 7.9), to(DType::I4, 8.0), to(DType::I4, -9.0), to(DType::I4, -7.9)), (7, 7, -8, -7));
        assert_eq!((to(DType::U4, -1.0), to(DType::U4, 15.5), to(DType::U4, 99.0)), (0, 15, 15));
        assert_eq!((to(DType::I32, f64::NAN), to(DType::U8, f64::INFINITY)), (0, 255));
        assert_eq!((to(DType::I64, 1e30), to(DType::Bool, -0.0), to(DType::Bool, 0.25)), (i64::MAX, 0, 1));
    }

    #[test]
    fn integers_to_integers_wrap() {
        assert_eq!(convert(DType::I32, DType::I8, 200) as i64, -56);
        assert_eq!(convert(DType::I8, DType::U8, -1i64 as u64), 255);
        assert_eq!(convert(DType::I4, DType::I64, -8i64 as u64) as i64, -8);
        assert_eq!(convert(DType::I32, DType::Bool, 256), 1);
        assert_eq!(from_bits(DType::I4, 0xF) as i64, -1);
        assert_eq!(to_bits(DType::I4, -1i64 as u64), 0xF);
    }

    #[test]
    fn packed_elements_keep_their_neighbours() {
        for d in DType::ALL.iter().copied() {
            let bits = |i: usize| to_bits(d, 0x9E37_79B9_7F4A_7C15u64.wrapping_mul(i as u64 + 1));
            let mut bytes = vec![0xCD; d.bytes_for(9).unwrap() as usize];
            for i in [8, 0, 3, 1, 2, 7, 6, 5, 4] {
                write_elem(&mut bytes, d, i, bits(i)).unwrap();
            }
            assert!((0..9).all(|i| read_elem(&bytes, d, i) == Some(bits(i))), "{d}");
            assert_eq!(read_elem(&bytes, d, 10), None);
            assert_eq!(read_elem(&bytes, d, usize::MAX), None);
            assert_eq!(write_elem(&mut bytes, d, 100, 0), None);
        }
        let mut bytes = [0u8; 1];
        write_elem(&mut bytes, DType::U4, 0, 0xA).unwrap();
        write_elem(&mut bytes, DType::U4, 1, 0x5).unwrap();
        assert_eq!(bytes, [0x5A]);
    }
}

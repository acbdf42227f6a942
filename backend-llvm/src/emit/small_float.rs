//! Floats of eight and four bits in software: exact to f64, and from f64 with one rounding.
//!
//! Must hold: the same bits as the reference interpreter's (OCP formats; values beyond the largest finite one become it,
//! infinities too; NaN becomes NaN where there is one, else zero; the sign is kept).

use inkwell::IntPredicate;
use inkwell::values::{FloatValue, IntValue};
use tilewright_ir::DType;

use super::{Emitter, Error, Result};

type Int<'ctx> = IntValue<'ctx>;

/// A format of at most eight bits.
struct Format {
    /// Bits of the fraction.
    mantissa: u32,
    bias: u64,
    /// Bit number of the sign.
    sign: u32,
    /// Largest finite value.
    max: f64,
    /// Bits of infinity, without sign.
    infinity: Option<u64>,
    /// Bits of a NaN, without sign.
    nan: Option<u64>,
}

fn format(dtype: DType) -> Result<Format> {
    Ok(match dtype {
        DType::F8E4M3 => Format { mantissa: 3, bias: 7, sign: 7, max: 448.0, infinity: None, nan: Some(0x7f) },
        DType::F8E5M2 => Format { mantissa: 2, bias: 15, sign: 7, max: 57344.0, infinity: Some(0x7c), nan: Some(0x7f) },
        DType::F4 => Format { mantissa: 1, bias: 1, sign: 3, max: 6.0, infinity: None, nan: None },
        other => return Err(Error::Build(format!("{other} is no small float"))),
    })
}

/// Exponent bias and fraction bits of f64.
const BIAS: u64 = 1023;
const FRACTION: u32 = 52;

impl<'ctx> Emitter<'_, '_, 'ctx> {
    /// The value of `bits` as an f64.
    pub(crate) fn decode_small(&mut self, dtype: DType, bits: Int<'ctx>) -> Result<FloatValue<'ctx>> {
        let f = format(dtype)?;
        let g = &self.g;
        let raw = g.zext64(bits, "bits")?;
        let magnitude = g.and(raw, g.i64((1 << f.sign) - 1), "magnitude")?;
        let exponent = g.lshr(magnitude, f.mantissa, "exponent")?;
        // A normal number's exponent and fraction move to their place in an f64, with the bias changed.
        let placed = g.shl(magnitude, FRACTION - f.mantissa, "")?;
        let normal = g.add(placed, g.i64((BIAS - f.bias) << FRACTION), "normal")?;
        // A subnormal one is its fraction times a power of two.
        let f64_ty = g.context.f64_type();
        let low = g.trunc32(magnitude, "")?;
        let units = g.builder.build_unsigned_int_to_float(low, f64_ty, "units")?;
        let unit = f64::from_bits((BIAS + 1 - f.bias - u64::from(f.mantissa)) << FRACTION);
        let small = g.builder.build_float_mul(units, f64_ty.const_float(unit), "subnormal")?;
        let small = self.float_bits(small)?;
        let g = &self.g;
        let is_small = g.cmp(IntPredicate::EQ, exponent, g.i64(0), "")?;
        let mut result = g.select(is_small, small, normal, "finite")?.into_int_value();
        const NAN: u64 = 0x7ff8_0000_0000_0000;
        if let Some(infinity) = f.infinity {
            let (is_infinite, is_nan) = (
                g.cmp(IntPredicate::EQ, magnitude, g.i64(infinity), "")?,
                g.cmp(IntPredicate::UGT, magnitude, g.i64(infinity), "")?,
            );
            result = g.select(is_infinite, g.i64(f64::INFINITY.to_bits()), result, "")?.into_int_value();
            result = g.select(is_nan, g.i64(NAN), result, "")?.into_int_value();
        } else if let Some(nan) = f.nan {
            let is_nan = g.cmp(IntPredicate::EQ, magnitude, g.i64(nan), "")?;
            result = g.select(is_nan, g.i64(NAN), result, "")?.into_int_value();
        }
        let sign = g.shl(g.lshr(raw, f.sign, "")?, 63, "sign")?;
        let whole = g.or(result, sign, "decoded.bits")?;
        Ok(g.builder.build_bit_cast(whole, f64_ty, "decoded")?.into_float_value())
    }

    /// The nearest value of the format, ties to even, as its bits.
    pub(crate) fn encode_small(&mut self, dtype: DType, value: FloatValue<'ctx>) -> Result<Int<'ctx>> {
        let f = format(dtype)?;
        let whole = self.float_bits(value)?;
        let g = &self.g;
        let f64_ty = g.context.f64_type();
        let magnitude = g.and(whole, g.i64(i64::MAX as u64), "magnitude")?;
        let is_nan = g.cmp(IntPredicate::UGT, magnitude, g.i64(f64::INFINITY.to_bits()), "is_nan")?;
        // Bits of positive floats are ordered as the floats are.
        let too_large = g.cmp(IntPredicate::UGT, magnitude, g.i64(f.max.to_bits()), "")?;
        let kept = g.select(too_large, g.i64(f.max.to_bits()), magnitude, "kept")?.into_int_value();
        let exponent = g.lshr(kept, FRACTION, "")?;
        let least = g.i64(BIAS + 1 - f.bias);
        let is_small = g.cmp(IntPredicate::ULT, exponent, least, "")?;
        let exponent = g.select(is_small, least, exponent, "exponent")?.into_int_value();
        // Count units of the last place: times 2^(mantissa - exponent), then plus 2^52, where an f64's own last place is one
        // and its addition rounds ties to even; the sum's low bits are the count.
        let scale = g.shl(g.sub(g.i64(2 * BIAS + u64::from(f.mantissa)), exponent, "")?, FRACTION, "scale.bits")?;
        let scale = g.builder.build_bit_cast(scale, f64_ty, "scale")?.into_float_value();
        let absolute = g.builder.build_bit_cast(kept, f64_ty, "absolute")?.into_float_value();
        let scaled = g.builder.build_float_mul(absolute, scale, "scaled")?;
        let rounded = g.builder.build_float_add(scaled, f64_ty.const_float((1u64 << FRACTION) as f64), "rounded")?;
        let units = self.float_bits(rounded)?;
        let g = &self.g;
        let units = g.and(units, g.i64(0xff), "units")?;
        // Units count from the implicit one; for subnormal numbers the exponent field is 0 and so is the implicit one.
        let steps = g.sub(exponent, least, "steps")?;
        let placed = g.add(g.shl(steps, f.mantissa, "")?, units, "encoded")?;
        let finite = g.select(is_nan, g.i64(f.nan.unwrap_or(0)), placed, "")?.into_int_value();
        let sign = g.shl(g.lshr(whole, 63, "")?, f.sign, "sign")?;
        let all = g.or(finite, sign, "")?;
        Ok(g.builder.build_int_truncate(all, g.int_type(dtype.bits()), "small")?)
    }

    fn float_bits(&mut self, value: FloatValue<'ctx>) -> Result<Int<'ctx>> {
        Ok(self.g.builder.build_bit_cast(value, self.g.context.i64_type(), "")?.into_int_value())
    }
}

//! Floating-point arithmetic on bit patterns, as the MODE register wants it.
//!
//! What must hold here:
//! - Rounding is to nearest even (the machine refuses launches and `s_setreg` that ask for another mode).
//! - Denormal inputs and results become zeros of the same sign exactly where MODE says so.
//! - The first NaN among the operands is the result, made quiet; an invalid operation gives the positive default NaN. The
//!   host's choice of NaN never shows.
//! - 16-bit results are rounded once, from a value that was computed exactly or with a sticky last bit.

/// What MODE says about floating point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fp {
    /// 32-bit denormal inputs count as zero.
    pub(super) flush_in32: bool,
    /// 32-bit denormal results become zero.
    pub(super) flush_out32: bool,
    /// 64- and 16-bit denormal inputs count as zero.
    pub(super) flush_in64: bool,
    /// 64- and 16-bit denormal results become zero.
    pub(super) flush_out64: bool,
    /// IEEE mode: signalling NaNs are made quiet by minimum and maximum, output modifiers are off.
    pub(super) ieee: bool,
    /// Clamping turns NaN into zero.
    pub(super) dx10_clamp: bool,
}

impl Fp {
    /// Reads MODE; its layout is at [`WaveState::mode`](crate::wave::WaveState).
    pub(super) const fn of(mode: u32) -> Self {
        Self {
            flush_in32: mode & 1 << 4 == 0,
            flush_out32: mode & 1 << 5 == 0,
            flush_in64: mode & 1 << 6 == 0,
            flush_out64: mode & 1 << 7 == 0,
            dx10_clamp: mode & 1 << 8 != 0,
            ieee: mode & 1 << 9 != 0,
        }
    }
}

/// The NaN that invalid operations give.
pub(super) const NAN32: u32 = 0x7fc0_0000;
/// The same for 64 bits.
pub(super) const NAN64: u64 = 0x7ff8_0000_0000_0000;
/// The same for 16 bits.
pub(super) const NAN16: u16 = 0x7e00;

/// A floating-point format by its bit pattern: what arithmetic on it needs to know.
pub(super) trait Bits: Copy + PartialEq {
    /// Whether it is a NaN.
    fn is_nan(self) -> bool;
    /// Whether it is a signalling NaN.
    fn is_snan(self) -> bool;
    /// The NaN made quiet.
    fn quiet(self) -> Self;
    /// Denormal inputs flushed as `fp` says.
    fn input(self, fp: Fp) -> Self;
    /// Denormal results flushed as `fp` says, any host NaN replaced by the default one.
    fn output(self, fp: Fp) -> Self;
    /// Whether the sign bit is set.
    fn negative(self) -> bool;
    /// Ordered "less than" of numbers.
    fn less(self, other: Self) -> bool;
    /// Ordered equality of numbers; zeros of both signs are equal.
    fn equal(self, other: Self) -> bool;
}

macro_rules! bits {
    ($bits:ty, $float:ty, $exp:literal, $mantissa:literal, $quiet:literal, $default:ident, $fin:ident, $fout:ident) => {
        impl Bits for $bits {
            #[inline(always)]
            fn is_nan(self) -> bool {
                self & ($exp | $mantissa) > $exp
            }
            #[inline(always)]
            fn is_snan(self) -> bool {
                self.is_nan() && self & $quiet == 0
            }
            #[inline(always)]
            fn quiet(self) -> Self {
                self | $quiet
            }
            #[inline(always)]
            fn input(self, fp: Fp) -> Self {
                if fp.$fin && self & $exp == 0 { self & !$mantissa } else { self }
            }
            #[inline(always)]
            fn output(self, fp: Fp) -> Self {
                if self.is_nan() {
                    $default
                } else if fp.$fout && self & $exp == 0 {
                    self & !$mantissa
                } else {
                    self
                }
            }
            #[inline(always)]
            fn negative(self) -> bool {
                self >> (<$bits>::BITS - 1) != 0
            }
            #[inline(always)]
            fn less(self, other: Self) -> bool {
                <$float>::from_bits(self) < <$float>::from_bits(other)
            }
            #[inline(always)]
            fn equal(self, other: Self) -> bool {
                <$float>::from_bits(self) == <$float>::from_bits(other)
            }
        }
    };
}

bits!(u32, f32, 0x7f80_0000, 0x007f_ffff, 0x0040_0000, NAN32, flush_in32, flush_out32);
bits!(u64, f64, 0x7ff0_0000_0000_0000, 0x000f_ffff_ffff_ffff, 0x0008_0000_0000_0000, NAN64, flush_in64, flush_out64);

/// Half precision has no host type: comparisons go through exact 64-bit values.
impl Bits for u16 {
    #[inline(always)]
    fn is_nan(self) -> bool {
        self & 0x7fff > 0x7c00
    }
    #[inline(always)]
    fn is_snan(self) -> bool {
        self.is_nan() && self & 0x0200 == 0
    }
    #[inline(always)]
    fn quiet(self) -> Self {
        self | 0x0200
    }
    #[inline(always)]
    fn input(self, fp: Fp) -> Self {
        if fp.flush_in64 && self & 0x7c00 == 0 { self & 0x8000 } else { self }
    }
    #[inline(always)]
    fn output(self, fp: Fp) -> Self {
        if self.is_nan() {
            NAN16
        } else if fp.flush_out64 && self & 0x7c00 == 0 {
            self & 0x8000
        } else {
            self
        }
    }
    #[inline(always)]
    fn negative(self) -> bool {
        self & 0x8000 != 0
    }
    #[inline(always)]
    fn less(self, other: Self) -> bool {
        half_to_f64(self) < half_to_f64(other)
    }
    #[inline(always)]
    fn equal(self, other: Self) -> bool {
        half_to_f64(self) == half_to_f64(other)
    }
}

/// A two-operand operation: NaN operands first, else `compute` on flushed inputs, its result flushed.
#[inline(always)]
pub(super) fn binary<B: Bits>(fp: Fp, a: B, b: B, compute: impl Fn(B, B) -> B) -> B {
    let (x, y) = (a.input(fp), b.input(fp));
    let result = compute(x, y).output(fp);
    let result = if b.is_nan() { b.quiet() } else { result };
    if a.is_nan() { a.quiet() } else { result }
}

/// A one-operand operation, likewise.
#[inline(always)]
pub(super) fn unary<B: Bits>(fp: Fp, a: B, compute: impl Fn(B) -> B) -> B {
    let result = compute(a.input(fp)).output(fp);
    if a.is_nan() { a.quiet() } else { result }
}

/// A three-operand operation, likewise.
#[inline(always)]
pub(super) fn ternary<B: Bits>(fp: Fp, a: B, b: B, c: B, compute: impl Fn(B, B, B) -> B) -> B {
    let result = compute(a.input(fp), b.input(fp), c.input(fp)).output(fp);
    let result = if c.is_nan() { c.quiet() } else { result };
    let result = if b.is_nan() { b.quiet() } else { result };
    if a.is_nan() { a.quiet() } else { result }
}

/// The smaller operand. A quiet NaN loses against a number; in IEEE mode a signalling NaN wins, made quiet; -0 is below +0.
#[inline(always)]
pub(super) fn minimum<B: Bits>(fp: Fp, a: B, b: B) -> B {
    extreme(fp, a, b, |x, y| x.less(y) || (x.equal(y) && x.negative()))
}

/// The larger operand, by the same rules.
#[inline(always)]
pub(super) fn maximum<B: Bits>(fp: Fp, a: B, b: B) -> B {
    extreme(fp, a, b, |x, y| y.less(x) || (x.equal(y) && !x.negative()))
}

#[inline(always)]
fn extreme<B: Bits>(fp: Fp, a: B, b: B, first: impl Fn(B, B) -> bool) -> B {
    let (x, y) = (a.input(fp), b.input(fp));
    if fp.ieee && a.is_snan() {
        a.quiet()
    } else if fp.ieee && b.is_snan() {
        b.quiet()
    } else if a.is_nan() {
        if b.is_nan() { a } else { y.output(fp) }
    } else if b.is_nan() || first(x, y) {
        x.output(fp)
    } else {
        y.output(fp)
    }
}

/// `a + b`.
#[inline(always)]
pub(super) fn add32(fp: Fp, a: u32, b: u32) -> u32 {
    binary(fp, a, b, |x, y| (f32::from_bits(x) + f32::from_bits(y)).to_bits())
}

/// `a * b`.
#[inline(always)]
pub(super) fn mul32(fp: Fp, a: u32, b: u32) -> u32 {
    binary(fp, a, b, |x, y| (f32::from_bits(x) * f32::from_bits(y)).to_bits())
}

/// `a * b + c`, rounded once.
#[inline(always)]
pub(super) fn fma32(fp: Fp, a: u32, b: u32, c: u32) -> u32 {
    ternary(fp, a, b, c, fma32_bits)
}

/// 2 to the power of `exponent`, which must be that of a normal double.
pub(super) const fn power64(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// `(a * b + c) * 2^exponent`, rounded once; the exponent is small enough for doubles to hold everything.
pub(super) fn fma32_scaled(fp: Fp, a: u32, b: u32, c: u32, exponent: i32) -> u32 {
    let scale = power64(exponent);
    ternary(fp, a, b, c, |a, b, c| {
        let product = f64::from(f32::from_bits(a)) * f64::from(f32::from_bits(b));
        ((sum_to_odd(product, f64::from(f32::from_bits(c))) * scale) as f32).to_bits()
    })
}

/// `a * b + c` of flushed numbers: exact product in 64 bits, the sum made odd where inexact, one rounding.
#[inline(always)]
fn fma32_bits(a: u32, b: u32, c: u32) -> u32 {
    let product = f64::from(f32::from_bits(a)) * f64::from(f32::from_bits(b));
    (sum_to_odd(product, f64::from(f32::from_bits(c))) as f32).to_bits()
}

/// `a + b` of two doubles, with the last bit set when digits were lost, so that a later rounding to at most 51 bits sees on
/// which side of a tie the exact sum lies.
#[inline(always)]
fn sum_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    // The exact error of the sum (Knuth's two-sum); not a number where the sum is infinite, which then stays as it is.
    let back = sum - a;
    let error = (a - (sum - back)) + (b - back);
    let bits = sum.to_bits();
    if error == 0.0 || !sum.is_finite() || bits & 1 != 0 {
        return sum;
    }
    // The sum was rounded away from the exact value or towards it; the odd neighbour lies on the exact value's side.
    let away = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if away { bits + 1 } else { bits - 1 })
}

/// `a + b` of doubles.
#[inline(always)]
pub(super) fn add64(fp: Fp, a: u64, b: u64) -> u64 {
    binary(fp, a, b, |x, y| (f64::from_bits(x) + f64::from_bits(y)).to_bits())
}

/// `a * b` of doubles.
#[inline(always)]
pub(super) fn mul64(fp: Fp, a: u64, b: u64) -> u64 {
    binary(fp, a, b, |x, y| (f64::from_bits(x) * f64::from_bits(y)).to_bits())
}

/// `a * b + c` of doubles, rounded once.
#[inline(always)]
pub(super) fn fma64(fp: Fp, a: u64, b: u64, c: u64) -> u64 {
    ternary(fp, a, b, c, |x, y, z| f64::from_bits(x).mul_add(f64::from_bits(y), f64::from_bits(z)).to_bits())
}

/// `(a * b + c) * 2^-128` of doubles, rounded once. The product is small beside `c`, as in the last step of a division.
pub(super) fn fma64_scaled_down(fp: Fp, a: u64, b: u64, c: u64) -> u64 {
    ternary(fp, a, b, c, |x, y, z| {
        let (x, y, z) = (f64::from_bits(x), f64::from_bits(y), f64::from_bits(z));
        let (sum, product) = (x.mul_add(y, z), x * y);
        // What the sum lacks: its difference from `c` is exact, and so is what the product lacks.
        let lost = ((z - sum) + product) + x.mul_add(y, -product);
        let scaled = sum * power64(-128);
        // Only where the sum lay just between two denormals does what it lacks decide: away from the even one.
        let beyond = sum - scaled * power64(128);
        let tie = beyond.abs() == power64(128 - 1075);
        let bits = scaled.to_bits();
        if !tie || lost == 0.0 || (lost > 0.0) != (beyond > 0.0) {
            return bits;
        }
        if (beyond > 0.0) == (sum > 0.0) { bits + 1 } else { bits - 1 }
    })
}

/// `a + b` of halves.
#[inline(always)]
pub(super) fn add16(fp: Fp, a: u16, b: u16) -> u16 {
    binary(fp, a, b, |x, y| f64_to_half(half_to_f64(x) + half_to_f64(y)))
}

/// `a * b` of halves.
#[inline(always)]
pub(super) fn mul16(fp: Fp, a: u16, b: u16) -> u16 {
    binary(fp, a, b, |x, y| f64_to_half(half_to_f64(x) * half_to_f64(y)))
}

/// `a * b + c` of halves, rounded once.
#[inline(always)]
pub(super) fn fma16(fp: Fp, a: u16, b: u16, c: u16) -> u16 {
    ternary(fp, a, b, c, |x, y, z| f64_to_half(sum_to_odd(half_to_f64(x) * half_to_f64(y), half_to_f64(z))))
}

/// The exact value of a half; a NaN stays one with its payload.
#[inline(always)]
pub(super) fn half_to_f64(bits: u16) -> f64 {
    f64::from(f32::from_bits(half_to_f32(bits)))
}

/// The bits of the 32-bit number that equals a half. A NaN keeps its payload in the top bits.
#[inline(always)]
pub(super) fn half_to_f32(bits: u16) -> u32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff);
    if magnitude >= 0x7c00 {
        sign | 0x7f80_0000 | (magnitude & 0x3ff) << 13
    } else if magnitude >= 0x0400 {
        sign | ((magnitude << 13) + (112 << 23))
    } else {
        // A denormal half is a small integer times 2^-24, exactly.
        sign | (magnitude as f32 * f32::from_bits(0x3380_0000)).to_bits()
    }
}

/// The half nearest to a double, ties to even; a NaN gives a quiet NaN with the payload's top bits.
#[inline(always)]
pub(super) fn f64_to_half(value: f64) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 48) & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff_ffff_ffff;
    if magnitude > 0x7ff0_0000_0000_0000 {
        return sign | NAN16 | ((magnitude >> 42) & 0x3ff) as u16;
    }
    // 65520 is the tie between the largest half and the next power of two: from there on it is infinity.
    if magnitude >= 65520f64.to_bits() {
        return sign | 0x7c00;
    }
    // Below 2^-14 halves are multiples of 2^-24: adding 2^28 in a 53-bit format rounds to exactly that step.
    if magnitude < 0x3f10_0000_0000_0000 {
        let rounded = f64::from_bits(magnitude) + 268_435_456.0;
        return sign | (rounded.to_bits() & 0x7ff) as u16;
    }
    let rounded = magnitude + 0x1ff_ffff_ffff + (magnitude >> 42 & 1);
    sign | ((rounded >> 42) - (1008 << 10)) as u16
}

/// The half nearest to a 32-bit number.
#[inline(always)]
pub(super) fn f32_to_half(bits: u32) -> u16 {
    f64_to_half(f64::from(f32::from_bits(bits)))
}

/// The half between zero and a 32-bit number that is nearest to it (rounding towards zero; overflow gives the largest half).
pub(super) fn f32_to_half_rtz(bits: u32) -> u16 {
    let value = f32::from_bits(bits);
    let nearest = f32_to_half(bits);
    if value.is_nan() || value.is_infinite() {
        return nearest;
    }
    let back = f32::from_bits(half_to_f32(nearest));
    if back.abs() > value.abs() { nearest - 1 } else { nearest }
}

/// The bfloat16 nearest to a 32-bit number, ties to even; a NaN gives a quiet NaN.
#[inline(always)]
pub(super) fn f32_to_bf16(bits: u32) -> u16 {
    if bits.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

/// The class of a number as one bit of `v_cmp_class`'s mask: 0 signalling NaN, 1 quiet NaN, 2 -infinity, 3 -normal,
/// 4 -denormal, 5 -0, 6 +0, 7 +denormal, 8 +normal, 9 +infinity.
pub(super) const fn class(negative: bool, exponent: u32, exponent_max: u32, mantissa: u64, quiet_bit: u64) -> u32 {
    if exponent == exponent_max {
        return match (mantissa != 0, negative) {
            (true, _) if mantissa & quiet_bit != 0 => 1 << 1,
            (true, _) => 1,
            (false, true) => 1 << 2,
            (false, false) => 1 << 9,
        };
    }
    match (exponent, mantissa, negative) {
        (0, 0, true) => 1 << 5,
        (0, 0, false) => 1 << 6,
        (0, _, true) => 1 << 4,
        (0, _, false) => 1 << 7,
        (_, _, true) => 1 << 3,
        (_, _, false) => 1 << 8,
    }
}

/// Clamps a result to 0..1; NaN becomes zero if MODE says so.
#[inline(always)]
pub(super) fn clamp32(fp: Fp, bits: u32) -> u32 {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        return if fp.dx10_clamp { 0 } else { bits };
    }
    if value <= 0.0 {
        0
    } else if value > 1.0 {
        0x3f80_0000
    } else {
        bits
    }
}

/// The same for doubles.
pub(super) fn clamp64(fp: Fp, bits: u64) -> u64 {
    let value = f64::from_bits(bits);
    if value.is_nan() {
        return if fp.dx10_clamp { 0 } else { bits };
    }
    if value <= 0.0 {
        0
    } else if value > 1.0 {
        1f64.to_bits()
    } else {
        bits
    }
}

/// The same for halves.
pub(super) fn clamp16(fp: Fp, bits: u16) -> u16 {
    if bits.is_nan() {
        return if fp.dx10_clamp { 0 } else { bits };
    }
    if bits.negative() { 0 } else { bits.min(0x3c00) }
}

/// Output modifier 1 (times 2), 2 (times 4) or 3 (half) of a 32-bit result; off in IEEE mode and where denormal results are
/// kept, as the ISA has it.
pub(super) fn output_modifier32(fp: Fp, omod: u8, bits: u32) -> u32 {
    if omod == 0 || fp.ieee || !fp.flush_out32 {
        return bits;
    }
    let factor = [1.0f32, 2.0, 4.0, 0.5][usize::from(omod & 3)];
    unary(fp, bits, |x| (f32::from_bits(x) * factor).to_bits())
}

/// Ties-to-even rounding to an integral value.
#[inline(always)]
pub(super) fn round_even32(value: f32) -> f32 {
    value.round_ties_even()
}

/// A 32-bit number to a signed integer: towards zero, saturating, NaN gives zero.
#[inline(always)]
pub(super) fn to_i32(value: f64) -> u32 {
    (value as i32) as u32
}

/// The same for an unsigned integer.
#[inline(always)]
pub(super) fn to_u32(value: f64) -> u32 {
    value as u32
}

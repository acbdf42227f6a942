//! Vector floating-point arithmetic of single and double precision.
//!
//! What must hold here: arithmetic goes through [`float`](super::float), which knows MODE and NaNs. Functions that hardware
//! approximates (reciprocal, roots, exponential, logarithm, sine) are computed in double precision and rounded once, which is
//! within the error that the ISA allows; in single precision they flush denormals whatever MODE says, as gfx9 does.

use super::AluFn;
use super::float::{self, Bits, Fp, NAN32};
use super::lane::{
    double1, double2, double3, each, each64, finish32, finish64, put_with_mask, single1, single2, single3,
};
use super::operand::{collect, float32, float64, int32, set_mask};
use crate::isa::Op;

/// The function of a floating-point operation of 32 or 64 bits.
pub(super) fn lookup(op: Op) -> Option<AluFn> {
    single(op).or_else(|| rounding(op)).or_else(|| approximate(op)).or_else(|| double(op)).or_else(|| division(op))
}

/// The sign flipped.
const fn minus(bits: u32) -> u32 {
    bits ^ 0x8000_0000
}

fn single(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VAddF32 => |w, i| single2(w, i, float::add32),
        Op::VSubF32 => |w, i| single2(w, i, |fp, a, b| float::add32(fp, a, minus(b))),
        Op::VSubrevF32 => |w, i| single2(w, i, |fp, a, b| float::add32(fp, minus(a), b)),
        Op::VMulF32 => |w, i| single2(w, i, float::mul32),
        Op::VMulLegacyF32 => |w, i| {
            single2(w, i, |fp, a, b| {
                let zero = |bits: u32| bits.input(fp) & 0x7fff_ffff == 0;
                if zero(a) || zero(b) { 0 } else { float::mul32(fp, a, b) }
            })
        },
        Op::VFmaF32 | Op::VFmacF32 | Op::VFmamkF32 | Op::VFmaakF32 => |w, i| single3(w, i, float::fma32),
        Op::VMinF32 => |w, i| single2(w, i, float::minimum),
        Op::VMaxF32 => |w, i| single2(w, i, float::maximum),
        Op::VMin3F32 => |w, i| single3(w, i, |fp, a, b, c| float::minimum(fp, float::minimum(fp, a, b), c)),
        Op::VMax3F32 => |w, i| single3(w, i, |fp, a, b, c| float::maximum(fp, float::maximum(fp, a, b), c)),
        Op::VMed3F32 => |w, i| single3(w, i, median),
        Op::VMinimum3F32 => |w, i| single3(w, i, |fp, a, b, c| nan_wins(fp, a, b, c, float::minimum)),
        Op::VMaximum3F32 => |w, i| single3(w, i, |fp, a, b, c| nan_wins(fp, a, b, c, float::maximum)),
        Op::VLdexpF32 => |w, i| {
            let fp = Fp::of(w.mode);
            let (a, b) = (float32(w, i, 0), int32(w, i, 1));
            finish32(w, i, fp, each(|l| float::unary(fp, a[l], |x| ldexp32(x, b[l] as i32))))
        },
        _ => return None,
    })
}

/// The middle one; if there is a NaN, the smallest of what remains.
pub(super) fn median<B: Bits>(fp: Fp, a: B, b: B, c: B) -> B {
    if a.is_nan() || b.is_nan() || c.is_nan() {
        return float::minimum(fp, float::minimum(fp, a, b), c);
    }
    float::maximum(fp, float::minimum(fp, a, b), float::minimum(fp, float::maximum(fp, a, b), c))
}

/// Minimum or maximum of three where any NaN is the result (IEEE 754-2019 minimum).
pub(super) fn nan_wins<B: Bits>(fp: Fp, a: B, b: B, c: B, f: impl Fn(Fp, B, B) -> B) -> B {
    for operand in [a, b, c] {
        if operand.is_nan() {
            return operand.quiet();
        }
    }
    f(fp, f(fp, a, b), c)
}

/// `x` times 2 to the power of `exponent`, rounded once: the product is exact in double precision.
fn ldexp32(bits: u32, exponent: i32) -> u32 {
    (f64::from(f32::from_bits(bits)) * float::power64(exponent.clamp(-400, 400))).to_f32_bits()
}

/// Rounding to single precision, as bits.
trait ToSingle {
    fn to_f32_bits(self) -> u32;
}

impl ToSingle for f64 {
    #[inline(always)]
    fn to_f32_bits(self) -> u32 {
        (self as f32).to_bits()
    }
}

/// The same for doubles: the last of the steps alone may round.
fn ldexp64(bits: u64, exponent: i32) -> u64 {
    let mut value = f64::from_bits(bits);
    let mut left = exponent.clamp(-2300, 2300);
    while left > 1023 {
        value *= float::power64(1023);
        left -= 1023;
    }
    // 2^-969 leaves 53 bits above the smallest denormal, so that only the final step can lose digits.
    while left < -1022 {
        value *= float::power64(-969);
        left += 969;
    }
    (value * float::power64(left)).to_bits()
}

/// A 32-bit function computed in single precision.
#[inline(always)]
fn plain(fp: Fp, a: u32, f: impl Fn(f32) -> f32) -> u32 {
    float::unary(fp, a, |x| f(f32::from_bits(x)).to_bits())
}

fn rounding(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VTruncF32 => |w, i| single1(w, i, |fp, a| plain(fp, a, f32::trunc)),
        Op::VCeilF32 => |w, i| single1(w, i, |fp, a| plain(fp, a, f32::ceil)),
        Op::VRndneF32 => |w, i| single1(w, i, |fp, a| plain(fp, a, float::round_even32)),
        Op::VFloorF32 => |w, i| single1(w, i, |fp, a| plain(fp, a, f32::floor)),
        // The largest number below one bounds it: the exact fraction of a tiny negative number would round up to one.
        Op::VFractF32 => {
            |w, i| single1(w, i, |fp, a| plain(fp, a, |x| (x - x.floor()).min(f32::from_bits(0x3f7f_ffff))))
        }
        Op::VFrexpExpI32F32 => |w, i| {
            let a = float32(w, i, 0);
            super::operand::put32(w, i, &each(|l| exponent32(a[l]) as u32));
            Ok(())
        },
        Op::VFrexpMantF32 => |w, i| {
            single1(w, i, |fp, a| {
                float::unary(fp, a, |x| if x & 0x7f80_0000 == 0x7f80_0000 { x } else { ldexp32(x, -exponent32(x)) })
            })
        },
        Op::VTruncF64 => |w, i| double1(w, i, |fp, a| plain64(fp, a, f64::trunc)),
        Op::VCeilF64 => |w, i| double1(w, i, |fp, a| plain64(fp, a, f64::ceil)),
        Op::VRndneF64 => |w, i| double1(w, i, |fp, a| plain64(fp, a, f64::round_ties_even)),
        Op::VFloorF64 => |w, i| double1(w, i, |fp, a| plain64(fp, a, f64::floor)),
        Op::VFractF64 => {
            |w, i| double1(w, i, |fp, a| plain64(fp, a, |x| (x - x.floor()).min(f64::from_bits(0x3fef_ffff_ffff_ffff))))
        }
        Op::VFrexpExpI32F64 => |w, i| {
            let a = float64(w, i, 0);
            super::operand::put32(w, i, &each(|l| exponent64(a[l]) as u32));
            Ok(())
        },
        Op::VFrexpMantF64 => |w, i| {
            double1(w, i, |fp, a| {
                float::unary(fp, a, |x| if x >> 52 & 0x7ff == 0x7ff { x } else { ldexp64(x, -exponent64(x)) })
            })
        },
        _ => return None,
    })
}

/// The exponent for a fraction between a half and one; zero for zero, infinity and NaN.
fn exponent32(bits: u32) -> i32 {
    exponent64(f64::from(f32::from_bits(bits)).to_bits())
}

/// The same for doubles.
fn exponent64(bits: u64) -> i32 {
    let magnitude = bits & !(1 << 63);
    match magnitude >> 52 {
        0x7ff => 0,
        0 if magnitude == 0 => 0,
        0 => -1022 - 52 + (64 - magnitude.leading_zeros() as i32),
        exponent => exponent as i32 - 1022,
    }
}

/// A 32-bit function computed in double precision, denormals flushed on both sides.
#[inline(always)]
fn rough(fp: Fp, a: u32, f: impl Fn(f64) -> f64) -> u32 {
    let flushing = Fp { flush_in32: true, flush_out32: true, ..fp };
    float::unary(flushing, a, |x| f(f64::from(f32::from_bits(x))).to_f32_bits())
}

/// Sine and cosine take turns, not radians; beyond 256 turns hardware gives 0 and 1.
fn turns(x: f64, f: impl Fn(f64) -> f64) -> f64 {
    if x.is_infinite() {
        return f64::NAN;
    }
    f(if x.abs() > 256.0 { 0.0 } else { x.fract() * std::f64::consts::TAU })
}

fn approximate(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VRcpF32 | Op::VRcpIflagF32 => |w, i| single1(w, i, |fp, a| rough(fp, a, |x| 1.0 / x)),
        Op::VRsqF32 => |w, i| single1(w, i, |fp, a| rough(fp, a, |x| 1.0 / x.sqrt())),
        Op::VSqrtF32 => |w, i| single1(w, i, |fp, a| rough(fp, a, f64::sqrt)),
        Op::VExpF32 | Op::VExpLegacyF32 => |w, i| single1(w, i, |fp, a| rough(fp, a, f64::exp2)),
        Op::VLogF32 | Op::VLogLegacyF32 => |w, i| single1(w, i, |fp, a| rough(fp, a, f64::log2)),
        Op::VSinF32 => |w, i| single1(w, i, |fp, a| rough(fp, a, |x| turns(x, f64::sin))),
        Op::VCosF32 => |w, i| single1(w, i, |fp, a| rough(fp, a, |x| turns(x, f64::cos))),
        Op::VRcpF64 => |w, i| double1(w, i, |fp, a| plain64(fp, a, |x| 1.0 / x)),
        Op::VRsqF64 => |w, i| double1(w, i, |fp, a| plain64(fp, a, |x| 1.0 / x.sqrt())),
        Op::VSqrtF64 => |w, i| double1(w, i, |fp, a| plain64(fp, a, f64::sqrt)),
        _ => return None,
    })
}

#[inline(always)]
fn plain64(fp: Fp, a: u64, f: impl Fn(f64) -> f64) -> u64 {
    float::unary(fp, a, |x| f(f64::from_bits(x)).to_bits())
}

fn double(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VAddF64 => |w, i| double2(w, i, float::add64),
        Op::VMulF64 => |w, i| double2(w, i, float::mul64),
        Op::VFmaF64 | Op::VFmacF64 => |w, i| double3(w, i, float::fma64),
        Op::VMinF64 => |w, i| double2(w, i, float::minimum),
        Op::VMaxF64 => |w, i| double2(w, i, float::maximum),
        Op::VLdexpF64 => |w, i| {
            let fp = Fp::of(w.mode);
            let (a, b) = (float64(w, i, 0), int32(w, i, 1));
            finish64(w, i, fp, each64(|l| float::unary(fp, a[l], |x| ldexp64(x, b[l] as i32))))
        },
        _ => return None,
    })
}

/// The steps of an IEEE division: scaling, the last multiply-add with its unscaling, and the special cases.
fn division(op: Op) -> Option<AluFn> {
    Some(match op {
        Op::VDivScaleF32 => |w, i| {
            let (a, b, c) = (float32(w, i, 0), float32(w, i, 1), float32(w, i, 2));
            let flags = collect(|l| div_scale32(a[l], b[l], c[l]).1);
            put_with_mask(w, i, &each(|l| div_scale32(a[l], b[l], c[l]).0), flags)
        },
        Op::VDivScaleF64 => |w, i| {
            let (a, b, c) = (float64(w, i, 0), float64(w, i, 1), float64(w, i, 2));
            let flags = collect(|l| div_scale64(a[l], b[l], c[l]).1) & w.exec();
            super::operand::put64(w, i, &each64(|l| div_scale64(a[l], b[l], c[l]).0));
            set_mask(w, i.sdst, flags);
            Ok(())
        },
        Op::VDivFmasF32 => |w, i| {
            let fp = Fp::of(w.mode);
            let scaled = w.vcc();
            let (a, b, c) = (float32(w, i, 0), float32(w, i, 1), float32(w, i, 2));
            finish32(w, i, fp, each(|l| div_fmas32(fp, a[l], b[l], c[l], scaled >> l & 1 != 0)))
        },
        Op::VDivFmasF64 => |w, i| {
            let fp = Fp::of(w.mode);
            let scaled = w.vcc();
            let (a, b, c) = (float64(w, i, 0), float64(w, i, 1), float64(w, i, 2));
            finish64(w, i, fp, each64(|l| div_fmas64(fp, a[l], b[l], c[l], scaled >> l & 1 != 0)))
        },
        Op::VDivFixupF32 => |w, i| single3(w, i, |_, a, b, c| div_fixup32(a, b, c)),
        Op::VDivFixupF64 => |w, i| double3(w, i, |_, a, b, c| div_fixup64(a, b, c)),
        _ => return None,
    })
}

/// The last multiply-add, and the scaling of one side undone. Where the denominator alone was made larger, the quotient so
/// far (`c`) is large and becomes larger; where the numerator was, or the denominator was made smaller, it is small and
/// becomes smaller, with one rounding. (The manual has one factor for both, which cannot be: inferred from what divides right.)
fn div_fmas32(fp: Fp, a: u32, b: u32, c: u32, scaled: bool) -> u32 {
    match (scaled, c >> 23 & 0xff > 127) {
        (false, _) => float::fma32(fp, a, b, c),
        (true, true) => float::fma32_scaled(fp, a, b, c, 64),
        (true, false) => float::fma32_scaled(fp, a, b, c, -64),
    }
}

/// The same for doubles.
fn div_fmas64(fp: Fp, a: u64, b: u64, c: u64, scaled: bool) -> u64 {
    match (scaled, c >> 52 & 0x7ff > 1023) {
        (false, _) => float::fma64(fp, a, b, c),
        (true, true) => float::unary(fp, float::fma64(fp, a, b, c), |x| ldexp64(x, 128)),
        (true, false) => float::fma64_scaled_down(fp, a, b, c),
    }
}

/// Scales `value` (the numerator or the denominator of `numerator / denominator`) so that no step of the division leaves the
/// normal range; the flag tells the last step to undo it. A denominator so large that its reciprocal and the quotient are
/// denormal becomes smaller. (The manual says larger, which would be infinity.)
fn div_scale32(value: u32, denominator: u32, numerator: u32) -> (u32, bool) {
    let (d, n) = (f64::from(f32::from_bits(denominator)), f64::from(f32::from_bits(numerator)));
    let exponent = |bits: u32| (bits >> 23 & 0xff) as i32;
    let denormal = |x: f64| x != 0.0 && x.abs() < f64::from(f32::MIN_POSITIVE);
    if d == 0.0 || n == 0.0 {
        return (NAN32, false);
    }
    let up = ldexp32(value, 64);
    if exponent(numerator) - exponent(denominator) >= 96 {
        return (if value == denominator { up } else { value }, true);
    }
    if exponent(denominator) == 0 {
        return (up, false);
    }
    match (denormal(1.0 / d), denormal(n / d)) {
        (true, true) => (if value == denominator { ldexp32(value, -64) } else { value }, true),
        (true, false) => (ldexp32(value, -64), false),
        (false, true) => (if value == numerator { up } else { value }, true),
        _ if exponent(numerator) <= 23 => (up, false),
        _ => (value, false),
    }
}

/// The same for doubles.
fn div_scale64(value: u64, denominator: u64, numerator: u64) -> (u64, bool) {
    let (d, n) = (f64::from_bits(denominator), f64::from_bits(numerator));
    let exponent = |bits: u64| (bits >> 52 & 0x7ff) as i32;
    let denormal = |x: f64| x != 0.0 && x.abs() < f64::MIN_POSITIVE;
    if d == 0.0 || n == 0.0 {
        return (float::NAN64, false);
    }
    let up = ldexp64(value, 128);
    if exponent(numerator) - exponent(denominator) >= 768 {
        return (if value == denominator { up } else { value }, true);
    }
    if exponent(denominator) == 0 {
        return (up, false);
    }
    match (denormal(1.0 / d), denormal(n / d)) {
        (true, true) => (if value == denominator { ldexp64(value, -128) } else { value }, true),
        (true, false) => (ldexp64(value, -128), false),
        (false, true) => (if value == numerator { up } else { value }, true),
        _ if exponent(numerator) <= 53 => (up, false),
        _ => (value, false),
    }
}

/// The quotient with its special cases put right. A quotient that is no number although both sides are has overflowed on the
/// way (the manual's case of an overflow, whose condition there can never hold).
fn div_fixup32(quotient: u32, denominator: u32, numerator: u32) -> u32 {
    let (d, n) = (f32::from_bits(denominator), f32::from_bits(numerator));
    let sign = (denominator ^ numerator) & 0x8000_0000;
    // Below half of the smallest denormal.
    let vanishes = (numerator >> 23 & 0xff) + 150 < denominator >> 23 & 0xff;
    if n.is_nan() {
        numerator.quiet()
    } else if d.is_nan() {
        denominator.quiet()
    } else if (d == 0.0 && n == 0.0) || (d.is_infinite() && n.is_infinite()) {
        0xffc0_0000
    } else if d == 0.0 || n.is_infinite() {
        sign | 0x7f80_0000
    } else if d.is_infinite() || n == 0.0 || vanishes {
        sign
    } else if quotient.is_nan() {
        sign | 0x7f80_0000
    } else {
        sign | (quotient & 0x7fff_ffff)
    }
}

/// The same for doubles.
fn div_fixup64(quotient: u64, denominator: u64, numerator: u64) -> u64 {
    let (d, n) = (f64::from_bits(denominator), f64::from_bits(numerator));
    let sign = (denominator ^ numerator) & 1 << 63;
    let vanishes = (numerator >> 52 & 0x7ff) + 1075 < denominator >> 52 & 0x7ff;
    if n.is_nan() {
        numerator.quiet()
    } else if d.is_nan() {
        denominator.quiet()
    } else if (d == 0.0 && n == 0.0) || (d.is_infinite() && n.is_infinite()) {
        0xfff8 << 48
    } else if d == 0.0 || n.is_infinite() {
        sign | 0x7ff0 << 48
    } else if d.is_infinite() || n == 0.0 || vanishes {
        sign
    } else if quotient.is_nan() {
        sign | 0x7ff0 << 48
    } else {
        sign | (quotient & !(1 << 63))
    }
}

#[cfg(test)]
mod tests {
    use super::super::float::{self, Fp};
    use super::{
        div_fixup32, div_fixup64, div_fmas32, div_fmas64, div_scale32, div_scale64, exponent32, ldexp32, ldexp64,
    };
    use crate::rng::Rng;

    /// MODE with denormals of every width.
    const DENORMALS: u32 = 0xf0;

    /// LLVM's sequence for `n / d` in single precision: an estimate of the reciprocal, refined, then the quotient.
    fn divide32(n: u32, d: u32) -> u32 {
        let fp = Fp::of(DENORMALS);
        let minus = |x: u32| x ^ 0x8000_0000;
        let (below, _) = div_scale32(d, d, n);
        let (above, scaled) = div_scale32(n, d, n);
        let guess = (1.0 / f32::from_bits(below)).to_bits();
        let guess = if guess >> 23 & 0xff == 0 { guess & 0x8000_0000 } else { guess }; // v_rcp_f32 flushes
        let error = float::fma32(fp, minus(below), guess, 1f32.to_bits());
        let guess = float::fma32(fp, error, guess, guess);
        let quotient = float::mul32(fp, above, guess);
        let error = float::fma32(fp, minus(below), quotient, above);
        let quotient = float::fma32(fp, error, guess, quotient);
        let error = float::fma32(fp, minus(below), quotient, above);
        div_fixup32(div_fmas32(fp, error, guess, quotient, scaled), d, n)
    }

    /// The same in double precision.
    fn divide64(n: u64, d: u64) -> u64 {
        let fp = Fp::of(DENORMALS);
        let minus = |x: u64| x ^ 1 << 63;
        let (below, _) = div_scale64(d, d, n);
        let (above, scaled) = div_scale64(n, d, n);
        let mut guess = (1.0 / f64::from_bits(below)).to_bits();
        for _ in 0..2 {
            let error = float::fma64(fp, minus(below), guess, 1f64.to_bits());
            guess = float::fma64(fp, guess, error, guess);
        }
        let quotient = float::mul64(fp, above, guess);
        let error = float::fma64(fp, minus(below), quotient, above);
        div_fixup64(div_fmas64(fp, error, guess, quotient, scaled), d, n)
    }

    #[test]
    fn divisions_come_out_rounded_once() {
        let mut rng = Rng::new(1);
        let mut word = || u64::from(rng.below(u32::MAX)) << 32 | u64::from(rng.below(u32::MAX));
        // Near the ends of the range: denormal quotients, huge and denormal denominators.
        let edges = [1, 0x007f_ffff, 0x0080_0000, 0x0b80_0001, 0x3f80_0000, 0x7e80_0000, 0x7f00_0001, 0x7f7f_ffff];
        let edge_pairs = edges.iter().flat_map(|n| edges.iter().map(move |d| (*n, *d)));
        let random: Vec<(u32, u32)> = (0..200_000).map(|_| (word() as u32, (word() >> 16) as u32)).collect();
        for (n, d) in edge_pairs.chain(random) {
            let wanted = f32::from_bits(n) / f32::from_bits(d);
            let found = f32::from_bits(divide32(n, d));
            assert!(
                found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan(),
                "{n:#x} / {d:#x}: {:#x}, should be {:#x}",
                found.to_bits(),
                wanted.to_bits()
            );
        }
        for (n, d) in (0..200_000).map(|_| (word(), word())).collect::<Vec<_>>() {
            let wanted = f64::from_bits(n) / f64::from_bits(d);
            let found = f64::from_bits(divide64(n, d));
            assert!(
                found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan(),
                "{n:#x} / {d:#x}: {:#x}, should be {:#x}",
                found.to_bits(),
                wanted.to_bits()
            );
        }
    }

    #[test]
    fn scaling_by_powers_of_two_rounds_once() {
        assert_eq!(ldexp32(0x3f80_0000, 1), 0x4000_0000);
        assert_eq!(ldexp32(0x3f80_0001, -149), 0x0000_0001, "ties and below go down to the smallest denormal");
        assert_eq!(ldexp32(0x3f80_0000, 300), 0x7f80_0000);
        assert_eq!(ldexp64(1f64.to_bits(), -1074), 1);
        assert_eq!(ldexp64(1.5f64.to_bits(), -1075), 1, "0.75 of the smallest denormal");
        assert_eq!(ldexp64(1, 1074), 1f64.to_bits());
    }

    #[test]
    fn exponents_are_those_of_a_fraction() {
        assert_eq!(exponent32(1f32.to_bits()), 1);
        assert_eq!(exponent32(0.5f32.to_bits()), 0);
        assert_eq!(exponent32(1), -148, "smallest denormal is 0.5 * 2^-148");
        assert_eq!((exponent32(0), exponent32(0x7f80_0000)), (0, 0));
    }

    #[test]
    fn division_helpers() {
        assert_eq!(div_scale32(1f32.to_bits(), 3f32.to_bits(), 1f32.to_bits()), (1f32.to_bits(), false));
        assert_eq!(div_scale32(0, 0, 0).0, 0x7fc0_0000);
        let tiny = 1e-38f32.to_bits() >> 4;
        assert!(!div_scale32(tiny, tiny, 1e-38f32.to_bits()).1);
        assert_eq!(div_fixup32(7, 0, (-1f32).to_bits()), 0xff80_0000, "x/0");
        assert_eq!(div_fixup32(7, 0, 0), 0xffc0_0000, "0/0");
        assert_eq!(div_fixup32(0x3f80_0000, 0xbf80_0000, 0x3f80_0000), 0xbf80_0000, "sign of the quotient");
    }
}

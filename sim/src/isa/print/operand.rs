//! Registers and constants.
//!
//! Must hold: see [`super`].

use std::fmt::{self, Formatter};

use crate::isa::operand::{InlineFloat, Operand};
use crate::isa::table::Ty;

/// Writes an operand of `dwords` dwords and of type `ty`.
pub(super) fn write(f: &mut Formatter<'_>, operand: Operand, ty: Ty, dwords: u8) -> fmt::Result {
    let wide = dwords > 1;
    let name = |low: &'static str, both: &'static str| if wide { both } else { low };
    let text = match operand {
        Operand::None => "off",
        Operand::Sgpr(n) => return range(f, "s", n, dwords),
        Operand::Vgpr(n) => return range(f, "v", n, dwords),
        Operand::Agpr(n) => return range(f, "a", n, dwords),
        Operand::Ttmp(n) => return range(f, "ttmp", n, dwords),
        Operand::FlatScratchLo => name("flat_scratch_lo", "flat_scratch"),
        Operand::FlatScratchHi => "flat_scratch_hi",
        Operand::XnackMaskLo => name("xnack_mask_lo", "xnack_mask"),
        Operand::XnackMaskHi => "xnack_mask_hi",
        Operand::VccLo => name("vcc_lo", "vcc"),
        Operand::VccHi => "vcc_hi",
        Operand::M0 => "m0",
        Operand::ExecLo => name("exec_lo", "exec"),
        Operand::ExecHi => "exec_hi",
        Operand::SharedBase => "src_shared_base",
        Operand::SharedLimit => "src_shared_limit",
        Operand::PrivateBase => "src_private_base",
        Operand::PrivateLimit => "src_private_limit",
        Operand::PopsExitingWaveId => "src_pops_exiting_wave_id",
        Operand::Vccz => "src_vccz",
        Operand::Execz => "src_execz",
        Operand::Scc => "src_scc",
        Operand::LdsDirect => "src_lds_direct",
        Operand::InlineInt(value) => return write!(f, "{value}"),
        Operand::InlineFloat(value) if ty == Ty::B16 => return write!(f, "{:#x}", value.bits16()),
        Operand::InlineFloat(value) => float(value, matches!(ty, Ty::B64 | Ty::F64)),
        Operand::Literal(value) => return literal(f, value, ty),
        Operand::Simm16(value) => return write!(f, "{:#x}", value as u16),
        Operand::Null => "null",
        Operand::Literal64 => "lit64",
        Operand::ScratchBaseLo => "src_flat_scratch_base_lo",
        Operand::ScratchBaseHi => "src_flat_scratch_base_hi",
    };
    f.write_str(text)
}

fn range(f: &mut Formatter<'_>, prefix: &str, first: u8, dwords: u8) -> fmt::Result {
    if dwords > 1 {
        write!(f, "{prefix}[{first}:{}]", u16::from(first) + u16::from(dwords) - 1)
    } else {
        write!(f, "{prefix}{first}")
    }
}

fn float(value: InlineFloat, double: bool) -> &'static str {
    match value {
        InlineFloat::Half => "0.5",
        InlineFloat::NegHalf => "-0.5",
        InlineFloat::One => "1.0",
        InlineFloat::NegOne => "-1.0",
        InlineFloat::Two => "2.0",
        InlineFloat::NegTwo => "-2.0",
        InlineFloat::Four => "4.0",
        InlineFloat::NegFour => "-4.0",
        InlineFloat::Inv2Pi if double => "0.15915494309189532",
        InlineFloat::Inv2Pi => "0.15915494",
    }
}

/// A 64-bit literal. LLVM marks one that fits in 32 bits, and shows another as the inline constant that it is equal to, or a
/// double by its high half if the other is zero. One that belongs to the instruction (`fused`) could not have been said shorter.
pub(super) fn literal64(f: &mut Formatter<'_>, value: u64, ty: Ty, fused: bool) -> fmt::Result {
    let signed = value as i64;
    match InlineFloat::ALL.iter().find(|float| float.bits64() == value) {
        _ if value >> 32 == 0 => write!(f, "lit64({value:#x})"),
        _ if (-16..=64).contains(&signed) && !fused => write!(f, "{signed}"),
        Some(constant) if !fused => f.write_str(float(*constant, true)),
        _ if ty == Ty::F64 && value as u32 == 0 => write!(f, "{:#x}", value >> 32),
        _ => write!(f, "{value:#x}"),
    }
}

/// A literal. LLVM marks one that an inline constant could have said, except that a double is shown as that constant.
fn literal(f: &mut Formatter<'_>, value: u32, ty: Ty) -> fmt::Result {
    if ty == Ty::F64 {
        let same = |float: &&InlineFloat| float.bits64() == u64::from(value) << 32;
        return match InlineFloat::ALL.iter().find(same) {
            Some(constant) => f.write_str(float(*constant, true)),
            None if value == 0 => f.write_str("0"),
            None => write!(f, "{value:#x}"),
        };
    }
    let shown = if matches!(ty, Ty::B16 | Ty::F16) { value & 0xffff } else { value };
    if inlinable(value, ty) { write!(f, "lit({value:#x})") } else { write!(f, "{shown:#x}") }
}

/// Whether an inline constant has this value at an operand of this type.
pub(super) fn inlinable(value: u32, ty: Ty) -> bool {
    let small = |value: i64| (-16..=64).contains(&value);
    let float = |bits: u32, of: fn(InlineFloat) -> u32| InlineFloat::ALL.iter().any(|float| of(*float) == bits);
    let half = value & 0xffff;
    match ty {
        Ty::B64 | Ty::S64 => small(value.into()),
        Ty::F16 => small((value as i16).into()) || float(half, |float| float.bits16().into()),
        Ty::Bf16 => small((value as i16).into()) || float(half, |float| float.bits_bf16().into()),
        Ty::Pf16 => small((value as i32).into()) || float(value, |float| float.bits16().into()),
        Ty::Pbf16 => small((value as i32).into()) || float(value, |float| float.bits_bf16().into()),
        // LLVM looks at all bits of a 16-bit integer's literal.
        _ => small((value as i32).into()) || float(value, InlineFloat::bits32),
    }
}

//! What FLAT, DS, SMEM and MUBUF instructions have in common: their shapes, and operands that must be defined.
//!
//! What must hold here: an address or a stored value that comes from an undefined register is a fault when the
//! instruction issues; shapes are read off the opcode number, which is the same in all families of vector memory
//! instructions.

use super::{scalar_number, vector_index};
use crate::fault::{Exec, Fault, FaultKind};
use crate::isa::{Inst, Operand};
use crate::mem::{AtomicOp, Convert, Operation, Port, What};
use crate::wave::LANES;

/// What a vector memory instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) what: What,
    /// Bytes of a lane's access.
    pub(super) bytes: usize,
    pub(super) convert: Convert,
    /// The data goes to LDS.
    pub(super) to_lds: bool,
    /// The stored value is in the high half of its register.
    pub(super) high: bool,
}

impl Shape {
    const fn load(bytes: usize, convert: Convert) -> Option<Self> {
        Some(Self { what: What::Load, bytes, convert, to_lds: false, high: false })
    }

    const fn store(bytes: usize, high: bool) -> Option<Self> {
        Some(Self { what: What::Store, bytes, convert: Convert::Dwords, to_lds: false, high })
    }

    const fn lds(bytes: usize, convert: Convert) -> Option<Self> {
        Some(Self { what: What::Load, bytes, convert, to_lds: true, high: false })
    }
}

/// The shape of FLAT, GLOBAL, SCRATCH and (formats aside) MUBUF opcode `code`.
pub(super) fn shape(code: u16) -> Option<Shape> {
    use Convert::{Dwords, High, Low, Sign, Zero};
    match code {
        16 => Shape::load(1, Zero),
        17 => Shape::load(1, Sign),
        18 => Shape::load(2, Zero),
        19 => Shape::load(2, Sign),
        20..=23 => Shape::load(4 * (usize::from(code) - 19), Dwords),
        24 => Shape::store(1, false),
        25 => Shape::store(1, true),
        26 => Shape::store(2, false),
        27 => Shape::store(2, true),
        28..=31 => Shape::store(4 * (usize::from(code) - 27), false),
        32 => Shape::load(1, Low(false)),
        33 => Shape::load(1, High(false)),
        34 => Shape::load(1, Low(true)),
        35 => Shape::load(1, High(true)),
        36 => Shape::load(2, Low(false)),
        37 => Shape::load(2, High(false)),
        38 => Shape::lds(1, Zero),
        39 => Shape::lds(1, Sign),
        40 => Shape::lds(2, Zero),
        41 => Shape::lds(2, Sign),
        42 => Shape::lds(4, Dwords),
        125 => Shape::lds(16, Dwords),
        126 => Shape::lds(12, Dwords),
        _ => atomic(code),
    }
}

fn atomic(code: u16) -> Option<Shape> {
    use AtomicOp as A;
    const PLAIN: [AtomicOp; 13] = [
        A::Swap,
        A::CmpSwap,
        A::Add,
        A::Sub,
        A::SMin,
        A::UMin,
        A::SMax,
        A::UMax,
        A::And,
        A::Or,
        A::Xor,
        A::Inc,
        A::Dec,
    ];
    let (op, bytes) = match code {
        64..=76 => (PLAIN[usize::from(code) - 64], 4),
        77 => (A::FAdd, 4),
        78 => (A::PkAddF16, 4),
        79 => (A::FAdd, 8),
        80 => (A::FMin, 8),
        81 => (A::FMax, 8),
        82 => (A::PkAddBf16, 4),
        96..=108 => (PLAIN[usize::from(code) - 96], 8),
        _ => return None,
    };
    Some(Shape { what: What::Atomic(op), bytes, convert: Convert::Dwords, to_lds: false, high: false })
}

/// The shape of gfx1250's VFLAT, VGLOBAL, VSCRATCH and (formats aside) VBUFFER opcode `code`. Not among them: transposing,
/// asynchronous and monitoring loads.
pub(super) fn shape12(code: u16) -> Option<Shape> {
    use Convert::{Dwords, High, Low, Sign, Zero};
    match code {
        16 => Shape::load(1, Zero),
        17 => Shape::load(1, Sign),
        18 => Shape::load(2, Zero),
        19 => Shape::load(2, Sign),
        20..=23 => Shape::load(4 * (usize::from(code) - 19), Dwords),
        24 => Shape::store(1, false),
        25 => Shape::store(2, false),
        26..=29 => Shape::store(4 * (usize::from(code) - 25), false),
        30 => Shape::load(1, Low(false)),
        31 => Shape::load(1, Low(true)),
        32 => Shape::load(2, Low(false)),
        33 => Shape::load(1, High(false)),
        34 => Shape::load(1, High(true)),
        35 => Shape::load(2, High(false)),
        36 => Shape::store(1, true),
        37 => Shape::store(2, true),
        _ => atomic12(code),
    }
}

fn atomic12(code: u16) -> Option<Shape> {
    use AtomicOp as A;
    const WORDS: [AtomicOp; 14] = [
        A::Swap,
        A::CmpSwap,
        A::Add,
        A::Sub,
        A::SubClamp,
        A::SMin,
        A::UMin,
        A::SMax,
        A::UMax,
        A::And,
        A::Or,
        A::Xor,
        A::Inc,
        A::Dec,
    ];
    let (op, bytes) = match code {
        51..=64 => (WORDS[usize::from(code) - 51], 4),
        // The same without the saturating difference.
        65..=68 => (WORDS[usize::from(code) - 65], 8),
        69..=77 => (WORDS[usize::from(code) - 64], 8),
        80 => (A::CondSub, 4),
        81 => (A::FMin, 4),
        82 => (A::FMax, 4),
        85 => (A::FAdd, 8),
        86 => (A::FAdd, 4),
        89 => (A::PkAddF16, 4),
        90 => (A::PkAddBf16, 4),
        91 => (A::FMin, 8),
        92 => (A::FMax, 8),
        _ => return None,
    };
    Some(Shape { what: What::Atomic(op), bytes, convert: Convert::Dwords, to_lds: false, high: false })
}

/// The instruction decodes but is not simulated.
pub(super) fn unsupported(inst: &Inst) -> Box<Fault> {
    Fault::new(FaultKind::NotSimulated { text: inst.to_string() })
}

#[cold]
fn undefined(inst: &Inst, register: String, lane: Option<usize>) -> Box<Fault> {
    let fault = Fault::new(FaultKind::UninitialisedRegister { text: inst.to_string(), register });
    match lane {
        Some(lane) => fault.lane(lane),
        None => fault,
    }
}

/// Checks that source `source` is defined in `lanes` (a scalar one as a whole).
#[inline]
pub(super) fn need(port: &Port<'_>, inst: &Inst, source: usize, lanes: u64) -> Exec {
    need_dwords(port, inst, inst.src[source], inst.src_width(source), lanes)
}

/// The same for `dwords` registers from `operand` on.
#[inline]
pub(super) fn need_dwords(port: &Port<'_>, inst: &Inst, operand: Operand, dwords: usize, lanes: u64) -> Exec {
    if !port.memory.checks() {
        return Ok(());
    }
    if let Some(first) = vector_index(port.wave, operand) {
        for index in first..first + dwords {
            let missing = lanes & !port.wave.vgpr_init.get(index).copied().unwrap_or(!0);
            if missing != 0 {
                let lane = missing.trailing_zeros() as usize;
                let accum = port.wave.accum_offset as usize;
                let name = if index < accum { format!("v{index}") } else { format!("a{}", index - accum) };
                return Err(undefined(inst, name, Some(lane)));
            }
        }
    } else if let Some(first) = scalar_number(operand) {
        for number in first..first + dwords {
            if port.wave.sgpr_init >> (number & 127) & 1 == 0 {
                return Err(undefined(inst, format!("s{number}"), None));
            }
        }
    }
    Ok(())
}

/// Copies `dwords` rows of store data from `operand` on into the operation, from row `row` on.
#[inline]
pub(super) fn capture(port: &Port<'_>, op: &mut Operation, operand: Operand, dwords: usize, row: usize) {
    let Some(first) = vector_index(port.wave, operand) else {
        op.data.iter_mut().skip(row).take(dwords).for_each(|row| *row = [0; LANES]);
        return;
    };
    for (target, source) in op.data.iter_mut().skip(row).take(dwords).zip(port.wave.vgprs.iter().skip(first)) {
        *target = *source;
    }
}

/// The address registers of all lanes: 64 bits from `operand` on.
#[inline]
pub(super) fn wide_addresses(port: &Port<'_>, operand: Operand, op: &mut Operation) {
    let Some(first) = vector_index(port.wave, operand) else { return op.address.fill(0) };
    if let Some([low, high]) = port.wave.vgprs.get(first..first + 2) {
        for (lane, address) in op.address.iter_mut().enumerate() {
            *address = u64::from(low[lane]) | u64::from(high[lane]) << 32;
        }
    }
}

/// The address registers of all lanes: 32 bits; zero if there is none.
#[inline]
pub(super) fn narrow_addresses(port: &Port<'_>, operand: Operand, op: &mut Operation) {
    match vector_index(port.wave, operand).and_then(|index| port.wave.vgprs.get(index)) {
        Some(register) => {
            for (address, value) in op.address.iter_mut().zip(register) {
                *address = u64::from(*value);
            }
        }
        None => op.address.fill(0),
    }
}

/// Where the result goes: `dwords` vector registers from the destination on.
pub(super) fn set_destination(port: &Port<'_>, op: &mut Operation, operand: Operand, dwords: usize) {
    if let Some(first) = vector_index(port.wave, operand) {
        op.dst = first as u16;
        op.dst_dwords = dwords as u8;
    }
}

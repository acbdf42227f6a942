//! The 16-bit immediates of program control, in words.
//!
//! Must hold: see [`super`]; a value that has no words is a number.

use std::fmt::{self, Formatter};

use super::operand;
use crate::isa::operand::{InlineFloat, Operand};
use crate::isa::table::Ty;

/// A plain 16-bit number: small ones decimal, others hexadecimal.
pub(super) fn number(f: &mut Formatter<'_>, value: u16) -> fmt::Result {
    if value <= 64 { write!(f, "{value}") } else { write!(f, "{value:#x}") }
}

/// A 32-bit number, as the inline constant that it is equal to where there is one.
pub(super) fn wide(f: &mut Formatter<'_>, value: u32) -> fmt::Result {
    let signed = value as i32;
    let float = InlineFloat::ALL.iter().find(|float| float.bits32() == value);
    match float {
        _ if (-16..=64).contains(&signed) => write!(f, "{signed}"),
        Some(float) => operand::write(f, Operand::InlineFloat(*float), Ty::B32, 1),
        None => write!(f, "{value:#x}"),
    }
}

/// Counters to wait for: `vmcnt` in bits 3:0 and 15:14, `expcnt` in 6:4, `lgkmcnt` in 11:8. A counter at its largest value
/// waits for nothing and is left out, unless all are.
pub(super) fn counters(f: &mut Formatter<'_>, value: u16) -> fmt::Result {
    let vm = value & 15 | (value >> 14) << 4;
    let (exp, lgkm) = (value >> 4 & 7, value >> 8 & 15);
    let all = vm == 63 && exp == 7 && lgkm == 15;
    let mut separator = "";
    for (name, count, most) in [("vmcnt", vm, 63), ("expcnt", exp, 7), ("lgkmcnt", lgkm, 15)] {
        if all || count != most {
            write!(f, "{separator}{name}({count})")?;
            separator = " ";
        }
    }
    Ok(())
}

/// Hardware registers with a name on these chips, by number.
const REGISTERS: [&str; 25] = [
    "",
    "MODE",
    "STATUS",
    "TRAPSTS",
    "HW_ID",
    "GPR_ALLOC",
    "LDS_ALLOC",
    "IB_STS",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "SH_MEM_BASES",
    "TBA_LO",
    "TBA_HI",
    "TMA_LO",
    "TMA_HI",
    "XCC_ID",
    "SQ_PERF_SNAPSHOT_DATA",
    "SQ_PERF_SNAPSHOT_DATA1",
    "SQ_PERF_SNAPSHOT_PC_LO",
    "SQ_PERF_SNAPSHOT_PC_HI",
];

/// A hardware register: number in bits 5:0, first bit in 10:6, bits less one in 15:11.
pub(super) fn hwreg(f: &mut Formatter<'_>, value: u16, newer: bool) -> fmt::Result {
    let (id, first, size) = (value & 63, value >> 6 & 31, (value >> 11) + 1);
    f.write_str("hwreg(")?;
    let names = if newer { super::immediate12::REGISTERS.as_slice() } else { REGISTERS.as_slice() };
    match names.get(usize::from(id)) {
        Some(name) if !name.is_empty() => write!(f, "HW_REG_{name}")?,
        _ => write!(f, "{id}")?,
    }
    if (first, size) != (0, 32) {
        write!(f, ", {first}, {size}")?;
    }
    f.write_str(")")
}

/// Messages by number, with what they carry: nothing, a geometry operation, a system operation.
const MESSAGES: [(&str, u8); 16] = [
    ("", 0),
    ("MSG_INTERRUPT", 0),
    ("MSG_GS", 1),
    ("MSG_GS_DONE", 1),
    ("MSG_SAVEWAVE", 0),
    ("MSG_STALL_WAVE_GEN", 0),
    ("MSG_HALT_WAVES", 0),
    ("MSG_ORDERED_PS_DONE", 0),
    ("MSG_EARLY_PRIM_DEALLOC", 0),
    ("MSG_GS_ALLOC_REQ", 0),
    ("MSG_GET_DOORBELL", 0),
    ("", 0),
    ("", 0),
    ("", 0),
    ("", 0),
    ("MSG_SYSMSG", 2),
];

/// A message: number in bits 3:0, operation in 6:4, stream in 9:8.
pub(super) fn message(f: &mut Formatter<'_>, value: u16) -> fmt::Result {
    let (id, op, stream) = (value & 15, value >> 4 & 7, value >> 8 & 3);
    let (name, carries) = MESSAGES[usize::from(id)];
    let exact = id | op << 4 | stream << 8 == value;
    let geometry = ["GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"];
    let system = ["", "ECC_ERR_INTERRUPT", "REG_RD", "", "TTRACE_PC"];
    match carries {
        0 if !name.is_empty() && op == 0 && stream == 0 => write!(f, "sendmsg({name})"),
        1 if op == 0 && id == 3 && stream == 0 => write!(f, "sendmsg({name}, {})", geometry[0]),
        1 if (1..4).contains(&op) => write!(f, "sendmsg({name}, {}, {stream})", geometry[usize::from(op)]),
        2 if stream == 0 && matches!(op, 1 | 2 | 4) => {
            write!(f, "sendmsg({name}, SYSMSG_OP_{})", system[usize::from(op)])
        }
        _ if exact => write!(f, "sendmsg({id}, {op}, {stream})"),
        _ => write!(f, "{value}"),
    }
}

/// Register-index modes: four bits; anything else is a number.
pub(super) fn gpr_idx(f: &mut Formatter<'_>, value: u16, mask: u16) -> fmt::Result {
    let value = value & mask;
    if value > 15 {
        return write!(f, "{value:#x}");
    }
    let names = ["SRC0", "SRC1", "SRC2", "DST"];
    let chosen: Vec<&str> = (0..4).filter(|i| value >> i & 1 != 0).map(|i| names[i]).collect();
    write!(f, "gpr_idx({})", chosen.join(","))
}

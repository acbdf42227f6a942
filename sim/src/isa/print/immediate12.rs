//! The 16-bit immediates of gfx1250's program control, in words.
//!
//! Must hold: see [`super`]; a value that has no words is a number.

use std::fmt::{self, Formatter};

/// Hardware registers with a name, by number.
pub(super) const REGISTERS: [&str; 35] = [
    "",
    "WAVE_MODE",
    "WAVE_STATUS",
    "",
    "WAVE_STATE_PRIV",
    "WAVE_GPR_ALLOC",
    "WAVE_LDS_ALLOC",
    "IB_STS",
    "",
    "",
    "PERF_SNAPSHOT_DATA",
    "PERF_SNAPSHOT_PC_LO",
    "PERF_SNAPSHOT_PC_HI",
    "",
    "",
    "PERF_SNAPSHOT_DATA1",
    "PERF_SNAPSHOT_DATA2",
    "WAVE_EXCP_FLAG_PRIV",
    "WAVE_EXCP_FLAG_USER",
    "WAVE_TRAP_CTRL",
    "WAVE_SCRATCH_BASE_LO",
    "WAVE_SCRATCH_BASE_HI",
    "",
    "WAVE_HW_ID1",
    "WAVE_HW_ID2",
    "",
    "WAVE_SCHED_MODE",
    "",
    "IB_STS2",
    "SHADER_CYCLES_LO",
    "SHADER_CYCLES_HI",
    "WAVE_DVGPR_ALLOC_LO",
    "WAVE_DVGPR_ALLOC_HI",
    "XNACK_STATE_PRIV",
    "XNACK_MASK",
];

/// A message: number in bits 7:0.
pub(super) fn message(f: &mut Formatter<'_>, value: u16) -> fmt::Result {
    let name = match value & 0xff {
        1 => "INTERRUPT",
        2 => "HS_TESSFACTOR",
        3 => "DEALLOC_VGPRS",
        9 => "GS_ALLOC_REQ",
        10 => "SAVEWAVE_HAS_TDM",
        128 => "RTN_GET_DOORBELL",
        129 => "RTN_GET_DDID",
        130 => "RTN_GET_TMA",
        131 => "RTN_GET_REALTIME",
        132 => "RTN_SAVE_WAVE",
        133 => "RTN_GET_TBA",
        134 => "RTN_GET_TBA_TO_PC",
        135 => "RTN_GET_SE_AID_ID",
        136 => "RTN_GET_CLUSTER_BARRIER_STATE",
        _ => "",
    };
    match value {
        _ if !name.is_empty() => write!(f, "sendmsg(MSG_{name})"),
        0..=0xff => write!(f, "sendmsg({value}, 0, 0)"),
        _ => write!(f, "{value}"),
    }
}

/// What an instruction waits for, by number.
const DEPENDENCIES: [&str; 12] = [
    "NO_DEP",
    "VALU_DEP_1",
    "VALU_DEP_2",
    "VALU_DEP_3",
    "VALU_DEP_4",
    "TRANS32_DEP_1",
    "TRANS32_DEP_2",
    "TRANS32_DEP_3",
    "FMA_ACCUM_CYCLE_1",
    "SALU_CYCLE_1",
    "SALU_CYCLE_2",
    "SALU_CYCLE_3",
];

/// Instructions between the two that wait, by number.
const SKIPS: [&str; 6] = ["SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"];

/// Whether this is a value of `s_delay_alu`.
pub(in crate::isa) fn is_delay(value: u16) -> bool {
    let (first, skip, second) = delays(value);
    value >> 11 == 0 && first < DEPENDENCIES.len() && skip < SKIPS.len() && second < DEPENDENCIES.len()
}

/// First dependency in bits 3:0, skip in 6:4, second dependency in 10:7.
fn delays(value: u16) -> (usize, usize, usize) {
    let bits = |at: u16, mask: u16| usize::from(value >> at & mask);
    (bits(0, 15), bits(4, 7), bits(7, 15))
}

/// Hints of `s_delay_alu`.
pub(super) fn delay(f: &mut Formatter<'_>, value: u16) -> fmt::Result {
    let (first, skip, second) = delays(value);
    let name = |names: &[&'static str], at: usize| names.get(at).copied().unwrap_or_default();
    let mut separator = "";
    for (what, at, text) in [
        ("instid0", first, name(&DEPENDENCIES, first)),
        ("instskip", skip, name(&SKIPS, skip)),
        ("instid1", second, name(&DEPENDENCIES, second)),
    ] {
        if at != 0 {
            write!(f, "{separator}{what}({text})")?;
            separator = " | ";
        }
    }
    if separator.is_empty() { f.write_str("0") } else { Ok(()) }
}

/// Counters of the ALUs, by name, first bit and width. A counter at its largest value waits for nothing and is left out, unless
/// all are.
pub(super) fn alu_counters(f: &mut Formatter<'_>, value: u16) -> fmt::Result {
    const COUNTERS: [(&str, u16, u16); 7] = [
        ("hold_cnt", 7, 1),
        ("sa_sdst", 0, 1),
        ("va_vdst", 12, 4),
        ("va_sdst", 9, 3),
        ("va_ssrc", 8, 1),
        ("va_vcc", 1, 1),
        ("vm_vsrc", 2, 3),
    ];
    /// Bits of no counter.
    const REST: u16 = 3 << 5;
    if value & REST != 0 {
        return write!(f, "{value:#x}");
    }
    let mut separator = "";
    for (name, at, width) in COUNTERS {
        let most = (1 << width) - 1;
        let count = value >> at & most;
        if count != most || value | REST == u16::MAX {
            write!(f, "{separator}depctr_{name}({count})")?;
            separator = " ";
        }
    }
    Ok(())
}

/// What code was compiled for: the family in bits 7:0, then flags from bit 13 on.
pub(super) fn version(f: &mut Formatter<'_>, value: u16) -> fmt::Result {
    if value & 0x1f00 != 0 {
        return write!(f, "{value:#x}");
    }
    let flags = ["W64_BIT", "W32_BIT", "MDP_BIT"];
    let chosen: Vec<&str> = (0..3).filter(|i| value >> (13 + i) & 1 != 0).map(|i| flags[i]).collect();
    f.write_str(&"(".repeat(chosen.len().saturating_sub(1)))?;
    match value & 0xff {
        0 => f.write_str("UC_VERSION_GFX7")?,
        4 => f.write_str("UC_VERSION_GFX10")?,
        6 => f.write_str("UC_VERSION_GFX11")?,
        9 => f.write_str("UC_VERSION_GFX12")?,
        family => write!(f, "{family}")?,
    }
    for (i, flag) in chosen.iter().enumerate() {
        write!(f, "|UC_VERSION_{flag}{}", if i + 1 < chosen.len() { ")" } else { "" })?;
    }
    Ok(())
}

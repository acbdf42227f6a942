//! Literal vectors for the ALU: what goes in, what must come out.
//!
//! What must hold here: expected values are written by hand from the ISA's text, never computed by the code under test.

mod compare;
mod float;
mod gfx12;
mod integer;
mod lanes;
mod packed;
mod scalar;

use super::lookup;
use crate::isa::table::{SOP1, SOP2, SOPC, SOPK, TIED, VOP1, VOP2, VOP3, VOP3P, VOPC};
use crate::isa::{Format, Inst, MemMods, Mods, Op, Operand, Row};
use crate::wave::{EXEC, VCC, WaveId, WaveState};

/// f32 and f64/f16 denormals kept, DX10 clamp, IEEE: what our kernels run with.
pub(super) const MODE: u32 = 0x3f0;

pub(super) const V0: Operand = Operand::Vgpr(0);
pub(super) const V1: Operand = Operand::Vgpr(1);
pub(super) const V2: Operand = Operand::Vgpr(2);
pub(super) const V4: Operand = Operand::Vgpr(4);
pub(super) const V6: Operand = Operand::Vgpr(6);
pub(super) const S0: Operand = Operand::Sgpr(0);
pub(super) const S2: Operand = Operand::Sgpr(2);
pub(super) const S4: Operand = Operand::Sgpr(4);

/// A wave with 16 vector registers of zeros.
pub(super) fn wave() -> WaveState {
    let id = WaveId { actor: 0, rank: 0, xcd: 0, cu: 0, group: 0, workgroup: [0; 3], wave: 0 };
    WaveState::new(id, 16, 12, 0, MODE)
}

/// An instruction by operation and encoding.
pub(super) fn inst(op: Op, format: Format, dst: Operand, src: &[Operand]) -> Inst {
    let tables: &[&'static [Row]] = match format {
        Format::Sop1 => &[SOP1],
        Format::Sop2 => &[SOP2],
        Format::Sopk => &[SOPK],
        Format::Sopc => &[SOPC],
        Format::Vop1 => &[VOP1],
        Format::Vop2 => &[VOP2],
        Format::Vopc => &[VOPC],
        Format::Vop3p => &[VOP3P],
        _ => &[VOP3, VOP2, VOP1, VOPC],
    };
    let row = tables.iter().flat_map(|table| table.iter()).find(|row| row.op == op).expect("a row of the operation");
    let mut sources = [Operand::None; 4];
    sources[..src.len()].copy_from_slice(src);
    if row.has(TIED) {
        sources[src.len()] = dst;
    }
    Inst {
        chip: crate::isa::Chip::Gfx942,
        is_second: false,
        op,
        format,
        len: 1,
        code: row.code,
        raw: [0; 3],
        dst,
        sdst: Operand::VccLo,
        src: sources,
        src_dwords: row.src.map(|ty| ty.dwords()),
        dst_dwords: row.dst.dwords(),
        sdst_dwords: row.sdst.dwords(),
        mods: Mods { op_sel_hi: if format == Format::Vop3p { 7 } else { 0 }, ..Mods::default() },
        mem: MemMods::default(),
        row,
    }
}

/// Executes an instruction.
pub(super) fn run(wave: &mut WaveState, inst: &Inst) {
    let function = lookup(inst.op).expect("the operation is simulated");
    function(wave, inst).expect("no fault");
}

/// The result in lane 0 of a vector instruction on 32-bit values.
pub(super) fn vector(op: Op, format: Format, sources: &[u32]) -> u32 {
    vector_with(op, format, sources, |_, _| {})
}

/// The same after a change to the wave or the instruction.
pub(super) fn vector_with(op: Op, format: Format, sources: &[u32], change: impl Fn(&mut WaveState, &mut Inst)) -> u32 {
    let mut wave = wave();
    for (index, value) in sources.iter().enumerate() {
        wave.vgprs[index] = [*value; 64];
    }
    let operands: Vec<Operand> = (0..sources.len()).map(|index| Operand::Vgpr(index as u8)).collect();
    let mut inst = inst(op, format, V4, &operands);
    change(&mut wave, &mut inst);
    run(&mut wave, &inst);
    wave.vgprs[4][0]
}

/// The result in lane 0 of a vector instruction on 64-bit values in v[0:1], v[2:3], v[6:7].
pub(super) fn vector64(op: Op, sources: &[u64]) -> u64 {
    let mut wave = wave();
    let places = [0usize, 2, 6];
    for (place, value) in places.iter().zip(sources) {
        wave.vgprs[*place] = [*value as u32; 64];
        wave.vgprs[place + 1] = [(*value >> 32) as u32; 64];
    }
    let operands: Vec<Operand> = places[..sources.len()].iter().map(|index| Operand::Vgpr(*index as u8)).collect();
    run(&mut wave, &inst(op, Format::Vop3, V4, &operands));
    u64::from(wave.vgprs[4][0]) | u64::from(wave.vgprs[5][0]) << 32
}

/// The bits of a float.
pub(super) fn f(value: f32) -> u32 {
    value.to_bits()
}

#[test]
fn no_active_lane_changes_no_vector_register() {
    let mut wave = wave();
    wave.vgprs[0] = [7; 64];
    wave.set_sgpr64(EXEC, 0);
    wave.set_sgpr64(VCC, !0);
    run(&mut wave, &inst(Op::VMovB32, Format::Vop1, V1, &[V0]));
    assert_eq!(wave.vgprs[1], [0; 64]);
    assert_eq!(wave.vgpr_init[1], 0);
    run(&mut wave, &inst(Op::VCmpEqU32, Format::Vopc, Operand::None, &[V0, V0]));
    assert_eq!(wave.vcc(), 0, "bits of inactive lanes are zero");
}

#[test]
fn inactive_lanes_keep_their_value() {
    let mut wave = wave();
    wave.vgprs[0] = std::array::from_fn(|lane| lane as u32);
    wave.vgprs[1] = [99; 64];
    wave.set_sgpr64(EXEC, 0x8000_0000_0000_0005);
    run(&mut wave, &inst(Op::VMovB32, Format::Vop1, V1, &[V0]));
    assert_eq!((wave.vgprs[1][0], wave.vgprs[1][1], wave.vgprs[1][2], wave.vgprs[1][63]), (0, 99, 2, 63));
    assert_eq!(wave.vgpr_init[1], 0x8000_0000_0000_0005);
}

#[test]
fn a_destination_may_be_a_source() {
    let mut wave = wave();
    wave.vgprs[0] = [3; 64];
    run(&mut wave, &inst(Op::VAddU32, Format::Vop2, V0, &[V0, V0]));
    assert_eq!(wave.vgprs[0], [6; 64]);
}

#[test]
fn every_operation_of_the_scalar_and_vector_tables_is_known_or_listed() {
    // What is left out on purpose: the machine's own instructions, matrix instructions, conversions between scaled small
    // formats, register indexing, and relics.
    let left_out = |op: Op| {
        let name = op.mnemonic();
        let machine =
            ["s_cbranch", "s_getpc", "s_setpc", "s_swappc", "s_call", "s_getreg", "s_setreg", "v_nop", "v_clrexcp"];
        let others = ["v_mfma", "v_smfmac", "v_cvt_scalef32", "v_cube", "s_rfe", "s_set_gpr_idx", "s_movrel"];
        machine.iter().chain(&others).any(|prefix| name.starts_with(prefix))
            || name.contains("fp8")
            || name.contains("bf8")
            || matches!(
                op,
                Op::VScreenPartition4seB32
                    | Op::VQsadPkU16U8
                    | Op::VMqsadPkU16U8
                    | Op::VMqsadU32U8
                    | Op::VCvtPkaccumU8F32
                    | Op::VTrigPreopF64
                    | Op::VCvtSrF16F32
                    | Op::SSetvskip
            )
    };
    let tables: [&[Row]; 10] = [SOP1, SOP2, SOPC, SOPK, VOP1, VOP2, VOP3, VOP3P, VOPC, &[]];
    let missing: Vec<&str> = (tables.iter().flat_map(|table| table.iter()))
        .filter(|row| lookup(row.op).is_none() && !left_out(row.op))
        .map(|row| row.op.mnemonic())
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

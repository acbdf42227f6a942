//! Operations that gfx1250 adds, and what is different in waves of 32 lanes.

use super::{S0, S2, S4, V0, V1, V2, V4, f};
use crate::exec::lookup;
use crate::isa::table::{Row, TIED, gfx12};
use crate::isa::{Chip, Format, Inst, MemMods, Mods, Op, Operand};
use crate::wave::{EXEC, Generation, LANES, VCC, WaveState};

/// A wave of 32 lanes with 16 vector registers of zeros.
fn wave() -> WaveState {
    let mut wave = super::wave().with_generation(Generation::Gfx12);
    wave.accum_offset = 16;
    // No IEEE bit: see `KernelDescriptor::mode`.
    wave.mode = super::MODE & !(1 << 9);
    wave
}

/// An instruction by operation, from gfx1250's tables; masks are one register wide.
fn inst(op: Op, format: Format, dst: Operand, src: &[Operand]) -> Inst {
    let tables: &[&'static [Row]] = match format {
        Format::Sop1 => &[gfx12::SOP1],
        Format::Sop2 => &[gfx12::SOP2],
        Format::Sopc => &[gfx12::SOPC],
        Format::Vop1 => &[gfx12::VOP1],
        Format::Vop2 => &[gfx12::VOP2],
        Format::Vopc => &[gfx12::VOPC],
        Format::Vop3p => &[gfx12::VOP3P],
        _ => &[gfx12::VOP3, gfx12::VOP2, gfx12::VOP1, gfx12::VOPC],
    };
    let row = tables.iter().flat_map(|table| table.iter()).find(|row| row.op == op).expect("a row of the operation");
    let mut sources = [Operand::None; 4];
    sources[..src.len()].copy_from_slice(src);
    if row.has(TIED) {
        sources[src.len()] = dst;
    }
    Inst {
        op,
        format,
        len: 1,
        chip: Chip::Gfx1250,
        is_second: false,
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

fn run(wave: &mut WaveState, inst: &Inst) {
    lookup(inst.op).expect("the operation is simulated")(wave, inst).expect("no fault");
}

/// The 64-bit result in s[4:5] of an operation on s[0:1] and s[2:3].
fn scalar64(op: Op, a: u64, b: u64) -> u64 {
    let mut wave = wave();
    wave.set_sgpr64(0, a);
    wave.set_sgpr64(2, b);
    wave.scc = true;
    run(&mut wave, &inst(op, Format::Sop2, S4, &[S0, S2]));
    assert!(wave.scc, "SCC is kept");
    wave.sgpr64(4)
}

/// The 32-bit result in s4 of an operation on s0 (and s2).
fn scalar(op: Op, format: Format, sources: &[u32]) -> u32 {
    let mut wave = wave();
    let registers = [S0, S2];
    for (register, value) in [0, 2].iter().zip(sources) {
        wave.set_sgpr(*register, *value);
    }
    run(&mut wave, &inst(op, format, S4, &registers[..sources.len()]));
    wave.sgprs[4]
}

#[test]
fn sums_and_products_of_64_bits_leave_the_condition_alone() {
    assert_eq!(scalar64(Op::SAddNcU64, u64::MAX, 2), 1);
    assert_eq!(scalar64(Op::SSubNcU64, 1, 2), u64::MAX);
    assert_eq!(scalar64(Op::SMulU64, 0x1_0000_0001, 0x1_0000_0003), 0x4_0000_0003);
    let mut wave = wave();
    wave.set_sgpr64(2, 5);
    let mut add = inst(Op::SAddNcU64, Format::Sop2, S4, &[Operand::Literal64, S2]);
    (add.len, add.raw) = (3, [0, 0xffff_fffe, 0xffff_ffff]);
    run(&mut wave, &add);
    assert_eq!(wave.sgpr64(4), 3, "a literal of 64 bits");
}

#[test]
fn scalar_floats() {
    assert_eq!(scalar(Op::SAddF32, Format::Sop2, &[f(1.5), f(2.25)]), f(3.75));
    assert_eq!(scalar(Op::SMulF32, Format::Sop2, &[f(-3.0), f(0.5)]), f(-1.5));
    assert_eq!(scalar(Op::SMinNumF32, Format::Sop2, &[0x7fc0_0000, f(2.0)]), f(2.0), "a number before a NaN");
    assert_eq!(scalar(Op::SMinNumF32, Format::Sop2, &[0x7f80_0001, f(2.0)]), f(2.0), "also before a signalling one");
    assert_eq!(scalar(Op::SMinimumF32, Format::Sop2, &[0x7fc0_0000, f(2.0)]), 0x7fc0_0000, "a NaN before a number");
    assert_eq!(scalar(Op::STruncF32, Format::Sop1, &[f(-2.75)]), f(-2.0));
    assert_eq!(scalar(Op::SRndneF32, Format::Sop1, &[f(2.5)]), f(2.0));
    assert_eq!(scalar(Op::SCvtU32F32, Format::Sop1, &[f(4e9)]), 4_000_000_000);
    assert_eq!(scalar(Op::SCvtU32F32, Format::Sop1, &[f(-1.0)]), 0);
    assert_eq!(scalar(Op::SCvtI32F32, Format::Sop1, &[f(-3.9)]), -3i32 as u32);
    assert_eq!(scalar(Op::SCvtF32U32, Format::Sop1, &[0xffff_ffff]), f(4_294_967_296.0));
    assert_eq!(scalar(Op::SCvtF16F32, Format::Sop1, &[f(1.0)]), 0x3c00);
    assert_eq!(scalar(Op::SCvtHiF32F16, Format::Sop1, &[0x4000_1234]), f(2.0));
    assert_eq!(scalar(Op::SPackHlB32B16, Format::Sop2, &[0x1234_5678, 0x9abc_def0]), 0xdef0_1234);
    let mut wave = wave();
    (wave.sgprs[0], wave.sgprs[2], wave.sgprs[4]) = (f(2.0), f(3.0), f(10.0));
    run(&mut wave, &inst(Op::SFmacF32, Format::Sop2, S4, &[S0, S2]));
    assert_eq!(wave.sgprs[4], f(16.0));
    for (op, a, b, expected) in [
        (Op::SCmpGeF32, f(1.0), f(1.0), true),
        (Op::SCmpGeF32, 0x7fc0_0000, f(1.0), false),
        (Op::SCmpNltF32, 0x7fc0_0000, f(1.0), true),
        (Op::SCmpLgF32, f(0.0), f(-0.0), false),
        (Op::SCmpUF32, f(0.0), 0x7fc0_0000, true),
    ] {
        (wave.sgprs[0], wave.sgprs[2]) = (a, b);
        run(&mut wave, &inst(op, Format::Sopc, Operand::None, &[S0, S2]));
        assert_eq!(wave.scc, expected, "{op:?} {a:#x} {b:#x}");
    }
}

#[test]
fn masks_have_32_bits_and_one_register() {
    let mut wave = wave();
    wave.sgprs[5] = 77;
    wave.set_sgpr(0, 0x0000_00f0);
    wave.set_mask(EXEC, 0x0000_0ff0);
    run(&mut wave, &inst(Op::SAndSaveexecB32, Format::Sop1, S4, &[S0]));
    assert_eq!((wave.sgprs[4], wave.sgprs[5], wave.exec(), wave.scc), (0xff0, 77, 0xf0, true));
    run(&mut wave, &inst(Op::SAndNot1SaveexecB32, Format::Sop1, S4, &[S0]));
    assert_eq!((wave.sgprs[4], wave.exec(), wave.scc), (0xf0, 0, false));
    // Compares write one register; EXEC only, in the form that writes it.
    wave.set_mask(EXEC, 0xffff_ffff);
    wave.vgprs[0] = std::array::from_fn(|lane| lane as u32);
    wave.vgprs[1] = [4; LANES];
    wave.sgprs[VCC + 1] = 88;
    let mut compare = inst(Op::VCmpGtU32, Format::Vop3, Operand::None, &[V0, V1]);
    compare.sdst = S4;
    run(&mut wave, &compare);
    assert_eq!((wave.sgprs[4], wave.sgprs[5]), (0xffff_ffe0, 77));
    let mut writes_exec = inst(Op::VCmpxLtU32, Format::Vopc, Operand::None, &[V0, V1]);
    writes_exec.sdst = Operand::None;
    run(&mut wave, &writes_exec);
    assert_eq!((wave.exec(), wave.sgprs[VCC + 1]), (0xf, 88));
    // The choice of a mask in one register.
    wave.set_mask(EXEC, 0xffff_ffff);
    wave.sgprs[2] = 0x8000_0001;
    wave.sgprs[3] = !0;
    run(&mut wave, &inst(Op::VCndmaskB32, Format::Vop3, V4, &[V0, V1, S2]));
    assert_eq!((wave.vgprs[4][0], wave.vgprs[4][1], wave.vgprs[4][31]), (4, 1, 4));
}

#[test]
fn lanes_are_counted_and_named_modulo_32() {
    let mut wave = wave();
    let ones = Operand::InlineInt(-1);
    run(&mut wave, &inst(Op::VMbcntLoU32B32, Format::Vop3, V0, &[ones, Operand::InlineInt(0)]));
    run(&mut wave, &inst(Op::VMbcntHiU32B32, Format::Vop3, V1, &[ones, V0]));
    assert_eq!(
        wave.vgprs[1][..32],
        std::array::from_fn::<u32, 32, _>(|lane| lane as u32),
        "the upper half adds nothing"
    );
    wave.vgprs[0] = std::array::from_fn(|lane| lane as u32 + 100);
    wave.set_sgpr(2, 35);
    run(&mut wave, &inst(Op::VReadlaneB32, Format::Vop3, S0, &[V0, S2]));
    assert_eq!(wave.sgprs[0], 103);
    // v_permlanex16_b32: lane i takes lane 15 - i of the other row.
    (wave.sgprs[0], wave.sgprs[2]) = (0x89ab_cdef, 0x0123_4567);
    run(&mut wave, &inst(Op::VPermlanex16B32, Format::Vop3, V4, &[V0, S0, S2]));
    assert_eq!((wave.vgprs[4][0], wave.vgprs[4][15], wave.vgprs[4][16]), (131, 116, 115));
}

#[test]
fn vector_integers() {
    let wide = |op: Op, format: Format, a: u64, b: u64| {
        let mut wave = wave();
        for (register, value) in [(0, a), (2, b)] {
            wave.vgprs[register] = [value as u32; LANES];
            wave.vgprs[register + 1] = [(value >> 32) as u32; LANES];
        }
        run(&mut wave, &inst(op, format, V4, &[V0, V2]));
        u64::from(wave.vgprs[4][31]) | u64::from(wave.vgprs[5][31]) << 32
    };
    assert_eq!(wide(Op::VAddNcU64, Format::Vop2, u64::MAX, 2), 1);
    assert_eq!(wide(Op::VSubNcU64, Format::Vop2, 0, 1), u64::MAX);
    assert_eq!(wide(Op::VMulU64, Format::Vop2, 1 << 33, 3), 3 << 33);
    let mut wave = wave();
    wave.vgprs[0] = [0xffff_ffff; LANES];
    wave.vgprs[1] = [0xffff_fffe; LANES];
    (wave.vgprs[2], wave.vgprs[3]) = ([1; LANES], [0; LANES]);
    run(&mut wave, &inst(Op::VMadNcU64U32, Format::Vop3, V4, &[V0, V1, V2]));
    assert_eq!((wave.vgprs[4][0], wave.vgprs[5][0]), (3, 0xffff_fffd));
    run(&mut wave, &inst(Op::VMadNcI64I32, Format::Vop3, V4, &[V0, V1, V2]));
    assert_eq!((wave.vgprs[4][0], wave.vgprs[5][0]), (3, 0), "-1 times -2 and 1");
    run(&mut wave, &inst(Op::VMadU32, Format::Vop3, V4, &[V0, V1, V2]));
    assert_eq!(wave.vgprs[4][0], 3);
    run(&mut wave, &inst(Op::VMaxminI32, Format::Vop3, V4, &[V0, V1, V2]));
    assert_eq!(wave.vgprs[4][0], 0xffff_ffff, "the larger of -1 and -2, and then not above 1");
    run(&mut wave, &inst(Op::VMinmaxU32, Format::Vop3, V4, &[V0, V1, V2]));
    assert_eq!(wave.vgprs[4][0], 0xffff_fffe);
}

#[test]
fn packed_extremes_of_three() {
    let mut wave = wave();
    (wave.vgprs[0], wave.vgprs[1], wave.vgprs[2]) = ([0x0005_fff0; LANES], [0x0007_0001; LANES], [0x0006_0002; LANES]);
    let mut packed = |op: Op| {
        run(&mut wave, &inst(op, Format::Vop3p, V4, &[V0, V1, V2]));
        wave.vgprs[4][0]
    };
    assert_eq!(packed(Op::VPkMin3I16), 0x0005_fff0);
    assert_eq!(packed(Op::VPkMin3U16), 0x0005_0001);
    assert_eq!(packed(Op::VPkMax3I16), 0x0007_0002);
    assert_eq!(packed(Op::VPkMax3U16), 0x0007_fff0);
    assert_eq!(packed(Op::VPkMinimumF16), 0x0005_fff0, "-NaN wins in the low half");
    assert_eq!(packed(Op::VPkMin3NumF16), 0x0005_0001, "and loses against numbers");
}

#[test]
fn results_of_16_bits_keep_the_other_half() {
    let mut wave = wave();
    wave.vgprs[0] = [0x3c00; LANES];
    wave.vgprs[4] = [0xaaaa_bbbb; LANES];
    run(&mut wave, &inst(Op::VAddF16, Format::Vop2, V4, &[V0, V0]));
    assert_eq!(wave.vgprs[4][0], 0xaaaa_4000);
    let mut high = inst(Op::VAddF16, Format::Vop3, V4, &[V0, V0]);
    high.mods.op_sel = 8;
    run(&mut wave, &high);
    assert_eq!(wave.vgprs[4][0], 0x4000_4000);
}

#[test]
fn every_operation_of_gfx1250s_scalar_and_vector_tables_is_known_or_listed() {
    // The machine's own instructions; matrix instructions, small floats and register indexing as on gfx9; and what no public
    // document describes.
    let left_out = |op: Op| {
        let name = op.mnemonic();
        let machine =
            ["s_cbranch", "s_getpc", "s_setpc", "s_swappc", "s_call", "s_getreg", "s_setreg", "v_nop", "s_rfe"];
        let others = ["v_wmma", "v_swmmac", "v_cvt_scale", "s_movrel", "v_movrel", "v_cube", "v_swaprel", "s_barrier"];
        let unknown = ["v_permlane_", "v_add_m", "v_pk_add_m", "v_sat_pk4", "v_cvt_sr_", "s_alloc_vgpr", "s_wakeup"];
        let relics =
            ["s_get_barrier_state", "v_mullit", "v_qsad", "v_mqsad", "v_trig_preop", "s_version", "v_perm_pk16"];
        let lists = [&machine[..], &others, &unknown, &relics];
        lists.iter().copied().flatten().any(|prefix| name.starts_with(prefix))
            || ["fp8", "bf8", "bf16", "fp4", "bf6", "fp6", "permlane64", "iu4", "iu8"]
                .iter()
                .any(|part| name.contains(part))
            || crate::exec::smem::tells_time(op)
            || crate::exec::control::is_control(op)
    };
    let tables: [&[Row]; 9] = [
        gfx12::SOP1,
        gfx12::SOP2,
        gfx12::SOPC,
        gfx12::SOPK,
        gfx12::VOP1,
        gfx12::VOP2,
        gfx12::VOP3,
        gfx12::VOP3P,
        gfx12::VOPC,
    ];
    let missing: Vec<&str> = (tables.iter().flat_map(|table| table.iter()))
        .filter(|row| lookup(row.op).is_none() && !left_out(row.op))
        .map(|row| row.op.mnemonic())
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

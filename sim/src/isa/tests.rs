//! Literal vectors, and properties of the tables and of decoding any words. The comparison with LLVM is `tests/sim_isa`.

use super::table::{
    DS, FLAT, GLOBAL, MTBUF, MUBUF, Row, SCRATCH, SMEM, SOP1, SOP2, SOPC, SOPK, SOPP, VOP1, VOP2, VOP3, VOP3P, VOPC,
};
use super::{Chip, Format, Lanes, Op, Operand, Scope, Why, decode, table::gfx12};

const CHIPS: [Chip; 2] = [Chip::Gfx942, Chip::Gfx950];

const ALL_CHIPS: [Chip; 3] = [Chip::Gfx942, Chip::Gfx950, Chip::Gfx1250];

const NEWER: [&[Row]; 17] = [
    gfx12::SOP2,
    gfx12::SOPK,
    gfx12::SOP1,
    gfx12::SOPC,
    gfx12::SOPP,
    gfx12::SMEM,
    gfx12::VOP1,
    gfx12::VOP2,
    gfx12::VOPC,
    gfx12::VOP3,
    gfx12::VOP3P,
    gfx12::VOPD,
    gfx12::DS,
    gfx12::FLAT,
    gfx12::GLOBAL,
    gfx12::SCRATCH,
    gfx12::BUFFER,
];

const TABLES: [&[Row]; 17] =
    [SOP2, SOPK, SOP1, SOPC, SOPP, SMEM, VOP1, VOP2, VOPC, VOP3, VOP3P, DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF];

/// Each is what LLVM's assembler makes of the text, on both chips.
const VECTORS: &[(&[u32], &str)] = &[
    (&[0x8014_3c28], "s_add_u32 s20, s40, s60"),
    (&[0x8694_ff28, 0x1234_5678], "s_and_b64 s[20:21], s[40:41], 0x12345678"),
    (&[0xbeea_017e], "s_mov_b64 vcc, exec"),
    (&[0xb014_fff0], "s_movk_i32 s20, 0xfff0"),
    (&[0xbf8c_0f70], "s_waitcnt vmcnt(0)"),
    (&[0xbf8c_c07f], "s_waitcnt lgkmcnt(0)"),
    (&[0xbf8a_0000], "s_barrier"),
    (&[0xbf88_fffb], "s_cbranch_execz 65531"),
    (&[0xbf81_0000], "s_endpgm"),
    (&[0xc006_0504, 0x0000_0010], "s_load_dwordx2 s[20:21], s[8:9], 0x10"),
    (&[0x7e14_02f2], "v_mov_b32_e32 v10, 1.0"),
    (&[0x6814_3c80], "v_add_u32_e32 v10, 0, v30"),
    (&[0x7d98_3c14], "v_cmp_gt_u32_e32 vcc, s20, v30"),
    (&[0xd119_6a0a, 0x0002_3d14], "v_add_co_u32_e64 v10, vcc, v20, v30"),
    (&[0xd1cb_820a, 0x0ca2_3d14], "v_fma_f32 v10, v20, |v30|, v40 clamp mul:2"),
    (&[0x7e14_02fa, 0xff01_1114], "v_mov_b32_dpp v10, v20 row_shr:1 row_mask:0xf bank_mask:0xf"),
    (&[0xd86c_0004, 0x0a00_0014], "ds_read_b32 v10, v20 offset:4"),
    (&[0xd9fe_0010, 0x0a00_0014], "ds_read_b128 v[10:13], v20 offset:16"),
    (&[0xdc50_8020, 0x0a7f_0014], "global_load_dword v10, v[20:21], off offset:32"),
    (&[0xdc73_9fff, 0x0006_1e14], "global_store_dword v20, v30, s[6:7] offset:-1 sc0 nt"),
    (&[0xdf09_8000, 0x0a7f_1e14], "global_atomic_add v10, v[20:21], v30, off sc0 sc1"),
    (&[0xe0a0_c000, 0x0000_0000], "buffer_wbl2 sc0 sc1"),
    (&[0xe0a4_8000, 0x0000_0000], "buffer_inv sc1"),
];

#[test]
fn vectors_print_as_they_were_written() {
    for chip in CHIPS {
        for (words, text) in VECTORS {
            let inst = decode(words, chip).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(inst.to_string(), *text, "on {}", chip.name());
            assert_eq!(usize::from(inst.len), words.len(), "{text}");
            assert_eq!(inst.raw[..words.len()], **words, "{text}");
        }
    }
}

#[test]
fn operands_stand_where_the_executor_looks() {
    let inst = |words: &[u32]| decode(words, Chip::Gfx950).expect("an instruction");
    let carry = inst(&[0x3814_3d14]);
    assert_eq!((carry.op, carry.format), (Op::VAddcCoU32, Format::Vop2));
    assert_eq!((carry.sdst, carry.src[2], carry.src_width(2)), (Operand::VccLo, Operand::VccLo, 2));
    let fused = inst(&[0x7614_3d14]);
    assert_eq!((fused.op, fused.src[2]), (Op::VFmacF32, Operand::Vgpr(10)), "the destination is also a source");
    let offset = inst(&[0xdc50_8000, 0x0a06_0014]);
    assert_eq!((offset.src_width(0), offset.src[2], offset.src_width(2)), (1, Operand::Sgpr(6), 2));
    let address = inst(&[0xdc50_8000, 0x0a7f_0014]);
    assert_eq!((address.src_width(0), address.src[2]), (2, Operand::None));
    let silent = inst(&[0xdd08_8000, 0x0a7f_1e14]);
    assert_eq!((silent.op, silent.dst), (Op::GlobalAtomicAdd, Operand::None), "nothing is returned without sc0");
    let short = inst(&[0xdc90_8000, 0x0a7f_0014]);
    assert!(short.keeps_dst(), "{short} keeps the other half");
    let permuted = inst(&[0x7e14_02fa, 0xff00_e414]);
    assert!(matches!(permuted.mods.lanes, Lanes::Dpp(dpp) if dpp.ctrl == 0xe4 && !dpp.bound_ctrl));
}

/// gfx1250: each is what LLVM's assembler makes of the text.
const NEWER_VECTORS: &[(&[u32], &str)] = &[
    (&[0x8001_0302], "s_add_co_u32 s1, s2, s3"),
    (&[0xa982_fe04, 0x3456_7890, 0x12], "s_add_nc_u64 s[2:3], s[4:5], 0x1234567890"),
    (&[0xbe80_4ec1], "s_barrier_signal -1"),
    (&[0xbf94_ffff], "s_barrier_wait 0xffff"),
    (&[0xbfc5_0000], "s_wait_xcnt 0x0"),
    (&[0xbe82_4d83], "s_sendmsg_rtn_b64 s[2:3], sendmsg(MSG_RTN_GET_REALTIME)"),
    (&[0xbf87_0091], "s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)"),
    (&[0xf400_2082, 0x0d00_0010], "s_load_b64 s[2:3], s[4:5], s6 offset:0x10 scale_offset"),
    (&[0xc810_0702, 0x0104_0105], "v_dual_fmac_f32 v1, v2, v3 :: v_dual_mov_b32 v4, v5"),
    (
        &[0xcf41_2105, 0x0006_0102, 0x0140_0308],
        "v_dual_add_nc_u32 v8, v5, v6 :: v_dual_bitop2_b32 v1, v2, v3 bitop3:0x40",
    ),
    (&[0x5004_04fe, 0x3456_7890, 0x12], "v_add_nc_u64_e32 v[2:3], 0x1234567890, v[2:3]"),
    (&[0xd503_0001, 0x0002_04ff, 0x1234_5678], "v_add_f32_e64 v1, 0x12345678, v2"),
    (&[0xd503_0001, 0x4002_06fa, 0xff01_0102], "v_add_f32_e64_dpp v1, v2, -v3 row_shl:1 row_mask:0xf bank_mask:0xf"),
    (&[0x0602_06e9, 0x0539_7702], "v_add_f32_dpp v1, v2, v3 dpp8:[7,6,5,4,3,2,1,0]"),
    (&[0xd8dc_0403, 0x0200_0001], "ds_load_2addr_b32 v[2:3], v1 offset0:3 offset1:4"),
    (&[0xee0d_4002, 0x0198_0001, 0x2], "global_atomic_add_u32 v1, v2, v3, s[2:3] th:TH_ATOMIC_RETURN scope:SCOPE_DEV"),
    (&[0xee0b_007c, 0x000c_0000, 0], "global_wb scope:SCOPE_SYS"),
    (&[0xed05_0002, 0x1, 0x400], "scratch_load_b32 v1, off, s2 offset:4"),
    (&[0xc405_0008, 0x4080_0801, 0x402], "buffer_load_b32 v1, v2, s[4:7], s8 offen offset:4"),
];

#[test]
fn gfx1250_prints_as_it_was_written() {
    for (words, text) in NEWER_VECTORS {
        let inst = decode(words, Chip::Gfx1250).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!((inst.to_string().as_str(), usize::from(inst.len)), (*text, words.len()));
        // A word less is no instruction.
        let short = decode(&words[..words.len() - 1], Chip::Gfx1250);
        assert_eq!(short.expect_err("cut").why, Why::Truncated, "{text}");
    }
}

#[test]
fn operands_of_gfx1250_stand_where_the_executor_looks() {
    let inst = |words: &[u32]| decode(words, Chip::Gfx1250).expect("an instruction");
    let first = inst(&[0xc810_0702, 0x0104_0105]);
    assert_eq!((first.op, first.format, first.src[2]), (Op::VFmacF32, Format::Vopd, Operand::Vgpr(1)));
    let second = first.second().expect("a second operation");
    assert_eq!((second.op, second.dst, second.src[0]), (Op::VMovB32, Operand::Vgpr(4), Operand::Vgpr(5)));
    let wide = inst(&[0xa982_fe04, 0x3456_7890, 0x12]);
    assert_eq!((wide.src[1], wide.literal64()), (Operand::Literal64, 0x12_3456_7890));
    let carry = inst(&[0x4014_3d14]);
    assert_eq!((carry.op, carry.sdst, carry.sdst_width()), (Op::VAddcCoU32, Operand::VccLo, 1));
    assert_eq!((carry.src[2], carry.src_width(2)), (Operand::VccLo, 1), "masks are one dword wide");
    let exec = inst(&[0x7d22_2904]);
    assert_eq!((exec.op, exec.sdst), (Op::VCmpxLtF32, Operand::None), "it writes EXEC alone");
    let atomic = inst(&[0xee0d_4002, 0x0198_0001, 0x2]);
    assert_eq!((atomic.mem.scope, atomic.mem.th, atomic.dst), (Scope::Dev, 1, Operand::Vgpr(1)));
    let silent = inst(&[0xee0d_4002, 0x0188_0001, 0x2]);
    assert_eq!((silent.op, silent.dst), (Op::GlobalAtomicAdd, Operand::None));
    let half = inst(&[0x6414_3d14]);
    assert!(half.op == Op::VAddF16 && half.keeps_dst(), "{half} keeps the other half");
    let negative = inst(&[0xee05_007c, 0x0000_000a, 0xffff_fb04]);
    assert_eq!(negative.mem.offset, -5);
}

#[test]
fn what_a_chip_lacks_is_refused() {
    let refused = |words: &[u32], chip| decode(words, chip).expect_err("no instruction").why;
    // ds_read_b64_tr_b16 and the 16-byte load to LDS are gfx950's.
    let transpose = [0xdbc6_0000, 0x0a00_0014];
    assert!(decode(&transpose, Chip::Gfx950).is_ok());
    assert_eq!(refused(&transpose, Chip::Gfx942), Why::Opcode);
    let wide = [0xddf4_8000, 0x007f_0014];
    assert!(decode(&wide, Chip::Gfx950).is_ok());
    assert_eq!(refused(&wide, Chip::Gfx942), Why::Opcode);
    for chip in CHIPS {
        assert_eq!(refused(&[], chip), Why::Truncated);
        assert_eq!(refused(&[0x7e14_02ff], chip), Why::Truncated, "the literal is missing");
        assert_eq!(refused(&[0xdc50_8000], chip), Why::Truncated, "the second dword is missing");
        assert_eq!(refused(&[0x7e14_027d], chip), Why::Operand, "later chips' null register");
        assert_eq!(refused(&[0x8695_3c28], chip), Why::Tuple, "s[21:22]");
        assert_eq!(refused(&[0xdc54_8000, 0x0b7f_0014], chip), Why::Tuple, "v[11:12]");
        assert_eq!(refused(&[0xd101_000a, 0x0002_3cff], chip), Why::Literal);
        assert_eq!(refused(&[0xffff_ffff], chip), Why::Opcode);
    }
    let error = decode(&[0xffff_ffff, 5], Chip::Gfx950).expect_err("no instruction");
    let text = error.to_string();
    assert!(text.starts_with("unknown encoding on gfx950: 0xffffffff 0x00000005 ("), "{text}");
}

#[test]
fn tables_are_sorted_and_complete() {
    let count = |tables: &[&[Row]]| {
        let mut seen = vec![0; Op::ALL.len()];
        for table in tables {
            assert!(table.windows(2).all(|pair| pair[0].code < pair[1].code), "{:?} is not sorted", table[0].op);
            for row in *table {
                seen[row.op as usize] += 1;
                assert_eq!(row.bits.used & row.bits.zero, 0, "{:?}", row.op);
            }
        }
        seen
    };
    let (older, mut newer) = (count(&TABLES), count(&NEWER));
    for row in gfx12::VOPD {
        // What can be one of two operations mostly stands alone, too.
        newer[row.op as usize] -= i32::from(newer[row.op as usize] > 1);
    }
    for (op, (older, newer)) in Op::ALL.iter().zip(older.into_iter().zip(newer)) {
        assert!(older <= 1 && newer <= 1 && older + newer > 0, "{op:?} stands in {older} and {newer} rows");
    }
    let mut names: Vec<&str> = Op::ALL.iter().map(|op| op.mnemonic()).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "a mnemonic occurs twice");
}

/// A generator of its own, so that nothing else decides which words are seen.
fn next(state: &mut u64) -> u32 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
}

#[test]
fn no_words_panic() {
    let mut state = 0x1234_5678_9abc_def1;
    let mut decoded = 0;
    for round in 0..200_000u32 {
        let mut words = [next(&mut state), next(&mut state), next(&mut state)];
        if round % 3 == 1 {
            words[1] &= next(&mut state) & next(&mut state);
        }
        let words = &words[..(round % 4).min(3) as usize];
        for chip in ALL_CHIPS {
            match decode(words, chip) {
                Ok(inst) => {
                    decoded += 1;
                    if let Some(second) = inst.second() {
                        assert!(second.is_second && second.len == inst.len && second.second().is_none(), "{inst}");
                        assert!(inst.to_string().ends_with(&format!(" :: {second}")));
                    }
                    assert!(usize::from(inst.len) <= words.len());
                    assert!(inst.to_string().starts_with(inst.mnemonic()));
                    let widths = inst.src.iter().zip(inst.src_dwords);
                    assert!(widths.into_iter().all(|(src, dwords)| (*src == Operand::None) == (dwords == 0)), "{inst}");
                    assert_eq!(inst.dst == Operand::None, inst.dst_width() == 0, "{inst}");
                    assert_eq!(inst.sdst == Operand::None, inst.sdst_width() == 0, "{inst}");
                }
                Err(error) => assert!(error.to_string().contains(chip.name())),
            }
        }
    }
    assert!(decoded > 150_000, "only {decoded} decoded");
}

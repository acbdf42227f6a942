//! Literal vectors, and properties of the tables and of decoding any words. The comparison with LLVM is `tests/sim_isa`.

use super::table::{
    DS, FLAT, GLOBAL, MTBUF, MUBUF, Row, SCRATCH, SMEM, SOP1, SOP2, SOPC, SOPK, SOPP, VOP1, VOP2, VOP3, VOP3P, VOPC,
};
use super::{Chip, Format, Lanes, Op, Operand, Why, decode};

const CHIPS: [Chip; 2] = [Chip::Gfx942, Chip::Gfx950];

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
    let mut seen = vec![0; Op::ALL.len()];
    for table in TABLES {
        assert!(table.windows(2).all(|pair| pair[0].code < pair[1].code), "{:?} is not sorted", table[0].op);
        for row in table {
            seen[row.op as usize] += 1;
            assert_eq!(row.bits.used & row.bits.zero, 0, "{:?}", row.op);
        }
    }
    for (op, count) in Op::ALL.iter().zip(seen) {
        assert_eq!(count, 1, "{op:?} stands in {count} rows");
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
        for chip in CHIPS {
            match decode(words, chip) {
                Ok(inst) => {
                    decoded += 1;
                    assert!(usize::from(inst.len) <= words.len());
                    assert!(inst.to_string().starts_with(inst.op.mnemonic()));
                    let widths = inst.src.iter().zip(inst.src_dwords);
                    assert!(widths.into_iter().all(|(src, dwords)| (*src == Operand::None) == (dwords == 0)), "{inst}");
                    assert_eq!(inst.dst == Operand::None, inst.dst_width() == 0, "{inst}");
                    assert_eq!(inst.sdst == Operand::None, inst.sdst_width() == 0, "{inst}");
                }
                Err(error) => assert!(error.to_string().contains(chip.name())),
            }
        }
    }
    assert!(decoded > 100_000, "only {decoded} decoded");
}

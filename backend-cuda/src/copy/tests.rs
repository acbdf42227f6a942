//! Plans of `ldstmatrix` and their reports. What is accepted is run by the model of a CTA that the partition's tests use.

#[path = "../../../passes/src/select/partition/tests/model.rs"]
#[expect(dead_code, reason = "shared with the tests of the partition, which use more of it")]
mod model;

use model::{Buf, Case, Stats};
use tilewright_ir::facts::Facts;
use tilewright_ir::layout::{Iter, TileLayout};
use tilewright_ir::{Axis, BinOp, CopyAttrs, DType, Dim, Expr, Layout, Name, ScalarTy, Scope, Space, Special, Swizzle};
use tilewright_passes::select::{
    Candidate, CopyGroup, CopyVariant, CopyView, Names, Operand, ParamValue, Queues, Reject, Rewriter,
};
use tilewright_target::{SM_80, SM_90A, Target};

use super::{LdStMatrix, Reg, VARIANTS};

fn iters(list: &[(i64, i64, Axis)]) -> TileLayout {
    TileLayout::from_shard(list.iter().map(|(e, s, a)| Iter::new(*e, *s, a.clone())).collect())
}

fn on_m(list: &[(i64, i64)]) -> TileLayout {
    iters(&list.iter().map(|(e, s)| (*e, *s, Axis::M)).collect::<Vec<_>>())
}

/// The m8n8 fragment with `n` matrices: shape (8, 4, n, 2).
fn frag(n: i64) -> Buf {
    let tile = iters(&[(8, 4, Axis::LaneId), (4, 1, Axis::LaneId), (n, 2, Axis::M), (2, 1, Axis::M)]);
    Buf::whole(Space::Local, &[8, 4, n, 2], tile.into())
}

/// Row-major shared memory under it, rows `pitch` elements apart.
fn rows(n: i64, pitch: i64) -> Buf {
    Buf::whole(Space::Shared, &[8, 4, n, 2], on_m(&[(8, pitch), (4, 2), (n, 8), (2, 1)]).into())
}

fn case(dst: Buf, src: Buf, scope: Scope, block: i64) -> Case {
    let (facts, attrs) = (Facts::new(), CopyAttrs::default());
    Case { dst, src, dtype: DType::F16, scope, block, warp: 32, guard: None, facts, attrs }
}

fn plan(variant: &dyn CopyVariant, case: &Case, target: &Target) -> Result<Candidate, Reject> {
    variant.plan(&CopyGroup { copies: vec![case.view()] }, target)
}

fn run(case: &Case, candidate: &Candidate) -> Stats {
    let mut names = Names::default();
    let mut rw = Rewriter::new(&mut names, tilewright_ir::Span::NONE);
    (candidate.emit)(&mut rw);
    let block = rw.finish();
    case.check(&block).unwrap_or_else(|why| panic!("{why}\n{case:#?}\n{block:#?}"))
}

fn int(candidate: &Candidate, name: &str) -> i64 {
    match candidate.params.iter().find(|(n, _)| *n == name) {
        Some((_, ParamValue::Int(v))) => *v,
        other => panic!("{name}: {other:?}"),
    }
}

fn accepts(case: &Case) -> Candidate {
    let candidate = plan(&LdStMatrix, case, &SM_90A).unwrap_or_else(|r| panic!("{r}\n{case:#?}"));
    let stats = run(case, &candidate);
    assert!(stats.matrices > 0 && stats.vectors == 0);
    candidate
}

/// The sentence, after checking that the vector loop takes the copy and is right.
fn declines(case: &Case, target: &Target) -> String {
    let reject = plan(&LdStMatrix, case, target).expect_err("declines");
    let reg = plan(&Reg, case, target).unwrap_or_else(|r| panic!("reg declines, too: {r}"));
    run(case, &reg);
    reject.to_string()
}

#[test]
fn fragments_of_one_to_four_matrices() {
    for n in [1, 2, 4, 8, 3, 6] {
        for pitch in [8 * n, 8 * n + 8, 136] {
            for load in [true, false] {
                let (dst, src) = if load { (frag(n), rows(n, pitch)) } else { (rows(n, pitch), frag(n)) };
                let c = accepts(&case(dst, src, Scope::Warp, 32));
                let num = [4, 2, 1].into_iter().find(|k| n % k == 0).unwrap();
                assert_eq!((int(&c, "num"), int(&c, "m_outer"), int(&c, "row_stride")), (num, n / num, pitch));
                assert!(c.params.contains(&("trans", ParamValue::Bool(false))));
            }
        }
    }
}

#[test]
fn column_major_is_transposed() {
    for n in [1, 2, 4] {
        let src = Buf::whole(Space::Shared, &[8, 4, n, 2], on_m(&[(8, 1), (4, 32), (n, 128), (2, 16)]).into());
        let c = accepts(&case(frag(n), src.clone(), Scope::Warp, 64));
        assert!(c.params.contains(&("trans", ParamValue::Bool(true))));
        assert_eq!(int(&c, "row_stride"), 16);
        accepts(&case(src, frag(n), Scope::Warp, 32));
    }
}

#[test]
fn base_offsets_keep_rows_on_16_bytes() {
    // Field report 0.1.
    for (base, fits) in [(0, true), (4, false), (8, true), (132, false), (136, true)] {
        let mut src = rows(2, 16);
        src.layout.tile.offset.insert(Axis::M, Dim::Const(base));
        let c = case(frag(2), src, Scope::Warp, 32);
        if fits {
            accepts(&c);
        } else {
            let why = format!("base offset {} B is not a multiple of 16 B", 2 * base);
            assert_eq!(declines(&c, &SM_90A), why);
            let reg = plan(&Reg, &c, &SM_90A).unwrap();
            assert_eq!(int(&reg, "vec_bits"), 32);
        }
    }
}

#[test]
fn symbolic_bases_need_a_proof() {
    for (factor, fits) in [(4, false), (8, true)] {
        let mut c = case(frag(2), rows(2, 16), Scope::Warp, 32);
        let i = Name::new("i");
        c.facts.declare(&i, ScalarTy::Index, true);
        c.src.layout.tile.offset.insert(Axis::M, Dim::from(&i).mul(&Dim::Const(factor)));
        let got = plan(&LdStMatrix, &c, &SM_90A);
        match got {
            Ok(_) => assert!(fits),
            Err(r) => {
                assert!(!fits);
                assert_eq!(r.to_string(), "base offset i * 4 elements is not a multiple of 16 B");
            }
        }
    }
}

#[test]
fn register_bases_of_a_loop_are_even() {
    for (factor, fits) in [(8, true), (3, false)] {
        let mut c = case(frag(2), rows(2, 16), Scope::Warp, 32);
        let i = Name::new("i");
        c.facts.declare(&i, ScalarTy::Index, true);
        c.dst.layout.tile.offset.insert(Axis::M, Dim::from(&i).mul(&Dim::Const(factor)));
        match plan(&LdStMatrix, &c, &SM_90A) {
            Ok(_) => assert!(fits),
            Err(r) => assert!(!fits && r.to_string().contains("so it must be even"), "{r}"),
        }
    }
}

#[test]
fn warp_strides_keep_rows_on_16_bytes() {
    // Field report 0.2: (4, 8, 4, 2, 2) : (W, 16, 2, 8, 1).
    for (w, fits) in [(128, true), (132, false), (136, true)] {
        let regs = iters(&[
            (4, 32, Axis::TidInWg),
            (8, 4, Axis::TidInWg),
            (4, 1, Axis::TidInWg),
            (2, 2, Axis::M),
            (2, 1, Axis::M),
        ]);
        let dst = Buf::whole(Space::Local, &[4, 8, 4, 2, 2], regs.into());
        let src = Buf::whole(Space::Shared, &[4, 8, 4, 2, 2], on_m(&[(4, w), (8, 16), (4, 2), (2, 8), (2, 1)]).into());
        for block in [128, 256] {
            let c = case(dst.clone(), src.clone(), Scope::Warpgroup, block);
            if fits {
                assert_eq!(int(&accepts(&c), "t_total"), 128);
            } else {
                assert_eq!(declines(&c, &SM_90A), "warp stride 264 B is not a multiple of 16 B");
                assert_eq!(
                    plan(&LdStMatrix, &c, &SM_90A).unwrap_err().fix(),
                    Some("make the warps 136 elements apart")
                );
            }
        }
    }
}

#[test]
fn only_16_bit_types() {
    // Field report 0.3.
    for dtype in DType::ALL.iter().copied() {
        let mut c = case(frag(2), rows(2, 16), Scope::Warp, 32);
        c.dtype = dtype;
        if dtype.bits() == 16 {
            accepts(&c);
        } else {
            let why = declines(&c, &SM_90A);
            assert_eq!(why, format!("dtype {dtype} ({} bits), needs exactly 16 bits", dtype.bits()));
        }
    }
}

#[test]
fn stmatrix_needs_sm_90() {
    // Field report 0.4.
    for n in [1, 2, 4] {
        assert_eq!(declines(&case(rows(n, 8 * n), frag(n), Scope::Warp, 32), &SM_80), "stmatrix needs sm_90");
        assert!(plan(&LdStMatrix, &case(frag(n), rows(n, 8 * n), Scope::Warp, 32), &SM_80).is_ok());
    }
}

#[test]
fn rows_that_are_not_multiples_of_16_bytes() {
    let c = case(frag(2), rows(2, 132), Scope::Warp, 32);
    assert_eq!(declines(&c, &SM_90A), "row stride 264 B is not a multiple of 16 B");
    assert_eq!(plan(&LdStMatrix, &c, &SM_90A).unwrap_err().fix(), Some("pad the row to 136 elements"));
}

#[test]
fn swizzles_keep_eight_elements_together() {
    for per_element in [2, 3, 4] {
        let mut src = rows(4, 64);
        src.layout.swizzle = Some(Swizzle { per_element, swizzle_len: 3, atom_len: 3, inner: true });
        let c = case(frag(4), src, Scope::Warp, 32);
        if per_element < 3 {
            let why = declines(&c, &SM_90A);
            assert_eq!(why, "`src` has a swizzle that keeps 4 elements together, a row of a fragment has 8");
        } else {
            accepts(&c);
        }
    }
}

#[test]
fn part_of_a_warp_declines() {
    let mut c = case(frag(2), rows(2, 16), Scope::Warp, 32);
    c.guard = Some(Expr::binary(BinOp::Lt, Expr::special(Special::Lane), Expr::int(16)));
    let why = plan(&LdStMatrix, &c, &SM_90A).unwrap_err().to_string();
    assert_eq!(why, "only some lanes of a warp run the copy (16 of 32 threads)");
    c.guard = Some(Expr::binary(BinOp::Eq, Expr::special(Special::Warp), Expr::int(1)));
    c.block = 128;
    accepts(&c);
}

#[test]
fn registers_must_be_pairs() {
    let tile = iters(&[(8, 4, Axis::LaneId), (4, 1, Axis::LaneId), (2, 1, Axis::M), (2, 2, Axis::M)]);
    let dst = Buf::whole(Space::Local, &[8, 4, 2, 2], tile.into());
    declines(&case(dst, rows(2, 16), Scope::Warp, 32), &SM_90A);
    let mut dst = frag(2);
    dst.layout.tile.offset.insert(Axis::M, Dim::Const(1));
    let why = declines(&case(dst, rows(2, 16), Scope::Warp, 32), &SM_90A);
    assert!(why.contains("begins at register element 1"), "{why}");
}

#[test]
fn a_copy_of_each_warp() {
    // Only lanes are mentioned: each warp of the CTA holds a fragment; one of them stores.
    accepts(&case(frag(4), rows(4, 32), Scope::Cta, 128));
    let c = case(rows(4, 32), frag(4), Scope::Cta, 128);
    assert_eq!(run(&c, &accepts(&c)).matrices, 1);
}

#[test]
fn the_list() {
    let names: Vec<&str> = VARIANTS.iter().map(|v| v.info().name).collect();
    assert_eq!(names, ["ldstmatrix", "reg", "gmem_smem", "fallback", "peer_ldst"]);
    let layout: Layout = on_m(&[(64, 1)]).into();
    let side = |space| Buf::whole(space, &[64], layout.clone());
    let c = case(side(Space::Shared), side(Space::Global), Scope::Warp, 32);
    let answers: Vec<bool> = VARIANTS.iter().map(|v| plan(*v, &c, &SM_90A).is_ok()).collect();
    assert_eq!(answers, [false, false, true, true, false]);
}

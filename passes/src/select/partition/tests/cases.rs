//! Named copies: widths, tails, elements of less than a byte, owners, and the sentences of what does not fit.

use tilewright_ir::facts::Facts;
use tilewright_ir::layout::{Iter, TileLayout};
use tilewright_ir::{Axis, BinOp, CopyAttrs, DType, Dim, Expr, Layout, Name, ScalarTy, Scope, Space, Special};
use tilewright_target::SM_90A;

use super::model::{Buf, Case, Stats};
use crate::select::partition::{plan_elements, plan_vectors};
use crate::select::rewriter::{Names, Rewriter};
use crate::select::variant::{Candidate, ParamValue};

fn on_m(list: &[(i64, i64)]) -> Layout {
    TileLayout::from_shard(list.iter().map(|(e, s)| Iter::new(*e, *s, Axis::M)).collect()).into()
}

fn row_major(space: Space, shape: &[i64]) -> Buf {
    let dims: Vec<Dim> = shape.iter().map(|n| Dim::Const(*n)).collect();
    Buf::whole(space, shape, TileLayout::row_major(&dims).into())
}

fn case(dst: Buf, src: Buf, dtype: DType, scope: Scope, block: i64) -> Case {
    let (facts, attrs) = (Facts::new(), CopyAttrs::default());
    Case { dst, src, dtype, scope, block, warp: 32, guard: None, facts, attrs }
}

fn flat(n: i64, dtype: DType, block: i64) -> Case {
    case(row_major(Space::Shared, &[n]), row_major(Space::Global, &[n]), dtype, Scope::Cta, block)
}

fn vectors(case: &Case) -> Candidate {
    plan_vectors(&case.view(), &SM_90A).unwrap_or_else(|r| panic!("{r}\n{case:#?}"))
}

fn run(case: &Case, candidate: &Candidate) -> Stats {
    let mut names = Names::default();
    let mut rw = Rewriter::new(&mut names, tilewright_ir::Span::NONE);
    (candidate.emit)(&mut rw);
    let block = rw.finish();
    case.check(&block).unwrap_or_else(|why| panic!("{why}\n{case:#?}\n{block:#?}"))
}

fn int(candidate: &Candidate, name: &str) -> Option<i64> {
    match candidate.params.iter().find(|(n, _)| *n == name) {
        Some((_, ParamValue::Int(v))) => Some(*v),
        _ => None,
    }
}

/// Width in bits of the accesses, after running the copy.
fn width(case: &Case) -> i64 {
    let candidate = vectors(case);
    run(case, &candidate);
    int(&candidate, "vec_bits").unwrap()
}

fn refused(case: &Case) -> String {
    plan_vectors(&case.view(), &SM_90A).expect_err("declines").to_string()
}

#[test]
fn widest_access_that_keeps_all_threads_busy() {
    assert_eq!(width(&flat(1024, DType::F16, 128)), 128);
    assert_eq!(width(&flat(256, DType::F16, 128)), 32);
    // No width shares these evenly: the widest is taken, with a guard.
    assert_eq!(width(&flat(24, DType::F16, 32)), 128);
    assert_eq!(width(&flat(4 * 6, DType::F32, 32)), 128);
    assert_eq!(width(&flat(257, DType::F16, 64)), 16);
    assert_eq!(width(&flat(1, DType::F64, 64)), 64);
}

#[test]
fn widths_are_weighed_by_rounds() {
    // Shared digits of 24 do not divide 32 workers, but 96 accesses of 32 bits do.
    let dst = Buf::whole(Space::Shared, &[96], on_m(&[(4, 32), (24, 1)]));
    let c = case(dst, row_major(Space::Global, &[96]), DType::F32, Scope::Warp, 32);
    let candidate = vectors(&c);
    run(&c, &candidate);
    assert_eq!((int(&candidate, "vec_bits"), int(&candidate, "outer_count")), (Some(32), Some(3)));
    // Even only with single bytes, 33 rounds: 66 wide accesses need three.
    let candidate = vectors(&flat(1056, DType::U8, 32));
    assert_eq!((int(&candidate, "vec_bits"), int(&candidate, "outer_count")), (Some(128), Some(3)));
}

/// `a op n` on a thread id.
fn cmp(op: BinOp, id: Expr, n: i64) -> Expr {
    Expr::binary(op, id, Expr::int(n))
}

#[test]
fn any_known_set_of_threads_shares_the_work() {
    let (linear, lane, warp) =
        (|| Expr::special(Special::ThreadLinear), || Expr::special(Special::Lane), || Expr::special(Special::Warp));
    let either = |a: Expr, b: Expr| Expr::binary(BinOp::LOr, a, b);
    let guards = [
        (cmp(BinOp::Eq, linear().rem_by(2), 0), 64),
        (cmp(BinOp::Eq, linear().rem_by(3), 1), 43),
        (either(cmp(BinOp::Lt, lane(), 4), cmp(BinOp::Ge, lane(), 28)), 32),
        (cmp(BinOp::Lt, warp().rem_by(2), 1), 64),
        (either(cmp(BinOp::Eq, linear(), 5), cmp(BinOp::Eq, linear(), 100)), 2),
    ];
    for (guard, threads) in guards {
        let mut c = flat(1024, DType::F32, 128);
        c.guard = Some(guard);
        let candidate = vectors(&c);
        run(&c, &candidate);
        assert_eq!(int(&candidate, "thread_cnt"), Some(threads), "{:?}", c.guard);
    }
}

#[test]
fn groups_of_any_size_use_all_their_threads() {
    // Warp 0 has 32 threads, warp 1 has 16: two accesses each in the first, four in the second.
    let mut c = flat(256, DType::F32, 128);
    c.scope = Scope::Warp;
    c.guard = Some(cmp(BinOp::Lt, Expr::special(Special::ThreadLinear), 48));
    let candidate = vectors(&c);
    assert_eq!((int(&candidate, "thread_cnt"), int(&candidate, "outer_count")), (Some(32), Some(2)));
    assert_eq!(run(&c, &candidate).vectors, 2 * 32 + 4 * 16);
    // 8 threads of warp 0, all of the others but the last, which has 4.
    let linear = || Expr::special(Special::ThreadLinear);
    let inside = Expr::binary(BinOp::LAnd, cmp(BinOp::Ge, linear(), 24), cmp(BinOp::Lt, linear(), 100));
    c.guard = Some(inside);
    let candidate = vectors(&c);
    assert_eq!(run(&c, &candidate).vectors, 64 + 2 * 64 + 64);
}

#[test]
fn only_active_owners_receive() {
    let regs = TileLayout::from_shard(vec![Iter::new(32, 1, Axis::LaneId), Iter::new(4, 1, Axis::M)]);
    let dst = Buf::whole(Space::Local, &[32, 4], regs.into());
    let mut c = case(dst, row_major(Space::Shared, &[32, 4]), DType::F32, Scope::Warp, 64);
    for guard in
        [cmp(BinOp::Lt, Expr::special(Special::Lane), 16), cmp(BinOp::Eq, Expr::special(Special::Lane).rem_by(2), 0)]
    {
        c.guard = Some(guard);
        assert_eq!(width(&c), 128);
        run(&c, &plan_elements(&c.view(), &SM_90A).unwrap());
    }
    // Threads that the launch does not have are no owners.
    c.guard = None;
    c.block = 16;
    assert!(refused(&c).contains("of which 16 are threads"), "{}", refused(&c));
    assert!(plan_elements(&c.view(), &SM_90A).is_err());
}

#[test]
fn columns_decide_the_width() {
    // Field report 3.3: slices that begin at column 1, 2, 4 of i32 rows.
    for (begin, want) in [(0, 128), (1, 32), (2, 64), (4, 128), (33, 32)] {
        let src = row_major(Space::Global, &[8, 64]).part(&[(0, 8), (begin, 16)]);
        let c = case(row_major(Space::Shared, &[8, 16]), src, DType::I32, Scope::Warp, 32);
        assert_eq!(width(&c), want, "begin {begin}");
    }
}

#[test]
fn padded_pitch_in_a_row_per_lane() {
    // tirx.md 3.3: pitch 65 of f16, a row per lane.
    let regs = TileLayout::from_shard(vec![Iter::new(32, 1, Axis::LaneId), Iter::new(8, 1, Axis::M)]);
    let dst = Buf::whole(Space::Local, &[32, 8], regs.into());
    for (pitch, want) in [(65, 16), (66, 32), (68, 64), (72, 128)] {
        let src = Buf::whole(Space::Shared, &[32, 8], on_m(&[(32, pitch), (8, 1)]));
        assert_eq!(width(&case(dst.clone(), src, DType::F16, Scope::Warp, 32)), want, "pitch {pitch}");
    }
}

#[test]
fn symbolic_pitch_needs_a_fact() {
    // Field report 2.3.
    let ld = Name::new("ld");
    for (fact, want) in [(false, 16), (true, 128)] {
        let mut c =
            case(row_major(Space::Shared, &[16, 64]), row_major(Space::Global, &[16, 64]), DType::F16, Scope::Cta, 32);
        c.facts.declare(&ld, ScalarTy::Index, true);
        let pitch = Iter::new(16, Dim::from(&ld), Axis::M);
        c.src.layout = TileLayout::from_shard(vec![pitch, Iter::new(64, 1, Axis::M)]).into();
        if fact {
            let multiple = Expr::binary(BinOp::Rem, Expr::var(&ld), Expr::int(8));
            c.facts.assume(&Expr::binary(BinOp::Eq, multiple, Expr::int(0)));
        }
        let candidate = vectors(&c);
        assert_eq!(int(&candidate, "vec_bits"), Some(want));
        if !fact {
            assert_eq!(candidate.notes[0], "not 128 bits: stride of `src` ld elements is not a multiple of 16 B");
        }
    }
    let c = case(row_major(Space::Shared, &[2, 3]), row_major(Space::Global, &[2, 3]), DType::F16, Scope::Warp, 32);
    assert_eq!(width(&c), 32);
}

#[test]
fn forced_widths() {
    // Field report 2.4.
    let mut c = flat(1024, DType::F16, 128);
    c.attrs.vec = Some(32);
    assert_eq!(width(&c), 32);
    c.attrs.vec = Some(8);
    assert_eq!(refused(&c), "vec = 8: accesses of f16 here have 128, 64, 32, 16 bits");
    c.attrs.vec = Some(128);
    c.src = row_major(Space::Global, &[2048]).part(&[(1, 1024)]);
    assert_eq!(refused(&c), "vec = 128: base offset of `src` 2 B is not a multiple of 16 B");
    let odd = case(row_major(Space::Shared, &[2, 3]), row_major(Space::Global, &[2, 3]), DType::F16, Scope::Warp, 32);
    let odd = Case { attrs: CopyAttrs { vec: Some(64), ..CopyAttrs::default() }, ..odd };
    assert_eq!(refused(&odd), "vec = 64: `dst` has runs of 6 elements, which is not a multiple of 4");
}

#[test]
fn declared_alignment_is_a_bound() {
    let mut c = flat(1024, DType::F16, 32);
    c.src.align = Some(4);
    assert_eq!(width(&c), 32);
    c.src.align = Some(1);
    let candidate = vectors(&c);
    assert_eq!(int(&candidate, "vec_bits"), Some(16));
}

#[test]
fn no_byte_is_shared_by_two_threads() {
    // Field report 2.5.
    for dtype in [DType::I4, DType::U4, DType::F4] {
        assert_eq!(width(&flat(128, dtype, 128)), 128);
        assert_eq!(width(&flat(128, dtype, 64)), 8);
        assert_eq!(width(&flat(4096, dtype, 128)), 128);
        let odd = flat(127, dtype, 128);
        let stats = run(&odd, &vectors(&odd));
        assert_eq!((stats.vectors, stats.elements), (63, 1));
        let c = case(
            row_major(Space::Shared, &[4, 128]).part(&[(0, 4), (0, 127)]),
            row_major(Space::Global, &[4, 128]).part(&[(0, 4), (0, 127)]),
            dtype,
            Scope::Cta,
            64,
        );
        assert_eq!(run(&c, &vectors(&c)).elements, 4);
        // Packed odd rows begin inside a byte: no two threads can share them.
        let packed = case(
            row_major(Space::Shared, &[4, 127]),
            row_major(Space::Global, &[4, 128]).part(&[(0, 4), (0, 127)]),
            dtype,
            Scope::Cta,
            64,
        );
        assert!(refused(&packed).contains("would be written by two threads"), "{}", refused(&packed));
        run(&packed, &plan_elements(&packed.view(), &SM_90A).unwrap());
    }
}

#[test]
fn owners_that_do_not_run_the_copy() {
    let regs = TileLayout::from_shard(vec![Iter::new(32, 1, Axis::LaneId), Iter::new(2, 1, Axis::M)]);
    let regs = Buf::whole(Space::Local, &[32, 2], regs.into());
    let mut c = case(row_major(Space::Shared, &[32, 2]), regs.clone(), DType::F32, Scope::Warp, 32);
    assert_eq!(width(&c), 64);
    c.guard = Some(Expr::binary(BinOp::Lt, Expr::special(Special::Lane), Expr::int(16)));
    let why = "`src` is spread over 32 places of axis laneid, of which 16 are threads that run the copy in one warp";
    assert_eq!(refused(&c), why);
    let why = plan_elements(&c.view(), &SM_90A).unwrap_err().to_string();
    assert_eq!(why, "element 32 of `src` is in a thread that does not run the copy by warp");
    // Half of the tile is there.
    c.src = regs.part(&[(0, 16), (0, 2)]);
    c.dst = row_major(Space::Shared, &[32, 2]).part(&[(8, 16), (0, 2)]);
    assert_eq!(width(&c), 64);
}

#[test]
fn registers_do_not_move_between_threads() {
    let rows = TileLayout::from_shard(vec![Iter::new(32, 1, Axis::LaneId), Iter::new(32, 1, Axis::M)]);
    let columns = TileLayout::from_shard(vec![Iter::new(32, 1, Axis::M), Iter::new(32, 1, Axis::LaneId)]);
    let local = |t: &TileLayout| Buf::whole(Space::Local, &[32, 32], t.clone().into());
    let c = case(local(&rows), local(&columns), DType::F32, Scope::Warp, 32);
    assert!(refused(&c).contains("would have to move between threads"), "{}", refused(&c));
    assert!(plan_elements(&c.view(), &SM_90A).is_err());
    let same = case(local(&rows), local(&rows), DType::F32, Scope::Warp, 64);
    assert_eq!(width(&same), 128);
    let private = case(local(&rows), row_major(Space::Local, &[32, 32]), DType::F32, Scope::Warp, 32);
    assert_eq!(width(&private), 128);
}

#[test]
fn one_of_many_owners_writes() {
    // Every thread has a copy; one writes.
    let c = case(row_major(Space::Global, &[8]), row_major(Space::Local, &[8]), DType::F32, Scope::Cta, 128);
    assert_eq!(run(&c, &vectors(&c)).vectors, 2);
    let c = case(row_major(Space::Local, &[8]), row_major(Space::Global, &[8]), DType::F32, Scope::Cta, 128);
    assert_eq!(run(&c, &vectors(&c)).vectors, 2 * 128);
}

#[test]
fn attributes_that_threads_cannot_honour() {
    let mut c = flat(64, DType::F16, 32);
    c.attrs.notify = Some(Name::new("ready"));
    assert_eq!(refused(&c), "`notify` is sent by the queue of a copy engine; a copy by threads has none");
}

#[test]
fn wider_is_cheaper_and_one_thread_is_dearest() {
    let cost = |pitch: i64| {
        let src = Buf::whole(Space::Global, &[32, 64], on_m(&[(32, pitch), (64, 1)]));
        let c = case(row_major(Space::Shared, &[32, 64]), src, DType::F16, Scope::Cta, 128);
        (vectors(&c).cost, plan_elements(&c.view(), &SM_90A).unwrap().cost)
    };
    let (wide, single) = cost(64);
    let (narrow, _) = cost(65);
    assert!(wide < narrow && narrow < single, "{wide:?} {narrow:?} {single:?}");
}

#[test]
fn bank_conflicts_are_counted() {
    let regs = TileLayout::from_shard(vec![Iter::new(32, 1, Axis::LaneId), Iter::new(1, 1, Axis::M)]);
    let dst = Buf::whole(Space::Local, &[32], regs.into());
    for (pitch, note) in
        [(1, None), (2, Some("`src`: 2-way bank conflicts")), (32, Some("`src`: 32-way bank conflicts")), (33, None)]
    {
        let src = Buf::whole(Space::Shared, &[32], on_m(&[(32, pitch)]));
        let c = case(dst.clone(), src, DType::F32, Scope::Warp, 32);
        let notes = vectors(&c).notes;
        assert_eq!(notes.iter().find(|n| n.contains("bank")).map(String::as_str), note, "pitch {pitch}");
    }
}

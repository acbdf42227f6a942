//! Hand-derived counts, and a model that runs the kernels and counts.
//!
//! The model executes the skeleton of a kernel thread by thread on 1 to 8 ranks and notes every notify with its place in
//! program order; a formula must give the number of those that precede the wait.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::expr::{BinOp, Special, UnOp};
use crate::stmt::{Block, Stmt, StmtKind};
use crate::text::parse;

const HEAD: &str = "kernel k(comm: devcomm, send: window<f16>[64, 16], recv: window<f16>[64, 16], peer: lsa_rank) \
                    where(n: u64)";

/// A kernel with the usual parameters; `launch` as in the text.
fn kernel(launch: &str, body: &str) -> Kernel {
    let text = format!(
        "{HEAD} launch({launch}) {{ signal ready; let me_ = comm.lsa_rank; let size = comm.lsa_size;
         let next = (me_ + 1) % comm.lsa_size; let prev = (me_ + comm.lsa_size - 1) % size; {body} }}"
    );
    let parsed = parse(&text);
    assert_eq!(parsed.diagnostics, [], "{text}");
    let errors = crate::verify::verify(&parsed.module, crate::verify::Level::Tile, &crate::OpSet::default());
    let counts = [Code::EXPECTED_NOT_AFFINE, Code::SIGNAL_USE];
    let others: Vec<_> = errors.iter().filter(|d| !counts.contains(&d.code)).collect();
    assert!(others.is_empty(), "{others:?}");
    parsed.module.kernels().next().unwrap().clone()
}

const ONE_WAVE: &str = "grid = [1], block = [64], warp = 64";

/// The formulas of the waits; each is also checked against the model.
#[track_caller]
fn formulas(launch: &str, body: &str) -> Vec<String> {
    let k = kernel(launch, body);
    let warp = k.launch.warp.lanes(64);
    let found = counts(&k, warp);
    let list: Vec<WaitCount> = found.waits.into_iter().map(|w| w.unwrap()).collect();
    for size in 1..=8 {
        for n in [0, 1, 3] {
            model_agrees(&k, warp, size, n, &list, &found.totals);
        }
    }
    list.into_iter().map(|w| w.formula).collect()
}

/// The reason why the last wait's count is refused.
#[track_caller]
fn refused(launch: &str, body: &str) -> Diagnostic {
    let k = kernel(launch, body);
    counts(&k, k.launch.warp.lanes(64)).waits.pop().unwrap().unwrap_err()
}

#[test]
fn ring_shift_is_one() {
    assert_eq!(formulas(ONE_WAVE, "copy recv@next <- send by cta, notify ready; wait ready from prev;"), ["1"]);
}

#[test]
fn the_wrong_neighbour_depends_on_the_ranks() {
    // Rank next notifies next + 1: this rank only where that is the same (1 or 2 ranks).
    let f = formulas(ONE_WAVE, "copy recv@next <- send by cta, notify ready; wait ready from next;");
    assert_eq!(f.len(), 1);
    assert!(f[0].starts_with("select("), "{f:?}");
}

#[test]
fn loops_multiply() {
    let body = "for i in 0..n { copy recv@next <- send by cta, notify ready; } wait ready from prev;";
    assert_eq!(formulas(ONE_WAVE, body), ["n"]);
    let body = "for i in 0..3 { for j in 2..4 { copy recv@next <- send by cta, notify ready; } } wait ready from prev;";
    assert_eq!(formulas(ONE_WAVE, body), ["6"]);
    let body = "for i in 5..3 { copy recv@next <- send by cta, notify ready; } \
                copy recv@next <- send by cta, notify ready; wait ready from prev;";
    assert_eq!(formulas(ONE_WAVE, body), ["1"]);
}

#[test]
fn a_loop_around_both_counts_earlier_trips() {
    let body = "for i in 0..n { copy recv@next <- send by cta, notify ready; wait ready from prev; }";
    assert_eq!(formulas(ONE_WAVE, body), ["i + 1"]);
    let body = "copy recv@next <- send by cta, notify ready; \
                for i in 2..n { wait ready from prev; copy recv@next <- send by cta, notify ready; }";
    assert_eq!(formulas(ONE_WAVE, body), ["i - 1"]);
    let body = "for i in 0..n { for j in 0..4 { copy recv@next <- send by cta, notify ready; wait ready from prev; } }";
    assert_eq!(formulas(ONE_WAVE, body), ["j + i * 4 + 1"]);
}

#[test]
fn loops_with_one_name_are_told_apart() {
    let body = "for i in 0..n { copy recv@next <- send by cta, notify ready; } \
                for i in 0..3 { wait ready from prev; }";
    assert_eq!(formulas(ONE_WAVE, body), ["n"]);
}

#[test]
fn all_to_all_is_one_from_each() {
    let body = "for p in 0..comm.lsa_size { copy recv@lsa(p) <- send by cta, notify ready; } \
                for p in 0..size { wait ready from lsa(p); }";
    assert_eq!(formulas(ONE_WAVE, body), ["1"]);
    // Not to itself.
    let body = "for p in 0..size { if p != me_ { copy recv@lsa(p) <- send by cta, notify ready; } } \
                for p in 0..size { wait ready from lsa(p); }";
    let f = formulas(ONE_WAVE, body);
    assert!(f[0].contains("comm.lsa_rank"), "{f:?}");
}

#[test]
fn rotated_all_to_all() {
    let body = "for i in 1..size { copy recv@((me_ + i) % comm.lsa_size) <- send by cta, notify ready; } \
                for i in 1..size { wait ready from (me_ + size - i) % comm.lsa_size; }";
    formulas(ONE_WAVE, body);
    // Step by step: at step i the rank i behind has done one.
    let body = "for i in 1..size { copy recv@((me_ + i) % comm.lsa_size) <- send by cta, notify ready; \
                wait ready from (me_ + size - i) % comm.lsa_size; }";
    assert_eq!(formulas(ONE_WAVE, body), ["1"]);
    // Twice around.
    let body = "for i in 0..2 * size { copy recv@((me_ + i) % comm.lsa_size) <- send by cta, notify ready; } \
                wait ready from prev;";
    formulas(ONE_WAVE, body);
}

#[test]
fn guards_are_evaluated_as_the_sender() {
    let body = "if me_ == 0 { copy recv@lsa(1 % size) <- send by cta, notify ready; } \
                if me_ == 1 { wait ready from lsa(0); }";
    formulas(ONE_WAVE, body);
    let body = "if n > 2 { copy recv@next <- send by cta, notify ready; } else { \
                copy recv@next <- send by cta, notify ready; copy recv@next <- send by cta, notify ready; } \
                wait ready from prev;";
    formulas(ONE_WAVE, body);
    let body = "for i in 0..n { if i > 0 { copy recv@next <- send by cta, notify ready; } } wait ready from prev;";
    formulas(ONE_WAVE, body);
    let body = "for i in 0..8 { if i != 2 && i < 5 { copy recv@next <- send by cta, notify ready; } } \
                wait ready from prev;";
    assert_eq!(formulas(ONE_WAVE, body), ["4"]);
}

#[test]
fn many_conditions_cost_no_more() {
    let unequal: Vec<String> = (0..40).map(|i| format!("i != {}", 2 * i)).collect();
    let body = format!(
        "for i in 0..100 {{ if {} {{ copy recv@next <- send by cta, notify ready; }} }} wait ready from prev;",
        unequal.join(" && ")
    );
    assert_eq!(formulas(ONE_WAVE, &body), ["60"]);
    // One loop in the other, each bound by all before.
    let mut deep = String::new();
    for i in 0..60 {
        let hi = (0..i).map(|j| format!("v{j}")).collect::<Vec<_>>().join(" + ");
        deep.push_str(&format!("for v{i} in 0..{} {{ ", if i == 0 { "n".to_owned() } else { hi }));
    }
    deep.push_str("copy recv@next <- send by cta, notify ready; wait ready from prev;");
    deep.push_str(&"} ".repeat(60));
    assert_eq!(refused(ONE_WAVE, &deep).code, Code::EXPECTED_NOT_AFFINE);
}

#[test]
fn groups_multiply() {
    let two = "grid = [1], block = [128], warp = 64";
    let body = "copy recv@next <- send by warp, notify ready; wait ready from prev;";
    assert_eq!(formulas(two, body), ["2"]);
    let body = "if thread.x < 64 { copy recv@next <- send by warp, notify ready; } wait ready from prev;";
    assert_eq!(formulas(two, body), ["1"]);
    let body = "if thread.warp == 1 { copy recv@next <- send by warp, notify ready; } wait ready from prev;";
    assert_eq!(formulas(two, body), ["1"]);
    // A warp for each of the first ranks.
    let body = "if size >= 2 { copy recv@lsa(thread.warp) <- send by warp, notify ready; wait ready from prev; }";
    formulas(two, body);
    let half = "copy recv@lsa(thread.warp / 2) <- send by warp, notify ready; wait ready from prev;";
    assert_eq!(refused("grid = [1], block = [256], warp = 64", half).code, Code::EXPECTED_NOT_AFFINE);
}

#[test]
fn threads_count_once_a_wave_and_destination() {
    let body = "copy recv@next[thread.x, ..] <- send[thread.x, ..] by thread, notify ready; wait ready from prev;";
    assert_eq!(formulas("grid = [1], block = [64], warp = 32", body), ["2"]);
    assert_eq!(formulas("grid = [1], block = [64], warp = 64", body), ["1"]);
    // One lane for each rank.
    let body = "if thread.x < size { copy recv@lsa(thread.x)[0, ..] <- send[thread.x, ..] by thread, notify ready; } \
                for p in 0..size { wait ready from lsa(p); }";
    formulas(ONE_WAVE, body);
    let body = "if thread.x < size { copy recv@lsa(thread.x)[0, ..] <- send[thread.x, ..] by thread, notify ready; \
                wait ready from lsa(thread.x) by thread; }";
    let f = formulas(ONE_WAVE, body);
    assert_eq!(f.len(), 1);
    let body = "if thread.x < 4 { if thread.x < size { copy recv@lsa(size - 1 - thread.x)[0, ..] <- send[0, ..] \
                by thread, notify ready; } } wait ready from prev;";
    formulas(ONE_WAVE, body);
}

#[test]
fn the_grid_multiplies() {
    let body = "copy recv@next <- send by cta, notify ready; wait ready from prev;";
    assert_eq!(formulas("grid = [3, 2], block = [64], warp = 64", body), ["6"]);
    let body = "if block.x == 1 { copy recv@next <- send by cta, notify ready; } wait ready from prev;";
    assert_eq!(formulas("grid = [3], block = [64], warp = 64", body), ["1"]);
    let body = "if block.x < size { copy recv@lsa(block.x) <- send by cta, notify ready; } wait ready from prev;";
    formulas("grid = [8], block = [64], warp = 64", body);
}

#[test]
fn lists_count_each_rank_once() {
    let body = "copy recv@next, recv@prev <- send by cta, notify ready; wait ready from prev;";
    formulas(ONE_WAVE, body);
    let body = "copy recv@next, send@next, recv@me <- send by cta, notify ready; wait ready from me;";
    formulas(ONE_WAVE, body);
}

#[test]
fn several_kinds_of_sites_add_up() {
    let body = "copy recv@next <- send by cta, notify ready; wait ready from prev; \
                copy recv@prev <- send by cta, notify ready; wait ready from next; \
                for i in 0..n { copy recv@next <- send by cta, notify ready; } wait ready from prev;";
    let f = formulas(ONE_WAVE, body);
    assert_eq!(f[0], "1");
    assert!(f[2].contains('n'), "{f:?}");
}

#[test]
fn what_others_cannot_know_is_refused() {
    for (body, word) in [
        ("copy recv@peer <- send by cta, notify ready; wait ready from prev;", "parameter `peer`"),
        (
            "let x = send[0, 0]; if x > 0.0 { copy recv@next <- send by cta, notify ready; } wait ready from prev;",
            "`x`",
        ),
        (
            "for i in 0..4 { if i % 2 == 0 { copy recv@next <- send by cta, notify ready; } } wait ready from prev;",
            "`i`",
        ),
        ("copy recv@lsa(thread.x / 2)[0, ..] <- send[0, ..] by thread, notify ready; wait ready from prev;", "threads"),
        (
            "for i in 0..n { for j in 0..i { copy recv@next <- send by cta, notify ready; } } wait ready from prev;",
            "`i`",
        ),
    ] {
        let d = refused(ONE_WAVE, body);
        assert_eq!(d.code, Code::EXPECTED_NOT_AFFINE);
        assert!(d.message.contains(word), "{}", d.message);
    }
    let d = refused(ONE_WAVE, "wait ready from prev; copy recv@next <- send by cta, notify ready;");
    assert_eq!(d.code, Code::SIGNAL_USE);
}

#[test]
fn a_written_count_is_taken() {
    let k = kernel(ONE_WAVE, "copy recv@peer <- send by cta, notify ready; wait ready from prev, expected = n + 1;");
    let found = counts(&k, 64);
    assert_eq!(found.waits[0].as_ref().map(|w| (w.explicit, w.formula.as_str())), Ok((true, "n + 1")));
    assert_eq!(found.totals[0].count.as_ref().map_err(|d| d.code), Err(Code::EXPECTED_NOT_AFFINE));
    assert_eq!(expected(&k, 0, 64).map(|e| print_expr(&e)), Ok("n + 1".to_owned()));
    assert_eq!(expected(&k, 1, 64).map_err(|d| d.code), Err(Code::INTERNAL));
}

// The model.

type Vars = BTreeMap<String, i64>;

#[derive(Clone)]
struct Point<'k> {
    kernel: &'k Kernel,
    vars: Vars,
    rank: i64,
    size: i64,
    block: [i64; 3],
    thread: u32,
    warp: u32,
}

impl Point<'_> {
    fn eval(&self, e: &Expr) -> i64 {
        let truth = i64::from;
        match &e.kind {
            ExprKind::Int(v) => *v,
            ExprKind::Bool(b) => truth(*b),
            ExprKind::Var(n) => self.vars[n.as_str()],
            ExprKind::Comm(_, CommField::LsaRank) | ExprKind::Special(Special::Me) => self.rank,
            ExprKind::Comm(..) => self.size,
            ExprKind::Special(Special::Block(d)) => self.block[usize::from(*d)],
            ExprKind::Special(s) => {
                let dims = [0, 1, 2].map(|d| self.kernel.launch.block_dim(d) as u32);
                crate::threads::thread_id(*s, self.thread, dims, self.warp).unwrap()
            }
            ExprKind::Cast(_, a) => self.eval(a),
            ExprKind::Unary(UnOp::Neg, a) => -self.eval(a),
            ExprKind::Unary(UnOp::Not, a) => 1 - self.eval(a),
            ExprKind::Select(c, a, b) => self.eval(if self.eval(c) != 0 { a } else { b }),
            ExprKind::Binary(op, a, b) => {
                let (x, y) = (self.eval(a), self.eval(b));
                match op {
                    BinOp::Add => x + y,
                    BinOp::Sub => x - y,
                    BinOp::Mul => x * y,
                    BinOp::Div => x.checked_div(y).unwrap_or(0),
                    BinOp::Rem => x.checked_rem(y).unwrap_or(0),
                    BinOp::Min => x.min(y),
                    BinOp::Max => x.max(y),
                    BinOp::Eq => truth(x == y),
                    BinOp::Ne => truth(x != y),
                    BinOp::Lt => truth(x < y),
                    BinOp::Le => truth(x <= y),
                    BinOp::Gt => truth(x > y),
                    BinOp::Ge => truth(x >= y),
                    BinOp::LAnd => x & y,
                    BinOp::LOr => x | y,
                    _ => panic!("{op:?} is not in the tests"),
                }
            }
            ExprKind::Float(_) => panic!("no floats in the tests"),
        }
    }
}

/// What the model saw. A path orders statements as the program does.
#[derive(Default)]
struct Seen<'k> {
    /// Path, CTA, group, destination.
    notifies: BTreeSet<(Vec<i64>, [i64; 3], u32, i64)>,
    /// Path, number of the wait, where it was.
    waits: Vec<(Vec<i64>, usize, Point<'k>)>,
}

fn run<'k>(block: &'k Block, p: &mut Point<'k>, path: &[i64], order: &[*const Stmt], seen: &mut Seen<'k>) {
    for (i, stmt) in block.iter().enumerate() {
        let at = |more: &[i64]| [path, &[i as i64], more].concat();
        match &stmt.kind {
            StmtKind::Let { name, value, .. } => {
                let v = p.eval(value);
                p.vars.insert(name.to_string(), v);
            }
            StmtKind::For { var, lo, hi, body, .. } => {
                for v in p.eval(lo)..p.eval(hi) {
                    p.vars.insert(var.to_string(), v);
                    run(body, p, &at(&[v]), order, seen);
                }
            }
            StmtKind::If { cond, then, els } => {
                if p.eval(cond) != 0 {
                    run(then, p, &at(&[0]), order, seen);
                } else if let Some(els) = els {
                    run(els, p, &at(&[1]), order, seen);
                }
            }
            StmtKind::Tile(op) if op.attrs.notify.is_some() => {
                let group = match op.scope {
                    Scope::Cta => 0,
                    _ => p.thread / p.warp,
                };
                for dst in &op.dsts {
                    let rank = dst.rank.as_ref().map_or(p.rank, |r| p.eval(r));
                    seen.notifies.insert((at(&[]), p.block, group, rank));
                }
            }
            StmtKind::WaitSignal { .. } => {
                let nth = order.iter().position(|s| std::ptr::eq(*s, stmt)).unwrap();
                seen.waits.push((at(&[]), nth, p.clone()));
            }
            _ => {}
        }
    }
}

#[track_caller]
fn model_agrees(k: &Kernel, warp: u32, size: i64, n: i64, waits: &[WaitCount], totals: &[SignalTotal]) {
    let mut order: Vec<*const Stmt> = Vec::new();
    crate::stmt::walk_block(&k.body, &mut |s| {
        if matches!(s.kind, StmtKind::WaitSignal { .. }) {
            order.push(s);
        }
    });
    let grid = [0, 1, 2].map(|d| k.launch.grid.get(d).map_or(1, |e| e.as_const().unwrap()));
    let mut all = Vec::new();
    for rank in 0..size {
        let mut seen = Seen::default();
        for cta in 0..grid[0] * grid[1] * grid[2] {
            let block = [cta % grid[0], cta / grid[0] % grid[1], cta / grid[0] / grid[1]];
            for thread in 0..k.launch.threads().unwrap() {
                let vars = Vars::from([("n".to_owned(), n)]);
                let mut p = Point { kernel: k, vars, rank, size, block, thread, warp };
                run(&k.body, &mut p, &[], &order, &mut seen);
            }
        }
        all.push(seen);
    }
    for (me, seen) in all.iter().enumerate() {
        for (path, nth, p) in &seen.waits {
            let from = p.eval(&waits[*nth].from);
            let Some(sender) = usize::try_from(from).ok().and_then(|r| all.get(r)) else { continue };
            let want = sender.notifies.iter().filter(|(at, _, _, dst)| at < path && *dst == me as i64).count() as i64;
            let got = p.eval(&waits[*nth].expected);
            assert_eq!(got, want, "{} on rank {me} of {size}, from {from}, n = {n}", waits[*nth].formula);
        }
        for (r, sender) in all.iter().enumerate() {
            let Ok(total) = &totals[0].count else { continue };
            let mut p = Point { kernel: k, vars: Vars::new(), rank: me as i64, size, block: [0; 3], thread: 0, warp };
            p.vars = Vars::from([("n".to_owned(), n), (SENDER.to_owned(), r as i64)]);
            let want = sender.notifies.iter().filter(|(_, _, _, dst)| *dst == me as i64).count() as i64;
            assert_eq!(p.eval(total), want, "total {} from {r} to {me} of {size}", print_expr(total));
        }
    }
}

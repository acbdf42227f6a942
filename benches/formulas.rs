//! Ten address formulas of the golden cases: integer operations in lowered IR and integer instructions in PTX, with the
//! pass `simplify-index` off and on, and for the same formula as one would write it by hand.
//!
//! `cargo test -p tilewright-benches --test formulas -- --nocapture` prints the table that stands in
//! benches/results. Must hold: the pass makes no formula longer, and wins after LLVM in at least three.

use std::fmt::Write;

use tilewright::run_passes;
use tilewright_backend_cuda::{Options, compile};
use tilewright_ir::{Expr, ExprKind, Module, PlaceIndex, StmtKind};
use tilewright_passes::pipeline::{PASSES, Pass};

/// One formula.
struct Formula {
    /// The golden case that it is of.
    case: &'static str,
    /// What is known of the values `p`, `q` and `r`: exclusive upper bounds.
    below: &'static [(&'static str, i64)],
    /// As the layout algebra writes it.
    general: &'static str,
    /// As one would write it.
    by_hand: &'static str,
}

const FORMULAS: &[Formula] = &[
    Formula {
        case: "gs_plain [4,6] by thread",
        below: &[("p", 4), ("q", 6)],
        general: "(p * 6 + q) / 6 * 6 + (p * 6 + q) % 6",
        by_hand: "p * 6 + q",
    },
    Formula {
        case: "gs_groupfail [12,8] transposed",
        below: &[("p", 12), ("q", 8)],
        general: "(p * 8 + q) % 8 * 12 + (p * 8 + q) / 8",
        by_hand: "q * 12 + p",
    },
    Formula {
        case: "gs_groupfail [6,32] transposed",
        below: &[("p", 32), ("q", 6)],
        general: "(p * 6 + q) % 6 * 32 + (p * 6 + q) / 6",
        by_hand: "q * 32 + p",
    },
    Formula {
        case: "rand_gs [12,64] as (2,6,64):(384,1,6)",
        below: &[("p", 2), ("q", 6), ("r", 64)],
        general: "(p * 6 + q) / 6 * 384 + (p * 6 + q) % 6 + r * 6",
        by_hand: "p * 384 + q + r * 6",
    },
    Formula {
        case: "rand_gs [48,20] as (2,24,20):(480,20,1)",
        below: &[("p", 48), ("q", 20)],
        general: "p / 24 * 480 + p % 24 * 20 + q",
        by_hand: "p * 20 + q",
    },
    Formula {
        case: "rand_gs [192,48], two digits of 12 and 4",
        below: &[("p", 9216)],
        general: "p / 12 % 4 * 12 + p % 12",
        by_hand: "p % 48",
    },
    Formula {
        case: "stage [3,32,64] by 128 threads",
        below: &[("p", 3)],
        general: "(p * 2048 + thread.linear * 16) / 2048 * 2048 + (p * 2048 + thread.linear * 16) / 64 % 32 * 64 \
                  + (p * 2048 + thread.linear * 16) % 64",
        by_hand: "p * 2048 + thread.linear * 16",
    },
    Formula {
        case: "gs_plain [96,8] by 96 threads, grid of blocks",
        below: &[("p", 1000), ("q", 96)],
        general: "(p * 96 + q) / 96 * 768 + (p * 96 + q) % 96 * 8",
        by_hand: "p * 768 + q * 8",
    },
    Formula {
        case: "gs_region [32,256], swizzle(3,3,3)",
        below: &[("p", 32), ("q", 8)],
        general: "(p * 64 + q * 8) ^ ((p * 64 + q * 8) & 448) >> 3",
        by_hand: "p * 64 + ((q ^ (p & 7)) << 3)",
    },
    Formula {
        case: "frag_warp x2: row of a lane",
        below: &[],
        general: "thread.lane / 8 % 2 * 8 + thread.lane % 8 + thread.lane / 16 * 16",
        by_hand: "thread.lane",
    },
];

/// The kernel that stores at the formula's place: a lowered module.
fn kernel(formula: &Formula, index: &str) -> String {
    let mut text = String::from("kernel f(o: global<f32>[131072]");
    for (name, _) in formula.below {
        let _ = write!(text, ", {name}_: u32");
    }
    text.push_str(")\n    launch(grid = [1], block = [128], warp = 32)\n{\n");
    for (name, below) in formula.below {
        let _ = writeln!(text, "    let {name} = index({name}_);\n    assume({name} < {below});");
    }
    let _ = writeln!(text, "    o![{index}] = 1.0;\n}}");
    text
}

fn compiled(text: &str, passes: &[&str]) -> Module {
    let passes: Vec<&Pass> = PASSES.iter().filter(|pass| passes.contains(&pass.name)).collect();
    let target = tilewright::target("sm_90a").expect("a target of the table");
    let (module, _) = run_passes(text, &passes, target, &mut ()).unwrap_or_else(|all| panic!("{text}\n{all:#?}"));
    module
}

/// Operators in the stores' places.
fn operations(module: &Module) -> usize {
    fn count(e: &Expr) -> usize {
        let mut n = 0;
        e.walk(&mut |e| n += usize::from(matches!(e.kind, ExprKind::Unary(..) | ExprKind::Binary(..))));
        n
    }
    let stores = module.kernels().flat_map(|kernel| &kernel.body).filter_map(|stmt| match &stmt.kind {
        StmtKind::Store { to, .. } => Some(to),
        _ => None,
    });
    let places = stores.map(|to| match &to.index {
        PlaceIndex::Flat(e) => count(e),
        PlaceIndex::Logical(all) => all.iter().map(count).sum(),
    });
    places.sum()
}

/// Integer instructions of the PTX, loads and moves apart.
fn instructions(module: &Module) -> usize {
    const OPS: &[&str] = &[
        "add", "sub", "mul", "mad", "shl", "shr", "and", "or", "xor", "div", "rem", "selp", "setp", "bfe", "bfi",
        "cvt", "shf", "neg", "not", "min", "max", "lop3", "prmt",
    ];
    let target = tilewright::target("sm_90a").expect("a target of the table");
    let made = compile(module, target, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let asm = made.asm.expect("PTX is text");
    let body = asm.lines().skip_while(|line| !line.contains(".entry")).map(str::trim_start);
    body.filter(|line| line.split(['.', ' ', '\t']).next().is_some_and(|op| OPS.contains(&op))).count()
}

#[test]
fn ten_formulas() {
    let mut table = String::from(
        "| golden case | IR off | IR on | IR by hand | PTX off | PTX on | PTX by hand | with the pass |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    let (mut wins, mut longer) = (0, Vec::new());
    for formula in FORMULAS {
        let text = kernel(formula, formula.general);
        let off = compiled(&text, &["simplify", "check"]);
        let on = compiled(&text, &["simplify", "simplify-index", "check"]);
        let hand = compiled(&kernel(formula, formula.by_hand), &["check"]);
        let ir = [&off, &on, &hand].map(operations);
        let ptx = [&off, &on, &hand].map(instructions);
        wins += u32::from(ptx[1] < ptx[0]);
        if ptx[1] > ptx[0] {
            longer.push(formula.case);
        }
        let store = tilewright_ir::text::print(&on);
        let store = store.lines().find_map(|line| line.trim_start().strip_prefix("o![")).unwrap_or("");
        let form = store.split("] = ").next().unwrap_or("");
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} | {} | {} | `{form}` |",
            formula.case, ir[0], ir[1], ir[2], ptx[0], ptx[1], ptx[2]
        );
    }
    println!("{table}\nthe pass wins after LLVM in {wins} of {}", FORMULAS.len());
    assert!(longer.is_empty(), "longer with the pass: {longer:?}");
    assert!(wins >= 3, "wins in {wins} only");
}

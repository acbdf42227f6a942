//! The builder makes the same modules as the text.

use tilewright_ir::builder::{
    BuildError, KernelBuilder, RunBuilder, cast, elem, lsa, lsa_rank, lsa_size, me, special, tile, var,
};
use tilewright_ir::expr::Special;
use tilewright_ir::module::Item;
use tilewright_ir::stmt::TileKind;
use tilewright_ir::text::{parse, print, print_kernel};
use tilewright_ir::{DType, Kernel, Module, Run, ScalarTy, Scope};

fn assert_is_example(name: &str, kernel: Kernel, run: Run) {
    let (_, source) = crate::examples().into_iter().find(|(n, _)| n == name).unwrap();
    let built = Module { items: vec![Item::Kernel(kernel), Item::Run(run)] };
    let parsed = parse(&source).module;
    assert_eq!(print(&built), print(&parsed));
    assert_eq!(built, parsed);
}

#[test]
fn ring_shift() {
    let kernel = KernelBuilder::new("ring_shift")
        .devcomm("comm")
        .window("send", DType::F16, [8, 16])
        .window("recv", DType::F16, [8, 16])
        .global("out", DType::F16, [8, 16])
        .launch([1], [64])
        .body(|b| {
            b.signal("ready");
            let (rank, size) = (lsa_rank("comm"), lsa_size("comm"));
            let next = b.let_("next", (&rank + 1) % &size);
            let prev = b.let_("prev", (rank + &size - 1) % size);
            b.local("row", DType::F16, [8, 16]).layout("S[(8,8,2):(8@tx,1@tx,1)]");
            b.copy(tile("recv").on(next), "send").by(Scope::Cta).notify("ready");
            b.wait_signal("ready", prev);
            b.copy("row", "recv").by(Scope::Cta);
            b.copy("out", "row").by(Scope::Cta);
        })
        .build()
        .unwrap();
    let run = RunBuilder::new("ring_shift")
        .ranks(4)
        .targets(["gfx1250", "gfx942", "gfx950"])
        .iota("send")
        .let_("prev", (var("rank") + var("ranks") - 1) % var("ranks"))
        .expect("recv", tile("send").on(var("prev")))
        .expect("out", tile("send").on(var("prev")))
        .build()
        .unwrap();
    assert_is_example("ring_shift.tile", kernel, run);
}

#[test]
fn alltoall() {
    let kernel = KernelBuilder::new("alltoall")
        .devcomm("comm")
        .window("send", DType::U8, [var("n"), var("bytes")])
        .window("recv", DType::U8, [var("n"), var("bytes")])
        .where_("n", DType::U64)
        .where_("bytes", DType::U64)
        .launch([1], [64])
        .body(|b| {
            b.assume(lsa_size("comm").eq(var("n")));
            b.signal("ready");
            let p = b.let_("p", special(Special::Thread(0)));
            b.if_(p.lt(lsa_size("comm")).and(p.ne(lsa_rank("comm"))), |b| {
                b.copy(tile("recv").on(lsa(&p)).at(me()).all(), tile("send").at(&p).all())
                    .by(Scope::Thread)
                    .notify("ready");
                b.wait_signal("ready", lsa(&p)).by(Scope::Thread);
            });
        })
        .build()
        .unwrap();
    let run = RunBuilder::new("alltoall")
        .ranks(4)
        .targets(["gfx1250", "gfx942", "gfx950"])
        .set("n", var("ranks"))
        .set("bytes", 4096)
        .iota("send")
        .expect(tile("recv").at(var("s")).all(), tile("send").on(var("s")).at(var("rank")).all())
        .for_each("s", 0, var("ranks"))
        .if_(var("s").ne(var("rank")))
        .expect_value(tile("recv").at(var("rank")).all(), 0xCD)
        .build()
        .unwrap();
    assert_is_example("alltoall.tile", kernel, run);
}

#[test]
fn ldmatrix_x2() {
    let layout = "S[(8,4,2,2):(16,2,8,1)]";
    let kernel = KernelBuilder::new("ldmatrix_x2")
        .global("a", DType::F16, [8, 4, 2, 2])
        .layout(layout)
        .global("b", DType::F16, [8, 4, 2, 2])
        .layout(layout)
        .launch([1], [32])
        .warp(32)
        .body(|b| {
            b.shared("tile", DType::F16, [8, 4, 2, 2]).layout(layout);
            b.local("frag", DType::F16, [8, 4, 2, 2]).layout("S[(8,4,2,2):(4@laneid,1@laneid,2,1)]");
            b.copy("tile", "a").by(Scope::Warp);
            b.sync(Scope::Cta);
            b.copy("frag", "tile").by(Scope::Warp);
            b.copy("b", "frag").by(Scope::Warp);
        })
        .build()
        .unwrap();
    let run = RunBuilder::new("ldmatrix_x2").random("a", 1).expect("b", "a").build().unwrap();
    assert_is_example("ldmatrix_x2.tile", kernel, run);
}

#[test]
fn ship() {
    let chunk = || [tilewright_ir::Dim::Const(64), var("chunk").into()];
    let kernel = KernelBuilder::new("ship")
        .devcomm("comm")
        .window("send", DType::U8, chunk())
        .window("recv", DType::U8, chunk())
        .scalar("peer", ScalarTy::LsaRank)
        .where_("chunk", DType::U64)
        .launch([1], [64])
        .body(|b| {
            let lane = b.let_("lane", special(Special::Thread(0)));
            b.copy(tile("recv").on(var("peer")).at(&lane).all(), tile("send").at(&lane).all()).by(Scope::Thread);
        })
        .build()
        .unwrap();
    let run = RunBuilder::new("ship")
        .ranks(4)
        .targets(["gfx1250", "gfx942", "gfx950"])
        .set("chunk", 4096)
        .set("peer", (var("rank") + 1) % var("ranks"))
        .iota("send")
        .expect(tile("recv").on(var("peer")), "send")
        .build()
        .unwrap();
    assert_is_example("ship.tile", kernel, run);
}

#[test]
fn every_statement_can_be_built() {
    let kernel = KernelBuilder::new("k")
        .devcomm("c")
        .window("w", DType::F32, [8, 8])
        .align(64)
        .global("flag", DType::I32, [4])
        .scalar("s", ScalarTy::Num(DType::F32))
        .launch([1], [64])
        .body(|b| {
            b.signal_on("sig", 1);
            b.local("l", DType::F32, [8, 8]).align(16);
            b.local("m", DType::F32, [8, 8]);
            b.fill("l", -1.5).by(Scope::Cta);
            b.elementwise(TileKind::Add, "l", "l", "m").by(Scope::Cta);
            b.cast("l", "m").by(Scope::Cta);
            b.copy_async("t", tile("w").range(0, 4).from(4), tile("l").to(4).at(-1)).by(Scope::Warp).vec(128);
            b.wait("t");
            b.for_("i", 0, 4, |b, i| {
                let x = b.load("x", elem("flag", [&i]));
                b.store(elem("flag", [i]), x.max(3) ^ (!x >> 2));
            });
            b.unroll_for("j", 0, 2, |b, j| {
                let y = b.let_as("y", ScalarTy::Index, cast(ScalarTy::Index, &j));
                b.if_(y.gt(0), |b| b.sync(Scope::Warp)).else_(|b| b.assume(true));
            });
            b.copy_to([tile("w").on(me()), tile("w")], "l")
                .by(Scope::Cta)
                .notify("sig")
                .carry_any()
                .allow_unmeasured()
                .after(elem("flag", [0]), 1)
                .variant("v")
                .plan("p");
            b.wait_signal("sig", me()).by(Scope::Warp).expected(3);
        })
        .build()
        .unwrap();
    let text = print_kernel(&kernel);
    assert_eq!(parse(&text).module.kernels().next(), Some(&kernel));
    assert_eq!(
        text,
        "kernel k(c: devcomm, w: window<f32>[8, 8] align 64, flag: global<i32>[4], s: f32)
    launch(grid = [1], block = [64])
{
    signal sig queue 1;
    local l: f32[8, 8] align 16;
    local m: f32[8, 8];
    fill l <- -1.5 by cta;
    add l <- l, m by cta;
    cast l <- m by cta;
    t = copy_async w[0..4, 4..] <- l[..4, -1] by warp, vec = 128;
    wait t;
    for i in 0..4 {
        let x = flag[i];
        flag[i] = max(x, 3) ^ !x >> 2;
    }
    unroll for j in 0..2 {
        let y: index = index(j);
        if y > 0 {
            sync warp;
        } else {
            assume(true);
        }
    }
    copy w@me, w <- l by cta, notify sig, carry = any, allow = unmeasured, after flag[0] == 1, variant = \"v\", plan = \"p\";
    wait sig from me by warp, expected = 3;
}
"
    );
}

#[test]
fn wrong_names_and_layouts_are_errors() {
    let k = || KernelBuilder::new("k").launch([1], [1]);
    let bad = |name: &str| BuildError::BadName { what: "a signal", name: name.to_owned() };
    assert_eq!(k().body(|b| b.signal("copy")).build(), Err(bad("copy")));
    assert_eq!(k().body(|b| b.signal("a b")).build(), Err(bad("a b")));
    assert_eq!(KernelBuilder::new("k").build(), Err(BuildError::NoLaunch("k".to_owned())));
    assert!(matches!(k().layout("S[1:1]").build(), Err(BuildError::NoBuffer("layout"))));
    assert!(matches!(
        k().global("a", DType::F32, [8]).layout("S[8:").build(),
        Err(BuildError::BadLayout { message, .. }) if message == "expected an expression, found the end of the file"
    ));
    // A name inside a value is only seen when the kernel is written as text.
    let sneaky = k().body(|b| b.assume(var("x == 1); sync cta; assume(true"))).build();
    assert!(matches!(sneaky, Err(BuildError::NotText { .. })), "{sneaky:?}");
    assert!(RunBuilder::new("1").build().is_err());
    assert!(
        k().body(|b| {
            b.copy("a b", "c");
        })
        .build()
        .is_err()
    );
}

//! Modules from bytes: every statement kind, every kind of expression, edge values.
//!
//! The modules need not make sense to the verifier; they must only be printable. Bytes that run out read as 0, and choice
//! 0 is always the simplest, so that proptest shrinks to small modules.

use std::collections::BTreeMap;

use tilewright_ir::expr::{BinOp, CommField, Special, UnOp};
use tilewright_ir::layout::{Axis, Iter, Layout, Swizzle, TileLayout};
use tilewright_ir::module::{
    BufferTy, Expect, ExpectValue, Item, Kernel, Launch, Param, ParamTy, Run, RunRegion, RunValue, Setting, WarpWidth,
    WhereParam,
};
use tilewright_ir::stmt::{
    After, Alloc, AttrValue, Completion, CopyAttrs, Index, Place, PlaceIndex, PrimArg, PrimOp, Region, Source,
    StmtKind, TileKind, TileOp,
};
use tilewright_ir::{DType, Dim, Expr, ExprKind, Module, Name, ScalarTy, Scope, Space, Span, op::OPS, stmt::Stmt};

/// Names of values: some that look like words of the language without being reserved.
const VALUES: [&str; 12] = ["x", "n", "lane", "S", "R", "queue", "done", "expected", "target", "rank", "e1", "_"];
/// Names of buffers, signals and tokens.
const BUFFERS: [&str; 10] = ["buf", "tile", "any", "vec", "notify", "seed", "ready", "m", "cta", "plan"];
const INTS: [i64; 12] = [0, 1, -1, 2, 7, 64, -5, 4096, i64::MAX, i64::MIN, i64::MIN + 1, 1 << 40];
const STRINGS: [&str; 6] = ["ldstmatrix", "", "a \"b\" \\ c", "tab\there\nline\r", "über 漢字", "\u{1}\u{7f}//{;"];

pub(crate) struct Gen<'a> {
    bytes: &'a [u8],
    /// How much deeper blocks and expressions may still go.
    depth: u32,
}

impl<'a> Gen<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Gen<'a> {
        Gen { bytes, depth: 5 }
    }

    fn byte(&mut self) -> u8 {
        let (first, rest) = self.bytes.split_first().unwrap_or((&0, &[]));
        self.bytes = rest;
        *first
    }

    fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    fn flip(&mut self) -> bool {
        self.below(2) == 1
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    fn maybe<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.flip() { Some(f(self)) } else { None }
    }

    fn several<T>(&mut self, most: usize, mut f: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let n = self.below(most + 1);
        (0..n).map(|_| f(self)).collect()
    }

    fn value_name(&mut self) -> Name {
        Name::new(self.pick(&VALUES))
    }

    fn buffer_name(&mut self) -> Name {
        Name::new(self.pick(&BUFFERS))
    }

    fn int(&mut self) -> i64 {
        self.pick(&INTS)
    }

    fn u32(&mut self) -> u32 {
        self.pick(&[0, 1, 3, 8, 128, u32::MAX])
    }

    fn float(&mut self) -> u64 {
        let random = u64::from(self.byte()) << 56 | u64::from(self.byte()) << 48 | u64::from(self.byte());
        let known = [0.0, -0.0, 1.0, -1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, f64::MAX, 1e16, 1e-7];
        let edge = [0xfff8_0000_0000_0000, 0x7ff0_0000_0000_0001, random];
        let n = self.below(known.len() + edge.len());
        known.get(n).map_or_else(|| edge[n - known.len()], |v| v.to_bits())
    }

    fn scalar(&mut self) -> ScalarTy {
        let dtype = self.dtype();
        self.pick(&[ScalarTy::Index, ScalarTy::LsaRank, ScalarTy::WorldRank, ScalarTy::Num(dtype)])
    }

    fn dtype(&mut self) -> DType {
        self.pick(DType::ALL)
    }

    fn scope(&mut self) -> Scope {
        self.pick(&Scope::ALL)
    }

    fn string(&mut self) -> String {
        self.pick(&STRINGS).to_owned()
    }

    pub(crate) fn expr(&mut self) -> Expr {
        if self.depth == 0 {
            return Expr::int(self.int());
        }
        self.depth -= 1;
        let kind = match self.below(14) {
            0 | 1 => ExprKind::Int(self.int()),
            2 => ExprKind::Var(self.value_name()),
            3 => ExprKind::Float(self.float()),
            4 => ExprKind::Bool(self.flip()),
            5 => ExprKind::Special(self.pick(Special::ALL).0),
            6 => ExprKind::Comm(self.value_name(), self.pick(&CommField::ALL).0),
            7 | 8 => ExprKind::Unary(self.pick(&[UnOp::Neg, UnOp::Not]), self.boxed()),
            9 => ExprKind::Select(self.boxed(), self.boxed(), self.boxed()),
            10 => ExprKind::Cast(self.scalar(), self.boxed()),
            _ => ExprKind::Binary(self.bin_op(), self.boxed(), self.boxed()),
        };
        self.depth += 1;
        Expr::new(kind)
    }

    fn boxed(&mut self) -> Box<Expr> {
        Box::new(self.expr())
    }

    fn bin_op(&mut self) -> BinOp {
        use BinOp::*;
        self.pick(&[Add, Sub, Mul, Div, Rem, Min, Max, And, Or, Xor, Shl, Shr, Eq, Ne, Lt, Le, Gt, Ge, LAnd, LOr])
    }

    fn dim(&mut self) -> Dim {
        if self.flip() { Dim::from_expr(&self.expr()) } else { Dim::Const(self.int()) }
    }

    fn axis(&mut self) -> Axis {
        let named = Axis::NAMED.map(|(axis, _)| axis);
        let n = self.below(named.len() + 2);
        named.get(n).cloned().unwrap_or_else(|| Axis::Other(Name::new(if n.is_multiple_of(2) { "TCol" } else { "bx" })))
    }

    fn iter(&mut self) -> Iter {
        Iter { extent: self.dim(), stride: self.dim(), axis: self.axis() }
    }

    pub(crate) fn layout(&mut self) -> Layout {
        let shard = self.several(3, Gen::iter);
        let replica = self.several(2, Gen::iter);
        let offset = self.several(2, |g| (g.axis(), g.dim())).into_iter().collect();
        let swizzle =
            self.maybe(|g| Swizzle { per_element: g.u32(), swizzle_len: g.u32(), atom_len: g.u32(), inner: g.flip() });
        Layout { tile: TileLayout { shard, replica, offset }, swizzle }
    }

    fn buffer_ty(&mut self, space: Space) -> BufferTy {
        BufferTy {
            space,
            dtype: self.dtype(),
            shape: self.several(3, Gen::dim),
            layout: self.maybe(Gen::layout),
            align: self.maybe(Gen::u32),
        }
    }

    fn place(&mut self) -> Place {
        let index =
            if self.flip() { PlaceIndex::Flat(self.expr()) } else { PlaceIndex::Logical(self.several(3, Gen::expr)) };
        Place { buf: self.buffer_name(), rank: self.maybe(Gen::expr), index, span: Span::NONE }
    }

    fn index(&mut self) -> Index {
        if self.flip() { Index::Range(self.maybe(Gen::expr), self.maybe(Gen::expr)) } else { Index::At(self.expr()) }
    }

    fn region(&mut self) -> Region {
        Region {
            buf: self.buffer_name(),
            rank: self.maybe(Gen::expr),
            index: self.maybe(|g| g.several(3, Gen::index)),
            span: Span::NONE,
        }
    }

    fn run_region(&mut self) -> RunRegion {
        RunRegion {
            buf: self.buffer_name(),
            rank: self.maybe(Gen::expr),
            index: self.several(3, Gen::index),
            span: Span::NONE,
        }
    }

    fn block(&mut self) -> Vec<Stmt> {
        if self.depth == 0 {
            return Vec::new();
        }
        self.depth -= 1;
        let block = self.several(4, Gen::stmt);
        self.depth += 1;
        block
    }

    fn stmt(&mut self) -> Stmt {
        let kind = match self.below(16) {
            0 => StmtKind::Let { name: self.value_name(), ty: self.maybe(Gen::scalar), value: self.expr() },
            1 => StmtKind::Load { name: self.value_name(), from: self.place() },
            2 => StmtKind::Store { to: self.place(), value: self.expr() },
            3 => {
                let space = self.pick(&[Space::Shared, Space::Local]);
                let BufferTy { space, dtype, shape, layout, align } = self.buffer_ty(space);
                StmtKind::Alloc(Alloc { name: self.buffer_name(), space, dtype, shape, layout, align })
            }
            4 => StmtKind::For {
                var: self.value_name(),
                lo: self.expr(),
                hi: self.expr(),
                unroll: self.flip(),
                body: self.block(),
            },
            5 | 6 => StmtKind::If { cond: self.expr(), then: self.block(), els: self.maybe(Gen::block) },
            7 => StmtKind::Sync(self.scope()),
            8 => StmtKind::Assume(self.expr()),
            9 => StmtKind::Signal { name: self.buffer_name(), queue: self.maybe(Gen::u32) },
            10 => StmtKind::WaitToken(self.buffer_name()),
            11 => StmtKind::WaitSignal {
                signal: self.buffer_name(),
                from: self.expr(),
                scope: self.scope(),
                expected: self.maybe(Gen::expr),
            },
            12 | 13 => StmtKind::Tile(self.tile_op()),
            14 => StmtKind::Prim(self.prim_op()),
            _ => StmtKind::Posted { token: self.buffer_name(), completion: self.completion() },
        };
        Stmt::new(kind, Span::NONE)
    }

    fn completion(&mut self) -> Completion {
        if self.flip() {
            Completion::Queue { peer: self.expr(), queue: self.u32(), scope: self.scope() }
        } else {
            Completion::Done
        }
    }

    fn tile_op(&mut self) -> TileOp {
        let kind = self.pick(&TileKind::ALL).0;
        let mut dsts = vec![self.region()];
        dsts.extend(self.several(2, Gen::region));
        let srcs = if kind == TileKind::Fill {
            vec![Source::Value(self.expr())]
        } else {
            (0..kind.arity()).map(|_| Source::Region(self.region())).collect()
        };
        let attrs = CopyAttrs {
            notify: self.maybe(Gen::buffer_name),
            carry_any: self.flip(),
            allow_unmeasured: self.flip(),
            after: self.maybe(|g| match g.below(2) {
                0 => After::Flag(g.place(), g.expr()),
                _ => After::Signal { signal: g.buffer_name(), from: g.expr(), expected: g.maybe(Self::expr) },
            }),
            variant: self.maybe(Gen::string),
            vec: self.maybe(Gen::u32),
            plan: self.maybe(Gen::string),
        };
        TileOp { kind, token: self.maybe(Gen::buffer_name), dsts, srcs, scope: self.scope(), attrs }
    }

    fn prim_op(&mut self) -> PrimOp {
        let known = OPS[self.below(OPS.len())].name;
        let op = Name::new(self.pick(&[known, "x", "amd.select.add", "_0.f16"]));
        let args = self.several(4, |g| if g.flip() { PrimArg::Place(g.place()) } else { PrimArg::Expr(g.expr()) });
        let attrs = self.several(3, |g| {
            let value = match g.below(3) {
                0 => AttrValue::Int(g.int()),
                1 => AttrValue::Bool(g.flip()),
                _ => AttrValue::Sym(Name::new(g.pick(&["cta", "thread", "for", "x"]))),
            };
            (Name::new(g.pick(&["n", "queue", "scope", "align", "in"])), value)
        });
        PrimOp { result: self.maybe(Gen::value_name), op, args, attrs }
    }

    fn param(&mut self) -> Param {
        let ty = match self.below(4) {
            0 => ParamTy::Buffer(self.buffer_ty(Space::Global)),
            1 => ParamTy::Buffer(self.buffer_ty(Space::Window)),
            2 => ParamTy::Scalar(self.scalar()),
            _ => ParamTy::DevComm,
        };
        Param { name: self.buffer_name(), ty, hidden: self.flip(), span: Span::NONE }
    }

    fn kernel(&mut self) -> Kernel {
        let warp = self.pick(&[WarpWidth::Target, WarpWidth::Lanes(32), WarpWidth::Lanes(64), WarpWidth::Lanes(7)]);
        Kernel {
            name: self.buffer_name(),
            params: self.several(4, Gen::param),
            wheres: self.several(2, |g| WhereParam { name: g.buffer_name(), dtype: g.dtype(), span: Span::NONE }),
            launch: Launch {
                grid: self.several(3, Gen::dim),
                block: self.several(3, Gen::dim),
                warp,
                span: Span::NONE,
            },
            body: self.block(),
            span: Span::NONE,
        }
    }

    fn run(&mut self) -> Run {
        let settings = self.several(3, |g| Setting {
            is_let: g.flip(),
            name: g.buffer_name(),
            value: match g.below(4) {
                0 => RunValue::Expr(g.expr()),
                1 => RunValue::Iota,
                2 => RunValue::Random { seed: g.pick(&[0, 1, u64::MAX]) },
                _ => RunValue::Npy(g.string()),
            },
            span: Span::NONE,
        });
        // The parser reads a bare name of a `let` as its value, so no region may have that name.
        let lets: BTreeMap<Name, ()> = settings.iter().filter(|s| s.is_let).map(|s| (s.name.clone(), ())).collect();
        let expects = self.several(3, |g| {
            let each = g.maybe(|g| (Name::new("each"), g.expr(), g.expr()));
            let region = g.run_region();
            let rhs = if g.flip() || lets.contains_key(&region.buf) {
                ExpectValue::Value(g.expr())
            } else {
                ExpectValue::Region(region)
            };
            Expect { lhs: g.run_region(), rhs, each, cond: g.maybe(Gen::expr), span: Span::NONE }
        });
        Run {
            kernel: self.buffer_name(),
            ranks: self.maybe(Gen::u32),
            targets: self.maybe(|g| g.several(2, Gen::string)),
            settings,
            expects,
            span: Span::NONE,
        }
    }

    pub(crate) fn module(&mut self) -> Module {
        let items = self.several(3, |g| if g.flip() { Item::Run(g.run()) } else { Item::Kernel(g.kernel()) });
        Module { items }
    }
}

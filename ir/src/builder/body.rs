//! Statements.

use super::Errors;
use super::val::{Elem, Tile, Val};
use crate::dim::Dim;
use crate::dtype::{DType, ScalarTy};
use crate::expr::Expr;
use crate::space::{Scope, Space};
use crate::span::Span;
use crate::stmt::{After, Alloc, Block, CopyAttrs, PrimOp, Region, Source, Stmt, StmtKind, TileKind, TileOp};

/// Runs `f` on a new block.
pub(super) fn build(errors: &mut Errors, f: impl FnOnce(&mut BodyBuilder)) -> Block {
    let mut b = BodyBuilder { block: Vec::new(), errors };
    f(&mut b);
    b.block
}

/// Makes the statements of one block, in the order of the calls.
pub struct BodyBuilder<'a> {
    block: Block,
    errors: &'a mut Errors,
}

impl BodyBuilder<'_> {
    fn push(&mut self, kind: StmtKind) {
        self.block.push(Stmt::new(kind, Span::NONE));
    }

    /// `let name = value;` — gives the named value.
    pub fn let_(&mut self, name: &str, value: impl Into<Val>) -> Val {
        let name = self.errors.name("a value", name);
        self.push(StmtKind::Let { name: name.clone(), ty: None, value: value.into().0 });
        Val(Expr::var(&name))
    }

    /// `let name: ty = value;` — gives the named value.
    pub fn let_as(&mut self, name: &str, ty: ScalarTy, value: impl Into<Val>) -> Val {
        let name = self.errors.name("a value", name);
        self.push(StmtKind::Let { name: name.clone(), ty: Some(ty), value: value.into().0 });
        Val(Expr::var(&name))
    }

    /// `let name = buf[i];` — gives the loaded value.
    pub fn load(&mut self, name: &str, from: Elem) -> Val {
        let name = self.errors.name("a value", name);
        self.push(StmtKind::Load { name: name.clone(), from: from.0 });
        Val(Expr::var(&name))
    }

    /// `buf[i] = value;`
    pub fn store(&mut self, to: Elem, value: impl Into<Val>) {
        self.push(StmtKind::Store { to: to.0, value: value.into().0 });
    }

    fn alloc<D: Into<Dim>>(
        &mut self,
        space: Space,
        name: &str,
        dtype: DType,
        shape: impl IntoIterator<Item = D>,
    ) -> AllocBuilder<'_> {
        let name = self.errors.name("a buffer", name);
        let shape = shape.into_iter().map(Into::into).collect();
        self.push(StmtKind::Alloc(Alloc { name, space, dtype, shape, layout: None, align: None }));
        let alloc = match self.block.last_mut() {
            Some(Stmt { kind: StmtKind::Alloc(alloc), .. }) => Some(alloc),
            _ => None,
        };
        AllocBuilder { alloc, errors: self.errors }
    }

    /// `shared name: dtype[shape];` — the layout may follow.
    pub fn shared<D: Into<Dim>>(
        &mut self,
        name: &str,
        dtype: DType,
        shape: impl IntoIterator<Item = D>,
    ) -> AllocBuilder<'_> {
        self.alloc(Space::Shared, name, dtype, shape)
    }

    /// `local name: dtype[shape];` — the layout may follow.
    pub fn local<D: Into<Dim>>(
        &mut self,
        name: &str,
        dtype: DType,
        shape: impl IntoIterator<Item = D>,
    ) -> AllocBuilder<'_> {
        self.alloc(Space::Local, name, dtype, shape)
    }

    fn loop_(&mut self, unroll: bool, var: &str, lo: Val, hi: Val, f: impl FnOnce(&mut BodyBuilder, Val)) {
        let var = self.errors.name("a loop variable", var);
        let body = build(self.errors, |b| f(b, Val(Expr::var(&var))));
        self.push(StmtKind::For { var, lo: lo.0, hi: hi.0, unroll, body });
    }

    /// `for var in lo..hi { … }`
    pub fn for_(&mut self, var: &str, lo: impl Into<Val>, hi: impl Into<Val>, f: impl FnOnce(&mut BodyBuilder, Val)) {
        self.loop_(false, var, lo.into(), hi.into(), f);
    }

    /// `unroll for var in lo..hi { … }`
    pub fn unroll_for(
        &mut self,
        var: &str,
        lo: impl Into<Val>,
        hi: impl Into<Val>,
        f: impl FnOnce(&mut BodyBuilder, Val),
    ) {
        self.loop_(true, var, lo.into(), hi.into(), f);
    }

    /// `if cond { … }` — an `else` may follow.
    pub fn if_(&mut self, cond: impl Into<Val>, f: impl FnOnce(&mut BodyBuilder)) -> IfBuilder<'_> {
        let then = build(self.errors, f);
        self.push(StmtKind::If { cond: cond.into().0, then, els: None });
        let els = match self.block.last_mut() {
            Some(Stmt { kind: StmtKind::If { els, .. }, .. }) => Some(els),
            _ => None,
        };
        IfBuilder { els, errors: self.errors }
    }

    /// `sync scope;`
    pub fn sync(&mut self, scope: Scope) {
        self.push(StmtKind::Sync(scope));
    }

    /// `assume(fact);`
    pub fn assume(&mut self, fact: impl Into<Val>) {
        self.push(StmtKind::Assume(fact.into().0));
    }

    /// `signal name;` — the compiler chooses the queue.
    pub fn signal(&mut self, name: &str) {
        let name = self.errors.name("a signal", name);
        self.push(StmtKind::Signal { name, queue: None });
    }

    /// `signal name queue id;`
    pub fn signal_on(&mut self, name: &str, queue: u32) {
        let name = self.errors.name("a signal", name);
        self.push(StmtKind::Signal { name, queue: Some(queue) });
    }

    /// `wait token;`
    pub fn wait(&mut self, token: &str) {
        let token = self.errors.name("a token", token);
        self.push(StmtKind::WaitToken(token));
    }

    /// `wait signal from rank;` by the CTA, until said otherwise.
    pub fn wait_signal(&mut self, signal: &str, from: impl Into<Val>) -> WaitBuilder<'_> {
        let signal = self.errors.name("a signal", signal);
        self.push(StmtKind::WaitSignal { signal, from: from.into().0, scope: Scope::Cta, expected: None });
        WaitBuilder { stmt: self.block.last_mut() }
    }

    /// Any tile op, by the CTA until said otherwise.
    pub fn tile_op(
        &mut self,
        kind: TileKind,
        token: Option<&str>,
        dsts: Vec<Region>,
        srcs: Vec<Source>,
    ) -> TileBuilder<'_> {
        let token = token.map(|t| self.errors.name("a token", t));
        let op = TileOp { kind, token, dsts, srcs, scope: Scope::Cta, attrs: CopyAttrs::default() };
        self.push(StmtKind::Tile(op));
        let op = match self.block.last_mut() {
            Some(Stmt { kind: StmtKind::Tile(op), .. }) => Some(op),
            _ => None,
        };
        TileBuilder { op, errors: self.errors }
    }

    /// `copy dst <- src`
    pub fn copy(&mut self, dst: impl Into<Tile>, src: impl Into<Tile>) -> TileBuilder<'_> {
        self.tile_op(TileKind::Copy, None, vec![dst.into().into()], vec![Source::Region(src.into().into())])
    }

    /// `copy dst, dst, … <- src`
    pub fn copy_to(&mut self, dsts: impl IntoIterator<Item = Tile>, src: impl Into<Tile>) -> TileBuilder<'_> {
        let dsts = dsts.into_iter().map(Region::from).collect();
        self.tile_op(TileKind::Copy, None, dsts, vec![Source::Region(src.into().into())])
    }

    /// `token = copy_async dst <- src`
    pub fn copy_async(&mut self, token: &str, dst: impl Into<Tile>, src: impl Into<Tile>) -> TileBuilder<'_> {
        let srcs = vec![Source::Region(src.into().into())];
        self.tile_op(TileKind::CopyAsync, Some(token), vec![dst.into().into()], srcs)
    }

    /// `fill dst <- value`
    pub fn fill(&mut self, dst: impl Into<Tile>, value: impl Into<Val>) -> TileBuilder<'_> {
        self.tile_op(TileKind::Fill, None, vec![dst.into().into()], vec![Source::Value(value.into().0)])
    }

    /// `cast dst <- src`
    pub fn cast(&mut self, dst: impl Into<Tile>, src: impl Into<Tile>) -> TileBuilder<'_> {
        self.tile_op(TileKind::Cast, None, vec![dst.into().into()], vec![Source::Region(src.into().into())])
    }

    /// An elementwise op such as `add dst <- a, b`.
    pub fn elementwise(
        &mut self,
        kind: TileKind,
        dst: impl Into<Tile>,
        a: impl Into<Tile>,
        b: impl Into<Tile>,
    ) -> TileBuilder<'_> {
        let srcs = vec![Source::Region(a.into().into()), Source::Region(b.into().into())];
        self.tile_op(kind, None, vec![dst.into().into()], srcs)
    }

    /// A primitive op.
    pub fn prim(&mut self, op: PrimOp) {
        self.push(StmtKind::Prim(op));
    }
}

/// What may follow `shared` and `local`.
pub struct AllocBuilder<'a> {
    alloc: Option<&'a mut Alloc>,
    errors: &'a mut Errors,
}

impl AllocBuilder<'_> {
    /// The layout, as text.
    pub fn layout(mut self, text: &str) -> Self {
        let layout = self.errors.layout(text);
        if let Some(alloc) = &mut self.alloc {
            alloc.layout = Some(layout);
        }
        self
    }

    /// Alignment of the base in bytes.
    pub fn align(mut self, bytes: u32) -> Self {
        if let Some(alloc) = &mut self.alloc {
            alloc.align = Some(bytes);
        }
        self
    }
}

/// What may follow `if`.
pub struct IfBuilder<'a> {
    els: Option<&'a mut Option<Block>>,
    errors: &'a mut Errors,
}

impl IfBuilder<'_> {
    /// `else { … }`
    pub fn else_(self, f: impl FnOnce(&mut BodyBuilder)) {
        let block = build(self.errors, f);
        if let Some(els) = self.els {
            *els = Some(block);
        }
    }
}

/// What may follow `wait signal from rank`.
pub struct WaitBuilder<'a> {
    stmt: Option<&'a mut Stmt>,
}

impl WaitBuilder<'_> {
    /// Who waits.
    pub fn by(mut self, who: Scope) -> Self {
        if let Some(StmtKind::WaitSignal { scope, .. }) = self.stmt.as_mut().map(|s| &mut s.kind) {
            *scope = who;
        }
        self
    }

    /// `expected = count`: notifies since the launch.
    pub fn expected(mut self, count: impl Into<Val>) -> Self {
        if let Some(StmtKind::WaitSignal { expected, .. }) = self.stmt.as_mut().map(|s| &mut s.kind) {
            *expected = Some(count.into().0);
        }
        self
    }
}

/// What may follow a tile op.
pub struct TileBuilder<'a> {
    op: Option<&'a mut TileOp>,
    errors: &'a mut Errors,
}

impl TileBuilder<'_> {
    fn change(mut self, f: impl FnOnce(&mut TileOp, &mut Errors)) -> Self {
        if let Some(op) = &mut self.op {
            f(op, self.errors);
        }
        self
    }

    /// Who executes it.
    pub fn by(self, scope: Scope) -> Self {
        self.change(|op, _| op.scope = scope)
    }

    /// `notify signal`
    pub fn notify(self, signal: &str) -> Self {
        self.change(|op, errors| op.attrs.notify = Some(errors.name("a signal", signal)))
    }

    /// `carry = any`
    pub fn carry_any(self) -> Self {
        self.change(|op, _| op.attrs.carry_any = true)
    }

    /// `allow = unmeasured`
    pub fn allow_unmeasured(self) -> Self {
        self.change(|op, _| op.attrs.allow_unmeasured = true)
    }

    /// `after flag == value`
    pub fn after(self, flag: Elem, value: impl Into<Val>) -> Self {
        self.change(|op, _| op.attrs.after = Some(After::Flag(flag.0, value.into().0)))
    }

    /// `after signal from rank`
    pub fn after_signal(self, signal: &str, from: impl Into<Val>) -> Self {
        let from = from.into().0;
        self.change(|op, errors| {
            op.attrs.after = Some(After::Signal { signal: errors.name("a signal", signal), from, expected: None });
        })
    }

    /// `variant = "name"`
    pub fn variant(self, name: &str) -> Self {
        self.change(|op, _| op.attrs.variant = Some(name.to_owned()))
    }

    /// `vec = bits`
    pub fn vec(self, bits: u32) -> Self {
        self.change(|op, _| op.attrs.vec = Some(bits))
    }

    /// `plan = "name"`
    pub fn plan(self, name: &str) -> Self {
        self.change(|op, _| op.attrs.plan = Some(name.to_owned()))
    }
}

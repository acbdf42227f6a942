//! The walk that makes a resolved kernel: names to numbers, expressions to typed ones.

use indexmap::IndexMap;

use super::addr::{FlatLayout, eval_dim};
use super::num::Class;
use super::resolve::RAfter;
use super::resolve::{RArg, RBuffer, RIndex, RKernel, RPlace, RPrim, RRegion, RSource, RStmt, RStmtKind, RTile, RWait};
use super::typed::{self, Names, RExpr, RKind};
use crate::diag::{Code, Diagnostic};
use crate::dtype::{DType, ScalarTy};
use crate::expr::{BinOp, Expr};
use crate::module::{BufferTy, Kernel, ParamTy};
use crate::name::Name;
use crate::span::Span;
use crate::stmt::{After, Block, Index, Place, PlaceIndex, PrimArg, PrimOp, Region, Source, Stmt, StmtKind, TileOp};

/// The number of notifies that the n-th `wait … from` of the kernel is for, over names visible there.
pub type Expected<'a> = &'a dyn Fn(usize) -> Result<Expr, Diagnostic>;

#[derive(Clone)]
enum Bound {
    Slot { slot: usize, ty: ScalarTy, uniform: bool },
    Buffer(usize),
    Signal(u32),
    Token(usize),
}

struct Resolver<'k, 'a> {
    names: IndexMap<Name, Vec<Bound>>,
    scopes: Vec<Vec<Name>>,
    out: RKernel<'k>,
    queues: IndexMap<Name, u32>,
    wheres: &'a dyn Fn(&Name) -> Option<i64>,
    expected: Expected<'a>,
    waits: usize,
}

type Res<T> = Result<T, Diagnostic>;

/// Resolves a kernel for warps of `warp` lanes.
///
/// # Errors
/// What the verifier would report: unknown names, types that do not fit, launch shapes that are not known.
pub fn resolve<'k>(
    kernel: &'k Kernel,
    warp: u32,
    wheres: &dyn Fn(&Name) -> Option<i64>,
    expected: Expected<'_>,
) -> Res<RKernel<'k>> {
    let mut grid = [1i64; 3];
    let mut block = [1i64; 3];
    let launch = &kernel.launch;
    for (dims, out, what) in [(&launch.grid, &mut grid, "grid"), (&launch.block, &mut block, "block")] {
        for (slot, dim) in out.iter_mut().zip(dims) {
            let value = eval_dim(dim, wheres);
            *slot = value.filter(|v| (1..=i64::from(u32::MAX)).contains(v)).ok_or_else(|| {
                let value = value.map_or("not known".to_owned(), |v| v.to_string());
                let message = format!("{what} extent `{dim}` is {value} in this launch, needs 1 to {}", u32::MAX);
                Diagnostic::error(Code::BAD_LAUNCH, launch.span, message)
                    .help("give the `where` parameters other values in the run block")
            })?;
        }
    }
    let threads = block.iter().product::<i64>();
    if !(1..=1024).contains(&threads) {
        return Err(Diagnostic::error(Code::BAD_LAUNCH, launch.span, format!("block of {threads} threads")));
    }
    if grid.iter().try_fold(1i64, |p, g| p.checked_mul(*g)).is_none_or(|n| n > 1 << 24) {
        let message = format!("a grid of {grid:?} is more than the 2^24 CTAs that can be run here");
        return Err(Diagnostic::error(Code::TOO_LARGE, launch.span, message).help("run a smaller grid"));
    }
    let queues = crate::env::signal_queues(kernel)?;
    let out = RKernel {
        kernel,
        buffers: Vec::new(),
        scalars: Vec::new(),
        slots: Vec::new(),
        body: Vec::new(),
        grid,
        block,
        warp,
    };
    let mut r = Resolver { names: IndexMap::new(), scopes: vec![Vec::new()], out, queues, wheres, expected, waits: 0 };
    r.params(kernel)?;
    let body = r.block(&kernel.body)?;
    r.out.body = body;
    Ok(r.out)
}

fn err<T>(code: Code, span: Span, message: impl Into<String>) -> Res<T> {
    Err(Diagnostic::error(code, span, message))
}

impl<'k> Resolver<'k, '_> {
    fn params(&mut self, kernel: &'k Kernel) -> Res<()> {
        for p in &kernel.params {
            match &p.ty {
                ParamTy::DevComm => {}
                ParamTy::Scalar(ty) => {
                    let slot = self.define(&p.name, *ty, true);
                    self.out.scalars.push((p.name.clone(), *ty, slot));
                }
                ParamTy::Buffer(ty) => {
                    self.buffer(&p.name, ty, p.span)?;
                    if let Some(b) = self.out.buffers.last_mut() {
                        b.hidden = p.hidden;
                        b.is_param = true;
                    }
                }
            }
        }
        for w in &kernel.wheres {
            let ty = ScalarTy::Index;
            let slot = self.define(&w.name, ty, true);
            self.out.scalars.push((w.name.clone(), ty, slot));
        }
        Ok(())
    }

    fn bind(&mut self, name: &Name, bound: Bound) {
        self.names.entry(name.clone()).or_default().push(bound);
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(name.clone());
        }
    }

    fn define(&mut self, name: &Name, ty: ScalarTy, uniform: bool) -> usize {
        let slot = self.new_slot(name);
        self.bind(name, Bound::Slot { slot, ty, uniform });
        slot
    }

    fn new_slot(&mut self, name: &Name) -> usize {
        self.out.slots.push(name.clone());
        self.out.slots.len() - 1
    }

    fn lookup(&self, name: &Name) -> Option<&Bound> {
        self.names.get(name)?.last()
    }

    fn buffer(&mut self, name: &Name, ty: &BufferTy, span: Span) -> Res<usize> {
        let place = |mut d: Diagnostic| {
            if d.span.is_none() {
                d.span = span;
            }
            d
        };
        let layout = FlatLayout::new(&ty.layout(), self.wheres).map_err(place)?;
        let mut shape = Vec::with_capacity(ty.shape.len());
        for dim in &ty.shape {
            match eval_dim(dim, self.wheres) {
                Some(v) if v >= 0 => shape.push(v),
                _ => return err(Code::BAD_SHAPE, span, format!("extent `{dim}` of `{name}` is not known at launch")),
            }
        }
        let count = shape.iter().try_fold(1i64, |p, e| p.checked_mul(*e));
        if count != Some(layout.elements()) {
            let message = format!("layout of `{name}` has {} elements, its shape {shape:?} has not", layout.elements());
            return Err(Diagnostic::error(Code::LAYOUT_SHAPE, span, message)
                .help("the extents of the shard iters multiply to the number of elements"));
        }
        let storage = layout.storage().map_err(place)?;
        // With constants only, the verifier has seen it.
        let symbolic = |l: &crate::layout::Layout| {
            let iters = l.tile.shard.iter().chain(&l.tile.replica);
            iters.flat_map(|it| [&it.extent, &it.stride]).any(|dim| dim.as_const().is_none())
        };
        if ty.layout.as_ref().is_some_and(symbolic)
            && let Some(at) = layout.shared_place(storage)
        {
            let message = format!("two elements of `{name}` have the place {at} in its memory in this launch");
            return Err(Diagnostic::error(Code::BAD_LAYOUT, span, message)
                .help("the layout depends on `where` parameters: give values with which it tells the elements apart"));
        }
        let bytes = ty.dtype.bytes_for(storage).and_then(|b| usize::try_from(b).ok());
        let Some(bytes) = bytes.filter(|b| *b as u64 <= super::MAX_LAUNCH_BYTES) else {
            return err(Code::TOO_LARGE, span, format!("buffer `{name}` of {storage} elements is too large to run"));
        };
        let (align, hidden, is_param) = (ty.align_bytes(), false, false);
        self.out.buffers.push(RBuffer {
            name: name.clone(),
            space: ty.space,
            dtype: ty.dtype,
            shape,
            layout,
            storage,
            bytes,
            align,
            hidden,
            is_param,
        });
        let id = self.out.buffers.len() - 1;
        self.bind(name, Bound::Buffer(id));
        Ok(id)
    }

    fn block(&mut self, block: &'k Block) -> Res<Vec<RStmt<'k>>> {
        self.scopes.push(Vec::new());
        let mut out = Vec::with_capacity(block.len());
        let mut result = Ok(());
        for stmt in block {
            match self.stmt(stmt) {
                Ok(Some(kind)) => out.push(RStmt { kind, span: stmt.span }),
                Ok(None) => {}
                Err(mut d) => {
                    if d.span.is_none() {
                        d.span = stmt.span;
                    }
                    result = Err(d);
                    break;
                }
            }
        }
        for name in self.scopes.pop().unwrap_or_default() {
            if let Some(stack) = self.names.get_mut(&name) {
                stack.pop();
            }
        }
        result.map(|()| out)
    }

    fn stmt(&mut self, stmt: &'k Stmt) -> Res<Option<RStmtKind<'k>>> {
        Ok(Some(match &stmt.kind {
            StmtKind::Let { name, ty, value } => {
                let value = match ty {
                    Some(ty) => self.expr_as(value, *ty)?,
                    None => self.expr(value)?,
                };
                let slot = self.define(name, value.ty, value.uniform);
                RStmtKind::Let(slot, value)
            }
            StmtKind::Load { name, from } => {
                let place = self.place(from)?;
                let dtype = self.out.buffers[place.buf].dtype;
                RStmtKind::Load(self.define(name, ScalarTy::Num(dtype), false), place)
            }
            StmtKind::Store { to, value } => {
                let place = self.place(to)?;
                let ty = ScalarTy::Num(self.out.buffers[place.buf].dtype);
                RStmtKind::Store(place, self.expr_as(value, ty)?)
            }
            StmtKind::Alloc(alloc) => RStmtKind::Alloc(self.buffer(&alloc.name, &alloc.into(), stmt.span)?),
            StmtKind::For { var, lo, hi, body, .. } => self.for_loop(var, lo, hi, body)?,
            StmtKind::If { cond, then, els } => {
                let cond = self.expr_as(cond, ScalarTy::Num(DType::Bool))?;
                let then = self.block(then)?;
                let els = match els {
                    Some(els) => self.block(els)?,
                    None => Vec::new(),
                };
                RStmtKind::If(cond, then, els)
            }
            StmtKind::Sync(scope) => RStmtKind::Sync(*scope),
            StmtKind::Assume(e) => RStmtKind::Assume(self.expr_as(e, ScalarTy::Num(DType::Bool))?),
            StmtKind::Signal { name, .. } => {
                let queue = self.queues.get(name).copied().unwrap_or(0);
                self.bind(name, Bound::Signal(queue));
                return Ok(None);
            }
            StmtKind::WaitToken(name) => match self.lookup(name) {
                Some(Bound::Token(slot)) => RStmtKind::WaitToken(*slot),
                _ => return err(Code::TOKEN_USE, stmt.span, format!("`{name}` is no token")),
            },
            StmtKind::WaitSignal { signal, from, scope, expected } => {
                RStmtKind::WaitSignal(Box::new(self.wait(signal, from, *scope, expected.as_ref(), stmt.span)?))
            }
            StmtKind::Tile(op) => RStmtKind::Tile(Box::new(self.tile(op, stmt.span)?)),
            StmtKind::Prim(op) => RStmtKind::Prim(Box::new(self.prim(op, stmt.span)?)),
            StmtKind::Posted { .. } => return err(Code::LEVEL, stmt.span, "`posted` stands between two passes only"),
        }))
    }

    fn for_loop(&mut self, var: &Name, lo: &Expr, hi: &Expr, body: &'k Block) -> Res<RStmtKind<'k>> {
        let (lo, hi) = (self.expr_as(lo, ScalarTy::Index)?, self.expr_as(hi, ScalarTy::Index)?);
        self.scopes.push(Vec::new());
        let slot = self.define(var, ScalarTy::Index, lo.uniform && hi.uniform);
        let body = self.block(body);
        self.scopes.pop();
        if let Some(stack) = self.names.get_mut(var) {
            stack.pop();
        }
        Ok(RStmtKind::For(slot, lo, hi, body?))
    }

    fn wait(
        &mut self,
        signal: &Name,
        from: &Expr,
        scope: crate::Scope,
        expected: Option<&Expr>,
        span: Span,
    ) -> Res<RWait> {
        let queue = self.signal(signal, span)?;
        let from = self.expr_as(from, ScalarTy::Index)?;
        Ok(RWait { signal: signal.clone(), queue, from, scope, expected: self.count(expected)? })
    }

    /// The number of notifies that the next wait is for: written, or derived.
    fn count(&mut self, written: Option<&Expr>) -> Res<RExpr> {
        let nth = self.waits;
        self.waits += 1;
        match written {
            Some(e) => self.expr_as(e, ScalarTy::Index),
            None => self.expr_as(&(self.expected)(nth)?, ScalarTy::Index),
        }
    }

    fn signal(&self, name: &Name, span: Span) -> Res<u32> {
        match self.lookup(name) {
            Some(Bound::Signal(queue)) => Ok(*queue),
            _ => err(Code::SIGNAL_USE, span, format!("`{name}` is no signal")),
        }
    }

    fn tile(&mut self, op: &'k TileOp, span: Span) -> Res<RTile<'k>> {
        let dsts = op.dsts.iter().map(|d| self.region(d)).collect::<Res<Vec<_>>>()?;
        let Some(dst_dtype) = dsts.first().map(|d| self.out.buffers[d.buf].dtype) else {
            return err(Code::SYNTAX, span, "op without a destination");
        };
        let mut srcs = Vec::with_capacity(op.srcs.len());
        for s in &op.srcs {
            srcs.push(match s {
                Source::Region(r) => RSource::Region(self.region(r)?),
                Source::Value(e) => RSource::Value(self.expr_as(e, ScalarTy::Num(dst_dtype))?),
            });
        }
        if srcs.len() != op.kind.arity() {
            return err(Code::SYNTAX, span, format!("`{}` takes {} sources", op.kind.as_str(), op.kind.arity()));
        }
        let notify = match &op.attrs.notify {
            Some(name) => Some((name.clone(), self.signal(name, span)?)),
            None => None,
        };
        let after = match &op.attrs.after {
            Some(After::Flag(place, value)) => {
                let place = self.place(place)?;
                let ty = ScalarTy::Num(self.out.buffers[place.buf].dtype);
                Some(RAfter::Flag(place, self.expr_as(value, ty)?))
            }
            Some(After::Signal { signal, from, expected }) => {
                Some(RAfter::Signal(self.wait(signal, from, op.scope, expected.as_ref(), span)?))
            }
            None => None,
        };
        let token = op.token.as_ref().map(|name| {
            let slot = self.new_slot(name);
            self.bind(name, Bound::Token(slot));
            slot
        });
        Ok(RTile { op, token, dsts, srcs, notify, after })
    }

    fn prim(&mut self, op: &'k PrimOp, _span: Span) -> Res<RPrim<'k>> {
        // A value operand has the dtype of the first place operand (op table).
        let mut dtype = None;
        for a in &op.args {
            if let PrimArg::Place(p) = a {
                let Some(Bound::Buffer(id)) = self.lookup(&p.buf) else { continue };
                dtype = dtype.or(Some(self.out.buffers[*id].dtype));
            }
        }
        let values = op.op == "mem.wait_eq";
        let mut args = Vec::with_capacity(op.args.len());
        for a in &op.args {
            args.push(match a {
                PrimArg::Place(p) => RArg::Place(self.place(p)?),
                PrimArg::Expr(e) => RArg::Expr(match dtype {
                    Some(d) if values => self.expr_as(e, ScalarTy::Num(d))?,
                    _ => self.expr(e)?,
                }),
            });
        }
        let result = op.result.as_ref().map(|name| {
            let row = crate::op::OpSet::default().find(op.op.as_str()).and_then(|r| r.result).and_then(DType::parse);
            self.define(name, row.map_or(ScalarTy::Index, ScalarTy::Num), false)
        });
        Ok(RPrim { op, result, args })
    }

    fn find_buffer(&self, name: &Name, span: Span) -> Res<usize> {
        match self.lookup(name) {
            Some(Bound::Buffer(id)) => Ok(*id),
            _ => err(Code::UNKNOWN_NAME, span, format!("`{name}` is no buffer")),
        }
    }

    fn rank(&self, rank: Option<&Expr>) -> Res<Option<RExpr>> {
        rank.map(|e| self.expr_as(e, ScalarTy::Index)).transpose()
    }

    fn place(&self, p: &Place) -> Res<RPlace> {
        let buf = self.find_buffer(&p.buf, p.span)?;
        let rank = self.rank(p.rank.as_ref())?;
        let index = match &p.index {
            PlaceIndex::Logical(list) => {
                if list.len() != self.out.buffers[buf].shape.len() {
                    return err(Code::INDEX_COUNT, p.span, format!("`{}` takes another number of indices", p.buf));
                }
                RIndex::Logical(list.iter().map(|e| self.expr_as(e, ScalarTy::Index)).collect::<Res<Vec<_>>>()?)
            }
            PlaceIndex::Flat(e) => RIndex::Flat(self.expr_as(e, ScalarTy::Index)?),
        };
        Ok(RPlace { buf, rank, index })
    }

    fn region(&self, region: &Region) -> Res<RRegion> {
        let buf = self.find_buffer(&region.buf, region.span)?;
        let rank = self.rank(region.rank.as_ref())?;
        let shape = self.out.buffers[buf].shape.clone();
        let int = |v: i64| RExpr { kind: RKind::Const(v as u64), ty: ScalarTy::Index, uniform: true };
        let mut bounds = Vec::with_capacity(shape.len());
        match &region.index {
            None => bounds.extend(shape.iter().map(|e| (int(0), int(*e)))),
            Some(list) if list.len() == shape.len() => {
                for (index, extent) in list.iter().zip(&shape) {
                    bounds.push(match index {
                        Index::At(e) => {
                            let lo = self.expr_as(e, ScalarTy::Index)?;
                            let (ty, uniform) = (ScalarTy::Index, lo.uniform);
                            let kind = RKind::Binary(BinOp::Add, Class::INDEX, Box::new(lo.clone()), Box::new(int(1)));
                            (lo, RExpr { kind, ty, uniform })
                        }
                        Index::Range(lo, hi) => {
                            let end = |e: &Option<Expr>, default: i64| match e {
                                Some(e) => self.expr_as(e, ScalarTy::Index),
                                None => Ok(int(default)),
                            };
                            (end(lo, 0)?, end(hi, *extent)?)
                        }
                    });
                }
            }
            Some(_) => {
                return err(Code::INDEX_COUNT, region.span, format!("`{}` has {} dimensions", region.buf, shape.len()));
            }
        }
        Ok(RRegion { buf, rank, bounds, span: region.span })
    }

    fn expr_as(&self, expr: &Expr, ty: ScalarTy) -> Res<RExpr> {
        typed::expr_as(self, expr, ty)
    }

    fn expr(&self, expr: &Expr) -> Res<RExpr> {
        typed::expr(self, expr)
    }
}

impl Names for Resolver<'_, '_> {
    fn slot(&self, name: &Name) -> Option<(usize, ScalarTy, bool)> {
        match self.lookup(name) {
            Some(Bound::Slot { slot, ty, uniform }) => Some((*slot, *ty, *uniform)),
            _ => None,
        }
    }
}

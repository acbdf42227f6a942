//! The names that are visible at a point of a kernel, and what each of them is.
//!
//! Everyone who walks a kernel (verifier, passes, executors) walks with an `Env`: `enter` and `leave` follow the blocks,
//! `bind_stmt` adds what a statement defines. Must hold: `enter` and `leave` are paired; a binding ends with its block.
//! The environment itself allows shadowing (the newest binding wins); the verifier is who forbids it.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diag::{Code, Diagnostic};
use crate::dtype::{DType, ScalarTy};
use crate::expr::{CommField, Expr, ExprKind};
use crate::module::{BufferTy, Kernel, ParamTy};
use crate::name::Name;
use crate::op::{OpRow, OpSet};
use crate::shared::SharedMap;
use crate::space::Space;
use crate::span::Span;
use crate::stmt::{Place, PlaceIndex, Stmt, StmtKind};
use crate::types::type_of;

/// Queues a peer has at most, hence signals a kernel may have: seed 001, "Turning it on".
pub const MAX_QUEUES: u32 = 8;

/// Nodes up to which a resolved let is kept; larger ones count as unknown values. Keeps chains such as
/// `let b = a + a; let c = b + b; …` from growing without bound.
const MAX_RESOLVED_NODES: usize = 256;

/// What a name stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Entity {
    /// A `let`, a loaded element or the result of a primitive op.
    Let {
        /// Its type.
        ty: ScalarTy,
        /// Its value over parameters, loop variables, ids and loaded values, lets resolved; `None` for loaded values,
        /// results of ops, and values too large to keep.
        value: Option<Expr>,
        /// May it differ between the threads of a CTA?
        varying: bool,
    },
    /// A loop variable, an `index`.
    Loop {
        /// Do the bounds differ between the threads of a CTA?
        varying: bool,
    },
    /// A `where` parameter: the same on every rank.
    Where(DType),
    /// A scalar parameter: the same in all threads, may differ between ranks.
    Scalar(ScalarTy),
    /// The `devcomm` parameter.
    DevComm,
    /// A buffer: parameter or allocation.
    Buffer(Arc<BufferTy>),
    /// A signal with the queue id that it was given.
    Signal {
        /// Queue id, 0..8.
        queue: u32,
    },
    /// The token of an asynchronous copy.
    Token,
}

impl Entity {
    /// What it is, in words with an article, for messages.
    pub fn describe(&self) -> &'static str {
        match self {
            Entity::Let { .. } => "a let",
            Entity::Loop { .. } => "a loop variable",
            Entity::Where(_) => "a `where` parameter",
            Entity::Scalar(_) => "a scalar parameter",
            Entity::DevComm => "the communicator",
            Entity::Buffer(_) => "a buffer",
            Entity::Signal { .. } => "a signal",
            Entity::Token => "a token",
        }
    }

    /// Type of the value, for what is a scalar.
    pub fn scalar_ty(&self) -> Option<ScalarTy> {
        match self {
            Entity::Let { ty, .. } | Entity::Scalar(ty) => Some(*ty),
            Entity::Loop { .. } => Some(ScalarTy::Index),
            // The dtype says how it is passed; in expressions it counts as it does in shapes, in 64 bits.
            Entity::Where(_) => Some(ScalarTy::Index),
            Entity::DevComm | Entity::Buffer(_) | Entity::Signal { .. } | Entity::Token => None,
        }
    }
}

#[derive(Clone, Debug)]
struct Bound {
    entity: Entity,
    span: Span,
}

/// Names in scope. Cheap to make: linear in the number of parameters.
#[derive(Clone, Debug, Default)]
pub struct Env {
    /// Bindings of each name, newest last; none where it went out of scope.
    names: SharedMap<Name, Vec<Bound>>,
    /// What each open block has bound.
    blocks: Vec<Arc<Vec<Name>>>,
    /// The communicator.
    devcomm: Option<Name>,
    /// In run blocks: the variable that holds the number of ranks.
    lsa_size_var: Option<Name>,
    /// Queue ids given to the kernel's signals.
    queues: IndexMap<Name, u32>,
}

impl Env {
    /// The environment at the start of a kernel's body: its parameters. If signals have no valid queue ids (the
    /// verifier reports it) the ids are 0.
    pub fn for_kernel(kernel: &Kernel) -> Env {
        let mut env = Env { queues: signal_queues(kernel).unwrap_or_default(), ..Env::default() };
        env.enter();
        for param in &kernel.params {
            let entity = match &param.ty {
                ParamTy::DevComm => Entity::DevComm,
                ParamTy::Scalar(ty) => Entity::Scalar(*ty),
                ParamTy::Buffer(ty) => Entity::Buffer(Arc::new(ty.clone())),
            };
            env.bind_at(&param.name, entity, param.span);
        }
        for w in &kernel.wheres {
            env.bind_at(&w.name, Entity::Where(w.dtype), w.span);
        }
        env
    }

    /// The environment at the start of a run block: `rank` (an `lsa_rank`) and `ranks` (an `index`).
    pub fn for_run() -> Env {
        let mut env = Env { lsa_size_var: Some(Name::new("ranks")), ..Env::default() };
        env.enter();
        env.bind(&Name::new("rank"), Entity::Scalar(ScalarTy::LsaRank));
        env.bind(&Name::new("ranks"), Entity::Scalar(ScalarTy::Index));
        env
    }

    /// Opens a block.
    pub fn enter(&mut self) {
        self.blocks.push(Arc::default());
    }

    /// Closes the innermost block and forgets what it bound. Does nothing if none is open.
    pub fn leave(&mut self) {
        for name in self.blocks.pop().unwrap_or_default().iter() {
            self.names.entry(name.clone(), Vec::new).pop();
        }
    }

    /// Binds a name in the innermost block.
    pub fn bind(&mut self, name: &Name, entity: Entity) {
        self.bind_at(name, entity, Span::NONE);
    }

    /// Binds a name that was defined at `span`.
    pub fn bind_at(&mut self, name: &Name, entity: Entity, span: Span) {
        if entity == Entity::DevComm && self.devcomm.is_none() {
            self.devcomm = Some(name.clone());
        }
        if self.blocks.is_empty() {
            self.enter();
        }
        if let Some(block) = self.blocks.last_mut() {
            Arc::make_mut(block).push(name.clone());
        }
        self.names.entry(name.clone(), Vec::new).push(Bound { entity, span });
    }

    /// What a name stands for here.
    pub fn lookup(&self, name: &Name) -> Option<&Entity> {
        self.names.get(name)?.last().map(|b| &b.entity)
    }

    /// Where a name was defined; `Span::NONE` for names that have no place in the text.
    pub fn defined_at(&self, name: &Name) -> Option<Span> {
        self.names.get(name)?.last().map(|b| b.span)
    }

    /// The buffer with this name.
    pub fn buffer(&self, name: &Name) -> Option<&Arc<BufferTy>> {
        match self.lookup(name)? {
            Entity::Buffer(ty) => Some(ty),
            _ => None,
        }
    }

    /// The kernel's communicator: its first `devcomm` parameter (the verifier allows only one).
    pub fn devcomm(&self) -> Option<&Name> {
        self.devcomm.as_ref()
    }

    /// Every visible name, in alphabetical order; for "did you mean".
    pub fn visible(&self) -> impl Iterator<Item = &Name> {
        self.names.iter().filter(|(_, stack)| !stack.is_empty()).map(|(name, _)| name)
    }

    /// Binds what a statement defines for the statements after it in the same block: lets, loads, allocations, signals,
    /// tokens, results of neutral ops. Statements that define nothing do nothing. A let whose value has no type (the
    /// verifier reports it) is an `index`.
    pub fn bind_stmt(&mut self, stmt: &Stmt) {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Let { name, ty, value } => {
                let own = type_of(value, self).ok();
                let ty = ty.or(own).unwrap_or(ScalarTy::Index);
                let varying = self.is_varying(value);
                let keeps_value =
                    own == Some(ty) || matches!(ty, ScalarTy::Index | ScalarTy::LsaRank | ScalarTy::WorldRank);
                let resolved = self.resolve(value).map(|v| match keeps_value {
                    true => v,
                    false => Expr { span: v.span, kind: ExprKind::Cast(ty, Box::new(v)) },
                });
                self.bind_at(name, Entity::Let { ty, value: resolved, varying }, span);
            }
            StmtKind::Load { name, from } => {
                let ty = self.buffer(&from.buf).map_or(ScalarTy::Index, |b| ScalarTy::Num(b.dtype));
                let varying = self.is_place_varying(from);
                self.bind_at(name, Entity::Let { ty, value: None, varying }, span);
            }
            StmtKind::Alloc(alloc) => self.bind_at(&alloc.name, Entity::Buffer(Arc::new(alloc.into())), span),
            StmtKind::Signal { name, .. } => {
                let queue = self.queues.get(name).copied().unwrap_or(0);
                self.bind_at(name, Entity::Signal { queue }, span);
            }
            StmtKind::Tile(op) => {
                if let Some(token) = &op.token {
                    self.bind_at(token, Entity::Token, span);
                }
            }
            StmtKind::Posted { token, .. } => self.bind_at(token, Entity::Token, span),
            StmtKind::Prim(op) => {
                if let Some(result) = &op.result {
                    self.bind_result(result, OpSet::default().find(op.op.as_str()), span);
                }
            }
            StmtKind::Store { .. }
            | StmtKind::For { .. }
            | StmtKind::If { .. }
            | StmtKind::Sync(_)
            | StmtKind::Assume(_)
            | StmtKind::WaitToken(_)
            | StmtKind::WaitSignal { .. } => {}
        }
    }

    /// Binds the result of a primitive op with this row; `index` if there is no row.
    pub fn bind_result(&mut self, name: &Name, row: Option<&OpRow>, span: Span) {
        let dtype = row.and_then(|r| r.result).and_then(DType::parse);
        let ty = dtype.map_or(ScalarTy::Index, ScalarTy::Num);
        self.bind_at(name, Entity::Let { ty, value: None, varying: true }, span);
    }

    /// Binds a loop variable; call it after `enter`, with the loop's bounds.
    pub fn bind_loop(&mut self, var: &Name, lo: &Expr, hi: &Expr, span: Span) {
        let varying = self.is_varying(lo) || self.is_varying(hi);
        self.bind_at(var, Entity::Loop { varying }, span);
    }

    /// May the value differ between the threads of one CTA?
    pub fn is_varying(&self, expr: &Expr) -> bool {
        expr.is_thread_dependent(&|name| match self.lookup(name) {
            Some(Entity::Let { varying, .. } | Entity::Loop { varying }) => *varying,
            _ => false,
        })
    }

    /// Registers are private to a thread, and other elements vary with their index.
    fn is_place_varying(&self, place: &Place) -> bool {
        let local = self.buffer(&place.buf).is_none_or(|b| b.space == Space::Local);
        let index = match &place.index {
            PlaceIndex::Logical(list) => list.iter().any(|e| self.is_varying(e)),
            PlaceIndex::Flat(e) => self.is_varying(e),
        };
        local || index || place.rank.as_ref().is_some_and(|r| self.is_varying(r))
    }

    /// The expression with every let replaced by its value, `me` by the communicator's `lsa_rank`, and conversions that
    /// cannot change the value dropped. `None` if the result has too many nodes to be useful.
    pub fn resolve(&self, expr: &Expr) -> Option<Expr> {
        let mut budget = MAX_RESOLVED_NODES;
        self.resolve_within(expr, &mut budget)
    }

    fn resolve_within(&self, expr: &Expr, budget: &mut usize) -> Option<Expr> {
        *budget = budget.checked_sub(1)?;
        let mut sub = |e: &Expr| self.resolve_within(e, budget).map(Box::new);
        let kind = match &expr.kind {
            ExprKind::Var(name) => {
                let Some(Entity::Let { value: Some(value), .. }) = self.lookup(name) else {
                    return Some(expr.clone());
                };
                let mut nodes = 0;
                value.walk(&mut |_| nodes += 1);
                *budget = budget.checked_sub(nodes)?;
                return Some(value.clone());
            }
            ExprKind::Special(crate::expr::Special::Me) => match self.devcomm() {
                Some(comm) => ExprKind::Comm(comm.clone(), CommField::LsaRank),
                None => expr.kind.clone(),
            },
            // An integer that becomes a rank or a 64-bit integer keeps its value.
            ExprKind::Cast(ScalarTy::Index | ScalarTy::LsaRank | ScalarTy::WorldRank, a)
                if type_of(a, self).is_ok_and(ScalarTy::is_integral) =>
            {
                return self.resolve_within(a, budget);
            }
            ExprKind::Unary(op, a) => ExprKind::Unary(*op, sub(a)?),
            ExprKind::Cast(ty, a) => ExprKind::Cast(*ty, sub(a)?),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, sub(a)?, sub(b)?),
            ExprKind::Select(c, a, b) => ExprKind::Select(sub(c)?, sub(a)?, sub(b)?),
            leaf => leaf.clone(),
        };
        Some(Expr { kind, span: expr.span })
    }

    /// Is it the number of ranks on the node: `comm.lsa_size`, a let of it, or `ranks` in a run block?
    pub fn is_lsa_size(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Comm(_, CommField::LsaSize) => true,
            ExprKind::Var(name) if Some(name) == self.lsa_size_var.as_ref() => true,
            ExprKind::Var(name) => match self.lookup(name) {
                Some(Entity::Let { value: Some(value), .. }) => {
                    matches!(value.kind, ExprKind::Comm(_, CommField::LsaSize))
                        || matches!(&value.kind, ExprKind::Var(n) if Some(n) == self.lsa_size_var.as_ref())
                }
                _ => false,
            },
            _ => false,
        }
    }
}

/// Queue ids of a kernel's signals in order of declaration: the written id, else the lowest that no other signal has.
/// Signals are declared in the outermost block only (the verifier checks it).
///
/// # Errors
/// Two signals with the same written id, an id of 8 or more, or more signals than queues.
pub fn signal_queues(kernel: &Kernel) -> Result<IndexMap<Name, u32>, Diagnostic> {
    let signals = || {
        kernel.body.iter().filter_map(|s| match &s.kind {
            StmtKind::Signal { name, queue } => Some((name, *queue, s.span)),
            _ => None,
        })
    };
    let mut taken: [Option<Span>; MAX_QUEUES as usize] = [None; MAX_QUEUES as usize];
    for (name, queue, span) in signals() {
        let Some(q) = queue else { continue };
        let Some(slot) = taken.get_mut(q as usize) else {
            return Err(Diagnostic::error(Code::SIGNAL_USE, span, format!("signal `{name}` asks for queue {q}"))
                .help(format!("a peer has at most {MAX_QUEUES} queues: 0 to {}", MAX_QUEUES - 1)));
        };
        if let Some(first) = *slot {
            return Err(Diagnostic::error(
                Code::SIGNAL_USE,
                span,
                format!("queue {q} already belongs to another signal"),
            )
            .also(first, "taken here")
            .help("each signal has a queue of its own: slots are counted per source rank and queue"));
        }
        *slot = Some(span);
    }
    let mut out = IndexMap::new();
    for (name, queue, span) in signals() {
        let q = match queue {
            Some(q) => q as usize,
            None => taken.iter().position(Option::is_none).ok_or_else(|| {
                Diagnostic::error(Code::SIGNAL_USE, span, format!("no queue is left for signal `{name}`"))
                    .help(format!("a kernel has at most {MAX_QUEUES} signals, one a queue"))
            })?,
        };
        taken[q] = Some(span);
        out.insert(name.clone(), q as u32);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{BinOp, Special};
    use crate::module::{Launch, WarpWidth};

    fn kernel(body: Vec<Stmt>) -> Kernel {
        let launch = Launch { grid: vec![1.into()], block: vec![64.into()], warp: WarpWidth::Target, span: Span::NONE };
        Kernel { name: Name::new("k"), params: vec![], wheres: vec![], launch, body, span: Span::NONE }
    }

    fn signal(name: &str, queue: Option<u32>) -> Stmt {
        Stmt::new(StmtKind::Signal { name: Name::new(name), queue }, Span::NONE)
    }

    fn let_stmt(name: &str, value: Expr) -> Stmt {
        Stmt::new(StmtKind::Let { name: Name::new(name), ty: None, value }, Span::NONE)
    }

    #[test]
    fn queues_fill_the_gaps() {
        let k = kernel(vec![signal("a", None), signal("b", Some(0)), signal("c", None), signal("d", Some(2))]);
        let q = signal_queues(&k).unwrap();
        let list: Vec<(&str, u32)> = q.iter().map(|(n, q)| (n.as_str(), *q)).collect();
        assert_eq!(list, [("a", 1), ("b", 0), ("c", 3), ("d", 2)]);
    }

    #[test]
    fn queues_run_out() {
        let names: Vec<String> = (0..9).map(|i| format!("s{i}")).collect();
        let k = kernel(names.iter().map(|n| signal(n, None)).collect());
        assert_eq!(signal_queues(&k).unwrap_err().code, Code::SIGNAL_USE);
        let k = kernel(vec![signal("a", Some(8))]);
        assert_eq!(signal_queues(&k).unwrap_err().code, Code::SIGNAL_USE);
        let k = kernel(vec![signal("a", Some(3)), signal("b", Some(3))]);
        assert_eq!(signal_queues(&k).unwrap_err().code, Code::SIGNAL_USE);
    }

    #[test]
    fn lets_resolve_and_blocks_end() {
        let mut env = Env::for_kernel(&kernel(vec![]));
        env.bind_stmt(&let_stmt("p", Expr::special(Special::Thread(0))));
        env.enter();
        env.bind_stmt(&let_stmt("q", Expr::binary(BinOp::Add, Expr::var(&"p".into()), Expr::int(1))));
        let want = Expr::binary(BinOp::Add, Expr::special(Special::Thread(0)), Expr::int(1));
        assert_eq!(env.resolve(&Expr::var(&"q".into())), Some(want));
        assert!(env.is_varying(&Expr::var(&"q".into())));
        env.leave();
        assert_eq!(env.lookup(&"q".into()), None);
        assert!(env.lookup(&"p".into()).is_some());
    }

    #[test]
    fn doubling_lets_stay_small() {
        let mut env = Env::for_kernel(&kernel(vec![]));
        env.bind_stmt(&let_stmt("a0", Expr::special(Special::Thread(0))));
        for i in 1..200 {
            let prev = Expr::var(&Name::from(format!("a{}", i - 1)));
            env.bind_stmt(&let_stmt(&format!("a{i}"), Expr::binary(BinOp::Add, prev.clone(), prev)));
        }
        let Some(Entity::Let { value, varying, .. }) = env.lookup(&"a199".into()) else { panic!("a199 is a let") };
        assert!(varying);
        let mut nodes = 0;
        if let Some(v) = value {
            v.walk(&mut |_| nodes += 1);
        }
        assert!(nodes <= MAX_RESOLVED_NODES);
    }
}

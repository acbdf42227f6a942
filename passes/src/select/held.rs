//! Copies that `after` holds back: what a variant is told of it, and what threads do where no engine waits.
//!
//! Must hold: whichever of the two is taken, nothing of the copy starts before its flag or signal; and when a blocking copy
//! returns, its threads may read what the flag or signal told of.

use tilewright_ir::diag::Diagnostic;
use tilewright_ir::{
    After, AttrValue, Block, Code, Expr, ExprKind, Name, PrimArg, ScalarTy, Span, Stmt, StmtKind, TileOp,
};

use super::rewriter::{Names, Rewriter};
use super::variant::Gate;
use super::view::Context;
use crate::lower::{base_of, flat_place, unknown_count};

/// A copy's `after`, in every form.
pub(super) struct Held {
    /// For the variants.
    pub gate: Gate,
    /// Before a copy that waits by itself.
    pub prepare: Block,
    /// Before a copy that does not: its threads wait.
    pub wait: Block,
    /// Behind a blocking copy that waited by itself: what the flag or signal told of may be read.
    pub arrived: Block,
}

impl Held {
    /// Looks up what a copy waits for.
    ///
    /// # Errors
    /// A flag that is spread over threads; a signal whose count is not known.
    pub(super) fn of(
        after: &After,
        op: &TileOp,
        span: Span,
        at: &Context,
        names: &mut Names,
        bases: &mut Vec<(Name, Name)>,
    ) -> Result<Held, Diagnostic> {
        match after {
            After::Flag(flag, value) => {
                let flat = flat_place(flag, at)?;
                let unknown = || Diagnostic::error(Code::UNKNOWN_NAME, span, format!("`{}` is no buffer", flag.buf));
                let dtype = at.env.buffer(&flag.buf).ok_or_else(unknown)?.dtype;
                let mut rw = Rewriter::new(names, span);
                rw.prim("mem.wait_eq", vec![PrimArg::Place(flat.clone()), PrimArg::Expr(value.clone())], vec![]);
                let wait = rw.finish();
                let mut rw = Rewriter::new(names, span);
                rw.prim("fence.acquire", vec![], vec![("scope", AttrValue::Sym(Name::new("system")))]);
                let written = at.posts.stored.contains(&flag.buf);
                let gate = Gate::Flag { flag: flat, value: value.clone(), dtype, written };
                Ok(Held { gate, prepare: Block::new(), wait, arrived: rw.finish() })
            }
            After::Signal { signal, from, expected } => {
                let count = expected.clone().ok_or_else(|| unknown_count(signal, span))?;
                let queue = match at.env.lookup(signal) {
                    Some(tilewright_ir::env::Entity::Signal { queue }) => *queue,
                    _ => 0,
                };
                let table = base_of(bases, names, signal);
                let mut rw = Rewriter::new(names, span);
                let base = rw.fresh("base");
                let index = Expr::new(ExprKind::Cast(ScalarTy::Index, Box::new(from.clone())));
                let entry = rw.place(&table, None, index);
                rw.stmt(StmtKind::Load { name: base.clone(), from: entry });
                let prepare = rw.finish();
                let want = Expr::var(&base).add(count);
                let kind = StmtKind::WaitSignal {
                    signal: signal.clone(),
                    from: from.clone(),
                    scope: op.scope,
                    expected: expected.clone(),
                };
                let wait: Block = std::iter::once(Stmt::new(kind, span)).collect();
                let gate = Gate::Signal { from: from.clone(), want, queue };
                Ok(Held { gate, prepare, arrived: wait.clone(), wait })
            }
        }
    }
}

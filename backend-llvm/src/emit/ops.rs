//! Primitive ops that both targets have; all others go to the target.
//!
//! Must hold: each op of the neutral table is handled here or by a target's hook, or refused in a sentence.

use inkwell::IntPredicate;
use tilewright_ir::{Place, PrimArg, PrimOp, ScalarTy, Span};

use super::stmt::scope_word;
use super::{Emitter, Error, FenceScope, OpBuilder, Result};
use crate::vocabulary::{Ordering, Scope};

impl<'ctx> Emitter<'_, '_, 'ctx> {
    pub(crate) fn prim(&mut self, op: &PrimOp, span: Span) -> Result<()> {
        match op.op.as_str() {
            "barrier" => self.hooks.barrier(self, scope_word(op.attr_sym("scope")), span),
            "fence.acquire" => self.hooks.fence(&self.g, Ordering::Acquire, fence_scope(op, span)?),
            "fence.release" => self.hooks.fence(&self.g, Ordering::Release, fence_scope(op, span)?),
            "mem.wait_eq" => self.wait_eq(op, span),
            "vec.copy" => {
                let n = op.attr_int("n").and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0);
                let n = n.ok_or_else(|| Error::malformed(span, "vec.copy needs `n`"))?;
                let align = op.attr_int("align").and_then(|a| u32::try_from(a).ok()).filter(|a| a.is_power_of_two());
                self.vec_copy(arg_place(op, 0, span)?, arg_place(op, 1, span)?, n, align, span)
            }
            other => match self.extra.find(other) {
                Some(lower) => lower(&mut OpBuilder { e: self, op, span }),
                None => self.hooks.op(self, op, span),
            },
        }
    }

    /// Polls an element with system scope until it has the value, then acquires.
    fn wait_eq(&mut self, op: &PrimOp, span: Span) -> Result<()> {
        let place = arg_place(op, 0, span)?;
        let (buffer, at) = self.place_pointer(place)?;
        let bits = buffer.dtype.bits();
        if !matches!(bits, 32 | 64) || !buffer.space.is_device_memory() || buffer.dtype.is_float() {
            return Err(Error::malformed(span, "mem.wait_eq wants an integer of 32 or 64 bits in device memory"));
        }
        let wanted = self.expr_as(arg_expr(op, 1, span)?, ScalarTy::Num(buffer.dtype))?.int()?;
        let [poll, wait, done] = self.g.blocks(["poll", "poll.wait", "poll.done"])?;
        self.g.br(poll)?;
        self.g.at(poll);
        let now = self.g.atomic_load(bits, at, Ordering::Monotonic, Scope::SYSTEM, "now")?;
        let reached = self.g.cmp(IntPredicate::EQ, now, wanted, "reached")?;
        self.g.cond_br(reached, done, wait)?;
        self.g.at(wait);
        self.hooks.pause(&self.g)?;
        self.g.br(poll)?;
        self.g.at(done);
        self.hooks.fence(&self.g, Ordering::Acquire, FenceScope::System)
    }
}

fn fence_scope(op: &PrimOp, span: Span) -> Result<FenceScope> {
    Ok(match op.attr_sym("scope") {
        Some("system") | None => FenceScope::System,
        Some("agent") => FenceScope::Agent,
        Some("cta") => FenceScope::Cta,
        Some("warp") => FenceScope::Warp,
        Some(other) => return Err(Error::malformed(span, format!("`{other}` is no scope of a fence"))),
    })
}

/// Operand number `n`.
///
/// # Errors
/// [`Error::Malformed`] if it is not there.
pub fn arg(op: &PrimOp, n: usize, span: Span) -> Result<&PrimArg> {
    op.args.get(n).ok_or_else(|| Error::malformed(span, format!("`{}` has no operand {n}", op.op.as_str())))
}

/// Operand number `n`, a place.
///
/// # Errors
/// [`Error::Malformed`] if it is none.
pub fn arg_place(op: &PrimOp, n: usize, span: Span) -> Result<&Place> {
    match arg(op, n, span)? {
        PrimArg::Place(place) => Ok(place),
        PrimArg::Expr(_) => Err(Error::malformed(span, format!("operand {n} of `{}` is no place", op.op.as_str()))),
    }
}

/// Operand number `n`, an expression.
///
/// # Errors
/// [`Error::Malformed`] if it is none.
pub fn arg_expr(op: &PrimOp, n: usize, span: Span) -> Result<&tilewright_ir::Expr> {
    match arg(op, n, span)? {
        PrimArg::Expr(expr) => Ok(expr),
        PrimArg::Place(_) => Err(Error::malformed(span, format!("operand {n} of `{}` is a place", op.op.as_str()))),
    }
}

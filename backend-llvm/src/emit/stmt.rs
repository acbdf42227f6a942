//! Statements.
//!
//! Must hold: tile-level statements are errors here; `unroll for` repeats the body while that stays reasonable (a loop
//! means the same); `assume` emits nothing, since what follows from it has been used by then.

use inkwell::IntPredicate;
use inkwell::values::{BasicValue, IntValue};
use tilewright_ir::stmt::walk_block;
use tilewright_ir::{Block, DType, Expr, ExprKind, Name, ScalarTy, Scope, Stmt, StmtKind};

use super::scalar::Value;
use super::scope::Meaning;
use super::{Emitter, Error, Result};

/// Statements up to which `unroll for` repeats its body; beyond it loops, so that no input makes the module explode.
const MOST_UNROLLED: u64 = 1 << 17;

/// Statements, `unroll for` inside counted as often as it repeats, up to which one `unroll for` is repeated: LLVM's time
/// grows faster than the number of accesses in one block.
const MOST_REPEATS: u64 = 1 << 12;

/// Statements after which code is divided: LLVM's machine scheduler compares the memory accesses of a basic block in pairs.
const STRETCH: u64 = 256;

impl<'ctx> Emitter<'_, '_, 'ctx> {
    /// The statements of a block, whose names end with it.
    pub(crate) fn block(&mut self, block: &Block) -> Result<()> {
        self.names.enter();
        let result = block.iter().try_for_each(|stmt| self.stmt(stmt));
        self.names.leave();
        result
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<()> {
        self.written += 1;
        if self.written.is_multiple_of(STRETCH) {
            self.hooks.divide(&self.g)?;
        }
        let span = stmt.span;
        if let Some(lines) = self.lines {
            lines.at(&self.g, span);
        }
        match &stmt.kind {
            StmtKind::Let { name, ty, value: expr } => {
                let value = match ty {
                    Some(ty) => self.expr_as(expr, *ty)?,
                    None => self.expr(expr)?,
                };
                match value_is_named(expr) {
                    true => self.names.bind(name, Meaning::Value(value)),
                    false => self.bind_value(name, value),
                }
                Ok(())
            }
            StmtKind::Load { name, from } => {
                let value = self.load_element(from)?;
                self.bind_value(name, value);
                Ok(())
            }
            StmtKind::Store { to, value } => self.store_element(to, value),
            StmtKind::Alloc(alloc) => self.alloc(alloc, span),
            StmtKind::For { var, lo, hi, unroll, body } => self.for_loop(var, lo, hi, *unroll, body),
            StmtKind::If { cond, then, els } => self.branch(cond, then, els.as_ref()),
            StmtKind::Sync(scope) => self.hooks.barrier(self, *scope, span),
            StmtKind::Assume(_) | StmtKind::Signal { .. } => Ok(()),
            StmtKind::Prim(op) => self.prim(op, span),
            StmtKind::Tile(op) => Err(Error::malformed(span, format!("the tile op `{}` is left", op.kind.as_str()))),
            StmtKind::WaitToken(_) | StmtKind::WaitSignal { .. } => {
                Err(Error::malformed(span, "a tile-level wait is left"))
            }
            StmtKind::Posted { .. } => Err(Error::malformed(span, "a posted copy whose wait was not placed is left")),
        }
    }

    /// Binds a name to a value; an instruction takes the name, for readable IR.
    pub(crate) fn bind_value(&mut self, name: &Name, value: Value<'ctx>) {
        if value.llvm.as_instruction_value().is_some() {
            value.llvm.set_name(name.as_str());
        }
        self.names.bind(name, Meaning::Value(value));
    }

    fn for_loop(&mut self, var: &Name, lo: &Expr, hi: &Expr, unroll: bool, body: &Block) -> Result<()> {
        let (first, end) = (self.index(lo)?, self.index(hi)?);
        let constant = first.get_sign_extended_constant().zip(end.get_sign_extended_constant());
        if let (true, Some((first, end))) = (unroll, constant)
            && repeated(first, end, body) <= MOST_REPEATS
            && self.written < MOST_UNROLLED
        {
            for i in first..end {
                self.names.enter();
                let value = Value::new(ScalarTy::Index, self.g.i64(i as u64));
                self.names.bind(var, Meaning::Value(value));
                let result = self.block(body);
                self.names.leave();
                result?;
            }
            return Ok(());
        }
        let name = var.as_str();
        let before = self.g.here()?;
        let names = [format!("{name}.head"), format!("{name}.body"), format!("{name}.end")];
        let [head, inside, done] = self.g.blocks([&names[0], &names[1], &names[2]])?;
        self.g.br(head)?;
        self.g.at(head);
        let phi = self.g.phi(self.g.context.i64_type(), &[(&first, before)], name)?;
        let now = phi.as_basic_value().into_int_value();
        let more = self.g.cmp(IntPredicate::SLT, now, end, &format!("{name}.more"))?;
        self.g.cond_br(more, inside, done)?;
        self.g.at(inside);
        self.names.enter();
        self.names.bind(var, Meaning::Value(Value::new(ScalarTy::Index, now)));
        let result = self.block(body);
        self.names.leave();
        result?;
        // Below `end`, so one more does not overflow.
        let next = self.g.builder.build_int_nsw_add(now, self.g.i64(1), &format!("{name}.next"))?;
        phi.add_incoming(&[(&next, self.g.here()?)]);
        self.g.br(head)?;
        self.g.at(done);
        Ok(())
    }

    fn branch(&mut self, cond: &Expr, then: &Block, els: Option<&Block>) -> Result<()> {
        let condition = self.expr_as(cond, ScalarTy::Num(DType::Bool))?.int()?;
        // Lanes of a wave run one branch after the other. Where a branch waits for somebody or is waited for, that must be
        // in the order of the text: LLVM would be free to begin with either.
        let ordered = speaks(then) || els.is_some_and(speaks);
        match els {
            Some(els) if ordered => {
                self.side(condition, "then", then)?;
                self.hooks.converge(&self.g)?;
                let other = self.g.builder.build_not(condition, "otherwise")?;
                self.side(other, "else", els)?;
            }
            None => self.side(condition, "then", then)?,
            Some(els) => {
                let [yes, no, done] = self.g.blocks(["then", "else", "endif"])?;
                self.g.cond_br(condition, yes, no)?;
                self.g.at(yes);
                self.block(then)?;
                self.g.br(done)?;
                self.g.at(no);
                self.block(els)?;
                self.g.br(done)?;
                self.g.at(done);
            }
        }
        if ordered { self.hooks.converge(&self.g) } else { Ok(()) }
    }

    fn side(&mut self, condition: IntValue<'ctx>, name: &str, body: &Block) -> Result<()> {
        let [yes, done] = self.g.blocks([name, "endif"])?;
        self.g.cond_br(condition, yes, done)?;
        self.g.at(yes);
        self.block(body)?;
        self.g.br(done)?;
        self.g.at(done);
        Ok(())
    }
}

/// Does a block post to or wait for somebody else?
fn speaks(block: &Block) -> bool {
    let mut found = false;
    walk_block(block, &mut |stmt| {
        if let StmtKind::Prim(op) = &stmt.kind {
            found |= op.op.as_str().starts_with("sdma.") || op.op == "mem.wait_eq";
        }
    });
    found
}

/// Does the value have a name already?
fn value_is_named(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Var(_))
}

/// The scope that a word in an attribute names.
pub(crate) fn scope_word(word: Option<&str>) -> Scope {
    word.and_then(Scope::parse).unwrap_or(Scope::Cta)
}

/// Statements that a loop over `first..end` is when it is repeated, and the loops in it, too.
fn repeated(first: i64, end: i64, body: &Block) -> u64 {
    let trips = u64::try_from(end.saturating_sub(first)).unwrap_or(0);
    trips.saturating_mul(written_out(body).max(1))
}

/// Statements of a block with every `unroll for` of constant extent written out.
fn written_out(block: &Block) -> u64 {
    let size = |stmt: &Stmt| match &stmt.kind {
        StmtKind::For { lo, hi, unroll: true, body, .. } => match (lo.as_int(), hi.as_int()) {
            (Some(first), Some(end)) if repeated(first, end, body) <= MOST_REPEATS => repeated(first, end, body),
            _ => written_out(body).saturating_add(1),
        },
        _ => stmt.blocks().into_iter().map(written_out).fold(1, u64::saturating_add),
    };
    block.iter().map(size).fold(0, u64::saturating_add)
}

//! Expressions.
//!
//! Must hold: literals take the type of the other operand; integers of different types compute as `index`; a rank is held
//! as an i64 like every index.

use inkwell::values::BasicValue;
use tilewright_ir::types::{is_float_literal, literal_int};
use tilewright_ir::{BinOp, CommField, DType, Expr, ExprKind, ScalarTy, Special, UnOp};
use tilewright_target::mori_abi::dev_comm;

use super::scalar::{Class, Value};
use super::{Emitter, Error, Result};
use crate::generator::Int;

const BOOL: ScalarTy = ScalarTy::Num(DType::Bool);

/// Ranks and counts read from the communicator are below this. mori's windows span a node, whose ranks are few; the bound
/// only has to be true, and it lets LLVM divide in 32 bits.
pub const RANK_LIMIT: u64 = 1 << 16;

impl<'ctx> Emitter<'_, '_, 'ctx> {
    /// The value of an expression.
    ///
    /// # Errors
    /// [`Error::Malformed`] for what the verifier should have refused, [`Error::Unsupported`] for what no GPU has.
    pub fn expr(&mut self, expr: &Expr) -> Result<Value<'ctx>> {
        match &expr.kind {
            ExprKind::Int(v) => Ok(Value::new(ScalarTy::Index, self.g.i64(*v as u64))),
            ExprKind::Float(bits) => self.float_literal(f64::from_bits(*bits), ScalarTy::Num(DType::F32)),
            ExprKind::Bool(b) => Ok(Value::new(BOOL, self.g.int(1, u64::from(*b)))),
            ExprKind::Var(name) => self.names.value(name, expr.span),
            ExprKind::Special(special) => self.special(*special, expr),
            ExprKind::Comm(_, field) => self.comm_field(*field, expr),
            ExprKind::Unary(op, a) => self.unary(*op, a),
            ExprKind::Binary(..) => self.chain(expr),
            ExprKind::Select(c, a, b) => self.select(c, a, b, expr),
            ExprKind::Cast(to, a) => {
                let to = if *to == ScalarTy::LsaSum { ScalarTy::Index } else { *to };
                let value = self.expr(a)?;
                self.convert(value, to, expr.span)
            }
        }
    }

    /// The value of an expression as a type: a literal becomes one of that type, integers convert, floats must match.
    pub fn expr_as(&mut self, expr: &Expr, to: ScalarTy) -> Result<Value<'ctx>> {
        match self.literal_as(expr, to)? {
            Some(value) => Ok(value),
            None => {
                let value = self.expr(expr)?;
                if Class::of(value.ty) == Class::of(to) {
                    return Ok(Value { ty: to, ..value });
                }
                self.convert(value, to, expr.span)
            }
        }
    }

    /// The value of an integer expression as i64.
    pub fn index(&mut self, expr: &Expr) -> Result<Int<'ctx>> {
        self.expr_as(expr, ScalarTy::Index)?.int()
    }

    /// The value of a rank expression as i32.
    pub fn rank(&mut self, expr: &Expr) -> Result<Int<'ctx>> {
        let value = self.index(expr)?;
        self.g.trunc32(value, "rank")
    }

    fn literal_as(&mut self, expr: &Expr, to: ScalarTy) -> Result<Option<Value<'ctx>>> {
        let number = match literal_int(expr) {
            Some(v) => match Class::of(to) {
                Class::Int { bits, .. } => {
                    // LLVM wants the bits of the width only.
                    let cut = if bits == 64 { v as u64 } else { v as u64 & ((1 << bits) - 1) };
                    return Ok(Some(Value::new(to, self.g.int_type(bits).const_int(cut, false))));
                }
                Class::Bool => return Ok(Some(Value::new(to, self.g.int(1, u64::from(v != 0))))),
                Class::Float(_) | Class::Small(_) => v as f64,
            },
            None if is_float_literal(expr) && matches!(Class::of(to), Class::Float(_) | Class::Small(_)) => {
                match &expr.kind {
                    ExprKind::Float(bits) => f64::from_bits(*bits),
                    ExprKind::Unary(UnOp::Neg, a) => match a.kind {
                        ExprKind::Float(bits) => -f64::from_bits(bits),
                        _ => return Ok(None),
                    },
                    _ => return Ok(None),
                }
            }
            None => return Ok(None),
        };
        self.float_literal(number, to).map(Some)
    }

    fn float_literal(&mut self, number: f64, ty: ScalarTy) -> Result<Value<'ctx>> {
        let ScalarTy::Num(dtype) = ty else { return Err(Error::Build(format!("{ty} is no float"))) };
        let exact = Value::new(ScalarTy::Num(DType::F64), self.g.context.f64_type().const_float(number));
        // LLVM folds the conversion of a constant, with one rounding.
        self.float_to_float(exact, dtype)
    }

    fn special(&mut self, special: Special, expr: &Expr) -> Result<Value<'ctx>> {
        let value = match special {
            Special::Thread(d) => self.thread_id(d)?,
            Special::ThreadLinear => self.thread_linear()?,
            Special::Lane | Special::Warp => {
                let linear = self.thread_linear()?;
                let warp = self.g.i32(self.shape.warp);
                match special {
                    Special::Lane => self.g.builder.build_int_unsigned_rem(linear, warp, "lane")?,
                    _ => self.g.builder.build_int_unsigned_div(linear, warp, "warp")?,
                }
            }
            Special::Block(d) => self.hooks.block_id(&self.g, d)?,
            Special::Grid(d) => {
                let extent = match self.kernel.launch.grid.get(usize::from(d)) {
                    Some(extent) => extent.to_expr(),
                    None => Expr::int(1),
                };
                return self.expr_as(&extent, ScalarTy::Index);
            }
            Special::Me => return self.comm_field(CommField::LsaRank, expr),
        };
        Ok(Value::new(ScalarTy::Index, self.g.zext64(value, &special.as_str().replace('.', "_"))?))
    }

    fn thread_id(&mut self, dimension: u8) -> Result<Int<'ctx>> {
        match self.shape.block.get(usize::from(dimension)) {
            Some(1) | None => Ok(self.g.i32(0)),
            Some(_) => self.hooks.thread_id(&self.g, dimension),
        }
    }

    /// The number of the thread in its block, 32-bit.
    pub fn thread_linear(&mut self) -> Result<Int<'ctx>> {
        let [x, y, _] = self.shape.block;
        let mut linear = self.thread_id(0)?;
        for (dimension, stride) in [(1, x), (2, x * y)] {
            if self.shape.block[dimension] > 1 {
                let id = self.thread_id(dimension as u8)?;
                let part = self.g.mul(id, self.g.i32(stride), "")?;
                linear = self.g.add(linear, part, "thread_linear")?;
            }
        }
        Ok(linear)
    }

    fn comm_field(&mut self, field: CommField, expr: &Expr) -> Result<Value<'ctx>> {
        let comm = self.devcomm(expr.span)?;
        let (offset, ty, least) = match field {
            CommField::LsaRank => (dev_comm::LSA_RANK, ScalarTy::LsaRank, 0),
            CommField::LsaSize => (dev_comm::LSA_SIZE, ScalarTy::Index, 1),
            CommField::Rank => (dev_comm::RANK, ScalarTy::WorldRank, 0),
            CommField::WorldSize => (dev_comm::WORLD_SIZE, ScalarTy::Index, 1),
        };
        let name = field.as_str();
        let at = self.g.field(comm, offset.into(), "")?;
        let value = self.g.load_invariant(self.g.context.i32_type(), at, 4, "")?;
        if let Some(load) = value.as_instruction_value() {
            self.g.set_range(load, least, RANK_LIMIT)?;
        }
        Ok(Value::new(ty, self.g.zext64(value.into_int_value(), name)?))
    }

    fn select(&mut self, c: &Expr, a: &Expr, b: &Expr, expr: &Expr) -> Result<Value<'ctx>> {
        let condition = self.expr_as(c, BOOL)?.int()?;
        let (x, y, ty) = self.operands(Left::Written(a), b, expr)?;
        Ok(Value { ty, llvm: self.g.select(condition, x.llvm, y.llvm, "select")? })
    }

    fn unary(&mut self, op: UnOp, a: &Expr) -> Result<Value<'ctx>> {
        let value = self.expr(a)?;
        let ty = decay(value.ty);
        Ok(match (op, value.class()) {
            (UnOp::Not, _) => Value::new(ty, self.g.builder.build_not(value.int()?, "not")?),
            (UnOp::Neg, Class::Float(_)) => Value::new(ty, self.g.builder.build_float_neg(value.float()?, "neg")?),
            (UnOp::Neg, Class::Small(d)) => {
                let bits = value.int()?;
                let sign = bits.get_type().const_int(1 << (d.bits() - 1), false);
                Value::new(ty, self.g.builder.build_xor(bits, sign, "neg")?)
            }
            (UnOp::Neg, _) => Value::new(ty, self.g.builder.build_int_neg(value.int()?, "neg")?),
        })
    }

    /// A binary expression. Chains such as `a + b + c` lean to the left and may be long, so they are walked, not recursed.
    fn chain(&mut self, expr: &Expr) -> Result<Value<'ctx>> {
        let mut spine = Vec::new();
        let mut lowest = expr;
        while let ExprKind::Binary(op, a, b) = &lowest.kind {
            spine.push((*op, b.as_ref(), lowest));
            lowest = a;
        }
        let mut left = Left::Written(lowest);
        for (op, b, whole) in spine.into_iter().rev() {
            left = Left::Done(self.binary(op, left, b, whole)?);
        }
        match left {
            Left::Done(value) => Ok(value),
            Left::Written(expr) => Err(Error::malformed(expr.span, "no binary expression")),
        }
    }

    fn binary(&mut self, op: BinOp, a: Left<'_, 'ctx>, b: &Expr, whole: &Expr) -> Result<Value<'ctx>> {
        match op {
            BinOp::LAnd | BinOp::LOr => {
                let x = match a {
                    Left::Written(a) => self.expr_as(a, BOOL)?,
                    Left::Done(x) => self.convert(x, BOOL, whole.span)?,
                }
                .int()?;
                let y = self.expr_as(b, BOOL)?.int()?;
                // Expressions are pure, so evaluating both sides is the same.
                let both = if op == BinOp::LAnd { self.g.and(x, y, "and")? } else { self.g.or(x, y, "or")? };
                Ok(Value::new(BOOL, both))
            }
            BinOp::Shl | BinOp::Shr => self.shift(op, a, b),
            _ => {
                let (x, y, ty) = self.operands(a, b, whole)?;
                let value = self.arithmetic(op, decay(ty), x, y, whole.span)?;
                // `lsa_rank % lsa_size` is a rank again; its value is that of the index.
                let by_size = matches!(b.kind, ExprKind::Comm(_, CommField::LsaSize));
                Ok(if op == BinOp::Rem && by_size { Value { ty: ScalarTy::LsaRank, ..value } } else { value })
            }
        }
    }

    fn shift(&mut self, op: BinOp, a: Left<'_, 'ctx>, b: &Expr) -> Result<Value<'ctx>> {
        let count = self.expr(b)?;
        let value = match a {
            // The width of a shift is that of its left operand; a literal takes the other's.
            Left::Written(a) if literal_int(a).is_some() => self.expr_as(a, decay(count.ty))?,
            Left::Written(a) => self.expr(a)?,
            Left::Done(value) => value,
        };
        let ty = decay(value.ty);
        let count = self.convert(count, ScalarTy::Index, b.span)?.int()?;
        let shifted = self.shift_by(op, Class::of(ty), value.int()?, count)?;
        Ok(Value::new(ty, shifted))
    }

    /// Both operands in their common type.
    fn operands(&mut self, a: Left<'_, 'ctx>, b: &Expr, whole: &Expr) -> Result<(Value<'ctx>, Value<'ctx>, ScalarTy)> {
        let left_literal = match a {
            Left::Written(a) if is_literal(a) => Some(a),
            _ => None,
        };
        match (left_literal, is_literal(b)) {
            (Some(a), false) => {
                let y = self.expr(b)?;
                let ty = decay(y.ty);
                return Ok((self.expr_as(a, ty)?, Value { ty, ..y }, ty));
            }
            (Some(a), true) if is_float_literal(a) != is_float_literal(b) => {
                let ty = ScalarTy::Num(DType::F32);
                return Ok((self.expr_as(a, ty)?, self.expr_as(b, ty)?, ty));
            }
            _ => {}
        }
        let x = match a {
            Left::Written(a) => self.expr(a)?,
            Left::Done(x) => x,
        };
        if left_literal.is_none() && is_literal(b) {
            let ty = decay(x.ty);
            return Ok((Value { ty, ..x }, self.expr_as(b, ty)?, ty));
        }
        let y = self.expr(b)?;
        if x.ty == y.ty {
            return Ok((x, y, x.ty));
        }
        if matches!((x.class(), y.class()), (Class::Int { .. }, Class::Int { .. })) {
            let x = self.convert(x, ScalarTy::Index, whole.span)?;
            let y = self.convert(y, ScalarTy::Index, b.span)?;
            return Ok((x, y, ScalarTy::Index));
        }
        Err(Error::malformed(whole.span, format!("{} does not combine with {}", x.ty, y.ty)))
    }
}

/// The left operand of an operator.
#[derive(Clone, Copy)]
enum Left<'e, 'ctx> {
    /// Not evaluated yet; it may be a literal that takes the other operand's type.
    Written(&'e Expr),
    /// Evaluated.
    Done(Value<'ctx>),
}

fn is_literal(expr: &Expr) -> bool {
    literal_int(expr).is_some() || is_float_literal(expr)
}

/// Ranks become plain integers.
pub(crate) fn decay(ty: ScalarTy) -> ScalarTy {
    match ty {
        ScalarTy::Num(_) => ty,
        _ => ScalarTy::Index,
    }
}

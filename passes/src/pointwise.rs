//! Elementwise tile ops: fill, cast, add, sub, mul, min, max.
//!
//! The elements of the destination are dealt out as those of a copy are; each thread loads its sources, computes and
//! stores. Local operands must be held by the same threads.

use tilewright_ir::{BinOp, Expr, ExprKind, Place, ScalarTy, Source, StmtKind, TileKind, TileOp};

use crate::select::partition::plan_elementwise;
use crate::select::rewriter::Rewriter;
use crate::select::variant::{CopyView, Operand, Reject};

/// Writes the statements of an elementwise op. `view` holds the destination, who runs it and what is known; `sources` are
/// the regions among `op.srcs`, in order.
///
/// # Errors
/// The rule that the operands do not meet. Nothing is written then.
pub fn lower(op: &TileOp, view: &CopyView, sources: &[Operand], rw: &mut Rewriter) -> Result<(), Reject> {
    let regions = op.srcs.iter().filter(|s| matches!(s, Source::Region(_))).count();
    if matches!(op.kind, TileKind::Copy | TileKind::CopyAsync)
        || op.srcs.len() != op.kind.arity()
        || regions != sources.len()
    {
        let why = format!("`{}` with {} sources is not an elementwise op", op.kind.as_str(), op.srcs.len());
        return Err(Reject::Attribute { why });
    }
    let plan = plan_elementwise(view, sources)?;
    let dtype = view.dst.dtype();
    plan.write(rw, &|rw, places| {
        let mut next = 1;
        let mut values = Vec::with_capacity(op.srcs.len());
        for src in &op.srcs {
            values.push(match src {
                Source::Value(e) => literal_of(e, dtype),
                Source::Region(_) => {
                    next += 1;
                    load(rw, places[next - 1].clone())
                }
            });
        }
        let value = compute(op.kind, ScalarTy::Num(dtype), values);
        rw.stmt(StmtKind::Store { to: places[0].clone(), value });
    });
    Ok(())
}

/// `let v = place;` and the variable.
fn load(rw: &mut Rewriter, from: Place) -> Expr {
    let name = rw.fresh("v");
    let value = Expr::var(&name);
    rw.stmt(StmtKind::Load { name, from });
    value
}

/// The value stored by `fill`: literals take the dtype of the buffer by themselves, everything else is converted.
fn literal_of(e: &Expr, dtype: tilewright_ir::DType) -> Expr {
    match e.kind {
        ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) => e.clone(),
        _ => Expr::new(ExprKind::Cast(ScalarTy::Num(dtype), Box::new(e.clone()))),
    }
}

fn compute(kind: TileKind, ty: ScalarTy, mut values: Vec<Expr>) -> Expr {
    let last = values.pop().unwrap_or(Expr::int(0));
    let op = match kind {
        TileKind::Cast => return Expr::new(ExprKind::Cast(ty, Box::new(last))),
        TileKind::Fill | TileKind::Copy | TileKind::CopyAsync => return last,
        TileKind::Add => BinOp::Add,
        TileKind::Sub => BinOp::Sub,
        TileKind::Mul => BinOp::Mul,
        TileKind::Min => BinOp::Min,
        TileKind::Max => BinOp::Max,
    };
    Expr::binary(op, values.pop().unwrap_or(Expr::int(0)), last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_ir::text::print_expr;

    #[test]
    fn values_by_kind() {
        let (a, b) = (Expr::var(&"a".into()), Expr::var(&"b".into()));
        let ty = ScalarTy::Num(tilewright_ir::DType::F16);
        let text = |kind| print_expr(&compute(kind, ty, vec![a.clone(), b.clone()]));
        assert_eq!(text(TileKind::Sub), "a - b");
        assert_eq!(text(TileKind::Max), "max(a, b)");
        assert_eq!(print_expr(&compute(TileKind::Cast, ty, vec![a.clone()])), "f16(a)");
        assert_eq!(print_expr(&compute(TileKind::Fill, ty, vec![Expr::int(3)])), "3");
        assert_eq!(print_expr(&literal_of(&Expr::int(3), tilewright_ir::DType::F16)), "3");
        assert_eq!(print_expr(&literal_of(&a, tilewright_ir::DType::F16)), "f16(a)");
    }
}

//! Expressions with respect to one variable: bounds, linear forms, replacement, and ranks modulo their number.

use super::solve::Cond;
use crate::dim::Dim;
use crate::expr::{BinOp, CommField, Expr, ExprKind, UnOp};

/// What a comparison says about a variable.
pub(super) enum Bound {
    Equal(Dim),
    AtLeast(Dim),
    Below(Dim),
}

/// `a op b` as a bound of a variable that occurs in it linearly.
pub(super) fn bound(test: &Expr, var: &Expr) -> Option<Bound> {
    let ExprKind::Binary(op, a, b) = &test.kind else { return None };
    if !op.is_comparison() {
        return None;
    }
    let (coef, rest) = linear(&Dim::from_expr(a).sub(&Dim::from_expr(b)), var)?;
    let (op, value) = match coef {
        1 => (*op, Dim::ZERO.sub(&rest)),
        -1 => (mirrored(*op), rest),
        _ => return None,
    };
    Some(match op {
        BinOp::Eq => Bound::Equal(value),
        BinOp::Lt => Bound::Below(value),
        BinOp::Le => Bound::Below(value.add(&Dim::ONE)),
        BinOp::Gt => Bound::AtLeast(value.add(&Dim::ONE)),
        BinOp::Ge => Bound::AtLeast(value),
        _ => return None,
    })
}

/// `x op y` is `y mirrored(op) x`.
fn mirrored(op: BinOp) -> BinOp {
    match op {
        BinOp::Lt => BinOp::Gt,
        BinOp::Le => BinOp::Ge,
        BinOp::Gt => BinOp::Lt,
        BinOp::Ge => BinOp::Le,
        other => other,
    }
}

pub(super) fn negate(cond: &Expr) -> Expr {
    let kind = match &cond.kind {
        ExprKind::Bool(b) => ExprKind::Bool(!b),
        ExprKind::Unary(UnOp::Not, a) => return (**a).clone(),
        ExprKind::Binary(op, a, b) if op.is_comparison() => {
            let opposite = match op {
                BinOp::Eq => BinOp::Ne,
                BinOp::Ne => BinOp::Eq,
                BinOp::Lt => BinOp::Ge,
                BinOp::Le => BinOp::Gt,
                BinOp::Gt => BinOp::Le,
                _ => BinOp::Lt,
            };
            ExprKind::Binary(opposite, a.clone(), b.clone())
        }
        _ => ExprKind::Unary(UnOp::Not, Box::new(cond.clone())),
    };
    Expr { kind, span: cond.span }
}

/// The conditions that a conjunction is made of.
pub(super) fn split_and(cond: &Cond) -> Vec<Cond> {
    match cond {
        Cond::Test(Expr { kind: ExprKind::Binary(BinOp::LAnd, a, b), .. }) => {
            [a, b].into_iter().flat_map(|e| split_and(&Cond::Test((**e).clone()))).collect()
        }
        other => vec![other.clone()],
    }
}

/// The sides of `a != b`.
pub(super) fn unequal(cond: &Cond) -> Option<(Expr, Expr)> {
    match cond {
        Cond::Test(Expr { kind: ExprKind::Binary(BinOp::Ne, a, b), .. }) => Some(((**a).clone(), (**b).clone())),
        _ => None,
    }
}

/// `dim` as `coef * var + rest` with `rest` free of the variable.
pub(super) fn linear(dim: &Dim, var: &Expr) -> Option<(i64, Dim)> {
    let mut coef = 0;
    let mut rest = Dim::ZERO;
    for (atoms, c) in dim.monomials() {
        if atoms.len() == 1 && atoms[0] == *var {
            coef = c;
        } else if atoms.iter().any(|a| mentions(a, var)) {
            return None;
        } else {
            let term = atoms.into_iter().fold(Dim::Const(c), |p, a| p.mul(&Dim::atom(a)));
            rest = rest.add(&term);
        }
    }
    (coef != 0).then_some((coef, rest))
}

/// A polynomial that is equal to the expression modulo `lsa_size`.
pub(super) fn mod_ranks(expr: &Expr) -> Dim {
    match &expr.kind {
        _ if is_lsa_size(expr) => Dim::ZERO,
        ExprKind::Binary(BinOp::Rem, a, s) if is_lsa_size(s) => mod_ranks(a),
        ExprKind::Binary(BinOp::Add, a, b) => mod_ranks(a).add(&mod_ranks(b)),
        ExprKind::Binary(BinOp::Sub, a, b) => mod_ranks(a).sub(&mod_ranks(b)),
        ExprKind::Binary(BinOp::Mul, a, b) => mod_ranks(a).mul(&mod_ranks(b)),
        ExprKind::Unary(UnOp::Neg, a) => Dim::ZERO.sub(&mod_ranks(a)),
        _ => Dim::from_expr(expr),
    }
}

pub(super) fn is_lsa_size(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Comm(_, CommField::LsaSize))
}

/// Does the leaf `var` occur in the expression?
pub(super) fn mentions(expr: &Expr, var: &Expr) -> bool {
    let mut found = false;
    expr.walk(&mut |e| found |= e.kind == var.kind);
    found
}

pub(super) fn factor_mentions(factor: &Dim, var: &Expr) -> bool {
    factor.atoms().iter().any(|a| mentions(a, var))
}

/// The expression with the leaf `var` replaced.
pub(super) fn replace(expr: &Expr, var: &Expr, with: &Expr) -> Expr {
    expr.rewrite(&mut |e| if e.kind == var.kind { with.clone() } else { e })
}

pub(super) fn describe(var: &Expr) -> String {
    match &var.kind {
        ExprKind::Var(n) if n == "#trip" => "a loop that the wait is in".to_owned(),
        ExprKind::Var(n) => format!("the loop over `{}`", n.as_str().split('#').next().unwrap_or_default()),
        ExprKind::Special(s) => format!("`{}`", s.as_str()),
        _ => "a loop".to_owned(),
    }
}

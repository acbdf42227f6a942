//! Types of expressions.
//!
//! The rules, which every executor follows:
//! - integer literals, ids, loop variables and extents are `index`; a literal takes the type of the other operand;
//! - integers of one type give that type; integers of different types, and ranks, compute as `index`;
//! - floats combine with the same float type or a literal only;
//! - `&&`, `||`, `!` and conditions want bool; bool takes part in `==`, `!=`, `&`, `|`, `^` with bool only;
//! - `lsa_rank ± integers` is an `LsaSum`; an `lsa_rank` or `LsaSum` `% lsa_size` is an `lsa_rank`; elsewhere both decay
//!   to `index`; an `lsa_rank` never meets a `world_rank`.

use crate::diag::{Code, Diagnostic};
use crate::dtype::{DType, ScalarTy};
use crate::env::{Entity, Env};
use crate::expr::{BinOp, CommField, Expr, ExprKind, Special, UnOp};
use crate::name::Name;
use crate::span::Span;

/// The type of bool expressions.
pub const BOOL: ScalarTy = ScalarTy::Num(DType::Bool);

/// The type of an expression.
///
/// # Errors
/// Names that are unknown or no scalars, operands that do not fit. The span of the diagnostic is that of the smallest
/// expression at fault.
pub fn type_of(expr: &Expr, env: &Env) -> Result<ScalarTy, Diagnostic> {
    match &expr.kind {
        ExprKind::Int(_) => Ok(ScalarTy::Index),
        ExprKind::Float(_) => Ok(ScalarTy::Num(DType::F32)),
        ExprKind::Bool(_) => Ok(BOOL),
        ExprKind::Var(name) => var_type(name, expr.span, env),
        ExprKind::Special(Special::Me) => match env.devcomm() {
            Some(_) => Ok(ScalarTy::LsaRank),
            None => Err(Diagnostic::error(Code::UNKNOWN_NAME, expr.span, "`me` needs a communicator")
                .help("give the kernel a parameter `comm: devcomm`")),
        },
        ExprKind::Special(_) => Ok(ScalarTy::Index),
        ExprKind::Comm(name, field) => comm_type(name, *field, expr.span, env),
        ExprKind::Unary(op, a) => unary_type(*op, a, expr.span, env),
        ExprKind::Binary(op, a, b) => binary_type(*op, a, b, expr.span, env),
        ExprKind::Select(c, a, b) => {
            expect_bool(c, env)?;
            let (x, y) = (type_of(a, env)?, type_of(b, env)?);
            if x == y {
                return Ok(x);
            }
            unify(a, x, b, y).ok_or_else(|| mismatch(expr.span, "both sides of `select`", x, y))
        }
        ExprKind::Cast(to, a) => cast_type(*to, type_of(a, env)?, expr.span),
    }
}

/// Checks that an expression is a bool.
///
/// # Errors
/// Those of `type_of`, and any other type.
pub fn expect_bool(expr: &Expr, env: &Env) -> Result<(), Diagnostic> {
    match type_of(expr, env)? {
        BOOL => Ok(()),
        other => Err(Diagnostic::error(Code::TYPE_MISMATCH, expr.span, format!("expected bool, found {other}"))
            .help("compare it: `… != 0`")),
    }
}

/// Checks that an expression is an integer, an index or a rank.
///
/// # Errors
/// Those of `type_of`, and any other type.
pub fn expect_integral(expr: &Expr, env: &Env) -> Result<ScalarTy, Diagnostic> {
    match type_of(expr, env)? {
        ty if ty.is_integral() => Ok(ty),
        other => Err(Diagnostic::error(Code::TYPE_MISMATCH, expr.span, format!("expected an integer, found {other}"))
            .help("convert it: `index(…)`")),
    }
}

/// Checks that an expression is an `lsa_rank`.
///
/// # Errors
/// Those of `type_of`; TW0020 for ranks of the other kind and plain integers.
pub fn expect_lsa_rank(expr: &Expr, env: &Env) -> Result<(), Diagnostic> {
    match type_of(expr, env)? {
        ScalarTy::LsaRank => Ok(()),
        ScalarTy::LsaSum => Err(rank_error(expr.span, "this may lie outside the node's ranks")
            .help("reduce it: `(…) % comm.lsa_size` is an lsa_rank again")),
        ScalarTy::WorldRank => Err(rank_error(expr.span, "expected an lsa_rank, found a world_rank")
            .help("a peer on the node is named by its lsa_rank: use `comm.lsa_rank`, not `comm.rank`")
            .help(OTHER_NODES)),
        other => {
            let message = format!("expected an lsa_rank, found {other}");
            let d = rank_error(expr.span, &message);
            Err(if other.is_integral() { d.help("convert it: `lsa(…)`, checked in debug builds") } else { d })
        }
    }
}

/// May a value of an expression be put where `to` is wanted (an element of a buffer, an operand of an op)? Its type must
/// be held as `to` is, or it must be a literal that fits.
///
/// # Errors
/// Those of `type_of`; TW0007 for other types; TW0004 for literals that do not fit.
pub fn expect_value(expr: &Expr, to: DType, env: &Env) -> Result<(), Diagnostic> {
    let ty = type_of(expr, env)?;
    if let Some(v) = literal_int(expr).filter(|_| to != DType::Bool) {
        return literal_fits(v, to, expr.span);
    }
    if ty.storage() == to || (is_float_literal(expr) && to.is_float()) {
        return Ok(());
    }
    Err(Diagnostic::error(Code::TYPE_MISMATCH, expr.span, format!("expected {to}, found {ty}"))
        .help(format!("convert it: `{to}(…)`")))
}

/// May a value of type `from` be bound by a let of type `to`? Integer types convert into each other; a rank is never
/// made from an integer here.
pub fn let_converts(expr: &Expr, from: ScalarTy, to: ScalarTy) -> bool {
    if from == to {
        return true;
    }
    match to {
        ScalarTy::LsaRank | ScalarTy::WorldRank | ScalarTy::LsaSum => false,
        ScalarTy::Index => from.is_integral(),
        ScalarTy::Num(d) if d.is_int() => from.is_integral(),
        ScalarTy::Num(d) if d.is_float() => literal_int(expr).is_some() || is_float_literal(expr),
        ScalarTy::Num(_) => false,
    }
}

/// The value of an integer literal, with its sign.
pub fn literal_int(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Int(v) => Some(*v),
        ExprKind::Unary(UnOp::Neg, a) => a.as_int().map(i64::wrapping_neg),
        _ => None,
    }
}

/// A floating literal, with a sign or without?
pub fn is_float_literal(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Float(_) => true,
        ExprKind::Unary(UnOp::Neg, a) => matches!(a.kind, ExprKind::Float(_)),
        _ => false,
    }
}

/// Checks that an integer literal is a value of the dtype; floats take every integer.
///
/// # Errors
/// TW0004 with the range.
pub fn literal_fits(value: i64, to: DType, span: Span) -> Result<(), Diagnostic> {
    let bits = to.bits();
    let (lo, hi): (i128, i128) = match to.class() {
        crate::dtype::DTypeClass::Signed => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        // u64 literals above i64::MAX are written as the negative number with the same bits.
        crate::dtype::DTypeClass::Unsigned if bits == 64 => (i128::from(i64::MIN), i128::from(i64::MAX)),
        crate::dtype::DTypeClass::Unsigned => (0, (1i128 << bits) - 1),
        crate::dtype::DTypeClass::Bool => (0, 1),
        crate::dtype::DTypeClass::Float => return Ok(()),
    };
    if (lo..=hi).contains(&i128::from(value)) {
        return Ok(());
    }
    Err(Diagnostic::error(Code::LITERAL_RANGE, span, format!("{value} is no value of {to}"))
        .help(format!("{to} holds {lo} to {hi}")))
}

fn var_type(name: &Name, span: Span, env: &Env) -> Result<ScalarTy, Diagnostic> {
    let Some(entity) = env.lookup(name) else {
        return Err(unknown_name(name, span, env));
    };
    entity.scalar_ty().ok_or_else(|| {
        let d = Diagnostic::error(Code::WRONG_KIND, span, format!("`{name}` is {}, not a value", entity.describe()));
        match entity {
            Entity::Buffer(_) => {
                d.help(format!("expressions read no memory; load the element first: `let x = {name}[…];`"))
            }
            Entity::DevComm => d.help(format!("take a field: `{name}.lsa_rank`, `{name}.lsa_size`")),
            _ => d,
        }
    })
}

/// The diagnostic for a name that is not visible, with the nearest name that is.
pub fn unknown_name(name: &Name, span: Span, env: &Env) -> Diagnostic {
    let d = Diagnostic::error(Code::UNKNOWN_NAME, span, format!("`{name}` is not defined here"));
    match nearest(name.as_str(), env.visible().map(Name::as_str)) {
        Some(other) => d.help(format!("did you mean `{other}`?")),
        None => d,
    }
}

fn comm_type(name: &Name, field: CommField, span: Span, env: &Env) -> Result<ScalarTy, Diagnostic> {
    match env.lookup(name) {
        Some(Entity::DevComm) => Ok(match field {
            CommField::LsaRank => ScalarTy::LsaRank,
            CommField::Rank => ScalarTy::WorldRank,
            CommField::LsaSize | CommField::WorldSize => ScalarTy::Index,
        }),
        Some(other) => Err(Diagnostic::error(
            Code::WRONG_KIND,
            span,
            format!("`{name}` is {}; only the communicator has the field `{}`", other.describe(), field.as_str()),
        )),
        None => Err(unknown_name(name, span, env)),
    }
}

fn unary_type(op: UnOp, a: &Expr, span: Span, env: &Env) -> Result<ScalarTy, Diagnostic> {
    let ty = type_of(a, env)?;
    match op {
        UnOp::Not if ty == BOOL => Ok(BOOL),
        UnOp::Not => Err(Diagnostic::error(Code::TYPE_MISMATCH, span, format!("`!` wants bool, found {ty}"))),
        UnOp::Neg if ty == BOOL => {
            Err(Diagnostic::error(Code::TYPE_MISMATCH, span, "`-` wants a number, found bool".to_owned()))
        }
        UnOp::Neg => Ok(decay(ty)),
    }
}

/// Ranks become plain integers.
fn decay(ty: ScalarTy) -> ScalarTy {
    match ty {
        ScalarTy::Num(_) => ty,
        _ => ScalarTy::Index,
    }
}

fn is_lsa(ty: ScalarTy) -> bool {
    matches!(ty, ScalarTy::LsaRank | ScalarTy::LsaSum)
}

/// The common type of two operands, literals adapting to the other; `None` if there is none.
fn unify(a: &Expr, x: ScalarTy, b: &Expr, y: ScalarTy) -> Option<ScalarTy> {
    let (x, y) = (decay(x), decay(y));
    if x == y {
        return Some(x);
    }
    let adapts = |e: &Expr, to: ScalarTy| match to {
        ScalarTy::Num(d) if d.is_float() => literal_int(e).is_some() || is_float_literal(e),
        ScalarTy::Num(d) if d.is_int() => literal_int(e).is_some(),
        _ => false,
    };
    if adapts(a, y) {
        return Some(y);
    }
    if adapts(b, x) {
        return Some(x);
    }
    (x.is_integral() && y.is_integral()).then_some(ScalarTy::Index)
}

fn binary_type(op: BinOp, a: &Expr, b: &Expr, span: Span, env: &Env) -> Result<ScalarTy, Diagnostic> {
    let (x, y) = (type_of(a, env)?, type_of(b, env)?);
    if matches!(op, BinOp::LAnd | BinOp::LOr) {
        for (e, ty) in [(a, x), (b, y)] {
            if ty != BOOL {
                let message = format!("`{}` wants bool, found {ty}", op.as_str());
                return Err(Diagnostic::error(Code::TYPE_MISMATCH, e.span, message));
            }
        }
        return Ok(BOOL);
    }
    if (is_lsa(x) && y == ScalarTy::WorldRank) || (is_lsa(y) && x == ScalarTy::WorldRank) {
        return Err(rank_error(span, &format!("`{}` mixes an lsa_rank and a world_rank", op.as_str()))
            .help("ranks on the node and ranks of the job are numbered apart; `index(…)` makes a plain integer"));
    }
    let common = unify(a, x, b, y).ok_or_else(|| mismatch(span, &format!("`{}`", op.as_str()), x, y))?;
    literal_operand_fits(a, b, common)?;
    if op.is_comparison() {
        if common == BOOL && !matches!(op, BinOp::Eq | BinOp::Ne) {
            return Err(Diagnostic::error(
                Code::TYPE_MISMATCH,
                span,
                format!("`{}` wants numbers, found bool", op.as_str()),
            ));
        }
        return Ok(BOOL);
    }
    let bits = matches!(op, BinOp::And | BinOp::Or | BinOp::Xor);
    if common == BOOL && !bits {
        return Err(Diagnostic::error(
            Code::TYPE_MISMATCH,
            span,
            format!("`{}` wants numbers, found bool", op.as_str()),
        ));
    }
    let integers_only = bits || matches!(op, BinOp::Shl | BinOp::Shr);
    if integers_only && common != BOOL && !common.is_integral() {
        return Err(Diagnostic::error(
            Code::TYPE_MISMATCH,
            span,
            format!("`{}` wants integers, found {common}", op.as_str()),
        ));
    }
    Ok(match op {
        BinOp::Add | BinOp::Sub if is_lsa(x) != is_lsa(y) && (op == BinOp::Add || is_lsa(x)) => ScalarTy::LsaSum,
        BinOp::Rem if is_lsa(x) && env.is_lsa_size(b) => ScalarTy::LsaRank,
        // The width of a shift is that of its left operand.
        BinOp::Shl | BinOp::Shr if x != common && literal_int(a).is_none() => decay(x),
        _ => common,
    })
}

fn literal_operand_fits(a: &Expr, b: &Expr, common: ScalarTy) -> Result<(), Diagnostic> {
    let ScalarTy::Num(d) = common else { return Ok(()) };
    for e in [a, b] {
        if let Some(v) = literal_int(e) {
            literal_fits(v, d, e.span)?;
        }
    }
    Ok(())
}

fn cast_type(to: ScalarTy, from: ScalarTy, span: Span) -> Result<ScalarTy, Diagnostic> {
    match to {
        ScalarTy::LsaRank if from == ScalarTy::WorldRank => {
            Err(rank_error(span, "a world_rank is no lsa_rank").help("use `comm.lsa_rank`").help(OTHER_NODES))
        }
        ScalarTy::WorldRank if is_lsa(from) => {
            Err(rank_error(span, "an lsa_rank is no world_rank").help("use `comm.rank`"))
        }
        ScalarTy::LsaRank | ScalarTy::WorldRank if !from.is_integral() => {
            Err(Diagnostic::error(Code::TYPE_MISMATCH, span, format!("a rank is made from an integer, found {from}")))
        }
        ScalarTy::LsaSum => Ok(ScalarTy::Index),
        _ => Ok(to),
    }
}

/// Seed 001: "Only for peers on the same node (LSA). Cross-node goes through ccoGda."
const OTHER_NODES: &str = "only peers on the same node can be copied to or from; cross-node goes through GDA (mori's `ccoGda`), which a \
                           tile kernel does not drive";

fn rank_error(span: Span, message: &str) -> Diagnostic {
    Diagnostic::error(Code::RANK_TYPE, span, message)
}

fn mismatch(span: Span, what: &str, x: ScalarTy, y: ScalarTy) -> Diagnostic {
    let d = Diagnostic::error(Code::TYPE_MISMATCH, span, format!("{what} cannot combine {x} and {y}"));
    match (x, y) {
        (ScalarTy::Num(a), _) if a != DType::Bool && y != BOOL => d.help(format!("convert the other side: `{a}(…)`")),
        _ => d,
    }
}

/// The candidate with the least edits, if it is near enough to be meant.
pub(crate) fn nearest<'a>(text: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = 1 + text.len() / 4;
    let mut best: Option<(usize, &str)> = None;
    for c in candidates.take(256) {
        if c.len().abs_diff(text.len()) > limit || text.len() > 64 {
            continue;
        }
        let d = edit_distance(text.as_bytes(), c.as_bytes());
        if d <= limit && d < text.len() && best.is_none_or(|(b, _)| d < b) {
            best = Some((d, c));
        }
    }
    best.map(|(_, c)| c)
}

/// Insertions, deletions and replacements that turn `a` into `b`.
fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

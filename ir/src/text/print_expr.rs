//! Printing of expressions, with the fewest parentheses that keep the tree.

use crate::dtype::ScalarTy;
use crate::expr::{BinOp, Expr, ExprKind, UnOp};

/// The text of an expression; parsing it gives the same tree.
pub fn print_expr(expr: &Expr) -> String {
    let mut out = String::new();
    write(&mut out, expr, 0);
    out
}

/// Binding power of unary operators: above every binary one.
const UNARY: u8 = 10;

/// Writes `expr`; parenthesised if it binds weaker than `min`.
fn write(out: &mut String, expr: &Expr, min: u8) {
    match &expr.kind {
        // A negative literal is a unary minus to the parser, so it binds like one.
        ExprKind::Int(v) if *v < 0 && min > UNARY => out.push_str(&format!("({v})")),
        ExprKind::Int(v) => out.push_str(&v.to_string()),
        ExprKind::Float(bits) => out.push_str(&print_float(f64::from_bits(*bits))),
        ExprKind::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        ExprKind::Var(n) => out.push_str(n.as_str()),
        ExprKind::Special(s) => out.push_str(s.as_str()),
        ExprKind::Comm(n, f) => {
            out.push_str(n.as_str());
            out.push('.');
            out.push_str(f.as_str());
        }
        ExprKind::Unary(op, a) => {
            out.push(if *op == UnOp::Neg { '-' } else { '!' });
            // `-(5)` keeps the unary minus apart from the literal -5.
            if *op == UnOp::Neg && matches!(a.kind, ExprKind::Int(_) | ExprKind::Float(_)) {
                out.push('(');
                write(out, a, 0);
                out.push(')');
            } else {
                write(out, a, UNARY);
            }
        }
        ExprKind::Binary(op, a, b) => write_binary(out, *op, a, b, min),
        ExprKind::Select(c, a, b) => write_call(out, "select", &[c, a, b]),
        ExprKind::Cast(ty, a) => write_call(out, cast_name(*ty), &[a]),
    }
}

fn write_binary(out: &mut String, op: BinOp, a: &Expr, b: &Expr, min: u8) {
    let Some(p) = op.precedence() else {
        return write_call(out, op.as_str(), &[a, b]);
    };
    if p < min {
        out.push('(');
    }
    // Comparisons do not chain, so both sides must bind tighter.
    write(out, a, if op.is_comparison() { p + 1 } else { p });
    out.push(' ');
    out.push_str(op.as_str());
    out.push(' ');
    write(out, b, p + 1);
    if p < min {
        out.push(')');
    }
}

fn write_call(out: &mut String, name: &str, args: &[&Expr]) {
    out.push_str(name);
    out.push('(');
    for (i, a) in args.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write(out, a, 0);
    }
    out.push(')');
}

/// The function name that a conversion is written with.
fn cast_name(ty: ScalarTy) -> &'static str {
    match ty {
        ScalarTy::Num(d) => d.as_str(),
        ScalarTy::Index | ScalarTy::LsaSum => "index",
        ScalarTy::LsaRank => "lsa",
        ScalarTy::WorldRank => "world",
    }
}

/// Shortest text that reads back to the same bits; always with a point or an exponent, so that it is no integer.
fn print_float(v: f64) -> String {
    if v.is_nan() {
        "nan".to_owned()
    } else if v.is_infinite() {
        if v > 0.0 { "inf".to_owned() } else { "-inf".to_owned() }
    } else {
        format!("{v:?}")
    }
}

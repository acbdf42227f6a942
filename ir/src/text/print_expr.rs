//! Printing of expressions, with the fewest parentheses that keep the tree.

use crate::dtype::ScalarTy;
use crate::expr::{BinOp, Expr, ExprKind, UnOp};

/// The text of an expression; parsing it gives the same tree.
pub fn print_expr(expr: &Expr) -> String {
    let mut out = String::new();
    write_expr(&mut out, expr, 0);
    out
}

/// Binding power of unary operators: above every binary one.
const UNARY: u8 = 10;

/// `min` for products: `+` and weaker operators get parentheses.
pub(super) const PRODUCT: u8 = 9;

/// `min` for atoms: every operator gets parentheses.
pub(super) const TIGHT: u8 = UNARY + 1;

/// `min` under a minus: numbers get parentheses, too.
const LITERAL: u8 = UNARY + 2;

/// Writes `expr`; parenthesised if it binds weaker than `min`.
pub(super) fn write_expr(out: &mut String, expr: &Expr, min: u8) {
    match &expr.kind {
        // A negative literal is a unary minus to the parser, so it binds like one.
        ExprKind::Int(v) if min == LITERAL || *v < 0 && min > UNARY => out.push_str(&format!("({v})")),
        ExprKind::Int(v) => out.push_str(&v.to_string()),
        ExprKind::Float(bits) => write_float(out, *bits, min),
        ExprKind::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        ExprKind::Var(n) => out.push_str(n.as_str()),
        ExprKind::Special(s) => out.push_str(s.as_str()),
        ExprKind::Comm(n, f) => {
            out.push_str(n.as_str());
            out.push('.');
            out.push_str(f.as_str());
        }
        ExprKind::Unary(op, a) => {
            let parens = min > UNARY;
            if parens {
                out.push('(');
            }
            out.push(if *op == UnOp::Neg { '-' } else { '!' });
            // `-(5)` keeps the unary minus apart from the literal -5.
            let literal = matches!(a.kind, ExprKind::Int(_) | ExprKind::Float(_));
            write_expr(out, a, if *op == UnOp::Neg && literal { LITERAL } else { UNARY });
            if parens {
                out.push(')');
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
    write_expr(out, a, if op.is_comparison() { p + 1 } else { p });
    out.push(' ');
    out.push_str(op.as_str());
    out.push(' ');
    write_expr(out, b, p + 1);
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
        write_expr(out, a, 0);
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
fn write_float(out: &mut String, bits: u64, min: u8) {
    const SIGN: u64 = 1 << 63;
    const QUIET: u64 = 0x7ff8_0000_0000_0000;
    let value = f64::from_bits(bits & !SIGN);
    let negative = bits & SIGN != 0;
    let parens = min == LITERAL || negative && min > UNARY;
    if parens {
        out.push('(');
    }
    if negative {
        out.push('-');
    }
    if value.is_infinite() {
        out.push_str("inf");
    } else if !value.is_nan() {
        out.push_str(&format!("{value:?}"));
    } else if bits & !SIGN == QUIET {
        out.push_str("nan");
    } else {
        out.push_str(&format!("nan({:#x})", bits & !SIGN));
    }
    if parens {
        out.push(')');
    }
}

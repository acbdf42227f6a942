//! Text of run blocks.

use super::{buffer_at, expr, index_entry, list, push, range, string};
use crate::expr::ExprKind;
use crate::module::{Expect, ExpectValue, Run, RunRegion, RunValue};
use crate::name::Name;
use crate::text::print_expr;

/// Is `name` a value, not a buffer, on the right of this expectation: `rank`, `ranks`, a `let` or the `for` variable?
pub(in crate::text) fn names_value(run: &Run, expect: &Expect, name: &Name) -> bool {
    *name == "rank"
        || *name == "ranks"
        || run.settings.iter().any(|s| s.is_let && s.name == *name)
        || expect.each.as_ref().is_some_and(|(var, ..)| var == name)
}

/// `run kernel { … }` with its line end.
pub(super) fn run(out: &mut String, r: &Run) {
    push(out, format_args!("run {} {{", r.kernel));
    let mut body = String::new();
    if let Some(n) = r.ranks {
        push(&mut body, format_args!("    ranks = {n};\n"));
    }
    if let Some(targets) = &r.targets {
        body.push_str("    targets = ");
        list(&mut body, '[', targets, ']', |out, t| string(out, t));
        body.push_str(";\n");
    }
    for s in &r.settings {
        push(&mut body, format_args!("    {}{} = ", if s.is_let { "let " } else { "" }, s.name));
        match &s.value {
            RunValue::Expr(e) => expr(&mut body, e),
            RunValue::Iota => body.push_str("iota"),
            RunValue::Random { seed } => push(&mut body, format_args!("random(seed = {seed})")),
            RunValue::Npy(file) => {
                body.push_str("npy(");
                string(&mut body, file);
                body.push(')');
            }
        }
        body.push_str(";\n");
    }
    for e in &r.expects {
        expect(&mut body, r, e);
    }
    if !body.is_empty() {
        out.push('\n');
    }
    out.push_str(&body);
    out.push_str("}\n");
}

fn expect(out: &mut String, r: &Run, e: &Expect) {
    out.push_str("    expect ");
    run_region(out, &e.lhs);
    out.push_str(" == ");
    match &e.rhs {
        ExpectValue::Region(region) => run_region(out, region),
        // A bare name would be read as a buffer.
        ExpectValue::Value(value) => match &value.kind {
            ExprKind::Var(name) if !names_value(r, e, name) => push(out, format_args!("({name})")),
            _ => expr(out, value),
        },
    }
    if let Some((var, lo, hi)) = &e.each {
        push(out, format_args!(" for {var} in "));
        range(out, lo, hi);
    }
    if let Some(cond) = &e.cond {
        push(out, format_args!(" if {}", print_expr(cond)));
    }
    out.push_str(";\n");
}

fn run_region(out: &mut String, r: &RunRegion) {
    buffer_at(out, &r.buf, r.rank.as_ref());
    if !r.index.is_empty() {
        list(out, '[', &r.index, ']', index_entry);
    }
}

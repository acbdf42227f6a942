//! Canonical text of a module: what snapshots hold, and what the parser reads back to the same module.
//!
//! Four spaces a level, one statement a line, one blank line between items. A kernel's parameters stand on one line if
//! that line has at most `MAX_LINE` columns, else one a line. Anything that is the default is left out.

mod layout;
mod run;

use std::fmt::Write;

use layout::layout;
use run::run;

pub(super) use run::names_value;

use super::print_expr::{TIGHT, write_expr};
use crate::dim::Dim;
use crate::dtype::DType;
use crate::expr::Expr;
use crate::layout::Layout;
use crate::module::{BufferTy, Item, Kernel, Launch, Module, Param, ParamTy, Run, WarpWidth};
use crate::name::Name;
use crate::space::Scope;
use crate::stmt::{
    After, Alloc, AttrValue, Completion, CopyAttrs, Index, Place, PlaceIndex, PrimArg, PrimOp, Region, Source, Stmt,
    StmtKind, TileOp,
};

/// Longest line for the parameters of a kernel.
pub(super) const MAX_LINE: usize = 110;

/// The text of a module; parsing it gives the same module.
pub fn print(module: &Module) -> String {
    let mut out = String::new();
    for (i, item) in module.items.iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        match item {
            Item::Kernel(k) => kernel(&mut out, k),
            Item::Run(r) => run(&mut out, r),
        }
    }
    out
}

/// The text of one kernel.
pub fn print_kernel(k: &Kernel) -> String {
    let mut out = String::new();
    kernel(&mut out, k);
    out
}

/// The text of one run block.
pub fn print_run(r: &Run) -> String {
    let mut out = String::new();
    run(&mut out, r);
    out
}

/// The text of one statement, without indentation of its first line and without a line end.
pub fn print_stmt(s: &Stmt) -> String {
    let mut out = String::new();
    stmt(&mut out, s, 0);
    out.truncate(out.trim_end().len());
    out
}

/// The text of a layout.
pub fn print_layout(l: &Layout) -> String {
    let mut out = String::new();
    layout(&mut out, l);
    out
}

/// The text of a region.
pub fn print_region(r: &Region) -> String {
    let mut out = String::new();
    region(&mut out, r);
    out
}

/// The text of a place.
pub fn print_place(p: &Place) -> String {
    let mut out = String::new();
    place(&mut out, p);
    out
}

/// `f16[8, 16]`
pub fn print_dtype_shape(dtype: DType, shape: &[Dim]) -> String {
    let mut out = dtype.as_str().to_owned();
    dims(&mut out, shape);
    out
}

fn expr(out: &mut String, e: &Expr) {
    write_expr(out, e, 0);
}

fn list<T>(out: &mut String, open: char, items: &[T], close: char, item: impl Fn(&mut String, &T)) {
    out.push(open);
    for (i, x) in items.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        item(out, x);
    }
    out.push(close);
}

fn dims(out: &mut String, shape: &[Dim]) {
    list(out, '[', shape, ']', |out, d| expr(out, &d.to_expr()));
}

fn string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => push(out, format_args!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Appends formatted text; writing to a `String` cannot fail.
fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

fn kernel(out: &mut String, k: &Kernel) {
    let params: Vec<String> = k.params.iter().map(param).collect();
    let head = format!("kernel {}({})", k.name, params.join(", "));
    if head.chars().count() <= MAX_LINE {
        out.push_str(&head);
    } else {
        push(out, format_args!("kernel {}(\n    {}\n)", k.name, params.join(",\n    ")));
    }
    out.push('\n');
    if !k.wheres.is_empty() {
        let wheres: Vec<String> = k.wheres.iter().map(|w| format!("{}: {}", w.name, w.dtype)).collect();
        push(out, format_args!("    where({})\n", wheres.join(", ")));
    }
    out.push_str("    ");
    launch(out, &k.launch);
    out.push('\n');
    block(out, &k.body, 0);
    out.push('\n');
}

fn param(p: &Param) -> String {
    let mut out = String::new();
    push(&mut out, format_args!("{}{}: ", if p.hidden { "hidden " } else { "" }, p.name));
    match &p.ty {
        ParamTy::DevComm => out.push_str("devcomm"),
        ParamTy::Scalar(ty) => push(&mut out, format_args!("{ty}")),
        ParamTy::Buffer(BufferTy { space, dtype, shape, layout, align }) => {
            push(&mut out, format_args!("{space}<{dtype}>"));
            shape_layout_align(&mut out, shape, layout.as_ref(), *align);
        }
    }
    out
}

fn shape_layout_align(out: &mut String, shape: &[Dim], l: Option<&Layout>, align: Option<u32>) {
    dims(out, shape);
    if let Some(l) = l {
        out.push_str(" layout ");
        layout(out, l);
    }
    if let Some(align) = align {
        push(out, format_args!(" align {align}"));
    }
}

fn launch(out: &mut String, l: &Launch) {
    out.push_str("launch(grid = ");
    dims(out, &l.grid);
    out.push_str(", block = ");
    dims(out, &l.block);
    if let WarpWidth::Lanes(n) = l.warp {
        push(out, format_args!(", warp = {n}"));
    }
    out.push(')');
}

fn indent(out: &mut String, level: usize) {
    for _ in 0..level {
        out.push_str("    ");
    }
}

/// `{ … }`, the braces at `level`; no line end after the last.
fn block(out: &mut String, stmts: &[Stmt], level: usize) {
    if stmts.is_empty() {
        out.push_str("{}");
        return;
    }
    out.push_str("{\n");
    for s in stmts {
        indent(out, level + 1);
        stmt(out, s, level + 1);
    }
    indent(out, level);
    out.push('}');
}

/// A statement with its line end, but without the indentation of its first line.
fn stmt(out: &mut String, s: &Stmt, level: usize) {
    match &s.kind {
        StmtKind::For { var, lo, hi, unroll, body } => {
            push(out, format_args!("{}for {var} in ", if *unroll { "unroll " } else { "" }));
            range(out, lo, hi);
            out.push(' ');
            block(out, body, level);
        }
        StmtKind::If { cond, then, els } => if_stmt(out, cond, then, els.as_deref(), level),
        simple => {
            simple_stmt(out, simple);
            out.push(';');
        }
    }
    out.push('\n');
}

fn range(out: &mut String, lo: &Expr, hi: &Expr) {
    expr(out, lo);
    out.push_str("..");
    expr(out, hi);
}

fn if_stmt(out: &mut String, cond: &Expr, then: &[Stmt], els: Option<&[Stmt]>, level: usize) {
    out.push_str("if ");
    expr(out, cond);
    out.push(' ');
    block(out, then, level);
    match els {
        None => {}
        Some([Stmt { kind: StmtKind::If { cond, then, els }, .. }]) => {
            out.push_str(" else ");
            if_stmt(out, cond, then, els.as_deref(), level);
        }
        Some(els) => {
            out.push_str(" else ");
            block(out, els, level);
        }
    }
}

/// Statements without blocks, without the `;`.
fn simple_stmt(out: &mut String, kind: &StmtKind) {
    match kind {
        StmtKind::Let { name, ty, value } => {
            push(out, format_args!("let {name}"));
            if let Some(ty) = ty {
                push(out, format_args!(": {ty}"));
            }
            out.push_str(" = ");
            expr(out, value);
        }
        StmtKind::Load { name, from } => {
            push(out, format_args!("let {name} = "));
            place(out, from);
        }
        StmtKind::Store { to, value } => {
            place(out, to);
            out.push_str(" = ");
            expr(out, value);
        }
        StmtKind::Alloc(Alloc { name, space, dtype, shape, layout, align }) => {
            push(out, format_args!("{space} {name}: {dtype}"));
            shape_layout_align(out, shape, layout.as_ref(), *align);
        }
        StmtKind::Sync(scope) => push(out, format_args!("sync {scope}")),
        StmtKind::Assume(e) => {
            out.push_str("assume(");
            expr(out, e);
            out.push(')');
        }
        StmtKind::Signal { name, queue } => {
            push(out, format_args!("signal {name}"));
            if let Some(q) = queue {
                push(out, format_args!(" queue {q}"));
            }
        }
        StmtKind::WaitToken(name) => push(out, format_args!("wait {name}")),
        StmtKind::WaitSignal { signal, from, scope, expected } => {
            push(out, format_args!("wait {signal} from "));
            expr(out, from);
            if *scope != Scope::Cta {
                push(out, format_args!(" by {scope}"));
            }
            if let Some(e) = expected {
                out.push_str(", expected = ");
                expr(out, e);
            }
        }
        StmtKind::Tile(op) => tile_op(out, op),
        StmtKind::Prim(op) => prim_op(out, op),
        StmtKind::Posted { token, completion } => posted(out, token, completion),
        StmtKind::For { .. } | StmtKind::If { .. } => {} // printed by `stmt`
    }
}

fn posted(out: &mut String, token: &Name, completion: &Completion) {
    push(out, format_args!("{token} = posted "));
    match completion {
        Completion::Done => out.push_str("done"),
        Completion::Queue { peer, queue, scope } => {
            out.push_str("queue(");
            expr(out, peer);
            push(out, format_args!(", {queue}) by {scope}"));
        }
    }
}

fn tile_op(out: &mut String, op: &TileOp) {
    if let Some(token) = &op.token {
        push(out, format_args!("{token} = "));
    }
    out.push_str(op.kind.as_str());
    for (i, dst) in op.dsts.iter().enumerate() {
        out.push_str(if i == 0 { " " } else { ", " });
        region(out, dst);
    }
    out.push_str(" <-");
    for (i, src) in op.srcs.iter().enumerate() {
        out.push_str(if i == 0 { " " } else { ", " });
        match src {
            Source::Region(r) => region(out, r),
            Source::Value(e) => expr(out, e),
        }
    }
    push(out, format_args!(" by {}", op.scope));
    copy_attrs(out, &op.attrs);
}

fn copy_attrs(out: &mut String, attrs: &CopyAttrs) {
    let CopyAttrs { notify, carry_any, allow_unmeasured, after, variant, vec, plan } = attrs;
    if let Some(signal) = notify {
        push(out, format_args!(", notify {signal}"));
    }
    if *carry_any {
        out.push_str(", carry = any");
    }
    if *allow_unmeasured {
        out.push_str(", allow = unmeasured");
    }
    match after {
        None => {}
        Some(After::Flag(flag, value)) => {
            out.push_str(", after ");
            place(out, flag);
            out.push_str(" == ");
            expr(out, value);
        }
        Some(After::Signal { signal, from, expected }) => {
            push(out, format_args!(", after {signal} from "));
            expr(out, from);
            if let Some(e) = expected {
                out.push_str(", expected = ");
                expr(out, e);
            }
        }
    }
    if let Some(name) = variant {
        out.push_str(", variant = ");
        string(out, name);
    }
    if let Some(bits) = vec {
        push(out, format_args!(", vec = {bits}"));
    }
    if let Some(name) = plan {
        out.push_str(", plan = ");
        string(out, name);
    }
}

fn prim_op(out: &mut String, op: &PrimOp) {
    if let Some(result) = &op.result {
        push(out, format_args!("let {result} = "));
    }
    push(out, format_args!("{}(", op.op));
    let mut gap = "";
    for arg in &op.args {
        out.push_str(gap);
        gap = ", ";
        match arg {
            PrimArg::Expr(e) => expr(out, e),
            PrimArg::Place(p) => place(out, p),
        }
    }
    for (name, value) in &op.attrs {
        push(out, format_args!("{gap}{name} = "));
        gap = ", ";
        match value {
            AttrValue::Int(v) => push(out, format_args!("{v}")),
            AttrValue::Bool(b) => push(out, format_args!("{b}")),
            AttrValue::Sym(word) => out.push_str(word.as_str()),
        }
    }
    out.push(')');
}

fn buffer_at(out: &mut String, buf: &Name, rank: Option<&Expr>) {
    out.push_str(buf.as_str());
    if let Some(rank) = rank {
        out.push('@');
        write_expr(out, rank, TIGHT);
    }
}

fn place(out: &mut String, p: &Place) {
    buffer_at(out, &p.buf, p.rank.as_ref());
    match &p.index {
        PlaceIndex::Logical(index) => list(out, '[', index, ']', expr),
        PlaceIndex::Flat(e) => {
            out.push_str("![");
            expr(out, e);
            out.push(']');
        }
    }
}

fn region(out: &mut String, r: &Region) {
    buffer_at(out, &r.buf, r.rank.as_ref());
    if let Some(index) = &r.index {
        list(out, '[', index, ']', index_entry);
    }
}

fn index_entry(out: &mut String, index: &Index) {
    match index {
        Index::At(e) => expr(out, e),
        Index::Range(lo, hi) => {
            if let Some(lo) = lo {
                expr(out, lo);
            }
            out.push_str("..");
            if let Some(hi) = hi {
                expr(out, hi);
            }
        }
    }
}

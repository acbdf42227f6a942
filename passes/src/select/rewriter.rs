//! The hand that writes the statements of a copy.
//!
//! A `Rewriter` collects statements; names that it makes are new in the whole kernel. Everything it writes carries the
//! span of the copy, so that faults and line tables point at the author's line.

use std::collections::{BTreeMap, BTreeSet};

use tilewright_ir::{AttrValue, Block, Expr, Name, Place, PlaceIndex, PrimArg, PrimOp, Span, Stmt, StmtKind};

/// Names taken in a kernel; gives out new ones.
#[derive(Clone, Debug, Default)]
pub struct Names {
    taken: BTreeSet<Name>,
    /// For each hint, how many names were made of it: numbers below are taken and need not be tried again.
    made: BTreeMap<String, u32>,
}

impl Names {
    /// Marks a name as taken.
    pub fn take(&mut self, name: &Name) {
        self.taken.insert(name.clone());
    }

    /// A new name that starts with `hint`: `i`, `i_1`, `i_2`, … (the underscore keeps clear of dtypes such as `i8`).
    pub fn fresh(&mut self, hint: &str) -> Name {
        if !self.made.contains_key(hint) {
            self.made.insert(hint.to_owned(), 0);
            let name = Name::new(hint);
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
        let made = self.made.entry(hint.to_owned()).or_default();
        loop {
            *made += 1;
            let name = Name::from(format!("{hint}_{made}"));
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// Collects the statements of one copy.
#[derive(Debug)]
pub struct Rewriter<'a> {
    names: &'a mut Names,
    span: Span,
    out: Block,
}

impl<'a> Rewriter<'a> {
    /// A rewriter whose statements carry `span`.
    pub fn new(names: &'a mut Names, span: Span) -> Rewriter<'a> {
        Rewriter { names, span, out: Block::new() }
    }

    /// What was written.
    pub fn finish(self) -> Block {
        self.out
    }

    /// A name that is new in the kernel.
    pub fn fresh(&mut self, hint: &str) -> Name {
        self.names.fresh(hint)
    }

    /// Appends a statement.
    pub fn stmt(&mut self, kind: StmtKind) {
        self.out.push(Stmt::new(kind, self.span));
    }

    /// Appends a primitive op.
    pub fn prim(&mut self, op: &str, args: Vec<PrimArg>, attrs: Vec<(&str, AttrValue)>) {
        self.stmt(StmtKind::Prim(PrimOp::new(op, args, attrs)));
    }

    /// `let hint = value;` and the variable. Literals and variables are returned as they are.
    pub fn let_(&mut self, hint: &str, value: Expr) -> Expr {
        if matches!(value.kind, tilewright_ir::ExprKind::Int(_) | tilewright_ir::ExprKind::Var(_)) {
            return value;
        }
        let name = self.fresh(hint);
        let var = Expr::var(&name);
        self.stmt(StmtKind::Let { name, ty: None, value });
        var
    }

    /// `for hint in lo..hi { body }`; a single trip is written without a loop.
    pub fn for_(&mut self, hint: &str, lo: Expr, hi: Expr, unroll: bool, body: impl FnOnce(&mut Rewriter, Expr)) {
        if let (Some(l), Some(h)) = (lo.as_int(), hi.as_int()) {
            if h <= l {
                return;
            }
            if h - l == 1 {
                return body(self, Expr::int(l));
            }
        }
        let var = self.fresh(hint);
        let index = Expr::var(&var);
        let body = self.inner(|rw| body(rw, index));
        self.stmt(StmtKind::For { var, lo, hi, unroll, body });
    }

    /// `if cond { body }`.
    pub fn if_(&mut self, cond: Expr, body: impl FnOnce(&mut Rewriter)) {
        let then = self.inner(body);
        self.stmt(StmtKind::If { cond, then, els: None });
    }

    /// What `body` writes, as a block of its own.
    fn inner(&mut self, body: impl FnOnce(&mut Rewriter)) -> Block {
        let mut rw = Rewriter { names: self.names, span: self.span, out: Block::new() };
        body(&mut rw);
        rw.out
    }

    /// `buf@rank![flat]` as an operand; `flat` in elements.
    pub fn place(&self, buf: &Name, rank: Option<&Expr>, flat: Expr) -> Place {
        Place { buf: buf.clone(), rank: rank.cloned(), index: PlaceIndex::Flat(flat), span: self.span }
    }

    /// `vec.copy(dst, src, n = n)`, naturally aligned.
    pub fn vec_copy(&mut self, dst: Place, src: Place, n: i64) {
        self.prim("vec.copy", vec![PrimArg::Place(dst), PrimArg::Place(src)], vec![("n", AttrValue::Int(n))]);
    }
}

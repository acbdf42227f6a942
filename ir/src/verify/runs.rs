//! Run blocks. Rules:
//! - the kernel exists; there are 1 to 64 ranks;
//! - each setting names a parameter or `where` parameter, once; lets have names of their own;
//! - every scalar and every `where` parameter is set, with a value of its type; buffers may be left out;
//! - a `where` parameter has the same value on every rank;
//! - expectations compare regions of buffers with regions of the same dtype and extents, or with values; ranks after `@` and
//!   indices are integers.

use indexmap::IndexMap;

use super::duplicate;
use crate::diag::{Code, Diagnostic};
use crate::dim::Dim;
use crate::dtype::{DType, ScalarTy};
use crate::env::{Entity, Env};
use crate::expr::{Expr, ExprKind};
use crate::module::{BufferTy, Expect, ExpectValue, Kernel, ParamTy, Run, RunRegion, RunValue, Setting};
use crate::name::Name;
use crate::span::Span;
use crate::stmt::Index;
use crate::types::{expect_bool, expect_integral, is_float_literal, literal_fits, literal_int, nearest, type_of};

/// Ranks a run may have: what signals have slots for.
const MAX_RANKS: u32 = 64;

/// What a setting may set.
enum Target<'k> {
    Scalar(ScalarTy),
    Where(DType),
    Buffer(&'k BufferTy),
    DevComm,
}

struct RunChecker<'a> {
    run: &'a Run,
    kernel: &'a Kernel,
    env: Env,
    out: Vec<Diagnostic>,
    /// Lets and scalars whose value is wrong.
    poisoned: Vec<Name>,
    /// Value of each `where` parameter, where it is known.
    wheres: IndexMap<Name, Dim>,
}

pub(super) fn check(run: &Run, kernels: &IndexMap<&Name, &Kernel>) -> Vec<Diagnostic> {
    let Some(kernel) = kernels.get(&run.kernel) else {
        let d = Diagnostic::error(Code::UNKNOWN_NAME, run.span, format!("there is no kernel `{}`", run.kernel));
        let near = nearest(run.kernel.as_str(), kernels.keys().map(|n| n.as_str()));
        return vec![match near {
            Some(n) => d.help(format!("did you mean `{n}`?")),
            None => d,
        }];
    };
    let mut c =
        RunChecker { run, kernel, env: Env::for_run(), out: Vec::new(), poisoned: Vec::new(), wheres: IndexMap::new() };
    if let Some(n) = run.ranks
        && !(1..=MAX_RANKS).contains(&n)
    {
        let message = format!("run on {n} ranks");
        c.out.push(Diagnostic::error(Code::BAD_RUN, run.span, message).help(format!("1 to {MAX_RANKS} ranks")));
    }
    c.settings();
    for expect in &run.expects {
        c.expect(expect);
    }
    c.out
}

impl<'a> RunChecker<'a> {
    fn target(&self, name: &Name) -> Option<Target<'a>> {
        if let Some(w) = self.kernel.wheres.iter().find(|w| w.name == *name) {
            return Some(Target::Where(w.dtype));
        }
        let param = self.kernel.params.iter().find(|p| p.name == *name && !p.hidden)?;
        Some(match &param.ty {
            ParamTy::Scalar(ty) => Target::Scalar(*ty),
            ParamTy::Buffer(ty) => Target::Buffer(ty),
            ParamTy::DevComm => Target::DevComm,
        })
    }

    fn report(&mut self, code: Code, span: Span, message: String, help: &str) {
        let d = Diagnostic::error(code, span, message);
        self.out.push(if help.is_empty() { d } else { d.help(help) });
    }

    fn ok<T>(&mut self, e: &Expr, f: impl FnOnce(&Expr, &Env) -> Result<T, Diagnostic>) -> Option<T> {
        let mut poisoned = false;
        e.walk(&mut |x| {
            if let ExprKind::Var(n) = &x.kind {
                poisoned |= self.poisoned.contains(n);
            }
        });
        if poisoned {
            return None;
        }
        match f(e, &self.env) {
            Ok(v) => Some(v),
            Err(d) => {
                self.out.push(d);
                None
            }
        }
    }

    fn settings(&mut self) {
        let mut set: IndexMap<Name, Span> = IndexMap::new();
        for s in &self.run.settings {
            if s.is_let {
                self.let_setting(s);
                continue;
            }
            match self.target(&s.name) {
                None => {
                    let kernel = self.kernel.name.clone();
                    let params = self.kernel.params.iter().map(|p| p.name.as_str());
                    let all = params.chain(self.kernel.wheres.iter().map(|w| w.name.as_str()));
                    let help = nearest(s.name.as_str(), all).map(|n| format!("did you mean `{n}`?"));
                    let message = format!("kernel `{kernel}` has no parameter `{}`", s.name);
                    let help = help.unwrap_or_else(|| format!("to name a value write `let {} = …;`", s.name));
                    self.report(Code::UNKNOWN_NAME, s.span, message, &help);
                }
                Some(target) => {
                    if let Some(first) = set.get(&s.name) {
                        self.out.push(
                            Diagnostic::error(Code::DUPLICATE_NAME, s.span, format!("`{}` is set twice", s.name))
                                .also(*first, "first set here"),
                        );
                    }
                    set.insert(s.name.clone(), s.span);
                    self.setting(s, &target);
                }
            }
        }
        let scalars = self.kernel.params.iter().filter(|p| matches!(p.ty, ParamTy::Scalar(_)) && !p.hidden);
        let needed: Vec<Name> =
            scalars.map(|p| p.name.clone()).chain(self.kernel.wheres.iter().map(|w| w.name.clone())).collect();
        for name in needed {
            if !set.contains_key(&name) {
                let message = format!("`{name}` has no value in this run");
                self.report(Code::BAD_RUN, self.run.span, message, &format!("write `{name} = …;`"));
            }
        }
    }

    fn let_setting(&mut self, s: &Setting) {
        if let Some(first) = self.env.defined_at(&s.name) {
            self.out.push(duplicate(&s.name, s.span, first));
        } else if self.target(&s.name).is_some() {
            let message = format!("`{}` is a parameter of the kernel", s.name);
            self.report(Code::DUPLICATE_NAME, s.span, message, "leave `let` out to set it, or take another name");
        }
        match &s.value {
            RunValue::Expr(e) => {
                let ty = self.ok(e, type_of);
                self.bind(s, ty, Some(e));
            }
            _ => {
                self.report(Code::BAD_RUN, s.span, format!("`{}` is filled, but it is no buffer", s.name), "");
                self.bind(s, None, None);
            }
        }
    }

    fn bind(&mut self, s: &Setting, ty: Option<ScalarTy>, value: Option<&Expr>) {
        if ty.is_none() {
            self.poisoned.push(s.name.clone());
        }
        let value = value.and_then(|v| self.env.resolve(v));
        let entity = Entity::Let { ty: ty.unwrap_or(ScalarTy::Index), value, varying: false };
        self.env.bind_at(&s.name, entity, s.span);
    }

    fn setting(&mut self, s: &Setting, target: &Target<'_>) {
        let name = &s.name;
        match (target, &s.value) {
            (Target::DevComm, _) => {
                self.report(Code::WRONG_KIND, s.span, format!("`{name}` is the communicator"), "the run sets it up");
            }
            (Target::Buffer(ty), RunValue::Expr(e)) => {
                if let Some(found) = self.ok(e, type_of) {
                    self.value_fits(e, found, ScalarTy::Num(ty.dtype));
                }
            }
            (Target::Buffer(_), _) => {}
            (Target::Scalar(ty), RunValue::Expr(e)) => {
                let found = self.ok(e, type_of);
                if let Some(found) = found {
                    self.value_fits(e, found, *ty);
                }
                self.bind(s, found.map(|_| *ty), Some(e));
            }
            (Target::Where(d), RunValue::Expr(e)) => {
                let found = self.ok(e, type_of);
                if let Some(found) = found {
                    self.value_fits(e, found, ScalarTy::Num(*d));
                }
                self.bind(s, found.map(|_| ScalarTy::Num(*d)), Some(e));
                self.where_value(s, e);
            }
            (Target::Scalar(_) | Target::Where(_), _) => {
                let message = format!("`{name}` is filled, but it is no buffer");
                self.report(Code::BAD_RUN, s.span, message, "give it a value");
                self.bind(s, None, None);
            }
        }
    }

    fn where_value(&mut self, s: &Setting, e: &Expr) {
        let Some(resolved) = self.env.resolve(e) else { return };
        let mut by_rank = false;
        resolved.walk(&mut |x| by_rank |= matches!(&x.kind, ExprKind::Var(n) if n == "rank"));
        if by_rank {
            let message = format!("`{}` differs between ranks", s.name);
            self.report(Code::BAD_RUN, s.span, message, "`where` parameters are the same on every rank");
            return;
        }
        let value = Dim::from_expr(&resolved);
        if value.as_const().is_some_and(|v| v < 0) {
            self.report(Code::BAD_RUN, s.span, format!("`{}` is {value}", s.name), "extents are not negative");
        }
        self.wheres.insert(s.name.clone(), value);
    }

    /// May a value of type `found` be given to a parameter (or to elements) of type `want`? Integers convert.
    fn value_fits(&mut self, e: &Expr, found: ScalarTy, want: ScalarTy) {
        let literal = literal_int(e);
        let fits = match want {
            ScalarTy::Num(d) if d.is_int() => found.is_integral(),
            ScalarTy::Num(d) if d.is_float() => found == want || literal.is_some() || is_float_literal(e),
            ScalarTy::Num(_) => found == want || matches!(literal, Some(0 | 1)),
            ScalarTy::Index | ScalarTy::LsaSum => found.is_integral(),
            ScalarTy::LsaRank => found.is_integral() && found != ScalarTy::WorldRank,
            ScalarTy::WorldRank => found.is_integral(),
        };
        if !fits {
            let message = format!("expected {want}, found {found}");
            self.report(Code::TYPE_MISMATCH, e.span, message, &format!("convert it: `{want}(…)`"));
        } else if let (Some(v), ScalarTy::Num(d)) = (literal, want)
            && let Err(d) = literal_fits(v, d, e.span)
        {
            self.out.push(d);
        }
    }

    fn expect(&mut self, expect: &Expect) {
        self.env.enter();
        if let Some((var, lo, hi)) = &expect.each {
            self.ok(lo, expect_integral);
            self.ok(hi, expect_integral);
            if let Some(first) = self.env.defined_at(var) {
                self.out.push(duplicate(var, expect.span, first));
            }
            self.env.bind_loop(var, lo, hi, expect.span);
        }
        if let Some(cond) = &expect.cond {
            self.ok(cond, expect_bool);
        }
        let left = self.region(&expect.lhs);
        match &expect.rhs {
            ExpectValue::Value(e) => {
                if let (Some((dtype, _)), Some(found)) = (&left, self.ok(e, type_of)) {
                    self.value_fits(e, found, ScalarTy::Num(*dtype));
                }
            }
            ExpectValue::Region(r) => {
                let right = self.region(r);
                if let (Some((a, x)), Some((b, y))) = (left, right) {
                    self.compare(expect, (a, x), r, (b, y));
                }
            }
        }
        self.env.leave();
    }

    fn compare(&mut self, expect: &Expect, a: (DType, Option<Vec<Dim>>), r: &RunRegion, b: (DType, Option<Vec<Dim>>)) {
        let (lhs, rhs) = (&expect.lhs.buf, &r.buf);
        if a.0 != b.0 {
            let message = format!("`{lhs}` of {} is compared with `{rhs}` of {}", a.0, b.0);
            self.report(Code::DTYPE_MISMATCH, expect.span, message, "results are compared bit by bit");
            return;
        }
        if let (Some(x), Some(y)) = (a.1, b.1)
            && x != y
        {
            let message = format!("`{lhs}` of {x:?} is compared with `{rhs}` of {y:?}");
            self.report(Code::EXTENT_MISMATCH, expect.span, message, "compare regions of equal extents");
        }
    }

    /// Dtype, and the extents that are not 1 where they are known.
    fn region(&mut self, r: &RunRegion) -> Option<(DType, Option<Vec<Dim>>)> {
        let ty = match self.target(&r.buf) {
            Some(Target::Buffer(ty)) => ty,
            Some(_) => {
                self.report(Code::WRONG_KIND, r.span, format!("`{}` is no buffer", r.buf), "");
                return None;
            }
            None => {
                let buffers = self.kernel.params.iter().filter(|p| matches!(p.ty, ParamTy::Buffer(_)));
                let help =
                    nearest(r.buf.as_str(), buffers.map(|p| p.name.as_str())).map(|n| format!("did you mean `{n}`?"));
                let message = format!("kernel `{}` has no buffer `{}`", self.kernel.name, r.buf);
                self.report(Code::UNKNOWN_NAME, r.span, message, help.as_deref().unwrap_or(""));
                return None;
            }
        };
        if let Some(rank) = &r.rank {
            self.ok(rank, expect_integral);
        }
        if r.index.len() > ty.shape.len() {
            let message = format!("{} indices for `{}`, which has {} dimensions", r.index.len(), r.buf, ty.shape.len());
            self.report(Code::INDEX_COUNT, r.span, message, "");
            return None;
        }
        let mut extents = Some(Vec::new());
        for (i, extent) in ty.shape.iter().enumerate() {
            let extent = extent.substitute(&|a| match &a.kind {
                ExprKind::Var(n) => self.wheres.get(n).cloned(),
                _ => None,
            });
            let found = match r.index.get(i) {
                None => Some(extent),
                Some(index) => self.index(r, index, &extent),
            };
            extents = extents.zip(found).map(|(mut list, d)| {
                list.push(d);
                list
            });
        }
        let long = extents.map(|list| list.into_iter().filter(|d| !d.is(1)).collect());
        Some((ty.dtype, long))
    }

    fn index(&mut self, r: &RunRegion, index: &Index, extent: &Dim) -> Option<Dim> {
        let value = |c: &mut Self, e: &Expr| {
            c.ok(e, expect_integral)?;
            c.env.resolve(e).map(|e| Dim::from_expr(&e))
        };
        let (first, end) = match index {
            Index::At(e) => {
                let at = value(self, e)?;
                let end = at.add(&Dim::ONE);
                (at, end)
            }
            Index::Range(lo, hi) => {
                let lo = match lo {
                    Some(e) => value(self, e),
                    None => Some(Dim::ZERO),
                };
                let hi = match hi {
                    Some(e) => value(self, e),
                    None => Some(extent.clone()),
                };
                (lo?, hi?)
            }
        };
        let negative = first.as_const().is_some_and(|v| v < 0);
        let beyond = end.sub(extent).as_const().is_some_and(|v| v > 0);
        let empty = end.sub(&first).as_const().is_some_and(|v| v < 1);
        if negative || beyond || empty {
            let what = if empty { "is empty" } else { "is outside the buffer" };
            let message = format!("range {first}..{end} of `{}`, which has extent {extent} there, {what}", r.buf);
            self.report(Code::OUT_OF_BOUNDS, r.span, message, "");
        }
        Some(end.sub(&first))
    }
}

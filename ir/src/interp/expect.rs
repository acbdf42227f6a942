//! The expectations of a run block, checked on what a launch left behind.

use std::cell::Cell;

use super::addr::{FlatLayout, get_bits};
use super::num::{self, Class};
use super::scalar::{Scalar, Scope};
use super::{LaunchInput, LaunchOutput};
use crate::diag::{Code, Diagnostic};
use crate::dtype::{DType, ScalarTy};
use crate::expr::Expr;
use crate::module::{BufferTy, Expect, ExpectValue, Kernel, ParamTy, Run, RunRegion, RunValue};
use crate::name::Name;
use crate::stmt::Index;

/// Checks every expectation on every rank. Gives the number of bytes that were compared (rounded up for each region).
///
/// # Errors
/// `TW0037` with rank, index, expected and actual value of the first element that differs; `TW0028` for an expectation that
/// cannot be evaluated.
pub fn check_expects(
    run: &Run,
    kernel: &Kernel,
    input: &LaunchInput,
    output: &LaunchOutput,
) -> Result<u64, Diagnostic> {
    let mut bytes = 0u64;
    for rank in 0..input.ranks {
        let scope = scope_of_rank(run, kernel, rank, input)?;
        for expect in &run.expects {
            let at = |mut d: Diagnostic| {
                if d.span.is_none() {
                    d.span = expect.span;
                }
                d
            };
            let check = Check { kernel, input, output, rank, work: Cell::new(0) };
            bytes += check.each(expect, &scope).map_err(at)?;
        }
    }
    Ok(bytes)
}

/// Lets and scalar settings of one rank.
fn scope_of_rank(run: &Run, kernel: &Kernel, rank: u32, input: &LaunchInput) -> Result<Scope, Diagnostic> {
    let mut scope = Scope::for_run(rank, input.ranks);
    for (name, value) in &input.wheres {
        scope.set(name, Scalar { ty: ScalarTy::Index, bits: *value as u64 });
    }
    for s in &run.settings {
        let RunValue::Expr(e) = &s.value else { continue };
        if s.is_let {
            scope.set(&s.name, scope.eval(e)?);
        } else if let Some(ParamTy::Scalar(ty)) = kernel.params.iter().find(|p| p.name == s.name).map(|p| &p.ty) {
            scope.set(&s.name, scope.eval_as(e, *ty)?);
        }
    }
    Ok(scope)
}

/// What one side of an expectation needs.
struct Check<'a> {
    kernel: &'a Kernel,
    input: &'a LaunchInput,
    output: &'a LaunchOutput,
    rank: u32,
    /// Elements compared so far for one expectation, and values of its loop.
    work: Cell<u64>,
}

/// Work of one expectation on one rank for each statement that a launch may run: elements are compared much faster than
/// statements are executed.
const WORK_PER_STEP: u64 = 4;

/// Work that an expectation may always do: a limit on the statements of a launch is not meant for it.
const LEAST_WORK: u64 = 1 << 22;

/// A region with its numbers: a box of a buffer of one rank.
struct Box<'a> {
    name: &'a Name,
    rank: usize,
    dtype: DType,
    layout: FlatLayout,
    shape: Vec<i64>,
    bounds: Vec<(i64, i64)>,
    bytes: &'a [u8],
}

impl Box<'_> {
    fn count(&self) -> i64 {
        self.bounds.iter().map(|(lo, hi)| (hi - lo).max(0)).product()
    }

    /// Extents other than 1, which are what two regions must share.
    fn extents(&self) -> Vec<i64> {
        self.bounds.iter().map(|(lo, hi)| hi - lo).filter(|e| *e != 1).collect()
    }

    /// Logical index of the `k`-th element of the box, row-major.
    fn index(&self, k: i64) -> Vec<i64> {
        let mut rest = k;
        let mut out = vec![0; self.bounds.len()];
        for (slot, (lo, hi)) in out.iter_mut().zip(&self.bounds).rev() {
            *slot = lo + rest % (hi - lo);
            rest /= hi - lo;
        }
        out
    }

    fn bits(&self, index: &[i64]) -> Option<u64> {
        let x = index.iter().zip(&self.shape).fold(0, |x, (i, e)| x * e + i);
        get_bits(self.bytes, self.dtype, self.layout.position(x))
    }
}

impl Check<'_> {
    fn each(&self, expect: &Expect, scope: &Scope) -> Result<u64, Diagnostic> {
        let Some((var, lo, hi)) = &expect.each else { return self.one(expect, scope) };
        let (lo, hi) = (index_value(scope, lo)?, index_value(scope, hi)?);
        let mut bytes = 0;
        let mut inner = scope.clone();
        for v in lo..hi {
            self.spend(1, expect)?;
            inner.set(var, Scalar { ty: ScalarTy::Index, bits: v as u64 });
            bytes += self.one(expect, &inner)?;
        }
        Ok(bytes)
    }

    /// Takes note of so much work.
    fn spend(&self, work: u64, expect: &Expect) -> Result<(), Diagnostic> {
        self.work.set(self.work.get().saturating_add(work));
        let limit = self.input.max_steps.saturating_mul(WORK_PER_STEP).max(LEAST_WORK);
        if self.work.get() <= limit {
            return Ok(());
        }
        let message = format!("this compares more than {limit} elements and values on rank {}", self.rank);
        Err(Diagnostic::error(Code::TOO_LARGE, expect.span, message)
            .help("compare a smaller part; `--max-steps` of `tilewright run` raises the limit"))
    }

    fn one(&self, expect: &Expect, scope: &Scope) -> Result<u64, Diagnostic> {
        if let Some(cond) = &expect.cond
            && scope.eval_as(cond, ScalarTy::Num(DType::Bool))?.bits == 0
        {
            return Ok(0);
        }
        let lhs = self.region(&expect.lhs, scope)?;
        let rhs = match &expect.rhs {
            ExpectValue::Region(r) => Ok(self.region(r, scope)?),
            ExpectValue::Value(e) => Err(scope.eval_as(e, ScalarTy::Num(lhs.dtype))?.bits),
        };
        if let Ok(r) = &rhs
            && (r.dtype != lhs.dtype || r.extents() != lhs.extents())
        {
            let side = |b: &Box<'_>| format!("`{}` is {} {:?}", b.name, b.dtype, b.extents());
            return Err(Diagnostic::error(Code::BAD_RUN, expect.span, format!("{}, {}", side(&lhs), side(r))));
        }
        self.spend(u64::try_from(lhs.count()).unwrap_or(0), expect)?;
        for k in 0..lhs.count() {
            let at = lhs.index(k);
            let got = lhs.bits(&at);
            let want = match &rhs {
                Ok(r) => r.bits(&r.index(k)),
                Err(bits) => Some(mask(lhs.dtype, *bits)),
            };
            if got != want || got.is_none() {
                return Err(self.mismatch(expect, &lhs, &at, want, got));
            }
        }
        Ok(lhs.dtype.bytes_for(lhs.count()).unwrap_or(0) as u64)
    }

    fn mismatch(&self, expect: &Expect, b: &Box<'_>, at: &[i64], want: Option<u64>, got: Option<u64>) -> Diagnostic {
        let shown = |bits: Option<u64>| bits.map_or("nothing".to_owned(), |bits| show(b.dtype, bits));
        let index = at.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let place = if b.rank == self.rank as usize {
            format!("`{}[{index}]` on rank {}", b.name, self.rank)
        } else {
            format!("`{}@{}[{index}]`, checked by rank {},", b.name, b.rank, self.rank)
        };
        let message = format!("{place} is {}, expected {}", shown(got), shown(want));
        Diagnostic::error(Code::RUN_MISMATCH, expect.span, message)
    }

    fn region<'s>(&'s self, region: &'s RunRegion, scope: &Scope) -> Result<Box<'s>, Diagnostic> {
        let bad = |message: String| Diagnostic::error(Code::BAD_RUN, region.span, message);
        let name = &region.buf;
        let ty: &BufferTy = match self.kernel.params.iter().find(|p| p.name == *name).map(|p| &p.ty) {
            Some(ParamTy::Buffer(ty)) => ty,
            _ => return Err(bad(format!("`{name}` is no buffer of kernel `{}`", self.kernel.name))),
        };
        let rank = match &region.rank {
            Some(e) => index_value(scope, e)?,
            None => i64::from(self.rank),
        };
        let rank = usize::try_from(rank).ok().filter(|r| *r < self.output.buffers.len());
        let rank = rank.ok_or_else(|| bad(format!("`{name}@…` names no rank of {}", self.input.ranks)))?;
        let bytes = self.output.buffers[rank].get(name).ok_or_else(|| bad(format!("`{name}` has no contents")))?;
        let lookup = |n: &Name| self.input.wheres.get(n).copied();
        let mut shape = Vec::with_capacity(ty.shape.len());
        for d in &ty.shape {
            shape.push(super::eval_dim(d, &lookup).ok_or_else(|| bad(format!("extent `{d}` is not known")))?);
        }
        if region.index.len() > shape.len() {
            return Err(bad(format!("`{name}` has {} dimensions", shape.len())));
        }
        let mut bounds: Vec<(i64, i64)> = shape.iter().map(|e| (0, *e)).collect();
        for ((bound, index), extent) in bounds.iter_mut().zip(&region.index).zip(&shape) {
            let end = |e: &Option<Expr>, d: i64| e.as_ref().map_or(Ok(d), |e| index_value(scope, e));
            *bound = match index {
                Index::At(e) => index_value(scope, e).map(|i| (i, i.saturating_add(1)))?,
                Index::Range(lo, hi) => (end(lo, 0)?, end(hi, *extent)?),
            };
            if bound.0 < 0 || bound.1 > *extent || bound.0 > bound.1 {
                return Err(bad(format!("`{name}` has no elements {}..{} of {extent}", bound.0, bound.1)));
            }
        }
        let layout = FlatLayout::new(&ty.layout(), &lookup)?;
        Ok(Box { name, rank, dtype: ty.dtype, layout, shape, bounds, bytes })
    }
}

fn index_value(scope: &Scope, e: &Expr) -> Result<i64, Diagnostic> {
    Ok(scope.eval_as(e, ScalarTy::Index)?.bits as i64)
}

fn mask(dtype: DType, bits: u64) -> u64 {
    if dtype.bits() == 64 { bits } else { bits & ((1 << dtype.bits()) - 1) }
}

/// A value for a message; floats with their bits, because different bits may print alike.
fn show(dtype: DType, bits: u64) -> String {
    match Class::of_dtype(dtype) {
        Class::Float(d) => format!("{} ({bits:#x})", num::to_f64(d, bits)),
        Class::Int { signed: true, .. } => (num::canonical(dtype, bits) as i64).to_string(),
        _ => bits.to_string(),
    }
}

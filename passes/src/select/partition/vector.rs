//! How wide an access may be.
//!
//! `n` elements move as one access where they are neighbours in memory (or registers) on every side, and every address
//! that the access can have is a multiple of `n` elements on every side: the begin, and the stride of every digit that is
//! left, those that thread coordinates multiply included. A swizzle keeps groups of `2^per_element` elements together.

use tilewright_ir::facts::Facts;
use tilewright_ir::{Dim, Space};
use tilewright_target::{Target, VectorSpace};

use super::walk::{Term, Value, Walk};
use crate::select::variant::{Operand, Reject};

/// Widths of an access in bits, widest first (`vec.copy`).
const WIDTHS: [u32; 5] = [128, 64, 32, 16, 8];

/// What an operand allows, beside its layout.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    /// Its name.
    pub name: String,
    /// Alignment of its first element in bytes.
    pub align: u32,
    /// Widest access in bits.
    pub max_bits: u32,
    /// Bits of an element.
    pub bits: u32,
}

impl Limit {
    /// The limits of an operand on a target.
    pub(super) fn of(op: &Operand, target: &Target) -> Limit {
        let widest = |space| 8 * target.max_vector_bytes(space);
        let (align, max_bits) = match op.space() {
            // Shared and local buffers are ours to align: 16 bytes are always to be had.
            Space::Shared => (op.ty.align_bytes().max(16), widest(VectorSpace::Shared)),
            Space::Local => (op.ty.align_bytes().max(16), 128),
            Space::Global | Space::Window => (op.ty.align_bytes(), widest(VectorSpace::Global)),
        };
        Limit { name: op.buf.to_string(), align, max_bits, bits: op.dtype().bits() }
    }

    /// A number of elements in bytes, or the expression.
    pub(super) fn bytes(&self, elements: &Dim) -> String {
        let bits = i64::from(self.bits);
        match elements.as_const().and_then(|v| v.checked_mul(bits)) {
            Some(b) if b % 8 == 0 => format!("{} B", b / 8),
            Some(b) => format!("{b} bits"),
            None => format!("{elements} elements"),
        }
    }
}

/// Widths in bits that hold whole elements and that all sides allow, widest first; for elements of less than a byte only
/// whole bytes.
pub(super) fn widths(limits: &[Limit]) -> Vec<u32> {
    let fits = |w: &u32| limits.iter().all(|l| *w >= l.bits && w.is_multiple_of(l.bits) && *w <= l.max_bits);
    WIDTHS.into_iter().filter(fits).collect()
}

/// The walk with accesses of `n` elements.
///
/// # Errors
/// The rule that keeps `n` elements from moving as one.
pub(super) fn carve(walk: &Walk, n: i64, limits: &[Limit], facts: &Facts) -> Result<Walk, Reject> {
    let mut out = walk.clone();
    out.n = n;
    take_run(&mut out, n, limits, facts)?;
    for (side, limit) in out.sides.iter().zip(limits) {
        let bytes = (n * i64::from(limit.bits) + 7) / 8;
        let need = u32::try_from(bytes).unwrap_or(u32::MAX);
        let misaligned = |what: &str, d: &Dim| Reject::Misaligned {
            what: format!("{what} of `{}`", limit.name),
            value: limit.bytes(d),
            need,
        };
        if n > 1 && i64::from(limit.align) % bytes != 0 {
            let value = format!("{} B", limit.align);
            return Err(Reject::Misaligned { what: format!("alignment of `{}`", limit.name), value, need });
        }
        if let Some(s) = side.swizzle
            && n > s.vector_elems()
        {
            let why = format!("has a swizzle that keeps {} elements together, {n} are wanted", s.vector_elems());
            return Err(Reject::Layout { operand: limit.name.clone(), why });
        }
        if !facts.is_multiple(&side.base, n) {
            return Err(misaligned("base offset", &side.base));
        }
        for (stride, by_thread) in strides(&out, side) {
            if !facts.is_multiple(&stride, n) {
                return Err(misaligned(if by_thread { "thread stride" } else { "stride" }, &stride));
            }
        }
    }
    Ok(out)
}

/// Strides of all digits of a side, and whether threads differ in the digit.
fn strides(walk: &Walk, side: &super::walk::Side) -> Vec<(Dim, bool)> {
    let mut out = Vec::new();
    for term in &side.terms {
        match term {
            Term::Digit { var, stride } => out.push((stride.clone(), walk.vars[*var].value != Value::Loop)),
            Term::Mixed { parts, .. } => out.extend(parts.iter().map(|p| (p.stride.clone(), false))),
        }
    }
    out
}

/// Takes `n` neighbours off the digits.
fn take_run(walk: &mut Walk, n: i64, limits: &[Limit], facts: &Facts) -> Result<(), Reject> {
    let (mut rest, mut run) = (n, Dim::ONE);
    while rest > 1 {
        let Some(var) = next_in_run(walk, &run) else { return Err(broken(walk, &run, n, limits)) };
        let extent = walk.vars[var].extent.clone();
        match extent.as_const() {
            Some(e) if e > 0 && rest % e == 0 => {
                rest /= e;
                walk.drop_var(var);
            }
            _ if facts.is_multiple(&extent, rest) => {
                let inner = walk.split(var, &Dim::Const(rest), facts);
                walk.drop_var(inner);
                rest = 1;
            }
            _ => {
                let length = run.mul(&extent);
                let operand = limits.first().map_or_else(String::new, |l| l.name.clone());
                let why = format!("has runs of {length} elements, which is not a multiple of {n}");
                return Err(Reject::NotContiguous { operand, why });
            }
        }
        run = run.mul(&extent);
    }
    Ok(())
}

/// The loop digit that goes on where a run of `run` elements ends, on every side.
fn next_in_run(walk: &Walk, run: &Dim) -> Option<usize> {
    let goes_on = |v: usize| walk.sides.iter().all(|s| s.stride(v).as_ref() == Some(run));
    let is_loop = |v: usize| walk.vars[v].value == Value::Loop && !walk.vars[v].extent.is(1);
    walk.order.iter().rev().copied().find(|v| is_loop(*v) && goes_on(*v))
}

/// Names the side whose neighbours are apart.
fn broken(walk: &Walk, run: &Dim, n: i64, limits: &[Limit]) -> Reject {
    let has_run = |k: usize| {
        let is_loop = |v: &usize| walk.vars[*v].value == Value::Loop;
        walk.order.iter().filter(|v| is_loop(v)).any(|v| walk.sides[k].stride(*v).as_ref() == Some(run))
    };
    let culprit = (0..walk.sides.len()).find(|k| !has_run(*k)).unwrap_or(0);
    let operand = limits.get(culprit).map_or_else(String::new, |l| l.name.clone());
    let why = format!("has {run} contiguous elements in a row (in the order of the other side), {n} are wanted");
    Reject::NotContiguous { operand, why }
}

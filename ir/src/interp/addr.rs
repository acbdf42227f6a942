//! Layouts with every number known: where an element lives, and how its bits are read and written.
//!
//! A `FlatLayout` is a `Layout` at one launch. It is written apart from the layout algebra on purpose: the oracle should
//! not share the algebra's faults. Positions are in elements of the buffer's own memory, never bytes.

use crate::diag::{Code, Diagnostic};
use crate::dim::Dim;
use crate::dtype::DType;
use crate::expr::{BinOp, Expr, ExprKind, UnOp};
use crate::layout::{Axis, Iter, Layout, Swizzle};
use crate::module::BufferTy;
use crate::name::Name;
use crate::span::Span;

/// Where a digit of the index goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// Into the memory position.
    Memory,
    /// Into the coordinate on the thread axis with this number in `FlatLayout::thread_axes`.
    Thread(usize),
}

/// A digit with its numbers known.
#[derive(Clone, Copy, Debug)]
struct Digit {
    extent: i64,
    stride: i64,
    target: Target,
}

/// A layout with every number known.
#[derive(Clone, Debug)]
pub struct FlatLayout {
    shard: Vec<Digit>,
    replica: Vec<Digit>,
    /// Thread axes in use, in order of appearance, each with its constant offset.
    thread_axes: Vec<(Axis, i64)>,
    memory_offset: i64,
    swizzle: Option<Swizzle>,
}

/// Value of a symbolic integer, given the values of variables. `None` if a variable is unknown or an atom is not an integer
/// expression over variables. Arithmetic wraps; division by zero gives 0.
pub fn eval_dim(dim: &Dim, lookup: &dyn Fn(&Name) -> Option<i64>) -> Option<i64> {
    let mut sum = 0i64;
    for (atoms, factor) in dim.monomials() {
        let mut term = factor;
        for atom in &atoms {
            term = term.wrapping_mul(eval_int(atom, lookup)?);
        }
        sum = sum.wrapping_add(term);
    }
    Some(sum)
}

/// The integer expressions that may stand in shapes and layouts.
fn eval_int(expr: &Expr, lookup: &dyn Fn(&Name) -> Option<i64>) -> Option<i64> {
    Some(match &expr.kind {
        ExprKind::Int(v) => *v,
        ExprKind::Var(name) => lookup(name)?,
        ExprKind::Unary(UnOp::Neg, a) => eval_int(a, lookup)?.wrapping_neg(),
        ExprKind::Cast(_, a) => eval_int(a, lookup)?,
        ExprKind::Binary(op, a, b) => {
            let (x, y) = (eval_int(a, lookup)?, eval_int(b, lookup)?);
            match op {
                BinOp::Add => x.wrapping_add(y),
                BinOp::Sub => x.wrapping_sub(y),
                BinOp::Mul => x.wrapping_mul(y),
                BinOp::Div if y == 0 => 0,
                BinOp::Div => x.wrapping_div(y),
                BinOp::Rem if y == 0 => 0,
                BinOp::Rem => x.wrapping_rem(y),
                BinOp::Min => x.min(y),
                BinOp::Max => x.max(y),
                BinOp::And => x & y,
                BinOp::Or => x | y,
                BinOp::Xor => x ^ y,
                BinOp::Shl => x.wrapping_shl(y as u32),
                BinOp::Shr => x.wrapping_shr(y as u32),
                _ => return None,
            }
        }
        _ => return None,
    })
}

/// Elements of storage that a buffer needs: one past the largest position that its layout reaches, a whole number of
/// swizzle atoms. 0 for a buffer without elements. For a window: one rank's part; for `local`: one thread's.
///
/// # Errors
/// `TW0011` for layouts that have no place in memory here (unknown axes, negative positions), `TW0039` on overflow.
pub fn storage_elements(ty: &BufferTy, lookup: &dyn Fn(&Name) -> Option<i64>) -> Result<i64, Diagnostic> {
    FlatLayout::new(&ty.layout(), lookup)?.storage()
}

/// Bytes of storage that a buffer needs, rounded up to whole bytes.
///
/// # Errors
/// As `storage_elements`.
pub fn storage_bytes(ty: &BufferTy, lookup: &dyn Fn(&Name) -> Option<i64>) -> Result<i64, Diagnostic> {
    let elements = storage_elements(ty, lookup)?;
    ty.dtype.bytes_for(elements).ok_or_else(too_large)
}

fn too_large() -> Diagnostic {
    Diagnostic::error(Code::TOO_LARGE, Span::NONE, "buffer does not fit the address space")
}

fn bad_layout(message: String) -> Diagnostic {
    Diagnostic::error(Code::BAD_LAYOUT, Span::NONE, message)
}

impl FlatLayout {
    /// Puts the numbers into a layout.
    ///
    /// # Errors
    /// `TW0011` if a number is not known at launch, is negative where it may not be, or an axis is neither `m` nor a thread axis.
    pub fn new(layout: &Layout, lookup: &dyn Fn(&Name) -> Option<i64>) -> Result<FlatLayout, Diagnostic> {
        let number = |dim: &Dim| {
            eval_dim(dim, lookup)
                .ok_or_else(|| bad_layout(format!("layout needs `{dim}`, which is not known at launch")))
        };
        let mut flat = FlatLayout {
            shard: Vec::with_capacity(layout.tile.shard.len()),
            replica: Vec::new(),
            thread_axes: Vec::new(),
            memory_offset: 0,
            swizzle: layout.swizzle,
        };
        let digits = |flat: &mut FlatLayout, iters: &[Iter]| -> Result<Vec<Digit>, Diagnostic> {
            iters
                .iter()
                .map(|it| {
                    let extent = number(&it.extent)?;
                    if extent < 0 {
                        return Err(bad_layout(format!("layout has the extent {extent}")));
                    }
                    Ok(Digit { extent, stride: number(&it.stride)?, target: flat.target(&it.axis)? })
                })
                .collect()
        };
        flat.shard = digits(&mut flat, &layout.tile.shard)?;
        flat.replica = digits(&mut flat, &layout.tile.replica)?;
        for (axis, dim) in &layout.tile.offset {
            let value = number(dim)?;
            match flat.target(axis)? {
                Target::Memory => flat.memory_offset = flat.memory_offset.wrapping_add(value),
                Target::Thread(k) => flat.thread_axes[k].1 += value,
            }
        }
        Ok(flat)
    }

    fn target(&mut self, axis: &Axis) -> Result<Target, Diagnostic> {
        if *axis == Axis::M {
            return Ok(Target::Memory);
        }
        if !axis.is_thread() {
            return Err(bad_layout(format!("axis `{axis}` has no place in this memory")));
        }
        if let Some(k) = self.thread_axes.iter().position(|(a, _)| a == axis) {
            return Ok(Target::Thread(k));
        }
        self.thread_axes.push((axis.clone(), 0));
        Ok(Target::Thread(self.thread_axes.len() - 1))
    }

    /// Does the layout say which thread holds an element?
    pub fn has_threads(&self) -> bool {
        !self.thread_axes.is_empty()
    }

    /// Number of logical elements.
    pub fn elements(&self) -> i64 {
        self.shard.iter().fold(1i64, |p, d| p.saturating_mul(d.extent))
    }

    /// One past the largest position reached, rounded up to whole swizzle atoms; see `storage_elements`.
    ///
    /// # Errors
    /// `TW0011` if a position may be negative, `TW0039` on overflow.
    pub fn storage(&self) -> Result<i64, Diagnostic> {
        let digits = || self.shard.iter().chain(&self.replica);
        if digits().any(|d| d.extent == 0) {
            return Ok(0);
        }
        let (mut lo, mut hi) = (i128::from(self.memory_offset), i128::from(self.memory_offset));
        for d in digits().filter(|d| d.target == Target::Memory) {
            let reach = i128::from(d.extent - 1) * i128::from(d.stride);
            if reach < 0 {
                lo += reach;
            } else {
                hi += reach;
            }
        }
        if lo < 0 {
            return Err(bad_layout(format!("layout reaches the position {lo}, before the start of the buffer")));
        }
        let mut size = hi + 1;
        if let Some(s) = self.swizzle {
            let changed = s.per_element + s.swizzle_len + if s.inner { 0 } else { s.atom_len };
            let atom = 1i128 << changed.min(62);
            size = (size + atom - 1) / atom * atom;
        }
        i64::try_from(size).map_err(|_| too_large())
    }

    /// A position that two elements share, or replicas of them; `None` if there is none, or if that is too much to find out
    /// (beyond 2^26 places). For layouts without thread axes.
    pub fn shared_place(&self, storage: i64) -> Option<i64> {
        let mut digits: Vec<(i128, i128)> = Vec::new();
        for d in self.shard.iter().chain(&self.replica).filter(|d| d.extent > 1) {
            digits.push((i128::from(d.stride).abs(), i128::from(d.extent)));
        }
        digits.sort_unstable();
        let mut reach = 0i128;
        let apart = digits.iter().all(|(stride, extent)| {
            let fine = *stride > reach;
            reach = reach.saturating_add((extent - 1).saturating_mul(*stride));
            fine
        });
        let places = digits.iter().fold(1i128, |p, (_, extent)| p.saturating_mul(*extent));
        if apart || places > 1 << 26 || self.has_threads() {
            return None;
        }
        let mut taken = vec![0u64; usize::try_from(storage).ok()?.div_ceil(64)];
        let mut found = None;
        for x in 0..self.elements() {
            self.places(x, |_, at| {
                let (word, bit) = (at as usize / 64, 1u64 << (at % 64));
                if taken.get(word).is_some_and(|w| w & bit != 0) {
                    found = found.or(Some(at));
                }
                if let Some(w) = taken.get_mut(word) {
                    *w |= bit;
                }
            });
            if found.is_some() {
                break;
            }
        }
        found
    }

    /// Position of the element with row-major flat index `x` in the buffer's memory (for `local`: the owner's registers), its
    /// first place where there are replicas. `x` outside the elements gives some position outside or inside the storage.
    pub fn position(&self, x: i64) -> i64 {
        self.swizzled(self.raw_position(x))
    }

    fn raw_position(&self, x: i64) -> i64 {
        let mut m = self.memory_offset;
        self.for_digits(x, |d, value| {
            if d.target == Target::Memory {
                m = m.wrapping_add(value.wrapping_mul(d.stride));
            }
        });
        m
    }

    /// Splits `x` into digits, last first; the first digit is not reduced.
    fn for_digits(&self, x: i64, mut f: impl FnMut(&Digit, i64)) {
        let mut rest = x;
        for (k, d) in self.shard.iter().enumerate().rev() {
            let value = if k == 0 || d.extent == 0 { rest } else { rest % d.extent };
            if d.extent != 0 {
                rest /= d.extent;
            }
            f(d, value);
        }
    }

    fn swizzled(&self, m: i64) -> i64 {
        let Some(s) = self.swizzle else { return m };
        let (p, len, atom) = (s.per_element.min(62), s.swizzle_len.min(62), s.atom_len.min(62));
        let mask = (1i64 << len) - 1;
        let mut q = m >> p;
        if s.inner {
            q ^= (q & mask.wrapping_shl(atom)) >> atom;
        } else {
            q ^= (q & mask).wrapping_shl(atom);
        }
        (q << p) | (m & ((1i64 << p) - 1))
    }

    /// Every place of element `x`: coordinates on `thread_axes` (appended to `coords`, one group a place) and position.
    pub fn places(&self, x: i64, mut f: impl FnMut(&[i64], i64)) {
        let mut coords: Vec<i64> = self.thread_axes.iter().map(|(_, offset)| *offset).collect();
        let mut m = self.memory_offset;
        self.for_digits(x, |d, value| add(d, value, &mut coords, &mut m));
        let copies = self.replica.iter().fold(1i64, |p, d| p.saturating_mul(d.extent));
        for copy in 0..copies {
            let (mut c, mut at, mut rest) = (coords.clone(), m, copy);
            for d in self.replica.iter().rev() {
                add(d, rest % d.extent, &mut c, &mut at);
                rest /= d.extent;
            }
            f(&c, self.swizzled(at));
        }
    }

    /// Does the thread with flattened number `tid` stand at these coordinates? `warp` is the warp width.
    pub fn owns(&self, coords: &[i64], tid: i64, warp: i64) -> bool {
        self.thread_axes.iter().zip(coords).all(|((axis, _), c)| thread_coordinate(axis, tid, warp) == *c)
    }

    /// Coordinates of a thread on the layout's thread axes.
    pub fn thread_coords(&self, tid: i64, warp: i64) -> Vec<i64> {
        self.thread_axes.iter().map(|(axis, _)| thread_coordinate(axis, tid, warp)).collect()
    }

    /// Are there places beside the first?
    pub fn has_replicas(&self) -> bool {
        self.replica.iter().any(|d| d.extent > 1)
    }
}

fn add(d: &Digit, value: i64, coords: &mut [i64], m: &mut i64) {
    let step = value.wrapping_mul(d.stride);
    match d.target {
        Target::Memory => *m = m.wrapping_add(step),
        Target::Thread(k) => coords[k] = coords[k].wrapping_add(step),
    }
}

fn thread_coordinate(axis: &Axis, tid: i64, warp: i64) -> i64 {
    match axis {
        Axis::LaneId => tid % warp,
        Axis::WarpId => tid / warp,
        Axis::WidInWg => tid / warp % 4,
        Axis::WgId => tid / (4 * warp),
        Axis::TidInWg => tid % (4 * warp),
        _ => tid,
    }
}

/// Bits of element `at` of packed elements of `dtype`; the first element of a sub-byte type is in the low bits of a byte.
/// `None` outside `bytes`.
pub fn get_bits(bytes: &[u8], dtype: DType, at: i64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let bits = dtype.bits() as usize;
    if bits < 8 {
        let byte = *bytes.get(at.checked_mul(bits)? / 8)?;
        return Some(u64::from(byte) >> (at * bits % 8) & ((1 << bits) - 1));
    }
    let size = bits / 8;
    let start = at.checked_mul(size)?;
    let mut word = [0u8; 8];
    word[..size].copy_from_slice(bytes.get(start..start.checked_add(size)?)?);
    Some(u64::from_le_bytes(word))
}

/// Writes the low bits of `value` to element `at`; `None`, with nothing changed, outside `bytes`.
pub fn put_bits(bytes: &mut [u8], dtype: DType, at: i64, value: u64) -> Option<()> {
    let at = usize::try_from(at).ok()?;
    let bits = dtype.bits() as usize;
    if bits < 8 {
        let byte = bytes.get_mut(at.checked_mul(bits)? / 8)?;
        let (shift, mask) = (at * bits % 8, (1u8 << bits) - 1);
        *byte = (*byte & !(mask << shift)) | ((value as u8 & mask) << shift);
        return Some(());
    }
    let size = bits / 8;
    let start = at.checked_mul(size)?;
    bytes.get_mut(start..start.checked_add(size)?)?.copy_from_slice(&value.to_le_bytes()[..size]);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::TileLayout;

    fn flat(layout: &Layout) -> FlatLayout {
        FlatLayout::new(layout, &|_| None).expect("numbers are known")
    }

    fn fragment() -> FlatLayout {
        let iters = vec![
            Iter::new(8, 4, Axis::LaneId),
            Iter::new(4, 1, Axis::LaneId),
            Iter::new(2, 2, Axis::M),
            Iter::new(2, 1, Axis::M),
        ];
        flat(&TileLayout::from_shard(iters).into())
    }

    #[test]
    fn fragment_owners() {
        let f = fragment();
        assert_eq!(f.storage().expect("fits"), 4);
        // Element (3, 2, 1, 0): lane 3*4 + 2, register 2.
        let x = ((3 * 4 + 2) * 2 + 1) * 2;
        f.places(x, |coords, m| assert_eq!((coords, m), ([14].as_slice(), 2)));
        assert!(f.owns(&[14], 32 + 14, 32) && !f.owns(&[14], 46, 64));
    }

    #[test]
    fn replicas_are_all_places() {
        let tile = TileLayout {
            shard: vec![Iter::new(4, 1, Axis::M)],
            replica: vec![Iter::new(2, 8, Axis::M)],
            ..TileLayout::default()
        };
        let f = flat(&tile.into());
        let mut seen = Vec::new();
        f.places(3, |_, m| seen.push(m));
        assert_eq!(seen, [3, 11]);
        assert_eq!(f.storage().expect("fits"), 12);
    }

    #[test]
    fn swizzle_permutes_within_the_storage() {
        let layout = Layout {
            tile: TileLayout::row_major(&[Dim::Const(16), Dim::Const(64)]),
            swizzle: Some(Swizzle { per_element: 3, swizzle_len: 3, atom_len: 3, inner: true }),
        };
        let f = flat(&layout);
        let mut seen: Vec<i64> = (0..1024).map(|x| f.position(x)).collect();
        assert_eq!(seen[64], 72); // row 1, unit 0 moves to unit 1
        seen.sort_unstable();
        assert_eq!(seen, (0..1024).collect::<Vec<_>>());
    }

    #[test]
    fn sub_byte_elements_are_packed() {
        let mut bytes = [0u8; 2];
        put_bits(&mut bytes, DType::U4, 1, 0xA).expect("inside");
        put_bits(&mut bytes, DType::U4, 2, 0x5).expect("inside");
        assert_eq!(bytes, [0xA0, 0x05]);
        assert_eq!(get_bits(&bytes, DType::U4, 1), Some(0xA));
        assert_eq!(put_bits(&mut bytes, DType::U4, 4, 1), None);
        assert_eq!(get_bits(&bytes, DType::U16, 0), Some(0x05A0));
    }
}

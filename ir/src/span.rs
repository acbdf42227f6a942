//! Where a piece of IR stands in the source text.
//!
//! A span takes no part in equality, ordering or hashing: two modules that differ only in where they were written are
//! the same module. That is what makes `parse(print(m)) == m` a plain `==`.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// Half-open range of byte offsets into the source text. `Span::NONE` marks IR that a pass or the builder made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// First byte.
    pub lo: u32,
    /// One past the last byte.
    pub hi: u32,
}

impl Span {
    /// No place in the text.
    pub const NONE: Span = Span { lo: 0, hi: 0 };

    /// A span from byte `lo` up to, not including, byte `hi`.
    pub fn new(lo: usize, hi: usize) -> Span {
        let clamp = |x: usize| u32::try_from(x).unwrap_or(u32::MAX);
        Span { lo: clamp(lo), hi: clamp(hi) }
    }

    /// The smallest span that holds both; a span of `NONE` adds nothing.
    pub fn to(self, other: Span) -> Span {
        if self.is_none() {
            other
        } else if other.is_none() {
            self
        } else {
            Span { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
        }
    }

    /// True for IR that has no place in the text.
    pub fn is_none(self) -> bool {
        self.lo == 0 && self.hi == 0
    }

    /// One-based line number of the first byte in `source`; 0 for `NONE`.
    pub fn line_in(self, source: &str) -> usize {
        if self.is_none() {
            return 0;
        }
        let end = (self.lo as usize).min(source.len());
        1 + source.as_bytes().get(..end).unwrap_or_default().iter().filter(|b| **b == b'\n').count()
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}

impl Eq for Span {}

impl PartialOrd for Span {
    fn partial_cmp(&self, other: &Span) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Span {
    fn cmp(&self, _: &Span) -> Ordering {
        Ordering::Equal
    }
}

impl Hash for Span {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

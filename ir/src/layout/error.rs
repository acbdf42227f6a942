//! Why a layout operation does not go through: data with the numbers that failed.

use thiserror::Error;

use crate::dim::Dim;
use crate::layout::Axis;

/// Refusal of a layout operation. The text is one phrase without a full stop.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// An iter would have to be cut where its extent does not divide.
    #[error("iter {iter} of extent {extent} straddles the boundary of dimension {dim} of extent {want}")]
    Straddles {
        /// Index of the shard iter.
        iter: usize,
        /// What is left of its extent.
        extent: Dim,
        /// Index of the dimension.
        dim: usize,
        /// Extent of the dimension.
        want: Dim,
    },
    /// The layout and the shape have different numbers of elements.
    #[error("layout of {size} elements does not fit the shape {shape:?}")]
    SizeMismatch {
        /// Elements of the layout.
        size: Dim,
        /// The shape.
        shape: Vec<Dim>,
    },
    /// Shape, region or coordinates have different lengths.
    #[error("{got} indices for {want} dimensions")]
    RankMismatch {
        /// Given.
        got: usize,
        /// Needed.
        want: usize,
    },
    /// Part of the region lies outside.
    #[error("range {begin}..{end} of dimension {dim} lies outside 0..{extent}")]
    OutOfBounds {
        /// Index of the dimension.
        dim: usize,
        /// First index.
        begin: Dim,
        /// One past the last.
        end: Dim,
        /// Extent of the dimension.
        extent: Dim,
    },
    /// The region is no box of the layout's digits.
    #[error("range {begin}..{end} of dimension {dim} is no box of the layout's digits")]
    NoBox {
        /// Index of the dimension.
        dim: usize,
        /// First index.
        begin: Dim,
        /// One past the last.
        end: Dim,
    },
    /// Thread axes that cannot be used together.
    #[error("thread axes {0} and {1} do not form one scope")]
    ScopeConflict(Axis, Axis),
    /// Thread axes with a level missing between them.
    #[error("thread axes of the layout leave out a level between `{0}` and `{1}`")]
    ScopeGap(&'static str, &'static str),
    /// A number must be constant here.
    #[error("{what} must be a constant, it is {value}")]
    Symbolic {
        /// Which number.
        what: &'static str,
        /// Its value.
        value: Dim,
    },
    /// Extents below one.
    #[error("extent {0} of an iter is not positive")]
    BadExtent(Dim),
    /// Swizzle parameters that make no sense.
    #[error("swizzle({per_element}, {swizzle_len}, {atom_len}): {why}")]
    BadSwizzle {
        /// log2 of the elements that move as one.
        per_element: u32,
        /// Bits.
        swizzle_len: u32,
        /// Distance.
        atom_len: u32,
        /// What is wrong.
        why: &'static str,
    },
    /// A swizzle over something that is not plain memory.
    #[error("not possible with a swizzle")]
    Swizzled,
    /// Only memory axes are allowed here.
    #[error("axis {0} is not plain memory")]
    NotMemory(Axis),
    /// Two elements in one place.
    #[error("elements {first} and {second} lie in the same place")]
    NotInjective {
        /// Flat index of one.
        first: i64,
        /// Flat index of the other.
        second: i64,
    },
    /// Coordinates that no thread of the CTA has, or negative addresses.
    #[error("coordinate {at} on axis {axis} is outside 0..{limit}")]
    CoordinateRange {
        /// The axis.
        axis: Axis,
        /// The coordinate.
        at: i64,
        /// First coordinate that is too large.
        limit: i64,
    },
    /// A number left `i64`.
    #[error("layout too large: a coordinate does not fit 64 bits")]
    Overflow,
    /// The last iter does not hold whole groups of elements.
    #[error("layout cannot be packed by {0}")]
    NotPackable(i64),
}

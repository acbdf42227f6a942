//! A kernel with every name replaced by a number and every expression typed: what the executors walk.
//!
//! Made once a launch, with the values of the `where` parameters put in. Values are 64 raw bits: integers extended to
//! `i64` by their own sign, floats as the bits of their dtype, bools 0 or 1. Used by the reference interpreter (tile level)
//! and by the lane executor (lowered level). Must hold: a name that is not known, or types that do not fit, are errors with
//! a place, never a panic; the verifier finds them first.

use super::addr::FlatLayout;
use super::typed::RExpr;
use crate::diag::{Code, Diagnostic};
use crate::dtype::{DType, ScalarTy};
use crate::module::Kernel;
use crate::name::Name;
use crate::space::{Scope, Space};
use crate::span::Span;
use crate::stmt::{PrimOp, TileOp};

pub use super::resolver::{Expected, resolve};

/// A buffer with its numbers known.
#[derive(Clone, Debug)]
pub struct RBuffer {
    /// Its name.
    pub name: Name,
    /// Where it lives.
    pub space: Space,
    /// Element type.
    pub dtype: DType,
    /// Logical extents.
    pub shape: Vec<i64>,
    /// Its layout.
    pub layout: FlatLayout,
    /// Elements of storage: see `storage_elements`.
    pub storage: i64,
    /// Bytes of storage.
    pub bytes: usize,
    /// Least alignment of the base in bytes.
    pub align: u32,
    /// Added by the compiler?
    pub hidden: bool,
    /// A parameter?
    pub is_param: bool,
}

/// One element of a buffer.
#[derive(Clone, Debug)]
pub struct RPlace {
    /// Index in `RKernel::buffers`.
    pub buf: usize,
    /// Whose part of a window.
    pub rank: Option<RExpr>,
    /// Which element.
    pub index: RIndex,
}

/// How the element is named.
#[derive(Clone, Debug)]
pub enum RIndex {
    /// By logical index.
    Logical(Vec<RExpr>),
    /// By position in the buffer's memory.
    Flat(RExpr),
}

/// A box of logical indices.
#[derive(Clone, Debug)]
pub struct RRegion {
    /// Index in `RKernel::buffers`.
    pub buf: usize,
    /// Whose part of a window.
    pub rank: Option<RExpr>,
    /// First index and one past the last, for each dimension.
    pub bounds: Vec<(RExpr, RExpr)>,
    /// Where it was written.
    pub span: Span,
}

/// A tile op.
#[derive(Clone, Debug)]
pub struct RTile<'k> {
    /// The op as written.
    pub op: &'k TileOp,
    /// Slot of the token made.
    pub token: Option<usize>,
    /// Destinations.
    pub dsts: Vec<RRegion>,
    /// Sources.
    pub srcs: Vec<RSource>,
    /// The signal that is notified: name and queue.
    pub notify: Option<(Name, u32)>,
    /// What the copy waits for.
    pub after: Option<RAfter>,
}

/// What holds a copy back.
#[derive(Clone, Debug)]
pub enum RAfter {
    /// A flag and its value.
    Flag(RPlace, RExpr),
    /// Notifies of a signal.
    Signal(RWait),
}

/// Source of a tile op.
#[derive(Clone, Debug)]
pub enum RSource {
    /// A tile.
    Region(RRegion),
    /// A value of the destination's dtype.
    Value(RExpr),
}

/// Operand of a primitive op.
#[derive(Clone, Debug)]
pub enum RArg {
    /// A scalar.
    Expr(RExpr),
    /// A place.
    Place(RPlace),
}

/// A primitive op.
#[derive(Clone, Debug)]
pub struct RPrim<'k> {
    /// The op as written, for its attributes.
    pub op: &'k PrimOp,
    /// Slot of the result.
    pub result: Option<usize>,
    /// Operands.
    pub args: Vec<RArg>,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct RStmt<'k> {
    /// What it does.
    pub kind: RStmtKind<'k>,
    /// Where it was written.
    pub span: Span,
}

/// The kinds of statements; those without effect at run time are gone.
#[derive(Clone, Debug)]
pub enum RStmtKind<'k> {
    /// Sets a slot.
    Let(usize, RExpr),
    /// Loads one element into a slot.
    Load(usize, RPlace),
    /// Stores one element; the value has the buffer's dtype.
    Store(RPlace, RExpr),
    /// The contents of this buffer become undefined.
    Alloc(usize),
    /// A loop: slot of the variable, bounds, body.
    For(usize, RExpr, RExpr, Vec<RStmt<'k>>),
    /// Condition and both sides.
    If(RExpr, Vec<RStmt<'k>>, Vec<RStmt<'k>>),
    /// A barrier.
    Sync(Scope),
    /// A condition that must hold.
    Assume(RExpr),
    /// Waits for the token in a slot.
    WaitToken(usize),
    /// Waits for notifies.
    WaitSignal(Box<RWait>),
    /// A tile op.
    Tile(Box<RTile<'k>>),
    /// A primitive op.
    Prim(Box<RPrim<'k>>),
}

/// A wait for a signal.
#[derive(Clone, Debug)]
pub struct RWait {
    /// The signal.
    pub signal: Name,
    /// Its queue id.
    pub queue: u32,
    /// The notifying rank.
    pub from: RExpr,
    /// Who waits.
    pub scope: Scope,
    /// Number of notifies since the launch.
    pub expected: RExpr,
}

/// CTAs of one rank that take turns at most; more start as these end, or when all wait.
const MAX_RESIDENT: u64 = 16;

/// CTAs over all ranks that a launch may have.
const MAX_CTAS: i64 = 1 << 24;

impl RKernel<'_> {
    /// Bytes that an executor needs for one CTA: values of threads, registers, shared memory.
    pub fn cta_bytes(&self) -> u64 {
        let threads = self.block.iter().product::<i64>() as u64;
        let of = |b: &RBuffer| match b.space {
            Space::Local => (b.bytes as u64).saturating_mul(threads),
            Space::Shared => b.bytes as u64,
            Space::Global | Space::Window => 0,
        };
        let values = (self.slots.len() as u64 * 8).saturating_mul(threads);
        self.buffers.iter().fold(values, |sum, b| sum.saturating_add(of(b)))
    }

    /// How many CTAs of each rank may be there at once, for a launch on `ranks` ranks: bounds the memory of large grids.
    ///
    /// # Errors
    /// `TW0039` if not even one fits, or there are too many in all.
    pub fn resident(&self, ranks: u32) -> Result<usize, Diagnostic> {
        let span = self.kernel.launch.span;
        let total = self.grid.iter().try_fold(i64::from(ranks), |p, g| p.checked_mul(*g));
        if total.is_none_or(|n| n > MAX_CTAS) {
            return Err(Diagnostic::error(Code::TOO_LARGE, span, format!("more than {MAX_CTAS} CTAs over all ranks")));
        }
        let bytes = self.cta_bytes().saturating_mul(u64::from(ranks)).max(1);
        if bytes > super::MAX_LAUNCH_BYTES {
            let message = format!("a CTA needs {} bytes of registers, values and shared memory", self.cta_bytes());
            return Err(Diagnostic::error(Code::TOO_LARGE, span, message));
        }
        Ok((RESIDENT_BYTES / bytes).clamp(1, MAX_RESIDENT) as usize)
    }
}

/// Bytes of CTAs that run side by side, where one of each rank does not need more.
const RESIDENT_BYTES: u64 = 512 << 20;

/// A kernel ready to be walked.
#[derive(Clone, Debug)]
pub struct RKernel<'k> {
    /// The kernel as written.
    pub kernel: &'k Kernel,
    /// Buffers: parameters in order, then allocations in order of appearance.
    pub buffers: Vec<RBuffer>,
    /// Scalar parameters (with `where` parameters): name, type and slot.
    pub scalars: Vec<(Name, ScalarTy, usize)>,
    /// Names of the slots, for messages.
    pub slots: Vec<Name>,
    /// The body.
    pub body: Vec<RStmt<'k>>,
    /// CTAs in x, y, z.
    pub grid: [i64; 3],
    /// Threads in x, y, z.
    pub block: [i64; 3],
    /// Lanes of a warp.
    pub warp: u32,
}

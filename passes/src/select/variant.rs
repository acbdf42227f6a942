//! What a copy variant is: the trait that backends and users implement, and the data it speaks in.
//!
//! `plan` is total: it looks at a group of copies and answers with a `Candidate` or with a `Reject` that names the
//! numbers that failed. `emit` writes statements and cannot fail for shape reasons: what `plan` found out is captured in
//! the closure. `emit` never writes a wait; it says how the copy completes and `place-waits` does the rest.

use std::fmt;

use tilewright_ir::facts::Facts;
use tilewright_ir::layout::Interval;
use tilewright_ir::threads::ActiveSet;
use tilewright_ir::{BufferTy, Completion, CopyAttrs, DType, Dim, Expr, Layout, Name, Place, Scope, Space, Span};
use tilewright_target::{Cost, Target};

use super::rewriter::Rewriter;

/// Name, op and priority of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariantInfo {
    /// Name, as in the report and in `variant = "…"`; unique in a backend's list.
    pub name: &'static str,
    /// The tile op it serves: `copy`.
    pub op: &'static str,
    /// Higher is tried first; among equals that accept, the cheaper wins, then the one listed first.
    pub priority: i32,
}

/// A way to carry out a copy.
pub trait CopyVariant: Sync {
    /// Name, op and priority.
    fn info(&self) -> VariantInfo;

    /// Can it carry the group, how, and at what cost?
    ///
    /// # Errors
    /// The rule that the group does not meet.
    fn plan(&self, group: &CopyGroup, target: &Target) -> Result<Candidate, Reject>;

    /// How many copies a group has that `plan` is asked about: 1, or 2 for a variant that carries the two destinations of a
    /// `copy` at once.
    fn copies(&self) -> usize {
        1
    }
}

/// Copies that are planned together: one, unless a planner offers batches.
#[derive(Clone, Debug)]
pub struct CopyGroup {
    /// The copies, in program order; never empty.
    pub copies: Vec<CopyView>,
}

/// One copy with everything that is known about it.
#[derive(Clone, Debug)]
pub struct CopyView {
    /// The destination. A `copy` with several destinations is planned as several copies, one each.
    pub dst: Operand,
    /// The source.
    pub src: Operand,
    /// Extents of the copy without unit dimensions (equal on all sides), outermost first; empty for one element.
    pub extents: Vec<Dim>,
    /// Who executes it.
    pub scope: Scope,
    /// `copy_async`?
    pub is_async: bool,
    /// Attributes as written.
    pub attrs: CopyAttrs,
    /// Queue id of the signal in `notify`.
    pub notify_queue: Option<u32>,
    /// Does another copy of the kernel notify the same signal?
    pub notify_shared: bool,
    /// What `after` holds the copy back with, looked up.
    pub gate: Option<Gate>,
    /// Queue ids for copies that notify nobody.
    pub queues: Queues,
    /// Ranks of the later destinations of the same `copy`: the signal is left to the last destination of equal rank, so
    /// that each rank is notified once.
    pub later_ranks: Vec<Expr>,
    /// Threads that reach the copy.
    pub active: ActiveSet,
    /// Threads in a CTA.
    pub cta_threads: u32,
    /// Extents of the CTA in x, y, z.
    pub block: [i64; 3],
    /// Lanes in a warp, as the kernel is compiled.
    pub warp: u32,
    /// What is known about the values in scope.
    pub facts: Facts,
    /// Was the source written earlier in this kernel (by something other than a completed copy engine)?
    pub src_written: bool,
    /// Where it was written.
    pub span: Span,
}

/// What holds a copy back. Whoever does not carry this out by itself (`Candidate::gated`) gets a wait by the threads before
/// the copy.
#[derive(Clone, Debug)]
pub enum Gate {
    /// Until an element of this rank's memory has a value.
    Flag {
        /// The element, as a flat place.
        flag: Place,
        /// The value.
        value: Expr,
        /// The element's type: a 32- or 64-bit integer.
        dtype: DType,
        /// Does this kernel store to the flag's buffer?
        written: bool,
    },
    /// Until the notifies of a rank have come.
    Signal {
        /// The notifying rank.
        from: Expr,
        /// The count since the communicator was made.
        want: Expr,
        /// Queue id of the signal.
        queue: u32,
    },
}

/// Queue ids that a kernel's copies without `notify` use. A queue that is parked behind a wait holds up all that is posted
/// behind it (seed 001, "Sharp edges"), so that what waits and what does not are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queues {
    /// For copies that wait for nothing: one that no held copy notifies on.
    pub plain: u32,
    /// For copies that `after` holds back: one that nobody else uses; `None` if all are taken.
    pub held: Option<u32>,
}

/// One side of a copy.
#[derive(Clone, Debug)]
pub struct Operand {
    /// The buffer.
    pub buf: Name,
    /// Its type.
    pub ty: BufferTy,
    /// Whose part of a window; `None`: this rank's.
    pub rank: Option<Expr>,
    /// Begin and extent in each dimension of the buffer, in elements.
    pub region: Vec<Interval>,
    /// Layout of the region over `CopyView::extents`, thread axes joined for the kernel's warp width; the offset on `m`
    /// is where it begins, in elements of the buffer's memory. An error says why the region has no layout of its own.
    pub slice: Result<Layout, String>,
}

impl Operand {
    /// Where the buffer lives.
    pub fn space(&self) -> Space {
        self.ty.space
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.ty.dtype
    }

    /// A window operand with a rank: the memory of a peer (or of any rank chosen at run time).
    pub fn is_peer(&self) -> bool {
        self.ty.space == Space::Window && self.rank.is_some()
    }

    /// Own memory reached by a 64-bit address, without going through a peer's window.
    pub fn is_own_global(&self) -> bool {
        self.ty.space.is_device_memory() && self.rank.is_none()
    }
}

/// Value of a parameter in the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamValue {
    /// A number.
    Int(i64),
    /// Yes or no.
    Bool(bool),
    /// A word or an expression.
    Text(String),
}

/// Writes the statements of a copy and says how it completes.
pub type Emit = Box<dyn Fn(&mut Rewriter) -> Completion>;

/// How the lanes of a warp get on at the banks of shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The shared buffer.
    pub operand: Name,
    /// Passes that the worst access of a warp takes; 1 without conflicts.
    pub ways: u64,
}

/// A variant that fits.
pub struct Candidate {
    /// What was found, in the order of the report (e.g. `num`, `trans`, `vec_bits`).
    pub params: Vec<(&'static str, ParamValue)>,
    /// The prediction.
    pub cost: Cost,
    /// Remarks for the report, e.g. bank conflicts, or that one element at a time is slow.
    pub notes: Vec<String>,
    /// For each side in shared memory, the bank conflicts of its accesses.
    pub conflicts: Vec<Conflict>,
    /// Does the copy wait for its `after` by itself?
    pub gated: bool,
    /// Writes the copy.
    pub emit: Emit,
}

impl Candidate {
    /// A candidate without parameters and remarks that does not look at `after`.
    pub fn new(cost: Cost, emit: Emit) -> Candidate {
        Candidate { params: Vec::new(), cost, notes: Vec::new(), conflicts: Vec::new(), gated: false, emit }
    }
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Candidate").field("params", &self.params).field("cost", &self.cost).finish_non_exhaustive()
    }
}

/// Why a variant does not fit: the rule and the values that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reject {
    /// The scope is not one that the variant serves.
    Scope {
        /// The copy's.
        have: Scope,
        /// Those served, in words.
        need: &'static str,
    },
    /// The pair of memory spaces is not one that the variant serves.
    Spaces {
        /// Source space, with "peer" where it is one.
        src: String,
        /// Destination space.
        dst: String,
        /// Those served, in words.
        need: &'static str,
    },
    /// The dtype is not one that the instruction moves.
    Dtype {
        /// The copy's.
        have: DType,
        /// What is needed, in words.
        need: &'static str,
    },
    /// The target does not have the instruction.
    Target {
        /// E.g. "stmatrix needs sm_90".
        why: String,
    },
    /// Something is not aligned as the access needs.
    Misaligned {
        /// What: "base offset", "row stride", "warp stride", …, with the operand's name.
        what: String,
        /// How much it is, in bytes, or the expression.
        value: String,
        /// What it must be a multiple of, in bytes.
        need: u32,
    },
    /// A memory side is not contiguous where it must be.
    NotContiguous {
        /// The operand's name.
        operand: String,
        /// What was found, with numbers.
        why: String,
    },
    /// Not the threads that the instruction needs.
    Threads {
        /// What was found and what is needed.
        why: String,
    },
    /// The layout is not of the form needed.
    Layout {
        /// The operand's name.
        operand: String,
        /// What was found, with numbers.
        why: String,
    },
    /// An attribute asks for something else.
    Attribute {
        /// Which and why.
        why: String,
    },
    /// Any of the above, with a fix that can be pasted or done.
    Fix {
        /// The rule.
        reject: Box<Reject>,
        /// The fix: "pad the row to 136 elements".
        fix: String,
    },
}

impl Reject {
    /// The same with a way out.
    #[must_use]
    pub fn with_fix(self, fix: impl Into<String>) -> Reject {
        Reject::Fix { reject: Box::new(self), fix: fix.into() }
    }

    /// Might another layout or alignment of a buffer make it fit?
    pub fn is_about_layout(&self) -> bool {
        match self {
            Reject::Fix { reject, .. } => reject.is_about_layout(),
            Reject::Misaligned { .. } | Reject::NotContiguous { .. } | Reject::Layout { .. } => true,
            _ => false,
        }
    }

    /// The way out, where one is known.
    pub fn fix(&self) -> Option<&str> {
        match self {
            Reject::Fix { fix, .. } => Some(fix),
            _ => None,
        }
    }
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reject::Scope { have, need } => write!(f, "scope is {have}, needs {need}"),
            Reject::Spaces { src, dst, need } => write!(f, "{src} -> {dst}, needs {need}"),
            Reject::Dtype { have, need } => write!(f, "dtype {have} ({} bits), needs {need}", have.bits()),
            Reject::Target { why } | Reject::Threads { why } | Reject::Attribute { why } => f.write_str(why),
            Reject::Misaligned { what, value, need } => write!(f, "{what} {value} is not a multiple of {need} B"),
            Reject::NotContiguous { operand, why } | Reject::Layout { operand, why } => write!(f, "`{operand}` {why}"),
            Reject::Fix { reject, .. } => reject.fmt(f),
        }
    }
}

//! Primitive ops: one row each, read by the parser, printer, verifier, docs, executors and backends.
//!
//! The neutral ops are the closed list `OPS`. Backends (and out-of-tree crates) add target intrinsics as rows of the
//! same kind in an `OpSet`. Passes ask a row for its effects; they do not list ops.

mod queue;
mod table;

pub use queue::{QueueArg, queue_of, signal_queue_of};
pub use table::OPS;

/// What an operand must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgKind {
    /// Integer expression.
    Int,
    /// Expression of the dtype of the first place operand.
    Value,
    /// A rank on this node (`lsa_rank`).
    Rank,
    /// Flat place that is read.
    Read,
    /// Flat place that is written.
    Write,
    /// Flat place of a window, possibly of another rank, that is read by a copy engine.
    EngineRead,
    /// Flat place of a window, possibly of another rank, that is written by a copy engine.
    EngineWrite,
    /// Flat place of a window or of global memory that is read by a copy engine, at the address as this rank has it.
    EngineReadPtr,
    /// Flat place of a window or of global memory that is written by a copy engine, at the address as this rank has it.
    EngineWritePtr,
}

impl ArgKind {
    /// Is it a place?
    pub const fn is_place(self) -> bool {
        !matches!(self, ArgKind::Int | ArgKind::Value | ArgKind::Rank)
    }

    /// Is it a place that is only read?
    pub const fn only_reads(self) -> bool {
        matches!(self, ArgKind::Read | ArgKind::EngineRead | ArgKind::EngineReadPtr)
    }
}

/// What an attribute must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttrKind {
    /// Integer in this inclusive range.
    Int(i64, i64),
    /// `true` or `false`.
    Bool,
    /// One of these words.
    Sym(&'static [&'static str]),
}

/// An attribute of an op.
#[derive(Clone, Copy, Debug)]
pub struct AttrRow {
    /// Its name.
    pub name: &'static str,
    /// What it must be.
    pub kind: AttrKind,
    /// Must it be written? An attribute that is absent is 0, `false`, or the first word.
    pub required: bool,
}

/// Ordering effect of an op beyond its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// None: only the operands count.
    None,
    /// Threads meet.
    Barrier,
    /// Memory accesses do not move across it.
    Fence,
    /// Something is posted to a copy engine and completes later.
    Post,
    /// Waits for something that another agent does.
    Wait,
}

/// One op.
#[derive(Clone, Copy, Debug)]
pub struct OpRow {
    /// Mnemonic, `family.name`.
    pub name: &'static str,
    /// Operands that are always there.
    pub args: &'static [ArgKind],
    /// Kind of further operands, and how many at most.
    pub rest: Option<(ArgKind, usize)>,
    /// Attributes, in printing order.
    pub attrs: &'static [AttrRow],
    /// Type of the result as a dtype name, if there is one (`index` for i64).
    pub result: Option<&'static str>,
    /// Ordering effect.
    pub order: Order,
    /// All lanes of the warp must execute it together.
    pub warp_collective: bool,
    /// What it does: one or two sentences, for the reference and for `explain`.
    pub doc: &'static str,
}

/// The ops that are known: the neutral ones and a backend's.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpSet<'a> {
    /// Target intrinsics beside `OPS`.
    pub extra: &'a [OpRow],
}

impl OpSet<'_> {
    /// The row of an op.
    pub fn find(&self, name: &str) -> Option<&OpRow> {
        OPS.iter().chain(self.extra).find(|row| row.name == name)
    }
}

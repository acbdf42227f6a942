//! Which queue an `sdma.*` op names.
//!
//! Must hold: everyone who asks for the queue of an op asks here, so that an attribute and an operand mean the same.

use super::OPS;
use crate::expr::Expr;
use crate::stmt::{PrimArg, PrimOp};
use crate::types::literal_int;

/// A queue id.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueArg<'a> {
    /// Written down: the communicator is checked for it at launch.
    Fixed(i64),
    /// Computed, and the number of the operand: one that the communicator does not have makes the op do nothing.
    Computed(&'a Expr, usize),
}

/// The queue of an op; `None` if it names none.
pub fn queue_of(op: &PrimOp) -> Option<QueueArg<'_>> {
    by_attr(op, "queue").or_else(|| extra(op, 0))
}

/// The queue id of the signal that an op waits for, if that is another than the op's queue.
pub fn signal_queue_of(op: &PrimOp) -> Option<QueueArg<'_>> {
    let before = usize::from(op.attr("queue").is_none());
    by_attr(op, "signal_queue").or_else(|| extra(op, before))
}

fn by_attr<'a>(op: &'a PrimOp, name: &str) -> Option<QueueArg<'a>> {
    op.attr_int(name).map(QueueArg::Fixed)
}

/// Operand `n` of those behind the ones that are always there.
fn extra(op: &PrimOp, n: usize) -> Option<QueueArg<'_>> {
    let row = OPS.iter().find(|row| op.op == row.name && row.name.starts_with("sdma."))?;
    let operand = row.args.len() + n;
    match op.args.get(operand)? {
        PrimArg::Expr(e) => Some(literal_int(e).map_or(QueueArg::Computed(e, operand), QueueArg::Fixed)),
        PrimArg::Place(_) => None,
    }
}

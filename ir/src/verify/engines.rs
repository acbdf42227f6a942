//! Ops of copy engines. Rules, from mori's interface (seed 001):
//! - each names its queue once, as an attribute or as the operand behind the others, and a number that is written down is
//!   one of 0..=7;
//! - one queue for all lanes is a promise of lanes, so of thread scope only;
//! - what an engine waits for is 32 bits of this rank's memory, and values fit them.

use super::Checker;
use crate::diag::{Code, Diagnostic};
use crate::op::{OpRow, QueueArg, queue_of, signal_queue_of};
use crate::span::Span;
use crate::stmt::{PrimArg, PrimOp};
use crate::types::literal_int;

/// Greatest queue id: the hardware has 8 queues to a peer (seed 001, "Turning it on").
const LAST_QUEUE: i64 = 7;

impl Checker<'_> {
    pub(super) fn engine_op(&mut self, op: &PrimOp, row: &OpRow, span: Span) {
        self.queues(op, row, span);
        if op.attr_sym("mode") == Some("same_queue") && !matches!(op.attr_sym("coop"), None | Some("thread")) {
            let message = format!("`mode = same_queue` of `{}` is a promise of lanes, and one thread posts", row.name);
            self.report(
                Diagnostic::error(Code::BAD_ATTR, span, message).help("leave it away, or write `coop = thread`"),
            );
        }
        let value = match row.name {
            "sdma.post_wait_mem" | "sdma.post_wait_mem_put_ptr" => {
                self.flag(op, row, span);
                "the value"
            }
            "sdma.post_wait_signal" => "the expected count",
            _ => return,
        };
        self.compared(op, row, value, span);
    }

    fn queues(&mut self, op: &PrimOp, row: &OpRow, span: Span) {
        let named = ["queue", "signal_queue"].map(|name| row.attrs.iter().any(|a| a.name == name));
        let given = [queue_of(op), signal_queue_of(op)];
        for (name, queue) in
            ["queue", "signal_queue"].into_iter().zip(given).zip(named).filter_map(|(q, n)| n.then_some(q))
        {
            match queue {
                None => {
                    let message = format!("`{}` names no {}", row.name, name.replace('_', "'s "));
                    let help = format!("write `{name} = …`, or one more operand");
                    self.report(Diagnostic::error(Code::OP_OPERANDS, span, message).help(help));
                }
                Some(QueueArg::Fixed(n)) if !(0..=LAST_QUEUE).contains(&n) && op.attr(name).is_none() => {
                    let message = format!("`{}` names queue {n}", row.name);
                    let help = format!("there are 0 to {LAST_QUEUE}");
                    self.report(Diagnostic::error(Code::BAD_ATTR, span, message).help(help));
                }
                Some(_) => {}
            }
        }
        let wanted = named.iter().filter(|n| **n).count();
        let attrs = ["queue", "signal_queue"].iter().filter(|name| op.attr(name).is_some()).count();
        if wanted > 0 && op.args.len() > row.args.len() + wanted.saturating_sub(attrs) {
            let message = format!("`{}` names its queue twice", row.name);
            let help = "write it as an attribute or as an operand";
            self.report(Diagnostic::error(Code::OP_OPERANDS, span, message).help(help));
        }
    }

    /// What an engine polls: a word of this rank.
    fn flag(&mut self, op: &PrimOp, row: &OpRow, span: Span) {
        let Some(PrimArg::Place(place)) = op.args.first() else { return };
        if place.rank.is_some() {
            let message = format!("`{}` waits for memory of another rank", row.name);
            self.report(
                Diagnostic::error(Code::OP_OPERANDS, span, message)
                    .help("an engine polls its own GPU's memory: let the other rank put the flag here"),
            );
        }
        let Some(ty) = self.env.buffer(&place.buf) else { return };
        if !matches!(ty.dtype.bits(), 32 | 64) {
            let message = format!("`{}` waits for `{}`, whose elements are {}", row.name, place.buf, ty.dtype);
            let help = "a flag has 32 or 64 bits, of which the low 32 are compared";
            self.report(Diagnostic::error(Code::OP_OPERANDS, span, message).help(help));
        }
    }

    /// A number that is written down fits what the engine compares.
    fn compared(&mut self, op: &PrimOp, row: &OpRow, what: &str, span: Span) {
        let Some(PrimArg::Expr(e)) = op.args.get(1) else { return };
        if let Some(value) = literal_int(e).filter(|v| u32::try_from(*v).is_err()) {
            let message = format!("{what} of `{}` is {value}; engines compare 32 bits", row.name);
            let help = "0 to 4294967295";
            self.report(Diagnostic::error(Code::OP_OPERANDS, span, message).help(help));
        }
    }
}

//! Engines at work: what a packet does to memory and signals, and which queues are parked.
//!
//! Must hold: a queue whose next packet waits for a condition that does not hold does nothing, and nothing behind it runs.

use tilewright_ir::interp::RunError;
use tilewright_ir::{Code, Diagnostic, Span};

use crate::engine::{Address, Packet, Poll, Word};
use crate::sched::Machine;

impl Machine<'_, '_> {
    /// Does one packet of a busy queue, from the `first`-th on the first that does not wait; false if all do.
    pub(crate) fn engine_turn(&mut self, first: usize) -> Result<bool, RunError> {
        let busy = self.engines.busy().len();
        for n in (0..busy).map(|i| (first + i) % busy) {
            if self.engines.parked(n).is_none_or(|poll| self.polled(&poll).1) {
                return self.one_packet(n).map(|()| true);
            }
        }
        Ok(false)
    }

    /// The value that an engine compares, and whether its condition holds.
    fn polled(&self, poll: &Poll) -> (u32, bool) {
        let value = match poll.word {
            Word::Signal { at, source, queue } => self.engines.signal(at, source, queue) as u32,
            Word::Memory(at) => match self.range(at, 4).map(<[u8; 4]>::try_from) {
                Some(Ok(bytes)) => u32::from_le_bytes(bytes),
                _ => 0, // was in bounds when it was posted
            },
        } & poll.mask;
        (value, poll.compare.holds(value.into(), poll.value.into()))
    }

    fn one_packet(&mut self, n: usize) -> Result<(), RunError> {
        match self.engines.take(n) {
            None | Some(Packet::Wait(_)) => Ok(()),
            Some(Packet::Signal { at, source, queue }) => {
                self.engines.add(at, source, queue);
                Ok(())
            }
            Some(Packet::Copy { dst, src, bytes, span }) => self.move_bytes(dst, src, bytes, span),
            Some(Packet::Broadcast { dst: [first, second], src, bytes, span }) => {
                self.move_bytes(first, src, bytes, span)?;
                self.move_bytes(second, src, bytes, span)
            }
        }
    }

    fn move_bytes(&mut self, dst: Address, src: Address, bytes: usize, span: Span) -> Result<(), RunError> {
        let data = self.range(src, bytes).map(<[u8]>::to_vec).ok_or_else(|| self.beyond(src, bytes, span))?;
        let fault = self.beyond(dst, bytes, span);
        let end = dst.byte.saturating_add(bytes);
        let to = self.device[dst.rank][dst.buf].data_mut().get_mut(dst.byte..end).ok_or(fault)?;
        to.copy_from_slice(&data);
        Ok(())
    }

    fn range(&self, a: Address, bytes: usize) -> Option<&[u8]> {
        self.device[a.rank][a.buf].data().get(a.byte..a.byte.checked_add(bytes)?)
    }

    /// Bytes of a buffer.
    pub(crate) fn holds(&self, a: Address, bytes: usize) -> bool {
        self.range(a, bytes).is_some()
    }

    /// The fault of a copy that leaves a buffer.
    pub(crate) fn beyond(&self, a: Address, bytes: usize, span: Span) -> RunError {
        let b = &self.k.buffers[a.buf];
        let message = format!(
            "copy of {bytes} bytes at byte {} of `{}` of rank {}, which has {} bytes",
            a.byte, b.name, a.rank, b.bytes
        );
        Diagnostic::error(Code::OUT_OF_BOUNDS, span, message)
    }

    /// What a parked queue waits for, in words.
    pub(crate) fn describe_parked(&self, poll: &Poll, (rank, peer, queue): (usize, usize, usize)) -> String {
        let what = match poll.word {
            Word::Signal { source, queue, .. } => format!("the signal of queue {queue} from rank {source}"),
            Word::Memory(at) => format!("byte {} of `{}`", at.byte, self.k.buffers[at.buf].name),
        };
        let sign = poll.compare.sign();
        let has = self.polled(poll).0;
        let value = poll.value;
        format!("queue {queue} of rank {rank} towards rank {peer} is parked: {what} is {has}, waits for {sign} {value}")
    }
}

//! Misuse of the copy engines that `--sdma-debug` finds: the codes with which a kernel traps, and what they mean.
//!
//! Must hold: backend and simulator speak through this table; a code, once given out, keeps its meaning.

/// Misuse of an SDMA call. The rules are mori's (seed 001, and the traps of `golden/sdma_README.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// Lanes with `mode = same_queue` have different queues.
    SameQueueBroken,
    /// `quiet` behind an aggregate batch that nobody commits.
    UncommittedAtQuiet,
    /// An aggregate batch that does not fit the ring.
    BatchOverRing,
    /// Destinations of a broadcast that differ in their low five bits.
    BroadcastMisaligned,
    /// A signal of a rank that the node does not have.
    SourceRank,
    /// A count that the engine cannot compare.
    ExpectedTooLarge,
    /// A ringing post behind an aggregate one that nobody commits.
    RingingBehindAggregate,
    /// Two waves commit one queue at once.
    CommittedTwice,
    /// A put of no bytes that should signal.
    EmptyPutSignals,
    /// A queue that the communicator does not have.
    QueueOutOfRange,
    /// A peer that the node does not have.
    PeerOutOfRange,
}

impl Misuse {
    /// All of them, in the order of their codes.
    pub const ALL: [Misuse; 11] = [
        Misuse::SameQueueBroken,
        Misuse::UncommittedAtQuiet,
        Misuse::BatchOverRing,
        Misuse::BroadcastMisaligned,
        Misuse::SourceRank,
        Misuse::ExpectedTooLarge,
        Misuse::RingingBehindAggregate,
        Misuse::CommittedTwice,
        Misuse::EmptyPutSignals,
        Misuse::QueueOutOfRange,
        Misuse::PeerOutOfRange,
    ];

    /// The operand of `s_trap`. LLVM's own traps are 2 and 3 (AMDGPU usage guide, "Trap Handler ABI"); these begin far above.
    pub const fn code(self) -> u8 {
        64 + self as u8
    }

    /// The misuse of a code.
    pub fn of_code(code: u32) -> Option<Misuse> {
        Misuse::ALL.into_iter().find(|m| u32::from(m.code()) == code)
    }

    /// What is wrong, and the way out.
    pub const fn sentence(self) -> &'static str {
        match self {
            Misuse::SameQueueBroken => {
                "lanes that promise one queue (`mode = same_queue`) have different peers or queues: \
                 their packets would overwrite each other; use `mode = independent`"
            }
            Misuse::UncommittedAtQuiet => {
                "quiet waits for a queue with aggregate posts that nobody has committed: it would return before they are \
                 sent; commit first"
            }
            Misuse::BatchOverRing => {
                "aggregate posts fill the ring (256 KiB less one unit of 32 bytes) without a commit: the engine never starts, \
                 so that room never comes; commit sooner"
            }
            Misuse::BroadcastMisaligned => {
                "the two destinations of a broadcast differ in their low five bits: the second would be written shifted; \
                 align both to 32 bytes"
            }
            Misuse::SourceRank => {
                "a signal is awaited from a rank that this node does not have: signals are numbered by lsa_rank, not by the \
                 rank of the job"
            }
            Misuse::ExpectedTooLarge => {
                "an engine compares 32 bits, and the expected count is 2^32 or more: it would be released early; make a new \
                 communicator"
            }
            Misuse::RingingBehindAggregate => {
                "a post that rings stands behind aggregate posts of the same queue that nobody commits: its turn never comes; \
                 commit them first"
            }
            Misuse::CommittedTwice => {
                "two waves commit one queue at once: the doorbell may go backwards; let one wave commit"
            }
            Misuse::EmptyPutSignals => {
                "a put of zero bytes posts nothing, its signal included: a peer that counts it waits forever; post the bare \
                 signal, or use a fused wait and put"
            }
            Misuse::QueueOutOfRange => {
                "the communicator does not have this queue, so that the call does nothing: ask for more queues, or name one \
                 below their number"
            }
            Misuse::PeerOutOfRange => {
                "the queue leads to a rank that this node does not have: peers are numbered by lsa_rank, below lsa_size"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_apart_and_known() {
        for (n, misuse) in Misuse::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(misuse.code()), 64 + n);
            assert_eq!(Misuse::of_code(misuse.code().into()), Some(misuse));
        }
        assert_eq!(Misuse::of_code(2), None);
    }
}

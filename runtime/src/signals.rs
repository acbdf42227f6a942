//! Running totals of signals, kept across the launches of one communicator.
//!
//! A signal slot is a 64-bit counter per (source rank, queue id) that nobody resets, so the value to wait for in a launch is
//! what all earlier launches added plus what this one adds. One [`SignalTotals`] belongs to one rank of one communicator and
//! covers the slots in that rank's pool.
//!
//! What must hold here: a launch is counted whole or not at all; a total never reaches 2^32, because the copy engine compares
//! 32 bits only and would release a wait early (and unsigned "greater or equal" misbehaves across the wrap).

use std::collections::BTreeMap;

use crate::rank::LsaRank;

/// No total may reach this.
pub const TOTAL_LIMIT: u64 = 1 << 32;

/// What one launch adds to one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalAdd {
    /// Who raises the signal.
    pub source: LsaRank,
    /// The queue id of its notifies.
    pub queue: u32,
    /// How often in this launch.
    pub count: u64,
}

/// A launch that the signals do not allow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignalError {
    /// A total would reach 2^32.
    #[error(
        "the signals from {source_rank} on queue {queue} stand at {total}, and this launch adds {count}: a total of 2^32 or more \
         is beyond what the copy engine compares, make a new communicator"
    )]
    Exhausted {
        /// Who raises the signal.
        source_rank: LsaRank,
        /// The queue id.
        queue: u32,
        /// Total before the launch.
        total: u64,
        /// What the launch would add.
        count: u64,
    },
    /// The formula of a signal has no sensible value.
    #[error(
        "kernel `{kernel}`: the number of notifies of `{signal}` from {source_rank} in this launch is `{text}`, which is {value} here"
    )]
    Count {
        /// The kernel.
        kernel: String,
        /// The signal.
        signal: String,
        /// Who raises it.
        source_rank: LsaRank,
        /// The formula for people.
        text: String,
        /// Its value in words.
        value: String,
    },
    /// Nobody knows what the slots hold, and they cannot be read at the right moment.
    #[error(
        "how often kernel `{kernel}` has raised signals is not known, and this process does not drive all ranks of the node: \
         wait until the launch has ended on all of them, then read the totals anew"
    )]
    Unknown {
        /// The kernel that raised them.
        kernel: String,
    },
    /// A slot holds another value than the formulas say.
    #[error(
        "{at}: the signal from {source_rank} on queue {queue} stands at {found}, launches so far raised it {expected} times"
    )]
    Differs {
        /// Whose slot it is.
        at: LsaRank,
        /// Who raises the signal.
        source_rank: LsaRank,
        /// The queue id.
        queue: u32,
        /// What the slot holds.
        found: u64,
        /// What it should hold.
        expected: u64,
    },
}

/// The totals of one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignalTotals {
    totals: BTreeMap<(LsaRank, u32), u64>,
}

impl SignalTotals {
    /// All totals zero, as in a communicator just made.
    pub fn new() -> Self {
        SignalTotals::default()
    }

    /// The total of a slot so far: the base that a launch starts from.
    pub fn total(&self, source: LsaRank, queue: u32) -> u64 {
        self.totals.get(&(source, queue)).copied().unwrap_or(0)
    }

    /// What a slot holds, as it was read from memory.
    pub fn set(&mut self, source: LsaRank, queue: u32, total: u64) {
        self.totals.insert((source, queue), total);
    }

    /// Counts a launch. Returns the base of each entry: the total of its slot before this launch. Several entries may name
    /// the same slot; they add up, and all get the same base.
    ///
    /// # Errors
    /// [`SignalError::Exhausted`] if a total would reach 2^32; then nothing was counted and the launch must not run.
    pub fn launch(&mut self, adds: &[SignalAdd]) -> Result<Vec<u64>, SignalError> {
        let mut after: BTreeMap<(LsaRank, u32), u64> = BTreeMap::new();
        for add in adds {
            let slot = (add.source, add.queue);
            let total = after.get(&slot).copied().unwrap_or_else(|| self.total(add.source, add.queue));
            match total.checked_add(add.count) {
                Some(sum) if sum < TOTAL_LIMIT => after.insert(slot, sum),
                _ => {
                    return Err(SignalError::Exhausted {
                        source_rank: add.source,
                        queue: add.queue,
                        total,
                        count: add.count,
                    });
                }
            };
        }
        let bases = adds.iter().map(|add| self.total(add.source, add.queue)).collect();
        self.totals.extend(after);
        Ok(bases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(source: u32, queue: u32, count: u64) -> SignalAdd {
        SignalAdd { source: LsaRank::new(source), queue, count }
    }

    #[test]
    fn totals_run_on_across_launches() {
        let mut totals = SignalTotals::new();
        assert_eq!(totals.launch(&[add(1, 0, 3), add(1, 1, 5)]), Ok(vec![0, 0]));
        assert_eq!(totals.launch(&[add(1, 0, 2), add(2, 0, 1)]), Ok(vec![3, 0]));
        assert_eq!(totals.total(LsaRank::new(1), 0), 5);
        assert_eq!(totals.total(LsaRank::new(1), 1), 5, "queues count apart");
        assert_eq!(totals.total(LsaRank::new(2), 0), 1, "sources count apart");
        assert_eq!(totals.total(LsaRank::new(2), 1), 0);
    }

    #[test]
    fn entries_of_one_slot_add_up() {
        let mut totals = SignalTotals::new();
        assert_eq!(totals.launch(&[add(1, 0, 3), add(1, 0, 4)]), Ok(vec![0, 0]));
        assert_eq!(totals.total(LsaRank::new(1), 0), 7);
        let half = TOTAL_LIMIT / 2;
        assert!(totals.launch(&[add(3, 0, half), add(3, 0, half)]).is_err());
    }

    #[test]
    fn a_total_of_two_to_the_32_is_refused_and_nothing_counted() {
        let mut totals = SignalTotals::new();
        assert_eq!(totals.launch(&[add(0, 2, TOTAL_LIMIT - 1)]), Ok(vec![0]));
        let before = totals.clone();
        let error = totals.launch(&[add(1, 0, 1), add(0, 2, 1)]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the signals from lsa rank 0 on queue 2 stand at 4294967295, and this launch adds 1: a total of 2^32 or more is \
             beyond what the copy engine compares, make a new communicator"
        );
        assert_eq!(totals, before);
        assert!(totals.launch(&[add(0, 2, u64::MAX)]).is_err());
        assert_eq!(totals.launch(&[add(0, 2, 0)]), Ok(vec![TOTAL_LIMIT - 1]));
    }
}

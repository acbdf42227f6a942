//! The simulator's only source of chance: a small generator that gives the same numbers for the same seed on every machine.
//!
//! What must hold here: no global state and no entropy from outside; a run is replayed by its seed alone. The generator is the
//! 64-bit multiply-xorshift finaliser over a counter (its constants are those of the public-domain SplitMix64 generator),
//! which is more than good enough to vary schedules and is never used for anything else.

/// A seeded generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: u64,
}

/// Step of the counter: the odd number next to 2^64 divided by the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Rng {
    /// The generator of `seed`; different seeds give unrelated sequences.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// An independent generator for the part of the machine that `tag` names; it does not advance `self`, so one part may
    /// draw more numbers without moving the others.
    pub fn fork(&self, tag: u64) -> Self {
        let mut mixed = Self { state: self.state ^ tag.wrapping_mul(STEP).rotate_left(17) };
        Self { state: mixed.next_u64() }
    }

    /// The next 64 bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// The next 32 bits.
    pub const fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// A number below `bound`; zero if `bound` is zero. The bias is below 2^-32 and of no matter to schedules.
    pub const fn below(&mut self, bound: u32) -> u32 {
        ((self.next_u32() as u64 * bound as u64) >> 32) as u32
    }

    /// True `numerator` times out of `denominator`.
    pub const fn chance(&mut self, numerator: u32, denominator: u32) -> bool {
        self.below(denominator) < numerator
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;

    #[test]
    fn same_seed_same_numbers() {
        let mut a = Rng::new(7);
        let mut b = Rng::new(7);
        let mut c = Rng::new(8);
        let first: Vec<u64> = (0..8).map(|_| a.next_u64()).collect();
        assert_eq!(first, (0..8).map(|_| b.next_u64()).collect::<Vec<_>>());
        assert_ne!(first, (0..8).map(|_| c.next_u64()).collect::<Vec<_>>());
    }

    #[test]
    fn the_published_first_number() {
        assert_eq!(Rng::new(0).next_u64(), 0xe220_a839_7b1d_cdaf, "first output of SplitMix64 for seed 0");
    }

    #[test]
    fn below_stays_below_and_reaches_all() {
        let mut rng = Rng::new(1);
        let mut seen = [0u32; 5];
        for _ in 0..1000 {
            seen[rng.below(5) as usize] += 1;
        }
        assert!(seen.iter().all(|count| *count > 120), "{seen:?}");
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.below(1), 0);
    }

    #[test]
    fn forks_differ_and_leave_the_parent_alone() {
        let mut parent = Rng::new(3);
        let mut left = parent.fork(1);
        let mut right = parent.fork(2);
        assert_ne!(left.next_u64(), right.next_u64());
        assert_eq!(parent.next_u64(), Rng::new(3).next_u64());
    }
}

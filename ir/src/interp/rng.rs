//! The one random number generator of the executors: splitmix64 (Steele, Lea, Flood 2014: "Fast splittable pseudorandom
//! number generators"). Small, good enough for scheduling and test data, and the same on every machine.

/// A splitmix64 generator.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// A generator; equal seeds give equal sequences.
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64 { state: seed }
    }

    /// A generator for one of several independent streams of the same seed.
    pub fn stream(seed: u64, stream: u64) -> SplitMix64 {
        let mut g = SplitMix64::new(seed ^ stream.wrapping_mul(0xD1B5_4A32_D192_ED03));
        g.state = g.next();
        g
    }

    /// The next 64 bits.
    #[expect(clippy::should_implement_trait, reason = "an endless generator, not an iterator")]
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 if `n` is 0. The bias of the modulus does not matter here.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.next() % n as u64) as usize }
    }

    /// True once in `n` on average.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference values of the published algorithm for seed 1234567.
    #[test]
    fn known_sequence() {
        let mut g = SplitMix64::new(1_234_567);
        assert_eq!(
            [g.next(), g.next(), g.next()],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn streams_differ() {
        assert_ne!(SplitMix64::stream(1, 0).next(), SplitMix64::stream(1, 1).next());
    }
}

//! Which wave runs next, and for how long.
//!
//! What must hold here: the choice depends on the schedule, the seed and the set of waves that can run, and on nothing else.

use crate::rng::Rng;

/// How waves take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// The first wave that can run, in the order of their start, until it ends or blocks; what it stored is in memory before
    /// the next one runs. One that has executed `turn`
    /// instructions without either (it polls) lets the next one run.
    Sequential {
        /// Instructions of one turn.
        turn: u32,
    },
    /// One instruction of each wave in turn.
    RoundRobin,
    /// A random wave for 1 to `slice` instructions.
    Random {
        /// Most instructions of one turn.
        slice: u32,
    },
}

impl Default for Schedule {
    fn default() -> Self {
        Self::Random { slice: 32 }
    }
}

/// Where the taking of turns stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    /// For the orderly schedules: how many turns were given.
    next: usize,
    /// Whether the wave of the last turn gave it up: it polls, sleeps, or used its turn up.
    passed: bool,
}

impl Turns {
    /// Index among `ready` waves (not empty) of the one that runs, and for how many instructions.
    pub(crate) fn pick(&mut self, schedule: Schedule, ready: usize, rng: &mut Rng) -> (usize, u32) {
        match schedule {
            Schedule::Sequential { turn } => {
                // The same wave goes on (others before it may have ended: the index then names the next one) unless it passed.
                if std::mem::take(&mut self.passed) {
                    self.next += 1;
                }
                if self.next >= ready {
                    self.next = 0;
                }
                (self.next, turn.max(1))
            }
            Schedule::RoundRobin => {
                let index = self.next % ready;
                self.next = index + 1;
                (index, 1)
            }
            Schedule::Random { slice } => (rng.below(ready as u32) as usize, 1 + rng.below(slice.max(1))),
        }
    }

    /// The wave that had the turn gave it up before it ended.
    pub(crate) fn pass(&mut self) {
        self.passed = true;
    }
}

#[cfg(test)]
mod tests {
    use super::{Schedule, Turns};
    use crate::rng::Rng;

    #[test]
    fn sequential_keeps_its_wave_until_it_passes() {
        let (mut turns, mut rng) = (Turns::default(), Rng::new(1));
        let mut pick = |turns: &mut Turns| turns.pick(Schedule::Sequential { turn: 9 }, 3, &mut rng);
        assert_eq!(pick(&mut turns), (0, 9));
        assert_eq!(pick(&mut turns), (0, 9));
        turns.pass();
        assert_eq!(pick(&mut turns), (1, 9));
        turns.pass();
        assert_eq!(pick(&mut turns), (2, 9));
        turns.pass();
        assert_eq!(pick(&mut turns), (0, 9));
    }

    #[test]
    fn round_robin_gives_one_instruction_each() {
        let (mut turns, mut rng) = (Turns::default(), Rng::new(1));
        let order: Vec<_> = (0..5).map(|_| turns.pick(Schedule::RoundRobin, 2, &mut rng)).collect();
        assert_eq!(order, [(0, 1), (1, 1), (0, 1), (1, 1), (0, 1)]);
    }

    #[test]
    fn random_reaches_every_wave_and_length() {
        let (mut turns, mut rng) = (Turns::default(), Rng::new(1));
        let mut seen = [[false; 3]; 4];
        for _ in 0..500 {
            let (wave, length) = turns.pick(Schedule::Random { slice: 3 }, 4, &mut rng);
            seen[wave][length as usize - 1] = true;
        }
        assert_eq!(seen, [[true; 3]; 4]);
    }
}

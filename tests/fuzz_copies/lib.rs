//! Random copies, proved by execution: each is compiled with every variant that accepts it, executed lane by lane, and
//! compared with the reference interpreter.
//!
//! A [`Case`] is a kernel with one copy under test, as data: it can be printed as a `.tile` file, run, and made smaller.
//! Around the copy stands a frame that fills what it reads and what it may overwrite with random bytes, and afterwards
//! brings registers and shared memory back to device memory, each replica by itself. Compared is every byte of every
//! buffer, those between and behind the elements included; `lanes` watches the bytes around each buffer.
//!
//! Must hold: a case is made from its number and the seed alone; nothing here knows how a copy is carried.

mod case;
mod generate;
mod owners;
mod peers;
mod run;
mod shrink;
#[path = "../trace_picture/mod.rs"]
pub mod trace_picture;

pub use case::{Begin, Case, Compare, Guard, Place, Side};
pub use generate::generate;
pub use run::{Outcome, Trial, check, check_text};
pub use shrink::shrink;

use std::collections::BTreeMap;

/// The cases of a run, counted.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Cases whose copy was executed at least once.
    pub cases: u64,
    /// Executions that were compared, one a target and variant.
    pub runs: u64,
    /// The same by target and variant.
    pub by_variant: BTreeMap<(&'static str, &'static str), u64>,
    /// Cases that no executor was asked about, by reason: what the verifier, the reference or every variant refuses.
    pub refused: BTreeMap<String, u64>,
}

impl Counts {
    /// Adds what came of one case.
    pub fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Refused(why) => *self.refused.entry(why.clone()).or_default() += 1,
            Outcome::Equal(trials) => {
                self.cases += 1;
                self.runs += trials.len() as u64;
                for t in trials {
                    *self.by_variant.entry((t.target, t.variant)).or_default() += 1;
                }
            }
            Outcome::Mismatch { .. } => self.cases += 1,
        }
    }

    /// Adds the counts of another run.
    pub fn merge(&mut self, other: &Counts) {
        self.cases += other.cases;
        self.runs += other.runs;
        for (k, n) in &other.by_variant {
            *self.by_variant.entry(*k).or_default() += n;
        }
        for (k, n) in &other.refused {
            *self.refused.entry(k.clone()).or_default() += n;
        }
    }

    /// A few lines for people: what ran on what, and what was refused.
    pub fn summary(&self) -> String {
        let mut out = String::new();
        for ((target, variant), n) in &self.by_variant {
            out.push_str(&format!("  {target:8} {variant:12} {n:>9} runs\n"));
        }
        for (why, n) in &self.refused {
            out.push_str(&format!("  refused: {why:40} {n:>9}\n"));
        }
        out
    }
}

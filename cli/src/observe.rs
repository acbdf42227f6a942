//! Watching the passes: what `--print-after` prints and `--time` measures.

use tilewright_ir::Module;
use tilewright_ir::text::print;
use tilewright_passes::pipeline::{Observer, Pass};

use crate::session::Clock;
use crate::table::{table, time};

/// Prints after some passes and times all.
#[derive(Debug)]
pub(crate) struct Watcher {
    print_after: Vec<&'static str>,
    printed: String,
    started: Clock,
    times: Vec<(&'static str, u64)>,
}

impl Watcher {
    /// A watcher that keeps the module's text after each of these passes.
    pub(crate) fn new(print_after: &[&'static Pass]) -> Watcher {
        Watcher {
            print_after: print_after.iter().map(|pass| pass.name).collect(),
            printed: String::new(),
            started: Clock::start(),
            times: Vec::new(),
        }
    }

    /// What there is to print, so far.
    pub(crate) fn take_printed(&mut self) -> String {
        std::mem::take(&mut self.printed)
    }

    /// Adds a time that was taken elsewhere (the backend's), in nanoseconds.
    pub(crate) fn add(&mut self, name: &'static str, nanoseconds: u64) {
        self.times.push((name, nanoseconds));
    }

    /// Nanoseconds that the passes took together.
    pub(crate) fn total(&self) -> u64 {
        self.times.iter().fold(0, |sum, (_, ns)| sum.saturating_add(*ns))
    }

    /// The table of times, in the order of the passes.
    pub(crate) fn times(&self) -> String {
        let mut rows = vec![vec!["pass".to_string(), "time".to_string()]];
        let all = self.times.iter().copied().chain([("total", self.total())]);
        rows.extend(all.map(|(name, ns)| vec![name.to_string(), time(ns.saturating_mul(1000))]));
        table(&rows, 0)
    }
}

impl Observer for Watcher {
    fn before(&mut self, _: &Pass, _: &Module) {
        self.started = Clock::start();
    }

    fn after(&mut self, pass: &Pass, module: &Module) {
        self.times.push((pass.name, self.started.nanoseconds()));
        if self.print_after.contains(&pass.name) {
            // A comment line first, so that what is printed still parses.
            self.printed.push_str(&format!("// after {}\n{}\n", pass.name, print(module)));
        }
    }
}

//! What came of a bundle, as text and as JSON.

use serde_json::{Value, json};
use tilewright_artifact::{Bundle, Part, Report, checked_line, report_text};

use crate::args::Args;
use crate::trial::Trial;

/// All of it.
pub(crate) struct Answer {
    source: String,
    seed: u64,
    parts: Vec<PartAnswer>,
    /// Targets whose code nothing here takes, and why.
    refused: Vec<(String, String)>,
    /// Kernels of run blocks that ran nowhere.
    not_run: Vec<String>,
}

/// One target that was run.
pub(crate) struct PartAnswer {
    report: Report,
    device: &'static str,
    trials: Vec<Trial>,
}

impl PartAnswer {
    pub(crate) fn new(part: &Part, device: &'static str) -> PartAnswer {
        PartAnswer { report: part.artifact.to_report(), device, trials: Vec::new() }
    }

    pub(crate) fn add(&mut self, trial: Trial) {
        self.trials.push(trial);
    }
}

impl Answer {
    pub(crate) fn new(bundle: &Bundle, args: &Args) -> Answer {
        Answer {
            source: bundle.source.clone(),
            seed: args.seed,
            parts: Vec::new(),
            refused: Vec::new(),
            not_run: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, part: PartAnswer) {
        // A target that no run block allows has nothing to say.
        if !part.trials.is_empty() {
            self.parts.push(part);
        }
    }

    pub(crate) fn refused(&mut self, target: &str, why: String) {
        self.refused.push((target.to_owned(), why));
    }

    pub(crate) fn not_run(&mut self, kernel: &str) {
        self.not_run.push(kernel.to_owned());
    }

    /// Whether every run block ran somewhere, and none failed.
    pub(crate) fn is_good(&self) -> bool {
        self.not_run.is_empty() && self.faults().next().is_none()
    }

    /// What went wrong while something ran.
    pub(crate) fn faults(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flat_map(|part| &part.trials).filter_map(|trial| trial.fault.as_deref())
    }

    /// Targets of the bundle that were left out, though their run blocks ran elsewhere.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let told = !self.not_run.is_empty();
        self.reasons().filter(move |_| !told).map(|why| format!("not run for {why}"))
    }

    /// Why nothing runs the rest, one sentence a target.
    fn reasons(&self) -> impl Iterator<Item = String> {
        self.refused.iter().map(|(target, why)| format!("{target}: {why}"))
    }

    /// For people: for each target the report of its copies, then a line for each run block; last what did not run.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        for part in &self.parts {
            out.push_str(&report_text(&part.report, &self.source));
            for trial in part.trials.iter().filter(|trial| trial.fault.is_none()) {
                let seeds = match trial.seeds {
                    1 => format!("seed {}", self.seed),
                    n => format!("{n} seeds"),
                };
                let how = format!("{} against the reference, {seeds}", part.device);
                let (bytes, ranks) = (trial.bytes, trial.ranks as u64);
                out.push_str(&checked_line(bytes, ranks, &trial.kernel, &part.report.target, &how));
            }
        }
        for kernel in &self.not_run {
            out.push_str(&format!("not run: `{kernel}`\n"));
            self.reasons().for_each(|why| out.push_str(&format!("  {why}\n")));
        }
        out
    }

    pub(crate) fn json(&self) -> String {
        let trial = |trial: &Trial| {
            json!({
                "kernel": trial.kernel, "ranks": trial.ranks, "bytes": trial.bytes, "seeds": trial.seeds,
                "ok": trial.fault.is_none(), "fault": trial.fault,
            })
        };
        let part = |part: &PartAnswer| {
            let runs: Vec<Value> = part.trials.iter().map(trial).collect();
            json!({
                "target": part.report.target, "device": part.device, "seed": self.seed, "runs": runs,
                "copies": part.report.copies,
            })
        };
        let refused = |(target, why): &(String, String)| json!({ "target": target, "why": why });
        let all = json!({
            "file": self.source,
            "ok": self.is_good(),
            "parts": self.parts.iter().map(part).collect::<Vec<_>>(),
            "refused": self.refused.iter().map(refused).collect::<Vec<_>>(),
            "not_run": self.not_run,
        });
        format!("{all:#}\n")
    }
}

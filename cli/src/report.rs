//! The copy report: from the decisions of `passes` to the data of `artifact`, and to JSON.
//!
//! Must hold: the JSON form is exactly the serialised `artifact::Report`.

use tilewright_artifact::{
    CandidateReport, ConflictReport, CopyReport, CostReport, ParamValue, Params, Report, Verdict,
};
use tilewright_passes::pipeline::{self, CandidateDecision, CopyDecision};
use tilewright_passes::select;
use tilewright_target::Basis;

use crate::Compiled;

/// The decisions as the data that is kept and printed. `text` is the source, for line numbers.
pub fn report(target: &str, decisions: &[CopyDecision], text: &str) -> Report {
    let lines = LineStarts::new(text);
    Report { target: target.to_string(), copies: decisions.iter().map(|d| copy_report(d, &lines)).collect() }
}

fn copy_report(decision: &CopyDecision, lines: &LineStarts) -> CopyReport {
    let mut params = Params::new();
    for (name, value) in &decision.params {
        params.push(
            *name,
            match value {
                select::ParamValue::Int(v) => ParamValue::Int(*v),
                select::ParamValue::Bool(v) => ParamValue::Bool(*v),
                select::ParamValue::Text(v) => ParamValue::Text(v.clone()),
            },
        );
    }
    CopyReport {
        kernel: decision.kernel.to_string(),
        line: lines.line(decision.span.lo),
        copy: decision.copy.clone(),
        chosen: Some(decision.chosen.to_string()),
        params,
        conflicts: decision
            .conflicts
            .iter()
            .map(|c| ConflictReport { buffer: c.operand.to_string(), ways: c.ways })
            .collect(),
        candidates: decision.candidates.iter().map(|candidate| candidate_report(candidate, decision)).collect(),
        suggest: Vec::new(),
    }
}

fn candidate_report(candidate: &CandidateDecision, decision: &CopyDecision) -> CandidateReport {
    let (verdict, mut reason) = match &candidate.verdict {
        pipeline::Verdict::Chosen => (Verdict::Chosen, why_chosen(decision)),
        pipeline::Verdict::Lost(why) => (Verdict::Lost, why.clone()),
        pipeline::Verdict::Rejected(why, fix) => {
            (Verdict::Rejected, fix.as_ref().map_or(why.clone(), |fix| format!("{why}; fix: {fix}")))
        }
    };
    for note in &candidate.notes {
        reason.push_str("; ");
        reason.push_str(note);
    }
    let cost = candidate
        .cost
        .map(|cost| CostReport { picoseconds: cost.picoseconds, measured: cost.basis == Basis::Measured });
    CandidateReport { variant: candidate.variant.to_string(), verdict, reason, cost }
}

/// What the chosen one has over the others: they say themselves why they lost or do not fit.
fn why_chosen(decision: &CopyDecision) -> String {
    match decision.candidates.iter().filter(|c| !matches!(c.verdict, pipeline::Verdict::Rejected(..))).count() {
        _ if decision.forced => "forced".to_string(),
        0 | 1 => "the only one that fits".to_string(),
        fit => format!("the best of {fit} that fit"),
    }
}

/// Where lines begin: many copies are looked up in one text.
struct LineStarts(Vec<u32>);

impl LineStarts {
    fn new(text: &str) -> LineStarts {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        LineStarts(newlines.map(|(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX)).collect())
    }

    /// One-based line of a byte offset.
    fn line(&self, at: u32) -> u32 {
        1 + u32::try_from(self.0.partition_point(|start| *start <= at)).unwrap_or(u32::MAX - 1)
    }
}

/// The report for people: a head for each copy, then one line for each candidate and for each suggestion.
pub fn table(compiled: &Compiled, name: &str) -> String {
    tilewright_artifact::report_text(&compiled.report, name)
}

/// The report as JSON, with a newline at the end.
pub fn json(report: &Report) -> String {
    // Plain data with string keys: this cannot fail; if it ever did, `null` parses and is visibly wrong.
    let text = serde_json::to_string_pretty(report).unwrap_or_else(|_| "null".to_string());
    format!("{text}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        let lines = LineStarts::new("a\nbc\n\nd");
        let at: Vec<u32> = [0, 1, 2, 4, 5, 6, 99].map(|at| lines.line(at)).to_vec();
        assert_eq!(at, [1, 1, 2, 2, 3, 4, 4]);
    }
}

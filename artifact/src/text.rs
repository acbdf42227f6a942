//! The copy report as text for people.
//!
//! What must hold here: the text shows everything that the data hold; the compiler and the small runner print the same.

use crate::table::{table as aligned, time};
use crate::{CandidateReport, ConflictReport, CopyReport, Report};

/// The report for people: a head for each copy (place, copy, what was taken, how it gets on at the banks of shared memory),
/// then one line for each candidate and for each suggestion.
pub fn report_text(report: &Report, name: &str) -> String {
    if report.copies.is_empty() {
        return format!("no copies in {name} for {}\n", report.target);
    }
    let mut out = String::new();
    for copy in &report.copies {
        out.push_str(&head(copy, &report.target, name));
        let rows: Vec<Vec<String>> = copy.candidates.iter().map(row).collect();
        out.push_str(&aligned(&rows, 4));
        copy.suggest.iter().for_each(|text| out.push_str(&format!("    suggest: {text}\n")));
        out.push('\n');
    }
    let costs = || report.copies.iter().flat_map(|copy| &copy.candidates).filter_map(|c| c.cost);
    if costs().any(|cost| !cost.measured) {
        out.push_str("? this cost rests on figures that nobody has measured on this chip\n");
    }
    out
}

/// The line of a run block that was found to be right. `how` says on what device it ran and what it was compared with.
pub fn checked_line(bytes: u64, ranks: u64, kernel: &str, target: &str, how: &str) -> String {
    format!("checked {bytes} bytes on {ranks} ranks: `{kernel}` for {target}, {how}\n")
}

/// `ring_shift.tile:9: copy recv@next <- send by cta` and what was taken.
fn head(copy: &CopyReport, target: &str, name: &str) -> String {
    let params: Vec<String> = copy.params.0.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    let params = if params.is_empty() { String::new() } else { format!(" ({})", params.join(", ")) };
    let chosen = copy.chosen.as_deref().unwrap_or("nothing fits");
    let banks = |c: &ConflictReport| match c.ways {
        0 | 1 => format!("`{}` without bank conflicts", c.buffer),
        ways => format!("`{}` with {ways}-way bank conflicts", c.buffer),
    };
    let banks: Vec<String> = copy.conflicts.iter().map(banks).collect();
    let banks = if banks.is_empty() { String::new() } else { format!("  shared memory: {}\n", banks.join(", ")) };
    format!("{name}:{}: copy {}\n  in `{}` on {target}: {chosen}{params}\n{banks}", copy.line, copy.copy, copy.kernel)
}

fn row(candidate: &CandidateReport) -> Vec<String> {
    let cost = candidate
        .cost
        .map_or("-".to_string(), |cost| format!("{}{}", time(cost.picoseconds), if cost.measured { "" } else { "?" }));
    vec![candidate.variant.clone(), candidate.verdict.to_string(), cost, candidate.reason.clone()]
}

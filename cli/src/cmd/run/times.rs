//! What a run took in virtual time: as JSON, and as a trace in a file.
//!
//! Must hold: times in JSON are whole picoseconds; a trace is of runs that went well only.

use serde_json::{Value, json};
use tilewright_sim::time::{MAX_EVENTS, RankTime, chrome_json};

use super::Outcome;
use crate::Compiled;
use crate::session::Session;

/// The times of each rank.
pub(super) fn json(ranks: &[RankTime]) -> Value {
    let of = |rank: &RankTime| {
        let queues = rank.queues.iter().map(|q| {
            json!({ "peer": q.queue.peer, "queue": q.queue.queue, "packets": q.packets, "busy_ps": q.busy, "end_ps": q.end })
        });
        let links = rank.links.iter().map(|l| json!({ "to": l.to, "bytes": l.bytes, "busy_ps": l.busy }));
        json!({
            "rank": rank.rank,
            "start_ps": rank.start,
            "end_ps": rank.end,
            "waves": rank.waves,
            "instructions": rank.instructions,
            "waited_ps": rank.waited,
            "queues": queues.collect::<Vec<_>>(),
            "links": links.collect::<Vec<_>>(),
        })
    };
    ranks.iter().map(of).collect()
}

/// The traces of all run blocks as one file: a process for each rank of each block.
pub(super) fn trace(
    (file, seed): (&str, u64),
    compiled: &Compiled,
    outcomes: &mut [Outcome<'_>],
    session: &mut Session,
) -> Vec<u8> {
    let mut runs = Vec::new();
    for (index, outcome) in outcomes.iter_mut().enumerate() {
        if let Some(trace) = outcome.times.trace.take() {
            runs.push((format!("{} {index}", outcome.run.kernel), trace));
        }
    }
    let cut: u64 = runs.iter().map(|(_, trace)| trace.cut).sum();
    if cut > 0 {
        session.say(&format!(
            "note: the trace lacks {cut} events: a run block is given {MAX_EVENTS}, and the first 1024 of its waves\n"
        ));
    }
    let about = [
        ("file", file.to_owned()),
        ("target", compiled.target.name.to_owned()),
        ("seed", seed.to_string()),
        ("clock", "virtual time, by the cost table of the target; it is no evidence about hardware".to_owned()),
    ];
    chrome_json(&runs, &about).into_bytes()
}

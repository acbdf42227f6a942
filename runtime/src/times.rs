//! Virtual times of a simulated launch, as a table for people.
//!
//! What must hold here: everything that is shown says that it is a prediction by a cost table, for nobody has run it.

use tilewright_artifact::table::{table, time};
use tilewright_sim::time::RankTime;
use tilewright_target::{Basis, Target};

/// A line for each rank: how long it took, what its waves waited for, what its engines did and where the bytes went. Empty if
/// there are no times.
pub fn summary(target: &Target, times: &[RankTime]) -> String {
    if times.is_empty() {
        return String::new();
    }
    let basis = target.costs.sdma.map_or(Basis::Unmeasured, |sdma| sdma.latency.basis);
    let whose = match basis {
        Basis::Measured => format!("figures measured on {}", target.name),
        Basis::Unmeasured => format!("figures that nobody measured on {}", target.name),
    };
    let heads = ["rank", "time", "waves", "instructions", "in polls", "packets", "engines busy", "sent"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for rank in times {
        let (packets, busy) =
            rank.queues.iter().fold((0, 0), |(n, busy), queue| (n + queue.packets, busy + queue.busy));
        rows.push(vec![
            rank.rank.to_string(),
            time(rank.end - rank.start),
            rank.waves.to_string(),
            rank.instructions.to_string(),
            time(rank.waited),
            packets.to_string(),
            time(busy),
            sent(rank),
        ]);
    }
    format!("virtual time, by {whose}; it is no evidence about hardware:\n{}", table(&rows, 2))
}

/// `4096 B to 1, 4096 B to 2`, or how much to how many.
fn sent(rank: &RankTime) -> String {
    let links: Vec<_> = rank.links.iter().filter(|link| link.bytes > 0).collect();
    match links.as_slice() {
        [] => "nothing".to_owned(),
        [one] => format!("{} B to rank {}", one.bytes, one.to),
        all if all.iter().all(|link| link.bytes == all[0].bytes) => {
            let to: Vec<String> = all.iter().map(|link| link.to.to_string()).collect();
            format!("{} B each to ranks {}", all[0].bytes, to.join(", "))
        }
        all => {
            let each: Vec<String> = all.iter().map(|link| format!("{} B to {}", link.bytes, link.to)).collect();
            each.join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use tilewright_sim::sdma::QueueId;
    use tilewright_sim::time::{LinkTime, QueueTime};

    use super::*;

    #[test]
    fn a_rank_is_a_line() {
        let queue =
            |peer| QueueTime { queue: QueueId { rank: 0, peer, queue: 0 }, packets: 2, busy: 4_000_000, end: 9 };
        let link = |to, bytes| LinkTime { to, bytes, busy: 0 };
        let mut rank = RankTime {
            rank: 0,
            start: 1_000_000,
            end: 12_000_000,
            waves: 1,
            instructions: 120,
            waited: 500,
            queues: vec![queue(1), queue(2)],
            links: vec![link(1, 64), link(2, 64)],
        };
        let text = summary(&tilewright_target::GFX950, &[rank.clone()]);
        let line = text.lines().nth(2).expect("a rank");
        assert_eq!(
            line,
            "  0     11.0 us  1      120           500 ps    4        8.00 us       64 B each to ranks 1, 2"
        );
        assert!(text.starts_with("virtual time, by figures measured on gfx950"), "{text}");
        assert!(summary(&tilewright_target::GFX942, &[rank.clone()]).contains("nobody measured"));
        rank.links = vec![link(1, 64), link(2, 32)];
        assert!(sent(&rank) == "64 B to 1, 32 B to 2");
        assert_eq!(summary(&tilewright_target::GFX950, &[]), "");
    }
}

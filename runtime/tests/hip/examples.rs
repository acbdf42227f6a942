//! Every example, every AMD chip, several ranks and seeds: the bytes that the reference interpreter left.

use std::collections::BTreeSet;

use crate::{bundles, cases, fake};

/// Schedules to try for each.
const SEEDS: u64 = 20;

#[test]
fn every_example_leaves_what_the_reference_leaves() {
    let _lock = fake::lock();
    let (mut runs, mut bytes) = (0, 0);
    let (mut targets, mut ranks_tried, mut examples) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for (name, bundle) in bundles() {
        for case in cases(&bundle) {
            let args = case.args();
            let ranks = args.len() as u32;
            for seed in 0..SEEDS {
                let place = format!("{name} on {}, seed {seed}", case.target());
                let comm = fake::comm(case.target(), ranks, case.launch.kernel.min_queues, seed);
                let prepared = comm.prepare(&case.part.artifact.code, &case.launch(&args));
                let prepared = prepared.unwrap_or_else(|error| panic!("{place}: {error}"));
                prepared.run().unwrap_or_else(|error| panic!("{place}: {error}"));
                let left = prepared.buffers().unwrap_or_else(|error| panic!("{place}: {error}"));
                bytes += case.compare(&left, &place);
                comm.check_totals().unwrap_or_else(|error| panic!("{place}: {error}"));
                runs += 1;
            }
            targets.insert(case.target().to_owned());
            ranks_tried.insert(ranks);
        }
        examples.insert(bundle.source.clone());
    }
    println!("{runs} runs, {bytes} bytes compared; {targets:?}, ranks {ranks_tried:?}, {examples:?}");
    assert!(targets.len() >= 2 && targets.iter().all(|name| name.starts_with("gfx")), "{targets:?}");
    assert_eq!(ranks_tried.into_iter().collect::<Vec<_>>(), [1, 2, 4, 8]);
    assert!(examples.len() >= 9, "{examples:?}");
}

//! The hip device over the fake HIP library (`testing/fake-hip`), and over AMD's own where that finds no device.
//!
//! Which library is underneath is decided by `LD_LIBRARY_PATH`; `.ci/hip` runs this binary over both. Bundles come from the
//! folder `TW_HIP_BUNDLES`: every example, for every AMD chip, on 1, 2, 4 and 8 ranks, with what the reference interpreter
//! leaves.
//!
//! What must hold: the fake's node is one of the whole process, so a test holds the lock while it runs; a test that needs the
//! fake fails where it is missing.

#![expect(unsafe_code, reason = "the fake is a C library, and so is a provider")]

mod errors;
mod examples;
mod fake;
mod mori;

use std::path::PathBuf;

use tilewright_artifact::{Bundle, CaseLaunch, Part, RunCase};
use tilewright_runtime::device::{Launch, RankArgs, RankBuffers};

/// A run block of a bundle on one target.
struct Case<'a> {
    bundle: &'a Bundle,
    part: &'a Part,
    case: &'a RunCase,
    launch: &'a CaseLaunch,
}

/// Every bundle of the folder, by name.
fn bundles() -> Vec<(String, Bundle)> {
    let folder = std::env::var_os("TW_HIP_BUNDLES").map(PathBuf::from);
    let folder = folder.expect("TW_HIP_BUNDLES names the folder with the bundles; run .ci/hip");
    let entries = std::fs::read_dir(folder).expect("the folder of TW_HIP_BUNDLES");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("entry").path()).collect();
    paths.sort();
    let read = |path: &PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = std::fs::read(path).expect("a bundle");
        let bundle = Bundle::from_twb(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, bundle)
    };
    paths.iter().map(read).collect()
}

/// The bundle of one example for that many ranks.
fn bundle(example: &str, ranks: u32) -> Bundle {
    let name = format!("{example}.{ranks}");
    let found = bundles().into_iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("there is no bundle {name}")).1
}

/// The run blocks of a bundle, each for each target.
fn cases(bundle: &Bundle) -> Vec<Case<'_>> {
    let mut all = Vec::new();
    for part in &bundle.parts {
        for (case, launch) in bundle.cases.iter().zip(&part.launches) {
            if let Some(launch) = launch {
                all.push(Case { bundle, part, case, launch });
            }
        }
    }
    all
}

/// The first run block of a bundle on one target.
fn case<'a>(bundle: &'a Bundle, target: &str) -> Case<'a> {
    let found = cases(bundle).into_iter().find(|case| case.part.artifact.target == target);
    found.unwrap_or_else(|| panic!("{} is not compiled for {target}", bundle.source))
}

impl Case<'_> {
    fn target(&self) -> &str {
        &self.part.artifact.target
    }

    /// What each rank gives.
    fn args(&self) -> Vec<RankArgs> {
        let rank = |rank: &tilewright_artifact::CaseRank| RankArgs {
            buffers: rank
                .buffers
                .iter()
                .map(|buffer| (buffer.name.clone(), self.bundle.content(buffer.before).to_vec()))
                .collect(),
            scalars: rank.scalars.clone(),
        };
        self.case.ranks.iter().map(rank).collect()
    }

    fn launch<'a>(&'a self, args: &'a [RankArgs]) -> Launch<'a> {
        Launch { kernel: &self.launch.kernel, ranks: args }
    }

    /// Compares what a launch left with what the reference interpreter left; the bytes that were compared.
    fn compare(&self, left: &[RankBuffers], place: &str) -> u64 {
        assert_eq!(left.len(), self.case.ranks.len(), "{place}");
        let mut bytes = 0;
        for (index, (buffers, after)) in self.case.ranks.iter().zip(&self.launch.after).enumerate() {
            for (buffer, expected) in buffers.buffers.iter().zip(after) {
                let name = &buffer.name;
                let found = left[index].iter().find(|(known, _)| known == name);
                let (_, found) = found.unwrap_or_else(|| panic!("{place}: no `{name}` on rank {index}"));
                let expected = self.bundle.content(*expected);
                assert!(found == expected, "{place}: `{name}` differs on rank {index}");
                bytes += found.len() as u64;
            }
        }
        bytes
    }
}

//! One run block on one device: run, read back, compared.

use tilewright_artifact::{Bundle, CaseLaunch, Part};
use tilewright_runtime::compare::difference;
use tilewright_runtime::device::{Launch, RankArgs, RankBuffers};
use tilewright_runtime::{Comm, Error};

use crate::args::Args;
use crate::devices::Choice;

/// What came of a run block.
#[derive(Debug)]
pub(crate) struct Trial {
    /// The kernel.
    pub(crate) kernel: String,
    /// Its ranks.
    pub(crate) ranks: usize,
    /// Bytes that were compared with the last seed.
    pub(crate) bytes: u64,
    /// Seeds that it was run with.
    pub(crate) seeds: u64,
    /// What went wrong, with the seed.
    pub(crate) fault: Option<String>,
}

/// Runs a run block with every seed until one fails. A device without seeds runs it once.
pub(crate) fn run(
    bundle: &Bundle,
    part: &Part,
    case: usize,
    launch: &CaseLaunch,
    device: &Choice,
    args: &Args,
) -> Trial {
    let ranks = bundle.cases.get(case).map_or(0, |case| case.ranks.len());
    let mut trial = Trial { kernel: launch.kernel.name.clone(), ranks, bytes: 0, seeds: 0, fault: None };
    let seeds = if device.has_seeds() { args.seeds } else { 1 };
    for seed in (0..seeds).map(|n| args.seed.wrapping_add(n)) {
        trial.seeds += 1;
        match once(bundle, part, case, launch, device, seed) {
            Ok(bytes) => trial.bytes = bytes,
            Err(why) => {
                let target = &part.artifact.target;
                let kernel = &launch.kernel.name;
                trial.fault = Some(format!("`{kernel}` for {target} on {}, seed {seed}: {why}", device.name()));
                break;
            }
        }
    }
    trial
}

/// Runs it once; the number of bytes that were compared.
fn once(
    bundle: &Bundle,
    part: &Part,
    case: usize,
    launch: &CaseLaunch,
    device: &Choice,
    seed: u64,
) -> Result<u64, String> {
    let case = bundle.cases.get(case).ok_or("there is no such run block")?;
    let of_rank = |rank: &tilewright_artifact::CaseRank| RankArgs {
        buffers: rank.buffers.iter().map(|b| (b.name.clone(), bundle.content(b.before).to_vec())).collect(),
        scalars: rank.scalars.clone(),
    };
    let ranks: Vec<RankArgs> = case.ranks.iter().map(of_rank).collect();
    let left = execute(part, launch, &ranks, device, seed).map_err(|e| e.to_string())?;
    let mut bytes = 0;
    for (index, left) in left {
        let (Some(rank), Some(after)) = (case.ranks.get(index), launch.after.get(index)) else { continue };
        for (buffer, after) in rank.buffers.iter().zip(after) {
            let want = bundle.content(*after);
            let found = left.iter().find(|(name, _)| *name == buffer.name);
            let (_, have) = found.ok_or_else(|| format!("no buffer `{}` came back from rank {index}", buffer.name))?;
            if let Some(words) = difference(want, have, buffer.element_bytes as usize) {
                return Err(format!("`{}` on rank {index} differs: {words}", buffer.name));
            }
            bytes += want.len() as u64;
        }
    }
    Ok(bytes)
}

/// A communicator of its own for each run, as `tilewright run` does it. What each rank of this process left; the others, where
/// mori has a process for each rank, are compared in theirs.
fn execute(
    part: &Part,
    launch: &CaseLaunch,
    ranks: &[RankArgs],
    device: &Choice,
    seed: u64,
) -> Result<Vec<(usize, RankBuffers)>, Error> {
    let comm: Comm = device.open(ranks.len() as u32, launch.kernel.min_queues, seed)?;
    let here: Vec<usize> = comm.ranks().iter().map(|rank| rank.index() as usize).collect();
    let ranks: Vec<RankArgs> = here.iter().filter_map(|rank| ranks.get(*rank).cloned()).collect();
    let prepared = comm.prepare(&part.artifact.code, &Launch { kernel: &launch.kernel, ranks: &ranks })?;
    prepared.run()?;
    Ok(here.into_iter().zip(prepared.buffers()?).collect())
}

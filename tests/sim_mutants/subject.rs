//! A kernel under test: compiled once, run as it is for the bytes to expect, then run with other machine code.
//!
//! The seed also says what the launch meets: windows of either memory type, queues that nobody has used, or whose ring is about
//! to end and whose poster last saw the read pointer long ago.
//!
//! What must hold: the kernel itself meets what its run block expects and leaves the same bytes under every seed.

use indexmap::IndexMap;
use tilewright::artifact::{CodeBytes, CodeKind, KernelInfo};
use tilewright::backend::Want;
use tilewright::bundle::artifact;
use tilewright::{Compiled, Options, compile_text};
use tilewright_ir::interp::{LaunchInput, LaunchOutput, check_expects, prepare};
use tilewright_ir::{Name, Run};
use tilewright_runtime::Error;
use tilewright_runtime::device::sim::{SimNode, SimOptions};
use tilewright_runtime::device::{Launch, Outcome, RankArgs};
use tilewright_sim::mem::MemoryType;
use tilewright_sim::node::Counters;
use tilewright_target::{Target, lookup};

/// Steps that a mutant may take for each step of the slowest run of the kernel itself: a wait that never ends is killed by
/// this limit where it is not seen as a deadlock.
const PATIENCE: u64 = 6;

/// What rings hold where no packet has been written: no packet begins so.
const FILL: u32 = 0xdead_beef;

/// See the head of this file.
pub(crate) struct Subject {
    name: String,
    compiled: Compiled,
    info: KernelInfo,
    args: Vec<RankArgs>,
    max_steps: u64,
    seeds: u64,
    /// What the kernel leaves in its buffers.
    expected: Outcome,
}

impl Subject {
    /// Compiles the only kernel of `text` and runs it on `ranks` ranks, with seeds below `seeds`.
    pub(crate) fn new(name: &str, text: &str, target: &str, ranks: u32, seeds: u64) -> Subject {
        let target = lookup(target).expect("a target");
        let options = Options { want: Want::finished(target), ..Options::default() };
        let compiled = compile_text(text, target, &options).unwrap_or_else(|all| panic!("{name}: {all:#?}"));
        let run = compiled.tile.runs().next().expect("a run block").clone();
        let run = Run { ranks: Some(ranks), ..run };
        let kernel = compiled.tile.kernel(run.kernel.as_str()).expect("the run block's kernel").clone();
        let npy = |_: &str| Err("no files here".to_string());
        let input = prepare(&run, &kernel, &npy).unwrap_or_else(|all| panic!("{name}: {all:#?}"));
        let info = artifact(&compiled).expect("an artifact").kernels.swap_remove(0);
        let args = rank_args(&input);
        let max_steps = SimOptions::default().max_steps;
        let mut subject =
            Subject { name: name.to_string(), compiled, info, args, max_steps, seeds, expected: Outcome::default() };
        subject.learn();
        let output = as_output(&subject.expected);
        check_expects(&run, &kernel, &input, &output).unwrap_or_else(|fault| panic!("{name}: {fault:#?}"));
        subject
    }

    /// Runs the kernel itself under every seed.
    fn learn(&mut self) {
        let object = self.object().to_vec();
        let name = self.name.clone();
        let run = |seed| self.run(&object, seed).unwrap_or_else(|fault| panic!("{name}, seed {seed}: {fault}"));
        let mut outcomes: Vec<Outcome> = (0..self.seeds).map(run).collect();
        let slowest = outcomes.iter().map(|outcome| outcome.instructions).max().unwrap_or_default();
        self.expected = outcomes.swap_remove(0);
        assert!(outcomes.iter().all(|other| other.buffers == self.expected.buffers), "{name}: seeds differ");
        self.max_steps = slowest * PATIENCE;
    }

    pub(crate) fn object(&self) -> &[u8] {
        self.compiled.made.as_ref().and_then(|made| made.object.as_deref()).expect("machine code")
    }

    pub(crate) fn target(&self) -> &'static Target {
        self.compiled.target
    }

    fn run(&self, object: &[u8], seed: u64) -> Result<Outcome, Error> {
        let windows = if seed.is_multiple_of(2) { MemoryType::Coarse } else { MemoryType::FineGrained };
        let options = SimOptions { seed, max_steps: self.max_steps, windows, ..SimOptions::default() };
        let facts = self.target().sdma.as_ref().expect("engines");
        // Two, not eight: most of a run's time would go into rings that nobody uses.
        let queues = self.info.min_queues.max(2);
        let node = SimNode::new(self.target(), self.args.len() as u32, queues, options)?;
        let ring = facts.ring_bytes;
        let counters = match seed / 2 % 2 {
            0 => Counters::default(),
            // The ring has been round three times and ends in one packet; it is empty, and looks full.
            _ => Counters { cached_hw_read_index: 3 * ring - 32, ..Counters::at(4 * ring - 32) },
        };
        node.start_queues(counters, FILL)?;
        let code = CodeBytes { kind: CodeKind::Hsaco, bytes: object.to_vec() };
        node.launch(&code, &Launch { kernel: &self.info, ranks: &self.args })
    }

    /// What kills `object` in place of the kernel's: the first fault or wrong buffer over the seeds, `None` if nothing.
    pub(crate) fn killer(&self, object: &[u8]) -> Option<String> {
        (0..self.seeds).find_map(|seed| match self.run(object, seed) {
            Err(fault) => Some(format!("seed {seed}: {fault}")),
            Ok(outcome) if outcome.buffers != self.expected.buffers => Some(format!("seed {seed}: wrong bytes")),
            Ok(_) => None,
        })
    }
}

fn rank_args(input: &LaunchInput) -> Vec<RankArgs> {
    let wheres = input.wheres.iter().map(|(name, value)| (name.to_string(), *value as u64));
    let of_rank = |(buffers, scalars): (&IndexMap<Name, Vec<u8>>, &IndexMap<Name, u64>)| RankArgs {
        buffers: buffers.iter().map(|(name, bytes)| (name.to_string(), bytes.clone())).collect(),
        scalars: scalars.iter().map(|(name, bits)| (name.to_string(), *bits)).chain(wheres.clone()).collect(),
    };
    input.buffers.iter().zip(&input.scalars).map(of_rank).collect()
}

fn as_output(outcome: &Outcome) -> LaunchOutput {
    let of_rank = |buffers: &Vec<(String, Vec<u8>)>| {
        buffers.iter().map(|(name, bytes)| (Name::new(name), bytes.clone())).collect::<IndexMap<_, _>>()
    };
    LaunchOutput {
        buffers: outcome.buffers.iter().map(of_rank).collect(),
        warnings: Vec::new(),
        steps: outcome.instructions,
    }
}

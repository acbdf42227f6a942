//! The scheduler: strands of all CTAs of all ranks take turns, and what is on its way lands, in an order given by the seed.

use super::cta::Cta;
use super::resolve::{RKernel, resolve};
use super::strand::{Step, Strand};
use super::world::World;
use super::{LaunchInput, LaunchOutput, RunError, check_input};
use crate::diag::{Code, Diagnostic};
use crate::dtype::ScalarTy;
use crate::module::Kernel;
use crate::name::Name;
use crate::signals;

/// Elements accessed (and threads stepped) that count as one statement towards the limit.
const WORK_PER_STEP: u64 = 32;

/// Runs a tile-level kernel on all ranks. `warp_lanes` is the warp width of targets where the kernel says `warp = target`.
///
/// # Errors
/// The first fault: a launch that does not fit, an index outside its buffer, a register that the thread does not own, an
/// assumption that does not hold, a race, a deadlock, or too many steps.
pub fn run(kernel: &Kernel, warp_lanes: u32, input: &LaunchInput) -> Result<LaunchOutput, RunError> {
    check_input(kernel, input)?;
    let warp = kernel.launch.warp.lanes(warp_lanes);
    if warp == 0 {
        return Err(Diagnostic::error(Code::BAD_LAUNCH, kernel.launch.span, "warps of no lanes"));
    }
    let counts = signals::counts(kernel, warp);
    let expected = |nth: usize| match counts.waits.get(nth) {
        Some(count) => count.clone().map(|c| c.expected),
        None => Err(Diagnostic::error(Code::INTERNAL, kernel.span, "wait without a count")),
    };
    let lookup = |n: &Name| input.wheres.get(n).copied();
    let k = resolve(kernel, warp, &lookup, &expected)?;
    let scalars = scalar_values(&k, input);
    let resident = k.resident(input.ranks)?;
    let mut sched = Scheduler {
        world: World::new(&k, input),
        strands: Vec::new(),
        ready: Vec::new(),
        next_cta: vec![0; input.ranks as usize],
        live: vec![0; input.ranks as usize],
        scalars,
        steps: 0,
        max_steps: input.max_steps,
        resident,
    };
    sched.run()?;
    let steps = sched.steps;
    sched.world.warn_of_idle_waits();
    let warnings = std::mem::take(&mut sched.world.warnings);
    Ok(LaunchOutput { buffers: sched.world.outputs(), warnings, steps })
}

/// Canonical values of scalar and `where` parameters, for each rank in the order of `RKernel::scalars`.
pub fn scalar_values(k: &RKernel<'_>, input: &LaunchInput) -> Vec<Vec<(usize, u64)>> {
    let of = |rank: usize| {
        let one = |(name, ty, slot): &(Name, ScalarTy, usize)| {
            let raw = match input.wheres.get(name) {
                Some(v) => *v as u64,
                None => input.scalars[rank].get(name).copied().unwrap_or(0),
            };
            (*slot, super::num::canonical(ty.storage(), raw))
        };
        k.scalars.iter().map(one).collect()
    };
    (0..input.ranks as usize).map(of).collect()
}

struct Scheduler<'r, 'k> {
    world: World<'r, 'k>,
    strands: Vec<Option<Strand<'r, 'k>>>,
    /// Strands that are not waiting for their children.
    ready: Vec<usize>,
    /// The next CTA to start, for each rank.
    next_cta: Vec<i64>,
    /// CTAs that run, for each rank.
    live: Vec<usize>,
    scalars: Vec<Vec<(usize, u64)>>,
    steps: u64,
    max_steps: u64,
    /// CTAs of one rank that take turns.
    resident: usize,
}

impl Scheduler<'_, '_> {
    fn run(&mut self) -> Result<(), RunError> {
        for rank in 0..self.live.len() {
            while self.live[rank] < self.resident && self.start(rank) {}
        }
        loop {
            if !self.world.comm.busy().is_empty() && self.world.rng.one_in(4) {
                let n = self.world.rng.below(self.world.comm.busy().len());
                let queue = self.world.comm.busy()[n];
                self.world.land(queue)?;
            }
            if self.ready.is_empty() && self.world.comm.busy().is_empty() {
                return Ok(());
            }
            if !self.turn()? && !self.land_any()? && !self.start_any() {
                return Err(self.deadlock());
            }
        }
    }

    /// Lets one strand that can go on do a few statements; false if all wait.
    fn turn(&mut self) -> Result<bool, RunError> {
        let n = self.ready.len();
        let first = self.world.rng.below(n);
        for i in 0..n {
            let at = (first + i) % n;
            let burst = 1 + self.world.rng.below(4);
            if self.burst(at, burst)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Up to `burst` statements of the strand at `ready[at]`; false if it waits at once.
    fn burst(&mut self, at: usize, burst: usize) -> Result<bool, RunError> {
        let id = self.ready[at];
        let Some(mut strand) = self.strands[id].take() else { return Ok(false) };
        let Some(mut cta) = self.world.ctas[strand.cta].take() else { return Ok(false) };
        let mut ran = false;
        let mut outcome = Step::Ran;
        for _ in 0..burst {
            self.steps += 1;
            outcome = strand.step(&mut self.world, &mut cta)?;
            if !matches!(outcome, Step::Ran) {
                break;
            }
            ran = true;
        }
        if self.steps + self.world.work / WORK_PER_STEP > self.max_steps {
            let message = format!("no end after {} statements", self.max_steps);
            return Err(Diagnostic::error(Code::DEADLOCK, self.world.k.kernel.span, message)
                .help("a loop may be too long; `--max-steps` of `tilewright run` raises the limit"));
        }
        let (owner, rank) = (strand.cta, cta.rank);
        self.world.ctas[owner] = Some(cta);
        match outcome {
            Step::Ran | Step::Waits => self.strands[id] = Some(strand),
            Step::Parted(sides) => {
                self.ready.swap_remove(at);
                self.strands[id] = Some(strand);
                for mut side in sides {
                    side.parent = Some(id);
                    self.strands.push(Some(side));
                    self.ready.push(self.strands.len() - 1);
                }
                ran = true;
            }
            Step::Ended => {
                self.ready.swap_remove(at);
                self.ended(strand.parent, owner, rank);
                ran = true;
            }
        }
        Ok(ran)
    }

    /// A strand has ended: its parent may go on, or its CTA is done.
    fn ended(&mut self, parent: Option<usize>, cta: usize, rank: usize) {
        match parent {
            Some(p) => {
                if let Some(strand) = &mut self.strands[p] {
                    strand.children -= 1;
                    if strand.children == 0 {
                        self.ready.push(p);
                    }
                }
            }
            None => {
                if !self.world.is_needed(cta) {
                    self.world.ctas[cta] = None;
                }
                self.live[rank] -= 1;
                self.start(rank);
            }
        }
        while self.strands.last().is_some_and(Option::is_none) {
            self.strands.pop();
        }
    }

    /// Starts the next CTA of a rank; false if there is none.
    fn start(&mut self, rank: usize) -> bool {
        let index = self.next_cta[rank];
        if index >= self.world.ctas_per_rank {
            return false;
        }
        self.next_cta[rank] += 1;
        self.live[rank] += 1;
        let number = rank as i64 * self.world.ctas_per_rank + index;
        let mut cta = Box::new(Cta::new(self.world.k, rank, self.world.ranks, index, number as u32));
        for tid in 0..cta.threads() {
            self.scalars[rank].iter().for_each(|(slot, value)| cta.set(tid, *slot, *value));
        }
        let strand = Strand::start(number as usize, cta.threads(), &self.world.k.body);
        self.world.ctas[number as usize] = Some(cta);
        self.strands.push(Some(strand));
        self.ready.push(self.strands.len() - 1);
        true
    }

    fn start_any(&mut self) -> bool {
        let ranks = self.live.len();
        let first = self.world.rng.below(ranks);
        (0..ranks).any(|i| self.start((first + i) % ranks))
    }

    /// Lands something, if anything can.
    fn land_any(&mut self) -> Result<bool, RunError> {
        let busy = self.world.comm.busy().to_vec();
        let first = self.world.rng.below(busy.len());
        for i in 0..busy.len() {
            if self.world.land(busy[(first + i) % busy.len()])? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn deadlock(&self) -> RunError {
        let mut found: Option<Diagnostic> = None;
        for strand in self.strands.iter().flatten() {
            let Some((why, span)) = &strand.blocked else { continue };
            let per_rank = self.world.ctas_per_rank.max(1);
            let (rank, cta) = (strand.cta as i64 / per_rank, strand.cta as i64 % per_rank);
            let text = format!("rank {rank} CTA {cta} waits for {}", why.describe());
            found = Some(match found {
                None => Diagnostic::error(Code::DEADLOCK, *span, text),
                Some(d) if d.labels.len() < 7 => d.also(*span, text),
                Some(d) => d,
            });
        }
        found.unwrap_or_else(|| {
            let message = "a copy waits for a flag or a signal that nobody will set";
            Diagnostic::error(Code::DEADLOCK, self.world.k.kernel.span, message)
        })
    }
}

//! The machine: memory of all ranks, CTAs with their barriers, and the scheduler that gives warps and engines their turns.

use tilewright_ir::dtype::DType;
use tilewright_ir::interp::resolve::{RIndex, RKernel, RPlace};
use tilewright_ir::interp::{LaunchInput, LaunchOutput, RunError, SplitMix64, get_bits, put_bits, scalar_values};
use tilewright_ir::{Code, Diagnostic, Space, Span};
use tilewright_target::Target;

use crate::Options;
use crate::engine::Engines;
use crate::memory::Allocation;
use crate::trace::Access;
use crate::values::Lanes;
use crate::warp::{Step, Warp};

/// Which memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mem {
    /// Rank and buffer number.
    Device(usize, usize),
    /// Shared memory of the CTA: buffer number.
    Shared(usize),
    /// Registers of a lane of the warp: buffer number and lane.
    Local(usize, u32),
}

/// An element: memory and position in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub(crate) mem: Mem,
    pub(crate) element: i64,
}

/// Where a place is, lane by lane.
pub(crate) struct Points {
    element: Lanes,
    rank: Lanes,
}

impl Points {
    /// In one lane.
    pub(crate) fn of(&self, lane: u32) -> Point {
        let at = lane as usize;
        Point { lane, element: self.element[at] as i64, rank: self.rank[at] as i64 }
    }
}

/// A place in one lane: element and rank as computed, not checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub(crate) lane: u32,
    pub(crate) element: i64,
    pub(crate) rank: i64,
}

/// Warps that meet: how many have come, and how often all had.
#[derive(Clone, Debug, Default)]
pub(crate) struct Barrier {
    arrived: Vec<bool>,
    pub(crate) generation: u32,
}

impl Barrier {
    fn new(warps: usize) -> Barrier {
        Barrier { arrived: vec![false; warps], generation: 0 }
    }

    /// A warp comes; true if it was the last.
    pub(crate) fn arrive(&mut self, warp: usize) -> bool {
        if let Some(a) = self.arrived.get_mut(warp) {
            *a = true;
        }
        let all = self.arrived.iter().all(|a| *a);
        if all {
            self.arrived.fill(false);
            self.generation = self.generation.wrapping_add(1);
        }
        all
    }
}

/// One CTA.
#[derive(Debug)]
pub(crate) struct Cta {
    pub(crate) rank: usize,
    /// Number in the grid.
    pub(crate) index: i64,
    shared: Vec<Allocation>,
    pub(crate) barrier: Barrier,
    pub(crate) warpgroups: Vec<Barrier>,
    live: usize,
}

/// Everything but CTAs and warps.
pub(crate) struct Machine<'r, 'k> {
    pub(crate) k: &'r RKernel<'k>,
    pub(crate) target: &'r Target,
    pub(crate) options: &'r Options,
    pub(crate) ranks: usize,
    /// By rank and buffer number.
    pub(crate) device: Vec<Vec<Allocation>>,
    pub(crate) engines: Engines,
    /// What the first warp accessed, where that is asked for.
    pub(crate) trace: Option<Vec<Access>>,
}

impl<'r, 'k> Machine<'r, 'k> {
    fn new(k: &'r RKernel<'k>, target: &'r Target, input: &LaunchInput, options: &'r Options) -> Machine<'r, 'k> {
        let ranks = input.ranks as usize;
        let buffers = |rank: usize| {
            let one = |b: &tilewright_ir::interp::resolve::RBuffer| match input.buffers[rank].get(&b.name) {
                _ if !b.space.is_device_memory() => Allocation::default(),
                Some(bytes) if !b.hidden => Allocation::with(bytes),
                // What the compiler added is zero on a first launch: signal bases, debug buffers.
                _ => Allocation::filled(b.bytes, 0),
            };
            k.buffers.iter().map(one).collect()
        };
        let device = (0..ranks).map(buffers).collect();
        Machine { k, target, options, ranks, device, engines: Engines::new(ranks), trace: None }
    }

    /// Where a place is in the active lanes.
    ///
    /// # Errors
    /// `TW0034` if it is named by logical index.
    pub(crate) fn points(
        &self,
        cta: &Cta,
        warp: &Warp<'_, '_>,
        place: &RPlace,
        mask: u64,
        span: Span,
    ) -> Result<Points, RunError> {
        let RIndex::Flat(element) = &place.index else {
            let name = &self.k.buffers[place.buf].name;
            return Err(Diagnostic::error(Code::LEVEL, span, format!("`{name}[…]` in a lowered kernel")));
        };
        let rank = match &place.rank {
            Some(e) => warp.eval_all(e, mask),
            None => [cta.rank as u64; 64],
        };
        Ok(Points { element: warp.eval_all(element, mask), rank })
    }

    /// The element at a point of a place, where `n` elements are accessed.
    ///
    /// # Errors
    /// `TW0013` if one of them is outside the buffer's memory.
    pub(crate) fn locate(
        &self,
        cta: &Cta,
        warp: &Warp<'_, '_>,
        place: &RPlace,
        point: Point,
        n: i64,
        span: Span,
    ) -> Result<At, RunError> {
        let b = &self.k.buffers[place.buf];
        let Point { lane, element, rank } = point;
        if element < 0 || element.checked_add(n).is_none_or(|end| end > b.storage) {
            let who = format!("thread {} of rank {} CTA {}", warp.first + lane, cta.rank, cta.index);
            let last = element.saturating_add(n - 1);
            let what = if n == 1 { format!("element {element}") } else { format!("elements {element}..={last}") };
            let message = format!("{what} of `{}`, which has {}, is accessed by {who}", b.name, b.storage);
            return Err(Diagnostic::error(Code::OUT_OF_BOUNDS, span, message));
        }
        let mem = match b.space {
            Space::Local => Mem::Local(place.buf, lane),
            Space::Shared => Mem::Shared(place.buf),
            Space::Global | Space::Window => Mem::Device(self.rank(rank, span)?, place.buf),
        };
        Ok(At { mem, element })
    }

    /// Remembers an op of the first warp, where that is asked for.
    pub(crate) fn note(&mut self, cta: &Cta, warp: &Warp<'_, '_>, access: impl FnOnce(&RKernel<'_>) -> Access) {
        if let Some(trace) = &mut self.trace
            && cta.rank == 0
            && cta.index == 0
            && warp.number == 0
        {
            trace.push(access(self.k));
        }
    }

    /// A rank in range.
    pub(crate) fn rank(&self, rank: i64, span: Span) -> Result<usize, RunError> {
        usize::try_from(rank).ok().filter(|r| *r < self.ranks).ok_or_else(|| {
            let message = format!("rank {rank} is named, there are {} ranks", self.ranks);
            Diagnostic::error(Code::OUT_OF_BOUNDS, span, message)
        })
    }

    /// The memory that an element is in.
    pub(crate) fn data<'a>(&'a self, cta: &'a Cta, warp: &'a Warp<'_, '_>, at: At) -> &'a [u8] {
        match at.mem {
            Mem::Device(rank, buf) => self.device[rank][buf].data(),
            Mem::Shared(buf) => cta.shared[buf].data(),
            Mem::Local(buf, lane) => warp.local(buf, lane),
        }
    }

    /// The memory that an element is in, to change.
    pub(crate) fn data_mut<'a>(&'a mut self, cta: &'a mut Cta, warp: &'a mut Warp<'_, '_>, at: At) -> &'a mut [u8] {
        match at.mem {
            Mem::Device(rank, buf) => self.device[rank][buf].data_mut(),
            Mem::Shared(buf) => cta.shared[buf].data_mut(),
            Mem::Local(buf, lane) => warp.local_mut(buf, lane),
        }
    }

    /// Bits of an element that `locate` found.
    pub(crate) fn get(
        &self,
        cta: &Cta,
        warp: &Warp<'_, '_>,
        at: At,
        dtype: DType,
        span: Span,
    ) -> Result<u64, RunError> {
        get_bits(self.data(cta, warp, at), dtype, at.element).ok_or_else(|| lost(span))
    }

    /// Sets an element that `locate` found.
    pub(crate) fn put(
        &mut self,
        cta: &mut Cta,
        warp: &mut Warp<'_, '_>,
        at: At,
        dtype: DType,
        bits: u64,
        span: Span,
    ) -> Result<(), RunError> {
        put_bits(self.data_mut(cta, warp, at), dtype, at.element, bits).ok_or_else(|| lost(span))
    }

    fn check_guards(&self) -> Result<(), RunError> {
        for (rank, buffers) in self.device.iter().enumerate() {
            for (b, a) in self.k.buffers.iter().zip(buffers) {
                if let Some(offset) = a.damage().filter(|_| b.space.is_device_memory()) {
                    let message =
                        format!("guard byte at offset {offset} of `{}` on rank {rank} was overwritten", b.name);
                    return Err(Diagnostic::error(Code::OUT_OF_BOUNDS, self.k.kernel.span, message));
                }
            }
        }
        Ok(())
    }
}

fn lost(span: Span) -> RunError {
    Diagnostic::error(Code::INTERNAL, span, "element that was in bounds is not there")
}

struct Scheduler<'r, 'k> {
    machine: Machine<'r, 'k>,
    rng: SplitMix64,
    ctas: Vec<Option<Box<Cta>>>,
    warps: Vec<Option<(usize, Box<Warp<'r, 'k>>)>>,
    /// Warps that have not ended.
    ready: Vec<usize>,
    free: Vec<usize>,
    next_cta: Vec<i64>,
    live: Vec<usize>,
    per_rank: i64,
    scalars: Vec<Vec<(usize, u64)>>,
    steps: u64,
    max_steps: u64,
    /// CTAs of one rank that take turns.
    resident: usize,
}

/// Runs a resolved kernel.
pub(crate) fn run(
    k: &RKernel<'_>,
    target: &Target,
    input: &LaunchInput,
    options: &Options,
    traced: bool,
) -> Result<(LaunchOutput, Vec<Access>), RunError> {
    let ranks = input.ranks as usize;
    let mut s = Scheduler {
        machine: Machine::new(k, target, input, options),
        rng: SplitMix64::new(options.seed.unwrap_or(input.seed)),
        ctas: Vec::new(),
        warps: Vec::new(),
        ready: Vec::new(),
        free: Vec::new(),
        next_cta: vec![0; ranks],
        live: vec![0; ranks],
        per_rank: k.grid.iter().product(),
        scalars: scalar_values(k, input),
        steps: 0,
        max_steps: input.max_steps,
        resident: k.resident(input.ranks)?,
    };
    s.machine.trace = traced.then(Vec::new);
    s.run()?;
    s.machine.check_guards()?;
    let warnings = s.machine.engines.uncommitted().into_iter().map(|(span, rank, peer, queue)| {
        let message = format!("batch on queue {queue} of rank {rank} towards rank {peer} was never committed");
        Diagnostic::warning(Code::RACE, span, message).help("ring it with `sdma.commit`")
    });
    let warnings = warnings.collect();
    let buffers = s.machine.device.iter().map(|buffers| {
        let own = k.buffers.iter().zip(buffers).filter(|(b, _)| b.is_param && !b.hidden);
        own.map(|(b, a)| (b.name.clone(), a.data().to_vec())).collect()
    });
    let output = LaunchOutput { buffers: buffers.collect(), warnings, steps: s.steps };
    Ok((output, s.machine.trace.take().unwrap_or_default()))
}

impl Scheduler<'_, '_> {
    fn run(&mut self) -> Result<(), RunError> {
        for rank in 0..self.live.len() {
            while self.live[rank] < self.resident && self.start(rank) {}
        }
        loop {
            let busy = self.machine.engines.busy().len();
            if busy > 0 && self.rng.one_in(4) {
                self.machine.engine_turn(self.rng.below(busy))?;
            }
            let busy = self.machine.engines.busy().len();
            if self.ready.is_empty() && busy == 0 {
                return Ok(());
            }
            if !self.ready.is_empty() && self.turn()? {
                continue;
            }
            let moved = busy > 0 && self.machine.engine_turn(self.rng.below(busy))?;
            if !moved && !self.start_any() {
                return Err(self.deadlock());
            }
        }
    }

    /// Lets one warp that can go on do a few statements; false if all wait.
    fn turn(&mut self) -> Result<bool, RunError> {
        let n = self.ready.len();
        let first = self.rng.below(n);
        for i in 0..n {
            let at = (first + i) % n;
            let burst = 1 + self.rng.below(8);
            if self.burst(at, burst)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn burst(&mut self, at: usize, burst: usize) -> Result<bool, RunError> {
        let id = self.ready[at];
        let Some((owner, mut warp)) = self.warps[id].take() else { return Ok(false) };
        let Some(mut cta) = self.ctas[owner].take() else { return Ok(false) };
        let mut ran = false;
        let mut outcome = Step::Ran;
        for _ in 0..burst {
            self.steps += 1;
            outcome = warp.step(&mut self.machine, &mut cta)?;
            if outcome != Step::Ran {
                break;
            }
            ran = true;
        }
        if self.steps > self.max_steps {
            let message = format!("no end after {} statements", self.max_steps);
            return Err(Diagnostic::error(Code::DEADLOCK, self.machine.k.kernel.span, message)
                .help("a loop may be too long; `--max-steps` of `tilewright run` raises the limit"));
        }
        if outcome != Step::Ended {
            self.warps[id] = Some((owner, warp));
            self.ctas[owner] = Some(cta);
            return Ok(ran);
        }
        self.ready.swap_remove(at);
        self.free.push(id);
        cta.live -= 1;
        let (rank, done) = (cta.rank, cta.live == 0);
        self.ctas[owner] = (!done).then_some(cta);
        if done {
            self.live[rank] -= 1;
            self.start(rank);
        }
        Ok(true)
    }

    /// Starts the next CTA of a rank; false if there is none.
    fn start(&mut self, rank: usize) -> bool {
        let index = self.next_cta[rank];
        if index >= self.per_rank {
            return false;
        }
        self.next_cta[rank] += 1;
        self.live[rank] += 1;
        let k = self.machine.k;
        let threads = k.block.iter().product::<i64>() as u32;
        let warps = threads.div_ceil(k.warp);
        let shared = |b: &tilewright_ir::interp::resolve::RBuffer| match b.space {
            Space::Shared => Allocation::blank(b.bytes),
            _ => Allocation::default(),
        };
        let groups = warps.div_ceil(4);
        let in_group = |g: u32| Barrier::new((warps - 4 * g).min(4) as usize);
        let cta = Cta {
            rank,
            index,
            shared: k.buffers.iter().map(shared).collect(),
            barrier: Barrier::new(warps as usize),
            warpgroups: (0..groups).map(in_group).collect(),
            live: warps as usize,
        };
        let owner = self.ctas.iter().position(Option::is_none).unwrap_or(self.ctas.len());
        if owner == self.ctas.len() {
            self.ctas.push(None);
        }
        self.ctas[owner] = Some(Box::new(cta));
        let block = [index % k.grid[0], index / k.grid[0] % k.grid[1], index / (k.grid[0] * k.grid[1])];
        for number in 0..warps {
            let mut warp = Box::new(Warp::new(k, number, rank, self.machine.ranks, block));
            for lane in crate::warp::lanes_of(warp.full) {
                self.scalars[rank].iter().for_each(|(slot, value)| warp.set(lane, *slot, *value));
            }
            let id = self.free.pop().unwrap_or(self.warps.len());
            if id == self.warps.len() {
                self.warps.push(None);
            }
            self.warps[id] = Some((owner, warp));
            self.ready.push(id);
        }
        true
    }

    fn start_any(&mut self) -> bool {
        let ranks = self.live.len();
        let first = self.rng.below(ranks);
        (0..ranks).any(|i| self.start((first + i) % ranks))
    }

    fn deadlock(&self) -> RunError {
        let mut found: Option<Diagnostic> = None;
        for (owner, warp) in self.warps.iter().flatten() {
            let (Some((wait, span)), Some(cta)) = (&warp.waiting, &self.ctas[*owner]) else { continue };
            let text =
                format!("rank {} CTA {} warp {} waits for {}", cta.rank, cta.index, warp.number, wait.describe());
            found = Some(match found {
                None => Diagnostic::error(Code::DEADLOCK, *span, text),
                Some(d) if d.labels.len() < 7 => d.also(*span, text),
                Some(d) => d,
            });
        }
        for n in 0..self.machine.engines.busy().len() {
            let (Some(poll), Some(name)) = (self.machine.engines.parked(n), self.machine.engines.name(n)) else {
                continue;
            };
            let text = self.machine.describe_parked(&poll, name);
            found = Some(match found {
                None => Diagnostic::error(Code::DEADLOCK, poll.span, text),
                Some(d) if d.labels.len() < 7 => d.also(poll.span, text),
                Some(d) => d,
            });
        }
        found.unwrap_or_else(|| Diagnostic::error(Code::INTERNAL, self.machine.k.kernel.span, "nothing can go on"))
    }
}

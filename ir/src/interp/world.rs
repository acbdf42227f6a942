//! Everything that a launch consists of: memory of all ranks, CTAs, history of accesses; and every access to memory.
//!
//! The CTA that executes is taken out of the world while it does, so functions get both.

use std::rc::Rc;

use super::addr::{get_bits, put_bits};
use super::comm::Comm;
use super::cta::{Cta, Memory};
use super::race::{Event, EventId};
use super::resolve::{RBuffer, RKernel};
use super::rng::SplitMix64;
use super::{LaunchInput, RunError};
use crate::diag::{Code, Diagnostic};
use crate::name::Name;
use crate::space::Space;
use crate::span::Span;

/// Which memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// Device memory of a rank: rank and buffer number.
    Device(usize, usize),
    /// Shared memory of the CTA.
    Shared(usize),
    /// Registers of the CTA's threads.
    Local(usize),
}

impl Where {
    /// Buffer number.
    pub(super) fn buf(self) -> usize {
        match self {
            Where::Device(_, b) | Where::Shared(b) | Where::Local(b) => b,
        }
    }
}

/// Which pair of accesses is not ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    ReadAfterWrite,
    WriteAfterWrite,
    WriteAfterRead,
}

/// One place of one element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    /// Row-major logical index, for messages.
    pub(super) x: i64,
    /// Thread, for registers.
    pub(super) tid: u32,
    /// Position in the memory, in elements.
    pub(super) at: i64,
}

/// Who accesses: threads of the CTA at hand, or an engine that works for them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Who {
    /// First and last thread.
    pub(super) threads: (u32, u32),
    /// Actors of the engines that read and write, and this packet's number.
    pub(super) engine: Option<(u32, u32, u32)>,
    /// The statement.
    pub(super) span: Span,
    /// Its events, made when first needed.
    pub(super) events: (EventId, EventId),
    /// The last event that was found to be ordered before.
    pub(super) known: EventId,
}

impl Who {
    /// These threads.
    pub(super) fn threads(lo: u32, hi: u32, span: Span) -> Who {
        Who { threads: (lo, hi), engine: None, span, events: (0, 0), known: 0 }
    }
}

/// Threads that own each element of a `local` buffer.
#[derive(Debug)]
pub(super) struct Owners {
    start: Vec<u32>,
    list: Vec<(u32, i64)>,
}

impl Owners {
    /// Owners of element `x` with the position there.
    pub(super) fn of(&self, x: i64) -> &[(u32, i64)] {
        let x = x as usize;
        &self.list[self.start[x] as usize..self.start[x + 1] as usize]
    }
}

/// The whole launch.
pub(super) struct World<'r, 'k> {
    pub(super) k: &'r RKernel<'k>,
    pub(super) ranks: usize,
    /// Device memory by rank and buffer number.
    pub(super) device: Vec<Vec<Memory>>,
    pub(super) ctas: Vec<Option<Box<Cta>>>,
    events: Vec<Event>,
    pub(super) comm: Comm,
    pub(super) rng: SplitMix64,
    owners: Vec<Option<Rc<Owners>>>,
    /// CTAs a rank.
    pub(super) ctas_per_rank: i64,
    /// Buffers of which something was read that nothing had written, and what is said of it.
    undefined: Vec<usize>,
    pub(super) warnings: Vec<Diagnostic>,
    /// Waits for a signal by rank and place in the text: the most notifies that one was for, the signal, the last rank
    /// asked, the place.
    pub(super) waits: std::collections::BTreeMap<(usize, u32), (i64, Name, usize, Span)>,
    /// Elements accessed and threads stepped, for the limit on the length of a run.
    pub(super) work: u64,
}

/// Owner places of a `local` buffer that are tabulated at most; beyond that the launch is refused.
const MAX_OWNER_PLACES: usize = 1 << 24;

/// Accesses that are remembered at most (24 bytes each).
const MAX_EVENTS: usize = 1 << 26;

impl<'r, 'k> World<'r, 'k> {
    pub(super) fn new(k: &'r RKernel<'k>, input: &LaunchInput) -> World<'r, 'k> {
        let ranks = input.ranks as usize;
        let mut device = Vec::with_capacity(ranks);
        for rank in 0..ranks {
            let of = |b: &RBuffer| {
                let mut m = Memory::blank(if b.space.is_device_memory() { b.bytes } else { 0 });
                if let Some(bytes) = input.buffers[rank].get(&b.name).filter(|_| b.is_param && !b.hidden) {
                    m.bytes.clone_from(bytes);
                }
                m
            };
            device.push(k.buffers.iter().map(of).collect());
        }
        let ctas_per_rank = k.grid.iter().product::<i64>();
        let total = ctas_per_rank as usize * ranks;
        let none = Event { actor: 0, time: 0, threads: (0, 0), span: Span::NONE };
        World {
            k,
            ranks,
            device,
            ctas: (0..total).map(|_| None).collect(),
            events: vec![none],
            comm: Comm::new(ranks, total as u32),
            rng: SplitMix64::new(input.seed),
            owners: vec![None; k.buffers.len()],
            ctas_per_rank,
            undefined: Vec::new(),
            warnings: Vec::new(),
            waits: std::collections::BTreeMap::new(),
            work: 0,
        }
    }

    /// The buffer behind a place.
    pub(super) fn buffer(&self, at: Where) -> &'r RBuffer {
        &self.k.buffers[at.buf()]
    }

    /// Owners of a `local` buffer whose layout has thread axes.
    pub(super) fn owners(&mut self, buf: usize, threads: u32) -> Result<Rc<Owners>, RunError> {
        if let Some(o) = &self.owners[buf] {
            return Ok(o.clone());
        }
        let b = &self.k.buffers[buf];
        let warp = i64::from(self.k.warp);
        let mut at = std::collections::BTreeMap::<Vec<i64>, Vec<u32>>::new();
        for tid in 0..threads {
            at.entry(b.layout.thread_coords(i64::from(tid), warp)).or_default().push(tid);
        }
        let mut out = Owners { start: vec![0], list: Vec::new() };
        for x in 0..b.layout.elements() {
            b.layout.places(x, |coords, position| {
                for tid in at.get(coords).map(Vec::as_slice).unwrap_or_default() {
                    out.list.push((*tid, position));
                }
            });
            if out.list.len() > MAX_OWNER_PLACES {
                let message = format!("`{}` has more than {MAX_OWNER_PLACES} places", b.name);
                return Err(Diagnostic::error(Code::TOO_LARGE, Span::NONE, message));
            }
            out.start.push(out.list.len() as u32);
        }
        let out = Rc::new(out);
        self.owners[buf] = Some(out.clone());
        Ok(out)
    }

    /// Bits of one element, after checking that what was written there is ordered before.
    pub(super) fn read(&mut self, cta: &mut Cta, at: Where, spot: Spot, who: &mut Who) -> Result<u64, RunError> {
        let b = self.buffer(at);
        self.work += 1;
        let bits = match at {
            Where::Local(buf) => {
                self.check_pending(cta, buf, spot, who.span)?;
                if !cta.is_written(buf, spot.tid, spot.at) {
                    self.note_undefined(cta, at, spot, who.span);
                }
                get_bits(cta.local(buf, spot.tid), b.dtype, spot.at)
            }
            Where::Shared(buf) => get_bits(&cta.shared[buf].bytes, b.dtype, spot.at),
            Where::Device(rank, buf) => get_bits(&self.device[rank][buf].bytes, b.dtype, spot.at),
        };
        let bits = bits.ok_or_else(|| self.outside(at, spot, who.span))?;
        if !matches!(at, Where::Local(_)) {
            self.note_read(cta, at, spot, who)?;
        }
        Ok(bits)
    }

    /// Warns of the first read of a buffer's memory that nothing has written.
    fn note_undefined(&mut self, cta: &Cta, at: Where, spot: Spot, span: Span) {
        // A run so long that its history was dropped knows no writers either.
        if self.undefined.contains(&at.buf()) || self.events.len() >= MAX_EVENTS {
            return;
        }
        self.undefined.push(at.buf());
        let mut who = format!("rank {} CTA {}", cta.rank, i64::from(cta.actor) % self.ctas_per_rank.max(1));
        if matches!(at, Where::Local(_)) {
            who.push_str(&format!(" thread {}", spot.tid));
        }
        let message = format!("{who} reads {}, which nothing has written", self.element(at, spot.x));
        self.warnings.push(
            Diagnostic::warning(Code::UNDEFINED_READ, span, message)
                .help("what is there is undefined: write it first, or read only what was written"),
        );
    }

    /// Takes note of how many notifies a wait is for.
    pub(super) fn note_wait(&mut self, rank: usize, signal: &Name, src: usize, needs: i64, span: Span) {
        let slot = self.waits.entry((rank, span.lo)).or_insert_with(|| (needs, signal.clone(), src, span));
        slot.0 = slot.0.max(needs);
    }

    /// Warns of waits that never waited for anything: the rank that is named sends nothing there.
    pub(super) fn warn_of_idle_waits(&mut self) {
        let mut told: Vec<u32> = Vec::new();
        for ((rank, lo), (most, signal, src, span)) in &self.waits {
            if *most > 0 || told.contains(lo) {
                continue;
            }
            told.push(*lo);
            let message =
                format!("rank {rank} waits for no notify of `{signal}`: rank {src} sends none to it before this wait");
            self.warnings.push(
                Diagnostic::warning(Code::SIGNAL_USE, *span, message).help(
                    "nothing is ordered by such a wait: is another rank meant, or does a guard keep the copy away?",
                ),
            );
        }
    }

    fn cell<'c>(&'c mut self, cta: &'c mut Cta, at: Where, spot: Spot) -> &'c mut super::race::Cell {
        let position = usize::try_from(spot.at).unwrap_or(0);
        match at {
            Where::Device(rank, buf) => self.device[rank][buf].cells.at(position),
            Where::Shared(buf) | Where::Local(buf) => cta.shared[buf].cells.at(position),
        }
    }

    /// Checks and records a read of shared or device memory.
    pub(super) fn note_read(&mut self, cta: &mut Cta, at: Where, spot: Spot, who: &mut Who) -> Result<(), RunError> {
        let cell = *self.cell(cta, at, spot);
        if !self.ordered(cta, who, cell.writer) {
            return Err(self.race(cta, at, spot, who, cell.writer, Kind::ReadAfterWrite));
        }
        if cell.writer == 0 && matches!(at, Where::Shared(_)) {
            self.note_undefined(cta, at, spot, who.span);
        }
        if who.events.1 == 0 {
            who.events.1 = self.event(cta, who, false);
        }
        let event = who.events.1;
        self.cell(cta, at, spot).reader = event;
        Ok(())
    }

    /// The write of an element by the CTA itself, if it is the last one and not before `time`.
    pub(super) fn written_since(&mut self, cta: &mut Cta, at: Where, spot: Spot, time: u32) -> Option<EventId> {
        let writer = self.cell(cta, at, spot).writer;
        let event = &self.events[writer as usize];
        (writer != 0 && event.actor == cta.actor && event.time >= time).then_some(writer)
    }

    /// Checks and records a write of shared or device memory. Writing the same bits again is no fault.
    pub(super) fn note_write(
        &mut self,
        cta: &mut Cta,
        at: Where,
        spot: Spot,
        who: &mut Who,
        same: bool,
    ) -> Result<(), RunError> {
        let cell = *self.cell(cta, at, spot);
        if !self.ordered(cta, who, cell.reader) {
            return Err(self.race(cta, at, spot, who, cell.reader, Kind::WriteAfterRead));
        }
        // A read that is ordered before was itself ordered after the last write.
        if cell.reader == 0 && !same && !self.ordered(cta, who, cell.writer) {
            return Err(self.race(cta, at, spot, who, cell.writer, Kind::WriteAfterWrite));
        }
        if who.events.0 == 0 {
            who.events.0 = self.event(cta, who, true);
        }
        let event = who.events.0;
        *self.cell(cta, at, spot) = super::race::Cell { writer: event, reader: 0 };
        Ok(())
    }

    /// Writes one element, after checking that earlier accesses are ordered before.
    pub(super) fn write(
        &mut self,
        cta: &mut Cta,
        at: Where,
        spot: Spot,
        bits: u64,
        who: &mut Who,
    ) -> Result<(), RunError> {
        self.work += 1;
        if !matches!(at, Where::Local(_)) {
            let dtype = self.buffer(at).dtype;
            let old = match at {
                Where::Device(rank, buf) => get_bits(&self.device[rank][buf].bytes, dtype, spot.at),
                Where::Shared(buf) | Where::Local(buf) => get_bits(&cta.shared[buf].bytes, dtype, spot.at),
            };
            let Some(old) = old else { return Err(self.outside(at, spot, who.span)) };
            let same = old == (if dtype.bits() == 64 { bits } else { bits & ((1 << dtype.bits()) - 1) });
            self.note_write(cta, at, spot, who, same)?;
        }
        self.store(cta, at, spot, bits).ok_or_else(|| self.outside(at, spot, who.span))
    }

    /// Writes bits, nothing else.
    pub(super) fn store(&mut self, cta: &mut Cta, at: Where, spot: Spot, bits: u64) -> Option<()> {
        let dtype = self.buffer(at).dtype;
        match at {
            Where::Local(buf) => {
                cta.note_written(buf, spot.tid, spot.at);
                put_bits(cta.local_mut(buf, spot.tid), dtype, spot.at, bits)
            }
            Where::Shared(buf) => put_bits(&mut cta.shared[buf].bytes, dtype, spot.at, bits),
            Where::Device(rank, buf) => put_bits(&mut self.device[rank][buf].bytes, dtype, spot.at, bits),
        }
    }

    /// Bits without any check.
    pub(super) fn peek(&self, cta: &Cta, at: Where, spot: Spot) -> Option<u64> {
        let dtype = self.buffer(at).dtype;
        match at {
            Where::Local(buf) => get_bits(cta.local(buf, spot.tid), dtype, spot.at),
            Where::Shared(buf) => get_bits(&cta.shared[buf].bytes, dtype, spot.at),
            Where::Device(rank, buf) => get_bits(&self.device[rank][buf].bytes, dtype, spot.at),
        }
    }

    /// What wrote an element last: actor and time, for those who poll it.
    pub(super) fn last_writer(&mut self, cta: &mut Cta, at: Where, spot: Spot) -> Option<(u32, u32)> {
        let writer = self.cell(cta, at, spot).writer;
        let e = self.events[writer as usize];
        (writer != 0).then_some((e.actor, e.time))
    }

    fn event(&mut self, cta: &mut Cta, who: &Who, write: bool) -> EventId {
        let event = match who.engine {
            Some((reads, writes, time)) => {
                Event { actor: if write { writes } else { reads }, time, threads: (0, 0), span: who.span }
            }
            None => Event { actor: cta.actor, time: cta.time, threads: who.threads, span: who.span },
        };
        let recent = &mut cta.recent[who.threads.0 as usize][usize::from(write)];
        if self.events[*recent as usize].same(&event) {
            return *recent;
        }
        if self.events.len() >= MAX_EVENTS {
            return 0; // a very long run loses its history, never its results
        }
        self.events.push(event);
        *recent = (self.events.len() - 1) as EventId;
        *recent
    }

    /// Is the event known to have happened, for whoever accesses now?
    fn ordered(&self, cta: &Cta, who: &mut Who, event: EventId) -> bool {
        if event == 0 || event == who.known || event == who.events.0 || event == who.events.1 {
            return true;
        }
        let e = &self.events[event as usize];
        let (lo, hi) = who.threads;
        // One op that reads and writes an element: its own thread does both.
        let mine = Event { actor: cta.actor, time: cta.time, threads: who.threads, span: who.span };
        if who.engine.is_none() && e.same(&mine) {
            return true;
        }
        // Knowledge of the own CTA comes back with a signal that it notified itself.
        let told = || {
            let knows = |c: &super::race::Clock| c.get(&e.actor).is_some_and(|t| *t >= e.time);
            let clocks = &cta.clocks[lo as usize..=hi as usize];
            clocks.iter().enumerate().all(|(i, c)| (i > 0 && Rc::ptr_eq(c, &clocks[i - 1])) || knows(c))
        };
        let ok = if e.actor == cta.actor {
            let alone = lo == hi && e.threads == (lo, lo);
            // A post waits for the threads that run it (design section 3, lowering of completion and visibility).
            let posted = who.engine.is_some() && e.threads.0 >= lo && e.threads.1 <= hi;
            alone || posted || cta.meetings.since(e.time, e.threads, (lo, hi)) || told()
        } else {
            // A queue works in order.
            who.engine.is_some_and(|(r, w, _)| e.actor == r || e.actor == w) || told()
        };
        if ok {
            who.known = event;
        }
        ok
    }

    fn check_pending(&self, cta: &Cta, buf: usize, spot: Spot, span: Span) -> Result<(), RunError> {
        let hit = cta.pending.iter().find(|p| p.buf == buf && p.places.binary_search(&(spot.tid, spot.at)).is_ok());
        match hit {
            None => Ok(()),
            Some(p) => {
                let name = self.element(Where::Local(buf), spot.x);
                Err(Diagnostic::error(Code::RACE, span, format!("{name} is used before its copy was waited for"))
                    .also(p.span, "the copy that is on its way")
                    .help("say `wait` for the token first"))
            }
        }
    }

    /// An element for messages: `tile[2, 3]`.
    pub(super) fn element(&self, at: Where, x: i64) -> String {
        let b = self.buffer(at);
        let mut rest = x;
        let mut index = vec![0i64; b.shape.len()];
        for (slot, extent) in index.iter_mut().zip(&b.shape).rev() {
            *slot = if *extent == 0 { 0 } else { rest % extent };
            rest = if *extent == 0 { 0 } else { rest / extent };
        }
        let index = index.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        format!("`{}[{index}]`", b.name)
    }

    pub(super) fn outside(&self, at: Where, spot: Spot, span: Span) -> RunError {
        let b = self.buffer(at);
        let message =
            format!("position {} is outside `{}`, which has {} elements of memory", spot.at, b.name, b.storage);
        Diagnostic::error(Code::OUT_OF_BOUNDS, span, message)
    }

    /// An actor for messages.
    fn actor_name(&self, actor: u32) -> String {
        match self.comm.describe(actor) {
            Some(text) => text,
            None => {
                let n = i64::from(actor);
                format!("rank {} CTA {}", n / self.ctas_per_rank.max(1), n % self.ctas_per_rank.max(1))
            }
        }
    }

    pub(super) fn race(&self, cta: &Cta, at: Where, spot: Spot, who: &Who, other: EventId, kind: Kind) -> RunError {
        let e = self.events[other as usize];
        let element = self.element(at, spot.x);
        let verb = if kind == Kind::ReadAfterWrite { "reads" } else { "writes" };
        let whose = |rank: usize| match at {
            Where::Device(owner, _) if owner != rank => format!("{element} of rank {owner}"),
            _ => element.clone(),
        };
        let place = whose(cta.rank);
        let early = self.comm.describe(e.actor).is_none() && e.actor != cta.actor && kind == Kind::WriteAfterRead;
        let copy = who.engine.and_then(|(_, writes, _)| self.comm.describe(writes));
        if let (true, Some(copy)) = (early, copy) {
            // The reader came too early; it is the reader that must wait, whichever of the two the schedule took first.
            let place = whose((i64::from(e.actor) / self.ctas_per_rank.max(1)) as usize);
            let message = format!("{} reads {place}, which {copy} may be writing", self.actor_name(e.actor));
            return Diagnostic::error(Code::RACE, e.span, message).also(who.span, "the copy").help(
                "wait for a signal of the copy before the read, or tell its rank by a signal that the read is done",
            );
        }
        let me = match who.engine {
            Some(_) => format!("a copy posted by {}", self.actor_name(cta.actor)),
            None => self.actor_name(cta.actor),
        };
        if e.actor == cta.actor {
            let message = format!("{me} {verb} {place} with no `sync` since another thread may have used it");
            return Diagnostic::error(Code::RACE, who.span, message)
                .label("here")
                .also(e.span, "used here by other threads")
                .help("put a `sync` of a scope that covers both between the two");
        }
        let using = if kind == Kind::WriteAfterRead { "reading" } else { "writing" };
        let message = format!("{me} {verb} {place}, which {} may be {using}", self.actor_name(e.actor));
        let d = Diagnostic::error(Code::RACE, who.span, message).also(e.span, "the other access");
        if self.comm.describe(e.actor).is_some() {
            d.help(
                "wait for a signal that the copy (or a later one on its queue) notifies, from the rank that ran it, or for \
                 its token; `wait … by thread` tells the waiting thread only, the others need a `sync`",
            )
            .help("if the wait is there, the next copy may come too early: tell its rank by a signal that the read is done")
        } else {
            d.help("order the two by a signal: `notify` after the first, `wait … from` before the second")
        }
    }

    /// Contents of the author's buffers after the run.
    pub(super) fn outputs(self) -> Vec<indexmap::IndexMap<Name, Vec<u8>>> {
        let k = self.k;
        self.device
            .into_iter()
            .map(|buffers| {
                let own = k.buffers.iter().zip(buffers).filter(|(b, _)| b.is_param && !b.hidden);
                own.map(|(b, m)| (b.name.clone(), m.bytes)).collect()
            })
            .collect()
    }

    /// Which memory a buffer is, for a CTA; `rank` says whose window.
    pub(super) fn locate(&self, cta: &Cta, buf: usize, rank: Option<i64>, span: Span) -> Result<Where, RunError> {
        let b = &self.k.buffers[buf];
        match b.space {
            Space::Local => Ok(Where::Local(buf)),
            Space::Shared => Ok(Where::Shared(buf)),
            Space::Global | Space::Window => match rank {
                None => Ok(Where::Device(cta.rank, buf)),
                Some(r) if (0..self.ranks as i64).contains(&r) => Ok(Where::Device(r as usize, buf)),
                Some(r) => {
                    let message = format!("`{}` of rank {r}, there are {} ranks", b.name, self.ranks);
                    Err(Diagnostic::error(Code::OUT_OF_BOUNDS, span, message))
                }
            },
        }
    }
}

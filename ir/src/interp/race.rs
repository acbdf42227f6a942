//! Who touched which element last, and whether that is ordered before what happens now.
//!
//! Actors are the CTAs of all ranks and, for each peer queue, two engines: the one that reads sources and the one that
//! writes destinations. Each actor counts its own time; a vector clock says up to which time of each other actor a thread
//! knows that things have happened. Knowledge travels with signals, tokens and flags that were waited for. Inside a CTA
//! order comes from `sync` only. A detector that reports too much is useless, one that misses little is worth a lot: where
//! this one is coarse (the last reader only, knowledge of a whole CTA released at once) it errs towards silence.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::span::Span;

/// Up to which time of an actor things are known to have happened.
pub(super) type Clock = BTreeMap<u32, u32>;

/// Adds what `other` knows to `clock`.
pub(super) fn join(clock: &mut Rc<Clock>, other: &Rc<Clock>) {
    if Rc::ptr_eq(clock, other) {
        return;
    }
    let mine = Rc::make_mut(clock);
    for (actor, time) in other.iter() {
        let slot = mine.entry(*actor).or_insert(0);
        *slot = (*slot).max(*time);
    }
}

/// One access (or many of one op) by one actor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    /// Who.
    pub(super) actor: u32,
    /// The actor's time.
    pub(super) time: u32,
    /// First and last thread that may have done it; both 0 for engines.
    pub(super) threads: (u32, u32),
    /// The statement.
    pub(super) span: Span,
}

impl Event {
    /// Nothing tells the two apart, the place in the text included (spans compare equal, always).
    pub(super) fn same(&self, other: &Event) -> bool {
        let key = |e: &Event| (e.actor, e.time, e.threads, e.span.lo, e.span.hi);
        key(self) == key(other)
    }
}

/// Number of an event in the list of events; 0 is none.
pub(super) type EventId = u32;

/// Last accesses of one element.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    pub(super) writer: EventId,
    pub(super) reader: EventId,
}

const PAGE: usize = 256;

/// The cells of one buffer; pages exist where something was touched.
#[derive(Debug, Default)]
pub(super) struct Cells {
    pages: Vec<Option<Box<[Cell; PAGE]>>>,
}

impl Cells {
    /// The cell of a position.
    pub(super) fn at(&mut self, position: usize) -> &mut Cell {
        let page = position / PAGE;
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        &mut self.pages[page].get_or_insert_with(|| Box::new([Cell::default(); PAGE]))[position % PAGE]
    }
}

/// When each group of threads of a CTA last met, in the CTA's time.
#[derive(Clone, Debug)]
pub(super) struct Meetings {
    warp: u32,
    warps: Vec<u32>,
    warpgroups: Vec<u32>,
    cta: u32,
}

impl Meetings {
    /// Nobody has met.
    pub(super) fn new(threads: u32, warp: u32) -> Meetings {
        let warps = threads.div_ceil(warp.max(1)) as usize;
        Meetings { warp: warp.max(1), warps: vec![0; warps], warpgroups: vec![0; warps.div_ceil(4)], cta: 0 }
    }

    /// The warp of a thread met at `time`.
    pub(super) fn meet_warp(&mut self, thread: u32, time: u32) {
        self.warps[(thread / self.warp) as usize] = time;
    }

    /// The warpgroup of a thread met.
    pub(super) fn meet_warpgroup(&mut self, thread: u32, time: u32) {
        self.warpgroups[(thread / self.warp / 4) as usize] = time;
    }

    /// All threads met.
    pub(super) fn meet_cta(&mut self, time: u32) {
        self.cta = time;
    }

    /// Did all threads of both ranges meet after `time`?
    pub(super) fn since(&self, time: u32, a: (u32, u32), b: (u32, u32)) -> bool {
        let (lo, hi) = (a.0.min(b.0), a.1.max(b.1));
        let (first, last) = (lo / self.warp, hi / self.warp);
        self.cta > time
            || (first == last && self.warps[first as usize] > time)
            || (first / 4 == last / 4 && self.warpgroups[(first / 4) as usize] > time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meetings_cover_their_threads_only() {
        let mut m = Meetings::new(128, 32);
        m.meet_warp(40, 5);
        assert!(m.since(4, (32, 40), (63, 63)));
        assert!(!m.since(5, (32, 40), (63, 63)));
        assert!(!m.since(4, (31, 31), (40, 40)));
        m.meet_cta(9);
        assert!(m.since(8, (0, 0), (127, 127)));
    }

    #[test]
    fn clocks_join_by_maximum() {
        let mut a = Rc::new(Clock::from([(1, 5), (2, 1)]));
        join(&mut a, &Rc::new(Clock::from([(1, 3), (3, 7)])));
        assert_eq!(*a, Clock::from([(1, 5), (2, 1), (3, 7)]));
    }
}

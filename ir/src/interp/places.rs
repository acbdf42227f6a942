//! Where the elements of regions and places are: positions in memory, owning threads of registers.

use super::RunError;
use super::comm::Target;
use super::cta::Cta;
use super::resolve::{RIndex, RPlace};
use super::tile::{Group, Tile};
use super::world::{Spot, Where, World};
use crate::diag::{Code, Diagnostic};
use crate::space::Space;
use crate::span::Span;

impl World<'_, '_> {
    /// Calls `f` with the row-major logical index of every element of the region, in order.
    pub(super) fn each(&self, tile: &Tile, mut f: impl FnMut(i64)) {
        let shape = &self.buffer(tile.at).shape;
        let count = tile.count();
        let mut index: Vec<i64> = tile.bounds.iter().map(|(lo, _)| *lo).collect();
        for _ in 0..count {
            f(index.iter().zip(shape).fold(0, |x, (i, e)| x * e + i));
            for (i, (lo, hi)) in index.iter_mut().zip(&tile.bounds).rev() {
                *i += 1;
                if *i < *hi {
                    break;
                }
                *i = *lo;
            }
        }
    }

    /// One place of every element of a source.
    pub(super) fn sources(&mut self, cta: &Cta, g: &Group<'_>, tile: &Tile, span: Span) -> Result<Vec<Spot>, RunError> {
        let b = self.buffer(tile.at);
        let mut out = Vec::with_capacity(tile.count() as usize);
        if let (Where::Local(buf), true) = (tile.at, b.layout.has_threads()) {
            let owners = self.owners(buf, cta.threads())?;
            let mut lost = None;
            self.each(tile, |x| match owners.of(x).iter().find(|(tid, _)| g.member[*tid as usize]) {
                Some((tid, at)) => out.push(Spot { x, tid: *tid, at: *at }),
                None => lost = lost.or(Some(x)),
            });
            return match lost {
                None => Ok(out),
                Some(x) => Err(self.no_owner(tile.at, x, g, span)),
            };
        }
        let tid = g.threads[0];
        self.each(tile, |x| out.push(Spot { x, tid, at: b.layout.position(x) }));
        Ok(out)
    }

    /// Every place of every element of a destination.
    pub(super) fn targets(
        &mut self,
        cta: &Cta,
        g: &Group<'_>,
        tile: &Tile,
        span: Span,
    ) -> Result<Vec<Target>, RunError> {
        let b = self.buffer(tile.at);
        let mut out: Vec<Target> = Vec::with_capacity(tile.count() as usize);
        let mut k = 0u32;
        if let Where::Local(buf) = tile.at {
            if b.layout.has_threads() {
                let owners = self.owners(buf, cta.threads())?;
                let mut lost = None;
                self.each(tile, |x| {
                    let mut held = false;
                    for (tid, at) in owners.of(x) {
                        // A thread of the group that is not active holds the element, but does not get it.
                        held |= g.covers(*tid);
                        if g.member[*tid as usize] {
                            out.push((k, Spot { x, tid: *tid, at: *at }));
                        }
                    }
                    if !held {
                        lost = lost.or(Some(x));
                    }
                    k += 1;
                });
                return match lost {
                    None => Ok(out),
                    Some(x) => Err(self.no_owner(tile.at, x, g, span)),
                };
            }
            self.each(tile, |x| {
                b.layout.places(x, |_, at| out.extend(g.threads.iter().map(|tid| (k, Spot { x, tid: *tid, at }))));
                k += 1;
            });
            return Ok(out);
        }
        let tid = g.threads[0];
        self.each(tile, |x| {
            if b.layout.has_replicas() {
                b.layout.places(x, |_, at| out.push((k, Spot { x, tid, at })));
            } else {
                out.push((k, Spot { x, tid, at: b.layout.position(x) }));
            }
            k += 1;
        });
        Ok(out)
    }

    pub(super) fn no_owner(&self, at: Where, x: i64, g: &Group<'_>, span: Span) -> RunError {
        let who = match g.threads {
            [t] => format!("thread {t} does not own"),
            _ => "no active thread owns".to_owned(),
        };
        Diagnostic::error(Code::LOCAL_OWNER, span, format!("{who} {}", self.element(at, x)))
            .help("the layout says which thread holds which element; let the owners run the op")
    }

    /// The element that a place names in one thread. Registers of other threads are an error.
    pub(super) fn place(&mut self, cta: &Cta, p: &RPlace, tid: u32, span: Span) -> Result<(Where, Spot), RunError> {
        let (ids, slots) = (cta.ids(tid), cta.slots(tid));
        let rank = p.rank.as_ref().map(|e| e.eval_int(&ids, slots));
        let at = self.locate(cta, p.buf, rank, span)?;
        let b = self.buffer(at);
        let list = match &p.index {
            RIndex::Flat(e) => {
                let at_flat = e.eval_int(&ids, slots);
                return Ok((at, Spot { x: at_flat, tid, at: at_flat }));
            }
            RIndex::Logical(list) => list,
        };
        let mut x = 0i64;
        for (d, (e, extent)) in list.iter().zip(&b.shape).enumerate() {
            let i = e.eval_int(&ids, slots);
            if i < 0 || i >= *extent {
                let message = format!("index {i} is outside dimension {d} of `{}`, which has extent {extent}", b.name);
                return Err(Diagnostic::error(Code::OUT_OF_BOUNDS, span, message));
            }
            x = x * extent + i;
        }
        if b.space == Space::Local && b.layout.has_threads() {
            let owners = self.owners(p.buf, cta.threads())?;
            let Some((_, position)) = owners.of(x).iter().find(|(t, _)| *t == tid) else {
                let message = format!("thread {tid} does not own {}", self.element(at, x));
                return Err(Diagnostic::error(Code::LOCAL_OWNER, span, message));
            };
            return Ok((at, Spot { x, tid, at: *position }));
        }
        Ok((at, Spot { x, tid, at: b.layout.position(x) }))
    }

    /// Every place in this thread (or memory) of the element at `spot`.
    pub(super) fn places_of(&mut self, cta: &Cta, at: Where, spot: Spot) -> Result<Vec<Spot>, RunError> {
        let b = self.buffer(at);
        if !b.layout.has_replicas() {
            return Ok(vec![spot]);
        }
        let mut out = Vec::new();
        if b.space == Space::Local && b.layout.has_threads() {
            let owners = self.owners(at.buf(), cta.threads())?;
            let mine = owners.of(spot.x).iter().filter(|(t, _)| *t == spot.tid);
            out.extend(mine.map(|(_, position)| Spot { at: *position, ..spot }));
        } else {
            b.layout.places(spot.x, |_, position| out.push(Spot { at: position, ..spot }));
        }
        Ok(out)
    }
}

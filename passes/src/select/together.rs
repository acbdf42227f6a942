//! Copies between ranks that the threads of this rank carry out by themselves.
//!
//! An engine begins when the threads of the scope have come and ends when they go on, so whatever the scope did before is
//! seen by it, and what it did is seen by the scope. Threads that share the work among themselves meet for that. Must hold:
//! a copy by a scope whose threads are all active orders the memory of this rank like one that an engine carries; where
//! some are missing nobody can meet, and the author's `sync` does it.

use tilewright_ir::{AttrValue, Name, Scope, Space};

use super::rewriter::Rewriter;
use super::variant::{Candidate, CopyView, Operand};

/// The candidate with a barrier of the copy's scope before and behind what it emits, as far as the copy needs them.
pub fn together(candidate: Candidate, view: &CopyView) -> Candidate {
    let scope = view.scope;
    let here = |o: &Operand| !o.is_peer() && o.space() != Space::Local;
    let shared = here(&view.src) || here(&view.dst);
    if scope == Scope::Thread || !shared || !view.active.full_groups(scope) {
        return candidate;
    }
    let inner = candidate.emit;
    let emit = Box::new(move |rw: &mut Rewriter| {
        let meet = |rw: &mut Rewriter| {
            rw.prim("barrier", vec![], vec![("scope", AttrValue::Sym(Name::new(scope.as_str())))]);
        };
        meet(rw);
        let completion = inner(rw);
        meet(rw);
        completion
    });
    Candidate { emit, ..candidate }
}

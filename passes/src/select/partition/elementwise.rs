//! Walks for elementwise ops: one destination, any number of sources, one element at a time.

use tilewright_ir::{Place, Space};

use super::build::{Crew, build};
use super::copy::shared_byte_of;
use super::emit::Script;
use super::vector::{Limit, carve};
use super::walk::Walk;
use super::work::{Dealing, deal, workers};
use crate::select::rewriter::Rewriter;
use crate::select::variant::{CopyView, Operand, Reject};

/// An elementwise op that has been dealt out.
#[derive(Debug)]
pub struct Elementwise {
    script: Script,
    /// Elements that one step writes: more than one only where an element is less than a byte.
    n: i64,
}

/// Deals the elements of the destination out: to its owners if an operand is local, else to the threads of the scope.
/// `view` says who runs it; its own source is not looked at.
///
/// # Errors
/// The rule that the operands do not meet.
pub fn plan_elementwise(view: &CopyView, sources: &[Operand]) -> Result<Elementwise, Reject> {
    let crew = Crew::of(view)?;
    let ops: Vec<&Operand> = std::iter::once(&view.dst).chain(sources).collect();
    let built = build(&ops, crew)?;
    let lead = ops.iter().position(|op| op.space().is_device_memory()).unwrap_or(0);
    let bits = view.dst.dtype().bits();
    let mut walk = built.walk.clone();
    finish(&mut walk, lead);
    let mut n = 1;
    if bits < 8 && view.dst.space() != Space::Local {
        n = i64::from(8 / bits);
        // Only the digits are of interest: sources are read element by element, whatever their alignment.
        let limit = |op: &&Operand| Limit { name: op.buf.to_string(), align: 16, max_bits: 128, bits };
        let limits: Vec<Limit> = ops.iter().map(limit).collect();
        match carve(&walk, n, &limits, crew.facts) {
            Ok(whole) => walk = whole,
            Err(_) if crew.active.count() == 1 => n = 1,
            Err(_) => return Err(shared_byte_of(&view.dst)),
        }
    }
    finish(&mut walk, lead);
    let mut script = Script { walk, worker: None, dealing: Dealing::Loops, registers: built.driver.is_some() };
    if built.driver.is_none() {
        let team = workers(crew.active, crew.scope).ok_or_else(|| Reject::Threads {
            why: format!("the active threads of a {} do not follow each other", crew.scope),
        })?;
        script.walk.guards.extend(team.guard.clone());
        script.dealing = deal(&mut script.walk, team.count, crew.facts);
        script.worker = Some(team.number);
    }
    Ok(Elementwise { script, n })
}

fn finish(walk: &mut Walk, lead: usize) {
    walk.sort_by(lead);
    walk.fuse();
}

impl Elementwise {
    /// Writes the loops; `element` writes one element, given its places (destination first).
    pub fn write(&self, rw: &mut Rewriter, element: &dyn Fn(&mut Rewriter, &[Place])) {
        let n = self.n;
        self.script.write(rw, &|rw, places| {
            for j in 0..n {
                let at: Vec<Place> = places.iter().map(|p| further(p, j)).collect();
                element(rw, &at);
            }
        });
    }
}

/// The place `j` elements further.
fn further(place: &Place, j: i64) -> Place {
    let mut out = place.clone();
    if let tilewright_ir::PlaceIndex::Flat(e) = &place.index {
        out.index = tilewright_ir::PlaceIndex::Flat(e.clone().add(tilewright_ir::Expr::int(j)));
    }
    out
}

//! The first questions that a variant asks: one copy, and between which memories.

use tilewright_ir::Space;

use crate::select::variant::{CopyGroup, CopyView, Operand, Reject};

/// The copy of a group of one.
///
/// # Errors
/// If copies are offered together: only planners of copy engines take batches.
pub fn single(group: &CopyGroup) -> Result<&CopyView, Reject> {
    match group.copies.as_slice() {
        [view] => Ok(view),
        many => Err(Reject::Attribute { why: format!("carries one copy at a time, not {}", many.len()) }),
    }
}

/// The space in words.
fn named(op: &Operand) -> String {
    if op.is_peer() { "peer window".to_owned() } else { op.space().to_string() }
}

fn spaces(view: &CopyView, need: &'static str) -> Reject {
    Reject::Spaces { src: named(&view.src), dst: named(&view.dst), need }
}

/// Both sides in this rank's memory or registers.
///
/// # Errors
/// If one is a peer's.
pub fn own_sides(view: &CopyView) -> Result<(), Reject> {
    let peer = view.dst.is_peer() || view.src.is_peer();
    if peer { Err(spaces(view, "both sides on this rank")) } else { Ok(()) }
}

/// One side or both in registers, none a peer's.
///
/// # Errors
/// If none is in registers, or one is a peer's.
pub fn registers(view: &CopyView) -> Result<(), Reject> {
    let local = view.dst.space() == Space::Local || view.src.space() == Space::Local;
    if local && own_sides(view).is_ok() {
        return Ok(());
    }
    Err(spaces(view, "registers on one side, global, shared or own window memory on the other"))
}

/// Both sides in this rank's memory, none in registers.
///
/// # Errors
/// If a side is.
pub fn memories(view: &CopyView) -> Result<(), Reject> {
    let local = view.dst.space() == Space::Local || view.src.space() == Space::Local;
    if !local && own_sides(view).is_ok() {
        return Ok(());
    }
    Err(spaces(view, "global, shared or own window memory on both sides"))
}

/// A side that is a peer's window.
///
/// # Errors
/// If none is.
pub fn peer(view: &CopyView) -> Result<(), Reject> {
    if own_sides(view).is_err() { Ok(()) } else { Err(spaces(view, "a peer's window on one side")) }
}

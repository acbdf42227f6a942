//! Elements of less than a byte that threads write one by one: does any byte belong to two threads?
//!
//! Such a write reads the byte and writes it back, so that two threads at one byte may lose an element. The answer is found
//! by asking every layout for every element and thread: what cannot be asked (extents that only run time knows, too many
//! elements) counts as shared.

use std::collections::BTreeMap;

use tilewright_ir::{Axis, Dim, Expr};

use super::copy::shared_byte_of;
use super::elements::{CHECK_LIMIT, Reach, by_coordinates, holders};
use super::owners::groups;
use crate::select::variant::{CopyView, Reject};

/// Checks that no byte of the destination in memory is written by two threads, for elements dealt out as the loop over
/// single elements does: by the owners of a local source, else by the first thread of each group.
///
/// # Errors
/// The byte and the two threads; or that it is not known.
pub(super) fn apart(view: &CopyView, reaches: &[Reach; 2], local_source: bool) -> Result<(), Reject> {
    let all = groups(&view.active, view.scope);
    let writers = if local_source { view.active.count() as usize } else { all.len() };
    if writers <= 1 {
        return Ok(());
    }
    let unknown = || shared_byte_of(&view.dst);
    let count = view.extents.iter().fold(Dim::ONE, |p, e| p.mul(e)).as_const().ok_or_else(unknown)?;
    let per = i64::from(8 / view.dst.dtype().bits().max(1));
    let mut of_byte: BTreeMap<i64, u32> = BTreeMap::new();
    let mut work = 0i64;
    let mut common: Option<Dim> = None;
    for group in all {
        let by_point = by_coordinates(&reaches[1], &group, view.active.warp());
        for element in 0..count {
            let threads: Vec<u32> = match local_source {
                true => holders(&reaches[1], view, element, &by_point).ok_or_else(unknown)?.into_iter().collect(),
                false => group.first().copied().into_iter().collect(),
            };
            work = work.saturating_add(threads.len() as i64);
            if work > CHECK_LIMIT {
                return Err(unknown());
            }
            for t in threads {
                let (rest, places) = places(view, &reaches[0], element, t).ok_or_else(unknown)?;
                if common.get_or_insert_with(|| rest.clone()) != &rest {
                    return Err(unknown());
                }
                for place in places {
                    let byte = place.div_euclid(per);
                    let before = *of_byte.entry(byte).or_insert(t);
                    if before != t {
                        return Err(shared(view, before, t, element));
                    }
                }
            }
        }
    }
    Ok(())
}

fn shared(view: &CopyView, a: u32, b: u32, element: i64) -> Reject {
    let (buf, dtype) = (&view.dst.buf, view.dst.dtype());
    let why = format!(
        "bytes of `{buf}` would be written by two threads: {a} and {b} at element {element} of the copy, and {dtype} has {} bits",
        dtype.bits()
    );
    Reject::Threads { why }
}

/// Where thread `t` writes the element: a part that only run time knows, the same for all places and a whole number of
/// bytes (and of periods of the swizzle), and the constant rest, one for each replica. In elements.
fn places(view: &CopyView, reach: &Reach, element: i64, t: u32) -> Option<(Dim, Vec<i64>)> {
    let per = i64::from(8 / view.dst.dtype().bits().max(1));
    let value = |atom: &Expr| view.active.eval_at(atom, t).map(Dim::Const);
    let known = |dim: &Dim| view.facts.resolve(&dim.to_expr()).substitute(&value);
    let mut flat = known(&reach.base).as_const()?;
    let mut rest = element;
    for (extent, weight) in view.extents.iter().zip(&reach.weights).rev() {
        let e = extent.as_const()?;
        flat = flat.checked_add((rest % e).checked_mul(weight.as_const()?)?)?;
        rest /= e;
    }
    let mut tile = reach.layout.tile.clone();
    let offset = known(&tile.offset_on(&Axis::M));
    let constant: i64 = offset.monomials().iter().filter(|(m, _)| m.is_empty()).map(|(_, c)| *c).sum();
    let unknown = offset.sub(&Dim::Const(constant));
    let swizzle = reach.layout.swizzle.filter(|s| s.swizzle_len > 0);
    let unit = swizzle.map_or(per, |s| s.period().max(per));
    if !view.facts.is_multiple(&unknown, unit) {
        return None;
    }
    tile.offset.insert(Axis::M, Dim::Const(constant));
    let mut places = vec![*tile.apply_flat(flat).ok()?.get(&Axis::M).unwrap_or(&0)];
    for it in tile.replica.iter().filter(|it| it.axis == Axis::M) {
        let (extent, stride) = (it.extent.as_const()?, it.stride.as_const()?);
        let first = places.clone();
        places.extend((1..extent).flat_map(|r| first.iter().map(move |p| p.wrapping_add(r.wrapping_mul(stride)))));
        if places.len() as i64 > CHECK_LIMIT {
            return None;
        }
    }
    Some((unknown, places.into_iter().map(|p| swizzle.map_or(p, |s| s.apply(p))).collect()))
}

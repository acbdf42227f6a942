//! What the golden file leaves open, and what it does not: the order of waves that share a queue, and the order of stores.

use std::collections::BTreeMap;

use crate::rows::{Res, Row, Step};
use crate::world::State;

/// Reservation < ring < write pointer < doorbell < committed pointer, as far as they change; and the same counters change.
pub(crate) fn check(theirs: &[String], ours: &[&str]) -> Res<()> {
    let shown = || format!("stores were seen in the order {ours:?}");
    let first = |name: &str| ours.iter().position(|seen| *seen == name);
    for name in ["cachedWptr", "cachedHwReadIndex", "ring", "wptr", "doorbell", "committedWptr"] {
        let wanted = theirs.iter().any(|t| t.split(':').next() == Some(name));
        if wanted != first(name).is_some() {
            return Err(format!("{name} {}; {}", if wanted { "does not change" } else { "changes" }, shown()));
        }
    }
    let mut before: Option<usize> = None;
    for (name, last) in
        [("cachedWptr", false), ("ring", true), ("wptr", false), ("doorbell", false), ("committedWptr", false)]
    {
        let Some(from) = first(name) else { continue };
        if before.is_some_and(|before| before >= from) {
            return Err(format!("{name} is too early; {}", shown()));
        }
        let to = ours.iter().rposition(|seen| *seen == name).unwrap_or(from);
        if !last && to != from {
            return Err(format!("{name} changes twice; {}", shown()));
        }
        before = Some(to);
    }
    Ok(())
}

/// The units of each wave in their order, and in how many pieces they lie.
type Runs = BTreeMap<i64, (Vec<Vec<u8>>, usize)>;

/// Several waves posted to one queue: each wave's units are the same in the same order, and lie together if the file's do.
pub(crate) fn runs(row: &Row, step: &Step, before: &State, ours: &State, theirs: &State) -> Res<()> {
    let (from, to) = (before.counters.cached_wptr, theirs.counters.cached_wptr);
    if ours.counters != theirs.counters {
        return Err(format!("{:?}, should be {:?}", ours.counters, theirs.counters));
    }
    let (ours, theirs) = (split(row, step, &ours.ring, from, to)?, split(row, step, &theirs.ring, from, to)?);
    if ours.len() != theirs.len() {
        return Err(format!("units of {} waves, should be of {}", ours.len(), theirs.len()));
    }
    for (wave, (units, pieces)) in &theirs {
        match ours.get(wave) {
            Some((found, _)) if found != units => return Err(format!("wave {wave} posted other units")),
            Some((_, found)) if *pieces == 1 && *found != 1 => {
                return Err(format!("the units of wave {wave} lie in {found} pieces"));
            }
            Some(_) => {}
            None => return Err(format!("wave {wave} posted nothing")),
        }
    }
    Ok(())
}

fn split(row: &Row, step: &Step, ring: &[u8], from: u64, to: u64) -> Res<Runs> {
    let mut runs = Runs::new();
    let mut last = None;
    let unit = row.facts.unit_bytes;
    for position in (from..to).step_by(unit as usize) {
        let at = (position % row.facts.ring_bytes) as usize;
        let bytes = &ring[at..at + unit as usize];
        // What is no copy belongs to the copy before it.
        let wave = match wave_of(row, step, bytes) {
            Some(wave) => wave,
            None if is_copy(row, bytes) => return Err(format!("nobody asked for the copy at {at:#x}")),
            None => last.ok_or_else(|| format!("no copy before {at:#x}"))?,
        };
        let (units, pieces) = runs.entry(wave).or_default();
        units.push(bytes.to_vec());
        *pieces += usize::from(last != Some(wave));
        last = Some(wave);
    }
    Ok(runs)
}

fn dword(unit: &[u8], n: usize) -> u64 {
    u64::from(u32::from_le_bytes([unit[4 * n], unit[4 * n + 1], unit[4 * n + 2], unit[4 * n + 3]]))
}

fn is_copy(row: &Row, unit: &[u8]) -> bool {
    dword(unit, 0) as u32 == row.facts.posted.copy_header
}

/// The wave that asked for a copy.
fn wave_of(row: &Row, step: &Step, unit: &[u8]) -> Option<i64> {
    if !is_copy(row, unit) {
        return None;
    }
    let src = dword(unit, 3) | dword(unit, 4) << 32;
    let dst = dword(unit, 5) | dword(unit, 6) << 32;
    let put = step.call.op == "put";
    let lane = step.lanes.iter().find(|lane| {
        let [_, peer, _, dst_offset, src_offset, bytes] = lane.map(|n| n as u64);
        let address = |window: usize, remote: bool, offset: u64| {
            let (base, stride, own) = row.cfg.windows[window];
            let rank = if remote { peer } else { own as u64 };
            base.wrapping_add(rank.wrapping_mul(u64::from(stride)) << 32).wrapping_add(offset)
        };
        let inside = |start: u64, at: u64| at.wrapping_sub(start) < bytes;
        inside(address(0, put, dst_offset), dst) && inside(address(1, !put, src_offset), src)
    })?;
    let (block, wave) = (i64::from(step.block), i64::from(row.target.warp_size));
    let waves = (block + wave - 1) / wave;
    Some(lane[0] / block * waves + lane[0] % block / wave)
}

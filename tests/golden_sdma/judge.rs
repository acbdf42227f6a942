//! A row against what our code does: counters, ring bytes, lanes that came back, hangs, and the order of stores.
//!
//! Must hold: nothing but what the README of the file leaves open is left open. Where the snapshot fills the ring to the last
//! unit, the newer document's rule decides: the launch has reserved and waits, and goes on once the engine has read one unit.

use std::collections::BTreeMap;

use tilewright_sim::node::Counters;
use tilewright_sim::sdma::QueueId;

use crate::kernels::Kernels;
use crate::order;
use crate::rows::{After, Event, Res, Row, Step};
use crate::world::{PATTERN, State, World};

/// A row on its way.
struct Case<'a> {
    row: &'a Row,
    world: World,
    /// What all queues should be like.
    model: BTreeMap<QueueId, State>,
    /// Read positions that are further than in the file, because something had to be read before the launch went on.
    ahead: BTreeMap<QueueId, u64>,
    /// How often the newer document decided.
    conflicts: usize,
}

/// Runs a row; an error says what is wrong.
pub(crate) fn judge(row: &Row, kernels: &Kernels, folded: bool, seed: u64) -> Res<()> {
    let untouched = || PATTERN.to_le_bytes().repeat(row.facts.ring_bytes as usize / 4);
    let mut states = BTreeMap::new();
    for entry in &row.init {
        states.insert(id_of(row, entry), State { counters: entry.counters, ring: untouched() });
    }
    let world = World::new(row, &kernels.object, &states, seed)?;
    let mut model = BTreeMap::new();
    for id in world.queues() {
        let zero = || State { counters: Counters::default(), ring: untouched() };
        model.insert(id, states.remove(&id).unwrap_or_else(zero));
    }
    if let Some(id) = states.keys().next() {
        return Err(format!("there is no queue {id}"));
    }
    let mut case = Case { row, world, model, ahead: BTreeMap::new(), conflicts: 0 };
    for (n, step) in row.steps.iter().enumerate() {
        let run = case.step(kernels.name(step, folded)?, step);
        run.map_err(|why| format!("step {n} ({}): {why}", step.call.op))?;
        if step.hangs && n + 1 < row.steps.len() {
            // The next launch finds what this one left, but not the launch itself.
            case.world = case.world.again(row, &kernels.object, &case.model, seed)?;
        }
    }
    match row.doc_conflict && case.conflicts == 0 {
        true => Err("the documents are in conflict, but nothing waited for the unit that stays free".to_owned()),
        false => Ok(()),
    }
}

fn id_of(row: &Row, entry: &After) -> QueueId {
    QueueId { rank: row.cfg.lsa_rank, peer: entry.peer, queue: entry.queue }
}

impl Case<'_> {
    fn step(&mut self, kernel: &str, step: &Step) -> Res<()> {
        let mut before = BTreeMap::new();
        for entry in &step.after {
            let id = id_of(self.row, entry);
            let state = self.model.get(&id).ok_or_else(|| format!("there is no queue {id}"))?;
            before.insert(id, state.clone());
        }
        let watched: Vec<(QueueId, State)> = match &step.store_order {
            Some(_) => before.iter().map(|(id, state)| (*id, state.clone())).collect(),
            None => Vec::new(),
        };
        let mut ran = self.world.run(kernel, step, step.hangs || self.row.doc_conflict, &watched)?;
        if !ran.ended && !step.hangs && self.row.doc_conflict {
            ran.ended = self.reads_one_unit(step, &before)?;
        }
        if ran.ended == step.hangs {
            return Err(if step.hangs { "ends, and should hang" } else { "does not end" }.to_owned());
        }
        if step.waited && !ran.waited {
            return Err("ended before the last event".to_owned());
        }
        self.lanes(step)?;
        for entry in &step.after {
            let id = id_of(self.row, entry);
            self.expect(id, entry, &before[&id].counters)?;
        }
        self.compare(step, &before)?;
        match &step.store_order {
            Some(theirs) => order::check(theirs, &ran.order),
            None => Ok(()),
        }
    }

    /// The launch waits for the unit that the newer document leaves free: it has reserved and nothing else. Then the engine
    /// reads that unit; whether the launch ends now.
    fn reads_one_unit(&mut self, step: &Step, before: &BTreeMap<QueueId, State>) -> Res<bool> {
        let most = self.row.facts.max_in_flight_bytes;
        let mut found = false;
        for entry in &step.after {
            let id = id_of(self.row, entry);
            let end = entry.counters.cached_wptr;
            if end.wrapping_sub(entry.counters.rptr) <= most {
                continue;
            }
            let mut waiting = before[&id].clone();
            waiting.counters.cached_wptr = end;
            waiting.counters.rptr = entry.counters.rptr;
            differs(id, &self.world.state(id)?, &waiting).map_err(|why| format!("while it waits: {why}"))?;
            let read = end - most;
            self.world.fire(Event::Rptr { peer: id.peer, queue: id.queue, value: read })?;
            self.ahead.insert(id, read);
            found = true;
        }
        if !found {
            return Err("does not end, and no ring is full".to_owned());
        }
        self.conflicts += 1;
        self.world.finish(false)
    }

    /// Who came back.
    fn lanes(&mut self, step: &Step) -> Res<()> {
        let all = || step.lanes.iter().map(|lane| lane[0]).collect::<Vec<_>>();
        let mut theirs = match &step.returned {
            Some(returned) => returned.clone(),
            None if step.hangs => return Ok(()),
            None => all(),
        };
        theirs.sort_unstable();
        let ours = self.world.returned()?;
        match ours == theirs {
            true => Ok(()),
            false => Err(format!("lanes {ours:?} came back, should be {theirs:?}")),
        }
    }

    /// What a queue should be like after the step.
    fn expect(&mut self, id: QueueId, entry: &After, before: &Counters) -> Res<()> {
        let state = self.model.get_mut(&id).ok_or("no such queue")?;
        state.counters = entry.counters;
        for (at, bytes) in &entry.writes {
            let at = *at as usize;
            let place = state.ring.get_mut(at..at + bytes.len()).ok_or("writes beyond the ring")?;
            place.copy_from_slice(bytes);
        }
        let counters = &mut state.counters;
        if let Some(read) = self.ahead.get(&id) {
            counters.rptr = counters.rptr.max(*read);
            counters.cached_hw_read_index = counters.cached_hw_read_index.max(*read);
        }
        // The last reservation found less than a unit free by the hint, so it looked at the read position.
        let reserved = counters.cached_wptr != before.cached_wptr;
        let short = counters.cached_wptr.wrapping_sub(before.cached_hw_read_index) > self.row.facts.max_in_flight_bytes;
        if reserved && short && counters.cached_hw_read_index == before.cached_hw_read_index {
            counters.cached_hw_read_index = counters.rptr;
            self.conflicts += 1;
        }
        Ok(())
    }

    fn compare(&mut self, step: &Step, before: &BTreeMap<QueueId, State>) -> Res<()> {
        let ids: Vec<QueueId> = self.model.keys().copied().collect();
        for id in ids {
            let ours = self.world.state(id)?;
            let theirs = self.model.get_mut(&id).ok_or("no such queue")?;
            if let (true, Some(before)) = (self.row.any_order, before.get(&id)) {
                order::runs(self.row, step, before, &ours, theirs).map_err(|why| format!("queue {id}: {why}"))?;
                theirs.ring.clone_from(&ours.ring);
            }
            differs(id, &ours, theirs)?;
        }
        Ok(())
    }
}

/// Bytes of a line in a report.
const UNIT: usize = 32;

/// The first difference between two states of a queue.
fn differs(id: QueueId, ours: &State, theirs: &State) -> Res<()> {
    if ours.counters != theirs.counters {
        return Err(format!("queue {id}: {:?}, should be {:?}", ours.counters, theirs.counters));
    }
    if ours.ring == theirs.ring {
        return Ok(());
    }
    let units = ours.ring.chunks(UNIT).zip(theirs.ring.chunks(UNIT)).enumerate();
    let (n, (ours, theirs)) = units.into_iter().find(|(_, (a, b))| a != b).ok_or("rings of different sizes")?;
    Err(format!("queue {id}: {} at {:#x}, should be {}", dwords(ours), n * UNIT, dwords(theirs)))
}

fn dwords(unit: &[u8]) -> String {
    let dword = |b: &[u8]| format!("{:08x}", u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    unit.chunks_exact(4).map(dword).collect::<Vec<_>>().join(" ")
}

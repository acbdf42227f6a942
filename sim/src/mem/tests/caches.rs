//! Values: what caches hide, and what uncovers it.

use super::Rig;
use crate::mem::{MemoryType, Scope};

#[test]
fn an_l1_line_stays_stale_until_it_is_invalidated() {
    let mut rig = Rig::new(false, 1);
    let at = rig.zeroes(0, 256, MemoryType::FineGrained);
    let (reader, writer) = (rig.wave(0, 0), rig.wave(0, 0));
    assert_eq!(rig.get(reader, at, Scope::Wave).unwrap(), 0);
    rig.store(writer, at, 7, Scope::System).unwrap();
    rig.wait(writer);
    assert_eq!(rig.get(reader, at, Scope::Wave).unwrap(), 0, "a stale line");
    assert_eq!(rig.get(reader, at, Scope::Agent).unwrap(), 7, "sc1 goes past it");
    assert_eq!(rig.get(reader, at, Scope::Workgroup).unwrap(), 0, "sc0 does not");
    rig.invalidate(reader, Scope::Agent);
    assert_eq!(rig.get(reader, at, Scope::Wave).unwrap(), 7);
}

#[test]
fn waves_of_one_compute_unit_see_each_others_stores_in_their_l1() {
    let mut rig = Rig::new(false, 1);
    let at = rig.zeroes(0, 256, MemoryType::Coarse);
    let writer = rig.wave(0, 0);
    let reader = rig.mate(writer);
    assert_eq!(rig.get(reader, at, Scope::Wave).unwrap(), 0);
    rig.store(writer, at, 7, Scope::Wave).unwrap();
    rig.wait(writer);
    assert_eq!(rig.get(reader, at, Scope::Wave).unwrap(), 7);
}

#[test]
fn dirty_bytes_stay_in_the_l2_until_they_are_written_back() {
    let mut rig = Rig::new(false, 1);
    let at = rig.zeroes(0, 256, MemoryType::Coarse);
    let (writer, same, other) = (rig.wave(0, 0), rig.wave(0, 0), rig.wave(0, 1));
    rig.store(writer, at + 4, 7, Scope::Wave).unwrap();
    rig.wait(writer);
    assert_eq!(rig.peek(at + 4), 0, "memory, and so every engine, sees the old bytes");
    assert_eq!(rig.get(same, at + 4, Scope::Agent).unwrap(), 7, "the XCD's own L2 has them");
    assert_eq!(rig.get(other, at + 4, Scope::Agent).unwrap(), 0, "another XCD does not");
    rig.invalidate(writer, Scope::System);
    assert_eq!(rig.get(writer, at + 4, Scope::Wave).unwrap(), 7, "invalidating loses no dirty byte");
    rig.write_back(writer, Scope::Agent);
    rig.wait(writer);
    assert_eq!(rig.peek(at + 4), 7);
    assert_eq!(rig.get(other, at + 4, Scope::Agent).unwrap(), 7);
}

#[test]
fn an_eviction_writes_back_for_some_seeds_only() {
    let mut seen = [0, 0];
    for seed in 0..40 {
        let mut rig = Rig::new(false, seed);
        let at = rig.zeroes(0, 256, MemoryType::Coarse);
        let writer = rig.wave(0, 0);
        rig.store(writer, at, 7, Scope::Wave).unwrap();
        rig.wait(writer);
        if rig.rng.chance(1, 2) {
            let Rig { memory, rng, .. } = &mut rig;
            assert!(memory.idle_step(rng).unwrap());
        }
        seen[usize::from(rig.peek(at) == 7)] += 1;
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
}

#[test]
fn a_store_with_scope_is_written_through() {
    for kind in [MemoryType::Coarse, MemoryType::FineGrained, MemoryType::Uncached] {
        let mut rig = Rig::new(false, 1);
        let at = rig.zeroes(0, 256, kind);
        let writer = rig.wave(0, 0);
        rig.store(writer, at, 5, Scope::Wave).unwrap();
        rig.store(writer, at, 7, Scope::Agent).unwrap();
        rig.wait(writer);
        assert_eq!(rig.peek(at), 7, "{kind:?}");
        rig.write_back(writer, Scope::System);
        rig.wait(writer);
        assert_eq!(rig.peek(at), 7, "{kind:?}: no older dirty byte comes after it");
    }
}

#[test]
fn memory_of_another_rank_is_written_through_and_read_stale() {
    let mut rig = Rig::new(false, 1);
    let at = rig.zeroes(1, 256, MemoryType::Coarse);
    let (near, far) = (rig.wave(1, 0), rig.wave(0, 0));
    assert_eq!(rig.get(near, at, Scope::Wave).unwrap(), 0);
    rig.store(far, at, 7, Scope::Wave).unwrap();
    rig.wait(far);
    assert_eq!(rig.peek(at), 7);
    assert_eq!(rig.get(near, at, Scope::Wave).unwrap(), 0, "stale on its own rank");
    rig.invalidate(near, Scope::System);
    assert_eq!(rig.get(near, at, Scope::Wave).unwrap(), 7);
}

#[test]
fn an_agent_invalidate_leaves_fine_grained_lines_in_the_l2() {
    let mut rig = Rig::new(false, 1);
    let at = rig.zeroes(0, 256, MemoryType::FineGrained);
    let reader = rig.wave(0, 0);
    let writer = rig.wave(0, 1);
    assert_eq!(rig.get(reader, at, Scope::Wave).unwrap(), 0);
    rig.store(writer, at, 7, Scope::System).unwrap();
    rig.wait(writer);
    rig.invalidate(reader, Scope::Agent);
    assert_eq!(rig.get(reader, at, Scope::Wave).unwrap(), 0, "the L2 line is still there");
    rig.invalidate(reader, Scope::System);
    assert_eq!(rig.get(reader, at, Scope::Wave).unwrap(), 7);
}

#[test]
fn atomics_act_on_memory_and_take_dirty_bytes_along() {
    let mut rig = Rig::new(false, 1);
    let at = rig.zeroes(0, 256, MemoryType::Coarse);
    let (first, second) = (rig.wave(0, 0), rig.wave(0, 1));
    rig.store(first, at, 40, Scope::Wave).unwrap();
    rig.add(first, at, 1, false).unwrap();
    rig.wait(first);
    assert_eq!(rig.peek(at), 41);
    rig.add(second, at, 1, false).unwrap();
    rig.wait(second);
    assert_eq!(rig.peek(at), 42);
    assert_eq!(rig.get(first, at, Scope::Agent).unwrap(), 42);
}

#[test]
fn scalar_loads_have_a_cache_of_their_own() {
    let mut rig = Rig::new(false, 1);
    let at = rig.zeroes(0, 256, MemoryType::Coarse);
    let w = rig.wave(0, 0);
    let load = |rig: &mut Rig| {
        rig.scalar_load(w, at, 0).unwrap();
        rig.wait(w);
        rig.state(w).sgprs[0]
    };
    assert_eq!(load(&mut rig), 0);
    rig.store(w, at, 7, Scope::Wave).unwrap();
    rig.wait(w);
    rig.invalidate(w, Scope::System);
    assert_eq!(load(&mut rig), 0, "buffer_inv does not empty it");
    rig.memory.invalidate_scalar(crate::mem::unit(&rig.state(w).clone()));
    assert_eq!(load(&mut rig), 7);
}

#[test]
fn a_launch_begins_with_empty_caches_and_ends_with_everything_in_memory() {
    let mut rig = Rig::new(false, 1);
    let at = rig.zeroes(0, 4096, MemoryType::Coarse);
    rig.memory.begin_launch(0);
    let w = rig.wave(0, 0);
    assert_eq!(rig.get(w, at + 8, Scope::Wave).unwrap(), 0);
    rig.store(w, at, 7, Scope::Wave).unwrap();
    rig.end(w);
    rig.memory.end_launch(0);
    assert_eq!(rig.peek(at), 7, "a store that outlived its wave, written back at the end");
    rig.memory.host_write(at + 8, &9u32.to_le_bytes()).unwrap();
    rig.memory.begin_launch(0);
    let w = rig.wave(0, 0);
    assert_eq!(rig.get(w, at + 8, Scope::Wave).unwrap(), 9);
}

#[test]
fn the_version_rises_with_values_only() {
    let mut rig = Rig::new(false, 1);
    let at = rig.zeroes(0, 256, MemoryType::FineGrained);
    let (w, other) = (rig.wave(0, 0), rig.wave(0, 1));
    assert_eq!(rig.get(w, at, Scope::Wave).unwrap(), 0);
    rig.store(w, at, 0, Scope::System).unwrap();
    rig.wait(w);
    let before = rig.memory.version();
    rig.store(w, at, 0, Scope::System).unwrap();
    rig.get(w, at, Scope::Agent).unwrap();
    rig.invalidate(w, Scope::System);
    rig.get(w, at, Scope::Wave).unwrap();
    assert_eq!(rig.memory.version(), before, "polling and storing the same value changes nothing");
    rig.store(other, at, 1, Scope::System).unwrap();
    rig.wait(other);
    assert!(rig.memory.version() > before);
}

#[test]
fn freed_memory_leaves_no_copies() {
    let mut rig = Rig::new(false, 1);
    let at = rig.zeroes(0, 256, MemoryType::Coarse);
    let w = rig.wave(0, 0);
    rig.store(w, at, 7, Scope::Wave).unwrap();
    rig.wait(w);
    assert!(rig.memory.free(at) && !rig.memory.free(at));
    rig.memory.allocate_at(at, 0, 256, MemoryType::Coarse, "again").unwrap();
    assert_eq!(rig.get(w, at, Scope::Wave).unwrap(), 0xcdcd_cdcd);
    rig.write_back(w, Scope::System);
    rig.wait(w);
    assert_eq!(rig.peek(at), 0xcdcd_cdcd);
}

//! Late completion: what may swap, what may not, and what a wait forces.

use super::Rig;
use crate::mem::{MemoryType, Scope};
use crate::wave::Counter;

/// Which of two stores memory sees first, for a seed: steps are made until one is there.
fn first_of_two(seed: u64, waits: bool) -> usize {
    let mut rig = Rig::new(true, seed);
    let at = rig.zeroes(0, 256, MemoryType::Uncached);
    let w = rig.wave(0, 0);
    rig.store(w, at, 1, Scope::Wave).unwrap();
    if waits {
        rig.wait(w);
    }
    rig.store(w, at + 64, 1, Scope::System).unwrap();
    rig.step(w);
    let seen = [rig.peek(at), rig.peek(at + 64)];
    assert_ne!(seen, [0, 0]);
    usize::from(seen[0] == 0)
}

#[test]
fn stores_swap_for_some_seeds_unless_a_wait_is_between() {
    let swapped: usize = (0..64).map(|seed| first_of_two(seed, false)).sum();
    assert!((8..56).contains(&swapped), "{swapped} of 64");
    assert_eq!((0..64).map(|seed| first_of_two(seed, true)).sum::<usize>(), 0);
}

#[test]
fn a_store_is_performed_late_without_a_wait() {
    let mut rig = Rig::new(true, 3);
    let at = rig.zeroes(0, 256, MemoryType::Uncached);
    let (w, other) = (rig.wave(0, 0), rig.wave(0, 1));
    rig.store(w, at, 7, Scope::System).unwrap();
    assert_eq!(rig.count(w, Counter::Load), 1);
    assert_eq!(rig.get(other, at, Scope::System).unwrap(), 0, "issued, not performed");
    assert!(rig.step(w));
    assert_eq!(rig.get(other, at, Scope::System).unwrap(), 7);
    assert_eq!(rig.count(w, Counter::Load), 1, "performed, not waited for");
    assert!(!rig.step(w));
    rig.wait(w);
    assert_eq!(rig.count(w, Counter::Load), 0);
}

#[test]
fn operations_on_the_same_bytes_keep_their_order() {
    for seed in 0..32 {
        let mut rig = Rig::new(true, seed);
        let at = rig.zeroes(0, 256, MemoryType::Coarse);
        let w = rig.wave(0, 0);
        rig.store(w, at, 1, Scope::Wave).unwrap();
        rig.load(w, at, Scope::Wave).unwrap();
        rig.store(w, at, 2, Scope::Wave).unwrap();
        rig.load_to(w, at, Scope::Wave, 1).unwrap();
        while rig.step(w) {}
        assert_eq!((rig.register(w, 0), rig.register(w, 1)), (1, 2), "seed {seed}");
    }
}

#[test]
fn vmcnt_counts_in_order_of_issue() {
    let mut rig = Rig::new(true, 3);
    let at = rig.zeroes(0, 256, MemoryType::Uncached);
    let w = rig.wave(0, 0);
    rig.load(w, at, Scope::Wave).unwrap();
    rig.store(w, at + 64, 1, Scope::Wave).unwrap();
    rig.load_to(w, at + 128, Scope::Wave, 1).unwrap();
    assert!(rig.state(w).is_vgpr_busy(0) && rig.state(w).is_vgpr_busy(1));
    rig.wait_for(w, 2, u32::MAX);
    assert!(!rig.state(w).is_vgpr_busy(0) && rig.state(w).is_vgpr_busy(1));
    rig.wait_for(w, 1, u32::MAX);
    assert_eq!(rig.peek(at + 64), 1);
    assert!(rig.state(w).is_vgpr_busy(1));
    rig.wait(w);
    assert!(!rig.state(w).any_busy());
}

#[test]
fn a_register_stays_busy_until_it_is_waited_for() {
    let mut rig = Rig::new(true, 3);
    let at = rig.zeroes(0, 256, MemoryType::Uncached);
    let w = rig.wave(0, 0);
    rig.load(w, at, Scope::Wave).unwrap();
    while rig.step(w) {}
    assert!(rig.state(w).is_vgpr_busy(0), "no seed may make a missing wait pass");
    rig.wait_for(w, 1, u32::MAX);
    assert!(rig.state(w).is_vgpr_busy(0), "waiting for nothing");
}

#[test]
fn lds_operations_keep_their_order_and_scalar_loads_do_not() {
    let mut late = 0;
    for seed in 0..32 {
        let mut rig = Rig::new(true, seed);
        let at = rig.zeroes(0, 256, MemoryType::Kernarg);
        let w = rig.wave(0, 0);
        rig.lds_store(w, 0, 5).unwrap();
        rig.lds_store(w, 0, 6).unwrap();
        rig.lds_store(w, 64, 7).unwrap();
        rig.lds_load(w, 0).unwrap();
        while rig.step(w) {}
        assert_eq!(rig.register(w, 0), 6);
        rig.wait(w);
        rig.scalar_load(w, at, 0).unwrap();
        rig.scalar_load(w, at + 4, 1).unwrap();
        rig.wait_for(w, u32::MAX, 1);
        late += u32::from(rig.state(w).sgpr_busy == 1);
        rig.wait_for(w, u32::MAX, 0);
        assert_eq!(rig.state(w).sgpr_busy, 0);
    }
    assert!((4..28).contains(&late), "lgkmcnt(1) says nothing about which scalar load came back: {late} of 32");
}

#[test]
fn no_load_passes_an_invalidate_and_a_write_back_follows_the_stores() {
    for seed in 0..32 {
        let mut rig = Rig::new(true, seed);
        let at = rig.zeroes(0, 256, MemoryType::Coarse);
        let w = rig.wave(0, 0);
        rig.get(w, at, Scope::Wave).unwrap();
        rig.store(w, at + 64, 7, Scope::Wave).unwrap();
        rig.write_back(w, Scope::Agent);
        rig.invalidate(w, Scope::Agent);
        rig.load(w, at, Scope::Wave).unwrap();
        while rig.step(w) {}
        assert_eq!(rig.peek(at + 64), 7);
        assert_eq!(rig.port(w).pending.in_flight(), 0);
    }
}

#[test]
fn counters_never_hold_more_than_the_hardwares() {
    let mut rig = Rig::new(true, 3);
    let at = rig.zeroes(0, 4096, MemoryType::Coarse);
    let w = rig.wave(0, 0);
    for index in 0..200 {
        rig.store(w, at + 16 * index, index as u32, Scope::Wave).unwrap();
        rig.lds_store(w, 4 * index, 1).unwrap();
    }
    assert_eq!((rig.count(w, Counter::Load), rig.count(w, Counter::Ds)), (63, 15));
    rig.wait(w);
    assert_eq!(rig.get(w, at + 16 * 199, Scope::Wave).unwrap(), 199);
}

#[test]
fn stores_outlive_their_wave_and_keep_their_order() {
    for seed in 0..16 {
        let mut rig = Rig::new(true, seed);
        let at = rig.zeroes(0, 256, MemoryType::Uncached);
        let (w, other) = (rig.wave(0, 0), rig.wave(0, 0));
        rig.store(w, at, 1, Scope::Wave).unwrap();
        rig.store(w, at, 2, Scope::Wave).unwrap();
        rig.load(w, at + 64, Scope::Wave).unwrap();
        rig.end(w);
        assert_eq!(rig.peek(at), 0);
        assert_eq!(rig.get(other, at + 128, Scope::Wave).unwrap(), 0);
        let Rig { memory, rng, .. } = &mut rig;
        assert!(memory.idle_step(rng).unwrap());
        assert_eq!(memory.peek(at, 4), Some(1));
        memory.settle(rng).unwrap();
        assert_eq!(memory.peek(at, 4), Some(2));
    }
}

#[test]
fn doorbells_are_handed_on_in_the_order_in_which_they_are_performed() {
    let mut rig = Rig::new(true, 3);
    let at = rig.zeroes(0, 64, MemoryType::Doorbell);
    let w = rig.wave(0, 0);
    rig.store(w, at, 32, Scope::System).unwrap();
    assert!(rig.memory.doorbells.is_empty());
    rig.wait(w);
    rig.store(w, at, 64, Scope::System).unwrap();
    rig.wait(w);
    let rung: Vec<(u64, u64)> = rig.memory.doorbells.iter().map(|d| (d.address - at, d.value)).collect();
    assert_eq!(rung, [(0, 32), (0, 64)]);
}

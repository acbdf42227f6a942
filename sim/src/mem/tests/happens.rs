//! Happens-before between waves: each step of a proper hand-over is needed, and the proper one is never reported.

use super::{Rig, W, memory_fault, words};
use crate::fault::Exec;
use crate::mem::{MemFault, MemoryType, Scope};

/// The steps of handing bytes from one wave to another through a flag.
#[derive(Clone, Copy, Debug)]
struct Steps {
    /// Wait between the data and the flag.
    wait: bool,
    write_back: Option<Scope>,
    flag: Scope,
    observe: Scope,
    invalidate: Option<Scope>,
}

const PROPER: Steps = Steps {
    wait: true,
    write_back: Some(Scope::System),
    flag: Scope::System,
    observe: Scope::System,
    invalidate: Some(Scope::System),
};

/// Where the two waves and the data are.
#[derive(Clone, Copy, Debug)]
struct Place {
    kind: MemoryType,
    writer: (u32, u32),
    reader: (u32, u32),
    home: u32,
}

fn hand_over(seed: u64, place: Place, steps: Steps) -> Exec<u32> {
    let mut rig = Rig::new(true, seed);
    let data = rig.zeroes(place.home, 256, place.kind);
    let flag = rig.zeroes(place.home, 64, MemoryType::Uncached);
    let writer = rig.wave(place.writer.0, place.writer.1);
    let reader = rig.wave(place.reader.0, place.reader.1);
    rig.store(writer, data, 42, Scope::Wave)?;
    if let Some(scope) = steps.write_back {
        rig.write_back(writer, scope);
    }
    if steps.wait {
        rig.wait(writer);
    }
    rig.store(writer, flag, 1, steps.flag)?;
    rig.wait(writer);
    while rig.get(reader, flag, steps.observe)? != 1 {}
    if let Some(scope) = steps.invalidate {
        rig.invalidate(reader, scope);
    }
    rig.get(reader, data, Scope::Wave)
}

const NEAR: Place = Place { kind: MemoryType::Coarse, writer: (0, 0), reader: (0, 1), home: 0 };
const KINDS: [MemoryType; 3] = [MemoryType::Coarse, MemoryType::FineGrained, MemoryType::Uncached];

#[test]
fn the_proper_sequence_is_never_reported() {
    for seed in 0..8 {
        for kind in KINDS {
            for (writer, reader, home) in
                [((0, 0), (0, 1), 0), ((0, 0), (0, 0), 0), ((0, 0), (1, 0), 0), ((0, 0), (1, 0), 1)]
            {
                let place = Place { kind, writer, reader, home };
                assert_eq!(hand_over(seed, place, PROPER).unwrap(), 42, "{place:?}");
            }
        }
        let agent = Steps {
            write_back: Some(Scope::Agent),
            flag: Scope::Agent,
            observe: Scope::Agent,
            invalidate: Some(Scope::Agent),
            ..PROPER
        };
        assert_eq!(hand_over(seed, NEAR, agent).unwrap(), 42, "agent scope suffices within a rank");
    }
}

#[test]
fn what_is_not_needed_may_be_left_out() {
    let bare = Steps { write_back: None, ..PROPER };
    for kind in [MemoryType::FineGrained, MemoryType::Uncached] {
        assert_eq!(hand_over(1, Place { kind, ..NEAR }, bare).unwrap(), 42, "written through: {kind:?}");
    }
    let uncached = Place { kind: MemoryType::Uncached, ..NEAR };
    assert_eq!(hand_over(1, uncached, Steps { invalidate: None, ..bare }).unwrap(), 42);
}

#[test]
fn every_missing_step_is_reported() {
    let race = |place, steps| match memory_fault(hand_over(1, place, steps)) {
        MemFault::Race { why, .. } => why,
        other => panic!("{other}"),
    };
    assert!(race(NEAR, Steps { wait: false, ..PROPER }).contains("released"));
    assert!(race(NEAR, Steps { write_back: None, ..PROPER }).contains("buffer_wbl2 is missing"));
    assert!(race(NEAR, Steps { flag: Scope::Wave, ..PROPER }).contains("no signal or flag"));
    assert!(race(NEAR, Steps { invalidate: None, ..PROPER }).contains("buffer_inv is missing"));
    let fine = Place { kind: MemoryType::FineGrained, ..NEAR };
    assert!(race(fine, Steps { invalidate: None, ..PROPER }).contains("buffer_inv is missing"));
    assert!(race(fine, Steps { invalidate: Some(Scope::Agent), ..PROPER }).contains("scope too small"));
}

#[test]
fn a_plain_load_of_a_flag_is_a_race_itself() {
    let sentence = words(hand_over(1, NEAR, Steps { observe: Scope::Wave, ..PROPER }));
    assert!(sentence.starts_with("data race on Uncached +0x0"), "{sentence}");
}

#[test]
fn agent_scope_does_not_reach_another_rank() {
    let far = Place { reader: (1, 0), ..NEAR };
    for steps in [
        Steps { write_back: Some(Scope::Agent), ..PROPER },
        Steps { flag: Scope::Agent, ..PROPER },
        Steps { observe: Scope::Agent, ..PROPER },
        Steps { invalidate: Some(Scope::Agent), ..PROPER },
    ] {
        assert!(matches!(memory_fault(hand_over(1, far, steps)), MemFault::Race { .. }), "{steps:?}");
    }
}

#[test]
fn both_sides_of_a_race_are_named() {
    let fault = memory_fault(hand_over(1, NEAR, Steps { flag: Scope::Wave, observe: Scope::Wave, ..PROPER }));
    let MemFault::Race { first, second, place, .. } = &fault else { panic!("{fault}") };
    assert_eq!(place, "Uncached +0x0");
    assert_eq!(first.to_string(), "written by kernel k, rank 0, workgroup (0,0,0), wave 0, lane 0, pc 0x1004");
    assert_eq!(second.to_string(), "read by kernel k, rank 0, workgroup (1,0,0), wave 0, lane 0, pc 0x1008");
}

#[test]
fn writes_need_no_invalidate_after_a_flag() {
    let mut rig = Rig::new(true, 1);
    let data = rig.zeroes(0, 256, MemoryType::FineGrained);
    let flag = rig.zeroes(0, 64, MemoryType::Uncached);
    let (first, second) = (rig.wave(0, 0), rig.wave(0, 1));
    rig.get(first, data, Scope::Wave).unwrap();
    rig.store(first, flag, 1, Scope::Agent).unwrap();
    rig.wait(first);
    rig.load(second, flag, Scope::Agent).unwrap();
    let early = rig.store(second, data, 1, Scope::Wave);
    assert!(matches!(memory_fault(early), MemFault::Race { .. }), "the load of the flag was not waited for");
    rig.wait(second);
    rig.store(second, data + 64, 1, Scope::Wave).unwrap();
}

#[test]
fn atomics_hand_over_in_a_chain() {
    let mut rig = Rig::new(true, 1);
    let data = rig.zeroes(0, 256, MemoryType::FineGrained);
    let flag = rig.zeroes(0, 64, MemoryType::Coarse);
    let waves: Vec<W> = (0..3).map(|xcd| rig.wave(0, xcd)).collect();
    for (index, w) in waves.iter().enumerate() {
        rig.store(*w, data + 64 * index as u64, 1, Scope::Wave).unwrap();
        rig.wait(*w);
        rig.add(*w, flag, 1, false).unwrap();
        rig.wait(*w);
    }
    let reader = rig.wave(0, 0);
    assert_eq!(rig.get(reader, flag, Scope::Agent).unwrap(), 3);
    rig.invalidate(reader, Scope::System);
    for index in 0..3 {
        assert_eq!(rig.get(reader, data + 64 * index, Scope::Wave).unwrap(), 1);
    }
}

#[test]
fn a_barrier_orders_what_its_waves_waited_for() {
    let mut rig = Rig::new(true, 1);
    let data = rig.zeroes(0, 256, MemoryType::Coarse);
    let first = rig.wave(0, 0);
    let second = rig.mate(first);
    rig.store(first, data, 1, Scope::Wave).unwrap();
    rig.lds_store(first, 0, 2).unwrap();
    rig.wait(first);
    rig.store(first, data + 64, 1, Scope::Wave).unwrap();
    rig.lds_store(first, 4, 2).unwrap();
    rig.barrier(&[first, second]);
    assert_eq!(rig.get(second, data, Scope::Wave).unwrap(), 1);
    rig.lds_load(second, 0).unwrap();
    rig.wait(second);
    assert_eq!(rig.register(second, 0), 2);
    let sentence = words(rig.get(second, data + 64, Scope::Wave));
    assert!(sentence.contains("an s_waitcnt and then an s_barrier are missing"), "{sentence}");
    let sentence = words(rig.lds_load(second, 4));
    assert!(sentence.starts_with("data race on LDS at 0x4"), "{sentence}");
}

#[test]
fn an_lds_wait_is_enough_for_lds_while_loads_are_in_flight() {
    let mut rig = Rig::new(true, 1);
    let data = rig.zeroes(0, 256, MemoryType::Coarse);
    let first = rig.wave(0, 0);
    let second = rig.mate(first);
    rig.load(first, data, Scope::Wave).unwrap();
    rig.lds_store(first, 0, 2).unwrap();
    rig.wait_for(first, u32::MAX, 0);
    rig.barrier(&[first, second]);
    rig.lds_load(second, 0).unwrap();
    assert!(rig.store(second, data, 1, Scope::Wave).is_err(), "the load of the first wave may still be under way");
}

#[test]
fn without_a_barrier_lds_is_a_race_in_both_directions() {
    for swap in [false, true] {
        let mut rig = Rig::new(true, 1);
        let first = rig.wave(0, 0);
        let second = rig.mate(first);
        rig.lds_store(first, 0, 1).unwrap();
        rig.wait(first);
        rig.barrier(&[first, second]);
        let result = if swap {
            rig.lds_load(second, 0).unwrap();
            rig.wait(second);
            rig.lds_store(first, 0, 2)
        } else {
            rig.lds_store(first, 0, 2).unwrap();
            rig.wait(first);
            rig.lds_load(second, 0)
        };
        assert!(matches!(memory_fault(result), MemFault::Race { .. }));
    }
}

#[test]
fn data_loaded_to_lds_needs_vmcnt_before_it_is_read() {
    for waits in [false, true] {
        let mut rig = Rig::new(true, 1);
        let data = rig.zeroes(0, 256, MemoryType::Coarse);
        let w = rig.wave(0, 0);
        rig.load_lds(w, data, 32).unwrap();
        if waits {
            rig.wait_for(w, 0, u32::MAX);
            rig.lds_load(w, 32).unwrap();
        } else {
            let sentence = words(rig.lds_load(w, 32));
            assert!(sentence.contains("has not waited (s_waitcnt) for its own"), "{sentence}");
        }
    }
}

#[test]
fn a_barrier_does_not_reach_another_workgroup() {
    let mut rig = Rig::new(true, 1);
    let data = rig.zeroes(0, 256, MemoryType::Coarse);
    let first = rig.wave(0, 0);
    let mate = rig.mate(first);
    let other = rig.wave(0, 0);
    rig.store(first, data, 1, Scope::Wave).unwrap();
    rig.wait(first);
    rig.barrier(&[first, mate]);
    assert!(rig.get(other, data, Scope::Wave).is_err());
}

#[test]
fn a_write_back_covers_what_the_workgroup_did_before_the_barrier() {
    for barrier in [false, true] {
        let mut rig = Rig::new(true, 1);
        let data = rig.zeroes(0, 256, MemoryType::Coarse);
        let flag = rig.zeroes(0, 64, MemoryType::Uncached);
        let first = rig.wave(0, 0);
        let mate = rig.mate(first);
        let other = rig.wave(0, 1);
        rig.store(first, data, 1, Scope::Wave).unwrap();
        rig.wait(first);
        if barrier {
            rig.barrier(&[first, mate]);
        }
        rig.write_back(mate, Scope::Agent);
        rig.wait(mate);
        rig.store(mate, flag, 1, Scope::Agent).unwrap();
        rig.wait(mate);
        assert_eq!(rig.get(other, flag, Scope::Agent).unwrap(), 1);
        rig.invalidate(other, Scope::Agent);
        let read = rig.get(other, data, Scope::Wave);
        match barrier {
            true => assert_eq!(read.unwrap(), 1),
            false => assert!(read.is_err()),
        }
    }
}

#[test]
fn launches_are_ordered_and_waves_of_one_launch_are_not() {
    let mut rig = Rig::new(true, 1);
    let data = rig.zeroes(0, 256, MemoryType::Coarse);
    rig.memory.begin_launch(0);
    let first = rig.wave(0, 0);
    rig.store(first, data, 1, Scope::Wave).unwrap();
    rig.end(first);
    let second = rig.wave(0, 1);
    assert!(rig.get(second, data, Scope::Wave).is_err(), "one wave ended before the other began, by chance");
    rig.end(second);
    rig.memory.end_launch(0);
    rig.memory.begin_launch(0);
    let third = rig.wave(0, 1);
    assert_eq!(rig.get(third, data, Scope::Wave).unwrap(), 1);
}

#[test]
fn scalar_loads_of_what_changes_need_their_own_invalidate() {
    let mut rig = Rig::new(true, 1);
    let data = rig.zeroes(0, 256, MemoryType::FineGrained);
    let w = rig.wave(0, 0);
    rig.store(w, data, 1, Scope::Wave).unwrap();
    assert!(rig.scalar_load(w, data, 0).is_err(), "its own store is not retired");
    let other = rig.wave(0, 1);
    assert!(rig.scalar_load(other, data, 0).is_err());
    assert!(rig.scalar_load(other, data + 64, 0).is_ok(), "what nobody writes may be read");
}

#[test]
fn two_bytes_of_a_granule_are_two_places() {
    let mut rig = Rig::new(true, 1);
    let data = rig.zeroes(0, 256, MemoryType::Coarse);
    let (first, second) = (rig.wave(0, 0), rig.wave(0, 0));
    let store = |rig: &mut Rig, w: W, at: u64| {
        let mut port = rig.port(w);
        let mut op = port.pending.take(crate::mem::What::Store, 0);
        (op.global, op.bytes, op.address[0], op.data[0][0]) = (1, 2, at, 7);
        port.issue(op, true, false)
    };
    store(&mut rig, first, data).unwrap();
    store(&mut rig, second, data + 2).unwrap();
    let third = rig.wave(0, 0);
    assert!(store(&mut rig, third, data).is_err(), "the first write is remembered beside the second");
    assert!(store(&mut rig, first, data + 2).is_err());
}

//! Engines: they act on memory, learn by doorbells and polls, and tell by signals.

use super::{Rig, W, memory_fault, words};
use crate::fault::Exec;
use crate::mem::{AtomicOp, MemFault, MemoryType, Scope};

struct Copy {
    rig: Rig,
    engine: u32,
    src: u64,
    dst: u64,
    bell: u64,
    signal: u64,
    sender: W,
    receiver: W,
}

fn node(seed: u64, kind: MemoryType) -> Copy {
    let mut rig = Rig::new(true, seed);
    let src = rig.zeroes(0, 256, kind);
    let dst = rig.zeroes(1, 256, kind);
    let bell = rig.zeroes(0, 64, MemoryType::Doorbell);
    let signal = rig.zeroes(1, 64, MemoryType::Uncached);
    let engine = rig.memory.add_engine(0, "the engine of queue (1,0) of rank 0").unwrap();
    let (sender, receiver) = (rig.wave(0, 0), rig.wave(1, 0));
    Copy { rig, engine, src, dst, bell, signal, sender, receiver }
}

impl Copy {
    fn ring(&mut self, scope: Scope) -> Exec {
        self.rig.store(self.sender, self.bell, 64, scope)?;
        self.rig.wait(self.sender);
        Ok(())
    }

    /// The engine copies a dword.
    fn copy(&mut self) -> Exec {
        let bell = self.rig.memory.doorbells.pop_front().expect("rung");
        self.rig.memory.engine_acquire(self.engine, &bell);
        let mut bytes = [0; 4];
        self.rig.memory.engine_read(self.engine, 5, self.src, &mut bytes)?;
        self.rig.memory.engine_write(self.engine, 5, self.dst, &bytes)
    }

    fn signal(&mut self) -> Exec<u64> {
        self.rig.memory.engine_atomic(self.engine, 6, self.signal, AtomicOp::Add, 1, 0, 8)
    }
}

#[test]
fn the_proper_sequence_is_never_reported() {
    for seed in 0..8 {
        for kind in [MemoryType::Coarse, MemoryType::FineGrained] {
            let mut copy = node(seed, kind);
            let (sender, receiver, src, signal, dst) = (copy.sender, copy.receiver, copy.src, copy.signal, copy.dst);
            copy.rig.store(sender, src, 42, Scope::Wave).unwrap();
            copy.rig.write_back(sender, Scope::System);
            copy.rig.wait(sender);
            copy.ring(Scope::System).unwrap();
            copy.copy().unwrap();
            copy.signal().unwrap();
            assert_eq!(copy.rig.get(receiver, signal, Scope::System).unwrap(), 1);
            copy.rig.invalidate(receiver, Scope::System);
            assert_eq!(copy.rig.get(receiver, dst, Scope::Wave).unwrap(), 42);
            // The sender may use the source again once it has seen the signal, too.
            assert_eq!(copy.rig.get(sender, signal, Scope::System).unwrap(), 1);
            copy.rig.store(sender, src, 43, Scope::Wave).unwrap();
        }
    }
}

#[test]
fn a_dirty_source_is_reported_and_copies_old_bytes() {
    let mut copy = node(1, MemoryType::Coarse);
    copy.rig.store(copy.sender, copy.src, 42, Scope::Wave).unwrap();
    copy.rig.wait(copy.sender);
    copy.ring(Scope::System).unwrap();
    assert_eq!(copy.rig.peek(copy.src), 0);
    let sentence = words(copy.copy());
    assert!(sentence.contains("buffer_wbl2 is missing"), "{sentence}");
    assert!(sentence.contains("read by the engine of queue (1,0) of rank 0, packet 5"), "{sentence}");
}

#[test]
fn agent_scope_does_not_reach_an_engine() {
    let mut copy = node(1, MemoryType::Coarse);
    copy.rig.store(copy.sender, copy.src, 42, Scope::Wave).unwrap();
    copy.rig.write_back(copy.sender, Scope::Agent);
    copy.rig.wait(copy.sender);
    copy.ring(Scope::System).unwrap();
    let sentence = words(copy.copy());
    assert!(sentence.contains("needs sc0 sc1"), "{sentence}");

    let mut copy = node(1, MemoryType::FineGrained);
    copy.rig.store(copy.sender, copy.src, 42, Scope::Wave).unwrap();
    copy.rig.wait(copy.sender);
    copy.ring(Scope::Agent).unwrap();
    assert!(words(copy.copy()).contains("at system scope"));
}

#[test]
fn bytes_that_are_not_retired_at_the_doorbell_are_a_race() {
    let mut copy = node(1, MemoryType::FineGrained);
    copy.rig.store(copy.sender, copy.src, 42, Scope::Wave).unwrap();
    copy.ring(Scope::System).unwrap();
    assert!(matches!(memory_fault(copy.copy()), MemFault::Race { .. }));
}

#[test]
fn a_source_that_is_overwritten_too_early_has_its_own_words() {
    let mut copy = node(1, MemoryType::FineGrained);
    copy.ring(Scope::System).unwrap();
    copy.copy().unwrap();
    let fault = memory_fault(copy.rig.store(copy.sender, copy.src, 1, Scope::Wave));
    assert!(matches!(fault, MemFault::SourceReused { .. }));
    let sentence = fault.to_string();
    assert!(sentence.contains("overwritten while the copy may be in flight"), "{sentence}");
    assert!(sentence.contains("pc 0x1004"), "{sentence}");
    assert!(sentence.contains("packet 5"), "{sentence}");
    // The other way round: the write is first, by chance.
    let mut copy = node(1, MemoryType::FineGrained);
    copy.ring(Scope::System).unwrap();
    copy.rig.store(copy.sender, copy.src, 1, Scope::Wave).unwrap();
    assert!(copy.copy().is_err());
}

#[test]
fn data_that_is_used_before_its_signal_has_its_own_words() {
    for observes in [false, true] {
        let mut copy = node(1, MemoryType::FineGrained);
        copy.ring(Scope::System).unwrap();
        copy.copy().unwrap();
        copy.signal().unwrap();
        if observes {
            copy.rig.get(copy.receiver, copy.signal, Scope::System).unwrap();
        }
        // Without buffer_inv it is as bad as without the signal.
        let fault = memory_fault(copy.rig.get(copy.receiver, copy.dst, Scope::Wave));
        assert!(matches!(fault, MemFault::NotArrived { .. }), "{fault}");
    }
    let mut copy = node(1, MemoryType::FineGrained);
    copy.ring(Scope::System).unwrap();
    copy.rig.get(copy.receiver, copy.dst, Scope::Wave).unwrap();
    assert!(matches!(memory_fault(copy.copy()), MemFault::NotArrived { .. }), "the reader came first, by chance");
}

#[test]
fn a_signal_before_the_data_tells_nothing_of_the_data() {
    let mut copy = node(1, MemoryType::FineGrained);
    copy.ring(Scope::System).unwrap();
    copy.signal().unwrap();
    copy.copy().unwrap();
    copy.rig.get(copy.receiver, copy.signal, Scope::System).unwrap();
    copy.rig.invalidate(copy.receiver, Scope::System);
    assert!(copy.rig.get(copy.receiver, copy.dst, Scope::Wave).is_err());
}

#[test]
fn polls_learn_what_the_flag_tells() {
    for polls in [false, true] {
        let mut copy = node(1, MemoryType::FineGrained);
        copy.ring(Scope::System).unwrap();
        let (receiver, dst, signal) = (copy.receiver, copy.dst, copy.signal);
        copy.rig.store(receiver, dst, 9, Scope::Wave).unwrap();
        copy.rig.wait(receiver);
        copy.rig.store(receiver, signal, 1, Scope::System).unwrap();
        copy.rig.wait(receiver);
        if polls {
            assert_eq!(copy.rig.memory.engine_load(copy.engine, 4, signal, 4).unwrap(), 1);
        }
        assert_eq!(copy.copy().is_ok(), polls, "the destination is free once the engine has seen the flag");
    }
}

#[test]
fn engine_ordered_tells_and_changes_nothing() {
    let mut copy = node(1, MemoryType::Uncached);
    copy.rig.store(copy.sender, copy.src, 1, Scope::Wave).unwrap();
    assert!(!copy.rig.memory.engine_ordered(copy.engine, copy.src, 4));
    copy.rig.wait(copy.sender);
    copy.ring(Scope::System).unwrap();
    let bell = copy.rig.memory.doorbells.pop_front().expect("rung");
    copy.rig.memory.engine_acquire(copy.engine, &bell);
    assert!(copy.rig.memory.engine_ordered(copy.engine, copy.src, 4));
}

#[test]
fn engines_find_bounds_and_uninitialised_bytes() {
    let mut copy = node(1, MemoryType::FineGrained);
    let engine = copy.engine;
    let mut bytes = [0; 8];
    let fault = memory_fault(copy.rig.memory.engine_read(engine, 1, copy.src + 252, &mut bytes));
    assert!(fault.to_string().contains("the last 4 lie behind the end of FineGrained (256 bytes)"), "{fault}");
    let fresh = copy.rig.memory.allocate(0, 64, 64, MemoryType::FineGrained).unwrap();
    copy.rig.memory.engine_write(engine, 1, fresh, &[1; 4]).unwrap();
    let fault = memory_fault(copy.rig.memory.engine_read(engine, 1, fresh, &mut bytes));
    assert!(matches!(fault, MemFault::Uninitialised { first, .. } if first == fresh + 4), "{fault}");
    let code = copy.rig.memory.allocate(0, 64, 64, MemoryType::Code).unwrap();
    let fault = memory_fault(copy.rig.memory.engine_write(engine, 1, code, &[1; 4]));
    assert!(matches!(fault, MemFault::ReadOnly { .. }));
}

#[test]
fn a_host_event_stands_for_whoever_waited_for_all_before() {
    let mut rig = Rig::new(true, 1);
    let ring = rig.zeroes(0, 256, MemoryType::Uncached);
    let rptr = rig.zeroes(0, 64, MemoryType::Uncached);
    let (first, second) = (rig.wave(0, 0), rig.wave(0, 1));
    rig.store(first, ring, 1, Scope::Wave).unwrap();
    rig.wait(first);
    rig.memory.host_write(rptr, &32u64.to_le_bytes()).unwrap();
    assert_eq!(rig.get(second, rptr, Scope::System).unwrap(), 32);
    rig.store(second, ring, 2, Scope::Wave).unwrap();
    assert!(rig.memory.host_write(ring, &[0; 64]).is_err(), "a longer write is a plain one");
}

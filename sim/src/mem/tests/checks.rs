//! Bounds, initialisation, alignment, allocation.

use super::{PC, Rig, memory_fault, words};
use crate::mem::{AtomicOp, MemFault, MemoryType, Scope, What};

#[test]
fn an_access_outside_names_its_lane_and_the_nearest_memory() {
    for checks in [false, true] {
        let mut rig = Rig::new(checks, 1);
        let at = rig.zeroes(0, 256, MemoryType::Coarse);
        let w = rig.wave(0, 0);
        let mut port = rig.port(w);
        let mut op = port.pending.take(What::Store, PC);
        (op.global, op.bytes) = (!0, 4);
        op.address = std::array::from_fn(|lane| at + 16 + 4 * lane as u64);
        let fault = port.issue(op, true, false).expect_err("four lanes too many");
        assert_eq!((fault.at.lane, fault.at.pc), (Some(60), Some(PC)));
        let sentence = fault.to_string();
        assert!(sentence.contains("out of bounds"), "{sentence}");
        assert!(sentence.contains("Coarse (256 bytes), which ended 0 bytes below"), "{sentence}");
        let sentence = words(rig.load(w, 0x10, Scope::Wave));
        assert!(sentence.contains("bytes above"), "{sentence}");
        assert!(words(rig.load(w, at + 254, Scope::Wave)).contains("the last 2 lie behind the end"));
        assert!(words(rig.load(w, u64::MAX - 1, Scope::Wave)).contains("out of bounds"));
    }
}

#[test]
fn guards_lie_between_allocations() {
    let mut rig = Rig::new(true, 1);
    let first = rig.zeroes(0, 4096, MemoryType::Coarse);
    let second = rig.zeroes(0, 4096, MemoryType::Coarse);
    assert!(second - first > 4096 + (1 << 20));
    let w = rig.wave(0, 0);
    assert!(rig.load(w, first + 4096, Scope::Wave).is_err());
}

#[test]
fn uninitialised_bytes_make_registers_undefined() {
    let mut rig = Rig::new(true, 1);
    let at = rig.memory.allocate(0, 512, 64, MemoryType::Coarse).unwrap();
    let w = rig.wave(0, 0);
    rig.store(w, at + 4, 7, Scope::Wave).unwrap();
    let mut port = rig.port(w);
    let mut op = port.pending.take(What::Load, PC);
    (op.global, op.bytes, op.dst, op.dst_dwords) = (0b11, 8, 2, 2);
    (op.address[0], op.address[1]) = (at, at + 4);
    port.issue(op, true, false).unwrap();
    rig.wait(w);
    let init = &rig.state(w).vgpr_init;
    assert_eq!((init[2] & 3, init[3] & 3), (0b10, 0b01), "dword by dword, lane by lane");
    assert_eq!(rig.state(w).vgprs[2][0], 0xcdcd_cdcd);
    let fault = memory_fault(rig.add(w, at + 64, 1, false));
    assert!(matches!(fault, MemFault::Uninitialised { .. }), "{fault}");
    rig.lds_load(w, 8).unwrap();
    rig.wait(w);
    assert_eq!(rig.state(w).vgpr_init[0] & 1, 0);
    rig.lds_store(w, 8, 1).unwrap();
    rig.lds_load(w, 8).unwrap();
    rig.wait(w);
    assert_eq!(rig.state(w).vgpr_init[0] & 1, 1);
}

#[test]
fn lds_and_scratch_have_ends() {
    let mut rig = Rig::new(false, 1);
    let w = rig.wave(0, 0);
    let fault = memory_fault(rig.lds_store(w, 1022, 1));
    assert!(matches!(fault, MemFault::LdsOutOfBounds { address: 1022, limit: 1024, .. }), "{fault}");
    let mut port = rig.port(w);
    let mut op = port.pending.take(What::Store, PC);
    (op.scratch, op.bytes, op.address[3]) = (0b1000, 4, 13);
    let fault = port.issue(op, true, false).expect_err("16 bytes a lane");
    assert_eq!(fault.at.lane, Some(3));
    assert!(fault.to_string().contains("a lane has 16 bytes of scratch"), "{fault}");
}

#[test]
fn scratch_belongs_to_its_lane() {
    let mut rig = Rig::new(true, 1);
    let w = rig.wave(0, 0);
    let mut port = rig.port(w);
    let mut op = port.pending.take(What::Store, PC);
    (op.scratch, op.bytes) = (!0, 4);
    op.address.fill(4);
    op.data[0] = std::array::from_fn(|lane| lane as u32);
    port.issue(op, true, false).unwrap();
    let mut op = port.pending.take(What::Load, PC);
    (op.scratch, op.bytes, op.dst, op.dst_dwords) = (!0, 8, 2, 2);
    op.address.fill(4);
    port.issue(op, true, false).unwrap();
    rig.wait(w);
    let state = rig.state(w);
    assert_eq!((state.vgprs[2][0], state.vgprs[2][63]), (0, 63));
    assert_eq!((state.vgpr_init[2], state.vgpr_init[3]), (!0, 0));
}

#[test]
fn read_only_memory_and_misaligned_atomics_are_refused() {
    let mut rig = Rig::new(true, 1);
    let args = rig.zeroes(0, 64, MemoryType::Kernarg);
    let at = rig.zeroes(0, 64, MemoryType::Uncached);
    let w = rig.wave(0, 0);
    assert!(words(rig.store(w, args, 1, Scope::Wave)).contains("Kernarg is read-only"));
    assert_eq!(rig.get(w, args, Scope::Wave).unwrap(), 0);
    assert!(words(rig.add(w, at + 4, 1, false)).contains("not a multiple of 8"));
}

#[test]
fn atomics_of_many_lanes_add_up_and_return_what_was_there() {
    for lds in [false, true] {
        let mut rig = Rig::new(true, 1);
        let at = rig.zeroes(0, 64, MemoryType::Coarse);
        let w = rig.wave(0, 0);
        rig.lds_store(w, 0, 0).unwrap();
        let mut port = rig.port(w);
        let mut op = port.pending.take(What::Atomic(AtomicOp::Add), PC);
        op.bytes = 4;
        (op.lds, op.global, op.in_order) = if lds { (!0, 0, true) } else { (0, !0, false) };
        op.address.fill(if lds { 0 } else { at });
        op.data[0].fill(2);
        (op.dst, op.dst_dwords) = (4, 1);
        port.issue(op, !lds, lds).unwrap();
        rig.wait(w);
        assert_eq!((rig.register(w, 4), rig.state(w).vgprs[4][63]), (0, 126));
    }
}

#[test]
fn allocations_that_cannot_be_are_refused() {
    let mut rig = Rig::new(true, 1);
    let at = rig.zeroes(0, 256, MemoryType::Coarse);
    assert!(words(rig.memory.allocate_at(at + 128, 0, 64, MemoryType::Coarse, "second")).contains("overlaps"));
    assert!(rig.memory.allocate(0, 64, 3, MemoryType::Coarse).is_err());
    assert!(rig.memory.allocate(0, 0, 64, MemoryType::Coarse).is_err());
    assert!(rig.memory.allocate(0, u64::MAX, 64, MemoryType::Coarse).is_err());
    assert!(rig.memory.allocate(u32::MAX, 64, 64, MemoryType::Coarse).is_err());
    assert!(rig.memory.host_write(at + 255, &[0; 2]).is_err());
    assert!(rig.memory.host_read(1, &mut [0; 2]).is_err());
    assert_eq!(rig.memory.find(at + 255).map(|a| a.place(at + 255)), Some("Coarse +0xff".to_owned()));
    assert!(rig.memory.find(at + 256).is_none());
}

#[test]
fn more_waves_than_cells_can_number_are_still_safe() {
    let mut rig = Rig::new(true, 1);
    let at = rig.zeroes(0, 256, MemoryType::Coarse);
    for _ in 0..3 {
        rig.memory.begin_launch(0);
        let w = rig.wave(0, 0);
        rig.store(w, at, 1, Scope::Wave).unwrap();
        rig.end(w);
        for _ in 0..400_000 {
            let actor = rig.memory.begin_wave(0);
            rig.memory.end_wave(actor);
        }
        rig.memory.end_launch(0);
    }
    rig.memory.begin_launch(0);
    let w = rig.wave(0, 0);
    assert_eq!(rig.get(w, at, Scope::Wave).unwrap(), 1);
}

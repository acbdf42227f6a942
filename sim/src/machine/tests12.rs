//! Tests of the machine on gfx1250: hand-assembled code for waves of 32 lanes.
//!
//! What must hold here: code words are literal, with their text beside them, as LLVM 22 assembles them for gfx1250.

use tilewright_target::lookup;

use super::tests::{Bench, join, object};
use super::{Schedule, SimConfig};
use crate::fault::FaultKind;
use crate::loader::CodeObject;

const END: u32 = 0xbfb0_0000; // s_endpgm
const LOAD_POINTER: [u32; 3] = [0xf400_2080, 0xf800_0000, 0xbfc7_0000]; // s_load_b64 s[2:3], s[0:1], 0x0; s_wait_kmcnt 0x0
const TIMES_FOUR: u32 = 0x3002_0082; // v_lshlrev_b32_e32 v1, 2, v0
const LOAD: [u32; 3] = [0xee05_0002, 0x0000_0002, 0x0000_0001]; // global_load_b32 v2, v1, s[2:3]
const STORE: [u32; 3] = [0xee06_8002, 0x0100_0000, 0x0000_0001]; // global_store_b32 v1, v2, s[2:3]
const STORE_ID: [u32; 3] = [0xee06_8002, 0x0000_0000, 0x0000_0001]; // global_store_b32 v1, v0, s[2:3]
const SIGNAL: u32 = 0xbe80_4ec1; // s_barrier_signal -1
const MEET: u32 = 0xbf94_ffff; // s_barrier_wait -1
const LOADCNT: u32 = 0xbfc0_0000; // s_wait_loadcnt 0x0
const STORECNT: u32 = 0xbfc1_0000; // s_wait_storecnt 0x0
const XCNT: u32 = 0xbfc5_0000; // s_wait_xcnt 0x0
const DSCNT: u32 = 0xbfc6_0000; // s_wait_dscnt 0x0

/// As the object of gfx942, with the descriptor that LLVM makes for gfx1250: 16 vector registers in one granule.
fn object12(words: &[u32], lds: u32) -> CodeObject {
    let mut object = object(words, lds);
    object.target = "gfx1250";
    let kernel = &mut object.kernels[0];
    kernel.descriptor.rsrc1 = 0xc00f_0000;
    kernel.descriptor.rsrc2 = 2 << 1 | 7 << 7 | 2 << 11;
    kernel.descriptor.rsrc3 = 0;
    kernel.descriptor.properties = 1 << 3 | 1 << 10;
    kernel.metadata.wavefront_lanes = 32;
    object
}

fn bench(words: &[u32], lds: u32, config: SimConfig) -> Bench {
    Bench::of(lookup("gfx1250").expect("the target exists"), object12(words, lds), config)
}

fn fault(words: &[u32]) -> FaultKind {
    let mut bench = bench(words, 0, SimConfig::default());
    bench.launch([1, 1, 1], [32, 1, 1]);
    bench.run().expect_err("a fault").kind
}

#[test]
fn waves_have_32_lanes_and_the_last_one_is_partial() {
    let code = join(&[&LOAD_POINTER, &[TIMES_FOUR], &STORE_ID, &[END]]);
    let mut bench = bench(&code, 0, SimConfig { schedule: Schedule::RoundRobin, ..SimConfig::default() });
    bench.launch([1, 1, 1], [75, 1, 1]);
    bench.run().expect("no fault");
    let expected: Vec<u32> = (0..75).chain([0]).collect();
    assert_eq!(bench.dwords(76), expected);
    assert_eq!(bench.sim.steps(), 3 * 5, "three waves");
}

#[test]
fn workgroup_ids_are_in_trap_registers() {
    // The workgroup's number as LLVM computes it where there may be clusters.
    let code = join(&[
        &LOAD_POINTER,
        &[0x9304_ff72, 0x0004_000c], // s_bfe_u32 s4, ttmp6, 0x4000c
        &[0x8104_8104],              // s_add_co_i32 s4, s4, 1
        &[0x9604_0475],              // s_mul_i32 s4, ttmp9, s4
        &[0x8405_8204],              // s_lshl_b32 s5, s4, 2
        &[0x7e02_0205],              // v_mov_b32_e32 v1, s5
        &[0x7e04_0273],              // v_mov_b32_e32 v2, ttmp7
        &STORE,
        &[END],
    ]);
    // One after the other, so that of those with the same x the last one's y and z stay.
    let schedule = Schedule::Sequential { turn: 100 };
    let mut bench = bench(&code, 0, SimConfig { schedule, checks: false, ..SimConfig::default() });
    bench.launch([2, 3, 2], [1, 1, 1]);
    bench.run().expect("no fault");
    assert_eq!(bench.dwords(3), [0x1_0002, 0x1_0002, 0], "y in the low half, z in the high one");
}

#[test]
fn each_counter_has_its_hazard() {
    // The loaded value is used without a wait, and with one for stores only.
    let use_it = [0x4a06_0502u32]; // v_add_nc_u32_e32 v3, v2, v2
    for wait in [&[][..], &[STORECNT], &[DSCNT], &[XCNT]] {
        let kind = fault(&join(&[&LOAD_POINTER, &[TIMES_FOUR], &LOAD, wait, &use_it, &[END]]));
        match kind {
            FaultKind::RegisterInFlight { verb, register, wait, .. } => {
                assert_eq!((verb, register.as_str(), wait.as_str()), ("reads", "v2", "s_wait_loadcnt"));
            }
            other => panic!("{other}"),
        }
    }
    // s_load_b64 without s_wait_kmcnt.
    let kind = fault(&join(&[&LOAD_POINTER[..2], &[LOADCNT, TIMES_FOUR], &STORE_ID, &[END]]));
    match kind {
        FaultKind::RegisterInFlight { register, wait, .. } => {
            assert_eq!((register.as_str(), wait.as_str()), ("s2", "s_wait_kmcnt 0x0"));
        }
        other => panic!("{other}"),
    }
    // ds_store_b32 v1, v0; ds_load_b32 v2, v1
    let lds = [0xd834_0000, 0x0000_0001, 0xd8d8_0000, 0x0200_0001];
    let mut bench = bench(&join(&[&[TIMES_FOUR], &lds, &[LOADCNT], &use_it, &[END]]), 256, SimConfig::default());
    bench.launch([1, 1, 1], [32, 1, 1]);
    let kind = bench.run().expect_err("a fault").kind;
    assert!(matches!(&kind, FaultKind::RegisterInFlight { wait, .. } if wait == "s_wait_dscnt"), "{kind}");
}

#[test]
fn sources_must_stay_until_addresses_are_translated() {
    let overwrites = |register: &str, kind: &FaultKind| match kind {
        FaultKind::SourceInFlight { register: found, .. } => assert_eq!(found, register),
        other => panic!("{other}"),
    };
    let run = |between: &[u32], overwriting: u32| {
        let mut bench = bench(
            &join(&[&LOAD_POINTER, &[TIMES_FOUR], &STORE_ID, between, &[overwriting], &[END]]),
            0,
            SimConfig::default(),
        );
        bench.launch([1, 1, 1], [32, 1, 1]);
        bench.run().map_err(|fault| fault.kind)
    };
    let (address, base, exec) = (0x7e02_0280, 0xbe82_0080, 0xbefe_0080); // v_mov_b32_e32 v1, 0; s_mov_b32 s2, 0; s_mov_b32 exec_lo, 0
    overwrites("v1", &run(&[], address).expect_err("the address"));
    overwrites("s2", &run(&[], base).expect_err("the scalar address"));
    overwrites("exec_lo", &run(&[], exec).expect_err("the lanes"));
    // v_mov_b32_e32 v2, 7: no source of the store.
    run(&[], 0x7e04_0287).expect("no fault");
    for wait in [XCNT, STORECNT] {
        run(&[wait], address).expect("what has returned was translated");
    }
    overwrites("v1", &run(&[LOADCNT], address).expect_err("nothing was loaded"));
    // s_load_b64 s[4:5], s[0:1], 0x0: between vector and scalar memory the hardware waits.
    run(&[0xf400_2100, 0xf800_0000], address).expect("no fault");
}

#[test]
fn the_hardware_translates_all_addresses_at_branches_and_barriers() {
    // In the loop that LLVM 22 makes of a spilled tile only the branch back lies between the two.
    let run = |between: &[u32]| {
        let words = join(&[
            &[0xbe86_0080, 0xbe87_0080],              // s_mov_b32 s6, 0; s_mov_b32 s7, 0
            &[0xed06_8007, 0x0000_0000, 0x0000_0000], // scratch_store_b32 off, v0, s7
            between,
            &[0xed05_0006, 0x0000_0001, 0x0000_0000], // scratch_load_b32 v1, off, s6
            &[0xbe87_0006, END],                      // s_mov_b32 s7, s6
        ]);
        let mut object = object12(&words, 0);
        object.kernels[0].descriptor.private_segment_bytes = 16;
        object.kernels[0].metadata.private_segment_bytes = 16;
        let mut bench = Bench::of(lookup("gfx1250").expect("the target exists"), object, SimConfig::default());
        bench.launch([1, 1, 1], [32, 1, 1]);
        bench.run().map_err(|fault| fault.kind)
    };
    let kind = run(&[]).expect_err("s7 is read again");
    assert!(matches!(&kind, FaultKind::SourceInFlight { register, .. } if register == "s7"), "{kind}");
    run(&[0xbfa0_0000]).expect("s_branch to the next instruction");
    run(&[0xbfa5_0000]).expect("s_cbranch_execz to the next instruction");
    run(&[SIGNAL, MEET]).expect("a barrier");
}

#[test]
fn more_than_256_vector_registers_are_refused_at_the_launch() {
    let mut object = object12(&[END], 0);
    object.kernels[0].metadata.vgprs = 257;
    let mut bench = Bench::of(lookup("gfx1250").expect("the target exists"), object, SimConfig::default());
    let told = bench.try_launch([1, 1, 1], [32, 1, 1]).expect_err("too many").to_string();
    assert!(told.contains("257 vector registers") && told.contains("--device lanes"), "{told}");
}

/// Each of 64 work items stores its id to LDS and reads that of the item 32 away, with `before` and `after` around the
/// barrier's two halves.
fn exchange(before: &[u32], between: &[u32], meet: &[u32]) -> Vec<u32> {
    join(&[
        &LOAD_POINTER,
        &[TIMES_FOUR],
        &[0xd834_0000, 0x0000_0001], // ds_store_b32 v1, v0
        before,
        &[SIGNAL],
        between,
        meet,
        &[0x3a06_02ff, 0x0000_0080], // v_xor_b32_e32 v3, 0x80, v1
        &[0xd8d8_0000, 0x0200_0003], // ds_load_b32 v2, v3
        &[DSCNT],
        &STORE,
        &[END],
    ])
}

fn run_exchange(code: &[u32], seed: u64) -> Result<Vec<u32>, FaultKind> {
    let mut bench = bench(code, 256, SimConfig { seed, ..SimConfig::default() });
    bench.launch([1, 1, 1], [64, 1, 1]);
    bench.run().map_err(|fault| fault.kind)?;
    Ok(bench.dwords(64))
}

#[test]
fn a_barrier_of_two_halves_orders_what_was_waited_for_before_it_was_signalled() {
    let expected: Vec<u32> = (0..64).map(|item| item ^ 32).collect();
    for seed in 0..20 {
        assert_eq!(run_exchange(&exchange(&[DSCNT], &[], &[MEET]), seed).expect("no fault"), expected);
    }
    let races = |code: &[u32]| (0..20).any(|seed| matches!(run_exchange(code, seed), Err(FaultKind::Memory(_))));
    assert!(races(&exchange(&[], &[DSCNT], &[MEET])), "the wait comes after the signal");
    assert!(races(&exchange(&[DSCNT], &[], &[])), "nobody waits at the barrier");
}

#[test]
fn a_barrier_is_signalled_and_waited_for_in_turn() {
    let kind = fault(&[SIGNAL, SIGNAL, MEET, END]);
    // A wave alone completes its barrier at once, so the second signal finds it released and not left.
    assert!(matches!(kind, FaultKind::Barrier { .. }), "{kind}");
    let kind = fault(&[MEET, END]);
    assert!(matches!(kind, FaultKind::Barrier { .. }), "{kind}");
    let mut alone = bench(&[SIGNAL, MEET, SIGNAL, MEET, END], 0, SimConfig::default());
    alone.launch([3, 1, 1], [96, 1, 1]);
    alone.run().expect("no fault");
}

#[test]
fn both_halves_of_a_dual_instruction_read_before_either_writes() {
    let code = join(&[
        &LOAD_POINTER,
        &[TIMES_FOUR],
        &[0x7e08_0285],              // v_mov_b32_e32 v4, 5
        &[0x7e0a_0287],              // v_mov_b32_e32 v5, 7
        &[0xca10_0105, 0x0404_0104], // v_dual_mov_b32 v4, v5 :: v_dual_mov_b32 v5, v4
        &[0xd646_0002, 0x0415_0904], // v_lshl_add_u32 v2, v4, 4, v5
        &STORE,
        &[END],
    ]);
    let mut bench = bench(&code, 0, SimConfig::default());
    bench.launch([1, 1, 1], [32, 1, 1]);
    bench.run().expect("no fault");
    assert_eq!(bench.dwords(1), [(7 << 4) + 5]);
}

//! Tests of the machine: hand-assembled code, and the loader's fixtures.
//!
//! What must hold here: code words are literal, with their text beside them (assembled with LLVM's assembler for gfx90a, whose
//! encodings of these instructions gfx942 shares).

use tilewright_target::{Target, lookup};

use super::{HostEvent, Launch, ModuleId, NoEngines, Outcome, Schedule, Sim, SimConfig};
use crate::fault::{Fault, FaultKind};
use crate::loader::{CodeObject, Kernel, KernelDescriptor, KernelMetadata, Segment};
use crate::mem::MemoryType;

fn gfx942() -> &'static Target {
    lookup("gfx942").expect("the target exists")
}

const END: u32 = 0xbf81_0000; // s_endpgm
const BARRIER: u32 = 0xbf8a_0000; // s_barrier
const LGKM: u32 = 0xbf8c_c07f; // s_waitcnt lgkmcnt(0)
const VM: u32 = 0xbf8c_0f70; // s_waitcnt vmcnt(0)
const LOAD_POINTER: [u32; 3] = [0xc006_0100, 0x0000_0000, LGKM]; // s_load_dwordx2 s[4:5], s[0:1], 0x0; wait
const TIMES_FOUR: u32 = 0x2402_0082; // v_lshlrev_b32_e32 v1, 2, v0
const STORE: [u32; 2] = [0xdc70_8000, 0x0004_0001]; // global_store_dword v1, v0, s[4:5]
const POLL: [u32; 2] = [0xde51_8000, 0x0204_0001]; // global_load_dword v2, v1, s[4:5] sc0 sc1

/// An object with one kernel `k` that takes a pointer in s[0:1]'s block, workgroup ids in s2 to s4, packed item ids in v0.
pub(super) fn object(words: &[u32], lds: u32) -> CodeObject {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let code_bytes = bytes.len() as u64;
    let descriptor = KernelDescriptor {
        group_segment_bytes: lds,
        private_segment_bytes: 0,
        kernarg_bytes: 8,
        entry_offset: 256,
        // 16 vector registers; denormals kept, DX10 clamp, IEEE.
        rsrc1: 1 | 0xf << 16 | 1 << 21 | 1 << 23,
        // Two user registers, all workgroup ids, all item ids.
        rsrc2: 2 << 1 | 7 << 7 | 2 << 11,
        rsrc3: 2,
        properties: 1 << 3,
        kernarg_preload: 0,
    };
    let metadata = KernelMetadata {
        name: "k".to_owned(),
        symbol: "k.kd".to_owned(),
        args: vec![crate::loader::ArgMetadata {
            name: "out".to_owned(),
            offset: 0,
            bytes: 8,
            kind: "global_buffer".to_owned(),
        }],
        kernarg_bytes: 8,
        kernarg_align: 8,
        group_segment_bytes: u64::from(lds),
        private_segment_bytes: 0,
        wavefront_lanes: 64,
        max_threads_per_block: 1024,
        sgprs: 16,
        vgprs: 12,
        agprs: 0,
        sgpr_spills: 0,
        vgpr_spills: 0,
        uses_dynamic_stack: false,
    };
    let segment = Segment { address: 0x100, memory_bytes: code_bytes, bytes, executable: true, writable: false };
    let kernel = Kernel { name: "k".to_owned(), descriptor_address: 0, descriptor, entry: 0x100, code_bytes, metadata };
    CodeObject { target: "gfx942", segments: vec![segment], kernels: vec![kernel] }
}

/// A machine with `words` loaded and a launch of them whose argument points to `bytes` bytes of zeros.
pub(super) struct Bench {
    pub(super) sim: Sim,
    module: ModuleId,
    out: u64,
}

impl Bench {
    fn new(words: &[u32], lds: u32, config: SimConfig) -> Bench {
        Bench::of(gfx942(), object(words, lds), config)
    }

    pub(super) fn of(target: &'static Target, object: CodeObject, config: SimConfig) -> Bench {
        let mut sim = Sim::new(target, config);
        let module = sim.add_object(object, &[]).expect("the object is taken");
        let out = sim.memory.allocate(0, 4096, 256, MemoryType::FineGrained).expect("memory");
        sim.memory.host_fill(out, 4096, 0).expect("in bounds");
        Bench { sim, module, out }
    }

    pub(super) fn launch(&mut self, grid: [u32; 3], block: [u32; 3]) {
        self.try_launch(grid, block).expect("the launch is taken");
    }

    pub(super) fn try_launch(&mut self, grid: [u32; 3], block: [u32; 3]) -> Result<(), Box<Fault>> {
        let args = self.out.to_le_bytes().to_vec();
        let launch = Launch { rank: 0, grid, block, args, dynamic_lds: 0 };
        self.sim.launch(self.module, "k", launch)
    }

    pub(super) fn run(&mut self) -> Result<(), Box<Fault>> {
        self.sim.run(&mut NoEngines)
    }

    pub(super) fn dwords(&mut self, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; count * 4];
        self.sim.memory.host_read(self.out, &mut bytes).expect("in bounds");
        bytes.chunks(4).map(|dword| u32::from_le_bytes([dword[0], dword[1], dword[2], dword[3]])).collect()
    }
}

fn fault(words: &[u32]) -> FaultKind {
    let mut bench = Bench::new(words, 0, SimConfig::default());
    bench.launch([1, 1, 1], [64, 1, 1]);
    bench.run().expect_err("a fault").kind
}

pub(super) fn join(parts: &[&[u32]]) -> Vec<u32> {
    parts.concat()
}

#[test]
fn items_have_packed_ids_and_the_last_wave_is_partial() {
    let mut bench = Bench::new(
        &join(&[
            &LOAD_POINTER,
            &[0xd1c8_0004, 0x0229_1500], // v_bfe_u32 v4, v0, 10, 10
            &[0x260a_00ff, 0x0000_03ff], // v_and_b32_e32 v5, 0x3ff, v0
            &[0xd1fd_0001, 0x0415_0704], // v_lshl_add_u32 v1, v4, 3, v5
            &[0x2402_0282],              // v_lshlrev_b32_e32 v1, 2, v1
            &STORE,
            &[END],
        ]),
        0,
        SimConfig::default(),
    );
    bench.launch([1, 1, 1], [8, 9, 1]);
    bench.run().expect("no fault");
    let out = bench.dwords(73);
    assert_eq!((out[0], out[7], out[8], out[71], out[72]), (0, 7, 1 << 10, 7 | 8 << 10, 0));
}

#[test]
fn workgroup_ids_follow_the_user_registers() {
    let mut bench = Bench::new(
        &join(&[
            &LOAD_POINTER,
            &[0x8e06_8203], // s_lshl_b32 s6, s3, 2
            &[0x8106_0602], // s_add_i32 s6, s2, s6
            &[0x7e02_0206], // v_mov_b32_e32 v1, s6
            &[0x2402_0282], // v_lshlrev_b32_e32 v1, 2, v1
            &[0x7e00_0206], // v_mov_b32_e32 v0, s6
            &[0x6800_0081], // v_add_u32_e32 v0, 1, v0
            &STORE,
            &[END],
        ]),
        0,
        SimConfig::default(),
    );
    bench.launch([4, 3, 1], [1, 1, 1]);
    bench.run().expect("no fault");
    assert_eq!(bench.dwords(13), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0]);
}

/// Two waves exchange their items over LDS; the barrier is the argument.
fn exchange(barrier: u32) -> Vec<u32> {
    join(&[
        &LOAD_POINTER,
        &[TIMES_FOUR],
        &[0xd81a_0000, 0x0000_0001], // ds_write_b32 v1, v0
        &[LGKM, barrier],
        &[0x2a06_02ff, 0x0000_0100], // v_xor_b32_e32 v3, 0x100, v1
        &[0xd86c_0000, 0x0000_0003], // ds_read_b32 v0, v3
        &[LGKM],
        &STORE,
        &[END],
    ])
}

#[test]
fn a_barrier_orders_the_waves_of_a_workgroup() {
    for seed in 0..20 {
        let mut bench = Bench::new(&exchange(BARRIER), 512, SimConfig { seed, ..SimConfig::default() });
        bench.launch([1, 1, 1], [128, 1, 1]);
        bench.run().expect("no fault");
        let out = bench.dwords(128);
        assert_eq!((out[0], out[63], out[64], out[127]), (64, 127, 0, 63), "seed {seed}");
    }
}

#[test]
fn a_missing_barrier_is_found() {
    let found = (0..20).any(|seed| {
        let mut bench = Bench::new(&exchange(0xbf80_0000), 512, SimConfig { seed, ..SimConfig::default() });
        bench.launch([1, 1, 1], [128, 1, 1]);
        matches!(bench.run().map_err(|fault| fault.kind), Err(FaultKind::Memory(_)))
    });
    assert!(found);
}

#[test]
fn a_missing_wait_is_found() {
    let kind = fault(&join(&[&LOAD_POINTER[..2], &[TIMES_FOUR], &STORE, &[END]]));
    match kind {
        FaultKind::RegisterInFlight { verb, register, .. } => assert_eq!((verb, register.as_str()), ("reads", "s4")),
        other => panic!("{other}"),
    }
}

#[test]
fn undefined_values_matter_where_they_decide() {
    // v_cmp_eq_u32_e32 vcc, v3, v3; s_cbranch_vccnz 0; s_endpgm
    let kind = fault(&[0x7d94_0703, 0xbf87_0000, END]);
    assert!(matches!(kind, FaultKind::UninitialisedRegister { .. }), "{kind}");
    // s_mov_b64 exec, s[6:7]
    let kind = fault(&[0xbefe_0106, END]);
    assert!(matches!(kind, FaultKind::UninitialisedRegister { .. }), "{kind}");
    // s_mov_b32 s8, 1; v_mov_b64_e32 v[2:3], s[8:9]: each half is as the half that it comes from.
    let mut bench = Bench::new(&[0xbe88_0081, 0x7e04_7008, 0x7d94_0502, 0xbf87_0000, END], 0, SimConfig::default());
    bench.launch([1, 1, 1], [64, 1, 1]);
    bench.run().expect("v2 is defined");
    let kind = fault(&[0xbe88_0081, 0x7e04_7008, 0x7d94_0703, 0xbf87_0000, END]);
    assert!(matches!(kind, FaultKind::UninitialisedRegister { .. }), "{kind}");
    // v_add_u32_e32 v1, v1, v2 alone decides nothing.
    let mut bench = Bench::new(&[0x6802_0501, END], 0, SimConfig::default());
    bench.launch([1, 1, 1], [64, 1, 1]);
    bench.run().expect("no fault");
}

#[test]
fn broken_code_is_a_fault_at_its_place() {
    let mut bench = Bench::new(&[0xbf80_0000, 0xffff_ffff], 0, SimConfig::default());
    bench.launch([1, 1, 1], [64, 1, 1]);
    let found = bench.run().expect_err("an unknown instruction");
    assert!(matches!(found.kind, FaultKind::UnknownInstruction { .. }), "{found}");
    assert_eq!(found.at.offset, Some(4));
    assert_eq!(found.at.kernel.as_deref(), Some("k"));
    // s_nop 0 and no end.
    assert!(matches!(fault(&[0xbf80_0000]), FaultKind::PcOutside { .. }));
    // s_trap 2
    assert_eq!(fault(&[0xbf92_0002, END]), FaultKind::Trap { code: 2 });
    // v_mov_b32_e32 v200, 0
    assert!(matches!(fault(&[0x7f90_0280, END]), FaultKind::RegisterOutside { .. }));
    // s_branch -1: a loop without a memory access.
    assert!(matches!(fault(&[0xbf82_ffff, END]), FaultKind::Deadlock { .. }));
}

/// Polls until the first dword is not zero.
fn poll() -> Vec<u32> {
    join(&[
        &LOAD_POINTER,
        &[0x7e02_0280], // v_mov_b32_e32 v1, 0
        &POLL,
        &[VM],
        &[0x7e0c_0502], // v_readfirstlane_b32 s6, v2
        &[0xbf8e_0001], // s_sleep 1
        &[0xbf06_8006], // s_cmp_eq_u32 s6, 0
        &[0xbf85_fff9], // s_cbranch_scc1 -7
        &[END],
    ])
}

#[test]
fn a_wait_that_nobody_satisfies_is_a_deadlock() {
    for schedule in [Schedule::default(), Schedule::RoundRobin, Schedule::Sequential { turn: 100 }] {
        let mut bench = Bench::new(&poll(), 0, SimConfig { schedule, ..SimConfig::default() });
        bench.launch([1, 1, 1], [64, 1, 1]);
        let found = bench.run().expect_err("a deadlock");
        assert!(matches!(&found.kind, FaultKind::Deadlock { waits, .. } if waits.len() == 1), "{found}");
        assert!(bench.sim.steps() < 100_000);
    }
}

#[test]
fn a_host_event_lets_it_go_on() {
    let mut bench = Bench::new(&poll(), 0, SimConfig::default());
    bench.launch([1, 1, 1], [64, 1, 1]);
    bench.sim.at(1000, HostEvent::Write { address: bench.out, bytes: vec![1, 0, 0, 0] });
    assert_eq!(bench.sim.run_for(&mut NoEngines, 500).expect("no fault"), Outcome::OutOfSteps);
    let waves = bench.sim.waves();
    assert_eq!((waves.len(), waves[0].instructions), (1, 500));
    bench.run().expect("it ends");
    assert!((1000..1200).contains(&bench.sim.steps()));
    assert!(bench.sim.waves().is_empty());
}

#[test]
fn a_loop_that_counts_runs_into_the_limit() {
    // s_mov_b32 s6, 0; s_add_u32 s6, s6, 1; s_branch -2
    let words = [0xbe86_0080, 0x8006_8106, 0xbf82_fffe];
    let mut bench = Bench::new(&words, 0, SimConfig { limit: 50_000, ..SimConfig::default() });
    bench.launch([1, 1, 1], [64, 1, 1]);
    let found = bench.run().expect_err("the limit");
    assert!(matches!(found.kind, FaultKind::StepLimit { limit: 50_000, .. }), "{found}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let steps = |seed: u64| {
        let mut bench = Bench::new(&poll(), 0, SimConfig { seed, ..SimConfig::default() });
        bench.launch([3, 1, 1], [64, 1, 1]);
        bench.sim.at(777, HostEvent::Write { address: bench.out, bytes: vec![1, 0, 0, 0] });
        bench.run().expect("it ends");
        bench.sim.steps()
    };
    assert_eq!(steps(5), steps(5));
    assert!((0..8).any(|seed| steps(seed) != steps(5)));
}

#[test]
fn launches_that_do_not_fit_are_refused() {
    let mut bench = Bench::new(&[END], 512, SimConfig::default());
    let mut refused =
        |launch: Launch| bench.sim.launch(bench.module, "k", launch).expect_err("refused").kind.to_string();
    let launch = Launch { rank: 0, grid: [1; 3], block: [64, 1, 1], args: vec![0; 8], dynamic_lds: 0 };
    assert!(refused(Launch { args: vec![0; 4], ..launch.clone() }).contains("takes 8 bytes"));
    assert!(refused(Launch { block: [2048, 1, 1], ..launch.clone() }).contains("at most 1024"));
    assert!(refused(Launch { grid: [0, 1, 1], ..launch.clone() }).contains("empty grid"));
    assert!(refused(Launch { dynamic_lds: 1 << 20, ..launch }).contains("LDS"));
}

#[test]
fn more_workgroups_than_fit_are_started_as_others_end() {
    let config = SimConfig { cus: 2, ..SimConfig::default() };
    let words = join(&[
        &LOAD_POINTER,
        &[0x7e02_0202], // v_mov_b32_e32 v1, s2
        &[0x2402_0282], // v_lshlrev_b32_e32 v1, 2, v1
        &[0x7e00_0202], // v_mov_b32_e32 v0, s2
        &STORE,
        &[END],
    ]);
    let mut bench = Bench::new(&words, 32 << 10, config);
    bench.launch([50, 1, 1], [1, 1, 1]);
    bench.run().expect("no fault");
    assert_eq!(bench.dwords(51)[..50], (0..50).collect::<Vec<u32>>());
}

#[test]
fn the_fixture_runs_on_both_chips() {
    let files: [(&str, &[u8]); 2] = [
        ("gfx942", include_bytes!("../../fixtures/scale.gfx942.hsaco")),
        ("gfx950", include_bytes!("../../fixtures/scale.gfx950.hsaco")),
    ];
    for (name, file) in files {
        let mut sim = Sim::new(lookup(name).expect("the target exists"), SimConfig::default());
        let module = sim.load(file).expect("the object is taken");
        let input = sim.memory.allocate(0, 256, 256, MemoryType::Coarse).expect("memory");
        let output = sim.memory.allocate(0, 256, 256, MemoryType::Coarse).expect("memory");
        let values: Vec<u8> = (0..64u32).flat_map(|item| (item * 3).to_le_bytes()).collect();
        sim.memory.host_write(input, &values).expect("in bounds");
        let mut args = [output.to_le_bytes(), input.to_le_bytes()].concat();
        args.extend(64u32.to_le_bytes());
        sim.launch(module, "scale", Launch { rank: 0, grid: [1; 3], block: [64, 1, 1], args, dynamic_lds: 0 })
            .expect("the launch is taken");
        // Items 32 to 63 write the same LDS words as items 0 to 31: which of them a word holds is not defined, and a race.
        let found = sim.run(&mut NoEngines);
        if let Err(fault) = &found {
            assert!(matches!(fault.kind, FaultKind::Memory(_)), "{fault}");
        }
    }
}

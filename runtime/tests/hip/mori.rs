//! Communicators that a program made: the fake's provider stands for mori's host library.

use std::ffi::c_void;

use tilewright_runtime::device::hip::MoriRank;
use tilewright_runtime::driver::WindowPart as Part;
use tilewright_runtime::{Address, Args, Buffer, Comm, Kernel, LsaRank, Window};
use tilewright_target::comm_provider::{CommProvider, Entry, SYMBOL, WindowPart};
use tilewright_target::mori_abi::dev_comm;

use crate::{Case, bundle, case, fake};

/// What a program has that links mori.
struct Program {
    provider: CommProvider,
    comm: *mut c_void,
    ranks: u32,
}

impl Program {
    fn new(ranks: u32, queues: u32) -> Program {
        // SAFETY: the symbol has this type in every provider.
        let entry = unsafe { fake::symbol::<Entry>(SYMBOL) }.expect("the fake is a provider");
        // SAFETY: the table is static.
        let provider = unsafe { *entry() };
        // SAFETY: any numbers may be asked for.
        let comm = unsafe { (provider.open)(ranks, queues) };
        assert!(!comm.is_null());
        Program { provider, comm, ranks }
    }

    fn rank(&self, index: u32) -> MoriRank {
        let mut bytes = vec![0; dev_comm::SIZE as usize];
        // SAFETY: there is room for as many bytes.
        let status =
            unsafe { (self.provider.dev_comm)(self.comm, index, bytes.as_mut_ptr().cast(), u64::from(dev_comm::SIZE)) };
        assert_eq!(status, 0);
        MoriRank { device: index as i32, dev_comm: bytes, stream: None }
    }

    fn window(&self, bytes: u64) -> Vec<Part> {
        let mut parts = vec![WindowPart::default(); self.ranks as usize];
        // SAFETY: a C string, and room for a part for each rank.
        let status = unsafe { (self.provider.window_open)(self.comm, c"window".as_ptr(), bytes, parts.as_mut_ptr()) };
        assert_eq!(status, 0);
        parts.iter().map(|part| Part { data: Address(part.address), handle: Address(part.window) }).collect()
    }
}

/// One process's side of a launch: one rank of the communicator.
struct Side {
    comm: Comm,
    kernel: Kernel,
    rank: LsaRank,
    windows: Vec<(String, Window)>,
    buffers: Vec<(String, Buffer)>,
}

impl Side {
    /// Takes rank number `index`, and its part of each of the program's windows.
    fn new(program: &Program, case: &Case<'_>, index: u32, windows: &[(String, u64, Vec<Part>)]) -> Side {
        let comm = Comm::from_mori(vec![program.rank(index)]).expect("a communicator");
        let rank = LsaRank::new(index);
        assert_eq!((comm.ranks(), comm.lsa_size()), (vec![rank], program.ranks));
        let module = comm.load(&case.part.artifact.code, std::slice::from_ref(&case.launch.kernel)).expect("loads");
        let kernel = module.kernel(&case.launch.kernel.name).expect("is there");
        let adopt = |(name, bytes, parts): &(String, u64, Vec<Part>)| {
            (name.clone(), comm.adopt_window(vec![parts[index as usize]], *bytes).expect("adopted"))
        };
        let mut side = Side { kernel, rank, windows: windows.iter().map(adopt).collect(), buffers: Vec::new(), comm };
        for (name, content) in &case.args()[index as usize].buffers {
            match side.windows.iter().find(|(known, _)| known == name) {
                Some((_, window)) => window.write(rank, 0, content).expect("written"),
                None => {
                    let buffer = side.comm.buffer(rank, content.len() as u64, name).expect("memory");
                    buffer.write(0, content).expect("written");
                    side.buffers.push((name.clone(), buffer));
                }
            }
        }
        side
    }

    fn launch(&self) {
        let args = self.windows.iter().fold(Args::new(), |args, (name, window)| args.window(name, window));
        let args = self.buffers.iter().fold(args, |args, (name, buffer)| args.buffer(name, buffer));
        self.comm.stream().launch(&self.kernel, &[args]).expect("enqueued");
    }

    fn left(&self) -> Vec<(String, Vec<u8>)> {
        self.comm.stream().synchronise().expect("ends");
        let windows = self.windows.iter().map(|(name, window)| (name.clone(), window.to_vec(self.rank).expect("read")));
        let buffers = self.buffers.iter().map(|(name, buffer)| (name.clone(), buffer.to_vec().expect("read")));
        windows.chain(buffers).collect()
    }
}

#[test]
fn one_rank_a_process_and_totals_go_on() {
    let _lock = fake::lock();
    let bundle = bundle("ring_shift", 4);
    let case = case(&bundle, "gfx950");
    fake::node("gfx950", 4, 3);
    let program = Program::new(4, case.launch.kernel.min_queues);
    let window = |name: &str| {
        let bytes = case.args()[0].buffers.iter().find(|(known, _)| known == name).expect(name).1.len() as u64;
        (name.to_owned(), bytes, program.window(bytes))
    };
    let windows = [window("send"), window("recv")];
    // Two generations of the runtime on one communicator: the second finds the signals where the first left them.
    for generation in 0..2 {
        let sides: Vec<_> = (0..4).map(|rank| Side::new(&program, &case, rank, &windows)).collect();
        for round in 0..2 {
            sides.iter().for_each(Side::launch);
            let left: Vec<_> = sides.iter().map(Side::left).collect();
            case.compare(&left, &format!("generation {generation}, round {round}"));
        }
        let at = sides[1].comm.total(LsaRank::new(1), LsaRank::new(0), 0).expect("a total");
        assert_eq!(at, 2 * (generation + 1), "rank 0 notifies rank 1 once a launch");
        sides.iter().for_each(|side| side.comm.check_totals().expect("slots and totals agree"));
    }
}

#[test]
fn bytes_that_are_no_communicator_are_refused() {
    let _lock = fake::lock();
    fake::node("gfx950", 2, 0);
    let program = Program::new(2, 2);
    let mut short = program.rank(0);
    short.dev_comm.truncate(100);
    let error = Comm::from_mori(vec![short]).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "the hip device cannot take the communicator: a ccoDevComm has 200 bytes, these are 100"
    );
    let far = MoriRank { device: 7, ..program.rank(0) };
    let error = Comm::from_mori(vec![far]).expect_err("refused");
    assert_eq!(error.to_string(), "hip: hipGetDeviceProperties returned 101 (hipErrorInvalidDevice)\non HIP device 7");
    let comm = Comm::from_mori(vec![program.rank(0), program.rank(1)]).expect("both are here");
    assert!(comm.window(64, "send").is_err(), "windows of a program are the program's");
}

//! The runtime's API on the simulator, from a compiled text on: signals' totals over launches of several kernels, and launches
//! that are refused and leave everything as it was.

use std::sync::OnceLock;

use tilewright::artifact::{Artifact, KernelInfo};
use tilewright::backend::Want;
use tilewright::{Options, compile_text};
use tilewright_runtime::device::ArgError;
use tilewright_runtime::device::sim::{SimDevice, SimOptions};
use tilewright_runtime::{
    Address, Args, Buffer, Comm, Error, Kernel, LaunchError, LsaRank, Module, SignalError, Window,
};
use tilewright_target::GFX950;
use tilewright_target::mori_abi::{in_dev_comm, sdma_context};

/// Ranks of the node.
const RANKS: usize = 3;

/// `shift` raises `n` signals towards the next rank, counted by the compiler, and reads what came; `put` raises one, on the same
/// queue, and reads nothing, so another launch may follow it at once; `told` raises as many as it is told, which nobody counts; `hand` posts one packet with a signal itself; `wide` needs three queues; `plain` copies a buffer.
const TEXT: &str = "
kernel shift(comm: devcomm, send: window<u32>[64], recv: window<u32>[64], out: global<u32>[64]) where(n: u32)
    launch(grid = [1], block = [64])
{
    signal ready;
    let next = (comm.lsa_rank + 1) % comm.lsa_size;
    let prev = (comm.lsa_rank + comm.lsa_size - 1) % comm.lsa_size;
    for k in 0..n { copy recv@next <- send by cta, notify ready; }
    wait ready from prev;
    copy out <- recv by cta;
}
kernel put(comm: devcomm, send: window<u32>[64], recv: window<u32>[64]) launch(grid = [1], block = [64]) {
    signal one;
    let next = (comm.lsa_rank + 1) % comm.lsa_size;
    copy recv@next <- send by cta, notify one;
}
kernel told(comm: devcomm, send: window<u32>[64], recv: window<u32>[64], times: u32)
    launch(grid = [1], block = [64])
{
    signal done;
    let next = (comm.lsa_rank + 1) % comm.lsa_size;
    let prev = (comm.lsa_rank + comm.lsa_size - 1) % comm.lsa_size;
    for k in 0..index(times) { copy recv@next <- send by cta, notify done; }
    wait done from prev, expected = index(times);
}
kernel hand(comm: devcomm, send: window<u32>[64], recv: window<u32>[64])
    launch(grid = [1], block = [64])
{
    let next = (comm.lsa_rank + 1) % comm.lsa_size;
    sdma.put(recv@next![0], send![0], next, 256, queue = 0, coop = block, remote_signal = true);
    sdma.quiet(next, coop = block);
}
kernel wide(comm: devcomm, send: window<u32>[64], recv: window<u32>[64])
    launch(grid = [1], block = [64])
{
    signal third queue 2;
    let next = (comm.lsa_rank + 1) % comm.lsa_size;
    let prev = (comm.lsa_rank + comm.lsa_size - 1) % comm.lsa_size;
    copy recv@next <- send by cta, notify third;
    wait third from prev;
}
kernel plain(a: global<u32>[64], b: global<u32>[64]) launch(grid = [1], block = [64]) { copy b <- a by cta; }
";

/// A communicator with the kernels and memory for them.
struct World {
    comm: Comm,
    module: Module,
    send: Window,
    recv: Window,
    out: Vec<Buffer>,
}

fn artifact() -> Artifact {
    static ARTIFACT: OnceLock<Artifact> = OnceLock::new();
    ARTIFACT.get_or_init(compiled).clone()
}

fn compiled() -> Artifact {
    let options = Options { want: Want::finished(&GFX950), ..Options::default() };
    let compiled = compile_text(TEXT, &GFX950, &options).unwrap_or_else(|all| panic!("{all:#?}"));
    tilewright::bundle::artifact(&compiled).expect("an artifact")
}

fn world(artifact: &Artifact, seed: u64) -> World {
    let device = SimDevice::new(&GFX950, SimOptions { seed, ..SimOptions::default() });
    let comm = Comm::new(&device, RANKS as u32, 2).expect("a communicator");
    let module = Module::load(&comm, &artifact.code, &artifact.kernels).expect("a module");
    let send = comm.window(256, "send").expect("a window");
    let recv = comm.window(256, "recv").expect("a window");
    let out = comm.ranks().into_iter().map(|rank| comm.buffer(rank, 256, "out").expect("a buffer")).collect();
    World { comm, module, send, recv, out }
}

impl World {
    fn kernel(&self, name: &str) -> Kernel {
        self.module.kernel(name).expect("a kernel")
    }

    /// Enqueues `shift` with `n` signals.
    fn shift(&self, n: u64) -> Result<(), Error> {
        let args =
            |out| Args::new().window("send", &self.send).window("recv", &self.recv).buffer("out", out).scalar("n", n);
        let args: Vec<_> = self.out.iter().map(args).collect();
        self.comm.stream().launch(&self.kernel("shift"), &args)
    }

    fn windows(&self) -> Args<'_> {
        Args::new().window("send", &self.send).window("recv", &self.recv)
    }

    fn fill(&self, round: u32) {
        for rank in self.comm.ranks() {
            let row: Vec<u8> =
                (0..64u32).flat_map(|i| (i + 1000 * rank.index() + 100_000 * round).to_le_bytes()).collect();
            self.send.write(rank, 0, &row).expect("a copy");
        }
    }

    /// What rank 0's slot for signals of the last rank stands at on queue 0: by the formulas.
    fn total(&self) -> u64 {
        self.comm.total(LsaRank::new(0), LsaRank::new(RANKS as u32 - 1), 0).expect("a total")
    }

    fn assert_shifted(&self) {
        for (rank, out) in self.comm.ranks().into_iter().zip(&self.out) {
            let prev = LsaRank::new((rank.index() + RANKS as u32 - 1) % RANKS as u32);
            let (expected, found) = (self.send.to_vec(prev).expect("bytes"), out.to_vec().expect("bytes"));
            assert_eq!(found, expected, "{rank}");
        }
    }
}

#[test]
fn totals_follow_the_launches_whether_somebody_waits_between_them_or_not() {
    let artifact = artifact();
    for seed in 0..4 {
        let world = world(&artifact, seed);
        let mut total = 0;
        for (round, n) in [1, 3, 0, 2, 5].into_iter().enumerate() {
            world.fill(round as u32);
            for _ in 0..=round % 3 {
                let args = vec![world.windows(); RANKS];
                world.comm.stream().launch(&world.kernel("put"), &args).expect("a launch");
                total += 1;
            }
            assert_eq!(world.total(), total, "counted when it is enqueued");
            // Even with `n` = 0 it waits for the puts that were enqueued before it.
            world.shift(n).expect("a launch behind launches");
            total += n;
            world.comm.stream().synchronise().unwrap_or_else(|fault| panic!("seed {seed}, round {round}: {fault}"));
            world.assert_shifted();
            world.comm.check_totals().expect("memory agrees");
        }
    }
}

#[test]
fn signals_that_nobody_counts_are_read_from_memory() {
    let artifact = artifact();
    let info = |name: &str| artifact.kernel(name).expect("a kernel");
    assert!(info("told").signals[0].count.is_none() && !info("told").signals_by_hand, "{:?}", info("told"));
    assert!(info("hand").signals.is_empty() && info("hand").signals_by_hand, "{:?}", info("hand"));
    assert!(info("shift").signals[0].count.is_some(), "{:?}", info("shift"));
    let world = world(&artifact, 7);
    world.fill(1);
    world.shift(2).expect("a launch");
    world.comm.stream().synchronise().expect("an end");
    for times in [4, 1] {
        let args = vec![world.windows().scalar("times", times); RANKS];
        world.comm.stream().launch(&world.kernel("told"), &args).expect("a launch");
    }
    world.shift(1).expect("a launch that must know the totals");
    assert_eq!(world.total(), 8);
    world.comm.stream().synchronise().expect("an end");
    let hand = vec![world.windows(); RANKS];
    world.comm.stream().launch(&world.kernel("hand"), &hand).expect("a launch");
    assert_eq!(world.total(), 9);
    world.fill(2);
    world.shift(1).expect("a launch");
    world.comm.stream().synchronise().expect("an end");
    world.assert_shifted();
    world.comm.check_totals().expect("memory agrees");
    assert_eq!(world.total(), 10);
}

/// What is refused changes nothing: `refuse` is called in a world where launches go on afterwards.
fn refused(world: &World, refuse: impl Fn(&World) -> Result<(), Error>) -> Error {
    world.fill(3);
    world.shift(1).expect("a launch");
    let before = world.total();
    let error = refuse(world).expect_err("it must be refused");
    assert!(!error.to_string().contains('\n'), "{error}");
    assert_eq!(world.total(), before, "{error}");
    world.comm.stream().synchronise().expect("nothing else was enqueued");
    world.comm.check_totals().expect("memory agrees");
    world.fill(4);
    world.shift(2).expect("a launch");
    world.comm.stream().synchronise().expect("an end");
    world.assert_shifted();
    assert_eq!(world.total(), before + 2, "{error}");
    error
}

#[test]
fn a_total_of_two_to_the_32_is_refused() {
    let artifact = artifact();
    let world = world(&artifact, 0);
    let end = (1u64 << 32) - 8;
    for rank in world.comm.ranks() {
        // As if 2^32 - 8 launches had gone before, all of them by somebody else.
        let pool = world.comm.with(|driver| {
            let comm = driver.dev_comm(rank).expect("a communicator");
            let at = in_dev_comm(sdma_context::SIGNAL_BUF) as usize;
            let pool = Address(u64::from_le_bytes(comm[at..at + 8].try_into().expect("8 bytes")));
            driver.write(rank, pool, &end.to_le_bytes().repeat(2 * RANKS)).map(|()| pool)
        });
        pool.expect("a pool");
    }
    world.comm.read_totals().expect("totals");
    assert_eq!(world.total(), end);
    let error = refused(&world, |world| world.shift(7));
    assert!(
        matches!(error, Error::Signals(SignalError::Exhausted { total, count: 7, .. }) if total == end + 1),
        "{error}"
    );
    assert_eq!(world.total(), end + 3);
    world.shift(4).expect("the last one that fits");
    world.comm.stream().synchronise().expect("an end");
    assert!(matches!(world.shift(1), Err(Error::Signals(SignalError::Exhausted { .. }))));
}

#[test]
fn too_few_queues_are_refused() {
    let artifact = artifact();
    let world = world(&artifact, 1);
    let error = refused(&world, |world| {
        let args = vec![world.windows(); RANKS];
        world.comm.stream().launch(&world.kernel("wide"), &args)
    });
    assert!(matches!(error, Error::Launch(LaunchError::TooFewQueues { needed: 3, available: 2 })), "{error}");
}

#[test]
fn arguments_that_share_memory_are_refused() {
    let artifact = artifact();
    let world = world(&artifact, 2);
    let same_window = refused(&world, |world| {
        let args =
            |out| Args::new().window("send", &world.send).window("recv", &world.send).buffer("out", out).scalar("n", 1);
        world.comm.stream().launch(&world.kernel("shift"), &world.out.iter().map(args).collect::<Vec<_>>())
    });
    let Error::Launch(LaunchError::Alias { first, second, bytes: 256, .. }) = &same_window else {
        panic!("{same_window}")
    };
    assert_eq!((first.as_str(), second.as_str()), ("send", "recv"));
    // A buffer that somebody else made over the last bytes of rank 1's part of a window.
    let part = world.recv.part(LsaRank::new(1)).expect("a part").data;
    let over = world.comm.adopt_buffer(LsaRank::new(1), Address(part.0 + 252), 256).expect("a buffer");
    let overlap = refused(&world, |world| {
        let out = [&world.out[0], &over, &world.out[2]];
        let args = out.map(|out| world.windows().buffer("out", out).scalar("n", 1));
        world.comm.stream().launch(&world.kernel("shift"), &args)
    });
    assert!(matches!(overlap, Error::Launch(LaunchError::Alias { bytes: 4, .. })), "{overlap}");
    let same_buffer = refused(&world, |world| {
        let args: Vec<_> = world.out.iter().map(|out| Args::new().buffer("a", out).buffer("b", out)).collect();
        world.comm.stream().launch(&world.kernel("plain"), &args)
    });
    assert!(matches!(same_buffer, Error::Launch(LaunchError::Alias { .. })), "{same_buffer}");
}

/// What `shift` is refused with when rank `r` gives `args(r)`.
fn words<'a>(world: &World, args: &dyn Fn(usize) -> Args<'a>) -> String {
    let args: Vec<_> = (0..RANKS).map(args).collect();
    refused(world, |world| world.comm.stream().launch(&world.kernel("shift"), &args)).to_string()
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let artifact = artifact();
    let here = world(&artifact, 3);
    let elsewhere = world(&artifact, 4);
    let all = |rank: usize| here.windows().buffer("out", &here.out[rank]);
    assert_eq!(words(&here, &all), "rank 0 gives no value for the argument `n` of kernel `shift`");
    assert_eq!(words(&here, &|rank| all(rank).scalar("n", 1).scalar("m", 1)), "kernel `shift` takes no argument `m`");
    assert_eq!(
        words(&here, &|rank| all(rank).scalar("n", rank as u64 / 2)),
        "the argument `n` of kernel `shift` must be the same on all ranks, and is another on lsa rank 2"
    );
    assert_eq!(
        words(&here, &|rank| here.windows().buffer("out", &here.out[2 - rank]).scalar("n", 1)),
        "lsa rank 0 is given a buffer of lsa rank 2 for the argument `out`"
    );
    assert_eq!(
        words(&here, &|rank| here.windows().buffer("out", &elsewhere.out[rank]).scalar("n", 1)),
        "`out` belongs to another communicator"
    );
    assert_eq!(
        words(&here, &|_| here.windows().scalar("out", 0).scalar("n", 1)),
        "the argument `out` of kernel `shift` must be a buffer"
    );
    let foreign =
        refused(&here, |world| world.comm.stream().launch(&elsewhere.kernel("shift"), &[all(0), all(1), all(2)]));
    assert!(matches!(foreign, Error::Args(ArgError::Foreign { .. })), "{foreign}");
    let few = refused(&here, |world| world.comm.stream().launch(&world.kernel("shift"), &[all(0)]));
    assert!(matches!(few, Error::Args(ArgError::Ranks { given: 1, ranks: 3 })), "{few}");
    let none = here.module.kernel("shaft").expect_err("no such kernel");
    assert_eq!(none.to_string(), "the module has no kernel `shaft`; it has shift, put, told, hand, wide, plain");
}

#[test]
fn copies_stay_inside_their_buffer() {
    let artifact = artifact();
    let world = world(&artifact, 5);
    world.out[0].write(252, &[1; 4]).expect("the last bytes");
    let error = world.out[0].write(253, &[1; 4]).expect_err("one byte too far");
    assert_eq!(error.to_string(), "a copy of 4 bytes at offset 253 leaves the buffer, which has 256 bytes");
    assert!(world.send.read(LsaRank::new(2), u64::MAX, &mut [0; 4]).is_err());
    assert!(world.send.read(LsaRank::new(3), 0, &mut [0; 4]).is_err(), "no such rank");
    assert!(world.comm.buffer(LsaRank::new(3), 8, "none").is_err());
}

#[test]
fn events_tell_the_virtual_time_of_launches() {
    let artifact = artifact();
    let world = world(&artifact, 9);
    world.fill(0);
    let stream = world.comm.stream();
    let begin = stream.record().expect("an event");
    world.shift(1).expect("a launch");
    let one = stream.record().expect("an event");
    world.shift(16).expect("a launch");
    let many = stream.record().expect("an event");
    let (first, second) = (one.since(&begin).expect("times"), many.since(&one).expect("times"));
    assert_eq!((first.len(), second.len()), (RANKS, RANKS));
    for (one, sixteen) in first.iter().zip(&second) {
        // One put from idle takes some microseconds, and each further one two or three.
        assert!((3.0..50.0).contains(one) && *sixteen > 3.0 * one, "{one} us, {sixteen} us");
    }
    let both = many.since(&begin).expect("times");
    assert!(both.iter().zip(first.iter().zip(&second)).all(|(all, (a, b))| (all - a - b).abs() < 1e-6), "{both:?}");
}

#[test]
fn after_a_fault_nothing_runs_any_more() {
    let artifact = artifact();
    let world = world(&artifact, 6);
    // One rank's buffer is shorter than its handle says, so its kernel writes outside.
    let real = world.comm.buffer(LsaRank::new(1), 128, "short").expect("a buffer");
    let short = world.comm.adopt_buffer(LsaRank::new(1), real.address(), 256).expect("a buffer");
    let out = [&world.out[0], &short, &world.out[2]];
    let args = out.map(|out| world.windows().buffer("out", out).scalar("n", 1));
    world.fill(0);
    world.comm.stream().launch(&world.kernel("shift"), &args).expect("a launch");
    let fault = world.comm.stream().synchronise().expect_err("a fault");
    assert!(fault.fault().is_some(), "{fault}");
    let error = world.shift(1).expect_err("a communicator of no use");
    assert!(matches!(&error, Error::Poisoned(why) if *why == fault.to_string()), "{error}");
    assert_eq!(world.send.to_vec(LsaRank::new(0)).expect("memory can still be looked at").len(), 256);
}

/// A kernel's description with a formula that gives a negative number.
#[test]
fn a_formula_without_a_sensible_value_is_refused() {
    use tilewright::artifact::{Count, CountStep};
    let mut artifact = artifact();
    let shift: &mut KernelInfo = artifact.kernels.iter_mut().find(|kernel| kernel.name == "shift").expect("a kernel");
    shift.signals[0].count = Some(Count::new(vec![CountStep::Int(-1)]));
    let world = world(&artifact, 8);
    let error = world.shift(1).expect_err("refused");
    assert!(matches!(&error, Error::Signals(SignalError::Count { value, .. }) if value == "-1"), "{error}");
}

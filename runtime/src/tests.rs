//! What is written once above the drivers, on a driver that only keeps a diary: order of calls, what is given back when, one
//! process for each rank.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use tilewright_artifact::{ArgInfo, ArgKind, CodeBytes, CodeKind, Count, CountStep, KernelInfo, SignalFormula};
use tilewright_target::mori_abi::{dev_comm, in_dev_comm, sdma_context};

use crate::device::{Launch, RankArgs};
use crate::driver::{EventId, KernelId, Limits, ModuleId, RankLaunch, WindowPart};
use crate::error::CallError;
use crate::{
    Address, Args, Comm, DeviceKind, Driver, DriverError, Error, Kernel, LaunchError, LsaRank, RankError, SignalError,
};

/// What the driver was called with, and its memory.
#[derive(Debug, Default)]
struct Diary {
    calls: Vec<String>,
    memory: BTreeMap<u64, Vec<u8>>,
    /// Launches that fail from this one on, counted from 0.
    fails_at: Option<usize>,
    launched: usize,
    /// Kernels store a zero so many bytes behind their first argument.
    store: Option<u64>,
}

#[derive(Debug)]
struct Mock {
    ranks: Vec<LsaRank>,
    lsa_size: u32,
    limits: Limits,
    comm: bool,
    diary: Rc<RefCell<Diary>>,
}

/// Where the signal pool of a rank is.
const POOL: u64 = 0x1000;

impl Mock {
    /// A driver of these ranks of four, with two queues to each peer.
    fn new(ranks: &[u32], comm: bool) -> (Mock, Rc<RefCell<Diary>>) {
        let diary = Rc::new(RefCell::new(Diary::default()));
        for rank in ranks {
            diary.borrow_mut().memory.insert(POOL + u64::from(*rank) * 0x100, vec![0; 4 * 2 * 8]);
        }
        let limits = Limits { name: "mock".to_owned(), threads_per_block: 1024, shared_bytes: 65536 };
        let ranks = ranks.iter().copied().map(LsaRank::new).collect();
        (Mock { ranks, lsa_size: 4, limits, comm, diary: diary.clone() }, diary)
    }

    fn say(&self, call: String) {
        self.diary.borrow_mut().calls.push(call);
    }
}

fn failure() -> DriverError {
    let (name, text, log) = ("GONE".to_owned(), "the device is gone".to_owned(), String::new());
    Box::new(CallError { device: DeviceKind::Hip, call: "launch", code: 7, name, text, log }).into()
}

impl Driver for Mock {
    fn kind(&self) -> DeviceKind {
        DeviceKind::Hip
    }
    fn limits(&self) -> &Limits {
        &self.limits
    }
    fn ranks(&self) -> &[LsaRank] {
        &self.ranks
    }
    fn lsa_size(&self) -> u32 {
        self.lsa_size
    }
    fn queues(&self) -> u32 {
        if self.comm { 2 } else { 0 }
    }
    fn dev_comm(&self, rank: LsaRank) -> Option<Vec<u8>> {
        let mut bytes = vec![0; dev_comm::SIZE as usize];
        let pool = POOL + u64::from(rank.index()) * 0x100;
        bytes[in_dev_comm(sdma_context::SIGNAL_BUF) as usize..][..8].copy_from_slice(&pool.to_le_bytes());
        bytes[dev_comm::WORLD_SIZE as usize..][..4].copy_from_slice(&8u32.to_le_bytes());
        self.comm.then_some(bytes)
    }
    fn checks_bounds(&self) -> bool {
        false
    }
    fn allocate(&mut self, rank: LsaRank, bytes: u64, name: &str) -> Result<Address, DriverError> {
        self.say(format!("allocate {bytes} for {} on {}", name, rank.index()));
        let memory = &mut self.diary.borrow_mut().memory;
        let address = memory.last_key_value().map_or(0x10_0000, |(at, bytes)| at + bytes.len() as u64 + 4096);
        memory.insert(address, vec![0; bytes as usize]);
        Ok(Address(address))
    }
    fn free(&mut self, _: LsaRank, address: Address) -> Result<(), DriverError> {
        self.say("free".to_owned());
        self.diary.borrow_mut().memory.remove(&address.0).map(drop).ok_or_else(failure)
    }
    fn write(&mut self, rank: LsaRank, address: Address, bytes: &[u8]) -> Result<(), DriverError> {
        self.say(format!("write {} to {}", bytes.len(), rank.index()));
        let memory = &mut self.diary.borrow_mut().memory;
        let (start, content) = memory.range_mut(..=address.0).next_back().ok_or_else(failure)?;
        let at = (address.0 - start) as usize;
        content.get_mut(at..at + bytes.len()).ok_or_else(failure)?.copy_from_slice(bytes);
        Ok(())
    }
    fn read(&mut self, _: LsaRank, address: Address, bytes: &mut [u8]) -> Result<(), DriverError> {
        let memory = &self.diary.borrow().memory;
        let (start, content) = memory.range(..=address.0).next_back().ok_or_else(failure)?;
        let at = (address.0 - start) as usize;
        bytes.copy_from_slice(content.get(at..at + bytes.len()).ok_or_else(failure)?);
        Ok(())
    }
    fn window(&mut self, _: u64, _: &str) -> Result<Vec<WindowPart>, DriverError> {
        Err(failure())
    }
    fn free_window(&mut self, _: &[WindowPart]) -> Result<(), DriverError> {
        Err(failure())
    }
    fn load(&mut self, _: &CodeBytes) -> Result<ModuleId, DriverError> {
        Ok(ModuleId(0))
    }
    fn kernel(&mut self, _: ModuleId, _: &KernelInfo) -> Result<KernelId, DriverError> {
        Ok(KernelId(0))
    }
    fn launch(&mut self, launch: &RankLaunch<'_>) -> Result<(), DriverError> {
        let mut diary = self.diary.borrow_mut();
        let number = diary.launched;
        diary.launched += 1;
        if diary.fails_at.is_some_and(|at| number >= at) {
            return Err(failure());
        }
        diary.calls.push(format!("launch on {}", launch.rank.index()));
        if let Some(offset) = diary.store {
            let first = launch.args.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            let (start, content) = diary.memory.range_mut(..=first + offset).next_back().ok_or_else(failure)?;
            *content.get_mut((first + offset - start) as usize).ok_or_else(failure)? = 0;
        }
        Ok(())
    }
    fn synchronise(&mut self) -> Result<(), DriverError> {
        self.say("synchronise".to_owned());
        Ok(())
    }
    fn record(&mut self, _: LsaRank) -> Result<EventId, DriverError> {
        Err(failure())
    }
    fn elapsed(&mut self, _: EventId, _: EventId) -> Result<f64, DriverError> {
        Err(failure())
    }
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

fn arg(name: &str, kind: ArgKind, bytes: u32, offset: u32) -> ArgInfo {
    let hidden = kind == ArgKind::Hidden;
    ArgInfo { name: name.to_owned(), kind, dtype: "u64".to_owned(), bytes, offset, hidden }
}

/// A kernel that takes a communicator and a buffer, and whose signal `ready` each rank raises three times at every other.
fn counted(count: Option<Count>) -> KernelInfo {
    KernelInfo {
        name: "counted".to_owned(),
        args: vec![
            arg("comm", ArgKind::DevComm, 200, 0),
            arg("out", ArgKind::Global, 8, 200),
            arg("ready_base", ArgKind::Hidden, 8, 208),
        ],
        grid: [1; 3],
        block: [64, 1, 1],
        lds_bytes: 0,
        min_queues: 1,
        signals: vec![SignalFormula {
            name: "ready".to_owned(),
            queue: 0,
            text: "3".to_owned(),
            count,
            totals: Some("ready_base".to_owned()),
        }],
        signals_by_hand: false,
        sizes: Default::default(),
    }
}

/// A kernel that takes a buffer.
fn plain() -> KernelInfo {
    KernelInfo {
        name: "plain".to_owned(),
        args: vec![arg("out", ArgKind::Global, 8, 0)],
        min_queues: 0,
        signals: vec![],
        ..counted(None)
    }
}

fn three() -> Option<Count> {
    Some(Count::new(vec![CountStep::Int(3)]))
}

fn code() -> CodeBytes {
    CodeBytes { kind: CodeKind::Hsaco, bytes: vec![] }
}

fn loaded(comm: &Comm, info: KernelInfo) -> Kernel {
    let name = info.name.clone();
    comm.load(&code(), &[info]).and_then(|module| module.kernel(&name)).expect("a kernel")
}

#[test]
fn memory_is_written_before_the_first_launch_and_tables_are_used_again() {
    let (driver, diary) = Mock::new(&[0, 1, 2, 3], true);
    let comm = Comm::with_driver(Box::new(driver));
    let kernel = loaded(&comm, counted(three()));
    let out: Vec<_> = comm.ranks().iter().map(|rank| comm.buffer(*rank, 8, "out").expect("memory")).collect();
    let args: Vec<_> = out.iter().map(|out| Args::new().buffer("out", out)).collect();
    let launch = |tables: usize| {
        diary.borrow_mut().calls.clear();
        comm.stream().launch(&kernel, &args).expect("a launch");
        let calls = diary.borrow().calls.clone();
        let first = calls.iter().position(|call| call.starts_with("launch")).expect("launches");
        assert_eq!(
            calls[first..],
            [0, 1, 2, 3].map(|rank| format!("launch on {rank}")),
            "all ranks, one after the other"
        );
        assert!(calls[..first].iter().filter(|call| call.starts_with("write 512")).count() == 4, "{calls:?}");
        assert_eq!(calls.iter().filter(|call| call.starts_with("allocate 512 for `ready_base`")).count(), tables);
    };
    launch(4);
    // The first launch may still read its tables.
    launch(4);
    comm.stream().synchronise().expect("an end");
    launch(0);
    assert_eq!(comm.total(LsaRank::new(1), LsaRank::new(2), 0).expect("a total"), 9);
    assert_eq!(comm.total(LsaRank::new(1), LsaRank::new(2), 1).expect("a total"), 0);
}

#[test]
fn what_a_launch_may_use_is_given_back_after_it() {
    let (driver, diary) = Mock::new(&[0], false);
    let comm = Comm::with_driver(Box::new(driver));
    let kernel = loaded(&comm, plain());
    let out = comm.buffer(LsaRank::new(0), 8, "out").expect("memory");
    comm.stream().launch(&kernel, &[Args::new().buffer("out", &out)]).expect("a launch");
    drop(out);
    assert!(!diary.borrow().calls.contains(&"free".to_owned()));
    comm.stream().synchronise().expect("an end");
    let calls = diary.borrow().calls.clone();
    assert_eq!(calls[calls.len() - 2..], ["synchronise", "free"]);
    drop(comm.buffer(LsaRank::new(0), 8, "idle").expect("memory"));
    assert_eq!(diary.borrow().calls.last().map(String::as_str), Some("free"), "nothing runs");
    let last = comm.buffer(LsaRank::new(0), 8, "last").expect("memory");
    comm.stream().launch(&kernel, &[Args::new().buffer("out", &last)]).expect("a launch");
    drop((comm, kernel, last));
    let calls = diary.borrow().calls.clone();
    assert_eq!(calls[calls.len() - 2..], ["synchronise", "free"], "the communicator waits before it ends");
}

#[test]
fn a_launch_that_fails_on_the_first_rank_has_not_taken_place() {
    let (driver, diary) = Mock::new(&[0, 1], true);
    let comm = Comm::with_driver(Box::new(driver));
    let kernel = loaded(&comm, counted(three()));
    let out: Vec<_> = comm.ranks().iter().map(|rank| comm.buffer(*rank, 8, "out").expect("memory")).collect();
    let args: Vec<_> = out.iter().map(|out| Args::new().buffer("out", out)).collect();
    diary.borrow_mut().fails_at = Some(0);
    let error = comm.stream().launch(&kernel, &args).expect_err("the driver fails");
    assert_eq!(error.to_string(), "hip: launch returned 7 (GONE): the device is gone");
    assert_eq!(comm.total(LsaRank::new(0), LsaRank::new(1), 0).expect("a total"), 0);
    let memory = std::mem::take(&mut diary.borrow_mut().memory);
    *diary.borrow_mut() = Diary { memory, ..Diary::default() };
    comm.stream().launch(&kernel, &args).expect("a launch");
    assert!(!diary.borrow().calls.iter().any(|call| call.starts_with("allocate")), "the tables were free again");
    // On the second rank it is too late: rank 0 may wait for rank 1 for ever.
    diary.borrow_mut().fails_at = Some(3);
    assert!(matches!(comm.stream().launch(&kernel, &args), Err(Error::Driver(DriverError::Call(_)))));
    let error = comm.stream().launch(&kernel, &args).expect_err("of no use");
    assert!(matches!(error, Error::Poisoned(_)), "{error}");
    assert!(comm.stream().synchronise().is_err());
    assert_eq!(out[0].to_vec().expect("memory can be looked at").len(), 8);
}

#[test]
fn a_process_that_drives_one_rank_counts_what_all_send_it() {
    let (driver, diary) = Mock::new(&[2], true);
    let comm = Comm::with_driver(Box::new(driver));
    let own = LsaRank::new(2);
    let out = comm.buffer(own, 8, "out").expect("memory");
    let args = [Args::new().buffer("out", &out)];
    // Rank r sends r + 10 * world size to each.
    let mut steps = vec![CountStep::Sender, CountStep::WorldSize, CountStep::Int(10)];
    let op = |op| CountStep::Op(op, tilewright_artifact::IntType::INDEX);
    steps.extend([op(tilewright_artifact::CountOp::Mul), op(tilewright_artifact::CountOp::Add)]);
    let kernel = loaded(&comm, counted(Some(Count::new(steps))));
    comm.stream().launch(&kernel, &args).expect("a launch");
    let total = |source| comm.total(own, LsaRank::new(source), 0).map(|total| total as i64);
    assert_eq!([0, 1, 2, 3].map(|source| total(source).expect("a total")), [80, 81, 82, 83]);
    let error = comm.total(LsaRank::new(0), own, 0).expect_err("another process's");
    assert!(matches!(error, Error::Rank(RankError::NotDriven { .. })), "{error}");
    // What nobody counts, this process cannot read at the right moment by itself.
    let unknown = loaded(&comm, counted(None));
    comm.stream().launch(&unknown, &args).expect("a launch");
    let error = comm.stream().launch(&kernel, &args).expect_err("unknown totals");
    assert!(matches!(&error, Error::Signals(SignalError::Unknown { kernel }) if kernel == "counted"), "{error}");
    let mut slots = diary.borrow().memory[&(POOL + 0x200)].clone();
    slots[3 * 2 * 8..][..8].copy_from_slice(&1000u64.to_le_bytes());
    diary.borrow_mut().memory.insert(POOL + 0x200, slots);
    comm.read_totals().expect("after a barrier of the job");
    assert_eq!(total(3).expect("a total"), 1000);
    comm.stream().launch(&kernel, &args).expect("a launch");
    assert_eq!(total(3).expect("a total"), 1083);
    let error = comm.check_totals().expect_err("the mock raises nothing");
    assert!(matches!(error, Error::Signals(SignalError::Differs { .. })), "{error}");
}

#[test]
fn a_kernel_that_writes_outside_its_buffer_is_found_out_by_the_guards() {
    let (driver, diary) = Mock::new(&[0], false);
    let comm = Comm::with_driver(Box::new(driver));
    let info = plain();
    let ranks = [RankArgs { buffers: vec![("out".to_owned(), vec![5; 16])], scalars: vec![] }];
    let prepared = comm.prepare(&code(), &Launch { kernel: &info, ranks: &ranks }).expect("a launch");
    diary.borrow_mut().store = Some(15);
    prepared.run().expect("a run");
    let mut expected = vec![5; 16];
    expected[15] = 0;
    assert_eq!(prepared.buffers().expect("inside"), [[("out".to_owned(), expected)]]);
    diary.borrow_mut().store = Some(16);
    prepared.run().expect("a run");
    let error = prepared.buffers().expect_err("a guard is damaged");
    assert!(
        error.to_string().starts_with("buffer `out of rank 0` of 16 bytes: guard byte at offset 16 is 0x00"),
        "{error}"
    );
}

#[test]
fn kernels_that_copy_between_ranks_need_a_device_that_can() {
    let (driver, diary) = Mock::new(&[0], false);
    let comm = Comm::with_driver(Box::new(driver));
    let kernel = loaded(&comm, counted(three()));
    let out = comm.buffer(LsaRank::new(0), 8, "out").expect("memory");
    diary.borrow_mut().calls.clear();
    let error = comm.stream().launch(&kernel, &[Args::new().buffer("out", &out)]).expect_err("refused");
    assert!(matches!(error, Error::Launch(LaunchError::NoCommunicator { device: DeviceKind::Hip, .. })), "{error}");
    assert!(diary.borrow().calls.is_empty());
}

#[test]
fn an_adopted_window_has_a_part_for_each_rank() {
    let (driver, _) = Mock::new(&[1, 3], true);
    let comm = Comm::with_driver(Box::new(driver));
    let part = |at| WindowPart { data: Address(at), handle: Address(at + 1) };
    let window = comm.adopt_window(vec![part(0x100), part(0x200)], 64).expect("a window");
    assert_eq!(window.part(LsaRank::new(3)).expect("a part"), part(0x200));
    assert!(window.part(LsaRank::new(0)).is_err());
    let error = comm.adopt_window(vec![part(0x100)], 64).expect_err("a part is missing");
    assert_eq!(error.to_string(), "there are 1 parts for 2 ranks that this process drives");
}

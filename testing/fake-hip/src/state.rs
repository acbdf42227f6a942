//! The one simulated node of this process, behind one lock.
//!
//! What must hold here: every exported function goes through [`with`]; handles are numbers that are never reused, so that a
//! stale one is an error and not another object.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tilewright_sim::fault::{Fault, FaultKind};
use tilewright_sim::machine::{ModuleId, Sim, SimConfig};
use tilewright_sim::mem::MemFault;
use tilewright_target::Target;

use crate::codes::{Code, status};
use crate::provider::Comm;
use crate::queue::Queued;

/// Most instructions between two moments at which the host waits.
const MAX_STEPS: u64 = 1 << 30;

/// Most devices of a node.
const MAX_DEVICES: u32 = tilewright_sim::node::MAX_RANKS;

/// What the devices are.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// Their chip.
    pub(crate) target: &'static Target,
    /// How many.
    pub(crate) devices: u32,
    /// Seed of every choice.
    pub(crate) seed: u64,
    /// Whether races and uninitialised bytes are looked for.
    pub(crate) checks: bool,
}

impl Config {
    /// A configuration from words.
    ///
    /// # Errors
    /// One sentence.
    pub(crate) fn new(arch: &str, devices: u32, seed: u64, checks: bool) -> Result<Config, String> {
        let target = tilewright_target::lookup(arch).map_err(|error| error.to_string())?;
        if target.elf.is_none() {
            return Err(format!("{arch} is no AMD GPU"));
        }
        if devices > MAX_DEVICES {
            return Err(format!("{devices} devices are more than {MAX_DEVICES}"));
        }
        Ok(Config { target, devices, seed, checks })
    }

    /// What the environment says.
    fn from_environment() -> Result<Config, String> {
        let text = |name: &str, otherwise: &str| std::env::var(name).unwrap_or_else(|_| otherwise.to_owned());
        let number = |name: &str, otherwise: &str| {
            let value = text(name, otherwise);
            value.parse::<u64>().map_err(|error| format!("{name}={value}: {error}"))
        };
        let devices = u32::try_from(number("TW_FAKE_HIP_DEVICES", "8")?).unwrap_or(u32::MAX);
        let (seed, checks) = (number("TW_FAKE_HIP_SEED", "0")?, number("TW_FAKE_HIP_CHECKS", "1")? != 0);
        Config::new(&text("TW_FAKE_HIP_ARCH", "gfx950"), devices, seed, checks)
    }
}

/// A module on a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Module {
    pub(crate) device: u32,
    pub(crate) id: ModuleId,
}

/// A kernel of a module.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) module: u64,
    /// Its number in the object.
    pub(crate) kernel: usize,
}

/// A stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    /// Its device.
    pub(crate) device: u32,
    /// Whether calls without a stream wait for it.
    pub(crate) blocking: bool,
}

/// An event.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Event {
    /// Whether it stands or stood in a queue.
    pub(crate) recorded: bool,
    /// When it was passed, in instructions of the node; none while work is before it.
    pub(crate) passed: Option<u64>,
}

/// Everything.
pub(crate) struct State {
    pub(crate) config: Config,
    pub(crate) sim: Sim,
    /// By device: what its streams have to do, in the order in which it was given.
    pub(crate) queues: Vec<VecDeque<Queued>>,
    /// What `hipMalloc` gave: address and bytes.
    pub(crate) allocations: BTreeMap<u64, u64>,
    /// Objects that the node has taken.
    pub(crate) images: Vec<(Vec<u8>, ModuleId)>,
    pub(crate) modules: BTreeMap<u64, Module>,
    pub(crate) functions: BTreeMap<u64, Function>,
    pub(crate) streams: BTreeMap<u64, Stream>,
    pub(crate) events: BTreeMap<u64, Event>,
    /// Pairs of devices (who, whose memory) with access.
    pub(crate) peers: Vec<(u32, u32)>,
    pub(crate) comm: Option<Comm>,
    /// The code of the first fault.
    pub(crate) failed: Option<Code>,
}

/// Handles that were given out, by all nodes that this process has had.
static HANDLES: AtomicU64 = AtomicU64::new(0);

impl State {
    fn new(config: Config) -> State {
        let sim = SimConfig { seed: config.seed, checks: config.checks, limit: MAX_STEPS, ..SimConfig::default() };
        State {
            sim: Sim::new(config.target, sim),
            queues: (0..config.devices).map(|_| VecDeque::new()).collect(),
            config,
            allocations: BTreeMap::new(),
            images: Vec::new(),
            modules: BTreeMap::new(),
            functions: BTreeMap::new(),
            streams: BTreeMap::new(),
            events: BTreeMap::new(),
            peers: Vec::new(),
            comm: None,
            failed: None,
        }
    }

    /// A new handle. Handles look like small odd addresses, which no object has.
    pub(crate) fn handle(&mut self) -> u64 {
        (HANDLES.fetch_add(1, Ordering::Relaxed) + 1) * 16 + 1
    }

    /// A device of this node.
    pub(crate) fn device(&self, number: i32) -> Result<u32, Code> {
        u32::try_from(number).ok().filter(|device| *device < self.config.devices).ok_or(Code::INVALID_DEVICE)
    }

    /// Tells standard error what happened, and keeps its code for all later calls.
    pub(crate) fn fault(&mut self, fault: &Fault) -> Code {
        eprintln!("fake HIP: {fault}");
        let code = match &fault.kind {
            FaultKind::Memory(MemFault::OutOfBounds { .. } | MemFault::ReadOnly { .. }) => Code::ILLEGAL_ADDRESS,
            FaultKind::StepLimit { .. } | FaultKind::Deadlock { .. } => Code::LAUNCH_TIME_OUT,
            _ => Code::LAUNCH_FAILURE,
        };
        self.failed = Some(code);
        code
    }
}

/// A state that may move between threads.
struct Guarded(State);

// SAFETY: the simulator shares parts of itself by `Rc`; all clones live inside the same `State`, none is ever given out, and
// the lock lets one thread at a time touch any of them.
unsafe impl Send for Guarded {}

static NODE: Mutex<Option<Guarded>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Guarded>> {
    // A panic elsewhere in the program is no reason to lose the node.
    NODE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a call on the node, which the environment describes at the first call. Its status is remembered as HIP does.
pub(crate) fn call(work: impl FnOnce(&mut State) -> Result<(), Code>) -> u32 {
    status(with(work))
}

/// The same without a status.
///
/// # Errors
/// What `work` says; [`Code::NO_DEVICE`] if the environment describes no node, or one without devices.
pub(crate) fn with<T>(work: impl FnOnce(&mut State) -> Result<T, Code>) -> Result<T, Code> {
    let mut node = lock();
    if node.is_none() {
        match Config::from_environment() {
            Ok(config) => *node = Some(Guarded(State::new(config))),
            Err(sentence) => {
                eprintln!("fake HIP: {sentence}");
                return Err(Code::NO_DEVICE);
            }
        }
    }
    match node.as_mut() {
        Some(Guarded(state)) if state.config.devices > 0 => match state.failed {
            Some(code) => Err(code),
            None => work(state),
        },
        _ => Err(Code::NO_DEVICE),
    }
}

/// Forgets everything and starts over with `devices` devices of chip `arch` (a C string). 0 if there is such a chip.
///
/// # Safety
/// `arch` is a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tw_fake_hip_configure(
    arch: *const std::ffi::c_char,
    devices: u32,
    seed: u64,
    checks: u32,
) -> u32 {
    if arch.is_null() {
        return 1;
    }
    // SAFETY: the caller gives a C string.
    let arch = unsafe { std::ffi::CStr::from_ptr(arch) };
    match Config::new(&arch.to_string_lossy(), devices, seed, checks != 0) {
        Ok(config) => {
            *lock() = Some(Guarded(State::new(config)));
            crate::device::forget_current();
            0
        }
        Err(sentence) => {
            eprintln!("fake HIP: {sentence}");
            1
        }
    }
}

/// A handle as a pointer.
pub(crate) fn pointer(handle: u64) -> *mut c_void {
    std::ptr::without_provenance_mut(handle as usize)
}

/// Writes through a pointer that a caller gave.
///
/// # Errors
/// [`Code::INVALID_VALUE`] if it is null.
///
/// # Safety
/// `out` is null or may be written.
pub(crate) unsafe fn put<T>(out: *mut T, value: T) -> Result<(), Code> {
    if out.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the caller says so.
    unsafe { out.write(value) };
    Ok(())
}

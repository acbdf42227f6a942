//! The GPUs of one communicator under HIP.
//!
//! What must hold here: each rank has a stream of its own that waits for no other; the device is made current before each call
//! that depends on it, as HIP keeps it by thread; everything that was made is given back when the driver is dropped.

use std::any::Any;
use std::ffi::{CString, c_void};

use tilewright_artifact::{CodeBytes, CodeKind, KernelInfo};
use tilewright_sim::loader::CodeObject;

use super::ffi;
use super::mori::{self, MoriRank};
use super::provider::{ProvidedComm, Provider};
use crate::driver::{Address, DeviceKind, Driver, EventId, KernelId, Limits, ModuleId, RankLaunch, WindowPart};
use crate::error::DriverError;
use crate::rank::LsaRank;

type Result<T> = std::result::Result<T, DriverError>;

/// One rank that this process drives.
#[derive(Debug)]
struct Rank {
    device: i32,
    stream: *mut c_void,
    /// Whether the stream was made here.
    owned: bool,
    dev_comm: Option<Vec<u8>>,
}

/// A code object on the devices of all ranks.
#[derive(Debug)]
struct Module {
    /// Device and HIP's handle.
    loaded: Vec<(i32, *mut c_void)>,
    /// The object as our own loader reads it, which knows more of it than HIP tells; none if the loader does not take it.
    object: Option<CodeObject>,
}

/// Who made the windows.
#[derive(Debug)]
enum Source {
    /// There is no communicator.
    Alone,
    /// A provider makes what is asked for.
    Provided(ProvidedComm),
    /// The program made them.
    Given,
}

/// The GPUs of one communicator.
#[derive(Debug)]
pub struct HipDriver {
    ranks: Vec<Rank>,
    numbers: Vec<LsaRank>,
    lsa_size: u32,
    queues: u32,
    limits: Limits,
    modules: Vec<Module>,
    /// By kernel, for each rank: HIP's function.
    kernels: Vec<Vec<*mut c_void>>,
    /// Device and HIP's handle.
    events: Vec<(i32, *mut c_void)>,
    /// What was allocated and not freed.
    allocations: Vec<(LsaRank, Address)>,
    source: Source,
    /// Whether something was written that a peer's kernel may read before ours starts.
    written: bool,
    /// Whether a kernel was launched since the last synchronisation.
    launched: bool,
}

/// A refusal.
fn refuse<T>(why: impl Into<String>) -> Result<T> {
    Err(DriverError::Refused { device: DeviceKind::Hip, why: why.into() })
}

/// The refusal of what needs mori.
pub(super) fn without_provider(what: &str) -> DriverError {
    let why = format!(
        "{what} by itself: name a library that makes communicators with mori (TILEWRIGHT_COMM), or run on the simulator \
         (`--device sim`)"
    );
    DriverError::Refused { device: DeviceKind::Hip, why }
}

/// An address as HIP takes it.
fn pointer(address: Address) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address.0 as usize)
}

/// Makes a device current for this thread.
fn select(device: i32) -> Result<()> {
    // SAFETY: any number may be asked for.
    Ok(ffi::check("hipSetDevice", device, unsafe { ffi::hipSetDevice(device) })?)
}

impl HipDriver {
    /// Ranks without a communicator, on the devices in turn.
    pub(super) fn alone(ranks: u32, devices: usize) -> Result<HipDriver> {
        let mut driver = HipDriver::empty(ranks, 0, Source::Alone);
        for rank in 0..ranks {
            driver.add(LsaRank::new(rank), (rank as usize % devices.max(1)) as i32, None, None)?;
        }
        Ok(driver)
    }

    /// Ranks of a communicator that a provider makes.
    pub(super) fn provided(provider: &Provider, ranks: u32, queues: u32) -> Result<HipDriver> {
        let comm = provider.open(ranks, queues)?;
        let here = comm.ranks()?;
        HipDriver::over(here, Source::Provided(comm))
    }

    /// Ranks of a communicator that mori's host library made for this program. There may be fewer than the node has; the others
    /// live in other processes. The communicator stays the program's, and must outlive the driver.
    ///
    /// # Errors
    /// If the bytes cannot be `ccoDevComm`s of one node, or HIP does not have the devices.
    pub fn from_mori(ranks: Vec<MoriRank>) -> Result<HipDriver> {
        HipDriver::over(ranks, Source::Given)
    }

    fn over(ranks: Vec<MoriRank>, source: Source) -> Result<HipDriver> {
        let facts = mori::read_all(&ranks)?;
        let (lsa_size, queues) = facts.first().map_or((0, 0), |first| (first.lsa_size, first.queues));
        let mut driver = HipDriver::empty(lsa_size, queues, source);
        for (facts, rank) in facts.iter().zip(ranks) {
            driver.add(facts.rank, rank.device, rank.stream, Some(rank.dev_comm))?;
        }
        Ok(driver)
    }

    fn empty(lsa_size: u32, queues: u32, source: Source) -> HipDriver {
        let limits = Limits { name: String::new(), threads_per_block: u32::MAX, shared_bytes: u32::MAX };
        HipDriver {
            ranks: Vec::new(),
            numbers: Vec::new(),
            lsa_size,
            queues,
            limits,
            modules: Vec::new(),
            kernels: Vec::new(),
            events: Vec::new(),
            allocations: Vec::new(),
            source,
            written: false,
            launched: false,
        }
    }

    fn add(&mut self, number: LsaRank, device: i32, given: Option<usize>, dev_comm: Option<Vec<u8>>) -> Result<()> {
        self.narrow(device)?;
        let mut stream = std::ptr::with_exposed_provenance_mut(given.unwrap_or(0));
        if given.is_none() {
            select(device)?;
            // SAFETY: there is room for the handle.
            let code = unsafe { ffi::hipStreamCreateWithFlags(&raw mut stream, ffi::STREAM_NON_BLOCKING) };
            ffi::check("hipStreamCreateWithFlags", device, code)?;
        }
        self.numbers.push(number);
        self.ranks.push(Rank { device, stream, owned: given.is_none(), dev_comm });
        Ok(())
    }

    /// Takes a device's limits into account.
    fn narrow(&mut self, device: i32) -> Result<()> {
        let facts = ffi::device_facts(device)?;
        let limits = &mut self.limits;
        if limits.name.is_empty() {
            limits.name = facts.arch;
        } else if limits.name != facts.arch {
            return refuse(format!(
                "needs GPUs of one chip, device {device} is {} and others {}",
                facts.arch, limits.name
            ));
        }
        limits.threads_per_block = limits.threads_per_block.min(facts.threads_per_block);
        // HIP's old structure may hold what blocks get without asking; a launch that is too large after all HIP refuses itself.
        let of_chip = tilewright_target::lookup(&limits.name).map_or(0, |target| target.lds_bytes);
        limits.shared_bytes = limits.shared_bytes.min(facts.shared_bytes.max(of_chip));
        Ok(())
    }

    fn rank(&self, number: LsaRank) -> Result<&Rank> {
        match self.numbers.iter().position(|known| *known == number) {
            Some(index) => Ok(&self.ranks[index]),
            None => refuse(format!("does not drive {number} in this process")),
        }
    }

    /// Waits until all ranks of the node, here or elsewhere, have come as far: before the first kernel after a write, so that
    /// no peer's kernel finds memory of ours that is not filled yet, and after kernels, so that no peer still writes to it.
    /// With a communicator that the program made both are the program's business.
    fn barrier(&self) -> Result<()> {
        match &self.source {
            Source::Provided(comm) => comm.barrier(),
            Source::Alone | Source::Given => Ok(()),
        }
    }

    /// Waits until every stream is empty.
    fn settle(&self) -> Result<()> {
        for rank in &self.ranks {
            select(rank.device)?;
            // SAFETY: the stream lives as long as the driver.
            ffi::check("hipStreamSynchronize", rank.device, unsafe { ffi::hipStreamSynchronize(rank.stream) })?;
        }
        Ok(())
    }

    /// The HIP stream that a rank's kernels run on, as a host's own calls may need it.
    ///
    /// # Errors
    /// If the rank is not driven here.
    pub fn stream(&self, rank: LsaRank) -> Result<*mut c_void> {
        Ok(self.rank(rank)?.stream)
    }

    fn copy(
        &self,
        call: &'static str,
        rank: LsaRank,
        to: *mut c_void,
        from: *const c_void,
        bytes: usize,
        kind: u32,
    ) -> Result<()> {
        let device = self.rank(rank)?.device;
        if bytes == 0 {
            return Ok(());
        }
        select(device)?;
        // SAFETY: one end is a slice of `bytes` bytes of the caller's; the other is an address of the device, which HIP checks.
        Ok(ffi::check(call, device, unsafe { ffi::hipMemcpy(to, from, bytes, kind) })?)
    }
}

impl Driver for HipDriver {
    fn kind(&self) -> DeviceKind {
        DeviceKind::Hip
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn ranks(&self) -> &[LsaRank] {
        &self.numbers
    }

    fn lsa_size(&self) -> u32 {
        self.lsa_size
    }

    fn queues(&self) -> u32 {
        self.queues
    }

    fn dev_comm(&self, rank: LsaRank) -> Option<Vec<u8>> {
        self.rank(rank).ok()?.dev_comm.clone()
    }

    fn checks_bounds(&self) -> bool {
        false
    }

    fn allocate(&mut self, rank: LsaRank, bytes: u64, _name: &str) -> Result<Address> {
        let device = self.rank(rank)?.device;
        select(device)?;
        let bytes = usize::try_from(bytes.max(1)).unwrap_or(usize::MAX);
        let mut address = std::ptr::null_mut();
        // SAFETY: there is room for the address.
        ffi::check("hipMalloc", device, unsafe { ffi::hipMalloc(&raw mut address, bytes) })?;
        let address = Address(address.expose_provenance() as u64);
        self.allocations.push((rank, address));
        Ok(address)
    }

    fn free(&mut self, rank: LsaRank, address: Address) -> Result<()> {
        let Some(index) = self.allocations.iter().position(|known| *known == (rank, address)) else {
            return refuse(format!("did not allocate anything at {address} for {rank}"));
        };
        let device = self.rank(rank)?.device;
        select(device)?;
        self.allocations.remove(index);
        // SAFETY: the address came from `hipMalloc` on this device and was not freed.
        Ok(ffi::check("hipFree", device, unsafe { ffi::hipFree(pointer(address)) })?)
    }

    fn write(&mut self, rank: LsaRank, address: Address, bytes: &[u8]) -> Result<()> {
        self.written = true;
        self.copy("hipMemcpy", rank, pointer(address), bytes.as_ptr().cast(), bytes.len(), ffi::HOST_TO_DEVICE)
    }

    fn read(&mut self, rank: LsaRank, address: Address, bytes: &mut [u8]) -> Result<()> {
        let count = bytes.len();
        self.copy("hipMemcpy", rank, bytes.as_mut_ptr().cast(), pointer(address), count, ffi::DEVICE_TO_HOST)
    }

    fn window(&mut self, bytes: u64, name: &str) -> Result<Vec<WindowPart>> {
        match &self.source {
            Source::Alone => Err(without_provider("makes no windows")),
            Source::Provided(comm) => {
                let parts = comm.window(name, bytes, self.ranks.len())?;
                Ok(parts
                    .iter()
                    .map(|part| WindowPart { data: Address(part.address), handle: Address(part.window) })
                    .collect())
            }
            Source::Given => {
                refuse("makes no windows for a communicator that the program made: register them there and adopt them")
            }
        }
    }

    fn free_window(&mut self, parts: &[WindowPart]) -> Result<()> {
        match (&self.source, parts.first()) {
            (Source::Provided(comm), Some(first)) => comm.free_window(first.handle.0),
            _ => refuse("has no such window"),
        }
    }

    fn load(&mut self, code: &CodeBytes) -> Result<ModuleId> {
        if code.kind != CodeKind::Hsaco || code.bytes.len() < 64 {
            return refuse(format!("runs linked AMD code objects, this is {code:?}"));
        }
        let target = tilewright_target::lookup(&self.limits.name).ok();
        let object = target.and_then(|target| CodeObject::load(&code.bytes, target).ok());
        let mut module = Module { loaded: Vec::new(), object };
        let mut failure = None;
        for rank in &self.ranks {
            let device = rank.device;
            if module.loaded.iter().any(|(known, _)| *known == device) {
                continue;
            }
            select(device)?;
            let mut handle = std::ptr::null_mut();
            // SAFETY: there is room for the handle; the image is at least an ELF header long, and HIP checks the rest.
            let code = unsafe { ffi::hipModuleLoadData(&raw mut handle, code.bytes.as_ptr().cast()) };
            match ffi::check("hipModuleLoadData", device, code) {
                Ok(()) => module.loaded.push((device, handle)),
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        // What was loaded before a failure is unloaded with the driver.
        self.modules.push(module);
        match failure {
            None => Ok(ModuleId(self.modules.len() - 1)),
            Some(error) => Err(error.into()),
        }
    }

    fn kernel(&mut self, module: ModuleId, info: &KernelInfo) -> Result<KernelId> {
        let Some(module) = self.modules.get(module.0) else { return refuse("has no such module") };
        if let Some(object) = &module.object {
            object.kernel(&info.name).and_then(|kernel| kernel.check_against(info)).or_else(|error| match error {
                // HIP says it itself, with its code.
                tilewright_sim::loader::LoadError::NoKernel { .. } => Ok(()),
                other => Err(other),
            })?;
        }
        let name = CString::new(info.name.replace('\0', " ")).unwrap_or_default();
        let mut functions = Vec::new();
        for rank in &self.ranks {
            let device = rank.device;
            let loaded = module.loaded.iter().find(|(known, _)| *known == device);
            let Some((_, handle)) = loaded else { return refuse("has not loaded the module on all devices") };
            select(device)?;
            let mut function = std::ptr::null_mut();
            // SAFETY: there is room for the handle, the module is loaded, and the name is a C string.
            let code = unsafe { ffi::hipModuleGetFunction(&raw mut function, *handle, name.as_ptr()) };
            ffi::check("hipModuleGetFunction", device, code).map_err(|mut error| {
                error.log = format!("kernel `{}` {}", info.name, error.log);
                error
            })?;
            functions.push(function);
        }
        self.kernels.push(functions);
        Ok(KernelId(self.kernels.len() - 1))
    }

    fn launch(&mut self, launch: &RankLaunch<'_>) -> Result<()> {
        let index = self.numbers.iter().position(|known| *known == launch.rank);
        let function = index.and_then(|index| self.kernels.get(launch.kernel.0)?.get(index).copied());
        let (Some(index), Some(function)) = (index, function) else {
            return refuse(format!("has no such kernel for {}", launch.rank));
        };
        if std::mem::take(&mut self.written) {
            self.barrier()?;
        }
        let Rank { device, stream, .. } = self.ranks[index];
        select(device)?;
        let mut bytes = launch.args.len();
        let mut extra = [
            ffi::PARAM_BUFFER_POINTER,
            launch.args.as_ptr().cast_mut().cast(),
            ffi::PARAM_BUFFER_SIZE,
            (&raw mut bytes).cast(),
            ffi::PARAM_END,
        ];
        let ([x, y, z], [a, b, c]) = (launch.grid, launch.block);
        let params = std::ptr::null_mut();
        self.launched = true;
        // SAFETY: the function belongs to a loaded module and the stream to its device; the list is HIP's, closed by its end
        // mark, and HIP copies the arguments before it returns.
        let code =
            unsafe { ffi::hipModuleLaunchKernel(function, x, y, z, a, b, c, 0, stream, params, extra.as_mut_ptr()) };
        Ok(ffi::check("hipModuleLaunchKernel", device, code)?)
    }

    fn synchronise(&mut self) -> Result<()> {
        self.settle()?;
        if std::mem::take(&mut self.launched) {
            self.barrier()?;
        }
        Ok(())
    }

    fn record(&mut self, rank: LsaRank) -> Result<EventId> {
        let Rank { device, stream, .. } = *self.rank(rank)?;
        select(device)?;
        let mut event = std::ptr::null_mut();
        // SAFETY: there is room for the handle.
        ffi::check("hipEventCreate", device, unsafe { ffi::hipEventCreate(&raw mut event) })?;
        self.events.push((device, event));
        // SAFETY: event and stream live, both on this device.
        ffi::check("hipEventRecord", device, unsafe { ffi::hipEventRecord(event, stream) })?;
        Ok(EventId(self.events.len() - 1))
    }

    fn elapsed(&mut self, from: EventId, to: EventId) -> Result<f64> {
        let (Some((device, start)), Some((_, stop))) = (self.events.get(from.0), self.events.get(to.0)) else {
            return refuse("has no such event");
        };
        let mut milliseconds = 0.0;
        // SAFETY: there is room for the answer, and both events live.
        let code = unsafe { ffi::hipEventElapsedTime(&raw mut milliseconds, *start, *stop) };
        ffi::check("hipEventElapsedTime", *device, code)?;
        Ok(f64::from(milliseconds) * 1e3)
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

impl Drop for HipDriver {
    /// Gives everything back. Whatever HIP says to that helps nobody any more; after a fault it says the fault again.
    fn drop(&mut self) {
        let _ = self.settle();
        for (device, event) in std::mem::take(&mut self.events) {
            let _ = select(device);
            // SAFETY: the event was made on this device and is used no more.
            let _ = unsafe { ffi::hipEventDestroy(event) };
        }
        for (device, module) in std::mem::take(&mut self.modules).into_iter().flat_map(|module| module.loaded) {
            let _ = select(device);
            // SAFETY: the module was loaded on this device and is used no more.
            let _ = unsafe { ffi::hipModuleUnload(module) };
        }
        for (rank, address) in std::mem::take(&mut self.allocations) {
            let _ = self.rank(rank).map(|rank| select(rank.device));
            // SAFETY: the address came from `hipMalloc` and was not freed.
            let _ = unsafe { ffi::hipFree(pointer(address)) };
        }
        for rank in self.ranks.iter().filter(|rank| rank.owned) {
            let _ = select(rank.device);
            // SAFETY: the stream was made on this device and is used no more.
            let _ = unsafe { ffi::hipStreamDestroy(rank.stream) };
        }
    }
}

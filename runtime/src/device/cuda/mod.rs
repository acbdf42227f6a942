//! NVIDIA GPUs through the CUDA driver API, which is loaded when it is asked for: nothing of CUDA is needed to build.
//!
//! What must hold here: PTX and cubins only; no communicator, no windows, no copy engines, so a kernel that needs any is
//! refused; each rank has a GPU of its own where there are as many, and else shares one, which is safe because ranks that
//! cannot reach each other do not wait for each other. Modules and kernels are loaded before the first launch.

mod calls;

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use tilewright_artifact::{CodeBytes, CodeKind, KernelInfo};
use tilewright_target::lookup;

use crate::driver::{Address, Device, DeviceKind, Driver, EventId, KernelId, Limits, ModuleId, RankLaunch, WindowPart};
use crate::error::DriverError;
use crate::rank::LsaRank;

use calls::{Code, Facts, Function, Gpu, Point, Queue};

/// The GPUs of this machine that are of the first one's kind. They stay in use as long as the device or a communicator on it
/// lives: making a context takes longer than most launches.
#[derive(Debug)]
pub struct CudaDevice {
    gpus: Vec<Facts>,
    used: RefCell<Vec<Rc<Gpu>>>,
}

impl CudaDevice {
    /// Looks for GPUs.
    ///
    /// # Errors
    /// [`DriverError::Unavailable`] where there is no driver or no GPU: one sentence.
    pub fn new() -> Result<CudaDevice, DriverError> {
        let mut gpus = calls::gpus()?;
        let first = gpus[0].capability;
        gpus.retain(|gpu| gpu.capability == first);
        Ok(CudaDevice { gpus, used: RefCell::default() })
    }

    /// Major and minor number of the GPUs' compute capability.
    pub fn capability(&self) -> (u8, u8) {
        self.gpus[0].capability
    }
}

/// Why GPUs of compute capability `here` cannot run code for a target; `None` if they can.
fn refusal(target: &str, kind: CodeKind, here: (u8, u8)) -> Option<String> {
    let facts = lookup(target).ok().and_then(|target| target.ptx.as_ref());
    let Some(facts) = facts.filter(|_| kind != CodeKind::Hsaco) else {
        return Some(format!("CUDA devices run PTX and cubins, and this is code for {target}"));
    };
    let (major, minor) = facts.compute_capability;
    let found = format!("and the GPU here has {}.{}", here.0, here.1);
    let needs = |what: &str| Some(format!("the code is for {target}, which needs {what}, {found}"));
    if facts.exact && here != facts.compute_capability {
        return needs(&format!("compute capability {major}.{minor} exactly"));
    }
    // Machine code runs within its major version, PTX on all that come later.
    if kind == CodeKind::Cubin && (here.0 != major || here.1 < minor) {
        return needs(&format!("compute capability {major}.{minor} or a later {major}.x"));
    }
    if here < facts.compute_capability {
        return needs(&format!("compute capability {major}.{minor} or later"));
    }
    None
}

impl Device for CudaDevice {
    fn kind(&self) -> DeviceKind {
        DeviceKind::Cuda
    }

    fn describe(&self) -> String {
        let (major, minor) = self.capability();
        format!("{} x {} (compute capability {major}.{minor})", self.gpus.len(), self.gpus[0].name)
    }

    fn refuses(&self, target: &str, code: &CodeBytes) -> Option<String> {
        refusal(target, code.kind, self.capability())
    }

    fn open(&self, ranks: u32, _: u32) -> Result<Box<dyn Driver>, DriverError> {
        let used = self.gpus.len().min(ranks.max(1) as usize);
        let mut driver = CudaDriver {
            limits: Limits {
                name: self.gpus[0].name.clone(),
                threads_per_block: self.gpus.iter().map(|gpu| gpu.threads_per_block).min().unwrap_or(0),
                shared_bytes: self.gpus.iter().map(|gpu| gpu.shared_bytes).min().unwrap_or(0),
            },
            ranks: (0..ranks).map(LsaRank::new).collect(),
            gpus: Vec::new(),
            queues: Vec::new(),
            modules: Vec::new(),
            kernels: Vec::new(),
            points: Vec::new(),
        };
        let mut gpus = self.used.borrow_mut();
        for facts in self.gpus.iter().take(used).skip(gpus.len()) {
            gpus.push(Rc::new(Gpu::new(facts)?));
        }
        driver.gpus.extend(gpus.iter().take(used).cloned());
        for rank in 0..ranks as usize {
            let queue = Queue::new(&driver.gpus[rank % used])?;
            driver.queues.push(queue);
        }
        Ok(Box::new(driver))
    }
}

struct CudaDriver {
    limits: Limits,
    ranks: Vec<LsaRank>,
    gpus: Vec<Rc<Gpu>>,
    /// For each rank; rank `r` is on GPU `r % gpus`.
    queues: Vec<Queue>,
    /// For each module its code on each GPU.
    modules: Vec<Vec<Code>>,
    /// For each kernel its function on each GPU.
    kernels: Vec<Vec<Function>>,
    /// Rank and event.
    points: Vec<(LsaRank, Point)>,
}

fn refused<T>(why: &str) -> Result<T, DriverError> {
    Err(DriverError::Refused { device: DeviceKind::Cuda, why: why.to_owned() })
}

impl CudaDriver {
    /// Number of the rank's GPU, the GPU, and its queue.
    fn of(&self, rank: LsaRank) -> Result<(usize, &Gpu, &Queue), DriverError> {
        let gpu = rank.index() as usize % self.gpus.len().max(1);
        match (self.gpus.get(gpu), self.queues.get(rank.index() as usize)) {
            (Some(found), Some(queue)) => Ok((gpu, found, queue)),
            _ => refused("has no such rank"),
        }
    }
}

/// A failed call with the rank that it was for.
fn on_rank(error: DriverError, rank: LsaRank) -> DriverError {
    match error {
        DriverError::Call(mut call) if call.log.is_empty() => {
            call.log = format!("on {rank}");
            DriverError::Call(call)
        }
        other => other,
    }
}

impl Driver for CudaDriver {
    fn kind(&self) -> DeviceKind {
        DeviceKind::Cuda
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn ranks(&self) -> &[LsaRank] {
        &self.ranks
    }

    fn lsa_size(&self) -> u32 {
        self.ranks.len() as u32
    }

    fn queues(&self) -> u32 {
        0
    }

    fn dev_comm(&self, _: LsaRank) -> Option<Vec<u8>> {
        None
    }

    fn checks_bounds(&self) -> bool {
        false
    }

    fn allocate(&mut self, rank: LsaRank, bytes: u64, _: &str) -> Result<Address, DriverError> {
        let (_, gpu, _) = self.of(rank)?;
        gpu.allocate(bytes).map(Address)
    }

    fn free(&mut self, rank: LsaRank, address: Address) -> Result<(), DriverError> {
        let (_, gpu, _) = self.of(rank)?;
        gpu.free(address.0)
    }

    fn write(&mut self, rank: LsaRank, address: Address, bytes: &[u8]) -> Result<(), DriverError> {
        let (_, gpu, queue) = self.of(rank)?;
        queue.write(gpu, address.0, bytes)
    }

    fn read(&mut self, rank: LsaRank, address: Address, bytes: &mut [u8]) -> Result<(), DriverError> {
        let (_, gpu, queue) = self.of(rank)?;
        queue.read(gpu, address.0, bytes)
    }

    fn window(&mut self, _: u64, _: &str) -> Result<Vec<WindowPart>, DriverError> {
        refused("has no windows")
    }

    fn free_window(&mut self, _: &[WindowPart]) -> Result<(), DriverError> {
        refused("has no windows")
    }

    fn load(&mut self, code: &CodeBytes) -> Result<ModuleId, DriverError> {
        if code.kind == CodeKind::Hsaco {
            return refused("runs PTX and cubins, not AMD code objects");
        }
        let mut loaded = Vec::new();
        for gpu in &self.gpus {
            loaded.push(gpu.load(&code.bytes)?);
        }
        self.modules.push(loaded);
        Ok(ModuleId(self.modules.len() - 1))
    }

    fn kernel(&mut self, module: ModuleId, info: &KernelInfo) -> Result<KernelId, DriverError> {
        let Some(loaded) = self.modules.get(module.0) else { return refused("never loaded this module") };
        let mut functions = Vec::new();
        for (gpu, code) in self.gpus.iter().zip(loaded) {
            functions.push(gpu.function(code, &info.name, info.lds_bytes)?);
        }
        self.kernels.push(functions);
        Ok(KernelId(self.kernels.len() - 1))
    }

    fn launch(&mut self, launch: &RankLaunch<'_>) -> Result<(), DriverError> {
        let (at, gpu, queue) = self.of(launch.rank)?;
        let Some(function) = self.kernels.get(launch.kernel.0).and_then(|kernel| kernel.get(at)) else {
            return refused("never prepared this kernel");
        };
        let begun = queue.launch(gpu, *function, launch.grid, launch.block, launch.args);
        begun.map_err(|error| on_rank(error, launch.rank))
    }

    fn synchronise(&mut self) -> Result<(), DriverError> {
        for rank in &self.ranks {
            let (_, gpu, queue) = self.of(*rank)?;
            queue.synchronise(gpu).map_err(|error| on_rank(error, *rank))?;
        }
        Ok(())
    }

    fn record(&mut self, rank: LsaRank) -> Result<EventId, DriverError> {
        let (_, gpu, queue) = self.of(rank)?;
        let point = queue.record(gpu)?;
        self.points.push((rank, point));
        Ok(EventId(self.points.len() - 1))
    }

    fn elapsed(&mut self, from: EventId, to: EventId) -> Result<f64, DriverError> {
        match (self.points.get(from.0), self.points.get(to.0)) {
            (Some((rank, from)), Some((other, to))) if rank == other => {
                let (_, gpu, queue) = self.of(*rank)?;
                Ok(f64::from(queue.elapsed(gpu, *from, *to)?) * 1000.0)
            }
            _ => refused("measures between two events of one rank"),
        }
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

impl fmt::Debug for CudaDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaDriver")
            .field("device", &self.limits.name)
            .field("ranks", &self.ranks.len())
            .field("gpus", &self.gpus.len())
            .finish_non_exhaustive()
    }
}

impl Drop for CudaDriver {
    fn drop(&mut self) {
        for rank in &self.ranks {
            if let Ok((_, gpu, queue)) = self.of(*rank) {
                queue.destroy(gpu);
            }
        }
        for (_, point) in &self.points {
            point.destroy();
        }
        for (gpu, code) in self.modules.iter().flat_map(|loaded| self.gpus.iter().zip(loaded)) {
            // A module that cannot be unloaded goes with its context, which the GPUs release after this.
            let _ = code.unload(gpu);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_runs_on_the_gpus_that_it_is_for() {
        let ptx = |target, here| refusal(target, CodeKind::Ptx, here);
        assert_eq!(ptx("sm_80", (8, 0)), None);
        assert_eq!(ptx("sm_80", (9, 0)), None);
        assert_eq!(
            ptx("sm_80", (7, 5)).unwrap(),
            "the code is for sm_80, which needs compute capability 8.0 or later, and the GPU here has 7.5"
        );
        assert_eq!(ptx("sm_90a", (9, 0)), None);
        assert_eq!(
            ptx("sm_90a", (10, 0)).unwrap(),
            "the code is for sm_90a, which needs compute capability 9.0 exactly, and the GPU here has 10.0"
        );
        let cubin = |target, here| refusal(target, CodeKind::Cubin, here);
        assert_eq!(cubin("sm_80", (8, 9)), None);
        assert_eq!(
            cubin("sm_80", (9, 0)).unwrap(),
            "the code is for sm_80, which needs compute capability 8.0 or a later 8.x, and the GPU here has 9.0"
        );
        assert_eq!(
            refusal("gfx950", CodeKind::Hsaco, (9, 0)).unwrap(),
            "CUDA devices run PTX and cubins, and this is code for gfx950"
        );
        assert!(ptx("sm_1", (9, 0)).is_some(), "a target that nobody knows");
    }

    /// Everything that does not need a GPU of a certain kind: where there is none, one sentence; where there is one, its
    /// driver keeps its word about memory, PTX that is none, and kernels that do not exist.
    #[test]
    fn a_machine_says_what_it_has() {
        let device = match CudaDevice::new() {
            Ok(device) => device,
            Err(error) => {
                let words = error.to_string();
                assert!(words.starts_with("no cuda device: ") && !words.contains('\n'), "{words}");
                return;
            }
        };
        let mut driver = device.open(2, 0).expect("ranks share GPUs");
        let rank = LsaRank::new(1);
        let at = driver.allocate(rank, 100, "bytes").expect("memory");
        let content: Vec<u8> = (0..100).collect();
        driver.write(rank, at, &content).expect("a copy");
        let mut back = vec![0; 100];
        driver.read(rank, at, &mut back).expect("a copy");
        assert_eq!(back, content);
        let (from, to) = (driver.record(rank).expect("an event"), driver.record(rank).expect("an event"));
        driver.synchronise().expect("nothing runs");
        assert!(driver.elapsed(from, to).expect("a time") >= 0.0);
        driver.free(rank, at).expect("given back");
        let broken = CodeBytes { kind: CodeKind::Ptx, bytes: b".version 8.0\n.target sm_80\nbroken".to_vec() };
        let Err(DriverError::Call(error)) = driver.load(&broken) else { panic!("that is no PTX") };
        assert_eq!((error.call, error.name.as_str()), ("cuModuleLoadDataEx", "CUDA_ERROR_INVALID_PTX"));
        assert!(!error.log.is_empty(), "{error}");
    }
}

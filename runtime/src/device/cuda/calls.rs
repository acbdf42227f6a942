//! The edge to NVIDIA's driver library: every call that is not safe, each once.
//!
//! What must hold here: nothing is called before [`library`] has found the library and every function of it that is used
//! here, because `cudarc` panics where one is missing; handles are made here, are private to the room, and die with their
//! owner; no call outlives the memory that it is given.
#![expect(unsafe_code, reason = "the driver library is C")]

use std::ffi::{CString, c_void};
use std::sync::OnceLock;

use cudarc::driver::result::{self, stream::StreamKind};
use cudarc::driver::sys;

use crate::driver::DeviceKind;
use crate::error::{CallError, DriverError};

/// Every function of the library that is used here.
const FUNCTIONS: &[&str] = &[
    "cuInit",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxSetCurrent",
    "cuStreamCreate",
    "cuStreamSynchronize",
    "cuStreamDestroy_v2",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuModuleLoadDataEx",
    "cuModuleGetFunction",
    "cuModuleUnload",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuLaunchKernel",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventElapsedTime",
    "cuEventDestroy_v2",
];

/// `CU_LAUNCH_PARAM_BUFFER_POINTER` of cuda.h: the address of the argument block follows.
const BUFFER_POINTER: usize = 1;

/// `CU_LAUNCH_PARAM_BUFFER_SIZE` of cuda.h: the address of its size follows. A zero ends the list.
const BUFFER_SIZE: usize = 2;

/// Bytes for what the driver's compiler has to say about PTX.
const LOG_BYTES: usize = 16 << 10;

/// Whether the library is here and complete; if not, why.
fn library() -> Result<(), String> {
    static FOUND: OnceLock<Result<(), String>> = OnceLock::new();
    let look = || {
        // SAFETY: loading NVIDIA's library runs its initialisers, which is what it is installed for.
        if !unsafe { sys::is_culib_present() } {
            return Err("the driver library libcuda.so.1 is not on this machine".to_owned());
        }
        // SAFETY: the library is present, so this does not panic; the pointers are looked up and not called.
        let has = |name: &&&str| unsafe { sys::culib().get::<unsafe extern "C" fn()>(name.as_bytes()).is_err() };
        match FUNCTIONS.iter().find(has) {
            Some(name) => Err(format!("the driver library is too old, it lacks `{name}`")),
            None => Ok(()),
        }
    };
    FOUND.get_or_init(look).clone()
}

/// Whether the library has `cuFuncLoad`, which came with CUDA 12.4.
fn has_func_load() -> bool {
    // SAFETY: called with the library present; the pointer is looked up and not called.
    unsafe { sys::culib().get::<unsafe extern "C" fn()>(b"cuFuncLoad").is_ok() }
}

fn unavailable(why: String) -> DriverError {
    DriverError::Unavailable { device: DeviceKind::Cuda, why }
}

/// Keeps what the driver says of a failed call.
fn told(call: &'static str, error: result::DriverError, log: String) -> DriverError {
    let words = |found: Result<&std::ffi::CStr, result::DriverError>| {
        found.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let (name, text) = (words(error.error_name()), words(error.error_string()));
    Box::new(CallError { device: DeviceKind::Cuda, call, code: error.0 as i64, name, text, log }).into()
}

/// A result of `cudarc` with the name of the call.
fn made<T>(call: &'static str, result: Result<T, result::DriverError>) -> Result<T, DriverError> {
    result.map_err(|error| told(call, error, String::new()))
}

/// What is known of a GPU before it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) name: String,
    pub(super) capability: (u8, u8),
    pub(super) threads_per_block: u32,
    /// With the opt-in.
    pub(super) shared_bytes: u32,
    ordinal: i32,
}

/// The GPUs that the driver finds.
pub(super) fn gpus() -> Result<Vec<Facts>, DriverError> {
    library().map_err(unavailable)?;
    // Without a GPU the driver refuses to start: that is no failed call, there is just no device.
    result::init().map_err(|error| unavailable(told("cuInit", error, String::new()).to_string()))?;
    let count = made("cuDeviceGetCount", result::device::get_count())?;
    let mut all = Vec::new();
    for ordinal in 0..count {
        let device = made("cuDeviceGet", result::device::get(ordinal))?;
        let fact = |what| {
            // SAFETY: the device was just returned by the driver.
            made("cuDeviceGetAttribute", unsafe { result::device::get_attribute(device, what) })
        };
        use sys::CUdevice_attribute as Attribute;
        let major = fact(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = fact(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let shared = fact(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let threads = fact(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
        all.push(Facts {
            name: made("cuDeviceGetName", result::device::get_name(device))?,
            capability: (u8::try_from(major).unwrap_or(0), u8::try_from(minor).unwrap_or(0)),
            threads_per_block: u32::try_from(threads).unwrap_or(0),
            shared_bytes: u32::try_from(shared).unwrap_or(0),
            ordinal,
        });
    }
    if all.is_empty() { Err(unavailable("the driver finds no GPU".to_owned())) } else { Ok(all) }
}

/// A GPU in use: its primary context.
#[derive(Debug)]
pub(super) struct Gpu {
    device: sys::CUdevice,
    context: sys::CUcontext,
}

impl Gpu {
    pub(super) fn new(facts: &Facts) -> Result<Gpu, DriverError> {
        let device = made("cuDeviceGet", result::device::get(facts.ordinal))?;
        // SAFETY: the device was just returned by the driver.
        let context = made("cuDevicePrimaryCtxRetain", unsafe { result::primary_ctx::retain(device) })?;
        Ok(Gpu { device, context })
    }

    /// Makes calls that follow go to this GPU.
    fn enter(&self) -> Result<(), DriverError> {
        // SAFETY: the context is retained as long as `self` lives.
        made("cuCtxSetCurrent", unsafe { result::ctx::set_current(self.context) })
    }

    pub(super) fn allocate(&self, bytes: u64) -> Result<u64, DriverError> {
        self.enter()?;
        // SAFETY: a context is current. No bytes are refused by the driver, so one is asked for.
        made("cuMemAlloc", unsafe { result::malloc_sync(bytes.max(1) as usize) })
    }

    pub(super) fn free(&self, address: u64) -> Result<(), DriverError> {
        self.enter()?;
        // SAFETY: the driver refuses what it did not allocate, and waits for kernels that use it.
        made("cuMemFree", unsafe { result::free_sync(address) })
    }

    /// Loads PTX or a cubin.
    pub(super) fn load(&self, image: &[u8]) -> Result<Code, DriverError> {
        self.enter()?;
        // PTX ends with a zero byte; a cubin knows its length.
        let image = [image, &[0]].concat();
        let mut log = vec![0u8; LOG_BYTES];
        let mut options =
            [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(LOG_BYTES)];
        let mut module = std::ptr::null_mut();
        // SAFETY: a context is current; image, log and options outlive the call, which keeps no pointer to them; the log is as
        // long as the option says.
        let code = unsafe {
            sys::cuModuleLoadDataEx(
                &mut module,
                image.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        let words = || String::from_utf8_lossy(log.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned();
        code.result().map_err(|error| told("cuModuleLoadDataEx", error, words()))?;
        Ok(Code { module })
    }

    /// Finds a kernel and lets it have `shared` bytes of shared memory in all.
    pub(super) fn function(&self, code: &Code, name: &str, shared: u32) -> Result<Function, DriverError> {
        self.enter()?;
        let name = CString::new(name).map_err(|_| DriverError::Refused {
            device: DeviceKind::Cuda,
            why: "has no kernel whose name holds a zero byte".to_owned(),
        })?;
        // SAFETY: the module was loaded on this GPU and is unloaded after all functions are gone.
        let handle = made("cuModuleGetFunction", unsafe { result::module::get_function(code.module, name) })?;
        if has_func_load() {
            // SAFETY: the function was just returned by the driver, and the library has the call.
            made("cuFuncLoad", unsafe { sys::cuFuncLoad(handle).result() })?;
        }
        use sys::CUfunction_attribute as Attribute;
        // SAFETY: the function was just returned by the driver.
        let fixed =
            unsafe { result::function::get_function_attribute(handle, Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) };
        let fixed = u32::try_from(made("cuFuncGetAttribute", fixed)?).unwrap_or(0);
        let dynamic = shared.saturating_sub(fixed);
        if dynamic > 0 {
            let what = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function was just returned by the driver.
            let set = unsafe { result::function::set_function_attribute(handle, what, dynamic as i32) };
            made("cuFuncSetAttribute", set)?;
        }
        Ok(Function { handle, dynamic })
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // SAFETY: retained once in `new`.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// A loaded module of one GPU.
#[derive(Debug)]
pub(super) struct Code {
    module: sys::CUmodule,
}

impl Code {
    pub(super) fn unload(&self, gpu: &Gpu) -> Result<(), DriverError> {
        gpu.enter()?;
        // SAFETY: loaded in `Gpu::load`; the owner calls this once, when nothing runs any more.
        made("cuModuleUnload", unsafe { result::module::unload(self.module) })
    }
}

/// A kernel on one GPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    handle: sys::CUfunction,
    /// Bytes of shared memory that a launch asks for beside what the code declares.
    dynamic: u32,
}

/// A point in a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    event: sys::CUevent,
}

impl Point {
    pub(super) fn destroy(self) {
        // SAFETY: made in `Queue::record`; the owner calls this once.
        let _ = unsafe { result::event::destroy(self.event) };
    }
}

/// The launches of one rank, and a second stream for copies, so that a copy waits for no kernel.
#[derive(Debug)]
pub(super) struct Queue {
    launches: sys::CUstream,
    copies: sys::CUstream,
}

impl Queue {
    pub(super) fn new(gpu: &Gpu) -> Result<Queue, DriverError> {
        gpu.enter()?;
        let stream = || made("cuStreamCreate", result::stream::create(StreamKind::NonBlocking));
        Ok(Queue { launches: stream()?, copies: stream()? })
    }

    pub(super) fn write(&self, gpu: &Gpu, address: u64, bytes: &[u8]) -> Result<(), DriverError> {
        gpu.enter()?;
        if !bytes.is_empty() {
            // SAFETY: the driver refuses addresses that are not its memory; the bytes live until the copy has been waited for.
            let begun = unsafe { result::memcpy_htod_async(address, bytes, self.copies) };
            let ended = self.copied();
            made("cuMemcpyHtoDAsync", begun).and(ended)?;
        }
        Ok(())
    }

    pub(super) fn read(&self, gpu: &Gpu, address: u64, bytes: &mut [u8]) -> Result<(), DriverError> {
        gpu.enter()?;
        if !bytes.is_empty() {
            // SAFETY: as in `write`.
            let begun = unsafe { result::memcpy_dtoh_async(bytes, address, self.copies) };
            let ended = self.copied();
            made("cuMemcpyDtoHAsync", begun).and(ended)?;
        }
        Ok(())
    }

    fn copied(&self) -> Result<(), DriverError> {
        // SAFETY: the stream lives as long as `self`.
        made("cuStreamSynchronize", unsafe { result::stream::synchronize(self.copies) })
    }

    /// Enqueues a kernel; `args` is its argument block.
    pub(super) fn launch(
        &self,
        gpu: &Gpu,
        function: Function,
        grid: [u32; 3],
        block: [u32; 3],
        args: &[u8],
    ) -> Result<(), DriverError> {
        gpu.enter()?;
        let mut bytes = args.len();
        let mut extra = [
            std::ptr::without_provenance_mut::<c_void>(BUFFER_POINTER),
            args.as_ptr().cast_mut().cast(),
            std::ptr::without_provenance_mut(BUFFER_SIZE),
            (&raw mut bytes).cast(),
            std::ptr::null_mut(),
        ];
        let extra = if args.is_empty() { std::ptr::null_mut() } else { extra.as_mut_ptr() };
        // SAFETY: function and stream are this GPU's and live; the driver copies the argument block before it returns and
        // does not write to it. What the kernel does with the addresses in it is the kernel's affair: they are memory of this
        // communicator, and a kernel that leaves it is a fault of the kernel, as everywhere.
        let code = unsafe {
            sys::cuLaunchKernel(
                function.handle,
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                function.dynamic,
                self.launches,
                std::ptr::null_mut(),
                extra,
            )
        };
        made("cuLaunchKernel", code.result())
    }

    pub(super) fn synchronise(&self, gpu: &Gpu) -> Result<(), DriverError> {
        gpu.enter()?;
        // SAFETY: the stream lives as long as `self`.
        made("cuStreamSynchronize", unsafe { result::stream::synchronize(self.launches) })
    }

    pub(super) fn record(&self, gpu: &Gpu) -> Result<Point, DriverError> {
        gpu.enter()?;
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT;
        let point = Point { event: made("cuEventCreate", result::event::create(flags))? };
        // SAFETY: event and stream are live and of this GPU.
        let recorded = unsafe { result::event::record(point.event, self.launches) };
        if recorded.is_err() {
            point.destroy();
        }
        made("cuEventRecord", recorded)?;
        Ok(point)
    }

    /// Milliseconds.
    pub(super) fn elapsed(&self, gpu: &Gpu, from: Point, to: Point) -> Result<f32, DriverError> {
        gpu.enter()?;
        // SAFETY: both events are live and were recorded in this queue.
        made("cuEventElapsedTime", unsafe { result::event::elapsed(from.event, to.event) })
    }

    pub(super) fn destroy(&self, gpu: &Gpu) {
        if gpu.enter().is_ok() {
            for stream in [self.launches, self.copies] {
                // SAFETY: made in `new`; the owner calls this once.
                let _ = unsafe { result::stream::destroy(stream) };
            }
        }
    }
}

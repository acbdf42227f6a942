//! Bundles and their kernels.

use std::ffi::{c_char, c_void};

use tilewright_artifact::{Bundle, KernelInfo, Part};

use crate::comm::Comm;
use crate::error::{Failure, array, free, given, object, status, text};

/// The code of a bundle on the ranks of a communicator.
pub struct Module {
    module: tilewright_runtime::Module,
    comm: tilewright_runtime::Comm,
}

/// A kernel of a module.
pub struct Kernel {
    pub(crate) kernel: tilewright_runtime::Kernel,
    pub(crate) comm: tilewright_runtime::Comm,
}

/// Loads a bundle (`tilewright compile FILE --emit bundle -o FILE.twb`) on all ranks of this process: of the targets that it
/// holds the one that the devices are. The bytes may be freed afterwards. Null on failure.
///
/// # Safety
/// `comm` is null or lives; `bundle` points to `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_module_load(comm: *const Comm, bundle: *const c_void, bytes: u64) -> *mut Module {
    object(|| {
        // SAFETY: as the caller says.
        let (comm, file) = unsafe {
            (
                given(comm, "the communicator")?.0.clone(),
                array(bundle.cast::<u8>(), usize::try_from(bytes)?, "the bundle")?,
            )
        };
        let bundle = Bundle::from_twb(file)?;
        let part = part(&bundle, &comm.limits().name)?;
        Ok(Module { module: comm.load(&part.artifact.code, &kernels(part))?, comm })
    })
}

/// The kernel of that name. Null on failure.
///
/// # Safety
/// `module` is null or lives; `name` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_kernel_find(module: *const Module, name: *const c_char) -> *mut Kernel {
    object(|| {
        // SAFETY: as the caller says.
        let (module, name) = unsafe { (given(module, "the module")?, text(name, "the kernel's name")?) };
        Ok(Kernel { kernel: module.module.kernel(name)?, comm: module.comm.clone() })
    })
}

/// How many SDMA queues to each peer the kernels of a bundle need at most, for `target` (`gfx950`), or for any of its targets
/// if `target` is null. No communicator is needed: ask before one is made (mori's `sdmaQueueCount`).
///
/// # Safety
/// `bundle` points to `bytes` bytes; `target` is null or a C string; `out` is null or takes the number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_bundle_min_queues(
    bundle: *const c_void,
    bytes: u64,
    target: *const c_char,
    out: *mut u32,
) -> u32 {
    status(|| {
        // SAFETY: as the caller says.
        let file = unsafe { array(bundle.cast::<u8>(), usize::try_from(bytes)?, "the bundle") }?;
        let bundle = Bundle::from_twb(file)?;
        let parts = match target.is_null() {
            true => bundle.parts.iter().collect(),
            // SAFETY: as the caller says.
            false => vec![part(&bundle, unsafe { text(target, "the name of the chip") }?)?],
        };
        let needed = parts.iter().flat_map(|part| kernels(part)).map(|kernel| kernel.min_queues).max().unwrap_or(0);
        // SAFETY: as the caller says.
        *unsafe { out.as_mut() }.ok_or_else(|| Failure("the place for the number is null".to_owned()))? = needed;
        Ok(())
    })
}

/// The part of a bundle for a chip.
fn part<'a>(bundle: &'a Bundle, chip: &str) -> Result<&'a Part, Failure> {
    bundle.part(chip).ok_or_else(|| {
        let held: Vec<_> = bundle.parts.iter().map(|part| part.artifact.target.as_str()).collect();
        Failure(format!("the bundle holds code for {}, and not for {chip}", held.join(", ")))
    })
}

/// The kernels of a part. Kernels whose launch shape a run block gives are described by it.
fn kernels(part: &Part) -> Vec<KernelInfo> {
    let mut kernels = part.artifact.kernels.clone();
    for launch in part.launches.iter().flatten() {
        if !kernels.iter().any(|known| known.name == launch.kernel.name) {
            kernels.push(launch.kernel.clone());
        }
    }
    kernels
}

/// How many SDMA queues to each peer the kernel needs; 0 if `kernel` is null.
///
/// # Safety
/// `kernel` is null or lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_kernel_min_queues(kernel: *const Kernel) -> u32 {
    // SAFETY: as the caller says.
    unsafe { kernel.as_ref() }.map_or(0, |kernel| kernel.kernel.info().min_queues)
}

/// Frees a kernel.
///
/// # Safety
/// `kernel` is null or lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_kernel_free(kernel: *mut Kernel) {
    // SAFETY: as the caller says.
    unsafe { free(kernel) }
}

/// Frees a module. Its kernels stay usable.
///
/// # Safety
/// `module` is null or lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_module_free(module: *mut Module) {
    // SAFETY: as the caller says.
    unsafe { free(module) }
}

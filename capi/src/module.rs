//! Bundles and their kernels.

use std::ffi::{c_char, c_void};

use tilewright_artifact::Bundle;

use crate::comm::Comm;
use crate::error::{Failure, array, free, given, object, text};

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
        let chip = comm.limits().name;
        let part = bundle.part(&chip).ok_or_else(|| {
            let held: Vec<_> = bundle.parts.iter().map(|part| part.artifact.target.as_str()).collect();
            Failure(format!("the bundle holds code for {}, the devices are {chip}", held.join(", ")))
        })?;
        // Kernels whose launch shape a run block gives are described by it.
        let mut kernels = part.artifact.kernels.clone();
        for launch in part.launches.iter().flatten() {
            if !kernels.iter().any(|known| known.name == launch.kernel.name) {
                kernels.push(launch.kernel.clone());
            }
        }
        Ok(Module { module: comm.load(&part.artifact.code, &kernels)?, comm })
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

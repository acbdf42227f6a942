//! The fake library from inside the process that uses it: which node it simulates.

use std::ffi::{CString, c_char};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tilewright_runtime::Comm;
use tilewright_runtime::device::hip::{HipDevice, Provider};

type Configure = unsafe extern "C" fn(*const c_char, u32, u64, u32) -> u32;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The lock that every test holds.
pub(crate) fn lock() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the library underneath is the fake one.
pub(crate) fn is_here() -> bool {
    configure_function().is_some()
}

fn configure_function() -> Option<Configure> {
    // SAFETY: the symbol has this type in the fake, and nobody else has it.
    unsafe { symbol("tw_fake_hip_configure") }
}

/// A symbol of a library that this program was linked with.
///
/// # Safety
/// The symbol has this type.
pub(crate) unsafe fn symbol<T: Copy>(name: &str) -> Option<T> {
    let program = libloading::os::unix::Library::this();
    // SAFETY: as the caller says; what the program was linked with stays loaded.
    unsafe { program.get::<T>(name) }.ok().map(|symbol| *symbol)
}

/// Starts over with a node of `devices` chips.
pub(crate) fn node(arch: &str, devices: u32, seed: u64) {
    let configure = configure_function().expect("this test needs the fake HIP library; run .ci/hip");
    let arch = CString::new(arch).expect("a name");
    // SAFETY: a C string.
    assert_eq!(unsafe { configure(arch.as_ptr(), devices, seed, 1) }, 0);
}

/// The node's devices with the fake's communicators.
pub(crate) fn device() -> HipDevice {
    let library = std::env::var_os("TILEWRIGHT_COMM").expect("TILEWRIGHT_COMM names the fake library; run .ci/hip");
    let provider = Provider::named_by_user(Path::new(&library)).expect("the fake is a provider");
    HipDevice::find().expect("devices").with_provider(provider)
}

/// A communicator of that many ranks on a fresh node.
pub(crate) fn comm(arch: &str, ranks: u32, queues: u32, seed: u64) -> Comm {
    node(arch, ranks, seed);
    Comm::new(&device(), ranks, queues).expect("a communicator")
}

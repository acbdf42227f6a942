//! Devices: how many, which one is current, what they are.
//!
//! What must hold here: the current device is a matter of each thread; properties are laid out as HIP 5 had them, which is
//! what the symbol `hipGetDeviceProperties` still means in later releases.

use std::cell::Cell;
use std::ffi::{c_int, c_uint, c_void};

use tilewright_target::Target;

use crate::codes::{Code, status};
use crate::state::{call, put, with};

thread_local! {
    static CURRENT: Cell<u32> = const { Cell::new(0) };
}

/// The current device of this thread.
pub(crate) fn current() -> u32 {
    CURRENT.get()
}

/// Device 0 is current again.
pub(crate) fn forget_current() {
    CURRENT.set(0);
}

/// Size of `hipDeviceProp_t` in HIP 5.2, in bytes, and offsets of the fields that are filled in (offsetof with its header).
mod properties {
    pub(super) const SIZE: usize = 792;
    pub(super) const NAME: usize = 0;
    pub(super) const TOTAL_GLOBAL_MEM: usize = 256;
    pub(super) const SHARED_MEM_PER_BLOCK: usize = 264;
    pub(super) const WARP_SIZE: usize = 276;
    pub(super) const MAX_THREADS_PER_BLOCK: usize = 280;
    pub(super) const MULTIPROCESSORS: usize = 336;
    pub(super) const ARCH_NAME: usize = 396;
}

/// Bytes of memory of a device: what all devices together may allocate in the simulator.
const MEMORY_BYTES: u64 = 8 << 30;

/// Compute units of a simulated device.
fn units() -> u32 {
    tilewright_sim::machine::SimConfig::default().cus
}

fn describe(target: &Target) -> [u8; properties::SIZE] {
    let mut out = [0; properties::SIZE];
    let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
    put(properties::NAME, format!("simulated {}", target.name).as_bytes());
    put(properties::TOTAL_GLOBAL_MEM, &MEMORY_BYTES.to_le_bytes());
    put(properties::SHARED_MEM_PER_BLOCK, &u64::from(target.lds_bytes).to_le_bytes());
    put(properties::WARP_SIZE, &target.warp_size.to_le_bytes());
    put(properties::MAX_THREADS_PER_BLOCK, &target.max_threads_per_block.to_le_bytes());
    put(properties::MULTIPROCESSORS, &units().to_le_bytes());
    // As ROCm names its devices: the chip with the settings that it runs with.
    put(properties::ARCH_NAME, format!("{}:sramecc+:xnack-", target.name).as_bytes());
    out
}

/// Does nothing: devices are there at the first call.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipInit(flags: c_uint) -> u32 {
    call(|_| if flags == 0 { Ok(()) } else { Err(Code::INVALID_VALUE) })
}

/// How many devices there are.
///
/// # Safety
/// `out` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipGetDeviceCount(out: *mut c_int) -> u32 {
    let count = with(|state| Ok(state.config.devices));
    // SAFETY: as the caller says.
    let written = unsafe { put(out, count.unwrap_or(0) as c_int) };
    status(count.and(written))
}

/// Makes a device current for this thread.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipSetDevice(device: c_int) -> u32 {
    call(|state| {
        CURRENT.set(state.device(device)?);
        Ok(())
    })
}

/// The current device.
///
/// # Safety
/// `out` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipGetDevice(out: *mut c_int) -> u32 {
    // SAFETY: as the caller says.
    call(|_| unsafe { put(out, current() as c_int) })
}

/// What a device is.
///
/// # Safety
/// `out` is null or has room for a `hipDeviceProp_t` of HIP 5.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipGetDeviceProperties(out: *mut c_void, device: c_int) -> u32 {
    call(|state| {
        state.device(device)?;
        // SAFETY: as the caller says; bytes have no alignment.
        unsafe { put(out.cast::<[u8; properties::SIZE]>(), describe(state.config.target)) }
    })
}

/// One number about a device; those that a host of ours asks for.
///
/// # Safety
/// `out` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipDeviceGetAttribute(out: *mut c_int, attribute: c_uint, device: c_int) -> u32 {
    call(|state| {
        state.device(device)?;
        let target = state.config.target;
        let value = match attribute {
            56 => target.max_threads_per_block,
            63 => units(),
            74 => target.lds_bytes,
            87 => target.warp_size,
            _ => return Err(Code::INVALID_VALUE),
        };
        // SAFETY: as the caller says.
        unsafe { put(out, value as c_int) }
    })
}

/// Whether one device can have access to another's memory: all can.
///
/// # Safety
/// `out` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipDeviceCanAccessPeer(out: *mut c_int, device: c_int, peer: c_int) -> u32 {
    call(|state| {
        let (device, peer) = (state.device(device)?, state.device(peer)?);
        // SAFETY: as the caller says.
        unsafe { put(out, c_int::from(device != peer)) }
    })
}

/// Gives the current device access to another's memory. The simulator's devices have it anyway.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipDeviceEnablePeerAccess(peer: c_int, flags: c_uint) -> u32 {
    call(|state| {
        let pair = (current(), state.device(peer)?);
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        if pair.0 == pair.1 {
            return Err(Code::INVALID_DEVICE);
        }
        if state.peers.contains(&pair) {
            return Err(Code::PEER_ACCESS_ALREADY_ENABLED);
        }
        state.peers.push(pair);
        Ok(())
    })
}

/// Waits for all work of all devices.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipDeviceSynchronize() -> u32 {
    call(crate::state::State::drain)
}

//! HIP's functions and constants as this device uses them.
//!
//! `hip-sys` finds the library and links it; its functions are not called, because they return a Rust enum and HIP returns
//! codes that the enum does not have, which would be undefined behaviour. Here codes are integers.
//!
//! What must hold here: signatures are those of `hip_runtime_api.h` (HIP 5.2 to 7) with every enum as the integer that it is in
//! C; constants equal those of `hip-sys`, which the compiler checks below.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use hip_sys::hiprt;

use crate::driver::DeviceKind;
use crate::error::CallError;

/// `hipSuccess`.
pub(super) const SUCCESS: u32 = 0;

/// `hipErrorNoDevice`.
pub(super) const NO_DEVICE: u32 = 100;

/// `hipMemcpyHostToDevice`.
pub(super) const HOST_TO_DEVICE: c_uint = 1;

/// `hipMemcpyDeviceToHost`.
pub(super) const DEVICE_TO_HOST: c_uint = 2;

/// `hipStreamNonBlocking`: such a stream does not wait for the null stream, nor the null stream for it.
pub(super) const STREAM_NON_BLOCKING: c_uint = 1;

/// Marks in the `extra` list of a launch.
pub(super) const PARAM_BUFFER_POINTER: *mut c_void = std::ptr::without_provenance_mut(1);
pub(super) const PARAM_BUFFER_SIZE: *mut c_void = std::ptr::without_provenance_mut(2);
pub(super) const PARAM_END: *mut c_void = std::ptr::without_provenance_mut(3);

const _: () = {
    assert!(hiprt::hipError_t::hipSuccess as u32 == SUCCESS);
    assert!(hiprt::hipError_t::hipErrorNoDevice as u32 == NO_DEVICE);
    assert!(hiprt::hipMemcpyKind::hipMemcpyHostToDevice as u32 == HOST_TO_DEVICE);
    assert!(hiprt::hipMemcpyKind::hipMemcpyDeviceToHost as u32 == DEVICE_TO_HOST);
    assert!(hiprt::hipStreamNonBlocking == STREAM_NON_BLOCKING);
};

/// Room for what `hipGetDeviceProperties` writes. The symbol without a suffix writes the structure of HIP 5 in every release
/// (`hipDeviceProp_t` of `hip-sys`); the rest is in case one writes more.
#[repr(C)]
pub(super) struct Properties {
    /// The structure.
    pub(super) known: hiprt::hipDeviceProp_t,
    spare: [u8; 4096],
}

// SAFETY: these are functions of libamdhip64, declared as its header has them.
unsafe extern "C" {
    pub(super) fn hipGetErrorName(code: u32) -> *const c_char;
    pub(super) fn hipGetErrorString(code: u32) -> *const c_char;
    pub(super) fn hipGetDeviceCount(count: *mut c_int) -> u32;
    pub(super) fn hipSetDevice(device: c_int) -> u32;
    pub(super) fn hipGetDeviceProperties(properties: *mut Properties, device: c_int) -> u32;
    pub(super) fn hipMalloc(address: *mut *mut c_void, bytes: usize) -> u32;
    pub(super) fn hipFree(address: *mut c_void) -> u32;
    pub(super) fn hipMemcpy(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_uint) -> u32;
    pub(super) fn hipModuleLoadData(module: *mut *mut c_void, image: *const c_void) -> u32;
    pub(super) fn hipModuleUnload(module: *mut c_void) -> u32;
    pub(super) fn hipModuleGetFunction(function: *mut *mut c_void, module: *mut c_void, name: *const c_char) -> u32;
    pub(super) fn hipModuleLaunchKernel(
        function: *mut c_void,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: *mut c_void,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> u32;
    pub(super) fn hipStreamCreateWithFlags(stream: *mut *mut c_void, flags: c_uint) -> u32;
    pub(super) fn hipStreamDestroy(stream: *mut c_void) -> u32;
    pub(super) fn hipStreamSynchronize(stream: *mut c_void) -> u32;
    pub(super) fn hipEventCreate(event: *mut *mut c_void) -> u32;
    pub(super) fn hipEventDestroy(event: *mut c_void) -> u32;
    pub(super) fn hipEventRecord(event: *mut c_void, stream: *mut c_void) -> u32;
    pub(super) fn hipEventElapsedTime(milliseconds: *mut f32, start: *mut c_void, stop: *mut c_void) -> u32;
}

/// A C string of HIP's, which lives for ever; empty if it is null.
fn words(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: HIP's names and descriptions are C strings in its read-only data.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// An error code with the library's name and words for it.
pub(super) fn call_error(call: &'static str, code: u32, log: String) -> CallError {
    // SAFETY: both take any number.
    let (name, text) = unsafe { (hipGetErrorName(code), hipGetErrorString(code)) };
    let (name, mut text) = (words(name), words(text));
    // Early releases have no words, they say the name again.
    if text == name {
        text.clear();
    }
    CallError { device: DeviceKind::Hip, call, code: i64::from(code), name, text, log }
}

/// The result of a call on a device.
///
/// # Errors
/// Any code but success, with the device.
pub(super) fn check(call: &'static str, device: i32, code: u32) -> Result<(), Box<CallError>> {
    match code {
        SUCCESS => Ok(()),
        code => Err(Box::new(call_error(call, code, format!("on HIP device {device}")))),
    }
}

/// What a device is.
pub(super) struct DeviceFacts {
    /// Its product name.
    pub(super) name: String,
    /// Its chip, without the settings that follow in HIP's name for it.
    pub(super) arch: String,
    /// Most threads of a block.
    pub(super) threads_per_block: u32,
    /// Most bytes of LDS of a block.
    pub(super) shared_bytes: u32,
}

/// The text of a field with a closing zero byte.
fn field(bytes: &[c_char]) -> String {
    let text: Vec<u8> = bytes.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&text).into_owned()
}

/// Asks what a device is.
///
/// # Errors
/// What HIP says.
pub(super) fn device_facts(device: i32) -> Result<DeviceFacts, Box<CallError>> {
    let mut properties = Properties { known: hiprt::hipDeviceProp_t::default(), spare: [0; 4096] };
    // SAFETY: there is room for the structure, and for a longer one.
    check("hipGetDeviceProperties", device, unsafe { hipGetDeviceProperties(&raw mut properties, device) })?;
    let known = &properties.known;
    let arch = field(&known.gcnArchName);
    Ok(DeviceFacts {
        name: field(&known.name),
        arch: arch.split(':').next().unwrap_or_default().to_owned(),
        threads_per_block: u32::try_from(known.maxThreadsPerBlock).unwrap_or(0),
        shared_bytes: u32::try_from(known.sharedMemPerBlock).unwrap_or(u32::MAX),
    })
}

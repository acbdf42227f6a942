//! The library as a C program calls it, with the object of the simulator's own tests: `scale(out, in, n)`, 64 threads.
//!
//! What must hold here: the node is one of this process, so each test holds the lock while it runs.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{from_mut, null_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tilewright_target::comm_provider::{LocalRank, WindowPart};
use tilewright_target::mori_abi::dev_comm;

use crate::device::*;
use crate::memory::*;
use crate::module::*;
use crate::provider::tw_comm_provider;
use crate::state::tw_fake_hip_configure;
use crate::stream::*;

const GFX950: &[u8] = include_bytes!("../../../sim/fixtures/scale.gfx950.hsaco");
const GFX942: &[u8] = include_bytes!("../../../sim/fixtures/scale.gfx942.hsaco");

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A fresh node of `devices` gfx950.
fn node(devices: u32) -> MutexGuard<'static, ()> {
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: a C string.
    assert_eq!(unsafe { tw_fake_hip_configure(c"gfx950".as_ptr(), devices, 7, 1) }, 0);
    guard
}

/// Calls a function that gives a handle or an address; all of ours are given a pointer to room for it.
fn made(make: impl FnOnce(*mut *mut c_void) -> u32) -> Result<*mut c_void, u32> {
    let mut out = null_mut();
    match make(from_mut(&mut out)) {
        0 => Ok(out),
        code => Err(code),
    }
}

fn malloc(bytes: usize) -> *mut c_void {
    // SAFETY: `made` gives room.
    made(|out| unsafe { hipMalloc(out, bytes) }).expect("memory")
}

fn module(image: &[u8]) -> Result<*mut c_void, u32> {
    // SAFETY: `made` gives room, the image is an ELF file.
    made(|out| unsafe { hipModuleLoadData(out, image.as_ptr().cast()) })
}

fn function(module: *mut c_void, name: &CStr) -> Result<*mut c_void, u32> {
    // SAFETY: `made` gives room.
    made(|out| unsafe { hipModuleGetFunction(out, module, name.as_ptr()) })
}

/// Launches with a packed argument block.
fn launch(function: *mut c_void, threads: u32, stream: *mut c_void, args: &mut [u64]) -> u32 {
    let mut bytes = size_of_val(args) - 4;
    let mark = |n: usize| std::ptr::without_provenance_mut::<c_void>(n);
    let size: *mut usize = &raw mut bytes;
    let mut extra = [mark(1), args.as_mut_ptr().cast(), mark(2), size.cast(), mark(3)];
    // SAFETY: the list is as HIP documents it.
    unsafe { hipModuleLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, stream, null_mut(), extra.as_mut_ptr()) }
}

/// 64 floats that repeat after 32, as the kernel's tile of 32 wants them.
fn input() -> Vec<f32> {
    (0..64).map(|i| (i % 32) as f32 * 0.5).collect()
}

/// Copies the input to new memory; also memory for the output.
fn buffers() -> [*mut c_void; 2] {
    let (from, to) = (malloc(256), malloc(256));
    assert_eq!(hipMemcpy(from, input().as_ptr().cast(), 256, 1), 0);
    [to, from]
}

fn output(at: *mut c_void) -> Vec<f32> {
    let mut out = vec![0f32; 64];
    assert_eq!(hipMemcpy(out.as_mut_ptr().cast(), at, 256, 2), 0);
    out
}

#[test]
fn a_kernel_runs_with_packed_and_with_single_arguments() {
    let _node = node(1);
    let kernel = function(module(GFX950).expect("loads"), c"scale").expect("is there");
    let [to, from] = buffers();
    assert_eq!(launch(kernel, 64, null_mut(), &mut [to.addr() as u64, from.addr() as u64, 64]), 0);
    assert_eq!(output(to), input());
    let [mut to, mut from] = buffers();
    let mut count = 64i32;
    let mut params: [*mut c_void; 3] = [(&raw mut to).cast(), (&raw mut from).cast(), (&raw mut count).cast()];
    // SAFETY: one pointer for each argument.
    let code =
        unsafe { hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, null_mut(), params.as_mut_ptr(), null_mut()) };
    assert_eq!((code, hipDeviceSynchronize()), (0, 0));
    assert_eq!(output(to), input());
}

#[test]
fn copies_without_a_stream_do_not_wait_for_streams_that_do_not_block() {
    let _node = node(2);
    let kernel = function(module(GFX950).expect("loads"), c"scale").expect("is there");
    // SAFETY: `made` gives room.
    let stream = made(|out| unsafe { hipStreamCreateWithFlags(out, 1) }).expect("a stream");
    let events: Vec<_> = (0..2).map(|_| made(|out| unsafe { hipEventCreate(out) }).expect("an event")).collect();
    let [to, from] = buffers();
    assert_eq!(hipMemset(to, 0, 256), 0);
    assert_eq!(hipEventRecord(events[0], stream), 0);
    assert_eq!(launch(kernel, 64, stream, &mut [to.addr() as u64, from.addr() as u64, 64]), 0);
    assert_eq!(hipEventRecord(events[1], stream), 0);
    assert_eq!(output(to), vec![0.0; 64], "the kernel must not have run yet");
    let mut elapsed = 0.0;
    // SAFETY: there is room.
    assert_eq!(unsafe { hipEventElapsedTime(&raw mut elapsed, events[0], events[1]) }, 600);
    let mut late = vec![0f32; 64];
    assert_eq!(hipMemcpyAsync(late.as_mut_ptr().cast(), to, 256, 2, stream), 0);
    assert_eq!(hipStreamSynchronize(stream), 0);
    assert_eq!(late, input(), "a copy of the same stream comes after it");
    // SAFETY: there is room.
    assert_eq!(unsafe { hipEventElapsedTime(&raw mut elapsed, events[0], events[1]) }, 0);
    assert!(elapsed > 0.0);
}

#[test]
fn what_is_wrong_has_the_code_that_hip_gives_it() {
    let _node = node(2);
    assert_eq!(module(GFX942), Err(209), "an object for another chip");
    assert_eq!(module(&[0; 64]), Err(200), "no object");
    let loaded = module(GFX950).expect("loads");
    assert_eq!(function(loaded, c"shrink"), Err(500), "no such kernel");
    assert_eq!(function(null_mut(), c"scale"), Err(400), "no module");
    let kernel = function(loaded, c"scale").expect("is there");
    let [to, from] = buffers();
    let args = [to.addr() as u64, from.addr() as u64, 64];
    assert_eq!(launch(kernel, 128, null_mut(), &mut args.clone()), 9, "more threads than it was compiled for");
    assert_eq!(launch(kernel, 64, null_mut(), &mut args[..2].to_vec()), 1, "too few arguments");
    assert_eq!(launch(to, 64, null_mut(), &mut args.clone()), 400, "no kernel");
    assert_eq!(launch(kernel, 64, to, &mut args.clone()), 400, "no stream");
    assert_eq!((hipSetDevice(2), hipSetDevice(-1), hipSetDevice(1)), (101, 101, 0));
    assert_eq!(launch(kernel, 64, null_mut(), &mut args.clone()), 400, "another device's kernel");
    // SAFETY: `made` gives room.
    assert_eq!(made(|out| unsafe { hipMalloc(out, 1 << 40) }), Err(2), "more memory than there is");
    assert_eq!(hipFree(from.wrapping_byte_add(4)), 1, "nothing that was allocated");
    assert_eq!(hipMemcpy(to, input().as_ptr().cast(), 257, 1), 1, "behind the end");
    assert_eq!(hipMemcpy(to, from, 4, 9), 21);
    assert_eq!((hipDeviceEnablePeerAccess(0, 0), hipDeviceEnablePeerAccess(0, 0)), (0, 704));
    assert_eq!((hipModuleUnload(loaded), hipModuleUnload(loaded)), (0, 400));
    assert_eq!(launch(kernel, 64, null_mut(), &mut args.clone()), 400, "its module is gone");
    assert_eq!((hipFree(to), hipFree(to), hipFree(null_mut())), (0, 1, 0));
}

#[test]
fn a_fault_stays() {
    let _node = node(1);
    let kernel = function(module(GFX950).expect("loads"), c"scale").expect("is there");
    let [to, _] = buffers();
    let short = malloc(128);
    assert_eq!(hipMemset(short, 0, 128), 0);
    assert_eq!(launch(kernel, 64, null_mut(), &mut [to.addr() as u64, short.addr() as u64, 64]), 0);
    assert_eq!(hipDeviceSynchronize(), 700, "the kernel reads behind the end");
    assert_eq!((hipDeviceSynchronize(), hipSetDevice(0)), (700, 700));
}

#[test]
fn no_device_is_a_code_too() {
    let _node = node(0);
    let mut count = -1;
    // SAFETY: there is room.
    assert_eq!((unsafe { hipGetDeviceCount(&raw mut count) }, count), (100, 0));
    assert_eq!(hipInit(0), 100);
}

#[test]
fn devices_say_what_they_are() {
    let _node = node(3);
    let mut count = 0;
    let mut properties = [0u8; 792];
    // SAFETY: there is room.
    let codes =
        unsafe { (hipGetDeviceCount(&raw mut count), hipGetDeviceProperties(properties.as_mut_ptr().cast(), 2)) };
    assert_eq!((codes, count), ((0, 0), 3));
    assert!(properties[396..].starts_with(b"gfx950:"));
}

#[test]
fn the_provider_makes_one_communicator_at_a_time() {
    let _node = node(4);
    // SAFETY: the table is static.
    let provider = unsafe { &*tw_comm_provider() };
    // SAFETY: each call as the interface documents it, with room for each answer.
    unsafe {
        let words = || CStr::from_ptr((provider.error)()).to_string_lossy().into_owned();
        assert!((provider.open)(5, 1).is_null());
        assert_eq!(words(), "5 ranks need as many devices, there are 4");
        let comm = (provider.open)(4, 3);
        assert!(!comm.is_null() && (provider.open)(4, 3).is_null());
        assert_eq!((provider.local_ranks)(comm), 4);
        let mut rank = LocalRank::default();
        assert_eq!((provider.local_rank)(comm, 3, &raw mut rank), 0);
        assert_eq!(rank, LocalRank { lsa_rank: 3, device: 3 });
        let mut bytes = [0u8; dev_comm::SIZE as usize];
        assert_eq!((provider.dev_comm)(comm, 2, bytes.as_mut_ptr().cast(), bytes.len() as u64), 0);
        assert_eq!(bytes[dev_comm::LSA_RANK as usize], 2);
        assert_eq!((provider.dev_comm)(comm, 2, bytes.as_mut_ptr().cast(), 8), 1);
        assert_eq!(words(), "a ccoDevComm has 200 bytes, the caller has room for 8");
        let mut parts = [WindowPart::default(); 4];
        let name: *const c_char = c"send".as_ptr();
        assert_eq!((provider.window_open)(comm, name, 512, parts.as_mut_ptr()), 0);
        let part = |n: usize| std::ptr::without_provenance_mut::<c_void>(parts[n].address as usize);
        assert_eq!((hipMemset(part(3), 9, 512), hipMemset(part(3), 9, 513)), (0, 1));
        assert_eq!((provider.window_close)(comm, parts[1].window), 1);
        assert_eq!((provider.window_close)(comm, parts[0].window), 0);
        assert_eq!(hipMemset(part(3), 9, 512), 1, "the window is gone");
        assert_eq!(((provider.close)(comm), (provider.close)(comm)), (0, 1));
        let again = (provider.open)(2, 1);
        assert!(!again.is_null(), "{}", words());
        assert_eq!((provider.window_open)(again, name, 512, parts.as_mut_ptr()), 0);
    }
}

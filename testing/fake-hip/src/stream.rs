//! Streams and events.
//!
//! What must hold here: asking whether work is done does it, for nothing moves by itself here; a program that polls sees the
//! same as one that waits.

use std::ffi::{c_uint, c_void};

use crate::codes::Code;
use crate::device::current;
use crate::queue::Op;
use crate::state::{Event, State, call, pointer, put};

/// Nanoseconds in a millisecond; an instruction stands for a nanosecond.
const NS_PER_MS: f32 = 1e6;

/// The device of a stream; the null stream is the current device's.
pub(crate) fn device_of(state: &State, stream: *mut c_void) -> Result<u32, Code> {
    match stream.addr() as u64 {
        0 => Ok(current()),
        handle => state.streams.get(&handle).copied().ok_or(Code::INVALID_HANDLE),
    }
}

/// A stream of the current device.
///
/// # Safety
/// `out` is null or may be written.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipStreamCreate(out: *mut *mut c_void) -> u32 {
    call(|state| {
        let handle = state.handle();
        // SAFETY: as the caller says.
        unsafe { put(out, pointer(handle)) }?;
        state.streams.insert(handle, current());
        Ok(())
    })
}

/// The same; all flags mean the same here.
///
/// # Safety
/// `out` is null or may be written.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipStreamCreateWithFlags(out: *mut *mut c_void, _flags: c_uint) -> u32 {
    // SAFETY: as the caller says.
    unsafe { hipStreamCreate(out) }
}

/// Ends a stream; its work stays.
#[unsafe(no_mangle)]
extern "C" fn hipStreamDestroy(stream: *mut c_void) -> u32 {
    let handle = stream.addr() as u64;
    call(|state| state.streams.remove(&handle).map(drop).ok_or(Code::INVALID_HANDLE))
}

/// Waits for a stream, and with it for everything.
#[unsafe(no_mangle)]
extern "C" fn hipStreamSynchronize(stream: *mut c_void) -> u32 {
    call(|state| {
        device_of(state, stream)?;
        state.drain()
    })
}

/// Whether a stream's work is done: it is now.
#[unsafe(no_mangle)]
extern "C" fn hipStreamQuery(stream: *mut c_void) -> u32 {
    hipStreamSynchronize(stream)
}

/// An event.
///
/// # Safety
/// `out` is null or may be written.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipEventCreate(out: *mut *mut c_void) -> u32 {
    call(|state| {
        let handle = state.handle();
        // SAFETY: as the caller says.
        unsafe { put(out, pointer(handle)) }?;
        state.events.insert(handle, Event::default());
        Ok(())
    })
}

/// Ends an event.
#[unsafe(no_mangle)]
extern "C" fn hipEventDestroy(event: *mut c_void) -> u32 {
    let handle = event.addr() as u64;
    call(|state| state.events.remove(&handle).map(drop).ok_or(Code::INVALID_HANDLE))
}

/// Puts an event behind the work of a stream.
#[unsafe(no_mangle)]
extern "C" fn hipEventRecord(event: *mut c_void, stream: *mut c_void) -> u32 {
    let handle = event.addr() as u64;
    call(|state| {
        let device = device_of(state, stream)?;
        let event = state.events.get_mut(&handle).ok_or(Code::INVALID_HANDLE)?;
        *event = Event { recorded: Some(device), passed: None };
        state.enqueue(device, Op::Event(handle))
    })
}

/// Waits for an event, and with it for everything.
#[unsafe(no_mangle)]
extern "C" fn hipEventSynchronize(event: *mut c_void) -> u32 {
    let handle = event.addr() as u64;
    call(|state| match state.events.contains_key(&handle) {
        true => state.drain(),
        false => Err(Code::INVALID_HANDLE),
    })
}

/// Whether an event is passed: it is now.
#[unsafe(no_mangle)]
extern "C" fn hipEventQuery(event: *mut c_void) -> u32 {
    hipEventSynchronize(event)
}

/// Milliseconds between two events that were passed.
///
/// # Safety
/// `out` is null or may be written.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipEventElapsedTime(out: *mut f32, start: *mut c_void, stop: *mut c_void) -> u32 {
    let handles = [start.addr() as u64, stop.addr() as u64];
    call(|state| {
        let mut passed = [0; 2];
        for (handle, passed) in handles.iter().zip(&mut passed) {
            let event =
                state.events.get(handle).filter(|event| event.recorded.is_some()).ok_or(Code::INVALID_HANDLE)?;
            *passed = event.passed.ok_or(Code::NOT_READY)?;
        }
        let elapsed = passed[1] as f32 - passed[0] as f32;
        // SAFETY: as the caller says.
        unsafe { put(out, elapsed / NS_PER_MS) }
    })
}

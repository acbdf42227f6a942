//! Streams and events.
//!
//! What must hold here: asking whether work is done does it, for nothing moves by itself here; a program that polls sees the
//! same as one that waits.

use std::ffi::{c_uint, c_void};

use crate::codes::Code;
use crate::device::current;
use crate::queue::Op;
use crate::state::{Event, State, Stream, call, pointer, put};

/// Nanoseconds in a millisecond; an instruction stands for a nanosecond.
const NS_PER_MS: f32 = 1e6;

/// `hipStreamNonBlocking`.
const NON_BLOCKING: c_uint = 1;

/// The stream behind a handle; the null stream is the current device's.
pub(crate) fn stream_of(state: &State, stream: *mut c_void) -> Result<Stream, Code> {
    match stream.addr() as u64 {
        0 => Ok(Stream { device: current(), blocking: true }),
        handle => state.streams.get(&handle).copied().ok_or(Code::INVALID_HANDLE),
    }
}

/// A stream of the current device.
///
/// # Safety
/// `out` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipStreamCreate(out: *mut *mut c_void) -> u32 {
    // SAFETY: as the caller says.
    unsafe { hipStreamCreateWithFlags(out, 0) }
}

/// The same; `flags` is 0, or 1 for a stream that calls without a stream do not wait for.
///
/// # Safety
/// `out` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipStreamCreateWithFlags(out: *mut *mut c_void, flags: c_uint) -> u32 {
    call(|state| {
        if flags > NON_BLOCKING {
            return Err(Code::INVALID_VALUE);
        }
        let handle = state.handle();
        // SAFETY: as the caller says.
        unsafe { put(out, pointer(handle)) }?;
        state.streams.insert(handle, Stream { device: current(), blocking: flags != NON_BLOCKING });
        Ok(())
    })
}

/// Ends a stream; its work stays.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipStreamDestroy(stream: *mut c_void) -> u32 {
    let handle = stream.addr() as u64;
    call(|state| state.streams.remove(&handle).map(drop).ok_or(Code::INVALID_HANDLE))
}

/// Waits for a stream, and with it for everything.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipStreamSynchronize(stream: *mut c_void) -> u32 {
    call(|state| {
        stream_of(state, stream)?;
        state.drain()
    })
}

/// Whether a stream's work is done: it is now.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipStreamQuery(stream: *mut c_void) -> u32 {
    hipStreamSynchronize(stream)
}

/// An event.
///
/// # Safety
/// `out` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipEventCreate(out: *mut *mut c_void) -> u32 {
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
pub(crate) extern "C" fn hipEventDestroy(event: *mut c_void) -> u32 {
    let handle = event.addr() as u64;
    call(|state| state.events.remove(&handle).map(drop).ok_or(Code::INVALID_HANDLE))
}

/// Puts an event behind the work of a stream.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipEventRecord(event: *mut c_void, stream: *mut c_void) -> u32 {
    let handle = event.addr() as u64;
    call(|state| {
        let stream = stream_of(state, stream)?;
        let event = state.events.get_mut(&handle).ok_or(Code::INVALID_HANDLE)?;
        *event = Event { recorded: true, passed: None };
        state.enqueue(stream, Op::Event(handle))
    })
}

/// Waits for an event, and with it for everything.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipEventSynchronize(event: *mut c_void) -> u32 {
    let handle = event.addr() as u64;
    call(|state| match state.events.contains_key(&handle) {
        true => state.drain(),
        false => Err(Code::INVALID_HANDLE),
    })
}

/// Whether an event is passed: it is now.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipEventQuery(event: *mut c_void) -> u32 {
    hipEventSynchronize(event)
}

/// Milliseconds between two events that were passed.
///
/// # Safety
/// `out` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipEventElapsedTime(out: *mut f32, start: *mut c_void, stop: *mut c_void) -> u32 {
    let handles = [start.addr() as u64, stop.addr() as u64];
    call(|state| {
        let mut passed = [0; 2];
        for (handle, passed) in handles.iter().zip(&mut passed) {
            let event = state.events.get(handle).filter(|event| event.recorded).ok_or(Code::INVALID_HANDLE)?;
            *passed = event.passed.ok_or(Code::NOT_READY)?;
        }
        let elapsed = passed[1] as f32 - passed[0] as f32;
        // SAFETY: as the caller says.
        unsafe { put(out, elapsed / NS_PER_MS) }
    })
}

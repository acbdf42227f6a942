//! Buffers and windows.

use std::ffi::{c_char, c_void};

use tilewright_runtime::driver::WindowPart as Part;
use tilewright_runtime::{Address, LsaRank};
use tilewright_target::comm_provider::WindowPart;

use crate::comm::Comm;
use crate::error::{Failure, array, free, given, object, status, text};

/// Memory of one rank.
pub struct Buffer(pub(crate) tilewright_runtime::Buffer);

/// The same number of bytes on every rank, where every rank can reach them.
pub struct Window(pub(crate) tilewright_runtime::Window);

/// Memory of `bytes` bytes on a rank of this process. `name` is for messages. Null on failure.
///
/// # Safety
/// `comm` is null or lives; `name` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_buffer_make(
    comm: *const Comm,
    lsa_rank: u32,
    bytes: u64,
    name: *const c_char,
) -> *mut Buffer {
    object(|| {
        // SAFETY: as the caller says.
        let (comm, name) = unsafe { (given(comm, "the communicator")?, text(name, "the buffer's name")?) };
        Ok(Buffer(comm.0.buffer(LsaRank::new(lsa_rank), bytes, name)?))
    })
}

/// Memory that the program allocated on a rank of this process, and frees after this object. Null on failure.
///
/// # Safety
/// `comm` is null or lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_buffer_adopt(comm: *const Comm, lsa_rank: u32, address: u64, bytes: u64) -> *mut Buffer {
    object(|| {
        // SAFETY: as the caller says.
        let comm = unsafe { given(comm, "the communicator") }?;
        Ok(Buffer(comm.0.adopt_buffer(LsaRank::new(lsa_rank), Address(address), bytes)?))
    })
}

/// Waits for all launches and copies host memory to a buffer, `offset` bytes from its start.
///
/// # Safety
/// `buffer` is null or lives; `data` points to `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_buffer_write(buffer: *const Buffer, offset: u64, data: *const c_void, bytes: u64) -> u32 {
    status(|| {
        // SAFETY: as the caller says.
        let (buffer, data) = unsafe { (given(buffer, "the buffer")?, source(data, bytes)?) };
        Ok(buffer.0.write(offset, data)?)
    })
}

/// Waits for all launches and copies a buffer to host memory, from `offset` bytes from its start on.
///
/// # Safety
/// `buffer` is null or lives; `data` points to `bytes` bytes that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_buffer_read(buffer: *const Buffer, offset: u64, data: *mut c_void, bytes: u64) -> u32 {
    status(|| {
        // SAFETY: as the caller says.
        let buffer = unsafe { given(buffer, "the buffer") }?;
        let mut content = vec![0; usize::try_from(bytes)?];
        buffer.0.read(offset, &mut content)?;
        // SAFETY: as the caller says.
        unsafe { give(data, &content) }
    })
}

/// Frees a buffer, after the launches that use it.
///
/// # Safety
/// `buffer` is null or lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_buffer_free(buffer: *mut Buffer) {
    // SAFETY: as the caller says.
    unsafe { free(buffer) }
}

/// A window that was registered with the communicator (mori's `ccoWindowRegister`), whom it stays with: one part for each
/// rank of this process, in their order. Null on failure.
///
/// # Safety
/// `comm` is null or lives; `parts` points to `count` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_window_adopt(
    comm: *const Comm,
    parts: *const WindowPart,
    count: u32,
    bytes: u64,
) -> *mut Window {
    object(|| {
        // SAFETY: as the caller says.
        let (comm, parts) =
            unsafe { (given(comm, "the communicator")?, array(parts, count as usize, "the list of parts")?) };
        let part = |part: &WindowPart| Part { data: Address(part.address), handle: Address(part.window) };
        Ok(Window(comm.0.adopt_window(parts.iter().map(part).collect(), bytes)?))
    })
}

/// A window of `bytes` bytes a rank, on devices that make windows: the simulator. Null on failure.
///
/// # Safety
/// `comm` is null or lives; `name` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_window_make(comm: *const Comm, bytes: u64, name: *const c_char) -> *mut Window {
    object(|| {
        // SAFETY: as the caller says.
        let (comm, name) = unsafe { (given(comm, "the communicator")?, text(name, "the window's name")?) };
        Ok(Window(comm.0.window(bytes, name)?))
    })
}

/// Waits for all launches and copies host memory to a rank's part of a window.
///
/// # Safety
/// `window` is null or lives; `data` points to `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_window_write(
    window: *const Window,
    lsa_rank: u32,
    offset: u64,
    data: *const c_void,
    bytes: u64,
) -> u32 {
    status(|| {
        // SAFETY: as the caller says.
        let (window, data) = unsafe { (given(window, "the window")?, source(data, bytes)?) };
        Ok(window.0.write(LsaRank::new(lsa_rank), offset, data)?)
    })
}

/// Waits for all launches and copies a rank's part of a window to host memory.
///
/// # Safety
/// `window` is null or lives; `data` points to `bytes` bytes that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_window_read(
    window: *const Window,
    lsa_rank: u32,
    offset: u64,
    data: *mut c_void,
    bytes: u64,
) -> u32 {
    status(|| {
        // SAFETY: as the caller says.
        let window = unsafe { given(window, "the window") }?;
        let mut content = vec![0; usize::try_from(bytes)?];
        window.0.read(LsaRank::new(lsa_rank), offset, &mut content)?;
        // SAFETY: as the caller says.
        unsafe { give(data, &content) }
    })
}

/// Frees a window, after the launches that use it. One that was adopted stays registered.
///
/// # Safety
/// `window` is null or lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_window_free(window: *mut Window) {
    // SAFETY: as the caller says.
    unsafe { free(window) }
}

/// Host memory to be read.
///
/// # Safety
/// `data` points to `bytes` bytes.
unsafe fn source<'a>(data: *const c_void, bytes: u64) -> Result<&'a [u8], Failure> {
    // SAFETY: as the caller says.
    unsafe { array(data.cast::<u8>(), usize::try_from(bytes)?, "the data") }
}

/// Host memory to be written. The content is copied once more, so that memory that nobody has written is never a slice.
///
/// # Safety
/// `data` is null or points to as many bytes as `content` has.
unsafe fn give(data: *mut c_void, content: &[u8]) -> Result<(), Failure> {
    if data.is_null() && !content.is_empty() {
        return Err(Failure("the data is null".to_owned()));
    }
    if !content.is_empty() {
        // SAFETY: as the caller says.
        unsafe { data.cast::<u8>().copy_from_nonoverlapping(content.as_ptr(), content.len()) };
    }
    Ok(())
}

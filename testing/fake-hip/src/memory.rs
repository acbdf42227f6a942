//! Memory: allocation, copies, fills.
//!
//! What must hold here: a device address that is not wholly inside one allocation of the node is an invalid value before
//! anything is touched; the host's memory is touched only by copies, for as many bytes as the caller named.

use std::ffi::{c_int, c_uint, c_void};

use tilewright_sim::mem::MemoryType;

use crate::codes::Code;
use crate::device::current;
use crate::queue::{Copy, Op, Place};
use crate::state::{State, call, pointer, put};
use crate::stream::stream_of;

/// Alignment of what `hipMalloc` gives, in bytes.
const ALIGN: u64 = 256;

impl State {
    fn allocate(&mut self, bytes: usize, kind: MemoryType) -> Result<u64, Code> {
        if bytes == 0 {
            return Ok(0);
        }
        let device = current();
        let name = format!("memory of device {device}");
        let bytes = bytes as u64;
        let address = self.sim.memory.allocate_named(device, bytes, ALIGN, kind, &name);
        let address = address.map_err(|_| Code::OUT_OF_MEMORY)?;
        self.allocations.insert(address, bytes);
        Ok(address)
    }

    /// Whether an address range lies in one allocation of the node.
    fn holds(&self, address: u64, bytes: usize) -> bool {
        let found = self.sim.memory.find(address);
        found.is_some_and(|found| bytes as u64 <= found.end() - address)
    }

    /// Carries out a copy.
    pub(crate) fn copy(&mut self, copy: Copy) -> Result<(), Code> {
        let Copy { to, from, bytes } = copy;
        for place in [to, from] {
            if let Place::Device(address) = place
                && bytes > 0
                && !self.holds(address, bytes)
            {
                return Err(Code::INVALID_VALUE);
            }
        }
        if bytes == 0 {
            return Ok(());
        }
        let mut content = vec![0; bytes];
        match from {
            Place::Host(address) => {
                let source = std::ptr::with_exposed_provenance::<u8>(address);
                // SAFETY: the caller of the copy gave this address for this many bytes; `content` is our own.
                unsafe { source.copy_to_nonoverlapping(content.as_mut_ptr(), bytes) };
            }
            Place::Device(address) => {
                self.sim.memory.host_read(address, &mut content).map_err(|_| Code::INVALID_VALUE)?;
            }
        }
        match to {
            Place::Host(address) => {
                let target = std::ptr::with_exposed_provenance_mut::<u8>(address);
                // SAFETY: as above.
                unsafe { target.copy_from_nonoverlapping(content.as_ptr(), bytes) };
                Ok(())
            }
            Place::Device(address) => self.sim.memory.host_write(address, &content).map_err(|_| Code::INVALID_VALUE),
        }
    }

    /// The two ends of a copy as `hipMemcpyKind` has them.
    fn ends(&self, to: usize, from: usize, bytes: usize, kind: c_uint) -> Result<Copy, Code> {
        if bytes > 0 && (to == 0 || from == 0) {
            return Err(Code::INVALID_VALUE);
        }
        let guess = |address: usize| match self.holds(address as u64, bytes) {
            true => Place::Device(address as u64),
            false => Place::Host(address),
        };
        let (to, from) = match kind {
            0 => (Place::Host(to), Place::Host(from)),
            1 => (Place::Device(to as u64), Place::Host(from)),
            2 => (Place::Host(to), Place::Device(from as u64)),
            3 => (Place::Device(to as u64), Place::Device(from as u64)),
            4 => (guess(to), guess(from)),
            _ => return Err(Code::INVALID_MEMCPY_DIRECTION),
        };
        Ok(Copy { to, from, bytes })
    }
}

/// Uninitialised memory on the current device.
///
/// # Safety
/// `out` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipMalloc(out: *mut *mut c_void, bytes: usize) -> u32 {
    // SAFETY: as the caller says.
    call(|state| unsafe { put(out, pointer(state.allocate(bytes, MemoryType::Coarse)?)) })
}

/// The same with a choice of how it is cached: 0 as `hipMalloc`, 1 fine-grained, 3 uncached.
///
/// # Safety
/// `out` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipExtMallocWithFlags(out: *mut *mut c_void, bytes: usize, flags: c_uint) -> u32 {
    call(|state| {
        let kind = match flags {
            0 => MemoryType::Coarse,
            1 => MemoryType::FineGrained,
            3 => MemoryType::Uncached,
            _ => return Err(Code::INVALID_VALUE),
        };
        let address = state.allocate(bytes, kind)?;
        // SAFETY: as the caller says.
        unsafe { put(out, pointer(address)) }
    })
}

/// Gives memory back when all work is done.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipFree(address: *mut c_void) -> u32 {
    call(|state| {
        state.drain()?;
        let address = address.addr() as u64;
        if address == 0 {
            return Ok(());
        }
        state.allocations.remove(&address).ok_or(Code::INVALID_VALUE)?;
        state.sim.memory.free(address);
        Ok(())
    })
}

/// Copies when the work that calls without a stream wait for is done.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipMemcpy(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_uint) -> u32 {
    call(|state| {
        state.drain_blocking()?;
        let copy = state.ends(to.expose_provenance(), from.expose_provenance(), bytes, kind)?;
        state.copy(copy)
    })
}

/// Copies when the work before it is done.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipMemcpyAsync(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: c_uint,
    stream: *mut c_void,
) -> u32 {
    call(|state| {
        let stream = stream_of(state, stream)?;
        let copy = state.ends(to.expose_provenance(), from.expose_provenance(), bytes, kind)?;
        state.enqueue(stream, Op::Copy(copy))
    })
}

/// Fills memory then.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipMemset(address: *mut c_void, value: c_int, bytes: usize) -> u32 {
    call(|state| {
        state.drain_blocking()?;
        let address = address.addr() as u64;
        if bytes == 0 {
            return Ok(());
        }
        if !state.holds(address, bytes) {
            return Err(Code::INVALID_VALUE);
        }
        state.sim.memory.host_fill(address, bytes as u64, value as u8).map_err(|_| Code::INVALID_VALUE)
    })
}

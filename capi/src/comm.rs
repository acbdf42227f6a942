//! Communicators.

use std::ffi::{c_char, c_void};

use tilewright_runtime::device::sim::{SimDevice, SimOptions};

use crate::error::{Failure, array, free, given, object, status, text};

/// The ranks of a node, as far as this process drives them.
pub struct Comm(pub(crate) tilewright_runtime::Comm);

/// A rank of a communicator of mori that lives in this process.
#[repr(C)]
pub struct MoriRank {
    /// The HIP device that the rank runs on.
    pub device: i32,
    /// The bytes of its `ccoDevComm`, in host memory.
    pub dev_comm: *const c_void,
    /// `sizeof(ccoDevComm)`.
    pub dev_comm_bytes: u64,
    /// The `hipStream_t` of that device that kernels run on; null for one that is made for it.
    pub stream: *mut c_void,
}

/// A communicator that mori's host library made: one entry for each rank of this process, ascending by lsaRank. The other ranks
/// of the node live in other processes. mori's communicator must outlive this one; it may have run other kernels before, but
/// none may run now, on any rank. Null on failure; always, if the library was built without HIP.
///
/// # Safety
/// `ranks` points to `count` entries, whose bytes are as many as they say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_comm_from_mori(ranks: *const MoriRank, count: u32) -> *mut Comm {
    object(|| {
        // SAFETY: as the caller says.
        let ranks = unsafe { array(ranks, count as usize, "the list of ranks") }?;
        // SAFETY: as the caller says.
        unsafe { from_mori(ranks) }
    })
}

#[cfg(feature = "hip")]
unsafe fn from_mori(ranks: &[MoriRank]) -> Result<Comm, Failure> {
    let mut taken = Vec::new();
    for rank in ranks {
        let bytes = usize::try_from(rank.dev_comm_bytes)?;
        // SAFETY: as the caller of `tw_comm_from_mori` says.
        let dev_comm = unsafe { array(rank.dev_comm.cast::<u8>(), bytes, "a ccoDevComm") }?.to_vec();
        let stream = Some(rank.stream.expose_provenance()).filter(|stream| *stream != 0);
        taken.push(tilewright_runtime::device::hip::MoriRank { device: rank.device, dev_comm, stream });
    }
    Ok(Comm(tilewright_runtime::Comm::from_mori(taken)?))
}

#[cfg(not(feature = "hip"))]
unsafe fn from_mori(_ranks: &[MoriRank]) -> Result<Comm, Failure> {
    Err(Failure("this library was built without HIP (cargo feature `hip`)".to_owned()))
}

/// A communicator of simulated GPUs of the chip `target` (`gfx950`), all ranks in this process, with `queues` SDMA queues from
/// each to each peer. The seed decides schedules. Null on failure. Windows are made with `tw_window_make`; launches end in
/// `tw_synchronise`.
///
/// # Safety
/// `target` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_comm_simulate(target: *const c_char, ranks: u32, queues: u32, seed: u64) -> *mut Comm {
    object(|| {
        // SAFETY: as the caller says.
        let target = tilewright_target::lookup(unsafe { text(target, "the name of the chip") }?)?;
        let device = SimDevice::new(target, SimOptions { seed, ..SimOptions::default() });
        Ok(Comm(tilewright_runtime::Comm::new(&device, ranks, queues)?))
    })
}

/// Ranks of the node, whoever drives them; 0 if `comm` is null.
///
/// # Safety
/// `comm` is null or lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_comm_lsa_size(comm: *const Comm) -> u32 {
    // SAFETY: as the caller says.
    unsafe { comm.as_ref() }.map_or(0, |comm| comm.0.lsa_size())
}

/// Waits until everything that was launched has ended on the ranks of this process.
///
/// # Safety
/// `comm` is null or lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_synchronise(comm: *const Comm) -> u32 {
    // SAFETY: as the caller says.
    status(|| Ok(unsafe { given(comm, "the communicator") }?.0.stream().synchronise()?))
}

/// Frees a communicator. What was made with it stays usable until it is freed itself.
///
/// # Safety
/// `comm` is null or lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_comm_free(comm: *mut Comm) {
    // SAFETY: as the caller says.
    unsafe { free(comm) }
}

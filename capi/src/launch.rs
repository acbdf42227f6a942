//! Launches.

use std::ffi::c_char;

use tilewright_runtime::Args;

use crate::error::{array, given, status, text};
use crate::memory::{Buffer, Window};
use crate::module::Kernel;

/// As the rank of a number: all ranks get it.
pub const ALL_RANKS: u32 = u32::MAX;

/// One argument of a launch. Which kind it is follows from which pointer is set: a window, a buffer, or else a number.
#[repr(C)]
pub struct Arg {
    /// The parameter in the source.
    pub name: *const c_char,
    /// A window, for all ranks; or null.
    pub window: *const Window,
    /// A buffer, for its own rank: one argument for each rank of this process; or null.
    pub buffer: *const Buffer,
    /// A number, in the low bits.
    pub bits: u64,
    /// Whose number it is: a rank, or `TW_ALL_RANKS`.
    pub lsa_rank: u32,
}

/// Enqueues a kernel on all ranks of this process and returns; `tw_synchronise` waits for it. Arguments that the compiler added
/// are not given. A launch that is refused changes nothing.
///
/// # Safety
/// `kernel` is null or lives; `args` points to `count` arguments, whose names are C strings and whose objects live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tw_launch(kernel: *const Kernel, args: *const Arg, count: u32) -> u32 {
    status(|| {
        // SAFETY: as the caller says.
        let (kernel, list) =
            unsafe { (given(kernel, "the kernel")?, array(args, count as usize, "the list of arguments")?) };
        let mut all = Vec::new();
        for rank in kernel.comm.ranks() {
            let mut args = Args::new();
            for arg in list {
                // SAFETY: as the caller says.
                let (name, window, buffer) =
                    unsafe { (text(arg.name, "the name of an argument")?, arg.window.as_ref(), arg.buffer.as_ref()) };
                args = match (window, buffer) {
                    (Some(window), _) => args.window(name, &window.0),
                    (_, Some(buffer)) if buffer.0.rank() == rank => args.buffer(name, &buffer.0),
                    (_, Some(_)) => args,
                    _ if arg.lsa_rank == ALL_RANKS || arg.lsa_rank == rank.index() => args.scalar(name, arg.bits),
                    _ => args,
                };
            }
            all.push(args);
        }
        Ok(kernel.comm.stream().launch(&kernel.kernel, &all)?)
    })
}

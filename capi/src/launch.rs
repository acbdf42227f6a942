//! Launches.

use std::ffi::c_char;

use tilewright_runtime::Args;

use crate::error::{array, given, status, text};
use crate::memory::{Buffer, Window};
use crate::module::Kernel;

/// One argument of a launch. Which kind it is follows from which pointer is set: a window, a buffer, or else a number. Set
/// what is not used to zero.
#[repr(C)]
pub struct Arg {
    /// The parameter in the source.
    pub name: *const c_char,
    /// A window, for all ranks; or null.
    pub window: *const Window,
    /// A buffer, for its own rank: one argument for each rank of this process; or null.
    pub buffer: *const Buffer,
    /// A number, in the low bits; bits above its type must be zero. A float is given as its IEEE bits, so an `f32` of 2 is
    /// `0x40000000`. The value of a `where` parameter is given like this, too, by the parameter's name.
    pub bits: u64,
    /// Zero for a number that all ranks get; else `lsa_rank` says whose number it is, and every rank needs one.
    pub one_rank: u32,
    /// The rank of a number, if `one_rank` is not zero.
    pub lsa_rank: u32,
}

impl Arg {
    /// Whether a rank gets this number.
    pub(crate) fn is_number_of(&self, rank: u32) -> bool {
        self.one_rank == 0 || self.lsa_rank == rank
    }
}

/// Enqueues a kernel on all ranks of this process and returns; `tw_synchronise` waits for it. A launch that is refused changes
/// nothing. After one that failed on the device the communicator is of no more use.
///
/// Each parameter of the source and each `where` parameter is given once, but neither those of type `devcomm` nor what the
/// compiler added: the runtime fills them in. A second launch may be enqueued at once, and begins on each rank when the first has
/// ended there; ranks do not wait for one another, so that a peer may write to a window that another rank still reads.
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
                    _ if arg.is_number_of(rank.index()) => args.scalar(name, arg.bits),
                    _ => args,
                };
            }
            all.push(args);
        }
        Ok(kernel.comm.stream().launch(&kernel.kernel, &all)?)
    })
}

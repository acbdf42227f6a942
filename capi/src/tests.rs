//! The functions as a C program calls them, on simulated devices and with what C programs get wrong.

use std::ffi::CStr;
use std::ptr::null;

use crate::comm::*;
use crate::error::*;
use crate::launch::*;
use crate::memory::*;
use crate::module::*;

/// The sentence of the last failure.
fn sentence() -> String {
    // SAFETY: a C string that lives until the next failure.
    unsafe { CStr::from_ptr(tw_last_error()) }.to_string_lossy().into_owned()
}

#[test]
fn memory_goes_in_and_out() {
    // SAFETY: C strings, objects that live, and memory of the sizes that are named.
    unsafe {
        let comm = tw_comm_simulate(c"gfx950".as_ptr(), 2, 2, 1);
        assert!(!comm.is_null(), "{}", sentence());
        assert_eq!(tw_comm_lsa_size(comm), 2);
        let window = tw_window_make(comm, 8, c"send".as_ptr());
        let buffer = tw_buffer_make(comm, 1, 8, c"out".as_ptr());
        // The communicator stays while something was made with it.
        tw_comm_free(comm);
        for rank in 0..2u8 {
            let data = [rank + 1; 4];
            assert_eq!(tw_window_write(window, u32::from(rank), 4, data.as_ptr().cast(), 4), 0, "{}", sentence());
        }
        let mut read = [0u8; 4];
        assert_eq!(tw_window_read(window, 0, 4, read.as_mut_ptr().cast(), 4), 0, "{}", sentence());
        assert_eq!(read, [1; 4]);
        assert_eq!(tw_buffer_write(buffer, 0, [7u8; 8].as_ptr().cast(), 8), 0);
        assert_eq!(tw_buffer_read(buffer, 4, read.as_mut_ptr().cast(), 4), 0);
        assert_eq!(read, [7; 4]);
        assert_eq!(tw_buffer_read(buffer, 5, read.as_mut_ptr().cast(), 4), 1, "behind the end");
        assert!(sentence().contains('8'), "{}", sentence());
        assert_eq!(tw_window_read(window, 2, 0, read.as_mut_ptr().cast(), 4), 1, "no such rank");
        tw_window_free(window);
        tw_buffer_free(buffer);
    }
}

#[test]
fn what_is_wrong_is_a_sentence() {
    // SAFETY: null is checked, and the rest is as documented.
    unsafe {
        assert!(tw_comm_simulate(c"gfx951".as_ptr(), 2, 2, 1).is_null());
        assert!(sentence().starts_with("unknown target `gfx951`; did you mean"), "{}", sentence());
        assert!(tw_comm_simulate(null(), 2, 2, 1).is_null());
        assert_eq!(sentence(), "the name of the chip is null");
        assert!(tw_comm_from_mori(null(), 1).is_null());
        assert_eq!(sentence(), "the list of ranks is null");
        assert_eq!((tw_synchronise(null()), sentence().as_str()), (1, "the communicator is null"));
        assert_eq!((tw_launch(null(), null(), 0), sentence().as_str()), (1, "the kernel is null"));
        let comm = tw_comm_simulate(c"gfx942".as_ptr(), 1, 0, 1);
        let text = b"TWBUNDLf and more than a header's worth of bytes";
        assert!(tw_module_load(comm, text.as_ptr().cast(), text.len() as u64).is_null());
        assert_eq!(sentence(), "this is not a .twb bundle");
        assert!(tw_kernel_find(null(), c"k".as_ptr()).is_null());
        tw_comm_free(comm);
        tw_comm_free(std::ptr::null_mut());
    }
}

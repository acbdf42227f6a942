//! The functions as a C program calls them, on simulated devices and with what C programs get wrong.

use std::ffi::CStr;
use std::ptr::null;

use tilewright_artifact::{Artifact, Bundle, CodeBytes, CodeKind, KernelInfo, Sizes};

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

/// A bundle for gfx950 whose kernels need so many queues; their code is nobody's.
fn bundle_of(queues: &[u32]) -> Vec<u8> {
    let kernel = |(index, queues): (usize, &u32)| KernelInfo {
        name: format!("k{index}"),
        args: Vec::new(),
        grid: [1; 3],
        block: [64, 1, 1],
        lds_bytes: 0,
        min_queues: *queues,
        signals: Vec::new(),
        signals_by_hand: false,
        sizes: Sizes::default(),
    };
    let artifact = Artifact {
        target: "gfx950".to_owned(),
        kernels: queues.iter().enumerate().map(kernel).collect(),
        code: CodeBytes { kind: CodeKind::Hsaco, bytes: vec![0; 64] },
        report: Vec::new(),
    };
    Bundle::of("queues.tile", artifact).to_twb().expect("a bundle")
}

#[test]
fn a_bundle_says_how_many_queues_its_kernels_need() {
    let bundle = bundle_of(&[1, 3, 0]);
    let ask = |target, out| {
        // SAFETY: the bundle's bytes, a C string or null, a number or null.
        unsafe { tw_bundle_min_queues(bundle.as_ptr().cast(), bundle.len() as u64, target, out) }
    };
    for target in [null(), c"gfx950".as_ptr()] {
        let mut queues = 77;
        assert_eq!((ask(target, &raw mut queues), queues), (0, 3), "{}", sentence());
    }
    let mut queues = 77;
    assert_eq!((ask(c"gfx942".as_ptr(), &raw mut queues), queues), (1, 77));
    assert_eq!(sentence(), "the bundle holds code for gfx950, and not for gfx942");
    assert_eq!(ask(null(), std::ptr::null_mut()), 1);
    assert_eq!(sentence(), "the place for the number is null");
    assert_eq!(tw_api_version(), API_VERSION);
}

#[test]
fn a_number_is_for_all_ranks_unless_it_names_one() {
    let number = |one_rank, lsa_rank| {
        let arg = Arg { name: c"n".as_ptr(), window: null(), buffer: null(), bits: 5, one_rank, lsa_rank };
        [0, 1, 2].map(|rank| arg.is_number_of(rank))
    };
    assert_eq!(number(0, 0), [true; 3], "as a zeroed struct has it");
    assert_eq!(number(1, 0), [true, false, false]);
    assert_eq!(number(1, 2), [false, false, true]);
}

//! Failures: a sentence for each thread.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::fmt::Display;
use std::ptr::null_mut;

/// Version of the functions and types of this header, that of communicator providers aside. It rises when a program that was
/// compiled with an older header must be compiled again.
pub const API_VERSION: u32 = 1;

/// `TW_API_VERSION` of the library that the program found when it was started.
#[unsafe(no_mangle)]
pub extern "C" fn tw_api_version() -> u32 {
    API_VERSION
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::new(CString::default());
}

/// The sentence of this thread's last failure, or an empty string. It lives until the thread's next failure.
#[unsafe(no_mangle)]
pub extern "C" fn tw_last_error() -> *const c_char {
    LAST.with_borrow(|text| text.as_ptr())
}

fn keep(sentence: &str) {
    LAST.set(CString::new(sentence.replace('\0', " ")).unwrap_or_default());
}

/// What goes wrong in this crate: a sentence.
pub(crate) struct Failure(pub(crate) String);

impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure(error.to_string())
    }
}

/// The status of some work.
pub(crate) fn status(work: impl FnOnce() -> Result<(), Failure>) -> u32 {
    match work() {
        Ok(()) => 0,
        Err(Failure(sentence)) => {
            keep(&sentence);
            1
        }
    }
}

/// The object that some work makes, for the caller to free.
pub(crate) fn object<T>(work: impl FnOnce() -> Result<T, Failure>) -> *mut T {
    match work() {
        Ok(made) => Box::into_raw(Box::new(made)),
        Err(Failure(sentence)) => {
            keep(&sentence);
            null_mut()
        }
    }
}

/// The object behind a pointer.
///
/// # Safety
/// The pointer is null, or came from [`object`] and was not freed.
pub(crate) unsafe fn given<'a, T>(object: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: as the caller says.
    unsafe { object.as_ref() }.ok_or_else(|| Failure(format!("{what} is null")))
}

/// Frees an object; null is none.
///
/// # Safety
/// As [`given`], and nobody uses it any more.
pub(crate) unsafe fn free<T>(object: *mut T) {
    if !object.is_null() {
        // SAFETY: it came from `Box::into_raw`.
        drop(unsafe { Box::from_raw(object) });
    }
}

/// A C string as text.
///
/// # Safety
/// The pointer is null or a C string that lives as long as the answer is used.
pub(crate) unsafe fn text<'a>(string: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if string.is_null() {
        return Err(Failure(format!("{what} is null")));
    }
    // SAFETY: as the caller says.
    unsafe { CStr::from_ptr(string) }.to_str().map_err(|error| Failure(format!("{what} is not UTF-8: {error}")))
}

/// An array as a slice.
///
/// # Safety
/// `first` points to `count` elements that live as long as the answer is used, or is null, or `count` is 0.
pub(crate) unsafe fn array<'a, T>(first: *const T, count: usize, what: &str) -> Result<&'a [T], Failure> {
    match (count, first.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => Err(Failure(format!("{what} is null"))),
        // SAFETY: as the caller says.
        _ => Ok(unsafe { std::slice::from_raw_parts(first, count) }),
    }
}

//! Error codes of HIP, their names, and the last one of each thread.
//!
//! What must hold here: numbers and names are those of `hip_runtime_api.h`; a code is an integer, since callers hand over any.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};

/// A `hipError_t` other than success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) u32);

/// Writes the constants and the table of names, so that they cannot differ.
macro_rules! codes {
    ($($constant:ident = $number:literal, $name:literal;)*) => {
        impl Code {
            $(pub(crate) const $constant: Code = Code($number);)*
        }

        /// Code and name.
        const NAMES: &[(u32, &CStr)] = &[(0, c"hipSuccess"), $(($number, $name)),*];
    };
}

codes! {
    INVALID_VALUE = 1, c"hipErrorInvalidValue";
    OUT_OF_MEMORY = 2, c"hipErrorOutOfMemory";
    INVALID_CONFIGURATION = 9, c"hipErrorInvalidConfiguration";
    INVALID_MEMCPY_DIRECTION = 21, c"hipErrorInvalidMemcpyDirection";
    NO_DEVICE = 100, c"hipErrorNoDevice";
    INVALID_DEVICE = 101, c"hipErrorInvalidDevice";
    INVALID_IMAGE = 200, c"hipErrorInvalidImage";
    NO_BINARY_FOR_GPU = 209, c"hipErrorNoBinaryForGpu";
    INVALID_HANDLE = 400, c"hipErrorInvalidHandle";
    NOT_FOUND = 500, c"hipErrorNotFound";
    NOT_READY = 600, c"hipErrorNotReady";
    ILLEGAL_ADDRESS = 700, c"hipErrorIllegalAddress";
    LAUNCH_TIME_OUT = 702, c"hipErrorLaunchTimeOut";
    PEER_ACCESS_ALREADY_ENABLED = 704, c"hipErrorPeerAccessAlreadyEnabled";
    LAUNCH_FAILURE = 719, c"hipErrorLaunchFailure";
}

thread_local! {
    static LAST: Cell<u32> = const { Cell::new(0) };
}

/// The number that a call returns, remembered if it is an error.
pub(crate) fn status(result: Result<(), Code>) -> u32 {
    match result {
        Ok(()) => 0,
        Err(Code(code)) => {
            LAST.set(code);
            code
        }
    }
}

/// The name of a code as a C string that lives for ever.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipGetErrorName(code: c_int) -> *const c_char {
    let known = NAMES.iter().find(|(number, _)| i64::from(*number) == i64::from(code));
    known.map_or(c"hipErrorUnknown", |(_, name)| name).as_ptr()
}

/// The same: that is what AMD's library said for years.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipGetErrorString(code: c_int) -> *const c_char {
    hipGetErrorName(code)
}

/// The last error of this thread, which it forgets.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipGetLastError() -> u32 {
    LAST.replace(0)
}

/// The last error of this thread.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipPeekAtLastError() -> u32 {
    LAST.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_codes_have_a_name_too() {
        // SAFETY: all names are C string literals.
        let name = |code| unsafe { CStr::from_ptr(hipGetErrorName(code)) };
        assert_eq!(name(0), c"hipSuccess");
        assert_eq!(name(209), c"hipErrorNoBinaryForGpu");
        assert_eq!(name(-1), c"hipErrorUnknown");
    }

    #[test]
    fn the_last_error_is_kept_once() {
        assert_eq!(status(Err(Code::NOT_FOUND)), 500);
        assert_eq!(status(Ok(())), 0);
        assert_eq!((hipPeekAtLastError(), hipGetLastError(), hipGetLastError()), (500, 500, 0));
    }
}

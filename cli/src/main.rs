//! The `tilewright` program.
//!
//! Must hold: the work runs on a thread with a large stack, so that no input within the compiler's limits overflows it;
//! exit status 0 is ok, 1 the user's input is wrong or a check failed, 2 usage.

use std::process::ExitCode;

use tilewright::cmd;
use tilewright::session::Session;

/// Stack of the working thread in bytes; deep nesting is limited by the parser well below this.
const STACK_BYTES: usize = 256 << 20;

fn main() -> ExitCode {
    let work = || cmd::main(std::env::args_os(), &mut Session::process());
    let status = match std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work) {
        // A panic has already been shown by the hook; 101 is what Rust programs answer then.
        Ok(thread) => thread.join().unwrap_or(101),
        Err(_) => work(),
    };
    ExitCode::from(status)
}

//! What goes wrong in a driver, and what goes wrong in this crate.
//!
//! What must hold here: an error is one sentence for people; what a driver said (its code, the code's name, its own words, the
//! log of its compiler) is kept as data beside that sentence, so nobody parses text.

use std::fmt;

use tilewright_sim::fault::Fault;
use tilewright_sim::loader::LoadError;

use crate::device::ArgError;
use crate::driver::DeviceKind;
use crate::launch::LaunchError;
use crate::memory::{GuardDamage, ImageError};
use crate::rank::RankError;
use crate::signals::SignalError;

/// What a driver could not do.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DriverError {
    /// There is no such device here, or no driver for it.
    #[error("no {device} device: {why}")]
    Unavailable {
        /// The kind that was asked for.
        device: DeviceKind,
        /// Why, without a full stop.
        why: String,
    },
    /// A call of the driver's interface failed.
    #[error(transparent)]
    Call(#[from] Box<CallError>),
    /// The device does not do that at all.
    #[error("the {device} device {why}")]
    Refused {
        /// The kind of device.
        device: DeviceKind,
        /// What it does not do and what to do instead: what stands behind "the cuda device ".
        why: String,
    },
    /// The simulator's loader finds a code object broken or made for another chip.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A fault of the simulated machine.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
}

/// A failed call of a driver's interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    /// The kind of device.
    pub device: DeviceKind,
    /// The function, as the interface calls it, e.g. `cuModuleLoadData`.
    pub call: &'static str,
    /// What it returned.
    pub code: i64,
    /// That code's name, e.g. `CUDA_ERROR_INVALID_PTX`; empty if the driver has none.
    pub name: String,
    /// The driver's words for the code; empty if it has none.
    pub text: String,
    /// What more is known: the log of the driver's compiler, the rank; empty if nothing.
    pub log: String,
}

impl fmt::Display for CallError {
    /// `cuda: cuModuleLoadData returned 218 (CUDA_ERROR_INVALID_PTX): a PTX JIT compilation failed`, then the log on lines of
    /// its own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} returned {}", self.device, self.call, self.code)?;
        if !self.name.is_empty() {
            write!(f, " ({})", self.name)?;
        }
        if !self.text.is_empty() {
            write!(f, ": {}", self.text)?;
        }
        let log = self.log.trim_end_matches(['\0', '\n', ' ']);
        if log.is_empty() { Ok(()) } else { write!(f, "\n{log}") }
    }
}

impl std::error::Error for CallError {}

/// What this crate refuses, or a device could not do.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The driver's error.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The kernel does not fit the device, the communicator or its buffers.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The arguments do not fit the kernel.
    #[error(transparent)]
    Args(#[from] ArgError),
    /// The signals do not allow the launch.
    #[error(transparent)]
    Signals(#[from] SignalError),
    /// A rank that does not exist here.
    #[error(transparent)]
    Rank(#[from] RankError),
    /// A kernel wrote outside its buffer.
    #[error(transparent)]
    Guard(#[from] GuardDamage),
    /// An image of a buffer has the wrong size or name.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// An earlier launch failed on the device; what its memory and signals hold is not known any more.
    #[error("the communicator cannot be used any more since an earlier launch failed: {0}")]
    Poisoned(String),
}

impl From<LoadError> for Error {
    fn from(error: LoadError) -> Self {
        Error::Driver(error.into())
    }
}

impl From<Box<Fault>> for Error {
    fn from(fault: Box<Fault>) -> Self {
        Error::Driver(fault.into())
    }
}

impl Error {
    /// The fault of the simulated machine, if it is one.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Error::Driver(DriverError::Fault(fault)) => Some(fault),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_call_keeps_what_the_driver_said() {
        let mut error = CallError {
            device: DeviceKind::Cuda,
            call: "cuModuleLoadDataEx",
            code: 218,
            name: "CUDA_ERROR_INVALID_PTX".to_owned(),
            text: "a PTX JIT compilation failed".to_owned(),
            log: String::new(),
        };
        let sentence = "cuda: cuModuleLoadDataEx returned 218 (CUDA_ERROR_INVALID_PTX): a PTX JIT compilation failed";
        assert_eq!(error.to_string(), sentence);
        error.log = "ptxas application ptx input, line 3; error\n\0\0".to_owned();
        assert_eq!(error.to_string(), format!("{sentence}\nptxas application ptx input, line 3; error"));
        (error.name, error.text, error.log) = (String::new(), String::new(), String::new());
        assert_eq!(error.to_string(), "cuda: cuModuleLoadDataEx returned 218");
    }
}

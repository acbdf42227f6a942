//! AMD GPUs through HIP.
//!
//! Kernels that talk to peers need mori's communicator. It comes from one of two places: a [`Provider`], a shared library that
//! makes communicators when one is asked for, or the program that embeds this crate, which made them itself and hands them
//! over ([`Comm::from_mori`](crate::Comm::from_mori)). Without either, kernels run that need none.
//!
//! What must hold here: HIP's codes stay integers; a code that HIP returns becomes an error with the call, the code, and HIP's
//! name and words for it. Of a communicator this process drives only the ranks that live here.

#![expect(unsafe_code, reason = "HIP and providers of communicators are C libraries")]

mod driver;
mod ffi;
mod mori;
mod provider;

pub use driver::HipDriver;
pub use mori::MoriRank;
pub use provider::Provider;

use tilewright_artifact::{CodeBytes, CodeKind};

use crate::comm::Comm;
use crate::driver::{Device, DeviceKind, Driver};
use crate::error::{DriverError, Error};

/// The GPUs that HIP finds.
#[derive(Debug)]
pub struct HipDevice {
    /// Chip and product of each.
    gpus: Vec<(String, String)>,
    provider: Option<Provider>,
}

impl HipDevice {
    /// Asks HIP for its devices.
    ///
    /// # Errors
    /// [`DriverError::Unavailable`] with HIP's code if there are none.
    pub fn find() -> Result<HipDevice, DriverError> {
        let mut count = 0;
        // SAFETY: there is room for the answer.
        let code = unsafe { ffi::hipGetDeviceCount(&raw mut count) };
        if code != ffi::SUCCESS && code != ffi::NO_DEVICE {
            return Err(Box::new(ffi::call_error("hipGetDeviceCount", code, String::new())).into());
        }
        if code == ffi::NO_DEVICE || count < 1 {
            let mut error = ffi::call_error("hipGetDeviceCount", code, String::new());
            if error.text.is_empty() {
                error.text = std::mem::take(&mut error.name);
            }
            let why = format!("{} returned {} ({})", error.call, error.code, error.text);
            return Err(DriverError::Unavailable { device: DeviceKind::Hip, why });
        }
        let mut gpus = Vec::new();
        for device in 0..count {
            let facts = ffi::device_facts(device)?;
            gpus.push((facts.arch, facts.name));
        }
        Ok(HipDevice { gpus, provider: None })
    }

    /// The same device with somebody who makes communicators.
    #[must_use]
    pub fn with_provider(self, provider: Provider) -> HipDevice {
        HipDevice { provider: Some(provider), ..self }
    }

    /// The chip of each GPU, as the target table names it.
    pub fn archs(&self) -> impl Iterator<Item = &str> {
        self.gpus.iter().map(|(arch, _)| arch.as_str())
    }
}

impl Comm {
    /// A communicator that mori's host library made for this program: one entry for each rank that lives in this process,
    /// ascending. Windows that were registered with it are taken with [`Comm::adopt_window`]. The communicator stays the
    /// program's, and must outlive this one. It may have run other kernels before, but none may run now, on any rank: the
    /// totals of its signals are read here.
    ///
    /// # Errors
    /// If the bytes cannot be `ccoDevComm`s of one node, or what HIP says.
    pub fn from_mori(ranks: Vec<MoriRank>) -> Result<Comm, Error> {
        let comm = Comm::with_driver(Box::new(HipDriver::from_mori(ranks)?));
        comm.read_totals()?;
        Ok(comm)
    }
}

impl Device for HipDevice {
    fn kind(&self) -> DeviceKind {
        DeviceKind::Hip
    }

    fn describe(&self) -> String {
        let mut groups: Vec<(usize, &(String, String))> = Vec::new();
        for gpu in &self.gpus {
            match groups.last_mut() {
                Some((count, known)) if *known == gpu => *count += 1,
                _ => groups.push((1, gpu)),
            }
        }
        let words = groups.iter().map(|(count, (arch, name))| format!("{count} x {name} ({arch})"));
        words.collect::<Vec<_>>().join(", ")
    }

    fn refuses(&self, target: &str, code: &CodeBytes) -> Option<String> {
        if code.kind != CodeKind::Hsaco {
            return Some(format!("the code is for {target}, no AMD GPU; here are {}", self.describe()));
        }
        match self.archs().all(|arch| arch == target) {
            true => None,
            false => Some(format!("the code is for {target}, here are {}", self.describe())),
        }
    }

    fn open(&self, ranks: u32, queues: u32) -> Result<Box<dyn Driver>, DriverError> {
        Ok(match &self.provider {
            Some(provider) => Box::new(HipDriver::provided(provider, ranks, queues)?),
            None if queues > 0 => return Err(driver::without_provider("makes no communicators")),
            None => Box::new(HipDriver::alone(ranks, self.gpus.len())?),
        })
    }
}

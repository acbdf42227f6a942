//! What this machine has that can run a bundle's code.

use tilewright_artifact::Part;
use tilewright_runtime::device::cuda::CudaDevice;
use tilewright_runtime::device::sim::{SimDevice, SimOptions};
use tilewright_runtime::{Comm, Device, Error};
use tilewright_target::{TARGETS, Target, Vendor};

use crate::args::{Args, KINDS};

/// What was found, in the order of preference.
pub(crate) struct Found {
    choices: Vec<Choice>,
    /// Why a kind of device is not there: kind and reason.
    absent: Vec<(&'static str, String)>,
}

/// A device to run on.
pub(crate) enum Choice {
    /// GPUs of this machine.
    Hardware(&'static str, Box<dyn Device>),
    /// The simulator of one chip.
    Sim(&'static Target, SimOptions),
}

impl Found {
    /// Looks for the devices that the command line allows.
    pub(crate) fn look(args: &Args) -> Found {
        let mut found = Found { choices: Vec::new(), absent: Vec::new() };
        for kind in KINDS.iter().filter(|kind| args.device.is_none_or(|asked| asked == **kind)) {
            match *kind {
                "cuda" => found.hardware("cuda", cuda()),
                "hip" => found.hardware("hip", hip()),
                _ => found.simulators(args),
            }
        }
        found
    }

    fn hardware(&mut self, kind: &'static str, device: Result<Box<dyn Device>, String>) {
        match device {
            Ok(device) => self.choices.push(Choice::Hardware(kind, device)),
            Err(why) => self.absent.push((kind, why)),
        }
    }

    fn simulators(&mut self, args: &Args) {
        let options = SimOptions { checks: !args.unchecked, max_steps: args.max_steps, ..SimOptions::default() };
        let chips = TARGETS.iter().filter(|target| target.vendor == Vendor::Amd && target.sdma.is_some());
        self.choices.extend(chips.map(|target| Choice::Sim(target, options)));
    }

    /// The first device that takes the part's code; else why each does not, in one sentence.
    pub(crate) fn for_part(&self, part: &Part) -> Result<&Choice, String> {
        let target = &part.artifact.target;
        let mut reasons: Vec<String> = Vec::new();
        for choice in &self.choices {
            let refusal = match choice {
                Choice::Hardware(_, device) => device.refuses(target, &part.artifact.code),
                Choice::Sim(chip, options) => {
                    let is_amd = tilewright_target::lookup(target).is_ok_and(|t| t.vendor == Vendor::Amd);
                    match is_amd {
                        true if chip.name != target => continue, // its own chip is asked, too
                        true => SimDevice::new(chip, *options).refuses(target, &part.artifact.code),
                        false => Some("the simulator executes AMD code only".to_owned()),
                    }
                }
            };
            match refusal {
                None => return Ok(choice),
                Some(why) => {
                    let why = format!("{}: {why}", choice.name());
                    if !reasons.contains(&why) {
                        reasons.push(why);
                    }
                }
            }
        }
        reasons.extend(self.absent.iter().map(|(_, why)| why.clone()));
        Err(reasons.join("; "))
    }
}

impl Choice {
    /// Its kind.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Choice::Hardware(kind, _) => kind,
            Choice::Sim(..) => "sim",
        }
    }

    /// Whether a seed decides anything.
    pub(crate) const fn has_seeds(&self) -> bool {
        matches!(self, Choice::Sim(..))
    }

    /// A communicator with what a kernel needs; on the simulator at least the queues that a chip has by default.
    pub(crate) fn open(&self, ranks: u32, queues: u32, seed: u64) -> Result<Comm, Error> {
        match self {
            Choice::Hardware(_, device) => Comm::new(device.as_ref(), ranks, queues),
            Choice::Sim(target, options) => {
                let queues = queues.max(target.sdma.as_ref().map_or(0, |facts| facts.default_queues));
                Comm::new(&SimDevice::new(target, SimOptions { seed, ..*options }), ranks, queues)
            }
        }
    }
}

/// NVIDIA GPUs.
fn cuda() -> Result<Box<dyn Device>, String> {
    let device = CudaDevice::new().map_err(|why| why.to_string())?;
    Ok(Box::new(device))
}

/// AMD GPUs, with the library that makes communicators, if the environment names one.
#[cfg(feature = "hip")]
fn hip() -> Result<Box<dyn Device>, String> {
    use tilewright_runtime::device::hip::{HipDevice, Provider};
    let mut device = HipDevice::find().map_err(|why| why.to_string())?;
    if let Some(path) = std::env::var_os("TILEWRIGHT_COMM").filter(|path| !path.is_empty()) {
        let provider = Provider::named_by_user(std::path::Path::new(&path)).map_err(|why| why.to_string())?;
        device = device.with_provider(provider);
    }
    Ok(Box::new(device))
}

/// AMD GPUs, of which a program without HIP sees nothing.
#[cfg(not(feature = "hip"))]
fn hip() -> Result<Box<dyn Device>, String> {
    Err("no hip device: this program was built without HIP (cargo feature `hip`)".to_owned())
}

//! Launches whose buffers come from the host and go back to it: what a test, a command or a bundle's run block does.
//!
//! What must hold here: every device is given the same bytes and leaves the same bytes, so outcomes can be compared bit by bit.
//! Where the device does not check bounds itself, buffers lie between guard bytes, which are checked when they are read.

use tilewright_artifact::{ArgKind, CodeBytes};

use crate::comm::Comm;
use crate::device::{ArgError, Launch, RankBuffers};
use crate::driver::Address;
use crate::error::Error;
use crate::memory::{GUARD_BYTES, GuardedBuffer};
use crate::module::{Args, Kernel};
use crate::object::{Buffer, Window};
use crate::rank::LsaRank;

/// A launch whose code and buffers are in the memory of a communicator's ranks: it may run many times, each time on the
/// buffers as the last one left them.
#[derive(Debug)]
pub struct Prepared {
    comm: Comm,
    kernel: Kernel,
    windows: Vec<(String, Window)>,
    /// For each rank.
    ranks: Vec<RankMemory>,
}

#[derive(Debug, Default)]
struct RankMemory {
    buffers: Vec<(String, Placed)>,
    scalars: Vec<(String, u64)>,
}

/// A buffer, and what lies around it.
#[derive(Debug)]
struct Placed {
    /// What the kernel is given.
    data: Buffer,
    /// The image with guards that the data are the middle of.
    guarded: Option<(Buffer, GuardedBuffer)>,
}

impl Placed {
    fn new(comm: &Comm, rank: LsaRank, name: &str, content: &[u8], guard: bool) -> Result<Placed, Error> {
        let words = format!("`{name}` of rank {}", rank.index());
        if !guard {
            let data = comm.buffer(rank, content.len() as u64, &words)?;
            data.write(0, content)?;
            return Ok(Placed { data, guarded: None });
        }
        let image = GuardedBuffer::new(format!("{name} of rank {}", rank.index()), content);
        let whole = comm.buffer(rank, image.image().len() as u64, &words)?;
        whole.write(0, image.image())?;
        let start = Address(whole.address().0.wrapping_add(GUARD_BYTES as u64));
        Ok(Placed { data: comm.adopt_buffer(rank, start, content.len() as u64)?, guarded: Some((whole, image)) })
    }

    fn content(&self) -> Result<Vec<u8>, Error> {
        let Some((whole, image)) = &self.guarded else { return self.data.to_vec() };
        let mut image = image.clone();
        image.set_image(&whole.to_vec()?)?;
        image.check()?;
        Ok(image.data().to_vec())
    }
}

impl Comm {
    /// Loads code and puts the buffers of a launch into memory.
    ///
    /// # Errors
    /// What refuses the launch, as far as that is known before it.
    pub fn prepare(&self, code: &CodeBytes, launch: &Launch<'_>) -> Result<Prepared, Error> {
        launch.check()?;
        self.check_fits(launch.kernel)?;
        let kernel = self.load(code, std::slice::from_ref(launch.kernel))?.kernel(&launch.kernel.name)?;
        self.prepare_kernel(&kernel, launch)
    }

    /// Puts the buffers of a launch of a kernel that is loaded into memory. The kernel that `launch` names is not looked at.
    ///
    /// # Errors
    /// As [`Comm::prepare`].
    pub fn prepare_kernel(&self, kernel: &Kernel, launch: &Launch<'_>) -> Result<Prepared, Error> {
        let info = kernel.info();
        let launch = Launch { kernel: info, ranks: launch.ranks };
        launch.check()?;
        let ranks = self.ranks();
        if launch.ranks.len() != ranks.len() {
            return Err(ArgError::Ranks { given: launch.ranks.len(), ranks: ranks.len() }.into());
        }
        self.check_fits(info)?;
        let guard = !self.with(|driver| driver.checks_bounds());
        let mut prepared =
            Prepared { comm: self.clone(), kernel: kernel.clone(), windows: Vec::new(), ranks: Vec::new() };
        prepared.ranks.resize_with(ranks.len(), RankMemory::default);
        for arg in &info.args {
            if arg.kind == ArgKind::Window {
                let bytes = launch.ranks.first().and_then(|args| args.buffer(&arg.name)).map_or(0, <[u8]>::len);
                let window = self.window(bytes as u64, &arg.name)?;
                for (rank, args) in ranks.iter().zip(launch.ranks) {
                    window.write(*rank, 0, args.buffer(&arg.name).unwrap_or_default())?;
                }
                prepared.windows.push((arg.name.clone(), window));
                continue;
            }
            for ((rank, args), memory) in ranks.iter().zip(launch.ranks).zip(&mut prepared.ranks) {
                let name = arg.name.clone();
                match arg.kind {
                    ArgKind::Global => {
                        let content = args.buffer(&arg.name).unwrap_or_default();
                        memory.buffers.push((name, Placed::new(self, *rank, &arg.name, content, guard)?));
                    }
                    ArgKind::Scalar | ArgKind::Where => {
                        memory.scalars.push((name, args.scalar(&arg.name).unwrap_or_default()));
                    }
                    _ => {}
                }
            }
        }
        Ok(prepared)
    }
}

impl Prepared {
    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Launches it on all ranks and waits until it has ended.
    ///
    /// # Errors
    /// What refuses the launch, or what went wrong in it.
    pub fn run(&self) -> Result<(), Error> {
        self.enqueue()?;
        self.comm.stream().synchronise()
    }

    /// Launches it on all ranks.
    ///
    /// # Errors
    /// What refuses the launch.
    pub fn enqueue(&self) -> Result<(), Error> {
        let args: Vec<_> = self.ranks.iter().map(|memory| self.args(memory)).collect();
        self.comm.stream().launch(&self.kernel, &args)
    }

    fn args<'a>(&'a self, memory: &'a RankMemory) -> Args<'a> {
        let args = self.windows.iter().fold(Args::new(), |args, (name, window)| args.window(name, window));
        let args = memory.buffers.iter().fold(args, |args, (name, placed)| args.buffer(name, &placed.data));
        memory.scalars.iter().fold(args, |args, (name, bits)| args.scalar(name, *bits))
    }

    /// For each rank the contents of its buffers and its parts of windows, in the order of the arguments.
    ///
    /// # Errors
    /// [`GuardDamage`](crate::GuardDamage) if a guard byte has changed; what the driver says.
    pub fn buffers(&self) -> Result<Vec<RankBuffers>, Error> {
        let mut all = Vec::new();
        for (rank, memory) in self.comm.ranks().into_iter().zip(&self.ranks) {
            let mut read = Vec::new();
            for name in self.kernel.info().args.iter().map(|arg| &arg.name) {
                if let Some((_, window)) = self.windows.iter().find(|(known, _)| known == name) {
                    read.push((name.clone(), window.to_vec(rank)?));
                } else if let Some((_, placed)) = memory.buffers.iter().find(|(known, _)| known == name) {
                    read.push((name.clone(), placed.content()?));
                }
            }
            all.push(read);
        }
        Ok(all)
    }
}

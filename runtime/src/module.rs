//! Modules, their kernels, and what a kernel is called with.

use std::rc::Rc;

use tilewright_artifact::{CodeBytes, KernelInfo};

use crate::comm::Comm;
use crate::driver::{KernelId, ModuleId};
use crate::error::Error;
use crate::launch::LaunchError;
use crate::object::{Buffer, Window};

/// Code that is loaded on all ranks of a communicator.
#[derive(Clone, Debug)]
pub struct Module {
    comm: Comm,
    id: ModuleId,
    kernels: Rc<[KernelInfo]>,
}

/// A kernel of a module, ready to be launched.
#[derive(Clone, Debug)]
pub struct Kernel {
    comm: Comm,
    id: KernelId,
    info: Rc<KernelInfo>,
}

impl Module {
    /// Loads code on all ranks; `kernels` says what is in it.
    ///
    /// # Errors
    /// What the driver says, with the log of its compiler for PTX.
    pub fn load(comm: &Comm, code: &CodeBytes, kernels: &[KernelInfo]) -> Result<Module, Error> {
        let mut state = comm.state().borrow_mut();
        state.usable()?;
        let id = state.driver.load(code)?;
        Ok(Module { comm: comm.clone(), id, kernels: kernels.into() })
    }

    /// Descriptions of its kernels.
    pub fn kernels(&self) -> &[KernelInfo] {
        &self.kernels
    }

    /// The kernel of that name.
    ///
    /// # Errors
    /// [`LaunchError::NoKernel`]; a kernel that differs from its description.
    pub fn kernel(&self, name: &str) -> Result<Kernel, Error> {
        match self.kernels.iter().find(|kernel| kernel.name == name) {
            Some(info) => self.kernel_as(info),
            None => {
                let known: Vec<_> = self.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
                Err(LaunchError::NoKernel { name: name.to_owned(), known: known.join(", ") }.into())
            }
        }
    }

    /// The kernel that `info` describes: for one whose launch shape follows from the values of its `where` parameters.
    ///
    /// # Errors
    /// A kernel that differs from its description.
    pub fn kernel_as(&self, info: &KernelInfo) -> Result<Kernel, Error> {
        let id = self.comm.state().borrow_mut().driver.kernel(self.id, info)?;
        Ok(Kernel { comm: self.comm.clone(), id, info: Rc::new(info.clone()) })
    }
}

impl Kernel {
    /// Its description.
    pub fn info(&self) -> &KernelInfo {
        &self.info
    }

    pub(crate) fn comm(&self) -> &Comm {
        &self.comm
    }

    pub(crate) const fn id(&self) -> KernelId {
        self.id
    }
}

/// One argument.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arg<'a> {
    Buffer(&'a Buffer),
    Window(&'a Window),
    Bits(u64),
}

/// What one rank gives to a kernel, by the names of its parameters. Arguments that the compiler added are not given.
#[derive(Clone, Debug, Default)]
pub struct Args<'a> {
    values: Vec<(&'a str, Arg<'a>)>,
}

impl<'a> Args<'a> {
    /// Nothing.
    pub fn new() -> Self {
        Args::default()
    }

    /// With a buffer of this rank for a `global` parameter.
    #[must_use]
    pub fn buffer(mut self, name: &'a str, buffer: &'a Buffer) -> Self {
        self.values.push((name, Arg::Buffer(buffer)));
        self
    }

    /// With a window for a `window` parameter.
    #[must_use]
    pub fn window(mut self, name: &'a str, window: &'a Window) -> Self {
        self.values.push((name, Arg::Window(window)));
        self
    }

    /// With the bits of a scalar or a `where` parameter, in the low bits.
    #[must_use]
    pub fn scalar(mut self, name: &'a str, bits: u64) -> Self {
        self.values.push((name, Arg::Bits(bits)));
        self
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arg<'a>> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.values.iter().map(|(name, _)| *name)
    }
}

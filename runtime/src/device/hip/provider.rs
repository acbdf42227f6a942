//! Communicators from a provider: a shared library beside this program that links mori (or simulates it).
//!
//! What must hold here: the table of a provider is believed only if its version is ours; a status other than 0 becomes an
//! error with the provider's own sentence.

use std::ffi::{CStr, CString, c_void};
use std::fmt;
use std::path::Path;
use std::rc::Rc;

use tilewright_target::comm_provider::{CommProvider, Entry, LocalRank, SYMBOL, VERSION, WindowPart};
use tilewright_target::mori_abi::dev_comm;

use super::mori::MoriRank;
use crate::driver::DeviceKind;
use crate::error::{CallError, DriverError};

/// A loaded provider. Clones are the same library.
#[derive(Clone)]
pub struct Provider {
    table: CommProvider,
    /// What the table's functions are in.
    _library: Rc<libloading::Library>,
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("version", &self.table.version).finish_non_exhaustive()
    }
}

/// What the dynamic linker said, which the error itself keeps to its source.
fn words(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// An error about a provider that cannot be used.
fn unusable(path: &Path, why: impl fmt::Display) -> DriverError {
    let why = format!("cannot use {} as a provider of communicators: {why}", path.display());
    DriverError::Refused { device: DeviceKind::Hip, why }
}

impl Provider {
    /// Loads the library at `path`.
    ///
    /// # Errors
    /// If there is none, or it exports no provider of this version.
    ///
    /// # Safety
    /// The library's initialisers run, and its functions are called as `include/tilewright.h` documents them: it must be a
    /// library that whoever named it trusts.
    pub unsafe fn load(path: &Path) -> Result<Provider, DriverError> {
        // SAFETY: the caller trusts the library.
        let library = unsafe { libloading::Library::new(path) }.map_err(|error| unusable(path, words(&error)))?;
        // SAFETY: the symbol has this type in every provider.
        let entry = unsafe { library.get::<Entry>(SYMBOL) }.map_err(|error| unusable(path, words(&error)))?;
        // SAFETY: the function takes nothing and returns a table that lives as long as the library.
        let table = unsafe { entry() };
        if table.is_null() {
            return Err(unusable(path, "it gives no table"));
        }
        // SAFETY: the version is the first field in every version.
        let version = unsafe { table.cast::<u32>().read() };
        if version != VERSION {
            return Err(unusable(path, format_args!("it has version {version} of the interface, this is {VERSION}")));
        }
        // SAFETY: a table of this version has this type.
        let table = unsafe { table.read() };
        Ok(Provider { table, _library: Rc::new(library) })
    }

    /// Loads the library that the person who started the program named, as `LD_PRELOAD` would: by an option or a variable of
    /// the environment, never by anything read from a file or a bundle.
    ///
    /// # Errors
    /// As [`Provider::load`].
    pub fn named_by_user(path: &Path) -> Result<Provider, DriverError> {
        // SAFETY: who starts a program decides what it loads, and so trusts it.
        unsafe { Provider::load(path) }
    }

    /// The failure of a call, with the provider's words.
    fn failure(&self, call: &'static str, code: u32) -> DriverError {
        // SAFETY: the function may be called at any time.
        let text = unsafe { (self.table.error)() };
        let text = match text.is_null() {
            true => String::new(),
            // SAFETY: the string lives until the next call.
            false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
        };
        let device = DeviceKind::Hip;
        Box::new(CallError { device, call, code: code.into(), name: String::new(), text, log: String::new() }).into()
    }

    fn check(&self, call: &'static str, status: u32) -> Result<(), DriverError> {
        if status == 0 { Ok(()) } else { Err(self.failure(call, status)) }
    }

    /// Makes a communicator.
    ///
    /// # Errors
    /// What the provider says.
    pub(super) fn open(&self, ranks: u32, queues: u32) -> Result<ProvidedComm, DriverError> {
        // SAFETY: any numbers may be asked for.
        let handle = unsafe { (self.table.open)(ranks, queues) };
        if handle.is_null() {
            return Err(self.failure("tw_comm_provider.open", 1));
        }
        Ok(ProvidedComm { provider: self.clone(), handle })
    }
}

/// A communicator that a provider made. It is closed when it is dropped.
#[derive(Debug)]
pub(super) struct ProvidedComm {
    provider: Provider,
    handle: *mut c_void,
}

impl ProvidedComm {
    /// Its ranks in this process.
    ///
    /// # Errors
    /// What the provider says.
    pub(super) fn ranks(&self) -> Result<Vec<MoriRank>, DriverError> {
        let table = &self.provider.table;
        // SAFETY: the handle is open.
        let count = unsafe { (table.local_ranks)(self.handle) };
        let mut ranks = Vec::new();
        for index in 0..count {
            let mut rank = LocalRank::default();
            // SAFETY: the handle is open, and there is room for the answer.
            let status = unsafe { (table.local_rank)(self.handle, index, &raw mut rank) };
            self.provider.check("tw_comm_provider.local_rank", status)?;
            let mut bytes = vec![0u8; dev_comm::SIZE as usize];
            // SAFETY: as above.
            let status = unsafe { (table.dev_comm)(self.handle, index, bytes.as_mut_ptr().cast(), bytes.len() as u64) };
            self.provider.check("tw_comm_provider.dev_comm", status)?;
            ranks.push(MoriRank { device: rank.device, dev_comm: bytes, stream: None });
        }
        Ok(ranks)
    }

    /// Makes a window; one part for each of the ranks in this process.
    ///
    /// # Errors
    /// What the provider says.
    pub(super) fn window(&self, name: &str, bytes: u64, ranks: usize) -> Result<Vec<WindowPart>, DriverError> {
        let name = CString::new(name.replace('\0', " ")).unwrap_or_default();
        let mut parts = vec![WindowPart::default(); ranks];
        // SAFETY: the handle is open, the name is a C string, and there is a part for each local rank.
        let status =
            unsafe { (self.provider.table.window_open)(self.handle, name.as_ptr(), bytes, parts.as_mut_ptr()) };
        self.provider.check("tw_comm_provider.window_open", status)?;
        Ok(parts)
    }

    /// Gives a window back.
    ///
    /// # Errors
    /// What the provider says.
    pub(super) fn free_window(&self, window: u64) -> Result<(), DriverError> {
        // SAFETY: the handle is open.
        let status = unsafe { (self.provider.table.window_close)(self.handle, window) };
        self.provider.check("tw_comm_provider.window_close", status)
    }

    /// Waits until every rank of the node is here.
    ///
    /// # Errors
    /// What the provider says.
    pub(super) fn barrier(&self) -> Result<(), DriverError> {
        // SAFETY: the handle is open.
        let status = unsafe { (self.provider.table.barrier)(self.handle) };
        self.provider.check("tw_comm_provider.barrier", status)
    }
}

impl Drop for ProvidedComm {
    fn drop(&mut self) {
        // SAFETY: the handle is open, and nobody uses it any more. What closing it says helps nobody now.
        let _ = unsafe { (self.provider.table.close)(self.handle) };
    }
}

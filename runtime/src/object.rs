//! Buffers and windows: memory that lives as long as its handle, or as long as the launches that use it if these end later.
//!
//! What must hold here: copying in and out waits for the launches that may use the memory; no copy reaches outside.

use crate::comm::Comm;
use crate::device::ArgError;
use crate::driver::{Address, WindowPart};
use crate::error::Error;
use crate::rank::LsaRank;

/// Bytes on one rank.
#[derive(Debug)]
pub struct Buffer {
    comm: Comm,
    rank: LsaRank,
    address: Address,
    bytes: u64,
    owned: bool,
}

/// The same number of bytes on every rank, where every rank can reach them.
#[derive(Debug)]
pub struct Window {
    comm: Comm,
    /// For each rank that this process drives.
    parts: Vec<WindowPart>,
    bytes: u64,
    owned: bool,
}

/// Where `len` bytes at `offset` of memory at `start` are.
fn place(start: Address, bytes: u64, offset: u64, len: usize) -> Result<Address, Error> {
    let end = offset.checked_add(len as u64);
    if end.is_none_or(|end| end > bytes) {
        return Err(ArgError::Outside { offset, len, bytes }.into());
    }
    Ok(Address(start.0.wrapping_add(offset)))
}

impl Comm {
    fn copy_in(&self, rank: LsaRank, at: Address, content: &[u8]) -> Result<(), Error> {
        let mut state = self.state().borrow_mut();
        state.quiet()?;
        Ok(state.driver.write(rank, at, content)?)
    }

    fn copy_out(&self, rank: LsaRank, at: Address, content: &mut [u8]) -> Result<(), Error> {
        let mut state = self.state().borrow_mut();
        state.quiet()?;
        Ok(state.driver.read(rank, at, content)?)
    }
}

impl Buffer {
    pub(crate) fn new(comm: &Comm, rank: LsaRank, address: Address, bytes: u64, owned: bool) -> Buffer {
        Buffer { comm: comm.clone(), rank, address, bytes, owned }
    }

    pub(crate) fn comm(&self) -> &Comm {
        &self.comm
    }

    /// The rank whose memory it is.
    pub const fn rank(&self) -> LsaRank {
        self.rank
    }

    /// Where it begins.
    pub const fn address(&self) -> Address {
        self.address
    }

    /// Its bytes.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Waits for all launches and copies `content` to `offset` bytes from the start.
    ///
    /// # Errors
    /// [`ArgError::Outside`], what a launch failed with, or what the driver says.
    pub fn write(&self, offset: u64, content: &[u8]) -> Result<(), Error> {
        let at = place(self.address, self.bytes, offset, content.len())?;
        self.comm.copy_in(self.rank, at, content)
    }

    /// Waits for all launches and copies from `offset` bytes from the start on to `content`.
    ///
    /// # Errors
    /// As [`Buffer::write`].
    pub fn read(&self, offset: u64, content: &mut [u8]) -> Result<(), Error> {
        let at = place(self.address, self.bytes, offset, content.len())?;
        self.comm.copy_out(self.rank, at, content)
    }

    /// Everything that it holds when all launches have ended.
    ///
    /// # Errors
    /// As [`Buffer::write`].
    pub fn to_vec(&self) -> Result<Vec<u8>, Error> {
        let mut content = vec![0; self.bytes as usize];
        self.read(0, &mut content)?;
        Ok(content)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.owned {
            self.comm.state().borrow_mut().drop_buffer(self.rank, self.address);
        }
    }
}

impl Window {
    pub(crate) fn new(comm: &Comm, parts: Vec<WindowPart>, bytes: u64, owned: bool) -> Window {
        Window { comm: comm.clone(), parts, bytes, owned }
    }

    pub(crate) fn comm(&self) -> &Comm {
        &self.comm
    }

    /// The part of the rank at that place among those that this process drives.
    pub(crate) fn part_at(&self, index: usize) -> WindowPart {
        self.parts[index]
    }

    /// Its bytes on each rank.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The part of a rank.
    ///
    /// # Errors
    /// [`RankError::NotDriven`](crate::RankError::NotDriven) if this process does not drive it.
    pub fn part(&self, rank: LsaRank) -> Result<WindowPart, Error> {
        Ok(self.parts[self.comm.index_of(rank)?])
    }

    /// Waits for all launches and copies `content` to a rank's part, `offset` bytes from its start.
    ///
    /// # Errors
    /// [`ArgError::Outside`], a rank that this process does not drive, what a launch failed with, or what the driver says.
    pub fn write(&self, rank: LsaRank, offset: u64, content: &[u8]) -> Result<(), Error> {
        let at = place(self.part(rank)?.data, self.bytes, offset, content.len())?;
        self.comm.copy_in(rank, at, content)
    }

    /// Waits for all launches and copies from a rank's part, from `offset` bytes from its start on, to `content`.
    ///
    /// # Errors
    /// As [`Window::write`].
    pub fn read(&self, rank: LsaRank, offset: u64, content: &mut [u8]) -> Result<(), Error> {
        let at = place(self.part(rank)?.data, self.bytes, offset, content.len())?;
        self.comm.copy_out(rank, at, content)
    }

    /// Everything that a rank's part holds when all launches have ended.
    ///
    /// # Errors
    /// As [`Window::write`].
    pub fn to_vec(&self, rank: LsaRank) -> Result<Vec<u8>, Error> {
        let mut content = vec![0; self.bytes as usize];
        self.read(rank, 0, &mut content)?;
        Ok(content)
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        if self.owned {
            self.comm.state().borrow_mut().drop_window(std::mem::take(&mut self.parts));
        }
    }
}

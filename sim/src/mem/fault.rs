//! Defects that memory finds, with both sides of each.
//!
//! What must hold here: a fault names the address, the bytes, the allocation that is nearest or hit, and, for a race,
//! both accesses with kernel, workgroup, wave, lane and pc; its last words say what is missing.

use std::fmt;

use thiserror::Error;

use crate::fault::Place;

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Loads.
    Read,
    /// Stores.
    Write,
    /// A load with scope or an engine's poll.
    SyncRead,
    /// A store with scope, an atomic, or an engine's fence, signal or read pointer.
    SyncWrite,
}

impl Verb {
    /// Whether it changes memory.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::SyncWrite)
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "written",
            Self::SyncRead => "loaded with scope",
            Self::SyncWrite => "stored with scope",
        }
    }
}

/// One side of a race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// What it does.
    pub verb: Verb,
    /// Who: `kernel ship, rank 0, workgroup (1,0,0), wave 2`, `engine of queue (2,0) of rank 1`, or `the host`.
    pub who: String,
    /// Lane, for a wave.
    pub lane: Option<u8>,
    /// Address of the instruction for a wave; for an engine the number that it gave (its packet).
    pub pc: u64,
    /// Whether an engine did it.
    pub engine: bool,
    /// The same as a place, for a wave.
    pub at: Option<Box<Place>>,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}", self.verb.word(), self.who)?;
        if let Some(lane) = self.lane {
            write!(f, ", lane {lane}")?;
        }
        match self.engine {
            true => write!(f, ", packet {}", self.pc),
            false if self.pc != 0 => write!(f, ", pc {:#x}", self.pc),
            false => Ok(()),
        }
    }
}

/// A defect of a memory access.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MemFault {
    /// Outside every allocation, or across an end of one.
    #[error("{bytes} bytes at {address:#x} are {verb} out of bounds: {nearest}")]
    OutOfBounds {
        /// First address.
        address: u64,
        /// Bytes.
        bytes: u64,
        /// `read` or `written`.
        verb: &'static str,
        /// Where the nearest allocation is, in words.
        nearest: String,
    },
    /// Bytes of LDS that the workgroup does not have.
    #[error("{bytes} bytes at LDS offset {address:#x} are {verb}, but the workgroup has {limit} bytes of LDS")]
    LdsOutOfBounds {
        /// First offset.
        address: u64,
        /// Bytes.
        bytes: u64,
        /// `read` or `written`.
        verb: &'static str,
        /// Bytes that it has.
        limit: u64,
    },
    /// Bytes of scratch that the lane does not have.
    #[error("{bytes} bytes at scratch offset {address:#x} are {verb}, but a lane has {limit} bytes of scratch")]
    ScratchOutOfBounds {
        /// First offset.
        address: u64,
        /// Bytes.
        bytes: u64,
        /// `read` or `written`.
        verb: &'static str,
        /// Bytes that it has.
        limit: u64,
    },
    /// A write to code or kernel arguments.
    #[error("{bytes} bytes at {address:#x} are written, but {name} is read-only")]
    ReadOnly {
        /// First address.
        address: u64,
        /// Bytes.
        bytes: u64,
        /// Name of the allocation.
        name: String,
    },
    /// Bytes that nobody has written.
    #[error("{bytes} bytes at {address:#x} ({place}) are read, but the byte at {first:#x} was never written")]
    Uninitialised {
        /// First address.
        address: u64,
        /// Bytes.
        bytes: u64,
        /// First byte that was not written.
        first: u64,
        /// Which memory, in words.
        place: String,
    },
    /// An address that the instruction cannot take.
    #[error("{what} at {address:#x}, which is not a multiple of {align}")]
    Misaligned {
        /// What, in words.
        what: &'static str,
        /// The address.
        address: u64,
        /// Alignment in bytes.
        align: u64,
    },
    /// Two accesses to the same bytes without order.
    #[error("data race on {place} at {address:#x}: {second}; {first}, and nothing orders the two: {why}")]
    Race {
        /// Address.
        address: u64,
        /// Which memory, in words.
        place: String,
        /// The access that came first in this run.
        first: Box<Access>,
        /// The access that came second in this run.
        second: Box<Access>,
        /// What is missing, in words.
        why: String,
    },
    /// A copy's source is written before the engine is known to have read it.
    #[error(
        "the source of a copy is overwritten while the copy may be in flight ({place} at {address:#x}): {write}; {copy}; \
         wait for the copy (quiet, or its local signal) before writing the source again"
    )]
    SourceReused {
        /// Address.
        address: u64,
        /// Which memory, in words.
        place: String,
        /// The engine's read.
        copy: Box<Access>,
        /// The write.
        write: Box<Access>,
    },
    /// What an engine delivers is used without waiting for it.
    #[error(
        "{place} at {address:#x} is used while a copy into it may be in flight: {other}; {copy}; \
         wait for the signal that follows the copy, and invalidate the caches, before"
    )]
    NotArrived {
        /// Address.
        address: u64,
        /// Which memory, in words.
        place: String,
        /// The engine's write.
        copy: Box<Access>,
        /// The other access.
        other: Box<Access>,
    },
    /// The host asked for memory that cannot be had.
    #[error("allocation refused: {0}")]
    Allocation(String),
}

impl MemFault {
    /// The wave that took part in it, for a fault that an engine found.
    pub(crate) fn wave(&self) -> Option<&Place> {
        match self {
            Self::Race { first, second, .. } => second.at.as_deref().or(first.at.as_deref()),
            Self::SourceReused { write, .. } => write.at.as_deref(),
            Self::NotArrived { other, .. } => other.at.as_deref(),
            _ => None,
        }
    }
}

//! What engines find wrong.
//!
//! What must hold here: each message is one sentence with the numbers that failed; the engine adds which queue and where.

use std::fmt;

/// A packet that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketFault {
    /// No form has this header.
    #[error("header {header:#010x} starts no packet of this engine (operation {}, sub-operation {})", header & 0xff, header >> 8 & 0xff)]
    Unknown {
        /// The header dword.
        header: u32,
    },
    /// The packet is longer than what may belong to it.
    #[error("{name} has {needed} dwords, but only {available} are there")]
    Short {
        /// Name of the form.
        name: &'static str,
        /// Dwords of the packet.
        needed: u64,
        /// Dwords before the ring end or the doorbell.
        available: u64,
    },
    /// Bits are set that the form does not name.
    #[error("{name} has reserved bits {bits:#010x} of dword {dword} set")]
    Reserved {
        /// Name of the form.
        name: &'static str,
        /// Index of the dword.
        dword: u32,
        /// The bits.
        bits: u32,
    },
    /// A field has a value that means nothing.
    #[error("{name} has the value {value} in its field `{field}`, which means nothing there")]
    BadField {
        /// Name of the form.
        name: &'static str,
        /// The field.
        field: &'static str,
        /// Its value.
        value: u32,
    },
    /// A field asks for something that this engine does not model.
    #[error("{name} asks with {value} in its field `{field}` for what the simulator does not model")]
    NotModelled {
        /// Name of the form.
        name: &'static str,
        /// The field.
        field: &'static str,
        /// Its value.
        value: u32,
    },
    /// An address has the wrong alignment.
    #[error("{name} has the address {address:#x} in its field `{field}`, which must be a multiple of {align}")]
    Misaligned {
        /// Name of the form.
        name: &'static str,
        /// The field.
        field: &'static str,
        /// The address.
        address: u64,
        /// What it must be a multiple of.
        align: u64,
    },
    /// The packet table contradicts itself: a fault of ours.
    #[error("the packet table is wrong: {0}")]
    Table(String),
}

/// What is wrong on a queue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineFaultKind {
    /// The packet cannot be read.
    #[error("{0}")]
    Packet(PacketFault),
    /// The packet would run across the ring end.
    #[error("{name} of {dwords} dwords runs {over} dwords across the ring end; pad the rest of the ring with NOPs")]
    AcrossRingEnd {
        /// Name of the form.
        name: &'static str,
        /// Its dwords.
        dwords: u64,
        /// How many lie beyond the end.
        over: u64,
    },
    /// The packet would run past the doorbell.
    #[error("{name} of {dwords} dwords runs {over} dwords past the doorbell at {doorbell}; ring for whole packets")]
    PastDoorbell {
        /// Name of the form.
        name: &'static str,
        /// Its dwords.
        dwords: u64,
        /// How many lie beyond the doorbell.
        over: u64,
        /// The doorbell's value.
        doorbell: u64,
    },
    /// The doorbell went backwards.
    #[error(
        "the doorbell went back from {before} to {now}; publish positions in order, each store complete before the next"
    )]
    DoorbellDecreased {
        /// Value before.
        before: u64,
        /// Value now.
        now: u64,
    },
    /// The doorbell is not a multiple of four bytes.
    #[error("the doorbell value {now} is not a multiple of 4")]
    DoorbellMisaligned {
        /// Its value.
        now: u64,
    },
    /// More was rung than the ring holds.
    #[error("the doorbell at {now} is {} bytes ahead of the read position {read}, the ring has {ring}", now - read)]
    Overrun {
        /// The doorbell's value.
        now: u64,
        /// The read position.
        read: u64,
        /// Bytes of the ring.
        ring: u64,
    },
    /// The doorbell overtook the write pointer.
    #[error(
        "the doorbell at {now} overtook the write pointer{}; wait for the write pointer's store before the doorbell's",
        wptr_state(*wptr, *landed)
    )]
    OvertookWritePointer {
        /// The doorbell's value.
        now: u64,
        /// The write pointer in memory.
        wptr: u64,
        /// Whether its store happened to have landed, which nothing guaranteed.
        landed: bool,
    },
    /// The doorbell overtook the bytes of the packets.
    #[error(
        "the doorbell at {now} overtook the ring bytes at position {position}: their store was not complete; wait for the \
         packet stores before the doorbell's"
    )]
    OvertookBytes {
        /// The doorbell's value.
        now: u64,
        /// Position of the first byte that was not there.
        position: u64,
    },
    /// An address is in no allocation.
    #[error("{name} {access} {bytes} bytes at {address:#x}, which is not mapped{}", detail(near))]
    Unmapped {
        /// Name of the form.
        name: &'static str,
        /// `reads` or `writes`.
        access: &'static str,
        /// The address.
        address: u64,
        /// Bytes.
        bytes: u64,
        /// What lies near.
        near: String,
    },
    /// An address belongs to a rank that the queue does not lead to.
    #[error("{name} {access} memory of rank {rank} at {address:#x}, but {allowed}")]
    WrongRank {
        /// Name of the form.
        name: &'static str,
        /// `reads` or `writes`.
        access: &'static str,
        /// The address.
        address: u64,
        /// Whose memory it is.
        rank: u32,
        /// What the queue may reach, as a clause.
        allowed: String,
    },
    /// The two destinations of a broadcast are not congruent.
    #[error(
        "the destinations {:#x} and {:#x} of a broadcast differ modulo 32: the second received the data {shift:+} bytes \
         off; use two copies, or destinations with equal low 5 bits", dst[0], dst[1]
    )]
    BroadcastMisaligned {
        /// The destinations.
        dst: [u64; 2],
        /// How far the data were shifted at the second.
        shift: i64,
    },
    /// A wait gave up.
    #[error("a wait on {address:#x} gave up after {retries} reads; retry count 4095 waits for ever")]
    PollGaveUp {
        /// The address.
        address: u64,
        /// How often it was read.
        retries: u32,
    },
    /// The kernel ended before its copies.
    #[error(
        "the kernel has ended while {left} bytes of its packets are not carried out; wait for the copies (quiet, or a signal) \
         before it ends"
    )]
    InFlightAtExit {
        /// Bytes of packets from the position to the doorbell.
        left: u64,
    },
    /// Packets were posted and never published.
    #[error("the kernel has ended with {left} bytes of packets that were posted and never committed; commit the batch")]
    NeverCommitted {
        /// Bytes from the committed position to the reserved one.
        left: u64,
    },
    /// What memory found about one of its accesses.
    #[error("{0}")]
    Memory(Box<crate::fault::FaultKind>),
}

fn wptr_state(wptr: u64, landed: bool) -> String {
    if landed {
        " (its store had landed, but nothing made it land first)".to_owned()
    } else {
        format!(", which memory still has at {wptr}")
    }
}

fn detail(near: &str) -> String {
    if near.is_empty() { String::new() } else { format!(" ({near})") }
}

/// A fault of one engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineFault {
    /// The queue.
    pub queue: super::QueueId,
    /// Position in the queue, in bytes since its start: the packet's first byte, or the doorbell's value.
    pub position: u64,
    /// Number of the packet on this queue, from 0.
    pub packet: u64,
    /// The dwords that are at fault, as far as there are any.
    pub dwords: Vec<u32>,
    /// What is wrong.
    pub kind: EngineFaultKind,
}

impl fmt::Display for EngineFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SDMA queue {} at packet {} (byte {}): {}", self.queue, self.packet, self.position, self.kind)?;
        if !self.dwords.is_empty() {
            let hex: Vec<String> = self.dwords.iter().map(|dword| format!("{dword:08x}")).collect();
            write!(f, " [{}]", hex.join(" "))?;
        }
        Ok(())
    }
}

impl std::error::Error for EngineFault {}

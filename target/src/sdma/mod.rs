//! What is known about the SDMA copy engines: limits of the packets, shape of the rings, and the packet field tables.
//!
//! What must hold here: layout and limits only; how a copy is split, batched or signalled is decided elsewhere. The encoder
//! (device code) and the decoder (simulator) read the same tables, so one mistake here would hide itself: each table has tests
//! against literal dwords written by hand.

pub mod gfx1250;
pub mod gfx9;
mod misuse;
mod packet;
#[cfg(test)]
mod tests;

pub use misuse::Misuse;
pub use packet::{Field, PacketError, PacketForm, PacketSet, Tail};

/// One known limit of the byte count of a linear copy packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyLimit {
    /// Most bytes in one packet.
    pub bytes: u32,
    /// Who uses it.
    pub source: &'static str,
}

/// Dwords that device code writes as they are: what mori posts for the packets on its hot path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostedDwords {
    /// Header of a linear copy.
    pub copy_header: u32,
    /// Header of a copy to two destinations.
    pub broadcast_header: u32,
    /// Parameter dword (dw2) of a linear copy.
    pub copy_parameter: u32,
    /// Parameter dword (dw2) of a copy to two destinations.
    pub broadcast_parameter: u32,
    /// Header of a 64-bit atomic add, mori's signal.
    pub atomic_add64_header: u32,
    /// Header of a wait on memory, the comparison (bits 30..28) still zero.
    pub poll_memory_header: u32,
    /// Last dword of a wait on memory: poll interval and endless retry.
    pub poll_control: u32,
    /// A NOP that swallows the rest of its ring unit.
    pub padding_unit: u32,
}

/// Facts about the copy engines of a chip and the rings that feed them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SdmaFacts {
    /// Most bytes that one linear copy packet is given; larger copies are cut into pieces of exactly this size.
    pub max_copy_bytes: u32,
    /// Other limits in use elsewhere, for whoever meets an engine that wants less.
    pub other_copy_limits: &'static [CopyLimit],
    /// Bytes of one ring, a power of two.
    pub ring_bytes: u64,
    /// Bytes of one ring unit: every packet is padded to a multiple, so none straddles the ring end.
    pub unit_bytes: u64,
    /// Alignment of a unit in bytes as a vector store may assume it.
    pub unit_align_bytes: u64,
    /// Most bytes posted and not yet consumed on one queue: one unit always stays free.
    pub max_in_flight_bytes: u64,
    /// Most queues to one peer.
    pub max_queues: u32,
    /// Queues to one peer where nobody asked for a number.
    pub default_queues: u32,
    /// Bits in which the two destinations of a broadcast must agree, as a mask of the low address bits.
    pub broadcast_congruence_mask: u64,
    /// Bits that a wait packet compares.
    pub wait_compare_bits: u32,
    /// Constant dwords of the hot packets.
    pub posted: PostedDwords,
    /// The packet field tables.
    pub packets: &'static PacketSet,
}

impl SdmaFacts {
    /// Linear copy packets that `bytes` bytes take; zero bytes take none.
    pub const fn copy_packets(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.max_copy_bytes as u64)
    }

    /// Ring bytes of a packet of `dwords` dwords, padding to whole units included.
    pub const fn ring_bytes_for_dwords(&self, dwords: u64) -> u64 {
        (dwords * 4).div_ceil(self.unit_bytes) * self.unit_bytes
    }

    /// Whether one broadcast packet may write to both addresses.
    pub const fn broadcast_is_congruent(&self, first: u64, second: u64) -> bool {
        (first ^ second) & self.broadcast_congruence_mask == 0
    }
}

/// How a wait packet compares `memory & mask` with the reference, unsigned (hw 1, the same codes as `ccoSdmaCmp*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Compare {
    /// Passes at once.
    Always = 0,
    /// Less.
    Lt = 1,
    /// Less or equal.
    Le = 2,
    /// Equal.
    Eq = 3,
    /// Not equal.
    Ne = 4,
    /// Greater or equal.
    Ge = 5,
    /// Greater.
    Gt = 6,
}

impl Compare {
    /// The code in the packet's `func` field.
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// The comparison with that code; `None` for 7, which is reserved.
    pub const fn from_code(code: u32) -> Option<Compare> {
        match code {
            0 => Some(Compare::Always),
            1 => Some(Compare::Lt),
            2 => Some(Compare::Le),
            3 => Some(Compare::Eq),
            4 => Some(Compare::Ne),
            5 => Some(Compare::Ge),
            6 => Some(Compare::Gt),
            _ => None,
        }
    }

    /// The comparison of a word as ops write it (`cmp = ge`).
    pub fn parse(word: &str) -> Option<Compare> {
        Some(match word {
            "always" => Compare::Always,
            "lt" => Compare::Lt,
            "le" => Compare::Le,
            "eq" => Compare::Eq,
            "ne" => Compare::Ne,
            "ge" => Compare::Ge,
            "gt" => Compare::Gt,
            _ => return None,
        })
    }

    /// Its sign, in sentences.
    pub const fn sign(self) -> &'static str {
        match self {
            Compare::Always => "(always)",
            Compare::Lt => "<",
            Compare::Le => "<=",
            Compare::Eq => "==",
            Compare::Ne => "!=",
            Compare::Ge => ">=",
            Compare::Gt => ">",
        }
    }

    /// Whether the condition holds for a masked memory value.
    pub const fn holds(self, memory: u64, reference: u64) -> bool {
        match self {
            Compare::Always => true,
            Compare::Lt => memory < reference,
            Compare::Le => memory <= reference,
            Compare::Eq => memory == reference,
            Compare::Ne => memory != reference,
            Compare::Ge => memory >= reference,
            Compare::Gt => memory > reference,
        }
    }
}

/// Code of the 64-bit atomic add, without return, in the ATOMIC packet's `operation` field (hw 1, golden).
pub const ATOMIC_ADD64: u32 = 47;

/// Value of the `retry_count` field of POLL_REGMEM that means "for ever" (hw 1).
pub const POLL_RETRY_FOREVER: u32 = 0xfff;

/// Scope code "system" of gfx1250 packets (hw 1).
pub const SCOPE_SYSTEM: u32 = 3;

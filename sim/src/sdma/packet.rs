//! From ring dwords to packets.
//!
//! What must hold here: layouts come from the tables of `target::sdma`; every bit that a form does not name must be zero, and
//! every field that the engine does not carry out (byte swaps, encryption, loops, temporal hints) must be off, so that nothing
//! is ignored in silence. A scope, where a form has one, must be the system's: what is narrower would leave data in caches that
//! peers do not look into. Sizes are in bytes and whole: the "minus 1" of the fields ends here.

use tilewright_target::sdma::{Compare, PacketForm, PacketSet, SCOPE_SYSTEM, Tail};

use super::fault::PacketFault;

/// One packet, ready to be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet {
    /// Nothing; the dwords that a NOP swallows belong to it.
    Nop,
    /// Contiguous bytes.
    Copy {
        /// Address read.
        src: u64,
        /// Address written.
        dst: u64,
        /// Bytes, at least 1.
        bytes: u64,
    },
    /// Contiguous bytes to two places.
    Broadcast {
        /// Address read.
        src: u64,
        /// Addresses written.
        dst: [u64; 2],
        /// Bytes, at least 1.
        bytes: u64,
    },
    /// Contiguous bytes to any number of places.
    Multicast {
        /// Address read.
        src: u64,
        /// Addresses written, at least one.
        dsts: Vec<u64>,
        /// Bytes, at least 1.
        bytes: u64,
    },
    /// A rectangle of up to three dimensions.
    SubWindow(Box<SubWindow>),
    /// Exchange of two ranges.
    Swap {
        /// One range.
        a: u64,
        /// The other.
        b: u64,
        /// Bytes of each.
        bytes: u64,
    },
    /// Dwords that stand in the packet.
    Write {
        /// Address written.
        dst: u64,
        /// What is written.
        data: Vec<u32>,
    },
    /// A value after everything before.
    Fence {
        /// Address written, a multiple of its bytes.
        addr: u64,
        /// What is written.
        data: u64,
        /// Bytes of it: 4 or 8.
        bytes: u32,
    },
    /// An interrupt.
    Trap {
        /// Its context number.
        context: u32,
    },
    /// A wait on memory.
    Poll {
        /// Address read, a multiple of the bytes.
        addr: u64,
        /// Bytes compared: 4 or 8.
        bytes: u32,
        /// How `memory & mask` is compared with the reference.
        compare: Compare,
        /// The reference.
        reference: u64,
        /// The mask.
        mask: u64,
        /// Reads before the engine gives up; `None`: never.
        retries: Option<u32>,
    },
    /// 64-bit add to memory.
    AtomicAdd {
        /// Address, a multiple of 8.
        addr: u64,
        /// What is added.
        operand: u64,
    },
    /// A range filled with one value.
    Fill {
        /// Address written, a multiple of the element.
        dst: u64,
        /// The value; its low bytes if the element is narrower.
        value: u32,
        /// Bytes of an element: 1, 2 or 4.
        element: u32,
        /// Bytes in all.
        bytes: u64,
    },
    /// The global time stamp to memory.
    Timestamp {
        /// Address written, a multiple of 8.
        addr: u64,
    },
}

/// A rectangle out of one pitched space into another; all extents and offsets in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubWindow {
    /// Bytes of an element: 1 to 16.
    pub element: u64,
    /// The space read.
    pub src: Pitched,
    /// The space written.
    pub dst: Pitched,
    /// Extent in x, y, z; each at least 1.
    pub rect: [u64; 3],
}

/// A pitched space and a place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pitched {
    /// Address of its element (0, 0, 0).
    pub base: u64,
    /// Offset of the rectangle in x, y, z.
    pub offset: [u64; 3],
    /// Elements from one row to the next.
    pub pitch: u64,
    /// Elements from one slice to the next.
    pub slice: u64,
}

impl Pitched {
    /// Address of the first element of row `y`, slice `z` of the rectangle.
    pub fn row(&self, element: u64, y: u64, z: u64) -> u64 {
        let [x0, y0, z0] = self.offset;
        let elements = x0 + (y0 + y) * self.pitch + (z0 + z) * self.slice;
        self.base.wrapping_add(elements.wrapping_mul(element))
    }
}

/// A packet and its length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Name of its form.
    pub name: &'static str,
    /// The packet.
    pub packet: Packet,
    /// Its dwords in the ring.
    pub dwords: u32,
}

impl Packet {
    /// Whether it moves bytes that a kernel may use again too early: copies, swaps, fills, writes.
    pub(super) const fn carries_bytes(&self) -> bool {
        matches!(
            self,
            Self::Copy { .. }
                | Self::Broadcast { .. }
                | Self::Multicast { .. }
                | Self::SubWindow(_)
                | Self::Swap { .. }
                | Self::Fill { .. }
                | Self::Write { .. }
        )
    }
}

/// Reads the packet that begins at `dwords[0]`. `dwords` are all that may belong to it: up to the ring end or the doorbell.
///
/// # Errors
/// A [`PacketFault`]; [`PacketFault::Short`] if the packet is longer than what is there.
pub fn decode(dwords: &[u32], set: &PacketSet) -> Result<Decoded, PacketFault> {
    let header = *dwords.first().ok_or(PacketFault::Short { name: "packet", needed: 1, available: 0 })?;
    let form = set.form_of(header).ok_or(PacketFault::Unknown { header })?;
    let name = form.name;
    let short = |needed: u64| PacketFault::Short { name, needed, available: dwords.len() as u64 };
    if dwords.len() < form.dwords as usize {
        return Err(short(form.dwords.into()));
    }
    check_reserved(form, dwords)?;
    let total = form.total_dwords(dwords).map_err(|e| PacketFault::Table(e.to_string()))?;
    if total > dwords.len() as u64 {
        return Err(short(total));
    }
    let reader = Reader { form, dwords };
    reader.modelled()?;
    let packet = match name {
        "nop" => Packet::Nop,
        "copy_linear" => reader.copy()?,
        "copy_broadcast" => reader.broadcast()?,
        "copy_multicast" => reader.multicast(total)?,
        "copy_sub_window" => reader.sub_window()?,
        "copy_swap" => reader.swap(set.swap_align_bytes)?,
        "write_linear" => reader.write(total)?,
        "fence" => Packet::Fence { addr: reader.aligned("addr", 4)?, data: reader.get("data")?.into(), bytes: 4 },
        "fence_64b" => Packet::Fence { addr: reader.aligned("addr", 8)?, data: reader.wide("data")?, bytes: 8 },
        "trap" => Packet::Trap { context: reader.get("context")? },
        "poll_regmem" => reader.poll()?,
        "poll_mem_64b" => reader.poll_wide()?,
        "atomic" => reader.atomic()?,
        "const_fill" => reader.fill()?,
        "timestamp" => Packet::Timestamp { addr: reader.aligned("addr", 8)? },
        _ => return Err(PacketFault::Unknown { header }),
    };
    // `total` is at most the length of a slice of a ring.
    Ok(Decoded { name, packet, dwords: total as u32 })
}

/// Every bit of the fixed dwords that no field covers must be zero.
fn check_reserved(form: &PacketForm, dwords: &[u32]) -> Result<(), PacketFault> {
    for (index, dword) in dwords.iter().enumerate().take(form.dwords as usize) {
        let constant = if index == 0 { form.header_mask } else { 0 };
        let fields = form.fields.iter().filter(|field| field.dword as usize == index);
        let known = fields.fold(constant, |bits, field| bits | field.mask());
        if dword & !known != 0 {
            return Err(PacketFault::Reserved { name: form.name, dword: index as u32, bits: dword & !known });
        }
    }
    Ok(())
}

/// Fields, by name in any generation's forms, that must be zero because the engine here does not do what they ask for.
pub(super) const OFF: [&str; 16] = [
    "encrypt",
    "tmz",
    "swap",
    "src_swap",
    "dst_swap",
    "dst1_swap",
    "dst2_swap",
    "loop",
    "loop_interval",
    "compare_lo",
    "compare_hi",
    "temporal",
    "src_temporal",
    "dst_temporal",
    "gpa",
    "cache_policy",
];

/// Fields that must hold the system's scope. (A poll's is not among them: mori posts polls with the layout of gfx9, whose
/// bits there are zero, on gfx1250 as well.)
pub(super) const SYSTEM: [&str; 3] = ["scope", "src_scope", "dst_scope"];

/// The fields of one packet.
struct Reader<'a> {
    form: &'static PacketForm,
    dwords: &'a [u32],
}

impl Reader<'_> {
    fn get(&self, field: &str) -> Result<u32, PacketFault> {
        self.form.get(self.dwords, field).map_err(|e| PacketFault::Table(e.to_string()))
    }

    fn wide(&self, field: &str) -> Result<u64, PacketFault> {
        self.form.get64(self.dwords, field).map_err(|e| PacketFault::Table(e.to_string()))
    }

    /// A field that holds one less than the quantity.
    fn minus_1(&self, field: &str) -> Result<u64, PacketFault> {
        Ok(u64::from(self.get(field)?) + 1)
    }

    fn aligned(&self, field: &'static str, align: u64) -> Result<u64, PacketFault> {
        let address = self.wide(field)?;
        self.check_align(field, address, align)?;
        Ok(address)
    }

    fn check_align(&self, field: &'static str, address: u64, align: u64) -> Result<(), PacketFault> {
        match address % align {
            0 => Ok(()),
            _ => Err(PacketFault::Misaligned { name: self.form.name, field, address, align }),
        }
    }

    /// What the packet asks for beyond its operation must be what the engine here does.
    fn modelled(&self) -> Result<(), PacketFault> {
        let is_poll = matches!(self.form.name, "poll_regmem" | "poll_mem_64b");
        for field in self.form.fields {
            let wanted = match field.name {
                name if OFF.contains(&name) => 0,
                name if SYSTEM.contains(&name) && !is_poll => SCOPE_SYSTEM,
                _ => continue,
            };
            let value = self.get(field.name)?;
            if value != wanted {
                return Err(PacketFault::NotModelled { name: self.form.name, field: field.name, value });
            }
        }
        Ok(())
    }

    fn copy(&self) -> Result<Packet, PacketFault> {
        Ok(Packet::Copy { src: self.wide("src")?, dst: self.wide("dst")?, bytes: self.minus_1("bytes_minus_1")? })
    }

    fn broadcast(&self) -> Result<Packet, PacketFault> {
        Ok(Packet::Broadcast {
            src: self.wide("src")?,
            dst: [self.wide("dst1")?, self.wide("dst2")?],
            bytes: self.minus_1("bytes_minus_1")?,
        })
    }

    fn multicast(&self, total: u64) -> Result<Packet, PacketFault> {
        let pairs = self.dwords[self.form.dwords as usize..total as usize].chunks_exact(2);
        let dsts = pairs.map(|pair| u64::from(pair[1]) << 32 | u64::from(pair[0])).collect();
        Ok(Packet::Multicast { src: self.wide("src")?, dsts, bytes: self.minus_1("bytes_minus_1")? })
    }

    fn sub_window(&self) -> Result<Packet, PacketFault> {
        let log2 = self.get("element_log2_bytes")?;
        if log2 > 4 {
            return Err(PacketFault::BadField { name: self.form.name, field: "element_log2_bytes", value: log2 });
        }
        let space = |base, names: [&str; 5]| -> Result<Pitched, PacketFault> {
            let [x, y, z, pitch, slice] = names;
            let offset = [x, y, z].map(|axis| self.get(axis).map(u64::from));
            let [x, y, z] = offset;
            Ok(Pitched { base, offset: [x?, y?, z?], pitch: self.minus_1(pitch)?, slice: self.minus_1(slice)? })
        };
        // Bases in whole dwords: what ROCr demands; a start inside a dword goes into the offset.
        let src = self.aligned("src", 4)?;
        let dst = self.aligned("dst", 4)?;
        Ok(Packet::SubWindow(Box::new(SubWindow {
            element: 1 << log2,
            src: space(src, ["src_x", "src_y", "src_z", "src_pitch_minus_1", "src_slice_minus_1"])?,
            dst: space(dst, ["dst_x", "dst_y", "dst_z", "dst_pitch_minus_1", "dst_slice_minus_1"])?,
            rect: [self.minus_1("rect_x_minus_1")?, self.minus_1("rect_y_minus_1")?, self.minus_1("rect_z_minus_1")?],
        })))
    }

    fn swap(&self, align: u64) -> Result<Packet, PacketFault> {
        let (a, b) = (self.aligned("a", align)?, self.aligned("b", align)?);
        Ok(Packet::Swap { a, b, bytes: self.minus_1("bytes_minus_1")? })
    }

    fn write(&self, total: u64) -> Result<Packet, PacketFault> {
        debug_assert!(matches!(self.form.tail, Tail::CountPlus1(_)));
        let data = self.dwords[self.form.dwords as usize..total as usize].to_vec();
        Ok(Packet::Write { dst: self.aligned("dst", 4)?, data })
    }

    fn compare(&self) -> Result<Compare, PacketFault> {
        let value = self.get("func")?;
        Compare::from_code(value).ok_or(PacketFault::BadField { name: self.form.name, field: "func", value })
    }

    /// The 64-bit wait, in which no retries stand for endless ones.
    fn poll_wide(&self) -> Result<Packet, PacketFault> {
        let retries = self.get("retry_count")?;
        Ok(Packet::Poll {
            addr: self.aligned("addr", 8)?,
            bytes: 8,
            compare: self.compare()?,
            reference: self.wide("reference")?,
            mask: self.wide("mask")?,
            retries: (retries != 0).then_some(retries),
        })
    }

    fn poll(&self) -> Result<Packet, PacketFault> {
        let compare = self.compare()?;
        if self.get("mem_poll")? == 0 {
            // A register; `always` on one is how the drivers flush the host data path, which is always coherent here.
            return match compare {
                Compare::Always => Ok(Packet::Nop),
                _ => Err(PacketFault::NotModelled { name: self.form.name, field: "mem_poll", value: 0 }),
            };
        }
        let retries = self.get("retry_count")?;
        Ok(Packet::Poll {
            addr: self.aligned("addr", 4)?,
            bytes: 4,
            compare,
            reference: self.get("reference")?.into(),
            mask: self.get("mask")?.into(),
            retries: (retries != tilewright_target::sdma::POLL_RETRY_FOREVER).then_some(retries),
        })
    }

    fn atomic(&self) -> Result<Packet, PacketFault> {
        let operation = self.get("operation")?;
        if operation != tilewright_target::sdma::ATOMIC_ADD64 {
            return Err(PacketFault::NotModelled { name: self.form.name, field: "operation", value: operation });
        }
        Ok(Packet::AtomicAdd { addr: self.aligned("addr", 8)?, operand: self.wide("data")? })
    }

    fn fill(&self) -> Result<Packet, PacketFault> {
        let log2 = self.get("fill_log2_bytes")?;
        let element = 1u32 << log2;
        if log2 > 2 {
            return Err(PacketFault::BadField { name: self.form.name, field: "fill_log2_bytes", value: log2 });
        }
        let count = self.get("count")?;
        if !count.is_multiple_of(element) {
            return Err(PacketFault::BadField { name: self.form.name, field: "count", value: count });
        }
        // The field holds the bytes less one element.
        let bytes = u64::from(count) + u64::from(element);
        Ok(Packet::Fill { dst: self.aligned("dst", element.into())?, value: self.get("value")?, element, bytes })
    }
}

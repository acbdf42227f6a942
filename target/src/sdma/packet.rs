//! Packet forms as data: named bit fields in dwords, and small helpers that place and read one field.
//!
//! What must hold here: a field lies in one dword and no two fields of a form overlap (tested for every form); placing a
//! value that does not fit is an error, never a truncation. Addresses are two fields, `*_lo` and `*_hi`. Fields named
//! `*_minus_1` hold one less than the quantity.

use std::fmt;

/// A bit field of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name, unique in its form.
    pub name: &'static str,
    /// Dword index in the packet, 0 is the header.
    pub dword: u32,
    /// Lowest bit.
    pub lo_bit: u32,
    /// Width in bits, 1 to 32.
    pub bits: u32,
}

impl Field {
    /// A field of `bits` bits at `lo_bit` of dword `dword`.
    pub(crate) const fn new(name: &'static str, dword: u32, lo_bit: u32, bits: u32) -> Field {
        assert!(bits >= 1 && lo_bit + bits <= 32, "a field lies inside one dword");
        Field { name, dword, lo_bit, bits }
    }

    /// A whole dword.
    pub(crate) const fn whole(name: &'static str, dword: u32) -> Field {
        Field::new(name, dword, 0, 32)
    }

    /// Largest value that fits.
    pub const fn max(&self) -> u32 {
        u32::MAX >> (32 - self.bits)
    }

    /// The field's bits in its dword.
    pub const fn mask(&self) -> u32 {
        self.max() << self.lo_bit
    }

    /// `value` at the field's place, all other bits zero.
    ///
    /// # Errors
    /// [`PacketError::Overflow`] if the value needs more bits than the field has.
    pub const fn place(&self, value: u64) -> Result<u32, PacketError> {
        if value > self.max() as u64 {
            return Err(PacketError::Overflow { field: self.name, bits: self.bits, value });
        }
        Ok((value as u32) << self.lo_bit)
    }

    /// The field's value in `dword`, which is the dword it lies in.
    pub const fn extract(&self, dword: u32) -> u32 {
        (dword & self.mask()) >> self.lo_bit
    }
}

/// What follows the fixed dwords of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Nothing: the packet has exactly `dwords` dwords.
    None,
    /// As many dwords as the field says.
    Count(&'static str),
    /// As many dwords as the field says, plus one.
    CountPlus1(&'static str),
    /// Twice as many dwords as the field says, plus two (address pairs).
    PairsPlus1(&'static str),
}

/// The layout of one kind of packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketForm {
    /// Name as the tables of the driver headers have it, lower case.
    pub name: &'static str,
    /// Fixed dwords, header included.
    pub dwords: u32,
    /// What follows them.
    pub tail: Tail,
    /// Constant bits of the header: operation (bits 7 to 0), sub-operation (bits 15 to 8) and bits that tell forms apart.
    pub header: u32,
    /// Header bits that are constant; a dword `h` starts such a packet iff `h & header_mask == header`.
    pub header_mask: u32,
    /// All other fields.
    pub fields: &'static [Field],
}

impl PacketForm {
    /// Whether a header dword starts a packet of this form.
    pub const fn matches(&self, header: u32) -> bool {
        header & self.header_mask == self.header
    }

    /// The field of that name.
    ///
    /// # Errors
    /// [`PacketError::NoField`] if the form has none.
    pub fn field(&self, name: &str) -> Result<&'static Field, PacketError> {
        self.fields
            .iter()
            .find(|field| field.name == name)
            .ok_or_else(|| PacketError::NoField { form: self.name, field: name.to_owned() })
    }

    /// The value of a field in a packet.
    ///
    /// # Errors
    /// [`PacketError::NoField`], or [`PacketError::Short`] if the packet ends before the field.
    pub fn get(&self, packet: &[u32], name: &str) -> Result<u32, PacketError> {
        let field = self.field(name)?;
        match packet.get(field.dword as usize) {
            Some(dword) => Ok(field.extract(*dword)),
            None => Err(PacketError::Short { form: self.name, dwords: packet.len(), needed: field.dword as usize + 1 }),
        }
    }

    /// The value of an address or other 64-bit quantity in the fields `<name>_lo` and `<name>_hi`.
    ///
    /// # Errors
    /// As [`PacketForm::get`].
    pub fn get64(&self, packet: &[u32], name: &str) -> Result<u64, PacketError> {
        let lo = self.get(packet, &format!("{name}_lo"))?;
        let hi = self.get(packet, &format!("{name}_hi"))?;
        Ok(u64::from(hi) << 32 | u64::from(lo))
    }

    /// The fixed dwords with the given fields filled in and all others zero. A tail is for the caller to append.
    ///
    /// # Errors
    /// [`PacketError::NoField`] or [`PacketError::Overflow`].
    pub fn pack(&self, values: &[(&str, u64)]) -> Result<Vec<u32>, PacketError> {
        let mut packet = vec![0; self.dwords as usize];
        packet[0] = self.header;
        for (name, value) in values {
            let field = self.field(name)?;
            let dword = &mut packet[field.dword as usize];
            *dword = *dword & !field.mask() | field.place(*value)?;
        }
        Ok(packet)
    }

    /// Dwords of the packet that starts with `fixed` (at least the dwords up to the counting field), tail included.
    ///
    /// # Errors
    /// As [`PacketForm::get`].
    pub fn total_dwords(&self, fixed: &[u32]) -> Result<u64, PacketError> {
        let tail = match self.tail {
            Tail::None => 0,
            Tail::Count(field) => u64::from(self.get(fixed, field)?),
            Tail::CountPlus1(field) => u64::from(self.get(fixed, field)?) + 1,
            Tail::PairsPlus1(field) => u64::from(self.get(fixed, field)?) * 2 + 2,
        };
        Ok(u64::from(self.dwords) + tail)
    }
}

/// The packet forms of one generation of engines. Forms that only some generations have are optional.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSet {
    /// Name of the generation.
    pub name: &'static str,
    /// No operation; a zero dword is a NOP of one dword.
    pub nop: &'static PacketForm,
    /// Copy of contiguous bytes.
    pub copy_linear: &'static PacketForm,
    /// Copy of contiguous bytes to two destinations.
    pub copy_broadcast: &'static PacketForm,
    /// Copy of a strided rectangle of up to three dimensions.
    pub copy_sub_window: &'static PacketForm,
    /// Exchange of two ranges.
    pub copy_swap: &'static PacketForm,
    /// Write of dwords that stand in the packet.
    pub write_linear: &'static PacketForm,
    /// Write of 32 bits after everything before it.
    pub fence: &'static PacketForm,
    /// Interrupt.
    pub trap: &'static PacketForm,
    /// Wait until a 32-bit condition on memory or a register holds.
    pub poll_regmem: &'static PacketForm,
    /// Atomic operation on memory.
    pub atomic: &'static PacketForm,
    /// Fill with a constant.
    pub const_fill: &'static PacketForm,
    /// Write of the global time stamp.
    pub timestamp: &'static PacketForm,
    /// Copy of contiguous bytes to up to 1024 destinations.
    pub copy_multicast: Option<&'static PacketForm>,
    /// Write of 64 bits after everything before it.
    pub fence_64b: Option<&'static PacketForm>,
    /// Wait until a 64-bit condition on memory holds.
    pub poll_mem_64b: Option<&'static PacketForm>,
    /// Alignment in bytes of both ranges of an exchange.
    pub swap_align_bytes: u64,
}

impl PacketSet {
    /// All forms of the generation.
    pub fn forms(&self) -> Vec<&'static PacketForm> {
        let always = [
            self.nop,
            self.copy_linear,
            self.copy_broadcast,
            self.copy_sub_window,
            self.copy_swap,
            self.write_linear,
            self.fence,
            self.trap,
            self.poll_regmem,
            self.atomic,
            self.const_fill,
            self.timestamp,
        ];
        let sometimes = [self.copy_multicast, self.fence_64b, self.poll_mem_64b];
        always.into_iter().chain(sometimes.into_iter().flatten()).collect()
    }

    /// The form that a header dword starts; `None` for an operation that is not in the table.
    pub fn form_of(&self, header: u32) -> Option<&'static PacketForm> {
        self.forms().into_iter().find(|form| form.matches(header))
    }
}

/// A packet could not be built or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PacketError {
    /// A value has more bits than its field.
    Overflow {
        /// The field.
        field: &'static str,
        /// Its width in bits.
        bits: u32,
        /// The value.
        value: u64,
    },
    /// The form has no such field.
    NoField {
        /// The form.
        form: &'static str,
        /// The name asked for.
        field: String,
    },
    /// The packet ends too early.
    Short {
        /// The form.
        form: &'static str,
        /// Dwords that are there.
        dwords: usize,
        /// Dwords that are needed.
        needed: usize,
    },
}

impl fmt::Display for PacketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PacketError::Overflow { field, bits, value } => {
                write!(f, "value {value:#x} does not fit the {bits}-bit packet field `{field}`")
            }
            PacketError::NoField { form, field } => write!(f, "packet `{form}` has no field `{field}`"),
            PacketError::Short { form, dwords, needed } => {
                write!(f, "packet `{form}` needs {needed} dwords, but only {dwords} are there")
            }
        }
    }
}

impl std::error::Error for PacketError {}

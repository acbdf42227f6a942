//! Memory instructions.
//!
//! Must hold: see [`super`].

use std::fmt::{self, Formatter};

use super::{List, operand};
use crate::isa::inst::{Format, Inst};
use crate::isa::op::Op;
use crate::isa::operand::Operand;
use crate::isa::table::{ATOMIC, IMM, STORE, TO_LDS, TWO, Ty};

impl Inst {
    pub(super) fn list_source(&self, list: &mut List<'_, '_>, i: usize) -> fmt::Result {
        list.operand(self.src[i], self.row.src[i], self.src_dwords[i])
    }

    pub(super) fn flag(&self, f: &mut Formatter<'_>, set: bool, name: &str) -> fmt::Result {
        if set { write!(f, " {name}") } else { Ok(()) }
    }

    pub(super) fn print_smem(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let row = self.row;
        let mut list = List::new(f);
        if row.has(IMM) || row.src[2] != Ty::None {
            // What is read stands where others have their destination.
            let ty = if row.has(IMM) { Ty::B32 } else { row.src[2] };
            if row.has(IMM) {
                let Operand::Simm16(value) = self.src[2] else { return Err(fmt::Error) };
                super::immediate::number(list.next()?, value as u16)?;
            } else {
                list.operand(self.src[2], ty, self.src_dwords[2])?;
            }
        } else if self.dst != Operand::None {
            list.operand(self.dst, row.dst, self.dst_dwords)?;
        }
        if self.src[0] == Operand::None {
            return Ok(());
        }
        self.list_source(&mut list, 0)?;
        let immediate = self.raw[0] >> 17 & 1 != 0;
        let (sign, size) = (if self.mem.offset < 0 { "-" } else { "" }, self.mem.offset.unsigned_abs());
        if self.src[1] != Operand::None {
            self.list_source(&mut list, 1)?;
            if immediate {
                write!(list.f, " offset:{sign}{size:#x}")?;
            }
        } else {
            write!(list.next()?, "{sign}{size:#x}")?;
        }
        self.flag(f, self.mem.sc0 && (row.dst != Ty::None || row.has(STORE)), "glc")
    }

    pub(super) fn print_ds(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut list = List::new(f);
        if self.dst != Operand::None {
            list.operand(self.dst, self.row.dst, self.dst_dwords)?;
        }
        for i in 0..3 {
            if self.src[i] != Operand::None {
                self.list_source(&mut list, i)?;
            }
        }
        let offset = self.mem.offset;
        if self.op == Op::DsSwizzleB32 {
            swizzle(f, offset as u16)?;
        } else if self.row.has(TWO) {
            if offset != 0 {
                write!(f, " offset0:{offset}")?;
            }
            if self.mem.offset1 != 0 {
                write!(f, " offset1:{}", self.mem.offset1)?;
            }
        } else if offset != 0 {
            write!(f, " offset:{offset}")?;
        }
        self.flag(f, self.mem.gds, "gds")
    }

    pub(super) fn print_flat(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut list = List::new(f);
        if self.dst != Operand::None {
            list.operand(self.dst, self.row.dst, self.dst_dwords)?;
        }
        self.list_source(&mut list, 0)?;
        if self.src[1] != Operand::None {
            self.list_source(&mut list, 1)?;
        }
        if self.format != Format::Flat {
            self.list_source(&mut list, 2)?;
        }
        if self.mem.offset != 0 {
            write!(f, " offset:{}", self.mem.offset)?;
        }
        self.scopes(f)
    }

    fn scopes(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.flag(f, self.mem.sc0, "sc0")?;
        self.flag(f, self.mem.nt, "nt")?;
        self.flag(f, self.mem.sc1, "sc1")
    }

    pub(super) fn print_buffer(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let row = self.row;
        if row.src[3] == Ty::None {
            self.flag(f, self.mem.sc0, "sc0")?;
            return self.flag(f, self.mem.sc1, "sc1");
        }
        let mut list = List::new(f);
        if row.has(STORE) || row.has(ATOMIC) {
            self.list_source(&mut list, 1)?;
        } else if self.dst != Operand::None {
            list.operand(self.dst, row.dst, self.dst_dwords)?;
        }
        self.list_source(&mut list, 0)?;
        self.list_source(&mut list, 2)?;
        let last = list.next()?;
        operand::write(last, self.src[3], Ty::B32, 1)?;
        if self.format == Format::Mtbuf {
            format(f, self.mem.format)?;
        }
        self.flag(f, self.mem.idxen, "idxen")?;
        self.flag(f, self.mem.offen, "offen")?;
        if self.mem.offset != 0 {
            write!(f, " offset:{}", self.mem.offset)?;
        }
        self.scopes(f)?;
        self.flag(f, self.mem.lds && row.has(TO_LDS), "lds")
    }
}

/// Data formats of typed buffers by number.
const DATA: [&str; 16] = [
    "INVALID",
    "8",
    "16",
    "8_8",
    "32",
    "16_16",
    "10_11_11",
    "11_11_10",
    "10_10_10_2",
    "2_10_10_10",
    "8_8_8_8",
    "32_32",
    "16_16_16_16",
    "32_32_32",
    "32_32_32_32",
    "RESERVED_15",
];

/// Number formats of typed buffers by number.
const NUMBER: [&str; 8] = ["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "RESERVED_6", "FLOAT"];

/// Data format in bits 3:0 (8 is usual), number format in 6:4 (unsigned normalised is usual); the usual parts are left out.
fn format(f: &mut Formatter<'_>, code: u8) -> fmt::Result {
    let (data, number) = (usize::from(code & 15), usize::from(code >> 4));
    match (data, number) {
        (1, 0) => Ok(()),
        (1, _) => write!(f, " format:[BUF_NUM_FORMAT_{}]", NUMBER[number]),
        (_, 0) => write!(f, " format:[BUF_DATA_FORMAT_{}]", DATA[data]),
        _ => write!(f, " format:[BUF_DATA_FORMAT_{},BUF_NUM_FORMAT_{}]", DATA[data], NUMBER[number]),
    }
}

/// The lane pattern of `ds_swizzle_b32`.
fn swizzle(f: &mut Formatter<'_>, code: u16) -> fmt::Result {
    if code == 0 {
        return Ok(());
    }
    if code >= 0xe000 {
        return write!(f, " offset:swizzle(FFT,{})", code & 31);
    }
    if code >= 0xc000 {
        return write!(f, " offset:swizzle(ROTATE,{},{})", code >> 10 & 1, code >> 5 & 31);
    }
    if code & 0xff00 == 0x8000 {
        let lane = |i: u16| code >> (2 * i) & 3;
        return write!(f, " offset:swizzle(QUAD_PERM,{},{},{},{})", lane(0), lane(1), lane(2), lane(3));
    }
    if code & 0x8000 != 0 {
        return write!(f, " offset:{code}");
    }
    masks(f, code & 31, code >> 5 & 31, code >> 10 & 31)
}

/// Bit-mask mode: lane = (lane and `and` or `or`) xor `xor`, with names for the usual cases.
fn masks(f: &mut Formatter<'_>, and: u16, or: u16, xor: u16) -> fmt::Result {
    f.write_str(" offset:swizzle(")?;
    let group = 32 - and;
    if and == 31 && or == 0 && xor.is_power_of_two() {
        return write!(f, "SWAP,{xor})");
    }
    if and == 31 && or == 0 && xor > 0 && (xor + 1).is_power_of_two() {
        return write!(f, "REVERSE,{})", xor + 1);
    }
    if xor == 0 && group > 1 && group.is_power_of_two() && or < group {
        return write!(f, "BROADCAST,{group},{or})");
    }
    f.write_str("BITMASK_PERM,\"")?;
    for i in (0..5).rev() {
        let through = |input: u16| ((input & and >> i) | or >> i & 1) ^ (xor >> i & 1);
        f.write_str(match (through(0) & 1, through(1) & 1) {
            (0, 0) => "0",
            (0, _) => "p",
            (_, 0) => "i",
            _ => "1",
        })?;
    }
    f.write_str("\")")
}

//! Memory instructions of gfx1250: scalar memory and the 96-bit encodings.
//!
//! Must hold: see [`super`].

use std::fmt::{self, Formatter};

use super::{List, immediate, operand};
use crate::isa::inst::{Format, Inst};
use crate::isa::operand::{Operand, Scope};
use crate::isa::table::{ATOMIC, PREFETCH, STORE, Ty};

impl Inst {
    pub(super) fn print_smem12(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let row = self.row;
        let mut list = List::new(f);
        let length = match self.src[2] {
            Operand::Simm16(value) => value as u16,
            _ => 0,
        };
        if self.dst != Operand::None {
            list.operand(self.dst, row.dst, self.dst_dwords)?;
        }
        if self.src[0] != Operand::None {
            self.list_source(&mut list, 0)?;
        } else if !row.has(PREFETCH) {
            return Ok(());
        }
        let (sign, size) = (if self.mem.offset < 0 { "-" } else { "" }, self.mem.offset.unsigned_abs());
        if row.has(PREFETCH) {
            write!(list.next()?, "{sign}{size:#x}")?;
            let register = if self.src[1] == Operand::None { Operand::Null } else { self.src[1] };
            list.operand(register, Ty::B32, 1)?;
            return immediate::number(list.next()?, length);
        }
        if self.src[1] != Operand::None {
            self.list_source(&mut list, 1)?;
            write!(list.f, " offset:{sign}{size:#x}")?;
        } else {
            write!(list.next()?, "{sign}{size:#x}")?;
        }
        self.hints(f)
    }

    /// The 96-bit encodings.
    pub(super) fn print_wide(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let row = self.row;
        let buffer = self.format == Format::Mubuf;
        let mut list = List::new(f);
        if buffer && (row.has(STORE) || row.has(ATOMIC)) {
            self.list_source(&mut list, 1)?;
        } else if self.dst != Operand::None {
            list.operand(self.dst, row.dst, self.dst_dwords)?;
        }
        if buffer {
            self.list_source(&mut list, 0)?;
            self.list_source(&mut list, 2)?;
            operand::write(list.next()?, self.src[3], Ty::B32, 1)?;
        } else if row.src != [Ty::None; 4] || row.dst != Ty::None {
            // Where loads to LDS have their destination is the address in LDS.
            let to_lds = self.src[1] != Operand::None && !row.has(STORE) && !row.has(ATOMIC);
            let order: &[usize] = if to_lds { &[1, 0] } else { &[0, 1] };
            for &i in order.iter().filter(|i| row.src[**i] != Ty::None) {
                self.list_source(&mut list, i)?;
            }
            if self.format != Format::Flat || self.src[2] != Operand::None {
                self.list_source(&mut list, 2)?;
            }
        }
        self.flag(f, self.mem.idxen, "idxen")?;
        self.flag(f, self.mem.offen, "offen")?;
        if self.mem.offset != 0 {
            write!(f, " offset:{}", self.mem.offset)?;
        }
        self.hints(f)
    }

    /// Scaling, temporal hint, scope.
    fn hints(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.flag(f, self.mem.scale_offset, "scale_offset")?;
        if self.mem.th != 0 {
            f.write_str(" th:")?;
            self.hint(f)?;
        }
        f.write_str(match self.mem.scope {
            Scope::Cu => "",
            Scope::Se => " scope:SCOPE_SE",
            Scope::Dev => " scope:SCOPE_DEV",
            Scope::Sys => " scope:SCOPE_SYS",
        })?;
        self.flag(f, self.mem.nv, "nv")
    }

    fn hint(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (th, far) = (self.mem.th, self.mem.scope >= Scope::Dev);
        if self.row.has(ATOMIC) {
            return f.write_str(match th {
                1 => "TH_ATOMIC_RETURN",
                2 => "TH_ATOMIC_NT",
                3 => "TH_ATOMIC_NT_RETURN",
                4 | 5 if far => "TH_ATOMIC_CASCADE_RT",
                6 | 7 if far => "TH_ATOMIC_CASCADE_NT",
                _ => return write!(f, "TH_ATOMIC_{th:#x}"),
            });
        }
        let store = self.row.has(STORE);
        let scalar = self.format == Format::Smem;
        let name = match th {
            _ if scalar && th > 3 => "",
            1 => "NT",
            2 => "HT",
            3 if self.mem.scope == Scope::Sys => "BYPASS",
            3 if store => "WB",
            3 => "LU",
            4 => "NT_RT",
            5 => "RT_NT",
            6 => "NT_HT",
            7 if store => "NT_WB",
            _ => "",
        };
        match name {
            "" => write!(f, "{th:#x}"),
            name => write!(f, "TH_{}_{name}", if store { "STORE" } else { "LOAD" }),
        }
    }
}

//! Memory: SMEM, VDS, VFLAT, VSCRATCH, VGLOBAL, VBUFFER.
//!
//! Must hold: see [`super`]; as in LLVM's disassembler, register fields that an opcode does not use and bits of no field are
//! ignored in the 96-bit encodings and must be zero in VDS.

use super::operand::{NULL, scalar_register};
use crate::isa::decode::operand::vector_register;
use crate::isa::decode::{Code, Why, bit, bits, blank};
use crate::isa::inst::{Format, Inst};
use crate::isa::operand::{Operand, Scope};
use crate::isa::table::gfx12::{BUFFER, DS, FLAT, GLOBAL, SCRATCH, SMEM};
use crate::isa::table::{self, ATOMIC, PREFETCH, STORE, TO_LDS, TWO, Ty};

static SMEM_INDEX: [u16; 64] = table::index(SMEM);
static DS_INDEX: [u16; 256] = table::index(DS);
static FLAT_INDEX: [u16; 256] = table::index(FLAT);
static GLOBAL_INDEX: [u16; 256] = table::index(GLOBAL);
static SCRATCH_INDEX: [u16; 256] = table::index(SCRATCH);
static BUFFER_INDEX: [u16; 256] = table::index(BUFFER);

const SCOPES: [Scope; 4] = [Scope::Cu, Scope::Se, Scope::Dev, Scope::Sys];

/// The 24 bits of an offset, signed.
fn offset24(field: u32) -> i32 {
    (field << 8) as i32 >> 8
}

impl Code {
    pub(super) fn smem12(&mut self, w: u32) -> Result<Inst, Why> {
        let row = self.row(SMEM, &SMEM_INDEX, bits(w, 13, 6))?;
        let mut inst = blank(row, Format::Smem);
        let hi = self.second()?;
        let data = bits(w, 6, 7);
        inst.mem.nv = bit(w, 20);
        inst.mem.scope = SCOPES[bits(w, 21, 2) as usize];
        inst.mem.th = bits(w, 23, 2) as u8;
        inst.mem.scale_offset = bit(hi, 24);
        inst.mem.offset = offset24(bits(hi, 0, 24));
        if row.dst != Ty::None {
            // M0 and EXEC hold no data of scalar memory.
            if data > NULL {
                return Err(Why::Operand);
            }
            let dwords = row.dst.dwords();
            inst.set_dst(scalar_register(data, dwords)?, dwords);
        }
        if row.src[0] == Ty::None && !row.has(PREFETCH) {
            inst.mem = Default::default();
            return Ok(inst);
        }
        let dwords = row.src[0].dwords();
        if dwords > 0 {
            inst.set_src(0, scalar_register(bits(w, 0, 6) * 2, dwords)?, dwords);
        }
        let register = bits(hi, 25, 7);
        if register != NULL {
            inst.set_src(1, scalar_register(register, 1)?, 1);
        }
        if row.has(PREFETCH) {
            if data > 31 {
                return Err(Why::Reserved);
            }
            inst.set_src(2, Operand::Simm16(data as i16), 1);
        }
        // Behind a buffer's base nothing lies before it.
        if row.src[0] == Ty::S128 && inst.mem.offset < 0 { Err(Why::Reserved) } else { Ok(inst) }
    }

    pub(super) fn ds12(&mut self, w: u32) -> Result<Inst, Why> {
        let row = self.row(DS, &DS_INDEX, bits(w, 18, 8))?;
        let mut inst = blank(row, Format::Ds);
        let hi = self.second()?;
        if bits(w, 16, 2) != 0 {
            return Err(Why::Reserved);
        }
        if row.has(TWO) {
            inst.mem.offset = bits(w, 0, 8) as i32;
            inst.mem.offset1 = bits(w, 8, 8) as u8;
        } else {
            inst.mem.offset = bits(w, 0, 16) as i32;
        }
        for i in 0..3 {
            let (field, dwords) = (bits(hi, 8 * i as u32, 8), row.src[i].dwords());
            if dwords > 0 {
                inst.set_src(i, vector_register(field, dwords)?, dwords);
            } else if field != 0 {
                return Err(Why::Reserved);
            }
        }
        let (field, dwords) = (bits(hi, 24, 8), row.dst.dwords());
        if dwords > 0 {
            inst.set_dst(vector_register(field, dwords)?, dwords);
        } else if field != 0 {
            return Err(Why::Reserved);
        }
        if row.dst == Ty::None && row.src == [Ty::None; 4] && inst.mem.offset != 0 {
            return Err(Why::Reserved);
        }
        Ok(inst)
    }

    /// What the 96-bit encodings have in common: scope, hints, offset. The second and the third dword.
    fn wide(&mut self, inst: &mut Inst, w: u32) -> Result<(u32, u32), Why> {
        self.used = 3;
        let (mid, hi) = (self.word(1)?, self.word(2)?);
        inst.mem.nv = bit(w, 7);
        inst.mem.scope = SCOPES[bits(mid, 18, 2) as usize];
        inst.mem.th = bits(mid, 20, 3) as u8;
        inst.mem.offset = offset24(bits(hi, 8, 24));
        Ok((mid, hi))
    }

    pub(super) fn flat12(&mut self, w: u32) -> Result<Inst, Why> {
        let code = bits(w, 14, 8);
        let (row, format) = match w >> 24 {
            0xec => (self.row(FLAT, &FLAT_INDEX, code)?, Format::Flat),
            0xed => (self.row(SCRATCH, &SCRATCH_INDEX, code)?, Format::Scratch),
            _ => (self.row(GLOBAL, &GLOBAL_INDEX, code)?, Format::Global),
        };
        let mut inst = blank(row, format);
        let (mid, hi) = self.wide(&mut inst, w)?;
        inst.mem.scale_offset = bit(mid, 16);
        if format != Format::Scratch && bit(mid, 17) {
            return Err(Why::Reserved);
        }
        self.address12(&mut inst, bits(w, 0, 7), bits(hi, 0, 8), bit(mid, 17))?;
        let returned = bits(mid, 0, 8);
        let dwords = row.src[1].dwords();
        if dwords > 0 {
            // Where loads to LDS have their destination is the address in LDS.
            let to_lds = row.has(TO_LDS) && !row.has(STORE);
            let field = if to_lds { returned } else { bits(mid, 23, 8) };
            inst.set_src(1, vector_register(field, dwords)?, dwords);
        }
        let dwords = row.dst.dwords();
        if dwords > 0 && (!row.has(ATOMIC) || inst.mem.th & 1 != 0) {
            inst.set_dst(vector_register(returned, dwords)?, dwords);
        }
        // Cache operations have no address to offset.
        if row.src == [Ty::None; 4] && row.dst == Ty::None {
            inst.mem.offset = 0;
        }
        Ok(inst)
    }

    fn address12(&mut self, inst: &mut Inst, scalar: u32, vector: u32, vector_used: bool) -> Result<(), Why> {
        let scratch = inst.format == Format::Scratch;
        let dwords = if scratch { 1 } else { 2 };
        let cache = inst.row.src == [Ty::None; 4] && inst.row.dst == Ty::None;
        if scalar != NULL {
            // EXEC is no base, and cache operations have none.
            if cache || !scratch && scalar == 126 || scratch && scalar == 127 {
                return Err(Why::Operand);
            }
            inst.set_src(2, scalar_register(scalar, dwords)?, dwords);
        }
        if inst.row.src[0] == Ty::None || scratch && !vector_used {
            return Ok(());
        }
        let dwords = if scratch || scalar != NULL { 1 } else { 2 };
        inst.set_src(0, vector_register(vector, dwords)?, dwords);
        Ok(())
    }

    pub(super) fn buffer12(&mut self, w: u32) -> Result<Inst, Why> {
        let row = self.row(BUFFER, &BUFFER_INDEX, bits(w, 14, 8))?;
        let mut inst = blank(row, Format::Mubuf);
        let (mid, hi) = self.wide(&mut inst, w)?;
        // The offset is not negative; nothing reports a missing page (`tfe`).
        if inst.mem.offset < 0 || bit(w, 22) || bits(mid, 16, 2) != 0 {
            return Err(Why::Reserved);
        }
        (inst.mem.offen, inst.mem.idxen) = (bit(mid, 30), bit(mid, 31));
        let address = u8::from(inst.mem.offen) + u8::from(inst.mem.idxen);
        if address > 0 {
            inst.set_src(0, vector_register(bits(hi, 0, 8), address)?, address);
        }
        let data = bits(mid, 0, 8);
        if row.has(STORE) || row.has(ATOMIC) {
            let dwords = row.src[1].dwords();
            inst.set_src(1, vector_register(data, dwords)?, dwords);
        }
        let dwords = row.dst.dwords();
        if dwords > 0 && (!row.has(ATOMIC) || inst.mem.th & 1 != 0) {
            inst.set_dst(vector_register(data, dwords)?, dwords);
        }
        inst.set_src(2, scalar_register(bits(mid, 9, 7), 4)?, 4);
        inst.set_src(3, scalar_register(bits(w, 0, 7), 1)?, 1);
        Ok(inst)
    }
}

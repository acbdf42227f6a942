//! SMEM, DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF.
//!
//! Must hold: see [`super`]; register fields that an opcode does not use are ignored in FLAT and MUBUF and must be zero in DS, as in
//! LLVM's disassembler.

use super::operand::{Literals, data_register, scalar_register, vector_register};
use super::{Code, Why, bit, bits, blank};
use crate::isa::Chip;
use crate::isa::inst::{Format, Inst};
use crate::isa::op::Op;
use crate::isa::operand::Operand;
use crate::isa::table::{
    self, ATOMIC, DS, FLAT, GDS, GLOBAL, IMM, LDS950, MTBUF, MUBUF, SCRATCH, SMEM, STORE, TO_LDS, TWO, Ty,
};

static SMEM_INDEX: [u16; 256] = table::index(SMEM);
static DS_INDEX: [u16; 256] = table::index(DS);
static FLAT_INDEX: [u16; 128] = table::index(FLAT);
static GLOBAL_INDEX: [u16; 128] = table::index(GLOBAL);
static SCRATCH_INDEX: [u16; 128] = table::index(SCRATCH);
static MUBUF_INDEX: [u16; 128] = table::index(MUBUF);
static MTBUF_INDEX: [u16; 16] = table::index(MTBUF);

/// Whether LLVM knows the form of this float atomic that returns the old value into accumulation registers.
fn returns_to_accumulators(inst: &Inst) -> bool {
    match inst.op {
        Op::GlobalAtomicAddF32 | Op::GlobalAtomicPkAddF16 => !inst.mem.sc0,
        Op::GlobalAtomicAddF64 | Op::GlobalAtomicMinF64 | Op::GlobalAtomicMaxF64 => !(inst.mem.sc0 && inst.mem.sc1),
        _ => true,
    }
}

impl Code {
    pub(super) fn smem(&mut self, w: u32) -> Result<Inst, Why> {
        let row = self.row(SMEM, &SMEM_INDEX, bits(w, 18, 8))?;
        let mut inst = blank(row, Format::Smem);
        let hi = self.second()?;
        inst.mem.sc0 = bit(w, 16);
        inst.mem.nv = bit(w, 15);
        let data = bits(w, 6, 7);
        // M0 and EXEC hold no data of scalar memory.
        if (row.dst != Ty::None || row.src[2] != Ty::None) && (124..128).contains(&data) {
            return Err(Why::Operand);
        }
        if row.dst != Ty::None && (!row.has(ATOMIC) || inst.mem.sc0) {
            let dwords = row.dst.dwords();
            inst.set_dst(scalar_register(data, dwords)?, dwords);
        }
        if row.src[0] == Ty::None {
            return if !bit(w, 17) { Ok(inst) } else { Err(Why::Reserved) };
        }
        let dwords = row.src[0].dwords();
        inst.set_src(0, scalar_register(bits(w, 0, 6) * 2, dwords)?, dwords);
        let (immediate, register) = (bit(w, 17), bit(w, 14));
        if immediate {
            inst.mem.offset = (bits(hi, 0, 21) << 11) as i32 >> 11;
        }
        if register || !immediate {
            let code = if register { bits(hi, 25, 7) } else { bits(hi, 0, 7) };
            inst.set_src(1, scalar_register(code, 1)?, 1);
        }
        if row.has(IMM) {
            inst.set_src(2, Operand::Simm16(data as i16), 1);
        } else if row.src[2] != Ty::None {
            let dwords = row.src[2].dwords();
            inst.set_src(2, scalar_register(data, dwords)?, dwords);
        }
        Ok(inst)
    }

    pub(super) fn ds(&mut self, w: u32) -> Result<Inst, Why> {
        let row = self.row(DS, &DS_INDEX, bits(w, 17, 8))?;
        let mut inst = blank(row, Format::Ds);
        let hi = self.second()?;
        let (acc, gds) = (bit(w, 25), bit(w, 16));
        if gds != row.has(GDS) {
            return Err(Why::Reserved);
        }
        inst.mem.gds = gds;
        if row.has(TWO) {
            inst.mem.offset = bits(w, 0, 8) as i32;
            inst.mem.offset1 = bits(w, 8, 8) as u8;
        } else {
            inst.mem.offset = bits(w, 0, 16) as i32;
        }
        let fields = [bits(hi, 0, 8), bits(hi, 8, 8), bits(hi, 16, 8)];
        for (i, &field) in fields.iter().enumerate() {
            let dwords = row.src[i].dwords();
            if dwords > 0 {
                inst.set_src(i, data_register(field, dwords, acc && (i > 0 || gds))?, dwords);
            } else if field != 0 {
                return Err(Why::Reserved);
            }
        }
        // Nothing to hold in accumulation registers, nothing to offset.
        let none = row.dst == Ty::None && row.src == [Ty::None; 4];
        if none && (acc || !gds && bits(w, 0, 16) != 0) {
            return Err(Why::Reserved);
        }
        let dwords = row.dst.dwords();
        if dwords > 0 {
            inst.set_dst(data_register(bits(hi, 24, 8), dwords, acc)?, dwords);
        } else if bits(hi, 24, 8) != 0 {
            return Err(Why::Reserved);
        }
        Ok(inst)
    }

    pub(super) fn flat(&mut self, w: u32) -> Result<Inst, Why> {
        let code = bits(w, 18, 7);
        let (row, format) = match bits(w, 14, 2) {
            0 => (self.row(FLAT, &FLAT_INDEX, code)?, Format::Flat),
            1 => (self.row(SCRATCH, &SCRATCH_INDEX, code)?, Format::Scratch),
            2 => (self.row(GLOBAL, &GLOBAL_INDEX, code)?, Format::Global),
            _ => return Err(Why::Opcode),
        };
        let mut inst = blank(row, format);
        let hi = self.second()?;
        let acc = bit(hi, 23);
        let mem = &mut inst.mem;
        (mem.sc0, mem.nt, mem.sc1) = (bit(w, 16), bit(w, 17), bit(w, 25));
        mem.offset = if format == Format::Flat { bits(w, 0, 12) as i32 } else { (bits(w, 0, 13) << 19) as i32 >> 19 };
        // FLAT has 12 bits of offset; the bit above them is part of no field.
        if format == Format::Flat && (bit(w, 12) || bits(hi, 16, 7) != 0) || format != Format::Scratch && bit(w, 13) {
            return Err(Why::Reserved);
        }
        if acc && (row.has(TO_LDS) || format == Format::Global && !returns_to_accumulators(&inst)) {
            return Err(Why::Reserved);
        }
        self.flat_address(&mut inst, w, hi)?;
        let dwords = row.src[1].dwords();
        if dwords > 0 {
            inst.set_src(1, data_register(bits(hi, 8, 8), dwords, acc)?, dwords);
        }
        let dwords = row.dst.dwords();
        if dwords > 0 && (!row.has(ATOMIC) || inst.mem.sc0) {
            inst.set_dst(data_register(bits(hi, 24, 8), dwords, acc)?, dwords);
        }
        Ok(inst)
    }

    fn flat_address(&mut self, inst: &mut Inst, w: u32, hi: u32) -> Result<(), Why> {
        const OFF: u32 = 0x7f;
        let (vector, scalar) = (bits(hi, 0, 8), bits(hi, 16, 7));
        match inst.format {
            Format::Scratch => {
                if bit(w, 13) {
                    inst.set_src(0, vector_register(vector, 1)?, 1);
                }
                if scalar != OFF {
                    inst.set_src(2, scalar_register(scalar, 1)?, 1);
                }
            }
            Format::Global if scalar != OFF => {
                inst.set_src(0, vector_register(vector, 1)?, 1);
                // EXEC is no base.
                if scalar == 126 {
                    return Err(Why::Operand);
                }
                inst.set_src(2, scalar_register(scalar, 2)?, 2);
            }
            _ => inst.set_src(0, vector_register(vector, 2)?, 2),
        }
        Ok(())
    }

    pub(super) fn mubuf(&mut self, w: u32) -> Result<Inst, Why> {
        let row = self.row(MUBUF, &MUBUF_INDEX, bits(w, 18, 7))?;
        let mut inst = blank(row, Format::Mubuf);
        let hi = self.second()?;
        (inst.mem.sc0, inst.mem.sc1, inst.mem.lds, inst.mem.nt) = (bit(w, 14), bit(w, 15), bit(w, 16), bit(w, 17));
        (inst.mem.offen, inst.mem.idxen) = (bit(w, 12), bit(w, 13));
        inst.mem.offset = bits(w, 0, 12) as i32;
        let to_lds = row.has(TO_LDS) && (self.chip == Chip::Gfx950 || !row.has(LDS950));
        if inst.mem.lds && !to_lds {
            return Err(Why::Opcode);
        }
        if inst.mem.lds && bit(hi, 23) {
            return Err(Why::Reserved);
        }
        if row.src[3] == Ty::None {
            // Cache operations: no address, no data.
            return if bits(w, 12, 2) == 0 && !bit(hi, 23) { Ok(inst) } else { Err(Why::Reserved) };
        }
        self.buffer(&mut inst, hi)?;
        Ok(inst)
    }

    pub(super) fn mtbuf(&mut self, w: u32) -> Result<Inst, Why> {
        let row = self.row(MTBUF, &MTBUF_INDEX, bits(w, 15, 4))?;
        let mut inst = blank(row, Format::Mtbuf);
        let hi = self.second()?;
        (inst.mem.sc0, inst.mem.sc1, inst.mem.nt) = (bit(w, 14), bit(hi, 21), bit(hi, 22));
        (inst.mem.offen, inst.mem.idxen) = (bit(w, 12), bit(w, 13));
        inst.mem.offset = bits(w, 0, 12) as i32;
        inst.mem.format = bits(w, 19, 7) as u8;
        self.buffer(&mut inst, hi)?;
        Ok(inst)
    }

    /// The registers of MUBUF and MTBUF.
    fn buffer(&mut self, inst: &mut Inst, hi: u32) -> Result<(), Why> {
        let (row, acc) = (inst.row, bit(hi, 23));
        let address = u8::from(inst.mem.offen) + u8::from(inst.mem.idxen);
        if address > 0 {
            inst.set_src(0, vector_register(bits(hi, 0, 8), address)?, address);
        }
        let data = bits(hi, 8, 8);
        if row.has(STORE) || row.has(ATOMIC) {
            let dwords = row.src[1].dwords();
            inst.set_src(1, data_register(data, dwords, acc)?, dwords);
        }
        let dwords = row.dst.dwords();
        if dwords > 0 && !inst.mem.lds && (!row.has(ATOMIC) || inst.mem.sc0) {
            inst.set_dst(data_register(data, dwords, acc)?, dwords);
        }
        inst.set_src(2, scalar_register(bits(hi, 16, 5) * 4, 4)?, 4);
        let offset = self.scalar_source(bits(hi, 24, 8), 1, Literals::Refused)?;
        inst.set_src(3, offset, 1);
        Ok(())
    }
}

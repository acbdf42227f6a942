//! A decoded instruction with what the machine wants to know before it executes it.
//!
//! What must hold here: a [`Step`] exists only for an instruction whose registers the kernel's waves have, so that its function
//! can index registers without a check.

use crate::exec::control::is_control;
use crate::exec::smem::tells_time;
use crate::exec::{AluFn, lookup, scalar_number};
use crate::fault::{Exec, Fault, FaultKind};
use crate::isa::table::TIED;
use crate::isa::{Format, Inst, Op, Operand};
use crate::mem::Pins;
use crate::wave::{Counter, EXEC, Generation, M0, VCC, WaveState};

/// Who executes an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Run {
    /// A function on the registers.
    Alu(AluFn),
    /// Two of them; the second one is in [`Step::second`].
    Dual(AluFn, AluFn),
    /// The machine: branches, waits, barriers.
    Control,
    /// FLAT, GLOBAL, SCRATCH.
    Flat,
    /// LDS.
    Ds,
    /// Scalar memory.
    Smem,
    /// Buffers and cache control.
    Mubuf,
}

impl Run {
    const fn is_memory(self) -> bool {
        matches!(self, Run::Flat | Run::Ds | Run::Smem | Run::Mubuf)
    }
}

/// Registers from `first` on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Range {
    first: u16,
    count: u16,
}

/// The registers that the waves of a kernel have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registers {
    /// Vector registers in all.
    pub(crate) vgprs: u32,
    /// Index of the first accumulation register among them.
    pub(crate) accum_offset: u32,
    /// Which family of chips they run on.
    pub(crate) generation: Generation,
}

/// A decoded instruction, ready to be executed.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) inst: Inst,
    pub(crate) run: Run,
    /// Bytes to the next instruction.
    pub(crate) bytes: u64,
    /// Scalar registers that are read, or read and written.
    scalar_reads: u128,
    scalar_writes: u128,
    /// Vector registers that are read, by source, and the destination.
    vector_reads: [Range; 5],
    vector_write: Range,
    /// Whether it reads SCC, and whether it sets it.
    reads_scc: bool,
    sets_scc: bool,
    /// Of a memory instruction: the registers that it reads.
    pub(crate) pins: Pins,
    /// The second one of two operations.
    pub(crate) second: Option<Box<Step>>,
}

impl Step {
    /// Checks the registers of an instruction and collects what it reads and writes.
    ///
    /// # Errors
    /// A register that the wave does not have, or an instruction that is not simulated.
    pub(crate) fn new(inst: Inst, registers: Registers) -> Exec<Step> {
        let run = match inst.format {
            Format::Flat | Format::Scratch | Format::Global => Run::Flat,
            Format::Ds => Run::Ds,
            Format::Smem => Run::Smem,
            Format::Mubuf | Format::Mtbuf => Run::Mubuf,
            _ if is_control(inst.op) => Run::Control,
            _ if tells_time(inst.op) => Run::Smem,
            _ => {
                Run::Alu(lookup(inst.op).ok_or_else(|| Fault::new(FaultKind::NotSimulated { text: inst.to_string() }))?)
            }
        };
        let mut step = Step {
            inst,
            run,
            bytes: inst.bytes(),
            scalar_reads: 0,
            scalar_writes: 0,
            vector_reads: [Range::default(); 5],
            vector_write: Range::default(),
            reads_scc: reads_scc(&inst),
            sets_scc: sets_scc(&inst),
            pins: Pins::default(),
            second: None,
        };
        for source in 0..4 {
            step.read(source, inst.src[source], inst.src_width(source), registers)?;
        }
        let (scalars, vectors) = locate(&inst, inst.dst, inst.dst_width(), registers)?;
        step.scalar_writes |= scalars;
        step.vector_write = vectors;
        // A 16-bit result of gfx1250 leaves the other half of its register as it is, but LLVM gives the whole register to it
        // and does not care what is there: it counts as written.
        let keeps = inst.keeps_dst() && (registers.generation == Generation::Gfx9 || run.is_memory());
        if inst.row.has(TIED) || keeps {
            step.vector_reads[4] = vectors;
            step.scalar_reads |= scalars;
        }
        step.scalar_writes |= locate(&inst, inst.sdst, inst.sdst_width(), registers)?.0;
        if matches!(run, Run::Flat | Run::Smem | Run::Mubuf) {
            step.pins = step.pinned();
        }
        if let (Some(second), Run::Alu(first)) = (inst.second(), run) {
            let second = Step::new(second, registers)?;
            let Run::Alu(other) = second.run else {
                return Err(Fault::new(FaultKind::NotSimulated { text: inst.to_string() }));
            };
            step.run = Run::Dual(first, other);
            step.second = Some(Box::new(second));
        }
        step.scalar_reads |= implicit(&inst, registers.generation);
        Ok(step)
    }

    /// The registers that its operands name: all of them are sources of addresses or stored values.
    fn pinned(&self) -> Pins {
        let mut vectors = self.vector_reads.iter().filter(|range| range.count != 0);
        let next = |_| vectors.next().map_or((0, 0), |range| (range.first, range.count));
        let exec = if matches!(self.run, Run::Smem) { 0 } else { 1 << EXEC };
        Pins { scalars: self.scalar_reads & ((1 << M0) - 1) | exec, vectors: [0, 1, 2].map(next) }
    }

    fn read(&mut self, source: usize, operand: Operand, width: usize, registers: Registers) -> Exec {
        let (scalars, vectors) = locate(&self.inst, operand, width, registers)?;
        self.scalar_reads |= scalars;
        self.vector_reads[source] = vectors;
        Ok(())
    }

    /// A load in flight into a register that the instruction reads or overwrites is a defect.
    ///
    /// # Errors
    /// [`FaultKind::RegisterInFlight`].
    #[inline(always)]
    pub(crate) fn check_in_flight(&self, wave: &WaveState) -> Exec {
        if !wave.any_pinned() && !wave.any_busy() {
            return Ok(());
        }
        self.check_registers(wave)
    }

    fn check_registers(&self, wave: &WaveState) -> Exec {
        self.check_busy(wave)?;
        self.check_pinned(wave)?;
        self.second.as_ref().map_or(Ok(()), |second| second.check_registers(wave))
    }

    /// A source of an operation that is not translated yet must stay as it is.
    ///
    /// Vector memory is translated in order, and what it loads comes after, so a later load may overwrite it (inferred: LLVM 22
    /// emits no wait there).
    fn check_pinned(&self, wave: &WaveState) -> Exec {
        if matches!(self.run, Run::Flat | Run::Mubuf) {
            return Ok(());
        }
        let fault = |register: String| Fault::new(FaultKind::SourceInFlight { text: self.inst.to_string(), register });
        let exec = if writes_exec(&self.inst) { 1 << EXEC } else { 0 };
        let scalars = wave.sgpr_pinned & (self.scalar_writes | exec);
        if scalars != 0 {
            return Err(fault(scalar_name(scalars.trailing_zeros() as usize)));
        }
        for index in self.vector_write.first..self.vector_write.first + self.vector_write.count {
            let (word, bit) = (usize::from(index) / 64, index % 64);
            if wave.vgpr_pinned[word % wave.vgpr_pinned.len()] >> bit & 1 != 0 {
                return Err(fault(vector_name(usize::from(index), wave)));
            }
        }
        Ok(())
    }

    fn check_busy(&self, wave: &WaveState) -> Exec {
        let scalars = wave.sgpr_busy & (self.scalar_reads | self.scalar_writes);
        if scalars != 0 {
            let number = scalars.trailing_zeros();
            let verb = if self.scalar_reads >> number & 1 != 0 { "reads" } else { "overwrites" };
            let counter = if wave.generation == Generation::Gfx9 { Counter::Ds } else { Counter::Km };
            let wait = match wave.generation {
                Generation::Gfx9 => format!("{}(0)", counter.wait(wave.generation)),
                Generation::Gfx12 => format!("{} 0x0", counter.wait(wave.generation)),
            };
            return Err(self.in_flight(verb, scalar_name(number as usize), wait));
        }
        let ranges = self.vector_reads.iter().map(|range| (range, "reads"));
        for (range, verb) in ranges.chain([(&self.vector_write, "overwrites")]) {
            for index in range.first..range.first + range.count {
                if wave.is_vgpr_busy(usize::from(index)) {
                    let counts = |counter: &Counter| wave.count(*counter) != 0;
                    let waits = [Counter::Load, Counter::Ds].into_iter().filter(counts);
                    let waits: Vec<&str> = waits.map(|counter| counter.wait(wave.generation)).collect();
                    return Err(self.in_flight(verb, vector_name(usize::from(index), wave), waits.join(" or ")));
                }
            }
        }
        Ok(())
    }

    fn in_flight(&self, verb: &'static str, register: String, wait: String) -> Box<Fault> {
        let text = self.inst.to_string();
        Fault::new(FaultKind::RegisterInFlight { text, verb, register, wait })
    }

    /// Lanes for which a source of an ALU instruction is undefined; all of them if a scalar one is.
    #[inline(always)]
    pub(crate) fn undefined(&self, wave: &WaveState) -> u64 {
        let mut lanes = 0;
        for range in &self.vector_reads {
            for index in range.first..range.first + range.count {
                lanes |= !wave.vgpr_init[usize::from(index)];
            }
        }
        let scalars = wave.sgpr_init & self.scalar_reads != self.scalar_reads || (self.reads_scc && !wave.scc_init);
        if lanes == 0 && !scalars {
            return 0;
        }
        self.undefined_lanes(wave, lanes, scalars)
    }

    /// The same where something is undefined: which lanes really depend on it.
    #[cold]
    fn undefined_lanes(&self, wave: &WaveState, lanes: u64, scalars: bool) -> u64 {
        let exec = wave.exec();
        let first_active = if exec == 0 { 1 } else { exec & exec.wrapping_neg() };
        let undefined_of = |source: usize| {
            let range = self.vector_reads[source];
            (range.first..range.first + range.count).fold(0, |all, index| all | !wave.vgpr_init[usize::from(index)])
        };
        match self.inst.op {
            Op::VReadfirstlaneB32 => {
                if lanes & first_active != 0 {
                    !0
                } else {
                    0
                }
            }
            Op::VReadlaneB32 if !scalars => {
                let lane = crate::exec::scalar32(wave, self.inst.src[1]) as usize % wave.generation.lanes();
                if lanes >> lane & 1 != 0 { !0 } else { 0 }
            }
            Op::VWritelaneB32 if !scalars => 0,
            // Each lane takes one of the two values.
            Op::VCndmaskB32
                if scalar_number(self.inst.src[2]).is_some_and(|n| wave.mask_registers(n) & !wave.sgpr_init == 0) =>
            {
                let chosen = crate::exec::mask(wave, self.inst.src[2]);
                let scalar = |source: usize| match scalar_number(self.inst.src[source]) {
                    Some(number) if wave.sgpr_init >> number & 1 == 0 => !0,
                    _ => undefined_of(source),
                };
                (scalar(0) & !chosen | scalar(1) & chosen) & exec
            }
            Op::SCselectB32 | Op::SCselectB64 if wave.scc_init => {
                let chosen = usize::from(!wave.scc);
                let width = if self.inst.op == Op::SCselectB32 { 1 } else { 3 };
                match scalar_number(self.inst.src[chosen]) {
                    Some(number) if wave.sgpr_init >> number & width != width => !0,
                    _ => 0,
                }
            }
            _ if scalars => !0,
            _ => lanes & exec,
        }
    }

    /// After an ALU instruction whose sources were undefined in `lanes`: so is its result.
    ///
    /// # Errors
    /// If EXEC itself became undefined.
    #[cold]
    pub(crate) fn mark_undefined(&self, wave: &mut WaveState, lanes: u64) -> Exec {
        let halves = self.undefined_halves(wave, lanes);
        for (half, index) in (self.vector_write.first..self.vector_write.first + self.vector_write.count).enumerate() {
            wave.vgpr_init[usize::from(index)] &= !(halves.map_or(lanes, |halves| halves[half % 2]) & wave.all);
        }
        let mut scalars = self.scalar_writes;
        if writes_exec(&self.inst) {
            scalars |= 3 << EXEC;
        }
        wave.sgpr_init &= !scalars;
        if self.sets_scc {
            wave.scc_init = false;
        }
        if wave.sgpr_init >> EXEC & 3 != 3 {
            wave.sgpr_init |= 3 << EXEC;
            return Err(Fault::new(FaultKind::UninitialisedRegister {
                text: self.inst.to_string(),
                register: "a register from which it computes exec".to_owned(),
            }));
        }
        Ok(())
    }

    /// A move of 64 bits to vector registers takes each half for itself: the lanes for which each is undefined.
    #[cold]
    fn undefined_halves(&self, wave: &WaveState, lanes: u64) -> Option<[u64; 2]> {
        if self.inst.op != Op::VMovB64 {
            return None;
        }
        let of = |half: usize| match scalar_number(self.inst.src[0]) {
            Some(number) if wave.sgpr_init >> (number + half) & 1 == 0 => lanes,
            Some(_) => 0,
            None => {
                let first = usize::from(self.vector_reads[0].first);
                let count = usize::from(self.vector_reads[0].count);
                if count == 2 { lanes & !wave.vgpr_init[first + half] } else { lanes }
            }
        };
        Some([of(0), of(1)])
    }

    /// After an ALU instruction with defined sources.
    #[inline(always)]
    pub(crate) fn mark_defined(&self, wave: &mut WaveState) {
        if self.sets_scc {
            wave.scc_init = true;
        }
    }
}

/// The scalar registers as a set and the vector registers as a range that an operand of `width` dwords covers.
fn locate(inst: &Inst, operand: Operand, width: usize, registers: Registers) -> Exec<(u128, Range)> {
    let refuse = |register: String, limit: String| {
        let text = inst.to_string();
        Err(Fault::new(FaultKind::RegisterOutside { text, register, limit }))
    };
    let width = width.max(1);
    if let Some(number) = scalar_number(operand) {
        let last = number + width - 1;
        let limit = if number <= 101 { 105 } else { 127 };
        if last > limit {
            return refuse(format!("s{last}"), "scalar registers up to s101".to_owned());
        }
        return Ok((((1u128 << width) - 1) << number, Range::default()));
    }
    let (first, limit, name) = match operand {
        Operand::Vgpr(number) => (u32::from(number), registers.vgprs.min(registers.accum_offset.max(1)), "v"),
        Operand::Agpr(number) => (registers.accum_offset + u32::from(number), registers.vgprs, "a"),
        _ => return Ok((0, Range::default())),
    };
    let end = first + width as u32;
    if end > limit {
        let last = end - 1 - if name == "a" { registers.accum_offset } else { 0 };
        return refuse(format!("{name}{last}"), format!("{limit} vector registers, accumulation registers included"));
    }
    Ok((0, Range { first: first as u16, count: width as u16 }))
}

/// Scalar registers that are read without being operands.
fn implicit(inst: &Inst, generation: Generation) -> u128 {
    let vector = matches!(
        inst.format,
        Format::Vop1 | Format::Vop2 | Format::Vop3 | Format::Vop3b | Format::Vop3p | Format::Vopc
    );
    let mut registers = 0;
    if vector {
        registers |= 3 << EXEC;
    }
    if matches!(inst.op, Op::VDivFmasF32 | Op::VDivFmasF64) {
        registers |= if generation == Generation::Gfx9 { 3 << VCC } else { 1 << VCC };
    }
    if inst.mem.lds || inst.row.has(crate::isa::table::TO_LDS) {
        registers |= 1 << M0;
    }
    registers
}

/// Whether an instruction reads the scalar condition code.
fn reads_scc(inst: &Inst) -> bool {
    let carry = matches!(
        inst.op,
        Op::SAddcU32 | Op::SSubbU32 | Op::SCselectB32 | Op::SCselectB64 | Op::SCmovB32 | Op::SCmovB64 | Op::SCmovkI32
    );
    carry || inst.src.contains(&Operand::Scc)
}

/// Whether an instruction sets the scalar condition code.
fn sets_scc(inst: &Inst) -> bool {
    use Op as O;
    // What gfx1250 adds to SOP2 sets none: floats, and sums and products of 64 bits.
    let name = inst.op.mnemonic();
    let float = ["_f32", "_f16"].iter().any(|end| name.ends_with(end));
    match inst.format {
        Format::Sop2 if float || matches!(inst.op, O::SAddNcU64 | O::SSubNcU64 | O::SMulU64 | O::SPackHlB32B16) => {
            false
        }
        Format::Sopc => true,
        Format::Sopk => !matches!(
            inst.op,
            O::SMovkI32 | O::SCmovkI32 | O::SMulkI32 | O::SGetregB32 | O::SSetregB32 | O::SSetregImm32B32 | O::SCallB64
        ),
        Format::Sop2 => !matches!(
            inst.op,
            O::SCselectB32
                | O::SCselectB64
                | O::SMulI32
                | O::SMulHiU32
                | O::SMulHiI32
                | O::SBfmB32
                | O::SBfmB64
                | O::SPackLlB32B16
                | O::SPackLhB32B16
                | O::SPackHhB32B16
        ),
        Format::Sop1 => {
            matches!(
                inst.op,
                O::SNotB32
                    | O::SNotB64
                    | O::SWqmB32
                    | O::SWqmB64
                    | O::SQuadmaskB32
                    | O::SQuadmaskB64
                    | O::SBcnt0I32B32
                    | O::SBcnt1I32B32
                    | O::SBcnt0I32B64
                    | O::SBcnt1I32B64
                    | O::SAbsI32
            ) || writes_exec(inst)
        }
        _ => false,
    }
}

/// Whether EXEC is written without being the destination operand.
fn writes_exec(inst: &Inst) -> bool {
    let name = inst.op.mnemonic();
    name.contains("_saveexec_") || name.contains("_wrexec_") || name.starts_with("v_cmpx")
}

/// A scalar register's name.
pub(crate) fn scalar_name(number: usize) -> String {
    match number {
        102 => "flat_scratch_lo".to_owned(),
        103 => "flat_scratch_hi".to_owned(),
        106 => "vcc_lo".to_owned(),
        107 => "vcc_hi".to_owned(),
        108..=123 => format!("ttmp{}", number - 108),
        124 => "m0".to_owned(),
        126 => "exec_lo".to_owned(),
        127 => "exec_hi".to_owned(),
        _ => format!("s{number}"),
    }
}

/// A vector register's name.
pub(crate) fn vector_name(index: usize, wave: &WaveState) -> String {
    match index.checked_sub(wave.accum_offset as usize) {
        Some(number) => format!("a{number}"),
        None => format!("v{index}"),
    }
}

//! A loaded code object: where its bytes lie in each rank's memory, and its instructions, decoded once per address.
//!
//! What must hold here: code is read-only, so a decoded instruction stays right for the whole run; an address that is no
//! instruction is found when it is executed, not before (data may lie between functions).

use std::collections::BTreeMap;

use tilewright_target::Target;

use super::generation_of;
use super::lines::LineTable;
use super::step::{Registers, Step};
use crate::fault::{Exec, Fault, FaultKind};
use crate::isa::{self, Chip};
use crate::loader::{CodeObject, Kernel};
use crate::mem::{Memory, MemoryType};
use crate::wave::Generation;

/// Alignment of a code object in memory, in bytes: a page.
const IMAGE_ALIGN: u64 = 4096;

/// Where a kernel of a module is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModuleId(pub(crate) usize);

/// A code object in memory.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) object: CodeObject,
    chip: Chip,
    generation: Generation,
    /// Address of the image on each rank that it was loaded on.
    bases: BTreeMap<u32, u64>,
    /// The image as dwords from offset zero; what no executable segment covers is absent.
    words: Vec<Option<u32>>,
    lines: Option<LineTable>,
}

/// The decoded instructions of a kernel; registers were checked against those of its waves.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    /// By dword offset in the image: index in `steps` plus one, zero if not decoded yet.
    index: Vec<u32>,
    steps: Vec<Step>,
}

impl Module {
    /// Takes a code object that was loaded for `target`, with the bytes of its file for the line tables.
    ///
    /// # Errors
    /// If this machine has no such chip.
    pub(crate) fn new(object: CodeObject, file: &[u8], target: &Target) -> Exec<Module> {
        let chip = Chip::named(target.llvm_cpu).ok_or_else(|| {
            Fault::new(FaultKind::Launch { reason: format!("there is no simulator of {}", target.name) })
        })?;
        let mut words = vec![None; (object.image_bytes() as usize).div_ceil(4)];
        for segment in object.segments.iter().filter(|segment| segment.executable) {
            for (index, bytes) in segment.bytes.chunks_exact(4).enumerate() {
                let at = segment.address as usize / 4 + index;
                if let (Some(slot), Ok(bytes)) = (words.get_mut(at), bytes.try_into()) {
                    *slot = Some(u32::from_le_bytes(bytes));
                }
            }
        }
        let generation = generation_of(target);
        Ok(Module { chip, generation, bases: BTreeMap::new(), words, lines: LineTable::read(file), object })
    }

    /// Which family of chips its waves run on.
    pub(crate) const fn generation(&self) -> Generation {
        self.generation
    }

    /// The image's address on `rank`, after copying it there if it was not.
    ///
    /// # Errors
    /// What memory refuses.
    pub(crate) fn place(&mut self, rank: u32, memory: &mut Memory) -> Exec<u64> {
        if let Some(base) = self.bases.get(&rank) {
            return Ok(*base);
        }
        let bytes = self.object.image_bytes().max(4);
        let base = memory.allocate_named(rank, bytes, IMAGE_ALIGN, MemoryType::Code, "the code object")?;
        for segment in &self.object.segments {
            memory.host_fill(base + segment.address, segment.memory_bytes, 0)?;
            memory.host_write(base + segment.address, &segment.bytes)?;
        }
        self.bases.insert(rank, base);
        Ok(base)
    }

    /// File and line of the instruction at `offset` in the image.
    pub(crate) fn line(&self, offset: u64) -> Option<(String, u32)> {
        self.lines.as_ref()?.find(offset)
    }

    /// A place to decode into.
    pub(crate) fn decoded(&self) -> Decoded {
        Decoded { index: vec![0; self.words.len()], steps: Vec::new() }
    }

    /// The name of the function that `offset` in the image belongs to: that of the last kernel at or before it.
    pub(crate) fn kernel_at(&self, offset: u64) -> Option<&Kernel> {
        self.object.kernels.iter().filter(|kernel| kernel.entry <= offset).max_by_key(|kernel| kernel.entry)
    }

    #[cold]
    fn decode(&self, offset: u64, registers: Registers, pc: u64) -> Exec<Step> {
        let first = (offset / 4) as usize;
        let words: Vec<u32> = self.words.iter().skip(first).take(3).map_while(|word| *word).collect();
        if words.is_empty() || !offset.is_multiple_of(4) {
            return Err(Fault::new(FaultKind::PcOutside { pc }));
        }
        let inst = isa::decode(&words, self.chip).map_err(|error| {
            let dwords = error.dwords[..usize::from(error.have).min(3)].to_vec();
            Fault::new(FaultKind::UnknownInstruction { dwords, reason: error.to_string() })
        })?;
        Step::new(inst, registers)
    }
}

impl Decoded {
    /// The instruction at `offset` in the image of `module`; `pc` is its address, for faults.
    ///
    /// # Errors
    /// If there is no instruction that the wave can execute.
    #[inline(always)]
    pub(crate) fn at(&mut self, module: &Module, offset: u64, registers: Registers, pc: u64) -> Exec<&Step> {
        let found = match self.index.get((offset / 4) as usize) {
            Some(0) | None => self.fill(module, offset, registers, pc)?,
            Some(index) => *index as usize - 1,
        };
        Ok(&self.steps[found])
    }

    #[cold]
    fn fill(&mut self, module: &Module, offset: u64, registers: Registers, pc: u64) -> Exec<usize> {
        let step = module.decode(offset, registers, pc)?;
        self.steps.push(step);
        if let Some(slot) = self.index.get_mut((offset / 4) as usize) {
            *slot = self.steps.len() as u32;
        }
        Ok(self.steps.len() - 1)
    }
}

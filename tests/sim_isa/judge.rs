//! Comparing one instruction.

use std::collections::BTreeMap;

use tilewright_backend_llvm::Disassembler;
use tilewright_sim::isa::table::LITERAL;
use tilewright_sim::isa::{Chip, DecodeError, Inst, Why, decode};

use crate::newer;

/// What came of many comparisons.
#[derive(Default)]
pub(crate) struct Tally {
    /// Both decode alike.
    pub(crate) same: u64,
    /// Both refuse.
    pub(crate) refused: u64,
    /// Only LLVM takes it, for a listed reason: how often, and one of them.
    pub(crate) laxer: BTreeMap<&'static str, (u64, String)>,
    /// Disagreements: what kind, how often, and one of them.
    pub(crate) wrong: BTreeMap<String, (u64, String)>,
}

impl Tally {
    /// Compares the instruction at the start of `words`; whether both decode it alike.
    pub(crate) fn compare(&mut self, chip: Chip, llvm: &mut Disassembler, words: [u32; 4]) -> bool {
        let newer = chip == Chip::Gfx1250;
        if if newer { newer::llvm_stops(&words) } else { llvm_stops(&words) } {
            return false;
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        // Comments in LLVM's text say that it printed something that is no instruction.
        let theirs = llvm
            .instruction(&bytes)
            .filter(|(_, text)| !["/*", "; Warning", "v_illegal"].iter().any(|mark| text.contains(mark)));
        let at = |text: String| format!("{} {words:08x?} {text}", chip.name());
        match (decode(&words, chip), theirs) {
            (Ok(inst), Some((bytes, text))) => {
                let ours = inst.to_string();
                if inst.bytes() == bytes as u64
                    && (ours == text || if newer { newer::llvm_misreads(&inst) } else { llvm_misreads(&inst) })
                {
                    self.same += 1;
                    return true;
                }
                let entry = self.wrong.entry(format!("text of {}", inst.op.mnemonic())).or_default();
                *entry = (entry.0 + 1, at(format!("\n  ours {ours}\n  LLVM {text}")));
            }
            (Err(_), None) => self.refused += 1,
            (Ok(inst), None) if newer && newer::llvm_misreads(&inst) => {}
            (Ok(inst), None) => {
                let entry = self.wrong.entry(format!("LLVM refuses {}", inst.op.mnemonic())).or_default();
                *entry = (entry.0 + 1, at(inst.to_string()));
            }
            (Err(error), Some((_, text))) => {
                match if newer { newer::laxer(&error, &text) } else { laxer(&error, &text) } {
                    Some(reason) => {
                        let entry = self.laxer.entry(reason).or_default();
                        *entry = (entry.0 + 1, at(text));
                    }
                    None => {
                        let mnemonic = text.split(' ').next().unwrap_or_default();
                        let entry = self.wrong.entry(format!("we refuse {mnemonic} ({:?})", error.why)).or_default();
                        *entry = (entry.0 + 1, at(text));
                    }
                }
            }
        }
        false
    }

    /// Prints the counts.
    ///
    /// # Panics
    /// If there was a disagreement.
    pub(crate) fn report(&self, what: &str) {
        println!("{what}: {} alike, {} refused by both", self.same, self.refused);
        for (reason, (count, example)) in &self.laxer {
            println!("  only LLVM takes {count}: {reason}, such as {example}");
        }
        let wrong: Vec<String> =
            self.wrong.iter().map(|(kind, (count, example))| format!("{count} times {kind}: {example}")).collect();
        assert!(wrong.is_empty(), "{what}: {} disagreements\n{}", wrong.len(), wrong.join("\n"));
    }
}

/// Why LLVM takes an encoding that is none on these chips; `None` if there is no such reason.
fn laxer(error: &DecodeError, text: &str) -> Option<&'static str> {
    let w = error.dwords[0];
    let mnemonic = text.split(' ').next().unwrap_or_default();
    let reads = |names: &[&str]| names.iter().any(|name| mnemonic.starts_with(name));
    match error.why {
        Why::Operand if text.contains("null") || text.contains("src_flat_scratch_base") => {
            Some("a scalar register of later chips")
        }
        Why::Operand if reads(&["v_cndmask_b32", "v_addc_co", "v_subb_co", "v_subbrev_co"]) => {
            Some("a lane mask in vector registers or a constant")
        }
        Why::Operand
            if reads(&["v_accvgpr", "v_permlane", "v_swap", "v_readfirstlane", "v_readlane", "v_writelane"]) =>
        {
            Some("a constant or scalar register where only vector registers are read")
        }
        Why::Operand if reads(&["s_cbranch_join", "s_movrel", "s_rfe", "s_setpc", "s_swappc"]) => {
            Some("an aperture or a condition as the register to read")
        }
        Why::Operand if w >> 26 == 0x34 && text.contains("src_") => Some("an aperture or a condition in a matrix"),
        Why::Tuple => Some("a tuple of registers that is not aligned or runs past the last one"),
        Why::Literal => Some("a literal in an encoding without one"),
        Why::Reserved if w >> 26 == 0x36 => Some("the bit of the global data share, which these chips lack"),
        Why::Reserved if w >> 26 == 0x37 => Some("bit 12 of the offset of FLAT, which has 12 bits"),
        Why::Reserved if mnemonic.contains("f8f6f4") => Some("a format of small floats that does not exist"),
        Why::Opcode if mnemonic.contains("ld_scale") => {
            Some("scaled matrix instructions, which this decoder does not list")
        }
        Why::Opcode if reads(&["v_nop", "v_clrexcp"]) => Some("DPP or SDWA of an instruction without operands"),
        _ => None,
    }
}

/// Whether LLVM 22.1 takes a literal that belongs to the instruction for an operand code, and prints what that would be.
fn llvm_misreads(inst: &Inst) -> bool {
    inst.row.has(LITERAL) && inst.op.mnemonic().starts_with('v') && (128..256).contains(&inst.raw[1])
}

/// Words on which LLVM 22.1's disassembler ends the process, or prints an operand that it did not make. None is an
/// instruction.
pub(crate) fn llvm_stops(words: &[u32; 4]) -> bool {
    let (lo, hi) = (words[0], words[1]);
    let sources = [hi & 511, hi >> 9 & 511, hi >> 18 & 511];
    let vector = |code: u32| code >= 256;
    match lo >> 26 {
        // An SDWA selection that does not exist.
        0..32 if lo & 511 == 249 => [8, 16, 24].iter().any(|at| hi >> at & 7 == 7) || hi >> 11 & 3 == 3,
        // Matrices in scalar registers.
        0x34 if lo >> 23 == 0x1a7 => {
            let constant = |code: u32| (128..209).contains(&code) || (240..249).contains(&code);
            !vector(sources[0]) || !vector(sources[1]) || !(vector(sources[2]) || constant(sources[2]))
        }
        0x34 => {
            let op = lo >> 16 & 0x3ff;
            let wide = (0x252..=0x263).contains(&op) || op == 0x1e7;
            // A mask above the scalar registers, wide tuples in scalar registers, literals.
            (op < 0x100 || op == 0x289) && lo & 255 > 127
                || wide && sources.iter().any(|code| !vector(*code))
                || sources.contains(&255)
        }
        // A literal as scalar offset.
        0x38 | 0x3a => hi >> 24 == 255,
        _ => false,
    }
}

//! Where LLVM 22.1's disassembler takes more than gfx1250 has, shows something else than it read, or ends the process.

use tilewright_sim::isa::table::{LITERAL, TIED};
use tilewright_sim::isa::{DecodeError, Format, Inst, Lanes, Op, Operand, Why};

/// Instructions that the decoder does not list: matrices with scales or with formats in the modifiers, those of other gfx12 chips.
const UNLISTED: [&str; 4] = ["v_wmma", "v_swmmac", "tensor_", "s_atc_probe"];

/// Why LLVM takes an encoding that is none on this chip; `None` if there is no such reason.
pub(crate) fn laxer(error: &DecodeError, text: &str) -> Option<&'static str> {
    let w = error.dwords[0];
    let mnemonic = text.split(' ').next().unwrap_or_default();
    let reads = |names: &[&str]| names.iter().any(|name| mnemonic.starts_with(name));
    match error.why {
        Why::Opcode if UNLISTED.iter().any(|name| text.contains(name)) => Some("instructions that are not listed"),
        Why::Opcode if w >> 24 == 0xcf && text.contains("0x") => Some("a literal in two operations of 96 bits"),
        Why::Opcode if w >> 24 == 0xd3 => Some("packed math in gfx9's encoding"),
        Why::Literal => {
            Some("a literal of 64 bits at an operand of 32 or in a long encoding, or one that is not taken")
        }
        Why::Tuple => Some("a tuple of registers that is not aligned or runs past the last one"),
        Why::Reserved if mnemonic == "s_delay_alu" => Some("bits behind the last field of s_delay_alu"),
        Why::Reserved if reads(&["v_nop", "v_pipeflush"]) => Some("operands of an instruction without any"),
        Why::Reserved if w & 0x1ff == 250 && w >> 31 == 0 => {
            Some("bit 17 of the dword of lanes, or negation that does nothing")
        }
        Why::Reserved if w >> 26 == 0x35 || w >> 24 == 0xcc => {
            Some("modifiers of a 64-bit encoding that LLVM does not show")
        }
        Why::Reserved if w >> 26 == 0x36 => Some("bit 16 of LDS, where other chips have the global data share"),
        Why::Reserved if w >> 24 == 0xcf => Some("negated packed halves or bits of no field in 96 bits"),
        Why::Operand if reads(&["v_cndmask_b", "v_dual_", "v_add_co_ci", "v_sub_co_ci", "v_subrev_co_ci"]) => {
            Some("a lane mask in vector registers or a constant")
        }
        Why::Operand if reads(&["v_permlane", "v_swap", "v_movrel", "v_readfirstlane", "v_readlane"]) => {
            Some("a constant or scalar register where only vector registers are read")
        }
        Why::Operand if reads(&["s_movrel", "s_rfe", "s_set_pc", "s_swap_pc"]) => {
            Some("an aperture or a condition as the register to read")
        }
        Why::Operand if reads(&["v_cmp_"]) && w >> 7 & 1 != 0 => Some("an aperture or a condition as the mask"),
        Why::Operand if reads(&["v_s_"]) => Some("a condition as the destination"),
        Why::Operand if text.contains(", exec") && w >> 26 == 0x3b => Some("EXEC as an address"),
        _ => None,
    }
}

/// Whether LLVM shows something else than it read.
pub(crate) fn llvm_misreads(inst: &Inst) -> bool {
    // A literal that belongs to the instruction, or a dword of lanes beside a destination that is also a source, is taken
    // for the code of a constant.
    let constant = |value: u32| (128..256).contains(&value);
    let mut halves = [Some(*inst), inst.second()].into_iter().flatten();
    let fused = halves.any(|half| {
        half.row.has(LITERAL)
            && half.src.iter().any(|source| matches!(source, Operand::Literal(value) if constant(*value)))
    });
    let tied = inst.keeps_dst() || inst.row.has(TIED);
    let small = |operand: &Operand| matches!(operand, Operand::InlineInt(_) | Operand::InlineFloat(_));
    let lanes = match inst.mods.lanes {
        Lanes::Dpp(dpp) => tied && constant(dpp.ctrl.into()),
        Lanes::Dpp8(dpp) => tied && constant(dpp.lanes),
        _ => false,
    };
    // With lanes and a destination that is a source, it shows the codes of constants.
    let codes = tied && inst.mods.lanes != Lanes::Plain && inst.src[1..3].iter().any(small);
    // The bars of an absolute value run to the end of the sources.
    let bars = inst.op == Op::VCndmaskB32 && inst.format == Format::Vop2 && inst.mods.abs & 2 != 0;
    // Constants of no type, and literals of packed halves.
    let packed = matches!(inst.op, Op::VCvtPkFp8F16 | Op::VCvtPkBf8F16 | Op::VPkFmacF16)
        && (small(&inst.src[0]) || matches!(inst.src[0], Operand::Literal(_)));
    fused || lanes || codes || bars || packed
}

/// Words on which LLVM ends the process. None is an instruction.
pub(crate) fn llvm_stops(words: &[u32; 4]) -> bool {
    let (lo, op1) = (words[0], words[0] >> 8 & 0xff);
    match lo >> 24 {
        // Literals of barriers.
        0xbe if lo >> 23 == 0x17d => matches!(op1, 78..=82 | 87) && lo & 255 == 255,
        // Three scalar registers among the trap temporaries.
        0xf4..=0xf7 => matches!(lo >> 13 & 0x3f, 5 | 21) && (lo >> 6 & 0x7f) >= 106,
        // Formats of matrices.
        0xcc => lo >> 16 & 0xff == 0x33,
        _ => false,
    }
}

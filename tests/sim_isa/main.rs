//! Test `sim_isa`: the simulator's decoder and printer beside LLVM's disassembler, for gfx942 and gfx950.
//!
//! Three sources of words: every instruction of every object that examples and bench kernels compile to (`emitted`), random
//! valid encodings of every row of the opcode tables (`rows`), and random dwords (`words`). What we decode must read and print as
//! LLVM says, and what LLVM refuses we must refuse. Where LLVM takes more than these chips have, [`judge`] lists the cases;
//! anything else that only LLVM takes fails. A binary of its own, because LLVM ends the process on some words that are no
//! instruction ([`judge::llvm_stops`] keeps those away from it).

mod emitted;
mod judge;
mod random;
mod rows;
mod words;

use tilewright_backend_llvm::Disassembler;
use tilewright_sim::isa::Chip;

/// Both chips with LLVM's disassemblers.
fn chips() -> Vec<(Chip, Disassembler)> {
    let chip = |chip: Chip| (chip, Disassembler::amdgpu(chip.name()).expect("LLVM has AMD's disassembler"));
    vec![chip(Chip::Gfx942), chip(Chip::Gfx950)]
}

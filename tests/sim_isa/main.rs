//! Test `sim_isa`: the simulator's decoder and printer beside LLVM's disassembler, for gfx942, gfx950 and
//! gfx1250.
//!
//! Three sources of words: every instruction of every object that examples and bench kernels compile to (`emitted`), random
//! valid encodings of every row of the opcode tables (`rows`), and random dwords (`words`). What we decode must read and print as
//! LLVM says, and what LLVM refuses we must refuse. Where LLVM takes more than these chips have, [`judge`] lists the cases;
//! anything else that only LLVM takes fails. A binary of its own, because LLVM ends the process on some words that are no
//! instruction ([`judge::llvm_stops`] keeps those away from it).

mod emitted;
mod judge;
mod newer;
mod random;
mod rows;
mod rows12;
mod words;

use tilewright_backend_llvm::Disassembler;
use tilewright_sim::isa::Chip;

/// Both chips of gfx9 with LLVM's disassemblers.
fn chips() -> Vec<(Chip, Disassembler)> {
    let chip = |chip: Chip| (chip, Disassembler::amdgpu(chip.name()).expect("LLVM has AMD's disassembler"));
    vec![chip(Chip::Gfx942), chip(Chip::Gfx950)]
}

/// gfx1250 with LLVM's disassembler.
fn gfx1250() -> (Chip, Disassembler) {
    (Chip::Gfx1250, Disassembler::amdgpu(Chip::Gfx1250.name()).expect("LLVM has AMD's disassembler"))
}

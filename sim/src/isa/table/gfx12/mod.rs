//! Opcode tables of gfx1250, written as those of gfx9 are.
//!
//! Differences: VOP1 `n` is VOP3 opcode `0x180 + n`; lane masks are one scalar register; a row whose mnemonic is not its
//! operation's ends in `= "mnemonic"`; results of 16 bits keep the other half (KEEPS).
//!
//! **Where the numbers come from.** Every opcode of every encoding was shown to LLVM 22.1's disassembler, and so were each
//! modifier bit of each opcode (`-`, ignored there, is `X` here: refused) and the register widths. What an operation means is that
//! of gfx9's where the name tells so.
//!
//! Must hold: see [`super`]; `tests/sim_isa` compares every row with LLVM on every run.

mod buffer;
mod ds;
mod flat;
mod smem;
mod sop;
mod vop1;
mod vop2;
mod vop3;
mod vop3p;
mod vopc;
mod vopd;

pub use buffer::BUFFER;
pub use ds::DS;
pub use flat::{FLAT, GLOBAL, SCRATCH};
pub use smem::SMEM;
pub use sop::{SOP1, SOP2, SOPC, SOPK, SOPP};
pub use vop1::VOP1;
pub use vop2::VOP2;
pub use vop3::VOP3;
pub use vop3p::VOP3P;
pub use vopc::VOPC;
pub use vopd::VOPD;

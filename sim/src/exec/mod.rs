//! Semantics of instructions: plain Rust on 32-bit registers and a 64-bit lane mask.
//!
//! What must hold here: one instruction changes the wave's registers exactly as the ISA says and nothing else; every value that
//! an instruction can meet is defined (no panic, no overflow check, no host floating-point mode). It shares nothing with the
//! compiler's interpreters, so that agreement between them is evidence.
//!
//! A function per operation is looked up once per instruction address (`lookup`), so that executing one is a call. The
//! register numbers of an instruction were checked against what the wave has before its function is called.

mod access;
pub(crate) mod control;
mod convert;
mod dpp;
pub(crate) mod ds;
pub(crate) mod dual;
pub(crate) mod flat;
mod float;
mod lane;
pub(crate) mod mubuf;
mod operand;
mod sdwa;
mod sfloat;
pub(crate) mod smem;
mod sop;
mod vcmp;
mod vfloat;
mod vhalf;
mod vint;
mod vmove;
mod vnew;
mod vpacked;

#[cfg(test)]
mod memory_tests;
#[cfg(test)]
mod memory_tests12;
#[cfg(test)]
mod tests;

use crate::fault::Exec;
use crate::isa::{Inst, Op};
use crate::wave::WaveState;

pub(crate) use operand::{PRIVATE_BASE_HI, SHARED_BASE_HI, mask, scalar_number, scalar32, source64, vector_index};

/// What an instruction does to the registers of its wave.
pub(crate) type AluFn = fn(&mut WaveState, &Inst) -> Exec;

/// The function of a scalar or vector ALU operation; `None` for the others and for those that are not simulated.
pub(crate) fn lookup(op: Op) -> Option<AluFn> {
    sop::lookup(op)
        .or_else(|| sfloat::lookup(op))
        .or_else(|| vmove::lookup(op))
        .or_else(|| vint::lookup(op))
        .or_else(|| vfloat::lookup(op))
        .or_else(|| vcmp::lookup(op))
        .or_else(|| convert::lookup(op))
        .or_else(|| vhalf::lookup(op))
        .or_else(|| vpacked::lookup(op))
        .or_else(|| vnew::lookup(op))
}

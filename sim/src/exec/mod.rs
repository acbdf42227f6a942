//! Semantics of instructions: plain Rust on 32-bit registers and a 64-bit lane mask.
//!
//! What must hold here: one instruction changes the wave's registers exactly as the ISA says and nothing else; every value that
//! an instruction can meet is defined (no panic, no overflow check, no host floating-point mode). It shares nothing with the
//! compiler's interpreters, so that agreement between them is evidence.

//! The operations: one name per meaning, whatever the encoding and whatever a chip calls it.
//!
//! Must hold: `v_add_f32` is one operation in its short, long, DPP, SDWA and dual-issue encodings; names are the mnemonic in
//! CamelCase, with `_` kept only between two digits. What gfx1250 calls otherwise keeps gfx9's name. Opcode numbers are in
//! `table`.

#[macro_use]
mod gfx9;
#[macro_use]
mod gfx12;

macro_rules! operations {
    ($($name:ident $text:literal,)*) => {
        /// An operation.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        #[allow(missing_docs, reason = "each is named as its mnemonic")]
        pub enum Op { $($name,)* }

        const MNEMONICS: &[&str] = &[$($text,)*];

        impl Op {
            /// Every operation.
            pub const ALL: &[Op] = &[$(Op::$name,)*];
        }
    };
}

impl Op {
    /// The mnemonic without an encoding suffix, such as `v_add_f32`; gfx9's where the chips differ.
    /// [`Inst::mnemonic`](super::Inst::mnemonic) gives the chip's.
    pub fn mnemonic(self) -> &'static str {
        MNEMONICS[self as usize]
    }
}

with_gfx12! {}

//! Operands and modifiers of a decoded instruction: plain data, no behaviour of the machine.
//!
//! Must hold: an operand names *what* is read or written, never how wide it is; widths belong to the instruction
//! ([`Inst::src_width`](super::Inst::src_width)), because the same code means different values at different widths.

/// One operand.
///
/// A register operand names its first register; a wider operand continues upwards (`Sgpr(4)` of two dwords is
/// `s[4:5]`, `VccLo` of two dwords is `vcc`, `ExecLo` of two is `exec`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Operand {
    /// Absent: the instruction has no such operand, or its encoding says `off`.
    #[default]
    None,
    /// Scalar register 0..=101.
    Sgpr(u8),
    /// Vector register 0..=255.
    Vgpr(u8),
    /// Accumulation register 0..=255.
    Agpr(u8),
    /// Trap temporary 0..=15.
    Ttmp(u8),
    /// Low half of FLAT_SCRATCH (code 102).
    FlatScratchLo,
    /// High half of FLAT_SCRATCH (code 103).
    FlatScratchHi,
    /// Low half of XNACK_MASK (code 104).
    XnackMaskLo,
    /// High half of XNACK_MASK (code 105).
    XnackMaskHi,
    /// Low half of VCC (code 106).
    VccLo,
    /// High half of VCC (code 107).
    VccHi,
    /// M0 (code 124).
    M0,
    /// Low half of EXEC (code 126).
    ExecLo,
    /// High half of EXEC (code 127).
    ExecHi,
    /// Shared aperture base (code 235).
    SharedBase,
    /// Shared aperture limit (code 236).
    SharedLimit,
    /// Private aperture base (code 237).
    PrivateBase,
    /// Private aperture limit (code 238).
    PrivateLimit,
    /// Primitive-ordered pixel shading's exiting wave (code 239); nothing in a compute kernel.
    PopsExitingWaveId,
    /// VCC is zero (code 251).
    Vccz,
    /// EXEC is zero (code 252).
    Execz,
    /// The scalar condition code (code 253).
    Scc,
    /// A dword of LDS at M0 (code 254).
    LdsDirect,
    /// Inline integer -16..=64, sign-extended to the operand's width.
    InlineInt(i32),
    /// Inline float; its bits depend on the operand's width.
    InlineFloat(InlineFloat),
    /// The 32-bit literal behind the instruction. At 64 bits: the high half for a float operand, else extended
    /// ([`Ty::is_float`](super::Ty::is_float)).
    Literal(u32),
    /// The 16-bit immediate of SOPK and SOPP.
    Simm16(i16),
    /// gfx1250: the register that reads as zero and keeps nothing (code 124; M0 is 125 there).
    Null,
    /// gfx1250: the 64-bit literal behind the instruction; its value is [`Inst::literal64`](super::Inst::literal64).
    Literal64,
    /// gfx1250: low half of the scratch base (code 230).
    ScratchBaseLo,
    /// gfx1250: high half of the scratch base (code 231).
    ScratchBaseHi,
}

/// The nine inline floats, codes 240..=248.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum InlineFloat {
    /// 0.5
    Half,
    /// -0.5
    NegHalf,
    /// 1.0
    One,
    /// -1.0
    NegOne,
    /// 2.0
    Two,
    /// -2.0
    NegTwo,
    /// 4.0
    Four,
    /// -4.0
    NegFour,
    /// 1 / (2 pi)
    Inv2Pi,
}

impl InlineFloat {
    /// All, in the order of their codes from 240 on.
    pub const ALL: [InlineFloat; 9] = [
        InlineFloat::Half,
        InlineFloat::NegHalf,
        InlineFloat::One,
        InlineFloat::NegOne,
        InlineFloat::Two,
        InlineFloat::NegTwo,
        InlineFloat::Four,
        InlineFloat::NegFour,
        InlineFloat::Inv2Pi,
    ];

    /// Bits at half precision.
    pub fn bits16(self) -> u16 {
        [0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118][self as usize]
    }

    /// Bits as a brain float: the high half of single precision.
    pub fn bits_bf16(self) -> u16 {
        (self.bits32() >> 16) as u16
    }

    /// Bits at single precision.
    pub fn bits32(self) -> u32 {
        [0.5f32, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0, f32::from_bits(0x3e22_f983)][self as usize].to_bits()
    }

    /// Bits at double precision.
    pub fn bits64(self) -> u64 {
        [0.5f64, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0, f64::from_bits(0x3fc4_5f30_6dc9_c882)][self as usize].to_bits()
    }
}

/// Modifiers of vector ALU instructions. Bit `i` of a mask belongs to source `i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mods {
    /// Sources negated (VOP3P: of the low half).
    pub neg: u8,
    /// VOP3P: sources negated in the high half. Mixed-precision FMA: sources made absolute.
    pub neg_hi: u8,
    /// Sources made absolute, before negation.
    pub abs: u8,
    /// Result clamped (float: to 0..=1, integer: saturated).
    pub clamp: bool,
    /// Output modifier: 0 none, 1 times 2, 2 times 4, 3 divided by 2.
    pub omod: u8,
    /// 16-bit halves picked: sources in bits 0..=2, the destination in bit 3.
    pub op_sel: u8,
    /// VOP3P: halves picked for the high result.
    pub op_sel_hi: u8,
    /// Truth table of `v_bitop3`.
    pub bitop3: u8,
    /// Matrix instructions: control broadcast size.
    pub cbsz: u8,
    /// Matrix instructions: broadcast block.
    pub abid: u8,
    /// Matrix instructions: B matrix lane group pattern, or negation of f64.
    pub blgp: u8,
    /// How lanes or sub-dwords of the sources are rearranged.
    pub lanes: Lanes,
}

/// The two 32-bit extensions of VOP1, VOP2 and VOPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lanes {
    /// The plain encoding.
    #[default]
    Plain,
    /// Source 0 comes from another lane.
    Dpp(Dpp),
    /// Parts of dwords are read and written.
    Sdwa(Sdwa),
    /// gfx1250: source 0 comes from another lane of its eight.
    Dpp8(Dpp8),
}

/// Source 0 of each lane comes from any lane of the same eight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dpp8 {
    /// Which of the eight lanes each reads: lane `i`'s in bits `3 * i ..= 3 * i + 2`.
    pub lanes: u32,
    /// Lanes that are switched off are read, too (`fi:1`); else they give 0.
    pub fetch_inactive: bool,
}

/// Data-parallel primitives of source 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dpp {
    /// Nine-bit pattern: 0x000..=0x0ff quad_perm, 0x101..=0x10f row_shl, 0x111.. row_shr, 0x121.. row_ror, 0x130 wave_shl:1,
    /// 0x134 wave_rol:1, 0x138 wave_shr:1, 0x13c wave_ror:1, 0x140 row_mirror, 0x141 row_half_mirror, 0x142 row_bcast:15,
    /// 0x143 row_bcast:31, 0x150..=0x15f row_newbcast.
    pub ctrl: u16,
    /// Rows of 16 lanes that are written.
    pub row_mask: u8,
    /// Banks of 4 lanes in each row that are written.
    pub bank_mask: u8,
    /// Lanes without a source read 0 (else they keep the old value).
    pub bound_ctrl: bool,
    /// gfx1250: lanes that are switched off are read, too (`fi:1`).
    pub fetch_inactive: bool,
}

/// Sub-dword addressing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sdwa {
    /// Which part of the destination is written; absent for compares, which write a mask, and for conversions from 8-bit
    /// floats, which write whole registers.
    pub dst_sel: Option<Sel>,
    /// What happens to the other parts.
    pub dst_unused: Unused,
    /// Which part of each source is read.
    pub src_sel: [Sel; 2],
    /// Sources that are sign-extended (integers), bit by source.
    pub sext: u8,
}

/// A part of a dword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Sel {
    /// Bits 7:0.
    Byte0,
    /// Bits 15:8.
    Byte1,
    /// Bits 23:16.
    Byte2,
    /// Bits 31:24.
    Byte3,
    /// Bits 15:0.
    Word0,
    /// Bits 31:16.
    Word1,
    /// All.
    Dword,
}

/// What SDWA does to the parts of the destination that it does not select.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Unused {
    /// Zeroes.
    Pad,
    /// Copies of the result's sign bit above it, zeroes below.
    Sext,
    /// The old bits.
    Preserve,
}

/// Modifiers of memory instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemMods {
    /// Byte offset. gfx1250: 24 bits signed, DS as below. gfx9: FLAT: 0..=4095; GLOBAL and SCRATCH: -4096..=4095; MUBUF: 0..=4095; SMEM: 21 bits signed; DS: 0..=65535,
    /// or the first of two 8-bit offsets in elements for the two-address forms.
    pub offset: i32,
    /// DS two-address forms: the second offset, in elements.
    pub offset1: u8,
    /// Scope bit 0; atomics: return the old value. SMEM: the bit `glc`.
    pub sc0: bool,
    /// Scope bit 1.
    pub sc1: bool,
    /// Non-temporal.
    pub nt: bool,
    /// SMEM: non-volatile.
    pub nv: bool,
    /// MUBUF, MTBUF: the address has an offset register.
    pub offen: bool,
    /// MUBUF, MTBUF: the address has an index register.
    pub idxen: bool,
    /// MUBUF: the loaded data goes to LDS.
    pub lds: bool,
    /// DS: global data share.
    pub gds: bool,
    /// MTBUF: data and number format.
    pub format: u8,
    /// gfx1250: how far the operation reaches. gfx9 says it with `sc0` and `sc1`, which stay false here.
    pub scope: Scope,
    /// gfx1250: temporal hint, 0..=7. Atomics: bit 0 returns the old value (then `dst` is there), bit 1 is non-temporal, bit 2
    /// cascades. Loads: 0 regular, 1 non-temporal, 2 high temporal, 3 last use, or bypass with scope SYS. Stores: 3 is
    /// write-back, or bypass with scope SYS.
    pub th: u8,
    /// gfx1250: the offset register counts elements of the access, not bytes: its value is multiplied by the size of the access
    /// in bytes. It is the vector register beside a scalar address (GLOBAL, FLAT), the vector register of SCRATCH, or the
    /// offset register of SMEM.
    pub scale_offset: bool,
}

/// How far a memory operation of gfx1250 reaches: which caches it may be answered by or left in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum Scope {
    /// One compute unit (workgroup processor).
    #[default]
    Cu,
    /// A shader engine (a cluster of workgroups).
    Se,
    /// The device.
    Dev,
    /// The system: other devices and the host.
    Sys,
}

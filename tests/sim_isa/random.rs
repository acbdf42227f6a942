//! Random numbers from a seed, and random fields of encodings.

/// A small generator (xorshift with a multiplied result): the same numbers for the same seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn u32(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }

    /// 0..bound.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        self.u32() % bound
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }

    /// A word with all, half or a quarter of its bits: sparse ones hit reserved fields less often.
    pub(crate) fn sparse(&mut self) -> u32 {
        let word = self.u32();
        match self.below(4) {
            0 => word & self.u32(),
            1 => word & self.u32() & self.u32(),
            _ => word,
        }
    }

    /// A literal: often one that is an inline constant at some type.
    pub(crate) fn literal(&mut self) -> u32 {
        let constants = [
            0,
            1,
            5,
            64,
            65,
            0xffff_ffff,
            0xffff_fff0,
            0xffff,
            0xfff0,
            0x3800,
            0x4000,
            0xc400,
            0x3118,
            0x3f00,
            0xbf80,
            0x3e22,
            0x3f00_0000,
            0x4000_0000,
            0x3e22_f983,
            0x3ff0_0000,
            0x3fc4_5f30,
            0x0005_0005,
            0x3800_3800,
        ];
        if self.below(2) == 0 { self.pick(&constants) } else { self.sparse() }
    }

    /// A scalar register at which a tuple of `dwords` dwords may begin.
    pub(crate) fn scalar_register(&mut self, dwords: u8) -> u32 {
        match (dwords, self.below(8)) {
            (1, 0) => self.pick(&[102, 103, 104, 105, 106, 107, 126, 127]),
            (1, _) => self.below(102),
            (2, 0) => self.pick(&[102, 104, 106, 108, 118]),
            (2, _) => self.below(51) * 2,
            _ => self.below(21) * 4,
        }
    }

    /// A scalar source: a register or an inline constant.
    pub(crate) fn scalar_source(&mut self, dwords: u8) -> u32 {
        match self.below(4) {
            0 => 128 + self.below(81),
            1 => self.pick(&[124, 235, 236, 237, 238, 239, 240, 241, 242, 243, 244, 245, 246, 247, 248, 253]),
            _ => self.scalar_register(dwords),
        }
    }

    /// A vector register at which a tuple of `dwords` dwords may begin.
    pub(crate) fn vector_register(&mut self, dwords: u8) -> u32 {
        if dwords <= 1 { self.below(256) } else { self.below((256 - u32::from(dwords)) / 2 + 1) * 2 }
    }

    /// The nine-bit code of a vector instruction's source.
    pub(crate) fn vector_source(&mut self, dwords: u8) -> u32 {
        if dwords > 2 || self.below(2) == 0 { 256 + self.vector_register(dwords) } else { self.scalar_source(dwords) }
    }
}

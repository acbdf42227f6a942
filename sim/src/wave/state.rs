//! Registers of a wave, which of them were written, and which await the result of a load.
//!
//! What must hold here:
//! - Scalar registers are one array that is indexed by the 7-bit number that encodings use, so VCC, EXEC, M0 and the trap
//!   registers need no special case in operand reads. A 64-bit value is a pair, low dword first.
//! - Vector registers are one `[u32; 64]` per register (lanes side by side, so that lane loops vectorise); accumulation
//!   registers follow the ordinary ones in the same array from [`WaveState::accum_offset`] on.
//! - `sgpr_init` / `vgpr_init` tell which registers hold a defined value (per lane for vector registers). A result of undefined
//!   sources is undefined itself; that is a defect only where it decides something: an address, a branch, EXEC, a stored value.
//! - `*_busy` mark destinations of loads that were issued and have not been performed. They are set by whoever issues a load
//!   and cleared by whoever delivers its result.

use super::{COUNTERS, Counter};

/// Lanes of the arrays that hold vector registers: those of a wave on gfx942 and gfx950. A wave of 32 lanes uses the lower half.
pub const LANES: usize = 64;

/// Most vector registers of a wave: 512 on gfx942 and gfx950 with the accumulation registers, 1024 on gfx1250.
const MOST_VGPRS: usize = 1024;

/// Scalar register number of the low dword of FLAT_SCRATCH.
pub const FLAT_SCRATCH: usize = 102;
/// Scalar register number of the low dword of XNACK_MASK.
pub const XNACK_MASK: usize = 104;
/// Scalar register number of the low dword of VCC.
pub const VCC: usize = 106;
/// Scalar register number of the first trap register.
pub const TTMP0: usize = 108;
/// Scalar register number of M0.
pub const M0: usize = 124;
/// Scalar register number of the low dword of EXEC.
pub const EXEC: usize = 126;

/// What waves of a family of chips have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generation {
    /// gfx942 and gfx950: 64 lanes, vmcnt and lgkmcnt, scope bits.
    #[default]
    Gfx9,
    /// gfx1250: 32 lanes, split counters, scopes by name.
    Gfx12,
}

impl Generation {
    /// Lanes of a wave.
    #[inline]
    pub const fn lanes(self) -> usize {
        match self {
            Generation::Gfx9 => 64,
            Generation::Gfx12 => 32,
        }
    }

    /// All lanes of a wave, as a mask.
    #[inline]
    pub const fn all(self) -> u64 {
        u64::MAX >> (64 - self.lanes())
    }

    /// By counter the most operations that the hardware counts; whoever issues one more waits. LLVM 22's widths of the
    /// fields of the waits.
    pub const fn most(self) -> [u32; COUNTERS] {
        match self {
            Generation::Gfx9 => [63, u32::MAX, 15, u32::MAX, u32::MAX],
            Generation::Gfx12 => [63, 63, 63, 31, 63],
        }
    }
}

/// Which wave this is, and where it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaveId {
    /// Index of its clock in the happens-before state: what `mem` gave out when the wave started.
    pub actor: u32,
    /// Rank (GPU).
    pub rank: u32,
    /// XCD within the GPU: which L2 it uses.
    pub xcd: u32,
    /// Compute unit within the whole machine, counted over all GPUs: which L1 it uses.
    pub cu: u32,
    /// Number of its workgroup's slot in the machine, for the LDS.
    pub group: u32,
    /// Workgroup id in x, y, z.
    pub workgroup: [u32; 3],
    /// Wave within the workgroup.
    pub wave: u32,
}

/// A wave's registers.
#[derive(Clone, Debug)]
pub struct WaveState {
    /// Which wave.
    pub id: WaveId,
    /// Which family of chips it runs on.
    pub generation: Generation,
    /// All its lanes, as a mask.
    pub all: u64,
    /// Scalar registers by their number in encodings; see the constants of this module.
    pub sgprs: [u32; 128],
    /// Vector registers, then accumulation registers.
    pub vgprs: Vec<[u32; LANES]>,
    /// Index in `vgprs` of the first accumulation register.
    pub accum_offset: u32,
    /// Scalar condition code.
    pub scc: bool,
    /// Address of the next instruction.
    pub pc: u64,
    /// The MODE register: bits 3:0 rounding (1:0 f32, 3:2 f64 and f16), bits 7:4 denormals (5:4 f32, 7:6 f64 and f16), bit 8
    /// DX10 clamp, bit 9 IEEE.
    pub mode: u32,
    /// Whether SCC was set from values that were all written.
    pub scc_init: bool,
    /// Bit n: scalar register n holds a value that came from written registers and memory alone.
    pub sgpr_init: u128,
    /// For each vector register, the lanes of which the same can be said.
    pub vgpr_init: Vec<u64>,
    /// Bit n: a scalar load into register n is in flight.
    pub sgpr_busy: u128,
    /// Bit n % 64 of word n / 64: a load into vector register n is in flight.
    pub vgpr_busy: [u64; MOST_VGPRS / 64],
    /// Scalar and vector registers, likewise, that an operation in flight still needs unchanged: those whose addresses are
    /// not translated yet ([`Counter::X`]).
    pub sgpr_pinned: u128,
    /// See `sgpr_pinned`.
    pub vgpr_pinned: [u64; MOST_VGPRS / 64],
    /// Operations in flight by [`Counter`]: what the waits wait on.
    pub counts: [u32; COUNTERS],
}

impl WaveState {
    /// A wave with `vgprs` vector registers in all, the accumulation registers from `accum_offset` on, nothing written, EXEC
    /// all ones.
    pub fn new(id: WaveId, vgprs: u32, accum_offset: u32, pc: u64, mode: u32) -> Self {
        let mut state = Self {
            id,
            generation: Generation::Gfx9,
            all: !0,
            sgprs: [0; 128],
            vgprs: vec![[0; LANES]; vgprs as usize],
            accum_offset,
            scc: false,
            pc,
            mode,
            scc_init: false,
            sgpr_init: 0,
            vgpr_init: vec![0; vgprs as usize],
            sgpr_busy: 0,
            vgpr_busy: [0; MOST_VGPRS / 64],
            sgpr_pinned: 0,
            vgpr_pinned: [0; MOST_VGPRS / 64],
            counts: [0; COUNTERS],
        };
        state.set_sgpr64(EXEC, !0);
        state
    }

    /// Makes it a wave of `generation`, all lanes active. Lanes that it does not have count as written, so that nobody asks
    /// whether they are.
    #[must_use]
    pub fn with_generation(mut self, generation: Generation) -> Self {
        (self.generation, self.all) = (generation, generation.all());
        self.vgpr_init.iter_mut().for_each(|lanes| *lanes |= !generation.all());
        self.set_mask(EXEC, generation.all());
        self
    }

    /// Lanes that are active.
    #[inline]
    pub const fn exec(&self) -> u64 {
        self.sgpr64(EXEC) & self.all
    }

    /// The vector condition code.
    #[inline]
    pub const fn vcc(&self) -> u64 {
        self.sgpr64(VCC) & self.all
    }

    /// How many operations `counter` counts.
    #[inline]
    pub const fn count(&self, counter: Counter) -> u32 {
        self.counts[counter as usize]
    }

    /// The scalar registers that hold a mask of lanes from `number` on, as a mask: two, or one in a wave of 32 lanes.
    #[inline]
    pub const fn mask_registers(&self, number: usize) -> u128 {
        match self.generation {
            Generation::Gfx9 => 3 << number,
            Generation::Gfx12 => 1 << number,
        }
    }

    /// Writes a mask of lanes to the scalar registers from `number` on.
    #[inline]
    pub const fn set_mask(&mut self, number: usize, lanes: u64) {
        match self.generation {
            Generation::Gfx9 => self.set_sgpr64(number, lanes),
            Generation::Gfx12 => self.set_sgpr(number, lanes as u32),
        }
    }

    /// The register pair from `number` on. The number must be below 127; encodings guarantee it (checked at decode).
    #[inline]
    pub const fn sgpr64(&self, number: usize) -> u64 {
        self.sgprs[number] as u64 | (self.sgprs[number + 1] as u64) << 32
    }

    /// Writes a scalar register and notes it as written.
    #[inline]
    pub const fn set_sgpr(&mut self, number: usize, value: u32) {
        self.sgprs[number] = value;
        self.sgpr_init |= 1 << number;
    }

    /// Writes a register pair and notes it as written.
    #[inline]
    pub const fn set_sgpr64(&mut self, number: usize, value: u64) {
        self.sgprs[number] = value as u32;
        self.sgprs[number + 1] = (value >> 32) as u32;
        self.sgpr_init |= 3 << number;
    }

    /// Notes that `lanes` of vector register `index` were written.
    #[inline]
    pub fn mark_vgpr(&mut self, index: usize, lanes: u64) {
        self.vgpr_init[index] |= lanes;
    }

    /// Writes one lane of a vector register and notes it as written.
    #[inline]
    pub fn set_lane(&mut self, index: usize, lane: usize, value: u32) {
        self.vgprs[index][lane] = value;
        self.vgpr_init[index] |= 1 << lane;
    }

    /// Marks `count` vector registers from `index` on as destinations of a load in flight.
    pub fn set_vgpr_busy(&mut self, index: usize, count: usize) {
        for register in index..index + count {
            self.vgpr_busy[register / 64 % (MOST_VGPRS / 64)] |= 1 << (register % 64);
        }
    }

    /// Undoes [`set_vgpr_busy`](Self::set_vgpr_busy).
    pub fn clear_vgpr_busy(&mut self, index: usize, count: usize) {
        for register in index..index + count {
            self.vgpr_busy[register / 64 % (MOST_VGPRS / 64)] &= !(1 << (register % 64));
        }
    }

    /// Whether a load into vector register `index` is in flight.
    #[inline]
    pub const fn is_vgpr_busy(&self, index: usize) -> bool {
        self.vgpr_busy[index / 64 % (MOST_VGPRS / 64)] >> (index % 64) & 1 != 0
    }

    /// Whether any load into a register is in flight.
    #[inline]
    pub fn any_busy(&self) -> bool {
        self.sgpr_busy != 0 || self.vgpr_busy != [0; MOST_VGPRS / 64]
    }

    /// Whether a source of an operation in flight must stay as it is.
    #[inline]
    pub const fn any_pinned(&self) -> bool {
        self.counts[Counter::X as usize] != 0
    }
}

#[cfg(test)]
mod tests {
    use super::{EXEC, Generation, VCC, WaveId, WaveState};

    fn wave() -> WaveState {
        let id = WaveId { actor: 0, rank: 0, xcd: 0, cu: 0, group: 0, workgroup: [0; 3], wave: 0 };
        WaveState::new(id, 8, 4, 0x100, 0)
    }

    #[test]
    fn a_new_wave_has_all_lanes_and_nothing_else() {
        let wave = wave();
        assert_eq!(wave.exec(), !0);
        assert_eq!(wave.sgpr_init, 3 << EXEC);
        assert!(wave.vgpr_init.iter().all(|lanes| *lanes == 0));
    }

    #[test]
    fn pairs_are_low_dword_first() {
        let mut wave = wave();
        wave.set_sgpr64(VCC, 0x1_0000_0002);
        assert_eq!((wave.sgprs[VCC], wave.sgprs[VCC + 1], wave.vcc()), (2, 1, 0x1_0000_0002));
    }

    #[test]
    fn a_wave_of_32_lanes_has_masks_of_one_register() {
        let mut wave = wave().with_generation(Generation::Gfx12);
        assert_eq!((wave.exec(), wave.sgprs[EXEC]), (0xffff_ffff, !0));
        wave.sgprs[EXEC + 1] = 7;
        wave.sgprs[VCC + 1] = 7;
        wave.set_mask(VCC, 5);
        assert_eq!((wave.exec(), wave.vcc(), wave.sgprs[VCC + 1]), (0xffff_ffff, 5, 7));
        assert_eq!(wave.vgpr_init[0], 0xffff_ffff_0000_0000, "lanes that do not exist are never missing");
    }

    #[test]
    fn busy_registers_cross_words() {
        let mut wave = wave();
        wave.set_vgpr_busy(62, 4);
        assert!(wave.is_vgpr_busy(62) && wave.is_vgpr_busy(65) && !wave.is_vgpr_busy(66) && wave.any_busy());
        wave.clear_vgpr_busy(62, 4);
        assert!(!wave.any_busy());
    }
}

//! One operation that an instruction issued: what it does, for which lanes, and what it will deliver.
//!
//! What must hold here: everything an operation needs later was captured at its issue (addresses, store data, clocks);
//! only the bytes of memory are looked at when it is performed. Operations are large and are used again, not allocated
//! anew.

use std::rc::Rc;

use super::AtomicOp;
use super::clock::Clock;
use super::space::Scope;
use crate::time::OpTime;
use crate::wave::{CounterSet, LANES};

/// Registers that an operation reads: scalar ones as a set, vector ones as (first, count).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    /// Bit n: scalar register n.
    pub scalars: u128,
    /// Vector registers.
    pub vectors: [(u16, u16); 3],
}

/// What an operation does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum What {
    /// Nothing.
    #[default]
    Nothing,
    /// Loads into registers, or into LDS with `to_lds`.
    Load,
    /// Stores.
    Store,
    /// Reads, changes and writes.
    Atomic(AtomicOp),
    /// Loads into scalar registers.
    ScalarLoad,
    /// `s_dcache_inv`.
    ScalarInvalidate,
    /// Delivers what was computed at issue: lane permutations and the time.
    Deliver,
    /// `buffer_wbl2`.
    WriteBack,
}

/// How loaded bytes become a register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Convert {
    /// Whole dwords.
    #[default]
    Dwords,
    /// A byte or a half, zero-extended.
    Zero,
    /// A byte or a half, sign-extended.
    Sign,
    /// The low half; the high half of the register stays. Sign-extended to 16 bits or not.
    Low(bool),
    /// The high half; the low half of the register stays.
    High(bool),
    /// Blocks of 16 lanes transpose elements of this many bytes (`ds_read_b64_tr_*`).
    Transpose(u8),
}

/// An operation.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) pc: u64,
    pub(crate) what: What,
    /// Lanes that access global memory, LDS, scratch.
    pub(crate) global: u64,
    pub(crate) lds: u64,
    pub(crate) scratch: u64,
    /// Address, or offset in LDS or scratch, of each lane.
    pub(crate) address: [u64; LANES],
    /// Bytes of each lane's access.
    pub(crate) bytes: usize,
    /// DS two-address forms: bytes from the first address to the second.
    pub(crate) second: Option<i64>,
    pub(crate) scope: Scope,
    pub(crate) convert: Convert,
    /// By dword: store data, operands of atomics, loaded data. Scalar loads: dwords side by side in the first row.
    pub(crate) data: [[u32; LANES]; 4],
    /// First register that is written, how many, and whether they are scalar ones.
    pub(crate) dst: u16,
    pub(crate) dst_dwords: u8,
    pub(crate) scalar: bool,
    /// By dword: lanes whose result is undefined.
    pub(crate) undefined: [u64; 4],
    /// LDS offset of lane 0 and bytes from lane to lane, when loaded data goes to LDS.
    pub(crate) to_lds: Option<(u32, u32)>,
    /// Which counters it still counts in.
    pub(crate) counted: CounterSet,
    /// Registers that must stay as they are while it counts in [`Counter::X`](crate::wave::Counter::X).
    pub(crate) pins: Pins,
    /// Whether it keeps its order among LDS operations.
    pub(crate) in_order: bool,
    pub(crate) done: bool,
    /// Ticks of its accesses; 0 for none.
    pub(crate) memory_tick: u32,
    pub(crate) local_tick: u32,
    /// What it releases; for a write-back what had been seen when it was issued.
    pub(crate) clock: Option<Rc<Clock>>,
    /// What it has observed.
    pub(crate) learned: Option<Rc<Clock>>,
    /// Global bytes that it touches lie from `low` to before `high`; LDS bytes likewise.
    pub(crate) range: (u64, u64),
    pub(crate) lds_range: (u64, u64),
    /// When, in virtual time: set when it goes into flight, and all zero for ever without it.
    pub(crate) time: OpTime,
}

impl Default for Operation {
    fn default() -> Self {
        Self {
            pc: 0,
            what: What::Nothing,
            global: 0,
            lds: 0,
            scratch: 0,
            address: [0; LANES],
            bytes: 0,
            second: None,
            scope: Scope::Wave,
            convert: Convert::Dwords,
            data: [[0; LANES]; 4],
            dst: 0,
            dst_dwords: 0,
            scalar: false,
            undefined: [0; 4],
            to_lds: None,
            counted: CounterSet::default(),
            pins: Pins::default(),
            in_order: false,
            done: false,
            memory_tick: 0,
            local_tick: 0,
            clock: None,
            learned: None,
            range: (0, 0),
            lds_range: (0, 0),
            time: OpTime::default(),
        }
    }
}

impl Operation {
    /// Makes a used operation a new one; addresses and data are left as they are.
    pub(crate) fn renew(&mut self, what: What, pc: u64) {
        self.pc = pc;
        self.what = what;
        (self.global, self.lds, self.scratch) = (0, 0, 0);
        (self.bytes, self.second, self.scope, self.convert) = (0, None, Scope::Wave, Convert::Dwords);
        (self.dst, self.dst_dwords, self.scalar, self.undefined, self.to_lds) = (0, 0, false, [0; 4], None);
        (self.counted, self.pins, self.in_order, self.done) = (CounterSet::default(), Pins::default(), false, false);
        (self.memory_tick, self.local_tick, self.clock, self.learned) = (0, 0, None, None);
        (self.range, self.lds_range) = ((0, 0), (0, 0));
    }

    /// Lanes that do anything.
    pub(crate) const fn lanes(&self) -> u64 {
        self.global | self.lds | self.scratch
    }

    /// Dwords of an access; a part of one counts as one.
    pub(crate) const fn dwords(&self) -> usize {
        self.bytes.div_ceil(4)
    }

    /// Whether it changes global memory.
    pub(crate) const fn writes_global(&self) -> bool {
        matches!(self.what, What::Store | What::Atomic(_)) && self.global != 0
    }

    /// Whether it loads into registers that somebody may wait for.
    pub(crate) const fn delivers(&self) -> bool {
        self.dst_dwords != 0
    }

    /// Whether this, which was issued earlier, is performed before `later`.
    pub(crate) fn precedes(&self, later: &Self) -> bool {
        match (self.what, later.what) {
            (What::ScalarInvalidate, What::ScalarLoad) => true,
            (_, What::WriteBack) => self.writes_global() || self.what == What::WriteBack,
            _ => {
                (self.in_order && later.in_order)
                    || overlap(self.range, later.range)
                    || overlap(self.lds_range, later.lds_range)
                    || self.scratch & later.scratch != 0
            }
        }
    }
}

const fn overlap(a: (u64, u64), b: (u64, u64)) -> bool {
    a.0 < b.1 && b.0 < a.1
}

/// Calls `visit(first lane, lanes, whether all are at one address)` for runs of active lanes with neighbouring
/// addresses.
#[inline]
pub(crate) fn for_runs<E>(
    lanes: u64,
    address: &[u64; LANES],
    bytes: u64,
    mut visit: impl FnMut(usize, usize, bool) -> Result<(), E>,
) -> Result<(), E> {
    // All lanes of a wave of 64 or of 32.
    if (lanes == !0 || lanes == 0xffff_ffff) && {
        let neighbours = |lane: usize| address[lane] == address[lane - 1].wrapping_add(bytes);
        (1..32).all(neighbours) && (lanes != !0 || (32..LANES).all(neighbours))
    } {
        return visit(0, lanes.count_ones() as usize, false);
    }
    let mut lane = 0;
    while lane < LANES {
        if lanes >> lane & 1 == 0 {
            lane += 1;
            continue;
        }
        let first = lane;
        let active = |lane: usize| lane < LANES && lanes >> lane & 1 != 0;
        lane += 1;
        while active(lane) && address[lane] == address[first] {
            lane += 1;
        }
        if lane - first > 1 {
            visit(first, lane - first, true)?;
            continue;
        }
        while active(lane) && address[lane] == address[lane - 1].wrapping_add(bytes) {
            lane += 1;
        }
        visit(first, lane - first, false)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{LANES, for_runs};

    fn runs(lanes: u64, address: impl Fn(usize) -> u64) -> Vec<(usize, usize, bool)> {
        let mut found = Vec::new();
        let address = std::array::from_fn(address);
        let _: Result<(), ()> = for_runs(lanes, &address, 4, |first, count, same| {
            found.push((first, count, same));
            Ok(())
        });
        found
    }

    #[test]
    fn neighbours_form_runs() {
        assert_eq!(runs(!0, |lane| 100 + 4 * lane as u64), [(0, LANES, false)]);
        assert_eq!(runs(0xffff_ffff, |lane| 100 + 4 * (lane as u64 % 33)), [(0, 32, false)]);
        assert_eq!(runs(0, |_| 0), []);
        assert_eq!(runs(0b111_0110, |lane| 4 * lane as u64), [(1, 2, false), (4, 3, false)]);
        assert_eq!(runs(0xff, |lane| lane as u64 / 4 * 100), [(0, 4, true), (4, 4, true)]);
        assert_eq!(runs(!0, |_| 8), [(0, LANES, true)]);
        assert_eq!(runs(0b11, |lane| 8u64.wrapping_sub(4 * lane as u64)), [(0, 1, false), (1, 1, false)]);
    }
}

//! Performing an operation: its effect on memory, LDS and scratch, and what it brings back.
//!
//! What must hold here: values and clocks only; every check was made at issue. An operation is performed once.

use std::rc::Rc;

use super::clock::{Clock, join_shared};
use super::lds::{Lds, Scratch};
use super::operation::{Convert, Operation, What, for_runs};
use super::sync::Doorbell;
use super::{Memory, MemoryType, Unit};
use crate::wave::LANES;

/// Most bytes that a wave's access moves.
const MOST: usize = LANES * 16;

/// Neighbouring lanes' bytes as dwords by lane.
#[inline]
fn unpack(data: &mut [[u32; LANES]; 4], first: usize, count: usize, bytes: usize, from: &[u8]) {
    if bytes == 4 {
        for (lane, word) in data[0][first..first + count].iter_mut().zip(from.as_chunks::<4>().0) {
            *lane = u32::from_le_bytes(*word);
        }
        return;
    }
    match bytes {
        8 => return unpack_words::<2>(data, first, count, from),
        12 => return unpack_words::<3>(data, first, count, from),
        16 => return unpack_words::<4>(data, first, count, from),
        _ => {}
    }
    for (index, piece) in from.chunks_exact(bytes).take(count).enumerate() {
        unpack_lane(data, first + index, piece);
    }
}

/// The same for `WORDS` dwords a lane.
#[inline]
fn unpack_words<const WORDS: usize>(data: &mut [[u32; LANES]; 4], first: usize, count: usize, from: &[u8]) {
    for (index, piece) in from.as_chunks::<4>().0.as_chunks::<WORDS>().0.iter().take(count).enumerate() {
        for (row, word) in data.iter_mut().zip(piece) {
            row[(first + index) % LANES] = u32::from_le_bytes(*word);
        }
    }
}

#[inline]
fn unpack_lane(data: &mut [[u32; LANES]; 4], lane: usize, piece: &[u8]) {
    let (words, rest) = piece.as_chunks::<4>();
    for (row, word) in data.iter_mut().zip(words) {
        row[lane] = u32::from_le_bytes(*word);
    }
    match rest {
        [low] => data[0][lane] = u32::from(*low),
        [low, high] => data[0][lane] = u32::from(u16::from_le_bytes([*low, *high])),
        _ => {}
    }
}

/// The reverse.
#[inline]
fn pack(data: &[[u32; LANES]; 4], first: usize, count: usize, bytes: usize, to: &mut [u8]) {
    if bytes == 4 {
        for (lane, word) in data[0][first..first + count].iter().zip(to.as_chunks_mut::<4>().0) {
            *word = lane.to_le_bytes();
        }
        return;
    }
    match bytes {
        8 => return pack_words::<2>(data, first, count, to),
        12 => return pack_words::<3>(data, first, count, to),
        16 => return pack_words::<4>(data, first, count, to),
        _ => {}
    }
    for (index, piece) in to.chunks_exact_mut(bytes).take(count).enumerate() {
        pack_lane(data, 0, first + index, piece);
    }
}

/// The same for `WORDS` dwords a lane.
#[inline]
fn pack_words<const WORDS: usize>(data: &[[u32; LANES]; 4], first: usize, count: usize, to: &mut [u8]) {
    for (index, piece) in to.as_chunks_mut::<4>().0.as_chunks_mut::<WORDS>().0.iter_mut().take(count).enumerate() {
        for (row, word) in data.iter().zip(piece) {
            *word = row[(first + index) % LANES].to_le_bytes();
        }
    }
}

/// Loads `WORDS` dwords of each lane from LDS into rows from `row` on; `delta` bytes from its address.
fn lds_load<const WORDS: usize>(op: &mut Operation, lds: &Lds, row: usize, delta: i64) {
    let lanes = op.lds;
    for lane in (0..LANES).filter(|lane| lanes >> lane & 1 != 0) {
        let at = op.address[lane].wrapping_add_signed(delta) as usize;
        let found = lds.data.get(at..).and_then(|bytes| bytes.as_chunks::<4>().0.first_chunk::<WORDS>());
        let words = found.copied().unwrap_or([[super::FILL; 4]; WORDS]);
        for (index, word) in words.iter().enumerate() {
            op.data[(row + index) % 4][lane] = u32::from_le_bytes(*word);
        }
    }
}

/// Stores `WORDS` dwords of each lane to LDS; whether any byte changed.
fn lds_store<const WORDS: usize>(op: &Operation, lds: &mut Lds, row: usize, delta: i64) -> bool {
    let mut changed = false;
    for lane in (0..LANES).filter(|lane| op.lds >> lane & 1 != 0) {
        let at = op.address[lane].wrapping_add_signed(delta) as usize;
        let found = lds.data.get_mut(at..).and_then(|bytes| bytes.as_chunks_mut::<4>().0.first_chunk_mut::<WORDS>());
        let Some(words) = found else { continue };
        for (index, word) in words.iter_mut().enumerate() {
            let new = op.data[(row + index) % 4][lane].to_le_bytes();
            changed |= *word != new;
            *word = new;
        }
    }
    changed
}

/// Loads and stores of whole dwords, which are nearly all; false for the others.
fn lds_words(op: &mut Operation, lds: &mut Lds, version: &mut u64) -> bool {
    if !matches!(op.bytes, 4 | 8 | 12 | 16) {
        return false;
    }
    let dwords = op.dwords();
    for (row, delta) in [(0, Some(0)), (dwords, op.second)] {
        let Some(delta) = delta else { continue };
        match (op.what, dwords) {
            (What::Load, 1) => lds_load::<1>(op, lds, row, delta),
            (What::Load, 2) => lds_load::<2>(op, lds, row, delta),
            (What::Load, 3) => lds_load::<3>(op, lds, row, delta),
            (What::Load, _) => lds_load::<4>(op, lds, row, delta),
            (What::Store, _) => {
                let changed = match dwords {
                    1 => lds_store::<1>(op, lds, row, delta),
                    2 => lds_store::<2>(op, lds, row, delta),
                    3 => lds_store::<3>(op, lds, row, delta),
                    _ => lds_store::<4>(op, lds, row, delta),
                };
                *version += u64::from(changed);
            }
            _ => return false,
        }
    }
    true
}

/// A lane's dwords from row `row` on.
#[inline]
fn pack_lane(data: &[[u32; LANES]; 4], row: usize, lane: usize, piece: &mut [u8]) {
    for (dword, word) in data.iter().skip(row).zip(piece.chunks_mut(4)) {
        let length = word.len();
        word.copy_from_slice(&dword[lane].to_le_bytes()[..length]);
    }
}

fn word(data: &[[u32; LANES]; 4], row: usize, dwords: usize, lane: usize) -> u64 {
    let high = if dwords == 2 { data[(row + 1) % 4][lane] } else { 0 };
    u64::from(data[row % 4][lane]) | u64::from(high) << 32
}

fn set_word(data: &mut [[u32; LANES]; 4], row: usize, dwords: usize, lane: usize, value: u64) {
    data[row % 4][lane] = value as u32;
    if dwords == 2 {
        data[(row + 1) % 4][lane] = (value >> 32) as u32;
    }
}

impl Memory {
    /// Performs what an operation does to global memory.
    pub(super) fn perform_global(&mut self, unit: Unit, op: &mut Operation) {
        match op.what {
            What::Load if op.global != 0 => self.perform_load(unit, op),
            What::Store if op.global != 0 => self.perform_store(unit, op),
            What::Atomic(_) if op.global != 0 => self.perform_atomic(unit, op),
            What::ScalarLoad => self.perform_scalar(unit, op),
            What::ScalarInvalidate => self.invalidate_scalar(unit),
            What::WriteBack if op.scope.through() => self.write_back(unit),
            _ => {}
        }
        self.timed(|timer, memory| timer.performed(unit, op, memory));
    }

    fn perform_load(&mut self, unit: Unit, op: &mut Operation) {
        let mut buffer = [0; MOST];
        let bytes = op.bytes;
        let Operation { address, data, scope, .. } = op;
        let _: Result<(), ()> = for_runs(op.global, address, bytes as u64, |first, count, same| {
            let total = if same { bytes } else { bytes * count };
            self.load_bytes(unit, address[first], *scope, false, &mut buffer[..total]);
            match same {
                false => unpack(data, first, count, bytes, &buffer[..total]),
                true => (first..first + count).for_each(|lane| unpack_lane(data, lane, &buffer[..total])),
            }
            Ok(())
        });
        if self.config.checks && op.scope.through() && bytes <= 8 {
            op.learned = self.observed(unit, op);
        }
    }

    /// What the lanes of a load with scope learn together.
    fn observed(&self, unit: Unit, op: &Operation) -> Option<Rc<Clock>> {
        let system = op.scope == super::space::Scope::System;
        let seen = &self.actors.get(unit.actor).seen;
        let mut learned: Option<Rc<Clock>> = None;
        let mut last = None;
        for lane in (0..LANES).filter(|lane| op.global >> lane & 1 != 0) {
            if last.replace(op.address[lane]) == Some(op.address[lane]) {
                continue;
            }
            // Most polls find what they found before.
            let clock = self.observe(op.address[lane], op.bytes as u64, system, unit.rank);
            if let Some(clock) = clock.filter(|clock| !seen.covers(clock)) {
                match &mut learned {
                    None => learned = Some(clock),
                    Some(known) => join_shared(known, &clock, self.actors.floor),
                }
            }
        }
        learned
    }

    fn perform_store(&mut self, unit: Unit, op: &mut Operation) {
        let mut buffer = [0; MOST];
        let bytes = op.bytes;
        let _: Result<(), ()> = for_runs(op.global, &op.address, bytes as u64, |first, count, same| {
            // Of lanes that store to one address the last one stays.
            let (from, lanes) = if same { (first + count - 1, 1) } else { (first, count) };
            let total = bytes * lanes;
            pack(&op.data, from, lanes, bytes, &mut buffer[..total]);
            let address = op.address[first];
            self.store_bytes(unit, address, op.scope, &buffer[..total]);
            match &op.clock {
                Some(clock) => self.publish(
                    address,
                    total as u64,
                    clock,
                    op.scope == super::space::Scope::System,
                    unit.rank,
                    false,
                ),
                None => self.unpublish(address, total as u64),
            }
            if self.find(address).is_some_and(|allocation| allocation.kind == MemoryType::Doorbell) {
                self.ring(unit, op, from, lanes);
            }
            Ok(())
        });
    }

    fn ring(&mut self, unit: Unit, op: &Operation, first: usize, count: usize) {
        let system = op.scope == super::space::Scope::System;
        for lane in first..first + count {
            let clock = op.clock.clone().filter(|_| system).unwrap_or_default();
            let value = word(&op.data, 0, op.dwords(), lane);
            let (address, bytes) = (op.address[lane], op.bytes as u32);
            self.doorbells.push_back(Doorbell {
                address,
                value,
                bytes,
                actor: unit.actor,
                clock,
                time: op.time.stamp(),
            });
        }
    }

    fn perform_atomic(&mut self, unit: Unit, op: &mut Operation) {
        let What::Atomic(kind) = op.what else { return };
        let (bytes, dwords) = (op.bytes, op.dwords());
        let system = op.scope.through();
        let lanes = op.global;
        for lane in (0..LANES).filter(|lane| lanes >> lane & 1 != 0) {
            let (operand, compare) = (word(&op.data, 0, dwords, lane), word(&op.data, dwords, dwords, lane));
            let address = op.address[lane];
            let old = self.atomic_bytes(unit, address, bytes, op.scope, |old| kind.apply(old, operand, compare, bytes));
            set_word(&mut op.data, 0, dwords, lane, old);
            if let Some(clock) = &op.clock {
                if let Some(seen) = self.observe(address, bytes as u64, system, unit.rank) {
                    join_shared(op.learned.get_or_insert_default(), &seen, self.actors.floor);
                }
                self.publish(address, bytes as u64, clock, system, unit.rank, true);
            }
        }
    }

    fn perform_scalar(&mut self, unit: Unit, op: &mut Operation) {
        let mut buffer = [0; 64];
        let total = op.bytes.min(64);
        self.load_bytes(unit, op.address[0], op.scope, true, &mut buffer[..total]);
        if total < 4 {
            let word = u32::from_le_bytes([buffer[0], buffer[1], 0, 0]);
            op.data[0][0] = extend(word, total, op.convert == Convert::Sign);
            return;
        }
        for (word, bytes) in op.data[0].iter_mut().zip(buffer[..total].as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
    }

    /// Performs what an operation does to LDS and scratch.
    pub(super) fn perform_local(&mut self, op: &mut Operation, lds: &mut Lds, scratch: &mut Scratch) {
        if let Some((base, stride)) = op.to_lds {
            self.load_to_lds(op, lds, base, stride);
        }
        if op.lds != 0 {
            self.perform_lds(op, lds);
        }
        if op.scratch != 0 {
            perform_scratch(op, scratch);
        }
    }

    fn load_to_lds(&mut self, op: &mut Operation, lds: &mut Lds, base: u32, stride: u32) {
        let lanes = op.lanes();
        for lane in (0..LANES).filter(|lane| lanes >> lane & 1 != 0) {
            let mut bytes = [0; 16];
            if op.bytes < 4 {
                op.data[0][lane] = extend(op.data[0][lane], op.bytes, op.convert == Convert::Sign);
            }
            let total = (op.dwords() * 4).min(16);
            pack_lane(&op.data, 0, lane, &mut bytes[..total]);
            let at = base as usize + stride as usize * lane;
            self.lds_write(lds, at, &bytes[..total]);
        }
    }

    fn lds_write(&mut self, lds: &mut Lds, at: usize, bytes: &[u8]) {
        if let Some(target) = lds.data.get_mut(at..at + bytes.len())
            && *target != *bytes
        {
            target.copy_from_slice(bytes);
            self.version += 1;
        }
    }

    fn perform_lds(&mut self, op: &mut Operation, lds: &mut Lds) {
        if lds_words(op, lds, &mut self.version) {
            return;
        }
        let (bytes, dwords) = (op.bytes, op.dwords());
        let accesses = 1 + usize::from(op.second.is_some());
        let lanes = op.lds;
        for lane in (0..LANES).filter(|lane| lanes >> lane & 1 != 0) {
            for access in 0..accesses {
                let delta = if access == 0 { 0 } else { op.second.unwrap_or(0) };
                let at = op.address[lane].wrapping_add_signed(delta) as usize;
                let row = access * dwords;
                let mut buffer = [0; 16];
                let piece = &mut buffer[..bytes.min(16)];
                if let Some(source) = lds.data.get(at..at + piece.len()) {
                    piece.copy_from_slice(source);
                } else {
                    piece.fill(super::FILL);
                }
                match op.what {
                    What::Load if row == 0 => unpack_lane(&mut op.data, lane, piece),
                    What::Load => {
                        for (index, word) in piece.as_chunks::<4>().0.iter().enumerate() {
                            op.data[(row + index) % 4][lane] = u32::from_le_bytes(*word);
                        }
                    }
                    What::Store => {
                        pack_lane(&op.data, row, lane, piece);
                        self.lds_write(lds, at, &buffer[..bytes.min(16)]);
                    }
                    What::Atomic(kind) => {
                        let mut old = [0; 8];
                        old[..bytes.min(8)].copy_from_slice(&piece[..bytes.min(8)]);
                        let old = u64::from_le_bytes(old);
                        let operand = word(&op.data, row, dwords, lane);
                        let new = kind.apply(old, operand, word(&op.data, row + dwords, dwords, lane), bytes);
                        self.lds_write(lds, at, &new.to_le_bytes()[..bytes.min(8)]);
                        set_word(&mut op.data, row, dwords, lane, old);
                    }
                    _ => {}
                }
            }
        }
    }
}

/// A byte or a half as a dword.
pub(super) const fn extend(value: u32, bytes: usize, signed: bool) -> u32 {
    match (bytes, signed) {
        (1, false) => value & 0xff,
        (1, true) => value as u8 as i8 as i32 as u32,
        (_, false) => value & 0xffff,
        (_, true) => value as u16 as i16 as i32 as u32,
    }
}

fn perform_scratch(op: &mut Operation, scratch: &mut Scratch) {
    let bytes = op.bytes.min(16);
    let lanes = op.scratch;
    for lane in (0..LANES).filter(|lane| lanes >> lane & 1 != 0) {
        let Some(piece) = scratch.bytes(lane, op.address[lane], bytes) else { continue };
        match op.what {
            What::Load => unpack_lane(&mut op.data, lane, piece),
            What::Store => pack_lane(&op.data, 0, lane, piece),
            What::Atomic(kind) => {
                let mut old = [0; 8];
                old[..bytes.min(8)].copy_from_slice(&piece[..bytes.min(8)]);
                let old = u64::from_le_bytes(old);
                let dwords = op.bytes.div_ceil(4);
                let operand = word(&op.data, 0, dwords, lane);
                let new = kind.apply(old, operand, word(&op.data, dwords, dwords, lane), bytes);
                piece.copy_from_slice(&new.to_le_bytes()[..bytes.min(8)]);
                set_word(&mut op.data, 0, dwords, lane, old);
            }
            _ => {}
        }
    }
}

//! What the engines do for each packet, piece by piece.
//!
//! What must hold here: a copy is carried out in ascending pieces of seeded size, each read and then written, so that a
//! source that changes meanwhile, or a destination read too early, shows; every address is checked against the ranks that the
//! queue leads to before it is touched.

use super::EngineMemory;
use super::engine::Engine;
use super::fault::EngineFaultKind;
use super::packet::{Decoded, Packet, SubWindow};
use crate::fault::{Exec, Fault};
use crate::rng::Rng;

/// Bytes by which the destinations of a broadcast must agree (hw 1, seed).
const BROADCAST_MODULUS: u64 = 32;

/// A packet that is being carried out.
#[derive(Clone, Debug)]
pub(super) struct Running {
    pub(super) name: &'static str,
    pub(super) packet: Packet,
    pub(super) dwords: u32,
    /// The packet as it was read, for faults.
    pub(super) dwords_read: Vec<u32>,
    /// Bytes that are done; for sub-windows, rows; for waits, reads.
    done: u64,
    /// Whether its addresses were checked.
    checked: bool,
}

impl Running {
    pub(super) fn new(decoded: Decoded, mut dwords: Vec<u32>) -> Running {
        dwords.truncate(decoded.dwords.min(16) as usize);
        let Decoded { name, packet, dwords: count } = decoded;
        Running { name, packet, dwords: count, dwords_read: dwords, done: 0, checked: false }
    }
}

/// How far a step came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The packet is finished.
    Done,
    /// There is more to do.
    Part,
    /// It waits for a change of memory.
    Waits,
}

/// Reads or writes, for sentences.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

impl Access {
    const fn verb(self) -> &'static str {
        match self {
            Access::Read => "reads",
            Access::Write => "writes",
        }
    }
}

/// Bytes that this step moves of `left`: all of it half of the time, otherwise a seeded piece. Long copies go in few pieces.
fn piece(left: u64, rng: &mut Rng) -> u64 {
    if left <= 64 || rng.chance(1, 2) {
        return left.min(MOST_BYTES);
    }
    let most = (left / 4).clamp(64, MOST_BYTES);
    // Any byte count may be torn off, but mostly whole units of 64 bytes.
    let bytes = 1 + u64::from(rng.below(most as u32));
    if rng.chance(3, 4) { bytes.next_multiple_of(64).min(left) } else { bytes }
}

/// Most bytes of one step: bounds the buffer that a step needs.
const MOST_BYTES: u64 = 1 << 20;

/// What one step did.
enum Did {
    /// Everything.
    All,
    /// So many more of the packet's bytes, or rows of its rectangle.
    Some(u64),
    /// A read of a wait: whether the condition holds.
    Read(bool),
}

impl Engine {
    /// Does one step of a packet.
    pub(super) fn advance(
        &mut self,
        running: &mut Running,
        memory: &mut dyn EngineMemory,
        rng: &mut Rng,
        now: u64,
    ) -> Exec<Progress> {
        if !running.checked {
            self.check(running, memory)?;
            running.checked = true;
        }
        let did = self.perform(running, memory, rng, now).map_err(|found| self.wrap(running, &found));
        match did? {
            Did::All => Ok(Progress::Done),
            Did::Some(more) => {
                running.done += more;
                if running.done < running.size() {
                    return Ok(Progress::Part);
                }
                self.finish_broadcast(running, memory)
            }
            Did::Read(true) => Ok(Progress::Done),
            Did::Read(false) => {
                running.done += 1;
                match running.packet {
                    Packet::Poll { addr, retries: Some(retries), .. } if running.done > u64::from(retries) => {
                        let kind = EngineFaultKind::PollGaveUp { address: addr, retries };
                        Err(self.fault(&running.dwords_read, kind))
                    }
                    Packet::Poll { retries: Some(_), .. } => Ok(Progress::Part),
                    _ => Ok(Progress::Waits),
                }
            }
        }
    }

    /// Accesses memory as one step of the packet does. Errors are memory's.
    fn perform(&self, running: &Running, memory: &mut dyn EngineMemory, rng: &mut Rng, now: u64) -> Exec<Did> {
        let by = self.by();
        let done = running.done;
        let mut next = || piece(running.size() - done, rng);
        match &running.packet {
            Packet::Nop | Packet::Trap { .. } => Ok(Did::All),
            Packet::Copy { src, dst, bytes: bytes @ (4 | 8) } if dst.is_multiple_of(*bytes) => {
                self.move_word(memory, *src, *dst, *bytes).map(|()| Did::All)
            }
            Packet::Copy { src, dst, .. } => {
                let n = next();
                self.move_bytes(memory, src.wrapping_add(done), dst.wrapping_add(done), n).map(|()| Did::Some(n))
            }
            Packet::Broadcast { src, dst, .. } => {
                let n = next();
                let second = dst[1].wrapping_add_signed(shift_of(*dst));
                let [from, first, second] = [*src, dst[0], second].map(|at| at.wrapping_add(done));
                self.move_bytes(memory, from, first, n)?;
                self.move_bytes(memory, from, second, n).map(|()| Did::Some(n))
            }
            Packet::Multicast { src, dsts, .. } => {
                let n = next();
                for dst in dsts {
                    self.move_bytes(memory, src.wrapping_add(done), dst.wrapping_add(done), n)?;
                }
                Ok(Did::Some(n))
            }
            Packet::SubWindow(window) => {
                let (y, z) = (done % window.rect[1], done / window.rect[1]);
                let [from, to] = [&window.src, &window.dst].map(|side| side.row(window.element, y, z));
                self.move_bytes(memory, from, to, window.rect[0] * window.element).map(|()| Did::Some(1))
            }
            Packet::Swap { a, b, .. } => {
                let n = next();
                self.swap_bytes(memory, a.wrapping_add(done), b.wrapping_add(done), n).map(|()| Did::Some(n))
            }
            Packet::Fill { dst, value, element, .. } => {
                let n = next();
                let value = value.to_le_bytes();
                let data: Vec<u8> = (done..done + n).map(|at| value[(at % u64::from(*element)) as usize]).collect();
                memory.write(by, dst.wrapping_add(done), &data).map(|()| Did::Some(n))
            }
            Packet::Write { dst, data } => {
                let data: Vec<u8> = data.iter().flat_map(|dword| dword.to_le_bytes()).collect();
                memory.write(by, *dst, &data).map(|()| Did::All)
            }
            Packet::Fence { addr, data, bytes } => memory.store(by, *addr, *bytes, *data).map(|()| Did::All),
            Packet::AtomicAdd { addr, operand } => memory.add(by, *addr, *operand).map(|_| Did::All),
            Packet::Timestamp { addr } => memory.store(by, *addr, 8, now).map(|()| Did::All),
            Packet::Poll { addr, bytes, compare, reference, mask, .. } => {
                let value = memory.load(by, *addr, *bytes)?;
                Ok(Did::Read(compare.holds(value & mask, *reference)))
            }
        }
    }

    /// The damage of a broadcast whose destinations are not congruent is done; now it is reported.
    fn finish_broadcast(&mut self, running: &Running, memory: &dyn EngineMemory) -> Exec<Progress> {
        if let Packet::Multicast { dsts, bytes, .. } = &running.packet {
            self.guests = dsts.iter().filter_map(|dst| memory.owner(*dst, *bytes)).collect();
        }
        let Packet::Broadcast { dst, bytes, .. } = running.packet else { return Ok(Progress::Done) };
        self.guests = memory.owner(dst[1], bytes).into_iter().collect();
        match shift_of(dst) {
            0 => Ok(Progress::Done),
            shift => Err(self.fault(&running.dwords_read, EngineFaultKind::BroadcastMisaligned { dst, shift })),
        }
    }

    fn move_bytes(&self, memory: &mut dyn EngineMemory, src: u64, dst: u64, bytes: u64) -> Exec {
        let mut buffer = vec![0; bytes as usize];
        memory.read(self.by(), src, &mut buffer)?;
        memory.write(self.by(), dst, &buffer)
    }

    /// A copy of one aligned word is one store, and what others wait for may be written with it (seed, "postWaitMem": a flag
    /// that a peer writes with put).
    fn move_word(&self, memory: &mut dyn EngineMemory, src: u64, dst: u64, bytes: u64) -> Exec {
        let mut word = [0; 8];
        memory.read(self.by(), src, &mut word[..bytes as usize])?;
        memory.store(self.by(), dst, bytes as u32, u64::from_le_bytes(word))
    }

    fn swap_bytes(&self, memory: &mut dyn EngineMemory, a: u64, b: u64, bytes: u64) -> Exec {
        let (mut first, mut second) = (vec![0; bytes as usize], vec![0; bytes as usize]);
        memory.read(self.by(), a, &mut first)?;
        memory.read(self.by(), b, &mut second)?;
        memory.write(self.by(), a, &second)?;
        memory.write(self.by(), b, &first)
    }

    /// Checks every range that the packet touches.
    fn check(&self, running: &Running, memory: &dyn EngineMemory) -> Exec {
        let one = |access, address, bytes, others: &[u32]| self.reach(running, memory, access, address, bytes, others);
        let both = [self.id.rank, self.id.peer];
        match &running.packet {
            Packet::Nop | Packet::Trap { .. } => Ok(()),
            Packet::Copy { src, dst, bytes } => {
                let from = one(Access::Read, *src, *bytes, &both)?;
                // One side is this rank's own: an engine does not carry from one peer to another.
                let allowed: &[u32] = if from == self.id.rank { &both } else { &both[..1] };
                one(Access::Write, *dst, *bytes, allowed).map(drop)
            }
            Packet::Broadcast { src, dst, bytes } => {
                one(Access::Read, *src, *bytes, &both[..1])?;
                one(Access::Write, dst[0], *bytes, &both)?;
                self.mapped(running, memory, Access::Write, dst[1], *bytes).map(drop)
            }
            // No document says that the second and later destinations must be on the queue's peer (inferred from the broadcast).
            Packet::Multicast { src, dsts, bytes } => {
                one(Access::Read, *src, *bytes, &both[..1])?;
                dsts.iter().try_for_each(|dst| self.mapped(running, memory, Access::Write, *dst, *bytes).map(drop))
            }
            Packet::SubWindow(window) => self.check_window(running, window, memory),
            Packet::Swap { a, b, bytes } => {
                one(Access::Write, *a, *bytes, &both)?;
                one(Access::Write, *b, *bytes, &both).map(drop)
            }
            Packet::Write { dst, data } => one(Access::Write, *dst, data.len() as u64 * 4, &both).map(drop),
            Packet::Fill { dst, bytes, .. } => one(Access::Write, *dst, *bytes, &both).map(drop),
            Packet::Fence { addr, bytes, .. } => one(Access::Write, *addr, (*bytes).into(), &both).map(drop),
            Packet::Timestamp { addr } => one(Access::Write, *addr, 8, &both[..1]).map(drop),
            Packet::AtomicAdd { addr, .. } => {
                let allowed: Vec<u32> = both.iter().chain(&self.guests).copied().collect();
                one(Access::Write, *addr, 8, &allowed).map(drop)
            }
            // A wait on another GPU's memory parks the queue for good on hardware (seed).
            Packet::Poll { addr, bytes, .. } => one(Access::Read, *addr, (*bytes).into(), &both[..1]).map(drop),
        }
    }

    /// First and last row of a rectangle: the rows between lie between.
    fn check_window(&self, running: &Running, window: &SubWindow, memory: &dyn EngineMemory) -> Exec {
        let both = [self.id.rank, self.id.peer];
        let bytes = window.rect[0] * window.element;
        for (access, side) in [(Access::Read, &window.src), (Access::Write, &window.dst)] {
            for (y, z) in [(0, 0), (window.rect[1] - 1, window.rect[2] - 1)] {
                self.reach(running, memory, access, side.row(window.element, y, z), bytes, &both)?;
            }
        }
        Ok(())
    }

    /// The owner of a range, which must be one of `allowed`.
    fn reach(
        &self,
        running: &Running,
        memory: &dyn EngineMemory,
        access: Access,
        address: u64,
        bytes: u64,
        allowed: &[u32],
    ) -> Exec<u32> {
        let rank = self.mapped(running, memory, access, address, bytes)?;
        if allowed.contains(&rank) {
            return Ok(rank);
        }
        let mut ranks: Vec<u32> = allowed.to_vec();
        ranks.dedup();
        let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
        let allowed = format!("it may only be that of rank {}", ranks.join(" or "));
        let kind = EngineFaultKind::WrongRank { name: running.name, access: access.verb(), address, rank, allowed };
        Err(self.fault(&running.dwords_read, kind))
    }

    fn mapped(
        &self,
        running: &Running,
        memory: &dyn EngineMemory,
        access: Access,
        address: u64,
        bytes: u64,
    ) -> Exec<u32> {
        memory.owner(address, bytes).ok_or_else(|| {
            let near = memory.near(address);
            let kind = EngineFaultKind::Unmapped { name: running.name, access: access.verb(), address, bytes, near };
            self.fault(&running.dwords_read, kind)
        })
    }

    /// What memory found while the packet was carried out. A broadcast that is about to damage what lies beside its second
    /// destination is at fault itself.
    fn wrap(&self, running: &Running, found: &Fault) -> Box<Fault> {
        if let Packet::Broadcast { dst, .. } = running.packet
            && shift_of(dst) != 0
        {
            let kind = EngineFaultKind::BroadcastMisaligned { dst, shift: shift_of(dst) };
            return self.fault(&running.dwords_read, kind);
        }
        self.fault(&running.dwords_read, EngineFaultKind::Memory(Box::new(found.kind.clone())))
    }
}

impl Running {
    /// Bytes of the packet, or rows of its rectangle; 1 for what has no size.
    fn size(&self) -> u64 {
        match &self.packet {
            Packet::Copy { bytes, .. }
            | Packet::Broadcast { bytes, .. }
            | Packet::Multicast { bytes, .. }
            | Packet::Swap { bytes, .. }
            | Packet::Fill { bytes, .. } => *bytes,
            Packet::SubWindow(window) => window.rect[1] * window.rect[2],
            _ => 1,
        }
    }
}

/// By how many bytes the data of a broadcast arrive shifted at the second destination: documented damage (seed,
/// "putBroadcast"): the engine lines the data up with the first destination's low address bits.
fn shift_of(dst: [u64; 2]) -> i64 {
    let low = |at: u64| (at % BROADCAST_MODULUS) as i64;
    low(dst[0]) - low(dst[1])
}

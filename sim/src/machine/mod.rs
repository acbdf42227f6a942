//! The machine: GPUs with compute units, workgroups and waves, and the loop that lets one of them move at a time.
//!
//! # The seams between the rooms
//! Everything below is plain calls between modules of this crate; no traits except where engines are plugged in.
//!
//! ## What the machine asks of memory (`mem`, and `exec::{flat,ds,smem,mubuf}`)
//! ```text
//! // Everything that an instruction which touches memory may use. Defined in `mem`, built by the machine per instruction.
//! pub struct Port<'a> {
//!     pub wave: &'a mut WaveState,       // registers, EXEC, counters, id (actor, rank, xcd, cu, group)
//!     pub pending: &'a mut Pending,      // this wave's operations in flight (type of `mem`, `Default`)
//!     pub lds: &'a mut Lds,              // its workgroup's LDS: `Lds::new(bytes, checks)` (type of `mem`)
//!     pub memory: &'a mut Memory,        // all global memory with caches, clocks and shadows
//!     pub rng: &'a mut Rng,
//! }
//! // Issue: computes addresses under EXEC, captures store data, raises wave.vmcnt / lgkmcnt, marks destinations busy.
//! // `inst` outlives the call only as a copy. pc of the instruction is passed, wave.pc already points behind it.
//! exec::flat::issue(port: &mut Port, inst: &Inst, pc: u64) -> Exec        // FLAT, GLOBAL, SCRATCH
//! exec::ds::issue(port, inst, pc) -> Exec                                  // DS except ds_*permute/swizzle without memory: also here
//! exec::smem::issue(port, inst, pc) -> Exec                                // s_load, s_buffer_load, s_memtime, s_dcache_*
//! exec::mubuf::issue(port, inst, pc) -> Exec                               // MUBUF, buffer_wbl2, buffer_inv
//! // Completion. `step` performs at most one operation that the hardware's order allows, chosen by rng; true if one was.
//! mem::step(port: &mut Port) -> Exec<bool>
//! // `s_waitcnt`: performs operations until wave.vmcnt <= vm and wave.lgkmcnt <= lgkm (u32::MAX = no wait).
//! mem::wait(port: &mut Port, vm: u32, lgkm: u32) -> Exec
//! // After s_endpgm: stores and atomics without return may still be in flight; memory takes them over and performs them later.
//! mem::retire(port: &mut Port) -> Exec
//! // The wave's clock. At a launch the waves see all that the host did; when a wave ends the host sees what it did and completed.
//! Memory::begin_wave(&mut self, rank: u32) -> u32 /* actor */;   Memory::end_wave(&mut self, actor: u32)
//! // All waves of a workgroup arrived at s_barrier: joins their clocks.
//! Memory::barrier(&mut self, actors: &[u32])
//! // Lets memory itself move: an eviction of a dirty line or an orphaned store; true if something changed.
//! Memory::idle_step(&mut self, rng: &mut Rng) -> Exec<bool>
//! // Writes back every dirty line and performs every orphaned store (before a deadlock is declared); true if something changed.
//! Memory::settle(&mut self, rng: &mut Rng) -> Exec<bool>
//! // Rises whenever bytes that any observer could load change to a different value; never for a store of the same value.
//! Memory::version(&self) -> u64
//! // Code and kernel arguments: address of a fresh read-only allocation on `rank` (zeroed / filled by the caller).
//! Memory::allocate(&mut self, rank: u32, bytes: u64, align: u64, kind: MemoryType) -> Exec<u64>
//! Memory::host_write(&mut self, address: u64, bytes: &[u8]) -> Exec;  Memory::host_read(&mut self, address: u64, out: &mut [u8]) -> Exec
//! ```
//!
//! ## What the machine asks of the engines (`sdma`, `node`)
//! The machine owns a `Box<dyn Engines>` (trait below):
//! ```text
//! pub trait Engines {
//!     // One engine (chosen by rng) makes one step: one packet or a piece of one.
//!     fn step(&mut self, memory: &mut Memory, rng: &mut Rng) -> Exec<Moved>;   // Moved::{Yes, No}
//!     // A sentence for each engine that has work: "queue (2,0) of rank 1 parked at packet 5: waits for [0x..] >= 3, value 2".
//!     fn waits(&self, memory: &Memory) -> Vec<String>;
//!     // What the memory at `address` is, for the wait graph: "signal (from rank 1, queue 0) of rank 2"; None if unknown.
//!     fn describe(&self, address: u64) -> Option<String>;
//! }
//! ```
//! A store to a doorbell is performed in `mem` like any other; memory keeps `Memory::doorbells: VecDeque<(address, value)>`
//! of stores to allocations of type `Doorbell`, with the actor's clock, and `Engines::step` drains it.
//!
//! ## How faults are placed
//! `issue` returns a fault with at most lane and pc; `mem::step` and `mem::wait` give the pc of the issue; the machine adds
//! the rest ([`Fault::placed`](crate::fault::Fault::placed)). `mem` has its own kinds in `mem/fault.rs` (`MemFault`, with
//! `thiserror`) and adds `#[error(transparent)] Memory(MemFault)` to `FaultKind`; `sdma` the same with `Engine(SdmaFault)`.

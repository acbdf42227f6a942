//! From a launch to waves: what the command processor and the dispatcher do.
//!
//! What must hold here: registers hold at the first instruction exactly what the descriptor asks for, in the order of the AMDGPU
//! ABI; all others hold [`GARBAGE`] and count as unwritten.

use std::rc::Rc;

use super::code::ModuleId;
use super::generation_of;
use super::group::{AtBarrier, Group, Status, Wave};
use super::kernarg;
use super::step::Registers;
use super::{Launch, Sim};
use crate::fault::{Exec, Fault, FaultKind};
use crate::loader::{Kernel, KernelDescriptor};
use crate::mem::{Lds, MemoryType, Pending};
use crate::wave::{EXEC, Generation, LANES, TTMP0, WaveId, WaveState};

/// What registers hold before anyone writes to them: the pattern that this project fills unwritten memory with.
const GARBAGE: u32 = 0xcdcd_cdcd;

/// Waves that a compute unit holds: four SIMDs of eight (CDNA3 ISA, section on occupancy).
const WAVES_PER_CU: u32 = 32;

/// Vector registers of a SIMD, per lane.
const VGPRS_PER_SIMD: u32 = 512;

/// Vector registers of gfx1250 that an instruction names by itself.
const MOST_NAMED_VGPRS: u64 = 256;

/// SIMDs of a compute unit.
const SIMDS: u32 = 4;

/// Most workgroups of a launch, and most bytes of LDS that a launch may ask for, are far below this.
const MAX_GROUPS: u64 = 1 << 32;

/// Memory that holds the arguments of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArgumentBlock {
    rank: u32,
    address: u64,
    bytes: u64,
    /// Whether a launch that has not ended uses it.
    pub(crate) used: bool,
}

/// What a compute unit holds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UnitLoad {
    waves: u32,
    lds: u32,
    groups: u32,
}

/// A launch on its way.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) module: usize,
    pub(crate) kernel: usize,
    pub(crate) name: Rc<str>,
    pub(crate) launch: Launch,
    /// Address of the image on the launch's rank.
    pub(crate) base: u64,
    /// Address of the first instruction.
    pub(crate) entry: u64,
    /// Index of its decoded instructions.
    pub(crate) code: usize,
    pub(crate) registers: Registers,
    user: Vec<u32>,
    pub(crate) lds_bytes: u32,
    /// The next workgroup to start, and how many there are.
    next: u64,
    total: u64,
    /// Workgroups that run.
    pub(crate) live: u64,
    /// Whether memory and engines know that its rank has ended.
    pub(crate) told: bool,
}

impl Running {
    /// Whether all its workgroups have ended.
    pub(crate) fn ended(&self) -> bool {
        self.next == self.total && self.live == 0
    }

    fn threads(&self) -> u32 {
        self.launch.block.iter().product()
    }

    fn waves(&self) -> u32 {
        self.threads().div_ceil(self.registers.generation.lanes() as u32)
    }

    /// Waves of this kernel that a compute unit's registers allow.
    fn waves_per_cu(&self) -> u32 {
        (VGPRS_PER_SIMD / self.registers.vgprs.max(1) * SIMDS).clamp(1, WAVES_PER_CU)
    }

    /// Id of workgroup number `linear` in x, y, z.
    fn group_id(&self, linear: u64) -> [u32; 3] {
        let [x, y, _] = self.launch.grid.map(u64::from);
        [(linear % x) as u32, (linear / x % y) as u32, (linear / x / y) as u32]
    }
}

fn refuse<T>(reason: String) -> Exec<T> {
    Err(Fault::new(FaultKind::Launch { reason }))
}

impl Sim {
    /// Puts a kernel into the queue of its rank; it starts with the next [`Sim::run`].
    ///
    /// # Errors
    /// [`FaultKind::Launch`] if the kernel does not exist, the arguments or the block do not fit, or it asks for what this
    /// machine does not have.
    pub fn launch(&mut self, module: ModuleId, kernel: &str, launch: Launch) -> Exec {
        let Some(found) = self.modules.get(module.0) else {
            return refuse("the module belongs to another machine".to_owned());
        };
        let object = &found.object;
        let (index, kernel) = match object.kernels.iter().position(|known| known.name == kernel) {
            Some(index) => (index, object.kernels[index].clone()),
            None => {
                let known: Vec<_> = object.kernels.iter().map(|known| known.name.as_str()).collect();
                return refuse(format!("the object has no kernel `{kernel}`; it has {}", known.join(", ")));
            }
        };
        let (total, lds_bytes) = self.check(&kernel, &launch)?;
        let block = kernarg::block(&kernel, &launch)?;
        let align = kernel.metadata.kernarg_align.max(64).next_power_of_two();
        let args = self.argument_memory(launch.rank, (block.len() as u64).max(4), align)?;
        self.memory.host_write(args, &block)?;
        let base = self.modules[module.0].place(launch.rank, &mut self.memory)?;
        let generation = self.modules[module.0].generation();
        let user = self.user_registers(&kernel, &launch, args, base, &block, generation)?;
        let descriptor = &kernel.descriptor;
        let registers = Registers {
            vgprs: descriptor.vector_registers(generation),
            accum_offset: descriptor.accum_offset(generation),
            generation,
        };
        let code = self.code_of(module.0, index);
        // A kernel with preloaded arguments begins with loads for firmware that does not preload; ours skips them. LLVM 22 emits
        // them for gfx9 only.
        let preloads = descriptor.kernarg_preload & 0x7f != 0 && generation == Generation::Gfx9;
        let skip = if preloads { 256 } else { 0 };
        self.room = true;
        self.launches.push(Running {
            module: module.0,
            kernel: index,
            name: Rc::from(kernel.name.as_str()),
            base,
            entry: base + kernel.entry + skip,
            code,
            registers,
            user,
            lds_bytes,
            next: 0,
            total,
            live: 0,
            told: false,
            launch,
        });
        Ok(())
    }

    /// Memory for exactly `bytes` bytes of arguments: some that an ended launch left, or new. Exactly, so that a read beyond
    /// the arguments is out of bounds.
    fn argument_memory(&mut self, rank: u32, bytes: u64, align: u64) -> Exec<u64> {
        let free = self
            .argument_blocks
            .iter_mut()
            .find(|block| !block.used && (block.rank, block.bytes) == (rank, bytes) && block.address % align == 0);
        if let Some(block) = free {
            block.used = true;
            return Ok(block.address);
        }
        let address = self.memory.allocate_named(rank, bytes, align, MemoryType::Kernarg, "the kernel's arguments")?;
        self.argument_blocks.push(ArgumentBlock { rank, address, bytes, used: true });
        Ok(address)
    }

    fn code_of(&mut self, module: usize, kernel: usize) -> usize {
        if let Some(index) = self.code_index.get(&(module, kernel)) {
            return *index;
        }
        self.codes.push(self.modules[module].decoded());
        self.code_index.insert((module, kernel), self.codes.len() - 1);
        self.codes.len() - 1
    }

    /// Number of workgroups and LDS bytes of each.
    fn check(&self, kernel: &Kernel, launch: &Launch) -> Exec<(u64, u32)> {
        let name = &kernel.name;
        let threads = launch.block.iter().try_fold(1u32, |all, n| all.checked_mul(*n)).unwrap_or(u32::MAX);
        let groups = launch.grid.iter().try_fold(1u64, |all, n| all.checked_mul(u64::from(*n))).unwrap_or(u64::MAX);
        if threads == 0 || groups == 0 {
            return refuse(format!("kernel `{name}` is launched with an empty grid or block"));
        }
        if groups > MAX_GROUPS {
            return refuse(format!("kernel `{name}` is launched with {groups} workgroups"));
        }
        if u64::from(threads) > kernel.metadata.max_threads_per_block {
            return refuse(format!(
                "kernel `{name}` is compiled for blocks of at most {} work items, the launch has {threads}",
                kernel.metadata.max_threads_per_block
            ));
        }
        let lds = kernel.descriptor.group_segment_bytes.saturating_add(launch.dynamic_lds);
        if lds > self.target.lds_bytes {
            return refuse(format!(
                "kernel `{name}` wants {lds} bytes of LDS, {} has {}",
                self.target.name, self.target.lds_bytes
            ));
        }
        // Beyond that `s_set_vgpr_msb` gives the upper bits of register numbers. The descriptor may give a wave more than it names.
        let used = kernel.metadata.vgprs;
        if generation_of(self.target) == Generation::Gfx12 && used > MOST_NAMED_VGPRS {
            return refuse(format!(
                "kernel `{name}` uses {used} vector registers, and the simulator has only {MOST_NAMED_VGPRS} of the 1024 of {}: \
                 run it on another device (`--device lanes`), or give each thread less to hold, with smaller tiles or more threads",
                self.target.name
            ));
        }
        let descriptor = &kernel.descriptor;
        if descriptor.rsrc1 >> 12 & 15 != 0 {
            return refuse(format!("kernel `{name}` asks for a rounding mode other than to nearest even"));
        }
        Ok((groups, lds))
    }

    /// The user registers in the order of the ABI.
    fn user_registers(
        &mut self,
        kernel: &Kernel,
        launch: &Launch,
        args: u64,
        base: u64,
        block: &[u8],
        generation: Generation,
    ) -> Exec<Vec<u32>> {
        let descriptor = &kernel.descriptor;
        let mut user = Vec::new();
        let pair = |user: &mut Vec<u32>, value: u64| user.extend([value as u32, (value >> 32) as u32]);
        let wants = |bit: u32| descriptor.properties >> bit & 1 != 0;
        if wants(0) {
            return refuse(format!(
                "kernel `{}` wants a private segment buffer, which gfx942 and later lack",
                kernel.name
            ));
        }
        if wants(1) {
            let packet = self.dispatch_packet(kernel, launch, args, base)?;
            pair(&mut user, packet);
        }
        if wants(2) {
            return refuse(format!(
                "kernel `{}` wants the address of its queue, which this machine lacks",
                kernel.name
            ));
        }
        if wants(3) {
            pair(&mut user, args);
        }
        if wants(4) {
            pair(&mut user, 0);
        }
        if wants(5) {
            pair(&mut user, 0);
        }
        if wants(6) {
            user.push(descriptor.private_segment_bytes);
        }
        let (count, first) =
            (usize::from(descriptor.kernarg_preload & 0x7f), usize::from(descriptor.kernarg_preload >> 7));
        for dword in block.chunks(4).skip(first).take(count) {
            let mut bytes = [0; 4];
            bytes[..dword.len()].copy_from_slice(dword);
            user.push(u32::from_le_bytes(bytes));
        }
        if user.len() != descriptor.user_sgprs(generation) as usize {
            return refuse(format!(
                "the descriptor of `{}` has {} user registers, its properties ask for {}",
                kernel.name,
                descriptor.user_sgprs(generation),
                user.len()
            ));
        }
        Ok(user)
    }

    /// The dispatch packet in memory, laid out as the HSA standard has it.
    fn dispatch_packet(&mut self, kernel: &Kernel, launch: &Launch, args: u64, base: u64) -> Exec<u64> {
        let mut packet = [0u8; 64];
        let mut put = |at: usize, bytes: &[u8]| packet[at..at + bytes.len()].copy_from_slice(bytes);
        put(2, &3u16.to_le_bytes());
        for axis in 0..3 {
            put(4 + 2 * axis, &(launch.block[axis] as u16).to_le_bytes());
            put(12 + 4 * axis, &launch.grid[axis].wrapping_mul(launch.block[axis]).to_le_bytes());
        }
        put(24, &kernel.descriptor.private_segment_bytes.to_le_bytes());
        put(28, &kernel.descriptor.group_segment_bytes.saturating_add(launch.dynamic_lds).to_le_bytes());
        put(32, &(base + kernel.descriptor_address).to_le_bytes());
        put(40, &args.to_le_bytes());
        let address = self.argument_memory(launch.rank, 64, 64)?;
        self.memory.host_write(address, &packet)?;
        Ok(address)
    }

    /// Starts as many workgroups as have room.
    ///
    /// # Errors
    /// What memory refuses.
    pub(crate) fn start_groups(&mut self) -> Exec {
        if !std::mem::take(&mut self.room) {
            return Ok(());
        }
        for index in 0..self.launches.len() {
            while self.launches[index].next < self.launches[index].total {
                let running = &self.launches[index];
                // One kernel of a rank runs at a time, in the order of the launches, as on one stream.
                let busy = self.launches[..index]
                    .iter()
                    .any(|other| other.launch.rank == running.launch.rank && !other.ended());
                if busy {
                    break;
                }
                let Some(cu) = self.find_unit(running) else { break };
                self.start_group(index, cu)?;
            }
        }
        Ok(())
    }

    /// A compute unit with room for the next workgroup of `running`, in turn over the XCDs.
    fn find_unit(&self, running: &Running) -> Option<u32> {
        let waves = running.waves();
        let (cus, xcds) = (self.config.cus.max(1), self.config.xcds.clamp(1, self.config.cus.max(1)));
        let load = |cu: u32| {
            let all = self.loads.get(running.launch.rank as usize);
            all.and_then(|loads| loads.get(cu as usize)).copied().unwrap_or_default()
        };
        let xcd = (running.next % u64::from(xcds)) as u32;
        let fits = |cu: &u32| {
            let load = load(*cu);
            let room =
                load.waves + waves <= running.waves_per_cu() && load.lds + running.lds_bytes <= self.target.lds_bytes;
            // A workgroup that is larger than a unit's share runs alone there.
            load.groups == 0 || room
        };
        (0..cus).filter(|cu| cu % xcds == xcd).filter(fits).min_by_key(|cu| load(*cu).waves)
    }

    /// A workgroup of `waves` waves and `lds` bytes came to a unit, or left it.
    pub(crate) fn load_unit(&mut self, rank: u32, cu: u32, waves: u32, lds: u32, came: bool) {
        let cus = self.config.cus.max(1) as usize;
        if self.loads.len() <= rank as usize {
            self.loads.resize(rank as usize + 1, Vec::new());
        }
        let loads = &mut self.loads[rank as usize];
        loads.resize(cus, UnitLoad::default());
        let Some(load) = loads.get_mut(cu as usize) else { return };
        if came {
            *load = UnitLoad { waves: load.waves + waves, lds: load.lds + lds, groups: load.groups + 1 };
        } else {
            *load = UnitLoad { waves: load.waves - waves, lds: load.lds - lds, groups: load.groups - 1 };
        }
    }

    fn start_group(&mut self, index: usize, cu: u32) -> Exec {
        let running = &mut self.launches[index];
        if running.next == 0 {
            self.memory.begin_launch(running.launch.rank);
            if let Some(timer) = &mut self.memory.time {
                timer.begin_launch(running.launch.rank);
            }
        }
        let id = running.group_id(running.next);
        running.next += 1;
        running.live += 1;
        let slot = self.free_slots.pop().unwrap_or(self.groups.len());
        if slot == self.groups.len() {
            self.groups.push(None);
        }
        let (rank, count, lds_bytes) = (running.launch.rank, running.waves(), running.lds_bytes);
        self.load_unit(rank, cu, count, lds_bytes, true);
        let running = &self.launches[index];
        let kernel = &self.modules[running.module].object.kernels[running.kernel];
        let xcds = self.config.xcds.clamp(1, self.config.cus.max(1));
        let mut waves = Vec::with_capacity(count as usize);
        for wave in 0..count {
            let actor = self.memory.begin_wave(rank);
            self.memory.name_wave(actor, &running.name, id, wave);
            let wave_id = WaveId {
                actor,
                rank,
                xcd: cu % xcds,
                cu: rank * self.config.cus.max(1) + cu,
                group: slot as u32,
                workgroup: id,
                wave,
            };
            let scratch = kernel.descriptor.private_segment_bytes;
            // Waves that ended leave their register and operation memory to others.
            let spare = self.spare_waves.pop();
            let (state, mut pending) = match spare {
                Some(Wave { state, mut pending, .. }) => {
                    pending.renew(scratch, self.config.checks);
                    (state.vgprs, pending)
                }
                None => (Vec::new(), Pending::new(scratch, self.config.checks)),
            };
            let state = initial(running, &kernel.descriptor, wave_id, state);
            if let Some(timer) = &mut self.memory.time {
                pending.clock = timer.begin_wave(rank, id, wave);
            }
            waves.push(Wave {
                state,
                pending,
                status: Status::Ready,
                at_barrier: AtBarrier::Away,
                order: self.started,
                instructions: 0,
            });
            self.ready.push((self.started, slot, wave as usize));
            self.started += 1;
        }
        let lds = Lds::new(lds_bytes, self.config.checks);
        self.groups[slot] = Some(Group { launch: index, id, waves, lds, cu });
        Ok(())
    }
}

/// The registers of a wave at its first instruction.
fn initial(running: &Running, descriptor: &KernelDescriptor, id: WaveId, mut vgprs: Vec<[u32; LANES]>) -> WaveState {
    let registers = running.registers;
    vgprs.clear();
    vgprs.resize(registers.vgprs as usize, [GARBAGE; LANES]);
    let generation = registers.generation;
    let mut state = WaveState::new(id, 0, registers.accum_offset, running.entry, descriptor.mode(generation));
    state.vgpr_init = vec![0; vgprs.len()];
    state.vgprs = vgprs;
    let mut state = state.with_generation(generation);
    state.sgprs[..EXEC].fill(GARBAGE);
    for (number, value) in running.user.iter().enumerate() {
        state.set_sgpr(number, *value);
    }
    match generation {
        Generation::Gfx9 => ids_in_user_registers(&mut state, descriptor, running.user.len()),
        Generation::Gfx12 => ids_in_trap_registers(&mut state),
    }
    let first = u64::from(id.wave) * generation.lanes() as u64;
    let threads = u64::from(running.threads());
    let active = (threads - first).min(generation.lanes() as u64);
    let lanes = if active == 64 { !0 } else { (1 << active) - 1 };
    state.set_mask(EXEC, lanes);
    let dimensions = descriptor.rsrc2 >> 11 & 3;
    let [x, y, _] = running.launch.block.map(u64::from);
    for lane in 0..active as usize {
        let linear = first + lane as u64;
        let (tx, ty, tz) = (linear % x, linear / x % y, linear / x / y);
        // Three fields of ten bits, of which the descriptor asks for the first one, two or three.
        let packed = tx | if dimensions > 0 { ty << 10 } else { 0 } | if dimensions > 1 { tz << 20 } else { 0 };
        state.vgprs[0][lane] = packed as u32;
    }
    state.vgpr_init[0] |= lanes;
    state
}

/// gfx9: the workgroup's id follows the user registers, the coordinates that the descriptor asks for.
fn ids_in_user_registers(state: &mut WaveState, descriptor: &KernelDescriptor, mut next: usize) {
    let workgroup = state.id.workgroup;
    let wanted = descriptor.workgroup_ids();
    for axis in (0..3).filter(|axis| wanted[*axis]) {
        state.set_sgpr(next, workgroup[axis]);
        next += 1;
    }
    // The workgroup info register follows if it is wanted; nothing that we run reads it, so it is zero.
    if descriptor.rsrc2 >> 10 & 1 != 0 {
        state.set_sgpr(next, 0);
    }
}

/// gfx1250: x in ttmp9, y and z in the halves of ttmp7, and in ttmp6 where the workgroup stands in its cluster: ours are no
/// clusters, so each is the first of one. As LLVM 22's `lowerWorkGroupId` reads them.
fn ids_in_trap_registers(state: &mut WaveState) {
    let [x, y, z] = state.id.workgroup;
    state.set_sgpr(TTMP0 + 9, x);
    state.set_sgpr(TTMP0 + 7, y & 0xffff | z << 16);
    state.set_sgpr(TTMP0 + 6, 0);
}

//! Code objects, kernels and launches.
//!
//! What must hold here: an object is copied when it is loaded, and its size is taken from its own ELF header, as HIP's callers
//! give none; a launch is checked against the object before it is queued.

use std::ffi::{CStr, c_char, c_uint, c_void};

use tilewright_sim::loader::{CodeObject, LoadError};
use tilewright_sim::machine::{Launch, ModuleId};

use crate::codes::Code;
use crate::device::current;
use crate::queue::Op;
use crate::state::{Function, Module, State, call, pointer, put};
use crate::stream::stream_of;

/// Bytes of a 64-bit ELF header.
const ELF_HEADER: usize = 64;

/// Largest object that is believed, in bytes.
const MAX_OBJECT: u64 = 1 << 30;

/// Largest argument block of a launch, in bytes: HIP's own limit.
const MAX_ARGS: usize = 4096;

/// Marks in the `extra` list of a launch: `HIP_LAUNCH_PARAM_BUFFER_POINTER`, `_SIZE` and `_END`.
const PARAM_POINTER: usize = 1;
const PARAM_SIZE: usize = 2;
const PARAM_END: usize = 3;

/// Bytes of the ELF file that begins with `header`: to the end of its section headers, which linkers write last.
fn elf_bytes(header: &[u8; ELF_HEADER]) -> Option<usize> {
    if header[..5] != *b"\x7fELF\x02" {
        return None;
    }
    let word = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    let start = u64::from_le_bytes(header[0x28..0x30].try_into().ok()?);
    let end = start.checked_add(u64::from(word(0x3a)) * u64::from(word(0x3c)))?;
    usize::try_from(end).ok().filter(|end| *end >= ELF_HEADER && end.cast_signed() as u64 <= MAX_OBJECT)
}

/// Copies the object at `image`.
///
/// # Safety
/// `image` is null or points to at least as many bytes as an ELF header there says, 64 at least.
unsafe fn object_at(image: *const c_void) -> Result<Vec<u8>, Code> {
    if image.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: as the caller says.
    let header = unsafe { image.cast::<[u8; ELF_HEADER]>().read_unaligned() };
    let bytes = elf_bytes(&header).ok_or(Code::INVALID_IMAGE)?;
    // SAFETY: as the caller says.
    Ok(unsafe { std::slice::from_raw_parts(image.cast::<u8>(), bytes) }.to_vec())
}

impl State {
    /// Takes an object, or finds that it is known.
    fn load(&mut self, file: Vec<u8>) -> Result<ModuleId, Code> {
        if let Some((_, id)) = self.images.iter().find(|(known, _)| *known == file) {
            return Ok(*id);
        }
        let object = CodeObject::load(&file, self.config.target).map_err(|error| {
            eprintln!("fake HIP: {error}");
            match error {
                LoadError::Target { .. } | LoadError::Header { .. } | LoadError::Flags { .. } => {
                    Code::NO_BINARY_FOR_GPU
                }
                _ => Code::INVALID_IMAGE,
            }
        })?;
        let id = self.sim.add_object(object, &file).map_err(|_| Code::INVALID_IMAGE)?;
        self.images.push((file, id));
        Ok(id)
    }

    /// The arguments of a launch from the list of pointers to each of them.
    ///
    /// # Safety
    /// `params` has a pointer to each argument that the object's metadata lists.
    unsafe fn gather(&self, module: ModuleId, kernel: usize, params: *mut *mut c_void) -> Result<Vec<u8>, Code> {
        let metadata = &self.sim.object(module).kernels[kernel].metadata;
        let own = metadata.args.iter().filter(|arg| !arg.kind.starts_with("hidden_"));
        let mut block = vec![0; self.argument_bytes(module, kernel)];
        for (index, arg) in own.enumerate() {
            // SAFETY: as the caller says.
            let source = unsafe { params.add(index).read() };
            if source.is_null() {
                return Err(Code::INVALID_VALUE);
            }
            let slot = &mut block[arg.offset as usize..(arg.offset + arg.bytes) as usize];
            // SAFETY: the argument has the size that the metadata says.
            unsafe { source.cast::<u8>().copy_to_nonoverlapping(slot.as_mut_ptr(), slot.len()) };
        }
        Ok(block)
    }

    /// Bytes that a kernel takes from its caller.
    fn argument_bytes(&self, module: ModuleId, kernel: usize) -> usize {
        let metadata = &self.sim.object(module).kernels[kernel].metadata;
        let own = metadata.args.iter().filter(|arg| !arg.kind.starts_with("hidden_"));
        // The loader checked that arguments end in the block, whose size is 32 bits in the descriptor.
        own.map(|arg| (arg.offset + arg.bytes) as usize).max().unwrap_or(0)
    }
}

/// The argument block of a launch from HIP's `extra` list.
///
/// # Safety
/// `extra` is such a list.
unsafe fn packed(extra: *mut *mut c_void) -> Result<Vec<u8>, Code> {
    let (mut data, mut bytes) = (std::ptr::null::<u8>(), None);
    let mut at = extra;
    loop {
        // SAFETY: the list goes on until its end mark, which was not met yet.
        let mark = unsafe { at.read() }.addr();
        if mark == PARAM_END {
            break;
        }
        // SAFETY: a value follows each mark.
        let value = unsafe { at.add(1).read() };
        match mark {
            PARAM_POINTER => data = value.cast(),
            // SAFETY: the value of this mark points to the size.
            PARAM_SIZE if !value.is_null() => bytes = Some(unsafe { value.cast::<usize>().read() }),
            _ => return Err(Code::INVALID_VALUE),
        }
        // SAFETY: as above.
        at = unsafe { at.add(2) };
    }
    match bytes {
        Some(0) => Ok(Vec::new()),
        // SAFETY: the caller gave that many bytes.
        Some(bytes) if !data.is_null() && bytes <= MAX_ARGS => {
            Ok(unsafe { std::slice::from_raw_parts(data, bytes) }.to_vec())
        }
        _ => Err(Code::INVALID_VALUE),
    }
}

/// Loads a linked code object on the current device.
///
/// # Safety
/// `out` is null or may be written; `image` is null or an ELF file.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipModuleLoadData(out: *mut *mut c_void, image: *const c_void) -> u32 {
    call(|state| {
        // SAFETY: as the caller says.
        let file = unsafe { object_at(image) }?;
        let id = state.load(file)?;
        let handle = state.handle();
        // SAFETY: as the caller says.
        unsafe { put(out, pointer(handle)) }?;
        state.modules.insert(handle, Module { device: current(), id });
        Ok(())
    })
}

/// Gives a module back when all work is done; its functions end with it.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn hipModuleUnload(module: *mut c_void) -> u32 {
    let handle = module.addr() as u64;
    call(|state| {
        state.drain()?;
        state.modules.remove(&handle).ok_or(Code::INVALID_HANDLE)?;
        state.functions.retain(|_, function| function.module != handle);
        Ok(())
    })
}

/// A kernel of a module.
///
/// # Safety
/// `out` is null or may be written; `name` is null or a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipModuleGetFunction(
    out: *mut *mut c_void,
    module: *mut c_void,
    name: *const c_char,
) -> u32 {
    let module = module.addr() as u64;
    call(|state| {
        if name.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: as the caller says.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        let id = state.modules.get(&module).ok_or(Code::INVALID_HANDLE)?.id;
        let kernels = &state.sim.object(id).kernels;
        let kernel = kernels.iter().position(|kernel| kernel.name == name).ok_or(Code::NOT_FOUND)?;
        let handle = state.handle();
        // SAFETY: as the caller says.
        unsafe { put(out, pointer(handle)) }?;
        state.functions.insert(handle, Function { module, kernel });
        Ok(())
    })
}

/// Queues a kernel. `params` or `extra` holds its arguments, as in HIP; sizes are in blocks and threads.
///
/// # Safety
/// The lists are as HIP documents them.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipModuleLaunchKernel(
    function: *mut c_void,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: c_uint,
    stream: *mut c_void,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> u32 {
    let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
    call(|state| {
        let function = state.functions.get(&(function.addr() as u64)).ok_or(Code::INVALID_HANDLE)?;
        let Module { device, id } = *state.modules.get(&function.module).ok_or(Code::INVALID_HANDLE)?;
        let index = function.kernel;
        let stream = stream_of(state, stream)?;
        if stream.device != device {
            return Err(Code::INVALID_HANDLE);
        }
        let kernel = &state.sim.object(id).kernels[index];
        let threads = block.iter().fold(1u64, |all, n| all.saturating_mul(u64::from(*n)));
        let lds = kernel.descriptor.group_segment_bytes.saturating_add(shared_bytes);
        if grid.contains(&0) || threads == 0 || threads > kernel.metadata.max_threads_per_block {
            return Err(Code::INVALID_CONFIGURATION);
        }
        if lds > state.config.target.lds_bytes {
            return Err(Code::INVALID_VALUE);
        }
        let name = kernel.name.clone();
        let taken = state.argument_bytes(id, index);
        let mut args = match (params.is_null(), extra.is_null()) {
            // SAFETY: as the caller says.
            (false, true) => unsafe { state.gather(id, index, params) }?,
            // SAFETY: as the caller says.
            (true, false) => unsafe { packed(extra) }?,
            (true, true) => Vec::new(),
            (false, false) => return Err(Code::INVALID_VALUE),
        };
        if args.len() < taken {
            return Err(Code::INVALID_VALUE);
        }
        args.truncate(taken);
        let launch = Launch { rank: device, grid, block, args, dynamic_lds: shared_bytes };
        state.enqueue(stream, Op::Launch { module: id, kernel: name, launch })
    })
}

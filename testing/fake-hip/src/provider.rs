//! The provider of communicators: what mori's host library would lay out, for all devices of the node, in one process.
//!
//! What must hold here: rank r runs on device r; structures, flat addresses and queues are those of `sim::node`, which are
//! mori's. There is one communicator at a time, since its engines are the node's.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};

use tilewright_sim::mem::MemoryType;
use tilewright_sim::node::{EngineSet, Node, Window};
use tilewright_target::comm_provider::{CommProvider, LocalRank, VERSION, WindowPart};

use crate::codes::Code;
use crate::state::{State, pointer, with};

/// A communicator.
pub(crate) struct Comm {
    handle: u64,
    node: Node,
    pub(crate) engines: EngineSet,
    windows: Vec<Window>,
    /// Everything that was allocated for it besides windows' bytes.
    owned: Vec<u64>,
}

thread_local! {
    static ERROR: RefCell<CString> = RefCell::new(CString::default());
}

/// Keeps a sentence for `error`.
fn fail(sentence: impl std::fmt::Display) -> u32 {
    let text = sentence.to_string().replace('\0', " ");
    ERROR.set(CString::new(text).unwrap_or_default());
    1
}

/// Runs a call on the node; its failure is a sentence.
fn attempt(work: impl FnOnce(&mut State) -> Result<(), String>) -> u32 {
    let mut sentence = None;
    let result = with(|state| {
        sentence = work(state).err();
        Ok(())
    });
    match (result, sentence) {
        (Ok(()), None) => 0,
        (Ok(()), Some(sentence)) => fail(sentence),
        (Err(Code(code)), _) => fail(format!("the node does not answer: HIP error {code}")),
    }
}

impl State {
    /// The communicator behind a handle.
    fn comm(&mut self, handle: *mut c_void) -> Result<&mut Comm, String> {
        let handle = handle.addr() as u64;
        let found = self.comm.as_mut().filter(|comm| comm.handle == handle);
        found.ok_or_else(|| "this is no communicator that is open".to_owned())
    }

    fn open(&mut self, ranks: u32, queues: u32) -> Result<u64, String> {
        if self.comm.is_some() {
            return Err("the fake library has one communicator at a time, and one is open".to_owned());
        }
        if ranks == 0 || ranks > self.config.devices {
            return Err(format!("{ranks} ranks need as many devices, there are {}", self.config.devices));
        }
        let target = self.config.target;
        let facts = target.sdma.as_ref().ok_or_else(|| format!("{} has no copy engines", target.name))?;
        let before: Vec<u64> = self.sim.memory.allocations().iter().map(|known| known.base).collect();
        let queues = queues.max(facts.default_queues);
        let node = Node::new(&mut self.sim.memory, facts, ranks, queues).map_err(|fault| fault.to_string())?;
        let engines = node.engines(&mut self.sim.memory).map_err(|fault| fault.to_string())?;
        let all = self.sim.memory.allocations().iter().map(|known| known.base);
        let owned = all.filter(|base| before.binary_search(base).is_err()).collect();
        let handle = self.handle();
        self.comm = Some(Comm { handle, node, engines, windows: Vec::new(), owned });
        Ok(handle)
    }

    fn window(&mut self, handle: *mut c_void, name: &str, bytes: u64) -> Result<Vec<WindowPart>, String> {
        self.comm(handle)?;
        let State { comm: Some(comm), sim, .. } = self else { return Ok(Vec::new()) };
        let window = comm.node.add_window(&mut sim.memory, name, bytes, MemoryType::Coarse);
        let window = window.map_err(|fault| fault.to_string())?;
        let part = |(rank, device): (usize, &u64)| WindowPart { window: *device, address: window.part(rank as u32) };
        let parts = window.devices.iter().enumerate().map(part).collect();
        comm.windows.push(window);
        Ok(parts)
    }

    /// Gives a window back.
    fn release(&mut self, window: &Window) {
        for (rank, device) in window.devices.iter().enumerate() {
            self.sim.memory.free(*device);
            self.sim.memory.free(window.part(rank as u32));
        }
    }
}

extern "C" fn open(ranks: u32, queues: u32) -> *mut c_void {
    let mut handle = 0;
    attempt(|state| {
        handle = state.open(ranks, queues)?;
        Ok(())
    });
    pointer(handle)
}

extern "C" fn local_ranks(comm: *mut c_void) -> u32 {
    let mut count = 0;
    attempt(|state| {
        count = state.comm(comm)?.node.ranks().len() as u32;
        Ok(())
    });
    count
}

unsafe extern "C" fn local_rank(comm: *mut c_void, index: u32, out: *mut LocalRank) -> u32 {
    attempt(|state| {
        let ranks = state.comm(comm)?.node.ranks().len() as u32;
        if index >= ranks || out.is_null() {
            return Err(format!("there is no local rank number {index}"));
        }
        // SAFETY: `out` is not null, and the caller says that it may be written.
        unsafe { out.write(LocalRank { lsa_rank: index, device: index as i32 }) };
        Ok(())
    })
}

unsafe extern "C" fn dev_comm(comm: *mut c_void, index: u32, out: *mut c_void, bytes: u64) -> u32 {
    attempt(|state| {
        let rank = state.comm(comm)?.node.ranks().get(index as usize);
        let content = rank.ok_or_else(|| format!("there is no local rank number {index}"))?.comm().bytes();
        if content.len() as u64 != bytes || out.is_null() {
            return Err(format!("a ccoDevComm has {} bytes, the caller has room for {bytes}", content.len()));
        }
        // SAFETY: `out` is not null, and the caller says that it has room for `bytes` bytes.
        unsafe { out.cast::<u8>().copy_from_nonoverlapping(content.as_ptr(), content.len()) };
        Ok(())
    })
}

unsafe extern "C" fn window_open(comm: *mut c_void, name: *const c_char, bytes: u64, out: *mut WindowPart) -> u32 {
    attempt(|state| {
        if name.is_null() || out.is_null() {
            return Err("a window needs a name and room for its parts".to_owned());
        }
        // SAFETY: the caller gives a C string.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        let parts = state.window(comm, &name, bytes)?;
        // SAFETY: the caller has room for a part for each local rank.
        unsafe { out.copy_from_nonoverlapping(parts.as_ptr(), parts.len()) };
        Ok(())
    })
}

extern "C" fn window_close(comm: *mut c_void, window: u64) -> u32 {
    attempt(|state| {
        state.drain().map_err(|Code(code)| format!("HIP error {code}"))?;
        let windows = &mut state.comm(comm)?.windows;
        let found = windows.iter().position(|known| known.devices.first() == Some(&window));
        let window = windows.remove(found.ok_or("this is no window of this communicator")?);
        state.release(&window);
        Ok(())
    })
}

/// All ranks are in this process, whose calls come one after the other.
extern "C" fn barrier(comm: *mut c_void) -> u32 {
    attempt(|state| state.comm(comm).map(drop))
}

extern "C" fn close(comm: *mut c_void) -> u32 {
    attempt(|state| {
        state.drain().map_err(|Code(code)| format!("HIP error {code}"))?;
        state.comm(comm)?;
        let Some(closed) = state.comm.take() else { return Ok(()) };
        closed.windows.iter().for_each(|window| state.release(window));
        for base in closed.owned {
            state.sim.memory.free(base);
        }
        Ok(())
    })
}

extern "C" fn error() -> *const c_char {
    ERROR.with_borrow(|text| text.as_ptr())
}

static PROVIDER: CommProvider = CommProvider {
    version: VERSION,
    open,
    local_ranks,
    local_rank,
    dev_comm,
    window_open,
    window_close,
    barrier,
    close,
    error,
};

/// The provider's table.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn tw_comm_provider() -> *const CommProvider {
    &raw const PROVIDER
}

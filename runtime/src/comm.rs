//! Communicators: the ranks of a node with their memory, their modules and the running totals of their signals.
//!
//! What must hold here:
//! - A launch is checked whole before anything of it is enqueued, and is enqueued on all ranks before anything is waited for;
//!   one that is refused changes nothing that can be seen.
//! - Totals are counted when a launch is enqueued, in the order of the launches; so there is one order, and [`Stream`] is it.
//! - What a driver reports from a kernel is final: memory and signals are then not known, so the communicator refuses all
//!   further launches and says why.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use tilewright_artifact::{CodeBytes, KernelInfo};
use tilewright_target::mori_abi::{SIGNAL_BYTES, dev_comm, in_dev_comm, sdma_context};

use crate::driver::{Address, Device, DeviceKind, Driver, Limits, WindowPart};
use crate::error::{DriverError, Error};
use crate::launch::{LaunchError, check_launch, needs_communicator};
use crate::module::Module;
use crate::object::{Buffer, Window};
use crate::rank::{LsaRank, RankError};
use crate::signals::{SignalError, SignalTotals};
use crate::stream::Stream;

/// The ranks of one node, as far as this process drives them. Copies are handles of the same communicator.
#[derive(Clone)]
pub struct Comm {
    state: Rc<RefCell<State>>,
}

/// What is behind all handles of a communicator.
pub(crate) struct State {
    pub(crate) driver: Box<dyn Driver>,
    /// For each of the driver's ranks.
    pub(crate) totals: Vec<SignalTotals>,
    /// The kernel since whose launch nobody knows what the slots hold.
    pub(crate) uncounted: Option<String>,
    /// What a launch failed with.
    failed: Option<String>,
    /// Whether launches may be enqueued that have not been waited for.
    pub(crate) pending: bool,
    /// Memory to be given back when no launch uses it any more.
    garbage: Vec<Garbage>,
    /// Hidden tables: a launch takes some, which are free again when it has ended.
    tables: Vec<Table>,
}

#[derive(Debug)]
enum Garbage {
    Buffer(LsaRank, Address),
    Window(Vec<WindowPart>),
}

/// Memory for a hidden argument.
#[derive(Debug)]
struct Table {
    rank: LsaRank,
    bytes: u64,
    address: Address,
    used: bool,
}

impl Comm {
    /// A communicator of `ranks` ranks on a device, all driven by this process, with `queues` SDMA queues from each rank to
    /// each peer.
    ///
    /// # Errors
    /// What the device refuses.
    pub fn new(device: &dyn Device, ranks: u32, queues: u32) -> Result<Comm, Error> {
        Ok(Comm::with_driver(device.open(ranks, queues)?))
    }

    /// The communicator of a driver that was opened some other way, all of whose signals stand at zero. Where others have
    /// used it before, call [`Comm::read_totals`] before the first launch.
    pub fn with_driver(driver: Box<dyn Driver>) -> Comm {
        let totals = vec![SignalTotals::new(); driver.ranks().len()];
        let state = State {
            driver,
            totals,
            uncounted: None,
            failed: None,
            pending: false,
            garbage: Vec::new(),
            tables: Vec::new(),
        };
        Comm { state: Rc::new(RefCell::new(state)) }
    }

    /// The kind of device.
    pub fn kind(&self) -> DeviceKind {
        self.state.borrow().driver.kind()
    }

    /// What a launch must fit into.
    pub fn limits(&self) -> Limits {
        self.state.borrow().driver.limits().clone()
    }

    /// The ranks that this process drives, ascending.
    pub fn ranks(&self) -> Vec<LsaRank> {
        self.state.borrow().driver.ranks().to_vec()
    }

    /// Ranks of the node, whoever drives them.
    pub fn lsa_size(&self) -> u32 {
        self.state.borrow().driver.lsa_size()
    }

    /// SDMA queues from a rank to each peer; 0 without a communicator, or if SDMA is off.
    pub fn queues(&self) -> u32 {
        self.state.borrow().driver.queues()
    }

    /// The launches of this communicator. There is one order of launches, so all streams of a communicator are the same.
    pub fn stream(&self) -> Stream {
        Stream::new(self.clone())
    }

    /// Checks what is known of a kernel before it has arguments: shape, shared memory, queues, communicator.
    ///
    /// # Errors
    /// A [`LaunchError`].
    pub fn check_fits(&self, kernel: &KernelInfo) -> Result<(), LaunchError> {
        self.state.borrow().check_fits(kernel)
    }

    /// Loads code on all ranks; `kernels` says what is in it.
    ///
    /// # Errors
    /// What the driver says.
    pub fn load(&self, code: &CodeBytes, kernels: &[KernelInfo]) -> Result<Module, Error> {
        Module::load(self, code, kernels)
    }

    /// Memory of one rank. `name` is what reports of faults call it.
    ///
    /// # Errors
    /// If this process does not drive the rank, or there is no more memory.
    pub fn buffer(&self, rank: LsaRank, bytes: u64, name: &str) -> Result<Buffer, Error> {
        self.index_of(rank)?;
        let address = self.state.borrow_mut().driver.allocate(rank, bytes, name)?;
        Ok(Buffer::new(self, rank, address, bytes, true))
    }

    /// Memory of one rank that the caller allocated and frees, not before the buffer is dropped and the stream synchronised.
    ///
    /// # Errors
    /// If this process does not drive the rank.
    pub fn adopt_buffer(&self, rank: LsaRank, address: Address, bytes: u64) -> Result<Buffer, Error> {
        self.index_of(rank)?;
        Ok(Buffer::new(self, rank, address, bytes, false))
    }

    /// A window: `bytes` bytes on every rank, at addresses that every rank knows.
    ///
    /// # Errors
    /// If the device makes none, or there is no more memory.
    pub fn window(&self, bytes: u64, name: &str) -> Result<Window, Error> {
        let parts = self.state.borrow_mut().driver.window(bytes, name)?;
        Ok(Window::new(self, parts, bytes, true))
    }

    /// A window that mori's host library made, who frees it, not before the window is dropped and the stream synchronised.
    /// One part for each of [`Comm::ranks`], in its order.
    ///
    /// # Errors
    /// [`RankError::Count`] if there are more or fewer parts.
    pub fn adopt_window(&self, parts: Vec<WindowPart>, bytes: u64) -> Result<Window, Error> {
        let ranks = self.state.borrow().driver.ranks().len();
        if parts.len() != ranks {
            return Err(RankError::Count { given: parts.len(), ranks }.into());
        }
        Ok(Window::new(self, parts, bytes, false))
    }

    /// What a rank's slot for the signals of `source` on a queue stands at after all launches so far: every later launch
    /// starts from there.
    ///
    /// # Errors
    /// If a kernel raised signals that nobody counted, and the slots cannot be read.
    pub fn total(&self, at: LsaRank, source: LsaRank, queue: u32) -> Result<u64, Error> {
        let index = self.index_of(at)?;
        let mut state = self.state.borrow_mut();
        state.know_totals()?;
        Ok(state.totals[index].total(source, queue))
    }

    /// Waits for the launches of this process and takes the totals from the slots in memory. They are right only if the
    /// launches have ended on all ranks of the node, whoever drives them: that is for the caller to see to.
    ///
    /// # Errors
    /// What the driver says.
    pub fn read_totals(&self) -> Result<(), Error> {
        let mut state = self.state.borrow_mut();
        state.synchronise()?;
        state.read_totals()
    }

    /// Waits for all launches and compares the slots in memory with the totals.
    ///
    /// # Errors
    /// [`SignalError::Differs`] with the first slot that differs: a formula is wrong, or others raise these signals, too.
    pub fn check_totals(&self) -> Result<(), Error> {
        let mut state = self.state.borrow_mut();
        state.synchronise()?;
        if state.uncounted.is_some() {
            return Ok(());
        }
        for (index, at) in state.driver.ranks().to_vec().into_iter().enumerate() {
            for (source, queue, found) in state.read_slots(at)? {
                let expected = state.totals[index].total(source, queue);
                if found != expected {
                    return Err(SignalError::Differs { at, source_rank: source, queue, found, expected }.into());
                }
            }
        }
        Ok(())
    }

    /// Lets `use_it` use the driver, for what only its kind can do; see [`Driver::as_any`]. What is enqueued or allocated
    /// behind the communicator's back it does not know.
    pub fn with<R>(&self, use_it: impl FnOnce(&mut dyn Driver) -> R) -> R {
        use_it(self.state.borrow_mut().driver.as_mut())
    }

    /// Whether both are handles of one communicator.
    pub fn same_as(&self, other: &Comm) -> bool {
        Rc::ptr_eq(&self.state, &other.state)
    }

    pub(crate) fn state(&self) -> &RefCell<State> {
        &self.state
    }

    /// The place of a rank among those that this process drives.
    pub(crate) fn index_of(&self, rank: LsaRank) -> Result<usize, RankError> {
        let state = self.state.borrow();
        let found = state.driver.ranks().iter().position(|known| *known == rank);
        found.ok_or(RankError::NotDriven { rank, size: state.driver.lsa_size() })
    }
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.state.try_borrow() {
            Ok(state) => f.debug_struct("Comm").field("driver", &state.driver).finish_non_exhaustive(),
            Err(_) => f.write_str("Comm"),
        }
    }
}

impl State {
    /// Refuses everything after a failed launch.
    pub(crate) fn usable(&self) -> Result<(), Error> {
        match &self.failed {
            Some(why) => Err(Error::Poisoned(why.clone())),
            None => Ok(()),
        }
    }

    /// See [`Comm::check_fits`].
    pub(crate) fn check_fits(&self, kernel: &KernelInfo) -> Result<(), LaunchError> {
        let driver = &self.driver;
        if needs_communicator(kernel) && driver.ranks().iter().any(|rank| driver.dev_comm(*rank).is_none()) {
            return Err(LaunchError::NoCommunicator { kernel: kernel.name.clone(), device: driver.kind() });
        }
        check_launch(kernel, driver.limits(), driver.queues())
    }

    /// Notes that nothing is known any more.
    pub(crate) fn fail(&mut self, error: DriverError) -> Error {
        self.failed.get_or_insert_with(|| error.to_string());
        error.into()
    }

    /// Waits for all launches.
    pub(crate) fn synchronise(&mut self) -> Result<(), Error> {
        self.usable()?;
        if !self.pending {
            return Ok(());
        }
        if let Err(error) = self.driver.synchronise() {
            return Err(self.fail(error));
        }
        self.pending = false;
        self.tables.iter_mut().for_each(|table| table.used = false);
        for garbage in std::mem::take(&mut self.garbage) {
            self.give_back(garbage);
        }
        Ok(())
    }

    /// Waits for all launches, unless one has failed: then memory holds what it holds, and may be looked at.
    pub(crate) fn quiet(&mut self) -> Result<(), Error> {
        if self.failed.is_some() { Ok(()) } else { self.synchronise() }
    }

    pub(crate) fn drop_buffer(&mut self, rank: LsaRank, address: Address) {
        self.discard(Garbage::Buffer(rank, address));
    }

    pub(crate) fn drop_window(&mut self, parts: Vec<WindowPart>) {
        self.discard(Garbage::Window(parts));
    }

    fn discard(&mut self, garbage: Garbage) {
        match self.pending {
            true => self.garbage.push(garbage),
            false => self.give_back(garbage),
        }
    }

    /// A driver that cannot free memory has failed for another reason, which the next call reports.
    fn give_back(&mut self, garbage: Garbage) {
        let _ = match garbage {
            Garbage::Buffer(rank, address) => self.driver.free(rank, address),
            Garbage::Window(parts) => self.driver.free_window(&parts),
        };
    }

    /// Memory for a hidden argument, which no launch uses; taken until the next synchronisation, or until
    /// [`State::untake_tables`].
    pub(crate) fn take_table(&mut self, rank: LsaRank, bytes: u64, name: &str) -> Result<Address, DriverError> {
        let free = |table: &&mut Table| !table.used && (table.rank, table.bytes) == (rank, bytes);
        if let Some(table) = self.tables.iter_mut().find(free) {
            table.used = true;
            return Ok(table.address);
        }
        let words = format!("`{name}` of rank {}", rank.index());
        let address = self.driver.allocate(rank, bytes, &words)?;
        self.tables.push(Table { rank, bytes, address, used: true });
        Ok(address)
    }

    /// The tables that were taken for a launch that does not take place are free again.
    pub(crate) fn untake_tables(&mut self, addresses: &[Address]) {
        for table in self.tables.iter_mut().filter(|table| addresses.contains(&table.address)) {
            table.used = false;
        }
    }

    /// Sees to it that the totals are those of all launches so far.
    pub(crate) fn know_totals(&mut self) -> Result<(), Error> {
        let Some(kernel) = &self.uncounted else { return Ok(()) };
        if self.driver.ranks().len() as u64 != u64::from(self.driver.lsa_size()) {
            return Err(SignalError::Unknown { kernel: kernel.clone() }.into());
        }
        self.synchronise()?;
        self.read_totals()
    }

    fn read_totals(&mut self) -> Result<(), Error> {
        for (index, at) in self.driver.ranks().to_vec().into_iter().enumerate() {
            for (source, queue, found) in self.read_slots(at)? {
                self.totals[index].set(source, queue, found);
            }
        }
        self.uncounted = None;
        Ok(())
    }

    /// Source, queue and content of every slot of a rank's pool.
    fn read_slots(&mut self, at: LsaRank) -> Result<Vec<(LsaRank, u32, u64)>, Error> {
        let (size, queues) = (self.driver.lsa_size(), self.driver.queues());
        let pool = self.driver.dev_comm(at).and_then(|comm| {
            let bytes = comm.get(in_dev_comm(sdma_context::SIGNAL_BUF) as usize..)?.first_chunk()?;
            Some(u64::from_le_bytes(*bytes)).filter(|address| *address != 0)
        });
        let Some(pool) = pool else { return Ok(Vec::new()) };
        let mut bytes = vec![0; size as usize * queues as usize * SIGNAL_BYTES as usize];
        self.driver.read(at, Address(pool), &mut bytes)?;
        let slots = bytes.chunks_exact(SIGNAL_BYTES as usize).zip(0u32..);
        let slot = |(bytes, slot): (&[u8], u32)| {
            let value = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            (LsaRank::new(slot / queues), slot % queues, value)
        };
        Ok(slots.map(slot).collect())
    }

    /// Ranks of the whole job: what the communicator says, the node's without one.
    pub(crate) fn world_size(&self, rank: LsaRank) -> i64 {
        let field = |comm: Vec<u8>| comm.get(dev_comm::WORLD_SIZE as usize..)?.first_chunk().copied();
        let size = self.driver.dev_comm(rank).and_then(field).map(i32::from_le_bytes);
        size.map_or_else(|| i64::from(self.driver.lsa_size()), i64::from)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // Nothing of a launch may be given back while it runs; whether it went well nobody is left to be told.
        if self.failed.is_none() && self.pending {
            let _ = self.driver.synchronise();
        }
        for garbage in std::mem::take(&mut self.garbage) {
            self.give_back(garbage);
        }
        for table in std::mem::take(&mut self.tables) {
            let _ = self.driver.free(table.rank, table.address);
        }
    }
}

//! Launches, in their order, and points in time between them.
//!
//! What must hold here: everything that can be refused is refused before anything is enqueued; memory is written for all ranks
//! before the first one is enqueued, because writing it might wait for a kernel that waits for a rank not yet enqueued.

use tilewright_artifact::{ArgInfo, ArgKind, CountValues, KernelInfo, SignalFormula};
use tilewright_target::mori_abi::SIGNAL_BYTES;

use crate::comm::{Comm, State};
use crate::device::ArgError;
use crate::driver::{Address, EventId, RankLaunch};
use crate::error::{DriverError, Error};
use crate::launch::{Range, check_aliases};
use crate::module::{Arg, Args, Kernel};
use crate::rank::LsaRank;
use crate::signals::{SignalAdd, SignalError, SignalTotals};

/// An argument block is at most some KiB; a description that says more is refused.
const MAX_ARGS_BYTES: u64 = 1 << 16;

/// The launches of a communicator, in their order, on all ranks.
#[derive(Clone, Debug)]
pub struct Stream {
    comm: Comm,
}

/// A point between two launches, on every rank that this process drives.
#[derive(Clone, Debug)]
pub struct Event {
    comm: Comm,
    ids: Vec<EventId>,
}

/// A launch as it is enqueued.
struct Ready {
    /// For each rank the argument block.
    blocks: Vec<Vec<u8>>,
    /// Hidden tables: rank, address, content.
    tables: Vec<(LsaRank, Address, Vec<u8>)>,
}

impl Stream {
    pub(crate) fn new(comm: Comm) -> Stream {
        Stream { comm }
    }

    /// Enqueues a kernel on all ranks that this process drives and returns; `args` has one entry for each of
    /// [`Comm::ranks`], in its order.
    ///
    /// # Errors
    /// What refuses the launch; then it has changed nothing. If a driver fails after some ranks were enqueued, the
    /// communicator is of no more use.
    pub fn launch(&self, kernel: &Kernel, args: &[Args<'_>]) -> Result<(), Error> {
        if !kernel.comm().same_as(&self.comm) {
            return Err(ArgError::Foreign { name: kernel.info().name.clone() }.into());
        }
        let info = kernel.info();
        let ranks = self.comm.ranks();
        check_arguments(&self.comm, info, &ranks, args)?;
        let mut state = self.comm.state().borrow_mut();
        state.usable()?;
        state.check_fits(info)?;
        check_aliases(&info.name, ranges(info, &ranks, args))?;
        let totals = state.after(info, &ranks, args)?;
        let ready = state.ready(info, &ranks, args)?;
        for (rank, address, content) in &ready.tables {
            if let Err(error) = state.driver.write(*rank, *address, content) {
                let taken: Vec<_> = ready.tables.iter().map(|table| table.1).collect();
                state.untake_tables(&taken);
                return Err(error.into());
            }
        }
        for (index, (rank, block)) in ranks.iter().zip(&ready.blocks).enumerate() {
            let launch =
                RankLaunch { rank: *rank, kernel: kernel.id(), grid: info.grid, block: info.block, args: block };
            match state.driver.launch(&launch) {
                Ok(()) => state.pending = true,
                Err(error) if index == 0 => {
                    let taken: Vec<_> = ready.tables.iter().map(|table| table.1).collect();
                    state.untake_tables(&taken);
                    return Err(error.into());
                }
                Err(error) => return Err(state.fail(error)),
            }
        }
        match totals {
            Some(totals) => state.totals = totals,
            None => state.uncounted = Some(info.name.clone()),
        }
        Ok(())
    }

    /// Waits until all launches have ended on the ranks that this process drives.
    ///
    /// # Errors
    /// What went wrong in a kernel; the communicator is of no more use then.
    pub fn synchronise(&self) -> Result<(), Error> {
        self.comm.state().borrow_mut().synchronise()
    }

    /// The point behind all launches so far.
    ///
    /// # Errors
    /// What the driver says.
    pub fn record(&self) -> Result<Event, Error> {
        let mut state = self.comm.state().borrow_mut();
        state.usable()?;
        let mut ids = Vec::new();
        for rank in state.driver.ranks().to_vec() {
            match state.driver.record(rank) {
                Ok(id) => ids.push(id),
                // The simulator runs what is enqueued to know when it ends.
                Err(error @ DriverError::Fault(_)) => return Err(state.fail(error)),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Event { comm: self.comm.clone(), ids })
    }
}

impl Event {
    /// Waits for all launches; then the microseconds from `earlier` to this point, for each of [`Comm::ranks`].
    ///
    /// # Errors
    /// What went wrong in a kernel, or a device without a clock.
    pub fn since(&self, earlier: &Event) -> Result<Vec<f64>, Error> {
        if !self.comm.same_as(&earlier.comm) {
            return Err(ArgError::Foreign { name: "event".to_owned() }.into());
        }
        let mut state = self.comm.state().borrow_mut();
        state.synchronise()?;
        let pairs = earlier.ids.iter().zip(&self.ids);
        pairs.map(|(from, to)| Ok(state.driver.elapsed(*from, *to)?)).collect()
    }
}

/// The value of an argument that has passed [`check_arguments`].
fn bits(args: &Args<'_>, arg: &ArgInfo) -> u64 {
    match args.get(&arg.name) {
        Some(Arg::Bits(bits)) => bits,
        _ => 0,
    }
}

/// Checks that every rank gives every argument, of the right kind and its own, and no other.
fn check_arguments(comm: &Comm, info: &KernelInfo, ranks: &[LsaRank], args: &[Args<'_>]) -> Result<(), Error> {
    if args.len() != ranks.len() {
        return Err(ArgError::Ranks { given: args.len(), ranks: ranks.len() }.into());
    }
    let given = info.args.iter().filter(|arg| !matches!(arg.kind, ArgKind::DevComm | ArgKind::Hidden));
    for (rank, args) in ranks.iter().zip(args) {
        let place = rank.index() as usize;
        for arg in given.clone() {
            let name = || arg.name.clone();
            let right = match (arg.kind, args.get(&arg.name)) {
                (_, None) => {
                    return Err(ArgError::Missing { rank: place, kernel: info.name.clone(), name: name() }.into());
                }
                (ArgKind::Window, Some(Arg::Window(window))) => window.comm().same_as(comm),
                (ArgKind::Global, Some(Arg::Buffer(buffer))) if !buffer.comm().same_as(comm) => false,
                (ArgKind::Global, Some(Arg::Buffer(buffer))) if buffer.rank() != *rank => {
                    return Err(ArgError::OtherRank { name: name(), rank: *rank, buffer: buffer.rank() }.into());
                }
                (ArgKind::Global, Some(Arg::Buffer(_))) => true,
                (ArgKind::Scalar | ArgKind::Where, Some(Arg::Bits(_))) => true,
                (kind, Some(_)) => {
                    let kernel = info.name.clone();
                    return Err(ArgError::Kind { kernel, name: name(), kind: words(kind) }.into());
                }
            };
            if !right {
                return Err(ArgError::Foreign { name: name() }.into());
            }
        }
        if let Some(name) = args.names().find(|name| !given.clone().any(|arg| arg.name == *name)) {
            return Err(ArgError::Unknown { kernel: info.name.clone(), name: name.to_owned() }.into());
        }
    }
    check_uniform(info, ranks, args)
}

/// Checks what every rank must give alike: windows, and the extents that launch shapes and counts follow from.
fn check_uniform(info: &KernelInfo, ranks: &[LsaRank], args: &[Args<'_>]) -> Result<(), Error> {
    let Some(first) = args.first() else { return Ok(()) };
    for arg in &info.args {
        for (rank, args) in ranks.iter().zip(args) {
            let alike = match (args.get(&arg.name), first.get(&arg.name)) {
                (Some(Arg::Window(own)), Some(Arg::Window(other))) => std::ptr::eq(own, other),
                (Some(Arg::Bits(own)), Some(Arg::Bits(other))) => arg.kind != ArgKind::Where || own == other,
                _ => true,
            };
            if !alike {
                let (kernel, name) = (info.name.clone(), arg.name.clone());
                return Err(ArgError::NotUniform { kernel, name, rank: *rank }.into());
            }
        }
    }
    Ok(())
}

fn words(kind: ArgKind) -> &'static str {
    match kind {
        ArgKind::DevComm => "a communicator",
        ArgKind::Window => "a window",
        ArgKind::Global => "a buffer",
        ArgKind::Scalar | ArgKind::Where => "a number",
        ArgKind::Hidden => "the runtime's own",
    }
}

/// The memory of all arguments on all ranks.
fn ranges<'a>(info: &'a KernelInfo, ranks: &[LsaRank], args: &[Args<'_>]) -> Vec<Range<'a>> {
    let mut all = Vec::new();
    for (index, (rank, args)) in ranks.iter().zip(args).enumerate() {
        for arg in &info.args {
            let (start, bytes) = match args.get(&arg.name) {
                Some(Arg::Buffer(buffer)) => (buffer.address(), buffer.bytes()),
                Some(Arg::Window(window)) => (window.part_at(index).data, window.bytes()),
                _ => continue,
            };
            all.push(Range { start, bytes, name: &arg.name, rank: *rank });
        }
    }
    all
}

impl State {
    /// The totals after a launch; `None` if nobody can count what it raises. Sees to it that those before it are known.
    fn after(
        &mut self,
        info: &KernelInfo,
        ranks: &[LsaRank],
        args: &[Args<'_>],
    ) -> Result<Option<Vec<SignalTotals>>, Error> {
        if info.signals.is_empty() {
            return Ok((!info.signals_by_hand).then(|| self.totals.clone()));
        }
        self.know_totals()?;
        let mut counted = !info.signals_by_hand;
        let world_size = ranks.first().map_or(0, |rank| self.world_size(*rank));
        let mut after = self.totals.clone();
        for (index, rank) in ranks.iter().enumerate() {
            let wheres = |name: &str| {
                let arg = info.args.iter().find(|arg| arg.kind == ArgKind::Where && arg.name == name)?;
                Some(typed(&arg.dtype, bits(args.get(index)?, arg)))
            };
            let mut adds = Vec::new();
            for signal in &info.signals {
                for source in 0..self.driver.lsa_size() {
                    let values = CountValues {
                        sender: source.into(),
                        receiver: rank.index().into(),
                        lsa_size: self.driver.lsa_size().into(),
                        world_size,
                        wheres: &wheres,
                    };
                    match signal.count.as_ref() {
                        Some(count) => adds.push(add(info, signal, source, count.evaluate(&values))?),
                        None => counted = false,
                    }
                }
            }
            after[index].launch(&adds)?;
        }
        Ok(counted.then_some(after))
    }

    /// Argument blocks, and the tables of totals that they point to.
    fn ready(&mut self, info: &KernelInfo, ranks: &[LsaRank], args: &[Args<'_>]) -> Result<Ready, Error> {
        if let Some(arg) = info.args.iter().find(|arg| arg.end() > MAX_ARGS_BYTES) {
            let (kernel, name) = (info.name.clone(), arg.name.clone());
            return Err(ArgError::Size { kernel, name, bytes: arg.bytes, expected: 8 }.into());
        }
        let mut ready = Ready { blocks: Vec::new(), tables: Vec::new() };
        for (index, rank) in ranks.iter().enumerate() {
            match self.block(info, index, *rank, &args[index], &mut ready.tables) {
                Ok(block) => ready.blocks.push(block),
                Err(error) => {
                    let taken: Vec<_> = ready.tables.iter().map(|table| table.1).collect();
                    self.untake_tables(&taken);
                    return Err(error);
                }
            }
        }
        Ok(ready)
    }

    /// The argument block of one rank.
    fn block(
        &mut self,
        info: &KernelInfo,
        index: usize,
        rank: LsaRank,
        args: &Args<'_>,
        tables: &mut Vec<(LsaRank, Address, Vec<u8>)>,
    ) -> Result<Vec<u8>, Error> {
        let mut block = vec![0; info.args_bytes() as usize];
        for arg in &info.args {
            match (arg.kind, args.get(&arg.name)) {
                (ArgKind::DevComm, _) => put(info, arg, &mut block, &self.driver.dev_comm(rank).unwrap_or_default())?,
                (_, Some(Arg::Window(window))) => {
                    put(info, arg, &mut block, &window.part_at(index).handle.0.to_le_bytes())?;
                }
                (_, Some(Arg::Buffer(buffer))) => put(info, arg, &mut block, &buffer.address().0.to_le_bytes())?,
                (ArgKind::Scalar | ArgKind::Where, _) => {
                    put(info, arg, &mut block, &bits(args, arg).to_le_bytes()[..(arg.bytes as usize).min(8)])?;
                }
                _ => {
                    let content = self.table(info, &arg.name, index);
                    let address = self.take_table(rank, content.len() as u64, &arg.name)?;
                    tables.push((rank, address, content));
                    put(info, arg, &mut block, &address.0.to_le_bytes())?;
                }
            }
        }
        Ok(block)
    }

    /// The content of a hidden table: for each source rank what the slot of its signal stands at before the launch.
    fn table(&self, info: &KernelInfo, table: &str, index: usize) -> Vec<u8> {
        let signal = info.signals.iter().find(|signal| signal.totals.as_deref() == Some(table));
        let mut content = vec![0; MAX_RANKS * SIGNAL_BYTES as usize];
        let Some(signal) = signal else { return content };
        for (source, slot) in (0..self.driver.lsa_size()).zip(content.chunks_exact_mut(SIGNAL_BYTES as usize)) {
            let total = self.totals[index].total(LsaRank::new(source), signal.queue);
            slot.copy_from_slice(&total.to_le_bytes());
        }
        content
    }
}

/// Entries of a table of totals: the largest number of ranks on a node.
const MAX_RANKS: usize = tilewright_sim::node::MAX_RANKS as usize;

/// What the formula of a signal adds.
fn add(info: &KernelInfo, signal: &SignalFormula, source: u32, value: Option<i64>) -> Result<SignalAdd, SignalError> {
    let source = LsaRank::new(source);
    match value.map(u64::try_from) {
        Some(Ok(count)) => Ok(SignalAdd { source, queue: signal.queue, count }),
        _ => Err(SignalError::Count {
            kernel: info.name.clone(),
            signal: signal.name.clone(),
            source_rank: source,
            text: signal.text.clone(),
            value: value.map_or("unknown".to_owned(), |value| value.to_string()),
        }),
    }
}

/// The number that bits are in a type of the language: `u32`, `i8` ….
fn typed(dtype: &str, bits: u64) -> i64 {
    let width = dtype.get(1..).and_then(|digits| digits.parse::<u8>().ok()).unwrap_or(64);
    tilewright_artifact::IntType { bits: width, signed: dtype.starts_with('i') }.cut(bits as i64)
}

/// Puts an argument into its place in the block.
fn put(kernel: &KernelInfo, arg: &ArgInfo, block: &mut [u8], value: &[u8]) -> Result<(), ArgError> {
    let wrong = || ArgError::Size {
        kernel: kernel.name.clone(),
        name: arg.name.clone(),
        bytes: arg.bytes,
        expected: value.len() as u32,
    };
    if arg.bytes as usize != value.len() {
        return Err(wrong());
    }
    let at = arg.offset as usize;
    block.get_mut(at..at + value.len()).ok_or_else(wrong)?.copy_from_slice(value);
    Ok(())
}

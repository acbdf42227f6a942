//! What devices have to do, and the moment when they do it.
//!
//! What must hold here: the work of one device is done in the order in which it was given, whatever its streams; kernels that
//! stand at the front of several devices' queues run together; copies and events are done when all before them is.

use tilewright_sim::machine::{Engines, Launch, ModuleId, NoEngines};

use crate::codes::Code;
use crate::state::{State, Stream};

/// One piece of work.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// A kernel.
    Launch {
        /// Its object.
        module: ModuleId,
        /// Its name.
        kernel: String,
        /// Everything else.
        launch: Launch,
    },
    /// A copy.
    Copy(Copy),
    /// An event is passed.
    Event(u64),
}

/// Work in a queue.
#[derive(Clone, Debug)]
pub(crate) struct Queued {
    op: Op,
    /// Whether it came by a stream that calls without a stream wait for.
    blocking: bool,
}

impl Queued {
    fn is_launch(&self) -> bool {
        matches!(self.op, Op::Launch { .. })
    }
}

/// A copy between the host and the node, or within either. Host memory is an address that the caller vouched for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    /// To.
    pub(crate) to: Place,
    /// From.
    pub(crate) from: Place,
    /// Bytes.
    pub(crate) bytes: usize,
}

/// Where one end of a copy is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// Memory of this process.
    Host(usize),
    /// Memory of the node.
    Device(u64),
}

impl State {
    /// Gives a stream work; it is done at once if nothing is before it, kernels excepted.
    ///
    /// # Errors
    /// What the work says.
    pub(crate) fn enqueue(&mut self, stream: Stream, op: Op) -> Result<(), Code> {
        let Stream { device, blocking } = stream;
        let queue = self.queues.get_mut(device as usize).ok_or(Code::INVALID_DEVICE)?;
        if queue.is_empty() && !matches!(op, Op::Launch { .. }) {
            return self.perform(op);
        }
        queue.push_back(Queued { op, blocking });
        Ok(())
    }

    /// What a call without a stream waits for: everything, if something came by a stream that such calls wait for.
    ///
    /// # Errors
    /// The code of the first fault.
    pub(crate) fn drain_blocking(&mut self) -> Result<(), Code> {
        match self.queues.iter().flatten().any(|work| work.blocking) {
            true => self.drain(),
            false => Ok(()),
        }
    }

    /// Does everything that is queued on any device.
    ///
    /// # Errors
    /// The code of the first fault.
    pub(crate) fn drain(&mut self) -> Result<(), Code> {
        loop {
            for device in 0..self.queues.len() {
                while let Some(work) = self.queues[device].pop_front_if(|work| !work.is_launch()) {
                    self.perform(work.op)?;
                }
            }
            let mut launched = false;
            for device in 0..self.queues.len() {
                while let Some(work) = self.queues[device].pop_front_if(|work| work.is_launch()) {
                    self.perform(work.op)?;
                    launched = true;
                }
            }
            if !launched {
                return Ok(());
            }
            let engines: &mut dyn Engines = match &mut self.comm {
                Some(comm) => &mut comm.engines,
                None => &mut NoEngines,
            };
            self.sim.run(engines).map_err(|fault| self.fault(&fault))?;
        }
    }

    /// Does one piece of work; a kernel only becomes ready to run.
    fn perform(&mut self, op: Op) -> Result<(), Code> {
        match op {
            Op::Launch { module, kernel, launch } => {
                self.sim.launch(module, &kernel, launch).map_err(|fault| self.fault(&fault))
            }
            Op::Copy(copy) => self.copy(copy),
            Op::Event(event) => {
                let now = self.sim.steps();
                if let Some(event) = self.events.get_mut(&event) {
                    event.passed = Some(now);
                }
                Ok(())
            }
        }
    }
}

//! The simulator: the linked code object of an AMD target, instruction by instruction and packet by packet.

use std::sync::Mutex;

use indexmap::IndexMap;
use tilewright_artifact::{CodeBytes, CodeKind};
use tilewright_ir::interp::{LaunchInput, LaunchOutput, where_lookup};
use tilewright_ir::{Code, Diagnostic, Name, Span};
use tilewright_runtime::device::sim::{SimOptions, run, run_timed};
use tilewright_runtime::device::{Launch, Outcome, RankArgs, RankBuffers};
use tilewright_runtime::{DriverError, Error, SignalError};
use tilewright_sim::fault::{Fault, FaultKind};
use tilewright_sim::mem::MemFault;
use tilewright_sim::sdma::EngineFaultKind;
use tilewright_sim::time::{RankTime, Trace};
use tilewright_target::Target;

use super::{Device, missing};
use crate::{Compiled, bundle};

/// The device `sim`.
#[derive(Debug)]
pub struct Sim {
    /// Check initialisation, races and copies in flight.
    pub checks: bool,
}

impl Device for Sim {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn summary(&self) -> &'static str {
        "simulator of the machine code, for AMD targets"
    }

    fn launch(&self, compiled: &Compiled, kernel: &Name, input: &LaunchInput) -> Result<LaunchOutput, Diagnostic> {
        launch(compiled, kernel, input, self.checks, run)
    }
}

/// What a launch took in virtual time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    /// The ranks that ran anything.
    pub ranks: Vec<RankTime>,
    /// What happened when, if that was wanted.
    pub trace: Option<Trace>,
}

/// The device `sim` with virtual time.
#[derive(Debug)]
pub struct Timed {
    checks: bool,
    trace: bool,
    /// Of the last launch.
    found: Mutex<Times>,
}

impl Timed {
    /// With the checks or without them, with a trace or without it.
    pub fn new(checks: bool, trace: bool) -> Timed {
        Timed { checks, trace, found: Mutex::default() }
    }

    /// The times of the last launch.
    pub fn take(&self) -> Times {
        self.found.lock().map(|mut found| std::mem::take(&mut *found)).unwrap_or_default()
    }
}

impl Device for Timed {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn summary(&self) -> &'static str {
        "simulator of the machine code, with virtual time"
    }

    fn launch(&self, compiled: &Compiled, kernel: &Name, input: &LaunchInput) -> Result<LaunchOutput, Diagnostic> {
        launch(compiled, kernel, input, self.checks, |target, code, launch, options| {
            let (outcome, ranks, trace) = run_timed(target, code, launch, options, self.trace)?;
            if let Ok(mut found) = self.found.lock() {
                *found = Times { ranks, trace };
            }
            Ok(outcome)
        })
    }
}

/// Runs a launch through `run`, from the compile's terms to the simulator's and back.
fn launch(
    compiled: &Compiled,
    kernel: &Name,
    input: &LaunchInput,
    checks: bool,
    run: impl FnOnce(&'static Target, &CodeBytes, &Launch<'_>, SimOptions) -> Result<Outcome, Error>,
) -> Result<LaunchOutput, Diagnostic> {
    let lowered = compiled.lowered.kernel(kernel.as_str()).ok_or_else(|| missing(kernel))?;
    let span = lowered.span;
    let refuse = |message: String| Diagnostic::error(Code::TARGET_REFUSES, span, message);
    let object = compiled.made.as_ref().and_then(|made| made.object.as_ref());
    let object = object.ok_or_else(|| {
        let message = format!("the simulator needs a code object, and none was made for {}", compiled.target.name);
        refuse(message).help("run it with `--device lanes`")
    })?;
    let info = bundle::describe(lowered, compiled, &where_lookup(input)).map_err(refuse)?;
    let ranks: Vec<RankArgs> = (0..input.ranks as usize).map(|rank| rank_args(input, rank)).collect();
    let launch = Launch { kernel: &info, ranks: &ranks };
    let options = SimOptions { seed: input.seed, checks, max_steps: input.max_steps, ..SimOptions::default() };
    let code = CodeBytes { kind: CodeKind::Hsaco, bytes: object.clone() };
    let outcome = run(compiled.target, &code, &launch, options).map_err(|e| diagnostic(compiled, span, e))?;
    let buffers = outcome.buffers.into_iter().map(named);
    Ok(LaunchOutput { buffers: buffers.collect(), warnings: Vec::new(), steps: outcome.instructions })
}

/// The arguments of one rank by name.
pub(super) fn rank_args(input: &LaunchInput, rank: usize) -> RankArgs {
    let buffers = input.buffers.get(rank).into_iter().flatten();
    let scalars = input.scalars.get(rank).into_iter().flatten().map(|(name, bits)| (name.to_string(), *bits));
    let wheres = input.wheres.iter().map(|(name, value)| (name.to_string(), *value as u64));
    RankArgs {
        buffers: buffers.map(|(name, bytes)| (name.to_string(), bytes.clone())).collect(),
        scalars: scalars.chain(wheres).collect(),
    }
}

/// The buffers of one rank as outputs are compared.
pub(super) fn named(rank: RankBuffers) -> IndexMap<Name, Vec<u8>> {
    rank.into_iter().map(|(name, bytes)| (Name::new(&name), bytes)).collect()
}

/// What went wrong, at its line of the source.
pub(super) fn diagnostic(compiled: &Compiled, kernel: Span, error: Error) -> Diagnostic {
    let code = match &error {
        Error::Driver(DriverError::Fault(fault)) => return of_fault(compiled, kernel, fault),
        Error::Driver(DriverError::Load(_)) => Code::INTERNAL,
        Error::Driver(_) | Error::Launch(_) | Error::Signals(SignalError::Exhausted { .. }) => Code::TARGET_REFUSES,
        Error::Guard(_) => Code::OUT_OF_BOUNDS,
        _ => Code::INTERNAL,
    };
    Diagnostic::error(code, kernel, error.to_string())
}

/// A fault of the simulated machine: its sentence, its line, and where it happened as a note.
fn of_fault(compiled: &Compiled, kernel: Span, fault: &Fault) -> Diagnostic {
    let line = fault.at.line.as_ref().and_then(|(_, line)| line_span(&compiled.text, *line));
    let words = fault.kind.to_string();
    let (message, rest) = words.split_once('\n').unwrap_or((&words, ""));
    let mut diagnostic =
        Diagnostic::error(code_of(&fault.kind), line.unwrap_or(kernel), message.trim_end_matches([':', ';']));
    for detail in rest.lines() {
        diagnostic = diagnostic.help(detail.trim());
    }
    let place = fault.at.to_string();
    if place.is_empty() { diagnostic } else { diagnostic.label(place) }
}

/// The code that a kind of fault is explained under.
fn code_of(kind: &FaultKind) -> Code {
    match kind {
        FaultKind::Deadlock { .. } | FaultKind::StepLimit { .. } => Code::DEADLOCK,
        FaultKind::Launch { .. } => Code::TARGET_REFUSES,
        FaultKind::UnknownInstruction { .. } | FaultKind::NotSimulated { .. } => Code::INTERNAL,
        FaultKind::Memory(fault) => match fault {
            MemFault::OutOfBounds { .. } | MemFault::LdsOutOfBounds { .. } | MemFault::ScratchOutOfBounds { .. } => {
                Code::OUT_OF_BOUNDS
            }
            MemFault::Race { .. } | MemFault::SourceReused { .. } | MemFault::NotArrived { .. } => Code::RACE,
            MemFault::Allocation(_) => Code::TOO_LARGE,
            _ => Code::MACHINE,
        },
        FaultKind::Engine(fault) => match &fault.kind {
            EngineFaultKind::Memory(found) => code_of(found),
            EngineFaultKind::Unmapped { .. } => Code::OUT_OF_BOUNDS,
            _ => Code::MACHINE,
        },
        _ => Code::MACHINE,
    }
}

/// The text of a line, counted from 1, without its indentation.
fn line_span(text: &str, line: u32) -> Option<Span> {
    let mut start = 0;
    for _ in 1..line {
        start += text[start..].find('\n')? + 1;
    }
    let content = text[start..].lines().next()?;
    let indent = content.len() - content.trim_start().len();
    (!content.trim().is_empty()).then(|| Span::new(start + indent, start + content.trim_end().len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found() {
        let text = "a\n  bc  \n\nd";
        let shown = |line| line_span(text, line).map(|span| text[span.lo as usize..span.hi as usize].to_string());
        assert_eq!([shown(1), shown(2), shown(3), shown(4)].map(Option::unwrap_or_default), ["a", "bc", "", "d"]);
        assert_eq!(line_span(text, 5), None);
    }
}

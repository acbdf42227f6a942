//! What can go wrong while code runs, as values: what happened ([`FaultKind`]) and where ([`Place`]).
//!
//! What must hold here: no input makes the simulator panic; every defect of a kernel, a packet or a launch becomes a
//! [`Fault`]. Its sentence names the numbers that disagree and, where there is one, the way out. Each room has its own kinds:
//! the machine's are here, memory's in `mem` and the engines' in `sdma`, carried as
//! variants of [`FaultKind`].
//!
//! Who fills in what: whoever finds a defect knows the lane and perhaps the address; the machine that executed the
//! instruction adds kernel, rank, workgroup, wave, pc and source line ([`Fault::placed`]). A memory operation that is performed
//! long after its issue carries the pc of its issue ([`Fault::pc`]), which the machine then keeps.

use std::fmt;

use thiserror::Error;

/// The result of anything that executes simulated code.
pub type Exec<T = ()> = Result<T, Box<Fault>>;

/// A defect with its place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// Where.
    pub at: Place,
}

/// Where something happened. Whatever is unknown or does not apply (an engine has no lane) is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Name of the kernel.
    pub kernel: Option<String>,
    /// The rank (GPU) it ran on.
    pub rank: Option<u32>,
    /// Workgroup id in x, y, z.
    pub workgroup: Option<[u32; 3]>,
    /// Wave within the workgroup.
    pub wave: Option<u32>,
    /// Lane within the wave.
    pub lane: Option<u8>,
    /// Address of the instruction.
    pub pc: Option<u64>,
    /// Bytes from the kernel's first instruction to it.
    pub offset: Option<u64>,
    /// File and 1-based line of the source, if the object has line tables.
    pub line: Option<(String, u32)>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// The dwords at pc are no instruction of this chip.
    #[error("unknown instruction {}: {reason}", Dwords(.dwords))]
    UnknownInstruction {
        /// The dwords that were read there.
        dwords: Vec<u32>,
        /// Why they are none.
        reason: String,
    },
    /// The instruction decodes, but this simulator cannot execute it.
    #[error(
        "`{text}` is an instruction of this chip that the simulator does not execute; run the kernel on another device \
         (`--device lanes`)"
    )]
    NotSimulated {
        /// The instruction as text.
        text: String,
    },
    /// pc left the code.
    #[error("execution left the code: pc {pc:#x} is outside every executable segment")]
    PcOutside {
        /// Where it pointed.
        pc: u64,
    },
    /// A register number that the wave does not have.
    #[error("`{text}` uses {register}, but the wave was given {limit}")]
    RegisterOutside {
        /// The instruction as text.
        text: String,
        /// The register.
        register: String,
        /// What it has, in words.
        limit: String,
    },
    /// A register was read before anything was written to it.
    #[error("`{text}` reads {register}, which nothing has written")]
    UninitialisedRegister {
        /// The instruction as text.
        text: String,
        /// The register.
        register: String,
    },
    /// A register is used while a load into it is under way.
    #[error("`{text}` {verb} {register} while a load into it is in flight; an {wait} is missing before it")]
    RegisterInFlight {
        /// The instruction as text.
        text: String,
        /// `reads` or `overwrites`.
        verb: &'static str,
        /// The register.
        register: String,
        /// The wait that is missing: `s_waitcnt vmcnt`, `s_wait_loadcnt`.
        wait: String,
    },
    /// A register is overwritten while an operation in flight may read it once more.
    #[error(
        "`{text}` overwrites {register}, which a memory instruction before it reads again if the page of its address is not \
         there; an s_wait_xcnt is missing between the two"
    )]
    SourceInFlight {
        /// The instruction as text.
        text: String,
        /// The register.
        register: String,
    },
    /// A wave arrives at a barrier again without having left it, or waits at one that it has not arrived at.
    #[error("`{text}`: the wave {what}")]
    Barrier {
        /// The instruction as text.
        text: String,
        /// What it did.
        what: &'static str,
    },
    /// A memory access.
    #[error(transparent)]
    Memory(#[from] crate::mem::MemFault),
    /// `s_trap`.
    #[error("{}", trap(*.code))]
    Trap {
        /// Its operand.
        code: u32,
    },
    /// The launch does not fit the kernel or the machine.
    #[error("launch refused: {reason}")]
    Launch {
        /// Why.
        reason: String,
    },
    /// Nothing can move any more.
    #[error("deadlock after {steps} steps; nothing can move:\n{}", Lines(.waits))]
    Deadlock {
        /// Steps that were executed.
        steps: u64,
        /// Who waits for what, a sentence each.
        waits: Vec<String>,
    },
    /// The step limit was reached.
    #[error("not finished after {limit} steps; still running:\n{}", Lines(.waits))]
    StepLimit {
        /// The limit.
        limit: u64,
        /// Who has not ended and what it does, a sentence each.
        waits: Vec<String>,
    },
    /// What an SDMA engine found.
    #[error(transparent)]
    Engine(Box<crate::sdma::EngineFault>),
}

impl FaultKind {
    /// The wave that took part in a defect that an engine found.
    pub(crate) fn wave(&self) -> Option<&Place> {
        match self {
            Self::Memory(fault) => fault.wave(),
            Self::Engine(fault) => match &fault.kind {
                crate::sdma::EngineFaultKind::Memory(found) => found.wave(),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Fault {
    /// A defect at a place that is still unknown.
    pub fn new(kind: FaultKind) -> Box<Self> {
        Box::new(Self { kind, at: Place::default() })
    }

    /// The same in `lane`.
    #[must_use]
    pub fn lane(mut self: Box<Self>, lane: usize) -> Box<Self> {
        self.at.lane = u8::try_from(lane).ok();
        self
    }

    /// The same at the instruction at `pc`.
    #[must_use]
    pub fn pc(mut self: Box<Self>, pc: u64) -> Box<Self> {
        self.at.pc = Some(pc);
        self
    }

    /// Fills in what is still unknown of its place from `known`.
    #[must_use]
    pub fn placed(mut self: Box<Self>, known: &Place) -> Box<Self> {
        let at = &mut self.at;
        at.kernel = at.kernel.take().or_else(|| known.kernel.clone());
        at.rank = at.rank.or(known.rank);
        at.workgroup = at.workgroup.or(known.workgroup);
        at.wave = at.wave.or(known.wave);
        at.lane = at.lane.or(known.lane);
        if at.pc.is_none() || at.pc == known.pc {
            at.pc = known.pc;
            at.offset = at.offset.or(known.offset);
            at.line = at.line.take().or_else(|| known.line.clone());
        }
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if self.at != Place::default() {
            write!(f, "\n  at {}", self.at)?;
        }
        Ok(())
    }
}

impl fmt::Display for Place {
    /// `scale.tile:12, kernel scale, rank 0, workgroup (1,0,0), wave 2, lane 5, pc 0x1040 (+0x40)`; unknown parts are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some((file, line)) = &self.line {
            parts.push(format!("{file}:{line}"));
        }
        if let Some(kernel) = &self.kernel {
            parts.push(format!("kernel {kernel}"));
        }
        if let Some(rank) = self.rank {
            parts.push(format!("rank {rank}"));
        }
        if let Some([x, y, z]) = self.workgroup {
            parts.push(format!("workgroup ({x},{y},{z})"));
        }
        if let Some(wave) = self.wave {
            parts.push(format!("wave {wave}"));
        }
        if let Some(lane) = self.lane {
            parts.push(format!("lane {lane}"));
        }
        match (self.pc, self.offset) {
            (Some(pc), Some(offset)) => parts.push(format!("pc {pc:#x} (+{offset:#x})")),
            (Some(pc), None) => parts.push(format!("pc {pc:#x}")),
            _ => {}
        }
        f.write_str(&parts.join(", "))
    }
}

/// Dwords as `0x00000000 0x00000000`.
struct Dwords<'a>(&'a [u32]);

impl fmt::Display for Dwords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, dword) in self.0.iter().enumerate() {
            write!(f, "{}{dword:#010x}", if index == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

/// Sentences, one indented line each.
struct Lines<'a>(&'a [String]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, line) in self.0.iter().enumerate() {
            write!(f, "{}  {line}", if index == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

/// What a trap says: traps of `--sdma-debug` have codes of their own.
fn trap(code: u32) -> String {
    match tilewright_target::sdma::Misuse::of_code(code) {
        Some(misuse) => format!("{} (sdma-debug, trap {code})", misuse.sentence()),
        None => format!("the kernel trapped with code {code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, FaultKind, Place};

    fn known() -> Place {
        Place {
            kernel: Some("scale".to_owned()),
            rank: Some(1),
            workgroup: Some([2, 0, 0]),
            wave: Some(3),
            pc: Some(0x1040),
            offset: Some(0x40),
            line: Some(("scale.tile".to_owned(), 12)),
            ..Place::default()
        }
    }

    #[test]
    fn a_fault_reads_as_one_sentence_and_a_place() {
        let kind = FaultKind::UnknownInstruction { dwords: vec![0xffff_ffff, 1], reason: "no such opcode".to_owned() };
        let fault = Fault::new(kind).lane(5).placed(&known());
        assert_eq!(
            fault.to_string(),
            "unknown instruction 0xffffffff 0x00000001: no such opcode\n  at scale.tile:12, kernel scale, rank 1, \
             workgroup (2,0,0), wave 3, lane 5, pc 0x1040 (+0x40)"
        );
    }

    #[test]
    fn the_pc_of_the_issue_is_kept() {
        let fault = Fault::new(FaultKind::Trap { code: 2 }).pc(0x1000).placed(&known());
        assert_eq!(fault.at.pc, Some(0x1000));
        assert_eq!(fault.at.line, None, "the line of another pc must not be attached");
        assert_eq!(fault.at.rank, Some(1));
    }
}

//! The ways in which making machine code fails. LLVM's own words are always kept, since they name the value or the
//! instruction. Must hold: every public function of the backends returns this (or wraps it) instead of panicking.

use thiserror::Error as ThisError;
use tilewright_ir::Span;

/// Why no machine code came out.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The processor is not one that this compiler knows; LLVM would abort on it.
    #[error("unknown processor {cpu:?} for {triple}; known are {known}")]
    UnknownCpu {
        /// The name asked for.
        cpu: String,
        /// The target triple it was asked for.
        triple: String,
        /// The accepted names, comma-separated.
        known: String,
    },
    /// LLVM has no target or no machine for a triple and processor.
    #[error("LLVM cannot make a target machine for {cpu}: {message}")]
    Machine {
        /// The processor.
        cpu: String,
        /// LLVM's words.
        message: String,
    },
    /// The generated module is malformed: a fault of this compiler, not of its input.
    #[error("LLVM's verifier rejects the module {stage}: {message}")]
    Verify {
        /// When it was checked.
        stage: &'static str,
        /// LLVM's words.
        message: String,
    },
    /// The optimiser's pipeline failed.
    #[error("LLVM's optimiser failed: {0}")]
    Optimise(String),
    /// Writing assembly or an object failed.
    #[error("LLVM cannot write {what}: {message}")]
    Write {
        /// "assembly" or "an object".
        what: &'static str,
        /// LLVM's words.
        message: String,
    },
    /// LLVM reported errors through its diagnostics, for example a kernel with too much shared memory.
    #[error("LLVM reports: {}", .0.join("; "))]
    Diagnostics(Vec<String>),
    /// An instruction could not be built: a fault of this compiler.
    #[error("cannot build an instruction: {0}")]
    Build(String),
    /// The program needs something that this target does not have.
    #[error("{message}")]
    Unsupported {
        /// One sentence: what is missing, and where to have it.
        message: String,
        /// The statement or operand that needs it.
        span: Span,
    },
    /// The lowered program breaks a rule of the IR that the verifier should have caught: a fault of a pass.
    #[error("malformed lowered program: {message}")]
    Malformed {
        /// What is wrong.
        message: String,
        /// Where.
        span: Span,
    },
}

impl Error {
    /// Something this target does not have.
    pub fn unsupported(span: Span, message: impl Into<String>) -> Self {
        Error::Unsupported { message: message.into(), span }
    }

    /// A broken rule of the lowered IR.
    pub fn malformed(span: Span, message: impl Into<String>) -> Self {
        Error::Malformed { message: message.into(), span }
    }

    /// The place in the source, for the kinds that have one.
    pub fn span(&self) -> Option<Span> {
        match self {
            Error::Unsupported { span, .. } | Error::Malformed { span, .. } => Some(*span),
            _ => None,
        }
    }
}

impl From<inkwell::builder::BuilderError> for Error {
    fn from(error: inkwell::builder::BuilderError) -> Self {
        Error::Build(error.to_string())
    }
}

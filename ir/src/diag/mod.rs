//! Diagnostics as data: what is wrong, where, and what to do.
//!
//! Nothing here draws; the command line renders. A primary message is one phrase without a full stop that stands alone
//! and names the values that failed; `help` says the way out. Codes are listed in `codes.rs`, each with an explanation
//! and an example.

mod codes;

pub use codes::{CODES, Code, CodeInfo, explain};

use crate::span::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; compilation goes on.
    Warning,
    /// The input is wrong.
    Error,
}

/// A place with a few words.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What is to be seen there; may be empty.
    pub text: String,
}

/// One message to the user.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// Which rule; explained by `tilewright explain`.
    pub code: Code,
    /// Error or warning.
    pub severity: Severity,
    /// One phrase, no full stop, with the values that failed.
    pub message: String,
    /// The place that the message is about.
    pub span: Span,
    /// Words at the primary place; may be empty.
    pub label: String,
    /// Other places.
    pub labels: Vec<Label>,
    /// The way out.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            severity: Severity::Error,
            message: message.into(),
            span,
            label: String::new(),
            labels: Vec::new(),
            help: Vec::new(),
        }
    }

    /// A warning at `span`.
    pub fn warning(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, span, message) }
    }

    /// Adds words at the primary place.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Diagnostic {
        self.label = text.into();
        self
    }

    /// Adds another place.
    #[must_use]
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Adds a way out.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help.push(text.into());
        self
    }

    /// Is it an error?
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

//! What a command works with: the two streams, the environment and the clock.
//!
//! Must hold: this is the only file of the workspace that reads the environment, and the clock is read only here. A
//! closed pipe on standard output is not an error and never a panic: what follows is dropped, the work goes on, so that
//! the exit status stays truthful. Words go to standard error, data to standard output.

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

/// What was read from the environment, once, at the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Env {
    /// `TILEWRIGHT_LLD`: the linker for AMD code objects.
    pub lld: Option<PathBuf>,
    /// The folders of `PATH`.
    pub path: Vec<PathBuf>,
    /// `NO_COLOR` is set and not empty.
    pub no_color: bool,
}

impl Env {
    /// Reads the process environment.
    pub fn read() -> Env {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        Env {
            lld: set("TILEWRIGHT_LLD").map(PathBuf::from),
            path: set("PATH").map(|value| std::env::split_paths(&value).collect()).unwrap_or_default(),
            no_color: set("NO_COLOR").is_some(),
        }
    }
}

/// The streams of one call of the program.
pub struct Session {
    /// The environment.
    pub env: Env,
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    out_is_terminal: bool,
    err_is_terminal: bool,
    /// Set when nobody reads standard output any more.
    closed: bool,
    /// The first other fault of standard output.
    fault: Option<std::io::Error>,
    /// What was told of the input so far, as JSON.
    pub told: Vec<serde_json::Value>,
}

impl Session {
    /// The streams of the process.
    pub fn process() -> Session {
        Session {
            env: Env::read(),
            out: Box::new(std::io::stdout()),
            err: Box::new(std::io::stderr()),
            out_is_terminal: std::io::stdout().is_terminal(),
            err_is_terminal: std::io::stderr().is_terminal(),
            closed: false,
            fault: None,
            told: Vec::new(),
        }
    }

    /// Is standard output a terminal?
    pub fn out_is_terminal(&self) -> bool {
        self.out_is_terminal
    }

    /// Are diagnostics coloured?
    pub fn colour(&self) -> bool {
        self.err_is_terminal && !self.env.no_color
    }

    /// Data to standard output.
    pub fn data(&mut self, bytes: &[u8]) {
        if self.closed || self.fault.is_some() {
            return;
        }
        let written = self.out.write_all(bytes).and_then(|()| self.out.flush());
        match written {
            Ok(()) => {}
            Err(e) if e.kind() == ErrorKind::BrokenPipe => self.closed = true,
            Err(e) => self.fault = Some(e),
        }
    }

    /// Has nobody read standard output any more when it was last written?
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Text to standard output.
    pub fn print(&mut self, text: &str) {
        self.data(text.as_bytes());
    }

    /// Words to standard error; nobody can be told if that fails.
    pub fn say(&mut self, text: &str) {
        let _ = self.err.write_all(text.as_bytes()).and_then(|()| self.err.flush());
    }

    /// A bar for `length` steps, which appears on a terminal when they take longer than a second.
    pub fn progress(&self, length: u64, what: &str) -> Progress {
        let bar = self.err_is_terminal.then(|| ProgressBar::hidden().with_finish(ProgressFinish::AndClear));
        if let Some(bar) = &bar {
            bar.set_length(length);
            bar.set_message(what.to_owned());
            if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}, {eta} left") {
                bar.set_style(style);
            }
        }
        Progress { bar, clock: Clock::start() }
    }

    /// The fault of standard output, if there was one (a full disk; never a closed pipe).
    pub fn take_fault(&mut self) -> Option<std::io::Error> {
        self.fault.take()
    }
}

/// A progress bar on standard error; nothing where that is no terminal, and nothing in the first second.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    clock: Clock,
}

impl Progress {
    /// One step is done.
    pub fn step(&mut self) {
        let Some(bar) = &self.bar else { return };
        bar.inc(1);
        if bar.is_hidden() && self.clock.nanoseconds() > 1_000_000_000 {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Makes room for words; the bar does not come back.
    pub fn hide(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// The clock: seconds since some moment before.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Starts now.
    pub fn start() -> Clock {
        Clock(Instant::now())
    }

    /// Nanoseconds since the start.
    pub fn nanoseconds(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that fails in one way.
    struct Failing(ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn session(kind: ErrorKind) -> Session {
        Session { out: Box::new(Failing(kind)), err: Box::new(Failing(kind)), ..Session::process() }
    }

    #[test]
    fn a_closed_pipe_is_no_fault() {
        let mut s = session(ErrorKind::BrokenPipe);
        s.print("a");
        s.print("b");
        s.say("c");
        assert!(s.closed && s.take_fault().is_none());
    }

    #[test]
    fn a_full_disk_is_a_fault() {
        let mut s = session(ErrorKind::StorageFull);
        s.print("a");
        assert!(s.take_fault().is_some());
    }
}

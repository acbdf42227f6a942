//! The commands: one file each, one row in `Command`.
//!
//! Must hold: every command answers with `Ok` (exit 0) or a `Stop`; data goes to standard output, words to standard
//! error; no command ends the process itself.

mod arrays;
mod check;
mod compile;
mod explain;
mod fmt;
mod inspect;
mod json;
mod layout;
mod opt;
mod report;
mod run;
mod runs;
mod targets;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};
use serde_json::{Map, Value};
use tilewright_ir::{Diagnostic, Module};
use tilewright_passes::pipeline::Observer;
use tilewright_target::Target;

use crate::backend::Want;
use crate::render::{Source, render};
use crate::session::Session;
use crate::{Compiled, Options, compile_module, files};

/// Compiles tiled GPU kernels, chooses how each copy is carried, says why, and checks the result.
#[derive(Debug, Parser)]
#[command(name = "tilewright", version, propagate_version = true)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Compile(compile::Args),
    Report(report::Args),
    Check(check::Args),
    Opt(opt::Args),
    Fmt(fmt::Args),
    Layout(layout::Args),
    Inspect(inspect::Args),
    Targets(targets::Args),
    Explain(explain::Args),
}

impl Command {
    /// Is JSON asked for?
    fn wants_json(&self) -> bool {
        match self {
            Command::Run(args) => args.json,
            Command::Compile(args) => args.json,
            Command::Report(args) => args.json,
            Command::Check(args) => args.json,
            Command::Layout(args) => args.json,
            Command::Inspect(args) => args.json,
            Command::Opt(_) | Command::Fmt(_) | Command::Targets(_) | Command::Explain(_) => false,
        }
    }
}

/// The target of a command that names none.
static DEFAULT_TARGET: &Target = &tilewright_target::GFX950;

/// Why a command ends without success.
#[derive(Debug)]
enum Stop {
    /// The input is wrong or a check failed, and that has been said: exit 1.
    Told,
    /// The same, and where JSON was asked for it was given, too.
    Said,
    /// The input is wrong: exit 1 after this sentence.
    Input(String),
    /// The command line is wrong: exit 2 after this sentence.
    Usage(String),
}

/// Runs the program with these arguments; the exit status.
pub fn main(args: impl IntoIterator<Item = OsString>, session: &mut Session) -> u8 {
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(e) => return answer_clap(&e, session),
    };
    let mut about = Map::new();
    let result = match &args.command {
        Command::Run(args) => run::main(args, &mut about, session),
        Command::Compile(args) => compile::main(args, session),
        Command::Report(args) => report::main(args, session),
        Command::Check(args) => check::main(args, session),
        Command::Opt(args) => opt::main(args, session),
        Command::Fmt(args) => fmt::main(args, session),
        Command::Layout(args) => layout::main(args, session),
        Command::Inspect(args) => inspect::main(args, session),
        Command::Targets(args) => targets::main(args, session),
        Command::Explain(args) => explain::main(args, session),
    };
    let status = match result {
        Ok(()) => 0,
        Err(Stop::Said) => 1,
        Err(Stop::Told) => {
            answer_failure(&args.command, (&about, None), session);
            1
        }
        Err(Stop::Input(why)) => {
            session.say(&format!("error: {why}\n"));
            answer_failure(&args.command, (&about, Some(&why)), session);
            1
        }
        Err(Stop::Usage(why)) => {
            session.say(&format!("error: {why}\n\nFor more information, try '--help'.\n"));
            2
        }
    };
    match session.take_fault() {
        Some(fault) => {
            session.say(&format!("error: cannot write to standard output: {fault}\n"));
            1
        }
        None => status,
    }
}

/// The JSON of a command that ends without success, where it was asked for.
fn answer_failure(command: &Command, (about, why): (&Map<String, Value>, Option<&str>), session: &mut Session) {
    if command.wants_json() {
        let text = json::failure(about, &session.told, why);
        session.print(&text);
    }
}

/// Help and version are data; a wrong command line is words and exit 2.
fn answer_clap(e: &clap::Error, session: &mut Session) -> u8 {
    let rendered = e.render();
    if e.use_stderr() {
        let text = if session.colour() { rendered.ansi().to_string() } else { rendered.to_string() };
        session.say(&text);
        2
    } else {
        session.print(&rendered.to_string());
        session.take_fault().map_or(0, |_| 1)
    }
}

/// What a source is called where something is said about it.
fn name_of(path: &Path) -> String {
    if path == Path::new("-") { "<stdin>".to_string() } else { path.display().to_string() }
}

/// A source file that was read.
#[derive(Debug)]
struct Input {
    name: String,
    text: String,
}

impl Input {
    fn read(path: &Path) -> Result<Input, Stop> {
        let text = files::read_source(path).map_err(Stop::Input)?;
        Ok(Input { name: name_of(path), text })
    }

    /// The verified tile module of the file; what is wrong with it has been told otherwise.
    fn module(&self, session: &mut Session) -> Result<Module, Stop> {
        let (module, warnings) = crate::parse_and_verify(&self.text).map_err(|all| self.tell_all(session, &all))?;
        self.tell(session, &warnings);
        Ok(module)
    }

    /// Compiles the file to the lowered module, with suggestions in the report; warnings and errors are told.
    fn compile(&self, session: &mut Session, target: &'static Target) -> Result<Compiled, Stop> {
        let (module, _) = crate::parse_and_verify(&self.text).map_err(|all| self.tell_all(session, &all))?;
        self.compile_part(session, module, target, (Want::Nothing, true, false), &mut ())
    }

    /// Compiles the file as far as `want` says.
    fn compile_watched(
        &self,
        session: &mut Session,
        target: &'static Target,
        (want, sdma_debug): (Want, bool),
        observer: &mut dyn Observer,
    ) -> Result<Compiled, Stop> {
        // Parsed and verified first for its own sake: what is wrong on every target is told before what one refuses.
        let (module, _) = crate::parse_and_verify(&self.text).map_err(|all| self.tell_all(session, &all))?;
        self.compile_part(session, module, target, (want, false, sdma_debug), observer)
    }

    /// Compiles items of the file, as far as it says, with suggestions in the report or without.
    fn compile_part(
        &self,
        session: &mut Session,
        module: Module,
        target: &'static Target,
        (want, suggest, sdma_debug): (Want, bool, bool),
        observer: &mut dyn Observer,
    ) -> Result<Compiled, Stop> {
        let file = Some(self.name.clone());
        let options = Options { want, lld: session.env.lld.clone(), suggest, file, sdma_debug, ..Options::default() };
        let compiled = compile_module(module, &self.text, target, &options, observer);
        let compiled = compiled.map_err(|all| self.tell_all(session, &all))?;
        self.tell(session, &compiled.warnings);
        Ok(compiled)
    }

    /// Shows diagnostics about this file.
    fn tell(&self, session: &mut Session, diagnostics: &[Diagnostic]) {
        if diagnostics.is_empty() {
            return;
        }
        let source = Source { name: &self.name, text: &self.text };
        let text = render(diagnostics, source, session.colour());
        session.say(&text);
        session.told.extend(json::diagnostics(diagnostics, &self.name, &self.text));
    }

    /// Shows them and stops.
    fn tell_all(&self, session: &mut Session, diagnostics: &[Diagnostic]) -> Stop {
        self.tell(session, diagnostics);
        Stop::Told
    }
}

/// `--sdma-debug` needs engines to check.
fn check_sdma_debug(asked: bool, target: &Target) -> Result<(), Stop> {
    match asked && target.sdma.is_none() {
        true => Err(Stop::Usage(format!("--sdma-debug: {} has no SDMA engines that a kernel can drive", target.name))),
        false => Ok(()),
    }
}

/// Reads a target's name on the command line.
fn parse_target(name: &str) -> Result<&'static Target, tilewright_target::UnknownTarget> {
    tilewright_target::lookup(name)
}

/// Where data goes: a file, written whole or not at all, or standard output.
fn put(session: &mut Session, out: Option<&PathBuf>, bytes: &[u8], what: &str) -> Result<(), Stop> {
    let is_text = std::str::from_utf8(bytes).is_ok();
    match out {
        Some(path) if path != Path::new("-") => files::write_atomic(path, bytes).map_err(Stop::Input),
        _ if !is_text && session.out_is_terminal() => {
            Err(Stop::Usage(format!("{what} is binary: name a file with -o, or send standard output to one")))
        }
        _ => {
            session.data(bytes);
            Ok(())
        }
    }
}

//! Calling the program.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What a call gave.
pub(crate) struct Outcome {
    /// Exit status; `None` if a signal ended the program.
    pub(crate) status: Option<i32>,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

/// The root of the checkout.
pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The program with these arguments, in the root of the checkout and in a plain environment.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tilewright"));
    command.args(args).current_dir(root()).env_remove("TILEWRIGHT_LLD").env_remove("NO_COLOR").stdin(Stdio::null());
    command
}

/// Runs it.
pub(crate) fn tilewright(args: &[&str]) -> Outcome {
    outcome(command(args).output().expect("the program starts"))
}

/// Runs it with this standard input.
pub(crate) fn with_input(args: &[&str], input: &[u8]) -> Outcome {
    let mut command = command(args);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // The program may stop reading; that is for the test to judge by what it says.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().expect("ends");
    writer.join().expect("writer");
    outcome(output)
}

fn outcome(output: Output) -> Outcome {
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!err.contains("panicked") && output.status.code() != Some(101), "{err}");
    Outcome { status: output.status.code(), out, err }
}

impl Outcome {
    /// The program must have ended with this status.
    #[track_caller]
    pub(crate) fn ends(self, status: i32) -> Outcome {
        assert_eq!(self.status, Some(status), "standard output:\n{}\nstandard error:\n{}", self.out, self.err);
        self
    }

    /// Standard error must hold all of these.
    #[track_caller]
    pub(crate) fn says(self, parts: &[&str]) -> Outcome {
        for part in parts {
            assert!(self.err.contains(part), "no `{part}` in standard error:\n{}", self.err);
        }
        self
    }

    /// Standard output must hold all of these.
    #[track_caller]
    pub(crate) fn prints(self, parts: &[&str]) -> Outcome {
        for part in parts {
            assert!(self.out.contains(part), "no `{part}` in standard output:\n{}", self.out);
        }
        self
    }
}

/// A temporary folder, removed at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// A new one; `name` is unique among the tests.
    pub(crate) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tilewright-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("temporary folder");
        Folder(path)
    }

    /// A file in it, as an argument.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }

    /// Writes a file in it; its path as an argument.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("written");
        path
    }

    /// Names of the files in it, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("listed").flatten();
        let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
